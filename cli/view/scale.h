/* The JSON patch that changes the taskNumber of TaskRoles. Pure. */
#ifndef CLI_VIEW_SCALE_H
#define CLI_VIEW_SCALE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"

struct scale_wish {
	char role[64];
	int64_t number;
};

/* "worker=5". 0, or -1 and *err. */
int scale_wish_parse(const char *text, struct scale_wish *out, struct error *err);

/* A patch (RFC 6902) that tests each role's name and taskNumber before it replaces the latter, so that it never meets a
 * list that was changed meanwhile. adjust: a minSucceededTaskCount that equals taskNumber follows it, and a larger one
 * than the new taskNumber is lowered to it; both are tested, too. remarks: appends what may surprise; may be NULL. The
 * caller decrefs. NULL and *err if the Framework has no such TaskRole; with code ERANGE if a TaskRole is named twice,
 * if all TaskRoles would have more than FRAMEWORK_TASKS_MAX Tasks together (CONTRACT.md §2.2), or if the Framework
 * would become malformed (CONTRACT.md §2.14). */
json_t *scale_patch(const json_t *framework, const struct scale_wish *wishes, size_t count, bool adjust,
		    struct buf *remarks, struct error *err);
/* Whether the Framework has all numbers already that the patch, made from it, sets. */
bool scale_changes_nothing(const json_t *patch);

#endif
