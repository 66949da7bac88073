/* Connections: their phases, and the timeouts of slow ones; see internal.h. */
#include <string.h>
#include <sys/socket.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/serve/internal.h"

enum { HURRY_DIVISOR = 10 }; /* of the request timeout, when more than half of the connections are taken */

void serve_run_soon(struct serve *serve)
{
	/* In the next turn of the loop: an event that is fed from within a callback is handled before any other comes,
	 * and while strangers come and go without end none would. */
	serve->soon = true;
	ev_timer_stop(serve->loop, &serve->timer);
	ev_timer_set(&serve->timer, 0, 0);
	ev_timer_start(serve->loop, &serve->timer);
}

void conn_enter(struct conn *conn, enum conn_phase phase)
{
	conn->phase = phase;
	conn->since_ms = clock_boot_ms();
	source_sort(conn);
}

static void conn_open(struct serve *serve, struct MHD_Connection *mhd, void **slot)
{
	struct conn *conn = mem_calloc(1, sizeof(*conn));

	conn->serve = serve;
	conn->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	source_open(conn, MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
	conn_enter(conn, CONN_READING);
	DL_APPEND(serve->conns, conn);
	serve->counters.connections++;
	if (serve->counters.open++ == 0)
		ev_timer_again(serve->loop, &serve->sweep);
	*slot = conn;
}

static void conn_close(struct serve *serve, void **slot)
{
	struct conn *conn = *slot;

	DL_DELETE(serve->conns, conn);
	source_close(conn);
	if (--serve->counters.open == 0)
		ev_timer_stop(serve->loop, &serve->sweep);
	free(conn);
	*slot = NULL;
	/* at its limit libmicrohttpd does not look at the listener, and looks again only in its next run */
	serve_run_soon(serve);
}

void conn_notify(void *arg, struct MHD_Connection *mhd, void **slot, enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		conn_open(arg, mhd, slot);
	else
		conn_close(arg, slot);
}

/* libmicrohttpd's own timeout starts anew with each byte, so a slow sender could stay for ever. */
void conn_sweep(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct serve *serve = timer->data;
	int64_t now_ms = clock_boot_ms();
	int64_t request_ms = serve->request_timeout_ms;
	struct conn *conn;

	(void)loop;
	(void)events;
	if (serve->counters.open > serve->max_connections / 2)
		request_ms /= HURRY_DIVISOR;
	DL_FOREACH(serve->conns, conn) {
		int64_t age_ms = now_ms - conn->since_ms;

		if ((conn->phase == CONN_READING && age_ms >= request_ms) ||
		    (conn->phase == CONN_ANSWERING && age_ms >= serve->answer_timeout_ms)) {
			serve->counters.expired++;
			conn->since_ms = now_ms;
			shutdown(conn->fd, SHUT_RDWR); /* libmicrohttpd sees the end and closes it */
		}
	}
}
