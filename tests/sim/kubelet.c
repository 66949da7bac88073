/* The scheduler and the kubelets: Pods get a node, run as the workload says, end, and go when they are deleted; see
 * sim.h. What runs is kept apart from the objects: a forcibly deleted Pod's containers run on for a while. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/sim/sim.h"

/* In some worlds the Pods of some Frameworks outlast their grace by far. */
enum { STUCK_EVERY = 5, STUCK_MS = 150 * 1000 };

struct instance *kubelet_find(struct world *world, const char *uid)
{
	struct instance *instance = world->instances;

	while (instance != NULL && strcmp(instance->pod_uid, uid) != 0)
		instance = instance->next;
	return instance;
}

static void later(struct world *world, int64_t low_ms, int64_t high_ms, void (*run)(struct world *world, void *arg),
		  const char *uid)
{
	if (world->faults.calm || world->healed)
		high_ms = low_ms + (high_ms - low_ms) / 8;
	at(world, world->now_ms + pick(world, low_ms, high_ms), NULL, run, free, mem_strdup(uid));
}

static void set_status(json_t *pod, const char *name, json_t *value)
{
	json_object_set_new(json_object_get(pod, "status"), name, value);
}

static void set_running(struct world *world, struct instance *instance, bool running)
{
	instance->running = running;
	world->changed = true;
	trace(world, "%s %s %s", instance->pod_uid, instance->pod_name, running ? "runs" : "has stopped");
}

/* What its container says at its end; NULL: nothing. */
static json_t *last_words(struct world *world)
{
	char text[600];
	size_t len = 0;

	if (world->faults.status_max == 0)
		return NULL;
	while (len + 1 < sizeof(text))
		text[len++] = (char)pick(world, 'a', 'z');
	text[len] = '\0';
	return json_string(text);
}

static void exited(struct world *world, void *arg)
{
	cleanup_free char *uid = arg;
	struct instance *instance = kubelet_find(world, uid);
	struct object *pod = api_find_uid(world, KIND_POD, uid);
	int64_t duration_ms;
	char time[TIME_RFC3339_SIZE];
	json_t *changed;
	int code;

	if (!instance->running)
		return;
	set_running(world, instance, false);
	if (pod == NULL)
		return;
	code = workload_run(world, instance, &duration_ms);
	time_format_rfc3339((world->wall_base_ms + world->now_ms) / 1000, time);
	changed = api_copy(pod);
	set_status(changed, "phase", json_string(code == 0 ? "Succeeded" : "Failed"));
	set_status(changed, "containerStatuses",
		   json_pack("[{s:s,s:{s:{s:i,s:s,s:o*}}}]", "name", "main", "state", "terminated", "exitCode", code,
			     "finishedAt", time, "message", last_words(world)));
	api_replace(world, pod, changed);
}

static void started(struct world *world, void *arg)
{
	cleanup_free char *uid = arg;
	struct object *pod = api_find_uid(world, KIND_POD, uid);
	struct instance *instance = kubelet_find(world, uid);
	int64_t duration_ms;
	json_t *changed;

	if (pod == NULL || pod->deleting)
		return;
	set_running(world, instance, true);
	changed = api_copy(pod);
	set_status(changed, "phase", json_string("Running"));
	set_status(changed, "podIP", json_string("10.0.0.1"));
	api_replace(world, pod, changed);
	depends_pod_started(world, pod);
	workload_run(world, instance, &duration_ms);
	if (duration_ms != INT64_MAX)
		at(world, world->now_ms + duration_ms, NULL, exited, free, mem_strdup(uid));
}

void kubelet_start(struct world *world, const char *uid)
{
	later(world, 1, 1500, started, uid);
}

static void bound(struct world *world, void *arg)
{
	cleanup_free char *uid = arg;
	struct object *pod = api_find_uid(world, KIND_POD, uid);
	json_t *changed;
	json_t *spec;

	if (pod == NULL || pod->deleting)
		return;
	changed = api_copy(pod);
	spec = json_copy(json_object_get(changed, "spec"));
	json_object_set_new(spec, "nodeName", json_string("n1"));
	json_object_set_new(changed, "spec", spec);
	pod->bound = true;
	api_replace(world, pod, changed);
	if (!life_pod_bound(world, kubelet_find(world, uid)))
		kubelet_start(world, uid);
}

