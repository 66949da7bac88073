/* Looking things up in a spec; see spec.h. */
#include <string.h>

#include "common/framework/spec.h"

int framework_spec_find_role(const struct framework_spec *spec, const char *name)
{
	const struct task_role_spec *role;

	HASH_FIND_STR(spec->by_name, name, role);
	return role == NULL ? -1 : (int)(role - spec->roles);
}

int64_t framework_spec_task_count(const struct framework_spec *spec)
{
	int64_t count = 0;

	for (size_t i = 0; i < spec->role_count; i++)
		count += spec->roles[i].task_number;
	return count;
}

const char *framework_spec_subdomain(const struct framework_spec *spec, const char *framework_name)
{
	return spec->network.subdomain != NULL ? spec->network.subdomain : framework_name;
}
