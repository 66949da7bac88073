/* The parts of a reconcile, one file each; only sync/ includes this. */
#ifndef SYNC_RULES_H
#define SYNC_RULES_H

#include "reconciler/sync/state.h"

/* ---- retry.c: CONTRACT.md §9 ---- */

struct retry_decision {
	bool retry;
	bool accountable; /* true as well without a retry: one that is scheduled already happens, and counts */
	bool conflict;    /* Transient and Conflict under the fancy policy: a Framework waits a random delay */
};

struct retry_decision retry_decide(const struct retry_policy *policy, const struct retry_status *status,
				   const struct completion *completion);

/* ---- policy.c: CONTRACT.md §10 ---- */

/* The full test over all roles. NULL: nothing triggers. The caller owns the completion. */
struct completion *policy_test(const struct framework *framework);
/* The test for a Task that has just become Completed: its own role's policy, then the total; it is the trigger. */
struct completion *policy_test_task(const struct framework *framework, size_t role, size_t index);

/* ---- scale.c: CONTRACT.md §11 ---- */

/* Brings the roles and Tasks to the spec. Returns whether a Task was added, replaced or marked deletionPending, which
 * must be persisted before going on. Nothing waits for the removal of Tasks that have finished. */
bool scale_to_spec(struct reconcile *reconcile);
/* The backup of podGracefulDeletionTimeoutSec. Returns whether anything changed. */
bool scale_backup_timeouts(struct reconcile *reconcile);

/* ---- task.c: CONTRACT.md §6 ---- */

void task_sync(struct reconcile *reconcile, size_t role, size_t index);
/* A Pod that no Task owns: deleted on sight when it is under our ConfigMap. */
void stray_sync(struct reconcile *reconcile, struct slot *slot);
/* Sets completionStatus if it is unset, frees it otherwise. */
void task_complete(struct framework *framework, size_t role, size_t index, struct completion *completion);

/* What Events say of a completion: its diagnostics, but for a failed creation, whose Status has an Event of its own. */
const char *completion_event_text(const struct completion *completion);

/* ---- turns.c: of what is marked dirty or, in a sweep, of all ---- */

/* Of the Tasks, by TaskRole and index, and of Pods that are none's. */
void slots_sync(struct reconcile *reconcile);
/* The Task in its turn wants its Pod, and creates of this Framework have failed: who may be created now is found when
 * all have had their turns. */
void slot_want_create(struct reconcile *reconcile, struct slot *slot);
/* Whether a Task in its turn may be told that its Pod was refused for good: of several, the lowest is, in whichever
 * order the answers come. If not, it has another turn when those below are settled. */
bool slot_may_judge(struct reconcile *reconcile);
/* The attempt is over: of Pods that are under its ConfigMap all the same, having come late (CONTRACT.md §6.6, G4). */
void slots_sync_late(struct reconcile *reconcile);
/* A Completed Framework needs none of the places that stand empty. */
void slots_free_idle(struct framework *framework);
/* Nor does one that is gone: of those that are marked dirty, which get no turn. */
void slots_drop_gone(struct framework *framework);
/* Whether all is gone that was made when the attempt's ConfigMap had gone: deletes it, and waits for creates that are
 * on their way. */
bool slots_stragglers_gone(struct reconcile *reconcile);

/* ---- sync.c ---- */

/* Completes the attempt (CONTRACT.md §5): graceful while the ConfigMap exists, forced when it is gone. The
 * completion moves in; one that is set stays, and only then it may be NULL. */
void attempt_complete(struct reconcile *reconcile, struct completion *completion, bool forced);

/* ---- conditions.c: CONTRACT.md §3 ---- */

/* Brings Running, Completed and Succeeded up to date with the state and the counters. */
void conditions_update(struct reconcile *reconcile);

/* ---- snapshot.c: CONTRACT.md §14 ---- */

void snapshot_framework(struct reconcile *reconcile, const char *trigger, const char *message);
/* What a write now makes of status.fenced. */
bool framework_fence_mark(const struct framework *framework);
void snapshot_task(struct reconcile *reconcile, size_t role, size_t index, const char *trigger, const char *message,
		   bool deleting);

#endif
