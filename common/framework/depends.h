/* taskRoles[].dependsOn: what the first Pods of a TaskRole wait for, from spec and status alone (CONTRACT.md §6.13). */
#ifndef FRAMEWORK_DEPENDS_H
#define FRAMEWORK_DEPENDS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/framework/spec.h"
#include "common/framework/status.h"

/* A TaskRole of the spec as others depend on it. Its Tasks are counted once for each status, however many ask. */
struct depends_role {
	const struct role_status *status; /* NULL: it has none */
	struct depends_count {
		bool known;
		size_t awaited; /* Tasks that have not come so far … */
		size_t all;     /* … of so many */
	} counts[DEPENDS_STATUSES];
};

/* Of each TaskRole of the spec, in its order. Borrows both, as they are now. The caller frees. */
struct depends_role *depends_roles(const struct framework_spec *spec, const struct framework_attempt_status *attempt);
/* The first entry that is not met, with how many Tasks of its TaskRole are still awaited, of how many;
 * NULL if the TaskRole waits for none: a Task of it has had a Pod, or every entry is met. roles are those of
 * depends_roles(); spec and status are of the same TaskRole. */
const struct role_dependency *role_dependency_unmet(const struct framework_spec *framework, struct depends_role *roles,
						    const struct task_role_spec *spec, const struct role_status *status,
						    size_t *awaited, size_t *all);

#endif
