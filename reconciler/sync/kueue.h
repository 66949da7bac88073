/* Frameworks in a queue of Kueue (CONTRACT.md §21): a Framework with the label of a queue is held, as if it were
 * suspended, until Kueue has admitted its Workload. */
#ifndef SYNC_KUEUE_H
#define SYNC_KUEUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/json_reader.h"
#include "common/framework/workload.h"
#include "reconciler/sync/plan.h"
#include "reconciler/sync/request_backoff.h"

struct framework;
struct slot;
struct reconcile;
struct call_answer;
struct sync_time;
struct random;

/* An object of Kueue that has no namespace, as last read: a ResourceFlavor, a WorkloadPriorityClass. */
struct kueue_lookup {
	char *name;     /* "resourceflavors/default" */
	json_t *object; /* NULL: not read yet */
	bool asking;    /* a GET is on the way */
	char *error;    /* of the last GET, until an Event has reported it */
	struct request_backoff backoff;
	struct kueue_lookup *next;
};

/* The state about Kueue that belongs to a Framework and is not stored. */
struct kueue_work {
	bool on;              /* the configuration asks for Kueue */
	char *queue;          /* label kueue.x-k8s.io/queue-name; NULL: none, or it is not on */
	char *priority_class; /* label kueue.x-k8s.io/priority-class; NULL: none */
	bool left;            /* its label was removed while it was held */
	char *request;        /* identifies what the Workload is to ask for; NULL: to be computed */
	struct kueue_lookup *lookups;
	uint64_t decided;      /* the version of the status since which status.admission is as it is */
	char *reported_reason; /* why it waits, as the last Event said; NULL: none did */
	int64_t reported_ms;
	int64_t next_ms; /* CLOCK_BOOTTIME from which on the Workload's status may be patched again */
	int64_t now_sec; /* of the last reconcile */
};

/* ---- kueue_state.c ---- */

#define WORKLOAD_NAME_PREFIX "framework-"

/* Reads the labels from metadata. */
void kueue_take_metadata(struct framework *framework, const struct json_span *metadata);
/* Other podSets are to be asked for. */
void kueue_forget_request(struct framework *framework);
/* The status is forgotten. */
void kueue_forget(struct framework *framework);
void kueue_free(struct framework *framework);

/* Whether that is the name of its Workload. */
bool workload_named(const struct framework *framework, const char *name);
/* The place of its Workload; the Workload, if it is this Framework's, and not a former one's or somebody else's. */
const struct slot *kueue_slot(const struct framework *framework);
const struct workload *kueue_workload(const struct framework *framework);
/* Whether the Framework is in a queue. */
bool kueue_managed(const struct framework *framework);
/* Whether it is held because it is not admitted. */
bool kueue_holds(const struct framework *framework);
/* Whether Kueue has deactivated it for its maximumExecutionTimeSeconds. */
bool kueue_out_of_time(const struct workload *workload);
/* Whether Kueue has ended it for spec.activeDeadlineSec, which has not become longer since. */
bool kueue_time_over(const struct framework *framework);

/* Whether it wants to run. */
bool kueue_wants_quota(const struct framework *framework);
/* Whether the Workload asks for the quota that the Framework needs. */
bool kueue_asks_for_this(const struct framework *framework, const struct workload *workload);
/* The lookup of an object without a namespace, by "resourceflavors/NAME"; NULL: there is none. */
struct kueue_lookup *kueue_find_lookup(const struct framework *framework, const char *name);
/* The object, if it is read. */
const json_t *kueue_looked_up(const struct framework *framework, const char *plural, const char *name);
void kueue_drop_lookups(struct framework *framework);

/* ---- kueue.c ---- */

/* Applies Kueue's decisions and updates the Workload, in each reconcile, before anything else is decided. */
void kueue_sync(struct reconcile *reconcile);
/* For a Framework that kueue_only_releases(): its Workload may go when its last Pod is gone. */
void kueue_release(struct reconcile *reconcile);

/* ---- workload.c: what it needs, and bodies ---- */

/* Whether nothing is left to do but to let go of its Workload, or of its predecessor's: it is gone, or another
 * controller's; or it has a spec that cannot be read, and is on its way out or waits for its admission. */
bool kueue_only_releases(const struct framework *framework);
/* Whether the decisions that calls about the Workload rest on are stored (CONTRACT.md §12). */
bool kueue_decisions_stored(const struct framework *framework);

/* Whether a former Framework of this name had the Workload, and it is being deleted: its finalizer stays until the last
 * Pod is gone. */
bool kueue_former_ends(const struct framework *framework);

/* The next step about the Workload. */
enum kueue_step {
	KUEUE_NOTHING,
	KUEUE_MAKE,    /* it is created, or waited for while its name is taken */
	KUEUE_REWRITE, /* a PATCH of what it asks for */
	KUEUE_REPORT,  /* a PATCH of its status */
	KUEUE_RELEASE, /* a PATCH that takes the finalizer away */
	KUEUE_DELETE,
	KUEUE_ADMIT, /* status.admission is made of it */
};
enum kueue_step kueue_step(const struct framework *framework);

/* Identifies queue, priority, podSets and activeDeadlineSec: annotation FC_WORKLOAD_REQUEST. The caller frees. */
char *kueue_request(const struct framework *framework);
/* The status that the Workload is to have: a merge patch; NULL: the one that it has. */
json_t *kueue_status_patch(const struct framework *framework);
/* Whether quota of Tasks was given back that run again. */
bool kueue_reclaimed_too_much(const struct framework *framework);

/* ---- lookup.c ---- */

/* The object, if it is read; otherwise it is asked for. */
const json_t *kueue_look_up(struct reconcile *reconcile, const char *plural, const char *name);
void kueue_answer(struct framework *framework, const struct call *call, const struct call_answer *answer,
		  const struct sync_time *time, struct random *random);

#endif
