/* A leader's router and pool; see term.h. */
#include "watcher/leader/term.h"

#include <errno.h>
#include <ev.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/kube/client.h"
#include "common/process/gather.h"
#include "common/process/process.h"
#include "watcher/shards/shard_table.h"
#include "watcher/view/deletion.h"

enum {
	TICK_MS = 500,
	DRAIN_MS = 20000, /* of the children, after SIGTERM */
	ARGUMENTS_MAX = 16,
	/* A child that sends nothing for so long may only be slow, on a busy machine or at its start. */
	SILENT_MIN_MS = 30000,
};

_Static_assert((int)TICK_MS <= (int)POOL_LOOK_MS, "a child's silence would count for less than it lasted");
_Static_assert((int)KUBE_FENCED_LATE_MS <= (int)SHARD_MARGIN_MS,
	       "a member's write must not arrive when its shard is another's");

struct term {
	struct term_options options;
	struct router *router;
	struct pool *pool;
	ev_timer tick;
	ev_prepare prepare;
	int gather_ms; /* of the loop */
};

/* ---- what the cache reports -------------------------------------------------------------------------------------- */

static void on_changed(void *arg, struct cache_entry *entry)
{
	const struct term *term = arg;

	router_changed(term->router, entry);
}

static void on_gone(void *arg, struct cache_entry *entry, const struct cache_absence *absence)
{
	const struct term *term = arg;

	router_gone(term->router, entry, absence);
}

static void on_missed(void *arg, const struct cache_entry *entry)
{
	const struct term *term = arg;
	cleanup_buf struct buf text = {0};

	if (cache_entry_kind(entry) != KIND_FRAMEWORK)
		return; /* of a Pod nothing but the kept parts is known: no snapshot */
	cache_entry_write(&text, entry);
	deletion_log(&term->options.config->log_object_snapshot, KIND_FRAMEWORK, text.data, text.len);
}

static const struct cache_listener cache_listener = {.changed = on_changed, .gone = on_gone, .missed = on_missed};

/* ---- the router's ports ----------------------------------------------------------------------------------------- */

static int port_send(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const void *body,
		     size_t body_len)
{
	const struct term *term = arg;

	return bus_send(term->options.socket, id, id_len, head, body, body_len);
}

static int64_t port_now_ms(void *arg)
{
	(void)arg;
	return clock_boot_ms();
}

static bool accept_pool_member(void *arg, const char *name)
{
	const struct term *term = arg;
	char slot[POOL_NAME_SIZE];

	for (int i = 0; i < term->options.flags->workers; i++)
		if (strcmp(pool_name(i, slot), name) == 0)
			return true;
	return false;
}

static void make_router(struct term *term)
{
	const struct config *config = term->options.config;
	const struct router_ports ports = {.send = port_send, .now_ms = port_now_ms, .arg = term};
	struct router_options options = {
		.shards = {.shard_count = (uint32_t)config->shards,
			   .lease_ms = config->member_lease_sec * 1000,
			   .margin_ms = SHARD_MARGIN_MS,
			   .grace_ms = config->member_grace_sec * 1000,
			   .former_until_ms = term->options.former_until_ms},
		.epoch = term->options.epoch,
		.qps = term->options.qps,
		.burst = term->options.burst,
	};
	char slot[POOL_NAME_SIZE];

	if (term->options.flags->workers > 0) {
		options.accept = accept_pool_member;
		options.accept_arg = term;
	}
	term->router = router_new(&ports, &options);
	router_set_cache(term->router, term->options.cache);
	for (int i = 0; i < term->options.flags->workers; i++)
		router_expect(term->router, pool_name(i, slot));
	router_set_live(term->router, term->options.live);
}

/* ---- the pool --------------------------------------------------------------------------------------------------- */

static void on_worker_died(void *arg, const char *name)
{
	struct term *term = arg;

	router_process_dead(term->router, name);
}

static void on_cut_off(void *arg, const char *path)
{
	struct term *term = arg;

	term->options.cut_off(term->options.arg, path);
}

static void on_pool_drained(void *arg)
{
	struct term *term = arg;

	term->options.drained(term->options.arg);
}

static const struct pool_handler pool_handler = {
	.died = on_worker_died, .cut_off = on_cut_off, .drained = on_pool_drained};

/* The program that the flags name, else fc-reconciler in the folder of our own program. */
static char *reconciler_program(const struct flags *flags)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (flags->reconciler != NULL)
		return mem_strdup(flags->reconciler);
	if (len < 0)
		return mem_strdup("fc-reconciler");
	path[len] = '\0';
	slash = strrchr(path, '/');
	return mem_printf("%.*s/fc-reconciler", (int)(slash - path), path);
}

int term_check(const struct flags *flags, struct error *err)
{
	cleanup_free char *program = reconciler_program(flags);
	char http[POOL_HTTP_SIZE];

	if (access(program, X_OK) < 0)
		return error_set_errno(err, errno, "%s %s: cannot execute it",
				       flags->reconciler != NULL ? "--reconciler" : "the default of --reconciler,",
				       program);
	if (flags->workers_http != NULL && pool_http(flags->workers_http, flags->workers - 1, http, err) < 0)
		return error_wrap(err, "--workers-http");
	return 0;
}

