/* The members of a router, without sockets: shards that move, leases, and what happens when watcher and member lose
 * sight of each other; barriers; shares of the rate. */
#include "tests/unit/router_world.h"

/* ---- shards that move ------------------------------------------------------------------------------------------- */

static void test_second_member(void **state)
{
	struct node *a;
	struct node *b;
	char name[24];

	(void)state;
	world_start_synced(world);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "fw%d", i);
		world_present(world, KIND_FRAMEWORK, "", name, "u");
	}
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_settle(world);
	assert_int_equal(view_count(a), 100);
	shard_set_add(&a->draining, WORLD_SHARDS - 1); /* a call is in flight there */
	b = world_start(world, 1, "b", BUS_ROLE_RECONCILER);
	world_run(world, 2000);
	assert_int_equal(shard_set_count(&a->granted), WORLD_SHARDS / 2);
	assert_int_equal(shard_set_count(&b->granted), WORLD_SHARDS / 2 - 1);
	shard_set_remove(&a->draining, WORLD_SHARDS - 1);
	session_ping_soon(a->peer);
	world_run(world, 2000);
	assert_int_equal(shard_set_count(&b->granted), WORLD_SHARDS / 2);
	assert_int_equal(view_count(a) + view_count(b), 100);
	assert_memory_equal(&b->complete, &b->granted, sizeof(b->granted));
	for (uint32_t r = 0; r < WORLD_SHARDS; r++) {
		assert_true(shard_set_has(&a->granted, r) != shard_set_has(&b->granted, r));
		assert_true((session_lease_left_ms(a->peer, r) > 0) == shard_set_has(&a->granted, r));
		assert_true((session_lease_left_ms(b->peer, r) > 0) == shard_set_has(&b->granted, r));
	}
	/* a change goes to its owner alone */
	a->shown = b->shown = 0;
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "fw%d", i);
		world_present(world, KIND_FRAMEWORK, "", name, "u");
	}
	world_settle(world);
	assert_int_equal(a->shown, view_count(a));
	assert_int_equal(b->shown, view_count(b));
}

static void test_leave(void **state)
{
	struct node *a;
	struct node *b;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	b = world_start(world, 1, "b", BUS_ROLE_RECONCILER);
	world_run(world, 3000);
	shard_set_add(&a->draining, 0);
	session_leave(a->peer);
	assert_true(shard_set_empty(&a->granted));
	for (uint32_t r = 0; r < WORLD_SHARDS; r++)
		assert_true(session_lease_left_ms(a->peer, r) <= 0);
	world_run(world, 4000);
	assert_false(session_gone(a->peer)); /* a call is in flight still */
	assert_int_equal(shard_set_count(&b->granted), WORLD_SHARDS - 1);
	a->draining = (struct shard_set){0};
	world_run(world, 500);
	assert_true(session_gone(a->peer));
	assert_int_equal(shard_set_count(&b->granted), WORLD_SHARDS);
	/* the next process of the name does not wait */
	world_kill(world, 0);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_run(world, 2000);
	assert_int_equal(a->refusals, 0);
	assert_int_equal(shard_set_count(&a->granted), WORLD_SHARDS / 2);
}

static void test_leave_alone(void **state)
{
	struct node *a;

	(void)state;
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	session_leave(a->peer);
	assert_true(session_gone(a->peer)); /* nobody was ever told of it */
	world_kill(world, 0);
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_settle(world);
	world_stop_watcher(world);
	session_leave(a->peer);
	assert_false(session_gone(a->peer));
	world_run(world, 3500);
	assert_true(session_gone(a->peer));
}

static void test_process_dead(void **state)
{
	struct node *a;
	struct node *b;
	struct shard_set before;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	b = world_start(world, 1, "b", BUS_ROLE_RECONCILER);
	world_run(world, 3000);
	before = a->granted;
	b->grants = b->revokes = 0;
	world_kill(world, 0);
	router_process_dead(world->router, "a");
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_settle(world);
	assert_memory_equal(&a->granted, &before, sizeof(before));
	assert_true(session_leased(a->peer));
	assert_int_equal(b->grants + b->revokes, 0);
}

/* ---- losing sight ----------------------------------------------------------------------------------------------- */

