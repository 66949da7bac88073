/* Status writes of a reconciler: those that conflict, the last ones before it ends, and those that are too large for
 * the server. */
#include "tests/unit/reconciler_calls.h"

/* Answers the one request there is: 409 to a write; the object, as somebody has written it meanwhile, to a read. */
static void answer_conflict(struct world *world, bool shown)
{
	cleanup_free char *text = framework_text("f", 10 + world->requests, 1);

	assert_int_equal(world->call_count, 1);
	if (strncmp(world->calls[0].line, "PUT ", 4) == 0)
		world_answer(world, 0, 409, "");
	else
		world_answer(world, 0, 200, text);
	if (shown)
		assert_true(store_text(&world->reconciler, KIND_FRAMEWORK, SHARD, text, strlen(text)));
	run_all(world);
}

static void answer_write_after(struct world *world, int64_t took_ms)
{
	size_t at = find_call(world, "PUT ");

	assert_true(at < world->call_count);
	world->now_ms += took_ms;
	answer_done(world, at);
}

/* Changes are gathered by how long status writes of any Framework take: the core is told, until it is long ago. */
static void write_times_are_noted(void **state)
{
	struct world *world = *state;

	world->lease_ms = 60 * 1000;
	world_grant(world, SHARD);
	show_framework(world, "f", SHARD, 1);
	show_framework(world, "g", SHARD, 1);
	run_all(world);
	assert_int_equal(store_time(&world->reconciler).write_ms, 0);
	answer_write_after(world, 300);
	assert_int_equal(store_time(&world->reconciler).write_ms, 300);
	answer_write_after(world, 500); /* begun when the other one was: 800 in all */
	assert_int_equal(store_time(&world->reconciler).write_ms, 400);
	world->now_ms += 10 * 1000;
	assert_int_equal(store_time(&world->reconciler).write_ms, 400);
	world->now_ms++;
	assert_int_equal(store_time(&world->reconciler).write_ms, 0);
}

/* Few that take long must not keep back the pings, by which the lease goes on: then none of them would ever end. */
static void slow_ones_one_after_the_other(void **state)
{
	static const char *const names[] = {"f", "g", "h"};
	struct world *world = *state;

	world_grant(world, SHARD);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		show_framework(world, names[i], SHARD, 1);
	world->lease_ms = 60 * 1000;
	world->request_ms = 5000;
	for (size_t i = 1; i <= ARRAY_LEN(names); i++) {
		reconciler_run(&world->reconciler);
		assert_int_equal(world->call_count, i);
	}
	world->request_ms = 0;
}

static void show_text(struct world *world, const char *text)
{
	assert_true(store_text(&world->reconciler, KIND_FRAMEWORK, SHARD, text, strlen(text)));
	run_all(world);
}

/* What was Completed under the original waits behind all others, and its time says nothing about others. */
static void completed_before_goes_last(void **state)
{
	struct world *world = *state;
	cleanup_free char *running = framework_text("f", 5, 1);
	cleanup_free char *text = mem_printf(
		"%.*s,\"status\":{\"state\":\"Completed\",\"attemptStatus\":{\"completionStatus\":{}}}}",
		(int)strlen(running) - 1, running);

	world->lease_ms = 60 * 1000;
	world_grant(world, SHARD);
	show_text(world, text);
	run_all(world);
	world->now_ms += 1000;
	run_all(world);
	assert_true(world->calls[find_call(world, "PUT ")].waits_behind_all);
	answer_write_after(world, 300);
	assert_int_equal(store_time(&world->reconciler).write_ms, 0);
	show_framework(world, "g", SHARD, 1);
	run_all(world);
	assert_false(world->calls[find_call(world, "PUT ")].waits_behind_all);
}

/* The first conflict is made good at once. What conflicts again and again is tried less and less often, whatever news
 * come; until a write succeeds. (It was tried as often as the rate allows.) */
