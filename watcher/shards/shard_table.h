/* Who owns which shard of the key space (ARCHITECTURE.md §7): a pure table. It does no I/O and reads no clock: time
 * comes as an argument, in milliseconds of CLOCK_BOOTTIME, never going back. It decides; the router tells the members.
 *
 *            target := m           granted(m, version)         target moves away
 *    FREE ───────────────▶ FREE ───────────────────▶ GRANTED ───────────────────▶ REVOKING
 *      ▲                          once not blocked                                   │
 *      └──── a ping at or past the version names it no longer, process dead, or lease + margin over ────┘ */
#ifndef WATCHER_SHARD_TABLE_H
#define WATCHER_SHARD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bus/message.h"

struct shard_table;
struct shard_member; /* one name; lives until it left or is gone past the grace */

struct shard_options {
	uint32_t shard_count; /* 1..BUS_SHARD_MAX */
	int64_t lease_ms;     /* memberLeaseSec: as the members count it, from when they sent a ping */
	int64_t margin_ms;    /* on top of it here, from the ping's receipt: so that this view always ends later */
	int64_t grace_ms;     /* memberGraceSec: how long a vanished member's shards wait for it */
	/* Up to this time members may act by leases that former leaders gave, margin included: what no member claims,
	 * or two, is granted to nobody before. 0: there are none. */
	int64_t former_until_ms;
};

enum { SHARD_MARGIN_MS = 5000 };

struct shard_table *shard_table_new(const struct shard_options *options);
void shard_table_free(struct shard_table *table);

enum shard_answer {
	SHARD_JOINED,
	SHARD_BUSY, /* another process holds the name and its lease may still run */
	SHARD_FULL, /* too many members */
};

/* A member that is sure to come (a pool slot): it gets its share from the start, for the grace time at least. */
void shard_table_expect(struct shard_table *table, const char *name, int64_t now_ms);
/* A process says HELLO. claimed: the shards that it holds under a live lease of a former leader: taken over as they
 * are, unless two claim one, or those leases have ended; NULL when it was this leader who granted what it holds. *out
 * on SHARD_JOINED. */
enum shard_answer shard_table_hello(struct shard_table *table, const char *name, const char *uuid,
				    const struct shard_set *claimed, int64_t now_ms, struct shard_member **out);
/* A ping received at now_ms: `version` is the assignment applied. Returns whether it renews the lease: it does exactly
 * when the version is the member's present one. The caller answers so. */
bool shard_table_ping(struct shard_table *table, struct shard_member *member, uint64_t version,
		      const struct shard_set *held, const struct shard_set *draining, int64_t now_ms);
/* It drains and leaves: its shards move as fast as it lets go of them. */
void shard_table_bye(struct shard_table *table, struct shard_member *member);
/* The process of that name is known to be dead (the pool reaped it): its shards are free at once, and wait for its
 * successor for the grace time. */
void shard_table_dead(struct shard_table *table, const char *name, int64_t now_ms);

/* From now on nothing is granted any more: all members are about to leave. */
void shard_table_close(struct shard_table *table);

/* Carries out what time and the calls above brought: leases that ran out, members gone past the grace, balance, grants.
 * Members whose assignment changed have a new version. Returns when to call again at the latest (a time; INT64_MAX when
 * nothing is due). A member that is gone for good is freed by it, unless `in_use`. */
int64_t shard_table_update(struct shard_table *table, int64_t now_ms);
/* The caller keeps a pointer to the member (or does no longer). */
void shard_member_use(struct shard_member *member, bool in_use);

/* The present assignment. Its version is 0 before the first one; never 0 afterwards. */
uint64_t shard_member_version(const struct shard_member *member);
const struct shard_set *shard_member_shards(const struct shard_member *member);
/* Moves the shards granted since the last call into *out (emptied first). */
void shard_member_take_fresh(struct shard_member *member, struct shard_set *out);

/* For people to look at. Strings are borrowed, valid until the table is touched. */
struct shard_member_view {
	const char *name;
	const char *uuid; /* "" : no process */
	bool present;
	bool leaving;
	int64_t lease_left_ms; /* by our count; 0: none */
	int64_t received_ms;   /* time of its last word, or of its death */
	uint32_t target_count; /* shards that it gets in the end */
};
struct shard_view {
	const char *holder; /* NULL: it is in nobody's hands */
	bool revoking;      /* the holder has yet to let go of it */
	const char *target; /* NULL: nobody is to have it yet */
	int64_t blocked_ms; /* so long it is granted to nobody; 0: not blocked */
};
size_t shard_table_size(const struct shard_table *table);
/* index: 0..shard_table_size() - 1, sorted by name. */
void shard_table_view_member(const struct shard_table *table, size_t index, int64_t now_ms,
			     struct shard_member_view *out);
void shard_table_view_shard(const struct shard_table *table, uint32_t shard, int64_t now_ms, struct shard_view *out);

/* The member that may act in the shard now, or NULL; revoking ones count. */
const char *shard_table_holder(const struct shard_table *table, uint32_t shard);

#endif
