/* How attempts of the Framework and of its Tasks get their outcome, and the Events that report it (CONTRACT.md §5, §6);
 * see rules.h. */
#include <stdio.h>
#include <string.h>

#include "common/framework/codes.h"
#include "reconciler/sync/podtemplate.h"
#include "reconciler/sync/rules.h"

/* What Events say of it: its diagnostics, but for a failed creation, whose Status has an Event of its own. */
static const char *event_text(const struct completion *completion)
{
	if (completion->code == CODE_POD_CREATION_PERMANENT_ERROR ||
	    completion->code == CODE_POD_CREATION_UNKNOWN_ERROR)
		return "Failed to create Pod: see the Event FailedCreatePod";
	return completion->diagnostics;
}

/* ---- Tasks ---- */

void task_complete(struct framework *framework, size_t role, size_t index, struct completion *completion)
{
	struct task_attempt_status *attempt = &framework->status.attempt.roles[role].tasks[index].attempt;

	if (attempt->completion != NULL) {
		completion_free(completion);
		return;
	}
	attempt->completion = completion;
	framework_text_added(framework, completion);
}

void task_report_completed(struct reconcile *reconcile, size_t role, size_t index)
{
	const struct role_status *status = &reconcile->framework->status.attempt.roles[role];
	const struct completion *completion = status->tasks[index].attempt.completion;

	if (!completion->succeeded && completion->code != CODE_FRAMEWORK_ATTEMPT_COMPLETION &&
	    completion->code != CODE_DELETE_TASK_REQUESTED)
		plan_event(reconcile->plan, true, "TaskFailed", "Task %s[%zu] failed with code %d (%s): %.512s",
			   status->name, index, (int)completion->code, completion->phrase, event_text(completion));
}

void task_report_retried(struct reconcile *reconcile, size_t role, size_t index)
{
	const struct role_status *status = &reconcile->framework->status.attempt.roles[role];
	const struct completion *completion = status->tasks[index].attempt.completion;

	plan_event(reconcile->plan, false, "TaskRetried", "Task %s[%zu] is retried after code %d (%s): %.512s",
		   status->name, index, (int)completion->code, completion->phrase, event_text(completion));
}

/* ---- the Framework ---- */

bool attempt_decide(struct framework *framework, struct completion *completion)
{
	struct framework_attempt_status *attempt = &framework->status.attempt;
	bool changed = attempt->completion == NULL;

	if (changed)
		attempt->completion = completion;
	else
		completion_free(completion);
	for (size_t r = 0; r < attempt->role_count; r++) {
		for (size_t i = 0; i < attempt->roles[r].task_count; i++) {
			if (attempt->roles[r].tasks[i].attempt.completion != NULL)
				continue;
			task_complete(framework, r, i,
				      completion_predefined(CODE_FRAMEWORK_ATTEMPT_COMPLETION,
							    "Stop to complete current FrameworkAttempt"));
			changed = true;
		}
	}
	return changed;
}

static void end_task(struct reconcile *reconcile, size_t role, size_t index)
{
	struct task_status *task = &reconcile->framework->status.attempt.roles[role].tasks[index];

	if (task->state == STATE_COMPLETED)
		return;
	if (task->state != STATE_ATTEMPT_COMPLETED)
		task_enter(reconcile, role, index, STATE_ATTEMPT_COMPLETED, WRITE_NOW);
	task_enter(reconcile, role, index, STATE_COMPLETED, WRITE_NOW);
	task->retry.delay_sec = DELAY_NULL;
}

void attempt_complete(struct reconcile *reconcile, struct completion *completion, bool forced)
{
	struct framework *framework = reconcile->framework;
	const struct framework_attempt_status *attempt = &framework->status.attempt;

	attempt_decide(framework, completion);
	for (size_t r = 0; forced && r < attempt->role_count; r++)
		for (size_t i = 0; i < attempt->roles[r].task_count; i++)
			end_task(reconcile, r, i);
	framework_enter(reconcile, forced ? STATE_ATTEMPT_COMPLETED : STATE_DELETION_PENDING, WRITE_NOW);
	pod_templates_free(framework); /* it creates no more Pods */
}

/* Why a failure is the last one, and what its owner can do: the end of the Event that reports it. */
static const char *no_retry_text(const struct framework *framework, const struct completion *completion)
{
	const struct retry_policy *policy = &framework->spec.retry;

	if (completion->succeeded || completion->code == CODE_STOP_FRAMEWORK_REQUESTED ||
	    completion->code == CODE_ACTIVE_DEADLINE_EXCEEDED)
		return "";
	if (policy->fancy && (completion->traits & TRAIT_PERMANENT))
		return "; not retried, because it would fail again: fix the cause and create the Framework again";
	if (policy->max_retry_count == 0)
		return "; not retried, because retryPolicy.maxRetryCount is 0";
	return "; not retried, because retryPolicy.maxRetryCount is reached";
}

/* suffix: follows the outcome. */
static void report_outcome(struct reconcile *reconcile, const char *reason, const char *subject, const char *suffix)
{
	const struct completion *completion = reconcile->framework->status.attempt.completion;
	bool diagnostics_suffice = completion->trigger == NULL ||
				   strcmp(completion->trigger->message, completion->diagnostics) == 0;

	plan_event(reconcile->plan, !completion->succeeded, reason, "%s completed with code %d (%s): %.512s%s%s%s",
		   subject, (int)completion->code, completion->phrase, event_text(completion),
		   diagnostics_suffice ? "" : "; ", diagnostics_suffice ? "" : completion->trigger->message, suffix);
}

void attempt_report_completed(struct reconcile *reconcile)
{
	char subject[32];

	snprintf(subject, sizeof(subject), "Attempt %d", (int)reconcile->framework->status.attempt.id);
	report_outcome(reconcile, "AttemptCompleted", subject, "");
}

void framework_report_completed(struct reconcile *reconcile)
{
	report_outcome(reconcile, "FrameworkCompleted", "Framework",
		       no_retry_text(reconcile->framework, reconcile->framework->status.attempt.completion));
}

void framework_report_retried(struct reconcile *reconcile)
{
	const struct completion *completion = reconcile->framework->status.attempt.completion;

	plan_event(reconcile->plan, false, "FrameworkRetried", "Framework is retried after code %d (%s): %.512s",
		   (int)completion->code, completion->phrase, event_text(completion));
}
