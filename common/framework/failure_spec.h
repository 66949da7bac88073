/* podFailureSpec of the configuration (CONTRACT.md §15). common/config fills it, and the reconciler's classification
 * reads it (CONTRACT.md §8). */
#ifndef FRAMEWORK_FAILURE_SPEC_H
#define FRAMEWORK_FAILURE_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/framework/pattern.h"

/* Inclusive; absent bounds are INT32_MIN and INT32_MAX. */
struct int32_range {
	bool given; /* false: the range is absent or has no bounds: every value matches */
	int32_t min;
	int32_t max;
};

/* Patterns are NULL when not given. */
struct container_pattern {
	struct pattern *name;
	struct pattern *reason;
	struct pattern *message;
	struct int32_range signal;
	struct int32_range code;
};

struct pod_pattern {
	struct pattern *name;
	struct pattern *reason;
	struct pattern *message;
	struct container_pattern *containers; /* each must match some container */
	size_t container_count;
};

struct failure_entry {
	int32_t code;
	char *phrase;                 /* "" when not given */
	json_t *attributes;           /* type.attributes: an array of strings, or JSON null when not given */
	struct pod_pattern *patterns; /* any of them; at least one */
	size_t pattern_count;
};

/* Zero-initialise for an empty one. */
struct failure_spec {
	struct failure_entry *entries; /* the first that matches wins */
	size_t count;
};

/* Frees what it owns and zeroes it. */
void failure_spec_free(struct failure_spec *spec);

#endif
