/* The table of ranges: who gets what, when a range is free for someone else, and how little moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>

#include "watcher/shards.h"

enum { SHARDS = 64, LEASE = 10000, MARGIN = 5000, GRACE = 30000, START = 1000 };

static const struct range_set none;

static struct shard_table *make(int64_t blocked_ms)
{
	const struct shard_options options = {
		.shards = SHARDS, .lease_ms = LEASE, .margin_ms = MARGIN, .grace_ms = GRACE, .blocked_ms = blocked_ms};

	return shard_table_new(&options, START);
}

static struct shard_member *join(struct shard_table *table, const char *name, const char *uuid, int64_t now_ms)
{
	struct shard_member *member = NULL;

	assert_int_equal(shard_table_hello(table, name, uuid, NULL, now_ms, &member), SHARD_JOINED);
	return member;
}

/* A ping that says exactly what the assignment says. */
static void ping(struct shard_table *table, struct shard_member *member, int64_t now_ms)
{
	assert_true(shard_table_ping(table, member, shard_member_version(member), shard_member_ranges(member), &none,
				     now_ms));
}

static uint32_t held(const struct shard_table *table, const char *name)
{
	uint32_t count = 0;

	for (uint32_t r = 0; r < SHARDS; r++) {
		const char *holder = shard_table_holder(table, r);

		if (name == NULL ? holder == NULL : holder != NULL && strcmp(holder, name) == 0)
			count++;
	}
	return count;
}

static uint32_t runs(const struct range_set *set)
{
	uint32_t count = 0;

	for (uint32_t r = 0; r < SHARDS; r++)
		if (range_set_has(set, r) && (r == 0 || !range_set_has(set, r - 1)))
			count++;
	return count;
}

static void test_pool_start(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *member;
	struct range_set fresh;
	char name[24];

	(void)state;
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "pool-%d", i);
		shard_table_expect(table, name, START);
	}
	shard_table_update(table, START);
	assert_int_equal(held(table, NULL), SHARDS); /* nobody is there yet */
	for (int i = 3; i >= 0; i--) {
		snprintf(name, sizeof(name), "pool-%d", i);
		member = join(table, name, name, START + 1);
		shard_table_update(table, START + 1);
		/* its share from the start: nothing has to move when the next one comes */
		assert_int_equal(range_set_count(shard_member_ranges(member)), 16);
		assert_int_equal(runs(shard_member_ranges(member)), 1);
		assert_int_equal(shard_member_version(member), 4 - i);
		shard_member_take_fresh(member, &fresh);
		assert_memory_equal(&fresh, shard_member_ranges(member), sizeof(fresh));
		shard_member_take_fresh(member, &fresh);
		assert_true(range_set_empty(&fresh));
	}
	assert_int_equal(held(table, NULL), 0);
	shard_table_free(table);
}

static void test_uneven(void **state)
{
	struct shard_table *table = make(0);
	char name[24];

	(void)state;
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		shard_table_expect(table, name, START);
		join(table, name, "u", START);
	}
	shard_table_update(table, START);
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		assert_in_range(held(table, name), 12, 13);
	}
	shard_table_free(table);
}

/* A slot that was expected but never came has its ranges spread when the grace is over. */
static void test_expected_never_comes(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *member;

	(void)state;
	shard_table_expect(table, "a", START);
	shard_table_expect(table, "b", START);
	member = join(table, "a", "u", START);
	shard_table_update(table, START);
	for (int64_t now = START; now < START + GRACE; now += 1000) {
		ping(table, member, now);
		shard_table_update(table, now);
		assert_int_equal(held(table, "a"), 32);
	}
	ping(table, member, START + GRACE);
	shard_table_update(table, START + GRACE);
	assert_int_equal(held(table, "a"), SHARDS);
	assert_int_equal(shard_table_member_count(table, START + GRACE), 1);
	shard_table_free(table);
}

