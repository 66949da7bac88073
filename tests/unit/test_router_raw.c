/* What the router answers to a peer that the test plays itself: credit, snapshots cut short, claims, refusals. */
#include "common/base/log.h"
#include "tests/unit/router_world.h"

/* A connection whose peer is played by the test itself. */
static struct node *raw_node(int slot)
{
	struct node *node = &world->nodes[slot];

	world_connect(node);
	return node;
}

static void raw_send(struct node *node, enum bus_type type, uint64_t sequence, uint64_t epoch, uint64_t version,
		     const struct buf *body)
{
	const struct bus_head head = {.protocol = BUS_PROTOCOL,
				      .type = (uint8_t)type,
				      .sequence = sequence,
				      .epoch = epoch,
				      .version = version,
				      .time_ms = world->now_ms,
				      .session = 1};

	router_receive(world->router, (const unsigned char *)node->id, strlen(node->id), &head,
		       body == NULL ? "" : body->data, body == NULL ? 0 : body->len);
	router_flush(world->router);
}

static void raw_hello(struct node *node, const char *name, const char *uuid, uint32_t window)
{
	struct bus_hello hello = {.role = name[0] == 'g' ? BUS_ROLE_BARRIER : BUS_ROLE_RECONCILER, .window = window};
	cleanup_buf struct buf body = {0};

	snprintf(hello.name, sizeof(hello.name), "%s", name);
	snprintf(hello.uuid, sizeof(hello.uuid), "%s", uuid);
	bus_hello_write(&body, &hello);
	raw_send(node, BUS_HELLO, 1, router_epoch(world->router), 0, &body);
}

static void raw_ping(struct node *node, uint64_t sequence, uint64_t epoch, uint64_t version, uint64_t consumed)
{
	struct bus_ping ping = {.consumed = consumed};
	cleanup_buf struct buf body = {0};

	bus_ping_write(&body, &ping);
	raw_send(node, BUS_PING, sequence, epoch, version, &body);
}

/* The next message to the node of that type, sent as to one of its version; frees those before it. NULL when there is
 * none. */
static struct message *next_of(struct node *node, enum bus_type type)
{
	struct message *message;

	while ((message = queue_take(&node->down)) != NULL) {
		if (message->head.type == type)
			return message;
		free(message);
	}
	return NULL;
}

/* Frameworks, so that a small window cuts their snapshot. */
static void start_with_five(void)
{
	char name[24];

	world_start_synced(world);
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "fw%d", i);
		world_present(world, KIND_FRAMEWORK, "", name, "u");
	}
}

/* No more is on the way than the peer gave credit for, and what waits is the latest state, once per object. */
static void test_credit(void **state)
{
	struct node *node;
	struct message *message;
	cleanup_json json_t *object = NULL;

	(void)state;
	start_with_five();
	node = raw_node(0);
	raw_hello(node, "a", "u", 2);
	assert_int_equal(count_of(node, BUS_ASSIGN), 1);
	assert_int_equal(count_of(node, BUS_UPDATE), 2);
	assert_int_equal(count_of(node, BUS_SNAPSHOT_END), 0);
	queue_empty(&node->down);
	raw_ping(node, 2, 5, 0, 1);
	assert_int_equal(count_of(node, BUS_UPDATE), 1);
	raw_ping(node, 3, 5, 0, 100); /* more than was sent: no credit comes from that */
	assert_int_equal(count_of(node, BUS_UPDATE), 1);
	raw_ping(node, 4, 5, 0, 3);
	assert_int_equal(count_of(node, BUS_UPDATE), 3);
	assert_int_equal(count_of(node, BUS_SNAPSHOT_END), 1); /* behind the last of them, without credit */
	queue_empty(&node->down);
	for (int i = 0; i < 10; i++)
		world_present(world, KIND_FRAMEWORK, "", "fw0", "u");
	router_flush(world->router);
	assert_int_equal(router_backlog(world->router), 1);
	assert_null(next_of(node, BUS_UPDATE));
	raw_ping(node, 5, 5, 0, 5);
	message = next_of(node, BUS_UPDATE);
	assert_non_null(message);
	object = json_parse(message->body, message->len, NULL);
	assert_string_equal(json_str(json_object_get(object, "metadata"), "resourceVersion"), "115");
	assert_null(json_object_get(json_object_get(object, "metadata"), "managedFields"));
	free(message);
	assert_null(next_of(node, BUS_UPDATE));
}

