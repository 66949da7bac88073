/* The status of a Framework (CONTRACT.md §3): types, and JSON both ways.
 * Strings are owned; NULL stands for null. Times are unix seconds, 0 stands for null. */
#ifndef FRAMEWORK_STATUS_H
#define FRAMEWORK_STATUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/framework/names.h"
#include "common/framework/spec.h"

/* Completion type attributes that decisions need (CONTRACT.md §7). */
enum completion_trait { TRAIT_TRANSIENT = 1, TRAIT_CONFLICT = 2, TRAIT_PERMANENT = 4 };

struct completion_trigger {
	char *message;
	char *task_role_name;
	int64_t task_index;
};

/* completionStatus of a FrameworkAttempt or TaskAttempt. */
struct completion {
	int32_t code;
	bool succeeded;  /* type.name is Succeeded, otherwise Failed */
	unsigned traits; /* of enum completion_trait, from attributes */
	char *phrase;
	json_t *attributes; /* type.attributes: an array, or JSON null */
	char *diagnostics;
	char *pod;                          /* JSON text of the pod details; NULL: left out */
	struct completion_trigger *trigger; /* NULL: left out */
};

/* attributes: a reference is taken. The caller frees with completion_free. */
struct completion *completion_new(int32_t code, bool succeeded, const char *phrase, json_t *attributes,
				  const char *diagnostics);
/* One of the predefined codes of CONTRACT.md §7. */
struct completion *completion_predefined(int32_t code, const char *diagnostics);
void completion_free(struct completion *completion);

/* The delay of a retry that is not decided: null. */
#define DELAY_NULL (-1)

struct retry_status {
	int32_t total;
	int32_t accountable;
	int64_t delay_sec;     /* or DELAY_NULL */
	int32_t backoff_count; /* retries in the present row of retryPolicy.backoff; 0 is left out of the JSON */
};

struct task_attempt_status {
	int32_t id;
	int64_t start_time;
	int64_t run_time;
	int64_t completion_time;
	int64_t waiting_time; /* since when the Pod failed to start, if it did; 0 is left out of the JSON */
	char *instance_uid;
	char *pod_uid;
	char *pod_node_name;
	char *pod_ip;
	char *pod_host_ip;
	struct completion *completion;
};

struct task_status {
	char *instance_uid;
	int64_t start_time;
	int64_t run_time;
	int64_t completion_time;
	int64_t ready_time; /* when a Pod was first seen to be ready, if others wait for that; 0 is left out of the JSON
			     */
	int64_t transition_time;
	enum attempt_state state;
	bool deletion_pending;
	struct retry_status retry;
	struct task_attempt_status attempt;
};

struct role_status {
	char *name;
	char *instance_uid;
	int64_t pod_graceful_deletion_timeout_sec; /* or SECONDS_NULL (spec.h) */
	struct task_status *tasks;                 /* position = index */
	size_t task_count;
	size_t task_cap;
};

struct framework_attempt_status {
	int32_t id;
	int64_t start_time;
	int64_t run_time;
	int64_t completion_time;
	char *instance_uid;
	char *config_map_uid;
	enum gang_scheduler gang; /* of spec.gang when it began; GANG_NONE is left out of the JSON */
	struct completion *completion;
	struct role_status *roles;
	size_t role_count;
};

enum condition_type {
	CONDITION_RUNNING,
	CONDITION_COMPLETED,
	CONDITION_SUCCEEDED,
	CONDITION_SUSPENDED,
	CONDITION_COUNT
};
/* "Running", … */
const char *condition_type_name(enum condition_type type);
enum condition_value { CONDITION_UNKNOWN, CONDITION_FALSE, CONDITION_TRUE };

struct condition {
	enum condition_value value;
	int64_t last_transition_time; /* 0: not made yet */
	char reason[32];
	char message[48];
};

enum { STATUS_WRITER_SIZE = 16 };

struct framework_status {
	int64_t start_time;
	int64_t run_time;
	int64_t completion_time;
	int64_t transition_time;
	int64_t resume_time; /* when spec.suspend last ended; 0, left out of the JSON: it never did */
	int64_t observed_generation;
	bool fenced; /* flips with each write that passes the fence (CONTRACT.md §12.14); has no other meaning */
	char writer[STATUS_WRITER_SIZE]; /* the process that wrote it; "": unknown */
	enum attempt_state state;
	struct retry_status retry;
	struct framework_attempt_status attempt;
	/* What Kueue has admitted, while that lasts (CONTRACT.md §21); NULL, left out of the JSON: nothing. Members
	 * clusterQueue, workloadUID, and podSets[] {name, nodeSelector, tolerations, labels, annotations}. */
	json_t *admission;
	struct condition conditions[CONDITION_COUNT];
};

void task_attempt_status_free(struct task_attempt_status *attempt);
void task_status_free(struct task_status *task);
void role_status_free(struct role_status *role);
void framework_attempt_status_free(struct framework_attempt_status *attempt);
/* Frees what it owns and zeroes it. */
void framework_status_free(struct framework_status *status);

/* Whether the object has a status with a state, which may be unreadable. */
bool framework_status_present(const json_t *status);
/* Reads a status, compressed or not. 0, or -1 and *err naming the field, what was found and what was expected. A status
 * that was read is consistent: Tasks and roles have an instanceUID, and attempts from AttemptDeletionPending on a
 * completionStatus. */
int framework_status_parse(const json_t *status, struct framework_status *out, struct error *err);

/* The process that wrote the status; "": unknown. */
void framework_status_writer(const json_t *status, char out[STATUS_WRITER_SIZE]);

/* Appends the JSON of the status. compressed: NULL for taskRoleStatuses as they are, else the value of
 * taskRoleStatusesCompressed, written instead. Returns where in out the value of taskRoleStatuses begins; two braces
 * follow it when it is written as it is. */
size_t framework_status_write(struct buf *out, const struct framework_status *status, const char *framework_name,
			      const char *compressed);
/* Appends the JSON array taskRoleStatuses. */
void role_statuses_write(struct buf *out, const struct framework_attempt_status *attempt, const char *framework_name);
/* Appends the JSON of one Task's status. */
void task_status_write(struct buf *out, const struct task_status *task, const char *framework_name,
		       const char *role_name, size_t index);

/* base64(gzip(text)) of CONTRACT.md §13, with the strongest compression. Compressing cannot fail; the result is
 * NUL-terminated, the caller frees. */
char *text_compress(const char *text, size_t len);
/* The same, with stronger compression only while the result is longer than max. NULL: every result is longer, or
 * text_decompress() would refuse it. */
char *text_compress_within(const char *text, size_t len, size_t max);
enum { DECOMPRESSED_MAX = 64 * 1024 * 1024 };
/* The reverse; bounded by DECOMPRESSED_MAX. 0, or -1 and *err if it is not base64 or not gzip, is too large, or grows
 * 200-fold. */
int text_decompress(const char *base64, size_t len, struct buf *out, struct error *err);

#endif
