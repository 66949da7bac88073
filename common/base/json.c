/* Reading JSON objects; see json.h. */
#include "common/base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json_reader.h"
#include "common/base/json_tree.h"

/* More digits than any 64-bit integer has are out of its range; so may as many be. */
enum { INTEGER_DIGITS = 19 };

static bool is_beyond_int64(const char *digits, size_t len, bool negative)
{
	const char *limit = negative ? "9223372036854775808" : "9223372036854775807";

	return len > INTEGER_DIGITS || (len == INTEGER_DIGITS && memcmp(digits, limit, INTEGER_DIGITS) > 0);
}

/* The end of a string that begins at text[at]. */
static size_t skip_string(const char *text, size_t len, size_t at)
{
	for (at++; at < len && text[at] != '"'; at++)
		if (text[at] == '\\')
			at++;
	return at < len ? at + 1 : len;
}

/* Copies text with an exponent behind every integer past 64 bits, which makes a real of it and of nothing else. */
static void mark_large_integers(const char *text, size_t len, struct buf *out)
{
	size_t at = 0, copied = 0;

	while (at < len) {
		bool negative = text[at] == '-';
		size_t begin = at + negative, end = begin;

		if (text[at] == '"') {
			at = skip_string(text, len, at);
			continue;
		}
		while (end < len && text[end] >= '0' && text[end] <= '9')
			end++;
		if (end == begin) {
			at++;
			continue;
		}
		if (is_beyond_int64(text + begin, end - begin, negative) &&
		    (end == len || strchr(".eE", text[end]) == NULL) &&
		    (at == 0 || strchr(".eE+", text[at - 1]) == NULL)) {
			buf_append(out, text + copied, end - copied);
			buf_puts(out, "e0");
			copied = end;
		}
		at = end;
	}
	buf_append(out, text + copied, len - copied);
}

bool json_too_many_values(const char *text, size_t len)
{
	size_t count = 0;

	if (len <= JSON_VALUES_MAX)
		return false;
	/* Each but the first of an object or array follows a comma. */
	for (size_t at = 0; at < len && count <= JSON_VALUES_MAX;) {
		if (text[at] == '"') {
			at = skip_string(text, len, at);
			continue;
		}
		count += text[at] == ',' || text[at] == '{' || text[at] == '[';
		at++;
	}
	return count > JSON_VALUES_MAX;
}

json_t *json_parse(const char *text, size_t len, struct error *err)
{
	const size_t flags = JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
	json_error_t error;
	json_t *value;

	/* a text no longer than that many bytes cannot have them */
	if (json_too_many_values(text, len)) {
		error_set(err, "JSON of more than %d values", JSON_VALUES_MAX);
		return NULL;
	}
	value = json_tree_read(text, len);
	if (value != NULL)
		return value;
	value = json_loadb(text, len, flags, &error);
	if (value == NULL && json_error_code(&error) == json_error_numeric_overflow) {
		cleanup_buf struct buf marked = {0};

		/* JSON_DECODE_INT_AS_REAL would make reals of all the document's integers. */
		mark_large_integers(text, len, &marked);
		value = json_loadb(marked.data, marked.len, flags, &error);
	}
	if (value == NULL)
		error_set(err, "%d:%d: invalid JSON: %s", error.line, error.column, error.text);
	return value;
}

const char *json_str(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

int64_t json_int(const json_t *object, const char *name, int64_t fallback)
{
	const json_t *value = json_object_get(object, name);

	if (json_is_integer(value))
		return (int64_t)json_integer_value(value);
	return fallback;
}

bool json_bool(const json_t *object, const char *name, bool fallback)
{
	const json_t *value = json_object_get(object, name);

	return json_is_boolean(value) ? json_is_true(value) : fallback;
}

json_t *json_path(const json_t *object, ...)
{
	va_list names;
	const char *name;
	json_t *at = (json_t *)object;

	va_start(names, object);
	while (at != NULL && (name = va_arg(names, const char *)) != NULL)
		at = json_object_get(at, name);
	va_end(names);
	return at;
}

json_t *json_find(const json_t *array, const char *member, const char *text)
{
	size_t i;
	json_t *item;

	json_array_foreach((json_t *)(uintptr_t)array, i, item) {
		const char *found = json_str(item, member);

		if (found != NULL && strcmp(found, text) == 0)
			return item;
	}
	return NULL;
}

int64_t json_time(const json_t *object, const char *name)
{
	const char *text = json_str(object, name);
	int64_t seconds;

	return text == NULL || time_parse_rfc3339(text, &seconds) < 0 ? 0 : seconds;
}

json_t *json_object_of(const char *name, json_t *value, ...)
{
	json_t *object = json_object();
	va_list rest;

	va_start(rest, value);
	while (name != NULL) {
		json_object_set_new(object, name, value);
		name = va_arg(rest, const char *);
		value = name == NULL ? NULL : va_arg(rest, json_t *);
	}
	va_end(rest);
	return object;
}

static int append_chunk(const char *data, size_t len, void *buf)
{
	buf_append(buf, data, len);
	return 0;
}

/* With the fewest digits that read as the same number: by default jansson writes 17, so that 0.1 becomes
 * 0.10000000000000001, as a Quantity 101m. */
static void put_real(struct buf *out, const json_t *value)
{
	char text[40];
	int digits = 15;

	for (; digits < 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, json_real_value(value));
		if (strtod(text, NULL) == json_real_value(value))
			break;
	}
	json_dump_callback(value, append_chunk, out, JSON_ENCODE_ANY | JSON_REAL_PRECISION((size_t)digits));
}

static void put_value(struct buf *out, const json_t *value);

static void put_object(struct buf *out, const json_t *object)
{
	const char *name;
	json_t *value;
	bool first = true;

	buf_putc(out, '{');
	json_object_foreach((json_t *)object, name, value) {
		if (!first)
			buf_putc(out, ',');
		first = false;
		buf_json_string_n(out, name, strlen(name));
		buf_putc(out, ':');
		put_value(out, value);
	}
	buf_putc(out, '}');
}

static void put_value(struct buf *out, const json_t *value)
{
	const json_t *item;
	size_t i;

	switch (json_typeof(value)) {
	case JSON_OBJECT: put_object(out, value); break;
	case JSON_ARRAY:
		buf_putc(out, '[');
		json_array_foreach(value, i, item) {
			if (i > 0)
				buf_putc(out, ',');
			put_value(out, item);
		}
		buf_putc(out, ']');
		break;
	case JSON_STRING: buf_json_string_n(out, json_string_value(value), json_string_length(value)); break;
	case JSON_INTEGER: buf_put_int(out, json_integer_value(value)); break;
	case JSON_REAL: put_real(out, value); break;
	case JSON_TRUE: buf_puts(out, "true"); break;
	case JSON_FALSE: buf_puts(out, "false"); break;
	case JSON_NULL: buf_puts(out, "null"); break;
	}
}

char *json_text(const json_t *value)
{
	struct buf text = {0};

	if (value != NULL)
		put_value(&text, value);
	return buf_steal(&text);
}

void buf_json_compact(struct buf *out, const char *text, size_t len)
{
	size_t at = 0;

	buf_reserve(out, len);
	while (at < len) {
		size_t from = at;

		at = text[at] == '"' ? skip_string(text, len, at) : at + 1;
		if (strchr(" \n\t\r", text[from]) == NULL)
			buf_append(out, text + from, at - from);
	}
}
