/* Queues, in every fourth world or so: Frameworks have the label of a queue, Kueue admits their Workloads by quota and
 * evicts them, and users deactivate and delete them. Workloads are watched, but kept apart from other objects, whose
 * checks are not for them. Once nothing goes wrong any more there is quota for all. Drawn from a random stream of its
 * own. See sim.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/framework/workload.h"
#include "tests/merge.h"
#include "tests/sim/check.h"

enum {
	QUEUED_EVERY = 4,
	USES_OFTEN = 700,   /* of a thousand Frameworks that are not tame */
	EVICTS_OFTEN = 120, /* of a thousand looks of Kueue at a Workload that runs */
	DEEDS_MAX = 4,
	QUOTA_MAX = 6, /* Pods */
	INACTIVE_MS = 20 * 1000,
	COLLECTED_MS = 8 * 1000,
	LOOK_MS = 1500,
};

#define GROUP "/apis/kueue.x-k8s.io/"

static int64_t draw(struct world *world, int64_t low, int64_t high)
{
	return random_between(&world->queue_random, low, high);
}

static bool maybe(struct world *world, int per_thousand)
{
	return draw(world, 0, 999) < per_thousand;
}

/* ---- what there is ---- */

struct queued *queues_find(const struct world *world, const char *ns, const char *name)
{
	struct queued *queued = world->queued_workloads;

	while (queued != NULL && (strcmp(queued->ns, ns) != 0 || strcmp(meta_text(queued->json, "name"), name) != 0))
		queued = queued->next;
	return queued;
}

const char *queues_owner(const struct queued *queued)
{
	return json_str(json_array_get(json_path(queued->json, "metadata", "ownerReferences", NULL), 0), "uid");
}

static const json_t *condition(const struct queued *queued, const char *type)
{
	return json_find(json_path(queued->json, "status", "conditions", NULL), "type", type);
}

bool queues_is(const struct queued *queued, const char *type)
{
	const char *status = json_str(condition(queued, type), "status");

	return status != NULL && strcmp(status, "True") == 0;
}

bool queues_deleting(const struct queued *queued)
{
	return meta_text(queued->json, "deletionTimestamp")[0] != '\0';
}

static bool has_finalizers(const json_t *json)
{
	return json_array_size(json_path(json, "metadata", "finalizers", NULL)) > 0;
}

bool queues_held(const struct queued *queued)
{
	return has_finalizers(queued->json);
}

static void look_soon(struct world *world);

static void gone(struct world *world, struct queued *queued)
{
	struct queued **place = &world->queued_workloads;
	json_t *last = json_copy(queued->json);

	check_queue_released(world, queued);
	while (*place != queued)
		place = &(*place)->next;
	*place = queued->next;
	json_object_set_new(last, "metadata", json_copy(json_object_get(last, "metadata")));
	api_tell(world, KIND_WORKLOAD, last, true, queued->json);
	trace(world, "gone %s %s at %" PRIu64, meta_text(last, "uid"), meta_text(last, "name"), world->version);
	json_decref(last);
	json_decref(queued->json);
	free(queued);
	look_soon(world);
}

/* changed is taken over; its metadata is its own. */
static void replace(struct world *world, struct queued *queued, json_t *changed)
{
	json_t *before = queued->json;

	queued->json = changed;
	api_tell(world, KIND_WORKLOAD, changed, false, before);
	json_decref(before);
	if (queues_deleting(queued) && !has_finalizers(changed))
		gone(world, queued);
	else
		look_soon(world);
}

static void remove_workload(struct world *world, struct queued *queued)
{
	json_t *changed;

	if (queues_deleting(queued))
		return;
	changed = json_deep_copy(queued->json);
	json_object_set_new(json_object_get(changed, "metadata"), "deletionTimestamp",
			    json_string("2020-01-01T00:00:00Z"));
	trace(world, "deleting %s", meta_text(changed, "uid"));
	replace(world, queued, changed);
}

void queues_free(struct world *world)
{
	while (world->queued_workloads != NULL) {
		struct queued *queued = world->queued_workloads;

		world->queued_workloads = queued->next;
		json_decref(queued->json);
		free(queued);
	}
}

