/* A quick way between plain texts and trees, for memo.c: what the cores and the simulator write has no blanks, no
 * escapes but of quotes and backslashes, and no reals. What is not plain is left to common/base/json.c. A text that is
 * read here is the one that is written here for its tree. */
#include <string.h>

#include "tests/sim/sim.h"

enum { DIGITS_MAX = 18 /* fit an int64_t */, DEPTH_MAX = 32 };

struct reader {
	const char *at;
	const char *end;
	int depth;
	quick_part *part;
};

static bool plain(unsigned char c)
{
	return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
}

/* How many characters at the beginning are surely plain: eight at a time. */
static size_t plain_words(const char *text, size_t len)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	size_t at = 0;
	uint64_t word;

	for (; len - at >= sizeof(word); at += sizeof(word)) {
		uint64_t quote;
		uint64_t backslash;
		uint64_t del;

		memcpy(&word, text + at, sizeof(word));
		quote = word ^ ones * '"';
		backslash = word ^ ones * '\\';
		del = word ^ ones * 0x7F;
		/* the highest bit of a byte: it is not ASCII, or below a blank, or zero as one of these is then */
		if (((word | (word - ones * ' ') | (quote - ones) | (backslash - ones) | (del - ones)) & ones * 0x80) !=
		    0)
			break;
	}
	return at;
}

/* The string at the reader, which goes behind it; NULL when it is not plain. */
static const char *read_string(struct reader *reader, size_t *len, size_t *escapes)
{
	const char *at = reader->at + 1;
	const char *begin = at;

	*escapes = 0;
	for (;;) {
		at += plain_words(at, (size_t)(reader->end - at));
		while (at < reader->end && plain((unsigned char)*at))
			at++;
		if (reader->end - at < 2 || *at != '\\' || (at[1] != '"' && at[1] != '\\'))
			break;
		at += 2;
		++*escapes;
	}
	if (at == reader->end || *at != '"')
		return NULL;
	*len = (size_t)(at - begin);
	reader->at = at + 1;
	return begin;
}

static json_t *read_text(struct reader *reader)
{
	size_t escapes;
	size_t len;
	const char *text = read_string(reader, &len, &escapes);
	cleanup_free char *decoded = NULL;
	size_t to = 0;

	if (text == NULL || escapes == 0)
		return text == NULL ? NULL : json_stringn_nocheck(text, len);
	decoded = mem_alloc(len - escapes + 1);
	for (size_t from = 0; from < len; from++) {
		from += text[from] == '\\';
		decoded[to++] = text[from];
	}
	return json_stringn_nocheck(decoded, to);
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
		size_t escapes = 0;
		size_t len = 0;
		const char *name = reader->at < reader->end && *reader->at == '"' ? read_string(reader, &len, &escapes)
										  : NULL;
		const char *begin = reader->at + 1;
		json_t *value = name == NULL || escapes > 0 || !take(reader, ':') ? NULL : read_value(reader);

		if (value == NULL || json_object_setn_new_nocheck(object, name, len, value) < 0 ||
		    json_object_size(object) != ++count) { /* a name twice */
			json_decref(object);
			return NULL;
		}
		if (reader->depth == 1 && json_is_object(value))
			reader->part(value, begin, (size_t)(reader->at - begin));
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
	    (negative && value == 0) || (reader->at < reader->end && strchr(".eE", *reader->at) != NULL))
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

	if (reader->at == reader->end || reader->depth == DEPTH_MAX)
		return NULL;
	reader->depth++;
	switch (*reader->at) {
	case '{': value = read_object(reader); break;
	case '[': value = read_array(reader); break;
	case '"': value = read_text(reader); break;
	case 't': value = take_word(reader, "true") ? json_true() : NULL; break;
	case 'f': value = take_word(reader, "false") ? json_false() : NULL; break;
	case 'n': value = take_word(reader, "null") ? json_null() : NULL; break;
	default: value = read_number(reader); break;
	}
	reader->depth--;
	return value;
}

json_t *quick_parse(const char *text, size_t len, quick_part *part)
{
	struct reader reader = {.at = text, .end = text + len, .part = part};
	json_t *value = read_value(&reader);

	if (value == NULL || reader.at == reader.end)
		return value;
	json_decref(value);
	return NULL;
}

/* A byte with room behind it, once it was reserved. */
static void put(struct buf *out, char c)
{
	out->data[out->len++] = c;
}

static bool write_string(struct buf *out, const char *text, size_t len)
{
	size_t begin;

	buf_reserve(out, 2 * len + 4); /* and what comes before and behind it */
	put(out, '"');
	begin = plain_words(text, len);
	memcpy(out->data + out->len, text, begin);
	out->len += begin;
	for (size_t i = begin; i < len; i++) {
		if (text[i] == '"' || text[i] == '\\')
			put(out, '\\');
		else if (!plain((unsigned char)text[i]))
			return false;
		put(out, text[i]);
	}
	put(out, '"');
	return true;
}

static bool write_object(struct buf *out, json_t *object)
{
	char before = '{';

	for (void *member = json_object_iter(object); member != NULL; member = json_object_iter_next(object, member)) {
		buf_putc(out, before);
		before = ',';
		if (!write_string(out, json_object_iter_key(member), json_object_iter_key_len(member)))
			return false;
		put(out, ':');
		if (!quick_write(out, json_object_iter_value(member)))
			return false;
	}
	if (before == '{')
		buf_putc(out, '{');
	buf_putc(out, '}');
	return true;
}

static bool write_array(struct buf *out, const json_t *array)
{
	buf_putc(out, '[');
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (i > 0)
			buf_putc(out, ',');
		if (!quick_write(out, json_array_get(array, i)))
			return false;
	}
	buf_putc(out, ']');
	return true;
}

bool quick_write(struct buf *out, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT: return write_object(out, (json_t *)value);
	case JSON_ARRAY: return write_array(out, value);
	case JSON_STRING: return write_string(out, json_string_value(value), json_string_length(value));
	case JSON_INTEGER: buf_put_int(out, json_integer_value(value)); return true;
	case JSON_TRUE: buf_puts(out, "true"); return true;
	case JSON_FALSE: buf_puts(out, "false"); return true;
	case JSON_NULL: buf_puts(out, "null"); return true;
	default: return false;
	}
}
