/* What users do: Frameworks of all shapes, and what happens to them in their lives; see sim.h. All of it is drawn from
 * the seed alone, so that a calm run of the seed has the same Frameworks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/sim/check.h"

enum {
	RELABELLED = 3, /* of DEED_STRIP_LABEL, and above: the Pod is given to Frameworks that are not there */
	RELABELLED_MS = 120 * 1000 /* by then its Framework has heard of it, whatever stood still */
};
enum { CREATION_TIMEOUT_SEC = 300, BIG_PERCENT = 25, STARTED_BY_MS = 10000, AGAIN_EVERY = 3 };

enum deed {
	DEED_CREATE,
	DEED_START,
	DEED_STOP,
	DEED_RESCALE,
	DEED_POLICY,
	DEED_TOUCH,
	DEED_DELETE,
	DEED_DELETE_BACKGROUND,
	DEED_DELETE_POD,
	DEED_FORCE_POD,
	DEED_DELETE_CONFIG_MAP,
	DEED_STRIP_LABEL,
};

struct action {
	enum deed deed;
	int framework;
	int role;
	int number;
	bool last; /* before all comes to rest */
	json_t *spec;
};

static int64_t draw(struct world *world, int64_t low, int64_t high)
{
	return random_between(&world->work_random, low, high);
}

static bool maybe(struct world *world, int percent)
{
	return draw(world, 0, 99) < percent;
}

const char *plan_ns(int plan)
{
	static const char *const names[SIM_NAMESPACES] = {"na", "nb"};

	return names[plan % SIM_NAMESPACES];
}

const char *plan_name(int plan)
{
	static const char *const names[SIM_FRAMEWORKS / SIM_NAMESPACES] = {"f0", "f1"};

	return names[plan / SIM_NAMESPACES];
}

int plan_find(const char *ns, const char *name)
{
	int plan = name[0] != 'f' || ns[0] != 'n' || ns[1] == '\0' ? -1
								   : (name[1] - '0') * SIM_NAMESPACES + ns[1] - 'a';

	return plan >= 0 && plan < SIM_FRAMEWORKS && strcmp(ns, plan_ns(plan)) == 0 ? plan : -1;
}

/* ---- how much of it ---- */

/* Most seeds are small: many small worlds find more than few large ones. */
static const struct work_size sizes[] = {
	{.small = true,
	 .frameworks = 2,
	 .roles = 1,
	 .tasks = 2,
	 .run_max_ms = 4000,
	 .create_by_ms = 1000,
	 .wild_by_ms = 15000},
	{.frameworks = SIM_FRAMEWORKS,
	 .roles = SIM_ROLES,
	 .tasks = 3,
	 .run_max_ms = 15000,
	 .create_by_ms = 8000,
	 .wild_by_ms = 60000},
	/* something new at all times, for faults that follow each other */
	{.small = true,
	 .frameworks = SIM_FRAMEWORKS,
	 .roles = 1,
	 .tasks = 2,
	 .run_max_ms = 4000,
	 .create_by_ms = 30000,
	 .wild_by_ms = 15000},
};

/* ---- what runs ---- */

static uint64_t mix(uint64_t value)
{
	value ^= value >> 33;
	value *= UINT64_C(0xFF51AFD7ED558CCD);
	value ^= value >> 33;
	value *= UINT64_C(0xC4CEB9FE1A85EC53);
	return value ^ (value >> 33);
}

int workload_run(const struct world *world, const struct instance *instance, int64_t *duration_ms)
{
	const struct role_plan *role = &world->plans[instance->plan].roles[instance->role[1] - '0'];
	uint64_t hash = mix(world->seed);

	hash = mix(hash ^ (uint64_t)(instance->plan * 256 + instance->role[1]));
	hash = mix(hash ^ (uint64_t)(instance->index * 1000 + instance->task_attempt));
	hash = mix(hash ^ (uint64_t)instance->framework_attempt);
	*duration_ms = role->pace == RUNS_FOR_EVER ? INT64_MAX : (int64_t)(hash % (uint64_t)world->size->run_max_ms);
	if (hash % 5 == 0 && *duration_ms != INT64_MAX)
		*duration_ms = (int64_t)(hash % 7);
	return (int)((hash >> 32) % 100) < role->fail_percent ? role->code : 0;
}

/* ---- deeds ---- */

static void action_free(void *arg)
{
	struct action *action = arg;

	json_decref(action->spec);
	free(action);
}

void workload_change_spec(struct world *world, struct object *object, json_t *spec)
{
	json_t *changed = api_copy(object);
	json_t *meta = json_object_get(changed, "metadata");

	if (json_equal(spec, json_object_get(changed, "spec"))) {
		json_decref(spec);
		json_decref(changed);
		return;
	}
	depends_repair(world, spec);
	json_object_set_new(changed, "spec", spec);
	json_object_set_new(meta, "generation", json_integer(json_int(meta, "generation", 0) + 1));
	api_replace(world, object, changed);
}

