/* Compiling schemas, pruning and defaulting by them; see schema.h. */
#include "tests/cluster/testapi/schema.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/schema_node.h"

void schema_free(struct schema_node *node)
{
	if (node == NULL)
		return;
	for (size_t i = 0; i < node->property_count; i++) {
		free(node->properties[i].name);
		schema_free(node->properties[i].node);
	}
	free(node->properties);
	schema_free(node->items);
	schema_free(node->additional);
	pcre2_code_free(node->pattern);
	free(node->pattern_text);
	free(node->type);
	json_decref(node->source);
	free(node);
}

static int compile_pattern(struct schema_node *node, const char *pattern, struct api_failure *failure)
{
	int code;
	PCRE2_SIZE at;

	node->pattern_text = mem_strdup(pattern);
	node->pattern = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &code, &at, NULL);
	if (node->pattern == NULL)
		return api_fail(failure, 422, "Invalid", "the schema's pattern \"%s\" is no regular expression",
				pattern);
	return 0;
}

static int compile_properties(struct schema_node *node, const json_t *properties, struct api_failure *failure)
{
	const char *name;
	json_t *schema;

	node->properties = mem_calloc(json_object_size(properties) + 1, sizeof(*node->properties));
	json_object_foreach((json_t *)properties, name, schema) {
		struct schema_property *property = &node->properties[node->property_count++];

		property->name = mem_strdup(name);
		property->node = schema_compile(schema, failure);
		if (property->node == NULL)
			return -1;
	}
	return 0;
}

static void compile_scalars(struct schema_node *node, const json_t *schema)
{
	static const char *const limits[] = {"minLength", "maxLength",     "minItems",
					     "maxItems",  "minProperties", "maxProperties"};
	const char *list_type = json_str(schema, "x-kubernetes-list-type");

	node->type = mem_strdup(json_str(schema, "type"));
	node->nullable = json_bool(schema, "nullable", false);
	node->preserve = json_bool(schema, "x-kubernetes-preserve-unknown-fields", false);
	node->int_or_string = json_bool(schema, "x-kubernetes-int-or-string", false);
	node->embedded = json_bool(schema, "x-kubernetes-embedded-resource", false);
	node->exclusive_minimum = json_bool(schema, "exclusiveMinimum", false);
	node->exclusive_maximum = json_bool(schema, "exclusiveMaximum", false);
	node->minimum = json_object_get(schema, "minimum");
	node->maximum = json_object_get(schema, "maximum");
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		node->limits[i] = json_int(schema, limits[i], -1);
	node->enumeration = json_object_get(schema, "enum");
	node->required = json_object_get(schema, "required");
	node->fallback = json_object_get(schema, "default");
	if (list_type != NULL && strcmp(list_type, "map") == 0)
		node->map_keys = json_object_get(schema, "x-kubernetes-list-map-keys");
	node->set = list_type != NULL && strcmp(list_type, "set") == 0;
}

struct schema_node *schema_compile(const json_t *schema, struct api_failure *failure)
{
	struct schema_node *node = mem_calloc(1, sizeof(*node));
	const char *pattern = json_str(schema, "pattern");
	const json_t *items = json_object_get(schema, "items");
	const json_t *additional = json_object_get(schema, "additionalProperties");
	bool failed;

	node->source = json_incref((json_t *)schema);
	compile_scalars(node, schema);
	failed = (pattern != NULL && compile_pattern(node, pattern, failure) < 0) ||
		 compile_properties(node, json_object_get(schema, "properties"), failure) < 0 ||
		 (json_is_object(items) && (node->items = schema_compile(items, failure)) == NULL) ||
		 (json_is_object(additional) && (node->additional = schema_compile(additional, failure)) == NULL);
	node->additional_any = json_is_true(additional);
	if (failed) {
		schema_free(node);
		return NULL;
	}
	return node;
}

const struct schema_node *schema_property(const struct schema_node *node, const char *name)
{
	for (size_t i = 0; i < node->property_count; i++)
		if (strcmp(node->properties[i].name, name) == 0)
			return node->properties[i].node;
	return NULL;
}

static bool is_type_meta(const char *name)
{
	return strcmp(name, "apiVersion") == 0 || strcmp(name, "kind") == 0 || strcmp(name, "metadata") == 0;
}

static void prune(const struct schema_node *node, json_t *value, bool top)
{
	const char *name;
	json_t *member;
	void *next;
	size_t index;

	if (json_is_array(value) && node->items != NULL)
		json_array_foreach(value, index, member)
			prune(node->items, member, node->items->embedded);
	if (!json_is_object(value))
		return;
	json_object_foreach_safe(value, next, name, member) {
		const struct schema_node *property = schema_property(node, name);

		if (top && is_type_meta(name))
			continue;
		if (property != NULL)
			prune(property, member, property->embedded);
		else if (node->additional != NULL)
			prune(node->additional, member, node->additional->embedded);
		else if (!node->preserve && !node->additional_any)
			json_object_del(value, name);
	}
}

void schema_prune(const struct schema_node *node, json_t *object)
{
	prune(node, object, true);
}

static void fill(const struct schema_node *node, json_t *value, bool top)
{
	const char *name;
	json_t *member;
	size_t index;

	if (json_is_array(value) && node->items != NULL)
		json_array_foreach(value, index, member)
			fill(node->items, member, false);
	if (!json_is_object(value))
		return;
	for (size_t i = 0; i < node->property_count; i++) {
		const struct schema_property *property = &node->properties[i];
		const json_t *fallback = property->node->fallback;

		if (top && is_type_meta(property->name))
			continue;
		member = json_object_get(value, property->name);
		/* a null where none is allowed counts as absent when there is a default */
		if (fallback != NULL && (member == NULL || (json_is_null(member) && !property->node->nullable))) {
			member = json_deep_copy(fallback);
			json_object_set_new(value, property->name, member);
		}
		if (member != NULL)
			fill(property->node, member, false);
	}
	if (node->additional == NULL)
		return;
	json_object_foreach(value, name, member)
		if (schema_property(node, name) == NULL)
			fill(node->additional, member, false);
}

void schema_default(const struct schema_node *node, json_t *object)
{
	fill(node, object, true);
}
