/* Text of the cluster made safe for a terminal: names, messages and logs can contain anything. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

/* Appends text as part of one line. Line ends and tabs become blanks; other unsafe characters (utf8_is_unsafe()) and
 * bytes that are not UTF-8 become U+FFFD, or '?' with ascii, as does then every character beyond ASCII. */
void text_append_safe(struct buf *out, const char *text, size_t len, bool ascii);
/* The same for text of several lines: line ends and tabs stay. */
void text_append_safe_lines(struct buf *out, const char *text, size_t len, bool ascii);
/* Whether text has an unsafe character other than line ends and tabs. */
bool text_has_unsafe(const char *text, size_t len);

/* How many columns of a terminal safe text takes, by the locale that setlocale() has set. */
size_t text_columns(const char *text);
/* How many bytes of safe text fit into so many columns. */
size_t text_fit(const char *text, size_t columns);

#endif
