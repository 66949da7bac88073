/* Byte buffer and JSON text writer; see buf.h. */
#include "common/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json_reader.h"
#include "common/base/mem.h"
#include "common/base/utf8.h"

enum { BUF_FIRST = 128 };

void buf_free(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){0};
}

void buf_cleanup(struct buf *buf)
{
	buf_free(buf);
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data != NULL)
		buf->data[0] = '\0';
}

static void grow(struct buf *buf, size_t extra)
{
	size_t need;
	size_t cap = buf->cap == 0 ? BUF_FIRST : buf->cap;

	if (__builtin_add_overflow(buf->len, extra, &need) || __builtin_add_overflow(need, 1, &need))
		need = SIZE_MAX; /* mem_realloc aborts */
	while (cap < need && cap <= SIZE_MAX / 2)
		cap *= 2;
	if (cap < need)
		cap = need;
	buf->data = mem_realloc(buf->data, cap, 1);
	buf->cap = cap;
}

void buf_reserve(struct buf *buf, size_t extra)
{
	if (extra >= buf->cap - buf->len)
		grow(buf, extra);
}

void buf_append(struct buf *buf, const void *data, size_t len)
{
	buf_reserve(buf, len);
	if (len > 0)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void buf_puts(struct buf *buf, const char *text)
{
	buf_append(buf, text, strlen(text));
}

void buf_putc(struct buf *buf, char c)
{
	buf_reserve(buf, 1);
	buf->data[buf->len++] = c;
	buf->data[buf->len] = '\0';
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;
	int len;

	buf_reserve(buf, BUF_FIRST);
	va_start(args, format);
	len = vsnprintf(buf->data + buf->len, buf->cap - buf->len, format, args);
	va_end(args);
	if (len < 0)
		abort(); /* only a broken format does this */
	if ((size_t)len >= buf->cap - buf->len) {
		buf_reserve(buf, (size_t)len);
		va_start(args, format);
		vsnprintf(buf->data + buf->len, buf->cap - buf->len, format, args);
		va_end(args);
	}
	buf->len += (size_t)len;
}

void buf_put_int(struct buf *buf, int64_t value)
{
	char digits[24];
	char *at = digits + sizeof(digits);
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	do {
		*--at = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (value < 0)
		*--at = '-';
	buf_append(buf, at, (size_t)(digits + sizeof(digits) - at));
}

void buf_consume(struct buf *buf, size_t count)
{
	if (count >= buf->len) {
		buf_clear(buf);
		return;
	}
	memmove(buf->data, buf->data + count, buf->len - count);
	buf->len -= count;
	buf->data[buf->len] = '\0';
}

char *buf_steal(struct buf *buf)
{
	char *data;

	buf_reserve(buf, 0);
	data = buf->data;
	data[buf->len] = '\0';
	*buf = (struct buf){0};
	return data;
}

static void put_escaped(struct buf *buf, unsigned char c)
{
	static const char letters[0x20] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};

	if (c >= 0x20)
		buf_append(buf, (const char[]){'\\', (char)c}, 2);
	else if (letters[c] != '\0')
		buf_append(buf, (const char[]){'\\', letters[c]}, 2);
	else
		buf_printf(buf, "\\u%04x", c);
}

void buf_json_part(struct buf *buf, const char *text, size_t len)
{
	const char *end = text + len;
	const char *plain = text; /* start of the run that needs no change */
	const char *at = json_plain_end(text, end);

	while (at < end) {
		size_t size = (unsigned char)*at < 0x80 ? 0 : utf8_sequence(at, (size_t)(end - at));

		if (size == 0) {
			buf_append(buf, plain, (size_t)(at - plain));
			if ((unsigned char)*at < 0x80)
				put_escaped(buf, (unsigned char)*at);
			else
				buf_puts(buf, UTF8_REPLACEMENT);
			size = 1;
			plain = at + 1;
		}
		at = json_plain_end(at + size, end);
	}
	buf_append(buf, plain, (size_t)(end - plain));
}

void buf_json_string_n(struct buf *buf, const char *text, size_t len)
{
	buf_reserve(buf, len + 2);
	buf_putc(buf, '"');
	buf_json_part(buf, text, len);
	buf_putc(buf, '"');
}

void buf_json_string(struct buf *buf, const char *text)
{
	if (text == NULL)
		buf_puts(buf, "null");
	else
		buf_json_string_n(buf, text, strlen(text));
}

void buf_json_next(struct buf *buf)
{
	if (buf->len > 0 && buf->data[buf->len - 1] != '{' && buf->data[buf->len - 1] != '[')
		buf_putc(buf, ',');
}

void buf_json_key(struct buf *buf, const char *name)
{
	buf_json_next(buf);
	buf_putc(buf, '"');
	buf_puts(buf, name);
	buf_puts(buf, "\":");
}

void buf_json_open(struct buf *buf, const char *name, char bracket)
{
	buf_json_key(buf, name);
	buf_putc(buf, bracket);
}

void buf_json_text(struct buf *buf, const char *name, const char *text)
{
	buf_json_key(buf, name);
	buf_json_string(buf, text);
}

void buf_json_text_if_any(struct buf *buf, const char *name, const char *text)
{
	if (text != NULL && *text != '\0')
		buf_json_text(buf, name, text);
}

void buf_json_int(struct buf *buf, const char *name, int64_t value)
{
	buf_json_key(buf, name);
	buf_put_int(buf, value);
}

void buf_json_bool(struct buf *buf, const char *name, bool value)
{
	buf_json_key(buf, name);
	buf_puts(buf, value ? "true" : "false");
}

void buf_json_null(struct buf *buf, const char *name)
{
	buf_json_key(buf, name);
	buf_puts(buf, "null");
}

void buf_json_time(struct buf *buf, const char *name, int64_t unix_sec)
{
	char text[TIME_RFC3339_SIZE];

	if (unix_sec == 0)
		buf_json_null(buf, name);
	else
		buf_json_text(buf, name, time_format_rfc3339(unix_sec, text));
}

void buf_put_safe(struct buf *out, const char *text, size_t len)
{
	for (size_t at = 0, size; at < len; at += size) {
		uint32_t character;

		size = utf8_sequence(text + at, len - at);
		if (size == 0) {
			size = 1;
			buf_puts(out, UTF8_REPLACEMENT);
			continue;
		}
		character = utf8_decode(text + at, size);
		if (character == '\n' || character == '\t' || !utf8_is_unsafe(character))
			buf_append(out, text + at, size);
		else if (character < 0x10000)
			buf_printf(out, "\\u%04x", (unsigned)character);
		else
			buf_printf(out, "\\u%04x\\u%04x", (unsigned)(0xD800 + ((character - 0x10000) >> 10)),
				   (unsigned)(0xDC00 + ((character - 0x10000) & 0x3FF)));
	}
}
