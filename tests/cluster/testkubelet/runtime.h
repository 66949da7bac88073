/* Runs Pods for real: each container as local processes, init containers first, restartPolicy, termination message,
 * SIGTERM then SIGKILL. What it does it writes into the Pod's report; who reports it is not its business.
 *
 * Files below the root directory:
 *   <namespace>_<pod>/<container>.log   stdout and stderr of all runs; kept
 *   <namespace>_<pod>/<uid>/            removed with the Pod: a working directory per container, its termination
 *                                       message, the emptyDir volumes, the Pod's /etc/hosts
 * Where namespaces are not allowed, volumes and /etc/hosts cannot be shown to the processes; the termination message
 * goes to the file named by $TERMINATION_MESSAGE_PATH there. */
#ifndef TESTKUBELET_RUNTIME_H
#define TESTKUBELET_RUNTIME_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "tests/cluster/testkubelet/podenv.h"
#include "tests/cluster/testkubelet/podstatus.h"

struct ev_loop;
struct run_log;
struct runtime_pod;

/* Borrowed by the Pods as long as they live. */
struct runtime {
	struct ev_loop *loop; /* the default one: libev reaps children there only */
	const char *root;
	const char *const *pod_env; /* "NAME=value", set in each container before its own variables */
	size_t pod_env_count;
	const char *image_bin; /* put first in every PATH, or NULL */
	/* NULL, or a directory with the files of volumes: configmap/NAME, secret/NAME, and account/NAME with the token
	 * of a service account (a projected volume) */
	const char *volumes;
	bool isolate;     /* launch_can_isolate() */
	size_t processes; /* containers running now, of released Pods too */
};

/* Called, never from within a call of the owner's, whenever the report changed or the last process ended. */
typedef void runtime_changed(void *arg);

/* pod is kept (a reference), report is written until runtime_pod_release; pod_ip and so on of facts are copied.
 * Nothing runs before runtime_pod_start. NULL and *err when the Pod's directories cannot be made. */
struct runtime_pod *runtime_pod_new(struct runtime *runtime, json_t *pod, struct pod_report *report,
				    const struct podenv_facts *facts, runtime_changed *changed, void *arg,
				    struct error *err);
/* Replaces the Pod's /etc/hosts. */
void runtime_pod_write_hosts(struct runtime_pod *pod, const char *text, size_t len);
void runtime_pod_start(struct runtime_pod *pod);
/* SIGTERM, and SIGKILL after grace_ms. Again with less time left: that counts. */
void runtime_pod_stop(struct runtime_pod *pod, int64_t grace_ms);
/* The same, and the Pod counts as Failed whatever its containers say. */
void runtime_pod_fail(struct runtime_pod *pod, int64_t grace_ms);
/* No process is left, and none will be started. */
bool runtime_pod_ended(const struct runtime_pod *pod);
/* What a container's present or last run prints, or the run before that one; NULL if there was none. Borrowed. */
struct run_log *runtime_pod_log(const struct runtime_pod *pod, const char *container, bool previous);
/* Kills what still runs. The report is not touched any more and changed() not called; the memory goes when the
 * last process has ended. */
void runtime_pod_release(struct runtime_pod *pod);

/* Removes a directory and all below it, on its own file system. */
void runtime_remove_tree(const char *path);

#endif