/* ---- the garbage collector ---- */

static void collect(struct world *world, void *arg)
{
	struct queued *queued = world->queued_workloads;
	cleanup_free char *uid = arg;

	while (queued != NULL) {
		struct queued *next = queued->next;

		if (strcmp(queues_owner(queued), uid) == 0)
			remove_workload(world, queued);
		queued = next;
	}
}

void queues_framework_gone(struct world *world, const char *uid)
{
	if (world->queued)
		at(world, world->now_ms + draw(world, 1, COLLECTED_MS), NULL, collect, free, mem_strdup(uid));
}

/* ---- Kueue ---- */

static void set(json_t *changed, const char *type, bool value, const char *reason)
{
	json_t *status = json_object_get(changed, "status");
	json_t *conditions;
	size_t i;
	json_t *entry;

	if (status == NULL) {
		status = json_object();
		json_object_set_new(changed, "status", status);
	}
	if (json_object_get(status, "conditions") == NULL)
		json_object_set_new(status, "conditions", json_array());
	conditions = json_object_get(status, "conditions");
	json_array_foreach(conditions, i, entry) {
		if (strcmp(json_str(entry, "type"), type) == 0) {
			json_array_remove(conditions, i);
			break;
		}
	}
	json_array_append_new(conditions, json_pack("{s:s,s:s,s:s,s:s,s:s}", "type", type, "status",
						    value ? "True" : "False", "reason", reason, "message", "m",
						    "lastTransitionTime", "2020-01-01T00:00:00Z"));
}

static int64_t pods_of(const struct queued *queued)
{
	int64_t pods = 0;
	size_t i;
	const json_t *entry;

	json_array_foreach(json_path(queued->json, "spec", "podSets", NULL), i, entry)
		pods += json_int(entry, "count", 0);
	json_array_foreach(json_path(queued->json, "status", "reclaimablePods", NULL), i, entry)
		pods -= json_int(entry, "count", 0);
	return pods;
}

static bool active(const struct queued *queued)
{
	return json_bool(json_object_get(queued->json, "spec"), "active", true);
}

static void admit(struct world *world, json_t *changed)
{
	json_t *assignments = json_array();
	size_t i;
	const json_t *entry;

	json_array_foreach(json_path(changed, "spec", "podSets", NULL), i, entry)
		json_array_append_new(assignments, json_pack("{s:O,s:{s:s}}", "name", json_object_get(entry, "name"),
							     "flavors", "cpu", "default"));
	set(changed, WORKLOAD_QUOTA_RESERVED, true, "QuotaReserved");
	set(changed, WORKLOAD_ADMITTED, true, "Admitted");
	set(changed, WORKLOAD_EVICTED, false, "QuotaReserved");
	json_object_set_new(json_object_get(changed, "status"), "admission",
			    json_pack("{s:s,s:o}", "clusterQueue", "cq", "podSetAssignments", assignments));
	trace(world, "Kueue admits %s", meta_text(changed, "uid"));
}

/* What Kueue does with one; NULL: nothing. */
static json_t *decide(struct world *world, const struct queued *queued, int64_t free_pods)
{
	bool reserved = queues_is(queued, WORKLOAD_QUOTA_RESERVED);
	bool evicted = queues_is(queued, WORKLOAD_EVICTED);
	json_t *changed = json_deep_copy(queued->json);

	if (!active(queued) && world->healed) {
		json_object_set_new(json_object_get(changed, "spec"), "active", json_true());
		return changed;
	}
	if (reserved && !evicted && (!active(queued) || (!world->healed && maybe(world, EVICTS_OFTEN)))) {
		set(changed, WORKLOAD_EVICTED, true, active(queued) ? "Preempted" : "Deactivated");
		trace(world, "Kueue evicts %s", meta_text(changed, "uid"));
		return changed;
	}
	if (active(queued) && evicted && !reserved && !queues_is(queued, WORKLOAD_REQUEUED)) {
		set(changed, WORKLOAD_REQUEUED, true, "Reactivated");
		return changed;
	}
	if (!reserved && active(queued) && !queues_deleting(queued) &&
	    (world->healed || pods_of(queued) <= free_pods)) {
		admit(world, changed);
		return changed;
	}
	json_decref(changed);
	return NULL;
}

