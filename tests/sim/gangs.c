/* Gangs, in every fourth world or so: Frameworks have spec.gang, a scheduler places the Pods of a PodGroup when so many
 * of them exist, and users get in the way: they have PodGroups of the same names, delete those of attempts, change
 * spec.gang, uninstall the scheduler's API for a while, have webhooks, and the controller may lack its rights. Nobody
 * watches PodGroups, so that they are kept apart from other objects. Drawn from a random stream of its own, so that all
 * other worlds stay as they are. See sim.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/framework/names.h"
#include "tests/merge.h"
#include "tests/sim/check.h"

enum {
	GANGED_EVERY = 4,
	USES_OFTEN = 700, /* of a thousand Frameworks */
	DEEDS_MAX = 4,
	STAYS_MS = 30 * 1000,
	UNSERVED_MS = 90 * 1000,
	COLLECTED_MS = 8 * 1000,
};

enum gang_deed {
	GANG_PLANT,     /* a PodGroup of somebody else has the name of the next attempt's */
	GANG_TAKE,      /* somebody deletes the attempt's own */
	GANG_FORBID,    /* the controller has no right to PodGroups for a while */
	GANG_UNSERVE,   /* nobody serves PodGroups for a while */
	GANG_DOWNGRADE, /* Kubernetes serves them in another version */
	GANG_UNDO,      /* a webhook puts back what PATCHes change, for a while */
	GANG_SWITCH,    /* spec.gang is changed */
	GANG_DEEDS,
};

struct gang_action {
	enum gang_deed deed;
	int framework;
	char uid[40]; /* of what is removed; "" */
};

static int64_t draw(struct world *world, int64_t low, int64_t high)
{
	return random_between(&world->gang_random, low, high);
}

static bool maybe(struct world *world, int per_thousand)
{
	return draw(world, 0, 999) < per_thousand;
}

/* ---- what there is ---- */

struct pod_group *gangs_find(const struct world *world, const char *ns, const char *name)
{
	struct pod_group *group = world->pod_groups;

	while (group != NULL && (strcmp(group->ns, ns) != 0 || strcmp(meta_text(group->json, "name"), name) != 0))
		group = group->next;
	return group;
}

const char *gangs_owner(const struct pod_group *group)
{
	const json_t *owner = json_array_get(json_path(group->json, "metadata", "ownerReferences", NULL), 0);

	return json_bool(owner, "controller", false) ? json_str(owner, "uid") : "";
}

int64_t gangs_min(const json_t *group)
{
	const json_t *spec = json_object_get(group, "spec");

	return json_int(spec, "minMember", json_int(json_path(spec, "schedulingPolicy", "gang", NULL), "minCount", 0));
}

const char *gangs_name(const json_t *pod)
{
	const char *name = json_str(json_path(pod, "spec", "schedulingGroup", NULL), "podGroupName");

	if (name == NULL)
		name = json_str(json_path(pod, "metadata", "labels", NULL), COSCHEDULING_GROUP);
	return name == NULL ? annotation(pod, VOLCANO_GROUP) : name;
}

static void stamp(struct world *world, json_t *object)
{
	char version[24];

	snprintf(version, sizeof(version), "%" PRIu64, ++world->gang_version);
	json_object_set_new(json_object_get(object, "metadata"), "resourceVersion", json_string(version));
}

/* json is taken over. */
static struct pod_group *add(struct world *world, int plan, json_t *json)
{
	struct pod_group *group = mem_calloc(1, sizeof(*group));
	char uid[40];

	json_object_set_new(json, "metadata", json_copy(json_object_get(json, "metadata"))); /* it is a memo's */
	snprintf(uid, sizeof(uid), "pg-%" PRIu64, ++world->gang_version);
	json_object_set_new(json_object_get(json, "metadata"), "uid", json_string(uid));
	stamp(world, json);
	*group = (struct pod_group){.next = world->pod_groups, .plan = plan, .ns = plan_ns(plan), .json = json};
	world->pod_groups = group;
	trace(world, "created %s %s of \"%s\"", uid, meta_text(json, "name"), gangs_owner(group));
	return group;
}

