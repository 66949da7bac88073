/* The key podFailureSpec: how operators classify failed Pods (CONTRACT.md §15). */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/utf8.h"
#include "common/config/failure.h"
#include "common/config/read.h"
#include "common/framework/codes.h"
#include "common/framework/failure_spec.h"

/* Reads each item of the sequence value, a mapping, into the next struct of an array of zeroed ones. count grows with
 * each, so that the items read so far can be freed after an error. */
static int read_items(struct reader *reader, const struct yaml_node *value, const char *what, field_read *read,
		      size_t size, void *array, size_t *count)
{
	for (size_t i = 0; i < value->count; i++) {
		cleanup_free char *item = mem_printf("%s[%zu]", what, i);
		(*count)++;
		if (yaml_check_kind(value->items[i], item, YAML_MAPPING, reader->err) < 0 ||
		    read(reader, value->items[i], item, (char *)array + i * size) < 0)
			return -1;
	}
	return 0;
}

/* ---- patterns -------------------------------------------------------------------------------------------------- */

static int read_range(struct reader *reader, const struct yaml_node *value, const char *what, struct int32_range *range)
{
	static const struct field fields[] = {
		{.key = "min", .type = FIELD_INT32, .offset = offsetof(struct int32_range, min)},
		{.key = "max", .type = FIELD_INT32, .offset = offsetof(struct int32_range, max)},
		{0},
	};
	*range = (struct int32_range){.min = INT32_MIN, .max = INT32_MAX};
	if (read_value(reader, value, what, fields, range) < 0)
		return -1;
	range->given = !yaml_is_null(yaml_get(value, "min")) || !yaml_is_null(yaml_get(value, "max"));
	/* The original accepts it, so a takeover must not fail on it. A range from a Framework has no file, and gets no
	 * warning: its owner does not read our log. */
	if (range->min > range->max && value->file[0] != '\0')
		log_warning("%s:%zu:%zu: %s: min %d is above max %d, so it matches nothing", value->file, value->line,
			    value->column, what, range->min, range->max);
	return 0;
}

static int read_signal_range(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	return read_range(reader, value, what, &((struct container_pattern *)into)->signal);
}

static int read_code_range(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	return read_range(reader, value, what, &((struct container_pattern *)into)->code);
}

static int read_container(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	static const struct field fields[] = {
		{.key = "nameRegex", .type = FIELD_PATTERN, .offset = offsetof(struct container_pattern, name)},
		{.key = "reasonRegex", .type = FIELD_PATTERN, .offset = offsetof(struct container_pattern, reason)},
		{.key = "messageRegex", .type = FIELD_PATTERN, .offset = offsetof(struct container_pattern, message)},
		{.key = "signalRange", .type = FIELD_CUSTOM, .read = read_signal_range},
		{.key = "codeRange", .type = FIELD_CUSTOM, .read = read_code_range},
		{0},
	};
	return read_value(reader, value, what, fields, into);
}

static int read_containers(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	struct pod_pattern *pattern = into;
	if (yaml_check_kind(value, what, YAML_SEQUENCE, reader->err) < 0)
		return -1;
	pattern->containers = mem_calloc(value->count, sizeof(*pattern->containers));
	return read_items(reader, value, what, read_container, sizeof(*pattern->containers), pattern->containers,
			  &pattern->container_count);
}

static int read_pod_pattern(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	static const struct field fields[] = {
		{.key = "nameRegex", .type = FIELD_PATTERN, .offset = offsetof(struct pod_pattern, name)},
		{.key = "reasonRegex", .type = FIELD_PATTERN, .offset = offsetof(struct pod_pattern, reason)},
		{.key = "messageRegex", .type = FIELD_PATTERN, .offset = offsetof(struct pod_pattern, message)},
		{.key = "containers", .type = FIELD_CUSTOM, .read = read_containers},
		{0},
	};
	return read_value(reader, value, what, fields, into);
}

