/* Frameworks, or jobs, from their creation until all are where they should be: how long it takes as a client sees it,
 * by a watch of its own. With --latency also how long the news of a Pod takes until it is in its Framework's status. */
#include <ev.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/gang.h"
#include "common/kube/reflector.h"
#include "tests/bench/tool/bench.h"

/* When the watch first showed that the Pod runs, and when it first showed that its Framework's status says so. */
struct timed_pod {
	UT_hash_handle hh;
	char *uid;
	int64_t runs_us;
	int64_t written_us;
};

/* One Framework: how far it is. */
struct item {
	UT_hash_handle hh;
	char *name;
	bool there;
};

struct load;

/* What stands for the work. */
struct kind {
	const char *name;
	const char *api;
	const char *resource;
	void (*make)(struct buf *out, const struct bench_options *options, size_t index);
	bool (*is_there)(struct load *load, json_t *object);
};

struct load {
	const struct bench_options *options;
	const struct kind *kind;
	struct bench_api api;
	struct reflector *frameworks;
	struct reflector *pods;
	struct item *items;
	struct timed_pod *by_uid;
	size_t there;     /* Frameworks that are where they should be */
	size_t creating;  /* left to create */
	size_t synced;    /* watches that are live */
	int64_t first_us; /* --until created: when the first Pod was seen, and the last one */
	int64_t last_us;
	int64_t created_us; /* when the last creation was answered */
	int64_t there_us;   /* when the last Framework was there */
	uint64_t events;    /* of Frameworks: their changes, mostly writes of their status */
};

/* ---- news -------------------------------------------------------------------------------------------------------- */

static struct timed_pod *pod_get(struct load *load, const char *uid)
{
	struct timed_pod *pod;

	HASH_FIND_STR(load->by_uid, uid, pod);
	if (pod == NULL) {
		pod = mem_calloc(1, sizeof(*pod));
		pod->uid = mem_strdup(uid);
		HASH_ADD_KEYPTR(hh, load->by_uid, pod->uid, strlen(pod->uid), pod);
	}
	return pod;
}

static bool until_created(const struct load *load)
{
	return strcmp(load->options->until, "created") == 0;
}

static void on_pod(void *arg, json_t *object)
{
	struct load *load = arg;
	const char *phase = json_str(json_object_get(object, "status"), "phase");
	struct timed_pod *pod;

	if (until_created(load)) {
		pod_get(load, json_str(json_object_get(object, "metadata"), "uid"));
		load->last_us = bench_now_us();
		if (load->first_us == 0)
			load->first_us = load->last_us;
		if (HASH_COUNT(load->by_uid) == (size_t)(load->options->frameworks * load->options->tasks)) {
			load->there = (size_t)load->options->frameworks;
			load->there_us = load->last_us;
		}
		return;
	}
	if (phase == NULL || strcmp(phase, "Running") != 0)
		return;
	pod = pod_get(load, json_str(json_object_get(object, "metadata"), "uid"));
	if (pod->runs_us == 0)
		pod->runs_us = bench_now_us();
}

/* Whether all Tasks run; notes when each was first seen to. */
static bool all_run(struct load *load, json_t *object)
{
	int64_t running = 0;
	const json_t *roles;
	struct error err;

	if (framework_decompress(object, &err) < 0)
		bench_fail("%s", err.message);
	roles = json_path(object, "status", "attemptStatus", "taskRoleStatuses", NULL);
	for (size_t i = 0; i < json_array_size(roles); i++) {
		const json_t *tasks = json_object_get(json_array_get(roles, i), "taskStatuses");

		for (size_t j = 0; j < json_array_size(tasks); j++) {
			const json_t *task = json_array_get(tasks, j);
			const char *state = json_str(task, "state");
			const char *uid = json_str(json_object_get(task, "attemptStatus"), "podUID");
			struct timed_pod *pod;

			if (state == NULL || strcmp(state, "AttemptRunning") != 0)
				continue;
			running++;
			if (!load->options->latency || uid == NULL)
				continue;
			pod = pod_get(load, uid);
			if (pod->written_us == 0)
				pod->written_us = bench_now_us();
		}
	}
	return running == load->options->tasks;
}

