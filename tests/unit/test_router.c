/* The protocol between the watcher's router and its peers, without sockets: joining, the latest state, and what a
 * cache that lists anew makes travel. What a peer may say is in test_router_raw, who holds which shard in
 * test_router_members. */
#include "tests/unit/router_world.h"

static void test_join(void **state)
{
	struct node *node;
	const struct view_object *object;
	const char *name = NULL;
	enum bus_role role = BUS_ROLE_BARRIER;

	(void)state;
	world_start_watcher(world, 5);
	world_present(world, KIND_FRAMEWORK, "", "fw", "f1");
	world_present(world, KIND_CONFIG_MAP, "fw", "fw-attempt", "c1");
	world_present(world, KIND_POD, "fw", "fw-worker-0", "p1");
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_run(world, 3000);
	/* the watcher has not seen everything yet: nothing may be concluded, so nothing is granted */
	assert_int_equal(node->grants, 0);
	assert_int_equal(router_counters(world->router)->hellos,
			 2); /* one WHO was asked; its PONGs say that it is there */
	assert_false(node->live);
	router_synced(world->router);
	router_set_live(world->router, true);
	world_settle(world);
	assert_int_equal(node->grants, 1);
	assert_false(router_peer_named(world->router, (const unsigned char *)"?", 1, &name, &role));
	assert_true(router_peer_named(world->router, (const unsigned char *)node->id, strlen(node->id), &name, &role));
	assert_string_equal(name, "pool-0");
	assert_int_equal(role, BUS_ROLE_RECONCILER);
	assert_int_equal(shard_set_count(&node->granted), WORLD_SHARDS);
	assert_int_equal(node->shown, 3);
	assert_int_equal(node->completes, 1);
	assert_memory_equal(&node->complete, &node->granted, sizeof(node->granted));
	assert_string_equal(node->last_end.scopes[0].resource_version[KIND_FRAMEWORK], "101");
	assert_string_equal(node->last_end.scopes[0].resource_version[KIND_CONFIG_MAP], "102");
	assert_string_equal(node->last_end.scopes[0].resource_version[KIND_POD], "103");
	object = view_find(node, KIND_POD, "ns/fw-worker-0");
	assert_non_null(object);
	/* objects travel with their Framework */
	assert_int_equal(object->shard, shard_of_key("ns", "fw", WORLD_SHARDS));
	assert_int_equal(view_find(node, KIND_FRAMEWORK, "ns/fw")->shard, object->shard);
	assert_int_equal(view_find(node, KIND_CONFIG_MAP, "ns/fw-attempt")->shard, object->shard);
	assert_int_equal(session_shard_count(node->peer), WORLD_SHARDS);
	assert_int_equal(session_epoch(node->peer), 5);
	assert_true(session_leased(node->peer)); /* within the same moment: the grant asks for a ping */
	world_run(world, 1000);
	assert_true(node->live);
}

static void test_updates(void **state)
{
	struct node *node;

	(void)state;
	world_start_synced(world);
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
	assert_int_equal(session_counters(node->peer)->sequence_gaps, 0);
}

