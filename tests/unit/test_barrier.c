/* Who waits at fc-barrier is released when its gang is complete, by a fresh read, and only then. */
#define _GNU_SOURCE
#include "common/base/log.h"
#include "tests/unit/barrier_world.h"

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static void all_are_released_by_one_get(void **state)
{
	enum { MANY = 1000 };
	struct world *world = open_world();
	struct asking *askings = mem_calloc(MANY, sizeof(*askings));
	cleanup_free char *text = NULL;

	(void)state;
	set_framework(world, "ip.", true);
	for (size_t i = 0; i < MANY; i++)
		askings[i] = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == MANY);
	assert_int_equal(world->gets, 0); /* the view knows that it is not complete */
	set_framework(world, "ipi", true);
	text = framework_text(&world->framework);
	for (size_t i = 0; i < MANY; i++) {
		expect(world, &askings[i], 200);
		assert_string_equal(asker_body(&askings[i]), text);
		/* they have no more to ask, and each connection has a place */
		assert_non_null(strstr(askings[i].in.data, "Connection: close\r\n"));
		asker_close(&askings[i]);
	}
	assert_int_equal(world->gets, 1);
	assert_int_equal(wait_groups_counters(world->groups)->passed, MANY);
	assert_int_equal(wait_groups_counters(world->groups)->frameworks, 0);
	free(askings);
	world_free(world);
}

/* A complete view is no verdict: a new attempt whose status the watcher has not shown yet must not pass by the IPs of
 * the old one. */
static void the_verdict_is_a_fresh_get(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	set_framework(world, "ii", true);
	set_framework(world, "..", false);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, world->gets >= 1 && waiting(world) == 1);
	for (int i = 0; i < 50; i++)
		asker_turn(world->loop);
	asker_read(&asking);
	assert_int_equal(asker_status(&asking), 0);
	assert_int_equal(world->gets, 1); /* learned from it: no need to read again */
	set_framework(world, "ii", true);
	expect(world, &asking, 200);
	asker_close(&asking);
	world_free(world);
}

/* Who comes while a GET is under way is answered by a later one. */
static void latecomers_get_a_read_of_their_own(void **state)
{
	struct world *world = open_world();
	struct asking early;
	struct asking late;

	(void)state;
	set_framework(world, "i", true);
	world->api_holds = true;
	early = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, world->held_count == 1);
	late = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 2);
	world->api_holds = false;
	http_reply(world->held[0], 200, "", world->held_answers[0]);
	free(world->held_answers[0]);
	world->held_count = 0;
	world->api_holds = true;
	expect(world, &early, 200);
	RUN_UNTIL(world->loop, world->held_count == 1);
	asker_read(&late);
	assert_int_equal(asker_status(&late), 0);
	let_go(world);
	expect(world, &late, 200);
	assert_int_equal(world->gets, 2);
	asker_close(&early);
	asker_close(&late);
	world_free(world);
}

/* Many gangs that are complete at the same time are read some at a time: each read costs a connection or a buffer.
 * One that is not complete any more when its turn comes goes on waiting; one whose client left, or whose time ended,
 * holds up nobody. */
