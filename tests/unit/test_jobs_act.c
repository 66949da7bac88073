/* What fc-jobs does for a job (jobs/act.c), against a scripted API server: each test shows it jobs and Frameworks as
 * watches do, says what is answered, and looks at what it sends. */
#include "tests/unit/jobs_world.h"

#include <ev.h>

#include "common/base/clock.h"
#include "common/framework/names.h"
#include "jobs/act.h"
#include "tests/unit/http_server.h"

static const double limit_s = 60;

enum { SENT_MAX = 64, BODY_SIZE = 8192 };

struct sent {
	char method[16];
	char path[512];
	json_t *body;
};

struct world {
	struct ev_loop *loop;
	struct http_server server;
	struct kube_config config;
	struct kube_client *client;
	struct job_store *store;
	struct act act;
	struct sent sent[SENT_MAX];
	size_t count;
	int version;       /* of the last object */
	json_t *framework; /* as it is stored; NULL: none */
	json_t *status;    /* of the job */
	/* Answers the request itself and returns true, or leaves it to answer(). */
	bool (*script)(struct world *world, struct http_conn *conn);
	bool leads;
	ev_timer work;
	ev_prepare before_sleep;
};

static bool leads(void *arg)
{
	return ((struct world *)arg)->leads;
}

static void on_wake(void *arg)
{
	struct world *world = arg;

	ev_timer_set(&world->work, 0, 0);
	ev_timer_start(world->loop, &world->work);
}

static void on_work(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
}

static void on_before_sleep(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	struct world *world = prepare->data;

	(void)loop;
	(void)events;
	if (act_run(&world->act, 256))
		on_wake(world);
}

/* RFC 7386 */
static void merge(json_t *object, const json_t *patch)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)patch, name, value) {
		if (json_is_null(value)) {
			json_object_del(object, name);
		} else if (!json_is_object(value)) {
			json_object_set_new(object, name, json_deep_copy(value));
		} else {
			if (!json_is_object(json_object_get(object, name)))
				json_object_set_new(object, name, json_object());
			merge(json_object_get(object, name), value);
		}
	}
}

/* *stored becomes that, with a version. */
static void store_as(struct world *world, json_t **stored, json_t *object, const char *uid)
{
	cleanup_free char *version = mem_printf("%d", ++world->version);
	json_t *meta = json_object_get(object, "metadata");

	json_object_set_new(meta, "namespace", json_string("ns"));
	json_object_set_new(meta, "name", json_string("j"));
	json_object_set_new(meta, "uid", json_string(uid));
	json_object_set_new(meta, "resourceVersion", json_string(version));
	json_object_set_new(meta, "generation", json_integer(1));
	json_decref(*stored);
	*stored = object;
}

/* As the server stores what is sent. */
static void answer(struct world *world, struct http_conn *conn, const json_t *body)
{
	cleanup_json json_t *other = NULL;
	json_t **stored = &other;
	json_t *object = json_pack("{s:{}}", "metadata");
	cleanup_free char *text = NULL;

	if (strstr(conn->path, "/frameworks") != NULL)
		stored = &world->framework;
	if (*stored != NULL && strcmp(conn->method, "PATCH") == 0)
		merge(object, *stored);
	if (body != NULL)
		merge(object, body);
	if (strstr(conn->path, "/tfjobs/j") != NULL && strcmp(conn->method, "PATCH") == 0) {
		if (world->status == NULL)
			world->status = json_object();
		merge(world->status, json_object_get(body, "status"));
	}
	store_as(world, stored, object, "uid-f");
	text = json_text(object);
	http_reply(conn, strcmp(conn->method, "POST") == 0 ? 201 : 200, "", text);
}

static void on_request(void *arg, struct http_conn *conn)
{
	struct world *world = arg;
	struct sent *sent = &world->sent[world->count];

	assert_true(world->count < SENT_MAX);
	snprintf(sent->method, sizeof(sent->method), "%s", conn->method);
	snprintf(sent->path, sizeof(sent->path), "%.*s", (int)strcspn(conn->path, "?"), conn->path);
	sent->body = conn->body[0] == '\0' ? NULL : json_parse(conn->body, strlen(conn->body), NULL);
	world->count++;
	if (world->script == NULL || !world->script(world, conn))
		answer(world, conn, sent->body);
}

