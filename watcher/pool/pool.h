/* Reconcilers as children of this process (ARCHITECTURE.md §3.8): forked, supervised, restarted with backoff, and
 * drained. They connect to a bus socket in a private directory. */
#ifndef WATCHER_POOL_H
#define WATCHER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"

struct ev_loop;
struct pool;

struct pool_options {
	const char *program;          /* path of fc-reconciler */
	int workers;                  /* >= 1 */
	const char *endpoint;         /* of the bus, for --bus */
	const char *http;             /* HOST:PORT for --http of the first child, the next port for the next; NULL */
	const char *const *arguments; /* further ones for every child; NULL-terminated, NULL for none */
	int64_t drain_ms;             /* after SIGTERM, until SIGKILL */
	int64_t backoff_first_ms;     /* 0: 1 s; for tests */
};

struct pool_handler {
	/* The process of that member name was reaped. */
	void (*died)(void *arg, const char *name);
	/* After pool_stop(): none is left. */
	void (*drained)(void *arg);
};

enum { POOL_NAME_SIZE = 24, POOL_HTTP_SIZE = 280 };

/* The member name of slot 0..workers-1: "pool-0". Returns out. */
const char *pool_name(int slot, char out[POOL_NAME_SIZE]);

/* Where the child of a slot serves, of http as above: port 0 for all stays 0. -1 and *err naming what was found where
 * HOST:PORT was expected, or that the ports run out. */
int pool_http(const char *http, int slot, char out[POOL_HTTP_SIZE], struct error *err);

/* Forks them. loop is the default loop, the only one that reaps children. NULL and *err when the program cannot be
 * executed. */
struct pool *pool_new(struct ev_loop *loop, const struct pool_options *options, const struct pool_handler *handler,
		      void *arg, struct error *err);
/* Sends SIGTERM to all, SIGKILL to those left after drain_ms; drained() follows, perhaps from within. */
void pool_stop(struct pool *pool);
/* Sends a signal to all that run (SIGHUP). */
void pool_signal(struct pool *pool, int signal_number);
/* Kills what still runs. */
void pool_free(struct pool *pool);
/* 0 when it does not run now. */
pid_t pool_pid(const struct pool *pool, int slot);
uint64_t pool_restarts(const struct pool *pool);
/* Starts of that slot but for the first; and how its last process ended, "was killed by signal 9 (Killed)", "" if none
 * did. Borrowed. */
uint64_t pool_slot_restarts(const struct pool *pool, int slot);
const char *pool_slot_end(const struct pool *pool, int slot);
/* How often children ended so, those that were told to included: reason "exit 1", "signal 9". Calls each(arg, …) for
 * every reason that there was, in a fixed order. */
void pool_ends(const struct pool *pool, void (*each)(void *arg, const char *reason, uint64_t count), void *arg);

/* Makes a directory that only we can enter, for the bus socket, and names the endpoint in it; below $XDG_RUNTIME_DIR,
 * or $TMPDIR or /tmp. What watchers that were killed have left there goes. *directory and *endpoint are the caller's to
 * free. */
int pool_directory_make(char **directory, char **endpoint, struct error *err);
/* Removes the socket and the directory. */
void pool_directory_remove(const char *directory);

#endif
