/* Which watcher leads, and what it has while it does: the real election over a Lease on the simulated server, and the
 * router and the children of a term, as common/leader/lease.c, watcher/leader/term.c and watcher/main.c put them
 * together; see sim.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

enum {
	ELECTION_LEASE_MS = 15000,
	ELECTION_RENEW_MS = SIM_RENEW_MS,
	ELECTION_RETRY_MS = 2000,
	ELECTION_JITTER_MS = 400,
	RELEASE_MS = 3000, /* as common/leader/lease.c */
	DRAIN_MS = 20000,  /* as watcher/leader/term.c */
	MARGIN_MS = SHARD_MARGIN_MS,
};

static const char *const names[] = {[ELECTION_LEASE] = "Lease", [ELECTION_RECORD] = "record"};

static int64_t port_now_ms(void *arg)
{
	return process_now_ms(&((const struct watcher *)arg)->process);
}

bool watcher_leads(const struct watcher *watcher)
{
	if (!watcher->process.alive || watcher->router == NULL)
		return false;
	return watcher->leading && election_term(watcher->election) == watcher->term &&
	       election_leads(watcher->election, process_now_ms(&watcher->process));
}

/* ---- a term ---- */

static void drive(struct watcher *watcher);

static struct member *child(struct watcher *watcher, int i)
{
	return &watcher->process.world->members[watcher->index * SIM_MEMBERS + i];
}

void leader_synced(struct watcher *watcher)
{
	router_synced(watcher->router);
}

/* As watcher/leader/term.c: children alone are reconcilers of a pool. */
static bool is_child(void *arg, const char *name)
{
	const struct watcher *watcher = arg;

	return name[0] == 'm' && name[1] - '0' < watcher->process.world->member_count && name[2] == '\0';
}

static void led(struct watcher *watcher, uint64_t epoch, int64_t former_until_ms)
{
	struct world *world = watcher->process.world;
	const struct router_ports ports = {.send = bus_from_watcher, .now_ms = port_now_ms, .arg = watcher};
	struct router_options options = {
		.shards = {.shard_count = watcher->shard_count,
			   .lease_ms = watcher->lease_ms,
			   .margin_ms = MARGIN_MS,
			   .grace_ms = world->grace_ms,
			   .former_until_ms = former_until_ms},
		.epoch = epoch,
		.in_flight_max = world->in_flight_max,
		.accept = world->pool ? is_child : NULL,
		.accept_arg = watcher,
		.qps = world->qps,
		.burst = world->burst,
	};

	trace(world, "%s: leads with epoch %" PRIu64 "%s", watcher->process.label, epoch,
	      former_until_ms > 0 ? ", after another leader" : "");
	for (int i = 0; i < world->watcher_count; i++)
		if (&world->watchers[i] != watcher && watcher_leads(&world->watchers[i]) &&
		    !world->watchers[i].stopping && /* given back, but it does not know yet */
		    !machine_blind(watcher->process.machine, world->now_ms) &&
		    !machine_blind(world->watchers[i].process.machine, world->now_ms))
			violated(world, "%s begins to lead while %s does", watcher->process.label,
				 world->watchers[i].process.label);
	if (epoch <= world->newest_epoch && !machine_blind(watcher->process.machine, world->now_ms))
		violated(world, "%s leads with epoch %" PRIu64 " after %" PRIu64, watcher->process.label, epoch,
			 world->newest_epoch);
	if (epoch > world->newest_epoch) {
		world->newest_epoch = epoch;
		memcpy(world->newest_leader, watcher->identity, sizeof(world->newest_leader));
	}
	watcher->epoch = epoch;
	memset(watcher->stranger, 0, sizeof(watcher->stranger));
	watcher->led_ms = process_now_ms(&watcher->process);
	for (int i = 0; i < SIM_SEATS; i++)
		world->seats[i].links[watcher->index].unread = 0; /* what is on its way is of a former term */
	watcher->router = router_new(&ports, &options);
	router_set_cache(watcher->router, watcher->cache);
	for (int i = 0; world->pool && i < world->member_count; i++) {
		struct member *member = child(watcher, i);
		char name[16];

		snprintf(name, sizeof(name), "m%d", i);
		router_expect(watcher->router, name);
		member_start_later(world, member, 1);
	}
	router_set_live(watcher->router, watcher->live);
	if (watcher->synced)
		leader_synced(watcher);
}

