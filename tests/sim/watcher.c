/* The watcher's process: cache and router as watcher/main.c puts them together, fed by streams that behave as
 * common/kube's reflectors do; see sim.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/sim/sim.h"

enum { EVENT_MS = 30, SLOW_EVENT_MS = 6000, PAUSE_MS = 800 };

static struct world *world_of(const struct stream *stream)
{
	return stream->watcher->process.world;
}

static bool calm(const struct world *world)
{
	return world->faults.calm || world->healed;
}

void watcher_settle(struct watcher *watcher)
{
	if (watcher->router != NULL)
		router_flush(watcher->router);
}

/* ---- streams ---- */

static void set_live(struct stream *stream, bool live)
{
	struct watcher *watcher = stream->watcher;
	bool all = true;

	stream->live = live;
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		all = all && watcher->streams[kind].live;
	if (all != watcher->live) {
		watcher->live = all;
		if (watcher->router != NULL)
			router_set_live(watcher->router, all);
	}
}

static void go_on(struct world *world, void *arg);

/* What comes of a request or a pause, unless the stream was cut since. */
struct turn {
	struct stream *stream;
	uint64_t life;
	json_t *list;
	uint64_t version;
};

static void turn_free(void *arg)
{
	struct turn *turn = arg;

	json_decref(turn->list);
	free(turn);
}

static struct turn *turn_new(struct stream *stream)
{
	struct turn *turn = mem_calloc(1, sizeof(*turn));

	turn->stream = stream;
	turn->life = stream->life;
	return turn;
}

static void after(struct stream *stream, int64_t delay_ms, void (*run)(struct world *world, void *arg))
{
	struct world *world = world_of(stream);

	at(world, world->now_ms + delay_ms, &stream->watcher->process, run, turn_free, turn_new(stream));
}

/* The list's answer has come. */
static void listed(struct world *world, void *arg)
{
	struct turn *turn = arg;
	struct stream *stream = turn->stream;
	struct watcher *watcher = stream->watcher;
	char version[24];
	size_t i;
	json_t *object;

	if (turn->life == stream->life) {
		bool breaks = !calm(world) && chance(world, 100); /* between two pages */

		json_array_foreach(turn->list, i, object) {
			if (breaks && chance(world, 300))
				break;
			cache_present(watcher->cache, stream->kind, object, NULL);
		}
		if (breaks) {
			trace(world, "%s: list of %s breaks", stream->watcher->process.label,
			      object_kind_name(stream->kind));
			after(stream, pick(world, PAUSE_MS, PAUSE_MS * 2), go_on);
			watcher_settle(watcher);
			turn_free(turn);
			return;
		}
		snprintf(version, sizeof(version), "%" PRIu64, turn->version);
		trace(world, "%s: list of %s at %s: %zu", stream->watcher->process.label,
		      object_kind_name(stream->kind), version, json_array_size(turn->list));
		cache_list_end(watcher->cache, stream->kind, version);
		stream->version = turn->version;
		stream->floor = turn->version;
		stream->listed = true;
		if (watcher->synced && watcher->router != NULL)
			router_relisted(watcher->router);
		if (!watcher->synced && watcher->streams[0].listed && watcher->streams[1].listed &&
		    watcher->streams[2].listed) {
			watcher->synced = true;
			trace(world, "%s: synced", watcher->process.label);
			if (watcher->router != NULL)
				router_synced(watcher->router);
		}
		after(stream, pick(world, 1, 20), go_on);
		watcher_settle(watcher);
	}
	turn_free(turn);
}

/* The server reads the list. */
static void list_read(struct world *world, void *arg)
{
	struct turn *turn = arg;
	struct stream *stream = turn->stream;

	if (turn->life != stream->life) {
		turn_free(turn);
		return;
	}
	turn->version = world->version;
	/* A replica that lags may answer a list that asks for anything not older than the last. */
	if (world->faults.stale_lists && !world->healed && stream->floor > 0 && stream->gone_in_row < 2 &&
	    stream->floor < world->version)
		turn->version = (uint64_t)pick(world, (int64_t)stream->floor, (int64_t)world->version);
	turn->list = api_list(world, stream->kind, turn->version);
	at(world, world->now_ms + pick(world, 1, calm(world) ? 5 : 500), &stream->watcher->process, listed, turn_free,
	   turn);
}

static void list_start(struct stream *stream)
{
	struct world *world = world_of(stream);

	cache_list_begin(stream->watcher->cache, stream->kind);
	after(stream, pick(world, 1, calm(world) ? 5 : 300), list_read);
}

static void deliver_soon(struct stream *stream);

static const struct change *next_change(const struct stream *stream)
{
	const struct world *world = world_of(stream);

	for (uint64_t v = stream->version + 1; v <= world->version; v++) {
		const struct change *change = &world->changes[v - VERSION_BASE - 1];

		if (change->kind == stream->kind &&
		    (change->kind == KIND_FRAMEWORK || change->labelled || change->was_labelled))
			return change;
	}
	return NULL;
}

static void progress(struct stream *stream, uint64_t version)
{
	char text[24];

	stream->version = version;
	stream->floor = version;
	snprintf(text, sizeof(text), "%" PRIu64, version);
	cache_progress(stream->watcher->cache, stream->kind, text);
}

/* What leaves the selector is told of as it was, with the new version. */
static void tell_unlabelled(const struct stream *stream, const struct change *change)
{
	cleanup_json json_t *object = json_copy(change->before);

	json_object_set_new(object, "metadata", json_copy(json_object_get(object, "metadata")));
	json_object_set(json_object_get(object, "metadata"), "resourceVersion",
			json_path(change->json, "metadata", "resourceVersion", NULL));
	cache_deleted(stream->watcher->cache, stream->kind, object, NULL);
}

