/* A peer of the watcher (session.h) on a real socket and a libev loop. Logs a warning while no watcher accepts it:
 * because none listens, none leads, or one refuses it. */
#ifndef BUS_CLIENT_H
#define BUS_CLIENT_H

#include "common/bus/session.h"
#include "common/bus/socket.h"

struct bus_client;

/* endpoints: "ipc://path" or "tcp://host:port"; one for each watcher, separated by commas. The handler is copied. NULL
 * and *err if an endpoint is invalid, or the name is empty or too long. Waits for the resolver, and logs a warning
 * about a host name that does not resolve. */
struct bus_client *bus_client_new(struct ev_loop *loop, const char *endpoints, const struct bus_security *security,
				  enum bus_role role, const char *name, const struct session_handler *handler,
				  void *arg, struct error *err);
/* Closes the connections at once; no callback runs any more. Not from within the handler. NULL is ignored. */
void bus_client_free(struct bus_client *client);

/* The session, for its functions that take a const pointer. */
const struct session *bus_client_session(const struct bus_client *client);
/* As session_leave(). Run the loop until session_gone(). */
void bus_client_leave(struct bus_client *client);
/* Over all its sockets. Valid until the next call. */
const struct bus_counters *bus_client_counters(struct bus_client *client);

#endif
