/* Access control of a bus that other machines can reach: decides for each key (ZAP, ZeroMQ RFC 27), counts refused
 * connections, and logs them at most once a minute for each reason. The number of connections is not limited here:
 * NetworkPolicy, RLIMIT_NOFILE and the time limit of handshakes bound it (common/README.md §8.10). */
#ifndef BUS_GATE_H
#define BUS_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/bus/message.h"
#include "common/bus/monitor.h"

struct bus_gate;

struct bus_gate_counters {
	uint64_t accepted;    /* connections, refused ones included */
	uint64_t admitted;    /* connections with a completed handshake */
	uint64_t unknown_key; /* refused; their owner knows the watcher's public key */
	uint64_t handshake;   /* refused: no keys, a wrong key of the watcher, or a timeout */
	uint64_t misnamed;    /* messages of a peer whose key is for another name or role */
	uint64_t revoked;     /* messages of a peer whose key was removed from the list after it connected */
};

/* Counts the failed handshakes of a socket. Call it before the socket is bound. */
struct bus_gate *bus_gate_new(struct ev_loop *loop, void *context, void *zmq_socket);
void bus_gate_free(struct bus_gate *gate);
/* From now on accepts the keys of the directory's list, at that endpoint. Call it once; the texts are copied. -1 and
 * *err naming the file. */
int bus_gate_open(struct bus_gate *gate, const char *endpoint, const char *keys, struct error *err);
/* Whether to accept a message: user is the message's property "User-Id", NULL on a bus without keys. */
bool bus_gate_passes(struct bus_gate *gate, const char *user);

/* Whether the key allows this member name and role. */
bool bus_gate_may_be(struct bus_gate *gate, const char *user, const char *name, enum bus_role role);
const struct bus_gate_counters *bus_gate_counters(const struct bus_gate *gate);

#endif
