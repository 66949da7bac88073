/* fc-jobs without its watches, against a scripted API server: tests show it jobs and Frameworks as watches do, say what
 * is answered, and look at what it sends. Shared by test_jobs_{act,change,ended,gone,large,late,writes}.c. */
#ifndef UNIT_JOBS_SERVER_H
#define UNIT_JOBS_SERVER_H

#include "tests/unit/jobs_world.h"

#include <ev.h>
#include <malloc.h>

#include "common/base/clock.h"
#include "common/framework/codes.h"
#include "common/framework/names.h"
#include "jobs/act.h"
#include "tests/merge.h"
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
	bool lacks_subresource; /* what it tells in doubt */
	int generation;         /* of the jobs that are shown; 0: they have none */
	ev_timer work;
	ev_prepare before_sleep;
};

static inline bool leads(void *arg)
{
	return ((struct world *)arg)->leads;
}

/* As a server answers whose CRDs have all got a status subresource, or lost it. */
static inline void on_doubt(void *arg, enum job_kind kind)
{
	struct world *world = arg;

	world->act.status_subresource[kind] = !world->lacks_subresource;
}

static inline void on_wake(void *arg)
{
	struct world *world = arg;

	ev_timer_set(&world->work, 0, 0);
	ev_timer_start(world->loop, &world->work);
}

static inline void on_work(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
}

static inline void on_before_sleep(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	struct world *world = prepare->data;

	(void)loop;
	(void)events;
	if (act_run(&world->act, 256, INT64_MAX))
		on_wake(world);
}

/* *stored becomes that, with a version, and another generation if the spec is another one. */
static inline void store_as(struct world *world, json_t **stored, json_t *object, const char *uid)
{
	cleanup_free char *version = mem_printf("%d", ++world->version);
	json_t *meta = json_object_get(object, "metadata");
	int64_t generation = json_int(json_object_get(*stored, "metadata"), "generation", 0);
	json_t *spec = json_object_get(object, "spec");

	if (*stored == NULL || (spec != NULL && !json_equal(spec, json_object_get(*stored, "spec"))))
		generation++;

	json_object_set_new(meta, "namespace", json_string("ns"));
	json_object_set_new(meta, "name", json_string("j"));
	json_object_set_new(meta, "uid", json_string(uid));
	json_object_set_new(meta, "resourceVersion", json_string(version));
	json_object_set_new(meta, "generation", json_integer(generation));
	json_decref(*stored);
	*stored = object;
}

/* What a server answers who is asked for the metadata alone. */
static inline char *metadata_of(const json_t *object)
{
	cleanup_json json_t *answered = json_pack("{s:s, s:s, s:O}", "kind", "PartialObjectMetadata", "apiVersion",
						  "meta.k8s.io/v1", "metadata", json_object_get(object, "metadata"));

	return json_text(answered);
}

/* A GET of the job j. */
static inline void answer_job(struct http_conn *conn, const char *uid, const char *rest)
{
	cleanup_free char *text = mem_printf("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"j\",\"uid\":\"%s\","
					     "\"resourceVersion\":\"9\"%s}}",
					     uid, rest);

	http_reply(conn, 200, "", text);
}

/* A GET of the Framework. */
static inline void answer_framework(const struct world *world, struct http_conn *conn)
{
	cleanup_free char *text = NULL;

	if (world->framework == NULL) {
		http_reply(
			conn, 404, "",
			"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"NotFound\",\"code\":404,\"message\":"
			"\"gone\",\"details\":{\"name\":\"j\",\"group\":\"frameworkcontroller.microsoft.com\","
			"\"kind\":\"frameworks\"}}");
		return;
	}
	text = json_text(world->framework);
	http_reply(conn, 200, "", text);
}

/* As the server stores what is sent. */
static inline void answer(struct world *world, struct http_conn *conn, const json_t *body)
{
	cleanup_json json_t *other = NULL;
	json_t **stored = &other;
	json_t *object = json_pack("{s:{}}", "metadata");
	cleanup_free char *text = NULL;

	if (strcmp(conn->method, "GET") == 0 && strstr(conn->path, "/tfjobs/j") != NULL) {
		answer_job(conn, "uid-j", "");
		json_decref(object);
		return;
	}
	if (strstr(conn->path, "/frameworks") != NULL)
		stored = &world->framework;
	if (stored == &world->framework && strcmp(conn->method, "GET") == 0) {
		answer_framework(world, conn);
		json_decref(object);
		return;
	}
	if (*stored != NULL && strcmp(conn->method, "PATCH") == 0)
		merge_patch(object, *stored);
	if (body != NULL)
		merge_patch(object, body);
	if (strstr(conn->path, "/tfjobs/j") != NULL && strcmp(conn->method, "PATCH") == 0) {
		if (world->status == NULL)
			world->status = json_object();
		merge_patch(world->status, json_object_get(body, "status"));
	}
	if (json_equal(object, *stored)) { /* what changes nothing makes no version */
		json_decref(object);
		object = *stored;
	} else {
		store_as(world, stored, object, "uid-f");
	}
	text = strstr(conn->headers, "as=PartialObjectMetadata") == NULL ? json_text(object) : metadata_of(object);
	http_reply(conn, strcmp(conn->method, "POST") == 0 ? 201 : 200, "", text);
}