static size_t bytes_of(const struct node *node, enum bus_type type)
{
	size_t bytes = 0;

	for (const struct message *message = node->down.first; message != NULL; message = message->next)
		if (message->head.type == type)
			bytes += BUS_HEAD_SIZE + message->len;
	return bytes;
}

/* One that says HELLO again and again and reads nothing is sent no more than a bound, and the rest once it has read. */
static void test_unread(void **state)
{
	struct bus_ping ping = {0};
	cleanup_buf struct buf body = {0};
	struct node *node;
	size_t one;

	(void)state;
	world->in_flight_max = 600;
	start_with_five();
	node = raw_node(0);
	for (int i = 0; i < 100; i++) {
		raw_hello(node, "a", "u", UINT32_MAX);
		bus_ping_write(&body, &ping);
		raw_send(node, BUS_PING, 2, 5, 1, &body); /* (it knows the version from before) */
		buf_clear(&body);
		world->now_ms += 500;
	}
	assert_int_equal(router_counters(world->router)->refused, 0);
	one = bytes_of(node, BUS_UPDATE) / count_of(node, BUS_UPDATE);
	assert_in_range(bytes_of(node, BUS_UPDATE), 600, 600 + one);
	queue_empty(&node->down);
	ping.received = 1; /* an assignment, behind all that */
	bus_ping_write(&body, &ping);
	raw_send(node, BUS_PING, 3, 5, 1, &body);
	assert_in_range(bytes_of(node, BUS_UPDATE), 600, 600 + one);
	raw_ping(node, 4, 5, 1, count_of(node, BUS_UPDATE));
	raw_ping(node, 5, 5, 1, 5);
	assert_int_equal(count_of(node, BUS_UPDATE), 5);
	assert_int_equal(count_of(node, BUS_SNAPSHOT_END), 1);
}

/* Nor is one that leaves, or is refused, and comes back on the same connection. */
static void test_unread_and_back(void **state)
{
	struct node *const node[] = {raw_node(0), raw_node(1)};

	(void)state;
	world->in_flight_max = 600;
	start_with_five();
	raw_hello(raw_node(2), "taken", "u", 1);
	for (int i = 0; i < 20; i++, world->now_ms += 1000) {
		raw_hello(node[0], "gate", "u", 100);
		raw_send(node[0], BUS_BYE, 2, 5, 0, NULL);
		raw_hello(node[1], "a", "u", 100);
		raw_hello(node[1], "taken", "another", 100);
	}
	for (int i = 0; i < 2; i++)
		assert_in_range(bytes_of(node[i], BUS_UPDATE), 1, 1200);
}

/* Nor is one that took the name of a child process, whenever one of that name has ended. */
static void test_unread_and_dead(void **state)
{
	struct node *node;

	(void)state;
	world->in_flight_max = 600;
	start_with_five();
	node = raw_node(0);
	for (int i = 0; i < 20; i++, world->now_ms += 1000) {
		raw_hello(node, "a", "u", 100);
		router_process_dead(world->router, "a");
		assert_int_equal(router_peer_count(world->router), 0);
	}
	assert_in_range(bytes_of(node, BUS_UPDATE), 1, 1200);
}

