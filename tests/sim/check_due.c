/* What must happen in time in lively worlds (life.c), and how their Frameworks come to rest. See check.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "tests/sim/check_life.h"

enum { OVERDUE_MS = 15 * 1000, SEEN_MS = 10 * 1000 /* within so long a failure to start is stored */ };

static const json_t *spec_of(const struct object *framework)
{
	return json_object_get(framework->json, "spec");
}

/* ---- in time ---- */

static const char *overdue_task(struct world *world, const json_t *spec, const char *role, const json_t *task)
{
	const json_t *policy = json_object_get(task_of_spec(spec, role), "pendingPolicy");
	const char *uid = json_str(attempt_of(task), "podUID");
	const struct object *pod = uid == NULL ? NULL : api_find_uid(world, KIND_POD, uid);
	const struct instance *instance = pod == NULL ? NULL : kubelet_find(world, uid);
	int64_t start_sec = json_int(policy, "startTimeoutSec", -1);
	int64_t unschedulable_sec = json_int(policy, "unschedulableTimeoutSec", -1);
	int64_t now_ms = wall_ms(world) - slack_ms(world);

	if (state_of(task) == STATE_ATTEMPT_COMPLETED)
		return is_set(retry_of(task), "retryDelaySec") && now_ms < retry_due_ms(task) &&
				       !json_bool(task, "deletionPending", false)
			       ? NULL
			       : "the retry of a Task";
	if (instance == NULL || pod->deleting || policy == NULL || is_set(attempt_of(task), "completionStatus"))
		return NULL;
	if (instance->never_now)
		return "the end of a Pod that never starts";
	if (instance->unschedulable && unschedulable_sec >= 0 &&
	    world->now_ms - slack_ms(world) > instance->unschedulable_ms + unschedulable_sec * 1000)
		return "the end of an unschedulable Pod";
	if (!instance->failing || start_sec < 0)
		return NULL;
	if (is_set(attempt_of(task), "waitingTime"))
		return now_ms > (json_time(attempt_of(task), "waitingTime") + start_sec) * 1000
			       ? "the end of a Pod that fails to start"
			       : NULL;
	return world->now_ms > instance->fails_since_ms + SEEN_MS ? "a Pod's waitingTime" : NULL;
}

/* An attempt that is still to begin ends when its ConfigMap is gone, which may wait for Pods of a lost node. */
static bool has_config_map(struct world *world, const struct object *framework)
{
	char name[128];

	snprintf(name, sizeof(name), "%s-attempt", framework->name);
	return api_find(world, KIND_CONFIG_MAP, framework->ns, name) != NULL;
}

/* Whether it waits for its admission, of which no deadline makes an end. */
static bool in_queue(const struct world *world, struct object *framework)
{
	return world->queued && world->in_queue[framework->plan] && !is_set(status_of(framework), "admission");
}

/* What should have happened to the Framework by now; NULL: nothing. */
static const char *overdue(struct world *world, struct object *object)
{
	const json_t *status = status_of(object);
	const json_t *spec = spec_of(object);
	int state = state_of(status);
	int64_t now_ms = wall_ms(world) - slack_ms(world);
	size_t r;
	size_t i;
	const json_t *role;
	const json_t *task;

	if (object->deleting || life_others(object) || state < 0)
		return NULL;
	if (state == STATE_COMPLETED)
		return is_set(spec, "ttlSecondsAfterCompleted") &&
				       now_ms > (json_time(status, "transitionTime") +
						 json_int(spec, "ttlSecondsAfterCompleted", 0)) *
							1000
			       ? "its deletion"
			       : NULL;
	if (state == STATE_ATTEMPT_COMPLETED)
		return is_set(retry_of(status), "retryDelaySec") && now_ms < retry_due_ms(status) && !stopped(spec) &&
				       !suspended(spec)
			       ? NULL
			       : "its retry";
	if (is_set(attempt_of(status), "completionStatus"))
		return NULL;
	if (suspended(spec) && !says_suspended(status) &&
	    (state != STATE_CREATION_PENDING || (world->plans[object->plan].strict && !has_config_map(world, object))))
		return "its suspension";
	if (!in_queue(world, object) && deadline_ms(spec, status) != INT64_MAX && now_ms > deadline_ms(spec, status) &&
	    (state != STATE_CREATION_PENDING || !has_config_map(world, object)))
		return "its end by activeDeadlineSec";
	if (state != STATE_PREPARING && state != STATE_RUNNING)
		return NULL;
	json_array_foreach(json_object_get(attempt_of(status), "taskRoleStatuses"), r, role) {
		json_array_foreach(json_object_get(role, "taskStatuses"), i, task) {
			const char *what = overdue_task(world, spec, json_str(role, "name"), task);

			if (what != NULL)
				return what;
		}
	}
	return NULL;
}

void check_overdue(struct world *world)
{
	for (struct object *object = world->objects; object != NULL; object = object->next) {
		const char *what = object->kind == KIND_FRAMEWORK ? overdue(world, object) : NULL;

		if (what == NULL || what != object->overdue || world->looks_anew ||
		    !framework_attended(world, object)) {
			object->overdue = what;
			object->overdue_since_ms = world->now_ms;
		} else if (world->now_ms > object->overdue_since_ms + OVERDUE_MS + world->stood_still_ms) {
			violated(world, "%s of %s %s is overdue", what, object->uid, object->name);
		}
	}
}

bool check_life_rests(const struct world *world, struct object *framework)
{
	const json_t *spec = spec_of(framework);
	const json_t *status = status_of(framework);
	int state = state_of(status);

	if (life_others(framework))
		return true;
	if (state == STATE_COMPLETED)
		return !is_set(spec, "ttlSecondsAfterCompleted") && world->retain_sec > 3600 && !says_suspended(status);
	if (suspended(spec))
		return state == STATE_CREATION_PENDING && says_suspended(status);
	if (state != STATE_CREATION_PENDING || strcmp(json_str(spec, "executionType"), "Create") != 0)
		return false;
	return says_suspended(status) ? in_queue(world, framework) : !is_set(spec, "activeDeadlineSec");
}
