/* The parts of a reconcile, one file each; only sync/ includes this. */
#ifndef SYNC_RULES_H
#define SYNC_RULES_H

#include "reconciler/sync/state.h"
#include "reconciler/sync/sync.h"

/* After that time an Event repeats why somebody waits: Events are kept for an hour. */
enum { REPORT_AGAIN_MS = 30 * 60 * 1000 };

/* ---- fence.c: CONTRACT.md §12.14 ---- */

/* Whether the reconcile may act on a decision of version `decided`: it is persisted and the fence is passed. Otherwise
 * the slot is looked at again after the next write. */
bool reconcile_may_act(struct reconcile *reconcile, struct slot *slot, uint64_t decided);
/* Whether the object with this uid may be deleted, which has the slot's name (CONTRACT.md §12.24); otherwise as above.
 */
bool reconcile_may_delete(struct reconcile *reconcile, struct slot *slot, const char *uid);
/* Whether a status write that began after the object was seen has succeeded: then no status is newer than ours. Until
 * then nothing is done for the Framework. */
bool fence_vouches(struct framework *framework, struct slot *slot);
/* Whether the stored status is ours, or is overwritten by ours. */
bool fence_proven(const struct framework *framework);
/* A write of ours has succeeded. */
void fence_pass(struct framework *framework);
/* Nothing of ours is stored any more. */
void fence_forget(struct framework *framework);
/* The value of status.fenced in a write that begins now. */
bool framework_fence_mark(const struct framework *framework);

/* ---- pace.c: CONTRACT.md §12.16 ---- */

/* How long a change may wait for others before it is written, in ms (CONTRACT.md §12.16). */
enum {
	WRITE_NOW = 0,
	WRITE_COMPLETIONS = 200, /* sibling Tasks end together; their Pods are deleted after the write */
	WRITE_RUNNING = 200,     /* sibling Pods start together; a barrier waits for the last of their IPs */
	WRITE_UIDS = 500,        /* a crash before loses nothing: the objects are adopted */
};

/* Notes that the status changed and is to be written within delay_ms; longer while writes follow each other quickly:
 * Tasks that trickle along are written in bunches. */
void framework_touch(struct reconcile *reconcile, int64_t delay_ms);
/* Writes pending changes at once. */
void pace_hurry(struct framework *framework);
/* There is nothing to write. */
void pace_forget(struct framework *framework);
/* A write of all that has changed begins. */
void pace_started(struct framework *framework, int64_t boot_ms);
/* The end of a Task's attempt decides more than itself (policy_end_decides()), and that waits for the next write. So
 * from now on changes wait less for each other. */
void pace_decisive(struct framework *framework);
/* A Task's Pod has got its first IP. */
void pace_addressed(struct framework *framework);
/* The Task has entered its state, or reports a detail of it that others wait for. */
void pace_arrived(struct framework *framework, const struct task_status *task);
/* Plans the write, or when to come back for it. */
void pace_plan_write(struct reconcile *reconcile);

/* ---- write.c: CONTRACT.md §13 ---- */

/* A Task has got its completionStatus: it is shortened as the others were. When all of them would be more than readers
 * take, they are shortened here and now, and not only when they are written. */
void framework_text_added(struct framework *framework, struct completion *completion);
/* ---- completion.c: CONTRACT.md §5, §6 ---- */

/* Sets a Task's completionStatus if it is unset, frees it otherwise. */
void task_complete(struct framework *framework, size_t role, size_t index, struct completion *completion);
/* The attempt's own outcome and that of its Tasks, where they have none. The completion moves in; one that is set
 * stays, and only then it may be NULL. Returns whether anything changed. */
bool attempt_decide(struct framework *framework, struct completion *completion);
/* The same, and completes the attempt: graceful while the ConfigMap exists, forced when it is gone. */
void attempt_complete(struct reconcile *reconcile, struct completion *completion, bool forced);
/* Events that report outcomes. */
void task_report_completed(struct reconcile *reconcile, size_t role, size_t index);
void task_report_retried(struct reconcile *reconcile, size_t role, size_t index);
/* An attempt that would be retried has ended. The Framework's Event reports the end of the last one. */
void attempt_report_completed(struct reconcile *reconcile);
void framework_report_completed(struct reconcile *reconcile);
void framework_report_retried(struct reconcile *reconcile);

/* ---- suspend.c: CONTRACT.md §5 ---- */

