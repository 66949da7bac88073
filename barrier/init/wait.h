/* The init container's work from its environment to its exit code (CONTRACT.md §16). */
#ifndef INIT_WAIT_H
#define INIT_WAIT_H

#include "barrier/init/environment.h"
#include "common/framework/codes.h"

/* 201 makes the controller back off and retry, so that the gang gives its resources back; 210 makes it give up. */
enum {
	EXIT_PASSED = 0,
	EXIT_OTHER = 1,
	EXIT_TIMED_OUT = CODE_CONTAINER_TRANSIENT_CONFLICT_FAILED,
	EXIT_NEVER = CODE_CONTAINER_PERMANENT_FAILED,
};

struct wait_directories {
	const char *output; /* where framework.json and injector.sh are written */
	const char *shared; /* and here too, if it is a directory */
};

/* Asks until every Task has an IP, the Framework turns out not to exist, or the time is over: the verdict is the last
 * answer's then. Writes the files when it passes. Logs a line for each answer. */
int wait_for_gang(const struct environment *environment, const struct wait_directories *directories);

#endif
