/* What the watcher and the reconcilers show on /metrics: that Prometheus can read it, that the figures are those of the
 * parts, and who may connect. The format's details are in test_serve. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <ctype.h>
#include <ev.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/health/health.h"
#include "common/process/process.h"
#include "reconciler/metrics.h"
#include "tests/unit/bus_world.h"
#include "tests/unit/http_asker.h"
#include "watcher/metrics.h"

/* ---- reading the text -------------------------------------------------------------------------------------------- */

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text);

	return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

/* "# HELP name text" and "# TYPE name type": the name into out. */
static void read_comment(const char *line, const char *keyword, char *out, size_t size, const char **rest)
{
	const char *name = line + strlen("# HELP ");
	size_t len = strcspn(name, " ");

	if (strncmp(line + 2, keyword, 4) != 0 || len == 0 || len >= size || name[len] != ' ' || name[len + 1] == '\0')
		fail_msg("expected %s: %s", keyword, line);
	memcpy(out, name, len);
	out[len] = '\0';
	*rest = name + len + 1;
}

static void check_value(const char *line, const char *family, const char *type)
{
	size_t len = strlen(family);
	const char *at = line + len;
	char *end;

	if (strncmp(line, family, len) == 0 && strcmp(type, "histogram") == 0) {
		static const char *const samples[] = {"_bucket", "_sum", "_count"};

		for (size_t i = 0; i < ARRAY_LEN(samples) && at == line + len; i++)
			if (strncmp(at, samples[i], strlen(samples[i])) == 0)
				at += strlen(samples[i]);
	}
	if (strncmp(line, family, len) != 0 || name_char(*at))
		fail_msg("not a value of %s: %s", family, line);
	if (*at == '{') {
		at = strstr(at, "} ");
		if (at == NULL || at[-1] != '"')
			fail_msg("labels: %s", line);
		at++;
	}
	if (*at != ' ' || (strtod(at + 1, &end) < 0 && strcmp(type, "counter") == 0) || end == at + 1 || *end != '\0')
		fail_msg("value: %s", line);
}

/* Each family once, with HELP and TYPE before its values, and no value twice: Prometheus refuses all of it else. */
static void check_text(const char *text)
{
	cleanup_json json_t *seen = json_object();
	cleanup_free char *copy = mem_strdup(text);
	char family[128] = "";
	char again[128];
	const char *type = "";
	char *rest = copy;

	assert_true(ends_with(text, "\n"));
	for (char *line; (line = strsep(&rest, "\n")) != NULL && rest != NULL;) {
		cleanup_free char *key = NULL;

		if (line[0] != '#') {
			check_value(line, family, type);
			key = mem_strndup(line, (size_t)(strrchr(line, ' ') - line));
		} else {
			read_comment(line, "HELP", family, sizeof(family), &type);
			line = strsep(&rest, "\n");
			read_comment(line, "TYPE", again, sizeof(again), &type);
			assert_string_equal(again, family);
			if (strcmp(type, "counter") != 0 && strcmp(type, "gauge") != 0 &&
			    strcmp(type, "histogram") != 0)
				fail_msg("type: %s", line);
			if (strncmp(family, "process_", 8) != 0)
				assert_int_equal(ends_with(family, "_total"), strcmp(type, "counter") == 0);
			key = mem_printf("# %s", family);
		}
		if (json_object_get(seen, key) != NULL)
			fail_msg("twice: %s", key);
		json_object_set_new(seen, key, json_true());
	}
}

static double value_of(const char *text, const char *series)
{
	cleanup_free char *begin = mem_printf("\n%s ", series);
	const char *at = strstr(text, begin);

	if (at == NULL)
		fail_msg("no %s in\n%s", series, text);
	return strtod(at + strlen(begin), NULL);
}

#define assert_value(text, series, expected) assert_float_equal(value_of(text, series), expected, 0)

static struct kube_client *make_client(struct ev_loop *loop)
{
	const struct kube_client_options options = {.user_agent = "test/1.0"};
	static struct kube_config config = {.server = (char *)"http://127.0.0.1:1"}; /* the client borrows it */
	struct error err;
	struct kube_client *client = kube_client_new(loop, &config, &options, &err);

	if (client == NULL)
		fail_msg("%s", err.message);
	return client;
}

/* One request, which nobody answers. */
static void on_done(void *arg, const struct kube_answer *answer)
{
	(void)answer;
	*(bool *)arg = true;
}

static void ask_nobody(struct ev_loop *loop, struct kube_client *client)
{
	const struct kube_request request = {
		.method = "GET", .path = "/api/v1/namespaces/x/pods/y", .timeout_ms = 5000};
	bool done = false;

	kube_client_call(client, &request, on_done, &done);
	RUN_UNTIL(loop, done);
}

