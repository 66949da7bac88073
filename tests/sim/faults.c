/* What goes wrong: each seed draws the kinds of its faults and how often they come ("swarm": some kinds are left out of
 * most seeds, so that the others are seen alone and in every company); see sim.h. */
#include <stdlib.h>

#include "common/base/mem.h"
#include "tests/sim/sim.h"
#include "watcher/shards/shard_table.h"

enum fault {
	FAULT_CRASH_MEMBER,
	FAULT_CRASH_AT_REQUEST,
	FAULT_PAUSE_MEMBER,
	FAULT_TERMINATE_MEMBER,
	FAULT_NAMESAKE,
	FAULT_CRASH_WATCHER,
	FAULT_CRASH_WATCHER_AT_REQUEST,
	FAULT_PAUSE_WATCHER,
	FAULT_PAUSE_MACHINE,
	FAULT_TERMINATE_WATCHER,
	FAULT_CUT_BUS,
	FAULT_CUT_BARRIER,
	FAULT_CRASH_BARRIER,
	FAULT_PARTITION_BUS,
	FAULT_STALL_BUS,
	FAULT_CUT_STREAM,
	FAULT_FREEZE_STREAM,
	FAULT_COMPACT,
	FAULT_RESET,
	FAULT_OUTAGE,
	FAULT_WALL_JUMP,
	FAULT_MEMBER_MEMORY,
	FAULT_WATCHER_MEMORY,
	FAULT_CUT_OFF_WATCHER,
	FAULT_KINDS,
};

static bool enabled(const struct world *world, enum fault fault)
{
	return (world->faults.kinds & (1U << fault)) != 0;
}

static struct member *some_member(struct world *world)
{
	struct member *member = &world->members[pick(world, 0, SIM_PROCESSES - 1)];

	return member->process.alive ? member : NULL;
}

static struct watcher *some_watcher(struct world *world)
{
	return &world->watchers[pick(world, 0, world->watcher_count - 1)];
}

static void pause(struct world *world, struct process *process)
{
	int64_t ms = pick(world, 1, chance(world, 500) ? 3000 : world->faults.long_ms);

	trace(world, "%s: stands still for %lld ms", process->label, (long long)ms);
	if (process->paused_until_ms < world->now_ms + ms)
		process->paused_until_ms = world->now_ms + ms;
}

static void reconnect(struct world *world, void *arg)
{
	(void)world;
	bus_connect(((struct member *)arg)->seat);
}

/* ---- several faults in a row, which chance hardly ever puts in this order ---- */

enum { ROW_WITHIN_MS = 45 * 1000, LAG_MAX_MS = 12000 };

static void fall_silent(struct world *world, void *arg)
{
	if (!world->healed)
		bus_stall(((struct member *)arg)->seat, true,
			  world->member_lease_ms + SHARD_MARGIN_MS + pick(world, 3000, 8000));
}

static void come_back(struct world *world, void *arg)
{
	struct member *member = arg;

	if (world->healed)
		return;
	for (int i = 0; i < SIM_WATCHERS; i++)
		if (watcher_leads(&world->watchers[i])) {
			if (world->same_machine)
				watcher_kill(&world->watchers[i], "killed");
			else
				watcher_terminate(&world->watchers[i]);
		}
	for (int i = 0; i < SIM_PROCESSES; i++)
		if (world->members[i].process.alive && &world->members[i] != member)
			bus_stall(world->members[i].seat, true, pick(world, 1000, longest_lease_ms(world)));
	bus_connect(member->seat);
}

static void stand_still(struct world *world, void *arg)
{
	struct process *process = arg;

	if (!world->healed)
		process->paused_until_ms = world->now_ms + world->member_lease_ms + SHARD_MARGIN_MS +
					   pick(world, 2000, 6000);
}

/* A watcher lists everything again, and often once more while reconcilers, which have not said what they have read, are
 * still sent what the first lists showed. */
