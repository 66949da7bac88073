/* The queue of objects and snapshot ends that wait to be sent to one peer. It contains an object at most once, and the
 * latest state is sent. Part of the router. */
#ifndef WATCHER_OUTBOX_H
#define WATCHER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bus/message.h"
#include "watcher/view/cache.h"

struct outbox;
struct outbox_item;

struct outbox *outbox_new(struct cache *cache);
void outbox_free(struct outbox *outbox);
void outbox_clear(struct outbox *outbox);
size_t outbox_size(const struct outbox *outbox);

/* The object has a new state. */
void outbox_put(struct outbox *outbox, struct cache_entry *entry);
/* The entry's object was deleted. The deletion is sent even if the peer never had the object, and before any later
 * state. Consecutive deletions of one Framework become one without a uid: no object existed at the last version. */
void outbox_put_absent(struct outbox *outbox, struct cache_entry *entry, const struct cache_absence *absence);
/* Everything put so far completes these shards. It replaces earlier ends of these shards, because objects before those
 * may have been put again. Takes over the strings. */
void outbox_put_end(struct outbox *outbox, const struct bus_snapshot_end *end);
/* Whether a snapshot waits to be sent completely. */
bool outbox_has_end(const struct outbox *outbox);
/* Removes the items of these shards: the peer no longer needs them. */
void outbox_drop_shards(struct outbox *outbox, const struct shard_set *shards);

/* The first item, or NULL. */
struct outbox_item *outbox_first(const struct outbox *outbox);
/* The part of the item to send next, in this order. At most one of them is not NULL. */
const struct bus_absent *outbox_item_absent(const struct outbox_item *item, enum object_kind *kind, uint32_t *shard);
const struct bus_snapshot_end *outbox_item_end(const struct outbox_item *item);
const struct cache_entry *outbox_item_entry(const struct outbox_item *item);
/* Notes that the present part of the item was sent. */
void outbox_sent(struct outbox *outbox, struct outbox_item *item);

#endif
