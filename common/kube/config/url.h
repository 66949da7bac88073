/* Addresses of API servers and proxies, as people write them: what is accepted, and what may be shown of them. */
#ifndef KUBE_URL_H
#define KUBE_URL_H

/* "https://host:port/prefix/" → a copy without slashes at the end in *out, which the caller frees. NULL, or what is
 * wrong with it (then *out is left alone). */
const char *url_check_server(const char *url, char **out);
/* The same for a proxy: http://, https:// or socks5://, with a user name and password if need be. *out is for libcurl:
 * of a socks5 proxy it asks for names to be looked up by the proxy, as client-go does. */
const char *url_check_proxy(const char *url, char **out);
/* What messages may show of it: not a user name and password. Borrowed. */
const char *url_redacted(const char *url);

#endif
