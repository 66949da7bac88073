/* What can be done to objects, with a real API server's rules (generic registry store): used by REST requests, the
 * garbage collector and the namespace and CRD cleanup alike. */
#ifndef TESTAPI_OPS_H
#define TESTAPI_OPS_H

#include "tests/cluster/testapi/store.h"

/* Most etcd takes in one request (its --max-request-bytes). */
enum { OBJECT_BYTES_MAX = 1536 * 1024 };
/* Most that an API server's client of etcd sends. */
enum { MESSAGE_BYTES_MAX = 2 * 1024 * 1024 };

/* body is borrowed; what is nested in it may be completed by defaults. *out is the stored object (with dry_run: what
 * would be), a reference of the caller's. */
int api_create(struct api *api, struct api_resource *resource, const char *namespace_name, const json_t *body,
	       bool dry_run, struct api_object **out, struct api_failure *failure);

struct api_update {
	const char *namespace_name;
	const char *name;
	const char *subresource; /* "" or "status" */
	bool dry_run;
	bool patch;   /* it came as one, not as a PUT */
	bool created; /* out: the PUT made it */
};

/* A PUT of body. */
int api_update(struct api *api, struct api_resource *resource, struct api_update *update, const json_t *body,
	       struct api_object **out, struct api_failure *failure);

struct api_deletion {
	const char *uid;              /* precondition, or NULL */
	const char *resource_version; /* precondition, or NULL */
	int64_t grace;                /* gracePeriodSeconds, or -1 */
	const char *policy;           /* "Background", "Foreground", "Orphan", or NULL */
	bool dry_run;
};

/* *out: the object as it is left, or its last state when *removed. A reference of the caller's. */
int api_delete(struct api *api, struct api_object *object, const struct api_deletion *deletion, struct api_object **out,
	       bool *removed, struct api_failure *failure);

/* For the server's own controllers: replaces one member of metadata (value stolen; NULL removes it), as an update
 * that may complete a deletion. */
void api_set_metadata(struct api *api, struct api_object *object, const char *member, json_t *value);

#endif
