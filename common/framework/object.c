/* Observed objects: the kept parts, and their JSON for the bus; see object.h. object_read.c reads them. */
#include "common/framework/object_view.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

const char *object_kind_name(enum object_kind kind)
{
	switch (kind) {
	case KIND_FRAMEWORK: return "Framework";
	case KIND_CONFIG_MAP: return "ConfigMap";
	case KIND_POD: return "Pod";
	case KIND_WORKLOAD: return "Workload";
	case KIND_COUNT: break;
	}
	return "unknown kind";
}

/* ---- from views ---- */

/* The room that a span takes in an object's strings. */
static size_t room_for(const struct json_span *span)
{
	return span->at == NULL ? 0 : span->len + 1;
}

/* Puts the text of a span at *room, which moves past it. */
static const char *put_string(char **room, const struct json_span *span)
{
	const char *text = *room;

	if (span->at == NULL)
		return "";
	*room += json_span_decode(span, *room) + 1;
	return text;
}

static size_t meta_room(const struct object_view *view)
{
	return room_for(&view->ns) + room_for(&view->name) + room_for(&view->uid) + room_for(&view->resource_version) +
	       room_for(&view->controller_kind) + room_for(&view->controller_name) + room_for(&view->controller_uid) +
	       room_for(&view->framework_name);
}

/* Names stand in requests' paths and bodies as they are. The API server has no others (RFC 1123); they would be
 * somebody's who answers in its place. */
static bool is_plain(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text <= ' ' || *text > '~' || strchr("/%?#\"\\", *text) != NULL)
			return false;
	return true;
}

/* Takes `more` bytes beyond the metadata's own; *room is where they begin. */
static int meta_from_view(const struct object_view *view, size_t more, struct object_meta *out, char **room,
			  struct error *err)
{
	*out = (struct object_meta){
		.generation = view->generation,
		.creation_time = view->creation_time,
		.deletion_time = view->deletion_time,
		.deletion_grace_sec = view->deletion_grace_sec,
		.strings = mem_alloc(meta_room(view) + more + 1),
	};
	*room = out->strings;
	out->ns = put_string(room, &view->ns);
	out->name = put_string(room, &view->name);
	out->uid = put_string(room, &view->uid);
	out->resource_version = put_string(room, &view->resource_version);
	out->controller_kind = put_string(room, &view->controller_kind);
	out->controller_name = put_string(room, &view->controller_name);
	out->controller_uid = put_string(room, &view->controller_uid);
	out->framework_name = put_string(room, &view->framework_name);
	if (out->name[0] == '\0') {
		error_set(err, "metadata.name is missing or not a string");
		object_meta_free(out);
		return -1;
	}
	if (!is_plain(out->name) || !is_plain(out->ns)) {
		error_set(err, "metadata: \"%s\" in namespace \"%s\" is not a valid name of an object", out->name,
			  out->ns);
		object_meta_free(out);
		return -1;
	}
	if (out->uid[0] == '\0') {
		error_set(err, "metadata.uid of %s is missing or not a string", out->name);
		object_meta_free(out);
		return -1;
	}
	return 0;
}

int object_meta_from_view(const struct object_view *view, struct object_meta *out, struct error *err)
{
	char *room;

	return meta_from_view(view, 0, out, &room, err);
}

void object_meta_free(struct object_meta *meta)
{
	free(meta->strings);
	*meta = (struct object_meta){0};
}

/* Everything but the resourceVersion. */
static bool meta_same(const struct object_meta *a, const struct object_meta *b)
{
	return strcmp(a->uid, b->uid) == 0 && strcmp(a->name, b->name) == 0 && strcmp(a->ns, b->ns) == 0 &&
	       strcmp(a->controller_kind, b->controller_kind) == 0 &&
	       strcmp(a->controller_name, b->controller_name) == 0 &&
	       strcmp(a->controller_uid, b->controller_uid) == 0 && strcmp(a->framework_name, b->framework_name) == 0 &&
	       a->generation == b->generation && a->creation_time == b->creation_time &&
	       a->deletion_time == b->deletion_time && a->deletion_grace_sec == b->deletion_grace_sec;
}

/* An annotation that holds a number >= 0; -1 stands for a missing one. */
static void write_number_annotation(struct buf *out, const char *name, int32_t value)
{
	if (value < 0)
		return;
	buf_json_key(out, name);
	buf_printf(out, "\"%d\"", value);
}

