/* See text.h. */
#define _XOPEN_SOURCE 700
#include "cli/text.h"

#include <string.h>
#include <wchar.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

bool text_is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x061C || (c >= 0x200E && c <= 0x200F) ||
	       (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF ||
	       (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

static void append_safe(struct buf *out, const char *text, size_t len, bool ascii, bool lines)
{
	for (size_t at = 0, size; at < len; at += size) {
		uint32_t character;

		size = utf8_sequence(text + at, len - at);
		if (size == 0) {
			size = 1;
			buf_puts(out, ascii ? "?" : REPLACEMENT);
			continue;
		}
		character = utf8_decode(text + at, size);
		if (character == '\n' || character == '\t' || character == '\r')
			buf_putc(out, lines && character != '\r' ? text[at] : ' ');
		else if (text_is_unsafe(character) || (ascii && size > 1))
			buf_puts(out, ascii ? "?" : REPLACEMENT);
		else
			buf_append(out, text + at, size);
	}
}

void text_append_safe(struct buf *out, const char *text, size_t len, bool ascii)
{
	append_safe(out, text, len, ascii, false);
}

void text_append_safe_lines(struct buf *out, const char *text, size_t len, bool ascii)
{
	append_safe(out, text, len, ascii, true);
}

void text_append_safe_json(struct buf *out, const char *json, size_t len)
{
	for (size_t at = 0, size; at < len; at += size) {
		uint32_t character;

		size = utf8_sequence(json + at, len - at);
		if (size == 0) {
			size = 1;
			buf_puts(out, REPLACEMENT);
			continue;
		}
		character = utf8_decode(json + at, size);
		if (character == '\n' || character == '\t' || !text_is_unsafe(character))
			buf_append(out, json + at, size);
		else if (character < 0x10000)
			buf_printf(out, "\\u%04x", (unsigned)character);
		else
			buf_printf(out, "\\u%04x\\u%04x", (unsigned)(0xD800 + ((character - 0x10000) >> 10)),
				   (unsigned)(0xDC00 + ((character - 0x10000) & 0x3FF)));
	}
}

bool text_has_unsafe(const char *text, size_t len)
{
	for (size_t at = 0, size; at < len; at += size) {
		uint32_t character;

		size = utf8_sequence(text + at, len - at);
		if (size == 0)
			return true;
		character = utf8_decode(text + at, size);
		if (character != '\n' && character != '\t' && text_is_unsafe(character))
			return true;
	}
	return false;
}

/* Columns of the sequence at text; *size gets its bytes. Characters that the locale does not know count as one. */
static size_t columns_at(const char *text, size_t len, size_t *size)
{
	int columns;

	*size = utf8_sequence(text, len);
	if (*size == 0)
		*size = 1;
	if (*size == 1)
		return 1;
	columns = wcwidth((wchar_t)utf8_decode(text, *size));
	return columns < 0 ? 1 : (size_t)columns;
}

size_t text_columns(const char *text)
{
	size_t columns = 0, len = strlen(text);

	for (size_t at = 0, size; at < len; at += size)
		columns += columns_at(text + at, len - at, &size);
	return columns;
}

size_t text_fit(const char *text, size_t columns)
{
	size_t used = 0, len = strlen(text), at = 0;

	for (size_t size; at < len; at += size) {
		used += columns_at(text + at, len - at, &size);
		if (used > columns)
			break;
	}
	return at;
}
