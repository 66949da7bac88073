/* Services, in every fourth world or so: Frameworks have spec.network, and users get in its way. They have Services of
 * the same names, delete those of Frameworks, change spec.network, and the controller may lack its rights for a while.
 * Nobody watches Services, so that they are kept apart from other objects. Drawn from a random stream of its own, so
 * that all other worlds stay as they are. See sim.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "tests/sim/check.h"

enum {
	NETWORKED_EVERY = 4,
	USES_OFTEN = 700,  /* of a thousand Frameworks */
	MEETS_OFTEN = 150, /* of a thousand statuses of attempts that end: users delete the Service right then */
	DEEDS_MAX = 4,
	STAYS_MS = 30 * 1000,
	COLLECTED_MS = 8 * 1000,
};

enum service_deed {
	SERVICE_PLANT,    /* a Service of somebody else has the name for a while */
	SERVICE_TAKE,     /* somebody deletes the Framework's own */
	SERVICE_DELETING, /* likewise, and a finalizer keeps it for a while */
	SERVICE_FORBID,   /* the controller has no right to Services for a while */
	SERVICE_SWITCH,   /* spec.network is changed */
	SERVICE_DEEDS,
};

struct service_action {
	enum service_deed deed;
	int framework;
	char uid[40]; /* of what is removed; "" */
};

static int64_t draw(struct world *world, int64_t low, int64_t high)
{
	return random_between(&world->service_random, low, high);
}

static bool maybe(struct world *world, int per_thousand)
{
	return draw(world, 0, 999) < per_thousand;
}

/* ---- what there is ---- */

struct service *services_find(const struct world *world, const char *ns, const char *name)
{
	struct service *service = world->services;

	while (service != NULL && (strcmp(service->ns, ns) != 0 || strcmp(meta_text(service->json, "name"), name) != 0))
		service = service->next;
	return service;
}

const char *services_owner(const struct service *service)
{
	const json_t *owner = json_array_get(json_path(service->json, "metadata", "ownerReferences", NULL), 0);

	return json_bool(owner, "controller", false) ? json_str(owner, "uid") : "";
}

static void stamp(struct world *world, json_t *object)
{
	char version[24];

	snprintf(version, sizeof(version), "%" PRIu64, ++world->service_version);
	json_object_set_new(json_object_get(object, "metadata"), "resourceVersion", json_string(version));
}

/* json is taken over. */
static struct service *add(struct world *world, int plan, json_t *json)
{
	struct service *service = mem_calloc(1, sizeof(*service));
	char uid[40];

	json_object_set_new(json, "metadata", json_copy(json_object_get(json, "metadata"))); /* it is a memo's */
	snprintf(uid, sizeof(uid), "svc-%" PRIu64, ++world->service_version);
	json_object_set_new(json_object_get(json, "metadata"), "uid", json_string(uid));
	stamp(world, json);
	*service = (struct service){.next = world->services, .plan = plan, .ns = plan_ns(plan), .json = json};
	world->services = service;
	trace(world, "created %s %s of \"%s\"", uid, meta_text(json, "name"), services_owner(service));
	return service;
}

static void drop(struct world *world, struct service *service)
{
	struct service **place = &world->services;

	while (*place != service)
		place = &(*place)->next;
	*place = service->next;
	trace(world, "gone %s %s", meta_text(service->json, "uid"), meta_text(service->json, "name"));
	json_decref(service->json);
	free(service);
}

void services_free(struct world *world)
{
	while (world->services != NULL)
		drop(world, world->services);
}

/* ---- the garbage collector ---- */

static void collect(struct world *world, void *arg)
{
	struct service *service = world->services;
	cleanup_free char *framework_uid = arg;

	while (service != NULL) {
		struct service *next = service->next;

		if (strcmp(services_owner(service), framework_uid) == 0)
			drop(world, service);
		service = next;
	}
}

