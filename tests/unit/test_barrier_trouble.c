/* fc-barrier when something goes: the API server, the watcher, its clients or itself; and when too many come. */
#define _GNU_SOURCE
#include "tests/unit/barrier_world.h"

static void wait_through(struct world *world, bool down, const char *away)
{
	struct asking asking;

	set_framework(world, ".", true);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	world->api_down = down;
	world->api_away = away;
	set_framework(world, "i", true);
	RUN_UNTIL(world->loop, wait_groups_counters(world->groups)->reads_failed >= 2);
	asker_read(&asking);
	assert_int_equal(asker_status(&asking), 0);
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 503); /* no verdict: neither 200 nor 202 */
	world->api_down = false;
	world->api_away = NULL;
	expect(world, &asking, 200);
	asker_close(&asking);
	world_free(world);
}

static void waits_through_trouble_of_the_api_server(void **state)
{
	struct world *world = open_world();

	(void)state;
	wait_through(world, true, NULL);
}

/* However long the API server asks to be left alone: the gang waits. */
static void waits_not_too_long_for_the_api_server(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	world->api_down = true;
	world->api_down_headers = "Retry-After: 3600\r\n";
	set_framework(world, "i", true);
	asking = ask(world, PATH "?timeoutSeconds=60", NULL);
	RUN_UNTIL(world->loop, wait_groups_counters(world->groups)->reads_failed == 1);
	world->api_down = false;
	expect(world, &asking, 200);
	asker_close(&asking);
	world_free(world);
}

/* A proxy's 404 does not say that there is no such Framework, nor does that of an API server that does not serve
 * Frameworks (yet). */
static void waits_while_something_else_answers(void **state)
{
	static const char *const answers[] = {
		"404 page not found\n",
		"{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"the server could not find the requested "
		"resource\",\"details\":{}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(answers); i++)
		wait_through(open_world(), false, answers[i]);
}

static void waits_through_a_restart_of_the_watcher(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10});
	struct shard_set all = all_shards();
	struct asking stays;
	struct asking comes;
	struct asking dies;

	(void)state;
	assert_int_equal(status_of(world, PATH, NULL), 503); /* not synced yet */
	readiness_granted(world->readiness, &all);
	readiness_live(world->readiness, true);
	assert_int_equal(status_of(world, PATH, NULL), 503);
	set_framework(world, "..", true);
	readiness_complete(world->readiness, &all, SHARDS);
	stays = ask(world, PATH, NULL);
	dies = ask(world, PATH "?timeoutSeconds=1", NULL);
	RUN_UNTIL(world->loop, waiting(world) == 2);
	readiness_live(world->readiness, false);
	comes = ask(world, PATH, NULL); /* for a moment people may still come */
	RUN_UNTIL(world->loop, waiting(world) == 3);
	readiness_set_grace(world->readiness, 0);
	assert_int_equal(status_of(world, PATH, NULL), 503);
	expect(world, &dies, 503); /* what the view says may be old */
	/* the next watcher shows everything, an older version first seen from a restored store included */
	readiness_granted(world->readiness, &all);
	world->framework.version = 3;
	set_framework(world, "ii", true);
	readiness_complete(world->readiness, &all, SHARDS);
	readiness_live(world->readiness, true);
	expect(world, &stays, 200);
	expect(world, &comes, 200);
	asker_close(&stays);
	asker_close(&comes);
	asker_close(&dies);
	world_free(world);
}

static void what_a_resync_does_not_show_is_gone(void **state)
{
	struct world *world = open_world();
	struct shard_set all = all_shards();
	struct asking asking;

	(void)state;
	set_framework(world, ".", true);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	delete_framework(world, false);
	readiness_granted(world->readiness, &all);
	readiness_complete(world->readiness, &all, SHARDS);
	expect(world, &asking, 404);
	assert_int_equal(readiness_count(world->readiness), 0);
	asker_close(&asking);
	world_free(world);
}

enum { POLL_MS = 3000 }; /* barrier/wait_group.c */

/* The watcher does not stream the Framework (--namespaces), or its news of the deletion came before the answer to a
 * read that was older: reads alone tell the waiters what changes, some at a time. */
