/* How many Tasks of each Framework have an IP, from the objects that the watcher sends. These can be old, so the
 * numbers only say when to read the Framework from the API server (CONTRACT.md §16.10). */
#ifndef BARRIER_READINESS_H
#define BARRIER_READINESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/bus/message.h"
#include "common/framework/gang.h"

struct readiness;

/* The numbers of one Framework. */
struct readiness_entry {
	const char *uid;
	const char *resource_version;
	/* false: only a read returned the Framework. The watcher may not stream it (--namespaces), or it was deleted
	 * since: no message of the bus will correct the numbers. */
	bool streamed;
	int64_t read_ms; /* when a read returned it last, by CLOCK_BOOTTIME, or 0 */
	bool counted;    /* false: its compressed status was too large to cache, or it cannot be read */
	int64_t ready;
	int64_t total;
	const char *missing; /* names of up to five Tasks without an IP, as a JSON array */
};

/* key: "namespace/name" */
struct readiness_handler {
	/* The Framework changed or was deleted. readiness_learn() does not call it. */
	void (*changed)(void *arg, const char *key);
	/* Whether a request waits for the Framework. */
	bool (*wanted)(void *arg, const char *key);
};

/* The handler must outlive it. */
struct readiness *readiness_new(const struct readiness_handler *handler, void *arg);
void readiness_free(struct readiness *readiness);

/* Handle the messages of the bus about Frameworks, as struct member_handler and session_handler describe them.
 * shard_count: the number of shards of the key space. */
void readiness_granted(struct readiness *readiness, const struct shard_set *fresh);
void readiness_revoked(struct readiness *readiness, const struct shard_set *shards);
bool readiness_object(struct readiness *readiness, const char *text, size_t len);
void readiness_absent(struct readiness *readiness, const struct bus_absent *absent);
void readiness_complete(struct readiness *readiness, const struct shard_set *shards, uint32_t shard_count);
void readiness_live(struct readiness *readiness, bool live);

/* Takes over a Framework that was read from the API server, decompressed. A version older than that of the stream
 * changes nothing. */
void readiness_learn(struct readiness *readiness, const struct object_meta *meta, const struct gang *gang);
/* Drops the Framework if the watcher does not stream it: a read says that there is none, or no request waits for it any
 * more, so that no read would remove it after its deletion. */
void readiness_forget(struct readiness *readiness, const char *key);

/* Whether all Frameworks were received and the watcher's streams are live. */
bool readiness_synced(const struct readiness *readiness);
/* Whether to accept new waiters: while it is synced, and for a grace time after that. An old cache does no harm,
 * because a GET of the Framework decides. If the server refused all requests that arrive while a watch is resumed, all
 * of these clients would ask the API server at the same time. */
bool readiness_admits(const struct readiness *readiness);
/* Sets the grace time; default 10 s. For tests. */
void readiness_set_grace(struct readiness *readiness, int64_t ms);
/* false: the Framework is not cached. Decompresses its status only now. *out is valid until the next call. */
bool readiness_find(struct readiness *readiness, const char *key, struct readiness_entry *out);
/* true: the first call since the cached Framework has this version. */
bool readiness_claim(struct readiness *readiness, const char *key);
/* The number of cached Frameworks. */
size_t readiness_count(const struct readiness *readiness);

#endif
