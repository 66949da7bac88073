/* Objects in memory. A stored version is immutable and counted; its JSON text is what is kept, the parsed form only
 * for the versions used last, because parsed JSON takes a dozen times its text (common/README.md §10). */
#ifndef TESTAPI_STORE_H
#define TESTAPI_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/cluster/testapi/api.h"

struct api_owner {
	char *uid;
	bool block; /* blockOwnerDeletion */
};

struct api_object {
	size_t refs;
	struct api *api;
	struct api_resource *resource;
	uint64_t version;
	char *key;            /* "namespace/name", or the name of a cluster-scoped object */
	char *namespace_name; /* "" when cluster-scoped */
	const char *name;     /* within key */
	char *uid;
	json_t *labels; /* NULL: none */
	struct api_owner *owners;
	size_t owner_count;
	bool deleting;
	bool has_finalizers;
	bool foreground;                   /* has the finalizer foregroundDeletion */
	bool orphan;                       /* has the finalizer orphan */
	char *fields[RESOURCE_FIELDS_MAX]; /* values of resource->fields; "" where absent */
	char *text;
	size_t text_len;
	json_t *json;                   /* may be NULL */
	struct api_object *prev, *next; /* in api->cached while json is there */
};

struct api_object *api_object_ref(struct api_object *object);
void api_object_unref(struct api_object *object);
/* The parsed form, borrowed until the loop's next turn; must not be changed. */
json_t *api_object_json(struct api_object *object);
/* A copy whose top level and metadata may be changed, nothing below. The caller decrefs. */
json_t *api_object_copy(struct api_object *object);

/* "namespace/name", or name. The caller frees. */
char *api_key(const struct api_resource *resource, const char *namespace_name, const char *name);

/* Borrowed, or NULL. */
struct api_object *api_store_get(const struct api_resource *resource, const char *namespace_name, const char *name);
/* The same as it was at a version the log still reaches; as it is, otherwise. */
struct api_object *api_store_get_at(const struct api_resource *resource, const char *namespace_name, const char *name,
				    uint64_t version);
/* The range of a namespace, of everything when it is "" or NULL: objects[*begin] up to objects[*end - 1]. */
void api_store_range(const struct api_resource *resource, const char *namespace_name, size_t *begin, size_t *end);

/* A version out of json (stolen; metadata.resourceVersion is set in it to what comes next), not stored yet. Its text
 * begins with resource->item_prefix. The caller unrefs. */
struct api_object *api_object_new(struct api *api, struct api_resource *resource, json_t *json);
/* Stores the newest version of its key, made just before (stolen), and tells watches, strategy and garbage
 * collector. Borrowed. */
struct api_object *api_store_put(struct api *api, struct api_object *object);
/* Removes it; the watchers see its last state under a new resourceVersion. */
void api_store_remove(struct api *api, struct api_object *object);
/* Objects sit in the log for watches that resume: from now on older versions answer 410. Watches that are there go on.
 */
void api_store_compact(struct api *api);
/* Frees what the resource holds. */
void api_store_clear(struct api_resource *resource);

/* Whether an object was stored or removed after that version; true, too, for a version that is too old to tell. */
bool api_store_changed_since(const struct api_resource *resource, uint64_t version);

/* The objects of a range as they were at a version: for the later pages of a list. An array of owned references and
 * its length; -1 when the log does not reach back. */
int api_store_at(struct api_resource *resource, const char *namespace_name, uint64_t version,
		 struct api_object ***objects, size_t *count);

#endif
