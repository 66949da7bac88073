/* Validation by a structural schema; see schema.h. Messages as kube-apiserver 1.20 makes them (go-openapi's texts). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/schema.h"
#include "tests/cluster/testapi/schema_node.h"

/* PCRE2 may backtrack where RE2 does not (common/README.md §10.3). */
enum { PATTERN_MATCH_LIMIT = 100000, VALUE_SHOWN_MAX = 4096 };

static void validate(const struct schema_node *node, const json_t *value, const char *path, json_t *causes);

static const char *type_of(const json_t *value)
{
	if (json_is_object(value))
		return "object";
	if (json_is_array(value))
		return "array";
	if (json_is_string(value))
		return "string";
	if (json_is_integer(value))
		return "integer";
	if (json_is_real(value))
		return "number";
	return json_is_boolean(value) ? "boolean" : "null";
}

static bool type_fits(const struct schema_node *node, const json_t *value)
{
	if (json_is_null(value))
		return node->nullable;
	if (node->int_or_string)
		return json_is_integer(value) || json_is_string(value);
	if (node->type == NULL)
		return true;
	if (strcmp(node->type, "number") == 0)
		return json_is_number(value);
	if (strcmp(node->type, "integer") == 0 && json_is_real(value))
		return json_real_value(value) == (double)(int64_t)json_real_value(value);
	return strcmp(node->type, type_of(value)) == 0;
}

/* The value as an Invalid message shows it. */
static char *shown(const json_t *value)
{
	char *text = json_text(value);

	if (strlen(text) > VALUE_SHOWN_MAX)
		text[VALUE_SHOWN_MAX] = '\0';
	return text;
}

static void invalid(json_t *causes, const char *path, const json_t *value, const char *rule)
{
	cleanup_free char *text = shown(value);

	api_cause(causes, "FieldValueInvalid", path, "Invalid value: %s: %s in body %s", text, path, rule);
}

static void wrong_type(const struct schema_node *node, const json_t *value, const char *path, json_t *causes)
{
	const char *wanted = node->int_or_string ? "integer,string" : node->type == NULL ? "" : node->type;

	/* the real server shows the found type, quoted, in the value's place */
	api_cause(causes, "FieldValueInvalid", path, "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"",
		  type_of(value), path, wanted, type_of(value));
}

static void check_enum(const struct schema_node *node, const json_t *value, const char *path, json_t *causes)
{
	cleanup_buf struct buf list = {0};
	cleanup_free char *text = NULL;
	size_t index;
	const json_t *allowed;

	if (node->enumeration == NULL)
		return;
	json_array_foreach(node->enumeration, index, allowed) {
		cleanup_free char *one = json_text(allowed);

		if (json_equal(allowed, value))
			return;
		buf_printf(&list, "%s%s", index > 0 ? ", " : "", one);
	}
	text = shown(value);
	api_cause(causes, "FieldValueNotSupported", path, "Unsupported value: %s: supported values: %s", text,
		  list.data);
}

static void check_range(const struct schema_node *node, const json_t *value, const char *path, json_t *causes)
{
	char rule[96];
	double number = json_number_value(value);

	if (node->minimum != NULL && (node->exclusive_minimum ? number <= json_number_value(node->minimum)
							      : number < json_number_value(node->minimum))) {
		snprintf(rule, sizeof(rule), "should be greater than %s%.17g",
			 node->exclusive_minimum ? "" : "or equal to ", json_number_value(node->minimum));
		invalid(causes, path, value, rule);
	}
	if (node->maximum != NULL && (node->exclusive_maximum ? number >= json_number_value(node->maximum)
							      : number > json_number_value(node->maximum))) {
		snprintf(rule, sizeof(rule), "should be less than %s%.17g",
			 node->exclusive_maximum ? "" : "or equal to ", json_number_value(node->maximum));
		invalid(causes, path, value, rule);
	}
}

static bool pattern_matches(const pcre2_code *pattern, const json_t *value)
{
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	pcre2_match_data *match = pcre2_match_data_create_from_pattern(pattern, NULL);
	int found;

	if (context == NULL || match == NULL)
		abort();
	pcre2_set_match_limit(context, PATTERN_MATCH_LIMIT);
	found = pcre2_match(pattern, (PCRE2_SPTR)json_string_value(value), json_string_length(value), 0, 0, match,
			    context);
	pcre2_match_data_free(match);
	pcre2_match_context_free(context);
	return found >= 0;
}

static size_t characters(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += ((unsigned char)*text & 0xC0) != 0x80;
	return count;
}

static void check_limit(int64_t limit, size_t size, bool most, const char *what, const json_t *value, const char *path,
			json_t *causes)
{
	char rule[96];

	if (limit < 0 || (most ? size <= (size_t)limit : size >= (size_t)limit))
		return;
	if (strcmp(what, "chars long") == 0)
		snprintf(rule, sizeof(rule), "should be at %s %lld chars long", most ? "most" : "least",
			 (long long)limit);
	else
		snprintf(rule, sizeof(rule), "should have at %s %lld %s", most ? "most" : "least", (long long)limit,
			 what);
	invalid(causes, path, value, rule);
}

