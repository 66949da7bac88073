/* Escapes in JSON strings (RFC 8259 §7); see json_escape.h and json_span_decode() in json_reader.h. */
#include "common/base/json_escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/json_reader.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits of \uXXXX at text, or -1. */
static int32_t hex_four(const char *text, const char *end)
{
	int32_t value = 0;

	if (end - text < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

static bool is_high_surrogate(int32_t unit)
{
	return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low_surrogate(int32_t unit)
{
	return unit >= 0xDC00 && unit <= 0xDFFF;
}

size_t json_escape_length(const char *text, const char *end)
{
	int32_t unit;

	if (end - text < 2)
		return 0;
	if (text[1] != 'u')
		return text[1] != '\0' && strchr("\"\\/bfnrt", text[1]) != NULL ? 2 : 0;
	unit = hex_four(text + 2, end);
	if (unit < 0 || is_low_surrogate(unit))
		return 0;
	if (!is_high_surrogate(unit))
		return 6;
	if (end - text < 12 || text[6] != '\\' || text[7] != 'u' || !is_low_surrogate(hex_four(text + 8, end)))
		return 0;
	return 12;
}

static char *put_utf8(char *out, int32_t point)
{
	if (point < 0x80) {
		*out++ = (char)point;
	} else if (point < 0x800) {
		*out++ = (char)(0xC0 | point >> 6);
		*out++ = (char)(0x80 | (point & 0x3F));
	} else if (point < 0x10000) {
		*out++ = (char)(0xE0 | point >> 12);
		*out++ = (char)(0x80 | (point >> 6 & 0x3F));
		*out++ = (char)(0x80 | (point & 0x3F));
	} else {
		*out++ = (char)(0xF0 | point >> 18);
		*out++ = (char)(0x80 | (point >> 12 & 0x3F));
		*out++ = (char)(0x80 | (point >> 6 & 0x3F));
		*out++ = (char)(0x80 | (point & 0x3F));
	}
	return out;
}

static char unescaped(char c)
{
	switch (c) {
	case 'b': return '\b';
	case 'f': return '\f';
	case 'n': return '\n';
	case 'r': return '\r';
	case 't': return '\t';
	default: return c;
	}
}

size_t json_span_decode(const struct json_span *span, char *out)
{
	const char *at = span->at;
	const char *end = at == NULL ? NULL : at + span->len; /* NULL: of an absent string */
	char *to = out;

	while (at < end) {
		const char *escape = span->escaped ? memchr(at, '\\', (size_t)(end - at)) : NULL;
		size_t plain = (size_t)((escape == NULL ? end : escape) - at);
		int32_t point;

		memcpy(to, at, plain);
		to += plain;
		if (escape == NULL)
			break;
		at = escape + 2;
		if (escape[1] != 'u') {
			*to++ = unescaped(escape[1]);
			continue;
		}
		point = hex_four(at, end);
		at += 4;
		if (is_high_surrogate(point)) {
			point = 0x10000 + ((point - 0xD800) << 10) + (hex_four(at + 2, end) - 0xDC00);
			at += 6;
		}
		to = put_utf8(to, point);
	}
	*to = '\0';
	return (size_t)(to - out);
}
