/* spec.suspend (CONTRACT.md §5): the attempt under way ends with -240, the next one waits in AttemptCreationPending;
 * see rules.h. */
#include <string.h>

#include "reconciler/sync/rules.h"

bool suspend_wanted(const struct framework *framework)
{
	return framework->spec.suspend && framework->deletion_time == 0 &&
	       framework->spec.execution_type != EXECUTION_STOP;
}

/* Whether a Pod of any attempt is there, of those of which events tell. */
static bool has_pods(const struct framework *framework)
{
	for (const struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		if (slot->meta != NULL && !slot_lost(framework, slot) &&
		    strcmp(slot->meta->controller_kind, "ConfigMap") == 0 &&
		    strcmp(slot->meta->controller_name, framework->config_map.name) == 0)
			return true;
	return false;
}

static bool at_rest(const struct framework *framework)
{
	const struct slot *config_map = &framework->config_map;

	return framework->status.state == STATE_CREATION_PENDING && config_map->meta == NULL &&
	       config_map->call == CALL_NONE && config_map->known != SLOT_IN_DOUBT && !has_pods(framework);
}

void framework_resume(struct reconcile *reconcile)
{
	reconcile->framework->status.resume_time = reconcile->now_sec;
	plan_event(reconcile->plan, false, "FrameworkResumed", "Framework is resumed: spec.suspend is false");
}

void suspend_leave(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;

	if (framework->status.conditions[CONDITION_SUSPENDED].value != CONDITION_TRUE || suspend_wanted(framework))
		return;
	condition_set_suspended(reconcile, false);
	if (!framework->spec.suspend)
		framework_resume(reconcile);
	framework_touch(reconcile, WRITE_NOW);
	framework->hold = framework->version; /* nothing is created while the stored status says Suspended */
}

/* Nobody waits for Pods without our label any more, and no event would report their end. */
static void forget_lost(struct framework *framework)
{
	for (struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		if (slot_lost(framework, slot))
			slot_clear(slot);
}

void suspend_enter(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	const struct condition *condition = &framework->status.conditions[CONDITION_SUSPENDED];
	bool suspended = suspend_wanted(framework) && at_rest(framework);

	if (suspended)
		forget_lost(framework);
	if (!framework->spec.suspend ||
	    (condition->last_transition_time != 0 && (!suspended || condition->value == CONDITION_TRUE)))
		return;
	condition_set_suspended(reconcile, suspended);
	if (suspended)
		plan_event(reconcile->plan, false, "FrameworkSuspended",
			   "Framework is suspended: none of its Pods exists any more");
	framework_touch(reconcile, WRITE_RUNNING);
}
