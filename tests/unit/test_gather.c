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
		cmocka_unit_test_setup_teardown(test_keeps_no_loop, setup, teardown),
	};

	return cmocka_run_group_tests_name("gather", tests, NULL, NULL);
}
