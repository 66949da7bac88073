/* fc-watcher: watches the cluster, and tells reconcilers and barriers what they need to know of it (DESIGN.md §4).
 * This file puts the parts together. */
#include <ev.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/random.h"
#include "common/bus/socket.h"
#include "common/config/config.h"
#include "common/health/health.h"
#include "common/kube/client.h"
#include "common/kube/kubeconfig.h"
#include "watcher/cache.h"
#include "watcher/crd.h"
#include "watcher/deletion.h"
#include "watcher/flags.h"
#include "watcher/metrics.h"
#include "watcher/pool.h"
#include "watcher/router.h"
#include "watcher/streams.h"

enum {
	TICK_MS = 500,
	DRAIN_MS = 20000, /* of the children, after SIGTERM */
	CRD_RECHECK_MS = 10000,
	OWN_RATE_PERCENT = 5, /* of the cluster's rate: for lists and the CRD */
};

struct watcher {
	struct ev_loop *loop;
	struct flags flags;
	struct config config;
	struct kube_client *client;
	struct crd_keeper *crd;
	struct cache *cache;
	struct router *router;
	struct streams *streams;
	struct bus_socket *socket;
	struct pool *pool;
	struct serve *http;
	char *bus_directory; /* NULL when there is no pool */
	ev_signal term;
	ev_signal interrupt;
	ev_signal hangup;
	ev_timer tick;
	ev_prepare flush;
	bool synced;
	bool live;
	bool stopping;
	int exit_code;
};

/* ---- the end ---------------------------------------------------------------------------------------------------- */

static void finish(struct watcher *watcher)
{
	ev_break(watcher->loop, EVBREAK_ALL);
}

static void stop(struct watcher *watcher, int exit_code)
{
	if (watcher->stopping)
		return;
	watcher->stopping = true;
	watcher->exit_code = exit_code;
	if (watcher->pool == NULL) {
		finish(watcher);
		return;
	}
	router_close(watcher->router);
	pool_stop(watcher->pool); /* its reconcilers need the bus until they have let go */
}

static void on_stop_signal(struct ev_loop *loop, ev_signal *signal, int events)
{
	struct watcher *watcher = signal->data;

	(void)loop;
	(void)events;
	log_info("received signal %d, stopping", signal->signum);
	stop(watcher, EXIT_SUCCESS);
}

static void on_hangup(struct ev_loop *loop, ev_signal *signal, int events)
{
	struct watcher *watcher = signal->data;

	(void)loop;
	(void)events;
	log_info("reading the credentials again");
	kube_client_reload(watcher->client);
	if (watcher->pool != NULL)
		pool_signal(watcher->pool, SIGHUP);
}

/* ---- the parts' callbacks --------------------------------------------------------------------------------------- */

static void on_changed(void *arg, struct cache_entry *entry)
{
	struct watcher *watcher = arg;

	router_changed(watcher->router, entry);
}

static void on_gone(void *arg, struct cache_entry *entry, const struct cache_absence *absence)
{
	struct watcher *watcher = arg;

	router_gone(watcher->router, entry, absence);
}

static void on_missed(void *arg, const struct cache_entry *entry)
{
	const struct watcher *watcher = arg;
	cleanup_buf struct buf text = {0};
	json_t *object;

	/* of a Pod nothing but the kept parts is known: no snapshot */
	if (cache_entry_kind(entry) != KIND_FRAMEWORK || !watcher->config.log_object_snapshot.on_framework_deletion)
		return;
	cache_entry_write(&text, entry);
	object = json_parse(text.data, text.len, NULL);
	deletion_log(KIND_FRAMEWORK, object);
	json_decref(object);
}

static const struct cache_listener cache_listener = {.changed = on_changed, .gone = on_gone, .missed = on_missed};

static void on_synced(void *arg)
{
	struct watcher *watcher = arg;

	log_info("synced: %zu Frameworks, %zu ConfigMaps, %zu Pods", cache_count(watcher->cache, KIND_FRAMEWORK),
		 cache_count(watcher->cache, KIND_CONFIG_MAP), cache_count(watcher->cache, KIND_POD));
	watcher->synced = true;
	router_synced(watcher->router);
}