static void many_gangs_are_read_in_turn(void **state)
{
	enum { MANY = 100, AT_ONCE = 64 };
	struct world *world = open_world();
	struct asking askings[MANY];
	struct asking late;

	(void)state;
	world->framework.ips = "i.";
	for (int i = 0; i < MANY; i++) {
		cleanup_free char *name = mem_printf("fw%d", i);
		cleanup_free char *path = mem_printf("ns/frameworks/%s/barrier", name);

		show_framework(world, name);
		askings[i] = ask(world, path, NULL);
	}
	RUN_UNTIL(world->loop, waiting(world) == MANY);
	world->api_holds = true;
	set_framework(world, "ii", false);
	for (int i = 0; i < MANY; i++) {
		cleanup_free char *name = mem_printf("fw%d", i);

		show_framework(world, name);
	}
	RUN_UNTIL(world->loop, world->held_count == AT_ONCE);
	for (int i = 0; i < 50; i++)
		asker_turn(world->loop);
	assert_int_equal(world->held_count, AT_ONCE);
	let_last_go(world); /* makes room for one more */
	RUN_UNTIL(world->loop, world->held_count == AT_ONCE);
	for (int i = 0; i < 50; i++)
		asker_turn(world->loop);
	assert_int_equal(world->held_count, AT_ONCE);
	/* in the queue: one is complete no more, one leaves, the time of one ends; that one stays for its read */
	set_framework(world, "i.", false);
	show_framework(world, "fw99");
	asker_close(&askings[MANY - 2]);
	RUN_UNTIL(world->loop, waiting(world) == MANY - 2);
	late = ask(world, "ns/frameworks/fw97/barrier?timeoutSeconds=0", NULL);
	RUN_UNTIL(world->loop, waiting(world) == MANY - 1);
	for (int i = 0; i < 50; i++)
		asker_turn(world->loop);
	asker_read(&late);
	assert_int_equal(asker_status(&late), 0);
	set_framework(world, "ii", false);
	show_framework(world, "fw0");
	let_go(world);
	for (int i = 0; i < MANY - 2; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	expect(world, &late, 200);
	asker_close(&late);
	assert_int_equal(waiting(world), 1);
	assert_int_equal(world->gets, MANY - 2);
	show_framework(world, "fw99");
	expect(world, &askings[MANY - 1], 200);
	asker_close(&askings[MANY - 1]);
	world_free(world);
}

/* A Framework of thousands of Tasks takes more memory than one of five: fewer of them are read together, and small
 * ones that come later do not keep one from its turn. */
static void large_gangs_take_more_room(void **state)
{
	enum { LARGE = 8, TASKS = 2000, AT_ONCE = 5, SMALL = 10 };
	struct world *world = open_world();
	struct asking askings[LARGE + SMALL];
	char ips[TASKS + 1] = "";

	(void)state;
	memset(ips, 'i', TASKS);
	world->framework.exists = true;
	world->api_holds = true;
	for (int i = 0; i < LARGE + SMALL; i++) {
		cleanup_free char *name = mem_printf("fw%d", i);
		cleanup_free char *path = mem_printf("ns/frameworks/%s/barrier", name);

		world->framework.ips = i < LARGE ? ips : "ii";
		show_framework(world, name);
		askings[i] = ask(world, path, NULL);
		RUN_UNTIL(world->loop, waiting(world) == (size_t)i + 1);
	}
	RUN_UNTIL(world->loop, world->held_count == AT_ONCE);
	for (int i = 0; i < 50; i++)
		asker_turn(world->loop);
	assert_int_equal(world->held_count, AT_ONCE);
	let_go(world);
	for (int i = 0; i < LARGE + SMALL; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	assert_int_equal(world->gets, LARGE + SMALL);
	world_free(world);
}

static void time_ends_with_what_is_ready(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	set_framework(world, "i..d.i...", true);
	asking = ask(world, PATH "?timeoutSeconds=0", NULL);
	expect(world, &asking, 202);
	assert_string_equal(asker_body(&asking),
			    "{\"ready\":2,\"total\":9,\"missing\":[\"worker-1\",\"worker-2\",\"worker-3\",\"worker-4\","
			    "\"worker-6\"]}\n");
	asker_close(&asking);
	/* time is up at once, but a read is worth waiting for */
	set_framework(world, "iiiiiiiii", true);
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 200);
	world_free(world);
}

static void spec_decides_how_many(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	/* scaled up: the status does not list the new Task yet */
	world->framework.task_number = 3;
	set_framework(world, "ii", true);
	asking = ask(world, PATH "?timeoutSeconds=0", NULL);
	expect(world, &asking, 202);
	assert_non_null(strstr(asker_body(&asking), "\"ready\":2,\"total\":3"));
	asker_close(&asking);
	/* scaled down while waiting: the surplus is deletionPending and not waited for */
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	world->framework.task_number = 1;
	set_framework(world, "id", true);
	expect(world, &asking, 200);
	asker_close(&asking);
	/* a deletionPending Task inside the spec's range is not ready, whatever IP it has */
	world->framework.task_number = 2;
	set_framework(world, "id", true);
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 202);
	world_free(world);
}

