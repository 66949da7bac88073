/* The watcher's cache: the latest state of every Framework and of their ConfigMaps and Pods, reduced to the data that
 * peers need (ARCHITECTURE.md §3.2), by shard. It reports changes to its listener. */
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

/* A deletion from the cache. Strings are borrowed. */
struct cache_absence {
	const char *uid; /* "": no object of that name exists at resource_version; the uids before it are unknown */
	const char *resource_version; /* at which it did not exist */
	const char *framework_name;   /* of the key it belonged to */
	uint32_t shard;
	bool deleting; /* certainly deleted; it did not only lose its label */
};

/* Called from within cache_present…(), cache_deleted…() and cache_list_end(); may not call those or clear a note. */
struct cache_listener {
	/* An object appeared, or its kept data changed. */
	void (*changed)(void *arg, struct cache_entry *entry);
	/* An object is gone from its key; changed() may follow at once for another one of its name. */
	void (*gone)(void *arg, struct cache_entry *entry, const struct cache_absence *absence);
	/* Before gone(), for a deletion without an event: a list no longer contains the object. The entry still has its
	 * last state. */
	void (*missed)(void *arg, const struct cache_entry *entry);
};

/* The listener must outlive the cache, or its replacement. NULL: nobody listens. */
struct cache *cache_new(uint32_t shard_count, const struct cache_listener *listener, void *arg);
/* Replaces the listener. */
void cache_listen(struct cache *cache, const struct cache_listener *listener, void *arg);
void cache_free(struct cache *cache);

/* The reflector's callbacks, for each kind. -1 and *err: the object cannot be read, has no identity or belongs to no
 * Framework, and was left out. If it belongs to no Framework any more, its former state is gone from its key. */
int cache_present_raw(struct cache *cache, enum object_kind kind, const struct reflector_object *object,
		      struct error *err);
int cache_deleted_raw(struct cache *cache, enum object_kind kind, const struct reflector_object *object,
		      struct error *err);
/* The object exists but cannot be read: the cache keeps its former state. */
void cache_unreadable(struct cache *cache, enum object_kind kind, const char *ns, const char *name);
/* `ns` is the listed and watched namespace; "": all namespaces. A cache uses only one of the two ways. */
void cache_list_begin(struct cache *cache, const char *ns, enum object_kind kind);
void cache_list_end(struct cache *cache, const char *ns, enum object_kind kind, const char *resource_version);
void cache_progress(struct cache *cache, const char *ns, enum object_kind kind, const char *resource_version);

/* Adds the watched scopes and their versions: an object that the cache does not have does not exist at that version. ""
 * before the first list. */
void cache_put_scopes(const struct cache *cache, struct bus_snapshot_end *out);
/* Folds objects of the next shard that have not changed for a while, as far as the work of a few milliseconds goes. To
 * be called once for each shard in the time within which that is no news, and soon again while it returns true: there
 * is more to fold in this shard. */
bool cache_fold(struct cache *cache);
size_t cache_count(const struct cache *cache, enum object_kind kind);

/* All present objects of a shard, Frameworks or not. Where there are many, those of one Framework mostly come one after
 * the other: who keeps them folds one Framework at a time. */
struct cache_entry *cache_first(struct cache *cache, uint32_t shard);
struct cache_entry *cache_next(const struct cache_entry *entry);

enum object_kind cache_entry_kind(const struct cache_entry *entry);
uint32_t cache_entry_shard(const struct cache_entry *entry);
const char *cache_entry_ns(const struct cache_entry *entry);
const char *cache_entry_name(const struct cache_entry *entry);
/* Appends the object as the bus carries it. The entry is present. */
void cache_entry_write(struct buf *out, const struct cache_entry *entry);

/* A pointer for the listener's own use, NULL at first. The entry is kept while it is not NULL, even without an object.
 * Setting it to NULL frees an entry without an object. */
void *cache_entry_note(const struct cache_entry *entry);
void cache_entry_set_note(struct cache *cache, struct cache_entry *entry, void *note);

#endif