/* Nor does one that says nothing for so long that it would be forgotten, while it is connected. */
static void test_unread_and_silent(void **state)
{
	struct node *node;
	size_t updates = 0;

	(void)state;
	world->in_flight_max = 600;
	start_with_five();
	node = raw_node(0);
	for (int i = 0; i < 5; i++) {
		raw_hello(node, "a", "u", 100);
		if (i == 0)
			updates = count_of(node, BUS_UPDATE);
		for (int64_t until_ms = world->now_ms + 70000; world->now_ms < until_ms; world->now_ms += 500)
			router_tick(world->router);
	}
	assert_int_equal(count_of(node, BUS_UPDATE), updates);
	assert_in_range(count_of(node, BUS_WHO), 5, 15); /* is it there? now and then */
	world_disconnect(node);
	world->now_ms += 31000;
	router_tick(world->router);
	assert_int_equal(router_peer_count(world->router), 0);
}

/* Each HELLO makes a snapshot: they are answered ten at once, then two in a second. */
static void test_greets_too_often(void **state)
{
	struct node *node;

	(void)state;
	start_with_five();
	node = raw_node(0);
	for (int i = 0; i < 100; i++)
		raw_hello(node, "a", "u", 1);
	assert_in_range(count_of(node, BUS_ASSIGN), 9, 11);
	queue_empty(&node->down);
	for (int i = 0; i < 100; i++) {
		world->now_ms += 50;
		raw_hello(node, "a", "u", 1);
	}
	assert_in_range(count_of(node, BUS_ASSIGN), 9, 11);
	assert_in_range(router_counters(world->router)->refused, 178, 182);
}

/* A HELLO in the middle of a snapshot starts it anew: its end comes behind all of it. */
static void test_hello_within_a_snapshot(void **state)
{
	struct node *node;
	struct message *message;
	size_t updates = 0;

	(void)state;
	start_with_five();
	node = raw_node(0);
	raw_hello(node, "a", "u", 4);
	queue_empty(&node->down);
	raw_hello(node, "a", "u", 100);
	while ((message = queue_take(&node->down)) != NULL && message->head.type != BUS_SNAPSHOT_END) {
		updates += message->head.type == BUS_UPDATE ? 1 : 0;
		free(message);
	}
	assert_non_null(message);
	free(message);
	assert_int_equal(updates, 5);
	assert_null(queue_take(&node->down));
}

/* A list in the middle of a snapshot: what was told before is told again, and only behind that all is complete. An end
 * in between would say that it is gone. */
static void test_relisted_within_a_snapshot(void **state)
{
	struct node *node;

	(void)state;
	start_with_five();
	node = raw_node(0);
	raw_hello(node, "a", "u", 4);
	assert_int_equal(count_of(node, BUS_UPDATE), 4);
	queue_empty(&node->down);
	router_relisted(world->router);
	raw_ping(node, 2, 5, 0, 4);
	assert_int_equal(count_of(node, BUS_UPDATE), 4);
	assert_int_equal(count_of(node, BUS_SNAPSHOT_END), 0);
	raw_ping(node, 3, 5, 0, 8);
	assert_int_equal(count_of(node, BUS_UPDATE), 5);
	assert_int_equal(count_of(node, BUS_SNAPSHOT_END), 1);
}

static void expect_refused(struct node *node, bool final, const char *reason)
{
	struct message *message = next_of(node, BUS_REFUSE);
	struct bus_refuse refusal;

	assert_non_null(message);
	assert_int_equal(bus_refuse_read(message->body, message->len, &refusal, NULL), 0);
	assert_int_equal(refusal.final, final);
	assert_non_null(strstr(refusal.reason, reason));
	free(message);
}

