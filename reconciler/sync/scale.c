/* Bringing roles and Tasks to the spec (CONTRACT.md §11); see rules.h. */
#include <inttypes.h>

#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "reconciler/sync/rules.h"

bool scale_backup_timeouts(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	bool changed = false;

	for (size_t r = 0; r < framework->status.attempt.role_count; r++) {
		struct role_status *role = &framework->status.attempt.roles[r];
		int in_spec = framework_spec_find_role(&framework->spec, role->name);

		if (in_spec < 0 || framework->spec.roles[in_spec].pod_graceful_deletion_timeout_sec ==
					   role->pod_graceful_deletion_timeout_sec)
			continue;
		role->pod_graceful_deletion_timeout_sec = framework->spec.roles[in_spec]
								  .pod_graceful_deletion_timeout_sec;
		framework->sweep = true; /* a Pod may be due for force deletion now */
		changed = true;
	}
	if (changed)
		framework_touch(reconcile, WRITE_NOW);
	return changed;
}

/* Whether the Task is Completed, wanted no more, and its last state persisted, so that it may leave the list. */
static bool may_leave(struct reconcile *reconcile, size_t role, size_t index, bool *wait)
{
	struct framework *framework = reconcile->framework;
	const struct task_status *task = &framework->status.attempt.roles[role].tasks[index];

	if (!task->deletion_pending || task->state != STATE_COMPLETED)
		return false;
	if (framework->written < framework->roles[role].tasks[index].decided) {
		*wait = true;
		return false;
	}
	return true;
}

/* The slot outlives the Task: a Pod in it is looked at as a stray. */
static void look_at_pod(struct framework *framework, size_t role, size_t index)
{
	slot_mark_dirty(framework, task_slot(framework, role, index));
}

/* want is 0 for a role that is gone from the spec. Returns whether a Task was added, replaced or marked: without grow,
 * only marked. */
static bool scale_role(struct reconcile *reconcile, size_t role, size_t want, bool grow, bool *wait)
{
	struct framework *framework = reconcile->framework;
	struct role_status *status = &framework->status.attempt.roles[role];
	bool changed = false;

	for (size_t i = want; i < status->task_count; i++) {
		if (status->tasks[i].deletion_pending)
			continue;
		task_complete(framework, role, i,
			      completion_predefined(CODE_DELETE_TASK_REQUESTED,
						    "User has requested to delete the Task by Framework ScaleDown"));
		task_mark_deletion(reconcile, role, i);
		look_at_pod(framework, role, i);
		changed = true;
	}
	while (status->task_count > want && may_leave(reconcile, role, status->task_count - 1, wait)) {
		size_t last = status->task_count - 1;

		if (reconcile->config->snapshot_task_deletion)
			snapshot_task(reconcile, role, last, "OnTaskDeletion",
				      "Task will be deleted by Framework ScaleDown", true);
		look_at_pod(framework, role, last);
		role_remove_last_task(framework, role);
		framework_touch(reconcile, WRITE_RUNNING);
	}
	for (size_t i = 0; grow && i < want && i < status->task_count; i++) {
		if (!may_leave(reconcile, role, i, wait))
			continue;
		if (reconcile->config->snapshot_task_deletion)
			snapshot_task(reconcile, role, i, "OnTaskDeletion",
				      "Task will be replaced by Framework ScaleUp", true);
		role_replace_task(reconcile, role, i);
		look_at_pod(framework, role, i);
		changed = true;
	}
	while (grow && status->task_count < want) {
		role_append_task(reconcile, role);
		look_at_pod(framework, role, status->task_count - 1);
		changed = true;
	}
	return changed;
}

/* The spec has more Tasks than a status has room for: none is added. One Event for each such spec. */
static void report_too_many(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;

	if (framework->too_many_reported != framework->generation)
		plan_event(reconcile->plan, true, "TooManyTasks",
			   "The TaskRoles have %" PRId64 " Tasks together, expected at most %d: the controller adds no "
			   "Task until the spec has fewer",
			   framework_spec_task_count(&framework->spec), FRAMEWORK_TASKS_MAX);
	framework->too_many_reported = framework->generation;
}

bool scale_to_spec(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	cleanup_free bool *listed = NULL;
	bool changed = false;
	bool wait = false;
	bool grow = !framework->spec.too_many_tasks;

	if (!framework->scale)
		return false;
	if (!grow)
		report_too_many(reconcile);
	listed = mem_calloc(framework->spec.role_count, sizeof(*listed));
	for (size_t r = 0; r < framework->status.attempt.role_count; r++) {
		int in_spec = framework_spec_find_role(&framework->spec, framework->status.attempt.roles[r].name);

		if (in_spec < 0)
			continue;
		listed[in_spec] = true;
		if (scale_role(reconcile, r, (size_t)framework->spec.roles[in_spec].task_number, grow, &wait))
			changed = true;
	}
	for (size_t s = 0; s < framework->spec.role_count; s++) {
		const struct task_role_spec *spec = &framework->spec.roles[s];

		if (listed[s])
			continue;
		scale_role(reconcile,
			   framework_append_role(reconcile, spec->name, spec->pod_graceful_deletion_timeout_sec),
			   (size_t)spec->task_number, grow, &wait);
		changed = true;
	}
	for (size_t r = 0; r < framework->status.attempt.role_count;) {
		if (framework_spec_find_role(&framework->spec, framework->status.attempt.roles[r].name) >= 0) {
			r++;
			continue;
		}
		if (scale_role(reconcile, r, 0, grow, &wait))
			changed = true;
		if (framework->status.attempt.roles[r].task_count == 0) {
			framework_remove_role(framework, r);
			framework_touch(reconcile, WRITE_RUNNING);
		} else {
			r++;
		}
	}
	/* Tasks still on their way out set scale again when they become Completed; written ones are waited for here. */
	framework->scale = wait;
	return changed;
}
