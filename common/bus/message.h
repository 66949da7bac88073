/* The messages between the watcher (ROUTER) and its peers (DEALER): common/README.md §4.
 * A message is a fixed head of little-endian numbers, and a body: a JSON text for control messages, an object's JSON
 * text for UPDATE. On the wire the two are one ZeroMQ frame behind the routing id. */
#ifndef BUS_MESSAGE_H
#define BUS_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/framework/object.h"

enum {
	BUS_PROTOCOL = 4, /* peers with another version are refused with a reason */
	BUS_HEAD_SIZE = 48,
	BUS_BODY_MAX = 16 * 1024 * 1024,
	BUS_BODY_PEER_MAX = 64 * 1024, /* of messages from peers: the two sets of a PING have at most 40 KiB */
	BUS_SHARD_MAX = 4096,
};

enum bus_type {
	/* peer → watcher */
	BUS_HELLO = 1, /* struct bus_hello */
	BUS_PING,      /* struct bus_ping */
	BUS_BYE,       /* the peer drains and leaves; no body */
	/* watcher → peer */
	BUS_WHO,          /* asks for a HELLO with this epoch; no body */
	BUS_ASSIGN,       /* struct bus_assign */
	BUS_PONG,         /* struct bus_pong */
	BUS_UPDATE,       /* one object as it is now; body: its JSON */
	BUS_ABSENT,       /* one object is gone; struct bus_absent */
	BUS_SNAPSHOT_END, /* struct bus_snapshot_end */
	BUS_REFUSE, /* {"reason": …, "final": bool}: final false: another process has the name, another version */
};

/* Little-endian on the wire, in this order after the magic "FC", the protocol, a reserved byte, type, kind, 2 reserved
 * bytes. */
struct bus_head {
	uint8_t protocol;  /* of the sender: BUS_PROTOCOL */
	uint8_t type;      /* enum bus_type */
	uint8_t kind;      /* enum object_kind for UPDATE and ABSENT */
	uint64_t epoch;    /* a watcher's term, or the newest that a peer received (0: none): it ignores older ones */
	uint64_t version;  /* of the assignment this message belongs to (PING: the one of that epoch that is applied) */
	uint64_t sequence; /* counts the messages of one session and direction from 1; a gap means resync (HELLO); 0 in
			      WHO and REFUSE, which belong to no session */
	int64_t time_ms;   /* PING: the sender's CLOCK_BOOTTIME when it was sent; PONG: that time, echoed */
	uint32_t shard;    /* UPDATE, ABSENT: the shard of the object's key */
	uint32_t session;  /* counts the peer's HELLOs from 1; the watcher echoes it, which separates messages sent
			      before a HELLO from later ones */
};

void bus_head_write(const struct bus_head *head, unsigned char out[BUS_HEAD_SIZE]);
/* 0, or -1 and *err for a short frame or a wrong magic. Another protocol is not an error here. */
int bus_head_read(const void *frame, size_t len, struct bus_head *out, struct error *err);

/* A set of shards, one bit each. */
struct shard_set {
	uint64_t bits[BUS_SHARD_MAX / 64];
};

static inline bool shard_set_has(const struct shard_set *set, uint32_t shard)
{
	return shard < BUS_SHARD_MAX && (set->bits[shard / 64] >> (shard % 64) & 1) != 0;
}
void shard_set_add(struct shard_set *set, uint32_t shard);
void shard_set_remove(struct shard_set *set, uint32_t shard);
void shard_set_add_all(struct shard_set *set, const struct shard_set *shards);
void shard_set_remove_all(struct shard_set *set, const struct shard_set *shards);
uint32_t shard_set_count(const struct shard_set *set);
bool shard_set_empty(const struct shard_set *set);

/* Which of `shard_count` equal contiguous parts of the 32-bit hash of "namespace/name" a key falls into. */
uint32_t shard_of_key(const char *ns, const char *name, uint32_t shard_count);

enum bus_role { BUS_ROLE_RECONCILER, BUS_ROLE_BARRIER };

