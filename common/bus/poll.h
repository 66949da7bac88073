/* Waits on a libev loop for messages of a ZeroMQ socket (common/README.md §8.1). ZMQ_FD signals only that the state may
 * have changed since ZMQ_EVENTS was last read, and can stop signalling while messages wait. So ZMQ_EVENTS is read in
 * the loop's prepare phase, after everything else that could have sent; when messages wait, an idle watcher keeps the
 * loop from sleeping; the check phase reads them. */
#ifndef BUS_POLL_H
#define BUS_POLL_H

#include <ev.h>
#include <stdbool.h>

struct bus_poll {
	struct ev_loop *loop;
	void *socket;
	void (*drain)(void *arg);
	void *arg;
	bool signalled; /* the descriptor, in this turn */
	ev_io io;
	ev_prepare prepare;
	ev_check check;
	ev_idle idle;
};

/* Calls drain when messages can be received, and again while it leaves some: it may read a bounded number, and may stop
 * the poll. The socket is borrowed. */
void bus_poll_start(struct bus_poll *poll, struct ev_loop *loop, void *zmq_socket, void (*drain)(void *arg), void *arg);
/* Before the socket is closed; any number of times. */
void bus_poll_stop(struct bus_poll *poll);

#endif