static void list_again(struct world *world, void *arg)
{
	bool second = arg != NULL;

	if (world->healed)
		return;
	world->faults.compacted = world->version;
	for (int kind = 0; kind < KIND_WORKLOAD; kind++)
		for (int i = 0; i < world->watcher_count; i++)
			if (world->watchers[i].process.alive)
				stream_cut(&world->watchers[i], (enum object_kind)kind);
	for (int i = 0; !second && i < SIM_PROCESSES; i++)
		if (world->members[i].process.alive)
			bus_stall(world->members[i].seat, true, pick(world, 1000, 6000));
	at(world, world->now_ms + (second ? pick(world, 5000, 12000) : pick(world, 100, 2500)), NULL, list_again, NULL,
	   second ? NULL : world);
}

enum { UNSEEN_OFTEN = 200 /* of a thousand */, UNSEEN_MS = 2000 };

static void end_unseen(struct world *world, void *arg)
{
	cleanup_free char *uid = arg;
	struct object *pod = api_find_uid(world, KIND_POD, uid);

	if (pod != NULL && !pod->bound)
		api_delete(world, pod, -1, false);
}

static void list_pods_again(struct world *world, void *arg)
{
	(void)arg;
	world->faults.compacted = world->version;
	for (int i = 0; i < world->watcher_count; i++)
		if (world->watchers[i].process.alive)
			stream_cut(&world->watchers[i], KIND_POD);
}

static void silence_pods(struct world *world, int64_t ms)
{
	for (int i = 0; i < world->watcher_count; i++)
		world->watchers[i].frozen_until_ms[KIND_POD] = world->now_ms + ms;
}

/* The version at which the Pod that had the name before it ended; 0: none had. */
static uint64_t former_end(const struct world *world, const struct object *pod)
{
	for (uint64_t v = pod->version; v-- > VERSION_BASE + 1;) {
		const struct change *change = &world->changes[v - VERSION_BASE - 1];

		if (change->kind == KIND_POD && change->gone &&
		    strcmp(meta_text(change->json, "name"), pod->name) == 0 &&
		    strcmp(meta_text(change->json, "namespace"), pod->ns) == 0)
			return v;
	}
	return 0;
}

/* The Pod is created before any watch has told the end of its former namesake. Then all is listed again: a list that
 * shows it breaks off, and the next one is answered by a replica that has not seen that end. */
static void show_former(struct world *world, const struct object *pod)
{
	uint64_t end = former_end(world, pod);

	if (end == 0 || world->faults.behind != 0 || end - 1 < world->faults.compacted)
		return;
	for (int i = 0; i < world->watcher_count; i++)
		if (world->watchers[i].process.alive && !streams_before(&world->watchers[i], KIND_POD, end - 1))
			return;
	world->faults.behind = world->faults.compacted = end - 1;
	snprintf(world->faults.shown_ns, sizeof(world->faults.shown_ns), "%s", pod->ns);
	snprintf(world->faults.shown, sizeof(world->faults.shown), "%s", pod->uid);
	silence_pods(world, pick(world, 4000, 8000));
	for (int i = 0; i < world->watcher_count; i++) {
		if (!world->watchers[i].process.alive)
			continue;
		world->watchers[i].namesake = LIST_BREAKS_OFF;
		stream_cut(&world->watchers[i], KIND_POD);
	}
}

/* The Pod comes and goes while all watches of Pods are silent. Lists that do not have it are answered before the
 * creation is. */
int64_t faults_created(struct world *world, const char *ns, const char *name)
{
	const struct object *pod = api_find(world, KIND_POD, ns, name);

	if (world->faults.row == ROW_NAMESAKE && !world->healed && pod != NULL)
		show_former(world, pod);
	if (world->faults.row != ROW_UNSEEN || world->healed || pod == NULL || world->plans[pod->plan].tame ||
	    !chance(world, UNSEEN_OFTEN))
		return 0;
	silence_pods(world, UNSEEN_MS);
	at(world, world->now_ms, NULL, end_unseen, free, mem_strdup(pod->uid));
	at(world, world->now_ms + UNSEEN_MS, NULL, list_pods_again, NULL, NULL);
	return UNSEEN_MS + pick(world, 500, 4000);
}

