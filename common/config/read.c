/* One YAML mapping by a table of its keys; see read.h. */
#include "common/config/read.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/config.h"

static int read_double(struct reader *reader, const struct field *field, const struct yaml_node *value,
		       const char *what, double *out)
{
	double number;
	if (yaml_as_double(value, what, &number, reader->err) < 0)
		return -1;
	/* Written so that NaN fails too. */
	if (!(number > (double)field->min && number <= (double)field->max)) {
		cleanup_free char *found = yaml_describe(value);
		return yaml_error(value, reader->err, "%s: found %s, expected a number above %lld and at most %lld",
				  what, found, (long long)field->min, (long long)field->max);
	}
	*out = number;
	return 0;
}

static int read_pattern(struct reader *reader, const struct yaml_node *value, const char *what, struct pattern **out)
{
	const char *source;
	struct error reason;
	if (yaml_as_string(value, what, &source, reader->err) < 0)
		return -1;
	*out = pattern_compile(source, &reason);
	if (*out) {
		reader->patterns_bytes += pattern_bytes(*out);
		if (reader->patterns_max == 0 || reader->patterns_bytes <= reader->patterns_max)
			return 0;
		return yaml_error(value, reader->err,
				  "%s: this and the regular expressions before it take %zu bytes of memory, expected "
				  "at most %zu: have fewer, or fewer repeats in them",
				  what, reader->patterns_bytes, reader->patterns_max);
	}
	cleanup_free char *found = yaml_describe(value);
	return yaml_error(value, reader->err, "%s: found %s, expected a regular expression in RE2 syntax: %s", what,
			  found, reason.message);
}

static int read_seconds(struct reader *reader, const struct field *field, const struct yaml_node *value,
			const char *what, int64_t *out)
{
	int64_t seconds;
	if (yaml_as_int(value, what, field->min, INT64_MAX, &seconds, reader->err) < 0)
		return -1;
	*out = seconds > CONFIG_SECONDS_MAX ? CONFIG_SECONDS_MAX : seconds;
	return 0;
}

static int read_field(struct reader *reader, const struct field *field, const struct yaml_node *value, const char *what,
		      void *into)
{
	void *at = (char *)into + field->offset;
	const char *text;
	int64_t integer;
	switch (field->type) {
	case FIELD_BOOL: return yaml_as_bool(value, what, at, reader->err);
	case FIELD_INT: return yaml_as_int(value, what, field->min, field->max, at, reader->err);
	case FIELD_INT32:
		if (yaml_as_int(value, what, INT32_MIN, INT32_MAX, &integer, reader->err) < 0)
			return -1;
		*(int32_t *)at = (int32_t)integer;
		return 0;
	case FIELD_SECONDS: return read_seconds(reader, field, value, what, at);
	case FIELD_DOUBLE: return read_double(reader, field, value, what, at);
	case FIELD_STRING:
		if (yaml_as_string(value, what, &text, reader->err) < 0)
			return -1;
		mem_replace(at, text);
		return 0;
	case FIELD_PATTERN: return read_pattern(reader, value, what, at);
	case FIELD_MAPPING: return read_value(reader, value, what, field->fields, into);
	case FIELD_CUSTOM: return field->read(reader, value, what, into);
	}
	abort();
}

static int unknown_key(struct reader *reader, const struct yaml_node *key, const char *what)
{
	if (reader->unknown == CONFIG_UNKNOWN_REFUSE)
		return yaml_error(key, reader->err, "%s: unknown key", what);
	reader->unknown_keys++;
	if (reader->unknown == CONFIG_UNKNOWN_WARN)
		log_warning("%s:%zu:%zu: %s: unknown key, ignored", key->file, key->line, key->column, what);
	return 0;
}

int read_mapping(struct reader *reader, const struct yaml_node *node, const char *prefix, const struct field *fields,
		 void *into)
{
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_node *key = node->keys[i];
		const struct field *field = fields;
		while (field->key && strcmp(field->key, key->text) != 0)
			field++;
		/* An unknown key may be of any length. */
		cleanup_free char *what = mem_printf("%s%.100s", prefix, key->text);
		int result = 0;
		if (!field->key)
			result = unknown_key(reader, key, what);
		else if (!yaml_is_null(node->items[i]))
			result = read_field(reader, field, node->items[i], what, into);
		if (result < 0)
			return -1;
	}
	return 0;
}

int read_value(struct reader *reader, const struct yaml_node *value, const char *what, const struct field *fields,
	       void *into)
{
	cleanup_free char *prefix = mem_printf("%s.", what);
	if (yaml_check_kind(value, what, YAML_MAPPING, reader->err) < 0)
		return -1;
	return read_mapping(reader, value, prefix, fields, into);
}