/* A range that moves is free only when a ping at the version that lacks it names it neither held nor draining. */
static void test_handover(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *a = join(table, "a", "ua", START);
	struct shard_member *b;
	struct range_set before;
	struct range_set draining = {0};
	uint64_t old_version;

	(void)state;
	shard_table_update(table, START);
	ping(table, a, START);
	before = *shard_member_ranges(a);
	old_version = shard_member_version(a);
	b = join(table, "b", "ub", START + 1000);
	shard_table_update(table, START + 1000);
	assert_int_equal(range_set_count(shard_member_ranges(a)), 32);
	assert_true(shard_member_version(a) > old_version);
	assert_int_equal(shard_member_version(b), 0); /* nothing to be had yet */
	assert_int_equal(held(table, "a"), SHARDS);
	/* a has not heard of it: it lives on the lease it has, and gets no other one */
	assert_false(shard_table_ping(table, a, old_version, &before, &none, START + 2000));
	shard_table_update(table, START + 2000);
	assert_int_equal(held(table, "b"), 0);
	/* it has, but calls are in flight in range 63 */
	range_set_add(&draining, 63);
	assert_true(
		shard_table_ping(table, a, shard_member_version(a), shard_member_ranges(a), &draining, START + 3000));
	shard_table_update(table, START + 3000);
	assert_int_equal(held(table, "b"), 31);
	assert_string_equal(shard_table_holder(table, 63), "a");
	ping(table, a, START + 4000);
	shard_table_update(table, START + 4000);
	assert_int_equal(held(table, "b"), 32);
	assert_int_equal(range_set_count(shard_member_ranges(b)), 32);
	assert_int_equal(runs(shard_member_ranges(a)), 1);
	assert_int_equal(runs(shard_member_ranges(b)), 1);
	shard_table_free(table);
}

/* A member that does not answer keeps what it has until its lease is over by our count, and its successor of the same
 * name until the grace is. */
static void test_silent_member(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *a = join(table, "a", "ua", START);
	struct shard_member *b = join(table, "b", "ub", START);
	struct shard_member *other;
	int64_t now;
	const int64_t last = START + 100;

	(void)state;
	shard_table_update(table, START);
	ping(table, a, last);
	for (now = last; now < last + LEASE + MARGIN; now += 500) {
		ping(table, b, now);
		shard_table_update(table, now);
		assert_int_equal(held(table, "a"), 32);
		/* its name is taken while its lease may run */
		assert_int_equal(shard_table_hello(table, "a", "other", NULL, now, &other), SHARD_BUSY);
	}
	for (; now < last + GRACE; now += 500) {
		ping(table, b, now);
		shard_table_update(table, now);
		assert_int_equal(held(table, "a"), 0);
		assert_int_equal(held(table, "b"), 32);
	}
	ping(table, b, last + GRACE);
	shard_table_update(table, last + GRACE);
	assert_int_equal(held(table, "b"), SHARDS);
	shard_table_free(table);
}

/* Pings at an old version keep a member present but renew nothing. */
static void test_old_version_renews_nothing(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *a = join(table, "a", "ua", START);
	struct range_set all;
	uint64_t version;

	(void)state;
	shard_table_update(table, START);
	ping(table, a, START);
	all = *shard_member_ranges(a);
	version = shard_member_version(a);
	join(table, "b", "ub", START);
	shard_table_update(table, START);
	for (int64_t now = START; now < START + LEASE + MARGIN; now += 500) {
		assert_false(shard_table_ping(table, a, version, &all, &none, now));
		assert_false(shard_table_ping(table, a, 0, &all, &none, now));
		shard_table_update(table, now);
		assert_int_equal(held(table, "a"), SHARDS);
	}
	shard_table_update(table, START + LEASE + MARGIN);
	/* its lease is over; it gets its half anew */
	assert_int_equal(held(table, "a"), 32);
	assert_true(shard_member_version(a) > version);
	shard_table_free(table);
}

static void test_restart_in_pool(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *a = join(table, "a", "u1", START);
	struct shard_member *b = join(table, "b", "ub", START);
	struct range_set of_a;
	struct range_set of_b;
	struct shard_member *out;
	uint64_t version_b;

	(void)state;
	shard_table_update(table, START);
	ping(table, a, START);
	ping(table, b, START);
	of_a = *shard_member_ranges(a);
	of_b = *shard_member_ranges(b);
	version_b = shard_member_version(b);
	shard_table_dead(table, "a", START + 5000);
	shard_table_dead(table, "nobody", START + 5000);
	shard_table_update(table, START + 5000);
	assert_int_equal(held(table, "a"), 0);
	a = join(table, "a", "u2", START + 6000); /* at once, not after the lease */
	shard_table_update(table, START + 6000);
	assert_memory_equal(&of_a, shard_member_ranges(a), sizeof(of_a));
	/* the other one has not noticed anything */
	assert_memory_equal(&of_b, shard_member_ranges(b), sizeof(of_b));
	assert_int_equal(shard_member_version(b), version_b);
	/* the dead one is not coming back */
	assert_int_equal(shard_table_hello(table, "a", "u1", NULL, START + 7000, &out), SHARD_REPLACED);
	shard_table_free(table);
}

