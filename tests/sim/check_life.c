/* What must hold of lively worlds (life.c): suspend, deadlines, backoffs, Pods that do not start, other controllers'
 * Frameworks. A decision rests on a spec that the Framework had between the last status and the new one: a write that
 * names the present version knows the present spec. See check.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/framework/codes.h"
#include "tests/objects.h"
#include "tests/sim/check_life.h"

enum {
	NO_CODE = 1, /* none that is predefined */
	ROUNDING_MS = 2000,
	FORGOTTEN_MS = 60 * 1000, /* a failure to start after so long without any (CONTRACT.md §6) */
	CLOCKS_DIFFER_MS = 10 * 1000,
	CONFLICT_DELAY_MAX_SEC = 5, /* member.c */
};

/* A status write, and what it is asked of the specs that it may rest on. */
struct decision {
	struct world *world;
	const struct object *object;
	const json_t *before;
	const json_t *after;
	/* of the Framework, or of the Task that is looked at */
	const char *role;
	const json_t *was;
	const json_t *is;
	const struct instance *instance;
};

int64_t wall_ms(const struct world *world)
{
	return world->wall_base_ms + world->now_ms;
}

int64_t slack_ms(const struct world *world)
{
	return 2 * world->skew_max_ms + ROUNDING_MS;
}

static const json_t *completion_of(const json_t *status)
{
	return json_object_get(attempt_of(status), "completionStatus");
}

static int64_t code_of(const json_t *status)
{
	return json_int(completion_of(status), "code", NO_CODE);
}

const json_t *retry_of(const json_t *status)
{
	return json_object_get(status, "retryPolicyStatus");
}

int64_t count_of(const json_t *status, const char *name)
{
	return json_int(retry_of(status), name, 0);
}

bool stopped(const json_t *spec)
{
	return strcmp(json_str(spec, "executionType"), "Stop") == 0;
}

bool suspended(const json_t *spec)
{
	return json_bool(spec, "suspend", false) && !stopped(spec);
}

/* NULL: it was never suspended. */
static const json_t *suspended_condition(const json_t *status)
{
	return json_find(json_object_get(status, "conditions"), "type", "Suspended");
}

bool says_suspended(const json_t *status)
{
	const json_t *condition = suspended_condition(status);

	return condition != NULL && strcmp(json_str(condition, "status"), "True") == 0;
}

const json_t *task_of_spec(const json_t *spec, const char *name)
{
	return json_object_get(json_find(json_object_get(spec, "taskRoles"), "name", name), "task");
}

int64_t deadline_ms(const json_t *spec, const json_t *status)
{
	int64_t deadline_sec = json_int(spec, "activeDeadlineSec", 0);
	const char *since = is_set(status, "resumeTime") ? "resumeTime" : "startTime";

	if (deadline_sec == 0 || json_bool(spec, "suspend", false))
		return INT64_MAX;
	return (json_time(status, since) + deadline_sec) * 1000;
}

int64_t retry_due_ms(const json_t *status)
{
	return (json_time(attempt_of(status), "completionTime") + count_of(status, "retryDelaySec")) * 1000;
}

/* ---- what a decision may rest on ---- */

/* Whether that holds of a spec that the writer may have decided by. */
static bool ever(const struct decision *decision, bool (*holds)(const struct decision *decision, const json_t *spec))
{
	int64_t first = json_int(decision->before, "observedGeneration", 1);

	for (size_t i = first < 1 ? 0 : (size_t)first - 1; i < json_array_size(decision->object->specs); i++)
		if (holds(decision, json_array_get(decision->object->specs, i)))
			return true;
	return false;
}

static bool by_stop(const struct decision *decision, const json_t *spec)
{
	(void)decision;
	return stopped(spec);
}

/* Or it waits for its admission. */
static bool by_suspend(const struct decision *decision, const json_t *spec)
{
	const struct world *world = decision->world;

	return suspended(spec) || (world->queued && world->in_queue[decision->object->plan] && !stopped(spec));
}

static bool by_deadline(const struct decision *decision, const json_t *spec)
{
	int64_t due_ms = deadline_ms(spec, decision->after);

	return due_ms != INT64_MAX && wall_ms(decision->world) + slack_ms(decision->world) >= due_ms;
}

static const json_t *pending_policy(const struct decision *decision, const json_t *spec)
{
	return json_object_get(task_of_spec(spec, decision->role), "pendingPolicy");
}

static bool by_pending_policy(const struct decision *decision, const json_t *spec)
{
	return pending_policy(decision, spec) != NULL;
}

static bool by_timeout(const struct decision *decision, const json_t *spec, const char *name, int64_t since_ms)
{
	int64_t timeout_sec = json_int(pending_policy(decision, spec), name, -1);

	return timeout_sec >= 0 && since_ms != 0 &&
	       decision->world->now_ms + slack_ms(decision->world) >= since_ms + timeout_sec * 1000;
}

