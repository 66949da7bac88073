/* Who this process is, among all that ever were: for the Lease (ARCHITECTURE.md §3.6). */
#ifndef WATCHER_IDENTITY_H
#define WATCHER_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

/* "HOST_UUID", as client-go's controllers call themselves; cut to size. */
void identity_make(char *out, size_t size);

/* Which process of which machine, Pod ($POD_UID, may be empty) and PID namespace this is:
 * "BOOT-ID/POD/NAMESPACE/PID/START-TIME", where the start is in clock ticks since boot (proc(5)); "" when /proc does
 * not tell. In a Pod of a StatefulSet, "/POD-NAMESPACE/POD-NAME" follows ($POD_NAMESPACE, $STATEFULSET_POD_NAME: to be
 * set only where the process looks after the cluster that it runs in). */
void identity_process(char *out, size_t size);
/* Whether the process that such a text names is known to have ended. It was of this machine's present boot, and either
 * of our PID namespace and is no longer there; or of our Pod in a namespace before ours: a container is started again
 * only when all its processes have ended (a Pod with two watchers must not be told its $POD_UID). Or it was of another
 * Pod of our StatefulSet's name: there is at most one at a time, unless somebody deletes one by force. Its children
 * have ended or been sent SIGKILL by then (PR_SET_PDEATHSIG). */
bool identity_process_ended(const char *process);

#endif