static void look(struct world *world, void *arg)
{
	int64_t free_pods = world->queue_quota;

	(void)arg;
	world->queue_looks = false;
	for (const struct queued *queued = world->queued_workloads; queued != NULL; queued = queued->next)
		if (queues_is(queued, WORKLOAD_QUOTA_RESERVED) && !queues_is(queued, WORKLOAD_FINISHED))
			free_pods -= pods_of(queued);
	for (struct queued *queued = world->queued_workloads; queued != NULL; queued = queued->next) {
		json_t *changed = queues_is(queued, WORKLOAD_FINISHED) ? NULL : decide(world, queued, free_pods);

		if (changed != NULL) {
			replace(world, queued, changed);
			return; /* and looks again */
		}
	}
}

static void look_soon(struct world *world)
{
	if (world->queue_looks)
		return;
	world->queue_looks = true;
	at(world, world->now_ms + draw(world, 1, world->healed ? LOOK_MS / 10 : LOOK_MS), NULL, look, NULL, NULL);
}

void queues_heal(struct world *world)
{
	if (world->queued)
		look_soon(world);
}

/* ---- requests ---- */

static void answer(struct answer *out, int code, const json_t *json)
{
	out->code = code;
	out->body = json_text(json);
}

static void create(struct world *world, const struct wire *wire, const char *ns, struct answer *out)
{
	json_t *body = json_parse(wire->body, strlen(wire->body), NULL);
	const char *name = meta_text(body, "name");
	struct queued *queued;
	char uid[40];

	if (queues_find(world, ns, name) != NULL) {
		json_decref(body);
		api_status(out, 409, "AlreadyExists", "already exists");
		return;
	}
	queued = mem_calloc(1, sizeof(*queued));
	snprintf(uid, sizeof(uid), "wl-%" PRIu64, ++world->uids);
	json_object_set_new(body, "metadata", json_copy(json_object_get(body, "metadata"))); /* it is a memo's */
	json_object_set_new(json_object_get(body, "metadata"), "uid", json_string(uid));
	*queued = (struct queued){.next = world->queued_workloads,
				  .last_used_ms = world->now_ms,
				  .ns = plan_ns(plan_find(ns, name + strlen("framework-"))),
				  .json = body};
	world->queued_workloads = queued;
	api_tell(world, KIND_WORKLOAD, body, false, NULL);
	trace(world, "created %s %s of %s at %" PRIu64, uid, name, queues_owner(queued), world->version);
	if (api_find_any(world, queues_owner(queued)) == NULL)
		queues_framework_gone(world, queues_owner(queued));
	look_soon(world);
	answer(out, 201, body);
}

static void patch(struct world *world, const struct wire *wire, struct queued *queued, bool status, struct answer *out)
{
	cleanup_json json_t *body = json_parse(wire->body, strlen(wire->body), NULL);
	cleanup_json json_t *changed = NULL;

	if (strcmp(meta_text(body, "uid"), meta_text(queued->json, "uid")) != 0 ||
	    strcmp(meta_text(body, "resourceVersion"), meta_text(queued->json, "resourceVersion")) != 0) {
		api_status(out, 409, "Conflict", "the object has been modified");
		return;
	}
	changed = json_deep_copy(queued->json);
	merge_patch(changed, body);
	check_queue_patched(world, queued, changed, status);
	if (!status && !json_equal(json_object_get(changed, "spec"), json_object_get(queued->json, "spec")) &&
	    queues_is(queued, WORKLOAD_QUOTA_RESERVED)) {
		api_status(out, 422, "Invalid", "spec.podSets: field is immutable");
		return;
	}
	replace(world, queued, json_incref(changed));
	answer(out, 200, changed);
}

static void handle(struct world *world, const struct wire *wire, const char *ns, const char *name, bool status,
		   struct answer *out)
{
	struct queued *queued = queues_find(world, ns, name);

