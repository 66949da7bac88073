/* ObjectMeta: what of it a client may say, and what the server fills in. */
#ifndef TESTAPI_META_H
#define TESTAPI_META_H

#include "tests/cluster/testapi/api.h"

/* A new object {apiVersion, kind, metadata, …} out of a client's body: metadata is reduced to what ObjectMeta knows,
 * its types are checked; the rest is shared with body. NULL and *failure. */
json_t *api_meta_object(const struct api_resource *resource, const json_t *body, struct api_failure *failure);
/* Names, labels, annotations, owner references, finalizers as the real server validates them; adds to causes. old is
 * the metadata before a change, or NULL. */
void api_meta_validate(const struct api_resource *resource, const json_t *metadata, const json_t *old, json_t *causes);
/* Fills in name (from generateName), uid, creationTimestamp, generation of a new object. */
void api_meta_create(struct api *api, const struct api_resource *resource, json_t *metadata);
/* Carries over what an update may not change. */
void api_meta_update(json_t *metadata, const json_t *old);

#endif
