/* The watcher's HTTP endpoints; see watcher.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/process/process.h"
#include "watcher/debug.h"
#include "watcher/metrics.h"
#include "watcher/watcher.h"

static bool is_ready(void *arg, struct buf *why)
{
	const struct watcher *watcher = arg;

	if (watcher->stopping)
		buf_puts(why, "stopping");
	else if (watcher->streams == NULL)
		buf_puts(why, "the API server does not serve Frameworks yet");
	else if (!watcher->synced)
		buf_puts(why, "not everything is listed yet");
	else
		return true;
	return false;
}

static void put_metrics(void *arg, struct buf *out)
{
	const struct watcher *watcher = arg;
	const struct watcher_metrics from = {
		.client = watcher->client,
		.cache = watcher->cache,
		.router = watcher->term == NULL ? NULL : term_router(watcher->term),
		.bus = bus_socket_counters(watcher->socket),
		.gate = bus_socket_gate(watcher->socket),
		.pool = watcher->term == NULL ? NULL : term_pool(watcher->term),
		.lease_name = watcher->flags.leader.lease_name,
		.workers = watcher->flags.workers,
		.shard_count = (uint32_t)watcher->config.shards,
		.synced = watcher->synced,
		.live = watcher->live,
	};

	watcher_metrics_write(out, &from);
}

static void on_shards(void *arg, struct serve_request *request)
{
	const struct watcher *watcher = arg;
	const struct debug_view view = {
		.identity = lease_identity(watcher->lease),
		.leader = lease_holder(watcher->lease),
		.lease_ns = watcher->flags.leader.lease_ns,
		.lease_name = watcher->flags.leader.lease_name,
		.router = watcher->term == NULL ? NULL : term_router(watcher->term),
		.pool = watcher->term == NULL ? NULL : term_pool(watcher->term),
		.workers = watcher->flags.workers,
		.shard_count = (uint32_t)watcher->config.shards,
		.now_ms = clock_boot_ms(),
		.synced = watcher->synced,
		.live = watcher->live,
	};
	cleanup_json json_t *shards = NULL;
	cleanup_free char *text = NULL;

	if (strcmp(serve_request_method(request), "GET") != 0 ||
	    strcmp(serve_request_path(request), "/debug/shards") != 0) {
		serve_request_fail(request, 404, -1, "expected GET /debug/shards");
		return;
	}
	shards = debug_shards(&view);
	text = json_text(shards);
	serve_request_reply(request, 200, "application/json", text);
}

int watcher_serve(struct watcher *watcher, struct error *err)
{
	const struct serve_options options = {.ready = is_ready, .metrics = put_metrics, .arg = watcher};

	if (process_serve(watcher->loop, &watcher->flags.process, &options, &watcher->http, err) < 0)
		return -1;
	if (watcher->http != NULL)
		serve_mount(watcher->http, "/debug/shards", on_shards, watcher);
	return 0;
}
