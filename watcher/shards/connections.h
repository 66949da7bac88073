/* Inside the router: its peers, and the messages to them. Only router.c and connections.c include this. */
#ifndef WATCHER_CONNECTIONS_H
#define WATCHER_CONNECTIONS_H

#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"
#include "common/base/rate.h"
#include "watcher/shards/outbox.h"
#include "watcher/shards/router.h"

enum { ROUTER_REFUSED_KEPT = 16 };

/* Log lines that a peer can cause as often as it likes. Each has a rate of its own. */
enum router_line { LINE_MALFORMED, LINE_LEAVES, LINE_REFUSED, ROUTER_LINES };

/* A connection that sent HELLO. */
struct connection {
	char name[64];
	char uuid[40];
	enum bus_role role;
	struct shard_member *member; /* reconcilers only */
	uint32_t session;            /* of its last HELLO */
	uint64_t received_sequence;
	uint64_t sent_sequence;
	int64_t received_ms;
	int64_t probe_ms;      /* next WHO to a silent peer, at the earliest */
	uint64_t sent_version; /* of the assignment last sent; 0: none yet in this session */
	bool sent_all;         /* the first assignment of this session was sent; later ones are differences */
	struct shard_set shards;
	uint32_t window;
	uint64_t sent_objects; /* UPDATE and ABSENT in this session */
	uint64_t consumed;
	/* Bytes of objects in flight. Peers acknowledge objects, not bytes: bytes up to a marked object, and bytes
	 * after it. */
	size_t bytes_marked;
	size_t bytes_since;
	uint64_t mark;
	size_t bytes_before; /* of former sessions; they count until the peer reads a message of this one */
	int64_t hello_ms;    /* rate limit of HELLOs: each adds HELLO_MS */
	uint32_t backlog;
	struct outbox *outbox;
	bool left; /* gets no messages until it sends HELLO; kept to count the bytes that it has not read */
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
	struct connection *owners[BUS_SHARD_MAX]; /* get the changes of a shard */
	bool synced;
	bool live;
	struct log_last refused[ROUTER_REFUSED_KEPT]; /* by the uuid: some share one */
	struct token_bucket lines[ROUTER_LINES];
	struct buf body;  /* scratch */
	char reason[160]; /* scratch: of a refusal */
	struct router_counters counters;
};

/* CLOCK_BOOTTIME by the ports. */
int64_t router_now(const struct router *router);

struct connection *connection_find(const struct router *router, const unsigned char *id, size_t id_len);
/* Whether there is room for one more. */
bool connection_fits(const struct router *router, size_t id_len);
/* Only if connection_fits(). */
struct connection *connection_add(struct router *router, const unsigned char *id, size_t id_len);
/* Whether the peer may send a HELLO now: its rate is limited. */
bool connection_may_greet(const struct router *router, struct connection *connection);
/* Begins a session with that window of objects. Bytes in flight stay counted. */
void connection_greeted(struct connection *connection, uint32_t window);
/* A PING acknowledges so many objects. read: the peer has read a message of this session, and so all earlier ones. */
void connection_consumed(struct connection *connection, uint64_t consumed, bool read);
/* Stops sending changes of any shard to the peer. */
void connection_disown(struct router *router, const struct connection *connection);
void connection_remove(struct router *router, struct connection *connection);
/* It stops being a peer. While it is connected, its unread bytes stay counted, because it may return. */
void connection_leave(struct router *router, struct connection *connection);
/* Whether it sent nothing for so long that its process has probably ended. */
bool connection_silent(const struct router *router, const struct connection *connection);
/* Removes silent peers, except those with unread objects: these stay counted while they are connected. */
void router_forget_silent(struct router *router);

/* Answers to the received message of a connection that may be no peer. router_who: 0, or -1 if it is no longer
 * connected. */
int router_who(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *received);
void router_refuse(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *received,
		   bool final, const char *reason);
/* Sends a head, whose session, sequence and epoch it fills in, with router->body; marks the peer gone
 * and returns false when that fails. */
bool router_send(struct router *router, struct connection *connection, struct bus_head *head);

/* Updates the shard table and sends changed assignments. May remove peers. */
void router_update(struct router *router);

#endif