static void conflicts_are_backed_off(void **state)
{
	struct world *world = *state;
	int64_t begun_ms = world->now_ms;
	int writes = 0;

	world->lease_ms = 5000;
	world_grant(world, SHARD);
	show_framework(world, "f", SHARD, 1);
	run_all(world);
	while (world->now_ms < begun_ms + 60 * 1000) {
		while (world->call_count > 0) {
			writes += strncmp(world->calls[0].line, "PUT ", 4) == 0;
			assert_in_range(writes, 1, 30);
			answer_conflict(world, true);
			if (writes == 1)
				assert_int_equal(world->call_count, 1);
		}
		world->now_ms++;
		run_all(world);
	}
	assert_in_range(writes, 8, 30);
	while (world->call_count == 0) {
		world->now_ms += 1000;
		run_all(world);
	}
	assert_memory_equal(world->last, "GET ", 4);
	answer_conflict(world, false);
	answer_done(world, 0);
	run_all(world);
	get_to_pods(world);
	show_framework(world, "f", SHARD, 1);
	/* the next conflict is a first one again */
	answer_done(world, 0);
	while (find_call(world, "PUT ") == world->call_count) {
		world->now_ms++;
		run_all(world);
	}
	answer_conflict(world, false);
	assert_memory_equal(world->last, "GET ", 4);
	answer_conflict(world, false);
	assert_memory_equal(world->last, "PUT ", 4);
}

/* Its Pod is created, which is to be written within half a second. */
static void get_ahead(struct world *world, const char *name, uint32_t shard)
{
	show_framework(world, name, shard, 1);
	run_all(world);
	get_to_pods(world);
	answer_done(world, find_call(world, pods));
	run_all(world);
	assert_int_equal(world->call_count, 0);
}

/* SIGTERM: what is to be written later is written now, once. (It was dropped.) Nothing else is begun. */
static void the_end_writes_what_is_known(void **state)
{
	struct world *world = *state;
	struct reconciler *reconciler = &world->reconciler;

	world->lease_ms = 60000;
	world_grant(world, SHARD);
	world_grant(world, OTHER_SHARD);
	get_ahead(world, "f", SHARD);
	get_ahead(world, "g", OTHER_SHARD);
	world->now_ms += 1000;
	run_all(world);
	answer_done(world, find_call(world, "PUT ")); /* of one of them nothing is left to write */
	assert_int_equal(world->call_count, 1);
	answer_done(world, 0);
	show_framework(world, "big", SHARD, BIG);
	run_all(world);
	get_to_pods(world);
	answer_done(world, 0);
	run_all(world);
	answer_done(world, 0);
	run_all(world);
	assert_true(find_call(world, "PUT ") == world->call_count);
	world->requests = 0;
	apply_leave(reconciler);
	assert_false(apply_left(reconciler));
	run_all(world);
	assert_int_equal(world->requests, 1);
	assert_non_null(strstr(world->last, "frameworks/big/status "));
	assert_non_null(strstr(world->calls[world->call_count - 1].body, "\"podUID\":\"uid-big-a-"));
	while (find_call(world, pods) < world->call_count)
		answer_done(world, find_call(world, pods)); /* nor does anything take their places */
	run_all(world);
	assert_int_equal(world->call_count, 1);
	assert_false(apply_left(reconciler));
	answer_done(world, 0);
	run_all(world);
	world->now_ms += 10000;
	run_all(world);
	assert_true(apply_left(reconciler));
	assert_int_equal(world->requests, 1);
}

/* A write that is on its way is followed by what came since; one that conflicts is repeated on what was read; one that
 * fails is left to the next owner. */
