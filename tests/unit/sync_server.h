/* The cluster of sync_world.h: an API server that keeps one Framework, its ConfigMap and its Pods as JSON, what happens
 * to them, the events of it, and the calls that the owner makes. */
#ifndef TESTS_UNIT_SYNC_SERVER_H
#define TESTS_UNIT_SYNC_SERVER_H

#include "tests/merge.h"
#include "tests/unit/sync_objects.h"

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Whether its events come to the Framework's owner. */
static inline bool has_label(const json_t *object)
{
	const char *label = object_framework_name(object);

	return label != NULL && strcmp(label, WORLD_NAME) == 0;
}

static inline void world_tell_framework(struct world *w)
{
	if (!w->mute && w->object != NULL)
		world_observe_framework(w->framework, w->object, OBSERVED_EVENT);
}

static inline void world_tell_pod(struct world *w, const char *name)
{
	struct error err;
	json_t *object = world_pod(w, name);

	if (!w->mute && object != NULL && has_label(object))
		framework_observe_pod(w->framework, pod_parse(object, &err));
}

static inline void world_tell_workload(struct world *w)
{
	json_t *object = json_object_get(w->workloads, WORLD_WORKLOAD);
	cleanup_free char *text = object == NULL ? NULL : json_text(object);

	if (!w->mute && text != NULL)
		framework_observe_workload(w->framework, workload_read(text, strlen(text), NULL));
}

static inline void world_tell_config_map(struct world *w)
{
	struct error err;

	if (!w->mute && w->config_map != NULL && has_label(w->config_map))
		framework_observe_config_map(w->framework, config_map_parse(w->config_map, &err));
}

/* DELETED: certain when the last state had a deletionTimestamp. */
static inline void world_tell_gone(struct world *w, enum object_kind kind, const json_t *object)
{
	char version[32];

	if (w->mute)
		return;
	snprintf(version, sizeof(version), "%llu", (unsigned long long)++w->rv);
	framework_observe_gone(w->framework, kind, meta_str(object, "name"), meta_str(object, "uid"), version,
			       meta_str(object, "deletionTimestamp") != NULL);
}

/* ---- what happens to objects ------------------------------------------------------------------------------------- */

static inline void world_now_text(const struct world *w, char out[TIME_RFC3339_SIZE])
{
	time_format_rfc3339(w->time.wall_ms / 1000, out);
}

static inline void world_pod_gone(struct world *w, const char *name);
static inline void world_config_map_gone(struct world *w);

static inline void world_mark_deleting(struct world *w, json_t *object, int64_t grace_sec)
{
	char now[TIME_RFC3339_SIZE];
	json_t *meta = json_object_get(object, "metadata");

	if (json_str(meta, "deletionTimestamp") != NULL)
		return;
	time_format_rfc3339(w->time.wall_ms / 1000 + grace_sec, now);
	json_object_set_new(meta, "deletionTimestamp", json_string(now));
	json_object_set_new(meta, "deletionGracePeriodSeconds", json_integer(grace_sec));
	world_stamp(w, object);
}

/* Somebody deletes the Pod; it stays, deleting, until the kubelet is done. */
static inline void world_pod_deleting(struct world *w, const char *name)
{
	assert_non_null(world_pod(w, name));
	world_mark_deleting(w, world_pod(w, name), 30);
	world_tell_pod(w, name);
}

/* The Pod ceases to exist. */
static inline void world_pod_gone(struct world *w, const char *name)
{
	cleanup_json json_t *object = json_incref(world_pod(w, name));

	assert_non_null(object);
	world_mark_deleting(w, object, 0);
	json_object_del(w->pods, name);
	if (has_label(object))
		world_tell_gone(w, KIND_POD, object);
	if (w->config_map != NULL && !w->slow_gc && meta_str(w->config_map, "deletionTimestamp") != NULL &&
	    json_object_size(w->pods) == 0)
		world_config_map_gone(w);
}

/* What the ConfigMap owns beside the Pods. */
static inline void world_collect_pod_groups(struct world *w, const char *owner_uid)
{
	const char *name;
	void *next;
	json_t *group;

	json_object_foreach_safe(w->pod_groups, next, name, group) {
		const char *uid = json_str(json_at(group, "metadata.ownerReferences.0"), "uid");

		if (uid != NULL && strcmp(uid, owner_uid) == 0)
			json_object_del(w->pod_groups, name);
	}
}

