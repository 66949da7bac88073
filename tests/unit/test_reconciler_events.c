/* Events about Frameworks: counted up when they repeat themselves, and not lost one behind the other. */
#include "common/base/json.h"
#include "common/base/log.h"
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
	assert_true(world->calls[0].low_priority);
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
	assert_true(world->calls[0].low_priority);
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

static char logged[512];
static int lines;

static void on_log(char severity, const char *message)
{
	assert_int_equal(severity, 'W');
	snprintf(logged, sizeof(logged), "%s", message);
	lines++;
}

/* A missing right that no Event can report. */
static void refused_is_logged(void **state)
{
	struct world *world = *state;

	lines = 0;
	log_set_sink(on_log);
	for (int i = 0; i < 3; i++) {
		post(world, "TaskFailed", i);
		world_answer(world, 0, i == 0 ? 500 : 403, "");
	}
	log_set_sink(NULL);
	assert_int_equal(lines, 1);
	assert_string_equal(logged, "cannot write Events: no");
}

static void count_line(char severity, const char *message)
{
	(void)severity;
	(void)message;
	lines++;
}

static void plan_and_apply(struct item *item, const char *reason, int number)
{
	struct plan plan = {0};

	plan_event(&plan, true, reason, "%d", number);
	apply_plan(item, &plan);
	plan_reset(&plan);
}

/* Thousands of Frameworks that wait for a quota together would fill the log with one line for each try. What happens
 * twice is told twice. */
static void refusals_are_logged_once(void **state)
{
	struct world *world = *state;
	struct item item = {.reconciler = &world->reconciler,
			    .key = (char *)"ns/f",
			    .framework = (struct framework *)&about,
			    .calls_on_way = 1};

	log_set_sink(count_line);
	lines = 0;
	for (int i = 0; i < 3 * ITEM_TOLD; i++) /* several Tasks in turns */
		plan_and_apply(&item, "FailedCreatePod", i % ITEM_TOLD);
	assert_int_equal(lines, ITEM_TOLD);
	world->now_ms += 10 * 60 * 1000; /* it still fails, or again */
	plan_and_apply(&item, "FailedCreatePod", 0);
	assert_int_equal(lines, ITEM_TOLD + 1);
	lines = 0;
	for (int i = 0; i < 3; i++)
		plan_and_apply(&item, "TaskRetried", 1);
	assert_int_equal(lines, 3);
	log_set_sink(NULL);
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

static void answer_all(struct world *world)
{
	while (world->call_count > 0) {
		assert_in_range(world->call_count, 1, PLACES);
		world_answer(world, 0, 201, "{}");
	}
}

/* How a thousand Frameworks end at one moment is told of each of them. (All beyond the 64th were dropped.) */
static void every_outcome_is_told(void **state)
{
	enum { MANY = 1000 };
	struct world *world = *state;

	for (int i = 0; i < MANY; i++) {
		cleanup_free char *name = mem_printf("f%d", i);
		cleanup_free char *uid = mem_printf("u%d", i);
		struct framework framework = {
			.ns = (char *)"ns", .name = name, .uid = uid, .resource_version = (char *)"7"};
		const struct plan_event completed = {false, "FrameworkCompleted", (char *)"code 0"};
		const struct plan_event retried = {false, "FrameworkRetried", (char *)"after code 1"};

		events_post(world->reconciler.events, &framework, &retried);
		events_post(world->reconciler.events, &framework, &completed);
	}
	assert_int_equal(world->call_count, PLACES);
	answer_all(world);
	assert_int_equal(world->requests, 2 * MANY);
	assert_non_null(strstr(world->last, "\"name\":\"f999\""));
	assert_non_null(strstr(world->last, "\"message\":\"code 0\",\"count\":1,"));
}

/* Those of Tasks leave place for those of Frameworks; those that find none become one, with their number and what the
 * last of them said. */
static void similar_ones_are_combined(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < 1000; i++)
		post(world, "TaskFailed", i);
	assert_int_equal(world->call_count, PLACES_LESSER);
	post(world, "AttemptCompleted", 0);
	assert_memory_equal(world->last, "POST ", 5);
	assert_non_null(strstr(world->last, "AttemptCompleted"));
	world_answer(world, PLACES_LESSER, 201, "{}");
	world_answer(world, 0, 201, "{}");
	assert_memory_equal(world->last, "POST ", 5);
	assert_non_null(strstr(world->last, "\"message\":\"(combined from similar events): 999\",\"count\":952,"));
	answer_all(world);
	assert_int_equal(world->requests, PLACES_LESSER + 2);
	/* More of them, when all places are taken again, are counted on the same Event. */
	for (int i = 1000; i < 2000; i++)
		post(world, "TaskFailed", i);
	answer_all(world);
	world->now_ms += 20000;
	events_run(world->reconciler.events);
	assert_memory_equal(world->last, "PATCH ", 6);
	assert_non_null(strstr(world->last, "\"count\":1904,"));
	assert_non_null(strstr(world->last, "\"message\":\"(combined from similar events): 1999\""));
	/* One that waited alone is itself: a repetition is counted on it. */
	answer_all(world);
	for (int i = 0; i < PLACES; i++)
		post(world, "AttemptStarted", i);
	post(world, "FrameworkCompleted", 7);
	post(world, "FrameworkCompleted", 7);
	answer_all(world);
	world->now_ms += 20000;
	post(world, "FrameworkCompleted", 7);
	assert_memory_equal(world->last, "PATCH ", 6);
	assert_non_null(strstr(world->last, "{\"count\":3,"));
	assert_null(strstr(world->last, "combined"));
}

