/* Observed objects from JSON text; see object.h. Values of a wrong type count as absent, because input from outside can
 * contain anything. Large values that nobody reads, managedFields above all, are passed over without a check. */
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "common/framework/object_view.h"

/* No phase or number that means anything is longer. */
enum { SHORT_TEXT = 64 };

static enum pod_phase read_phase(struct json_reader *reader)
{
	struct json_span span = json_reader_string(reader);
	char text[SHORT_TEXT];

	if (span.at == NULL)
		return pod_phase_parse(NULL);
	if (span.len >= SHORT_TEXT)
		return POD_UNRECOGNIZED;
	json_span_decode(&span, text);
	return pod_phase_parse(text);
}

static void read_labels(struct json_reader *reader, struct object_view *view)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, FC_FRAMEWORK_NAME))
			view->framework_name = json_reader_string(reader);
		else
			json_reader_skip(reader);
}

static void read_annotations(struct json_reader *reader, struct object_view *view)
{
	const struct {
		const char *name;
		struct json_span *value;
	} wanted[] = {
		{FC_FRAMEWORK_UID, &view->framework_uid},
		{FC_FRAMEWORK_ATTEMPT_ID, &view->framework_attempt_id},
		{FC_FRAMEWORK_ATTEMPT_INSTANCE_UID, &view->framework_attempt_instance_uid},
		{FC_TASK_UID, &view->task_uid},
		{FC_TASK_ATTEMPT_ID, &view->task_attempt_id},
		{FC_READY_WANTED, &view->ready_wanted},
	};
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name)) {
		size_t i = 0;

		while (i < ARRAY_LEN(wanted) && !json_span_is(&name, wanted[i].name))
			i++;
		if (i < ARRAY_LEN(wanted))
			*wanted[i].value = json_reader_string(reader);
		else
			json_reader_skip(reader);
	}
}

static void read_owners(struct json_reader *reader, struct object_view *view)
{
	bool found = false;

	if (!json_reader_array(reader))
		return;
	while (json_reader_item(reader)) {
		struct json_span kind = {0};
		struct json_span owner = {0};
		struct json_span uid = {0};
		struct json_span name;
		bool controller = false;

		if (!json_reader_object(reader))
			continue;
		while (json_reader_member(reader, &name)) {
			if (json_span_is(&name, "kind"))
				kind = json_reader_string(reader);
			else if (json_span_is(&name, "name"))
				owner = json_reader_string(reader);
			else if (json_span_is(&name, "uid"))
				uid = json_reader_string(reader);
			else if (json_span_is(&name, "controller"))
				controller = json_reader_bool(reader, false);
			else
				json_reader_skip(reader);
		}
		/* without a uid it controls nothing, and would be left out on the bus */
		if (!controller || uid.len == 0 || found)
			continue;
		found = true;
		view->controller_kind = kind;
		view->controller_name = owner;
		view->controller_uid = uid;
	}
}

static void read_metadata(struct json_reader *reader, struct object_view *view)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name)) {
		if (json_span_is(&name, "namespace"))
			view->ns = json_reader_string(reader);
		else if (json_span_is(&name, "name"))
			view->name = json_reader_string(reader);
		else if (json_span_is(&name, "uid"))
			view->uid = json_reader_string(reader);
		else if (json_span_is(&name, "resourceVersion"))
			view->resource_version = json_reader_string(reader);
		else if (json_span_is(&name, "generation"))
			view->generation = json_reader_int(reader, 0);
		else if (json_span_is(&name, "creationTimestamp"))
			view->creation_time = json_reader_time(reader);
		else if (json_span_is(&name, "deletionTimestamp"))
			view->deletion_time = json_reader_time(reader);
		else if (json_span_is(&name, "deletionGracePeriodSeconds"))
			view->deletion_grace_sec = json_reader_int(reader, 0);
		else if (json_span_is(&name, "labels"))
			read_labels(reader, view);
		else if (json_span_is(&name, "annotations"))
			read_annotations(reader, view);
		else if (json_span_is(&name, "ownerReferences"))
			read_owners(reader, view);
		else
			json_reader_pass(reader);
	}
}

