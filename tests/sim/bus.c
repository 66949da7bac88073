/* The bus: connections of reconcilers and barriers to watchers, each of which keeps the order of its letters, and
 * loses, doubles and delays them; a connection that breaks loses what was on its way. See sim.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "tests/sim/check.h"

enum { LONG_DELAY_MS = 8000, RECONNECT_MS = 2000 };

struct letter {
	struct seat *seat;
	struct watcher *watcher;
	uint64_t link; /* the connection it travels on */
	bool blind;    /* who sent it may believe in a term that has ended */
	bool counted;  /* in unread */
	struct bus_head head;
	size_t len;
	char body[];
};

void bus_seat(struct seat *seat, struct process *process, struct session *session, struct watcher *only,
	      void (*settle)(struct process *process))
{
	seat->process = process;
	seat->session = session;
	seat->only = only;
	seat->settle = settle;
	seat->blind_until_ms = 0;
}

struct link *bus_link(struct seat *seat, const struct watcher *watcher)
{
	if (seat->only != NULL && seat->only != watcher)
		return NULL;
	return &seat->links[watcher->index];
}

static void arrive_at_watcher(struct world *world, void *arg)
{
	struct letter *letter = arg;
	struct watcher *watcher = letter->watcher;
	const struct link *link = bus_link(letter->seat, watcher);

	(void)world;
	if (link->connected && link->life == letter->link && watcher_leads(watcher)) {
		router_receive(watcher->router, (const unsigned char *)link->id, strlen(link->id), &letter->head,
			       letter->body, letter->len);
		watcher_settle(watcher);
	}
	free(letter);
}

static bool is_object(const struct bus_head *head)
{
	return head->type == BUS_UPDATE || head->type == BUS_ABSENT;
}

static void arrive_at_peer(struct world *world, void *arg)
{
	struct letter *letter = arg;
	struct seat *seat = letter->seat;
	struct link *link = bus_link(seat, letter->watcher);

	if (link->connected && link->life == letter->link) {
		if (letter->counted && letter->head.epoch == letter->watcher->epoch)
			link->unread -= BUS_HEAD_SIZE + letter->len;
		if (letter->blind)
			seat->blind_until_ms = process_now_ms(seat->process) + longest_lease_ms(world);
		session_receive(seat->session, seat->only != NULL ? 0 : (unsigned)letter->watcher->index, &letter->head,
				letter->body, letter->len);
		seat->settle(seat->process);
	}
	free(letter);
}

static void send(struct seat *seat, struct watcher *watcher, bool up, const struct bus_head *head, const void *body,
		 size_t len)
{
	struct link *link = bus_link(seat, watcher);
	struct world *world = watcher->process.world;
	const struct faults *faults = &world->faults;
	bool calm = faults->calm || world->healed;
	int64_t *last_ms = up ? &link->up_ms : &link->down_ms;
	int copies = 1;

	if (!calm && chance(world, faults->lose_letter))
		copies = 0;
	else if (!calm && chance(world, faults->double_letter))
		copies = 2;
	if (!up && is_object(head))
		check_unread(watcher, seat->process->label, link->unread);
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
		letter->seat = seat;
		letter->watcher = watcher;
		letter->link = link->life;
		letter->blind = !up && machine_blind(watcher->process.machine, world->now_ms);
		letter->head = *head;
		letter->head.protocol = BUS_PROTOCOL;
		letter->len = len;
		memcpy(letter->body, body, len);
		letter->counted = !up && is_object(head) && i == 0;
		link->unread += letter->counted ? BUS_HEAD_SIZE + len : 0;
		at(world, due_ms, up ? &watcher->process : seat->process, up ? arrive_at_watcher : arrive_at_peer, free,
		   letter);
	}
}

int bus_from_peer(void *arg, unsigned number, const struct bus_head *head, const void *body, size_t len)
{
	struct seat *seat = arg;
	struct watcher *watcher = seat->only != NULL ? seat->only : &seat->process->world->watchers[number];

	if (!bus_link(seat, watcher)->connected) {
		errno = EAGAIN;
		return -1;
	}
	send(seat, watcher, true, head, body, len);
	return 0;
}

int bus_from_watcher(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const void *body,
		     size_t len)
{
	struct watcher *watcher = arg;
	struct world *world = watcher->process.world;
	int stranger = stranger_link(id, id_len);

	if (head->epoch != watcher->epoch)
		violated(world, "%s speaks with epoch %llu, its own is %llu", watcher->process.label,
			 (unsigned long long)head->epoch, (unsigned long long)watcher->epoch);
	if (!world->healed && stranger >= 0) {
		check_stranger(watcher, stranger, head, len);
		return 0;
	}
	for (int i = 0; i < SIM_SEATS; i++) {
		struct seat *seat = &world->seats[i];
		const struct link *link = seat->session != NULL ? bus_link(seat, watcher) : NULL;

		if (link != NULL && link->connected && strlen(link->id) == id_len &&
		    memcmp(link->id, id, id_len) == 0) {
			send(seat, watcher, false, head, body, len);
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
	struct seat *seat = arg;

	for (int i = 0; i < world->watcher_count; i++) {
		struct link *link = bus_link(seat, &world->watchers[i]);

		if (link == NULL || link->connected || !world->watchers[i].process.alive)
			continue;
		link->connected = true;
		link->life++;
		link->up_ms = 0;
		link->down_ms = 0;
		link->unread = 0;
		snprintf(link->id, sizeof(link->id), "id-%llu", (unsigned long long)++world->links);
	}
}

void bus_connect(struct seat *seat)
{
	struct world *world = seat->process->world;

	at(world, world->now_ms + pick(world, 1, world->faults.calm ? 20 : RECONNECT_MS), seat->process, connected,
	   NULL, seat);
}

static void stall(int64_t *last_ms, int64_t until_ms)
{
	if (*last_ms < until_ms)
		*last_ms = until_ms;
}

void bus_stall(struct seat *seat, bool up, int64_t span_ms)
{
	struct world *world = seat->process->world;

	trace(world, "%s: letters %s wait for %lld ms", seat->process->label, up ? "from it" : "to it",
	      (long long)span_ms);
	for (int i = 0; i < SIM_WATCHERS; i++)
		stall(up ? &seat->links[i].up_ms : &seat->links[i].down_ms, world->now_ms + span_ms);
}

void bus_disconnect(struct seat *seat)
{
	for (int i = 0; i < SIM_WATCHERS; i++)
		disconnect(&seat->links[i]);
}

void bus_disconnect_watcher(struct watcher *watcher)
{
	struct world *world = watcher->process.world;

	for (int i = 0; i < SIM_SEATS; i++)
		disconnect(&world->seats[i].links[watcher->index]);
}
