/* What fc-jobs does for jobs that change, and for names that others have (jobs/act.c). */
#include "tests/unit/jobs_server.h"

/* A change that is refused is told, and the job goes on as it was, to its end: by default the first Worker
 * decides. Its Framework is stopped, and then the job has succeeded. */
static void expect_goes_on(struct world *world, size_t from)
{
	const json_t *patch;

	assert_non_null(strstr(expect_event(world, "FailedValidation"), "spec.successPolicy is \"Luck\""));
	patch = expect_sent(world, from, "PATCH", "/frameworks/j")->body;
	assert_string_equal(json_str(json_object_get(patch, "spec"), "executionType"), "Stop");
	assert_int_equal(json_object_size(json_object_get(patch, "spec")), 1);
	assert_int_equal(json_object_size(json_path(patch, "metadata", "labels", NULL)), 1);
	assert_string_equal(last_condition(expect_sent(world, from, "PATCH", "/tfjobs/j/status")), "Succeeded");
	assert_int_equal(world->act.counters.refused, 1);
}

static void test_refused_change(void **state)
{
	struct world *world = *state;
	size_t from;

	begin(world, "{team: a}", "{" WORKERS "}");
	from = world->count;
	show_job(world, "{successPolicy: Luck, " WORKERS "}");
	settle(world);
	show_framework(world, "SR");
	expect_goes_on(world, from);
}

static bool suspension_sent(struct world *world, size_t from)
{
	const json_t *spec = json_object_get(expect_sent(world, from, "PATCH", "/frameworks/j")->body, "spec");

	assert_int_equal(json_object_size(spec), 1);
	assert_true(json_is_boolean(json_object_get(spec, "suspend")));
	return json_bool(spec, "suspend", false);
}

/* A job whose spec is refused is suspended all the same, and resumed, also when its spec is that of its Framework
 * again. */
static void test_refused_suspended(void **state)
{
	static const char
		*const suspended = "{runPolicy: {suspend: true, schedulingPolicy: {minAvailable: 2}}, " WORKERS "}";
	struct world *world = *state;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	from = world->count;
	show_job(world, suspended);
	assert_true(suspension_sent(world, from));
	settle(world);
	from = world->count;
	show_job(world, "{runPolicy: {suspend: false, schedulingPolicy: {minAvailable: 2}}, " WORKERS "}");
	assert_false(suspension_sent(world, from));
	settle(world);
	from = world->count;
	show_job(world, suspended);
	assert_true(suspension_sent(world, from));
	settle(world);
	from = world->count;
	show_job(world, "{" WORKERS "}");
	assert_false(suspension_sent(world, from));
}

/* A change that is refused again is told again. */
static void test_refused_again(void **state)
{
	struct world *world = *state;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	show_job(world, "{successPolicy: Luck, " WORKERS "}");
	expect_event(world, "FailedValidation");
	show_job(world, "{" WORKERS "}");
	settle(world);
	job_events_free(world->act.events);
	world->act.events = job_events_new(world->client);
	from = world->count;
	show_job(world, "{successPolicy: Luck, " WORKERS "}");
	assert_string_equal(json_str(expect_sent(world, from, "POST", "/events")->body, "reason"), "FailedValidation");
}

/* The same for a process that has not seen the former spec. */
static void test_refused_before_start(void **state)
{
	struct world *world = *state;
	cleanup_json json_t *framework = NULL;

	begin(world, "{team: a}", "{" WORKERS "}");
	framework = json_incref(world->framework);
	teardown(state);
	setup(state);
	world = *state;
	world->framework = json_incref(framework);
	show_framework(world, "SR");
	show_job(world, "{successPolicy: Luck, " WORKERS "}");
	expect_goes_on(world, 0);
}

/* A Framework of the other group's TFJob of the same name is a conflict that is told; one of a former job of this name
 * is not, it goes. */
static void test_foreign(void **state)
{
	struct world *world = *state;
	const char *spec = "{runtimeID: abcde, tfReplicaSpec: [{tfReplicaType: Worker, replicas: 2, " CONTAINER "}]}";

	show_job_status(world, JOB_CAICLOUD_TFJOB, "uid-c", "{}", spec, NULL);
	expect_sent(world, 0, "POST", "/frameworks");
	show_framework(world, "RR");
	show_job(world, "{" WORKERS "}");
	assert_string_equal(expect_event(world, "NamingConflict"),
			    "Framework j exists, and is not controlled by this TFJob: it is left as it is");
	assert_int_equal(world->act.counters.conflicts > 0, 1);
}

