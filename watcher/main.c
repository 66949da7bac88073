/* fc-watcher: watches the cluster, and sends reconcilers and barriers the objects that they need (ARCHITECTURE.md §3).
 * This file connects the parts that every watcher has, and begins and ends the term of a leader. */
#include <ev.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/release.h"
#include "common/bus/socket.h"
#include "common/config/config.h"
#include "common/kube/client.h"
#include "common/kube/kubeconfig.h"
#include "common/leader/lease.h"
#include "common/process/guard.h"
#include "common/process/process.h"
#include "watcher/crd.h"
#include "watcher/flags.h"
#include "watcher/keygen.h"
#include "watcher/leader/term.h"
#include "watcher/pool/pool.h"
#include "watcher/shards/router.h"
#include "watcher/status.h"
#include "watcher/view/cache.h"
#include "watcher/view/deletion.h"
#include "watcher/view/streams.h"
#include "watcher/view/workloads.h"
#include "watcher/watcher.h"

enum {
	CRD_RECHECK_MS = 10000,
};

/* ---- the end ---------------------------------------------------------------------------------------------------- */

static void finish(struct watcher *watcher)
{
	ev_break(watcher->loop, EVBREAK_ALL);
}

/* Nothing that only a leader has is at work any more, or it can go on without us: a successor may begin. */
static void on_drained(void *arg)
{
	struct watcher *watcher = arg;

	lease_release(watcher->lease, watcher->term == NULL || term_drained(watcher->term));
}

static void stop(struct watcher *watcher, int exit_code)
{
	if (watcher->stopping)
		return;
	watcher->stopping = true;
	watcher->exit_code = exit_code;
	if (watcher->term != NULL)
		term_close(watcher->term);
	else
		on_drained(watcher);
}

static void on_end(void *arg)
{
	stop(arg, EXIT_SUCCESS);
}

static void on_reloaded(void *arg)
{
	const struct watcher *watcher = arg;

	if (watcher->term != NULL && term_pool(watcher->term) != NULL)
		pool_signal(term_pool(watcher->term), SIGHUP);
}

/* ---- leading ---------------------------------------------------------------------------------------------------- */

/* Children that start would wait for ever, while we keep the Lease. Another process has another socket. */
static void on_cut_off(void *arg, const char *path)
{
	log_error(
		"the bus socket %s is gone: somebody has removed it, and no reconciler can connect. This process ends, "
		"to be started again",
		path);
	stop(arg, EXIT_FAILURE);
}

static void on_led(void *arg, uint64_t epoch, int64_t former_until_ms)
{
	struct watcher *watcher = arg;
	const struct config *config = &watcher->config;
	const struct term_options options = {
		.loop = watcher->loop,
		.flags = &watcher->flags,
		.config = config,
		.api_server = process_api_server(),
		.cache = watcher->cache,
		.socket = watcher->socket,
		.endpoint = watcher->endpoint,
		.qps = config_reconcilers_qps(config),
		.burst = (int32_t)(config->kube_client_burst * (100 - CONFIG_WATCHER_RATE_PERCENT) / 100),
		.epoch = epoch,
		.former_until_ms = former_until_ms,
		.live = watcher->live,
		.cut_off = on_cut_off,
		.drained = on_drained,
		.arg = watcher,
	};
	struct error err;

	if (watcher->stopping)
		return;
	watcher->term = term_new(&options, &err);
	if (watcher->term == NULL) {
		log_error("%s", err.message);
		stop(watcher, EXIT_FAILURE);
		return;
	}
	if (watcher->synced)
		router_synced(term_router(watcher->term));
	crd_keeper_set_writes(watcher->crd, true);
}

static void on_deposed(void *arg)
{
	struct watcher *watcher = arg;

	term_free(watcher->term);
	watcher->term = NULL;
	crd_keeper_set_writes(watcher->crd, false);
	if (watcher->stopping)
		on_drained(watcher);
}

static void on_released(void *arg)
{
	finish(arg);
}

static void on_restored(void *arg)
{
	stop(arg, EXIT_FAILURE);
}

static const struct lease_handler lease_handler = {
	.led = on_led, .deposed = on_deposed, .restored = on_restored, .released = on_released};

/* A standby says nothing on the bus, nor does a leader from the moment on that another one may lead (ARCHITECTURE.md
 * §3.5): its peers look for another. */
static bool answers(const void *arg)
{
	const struct watcher *watcher = arg;

	/* a Lease that is being given back names the grants that remain, so no new ones may follow; a pool has ended by
	 * then */
	if (watcher->stopping && watcher->flags.workers == 0)
		return false;
	return watcher->term != NULL && lease_leads(watcher->lease);
}

