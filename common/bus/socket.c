/* A ZeroMQ socket on a libev loop; see socket.h.
 * ZMQ_FD only tells that the state may have changed since ZMQ_EVENTS was last read, and goes quiet with messages left.
 * So ZMQ_EVENTS is read in the loop's prepare phase, after everything else that could have sent; when messages wait, an
 * idle watcher keeps the loop from sleeping; the check phase reads them, a bounded number per turn. */
#include "common/bus/socket.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "common/base/log.h"
#include "common/base/mem.h"

enum {
	LINGER_MS = 500, /* long enough for a BYE on its way */
	HANDSHAKE_MS = 5000,
	HEARTBEAT_MS = 2000,
	HEARTBEAT_TIMEOUT_MS = 8000,
	HEARTBEAT_TTL_MS = 10000,
	RECONNECT_TCP_MS = 1000,
	RECONNECT_IPC_MS = 50,
	RECONNECT_MAX_MS = 32000,
	RECONNECT_MAX_IPC_MS = 1000,
	MESSAGES_PER_TURN = 512, /* other watchers of the loop get their turn in between */
	ENDPOINT_MAX = 256,
	FRAMES_MAX = 3,
};

struct bus_socket {
	struct ev_loop *loop;
	void *context;
	void *socket;
	bool router;
	bool receiving; /* inside the callback: freeing waits for its end */
	bool closed;
	bus_receive *receive;
	void *arg;
	char endpoint[ENDPOINT_MAX];
	struct bus_counters counters;
	ev_io io;
	ev_prepare prepare;
	ev_check check;
	ev_idle idle;
};

static void set_int(void *socket, int option, int value)
{
	/* fails only for an option or value that does not exist */
	if (zmq_setsockopt(socket, option, &value, sizeof(value)) < 0)
		abort();
}

static bool readable(const struct bus_socket *socket)
{
	int events = 0;
	size_t size = sizeof(events);

	return zmq_getsockopt(socket->socket, ZMQ_EVENTS, &events, &size) == 0 && (events & ZMQ_POLLIN) != 0;
}

static void free_closed(struct bus_socket *socket)
{
	ev_io_stop(socket->loop, &socket->io);
	ev_prepare_stop(socket->loop, &socket->prepare);
	ev_check_stop(socket->loop, &socket->check);
	ev_idle_stop(socket->loop, &socket->idle);
	zmq_close(socket->socket);
	while (zmq_ctx_term(socket->context) < 0 && errno == EINTR)
		;
	free(socket);
}

/* Hands on one message's frames, if they are what a message of ours looks like. */
static void deliver(struct bus_socket *socket, zmq_msg_t *frames, size_t count)
{
	zmq_msg_t *at = frames;
	const unsigned char *id = NULL;
	size_t id_len = 0;
	struct bus_head head;

	if (count != (socket->router ? 3U : 2U)) {
		socket->counters.dropped_malformed++;
		return;
	}
	if (socket->router) {
		id = zmq_msg_data(at);
		id_len = zmq_msg_size(at);
		at++;
	}
	if (bus_head_read(zmq_msg_data(at), zmq_msg_size(at), &head, NULL) < 0) {
		socket->counters.dropped_malformed++;
		return;
	}
	at++;
	socket->counters.received++;
	socket->receive(socket->arg, id, id_len, &head, zmq_msg_data(at), zmq_msg_size(at));
}

/* false: nothing more to read. */
static bool receive_one(struct bus_socket *socket)
{
	zmq_msg_t frames[FRAMES_MAX];
	zmq_msg_t extra;
	size_t count = 0;
	bool too_many = false;
	bool got = true;
	int more = 1;

	while (more) {
		zmq_msg_t *frame = count < FRAMES_MAX ? &frames[count] : &extra;

		zmq_msg_init(frame);
		if (zmq_msg_recv(frame, socket->socket, ZMQ_DONTWAIT) < 0) {
			zmq_msg_close(frame);
			if (errno == EINTR)
				continue;
			got = false; /* between messages: EAGAIN; messages arrive whole, so never in the middle of one
				      */
			break;
		}
		more = zmq_msg_more(frame);
		if (count < FRAMES_MAX) {
			count++;
		} else {
			too_many = true;
			zmq_msg_close(frame);
		}
	}
	if (got && too_many)
		socket->counters.dropped_malformed++;
	else if (got)
		deliver(socket, frames, count);
	for (size_t i = 0; i < count; i++)
		zmq_msg_close(&frames[i]);
	return got;
}

