/* libcurl multi_socket on libev; see transport.h.
 * libcurl's callbacks only set watchers and the timer; only ev callbacks call libcurl. */
#include "common/kube/client/transport.h"

#include <errno.h>
#include <ev.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

/* A dead peer is noticed within 30 s (common/README.md §7.5): 15 s of silence, then 3 probes, 5 s apart; sent data
 * that is not acknowledged counts likewise. */
enum { KEEPALIVE_IDLE_S = 15, KEEPALIVE_INTERVAL_S = 5, KEEPALIVE_PROBES = 3, UNACKED_MS = 30000 };
/* libcurl's own default, and below what API servers allow per connection (250 before Kubernetes 1.27, then 100). */
enum { MAX_STREAMS = 100 };

/* A socket of libcurl's: a connection's, or one that it wakes itself by. */
struct socket {
	struct ev_io io; /* not active: libcurl waits for nothing */
	struct transport *transport;
	bool connection;
	bool writing; /* libcurl waits for place to write */
	struct socket *prev, *next;
};

struct transport {
	struct ev_loop *loop;
	CURLM *multi;
	struct ev_timer timer;
	struct ev_timer moved_on; /* from an address that does not answer */
	struct socket *sockets;
	int late_ms;
	transport_done *done;
	void *arg;
	size_t active;
	int busy;
	struct transport_notes notes;
};

/* After every entry into libcurl: collect the finished transfers. */
static void collect(struct transport *transport)
{
	CURLMsg *message;
	int left;

	transport->busy++;
	while ((message = curl_multi_info_read(transport->multi, &left)) != NULL) {
		CURL *easy = message->easy_handle;
		CURLcode result = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_multi_remove_handle(transport->multi, easy);
		transport->active--;
		transport->done(transport->arg, easy, result);
	}
	transport->busy--;
}

static void socket_ready(struct ev_loop *loop, struct ev_io *io, int events)
{
	struct transport *transport = ((struct socket *)io)->transport;
	int running;
	int mask = ((events & EV_READ) ? CURL_CSELECT_IN : 0) | ((events & EV_WRITE) ? CURL_CSELECT_OUT : 0);

	(void)loop;
	curl_multi_socket_action(transport->multi, io->fd, mask, &running);
	collect(transport);
}

static void timer_due(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	transport_kick(timer->data);
}

/* libcurl closes the socket of an address that does not answer in its share of the time, and goes on with the next
 * address when it is called again: for that, 7.88 sets no timer. Nothing else runs a transfer without a socket. */
static void move_on(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct transport *transport = timer->data;
	int running;

	(void)loop;
	(void)events;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	curl_multi_socket_all(transport->multi, &running);
#pragma GCC diagnostic pop
	collect(transport);
}

static struct socket *find_socket(struct transport *transport, curl_socket_t fd)
{
	struct socket *socket;

	DL_FOREACH(transport->sockets, socket)
		if (socket->io.fd == fd)
			return socket;
	return NULL;
}

static struct socket *add_socket(struct transport *transport, curl_socket_t fd)
{
	struct socket *socket = mem_calloc(1, sizeof(*socket));

	socket->transport = transport;
	ev_io_init(&socket->io, socket_ready, fd, 0);
	DL_APPEND(transport->sockets, socket);
	return socket;
}

static void drop_socket(struct socket *socket)
{
	ev_io_stop(socket->transport->loop, &socket->io);
	DL_DELETE(socket->transport->sockets, socket);
	free(socket);
}

/* Sockets are found by descriptor and not through curl_multi_assign: close_socket drops them behind its back. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
	struct transport *transport = arg;
	struct socket *socket = find_socket(transport, fd);
	int events = ((what & CURL_POLL_IN) ? EV_READ : 0) | ((what & CURL_POLL_OUT) ? EV_WRITE : 0);

	(void)easy;
	(void)unused;
	if (socket == NULL && events == 0)
		return 0;
	if (socket == NULL)
		socket = add_socket(transport, fd);
	if (events == 0 && socket->writing && !ev_is_active(&transport->moved_on)) {
		ev_timer_set(&transport->moved_on, 0., 0.);
		ev_timer_start(transport->loop, &transport->moved_on);
	}
	socket->writing = (events & EV_WRITE) != 0;
	ev_io_stop(transport->loop, &socket->io);
	if (events != 0) {
		ev_io_set(&socket->io, fd, events);
		ev_io_start(transport->loop, &socket->io);
	} else if (!socket->connection) {
		drop_socket(socket);
	}
	return 0;
}

/* One-shot, replaced by each call; libcurl must not be entered from here. */
static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct transport *transport = arg;

	(void)multi;
	ev_timer_stop(transport->loop, &transport->timer);
	if (timeout_ms < 0)
		return 0;
	ev_timer_set(&transport->timer, (double)timeout_ms / 1000.0, 0.0);
	ev_timer_start(transport->loop, &transport->timer);
	return 0;
}

