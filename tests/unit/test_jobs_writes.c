/* What fc-jobs writes and when: statuses, writes that are refused, Events (jobs/act.c, jobs/events.c). */
#include "tests/unit/jobs_server.h"

#define ALL_WORKERS "{successPolicy: AllWorkers, " WORKERS "}"

/* A status that somebody removes or changes is written again. */
static void test_mended(void **state)
{
	struct world *world = *state;
	cleanup_json json_t *other = json_pack("{s:[{s:s, s:s}]}", "conditions", "type", "Created", "status", "False");
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	from = world->count;
	show_job_status(world, JOB_TFJOB, "uid-j", "{}", "{" WORKERS "}", NULL);
	assert_string_equal(last_condition(expect_sent(world, from, "PATCH", "/tfjobs/j/status")), "Running");
	from = world->count;
	show_job_status(world, JOB_TFJOB, "uid-j", "{}", "{" WORKERS "}", other);
	assert_string_equal(last_condition(expect_sent(world, from, "PATCH", "/tfjobs/j/status")), "Running");
}

/* Another process led meanwhile, and wrote another status: the same one as before is written. */
static void test_second_term(void **state)
{
	struct world *world = *state;
	cleanup_json json_t *other = json_pack("{s:[]}", "conditions");
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	settle(world);
	from = world->count;
	world->leads = false;
	show_job_status(world, JOB_TFJOB, "uid-j", "{}", "{" WORKERS "}", other);
	settle(world);
	assert_int_equal(world->count, from);
	world->leads = true;
	job_store_queue_all(world->store);
	assert_string_equal(last_condition(expect_sent(world, from, "PATCH", "/tfjobs/j/status")), "Running");
}

/* A change of the Framework is looked at within a second, also while the job waits for something later. */
static void test_within_a_second(void **state)
{
	struct world *world = *state;
	struct item *item;

	show_job(world, "{" WORKERS "}");
	item = first_item(world);
	expect_sent(world, 0, "POST", "/frameworks");
	settle(world);
	for (int later_ms = 0; later_ms <= 60000; later_ms += 60000) {
		if (later_ms > 0)
			job_store_queue_after(item, later_ms);
		ev_now_update(world->loop);
		show_framework(world, "RR");
		assert_true(ev_is_active(&item->timer));
		assert_true(ev_timer_remaining(world->loop, &item->timer) < 1);
	}
}

static bool refuse_patches(struct world *world, struct http_conn *conn)
{
	(void)world;
	if (strcmp(conn->method, "PATCH") != 0)
		return false;
	http_reply(conn, 403, "",
		   "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,"
		   "\"message\":\"tfjobs is forbidden\"}");
	return true;
}

static void test_refused_writes(void **state)
{
	struct world *world = *state;

	world->script = refuse_patches;
	show_job(world, "{" WORKERS "}");
	expect_sent(world, 0, "POST", "/frameworks");
	show_framework(world, "RR");
	assert_non_null(strstr(expect_event(world, "FailedUpdate"), "tfjobs is forbidden"));
	assert_true(world->act.counters.failed > 0);
}

/* Somebody else was quicker: that is no refusal. */
static bool conflict_once(struct world *world, struct http_conn *conn)
{
	if (strcmp(conn->method, "PATCH") != 0)
		return false;
	world->script = NULL;
	http_reply(conn, 409, "",
		   "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Conflict\",\"code\":409,"
		   "\"message\":\"the object has been modified\"}");
	return true;
}

static void test_conflict(void **state)
{
	struct world *world = *state;
	size_t from;

	world->script = conflict_once;
	show_job(world, "{" WORKERS "}");
	expect_sent(world, 0, "POST", "/frameworks");
	show_framework(world, "RR");
	from = (size_t)(expect_sent(world, 0, "PATCH", "/tfjobs/j/status") - world->sent) + 1;
	expect_sent(world, from, "PATCH", "/tfjobs/j/status");
	assert_false(has_event(world, "FailedUpdate"));
}

