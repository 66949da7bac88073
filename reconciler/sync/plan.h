/* The work that a reconcile orders: API calls, log lines of history, Events, a status write, a time to come back. Every
 * call in a plan may be carried out at once: it rests on nothing that is still to be persisted (CONTRACT.md §12.4). */
#ifndef SYNC_PLAN_H
#define SYNC_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

/* A kind of object that the API server may serve (owned_kind.h). */
struct owned_resource;

/* The kind of object that a call is about. The Framework or its attempt owns those from SLOT_SERVICE on, beside the
 * ConfigMap and the Pods (owned.c). Nothing watches these: only answers show their state. */
enum slot_kind { SLOT_POD, SLOT_CONFIG_MAP, SLOT_SERVICE, SLOT_POD_GROUP, SLOT_WORKLOAD, SLOT_KINDS };
enum { OWNED_KINDS = SLOT_KINDS - SLOT_SERVICE };

enum call_kind {
	CALL_NONE,
	CALL_CREATE_CONFIG_MAP,
	CALL_GET_CONFIG_MAP,
	CALL_DELETE_CONFIG_MAP,
	CALL_CREATE_POD,
	CALL_GET_POD,
	CALL_DELETE_POD,
	CALL_CREATE_OWNED, /* of the kind call.object */
	CALL_GET_OWNED,
	CALL_PATCH_OWNED,
	CALL_PATCH_OWNED_STATUS,
	CALL_DELETE_OWNED,
	CALL_GET_KUEUE, /* "resourceflavors/default": an object without a namespace, of the group of call.resource */
	CALL_DELETE_FRAMEWORK, /* retention: propagation Foreground */
};

/* The operation of a call on its object. */
enum call_verb { VERB_CREATE, VERB_GET, VERB_DELETE, VERB_PATCH, VERBS };
enum call_verb call_verb(enum call_kind kind);

struct call {
	enum call_kind kind;
	enum slot_kind object;
	const struct owned_resource *resource; /* of an owned object; NULL: of others */
	char *name;
	char *uid;        /* deletes and patches: the precondition, and the uid a GET is about; NULL: none */
	char *version;    /* deletes: the resourceVersion that must still be the object's; NULL: any */
	bool force;       /* deletes: gracePeriodSeconds 0 */
	uint64_t decided; /* creates: the version of the status that decided it, the identity of the attempt; deletes:
			   * the Framework's generation */
	uint64_t failed;  /* creates: how many of the Framework had failed by then */
	bool initial;     /* creates: the Task never had a Pod */
	bool first;       /* creates: a quota is used up, and this Pod is asked for before all others that wait */
};

/* A core/v1 Event about the Framework. */
struct plan_event {
	bool warning;
	const char *reason; /* static, CamelCase */
	char *message;
};

/* A log line of CONTRACT.md §14. The spec in it is not copied: thousands of Tasks may leave in one reconcile. */
struct plan_snapshot {
	char *text;
	size_t spec_at;   /* where in the text the spec belongs */
	const char *spec; /* the Framework's, as long as no other spec is observed */
	size_t spec_len;
};

struct plan {
	struct call *calls;
	size_t call_count;
	size_t call_cap;
	struct plan_snapshot *snapshots;
	size_t snapshot_count;
	size_t snapshot_cap;
	struct plan_event *events;
	size_t event_count;
	unsigned ask;    /* bits of enum owned_api: find out whether the API server serves these */
	bool write;      /* write the status now */
	int64_t wake_ms; /* CLOCK_BOOTTIME of the next reconcile if nothing else happens; INT64_MAX: none */
};

/* Empties; keeps nothing. Start with {0} and plan_reset. */
void plan_reset(struct plan *plan);
void plan_call(struct plan *plan, enum call_kind kind, const char *name, const char *uid, bool force);
/* The text of the snapshot moves into the plan. */
void plan_snapshot(struct plan *plan, const struct plan_snapshot *snapshot);
/* Appends the whole line. */
void plan_snapshot_write(const struct plan_snapshot *snapshot, struct buf *out);
void plan_event(struct plan *plan, bool warning, const char *reason, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void plan_wake(struct plan *plan, int64_t at_ms);

#endif
