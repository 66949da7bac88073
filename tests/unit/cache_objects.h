/* Objects for a cache that tests have as trees. */
#ifndef UNIT_CACHE_OBJECTS_H
#define UNIT_CACHE_OBJECTS_H

#include <string.h>

#include "common/base/json.h"
#include "watcher/view/cache.h"

static inline int present_object(struct cache *cache, enum object_kind kind, const json_t *object, struct error *err)
{
	cleanup_free char *text = json_text(object);

	return cache_present_raw(cache, kind, &(struct reflector_object){.data = text, .len = strlen(text)}, err);
}

static inline int delete_object(struct cache *cache, enum object_kind kind, const json_t *object, struct error *err)
{
	cleanup_free char *text = json_text(object);

	return cache_deleted_raw(cache, kind, &(struct reflector_object){.data = text, .len = strlen(text)}, err);
}

#endif