static void deposed(struct watcher *watcher)
{
	struct world *world = watcher->process.world;
	struct router *router = watcher->router;

	trace(world, "%s: leads no longer", watcher->process.label);
	watcher->router = NULL;
	for (int i = 0; world->pool && i < world->member_count; i++)
		if (child(watcher, i)->process.alive)
			member_kill(child(watcher, i), "ends with its parent's term");
	router_free(router);
}

/* ---- the Lease and its record ---- */

/* A request for one of them, from the call to both of its ends. */
struct ask {
	struct watcher *watcher;
	struct election_request request;
	uint64_t based_on;
	int64_t deadline_ms;
	int64_t expires_ms; /* the same, by the watcher's clock: two never end at the same time */
	bool lost;          /* the answer, or the request */
	enum election_outcome outcome;
	struct election_lease lease;
	uint64_t version;
};

static void tell(struct watcher *watcher)
{
	struct election *election = watcher->election;
	bool leads = election_leads(election, process_now_ms(&watcher->process));

	if (watcher->leading && (!leads || election_term(election) != watcher->term)) {
		watcher->leading = false;
		if (!election_released(election))
			deposed(watcher);
	}
	if (!watcher->leading && leads && !watcher->stopping) {
		watcher->leading = true;
		watcher->term = election_term(election);
		led(watcher, election_epoch(election), election_former_until_ms(election));
	}
}

static void on_answered(struct world *world, void *arg)
{
	struct ask *ask = arg;
	struct watcher *watcher = ask->watcher;
	const struct election_lease *held;

	if (!watcher->asking || watcher->asked != ask->expires_ms) {
		free(ask); /* it timed out meanwhile */
		return;
	}
	watcher->asking = false;
	if (ask->outcome == ELECTION_ANSWERED)
		watcher->lease_versions[ask->request.object] = ask->version;
	trace(world, "%s: the %s's answer: %d, held by %s", watcher->process.label, names[ask->request.object],
	      (int)ask->outcome, ask->lease.holder);
	election_answered(watcher->election, ask->outcome, ask->outcome == ELECTION_ANSWERED ? &ask->lease : NULL,
			  process_now_ms(&watcher->process));
	held = election_seen(watcher->election);
	if (held != NULL && world->same_machine) {
		bool runs = held->process[0] == '\0';

		for (int i = 0; i < world->watcher_count; i++)
			runs = runs || (world->watchers[i].process.alive &&
					strcmp(world->watchers[i].identity, held->process) == 0);
		if (!runs)
			election_holder_dead(watcher->election);
	}
	free(ask);
	drive(watcher);
}

static void on_timeout(struct world *world, void *arg)
{
	struct ask *ask = arg;
	struct watcher *watcher = ask->watcher;

	if (process_now_ms(&watcher->process) < ask->expires_ms) { /* its clock has stood still */
		at(world, process_time_ms(&watcher->process, ask->expires_ms), &watcher->process, on_timeout, free,
		   ask);
		return;
	}
	if (watcher->asking && watcher->asked == ask->expires_ms) {
		watcher->asking = false;
		trace(world, "%s: no answer about the %s", watcher->process.label, names[ask->request.object]);
		election_answered(watcher->election, ELECTION_FAILED, NULL, process_now_ms(&watcher->process));
		drive(watcher);
	}
	free(ask);
}

/* A user deletes the Lease or its record, unless it alone names the newest term: then nobody can know who leads
 * (watcher/README.md). */
static void lose(struct world *world)
{
	enum election_object object = chance(world, 700) ? ELECTION_LEASE : ELECTION_RECORD;
	const struct lease_object *lease = &world->leases[ELECTION_LEASE];
	const struct lease_object *record = &world->leases[ELECTION_RECORD];
	bool same_term = lease->lease.transitions == record->lease.transitions &&
			 strcmp(lease->lease.holder, record->lease.holder) == 0;
	bool newest = record->lease.transitions > world->newest_epoch ||
		      (record->lease.transitions == world->newest_epoch &&
		       strcmp(record->lease.holder, world->newest_leader) == 0);

	if (!lease->there || !record->there)
		return;
	if (object == ELECTION_RECORD ? !same_term : !newest)
		return;
	trace(world, "a user deletes the %s", names[object]);
	world->leases[object].there = false;
	world->record_at_deletion = record->version;
}