/* A Pod that is out of the selector's sight without having been deleted has not gone for certain. */
static void test_label_removed(void **state)
{
	struct node *node;

	(void)state;
	world_start_synced(world);
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

/* A selector for the label matches an empty one, too: no event says that the object is out of sight. */
static void test_label_emptied(void **state)
{
	cleanup_json json_t *object = world_object(world, KIND_POD, "", "pod", "p1", false);
	struct node *node;
	struct error err;

	(void)state;
	world_start_synced(world);
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_present(world, KIND_POD, "fw", "pod", "p1");
	world_settle(world);
	assert_int_equal(present_object(world->cache, KIND_POD, object, &err), 0); /* of an older version: no news */
	json_decref(object);
	object = world_object(world, KIND_POD, "", "pod", "p1", false);
	assert_int_equal(present_object(world->cache, KIND_POD, object, &err), -1);
	assert_non_null(strstr(err.message, "FC_FRAMEWORK_NAME"));
	world_settle(world);
	assert_int_equal(node->absences, 1);
	assert_false(node->last_absent.deleting);
	assert_string_equal(node->last_absent.framework_name, "fw");
	assert_null(view_find(node, KIND_POD, "ns/pod"));
	assert_int_equal(cache_count(world->cache, KIND_POD), 0);
	/* and it comes back */
	world_present(world, KIND_POD, "fw", "pod", "p1");
	world_settle(world);
	assert_non_null(view_find(node, KIND_POD, "ns/pod"));
}

static void test_label_changed(void **state)
{
	struct node *node;
	const struct view_object *object;

	(void)state;
	world_start_synced(world);
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_present(world, KIND_POD, "fw", "pod", "p1");
	world_settle(world);
	world_present(world, KIND_POD, "other", "pod", "p1");
	world_settle(world);
	object = view_find(node, KIND_POD, "ns/pod");
	assert_int_equal(node->absences, 1);
	assert_string_equal(node->last_absent.framework_name, "fw");
	assert_false(node->last_absent.deleting);
	assert_int_equal(object->shard, shard_of_key("ns", "other", WORLD_SHARDS));
}

/* Large objects are told to be handled before half of the window is: what is on the way is bounded in bytes, too. */
static void test_large_objects(void **state)
{
	cleanup_free char *blank = mem_calloc(1, SESSION_CREDIT_BYTES / 2 + 1);
	struct node *node;
	uint64_t pings;

	(void)state;
	memset(blank, 'x', SESSION_CREDIT_BYTES / 2);
	world->in_flight_max = 2 * SESSION_CREDIT_BYTES;
	world_start_synced(world);
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_settle(world);
	pings = session_counters(node->peer)->pings;
	for (int i = 0; i < 12; i++) {
		cleanup_free char *name = mem_printf("fw%d", i);
		cleanup_json json_t *object = world_object(world, KIND_FRAMEWORK, "", name, "u", false);

		json_object_set_new(object, "spec", json_string(blank));
		assert_int_equal(present_object(world->cache, KIND_FRAMEWORK, object, NULL), 0);
	}
	world_settle(world); /* at one moment */
	assert_int_equal(node->shown, 12);
	assert_in_range(session_counters(node->peer)->pings - pings, 5, 7);
}

static void present_of(const char *framework, const char *uid)
{
	world_present(world, KIND_POD, framework, "a-b-c-0", uid);
}

/* Frameworks "a" and "a-b" can have Pods of one name, and anybody may edit the label: each of them hears that its Pod
 * is gone, though one peer looks after both and is told of everything at once. */
static void test_absences_of_two_frameworks(void **state)
{
	struct node *node;
	size_t heard_of[2] = {0};

	(void)state;
	world_start_synced(world);
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	present_of("a", "p1");
	world_settle(world);
	present_of("a-b", "p1");
	world_deleted(world, KIND_POD, "a-b", "a-b-c-0", "p1", true);
	present_of("a-b", "p2");
	world_deleted(world, KIND_POD, "a-b", "a-b-c-0", "p2", true);
	present_of("a", "p3");
	router_flush(world->router);
	while (world_deliver(world)) {
		if (node->absences == heard_of[0] + heard_of[1])
			continue;
		heard_of[strcmp(node->last_absent.framework_name, "a") != 0]++;
		assert_string_equal(node->last_absent.uid, heard_of[1] != 0 ? "" : "p1");
	}
	assert_int_equal(heard_of[0], 1);
	assert_int_equal(heard_of[1], 1); /* several of one Framework become one that names none */
	assert_string_equal(view_find(node, KIND_POD, "ns/a-b-c-0")->uid, "p3");
	assert_int_equal(router_backlog(world->router), 0);
}

/* An object that came and went before the peer could be told is told to be absent all the same: the peer may know it
 * from its own write. */
static void test_absent_of_the_unknown(void **state)
{
	struct node *node;

	(void)state;
	world_start_synced(world);
	node = world_start(world, 0, "pool-0", BUS_ROLE_RECONCILER);
	world_settle(world);
	world_present(world, KIND_POD, "fw", "pod", "p1");
	world_deleted(world, KIND_POD, "fw", "pod", "p1", true);
	world_settle(world);
	assert_int_equal(node->shown, 0);
	assert_int_equal(node->absences, 1);
	assert_string_equal(node->last_absent.uid, "p1");
	assert_int_equal(session_counters(node->peer)->malformed_objects, 0); /* nor was it told as something empty */
}

static void test_recreated_in_the_gap(void **state)
{
	struct node *node;

	(void)state;
	world_start_synced(world);
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
	/* the peer may know the next Framework already, which the end of the former one must not take away */
	world_present(world, KIND_FRAMEWORK, "fw", "fw", "f1");
	world_settle(world);
	world_present(world, KIND_FRAMEWORK, "fw", "fw", "f2");
	world_settle(world);
	assert_int_equal(node->absences, 3);
	assert_string_equal(view_find(node, KIND_FRAMEWORK, "ns/fw")->uid, "f2");
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
	world_start_synced(world);
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
	world_start_synced(world);
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
	world_start_synced(world);
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
	world_start_synced(world);
	assert_int_equal(present_object(world->cache, KIND_POD, object, &err), -1);
	assert_non_null(strstr(err.message, "FC_FRAMEWORK_NAME"));
	assert_int_equal(cache_count(world->cache, KIND_POD), 0);
	json_object_del(json_object_get(object, "metadata"), "uid");
	assert_int_equal(delete_object(world->cache, KIND_POD, object, &err), -1);
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
	world_start_synced(world);
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
	assert_true(session_leased(node->peer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_join),
		TEST(test_updates),
		TEST(test_large_objects),
		TEST(test_label_removed),
		TEST(test_label_emptied),
		TEST(test_label_changed),
		TEST(test_absences_of_two_frameworks),
		TEST(test_absent_of_the_unknown),
		TEST(test_recreated_in_the_gap),
		TEST(test_relist),
		TEST(test_relist_of_one_namespace),
		TEST(test_relisted),
		TEST(test_no_way_back),
		TEST(test_without_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
