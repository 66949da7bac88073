/* The protocol between the watcher's router and its peers, without sockets: joining, snapshots, credit, the latest
 * state, refusals, and what a cache that lists anew makes travel. Who holds which range is in test_router_members. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/bus_world.h"

static struct world *world;

static int set_up(void **state)
{
	(void)state;
	world = world_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	world_free(world);
	return 0;
}

static void start_synced(void)
{
	world_start_watcher(world, "leader-1", 5);
	router_synced(world->router);
	router_set_live(world->router, true);
}

static void test_join(void **state)
{
	struct node *node;
	const struct view_object *object;

	(void)state;
	world_start_watcher(world, "leader-1", 5);
	world_present(world, KIND_FRAMEWORK, "", "fw", "f1");
	world_present(world, KIND_CONFIG_MAP, "fw", "fw-attempt", "c1");
	world_present(world, KIND_POD, "fw", "fw-worker-0", "p1");
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_run(world, 3000);
	/* the watcher has not seen everything yet: nothing may be concluded, so nothing is granted */
	assert_int_equal(node->grants, 0);
	assert_int_equal(router_counters(world->router)->hellos, 1); /* its PONGs say that it is there */
	assert_false(node->live);
	router_synced(world->router);
	router_set_live(world->router, true);
	world_settle(world);
	assert_int_equal(node->grants, 1);
	assert_int_equal(range_set_count(&node->granted), WORLD_SHARDS);
	assert_int_equal(node->shown, 3);
	assert_int_equal(node->completes, 1);
	assert_memory_equal(&node->complete, &node->granted, sizeof(node->granted));
	assert_string_equal(node->last_end.scopes[0].resource_version[KIND_FRAMEWORK], "101");
	assert_string_equal(node->last_end.scopes[0].resource_version[KIND_CONFIG_MAP], "102");
	assert_string_equal(node->last_end.scopes[0].resource_version[KIND_POD], "103");
	object = view_find(node, KIND_POD, "ns/fw-worker-0");
	assert_non_null(object);
	/* objects travel with their Framework */
	assert_int_equal(object->range, range_of_key("ns", "fw", WORLD_SHARDS));
	assert_int_equal(view_find(node, KIND_FRAMEWORK, "ns/fw")->range, object->range);
	assert_int_equal(view_find(node, KIND_CONFIG_MAP, "ns/fw-attempt")->range, object->range);
	assert_int_equal(peer_shards(node->peer), WORLD_SHARDS);
	assert_int_equal(peer_epoch(node->peer), 5);
	assert_true(peer_leased(node->peer)); /* within the same moment: the grant asks for a ping */
	world_run(world, 1000);
	assert_true(node->live);
}

static void test_updates(void **state)
{
	struct node *node;

	(void)state;
	start_synced();
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_settle(world);
	world_present(world, KIND_FRAMEWORK, "", "fw", "f1");
	world_settle(world);
	assert_string_equal(view_find(node, KIND_FRAMEWORK, "ns/fw")->version, "101");
	world_present(world, KIND_FRAMEWORK, "", "fw", "f1");
	world_settle(world);
	assert_string_equal(view_find(node, KIND_FRAMEWORK, "ns/fw")->version, "102");
	world_deleted(world, KIND_FRAMEWORK, "", "fw", "f1", false);
	world_settle(world);
	assert_null(view_find(node, KIND_FRAMEWORK, "ns/fw"));
	assert_true(node->last_absent.deleting); /* no selector on Frameworks: gone is gone */
	assert_string_equal(node->last_absent.resource_version, "103");
	assert_int_equal(node->shown, 2);
	assert_int_equal(router_backlog(world->router), 0);
	assert_int_equal(peer_counters(node->peer)->sequence_gaps, 0);
}

/* A Pod that is out of the selector's sight without having been deleted has not gone for certain. */
static void test_label_removed(void **state)
{
	struct node *node;

	(void)state;
	start_synced();
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_present(world, KIND_POD, "fw", "pod", "p1");
	world_settle(world);
	world_deleted(world, KIND_POD, "fw", "pod", "p1", false);
	world_settle(world);
	assert_int_equal(node->absences, 1);
	assert_false(node->last_absent.deleting);
	world_present(world, KIND_POD, "fw", "pod", "p1");
	world_deleted(world, KIND_POD, "fw", "pod", "p1", true);
	world_settle(world);
	assert_int_equal(node->absences, 2);
	assert_true(node->last_absent.deleting);
	assert_string_equal(node->last_absent.uid, "p1");
	assert_string_equal(node->last_absent.framework_name, "fw");
}

