/* Who comes in to a bus that others can reach: answers libzmq's question for each key (ZAP, ZeroMQ RFC 27), counts
 * refused connections and logs them, at most once a minute for each reason. The number of connections is not limited
 * here: NetworkPolicy, RLIMIT_NOFILE and the time limit of handshakes bound it (common/README.md §8.10). */
#ifndef BUS_GATE_H
#define BUS_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/bus/message.h"
#include "common/bus/monitor.h"

struct bus_gate;

struct bus_gate_counters {
	uint64_t accepted;    /* connections, whatever became of them */
	uint64_t admitted;    /* of these, those whose handshake was done */
	uint64_t unknown_key; /* whoever has it knows the watcher's key */
	uint64_t handshake;   /* no keys, or not the watcher's, or too slow */
	uint64_t misnamed;    /* HELLOs of a peer whose key is for another name or role */
	uint64_t revoked;     /* messages of a peer whose key was taken off the list since it came in */
};

/* Counts the failed handshakes of a socket; before it is bound. */
struct bus_gate *bus_gate_new(struct ev_loop *loop, void *context, void *zmq_socket);
void bus_gate_free(struct bus_gate *gate);
/* From now on connections with keys are let in that the directory's list has. Once; keys is copied. -1 and *err naming
 * the file. */
int bus_gate_open(struct bus_gate *gate, const char *keys, struct error *err);
/* Whether a message of a connection may go on: user is the message's property "User-Id", NULL where no key was asked
 * for. */
bool bus_gate_passes(struct bus_gate *gate, const char *user);

/* Whether it may be who it says that it is. */
bool bus_gate_may_be(struct bus_gate *gate, const char *user, const struct bus_hello *hello);
const struct bus_gate_counters *bus_gate_counters(const struct bus_gate *gate);

#endif