static bool named(const void *arg, const unsigned char *id, size_t id_len, const char **name, enum bus_role *role)
{
	const struct watcher *watcher = arg;

	return watcher->term != NULL && router_peer_named(term_router(watcher->term), id, id_len, name, role);
}

static const struct bus_owner owner = {.answers = answers, .named = named};

static void on_message(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const char *body,
		       size_t body_len)
{
	const struct watcher *watcher = arg;

	if (answers(watcher))
		router_receive(term_router(watcher->term), id, id_len, head, body, body_len);
}

/* ---- the parts' callbacks --------------------------------------------------------------------------------------- */

/* A standby receives the same deletions. Only the leader logs them. */
static void on_deleted(void *arg, enum object_kind kind, const char *text, size_t len)
{
	const struct watcher *watcher = arg;

	if (watcher->term != NULL)
		deletion_log(&watcher->config.log_object_snapshot, kind, text, len);
}

static void on_synced(void *arg)
{
	struct watcher *watcher = arg;

	log_info("synced: %zu Frameworks, %zu ConfigMaps, %zu Pods", cache_count(watcher->cache, KIND_FRAMEWORK),
		 cache_count(watcher->cache, KIND_CONFIG_MAP), cache_count(watcher->cache, KIND_POD));
	watcher->synced = true;
	if (watcher->term != NULL)
		router_synced(term_router(watcher->term));
}

static void on_live(void *arg, bool live)
{
	struct watcher *watcher = arg;

	watcher->live = live;
	if (watcher->term != NULL)
		router_set_live(term_router(watcher->term), live);
}

static void on_relisted(void *arg)
{
	struct watcher *watcher = arg;

	if (watcher->term != NULL)
		router_relisted(term_router(watcher->term));
}

/* The length of a turn of cache_fold() around all shards, and of a pause in a shard that has more to fold. */
enum { FOLD_TURN_MS = 8 * 1000, FOLD_PAUSE_MS = 10 };

static void on_fold(struct ev_loop *loop, ev_timer *timer, int events)
{
	const struct watcher *watcher = timer->data;
	double wait_ms = cache_fold(watcher->cache) ? FOLD_PAUSE_MS : FOLD_TURN_MS / (double)watcher->config.shards;

	(void)events;
	ev_timer_set(timer, wait_ms / 1000, 0.);
	ev_timer_start(loop, timer);
}

static const struct streams_handler streams_handler = {
	.deleted = on_deleted, .synced = on_synced, .relisted = on_relisted, .live = on_live};

static void on_established(void *arg)
{
	struct watcher *watcher = arg;
	const struct namespaces namespaces = {watcher->flags.namespaces, watcher->flags.namespace_count};

	watcher->streams = streams_new(watcher->loop, watcher->client, watcher->cache, &namespaces, true,
				       &streams_handler, watcher);
	if (watcher->config.kueue)
		watcher->workloads = workloads_new(watcher->loop, watcher->client, watcher->cache, &namespaces,
						   on_relisted, watcher);
}

static void on_crd_failed(void *arg, const char *message)
{
	log_error("%s", message);
	stop(arg, EXIT_FAILURE);
}

static const struct crd_handler crd_handler = {.established = on_established, .failed = on_crd_failed};

/* ---- putting it together ---------------------------------------------------------------------------------------- */

static int make_client(struct watcher *watcher, struct error *err)
{
	const struct config *config = &watcher->config;
	const struct kube_client_options options = {
		.user_agent = "fc-watcher/" RELEASE,
		.qps = config->kube_client_qps * CONFIG_WATCHER_RATE_PERCENT / 100,
		.burst = 1 + (int)(config->kube_client_burst * CONFIG_WATCHER_RATE_PERCENT / 100),
	};

	watcher->client = process_client(watcher->loop, &watcher->flags.process, config, &options, err);
	return watcher->client == NULL ? -1 : 0;
}

/* With a pool: a private socket, and the outer one too if it was asked for (barriers). */
static int make_socket(struct watcher *watcher, struct error *err)
{
	const char *outer = watcher->flags.process.bus;
	const struct bus_security *security = &watcher->flags.process.security;

	if (watcher->flags.workers == 0 && outer == NULL)
		outer = watcher->config.bus_address;
	if (watcher->flags.workers > 0) {
		if (pool_directory_make(&watcher->bus_directory, &watcher->bus_lock, &watcher->endpoint, err) < 0)
			return -1;
	} else {
		watcher->endpoint = mem_strdup(outer);
		outer = NULL;
	}
	watcher->socket = bus_socket_bind(watcher->loop, watcher->endpoint,
					  watcher->flags.workers > 0 ? NULL : security, on_message, watcher, err);
	if (watcher->socket == NULL ||
	    (outer != NULL && bus_socket_bind_also(watcher->socket, outer, security, err) < 0))
		return -1;
	bus_socket_set_owner(watcher->socket, &owner);
	log_info("the bus listens on %s", bus_socket_endpoint(watcher->socket));
	return 0;
}

