/* See depends.h. */
#include "common/framework/depends.h"

#include <string.h>

#include "common/base/mem.h"
#include "common/framework/codes.h"

/* Whether the Task has come so far, at any time in this attempt of the Framework. */
static bool task_reached(const struct task_status *task, enum depends_status status)
{
	if (task->state == STATE_COMPLETED && task->attempt.completion != NULL &&
	    task->attempt.completion->code == CODE_SUCCEEDED)
		return true;
	switch (status) {
	case DEPENDS_RUNNING: return task->run_time != 0;
	case DEPENDS_READY: return task->ready_time != 0;
	case DEPENDS_SUCCEEDED: break;
	}
	return false;
}

/* Of so many Tasks of the TaskRole in the spec. Those that the status does not list yet have reached nothing: they take
 * the places of Tasks with deletionPending. */
static size_t awaited(const struct role_status *role, int32_t task_number, enum depends_status status, size_t *all)
{
	size_t count = 0;

	*all = 0;
	for (size_t i = 0; role != NULL && i < role->task_count; i++) {
		if (role->tasks[i].deletion_pending)
			continue;
		++*all;
		count += !task_reached(&role->tasks[i], status);
	}
	if (*all < (size_t)task_number) {
		count += (size_t)task_number - *all;
		*all = (size_t)task_number;
	}
	return count;
}

/* Whether a Task of it has had a Pod. */
static bool started(const struct role_status *role)
{
	for (size_t i = 0; i < role->task_count; i++)
		if (role->tasks[i].attempt.pod_uid != NULL || role->tasks[i].attempt.id > 0)
			return true;
	return false;
}

const struct role_status **role_statuses(const struct framework_spec *spec,
					 const struct framework_attempt_status *attempt)
{
	const struct role_status **statuses = mem_calloc(spec->role_count, sizeof(*statuses));

	for (size_t r = 0; r < attempt->role_count; r++) {
		int in_spec = framework_spec_find_role(spec, attempt->roles[r].name);

		if (in_spec >= 0)
			statuses[in_spec] = &attempt->roles[r];
	}
	return statuses;
}

const struct role_dependency *role_dependency_unmet(const struct framework_spec *framework,
						    const struct role_status *const *statuses,
						    const struct task_role_spec *spec, const struct role_status *status,
						    size_t *count, size_t *all)
{
	if (spec->depends_count == 0 || started(status))
		return NULL;
	for (size_t i = 0; i < spec->depends_count; i++) {
		const struct role_dependency *dependency = &spec->depends_on[i];
		const struct task_role_spec *role = &framework->roles[dependency->role];

		*count = awaited(statuses[dependency->role], role->task_number, dependency->status, all);
		if (*count > 0)
			return dependency;
	}
	return NULL;
}
