/* The later lives of Frameworks, in every fourth world or so: users suspend and resume them, change deadlines,
 * backoffs, the time that they are kept, what becomes of Pods that do not start, and templates; some are managed by
 * another controller. Drawn from a random stream of its own, so that all other worlds stay as they are. See sim.h. */
#include <stdlib.h>

#include "common/base/json.h"
#include "tests/sim/check.h"

enum {
	LIVELY_EVERY = 4,
	STATES_SHARE = 500, /* of a thousand Frameworks of others */
	QUICK_MS = 1500,
	/* of a thousand statuses that are written: users change their mind right then */
	MEETS_RARELY = 30,
	MEETS_OFTEN = 400,  /* when the Framework is being suspended */
	MEETS_MOSTLY = 900, /* when it waits for its retry, which is rare */
	LONG_DELAY_SEC = 15,
	/* once nothing goes wrong any more, users go on for so long, and look on for so long */
	GO_ON_MS = 40 * 1000,
	LOOK_ON_MS = 60 * 1000,
};

enum life_deed {
	LIFE_SUSPEND,
	LIFE_RESUME,
	LIFE_START,
	LIFE_STOP,
	LIFE_DEADLINE,
	LIFE_BACKOFF,
	LIFE_TASK_BACKOFF,
	LIFE_TTL,
	LIFE_PENDING,
	LIFE_TEMPLATE,
	LIFE_OTHERS, /* one that another controller manages is created, if none is there */
	LIFE_DEEDS,
	LIFE_ORPHAN = LIFE_DEEDS, /* the ConfigMap goes, its Pods later */
};

struct change_of_life {
	enum life_deed deed;
	int framework;
	int role;
	json_t *value; /* NULL: none */
};

int64_t life_draw(struct world *world, int64_t low, int64_t high)
{
	return random_between(&world->life_random, low, high);
}

bool life_chance(struct world *world, int per_thousand)
{
	return life_draw(world, 0, 999) < per_thousand;
}

/* ---- what they ask for ---- */

static json_t *some_seconds(struct world *world, int64_t low, int64_t high)
{
	return life_chance(world, 300) ? NULL : json_integer(life_draw(world, low, high));
}

static json_t *some_backoff(struct world *world, bool tame)
{
	bool is_long = !tame && life_chance(world, 400);

	if (life_chance(world, 300))
		return NULL;
	return json_pack("{s:I,s:o*,s:o*}", "initialSec", life_draw(world, 1, is_long ? 60 : 4), "maxSec",
			 is_long || tame ? json_integer(life_draw(world, 1, is_long ? 90 : 10))
					 : some_seconds(world, 1, 60),
			 "resetAfterSec", some_seconds(world, 0, 10));
}

static json_t *some_pending_policy(struct world *world)
{
	if (life_chance(world, 200))
		return NULL;
	return json_pack("{s:o*,s:o*}", "startTimeoutSec", some_seconds(world, 0, 25), "unschedulableTimeoutSec",
			 some_seconds(world, 0, 25));
}

static json_t *some_value(struct world *world, enum life_deed deed)
{
	switch (deed) {
	case LIFE_DEADLINE: return some_seconds(world, 2, 60);
	case LIFE_BACKOFF:
	case LIFE_TASK_BACKOFF: return some_backoff(world, false);
	case LIFE_TTL: return some_seconds(world, 0, 20);
	case LIFE_PENDING: return some_pending_policy(world);
	case LIFE_TEMPLATE: return json_integer(life_draw(world, 0, 1000));
	default: return NULL;
	}
}

/* value is taken over; NULL removes the member. */
static void put(json_t *object, const char *name, json_t *value)
{
	if (value == NULL)
		json_object_del(object, name);
	else
		json_object_set_new(object, name, value);
}

static void change(json_t *spec, const struct change_of_life *action)
{
	json_t *role = json_array_get(json_object_get(spec, "taskRoles"), (size_t)action->role);
	json_t *task = json_object_get(role, "task");

	switch (action->deed) {
	case LIFE_SUSPEND: put(spec, "suspend", json_true()); break;
	case LIFE_RESUME: put(spec, "suspend", json_false()); break;
	case LIFE_START: put(spec, "executionType", json_string("Start")); break;
	case LIFE_STOP: put(spec, "executionType", json_string("Stop")); break;
	case LIFE_DEADLINE: put(spec, "activeDeadlineSec", json_incref(action->value)); break;
	case LIFE_TTL: put(spec, "ttlSecondsAfterCompleted", json_incref(action->value)); break;
	case LIFE_BACKOFF: put(json_object_get(spec, "retryPolicy"), "backoff", json_incref(action->value)); break;
	case LIFE_TASK_BACKOFF: put(json_object_get(task, "retryPolicy"), "backoff", json_incref(action->value)); break;
	case LIFE_PENDING: put(task, "pendingPolicy", json_incref(action->value)); break;
	default: put(json_path(task, "pod", "metadata", "annotations", NULL), "user", json_incref(action->value));
	}
}

