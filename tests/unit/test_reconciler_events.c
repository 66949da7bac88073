/* Events about Frameworks: counted up when they repeat themselves, and not lost one behind the other. */
#include "tests/unit/reconciler_world.h"

/* What repeats itself too quickly to be written each time is counted, and the count written in the end, with the time
 * of the last repetition. */
static void repetitions_are_told(void **state)
{
	struct world *world = *state;
	struct plan_event event = {true, "FailedCreatePod", "no"};
	struct framework framework = {
		.ns = (char *)"ns", .name = (char *)"f", .uid = (char *)"u1", .resource_version = (char *)"7"};
	struct events *events = world->reconciler.events;

	assert_true(events_run(events) == INT64_MAX);
	events_post(events, &framework, &event);
	assert_memory_equal(world->last, "POST /api/v1/namespaces/ns/events ", 34);
	world->now_ms += 1000;
	events_post(events, &framework, &event);
	world->now_ms += 2000;
	events_post(events, &framework, &event);
	assert_int_equal(world->requests, 1);
	assert_int_equal(events_run(events), 11000);
	world->now_ms = 11000;
	assert_true(events_run(events) == INT64_MAX);
	assert_int_equal(world->requests, 2);
	assert_memory_equal(world->last, "PATCH /api/v1/namespaces/ns/events/f.", 37);
	assert_non_null(strstr(world->last, "{\"count\":3,\"lastTimestamp\":\"2023-11-14T22:13:24Z\"}"));
	/* Later than that it is written at once, and nothing is owed. */
	world->now_ms += 20000;
	events_post(events, &framework, &event);
	assert_non_null(strstr(world->last, "{\"count\":4,"));
	assert_true(events_run(events) == INT64_MAX);
	assert_int_equal(world->requests, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(repetitions_are_told, world_set_up, world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
