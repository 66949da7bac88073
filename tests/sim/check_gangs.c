/* What must hold of gangs: no Pod of one is created before its PodGroup; the PodGroup never waits for more Pods than
 * can come, and soon for as many as it should. See check.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/framework/names.h"
#include "tests/sim/check.h"

/* What is served is known for a minute. */
enum { OVERDUE_MS = 30 * 1000, KNOWN_MS = 60 * 1000, BACKOFF_MS = 60 * 1000, UNDONE_MS = 10 * 1000, UNDONE_MAX = 40 };

static int64_t count_completed(const json_t *role)
{
	int64_t count = 0;
	size_t i;
	const json_t *task;

	json_array_foreach(json_object_get(role, "taskStatuses"), i, task)
		count += !json_bool(task, "deletionPending", false) && state_of(task) == STATE_COMPLETED;
	return count;
}

/* Tasks of the spec that are not Completed. */
static int64_t uncompleted(struct object *framework, const json_t *spec)
{
	int64_t count = 0;
	size_t r;
	const json_t *role;

	json_array_foreach(json_object_get(attempt_of(status_of(framework)), "taskRoleStatuses"), r, role) {
		const json_t *in_spec = json_find(json_object_get(spec, "taskRoles"), "name", json_str(role, "name"));

		if (in_spec != NULL)
			count += json_int(in_spec, "taskNumber", 0) - count_completed(role);
	}
	return count;
}

/* The same, of the specs that the writer of the stored status may know: the one with the most. */
static int64_t uncompleted_at_most(struct object *framework)
{
	int64_t first = json_int(status_of(framework), "observedGeneration", 1);
	int64_t most = 1;

	for (size_t i = first < 1 ? 0 : (size_t)first - 1; i < json_array_size(framework->specs); i++) {
		int64_t count = uncompleted(framework, json_array_get(framework->specs, i));

		most = count > most ? count : most;
	}
	return most;
}

/* The Framework whose present attempt owns it, if one does. */
static struct object *framework_of(struct world *world, const char *config_map_uid)
{
	const struct object *config_map = api_find_uid(world, KIND_CONFIG_MAP, config_map_uid);
	struct object *framework = config_map == NULL ? NULL : api_framework(world, config_map->plan);

	return framework != NULL && status_of(framework) != NULL && of_attempt(config_map, status_of(framework))
		       ? framework
		       : NULL;
}

void check_gang_sent(const struct wire *wire)
{
	struct world *world = wire->world;
	const struct pod_group *group = NULL;
	cleanup_json json_t *body = NULL;
	struct object *framework;
	const char *owner;

	if (!world->ganged || strstr(wire->path, "/podgroups") == NULL || strcmp(wire->method, "GET") == 0)
		return;
	body = json_parse(wire->body, strlen(wire->body), NULL);
	for (group = world->pod_groups; group != NULL; group = group->next)
		if (strcmp(meta_text(group->json, "uid"), meta_text(body, "uid")) == 0)
			break;
	owner = json_str(json_array_get(json_path(body, "metadata", "ownerReferences", NULL), 0), "uid");
	if (owner == NULL)
		owner = group == NULL ? "" : gangs_owner(group);
	framework = framework_of(world, owner);
	if (framework == NULL || member_blind(wire->member) || !may_act(wire->member, framework->ns, framework->name))
		return;
	if (gangs_min(body) > uncompleted_at_most(framework))
		violated(world, "%s %s waits for %d Pods, and %d Tasks can have one", wire->method, wire->path,
			 (int)gangs_min(body), (int)uncompleted_at_most(framework));
}

/* The backoff of one process allows twelve in that time; others may take over its shards. */
void check_gang_undone(struct world *world, struct pod_group *group)
{
	if (world->now_ms > group->undone_from_ms + UNDONE_MS) {
		group->undone_from_ms = world->now_ms;
		group->undone = 0;
	}
	if (++group->undone > UNDONE_MAX)
		violated(world, "PodGroup %s is patched %d times in %d s, without effect",
			 meta_text(group->json, "name"), group->undone, UNDONE_MS / 1000);
}

/* Pods of the attempt whose Tasks have them, the new one included: so many members there are at least. */
static int64_t present(struct world *world, const struct object *framework, const json_t *status,
		       const struct object *new)
{
	int64_t count = 0;

	for (const struct object *pod = world->objects; pod != NULL; pod = pod->next) {
		const json_t *task;
		const char *uid;

		if (pod->kind != KIND_POD || pod->deleting || pod->late ||
		    strcmp(pod->owner_uid, new->owner_uid) != 0 ||
		    strcmp(annotation(pod->json, "FC_FRAMEWORK_UID"), framework->uid) != 0)
			continue;
		task = find_task(status, annotation(pod->json, "FC_TASKROLE_NAME"),
				 atoi(annotation(pod->json, "FC_TASK_INDEX")));
		uid = json_str(attempt_of(task), "podUID");
		if (task != NULL && !json_bool(task, "deletionPending", false) &&
		    !is_set(attempt_of(task), "completionStatus"))
			count += pod == new || (uid != NULL && strcmp(uid, pod->uid) == 0);
	}
	return count;
}

