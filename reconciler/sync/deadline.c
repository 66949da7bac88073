/* spec.activeDeadlineSec (CONTRACT.md §5): how long a Framework may be active; see rules.h. */
#include <stddef.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "reconciler/sync/rules.h"

bool deadline_over(struct reconcile *reconcile)
{
	const struct framework *framework = reconcile->framework;
	const struct framework_status *status = &framework->status;
	int64_t due_sec;

	if (kueue_time_over(framework) && framework->deletion_time == 0 && !framework->spec.suspend)
		return true;
	if (framework->spec.active_deadline_sec == 0 || suspend_asked(framework) || framework->deletion_time != 0 ||
	    framework_completing_for(framework, CODE_SUSPEND_FRAMEWORK_REQUESTED))
		return false;
	due_sec = (status->resume_time != 0 ? status->resume_time : status->start_time) +
		  framework->spec.active_deadline_sec;
	if (reconcile->now_sec >= due_sec)
		return true;
	plan_wake(reconcile->plan, reconcile->time.boot_ms + (due_sec * 1000 - reconcile->time.wall_ms));
	return false;
}

struct completion *deadline_completion(const struct framework *framework)
{
	const struct completion *ended = framework->status.attempt.completion;
	char duration[DURATION_SIZE];
	cleanup_free char *text = NULL;

	duration_format(framework->spec.active_deadline_sec, duration);
	if (ended == NULL)
		text = mem_printf("Framework has been active for longer than activeDeadlineSec %s", duration);
	else
		text = mem_printf(
			"Framework has been active for longer than activeDeadlineSec %s, so it is not retried "
			"after code %d (%s)",
			duration, (int)ended->code, ended->phrase);
	return completion_predefined(CODE_ACTIVE_DEADLINE_EXCEEDED, text);
}
