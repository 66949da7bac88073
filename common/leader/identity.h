/* Unique names of this process, for the Lease (ARCHITECTURE.md §3.6). */
#ifndef LEADER_IDENTITY_H
#define LEADER_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

/* "HOST_UUID", as client-go's controllers call themselves; cut to size. */
void identity_make(char *out, size_t size);

/* Which process of which machine, Pod ($POD_UID, may be empty) and PID namespace this is:
 * "BOOT-ID/POD/NAMESPACE/PID/START-TIME", where the start is in clock ticks since boot (proc(5)); "" if /proc does not
 * have these. In a Pod of a StatefulSet, "/POD-NAMESPACE/POD-NAME" follows ($POD_NAMESPACE, $STATEFULSET_POD_NAME: set
 * these only if the process watches the cluster that it runs in). */
void identity_process(char *out, size_t size);
/* Whether the process that such a text names has certainly ended. There are three such cases. It ran on this machine
 * since the last boot, in our PID namespace, and no longer exists. Or it ran in our Pod, in an earlier PID namespace: a
 * container restarts only after all its processes have ended (so do not set $POD_UID in a Pod with two watchers). Or it
 * ran in another Pod with our StatefulSet Pod's name: at most one exists at a time, unless somebody deletes one by
 * force. By then its children have ended or received SIGKILL (PR_SET_PDEATHSIG). */
bool identity_process_ended(const char *process);

#endif
