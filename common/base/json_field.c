/* Members of JSON objects; see json_field.h. */
#include "common/base/json_field.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"

static void put_place(struct buf *out, const struct json_field *field)
{
	if (field->outer != NULL) {
		put_place(out, field->outer);
		buf_putc(out, '.');
	}
	buf_puts(out, field->name);
	if (field->is_item)
		buf_printf(out, "[%zu]", field->index);
}

int json_field_wrong(const struct json_field *object, const char *name, const char *expected, struct error *err)
{
	const json_t *found = name == NULL ? object->value : json_object_get(object->value, name);
	cleanup_free char *text = found == NULL ? mem_strdup("missing") : json_text(found);
	cleanup_buf struct buf place = {0};

	put_place(&place, object);
	return error_set(err, "%s%s%s is %.80s, expected %s", place.data, name == NULL ? "" : ".",
			 name == NULL ? "" : name, text, expected);
}

static int check_type(const struct json_field *object, const char *name, const json_t *value, json_type type,
		      const char *expected, struct error *err)
{
	if (json_absent(value) && !object->required)
		return 0;
	if (value == NULL || (json_is_boolean(value) ? JSON_TRUE : json_typeof(value)) != type)
		return json_field_wrong(object, name, expected, err);
	return 1;
}

int json_field_int(const struct json_field *object, const char *name, int64_t low, int64_t high, int64_t *out,
		   struct error *err)
{
	const json_t *value = json_object_get(object->value, name);
	char expected[64];

	if (json_absent(value) && !object->required)
		return 0;
	if (json_is_integer(value) && json_integer_value(value) >= low && json_integer_value(value) <= high) {
		*out = json_integer_value(value);
		return 0;
	}
	snprintf(expected, sizeof(expected), "an integer in %" PRId64 "..%" PRId64, low, high);
	return json_field_wrong(object, name, expected, err);
}

int json_field_int32(const struct json_field *object, const char *name, int32_t low, int32_t high, int32_t *out,
		     struct error *err)
{
	int64_t value = *out;

	if (json_field_int(object, name, low, high, &value, err) < 0)
		return -1;
	*out = (int32_t)value;
	return 0;
}

int json_field_bool(const struct json_field *object, const char *name, bool *out, struct error *err)
{
	const json_t *value = json_object_get(object->value, name);
	int present = check_type(object, name, value, JSON_TRUE, "true or false", err);

	if (present > 0)
		*out = json_is_true(value);
	return present < 0 ? -1 : 0;
}

int json_field_text(const struct json_field *object, const char *name, char **out, struct error *err)
{
	const json_t *value = json_object_get(object->value, name);
	int present = check_type(object, name, value, JSON_STRING, "a string", err);

	if (present > 0)
		mem_replace(out, json_string_value(value));
	return present < 0 ? -1 : 0;
}

int json_field_time(const struct json_field *object, const char *name, int64_t *out, struct error *err)
{
	static const char expected[] = "an RFC 3339 time";
	const json_t *value = json_object_get(object->value, name);
	int present = check_type(object, name, value, JSON_STRING, expected, err);

	if (present > 0 && time_parse_rfc3339(json_string_value(value), out) < 0)
		return json_field_wrong(object, name, expected, err);
	return present < 0 ? -1 : 0;
}

static int enter(const struct json_field *object, const char *name, json_type type, const char *expected,
		 struct json_field *out, struct error *err)
{
	const json_t *value = json_object_get(object->value, name);
	int present = check_type(object, name, value, type, expected, err);

	*out = (struct json_field){.outer = object, .name = name, .required = object->required};
	if (present > 0)
		out->value = value;
	return present < 0 ? -1 : 0;
}

int json_field_object(const struct json_field *object, const char *name, struct json_field *out, struct error *err)
{
	return enter(object, name, JSON_OBJECT, "an object", out, err);
}

int json_field_list(const struct json_field *object, const char *name, struct json_field *out, struct error *err)
{
	return enter(object, name, JSON_ARRAY, "a list", out, err);
}

struct json_field json_field_item(const struct json_field *list, size_t index)
{
	struct json_field item = *list;

	item.value = json_array_get(list->value, index);
	item.is_item = true;
	item.index = index;
	return item;
}
