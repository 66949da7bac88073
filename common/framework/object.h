/* What is kept of observed objects: identity and the few facts decisions need (DESIGN.md §4).
 * The JSON forms here are ordinary Kubernetes objects with everything else left out, so one decoder reads what the
 * API server sends and what the bus carries. */
#ifndef FRAMEWORK_OBJECT_H
#define FRAMEWORK_OBJECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"

/* Which kinds travel from the watcher to its peers. */
enum object_kind { KIND_FRAMEWORK, KIND_CONFIG_MAP, KIND_POD, KIND_COUNT };

const char *object_kind_name(enum object_kind kind); /* "Framework", "ConfigMap", "Pod" */

/* Identity of any object. Strings are owned; "" rather than NULL where a value is missing. Times are unix seconds, 0
 * when absent. */
struct object_meta {
	char *ns;
	char *name;
	char *uid;
	char *resource_version;
	char *controller_kind; /* of the ownerReference with controller: true */
	char *controller_name;
	char *controller_uid;
	char *framework_name; /* label FC_FRAMEWORK_NAME */
	int64_t generation;
	int64_t creation_time;
	int64_t deletion_time;
	int64_t deletion_grace_sec;
};

/* 0, or -1 and *err when name or uid is missing or of the wrong type. */
int object_meta_parse(const json_t *object, struct object_meta *out, struct error *err);
void object_meta_free(struct object_meta *meta);

/* The ConfigMap that represents a FrameworkAttempt. */
struct config_map {
	struct object_meta meta;
	char *framework_uid; /* annotation FC_FRAMEWORK_UID, "" when missing */
	int32_t attempt_id;  /* annotation FC_FRAMEWORK_ATTEMPT_ID, -1 when missing or no number */
};

/* NULL and *err when it has no identity. Free with config_map_free (NULL is fine). */
struct config_map *config_map_parse(const json_t *object, struct error *err);
void config_map_free(struct config_map *config_map);
/* Appends the kept parts as JSON. */
void config_map_write(struct buf *out, const struct config_map *config_map);
/* As pod_same(). */
bool config_map_same(const struct config_map *a, const struct config_map *b);

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN, POD_UNRECOGNIZED };

const char *pod_phase_name(enum pod_phase phase);

struct container_state {
	char *name;
	bool terminated;
	int32_t exit_code;
	int32_t signal;
	char *reason;
	char *message;
	int64_t finished_at; /* unix seconds, 0 when absent */
};

struct pod {
	struct object_meta meta;
	char *task_uid;                       /* annotation FC_TASK_UID, "" when missing */
	char *framework_attempt_instance_uid; /* annotation FC_FRAMEWORK_ATTEMPT_INSTANCE_UID, "" */
	int32_t task_attempt_id;              /* annotation FC_TASK_ATTEMPT_ID, -1 */
	enum pod_phase phase;
	char *node_name; /* "" when not set */
	char *pod_ip;
	char *host_ip;
	char *reason; /* status.reason, status.message: "" when absent; kept of Failed and Succeeded Pods only */
	char *message;
	/* Init containers first; filled only when the Pod is Succeeded or Failed. */
	struct container_state *containers;
	size_t container_count;
};

struct pod *pod_parse(const json_t *object, struct error *err);
void pod_free(struct pod *pod);
void pod_write(struct buf *out, const struct pod *pod);
/* Whether the parts that reconcilers act on are the same (everything kept but the resourceVersion): an update that
 * changes nothing kept need not travel. */
bool pod_same(const struct pod *a, const struct pod *b);

/* The Framework's name that a ConfigMap or Pod belongs to: its label FC_FRAMEWORK_NAME; NULL when it has none.
 * Borrowed from object. */
const char *object_framework_name(const json_t *object);

#endif
