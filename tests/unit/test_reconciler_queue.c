/* The reconciler's shell around a lease that comes and goes: reconciles run only under one. */
#include "common/base/json.h"
#include "tests/unit/reconciler_world.h"

/* As the client does it: the hook is asked when the request is about to go; here none is ever answered but refused. */
static void send_all(struct world *world)
{
	size_t count = world->call_count;
	struct kube_answer refused = {
		.failure = KUBE_REFUSED, .body = "", .status = {.reason = "", .message = ""}, .message = ""};

	while (count-- > 0) {
		int64_t timeout_ms = 1000;

		assert_false(world->calls[0].before_send(world->calls[0].arg, &timeout_ms));
		world_answer_with(world, 0, &refused);
	}
}

/* A Framework in namespace ns, shown by a watcher that looks after `watched`. */
static void show_framework_in(struct world *world, const char *watched)
{
	static const char text[] = "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"f\",\"uid\":\"u1\","
				   "\"resourceVersion\":\"7\",\"generation\":1},\"spec\":{\"executionType\":\"Start\","
				   "\"taskRoles\":[]}}";
	struct bus_scope scope = {.ns = (char *)watched, .resource_version = {(char *)"8", (char *)"8", (char *)"8"}};
	struct bus_snapshot_end end = {.scopes = &scope, .scope_count = 1};
	struct shard_set fresh = {0};

	shard_set_add(&fresh, SHARD);
	end.shards = fresh;
	store_granted(&world->reconciler, &fresh);
	assert_true(store_text(&world->reconciler, KIND_FRAMEWORK, SHARD, text, sizeof(text) - 1));
	store_complete(&world->reconciler, &end);
}

static void show_framework(struct world *world)
{
	show_framework_in(world, "");
}

/* Granted shards have no lease before the first answer to a ping: writes that are refused at the door one after the
 * other, as quickly as the loop can, bring nothing forward. */
static void no_lease_no_reconciles(void **state)
{
	struct world *world = *state;

	show_framework(world);
	for (int i = 0; i < 100; i++) {
		run_all(world);
		send_all(world);
	}
	assert_in_range(world->requests, 0, 1);
	world->lease_ms = 5000;
	run_all(world);
	assert_int_equal(world->call_count, 1);
}

/* A lease that ends between the reconcile and its write: the key waits for the next one. */
static void lease_ends_before_the_write(void **state)
{
	struct world *world = *state;

	world->lease_ms = 5000;
	show_framework(world);
	run_all(world);
	assert_int_equal(world->call_count, 1);
	world->lease_ms = 0;
	for (int i = 0; i < 100; i++) {
		send_all(world);
		run_all(world);
	}
	assert_int_equal(world->requests, 1);
	world->lease_ms = 5000;
	run_all(world);
	assert_int_equal(world->requests, 2);
}

/* What was put aside for want of a lease goes with its shard; the shard's next snapshot brings it back. */
static void revoked_while_waiting(void **state)
{
	struct world *world = *state;
	struct shard_set shards = {0};

	shard_set_add(&shards, SHARD);
	show_framework(world);
	run_all(world);
	send_all(world);
	store_revoked(&world->reconciler, &shards);
	world->lease_ms = 5000;
	run_all(world);
	assert_int_equal(world->call_count, 0);
	show_framework(world);
	run_all(world);
	assert_int_equal(world->call_count, 1);
}

/* A watcher that looks after fewer namespaces than the one before: what it does not watch is left alone. */
static void namespace_no_longer_watched(void **state)
{
	struct world *world = *state;

	world->lease_ms = 5000;
	show_framework_in(world, "other");
	run_all(world);
	assert_int_equal(world->call_count, 0);
	assert_null(world->reconciler.items);
	assert_null(world->reconciler.orphans);
	show_framework_in(world, "ns");
	run_all(world);
	assert_int_equal(world->call_count, 1);
}

/* Another Framework of the name is there. */
static void show_namesake(struct world *world, const char *uid, const char *version)
{
	cleanup_free char *text = mem_printf(
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"f\",\"uid\":\"%s\","
		"\"resourceVersion\":\"%s\",\"generation\":1},\"spec\":{\"executionType\":\"Start\","
		"\"taskRoles\":[]}}",
		uid, version);

	assert_true(store_text(&world->reconciler, KIND_FRAMEWORK, SHARD, text, strlen(text)));
}