/* One event of the watch. */
static void deliver(struct world *world, void *arg)
{
	struct turn *turn = arg;
	struct stream *stream = turn->stream;
	const struct change *change;

	if (turn->life == stream->life) {
		stream->delivering = false;
		change = stream->frozen_until_ms > world->now_ms ? NULL : next_change(stream);
		if (change != NULL) {
			trace(world, "watcher: %s %s at %" PRIu64, meta_text(change->json, "uid"),
			      change->gone ? "DELETED" : "present", change->version);
			stream->gone_in_row = 0;
			if (stream->kind != KIND_FRAMEWORK && !change->labelled)
				tell_unlabelled(stream, change);
			else if (change->gone)
				cache_deleted(stream->watcher->cache, stream->kind, change->json, NULL);
			else
				cache_present(stream->watcher->cache, stream->kind, change->json, NULL);
			progress(stream, change->version);
		} else if (stream->frozen_until_ms <= world->now_ms && chance(world, 300)) {
			progress(stream, world->version); /* a bookmark */
		}
		deliver_soon(stream);
		watcher_settle(stream->watcher);
	}
	turn_free(turn);
}

static void deliver_soon(struct stream *stream)
{
	struct world *world = world_of(stream);
	int64_t delay_ms = pick(world, 1, EVENT_MS);

	if (!stream->connected || stream->delivering || next_change(stream) == NULL)
		return;
	if (world->faults.slow_streams && !world->healed && chance(world, 100))
		delay_ms += pick(world, 0, SLOW_EVENT_MS);
	if (!calm(world))
		delay_ms += world->faults.lag_ms[stream->kind];
	if (stream->frozen_until_ms > world->now_ms + delay_ms)
		delay_ms = stream->frozen_until_ms - world->now_ms;
	stream->delivering = true;
	after(stream, delay_ms, deliver);
}

void watcher_news(struct world *world)
{
	for (int i = 0; i < world->watcher_count; i++)
		for (size_t kind = 0; world->watchers[i].process.alive && kind < KIND_COUNT; kind++)
			deliver_soon(&world->watchers[i].streams[kind]);
}

/* A watch is asked for, or a list when the history since our version is gone. */
static void go_on(struct world *world, void *arg)
{
	struct turn *turn = arg;
	struct stream *stream = turn->stream;

	if (turn->life != stream->life) {
		turn_free(turn);
		return;
	}
	turn_free(turn);
	if (world->now_ms < world->faults.outage_until_ms && !world->healed) {
		after(stream, pick(world, PAUSE_MS, PAUSE_MS * 4), go_on);
	} else if (!stream->listed) {
		list_start(stream);
	} else if (stream->version < world->faults.compacted) {
		trace(world, "%s: 410 for %s", stream->watcher->process.label, object_kind_name(stream->kind));
		set_live(stream, false);
		stream->listed = false;
		if (++stream->gone_in_row == 1)
			list_start(stream);
		else
			after(stream, pick(world, PAUSE_MS, PAUSE_MS * 2), go_on);
	} else {
		stream->connected = true;
		set_live(stream, true);
		deliver_soon(stream);
	}
}

void stream_cut(struct stream *stream)
{
	struct world *world = world_of(stream);

	if (!stream->connected)
		return;
	trace(world, "%s: the watch of %s breaks", stream->watcher->process.label, object_kind_name(stream->kind));
	stream->connected = false;
	stream->delivering = false;
	stream->life++;
	set_live(stream, false);
	after(stream, pick(world, 1, 2500), go_on);
}

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

static void on_tick(struct world *world, void *arg)
{
	struct watcher *watcher = arg;

	if (watcher->router != NULL)
		router_tick(watcher->router);
	watcher_settle(watcher);
	at(world, world->now_ms + SIM_TICK_MS, &watcher->process, on_tick, NULL, watcher);
}

/* ---- its life ---- */

static void restart(struct world *world, void *arg)
{
	const struct watcher *watcher = arg;

	if (!watcher->process.alive)
		watcher_start(world, watcher->index);
}

void watcher_start(struct world *world, int index)
{
	struct watcher *watcher = &world->watchers[index];
	uint64_t life = watcher->process.life;

	*watcher = (struct watcher){.process = {.world = world, .alive = true, .life = life + 1}, .index = index};
	snprintf(watcher->process.label, sizeof(watcher->process.label), "w%d", index);
	watcher->wall_skew_ms = world->faults.calm ? 0 : pick(world, -1500, 1500);
	trace(world, "%s: starts", watcher->process.label);
	watcher->cache = cache_new(SIM_SHARDS, &listener, watcher);
	for (size_t kind = 0; kind < KIND_COUNT; kind++) {
		watcher->streams[kind] = (struct stream){.watcher = watcher, .kind = (enum object_kind)kind};
		after(&watcher->streams[kind], pick(world, 1, 50), go_on);
	}
	at(world, world->now_ms + SIM_TICK_MS, &watcher->process, on_tick, NULL, watcher);
	leader_start(watcher);
	for (int i = 0; i < SIM_PROCESSES; i++)
		if (world->members[i].process.alive)
			bus_connect(&world->members[i]);
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
	at(world, world->now_ms + pick(world, 100, calm(world) || chance(world, 600) ? 2000 : world->faults.long_ms),
	   NULL, restart, NULL, watcher);
}

void watcher_kill(struct watcher *watcher, const char *why)
{
	memory_ended();
	trace(watcher->process.world, "%s: %s", watcher->process.label, why);
	end(watcher);
	leader_end(watcher);
	cache_free(watcher->cache);
}

void watcher_out_of_memory(struct watcher *watcher)
{
	trace(watcher->process.world, "%s: out of memory", watcher->process.label);
	end(watcher);
}
