/* A member of the bus, on a real socket against a real router: the wiring of loop, timers and lease. What the
 * protocol does in all its turns is in test_router. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/bus/client.h"
#include "common/bus/socket.h"
#include "tests/unit/cache_objects.h"
#include "tests/unit/http_server.h"
#include "tests/unit/temp.h"
#include "watcher/shards/router.h"

enum { SHARDS = 8, LEASE_MS = 2000 };

/* Every wait of these tests ends much sooner; this only bounds a failure. */
static const double limit_s = 60;

struct fixture {
	struct ev_loop *loop;
	char directory[TEMP_PATH_SIZE];
	char endpoint[TEMP_PATH_SIZE + 16];
	/* the watcher */
	struct bus_socket *socket;
	struct router *router;
	struct cache *cache;
	ev_timer tick;
	ev_prepare flush;
	/* seen by the member */
	struct shard_set held;
	bool held_all;
	bool complete;
	bool revoked;
	bool live;
	bool refused;
	size_t objects;
	bool last_object;
	double qps;
};

static void on_granted(void *arg, const struct shard_set *fresh)
{
	struct fixture *f = arg;

	for (uint32_t r = 0; r < SHARDS; r++)
		if (shard_set_has(fresh, r))
			shard_set_add(&f->held, r);
	f->held_all = shard_set_count(&f->held) == SHARDS;
	f->revoked = false;
}

static void on_revoked(void *arg, const struct shard_set *shards)
{
	struct fixture *f = arg;

	for (uint32_t r = 0; r < SHARDS; r++)
		if (shard_set_has(shards, r))
			shard_set_remove(&f->held, r);
	f->revoked = shard_set_empty(&f->held);
	f->held_all = false;
	f->complete = false;
}

static bool on_text(void *arg, enum object_kind kind, uint32_t shard, const char *text, size_t len)
{
	struct fixture *f = arg;
	struct object_meta meta;

	assert_int_equal(kind, KIND_FRAMEWORK);
	assert_true(shard_set_has(&f->held, shard));
	f->objects++;
	assert_int_equal(object_meta_read(text, len, &meta, NULL), 0);
	f->last_object = strcmp(meta.name, "last") == 0;
	object_meta_free(&meta);
	return true;
}

static void on_absent(void *arg, enum object_kind kind, uint32_t shard, const struct bus_absent *absent)
{
	(void)arg;
	(void)kind;
	(void)shard;
	(void)absent;
}

static void on_complete(void *arg, const struct bus_snapshot_end *end)
{
	struct fixture *f = arg;

	f->complete = shard_set_count(&end->shards) == SHARDS;
}

static void on_rate(void *arg, double qps, int burst)
{
	struct fixture *f = arg;

	assert_true(burst >= 1);
	f->qps = qps;
}

static void on_live(void *arg, bool live)
{
	((struct fixture *)arg)->live = live;
}

static void on_refused(void *arg, const char *reason, bool final)
{
	struct fixture *f = arg;

	assert_false(final);
	assert_non_null(strstr(reason, "another process has this name"));
	f->refused = true;
}

static const struct session_handler handler = {
	.granted = on_granted,
	.revoked = on_revoked,
	.text = on_text,
	.absent = on_absent,
	.complete = on_complete,
	.rate = on_rate,
	.live = on_live,
	.refused = on_refused,
};

/* ---- the watcher ------------------------------------------------------------------------------------------------ */

static int port_send(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const void *body,
		     size_t body_len)
{
	return bus_send(((struct fixture *)arg)->socket, id, id_len, head, body, body_len);
}

static int64_t port_now_ms(void *arg)
{
	(void)arg;
	return clock_boot_ms();
}

static void on_changed(void *arg, struct cache_entry *entry)
{
	router_changed(((struct fixture *)arg)->router, entry);
}

static const struct cache_listener listener = {.changed = on_changed};

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	router_tick(((struct fixture *)timer->data)->router);
}

static void on_flush(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	(void)loop;
	(void)events;
	router_flush(((struct fixture *)prepare->data)->router);
}

static void start_watcher(struct fixture *f)
{
	const struct router_ports ports = {.send = port_send, .now_ms = port_now_ms, .arg = f};
	struct router_options options = {
		.shards = {.shard_count = SHARDS, .lease_ms = LEASE_MS, .margin_ms = 1000, .grace_ms = 5000},
		.epoch = 1,
		.qps = 10,
		.burst = 10,
	};
	struct error err;

	f->router = router_new(&ports, &options);
	f->cache = cache_new(SHARDS, &listener, f);
	cache_list_begin(f->cache, "", KIND_FRAMEWORK);
	router_set_cache(f->router, f->cache);
	router_synced(f->router);
	router_set_live(f->router, true);
	f->socket = bus_socket_bind(f->loop, f->endpoint, NULL, router_receive, f->router, &err);
	if (f->socket == NULL)
		fail_msg("%s", err.message);
	ev_timer_init(&f->tick, on_tick, 0.1, 0.1);
	ev_prepare_init(&f->flush, on_flush);
	f->tick.data = f;
	f->flush.data = f;
	ev_timer_start(f->loop, &f->tick);
	ev_prepare_start(f->loop, &f->flush);
}

