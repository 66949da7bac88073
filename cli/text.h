/* Text of the cluster made safe for a terminal: names, messages and logs can contain anything. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

/* Whether a character can change what a terminal shows of others: the control characters of ASCII and of ISO 6429
 * (U+0080 to U+009F), line separators, and the characters that change the direction of writing (Unicode Annex 9).
 */
bool text_is_unsafe(uint32_t character);

/* Appends text as part of one line. Line ends and tabs become blanks; other unsafe characters and bytes that are not
 * UTF-8 become U+FFFD, or '?' with ascii, as does then every character beyond ASCII. */
void text_append_safe(struct buf *out, const char *text, size_t len, bool ascii);
/* The same for text of several lines: line ends and tabs stay. */
void text_append_safe_lines(struct buf *out, const char *text, size_t len, bool ascii);
/* Appends JSON text in which each unsafe character is an escape (RFC 8259 §7): the same value. It is valid JSON. */
void text_append_safe_json(struct buf *out, const char *json, size_t len);
/* Whether text has an unsafe character other than line ends and tabs. */
bool text_has_unsafe(const char *text, size_t len);

/* How many columns of a terminal safe text takes, by the locale that setlocale() has set. */
size_t text_columns(const char *text);
/* How many bytes of safe text fit into so many columns. */
size_t text_fit(const char *text, size_t columns);

#endif
