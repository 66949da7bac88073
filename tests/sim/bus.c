/* The bus: connections of reconcilers to watchers, each of which keeps the order of its letters, and loses, doubles and
 * delays them; a connection that breaks loses what was on its way. See sim.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "tests/sim/check.h"

#define STRANGER "stranger"

enum { LONG_DELAY_MS = 8000, RECONNECT_MS = 2000, STRANGER_PACE_MS = 1200 };

struct letter {
	struct member *member;
	struct watcher *watcher;
	uint64_t link; /* the connection it travels on */
	bool blind;    /* who sent it may believe in a term that has ended */
	struct bus_head head;
	size_t len;
	char body[];
};

/* Children speak to their parent alone. */
static struct watcher *watcher_of(struct member *member, unsigned number)
{
	struct world *world = member->process.world;

	return &world->watchers[world->pool ? member->slot / SIM_MEMBERS : (int)number];
}

struct link *bus_link(struct member *member, const struct watcher *watcher)
{
	if (member->process.world->pool && member->slot / SIM_MEMBERS != watcher->index)
		return NULL;
	return &member->links[watcher->index];
}

static void arrive_at_watcher(struct world *world, void *arg)
{
	struct letter *letter = arg;
	struct watcher *watcher = letter->watcher;
	const struct link *link = bus_link(letter->member, watcher);

	(void)world;
	if (link->connected && link->life == letter->link && watcher_leads(watcher)) {
		router_receive(watcher->router, (const unsigned char *)link->id, strlen(link->id), &letter->head,
			       letter->body, letter->len);
		watcher_settle(watcher);
	}
	free(letter);
}

static void arrive_at_member(struct world *world, void *arg)
{
	struct letter *letter = arg;
	struct member *member = letter->member;
	const struct link *link = bus_link(member, letter->watcher);

	if (link->connected && link->life == letter->link) {
		if (letter->blind)
			member->blind_until_ms = process_now_ms(&member->process) + longest_lease_ms(world);
		peer_receive(member->peer, world->pool ? 0 : (unsigned)letter->watcher->index, &letter->head,
			     letter->body, letter->len);
		member_settle(member);
	}
	free(letter);
}

static void send(struct member *member, struct watcher *watcher, bool up, const struct bus_head *head, const void *body,
		 size_t len)
{
	struct link *link = bus_link(member, watcher);
	struct world *world = member->process.world;
	const struct faults *faults = &world->faults;
	bool calm = faults->calm || world->healed;
	int64_t *last_ms = up ? &link->up_ms : &link->down_ms;
	int copies = 1;

	if (!calm && chance(world, faults->lose_letter))
		copies = 0;
	else if (!calm && chance(world, faults->double_letter))
		copies = 2;
	for (int i = 0; i < copies; i++) {
		struct letter *letter = mem_calloc(1, sizeof(*letter) + len + 1);
		int64_t due_ms = world->now_ms + pick(world, 0, 3);

		if (!calm && chance(world, faults->delay_letter))
			due_ms += pick(world, 1, LONG_DELAY_MS);
		/* a connection keeps its order; a letter that does not must be noticed all the same */
		if (calm || !chance(world, faults->reorder_letter)) {
			if (due_ms < *last_ms)
				due_ms = *last_ms;
			*last_ms = due_ms;
		}
		letter->member = member;
		letter->watcher = watcher;
		letter->link = link->life;
		letter->blind = !up && machine_blind(watcher->process.machine, world->now_ms);
		letter->head = *head;
		letter->head.protocol = BUS_PROTOCOL;
		letter->len = len;
		memcpy(letter->body, body, len);
		at(world, due_ms, up ? &watcher->process : &member->process, up ? arrive_at_watcher : arrive_at_member,
		   free, letter);
	}
}

int bus_from_member(void *arg, unsigned number, const struct bus_head *head, const void *body, size_t len)
{
	struct member *member = arg;
	struct watcher *watcher = watcher_of(member, number);

	if (!bus_link(member, watcher)->connected) {
		errno = EAGAIN;
		return -1;
	}
	send(member, watcher, true, head, body, len);
	return 0;
}

