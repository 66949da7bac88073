/* What fc-jobs does on copies of jobs and Frameworks that are older than the API server's (jobs/act.c, jobs/change.c).
 */
#include "tests/unit/jobs_server.h"

#define WRONG "{successPolicy: Luck, " WORKERS "}"

static bool lose_post(struct world *world, struct http_conn *conn)
{
	return carry_out_and_lose(world, conn, "POST");
}

/* A Framework is created, the answer is lost, and the watch is late. The job becomes wrong: it goes on all the same, to
 * its end. */
static void test_refused_after_lost_creation(void **state)
{
	struct world *world = *state;

	world->script = lose_post;
	show_job(world, "{" WORKERS "}");
	expect_sent(world, 0, "POST", "/frameworks");
	show_job(world, WRONG);
	assert_non_null(strstr(expect_event(world, "FailedValidation"), "the change has no effect"));
	show_framework(world, "RR");
	assert_string_equal(last_condition(expect_sent(world, 0, "PATCH", "/tfjobs/j/status")), "Running");
}

/* Another process leads, whose watch has not shown the Framework of a job that is wrong meanwhile. */
static void test_refused_with_late_frameworks(void **state)
{
	struct world *world = *state;
	cleanup_json json_t *framework = NULL;
	cleanup_json json_t *status = NULL;

	begin(world, "{}", "{" WORKERS "}");
	settle(world);
	framework = json_incref(world->framework);
	status = json_incref(world->status);
	teardown(state);
	setup(state);
	world = *state;
	world->framework = json_incref(framework);
	world->status = json_deep_copy(status);
	show_job(world, WRONG);
	expect_sent(world, 0, "GET", "/frameworks/j");
	expect_event(world, "FailedValidation");
	settle(world);
	assert_null(find(world, 0, "PATCH", "/tfjobs/j/status"));
}

/* A job that is wrong from the beginning fails; whether it has a Framework is asked once. */
static void test_refused_without_framework(void **state)
{
	struct world *world = *state;

	show_job(world, WRONG);
	assert_string_equal(last_condition(expect_sent(world, 0, "PATCH", "/tfjobs/j/status")), "Failed");
	settle(world);
	assert_string_equal(world->sent[0].method, "GET");
	assert_null(find(world, 1, "GET", "/frameworks/j"));
}

static bool conflict_once(struct world *world, struct http_conn *conn)
{
	if (strcmp(conn->method, "DELETE") != 0)
		return false;
	world->script = NULL;
	http_reply(conn, 409, "", STATUS(409, "Conflict"));
	return true;
}

/* Somebody gives a job that has ended a longer time to live, and the watch is late: the copy's version is a
 * precondition of the deletion. */
static void test_ttl_of_old_copy(void **state)
{
	struct world *world = *state;
	cleanup_json json_t *status = json_pack("{s:[{s:s, s:s}], s:s}", "conditions", "type", "Succeeded", "status",
						"True", "completionTime", "2026-01-01T00:00:00Z");
	cleanup_free char *version = mem_printf("%d", world->version + 1);
	const struct sent *sent;
	size_t from;

	world->script = conflict_once;
	show_job_status(world, JOB_TFJOB, "uid-j", "{}", "{runPolicy: {ttlSecondsAfterFinished: 1}, " WORKERS "}",
			status);
	sent = expect_sent(world, 0, "DELETE", "/tfjobs/j");
	assert_string_equal(json_str(json_object_get(sent->body, "preconditions"), "resourceVersion"), version);
	from = (size_t)(sent - world->sent) + 1;
	expect_sent(world, from, "DELETE", "/tfjobs/j");
	assert_false(has_event(world, "FailedDelete"));
}

/* A job that nobody wants to look at goes as soon as it has ended. */
static void test_ttl_of_nothing(void **state)
{
	struct world *world = *state;
	cleanup_json json_t *status = json_pack("{s:[{s:s, s:s}], s:s}", "conditions", "type", "Succeeded", "status",
						"True", "completionTime", "2026-01-01T00:00:00Z");

	show_job_status(world, JOB_TFJOB, "uid-j", "{}", "{runPolicy: {ttlSecondsAfterFinished: 0}, " WORKERS "}",
			status);
	expect_sent(world, 0, "DELETE", "/tfjobs/j");
}

#define SUSPENDED "{runPolicy: {suspend: true}, " WORKERS "}"

/* Another process leads, whose watch of jobs is late: it has the version from before the job was resumed. Its Framework
 * runs on. A later version of the job is followed again. */
static void test_suspended_by_old_copy(void **state)
{
	struct world *world = *state;
	cleanup_json json_t *framework = NULL;
	size_t from;

	world->generation = 1;
	show_job(world, SUSPENDED);
	expect_sent(world, 0, "POST", "/frameworks");
	show_framework(world, "");
	settle(world);
	world->generation = 2;
	show_job(world, "{" WORKERS "}");
	expect_sent(world, 0, "PATCH", "/frameworks/j");
	settle(world);
	assert_true(json_is_false(stored_member(world, "suspend")));
	framework = json_incref(world->framework);
	teardown(state);
	setup(state);
	world = *state;
	world->framework = json_incref(framework);
	show_framework(world, "RR");
	world->generation = 1;
	show_job(world, SUSPENDED);
	settle(world);
	assert_int_equal(world->count, 0);
	world->generation = 2;
	show_job(world, "{" WORKERS "}");
	assert_string_equal(last_condition(expect_sent(world, 0, "PATCH", "/tfjobs/j/status")), "Running");
	from = world->count;
	world->generation = 3;
	show_job(world, SUSPENDED);
	expect_sent(world, from, "PATCH", "/frameworks/j");
}

static bool newer_job(struct world *world, struct http_conn *conn)
{
	(void)world;
	if (strcmp(conn->method, "GET") != 0 || strstr(conn->path, "/tfjobs/j") == NULL)
		return false;
	http_reply(
		conn, 200, "",
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"j\",\"uid\":\"uid-j\",\"resourceVersion\":\"5000\"}}");
	return true;
}

/* The Framework of a job is gone, and the API server has a later version of the job. Nothing is made from the old one;
 * the later one begins anew when the watch shows it. */
static void test_begins_anew_from_old_copy(void **state)
{
	struct world *world = *state;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	settle(world);
	from = world->count;
	world->script = newer_job;
	framework_goes(world);
	expect_sent(world, from, "GET", "/tfjobs/j");
	settle(world);
	assert_int_equal(world->count, from + 1);
	world->version = 4999;
	show_job(world, SUSPENDED);
	assert_true(json_is_true(
		json_path(expect_sent(world, from, "POST", "/frameworks")->body, "spec", "suspend", NULL)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused_after_lost_creation, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_with_late_frameworks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_without_framework, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ttl_of_old_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ttl_of_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_suspended_by_old_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_begins_anew_from_old_copy, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