static const char *or_empty(const char *text)
{
	return text != NULL ? text : "";
}

/* A child uses our API server also if it starts much later: by then, the environment, the configuration and the
 * kubeconfig may lead to another one. What we have chosen is handed on, and also that we have chosen none (""). If the
 * choice now means another server, the child ends with an error (ARCHITECTURE.md §3.13). */
static int make_pool(struct term *term, struct error *err)
{
	const struct flags *flags = term->options.flags;
	const struct kube_config *api_server = term->options.api_server;
	cleanup_free char *program = reconciler_program(flags);
	const struct {
		const char *flag;
		const char *value;
	} handed_on[] = {
		{"--config", flags->process.config},     {"--kubeconfig", or_empty(api_server->kubeconfig)},
		{"--context", api_server->context},      {"--address", or_empty(api_server->address)},
		{"--expect-server", api_server->server}, {"-v", flags->process.verbosity},
	};
	const char *arguments[ARGUMENTS_MAX];
	size_t count = 0;
	struct pool_options options = {
		.program = program,
		.workers = flags->workers,
		.endpoint = term->options.endpoint,
		.http = flags->workers_http,
		.arguments = arguments,
		.drain_ms = DRAIN_MS,
	};

	for (size_t i = 0; i < ARRAY_LEN(handed_on); i++) {
		if (handed_on[i].value == NULL)
			continue;
		arguments[count++] = handed_on[i].flag;
		arguments[count++] = handed_on[i].value;
	}
	if (flags->process.http_insecure)
		arguments[count++] = "--http-insecure";
	arguments[count++] = "--pool";
	arguments[count] = NULL;
	term->pool = pool_new(term->options.loop, &options, &pool_handler, term, err);
	return term->pool == NULL ? -1 : 0;
}

/* ---- its life --------------------------------------------------------------------------------------------------- */

static void note_heard(void *arg, const struct router_peer_view *view)
{
	if (view->role == BUS_ROLE_RECONCILER)
		pool_heard(arg, view->name, view->received_ms);
}

/* A child that hangs is killed when its shards have moved (ARCHITECTURE.md §3.14). */
static void kill_silent(const struct term *term)
{
	const struct config *config = term->options.config;
	int64_t limit_ms = (config->member_lease_sec + config->member_grace_sec) * 1000 + SHARD_MARGIN_MS;

	router_view_peers(term->router, note_heard, term->pool);
	pool_kill_silent(term->pool, clock_boot_ms(), limit_ms < SILENT_MIN_MS ? SILENT_MIN_MS : limit_ms);
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	const struct term *term = timer->data;

	(void)loop;
	(void)events;
	router_tick(term->router);
	if (term->pool != NULL)
		kill_silent(term);
}

/* During a snapshot each turn of credit would wait for what else is gathered. */
static void set_gathering(struct term *term)
{
	int wanted_ms = router_sends_snapshot(term->router)
				? GATHER_SOON_MS
				: gather_peers_ms(GATHER_STREAM_MS, (unsigned)router_peer_count(term->router));

	if (wanted_ms != term->gather_ms)
		process_gather(wanted_ms);
	term->gather_ms = wanted_ms;
}

/* Sends all changes of a turn of the loop together, so that each peer, and the threads between us, wake once. */
static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	struct term *term = prepare->data;

	(void)loop;
	(void)events;
	if (router_has_news(term->router))
		router_flush(term->router);
	set_gathering(term);
}

struct term *term_new(const struct term_options *options, struct error *err)
{
	struct term *term = mem_calloc(1, sizeof(*term));

	term->options = *options;
	ev_timer_init(&term->tick, on_tick, (double)TICK_MS / 1000, (double)TICK_MS / 1000);
	term->tick.data = term;
	ev_prepare_init(&term->prepare, on_prepare);
	term->prepare.data = term;
	make_router(term);
	cache_listen(options->cache, &cache_listener, term);
	if (options->flags->workers > 0 && make_pool(term, err) < 0) {
		term_free(term);
		return NULL;
	}
	ev_timer_start(options->loop, &term->tick);
	ev_prepare_start(options->loop, &term->prepare);
	return term;
}

void term_free(struct term *term)
{
	if (term == NULL)
		return;
	process_gather(GATHER_STREAM_MS);
	ev_timer_stop(term->options.loop, &term->tick);
	ev_prepare_stop(term->options.loop, &term->prepare);
	pool_free(term->pool);
	cache_listen(term->options.cache, NULL, NULL);
	router_free(term->router);
	free(term);
}

struct router *term_router(const struct term *term)
{
	return term->router;
}

struct pool *term_pool(const struct term *term)
{
	return term->pool;
}

void term_close(struct term *term)
{
	if (term->pool == NULL) {
		term->options.drained(term->options.arg);
		return;
	}
	router_close(term->router);
	pool_stop(term->pool); /* its reconcilers need the bus until they have let go */
}

bool term_drained(const struct term *term)
{
	if (term->pool != NULL)
		for (int slot = 0; slot < term->options.flags->workers; slot++)
			if (pool_pid(term->pool, slot) != 0)
				return false;
	for (int64_t shard = 0; term->pool == NULL && shard < term->options.config->shards; shard++)
		if (shard_table_holder(router_shards(term->router), (uint32_t)shard) != NULL)
			return false;
	return true;
}