static void drain(struct bus_socket *socket)
{
	socket->receiving = true;
	for (int i = 0; i < MESSAGES_PER_TURN && !socket->closed; i++)
		if (!receive_one(socket))
			break;
	socket->receiving = false;
	if (socket->closed)
		free_closed(socket);
}

static void on_io(struct ev_loop *loop, ev_io *io, int events)
{
	/* the check watcher does the work; this one only ends the sleep */
	(void)loop;
	(void)io;
	(void)events;
}

static void on_idle(struct ev_loop *loop, ev_idle *idle, int events)
{
	(void)loop;
	(void)idle;
	(void)events;
}

static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	struct bus_socket *socket = prepare->data;

	(void)events;
	if (readable(socket))
		ev_idle_start(loop, &socket->idle);
}

static void on_check(struct ev_loop *loop, ev_check *check, int events)
{
	struct bus_socket *socket = check->data;

	(void)events;
	ev_idle_stop(loop, &socket->idle);
	if (readable(socket))
		drain(socket);
}

static bool endpoint_is(const char *endpoint, const char *scheme)
{
	return strncmp(endpoint, scheme, strlen(scheme)) == 0;
}

static void set_options(const struct bus_socket *socket, const char *endpoint)
{
	void *zmq = socket->socket;
	int64_t max_message = BUS_BODY_MAX;
	bool ipc = endpoint_is(endpoint, "ipc://");

	if (zmq_setsockopt(zmq, ZMQ_MAXMSGSIZE, &max_message, sizeof(max_message)) < 0)
		abort();
	set_int(zmq, ZMQ_LINGER, LINGER_MS);
	set_int(zmq, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
	set_int(zmq, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS);
	set_int(zmq, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS);
	set_int(zmq, ZMQ_HEARTBEAT_TTL, HEARTBEAT_TTL_MS);
	/* what is on the way is bounded by credits; a high-water mark would drop in silence */
	set_int(zmq, ZMQ_SNDHWM, 0);
	set_int(zmq, ZMQ_RCVHWM, 0);
	if (socket->router) {
		set_int(zmq, ZMQ_ROUTER_MANDATORY, 1);
		return;
	}
	set_int(zmq, ZMQ_IMMEDIATE, 1);
	set_int(zmq, ZMQ_RECONNECT_IVL, ipc ? RECONNECT_IPC_MS : RECONNECT_TCP_MS);
	set_int(zmq, ZMQ_RECONNECT_IVL_MAX, ipc ? RECONNECT_MAX_IPC_MS : RECONNECT_MAX_MS);
}

static struct bus_socket *socket_new(struct ev_loop *loop, const char *endpoint, int type, bus_receive *receive,
				     void *arg)
{
	struct bus_socket *socket = mem_calloc(1, sizeof(*socket));

	*socket = (struct bus_socket){.loop = loop, .router = type == ZMQ_ROUTER, .receive = receive, .arg = arg};
	socket->context = zmq_ctx_new();
	socket->socket = socket->context == NULL ? NULL : zmq_socket(socket->context, type);
	if (socket->socket == NULL) {
		log_error("cannot make a ZeroMQ socket: %s", zmq_strerror(zmq_errno()));
		abort(); /* no descriptors at start: nothing can be done without a bus */
	}
	set_options(socket, endpoint);
	return socket;
}

static void watch(struct bus_socket *socket)
{
	int fd = -1;
	size_t size = sizeof(fd);

	if (zmq_getsockopt(socket->socket, ZMQ_FD, &fd, &size) < 0)
		abort();
	ev_io_init(&socket->io, on_io, fd, EV_READ);
	ev_prepare_init(&socket->prepare, on_prepare);
	ev_set_priority(&socket->prepare, EV_MINPRI); /* behind those that send in their prepare phase */
	ev_check_init(&socket->check, on_check);
	ev_idle_init(&socket->idle, on_idle);
	socket->prepare.data = socket;
	socket->check.data = socket;
	ev_io_start(socket->loop, &socket->io);
	ev_prepare_start(socket->loop, &socket->prepare);
	ev_check_start(socket->loop, &socket->check);
}

/* Whether nobody but this machine is at an endpoint, for certain: other names may mean any address. */
static bool is_local(const char *endpoint)
{
	return endpoint_is(endpoint, "ipc://") || endpoint_is(endpoint, "tcp://127.") ||
	       endpoint_is(endpoint, "tcp://localhost:") || endpoint_is(endpoint, "tcp://[::1]:");
}

static int check_transport(const char *endpoint, struct error *err)
{
	if (endpoint_is(endpoint, "ipc://") || endpoint_is(endpoint, "tcp://"))
		return 0;
	return error_set(err, "the bus %s: expected ipc://PATH or tcp://HOST:PORT", endpoint);
}

/* In the clear on this machine only, unless somebody insists (PITFALLS "Hardening"). */
static int check_reach(const char *endpoint, const struct bus_security *security, struct error *err)
{
	if (is_local(endpoint) || (security != NULL && (security->keys != NULL || security->insecure)))
		return 0;
	return error_set(err,
			 "the bus %s is beyond this machine: expected keys, --bus-keys DIRECTORY (or --bus-insecure)",
			 endpoint);
}

int bus_socket_bind_also(struct bus_socket *socket, const char *endpoint, const struct bus_security *security,
			 struct error *err)
{
	size_t size = sizeof(socket->endpoint);

	if (check_transport(endpoint, err) < 0)
		return -1;
	if (zmq_bind(socket->socket, endpoint) < 0)
		return error_set(err, "cannot listen on %s: %s", endpoint, zmq_strerror(zmq_errno()));
	if (zmq_getsockopt(socket->socket, ZMQ_LAST_ENDPOINT, socket->endpoint, &size) < 0)
		socket->endpoint[0] = '\0';
	/* asked of the listener, as a name may mean any address */
	if (check_reach(socket->endpoint, security, err) < 0) {
		zmq_unbind(socket->socket, socket->endpoint);
		return error_wrap(err, "%s", endpoint);
	}
	return 0;
}

struct bus_socket *bus_socket_bind(struct ev_loop *loop, const char *endpoint, const struct bus_security *security,
				   bus_receive *receive, void *arg, struct error *err)
{
	struct bus_socket *socket = socket_new(loop, endpoint, ZMQ_ROUTER, receive, arg);

	if (bus_socket_bind_also(socket, endpoint, security, err) < 0) {
		zmq_close(socket->socket);
		zmq_ctx_term(socket->context);
		free(socket);
		return NULL;
	}
	watch(socket);
	return socket;
}

struct bus_socket *bus_socket_connect(struct ev_loop *loop, const char *endpoint, const struct bus_security *security,
				      bus_receive *receive, void *arg, struct error *err)
{
	struct bus_socket *socket;

	if (check_transport(endpoint, err) < 0 || check_reach(endpoint, security, err) < 0)
		return NULL;
	socket = socket_new(loop, endpoint, ZMQ_DEALER, receive, arg);
	if (zmq_connect(socket->socket, endpoint) < 0) {
		error_set(err, "cannot connect to %s: %s", endpoint, zmq_strerror(zmq_errno()));
		zmq_close(socket->socket);
		zmq_ctx_term(socket->context);
		free(socket);
		return NULL;
	}
	strncpy(socket->endpoint, endpoint, sizeof(socket->endpoint) - 1);
	watch(socket);
	return socket;
}

void bus_socket_free(struct bus_socket *socket)
{
	if (socket == NULL)
		return;
	socket->closed = true;
	if (!socket->receiving)
		free_closed(socket);
}

const char *bus_socket_endpoint(const struct bus_socket *socket)
{
	return socket->endpoint;
}

static int send_frame(const struct bus_socket *socket, const void *data, size_t len, int flags)
{
	int sent;

	do
		sent = zmq_send(socket->socket, data, len, flags | ZMQ_DONTWAIT);
	while (sent < 0 && zmq_errno() == EINTR);
	return sent < 0 ? -1 : 0;
}

int bus_send(struct bus_socket *socket, const unsigned char *id, size_t id_len, const struct bus_head *head,
	     const void *body, size_t body_len)
{
	struct bus_head filled = *head;
	unsigned char frame[BUS_HEAD_SIZE];

	if (body_len > BUS_BODY_MAX) {
		socket->counters.dropped_oversized++;
		errno = EMSGSIZE;
		return -1;
	}
	filled.major = BUS_VERSION_MAJOR;
	filled.minor = BUS_VERSION_MINOR;
	bus_head_write(&filled, frame);
	/* only the first frame of a message can be refused: the rest goes where that one went */
	if ((socket->router && send_frame(socket, id, id_len, ZMQ_SNDMORE) < 0) ||
	    send_frame(socket, frame, sizeof(frame), ZMQ_SNDMORE) < 0 || send_frame(socket, body, body_len, 0) < 0) {
		socket->counters.send_failed++;
		return -1;
	}
	socket->counters.sent++;
	return 0;
}

const struct bus_counters *bus_socket_counters(const struct bus_socket *socket)
{
	return &socket->counters;
}