static void frameworks_that_are_not_streamed_are_polled(void **state)
{
	enum { SOON_MS = 5000 };
	struct world *world = open_world();
	struct readiness_entry entry;
	struct asking asking;
	int64_t begun_ms = clock_boot_ms();
	size_t gets;

	(void)state;
	set_framework(world, "i.", false);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, world->gets == 1 && waiting(world) == 1);
	RUN_UNTIL(world->loop, readiness_find(world->readiness, "ns/fw", &entry));
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 202); /* the read has just said so */
	RUN_UNTIL(world->loop, world->gets == 2);
	assert_true(clock_boot_ms() - begun_ms >= POLL_MS);
	set_framework(world, "ii", false);
	begun_ms = clock_boot_ms();
	expect(world, &asking, 200);
	assert_true(clock_boot_ms() - begun_ms < allowed_ms(SOON_MS));
	asker_close(&asking);
	/* after a read of the complete gang, nobody waits for a poll */
	set_framework(world, ".", false);
	asking = ask(world, PATH "?timeoutSeconds=0", NULL);
	expect(world, &asking, 202);
	assert_string_equal(asker_body(&asking), "{\"ready\":0,\"total\":1,\"missing\":[\"worker-0\"]}\n");
	asker_close(&asking);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	gets = world->gets;
	world->api_down = true;
	RUN_UNTIL(world->loop, wait_groups_counters(world->groups)->reads_failed >= 1);
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 503);
	assert_int_equal(world->gets, gets);
	world->api_down = false;
	delete_framework(world, false);
	expect(world, &asking, 404);
	assert_int_equal(readiness_count(world->readiness), 0);
	asker_close(&asking);
	/* the watcher streams it after all: its news wait for no poll */
	set_framework(world, ".", false);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, readiness_find(world->readiness, "ns/fw", &entry));
	gets = wait_groups_counters(world->groups)->reads;
	set_framework(world, "i", true);
	assert_int_equal(wait_groups_counters(world->groups)->reads, gets + 1);
	expect(world, &asking, 200);
	asker_close(&asking);
	world_free(world);
}

/* A question for which the Framework is read; the answer to the read is held back. */
static struct asking ask_held(struct world *world)
{
	struct asking asking;

	set_framework(world, "i", true);
	set_framework(world, ".", false);
	world->api_holds = true;
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, world->held_count == 1);
	return asking;
}

/* The answer to a read that was sent before a deletion comes after the news of the deletion. */
static void a_late_read_leaves_no_ghost(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	asking = ask_held(world);
	delete_framework(world, true);
	let_go(world);
	expect(world, &asking, 404);
	assert_int_equal(readiness_count(world->readiness), 0);
	asker_close(&asking);
	world_free(world);
}

/* … and the answer to one that was sent before a resync comes while it goes on: a Framework that the resync does not
 * contain is no longer streamed, and one that it contains is read no more. */
static void reads_during_a_resync_are_confirmed(void **state)
{
	struct world *world = open_world();
	struct shard_set all = all_shards();
	struct readiness_entry entry;
	struct asking asking;
	size_t gets;

	(void)state;
	asking = ask_held(world);
	readiness_granted(world->readiness, &all);
	let_go(world);
	RUN_UNTIL(world->loop, readiness_find(world->readiness, "ns/fw", &entry) && entry.ready == 0);
	assert_false(entry.streamed);
	world->framework.version--; /* the stream is behind the read */
	show_framework(world, "fw");
	world->framework.version++;
	readiness_complete(world->readiness, &all, SHARDS);
	assert_true(readiness_find(world->readiness, "ns/fw", &entry));
	assert_true(entry.streamed);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	gets = world->gets;
	RUN_UNTIL(world->loop, clock_boot_ms() > entry.read_ms + POLL_MS + 100);
	assert_int_equal(world->gets, gets);
	set_framework(world, "i", true);
	expect(world, &asking, 200);
	asker_close(&asking);
	world_free(world);
}

static void old_news_change_nothing(void **state)
{
	struct world *world = open_world();
	struct readiness_entry entry;

	(void)state;
	set_framework(world, "i.", true);
	world->framework.version -= 2;
	set_framework(world, "ii", true);
	assert_true(readiness_find(world->readiness, "ns/fw", &entry));
	assert_int_equal(entry.ready, 1);
	world->framework.version -= 5;
	delete_framework(world, true);
	assert_true(readiness_find(world->readiness, "ns/fw", &entry));
	world_free(world);
}