/* As after a restart; no request is on the way. */
static void renew_events(struct world *world)
{
	settle(world);
	job_events_free(world->act.events);
	world->act.events = job_events_new(world->client);
}

/* The same Event is posted once, and counted up when it comes again later; its name follows from what it says. */
static void test_events(void **state)
{
	struct world *world = *state;
	struct job job = {.kind = JOB_TFJOB, .ns = "ns", .name = "j", .uid = "uid-j"};
	const struct sent *first;
	const char *name;
	size_t from;

	job_events_post(world->act.events, &job, "Normal", "A", "text");
	first = expect_sent(world, 0, "POST", "/events");
	name = json_str(json_object_get(first->body, "metadata"), "name");
	from = world->count;
	job_events_post(world->act.events, &job, "Normal", "A", "text"); /* too soon to be counted */
	job_events_post(world->act.events, &job, "Normal", "A", "other");
	assert_string_not_equal(
		json_str(json_object_get(expect_sent(world, from, "POST", "/events")->body, "metadata"), "name"), name);
	assert_int_equal(world->count, from + 1);
	/* another process says the same */
	renew_events(world);
	from = world->count;
	job_events_post(world->act.events, &job, "Normal", "A", "text");
	assert_string_equal(
		json_str(json_object_get(expect_sent(world, from, "POST", "/events")->body, "metadata"), "name"), name);
}

/* Each restart is news, also if the last one has led to the same Event. */
static void test_repeated(void **state)
{
	struct world *world = *state;
	size_t from;

	begin(world, "{}", ALL_WORKERS);
	for (int i = 0; i < 2; i++) {
		from = world->count;
		show_framework(world, "fR");
		assert_string_equal(json_str(expect_sent(world, from, "POST", "/events")->body, "reason"),
				    "TFJobRestarting");
		assert_string_equal(last_condition(expect_sent(world, from, "PATCH", "/tfjobs/j/status")),
				    "Restarting");
		renew_events(world);
		from = world->count;
		show_framework(world, "RR");
		expect_sent(world, from, "PATCH", "/tfjobs/j/status");
		settle(world);
	}
}

/* The status of the request is ignored, and so nothing changes. */
static bool ignore_status(struct world *world, struct http_conn *conn)
{
	const json_t *body = world->sent[world->count - 1].body;
	cleanup_free char *text = NULL;

	if (strcmp(conn->method, "PATCH") != 0)
		return false;
	world->script = NULL;
	text = mem_printf(
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"j\",\"uid\":\"uid-j\",\"resourceVersion\":\"%s\"}}",
		json_str(json_object_get(body, "metadata"), "resourceVersion"));
	http_reply(conn, 200, "", text);
	return true;
}

/* Somebody adds a status subresource to the job's CRD: the status that is lost thereby is written to it. */
static void test_subresource_added(void **state)
{
	struct world *world = *state;

	world->act.status_subresource[JOB_TFJOB] = false;
	world->script = ignore_status;
	show_job(world, "{" WORKERS "}");
	expect_sent(world, 0, "POST", "/frameworks");
	show_framework(world, "RR");
	expect_sent(world, 0, "PATCH", "/tfjobs/j");
	assert_string_equal(last_condition(expect_sent(world, 0, "PATCH", "/tfjobs/j/status")), "Running");
}

/* As an API server that knows no such path. */
static bool lack_subresource(struct world *world, struct http_conn *conn)
{
	if (strstr(conn->path, "/tfjobs/j/status") == NULL)
		return false;
	world->script = NULL;
	http_reply(conn, 404, "Content-Type: text/plain\r\n", "404 page not found\n");
	return true;
}

/* Somebody takes the status subresource out of the job's CRD. */
static void test_subresource_removed(void **state)
{
	struct world *world = *state;

	world->lacks_subresource = true;
	world->script = lack_subresource;
	show_job(world, "{" WORKERS "}");
	expect_sent(world, 0, "POST", "/frameworks");
	show_framework(world, "RR");
	expect_sent(world, 0, "PATCH", "/tfjobs/j/status");
	assert_string_equal(last_condition(expect_sent(world, 0, "PATCH", "/tfjobs/j")), "Running");
}

