/* What must hold of Services: a Framework has at most one of a name, before it has Pods that need it, while an attempt
 * of it is under way; somebody else's counts for nothing. See check.h. */
#include <string.h>

#include "common/base/json.h"
#include "common/framework/names.h"
#include "tests/sim/check.h"

/* Whether some spec that the Framework had gives its Pods names with this subdomain. */
static bool asked_for(const struct object *framework, const char *subdomain)
{
	size_t i;
	const json_t *spec;

	json_array_foreach(framework->specs, i, spec) {
		const json_t *network = json_object_get(spec, "network");
		const char *name = json_str(network, "subdomain");

		if (network != NULL && strcmp(name == NULL ? framework->name : name, subdomain) == 0)
			return true;
	}
	return false;
}

void check_service_created(struct world *world, const struct wire *wire, const struct service *service)
{
	struct object *framework = api_find_uid(world, KIND_FRAMEWORK, services_owner(service));
	const char *name = meta_text(service->json, "name");

	if (framework != NULL && !wire->late && !asked_for(framework, name))
		violated(world, "Service %s is created, which %s never asked for", name, framework->uid);
}

/* The end of an attempt does not wait for the answer: what comes then belongs to the Framework, and goes with it. So
 * does what a machine asks for that was paused. */
void check_service_sent(const struct wire *wire)
{
	struct world *world = wire->world;
	size_t len = strlen(wire->path);
	cleanup_json json_t *body = NULL;
	struct object *framework;
	const json_t *owner;
	const json_t *status;

	if (strcmp(wire->method, "POST") != 0 || len < strlen("/services") ||
	    strcmp(wire->path + len - strlen("/services"), "/services") != 0 || member_blind(wire->member))
		return;
	body = json_parse(wire->body, strlen(wire->body), NULL);
	owner = json_array_get(json_object_get(json_object_get(body, "metadata"), "ownerReferences"), 0);
	framework = api_find_uid(world, KIND_FRAMEWORK, json_str(owner, "uid"));
	if (framework == NULL || framework->written_late)
		return;
	status = status_of(framework);
	if (status == NULL || state_of(status) > STATE_RUNNING || is_set(attempt_of(status), "completionStatus"))
		violated(world, "a Service is asked for, for %s, of which no attempt is under way", framework->uid);
}

void check_service_first(const struct wire *wire, const struct object *pod)
{
	struct world *world = wire->world;
	const char *subdomain = json_str(json_object_get(pod->json, "spec"), "subdomain");
	const char *uid = annotation(pod->json, "FC_FRAMEWORK_UID");
	const struct object *framework = api_find_uid(world, KIND_FRAMEWORK, uid);
	const struct service *service;

	if (!world->networked)
		return;
	if (pod->kind == KIND_CONFIG_MAP) {
		world->attempt_ms[pod->plan] = world->now_ms;
		return;
	}
	if (subdomain == NULL || wire->late || framework == NULL || framework->deleting)
		return;
	service = services_find(world, pod->ns, subdomain);
	if ((service == NULL || strcmp(services_owner(service), uid) != 0 ||
	     meta_text(service->json, "deletionTimestamp")[0] != '\0') &&
	    world->service_taken_ms[pod->plan] <= world->attempt_ms[pod->plan])
		violated(world, "%s is created without a Service %s of %s", pod->name, subdomain, uid);
}
