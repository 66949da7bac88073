/* The kubelet's own server, for API servers: GET /containerLogs/NAMESPACE/POD/CONTAINER, with the parameters of
 * PodLogOptions. It listens on 127.0.0.1, asks nobody who they are, and serves all nodes of this kubelet. */
#ifndef TESTKUBELET_LOGSERVER_H
#define TESTKUBELET_LOGSERVER_H

#include <stdint.h>

#include "common/base/error.h"

struct kubelet;
struct log_server;

/* tls_cert and tls_key: PEM files; both NULL: plain HTTP. NULL and *err. */
struct log_server *log_server_new(struct kubelet *kubelet, const char *tls_cert, const char *tls_key,
				  struct error *err);
uint16_t log_server_port(const struct log_server *server);
/* NULL is fine. */
void log_server_free(struct log_server *server);

#endif
