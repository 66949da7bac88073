/* See read.h. */
#include "cli/view/read.h"

#include <string.h>

bool view_condition(const json_t *object, const char *type)
{
	const json_t *condition;
	size_t i;

	json_array_foreach(json_path(object, "status", "conditions", NULL), i, condition) {
		if (strcmp(view_text(condition, "type"), type) == 0)
			return strcmp(view_text(condition, "status"), "True") == 0;
	}
	return false;
}
