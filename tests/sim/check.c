/* What must hold after every step, and at each write of a reconciler: CONTRACT.md §12, G1 to G4, statuses that move
 * only forward, calls that rest on a stored decision. See check.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "common/framework/gang.h"
#include "common/framework/shorten.h"
#include "tests/objects.h"
#include "tests/sim/check.h"

/* ---- statuses as they are stored ---- */

static bool compressed(const json_t *status)
{
	return json_is_string(json_path(status, "attemptStatus", "taskRoleStatusesCompressed", NULL));
}

/* Decompressed, in an object of its own. */
static json_t *plain_status(struct world *world, json_t *status)
{
	json_t *framework = json_pack("{s:o}", "status",
				      compressed(status) ? json_deep_copy(status) : json_incref(status));
	struct error err;

	if (framework_decompress(framework, &err) < 0)
		violated(world, "a status cannot be decompressed: %s", err.message);
	return framework;
}

const json_t *status_of(struct object *framework)
{
	json_t *status = json_object_get(framework->json, "status");

	if (!compressed(status))
		return status;
	if (framework->plain == NULL)
		framework->plain = plain_status(sim_world, status);
	return json_object_get(framework->plain, "status");
}

int state_of(const json_t *status)
{
	const char *name = json_str(status, "state");
	enum attempt_state state;

	return name == NULL || attempt_state_parse(name, &state) < 0 ? -1 : (int)state;
}

const json_t *attempt_of(const json_t *status)
{
	return json_object_get(status, "attemptStatus");
}

bool is_set(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return value != NULL && !json_is_null(value);
}

static const json_t *find_role(const json_t *status, const char *name)
{
	return json_find(json_object_get(attempt_of(status), "taskRoleStatuses"), "name", name);
}

const json_t *find_task(const json_t *status, const char *role, int index)
{
	return json_array_get(json_object_get(find_role(status, role), "taskStatuses"), (size_t)index);
}

bool over(int state)
{
	return state == STATE_ATTEMPT_COMPLETED || state == STATE_COMPLETED;
}

/* ---- G1–G4 ---- */

static void check_pair(struct world *world, const struct instance *a, const struct instance *b)
{
	if (a->plan != b->plan)
		return;
	if (strcmp(a->pod_name, b->pod_name) == 0)
		violated(world, "G1: %s and %s of %s run at the same time", a->pod_uid, b->pod_uid, a->pod_name);
	if (strcmp(a->attempt_uid, b->attempt_uid) != 0)
		violated(world, "G3: %s of attempt %s and %s of attempt %s run at the same time", a->pod_uid,
			 a->attempt_uid, b->pod_uid, b->attempt_uid);
}

static void check_instance(struct world *world, const struct instance *instance)
{
	struct object *framework = api_framework(world, instance->plan);
	const json_t *status;
	const json_t *task;

	if (framework == NULL || strcmp(framework->uid, instance->framework_uid) != 0)
		violated(world, "G4: %s %s runs though its Framework is gone", instance->pod_uid, instance->pod_name);
	status = status_of(framework);
	if (over(state_of(status)))
		violated(world, "G4: %s %s runs though its Framework is %s", instance->pod_uid, instance->pod_name,
			 json_str(status, "state"));
	if (json_int(attempt_of(status), "id", -1) != instance->framework_attempt)
		violated(world, "G3: %s %s of attempt %d runs, the Framework is at attempt %d", instance->pod_uid,
			 instance->pod_name, instance->framework_attempt, (int)json_int(attempt_of(status), "id", -1));
	task = find_task(status, instance->role, instance->index);
	if (task == NULL || strcmp(json_str(task, "instanceUID"), instance->task_uid) != 0)
		violated(world, "G2: %s %s runs though its Task is gone", instance->pod_uid, instance->pod_name);
	if (over(state_of(task)))
		violated(world, "G2: %s %s runs though its Task is %s", instance->pod_uid, instance->pod_name,
			 json_str(task, "state"));
	if (json_int(attempt_of(task), "id", -1) != instance->task_attempt)
		violated(world, "G1: %s %s of attempt %d runs, the Task is at attempt %d", instance->pod_uid,
			 instance->pod_name, instance->task_attempt, (int)json_int(attempt_of(task), "id", -1));
}

static bool counts(const struct world *world, const struct instance *instance)
{
	return instance->running && !instance->late && world->plans[instance->plan].strict;
}