static void begin_row(struct world *world, void *arg)
{
	struct member *member = &world->members[pick(world, 0, world->member_count - 1)];

	(void)arg;
	if (world->faults.row == ROW_ASLEEP && !world->healed)
		at(world, world->now_ms + pick(world, 8000, 20000), NULL, begin_row, NULL, NULL);
	if (!member->process.alive || world->healed)
		return;
	if (world->faults.row == ROW_ASLEEP) {
		/* when it goes on, its successor has retried what it has just deleted a Pod or the ConfigMap of */
		member->doze_ms = world->member_lease_ms + SHARD_MARGIN_MS + pick(world, 1000, 7000);
	} else if (world->faults.row == ROW_LATE_ANSWERS) {
		/* an answer comes when its lease is nearly over, and nothing was heard of the member since */
		bus_stall(member->seat, false,
			  pick(world, world->member_lease_ms - 2000, world->member_lease_ms - 1000));
		at(world, world->now_ms + pick(world, 500, 1500), &member->process, fall_silent, NULL, member);
	} else if (world->faults.row == ROW_OVERDUE) {
		/* what it began to write is due while it stands still, and its shards become somebody else's */
		member->sends_from_ms = world->now_ms + 2000;
		at(world, world->now_ms + pick(world, 300, 1900), &member->process, stand_still, NULL,
		   &member->process);
	} else {
		/* when its shards are somebody else's, it is the first who speaks to the next leader */
		bus_disconnect(member->seat);
		at(world, world->now_ms + world->member_lease_ms + SHARD_MARGIN_MS + pick(world, 500, 2500),
		   &member->process, come_back, NULL, member);
	}
}

static void make_row(struct world *world)
{
	struct faults *faults = &world->faults;

	faults->row = row_of_seed(world->seed);
	if (faults->row == ROW_NONE)
		return;
	if (faults->row == ROW_LATE_WRITES || faults->row == ROW_ASLEEP || faults->row == ROW_UNSEEN ||
	    faults->row == ROW_BEHIND || faults->row == ROW_NAMESAKE)
		/* nothing else goes wrong */
		*faults = (struct faults){.row = faults->row,
					  .pace_ms = faults->pace_ms,
					  .until_ms = world->now_ms + ROW_WITHIN_MS,
					  .long_ms = faults->long_ms,
					  .late = faults->row == ROW_LATE_WRITES};
	if (faults->row == ROW_LATE_WRITES || faults->row == ROW_UNSEEN || faults->row == ROW_NAMESAKE)
		return; /* creates arrive when nobody waits for them any more, or are answered late (network.c) */
	if (faults->row == ROW_RELISTS) {
		at(world, world->now_ms + pick(world, 4000, 8000), NULL, list_again, NULL, NULL);
		return;
	}
	world->grace_ms = 0;
	world->pool = false;
	if (world->member_count < 2)
		world->member_count = 2;
	if (faults->row == ROW_HANDOVER)
		world->watcher_count = SIM_WATCHERS;
	if (faults->row == ROW_BEHIND) {
		/* a member that deleted an object ends; the next holder of its shards sees late what becomes of Pods */
		faults->lag_ms[KIND_POD] = pick(world, 3000, LAG_MAX_MS);
		faults->lagging_watchers = ~0U;
		return;
	}
	world->lease_ms = faults->row == ROW_LATE_ANSWERS ? 10 * 1000 : faults->row == ROW_HANDOVER ? 6000 : 4000;
	if (faults->until_ms < world->now_ms + ROW_WITHIN_MS)
		faults->until_ms = world->now_ms + ROW_WITHIN_MS;
	at(world, world->now_ms + pick(world, 4000, 8000), NULL, begin_row, NULL, NULL);
}

enum fault_row row_of_seed(uint64_t seed)
{
	static const enum fault_row rows[16] = {[3] = ROW_ASLEEP,   [4] = ROW_BEHIND,    [5] = ROW_LATE_ANSWERS,
						[8] = ROW_OVERDUE,  [11] = ROW_HANDOVER, [12] = ROW_LATE_WRITES,
						[13] = ROW_RELISTS, [14] = ROW_UNSEEN,   [15] = ROW_NAMESAKE};

	return rows[seed % ARRAY_LEN(rows)];
}

