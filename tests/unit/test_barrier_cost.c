/* What releasing gangs costs fc-barrier in requests and allocations: counts, which are the same on any machine. Times
 * are tests/bench's. */
#define _GNU_SOURCE
#include "tests/unit/barrier_world.h"

/* ---- allocations, counted where they arise ---- */

#if defined(__SANITIZE_ADDRESS__)
enum { COUNTING = 0 };
static uint64_t allocations;
#else
enum { COUNTING = 1 };
static uint64_t allocations;

/* glibc's own, under the names that it keeps for those who stand in for malloc */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	allocations++;
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	allocations++;
	return __libc_realloc(old, size);
}
#endif

static void expect_at_most(const char *what, uint64_t found, uint64_t most)
{
	if (found == 0 || found > most)
		fail_msg("%s: %llu allocations, expected 1..%llu", what, (unsigned long long)found,
			 (unsigned long long)most);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* However many wait and however often statuses change before: a GET for each gang that completes, none before, none
 * after. */
static void a_read_per_gang(void **state)
{
	enum { GANGS = 100, WAITERS = 5 };
	static const char *const steps[] = {"....", "i...", "ii..", "iii."};
	struct world *world = open_world();
	struct asking askings[GANGS][WAITERS];

	(void)state;
	world->framework.exists = true;
	for (int gang = 0; gang < GANGS; gang++) {
		cleanup_free char *path = mem_printf("ns/frameworks/fw%d/barrier", gang);
		cleanup_free char *name = mem_printf("fw%d", gang);

		for (size_t step = 0; step < ARRAY_LEN(steps); step++) {
			world->framework.ips = steps[step];
			world->framework.version++;
			show_framework(world, name);
			if (step == 0)
				for (int i = 0; i < WAITERS; i++)
					askings[gang][i] = ask(world, path, NULL);
		}
	}
	RUN_UNTIL(world->loop, waiting(world) == GANGS * WAITERS);
	assert_int_equal(world->gets, 0);
	world->framework.ips = "iiii";
	for (int turn = 0; turn < 2; turn++) {
		world->framework.version++;
		for (int gang = 0; gang < GANGS; gang++) {
			cleanup_free char *name = mem_printf("fw%d", gang);

			show_framework(world, name);
		}
		RUN_UNTIL(world->loop, waiting(world) == 0);
		assert_int_equal(world->gets, GANGS);
	}
	for (int gang = 0; gang < GANGS; gang++) {
		for (int i = 0; i < WAITERS; i++) {
			expect(world, &askings[gang][i], 200);
			asker_close(&askings[gang][i]);
		}
	}
	assert_int_equal(wait_groups_counters(world->groups)->reads, GANGS);
	world_free(world);
}

/* A change that completes a gang has a read beyond the rate limit; questions about the same version have not, and hold
 * no room that another gang needs. */
static void clients_cause_no_reads_beyond_the_rate(void **state)
{
	enum { GANGS = WAIT_GROUP_READS_AT_ONCE + 1 };
	struct world *world = open_world();
	struct asking askings[GANGS];

	(void)state;
	set_framework(world, "i", true);
	for (int i = 0; i < GANGS; i++) {
		cleanup_free char *name = mem_printf("fw%d", i);
		cleanup_free char *path = mem_printf("ns/frameworks/fw%d/barrier", i);

		show_framework(world, name);
		assert_int_equal(status_of(world, path, NULL), 200);
	}
	assert_int_equal(status_of(world, PATH, NULL), 200);
	kube_client_set_rate(world->client, 0.001, 1);
	assert_int_equal(status_of(world, PATH, NULL), 200); /* which takes what the rate allows */
	for (int i = 0; i < GANGS; i++) {
		cleanup_free char *path = mem_printf("ns/frameworks/fw%d/barrier", i);

		askings[i] = ask(world, path, NULL);
	}
	RUN_UNTIL(world->loop, waiting(world) == GANGS);
	for (int i = 0; i < 50; i++)
		asker_turn(world->loop);
	assert_int_equal(world->gets, GANGS + 2);
	set_framework(world, "ii", true);
	assert_int_equal(status_of(world, PATH, NULL), 200);
	assert_int_equal(world->gets, GANGS + 3);
	kube_client_set_rate(world->client, 0, 1);
	for (int i = 0; i < GANGS; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	world_free(world);
}

/* ---- allocations ------------------------------------------------------------------------------------------------- */

static uint64_t cost_of_news(struct world *world, const char *ips)
{
	cleanup_free char *text = NULL;
	uint64_t before;

	world->framework.ips = ips;
	world->framework.version++;
	text = framework_text(&world->framework);
	before = allocations;
	assert_true(readiness_object(world->readiness, text, strlen(text)));
	return allocations - before;
}

/* The news of a status costs the same with 10 000 Tasks as with two: nothing is made of them but what the count is. */
static void news_cost_the_same_for_any_size(void **state)
{
	struct world *world;
	char many[10000 + 1] = "";
	uint64_t small;
	uint64_t large;

	(void)state;
	if (!COUNTING)
		skip();
	world = open_world();
	memset(many, 'i', sizeof(many) - 1);
	many[0] = '.';
	cost_of_news(world, ".i");
	small = cost_of_news(world, ".i");
	large = cost_of_news(world, many);
	expect_at_most("news of a status", small, 14);
	assert_int_equal(small, large);
	world_free(world);
}

struct cost {
	uint64_t parking, releasing;
};

/* Clients only read when all of it is done, so that their own allocations are not among them. */
static struct cost cost_of_waiting(size_t waiters)
{
	struct world *world = open_world();
	struct asking *askings = mem_calloc(waiters, sizeof(*askings));
	struct cost cost;
	uint64_t before = allocations;

	set_framework(world, "i.", true);
	for (size_t i = 0; i < waiters; i++)
		askings[i] = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == waiters);
	cost.parking = allocations - before;
	before = allocations;
	set_framework(world, "ii", true);
	RUN_UNTIL(world->loop, serve_counters(world->serve)->open == 0);
	cost.releasing = allocations - before;
	assert_int_equal(world->gets, 1);
	for (size_t i = 0; i < waiters; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	free(askings);
	world_free(world);
	return cost;
}

/* One more waiter: a connection, a request and a place while it waits, nothing when it goes, as all of a gang share one
 * answer. */
static void waiters_share_their_answer(void **state)
{
	enum { FEW = 10, MANY = 510 };
	struct cost few;
	struct cost many;

	(void)state;
	if (!COUNTING)
		skip();
	few = cost_of_waiting(FEW);
	many = cost_of_waiting(MANY);
	expect_at_most("parking a waiter", (many.parking - few.parking) / (MANY - FEW), 11);
	expect_at_most("releasing a gang", few.releasing, 200);
	if (many.releasing > few.releasing + (MANY - FEW) / 4)
		fail_msg("releasing %d waiters: %llu allocations; %d: %llu", FEW, (unsigned long long)few.releasing,
			 MANY, (unsigned long long)many.releasing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_per_gang),
		cmocka_unit_test(clients_cause_no_reads_beyond_the_rate),
		cmocka_unit_test(news_cost_the_same_for_any_size),
		cmocka_unit_test(waiters_share_their_answer),
	};

	return cmocka_run_group_tests_name("barrier_cost", tests, NULL, NULL);
}
