/* Observed objects: from the API server's JSON to the kept parts, and from those to JSON for the bus; see object.h. */
#include "common/framework/object.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"

/* FRAMEWORK.md §4. */
#define KEY_FRAMEWORK_NAME "FC_FRAMEWORK_NAME"
#define KEY_FRAMEWORK_UID "FC_FRAMEWORK_UID"
#define KEY_FRAMEWORK_ATTEMPT_ID "FC_FRAMEWORK_ATTEMPT_ID"
#define KEY_FRAMEWORK_ATTEMPT_INSTANCE_UID "FC_FRAMEWORK_ATTEMPT_INSTANCE_UID"
#define KEY_TASK_UID "FC_TASK_UID"
#define KEY_TASK_ATTEMPT_ID "FC_TASK_ATTEMPT_ID"

const char *object_kind_name(enum object_kind kind)
{
	switch (kind) {
	case KIND_FRAMEWORK: return "Framework";
	case KIND_CONFIG_MAP: return "ConfigMap";
	case KIND_POD: return "Pod";
	case KIND_COUNT: break;
	}
	return "unknown kind";
}

static char *copy_string(const json_t *object, const char *name)
{
	const char *text = json_str(object, name);

	return mem_strdup(text == NULL ? "" : text);
}

static void parse_controller(const json_t *references, struct object_meta *out)
{
	const json_t *controller = NULL;
	size_t i;
	json_t *reference;

	json_array_foreach((json_t *)references, i, reference) {
		if (json_bool(reference, "controller", false)) {
			controller = reference;
			break;
		}
	}
	out->controller_kind = copy_string(controller, "kind");
	out->controller_name = copy_string(controller, "name");
	out->controller_uid = copy_string(controller, "uid");
}

int object_meta_parse(const json_t *object, struct object_meta *out, struct error *err)
{
	const json_t *meta = json_object_get(object, "metadata");
	const char *name = json_str(meta, "name");
	const char *uid = json_str(meta, "uid");

	if (name == NULL || name[0] == '\0')
		return error_set(err, "metadata.name is missing or no string");
	if (uid == NULL || uid[0] == '\0')
		return error_set(err, "metadata.uid of %s is missing or no string", name);
	*out = (struct object_meta){0};
	out->name = mem_strdup(name);
	out->uid = mem_strdup(uid);
	out->ns = copy_string(meta, "namespace");
	out->resource_version = copy_string(meta, "resourceVersion");
	parse_controller(json_object_get(meta, "ownerReferences"), out);
	out->framework_name = copy_string(json_object_get(meta, "labels"), KEY_FRAMEWORK_NAME);
	out->generation = json_int(meta, "generation", 0);
	out->creation_time = json_time(meta, "creationTimestamp");
	out->deletion_time = json_time(meta, "deletionTimestamp");
	out->deletion_grace_sec = json_int(meta, "deletionGracePeriodSeconds", 0);
	return 0;
}

