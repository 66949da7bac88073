/* The places of the kept values in an object's text. object_read.c fills it in, and object.c makes the object of it.
 * Only those include it. */
#ifndef FRAMEWORK_OBJECT_VIEW_H
#define FRAMEWORK_OBJECT_VIEW_H

#include "common/base/json_reader.h"
#include "common/framework/object.h"

struct container_view {
	struct json_span name;
	bool terminated;
	int64_t exit_code;
	int64_t signal;
	struct json_span reason;
	struct json_span message;
	int64_t finished_at;
	bool sidecar; /* by the spec, or said on the bus */
};

/* The reason why a Pod waits; only Pending Pods have one. */
struct wait_view {
	bool found;
	enum pod_wait_kind kind;
	struct json_span container;
	struct json_span reason;
	struct json_span message;
	int64_t since;
};

/* `at` is NULL in spans of missing values. */
struct object_view {
	struct json_span ns;
	struct json_span name;
	struct json_span uid;
	struct json_span resource_version;
	struct json_span controller_kind; /* of the first ownerReference with controller: true */
	struct json_span controller_name;
	struct json_span controller_uid;
	struct json_span framework_name;
	int64_t generation;
	int64_t creation_time;
	int64_t deletion_time;
	int64_t deletion_grace_sec;

	/* annotations */
	struct json_span framework_uid;
	struct json_span framework_attempt_id;
	struct json_span framework_attempt_instance_uid;
	struct json_span task_uid;
	struct json_span task_attempt_id;
	struct json_span ready_wanted;

	/* Pods */
	enum pod_phase phase;
	bool ready;
	struct json_span node_name;
	struct json_span init_containers; /* of the spec, passed over */
	struct json_span pod_ip;
	struct json_span host_ip;
	struct json_span reason; /* these of final ones only */
	struct json_span message;
	struct container_view *containers; /* owned; init containers first */
	size_t container_count;
	struct wait_view wait;
};

/* status.phase; text NULL: there is none. */
enum pod_phase pod_phase_parse(const char *text);
/* Adds the containers of a list of statuses, which was passed over before the phase was known. */
void object_read_containers(const struct json_span *statuses, struct object_view *view);
/* After the spec and the status were read, in whichever order. */
void object_mark_sidecars(struct object_view *view);

/* The kept forms. NULL or -1 and *err when name or uid is missing. */
int object_meta_from_view(const struct object_view *view, struct object_meta *out, struct error *err);
struct config_map *config_map_from_view(const struct object_view *view, struct error *err);
struct pod *pod_from_view(const struct object_view *view, struct error *err);

#endif