static void the_end_sends_everybody_away(void **state)
{
	struct world *world = open_world();
	struct asking asking;

	(void)state;
	set_framework(world, ".", true);
	asking = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	front_close(world->front);
	expect(world, &asking, 503);
	assert_non_null(strstr(asking.in.data, "Retry-After: "));
	assert_int_equal(status_of(world, PATH, NULL), 503);
	asker_close(&asking);
	world_free(world);
}

static void clients_may_leave_at_any_time(void **state)
{
	struct world *world = open_world();
	struct asking a;
	struct asking b;

	(void)state;
	set_framework(world, ".", true);
	a = ask(world, PATH, NULL);
	b = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 2);
	asker_close(&a);
	RUN_UNTIL(world->loop, waiting(world) == 1);
	world->api_holds = true;
	set_framework(world, "i", true);
	RUN_UNTIL(world->loop, world->held_count == 1);
	asker_close(&b); /* the last one, with a read under way */
	RUN_UNTIL(world->loop, waiting(world) == 0);
	let_go(world);
	RUN_UNTIL(world->loop, wait_groups_counters(world->groups)->frameworks == 0);
	assert_int_equal(wait_groups_counters(world->groups)->left, 2);
	world_free(world);
}

static void waiters_are_limited(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 4, .per_framework = 3});
	struct asking askings[3];

	(void)state;
	sync_view(world);
	set_framework(world, ".", true);
	for (size_t i = 0; i < 3; i++)
		askings[i] = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 3);
	assert_int_equal(status_of(world, PATH, NULL), 429);
	assert_int_equal(status_of(world, "ns/frameworks/other/barrier?timeoutSeconds=0", NULL), 404);
	asker_close(&askings[0]);
	RUN_UNTIL(world->loop, waiting(world) == 2);
	askings[0] = ask(world, PATH, NULL);
	RUN_UNTIL(world->loop, waiting(world) == 3);
	set_framework(world, "i", true);
	for (size_t i = 0; i < 3; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	world_free(world);
}

static struct asking ask_in(const struct world *world, const char *ns)
{
	cleanup_free char *path = mem_printf("%s/frameworks/fw/barrier", ns);

	return ask(world, path, NULL);
}

/* One namespace takes all places: the waiters that came last give way to others, until all namespaces have equal parts.
 * (Nobody else could wait.) */
static void a_crowded_namespace_gives_way(void **state)
{
	enum { PLACES = 13 }; /* of which one namespace has one more than the others in the end */
	static const char *const namespaces[] = {"crowd", "ns", "other"};
	struct world *world = world_new((struct limits){.waiters = PLACES, .per_framework = PLACES});
	struct asking crowd[PLACES];
	struct asking others[PLACES * 2 / 3];
	struct asking refused;

	(void)state;
	sync_view(world);
	for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
		world->framework.ns = namespaces[i];
		set_framework(world, ".", true);
	}
	for (size_t i = 0; i < PLACES; i++) {
		crowd[i] = ask_in(world, "crowd");
		RUN_UNTIL(world->loop, waiting(world) == i + 1);
	}
	refused = ask_in(world, "crowd");
	expect(world, &refused, 429);
	asker_close(&refused);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		others[i] = ask_in(world, i % 2 == 0 ? "ns" : "other");
		expect(world, &crowd[PLACES - 1 - i], 429);
		assert_non_null(strstr(crowd[PLACES - 1 - i].in.data, "Retry-After: "));
		assert_int_equal(waiting(world), PLACES);
	}
	for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
		refused = ask_in(world, namespaces[i]);
		expect(world, &refused, 429);
		asker_close(&refused);
	}
	world->framework.ns = "ns";
	set_framework(world, "i", true);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		if (i % 2 == 0)
			expect(world, &others[i], 200);
		asker_close(&others[i]);
	}
	for (size_t i = 0; i < PLACES; i++)
		asker_close(&crowd[i]);
	world_free(world);
}

/* Thousands ask for names that do not exist, in their own namespace: reads and reviews for others wait behind few of
 * their reads. (They waited behind all.) */
