/* The bus protocol under random weather: processes die and come back, connections are cut, messages wait or are lost,
 * the watcher is replaced. After every step no shard has two processes with a lease; once the weather is fair every
 * shard has one, and every process sees of its shards exactly what the cluster has. FC_SEED replays one run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/base/random.h"
#include "tests/unit/bus_world.h"

/* Slots past MEMBERS are further processes with the names of the first ones. */
enum { SEEDS = 60, STEPS = 1500, MEMBERS = 4, PROCESSES = 6, FRAMEWORKS = 40 };

struct run {
	struct world *world;
	struct random random;
	uint64_t seed;
	int leader;
	bool exists[FRAMEWORKS];
	int incarnation[FRAMEWORKS];
	int64_t stopped_until_ms[PROCESSES]; /* a process that stands still */
	bool synced;
};

static int64_t pick(struct run *run, int64_t low, int64_t high)
{
	return random_between(&run->random, low, high);
}

static void check_leases(const struct run *run)
{
	for (uint32_t r = 0; r < WORLD_SHARDS; r++) {
		int holder = -1;

		for (int i = 0; i < PROCESSES; i++) {
			const struct node *node = &run->world->nodes[i];

			if (node->peer == NULL || session_lease_left_ms(node->peer, r) <= 0)
				continue;
			if (holder >= 0)
				fail_msg("seed %llu: shard %u has two holders, %d and %d, at %lld ms",
					 (unsigned long long)run->seed, r, holder, i, (long long)run->world->now_ms);
			holder = i;
		}
	}
}

/* ---- what happens ----------------------------------------------------------------------------------------------- */

static void change_cluster(struct run *run)
{
	int i = (int)pick(run, 0, FRAMEWORKS - 1);
	char name[24];
	char uid[32];

	if (run->world->router == NULL)
		return;
	snprintf(name, sizeof(name), "fw%d", i);
	snprintf(uid, sizeof(uid), "u%d-%d", i, run->incarnation[i]);
	if (run->exists[i] && pick(run, 0, 3) == 0) {
		world_deleted(run->world, KIND_FRAMEWORK, "", name, uid, true);
		run->exists[i] = false;
		run->incarnation[i]++;
	} else {
		world_present(run->world, KIND_FRAMEWORK, "", name, uid);
		run->exists[i] = true;
	}
}

static void start_watcher(struct run *run)
{
	char name[24];
	char uid[32];

	run->world->blocked_ms = run->leader == 1 ? 0 : WORLD_LEASE + WORLD_MARGIN;
	world_start_watcher(run->world, (uint64_t)pick(run, 1, 10));
	for (int i = 0; i < FRAMEWORKS; i++) {
		if (!run->exists[i])
			continue;
		snprintf(name, sizeof(name), "fw%d", i);
		snprintf(uid, sizeof(uid), "u%d-%d", i, run->incarnation[i]);
		world_present(run->world, KIND_FRAMEWORK, "", name, uid);
	}
	run->synced = false;
}

static void start_member(struct run *run, int slot)
{
	char name[24];

	snprintf(name, sizeof(name), "m%d", slot % MEMBERS);
	world_start(run->world, slot, name, BUS_ROLE_RECONCILER);
	run->stopped_until_ms[slot] = 0;
}

static void delay(struct run *run, struct queue *queue)
{
	int64_t until_ms = run->world->now_ms + pick(run, 1, 12000);

	for (struct message *message = queue->first; message != NULL; message = message->next)
		if (message->due_ms < until_ms)
			message->due_ms = until_ms; /* order is kept, as on one connection */
}

static void lose(struct queue *queue)
{
	struct message *message = queue_take(queue);

	free(message);
}

static void trouble(struct run *run)
{
	int slot = (int)pick(run, 0, PROCESSES - 1);
	struct node *node = &run->world->nodes[slot];

	switch (pick(run, 0, 13)) {
	case 0:
		if (node->peer != NULL)
			world_kill(run->world, slot);
		break;
	case 1:
	case 2:
		if (node->peer == NULL)
			start_member(run, slot);
		break;
	case 3: world_disconnect(node); break;
	case 4:
	case 5:
		if (node->peer != NULL && !node->connected)
			world_connect(node);
		break;
	case 6: delay(run, &node->up); break;
	case 7: delay(run, &node->down); break;
	case 8: lose(&node->down); break;
	case 9: lose(&node->up); break;
	case 10:
		if (node->peer != NULL)
			run->stopped_until_ms[slot] = run->world->now_ms + pick(run, 1, 25000);
		break;
	case 11:
		if (run->world->router != NULL && pick(run, 0, 4) == 0)
			world_stop_watcher(run->world);
		break;
	case 12:
		if (node->peer != NULL && pick(run, 0, 4) == 0) {
			for (uint32_t r = 0; r < WORLD_SHARDS; r++)
				if (pick(run, 0, 3) == 0)
					shard_set_add(&node->draining, r);
			if (pick(run, 0, 3) == 0)
				session_leave(node->peer);
		}
		break;
	default: node->draining = (struct shard_set){0}; break;
	}
}

static void reap(struct run *run)
{
	for (int i = 0; i < PROCESSES; i++) {
		struct node *node = &run->world->nodes[i];

		if (node->peer != NULL && (session_gone(node->peer) || node->refused_for_good))
			world_kill(run->world, i);
	}
}

