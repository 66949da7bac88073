/* A reconciler's process: what reconciler/main.c puts together around the loop, around the simulated one; see sim.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "reconciler/events.h"
#include "tests/sim/check.h"

enum { DRAIN_LIMIT_MS = 10 * 1000 }; /* as reconciler/main.c */

static struct world *world_of(const struct member *member)
{
	return member->process.world;
}

/* ---- the peer's callbacks, as in reconciler/main.c ---- */

static void on_granted(void *arg, const struct shard_set *fresh)
{
	struct member *member = arg;

	member->reconciler.shard_count = session_shard_count(member->session);
	trace(world_of(member), "%s: granted %u shards", member->process.label, shard_set_count(fresh));
	check_forget_pleas(member); /* what was known of a key went with its shard */
	store_granted(&member->reconciler, fresh);
}

static void on_revoked(void *arg, const struct shard_set *shards)
{
	struct member *member = arg;

	trace(world_of(member), "%s: %u shards are taken away", member->process.label, shard_set_count(shards));
	store_revoked(&member->reconciler, shards);
}

static bool on_text(void *arg, enum object_kind kind, uint32_t shard, const char *text, size_t len)
{
	struct member *member = arg;

	if (sim_tracing) {
		struct error err;
		cleanup_json json_t *object = json_parse(text, len, &err);

		trace(world_of(member), "%s: sees %s at %s", member->process.label, meta_text(object, "uid"),
		      meta_text(object, "resourceVersion"));
	}
	return store_text(&member->reconciler, kind, shard, text, len);
}

static void on_absent(void *arg, enum object_kind kind, uint32_t shard, const struct bus_absent *absent)
{
	struct member *member = arg;

	if (sim_tracing)
		trace(world_of(member), "%s: sees that %s %s is gone at %s%s", member->process.label, absent->name,
		      absent->uid, absent->resource_version, absent->deleting ? "" : ", perhaps");
	check_absent(member, kind, absent, false);
	store_absent(&member->reconciler, kind, shard, absent);
	check_absent(member, kind, absent, true);
}

static void on_complete(void *arg, const struct bus_snapshot_end *end)
{
	struct member *member = arg;

	trace(world_of(member), "%s: %u shards are complete", member->process.label, shard_set_count(&end->shards));
	store_complete(&member->reconciler, end);
}

static void on_rate(void *arg, double qps, int burst)
{
	struct member *member = arg;

	token_bucket_set(&member->bucket, qps, burst, process_now_ms(&member->process));
	apply_set_share(&member->reconciler, world_of(member)->worker_number, qps / world_of(member)->qps);
}

static void on_live(void *arg, bool live)
{
	struct member *member = arg;

	store_set_live(&member->reconciler, live);
}

static uint32_t on_backlog(void *arg)
{
	const struct member *member = arg;

	return member->reconciler.queue_length + member->reconciler.waiting_count;
}

static void on_draining(void *arg, struct shard_set *out)
{
	const struct member *member = arg;

	store_draining(&member->reconciler, out);
}

static void on_refused(void *arg, const char *reason, bool final)
{
	struct member *member = arg;

	trace(world_of(member), "%s: refused%s: %s", member->process.label, final ? " for good" : "", reason);
	member->refused = member->refused || final;
}

static const struct session_handler handler = {
	.granted = on_granted,
	.revoked = on_revoked,
	.text = on_text,
	.absent = on_absent,
	.complete = on_complete,
	.rate = on_rate,
	.live = on_live,
	.backlog = on_backlog,
	.draining = on_draining,
	.refused = on_refused,
};

/* ---- ports ---- */

static int64_t port_now_ms(void *arg)
{
	return process_now_ms(&((const struct member *)arg)->process);
}

static int64_t seat_now_ms(void *arg)
{
	return process_now_ms(((const struct seat *)arg)->process);
}

static int64_t port_wall_ms(void *arg)
{
	const struct member *member = arg;

	return world_of(member)->wall_base_ms + world_of(member)->now_ms + member->wall_skew_ms;
}

static int64_t port_lease_left_ms(void *arg, uint32_t shard)
{
	const struct member *member = arg;

	return session_lease_left_ms(member->session, shard);
}

/* ---- the loop ---- */

static void on_wake(struct world *world, void *arg)
{
	struct member *member = arg;

	if (member->wake_ms > world->now_ms)
		return; /* an earlier arrangement was made since, and kept */
	member->wake_ms = INT64_MAX;
	member->lazy = false;
	member_settle(member);
}

