/* Calls that wait for a place: every Framework has its turn, and what is given away waits no longer. */
#include "tests/unit/reconciler_calls.h"

static const char config_maps[] = "POST /api/v1/namespaces/ns/configmaps";

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

/* Answers Pods of the first Framework until the other one's call is on its way; says how many. */
static int answer_until(struct world *world, const char *line)
{
	int answered = 0;

	while (find_call(world, line) == world->call_count) {
		answer_done(world, 0);
		answered++;
	}
	return answered;
}

/* The other Framework's call waits for the rest of the first one's turn: a ConfigMap and 31 Pods. */
static void each_in_turn(void **state)
{
	struct world *world = *state;

	show_big(world);
	show_small(world, 1);
	assert_int_equal(answer_until(world, config_maps), 32 - 2 - CALLS_MAX + 1);
	assert_int_equal(world->reconciler.calls_on_way, CALLS_MAX);
}

/* A turn goes on with the calls that answers lead to: the ConfigMap's with the first Pod, that one's with the others.
 */
static void turn_goes_on(void **state)
{
	struct world *world = *state;

	show_big(world);
	show_small(world, 5);
	answer_until(world, config_maps);
	answer_done(world, find_call(world, config_maps));
	run_all(world);
	answer_done(world, 0);
	assert_non_null(strstr(world->calls[world->call_count - 1].body, "\"name\":\"small-a-0\""));
	answer_done(world, world->call_count - 1);
	run_all(world);
	for (int i = 0; i < 4; i++) {
		answer_done(world, 0);
		assert_non_null(strstr(world->calls[world->call_count - 1].body, "\"name\":\"small-a-"));
	}
	answer_done(world, 0);
	assert_non_null(strstr(world->calls[world->call_count - 1].body, "\"name\":\"big-a-"));
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

/* A Framework that wants nothing more ends its turn: what it wants later waits behind those that came before. */
static void turn_ends(void **state)
{
	struct world *world = *state;
	struct item *item;

	show_big(world);
	show_small(world, 1);
	answer_until(world, config_maps);
	answer_done(world, find_call(world, config_maps));
	run_all(world);
	while (world->call_count > 0)
		answer_done(world, 0);
	HASH_FIND_STR(world->reconciler.items, "ns/small", item);
	assert_non_null(item);
	assert_true(item->turn_calls > 0);
	run_all(world);
	assert_int_equal(item->turn_calls, 0);
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
	assert_null(waiting_next(&world->reconciler));
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
	answer_until(world, config_maps);
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

/* Those whose calls fail wait behind the others, and have their turns all the same. (Three thousand of them, for want
 * of quota, kept out all others for ever.) */
static void failing_ones_go_behind(void **state)
{
	static const char *const names[] = {"bad0", "bad1", "bad2", "f3", "f4", "f5", "f6"};
	static const char *const turns[] = {"bad0", "f3", "f4", "f5", "bad1", "f6", "bad2"};
	struct world *world = *state;
	struct reconciler *reconciler = &world->reconciler;

	world->lease_ms = 5000;
	reconciler->calls_max = 0;
	world_grant(world, SHARD);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct item *item;
		cleanup_free char *key = mem_printf("ns/%s", names[i]);

		show_framework(world, names[i], SHARD, 1);
		run_all(world);
		HASH_FIND_STR(reconciler->items, key, item);
		item->framework->creates.failures = strncmp(names[i], "bad", 3) == 0;
		answer_done(world, 0);
		run_all(world);
	}
	assert_int_equal(reconciler->waiting_count, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(turns); i++) {
		struct item *item = waiting_next(reconciler);
		struct pending_call *pending = waiting_take(item);

		waiting_started(item);
		assert_string_equal(item->framework->name, turns[i]);
		pending_call_free(pending);
		item->calls_on_way--;
	}
}

/* A refused creation is repeated: that is another turn, or the refused go before all others for as long as they are
 * refused. */
static void failure_ends_the_turn(void **state)
{
	struct world *world = *state;
	struct item *item;

	show_big(world);
	HASH_FIND_STR(world->reconciler.items, "ns/big", item);
	assert_true(item->turn_calls > 0);
	assert_ptr_equal(waiting_next(&world->reconciler), item);
	world_answer(world, find_call(world, pods), 500, "");
	assert_int_equal(item->turn_calls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_in_turn, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(turn_goes_on, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(turn_ends, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(order_is_kept, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(failures_stop_the_rest, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(quota_asked_from_below, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(waiting_is_not_draining, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(sent_is_draining, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(share_of_places, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(share_changes, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(failing_ones_go_behind, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(failure_ends_the_turn, world_set_up, world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
