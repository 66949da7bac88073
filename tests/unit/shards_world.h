/* The table of shards as its tests see it. Shared by test_shards{,_members,_leader}.c. */
#ifndef TESTS_SHARDS_WORLD_H
#define TESTS_SHARDS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "watcher/shards/shard_table.h"

enum { SHARDS = 64, LEASE = 10000, MARGIN = 5000, GRACE = 30000, START = 1000 };

static const struct shard_set none;

static inline struct shard_table *make(int64_t blocked_ms)
{
	const struct shard_options options = {
		.shard_count = SHARDS,
		.lease_ms = LEASE,
		.margin_ms = MARGIN,
		.grace_ms = GRACE,
		.former_until_ms = blocked_ms > 0 ? START + blocked_ms : 0,
	};

	return shard_table_new(&options);
}

static inline struct shard_member *join(struct shard_table *table, const char *name, const char *uuid, int64_t now_ms)
{
	struct shard_member *member = NULL;

	assert_int_equal(shard_table_hello(table, name, uuid, NULL, now_ms, &member), SHARD_JOINED);
	return member;
}

/* A ping that says exactly what the assignment says. */
static inline void ping(struct shard_table *table, struct shard_member *member, int64_t now_ms)
{
	assert_true(shard_table_ping(table, member, shard_member_version(member), shard_member_shards(member), &none,
				     now_ms));
}

static inline uint32_t held(const struct shard_table *table, const char *name)
{
	uint32_t count = 0;

	for (uint32_t r = 0; r < SHARDS; r++) {
		const char *holder = shard_table_holder(table, r);

		if (name == NULL ? holder == NULL : holder != NULL && strcmp(holder, name) == 0)
			count++;
	}
	return count;
}

/* Members that are to have shards. */
static inline uint32_t balanced_over(const struct shard_table *table, int64_t now_ms)
{
	struct shard_member_view view;
	uint32_t count = 0;

	for (size_t i = 0; i < shard_table_size(table); i++) {
		shard_table_view_member(table, i, now_ms, &view);
		count += view.target_count > 0 ? 1 : 0;
	}
	return count;
}

#endif