/* The n-th object of the kind that carries the Framework's name, or NULL. */
static struct object *nth(struct world *world, enum object_kind kind, int plan, int n)
{
	struct object *object;
	int count = 0;

	for (object = world->objects; object != NULL; object = object->next)
		if (object->kind == kind && object->plan == plan)
			count++;
	if (count == 0)
		return NULL;
	n %= count;
	for (object = world->objects; object != NULL; object = object->next)
		if (object->kind == kind && object->plan == plan && n-- == 0)
			break;
	return object;
}

static void edit_framework(struct world *world, const struct action *action, struct object *object)
{
	json_t *spec = json_deep_copy(json_object_get(object->json, "spec"));
	json_t *role = json_array_get(json_object_get(spec, "taskRoles"), (size_t)action->role);

	switch (action->deed) {
	case DEED_START: json_object_set_new(spec, "executionType", json_string("Start")); break;
	case DEED_STOP: json_object_set_new(spec, "executionType", json_string("Stop")); break;
	case DEED_RESCALE:
		if (role != NULL)
			json_object_set_new(role, "taskNumber", json_integer(action->number));
		if (action->number == 0 && json_array_size(json_object_get(spec, "taskRoles")) > 1)
			json_array_remove(json_object_get(spec, "taskRoles"), (size_t)action->role);
		break;
	default:
		if (role != NULL)
			json_object_set_new(role, "frameworkAttemptCompletionPolicy",
					    json_pack("{s:i,s:i}", "minFailedTaskCount", action->number - 1,
						      "minSucceededTaskCount", (action->number + 2) % 4 - 1));
	}
	workload_change_spec(world, object, spec);
}

static void touch(struct world *world, const struct action *action, struct object *object)
{
	json_t *changed = api_copy(object);

	json_object_set_new(json_object_get(changed, "metadata"), "annotations",
			    json_pack("{s:i}", "touched", action->number));
	api_replace(world, object, changed);
}

/* other: the Framework that it names from now on; NULL: none. */
static void take_label(struct world *world, struct object *object, const char *other)
{
	json_t *changed = api_copy(object);

	json_object_set_new(json_object_get(changed, "metadata"), "labels",
			    other == NULL ? json_object() : json_pack("{s:s}", "FC_FRAMEWORK_NAME", other));
	api_replace(world, object, changed);
}

static void trouble_dependents(struct world *world, const struct action *action)
{
	enum object_kind kind = action->deed == DEED_DELETE_CONFIG_MAP ||
						(action->deed == DEED_STRIP_LABEL && action->number == 0)
					? KIND_CONFIG_MAP
					: KIND_POD;
	struct object *object = nth(world, kind, action->framework, action->number);

	if (object == NULL)
		return;
	trace(world, "user: deed %d on %s %s", (int)action->deed, object->uid, object->name);
	switch (action->deed) {
	case DEED_DELETE_POD: api_delete(world, object, -1, false); break;
	case DEED_FORCE_POD: api_delete(world, object, 0, false); break;
	case DEED_DELETE_CONFIG_MAP:
		if (action->number % 2 == 0 || world->plans[action->framework].strict)
			api_delete(world, object, -1, true);
		else
			api_delete_background(world, object);
		break;
	default:
		/* of one that is deleting, nobody could tell that it has not gone */
		if (object->deleting)
			break;
		if (action->number < RELABELLED) {
			take_label(world, object, NULL);
			break;
		}
		take_label(world, object, "g");
		take_label(world, object, "h"); /* in one breath: watches may show both at once */
		snprintf(world->plans[action->framework].relabelled, sizeof(object->uid), "%s", object->uid);
		api_delete(world, object, world->plans[action->framework].strict ? -1 : 0, false);
		break;
	}
}

static void act(struct world *world, void *arg)
{
	struct action *action = arg;
	struct object *object = api_framework(world, action->framework);

	if (action->deed == DEED_CREATE) {
		json_t *metadata = json_pack("{s:s,s:s}", "name", plan_name(action->framework), "namespace",
					     plan_ns(action->framework));

		if (object == NULL) {
			queues_label(world, action->framework, metadata);
			api_create(world, KIND_FRAMEWORK,
				   json_pack("{s:s,s:s,s:O,s:O}", "apiVersion", "frameworkcontroller.microsoft.com/v1",
					     "kind", "Framework", "metadata", metadata, "spec", action->spec));
		}
		json_decref(metadata);
	} else if (action->deed >= DEED_DELETE_POD) {
		trouble_dependents(world, action);
	} else if (object != NULL) {
		trace(world, "user: deed %d on %s", (int)action->deed, object->uid);
		if (action->last)
			check_relabelled(world, action->framework);
		switch (action->deed) {
		case DEED_TOUCH: touch(world, action, object); break;
		case DEED_DELETE: api_delete(world, object, -1, true); break;
		case DEED_DELETE_BACKGROUND: api_delete(world, object, -1, false); break;
		default: edit_framework(world, action, object); break;
		}
	}
	action_free(action);
}