static void test_who(void **state)
{
	struct node *node;
	struct message *message;

	(void)state;
	world_start_synced(world);
	node = raw_node(0);
	raw_ping(node, 7, 5, 1, 0);
	message = next_of(node, BUS_WHO);
	assert_non_null(message);
	assert_int_equal(message->head.sequence, 0);
	assert_int_equal(message->head.session, 1);
	free(message);
	raw_hello(node, "a", "u", 10);
	queue_empty(&node->down);
	raw_ping(node, 3, 5, 0, 0); /* 2 was lost */
	message = next_of(node, BUS_WHO);
	assert_non_null(message);
	free(message);
	assert_int_equal(router_counters(world->router)->sequence_gaps, 1);
	/* another leader, of epoch 6, has it since */
	raw_hello(node, "a", "u", 10);
	queue_empty(&node->down);
	raw_ping(node, 2, 6, 1, 0);
	expect_refused(node, false, "a leader of epoch 6, this leader has epoch 5");
	assert_int_equal(router_counters(world->router)->sequence_gaps, 1);
}

static void raw_claims(struct node *node, uint64_t epoch, const struct bus_hello *hello)
{
	cleanup_buf struct buf body = {0};

	bus_hello_write(&body, hello);
	raw_send(node, BUS_HELLO, 1, epoch, 0, &body);
}

/* What a HELLO claims counts only when it was said by one that knew of this term: it may have been on its way for
 * longer than a lease. Until then nobody joins. */
static void test_old_claims(void **state)
{
	struct bus_hello hello = {.name = "a", .uuid = "u", .shard_count = WORLD_SHARDS, .held_epoch = 4, .window = 10};
	struct node *node;
	struct message *message;

	(void)state;
	world_start_synced(world);
	node = raw_node(0);
	shard_set_add(&hello.held, 3);
	raw_claims(node, 4, &hello);
	assert_int_equal(router_peer_count(world->router), 0);
	message = next_of(node, BUS_WHO);
	assert_non_null(message);
	assert_int_equal(message->head.epoch, 5);
	assert_int_equal(message->len, 0);
	free(message);
	assert_null(shard_table_holder(router_shards(world->router), 3));
	raw_claims(node, 5, &hello);
	assert_string_equal(shard_table_holder(router_shards(world->router), 3), "a");
}

/* What this leader granted it need not be told: it may have taken it away since the HELLO was said. */
static void test_claims_of_this_term(void **state)
{
	struct bus_hello hello = {.name = "a", .uuid = "u", .shard_count = WORLD_SHARDS, .held_epoch = 5, .window = 10};

	(void)state;
	world->blocked_ms = 1000;
	world_start_synced(world);
	shard_set_add(&hello.held, 3);
	raw_claims(raw_node(0), 5, &hello);
	assert_int_equal(router_peer_count(world->router), 1);
	assert_null(shard_table_holder(router_shards(world->router), 3));
}

/* A former leader that cut the key space into another number of shards granted other keys by those numbers: nothing is
 * taken over from it, and the peer gets what is free here. */
static void test_claims_of_another_cut(void **state)
{
	struct bus_hello hello = {.name = "a", .uuid = "u", .held_epoch = 4, .window = 10};

	(void)state;
	world->blocked_ms = 1000;
	world_start_synced(world);
	for (uint32_t i = 0; i < 2; i++) {
		hello.shard_count = WORLD_SHARDS * (2 - i);
		hello.held = (struct shard_set){0};
		shard_set_add(&hello.held, 3);
		raw_claims(raw_node(0), 5, &hello);
		assert_int_equal(router_peer_count(world->router), 1);
		assert_int_equal(shard_table_holder(router_shards(world->router), 3) != NULL, i == 1);
	}
}

/* A newer epoch is nobody's to announce: who knows one may hold leases of another leader, and heeds nothing of this
 * one. */
static void test_hostile_epochs(void **state)
{
	struct bus_hello hello = {.name = "a", .uuid = "u", .shard_count = WORLD_SHARDS, .window = 10};
	struct node *node;

	(void)state;
	world_start_synced(world);
	node = raw_node(0);
	hello.held_epoch = UINT64_C(4000000000);
	memset(&hello.held, 0xFF, sizeof(hello.held));
	raw_claims(node, hello.held_epoch, &hello);
	expect_refused(node, false, "a leader of epoch 4000000000, this leader has epoch 5");
	raw_claims(node, 5, &hello);
	assert_int_equal(router_epoch(world->router), 5);
	assert_int_equal(router_peer_count(world->router), 1);
	assert_string_equal(shard_table_holder(router_shards(world->router), 3), "a"); /* as any that joins */
}

