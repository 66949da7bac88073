/* Which Tasks of a Framework have an IP: what the barrier waits for (CONTRACT.md §16). */
#ifndef FRAMEWORK_GANG_H
#define FRAMEWORK_GANG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/json_reader.h"
#include "common/framework/object.h"

struct gang_role {
	UT_hash_handle hh;
	char *name;
	int32_t task_number;   /* of the spec */
	struct json_span *ips; /* one for each; .at is NULL when it is not ready; borrowed from the statuses' text */
};

struct gang {
	struct gang_role *roles; /* by name; in the spec's order along hh.next */
	int64_t total;           /* Tasks of the spec */
	int64_t ready;           /* Tasks that have a podIP and are not deletionPending */
	char *packed;            /* the compressed statuses (CONTRACT.md §13); NULL: they were counted */
	char *unpacked;
};

/* Reads a Framework, except compressed statuses, which gang_unpack() counts. Missing statuses, roles and Tasks have no
 * IPs. 0 and *out, to be freed with gang_free() before the object's text; or -1 and *err when the spec cannot be read.
 * Reads only the names and taskNumbers of the spec. */
int gang_read(const struct object_parts *framework, struct gang *out, struct error *err);
/* 0, also if nothing is compressed; or -1 and *err if the statuses are corrupt. */
int gang_unpack(struct gang *gang, struct error *err);
void gang_free(struct gang *gang);
bool gang_passed(const struct gang *gang);
enum { GANG_MISSING_MAX = 5 };
/* Appends the names of up to GANG_MISSING_MAX Tasks that are not ready as a JSON array: ["worker-0","worker-4"]. */
void gang_write_missing(struct buf *out, const struct gang *gang);

/* Replaces taskRoleStatusesCompressed by taskRoleStatuses (CONTRACT.md §13), if the object has only the former. 0, or
 * -1 and *err with the object unchanged. */
int framework_decompress(json_t *framework, struct error *err);

#endif
