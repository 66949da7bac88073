/* What becomes of a ZeroMQ socket's connections before their first message: its monitor, on the loop. libzmq says
 * nothing of a handshake whose first bytes are none of its own protocol; such a connection is only accepted and ended.
 */
#ifndef BUS_MONITOR_H
#define BUS_MONITOR_H

#include <stdbool.h>

#include "common/bus/poll.h"

enum bus_news {
	NEWS_ACCEPTED,
	NEWS_DONE,    /* a handshake */
	NEWS_BROKEN,  /* the connection ended in the middle of one, or it took too long */
	NEWS_FOREIGN, /* what came is not what the protocol has: another mechanism, another key */
	NEWS_DENIED,  /* the other end does not let our key in */
};

typedef void bus_news_fn(void *arg, enum bus_news what);

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
/* Before the socket is closed; of one never started, too. */
void bus_monitor_stop(struct bus_monitor *monitor);

/* What to say of a handshake that failed. */
const char *bus_news_text(enum bus_news what);

#endif