static void test_former(void **state)
{
	struct world *world = *state;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	from = world->count;
	/* the job is deleted and made anew, before its Framework has gone */
	show_job_status(world, JOB_TFJOB, "uid-anew", "{}", "{" WORKERS "}", NULL);
	settle(world);
	assert_null(find(world, from, "PATCH", "/frameworks/j"));
	assert_false(has_event(world, "NamingConflict"));
	framework_goes(world);
	assert_string_equal(json_str(json_array_get(json_path(expect_sent(world, from, "POST", "/frameworks")->body,
							      "metadata", "ownerReferences", NULL),
						    0),
				     "uid"),
			    "uid-anew");
}

/* Labels that the job takes back go from the Framework; those of others are not named. */
static void test_labels(void **state)
{
	struct world *world = *state;
	const json_t *labels;

	begin(world, "{team: a, queue: b}", "{" WORKERS "}");
	show_job_status(world, JOB_TFJOB, "uid-j", "{queue: c}", "{" WORKERS "}", NULL);
	labels = json_path(expect_sent(world, 0, "PATCH", "/frameworks/j")->body, "metadata", "labels", NULL);
	assert_true(json_is_null(json_object_get(labels, "team")));
	assert_string_equal(json_str(labels, "queue"), "c");
	assert_null(json_object_get(labels, "other"));
}

static bool show_foreign(struct world *world, struct http_conn *conn)
{
	(void)world;
	if (strstr(conn->path, "/frameworks") == NULL)
		return false;
	if (strcmp(conn->method, "POST") == 0)
		http_reply(conn, 409, "",
			   "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"AlreadyExists\",\"code\":409,"
			   "\"message\":\"frameworks \\\"j\\\" already exists\"}");
	else
		http_reply(conn, 200, "",
			   "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"j\",\"uid\":\"uid-x\","
			   "\"resourceVersion\":\"1\"}}");
	return true;
}

/* The job is deleted before a foreign Framework that was read is looked at: nothing is left of that for the next job of
 * the name. */
static void test_foreign_forgotten(void **state)
{
	static const char gone[] = "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"j\",\"uid\":\"uid-j\"}}";
	struct world *world = *state;
	struct item *item;
	size_t from;

	world->script = show_foreign;
	show_job(world, "{" WORKERS "}");
	item = job_store_next(world->store);
	job_store_queue(item);
	expect_sent(world, 0, "GET", "/frameworks/j");
	while (!item->slot->read)
		ev_run(world->loop, EVRUN_ONCE);
	job_store_job_gone(world->store, JOB_TFJOB, gone, strlen(gone));
	world->script = NULL;
	from = world->count;
	show_job_status(world, JOB_TFJOB, "uid-anew", "{}", "{" WORKERS "}", NULL);
	settle(world);
	assert_non_null(find(world, from, "POST", "/frameworks"));
	assert_false(has_event(world, "NamingConflict"));
}

static struct http_conn *held;

static bool hold_creation(struct world *world, struct http_conn *conn)
{
	(void)world;
	if (strcmp(conn->method, "POST") != 0)
		return false;
	held = conn;
	return true;
}

/* The job changes while its Framework is being created: the name stays. */
static void test_changed_while_creating(void **state)
{
	struct world *world = *state;

	world->script = hold_creation;
	show_job(world, "{" WORKERS "}");
	expect_sent(world, 0, "POST", "/frameworks");
	world->script = NULL;
	show_job(world, "{successPolicy: AllWorkers, " WORKERS "}");
	job_store_queue_all(world->store);
	settle(world);
	http_reply(held, 409, "",
		   "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"AlreadyExists\",\"code\":409,"
		   "\"message\":\"frameworks \\\"j\\\" already exists\"}");
	assert_non_null(expect_sent(world, 0, "GET", "/frameworks/j"));
	assert_null(find(world, 0, "GET", "/frameworks"));
	assert_null(find(world, 0, "GET", "/frameworks/"));
}

/* Somebody adds that to the Framework, and the watch shows it. */
static void show_with(struct world *world, const char *addition)
{
	change_stored(world, addition);
	show_stored(world);
}