static void drop(struct world *world, struct pod_group *group)
{
	struct pod_group **place = &world->pod_groups;

	while (*place != group)
		place = &(*place)->next;
	*place = group->next;
	trace(world, "gone %s %s", meta_text(group->json, "uid"), meta_text(group->json, "name"));
	json_decref(group->json);
	free(group);
}

void gangs_free(struct world *world)
{
	while (world->pod_groups != NULL)
		drop(world, world->pod_groups);
}

/* ---- the garbage collector ---- */

static void collect(struct world *world, void *arg)
{
	struct pod_group *group = world->pod_groups;
	cleanup_free char *owner_uid = arg;

	while (group != NULL) {
		struct pod_group *next = group->next;

		if (strcmp(gangs_owner(group), owner_uid) == 0)
			drop(world, group);
		group = next;
	}
}

void gangs_owner_gone(struct world *world, const char *uid)
{
	if (world->ganged)
		at(world, world->now_ms + draw(world, 1, COLLECTED_MS), NULL, collect, free, mem_strdup(uid));
}

/* ---- the scheduler ---- */

/* Whether it takes part: bound and not over, or ready to be bound. */
static bool takes_part(const struct object *pod, const struct instance *instance)
{
	const char *phase = json_str(json_object_get(pod->json, "status"), "phase");

	return !pod->deleting && (pod->bound || instance->waits_for_gang || instance->placed) &&
	       strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0;
}

static int64_t members(struct world *world, const struct pod_group *group)
{
	int64_t count = 0;

	for (const struct object *pod = world->objects; pod != NULL; pod = pod->next)
		if (pod->kind == KIND_POD && strcmp(pod->ns, group->ns) == 0 &&
		    strcmp(gangs_name(pod->json), meta_text(group->json, "name")) == 0)
			count += takes_part(pod, kubelet_find(world, pod->uid));
	return count;
}

static void place(struct world *world, const struct pod_group *group)
{
	if (group == NULL || members(world, group) < gangs_min(group->json))
		return;
	for (const struct object *pod = world->objects; pod != NULL; pod = pod->next) {
		struct instance *instance = pod->kind == KIND_POD ? kubelet_find(world, pod->uid) : NULL;

		if (instance == NULL || !instance->waits_for_gang || strcmp(pod->ns, group->ns) != 0 ||
		    strcmp(gangs_name(pod->json), meta_text(group->json, "name")) != 0)
			continue;
		instance->waits_for_gang = false;
		instance->placed = true;
		trace(world, "placed %s", pod->uid);
		kubelet_bind(world, pod->uid);
	}
}

bool gangs_hold(struct world *world, const char *uid)
{
	struct object *pod = api_find_uid(world, KIND_POD, uid);
	struct instance *instance = kubelet_find(world, uid);

	if (!world->ganged || pod == NULL || gangs_name(pod->json)[0] == '\0' || instance->placed)
		return false;
	instance->waits_for_gang = true;
	place(world, gangs_find(world, pod->ns, gangs_name(pod->json)));
	return true;
}

/* ---- requests ---- */

static void answer(struct answer *out, int code, const struct pod_group *group)
{
	out->code = code;
	out->body = json_text(group->json);
}

static void create(struct world *world, const struct wire *wire, const char *ns, struct answer *out)
{
	json_t *body = json_parse(wire->body, strlen(wire->body), NULL);
	const char *name = meta_text(body, "name");
	struct pod_group *group;

	if (gangs_find(world, ns, name) != NULL) {
		json_decref(body);
		api_status(out, 409, "AlreadyExists", "already exists");
		return;
	}
	group = add(world, plan_find(ns, name), body);
	if (api_find_any(world, gangs_owner(group)) == NULL)
		gangs_owner_gone(world, gangs_owner(group));
	answer(out, 201, group);
	place(world, group);
}

