/* The operations that are allowed under the present grant, on changes that are not persisted yet, and on objects of
 * attempts that the status does not contain (CONTRACT.md §12.4, §12.14, §12.24); see rules.h.
 *
 *               framework_fence                    framework_fence
 *     FENCE_NEW ───────────────▶ FENCE_FORMER      ┌─────────────────▶ FENCE_RENEWED
 *         │                           │            │                         │
 *         └───────────────────────────┴───▶ FENCE_PASSED ◀───────────────────┘
 *                         fence_pass: a write has succeeded
 *
 * fence_forget (the object is gone, or has a namesake) leads back to the left: nothing stored is ours. */
#include <string.h>

#include "reconciler/sync/rules.h"

bool framework_fenced(const struct framework *framework)
{
	return framework->fence == FENCE_FORMER || framework->fence == FENCE_RENEWED;
}

bool fence_proven(const struct framework *framework)
{
	return framework->fence == FENCE_PASSED || framework->fence == FENCE_RENEWED;
}

void framework_fence(struct framework *framework)
{
	framework->fence = fence_proven(framework) ? FENCE_RENEWED : FENCE_FORMER;
	framework->sweep = true;
}

void fence_pass(struct framework *framework)
{
	framework->fence = FENCE_PASSED;
}

void fence_forget(struct framework *framework)
{
	framework->fence = framework_fenced(framework) ? FENCE_FORMER : FENCE_NEW;
}

/* Whether a write that is made for the fence alone would change nothing: then it makes no new version, and does not
 * keep out what a former owner sent on the present one, however late it comes. */
static bool fence_alone(const struct framework *framework)
{
	return framework_fenced(framework) && framework->version == framework->written;
}

bool framework_fence_mark(const struct framework *framework)
{
	return framework->status.fenced != fence_alone(framework);
}

bool reconcile_may_act(struct reconcile *reconcile, struct slot *slot, uint64_t decided)
{
	struct framework *framework = reconcile->framework;

	if (!framework_fenced(framework) && framework->written >= decided)
		return true;
	if (framework_fenced(framework))
		reconcile->fence_wanted = true;
	if (slot->kind == SLOT_POD)
		slot_mark_waiting(framework, slot);
	return false;
}

/* ---- deletes ---- */

/* Whether the attempt has ended for good: then nobody can still adopt objects of it. */
static bool attempt_ended(const struct framework *framework)
{
	const char *uid = framework->status.attempt.config_map_uid;
	const char *gone_uid = framework->config_map.gone_uid;

	if (uid != NULL && gone_uid != NULL && strcmp(uid, gone_uid) == 0)
		return true;
	return framework->status.state >= STATE_ATTEMPT_COMPLETED && framework->written >= framework->decided;
}

/* Whether the status knows the attempt that the Pod was created for. *decided: the version that must be stored, too. */
static bool knows_pod(struct framework *framework, struct slot *slot, uint64_t *decided)
{
	const struct task_status *task;
	const struct task_work *work;
	size_t role;
	size_t index;

	if (attempt_ended(framework))
		return true;
	if (!slot_task(framework, slot, &role, &index))
		return false;
	task = &framework->status.attempt.roles[role].tasks[index];
	work = &framework->roles[role].tasks[index];
	if (task->attempt.pod_uid != NULL && strcmp(task->attempt.pod_uid, slot->meta->uid) == 0)
		return true;
	if (strcmp(slot->pod->task_uid, task->instance_uid) != 0 || slot->pod->task_attempt_id > task->attempt.id)
		return false;
	if (slot->pod->task_attempt_id == task->attempt.id)
		*decided = task->attempt.pod_uid == NULL ? work->decided : work->adopted;
	return true;
}

static bool knows_config_map(const struct framework *framework, const struct slot *slot, uint64_t *decided)
{
	const struct framework_attempt_status *attempt = &framework->status.attempt;

	if (attempt->config_map_uid != NULL && strcmp(attempt->config_map_uid, slot->meta->uid) == 0)
		return true;
	if (slot->config_map->attempt_id > attempt->id)
		return false;
	if (slot->config_map->attempt_id == attempt->id)
		*decided = attempt->config_map_uid == NULL ? framework->decided : framework->adopted;
	return true;
}

bool fence_vouches(struct framework *framework, struct slot *slot)
{
	if (slot->vouched_by == 0)
		slot->vouched_by = framework->writes_begun + 1;
	if (framework->writes_stored >= slot->vouched_by)
		return true;
	if (!framework_fenced(framework))
		framework_fence(framework);
	return false;
}

bool reconcile_may_delete(struct reconcile *reconcile, struct slot *slot, const char *uid)
{
	struct framework *framework = reconcile->framework;
	bool known = true;
	uint64_t decided = 0;

	if (slot->meta != NULL && strcmp(slot->meta->uid, uid) == 0) {
		if (slot->pod != NULL)
			known = knows_pod(framework, slot, &decided);
		else if (slot->config_map != NULL)
			known = knows_config_map(framework, slot, &decided);
	}
	if (!known)
		fence_vouches(framework, slot);
	return reconcile_may_act(reconcile, slot, decided);
}
