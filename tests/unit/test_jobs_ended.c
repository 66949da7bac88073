/* What fc-jobs keeps of jobs that have ended and of their Frameworks, and what it does when it needs more again
 * (jobs/store.c, jobs/act.c). */
#include "tests/unit/jobs_server.h"

enum { JOBS = 50, REPLICAS = 20 };
/* Beside the texts of a running job; and all of an ended one. */
enum { RUNNING_MORE = 14 * 1024, ENDED_MAX = 4 * 1024 };

#define JOB_STATUS(type)                                                                                              \
	"\"conditions\":[" CONDITION("Created", "True") "," CONDITION("Running", "False") "," CONDITION(              \
		type, "True") "],\"completionTime\":\"2026-01-01T00:00:00Z\",\"startTime\":\"2026-01-01T00:00:00Z\"," \
			      "\"replicaStatuses\":{\"Worker\":{\"succeeded\":20}}"
#define CONDITION(type, value)                                                                                       \
	"{\"type\":\"" type "\",\"status\":\"" value "\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\","           \
	"\"lastUpdateTime\":\"2026-01-01T00:00:00Z\",\"reason\":\"TFJob" type "\",\"message\":\"TFJob ns/j is " type \
	"\"}"

/* A Framework of 20 Tasks, as the API server sends it. */
static void write_framework(struct buf *out, int index, int version, const char *state)
{
	buf_printf(out,
		   "{\"metadata\":{\"generation\":1,\"labels\":{\"frameworkcontroller.microsoft.com/job-kind\":"
		   "\"tfjobs.kubeflow.org\"},\"managedFields\":[{\"fieldsV1\":{\"f:status\":{\"f:%02000d\":{}}}}],"
		   "\"name\":\"j%d\",\"namespace\":\"ns\",\"ownerReferences\":[{\"controller\":true,\"kind\":\"TFJob\","
		   "\"name\":\"j%d\",\"uid\":\"uid-%d\"}],\"resourceVersion\":\"%d\",\"uid\":\"uid-f%d\"},\"spec\":{"
		   "\"executionType\":\"Start\"},\"status\":{\"attemptStatus\":{\"taskRoleStatuses\":[{\"name\":"
		   "\"worker\",\"taskStatuses\":[",
		   0, index, index, index, version, index);
	for (int i = 0; i < REPLICAS; i++)
		buf_printf(out, "%s{\"attemptStatus\":{\"podName\":\"%0600d\"},\"index\":%d,\"state\":\"%s\"}",
			   i > 0 ? "," : "", 0, i, state);
	buf_printf(out, "]}]},\"state\":\"%s\"}}", state);
}

/* Returns the length of the text without managedFields. */
static size_t show_large_framework(struct world *world, int index, const char *state)
{
	cleanup_buf struct buf text = {0};
	struct error err;

	write_framework(&text, index, ++world->version, state);
	if (job_store_framework(world->store, &(struct reflector_object){.data = text.data, .len = text.len},
				JOB_STORE_WATCHED, &err) < 0)
		fail_msg("%s", err.message);
	return text.len - 2000;
}

/* Returns the length of the job's spec. */
static size_t show_large_job(struct world *world, int index, const char *status)
{
	cleanup_free char *spec = mem_printf("{\"tfReplicaSpecs\":{\"Worker\":{\"replicas\":%d,\"template\":{\"spec\":{"
					     "\"containers\":[{\"name\":\"tensorflow\",\"image\":\"%01000d\"}]}}}}}",
					     REPLICAS, 0);
	cleanup_free char *text = mem_printf("{\"metadata\":{\"labels\":{\"a\":\"b\"},\"namespace\":\"ns\",\"name\":"
					     "\"j%d\",\"resourceVersion\":\"%d\",\"uid\":\"uid-%d\"},\"spec\":%s,"
					     "\"status\":{%s}}",
					     index, ++world->version, index, spec, status);
	struct error err;

	if (job_store_job(world->store, JOB_TFJOB, &(struct reflector_object){.data = text, .len = strlen(text)},
			  &err) < 0)
		fail_msg("%s", err.message);
	return strlen(spec);
}

