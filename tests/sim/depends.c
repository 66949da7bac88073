/* TaskRoles that depend on others, in every fourth world or so; see sim.h. What must hold of them: the first Pod of a
 * TaskRole is created only when a stored status of the attempt has shown that what it depends on has come so far. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/framework/codes.h"
#include "common/framework/names.h"
#include "tests/sim/check.h"

enum { DEPENDING_EVERY = 4, READY_MS = 3000, UNREADY_OFTEN = 300 };

static int64_t draw(struct world *world, int64_t low, int64_t high)
{
	return random_between(&world->depends_random, low, high);
}

/* ---- what there is ---- */

/* Whether its first TaskRole comes to any status in the end, so that the second one does not wait for ever. */
static bool comes_to_its_end(const struct framework_plan *plan)
{
	return plan->roles[0].fail_percent == 0 && plan->roles[0].pace == RUNS_SHORT;
}

void depends_make(struct world *world)
{
	static const char *const statuses[] = {"Running", "Ready", "Succeeded"};
	uint64_t hash = (world->seed + 17) * UINT64_C(0x9E3779B97F4A7C15);

	world->depending = (hash >> 40) % DEPENDING_EVERY == 0;
	if (!world->depending)
		return;
	random_init_seed(&world->depends_random, world->seed ^ UINT64_C(0x3D3D3D3D3D3D3D3D));
	for (int i = 0; i < world->framework_count; i++) {
		const struct framework_plan *plan = &world->plans[i];
		json_t *roles = json_object_get(plan->spec, "taskRoles");

		if (json_array_size(roles) < 2 || (plan->tame && !comes_to_its_end(plan)))
			continue;
		json_object_set_new(json_array_get(roles, 1), "dependsOn",
				    json_pack("[{s:O,s:s}]", "taskRole",
					      json_object_get(json_array_get(roles, 0), "name"), "status",
					      statuses[draw(world, 0, 2)]));
	}
}

void depends_repair(const struct world *world, json_t *spec)
{
	json_t *first = json_array_get(json_object_get(spec, "taskRoles"), 0);

	if (world->depending && json_object_get(first, "dependsOn") != NULL) {
		json_t *role = json_copy(first);

		json_object_del(role, "dependsOn");
		json_array_set_new(json_object_get(spec, "taskRoles"), 0, role);
	}
}

static void set_ready(struct world *world, struct object *pod, bool ready)
{
	json_t *changed = api_copy(pod);

	json_object_set_new(json_object_get(changed, "status"), "conditions",
			    json_pack("[{s:s,s:s}]", "type", "Ready", "status", ready ? "True" : "False"));
	api_replace(world, pod, changed);
}

static struct object *running(struct world *world, const char *uid)
{
	struct object *pod = api_find_uid(world, KIND_POD, uid);
	const char *phase = pod == NULL ? NULL : json_str(json_object_get(pod->json, "status"), "phase");

	return phase != NULL && strcmp(phase, "Running") == 0 && !pod->deleting ? pod : NULL;
}

static void unready(struct world *world, void *arg)
{
	cleanup_free char *uid = arg;
	struct object *pod = running(world, uid);

	if (pod != NULL)
		set_ready(world, pod, false);
}

static void ready(struct world *world, void *arg)
{
	cleanup_free char *uid = arg;
	struct object *pod = running(world, uid);

	if (pod == NULL)
		return;
	set_ready(world, pod, true);
	if (draw(world, 0, 999) < UNREADY_OFTEN)
		at(world, world->now_ms + draw(world, 1, READY_MS), NULL, unready, free, mem_strdup(uid));
}

void depends_pod_started(struct world *world, const struct object *pod)
{
	if (annotation(pod->json, "FC_READY_WANTED")[0] != '\0')
		at(world, world->now_ms + draw(world, 1, READY_MS), NULL, ready, free, mem_strdup(pod->uid));
}

/* ---- what must hold ---- */

static bool reached(const json_t *task, const char *status)
{
	const json_t *completion = json_object_get(attempt_of(task), "completionStatus");

	if (json_bool(task, "deletionPending", false) ||
	    (state_of(task) == STATE_COMPLETED && json_int(completion, "code", -1) == CODE_SUCCEEDED))
		return true;
	if (strcmp(status, "Succeeded") == 0)
		return false;
	return is_set(task, strcmp(status, "Ready") == 0 ? "readyTime" : "runTime");
}

static const json_t *dependency_of(const struct object *framework, const char *role)
{
	const json_t *entry = json_find(json_path(framework->json, "spec", "taskRoles", NULL), "name", role);

	return json_array_get(json_object_get(entry, "dependsOn"), 0);
}

static bool met(const struct object *framework, const json_t *status)
{
	const json_t *dependency = dependency_of(framework, "r1");
	size_t r;
	size_t i;
	const json_t *role;
	const json_t *task;

	if (dependency == NULL)
		return true;
	json_array_foreach(json_object_get(attempt_of(status), "taskRoleStatuses"), r, role) {
		if (strcmp(json_str(role, "name"), json_str(dependency, "taskRole")) != 0)
			continue;
		json_array_foreach(json_object_get(role, "taskStatuses"), i, task)
			if (!reached(task, json_str(dependency, "status")))
				return false;
	}
	return true;
}

static void put_identity(char out[80], const char *framework_uid, int64_t attempt)
{
	snprintf(out, 80, "%s/%d", framework_uid, (int)attempt);
}

void depends_status_stored(struct world *world, struct object *framework)
{
	const json_t *status = status_of(framework);

	if (world->depending && met(framework, status))
		put_identity(world->depends_met[framework->plan], framework->uid,
			     json_int(attempt_of(status), "id", -1));
}

/* Whether another Pod of the TaskRole was created in the attempt. */
static bool started(const struct world *world, const struct object *pod, const char *role)
{
	for (const struct instance *instance = world->instances; instance != NULL; instance = instance->next)
		if (strcmp(instance->pod_uid, pod->uid) != 0 && strcmp(instance->role, role) == 0 &&
		    strcmp(instance->attempt_uid, annotation(pod->json, "FC_FRAMEWORK_ATTEMPT_INSTANCE_UID")) == 0)
			return true;
	return false;
}

void check_depends(const struct wire *wire, const struct object *pod)
{
	struct world *world = wire->world;
	const char *uid = annotation(pod->json, "FC_FRAMEWORK_UID");
	const char *role = annotation(pod->json, "FC_TASKROLE_NAME");
	const struct object *framework = api_find_uid(world, KIND_FRAMEWORK, uid);
	char identity[80];

	if (!world->depending || pod->kind != KIND_POD || wire->late || framework == NULL ||
	    dependency_of(framework, role) == NULL || strcmp(annotation(pod->json, "FC_TASK_ATTEMPT_ID"), "0") != 0)
		return;
	put_identity(identity, uid, atoi(annotation(pod->json, "FC_FRAMEWORK_ATTEMPT_ID")));
	if (strcmp(identity, world->depends_met[pod->plan]) != 0 && !started(world, pod, role))
		violated(world, "%s is created before what its TaskRole depends on is stored", pod->name);
}
