/* The environment that launchers of distributed training read (CONTRACT.md §4.14), from the spec alone. */
#ifndef FRAMEWORK_DISTRIBUTED_H
#define FRAMEWORK_DISTRIBUTED_H

#include <stddef.h>

#include "common/framework/spec.h"

/* The parts of a variable's value that differ from Task to Task of a TaskRole. */
enum distributed_hole { HOLE_OF_NONE, HOLE_OF_INDEX, HOLE_OF_RANK };

/* A variable of all Tasks of a TaskRole. Its value is `before`, the Task's number, `after`. */
struct distributed_var {
	const char *name; /* static */
	char *before;
	enum distributed_hole hole;
	const char *after; /* static */
};

enum { DISTRIBUTED_VARS_MAX = 10 };

struct distributed_env {
	struct distributed_var vars[DISTRIBUTED_VARS_MAX];
	size_t count;
	int64_t first_rank; /* that of Task 0 of the TaskRole */
};

/* The variables of a TaskRole (its place in the spec); none if it has no part in spec.distributed. Free with
 * distributed_env_free(). */
void distributed_env_make(const struct framework_spec *spec, const char *framework_name, size_t role,
			  struct distributed_env *out);
void distributed_env_free(struct distributed_env *env);
/* An upper bound of the bytes of its longest variable as "NAME=value" with the NUL. */
size_t distributed_env_longest(const struct framework_spec *spec, const char *framework_name, size_t role);

#endif
