/* What one peer has yet to be told: a queue of objects (each at most once, its latest state taken when it is sent) and
 * of snapshot ends. Part of the router. */
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
/* An object is gone from the entry: told even if its peer never knew it, and before any state that follows. Several of
 * one Framework in a row become one that names no uid: none existed at the last version. */
void outbox_put_absent(struct outbox *outbox, struct cache_entry *entry, const struct cache_absence *absence);
/* Everything put so far completes these shards: what was to complete them earlier does not any more, as objects that
 * were told before may have been put again behind it. Takes over the strings. */
void outbox_put_end(struct outbox *outbox, const struct bus_snapshot_end *end);
/* The peer is not concerned with these any more. */
void outbox_drop_shards(struct outbox *outbox, const struct shard_set *shards);

/* The first item, or NULL. */
struct outbox_item *outbox_first(const struct outbox *outbox);
/* What of it is to be told next; in this order. At most one of them is not NULL. */
const struct bus_absent *outbox_item_absent(const struct outbox_item *item, enum object_kind *kind, uint32_t *shard);
const struct bus_snapshot_end *outbox_item_end(const struct outbox_item *item);
const struct cache_entry *outbox_item_entry(const struct outbox_item *item);
/* That was told. */
void outbox_sent(struct outbox *outbox, struct outbox_item *item);

#endif