static void on_live(void *arg, bool live)
{
	struct watcher *watcher = arg;

	watcher->live = live;
	router_set_live(watcher->router, live);
}

static void on_relisted(void *arg)
{
	struct watcher *watcher = arg;

	router_relisted(watcher->router);
}

static const struct streams_handler streams_handler = {.synced = on_synced, .relisted = on_relisted, .live = on_live};

static void on_established(void *arg)
{
	struct watcher *watcher = arg;

	watcher->streams = streams_new(watcher->loop, watcher->client, watcher->cache,
				       &watcher->config.log_object_snapshot, &streams_handler, watcher);
}

static void on_crd_failed(void *arg, const char *message)
{
	log_error("%s", message);
	stop(arg, EXIT_FAILURE);
}

static const struct crd_handler crd_handler = {.established = on_established, .failed = on_crd_failed};

static void on_worker_died(void *arg, const char *name)
{
	struct watcher *watcher = arg;

	router_process_dead(watcher->router, name);
}

static void on_pool_drained(void *arg)
{
	finish(arg);
}

static const struct pool_handler pool_handler = {.died = on_worker_died, .drained = on_pool_drained};

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct watcher *watcher = timer->data;

	(void)loop;
	(void)events;
	router_tick(watcher->router);
}

static void on_flush(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	struct watcher *watcher = prepare->data;

	(void)loop;
	(void)events;
	router_flush(watcher->router);
}

static int port_send(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const void *body,
		     size_t body_len)
{
	const struct watcher *watcher = arg;

	return bus_send(watcher->socket, id, id_len, head, body, body_len);
}

static int64_t port_now_ms(void *arg)
{
	(void)arg;
	return clock_boot_ms();
}

static bool accept_pool_member(void *arg, const char *name)
{
	const struct watcher *watcher = arg;
	char slot[POOL_NAME_SIZE];

	for (int i = 0; i < watcher->flags.workers; i++)
		if (strcmp(pool_name(i, slot), name) == 0)
			return true;
	return false;
}

/* ---- health and metrics ----------------------------------------------------------------------------------------- */

static bool is_ready(void *arg, struct buf *why)
{
	const struct watcher *watcher = arg;

	if (watcher->stopping)
		buf_puts(why, "stopping");
	else if (watcher->streams == NULL)
		buf_puts(why, "Frameworks are not served yet");
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
		.router = watcher->router,
		.bus = bus_socket_counters(watcher->socket),
		.pool = watcher->pool,
		.workers = watcher->flags.workers,
		.shards = (uint32_t)watcher->config.shards,
		.synced = watcher->synced,
		.live = watcher->live,
	};

	watcher_metrics_write(out, &from);
}

static int start_serving(struct watcher *watcher, struct error *err)
{
	const struct health_options options = {
		.address = watcher->flags.http,
		.insecure = watcher->flags.http_insecure,
		.ready = is_ready,
		.metrics = put_metrics,
		.arg = watcher,
	};

	if (watcher->flags.http == NULL)
		return 0;
	watcher->http = health_new(watcher->loop, &options, err);
	return watcher->http == NULL ? -1 : 0;
}

/* ---- putting it together ---------------------------------------------------------------------------------------- */

static int make_client(struct watcher *watcher, struct error *err)
{
	const struct config *config = &watcher->config;
	struct kube_client_options options = {.user_agent = "fc-watcher/1.0"};
	struct kube_config kube;

	if (kube_config_load(config->kube_api_server_address, config->kube_config_file_path,
			     watcher->flags.context, &kube, err) < 0)
		return -1;
	options.qps = config->kube_client_qps * OWN_RATE_PERCENT / 100;
	options.burst = 1 + (int)(config->kube_client_burst * OWN_RATE_PERCENT / 100);
	log_info("API server: %s", kube.source);
	watcher->client = kube_client_new(watcher->loop, &kube, &options, err);
	kube_config_free(&kube);
	return watcher->client == NULL ? -1 : 0;
}