/* The API server has the Event of another process: it counts 4, and is about version 7 of the job. */
static bool keep_event(struct world *world, struct http_conn *conn)
{
	(void)world;
	if (strstr(conn->path, "/events") == NULL)
		return false;
	if (strcmp(conn->method, "POST") == 0)
		http_reply(conn, 409, "",
			   "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"AlreadyExists\",\"code\":409,"
			   "\"message\":\"events \\\"e\\\" already exists\"}");
	else
		http_reply(
			conn, 200, "",
			"{\"metadata\":{\"name\":\"e\"},\"count\":4,\"involvedObject\":{\"resourceVersion\":\"7\"}}");
	return true;
}

/* News are counted on the Event that another process has posted, once. */
static void test_counted_on(void **state)
{
	struct world *world = *state;
	struct job job = {.kind = JOB_TFJOB, .ns = "ns", .name = "j", .uid = "uid-j", .version = "8"};
	const struct sent *sent;

	world->script = keep_event;
	job_events_post(world->act.events, &job, "Warning", "A", "text");
	settle(world);
	assert_int_equal(world->count, 3);
	sent = &world->sent[2];
	assert_string_equal(sent->method, "PATCH");
	assert_int_equal(json_int(sent->body, "count", 0), 5);
	assert_string_equal(json_str(json_object_get(sent->body, "involvedObject"), "resourceVersion"), "8");
	renew_events(world);
	/* that process has posted the very same news */
	job.version = "7";
	job_events_post(world->act.events, &job, "Warning", "A", "text");
	settle(world);
	assert_int_equal(world->count, 5);
	assert_int_equal(json_object_size(world->sent[4].body), 0);
}

/* While statuses of very many jobs change, those of jobs that go on wait, and those of jobs that end do not. */
static void test_pace(void **state)
{
	struct world *world = *state;
	size_t from;

	while (token_bucket_wait_ms(&world->act.changes, clock_boot_ms()) == 0)
		token_bucket_take(&world->act.changes);
	token_bucket_set(&world->act.changes, 0.001, 1, clock_boot_ms());
	show_job(world, "{" WORKERS "}");
	expect_sent(world, 0, "POST", "/frameworks");
	show_framework(world, "RR");
	settle(world);
	assert_null(find(world, 0, "PATCH", "/tfjobs/j/status"));
	from = world->count;
	show_framework(world, "SS");
	expect_sent(world, from, "PATCH", "/frameworks/j");
	assert_string_equal(last_condition(expect_sent(world, from, "PATCH", "/tfjobs/j/status")), "Succeeded");
}

/* The rest of the Framework is not even read, until its end is decided. Of its Events a job can do without those that
 * repeat its conditions. */
static void test_pace_unread(void **state)
{
	struct world *world = *state;
	size_t from;

	show_job(world, ALL_WORKERS);
	expect_sent(world, 0, "POST", "/frameworks");
	show_framework(world, "RR");
	expect_sent(world, 0, "PATCH", "/tfjobs/j/status");
	settle(world);
	token_bucket_init(&world->act.changes, 0.001, 1, clock_boot_ms());
	token_bucket_take(&world->act.changes);
	world->act.repetitions = world->act.changes;
	from = world->count;
	show_framework(world, "RS");
	settle(world);
	assert_int_equal(world->count, from);
	assert_false(first_item(world)->slot->view->parsed);
	show_framework_as(world, "AttemptDeletionPending", "SS", true);
	assert_string_equal(last_condition(expect_sent(world, from, "PATCH", "/tfjobs/j/status")), "Succeeded");
	settle(world);
	assert_int_equal(world->count, from + 1);
}

/* A server whose answers take long gets fewer statuses of jobs that go on. */
static void test_slow_server(void **state)
{
	struct world *world = *state;
	double usual;
	size_t from;

	begin(world, "{}", ALL_WORKERS);
	settle(world);
	usual = world->act.changes.qps;
	world->act.answer_ms = 60000;
	from = world->count;
	show_framework(world, "RS");
	expect_sent(world, from, "PATCH", "/tfjobs/j/status");
	settle(world);
	assert_true(world->act.changes.qps < usual / 100);
}

