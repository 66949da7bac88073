/* The table of shards when members restart, come back and leave: who may have their names, and how little moves. */
#include "tests/unit/shards_world.h"

static void test_restart_in_pool(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *a = join(table, "a", "u1", START);
	struct shard_member *b = join(table, "b", "ub", START);
	struct shard_set of_a;
	struct shard_set of_b;
	uint64_t version_b;

	(void)state;
	shard_table_update(table, START);
	ping(table, a, START);
	ping(table, b, START);
	of_a = *shard_member_shards(a);
	of_b = *shard_member_shards(b);
	version_b = shard_member_version(b);
	shard_table_dead(table, "a", START + 5000);
	shard_table_dead(table, "nobody", START + 5000);
	shard_table_update(table, START + 5000);
	assert_int_equal(held(table, "a"), 0);
	a = join(table, "a", "u2", START + 6000); /* at once, not after the lease */
	shard_table_update(table, START + 6000);
	assert_memory_equal(&of_a, shard_member_shards(a), sizeof(of_a));
	/* the other one has not noticed anything */
	assert_memory_equal(&of_b, shard_member_shards(b), sizeof(of_b));
	assert_int_equal(shard_member_version(b), version_b);
	shard_table_free(table);
}

/* Both members apply and confirm their assignments. bad: NULL: it does not run. */
static void settle(struct shard_table *table, struct shard_member *good, struct shard_member *bad, int64_t now_ms)
{
	for (int round = 0; round < 3; round++) {
		shard_table_update(table, now_ms);
		if (shard_member_version(good) != 0)
			ping(table, good, now_ms);
		if (bad != NULL && shard_member_version(bad) != 0)
			ping(table, bad, now_ms);
	}
}

/* A child of the pool that ends again and again, before its HELLO or shortly after it: the shards wait for it once. */
static void crash_often(bool greets)
{
	enum { LIFE = 500, BACKOFF = 32000, ENDS = 5, STEP = 5000 };
	struct shard_table *table = make(0);
	struct shard_member *good;
	struct shard_member *bad = NULL;
	int64_t now = START;
	char uuid[24];

	shard_table_expect(table, "pool-0", now);
	shard_table_expect(table, "pool-1", now);
	good = join(table, "pool-0", "good", now);
	for (int i = 0; i < ENDS; i++) {
		snprintf(uuid, sizeof(uuid), "bad-%d", i);
		bad = greets ? join(table, "pool-1", uuid, now) : NULL;
		settle(table, good, bad, now);
		assert_int_equal(held(table, "pool-1"), greets ? SHARDS / 2 : 0);
		now += LIFE;
		shard_table_dead(table, "pool-1", now);
		settle(table, good, NULL, now);
		assert_int_equal(held(table, NULL), i == 0 ? SHARDS / 2 : 0);
		for (int64_t end = now + BACKOFF; now < end; now += STEP)
			settle(table, good, NULL, now);
		assert_int_equal(held(table, "pool-0"), SHARDS);
	}
	/* one that lived for the grace time is waited for again */
	bad = join(table, "pool-1", "better", now);
	for (int64_t end = now + GRACE; now < end; now += STEP)
		settle(table, good, bad, now);
	shard_table_dead(table, "pool-1", now);
	settle(table, good, NULL, now);
	assert_int_equal(held(table, NULL), SHARDS / 2);
	shard_table_free(table);
}

static void test_crashes_again(void **state)
{
	(void)state;
	crash_often(false);
	crash_often(true);
}

static void test_restart_elsewhere(void **state)
{
	struct shard_table *table = make(0);
	struct shard_member *a = join(table, "a", "u1", START);
	struct shard_set of_a;
	struct shard_member *out;
	const int64_t over = START + LEASE + MARGIN;

	(void)state;
	join(table, "b", "ub", START);
	shard_table_update(table, START);
	ping(table, a, START);
	of_a = *shard_member_shards(a);
	assert_int_equal(shard_table_hello(table, "a", "u2", NULL, over - 1, &out), SHARD_BUSY);
	a = join(table, "a", "u2", over);
	shard_table_update(table, over);
	assert_memory_equal(&of_a, shard_member_shards(a), sizeof(of_a));
	ping(table, a, over);
	assert_int_equal(shard_table_hello(table, "a", "u1", NULL, over, &out), SHARD_BUSY);
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
	struct shard_set before[4];
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
		before[i] = *shard_member_shards(members[i]);
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
			if (shard_set_has(&before[i], r) && !shard_set_has(shard_member_shards(members[i]), r))
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
	struct shard_set draining = {0};
	uint64_t version;

	(void)state;
	shard_table_update(table, START);
	ping(table, a, START);
	version = shard_member_version(a);
	shard_table_bye(table, a);
	shard_table_update(table, START + 1);
	assert_true(shard_member_version(a) > version);
	assert_true(shard_set_empty(shard_member_shards(a)));
	assert_int_equal(held(table, "a"), 32); /* until it says that it has let go */
	shard_set_add(&draining, 0);
	assert_true(shard_table_ping(table, a, shard_member_version(a), &none, &draining, START + 2));
	shard_table_update(table, START + 2);
	assert_int_equal(held(table, "b"), 63);
	assert_true(shard_table_ping(table, a, shard_member_version(a), &none, &none, START + 3));
	shard_table_update(table, START + 3);
	assert_int_equal(held(table, "b"), SHARDS);
	ping(table, b, START + 4);
	assert_int_equal(balanced_over(table, START + 4), 1);
	/* its successor need not wait for a lease that nobody uses */
	a = join(table, "a", "u2", START + 5);
	shard_table_update(table, START + 5);
	assert_int_equal(shard_set_count(shard_member_shards(b)), 32);
	shard_table_free(table);
}

static void test_bye_without_shards(void **state)
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
	assert_int_equal(shard_table_size(table), 1);
	assert_int_equal(balanced_over(table, START + GRACE + 1), 0);
	/* it is heard of again */
	shard_table_ping(table, a, 0, &none, &none, START + GRACE + 2);
	shard_table_update(table, START + GRACE + 2);
	assert_int_equal(held(table, "a"), SHARDS);
	shard_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_restart_in_pool),
		cmocka_unit_test(test_crashes_again),
		cmocka_unit_test(test_restart_elsewhere),
		cmocka_unit_test(test_hello_again),
		cmocka_unit_test(test_gone_and_back),
		cmocka_unit_test(test_bye),
		cmocka_unit_test(test_bye_without_shards),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