static void plan_action(struct world *world, int64_t at_ms, struct action action)
{
	struct action *copy;

	/* a calm run is there to be compared with */
	if (world->faults.calm && !world->plans[action.framework].tame) {
		json_decref(action.spec);
		return;
	}
	copy = mem_alloc(sizeof(*copy));
	*copy = action;
	if (world->work_until_ms < at_ms)
		world->work_until_ms = at_ms;
	at(world, at_ms, NULL, act, action_free, copy);
}

/* ---- Frameworks ---- */

static json_t *retry_policy(struct world *world, int most)
{
	static const int counts[] = {0, 0, 1, 2};

	return json_pack("{s:b,s:i}", "fancyRetryPolicy", (int)draw(world, 0, 1), "maxRetryCount",
			 most == 0 ? -1 : counts[draw(world, 0, 3)]);
}

static json_t *make_role(struct world *world, struct framework_plan *plan, int r, bool service, int scheme, int code)
{
	struct role_plan *role = &plan->roles[r];
	char name[16];
	json_t *json;
	json_t *task;

	snprintf(name, sizeof(name), "r%d", r);
	*role = (struct role_plan){
		.used = true,
		.tasks = (int)draw(world, 1, world->size->tasks),
		.pace = service ? RUNS_FOR_EVER : RUNS_SHORT,
		.fail_percent = maybe(world, 50) ? 0 : (int)draw(world, 1, 60),
		.code = code,
	};
	task = json_pack("{s:o,s:{s:{s:{s:s}},s:{s:[{s:s,s:s}]}}}", "retryPolicy",
			 retry_policy(world, role->fail_percent < 40 && maybe(world, 20) ? 0 : 1), "pod", "metadata",
			 "annotations", "user", "x", "spec", "containers", "name", "main", "image", "i");
	if (!plan->strict)
		json_object_set_new(task, "podGracefulDeletionTimeoutSec", json_integer(draw(world, 0, 60)));
	json = json_pack("{s:s,s:i,s:o}", "name", name, "taskNumber", role->tasks, "task", task);
	/* scheme 0: the default, fail fast; 1: nothing triggers; 2: a service ends when its workers have succeeded */
	if (scheme == 1)
		json_object_set_new(json, "frameworkAttemptCompletionPolicy",
				    json_pack("{s:i,s:i}", "minFailedTaskCount", -1, "minSucceededTaskCount", -1));
	if (scheme == 2 && !service)
		json_object_set_new(
			json, "frameworkAttemptCompletionPolicy",
			json_pack("{s:i,s:i}", "minFailedTaskCount", 1, "minSucceededTaskCount", role->tasks));
	return json;
}

static void make_wild(struct world *world, int framework, struct framework_plan *plan, int64_t created_ms)
{
	static const enum deed deeds[] = {DEED_START,       DEED_STOP,
					  DEED_RESCALE,     DEED_RESCALE,
					  DEED_RESCALE,     DEED_POLICY,
					  DEED_TOUCH,       DEED_TOUCH,
					  DEED_DELETE,      DEED_CREATE,
					  DEED_DELETE_POD,  DEED_DELETE_POD,
					  DEED_FORCE_POD,   DEED_DELETE_CONFIG_MAP,
					  DEED_STRIP_LABEL, DEED_DELETE_BACKGROUND};
	int count = (int)draw(world, 1, 6);

	for (int i = 0; i < count; i++) {
		enum deed deed = deeds[draw(world, 0, (int64_t)ARRAY_LEN(deeds) - 1)];
		struct action action = {.deed = deed,
					.framework = framework,
					.role = (int)draw(world, 0, world->size->roles - 1),
					.number = (int)draw(world, 0, 4)};
		int64_t at_ms = created_ms + draw(world, 0, world->size->wild_by_ms);

		if (plan->strict && (deed == DEED_FORCE_POD || deed == DEED_DELETE_BACKGROUND))
			continue;
		if (deed == DEED_CREATE)
			action.spec = json_incref(plan->spec);
		plan_action(world, at_ms, action);
		if (deed == DEED_DELETE && maybe(world, 60))
			plan_action(world, at_ms + draw(world, 0, 20000),
				    (struct action){.deed = DEED_CREATE,
						    .framework = framework,
						    .spec = json_incref(plan->spec)});
	}
}

