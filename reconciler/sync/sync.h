/* The pure core of the reconciler (ARCHITECTURE.md §4.1): no I/O, no clock, no randomness but what it is handed.
 * The shell calls framework_observe_* for what it sees, framework_sync to decide, framework_call_body and
 * framework_answer around each call of the plan, framework_written after a status write. */
#ifndef SYNC_SYNC_H
#define SYNC_SYNC_H

#include <jansson.h>

#include "reconciler/sync/plan.h"
#include "reconciler/sync/state.h"

/* One reconcile for one Framework (CONTRACT.md §5–§12): changes its status in place, fills plan (which it resets
 * first).
 */
void framework_sync(struct framework *framework, const struct sync_config *config, const struct sync_time *time,
		    struct random *random, struct plan *plan);

/* ---- observing (observe.c) ---- */

enum observed_by { OBSERVED_EVENT, OBSERVED_ANSWER };

/* The Framework as the server has it, on one line: snapshots show its metadata and spec as they stand. A status is
 * adopted only where there is none in memory for its uid. Drops older or equal resourceVersions, and those from
 * before the last end of a Framework of the name; one seen after that exists, even if it was believed gone. Returns
 * false when it was dropped. */
bool framework_observe(struct framework *framework, const struct object_parts *object, enum observed_by by);
/* A snapshot begins: nothing of it is seen yet. */
void framework_set_unseen(struct framework *framework);
/* Whether framework_observe would drop the Framework at this resourceVersion. */
bool framework_has_seen(const struct framework *framework, const char *version);
/* The Framework is gone: a DELETED event or a list at version said so, or (NULL) an answer of the API server. */
void framework_observe_absent(struct framework *framework, const char *version);
/* The object moves in. Returns false when it was dropped, because it is dead or older than the known one. */
bool framework_observe_pod(struct framework *framework, struct pod *pod);
bool framework_observe_config_map(struct framework *framework, struct config_map *config_map);
bool framework_observe_workload(struct framework *framework, struct workload *workload);
/* kind: any but KIND_FRAMEWORK. uid "" stands for any object not newer than version. certain: its last state had a
 * deletionTimestamp. */
void framework_observe_gone(struct framework *framework, enum object_kind kind, const char *name, const char *uid,
			    const char *version, bool certain);
/* ---- the fence (fence.c) ---- */

/* After SNAPSHOT_END under a new grant or a resync: the first create or delete waits for a write. */
void framework_fence(struct framework *framework);
/* Whether creates and deletes wait for it. */
bool framework_fenced(const struct framework *framework);

/* ---- calls (answer.c) ---- */

/* Whether the call is still wanted, asked right before it is sent: what led to it may have changed while it waited. One
 * that is not is answered as never sent. */
bool framework_call_wanted(struct framework *framework, const struct call *call);
/* The body of a create that is wanted. */
void framework_call_body(struct framework *framework, const struct call *call, struct buf *out);

struct call_answer {
	bool sent;              /* false: never sent; nothing is known to have happened */
	int http_status;        /* 0: no answer came; what happened is unknown */
	bool absent;            /* the API server says that the object is not there (kube_answer) */
	bool is_status;         /* an API Status came with http_status >= 400 */
	const char *reason;     /* of the Status, "" */
	const char *message;    /* of the Status or the failure, for people */
	const char *body;       /* as it came, "" */
	int64_t retry_after_ms; /* -1: none */
};

void framework_answer(struct framework *framework, const struct call *call, const struct call_answer *answer,
		      const struct sync_time *time, struct random *random);

/* Whether calls have failed, and none of their sort has succeeded since: the next ones may fail as well. */
bool framework_fails(const struct framework *framework);

/* ---- status writes (write.c) ---- */

/* A write of the present status begins (boot_ms: CLOCK_BOOTTIME). Returns its version. Later changes go into the next
 * write, in its own time. */
uint64_t framework_write_started(struct framework *framework, int64_t boot_ms);
/* Whether it decides nothing and can wait for all other requests: it adds what the original controller did not know of
 * to the status of what was Completed under it. There may be very many after this controller has taken over. */
bool framework_write_can_wait(const struct framework *framework);
/* It failed, or what became of it is unknown: the next reconcile asks for another. */
void framework_write_failed(struct framework *framework);
/* Why it failed, for an Event (CONTRACT.md §12.25). failures: before it, in a row. */
void framework_write_refused(struct framework *framework, int http_status, const char *message,
			     const struct sync_time *time, int failures);
/* A write of the status as of `version` has succeeded; the object is at resource_version now. */
void framework_written(struct framework *framework, uint64_t version, const char *resource_version);
/* Appends the body of PUT …/status: identity and status, compressed when asked for (and when it is over 700 KiB, if
 * large). A status over 1.4 MiB is compressed in any case, and its messages are shortened, in memory as well, until it
 * fits (CONTRACT.md §13). Returns whether taskRoleStatuses went compressed. Before framework_write_started(). */
enum compress_when { COMPRESS_NEVER, COMPRESS_LARGE, COMPRESS_ALWAYS };
bool framework_status_body(struct framework *framework, enum compress_when when, struct buf *out);
/* The server found a compressed body of that length too large: the next ones are smaller by a REFUSED_PART of it at
 * least, as far as there are messages to shorten. */
enum { REFUSED_PART = 16 };
void framework_body_refused(struct framework *framework, size_t body_len);

#endif
