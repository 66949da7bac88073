/* The reconciler's side of the bus: which ranges of the key space are granted to this process, for how long, and
 * what the watcher sees in them (DESIGN.md §5). Everything runs on the loop's thread. */
#ifndef RECONCILER_MEMBER_H
#define RECONCILER_MEMBER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/bus/message.h"
#include "common/bus/peer.h"
#include "common/bus/socket.h"
#include "common/framework/object.h"

struct ev_loop;
struct member;

/* Every callback is needed. They run from the loop, one at a time, never from within a member_* call but
 * member_leave(). They may call any member_* function but member_free(). What they are handed is borrowed and valid
 * during the call only. */
struct member_handler {
	/* The full state of these ranges follows, ended by complete(). A range may be granted that is held already:
	 * messages were lost or the watcher is a new one, and what it shows replaces what was known; its lease goes on
	 * meanwhile. Either way no conclusion may be drawn from absence, nor from a view that lags behind
	 * (DESIGN.md §3, the fence on stale views), before complete(). A grant is no lease yet: see
	 * member_lease_left_ms(). */
	void (*granted)(void *arg, const struct range_set *fresh);
	/* These are ours no longer: start nothing more in them and forget their objects. Calls still in flight are
	 * named by draining() until they have ended. */
	void (*revoked)(void *arg, const struct range_set *ranges);
	/* An object as it is now, as JSON text; false: it cannot be read. A Framework comes as the API server has it
	 * but without metadata.managedFields; a ConfigMap or Pod in the kept form of object.h. The same state may come
	 * twice. */
	bool (*text)(void *arg, enum object_kind kind, uint32_t range, const char *text, size_t len);
	/* An object is gone, perhaps one that was never shown. absent->deleting tells whether that is certain. */
	void (*absent)(void *arg, enum object_kind kind, uint32_t range, const struct bus_absent *absent);
	/* end->ranges are complete: of each kind, what was not shown since granted() does not exist at
	 * end->resource_version[kind]. Newer objects known from own writes survive it. */
	void (*complete)(void *arg, const struct bus_snapshot_end *end);
	/* This process' share of kubeClientQps and kubeClientBurst; called when it changed. */
	void (*rate)(void *arg, double qps, int burst);
	/* Whether the watcher's streams are live and the watcher answers: only then time counts for creation timeouts
	 * and absence tells anything. Called when it changed; false at first. */
	void (*live)(void *arg, bool live);
	/* How many keys wait for a round or for the rate limit. */
	uint32_t (*backlog)(void *arg);
	/* Adds the revoked ranges in which calls are still in flight to *out (empty when handed in). */
	void (*draining)(void *arg, struct range_set *out);
	/* The watcher does not want us. final: for good (another protocol version, or a newer process has our name):
	 * the process exits. Not final (our name's former holder may still live): the member tries again by itself. */
	void (*refused)(void *arg, const char *reason, bool final);
};

/* name: pool slot or StatefulSet host name, 1..63 bytes. endpoint: "ipc://path" or "tcp://host:port"; the watcher need
 * not be there yet. The handler must outlive the member. NULL and *err when the endpoint is none. */
struct member *member_new(struct ev_loop *loop, const char *endpoint, const struct bus_security *security,
			  const char *name, const struct member_handler *handler, void *arg, struct error *err);
/* Closes the connection at once; no callback runs any more. */
void member_free(struct member *member);

/* When everything that must still be written has been: says BYE and revokes everything (revoked() runs from within). Go
 * on running the loop until the calls in flight have ended and the watcher was told so: member_gone(). */
void member_leave(struct member *member);
/* After member_leave(): whether a ping without draining ranges was answered, or nobody answered for 3 s. */
bool member_gone(const struct member *member);

/* How long this process may still write to keys of the range, by CLOCK_BOOTTIME read now; <= 0: not at all. The fence
 * at the door: asked right before each write is handed to the network, and an upper bound of the write's timeout. */
int64_t member_lease_left_ms(const struct member *member, uint32_t range);
/* Whether a lease of any range is running: readiness. */
bool member_leased(const struct member *member);
/* Number of ranges of the key space; 0 before the first assignment. range_of_key(ns, name, member_shards(m)). */
uint32_t member_shards(const struct member *member);
/* Ranges held now (granted, leased or not). Borrowed. */
const struct range_set *member_ranges(const struct member *member);
/* The backlog or the draining ranges changed much: send a ping now instead of within a second. */
void member_ping_soon(struct member *member);

/* Counts since the start: see common/bus/peer.h. */
const struct peer_counters *member_counters(const struct member *member);
/* Of its socket. */
const struct bus_counters *member_bus_counters(const struct member *member);

#endif