static void test_refusals(void **state)
{
	struct node *node;
	struct node *other;
	struct message *message;
	struct bus_head alien = {.protocol = BUS_PROTOCOL + 1, .type = BUS_HELLO, .session = 1};
	struct bus_refuse refuse;
	cleanup_buf struct buf junk = {0};

	(void)state;
	world_start_synced(world);
	node = raw_node(0);
	other = raw_node(1);
	router_receive(world->router, (const unsigned char *)node->id, strlen(node->id), &alien, "?", 1);
	message = next_of(node, BUS_REFUSE);
	assert_non_null(message);
	assert_int_equal(bus_refuse_read(message->body, message->len, &refuse, NULL), 0);
	assert_false(refuse.final); /* the rollout that brings this version ends */
	assert_non_null(strstr(refuse.reason, "it speaks bus protocol version 5, this watcher version 4"));
	free(message);

	buf_puts(&junk, "{}");
	raw_send(node, BUS_HELLO, 1, 5, 0, &junk);
	message = next_of(node, BUS_REFUSE);
	assert_non_null(message);
	free(message);
	raw_send(node, BUS_ASSIGN, 1, 0, 0, &junk); /* no peer says that */
	raw_send(node, (enum bus_type)99, 1, 0, 0, &junk);
	assert_int_equal(router_counters(world->router)->unknown_messages, 2);
	assert_null(next_of(node, BUS_WHO));

	raw_hello(node, "a", "u1", 10);
	message = next_of(node, BUS_ASSIGN);
	raw_ping(node, 2, 5, message->head.version, 0);
	free(message);
	raw_hello(other, "a", "u2", 10);
	message = next_of(other, BUS_REFUSE);
	assert_int_equal(bus_refuse_read(message->body, message->len, &refuse, NULL), 0);
	assert_false(refuse.final); /* BUSY: it may come back */
	free(message);
	world->now_ms += WORLD_LEASE + WORLD_MARGIN;
	raw_hello(other, "a", "u2", 10);
	message = next_of(other, BUS_ASSIGN);
	assert_non_null(message);
	raw_ping(other, 2, 5, message->head.version, 0);
	free(message);
	raw_hello(node, "a", "u1", 10);
	expect_refused(node, false, "another process has this name");
	assert_int_equal(router_peer_count(world->router), 1);
}

/* A member that finds no place has not come: shards would be kept for it, which nobody works on. */
static void test_too_many_connections(void **state)
{
	struct bus_hello hello = {.role = BUS_ROLE_BARRIER, .uuid = "u", .name = "b", .window = 1};
	const struct bus_head head = {
		.protocol = BUS_PROTOCOL, .type = BUS_HELLO, .sequence = 1, .session = 1, .epoch = 5};
	cleanup_buf struct buf body = {0};
	struct node *node;

	(void)state;
	world_start_watcher(world, 5);
	bus_hello_write(&body, &hello);
	for (uint32_t i = 0; i < ROUTER_PEERS_MAX; i++)
		router_receive(world->router, (const unsigned char *)&i, sizeof(i), &head, body.data, body.len);
	assert_int_equal(router_peer_count(world->router), ROUTER_PEERS_MAX);
	node = raw_node(0);
	raw_hello(node, "a", "u", 10);
	expect_refused(node, false, "too many connections");
	assert_int_equal(shard_table_size(router_shards(world->router)), 0);
	world->now_ms += 31000; /* the others say nothing: they are forgotten */
	router_tick(world->router);
	raw_hello(node, "a", "u", 10);
	assert_int_equal(shard_table_size(router_shards(world->router)), 1);
}