static void test_gap_at_the_peer(void **state)
{
	struct node *a;
	int64_t left_ms;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_settle(world);
	world_present(world, KIND_POD, "fw", "one", "p1");
	router_flush(world->router);
	queue_empty(&a->down); /* lost */
	world_present(world, KIND_POD, "fw", "two", "p2");
	left_ms = session_lease_left_ms(a->peer, 0);
	world_settle(world);
	assert_int_equal(session_counters(a->peer)->sequence_gaps, 1);
	assert_int_equal(a->grants, 2); /* everything is shown anew */
	assert_int_equal(a->revokes, 0);
	assert_true(session_lease_left_ms(a->peer, 0) >= left_ms); /* and nothing was given up meanwhile */
	assert_non_null(view_find(a, KIND_POD, "ns/one"));
	assert_non_null(view_find(a, KIND_POD, "ns/two"));
	assert_memory_equal(&a->complete, &a->granted, sizeof(a->granted));
}

/* What was on its way before a HELLO is neither acted on nor counted as credit. */
static void test_old_session(void **state)
{
	struct node *a;
	struct message *old;
	size_t shown;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_settle(world);
	world_present(world, KIND_POD, "fw", "one", "p1");
	router_flush(world->router);
	old = queue_take(&a->down);
	assert_int_equal(old->head.type, BUS_UPDATE);
	world_present(world, KIND_POD, "fw", "two", "p2");
	world_settle(world);
	shown = a->shown;
	session_receive(a->peer, 0, &old->head, old->body, old->len);
	free(old);
	assert_int_equal(a->shown, shown);
	assert_int_equal(session_counters(a->peer)->stale, 1);
}

static void test_send_fails(void **state)
{
	struct node *a;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_settle(world);
	world_present(world, KIND_POD, "fw", "one", "p1");
	world->router_refuses_sends = 1;
	router_flush(world->router);
	assert_int_equal(router_peer_count(world->router), 0);
	world_run(world, 2000); /* its next ping is answered WHO */
	assert_int_equal(router_peer_count(world->router), 1);
	assert_non_null(view_find(a, KIND_POD, "ns/one"));
	assert_int_equal(a->revokes, 0);
}

static void test_reconnect(void **state)
{
	struct node *a;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_settle(world);
	world_connect(a); /* another routing id */
	world_present(world, KIND_POD, "fw", "one", "p1");
	world_run(world, 2000);
	assert_non_null(view_find(a, KIND_POD, "ns/one"));
	assert_int_equal(a->revokes, 0);
	assert_int_equal(router_peer_count(world->router), 1); /* the old connection is forgotten */
}

static void test_partition(void **state)
{
	struct node *a;
	struct node *b;
	int64_t cut_ms;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	b = world_start(world, 1, "b", BUS_ROLE_RECONCILER);
	world_run(world, 5000);
	world_disconnect(a);
	cut_ms = world->now_ms;
	assert_true(a->live);
	world_run(world, 9000);
	assert_false(a->live);
	assert_int_equal(a->revokes, 1); /* b's joining, long ago */
	while (world->now_ms < cut_ms + WORLD_LEASE)
		world_run(world, 250);
	assert_int_equal(a->revokes, 2);
	assert_true(shard_set_empty(&a->granted));
	assert_false(session_leased(a->peer));
	assert_int_equal(shard_set_count(&b->granted), WORLD_SHARDS / 2);
	world_run(world, WORLD_GRACE);
	assert_int_equal(shard_set_count(&b->granted), WORLD_SHARDS);
	world_connect(a);
	world_run(world, 5000);
	assert_int_equal(shard_set_count(&a->granted), WORLD_SHARDS / 2);
	assert_int_equal(shard_set_count(&b->granted), WORLD_SHARDS / 2);
	assert_true(session_leased(a->peer));
}

/* A process that was stopped and wakes up to old answers has no lease by them. */
static void test_old_answers(void **state)
{
	struct node *a;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_run(world, 3000);
	/* a ping is answered, the answer waits in the socket while the process stands still */
	world->now_ms += 1000;
	session_tick(a->peer);
	while (a->up.first != NULL) {
		struct message *message = queue_take(&a->up);

		router_receive(world->router, (const unsigned char *)a->id, strlen(a->id), &message->head,
			       message->body, message->len);
		free(message);
	}
	assert_int_equal(count_of(a, BUS_PONG), 1);
	world->now_ms += WORLD_LEASE + 1;
	assert_true(session_lease_left_ms(a->peer, 0) <= 0);
	world_deliver(world);
	assert_true(session_lease_left_ms(a->peer, 0) <= 0);
	assert_false(session_leased(a->peer));
}