struct bus_hello {
	char name[64];         /* member name: pool slot or StatefulSet ordinal's host name */
	char uuid[40];         /* of this process instance */
	enum bus_role role;    /* a barrier is a read-only peer of every Framework and owns nothing */
	uint32_t shard_count;  /* of the shards in held; 0: none yet */
	struct shard_set held; /* under a live lease */
	uint64_t held_epoch;   /* of the term in which they were granted; 0: nothing was granted yet */
	uint32_t window;       /* credit: how many UPDATE/ABSENT messages may be in flight */
};

struct bus_ping {
	struct shard_set held;
	struct shard_set draining; /* revoked, but calls are still in flight */
	uint64_t consumed; /* UPDATE/ABSENT messages handled on this connection since the HELLO: returns credit */
	uint64_t received; /* sequence of the last message received since the HELLO; the peer has all before it */
	uint32_t backlog;  /* keys that wait for a reconcile or for the rate limit */
};

struct bus_assign {
	uint32_t shard_count;
	struct shard_set shards; /* the whole assignment, not a difference */
	struct shard_set fresh;  /* their full state follows, ended by SNAPSHOT_END of this version */
	int64_t lease_ms;
};

struct bus_pong {
	bool renewed; /* the lease of head.version is renewed from head.time_ms on; false: it is not */
	double qps;   /* this peer's share of kubeClientQps */
	int32_t burst;
	bool live; /* the watcher's streams are live: absence means deletion, and creation timeouts run */
};

struct bus_absent {
	char *ns;
	char *name;
	char *uid; /* "" : no object of that name (of any uid) exists at resource_version */
	char *resource_version;
	char *framework_name; /* of the key it belongs to */
	bool deleting;        /* its last state had a deletionTimestamp, so it is certainly deleted */
};

/* A scope of lists and watches: a namespace, or the whole cluster. Each scope has its own versions. */
struct bus_scope {
	char *ns; /* "" : all namespaces */
	char *resource_version[KIND_COUNT];
};

struct bus_snapshot_end {
	struct shard_set shards;  /* complete now */
	struct bus_scope *scopes; /* the versions at which they are complete; owned */
	size_t scope_count;
};

/* JSON bodies both ways. Readers check every member: 0, or -1 and *err naming it. *_free frees owned strings. */
void bus_hello_write(struct buf *out, const struct bus_hello *hello);
int bus_hello_read(const char *body, size_t len, struct bus_hello *out, struct error *err);
void bus_ping_write(struct buf *out, const struct bus_ping *ping);
int bus_ping_read(const char *body, size_t len, struct bus_ping *out, struct error *err);
void bus_assign_write(struct buf *out, const struct bus_assign *assign);
int bus_assign_read(const char *body, size_t len, struct bus_assign *out, struct error *err);
void bus_pong_write(struct buf *out, const struct bus_pong *pong);
int bus_pong_read(const char *body, size_t len, struct bus_pong *out, struct error *err);
void bus_absent_write(struct buf *out, const struct bus_absent *absent);
int bus_absent_read(const char *body, size_t len, struct bus_absent *out, struct error *err);
void bus_absent_free(struct bus_absent *absent);
void bus_snapshot_end_write(struct buf *out, const struct bus_snapshot_end *end);
int bus_snapshot_end_read(const char *body, size_t len, struct bus_snapshot_end *out, struct error *err);
void bus_snapshot_end_free(struct bus_snapshot_end *end);
/* Adds a scope. The caller sets its versions (owned strings). Borrowed until the next one is added. */
struct bus_scope *bus_snapshot_end_add(struct bus_snapshot_end *end, const char *ns);
/* The scope that contains a namespace; NULL: it is not watched. */
const struct bus_scope *bus_snapshot_end_scope(const struct bus_snapshot_end *end, const char *ns);

/* REFUSE. */
struct bus_refuse {
	char reason[256]; /* for people; cut */
	bool final;       /* the peer need not try again */
};
void bus_refuse_write(struct buf *out, const struct bus_refuse *refuse);
int bus_refuse_read(const char *body, size_t len, struct bus_refuse *out, struct error *err);

#endif
