/* The kept parts of observed objects: identity and the fields that decisions need (ARCHITECTURE.md §3.2). Their JSON is
 * an ordinary Kubernetes object with only these fields, so one decoder reads the objects of the API server and of the
 * bus. */
#ifndef FRAMEWORK_OBJECT_H
#define FRAMEWORK_OBJECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/base/json_reader.h"

/* The kinds that the watcher sends to its peers; Workloads only if the configuration asks for Kueue. */
enum object_kind { KIND_FRAMEWORK, KIND_CONFIG_MAP, KIND_POD, KIND_WORKLOAD, KIND_COUNT };

const char *object_kind_name(enum object_kind kind); /* "Framework", "ConfigMap", "Pod", "Workload" */

/* Identity of any object. Strings are the object's, which keeps all of them in one piece of memory; "" rather than NULL
 * where a value is missing. Times are unix seconds, 0 when absent. */
struct object_meta {
	const char *ns;
	const char *name;
	const char *uid;
	const char *resource_version;
	const char *controller_kind; /* of the ownerReference with controller: true */
	const char *controller_name;
	const char *controller_uid;
	const char *framework_name; /* label FC_FRAMEWORK_NAME */
	int64_t generation;
	int64_t creation_time;
	int64_t deletion_time;
	int64_t deletion_grace_sec;
	char *strings; /* the memory of the object's strings */
};

/* Read an object from JSON text. The text is checked, except for large values that are not read. 0 or the object; -1 or
 * NULL and *err if it is not JSON, or if name or uid is missing or has the wrong type. */
int object_meta_read(const char *text, size_t len, struct object_meta *out, struct error *err);
/* The same, but reads no further than the object's metadata. */
int object_head_read(const char *text, size_t len, struct object_meta *out, struct error *err);
void object_meta_free(struct object_meta *meta);

/* Which object, and which version of it. */
struct object_identity {
	char *key; /* "namespace/name" */
	char *resource_version;
	char *uid; /* "" when missing */
	int64_t generation;
	int64_t deletion_time;
};

/* Reads no further than the object's metadata. False, and nothing to free, if namespace, name or resourceVersion was
 * not found. */
bool object_identity_read(const char *text, size_t len, struct object_identity *out);
void object_identity_free(struct object_identity *identity);

/* The places of an object's parts in its text; at is NULL if a part is missing. */
struct object_parts {
	struct object_meta meta;
	struct json_span metadata;
	struct json_span spec;
	struct json_span status;
};

/* As object_meta_read(); the spans are borrowed from the text. Free meta. */
int object_parts_read(const char *text, size_t len, struct object_parts *out, struct error *err);

/* An object of which the identity matters, and of some kinds what it says. */
struct owned_object {
	struct object_meta meta;
	json_t *spec; /* NULL: it was not to be read, or is none */
};

/* whole: its spec, too. Free with owned_object_free (NULL is fine). */
struct owned_object *owned_object_read(const char *text, size_t len, bool whole, struct error *err);
void owned_object_free(struct owned_object *object);

/* The ConfigMap that represents a FrameworkAttempt. */
struct config_map {
	struct object_meta meta;
	const char *framework_uid; /* annotation FC_FRAMEWORK_UID, "" when missing */
	int32_t attempt_id;        /* annotation FC_FRAMEWORK_ATTEMPT_ID, -1 when missing or no number */
};

/* Free with config_map_free (NULL is fine). */
struct config_map *config_map_read(const char *text, size_t len, struct error *err);
void config_map_free(struct config_map *config_map);
/* Appends the kept parts as JSON. */
void config_map_write(struct buf *out, const struct config_map *config_map);
/* As pod_same(). */
bool config_map_same(const struct config_map *a, const struct config_map *b);

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN, POD_UNRECOGNIZED };

struct container_state {
	const char *name;
	bool terminated;
	int32_t exit_code;
	int32_t signal;
	const char *reason;
	const char *message;
	int64_t finished_at; /* unix seconds, 0 when absent */
	bool sidecar;        /* an init container with restartPolicy Always (CONTRACT.md §8.2) */
};

enum pod_wait_kind {
	POD_WAIT_START,         /* the kubelet fails to start a container, and tries again */
	POD_WAIT_NEVER,         /* it fails for a reason that does not pass by itself */
	POD_WAIT_UNSCHEDULABLE, /* the scheduler finds no node */
	POD_WAIT_GATED,         /* the scheduler does not look for one before the scheduling gates are removed */
};

/* Why a Pending Pod does not come to run (CONTRACT.md §6). */
struct pod_wait {
	enum pod_wait_kind kind;
	const char *container; /* "" when unschedulable or gated */
	const char *reason;
	const char *message;
	int64_t since; /* unix seconds of the condition PodScheduled; 0 for containers, whose status has no time */
};

struct pod {
	struct object_meta meta;
	const char *task_uid;                       /* annotation FC_TASK_UID, "" when missing */
	const char *framework_attempt_instance_uid; /* annotation FC_FRAMEWORK_ATTEMPT_INSTANCE_UID, "" */
	int32_t task_attempt_id;                    /* annotation FC_TASK_ATTEMPT_ID, -1 */
	enum pod_phase phase;
	bool ready_wanted;     /* annotation FC_READY_WANTED: others wait for it to be ready (CONTRACT.md §6) */
	bool ready;            /* condition Ready of a Running Pod, if it is wanted */
	const char *node_name; /* "" when not set */
	const char *pod_ip;
	const char *host_ip;
	/* status.reason, status.message; those of a Failed Pod's condition DisruptionTarget when it has no reason
	 * (CONTRACT.md §8.2). "" when absent; kept of Failed and Succeeded Pods only. */
	const char *reason;
	const char *message;
	/* Init containers first; filled only when the Pod is Succeeded or Failed. */
	struct container_state *containers;
	size_t container_count;
	struct pod_wait *wait; /* NULL: the Pod is not Pending, or nothing that is known keeps it from running */
};

struct pod *pod_read(const char *text, size_t len, struct error *err);
void pod_free(struct pod *pod);
void pod_write(struct buf *out, const struct pod *pod);
/* Whether all kept parts except the resourceVersion are the same: such an update need not be sent. */
bool pod_same(const struct pod *a, const struct pod *b);

#endif
