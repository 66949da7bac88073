/* The file system a container sees: the host's, with a /dev, /proc and mounts of its own.
 * Runs in the container's first process, inside its own mount namespace. */
#ifndef TESTKUBELET_SANDBOX_H
#define TESTKUBELET_SANDBOX_H

#include "tests/cluster/testkubelet/launch.h"

/* Moves the calling process into new user (unless root), mount, UTS and PID namespaces; the PID namespace starts
 * with its next child. 0, or -1 and errno. */
int sandbox_unshare(void);
/* Builds the root directory on launch->stage and enters it. 0, or -1 and *err. */
int sandbox_enter(const struct launch *launch, struct error *err);

#endif
