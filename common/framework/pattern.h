/* Regular expressions of podFailureSpec: RE2 syntax as Go users write it (CONTRACT.md §8), matched by PCRE2.
 *
 * A pattern is rewritten where PCRE2 reads RE2's syntax differently, and what PCRE2 adds is refused at load
 * (lookaround, backreferences, recursion, conditionals, atomic groups, possessive quantifiers, verbs, comments, flags
 * other than imsU, unknown escapes). So patterns of RE2 match as in RE2: `$` without m only at the very end, `\s`
 * without the vertical tab, `\v` the vertical tab alone, classes such as \w and \d ASCII only. Matches are
 * leftmost-first. */
#ifndef FRAMEWORK_PATTERN_H
#define FRAMEWORK_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum {
	PATTERN_MAX_BYTES = 4096,
	/* Only this part of a subject is searched. Termination messages end at 4096 bytes. */
	PATTERN_SUBJECT_MAX_BYTES = 32 * 1024,
};

struct pattern;

/* NULL and *err (with the offset in bytes from 0 where that is known) when source is no regular expression.
 * Free with pattern_free. */
struct pattern *pattern_compile(const char *source, struct error *err);
void pattern_free(struct pattern *pattern); /* NULL is fine */
/* As given. Borrowed. */
const char *pattern_source(const struct pattern *pattern);

/* Of memory, about. */
size_t pattern_bytes(const struct pattern *pattern);

/* Searches for the first match anywhere in subject, which need not be valid UTF-8 (invalid bytes match nothing). True
 * with the match's place in *start and *len (either may be NULL). The work is bounded by two million steps, of which a
 * processor does some hundred in a microsecond, and by *steps, from which it takes what it needs. A search that reaches
 * a bound counts as no match and is logged; without steps it finds nothing. */
bool pattern_search(const struct pattern *pattern, const char *subject, int64_t *steps, size_t *start, size_t *len);

#endif
