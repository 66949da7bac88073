/* The API server: objects with versions, the history that watches read, deletion and requests; see sim.h. What it does
 * is what a real server does with the requests that reconcilers send, as far as they can tell. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/gang.h"
#include "tests/sim/check.h"

enum { GRACE_SEC = 30, AGAIN_TIMES = 3 };

/* ---- changing objects ---- */

static bool labelled(const json_t *object)
{
	return json_str(json_path(object, "metadata", "labels", NULL), "FC_FRAMEWORK_NAME") != NULL;
}

json_t *api_copy(const struct object *object)
{
	json_t *copy = json_copy(object->json);

	json_object_set_new(copy, "metadata", json_copy(json_object_get(object->json, "metadata")));
	if (json_object_get(object->json, "status") != NULL)
		json_object_set_new(copy, "status", json_copy(json_object_get(object->json, "status")));
	return copy;
}

static void stamp(struct world *world, json_t *object)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, ++world->version);
	json_object_set_new(json_object_get(object, "metadata"), "resourceVersion", json_string(text));
}

static void record(struct world *world, enum object_kind kind, json_t *object, bool gone, json_t *before)
{
	size_t place = world->version - VERSION_BASE - 1;

	if (place >= world->change_cap) {
		world->change_cap = world->change_cap == 0 ? 512 : world->change_cap * 2;
		world->changes = mem_realloc(world->changes, world->change_cap, sizeof(*world->changes));
	}
	world->changes[place] = (struct change){
		.version = world->version,
		.kind = kind,
		.gone = gone,
		.json = json_incref(object),
		.labelled = labelled(object),
		.was_labelled = before != NULL && labelled(before),
		.before = json_incref(before),
	};
	world->changed = true;
	mark(world, world->version * 2 + gone);
	watcher_news(world);
}

void api_tell(struct world *world, enum object_kind kind, json_t *object, bool gone, json_t *before)
{
	stamp(world, object);
	record(world, kind, object, gone, before);
}

static const char *controller_uid(const json_t *object)
{
	json_t *owners = json_path(object, "metadata", "ownerReferences", NULL);
	size_t i;
	json_t *owner;

	json_array_foreach(owners, i, owner)
		if (json_bool(owner, "controller", false))
			return json_str(owner, "uid");
	return "";
}

/* The spec of each generation. */
static void keep_spec(struct object *object)
{
	int64_t generation = json_int(json_object_get(object->json, "metadata"), "generation", 0);

	if (object->kind != KIND_FRAMEWORK)
		return;
	if (object->specs == NULL)
		object->specs = json_array();
	if (generation > (int64_t)json_array_size(object->specs))
		json_array_append(object->specs, json_object_get(object->json, "spec"));
}

static void read_object(struct object *object)
{
	keep_spec(object);
	snprintf(object->uid, sizeof(object->uid), "%s", meta_text(object->json, "uid"));
	snprintf(object->name, sizeof(object->name), "%s", meta_text(object->json, "name"));
	object->plan = plan_find(meta_text(object->json, "namespace"), object->name);
	object->ns = plan_ns(object->plan);
	snprintf(object->owner_uid, sizeof(object->owner_uid), "%s", controller_uid(object->json));
	object->deleting = meta_text(object->json, "deletionTimestamp")[0] != '\0';
}

struct object *api_create(struct world *world, enum object_kind kind, json_t *json)
{
	static const char *const letters[KIND_WORKLOAD] = {"fw", "cm", "pod"};
	struct object *object = mem_calloc(1, sizeof(*object));
	json_t *meta = json_object_get(json, "metadata");
	char time[TIME_RFC3339_SIZE];
	char uid[40];