static inline void on_request(void *arg, struct http_conn *conn)
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

static inline int setup(void **state)
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
				  .doubt = on_doubt,
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

static inline int teardown(void **state)
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

/* ---- what the watches show ----------------------------------------------------------------------------------------
 */

#define CONTAINER "template: {spec: {containers: [{name: tensorflow, image: i}, {name: pytorch, image: i}]}}"
#define WORKERS "tfReplicaSpecs: {Worker: {replicas: 2, " CONTAINER "}}"

/* A TFJob of kubeflow.org called j. */
static inline void show_job_status(struct world *world, enum job_kind kind, const char *uid, const char *labels,
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
	if (world->generation > 0)
		json_object_set_new(json_object_get(object, "metadata"), "generation", json_integer(world->generation));
	json = json_text(object);
	if (job_store_job(world->store, kind, &(struct reflector_object){.data = json, .len = strlen(json)}, &err) < 0)
		fail_msg("%s", err.message);
}

static inline void show_job(struct world *world, const char *spec)
{
	show_job_status(world, JOB_TFJOB, "uid-j", "{}", spec, world->status);
}

/* The first request so far of that method whose path ends so, from the index on; NULL: none. */
static inline const struct sent *find(const struct world *world, size_t from, const char *method, const char *end)
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
static inline const struct sent *expect_sent(struct world *world, size_t from, const char *method, const char *end)
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
static inline const char *expect_event(struct world *world, const char *reason)
{
	size_t from = 0;

	for (;;) {
		const struct sent *sent = expect_sent(world, from, "POST", "/events");

		if (strcmp(json_str(sent->body, "reason"), reason) == 0)
			return json_str(sent->body, "message");
		from = (size_t)(sent - world->sent) + 1;
	}
}

static inline bool has_event(const struct world *world, const char *reason)
{
	const struct sent *sent;

	for (size_t from = 0; (sent = find(world, from, "POST", "/events")) != NULL;
	     from = (size_t)(sent - world->sent) + 1)
		if (strcmp(json_str(sent->body, "reason"), reason) == 0)
			return true;
	return false;
}

static inline void on_moment(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	*(bool *)timer->data = true;
}

/* Turns the loop until an item that is queued after a moment has been looked at. On a machine that stands still for a
 * while, the loop has turned often enough all the same. */
static inline void settle(struct world *world)
{
	for (int i = 0; i < 120; i++) {
		bool over = false;
		ev_timer moment;

		ev_timer_init(&moment, on_moment, 0.01, 0);
		moment.data = &over;
		ev_timer_start(world->loop, &moment);
		assert_true(run_until(world->loop, &over, limit_s));
	}
}

static inline json_t *failed_task(const char *state, int delay_sec, int code, const char *diagnostics)
{
	return json_pack("{s:s, s:{s:i}, s:{s:{s:i, s:{s:s}, s:s}}}", "state", state, "retryPolicyStatus",
			 "retryDelaySec", delay_sec, "attemptStatus", "completionStatus", "code", code, "type", "name",
			 "Failed", "diagnostics", diagnostics);
}

static inline json_t *task_of(char letter)
{
	switch (letter) {
	case 'R': return json_pack("{s:s, s:{}}", "state", "AttemptRunning", "attemptStatus");
	case 'S':
		return json_pack("{s:s, s:{s:{s:i, s:{s:s}}}}", "state", "Completed", "attemptStatus",
				 "completionStatus", "code", 0, "type", "name", "Succeeded");
	case 'u':
		return failed_task("AttemptCompleted", 10, CODE_POD_CREATION_PERMANENT_ERROR,
				   "Failed to create Pod: no");
	case 'x': return failed_task("Completed", 0, CODE_FRAMEWORK_ATTEMPT_COMPLETION, "stopped");
	default: return failed_task("AttemptCompleted", 10, 1, "Pod failed");
	}
}