static int read_pod_patterns(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	struct failure_entry *entry = into;
	if (yaml_check_kind(value, what, YAML_SEQUENCE, reader->err) < 0)
		return -1;
	entry->patterns = mem_calloc(value->count, sizeof(*entry->patterns));
	return read_items(reader, value, what, read_pod_pattern, sizeof(*entry->patterns), entry->patterns,
			  &entry->pattern_count);
}

/* ---- entries --------------------------------------------------------------------------------------------------- */

struct completion_type {
	char *name;
	json_t *attributes;
};

/* Those that retry policies ask for. */
static bool is_known_attribute(const char *text)
{
	return strcmp(text, "Transient") == 0 || strcmp(text, "Conflict") == 0 || strcmp(text, "Permanent") == 0;
}

static int read_attributes(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	struct completion_type *type = into;
	if (yaml_check_kind(value, what, YAML_SEQUENCE, reader->err) < 0)
		return -1;
	for (size_t i = 0; i < value->count; i++) {
		cleanup_free char *item = mem_printf("%s[%zu]", what, i);
		const char *attribute;
		if (yaml_as_string(value->items[i], item, &attribute, reader->err) < 0)
			return -1;
		/* The original accepts any attribute, and writes it into the status. */
		if (!is_known_attribute(attribute) && value->file[0] != '\0')
			log_warning("%s:%zu:%zu: %s: found \"%s\", which has no effect: expected Transient, "
				    "Conflict or Permanent",
				    value->items[i]->file, value->items[i]->line, value->items[i]->column, item,
				    attribute);
	}
	json_decref(type->attributes);
	type->attributes = yaml_to_json(value);
	return 0;
}

static int read_type(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	static const struct field fields[] = {
		{.key = "name", .type = FIELD_STRING, .offset = offsetof(struct completion_type, name)},
		{.key = "attributes", .type = FIELD_CUSTOM, .read = read_attributes},
		{0},
	};
	struct failure_entry *entry = into;
	struct completion_type type = {.attributes = entry->attributes};
	int result = read_value(reader, value, what, fields, &type);
	if (result == 0 && type.name && type.name[0] && strcmp(type.name, "Failed") != 0) {
		const struct yaml_node *name = yaml_get(value, "name");
		cleanup_free char *found = yaml_describe(name);
		result = yaml_error(name, reader->err, "%s.name: found %s, expected Failed", what, found);
	}
	entry->attributes = type.attributes;
	free(type.name);
	return result;
}

static int read_entry(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	static const struct field fields[] = {
		{.key = "code", .type = FIELD_INT32, .offset = offsetof(struct failure_entry, code)},
		{.key = "phrase", .type = FIELD_STRING, .offset = offsetof(struct failure_entry, phrase)},
		{.key = "type", .type = FIELD_CUSTOM, .read = read_type},
		{.key = "podPatterns", .type = FIELD_CUSTOM, .read = read_pod_patterns},
		{0},
	};
	struct failure_entry *entry = into;
	const struct yaml_node *code = yaml_get(value, "code");
	entry->phrase = mem_strdup("");
	entry->attributes = json_null();
	if (yaml_is_null(code))
		return yaml_error(code ? code : value, reader->err, "%s: code: found nothing, expected an integer",
				  what);
	/* The code is part of the entry's name in messages: people know entries by it. */
	cleanup_free char *shown = code->kind == YAML_SCALAR ? mem_printf(" (code %.40s)", code->text) : NULL;
	cleanup_free char *prefix = mem_printf("%s%s: ", what, shown ? shown : "");
	if (read_mapping(reader, value, prefix, fields, entry) < 0)
		return -1;
	if (completion_code_reserved(entry->code))
		return yaml_error(code, reader->err,
				  "%scode: found the integer %d, expected one outside of -999..0 and 200..219, "
				  "which are reserved",
				  prefix, entry->code);
	if (entry->pattern_count == 0) {
		const struct yaml_node *patterns = yaml_get(value, "podPatterns");
		return yaml_error(patterns ? patterns : value, reader->err,
				  "%spodPatterns: found none, expected at least one", prefix);
	}
	return 0;
}

