/* Part of json_reader.c: escapes in strings. */
#ifndef BASE_JSON_ESCAPE_H
#define BASE_JSON_ESCAPE_H

#include <stddef.h>

/* How many bytes the escape at text (a backslash) has, a pair of surrogates as one; 0 if it is none. */
size_t json_escape_length(const char *text, const char *end);

#endif