/* No watcher may survive its descriptor, whose number the next socket gets. */
static int close_socket(void *arg, curl_socket_t fd)
{
	struct transport *transport = arg;
	struct socket *socket = find_socket(transport, fd);

	if (socket != NULL)
		drop_socket(socket);
	return close(fd);
}

static int set_socket_options(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	const int idle = KEEPALIVE_IDLE_S;
	const int interval = KEEPALIVE_INTERVAL_S;
	const int probes = KEEPALIVE_PROBES;
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	const int on = 1;
	struct transport *transport = arg;
	const int unacked = transport->late_ms > 0 ? transport->late_ms : UNACKED_MS;

	if (purpose != CURLSOCKTYPE_IPCXN)
		return CURL_SOCKOPT_OK;
	add_socket(transport, fd)->connection = true;
	if (transport->late_ms > 0)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	/* what fails here costs only speed of detection */
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked, sizeof(unacked));
	return CURL_SOCKOPT_OK;
}

struct transport *transport_new(struct ev_loop *loop, long max_idle, int late_ms, transport_done *done, void *arg)
{
	struct transport *transport = mem_calloc(1, sizeof(*transport));

	transport->loop = loop;
	transport->late_ms = late_ms;
	transport->done = done;
	transport->arg = arg;
	transport->notes.born_ms = clock_boot_ms();
	ev_timer_init(&transport->timer, timer_due, 0.0, 0.0);
	transport->timer.data = transport;
	ev_timer_init(&transport->moved_on, move_on, 0.0, 0.0);
	transport->moved_on.data = transport;
	transport->multi = curl_multi_init();
	if (transport->multi == NULL)
		mem_exhausted();
	curl_multi_setopt(transport->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(transport->multi, CURLMOPT_SOCKETDATA, transport);
	curl_multi_setopt(transport->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(transport->multi, CURLMOPT_TIMERDATA, transport);
	curl_multi_setopt(transport->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
	curl_multi_setopt(transport->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)MAX_STREAMS);
	curl_multi_setopt(transport->multi, CURLMOPT_MAXCONNECTS, max_idle);
	return transport;
}

void transport_free(struct transport *transport)
{
	if (transport == NULL)
		return;
	curl_multi_cleanup(transport->multi);
	ev_timer_stop(transport->loop, &transport->timer);
	ev_timer_stop(transport->loop, &transport->moved_on);
	while (transport->sockets != NULL)
		drop_socket(transport->sockets);
	free(transport);
}

void transport_prepare(struct transport *transport, CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, set_socket_options);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, transport);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, transport);
}

int transport_add(struct transport *transport, CURL *easy)
{
	CURLMcode code = curl_multi_add_handle(transport->multi, easy);

	if (code != CURLM_OK) {
		log_error("libcurl refuses a transfer: %s", curl_multi_strerror(code));
		return -1;
	}
	transport->active++;
	return 0;
}

void transport_remove(struct transport *transport, CURL *easy)
{
	curl_multi_remove_handle(transport->multi, easy);
	transport->active--;
}

static int local_port_of(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} address = {0};
	socklen_t len = sizeof(address);

	if (getsockname(fd, &address.any, &len) < 0)
		return 0;
	return ntohs(address.any.sa_family == AF_INET6 ? address.in6.sin6_port : address.in.sin_port);
}

/* Whether libcurl or the kernel holds unsent bytes; the kernel counts those that are not acknowledged. */
static bool has_unsent(const struct socket *socket)
{
	int unacked = 0;

	return socket->writing || ioctl(socket->io.fd, SIOCOUTQ, &unacked) < 0 || unacked > 0;
}

void transport_drop_unsent(struct transport *transport, int local_port)
{
	const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	struct socket *socket;

	DL_FOREACH(transport->sockets, socket) {
		if (!socket->connection || local_port_of(socket->io.fd) != local_port || !has_unsent(socket))
			continue;
		log_v(1, "resetting a connection: a write was cancelled before the server had received all of it");
		/* connect(2): it dissolves the association. libcurl closes the descriptor when it finds out. */
		if (connect(socket->io.fd, &nowhere, sizeof(nowhere)) < 0)
			log_error("cannot reset a connection: %s", strerror(errno));
	}
}

void transport_kick(struct transport *transport)
{
	int running;

	curl_multi_socket_action(transport->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	collect(transport);
}

size_t transport_active(const struct transport *transport)
{
	return transport->active;
}

bool transport_busy(const struct transport *transport)
{
	return transport->busy > 0;
}

struct transport_notes *transport_notes(struct transport *transport)
{
	return &transport->notes;
}
