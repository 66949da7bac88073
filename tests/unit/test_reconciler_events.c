/* Events about Frameworks: counted up when they repeat themselves, and not lost one behind the other. */
#include "tests/unit/reconciler_world.h"

enum { PLACES = 64, PLACES_LESSER = 48 };

static const struct framework about = {
	.ns = (char *)"ns", .name = (char *)"f", .uid = (char *)"u1", .resource_version = (char *)"7"};

/* What repeats itself too quickly to be written each time is counted, and the count written in the end, with the time
 * of the last repetition. */
static void repetitions_are_told(void **state)
{
	struct world *world = *state;
	struct plan_event event = {true, "FailedCreatePod", "no"};
	struct events *events = world->reconciler.events;

	assert_true(events_run(events) == INT64_MAX);
	events_post(events, &about, &event);
	assert_memory_equal(world->last, "POST /api/v1/namespaces/ns/events ", 34);
	world_answer(world, 0, 201, "{}");
	world->now_ms += 1000;
	events_post(events, &about, &event);
	world->now_ms += 2000;
	events_post(events, &about, &event);
	assert_int_equal(world->requests, 1);
	assert_int_equal(events_run(events), 11000);
	world->now_ms = 11000;
	assert_true(events_run(events) == INT64_MAX);
	assert_int_equal(world->requests, 2);
	assert_memory_equal(world->last, "PATCH /api/v1/namespaces/ns/events/f.", 37);
	assert_non_null(strstr(world->last, "{\"count\":3,\"lastTimestamp\":\"2023-11-14T22:13:24Z\"}"));
	world_answer(world, 0, 200, "{}");
	/* Later than that it is written at once, and nothing is owed. */
	world->now_ms += 20000;
	events_post(events, &about, &event);
	assert_non_null(strstr(world->last, "{\"count\":4,"));
	assert_true(events_run(events) == INT64_MAX);
	assert_int_equal(world->requests, 3);
}

static void post(struct world *world, const char *reason, int number)
{
	cleanup_free char *message = mem_printf("%d", number);
	const struct plan_event event = {true, reason, message};

	events_post(world->reconciler.events, &about, &event);
}

/* A repetition makes the Event that the server did not take. (It patched one that was not there.) */
static void refused_is_forgotten(void **state)
{
	struct world *world = *state;

	post(world, "TaskFailed", 1);
	world_answer(world, 0, 403, "");
	world->now_ms += 20000;
	post(world, "TaskFailed", 1);
	assert_memory_equal(world->last, "POST ", 5);
	assert_non_null(strstr(world->last, "\"count\":1,"));
	/* Nor is one counted up that is not there any more. */
	world_answer(world, 0, 201, "{}");
	world->now_ms += 20000;
	post(world, "TaskFailed", 1);
	assert_memory_equal(world->last, "PATCH ", 6);
	world_answer(world, 0, 404, "default backend - 404"); /* nobody says so */
	world->now_ms += 20000;
	post(world, "TaskFailed", 1);
	assert_memory_equal(world->last, "PATCH ", 6);
	world_answer_absent(world, 0, strrchr(world->calls[0].line, '/') + 1);
	world->now_ms += 20000;
	post(world, "TaskFailed", 1);
	assert_memory_equal(world->last, "POST ", 5);
}

/* Before it is there, it is not counted up; its count is owed. */
static void not_there_yet(void **state)
{
	struct world *world = *state;
	struct events *events = world->reconciler.events;

	post(world, "TaskFailed", 1);
	world->now_ms += 20000;
	post(world, "TaskFailed", 1);
	assert_int_equal(world->requests, 1);
	assert_int_equal(events_run(events), world->now_ms + 10000);
	world_answer(world, 0, 201, "{}");
	world->now_ms += 10000;
	assert_true(events_run(events) == INT64_MAX);
	assert_memory_equal(world->last, "PATCH ", 6);
	assert_non_null(strstr(world->last, "{\"count\":2,"));
}

/* Those of Tasks leave place for those of Frameworks; what found none is posted when it repeats itself. */
static void dropped_is_forgotten(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < 1000; i++)
		post(world, "TaskFailed", i);
	assert_int_equal(world->call_count, PLACES_LESSER);
	post(world, "AttemptCompleted", 0);
	assert_memory_equal(world->last, "POST ", 5);
	assert_non_null(strstr(world->last, "AttemptCompleted"));
	post(world, "FrameworkCompleted", 0);
	assert_non_null(strstr(world->last, "FrameworkCompleted"));
	for (int i = 1; i < 1000; i++)
		post(world, "AttemptCompleted", i);
	assert_int_equal(world->call_count, PLACES);
	while (world->call_count > 0)
		world_answer(world, 0, 201, "{}");
	world->now_ms += 20000;
	post(world, "TaskFailed", 999);
	assert_memory_equal(world->last, "POST ", 5);
	post(world, "TaskFailed", 0);
	assert_memory_equal(world->last, "PATCH ", 6);
}

/* What is on the way outlives what is kept of it: so many other Events come that it is forgotten. */
static void forgotten_on_the_way(void **state)
{
	struct world *world = *state;

	post(world, "AttemptCompleted", 0);
	for (int i = 0; i < 1000; i++) {
		post(world, "TaskFailed", i);
		world_answer(world, 1, 201, "{}");
	}
	world_answer(world, 0, 500, "");
	assert_int_equal(world->call_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(repetitions_are_told, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(refused_is_forgotten, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(not_there_yet, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(dropped_is_forgotten, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(forgotten_on_the_way, world_set_up, world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
