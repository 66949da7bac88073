/* See text.h. */
#define _XOPEN_SOURCE 700
#include "cli/text.h"

#include <string.h>
#include <wchar.h>

#include "common/base/utf8.h"

static void append_safe(struct buf *out, const char *text, size_t len, bool ascii, bool lines)
{
	for (size_t at = 0, size; at < len; at += size) {
		uint32_t character;

		size = utf8_sequence(text + at, len - at);
		if (size == 0) {
			size = 1;
			buf_puts(out, ascii ? "?" : UTF8_REPLACEMENT);
			continue;
		}
		character = utf8_decode(text + at, size);
		if (character == '\n' || character == '\t' || character == '\r')
			buf_putc(out, lines && character != '\r' ? text[at] : ' ');
		else if (utf8_is_unsafe(character) || (ascii && size > 1))
			buf_puts(out, ascii ? "?" : UTF8_REPLACEMENT);
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

bool text_has_unsafe(const char *text, size_t len)
{
	for (size_t at = 0, size; at < len; at += size) {
		uint32_t character;

		size = utf8_sequence(text + at, len - at);
		if (size == 0)
			return true;
		character = utf8_decode(text + at, size);
		if (character != '\n' && character != '\t' && utf8_is_unsafe(character))
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
