/* The parts that a watcher has only while it leads (ARCHITECTURE.md §3.7): the router with its shard table, and the
 * pool of reconcilers. Each term creates new ones and frees them at its end. */
#ifndef WATCHER_TERM_H
#define WATCHER_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bus/socket.h"
#include "common/config/config.h"
#include "common/kube/kubeconfig.h"
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
	const struct kube_config *api_server; /* our own; the pool's children must use it, too */
	struct cache *cache;
	struct bus_socket *socket;
	const char *endpoint; /* of the bus, for the pool */
	double qps;           /* shared by the reconcilers */
	int32_t burst;
	uint64_t epoch;
	int64_t former_until_ms; /* as in struct shard_options */
	bool live;
	/* Somebody has removed the pool's bus socket, path: the process must end. */
	void (*cut_off)(void *arg, const char *path);
	void (*drained)(void *arg); /* after term_close(): no child is left; it may run within term_close() */
	void *arg;
};

/* Whether the reconcilers' program can be executed. Call it at the start: the first term may begin much later. 0, or -1
 * and *err. */
int term_check(const struct flags *flags, struct error *err);

/* NULL and *err when the reconcilers' program cannot be executed, or if the pool's bus socket is gone. */
struct term *term_new(const struct term_options *options, struct error *err);
/* Its children are killed, and gone, when this returns. NULL is fine. */
void term_free(struct term *term);

struct router *term_router(const struct term *term);
/* NULL: there is none. */
struct pool *term_pool(const struct term *term);

/* The process ends: released shards are not granted again, and the pool drains. */
void term_close(struct term *term);
/* Whether members have released all shards. */
bool term_drained(const struct term *term);

#endif