static void test_label_changed(void **state)
{
	struct node *node;
	const struct view_object *object;

	(void)state;
	start_synced();
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_present(world, KIND_POD, "fw", "pod", "p1");
	world_settle(world);
	world_present(world, KIND_POD, "other", "pod", "p1");
	world_settle(world);
	object = view_find(node, KIND_POD, "ns/pod");
	assert_int_equal(node->absences, 1);
	assert_string_equal(node->last_absent.framework_name, "fw");
	assert_false(node->last_absent.deleting);
	assert_int_equal(object->range, range_of_key("ns", "other", WORLD_SHARDS));
}

/* An object that came and went before the peer could be told is told to be absent all the same: the peer may know it
 * from its own write. */
static void test_absent_of_the_unknown(void **state)
{
	struct node *node;

	(void)state;
	start_synced();
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_settle(world);
	world_present(world, KIND_POD, "fw", "pod", "p1");
	world_deleted(world, KIND_POD, "fw", "pod", "p1", true);
	world_settle(world);
	assert_int_equal(node->shown, 0);
	assert_int_equal(node->absences, 1);
	assert_string_equal(node->last_absent.uid, "p1");
	assert_int_equal(peer_counters(node->peer)->malformed_objects, 0); /* nor was it told as something empty */
}

static void test_recreated_in_the_gap(void **state)
{
	struct node *node;

	(void)state;
	start_synced();
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_present(world, KIND_POD, "fw", "pod", "p1");
	world_settle(world);
	world_deleted(world, KIND_POD, "fw", "pod", "p1", true);
	world_present(world, KIND_POD, "fw", "pod", "p2");
	world_settle(world);
	assert_int_equal(node->absences, 1);
	assert_string_equal(node->last_absent.uid, "p1");
	assert_string_equal(view_find(node, KIND_POD, "ns/pod")->uid, "p2");
	/* two of them in one gap: none of any uid existed at the last deletion */
	world_deleted(world, KIND_POD, "fw", "pod", "p2", true);
	world_present(world, KIND_POD, "fw", "pod", "p3");
	world_deleted(world, KIND_POD, "fw", "pod", "p3", true);
	world_present(world, KIND_POD, "fw", "pod", "p4");
	world_settle(world);
	assert_int_equal(node->absences, 2);
	assert_string_equal(node->last_absent.uid, "");
	assert_string_equal(view_find(node, KIND_POD, "ns/pod")->uid, "p4");
	/* a uid that changed without a deletion having been seen */
	world_present(world, KIND_POD, "fw", "pod", "p5");
	world_settle(world);
	assert_int_equal(node->absences, 3);
	assert_string_equal(node->last_absent.uid, "p4");
	assert_true(node->last_absent.deleting);
	assert_string_equal(view_find(node, KIND_POD, "ns/pod")->uid, "p5");
}

/* ---- a peer of few words ---------------------------------------------------------------------------------------- */

enum { RAW_MINOR = 7 };

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
	const struct bus_head head = {.major = BUS_VERSION_MAJOR,
				      .minor = RAW_MINOR,
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
	struct bus_hello hello = {.role = BUS_ROLE_RECONCILER, .window = window};
	cleanup_buf struct buf body = {0};

	snprintf(hello.name, sizeof(hello.name), "%s", name);
	snprintf(hello.uuid, sizeof(hello.uuid), "%s", uuid);
	bus_hello_write(&body, &hello);
	raw_send(node, BUS_HELLO, 1, 0, 0, &body);
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
		if (message->head.type == type) {
			assert_int_equal(message->head.minor, RAW_MINOR);
			return message;
		}
		free(message);
	}
	return NULL;
}

static size_t count_of(const struct node *node, enum bus_type type)
{
	size_t count = 0;

	for (const struct message *message = node->down.first; message != NULL; message = message->next)
		if (message->head.type == type)
			count++;
	return count;
}