static void trouble_stream(struct world *world, enum fault fault)
{
	struct watcher *watcher = some_watcher(world);
	enum object_kind kind = (enum object_kind)pick(world, 0, KIND_WORKLOAD - 1);

	if (!watcher->process.alive)
		return;
	if (fault == FAULT_COMPACT) {
		world->faults.compacted = world->version;
		trace(world, "history up to %llu is gone", (unsigned long long)world->version);
	}
	if (fault == FAULT_FREEZE_STREAM) {
		watcher->frozen_until_ms[kind] = world->now_ms +
						 pick(world, 100, chance(world, 700) ? 8000 : world->faults.long_ms);
		trace(world, "%s: the watch of %s is silent until %lld", watcher->process.label, object_kind_name(kind),
		      (long long)watcher->frozen_until_ms[kind]);
	} else {
		stream_cut(watcher, kind);
	}
}

static void trouble_member(struct world *world, enum fault fault, struct member *member)
{
	switch (fault) {
	case FAULT_CRASH_MEMBER: member_kill(member, "killed"); break;
	case FAULT_CRASH_AT_REQUEST: member->crash_after = member->requests + (uint64_t)pick(world, 1, 8); break;
	case FAULT_PAUSE_MEMBER: pause(world, &member->process); break;
	case FAULT_TERMINATE_MEMBER: member_terminate(member); break;
	case FAULT_CUT_BUS:
		bus_disconnect(member->seat);
		bus_connect(member->seat);
		break;
	case FAULT_PARTITION_BUS:
		trace(world, "%s: is cut off", member->process.label);
		bus_disconnect(member->seat);
		at(world, world->now_ms + pick(world, 1000, world->faults.long_ms), &member->process, reconnect, NULL,
		   member);
		break;
	case FAULT_STALL_BUS:
		bus_stall(member->seat, chance(world, 500),
			  pick(world, 200, chance(world, 700) ? 8000 : world->faults.long_ms));
		break;
	case FAULT_RESET: network_reset(member); break;
	case FAULT_MEMBER_MEMORY: member->process.memory_left = pick(world, 1, 2000); break;
	case FAULT_WALL_JUMP: member_skew(member, member->wall_skew_ms + pick(world, -4000, 4000)); break;
	default: break;
	}
}

/* Longer than a Lease, which another watcher takes then. */
enum { CUT_OFF_MAX_MS = 30000 };

static void trouble_watcher(struct world *world, enum fault fault)
{
	struct watcher *watcher = some_watcher(world);

	if (!watcher->process.alive)
		return;
	switch (fault) {
	case FAULT_CRASH_WATCHER: watcher_kill(watcher, "killed"); break;
	case FAULT_CRASH_WATCHER_AT_REQUEST:
		watcher->crash_after = watcher->requests + (uint64_t)pick(world, 1, 8);
		break;
	case FAULT_TERMINATE_WATCHER: watcher_terminate(watcher); break;
	case FAULT_WATCHER_MEMORY: watcher->process.memory_left = pick(world, 1, 1000); break;
	case FAULT_CUT_OFF_WATCHER:
		watcher->cut_off_until_ms = world->now_ms + pick(world, 100, CUT_OFF_MAX_MS);
		trace(world, "%s: asks for the Lease in vain until %lld", watcher->process.label,
		      (long long)watcher->cut_off_until_ms);
		break;
	default: pause(world, &watcher->process);
	}
}

enum { LONG_PAUSE_MS = 15000 };

static void doze(struct world *world, const struct process *process, int64_t ms)
{
	trace(world, "the machine of %s is paused for %lld ms", process->label, (long long)ms);
	machine_pause(world, process->machine, ms);
}

/* What it is told from now on, that its shards are somebody else's too, it hears when it has gone on for a while. */
static void tell_late(struct world *world, void *arg)
{
	struct member *member = arg;

	if (member->process.alive && member->process.paused_until_ms > world->now_ms)
		bus_stall(member->seat, false,
			  member->process.paused_until_ms - world->now_ms + pick(world, 500, 3000));
}

static void end_member(struct world *world, void *arg)
{
	if (!world->healed)
		member_terminate(arg);
}

void faults_deleted(struct member *member)
{
	struct world *world = member->process.world;
	int64_t ms = member->doze_ms;

	if (world->faults.row == ROW_NAMESAKE && !world->healed && world->faults.behind == 0)
		silence_pods(world, 20 * 1000);
	if (world->faults.row == ROW_BEHIND && !world->healed && chance(world, 300))
		at(world, world->now_ms + pick(world, 100, 1000), &member->process, end_member, NULL, member);
	if (ms == 0 || !member->process.alive || chance(world, 400))
		return;
	member->doze_ms = 0;
	doze(world, &member->process, ms);
	if (!world->pool)
		at(world, world->now_ms + pick(world, 200, 2000), NULL, tell_late, NULL, member);
}