/* ---- another controller's ---- */

/* What would be acted on at once if it were ours: it is to be deleted, or retried. */
static json_t *others_status(struct world *world)
{
	const char *state = life_chance(world, 500) ? "Completed" : "AttemptCompleted";
	static const char time[] = "2020-01-01T00:00:00Z";

	return json_pack("{s:s,s:s,s:s,s:s,s:{s:i,s:i,s:i},s:{s:i,s:s,s:s,s:{s:i,s:s,s:s,s:{s:s,s:[]}},s:[]}}", "state",
			 state, "startTime", time, "completionTime", time, "transitionTime", time, "retryPolicyStatus",
			 "totalRetriedCount", 0, "accountableRetriedCount", 0, "retryDelaySec", 0, "attemptStatus",
			 "id", 0, "startTime", time, "completionTime", time, "completionStatus", "code", 1, "phrase",
			 "", "diagnostics", "", "type", "name", "Failed", "attributes", "taskRoleStatuses");
}

static void create_others(struct world *world, int framework)
{
	json_t *spec = json_deep_copy(world->plans[framework].spec);
	struct object *object;
	json_t *changed;

	put(spec, "managedBy", json_string("example.com/another"));
	put(spec, "ttlSecondsAfterCompleted", json_integer(0));
	object = api_create(world, KIND_FRAMEWORK,
			    json_pack("{s:s,s:s,s:{s:s,s:s},s:o}", "apiVersion", "frameworkcontroller.microsoft.com/v1",
				      "kind", "Framework", "metadata", "name", plan_name(framework), "namespace",
				      plan_ns(framework), "spec", spec));
	if (!life_chance(world, STATES_SHARE))
		return;
	changed = api_copy(object);
	put(changed, "status", others_status(world));
	api_replace(world, object, changed);
}

bool life_others(const struct object *framework)
{
	const char *manager = json_str(json_object_get(framework->json, "spec"), "managedBy");

	return manager != NULL && manager[0] == 'e';
}

/* ---- deeds ---- */

static void delete_config_map(struct world *world, int framework)
{
	struct object *object = world->objects;

	while (object != NULL && (object->kind != KIND_CONFIG_MAP || object->plan != framework))
		object = object->next;
	if (object != NULL)
		api_delete_background(world, object);
}

static void action_free(void *arg)
{
	struct change_of_life *action = arg;

	json_decref(action->value);
	free(action);
}

static void act(struct world *world, void *arg)
{
	struct change_of_life *action = arg;
	struct object *object = api_framework(world, action->framework);

	if (action->deed == LIFE_OTHERS) {
		if (object == NULL)
			create_others(world, action->framework);
	} else if (action->deed == LIFE_ORPHAN) {
		delete_config_map(world, action->framework);
	} else if (object != NULL) {
		json_t *spec = json_deep_copy(json_object_get(object->json, "spec"));

		trace(world, "user: life's deed %d on %s", (int)action->deed, object->uid);
		change(spec, action);
		workload_change_spec(world, object, spec);
	}
	action_free(action);
}

static void plan_deed(struct world *world, int64_t at_ms, int framework, enum life_deed deed)
{
	struct change_of_life *action = mem_alloc(sizeof(*action));

	*action = (struct change_of_life){.deed = deed,
					  .framework = framework,
					  .role = (int)life_draw(world, 0, SIM_ROLES - 1),
					  .value = some_value(world, deed)};
	if (!world->healed && world->work_until_ms < at_ms)
		world->work_until_ms = at_ms;
	if (world->life_until_ms < at_ms)
		world->life_until_ms = at_ms;
	at(world, at_ms, NULL, act, action_free, action);
}

