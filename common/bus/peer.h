/* A peer of the watcher, reconciler or barrier: its side of DESIGN.md §5 as a machine without I/O. Messages come in by
 * peer_receive(), time by peer_tick(), and what it says goes out through the ports, so that a test or the simulator can
 * stand in for the socket. client.h drives it on a loop.
 *
 *   SILENT ──HELLO──▶ GREETED ──ASSIGN──▶ ASSIGNED ──lease over, or the watcher silent──▶ SILENT
 *      ▲                 ▲                    │
 *      └── refused, not final ──┘             └── sequence gap, WHO ──HELLO──▶ GREETED (leases go on)
 *   LEAVING: said BYE, pings until its calls have ended.  REFUSED: for good.
 *
 * Where several watchers may lead, it speaks to all of them: a HELLO that nobody answered yet and every PING go to all,
 * everything else to the one that answered. One that does not lead answers nothing. A new leader asks WHO when it hears
 * the next PING, so that it learns of the claims while their leases live. */
#ifndef BUS_PEER_H
#define BUS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bus/message.h"

struct peer_ports {
	unsigned watchers; /* how many there are to speak to, 1..PEER_WATCHERS_MAX */
	/* As bus_send() on the DEALER of watcher 0..watchers-1. */
	int (*send)(void *arg, unsigned watcher, const struct bus_head *head, const void *body, size_t body_len);
	int64_t (*now_ms)(void *arg); /* CLOCK_BOOTTIME, read anew each time */
	void *arg;
};

/* reconciler/member.h tells what each of them means; a barrier is shown Frameworks of all ranges. All are needed. */
struct peer_handler {
	void (*granted)(void *arg, const struct range_set *fresh);
	void (*revoked)(void *arg, const struct range_set *ranges);
	bool (*text)(void *arg, enum object_kind kind, uint32_t range, const char *text, size_t len);
	void (*absent)(void *arg, enum object_kind kind, uint32_t range, const struct bus_absent *absent);
	void (*complete)(void *arg, const struct bus_snapshot_end *end);
	void (*rate)(void *arg, double qps, int burst);
	void (*live)(void *arg, bool live);
	uint32_t (*backlog)(void *arg);
	void (*draining)(void *arg, struct range_set *out);
	void (*refused)(void *arg, const char *reason, bool final);
};

enum {
	PEER_PING_MS = 1000,
	PEER_HELLO_AGAIN_MS = 2000,      /* a HELLO that nobody answered is repeated */
	PEER_REFUSED_MS = 1000,          /* one that was refused, but not for good, too */
	PEER_UNCONNECTED_MS = 2,         /* nothing could be sent yet */
	PEER_UNCONNECTED_MAX_MS = 500,   /* doubling up to this */
	PEER_LEAVE_PING_MS = 100,        /* while calls in flight end */
	PEER_LEAVE_UNANSWERED_MS = 3000, /* after which nobody is waited for */
	PEER_WINDOW = 512,               /* UPDATE and ABSENT messages on the way at once */
	PEER_SILENCE_MS = 5000,          /* of the watcher: its streams count as not live any more */
	PEER_WATCHERS_MAX = 8,
};

struct peer;

struct peer_counters {
	uint64_t hellos, pings, pongs, objects, absents, malformed_objects, malformed, sequence_gaps, leases_lost,
		stale;
};

/* name: 1..63 bytes; uuid: of this process instance, at most 39. The ports and the handler are copied. */
struct peer *peer_new(const struct peer_ports *ports, enum bus_role role, const char *name, const char *uuid,
		      const struct peer_handler *handler, void *arg);
void peer_free(struct peer *peer);

void peer_receive(struct peer *peer, unsigned watcher, const struct bus_head *head, const char *body, size_t body_len);
/* Does what is due; returns the time at which to call it again at the latest. */
int64_t peer_tick(struct peer *peer);

/* Sends a ping now. */
void peer_ping_soon(struct peer *peer);
void peer_leave(struct peer *peer);
bool peer_gone(const struct peer *peer);

/* How long the lease of the range still runs, <= 0: not at all. */
int64_t peer_lease_left_ms(const struct peer *peer, uint32_t range);
bool peer_leased(const struct peer *peer);
uint32_t peer_shards(const struct peer *peer);
const struct range_set *peer_ranges(const struct peer *peer);
uint64_t peer_epoch(const struct peer *peer);
/* The one that is taken for the leader; -1: none answered yet. */
int peer_watcher(const struct peer *peer);
const struct peer_counters *peer_counters(const struct peer *peer);

#endif