/* Nobody on it can tell. Of members, most are in the middle of something: what they are told when they go on is what
 * has become of it since, and what they knew is old. */
static void trouble_machine(struct world *world, struct member *member)
{
	struct watcher *watcher = some_watcher(world);
	const struct process *process = member != NULL && chance(world, 700) ? &member->process : &watcher->process;
	int64_t long_ms = longest_lease_ms(world) + SHARD_MARGIN_MS + LONG_PAUSE_MS;
	int64_t ms = pick(world, 1, chance(world, 300) ? 3000 : long_ms);

	if (!process->alive)
		return;
	if (member != NULL && process == &member->process && chance(world, 600))
		member->doze_ms = world->member_lease_ms + SHARD_MARGIN_MS + pick(world, 1000, LONG_PAUSE_MS);
	else
		doze(world, process, ms);
}

static void trouble_barrier(struct world *world, enum fault fault)
{
	struct barrier *barrier = &world->barriers[pick(world, 0, SIM_BARRIERS - 1)];

	if (!barrier->process.alive)
		return;
	if (fault == FAULT_CRASH_BARRIER) {
		barrier_kill(barrier, "killed");
	} else if (chance(world, 500)) {
		bus_stall(barrier->seat, chance(world, 500), pick(world, 200, world->faults.long_ms));
	} else {
		bus_disconnect(barrier->seat);
		bus_connect(barrier->seat);
	}
}

static void trouble(struct world *world, enum fault fault)
{
	struct member *member = some_member(world);

	switch (fault) {
	case FAULT_PAUSE_MACHINE: trouble_machine(world, member); break;
	case FAULT_CUT_BARRIER:
	case FAULT_CRASH_BARRIER: trouble_barrier(world, fault); break;
	case FAULT_CRASH_WATCHER:
	case FAULT_CRASH_WATCHER_AT_REQUEST:
	case FAULT_TERMINATE_WATCHER:
	case FAULT_WATCHER_MEMORY:
	case FAULT_CUT_OFF_WATCHER:
	case FAULT_PAUSE_WATCHER: trouble_watcher(world, fault); break;
	case FAULT_CUT_STREAM:
	case FAULT_FREEZE_STREAM:
	case FAULT_COMPACT: trouble_stream(world, fault); break;
	case FAULT_OUTAGE:
		world->faults.outage_until_ms = world->now_ms + pick(world, 100, 15000);
		trace(world, "the API server is out until %lld", (long long)world->faults.outage_until_ms);
		break;
	case FAULT_NAMESAKE: {
		int slot = (int)pick(world, SIM_MEMBERS, SIM_PROCESSES - 1);

		if (!world->pool && !world->members[slot].process.alive && slot % SIM_MEMBERS < world->member_count)
			member_start(world, slot);
		break;
	}
	default:
		if (member != NULL)
			trouble_member(world, fault, member);
	}
}

static void next_fault(struct world *world, void *arg)
{
	enum fault fault = (enum fault)pick(world, 0, FAULT_KINDS - 1);

	(void)arg;
	if (world->healed)
		return;
	for (int i = 0; i < FAULT_KINDS && !enabled(world, fault); i++)
		fault = (enum fault)((fault + 1) % FAULT_KINDS);
	if (enabled(world, fault))
		trouble(world, fault);
	if (world->now_ms < world->faults.until_ms)
		at(world, world->now_ms + pick(world, 1, world->faults.pace_ms * 2), NULL, next_fault, NULL, NULL);
}

enum { STRANGER_EVERY = 7 };

/* Zero half of the time, then up to most. */
static int often(struct world *world, int most)
{
	return chance(world, 500) ? 0 : (int)pick(world, 1, most);
}