/* Somebody who has deleted the Lease often does so again soon. */
static int lose_chance(const struct world *world)
{
	bool again = world->leases[ELECTION_RECORD].version == world->record_at_deletion;

	return again ? world->faults.lose_lease : world->faults.lose_lease / 10;
}

/* The server carries it out. */
static void on_arrival(struct world *world, void *arg)
{
	struct ask *ask = arg;
	struct lease_object *lease = &world->leases[ask->request.object];

	if (world->now_ms > ask->deadline_ms && !world->faults.late) {
		free(ask);
		return;
	}
	ask->outcome = ELECTION_ANSWERED;
	if (!lease->there && ask->request.verb != ELECTION_CREATE) {
		ask->outcome = ELECTION_ABSENT;
	} else if ((lease->there && ask->request.verb == ELECTION_CREATE) ||
		   (ask->request.verb == ELECTION_UPDATE && lease->version != ask->based_on)) {
		ask->outcome = ELECTION_CONFLICT;
	} else if (ask->request.verb != ELECTION_READ) {
		mark(world, ++world->lease_versions);
		lease->there = true;
		lease->version = world->lease_versions;
		lease->lease = ask->request.lease;
		snprintf(lease->lease.version, sizeof(lease->lease.version), "%" PRIu64, lease->version);
		trace(world, "the %s is %s's, epoch %" PRIu64, names[ask->request.object], lease->lease.holder,
		      lease->lease.transitions);
	}
	ask->lease = lease->lease;
	ask->version = lease->version;
	if (!world->healed && chance(world, lose_chance(world)))
		lose(world);
	if (ask->lost) {
		free(ask);
		return;
	}
	at(world, world->now_ms + network_travel_ms(world), &ask->watcher->process, on_answered, free, ask);
}

static void send(struct watcher *watcher, const struct election_request *request)
{
	struct world *world = watcher->process.world;
	const struct faults *faults = &world->faults;
	bool calm = faults->calm || world->healed;
	struct ask *ask = mem_calloc(1, sizeof(*ask));
	struct ask *timeout = mem_calloc(1, sizeof(*timeout));
	int64_t arrival_ms = world->now_ms + network_travel_ms(world);

	watcher_requested(watcher);
	ask->watcher = watcher;
	ask->request = *request;
	ask->based_on = watcher->lease_versions[request->object];
	ask->expires_ms = process_now_ms(&watcher->process) + request->timeout_ms;
	ask->deadline_ms = process_time_ms(&watcher->process, ask->expires_ms);
	*timeout = *ask;
	watcher->asking = true;
	watcher->asked = ask->expires_ms;
	ask->lost = !calm && chance(world, faults->lose_answer);
	if (!calm && chance(world, faults->delay))
		arrival_ms += pick(world, 1, ELECTION_LEASE_MS);
	at(world, ask->deadline_ms, &watcher->process, on_timeout, free, timeout);
	if (!calm && (world->now_ms < faults->outage_until_ms || world->now_ms < watcher->cut_off_until_ms ||
		      chance(world, faults->lose_request)))
		free(ask);
	else
		at(world, arrival_ms, NULL, on_arrival, free, ask);
}

static void on_due(struct world *world, void *arg)
{
	struct watcher *watcher = arg;

	if (watcher->lease_wake_ms > world->now_ms)
		return; /* an earlier arrangement was made since, and kept */
	watcher->lease_wake_ms = INT64_MAX;
	drive(watcher);
}

/* clock_ms: by its clock. */
static void drive_soon(struct watcher *watcher, int64_t clock_ms)
{
	struct world *world = watcher->process.world;
	int64_t at_ms = process_time_ms(&watcher->process, clock_ms);

	if (at_ms <= world->now_ms)
		at_ms = world->now_ms + 1;
	if (at_ms == INT64_MAX || at_ms >= watcher->lease_wake_ms)
		return;
	watcher->lease_wake_ms = at_ms;
	at(world, at_ms, &watcher->process, on_due, NULL, watcher);
}