static int setup(void **state)
{
	struct world *world = mem_calloc(1, sizeof(*world));
	const struct kube_client_options options = {.user_agent = "tester/1"};
	struct error err;

	*state = world;
	world->version = 1000;
	world->leads = true;
	world->loop = ev_loop_new(EVFLAG_AUTO);
	http_server_start(&world->server, world->loop, on_request, world);
	world->config.server = mem_strdup(world->server.address);
	world->config.source = mem_strdup("test");
	world->client = kube_client_new(world->loop, &world->config, &options, &err);
	assert_non_null(world->client);
	world->store = job_store_new(world->loop, on_wake, world);
	world->act = (struct act){.store = world->store,
				  .client = world->client,
				  .events = job_events_new(world->client),
				  .status_subresource = {false, true, true},
				  .leads = leads,
				  .arg = world};
	act_init(&world->act);
	ev_timer_init(&world->work, on_work, 0, 0);
	ev_prepare_init(&world->before_sleep, on_before_sleep);
	world->before_sleep.data = world;
	ev_prepare_start(world->loop, &world->before_sleep);
	job_store_frameworks_begin(world->store);
	job_store_frameworks_end(world->store, "1");
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	kube_client_free(world->client);
	kube_config_free(&world->config);
	job_store_free(world->store);
	job_events_free(world->act.events);
	http_server_free(&world->server);
	for (size_t i = 0; i < world->count; i++)
		json_decref(world->sent[i].body);
	json_decref(world->framework);
	json_decref(world->status);
	ev_loop_destroy(world->loop);
	free(world);
	return 0;
}

/* ---- what the watches show ---------------------------------------------------------------------------------------- */

#define CONTAINER "template: {spec: {containers: [{name: tensorflow, image: i}, {name: pytorch, image: i}]}}"
#define WORKERS "tfReplicaSpecs: {Worker: {replicas: 2, " CONTAINER "}}"

/* A TFJob of kubeflow.org called j. */
static void show_job_status(struct world *world, enum job_kind kind, const char *uid, const char *labels,
			    const char *spec, const json_t *status)
{
	cleanup_free char *text = mem_printf("{apiVersion: %s, kind: %s, metadata: {namespace: ns, name: j, uid: %s, "
					     "resourceVersion: '%d', labels: %s}, spec: %s}",
					     job_names(kind)->api_version, job_names(kind)->kind, uid, ++world->version,
					     labels, spec);
	cleanup_json json_t *object = yaml_of(text);
	cleanup_free char *json = NULL;
	struct error err;

	if (status != NULL)
		json_object_set(object, "status", (json_t *)status);
	json = json_text(object);
	if (job_store_job(world->store, kind, json, strlen(json), &err) < 0)
		fail_msg("%s", err.message);
}

static void show_job(struct world *world, const char *spec)
{
	show_job_status(world, JOB_TFJOB, "uid-j", "{}", spec, world->status);
}

/* The first request so far of that method whose path ends so, from the index on; NULL: none. */
static const struct sent *find(const struct world *world, size_t from, const char *method, const char *end)
{
	for (size_t i = from; i < world->count; i++) {
		const struct sent *sent = &world->sent[i];
		size_t len = strlen(sent->path);

		if (strcmp(sent->method, method) == 0 && len >= strlen(end) &&
		    strcmp(sent->path + len - strlen(end), end) == 0)
			return sent;
	}
	return NULL;
}

/* Waits until it is sent. */
static const struct sent *expect_sent(struct world *world, size_t from, const char *method, const char *end)
{
	const struct sent *sent = find(world, from, method, end);

	while (sent == NULL) {
		if (!run_until_count(world->loop, &world->count, world->count + 1, limit_s))
			fail_msg("no %s %s was sent", method, end);
		sent = find(world, from, method, end);
	}
	return sent;
}

/* The Event with that reason; waits until it is posted. */
static const char *expect_event(struct world *world, const char *reason)
{
	size_t from = 0;

	for (;;) {
		const struct sent *sent = expect_sent(world, from, "POST", "/events");

		if (strcmp(json_str(sent->body, "reason"), reason) == 0)
			return json_str(sent->body, "message");
		from = (size_t)(sent - world->sent) + 1;
	}
}