static void assert_ended(const char *what, size_t before)
{
	size_t bytes = (held_bytes() - before) / JOBS;

	print_message("an ended job, %s: %zu bytes\n", what, bytes);
	assert_true(bytes < ENDED_MAX);
}

static void run(struct world *world)
{
	act_run(&world->act, SIZE_MAX, INT64_MAX);
}

/* A process that does not lead sends nothing. */
static void test_memory_running(void **state)
{
	struct world *world = *state;
	size_t before = held_bytes();
	size_t texts = 0;
	size_t bytes;

	world->leads = false;
	for (int i = 0; i < JOBS; i++) {
		texts += show_large_job(world, i, JOB_STATUS("Running"));
		texts += show_large_framework(world, i, "AttemptRunning");
	}
	run(world);
	bytes = held_bytes() - before;
	print_message("a running job: %zu bytes, texts of %zu\n", bytes / JOBS, texts / JOBS);
	assert_true(bytes > texts);
	assert_true(bytes < texts + JOBS * RUNNING_MORE);
	/* they end, and another process writes their status */
	for (int i = 0; i < JOBS; i++) {
		show_large_framework(world, i, "Completed");
		show_large_job(world, i, JOB_STATUS("Succeeded"));
	}
	run(world);
	assert_ended("that another process has led", before);
	for (int i = 0; i < JOBS; i++)
		show_large_framework(world, i, "Completed");
	assert_ended("whose Framework changes", before);
}

/* Lists of both kinds, in either order. */
static void test_memory_listed(void **state)
{
	struct world *world = *state;
	size_t before = held_bytes();

	for (int i = 0; i < JOBS; i++)
		show_large_framework(world, i, "Completed");
	assert_ended("before it is listed", before);
	for (int i = 0; i < JOBS; i++)
		show_large_job(world, i, JOB_STATUS("Failed"));
	run(world);
	assert_ended("after it was listed", before);
	for (int i = 0; i < JOBS; i++)
		show_large_framework(world, i, "AttemptRunning");
	assert_ended("whose Framework goes on", before);
}

static const struct view *view_of(struct world *world)
{
	return first_item(world)->slot->view;
}

/* A job with a status that says Succeeded, and a Completed Framework. */
static void end(struct world *world)
{
	begin(world, "{a: b}", "{" WORKERS "}");
	show_framework_as(world, "Completed", "SS", true);
	while (!job_finished(&first_item(world)->job))
		settle(world);
	settle(world);
}

/* Own writes end the job. */
static void test_shed(void **state)
{
	struct world *world = *state;
	struct item *item;

	end(world);
	item = first_item(world);
	assert_null(item->job.spec);
	assert_null(item->job.labels);
	assert_null(item->job.status);
	assert_true(json_is_null(item->wrote));
	assert_null(item->spec);
	assert_null(item->note);
	assert_false(item->translated);
	assert_null(item->slot->view->text);
	assert_string_equal(item->slot->view->identity.uid, "uid-f");
	/* as in a list of the same version */
	show_stored(world);
	assert_null(item->slot->view->text);
}

/* Somebody removes the status of a job that has ended: it is written again, from the Framework as it is. */
static void test_status_removed(void **state)
{
	struct world *world = *state;
	const struct sent *sent;
	size_t from;

	end(world);
	from = world->count;
	json_decref(world->status);
	world->status = NULL;
	show_job_status(world, JOB_TFJOB, "uid-j", "{a: b}", "{" WORKERS "}", NULL);
	expect_sent(world, from, "GET", "/frameworks/j");
	sent = expect_sent(world, from, "PATCH", "/tfjobs/j/status");
	assert_string_equal(last_condition(sent), "Succeeded");
	settle(world);
	assert_null(view_of(world)->text);
	assert_null(find(world, from, "POST", "/frameworks"));
	assert_null(find(world, from, "PATCH", "/frameworks/j"));
}