static unsigned lines;

static void count_line(char severity, const char *message)
{
	(void)severity;
	(void)message;
	lines++;
}

/* A peer cannot fill the log: of each kind of line it causes a few. Later ones are written when that has passed. */
static void test_log_lines(void **state)
{
	enum { TIMES = 1000, FEW = 10, MINUTE_MS = 60000 };
	const struct bus_hello hello = {.name = "b", .uuid = "u", .window = 1};
	cleanup_buf struct buf wrong = {0};
	cleanup_buf struct buf body = {0};
	struct node *node;

	(void)state;
	world_start_watcher(world, 5);
	node = raw_node(0);
	buf_puts(&wrong, "{}");
	log_set_sink(count_line);
	for (int i = 0; i < TIMES; i++)
		raw_send(node, BUS_HELLO, 1, 5, 0, &wrong);
	assert_in_range(lines, 1, FEW);
	raw_hello(node, "a", "u", 10);
	world->now_ms += MINUTE_MS;
	lines = 0;
	for (uint64_t i = 2; i < TIMES; i++)
		raw_send(node, BUS_PING, i, 5, 0, &wrong);
	assert_in_range(lines, 1, FEW);
	lines = 0;
	for (uint64_t i = TIMES; i < 2 * TIMES; i++)
		raw_send(node, BUS_BYE, i, 5, 0, NULL);
	assert_in_range(lines, 1, FEW);
	lines = 0;
	bus_hello_write(&body, &hello);
	node = raw_node(1);
	for (uint64_t i = 0; i < TIMES; i++)
		raw_send(node, BUS_HELLO, 1, 6 + i, 0, &body); /* refused, with another text each time */
	assert_in_range(lines, 1, FEW);
	log_set_sink(NULL);
}

static bool accept_x(void *arg, const char *name)
{
	(void)arg;
	return name[0] == 'x';
}

static void test_names_of_the_pool(void **state)
{
	const struct router_ports ports = {.send = router_port_send, .now_ms = world_now, .arg = world};
	const struct router_options options = {
		.shards = {.shard_count = 1, .lease_ms = 1000, .grace_ms = 1000}, .epoch = 1, .accept = accept_x};
	struct bus_refuse refuse;
	struct node *node;
	struct message *message;

	(void)state;
	world->router = router_new(&ports, &options);
	world->cache = cache_new(1, &world_listener, world);
	router_set_cache(world->router, world->cache);
	router_synced(world->router);
	node = raw_node(0);
	raw_hello(node, "y", "u", 10);
	message = next_of(node, BUS_REFUSE);
	assert_non_null(message);
	free(message);
	raw_hello(node, "x", "u", 10);
	message = next_of(node, BUS_ASSIGN);
	assert_non_null(message);
	free(message);
	/* a child of another version ends, so that its shards are not kept for it */
	router_receive(world->router, (const unsigned char *)node->id, strlen(node->id),
		       &(struct bus_head){.protocol = BUS_PROTOCOL + 1, .type = BUS_HELLO, .session = 2}, "?", 1);
	message = next_of(node, BUS_REFUSE);
	assert_non_null(message);
	assert_int_equal(bus_refuse_read(message->body, message->len, &refuse, NULL), 0);
	assert_true(refuse.final);
	free(message);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_credit),
		TEST(test_unread),
		TEST(test_unread_and_back),
		TEST(test_unread_and_dead),
		TEST(test_unread_and_silent),
		TEST(test_greets_too_often),
		TEST(test_hello_within_a_snapshot),
		TEST(test_relisted_within_a_snapshot),
		TEST(test_who),
		TEST(test_old_claims),
		TEST(test_claims_of_this_term),
		TEST(test_claims_of_another_cut),
		TEST(test_hostile_epochs),
		TEST(test_refusals),
		TEST(test_too_many_connections),
		TEST(test_log_lines),
		TEST(test_names_of_the_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