static bool by_start_timeout(const struct decision *decision, const json_t *spec)
{
	return by_timeout(decision, spec, "startTimeoutSec", decision->instance->failed_ms);
}

static bool by_unschedulable_timeout(const struct decision *decision, const json_t *spec)
{
	return by_timeout(decision, spec, "unschedulableTimeoutSec", decision->instance->unschedulable_ms);
}

static const json_t *backoff_of(const struct decision *decision, const json_t *spec)
{
	const json_t *object = decision->role == NULL ? spec : task_of_spec(spec, decision->role);

	return json_object_get(json_object_get(object, "retryPolicy"), "backoff");
}

static bool without_backoff(const struct decision *decision, const json_t *spec)
{
	return backoff_of(decision, spec) == NULL;
}

/* Whether retryDelaySec and backoffCount follow from the row so far. */
static bool by_backoff(const struct decision *decision, const json_t *spec)
{
	const json_t *backoff = backoff_of(decision, spec);
	const json_t *attempt = attempt_of(decision->is);
	int64_t count = count_of(decision->is, "backoffCount");
	int64_t former = count_of(decision->was, "backoffCount");
	int64_t delay_sec = count_of(decision->is, "retryDelaySec");
	int64_t most_sec = json_int(backoff, "maxSec", 600);
	int64_t expected_sec = json_int(backoff, "initialSec", 0);
	bool conflict = decision->role == NULL && delay_sec <= CONFLICT_DELAY_MAX_SEC;

	if (backoff != NULL && is_set(attempt, "runTime") &&
	    json_time(attempt, "completionTime") - json_time(attempt, "runTime") >=
		    json_int(backoff, "resetAfterSec", 600))
		former = 0;
	if (backoff == NULL || code_of(decision->is) == CODE_SUSPEND_FRAMEWORK_REQUESTED)
		return count == former && (delay_sec == 0 || conflict);
	for (int64_t i = 0; i < former && expected_sec < most_sec; i++)
		expected_sec *= 2;
	if (expected_sec > most_sec)
		expected_sec = most_sec;
	return count == former + 1 && (delay_sec == expected_sec || (conflict && delay_sec > expected_sec));
}

/* ---- retries ---- */

static void check_delay(const struct decision *decision, const char *what)
{
	bool decided = !is_set(retry_of(decision->was), "retryDelaySec") &&
		       is_set(retry_of(decision->is), "retryDelaySec");

	if (decided && !ever(decision, by_backoff))
		violated(decision->world, "%s: retryDelaySec %d with backoffCount %d, which was %d", what,
			 (int)count_of(decision->is, "retryDelaySec"), (int)count_of(decision->is, "backoffCount"),
			 (int)count_of(decision->was, "backoffCount"));
	/* (a retry that was decided, but not stored, may be no more when it is Completed) */
	if (!decided && state_of(decision->is) != STATE_COMPLETED &&
	    count_of(decision->was, "backoffCount") != count_of(decision->is, "backoffCount"))
		violated(decision->world, "%s: backoffCount changes without a retry", what);
}

static void check_retry(const struct decision *decision, const char *what, bool cut_short)
{
	const struct world *world = decision->world;
	int64_t accountable = count_of(decision->is, "accountableRetriedCount") -
			      count_of(decision->was, "accountableRetriedCount");

	if (accountable < 0 || accountable > 1 ||
	    (accountable == 1 && code_of(decision->was) == CODE_SUSPEND_FRAMEWORK_REQUESTED))
		violated(decision->world, "%s: %d accountable retries after code %d", what, (int)accountable,
			 (int)code_of(decision->was));
	if (count_of(decision->was, "backoffCount") != count_of(decision->is, "backoffCount"))
		violated(decision->world, "%s: backoffCount changes with a retry", what);
	if (cut_short)
		return;
	if (!is_set(retry_of(decision->was), "retryDelaySec")) {
		if (decision->role == NULL || !ever(decision, without_backoff))
			violated(decision->world, "%s is retried before its delay is stored", what);
		return;
	}
	if (wall_ms(world) + slack_ms(world) < retry_due_ms(decision->was))
		violated(decision->world, "%s is retried %d ms before its time", what,
			 (int)(retry_due_ms(decision->was) - wall_ms(world)));
}

/* ---- Pods that do not start ---- */

