/* The processes of the embedded cluster: started beside each other, stopped in the reverse order, and named in a file
 * so that another fc-demo can stop them (KEEP=1, then --stop). */
#ifndef DEMO_CHILDREN_H
#define DEMO_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/error.h"

enum { CHILDREN_MAX = 8 };

struct child {
	const char *name; /* "fc-testapi": the program; borrowed */
	char *log;        /* path of its stdout and stderr */
	pid_t pid;        /* 0 once reaped */
	int status;       /* as waitpid gave it */
};

/* Zero-initialise with directory and keep. */
struct children {
	const char *directory; /* of the logs, and of the file of pids; borrowed */
	bool keep;             /* they outlive this process; else they are told to end when it does */
	struct child list[CHILDREN_MAX];
	size_t count;
};

/* Starts the program at path, in a session of its own: what is typed on the terminal does not reach it. Log
 * directory/name.log. argv ends with NULL; name is borrowed. 0, or -1 and *err. */
int children_start(struct children *children, const char *name, const char *path, const char *const *argv,
		   struct error *err);
/* Reaps what has ended; the first child that has, or NULL. Call after SIGCHLD. */
const struct child *children_reap(struct children *children);
/* "ended with status 2", "was ended by signal 9 (Killed)". The caller frees. */
char *child_fate(const struct child *child) __attribute__((returns_nonnull));
/* SIGTERM to the last one started, SIGKILL if it does not end in time, and so on to the first; then to whatever they
 * left behind (this process must be a child subreaper, prctl(2)). Takes a fraction of a second when all is well. */
void children_stop(struct children *children);
void children_free(struct children *children);

/* Stops the processes that a kept demo left behind and removes its directory. 0; or -1 and *err, when it is no
 * directory of a demo, say. */
int children_stop_kept(const char *directory, struct error *err);

/* The last `lines` lines of a log that contain needle (NULL: any), each ended and at most `width` bytes; ""
 * when there are none. The caller frees. */
char *log_tail(const char *path, const char *needle, size_t lines, size_t width) __attribute__((returns_nonnull));
/* Removes a directory and all below it, on its own file system. */
void remove_tree(const char *path);

#endif
