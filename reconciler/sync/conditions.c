/* status.conditions, made from the state (CONTRACT.md §3); see rules.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reconciler/sync/rules.h"

#define SUSPENDING "Suspending"

static void set_condition(struct reconcile *reconcile, enum condition_type type, enum condition_value value,
			  const char *reason, const char *message)
{
	struct condition *condition = &reconcile->framework->status.conditions[type];

	if (condition->last_transition_time == 0 || condition->value != value)
		condition->last_transition_time = reconcile->now_sec;
	condition->value = value;
	snprintf(condition->reason, sizeof(condition->reason), "%s", reason);
	snprintf(condition->message, sizeof(condition->message), "%s", message);
}

void conditions_update(struct reconcile *reconcile)
{
	const struct framework_status *status = &reconcile->framework->status;
	const struct completion *completion = status->attempt.completion;
	bool completed = status->state == STATE_COMPLETED;
	int64_t running = 0;
	int64_t total = 0;
	char message[sizeof(status->conditions[0].message)];

	for (size_t r = 0; r < status->attempt.role_count; r++) {
		running += reconcile->framework->roles[r].running;
		total += reconcile->framework->roles[r].live;
	}
	snprintf(message, sizeof(message), "%" PRId64 "/%" PRId64, running, total);
	set_condition(reconcile, CONDITION_RUNNING, status->state == STATE_RUNNING ? CONDITION_TRUE : CONDITION_FALSE,
		      attempt_state_name(status->state), message);
	set_condition(reconcile, CONDITION_COMPLETED, completed ? CONDITION_TRUE : CONDITION_FALSE,
		      attempt_state_name(status->state), "");
	if (completed)
		set_condition(reconcile, CONDITION_SUCCEEDED, completion->succeeded ? CONDITION_TRUE : CONDITION_FALSE,
			      completion->succeeded ? "Succeeded" : "Failed", "");
	else
		set_condition(reconcile, CONDITION_SUCCEEDED, CONDITION_UNKNOWN, attempt_state_name(status->state), "");
}

void condition_set_suspended(struct reconcile *reconcile, enum suspended suspended)
{
	static const char *const reasons[] = {
		[SUSPENDED_NOT] = "NotSuspended", [SUSPENDED_SOON] = SUSPENDING, [SUSPENDED_NOW] = "Suspended"};

	set_condition(reconcile, CONDITION_SUSPENDED, suspended == SUSPENDED_NOW ? CONDITION_TRUE : CONDITION_FALSE,
		      reasons[suspended], "");
}

enum suspended condition_suspended(const struct framework *framework)
{
	const struct condition *condition = &framework->status.conditions[CONDITION_SUSPENDED];

	if (condition->value == CONDITION_TRUE)
		return SUSPENDED_NOW;
	return strcmp(condition->reason, SUSPENDING) == 0 ? SUSPENDED_SOON : SUSPENDED_NOT;
}