/* Events of it; one that is deleted goes with its last finalizer. */
static inline void world_workload_changed(struct world *w)
{
	cleanup_json json_t *object = json_incref(json_object_get(w->workloads, WORLD_WORKLOAD));

	if (object == NULL)
		return;
	world_tell_workload(w);
	if (meta_str(object, "deletionTimestamp") == NULL ||
	    json_array_size(json_object_get(json_object_get(object, "metadata"), "finalizers")) > 0)
		return;
	json_object_del(w->workloads, WORLD_WORKLOAD);
	world_tell_gone(w, KIND_WORKLOAD, object);
}

static inline void world_config_map_gone(struct world *w)
{
	json_t *object = w->config_map;

	assert_non_null(object);
	world_mark_deleting(w, object, 0);
	w->config_map = NULL;
	world_collect_pod_groups(w, meta_str(object, "uid"));
	world_tell_gone(w, KIND_CONFIG_MAP, object);
	json_decref(object);
}

/* The garbage collector's foreground deletion: the Pods first. */
static inline void world_collect(struct world *w)
{
	const char *name;
	void *next;
	json_t *pod;

	if (w->config_map == NULL || w->slow_gc || meta_str(w->config_map, "deletionTimestamp") == NULL)
		return;
	json_object_foreach_safe(w->pods, next, name, pod) {
		world_pod_deleting(w, name);
		if (!w->slow_kubelet)
			world_pod_gone(w, name);
	}
	if (json_object_size(w->pods) == 0 && w->config_map != NULL)
		world_config_map_gone(w);
}

static inline void world_config_map_deleting(struct world *w)
{
	assert_non_null(w->config_map);
	world_mark_deleting(w, w->config_map, 0);
	world_tell_config_map(w);
	world_collect(w);
}

/* status.phase, and the node's and IPs' names once it has been somewhere. */
static inline void world_pod_phase(struct world *w, const char *name, const char *phase)
{
	json_t *pod = world_pod(w, name);
	json_t *status;

	assert_non_null(pod);
	status = json_object_get(pod, "status");
	json_object_set_new(status, "phase", json_string(phase));
	if (strcmp(phase, "Pending") != 0) {
		json_object_set_new(json_object_get(pod, "spec"), "nodeName", json_string("node1"));
		json_object_set_new(status, "podIP", json_string("10.0.0.1"));
		json_object_set_new(status, "hostIP", json_string("192.168.0.1"));
	}
	world_stamp(w, pod);
	world_tell_pod(w, name);
}

/* Its one container "c" ends with code; details are further members of `terminated`, with ' for ", or "". */
static inline void world_pod_exit(struct world *w, const char *name, int code, const char *details)
{
	char now[TIME_RFC3339_SIZE];
	cleanup_free char *text = NULL;

	assert_non_null(world_pod(w, name));
	world_now_text(w, now);
	text = mem_printf("[{'name':'c','state':{'terminated':{'exitCode':%d,'reason':'%s','finishedAt':'%s'}}}]", code,
			  code == 0 ? "Completed" : "Error", now);
	json_object_set_new(json_object_get(world_pod(w, name), "status"), "containerStatuses", json_of(text));
	if (details[0] != '\0') {
		cleanup_json json_t *more = json_of(details);

		json_object_update(json_at(world_pod(w, name), "status.containerStatuses.0.state.terminated"), more);
	}
	world_pod_phase(w, name, code == 0 ? "Succeeded" : "Failed");
}

/* Somebody removes the label: a selector's watch calls that DELETED. */
static inline void world_pod_unlabel(struct world *w, const char *name)
{
	json_t *pod = world_pod(w, name);

	json_object_del(json_at(pod, "metadata.labels"), FC_FRAMEWORK_NAME);
	world_stamp(w, pod);
	world_tell_gone(w, KIND_POD, pod);
}