/* The watch shows the Framework as it is stored. */
static inline void show_stored(struct world *world)
{
	cleanup_free char *text = json_text(world->framework);
	struct error err;

	if (job_store_framework(world->store, &(struct reflector_object){.data = text, .len = strlen(text)},
				JOB_STORE_WATCHED, &err) < 0)
		fail_msg("%s", err.message);
}

/* The only job, which is in the queue. */
static inline struct item *first_item(struct world *world)
{
	struct item *item;

	job_store_queue_all(world->store);
	item = job_store_next(world->store);
	job_store_queue(item);
	return item;
}

/* Somebody adds that to the stored Framework. */
static inline void change_stored(struct world *world, const char *addition)
{
	cleanup_json json_t *added = yaml_of(addition);
	json_t *object = json_deep_copy(world->framework);

	merge_patch(object, added);
	store_as(world, &world->framework, object, "uid-f");
}

/* A member of the stored Framework's spec. */
static inline const json_t *stored_member(const struct world *world, const char *name)
{
	return json_object_get(json_object_get(world->framework, "spec"), name);
}

static inline bool on_framework(const struct http_conn *conn, const char *method)
{
	return strcmp(conn->method, method) == 0 && strstr(conn->path, "/frameworks") != NULL;
}

#define STATUS(code, reason) \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" reason "\",\"code\":" #code ",\"message\":\"no\"}"

/* The server carries out the next write of the Framework, and its answer is lost in a 504. */
static inline bool carry_out_and_lose(struct world *world, struct http_conn *conn, const char *method)
{
	json_t *object;

	if (!on_framework(conn, method))
		return false;
	world->script = NULL;
	object = world->framework == NULL ? json_object() : json_deep_copy(world->framework);
	merge_patch(object, world->sent[world->count - 1].body);
	store_as(world, &world->framework, object, "uid-f");
	http_reply(conn, 504, "", STATUS(504, "Timeout"));
	return true;
}

/* The stored Framework in that state, with a status of Workers, which has a letter for each: R runs, S has succeeded, f
 * has failed and is to be retried, u as well because its Pod was refused, x was stopped. ended: so has the Framework.
 */
static inline void show_framework_as(struct world *world, const char *state, const char *workers, bool ended)
{
	json_t *object = json_deep_copy(world->framework);
	json_t *tasks = json_array();
	json_t *attempt = json_pack("{s:[{s:s, s:o}]}", "taskRoleStatuses", "name", "worker", "taskStatuses", tasks);

	if (ended)
		json_object_set_new(attempt, "completionStatus",
				    json_pack("{s:i, s:{s:s}}", "code", 0, "type", "name", "Succeeded"));

	for (size_t i = 0; workers[i] != '\0'; i++)
		json_array_append_new(tasks, task_of(workers[i]));
	json_object_set_new(object, "status", json_pack("{s:s, s:o}", "state", state, "attemptStatus", attempt));
	store_as(world, &world->framework, object, "uid-f");
	show_stored(world);
}

static inline void show_framework(struct world *world, const char *workers)
{
	show_framework_as(world, "AttemptRunning", workers, false);
}

static inline void framework_goes(struct world *world)
{
	static const char gone[] = "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"j\",\"uid\":\"uid-f\"}}";

	job_store_framework_gone(world->store, gone, strlen(gone));
}

/* A member of the last condition of a status that was sent. */
static inline const char *last_condition_member(const struct sent *sent, const char *name)
{
	const json_t *conditions = json_path(sent->body, "status", "conditions", NULL);

	return json_str(json_array_get(conditions, json_array_size(conditions) - 1), name);
}

/* "Running" */
static inline const char *last_condition(const struct sent *sent)
{
	return last_condition_member(sent, "type");
}

/* A job with a Framework, both of whose Workers run, and the status that says so. */
static inline void begin(struct world *world, const char *labels, const char *spec)
{
	show_job_status(world, JOB_TFJOB, "uid-j", labels, spec, NULL);
	expect_sent(world, 0, "POST", "/frameworks");
	show_framework(world, "RR");
	assert_string_equal(last_condition(expect_sent(world, 0, "PATCH", "/tfjobs/j/status")), "Running");
}

/* What malloc() has given out. A sanitizer's or memcheck's does not say: then the test is skipped. */
static inline size_t held_bytes(void)
{
	struct mallinfo2 info = mallinfo2();
	size_t bytes = info.uordblks + info.hblkhd;

	if (bytes == 0)
		skip();
	return bytes;
}

#endif
