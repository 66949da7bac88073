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
	int now_ms;                       /* how long the present turn waits; 0: for nothing but the first event */
	const struct kube_client *client; /* NULL: none yet */
};

/* From now on a turn of the loop begins with the first event, if fewer than 1000 / most_ms turns a second were wanted
 * lately; otherwise most_ms after the turn before. While the client's answers are waited for, or it sends a large
 * body (kube_client_patience_ms), it begins 2 to most_ms after the turn before. Timers are not delayed. The gather must
 * outlive the loop. */
void gather_start(struct gather *gather, struct ev_loop *loop, int most_ms);
/* Another most_ms from now on. */
void gather_set(struct gather *gather, int most_ms);
/* The most_ms of a process that handles a part of a stream, if alone_ms is that of one that handles the whole: all
 * processes together then have as many turns as that one. 120 at most; alone_ms if the part is 0. */
int gather_part_ms(int alone_ms, unsigned part, unsigned whole);
/* The most_ms of a process each of whose turns may wake so many others: alone_ms for up to four of them, 40 at most. */
int gather_peers_ms(int alone_ms, unsigned peers);
/* The client whose calls count; NULL: none any more. Borrowed. */
void gather_for(struct gather *gather, const struct kube_client *client);

#endif
