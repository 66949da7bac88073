/* The monitor of a ZeroMQ socket; see monitor.h. An event is two frames: a number of 16 bits and a value of 32, and an
 * address. */
#include "common/bus/monitor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum {
	EVENTS = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
		 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH,
	EVENT_SIZE = 6,
	EVENTS_PER_TURN = 256,
	ADDRESS_MAX = 64,
};

static void hand_on(const struct bus_monitor *monitor, uint16_t event, const char *endpoint)
{
	enum bus_news what;

	switch (event) {
	case ZMQ_EVENT_ACCEPTED: what = NEWS_ACCEPTED; break;
	case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: what = NEWS_DONE; break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: what = NEWS_BROKEN; break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: what = NEWS_FOREIGN; break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: what = NEWS_DENIED; break;
	default: return;
	}
	monitor->on_news(monitor->arg, what, endpoint);
}

static void on_readable(void *arg)
{
	struct bus_monitor *monitor = arg;
	unsigned char event[EVENT_SIZE];
	char address[256];
	uint16_t number;
	int address_len;

	for (int i = 0; i < EVENTS_PER_TURN; i++) {
		int len = zmq_recv(monitor->pair, event, sizeof(event), ZMQ_DONTWAIT);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return;
		do
			address_len = zmq_recv(monitor->pair, address, sizeof(address) - 1, ZMQ_DONTWAIT);
		while (address_len < 0 && errno == EINTR);
		if (len != EVENT_SIZE)
			continue;
		/* (the length is the sent one's, which may not fit) */
		address[address_len < 0                      ? 0
			: address_len < (int)sizeof(address) ? address_len
							     : (int)sizeof(address) - 1] = '\0';
		memcpy(&number, event, sizeof(number));
		hand_on(monitor, number, address);
	}
}

void bus_monitor_start(struct bus_monitor *monitor, struct ev_loop *loop, void *context, void *socket,
		       bus_news_fn *on_news, void *arg)
{
	static uint64_t number; /* closed sockets leave their address, and their monitor's, a little later */
	char address[ADDRESS_MAX];
	/* Beyond a limit libzmq's thread would wait for this loop, and keep the lock that bus_monitor_stop() needs. */
	const int no_limit = 0;

	*monitor = (struct bus_monitor){.watched = socket, .on_news = on_news, .arg = arg};
	snprintf(address, sizeof(address), "inproc://monitor-%" PRIu64, number++);
	monitor->pair = zmq_socket_monitor(socket, address, EVENTS) < 0 ? NULL : zmq_socket(context, ZMQ_PAIR);
	if (monitor->pair == NULL || zmq_setsockopt(monitor->pair, ZMQ_RCVHWM, &no_limit, sizeof(no_limit)) < 0 ||
	    zmq_connect(monitor->pair, address) < 0)
		abort(); /* no descriptors at start */
	bus_poll_start(&monitor->poll, loop, monitor->pair, on_readable, monitor);
}

void bus_monitor_stop(struct bus_monitor *monitor)
{
	if (monitor->pair == NULL)
		return;
	bus_poll_stop(&monitor->poll);
	zmq_socket_monitor(monitor->watched, NULL, 0); /* first: it must not wait for a reader that is gone */
	zmq_close(monitor->pair);
	monitor->pair = NULL;
}
