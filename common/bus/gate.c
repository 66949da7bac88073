/* Who comes in to the bus; see gate.h. */
#define _GNU_SOURCE
#include "common/bus/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"
#include "common/bus/curve.h"

enum {
	REFRESH_MS = 1000, /* for those who are in; those who come are looked up in the list as it is now */
	QUESTIONS_PER_TURN = 64,
	KEY_BINARY_SIZE = 32,
	OPEN_AGAIN = GATE_OPEN_MAX - GATE_OPEN_MAX / 4,
	LISTENERS_MAX = 4,
	SENT_AWAY_MAX = 4096, /* tries at a time, more than wait at a listener */
	CLOSED_S = 10,        /* by then every handshake under way has ended or timed out */
	/* frames of a question: version, id, domain, address, routing id, mechanism, key */
	FRAME_VERSION = 0,
	FRAME_ID = 1,
	FRAME_ADDRESS = 3,
	FRAME_MECHANISM = 5,
	FRAME_KEY = 6,
	FRAMES = 7,
};

enum reason { UNKNOWN_KEY, HANDSHAKE, REVOKED, MISNAMED, CROWDED, NO_DESCRIPTORS, REASONS };

/* What is said of a reason is said again only after a while, with how often it happened since. */
struct saying {
	struct log_last last;
	uint64_t since;
};

struct bus_gate {
	void *context;
	struct ev_loop *loop;
	struct bus_monitor monitor;
	void *zap; /* NULL until bus_gate_open() */
	struct bus_poll poll;
	struct curve_clients *clients;
	int64_t refreshed_ms;
	int listeners[LISTENERS_MAX]; /* libzmq's descriptors */
	int doors[LISTENERS_MAX];     /* and ours, of the same sockets */
	size_t listener_count;
	int quiet;     /* a listener to which nothing comes; -1: there is none */
	unsigned open; /* connections */
	bool closed;   /* new ones are left waiting */
	ev_timer again;
	struct bus_gate_counters counters;
	struct saying sayings[REASONS];
};

static bool to_be_said(struct bus_gate *gate, enum reason reason, uint64_t *times)
{
	struct saying *saying = &gate->sayings[reason];

	saying->since++;
	if (!log_is_news(&saying->last, clock_boot_ms(), ""))
		return false;
	*times = saying->since;
	saying->since = 0;
	return true;
}

/* ---- the door --------------------------------------------------------------------------------------------------- */

/* From now on everything that comes to the socket is dropped. */
static void drop_all(int fd)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog program = {.len = 1, .filter = &drop};

	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* Drops what comes to the listeners, so that new connections wait in their own kernels, or not. libzmq itself would
 * take descriptors until there are none left for anything else; unbinding would end the connections that are there. */
static void shut(struct bus_gate *gate, bool closed)
{
	const int nothing = 0;

	gate->closed = closed;
	ev_timer_stop(gate->loop, &gate->again);
	for (size_t i = 0; i < gate->listener_count; i++)
		if (closed)
			drop_all(gate->listeners[i]);
		else
			setsockopt(gate->listeners[i], SOL_SOCKET, SO_DETACH_FILTER, &nothing, sizeof(nothing));
	if (!closed)
		return;
	ev_timer_set(&gate->again, CLOSED_S, 0.);
	ev_timer_start(gate->loop, &gate->again);
	gate->counters.closed++;
}

static void shut_crowd_out(struct bus_gate *gate)
{
	uint64_t times;

	shut(gate, true);
	if (to_be_said(gate, CROWDED, &times))
		log_warning("the bus has %u connections open: new ones are left waiting (%llu)", gate->open,
			    (unsigned long long)times);
}

static int quiet_listener(void)
{
	const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	drop_all(fd);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 1) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Ends what waits at a listener. While libzmq tries to accept, a descriptor is in use now and then. */
static void empty(int listener)
{
	for (int i = 0; i < SENT_AWAY_MAX; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			close(fd);
		else if (errno != EMFILE && errno != ENFILE)
			return;
	}
}

/* Without descriptors: ends what waits at the listeners, as libzmq would try to accept it over and over. The descriptor
 * that this takes is the quiet listener's, which libzmq has in the meantime, or it might be quicker. */
static void send_away(struct bus_gate *gate)
{
	uint64_t times;

	if (!gate->closed)
		shut(gate, true);
	if (gate->quiet >= 0) {
		for (size_t i = 0; i < gate->listener_count; i++)
			dup3(gate->quiet, gate->listeners[i], O_CLOEXEC);
		close(gate->quiet);
		for (size_t i = 0; i < gate->listener_count; i++)
			empty(gate->doors[i]);
		for (int i = 0; i < SENT_AWAY_MAX; i++) {
			gate->quiet = fcntl(gate->listeners[0], F_DUPFD_CLOEXEC, 0);
			if (gate->quiet >= 0)
				break;
		}
		for (size_t i = 0; i < gate->listener_count; i++)
			dup3(gate->doors[i], gate->listeners[i], O_CLOEXEC);
	}
	if (to_be_said(gate, NO_DESCRIPTORS, &times))
		log_warning("connections to the bus are ended, and new ones left waiting (%llu): there are no file "
			    "descriptors left (RLIMIT_NOFILE)",
			    (unsigned long long)times);
}

