/* A Completed Framework is deleted when it has been kept for long enough (CONTRACT.md §5); see rules.h. */
#include "reconciler/sync/rules.h"

void look_at_retention(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	bool by_ttl = framework->spec.ttl_sec != SECONDS_ABSENT;
	int64_t kept_sec = by_ttl ? framework->spec.ttl_sec : reconcile->config->completed_retain_sec;
	int64_t due_sec;

	if (framework->deletion_time != 0 || framework->retention_sent ||
	    __builtin_add_overflow(framework->status.transition_time, kept_sec, &due_sec))
		return;
	if (reconcile->now_sec < due_sec) {
		if (due_sec - reconcile->now_sec < INT64_MAX / 2000)
			plan_wake(reconcile->plan,
				  reconcile->time.boot_ms + (due_sec * 1000 - reconcile->time.wall_ms));
		return;
	}
	if (framework->written < framework->version ||
	    !reconcile_may_act(reconcile, &framework->config_map, framework->decided))
		return;
	if (reconcile->time.boot_ms < framework->others.until_ms) {
		plan_wake(reconcile->plan, framework->others.until_ms);
		return;
	}
	if (reconcile->config->snapshot_framework_deletion)
		snapshot_framework(reconcile, "OnFrameworkDeletion",
				   by_ttl ? "Framework will be deleted due to TTLSecondsAfterCompleted expired"
					  : "Framework will be deleted due to FrameworkCompletedRetainSec expired");
	framework->retention_sent = true;
	plan_call(reconcile->plan, CALL_DELETE_FRAMEWORK, framework->name, framework->uid, false);
	reconcile->plan->calls[reconcile->plan->call_count - 1].decided = (uint64_t)framework->generation;
}
