/* What a Framework's status says of the Tasks of a role, in the words of jobs. */
#ifndef JOBS_TASKS_H
#define JOBS_TASKS_H

#include "common/framework/status.h"

struct task_counts {
	int64_t pending;
	int64_t active; /* their Pods run */
	int64_t succeeded;
	int64_t failed;     /* their last Pod failed, and no other one runs yet */
	int64_t restarting; /* of those that failed: they are retried */
	int64_t stopped;    /* Pods that ran when the Framework's attempt ended */
};

/* framework NULL, or a role that it does not have: zeroes. */
void tasks_count(const struct framework_status *framework, const char *role, struct task_counts *out);
/* Retries of all Tasks. */
int64_t tasks_retried(const struct framework_status *framework);
/* Whether the Task 0 of the role has succeeded for good. */
bool tasks_first_succeeded(const struct framework_status *framework, const char *role);

/* Whether the Framework's result is decided. An attempt that was suspended is no result; other attempts are not
 * retried, because jobs make Frameworks without retries. */
enum tasks_end { TASKS_GO_ON, TASKS_SUCCEEDED, TASKS_FAILED };
enum tasks_end tasks_end(const struct framework_status *framework);

#endif
