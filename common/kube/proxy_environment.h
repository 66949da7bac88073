/* The proxies that the environment names, as client-go (Go's net/http) takes them: HTTPS_PROXY for servers of https,
 * HTTP_PROXY for those of http, each in capitals or not; never for this machine itself. NO_PROXY is libcurl's to read:
 * it knows names, domains, addresses, CIDR blocks and "*", but no ports, which Go does. */
#ifndef KUBE_PROXY_ENVIRONMENT_H
#define KUBE_PROXY_ENVIRONMENT_H

#include "common/base/error.h"

/* The proxy for a server that url_check_server accepted, as url_check_proxy gives it, and NO_PROXY, "" if unset; the
 * caller frees both. Both are left alone if there is none. 0, or -1 and *err: it is no address of a proxy. */
int proxy_environment(const char *server, char **proxy, char **no_proxy, struct error *err);

#endif