void object_meta_free(struct object_meta *meta)
{
	free(meta->ns);
	free(meta->name);
	free(meta->uid);
	free(meta->resource_version);
	free(meta->controller_kind);
	free(meta->controller_name);
	free(meta->controller_uid);
	free(meta->framework_name);
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

/* "name":"text", left out when text is "". */
static void write_string(struct buf *out, const char *name, const char *text)
{
	if (text[0] == '\0')
		return;
	buf_json_key(out, name);
	buf_json_string(out, text);
}

static void write_int(struct buf *out, const char *name, int64_t value)
{
	buf_json_key(out, name);
	buf_put_int(out, value);
}

static void write_time(struct buf *out, const char *name, int64_t unix_sec)
{
	char text[TIME_RFC3339_SIZE];

	if (unix_sec == 0)
		return;
	buf_json_key(out, name);
	buf_json_string(out, time_format_rfc3339(unix_sec, text));
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
	buf_json_key(out, "metadata");
	buf_putc(out, '{');
	write_string(out, "namespace", meta->ns);
	write_string(out, "name", meta->name);
	write_string(out, "uid", meta->uid);
	write_string(out, "resourceVersion", meta->resource_version);
	if (meta->generation != 0)
		write_int(out, "generation", meta->generation);
	write_time(out, "creationTimestamp", meta->creation_time);
	write_time(out, "deletionTimestamp", meta->deletion_time);
	if (meta->deletion_grace_sec != 0)
		write_int(out, "deletionGracePeriodSeconds", meta->deletion_grace_sec);
	if (meta->controller_uid[0] != '\0') {
		buf_json_key(out, "ownerReferences");
		buf_puts(out, "[{\"controller\":true");
		write_string(out, "kind", meta->controller_kind);
		write_string(out, "name", meta->controller_name);
		write_string(out, "uid", meta->controller_uid);
		buf_puts(out, "}]");
	}
	if (meta->framework_name[0] != '\0') {
		buf_json_key(out, "labels");
		buf_putc(out, '{');
		write_string(out, KEY_FRAMEWORK_NAME, meta->framework_name);
		buf_putc(out, '}');
	}
}

static const json_t *annotations_of(const json_t *object)
{
	return json_object_get(json_object_get(object, "metadata"), "annotations");
}

/* A decimal 0..2^31-1 and nothing else, or -1. */
static int32_t number_annotation(const json_t *annotations, const char *name)
{
	const char *text = json_str(annotations, name);
	char *end;
	long value;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	value = strtol(text, &end, 10);
	if (errno != 0 || *end != '\0' || value > INT32_MAX)
		return -1;
	return (int32_t)value;
}

struct config_map *config_map_parse(const json_t *object, struct error *err)
{
	const json_t *annotations = annotations_of(object);
	struct config_map *config_map = mem_calloc(1, sizeof(*config_map));

	if (object_meta_parse(object, &config_map->meta, err) < 0) {
		free(config_map);
		return NULL;
	}
	config_map->framework_uid = copy_string(annotations, KEY_FRAMEWORK_UID);
	config_map->attempt_id = number_annotation(annotations, KEY_FRAMEWORK_ATTEMPT_ID);
	return config_map;
}

void config_map_free(struct config_map *config_map)
{
	if (config_map == NULL)
		return;
	object_meta_free(&config_map->meta);
	free(config_map->framework_uid);
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
	buf_json_key(out, "annotations");
	buf_putc(out, '{');
	write_string(out, KEY_FRAMEWORK_UID, config_map->framework_uid);
	write_number_annotation(out, KEY_FRAMEWORK_ATTEMPT_ID, config_map->attempt_id);
	buf_puts(out, "}}}");
}

static const char *const phase_names[] = {
	[POD_PENDING] = "Pending", [POD_RUNNING] = "Running", [POD_SUCCEEDED] = "Succeeded",
	[POD_FAILED] = "Failed",   [POD_UNKNOWN] = "Unknown", [POD_UNRECOGNIZED] = "Unrecognized",
};

const char *pod_phase_name(enum pod_phase phase)
{
	return phase_names[phase];
}

static enum pod_phase parse_phase(const char *text)
{
	if (text == NULL)
		return POD_UNKNOWN; /* metadata only: the answer to an own create or delete */
	for (size_t i = 0; i < POD_UNRECOGNIZED; i++)
		if (strcmp(text, phase_names[i]) == 0)
			return (enum pod_phase)i;
	return POD_UNRECOGNIZED;
}

static bool phase_is_final(enum pod_phase phase)
{
	return phase == POD_SUCCEEDED || phase == POD_FAILED;
}

static int32_t clamp_int32(int64_t value)
{
	if (value > INT32_MAX)
		return INT32_MAX;
	return value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

static void parse_containers(const json_t *statuses, struct pod *pod)
{
	size_t count = json_array_size(statuses);
	size_t i;
	json_t *status;

	if (count == 0)
		return;
	pod->containers = mem_realloc(pod->containers, pod->container_count + count, sizeof(*pod->containers));
	json_array_foreach((json_t *)statuses, i, status) {
		const json_t *terminated = json_path(status, "state", "terminated", NULL);
		struct container_state *container = &pod->containers[pod->container_count++];

		*container = (struct container_state){
			.name = copy_string(status, "name"),
			.terminated = json_is_object(terminated),
			.exit_code = clamp_int32(json_int(terminated, "exitCode", 0)),
			.signal = clamp_int32(json_int(terminated, "signal", 0)),
			.reason = copy_string(terminated, "reason"),
			.message = copy_string(terminated, "message"),
			.finished_at = json_time(terminated, "finishedAt"),
		};
	}
}

struct pod *pod_parse(const json_t *object, struct error *err)
{
	const json_t *annotations = annotations_of(object);
	const json_t *status = json_object_get(object, "status");
	struct pod *pod = mem_calloc(1, sizeof(*pod));
	bool final;

	if (object_meta_parse(object, &pod->meta, err) < 0) {
		free(pod);
		return NULL;
	}
	pod->task_uid = copy_string(annotations, KEY_TASK_UID);
	pod->framework_attempt_instance_uid = copy_string(annotations, KEY_FRAMEWORK_ATTEMPT_INSTANCE_UID);
	pod->task_attempt_id = number_annotation(annotations, KEY_TASK_ATTEMPT_ID);
	pod->phase = parse_phase(json_str(status, "phase"));
	final = phase_is_final(pod->phase);
	pod->node_name = copy_string(json_object_get(object, "spec"), "nodeName");
	pod->pod_ip = copy_string(status, "podIP");
	pod->host_ip = copy_string(status, "hostIP");
	pod->reason = copy_string(final ? status : NULL, "reason");
	pod->message = copy_string(final ? status : NULL, "message");
	if (final) {
		parse_containers(json_object_get(status, "initContainerStatuses"), pod);
		parse_containers(json_object_get(status, "containerStatuses"), pod);
	}
	return pod;
}

void pod_free(struct pod *pod)
{
	if (pod == NULL)
		return;
	object_meta_free(&pod->meta);
	free(pod->task_uid);
	free(pod->framework_attempt_instance_uid);
	free(pod->node_name);
	free(pod->pod_ip);
	free(pod->host_ip);
	free(pod->reason);
	free(pod->message);
	for (size_t i = 0; i < pod->container_count; i++) {
		free(pod->containers[i].name);
		free(pod->containers[i].reason);
		free(pod->containers[i].message);
	}
	free(pod->containers);
	free(pod);
}

static void write_container(struct buf *out, const struct container_state *container)
{
	buf_json_next(out);
	buf_putc(out, '{');
	write_string(out, "name", container->name);
	if (container->terminated) {
		buf_json_key(out, "state");
		buf_puts(out, "{\"terminated\":{");
		write_int(out, "exitCode", container->exit_code);
		if (container->signal != 0)
			write_int(out, "signal", container->signal);
		write_string(out, "reason", container->reason);
		write_string(out, "message", container->message);
		write_time(out, "finishedAt", container->finished_at);
		buf_puts(out, "}}");
	}
	buf_putc(out, '}');
}

void pod_write(struct buf *out, const struct pod *pod)
{
	buf_putc(out, '{');
	write_meta(out, &pod->meta);
	buf_json_key(out, "annotations");
	buf_putc(out, '{');
	write_string(out, KEY_TASK_UID, pod->task_uid);
	write_string(out, KEY_FRAMEWORK_ATTEMPT_INSTANCE_UID, pod->framework_attempt_instance_uid);
	write_number_annotation(out, KEY_TASK_ATTEMPT_ID, pod->task_attempt_id);
	buf_puts(out, "}}");
	buf_json_key(out, "spec");
	buf_putc(out, '{');
	write_string(out, "nodeName", pod->node_name);
	buf_putc(out, '}');
	buf_json_key(out, "status");
	buf_putc(out, '{');
	write_string(out, "phase", pod_phase_name(pod->phase));
	write_string(out, "podIP", pod->pod_ip);
	write_string(out, "hostIP", pod->host_ip);
	write_string(out, "reason", pod->reason);
	write_string(out, "message", pod->message);
	if (pod->container_count > 0) {
		/* in one list: which of them are init containers only matters for the order, which is kept */
		buf_json_key(out, "containerStatuses");
		buf_putc(out, '[');
		for (size_t i = 0; i < pod->container_count; i++)
			write_container(out, &pod->containers[i]);
		buf_putc(out, ']');
	}
	buf_puts(out, "}}");
}

static bool container_same(const struct container_state *a, const struct container_state *b)
{
	return strcmp(a->name, b->name) == 0 && a->terminated == b->terminated && a->exit_code == b->exit_code &&
	       a->signal == b->signal && strcmp(a->reason, b->reason) == 0 && strcmp(a->message, b->message) == 0 &&
	       a->finished_at == b->finished_at;
}

bool pod_same(const struct pod *a, const struct pod *b)
{
	if (!meta_same(&a->meta, &b->meta) || strcmp(a->task_uid, b->task_uid) != 0 ||
	    strcmp(a->framework_attempt_instance_uid, b->framework_attempt_instance_uid) != 0 ||
	    a->task_attempt_id != b->task_attempt_id || a->phase != b->phase ||
	    strcmp(a->node_name, b->node_name) != 0 || strcmp(a->pod_ip, b->pod_ip) != 0 ||
	    strcmp(a->host_ip, b->host_ip) != 0 || strcmp(a->reason, b->reason) != 0 ||
	    strcmp(a->message, b->message) != 0 || a->container_count != b->container_count)
		return false;
	for (size_t i = 0; i < a->container_count; i++)
		if (!container_same(&a->containers[i], &b->containers[i]))
			return false;
	return true;
}

const char *object_framework_name(const json_t *object)
{
	return json_str(json_object_get(json_object_get(object, "metadata"), "labels"), KEY_FRAMEWORK_NAME);
}