static void check_pending(const struct decision *decision, const char *what)
{
	int64_t code = code_of(decision->is);
	const char *uid = json_str(attempt_of(decision->is), "podUID");
	struct decision of_pod = *decision;

	if (code != CODE_POD_START_TIMEOUT && code != CODE_POD_NEVER_STARTS && code != CODE_POD_UNSCHEDULABLE_TIMEOUT)
		return;
	of_pod.instance = uid == NULL ? NULL : kubelet_find(decision->world, uid);
	if (of_pod.instance == NULL)
		violated(decision->world, "%s: code %d without a Pod", what, (int)code);
	if ((code == CODE_POD_START_TIMEOUT && !ever(&of_pod, by_start_timeout)) ||
	    (code == CODE_POD_UNSCHEDULABLE_TIMEOUT && !ever(&of_pod, by_unschedulable_timeout)) ||
	    (code == CODE_POD_NEVER_STARTS && !(of_pod.instance->never && ever(&of_pod, by_pending_policy))))
		violated(decision->world, "%s: code %d, though %s has no reason for it yet", what, (int)code, uid);
}

/* That a Pod fails to start is known over restarts. */
static void check_waiting(const struct decision *decision, const char *what)
{
	const json_t *was = attempt_of(decision->was);
	const json_t *is = attempt_of(decision->is);
	const struct instance *instance;

	if (!is_set(was, "waitingTime") ||
	    json_equal(json_object_get(was, "waitingTime"), json_object_get(is, "waitingTime")))
		return;
	instance = kubelet_find(decision->world, json_str(is, "podUID"));
	if (instance->cleared_ms == 0 ||
	    decision->world->now_ms + CLOCKS_DIFFER_MS < instance->cleared_ms + FORGOTTEN_MS)
		violated(decision->world, "%s: waitingTime changes, though %s goes on failing", what,
			 instance->pod_uid);
}

/* ---- status writes ---- */

static void check_task(const struct decision *decision)
{
	bool over_soon = decision->object->deleting || is_set(attempt_of(decision->before), "completionStatus") ||
			 is_set(attempt_of(decision->after), "completionStatus") || ever(decision, by_stop) ||
			 ever(decision, by_suspend);
	bool unwanted = json_bool(decision->was, "deletionPending", false) ||
			json_bool(decision->is, "deletionPending", false);
	char what[160];

	snprintf(what, sizeof(what), "%s-%s-%d", decision->object->name, decision->role,
		 (int)json_int(decision->is, "index", -1));
	if (count_of(decision->is, "totalRetriedCount") != count_of(decision->was, "totalRetriedCount")) {
		check_retry(decision, what, over_soon || unwanted);
		return;
	}
	check_delay(decision, what);
	check_waiting(decision, what);
	if (!is_set(attempt_of(decision->was), "completionStatus"))
		check_pending(decision, what);
}

static void check_tasks(const struct decision *decision)
{
	size_t r;
	size_t i;
	const json_t *role;
	const json_t *task;

	json_array_foreach(json_object_get(attempt_of(decision->before), "taskRoleStatuses"), r, role) {
		json_array_foreach(json_object_get(role, "taskStatuses"), i, task) {
			struct decision of_task = *decision;

			of_task.role = json_str(role, "name");
			of_task.was = task;
			of_task.is = find_task(decision->after, of_task.role, (int)i);
			if (of_task.is != NULL && json_equal(json_object_get(task, "instanceUID"),
							     json_object_get(of_task.is, "instanceUID")))
				check_task(&of_task);
		}
	}
}

static void check_code(const struct decision *decision)
{
	int64_t code = code_of(decision->after);
	const char *name = decision->object->name;

	if (code == NO_CODE ||
	    (code == code_of(decision->before) && json_equal(json_object_get(attempt_of(decision->before), "id"),
							     json_object_get(attempt_of(decision->after), "id"))))
		return;
	if (code == CODE_STOP_FRAMEWORK_REQUESTED && !ever(decision, by_stop))
		violated(decision->world, "%s ends as if it were stopped", name);
	if (code == CODE_SUSPEND_FRAMEWORK_REQUESTED && !ever(decision, by_suspend))
		violated(decision->world, "%s ends as if it were suspended", name);
	if (code == CODE_ACTIVE_DEADLINE_EXCEEDED && !ever(decision, by_deadline))
		violated(decision->world, "%s ends before its deadline, or is suspended", name);
}

/* A Pod that somebody let outlive its ConfigMap does not count: a reconciler whose view lags may not know of it. */
static bool has_pod(struct world *world, const struct object *framework)
{
	for (const struct object *object = world->objects; object != NULL; object = object->next)
		if (object->kind == KIND_POD && !object->late && object_framework_name(object->json) != NULL &&
		    strcmp(annotation(object->json, "FC_FRAMEWORK_UID"), framework->uid) == 0 &&
		    (world->plans[object->plan].strict ||
		     api_find_uid(world, KIND_CONFIG_MAP, object->owner_uid) != NULL))
			return true;
	return false;
}

