/* The state of the watcher for operators: /debug/shards, and the same as a table for `fc-watcher status`. */
#ifndef WATCHER_DEBUG_H
#define WATCHER_DEBUG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/bus/message.h"
#include "watcher/pool/pool.h"
#include "watcher/shards/router.h"

struct debug_view {
	const char *identity; /* of this process in the election */
	const char *leader;   /* holder of the Lease; "": none */
	const char *lease_ns;
	const char *lease_name;
	const struct router *router; /* NULL: another one leads */
	const struct pool *pool;     /* NULL: none */
	int workers;                 /* slots of the pool */
	uint32_t shard_count;
	int64_t now_ms;
	bool synced;
	bool live;
};

/* Appends "0-15,20", "" for none. */
void debug_write_shards(struct buf *out, const struct shard_set *set);

/* {"identity", "leads", "leader", "lease", "epoch", "synced", "live", "shardCount", "held", "backlog", "members":
 * [{"name", "uuid", "pid"?, "restarts"?, "lastEnd"?, "state": "present" | "leaving" | "gone", "shards", "count",
 * "draining", "targetCount", "leaseSeconds", "receivedSecondsAgo", "keys", "unsent", "inFlight"}], "barriers":
 * [{"name", "uuid", "receivedSecondsAgo", "unsent", "inFlight"}], "unheld": [{"shards", "for", "blockedSeconds"}]} A
 * standby has "epoch" 0, "held" 0 and empty lists. "pid" is missing while a child is not running. The caller
 * decrefs. */
json_t *debug_shards(const struct debug_view *view);

/* Appends the same as a table, 120 columns at most while names are short and no child died. */
void debug_write_table(struct buf *out, const json_t *shards);

#endif
