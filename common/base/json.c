/* Reading JSON objects; see json.h. */
#include "common/base/json.h"

#include <stdarg.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/clock.h"

json_t *json_parse(const char *text, size_t len, struct error *err)
{
	const size_t flags = JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
	json_error_t error;
	json_t *value = json_loadb(text, len, flags, &error);

	if (value == NULL && json_error_code(&error) == json_error_numeric_overflow)
		value = json_loadb(text, len, flags | JSON_DECODE_INT_AS_REAL, &error);
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
	/* json_parse reads every number of a document as real when one of them overflows */
	if (json_is_real(value) && json_real_value(value) == (double)(int64_t)json_real_value(value))
		return (int64_t)json_real_value(value);
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

int64_t json_time(const json_t *object, const char *name)
{
	const char *text = json_str(object, name);
	int64_t seconds;

	return text == NULL || time_parse_rfc3339(text, &seconds) < 0 ? 0 : seconds;
}

static int append_chunk(const char *data, size_t len, void *buf)
{
	buf_append(buf, data, len);
	return 0;
}

char *json_text(const json_t *value)
{
	struct buf text = {0};

	json_dump_callback(value, append_chunk, &text, JSON_COMPACT | JSON_ENCODE_ANY);
	return buf_steal(&text);
}