/* clock_ms: by its clock. */
static void wake_at(struct member *member, int64_t clock_ms)
{
	struct world *world = world_of(member);
	int64_t at_ms = process_time_ms(&member->process, clock_ms);

	if (at_ms <= world->now_ms)
		at_ms = world->now_ms + 1;
	if (at_ms == INT64_MAX || at_ms >= member->wake_ms)
		return;
	member->wake_ms = at_ms;
	at(world, at_ms, &member->process, on_wake, NULL, member);
}

/* As reconciler/main.c: the shards are given back when all is written, or when that has taken too long. */
static void leave_when_written(struct member *member)
{
	if (!member->leaving || member->left)
		return;
	if (!apply_left(&member->reconciler) && process_now_ms(&member->process) < member->leave_by_ms)
		return;
	member->left = true;
	check_leaving(member);
	session_leave(member->session);
}

void member_settle(struct member *member)
{
	struct world *world = world_of(member);
	int64_t next_ms;

	if (member->ending || !member->process.alive)
		return;
	next_ms = session_tick(member->session);
	if (session_gone(member->session) || member->refused) {
		member_kill(member, "has ended");
		return;
	}
	/* The real loop takes several messages and answers before it runs reconciles. */
	if (world->faults.lazy_reconciles && !world->healed && !member->lazy && chance(world, 500)) {
		member->lazy = true;
		wake_at(member, process_now_ms(&member->process) + pick(world, 1, 40));
	} else if (!member->lazy) {
		while (reconciler_run(&member->reconciler))
			;
		check_reconciles(member);
	}
	leave_when_written(member);
	wake_at(member, next_ms);
	wake_at(member, queue_next_ms(&member->reconciler));
	wake_at(member, events_run(member->reconciler.events));
}

static void settle(struct process *process)
{
	member_settle((struct member *)(void *)process); /* its first member */
}

/* ---- its life ---- */

static void restart(struct world *world, void *arg)
{
	struct member *member = arg;

	const struct watcher *parent = &world->watchers[member->slot / SIM_MEMBERS];

	if (!member->process.alive && !member_is_namesake(member) && member->slot % SIM_MEMBERS < world->member_count &&
	    (!world->pool || (parent->process.alive && parent->router != NULL && !parent->stopping)))
		member_start(world, member->slot);
}

/* A parent and its children run on one machine. */
static struct machine *machine_of(struct world *world, int slot)
{
	return world->pool ? world->watchers[slot / SIM_MEMBERS].process.machine
			   : &world->machines[SIM_WATCHERS + slot];
}

bool member_blind(const struct member *member)
{
	return machine_blind(member->process.machine, world_of(member)->now_ms) ||
	       process_now_ms(&member->process) < member->seat->blind_until_ms;
}

bool member_is_namesake(const struct member *member)
{
	return !world_of(member)->pool && member->slot >= SIM_MEMBERS;
}

void member_start_later(struct world *world, struct member *member, int64_t delay_ms)
{
	member->process.world = world;
	member->slot = (int)(member - world->members);
	at(world, world->now_ms + delay_ms, NULL, restart, NULL, member);
}

static void restart_later(struct member *member)
{
	struct world *world = world_of(member);
	bool calm = world->faults.calm || world->healed;

	member_start_later(world, member, pick(world, 50, calm || chance(world, 700) ? 1500 : world->faults.long_ms));
}

/* The pool learns of a child's death before it starts another. */
static void reaped(struct world *world, void *arg)
{
	struct member *member = arg;

	struct watcher *parent = &world->watchers[member->slot / SIM_MEMBERS];

	if (parent->router == NULL || member->process.alive)
		return; /* its term is over */
	router_process_dead(parent->router, member->name);
	watcher_settle(parent);
	if (parent->stopping)
		leader_child_ended(parent);
	else
		restart_later(member);
}

void member_skew(struct member *member, int64_t skew_ms)
{
	struct world *world = world_of(member);

	member->wall_skew_ms = skew_ms;
	if (world->skew_max_ms < llabs(skew_ms))
		world->skew_max_ms = llabs(skew_ms);
}