/* All requests of a job from its creation to its end: one for the Framework, one for each status that differs, one
 * Event. What changes of the Framework and is not shown costs none. */
static void test_requests(void **state)
{
	struct world *world = *state;

	show_job(world, ALL_WORKERS);
	expect_sent(world, 0, "POST", "/frameworks");
	for (int i = 0; i < 5; i++)
		show_framework(world, i < 4 ? "" : "RR");
	assert_string_equal(last_condition(expect_sent(world, 0, "PATCH", "/tfjobs/j/status")), "Running");
	settle(world);
	show_framework(world, "RR");
	settle(world);
	assert_int_equal(world->count, 2);
	show_framework_as(world, "AttemptDeletionPending", "SS", true);
	assert_string_equal(last_condition(expect_sent(world, 2, "PATCH", "/tfjobs/j/status")), "Succeeded");
	assert_non_null(expect_event(world, "TFJobSucceeded"));
	show_job_status(world, JOB_TFJOB, "uid-j", "{}", ALL_WORKERS, world->status);
	show_framework_as(world, "Completed", "SS", true);
	settle(world);
	assert_int_equal(world->count, 4);
}

/* The answer to the creation has the Framework's metadata alone; the watch shows the rest of the same version. */
static void test_metadata_first(void **state)
{
	struct world *world = *state;
	cleanup_free char *text = NULL;
	const struct slot *slot;
	struct error err;

	show_job(world, ALL_WORKERS);
	slot = first_item(world)->slot;
	expect_sent(world, 0, "POST", "/frameworks");
	settle(world);
	assert_true(slot->partial && slot->view->spec.at == NULL);
	assert_null(find(world, 1, "PATCH", "/frameworks/j"));
	assert_null(find(world, 1, "POST", "/frameworks"));
	text = json_text(world->framework);
	for (int i = 0; i < 2; i++)
		assert_int_equal(job_store_framework(world->store,
						     &(struct reflector_object){.data = text, .len = strlen(text)},
						     JOB_STORE_WATCHED, &err),
				 0);
	assert_false(slot->partial);
	assert_int_equal(view_parse(slot->view, &err), 0);
	assert_non_null(slot->view->spec.at);
}

/* The API server has counted as much as an Event can: the news are counted anew. */
static bool keep_full_event(struct world *world, struct http_conn *conn)
{
	(void)world;
	if (strcmp(conn->method, "POST") == 0)
		http_reply(conn, 409, "", STATUS(409, "AlreadyExists"));
	else
		http_reply(conn, 200, "", "{\"metadata\":{\"name\":\"e\"},\"count\":2147483647}");
	return true;
}

static void test_count_in_range(void **state)
{
	struct world *world = *state;
	struct job job = {.kind = JOB_TFJOB, .ns = "ns", .name = "j", .uid = "uid-j", .version = "8"};

	world->script = keep_full_event;
	job_events_post(world->act.events, &job, "Warning", "A", "text");
	settle(world);
	assert_int_equal(world->count, 3);
	assert_int_equal(json_int(world->sent[2].body, "count", 0), 2);
}

static bool refuse_once(struct world *world, struct http_conn *conn)
{
	world->script = NULL;
	http_reply(conn, 403, "", STATUS(403, "Forbidden"));
	return true;
}

/* A repetition makes the Event that the server has refused. */
static void test_refused_event(void **state)
{
	struct world *world = *state;
	struct job job = {.kind = JOB_TFJOB, .ns = "ns", .name = "j", .uid = "uid-j"};

	world->script = refuse_once;
	for (size_t i = 0; i < 2; i++) {
		job_events_post(world->act.events, &job, "Normal", "A", "text");
		expect_sent(world, i, "POST", "/events");
		settle(world);
	}
}