/* By code, then by place. */
static int compare_codes(const void *a, const void *b)
{
	const struct failure_entry *one = *(const struct failure_entry *const *)a;
	const struct failure_entry *other = *(const struct failure_entry *const *)b;

	return one->code != other->code ? (one->code > other->code) - (one->code < other->code)
					: (one > other) - (one < other);
}

static int check_codes_differ(struct reader *reader, const struct yaml_node *value, const char *what,
			      const struct failure_spec *spec)
{
	cleanup_free const struct failure_entry **sorted = mem_calloc(spec->count, sizeof(*sorted));
	const struct yaml_node *first;
	char where[64] = "";
	size_t at = spec->count, before = 0; /* the first one whose code is used already, and who uses it */

	for (size_t i = 0; i < spec->count; i++)
		sorted[i] = &spec->entries[i];
	qsort(sorted, spec->count, sizeof(*sorted), compare_codes);
	for (size_t i = 1; i < spec->count; i++) {
		size_t place = (size_t)(sorted[i] - spec->entries);

		if (sorted[i]->code == sorted[i - 1]->code && place < at) {
			at = place;
			before = (size_t)(sorted[i - 1] - spec->entries);
		}
	}
	if (at == spec->count)
		return 0;
	first = yaml_get(value->items[before], "code");
	if (first->file[0] != '\0')
		snprintf(where, sizeof(where), " at %zu:%zu", first->line, first->column);
	return yaml_error(yaml_get(value->items[at], "code"), reader->err,
			  "%s[%zu] (code %d): code: used twice, first by %s[%zu]%s", what, at, spec->entries[at].code,
			  what, before, where);
}

int read_failure_spec(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	struct failure_spec *spec = into;
	if (yaml_check_kind(value, what, YAML_SEQUENCE, reader->err) < 0)
		return -1;
	spec->entries = mem_calloc(value->count, sizeof(*spec->entries));
	if (read_items(reader, value, what, read_entry, sizeof(*spec->entries), spec->entries, &spec->count) < 0)
		return -1;
	return check_codes_differ(reader, value, what, spec);
}

/* JSON is YAML, but for characters that a text in YAML may not contain, or that end a line in it (YAML 1.1,
 * chapters 5.1 and 5.4): those beyond ASCII become escapes. The caller frees. */
static char *json_as_yaml(const json_t *list)
{
	cleanup_free char *text = json_text(list);
	size_t len = strlen(text), size;
	struct buf out = {0};

	for (size_t at = 0; at < len; at += size) {
		uint32_t character;

		size = utf8_sequence(text + at, len - at);
		character = utf8_decode(text + at, size);
		if (character < 0x7F)
			buf_putc(&out, text[at]);
		else
			buf_printf(&out, "\\U%08x", (unsigned)character);
	}
	return buf_steal(&out);
}

int failure_spec_parse(const json_t *list, const char *what, struct failure_spec *out, struct error *err)
{
	cleanup_free char *text = NULL;
	struct yaml_node *node = NULL;
	struct error found;
	struct reader reader = {
		.unknown = CONFIG_UNKNOWN_IGNORE, .patterns_max = FAILURE_PATTERNS_MAX_BYTES, .err = &found};
	const char *reason;
	bool loaded;
	int result;

	*out = (struct failure_spec){0};
	if (list == NULL || json_is_null(list))
		return 0;
	text = json_as_yaml(list);
	loaded = yaml_load("", text, strlen(text), &node, &found) == 0;
	result = loaded ? read_failure_spec(&reader, node, what, out) : -1;
	yaml_tree_free(node);
	if (result == 0)
		return 0;
	failure_spec_free(out);
	/* the place in that text means nothing to anybody */
	reason = strstr(found.message, ": ");
	error_set(err, "%s", reason == NULL ? found.message : reason + strlen(": "));
	return loaded ? -1 : error_wrap(err, "%s", what);
}