/* Some of them, at any time up to until_ms; some in quick succession. */
static void plan_deeds(struct world *world, int framework, int most, int64_t until_ms)
{
	static const enum life_deed quick[] = {LIFE_SUSPEND, LIFE_RESUME, LIFE_SUSPEND,
					       LIFE_RESUME,  LIFE_START,  LIFE_STOP};
	int count = (int)life_draw(world, 1, most);

	for (int i = 0; i < count; i++) {
		int64_t at_ms = life_draw(world, world->now_ms + 1, until_ms);

		if (life_chance(world, 400)) {
			plan_deed(world, at_ms, framework, (enum life_deed)life_draw(world, 0, LIFE_DEEDS - 1));
			continue;
		}
		for (int64_t n = life_draw(world, 1, 4); n > 0; n--) {
			/* Stop is the last thing that happens to most: it comes less often */
			plan_deed(world, at_ms, framework,
				  quick[life_draw(world, 0,
						  (int64_t)ARRAY_LEN(quick) - (life_chance(world, 700) ? 3 : 1))]);
			at_ms += life_draw(world, 1, life_chance(world, 500) ? QUICK_MS : 10 * QUICK_MS);
		}
	}
}

static void enliven(struct world *world, int framework)
{
	const struct framework_plan *plan = &world->plans[framework];
	static const enum life_deed from_the_first[] = {LIFE_DEADLINE, LIFE_TTL,     LIFE_BACKOFF,
							LIFE_BACKOFF,  LIFE_PENDING, LIFE_TASK_BACKOFF};

	for (int r = 0; r < SIM_ROLES; r++)
		for (size_t i = 0; i < ARRAY_LEN(from_the_first); i++) {
			enum life_deed deed = from_the_first[i];
			struct change_of_life action = {.deed = deed, .role = r};

			if (life_chance(world, deed == LIFE_DEADLINE || deed == LIFE_TTL ? 700 : 300) ||
			    (plan->tame && deed != LIFE_BACKOFF && deed != LIFE_TASK_BACKOFF))
				continue;
			action.value = plan->tame ? some_backoff(world, true) : some_value(world, deed);
			if (r == 0 || deed == LIFE_PENDING || deed == LIFE_TASK_BACKOFF)
				change(plan->spec, &action);
			json_decref(action.value);
		}
	if (plan->tame || world->faults.calm)
		return;
	if (life_chance(world, 200))
		put(plan->spec, "suspend", json_true());
	if (life_chance(world, 100))
		put(plan->spec, "managedBy", json_string("frameworkcontroller.microsoft.com/controller"));
	if (life_chance(world, 150))
		plan_deed(world, world->now_ms + 1, framework, LIFE_OTHERS);
	plan_deeds(world, framework, 6, world->now_ms + world->size->create_by_ms + world->size->wild_by_ms);
}

bool life_of_seed(uint64_t seed)
{
	uint64_t hash = (seed + 5) * UINT64_C(0x9E3779B97F4A7C15);

	return (hash >> 40) % LIVELY_EVERY == 0;
}

void life_make(struct world *world)
{
	world->lively = life_of_seed(world->seed);
	if (!world->lively)
		return;
	random_init_seed(&world->life_random, world->seed ^ UINT64_C(0x1F1F1F1F1F1F1F1F));
	for (int i = 0; i < world->framework_count; i++)
		enliven(world, i);
}

void life_status_written(struct world *world, const struct object *framework)
{
	static const enum life_deed deeds[] = {LIFE_SUSPEND, LIFE_STOP, LIFE_SUSPEND, LIFE_RESUME};
	const json_t *retry = json_path(framework->json, "status", "retryPolicyStatus", NULL);
	bool suspends = json_bool(json_object_get(framework->json, "spec"), "suspend", false);
	bool waits = json_int(retry, "retryDelaySec", 0) > LONG_DELAY_SEC;
	int64_t until_ms = world->healed ? world->life_until_ms - LOOK_ON_MS : world->work_until_ms;

	if (!world->lively || world->plans[framework->plan].tame || world->now_ms > until_ms ||
	    !life_chance(world, waits      ? MEETS_MOSTLY
				: suspends ? MEETS_OFTEN
					   : MEETS_RARELY))
		return;
	plan_deed(world, world->now_ms + life_draw(world, 1, waits ? 5000 : 400), framework->plan,
		  suspends && !world->plans[framework->plan].strict
			  ? LIFE_ORPHAN
			  : deeds[life_draw(world, 0, waits ? 1 : (int64_t)ARRAY_LEN(deeds) - 1)]);
}

int64_t life_close(struct world *world, int framework)
{
	int64_t end_ms = world->now_ms + GO_ON_MS + LOOK_ON_MS;

	if (!world->lively)
		return 0;
	if (!world->faults.calm)
		plan_deeds(world, framework, 4, world->now_ms + GO_ON_MS);
	if (world->life_until_ms < end_ms)
		world->life_until_ms = end_ms;
	if (!life_chance(world, 300))
		return GO_ON_MS + LOOK_ON_MS;
	plan_deed(world, end_ms, framework, LIFE_SUSPEND);
	return -1;
}