/* One message or one tick of one process, chosen at random. */
static void act(struct run *run)
{
	struct world *world = run->world;
	int slot = (int)pick(run, 0, PROCESSES - 1);
	struct node *node = &world->nodes[slot];
	bool runs = node->peer != NULL && run->stopped_until_ms[slot] <= world->now_ms;
	struct message *message;

	switch (pick(run, 0, 3)) {
	case 0:
		if (world->router == NULL || node->up.first == NULL || node->up.first->due_ms > world->now_ms)
			break;
		message = queue_take(&node->up);
		router_receive(world->router, (const unsigned char *)message->from, strlen(message->from),
			       &message->head, message->body, message->len);
		free(message);
		break;
	case 1:
		if (!runs || node->down.first == NULL || node->down.first->due_ms > world->now_ms)
			break;
		message = queue_take(&node->down);
		session_receive(node->peer, 0, &message->head, message->body, message->len);
		free(message);
		break;
	case 2:
		if (runs)
			session_tick(node->peer);
		break;
	default:
		if (world->router == NULL)
			break;
		router_tick(world->router);
		router_flush(world->router);
		break;
	}
}

/* ---- what must hold at the end ---------------------------------------------------------------------------------- */

static void check_views(const struct run *run)
{
	size_t expected = 0;
	size_t seen = 0;
	char key[32];
	char uid[32];

	for (int i = 0; i < MEMBERS; i++)
		seen += view_count(&run->world->nodes[i]);
	for (int i = 0; i < FRAMEWORKS; i++) {
		uint32_t shard;
		const struct view_object *object = NULL;

		snprintf(key, sizeof(key), "fw%d", i);
		shard = shard_of_key("ns", key, WORLD_SHARDS);
		snprintf(key, sizeof(key), "ns/fw%d", i);
		snprintf(uid, sizeof(uid), "u%d-%d", i, run->incarnation[i]);
		expected += run->exists[i] ? 1 : 0;
		for (int m = 0; m < MEMBERS; m++) {
			const struct node *node = &run->world->nodes[m];

			if (shard_set_has(&node->granted, shard))
				object = view_find(node, KIND_FRAMEWORK, key);
		}
		if (run->exists[i] != (object != NULL) || (object != NULL && strcmp(object->uid, uid) != 0))
			fail_msg("seed %llu: fw%d %s, its owner sees %s", (unsigned long long)run->seed, i,
				 run->exists[i] ? uid : "is gone", object == NULL ? "nothing" : object->uid);
	}
	if (seen != expected)
		fail_msg("seed %llu: %zu objects are seen of %zu", (unsigned long long)run->seed, seen, expected);
}

static void check_calm(struct run *run)
{
	struct world *world = run->world;
	uint32_t total = 0;

	if (world->router == NULL)
		start_watcher(run);
	router_synced(world->router);
	for (int i = MEMBERS; i < PROCESSES; i++)
		world_kill(world, i);
	for (int i = 0; i < MEMBERS; i++) {
		struct node *node = &world->nodes[i];

		run->stopped_until_ms[i] = 0;
		if (node->peer == NULL)
			start_member(run, i);
		else if (!node->connected)
			world_connect(node);
		node->draining = (struct shard_set){0};
	}
	for (int i = 0; i < 400; i++) {
		world_run(world, 250);
		reap(run);
		for (int m = 0; m < MEMBERS; m++)
			if (world->nodes[m].peer == NULL)
				start_member(run, m);
		check_leases(run);
	}
	for (int i = 0; i < MEMBERS; i++) {
		const struct node *node = &world->nodes[i];

		for (uint32_t r = 0; r < WORLD_SHARDS; r++)
			total += session_lease_left_ms(node->peer, r) > 0 ? 1 : 0;
		assert_int_equal(session_counters(node->peer)->malformed_objects, 0);
		if (shard_set_count(&node->granted) != WORLD_SHARDS / MEMBERS ||
		    memcmp(&node->complete, &node->granted, sizeof(node->granted)) != 0)
			fail_msg("seed %llu: m%d holds %u shards, %u of them complete", (unsigned long long)run->seed,
				 i, shard_set_count(&node->granted), shard_set_count(&node->complete));
	}
	assert_int_equal(total, WORLD_SHARDS);
	check_views(run);
	assert_int_equal(router_backlog(world->router), 0);
}

static void run_seed(uint64_t seed)
{
	struct run run = {.seed = seed, .world = world_new()};
	int64_t trouble_odds;
	int64_t pace_ms;

	random_init_seed(&run.random, seed);
	/* a grace shorter than the lease leaves the safety to the leases alone */
	run.world->grace_ms = seed % 3 == 0 ? WORLD_GRACE : pick(&run, 0, 3000);
	trouble_odds = pick(&run, 2, 30);
	pace_ms = pick(&run, 100, 3000);
	start_watcher(&run);
	for (int i = 0; i < MEMBERS; i++)
		start_member(&run, i);
	for (int step = 0; step < STEPS; step++) {
		if (pick(&run, 0, 2) == 0)
			run.world->now_ms += pick(&run, 0, pace_ms);
		if (pick(&run, 0, 4) == 0)
			change_cluster(&run);
		if (pick(&run, 0, trouble_odds) == 0)
			trouble(&run);
		if (run.world->router == NULL && pick(&run, 0, 19) == 0)
			start_watcher(&run);
		if (run.world->router != NULL && !run.synced && pick(&run, 0, 9) == 0) {
			run.synced = true;
			router_synced(run.world->router);
		}
		for (int i = 0; i < 20; i++) {
			act(&run);
			check_leases(&run);
		}
		reap(&run);
	}
	check_calm(&run);
	world_free(run.world);
}

static void test_random(void **state)
{
	const char *seed = getenv("FC_SEED");

	(void)state;
	if (seed != NULL) {
		run_seed(strtoull(seed, NULL, 10));
		return;
	}
	for (uint64_t i = 1; i <= SEEDS; i++)
		run_seed(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