static void check_string(const struct schema_node *node, const json_t *value, const char *path, json_t *causes)
{
	size_t count = characters(json_string_value(value));

	check_limit(node->limits[MAX_LENGTH], count, true, "chars long", value, path, causes);
	check_limit(node->limits[MIN_LENGTH], count, false, "chars long", value, path, causes);
	if (node->pattern != NULL && !pattern_matches(node->pattern, value)) {
		cleanup_free char *rule = mem_printf("should match '%s'", node->pattern_text);

		invalid(causes, path, value, rule);
	}
}

/* The keys by which list items are told apart: {key: value…}. */
static json_t *item_key(const struct schema_node *node, json_t *item)
{
	json_t *key;
	size_t index;
	const json_t *name;

	if (node->set)
		return json_incref(item);
	key = json_object();
	json_array_foreach(node->map_keys, index, name) {
		json_t *value = json_object_get(item, json_string_value(name));

		if (value != NULL)
			json_object_set(key, json_string_value(name), value);
	}
	return key;
}

static void duplicate(const char *path, size_t index, const json_t *key, json_t *causes)
{
	cleanup_free char *field = mem_printf("%s[%zu]", path, index);
	cleanup_free char *text = shown(key);

	/* a map prints as Go prints it */
	api_cause(causes, "FieldValueDuplicate", field, "Duplicate value: %s%s",
		  json_is_object(key) ? "map[string]interface {}" : "", text);
}

static void check_unique(const struct schema_node *node, const json_t *list, const char *path, json_t *causes)
{
	cleanup_json json_t *seen = json_object();
	size_t index;
	json_t *item;

	json_array_foreach(list, index, item) {
		cleanup_json json_t *key = item_key(node, item);
		cleanup_free char *text = json_text(key);
		int64_t times = json_int(seen, text, 0) + 1;

		json_object_set_new(seen, text, json_integer(times));
		if (times == 2)
			duplicate(path, index, key, causes);
	}
}

static void check_array(const struct schema_node *node, const json_t *value, const char *path, json_t *causes)
{
	size_t index;
	const json_t *item;

	check_limit(node->limits[MAX_ITEMS], json_array_size(value), true, "items", value, path, causes);
	check_limit(node->limits[MIN_ITEMS], json_array_size(value), false, "items", value, path, causes);
	if (node->items != NULL)
		/* Kubernetes 1.20 does not say which item it is */
		json_array_foreach(value, index, item)
			validate(node->items, item, path, causes);
	if (node->set || node->map_keys != NULL)
		check_unique(node, value, path, causes);
}

static char *child_path(const char *path, const char *name)
{
	return path[0] == '\0' ? mem_strdup(name) : mem_printf("%s.%s", path, name);
}

static void check_required(const struct schema_node *node, const json_t *value, const char *path, json_t *causes)
{
	size_t index;
	const json_t *name;

	json_array_foreach(node->required, index, name) {
		cleanup_free char *child = NULL;

		if (json_object_get(value, json_string_value(name)) != NULL)
			continue;
		child = child_path(path, json_string_value(name));
		api_cause(causes, "FieldValueRequired", child, "Required value");
	}
}

static void check_object(const struct schema_node *node, const json_t *value, const char *path, json_t *causes)
{
	const char *name;
	json_t *member;

	check_limit(node->limits[MAX_PROPERTIES], json_object_size(value), true, "properties", value, path, causes);
	check_limit(node->limits[MIN_PROPERTIES], json_object_size(value), false, "properties", value, path, causes);
	json_object_foreach((json_t *)value, name, member) {
		const struct schema_node *property = schema_property(node, name);
		cleanup_free char *child = NULL;

		if (property == NULL)
			property = node->additional;
		if (property == NULL)
			continue;
		child = child_path(path, name);
		validate(property, member, child, causes);
	}
	check_required(node, value, path, causes);
}

static void validate(const struct schema_node *node, const json_t *value, const char *path, json_t *causes)
{
	if (!type_fits(node, value)) {
		wrong_type(node, value, path, causes);
		if (!json_is_null(value))
			check_enum(node, value, path, causes);
		return;
	}
	if (json_is_null(value))
		return;
	check_enum(node, value, path, causes);
	if (json_is_number(value))
		check_range(node, value, path, causes);
	else if (json_is_string(value))
		check_string(node, value, path, causes);
	else if (json_is_array(value))
		check_array(node, value, path, causes);
	else if (json_is_object(value))
		check_object(node, value, path, causes);
}

void schema_validate(const struct schema_node *node, const json_t *object, json_t *causes)
{
	validate(node, object, "", causes);
}