/* It is read anew as long as that fails. */
static bool busy_once(struct world *world, struct http_conn *conn)
{
	if (!on_framework(conn, "GET"))
		return false;
	world->script = NULL;
	http_reply(conn, 503, "", "");
	return true;
}

/* The job ended while no process led, and Frameworks are listed before it. */
static void test_ended_meanwhile(void **state)
{
	struct world *world = *state;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	job_store_jobs_begin(world->store, JOB_TFJOB);
	job_store_jobs_end(world->store, JOB_TFJOB);
	show_framework_as(world, "Completed", "SS", true);
	from = world->count;
	world->script = busy_once;
	show_job(world, "{" WORKERS "}");
	assert_null(view_of(world)->text);
	assert_string_equal(last_condition(expect_sent(world, from, "PATCH", "/tfjobs/j/status")), "Succeeded");
	assert_null(find(world, from, "POST", "/frameworks"));
	assert_null(find(world, from, "PATCH", "/frameworks/j"));
}

/* Another job has the name of one that has ended: it waits until the former Framework is gone. */
static void test_recreated(void **state)
{
	struct world *world = *state;
	const struct sent *sent;
	size_t from;

	end(world);
	from = world->count;
	show_job_status(world, JOB_TFJOB, "uid-next", "{}", "{" WORKERS "}", NULL);
	expect_sent(world, from, "GET", "/frameworks/j");
	settle(world);
	assert_null(find(world, from, "POST", "/frameworks"));
	assert_false(has_event(world, "NamingConflict"));
	json_decref(world->framework);
	world->framework = NULL;
	framework_goes(world);
	sent = expect_sent(world, from, "POST", "/frameworks");
	assert_string_equal(
		json_str(json_array_get(json_path(sent->body, "metadata", "ownerReferences", NULL), 0), "uid"),
		"uid-next");
}

/* A job of another kind has the name, too: what it has to know of the Framework is read. */
static void test_other_kind(void **state)
{
	struct world *world = *state;

	end(world);
	show_job_status(world, JOB_CAICLOUD_TFJOB, "uid-other", "{}",
			"{runtimeID: abcde, tfReplicaSpec: [{tfReplicaType: Worker, " CONTAINER "}]}", NULL);
	expect_event(world, "NamingConflict");
}

/* A Framework goes whose job has ended. */
static void test_framework_deleted(void **state)
{
	struct world *world = *state;
	size_t from;

	end(world);
	from = world->count;
	framework_goes(world);
	settle(world);
	assert_null(view_of(world));
	assert_int_equal(world->count, from);
}

/* A process leads that did not when the job changed. */
static void test_leads_later(void **state)
{
	struct world *world = *state;

	world->leads = false;
	show_job(world, "{" WORKERS "}");
	settle(world);
	assert_int_equal(world->count, 0);
	world->leads = true;
	expect_sent(world, 0, "POST", "/frameworks");
}

static void test_managed_fields(void **state)
{
	struct world *world = *state;

	begin(world, "{}", "{" WORKERS "}");
	change_stored(world, "{metadata: {managedFields: [{manager: somebody}], zone: z}}");
	show_stored(world);
	assert_null(strstr(view_of(world)->text, "managedFields"));
	assert_non_null(strstr(view_of(world)->text, "zone"));
}

/* Nothing is cut out of a text that is no JSON. */
static void test_broken_text(void **state)
{
	static const char text[] = "{\"metadata\":{\"name\":\"j\",\"managedFields\":[{\"manager\":\"somebody\"}";
	const struct object_identity identity = {0};
	struct view *view = view_renew(NULL, &identity, text, strlen(text));
	struct error err;

	(void)state;
	assert_string_equal(view->text, text);
	assert_int_equal(view_parse(view, &err), -1);
	view_free(view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_memory_running, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory_listed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_status_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_recreated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_framework_deleted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leads_later, setup, teardown),
		cmocka_unit_test_setup_teardown(test_managed_fields, setup, teardown),
		cmocka_unit_test(test_broken_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
