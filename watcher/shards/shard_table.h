/* Who owns which shard of the key space (ARCHITECTURE.md §7): a pure table. It does no I/O and reads no clock: time
 * comes as an argument, in milliseconds of CLOCK_BOOTTIME, never going back. It decides; the router sends the decisions
 * to the members.
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
struct shard_member; /* one name; lives until it leaves or its grace time has ended */

struct shard_options {
	uint32_t shard_count; /* 1..BUS_SHARD_MAX */
	int64_t lease_ms;     /* memberLeaseSec; members count it from the sending of a ping */
	int64_t margin_ms;    /* added here, from the receipt of the ping, so that the lease always ends later by this
				 table */
	int64_t grace_ms;     /* memberGraceSec: how long the shards of a lost member wait for it */
	/* Until this time (which includes the margin) members may act under leases of former leaders. Before it, a
	 * shard that no member claims, or two, is not granted. 0: there are no such leases. */
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

/* A member that will come (a pool slot): it has its share from the start, at least for the grace time. */
void shard_table_expect(struct shard_table *table, const char *name, int64_t now_ms);
/* A process sends HELLO. claimed: the shards that it holds under a live lease of a former leader. The table takes them
 * over, unless two members claim a shard or those leases have ended. NULL: this leader granted its shards. *out on
 * SHARD_JOINED. */
enum shard_answer shard_table_hello(struct shard_table *table, const char *name, const char *uuid,
				    const struct shard_set *claimed, int64_t now_ms, struct shard_member **out);
/* A ping received at now_ms: `version` is the assignment applied. Returns whether it renews the lease: only if the
 * version is the member's present one. The caller sends that in its PONG. */
bool shard_table_ping(struct shard_table *table, struct shard_member *member, uint64_t version,
		      const struct shard_set *held, const struct shard_set *draining, int64_t now_ms);
/* The member drains and leaves: each shard moves when the member releases it. */
void shard_table_bye(struct shard_table *table, struct shard_member *member);
/* The process of that name has ended (the pool reaped it). Its shards are free at once, and wait for its successor for
 * the grace time; but for nobody if this process and the former one ended within the grace time of their first HELLO,
 * or before it. */
void shard_table_dead(struct shard_table *table, const char *name, int64_t now_ms);

/* From now on no shard is granted: all members are leaving. */
void shard_table_close(struct shard_table *table);

/* Applies the calls above and the passage of time: ends leases, removes members after the grace time, balances, grants.
 * A member whose assignment changed has a new version. It frees removed members, unless `in_use`. */
void shard_table_update(struct shard_table *table, int64_t now_ms);
/* Whether the caller keeps a pointer to the member. */
void shard_member_use(struct shard_member *member, bool in_use);

/* The version of the present assignment; 0 before the first one, never afterwards. */
uint64_t shard_member_version(const struct shard_member *member);
const struct shard_set *shard_member_shards(const struct shard_member *member);
/* Moves the shards granted since the last call into *out (emptied first). */
void shard_member_take_fresh(struct shard_member *member, struct shard_set *out);

/* For operators. Strings are borrowed, valid until the next call that changes the table. */
struct shard_member_view {
	const char *name;
	const char *uuid; /* "" : no process */
	bool present;
	bool leaving;
	int64_t lease_left_ms; /* by this table; 0: none */
	int64_t received_ms;   /* time of its last message, or of its end */
	uint32_t target_count; /* shards that it gets in the end */
};
struct shard_view {
	const char *holder; /* NULL: none */
	bool revoking;      /* the holder has not released it yet */
	const char *target; /* NULL: none yet */
	int64_t blocked_ms; /* time until it can be granted; 0: not blocked */
};
size_t shard_table_size(const struct shard_table *table);
/* index: 0..shard_table_size() - 1, sorted by name. */
void shard_table_view_member(const struct shard_table *table, size_t index, int64_t now_ms,
			     struct shard_member_view *out);
void shard_table_view_shard(const struct shard_table *table, uint32_t shard, int64_t now_ms, struct shard_view *out);

/* The member that may act in the shard now, or NULL; revoking ones count. */
const char *shard_table_holder(const struct shard_table *table, uint32_t shard);

#endif