	snprintf(uid, sizeof(uid), "%s-%" PRIu64, letters[kind], ++world->uids);
	json_object_set_new(meta, "uid", json_string(uid));
	json_object_set_new(meta, "creationTimestamp",
			    json_string(time_format_rfc3339((world->wall_base_ms + world->now_ms) / 1000, time)));
	if (kind == KIND_FRAMEWORK)
		json_object_set_new(meta, "generation", json_integer(1));
	if (kind == KIND_POD)
		json_object_set_new(json, "status", json_pack("{s:s}", "phase", "Pending"));
	stamp(world, json);
	object->kind = kind;
	object->json = json;
	object->version = world->version;
	read_object(object);
	object->next = world->objects;
	world->objects = object;
	trace(world, "created %s %s at %" PRIu64, object->uid, object->name, object->version);
	record(world, kind, json, false, NULL);
	if (kind == KIND_POD)
		kubelet_pod_created(world, object);
	if (kind != KIND_FRAMEWORK)
		api_collect_soon(world);
	return object;
}

void api_replace(struct world *world, struct object *object, json_t *changed)
{
	json_t *before = object->json;

	stamp(world, changed);
	json_decref(object->plain);
	object->plain = NULL;
	object->json = changed;
	object->version = world->version;
	read_object(object);
	record(world, object->kind, changed, false, before);
	json_decref(before);
}

void api_gone(struct world *world, struct object *object)
{
	json_t *last = api_copy(object);

	for (struct object **place = &world->objects; *place != NULL; place = &(*place)->next) {
		if (*place == object) {
			*place = object->next;
			break;
		}
	}
	if (object->kind == KIND_FRAMEWORK)
		kubelet_framework_gone(world, object->uid);
	if (object->kind == KIND_FRAMEWORK)
		queues_framework_gone(world, object->uid);
	if (object->kind == KIND_FRAMEWORK)
		services_framework_gone(world, object->uid);
	if (object->kind == KIND_CONFIG_MAP)
		gangs_owner_gone(world, object->uid);
	for (int i = 0; object->kind == KIND_FRAMEWORK && i < SIM_PROCESSES; i++)
		check_forget_pleas(&world->members[i]); /* the next one is another */
	stamp(world, last);
	trace(world, "gone %s %s at %" PRIu64, object->uid, object->name, world->version);
	record(world, object->kind, last, true, object->json);
	json_decref(last);
	json_decref(object->plain);
	json_decref(object->specs);
	json_decref(object->json);
	free(object);
	api_collect_soon(world);
}

static void mark_deleting(struct world *world, struct object *object, int64_t grace_sec, bool foreground)
{
	json_t *changed;
	json_t *meta;
	json_t *finalizers;
	char time[TIME_RFC3339_SIZE];

	if (object->deleting)
		return;
	changed = api_copy(object);
	meta = json_object_get(changed, "metadata");
	time_format_rfc3339((world->wall_base_ms + world->now_ms) / 1000 + grace_sec, time);
	json_object_set_new(meta, "deletionTimestamp", json_string(time));
	json_object_set_new(meta, "deletionGracePeriodSeconds", json_integer(grace_sec));
	finalizers = json_object_get(meta, "finalizers");
	if (foreground && json_array_size(finalizers) == 0)
		json_object_set_new(meta, "finalizers", json_pack("[s]", "foregroundDeletion"));
	api_replace(world, object, changed);
	trace(world, "deleting %s %s at %" PRIu64, object->uid, object->name, object->version);
	if (object->kind == KIND_POD && grace_sec > 0)
		kubelet_pod_deleting(world, object);
	api_collect_soon(world);
}