static void show_absent(struct world *world, const char *uid, const char *version)
{
	const struct bus_absent absent = {.ns = (char *)"ns",
					  .framework_name = (char *)"f",
					  .name = (char *)"f",
					  .uid = (char *)uid,
					  .resource_version = (char *)version};

	store_absent(&world->reconciler, KIND_FRAMEWORK, SHARD, &absent);
}

/* The only call that is on its way is answered so. */
static void answer(struct world *world, int http_status, int64_t retry_after_ms)
{
	const struct kube_answer answer = {.http_status = http_status,
					   .retry_after_ms = retry_after_ms,
					   .sent = true,
					   .body = "",
					   .status = {.reason = "", .message = "no"},
					   .message = "no"};

	assert_int_equal(world->call_count, 1);
	world_answer_with(world, 0, &answer);
}

/* Retry-After outlives the Framework whose write was answered so: a namesake is another object for the same server.
 * When it is over, nothing is kept. (It was forgotten with the Framework; simulator seeds 23659, 34970.) */
static void asked_to_wait(void **state)
{
	struct world *world = *state;

	world->lease_ms = 5000;
	show_framework(world);
	run_all(world);
	answer(world, 429, 10000);
	show_absent(world, "u1", "8");
	run_all(world);
	show_namesake(world, "u2", "9");
	world->now_ms += 9999;
	run_all(world);
	assert_int_equal(world->call_count, 0);
	show_absent(world, "u2", "10");
	assert_non_null(world->reconciler.items);
	world->now_ms += 1;
	run_all(world);
	assert_null(world->reconciler.items);
}

/* A write failed, and it is being read what became of it, when the Framework goes and a namesake comes: that the first
 * is not there is no news of the second. (That one was forgotten; simulator seed 99018.) */
static void not_found_of_the_former(void **state)
{
	struct world *world = *state;

	world->lease_ms = 5000;
	show_framework(world);
	run_all(world);
	answer(world, 504, -1);
	world->now_ms += 1000;
	run_all(world);
	show_absent(world, "u1", "8");
	show_namesake(world, "u2", "9");
	world_answer_absent(world, 0, "f");
	world->now_ms += 1000;
	run_all(world);
	assert_int_equal(world->call_count, 1);
	assert_string_equal(world->reconciler.items->framework->uid, "u2");
}

/* Of several that had the name one after the other, the end of the last is told, and no uid: that is older than the
 * namesake that a GET has shown. (It was forgotten, and never seen again.) */
static void absence_of_former_ones(void **state)
{
	struct world *world = *state;
	struct framework *framework;

	world->lease_ms = 5000;
	show_framework(world);
	framework = world->reconciler.items->framework;
	show_namesake(world, "u3", "20");
	show_absent(world, "", "15");
	assert_true(framework->exists);
	assert_string_equal(framework->uid, "u3");
	/* the first one's end was told by a list that shows the last: it is not the last one's */
	show_absent(world, "", "20");
	assert_true(framework->exists);
	show_absent(world, "", "25");
	assert_null(world->reconciler.items);
}

/* A 404 that is not the API server's word forgets no Framework. */
static void not_found_of_anybody(void **state)
{
	static const char *const bodies[] = {"default backend - 404", "404 page not found\n", "",
					     "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{}}"};
	struct world *world = *state;

	world->lease_ms = 5000;
	show_framework(world);
	run_all(world);
	for (size_t i = 0; i < 2 * ARRAY_LEN(bodies); i++) { /* the write, and then reads */
		assert_int_equal(world->call_count, 1);
		assert_memory_equal(world->calls[0].line, i == 0 ? "PUT" : "GET", 3);
		world_answer(world, 0, 404, bodies[i % ARRAY_LEN(bodies)]);
		run_all(world);
		assert_int_equal(world->call_count, 0); /* not at once */
		world->now_ms += 60000;
		run_all(world);
		assert_true(world->reconciler.items->framework->exists);
	}
	world_answer_absent(world, 0, "f");
	run_all(world);
	assert_null(world->reconciler.items);
}

/* A watch that lags behind shows namesakes of before, when a GET has shown the present one already: its status would be
 * forgotten, and begun anew. */
static void former_namesakes(void **state)
{
	struct world *world = *state;

	show_framework(world);
	show_namesake(world, "u0", "5");
	assert_string_equal(world->reconciler.items->framework->uid, "u1");
	show_absent(world, "u0", "6");
	assert_true(world->reconciler.items->framework->exists);
	show_namesake(world, "u2", "9");
	assert_string_equal(world->reconciler.items->framework->uid, "u2");
}

/* A list of a replica that lags shows who had a name before one that is known to be gone: it is gone, too, when the
 * other one's end is told. (It was kept, and its Framework's key with it; simulator seed 3184644.) */
