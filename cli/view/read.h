/* Short cuts over json.h for the views. */
#ifndef CLI_VIEW_READ_H
#define CLI_VIEW_READ_H

#include "common/base/json.h"

/* object[name] if that is a string, else "". Borrowed. */
static inline const char *view_text(const json_t *object, const char *name)
{
	const char *text = json_str(object, name);

	return text == NULL ? "" : text;
}

/* Whether status.conditions has one of that type with status True. */
bool view_condition(const json_t *object, const char *type);
/* The entry of metadata.ownerReferences with controller: true, or NULL. Borrowed. */
const json_t *view_controller(const json_t *object);

#endif
