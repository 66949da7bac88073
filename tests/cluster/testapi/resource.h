/* The resources (kinds) the test API server knows: what discovery says of them, how they behave, and where
 * their objects are (store.h). */
#ifndef TESTAPI_RESOURCE_H
#define TESTAPI_RESOURCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/cluster/testapi/failure.h"

struct api;
struct api_object;
struct api_resource;
struct api_watch;
struct schema_node;

/* What a kind does beyond plain storage. Every member may be NULL. */
struct api_strategy {
	/* Decodes and completes a new object, in place. -1 and *failure. */
	int (*create)(struct api *api, struct api_resource *resource, json_t *object, struct api_failure *failure);
	/* The same for a change of old; subresource is "" or "status", …. */
	int (*update)(struct api *api, struct api_resource *resource, const char *subresource, json_t *object,
		      const json_t *old, struct api_failure *failure);
	/* Adds what is wrong with a completed object to causes; old is NULL for a new one. */
	void (*validate)(const struct api_resource *resource, const char *subresource, const json_t *object,
			 const json_t *old, json_t *causes);
	/* After create's checks: what the real server asks last. */
	int (*admit)(struct api *api, struct api_resource *resource, const json_t *object, struct api_failure *failure);
	/* Appends a line for each warning about an object that was created or updated. */
	void (*warn)(const struct api *api, const json_t *object, struct buf *warnings);
	/* The grace period a first deletion gets; asked is the caller's wish or -1; -1: no graceful deletion. */
	int64_t (*grace)(const json_t *object, int64_t asked);
	/* After the store changed; old or new is NULL. */
	void (*changed)(struct api *api, struct api_resource *resource, struct api_object *old, struct api_object *new);
};

enum { RESOURCE_FIELDS_MAX = 12 };

struct api_event {
	uint64_t version;
	char type; /* 'A'dded, 'M'odified, 'D'eleted */
	struct api_object *object;
	struct api_object *previous; /* NULL for 'A' */
};

struct api_resource {
	struct api_resource *next;
	char *group; /* "" for the core group */
	char *version;
	char *plural;
	char *singular;
	char *kind;
	char *list_kind;
	json_t *short_names; /* array of strings */
	json_t *categories;
	bool namespaced;
	bool has_status;     /* has the status subresource */
	bool has_generation; /* metadata.generation is kept */
	bool custom;         /* comes from a CRD */
	bool unconditional;  /* a PUT without resourceVersion is taken */
	bool create_on_put;
	bool returns_deleted; /* DELETE answers with the object, not with a Status */
	bool gone;            /* its CRD was deleted: serves nothing any more */
	const struct api_strategy *strategy;
	/* Field selectors beside metadata.name and metadata.namespace: dotted paths; NULL ends. */
	const char *fields[RESOURCE_FIELDS_MAX];
	struct schema_node *schema; /* custom only */
	bool preserve_unknown;      /* custom only: nothing is pruned */
	json_t *columns;            /* custom only: additionalPrinterColumns */
	uint64_t schema_version;    /* older objects may not fit the schema */
	char *api_version;          /* "v1" or "group/version" */
	char *item_prefix;          /* how the text of each object begins: {"apiVersion":…,"kind":…, */

	/* Storage, sorted by key. */
	struct api_object **objects;
	size_t count;
	size_t cap;
	/* The watch log: a ring of the last events; events[i % cap] for first <= i < end. */
	struct api_event *events;
	size_t event_cap;
	uint64_t event_first;
	uint64_t event_end;
	size_t event_bytes; /* text of the objects in it */
	/* Versions up to this one are not in the log any more. */
	uint64_t compacted;
	struct api_watch *watches;
	bool log_grew; /* since the watches were last looked at */
};

/* A new resource with these names, known to api from now on. Strings are copied; NULL singular and list_kind are
 * derived from kind. */
struct api_resource *api_resource_add(struct api *api, const char *group, const char *version, const char *plural,
				      const char *kind, bool namespaced);
struct api_resource *api_resource_find(const struct api *api, const char *group, const char *version,
				       const char *plural);
/* By plural, whatever the version: for the server's own use. */
struct api_resource *api_resource_named(const struct api *api, const char *group, const char *plural);
void api_resource_free(struct api_resource *resource);
/* The kinds that need no CRD. */
void api_resource_builtins(struct api *api);

#endif
