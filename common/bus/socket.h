/* A ZeroMQ socket on a libev loop (common/README.md §8). */
#ifndef BUS_SOCKET_H
#define BUS_SOCKET_H

#include "common/bus/curve.h"
#include "common/bus/gate.h"
#include "common/bus/message.h"

struct ev_loop;
struct bus_socket;

/* Messages that may wait in a ROUTER for one peer: twice the largest window of objects, so only a peer that reads
 * nothing reaches it. Sending to it then fails (EAGAIN). */
enum { BUS_UNSENT_MAX = 2 * 65536 };

/* id: routing id of the peer on a ROUTER (id_len > 0), absent on a DEALER. Frames are borrowed, valid during the call.
 * Called from the loop; may send. Short, unknown and extra frames never reach it: they are counted. */
typedef void bus_receive(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head,
			 const char *body, size_t body_len);

/* endpoint: "ipc://path", "tcp://host:port" (port 0 or * for any). security may be NULL; borrowed during the call. NULL
 * and *err naming the endpoint, for example if the port is busy, or if other machines can reach it and there are no
 * keys. */
struct bus_socket *bus_socket_bind(struct ev_loop *loop, const char *endpoint, const struct bus_security *security,
				   bus_receive *receive, void *arg, struct error *err);
/* Listens on one more endpoint with the same socket; bus_socket_endpoint() names the last one. */
int bus_socket_bind_also(struct bus_socket *socket, const char *endpoint, const struct bus_security *security,
			 struct error *err);
struct bus_socket *bus_socket_connect(struct ev_loop *loop, const char *endpoint, const struct bus_security *security,
				      bus_receive *receive, void *arg, struct error *err);
/* What a watcher's socket asks its owner; arg: that of bus_socket_bind(). */
struct bus_owner {
	/* Whether this end of the bus answers peers now: only then does the socket itself refuse a peer whose key is
	 * for another name. */
	bool (*answers)(const void *arg);
	/* The name and role that a connection goes by since its HELLO; false: none. Its key must allow them at every
	 * message, as the list of keys may have changed. */
	bool (*named)(const void *arg, const unsigned char *id, size_t id_len, const char **name, enum bus_role *role);
};
/* Borrowed. Without it, the socket always answers, and looks only at HELLOs. */
void bus_socket_set_owner(struct bus_socket *socket, const struct bus_owner *owner);
/* May be called from the receive callback. Waits up to half a second for messages still to be sent. */
void bus_socket_free(struct bus_socket *socket);
/* The endpoint bound to, with the port the kernel chose. Borrowed. */
const char *bus_socket_endpoint(const struct bus_socket *socket);

/* id is NULL on a DEALER. 0; -1: the peer is gone or cannot take it now (errno EHOSTUNREACH, EAGAIN): the caller
 * resyncs that peer; or the body is too long (EMSGSIZE). head->protocol is filled in. */
int bus_send(struct bus_socket *socket, const unsigned char *id, size_t id_len, const struct bus_head *head,
	     const void *body, size_t body_len);

/* Counts of refused connections of a bound socket. */
const struct bus_gate_counters *bus_socket_gate(const struct bus_socket *socket);

struct bus_counters {
	uint64_t received, sent, dropped_malformed, dropped_oversized, send_failed;
};
const struct bus_counters *bus_socket_counters(const struct bus_socket *socket);

#endif
