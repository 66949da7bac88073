/* The --http endpoints of a process (ARCHITECTURE.md §9.1), and the metrics of all processes. */
#ifndef HEALTH_HEALTH_H
#define HEALTH_HEALTH_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/bus/socket.h"
#include "common/kube/client.h"
#include "common/serve/serve.h"

struct health_options {
	const char *address; /* as serve_options.address */
	bool insecure;       /* other machines may connect, without TLS */
	bool (*ready)(void *arg, struct buf *why);
	void (*metrics)(void *arg, struct buf *out);
	void *arg;
};

/* Serves /healthz, /readyz and /metrics without TLS, and logs "listening on http://HOST:PORT". NULL and *err naming the
 * address, for example if it is in use, or if other machines can reach it (common/README.md §12.1). */
struct serve *health_new(struct ev_loop *loop, const struct health_options *options, struct error *err);

/* rest_client_requests_total, named as client-go does. */
void health_put_client(struct buf *out, const struct kube_client *client);
/* frameworkcontroller_bus_messages_…: messages of the socket. */
void health_put_bus(struct buf *out, const struct bus_counters *counters);

#endif
