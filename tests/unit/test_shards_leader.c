/* The table of ranges of a new leader: what members claim of what a former one granted, and what ran out meanwhile. */
#include "tests/unit/shards_world.h"

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

/* The former leader gave longer leases: what nobody claims, what is claimed by one who then says no more, and what two
 * claim, waits until those are over. */
static void test_longer_leases_before(void **state)
{
	enum { LONGER = 6 * LEASE, OVER = START + LONGER + MARGIN };
	struct shard_options options = {
		.shards = SHARDS, .lease_ms = LEASE, .margin_ms = MARGIN, .grace_ms = GRACE, .former_lease_ms = LONGER};
	struct shard_table *table;
	struct range_set claim = {0};
	struct shard_member *a;
	struct shard_member *b;
	struct shard_member *c;

	(void)state;
	options.blocked_ms = shard_former_span(&options);
	table = shard_table_new(&options, START);
	add_run(&claim, 0, 20);
	assert_int_equal(shard_table_hello(table, "a", "ua", &claim, START, &a), SHARD_JOINED);
	assert_int_equal(shard_table_hello(table, "b", "ub", &claim, START, &b), SHARD_JOINED);
	c = join(table, "c", "uc", START);
	shard_table_update(table, START);
	ping(table, a, START + 1); /* which is no longer than its lease was already */
	for (int64_t now = START + 1; now < OVER; now += 1000) {
		shard_table_ping(table, c, shard_member_version(c), shard_member_ranges(c), &none, now);
		shard_table_update(table, now);
		assert_int_equal(held(table, "c"), 0);
	}
	shard_table_update(table, OVER);
	assert_int_equal(held(table, "c"), SHARDS);
	shard_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_claim_released),
		cmocka_unit_test(test_claim_of_a_silent_one),
		cmocka_unit_test(test_two_claims),
		cmocka_unit_test(test_lapsed),
		cmocka_unit_test(test_lapsed_and_claimed),
		cmocka_unit_test(test_longer_leases_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
