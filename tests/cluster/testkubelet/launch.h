/* Starts one container as local processes and makes sure that all of them end.
 *
 *   fc-testkubelet ── supervisor ── init of a PID namespace ── the command (and whatever it starts)
 *
 * The supervisor is told to end everything when the kubelet dies (PR_SET_PDEATHSIG); the death of a PID namespace's
 * init kills all in it, whatever sessions or process groups they are in. Where namespaces are not allowed, the
 * supervisor is a subreaper instead and kills the descendants it can find. */
#ifndef TESTKUBELET_LAUNCH_H
#define TESTKUBELET_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/error.h"

/* A file or directory of the host, seen at target by the container. */
struct launch_mount {
	char *source;
	char *target; /* absolute */
	bool read_only;
};

/* All strings are borrowed during launch_start only. */
struct launch {
	char **argv;
	char **envp; /* PATH from here finds argv[0] */
	const char *cwd;
	const char *log_path;  /* stdout and stderr are appended to it */
	const char *host_name; /* of the container's UTS namespace */
	const char *stage;     /* an empty directory to build the container's root on; NULL: no namespaces */
	const struct launch_mount *mounts;
	size_t mount_count;
};

/* Exit codes of a container that could not be started, as Docker had them. */
enum { LAUNCH_EXIT_ERROR = 125, LAUNCH_EXIT_NOT_EXECUTABLE = 126, LAUNCH_EXIT_NOT_FOUND = 127 };

/* The supervisor's pid, to be waited for; its exit status is the container's exit code, 128 + n after signal n.
 * *error_fd: after the end, one line there says why the container could not be started, if it could not; the
 * caller closes it. -1 and *err when nothing was started. */
pid_t launch_start(const struct launch *launch, int *error_fd, struct error *err);
/* SIGTERM to the command's process group. */
void launch_terminate(pid_t supervisor);
/* SIGKILL to everything; the supervisor ends when all is gone. */
void launch_kill(pid_t supervisor);

/* Whether this process may make the namespaces that a stage needs (tried once, in a child). */
bool launch_can_isolate(void);

#endif
