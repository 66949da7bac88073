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
	const char *endpoint;         /* of the bus, for --bus; ipc:// */
	const char *http;             /* HOST:PORT of the first child; each further one has the next port; NULL: none */
	const char *const *arguments; /* further arguments for every child; NULL-terminated; NULL: none */
	int64_t drain_ms;             /* after SIGTERM, until SIGKILL */
	int64_t backoff_first_ms;     /* 0: 1 s; for tests */
};

struct pool_handler {
	/* The child with that member name has ended. */
	void (*died)(void *arg, const char *name);
	/* Somebody has removed the bus socket, path: no child can connect to it any more. In place of a restart; the
	 * pool is to be stopped. */
	void (*cut_off)(void *arg, const char *path);
	/* After pool_stop(): none is left. */
	void (*drained)(void *arg);
};

enum {
	POOL_NAME_SIZE = 24,
	POOL_HTTP_SIZE = 280,
	POOL_LOOK_MS = 1000, /* how long a pause between two calls of pool_kill_silent() counts, at most */
};

/* The member name of slot 0..workers-1: "pool-0". Returns out. */
const char *pool_name(int slot, char out[POOL_NAME_SIZE]);

/* The --http of the child of a slot. Port 0 stays 0. -1 and *err if http is not HOST:PORT, or if the port is too
 * large. */
int pool_http(const char *http, int slot, char out[POOL_HTTP_SIZE], struct error *err);

/* Forks them. loop is the default loop, the only one that reaps children. NULL and *err when the program cannot be
 * executed, or if the bus socket does not exist. */
struct pool *pool_new(struct ev_loop *loop, const struct pool_options *options, const struct pool_handler *handler,
		      void *arg, struct error *err);
/* Sends SIGTERM to all children, and SIGKILL after drain_ms to those that still run; then calls drained(), perhaps
 * before it returns. */
void pool_stop(struct pool *pool);
/* Sends a signal to all that run (SIGHUP). */
void pool_signal(struct pool *pool, int signal_number);
/* The child with that member name sent a message, which was read at time_ms. */
void pool_heard(struct pool *pool, const char *name, int64_t time_ms);
/* Kills each child that has sent nothing for longer than limit_ms, since its last message or its start: it hangs. Call
 * it at least once in POOL_LOOK_MS, with CLOCK_BOOTTIME. A longer pause was one of this process or its machine, so
 * messages may still wait in the socket. After pool_stop() it does nothing. */
void pool_kill_silent(struct pool *pool, int64_t now_ms, int64_t limit_ms);
/* Kills what still runs. */
void pool_free(struct pool *pool);
/* 0 when it does not run now. */
pid_t pool_pid(const struct pool *pool, int slot);
uint64_t pool_restarts(const struct pool *pool);
/* Restarts of that slot; and how its last process ended, for example "was killed by signal 9 (Killed)"; "" if none has
 * ended. Borrowed. */
uint64_t pool_slot_restarts(const struct pool *pool, int slot);
const char *pool_slot_end(const struct pool *pool, int slot);
/* Counts of ended children by reason ("exit 1", "signal 9"), including children that the pool stopped. Calls each(arg,
 * …) for every reason that occurred, in a fixed order. */
void pool_ends(const struct pool *pool, void (*each)(void *arg, const char *reason, uint64_t count), void *arg);

/* Makes a directory for the bus socket that only this user can enter, below $TMPDIR or /tmp. Removes the directories
 * that killed watchers left there. The caller frees *directory and *endpoint. *lock is a descriptor (or -1) that keeps
 * other watchers, and systemd-tmpfiles, from removing the directory until pool_directory_remove(), or until this
 * process ends in any way. */
int pool_directory_make(char **directory, int *lock, char **endpoint, struct error *err);
/* Removes the socket and the directory, and closes lock. */
void pool_directory_remove(const char *directory, int lock);

#endif