static void drive(struct watcher *watcher)
{
	struct election_request request;

	tell(watcher); /* what was lost, before anything new is begun */
	if (election_next(watcher->election, process_now_ms(&watcher->process), &request))
		send(watcher, &request);
	tell(watcher);
	if (watcher->stopping && election_released(watcher->election)) {
		watcher_kill(watcher, "has ended");
		return;
	}
	drive_soon(watcher, election_due_ms(watcher->election));
	watcher_settle(watcher);
}

/* Whether somebody may act by what a leader granted, or lead at once. */
static bool anybody_acts(const struct world *world, const struct watcher *but)
{
	for (int i = 0; i < world->watcher_count; i++)
		if (&world->watchers[i] != but && world->watchers[i].process.alive)
			return true;
	for (int i = 0; i < SIM_PROCESSES; i++)
		if (world->members[i].process.alive && session_leased(world->members[i].session))
			return true;
	return false;
}

/* Right when a watcher starts. */
static void lose_some(struct world *world, const struct watcher *starts)
{
	if (anybody_acts(world, starts) || chance(world, 500)) {
		lose(world);
		return;
	}
	trace(world, "a user deletes the Lease and its record");
	for (int i = 0; i < ELECTION_OBJECTS; i++)
		world->leases[i].there = false;
	world->newest_epoch = 0;
}

void leader_start(struct watcher *watcher)
{
	struct world *world = watcher->process.world;
	struct election_options options = {
		.lease_ms = ELECTION_LEASE_MS,
		.renew_ms = ELECTION_RENEW_MS,
		.retry_ms = ELECTION_RETRY_MS,
		.jitter_ms = pick(world, 0, ELECTION_JITTER_MS),
		.member_ms = watcher->lease_ms,
		.margin_ms = MARGIN_MS,
		.grants = world->pool ? ELECTION_GRANTS_CHILDREN : ELECTION_GRANTS_MEMBERS,
	};

	if (!world->healed && chance(world, world->faults.lose_lease))
		lose_some(world, watcher);
	snprintf(watcher->identity, sizeof(watcher->identity), "%s.%" PRIu64, watcher->process.label,
		 watcher->process.life);
	snprintf(options.identity, sizeof(options.identity), "%s", watcher->identity);
	snprintf(options.process, sizeof(options.process), "%s", watcher->identity);
	watcher->lease_wake_ms = INT64_MAX;
	watcher->election = election_new(&options, process_now_ms(&watcher->process));
	drive_soon(watcher, process_now_ms(&watcher->process));
}

/* ---- the end ---- */

static void on_unreleased(struct world *world, void *arg)
{
	(void)world;
	watcher_kill(arg, "could not give the Lease back in time");
}

static void release(struct watcher *watcher, bool drained)
{
	struct world *world = watcher->process.world;

	election_release(watcher->election, drained, process_now_ms(&watcher->process));
	drive_soon(watcher, process_now_ms(&watcher->process));
	at(world, world->now_ms + RELEASE_MS, &watcher->process, on_unreleased, NULL, watcher);
}

static void give_up(struct world *world, void *arg)
{
	(void)world;
	watcher_kill(arg, "has drained long enough");
}

void leader_child_ended(struct watcher *watcher)
{
	for (int i = 0; i < watcher->process.world->member_count; i++)
		if (child(watcher, i)->process.alive)
			return;
	release(watcher, true);
}

void watcher_terminate(struct watcher *watcher)
{
	struct world *world = watcher->process.world;
	bool children = false;

	if (watcher->stopping)
		return;
	watcher->stopping = true;
	trace(world, "%s: is told to end", watcher->process.label);
	at(world, world->now_ms + DRAIN_MS, &watcher->process, give_up, NULL, watcher);
	if (world->pool && watcher->router != NULL) {
		router_close(watcher->router);
		for (int i = 0; i < world->member_count; i++) {
			if (!child(watcher, i)->process.alive)
				continue;
			children = true;
			member_terminate(child(watcher, i));
		}
	}
	if (!children)
		release(watcher, world->pool || watcher->router == NULL);
}

void leader_end(struct watcher *watcher)
{
	router_free(watcher->router);
	election_free(watcher->election);
	watcher->router = NULL;
	watcher->election = NULL;
}