static void check_suspended(const struct decision *decision)
{
	const struct object *object = decision->object;

	if (!says_suspended(decision->after) || says_suspended(decision->before))
		return;
	if (!ever(decision, by_suspend))
		violated(decision->world, "%s is said to be suspended, which nobody asked for", object->name);
	/* a ConfigMap that comes late, and goes again, is no reason to take it back */
	if (state_of(decision->after) != STATE_CREATION_PENDING &&
	    code_of(decision->after) != CODE_SUSPEND_FRAMEWORK_REQUESTED)
		violated(decision->world, "%s is suspended in state %s", object->name,
			 json_str(decision->after, "state"));
	if (has_pod(decision->world, object))
		violated(decision->world, "%s is said to be suspended while it has a Pod", object->name);
}

/* When it was suspended, or its attempt ended for that, its time begins anew. */
static void check_resumed(const struct decision *decision)
{
	int64_t since_sec;

	if (decision->object->deleting || ever(decision, by_stop))
		return;
	if (says_suspended(decision->before) && !says_suspended(decision->after))
		since_sec = json_time(suspended_condition(decision->before), "lastTransitionTime");
	else if (code_of(decision->before) == CODE_SUSPEND_FRAMEWORK_REQUESTED && !ever(decision, by_suspend) &&
		 count_of(decision->before, "totalRetriedCount") != count_of(decision->after, "totalRetriedCount"))
		since_sec = json_time(attempt_of(decision->before), "completionTime");
	else
		return;
	if (json_time(decision->after, "resumeTime") * 1000 + slack_ms(decision->world) < since_sec * 1000)
		violated(decision->world, "%s resumes without a resumeTime", decision->object->name);
}

void check_life_write(struct world *world, const struct object *object, const json_t *before, const json_t *after)
{
	const struct decision decision = {
		.world = world, .object = object, .before = before, .after = after, .was = before, .is = after};
	bool cut_short;

	if (!world->lively)
		return;
	if (life_others(object))
		violated(world, "the status of %s is written, which another controller manages", object->name);
	if (json_int(attempt_of(after), "id", -1) != count_of(after, "totalRetriedCount"))
		violated(world, "%s: attempt %d after %d retries", object->name,
			 (int)json_int(attempt_of(after), "id", -1), (int)count_of(after, "totalRetriedCount"));
	check_code(&decision);
	check_suspended(&decision);
	if (before == NULL)
		return;
	check_resumed(&decision);
	if (count_of(after, "totalRetriedCount") != count_of(before, "totalRetriedCount")) {
		cut_short = ever(&decision, by_stop) || ever(&decision, by_suspend);
		check_retry(&decision, object->name, cut_short);
		return;
	}
	check_delay(&decision, object->name);
	check_tasks(&decision);
}

bool check_deadline_replaces(const json_t *before, const json_t *after)
{
	int was = state_of(before);

	return code_of(after) == CODE_ACTIVE_DEADLINE_EXCEEDED && state_of(after) == STATE_COMPLETED &&
	       was != STATE_COMPLETED && code_of(before) != CODE_STOP_FRAMEWORK_REQUESTED;
}

/* ---- requests ---- */

void check_life_create(const struct wire *wire, const struct object *object)
{
	struct world *world = wire->world;
	struct object *framework = api_find_uid(world, KIND_FRAMEWORK, annotation(object->json, "FC_FRAMEWORK_UID"));

	if (!world->lively || framework == NULL)
		return;
	if (life_others(framework))
		violated(world, "%s is created for %s, which another controller manages", object->name,
			 framework->name);
	if (!wire->late && object->kind == KIND_POD && says_suspended(status_of(framework)))
		violated(world, "%s is created while %s is said to be suspended", object->name, framework->name);
}

/* Whether the Framework may be deleted, being Completed for long enough: by any spec that it had. */
static bool kept_enough(const struct world *world, struct object *framework)
{
	size_t i;
	const json_t *spec;
	const json_t *status = status_of(framework);

	json_array_foreach(framework->specs, i, spec)
		if (wall_ms(world) + slack_ms(world) >=
		    (json_time(status, "transitionTime") +
		     json_int(spec, "ttlSecondsAfterCompleted", world->retain_sec)) *
			    1000)
			return true;
	return false;
}

void check_life_delete(struct world *world, struct object *object)
{
	const struct object *framework;

	if (!world->lively)
		return;
	if (object->kind == KIND_FRAMEWORK) {
		if (life_others(object))
			violated(world, "%s is deleted, which another controller manages", object->name);
		if (state_of(status_of(object)) != STATE_COMPLETED || !kept_enough(world, object))
			violated(world, "%s is deleted before its time", object->name);
		return;
	}
	framework = api_find_uid(world, KIND_FRAMEWORK, annotation(object->json, "FC_FRAMEWORK_UID"));
	if (framework != NULL && life_others(framework))
		violated(world, "%s is deleted, of a Framework that another controller manages", object->name);
}