/* An ASSIGN starts no lease, and a PONG renews what it names only. */
static void test_pong_of_another_version(void **state)
{
	struct node *a;
	struct message *message;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	session_tick(a->peer);
	world_deliver(world); /* HELLO → WHO */
	world_deliver(world); /* HELLO → ASSIGN */
	assert_int_equal(a->grants, 1);
	assert_false(session_leased(a->peer));
	queue_empty(&a->up);
	message = mem_calloc(1, sizeof(*message) + 128);
	message->head = (struct bus_head){.protocol = BUS_PROTOCOL,
					  .type = BUS_PONG,
					  .epoch = 5,
					  .version = 77,
					  .session = 2,
					  .time_ms = world->now_ms};
	message->len = (size_t)snprintf(message->body, 128, "{\"renewed\":true,\"qps\":1,\"burst\":1,\"live\":true}");
	router_flush(world->router);
	world_deliver(world); /* SNAPSHOT_END */
	message->head.sequence = 3;
	session_receive(a->peer, 0, &message->head, message->body, message->len);
	assert_false(session_leased(a->peer));
	message->head.sequence = 4;
	message->head.version = 1;
	message->head.time_ms = world->now_ms + 1000; /* a ping of the future was never sent */
	session_receive(a->peer, 0, &message->head, message->body, message->len);
	assert_false(session_leased(a->peer));
	message->head.sequence = 5;
	message->head.time_ms = world->now_ms;
	session_receive(a->peer, 0, &message->head, message->body, message->len);
	assert_int_equal(session_lease_left_ms(a->peer, 0), WORLD_LEASE);
	free(message);
}

/* ---- a new watcher ---------------------------------------------------------------------------------------------- */

static void test_new_leader(void **state)
{
	struct node *a;
	struct node *b;
	struct shard_set of_a;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	b = world_start(world, 1, "b", BUS_ROLE_RECONCILER);
	world_run(world, 5000);
	of_a = a->granted;
	a->revokes = b->revokes = 0;
	world_stop_watcher(world);
	world_run(world, 3000);
	world->blocked_ms = WORLD_LEASE + WORLD_MARGIN;
	world_start_watcher(world, 6);
	router_synced(world->router);
	world_connect(a);
	world_connect(b);
	world_run(world, 4000);
	assert_int_equal(session_epoch(a->peer), 6);
	assert_int_equal(a->revokes + b->revokes, 0); /* nobody had to stop */
	assert_memory_equal(&a->granted, &of_a, sizeof(of_a));
	assert_true(session_leased(a->peer));
	assert_true(session_leased(b->peer));
	world_run(world, WORLD_LEASE);
	assert_int_equal(a->revokes + b->revokes, 0);
}

static void test_new_leader_after_leases(void **state)
{
	struct node *a;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_run(world, 2000);
	world_stop_watcher(world);
	world_run(world, WORLD_LEASE + 1000);
	assert_int_equal(a->revokes, 1);
	world->blocked_ms = WORLD_LEASE + WORLD_MARGIN;
	world_start_watcher(world, 1);
	router_synced(world->router);
	world_connect(a);
	world_run(world, 5000);
	assert_true(shard_set_empty(&a->granted)); /* somebody else might hold them still */
	world_run(world, WORLD_LEASE + WORLD_MARGIN);
	assert_int_equal(shard_set_count(&a->granted), WORLD_SHARDS);
	assert_true(session_leased(a->peer));
}

/* Messages of a deposed leader are dropped once a newer one was heard. */
static void test_older_epoch(void **state)
{
	struct node *a;
	struct bus_head old = {.protocol = BUS_PROTOCOL, .type = BUS_PONG, .epoch = 4, .session = 2, .sequence = 4};

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_settle(world);
	session_receive(a->peer, 0, &old, "{}", 2);
	assert_int_equal(session_counters(a->peer)->stale, 1);
}

/* A barrier holds no lease that it would have to wait for: it follows a leader of an older epoch, whose Lease was
 * deleted by hand, as soon as the other one is silent. */