/* Never for good: libzmq ends some connections without news (of two peers with one routing id, say), and what is left
 * now has a key. */
static void on_again(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct bus_gate *gate = timer->data;

	(void)loop;
	(void)events;
	gate->open = 0;
	shut(gate, false);
	if (gate->quiet < 0 && gate->listener_count > 0)
		gate->quiet = quiet_listener();
}

static void on_listening(struct bus_gate *gate, int fd)
{
	int domain = 0;
	socklen_t size = sizeof(domain);
	int door;

	/* a Unix socket has its file's permissions */
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 || domain == AF_UNIX ||
	    gate->listener_count == LISTENERS_MAX)
		return;
	door = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (door < 0)
		return;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); /* two accept from it now */
	gate->doors[gate->listener_count] = door;
	gate->listeners[gate->listener_count++] = fd;
	if (gate->quiet < 0)
		gate->quiet = quiet_listener();
}

static void on_news(void *arg, enum bus_news what, int value)
{
	struct bus_gate *gate = arg;
	uint64_t times;

	switch (what) {
	case NEWS_LISTENING: on_listening(gate, value); break;
	case NEWS_ACCEPTED:
		gate->counters.accepted++;
		if (++gate->open >= GATE_OPEN_MAX && !gate->closed)
			shut_crowd_out(gate);
		break;
	case NEWS_NOT_ACCEPTED:
		if (value == EMFILE || value == ENFILE)
			send_away(gate);
		break;
	case NEWS_ENDED:
		gate->open -= gate->open > 0;
		if (gate->open < OPEN_AGAIN && gate->closed)
			shut(gate, false);
		break;
	case NEWS_DONE: gate->counters.admitted++; break;
	case NEWS_BROKEN:
	case NEWS_FOREIGN:
		gate->counters.handshake++;
		if (to_be_said(gate, HANDSHAKE, &times))
			log_warning("the bus refused a connection (%llu): %s", (unsigned long long)times,
				    bus_news_text(what));
		break;
	case NEWS_DENIED: break; /* counted where the question is answered */
	}
}

/* ---- questions -------------------------------------------------------------------------------------------------- */

static bool is_text(zmq_msg_t *frame, const char *text)
{
	return zmq_msg_size(frame) == strlen(text) && memcmp(zmq_msg_data(frame), text, strlen(text)) == 0;
}

static void send_text(const struct bus_gate *gate, const char *text, int flags)
{
	zmq_send(gate->zap, text, strlen(text), flags | ZMQ_DONTWAIT);
}

static void answer(const struct bus_gate *gate, zmq_msg_t *id, bool yes, const char *user)
{
	send_text(gate, "1.0", ZMQ_SNDMORE);
	zmq_send(gate->zap, zmq_msg_data(id), zmq_msg_size(id), ZMQ_SNDMORE | ZMQ_DONTWAIT);
	send_text(gate, yes ? "200" : "400", ZMQ_SNDMORE);
	send_text(gate, "", ZMQ_SNDMORE);
	send_text(gate, yes ? user : "", ZMQ_SNDMORE);
	send_text(gate, "", 0);
}

static void refresh(struct bus_gate *gate)
{
	gate->refreshed_ms = clock_boot_ms();
	curve_clients_refresh(gate->clients);
}

static void decide(struct bus_gate *gate, zmq_msg_t *frames)
{
	char key[CURVE_KEY_SIZE] = "";
	const char *name = NULL;
	uint64_t times;

	if (is_text(&frames[FRAME_MECHANISM], "CURVE") && zmq_msg_size(&frames[FRAME_KEY]) == KEY_BINARY_SIZE) {
		refresh(gate);
		zmq_z85_encode(key, zmq_msg_data(&frames[FRAME_KEY]), KEY_BINARY_SIZE);
		name = curve_clients_find(gate->clients, key);
	}
	answer(gate, &frames[FRAME_ID], name != NULL, key);
	if (name != NULL) {
		log_v(1, "the bus lets \"%s\" in from %.*s", name, (int)zmq_msg_size(&frames[FRAME_ADDRESS]),
		      (const char *)zmq_msg_data(&frames[FRAME_ADDRESS]));
		return;
	}
	gate->counters.unknown_key++;
	if (to_be_said(gate, UNKNOWN_KEY, &times))
		log_warning("the bus refused a connection (%llu) from %.*s: its key %s is not among the clients",
			    (unsigned long long)times, (int)zmq_msg_size(&frames[FRAME_ADDRESS]),
			    (const char *)zmq_msg_data(&frames[FRAME_ADDRESS]), key);
}

