/* The proxies that the environment names, as client-go (Go's net/http) takes them: HTTPS_PROXY for servers of https,
 * HTTP_PROXY for those of http, each in capitals or not; never for this machine itself, nor for what NO_PROXY names.
 * That is a list with commas: "host" and "host:port" (the host and what is below it), ".host" and "*.host" (only what
 * is below), addresses ("10.0.0.1", "10.0.0.1:443", "2001:db8::1", "[2001:db8::1]:443"), CIDR blocks, and "*". Other
 * than in Go, a name that is not ASCII is not the same as its "xn--…". */
#ifndef KUBE_PROXY_ENVIRONMENT_H
#define KUBE_PROXY_ENVIRONMENT_H

#include "common/base/error.h"

/* The proxy for a server that url_check_server accepted, as url_check_proxy gives it; the caller frees it. Left alone
 * if there is none. 0, or -1 and *err: it is no address of a proxy. */
int proxy_environment(const char *server, char **proxy, struct error *err);

#endif
