/* The API server's answer in the diagnostics of a Task whose Pod it refused (CONTRACT.md §8.12). */
#ifndef COMMON_FRAMEWORK_REFUSAL_H
#define COMMON_FRAMEWORK_REFUSAL_H

#include <jansson.h>

/* The Status. NULL: the diagnostics are others, or shortened. The caller decrefs. */
json_t *refusal_read(const char *diagnostics);
/* The diagnostics for people: "Failed to create Pod: Invalid: Pod "x" is invalid: …"; others as they are. The caller
 * frees. */
char *refusal_text(const char *diagnostics);

#endif
