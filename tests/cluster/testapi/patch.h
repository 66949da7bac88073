/* The patches a client can send. */
#ifndef TESTAPI_PATCH_H
#define TESTAPI_PATCH_H

#include <jansson.h>

#include "tests/cluster/testapi/request.h"

enum patch_type { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC };

/* From the Content-Type; 415 for others (apply-patch among them), and for strategic patches of custom resources. */
int patch_type_of(const struct api_request *request, enum patch_type *type, struct api_failure *failure);

/* A new value: object (not changed) with the patch applied. NULL and *failure. */
json_t *patch_apply(enum patch_type type, const struct api_resource *resource, const json_t *object,
		    const json_t *patch, struct api_failure *failure);

#endif
