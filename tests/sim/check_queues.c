/* What must hold of Frameworks in a queue: none that is not admitted has a Pod, its quota is kept until its last Pod is
 * gone, and given back then; a Framework has one Workload. See check.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "common/framework/workload.h"
#include "tests/objects.h"
#include "tests/sim/check.h"

enum { OVERDUE_MS = 15 * 1000 };

/* A Pod of the Framework that its owner has to know of: it came in time, and events tell of it. */
static const struct object *some_pod(const struct world *world, const char *framework_uid)
{
	for (const struct object *object = world->objects; object != NULL; object = object->next)
		if (object->kind == KIND_POD && !object->late && object_framework_name(object->json) != NULL &&
		    strcmp(annotation(object->json, "FC_FRAMEWORK_UID"), framework_uid) == 0)
			return object;
	return NULL;
}

/* Whether what holds of its Pods at other times holds of its: nobody deletes it so that they stay behind. */
static bool is_strict(const struct world *world, const char *ns, const char *workload)
{
	int plan = plan_find(ns, workload + strlen("framework-"));

	return plan >= 0 && world->plans[plan].strict;
}

void check_queue_released(struct world *world, const struct queued *queued)
{
	const char *uid = queues_owner(queued);
	const struct object *pod = some_pod(world, uid);

	if (pod != NULL && is_strict(world, queued->ns, meta_text(queued->json, "name")))
		violated(world, "the quota of %s is given back, and %s is still there", uid, pod->name);
}

void check_queue_patched(struct world *world, const struct queued *queued, const json_t *changed, bool status)
{
	struct queued after = *queued;

	after.json = (json_t *)(uintptr_t)changed;
	if ((queues_held(queued) && !queues_held(&after)) ||
	    (status && queues_is(queued, WORKLOAD_QUOTA_RESERVED) &&
	     (!queues_is(&after, WORKLOAD_QUOTA_RESERVED) || queues_is(&after, WORKLOAD_FINISHED))))
		check_queue_released(world, queued);
}

/* The Framework may have gone on before the request arrives. */
void check_queue_sent(const struct wire *wire)
{
	struct world *world = wire->world;
	size_t len = strlen(wire->path);
	cleanup_json json_t *body = NULL;
	struct object *framework;
	const json_t *status;

	if (!world->queued || strcmp(wire->method, "POST") != 0 || len < strlen("/workloads") ||
	    strcmp(wire->path + len - strlen("/workloads"), "/workloads") != 0 || member_blind(wire->member))
		return;
	body = json_parse(wire->body, strlen(wire->body), NULL);
	framework = api_find_uid(
		world, KIND_FRAMEWORK,
		json_str(json_array_get(json_path(body, "metadata", "ownerReferences", NULL), 0), "uid"));
	status = framework == NULL ? NULL : status_of(framework);
	if (framework != NULL && !framework->written_late && may_act(wire->member, framework->ns, framework->name) &&
	    (state_of(status) != STATE_CREATION_PENDING || is_set(status, "admission")))
		violated(world, "a Workload is asked for, for %s, which is not suspended", framework->uid);
}

void check_queue_first(const struct wire *wire, const struct object *pod)
{
	struct world *world = wire->world;
	struct object *framework = api_framework(world, pod->plan);
	const struct queued *queued;
	const char *admitted;
	char name[128];

	if (!world->queued || pod->kind != KIND_POD || wire->late || framework == NULL || framework->deleting ||
	    strcmp(framework->uid, annotation(pod->json, "FC_FRAMEWORK_UID")) != 0)
		return;
	admitted = json_str(json_object_get(status_of(framework), "admission"), "workloadUID");
	if (!world->in_queue[pod->plan]) {
		if (admitted != NULL)
			violated(world, "%s is admitted, and in no queue", framework->uid);
		return;
	}
	/* it may have been evicted while the request was on its way: its quota is there until no Pod is left */
	snprintf(name, sizeof(name), "framework-%s", framework->name);
	queued = queues_find(world, framework->ns, name);
	if (queued == NULL || (admitted != NULL && strcmp(meta_text(queued->json, "uid"), admitted) != 0) ||
	    !queues_is(queued, WORKLOAD_QUOTA_RESERVED))
		violated(world, "%s is created, and %s has no quota", pod->name, framework->uid);
	if (strcmp(json_str(json_path(pod->json, "spec", "nodeSelector", NULL), "pool") == NULL
			   ? ""
			   : json_str(json_path(pod->json, "spec", "nodeSelector", NULL), "pool"),
		   "default") != 0)
		violated(world, "%s is created without what its flavor adds", pod->name);
}

void check_queue_cached(struct world *world, const char *ns, const json_t *kept)
{
	const struct queued *queued = queues_find(world, ns, meta_text(kept, "name"));

	if (queued == NULL || strcmp(meta_text(kept, "uid"), meta_text(queued->json, "uid")) != 0 ||
	    !json_equal(json_object_get(kept, "status"), json_object_get(queued->json, "status")))
		violated(world, "at rest a watcher has Workload %s/%s otherwise", ns, meta_text(kept, "name"));
}

/* Whether an object of a former Framework of the name is left, or a Pod that may be one: while the present Framework
 * has no ConfigMap, a reconciler does not know whose a Pod is. */
static bool former_is_left(struct world *world, const struct object *framework)
{
	char name[128];
	const struct object *config_map;

	snprintf(name, sizeof(name), "%s-attempt", framework->name);
	config_map = api_find(world, KIND_CONFIG_MAP, framework->ns, name);
	if (config_map != NULL && strcmp(config_map->owner_uid, framework->uid) != 0)
		return true;
	for (const struct object *object = world->objects; object != NULL; object = object->next)
		if (object->plan == framework->plan && object->kind == KIND_POD &&
		    (config_map == NULL || strcmp(object->owner_uid, config_map->uid) != 0))
			return true;
	return false;
}

void check_queues_former(struct world *world)
{
	for (struct queued *queued = world->queued_workloads; queued != NULL; queued = queued->next) {
		const struct object *next = api_find(world, KIND_FRAMEWORK, queued->ns,
						     meta_text(queued->json, "name") + strlen("framework-"));

		if (!world->healed || !queues_deleting(queued) || !queues_held(queued) || next == NULL ||
		    world->looks_anew || strcmp(queues_owner(queued), next->uid) == 0 || former_is_left(world, next) ||
		    !framework_attended(world, next) ||
		    !framework_knows_workload(world, next, meta_text(queued->json, "resourceVersion")))
			queued->last_used_ms = world->now_ms;
		else if (world->now_ms > queued->last_used_ms + OVERDUE_MS + world->stood_still_ms)
			violated(world, "the quota of %s, which is gone, is held while %s has its name",
				 queues_owner(queued), next->uid);
	}
}

const char *check_queues_rest(struct world *world)
{
	for (const struct queued *queued = world->queued_workloads; queued != NULL; queued = queued->next) {
		struct object *framework = api_find_uid(world, KIND_FRAMEWORK, queues_owner(queued));

		if (framework == NULL || queues_deleting(queued))
			return "a Workload is still to go";
		if (state_of(status_of(framework)) == STATE_COMPLETED &&
		    (!queues_is(queued, WORKLOAD_FINISHED) || queues_held(queued)))
			return "a Workload does not know that its Framework is completed";
	}
	return NULL;
}
