/* Characters of UTF-8 (RFC 3629), and which of them are unsafe where people read text. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* Length of the valid sequence at text, or 0; len > 0. */
size_t utf8_sequence(const char *text, size_t len);
/* The character of such a sequence. */
uint32_t utf8_decode(const char *text, size_t len);
/* Whether a character can change what a terminal shows of others: the control characters of ASCII and of ISO 6429
 * (U+0080 to U+009F), line separators, and the characters that change the direction of writing (Unicode Annex 9). */
bool utf8_is_unsafe(uint32_t character);

#endif
