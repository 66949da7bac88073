/* Somebody on the bus who means no good, in a third of the worlds: has a barrier's key or a reconciler's, says HELLO
 * again and again, at times a thousand at once, from several connections, in all names, and reads nothing. It claims
 * what it does not hold, and knows epochs that nobody has led with. The key says as what it may come: the bus' gate
 * (common/bus/gate.h), which is not simulated, refuses it in the other role. See sim.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "tests/sim/check.h"

#define STRANGER "stranger-"

enum {
	PACE_MS = 1200,
	/* of a thousand turns */
	OFTEN_BURST = 4,
	OFTEN_CUT = 50,
	OFTEN_PING = 100,
	OFTEN_BYE = 50,
	BURST_MAX = 1000,
};

static int64_t draw(struct world *world, int64_t low, int64_t high)
{
	return random_between(&world->stranger_random, low, high);
}

bool stranger_is_barrier(const struct world *world)
{
	return world->seed % 2 != 0;
}

int stranger_link(const unsigned char *id, size_t id_len)
{
	size_t len = strlen(STRANGER);

	return id_len == len + 1 && memcmp(id, STRANGER, len) == 0 ? id[len] - '0' : -1;
}

static uint64_t some_epoch(struct world *world, const struct watcher *watcher)
{
	uint64_t epoch = router_epoch(watcher->router);
	const uint64_t epochs[] = {
		0, epoch - 1, epoch, epoch, epoch, epoch, epoch + 1, UINT64_C(4000000000), UINT64_MAX / 2};

	return epochs[draw(world, 0, (int64_t)ARRAY_LEN(epochs) - 1)];
}

static void some_hello(struct world *world, const struct watcher *watcher, struct bus_hello *out)
{
	static const char *const names[] = {"gate", "b0", "m0", "m1", "another-name"};
	static const char *const uuids[] = {"stranger", "stranger", "another", "uuid-1"};
	static const uint32_t windows[] = {1, 5, UINT32_MAX, UINT32_MAX};
	const uint32_t shard_counts[] = {watcher->shard_count, watcher->shard_count, 0, 1, BUS_SHARD_MAX, UINT32_MAX};
	int64_t held = draw(world, 0, 2);

	*out = (struct bus_hello){
		.role = stranger_is_barrier(world) ? BUS_ROLE_BARRIER : BUS_ROLE_RECONCILER,
		.shard_count = shard_counts[draw(world, 0, (int64_t)ARRAY_LEN(shard_counts) - 1)],
		.window = windows[draw(world, 0, (int64_t)ARRAY_LEN(windows) - 1)],
		.held_epoch = some_epoch(world, watcher),
	};
	snprintf(out->name, sizeof(out->name), "%s", names[draw(world, 0, (int64_t)ARRAY_LEN(names) - 1)]);
	snprintf(out->uuid, sizeof(out->uuid), "%s", uuids[draw(world, 0, (int64_t)ARRAY_LEN(uuids) - 1)]);
	for (size_t i = 0; i < ARRAY_LEN(out->held.bits); i++)
		out->held.bits[i] = held == 0 ? 0 : held == 1 ? 0xFF : (unsigned char)draw(world, 0, 0xFF);
	/* that is m0's own: a claim in its name would be granted to it, while another member has the lease */
	if (strcmp(out->uuid, "uuid-1") == 0)
		out->held = (struct shard_set){0};
}

static void say(struct world *world, struct watcher *watcher)
{
	struct bus_head head = {.protocol = BUS_PROTOCOL, .type = BUS_HELLO, .sequence = 1};
	unsigned char id[] = STRANGER "0";
	cleanup_buf struct buf body = {0};
	struct bus_hello hello;
	int64_t dice = draw(world, 0, 999);
	size_t len;

	id[sizeof(id) - 2] = (unsigned char)('0' + draw(world, 0, STRANGER_LINKS - 1));
	some_hello(world, watcher, &hello);
	head.epoch = some_epoch(world, watcher);
	head.session = world->stranger_session;
	/* a reconciler that lies about what it holds, and lets go of it, is not what leases are for */
	if (stranger_is_barrier(world) && dice < OFTEN_PING + OFTEN_BYE) {
		const struct bus_ping ping = {.held = hello.held, .backlog = UINT32_MAX};

		head.type = dice < OFTEN_PING ? BUS_PING : BUS_BYE;
		head.version = (uint64_t)draw(world, 0, 3);
		head.sequence = (uint64_t)draw(world, 1, 3);
		bus_ping_write(&body, &ping);
	} else {
		head.session = ++world->stranger_session;
		bus_hello_write(&body, &hello);
	}
	len = draw(world, 0, 999) < OFTEN_CUT ? (size_t)draw(world, 0, (int64_t)body.len) : body.len;
	router_receive(watcher->router, id, sizeof(id) - 1, &head, body.data, len);
}

static void arrive(struct world *world, void *arg)
{
	struct watcher *watcher = arg;
	int64_t count = draw(world, 0, 999) < OFTEN_BURST ? draw(world, 1, BURST_MAX) : 1;

	for (int64_t i = 0; i < count && watcher_leads(watcher); i++) {
		say(world, watcher);
		watcher_settle(watcher);
	}
}

static void speak(struct world *world, void *arg)
{
	(void)arg;
	if (world->healed)
		return;
	for (int i = 0; i < world->watcher_count; i++)
		if (world->watchers[i].process.alive)
			at(world, world->now_ms, &world->watchers[i].process, arrive, NULL, &world->watchers[i]);
	at(world, world->now_ms + draw(world, 1, PACE_MS), NULL, speak, NULL, NULL);
}

void stranger_begin(struct world *world)
{
	random_init_seed(&world->stranger_random, world->seed);
	at(world, world->now_ms, NULL, speak, NULL, NULL);
}
