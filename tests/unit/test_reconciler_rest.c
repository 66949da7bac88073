/* Frameworks to which nothing happens are folded, and news unfold them. */
#include "reconciler/sync/fold.h"
#include "tests/unit/reconciler_world.h"

enum { REST = 500 };

#define STATUS                                                                                                         \
	"{\"state\":\"AttemptRunning\",\"retryPolicyStatus\":{\"totalRetriedCount\":0,\"accountableRetriedCount\":0,"  \
	"\"retryDelaySec\":null},\"observedGeneration\":1,\"startTime\":\"2026-01-01T00:00:00Z\",\"transitionTime\":"  \
	"\"2026-01-01T00:00:00Z\",\"attemptStatus\":{\"id\":0,\"startTime\":\"2026-01-01T00:00:00Z\",\"instanceUID\":" \
	"\"0_c1\",\"configMapName\":\"f-attempt\",\"configMapUID\":\"c1\",\"taskRoleStatuses\":[{\"name\":\"a\","      \
	"\"instanceUID\":\"r1\",\"taskStatuses\":[{\"index\":0,\"instanceUID\":\"t1\",\"state\":\"AttemptRunning\","   \
	"\"startTime\":\"2026-01-01T00:00:00Z\",\"transitionTime\":\"2026-01-01T00:00:00Z\",\"deletionPending\":"      \
	"false,"                                                                                                       \
	"\"retryPolicyStatus\":{\"totalRetriedCount\":0,\"accountableRetriedCount\":0,\"retryDelaySec\":null},"        \
	"\"attemptStatus\":{\"id\":0,\"instanceUID\":\"0_p1\",\"podName\":\"%s-a-0\",\"podUID\":\"p1\","               \
	"\"startTime\":\"2026-01-01T00:00:00Z\"}}]}]}}"

static void show(struct world *world, enum object_kind kind, char *text)
{
	assert_true(store_text(&world->reconciler, kind, SHARD, text, strlen(text)));
	free(text);
}

static void show_pod(struct world *world, const char *framework, int version, const char *phase)
{
	show(world, KIND_POD,
	     mem_printf(
		     "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s-a-0\",\"uid\":\"p1\",\"resourceVersion\":"
		     "\"%d\",\"ownerReferences\":[{\"controller\":true,\"kind\":\"ConfigMap\",\"name\":\"%s-attempt\","
		     "\"uid\":\"c1\"}],\"labels\":{\"FC_FRAMEWORK_NAME\":\"%s\"},\"annotations\":{\"FC_TASK_UID\":"
		     "\"t1\",\"FC_FRAMEWORK_ATTEMPT_INSTANCE_UID\":\"0_c1\",\"FC_TASK_ATTEMPT_ID\":\"0\"}},"
		     "\"status\":{\"phase\":\"%s\"}}",
		     framework, version, framework, framework, phase));
}

static void show_all(struct world *world, const char *framework)
{
	cleanup_free char *status = mem_printf(STATUS, framework);

	show_pod(world, framework, 5, "Running");
	show(world, KIND_CONFIG_MAP,
	     mem_printf(
		     "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s-attempt\",\"uid\":\"c1\",\"resourceVersion\":"
		     "\"4\",\"ownerReferences\":[{\"controller\":true,\"kind\":\"Framework\",\"name\":\"%s\",\"uid\":"
		     "\"u1\"}],\"labels\":{\"FC_FRAMEWORK_NAME\":\"%s\"},\"annotations\":{\"FC_FRAMEWORK_UID\":\"u1\","
		     "\"FC_FRAMEWORK_ATTEMPT_ID\":\"0\"}}}",
		     framework, framework, framework));
	show(world, KIND_FRAMEWORK,
	     mem_printf("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"u1\",\"resourceVersion\":\"7\","
			"\"generation\":1},\"spec\":{\"executionType\":\"Start\",\"taskRoles\":[{\"name\":\"a\","
			"\"taskNumber\":1,\"task\":{\"pod\":{\"spec\":{\"containers\":[]}}}}]},\"status\":%s}",
			framework, status));
}

/* Of a snapshot at this version; valid until the next one. */
static struct bus_snapshot_end snapshot_end(const char *version)
{
	static struct bus_scope scope;
	struct bus_snapshot_end end = {.scopes = &scope, .scope_count = 1};

	scope = (struct bus_scope){.ns = (char *)"",
				   .resource_version = {(char *)version, (char *)version, (char *)version}};
	shard_set_add(&end.shards, SHARD);
	return end;
}

/* Two Frameworks that run, in a snapshot. */
static struct item *snapshot(struct world *world, struct item **other)
{
	const struct bus_snapshot_end end = snapshot_end("8");
	struct item *item;