/* A job has reached the condition; ends the program if it has failed. */
static bool has_condition(const json_t *object, const char *wanted)
{
	const json_t *conditions = json_path(object, "status", "conditions", NULL);
	bool found = false;

	for (size_t i = 0; i < json_array_size(conditions); i++) {
		const json_t *condition = json_array_get(conditions, i);
		const char *type = json_str(condition, "type");
		const char *status = json_str(condition, "status");

		if (type == NULL || status == NULL || strcmp(status, "True") != 0)
			continue;
		if (strcmp(type, "Failed") == 0)
			bench_fail("a job has failed: %s", json_str(condition, "message"));
		found = found || strcmp(type, wanted) == 0;
	}
	return found;
}

static bool tfjob_is_there(struct load *load, json_t *object)
{
	(void)load;
	return has_condition(object, "Succeeded");
}

static bool job_is_there(struct load *load, json_t *object)
{
	(void)load;
	return has_condition(object, "Complete");
}

static bool framework_is_there(struct load *load, json_t *object)
{
	const char *until = load->options->until;
	const char *state = json_str(json_object_get(object, "status"), "state");

	if (until_created(load))
		return false; /* Pods say it */
	if (strcmp(until, "running") == 0)
		return all_run(load, object);
	return state != NULL && strcmp(state, "Completed") == 0;
}

static const struct kind kinds[] = {
	{"Framework", "frameworkcontroller.microsoft.com/v1", "frameworks", bench_framework, framework_is_there},
	{"TFJob", "kubeflow.org/v1", "tfjobs", bench_tfjob, tfjob_is_there},
	{"Job", "batch/v1", "jobs", bench_job, job_is_there},
};

static const struct kind *kind_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	bench_fail("--kind %s: expected Framework, TFJob or Job", name);
}

static void put_path(struct buf *out, const struct load *load)
{
	buf_printf(out, "/apis/%s/namespaces/%s/%s", load->kind->api, load->options->ns, load->kind->resource);
}

static void on_framework(void *arg, json_t *object)
{
	struct load *load = arg;
	const char *name = json_str(json_object_get(object, "metadata"), "name");
	struct item *item;

	load->events++;
	HASH_FIND_STR(load->items, name, item);
	if (item == NULL || item->there || !load->kind->is_there(load, object))
		return;
	item->there = true;
	load->there++;
	load->there_us = bench_now_us();
}

static void on_deleted(void *arg, json_t *object)
{
	(void)arg;
	(void)object;
}

static void on_live(void *arg, bool live)
{
	struct load *load = arg;

	if (live)
		load->synced++;
}

static const struct reflector_handler framework_handler = {
	.present = on_framework,
	.deleted = on_deleted,
	.live = on_live,
};

static const struct reflector_handler pod_handler = {
	.present = on_pod,
	.deleted = on_deleted,
	.live = on_live,
};

