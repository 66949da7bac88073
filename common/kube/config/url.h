/* Addresses of API servers and proxies: checks, and their form in messages. */
#ifndef KUBE_URL_H
#define KUBE_URL_H

/* "HTTPS://host:port/prefix/" → "https://host:port/prefix" in *out, which the caller frees. NULL, or what is
 * wrong with it (then *out is unchanged). */
const char *url_check_server(const char *url, char **out);
/* The same for a proxy: http://, https:// or socks5:// (or socks5h://), possibly with a user name and password. *out is
 * for libcurl, and means there what url means to client-go: a socks5 proxy resolves names itself, http:// without a
 * port has port 80. */
const char *url_check_proxy(const char *url, char **out);
/* The address for messages, without user name and password. Borrowed. */
const char *url_redacted(const char *url);

#endif