static void patch(struct world *world, const struct wire *wire, struct pod_group *group, struct answer *out)
{
	cleanup_json json_t *body = json_parse(wire->body, strlen(wire->body), NULL);
	json_t *changed;

	if (strcmp(meta_text(body, "uid"), meta_text(group->json, "uid")) != 0) {
		api_status(out, 409, "Conflict", "the uid does not match");
		return;
	}
	if (world->now_ms < world->gang_undone_until_ms) {
		trace(world, "not patched %s", meta_text(group->json, "name"));
		check_gang_undone(world, group);
		answer(out, 200, group);
		return;
	}
	changed = json_copy(group->json);
	merge_patch(changed, body);
	json_object_set_new(changed, "metadata", json_copy(json_object_get(changed, "metadata")));
	stamp(world, changed);
	json_decref(group->json);
	group->json = changed;
	trace(world, "patched %s: %" PRId64, meta_text(changed, "name"), gangs_min(changed));
	answer(out, 200, group);
	place(world, group);
}

/* Kubernetes serves one of two versions. */
static bool is_served(const struct world *world, const char *path)
{
	if (strstr(path, "/scheduling.k8s.io/") != NULL &&
	    (strstr(path, "/v1beta1") != NULL) != (world->gang_downgrades % 2 == 0))
		return false;
	return world->now_ms >= world->gang_unserved_until_ms;
}

static void handle_group(struct world *world, const struct wire *wire, const char *ns, const char *name,
			 struct answer *out)
{
	struct pod_group *group = gangs_find(world, ns, name);

	if (world->now_ms < world->gang_forbidden_until_ms)
		api_status(out, 403, "Forbidden", "podgroups is forbidden: cannot do that");
	else if (strcmp(wire->method, "POST") == 0)
		create(world, wire, ns, out);
	else if (group == NULL)
		api_not_found(out, "podgroups", name);
	else if (strcmp(wire->method, "PATCH") == 0)
		patch(world, wire, group, out);
	else if (strcmp(wire->method, "GET") == 0)
		answer(out, 200, group);
	else
		violated(world, "a request %s %s: PodGroups are created, read and patched", wire->method, wire->path);
}

bool gangs_handle(struct world *world, const struct wire *wire, struct answer *out)
{
	const char *namespaces = strstr(wire->path, "/namespaces/");
	char ns[8];
	char name[96] = "";

	if (strncmp(wire->path, "/apis/scheduling.", strlen("/apis/scheduling.")) != 0)
		return false;
	if (!world->ganged)
		violated(world, "a request for %s without gangs", wire->path);
	if (namespaces != NULL)
		check_request(world, wire);
	if (!is_served(world, wire->path)) {
		out->code = 404;
		out->body = mem_strdup("404 page not found");
	} else if (namespaces == NULL) {
		out->code = 200;
		out->body = mem_strdup("{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"podgroups\"}]}");
	} else {
		sscanf(namespaces, "/namespaces/%7[^/]/podgroups/%95[^/?]", ns, name);
		handle_group(world, wire, ns, name, out);
	}
	return true;
}

/* ---- deeds ---- */

static void plan_action(struct world *world, int64_t at_ms, const struct gang_action *action);

static void plant(struct world *world, const struct gang_action *action)
{
	struct object *framework = api_framework(world, action->framework);
	int64_t id = framework == NULL ? -1 : json_int(attempt_of(status_of(framework)), "id", -1);
	struct gang_action end = *action;
	char name[32];
	json_t *meta;

	snprintf(name, sizeof(name), "%s-%d", plan_name(action->framework), (int)id + 1);
	if (gangs_find(world, plan_ns(action->framework), name) != NULL)
		return;
	meta = json_pack("{s:s,s:s}", "name", name, "namespace", plan_ns(action->framework));
	if (maybe(world, 300))
		json_object_set_new(meta, "ownerReferences",
				    json_pack("[{s:b,s:s,s:s,s:s}]", "controller", 1, "kind", "ConfigMap", "name",
					      "former", "uid", "cm-former"));
	snprintf(end.uid, sizeof(end.uid), "%s",
		 meta_text(add(world, action->framework, json_pack("{s:o}", "metadata", meta))->json, "uid"));
	plan_action(world, world->now_ms + draw(world, 1, STAYS_MS), &end);
}

static void take(struct world *world, int plan)
{
	struct pod_group *group = world->pod_groups;

	while (group != NULL && (group->plan != plan || api_find_any(world, gangs_owner(group)) == NULL))
		group = group->next;
	if (group == NULL)
		return;
	world->gang_taken_ms[plan] = world->now_ms;
	drop(world, group);
}

