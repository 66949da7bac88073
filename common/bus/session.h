/* A peer of the watcher, reconciler or barrier: its side of the bus (common/README.md §4) as a machine without I/O.
 * Messages come in by session_receive(), time by session_tick(), and what it says goes out through the ports, so that a
 * test or the simulator can stand in for the socket. client.h drives it on a loop.
 *
 *   SILENT ──HELLO──▶ GREETED ──ASSIGN──▶ ASSIGNED ──lease over, or the watcher silent──▶ SILENT
 *      ▲                 ▲                    │
 *      └── refused, not final ──┘             └── sequence gap, WHO ──HELLO──▶ GREETED (leases go on)
 *   LEAVING: said BYE, pings until its calls have ended.  REFUSED: for good.
 *
 * Where several watchers may lead, it speaks to all of them: a HELLO that nobody answered yet and every PING go to all,
 * everything else to the one that answered. One that does not lead answers nothing. A leader asks WHO when it hears a
 * HELLO or PING of one that does not know its epoch yet. From then on the peer heeds nobody of an older epoch, and what
 * its HELLO claims is true in that term: no former leader renews it any more. A peer that holds no lease and hears
 * nobody forgets the epoch: where Leases were deleted, the next one may be older. */
#ifndef BUS_SESSION_H
#define BUS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bus/message.h"

struct session_ports {
	unsigned watchers; /* how many there are to speak to, 1..SESSION_WATCHERS_MAX */
	uint32_t window;   /* UPDATE and ABSENT messages on the way at once; 0: SESSION_WINDOW */
	/* As bus_send() on the DEALER of watcher 0..watchers-1. */
	int (*send)(void *arg, unsigned watcher, const struct bus_head *head, const void *body, size_t body_len);
	int64_t (*now_ms)(void *arg); /* CLOCK_BOOTTIME, read anew each time */
	void *arg;
};

/* All are needed. They run one at a time from session_receive(), session_tick() and session_leave(), never from within
 * another peer_* call. They may call whatever asks. What they are handed is borrowed and valid during the call only. A
 * barrier is shown Frameworks of all shards. */
struct session_handler {
	/* The full state of these shards follows, ended by complete(). A shard may be granted that is held already:
	 * messages were lost or the watcher is a new one, and what it shows replaces what was known; its lease goes on
	 * meanwhile. Either way no conclusion may be drawn from absence, nor from a view that lags behind
	 * (CONTRACT.md §12.14), before complete(). A grant is no lease yet: see
	 * session_lease_left_ms(). */
	void (*granted)(void *arg, const struct shard_set *fresh);
	/* These are ours no longer: start nothing more in them and forget their objects. Calls still in flight are
	 * named by draining() until they have ended. */
	void (*revoked)(void *arg, const struct shard_set *shards);
	/* An object as it is now, as JSON text; false: it cannot be read. A Framework comes as the API server has it
	 * but without metadata.managedFields; a ConfigMap or Pod in the kept form of object.h. The same state may come
	 * twice. */
	bool (*text)(void *arg, enum object_kind kind, uint32_t shard, const char *text, size_t len);
	/* An object is gone, perhaps one that was never shown. absent->deleting tells whether that is certain. */
	void (*absent)(void *arg, enum object_kind kind, uint32_t shard, const struct bus_absent *absent);
	/* end->shards are complete: of each kind, what was not shown since granted() does not exist at the version of
	 * its scope. Newer objects known from own writes survive it. */
	void (*complete)(void *arg, const struct bus_snapshot_end *end);
	/* This process' share of kubeClientQps and kubeClientBurst; called when it changed. */
	void (*rate)(void *arg, double qps, int burst);
	/* Whether the watcher's streams are live and the watcher answers: only then time counts for creation timeouts
	 * and absence tells anything. Called when it changed; false at first. */
	void (*live)(void *arg, bool live);
	/* How many keys wait for a round or for the rate limit. */
	uint32_t (*backlog)(void *arg);
	/* Adds the revoked shards in which calls are still in flight to *out (empty when handed in). */
	void (*draining)(void *arg, struct shard_set *out);
	/* The watcher does not want us. final: for good (another protocol version, or a watcher with reconcilers of its
	 * own): the process exits. Not final (our name's former holder may still live): the member tries again by
	 * itself. */
	void (*refused)(void *arg, const char *reason, bool final);
};

enum {
	SESSION_PING_MS = 1000,
	SESSION_HELLO_AGAIN_MS = 2000,      /* a HELLO that nobody answered is repeated */
	SESSION_REFUSED_MS = 1000,          /* one that was refused, but not for good, too */
	SESSION_UNCONNECTED_MS = 2,         /* nothing could be sent yet */
	SESSION_UNCONNECTED_MAX_MS = 500,   /* doubling up to this */
	SESSION_LEAVE_PING_MS = 100,        /* while calls in flight end */
	SESSION_LEAVE_UNANSWERED_MS = 3000, /* after which nobody is waited for */
	SESSION_WINDOW = 512,
	SESSION_CREDIT_BYTES = 1024 * 1024, /* of objects: after so many the watcher is told that they are handled */
	SESSION_SILENCE_MS = 5000,          /* of the watcher: its streams count as not live any more */
	SESSION_WATCHERS_MAX = 8,
};

struct session;

struct session_counters {
	uint64_t hellos, pings, pongs, objects, absents, malformed_objects, malformed, sequence_gaps, leases_lost,
		stale;
};

/* name: 1..63 bytes; uuid: of this process instance, at most 39. The ports and the handler are copied. */
struct session *session_new(const struct session_ports *ports, enum bus_role role, const char *name, const char *uuid,
			    const struct session_handler *handler, void *arg);
void session_free(struct session *session);

void session_receive(struct session *session, unsigned watcher, const struct bus_head *head, const char *body,
		     size_t body_len);
/* Does what is due; returns the time at which to call it again at the latest. */
int64_t session_tick(struct session *session);

/* Sends a ping now. */
void session_ping_soon(struct session *session);
/* When everything that must still be written has been: says BYE and revokes everything (revoked() runs from within). Go
 * on until the calls in flight have ended and the watcher was told so: session_gone(). */
void session_leave(struct session *session);
/* After session_leave(): whether a ping without draining shards was answered, or nobody answered for 3 s. */
bool session_gone(const struct session *session);

/* How long this process may still write to keys of the shard, by the clock read now; <= 0: not at all. The fence at the
 * door: asked right before each write is handed to the network, and an upper bound of the write's timeout. */
int64_t session_lease_left_ms(const struct session *session, uint32_t shard);
/* Whether a lease of any shard is running: readiness. */
bool session_leased(const struct session *session);
/* Number of shards of the key space; 0 before the first assignment. */
uint32_t session_shard_count(const struct session *session);
/* Shards held now (granted, leased or not). Borrowed. */
const struct shard_set *session_shards(const struct session *session);
uint64_t session_epoch(const struct session *session);
/* The one that is taken for the leader; -1: none answered yet. */
int session_watcher(const struct session *session);
const struct session_counters *session_counters(const struct session *session);

#endif