/* What waits is bounded; outcomes take the places of others. */
static void what_waits_is_bounded(void **state)
{
	enum { MANY = 12000, WAITING_MAX = 10000, OUTCOMES = 100 };
	struct world *world = *state;
	int outcomes = 0;

	for (int i = 0; i < MANY + OUTCOMES; i++) {
		cleanup_free char *name = mem_printf("f%d", i);
		struct framework framework = {
			.ns = (char *)"ns", .name = name, .uid = name, .resource_version = (char *)"7"};
		const struct plan_event event = {true, i < MANY ? "TaskFailed" : "FrameworkCompleted", (char *)""};

		events_post(world->reconciler.events, &framework, &event);
	}
	while (world->call_count > 0) {
		outcomes += strstr(world->calls[0].body, "FrameworkCompleted") != NULL;
		world_answer(world, 0, 201, "{}");
	}
	assert_int_equal(outcomes, OUTCOMES);
	assert_int_equal(world->requests, PLACES + WAITING_MAX);
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

/* Kubernetes refuses longer messages, also those that stand for several. */
static void long_ones_are_cut(void **state)
{
	enum { MOST = 1024, LONG = 3 * MOST };
	static const char combined[] = "(combined from similar events): ";
	struct world *world = *state;
	char text[LONG + 1];
	const struct plan_event event = {true, "TaskFailed", text};

	memset(text, 'x', LONG);
	text[LONG] = '\0';
	for (int i = 0; i <= PLACES_LESSER + 1; i++) {
		text[0] = (char)('0' + i);
		events_post(world->reconciler.events, &about, &event);
	}
	world_answer(world, 0, 201, "{}");
	for (size_t i = 0; i < world->call_count; i++) {
		cleanup_json json_t *body = json_parse(world->calls[i].body, strlen(world->calls[i].body), NULL);
		const char *message = json_str(body, "message");

		assert_int_equal(strlen(message), MOST);
		if (i + 1 == world->call_count)
			assert_memory_equal(message, combined, strlen(combined));
	}
}

/* To make room, an Event goes whose count is written. */
static void what_is_owed_is_kept(void **state)
{
	enum { KEPT = 512 };
	struct world *world = *state;

	for (int i = 0; i < KEPT + 10; i++) {
		post(world, "AttemptCompleted", i);
		world_answer(world, 0, 201, "{}");
		if (i == 0)
			post(world, "AttemptCompleted", i);
	}
	assert_int_equal(world->call_count, 0);
	world->now_ms += 20000;
	events_run(world->reconciler.events);
	assert_int_equal(world->call_count, 1);
	assert_memory_equal(world->last, "PATCH ", 6);
	assert_non_null(strstr(world->last, "{\"count\":2,"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(repetitions_are_told, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(refused_is_forgotten, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(refused_is_logged, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(refusals_are_logged_once, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(not_there_yet, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(every_outcome_is_told, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(similar_ones_are_combined, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(what_waits_is_bounded, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(forgotten_on_the_way, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(long_ones_are_cut, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(what_is_owed_is_kept, world_set_up, world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
