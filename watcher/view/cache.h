/* What the watcher knows of the cluster: the latest state of every Framework, ConfigMap and Pod that matters, cut down
 * to what its peers need (ARCHITECTURE.md §3.2), kept by the shards of the key space. It tells its listener what
 * changed. */
#ifndef WATCHER_CACHE_H
#define WATCHER_CACHE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/bus/message.h"
#include "common/framework/object.h"
#include "common/kube/reflector.h"

struct cache;
struct cache_entry; /* one namespace/name of one kind */

/* How an object went. Strings are borrowed. */
struct cache_absence {
	const char *uid;              /* "": it is not known where between its last state and resource_version */
	const char *resource_version; /* where it was gone */
	const char *framework_name;   /* of the key it belonged to */
	uint32_t shard;
	bool deleting; /* gone for certain, not only out of the label selector's sight */
};

/* Called from within cache_present…(), cache_deleted…() and cache_list_end(); may not call those, nor unset a note. */
struct cache_listener {
	/* An object appeared or changed in what is kept. */
	void (*changed)(void *arg, struct cache_entry *entry);
	/* An object is gone from its key; another one of its name may follow at once by changed(). */
	void (*gone)(void *arg, struct cache_entry *entry, const struct cache_absence *absence);
	/* Before gone(), for an object whose deletion no event told: a list showed that it is no longer there. The
	 * entry still has its last state. */
	void (*missed)(void *arg, const struct cache_entry *entry);
};

/* The listener must outlive the cache. */
struct cache *cache_new(uint32_t shard_count, const struct cache_listener *listener, void *arg);
void cache_free(struct cache *cache);

/* The reflector's callbacks, for each kind. -1 and *err: the object cannot be read, has no identity or belongs to no
 * Framework, and was left out. Only Pods come as protobuf. */
int cache_present_raw(struct cache *cache, enum object_kind kind, const struct reflector_object *object,
		      struct error *err);
int cache_deleted_raw(struct cache *cache, enum object_kind kind, const struct reflector_object *object,
		      struct error *err);
/* It is there but cannot be read: what is known of it is kept as it is. */
void cache_unreadable(struct cache *cache, enum object_kind kind, const char *ns, const char *name);
/* `ns` is the namespace that is listed and watched, "" for all of them at once; always one or the other. */
void cache_list_begin(struct cache *cache, const char *ns, enum object_kind kind);
void cache_list_end(struct cache *cache, const char *ns, enum object_kind kind, const char *resource_version);
void cache_progress(struct cache *cache, const char *ns, enum object_kind kind, const char *resource_version);

/* Adds what is watched, with the versions at which what the cache lacks does not exist; "" before the first list. */
void cache_put_scopes(const struct cache *cache, struct bus_snapshot_end *out);
size_t cache_count(const struct cache *cache, enum object_kind kind);

/* All present objects of a shard, Frameworks or not, in no order. */
struct cache_entry *cache_first(const struct cache *cache, uint32_t shard);
struct cache_entry *cache_next(const struct cache_entry *entry);

enum object_kind cache_entry_kind(const struct cache_entry *entry);
uint32_t cache_entry_shard(const struct cache_entry *entry);
const char *cache_entry_ns(const struct cache_entry *entry);
const char *cache_entry_name(const struct cache_entry *entry);
/* Appends the object as the bus carries it. The entry is present. */
void cache_entry_write(struct buf *out, const struct cache_entry *entry);

/* A place in the entry for the listener's own use, NULL at first. While it is not NULL the entry stays, present or not;
 * when it is set to NULL and the entry is not present, it is freed. */
void *cache_entry_note(const struct cache_entry *entry);
void cache_entry_set_note(struct cache *cache, struct cache_entry *entry, void *note);

#endif