static void test_restart_elsewhere(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *a = join(table, "a", "u1", START);
	struct range_set of_a;
	struct shard_member *out;
	const int64_t over = START + LEASE + MARGIN;

	(void)state;
	join(table, "b", "ub", START);
	shard_table_update(table, START);
	ping(table, a, START);
	of_a = *shard_member_ranges(a);
	assert_int_equal(shard_table_hello(table, "a", "u2", NULL, over - 1, &out), SHARD_BUSY);
	a = join(table, "a", "u2", over);
	shard_table_update(table, over);
	assert_memory_equal(&of_a, shard_member_ranges(a), sizeof(of_a));
	assert_int_equal(shard_table_hello(table, "a", "u1", NULL, over, &out), SHARD_REPLACED);
	shard_table_free(table);
}

/* The same process that says HELLO again keeps what it has. */
static void test_hello_again(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *a = join(table, "a", "u1", START);
	uint64_t version;

	(void)state;
	shard_table_update(table, START);
	ping(table, a, START);
	version = shard_member_version(a);
	assert_ptr_equal(join(table, "a", "u1", START + 1000), a);
	shard_table_update(table, START + 1000);
	assert_int_equal(shard_member_version(a), version);
	assert_int_equal(held(table, "a"), SHARDS);
	shard_table_free(table);
}

static void test_gone_and_back(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *members[4];
	struct range_set before[4];
	char name[24];
	uint32_t moved = 0;
	int64_t now;

	(void)state;
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		members[i] = join(table, name, name, START);
	}
	shard_table_update(table, START);
	for (now = START; now <= START + GRACE; now += 1000) {
		for (int i = 1; i < 4; i++)
			ping(table, members[i], now);
		shard_table_update(table, now);
	}
	assert_int_equal(held(table, "m0"), 0);
	for (int i = 1; i < 4; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		assert_in_range(held(table, name), 21, 22);
		before[i] = *shard_member_ranges(members[i]);
		ping(table, members[i], now);
	}
	members[0] = join(table, "m0", "again", now);
	for (int round = 0; round < 3; round++) {
		shard_table_update(table, now);
		for (int i = 0; i < 4; i++)
			if (shard_member_version(members[i]) != 0)
				ping(table, members[i], now);
	}
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		assert_int_equal(held(table, name), 16);
		for (uint32_t r = 0; i > 0 && r < SHARDS; r++)
			if (range_set_has(&before[i], r) && !range_set_has(shard_member_ranges(members[i]), r))
				moved++;
	}
	assert_int_equal(moved, 16); /* what the one that came back got, and nothing else */
	shard_table_free(table);
}

static void test_bye(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *a = join(table, "a", "u1", START);
	struct shard_member *b = join(table, "b", "ub", START);
	struct range_set draining = {0};
	uint64_t version;

	(void)state;
	shard_table_update(table, START);
	ping(table, a, START);
	version = shard_member_version(a);
	shard_table_bye(table, a);
	shard_table_update(table, START + 1);
	assert_true(shard_member_version(a) > version);
	assert_true(range_set_empty(shard_member_ranges(a)));
	assert_int_equal(held(table, "a"), 32); /* until it says that it has let go */
	range_set_add(&draining, 0);
	assert_true(shard_table_ping(table, a, shard_member_version(a), &none, &draining, START + 2));
	shard_table_update(table, START + 2);
	assert_int_equal(held(table, "b"), 63);
	assert_true(shard_table_ping(table, a, shard_member_version(a), &none, &none, START + 3));
	shard_table_update(table, START + 3);
	assert_int_equal(held(table, "b"), SHARDS);
	ping(table, b, START + 4);
	assert_int_equal(shard_table_member_count(table, START + 4), 1);
	/* its successor need not wait for a lease that nobody uses */
	a = join(table, "a", "u2", START + 5);
	shard_table_update(table, START + 5);
	assert_int_equal(range_set_count(shard_member_ranges(b)), 32);
	shard_table_free(table);
}