/* Container waiting reasons of the kubelet (pkg/kubelet/images/types.go, pkg/kubelet/kuberuntime). */
static bool wait_kind(const struct json_span *reason, bool init, enum pod_wait_kind *out)
{
	static const char *const never[] = {"InvalidImageName", "ErrImageNeverPull"};
	static const char *const start[] = {
		"ErrImagePull",
		"ImagePullBackOff",
		"ImageInspectError",
		"RegistryUnavailable",
		"SignatureValidationFailed",
		"CreateContainerError",
		"CreateContainerConfigError",
		"RunContainerError",
		"CreatePodSandboxError",
		"PreStartHookError",
		"PostStartHookError",
	};

	*out = POD_WAIT_NEVER;
	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		if (json_span_is(reason, never[i]))
			return true;
	*out = POD_WAIT_START;
	for (size_t i = 0; i < ARRAY_LEN(start); i++)
		if (json_span_is(reason, start[i]))
			return true;
	return init && json_span_is(reason, "CrashLoopBackOff");
}

/* A container of a Pending Pod waits with this reason: kept when it keeps the Pod from running, and none that is worse
 * was kept before. init: CrashLoopBackOff of another container belongs to a Pod that has run. */
static void add_waiting(struct object_view *view, struct json_span container, struct json_span reason,
			struct json_span message, bool init)
{
	enum pod_wait_kind kind;

	if (reason.at == NULL || !wait_kind(&reason, init, &kind) ||
	    (view->wait.found && (view->wait.kind == POD_WAIT_NEVER || kind != POD_WAIT_NEVER)))
		return;
	view->wait = (struct wait_view){
		.found = true, .kind = kind, .container = container, .reason = reason, .message = message};
}

static void add_unscheduled(struct object_view *view, struct json_span reason, struct json_span message, int64_t since)
{
	bool gated = json_span_is(&reason, "SchedulingGated");

	if (view->wait.found || reason.at == NULL || !(gated || json_span_is(&reason, "Unschedulable")))
		return;
	view->wait = (struct wait_view){.found = true,
					.kind = gated ? POD_WAIT_GATED : POD_WAIT_UNSCHEDULABLE,
					.reason = reason,
					.message = message,
					.since = since};
}

/* Since Kubernetes 1.26, who disrupts a Pod says so in this condition, some (PodGC, of a Pod whose node is gone) in
 * nothing else. */
static void add_disruption(struct object_view *view, struct json_span reason, struct json_span message)
{
	view->reason = reason;
	if (view->message.len == 0)
		view->message = message;
}

static void read_waiting(struct json_reader *reader, struct json_span *reason, struct json_span *message)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "reason"))
			*reason = json_reader_string(reader);
		else if (json_span_is(&name, "message"))
			*message = json_reader_string(reader);
		else
			json_reader_skip(reader);
}

static void read_waiting_container(struct json_reader *reader, bool init, struct object_view *view)
{
	struct json_span container = {0};
	struct json_span reason = {0};
	struct json_span message = {0};
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name)) {
		if (json_span_is(&name, "name")) {
			container = json_reader_string(reader);
		} else if (json_span_is(&name, "state") && json_reader_object(reader)) {
			while (json_reader_member(reader, &name))
				if (json_span_is(&name, "waiting"))
					read_waiting(reader, &reason, &message);
				else
					json_reader_skip(reader);
		} else if (!json_span_is(&name, "state")) {
			json_reader_skip(reader);
		}
	}
	add_waiting(view, container, reason, message, init);
}

static void read_condition(struct json_reader *reader, struct object_view *view)
{
	struct json_span type = {0};
	struct json_span status = {0};
	struct json_span reason = {0};
	struct json_span message = {0};
	struct json_span name;
	int64_t since = 0;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name)) {
		if (json_span_is(&name, "type"))
			type = json_reader_string(reader);
		else if (json_span_is(&name, "status"))
			status = json_reader_string(reader);
		else if (json_span_is(&name, "reason"))
			reason = json_reader_string(reader);
		else if (json_span_is(&name, "message"))
			message = json_reader_string(reader);
		else if (json_span_is(&name, "lastTransitionTime"))
			since = json_reader_time(reader);
		else
			json_reader_skip(reader);
	}
	if (view->phase == POD_PENDING && json_span_is(&type, "PodScheduled") && json_span_is(&status, "False"))
		add_unscheduled(view, reason, message, since);
	else if (view->phase == POD_FAILED && json_span_is(&type, "DisruptionTarget") && json_span_is(&status, "True"))
		add_disruption(view, reason, message);
	else if (view->phase == POD_RUNNING && json_span_is(&type, "Ready") && json_span_is(&status, "True"))
		view->ready = true;
}