static void test_barrier_and_older_epoch(void **state)
{
	struct node *barrier;

	(void)state;
	world_start_synced(world);
	barrier = world_start(world, 0, "gate", BUS_ROLE_BARRIER);
	world_run(world, 3000);
	assert_int_equal(session_epoch(barrier->peer), 5);
	world_stop_watcher(world);
	world_start_watcher(world, 1);
	router_synced(world->router);
	world_connect(barrier);
	world_present(world, KIND_FRAMEWORK, "", "fw", "u");
	world_run(world, 5000);
	assert_int_equal(session_epoch(barrier->peer), 1);
	assert_non_null(view_find(barrier, KIND_FRAMEWORK, "ns/fw"));
}

/* ---- barriers, rates -------------------------------------------------------------------------------------------- */

static void test_barrier(void **state)
{
	struct node *barrier;
	struct node *a;
	char name[24];

	(void)state;
	world_start_synced(world);
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "fw%d", i);
		world_present(world, KIND_FRAMEWORK, "", name, "u");
		world_present(world, KIND_POD, name, name, "p");
	}
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	barrier = world_start(world, 1, "barrier", BUS_ROLE_BARRIER);
	world_run(world, 2000);
	assert_int_equal(shard_set_count(&a->granted), WORLD_SHARDS); /* it takes no share */
	assert_int_equal(view_count(a), 100);
	assert_int_equal(view_count(barrier), 50);
	assert_int_equal(barrier->completes, 1);
	assert_true(barrier->live);
	world_deleted(world, KIND_FRAMEWORK, "", "fw1", "u", true);
	world_deleted(world, KIND_POD, "fw1", "fw1", "p", true);
	world_settle(world);
	assert_int_equal(view_count(a), 98);
	assert_int_equal(view_count(barrier), 49);
	assert_int_equal(barrier->absences, 1);
	/* longer than any lease: it owns nothing that could be lost */
	world_run(world, 2 * WORLD_LEASE);
	assert_int_equal(barrier->revokes, 0);
	assert_int_equal(barrier->grants, 1);
	world_disconnect(barrier);
	world_run(world, 3 * WORLD_LEASE);
	assert_false(barrier->live);
	world_connect(barrier);
	world_present(world, KIND_FRAMEWORK, "", "new", "u");
	world_run(world, 5000);
	assert_non_null(view_find(barrier, KIND_FRAMEWORK, "ns/new"));
	assert_true(barrier->live);
}

static void test_rates(void **state)
{
	struct node *a;
	struct node *b;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	b = world_start(world, 1, "b", BUS_ROLE_RECONCILER);
	world_start(world, 2, "barrier", BUS_ROLE_BARRIER);
	world_run(world, 3000);
	assert_float_equal(a->qps, 50, 0.01);
	assert_float_equal(b->qps, 50, 0.01);
	a->backlog = 300;
	b->backlog = 100;
	world_run(world, 3000);
	/* half of it equally, half by the backlog */
	assert_float_equal(a->qps, 25 + 37.5, 0.01);
	assert_float_equal(b->qps, 25 + 12.5, 0.01);
	assert_int_equal(a->burst, 62);
	b->backlog = 0;
	world_run(world, 3000);
	assert_float_equal(a->qps, 75, 0.01);
	assert_float_equal(b->qps, 25, 0.01);
}

/* One object that cannot be read is skipped; the rest of the stream goes on. */
static void test_bad_object(void **state)
{
	struct node *a;
	struct message *message;

	(void)state;
	world_start_synced(world);
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_settle(world);
	world_present(world, KIND_POD, "fw", "one", "p1");
	world_present(world, KIND_POD, "fw", "two", "p2");
	router_flush(world->router);
	message = a->down.first;
	assert_int_equal(message->head.type, BUS_UPDATE);
	message->body[0] = '?';
	world_settle(world);
	assert_int_equal(session_counters(a->peer)->malformed_objects, 1);
	assert_null(view_find(a, KIND_POD, "ns/one"));
	assert_non_null(view_find(a, KIND_POD, "ns/two"));
	assert_int_equal(session_counters(a->peer)->sequence_gaps, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_second_member),
		TEST(test_leave),
		TEST(test_leave_alone),
		TEST(test_process_dead),
		TEST(test_gap_at_the_peer),
		TEST(test_old_session),
		TEST(test_send_fails),
		TEST(test_reconnect),
		TEST(test_partition),
		TEST(test_old_answers),
		TEST(test_pong_of_another_version),
		TEST(test_new_leader),
		TEST(test_new_leader_after_leases),
		TEST(test_older_epoch),
		TEST(test_barrier_and_older_epoch),
		TEST(test_barrier),
		TEST(test_rates),
		TEST(test_bad_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