static void a_namespace_shares_out_its_reads(void **state)
{
	enum { FLOOD = 2000, RATE = 200, OTHERS = 5, REQUESTS = 3 };
	struct world *world = world_new(
		(struct limits){.waiters = FLOOD * 2, .per_framework = FLOOD, .with_access = true, .entries = 100});
	struct asking *flood = mem_calloc(FLOOD, sizeof(*flood));

	(void)state;
	sync_view(world);
	assert_int_equal(status_of(world, PATH, "alice"), 404);
	kube_client_set_rate(world->client, RATE, 1);
	for (size_t i = 0; i < FLOOD; i++) {
		cleanup_free char *path = mem_printf("ns/frameworks/none%zu/barrier", i);

		flood[i] = ask(world, path, "alice");
		if (i % 5 == 0)
			asker_turn(world->loop);
	}
	RUN_UNTIL(world->loop, waiting(world) + wait_groups_counters(world->groups)->absent == FLOOD + 1);
	for (unsigned i = 0; i < OTHERS; i++) {
		cleanup_free char *token = mem_printf("pod-%u", i);
		size_t gets = world->gets;

		assert_int_equal(status_from(world, 2 + i, "ns-2/frameworks/none/barrier", token), 404);
		assert_in_range(world->gets - gets, 1, (WAIT_GROUP_READS_PER_NAMESPACE + 1) * REQUESTS);
	}
	/* who leaves takes his place in the line along; those who stay are answered */
	for (size_t i = 0; i < FLOOD / 2; i++)
		asker_close(&flood[i]);
	RUN_UNTIL(world->loop, waiting(world) <= FLOOD / 2);
	kube_client_set_rate(world->client, 0, 1);
	for (size_t i = FLOOD / 2; i < FLOOD; i++) {
		expect(world, &flood[i], 404);
		asker_close(&flood[i]);
	}
	assert_int_equal(wait_groups_counters(world->groups)->frameworks, 0);
	assert_in_range(world->gets, FLOOD / 2, FLOOD);
	free(flood);
	world_free(world);
}

/* Connections that ask nothing fill the server; the waiters are released all the same. */
static void a_flood_stops_no_release(void **state)
{
	enum { FLOOD = 2000, MANY = 50 };
	struct world *world = open_world();
	struct asking *flood = mem_calloc(FLOOD, sizeof(*flood));
	struct asking askings[MANY];

	(void)state;
	set_framework(world, ".", true);
	for (size_t i = 0; i < MANY; i++)
		askings[i] = ask(world, PATH, NULL);
	for (size_t i = 0; i < FLOOD; i++) {
		flood[i] = asker_open(serve_address(world->serve));
		asker_send(&flood[i], i % 2 == 0 ? "GET /v1/names" : "rubbish\r\n\r\n");
		if (i % 5 == 0) /* libmicrohttpd accepts ten in a turn; the listener's queue may not fill */
			asker_turn(world->loop);
	}
	RUN_UNTIL(world->loop, waiting(world) == MANY);
	set_framework(world, "i", true);
	for (size_t i = 0; i < MANY; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	for (size_t i = 0; i < FLOOD; i++)
		asker_close(&flood[i]);
	free(flood);
	world_free(world);
}

/* Callers that are not known fill the server from one address: its connections go to others who come, and to whoever is
 * known they go never. (Nobody else could connect.) */
static void connections_are_shared_out(void **state)
{
	enum { PLACES = 40, SPARE = 8, FLOOD = 100, OTHERS = 20 };
	struct world *world = world_new((struct limits){.waiters = 100,
							.per_framework = 100,
							.with_access = true,
							.entries = 1000,
							.connections = PLACES,
							.spare = SPARE});
	const struct serve_counters *counters = serve_counters(world->serve);
	struct asking known[2];
	struct asking flood[FLOOD];
	struct asking crowd[PLACES];
	uint64_t connections;
	size_t told = 0;

	(void)state;
	sync_view(world);
	set_framework(world, ".", true);
	known[0] = ask(world, PATH, "pod-1");
	RUN_UNTIL(world->loop, waiting(world) == 1);
	kube_client_set_rate(world->client, 0.001, 1); /* nobody else is reviewed */
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", "nobody"), 401);
	for (size_t i = 0; i < FLOOD; i++) {
		cleanup_free char *token = mem_printf("stranger-%zu", i);

		flood[i] = ask(world, PATH, token);
	}
	RUN_UNTIL(world->loop, counters->displaced >= FLOOD - PLACES);
	assert_in_range(counters->open, PLACES - SPARE - 4, PLACES);
	/* from other addresses, the known one is served and strangers have their share */
	for (unsigned i = 0; i < OTHERS; i++)
		assert_int_equal(status_from(world, 2 + i, PATH "?timeoutSeconds=0", "pod-1"), 202);
	known[1] = ask_from(world, 2, PATH, "pod-1");
	RUN_UNTIL(world->loop, waiting(world) == 2);
	/* when strangers of all other addresses want a place, too */
	connections = counters->connections;
	for (unsigned i = 0; i < PLACES; i++) {
		cleanup_free char *token = mem_printf("stranger-of-%u", i);

		crowd[i] = ask_from(world, 100 + i, PATH, token);
	}
	RUN_UNTIL(world->loop, counters->connections == connections + PLACES);
	assert_int_equal(waiting(world), 2);
	for (size_t i = 0; i < FLOOD; i++) {
		if (!asker_done(&flood[i]) || asker_status(&flood[i]) != 429)
			continue;
		told++;
		RUN_UNTIL(world->loop, asker_done(&flood[i]) && flood[i].closed);
	}
	assert_true(told > 0);
	assert_int_equal(counters->expired, 0); /* these lost their places at once */
	kube_client_set_rate(world->client, 0, 1);
	set_framework(world, "i", true);
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		expect(world, &known[i], 200);
		asker_close(&known[i]);
	}
	for (size_t i = 0; i < FLOOD; i++)
		asker_close(&flood[i]);
	for (size_t i = 0; i < PLACES; i++)
		asker_close(&crowd[i]);
	world_free(world);
}

