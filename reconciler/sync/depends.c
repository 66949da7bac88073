/* taskRoles[].dependsOn (CONTRACT.md §6): the first Pods of a TaskRole wait for the Tasks of others; see rules.h. */
#include "common/framework/depends.h"
#include "reconciler/sync/rules.h"

static void report_waiting(struct reconcile *reconcile, struct role_work *work, const struct task_role_spec *spec,
			   const struct role_dependency *dependency, size_t count, size_t all)
{
	if (work->depends_reported)
		return;
	work->depends_reported = true;
	plan_event(reconcile->plan, false, "TaskRoleWaiting",
		   "TaskRole %s waits until all Tasks of TaskRole %s are %s: %zu of %zu are not yet", spec->name,
		   reconcile->framework->spec.roles[dependency->role].name, depends_status_name(dependency->status),
		   count, all);
}

static void look_at_role(struct reconcile *reconcile, struct depends_role *roles, size_t r,
			 const struct task_role_spec *spec)
{
	struct framework *framework = reconcile->framework;
	struct role_work *work = &framework->roles[r];
	const struct role_dependency *dependency;
	size_t count = 0;
	size_t all = 0;

	if (work->depends == DEPENDS_OVER)
		return;
	dependency = role_dependency_unmet(&framework->spec, roles, spec, &framework->status.attempt.roles[r], &count,
					   &all);
	if (dependency != NULL) {
		work->depends = DEPENDS_WAITING;
		report_waiting(reconcile, work, spec, dependency, count, all);
		return;
	}
	/* The Tasks that it rests on are stored as they are first: a crash does not take it back. */
	if (work->depends == DEPENDS_WAITING) {
		work->depends = DEPENDS_MET;
		work->depends_version = framework->version;
		if (framework->written < framework->version)
			pace_hurry(framework);
	}
	if (framework->written >= work->depends_version) {
		work->depends = DEPENDS_OVER;
		framework->sweep = true;
	}
}

void depends_sync(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	cleanup_free struct depends_role *roles = NULL;

	if (!framework->spec.has_dependencies || framework_completing(framework))
		return;
	roles = depends_roles(&framework->spec, &framework->status.attempt);
	for (size_t r = 0; r < framework->status.attempt.role_count; r++) {
		int in_spec = framework_spec_find_role(&framework->spec, framework->status.attempt.roles[r].name);

		if (in_spec >= 0 && framework->spec.roles[in_spec].depends_count > 0 &&
		    framework->roles[r].creation_pending > 0)
			look_at_role(reconcile, roles, r, &framework->spec.roles[in_spec]);
	}
}

bool depends_hold(const struct framework *framework, size_t role, size_t index)
{
	const struct role_status *status = &framework->status.attempt.roles[role];
	int in_spec;

	if (!framework->spec.has_dependencies)
		return false;
	in_spec = framework_spec_find_role(&framework->spec, status->name);
	return in_spec >= 0 && framework->spec.roles[in_spec].depends_count > 0 &&
	       framework->roles[role].depends != DEPENDS_OVER && status->tasks[index].attempt.id == 0;
}
