/* A compiled schema, for the files of the schema alone. */
#ifndef TESTAPI_SCHEMA_NODE_H
#define TESTAPI_SCHEMA_NODE_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <jansson.h>
#include <pcre2.h>
#include <stdbool.h>
#include <stdint.h>

struct schema_property {
	char *name;
	struct schema_node *node;
};

struct schema_node {
	char *type; /* NULL: any */
	bool nullable;
	bool preserve;      /* x-kubernetes-preserve-unknown-fields */
	bool int_or_string; /* x-kubernetes-int-or-string */
	bool embedded;      /* x-kubernetes-embedded-resource */
	bool additional_any;
	bool exclusive_minimum;
	bool exclusive_maximum;
	const json_t *minimum; /* of source; NULL: none */
	const json_t *maximum;
	int64_t limits[6]; /* by enum schema_limit; -1: none */
	char *pattern_text;
	pcre2_code *pattern;
	const json_t *enumeration;
	const json_t *required;
	const json_t *fallback; /* the default */
	struct schema_property *properties;
	size_t property_count;
	struct schema_node *items;
	struct schema_node *additional;
	const json_t *map_keys; /* x-kubernetes-list-type map */
	bool set;               /* x-kubernetes-list-type set */
	json_t *source;         /* keeps the borrowed parts alive */
};

enum schema_limit { MIN_LENGTH, MAX_LENGTH, MIN_ITEMS, MAX_ITEMS, MIN_PROPERTIES, MAX_PROPERTIES };

const struct schema_node *schema_property(const struct schema_node *node, const char *name);

#endif