static void stop_watcher(struct fixture *f)
{
	ev_timer_stop(f->loop, &f->tick);
	ev_prepare_stop(f->loop, &f->flush);
	bus_socket_free(f->socket);
	router_free(f->router);
	cache_free(f->cache);
	f->socket = NULL;
}

static void present(struct fixture *f, const char *name)
{
	json_t *object = json_pack("{s:{s:s,s:s,s:s,s:s}}", "metadata", "namespace", "ns", "name", name, "uid", name,
				   "resourceVersion", "1");

	assert_int_equal(present_object(f->cache, KIND_FRAMEWORK, object, NULL), 0);
	json_decref(object);
}

static int set_up(void **state)
{
	struct fixture *f = mem_calloc(1, sizeof(*f));

	*state = f;
	f->loop = ev_loop_new(0);
	temp_directory(f->directory);
	snprintf(f->endpoint, sizeof(f->endpoint), "ipc://%s/bus", f->directory);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char path[TEMP_PATH_SIZE + 16];

	if (f->socket != NULL)
		stop_watcher(f);
	ev_loop_destroy(f->loop);
	snprintf(path, sizeof(path), "%s/bus", f->directory);
	unlink(path);
	assert_int_equal(rmdir(f->directory), 0);
	free(f);
	return 0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static void test_life(void **state)
{
	enum { FRAMEWORKS = 2000 }; /* several windows of credit */
	struct fixture *f = *state;
	struct error err;
	struct bus_client *member = bus_client_new(f->loop, f->endpoint, NULL, BUS_ROLE_RECONCILER, "pool-0", &handler,
						   f, &err);
	char name[24];

	assert_non_null(member);
	assert_int_equal(session_shard_count(bus_client_session(member)), 0);
	assert_false(session_leased(bus_client_session(member)));
	for (int i = 0; i < 10; i++)
		ev_run(f->loop, EVRUN_ONCE); /* nobody is there yet */
	start_watcher(f);
	for (int i = 0; i < FRAMEWORKS; i++) {
		snprintf(name, sizeof(name), "fw%d", i);
		present(f, name);
	}
	assert_true(run_until(f->loop, &f->complete, limit_s));
	assert_true(f->held_all);
	assert_int_equal(f->objects, FRAMEWORKS);
	assert_int_equal(session_shard_count(bus_client_session(member)), SHARDS);
	assert_int_equal(shard_set_count(session_shards(bus_client_session(member))), SHARDS);
	assert_true(run_until(f->loop, &f->live, limit_s));
	assert_true(session_leased(bus_client_session(member)));
	assert_in_range(session_lease_left_ms(bus_client_session(member), 0), 1, LEASE_MS);
	assert_true(session_lease_left_ms(bus_client_session(member), SHARDS) <= 0);
	assert_float_equal(f->qps, 10, 0.001);
	present(f, "last");
	assert_true(run_until(f->loop, &f->last_object, limit_s));
	assert_int_equal(session_counters(bus_client_session(member))->sequence_gaps, 0);
	bus_client_leave(member);
	assert_true(f->revoked);
	assert_false(session_leased(bus_client_session(member)));
	while (!session_gone(bus_client_session(member)))
		ev_run(f->loop, EVRUN_ONCE);
	assert_null(shard_table_holder(router_shards(f->router), 0));
	bus_client_free(member);
	bus_client_free(NULL);
}

static size_t count_in(int fd, const char *text)
{
	char said[65536];
	ssize_t len = pread(fd, said, sizeof(said) - 1, 0);
	size_t count = 0;

	said[len < 0 ? 0 : len] = '\0';
	for (const char *at = said; (at = strstr(at, text)) != NULL; at++)
		count++;
	return count;
}

/* A wrong endpoint would be nowhere to be seen, were it not said. */
static void test_says_that_nobody_takes_it(void **state)
{
	struct fixture *f = *state;
	struct error err;
	int log = memfd_create("log", MFD_CLOEXEC);
	int stderr_kept = dup(STDERR_FILENO);
	int64_t from_ms = clock_boot_ms();
	struct bus_client *member;
	int64_t warned_ms;
	size_t warnings;
	char warning[192];

	snprintf(warning, sizeof(warning), "no watcher at %s has accepted this process for ", f->endpoint);
	assert_true(log >= 0 && stderr_kept >= 0);
	dup2(log, STDERR_FILENO);
	member = bus_client_new(f->loop, f->endpoint, NULL, BUS_ROLE_RECONCILER, "pool-0", &handler, f, &err);
	while (count_in(log, warning) == 0 && clock_boot_ms() - from_ms < (int64_t)(limit_s * 1000))
		ev_run(f->loop, EVRUN_ONCE);
	warned_ms = clock_boot_ms() - from_ms;
	start_watcher(f);
	run_until(f->loop, &f->live, limit_s);
	warnings = count_in(log, warning);
	dup2(stderr_kept, STDERR_FILENO);
	close(stderr_kept);
	close(log);
	assert_true(f->live);
	assert_int_equal(warnings, 1);
	assert_in_range(warned_ms, 5000, (uintmax_t)(limit_s * 1000) - 1);
	bus_client_free(member);
}

/* Only the resolver knows why nobody answers at a name with a typo. (RFC 6761: no name ends with .invalid.) */
static void test_unknown_host(void **state)
{
	static const struct bus_security security = {.insecure = true};
	struct fixture *f = *state;
	struct error err;
	int log = memfd_create("log", MFD_CLOEXEC);
	int stderr_kept = dup(STDERR_FILENO);
	struct bus_client *member;
	size_t warnings[2];

	assert_true(log >= 0 && stderr_kept >= 0);
	dup2(log, STDERR_FILENO);
	member = bus_client_new(f->loop, "tcp://127.0.0.1:99,tcp://[::1]:99,tcp://nohost.invalid:99", &security,
				BUS_ROLE_RECONCILER, "a", &handler, f, &err);
	warnings[0] = count_in(log, "the bus tcp://nohost.invalid:99: cannot resolve nohost.invalid: ");
	warnings[1] = count_in(log, "cannot resolve ");
	dup2(stderr_kept, STDERR_FILENO);
	close(stderr_kept);
	close(log);
	assert_non_null(member);
	assert_int_equal(warnings[0], 1);
	assert_int_equal(warnings[1], 1);
	bus_client_free(member);
}

/* The watcher goes and another one comes: the lease ends meanwhile, and everything is granted anew. */
static void test_watcher_returns(void **state)
{
	struct fixture *f = *state;
	struct error err;
	struct bus_client *member;

	start_watcher(f);
	member = bus_client_new(f->loop, f->endpoint, NULL, BUS_ROLE_RECONCILER, "pool-0", &handler, f, &err);
	assert_true(run_until(f->loop, &f->live, limit_s));
	stop_watcher(f);
	assert_true(run_until(f->loop, &f->revoked, limit_s));
	assert_true(session_lease_left_ms(bus_client_session(member), 0) <= 0);
	start_watcher(f);
	assert_true(run_until(f->loop, &f->held_all, limit_s));
	assert_int_equal(session_epoch(bus_client_session(member)), 1); /* the same again: it holds nothing any more */
	bus_client_free(member);
}

/* Another process has our name, as if ours had been waited for: we hold nothing, and wait in turn. */
static void test_replaced(void **state)
{
	struct fixture *f = *state;
	struct fixture other = {0};
	struct error err;
	struct bus_client *first;
	struct bus_client *second;

	start_watcher(f);
	first = bus_client_new(f->loop, f->endpoint, NULL, BUS_ROLE_RECONCILER, "pool-0", &handler, f, &err);
	assert_true(run_until(f->loop, &f->live, limit_s));
	router_process_dead(f->router, "pool-0"); /* which is not quite true */
	second = bus_client_new(f->loop, f->endpoint, NULL, BUS_ROLE_RECONCILER, "pool-0", &handler, &other, &err);
	assert_true(run_until(f->loop, &f->refused, limit_s));
	assert_true(run_until(f->loop, &other.held_all, limit_s));
	assert_true(run_until(f->loop, &f->revoked, limit_s)); /* when its lease has run out */
	assert_false(session_leased(bus_client_session(first)));
	assert_false(session_gone(bus_client_session(first)));
	bus_client_free(first);
	bus_client_free(second);
}

static void test_bad_arguments(void **state)
{
	struct fixture *f = *state;
	struct error err;

	assert_null(bus_client_new(f->loop, f->endpoint, NULL, BUS_ROLE_RECONCILER, "", &handler, f, &err));
	assert_non_null(strstr(err.message, "name"));
	assert_null(bus_client_new(f->loop, "nonsense", NULL, BUS_ROLE_RECONCILER, "a", &handler, f, &err));
	assert_non_null(strstr(err.message, "nonsense"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_life),         TEST(test_says_that_nobody_takes_it),
					   TEST(test_unknown_host), TEST(test_watcher_returns),
					   TEST(test_replaced),     TEST(test_bad_arguments)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