static json_t *some_gang(struct world *world, int64_t max)
{
	static const char *const schedulers[] = {"Volcano", "Coscheduling", "Kubernetes"};
	json_t *gang = json_pack("{s:s}", "scheduler", schedulers[draw(world, 0, 2)]);

	if (max == 1 || maybe(world, 500))
		json_object_set_new(gang, "minTaskNumber", json_integer(draw(world, 1, max)));
	return gang;
}

/* A gang must not wait for Tasks that wait for others. */
static int64_t largest(const json_t *spec)
{
	return json_object_get(json_array_get(json_object_get(spec, "taskRoles"), 1), "dependsOn") != NULL ? 1 : 4;
}

static void switch_gang(struct world *world, int plan)
{
	struct object *framework = api_framework(world, plan);
	json_t *spec;

	if (framework == NULL)
		return;
	spec = json_deep_copy(json_object_get(framework->json, "spec"));
	if (maybe(world, 300))
		json_object_del(spec, "gang");
	else
		json_object_set_new(spec, "gang", some_gang(world, largest(spec)));
	trace(world, "user: spec.gang of %s is changed", framework->uid);
	workload_change_spec(world, framework, spec);
}

static void end_of(struct world *world, const char *uid)
{
	struct pod_group *group = world->pod_groups;

	while (group != NULL && strcmp(meta_text(group->json, "uid"), uid) != 0)
		group = group->next;
	if (group != NULL)
		drop(world, group);
}

static void downgrade(struct world *world)
{
	world->gang_downgrades++;
	if (world->gang_unserved_until_ms < world->now_ms)
		world->gang_unserved_until_ms = world->now_ms;
}

static void act(struct world *world, void *arg)
{
	cleanup_free struct gang_action *action = arg;

	if (action->uid[0] != '\0')
		end_of(world, action->uid);
	else if (action->deed == GANG_PLANT)
		plant(world, action);
	else if (action->deed == GANG_TAKE)
		take(world, action->framework);
	else if (action->deed == GANG_FORBID)
		world->gang_forbidden_until_ms = world->now_ms + draw(world, 1, STAYS_MS);
	else if (action->deed == GANG_UNSERVE)
		world->gang_unserved_until_ms = world->now_ms + draw(world, 1, UNSERVED_MS);
	else if (action->deed == GANG_DOWNGRADE)
		downgrade(world);
	else if (action->deed == GANG_UNDO)
		world->gang_undone_until_ms = world->now_ms + draw(world, 1, STAYS_MS);
	else
		switch_gang(world, action->framework);
}

static void plan_action(struct world *world, int64_t at_ms, const struct gang_action *action)
{
	struct gang_action *copy = mem_alloc(sizeof(*copy));

	*copy = *action;
	at(world, at_ms, NULL, act, free, copy);
}

void gangs_make(struct world *world)
{
	uint64_t hash = (world->seed + 23) * UINT64_C(0x9E3779B97F4A7C15);

	world->ganged = (hash >> 40) % GANGED_EVERY == 0;
	if (!world->ganged)
		return;
	random_init_seed(&world->gang_random, world->seed ^ UINT64_C(0x4C4C4C4C4C4C4C4C));
	for (int i = 0; i < world->framework_count; i++) {
		int64_t until_ms = world->now_ms + world->size->create_by_ms + world->size->wild_by_ms;

		if (maybe(world, USES_OFTEN))
			json_object_set_new(world->plans[i].spec, "gang",
					    some_gang(world, largest(world->plans[i].spec)));
		for (int64_t n = draw(world, 0, DEEDS_MAX); n > 0 && !world->faults.calm; n--) {
			struct gang_action action = {.deed = (enum gang_deed)draw(world, 0, GANG_DEEDS - 1),
						     .framework = i};
			int64_t at_ms = draw(world, world->now_ms + 1, until_ms);

			if (!world->plans[i].tame || (action.deed != GANG_SWITCH && action.deed != GANG_TAKE))
				plan_action(world, at_ms, &action);
		}
	}
}
