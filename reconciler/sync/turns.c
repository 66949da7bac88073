/* Which slots have their turn in a reconcile, and in which order; see rules.h. */
#include <utlist.h>

#include "common/base/version.h"
#include "reconciler/sync/rules.h"

/* The place of a Pod that is no Task's: behind them all. */
#define NO_TASK UINT64_MAX

static uint64_t place_of(struct framework *framework, struct slot *slot)
{
	size_t role;
	size_t index;

	return slot_task(framework, slot, &role, &index) ? (uint64_t)role << PLACE_INDEX_BITS | index : NO_TASK;
}

static int compare_places(const struct slot *a, const struct slot *b)
{
	return (a->place > b->place) - (a->place < b->place);
}

/* Takes the dirty slots: the Tasks by TaskRole and index, then Pods that are no Task's, as they came. */
static struct slot *take_dirty(struct framework *framework)
{
	struct slot *list = NULL;
	bool sorted = true;

	while (framework->dirty != NULL) { /* the last to have come is the first */
		struct slot *slot = framework->dirty;

		framework->dirty = slot->next_dirty;
		slot->place = place_of(framework, slot);
		sorted = sorted && (list == NULL || slot->place <= list->place);
		slot->next_dirty = list;
		list = slot;
	}
	if (!sorted)
		LL_SORT2(list, compare_places, next_dirty);
	return list;
}

static void mark_all_slots(struct framework *framework)
{
	for (struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		slot_mark_dirty(framework, slot);
}

/* Anew, so that they are in order. */
static void mark_all(struct framework *framework)
{
	for (struct slot *slot = framework->dirty; slot != NULL; slot = slot->next_dirty)
		slot->dirty = false;
	framework->dirty = NULL;
	for (size_t r = 0; r < framework->status.attempt.role_count; r++)
		for (size_t i = 0; i < framework->status.attempt.roles[r].task_count; i++)
			slot_mark_dirty(framework, task_slot(framework, r, i));
	mark_all_slots(framework);
}

static void have_turns(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	struct slot *next;

	reconcile->all = framework->sweep;
	reconcile->create_open = false;
	if (framework->sweep) {
		framework->sweep = false;
		framework->unsettled = false;
		mark_all(framework);
	}
	for (struct slot *slot = take_dirty(framework); slot != NULL; slot = next) {
		next = slot->next_dirty;
		slot->dirty = false;
		if (slot->place != NO_TASK)
			task_sync(reconcile, slot->place >> PLACE_INDEX_BITS, (uint32_t)slot->place);
		else if (slot->meta != NULL || slot->call != CALL_NONE)
			stray_sync(reconcile, slot);
		else if (!slot->waiting && !slot->dirty)
			slot_delete(framework, slot);
	}
}

void slots_sync(struct reconcile *reconcile)
{
	have_turns(reconcile);
	if (reconcile->again) {
		reconcile->framework->sweep = true;
		have_turns(reconcile);
	}
	creates_send(reconcile);
}

void slots_sync_late(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	struct slot *slot;
	struct slot *next;

	if (framework->sweep) {
		framework->sweep = false;
		mark_all_slots(framework);
	}
	for (slot = take_dirty(framework); slot != NULL; slot = next) {
		next = slot->next_dirty;
		slot->dirty = false;
		if (slot_ours(slot, framework->status.attempt.config_map_uid) && !slot_lost(framework, slot) &&
		    reconcile_may_act(reconcile, slot, framework->decided))
			stray_sync(reconcile, slot);
	}
}

void slots_watch_unadopted(struct reconcile *reconcile)
{
	const struct framework *framework = reconcile->framework;
	const struct slot *owner = &framework->config_map;

	if (!slot_ours(owner, framework->uid) || owner->meta->deletion_time == 0)
		return;
	for (struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		if (slot_ours(slot, owner->meta->uid) && slot->meta->deletion_time != 0)
			stray_watch(reconcile, slot);
}

void slots_drop_gone(struct framework *framework)
{
	struct slot *slot = framework->dirty;
	struct slot *next;

	framework->dirty = NULL;
	for (; slot != NULL; slot = next) {
		next = slot->next_dirty;
		slot->dirty = false;
		if (slot->meta == NULL && slot->call == CALL_NONE && !slot->waiting)
			slot_delete(framework, slot);
	}
}

void slots_free_idle(struct framework *framework)
{
	struct slot *slot;
	struct slot *next;

	HASH_ITER(hh, framework->slots, slot, next) {
		/* no event would report one without our label, and nobody waits for its deletion any more */
		if ((slot->meta == NULL || slot_lost(framework, slot)) && slot->call == CALL_NONE && !slot->dirty &&
		    !slot->waiting)
			slot_delete(framework, slot);
	}
}

/* ---- when the ConfigMap has gone ---- */

/* A Pod that is still there so long after its deletion was to be over may stay for ever. */
enum { OVERDUE_SEC = 60 };

/* Whether the Pod was made when the ConfigMap had gone: its create came late, or was sent with an old view. Later
 * events of the Pod (that it runs, that it is deleted) make it no younger than it was when first seen. An answer 404
 * does not say since when the ConfigMap is gone: then it may be any Pod, as long as it can be expected to end. */
static bool outlives_config_map(struct reconcile *reconcile, const struct slot *slot)
{
	const struct framework *framework = reconcile->framework;
	int64_t over_sec;

	if (!slot_ours(slot, framework->status.attempt.config_map_uid))
		return false;
	if (slot->straggler)
		return true;
	if (framework->config_map_end != NULL)
		return version_compare(slot->first_version, framework->config_map_end) > 0;
	if (slot->meta->deletion_time == 0)
		return true;
	if (__builtin_add_overflow(slot->meta->deletion_time, OVERDUE_SEC, &over_sec) || reconcile->now_sec >= over_sec)
		return false;
	if (over_sec - reconcile->now_sec < INT64_MAX / 2000)
		reconcile_sweep_at(reconcile, reconcile->time.boot_ms + (over_sec - reconcile->now_sec) * 1000);
	return true;
}

/* Whether the Task's Pod is not shown, and nothing has shown that it is gone. */
static bool pod_unseen(const struct task_status *task, const struct slot *slot)
{
	const char *uid = task->attempt.pod_uid;

	return slot->meta == NULL && slot->known == SLOT_SEEN &&
	       (uid == NULL || slot->gone_uid == NULL || strcmp(slot->gone_uid, uid) != 0);
}

void slots_doubt_inherited(struct framework *framework)
{
	const struct framework_attempt_status *attempt = &framework->status.attempt;

	for (size_t r = 0; framework->inherited && r < attempt->role_count; r++) {
		for (size_t i = 0; i < attempt->roles[r].task_count; i++) {
			const struct task_status *task = &attempt->roles[r].tasks[i];
			struct slot *slot;

			if (task->state >= STATE_ATTEMPT_COMPLETED)
				continue;
			slot = task_slot(framework, r, i);
			if (pod_unseen(task, slot))
				slot->known = SLOT_IN_DOUBT;
		}
	}
	framework->inherited = false;
}

bool slots_stragglers_gone(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	bool gone = framework->creates_on_way == 0;

	for (struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next) {
		if (slot->known == SLOT_IN_DOUBT && place_of(framework, slot) != NO_TASK) {
			slot_send_get(reconcile, slot, NULL);
			gone = false;
		} else if (outlives_config_map(reconcile, slot)) {
			if (reconcile_may_act(reconcile, slot, framework->decided))
				slot_send_delete_owned(reconcile, slot);
			gone = false;
		}
	}
	return gone;
}