/* ---- the watcher ------------------------------------------------------------------------------------------------- */

static void watcher_figures(void **state)
{
	struct ev_loop *loop = ev_loop_new(0);
	struct kube_client *client = make_client(loop);
	struct world *world = world_new();
	const struct bus_counters bus = {.received = 7, .dropped_malformed = 2, .dropped_oversized = 3};
	const struct bus_gate_counters gate = {.unknown_key = 4};
	struct watcher_metrics from = {.client = client, .bus = &bus, .gate = &gate, .shard_count = WORLD_SHARDS};
	cleanup_buf struct buf before = {0};
	cleanup_buf struct buf after = {0};

	(void)state;
	world_start_watcher(world, 5);
	from.router = world->router;
	from.cache = world->cache;
	watcher_metrics_write(&before, &from);
	check_text(before.data);
	assert_value(before.data, "frameworkcontroller_shards_held", 0);
	assert_value(before.data, "frameworkcontroller_synced", 0);

	world_present(world, KIND_FRAMEWORK, "", "fw", "f1");
	world_present(world, KIND_POD, "fw", "fw-a-0", "p1");
	world_present(world, KIND_POD, "fw", "fw-a-1", "p2");
	world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	router_synced(world->router);
	world_settle(world);
	ask_nobody(loop, client);
	from.synced = true;
	watcher_metrics_write(&after, &from);
	check_text(after.data);
	assert_value(after.data, "frameworkcontroller_synced", 1);
	assert_value(after.data, "frameworkcontroller_live", 0);
	assert_value(after.data, "frameworkcontroller_cached_objects{kind=\"Pod\"}", 2);
	assert_value(after.data, "frameworkcontroller_shards", WORLD_SHARDS);
	assert_value(after.data, "frameworkcontroller_shards_held", WORLD_SHARDS);
	assert_value(after.data, "frameworkcontroller_epoch", 5);
	assert_value(after.data, "frameworkcontroller_bus_peers", 1);
	assert_value(after.data, "frameworkcontroller_bus_messages_dropped_total", 5);
	assert_value(after.data, "frameworkcontroller_bus_refused_total{reason=\"unknown_key\"}", 4);
	assert_value(after.data, "rest_client_requests_total{code=\"<error>\",method=\"GET\",resource=\"pods\"}", 1);
	/* what it cannot know is not there, rather than 0 */
	assert_null(strstr(after.data, "frameworkcontroller_pool"));
	assert_null(strstr(after.data, "frameworkcontroller_tasks"));
	world_free(world);
	kube_client_free(client);
	ev_loop_destroy(loop);
}

/* ---- the reconciler ---------------------------------------------------------------------------------------------- */

static int64_t port_now_ms(void *context)
{
	(void)context;
	return 1000000;
}

