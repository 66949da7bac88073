/* The bus: a connection for each reconciler, which keeps the order of its letters, and loses, doubles and delays them;
 * a connection that breaks loses what was on its way. See sim.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "tests/sim/sim.h"

enum { LONG_DELAY_MS = 8000, RECONNECT_MS = 2000 };

struct letter {
	struct member *member;
	uint64_t link; /* the connection it travels on */
	struct bus_head head;
	size_t len;
	char body[];
};

static void arrive_at_watcher(struct world *world, void *arg)
{
	struct letter *letter = arg;
	const struct link *link = &letter->member->link;

	if (link->connected && link->life == letter->link) {
		router_receive(world->watcher.router, (const unsigned char *)link->id, strlen(link->id), &letter->head,
			       letter->body, letter->len);
		watcher_settle(&world->watcher);
	}
	free(letter);
}

static void arrive_at_member(struct world *world, void *arg)
{
	struct letter *letter = arg;
	struct member *member = letter->member;

	(void)world;
	if (member->link.connected && member->link.life == letter->link) {
		peer_receive(member->peer, 0, &letter->head, letter->body, letter->len);
		member_settle(member);
	}
	free(letter);
}

static void send(struct member *member, bool up, const struct bus_head *head, const void *body, size_t len)
{
	struct world *world = member->process.world;
	const struct faults *faults = &world->faults;
	bool calm = faults->calm || world->healed;
	int64_t *last_ms = up ? &member->link.up_ms : &member->link.down_ms;
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
		letter->link = member->link.life;
		letter->head = *head;
		letter->head.major = BUS_VERSION_MAJOR;
		letter->len = len;
		memcpy(letter->body, body, len);
		at(world, due_ms, up ? &world->watcher.process : &member->process,
		   up ? arrive_at_watcher : arrive_at_member, free, letter);
	}
}

int bus_from_member(void *arg, unsigned watcher, const struct bus_head *head, const void *body, size_t len)
{
	struct member *member = arg;

	(void)watcher; /* there is one */
	if (!member->link.connected) {
		errno = EAGAIN;
		return -1;
	}
	send(member, true, head, body, len);
	return 0;
}

int bus_from_watcher(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const void *body,
		     size_t len)
{
	struct watcher *watcher = arg;
	struct world *world = watcher->process.world;

	for (int i = 0; i < SIM_PROCESSES; i++) {
		struct member *member = &world->members[i];

		if (member->link.connected && strlen(member->link.id) == id_len &&
		    memcmp(member->link.id, id, id_len) == 0) {
			send(member, false, head, body, len);
			return 0;
		}
	}
	errno = EHOSTUNREACH;
	return -1;
}

static void connected(struct world *world, void *arg)
{
	struct member *member = arg;
	struct link *link = &member->link;

	if (link->connected || !world->watcher.process.alive)
		return;
	link->connected = true;
	link->life++;
	link->up_ms = 0;
	link->down_ms = 0;
	snprintf(link->id, sizeof(link->id), "id-%llu", (unsigned long long)++world->links);
}

void bus_connect(struct member *member)
{
	struct world *world = member->process.world;

	at(world, world->now_ms + pick(world, 1, world->faults.calm ? 20 : RECONNECT_MS), &member->process, connected,
	   NULL, member);
}

void bus_disconnect(struct member *member)
{
	member->link.connected = false;
	member->link.life++;
}