void member_start(struct world *world, int slot)
{
	struct member *member = &world->members[slot];
	struct reconciler *reconciler = &member->reconciler;
	/* snapshots take several turns */
	bool small_window = world->seed % 3 == 1 || world->faults.row == ROW_RELISTS;
	const struct session_ports session_ports = {
		.watchers = world->pool ? 1 : (unsigned)world->watcher_count,
		.window = small_window ? (uint32_t)(1 + world->seed % 7) : 0,
		.send = bus_from_peer,
		.now_ms = seat_now_ms,
		.arg = &world->seats[slot],
	};
	uint64_t life = member->process.life;
	char uuid[40];

	*member = (struct member){
		.process = {.world = world, .machine = machine_of(world, slot), .alive = true, .life = life + 1},
		.slot = slot,
		.seat = &world->seats[slot],
		.wake_ms = INT64_MAX,
	};
	member_skew(member, world->faults.calm ? 0 : pick(world, -1500, 1500));
	snprintf(member->name, sizeof(member->name), "m%d", slot % SIM_MEMBERS);
	snprintf(member->process.label, sizeof(member->process.label), "%s.%llu",
		 member_is_namesake(member) ? "x" : member->name, (unsigned long long)member->process.life);
	snprintf(uuid, sizeof(uuid), "uuid-%llu", (unsigned long long)++world->uuids);
	reconciler->ports = (struct reconciler_ports){
		.context = member,
		.request = network_request,
		.lease_left_ms = port_lease_left_ms,
		.boot_ms = port_now_ms,
		.wall_ms = port_wall_ms,
	};
	reconciler->config = (struct sync_config){
		.failures = &world->failures,
		.creation_timeout_sec = world->creation_timeout_sec,
		.completed_retain_sec = world->retain_sec,
		.conflict_delay_min_sec = 1,
		.conflict_delay_max_sec = 5,
		.kueue = world->queued,
	};
	discovery_init(reconciler);
	reconciler->compress = COMPRESS_NEVER;
	reconciler->name = member->name;
	reconciler->calls_max = 1;
	reconciler->rest_ms = 0; /* whatever is at rest is folded at once */
	random_init_seed(&reconciler->random, (uint64_t)pick(world, 0, INT64_MAX - 1));
	snprintf(reconciler->writer, sizeof(reconciler->writer), "%08llx", (unsigned long long)world->uuids);
	reconciler->events = events_new(reconciler);
	token_bucket_init(&member->bucket, 1, 1,
			  process_now_ms(&member->process)); /* as reconciler/main.c, until it is told its share */
	member->session = session_new(&session_ports, BUS_ROLE_RECONCILER, member->name, uuid, &handler, member);
	bus_seat(member->seat, &member->process, member->session,
		 world->pool ? &world->watchers[slot / SIM_MEMBERS] : NULL, settle);
	trace(world, "%s: starts", member->process.label);
	bus_connect(member->seat);
	wake_at(member, process_now_ms(&member->process) + 1);
}

static void ended(struct member *member)
{
	struct world *world = world_of(member);

	bus_disconnect(member->seat);
	bus_seat(member->seat, &member->process, NULL, NULL, settle);
	member->session = NULL;
	member->process.alive = false;
	if (member_is_namesake(member))
		return;
	if (world->pool && world->watchers[member->slot / SIM_MEMBERS].process.alive)
		at(world, world->now_ms + pick(world, 1, 20), &world->watchers[member->slot / SIM_MEMBERS].process,
		   reaped, NULL, member);
	else if (!world->pool)
		restart_later(member);
}

void member_out_of_memory(struct member *member)
{
	trace(world_of(member), "%s: out of memory", member->process.label);
	network_abandon(member);
	ended(member);
}

void member_kill(struct member *member, const char *why)
{
	memory_ended();
	trace(world_of(member), "%s: %s", member->process.label, why);
	member->ending = true;
	session_free(member->session);
	waiting_abandon_all(&member->reconciler);
	network_cancel(member);
	store_free(&member->reconciler);
	events_free(member->reconciler.events);
	ended(member);
}

static void drained(struct world *world, void *arg)
{
	(void)world;
	member_kill(arg, "has drained long enough");
}

void member_terminate(struct member *member)
{
	if (member->leaving)
		return;
	member->leaving = true;
	trace(world_of(member), "%s: is told to end", member->process.label);
	at(world_of(member), world_of(member)->now_ms + DRAIN_LIMIT_MS, &member->process, drained, NULL, member);
	member->leave_by_ms = process_now_ms(&member->process) + LAST_WRITES_MS;
	apply_leave(&member->reconciler);
	wake_at(member, member->leave_by_ms);
	member_settle(member);
}
