/* Which slots have their turn in a round, and in which order; see rules.h. */
#include <utlist.h>

#include "common/base/version.h"
#include "reconciler/sync/rules.h"

static void mark_all_slots(struct framework *framework)
{
	for (struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		slot_mark_dirty(framework, slot);
}

static int compare_failures(const struct slot *a, const struct slot *b)
{
	return (a->failed_at > b->failed_at) - (a->failed_at < b->failed_at);
}

void slots_sync(struct round *round)
{
	struct framework *framework = round->framework;
	struct slot *slot;
	struct slot *next;

	if (framework->sweep) {
		framework->sweep = false;
		for (size_t r = 0; r < framework->status.attempt.role_count; r++)
			for (size_t i = 0; i < framework->status.attempt.roles[r].task_count; i++)
				slot_mark_dirty(framework, task_slot(framework, r, i));
		mark_all_slots(framework);
	}
	/* Few creates may be on the way: in turn, so that one Pod that is refused for ever keeps no other waiting. */
	if (framework->create_window > 0)
		LL_SORT2(framework->dirty, compare_failures, next_dirty);
	slot = framework->dirty;
	framework->dirty = NULL;
	for (; slot != NULL; slot = next) {
		size_t role;
		size_t index;

		next = slot->next_dirty;
		slot->dirty = false;
		if (slot_task(framework, slot, &role, &index))
			task_sync(round, role, index);
		else if (slot->meta != NULL || slot->call != CALL_NONE)
			stray_sync(round, slot);
		else if (!slot->waiting && !slot->dirty)
			slot_delete(framework, slot);
	}
}

void slots_sync_late(struct round *round)
{
	struct framework *framework = round->framework;
	struct slot *slot;
	struct slot *next;

	if (framework->sweep) {
		framework->sweep = false;
		mark_all_slots(framework);
	}
	slot = framework->dirty;
	framework->dirty = NULL;
	for (; slot != NULL; slot = next) {
		next = slot->next_dirty;
		slot->dirty = false;
		if (slot_ours(slot, framework->status.attempt.config_map_uid) && !slot->lost &&
		    round_may_act(round, slot, framework->decided))
			stray_sync(round, slot);
	}
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
		/* no event would tell of one without our label, whose going is not waited for any more */
		if ((slot->meta == NULL || slot->lost) && slot->call == CALL_NONE && !slot->dirty && !slot->waiting)
			slot_delete(framework, slot);
	}
}

/* ---- when the ConfigMap has gone ---- */

/* A Pod that is still there so long after its deletion was to be over may stay for ever. */
enum { OVERDUE_SEC = 60 };

/* Whether the Pod was made when the ConfigMap had gone: its create came late, or was sent with an old view. What is
 * told of the Pod later (that it runs, that it is deleted) makes it no younger than it was when first seen. An answer
 * 404 does not say since when the ConfigMap is gone: then it may be any Pod, as long as it can be expected to end. */
static bool outlives_config_map(struct round *round, const struct slot *slot)
{
	const struct framework *framework = round->framework;
	int64_t over_sec;

	if (!slot_ours(slot, framework->status.attempt.config_map_uid))
		return false;
	if (slot->straggler)
		return true;
	if (framework->config_map_end != NULL)
		return version_compare(slot->first_version, framework->config_map_end) > 0;
	if (slot->meta->deletion_time == 0)
		return true;
	if (__builtin_add_overflow(slot->meta->deletion_time, OVERDUE_SEC, &over_sec) || round->now_sec >= over_sec)
		return false;
	if (over_sec - round->now_sec < INT64_MAX / 2000)
		round_sweep_at(round, round->time.boot_ms + (over_sec - round->now_sec) * 1000);
	return true;
}

bool slots_stragglers_gone(struct round *round)
{
	struct framework *framework = round->framework;
	bool gone = framework->creates_on_way == 0;

	for (struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next) {
		if (slot->verify) {
			slot_send_get(round, slot, NULL);
			gone = false;
		} else if (outlives_config_map(round, slot)) {
			if (round_may_act(round, slot, framework->decided))
				slot_send_delete_owned(round, slot);
			gone = false;
		}
	}
	return gone;
}