/* Frameworks, so that a small window cuts their snapshot. */
static void start_with_five(void)
{
	char name[24];

	start_synced();
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

static void test_who(void **state)
{
	struct node *node;
	struct message *message;

	(void)state;
	start_synced();
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
	/* another leader, of epoch 6, has it since: this one has to learn that from a HELLO */
	raw_hello(node, "a", "u", 10);
	queue_empty(&node->down);
	raw_ping(node, 2, 6, 1, 0);
	message = next_of(node, BUS_WHO);
	assert_non_null(message);
	free(message);
	assert_int_equal(router_counters(world->router)->sequence_gaps, 1);
}

static void raw_claims(struct node *node, const struct bus_hello *hello)
{
	cleanup_buf struct buf body = {0};

	bus_hello_write(&body, hello);
	raw_send(node, BUS_HELLO, 1, 0, 0, &body);
}

/* What a HELLO claims counts only when it was said after this leader asked: it may have been on its way for longer than
 * a lease. */
static void test_old_claims(void **state)
{
	struct bus_hello hello = {
		.name = "a", .uuid = "u", .nonce = "leader-0", .asked = "leader-0", .asked_told = true, .window = 10};
	struct node *node;

	(void)state;
	start_synced();
	node = raw_node(0);
	for (int i = 0; i < 2; i++) {
		struct message *message;
		struct bus_who who;

		hello.held = (struct range_set){0};
		range_set_add(i == 0 ? &hello.held : &hello.lapsed, 3);
		raw_claims(node, &hello);
		assert_int_equal(router_peer_count(world->router), 0);
		message = next_of(node, BUS_WHO);
		assert_non_null(message);
		assert_int_equal(bus_who_read(message->body, message->len, &who, NULL), 0);
		assert_string_equal(who.nonce, "leader-1");
		free(message);
	}
	hello.held = hello.lapsed;
	hello.lapsed = (struct range_set){0};
	strcpy(hello.asked, "leader-1");
	raw_claims(node, &hello);
	assert_string_equal(shard_table_holder(router_shards(world->router), 3), "a");
}

/* Where there was no Lease, a claim says that somebody leads, or has led just now: it may go on renewing the claim, so
 * that all ranges wait until nobody can. */
static void test_claims_without_a_lease(void **state)
{
	struct bus_hello hello = {
		.name = "a", .uuid = "u", .nonce = "leader-0", .asked = "leader-1", .asked_told = true, .window = 10};
	struct node *node;
	struct message *message;

	(void)state;
	world->unknown_ms = 30000;
	world_start_watcher(world, "leader-1", 5);
	node = raw_node(0);
	range_set_add(&hello.held, 3);
	raw_claims(node, &hello);
	assert_false(router_synced(world->router));
	world->now_ms += 29999;
	raw_claims(node, &hello);
	assert_null(shard_table_holder(router_shards(world->router), 3));
	world->now_ms += 1;
	router_tick(world->router);
	message = next_of(node, BUS_ASSIGN);
	assert_non_null(message);
	free(message);
	assert_string_equal(shard_table_holder(router_shards(world->router), 3), "a");
}

/* Nobody waits for an answer that cannot come: peers of an older minor version do not know what they are asked, and
 * without claims there is nothing to ask. */
static void test_claims_unasked(void **state)
{
	struct bus_hello hello = {.name = "a", .uuid = "u", .nonce = "leader-0", .asked_told = true, .window = 10};
	struct node *node;

	(void)state;
	start_synced();
	node = raw_node(0);
	raw_claims(node, &hello);
	assert_int_equal(router_peer_count(world->router), 1);
	hello.asked_told = false;
	range_set_add(&hello.held, 3);
	raw_claims(raw_node(1), &hello);
	assert_int_equal(router_counters(world->router)->whos, 0);
}

static void test_refusals(void **state)
{
	struct node *node;
	struct node *other;
	struct message *message;
	struct bus_head alien = {.major = BUS_VERSION_MAJOR + 1, .minor = RAW_MINOR, .type = BUS_HELLO, .session = 1};
	struct bus_refuse refuse;
	cleanup_buf struct buf junk = {0};

	(void)state;
	start_synced();
	node = raw_node(0);
	other = raw_node(1);
	router_receive(world->router, (const unsigned char *)node->id, strlen(node->id), &alien, "?", 1);
	message = next_of(node, BUS_REFUSE);
	assert_non_null(message);
	assert_int_equal(bus_refuse_read(message->body, message->len, &refuse, NULL), 0);
	assert_true(refuse.final);
	assert_non_null(strstr(refuse.reason, "version"));
	free(message);

	buf_puts(&junk, "{}");
	raw_send(node, BUS_HELLO, 1, 0, 0, &junk);
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
	free(message);
	raw_hello(node, "a", "u1", 10);
	message = next_of(node, BUS_REFUSE);
	assert_int_equal(bus_refuse_read(message->body, message->len, &refuse, NULL), 0);
	assert_true(refuse.final); /* replaced */
	free(message);
	assert_int_equal(router_peer_count(world->router), 1);
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
		.shards = {.shards = 1, .lease_ms = 1000, .grace_ms = 1000}, .epoch = 1, .accept = accept_x};
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
}

/* ---- relists ---------------------------------------------------------------------------------------------------- */

static void expect_pod_version(const char *version)
{
	struct bus_snapshot_end end = {0};

	cache_put_scopes(world->cache, &end);
	assert_int_equal(end.scope_count, 1);
	assert_string_equal(end.scopes[0].resource_version[KIND_POD], version);
	bus_snapshot_end_free(&end);
}