/* A Pod or ConfigMap that stands there without the owner having made it; nothing is told. */
static inline void world_put(struct world *w, const char *text, bool config_map)
{
	json_t *object = json_of(text);

	world_stamp(w, object);
	if (config_map) {
		json_decref(w->config_map);
		w->config_map = object;
	} else {
		json_object_set_new(w->pods, meta_str(object, "name"), object);
	}
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static inline json_t *world_answer_object(const json_t *object)
{
	json_t *copy = json_object();

	json_object_set_new(copy, "kind", json_string("PartialObjectMetadata"));
	json_object_set_new(copy, "metadata", json_deep_copy(json_object_get(object, "metadata")));
	return copy;
}

static inline json_t *world_owned(struct world *w, const struct call *call)
{
	if (call->object == SLOT_WORKLOAD)
		return w->workloads;
	return call->object == SLOT_SERVICE ? w->services : w->pod_groups;
}

/* Metadata alone, unless more is read. */
static inline json_t *world_shown(const struct call *call, const json_t *object)
{
	if (call->resource != NULL && call->resource->whole)
		return json_deep_copy(object);
	return world_answer_object(object);
}

static inline json_t *world_find(struct world *w, const struct call *call)
{
	switch (call->kind) {
	case CALL_CREATE_CONFIG_MAP:
	case CALL_GET_CONFIG_MAP:
	case CALL_DELETE_CONFIG_MAP: return w->config_map;
	case CALL_DELETE_FRAMEWORK: return w->object;
	case CALL_CREATE_OWNED:
	case CALL_GET_OWNED:
	case CALL_PATCH_OWNED_STATUS:
	case CALL_DELETE_OWNED:
	case CALL_PATCH_OWNED: return json_object_get(world_owned(w, call), call->name);
	case CALL_GET_KUEUE: return json_object_get(w->kueue_objects, call->name);
	default: return world_pod(w, call->name);
	}
}

struct world_result {
	int http_status;
	const char *reason;
	const char *message;
	json_t *object;
};

static inline void world_create(struct world *w, const struct call *call, const struct buf *body,
				struct world_result *result)
{
	bool pod = call->kind == CALL_CREATE_POD;
	struct error err;
	json_t *object;

	if (world_find(w, call) != NULL) {
		*result = (struct world_result){409, "AlreadyExists", "already exists", NULL};
		return;
	}
	object = json_parse(body->data, body->len, &err);
	if (object == NULL)
		fail_msg("body of %s: %s", call->name, err.message);
	assert_string_equal(meta_str(object, "name"), call->name);
	assert_string_equal(meta_str(object, "namespace"), WORLD_NS);
	world_new_uid(w, object,
		      pod                              ? "pod"
		      : call->object == SLOT_SERVICE   ? "svc"
		      : call->object == SLOT_POD_GROUP ? "pg"
		      : call->object == SLOT_WORKLOAD  ? "wl"
						       : "cm");
	world_stamp(w, object);
	if (pod) {
		json_object_set_new(object, "status", json_of("{'phase':'Pending'}"));
		if (json_object_get(object, "spec") == NULL)
			json_object_set_new(object, "spec", json_object());
		json_object_set_new(w->pods, call->name, object);
	} else if (call->kind == CALL_CREATE_OWNED) {
		json_object_set_new(world_owned(w, call), call->name, object);
	} else {
		w->config_map = object;
	}
	*result = (struct world_result){201, NULL, NULL, world_shown(call, object)};
}

static inline void world_patch(struct world *w, const struct call *call, const struct buf *body,
			       struct world_result *result)
{
	json_t *object = world_find(w, call);
	struct error err;
	cleanup_json json_t *patch = json_parse(body->data, body->len, &err);

	if (patch == NULL)
		fail_msg("patch of %s: %s", call->name, err.message);
	if (object == NULL) {
		*result = (struct world_result){404, "NotFound", "not found", NULL};
		return;
	}
	if (strcmp(meta_str(object, "uid"), meta_str(patch, "uid")) != 0 ||
	    (meta_str(patch, "resourceVersion") != NULL &&
	     strcmp(meta_str(object, "resourceVersion"), meta_str(patch, "resourceVersion")) != 0)) {
		*result = (struct world_result){409, "Conflict", "a precondition failed", NULL};
		return;
	}
	if (w->patches_ignored > 0) {
		w->patches_ignored--;
	} else {
		merge_patch(object, patch);
		world_stamp(w, object);
	}
	*result = (struct world_result){200, NULL, NULL, world_shown(call, object)};
}

static inline void world_delete(struct world *w, const struct call *call, struct world_result *result)
{
	json_t *object = world_find(w, call);
	bool pod = call->kind == CALL_DELETE_POD;

	assert_non_null(call->uid); /* every delete carries its precondition (CONTRACT.md §12) */
	if (object == NULL) {
		*result = (struct world_result){404, "NotFound", "not found", NULL};
		return;
	}
	if (strcmp(meta_str(object, "uid"), call->uid) != 0 ||
	    (call->version != NULL && strcmp(meta_str(object, "resourceVersion"), call->version) != 0)) {
		*result = (struct world_result){409, "Conflict", "a precondition failed", NULL};
		return;
	}
	world_mark_deleting(w, object, pod && !call->force ? 30 : 0);
	*result = (struct world_result){200, NULL, NULL, world_answer_object(object)};
	if (call->force && !w->held)
		json_object_del(w->pods, call->name);
}

/* Events of what a carried out call has changed. */
static inline void world_after(struct world *w, const struct call *call)
{
	switch (call->kind) {
	case CALL_CREATE_CONFIG_MAP: world_tell_config_map(w); break;
	case CALL_CREATE_POD: world_tell_pod(w, call->name); break;
	case CALL_DELETE_CONFIG_MAP:
		world_tell_config_map(w);
		world_collect(w);
		break;
	case CALL_DELETE_POD:
		world_tell_pod(w, call->name);
		if (!w->slow_kubelet && !w->held && world_pod(w, call->name) != NULL &&
		    meta_str(world_pod(w, call->name), "deletionTimestamp") != NULL)
			world_pod_gone(w, call->name);
		break;
	default: break;
	}
	if (call->object == SLOT_WORKLOAD && call->kind != CALL_GET_KUEUE)
		world_workload_changed(w);
}

static inline void world_run(struct world *w, const struct call *call, const struct buf *body,
			     struct world_result *result)
{
	json_t *object = world_find(w, call);

	switch (call->kind) {
	case CALL_CREATE_CONFIG_MAP:
	case CALL_CREATE_OWNED:
	case CALL_CREATE_POD: world_create(w, call, body, result); break;
	case CALL_GET_CONFIG_MAP:
	case CALL_GET_OWNED:
	case CALL_GET_KUEUE:
	case CALL_GET_POD:
		*result = object == NULL ? (struct world_result){404, "NotFound", "not found", NULL}
					 : (struct world_result){200, NULL, NULL, json_deep_copy(object)};
		break;
	case CALL_PATCH_OWNED_STATUS:
	case CALL_PATCH_OWNED: world_patch(w, call, body, result); break;
	default: world_delete(w, call, result); break;
	}
}

static inline void world_answer(struct world *w, struct call *call)
{
	struct world_fault *fault = &w->fault;
	bool faulty = fault->count > 0 && fault->kind == call->kind &&
		      (fault->name == NULL || strcmp(fault->name, call->name) == 0);
	struct world_result result = {0};
	struct call_answer answer = {.sent = true, .reason = "", .message = "", .body = "", .retry_after_ms = -1};
	cleanup_buf struct buf body = {0};
	cleanup_free char *text = NULL;
	cleanup_json json_t *object = NULL;

	if (!framework_call_wanted(w->framework, call)) {
		answer.sent = false;
		framework_answer(w->framework, call, &answer, &w->time, &w->random);
		return;
	}
	if (call->kind == CALL_CREATE_CONFIG_MAP || call->kind == CALL_CREATE_POD || call->kind == CALL_CREATE_OWNED ||
	    call->kind == CALL_PATCH_OWNED || call->kind == CALL_PATCH_OWNED_STATUS)
		framework_call_body(w->framework, call, &body);
	w->made[call->kind]++;
	buf_printf(&w->log, "%s%s %s; ", call->force ? "force " : "", call_kind_name(call), call->name);
	if (!faulty || fault->carried_out)
		world_run(w, call, &body, &result);
	object = result.object;
	if (faulty) {
		fault->count--;
		result = (struct world_result){fault->http_status, fault->reason, fault->message, NULL};
		answer.retry_after_ms = fault->retry_after_ms > 0 ? fault->retry_after_ms : -1;
	}
	answer.http_status = result.http_status;
	if (result.object != NULL)
		answer.body = text = json_text(result.object);
	answer.message = result.message == NULL ? "" : result.message;
	if (result.http_status >= 400 && result.reason != NULL) {
		cleanup_json json_t *status = json_pack("{s:s,s:s,s:s,s:s,s:i}", "kind", "Status", "status", "Failure",
							"message", answer.message, "reason", result.reason, "code",
							result.http_status);

		answer.is_status = true;
		answer.absent = result.http_status == 404 && strcmp(result.reason, "NotFound") == 0;
		answer.reason = result.reason;
		answer.body = text = json_text(status);
	}
	framework_answer(w->framework, call, &answer, &w->time, &w->random);
	if (!faulty || fault->carried_out)
		world_after(w, call);
}

static inline void world_drop_call(struct call *call)
{
	free(call->name);
	free(call->uid);
	free(call->version);
}

/* Carries out what is in the queue, all on the way together: the failure of one keeps no other back. */
static inline void world_carry(struct world *w)
{
	size_t count = w->queued;
	struct call *calls = mem_calloc(count, sizeof(*calls));

	memcpy(calls, w->queue, count * sizeof(*calls));
	w->queued = 0;
	for (size_t i = 0; i < count; i++) {
		calls[i].failed = w->framework->creates_failed;
		world_answer(w, &calls[i]);
		world_drop_call(&calls[i]);
	}
	free(calls);
}

#endif
