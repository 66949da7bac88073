/* Access control of the bus; see gate.h. */
#include "common/bus/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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
	/* frames of a question: version, id, domain, address, routing id, mechanism, key */
	FRAME_VERSION = 0,
	FRAME_ID = 1,
	FRAME_ADDRESS = 3,
	FRAME_MECHANISM = 5,
	FRAME_KEY = 6,
	FRAMES = 7,
};

enum reason { UNKNOWN_KEY, HANDSHAKE, REVOKED, MISNAMED, REASONS };

/* The last log line about a reason. The next one is written only after a while, and counts the refusals since. */
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
	char *keyed; /* the endpoint with keys */
	int64_t refreshed_ms;
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

/* A pool's private listener shares a gate with the one that has keys. */
static bool has_keys(const struct bus_gate *gate, const char *endpoint)
{
	return gate->clients != NULL &&
	       (strncmp(endpoint, "ipc://", strlen("ipc://")) != 0 || strcmp(endpoint, gate->keyed) == 0);
}

static const char *news_text(enum bus_news what, bool keys)
{
	if (what == NEWS_BROKEN)
		return keys ? "the handshake broke off: the peer's server.public is not this watcher's key, or the "
			      "connection was lost"
			    : "the connection was lost during the handshake";
	return keys ? "the peer has no keys, has other keys, or does not speak the protocol"
		    : "the peer has keys, and this bus has none, or the peer does not speak the protocol";
}

static void on_news(void *arg, enum bus_news what, const char *endpoint)
{
	struct bus_gate *gate = arg;
	uint64_t times;

	switch (what) {
	case NEWS_ACCEPTED: gate->counters.accepted++; break;
	case NEWS_DONE: gate->counters.admitted++; break;
	case NEWS_BROKEN:
	case NEWS_FOREIGN:
		gate->counters.handshake++;
		if (to_be_said(gate, HANDSHAKE, &times))
			log_warning("the bus refused a connection (%llu times): %s", (unsigned long long)times,
				    news_text(what, has_keys(gate, endpoint)));
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
		log_v(1, "the bus accepts \"%s\" from %.*s", name, (int)zmq_msg_size(&frames[FRAME_ADDRESS]),
		      (const char *)zmq_msg_data(&frames[FRAME_ADDRESS]));
		return;
	}
	gate->counters.unknown_key++;
	if (to_be_said(gate, UNKNOWN_KEY, &times))
		log_warning("the bus refused a connection (%llu times) from %.*s: its key %s is not among the clients",
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
	bus_monitor_start(&gate->monitor, loop, context, zmq_socket, on_news, gate);
	return gate;
}

void bus_gate_free(struct bus_gate *gate)
{
	if (gate == NULL)
		return;
	bus_monitor_stop(&gate->monitor);
	bus_poll_stop(&gate->poll);
	if (gate->zap != NULL)
		zmq_close(gate->zap);
	curve_clients_free(gate->clients);
	free(gate->keyed);
	free(gate);
}

int bus_gate_open(struct bus_gate *gate, const char *endpoint, const char *keys, struct error *err)
{
	const int no_linger = 0;

	if (gate->zap != NULL)
		return 0;
	gate->clients = curve_clients_new(keys, err);
	if (gate->clients == NULL)
		return -1;
	gate->keyed = mem_strdup(endpoint);
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
		log_warning("the bus dropped messages (%llu times) of a peer whose key %s was removed from the clients",
			    (unsigned long long)times, user);
	return false;
}

bool bus_gate_may_be(struct bus_gate *gate, const char *user, const char *name, enum bus_role role)
{
	uint64_t times;

	if (user == NULL || gate->clients == NULL || curve_clients_may_be(gate->clients, user, name, role))
		return true;
	gate->counters.misnamed++;
	if (to_be_said(gate, MISNAMED, &times))
		log_warning("the bus refused a peer (%llu times): its key %s is not for %s \"%s\"",
			    (unsigned long long)times, user, role == BUS_ROLE_BARRIER ? "barrier" : "reconciler", name);
	return false;
}

const struct bus_gate_counters *bus_gate_counters(const struct bus_gate *gate)
{
	return &gate->counters;
}