static void the_end_waits_for_writes(void **state)
{
	struct world *world = *state;
	struct reconciler *reconciler = &world->reconciler;
	cleanup_free char *text = framework_text("g", 1000, 1);
	size_t at;

	world->lease_ms = 60000;
	world_grant(world, SHARD);
	world_grant(world, OTHER_SHARD);
	get_ahead(world, "f", SHARD);
	get_ahead(world, "g", OTHER_SHARD);
	world->requests = 0;
	apply_leave(reconciler);
	run_all(world);
	assert_int_equal(world->requests, 2);
	at = strstr(world->calls[0].line, "/g/") != NULL ? 0 : 1;
	world_answer(world, at, 409, "");
	world_answer(world, 0, 500, "");
	run_all(world);
	assert_int_equal(world->call_count, 1);
	assert_memory_equal(world->last, "GET ", 4);
	world_answer(world, 0, 200, text);
	run_all(world);
	assert_memory_equal(world->last, "PUT ", 4);
	assert_non_null(strstr(world->last, "\"resourceVersion\":\"1000\""));
	assert_false(apply_left(reconciler));
	answer_done(world, 0);
	run_all(world);
	assert_true(apply_left(reconciler));
	assert_int_equal(world->requests, 4);
}

/* Without a lease nothing is written, and nobody is waited for. */
static void the_end_needs_a_lease(void **state)
{
	struct world *world = *state;

	world->lease_ms = 60000;
	world_grant(world, SHARD);
	get_ahead(world, "f", SHARD);
	world->requests = 0;
	world->lease_ms = 0;
	apply_leave(&world->reconciler);
	run_all(world);
	assert_true(apply_left(&world->reconciler));
	assert_int_equal(world->requests, 0);
}

enum { LOGS = 40, LOG_BYTES = 4096 };

/* A Framework that runs no Task any more: each has failed with a log of its own. */
static void show_failures(struct world *world)
{
	cleanup_buf struct buf text = {0};
	struct random random;

	random_init_seed(&random, 1);
	buf_puts(&text,
		 "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"big\",\"uid\":\"u\",\"resourceVersion\":"
		 "\"7\",\"generation\":1},\"spec\":{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":40}]},"
		 "\"status\":{\"state\":\"AttemptCompleted\",\"attemptStatus\":{\"completionStatus\":{\"code\":1,"
		 "\"phrase\":\"P\",\"diagnostics\":\"D\"},\"taskRoleStatuses\":[{\"name\":\"a\",\"instanceUID\":"
		 "\"role\",\"taskStatuses\":[");
	for (int i = 0; i < LOGS; i++) {
		buf_json_next(&text);
		buf_printf(&text,
			   "{\"index\":%d,\"instanceUID\":\"t%d\",\"state\":\"Completed\",\"attemptStatus\":{"
			   "\"completionStatus\":{\"code\":1,\"phrase\":\"P\",\"diagnostics\":\"D\",\"pod\":{"
			   "\"message\":\"",
			   i, i);
		for (int j = 0; j < LOG_BYTES; j++)
			buf_putc(&text, (char)random_between(&random, '0', 'Z'));
		buf_puts(&text, "\"}}}}");
	}
	buf_puts(&text, "]}]}}}");
	assert_true(store_text(&world->reconciler, KIND_FRAMEWORK, SHARD, text.data, text.len));
}

/* As the API server refuses it, or etcd, or the one's client of the other. */
static size_t refuse(struct world *world, size_t at, bool by_etcd)
{
	size_t len = strlen(world->calls[at].body);

	if (by_etcd)
		world_answer(world, at, 500,
			     len % 2 == 0 ? "etcdserver: request is too large"
					  : "rpc error: code = ResourceExhausted desc = trying to send message larger "
					    "than max (2110699 vs. 2097152)");
	else
		world_answer(world, at, 413, "Request entity too large");
	run_all(world);
	return len;
}

static size_t find_event(const struct world *world, const char *reason)
{
	size_t at = 0;

	while (at < world->call_count && strstr(world->calls[at].body, reason) == NULL)
		at++;
	return at;
}