/* Whether the user wants it suspended, or Kueue has not admitted it. */
bool suspend_asked(const struct framework *framework);
/* No ConfigMap and no Pod of it is seen, and no ConfigMap is being created. */
bool framework_has_nothing(const struct framework *framework);
/* Whether a Pod of any attempt exists, among those that events report; besides those of that ConfigMap (its uid; NULL:
 * none is left out). */
bool framework_has_pods(const struct framework *framework, const char *besides);
/* … and none will be: it waits to be created. */
bool framework_at_rest(const struct framework *framework);
/* Whether only a GET can tell that its ConfigMap does not exist: a create of it has an unknown outcome, or the status
 * is a former owner's, who may have created what no event has shown yet, or what has lost its label since. */
bool suspend_in_doubt(const struct framework *framework);
/* Whether the Framework is to be, or to stay, suspended: not when it is deleted or stopped. */
bool suspend_wanted(const struct framework *framework);
/* At the beginning of a reconcile: a suspended Framework is so no more. */
void suspend_leave(struct reconcile *reconcile);
/* At its end: sets the condition Suspended when none of its Pods is left. */
void suspend_enter(struct reconcile *reconcile);
/* Sets status.resumeTime, from which activeDeadlineSec counts. */
void framework_resume(struct reconcile *reconcile);

/* ---- deadline.c: CONTRACT.md §5 ---- */

/* Whether spec.activeDeadlineSec is over. It does not pass while the Framework is suspended. If it is not over, the
 * plan comes back for it. */
bool deadline_over(struct reconcile *reconcile);
/* The outcome of a Framework whose deadline is over. The caller owns it. */
struct completion *deadline_completion(const struct framework *framework);

/* ---- retention.c: CONTRACT.md §5 ---- */

void look_at_retention(struct reconcile *reconcile);

/* ---- backoff.c: CONTRACT.md §9 ---- */

/* Whether a delay that began at since_sec is over. A time that is well in the future was written before the wall clock
 * went back, by hours perhaps: then nobody knows how much of the delay has passed, and it is not waited for. */
bool delay_over(int64_t now_sec, int64_t since_sec, int64_t delay_sec);
/* Ends a row of retries, if the attempt ran long enough for that. */
void retry_backoff_reset(const struct retry_backoff *backoff, struct retry_status *status, int64_t run_time,
			 int64_t completion_time);
/* The same; and how many seconds the next retry waits after the completion of the attempt that ran from run_time (0: it
 * did not run) to completion_time; counts it in status->backoff_count. 0 without a backoff. */
int64_t retry_backoff_sec(const struct retry_backoff *backoff, struct retry_status *status, int64_t run_time,
			  int64_t completion_time);

/* ---- pending.c: CONTRACT.md §6 ---- */

/* The Task's present Pod is Pending. Returns how its attempt ends when that has lasted for too long, NULL when it may
 * go on; reports a wait that lasts by an Event. The caller owns the completion. */
struct completion *pending_over(struct reconcile *reconcile, size_t role, size_t index, struct slot *slot,
				const struct pending_policy *policy);
/* Nothing keeps the present Pod from starting: it runs, or is between two attempts to start it. A wait ends when that
 * has lasted. */
void pending_starts(struct reconcile *reconcile, struct slot *slot, struct task_attempt_status *attempt);

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
/* Whether more than a report depends on the end of this Task's attempt: it has failed, it is retried, or the role
 * reaches its minSucceededTaskCount if all its Tasks whose attempts have ended succeed. */
bool policy_end_decides(const struct framework *framework, size_t role, const struct task_status *task);

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
/* It is deleting: the force-delete timer of the TaskRole that its name contains. */
void stray_watch(struct reconcile *reconcile, struct slot *slot);
/* ---- owned.c: what a Framework or its attempt owns beside the ConfigMap and the Pods, CONTRACT.md §12 ---- */

/* Before its Pods are created, and while they are there: makes the objects that the spec wants and keeps them as they
 * should be, one call of each kind at a time. */
void owned_sync(struct reconcile *reconcile);
/* Before the attempt leaves AttemptCreationPending: it has the gang of the spec from then on, because Pods without its
 * stamps are no members. */
void gang_begin(struct reconcile *reconcile);
/* An attempt that waits for a PodGroup which was never asked for has no Pods, and can still take another gang. Whether
 * it has; then nothing may be created before that is stored. */
