/* podFailureSpec as a Framework gives it (CONTRACT.md §8). */
#ifndef CONFIG_FAILURE_H
#define CONFIG_FAILURE_H

#include <jansson.h>

#include "common/base/error.h"
#include "common/framework/failure_spec.h"

/* What the compiled regular expressions of one Framework may take. A plain one takes some 200 bytes, and 8 for each of
 * its characters. */
enum { FAILURE_PATTERNS_MAX_BYTES = 1024 * 1024 };

/* Reads the list in the form of the configuration's podFailureSpec; unknown members are ignored. NULL and null are an
 * empty list. what names the list in messages, such as "spec.podFailureSpec". 0 and *out, to be freed with
 * failure_spec_free(); or -1 and *err with the member, what was found and what was expected; *out is empty then. */
int failure_spec_parse(const json_t *list, const char *what, struct failure_spec *out, struct error *err);

#endif