void check_step(struct world *world)
{
	for (const struct instance *a = world->instances; a != NULL; a = a->next) {
		if (!counts(world, a))
			continue;
		for (const struct instance *b = a->next; b != NULL; b = b->next)
			if (counts(world, b))
				check_pair(world, a, b);
		check_instance(world, a);
	}
}

/* ---- what is said of objects that were deleted ---- */

/* That others deleted an object is said of none that is there: not deleting, and with its label. */
static void check_deleted_by_others(struct world *world, const char *what, const json_t *before, const json_t *after,
				    enum object_kind kind)
{
	const char *uid = json_str(attempt_of(after), kind == KIND_POD ? "podUID" : "configMapUID");
	int64_t code = kind == KIND_POD ? CODE_POD_EXTERNAL_DELETED : CODE_CONFIG_MAP_EXTERNAL_DELETED;
	const struct object *object;

	if (is_set(attempt_of(before), "completionStatus") || uid == NULL ||
	    json_int(json_object_get(attempt_of(after), "completionStatus"), "code", 0) != code)
		return;
	object = api_find_uid(world, kind, uid);
	if (object != NULL && !object->deleting && object_framework_name(object->json) != NULL)
		violated(world, "%s ends as if %s were deleted, which lives", what, uid);
}

/* ---- status writes: only forward ---- */

/* Whether one is the other with messages shortened, and no other way round. */
static bool shortened(const json_t *before, const json_t *after)
{
	static const char *const kept[] = {"code", "phrase", "type", "trigger"};
	cleanup_free char *former = json_text(before);
	cleanup_free char *text = json_text(after);

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if ((is_set(before, kept[i]) || is_set(after, kept[i])) &&
		    !json_equal(json_object_get(before, kept[i]), json_object_get(after, kept[i])))
			return false;
	return strstr(text, SHORTENED_MARK) != NULL && strlen(text) < strlen(former);
}

static void check_attempt(struct world *world, const char *what, const json_t *before, const json_t *after,
			  const char *uid_name)
{
	const json_t *a = attempt_of(before);
	const json_t *b = attempt_of(after);

	if (is_set(a, uid_name) && !json_equal(json_object_get(a, uid_name), json_object_get(b, uid_name)))
		violated(world, "%s: %s changed within an attempt", what, uid_name);
	if (is_set(a, "completionStatus") &&
	    !json_equal(json_object_get(a, "completionStatus"), json_object_get(b, "completionStatus")) &&
	    !check_deadline_replaces(before, after) &&
	    !shortened(json_object_get(a, "completionStatus"), json_object_get(b, "completionStatus")))
		violated(world, "%s: completionStatus changed once set", what);
}

static int64_t retries(const json_t *status)
{
	return json_int(json_object_get(status, "retryPolicyStatus"), "totalRetriedCount", -1);
}

static void check_task_forward(struct world *world, const char *what, const json_t *before, const json_t *after)
{
	int was = state_of(before);
	int is = state_of(after);

	if (strcmp(json_str(before, "instanceUID"), json_str(after, "instanceUID")) != 0) {
		if (was != STATE_COMPLETED)
			violated(world, "%s is replaced in state %s", what, json_str(before, "state"));
		return;
	}
	if (retries(after) < retries(before))
		violated(world, "%s: its retries went back", what);
	if (retries(after) > retries(before)) {
		if (was != STATE_ATTEMPT_COMPLETED || retries(after) != retries(before) + 1)
			violated(world, "%s is retried from %s", what, json_str(before, "state"));
		return;
	}
	if (is < was && !(was == STATE_RUNNING && is == STATE_PREPARING))
		violated(world, "%s goes back from %s to %s", what, json_str(before, "state"),
			 json_str(after, "state"));
	if (json_bool(before, "deletionPending", false) && !json_bool(after, "deletionPending", false))
		violated(world, "%s: deletionPending is taken back", what);
	check_attempt(world, what, before, after, "podUID");
	check_deleted_by_others(world, what, before, after, KIND_POD);
}

static void check_tasks_forward(struct world *world, const struct object *object, const json_t *before,
				const json_t *after)
{
	const json_t *roles = json_object_get(attempt_of(before), "taskRoleStatuses");
	size_t r;
	size_t i;
	const json_t *role;
	const json_t *task;
	char what[160];

	json_array_foreach(roles, r, role) {
		const char *name = json_str(role, "name");
		const json_t *now = find_role(after, name);

		if (now == NULL || strcmp(json_str(now, "instanceUID"), json_str(role, "instanceUID")) != 0)
			continue;
		json_array_foreach(json_object_get(role, "taskStatuses"), i, task) {
			const json_t *task_now = find_task(after, name, (int)i);

			snprintf(what, sizeof(what), "%s-%s-%zu", object->name, name, i);
			if (task_now != NULL)
				check_task_forward(world, what, task, task_now);
			else if (!json_bool(task, "deletionPending", false))
				violated(world, "%s vanishes in state %s", what, json_str(task, "state"));
		}
	}
}