void kubelet_bind(struct world *world, const char *uid)
{
	if (!gangs_hold(world, uid))
		later(world, 1, 800, bound, uid);
}

void kubelet_pod_created(struct world *world, struct object *pod)
{
	struct instance *instance = mem_calloc(1, sizeof(*instance));

	snprintf(instance->pod_uid, sizeof(instance->pod_uid), "%s", pod->uid);
	snprintf(instance->pod_name, sizeof(instance->pod_name), "%s", pod->name);
	instance->plan = pod->plan;
	snprintf(instance->framework_uid, sizeof(instance->framework_uid), "%s",
		 annotation(pod->json, "FC_FRAMEWORK_UID"));
	snprintf(instance->role, sizeof(instance->role), "%s", annotation(pod->json, "FC_TASKROLE_NAME"));
	snprintf(instance->task_uid, sizeof(instance->task_uid), "%s", annotation(pod->json, "FC_TASK_UID"));
	snprintf(instance->attempt_uid, sizeof(instance->attempt_uid), "%s",
		 annotation(pod->json, "FC_FRAMEWORK_ATTEMPT_INSTANCE_UID"));
	instance->index = atoi(annotation(pod->json, "FC_TASK_INDEX"));
	instance->task_attempt = atoi(annotation(pod->json, "FC_TASK_ATTEMPT_ID"));
	instance->framework_attempt = atoi(annotation(pod->json, "FC_FRAMEWORK_ATTEMPT_ID"));
	instance->straggler = api_find_uid(world, KIND_CONFIG_MAP, pod->owner_uid) == NULL;
	instance->next = world->instances;
	world->instances = instance;
	if (!life_pod_created(world, instance))
		kubelet_bind(world, pod->uid);
}

void kubelet_set_late(struct world *world, const char *uid, bool late)
{
	kubelet_find(world, uid)->late = late;
}

void kubelet_framework_gone(struct world *world, const char *framework_uid)
{
	for (struct instance *instance = world->instances; instance != NULL; instance = instance->next)
		if (strcmp(instance->framework_uid, framework_uid) == 0)
			instance->late = instance->late || instance->straggler;
}

/* ---- the end ---- */

static void removed(struct world *world, void *arg)
{
	cleanup_free char *uid = arg;
	struct object *pod = api_find_uid(world, KIND_POD, uid);

	if (pod != NULL)
		api_delete(world, pod, 0, false);
}

/* The containers have ended; some kubelets say how before the object goes. */
static void killed(struct world *world, void *arg)
{
	cleanup_free char *uid = arg;
	struct object *pod = api_find_uid(world, KIND_POD, uid);
	struct instance *instance = kubelet_find(world, uid);

	if (instance->running)
		set_running(world, instance, false);
	if (pod == NULL)
		return;
	if (chance(world, 400)) {
		json_t *changed = api_copy(pod);

		set_status(changed, "phase", json_string("Failed"));
		set_status(changed, "containerStatuses",
			   json_pack("[{s:s,s:{s:{s:i}}}]", "name", "main", "state", "terminated", "exitCode", 137));
		api_replace(world, pod, changed);
	}
	later(world, 1, 500, removed, uid);
}

void kubelet_pod_deleting(struct world *world, struct object *pod)
{
	bool slow = chance(world, 50);

	if (!world->plans[pod->plan].strict && world->seed % STUCK_EVERY == 0)
		later(world, STUCK_MS, STUCK_MS, killed, pod->uid);
	else
		later(world, 10, slow ? 30000 : 3000, killed, pod->uid);
}

void kubelet_pod_forced(struct world *world, const struct object *pod)
{
	struct instance *instance = kubelet_find(world, pod->uid);

	if (instance->running)
		later(world, 10, 3000, killed, pod->uid);
}

void kubelet_free(struct world *world)
{
	while (world->instances != NULL) {
		struct instance *instance = world->instances;

		world->instances = instance->next;
		free(instance);
	}
}
