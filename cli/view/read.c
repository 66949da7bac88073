/* See read.h. */
#include "cli/view/read.h"

#include <string.h>

bool view_condition(const json_t *object, const char *type)
{
	const json_t *condition = json_find(json_path(object, "status", "conditions", NULL), "type", type);

	return strcmp(view_text(condition, "status"), "True") == 0;
}

const json_t *view_controller(const json_t *object)
{
	const json_t *owner;
	size_t i;

	json_array_foreach(json_path(object, "metadata", "ownerReferences", NULL), i, owner) {
		if (json_bool(owner, "controller", false))
			return owner;
	}
	return NULL;
}