static void test_relist(void **state)
{
	struct node *a;

	(void)state;
	start_synced();
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_present(world, KIND_POD, "fw", "kept", "p1");   /* 101 */
	world_present(world, KIND_POD, "fw", "gone", "p2");   /* 102 */
	world_present(world, KIND_POD, "fw", "newer", "p3");  /* 103 */
	world_present(world, KIND_POD, "fw", "broken", "p4"); /* 104 */
	world_settle(world);
	a->shown = 0;
	cache_list_begin(world->cache, "", KIND_POD);
	world->version = 100;
	world_present(world, KIND_POD, "fw", "kept", "p1"); /* the same state once more: does not travel */
	expect_pod_version("104");
	cache_unreadable(world->cache, KIND_POD, "ns", "broken");
	cache_list_end(world->cache, "", KIND_POD, "102"); /* a list that lags behind */
	world_settle(world);
	assert_int_equal(a->shown, 0);
	assert_non_null(view_find(a, KIND_POD, "ns/kept"));
	assert_null(view_find(a, KIND_POD, "ns/gone"));
	assert_non_null(view_find(a, KIND_POD, "ns/newer"));  /* the list is older than it is */
	assert_non_null(view_find(a, KIND_POD, "ns/broken")); /* it is there, only unreadable */
	assert_int_equal(a->absences, 1);
	assert_string_equal(a->last_absent.resource_version, "102");
	assert_false(a->last_absent.deleting);
	expect_pod_version("102");
	assert_int_equal(cache_count(world->cache, KIND_POD), 3);
}

/* A namespace that is watched by itself: its list says nothing of others, and each is as new as it is. */
static void test_relist_of_one_namespace(void **state)
{
	struct node *a;

	(void)state;
	start_synced();
	cache_list_end(world->cache, "other", KIND_POD, "900");
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_present(world, KIND_POD, "fw", "kept", "p1"); /* 101, in ns */
	cache_progress(world->cache, "other", KIND_POD, "901");
	cache_list_begin(world->cache, "other", KIND_POD);
	cache_list_end(world->cache, "other", KIND_POD, "902");
	world_settle(world);
	assert_int_equal(a->absences, 0);
	assert_non_null(view_find(a, KIND_POD, "ns/kept"));
	assert_int_equal(a->last_end.scope_count, 2);
	assert_string_equal(a->last_end.scopes[0].resource_version[KIND_POD], "101");
	assert_string_equal(a->last_end.scopes[1].ns, "other");
	assert_string_equal(a->last_end.scopes[1].resource_version[KIND_POD], "902");
}

/* A state that is older than the one known does not travel. */
static void test_no_way_back(void **state)
{
	struct node *a;

	(void)state;
	start_synced();
	a = world_start(world, 0, "a", BUS_ROLE_RECONCILER);
	world_present(world, KIND_FRAMEWORK, "", "fw", "f");
	world_settle(world);
	world->version = 50;
	world_present(world, KIND_FRAMEWORK, "", "fw", "f");
	world_settle(world);
	assert_int_equal(a->shown, 1);
	assert_string_equal(view_find(a, KIND_FRAMEWORK, "ns/fw")->version, "101");
}

static void test_without_label(void **state)
{
	cleanup_json json_t *object = json_pack("{s:{s:s,s:s}}", "metadata", "name", "a", "uid", "u");
	struct error err;

	(void)state;
	start_synced();
	assert_int_equal(cache_present(world->cache, KIND_POD, object, &err), -1);
	assert_non_null(strstr(err.message, "FC_FRAMEWORK_NAME"));
	assert_int_equal(cache_count(world->cache, KIND_POD), 0);
	json_object_del(json_object_get(object, "metadata"), "uid");
	assert_int_equal(cache_deleted(world->cache, KIND_POD, object, &err), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* After a relist all is shown again, under the same assignment and the same leases: what the members know from their
 * own writes alone, and the list did not show, they find to be gone. */
static void test_relisted(void **state)
{
	struct node *node;
	size_t shown;
	size_t completes;

	(void)state;
	start_synced();
	world_present(world, KIND_FRAMEWORK, "", "fw", "f1");
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_run(world, 3000);
	shown = node->shown;
	completes = node->completes;
	router_relisted(world->router);
	world_settle(world);
	assert_int_equal(node->shown, shown + 1);
	assert_int_equal(node->completes, completes + 1);
	assert_memory_equal(&node->complete, &node->granted, sizeof(node->granted));
	assert_int_equal(node->revokes, 0);
	assert_true(peer_leased(node->peer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_join),
		TEST(test_updates),
		TEST(test_label_removed),
		TEST(test_label_changed),
		TEST(test_absent_of_the_unknown),
		TEST(test_recreated_in_the_gap),
		TEST(test_credit),
		TEST(test_hello_within_a_snapshot),
		TEST(test_relisted_within_a_snapshot),
		TEST(test_who),
		TEST(test_old_claims),
		TEST(test_claims_unasked),
		TEST(test_claims_without_a_lease),
		TEST(test_refusals),
		TEST(test_names_of_the_pool),
		TEST(test_relist),
		TEST(test_relist_of_one_namespace),
		TEST(test_relisted),
		TEST(test_no_way_back),
		TEST(test_without_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