static bool has_event(const struct world *world, const char *reason)
{
	const struct sent *sent;

	for (size_t from = 0; (sent = find(world, from, "POST", "/events")) != NULL;
	     from = (size_t)(sent - world->sent) + 1)
		if (strcmp(json_str(sent->body, "reason"), reason) == 0)
			return true;
	return false;
}

static void on_moment(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	*(bool *)timer->data = true;
}

/* Turns the loop until an item that is queued after a moment has been looked at. */
static void settle(struct world *world)
{
	bool over = false;
	ev_timer moment;

	ev_timer_init(&moment, on_moment, 1.2, 0);
	moment.data = &over;
	ev_timer_start(world->loop, &moment);
	assert_true(run_until(world->loop, &over, limit_s));
}

/* The stored Framework with a status of Workers, which has a letter for each: R runs, S has succeeded. */
static void show_framework(struct world *world, const char *workers)
{
	json_t *object = json_deep_copy(world->framework);
	cleanup_free char *text = NULL;
	json_t *tasks = json_array();
	struct error err;

	for (size_t i = 0; workers[i] != '\0'; i++)
		json_array_append_new(
			tasks, workers[i] == 'R'
				       ? json_pack("{s:s, s:{}}", "state", "AttemptRunning", "attemptStatus")
				       : json_pack("{s:s, s:{s:{s:i, s:{s:s}}}}", "state", "Completed", "attemptStatus",
						   "completionStatus", "code", 0, "type", "name", "Succeeded"));
	json_object_set_new(object, "status",
			    json_pack("{s:s, s:{s:[{s:s, s:o}]}}", "state", "AttemptRunning", "attemptStatus",
				      "taskRoleStatuses", "name", "worker", "taskStatuses", tasks));
	store_as(world, &world->framework, object, "uid-f");
	text = json_text(object);
	if (job_store_framework(world->store, text, strlen(text), false, &err) < 0)
		fail_msg("%s", err.message);
}

/* "Running": the last condition of a status that was sent. */
static const char *last_condition(const struct sent *sent)
{
	const json_t *conditions = json_path(sent->body, "status", "conditions", NULL);

	return json_str(json_array_get(conditions, json_array_size(conditions) - 1), "type");
}

/* A job with a Framework, both of whose Workers run, and the status that says so. */
static void begin(struct world *world, const char *labels, const char *spec)
{
	show_job_status(world, JOB_TFJOB, "uid-j", labels, spec, NULL);
	expect_sent(world, 0, "POST", "/frameworks");
	show_framework(world, "RR");
	assert_string_equal(last_condition(expect_sent(world, 0, "PATCH", "/tfjobs/j/status")), "Running");
}

/* ---- tests -------------------------------------------------------------------------------------------------------- */

/* A change that is refused is told, and the job goes on as it was, to its end: by default the first Worker decides. Its
 * Framework is stopped, and then the job has succeeded. */
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
	static const char gone[] = "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"j\",\"uid\":\"uid-f\"}}";
	struct world *world = *state;
	size_t from;

	begin(world, "{}", "{" WORKERS "}");
	from = world->count;
	/* the job is deleted and made anew, before its Framework has gone */
	show_job_status(world, JOB_TFJOB, "uid-anew", "{}", "{" WORKERS "}", NULL);
	settle(world);
	assert_null(find(world, from, "PATCH", "/frameworks/j"));
	assert_false(has_event(world, "NamingConflict"));
	job_store_framework_gone(world->store, gone, strlen(gone));
	assert_string_equal(json_str(json_array_get(json_path(expect_sent(world, from, "POST", "/frameworks")->body,
							      "metadata", "ownerReferences", NULL),
						    0),
				     "uid"),
			    "uid-anew");
}

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
	job_events_free(world->act.events);
	world->act.events = job_events_new(world->client);
	from = world->count;
	job_events_post(world->act.events, &job, "Normal", "A", "text");
	assert_string_equal(
		json_str(json_object_get(expect_sent(world, from, "POST", "/events")->body, "metadata"), "name"), name);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_before_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign, setup, teardown),
		cmocka_unit_test_setup_teardown(test_former, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_second_term, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_conflict, setup, teardown),
		cmocka_unit_test_setup_teardown(test_labels, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed_while_creating, setup, teardown),
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pace, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
