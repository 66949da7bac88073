/* Smaller parts of the watcher: the election's flags, what is told of the shards, and where `fc-watcher status` asks
 * for it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <ev.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "tests/unit/bus_world.h"
#include "tests/unit/temp.h"
#include "watcher/debug.h"
#include "watcher/flags.h"
#include "watcher/pool/pool.h"
#include "watcher/status.h"

/* What `run` writes to stderr, to be freed. */
static char *stderr_of(void (*run)(void))
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	char *text;
	long len;

	assert_non_null(file);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	run();
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	fseek(file, 0, SEEK_END);
	len = ftell(file);
	rewind(file);
	text = mem_calloc(1, (size_t)len + 1);
	assert_int_equal(fread(text, 1, (size_t)len, file), len);
	fclose(file);
	return text;
}

/* ---- flags ------------------------------------------------------------------------------------------------------ */

static struct flags parsed;
static int result;
static const char *arguments[8];

static void parse(void)
{
	int argc = 0;

	while (arguments[argc] != NULL)
		argc++;
	optind = 1;
	result = flags_parse(argc, (char **)arguments, &parsed);
}

static void test_flags(void **state)
{
	static const struct {
		const char *arguments[6];
		const char *refusal; /* NULL: fine */
	} rows[] = {
		{{"--leader-elect-lease-duration", "1m30s", "--leader-elect-renew-deadline", "1.5s",
		  "--leader-elect-retry-period=100ms"},
		 NULL},
		{{"--leader-elect=false", "--workers", "1"},
		 "--leader-elect was removed: this program always takes part in the election"},
		{{"--leader-elect"},
		 "--leader-elect was removed: this program always takes part in the election; remove the flag"},
		{{"--leader-elect-lease-duration", "15"}, "15: expected a duration like 15s"},
		{{"--leader-elect-lease-duration", "-1s"}, "-1s: expected a duration"},
		{{"--leader-elect-lease-duration", "s"}, "s: expected a duration"},
		{{"--leader-elect-lease-duration", ""}, ": expected a duration"},
		{{"--leader-elect-lease-duration", "infs"}, "infs: expected a duration"},
		{{"--leader-elect-lease-duration", "999999999h"}, "at most a day"},
		{{"--leader-elect-lease-duration", "10500ms"}, "--leader-elect-lease-duration: expected whole seconds"},
		{{"--leader-elect-lease-duration", "10s"}, "expected more than --leader-elect-renew-deadline"},
		{{"--leader-elect-retry-period", "9s"}, "expected more than 1.2 times --leader-elect-retry-period"},
		{{"--leader-elect-retry-period", "0s"}, "expected more than 1.2 times --leader-elect-retry-period"},
		{{"staus"}, "unexpected argument staus: expected options, or status or keygen as the first argument"},
		{{"-v", "10"}, NULL},
		{{"-v=10"}, NULL},
		{{"--v=10"}, NULL},
		{{"-v", "11"}, "-v 11: expected a number 0..10"},
		{{"--leader-elect-resource-name", ""}, "expected a name"},
		{{"--workers", "1", "--workers-http", "127.0.0.1:0"}, NULL},
		{{"--workers", "0", "--workers-http", "127.0.0.1:0"},
		 "--workers-http 127.0.0.1:0: expected --workers 1 or more"},
		{{"--workers-http", "127.0.0.1:0", "--workers=0"},
		 "--workers-http 127.0.0.1:0: expected --workers 1 or more"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *said = NULL;

		memset(arguments, 0, sizeof(arguments));
		arguments[0] = "fc-watcher";
		memcpy(arguments + 1, rows[i].arguments, sizeof(rows[i].arguments));
		said = stderr_of(parse);
		if ((rows[i].refusal == NULL) != (result == 0) ||
		    (rows[i].refusal != NULL && strstr(said, rows[i].refusal) == NULL))
			fail_msg("%s %s: result %d, %s", arguments[1], arguments[2], result, said);
		if (i == 0) {
			assert_int_equal(parsed.leader.lease_duration_ms, 90000);
			assert_int_equal(parsed.leader.renew_deadline_ms, 1500);
			assert_int_equal(parsed.leader.retry_period_ms, 100);
		}
	}
	assert_string_equal(parsed.leader.lease_ns, "kube-system");
	log_verbosity = 0;
}

static void test_lease_namespace(void **state)
{
	char directory[TEMP_PATH_SIZE];
	char path[TEMP_PATH_SIZE + 16];
	FILE *file;

	(void)state;
	temp_directory(directory);
	snprintf(path, sizeof(path), "%s/namespace", directory);
	file = fopen(path, "w");
	fputs("mounted\n", file);
	fclose(file);
	setenv("KUBERNETES_SERVICE_ACCOUNT_DIR", directory, 1);
	memset(arguments, 0, sizeof(arguments));
	arguments[0] = "fc-watcher";
	parse();
	assert_string_equal(parsed.leader.lease_ns, "kube-system"); /* not in a cluster: that file is not ours */
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	parse();
	assert_string_equal(parsed.leader.lease_ns, "mounted");
	setenv("POD_NAMESPACE", "told", 1);
	parse();
	assert_string_equal(parsed.leader.lease_ns, "told");
	arguments[1] = "--leader-elect-resource-namespace=said";
	parse();
	assert_string_equal(parsed.leader.lease_ns, "said");
	unsetenv("POD_NAMESPACE");
	unsetenv("KUBERNETES_SERVICE_HOST");
	unsetenv("KUBERNETES_SERVICE_ACCOUNT_DIR");
	unlink(path);
	rmdir(directory);
}

/* ---- shards, for people ----------------------------------------------------------------------------------------- */

static void test_shard_list(void **state)
{
	static const struct {
		uint32_t shards[6];
		size_t count;
		const char *text;
	} rows[] = {
		{{0}, 0, ""},
		{{3}, 1, "3"},
		{{0, 1, 2, 5, 7, 8}, 6, "0-2,5,7-8"},
		{{BUS_SHARD_MAX - 2, BUS_SHARD_MAX - 1}, 2, "4094-4095"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_buf struct buf text = {0};
		struct shard_set set = {0};

		for (size_t j = 0; j < rows[i].count; j++)
			shard_set_add(&set, rows[i].shards[j]);
		debug_write_shards(&text, &set);
		assert_string_equal(text.len == 0 ? "" : text.data, rows[i].text);
	}
}

static json_t *shards_of(const struct world *world)
{
	const struct debug_view view = {
		.identity = "me",
		.leader = "me",
		.lease_ns = "ns",
		.lease_name = "x",
		.router = world->router,
		.shard_count = WORLD_SHARDS,
		.now_ms = world->now_ms,
		.synced = true,
	};

	return debug_shards(&view);
}

static void expect_says(const json_t *shards, const char *pattern)
{
	cleanup_free char *text = json_text(shards);

	if (strstr(text, pattern) == NULL)
		fail_msg("%s is not in %s", pattern, text);
}

static void test_shards(void **state)
{
	struct world *world = world_new();
	cleanup_buf struct buf table = {0};
	json_t *shards;
	struct node *a;

	(void)state;
	world->blocked_ms = 3000;
	world_start_watcher(world, 5);
	router_synced(world->router);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_start(world, 1, "gate", BUS_ROLE_BARRIER);
	a->backlog = 7;
	world_run(world, 2000);
	shards = shards_of(world);
	expect_says(shards, "\"held\":0");
	expect_says(shards, "\"unheld\":[{\"shards\":\"0-15\",\"for\":\"a\",\"blockedSeconds\":1.0}]");
	debug_write_table(&table, shards);
	assert_non_null(strstr(table.data, "UNHELD SHARDS  FOR  BLOCKED\n0-15           a    1.0s\n"));
	json_decref(shards);
	world_run(world, 4000);
	shards = shards_of(world);
	expect_says(shards, "\"held\":16");
	expect_says(shards, "\"name\":\"a\"");
	expect_says(shards,
		    "\"state\":\"present\",\"shards\":\"0-15\",\"count\":16,\"draining\":\"\",\"targetCount\":16");
	expect_says(shards, "\"keys\":7");
	expect_says(shards, "\"barriers\":[{\"name\":\"gate\"");
	expect_says(shards, "\"unheld\":[]");
	expect_says(shards, "\"epoch\":5");
	json_decref(shards);
	/* one that vanished without a word */
	world_kill(world, 0);
	world_run(world, WORLD_LEASE + WORLD_MARGIN + 2000);
	shards = shards_of(world);
	expect_says(shards, "\"state\":\"gone\",\"shards\":\"\"");
	expect_says(shards, "\"unheld\":[{\"shards\":\"0-15\",\"for\":\"a\",\"blockedSeconds\":0.0}]");
	json_decref(shards);
	world_free(world);
}

/* Many shards side by side: none is cut off, or cut to another number. */
static void test_many_shards(void **state)
{
	static const char runs[] = "0,3,7,11,15,19,23,27,31,35,39,43,47,51,55,60,63,66,69,72,100-120";
	cleanup_json json_t *shards = json_pack("{s:b, s:[{s:s, s:s, s:s, s:s}]}", "leads", 1, "members", "name", "a",
						"shards", runs, "draining", "", "lastEnd", "");
	cleanup_buf struct buf table = {0};

	(void)state;
	debug_write_table(&table, shards);
	if (strstr(table.data, runs) == NULL)
		fail_msg("%s", table.data);
}

static void test_standby(void **state)
{
	const struct debug_view view = {
		.identity = "me", .leader = "other", .lease_ns = "ns", .lease_name = "x", .shard_count = 64};
	cleanup_json json_t *shards = debug_shards(&view);
	cleanup_buf struct buf table = {0};

	(void)state;
	expect_says(shards, "\"leads\":false,\"leader\":\"other\",\"lease\":\"ns/x\",\"epoch\":0");
	expect_says(shards, "\"members\":[],\"barriers\":[],\"unheld\":[]");
	debug_write_table(&table, shards);
	assert_string_equal(table.data, "This    me, standby\nLeader  other, by Lease ns/x\n"
					"Cache   not everything is listed yet, not all watches are connected\n");
}

/* While the API server is out of reach, the Lease that was read last names a watcher that leads no longer. */
static void test_lease_run_out(void **state)
{
	const struct debug_view view = {
		.identity = "me", .leader = "me", .lease_ns = "ns", .lease_name = "x", .shard_count = 64};
	cleanup_json json_t *shards = debug_shards(&view);
	cleanup_buf struct buf table = {0};

	(void)state;
	debug_write_table(&table, shards);
	assert_string_equal(table.data,
			    "This    me, does not lead: its Lease has run out, or it has only just taken it\n"
			    "Leader  -, by Lease ns/x\n"
			    "Cache   not everything is listed yet, not all watches are connected\n");
}

static void pool_is_drained(void *arg)
{
	(void)arg;
}

static void child_died(void *arg, const char *name)
{
	(void)name;
	ev_break(arg, EVBREAK_ALL);
}

/* A child that is not running has no pid: neither 0, which is everybody's, nor its last one. */
static void test_pool_member(void **state)
{
	static const struct pool_handler handler = {.died = child_died, .drained = pool_is_drained};
	const struct pool_options options = {.program = "/bin/false",
					     .workers = 1,
					     .endpoint = "ipc:///dev/null",
					     .drain_ms = 1000,
					     .backoff_first_ms = 60000};
	struct ev_loop *loop = ev_default_loop(0);
	struct world *world = world_new();
	struct debug_view view = {.identity = "me",
				  .leader = "me",
				  .lease_ns = "ns",
				  .lease_name = "x",
				  .workers = 1,
				  .shard_count = WORLD_SHARDS};
	struct error err;
	struct pool *pool;
	char pid[32];

	(void)state;
	world_start_watcher(world, 5);
	router_synced(world->router);
	world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_start(world, 1, "other", BUS_ROLE_RECONCILER);
	world_run(world, 4000);
	pool = pool_new(loop, &options, &handler, loop, &err);
	assert_non_null(pool);
	view.router = world->router;
	view.pool = pool;
	view.now_ms = world->now_ms;
	snprintf(pid, sizeof(pid), "\"pid\":%d,", (int)pool_pid(pool, 0));
	for (int ended = 0; ended < 2; ended++) {
		cleanup_json json_t *shards = debug_shards(&view);
		cleanup_free char *text = json_text(shards);
		cleanup_buf struct buf table = {0};

		debug_write_table(&table, shards);
		if (!ended) {
			expect_says(shards, pid);
			ev_run(loop, 0);
			continue;
		}
		assert_null(strstr(text, "\"pid\""));
		expect_says(shards, "\"restarts\":0,\"lastEnd\":\"exited with code 1\"");
		assert_non_null(strstr(table.data, "\npool-0  -    present  "));
		assert_non_null(strstr(table.data, "  0         exited with code 1\n"));
		assert_non_null(strstr(table.data, "\nother   -    present  "));
		assert_non_null(strstr(table.data, "  -         -\n"));
		assert_non_null(strstr(table.data, "  RESTARTS  LAST END\n"));
	}
	pool_free(pool);
	world_free(world);
}

/* The environment of the manifests' Pods says where. */
static void test_status_address(void **state)
{
	static const struct {
		const char *pod_ip;
		const char *address;
	} cases[] = {
		{NULL, "127.0.0.1:8080"},
		{"", "127.0.0.1:8080"},
		{"10.1.2.3", "10.1.2.3:8080"},
		{"fd00::12", "[fd00::12]:8080"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *address;

		unsetenv("POD_IP");
		if (cases[i].pod_ip != NULL)
			setenv("POD_IP", cases[i].pod_ip, 1);
		address = status_address();
		assert_string_equal(address, cases[i].address);
		free(address);
	}
	unsetenv("POD_IP");
}

static void test_status_server(void **state)
{
	static const char *const cases[][2] = {
		{":80", "http://127.0.0.1:80"},
		{"localhost:80", "http://localhost:80"},
		{"[fd00::12]:80", "http://[fd00::12]:80"},
		{"fd00::12:80", "http://[fd00::12]:80"},
		{"::1:80", "http://[::1]:80"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *server = status_server(cases[i][0]);

		assert_string_equal(server, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags),         cmocka_unit_test(test_lease_namespace),
		cmocka_unit_test(test_shard_list),    cmocka_unit_test(test_shards),
		cmocka_unit_test(test_many_shards),   cmocka_unit_test(test_standby),
		cmocka_unit_test(test_lease_run_out), cmocka_unit_test(test_status_address),
		cmocka_unit_test(test_status_server), cmocka_unit_test(test_pool_member),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