/* Leaves the metadata object open for annotations. */
static void write_meta(struct buf *out, const struct object_meta *meta)
{
	buf_json_open(out, "metadata", '{');
	buf_json_text_if_any(out, "namespace", meta->ns);
	buf_json_text_if_any(out, "name", meta->name);
	buf_json_text_if_any(out, "uid", meta->uid);
	buf_json_text_if_any(out, "resourceVersion", meta->resource_version);
	if (meta->generation != 0)
		buf_json_int(out, "generation", meta->generation);
	if (meta->creation_time != 0)
		buf_json_time(out, "creationTimestamp", meta->creation_time);
	if (meta->deletion_time != 0)
		buf_json_time(out, "deletionTimestamp", meta->deletion_time);
	if (meta->deletion_grace_sec != 0)
		buf_json_int(out, "deletionGracePeriodSeconds", meta->deletion_grace_sec);
	if (meta->controller_uid[0] != '\0') {
		buf_json_key(out, "ownerReferences");
		buf_puts(out, "[{\"controller\":true");
		buf_json_text_if_any(out, "kind", meta->controller_kind);
		buf_json_text_if_any(out, "name", meta->controller_name);
		buf_json_text_if_any(out, "uid", meta->controller_uid);
		buf_puts(out, "}]");
	}
	if (meta->framework_name[0] != '\0') {
		buf_json_open(out, "labels", '{');
		buf_json_text_if_any(out, FC_FRAMEWORK_NAME, meta->framework_name);
		buf_putc(out, '}');
	}
}

