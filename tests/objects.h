/* Observed objects from trees, which tests make more easily than text. Borrowed and owned as in
 * common/framework/object.h. */
#ifndef TESTS_OBJECTS_H
#define TESTS_OBJECTS_H

#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/object.h"

static inline struct config_map *config_map_parse(const json_t *object, struct error *err)
{
	cleanup_free char *text = json_text(object);

	return config_map_read(text, strlen(text), err);
}

static inline struct pod *pod_parse(const json_t *object, struct error *err)
{
	cleanup_free char *text = json_text(object);

	return pod_read(text, strlen(text), err);
}

/* The label FC_FRAMEWORK_NAME of a ConfigMap or Pod, borrowed; NULL when it has none. */
static inline const char *object_framework_name(const json_t *object)
{
	return json_str(json_object_get(json_object_get(object, "metadata"), "labels"), "FC_FRAMEWORK_NAME");
}

#endif
