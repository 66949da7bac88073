/* A ZeroMQ socket on a libev loop; see socket.h.
 * libzmq reconnects when a connection is lost, but not after a refused handshake: then a new socket replaces the old
 * one after a while. A new socket also replaces it when the keys have changed: a watcher with a new key ends handshakes
 * silently, and drops messages of unknown keys. */
#include "common/bus/socket.h"

#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "common/base/address.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"
#include "common/bus/gate.h"
#include "common/bus/monitor.h"
#include "common/bus/poll.h"

enum {
	LINGER_MS = 500,   /* long enough for a BYE on its way */
	CONNECT_MS = 5000, /* else an address that no longer exists takes two minutes to fail */
	HANDSHAKE_MS = 5000,
	HEARTBEAT_MS = 2000,
	HEARTBEAT_TIMEOUT_MS = 8000,
	HEARTBEAT_TTL_MS = 10000,
	RECONNECT_TCP_MS = 1000,
	RECONNECT_IPC_MS = 50,
	/* a watcher that has come back may lead a second later: leases must not end before it is found */
	RECONNECT_MAX_TCP_MS = 3000,
	RECONNECT_MAX_IPC_MS = 1000,
	REPLACE_MAX_MS = 32000,
	/* other watchers of the loop get their turn in between */
	MESSAGES_PER_TURN = 512,
	TURN_MS = 20,
	ENDPOINT_MAX = 256,
	FRAMES_MAX = 2,  /* the routing id, and head and body in one */
	UNREAD_MAX = 64, /* messages of a peer, which sends a few a second: then TCP holds the sender up */
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
	struct bus_poll poll;
	/* ROUTER */
	struct bus_gate *gate;
	const struct bus_owner *owner;
	/* DEALER */
	char *keys;
	struct bus_monitor monitor;
	ev_timer replace; /* after a refused handshake */
	ev_timer look;    /* at the keys */
	int64_t replace_ms;
	struct log_last complaint;
};

static void set_int(void *socket, int option, int value)
{
	/* fails only for an option or value that does not exist */
	if (zmq_setsockopt(socket, option, &value, sizeof(value)) < 0)
		abort();
}

static void close_socket(struct bus_socket *socket)
{
	bus_poll_stop(&socket->poll);
	bus_monitor_stop(&socket->monitor);
	bus_gate_free(socket->gate);
	socket->gate = NULL;
	if (socket->socket != NULL)
		zmq_close(socket->socket);
	socket->socket = NULL;
}

static void free_closed(struct bus_socket *socket)
{
	ev_timer_stop(socket->loop, &socket->replace);
	ev_timer_stop(socket->loop, &socket->look);
	close_socket(socket);
	while (zmq_ctx_term(socket->context) < 0 && errno == EINTR)
		;
	free(socket->keys);
	free(socket);
}

/* A message of one whose key is for another name is answered here. */
static bool is_named_rightly(struct bus_socket *socket, const unsigned char *id, size_t id_len,
			     const struct bus_head *head, const char *key, const char *body, size_t body_len)
{
	static const struct bus_refuse refusal = {.reason = "the key is for another name or role"};
	const struct bus_head answer = {.type = BUS_REFUSE, .epoch = head->epoch, .session = head->session};
	const struct bus_owner *owner = socket->owner;
	cleanup_buf struct buf text = {0};
	struct bus_hello hello;
	const char *name = hello.name;
	struct error err;

	if (key == NULL || head->protocol != BUS_PROTOCOL)
		return true;
	if (head->type == BUS_HELLO ? bus_hello_read(body, body_len, &hello, &err) < 0
				    : owner == NULL || !owner->named(socket->arg, id, id_len, &name, &hello.role))
		return true;
	if (bus_gate_may_be(socket->gate, key, name, hello.role))
		return true;
	if (owner != NULL && !owner->answers(socket->arg))
		return false;
	bus_refuse_write(&text, &refusal);
	bus_send(socket, id, id_len, &answer, text.data, text.len);
	return false;
}