static void former_of_the_gone(void **state)
{
	const struct bus_absent absent = {.ns = (char *)"ns",
					  .framework_name = (char *)"f",
					  .name = (char *)"f-a-0",
					  .uid = (char *)"p2",
					  .resource_version = (char *)"120"};
	const char *pod = "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"f-a-0\",\"uid\":\"p1\","
			  "\"resourceVersion\":\"100\",\"labels\":{\"FC_FRAMEWORK_NAME\":\"f\"}}}";
	struct world *world = *state;

	show_framework(world);
	assert_true(store_text(&world->reconciler, KIND_POD, SHARD, pod, strlen(pod)));
	store_absent(&world->reconciler, KIND_POD, SHARD, &absent);
	assert_null(world->reconciler.items->framework->slots->meta);
	show_absent(world, "u2", "200");
	assert_null(world->reconciler.items);
}

/* A Framework of thousands of Tasks is deleted in the background, and its Pods go one by one, long after it: places
 * that were kept until the last had gone were passed over for each that went. */
static void pods_that_outlive_it(void **state)
{
	enum { PODS = 20 };
	struct world *world = *state;

	world->lease_ms = 5000;
	show_framework(world);
	for (int i = 0; i < PODS; i++) {
		cleanup_free char *text = mem_printf(
			"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"f-a-%d\",\"uid\":\"p%d\",\"resourceVersion\":"
			"\"%d\",\"labels\":{\"FC_FRAMEWORK_NAME\":\"f\"}}}",
			i, i, 100 + i);

		assert_true(store_text(&world->reconciler, KIND_POD, SHARD, text, strlen(text)));
	}
	show_absent(world, "u1", "200");
	for (int i = 0; i < PODS; i++) {
		cleanup_free char *name = mem_printf("f-a-%d", i);
		cleanup_free char *uid = mem_printf("p%d", i);
		cleanup_free char *version = mem_printf("%d", 300 + i);
		const struct bus_absent absent = {.ns = (char *)"ns",
						  .framework_name = (char *)"f",
						  .name = name,
						  .uid = uid,
						  .resource_version = version,
						  .deleting = true};

		assert_int_equal(HASH_COUNT(world->reconciler.items->framework->slots), PODS - i);
		store_absent(&world->reconciler, KIND_POD, SHARD, &absent);
		run_all(world);
	}
	assert_null(world->reconciler.items);
}

/* What is not newer than what is known is not read any further: nobody notices what else it has. What is newer is. */
static void known_versions(void **state)
{
	static const char *const versions[] = {"9", "10", "11"};
	struct world *world = *state;

	world_grant(world, SHARD);
	show_namesake(world, "u", "10");
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		cleanup_free char *text = mem_printf("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"f\",\"uid\":\"u\","
						     "\"resourceVersion\":\"%s\"},\"spec\":?",
						     versions[i]);

		assert_int_equal(store_text(&world->reconciler, KIND_FRAMEWORK, SHARD, text, strlen(text)), i < 2);
	}
}

/* A snapshot that is older than what was met long ago shows a restored store; one that lags a little does not. */
static void store_restored(void **state)
{
	struct world *world = *state;
	struct bus_scope scopes[2] = {
		{.ns = (char *)"a", .resource_version = {(char *)"6", (char *)"9", (char *)"9"}},
		{.ns = (char *)"ns", .resource_version = {(char *)"6", (char *)"9", (char *)"9"}},
	};
	struct bus_snapshot_end end = {.scopes = scopes, .scope_count = 2};
	const char *found;
	const char *known;

	assert_false(store_went_back(&world->reconciler, &end, &found, &known));
	show_framework(world);
	assert_false(store_went_back(&world->reconciler, &end, &found, &known));
	world->now_ms += VERSION_SETTLED_MS;
	assert_true(store_went_back(&world->reconciler, &end, &found, &known));
	assert_string_equal(found, "6");
	assert_string_equal(known, "7");
	scopes[1].resource_version[KIND_FRAMEWORK] = (char *)"7";
	assert_false(store_went_back(&world->reconciler, &end, &found, &known));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_lease_no_reconciles, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(lease_ends_before_the_write, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(revoked_while_waiting, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(namespace_no_longer_watched, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(asked_to_wait, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(not_found_of_the_former, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(absence_of_former_ones, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(not_found_of_anybody, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(former_namesakes, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(former_of_the_gone, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(pods_that_outlive_it, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(known_versions, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(store_restored, world_set_up, world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