/* Members outlive a former watcher, for a lease; a pool does not. */
static void make_election(struct watcher *watcher)
{
	const struct flags *flags = &watcher->flags;
	const struct lease_options options = {
		.ns = flags->leader.lease_ns,
		.name = flags->leader.lease_name,
		.election = {.lease_ms = flags->leader.lease_duration_ms,
			     .renew_ms = flags->leader.renew_deadline_ms,
			     .retry_ms = flags->leader.retry_period_ms,
			     .member_ms = watcher->config.member_lease_sec * 1000,
			     .margin_ms = SHARD_MARGIN_MS,
			     .grants = flags->workers > 0 ? ELECTION_GRANTS_CHILDREN : ELECTION_GRANTS_MEMBERS},
	};

	watcher->lease = lease_new(watcher->loop, watcher->client, &options, &lease_handler, watcher);
}

static int set_up(struct watcher *watcher, struct error *err)
{
	const struct config *config = &watcher->config;
	const struct crd_options crd_options = {
		.check_ms = config->crd_established_check_interval_sec * 1000,
		.timeout_ms = config->crd_established_check_timeout_sec * 1000,
		.recheck_ms = CRD_RECHECK_MS,
		.discover = watcher->flags.namespace_count > 0,
	};

	process_signals_start(&watcher->signals, watcher->loop, on_end, watcher, &watcher->client);
	watcher->signals.reloaded = on_reloaded;
	if (make_client(watcher, err) < 0)
		return -1;
	watcher->cache = cache_new((uint32_t)config->shards, NULL, NULL);
	ev_timer_init(&watcher->fold, on_fold, FOLD_TURN_MS / 1000., 0.);
	watcher->fold.data = watcher;
	ev_timer_start(watcher->loop, &watcher->fold);
	/* mistakes before the bus listens, and all of it before there are children: a busy port then leaves nothing to
	 * clean up */
	if ((watcher->flags.workers > 0 && term_check(&watcher->flags, err) < 0) || watcher_serve(watcher, err) < 0 ||
	    make_socket(watcher, err) < 0)
		return -1;
	watcher->crd = crd_keeper_new(watcher->loop, watcher->client, &crd_options, &crd_handler, watcher);
	make_election(watcher);
	return 0;
}

static void tear_down(struct watcher *watcher)
{
	serve_free(watcher->http);
	term_free(watcher->term);
	lease_free(watcher->lease);
	crd_keeper_free(watcher->crd);
	workloads_free(watcher->workloads);
	streams_free(watcher->streams);
	kube_client_free(watcher->client);
	bus_socket_free(watcher->socket);
	ev_timer_stop(watcher->loop, &watcher->fold);
	cache_free(watcher->cache);
	if (watcher->bus_directory != NULL)
		pool_directory_remove(watcher->bus_directory, watcher->bus_lock);
	free(watcher->bus_directory);
	free(watcher->endpoint);
	config_free(&watcher->config);
}

static int run(struct watcher *watcher)
{
	struct error err;

	if (config_load(watcher->flags.process.config, watcher->flags.process.unknown_keys, &watcher->config, &err) <
	    0) {
		log_error("%s", err.message);
		watcher->exit_code = EXIT_BAD_USE;
	} else if (set_up(watcher, &err) < 0) {
		log_error("%s", err.message);
		watcher->exit_code = process_start_code(&err);
	} else {
		ev_run(watcher->loop, 0);
	}
	tear_down(watcher);
	return watcher->exit_code;
}

int main(int argc, char **argv)
{
	struct watcher watcher = {.exit_code = EXIT_SUCCESS};
	int parsed;
	int code;

	process_guard();
	if (argc > 1 && strcmp(argv[1], "keygen") == 0)
		return keygen_main(argc - 2, argv + 2);
	if (argc > 1 && strcmp(argv[1], "status") == 0)
		return status_main(argc - 1, argv + 1);
	parsed = flags_parse(argc, argv, &watcher.flags);
	if (parsed != 0)
		return parsed < 0 ? EXIT_BAD_USE : EXIT_SUCCESS;
	if (watcher.flags.print_crd)
		return fputs(crd_text(), stdout) >= 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	log_set_prefix("fc-watcher: ");
	watcher.loop = process_loop(GATHER_STREAM_MS);
	code = run(&watcher);
	ev_loop_destroy(watcher.loop);
	return code;
}