/* Hands on one message's frames, if they are what a message of ours looks like. */
static void deliver(struct bus_socket *socket, zmq_msg_t *frames, size_t count)
{
	const unsigned char *id = NULL;
	size_t id_len = 0;
	struct bus_head head;
	const char *body;
	size_t body_len;

	if (socket->router) {
		id = zmq_msg_data(frames);
		id_len = zmq_msg_size(frames);
		frames++;
		count--;
	}
	if (count != 1 || zmq_msg_size(frames) < BUS_HEAD_SIZE ||
	    bus_head_read(zmq_msg_data(frames), BUS_HEAD_SIZE, &head, NULL) < 0) {
		socket->counters.dropped_malformed++;
		return;
	}
	body = (const char *)zmq_msg_data(frames) + BUS_HEAD_SIZE;
	body_len = zmq_msg_size(frames) - BUS_HEAD_SIZE;
	if (socket->gate != NULL &&
	    (!bus_gate_passes(socket->gate, zmq_msg_gets(frames, "User-Id")) ||
	     !is_named_rightly(socket, id, id_len, &head, zmq_msg_gets(frames, "User-Id"), body, body_len)))
		return;
	socket->counters.received++;
	socket->receive(socket->arg, id, id_len, &head, body, body_len);
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

static void on_readable(void *arg)
{
	struct bus_socket *socket = arg;
	int64_t end_ms = clock_boot_ms() + TURN_MS;

	socket->receiving = true;
	for (int i = 0; i < MESSAGES_PER_TURN && !socket->closed; i++)
		if (!receive_one(socket) || clock_boot_ms() >= end_ms)
			break;
	socket->receiving = false;
	if (socket->closed)
		free_closed(socket);
}

static bool endpoint_is(const char *endpoint, const char *scheme)
{
	return strncmp(endpoint, scheme, strlen(scheme)) == 0;
}

static void set_options(const struct bus_socket *socket, const char *endpoint)
{
	void *zmq = socket->socket;
	/* (of a frame: a peer's body has its own) */
	int64_t max_message = BUS_HEAD_SIZE + (socket->router ? BUS_BODY_PEER_MAX : BUS_BODY_MAX);
	bool ipc = endpoint_is(endpoint, "ipc://");

	if (zmq_setsockopt(zmq, ZMQ_MAXMSGSIZE, &max_message, sizeof(max_message)) < 0)
		abort();
	set_int(zmq, ZMQ_LINGER, LINGER_MS);
	set_int(zmq, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
	if (!ipc) { /* there the kernel ends the connection of a process that has ended (common/README.md §8.5) */
		set_int(zmq, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS);
		set_int(zmq, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS);
		set_int(zmq, ZMQ_HEARTBEAT_TTL, HEARTBEAT_TTL_MS);
	}
	/* credits bound the watcher's messages on the way */
	set_int(zmq, ZMQ_SNDHWM, socket->router ? BUS_UNSENT_MAX : 0);
	set_int(zmq, ZMQ_RCVHWM, socket->router ? UNREAD_MAX : 0);
	if (socket->router) {
		/* without it, messages beyond the mark above would be dropped in silence */
		set_int(zmq, ZMQ_ROUTER_MANDATORY, 1);
		return;
	}
	set_int(zmq, ZMQ_IMMEDIATE, 1);
	set_int(zmq, ZMQ_CONNECT_TIMEOUT, CONNECT_MS);
	set_int(zmq, ZMQ_RECONNECT_IVL, ipc ? RECONNECT_IPC_MS : RECONNECT_TCP_MS);
	set_int(zmq, ZMQ_RECONNECT_IVL_MAX, ipc ? RECONNECT_MAX_IPC_MS : RECONNECT_MAX_TCP_MS);
}

static void open_socket(struct bus_socket *socket, const char *endpoint)
{
	socket->socket = zmq_socket(socket->context, socket->router ? ZMQ_ROUTER : ZMQ_DEALER);
	if (socket->socket == NULL) {
		log_error("cannot make a ZeroMQ socket: %s", zmq_strerror(zmq_errno()));
		abort(); /* no descriptors at start: nothing can be done without a bus */
	}
	set_options(socket, endpoint);
	bus_poll_start(&socket->poll, socket->loop, socket->socket, on_readable, socket);
}

static void on_replace(struct ev_loop *loop, ev_timer *timer, int events);

static struct bus_socket *socket_new(struct ev_loop *loop, bool router, bus_receive *receive, void *arg)
{
	struct bus_socket *socket = mem_calloc(1, sizeof(*socket));

	*socket = (struct bus_socket){.loop = loop, .router = router, .receive = receive, .arg = arg};
	socket->context = zmq_ctx_new();
	if (socket->context == NULL) {
		log_error("cannot make a ZeroMQ context: %s", zmq_strerror(zmq_errno()));
		abort();
	}
	ev_init(&socket->replace, on_replace);
	socket->replace.data = socket;
	return socket;
}

/* Names and * may mean addresses of either kind; with ZMQ_IPV6 the numbers of IPv4 would be shown as [::ffff:…]. */
static bool is_ipv4(const char *endpoint)
{
	const char *host = endpoint + strlen("tcp://");
	size_t len = endpoint_is(endpoint, "tcp://") ? strspn(host, "0123456789.") : 0;

	return len > 0 && host[len] == ':';
}

/* The endpoint as libzmq takes it: an IPv6 address in brackets, which a Pod's has not in front of a port. Too long: "".
 */
static void write_endpoint(char out[ENDPOINT_MAX], const char *endpoint)
{
	const char *host = endpoint + strlen("tcp://");
	const char *port = strrchr(endpoint, ':');
	bool bare = endpoint_is(endpoint, "tcp://") && *host != '[' && strchr(host, ':') != port;
	int len = bare ? snprintf(out, ENDPOINT_MAX, "tcp://[%.*s]%s", (int)(port - host), host, port)
		       : snprintf(out, ENDPOINT_MAX, "%s", endpoint);

	if (len >= ENDPOINT_MAX)
		out[0] = '\0';
}

/* Whether nobody but this machine is at an endpoint, for certain: other names may mean any address. */
static bool is_local(const char *endpoint)
{
	return endpoint_is(endpoint, "ipc://") ||
	       (endpoint_is(endpoint, "tcp://") && address_is_loopback(endpoint + strlen("tcp://")));
}

/* Port "*" is libzmq's word for one that the kernel chooses, as 0 is. */
static int check_endpoint(const char *endpoint, struct error *err)
{
	const char *colon = endpoint_is(endpoint, "tcp://") ? strrchr(endpoint + strlen("tcp://"), ':') : NULL;

	if (endpoint_is(endpoint, "ipc://") ||
	    (colon != NULL && (port_number(colon + 1) >= 0 || strcmp(colon, ":*") == 0)))
		return 0;
	return error_set(err, "the bus %s: expected ipc://PATH or tcp://HOST:PORT, with a port up to %d", endpoint,
			 PORT_MAX);
}

/* In the clear on this machine only, unless somebody insists (common/README.md §12.1). The message names the endpoint
 * as it was given. */
static int check_reach(const char *endpoint, const char *given, const struct bus_security *security, struct error *err)
{
	if (is_local(endpoint) || (security != NULL && (security->keys != NULL || security->insecure)))
		return 0;
	return error_set(err,
			 "other machines can reach the bus %s: expected keys, --bus-keys DIRECTORY (or --bus-insecure)",
			 given);
}

int bus_socket_bind_also(struct bus_socket *socket, const char *endpoint, const struct bus_security *security,
			 struct error *err)
{
	const char *keys = security != NULL ? security->keys : NULL;
	size_t size = sizeof(socket->endpoint);
	char written[ENDPOINT_MAX];
	int code;

	if (check_endpoint(endpoint, err) < 0)
		return -1;
	set_int(socket->socket, ZMQ_IPV6, !is_ipv4(endpoint));
	if (curve_set_server(socket->socket, keys, err) < 0 ||
	    (keys != NULL && bus_gate_open(socket->gate, endpoint, keys, err) < 0))
		return error_wrap(err, "the bus %s", endpoint);
	write_endpoint(written, endpoint);
	if (zmq_bind(socket->socket, written) < 0) {
		code = zmq_errno();
		error_set(err, "cannot listen on %s: %s", endpoint, zmq_strerror(code));
		if (err != NULL)
			err->code = code;
		return -1;
	}
	if (zmq_getsockopt(socket->socket, ZMQ_LAST_ENDPOINT, socket->endpoint, &size) < 0)
		socket->endpoint[0] = '\0';
	/* asked of the listener, as a name may mean any address */
	if (check_reach(socket->endpoint, endpoint, security, err) < 0) {
		zmq_unbind(socket->socket, socket->endpoint);
		return -1;
	}
	return 0;
}

struct bus_socket *bus_socket_bind(struct ev_loop *loop, const char *endpoint, const struct bus_security *security,
				   bus_receive *receive, void *arg, struct error *err)
{
	struct bus_socket *socket = socket_new(loop, true, receive, arg);

	open_socket(socket, endpoint);
	socket->gate = bus_gate_new(loop, socket->context, socket->socket);
	if (bus_socket_bind_also(socket, endpoint, security, err) < 0) {
		free_closed(socket);
		return NULL;
	}
	return socket;
}

/* ---- connecting ------------------------------------------------------------------------------------------------- */

/* A watcher on this machine that ends breaks handshakes off too. One that expects keys ends all of them so. */
static const char *news_text(const struct bus_socket *socket, enum bus_news what)
{
	if (what == NEWS_DENIED)
		return "our key is not among its clients";
	if (what == NEWS_BROKEN && socket->keys == NULL)
		return endpoint_is(socket->endpoint, "ipc://")
			       ? "the connection was lost during the handshake"
			       : "it expects keys, and --bus-keys is missing, or the connection was lost";
	if (what == NEWS_BROKEN)
		return "the handshake broke off: server.public is not the watcher's key, or the connection was lost";
	return socket->keys == NULL ? "it expects keys, and --bus-keys is missing, or it does not speak the protocol"
				    : "it has no keys, has other keys, or does not speak the protocol";
}

static void on_news(void *arg, enum bus_news what, const char *endpoint)
{
	struct bus_socket *socket = arg;

	(void)endpoint;
	if (what == NEWS_DONE) {
		socket->replace_ms = RECONNECT_TCP_MS;
		socket->complaint.any = false;
	}
	if (what != NEWS_BROKEN && what != NEWS_FOREIGN && what != NEWS_DENIED)
		return;
	if (log_is_news(&socket->complaint, clock_boot_ms(), "not taken")) /* whatever the reason: they alternate */
		log_warning("the watcher at %s refuses the connection: %s", socket->endpoint, news_text(socket, what));
	if (what == NEWS_BROKEN || ev_is_active(&socket->replace))
		return;
	ev_timer_set(&socket->replace, (double)socket->replace_ms / 1000, 0.);
	ev_timer_start(socket->loop, &socket->replace);
	socket->replace_ms = backoff_doubled(socket->replace_ms, 1, REPLACE_MAX_MS);
}

static int connect_socket(struct bus_socket *socket, struct error *err)
{
	open_socket(socket, socket->endpoint);
	set_int(socket->socket, ZMQ_IPV6, !is_ipv4(socket->endpoint));
	bus_monitor_start(&socket->monitor, socket->loop, socket->context, socket->socket, on_news, socket);
	if (curve_set_client(socket->socket, socket->keys, err) < 0)
		return error_wrap(err, "the bus %s", socket->endpoint);
	if (zmq_connect(socket->socket, socket->endpoint) < 0)
		return error_set(err, "cannot connect to %s: %s", socket->endpoint, zmq_strerror(zmq_errno()));
	return 0;
}

/* With the keys as they are now. */
static void on_replace(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct bus_socket *socket = timer->data;
	struct error err;

	(void)events;
	close_socket(socket);
	if (connect_socket(socket, &err) == 0)
		return;
	log_error("%s", err.message);
	ev_timer_set(timer, REPLACE_MAX_MS / 1000., 0.);
	ev_timer_start(loop, timer);
}

static void on_look(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct bus_socket *socket = timer->data;

	if (!curve_client_changed(socket->socket, socket->keys))
		return;
	log_info("the keys of the bus have changed: reconnecting to %s", socket->endpoint);
	ev_timer_stop(loop, &socket->replace);
	socket->replace_ms = RECONNECT_TCP_MS;
	on_replace(loop, &socket->replace, events);
}

struct bus_socket *bus_socket_connect(struct ev_loop *loop, const char *endpoint, const struct bus_security *security,
				      bus_receive *receive, void *arg, struct error *err)
{
	struct bus_socket *socket;
	char written[ENDPOINT_MAX];

	if (check_endpoint(endpoint, err) < 0)
		return NULL;
	write_endpoint(written, endpoint);
	if (*written == '\0') {
		error_set(err, "the bus %s: longer than %d bytes", endpoint, ENDPOINT_MAX - 1);
		return NULL;
	}
	if (check_reach(written, endpoint, security, err) < 0)
		return NULL;
	socket = socket_new(loop, false, receive, arg);
	memcpy(socket->endpoint, written, sizeof(written));
	socket->keys = mem_strdup(security != NULL ? security->keys : NULL);
	socket->replace_ms = RECONNECT_TCP_MS;
	if (connect_socket(socket, err) < 0) {
		free_closed(socket);
		return NULL;
	}
	if (socket->keys != NULL) {
		ev_timer_init(&socket->look, on_look, KEYS_LOOK_MS / 1000., KEYS_LOOK_MS / 1000.);
		socket->look.data = socket;
		ev_timer_start(loop, &socket->look);
	}
	return socket;
}

void bus_socket_set_owner(struct bus_socket *socket, const struct bus_owner *owner)
{
	socket->owner = owner;
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

/* The head, if there is one, and data behind it in one frame. */
static int send_frame(const struct bus_socket *socket, const struct bus_head *head, const void *data, size_t len,
		      int flags)
{
	size_t head_len = head == NULL ? 0 : BUS_HEAD_SIZE;
	zmq_msg_t frame;
	int sent;

	if (zmq_msg_init_size(&frame, head_len + len) < 0)
		return -1;
	if (head != NULL)
		bus_head_write(head, zmq_msg_data(&frame));
	if (len > 0)
		memcpy((char *)zmq_msg_data(&frame) + head_len, data, len);
	do
		sent = zmq_msg_send(&frame, socket->socket, flags | ZMQ_DONTWAIT);
	while (sent < 0 && zmq_errno() == EINTR);
	if (sent >= 0)
		return 0;
	zmq_msg_close(&frame);
	return -1;
}

/* Sends a message as one frame, which libzmq never leaves half-read. Of two frames it may read one and abort, when it
 * notices between them that the connection has ended (4.3.4, "!_more" in fq.cpp; a DEALER with ZMQ_IMMEDIATE looks at
 * each hundredth frame, so after a SIGSTOP, when many have come). */
int bus_send(struct bus_socket *socket, const unsigned char *id, size_t id_len, const struct bus_head *head,
	     const void *body, size_t body_len)
{
	struct bus_head filled = *head;

	if (body_len > (socket->router ? BUS_BODY_MAX : BUS_BODY_PEER_MAX)) {
		socket->counters.dropped_oversized++;
		errno = EMSGSIZE;
		return -1;
	}
	filled.protocol = BUS_PROTOCOL;
	/* only the first frame of a message can be refused: the rest goes where that one went */
	if ((socket->router && send_frame(socket, NULL, id, id_len, ZMQ_SNDMORE) < 0) ||
	    send_frame(socket, &filled, body, body_len, 0) < 0) {
		socket->counters.send_failed++;
		return -1;
	}
	socket->counters.sent++;
	return 0;
}

const struct bus_gate_counters *bus_socket_gate(const struct bus_socket *socket)
{
	return bus_gate_counters(socket->gate);
}

const struct bus_counters *bus_socket_counters(const struct bus_socket *socket)
{
	return &socket->counters;
}
