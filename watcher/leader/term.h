/* What a watcher has only while it leads (ARCHITECTURE.md §3.7): the router with its table of shards, and the pool of
 * reconcilers. Each term begins with new ones, and leaves nothing of them behind. */
#ifndef WATCHER_TERM_H
#define WATCHER_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bus/socket.h"
#include "common/config/config.h"
#include "watcher/flags.h"
#include "watcher/pool/pool.h"
#include "watcher/shards/router.h"
#include "watcher/view/cache.h"

struct ev_loop;
struct term;

/* Everything is borrowed, and outlives the term. */
struct term_options {
	struct ev_loop *loop;
	const struct flags *flags;
	const struct config *config;
	struct cache *cache;
	struct bus_socket *socket;
	const char *endpoint; /* of the bus, for the pool */
	double qps;           /* to be shared out over the reconcilers */
	int32_t burst;
	uint64_t epoch;
	int64_t former_until_ms; /* as in struct shard_options */
	bool live;
	void (*drained)(void *arg); /* after term_close(): no child is left; perhaps from within */
	void *arg;
};

/* Whether the reconcilers' program can be executed: for the start, as a term may be far off. 0, or -1 and *err. */
int term_check(const struct flags *flags, struct error *err);

/* NULL and *err when the reconcilers' program cannot be executed. */
struct term *term_new(const struct term_options *options, struct error *err);
/* Its children are killed, and gone, when this returns. NULL is fine. */
void term_free(struct term *term);

struct router *term_router(const struct term *term);
/* NULL: there is none. */
struct pool *term_pool(const struct term *term);

/* The end is near: what is let go is granted to nobody, and the pool drains. */
void term_close(struct term *term);
/* Whether nobody acts on shards granted here any more: all were let go. */
bool term_drained(const struct term *term);

#endif
