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
	case DEPENDS_SUCCEEDED:
	case DEPENDS_STATUSES: break;
	}
	return false;
}

/* Of task_number Tasks in the spec. Those that the status does not list yet have reached nothing: they take the places
 * of Tasks with deletionPending. */
static const struct depends_count *count(struct depends_role *role, int32_t task_number, enum depends_status status)
{
	struct depends_count *counted = &role->counts[status];

	if (counted->known)
		return counted;
	counted->known = true;
	for (size_t i = 0; role->status != NULL && i < role->status->task_count; i++) {
		if (role->status->tasks[i].deletion_pending)
			continue;
		counted->all++;
		counted->awaited += !task_reached(&role->status->tasks[i], status);
	}
	if (counted->all < (size_t)task_number) {
		counted->awaited += (size_t)task_number - counted->all;
		counted->all = (size_t)task_number;
	}
	return counted;
}

/* Whether a Task of it has had a Pod. */
static bool started(const struct role_status *role)
{
	for (size_t i = 0; i < role->task_count; i++)
		if (role->tasks[i].attempt.pod_uid != NULL || role->tasks[i].attempt.id > 0)
			return true;
	return false;
}

struct depends_role *depends_roles(const struct framework_spec *spec, const struct framework_attempt_status *attempt)
{
	struct depends_role *roles = mem_calloc(spec->role_count, sizeof(*roles));

	for (size_t r = 0; r < attempt->role_count; r++) {
		int in_spec = framework_spec_find_role(spec, attempt->roles[r].name);

		if (in_spec >= 0)
			roles[in_spec].status = &attempt->roles[r];
	}
	return roles;
}

const struct role_dependency *role_dependency_unmet(const struct framework_spec *framework, struct depends_role *roles,
						    const struct task_role_spec *spec, const struct role_status *status,
						    size_t *awaited, size_t *all)
{
	if (spec->depends_count == 0 || started(status))
		return NULL;
	for (size_t i = 0; i < spec->depends_count; i++) {
		const struct role_dependency *dependency = &spec->depends_on[i];
		const struct depends_count *counted = count(
			&roles[dependency->role], framework->roles[dependency->role].task_number, dependency->status);

		*awaited = counted->awaited;
		*all = counted->all;
		if (*awaited > 0)
			return dependency;
	}
	return NULL;
}
