/* Addresses of API servers and proxies: checks, and their form in messages. */
#ifndef KUBE_URL_H
#define KUBE_URL_H

/* "https://host:port/prefix/" → a copy without slashes at the end in *out, which the caller frees. NULL, or what is
 * wrong with it (then *out is unchanged). */
const char *url_check_server(const char *url, char **out);
/* The same for a proxy: http://, https:// or socks5://, possibly with a user name and password. *out is for libcurl: a
 * socks5 proxy resolves names itself, as with client-go. */
const char *url_check_proxy(const char *url, char **out);
/* The address for messages, without user name and password. Borrowed. */
const char *url_redacted(const char *url);

#endif
