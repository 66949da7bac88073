/* Whether a Framework or Task is tried again (CONTRACT.md §9); see rules.h. */
#include "common/framework/codes.h"
#include "reconciler/sync/rules.h"

enum { RETRY_ALWAYS = -2, RETRY_UNTIL_SUCCEEDED = -1 };

struct retry_decision retry_decide(const struct retry_policy *policy, const struct retry_status *status,
				   const struct completion *completion)
{
	const struct retry_decision no = {.accountable = true};
	const struct retry_decision accountable = {.retry = true, .accountable = true};
	bool failed = !completion->succeeded;

	if (completion->code == CODE_SUSPEND_FRAMEWORK_REQUESTED)
		return (struct retry_decision){.retry = true};
	if (completion->code == CODE_STOP_FRAMEWORK_REQUESTED || completion->code == CODE_ACTIVE_DEADLINE_EXCEEDED ||
	    completion->code == CODE_FRAMEWORK_ATTEMPT_COMPLETION || completion->code == CODE_DELETE_TASK_REQUESTED)
		return no;
	if (policy->fancy && failed) {
		if (completion->traits & TRAIT_TRANSIENT)
			return (struct retry_decision){.retry = true,
						       .conflict = (completion->traits & TRAIT_CONFLICT) != 0};
		if (completion->traits & TRAIT_PERMANENT)
			return no;
	}
	if (policy->max_retry_count == RETRY_ALWAYS)
		return accountable;
	if (!failed)
		return no;
	if (policy->max_retry_count == RETRY_UNTIL_SUCCEEDED || status->accountable < policy->max_retry_count)
		return accountable;
	return no;
}