	if (strcmp(wire->method, "POST") == 0) {
		create(world, wire, ns, out);
	} else if (queued == NULL) {
		api_not_found(out, "workloads", name);
	} else if (strcmp(wire->method, "GET") == 0) {
		answer(out, 200, queued->json);
	} else if (strcmp(wire->method, "PATCH") == 0) {
		patch(world, wire, queued, status, out);
	} else {
		cleanup_json json_t *options = json_parse(wire->body, strlen(wire->body), NULL);
		const char *uid = json_str(json_object_get(options, "preconditions"), "uid");

		if (uid == NULL || strcmp(uid, meta_text(queued->json, "uid")) != 0) {
			api_status(out, 409, "Conflict", "a precondition does not match");
			return;
		}
		answer(out, 200, queued->json);
		remove_workload(world, queued);
	}
}

bool queues_handle(struct world *world, const struct wire *wire, struct answer *out)
{
	const char *namespaces = strstr(wire->path, "/namespaces/");
	char ns[8];
	char name[96] = "";
	char rest[16] = "";

	if (strncmp(wire->path, GROUP, strlen(GROUP)) != 0)
		return false;
	if (!world->queued)
		violated(world, "a request for %s without queues", wire->path);
	if (namespaces != NULL) {
		sscanf(namespaces, "/namespaces/%7[^/]/workloads/%95[^/?]/%15[^?]", ns, name, rest);
		handle(world, wire, ns, name, strcmp(rest, "status") == 0, out);
	} else if (strstr(wire->path, "/resourceflavors/") != NULL) {
		out->code = 200;
		out->body = mem_strdup("{\"spec\":{\"nodeLabels\":{\"pool\":\"default\"}}}");
	} else {
		out->code = 200;
		out->body = mem_strdup("{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"workloads\"}]}");
	}
	return true;
}

/* ---- deeds ---- */

/* Of one of the Workloads: whoever deletes it, or deactivates it for a while. */
static void act(struct world *world, void *arg)
{
	struct queued *queued = world->queued_workloads;
	json_t *changed;

	(void)arg;
	for (int64_t n = draw(world, 0, 3); n > 0 && queued != NULL; n--)
		queued = queued->next;
	if (queued == NULL || world->healed)
		return;
	if (maybe(world, 400)) {
		trace(world, "user: deletes %s", meta_text(queued->json, "uid"));
		remove_workload(world, queued);
		return;
	}
	changed = json_deep_copy(queued->json);
	json_object_set_new(json_object_get(changed, "spec"), "active", json_boolean(!active(queued)));
	trace(world, "user: %s is %s", meta_text(queued->json, "uid"), active(queued) ? "deactivated" : "active");
	replace(world, queued, changed);
	at(world, world->now_ms + draw(world, 1, INACTIVE_MS), NULL, act, NULL, NULL);
}

void queues_label(struct world *world, int plan, json_t *metadata)
{
	/* the next one of a name may be in a queue when the former one was not */
	if (world->queued && world->lively)
		world->in_queue[plan] = !world->plans[plan].tame && maybe(world, USES_OFTEN);
	if (world->queued && world->in_queue[plan])
		json_object_set_new(metadata, "labels", json_pack("{s:s}", KUEUE_QUEUE_LABEL, "team"));
}

void queues_make(struct world *world)
{
	uint64_t hash = (world->seed + 29) * UINT64_C(0x9E3779B97F4A7C15);

	/* (of two such hashes each says what the other one is) */
	world->queued = (hash >> (life_of_seed(world->seed) ? 59 : 40)) % QUEUED_EVERY == 0;
	if (!world->queued)
		return;
	random_init_seed(&world->queue_random, world->seed ^ UINT64_C(0x4B4B4B4B4B4B4B4B));
	world->queue_quota = draw(world, 1, QUOTA_MAX);
	for (int i = 0; i < world->framework_count; i++)
		world->in_queue[i] = !world->plans[i].tame && maybe(world, USES_OFTEN);
	for (int64_t n = draw(world, 0, DEEDS_MAX); n > 0 && !world->faults.calm; n--)
		at(world,
		   draw(world, world->now_ms + 1, world->now_ms + world->size->create_by_ms + world->size->wild_by_ms),
		   NULL, act, NULL, NULL);
}
