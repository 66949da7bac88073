/* The status of a Pod as a kubelet reports it, and the patch that writes it. Pure. */
#ifndef TESTKUBELET_PODSTATUS_H
#define TESTKUBELET_PODSTATUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

enum run_state { RUN_WAITING, RUN_RUNNING, RUN_TERMINATED };

/* One container. Strings are owned, NULL where not given; times are unix seconds, 0 where there is none. */
struct container_report {
	char *name;
	char *image;
	bool init;
	enum run_state state;
	char *reason; /* waiting and terminated only, as is message */
	char *message;
	int32_t exit_code;
	int32_t signal;
	int32_t restart_count;
	int64_t started_at;
	int64_t finished_at;
	bool has_last; /* lastState: how the run before this one ended */
	int32_t last_exit_code;
	char *last_reason;
	int64_t last_started_at;
	int64_t last_finished_at;
};

enum pod_report_phase { REPORT_PENDING, REPORT_RUNNING, REPORT_SUCCEEDED, REPORT_FAILED };

/* Zero-initialised: Pending with nothing known. */
struct pod_report {
	enum pod_report_phase phase;
	char *reason;
	char *message;
	char *unschedulable; /* why no node has it: then only this is written. NULL: nobody said so */
	char *pod_ip;        /* NULL: none yet */
	const char *host_ip;
	int64_t start_time;             /* 0: not accepted by a node yet */
	int64_t transition_time;        /* for the conditions */
	bool no_containers;             /* a Pod that failed as a whole */
	struct container_report *items; /* init containers first, each kind in the spec's order */
	size_t count;
};

/* Fills items from the Pod's spec, all waiting: the init containers "PodInitializing" when there are app containers
 * to wait for them, else "ContainerCreating". */
void pod_report_init(struct pod_report *report, const json_t *pod);
void pod_report_free(struct pod_report *report);

bool pod_report_terminal(const struct pod_report *report);
/* Sets one container's end; reason NULL: Completed or Error. message may be NULL. */
void container_report_end(struct container_report *item, int32_t exit_code, const char *reason, const char *message,
			  int64_t now);
void container_report_start(struct container_report *item, int64_t now);
void container_report_wait(struct container_report *item, const char *reason, const char *message);

/* Appends a merge patch for pods/{name}/status. uid makes it fail on a namesake. */
void pod_report_write_patch(struct buf *out, const struct pod_report *report, const char *uid);

#endif
