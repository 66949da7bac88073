/* Waits for the gang, writes the files, and chooses the exit code of the init container (CONTRACT.md §16). */
#ifndef INIT_WAIT_H
#define INIT_WAIT_H

#include "barrier/init/environment.h"
#include "common/framework/codes.h"

/* With fancyRetryPolicy, the controller retries after 201 with a delay, in which the gang holds no resources, and does
 * not retry after 210. */
enum {
	EXIT_PASSED = 0,
	EXIT_OTHER = 1,
	EXIT_TIMED_OUT = CODE_CONTAINER_TRANSIENT_CONFLICT_FAILED,
	EXIT_NEVER = CODE_CONTAINER_PERMANENT_FAILED,
};

struct wait_directories {
	const char *output; /* directory of framework.json and injector.sh */
	const char *shared; /* directory for copies of them, if it exists */
};

/* Asks until every Task has an IP, the Framework does not exist, or the time is over; the last answer then decides on
 * the exit code. Writes the files if every Task has an IP. Logs a line for each answer. Returns the exit code. */
int wait_for_gang(const struct environment *environment, const struct wait_directories *directories);

#endif
