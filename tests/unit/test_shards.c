/* The table of shards: who gets what, and when a shard is free for someone else. */
#include "tests/unit/shards_world.h"

static uint32_t runs(const struct shard_set *set)
{
	uint32_t count = 0;

	for (uint32_t r = 0; r < SHARDS; r++)
		if (shard_set_has(set, r) && (r == 0 || !shard_set_has(set, r - 1)))
			count++;
	return count;
}

static void test_pool_start(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *member;
	struct shard_set fresh;
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
		assert_int_equal(shard_set_count(shard_member_shards(member)), 16);
		assert_int_equal(runs(shard_member_shards(member)), 1);
		assert_int_equal(shard_member_version(member), 4 - i);
		shard_member_take_fresh(member, &fresh);
		assert_memory_equal(&fresh, shard_member_shards(member), sizeof(fresh));
		shard_member_take_fresh(member, &fresh);
		assert_true(shard_set_empty(&fresh));
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

/* A slot that was expected but never came has its shards spread when the grace is over. */
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
	assert_int_equal(balanced_over(table, START + GRACE), 1);
	shard_table_free(table);
}

/* A shard that moves is free only when a ping at the version that lacks it names it neither held nor draining. */
static void test_handover(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *a = join(table, "a", "ua", START);
	struct shard_member *b;
	struct shard_set before;
	struct shard_set draining = {0};
	uint64_t old_version;

	(void)state;
	shard_table_update(table, START);
	ping(table, a, START);
	before = *shard_member_shards(a);
	old_version = shard_member_version(a);
	b = join(table, "b", "ub", START + 1000);
	shard_table_update(table, START + 1000);
	assert_int_equal(shard_set_count(shard_member_shards(a)), 32);
	assert_true(shard_member_version(a) > old_version);
	assert_int_equal(shard_member_version(b), 0); /* nothing to be had yet */
	assert_int_equal(held(table, "a"), SHARDS);
	/* a has not heard of it: it lives on the lease it has, and gets no other one */
	assert_false(shard_table_ping(table, a, old_version, &before, &none, START + 2000));
	shard_table_update(table, START + 2000);
	assert_int_equal(held(table, "b"), 0);
	/* it has, but calls are in flight in shard 63 */
	shard_set_add(&draining, 63);
	assert_true(
		shard_table_ping(table, a, shard_member_version(a), shard_member_shards(a), &draining, START + 3000));
	shard_table_update(table, START + 3000);
	assert_int_equal(held(table, "b"), 31);
	assert_string_equal(shard_table_holder(table, 63), "a");
	ping(table, a, START + 4000);
	shard_table_update(table, START + 4000);
	assert_int_equal(held(table, "b"), 32);
	assert_int_equal(shard_set_count(shard_member_shards(b)), 32);
	assert_int_equal(runs(shard_member_shards(a)), 1);
	assert_int_equal(runs(shard_member_shards(b)), 1);
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
	struct shard_set all;
	uint64_t version;

	(void)state;
	shard_table_update(table, START);
	ping(table, a, START);
	all = *shard_member_shards(a);
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

/* Without a grace time, shards wait for nobody who is away, but are granted to those who are there. */
static void test_no_grace(void **state)
{
	const struct shard_options options = {.shard_count = SHARDS, .lease_ms = LEASE, .margin_ms = MARGIN};
	struct shard_table *table = shard_table_new(&options);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool_start),
		cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_expected_never_comes),
		cmocka_unit_test(test_handover),
		cmocka_unit_test(test_silent_member),
		cmocka_unit_test(test_old_version_renews_nothing),
		cmocka_unit_test(test_no_grace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