static void make_router(struct watcher *watcher)
{
	const struct config *config = &watcher->config;
	const struct router_ports ports = {.send = port_send, .now_ms = port_now_ms, .arg = watcher};
	struct router_options options = {
		.shards = {.shards = (uint32_t)config->shards,
			   .lease_ms = config->member_lease_sec * 1000,
			   .margin_ms = SHARD_MARGIN_MS,
			   .grace_ms = config->member_grace_sec * 1000},
		.epoch = (uint64_t)(clock_wall_ms() / 1000), /* newer than a predecessor's; a HELLO can raise it */
		.qps = config->kube_client_qps * (100 - OWN_RATE_PERCENT) / 100,
		.burst = (int32_t)(config->kube_client_burst * (100 - OWN_RATE_PERCENT) / 100),
	};
	struct random random;
	char slot[POOL_NAME_SIZE];

	random_init(&random);
	random_uuid(&random, options.nonce);
	if (watcher->flags.workers > 0) {
		options.accept = accept_pool_member;
		options.accept_arg = watcher;
	} else {
		/* reconcilers may live on leases of a former watcher */
		options.shards.blocked_ms = options.shards.lease_ms + options.shards.margin_ms;
	}
	watcher->router = router_new(&ports, &options);
	watcher->cache = cache_new(options.shards.shards, &cache_listener, watcher);
	router_set_cache(watcher->router, watcher->cache);
	for (int i = 0; i < watcher->flags.workers; i++)
		router_expect(watcher->router, pool_name(i, slot));
}

/* With a pool: a private socket, and the outer one too if it was asked for (barriers). */
static int make_socket(struct watcher *watcher, char **endpoint, struct error *err)
{
	const char *outer = watcher->flags.bus;
	const struct bus_security *security = &watcher->flags.security;

	if (watcher->flags.workers == 0 && outer == NULL)
		outer = watcher->config.bus_address;
	if (watcher->flags.workers > 0) {
		if (pool_directory_make(&watcher->bus_directory, endpoint, err) < 0)
			return -1;
	} else {
		*endpoint = mem_strdup(outer);
		outer = NULL;
	}
	watcher->socket = bus_socket_bind(watcher->loop, *endpoint, watcher->flags.workers > 0 ? NULL : security,
					  router_receive, watcher->router, err);
	if (watcher->socket == NULL ||
	    (outer != NULL && bus_socket_bind_also(watcher->socket, outer, security, err) < 0))
		return -1;
	log_info("the bus listens on %s", bus_socket_endpoint(watcher->socket));
	return 0;
}

/* fc-reconciler in the folder of our own program. */
static char *default_reconciler(void)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (len < 0)
		return mem_strdup("fc-reconciler");
	path[len] = '\0';
	slash = strrchr(path, '/');
	return mem_printf("%.*s/fc-reconciler", (int)(slash - path), path);
}

static int make_pool(struct watcher *watcher, const char *endpoint, struct error *err)
{
	const struct flags *flags = &watcher->flags;
	cleanup_free char *program = flags->reconciler != NULL ? mem_strdup(flags->reconciler) : default_reconciler();
	const char *arguments[12];
	size_t count = 0;
	struct pool_options options = {
		.program = program,
		.workers = flags->workers,
		.endpoint = endpoint,
		.arguments = arguments,
		.drain_ms = DRAIN_MS,
	};

	if (flags->config != NULL) {
		arguments[count++] = "--config";
		arguments[count++] = flags->config;
	}
	if (flags->kubeconfig != NULL) {
		arguments[count++] = "--kubeconfig";
		arguments[count++] = flags->kubeconfig;
	}
	if (flags->context != NULL) {
		arguments[count++] = "--context";
		arguments[count++] = flags->context;
	}
	if (flags->address != NULL) {
		arguments[count++] = "--address";
		arguments[count++] = flags->address;
	}
	if (flags->verbosity != NULL) {
		arguments[count++] = "-v";
		arguments[count++] = flags->verbosity;
	}
	arguments[count++] = "--pool";
	arguments[count] = NULL;
	watcher->pool = pool_new(watcher->loop, &options, &pool_handler, watcher, err);
	return watcher->pool == NULL ? -1 : 0;
}