/* Deleted and made again, several times within a moment: streams that lag tell of all of them together. Drawn from the
 * seed beside the others' numbers, which stay as they are. */
static void make_again(struct world *world, int framework, const struct framework_plan *plan, int64_t created_ms)
{
	enum { TIMES = 6, BURST = 3, BURST_MS = 10000, LATER_MS = 400 };
	uint64_t hash = mix(world->seed + (uint64_t)framework);
	int64_t at_ms = created_ms;

	for (int i = 0; i < TIMES; i++) {
		at_ms += 1 + (int64_t)(hash % (i % BURST == 0 ? BURST_MS : LATER_MS));
		hash = mix(hash);
		plan_action(world, at_ms, (struct action){.deed = DEED_DELETE_BACKGROUND, .framework = framework});
		at_ms += 1 + (int64_t)(hash % LATER_MS);
		hash = mix(hash);
		plan_action(
			world, at_ms,
			(struct action){.deed = DEED_CREATE, .framework = framework, .spec = json_incref(plan->spec)});
	}
}

static void make_framework(struct world *world, int framework)
{
	static const int codes[] = {1, 1, 7, 200, 201, 210};
	struct framework_plan *plan = &world->plans[framework];
	int code = codes[draw(world, 0, (int64_t)ARRAY_LEN(codes) - 1)];
	int roles = (int)draw(world, 1, maybe(world, 20) ? SIM_ROLES : world->size->roles);
	int scheme = roles > 1 ? (int)draw(world, 0, 2) : (int)draw(world, 0, 1);
	bool created = maybe(world, 20); /* first, and started later */
	int64_t at_ms = world->now_ms + draw(world, 0, world->size->create_by_ms);
	json_t *list = json_array();

	plan->used = true;
	plan->tame = maybe(world, 50);
	plan->strict = plan->tame || maybe(world, 70);
	plan->tame_tasks = plan->tame && scheme == 1;
	for (int r = 0; r < roles; r++)
		json_array_append_new(list, make_role(world, plan, r, scheme == 2 && r == 0, scheme, code));
	plan->spec = json_pack("{s:s,s:o,s:o}", "executionType", created ? "Create" : "Start", "retryPolicy",
			       retry_policy(world, 1), "taskRoles", list);
	plan_action(world, at_ms,
		    (struct action){.deed = DEED_CREATE, .framework = framework, .spec = json_incref(plan->spec)});
	if (created && (plan->tame || maybe(world, 70)))
		plan_action(world, at_ms + draw(world, 0, STARTED_BY_MS),
			    (struct action){.deed = DEED_START, .framework = framework});
	if (!plan->tame)
		make_wild(world, framework, plan, at_ms);
	if (!plan->strict && world->seed % AGAIN_EVERY == 0)
		make_again(world, framework, plan, at_ms);
}

void workload_make(struct world *world)
{
	world->creation_timeout_sec = CREATION_TIMEOUT_SEC;
	world->retain_sec = maybe(world, 15) ? draw(world, 0, 30) : 30 * 24 * 3600;
	world->size = &sizes[maybe(world, BIG_PERCENT) ? 1 : 0];
	if (row_of_seed(world->seed) != ROW_NONE)
		world->size = &sizes[2];
	world->framework_count = (int)draw(world, 1, world->size->frameworks);
	for (int i = 0; i < world->framework_count; i++)
		make_framework(world, i);
	life_make(world);
	services_make(world);
	depends_make(world);
	gangs_make(world);
	queues_make(world);
}

/* Whatever might go on for ever is stopped or deleted. */
void workload_close(struct world *world)
{
	for (int i = 0; i < world->framework_count; i++) {
		const struct object *object;
		const char *type;
		int64_t later_ms;

		object = api_framework(world, i);
		if (object == NULL || world->plans[i].tame)
			continue;
		type = json_str(json_object_get(object->json, "spec"), "executionType");
		if (strcmp(type, "Create") == 0 && maybe(world, 50))
			continue; /* it waits, rightly */
		later_ms = life_close(world, i);
		if (later_ms < 0)
			continue; /* it stays suspended */
		plan_action(world,
			    world->now_ms + later_ms + draw(world, 1, 5000) +
				    (world->plans[i].relabelled[0] == '\0' ? 0 : RELABELLED_MS),
			    (struct action){
				    .deed = maybe(world, 70) ? DEED_STOP : DEED_DELETE, .framework = i, .last = true});
	}
}

void workload_forget(struct world *world)
{
	for (int i = 0; i < SIM_FRAMEWORKS; i++)
		json_decref(world->plans[i].spec);
}
