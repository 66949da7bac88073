/* How a loop gathers its input (common/README.md §1.7). Waking costs more than what most events ask for, and libcurl
 * looks at all calls of an HTTP/2 connection for each piece of data that comes. So an event that comes alone is handled
 * at once, and those of a stream are handled together. */
#ifndef PROCESS_GATHER_H
#define PROCESS_GATHER_H

#include <ev.h>

#include "common/base/rate.h"

struct kube_client;

struct gather {
	ev_prepare prepare;
	struct token_bucket at_once; /* turns that begin with the first event */
	int most_ms;
	const struct kube_client *client; /* NULL: none yet */
};

/* From now on a turn of the loop begins with the first event, if fewer than 1000 / most_ms turns a second were wanted
 * lately; otherwise most_ms after the turn before. While the client's answers are waited for (kube_client_patience_ms),
 * it begins 2 to most_ms after the turn before. Timers are not delayed. The gather must outlive the loop. */
void gather_start(struct gather *gather, struct ev_loop *loop, int most_ms);
/* The client whose calls count; NULL: none any more. Borrowed. */
void gather_for(struct gather *gather, const struct kube_client *client);

#endif