static void no_tasks_pass_at_once(void **state)
{
	struct world *world = open_world();

	(void)state;
	set_framework(world, "", true);
	assert_int_equal(status_of(world, PATH, NULL), 200);
	world_free(world);
}

static void compressed_statuses_are_read(void **state)
{
	struct world *world = open_world();
	struct asking asking;
	cleanup_free char *text = NULL;

	(void)state;
	world->framework.compressed = true;
	set_framework(world, "i.", true);
	set_framework(world, ".i", true);
	/* nobody waited when it was shown: it is counted now */
	asking = ask(world, PATH "?timeoutSeconds=0", NULL);
	expect(world, &asking, 202);
	assert_string_equal(asker_body(&asking), "{\"ready\":1,\"total\":2,\"missing\":[\"worker-0\"]}\n");
	asker_close(&asking);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	set_framework(world, "i.", true);
	set_framework(world, "ii", true);
	expect(world, &asking, 200);
	text = framework_text(&world->framework);
	assert_string_equal(asker_body(&asking), text);
	assert_int_equal(world->gets, 1);
	asker_close(&asking);
	world_free(world);
}

/* What cannot be read now may be mended: waiters stay, and the API server is not asked again and again. */
static void broken_frameworks_release_nobody(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	world->framework.broken = true;
	set_framework(world, "i", true);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, wait_groups_counters(world->groups)->reads_failed >= 1);
	for (int i = 0; i < 100; i++)
		asker_turn(world->loop);
	assert_in_range(world->gets, 1, 2);
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 503);
	world->framework.broken = false;
	set_framework(world, "i", true);
	expect(world, &asking, 200);
	asker_close(&asking);
	world_free(world);
}

static int complaints;

static void count_complaints(char severity, const char *message)
{
	complaints += severity == 'W' && strncmp(message, "cannot read Framework ns/fw", 27) == 0;
}

/* The reads of all gangs fail again and again: each cause is logged once, also when causes alternate. */
static void a_lasting_fault_is_logged_once(void **state)
{
	enum { MANY = 5, TURNS = 4 };
	struct world *world = open_world();
	const struct wait_group_counters *counters = wait_groups_counters(world->groups);
	struct asking askings[MANY];

	(void)state;
	complaints = 0;
	log_set_sink(count_complaints);
	set_framework(world, "i", false);
	world->api_away = "404 page not found\n";
	for (size_t turn = 0; turn < TURNS; turn++) {
		uint64_t failed = counters->reads_failed;

		world->api_down = turn % 2 == 0; /* 500 */
		for (size_t i = 0; turn == 0 && i < MANY; i++) {
			cleanup_free char *path = mem_printf("ns/frameworks/fw%zu/barrier", i);

			askings[i] = ask(world, path, NULL);
		}
		RUN_UNTIL(world->loop, counters->reads_failed >= failed + 2 * (uint64_t)MANY);
		assert_int_equal(complaints, turn == 0 ? 1 : 2);
	}
	world->api_down = false;
	world->api_away = NULL;
	for (size_t i = 0; i < MANY; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	log_set_sink(NULL);
	world_free(world);
}

/* ---- Frameworks that come and go --------------------------------------------------------------------------------- */

static void unknown_frameworks_are_looked_for(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	assert_int_equal(status_of(world, PATH, NULL), 404);
	assert_int_equal(world->gets, 1);
	/* the API server has it already, the watcher has not shown it yet */
	set_framework(world, ".", false);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, world->gets == 2 && waiting(world) == 1);
	set_framework(world, "i", true);
	expect(world, &asking, 200);
	asker_close(&asking);
	world_free(world);
}