/* A repetition is counted at most every ten seconds. */
static void test_hurried_event(void **state)
{
	struct world *world = *state;
	struct job job = {.kind = JOB_TFJOB, .ns = "ns", .name = "j", .uid = "uid-j"};

	for (size_t i = 0; i < 2; i++) {
		job_events_post(world->act.events, &job, "Normal", "A", "text");
		settle(world);
	}
	assert_int_equal(world->count, 1);
}

/* Kubernetes refuses Events with longer messages. */
static void test_long_event(void **state)
{
	enum { LONG = 5000, MOST = 1024 };
	struct world *world = *state;
	struct job job = {.kind = JOB_TFJOB, .ns = "ns", .name = "j", .uid = "uid-j"};
	char text[LONG + 1];

	memset(text, 'x', LONG);
	text[LONG] = '\0';
	job_events_post(world->act.events, &job, "Normal", "A", text);
	assert_int_equal(strlen(json_str(expect_sent(world, 0, "POST", "/events")->body, "message")), MOST);
}

static bool conflict_at_creation(struct world *world, struct http_conn *conn)
{
	world->script = NULL;
	http_reply(conn, 409, "", STATUS(409, "Conflict"));
	return true;
}

/* Not each conflict says that there is a Framework of the name: a quota that somebody else just uses does not. */
static void test_conflict_of_creation(void **state)
{
	struct world *world = *state;

	world->script = conflict_at_creation;
	show_job(world, "{" WORKERS "}");
	expect_sent(world, 0, "POST", "/frameworks");
	expect_sent(world, 1, "POST", "/frameworks");
	assert_null(find(world, 0, "GET", "/frameworks/j"));
}

/* A change names the Framework that it was made for: a namesake that has come meanwhile stays as it is. */
static void test_namesake_kept(void **state)
{
	struct world *world = *state;
	const struct sent *sent;

	begin(world, "{}", "{" WORKERS "}");
	show_job(world, "{runPolicy: {suspend: true}, " WORKERS "}");
	sent = expect_sent(world, 0, "PATCH", "/frameworks/j");
	assert_string_equal(json_str(json_object_get(sent->body, "metadata"), "uid"), "uid-f");
}

static bool ask_to_wait(struct world *world, struct http_conn *conn)
{
	world->script = NULL;
	http_reply(conn, 503, "Retry-After: 40\r\n", STATUS(503, "ServiceUnavailable"));
	return true;
}

static void test_retry_after(void **state)
{
	struct world *world = *state;
	struct item *item;

	world->script = ask_to_wait;
	show_job(world, "{" WORKERS "}");
	item = first_item(world);
	expect_sent(world, 0, "POST", "/frameworks");
	settle(world);
	assert_int_equal(world->count, 1);
	assert_true(ev_timer_remaining(world->loop, &item->timer) > 30);
}

/* A request that waits when another process begins to lead is not sent. That is no failure of it. */
static void test_deposed_before_it_is_sent(void **state)
{
	struct world *world = *state;

	show_job(world, "{" WORKERS "}");
	act_run(&world->act, 256, INT64_MAX);
	assert_non_null(first_item(world)->call);
	world->leads = false;
	settle(world);
	assert_int_equal(world->count, 0);
	assert_int_equal(world->act.counters.failed, 0);
	world->leads = true;
	job_store_queue_all(world->store);
	expect_sent(world, 0, "POST", "/frameworks");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_mended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_second_term, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_conflict, setup, teardown),
		cmocka_unit_test_setup_teardown(test_subresource_added, setup, teardown),
		cmocka_unit_test_setup_teardown(test_subresource_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_repeated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counted_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_within_a_second, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pace_unread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_server, setup, teardown),
		cmocka_unit_test_setup_teardown(test_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(test_metadata_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_count_in_range, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_event, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hurried_event, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_event, setup, teardown),
		cmocka_unit_test_setup_teardown(test_conflict_of_creation, setup, teardown),
		cmocka_unit_test_setup_teardown(test_namesake_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_retry_after, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deposed_before_it_is_sent, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