/* Whether an object is of the attempt that a status is at. */
bool of_attempt(const struct object *object, const json_t *status)
{
	return json_int(attempt_of(status), "id", -1) == atoi(annotation(object->json, "FC_FRAMEWORK_ATTEMPT_ID"));
}

bool of_task_attempt(const struct object *pod, const json_t *task)
{
	return task != NULL && strcmp(json_str(task, "instanceUID"), annotation(pod->json, "FC_TASK_UID")) == 0 &&
	       json_int(attempt_of(task), "id", -1) == atoi(annotation(pod->json, "FC_TASK_ATTEMPT_ID"));
}

/* What a create made is taken over by its own attempt alone, however late it came. */
static void check_adopted(struct world *world, const struct object *framework, const json_t *after)
{
	for (struct object *object = world->objects; object != NULL; object = object->next) {
		const json_t *held = after;
		const char *uid;
		bool fits;

		if (object->kind == KIND_FRAMEWORK || object->plan != framework->plan)
			continue;
		if (object->kind == KIND_POD)
			held = find_task(after, annotation(object->json, "FC_TASKROLE_NAME"),
					 atoi(annotation(object->json, "FC_TASK_INDEX")));
		uid = json_str(attempt_of(held), object->kind == KIND_POD ? "podUID" : "configMapUID");
		if (uid == NULL || strcmp(uid, object->uid) != 0)
			continue;
		fits = of_attempt(object, after) && (object->kind != KIND_POD || of_task_attempt(object, held));
		if (!fits || strcmp(annotation(object->json, "FC_FRAMEWORK_UID"), framework->uid) != 0)
			violated(world, "%s %s, of another attempt, is adopted", object->uid, object->name);
		if (object->late && object->kind == KIND_POD)
			kubelet_set_late(world, object->uid, false); /* from now on it is like any other */
		object->late = false;
	}
}

/* Whether the status says that its attempt, or its Task's, has another object than this one. */
static bool disowns(const json_t *status, const struct object *object)
{
	const char *config_map = json_str(attempt_of(status), "configMapUID");
	const json_t *task;
	const char *pod;

	if (!of_attempt(object, status))
		return false;
	if (object->kind == KIND_CONFIG_MAP)
		return config_map != NULL && strcmp(config_map, object->uid) != 0;
	if (config_map != NULL && strcmp(config_map, object->owner_uid) != 0)
		return true;
	task = find_task(status, annotation(object->json, "FC_TASKROLE_NAME"),
			 atoi(annotation(object->json, "FC_TASK_INDEX")));
	pod = json_str(attempt_of(task), "podUID");
	return of_task_attempt(object, task) && pod != NULL && strcmp(pod, object->uid) != 0;
}

/* A status that comes late may name older objects than those that its owner has created since: these are what late
 * writes made, then, and have to go as such. */
static void disown_others(struct world *world, const struct object *framework, const json_t *after)
{
	for (struct object *object = world->objects; object != NULL; object = object->next) {
		if (object->kind == KIND_FRAMEWORK || object->plan != framework->plan || object->late ||
		    strcmp(annotation(object->json, "FC_FRAMEWORK_UID"), framework->uid) != 0 ||
		    !disowns(after, object))
			continue;
		object->late = true;
		if (object->kind == KIND_POD)
			kubelet_set_late(world, object->uid, true);
		world->tally->late_objects++;
	}
}

void check_status_write(const struct wire *wire, struct object *object, json_t *written)
{
	struct world *world = wire->world;
	const json_t *before = status_of(object);
	cleanup_json json_t *plain = plain_status(world, written);
	const json_t *after = json_object_get(plain, "status");
	int was = state_of(before);
	int is = state_of(after);

	check_adopted(world, object, after);
	if (wire->late)
		disown_others(world, object, after);
	check_life_write(world, object, before, after);
	if (json_int(before, "observedGeneration", 0) != json_int(after, "observedGeneration", 0))
		object->observed_ms = world->now_ms;
	object->moved_late = object->moved_late || (wire->late && is != was);
	if (before == NULL)
		return;
	if (retries(after) < retries(before))
		violated(world, "%s: its retries went back", object->name);
	if (retries(after) > retries(before)) {
		if (was != STATE_ATTEMPT_COMPLETED || retries(after) != retries(before) + 1)
			violated(world, "%s is retried from %s", object->name, json_str(before, "state"));
		return;
	}
	if (is < was)
		violated(world, "%s goes back from %s to %s", object->name, json_str(before, "state"),
			 json_str(after, "state"));
	check_attempt(world, object->name, before, after, "configMapUID");
	check_deleted_by_others(world, object->name, before, after, KIND_CONFIG_MAP);
	check_tasks_forward(world, object, before, after);
}

