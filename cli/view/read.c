/* See read.h. */
#include "cli/view/read.h"

#include <string.h>

bool view_condition(const json_t *object, const char *type)
{
	const json_t *condition = json_find(json_path(object, "status", "conditions", NULL), "type", type);

	return strcmp(view_text(condition, "status"), "True") == 0;
}