/* false: none waits. */
static bool take_question(struct bus_gate *gate)
{
	zmq_msg_t frames[FRAMES];
	zmq_msg_t extra;
	size_t count = 0;
	size_t all = 0;
	int more = 1;

	while (more) {
		zmq_msg_t *frame = count < FRAMES ? &frames[count] : &extra;

		zmq_msg_init(frame);
		if (zmq_msg_recv(frame, gate->zap, ZMQ_DONTWAIT) < 0) {
			zmq_msg_close(frame);
			if (errno == EINTR)
				continue;
			break;
		}
		all++;
		more = zmq_msg_more(frame);
		if (count < FRAMES)
			count++;
		else
			zmq_msg_close(frame);
	}
	/* libzmq asks in one way only; anything else lets nobody in, but has its answer, as the next one waits for it
	 */
	if (all == FRAMES && is_text(&frames[FRAME_VERSION], "1.0"))
		decide(gate, frames);
	else if (all > 0)
		answer(gate, &frames[count > FRAME_ID ? FRAME_ID : 0], false, "");
	for (size_t i = 0; i < count; i++)
		zmq_msg_close(&frames[i]);
	return all > 0;
}

static void on_question(void *arg)
{
	for (int i = 0; i < QUESTIONS_PER_TURN; i++)
		if (!take_question(arg))
			return;
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

struct bus_gate *bus_gate_new(struct ev_loop *loop, void *context, void *zmq_socket)
{
	struct bus_gate *gate = mem_calloc(1, sizeof(*gate));

	gate->loop = loop;
	gate->context = context;
	gate->quiet = -1;
	ev_init(&gate->again, on_again);
	gate->again.data = gate;
	bus_monitor_start(&gate->monitor, loop, context, zmq_socket, on_news, gate);
	return gate;
}

void bus_gate_free(struct bus_gate *gate)
{
	if (gate == NULL)
		return;
	ev_timer_stop(gate->loop, &gate->again);
	bus_monitor_stop(&gate->monitor);
	bus_poll_stop(&gate->poll);
	if (gate->zap != NULL)
		zmq_close(gate->zap);
	curve_clients_free(gate->clients);
	for (size_t i = 0; i < gate->listener_count; i++)
		close(gate->doors[i]);
	if (gate->quiet >= 0)
		close(gate->quiet);
	free(gate);
}

int bus_gate_open(struct bus_gate *gate, const char *keys, struct error *err)
{
	const int no_linger = 0;

	if (gate->zap != NULL)
		return 0;
	gate->clients = curve_clients_new(keys, err);
	if (gate->clients == NULL)
		return -1;
	gate->zap = zmq_socket(gate->context, ZMQ_REP);
	if (gate->zap == NULL || zmq_setsockopt(gate->zap, ZMQ_LINGER, &no_linger, sizeof(no_linger)) < 0 ||
	    zmq_bind(gate->zap, "inproc://zeromq.zap.01") < 0)
		abort(); /* no descriptors at start */
	bus_poll_start(&gate->poll, gate->loop, gate->zap, on_question, gate);
	return 0;
}

bool bus_gate_passes(struct bus_gate *gate, const char *user)
{
	uint64_t times;

	if (user == NULL || gate->clients == NULL)
		return true;
	if (clock_boot_ms() >= gate->refreshed_ms + REFRESH_MS)
		refresh(gate);
	if (curve_clients_find(gate->clients, user) != NULL)
		return true;
	gate->counters.revoked++;
	if (to_be_said(gate, REVOKED, &times))
		log_warning("the bus dropped messages (%llu) of a peer whose key %s is among the clients no longer",
			    (unsigned long long)times, user);
	return false;
}

bool bus_gate_may_be(struct bus_gate *gate, const char *user, const struct bus_hello *hello)
{
	uint64_t times;

	if (user == NULL || gate->clients == NULL ||
	    curve_clients_may_be(gate->clients, user, hello->name, hello->role))
		return true;
	gate->counters.misnamed++;
	if (to_be_said(gate, MISNAMED, &times))
		log_warning("the bus refused a peer (%llu): as %s \"%s\" its key %s is not good",
			    (unsigned long long)times, hello->role == BUS_ROLE_BARRIER ? "barrier" : "reconciler",
			    hello->name, user);
	return false;
}

const struct bus_gate_counters *bus_gate_counters(const struct bus_gate *gate)
{
	return &gate->counters;
}