/* ---- persist before act ---- */

/* What goes with the garbage collector when its owner goes. A Pod's ConfigMap may have gone while the request was on
 * its way. */
static void check_owner(struct world *world, const struct object *object, const struct object *framework)
{
	static const char attempt[] = "FC_FRAMEWORK_ATTEMPT_ID";
	const struct object *owner = framework;

	if (object->kind == KIND_POD)
		owner = api_find_uid(world, KIND_CONFIG_MAP, object->owner_uid);
	if (object->owner_uid[0] == '\0' || (owner != NULL && strcmp(owner->uid, object->owner_uid) != 0) ||
	    (owner != NULL && owner != framework &&
	     strcmp(annotation(owner->json, attempt), annotation(object->json, attempt)) != 0))
		violated(world, "%s is created as \"%s\"'s", object->name, object->owner_uid);
}

void check_created(struct world *world, const struct wire *wire, const struct object *object)
{
	struct object *framework = api_framework(world, object->plan);
	const json_t *status;
	const json_t *task;
	int attempt;

	check_life_create(wire, object);
	check_service_first(wire, object);
	check_gang_first(wire, object);
	check_queue_first(wire, object);
	check_depends(wire, object);
	if (framework == NULL || strcmp(framework->uid, annotation(object->json, "FC_FRAMEWORK_UID")) != 0)
		return;
	status = status_of(framework);
	attempt = atoi(annotation(object->json, "FC_FRAMEWORK_ATTEMPT_ID"));
	/* one that comes late may be of an attempt that is over, but of none that is yet to be */
	if (json_int(attempt_of(status), "id", -1) < attempt ||
	    (!wire->late && json_int(attempt_of(status), "id", -1) != attempt))
		violated(world, "%s is created for an attempt that is not stored", object->name);
	check_owner(world, object, framework);
	if (object->kind != KIND_POD || wire->late)
		return;
	task = find_task(status, annotation(object->json, "FC_TASKROLE_NAME"),
			 atoi(annotation(object->json, "FC_TASK_INDEX")));
	if (task == NULL || strcmp(json_str(task, "instanceUID"), annotation(object->json, "FC_TASK_UID")) != 0 ||
	    json_int(attempt_of(task), "id", -1) != atoi(annotation(object->json, "FC_TASK_ATTEMPT_ID")))
		violated(world, "%s is created for a Task attempt that is not stored", object->name);
}

void check_deletion(struct world *world, const struct object *object, bool force)
{
	struct object *framework = api_framework(world, object->plan);
	const json_t *status;
	const json_t *held;
	const char *label;
	const char *uid;

	if (object->kind == KIND_FRAMEWORK || force || framework == NULL ||
	    strcmp(framework->uid, annotation(object->json, "FC_FRAMEWORK_UID")) != 0)
		return;
	/* What lost its label, or has another Framework's, is out of sight, as if deleted by others: it is deleted at
	 * once. */
	label = object_framework_name(object->json);
	if (label == NULL || strcmp(label, framework->name) != 0)
		return;
	/* What outlived its ConfigMap runs for nothing: it is deleted before the next attempt. */
	if (object->kind == KIND_POD && api_find_uid(world, KIND_CONFIG_MAP, object->owner_uid) == NULL)
		return;
	status = status_of(framework);
	held = object->kind == KIND_CONFIG_MAP ? status
					       : find_task(status, annotation(object->json, "FC_TASKROLE_NAME"),
							   atoi(annotation(object->json, "FC_TASK_INDEX")));
	uid = json_str(attempt_of(held), object->kind == KIND_CONFIG_MAP ? "configMapUID" : "podUID");
	if (uid != NULL && strcmp(uid, object->uid) == 0 && !is_set(attempt_of(held), "completionStatus") &&
	    !json_bool(held, "deletionPending", false) && state_of(held) != STATE_CREATION_REQUESTED)
		violated(world, "%s %s is deleted before the reason is stored", object->uid, object->name);
}