/* Each refusal makes the next body smaller, at once; when there is nothing left to take away, the tries become rare. */
static void refused_bodies_shrink(void **state)
{
	struct world *world = *state;
	size_t len;
	int puts = 0;
	size_t at;

	world->lease_ms = 5000;
	world_grant(world, SHARD);
	show_failures(world);
	world->now_ms += 10000;
	run_all(world);
	assert_true(find_call(world, "PUT ") < world->call_count);
	refuse(world, find_call(world, "PUT "), false);
	len = refuse(world, find_call(world, "PUT "), true);
	assert_true(find_event(world, "StatusTooLarge") < world->call_count);
	for (at = find_call(world, "PUT "); at < world->call_count; at = find_call(world, "PUT ")) {
		size_t next = refuse(world, at, puts % 2 == 0);

		assert_true(next <= len);
		len = next;
		assert_in_range(++puts, 1, 16);
	}
	assert_in_range(len, 1, LOGS * 200);
	assert_true(find_event(world, "StatusShortened") < world->call_count);
	assert_true(find_event(world, "StatusRefused") < world->call_count);
	/* Rarely, for an hour. */
	world->now_ms += 9999;
	run_all(world);
	assert_true(find_call(world, "PUT ") == world->call_count);
	for (puts = 0; world->now_ms < 3600 * 1000; world->now_ms += 1000) {
		run_all(world);
		at = find_call(world, "PUT ");
		if (at == world->call_count)
			continue;
		puts++;
		refuse(world, at, true);
	}
	assert_in_range(puts, 50, 200);
	/* As soon as the server takes it the Framework goes on. */
	world->now_ms += 61 * 1000;
	run_all(world);
	at = find_call(world, "PUT ");
	assert_true(at < world->call_count);
	assert_non_null(strstr(world->calls[at].body, "\"state\":\"Completed\""));
	answer_done(world, at);
	run_all(world);
	assert_true(find_call(world, "PUT ") == world->call_count);
}

/* Its former ConfigMap keeps what is known of the name; how large its predecessor's status was says nothing of a
 * namesake. */
static void namesakes_are_not_compressed(void **state)
{
	static const char config_map[] =
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"f-attempt\",\"uid\":\"c\",\"resourceVersion\":"
		"\"8\",\"labels\":{\"FC_FRAMEWORK_NAME\":\"f\"}}}";
	const struct bus_absent absent = {.ns = (char *)"ns",
					  .name = (char *)"f",
					  .uid = (char *)"u-f",
					  .resource_version = (char *)"900",
					  .framework_name = (char *)"f",
					  .deleting = true};
	struct world *world = *state;
	cleanup_free char *namesake = framework_text("f", 1000, 1);

	strstr(namesake, "u-f")[2] = 'g';
	world->lease_ms = 60000;
	world_grant(world, SHARD);
	show_framework(world, "f", SHARD, 1);
	assert_true(store_text(&world->reconciler, KIND_CONFIG_MAP, SHARD, config_map, strlen(config_map)));
	run_all(world);
	refuse(world, find_call(world, "PUT "), false);
	assert_non_null(strstr(world->calls[find_call(world, "PUT ")].body, "taskRoleStatusesCompressed"));
	store_absent(&world->reconciler, KIND_FRAMEWORK, SHARD, &absent);
	world_answer(world, find_call(world, "PUT "), 404, "");
	run_all(world);
	assert_non_null(world->reconciler.items);
	show_text(world, namesake);
	world_answer(world, find_call(world, "GET "), 200, namesake);
	run_all(world);
	assert_true(find_call(world, "PUT ") < world->call_count);
	assert_null(strstr(world->calls[find_call(world, "PUT ")].body, "taskRoleStatusesCompressed"));
}

/* The same Framework with the status that a write sends, at another version. */
static char *written_text(const struct request *write, int version)
{
	cleanup_free char *text = framework_text("f", version, 1);
	cleanup_json json_t *object = json_parse(text, strlen(text), NULL);
	cleanup_json json_t *sent = json_parse(write->body, strlen(write->body), NULL);

	json_object_set(object, "status", json_object_get(sent, "status"));
	return json_text(object);
}

/* An event that comes before the answer to a write causes no reconcile, and nothing when the answer says the same. What
 * another client wrote after it is found then, and a new spec at once. */