/* Of a Framework that is not streamed, nothing is left when its last waiter has gone: nobody would remove it. */
static void what_is_not_streamed_is_kept_for_its_waiters(void **state)
{
	enum { MANY = 20 };
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	set_framework(world, ".", false);
	for (size_t i = 0; i < MANY; i++) {
		cleanup_free char *path = mem_printf("ns/frameworks/fw%zu/barrier?timeoutSeconds=0", i);

		assert_int_equal(status_of(world, path, NULL), 202);
	}
	assert_int_equal(readiness_count(world->readiness), 0);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, readiness_count(world->readiness) == 1);
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 202);
	assert_int_equal(readiness_count(world->readiness), 1); /* one is still waiting */
	asker_close(&asking);
	RUN_UNTIL(world->loop, waiting(world) == 0);
	assert_int_equal(readiness_count(world->readiness), 0);
	/* the last one leaves during the read */
	world->api_holds = true;
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, world->held_count == 1);
	asker_close(&asking);
	RUN_UNTIL(world->loop, waiting(world) == 0);
	let_go(world);
	RUN_UNTIL(world->loop, wait_groups_counters(world->groups)->frameworks == 0);
	assert_int_equal(readiness_count(world->readiness), 0);
	/* streamed ones stay, for those who come next */
	set_framework(world, ".", true);
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 202);
	assert_int_equal(readiness_count(world->readiness), 1);
	world_free(world);
}

static void deletion_releases_with_404(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	set_framework(world, ".", true);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	delete_framework(world, true);
	expect(world, &asking, 404);
	asker_close(&asking);
	world_free(world);
}

static void a_namesake_is_another_framework(void **state)
{
	struct world *world = open_world();
	struct asking old;
	struct asking fresh;
	struct asking any;

	(void)state;
	set_framework(world, ".", true);
	old = ask(world, PATH "?uid=u1", NULL);
	any = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 2);
	/* deleted and made anew between two lists of the watcher */
	delete_framework(world, false);
	world->framework.uid = "u2";
	set_framework(world, ".", true);
	expect(world, &old, 404);
	fresh = ask(world, PATH "?uid=u2", NULL);
	assert_int_equal(status_of(world, PATH "?uid=u1", NULL), 404);
	set_framework(world, "i", true);
	expect(world, &fresh, 200);
	expect(world, &any, 200);
	asker_close(&old);
	asker_close(&fresh);
	asker_close(&any);
	world_free(world);
}

/* A read that was sent before a waiter came says nothing about the waiter's Framework. */
static void a_read_of_before_dismisses_nobody(void **state)
{
	struct world *world = open_world();
	struct asking old;
	struct asking fresh;

	(void)state;
	set_framework(world, "i", true);
	world->api_holds = true;
	old = ask(world, PATH "?uid=u1", NULL);
	RUN_UNTIL(world->loop, world->held_count == 1);
	delete_framework(world, false);
	world->framework.uid = "u2";
	set_framework(world, "i", false);
	fresh = ask(world, PATH "?uid=u2", NULL);
	RUN_UNTIL(world->loop, waiting(world) == 2);
	let_go(world);
	expect(world, &old, 200);
	expect(world, &fresh, 200);
	asker_close(&old);
	asker_close(&fresh);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_released_by_one_get),
		cmocka_unit_test(the_verdict_is_a_fresh_get),
		cmocka_unit_test(latecomers_get_a_read_of_their_own),
		cmocka_unit_test(many_gangs_are_read_in_turn),
		cmocka_unit_test(large_gangs_take_more_room),
		cmocka_unit_test(time_ends_with_what_is_ready),
		cmocka_unit_test(spec_decides_how_many),
		cmocka_unit_test(no_tasks_pass_at_once),
		cmocka_unit_test(compressed_statuses_are_read),
		cmocka_unit_test(broken_frameworks_release_nobody),
		cmocka_unit_test(a_lasting_fault_is_logged_once),
		cmocka_unit_test(unknown_frameworks_are_looked_for),
		cmocka_unit_test(what_is_not_streamed_is_kept_for_its_waiters),
		cmocka_unit_test(deletion_releases_with_404),
		cmocka_unit_test(a_namesake_is_another_framework),
		cmocka_unit_test(a_read_of_before_dismisses_nobody),
	};

	return cmocka_run_group_tests_name("barrier", tests, NULL, NULL);
}
