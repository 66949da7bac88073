/* The watcher's side of the bus (ARCHITECTURE.md §3.4): who is connected, what each peer was told, and what it has yet
 * to be told. What travels is the latest state of an object: each peer has a queue of the objects that it does not know
 * the latest state of, and as many messages on the way as it gave credit for. No I/O of its own: messages come in by
 * router_receive() and go out through the ports, so that a test or the simulator can stand in for the socket. */
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
	ROUTER_PEERS_MAX = 2048,                /* connections */
	ROUTER_IN_FLIGHT_MAX = 16 * 1024 * 1024 /* bytes of objects on the way to one of them, but for the last one */
};

struct router_ports {
	/* As bus_send(). When it fails, what the router knows of that connection is dropped, until its HELLO. */
	int (*send)(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const void *body,
		    size_t body_len);
	int64_t (*now_ms)(void *arg); /* CLOCK_BOOTTIME */
	void *arg;
};

struct router_options {
	struct shard_options shards;
	uint64_t epoch;       /* > 0; names the term: a peer that says it knows a newer one is refused, not believed */
	size_t in_flight_max; /* instead of ROUTER_IN_FLIGHT_MAX; 0: that */
	double qps;           /* to be shared out over the reconcilers */
	int32_t burst;
	/* Reconcilers of which name are taken; NULL: of any. */
	bool (*accept)(void *arg, const char *name);
	void *accept_arg;
};

/* The cache's listener, to be handed to cache_new() with the router as its argument, or to be called from another one:
 * `missed` is left NULL. */
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
/* The cache is complete for the first time: from now on shards are granted. */
void router_synced(struct router *router);
/* A list came in the place of a stream's history. What was created and deleted in between only the reconciler knows of
 * that created it: all of them are shown the full state again, which says what does not exist. */
void router_relisted(struct router *router);
/* Whether all streams are live: told to the peers with each PONG. */
void router_set_live(struct router *router, bool live);
/* Pool slots: shard_table_expect(), shard_table_dead(). */
void router_expect(struct router *router, const char *name);
void router_process_dead(struct router *router, const char *name);
/* The watcher is about to end, and its pool before it: shards that are let go are granted to nobody else. */
void router_close(struct router *router);
/* Acts on what time brought; at least every half second. */
void router_tick(struct router *router);
/* Sends what the peers have credit for. */
void router_flush(struct router *router);
/* Whether that is anything. */
bool router_has_news(const struct router *router);

struct router_counters {
	uint64_t hellos, refused, busy, whos, unknown_messages, malformed, sequence_gaps, assigns, snapshots, updates,
		absents, pings, peers_lost;
};
const struct router_counters *router_counters(const struct router *router);
size_t router_peer_count(const struct router *router);
uint64_t router_epoch(const struct router *router);
/* Objects that some peer has yet to be told of, over all peers. */
size_t router_backlog(const struct router *router);
const struct shard_table *router_shards(const struct router *router);

/* For people to look at. */
struct router_peer_view {
	const char *name;
	const char *uuid;
	enum bus_role role;
	int64_t received_ms; /* time of its last word */
	uint32_t backlog;    /* keys that it has yet to work on, by its last word */
	size_t unsent;       /* objects that it has yet to be told of */
	uint64_t in_flight;  /* told, and not yet said to be handled */
};
/* Calls each(arg, view) for every peer, in no order. */
void router_view_peers(const struct router *router, void (*each)(void *arg, const struct router_peer_view *view),
		       void *arg);

#endif