static void events_wait_for_the_answer(void **state)
{
	struct world *world = *state;
	const struct item *item;
	cleanup_free char *own = NULL;
	cleanup_free char *others = framework_text("f", 500, 1);
	cleanup_free char *respecified = framework_text("f", 600, 2);
	cleanup_free char *text = NULL;
	char *generation;
	uint64_t reconciles;

	world->lease_ms = 60000;
	world_grant(world, SHARD);
	show_framework(world, "f", SHARD, 1);
	run_all(world);
	assert_memory_equal(world->calls[0].line, "PUT ", 4);
	item = world->reconciler.items;
	reconciles = world->reconciler.reconciles;
	own = written_text(&world->calls[0], 100 + world->requests);
	show_text(world, own);
	assert_int_equal(world->reconciler.reconciles, reconciles);
	assert_string_equal(item->framework->resource_version, "7");
	answer_done(world, 0);
	assert_null(item->held);
	run_all(world);
	assert_int_equal(world->reconciler.reconciles, reconciles + 1);
	assert_memory_equal(world->last, "POST ", 5);
	get_to_pods(world);
	answer_done(world, find_call(world, pods));
	world->now_ms += 60000;
	run_all(world);
	assert_int_equal(world->call_count, 1);
	assert_memory_equal(world->calls[0].line, "PUT ", 4);
	text = mem_printf("%.*s,\"status\":{\"state\":\"Else\"}}", (int)strlen(others) - 1, others);
	show_text(world, text);
	answer_done(world, 0);
	run_all(world);
	assert_memory_equal(world->last, "PUT ", 4);
	assert_non_null(strstr(world->calls[0].body, "\"resourceVersion\":\"500\""));
	generation = strstr(respecified, "\"generation\":1");
	generation[strlen("\"generation\":")] = '2';
	show_text(world, respecified);
	assert_int_equal(item->framework->generation, 2);
}

/* Answers the write of f so, and what follows it up to the next one; whether an Event then says it. */
static bool refused_with(struct world *world, int http_status, const char *reason, const char *event)
{
	cleanup_free char *status = mem_printf(
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"%s\",\"message\":\"denied\"}", reason);
	cleanup_free char *text = framework_text("f", 10, 1);
	size_t at;

	world_answer(world, find_call(world, "PUT "), http_status, status);
	run_all(world);
	at = find_event(world, "FailedUpdateStatus");
	if (at < world->call_count)
		assert_non_null(strstr(world->calls[at].body, event));
	world->now_ms += 60 * 1000;
	run_all(world);
	at = find_call(world, "GET ");
	if (at < world->call_count) {
		world_answer(world, at, 200, text);
		run_all(world);
	}
	return find_event(world, "FailedUpdateStatus") < world->call_count;
}

/* A webhook that refuses status writes: the owner of the Framework sees no log. */
static void refusals_are_reported(void **state)
{
	struct world *world = *state;

	world->lease_ms = 60 * 1000;
	world_grant(world, SHARD);
	show_framework(world, "f", SHARD, 1);
	run_all(world);
	assert_false(refused_with(world, 429, "TooManyRequests", ""));
	assert_true(refused_with(world, 403, "Forbidden", "Failed to update the status: denied\""));
}

/* A server that is slow for a minute does the same, and the Event says what the request had to keep to. */
static void lasting_failures_are_reported(void **state)
{
	struct world *world = *state;
	int failed = 1;

	world->lease_ms = 60 * 1000;
	world_grant(world, SHARD);
	show_framework(world, "f", SHARD, 1);
	run_all(world);
	while (!refused_with(world, 504, "Timeout", "Failed to update the status: denied (") && failed < 100)
		failed++;
	assert_in_range(failed, 10, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(slow_ones_one_after_the_other, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(write_times_are_noted, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(completed_before_goes_last, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(conflicts_are_backed_off, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(the_end_writes_what_is_known, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(the_end_waits_for_writes, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(the_end_needs_a_lease, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(refused_bodies_shrink, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(namesakes_are_not_compressed, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(events_wait_for_the_answer, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(refusals_are_reported, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(lasting_failures_are_reported, world_set_up, world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
