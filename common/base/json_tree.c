/* Trees of plain JSON; see json_tree.h. */
#include "common/base/json_tree.h"

#include "common/base/json_reader.h"
#include "common/base/mem.h"

enum { INTEGER_DIGITS = 18 }; /* any number of so many fits into 64 bits */

static json_t *read_value(struct json_reader *reader);

/* value NULL: it could not be read. */
static bool put_member(json_t *object, const struct json_span *name, json_t *value)
{
	size_t before = json_object_size(object);

	return value != NULL && !name->escaped &&
	       json_object_setn_new_nocheck(object, name->at, name->len, value) == 0 &&
	       json_object_size(object) > before;
}

static json_t *read_object(struct json_reader *reader)
{
	json_t *object = json_object();
	struct json_span name;

	json_reader_object(reader);
	while (json_reader_member(reader, &name)) {
		json_t *value = read_value(reader);

		if (put_member(object, &name, value))
			continue;
		if (name.escaped)
			json_decref(value);
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *read_array(struct json_reader *reader)
{
	json_t *array = json_array();

	json_reader_array(reader);
	while (json_reader_item(reader)) {
		if (json_array_append_new(array, read_value(reader)) == 0)
			continue;
		json_decref(array);
		return NULL;
	}
	return array;
}

static json_t *read_string(struct json_reader *reader)
{
	const struct json_span span = json_reader_string(reader);
	cleanup_free char *text = NULL;
	size_t len;

	if (span.at == NULL)
		return NULL;
	if (!span.escaped)
		return json_stringn_nocheck(span.at, span.len);
	text = mem_alloc(span.len + 1);
	len = json_span_decode(&span, text);
	return json_stringn_nocheck(text, len);
}

static json_t *read_number(struct json_reader *reader)
{
	const struct json_span span = json_reader_skip(reader);
	const size_t sign = span.len > 0 && *span.at == '-';
	json_int_t value = 0;

	if (span.at == NULL || span.len > INTEGER_DIGITS + sign)
		return NULL;
	for (size_t i = sign; i < span.len; i++) {
		if (span.at[i] < '0' || span.at[i] > '9')
			return NULL;
		value = value * 10 + (span.at[i] - '0');
	}
	return json_integer(sign ? -value : value);
}

static json_t *read_value(struct json_reader *reader)
{
	switch (json_reader_peek(reader)) {
	case '{': return read_object(reader);
	case '[': return read_array(reader);
	case '"': return read_string(reader);
	case 't': return json_reader_skip(reader).at == NULL ? NULL : json_true();
	case 'f': return json_reader_skip(reader).at == NULL ? NULL : json_false();
	case 'n': return json_reader_skip(reader).at == NULL ? NULL : json_null();
	default: return read_number(reader);
	}
}

json_t *json_tree_read(const char *text, size_t len)
{
	struct json_reader reader;
	json_t *value;

	json_reader_init(&reader, text, len);
	value = read_value(&reader);
	if (value == NULL || json_reader_finish(&reader, NULL) == 0)
		return value;
	json_decref(value);
	return NULL;
}
