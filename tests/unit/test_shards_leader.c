/* The table of shards of a new leader: what members claim. */
#include "tests/unit/shards_world.h"

static void add_run(struct shard_set *set, uint32_t first, uint32_t count)
{
	for (uint32_t r = first; r < first + count; r++)
		shard_set_add(set, r);
}

static void test_claims(void **state)
{
	struct shard_table *table = make(LEASE + MARGIN);
	struct shard_member *a;
	struct shard_member *b;
	struct shard_set claim_a = {0};
	int64_t now;

	(void)state;
	add_run(&claim_a, 10, 20);
	assert_int_equal(shard_table_hello(table, "a", "ua", &claim_a, START, &a), SHARD_JOINED);
	b = join(table, "b", "ub", START);
	shard_table_update(table, START);
	/* what it claims it keeps at once; the rest waits for whoever else may come with a claim */
	assert_memory_equal(shard_member_shards(a), &claim_a, sizeof(claim_a));
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
	struct shard_set claim = {0};
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
	struct shard_table *table = make(LEASE + MARGIN);
	struct shard_set claim = {0};
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
	struct shard_set claim_a = {0};
	struct shard_set claim_b = {0};
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
	assert_int_equal(shard_set_count(shard_member_shards(a)), 9);
	assert_int_equal(shard_set_count(shard_member_shards(b)), 9);
	ping(table, a, second);
	ping(table, b, second);
	for (int64_t now = second; now < START + LEASE + MARGIN; now += 500) {
		ping(table, a, now);
		ping(table, b, now);
		shard_table_update(table, now);
		assert_null(shard_table_holder(table, 9)); /* neither may have it before both leases are over */
	}
	shard_table_update(table, START + LEASE + MARGIN);
	assert_non_null(shard_table_holder(table, 9));
	shard_table_free(table);
}

/* A claim that comes when all that former leaders gave has ended is not true: nobody loses anything by it. */
static void test_claim_too_late(void **state)
{
	struct shard_table *table = make(LEASE + MARGIN);
	struct shard_set claim = {0};
	struct shard_member *a;
	struct shard_member *b;

	(void)state;
	a = join(table, "a", "ua", START + LEASE);
	shard_table_update(table, START + LEASE + MARGIN);
	assert_int_equal(held(table, "a"), SHARDS);
	ping(table, a, START + LEASE + MARGIN);
	add_run(&claim, 0, SHARDS);
	assert_int_equal(shard_table_hello(table, "b", "ub", &claim, START + LEASE + MARGIN, &b), SHARD_JOINED);
	assert_int_equal(held(table, "a"), SHARDS);
	for (uint32_t r = 0; r < SHARDS; r++) {
		struct shard_view view;

		shard_table_view_shard(table, r, START + LEASE + MARGIN, &view);
		assert_false(view.revoking);
		assert_int_equal(view.blocked_ms, 0);
	}
	shard_table_free(table);
}

/* The former leader gave longer leases: what nobody claims, what is claimed by one who then says no more, and what two
 * claim, waits until those are over. */
static void test_longer_leases_before(void **state)
{
	enum { LONGER = 6 * LEASE, OVER = START + LONGER + MARGIN };
	struct shard_table *table = make(LONGER + MARGIN);
	struct shard_set claim = {0};
	struct shard_member *a;
	struct shard_member *b;
	struct shard_member *c;

	(void)state;
	add_run(&claim, 0, 20);
	assert_int_equal(shard_table_hello(table, "a", "ua", &claim, START, &a), SHARD_JOINED);
	assert_int_equal(shard_table_hello(table, "b", "ub", &claim, START, &b), SHARD_JOINED);
	c = join(table, "c", "uc", START);
	shard_table_update(table, START);
	ping(table, a, START + 1); /* which is no longer than its lease was already */
	for (int64_t now = START + 1; now < OVER; now += 1000) {
		shard_table_ping(table, c, shard_member_version(c), shard_member_shards(c), &none, now);
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
		cmocka_unit_test(test_claim_too_late),
		cmocka_unit_test(test_longer_leases_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
