/* Jobs and Frameworks that are gone, when one watch tells of it later than the other, and when a list does not show
 * them (jobs/act.c, jobs/store.c). */
#include "tests/unit/jobs_server.h"

static bool job_absent(struct world *world, struct http_conn *conn)
{
	(void)world;
	if (strcmp(conn->method, "GET") != 0)
		return false;
	http_reply(
		conn, 404, "",
		"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"NotFound\",\"code\":404,\"message\":\"gone\","
		"\"details\":{\"name\":\"j\",\"group\":\"kubeflow.org\",\"kind\":\"tfjobs\"}}");
	return true;
}

static bool job_replaced(struct world *world, struct http_conn *conn)
{
	(void)world;
	if (strcmp(conn->method, "GET") != 0)
		return false;
	answer_job(conn, "uid-next", "");
	return true;
}

static bool job_terminates(struct world *world, struct http_conn *conn)
{
	(void)world;
	if (strcmp(conn->method, "GET") != 0)
		return false;
	answer_job(conn, "uid-j", ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"");
	return true;
}

static bool busy_once(struct world *world, struct http_conn *conn)
{
	if (strcmp(conn->method, "GET") != 0)
		return false;
	world->script = NULL;
	http_reply(conn, 503, "", "");
	return true;
}

/* The job is deleted, and the garbage collector deletes its Framework, before the watch of jobs tells of it. */
static void assert_not_created(struct world *world, bool (*script)(struct world *world, struct http_conn *conn))
{
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	from = world->count;
	world->script = script;
	framework_goes(world);
	expect_sent(world, from, "GET", "/tfjobs/j");
	settle(world);
	assert_null(find(world, from, "POST", "/frameworks"));
	assert_int_equal(world->count, from + 1);
}

static void test_job_absent(void **state)
{
	assert_not_created(*state, job_absent);
}

static void test_job_replaced(void **state)
{
	struct world *world = *state;
	const struct sent *sent;

	assert_not_created(world, job_replaced);
	show_job_status(world, JOB_TFJOB, "uid-next", "{}", "{" WORKERS "}", NULL);
	sent = expect_sent(world, 0, "POST", "/frameworks");
	sent = expect_sent(world, (size_t)(sent - world->sent) + 1, "POST", "/frameworks");
	assert_string_equal(
		json_str(json_array_get(json_path(sent->body, "metadata", "ownerReferences", NULL), 0), "uid"),
		"uid-next");
}

static void test_job_terminates(void **state)
{
	assert_not_created(*state, job_terminates);
}

/* Whether the job is there is asked until it is known, and then it begins anew, each time. */
static void test_job_there(void **state)
{
	struct world *world = *state;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	world->script = busy_once;
	for (int i = 0; i < 2; i++) {
		from = world->count;
		framework_goes(world);
		expect_sent(world, from, "GET", "/tfjobs/j");
		expect_sent(world, from, "POST", "/frameworks");
		settle(world);
	}
}

/* News of a job that are read while a list is under way do not make the list show it. */
static void test_news_while_listing(void **state)
{
	struct world *world = *state;

	job_store_jobs_begin(world->store, JOB_TFJOB);
	show_job(world, "{" WORKERS "}");
	job_store_jobs_end(world->store, JOB_TFJOB);
	show_job(world, "{successPolicy: AllWorkers, " WORKERS "}");
	job_store_jobs_begin(world->store, JOB_TFJOB);
	assert_non_null(job_store_next(world->store));
	job_store_jobs_end(world->store, JOB_TFJOB);
	assert_int_equal(job_store_count(world->store, JOB_TFJOB), 0);
}

/* Nor does the answer to a write. */
static void test_answer_while_listing(void **state)
{
	static const char text[] = "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"j\",\"uid\":\"uid-j\","
				   "\"resourceVersion\":\"2000\"},\"spec\":{}}";
	struct world *world = *state;
	struct item *item;

	job_store_jobs_begin(world->store, JOB_CAICLOUD_TFJOB);
	show_job_status(world, JOB_CAICLOUD_TFJOB, "uid-j", "{}", "{}", NULL);
	job_store_jobs_end(world->store, JOB_CAICLOUD_TFJOB);
	item = job_store_next(world->store);
	job_store_jobs_begin(world->store, JOB_CAICLOUD_TFJOB);
	job_store_answered(item, text, strlen(text));
	assert_ptr_equal(job_store_next(world->store), item);
	assert_string_equal(item->job.version, "2000");
	job_store_jobs_end(world->store, JOB_CAICLOUD_TFJOB);
	assert_int_equal(job_store_count(world->store, JOB_CAICLOUD_TFJOB), 0);
}

static void take_framework(struct world *world, int version, enum job_store_source source)
{
	cleanup_free char *text = mem_printf("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"j\",\"uid\":\"uid-f\","
					     "\"resourceVersion\":\"%d\"}}",
					     version);
	struct error err;

	if (job_store_framework(world->store, &(struct reflector_object){.data = text, .len = strlen(text)}, source,
				&err) < 0)
		fail_msg("%s", err.message);
}

/* The answer to a write of a Framework comes while a list is under way that does not show it: it is gone, unless the
 * answer is newer than the list. */
static void test_framework_answer_while_listing(void **state)
{
	static const struct {
		int version;
		bool gone;
	} rows[] = {{12, true}, {21, false}};
	struct world *world = *state;
	struct slot *slot;

	show_job(world, "{" WORKERS "}");
	slot = job_store_next(world->store)->slot;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		take_framework(world, 10, JOB_STORE_WATCHED);
		job_store_frameworks_begin(world->store);
		take_framework(world, rows[i].version, JOB_STORE_METADATA);
		job_store_frameworks_end(world->store, "20");
		assert_true((slot->view == NULL) == rows[i].gone);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_job_absent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_job_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_job_terminates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_job_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_news_while_listing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_answer_while_listing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_framework_answer_while_listing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
