/* The only YAML reader: reads text into a tree of nodes that know their place, so that every error can name
 * file:line:column. It reads the configuration and kubeconfigs.
 *
 * It reads the part of YAML that configuration needs and refuses the rest with an error: anchors and aliases (306 bytes
 * of them can expand to 390 million nodes), duplicate keys, keys that are not scalars, tags other than !!str, !!map and
 * !!seq, several documents, NUL characters, and anything past the limits below. */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum {
	YAML_MAX_BYTES = 1024 * 1024,
	YAML_MAX_DEPTH = 64,
	YAML_MAX_NODES = 100000,
};

enum yaml_kind { YAML_SCALAR, YAML_MAPPING, YAML_SEQUENCE };

/* Owned by the tree; freed with its root. */
struct yaml_node {
	enum yaml_kind kind;
	bool plain;               /* scalar: neither quoted nor block nor tagged !!str */
	size_t line;              /* of the first character, from 1 */
	size_t column;            /* in characters, from 1 */
	const char *file;         /* the name given to yaml_load; borrowed from the root's copy */
	char *text;               /* scalar: its value, NUL-terminated, without NUL inside; else NULL */
	size_t count;             /* mapping: pairs; sequence: items */
	struct yaml_node **keys;  /* mapping: scalars, all different, in the order of the text */
	struct yaml_node **items; /* mapping: the value of keys[i]; sequence: its items */
};

/* Reads one document. file is for messages only. An empty text (or only comments) gives a null scalar.
 * 0 and *out, to be freed with yaml_tree_free; or -1 and *err "file:line:column: …". */
int yaml_load(const char *file, const char *text, size_t len, struct yaml_node **out, struct error *err);
/* The same for the file at path; messages name the path as given. */
int yaml_load_file(const char *path, struct yaml_node **out, struct error *err);
/* Only for trees of yaml_load; NULL is fine. (yaml_free is libyaml's.) */
void yaml_tree_free(struct yaml_node *root);

/* The value of key, or NULL when there is none or map is NULL or no mapping. Borrowed. */
struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/* NULL itself, or a scalar that says null. */
bool yaml_is_null(const struct yaml_node *node);

/* The node as one type. 0 and *out; or -1 and *err "file:line:column: what: found …, expected …", where what names
 * the key. Nothing is converted: an unquoted 5 is no string and "5" no integer. */
int yaml_as_string(const struct yaml_node *node, const char *what, const char **out, struct error *err);
int yaml_as_int(const struct yaml_node *node, const char *what, int64_t min, int64_t max, int64_t *out,
		struct error *err);
/* Also takes an integer. */
int yaml_as_double(const struct yaml_node *node, const char *what, double *out, struct error *err);
/* Also takes yes, no, on and off as YAML 1.1 readers do. */
int yaml_as_bool(const struct yaml_node *node, const char *what, bool *out, struct error *err);
int yaml_check_kind(const struct yaml_node *node, const char *what, enum yaml_kind kind, struct error *err);

/* "the integer 5", "the string \"x\"" (cut when long), "null", "a mapping", …; for messages. The caller frees. */
char *yaml_describe(const struct yaml_node *node);
/* Sets *err to "file:line:column: …". Returns -1. */
int yaml_error(const struct yaml_node *node, struct error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The tree as JSON, plain scalars by the core schema of YAML 1.2 (its section 10.3.2). Integers past 64 bits become
 * reals; .inf and .nan, which JSON lacks, stay strings. Never NULL; the caller decrefs. */
json_t *yaml_to_json(const struct yaml_node *node) __attribute__((returns_nonnull));

#endif
