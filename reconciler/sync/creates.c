/* The order of creates, and the Task whose refusal counts, after creates have failed (CONTRACT.md §8.11, §8.12); see
 * rules.h. */
#include <utlist.h>

#include "reconciler/sync/rules.h"

void slot_want_create(struct reconcile *reconcile, struct slot *slot)
{
	if (!reconcile->all) {
		reconcile->again = true;
		return;
	}
	*reconcile->creating_end = slot;
	reconcile->creating_end = &slot->next_creating;
	slot->next_creating = NULL;
}

bool slot_may_judge(struct reconcile *reconcile)
{
	if (!reconcile->all)
		reconcile->again = true;
	else if (reconcile->create_open)
		reconcile->framework->unsettled = true;
	else
		return true;
	return false;
}

static int compare_failures(const struct slot *a, const struct slot *b)
{
	return (a->failed_at > b->failed_at) - (a->failed_at < b->failed_at);
}

static void create(struct reconcile *reconcile, struct slot *slot, bool first)
{
	struct plan *plan = reconcile->plan;
	size_t count = plan->call_count;
	const struct role_work *role = &reconcile->framework->roles[slot->place >> PLACE_INDEX_BITS];

	slot_send_create(reconcile, slot, role->tasks[(uint32_t)slot->place].decided);
	if (plan->call_count > count)
		plan->calls[count].first = first;
}

/* Few may be on the way. While a quota is used up, the lowest is the first to be asked for: a Framework whose master
 * waits has no use for workers. Else, and when it has asked in vain, they take turns, so that one Pod that is refused
 * for ever keeps no other waiting: those that were tried together in ascending order. */
void creates_send(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	bool first = framework->lowest_first;
	bool held = false;

	if (framework_completing(framework))
		return;
	if (!framework->lowest_first)
		LL_SORT2(reconcile->creating, compare_failures, next_creating);
	for (struct slot *slot = reconcile->creating; slot != NULL; slot = slot->next_creating) {
		if (slot->known == SLOT_IN_DOUBT) {
			slot_send_get(reconcile, slot, NULL);
			held = framework->lowest_first;
		} else if (held) {
			framework->unsettled = true;
		} else {
			create(reconcile, slot, first && slot->next_creating != NULL);
			first = false;
		}
	}
}