/* Somebody adds a member to the spec that the job does not want. */
static void test_member_added(void **state)
{
	struct world *world = *state;
	const json_t *spec;

	begin(world, "{}", "{" WORKERS "}");
	show_with(world, "{'spec':{'activeDeadlineSec':60}}");
	spec = json_object_get(expect_sent(world, 0, "PATCH", "/frameworks/j")->body, "spec");
	assert_true(json_is_null(json_object_get(spec, "activeDeadlineSec")));
	assert_int_equal(json_object_size(spec), 1);
}

/* Somebody deletes the Framework in the foreground: its ConfigMap goes first, which ends the attempt. The job begins
 * anew when it is gone. */
static void test_framework_deleted(void **state)
{
	struct world *world = *state;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	from = world->count;
	show_with(world,
		  "{'metadata':{'deletionTimestamp':'2026-01-01T00:00:00Z'},'status':{'attemptStatus':{"
		  "'completionStatus':{'code':-100,'type':{'name':'Failed'},'diagnostics':'deleted by others'}}}}");
	settle(world);
	assert_null(find(world, from, "PATCH", "/tfjobs/j/status"));
	framework_goes(world);
	expect_sent(world, from, "POST", "/frameworks");
}

static bool refuse_changes(struct world *world, struct http_conn *conn)
{
	(void)world;
	if (strcmp(conn->method, "PATCH") != 0 || strstr(conn->path, "/frameworks/") == NULL)
		return false;
	http_reply(conn, 422, "",
		   "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"code\":422,"
		   "\"message\":\"no\"}");
	return true;
}

/* The API server refuses a change of the Framework, again and again: the job ends all the same. */
static void test_ends_without_change(void **state)
{
	struct world *world = *state;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	from = world->count;
	world->script = refuse_changes;
	show_job(world, "{successPolicy: AllWorkers, " WORKERS "}");
	expect_sent(world, from, "PATCH", "/frameworks/j");
	show_framework_as(world, "Completed", "SS", true);
	assert_string_equal(last_condition(expect_sent(world, from, "PATCH", "/tfjobs/j/status")), "Succeeded");
}

/* The API server refuses a Worker's Pod, so that the Framework is stopped. That ends the delay of the Task's retry,
 * whose status says no more that its Pod was refused. */
static void test_pod_refused(void **state)
{
	struct world *world = *state;
	const struct sent *sent;
	size_t from;

	begin(world, "{}", "{tfReplicaSpecs: {Worker: {replicas: 2, restartPolicy: OnFailure, " CONTAINER "}}}");
	from = world->count;
	show_framework(world, "Ru");
	sent = expect_sent(world, from, "PATCH", "/frameworks/j");
	assert_string_equal(json_str(json_object_get(sent->body, "spec"), "executionType"), "Stop");
	settle(world);
	show_framework_as(world, "Completed", "xx", true);
	show_with(world, "{'status':{'attemptStatus':{'completionStatus':{'code':-210,'type':{'name':'Failed'}}}}}");
	sent = expect_sent(world, from, "PATCH", "/tfjobs/j/status");
	assert_string_equal(last_condition(sent), "Failed");
	assert_non_null(strstr(last_condition_member(sent, "message"), "Job j has failed: Failed to create Pod: no"));
}

/* Its time to live is refused, and no reason to delete what says so. */
static void test_ttl_out_of_range(void **state)
{
	struct world *world = *state;

	show_job_status(world, JOB_TFJOB, "uid-j", "{}",
			"{runPolicy: {ttlSecondsAfterFinished: 9223372036854775807}, " WORKERS "}", NULL);
	assert_string_equal(last_condition(expect_sent(world, 0, "PATCH", "/tfjobs/j/status")), "Failed");
	show_job_status(world, JOB_TFJOB, "uid-j", "{}",
			"{runPolicy: {ttlSecondsAfterFinished: 9223372036854775807}, " WORKERS "}", world->status);
	settle(world);
	assert_null(find(world, 0, "DELETE", "/tfjobs/j"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_suspended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_before_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(test_former, setup, teardown),
		cmocka_unit_test_setup_teardown(test_labels, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed_while_creating, setup, teardown),
		cmocka_unit_test_setup_teardown(test_member_added, setup, teardown),
		cmocka_unit_test_setup_teardown(test_framework_deleted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends_without_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pod_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ttl_out_of_range, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
