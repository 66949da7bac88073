/* Calls that wait for a place: every Framework has its turn, and what is given away waits no longer. */
#include "common/base/buf.h"
#include "common/base/json.h"
#include "tests/unit/reconciler_world.h"

enum { BIG = 300, OTHER_SHARD = 4 }; /* BIG: Tasks beside Task 0, whose Pod is there */

static char *framework_text(const char *name, int version, int tasks)
{
	return mem_printf("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"u-%s\","
			  "\"resourceVersion\":\"%d\",\"generation\":1},\"spec\":{\"executionType\":\"Start\","
			  "\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":%d,\"task\":{\"pod\":{\"spec\":{"
			  "\"containers\":[]}}}}]}}",
			  name, name, version, tasks);
}

static void show_framework(struct world *world, const char *name, uint32_t shard, int tasks)
{
	cleanup_free char *text = framework_text(name, 7, tasks);

	assert_true(store_text(&world->reconciler, KIND_FRAMEWORK, shard, text, strlen(text)));
}

/* It is done: what was sent, with the uid and the version that the server gives it. */
static void answer_done(struct world *world, size_t at)
{
	cleanup_json json_t *object = json_parse(world->calls[at].body, strlen(world->calls[at].body), NULL);
	json_t *metadata = json_object_get(object, "metadata");
	cleanup_free char *version = mem_printf("%d", 100 + world->requests);
	cleanup_free char *body = NULL;

	assert_non_null(metadata);
	json_object_set_new(metadata, "uid",
			    json_sprintf("uid-%s", json_string_value(json_object_get(metadata, "name"))));
	json_object_set_new(metadata, "resourceVersion", json_string(version));
	body = json_text(object);
	world_answer(world, at, 200, body);
}

/* The call whose method and path begin so; call_count when there is none. */
static size_t find_call(const struct world *world, const char *line)
{
	size_t at = 0;

	while (at < world->call_count && strncmp(world->calls[at].line, line, strlen(line)) != 0)
		at++;
	return at;
}

static const char pods[] = "POST /api/v1/namespaces/ns/pods";
static const char config_maps[] = "POST /api/v1/namespaces/ns/configmaps";

/* Everything but creates of Pods is done, as long as something is asked for. */
static void get_to_pods(struct world *world)
{
	for (size_t at = 0; at < world->call_count;) {
		if (strcmp(world->calls[at].line, pods) == 0) {
			at++;
			continue;
		}
		answer_done(world, at);
		run_all(world);
		at = 0;
	}
}

static void show_big(struct world *world)
{
	world->lease_ms = 5000;
	world_grant(world, SHARD);
	world_grant(world, OTHER_SHARD);
	show_framework(world, "big", SHARD, BIG + 1);
	run_all(world);
	get_to_pods(world);
	assert_int_equal(world->call_count, 1);
	answer_done(world, 0);
	run_all(world);
	assert_int_equal(world->call_count, CALLS_MAX);
	assert_int_equal(world->reconciler.waiting_count, BIG - CALLS_MAX);
}

/* Its status is written, and the create of its ConfigMap waits. */
static void show_small(struct world *world, int tasks)
{
	size_t at;

	show_framework(world, "small", OTHER_SHARD, tasks);
	run_all(world);
	at = find_call(world, "PUT ");
	assert_true(at < world->call_count);
	answer_done(world, at);
	run_all(world);
	assert_true(find_call(world, config_maps) == world->call_count);
	assert_int_equal(world->reconciler.waiting_count, BIG - CALLS_MAX + 1);
}

/* Until the other Framework's call is there, at most one of the first is started. (All of them were.) */
static void each_in_turn(void **state)
{
	struct world *world = *state;

	show_big(world);
	show_small(world, 1);
	answer_done(world, find_call(world, pods));
	answer_done(world, find_call(world, pods));
	assert_true(find_call(world, config_maps) < world->call_count);
	assert_int_equal(world->reconciler.calls_on_way, CALLS_MAX);
}