static void read_conditions(const struct json_span *conditions, struct object_view *view)
{
	struct json_reader reader;

	if (conditions->at == NULL)
		return;
	json_reader_init(&reader, conditions->at, conditions->len);
	if (!json_reader_array(&reader))
		return;
	while (json_reader_item(&reader))
		read_condition(&reader, view);
}

/* Reads the reason that keeps a Pending Pod from running, from statuses and conditions that preceded the phase. */
static void read_wait(const struct json_span *init_statuses, const struct json_span *statuses,
		      const struct json_span *conditions, struct object_view *view)
{
	const struct json_span *const lists[] = {init_statuses, statuses, conditions};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		struct json_reader reader;

		if (lists[i]->at == NULL)
			continue;
		json_reader_init(&reader, lists[i]->at, lists[i]->len);
		if (!json_reader_array(&reader))
			continue;
		while (json_reader_item(&reader))
			if (lists[i] == conditions)
				read_condition(&reader, view);
			else
				read_waiting_container(&reader, lists[i] == init_statuses, view);
	}
}

static void read_pod_status(struct json_reader *reader, struct object_view *view)
{
	struct json_span init_statuses = {0};
	struct json_span statuses = {0};
	struct json_span conditions = {0};
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name)) {
		if (json_span_is(&name, "phase"))
			view->phase = read_phase(reader);
		else if (json_span_is(&name, "podIP"))
			view->pod_ip = json_reader_string(reader);
		else if (json_span_is(&name, "hostIP"))
			view->host_ip = json_reader_string(reader);
		else if (json_span_is(&name, "reason"))
			view->reason = json_reader_string(reader);
		else if (json_span_is(&name, "message"))
			view->message = json_reader_string(reader);
		else if (json_span_is(&name, "initContainerStatuses"))
			init_statuses = json_reader_pass(reader);
		else if (json_span_is(&name, "containerStatuses"))
			statuses = json_reader_pass(reader);
		else if (json_span_is(&name, "conditions"))
			conditions = json_reader_pass(reader);
		else
			json_reader_pass(reader);
	}
	if (view->phase == POD_PENDING)
		read_wait(&init_statuses, &statuses, &conditions, view);
	else if ((view->phase == POD_RUNNING && view->ready_wanted.at != NULL) ||
		 (view->phase == POD_FAILED && view->reason.len == 0))
		read_conditions(&conditions, view);
	if (view->phase != POD_SUCCEEDED && view->phase != POD_FAILED) {
		view->reason = view->message = (struct json_span){0};
		return;
	}
	object_read_containers(&init_statuses, view);
	object_read_containers(&statuses, view);
}

static void read_pod_spec(struct json_reader *reader, struct object_view *view)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "nodeName"))
			view->node_name = json_reader_string(reader);
		else if (json_span_is(&name, "initContainers"))
			view->init_containers = json_reader_pass(reader);
		else
			json_reader_pass(reader);
}

/* metadata, and where it stands. */
static struct json_span read_metadata_part(struct json_reader *reader, struct object_view *view)
{
	struct json_reader before = *reader;
	struct json_span span;

	read_metadata(reader, view);
	span = (struct json_span){.at = before.at, .len = (size_t)(reader->at - before.at)};
	return span;
}

/* 0, or -1 and *err when the text is no JSON. */
static int read_object(const char *text, size_t len, bool is_pod, struct object_view *view, struct object_parts *parts,
		       struct error *err)
{
	struct json_reader reader;
	struct json_span name;

	*view = (struct object_view){.phase = pod_phase_parse(NULL)};
	json_reader_init(&reader, text, len);
	if (json_reader_object(&reader)) {
		while (json_reader_member(&reader, &name)) {
			if (json_span_is(&name, "metadata"))
				parts->metadata = read_metadata_part(&reader, view);
			else if (is_pod && json_span_is(&name, "spec"))
				read_pod_spec(&reader, view);
			else if (is_pod && json_span_is(&name, "status"))
				read_pod_status(&reader, view);
			else if (json_span_is(&name, "spec"))
				parts->spec = json_reader_skip(&reader);
			else if (json_span_is(&name, "status"))
				parts->status = json_reader_skip(&reader);
			else
				json_reader_skip(&reader);
		}
	}
	object_mark_sidecars(view);
	return json_reader_finish(&reader, err);
}

