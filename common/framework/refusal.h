/* The API server's answer in the diagnostics of a Task whose Pod it refused (CONTRACT.md §8.12). */
#ifndef COMMON_FRAMEWORK_REFUSAL_H
#define COMMON_FRAMEWORK_REFUSAL_H

#include <stdbool.h>

/* Whether they have an answer with this reason; false also if they are shortened. */
bool refusal_is(const char *diagnostics, const char *reason);
/* The diagnostics for people: "Failed to create Pod: Invalid: Pod "x" is invalid: …"; others as they are. The caller
 * frees. */
char *refusal_text(const char *diagnostics);

#endif