static void test_bye_without_ranges(void **state)
{
	struct shard_table *table = make(LEASE + MARGIN); /* nothing is granted yet */
	struct shard_member *a = join(table, "a", "u1", START);

	(void)state;
	shard_member_use(a, true);
	shard_table_update(table, START);
	assert_int_equal(shard_member_version(a), 0);
	shard_table_bye(table, a);
	shard_table_update(table, START);
	assert_int_not_equal(shard_member_version(a), 0); /* so that a ping can name a version to leave at */
	shard_table_free(table);
}

static void test_closed(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *a = join(table, "a", "u1", START);

	(void)state;
	join(table, "b", "u2", START);
	shard_table_update(table, START);
	shard_table_close(table);
	shard_member_use(a, true);
	shard_table_bye(table, a);
	shard_table_update(table, START);
	assert_true(shard_table_ping(table, a, shard_member_version(a), &none, &none, START));
	shard_table_update(table, START);
	assert_int_equal(held(table, NULL), 32);
	shard_table_free(table);
}

/* ---- a new leader ----------------------------------------------------------------------------------------------- */

static void add_run(struct range_set *set, uint32_t first, uint32_t count)
{
	for (uint32_t r = first; r < first + count; r++)
		range_set_add(set, r);
}

static void test_claims(void **state)
{
	struct shard_table *table = make(LEASE + MARGIN);
	struct shard_member *a;
	struct shard_member *b;
	struct range_set claim_a = {0};
	int64_t now;

	(void)state;
	add_run(&claim_a, 10, 20);
	assert_int_equal(shard_table_hello(table, "a", "ua", &claim_a, START, &a), SHARD_JOINED);
	b = join(table, "b", "ub", START);
	shard_table_update(table, START);
	/* what it claims it keeps at once; the rest waits for whoever else may come with a claim */
	assert_memory_equal(shard_member_ranges(a), &claim_a, sizeof(claim_a));
	assert_int_equal(held(table, NULL), SHARDS - 20);
	for (now = START; now < START + LEASE + MARGIN; now += 1000) {
		ping(table, a, now);
		if (shard_member_version(b) != 0)
			ping(table, b, now);
		else
			shard_table_ping(table, b, 0, &none, &none, now);
		shard_table_update(table, now);
		assert_int_equal(held(table, "b"), 0);
	}
	shard_table_update(table, START + LEASE + MARGIN);
	assert_int_equal(held(table, "b"), 32);
	assert_int_equal(held(table, "a"), 32);
	for (uint32_t r = 10; r < 30; r++)
		assert_string_equal(shard_table_holder(table, r), "a"); /* none of them moved */
	shard_table_free(table);
}

/* What was claimed and is then let go waits for nobody: it is known whose it was. */
static void test_claim_released(void **state)
{
	struct shard_table *table = make(LEASE + MARGIN);
	struct range_set claim = {0};
	struct shard_member *a;

	(void)state;
	add_run(&claim, 0, 10);
	assert_int_equal(shard_table_hello(table, "a", "ua", &claim, START, &a), SHARD_JOINED);
	shard_member_use(a, true);
	join(table, "b", "ub", START);
	shard_table_update(table, START);
	shard_table_bye(table, a);
	shard_table_update(table, START + 1);
	assert_true(shard_table_ping(table, a, shard_member_version(a), &none, &none, START + 2));
	shard_table_update(table, START + 2);
	assert_int_equal(held(table, "b"), 10);
	assert_int_equal(held(table, NULL), SHARDS - 10);
	shard_table_free(table);
}

