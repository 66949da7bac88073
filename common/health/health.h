/* The metrics of all processes (ARCHITECTURE.md §9.1). */
#ifndef HEALTH_HEALTH_H
#define HEALTH_HEALTH_H

#include "common/base/buf.h"
#include "common/bus/socket.h"
#include "common/kube/client.h"

/* rest_client_requests_total, named as client-go does. */
void health_put_client(struct buf *out, const struct kube_client *client);
/* frameworkcontroller_bus_messages_…: messages of the socket. */
void health_put_bus(struct buf *out, const struct bus_counters *counters);

#endif