	world->reconciler.rest_ms = REST;
	world->lease_ms = 100000;
	store_granted(&world->reconciler, &end.shards);
	show_all(world, "f");
	HASH_FIND_STR(world->reconciler.items, "ns/f", item);
	assert_null(item->folded);
	show_all(world, "g");
	HASH_FIND_STR(world->reconciler.items, "ns/g", *other);
	assert_non_null(item->folded); /* another one's turn */
	assert_null((*other)->folded);
	store_complete(&world->reconciler, &end);
	assert_non_null(item->folded);
	return item;
}

static void folds_and_unfolds(void **state)
{
	struct world *world = *state;
	struct item *other;
	struct item *item = snapshot(world, &other);

	run_all(world); /* the status lacks its conditions */
	assert_null(item->folded);
	while (world->call_count > 0)
		world_answer(world, 0, 200, "{\"metadata\":{\"resourceVersion\":\"8\"}}");
	run_all(world);
	world->now_ms += REST - 1;
	run_all(world);
	assert_null(item->folded);
	assert_null(other->folded);
	world->now_ms++;
	run_all(world);
	assert_non_null(item->folded);
	assert_non_null(other->folded);
	assert_null(world->reconciler.resting);

	queue_add(item);
	run_all(world);
	assert_non_null(item->folded); /* it was only looked at */
	assert_null(world->reconciler.resting);

	show_pod(world, "f", 5, "Running"); /* old news */
	assert_null(item->folded);
	world->now_ms += REST;
	run_all(world);
	assert_non_null(item->folded);

	show_pod(world, "f", 9, "Failed");
	run_all(world);
	assert_int_equal(item->framework->status.attempt.roles[0].tasks[0].state, STATE_DELETION_PENDING);
	world->now_ms += REST;
	run_all(world);
	assert_null(item->folded); /* its status is being written */
	assert_true(item->writing);
}

/* A new snapshot that lacks a folded Framework's Pod. */
static void snapshot_anew(void **state)
{
	struct bus_snapshot_end end;
	struct world *world = *state;
	struct item *other;
	struct item *item = snapshot(world, &other);

	run_all(world);
	end = snapshot_end("9");
	store_granted(&world->reconciler, &end.shards);
	show_all(world, "g");
	assert_null(item->folded);
	store_complete(&world->reconciler, &end);
	assert_null(item->framework->slots->meta);
	assert_false(item->framework->exists);
	assert_true(other->framework->exists);
}

static struct item *find(struct world *world, const char *key)
{
	struct item *item;

	HASH_FIND_STR(world->reconciler.items, key, item);
	return item;
}

/* A new snapshot of folded Frameworks unfolds one at a time; one that it does not show is gone. */
static void snapshot_of_folded(void **state)
{
	struct bus_snapshot_end end;
	struct world *world = *state;
	struct item *other;
	struct item *item = snapshot(world, &other);

	run_all(world);
	while (world->call_count > 0)
		world_answer(world, 0, 200, "{\"metadata\":{\"resourceVersion\":\"8\"}}");
	run_all(world);
	world->now_ms += REST;
	run_all(world);
	end = snapshot_end("9");
	store_granted(&world->reconciler, &end.shards);
	assert_non_null(item->folded);
	show_all(world, "f");
	assert_null(item->folded);
	assert_true(item->framework->exists);
	assert_non_null(other->folded);
	show_all(world, "g");
	assert_non_null(item->folded);
	store_complete(&world->reconciler, &end);
	assert_non_null(item->folded);
	run_all(world);
	assert_non_null(item->folded); /* it was only looked at */
	assert_int_equal(item_framework(item)->fence, FENCE_RENEWED);

	world->now_ms += REST;
	run_all(world);
	queue_add(item);
	run_all(world);
	store_granted(&world->reconciler, &end.shards);
	show_all(world, "g");
	store_complete(&world->reconciler, &end);
	assert_null(find(world, "ns/f"));
	assert_non_null(find(world, "ns/g"));
	assert_true(item_framework(find(world, "ns/g"))->exists);
}

/* The shard goes to another member. */
static void revoked(void **state)
{
	struct world *world = *state;
	struct shard_set shards = {0};
	struct item *other;

	snapshot(world, &other);
	run_all(world);
	shard_set_add(&shards, SHARD);
	store_revoked(&world->reconciler, &shards);
	assert_null(world->reconciler.items);
	assert_null(world->reconciler.resting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(folds_and_unfolds, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(snapshot_anew, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(snapshot_of_folded, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(revoked, world_set_up, world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