int object_parts_read(const char *text, size_t len, struct object_parts *out, struct error *err)
{
	struct object_view view;

	*out = (struct object_parts){0};
	if (read_object(text, len, false, &view, out, err) < 0)
		return -1;
	return object_meta_from_view(&view, &out->meta, err);
}

int object_meta_read(const char *text, size_t len, struct object_meta *out, struct error *err)
{
	struct object_parts parts;

	if (object_parts_read(text, len, &parts, err) < 0)
		return -1;
	*out = parts.meta;
	return 0;
}

int object_head_read(const char *text, size_t len, struct object_meta *out, struct error *err)
{
	struct object_view view = {0};
	struct json_reader reader;

	json_reader_init(&reader, text, len);
	if (json_reader_find(&reader, "metadata"))
		read_metadata(&reader, &view);
	return object_meta_from_view(&view, out, err);
}

struct owned_object *owned_object_read(const char *text, size_t len, bool whole, struct error *err)
{
	struct owned_object *object = mem_calloc(1, sizeof(*object));
	cleanup_json json_t *tree = NULL;

	if (object_meta_read(text, len, &object->meta, err) < 0) {
		free(object);
		return NULL;
	}
	if (whole) {
		tree = json_parse(text, len, err);
		object->spec = json_incref(json_object_get(tree, "spec"));
	}
	return object;
}

/* The identity alone; labels and the like are passed over. */
static void read_identity(struct json_reader *reader, struct object_view *view)
{
	struct json_span name;

	if (!json_reader_object(reader))
		return;
	while (json_reader_member(reader, &name))
		if (json_span_is(&name, "namespace"))
			view->ns = json_reader_string(reader);
		else if (json_span_is(&name, "name"))
			view->name = json_reader_string(reader);
		else if (json_span_is(&name, "uid"))
			view->uid = json_reader_string(reader);
		else if (json_span_is(&name, "resourceVersion"))
			view->resource_version = json_reader_string(reader);
		else if (json_span_is(&name, "generation"))
			view->generation = json_reader_int(reader, 0);
		else if (json_span_is(&name, "deletionTimestamp"))
			view->deletion_time = json_reader_time(reader);
		else
			json_reader_pass(reader);
}

bool object_identity_read(const char *text, size_t len, struct object_identity *out)
{
	struct object_view view = {0};
	struct json_reader reader;
	char *at;

	*out = (struct object_identity){0};
	json_reader_init(&reader, text, len);
	if (!json_reader_find(&reader, "metadata"))
		return false;
	read_identity(&reader, &view);
	if (view.ns.len == 0 || view.name.len == 0 || view.resource_version.len == 0)
		return false;
	out->generation = view.generation;
	out->deletion_time = view.deletion_time;
	out->key = mem_alloc(view.ns.len + 1 + view.name.len + 1 + view.resource_version.len + 1 + view.uid.len + 1);
	at = out->key + json_span_decode(&view.ns, out->key);
	*at++ = '/';
	out->resource_version = at + json_span_decode(&view.name, at) + 1;
	out->uid = out->resource_version + json_span_decode(&view.resource_version, out->resource_version) + 1;
	json_span_decode(&view.uid, out->uid);
	return true;
}

void object_identity_free(struct object_identity *identity)
{
	free(identity->key); /* one piece of memory */
}

struct config_map *config_map_read(const char *text, size_t len, struct error *err)
{
	struct object_parts parts;
	struct object_view view;

	if (read_object(text, len, false, &view, &parts, err) < 0)
		return NULL;
	return config_map_from_view(&view, err);
}

struct pod *pod_read(const char *text, size_t len, struct error *err)
{
	struct object_parts parts;
	struct object_view view;
	struct pod *pod = NULL;

	if (read_object(text, len, true, &view, &parts, err) == 0)
		pod = pod_from_view(&view, err);
	free(view.containers);
	return pod;
}
