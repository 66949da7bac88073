/* A quick way between plain texts and trees, for memo.c: what the cores and the simulator write has no blanks, hardly
 * any escapes and no reals. What is not plain is left to common/base/json.c. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/sim.h"

enum { DIGITS_MAX = 18 /* fit an int64_t */, DEPTH_MAX = 32 };

struct reader {
	const char *at;
	const char *end;
	int depth;
};

static bool plain(unsigned char c)
{
	return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
}

/* The string at the reader, which goes behind it; NULL when it is not plain. */
static const char *read_string(struct reader *reader, size_t *len)
{
	const char *begin = ++reader->at;

	while (reader->at < reader->end && plain((unsigned char)*reader->at))
		reader->at++;
	if (reader->at == reader->end || *reader->at != '"')
		return NULL;
	*len = (size_t)(reader->at++ - begin);
	return begin;
}

static bool take(struct reader *reader, char c)
{
	if (reader->at == reader->end || *reader->at != c)
		return false;
	reader->at++;
	return true;
}

static json_t *read_value(struct reader *reader);

static json_t *read_object(struct reader *reader)
{
	json_t *object = json_object();
	size_t count = 0;

	reader->at++;
	if (take(reader, '}'))
		return object;
	do {
		size_t len = 0;
		const char *name = reader->at < reader->end && *reader->at == '"' ? read_string(reader, &len) : NULL;
		json_t *value = name == NULL || !take(reader, ':') ? NULL : read_value(reader);

		if (value == NULL || json_object_setn_new_nocheck(object, name, len, value) < 0 ||
		    json_object_size(object) != ++count) { /* a name twice */
			json_decref(object);
			return NULL;
		}
	} while (take(reader, ','));
	if (take(reader, '}'))
		return object;
	json_decref(object);
	return NULL;
}

static json_t *read_array(struct reader *reader)
{
	json_t *array = json_array();

	reader->at++;
	if (take(reader, ']'))
		return array;
	do {
		json_t *value = read_value(reader);

		if (value == NULL || json_array_append_new(array, value) < 0) {
			json_decref(array);
			return NULL;
		}
	} while (take(reader, ','));
	if (take(reader, ']'))
		return array;
	json_decref(array);
	return NULL;
}

static json_t *read_number(struct reader *reader)
{
	bool negative = take(reader, '-');
	const char *begin = reader->at;
	json_int_t value = 0;

	while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
		value = value * 10 + (*reader->at++ - '0');
	if (reader->at == begin || reader->at - begin > DIGITS_MAX || (*begin == '0' && reader->at - begin > 1) ||
	    (reader->at < reader->end && strchr(".eE", *reader->at) != NULL))
		return NULL;
	return json_integer(negative ? -value : value);
}

static bool take_word(struct reader *reader, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(reader->end - reader->at) < len || memcmp(reader->at, word, len) != 0)
		return false;
	reader->at += len;
	return true;
}

static json_t *read_value(struct reader *reader)
{
	json_t *value = NULL;
	const char *text;
	size_t len;

	if (reader->at == reader->end || reader->depth == DEPTH_MAX)
		return NULL;
	reader->depth++;
	switch (*reader->at) {
	case '{': value = read_object(reader); break;
	case '[': value = read_array(reader); break;
	case '"':
		text = read_string(reader, &len);
		value = text == NULL ? NULL : json_stringn_nocheck(text, len);
		break;
	case 't': value = take_word(reader, "true") ? json_true() : NULL; break;
	case 'f': value = take_word(reader, "false") ? json_false() : NULL; break;
	case 'n': value = take_word(reader, "null") ? json_null() : NULL; break;
	default: value = read_number(reader); break;
	}
	reader->depth--;
	return value;
}

json_t *quick_parse(const char *text, size_t len)
{
	struct reader reader = {.at = text, .end = text + len};
	json_t *value = read_value(&reader);

	if (value == NULL || reader.at == reader.end)
		return value;
	json_decref(value);
	return NULL;
}

static bool write_string(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!plain((unsigned char)text[i]))
			return false;
	buf_putc(out, '"');
	buf_append(out, text, len);
	buf_putc(out, '"');
	return true;
}

bool quick_write(struct buf *out, const json_t *value)
{
	const char *name;
	json_t *member;
	size_t i;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		buf_putc(out, '{');
		json_object_foreach((json_t *)value, name, member) {
			if (out->data[out->len - 1] != '{')
				buf_putc(out, ',');
			if (!write_string(out, name, strlen(name)))
				return false;
			buf_putc(out, ':');
			if (!quick_write(out, member))
				return false;
		}
		buf_putc(out, '}');
		return true;
	case JSON_ARRAY:
		buf_putc(out, '[');
		json_array_foreach(value, i, member) {
			if (i > 0)
				buf_putc(out, ',');
			if (!quick_write(out, member))
				return false;
		}
		buf_putc(out, ']');
		return true;
	case JSON_STRING: return write_string(out, json_string_value(value), json_string_length(value));
	case JSON_INTEGER: {
		char digits[24];

		snprintf(digits, sizeof(digits), "%lld", (long long)json_integer_value(value));
		buf_puts(out, digits);
		return true;
	}
	case JSON_TRUE: buf_puts(out, "true"); return true;
	case JSON_FALSE: buf_puts(out, "false"); return true;
	case JSON_NULL: buf_puts(out, "null"); return true;
	default: return false;
	}
}
