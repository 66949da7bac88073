/* A peer of the watcher (session.h) on a real socket and a libev loop. Says in the log when no watcher takes it: nobody
 * listens there, none of them leads, or it is refused. */
#ifndef BUS_CLIENT_H
#define BUS_CLIENT_H

#include "common/bus/session.h"
#include "common/bus/socket.h"

struct bus_client;

/* endpoints: "ipc://path" or "tcp://host:port"; several separated by commas, where several watchers may lead. The
 * handler is copied. NULL and *err when one of them is none, or the name is empty or too long. */
struct bus_client *bus_client_new(struct ev_loop *loop, const char *endpoints, const struct bus_security *security,
				  enum bus_role role, const char *name, const struct session_handler *handler,
				  void *arg, struct error *err);
/* Closes the connections at once; no callback runs any more. Not from within the handler. NULL is ignored. */
void bus_client_free(struct bus_client *client);

/* For peer_*(): everything that asks. */
const struct session *bus_client_session(const struct bus_client *client);
/* As session_leave(); goes on running the loop until session_gone(). */
void bus_client_leave(struct bus_client *client);
/* Over all its sockets. Valid until the next call. */
const struct bus_counters *bus_client_counters(struct bus_client *client);

#endif
