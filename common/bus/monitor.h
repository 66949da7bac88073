/* Watches the handshakes of a ZeroMQ socket's connections, with its monitor on the loop. libzmq reports no failed
 * handshake if the first bytes are not of its protocol; it only accepts and ends such a connection. */
#ifndef BUS_MONITOR_H
#define BUS_MONITOR_H

#include <stdbool.h>

#include "common/bus/poll.h"

enum bus_news {
	NEWS_ACCEPTED,
	NEWS_DONE,    /* a handshake */
	NEWS_BROKEN,  /* the connection ended during a handshake, or the handshake took too long */
	NEWS_FOREIGN, /* the other end has another mechanism or another key, or breaks the protocol */
	NEWS_DENIED,  /* the other end refuses our key */
};

/* endpoint: of the connection at this end, or its peer's if this end has connected. Borrowed. */
typedef void bus_news_fn(void *arg, enum bus_news what, const char *endpoint);

/* Zero-initialise. */
struct bus_monitor {
	void *watched;
	void *pair;
	struct bus_poll poll;
	bus_news_fn *on_news;
	void *arg;
};

/* Before the socket is bound or connected. on_news() may not free the socket or the monitor. */
void bus_monitor_start(struct bus_monitor *monitor, struct ev_loop *loop, void *context, void *socket,
		       bus_news_fn *on_news, void *arg);
/* Call it before the socket is closed; also if the monitor was never started. */
void bus_monitor_stop(struct bus_monitor *monitor);

#endif
