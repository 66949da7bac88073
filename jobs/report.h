/* What users are told of a job: Events and log lines. */
#ifndef JOBS_REPORT_H
#define JOBS_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "jobs/request.h"

/* Posts an Event, unless it was the last one already: a step is taken again and again. A change of the job's spec or
 * status makes it news again. Returns whether it was posted. */
bool say(struct act *act, struct item *item, const char *type, const char *reason, const char *message);

/* What did not succeed. */
enum trouble { TROUBLE_READING, TROUBLE_CREATING, TROUBLE_UPDATING, TROUBLE_DELETING };

/* Tells of a request that failed. The step is taken again after a while, from what is stored then. Returns how long
 * that is, in milliseconds. */
int64_t try_again(struct act *act, struct item *item, const struct kube_answer *answer, enum trouble trouble);

#endif
