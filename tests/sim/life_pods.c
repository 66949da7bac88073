/* Pods that do not come to run, in lively worlds: the scheduler finds no node for a while, and the kubelet fails to
 * start containers for one reason after the other, or for ever; see sim.h. */
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "tests/sim/sim.h"

enum {
	UNSCHEDULABLE_OFTEN = 150, /* of a thousand Pods */
	FAILS_OFTEN = 300,
	UNSCHEDULABLE_MS = 40 * 1000,
	STEPS = 7,
	STEP_MS = 12 * 1000,
	LONG_MIN_MS = 55 * 1000, /* around the time after which a failure is forgotten */
	LONG_MAX_MS = 80 * 1000,
};

/* Of a waiting container. */
static const struct reason {
	const char *name;
	bool init;
	bool fails;
	bool never;
} reasons[] = {
	{.name = "ErrImagePull", .fails = true},
	{.name = "ImagePullBackOff", .fails = true},
	{.name = "ErrImagePull", .fails = true, .init = true},
	{.name = "ImagePullBackOff", .fails = true, .init = true},
	{.name = "CreateContainerConfigError", .fails = true},
	{.name = "CrashLoopBackOff", .fails = true, .init = true},
	{.name = "RunContainerError", .fails = true},
	{.name = "ContainerCreating"},
	{.name = "PodInitializing"},
	{.name = "ContainerCreating"},
	{.name = "InvalidImageName", .never = true, .fails = true},
};

static bool touched(const struct world *world, const struct instance *instance)
{
	return world->lively && !world->plans[instance->plan].tame;
}

/* The Pod while it may still come to run. */
static struct object *pending(struct world *world, const char *uid)
{
	struct object *pod = api_find_uid(world, KIND_POD, uid);

	return pod == NULL || pod->deleting ? NULL : pod;
}

static void later(struct world *world, int64_t low_ms, int64_t high_ms, void (*run)(struct world *world, void *arg),
		  const char *uid)
{
	at(world, world->now_ms + life_draw(world, low_ms, high_ms), NULL, run, free, mem_strdup(uid));
}

/* ---- the scheduler ---- */

static void set_scheduled(struct world *world, struct object *pod, const char *status, const char *reason)
{
	json_t *changed = api_copy(pod);
	char time[TIME_RFC3339_SIZE];

	time_format_rfc3339((world->wall_base_ms + world->now_ms) / 1000, time);
	json_object_set_new(json_object_get(changed, "status"), "conditions",
			    json_pack("[{s:s,s:s,s:s,s:s,s:s}]", "type", "PodScheduled", "status", status, "reason",
				      reason, "message", "0 of 1 nodes", "lastTransitionTime", time));
	api_replace(world, pod, changed);
}

static void scheduled(struct world *world, void *arg)
{
	cleanup_free char *uid = arg;
	struct object *pod = pending(world, uid);

	if (pod == NULL)
		return;
	kubelet_find(world, uid)->unschedulable = false;
	set_scheduled(world, pod, "True", "");
	kubelet_bind(world, uid);
}

static void unschedulable(struct world *world, void *arg)
{
	cleanup_free char *uid = arg;
	struct object *pod = pending(world, uid);
	struct instance *instance = kubelet_find(world, uid);

	if (pod == NULL)
		return;
	instance->unschedulable = true;
	instance->unschedulable_ms = world->now_ms;
	set_scheduled(world, pod, "False", "Unschedulable");
	later(world, 500, UNSCHEDULABLE_MS, scheduled, uid);
}

static void gated(struct world *world, void *arg)
{
	cleanup_free char *uid = arg;
	struct object *pod = pending(world, uid);

	if (pod == NULL)
		return;
	set_scheduled(world, pod, "False", "SchedulingGated");
	later(world, 500, UNSCHEDULABLE_MS, life_chance(world, 500) ? scheduled : unschedulable, uid);
}

bool life_pod_created(struct world *world, const struct instance *instance)
{
	int64_t most_ms;

	if (!touched(world, instance) || !life_chance(world, UNSCHEDULABLE_OFTEN))
		return false;
	/* a scheduler that is busy says nothing of a Pod for a while */
	most_ms = life_chance(world, 200) ? UNSCHEDULABLE_MS : 800;
	later(world, 1, most_ms, life_chance(world, 250) ? gated : unschedulable, instance->pod_uid);
	return true;
}

/* ---- the kubelet ---- */

static void note(const struct world *world, struct instance *instance, const struct reason *reason)
{
	if (reason != NULL && reason->fails) {
		if (!instance->failing)
			instance->fails_since_ms = world->now_ms;
		if (instance->failed_ms == 0)
			instance->failed_ms = world->now_ms;
		instance->never = instance->never || reason->never;
	} else if (instance->failing && instance->cleared_ms == 0) {
		instance->cleared_ms = world->now_ms;
	}
	instance->failing = reason != NULL && reason->fails;
	instance->never_now = reason != NULL && reason->never;
}

static void set_waiting(struct world *world, struct object *pod, const struct reason *reason)
{
	json_t *changed = api_copy(pod);
	json_t *status = json_object_get(changed, "status");

	json_object_del(status, "initContainerStatuses");
	json_object_del(status, "containerStatuses");
	if (reason != NULL)
		json_object_set_new(status, reason->init ? "initContainerStatuses" : "containerStatuses",
				    json_pack("[{s:s,s:{s:{s:s,s:s}}}]", "name", reason->init ? "setup" : "main",
					      "state", "waiting", "reason", reason->name, "message", "it says why"));
	api_replace(world, pod, changed);
}

static void waits(struct world *world, void *arg)
{
	cleanup_free char *uid = arg;
	struct object *pod = pending(world, uid);
	struct instance *instance = kubelet_find(world, uid);
	const struct reason *reason = &reasons[life_draw(world, 0, (int64_t)ARRAY_LEN(reasons) - 1)];

	if (pod == NULL)
		return;
	if (instance->waits_left-- == 0)
		reason = NULL;
	note(world, instance, reason);
	set_waiting(world, pod, reason);
	if (reason == NULL)
		kubelet_start(world, uid);
	else if (!reason->fails && life_chance(world, 200))
		later(world, LONG_MIN_MS, LONG_MAX_MS, waits, uid);
	else if (instance->waits_left > 0 || life_chance(world, 600)) /* otherwise it stays so */
		later(world, 200, STEP_MS, waits, uid);
}

bool life_pod_bound(struct world *world, struct instance *instance)
{
	if (!touched(world, instance) || !life_chance(world, FAILS_OFTEN))
		return false;
	instance->waits_left = (int)life_draw(world, 1, STEPS);
	later(world, 1, 1000, waits, instance->pod_uid);
	return true;
}