static bool pod_ended(const struct object *pod)
{
	const char *phase = json_str(json_object_get(pod->json, "status"), "phase");

	return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

void api_delete(struct world *world, struct object *object, int64_t grace_sec, bool foreground)
{
	if (object->kind == KIND_POD) {
		if (grace_sec != 0 && object->bound && !pod_ended(object)) {
			mark_deleting(world, object, GRACE_SEC, false);
			return;
		}
		kubelet_pod_forced(world, object);
		/* some servers write the deletionTimestamp before the object goes, some do not */
		if (chance(world, 500))
			mark_deleting(world, object, 0, false);
		api_gone(world, object);
		return;
	}
	if (foreground || json_array_size(json_path(object->json, "metadata", "finalizers", NULL)) > 0)
		mark_deleting(world, object, 0, foreground);
	else
		api_gone(world, object);
}

void api_delete_background(struct world *world, struct object *object)
{
	api_gone(world, object);
}

/* ---- requests ---- */

void api_status(struct answer *out, int code, const char *reason, const char *message)
{
	out->code = code;
	out->body = mem_printf("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"%s\","
			       "\"reason\":\"%s\","
			       "\"message\":\"%s\",\"code\":%d}",
			       code < 400 ? "Success" : "Failure", reason, message, code);
}

void api_not_found(struct answer *out, const char *kind, const char *name)
{
	out->code = 404;
	out->body = mem_printf(
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"NotFound\","
		"\"message\":\"%s \\\"%s\\\" not found\",\"details\":{\"name\":\"%s\",\"kind\":\"%s\"},"
		"\"code\":404}",
		kind, name, name, kind);
}

static void answer_object(struct answer *out, int code, const struct wire *wire, const struct object *object)
{
	out->code = code;
	if (wire->metadata_only) {
		cleanup_free char *metadata = json_text(json_object_get(object->json, "metadata"));

		out->body = mem_printf("{\"kind\":\"PartialObjectMetadata\",\"metadata\":%s}", metadata);
	} else {
		out->body = json_text(object->json);
	}
}

/* Nobody keeps a Framework that is deleted, and its ConfigMap, from going before a request on its way arrives. */
static bool orphaned(struct world *world, const struct object *pod)
{
	const struct object *framework = api_find_any(world, annotation(pod->json, "FC_FRAMEWORK_UID"));

	return framework == NULL || (framework->deleting && api_find_any(world, pod->owner_uid) == NULL);
}

/* Admission refuses an object now, which it let in before, or lets in later. What becomes of its Task depends on when.
 */
static bool denied(struct world *world, int plan, bool again, struct answer *out)
{
	if (world->healed || world->plans[plan].tame || !chance(world, world->faults.deny * (again ? AGAIN_TIMES : 1)))
		return false;
	switch (pick(world, 0, 2)) {
	case 0: api_status(out, 403, "Forbidden", "pods is forbidden: denied by policy"); break;
	case 1: api_status(out, 422, "Invalid", "spec is invalid"); break;
	default: api_status(out, 400, "BadRequest", "admission webhook denied the request"); break;
	}
	return true;
}

static void handle_create(struct world *world, const struct wire *wire, enum object_kind kind, const char *ns,
			  struct answer *out)
{
	struct error err;
	json_t *body = json_parse(wire->body, strlen(wire->body), &err);
	struct object *object;
	uint64_t pods = 0;
	bool again;

	if (body == NULL)
		violated(world, "a create without JSON: %s", wire->body);
	if (kind == KIND_POD && world->faults.quota > 0) {
		for (object = world->objects; object != NULL; object = object->next)
			pods += object->kind == KIND_POD ? 1 : 0;
		if (pods >= world->faults.quota) { /* asked before the name is looked at */
			json_decref(body);
			api_status(out, 403, "Forbidden", "pods is forbidden: exceeded quota: q");
			return;
		}
	}
	again = api_find(world, kind, ns, meta_text(body, "name")) != NULL;
	if (denied(world, plan_find(ns, meta_text(body, "name")), again, out)) { /* so is this */
		json_decref(body);
		return;
	}
	if (again) {
		json_decref(body);
		api_status(out, 409, "AlreadyExists", "already exists");
		return;
	}
	json_object_set_new(body, "metadata", json_copy(json_object_get(body, "metadata")));
	json_object_set_new(json_object_get(body, "metadata"), "namespace", json_string(ns));
	object = api_create(world, kind, body);
	object->late = wire->late || (kind == KIND_POD && orphaned(world, object));
	if (kind == KIND_POD && object->late)
		kubelet_set_late(world, object->uid, true);
	world->tally->late_objects += object->late;
	check_created(world, wire, object);
	answer_object(out, 201, wire, object);
}

static void handle_delete(struct world *world, const struct wire *wire, struct object *object, struct answer *out)
{
	struct error err;
	cleanup_json json_t *options = json_parse(wire->body, strlen(wire->body), &err);
	const char *uid = json_str(json_object_get(options, "preconditions"), "uid");
	const char *version = json_str(json_object_get(options, "preconditions"), "resourceVersion");
	int64_t grace_sec = json_int(options, "gracePeriodSeconds", -1);
	const char *policy = json_str(options, "propagationPolicy");
	enum object_kind kind = object->kind;

	if (uid == NULL)
		violated(world, "a delete of %s without a uid", object->name);
	if (strcmp(uid, object->uid) != 0 ||
	    (version != NULL && strcmp(version, meta_text(object->json, "resourceVersion")) != 0)) {
		api_status(out, 409, "Conflict", "a precondition does not match");
		return;
	}
	check_deletion(world, object, grace_sec == 0);
	check_life_delete(world, object);
	answer_object(out, 200, wire, object);
	api_delete(world, object, grace_sec, policy != NULL && strcmp(policy, "Foreground") == 0);
	object = api_find_uid(world, kind, uid);
	if (object != NULL) {
		free(out->body);
		answer_object(out, 200, wire, object);
	}
	if (kind != KIND_FRAMEWORK)
		faults_deleted(wire->member);
}

/* Whether some Task's container says more than is taken: how large what is compressed is would say little here. */
static bool says_too_much(const json_t *status, size_t max)
{
	cleanup_json json_t *framework = json_pack("{s:o}", "status", json_deep_copy(status));
	size_t r;
	size_t t;
	const json_t *role;
	const json_t *task;

	if (framework_decompress(framework, NULL) < 0)
		return false;
	json_array_foreach(json_path(framework, "status", "attemptStatus", "taskRoleStatuses", NULL), r, role) {
		json_array_foreach(json_object_get(role, "taskStatuses"), t, task) {
			const json_t *said = json_path(task, "attemptStatus", "completionStatus", "pod", "containers",
						       NULL);

			if (json_string_length(json_object_get(json_array_get(said, 0), "message")) > max ||
			    json_string_length(json_path(task, "attemptStatus", "completionStatus", "diagnostics",
							 NULL)) > max + 200)
				return true;
		}
	}
	return false;
}

static bool too_large(const struct world *world, const struct wire *wire, const json_t *status)
{
	if (world->faults.status_max == 0 || strlen(wire->body) <= world->faults.status_max)
		return false;
	return !json_is_string(json_path(status, "attemptStatus", "taskRoleStatusesCompressed", NULL)) ||
	       says_too_much(status, world->faults.status_max / 8);
}

static void handle_status(struct world *world, const struct wire *wire, struct object *object, struct answer *out)
{
	struct error err;
	cleanup_json json_t *body = json_parse(wire->body, strlen(wire->body), &err);
	const char *version = meta_text(body, "resourceVersion");
	json_t *status = json_object_get(body, "status");
	char text[24];
	json_t *changed;

	if (status == NULL)
		violated(world, "a status write without a status: %s", err.message);
	snprintf(text, sizeof(text), "%" PRIu64, object->version);
	if (too_large(world, wire, status)) {
		/* before anything is looked at, or by etcd, whose limit shows otherwise */
		if (chance(world, 500))
			api_status(out, 413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728");
		else
			api_status(out, 500, "InternalError", "etcdserver: request is too large");
		return;
	}
	if (strcmp(meta_text(body, "uid"), object->uid) != 0 || strcmp(version, text) != 0) {
		api_status(out, 409, "Conflict", "the object has been modified");
		return;
	}
	check_status_write(wire, object, status);
	/* what changes nothing makes no new version */
	if (!json_equal(status, json_object_get(object->json, "status"))) {
		changed = api_copy(object);
		json_object_set(changed, "status", status);
		api_replace(world, object, changed);
		object->written_late = wire->late;
		trace(world, "status of %s at %" PRIu64 ": %s", object->name, object->version,
		      json_str(status, "state"));
		life_status_written(world, object);
		services_status_written(world, object);
		depends_status_stored(world, object);
	}
	answer_object(out, 200, wire, object);
}

static const char *const plurals[KIND_WORKLOAD] = {"frameworks", "configmaps", "pods"};

/* What a request is for. */
struct target {
	enum object_kind kind;
	bool event;   /* not of a kind that is kept */
	bool service; /* kept by services.c */
	char ns[8];
	char name[96]; /* "": of all of the kind */
	bool status;
};

/* Copies up to the next slash, and goes behind it. */
static void next_part(const char **path, char *out, size_t size)
{
	size_t len = strcspn(*path, "/?");

	snprintf(out, size, "%.*s", (int)len, *path);
	*path += len;
	if (**path == '/')
		++*path;
}

static bool parse_path(const char *path, struct target *out)
{
	static const char core[] = "/api/v1/namespaces/";
	static const char group[] = "/apis/frameworkcontroller.microsoft.com/v1/namespaces/";
	bool ours = strncmp(path, group, sizeof(group) - 1) == 0;
	char kind[16];
	char rest[16];

	*out = (struct target){0};
	if (!ours && strncmp(path, core, sizeof(core) - 1) != 0)
		return false;
	path += (ours ? sizeof(group) : sizeof(core)) - 1;
	next_part(&path, out->ns, sizeof(out->ns));
	next_part(&path, kind, sizeof(kind));
	next_part(&path, out->name, sizeof(out->name));
	next_part(&path, rest, sizeof(rest));
	out->status = strcmp(rest, "status") == 0;
	out->event = strcmp(kind, "events") == 0;
	out->service = strcmp(kind, "services") == 0;
	for (int i = 0; i < KIND_WORKLOAD; i++) {
		if (strcmp(kind, plurals[i]) == 0 && ours == (i == KIND_FRAMEWORK)) {
			out->kind = (enum object_kind)i;
			return true;
		}
	}
	return (out->event || out->service) && !ours;
}

void api_handle(struct world *world, const struct wire *wire, struct answer *out)
{
	struct target target;
	struct object *object;

	if (gangs_handle(world, wire, out) || queues_handle(world, wire, out))
		return;
	if (!parse_path(wire->path, &target))
		violated(world, "a request for %s", wire->path);
	if (target.event) {
		api_status(out, 201, "", "");
		return;
	}
	check_request(world, wire);
	if (target.service) {
		services_handle(world, wire, target.ns, target.name, out);
		return;
	}
	if (strcmp(wire->method, "POST") == 0) {
		handle_create(world, wire, target.kind, target.ns, out);
		return;
	}
	object = api_find(world, target.kind, target.ns, target.name);
	if (object == NULL)
		api_not_found(out, plurals[target.kind], target.name);
	else if (strcmp(wire->method, "GET") == 0)
		answer_object(out, 200, wire, object);
	else if (strcmp(wire->method, "DELETE") == 0)
		handle_delete(world, wire, object, out);
	else if (strcmp(wire->method, "PUT") == 0 && target.status)
		handle_status(world, wire, object, out);
	else
		violated(world, "a request %s %s", wire->method, wire->path);
}

void api_free(struct world *world)
{
	for (uint64_t v = VERSION_BASE + 1; v <= world->version; v++)
		json_decref(world->changes[v - VERSION_BASE - 1].json);
	for (uint64_t v = VERSION_BASE + 1; v <= world->version; v++)
		json_decref(world->changes[v - VERSION_BASE - 1].before);
	free(world->changes);
	while (world->objects != NULL) {
		struct object *object = world->objects;

		world->objects = object->next;
		json_decref(object->plain);
		json_decref(object->specs);
		json_decref(object->json);
		free(object);
	}
}
