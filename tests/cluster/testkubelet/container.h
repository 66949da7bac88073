/* What the two halves of the runtime share: runtime.c decides when a container runs, container.c makes it run. */
#ifndef TESTKUBELET_CONTAINER_H
#define TESTKUBELET_CONTAINER_H

#include <ev.h>

#include "tests/cluster/testkubelet/runlog.h"
#include "tests/cluster/testkubelet/runtime.h"

enum restart_policy { RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_NEVER };

struct runtime_container {
	struct runtime_pod *pod;
	const json_t *spec;
	size_t index;                 /* in the report */
	pid_t pid;                    /* of the supervisor, 0 when not running */
	int error_fd;                 /* -1 when not running */
	struct run_log *log;          /* of the present or last run; NULL: it has not run */
	struct run_log *previous_log; /* of the run before that, or NULL */
	double delay_s;
	ev_child child;
	ev_timer restart;
};

struct runtime_pod {
	struct runtime *runtime;
	json_t *object;
	struct pod_report *report;
	struct podenv_facts facts; /* strings owned */
	runtime_changed *changed;
	void *arg;
	enum restart_policy policy;
	char *name;      /* namespace/name, for messages */
	char *log_dir;   /* <root>/<namespace>_<pod> */
	char *dir;       /* log_dir/<uid> */
	char *host_name; /* as the containers see it */
	bool stopping;
	bool failed; /* by decree */
	bool released;
	ev_timer kill;
	ev_timer notify; /* tells the owner from the loop */
	struct runtime_container *containers;
	size_t count;
};

/* The Pod's directories, see runtime.h. 0, or -1 and *err. */
int runtime_pod_make_dirs(const struct runtime_pod *pod, struct error *err);

/* Starts the container: sets pid and error_fd. 0, or -1 and *err. */
int runtime_container_launch(struct runtime_container *container, struct error *err);
/* What the container says about its end, or NULL. The caller frees. */
char *runtime_container_message(const struct runtime_container *container, int code);

#endif
