/* Which Tasks of a Framework have an IP: what the barrier waits for (FRAMEWORK.md §16). */
#ifndef FRAMEWORK_GANG_H
#define FRAMEWORK_GANG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"

struct gang_role {
	char *name;
	int32_t task_number; /* of the spec */
	const char **ips;    /* one for each; NULL: not ready; borrowed from the object */
};

struct gang {
	struct gang_role *roles; /* in the spec's order */
	size_t role_count;
	int64_t total; /* Tasks of the spec */
	int64_t ready; /* those of them that have a podIP and are not deletionPending */
};

/* Puts taskRoleStatuses in the place of taskRoleStatusesCompressed (FRAMEWORK.md §13), where the object has the latter
 * and not the former. 0, or -1 and *err, the object unchanged. */
int framework_decompress(json_t *framework, struct error *err);

/* Reads a Framework that is not compressed (any more). A status that is missing, or short of Tasks or roles, has no
 * IPs there. 0 and *out, to be freed with gang_free() before the object; or -1 and *err when the spec cannot be read.
 */
int gang_read(const json_t *framework, struct gang *out, struct error *err);
void gang_free(struct gang *gang);
bool gang_passed(const struct gang *gang);
/* Appends the names of up to max Tasks that are not ready as a JSON array: ["worker-0","worker-4"]. */
void gang_write_missing(struct buf *out, const struct gang *gang, size_t max);

#endif
