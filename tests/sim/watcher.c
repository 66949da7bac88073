/* A watcher's process: cache and streams as watcher/main.c puts them together, on the simulator's loop (stream.c), and
 * what it does while it leads (leader.c); see sim.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/sim.h"

enum {
	GATHER_MS = 30,      /* the real one gathers for 20 (process/gather.h): here events come more slowly */
	CHANGED_OFTEN = 500, /* the configuration, of a thousand starts of watchers */
};

static void on_gathered(struct world *world, void *arg)
{
	struct watcher *watcher = arg;

	(void)world;
	watcher->gathering = false;
	if (watcher->router != NULL)
		router_flush(watcher->router);
}

void watcher_settle(struct watcher *watcher)
{
	struct world *world = watcher->process.world;

	if (watcher->router == NULL || watcher->gathering)
		return;
	if (!world->gather) {
		router_flush(watcher->router);
	} else if (router_has_news(watcher->router)) {
		watcher->gathering = true;
		at(world, world->now_ms + GATHER_MS, &watcher->process, on_gathered, NULL, watcher);
	}
}

/* ---- the streams ---- */

static void on_deleted(void *arg, enum object_kind kind, const char *text, size_t len)
{
	(void)arg;
	(void)kind;
	(void)text;
	(void)len;
}

static void on_synced(void *arg)
{
	struct watcher *watcher = arg;

	trace(watcher->process.world, "%s: synced", watcher->process.label);
	watcher->synced = true;
	if (watcher->router != NULL)
		leader_synced(watcher);
}

static void on_relisted(void *arg)
{
	const struct watcher *watcher = arg;

	if (watcher->router != NULL)
		router_relisted(watcher->router);
}

static void on_live(void *arg, bool live)
{
	struct watcher *watcher = arg;

	watcher->live = live;
	if (watcher->router != NULL)
		router_set_live(watcher->router, live);
}

static const struct streams_handler streams_handler = {
	.deleted = on_deleted, .synced = on_synced, .relisted = on_relisted, .live = on_live};

/* As watcher/view/workloads.c. */
static void ignore_live(void *arg, bool live)
{
	(void)arg;
	(void)live;
}

static const struct streams_handler workloads_handler = {
	.deleted = on_deleted, .synced = on_relisted, .relisted = on_relisted, .live = ignore_live};

/* ---- the cache's listener ---- */

static void on_changed(void *arg, struct cache_entry *entry)
{
	const struct watcher *watcher = arg;

	if (watcher->router != NULL)
		router_changed(watcher->router, entry);
}

static void on_gone(void *arg, struct cache_entry *entry, const struct cache_absence *absence)
{
	const struct watcher *watcher = arg;

	if (watcher->router != NULL)
		router_gone(watcher->router, entry, absence);
}

static void on_missed(void *arg, const struct cache_entry *entry)
{
	(void)arg;
	(void)entry;
}

static const struct cache_listener listener = {.changed = on_changed, .gone = on_gone, .missed = on_missed};

/* So many turns fold whatever is in the cache. */
enum { SIM_FOLD_TURNS = 3 };

static void on_tick(struct world *world, void *arg)
{
	struct watcher *watcher = arg;

	if (watcher->router != NULL)
		router_tick(watcher->router);
	for (uint32_t i = 0; i < SIM_FOLD_TURNS * watcher->shard_count; i++)
		cache_fold(watcher->cache);
	watcher_settle(watcher);
	at(world, world->now_ms + SIM_TICK_MS, &watcher->process, on_tick, NULL, watcher);
}

/* ---- its life ---- */

static void restart(struct world *world, void *arg)
{
	const struct watcher *watcher = arg;

	if (!watcher->process.alive && !world->faults.lost)
		watcher_start(world, watcher->index);
}

/* Somebody has changed memberLeaseSec or shards since a watcher started: it has the new values, the others those that
 * they have read. */
