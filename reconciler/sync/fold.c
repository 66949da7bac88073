/* Folds and unfolds Frameworks; see fold.h. */
#include "reconciler/sync/fold.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/pack.h"
#include "common/framework/object_pack.h"

/* ---- what is at rest ---- */

static bool slot_rests(const struct slot *slot)
{
	return slot->kind == SLOT_POD && slot->call == CALL_NONE && slot->error == NULL && slot->wait == NULL &&
	       !slot->unseen && (slot->pod == NULL ? slot->meta == NULL : pod_packs(slot->pod));
}

/* Whether there is something to fold, and not too much. */
static bool tasks_rest(const struct framework *framework)
{
	const struct framework_attempt_status *attempt = &framework->status.attempt;
	size_t slots = HASH_COUNT(framework->slots);
	size_t count = 0;

	for (size_t r = 0; r < attempt->role_count; r++) {
		count += attempt->roles[r].task_count;
		if (count > FOLD_TASKS_MAX)
			return false;
		for (size_t i = 0; i < attempt->roles[r].task_count; i++)
			if (attempt->roles[r].tasks[i].attempt.completion != NULL)
				return false;
	}
	return slots <= FOLD_TASKS_MAX && slots + count > 0;
}

/* As a snapshot leaves them: all slots are dirty, in the order in which they came. */
static bool all_dirty(const struct framework *framework)
{
	for (const struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		if (!slot->dirty || slot->next_dirty != slot->hh.prev) /* the last to have come is the first */
			return false;
	return framework->dirty->hh.next == NULL;
}

static bool rests(const struct framework *framework)
{
	if (framework->version != framework->written || framework->waiting != NULL || !tasks_rest(framework) ||
	    (framework->dirty != NULL && !all_dirty(framework)))
		return false;
	for (const struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		if (!slot_rests(slot))
			return false;
	return true;
}

/* ---- both ways ---- */

static void pack_task(struct pack *pack, struct task_status *task)
{
	struct task_attempt_status *attempt = &task->attempt;

	pack_own_text(pack, &task->instance_uid);
	pack_int(pack, &task->start_time);
	pack_int(pack, &task->run_time);
	pack_int(pack, &task->completion_time);
	pack_int(pack, &task->ready_time);
	pack_int(pack, &task->transition_time);
	PACK_AS_INT(pack, task->state);
	PACK_AS_INT(pack, task->deletion_pending);
	PACK_AS_INT(pack, task->retry.total);
	PACK_AS_INT(pack, task->retry.accountable);
	pack_int(pack, &task->retry.delay_sec);
	PACK_AS_INT(pack, task->retry.backoff_count);
	PACK_AS_INT(pack, attempt->id);
	pack_int(pack, &attempt->start_time);
	pack_int(pack, &attempt->run_time);
	pack_int(pack, &attempt->completion_time);
	pack_int(pack, &attempt->waiting_time);
	pack_own_text(pack, &attempt->instance_uid);
	pack_own_text(pack, &attempt->pod_uid);
	pack_own_text(pack, &attempt->pod_node_name);
	pack_own_text(pack, &attempt->pod_ip);
	pack_own_text(pack, &attempt->pod_host_ip);
}

static void pack_slot(struct pack *pack, struct slot *slot)
{
	bool has_pod = slot->pod != NULL;

	PACK_AS_INT(pack, has_pod);
	pack_own_text(pack, &slot->name);
	PACK_AS_INT(pack, slot->known);
	PACK_AS_INT(pack, slot->deletion);
	PACK_AS_INT(pack, slot->straggler);
	PACK_AS_INT(pack, slot->reported);
	PACK_AS_INT(pack, slot->polls);
	pack_own_text(pack, &slot->gone_uid);
	pack_own_text(pack, &slot->gone_version);
	pack_own_text(pack, &slot->absent_version);
	pack_own_text(pack, &slot->first_version);
	PACK_AS_INT(pack, slot->failed_at);
	pack_int(pack, &slot->poll_ms);
	PACK_AS_INT(pack, slot->confirmed_by);
	PACK_AS_INT(pack, slot->role_hint);
	if (!has_pod)
		return;
	if (slot->pod == NULL)
		slot->pod = mem_alloc(sizeof(*slot->pod));
	pack_pod(pack, slot->pod);
	slot->meta = &slot->pod->meta;
}

static void pack_role(struct pack *pack, struct role_status *role)
{
	PACK_AS_INT(pack, role->task_count);
	if (pack->reading && role->task_cap > 0)
		role->tasks = mem_calloc(role->task_cap, sizeof(*role->tasks));
	for (size_t i = 0; i < role->task_count; i++)
		pack_task(pack, &role->tasks[i]);
}

/* ---- folding ---- */

static void drop_tasks(struct framework *framework, struct role_status *role)
{
	for (size_t i = 0; i < role->task_count; i++) {
		framework->folded_states[role->tasks[i].state]++;
		task_status_free(&role->tasks[i]);
	}
	free(role->tasks);
	role->tasks = NULL;
	role->task_count = 0; /* the room stays as it is */
}

bool framework_fold(struct framework *framework)
{
	struct framework_attempt_status *attempt = &framework->status.attempt;
	struct pack pack;
	size_t len;
	int64_t slots = HASH_COUNT(framework->slots);
	bool dirty = framework->dirty != NULL;

	if (framework->folded != NULL)
		return true;
	if (!rests(framework))
		return false;
	pack_write(&pack);
	for (size_t r = 0; r < attempt->role_count; r++)
		pack_role(&pack, &attempt->roles[r]);
	pack_int(&pack, &slots);
	PACK_AS_INT(&pack, dirty);
	framework->dirty = NULL;
	for (struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		pack_slot(&pack, slot);
	framework->folded = pack_finish(&pack, &len);
	for (size_t r = 0; r < attempt->role_count; r++)
		drop_tasks(framework, &attempt->roles[r]);
	while (framework->slots != NULL)
		slot_delete(framework, framework->slots);
	return true;
}

void framework_unfold(struct framework *framework)
{
	struct framework_attempt_status *attempt = &framework->status.attempt;
	struct pack pack;
	int64_t slots;
	bool dirty = false;

	if (framework->folded == NULL)
		return;
	pack_read(&pack, framework->folded);
	for (size_t r = 0; r < attempt->role_count; r++)
		pack_role(&pack, &attempt->roles[r]);
	pack_int(&pack, &slots);
	PACK_AS_INT(&pack, dirty);
	for (; slots > 0; slots--) {
		struct slot *slot = mem_calloc(1, sizeof(*slot));

		pack_slot(&pack, slot);
		HASH_ADD_KEYPTR(hh, framework->slots, slot->name, strlen(slot->name), slot);
		if (dirty)
			slot_mark_dirty(framework, slot);
	}
	pack_end(&pack);
	free(framework->folded);
	framework->folded = NULL;
	memset(framework->folded_states, 0, sizeof(framework->folded_states));
}
