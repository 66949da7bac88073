/* Freeing podFailureSpec; see failure_spec.h. */
#include "common/framework/failure_spec.h"

#include <stdlib.h>

static void pod_pattern_free(struct pod_pattern *pattern)
{
	pattern_free(pattern->name);
	pattern_free(pattern->reason);
	pattern_free(pattern->message);
	for (size_t i = 0; i < pattern->container_count; i++) {
		pattern_free(pattern->containers[i].name);
		pattern_free(pattern->containers[i].reason);
		pattern_free(pattern->containers[i].message);
	}
	free(pattern->containers);
}

void failure_spec_free(struct failure_spec *spec)
{
	for (size_t i = 0; i < spec->count; i++) {
		struct failure_entry *entry = &spec->entries[i];
		for (size_t j = 0; j < entry->pattern_count; j++)
			pod_pattern_free(&entry->patterns[j]);
		free(entry->patterns);
		free(entry->phrase);
		json_decref(entry->attributes);
	}
	free(spec->entries);
	*spec = (struct failure_spec){0};
}