void faults_make(struct world *world)
{
	struct faults *faults = &world->faults;

	bool small = world->size->small;

	world->member_count = (int)pick(world, 1, small ? 2 : SIM_MEMBERS);
	world->pool = chance(world, 400);
	world->watcher_count = faults->calm || chance(world, 550) ? 1 : SIM_WATCHERS;
	world->same_machine = chance(world, 500);
	world->barrier_count = chance(world, 300) ? (int)pick(world, 1, SIM_BARRIERS) : 0;
	world->in_flight_max = chance(world, 500) ? SIM_IN_FLIGHT_MAX : 0;
	faults->long_ms = small ? 20000 : 50000;
	world->qps = 1000;
	world->burst = 100;
	world->worker_number = SIM_PLACES;
	world->lease_ms = 10 * 1000;
	world->grace_ms = 30 * 1000;
	if (faults->calm)
		return;
	/* the sooner shards move, the more there is to be seen in a small world */
	if (chance(world, 600))
		world->lease_ms = pick(world, 2, 6) * 1000;
	if (chance(world, 600))
		world->grace_ms = pick(world, 0, 8) * 1000;
	for (int i = 0; i < FAULT_KINDS; i++)
		if (chance(world, 350))
			faults->kinds |= 1U << i;
#ifdef __SANITIZE_ADDRESS__
	faults->kinds &= ~(1U << FAULT_MEMBER_MEMORY | 1U << FAULT_WATCHER_MEMORY); /* what is lost is no leak */
#endif
	faults->pace_ms = pick(world, 300, small ? 4000 : 12000);
	faults->until_ms = world->now_ms + (small ? pick(world, 6000, 25000) : pick(world, 15000, 90000));
	faults->lose_answer = often(world, 150);
	faults->lose_request = often(world, 150);
	faults->delay = often(world, 150);
	faults->refuse = often(world, 200);
	faults->slow_send = often(world, 150);
	faults->lose_letter = often(world, 20);
	faults->double_letter = often(world, 20);
	faults->delay_letter = often(world, 60);
	faults->late = chance(world, 300);
	faults->stale_lists = chance(world, 300);
	faults->slow_streams = chance(world, 400);
	faults->lazy_reconciles = chance(world, 500);
	faults->slow_answer = chance(world, 300) ? (int)pick(world, 1, 300) : 0;
	faults->reorder_letter = chance(world, 100) ? (int)pick(world, 1, 20) : 0;
	if (chance(world, 350))
		faults->lag_ms[chance(world, 500) ? KIND_POD : pick(world, 0, KIND_WORKLOAD - 1)] = pick(world, 100,
													 LAG_MAX_MS);
	faults->lagging_watchers = (unsigned)pick(world, 1, 3);
	faults->status_max = chance(world, 100) ? (size_t)pick(world, 800, 3000) : 0;
	if (chance(world, 150)) {
		world->qps = (double)pick(world, 3, 30);
		world->burst = (int)pick(world, 2, 12);
		world->worker_number = world->burst / 2; /* calls wait for a place, too */
	}
	faults->lose_lease = chance(world, 100) ? (int)pick(world, 50, 500) : 0;
	faults->deny = chance(world, 300) ? (int)pick(world, 20, 300) : 0;
	faults->quota = chance(world, 150) ? (uint64_t)pick(world, 1, 6) : 0;
	if (world->seed % STRANGER_EVERY == 0)
		faults->stranger = (int)pick(world, 20, 300);
	make_row(world);
	at(world, world->now_ms + pick(world, 1, faults->pace_ms * 2), NULL, next_fault, NULL, NULL);
}

/* What stands still or is silent goes on by itself, within the minute. */
void faults_heal(struct world *world)
{
	trace(world, "nothing goes wrong any more");
	world->healed = true;
	queues_heal(world);
	world->faults.quota = 0;
	for (int i = 0; i < SIM_WATCHERS; i++) {
		world->watchers[i].crash_after = 0;
		world->watchers[i].process.memory_left = 0;
	}
	for (int i = 0; i < SIM_PROCESSES; i++) {
		struct member *member = &world->members[i];

		member->crash_after = 0;
		member->doze_ms = 0;
		member->process.memory_left = 0;
		if (!member->process.alive)
			continue;
		if (member_is_namesake(member)) /* namesakes are stopped, so that each name has one
					 holder in the end */
			member_kill(member, "killed");
		else
			bus_connect(member->seat);
	}
}
