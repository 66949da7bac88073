/* spec.suspend, and what waits for its admission by Kueue (CONTRACT.md §5, §21): the attempt under way ends with -240,
 * the next one waits in AttemptCreationPending; see rules.h. */
#include <string.h>

#include "common/base/json.h"
#include "reconciler/sync/rules.h"

bool suspend_asked(const struct framework *framework)
{
	return framework->spec.suspend || kueue_holds(framework);
}

bool suspend_wanted(const struct framework *framework)
{
	return suspend_asked(framework) && framework->deletion_time == 0 &&
	       framework->spec.execution_type != EXECUTION_STOP;
}

bool framework_has_pods(const struct framework *framework, const char *besides)
{
	for (const struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		if (slot->meta != NULL && !slot_lost(framework, slot) &&
		    strcmp(slot->meta->controller_kind, "ConfigMap") == 0 &&
		    strcmp(slot->meta->controller_name, framework->config_map.name) == 0 &&
		    (besides == NULL || !slot_ours(slot, besides)))
			return true;
	return false;
}

bool framework_has_nothing(const struct framework *framework)
{
	return framework->config_map.meta == NULL && framework->config_map.call == CALL_NONE &&
	       !framework_has_pods(framework, NULL);
}

bool suspend_in_doubt(const struct framework *framework)
{
	const struct slot *slot = &framework->config_map;

	return slot->known == SLOT_IN_DOUBT ||
	       (framework->inherited && slot->known == SLOT_SEEN && slot->meta == NULL &&
		framework->status.conditions[CONDITION_SUSPENDED].value != CONDITION_TRUE);
}

bool framework_at_rest(const struct framework *framework)
{
	return framework->status.state == STATE_CREATION_PENDING && !suspend_in_doubt(framework) &&
	       framework_has_nothing(framework);
}

void framework_resume(struct reconcile *reconcile)
{
	const json_t *admission = reconcile->framework->status.admission;
	bool left = reconcile->framework->kueue.left;

	reconcile->framework->status.resume_time = reconcile->now_sec;
	reconcile->framework->kueue.left = false;
	if (admission == NULL && left)
		plan_event(reconcile->plan, false, "FrameworkResumed",
			   "Framework is resumed: it is in no queue any more, because its label " KUEUE_QUEUE_LABEL
			   " was removed");
	else if (admission == NULL)
		plan_event(reconcile->plan, false, "FrameworkResumed", "Framework is resumed: spec.suspend is false");
	else
		plan_event(reconcile->plan, false, "FrameworkResumed",
			   "Framework is resumed: it is admitted by the ClusterQueue %s",
			   json_str(admission, "clusterQueue"));
}

void suspend_leave(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	enum suspended was = condition_suspended(framework);

	if (was == SUSPENDED_NOT || suspend_wanted(framework))
		return;
	condition_set_suspended(reconcile, SUSPENDED_NOT);
	/* (else the attempt that is to end with -240 decides) */
	if (!suspend_asked(framework) && (was == SUSPENDED_NOW || framework->status.state == STATE_CREATION_PENDING))
		framework_resume(reconcile);
	framework_touch(reconcile, WRITE_NOW);
	framework->hold = framework->version; /* nothing is created while the stored status says Suspended */
}

/* What the condition has to say; a Framework that was suspended stays so. */
static enum suspended suspended_by_now(const struct framework *framework)
{
	enum suspended was = condition_suspended(framework);

	if (was == SUSPENDED_NOW || !suspend_wanted(framework) || framework->status.state != STATE_CREATION_PENDING ||
	    suspend_in_doubt(framework))
		return was;
	return framework_has_nothing(framework) ? SUSPENDED_NOW : SUSPENDED_SOON;
}

void suspend_enter(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	bool said = framework->status.conditions[CONDITION_SUSPENDED].last_transition_time != 0;
	enum suspended was = condition_suspended(framework);
	enum suspended suspended = suspended_by_now(framework);

	if (suspend_wanted(framework) && framework_at_rest(framework))
		slots_forget_lost(framework);
	if (!suspend_asked(framework) || (said && suspended == was))
		return;
	condition_set_suspended(reconcile, suspended);
	if (suspended == SUSPENDED_NOW && framework->spec.suspend)
		plan_event(reconcile->plan, false, "FrameworkSuspended",
			   "Framework is suspended: none of its Pods exists any more");
	else if (suspended == SUSPENDED_NOW)
		plan_event(reconcile->plan, false, "FrameworkSuspended",
			   "Framework is suspended until Kueue admits it: it waits in the queue %s",
			   framework->kueue.queue);
	/* nothing more is to be expected, and until it is stored a Pod of a former owner may come late */
	framework_touch(reconcile, suspended == SUSPENDED_NOW ? WRITE_NOW : WRITE_RUNNING);
}
