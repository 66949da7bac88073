/* The watcher's side of the bus (ARCHITECTURE.md §3.4): the connected peers, and the objects that were sent and are to
 * be sent to each. It sends the latest state of an object: each peer has a queue of objects whose latest state it does
 * not have, and at most as many messages in flight as its credit. The router does no I/O: router_receive() takes
 * messages and the ports send them, so that a test or the simulator can replace the socket. */
#ifndef WATCHER_ROUTER_H
#define WATCHER_ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bus/message.h"
#include "watcher/shards/shard_table.h"
#include "watcher/view/cache.h"

struct router;

enum {
	ROUTER_PEERS_MAX = 2048, /* connections */
	ROUTER_IN_FLIGHT_MAX = 16 * 1024 *
			       1024 /* bytes of objects in flight to one of them; the last object may exceed it */
};

struct router_ports {
	/* As bus_send(). If it fails, the router drops its state of that connection until the next HELLO. */
	int (*send)(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const void *body,
		    size_t body_len);
	int64_t (*now_ms)(void *arg); /* CLOCK_BOOTTIME */
	void *arg;
};

struct router_options {
	struct shard_options shards;
	uint64_t epoch;       /* > 0; names the term; a peer that claims to know a newer one is refused */
	size_t in_flight_max; /* 0: ROUTER_IN_FLIGHT_MAX */
	double qps;           /* shared by the reconcilers */
	int32_t burst;
	/* Whether a reconciler of that name is accepted; NULL: any. */
	bool (*accept)(void *arg, const char *name);
	void *accept_arg;
};

/* The cache's listener calls these. */
void router_changed(struct router *router, struct cache_entry *entry);
void router_gone(struct router *router, struct cache_entry *entry, const struct cache_absence *absence);

/* Set the cache before anything else happens. */
struct router *router_new(const struct router_ports *ports, const struct router_options *options);
void router_set_cache(struct router *router, struct cache *cache);
/* Before the cache is freed. */
void router_free(struct router *router);

/* As bus_receive. */
void router_receive(void *router, const unsigned char *id, size_t id_len, const struct bus_head *head, const char *body,
		    size_t body_len);
/* The cache is complete for the first time. From now on the router grants shards. */
void router_synced(struct router *router);
/* A list replaced a part of a stream's history. Only a reconciler knows the objects that it created and that were
 * deleted in between. So all reconcilers get the full state again, which says which objects do not exist. */
void router_relisted(struct router *router);
/* Whether all streams are live; each PONG contains it. */
void router_set_live(struct router *router, bool live);
/* Pool slots: shard_table_expect(), shard_table_dead(). */
void router_expect(struct router *router, const char *name);
void router_process_dead(struct router *router, const char *name);
/* The watcher ends, after its pool. From now on released shards are not granted again. */
void router_close(struct router *router);
/* Handles timeouts. Call it at least every half second. */
void router_tick(struct router *router);
/* Sends what the peers have credit for. */
void router_flush(struct router *router);
/* Whether router_flush() would send anything. */
bool router_has_news(const struct router *router);
/* Whether a reconciler waits for the rest of a snapshot, which takes many turns of credit. */
bool router_sends_snapshot(const struct router *router);

struct router_counters {
	uint64_t hellos, refused, busy, whos, unknown_messages, malformed, sequence_gaps, assigns, snapshots, updates,
		absents, pings, peers_lost;
};
const struct router_counters *router_counters(const struct router *router);
size_t router_peer_count(const struct router *router);
/* The name (borrowed) and role of the peer with that connection; false: there is none. */
bool router_peer_named(const struct router *router, const unsigned char *id, size_t id_len, const char **name,
		       enum bus_role *role);
uint64_t router_epoch(const struct router *router);
/* Unsent objects, over all peers. */
size_t router_backlog(const struct router *router);
const struct shard_table *router_shards(const struct router *router);

/* For operators. */
struct router_peer_view {
	const char *name;
	const char *uuid;
	enum bus_role role;
	int64_t received_ms; /* time of its last message */
	uint32_t backlog;    /* keys that wait in it, by its last message */
	size_t unsent;       /* objects to send to it */
	uint64_t in_flight;  /* sent and not acknowledged */
};
/* Calls each(arg, view) for every peer, in no order. */
void router_view_peers(const struct router *router, void (*each)(void *arg, const struct router_peer_view *view),
		       void *arg);

#endif