/* A decimal 0..2^31-1 and nothing else, or -1. */
static int32_t read_number(const struct json_span *span)
{
	char text[64];
	char *end;
	long value;

	if (span->at == NULL || span->len >= sizeof(text))
		return -1;
	json_span_decode(span, text);
	if (text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	value = strtol(text, &end, 10);
	if (errno != 0 || *end != '\0' || value > INT32_MAX)
		return -1;
	return (int32_t)value;
}

void owned_object_free(struct owned_object *object)
{
	if (object == NULL)
		return;
	object_meta_free(&object->meta);
	json_decref(object->spec);
	free(object);
}

struct config_map *config_map_from_view(const struct object_view *view, struct error *err)
{
	struct config_map *config_map = mem_calloc(1, sizeof(*config_map));
	char *room;

	if (meta_from_view(view, room_for(&view->framework_uid), &config_map->meta, &room, err) < 0) {
		free(config_map);
		return NULL;
	}
	config_map->framework_uid = put_string(&room, &view->framework_uid);
	config_map->attempt_id = read_number(&view->framework_attempt_id);
	return config_map;
}

void config_map_free(struct config_map *config_map)
{
	if (config_map == NULL)
		return;
	object_meta_free(&config_map->meta);
	free(config_map);
}

bool config_map_same(const struct config_map *a, const struct config_map *b)
{
	return meta_same(&a->meta, &b->meta) && strcmp(a->framework_uid, b->framework_uid) == 0 &&
	       a->attempt_id == b->attempt_id;
}

void config_map_write(struct buf *out, const struct config_map *config_map)
{
	buf_putc(out, '{');
	write_meta(out, &config_map->meta);
	buf_json_open(out, "annotations", '{');
	buf_json_text_if_any(out, FC_FRAMEWORK_UID, config_map->framework_uid);
	write_number_annotation(out, FC_FRAMEWORK_ATTEMPT_ID, config_map->attempt_id);
	buf_puts(out, "}}}");
}

static const char *const phase_names[] = {
	[POD_PENDING] = "Pending", [POD_RUNNING] = "Running", [POD_SUCCEEDED] = "Succeeded",
	[POD_FAILED] = "Failed",   [POD_UNKNOWN] = "Unknown", [POD_UNRECOGNIZED] = "Unrecognized",
};

enum pod_phase pod_phase_parse(const char *text)
{
	if (text == NULL)
		return POD_UNKNOWN; /* metadata only: the answer to an own create or delete */
	for (size_t i = 0; i < POD_UNRECOGNIZED; i++)
		if (strcmp(text, phase_names[i]) == 0)
			return (enum pod_phase)i;
	return POD_UNRECOGNIZED;
}

static int32_t clamp_int32(int64_t value)
{
	if (value > INT32_MAX)
		return INT32_MAX;
	return value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

static size_t pod_room(const struct object_view *view)
{
	size_t room = room_for(&view->task_uid) + room_for(&view->framework_attempt_instance_uid) +
		      room_for(&view->node_name) + room_for(&view->pod_ip) + room_for(&view->host_ip) +
		      room_for(&view->reason) + room_for(&view->message) + room_for(&view->wait.container) +
		      room_for(&view->wait.reason) + room_for(&view->wait.message);

	for (size_t i = 0; i < view->container_count; i++)
		room += room_for(&view->containers[i].name) + room_for(&view->containers[i].reason) +
			room_for(&view->containers[i].message);
	return room;
}

static void put_containers(struct pod *pod, char **room, const struct object_view *view)
{
	if (view->container_count == 0)
		return;
	pod->container_count = view->container_count;
	pod->containers = mem_calloc(pod->container_count, sizeof(*pod->containers));
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct container_view *from = &view->containers[i];

		pod->containers[i] = (struct container_state){
			.name = put_string(room, &from->name),
			.terminated = from->terminated,
			.exit_code = clamp_int32(from->exit_code),
			.signal = clamp_int32(from->signal),
			.reason = put_string(room, &from->reason),
			.message = put_string(room, &from->message),
			.finished_at = from->finished_at,
			.sidecar = from->sidecar,
		};
	}
}

static void put_wait(struct pod *pod, char **room, const struct wait_view *wait)
{
	if (!wait->found)
		return;
	pod->wait = mem_alloc(sizeof(*pod->wait));
	*pod->wait = (struct pod_wait){
		.kind = wait->kind,
		.container = put_string(room, &wait->container),
		.reason = put_string(room, &wait->reason),
		.message = put_string(room, &wait->message),
		.since = wait->since,
	};
}

struct pod *pod_from_view(const struct object_view *view, struct error *err)
{
	struct pod *pod = mem_calloc(1, sizeof(*pod));
	char *room;

	if (meta_from_view(view, pod_room(view), &pod->meta, &room, err) < 0) {
		free(pod);
		return NULL;
	}
	pod->task_uid = put_string(&room, &view->task_uid);
	pod->framework_attempt_instance_uid = put_string(&room, &view->framework_attempt_instance_uid);
	pod->task_attempt_id = read_number(&view->task_attempt_id);
	pod->phase = view->phase;
	pod->ready_wanted = view->ready_wanted.at != NULL;
	pod->ready = pod->ready_wanted && view->phase == POD_RUNNING && view->ready;
	pod->node_name = put_string(&room, &view->node_name);
	pod->pod_ip = put_string(&room, &view->pod_ip);
	pod->host_ip = put_string(&room, &view->host_ip);
	pod->reason = put_string(&room, &view->reason);
	pod->message = put_string(&room, &view->message);
	put_containers(pod, &room, view);
	put_wait(pod, &room, &view->wait);
	return pod;
}

void pod_free(struct pod *pod)
{
	if (pod == NULL)
		return;
	object_meta_free(&pod->meta);
	free(pod->containers);
	free(pod->wait);
	free(pod);
}

static void write_container(struct buf *out, const struct container_state *container)
{
	buf_json_next(out);
	buf_putc(out, '{');
	buf_json_text_if_any(out, "name", container->name);
	if (container->sidecar) {
		/* the reconciler gets no specs of containers */
		buf_json_key(out, "sidecar");
		buf_puts(out, "true");
	}
	if (container->terminated) {
		buf_json_key(out, "state");
		buf_puts(out, "{\"terminated\":{");
		buf_json_int(out, "exitCode", container->exit_code);
		if (container->signal != 0)
			buf_json_int(out, "signal", container->signal);
		buf_json_text_if_any(out, "reason", container->reason);
		buf_json_text_if_any(out, "message", container->message);
		if (container->finished_at != 0)
			buf_json_time(out, "finishedAt", container->finished_at);
		buf_puts(out, "}}");
	}
	buf_putc(out, '}');
}

static void write_wait(struct buf *out, const struct pod_wait *wait)
{
	if (wait->kind == POD_WAIT_UNSCHEDULABLE || wait->kind == POD_WAIT_GATED) {
		buf_json_open(out, "conditions", '[');
		buf_puts(out, "{\"type\":\"PodScheduled\",\"status\":\"False\"");
		buf_json_text(out, "reason", wait->reason);
		buf_json_text_if_any(out, "message", wait->message);
		if (wait->since != 0)
			buf_json_time(out, "lastTransitionTime", wait->since);
		buf_puts(out, "}]");
		return;
	}
	/* as an init container's: of those all the reasons count */
	buf_json_open(out, "initContainerStatuses", '[');
	buf_putc(out, '{');
	buf_json_text_if_any(out, "name", wait->container);
	buf_json_key(out, "state");
	buf_puts(out, "{\"waiting\":{");
	buf_json_text(out, "reason", wait->reason);
	buf_json_text_if_any(out, "message", wait->message);
	buf_puts(out, "}}}]");
}

void pod_write(struct buf *out, const struct pod *pod)
{
	buf_putc(out, '{');
	write_meta(out, &pod->meta);
	buf_json_open(out, "annotations", '{');
	buf_json_text_if_any(out, FC_TASK_UID, pod->task_uid);
	buf_json_text_if_any(out, FC_FRAMEWORK_ATTEMPT_INSTANCE_UID, pod->framework_attempt_instance_uid);
	write_number_annotation(out, FC_TASK_ATTEMPT_ID, pod->task_attempt_id);
	if (pod->ready_wanted)
		buf_json_text(out, FC_READY_WANTED, "true");
	buf_puts(out, "}}");
	buf_json_open(out, "spec", '{');
	buf_json_text_if_any(out, "nodeName", pod->node_name);
	buf_putc(out, '}');
	buf_json_open(out, "status", '{');
	buf_json_text_if_any(out, "phase", phase_names[pod->phase]);
	buf_json_text_if_any(out, "podIP", pod->pod_ip);
	buf_json_text_if_any(out, "hostIP", pod->host_ip);
	buf_json_text_if_any(out, "reason", pod->reason);
	buf_json_text_if_any(out, "message", pod->message);
	if (pod->container_count > 0) {
		/* in one list: which of them are init containers only matters for the order, which is kept */
		buf_json_open(out, "containerStatuses", '[');
		for (size_t i = 0; i < pod->container_count; i++)
			write_container(out, &pod->containers[i]);
		buf_putc(out, ']');
	}
	if (pod->wait != NULL)
		write_wait(out, pod->wait);
	if (pod->ready) {
		buf_json_open(out, "conditions", '[');
		buf_puts(out, "{\"type\":\"Ready\",\"status\":\"True\"}]");
	}
	buf_puts(out, "}}");
}

static bool wait_same(const struct pod_wait *a, const struct pod_wait *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return a->kind == b->kind && a->since == b->since && strcmp(a->container, b->container) == 0 &&
	       strcmp(a->reason, b->reason) == 0 && strcmp(a->message, b->message) == 0;
}

static bool container_same(const struct container_state *a, const struct container_state *b)
{
	return strcmp(a->name, b->name) == 0 && a->terminated == b->terminated && a->exit_code == b->exit_code &&
	       a->signal == b->signal && strcmp(a->reason, b->reason) == 0 && strcmp(a->message, b->message) == 0 &&
	       a->finished_at == b->finished_at && a->sidecar == b->sidecar;
}

bool pod_same(const struct pod *a, const struct pod *b)
{
	if (!meta_same(&a->meta, &b->meta) || strcmp(a->task_uid, b->task_uid) != 0 ||
	    strcmp(a->framework_attempt_instance_uid, b->framework_attempt_instance_uid) != 0 ||
	    a->task_attempt_id != b->task_attempt_id || a->phase != b->phase || a->ready_wanted != b->ready_wanted ||
	    a->ready != b->ready || strcmp(a->node_name, b->node_name) != 0 || strcmp(a->pod_ip, b->pod_ip) != 0 ||
	    strcmp(a->host_ip, b->host_ip) != 0 || strcmp(a->reason, b->reason) != 0 ||
	    strcmp(a->message, b->message) != 0 || a->container_count != b->container_count ||
	    !wait_same(a->wait, b->wait))
		return false;
	for (size_t i = 0; i < a->container_count; i++)
		if (!container_same(&a->containers[i], &b->containers[i]))
			return false;
	return true;
}
