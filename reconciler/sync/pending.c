/* A Pod that is there and does not come to run (CONTRACT.md §6): how long that is accepted, and the Event that reports
 * it; see rules.h. */
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "reconciler/sync/rules.h"

/* An Event reports a Pod that has failed to start for so long; one that has shown no failure for so long fails anew. */
enum { REPORT_AFTER_SEC = 60, FORGOTTEN_AFTER_SEC = 60 };

/* Since when the present Pod fails to start, by CLOCK_BOOTTIME. */
struct slot_wait {
	int64_t since_ms;
	int64_t clear_ms; /* since when no failure is to be seen; 0: one is */
};

static int64_t boot_of(const struct reconcile *reconcile, int64_t sec)
{
	return reconcile->time.boot_ms + (sec * 1000 - reconcile->time.wall_ms);
}

static void forget_wait(struct reconcile *reconcile, struct slot *slot, struct task_attempt_status *attempt)
{
	free(slot->wait);
	slot->wait = NULL;
	if (attempt->waiting_time == 0)
		return;
	attempt->waiting_time = 0;
	framework_touch(reconcile, WRITE_UIDS);
}

/* The clock of the present Pod; made when it is missing, from what was persisted. */
static struct slot_wait *clock_of(struct reconcile *reconcile, struct slot *slot,
				  const struct task_attempt_status *attempt)
{
	if (slot->wait == NULL) {
		slot->wait = mem_calloc(1, sizeof(*slot->wait));
		slot->wait->since_ms = attempt->waiting_time == 0 ? reconcile->time.boot_ms
								  : boot_of(reconcile, attempt->waiting_time);
	}
	return slot->wait;
}

void pending_starts(struct reconcile *reconcile, struct slot *slot, struct task_attempt_status *attempt)
{
	struct slot_wait *wait;

	if (slot->wait == NULL && attempt->waiting_time == 0)
		return;
	wait = clock_of(reconcile, slot, attempt);
	if (wait->clear_ms == 0)
		wait->clear_ms = reconcile->time.boot_ms;
	if (reconcile->time.boot_ms >= wait->clear_ms + FORGOTTEN_AFTER_SEC * 1000)
		forget_wait(reconcile, slot, attempt);
	else
		reconcile_sweep_at(reconcile, wait->clear_ms + FORGOTTEN_AFTER_SEC * 1000);
}

/* Since when the Pod waits, in unix seconds. */
static int64_t waiting_since(struct reconcile *reconcile, struct slot *slot, struct task_attempt_status *attempt,
			     const struct pending_policy *policy)
{
	const struct pod *pod = slot->pod;
	struct slot_wait *wait;
	int64_t since_sec;

	if (pod->wait->kind == POD_WAIT_UNSCHEDULABLE) {
		since_sec = pod->wait->since != 0 ? pod->wait->since : pod->meta.creation_time;
		return since_sec > slot->ungated_sec ? since_sec : slot->ungated_sec;
	}
	wait = clock_of(reconcile, slot, attempt);
	wait->clear_ms = 0;
	if (attempt->waiting_time != 0)
		return attempt->waiting_time;
	since_sec = (reconcile->time.wall_ms - (reconcile->time.boot_ms - wait->since_ms)) / 1000;
	if (policy->start_timeout_sec != SECONDS_ABSENT) { /* a restart must not begin it anew */
		attempt->waiting_time = since_sec;
		framework_touch(reconcile, WRITE_UIDS);
	}
	return since_sec;
}

/* One Event for each kind of wait in an attempt of the Framework: Tasks by the thousand wait for the same. */
static void report_wait(struct reconcile *reconcile, size_t role, size_t index, const struct pod_wait *wait,
			int64_t since_sec)
{
	struct framework *framework = reconcile->framework;
	unsigned bit = 1U << wait->kind;

	if (framework->waits_reported & bit)
		return;
	if (reconcile->now_sec < since_sec + REPORT_AFTER_SEC) {
		reconcile_sweep_at(reconcile, boot_of(reconcile, since_sec + REPORT_AFTER_SEC));
		return;
	}
	framework->waits_reported |= bit;
	plan_event(reconcile->plan, true, "TaskWaiting", "Task %s[%zu] waits: %s%s%s%s: %.512s",
		   framework->status.attempt.roles[role].name, index, wait->container[0] == '\0' ? "" : "container ",
		   wait->container, wait->container[0] == '\0' ? "" : ": ", wait->reason, wait->message);
}

static struct completion *timeout_completion(int32_t code, const char *what, int64_t waited_sec,
					     const struct pod_wait *wait)
{
	char duration[DURATION_SIZE];
	cleanup_free char *text = NULL;

	duration_format(waited_sec < 0 ? 0 : waited_sec, duration);
	text = mem_printf("%s for %s: %s%s%s%s: %s", what, duration, wait->container[0] == '\0' ? "" : "container ",
			  wait->container, wait->container[0] == '\0' ? "" : ": ", wait->reason, wait->message);
	return completion_predefined(code, text);
}

/* As long as no node is found, the condition PodScheduled keeps the time at which the gates kept the Pod. */
static void note_gates(const struct reconcile *reconcile, struct slot *slot)
{
	if (slot->pod->wait != NULL && slot->pod->wait->kind == POD_WAIT_GATED)
		slot->ungated_sec = SLOT_GATED;
	else if (slot->ungated_sec == SLOT_GATED)
		slot->ungated_sec = reconcile->now_sec;
}

struct completion *pending_over(struct reconcile *reconcile, size_t role, size_t index, struct slot *slot,
				const struct pending_policy *policy)
{
	struct task_attempt_status *attempt = &reconcile->framework->status.attempt.roles[role].tasks[index].attempt;
	const struct pod_wait *wait = slot->pod->wait;
	int32_t timeout_sec = policy->start_timeout_sec;
	int64_t since_sec;
	int64_t waited_sec;

	note_gates(reconcile, slot);
	if (wait == NULL || wait->kind == POD_WAIT_UNSCHEDULABLE || wait->kind == POD_WAIT_GATED)
		pending_starts(reconcile, slot, attempt);
	if (wait == NULL || wait->kind == POD_WAIT_GATED)
		return NULL;
	since_sec = waiting_since(reconcile, slot, attempt, policy);
	waited_sec = reconcile->now_sec - since_sec;
	if (wait->kind == POD_WAIT_NEVER && policy->given)
		return timeout_completion(CODE_POD_NEVER_STARTS, "Pod can never start, and has been waiting",
					  waited_sec, wait);
	if (wait->kind == POD_WAIT_UNSCHEDULABLE)
		timeout_sec = policy->unschedulable_timeout_sec;
	if (timeout_sec != SECONDS_ABSENT && waited_sec >= timeout_sec)
		return wait->kind == POD_WAIT_UNSCHEDULABLE
			       ? timeout_completion(CODE_POD_UNSCHEDULABLE_TIMEOUT, "Pod has been unschedulable",
						    waited_sec, wait)
			       : timeout_completion(CODE_POD_START_TIMEOUT, "Pod has failed to start", waited_sec,
						    wait);
	if (timeout_sec != SECONDS_ABSENT)
		reconcile_sweep_at(reconcile, boot_of(reconcile, since_sec + timeout_sec));
	report_wait(reconcile, role, index, wait, since_sec);
	return NULL;
}