bool gang_change(struct reconcile *reconcile);
/* Whether all that the spec wants is there, ours, and as Pods need it. */
bool owned_ready(const struct framework *framework);
struct slot *owned_slot(struct framework *framework, enum slot_kind kind);
/* The call has succeeded, at this time (CLOCK_BOOTTIME). */
void owned_answered(struct framework *framework, const struct call *call, int64_t boot_ms);
/* Whether a create or patch that was planned is still wanted. */
bool owned_wanted(const struct framework *framework, const struct call *call);
/* Finds out as what the API server serves it, for the next call about it. False: it is not known, or not served; the
 * reconcile comes back. */
bool owned_find_resource(struct reconcile *reconcile, struct slot *slot);
/* Makes the object of a kind that owned_sync() leaves alone. */
void owned_make(struct reconcile *reconcile, enum slot_kind kind);
/* Reports the error of its last call by an Event. */
void owned_report_error(struct reconcile *reconcile, struct slot *slot);
/* Appends the owner reference to the Framework. */
void framework_write_owner(const struct framework *framework, struct buf *out);
/* The body of such a call; owned_body() is for one that is sent now. */
void owned_write(const struct framework *framework, const struct call *call, struct buf *out);
void owned_body(struct framework *framework, const struct call *call, struct buf *out);
/* Reads the spec from its text, which was read before without an error (observe.c). */
void framework_read_spec_again(struct framework *framework);
/* An answer shows it (observe.c). The object moves in. */
void slot_observe_owned(struct slot *slot, struct owned_object *object);

/* ---- depends.c: CONTRACT.md §6 ---- */

/* Before the Tasks have their turns: finds out which TaskRoles wait for others no more. */
void depends_sync(struct reconcile *reconcile);
/* Whether the Task's Pod is not created yet, because its TaskRole waits for others. */
bool depends_hold(const struct framework *framework, size_t role, size_t index);

/* ---- creates.c: CONTRACT.md §8.11, §8.12 ---- */

/* The Task in its turn wants its Pod, and creates of this Framework have failed: who may be created now is found when
 * all have had their turns. */
void slot_want_create(struct reconcile *reconcile, struct slot *slot);
/* Whether a Task in its turn may fail because its Pod was refused for good: of several, the lowest does, in whichever
 * order the answers come. If not, it has another turn when those below are settled. */
bool slot_may_judge(struct reconcile *reconcile);
/* All Tasks have had their turns: sends the creates of those that may be created now. */
void creates_send(struct reconcile *reconcile);

/* ---- turns.c: of what is marked dirty or, in a sweep, of all ---- */

/* slot->place of a Task is its role << PLACE_INDEX_BITS | its index. */
enum { PLACE_INDEX_BITS = 32 };
/* Gives the Tasks their turns, by TaskRole and index, and then Pods that belong to no Task. */
void slots_sync(struct reconcile *reconcile);
/* The attempt is over: gives their turns to Pods that came late under its ConfigMap (CONTRACT.md §6.6, G4). */
void slots_sync_late(struct reconcile *reconcile);
/* The same timer for Pods under a ConfigMap of ours that is deleted and was never adopted: its end waits for theirs. */
void slots_watch_unadopted(struct reconcile *reconcile);
/* A Completed Framework needs none of the places that stand empty. */
void slots_free_idle(struct framework *framework);
/* Nor does one that is gone: of those that are marked dirty, which get no turn. */
void slots_drop_gone(struct framework *framework);
/* The ConfigMap of an inherited attempt is gone: whether the author of the status has created the Pods of Tasks that
 * show none, and whether they are still there, is not known, and is asked for. */
void slots_doubt_inherited(struct framework *framework);
/* Whether all is gone that was made when the attempt's ConfigMap had gone: deletes it, and waits for creates that are
 * on their way. */
bool slots_stragglers_gone(struct reconcile *reconcile);

/* ---- conditions.c: CONTRACT.md §3 ---- */

/* Brings Running, Completed and Succeeded up to date with the state and the counters. */
void conditions_update(struct reconcile *reconcile);
/* What the condition Suspended says: False; False, and that an attempt is held until Pods and ConfigMap are gone; True.
 */
enum suspended { SUSPENDED_NOT, SUSPENDED_SOON, SUSPENDED_NOW };
/* Sets the condition, which a Framework has once spec.suspend was used. */
void condition_set_suspended(struct reconcile *reconcile, enum suspended suspended);
/* SUSPENDED_NOT also without the condition. */
enum suspended condition_suspended(const struct framework *framework);

/* ---- snapshot.c: CONTRACT.md §14 ---- */

void snapshot_framework(struct reconcile *reconcile, const char *trigger, const char *message);
void snapshot_task(struct reconcile *reconcile, size_t role, size_t index, const char *trigger, const char *message,
		   bool deleting);

#endif
