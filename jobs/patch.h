/* Comparing JSON objects, and merge patches (RFC 7386). */
#ifndef JOBS_PATCH_H
#define JOBS_PATCH_H

#include <jansson.h>
#include <stdbool.h>

/* The merge patch that turns `from` into `to`: members that `to` lacks become null. from NULL: none is there. The
 * caller decrefs. */
json_t *patch_make(const json_t *from, const json_t *to);

/* Whether `whole` has all that `part` has. Objects may have more members, which the server has added as defaults; lists
 * have as many items. A member of `part` that is null may be missing. */
bool patch_contains(const json_t *whole, const json_t *part);

#endif