/* A lease that was claimed lives on by our count, too: nobody else gets it before it has ended. */
static void test_claim_of_a_silent_one(void **state)
{
	struct shard_table *table = make(0);
	struct range_set claim = {0};
	struct shard_member *a;
	struct shard_member *b;
	struct shard_member *out;

	(void)state;
	add_run(&claim, 0, SHARDS);
	assert_int_equal(shard_table_hello(table, "a", "ua", &claim, START, &a), SHARD_JOINED);
	shard_table_update(table, START);
	b = join(table, "b", "ub", START + 1);
	for (int64_t now = START + 1; now < START + LEASE + MARGIN; now += 500) {
		shard_table_ping(table, b, shard_member_version(b), &none, &none, now);
		shard_table_update(table, now);
		assert_int_equal(held(table, "b"), 0);
		assert_int_equal(shard_table_hello(table, "a", "other", NULL, now, &out), SHARD_BUSY);
	}
	shard_table_update(table, START + LEASE + MARGIN);
	assert_int_equal(held(table, "b"), 32);
	shard_table_free(table);
}

static void test_two_claims(void **state)
{
	struct shard_table *table = make(LEASE + MARGIN);
	struct range_set claim_a = {0};
	struct range_set claim_b = {0};
	struct shard_member *a;
	struct shard_member *b;
	const int64_t second = START + 3000;

	(void)state;
	add_run(&claim_a, 0, 10);
	add_run(&claim_b, 9, 10);
	assert_int_equal(shard_table_hello(table, "a", "ua", &claim_a, START, &a), SHARD_JOINED);
	shard_table_update(table, START);
	ping(table, a, START);
	assert_int_equal(shard_table_hello(table, "b", "ub", &claim_b, second, &b), SHARD_JOINED);
	shard_table_update(table, second);
	assert_int_equal(range_set_count(shard_member_ranges(a)), 9);
	assert_int_equal(range_set_count(shard_member_ranges(b)), 9);
	ping(table, a, second);
	ping(table, b, second);
	for (int64_t now = second; now < second + LEASE + MARGIN; now += 500) {
		ping(table, a, now);
		ping(table, b, now);
		shard_table_update(table, now);
		assert_null(shard_table_holder(table, 9)); /* neither may have it before both leases are over */
	}
	shard_table_update(table, second + LEASE + MARGIN);
	assert_non_null(shard_table_holder(table, 9));
	shard_table_free(table);
}

static void test_next_due(void **state)
{
	struct shard_table *table = make(LEASE + MARGIN);
	struct shard_member *a;

	(void)state;
	assert_int_equal(shard_table_update(table, START), START + LEASE + MARGIN);
	a = join(table, "a", "u", START + 2000);
	assert_int_equal(shard_table_update(table, START + 2000), START + LEASE + MARGIN);
	assert_int_equal(shard_table_update(table, START + LEASE + MARGIN), START + 2000 + LEASE + MARGIN);
	ping(table, a, START + LEASE + MARGIN);
	assert_int_equal(shard_table_update(table, START + LEASE + MARGIN), START + 2 * (LEASE + MARGIN));
	shard_table_free(table);
}

/* Without a grace time, ranges wait for nobody who is away, but are granted to those who are there. */
static void test_no_grace(void **state)
{
	const struct shard_options options = {.shards = SHARDS, .lease_ms = LEASE, .margin_ms = MARGIN};
	struct shard_table *table = shard_table_new(&options, START);
	struct shard_member *a = join(table, "a", "u", START);

	(void)state;
	shard_table_update(table, START);
	assert_int_equal(held(table, "a"), SHARDS);
	ping(table, a, START);
	shard_table_dead(table, "a", START + 1);
	join(table, "b", "u2", START + 1);
	shard_table_update(table, START + 1);
	assert_int_equal(held(table, "b"), SHARDS);
	shard_table_free(table);
}

/* A leader that follows one of which it knows when it ended, and a member whose leases ran out in between. */
static struct shard_table *follow(int64_t former_end_ms, struct shard_member **a)
{
	const struct shard_options options = {.shards = SHARDS,
					      .lease_ms = LEASE,
					      .margin_ms = MARGIN,
					      .grace_ms = GRACE,
					      .blocked_ms = LEASE + MARGIN,
					      .former_end_ms = former_end_ms};
	struct shard_table *table = shard_table_new(&options, START);
	struct range_set lapsed = {0};

	add_run(&lapsed, 0, 40);
	*a = join(table, "a", "ua", START);
	shard_table_lapsed(table, *a, &lapsed, START);
	shard_table_update(table, START);
	assert_int_equal(held(table, "a"), 0);
	assert_int_not_equal(shard_member_version(*a), 0); /* which asks how long ago that was */
	return table;
}

