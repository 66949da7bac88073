/* taskRoles[].dependsOn: what the first Pods of a TaskRole wait for, from spec and status alone (CONTRACT.md §6.13). */
#ifndef FRAMEWORK_DEPENDS_H
#define FRAMEWORK_DEPENDS_H

#include <stddef.h>

#include "common/framework/spec.h"
#include "common/framework/status.h"

/* The status of each TaskRole of the spec, in its order; NULL: it has none. The caller frees. */
const struct role_status **role_statuses(const struct framework_spec *spec,
					 const struct framework_attempt_status *attempt);
/* The first entry that is not met, with how many Tasks of its TaskRole are still awaited (count), of how many (all);
 * NULL if the TaskRole waits for none: a Task of it has had a Pod, or every entry is met. statuses are those of
 * role_statuses(); spec and status are of the same TaskRole. */
const struct role_dependency *role_dependency_unmet(const struct framework_spec *framework,
						    const struct role_status *const *statuses,
						    const struct task_role_spec *spec, const struct role_status *status,
						    size_t *count, size_t *all);

#endif