/* The request at `at` is to make the Pod of that Task. */
static void assert_creates(const struct world *world, size_t at, int task)
{
	cleanup_free char *name = mem_printf("\"name\":\"big-a-%d\"", task);

	assert_true(at < world->call_count);
	if (strcmp(world->calls[at].line, pods) != 0 || strstr(world->calls[at].body, name) == NULL)
		fail_msg("not %s: %s %s", name, world->calls[at].line, world->calls[at].body);
}

/* The same, and no other Pod is asked for. */
static void assert_only_create(struct world *world, int task)
{
	get_to_pods(world);
	assert_int_equal(world->call_count, 1);
	assert_creates(world, 0, task);
}

/* The calls of one Framework go in the order of its plan, which is that of its Tasks. */
static void order_is_kept(void **state)
{
	struct world *world = *state;

	show_big(world);
	for (int i = 1; i <= BIG; i++) {
		assert_creates(world, 0, i);
		answer_done(world, 0);
	}
	assert_int_equal(world->reconciler.calls_on_way, 0);
	assert_int_equal(world->reconciler.waiting_count, 0);
	assert_null(world->reconciler.ring);
}

/* The server asks to be left alone: creates that wait are not for it, either. */
static void failures_stop_the_rest(void **state)
{
	const struct kube_answer later = {.http_status = 429,
					  .retry_after_ms = 30000,
					  .sent = true,
					  .body = "",
					  .status = {.reason = "TooManyRequests", .message = "later"},
					  .message = "later"};
	struct world *world = *state;
	int64_t timeout_ms = 1000;
	size_t at;

	show_big(world);
	world->lease_ms = INT64_C(1000000);
	world_answer_with(world, find_call(world, pods), &later);
	run_all(world);
	at = find_call(world, pods);
	assert_false(world->calls[at].before_send(world->calls[at].arg, &timeout_ms)); /* it waits for the rate limit */
	for (int i = 1; i < CALLS_MAX; i++) {                                          /* the others had gone already */
		answer_done(world, find_call(world, pods));
		run_all(world);
	}
	assert_true(find_call(world, pods) == world->call_count);
	assert_int_equal(world->reconciler.waiting_count, 0);
	world->now_ms += 29999;
	run_all(world);
	get_to_pods(world);
	assert_int_equal(world->call_count, 0);
	world->now_ms += 10000;
	run_all(world);
	for (int i = CALLS_MAX - 1; i < BIG; i++) {
		assert_true(find_call(world, pods) < world->call_count);
		answer_done(world, find_call(world, pods));
		run_all(world);
	}
	assert_int_equal(world->reconciler.waiting_count, 0);
}

/* All that are asked for are there no Pods of. */
static void answer_gets(struct world *world)
{
	run_all(world);
	for (size_t at = find_call(world, "GET "); at < world->call_count; at = find_call(world, "GET ")) {
		world_answer_absent(world, at, strrchr(world->calls[at].line, '/') + 1);
		run_all(world);
	}
}

/* Few may be on the way at once, and a quota is used up: the lowest Task is asked for before all others whenever the
 * time has come, whichever was refused first, and in between one of the others in its turn. */
static void quota_asked_from_below(void **state)
{
	static const int others[] = {CALLS_MAX + 1, CALLS_MAX + 2, CALLS_MAX + 3};
	const struct kube_answer full = {
		.http_status = 403,
		.retry_after_ms = -1,
		.sent = true,
		.body = "",
		.status = {.reason = "Forbidden", .message = "exceeded quota: q", .is_status = true},
		.message = "exceeded quota: q"};
	struct world *world = *state;

	show_big(world);
	world->lease_ms = INT64_C(1000000);
	for (size_t at = CALLS_MAX; at > 0; at--)
		world_answer_with(world, at - 1, &full);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		answer_gets(world);
		assert_true(find_call(world, pods) == world->call_count);
		world->now_ms += 1000;
		run_all(world);
		assert_only_create(world, 1);
		world_answer_with(world, find_call(world, pods), &full);
		answer_gets(world);
		assert_only_create(world, others[i]);
		world_answer_with(world, find_call(world, pods), &full);
	}
	/* there is place again: from the lowest on */
	answer_gets(world);
	world->now_ms += 1000;
	run_all(world);
	for (int i = 1; i <= BIG; i++) {
		get_to_pods(world);
		assert_creates(world, find_call(world, pods), i);
		answer_done(world, find_call(world, pods));
		run_all(world);
	}
}