static void watch(struct load *load)
{
	cleanup_buf struct buf frameworks = {0};
	cleanup_free char *pods = mem_printf("/api/v1/namespaces/%s/pods", load->options->ns);
	struct reflector_options framework_options = {.what = load->kind->resource};
	const struct reflector_options pod_options = {
		.path = pods,
		.what = "Pods",
		.metadata_only = until_created(load),
	};
	size_t watches = 1;

	put_path(&frameworks, load);
	framework_options.path = frameworks.data;
	load->frameworks = reflector_new(load->api.loop, load->api.clients[0], &framework_options, &framework_handler,
					 load);
	reflector_start(load->frameworks);
	if (load->options->latency || until_created(load)) {
		load->pods = reflector_new(load->api.loop, load->api.clients[0], &pod_options, &pod_handler, load);
		reflector_start(load->pods);
		watches++;
	}
	while (load->synced < watches)
		ev_run(load->api.loop, EVRUN_ONCE);
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static void make_object(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct load *load = arg;

	request->method = "POST";
	put_path(path, load);
	load->kind->make(body, load->options, index);
}

static void on_created(void *arg, size_t index, const struct kube_answer *answer)
{
	struct load *load = arg;

	(void)index;
	(void)answer;
	load->created_us = bench_now_us();
}

static void expect_all(struct load *load)
{
	for (int64_t i = 0; i < load->options->frameworks; i++) {
		struct item *item = mem_calloc(1, sizeof(*item));

		item->name = mem_printf("%s%" PRId64, load->options->prefix, i);
		HASH_ADD_KEYPTR(hh, load->items, item->name, strlen(item->name), item);
	}
}

static void on_late(struct ev_loop *loop, ev_timer *timer, int events)
{
	const struct load *load = timer->data;

	(void)loop;
	(void)events;
	bench_fail("%zu of %" PRId64 " %s %s after %" PRId64 " s", load->there, load->options->frameworks,
		   load->kind->resource, load->options->until, load->options->seconds);
}

/* ---- result ------------------------------------------------------------------------------------------------------ */

static void print_latency(struct load *load)
{
	size_t count = 0;
	int64_t *us = mem_calloc(HASH_COUNT(load->by_uid) + 1, sizeof(*us));
	struct timed_pod *pod;
	struct timed_pod *next;

	HASH_ITER(hh, load->by_uid, pod, next)
		if (pod->runs_us != 0 && pod->written_us != 0)
			us[count++] = pod->written_us > pod->runs_us ? pod->written_us - pod->runs_us : 0;
	printf(",\"latencies\":%zu,\"latency_p50_ms\":%.1f,\"latency_p99_ms\":%.1f", count,
	       (double)bench_percentile(us, count, 50) / 1000, (double)bench_percentile(us, count, 99) / 1000);
	free(us);
}

static void free_all(struct load *load)
{
	struct item *item;
	struct item *next_item;
	struct timed_pod *pod;
	struct timed_pod *next_pod;

	reflector_free(load->frameworks);
	reflector_free(load->pods);
	bench_disconnect(&load->api);
	HASH_ITER(hh, load->items, item, next_item) {
		HASH_DEL(load->items, item);
		free(item->name);
		free(item);
	}
	HASH_ITER(hh, load->by_uid, pod, next_pod) {
		HASH_DEL(load->by_uid, pod);
		free(pod->uid);
		free(pod);
	}
}

int bench_load(const struct bench_options *options)
{
	struct load load = {.options = options, .kind = kind_find(options->kind)};
	const struct bench_pump pump = {
		.count = (size_t)options->frameworks,
		.at_once = (size_t)options->at_once,
		.make = make_object,
		.done = on_created,
		.arg = &load,
	};
	struct bench_run *run;
	ev_timer late;
	int64_t begin_us;

	if (strcmp(options->until, "completed") != 0 && strcmp(options->until, "running") != 0 &&
	    strcmp(options->until, "created") != 0)
		bench_fail("--until %s: expected created, running or completed", options->until);
	if (strcmp(options->kind, "Framework") != 0 && strcmp(options->until, "completed") != 0)
		bench_fail("--until %s: expected completed with --kind %s", options->until, options->kind);
	bench_connect(&load.api, options);
	expect_all(&load);
	watch(&load);
	ev_timer_init(&late, on_late, (double)options->seconds, 0);
	late.data = &load;
	ev_timer_start(load.api.loop, &late);
	begin_us = bench_now_us();
	bench_set_rate(&load.api, options->rate);
	run = bench_pump_start(&load.api, &pump, &load.creating);
	while (load.creating > 0 || load.there < (size_t)options->frameworks)
		ev_run(load.api.loop, EVRUN_ONCE);
	ev_timer_stop(load.api.loop, &late);
	printf("{\"wall_s\":%.3f,\"created_s\":%.3f,\"framework_events\":%" PRIu64,
	       (double)(load.there_us - begin_us) / 1e6, (double)(load.created_us - begin_us) / 1e6, load.events);
	if (options->latency)
		print_latency(&load);
	if (until_created(&load))
		printf(",\"pods_per_s\":%.1f",
		       (double)HASH_COUNT(load.by_uid) / ((double)(load.last_us - load.first_us) / 1e6));
	puts("}");
	bench_pump_free(run);
	free_all(&load);
	return 0;
}