static void watch_signals(struct watcher *watcher)
{
	ev_signal_init(&watcher->term, on_stop_signal, SIGTERM);
	ev_signal_init(&watcher->interrupt, on_stop_signal, SIGINT);
	ev_signal_init(&watcher->hangup, on_hangup, SIGHUP);
	watcher->term.data = watcher;
	watcher->interrupt.data = watcher;
	watcher->hangup.data = watcher;
	ev_signal_start(watcher->loop, &watcher->term);
	ev_signal_start(watcher->loop, &watcher->interrupt);
	ev_signal_start(watcher->loop, &watcher->hangup);
	signal(SIGPIPE, SIG_IGN);
}

static int set_up(struct watcher *watcher, struct error *err)
{
	const struct config *config = &watcher->config;
	const struct crd_options crd_options = {
		.check_ms = config->crd_established_check_interval_sec * 1000,
		.timeout_ms = config->crd_established_check_timeout_sec * 1000,
		.recheck_ms = CRD_RECHECK_MS,
	};
	cleanup_free char *endpoint = NULL;

	watch_signals(watcher);
	if (make_client(watcher, err) < 0)
		return -1;
	make_router(watcher);
	/* before there are children: a busy port then leaves nothing to clean up */
	if (make_socket(watcher, &endpoint, err) < 0 || start_serving(watcher, err) < 0)
		return -1;
	if (watcher->flags.workers > 0 && make_pool(watcher, endpoint, err) < 0)
		return -1;
	watcher->crd = crd_keeper_new(watcher->loop, watcher->client, &crd_options, &crd_handler, watcher);
	ev_timer_init(&watcher->tick, on_tick, (double)TICK_MS / 1000, (double)TICK_MS / 1000);
	watcher->tick.data = watcher;
	ev_timer_start(watcher->loop, &watcher->tick);
	ev_prepare_init(&watcher->flush, on_flush);
	watcher->flush.data = watcher;
	ev_prepare_start(watcher->loop, &watcher->flush);
	return 0;
}

static void tear_down(struct watcher *watcher)
{
	serve_free(watcher->http);
	pool_free(watcher->pool);
	crd_keeper_free(watcher->crd);
	streams_free(watcher->streams);
	kube_client_free(watcher->client);
	bus_socket_free(watcher->socket);
	router_free(watcher->router);
	cache_free(watcher->cache);
	if (watcher->bus_directory != NULL)
		pool_directory_remove(watcher->bus_directory);
	free(watcher->bus_directory);
	config_free(&watcher->config);
}

static int load_config(struct watcher *watcher, struct error *err)
{
	const struct flags *flags = &watcher->flags;

	if (config_load(flags->config, flags->unknown_keys, &watcher->config, err) < 0)
		return -1;
	if (flags->kubeconfig != NULL)
		mem_replace(&watcher->config.kube_config_file_path, flags->kubeconfig);
	if (flags->address != NULL)
		mem_replace(&watcher->config.kube_api_server_address, flags->address);
	return 0;
}

static int run(struct watcher *watcher)
{
	struct error err;

	if (load_config(watcher, &err) < 0) {
		log_error("%s", err.message);
		watcher->exit_code = EXIT_USAGE;
	} else if (set_up(watcher, &err) < 0) {
		log_error("%s", err.message);
		watcher->exit_code = EXIT_FAILURE;
	} else {
		ev_run(watcher->loop, 0);
	}
	tear_down(watcher);
	return watcher->exit_code;
}

int main(int argc, char **argv)
{
	struct watcher watcher = {.exit_code = EXIT_SUCCESS};
	int parsed = flags_parse(argc, argv, &watcher.flags);
	int code;

	if (parsed != 0)
		return parsed < 0 ? EXIT_USAGE : EXIT_SUCCESS;
	if (watcher.flags.print_crd) {
		cleanup_buf struct buf yaml = {0};

		crd_write_yaml(&yaml);
		return fwrite(yaml.data, 1, yaml.len, stdout) == yaml.len ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	log_set_prefix("fc-watcher: ");
	watcher.loop = ev_default_loop(0);
	code = run(&watcher);
	ev_loop_destroy(watcher.loop);
	return code;
}
