/* The network side: libmicrohttpd on a libev loop. */
#ifndef TESTAPI_HTTP_H
#define TESTAPI_HTTP_H

#include <stdint.h>

#include "common/base/error.h"
#include "tests/cluster/testapi/api.h"

struct api_http;

/* Listens on the address (an IPv4 address; "127.0.0.1") and port (0: chosen by the kernel). NULL and *err. */
struct api_http *api_http_new(struct api *api, const char *address, uint16_t port, struct error *err);
void api_http_free(struct api_http *http);
uint16_t api_http_port(const struct api_http *http);

#endif