int bus_from_watcher(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const void *body,
		     size_t len)
{
	struct watcher *watcher = arg;
	struct world *world = watcher->process.world;

	if (head->epoch != watcher->epoch)
		violated(world, "%s speaks with epoch %llu, its own is %llu", watcher->process.label,
			 (unsigned long long)head->epoch, (unsigned long long)watcher->epoch);
	if (!world->healed && id_len == strlen(STRANGER) && memcmp(id, STRANGER, id_len) == 0) {
		if (head->type == BUS_UPDATE || head->type == BUS_ABSENT)
			check_unread(watcher, len);
		return 0;
	}
	for (int i = 0; i < SIM_PROCESSES; i++) {
		struct member *member = &world->members[i];
		const struct link *link = member->process.alive ? bus_link(member, watcher) : NULL;

		if (link != NULL && link->connected && strlen(link->id) == id_len &&
		    memcmp(link->id, id, id_len) == 0) {
			send(member, watcher, false, head, body, len);
			return 0;
		}
	}
	errno = EHOSTUNREACH;
	return -1;
}

/* ---- connections ---- */

static void disconnect(struct link *link)
{
	link->connected = false;
	link->life++;
}

static void connected(struct world *world, void *arg)
{
	struct member *member = arg;

	for (int i = 0; i < world->watcher_count; i++) {
		struct link *link = bus_link(member, &world->watchers[i]);

		if (link == NULL || link->connected || !world->watchers[i].process.alive)
			continue;
		link->connected = true;
		link->life++;
		link->up_ms = 0;
		link->down_ms = 0;
		snprintf(link->id, sizeof(link->id), "id-%llu", (unsigned long long)++world->links);
	}
}

void bus_connect(struct member *member)
{
	struct world *world = member->process.world;

	at(world, world->now_ms + pick(world, 1, world->faults.calm ? 20 : RECONNECT_MS), &member->process, connected,
	   NULL, member);
}

static void stall(int64_t *last_ms, int64_t until_ms)
{
	if (*last_ms < until_ms)
		*last_ms = until_ms;
}

void bus_stall(struct member *member, bool up, int64_t span_ms)
{
	struct world *world = member->process.world;

	trace(world, "%s: letters %s wait for %lld ms", member->process.label, up ? "from it" : "to it",
	      (long long)span_ms);
	for (int i = 0; i < SIM_WATCHERS; i++)
		stall(up ? &member->links[i].up_ms : &member->links[i].down_ms, world->now_ms + span_ms);
}

void bus_disconnect(struct member *member)
{
	for (int i = 0; i < SIM_WATCHERS; i++)
		disconnect(&member->links[i]);
}

void bus_disconnect_watcher(struct watcher *watcher)
{
	struct world *world = watcher->process.world;

	for (int i = 0; i < SIM_PROCESSES; i++)
		disconnect(&world->members[i].links[watcher->index]);
}

/* ---- the stranger ---- */

static void stranger_arrives(struct world *world, void *arg)
{
	struct watcher *watcher = arg;
	struct bus_head head = {.protocol = BUS_PROTOCOL, .type = BUS_HELLO, .sequence = 1};
	struct bus_hello hello = {.name = "gate", .uuid = "stranger", .role = BUS_ROLE_BARRIER, .window = UINT32_MAX};
	cleanup_buf struct buf body = {0};

	if (!watcher_leads(watcher))
		return;
	hello.shards = watcher->shards;
	hello.held_epoch = UINT64_C(4000000000);
	head.epoch = world->stranger_session % 2 == 0 ? hello.held_epoch : router_epoch(watcher->router);
	memset(&hello.held, 0xFF, sizeof(hello.held));
	bus_hello_write(&body, &hello);
	head.session = ++world->stranger_session;
	router_receive(watcher->router, (const unsigned char *)STRANGER, strlen(STRANGER), &head, body.data, body.len);
	watcher_settle(watcher);
}

static void stranger_speaks(struct world *world, void *arg)
{
	(void)arg;
	if (world->healed)
		return;
	for (int i = 0; i < world->watcher_count; i++)
		if (world->watchers[i].process.alive)
			at(world, world->now_ms, &world->watchers[i].process, stranger_arrives, NULL,
			   &world->watchers[i]);
	at(world, world->now_ms + random_between(&world->stranger_random, 1, STRANGER_PACE_MS), NULL, stranger_speaks,
	   NULL, NULL);
}

void bus_begin_stranger(struct world *world)
{
	random_init_seed(&world->stranger_random, world->seed);
	world->stranger = true;
	at(world, world->now_ms, NULL, stranger_speaks, NULL, NULL);
}