/* A connection whose request was allowed keeps its place no longer than that request. */
static void former_waiters_make_room(void **state)
{
	enum { PLACES = 40, SPARE = 8 };
	struct world *world = world_new(
		(struct limits){.waiters = 100, .per_framework = 100, .connections = PLACES, .spare = SPARE});
	struct asking former[PLACES];

	(void)state;
	sync_view(world);
	set_framework(world, ".", true);
	for (size_t i = 0; i < PLACES; i++) {
		former[i] = ask(world, PATH "?timeoutSeconds=0", NULL);
		expect(world, &former[i], 202);
	}
	assert_int_equal(status_of(world, PATH "?timeoutSeconds=0", NULL), 202);
	assert_int_equal(serve_counters(world->serve)->expired, 0);
	for (size_t i = 0; i < PLACES; i++)
		asker_close(&former[i]);
	world_free(world);
}

/* Connections that ask nothing make room at once for others of the same address. */
static void idle_connections_make_room(void **state)
{
	enum { PLACES = 40, SPARE = 8, FLOOD = 100 };
	struct world *world = world_new(
		(struct limits){.waiters = 100, .per_framework = 100, .connections = PLACES, .spare = SPARE});
	const struct serve_counters *counters = serve_counters(world->serve);
	struct asking flood[FLOOD];

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	for (size_t i = 0; i < FLOOD; i++)
		flood[i] = asker_open(serve_address(world->serve));
	assert_int_equal(status_of(world, PATH, NULL), 200);
	assert_int_equal(counters->expired, 0);
	assert_in_range(counters->displaced, FLOOD - PLACES, FLOOD);
	for (size_t i = 0; i < FLOOD; i++)
		asker_close(&flood[i]);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_through_trouble_of_the_api_server),
		cmocka_unit_test(waits_not_too_long_for_the_api_server),
		cmocka_unit_test(waits_while_something_else_answers),
		cmocka_unit_test(waits_through_a_restart_of_the_watcher),
		cmocka_unit_test(what_a_resync_does_not_show_is_gone),
		cmocka_unit_test(frameworks_that_are_not_streamed_are_polled),
		cmocka_unit_test(a_late_read_leaves_no_ghost),
		cmocka_unit_test(reads_during_a_resync_are_confirmed),
		cmocka_unit_test(old_news_change_nothing),
		cmocka_unit_test(the_end_sends_everybody_away),
		cmocka_unit_test(clients_may_leave_at_any_time),
		cmocka_unit_test(waiters_are_limited),
		cmocka_unit_test(a_crowded_namespace_gives_way),
		cmocka_unit_test(a_namespace_shares_out_its_reads),
		cmocka_unit_test(a_flood_stops_no_release),
		cmocka_unit_test(connections_are_shared_out),
		cmocka_unit_test(idle_connections_make_room),
		cmocka_unit_test(former_waiters_make_room),
	};

	return cmocka_run_group_tests_name("barrier_trouble", tests, NULL, NULL);
}
