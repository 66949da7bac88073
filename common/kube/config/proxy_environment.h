/* The proxies of the environment, as client-go (Go's net/http) reads them: HTTPS_PROXY for https servers, HTTP_PROXY
 * for http servers, each also in lower case; never for this machine or for hosts of NO_PROXY. That is a list with
 * commas: "host" and "host:port" (the host and its subdomains), ".host" and "*.host" (only the subdomains), addresses
 * ("10.0.0.1", "10.0.0.1:443", "2001:db8::1", "[2001:db8::1]:443"), CIDR blocks, and "*". Unlike in Go, a name that is
 * not ASCII does not match its "xn--…" form. */
#ifndef KUBE_PROXY_ENVIRONMENT_H
#define KUBE_PROXY_ENVIRONMENT_H

#include "common/base/error.h"

/* The proxy for a server that url_check_server accepted, as url_check_proxy gives it; the caller frees it. Unchanged if
 * there is none. 0, or -1 and *err if it is not the address of a proxy. */
int proxy_environment(const char *server, char **proxy, struct error *err);

#endif