/* A rescale up is told to the scheduler before its Pods come. Creations that were on their way by then do not count. */
static void check_members(const struct wire *wire, struct object *framework, const struct pod_group *group,
			  const struct object *pod)
{
	struct world *world = wire->world;
	const json_t *status = status_of(framework);
	const json_t *gang = json_path(framework->json, "spec", "gang", NULL);
	int64_t min = json_int(gang, "minTaskNumber", INT64_MAX);
	int64_t count = present(world, framework, status, pod);

	if (gang != NULL && wire->sent_ms > framework->observed_ms &&
	    json_int(json_object_get(framework->json, "metadata"), "generation", -1) ==
		    json_int(status, "observedGeneration", -2) &&
	    gangs_min(group->json) < (count < min ? count : min))
		violated(world, "%s is created while PodGroup %s waits for %d Pods, expected %d at least", pod->name,
			 meta_text(group->json, "name"), (int)gangs_min(group->json), (int)(count < min ? count : min));
}

void check_gang_first(const struct wire *wire, const struct object *pod)
{
	struct world *world = wire->world;
	const char *name = pod->kind == KIND_POD ? gangs_name(pod->json) : "";
	const struct pod_group *group;
	struct object *framework = api_framework(world, pod->plan);
	char expected[128];

	if (!world->ganged)
		return;
	if (pod->kind == KIND_CONFIG_MAP)
		world->gang_attempt_ms[pod->plan] = world->now_ms;
	if (pod->kind != KIND_POD || wire->late || framework == NULL || framework->deleting ||
	    strcmp(framework->uid, annotation(pod->json, "FC_FRAMEWORK_UID")) != 0)
		return;
	if ((name[0] != '\0') != is_set(attempt_of(status_of(framework)), "gangScheduler"))
		violated(world, "%s is of PodGroup \"%s\", which its attempt does not say", pod->name, name);
	if (name[0] == '\0')
		return;
	snprintf(expected, sizeof(expected), "%s-%s", framework->name,
		 annotation(pod->json, "FC_FRAMEWORK_ATTEMPT_ID"));
	if (strcmp(name, expected) != 0)
		violated(world, "%s is of PodGroup %s, expected %s", pod->name, name, expected);
	group = gangs_find(world, pod->ns, name);
	if ((group == NULL || strcmp(gangs_owner(group), pod->owner_uid) != 0) &&
	    api_find_uid(world, KIND_CONFIG_MAP, pod->owner_uid) != NULL &&
	    world->gang_taken_ms[pod->plan] <= world->gang_attempt_ms[pod->plan])
		violated(world, "%s is created before PodGroup %s of \"%s\"", pod->name, name, pod->owner_uid);
	if (group != NULL && strcmp(gangs_owner(group), pod->owner_uid) == 0)
		check_members(wire, framework, group, pod);
}

/* What the PodGroup of the present attempt should wait for; 0: anything will do. */
static int64_t expected_members(struct object *framework)
{
	const json_t *gang = json_path(framework->json, "spec", "gang", NULL);
	int64_t count = uncompleted(framework, json_object_get(framework->json, "spec"));
	int64_t min = json_int(gang, "minTaskNumber", 0);

	if (gang == NULL)
		return count > 0;
	return min > 0 && count > min ? min : count;
}

static bool is_right(struct world *world, const struct pod_group *group)
{
	struct object *framework = framework_of(world, gangs_owner(group));
	int state = framework == NULL ? -1 : state_of(status_of(framework));
	int64_t expected;

	if (framework == NULL || framework->deleting || (state != STATE_PREPARING && state != STATE_RUNNING) ||
	    is_set(attempt_of(status_of(framework)), "completionStatus") || !framework_attended(world, framework))
		return true;
	expected = expected_members(framework);
	return expected == 0 || gangs_min(group->json) == expected;
}

void check_gangs(struct world *world)
{
	for (struct pod_group *group = world->pod_groups; group != NULL; group = group->next) {
		if (group->wrong_since_ms == 0 || world->looks_anew || is_right(world, group)) {
			group->wrong_since_ms = is_right(world, group) ? 0 : world->now_ms;
			continue;
		}
		if (world->now_ms > group->wrong_since_ms + OVERDUE_MS &&
		    world->now_ms > world->gang_unserved_until_ms + KNOWN_MS + BACKOFF_MS + OVERDUE_MS &&
		    world->now_ms > world->paused_until_ms + KNOWN_MS + BACKOFF_MS + OVERDUE_MS &&
		    world->now_ms > world->gang_forbidden_until_ms + BACKOFF_MS + OVERDUE_MS &&
		    world->now_ms > world->gang_undone_until_ms + BACKOFF_MS + OVERDUE_MS)
			violated(world, "PodGroup %s waits for %d Pods, expected %d", meta_text(group->json, "name"),
				 (int)gangs_min(group->json),
				 (int)expected_members(framework_of(world, gangs_owner(group))));
	}
}
