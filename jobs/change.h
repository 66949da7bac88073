/* Creating and changing the Framework of a job. */
#ifndef JOBS_CHANGE_H
#define JOBS_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "jobs/act.h"

#define EXECUTION_TYPE "executionType"

/* Creates the Framework. If the name is in use, its Framework is read. */
void change_create(struct act *act, struct item *item);

/* Reads the Framework, which the watch does not show, or of which the store has the identity alone. The store gets it,
 * or item->absent becomes true. */
void change_read(struct act *act, struct item *item);

enum change_result {
	CHANGE_NONE,  /* the Framework is as wanted */
	CHANGE_SENT,  /* a request is on its way */
	CHANGE_LATER, /* one is due in *wait_ms */
	CHANGE_OLD,   /* the Framework was made from a later version of the job, which the watch is to show */
};

/* Changes the Framework, which is the job's and was parsed, if its spec or its note are not as wanted. stop: it is to
 * be stopped. If somebody else changes it again and again, or changes are refused, ever more rarely. */
enum change_result change_make(struct act *act, struct item *item, bool stop, int64_t *wait_ms);

#endif