void services_framework_gone(struct world *world, const char *uid)
{
	if (world->networked)
		at(world, world->now_ms + draw(world, 1, COLLECTED_MS), NULL, collect, free, mem_strdup(uid));
}

/* ---- requests ---- */

static void answer(struct answer *out, int code, const struct service *service)
{
	out->code = code;
	out->body = json_text(service->json);
}

static void create(struct world *world, const struct wire *wire, const char *ns, struct answer *out)
{
	struct error err;
	json_t *body = json_parse(wire->body, strlen(wire->body), &err);
	const char *name = meta_text(body, "name");
	struct service *service;

	if (services_find(world, ns, name) != NULL) {
		json_decref(body);
		api_status(out, 409, "AlreadyExists", "already exists");
		return;
	}
	service = add(world, plan_find(ns, name), body);
	check_service_created(world, wire, service);
	if (api_find_any(world, services_owner(service)) == NULL)
		services_framework_gone(world, services_owner(service));
	answer(out, 201, service);
}

void services_handle(struct world *world, const struct wire *wire, const char *ns, const char *name, struct answer *out)
{
	const struct service *service = services_find(world, ns, name);

	if (world->now_ms < world->service_forbidden_until_ms)
		api_status(out, 403, "Forbidden", "services is forbidden: cannot do that");
	else if (strcmp(wire->method, "POST") == 0)
		create(world, wire, ns, out);
	else if (strcmp(wire->method, "GET") != 0)
		violated(world, "a request %s %s: Services are created and read", wire->method, wire->path);
	else if (service == NULL)
		api_not_found(out, "services", name);
	else
		answer(out, 200, service);
}

/* ---- deeds ---- */

static const char *subdomain_of(const json_t *spec, int plan)
{
	const char *name = json_str(json_object_get(spec, "network"), "subdomain");

	return name == NULL ? plan_name(plan) : name;
}

static void plan_action(struct world *world, int64_t at_ms, const struct service_action *action);

static void plant(struct world *world, const struct service_action *action)
{
	const struct object *framework = api_framework(world, action->framework);
	const json_t *spec = framework == NULL ? world->plans[action->framework].spec
					       : json_object_get(framework->json, "spec");
	const char *name = subdomain_of(spec, action->framework);
	struct service_action end = *action;
	json_t *meta;

	if (services_find(world, plan_ns(action->framework), name) != NULL)
		return;
	meta = json_pack("{s:s,s:s}", "name", name, "namespace", plan_ns(action->framework));
	if (maybe(world, 500))
		json_object_set_new(meta, "labels",
				    json_pack("{s:s}", "FC_FRAMEWORK_NAME", plan_name(action->framework)));
	if (maybe(world, 300))
		json_object_set_new(meta, "ownerReferences",
				    json_pack("[{s:b,s:s,s:s,s:s}]", "controller", 1, "kind", "Framework", "name",
					      plan_name(action->framework), "uid", "fw-former"));
	snprintf(end.uid, sizeof(end.uid), "%s",
		 meta_text(add(world, action->framework, json_pack("{s:o}", "metadata", meta))->json, "uid"));
	plan_action(world, world->now_ms + draw(world, 1, STAYS_MS), &end);
}

static void take(struct world *world, const struct service_action *action)
{
	struct service *service = world->services;
	struct service_action end = *action;
	json_t *changed;

	while (service != NULL &&
	       (service->plan != action->framework || api_find_any(world, services_owner(service)) == NULL))
		service = service->next;
	if (service == NULL)
		return;
	world->service_taken_ms[action->framework] = world->now_ms;
	if (action->deed == SERVICE_TAKE) {
		drop(world, service);
		return;
	}
	changed = json_copy(service->json);
	json_object_set_new(changed, "metadata", json_copy(json_object_get(changed, "metadata")));
	json_object_set_new(json_object_get(changed, "metadata"), "deletionTimestamp",
			    json_string("2020-01-01T00:00:00Z"));
	stamp(world, changed);
	json_decref(service->json);
	service->json = changed;
	snprintf(end.uid, sizeof(end.uid), "%s", meta_text(service->json, "uid"));
	plan_action(world, world->now_ms + draw(world, 1, STAYS_MS), &end);
}

