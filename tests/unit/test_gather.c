/* How a loop gathers its input (gather.h): events that come alone are handled at once, those of a stream together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <ev.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/process/gather.h"

enum { MOST_MS = 20, AT_ONCE = 20 /* turns in a row */, GATHERED = 10 };

struct world {
	struct ev_loop *loop;
	struct gather gather;
	int ends[2];
	ev_io io;
	size_t handled;
	size_t limit;
};

/* The byte stays: the next event is there at once. */
static void on_byte(struct ev_loop *loop, ev_io *io, int events)
{
	struct world *world = io->data;

	(void)events;
	if (++world->handled == world->limit)
		ev_break(loop, EVBREAK_ALL);
}

/* Handles as many events of an endless stream; how long it took. */
static int64_t handle(struct world *world, size_t count)
{
	int64_t begin_ms = clock_boot_ms();

	world->limit = world->handled + count;
	ev_run(world->loop, 0);
	return clock_boot_ms() - begin_ms;
}

static int setup(void **state)
{
	struct world *world = mem_calloc(1, sizeof(*world));

	world->loop = ev_loop_new(0);
	gather_start(&world->gather, world->loop, MOST_MS);
	assert_int_equal(pipe(world->ends), 0);
	assert_int_equal(write(world->ends[1], "!", 1), 1);
	ev_io_init(&world->io, on_byte, world->ends[0], EV_READ);
	world->io.data = world;
	ev_io_start(world->loop, &world->io);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	ev_loop_destroy(world->loop);
	close(world->ends[0]);
	close(world->ends[1]);
	free(world);
	return 0;
}

/* What goes on gets a turn each MOST_MS, once no turn at once is left. (The first two may come early, and libev rounds
 * to its own clock's steps.) */
static void test_stream(void **state)
{
	struct world *world = *state;

	handle(world, AT_ONCE);
	/* (a busy machine has had them come back meanwhile) */
	token_bucket_init(&world->gather.at_once, 1000. / MOST_MS, AT_ONCE, clock_boot_ms());
	world->gather.at_once.tokens = 0;
	assert_in_range(handle(world, GATHERED), (GATHERED - 2) * (MOST_MS - 1), INT64_MAX);
}

/* An interval of 0: the loop has not been told to wait between two turns. */
static void test_alone(void **state)
{
	struct world *world = *state;
	int64_t best_ms = INT64_MAX;

	/* (a busy machine delays some, but not each of several tries) */
	for (int i = 0; i < 5 && best_ms >= AT_ONCE / 2 * MOST_MS / 2; i++) {
		int64_t took_ms;

		token_bucket_init(&world->gather.at_once, 1000. / MOST_MS, AT_ONCE, clock_boot_ms());
		took_ms = handle(world, AT_ONCE / 2);
		best_ms = took_ms < best_ms ? took_ms : best_ms;
	}
	assert_in_range(best_ms, 0, AT_ONCE / 2 * MOST_MS / 2 - 1);
}

/* A stream that has ended is forgotten after two turns, however long it was. */
static void test_quiet_again(void **state)
{
	struct world *world = *state;

	const struct token_bucket *bucket = &world->gather.at_once;

	handle(world, AT_ONCE + GATHERED);
	assert_true(bucket->tokens >= -1);
	assert_int_equal(token_bucket_wait_ms(&world->gather.at_once, bucket->filled_ms + 2 * MOST_MS), 0);
}

/* Processes that share a stream have together as many turns as one has, up to six of them. */
static void test_parts(void **state)
{
	(void)state;
	assert_int_equal(gather_part_ms(MOST_MS, 64, 64), MOST_MS);
	assert_int_equal(gather_part_ms(MOST_MS, 32, 64), 2 * MOST_MS);
	assert_int_equal(gather_part_ms(MOST_MS, 16, 64), 4 * MOST_MS);
	assert_int_equal(gather_part_ms(MOST_MS, 8, 64), 120);
	assert_int_equal(gather_part_ms(MOST_MS, 1, UINT32_MAX), 120);
	/* no shards, or no session yet */
	assert_int_equal(gather_part_ms(MOST_MS, 0, 64), MOST_MS);
	assert_int_equal(gather_part_ms(MOST_MS, 0, 0), MOST_MS);
	for (unsigned peers = 0; peers <= 4; peers++)
		assert_int_equal(gather_peers_ms(MOST_MS, peers), MOST_MS);
	assert_int_equal(gather_peers_ms(MOST_MS, 6), 30);
	assert_int_equal(gather_peers_ms(MOST_MS, 8), 40);
	assert_int_equal(gather_peers_ms(MOST_MS, UINT32_MAX), 40);
}

/* A new time holds for the next turns, and whoever asks in one hears how long it waits. */
static void test_set(void **state)
{
	enum { LONGER_MS = 60 };
	struct world *world = *state;

	handle(world, 1);
	assert_int_equal(world->gather.now_ms, 0);
	gather_set(&world->gather, LONGER_MS);
	world->gather.at_once.tokens = -AT_ONCE; /* (a busy machine gives some back meanwhile) */
	assert_in_range(handle(world, 4), 2 * (LONGER_MS - 1), INT64_MAX);
	assert_int_equal(world->gather.now_ms, LONGER_MS);
}

/* Those who wait for tokens go on with eight at a time, within 20 to 160 ms; a small bucket never overflows for it. */
static void test_tokens(void **state)
{
	const struct {
		double qps;
		int burst;
		int64_t wait_ms;
	} rows[] = {
		{1000, 1000, 20}, {400, 400, 20}, {200, 200, 40}, {100, 100, 80}, {50, 50, 160}, {20, 20, 160},
		{5, 5, 200},      {100, 2, 10},   {100, 1, 10},   {100, 4, 30},   {0, 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct token_bucket bucket;

		token_bucket_init(&bucket, rows[i].qps, rows[i].burst, 0);
		assert_int_equal(token_bucket_gather_ms(&bucket, 0), 0);
		for (int taken = 0; taken < rows[i].burst; taken++)
			token_bucket_take(&bucket);
		assert_int_equal(token_bucket_gather_ms(&bucket, 0), rows[i].wait_ms);
	}
}

/* Without anything else to wait for the loop ends. */
static void test_keeps_no_loop(void **state)
{
	struct world *world = *state;

	ev_io_stop(world->loop, &world->io);
	ev_run(world->loop, 0);
	assert_int_equal(world->handled, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stream, setup, teardown),
		cmocka_unit_test_setup_teardown(test_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_quiet_again, setup, teardown),
		cmocka_unit_test(test_parts),
		cmocka_unit_test_setup_teardown(test_set, setup, teardown),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test_setup_teardown(test_keeps_no_loop, setup, teardown),
	};

	return cmocka_run_group_tests_name("gather", tests, NULL, NULL);
}