enum { FORMER_END = START - 5000 };

static void test_lapsed(void **state)
{
	static const struct {
		int64_t age_ms;
		bool back;
	} rows[] = {
		/* over 2 s before the former leader was: granted to nobody else before another 3 s had passed */
		{7000, true},
		{1, true},
		/* over for so long that the former leader may have given them to somebody else */
		{9000, false},
		{60000, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct shard_member *a;
		struct shard_table *table = follow(FORMER_END, &a);
		uint64_t version = shard_member_version(a);

		/* what was sent before the question says nothing of when */
		shard_table_lapsed_since(table, a, version - 1, rows[i].age_ms, START + 1);
		shard_table_update(table, START + 1);
		assert_int_equal(held(table, "a"), 0);
		shard_table_lapsed_since(table, a, version, rows[i].age_ms, START + 100);
		shard_table_update(table, START + 100);
		assert_int_equal(held(table, "a"), rows[i].back ? 40 : 0);
		/* the rest, or all, waits until the former leader's grants have run out */
		shard_table_ping(table, a, shard_member_version(a), shard_member_ranges(a), &none,
				 FORMER_END + LEASE + MARGIN - 1);
		shard_table_update(table, FORMER_END + LEASE + MARGIN - 1);
		assert_int_equal(held(table, "a"), rows[i].back ? 40 : 0);
		shard_table_update(table, FORMER_END + LEASE + MARGIN);
		assert_int_equal(held(table, "a"), SHARDS);
		shard_table_free(table);
	}
}

/* Who has a live claim goes before, whenever it comes; who leaves gets nothing. */
static void test_lapsed_and_claimed(void **state)
{
	struct shard_member *a;
	struct shard_member *b;
	struct shard_table *table = follow(FORMER_END, &a);
	struct range_set claim = {0};

	(void)state;
	add_run(&claim, 20, 30);
	assert_int_equal(shard_table_hello(table, "b", "ub", &claim, START + 1, &b), SHARD_JOINED);
	shard_table_lapsed_since(table, a, shard_member_version(a), 1000, START + 2);
	shard_table_update(table, START + 2);
	assert_string_equal(shard_table_holder(table, 0), "a");
	assert_string_equal(shard_table_holder(table, 20), "b");
	assert_string_equal(shard_table_holder(table, 49), "b");
	shard_table_free(table);
	table = follow(FORMER_END, &a);
	shard_table_bye(table, a);
	shard_table_lapsed_since(table, a, shard_member_version(a), 1000, START + 2);
	shard_table_update(table, START + 2);
	assert_int_equal(held(table, NULL), SHARDS);
	shard_table_free(table);
}

/* A member that the router holds on to is not freed under it. */
static void test_in_use(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *a = join(table, "a", "u", START);

	(void)state;
	shard_member_use(a, true);
	shard_table_update(table, START);
	shard_table_update(table, START + GRACE);
	shard_table_update(table, START + GRACE + 1);
	assert_string_equal(shard_member_name(a), "a");
	assert_int_equal(shard_table_member_count(table, START + GRACE + 1), 0);
	/* it is heard of again */
	shard_table_ping(table, a, 0, &none, &none, START + GRACE + 2);
	shard_table_update(table, START + GRACE + 2);
	assert_int_equal(held(table, "a"), SHARDS);
	shard_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool_start),
		cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_expected_never_comes),
		cmocka_unit_test(test_handover),
		cmocka_unit_test(test_silent_member),
		cmocka_unit_test(test_old_version_renews_nothing),
		cmocka_unit_test(test_restart_in_pool),
		cmocka_unit_test(test_restart_elsewhere),
		cmocka_unit_test(test_hello_again),
		cmocka_unit_test(test_gone_and_back),
		cmocka_unit_test(test_bye),
		cmocka_unit_test(test_bye_without_ranges),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_claim_released),
		cmocka_unit_test(test_claim_of_a_silent_one),
		cmocka_unit_test(test_two_claims),
		cmocka_unit_test(test_next_due),
		cmocka_unit_test(test_no_grace),
		cmocka_unit_test(test_lapsed),
		cmocka_unit_test(test_lapsed_and_claimed),
		cmocka_unit_test(test_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