static bool draining(const struct world *world)
{
	struct shard_set shards = {0};

	store_draining(&world->reconciler, &shards);
	return shard_set_has(&shards, OTHER_SHARD);
}

static void revoke(struct world *world)
{
	struct shard_set shards = {0};

	shard_set_add(&shards, OTHER_SHARD);
	store_revoked(&world->reconciler, &shards);
}

/* Nothing of a shard that was taken away is on its way, only behind others: it is free at once. */
static void waiting_is_not_draining(void **state)
{
	struct world *world = *state;

	show_big(world);
	show_small(world, 1);
	revoke(world);
	assert_false(draining(world));
	assert_null(world->reconciler.orphans);
	assert_int_equal(world->reconciler.waiting_count, BIG - CALLS_MAX);
}

/* What was sent is waited for, and nothing else. */
static void sent_is_draining(void **state)
{
	struct world *world = *state;
	size_t at;

	show_big(world);
	show_small(world, 5);
	answer_done(world, find_call(world, pods));
	answer_done(world, find_call(world, pods));
	answer_done(world, find_call(world, config_maps));
	run_all(world);
	do { /* until its first Pod is on its way */
		answer_done(world, 0);
		for (at = 0; at < world->call_count && strstr(world->calls[at].body, "\"name\":\"small-a-") == NULL;
		     at++)
			;
	} while (at == world->call_count);
	revoke(world);
	assert_true(draining(world));
	answer_done(world, at);
	assert_false(draining(world));
	assert_null(world->reconciler.orphans);
	while (find_call(world, pods) < world->call_count)
		answer_done(world, find_call(world, pods));
	assert_int_equal(world->reconciler.calls_on_way, 0);
	assert_int_equal(world->reconciler.waiting_count, 0);
}

/* workerNumber is over all reconcilers: we have our part of it, and one at least. */
static void share_of_places(void **state)
{
	struct world *world = *state;
	struct reconciler *reconciler = &world->reconciler;

	apply_set_share(reconciler, 200, 1);
	assert_int_equal(reconciler->calls_max, 200);
	apply_set_share(reconciler, 200, 0.25);
	assert_int_equal(reconciler->calls_max, 50);
	apply_set_share(reconciler, 200, 0);
	assert_int_equal(reconciler->calls_max, 1);
	apply_set_share(reconciler, 3, 0.2);
	assert_int_equal(reconciler->calls_max, 1);
	apply_set_share(reconciler, 200, 5); /* our configuration is another than the watcher's */
	assert_int_equal(reconciler->calls_max, 200);
	apply_set_share(reconciler, INT64_MAX, 1);
	assert_int_equal(reconciler->calls_max, UINT32_MAX);
}

/* A larger part is made use of at once; with a smaller one, nothing is started until there is place again. */
static void share_changes(void **state)
{
	struct world *world = *state;

	show_big(world);
	apply_set_share(&world->reconciler, 2 * CALLS_MAX, 1);
	assert_int_equal(world->call_count, 2 * CALLS_MAX);
	apply_set_share(&world->reconciler, 2 * CALLS_MAX, 0.5);
	assert_int_equal(world->call_count, 2 * CALLS_MAX);
	for (int i = 0; i <= CALLS_MAX; i++)
		answer_done(world, 0);
	assert_int_equal(world->call_count, CALLS_MAX);
}

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

/* ---- statuses that are too large for the server ---- */

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_in_turn, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(order_is_kept, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(failures_stop_the_rest, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(quota_asked_from_below, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(waiting_is_not_draining, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(sent_is_draining, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(share_of_places, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(share_changes, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(conflicts_are_backed_off, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(the_end_writes_what_is_known, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(the_end_waits_for_writes, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(the_end_needs_a_lease, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(refused_bodies_shrink, world_set_up, world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