static void change_configuration(struct world *world)
{
	static const uint32_t cuts[] = {SIM_SHARDS, 5, 3};

	if (world->faults.calm || world->healed || !chance(world, CHANGED_OFTEN))
		return;
	if (chance(world, 500))
		world->shard_count = cuts[pick(world, 0, (int64_t)ARRAY_LEN(cuts) - 1)];
	if (chance(world, 700))
		world->member_lease_ms = world->member_lease_ms == world->lease_ms ? other_lease_ms(world)
										   : world->lease_ms;
	trace(world, "the configuration is now %u shards, leases of %lld ms", world->shard_count,
	      (long long)world->member_lease_ms);
}

void watcher_start(struct world *world, int index)
{
	struct watcher *watcher = &world->watchers[index];
	uint64_t life = watcher->process.life;
	const char *const names[SIM_NAMESPACES] = {plan_ns(0), plan_ns(1)};
	const struct namespaces namespaces = {names, world->by_namespace ? SIM_NAMESPACES : 0};

	*watcher = (struct watcher){
		.process = {.world = world,
			    .machine = &world->machines[world->same_machine ? 0 : index],
			    .alive = true,
			    .life = life + 1},
		.index = index,
	};
	world->running = &watcher->process;
	snprintf(watcher->process.label, sizeof(watcher->process.label), "w%d", index);
	trace(world, "%s: starts", watcher->process.label);
	change_configuration(world);
	watcher->shard_count = world->shard_count;
	watcher->lease_ms = world->member_lease_ms;
	watcher->cache = cache_new(watcher->shard_count, &listener, watcher);
	/* lists in pages, as servers without initial events have them; unit tests and the embedded cluster have initial
	 * events */
	watcher->streams = streams_new((struct ev_loop *)(void *)watcher, (struct kube_client *)(void *)watcher,
				       watcher->cache, &namespaces, false, &streams_handler, watcher);
	if (world->queued)
		watcher->workloads = streams_new_workloads(
			(struct ev_loop *)(void *)watcher, (struct kube_client *)(void *)watcher, watcher->cache,
			&namespaces, "/apis/kueue.x-k8s.io/v1beta2", &workloads_handler, watcher);
	at(world, world->now_ms + SIM_TICK_MS, &watcher->process, on_tick, NULL, watcher);
	leader_start(watcher);
	for (int i = 0; i < SIM_SEATS; i++)
		if (world->seats[i].session != NULL)
			bus_connect(&world->seats[i]);
	world->running = NULL;
}

static void end(struct watcher *watcher)
{
	struct world *world = watcher->process.world;

	watcher->process.alive = false;
	bus_disconnect_watcher(watcher);
	for (int i = 0; world->pool && i < SIM_MEMBERS; i++) {
		struct member *member = &world->members[watcher->index * SIM_MEMBERS + i];

		if (member->process.alive)
			member_kill(member, "dies with its parent");
	}
	at(world,
	   world->now_ms +
		   pick(world, 100,
			world->faults.calm || world->healed || chance(world, 600) ? 2000 : world->faults.long_ms),
	   NULL, restart, NULL, watcher);
}

void watcher_kill(struct watcher *watcher, const char *why)
{
	memory_ended();
	trace(watcher->process.world, "%s: %s", watcher->process.label, why);
	end(watcher);
	streams_end(watcher);
	leader_end(watcher);
	cache_free(watcher->cache);
}

static void crash(struct world *world, void *arg)
{
	(void)world;
	watcher_kill(arg, "right after a request");
}

void watcher_requested(struct watcher *watcher)
{
	struct world *world = watcher->process.world;

	if (++watcher->requests == watcher->crash_after)
		at(world, world->now_ms, &watcher->process, crash, NULL, watcher);
}

void watcher_out_of_memory(struct watcher *watcher)
{
	trace(watcher->process.world, "%s: out of memory", watcher->process.label);
	end(watcher);
}
