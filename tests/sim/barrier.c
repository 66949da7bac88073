/* A barrier's process: its peer of the bus and its view of the Frameworks, around the simulated loop, as barrier/main.c
 * puts them together around the real one. Nobody waits at it: what it releases rests on a GET. See sim.h. */
#include <stdio.h>

#include "barrier/readiness.h"
#include "tests/sim/check.h"

static struct world *world_of(const struct barrier *barrier)
{
	return barrier->process.world;
}

/* ---- the peer's callbacks, as in barrier/main.c ---- */

static void on_granted(void *arg, const struct shard_set *fresh)
{
	readiness_granted(((struct barrier *)arg)->readiness, fresh);
}

static void on_revoked(void *arg, const struct shard_set *shards)
{
	readiness_revoked(((struct barrier *)arg)->readiness, shards);
}

static bool on_text(void *arg, enum object_kind kind, uint32_t shard, const char *text, size_t len)
{
	struct barrier *barrier = arg;

	(void)shard;
	if (kind != KIND_FRAMEWORK)
		violated(world_of(barrier), "%s is sent a %s", barrier->process.label, object_kind_name(kind));
	return readiness_object(barrier->readiness, text, len);
}

static void on_absent(void *arg, enum object_kind kind, uint32_t shard, const struct bus_absent *absent)
{
	struct barrier *barrier = arg;

	(void)shard;
	if (kind != KIND_FRAMEWORK)
		violated(world_of(barrier), "%s is told of a %s", barrier->process.label, object_kind_name(kind));
	readiness_absent(barrier->readiness, absent);
}

static void on_complete(void *arg, const struct bus_snapshot_end *end)
{
	struct barrier *barrier = arg;

	readiness_complete(barrier->readiness, &end->shards, session_shard_count(barrier->session));
}

static void on_live(void *arg, bool live)
{
	readiness_live(((struct barrier *)arg)->readiness, live);
}

static void on_refused(void *arg, const char *reason, bool final)
{
	const struct barrier *barrier = arg;

	trace(world_of(barrier), "%s: refused: %s", barrier->process.label, reason);
	if (final)
		violated(world_of(barrier), "%s is refused for good: %s", barrier->process.label, reason);
}

static const struct session_handler handler = {
	.granted = on_granted,
	.revoked = on_revoked,
	.text = on_text,
	.absent = on_absent,
	.complete = on_complete,
	.live = on_live,
	.refused = on_refused,
};

static void on_changed(void *arg, const char *key)
{
	(void)arg;
	(void)key;
}

/* In every other one somebody waits for everything, so that what is compressed is unpacked when it comes. */
static bool on_wanted(void *arg, const char *key)
{
	const struct barrier *barrier = arg;

	(void)key;
	return barrier->name[1] != '0';
}

static const struct readiness_handler readiness_handler = {.changed = on_changed, .wanted = on_wanted};

/* ---- the loop ---- */

static int64_t port_now_ms(void *arg)
{
	return process_now_ms(((const struct seat *)arg)->process);
}

static void settle(struct process *process);

static void on_wake(struct world *world, void *arg)
{
	struct barrier *barrier = arg;

	if (barrier->wake_ms > world->now_ms)
		return; /* an earlier arrangement was made since, and kept */
	barrier->wake_ms = INT64_MAX;
	settle(&barrier->process);
}

static void settle(struct process *process)
{
	struct barrier *barrier = (struct barrier *)(void *)process; /* its first member */
	struct world *world = process->world;
	int64_t at_ms = process_time_ms(process, session_tick(barrier->session));

	if (at_ms <= world->now_ms)
		at_ms = world->now_ms + 1;
	if (at_ms >= barrier->wake_ms)
		return;
	barrier->wake_ms = at_ms;
	at(world, at_ms, process, on_wake, NULL, barrier);
}

/* ---- its life ---- */

static void restart(struct world *world, void *arg)
{
	const struct barrier *barrier = arg;

	if (!barrier->process.alive)
		barrier_start(world, (int)(barrier - world->barriers));
}

void barrier_start(struct world *world, int index)
{
	struct barrier *barrier = &world->barriers[index];
	struct seat *seat = &world->seats[SIM_PROCESSES + index];
	const struct session_ports ports = {
		.watchers = (unsigned)world->watcher_count,
		.window = world->seed % 2 == 0 ? 3 : 0,
		.send = bus_from_peer,
		.now_ms = port_now_ms,
		.arg = seat,
	};
	uint64_t life = barrier->process.life;
	char uuid[40];

	*barrier = (struct barrier){
		.process = {.world = world,
			    .machine = &world->machines[SIM_WATCHERS + SIM_PROCESSES + index],
			    .alive = true,
			    .life = life + 1},
		.seat = seat,
		.wake_ms = INT64_MAX,
	};
	snprintf(barrier->name, sizeof(barrier->name), "b%d", index);
	snprintf(barrier->process.label, sizeof(barrier->process.label), "b%d.%llu", index,
		 (unsigned long long)barrier->process.life);
	snprintf(uuid, sizeof(uuid), "uuid-%llu", (unsigned long long)++world->uuids);
	trace(world, "%s: starts", barrier->process.label);
	barrier->readiness = readiness_new(&readiness_handler, barrier);
	barrier->session = session_new(&ports, BUS_ROLE_BARRIER, barrier->name, uuid, &handler, barrier);
	bus_seat(seat, &barrier->process, barrier->session, NULL, settle);
	bus_connect(seat);
	settle(&barrier->process);
}

void barrier_kill(struct barrier *barrier, const char *why)
{
	struct world *world = world_of(barrier);

	trace(world, "%s: %s", barrier->process.label, why);
	bus_disconnect(barrier->seat);
	bus_seat(barrier->seat, &barrier->process, NULL, NULL, settle);
	session_free(barrier->session);
	readiness_free(barrier->readiness);
	barrier->process.alive = false;
	at(world, world->now_ms + pick(world, 50, 1500), NULL, restart, NULL, barrier);
}