/* A Framework as the watcher shows it; ' stands for ". */
static void show(struct reconciler *reconciler, const char *text)
{
	cleanup_free char *copy = mem_strdup(text);

	for (char *c = copy; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	assert_true(store_text(reconciler, KIND_FRAMEWORK, 0, copy, strlen(copy)));
}

static const char task_parts[] = "'startTime':null,'retryPolicyStatus':{},'attemptStatus':{'id':0,'instanceUID':'0_u'}";

static void reconciler_figures(void **state)
{
	struct ev_loop *loop = ev_loop_new(0);
	struct kube_client *client = make_client(loop);
	struct reconciler reconciler = {.ports = {.boot_ms = port_now_ms, .wall_ms = port_now_ms}};
	const struct session_counters peer = {.malformed = 1, .malformed_objects = 2};
	const struct bus_counters bus = {.sent = 9};
	struct shard_set shards = {0};
	const struct reconciler_metrics from = {&reconciler, &shards, &peer, &bus, client};
	cleanup_free char *running = mem_printf(
		"{'metadata':{'namespace':'n','name':'b','uid':'2','resourceVersion':'2'},"
		"'spec':{'taskRoles':[{'name':'a','taskNumber':2,'task':{'pod':{}}}]},"
		"'status':{'state':'AttemptRunning','attemptStatus':{'id':0,'instanceUID':'0_c',"
		"'taskRoleStatuses':[{'name':'a','instanceUID':'r','taskStatuses':["
		"{'index':0,'instanceUID':'t','state':'AttemptRunning',%s},"
		"{'index':1,'instanceUID':'u','state':'AttemptRunning',%s}]}]}}}",
		task_parts, task_parts);
	cleanup_buf struct buf out = {0};

	(void)state;
	show(&reconciler, "{'metadata':{'namespace':'n','name':'a','uid':'1','resourceVersion':'1'},"
			  "'spec':{'taskRoles':[]}}");
	show(&reconciler, running);
	show(&reconciler, "{'metadata':{'namespace':'n','name':'c','uid':'3','resourceVersion':'3'},"
			  "'spec':{'taskRoles':7}}");
	store_item(&reconciler, "n", "remains", 0);
	shard_set_add(&shards, 3);
	shard_set_add(&shards, 70);
	reconciler_metrics_write(&out, &from);
	check_text(out.data);
	assert_value(out.data, "frameworkcontroller_frameworks{state=\"None\"}", 2);
	assert_value(out.data, "frameworkcontroller_frameworks{state=\"AttemptRunning\"}", 1);
	assert_value(out.data, "frameworkcontroller_frameworks{state=\"Completed\"}", 0);
	assert_value(out.data, "frameworkcontroller_frameworks_malformed", 1);
	assert_value(out.data, "frameworkcontroller_tasks{state=\"AttemptRunning\"}", 2);
	assert_value(out.data, "frameworkcontroller_shards_owned", 2);
	assert_value(out.data, "workqueue_depth{name=\"framework\"}", 3);
	assert_value(out.data, "workqueue_adds_total{name=\"framework\"}", 3);
	assert_value(out.data, "frameworkcontroller_bus_malformed_total", 3);
	reconciler_run(&reconciler); /* the shard is not ready: they go without a reconcile */
	buf_clear(&out);
	reconciler_metrics_write(&out, &from);
	assert_value(out.data, "workqueue_depth{name=\"framework\"}", 0);
	assert_value(out.data, "workqueue_adds_total{name=\"framework\"}", 3);
	assert_value(out.data, "frameworkcontroller_reconciles_total", 0);
	store_free(&reconciler);
	kube_client_free(client);
	ev_loop_destroy(loop);
}

/* ---- serving them ------------------------------------------------------------------------------------------------ */

static void put_bus(void *arg, struct buf *out)
{
	health_put_bus(out, arg);
}

static void listens_to_this_machine(void **state)
{
	struct ev_loop *loop = ev_loop_new(0);
	struct bus_counters bus = {0};
	struct process_flags flags = {.http = "127.0.0.1:0"};
	const struct serve_options options = {.metrics = put_bus, .arg = &bus};
	struct serve *serve = NULL;
	struct serve *other = NULL;
	struct error err;
	struct asking client;

	(void)state;
	if (process_serve(loop, &flags, &options, &serve, &err) < 0)
		fail_msg("%s", err.message);
	/* together with what the server adds by itself */
	client = asker_open(serve_address(serve));
	asker_send(&client, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
	RUN_UNTIL(loop, asker_done(&client));
	assert_int_equal(asker_status(&client), 200);
	check_text(asker_body(&client));
	asker_close(&client);

	flags.http = serve_address(serve);
	assert_int_equal(process_serve(loop, &flags, &options, &other, &err), -1);
	assert_null(other);
	if (strstr(err.message, "--http: listen on \"127.0.0.1:") == NULL ||
	    strstr(err.message, "Address already in use") == NULL)
		fail_msg("%s", err.message);
	serve_free(serve);
	ev_loop_destroy(loop);
}

static void ask_metrics(struct ev_loop *loop, const char *address, struct asking *out)
{
	*out = asker_open(address);
	asker_send(out, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
	RUN_UNTIL(loop, asker_done(out));
	assert_int_equal(asker_status(out), 200);
}

/* A listener for probes and Prometheus alone tells what happens at the one that clients use. */
static void counts_another_listener(void **state)
{
	struct ev_loop *loop = ev_loop_new(0);
	struct process_flags flags = {.http = "127.0.0.1:0"};
	struct serve_options options = {0};
	struct serve *clients = NULL;
	struct serve *health = NULL;
	struct asking idle[3];
	struct asking asking;
	struct error err;

	(void)state;
	assert_int_equal(process_serve(loop, &flags, &options, &clients, &err), 0);
	options.counted = clients;
	assert_int_equal(process_serve(loop, &flags, &options, &health, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(idle); i++)
		idle[i] = asker_open(serve_address(clients));
	RUN_UNTIL(loop, serve_counters(clients)->open == ARRAY_LEN(idle));
	ask_metrics(loop, serve_address(health), &asking);
	assert_value(asker_body(&asking), "http_connections", ARRAY_LEN(idle));
	assert_value(asker_body(&asking), "http_requests_total{code=\"2xx\"}", 0);
	asker_close(&asking);
	for (size_t i = 0; i < ARRAY_LEN(idle); i++)
		asker_close(&idle[i]);
	serve_free(health);
	serve_free(clients);
	ev_loop_destroy(loop);
}

static double open_fds(void)
{
	cleanup_buf struct buf out = {0};

	metrics_process(&out);
	return value_of(out.data, "process_open_fds");
}

/* Counting takes longer the more there are, and anybody may ask: at most once a second, and the count is right then. */
static void descriptors_are_counted_once_a_second(void **state)
{
	enum { MORE = 50, KEPT_MS = 1000, TRIES = 5 };
	struct ev_loop *loop = ev_loop_new(0);
	int64_t begun_ms = clock_boot_ms();
	bool kept = false;

	(void)state;
	for (int tries = 0; tries < TRIES && !kept; tries++) { /* a busy machine may take the second between two */
		int fds[MORE];
		double count;

		RUN_UNTIL(loop, clock_boot_ms() - begun_ms > KEPT_MS);
		count = open_fds();
		for (int i = 0; i < MORE; i++)
			fds[i] = dup(STDERR_FILENO);
		kept = open_fds() == count;
		RUN_UNTIL(loop, open_fds() == count + MORE);
		for (int i = 0; i < MORE; i++)
			close(fds[i]);
		begun_ms = clock_boot_ms();
	}
	assert_true(kept);
	ev_loop_destroy(loop);
}

/* By changes() of it, Prometheus finds restarts. */
static void start_times_are_told_apart(void **state)
{
	struct ev_loop *loop = ev_loop_new(0);
	cleanup_buf struct buf out = {0};
	cleanup_buf struct buf process = {0};
	int64_t begun_ms = clock_boot_ms();
	double first;

	(void)state;
	metrics_process(&process);
	first = value_of(process.data, "process_start_time_seconds");
	assert_in_range((int64_t)first, clock_wall_ms() / 1000 - 3600, clock_wall_ms() / 1000);
	RUN_UNTIL(loop, clock_boot_ms() - begun_ms > 200);
	buf_clear(&process);
	metrics_process(&process);
	assert_value(process.data, "process_start_time_seconds", first);
	ev_loop_destroy(loop);
	metrics_gauge(&out, "a", "An a.", 1795844139.25);
	metrics_gauge(&out, "b", "A b.", 0.1);
	assert_non_null(strstr(out.data, "\na 1795844139.25\n"));
	assert_non_null(strstr(out.data, "\nb 0.1\n"));
}

/* Somebody takes all connections and says nothing; a probe is answered. */
static void answers_in_a_flood(void **state)
{
	enum { IDLE = 300 };
	struct ev_loop *loop = ev_loop_new(0);
	struct process_flags flags = {.http = "127.0.0.1:0"};
	const struct serve_options options = {0};
	struct serve *serve = NULL;
	struct asking idle[IDLE];
	struct asking probe;
	struct error err;

	(void)state;
	if (process_serve(loop, &flags, &options, &serve, &err) < 0)
		fail_msg("%s", err.message);
	for (int i = 0; i < IDLE; i++) {
		idle[i] = asker_open(serve_address(serve));
		ev_run(loop, EVRUN_NOWAIT);
	}
	probe = asker_open(serve_address(serve));
	asker_send(&probe, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
	RUN_UNTIL(loop, asker_done(&probe));
	assert_int_equal(asker_status(&probe), 200);
	asker_close(&probe);
	for (int i = 0; i < IDLE; i++)
		asker_close(&idle[i]);
	serve_free(serve);
	ev_loop_destroy(loop);
}

/* Refused before anybody could have been answered: nothing has run the loop. */
static void refuses_others(void **state)
{
	struct ev_loop *loop = ev_loop_new(0);
	struct process_flags flags = {.http = "0.0.0.0:0"};
	const struct serve_options options = {0};
	struct serve *serve = NULL;
	struct error err;

	(void)state;
	assert_int_equal(process_serve(loop, &flags, &options, &serve, &err), -1);
	assert_null(serve);
	if (strstr(err.message, "--http 0.0.0.0:0 can be reached from other machines") == NULL)
		fail_msg("%s", err.message);
	assert_int_equal(process_start_code(&err), EXIT_BAD_USE);
	flags.http = ":0";
	assert_int_equal(process_serve(loop, &flags, &options, &serve, &err), -1);
	/* the child of a pool has its --http from another option */
	flags.http_option = "--workers-http";
	assert_int_equal(process_serve(loop, &flags, &options, &serve, &err), -1);
	assert_non_null(strstr(err.message, "--workers-http :0 can be reached from other machines"));
	flags.http = "127.0.0.1:99999";
	assert_int_equal(process_serve(loop, &flags, &options, &serve, &err), -1);
	assert_non_null(strstr(err.message, "--workers-http: address \"127.0.0.1:99999\": expected HOST:PORT"));
	ev_loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(watcher_figures),
		cmocka_unit_test(answers_in_a_flood),
		cmocka_unit_test(reconciler_figures),
		cmocka_unit_test(listens_to_this_machine),
		cmocka_unit_test(refuses_others),
		cmocka_unit_test(counts_another_listener),
		cmocka_unit_test(descriptors_are_counted_once_a_second),
		cmocka_unit_test(start_times_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