static json_t *some_network(struct world *world, int plan)
{
	char name[16];

	switch (draw(world, 0, 3)) {
	case 0: return NULL;
	case 1:
		snprintf(name, sizeof(name), "%s-a-0", plan_name(plan)); /* as if it were a Pod's */
		return json_pack("{s:s}", "subdomain", name);
	case 2: return json_pack("{s:b}", "publishNotReadyAddresses", 0);
	default: return json_object();
	}
}

static void put_network(json_t *spec, json_t *network)
{
	if (network == NULL)
		json_object_del(spec, "network");
	else
		json_object_set_new(spec, "network", network);
}

static void switch_network(struct world *world, int plan)
{
	struct object *framework = api_framework(world, plan);
	json_t *spec;

	if (framework == NULL)
		return;
	spec = json_deep_copy(json_object_get(framework->json, "spec"));
	put_network(spec, some_network(world, plan));
	trace(world, "user: spec.network of %s is changed", framework->uid);
	workload_change_spec(world, framework, spec);
}

static void end_of(struct world *world, const char *uid)
{
	struct service *service = world->services;

	while (service != NULL && strcmp(meta_text(service->json, "uid"), uid) != 0)
		service = service->next;
	if (service != NULL)
		drop(world, service);
}

static void act(struct world *world, void *arg)
{
	cleanup_free struct service_action *action = arg;

	if (action->uid[0] != '\0')
		end_of(world, action->uid);
	else if (action->deed == SERVICE_PLANT)
		plant(world, action);
	else if (action->deed == SERVICE_FORBID)
		world->service_forbidden_until_ms = world->now_ms + draw(world, 1, STAYS_MS);
	else if (action->deed == SERVICE_SWITCH)
		switch_network(world, action->framework);
	else
		take(world, action);
}

static void plan_action(struct world *world, int64_t at_ms, const struct service_action *action)
{
	struct service_action *copy = mem_alloc(sizeof(*copy));

	*copy = *action;
	at(world, at_ms, NULL, act, free, copy);
}

void services_status_written(struct world *world, const struct object *framework)
{
	struct service_action action = {.deed = SERVICE_TAKE, .framework = framework->plan};

	if (!world->networked || world->healed ||
	    state_of(json_object_get(framework->json, "status")) <= STATE_RUNNING || !maybe(world, MEETS_OFTEN))
		return;
	if (maybe(world, 500))
		action.deed = SERVICE_DELETING;
	plan_action(world, world->now_ms + 1, &action);
}

void services_make(struct world *world)
{
	uint64_t hash = (world->seed + 11) * UINT64_C(0x9E3779B97F4A7C15);

	world->networked = (hash >> 40) % NETWORKED_EVERY == 0;
	if (!world->networked)
		return;
	random_init_seed(&world->service_random, world->seed ^ UINT64_C(0x2E2E2E2E2E2E2E2E));
	for (int i = 0; i < world->framework_count; i++) {
		int64_t until_ms = world->now_ms + world->size->create_by_ms + world->size->wild_by_ms;
		bool uses = maybe(world, USES_OFTEN);

		put_network(world->plans[i].spec, uses ? some_network(world, i) : NULL);
		for (int64_t n = draw(world, 0, DEEDS_MAX); n > 0 && !world->faults.calm; n--) {
			struct service_action action = {.deed = (enum service_deed)draw(world, 0, SERVICE_DEEDS - 1),
							.framework = i};

			if (action.deed != SERVICE_SWITCH || !world->plans[i].tame)
				plan_action(world, draw(world, world->now_ms + 1, until_ms), &action);
		}
	}
}
