/* The inside of the router: its peers, and what they are told. Only router.c and connections.c include this. */
#ifndef WATCHER_CONNECTIONS_H
#define WATCHER_CONNECTIONS_H

#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"
#include "watcher/shards/outbox.h"
#include "watcher/shards/router.h"

enum { ROUTER_REFUSED_KEPT = 16 };

/* One connection that said HELLO. */
struct connection {
	char name[64];
	char uuid[40];
	enum bus_role role;
	struct shard_member *member; /* reconcilers only */
	uint32_t session;            /* of its last HELLO */
	uint64_t received_sequence;
	uint64_t sent_sequence;
	int64_t received_ms;
	int64_t probe_ms;      /* while it is silent: not before this */
	uint64_t sent_version; /* of the assignment last sent; 0: none yet in this session */
	bool sent_all;         /* the present session's first assignment was sent: the rest are differences */
	struct shard_set shards;
	uint32_t window;
	uint64_t sent_objects; /* UPDATE and ABSENT in this session */
	uint64_t consumed;
	/* Bytes of objects on the way. What comes back counts objects: bytes of those up to a mark, and of those
	 * behind. */
	size_t bytes_marked;
	size_t bytes_since;
	uint64_t mark;
	size_t bytes_before; /* of former sessions, which may be unread until something of this one is read */
	int64_t hello_ms;    /* until when the HELLOs that it said are paid for, at HELLO_MS each */
	uint32_t backlog;
	struct outbox *outbox;
	bool left; /* it is told nothing until it says HELLO; kept for what it has not read */
	bool gone; /* sending failed: freed at the next safe point */
	UT_hash_handle hh;
	size_t id_len;
	unsigned char id[];
};

struct router {
	struct router_ports ports;
	struct router_options options;
	struct cache *cache;
	struct shard_table *shards;
	struct connection *connections;           /* uthash head, by routing id */
	struct connection *owners[BUS_SHARD_MAX]; /* whom changes in a shard are told */
	bool synced;
	bool live;
	struct log_last refused[ROUTER_REFUSED_KEPT]; /* by the uuid: some share one */
	struct buf body;                              /* scratch */
	char reason[160];                             /* the same: of a refusal */
	struct router_counters counters;
};

/* CLOCK_BOOTTIME by the ports. */
int64_t router_now(const struct router *router);

struct connection *connection_find(const struct router *router, const unsigned char *id, size_t id_len);
/* Whether there is room for one more. */
bool connection_fits(const struct router *router, size_t id_len);
/* Which fits. */
struct connection *connection_add(struct router *router, const unsigned char *id, size_t id_len);
/* A HELLO: whether it comes not too soon after others. */
bool connection_may_greet(const struct router *router, struct connection *connection);
/* The new session has its window of objects; bytes that are on the way stay so. */
void connection_greeted(struct connection *connection, uint32_t window);
/* A PING: so many objects were handled; read: so was anything else of this session, and all before it. */
void connection_consumed(struct connection *connection, uint64_t consumed, bool read);
/* It is told of changes in no shard any more. */
void connection_disown(struct router *router, const struct connection *connection);
void connection_remove(struct router *router, struct connection *connection);
/* It is no peer any more. As long as it is connected, what it has not read stays counted: it may come back. */
void connection_leave(struct router *router, struct connection *connection);
/* Whether it has said nothing for so long that it hardly lives. */
bool connection_silent(const struct router *router, const struct connection *connection);
/* Forgets those, but for what may hold objects that it has not read: that must stay counted while it is connected. */
void router_forget_silent(struct router *router);
/* Removes the peers that are marked gone. Only where no caller holds on to one. */
void router_reap(struct router *router);

/* Answers for someone who may be no peer, to what was received. WHO: 0, or -1 when it is not connected any more. */
int router_who(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *received);
void router_refuse(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *received,
		   bool final, const char *reason);
/* Sends a head, whose session, sequence and epoch it fills in, with router->body; marks the peer gone
 * and returns false when that fails. */
bool router_send(struct router *router, struct connection *connection, struct bus_head *head);

/* Whether a peer of that role is told of such an object. */
bool role_concerned(enum bus_role role, const struct cache_entry *entry);
/* Brings the table of shards up to date and tells those whose assignment changed. May remove peers. */
void router_update(struct router *router);

#endif
