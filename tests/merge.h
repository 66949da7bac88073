/* A merge patch (RFC 7396), as the API servers of the tests and of the simulator carry it out. */
#ifndef TESTS_MERGE_H
#define TESTS_MERGE_H

#include <jansson.h>
#include <stdint.h>

/* Changes `into` itself. Objects below it are replaced and not changed: others may have them, too. */
static inline void merge_patch(json_t *into, const json_t *patch)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)patch, name, value) {
		json_t *present = json_object_get(into, name);

		if (json_is_null(value)) {
			json_object_del(into, name);
		} else if (json_is_object(value)) {
			json_object_set_new(into, name, json_is_object(present) ? json_copy(present) : json_object());
			merge_patch(json_object_get(into, name), value);
		} else {
			json_object_set_new(into, name, json_deep_copy(value));
		}
	}
}

#endif
