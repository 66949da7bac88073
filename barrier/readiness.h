/* How many Tasks of each Framework have an IP, as the watcher shows it. This only says when to read the Framework
 * itself: it may lag behind (CONTRACT.md §16.10). */
#ifndef BARRIER_READINESS_H
#define BARRIER_READINESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/bus/message.h"
#include "common/framework/gang.h"

struct readiness;

/* What is known of one Framework. */
struct readiness_entry {
	const char *uid;
	const char *resource_version;
	bool counted; /* false: its compressed status was too much to keep until somebody asked; or it is broken */
	int64_t ready;
	int64_t total;
	const char *missing; /* names of up to five Tasks without an IP, as a JSON array */
};

/* key: "namespace/name" */
struct readiness_handler {
	/* Something about the Framework changed, or it is gone. Not from within readiness_learn(). */
	void (*changed)(void *arg, const char *key);
	/* Whether anyone waits for it. */
	bool (*wanted)(void *arg, const char *key);
};

/* The handler must outlive it. */
struct readiness *readiness_new(const struct readiness_handler *handler, void *arg);
void readiness_free(struct readiness *readiness);

/* What the bus says, as struct member_handler and session_handler describe it; Frameworks only. shard_count: into how
 * many shards keys are cut. */
void readiness_granted(struct readiness *readiness, const struct shard_set *fresh);
void readiness_revoked(struct readiness *readiness, const struct shard_set *shards);
bool readiness_object(struct readiness *readiness, const char *text, size_t len);
void readiness_absent(struct readiness *readiness, const struct bus_absent *absent);
void readiness_complete(struct readiness *readiness, const struct shard_set *shards, uint32_t shard_count);
void readiness_live(struct readiness *readiness, bool live);

/* A Framework that was fetched meanwhile, unpacked; an older one than known changes nothing. */
void readiness_learn(struct readiness *readiness, const struct object_meta *meta, const struct gang *gang);

/* Whether all Frameworks are shown and the watcher's streams are live. */
bool readiness_synced(const struct readiness *readiness);
/* Whether to let people wait: synced, or it was until a moment ago. Who waits is released by a GET of the Framework,
 * so an old view is no danger; if everybody who comes while a watch is resumed were sent away, all of them would ask
 * the API server at the same time. */
bool readiness_admits(const struct readiness *readiness);
/* How long that moment is; default 10 s. For tests. */
void readiness_set_grace(struct readiness *readiness, int64_t ms);
/* false: no such Framework is known. A compressed status is looked into only now. *out is valid until the next call. */
bool readiness_find(struct readiness *readiness, const char *key, struct readiness_entry *out);
/* Frameworks known. */
size_t readiness_count(const struct readiness *readiness);

#endif
