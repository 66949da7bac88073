/* The reconciler's or barrier's side of a connection to the watcher (common/README.md §4), as a state machine without
 * I/O. session_receive() takes messages, session_tick() the time, and the ports send, so that a test or the simulator
 * can replace the socket. client.h runs it on a loop.
 *
 *   SILENT ──HELLO──▶ GREETED ──ASSIGN──▶ ASSIGNED ──lease over, or the watcher silent──▶ SILENT
 *      ▲                 ▲                    │
 *      └── refused, not final ──┘             └── sequence gap, WHO ──HELLO──▶ GREETED (leases go on)
 *   LEAVING: said BYE, pings until its calls have ended.  REFUSED: for good.
 *
 * With several watchers, it sends every PING, and each HELLO without an answer, to all of them, and everything else to
 * the one that answered. A watcher that does not lead does not answer. A leader sends WHO after a HELLO or PING without
 * its epoch. From then on the session ignores older epochs, so the claims of its HELLO are true in that term: no former
 * leader renews its leases. A session without a lease that receives nothing forgets the epoch: if Leases were deleted,
 * the next one may be smaller. */
#ifndef BUS_SESSION_H
#define BUS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bus/message.h"

struct session_ports {
	unsigned watchers; /* number of watchers, 1..SESSION_WATCHERS_MAX */
	uint32_t window;   /* UPDATE and ABSENT messages in flight; 0: SESSION_WINDOW */
	/* As bus_send() on the DEALER of watcher 0..watchers-1. */
	int (*send)(void *arg, unsigned watcher, const struct bus_head *head, const void *body, size_t body_len);
	int64_t (*now_ms)(void *arg); /* CLOCK_BOOTTIME, read at each call */
	void *arg;
};

/* All are required, except those that say what NULL means. They run one at a time from session_receive(),
 * session_tick() and session_leave(), never within another session_* call. They may call the functions that take a
 * const session. Arguments are borrowed, valid during the call. A barrier gets the Frameworks of all shards. */
struct session_handler {
	/* The full state of these shards follows, ended by complete(). A held shard may be granted again, after lost
	 * messages or by a new watcher: the new state replaces the old one, and the lease goes on. Before complete(), a
	 * missing object may exist, and the view may be stale (CONTRACT.md §12.14). A grant is not a lease: see
	 * session_lease_left_ms(). */
	void (*granted)(void *arg, const struct shard_set *fresh);
	/* These shards are revoked: start no more calls in them and forget their objects. draining() names their calls
	 * in flight until these have ended. */
	void (*revoked)(void *arg, const struct shard_set *shards);
	/* An object as it is now, as JSON text; false: it cannot be read. A Framework comes as the API server has it
	 * but without metadata.managedFields; a ConfigMap or Pod in the kept form of object.h. The same state may come
	 * twice. */
	bool (*text)(void *arg, enum object_kind kind, uint32_t shard, const char *text, size_t len);
	/* An object is gone, perhaps one that was never received. absent->deleting: it is certainly deleted. */
	void (*absent)(void *arg, enum object_kind kind, uint32_t shard, const struct bus_absent *absent);
	/* end->shards are complete: an object that was not received since granted() does not exist at the version of
	 * its scope. Newer objects from own writes stay. */
	void (*complete)(void *arg, const struct bus_snapshot_end *end);
	/* This process' share of kubeClientQps and kubeClientBurst; called when it changed. Reconcilers only. */
	void (*rate)(void *arg, double qps, int burst);
	/* Whether the watcher's streams are live and the watcher answers: only then creation timeouts run, and absence
	 * means deletion. Called when it changed; false at first. */
	void (*live)(void *arg, bool live);
	/* How many keys wait for a reconcile or for the rate limit. NULL: none ever. */
	uint32_t (*backlog)(void *arg);
	/* Adds the revoked shards in which calls are still in flight to *out (empty when handed in). NULL: a process
	 * that makes no calls in shards. */
	void (*draining)(void *arg, struct shard_set *out);
	/* The watcher refused this process. final (a watcher with its own children): the process exits. Not final
	 * (another process may still have our name, another protocol version): the session tries again. */
	void (*refused)(void *arg, const char *reason, bool final);
};

enum {
	SESSION_PING_MS = 1000,
	SESSION_HELLO_AGAIN_MS = 2000,      /* until a HELLO without an answer is repeated */
	SESSION_REFUSED_MS = 1000,          /* until a refused HELLO is repeated */
	SESSION_UNCONNECTED_MS = 2,         /* until the next try while nothing can be sent */
	SESSION_UNCONNECTED_MAX_MS = 500,   /* doubling up to this */
	SESSION_LEAVE_PING_MS = 100,        /* while calls in flight end */
	SESSION_LEAVE_UNANSWERED_MS = 3000, /* wait for an answer to BYE at most */
	SESSION_WINDOW = 512,
	SESSION_CREDIT_BYTES = 1024 * 1024, /* of handled objects, after which a PING acknowledges them */
	SESSION_SILENCE_MS = 5000,          /* of the watcher, after which its streams count as not live */
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
/* Handles timeouts; returns the time of the next call at the latest. */
int64_t session_tick(struct session *session);

/* Sends a ping now. */
void session_ping_soon(struct session *session);
/* Call it after the last write: sends BYE and revokes all shards (calls revoked()). Continue until session_gone(). */
void session_leave(struct session *session);
/* After session_leave(): whether the watcher answered a ping without draining shards, or did not answer for 3 s. */
bool session_gone(const struct session *session);

/* How long this process may still write to keys of the shard, by the present time; <= 0: not at all. Ask right before
 * each write is sent; the result is an upper bound of the write's timeout. */
int64_t session_lease_left_ms(const struct session *session, uint32_t shard);
/* Whether the lease of any shard runs, for readiness. */
bool session_leased(const struct session *session);
/* Number of shards of the key space; 0 before the first assignment. */
uint32_t session_shard_count(const struct session *session);
/* Shards held now (granted, leased or not). Borrowed. */
const struct shard_set *session_shards(const struct session *session);
uint64_t session_epoch(const struct session *session);
/* The watcher that counts as the leader; -1: none has answered yet. */
int session_watcher(const struct session *session);
const struct session_counters *session_counters(const struct session *session);

#endif
