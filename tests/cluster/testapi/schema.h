/* Structural schemas of custom resources: pruning, defaulting, validation (apiextensions v1). */
#ifndef TESTAPI_SCHEMA_H
#define TESTAPI_SCHEMA_H

#include <jansson.h>

#include "tests/cluster/testapi/failure.h"

struct schema_node;

/* Compiles an openAPIV3Schema. NULL and *failure (422) when a pattern is no regular expression. */
struct schema_node *schema_compile(const json_t *schema, struct api_failure *failure);
void schema_free(struct schema_node *node);

/* These three take a whole object; apiVersion, kind and metadata are left alone. They change it in place. */
void schema_prune(const struct schema_node *node, json_t *object);
void schema_default(const struct schema_node *node, json_t *object);
/* Adds to causes, in a real server's words. */
void schema_validate(const struct schema_node *node, const json_t *object, json_t *causes);

#endif
