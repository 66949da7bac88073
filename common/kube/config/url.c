/* Addresses of API servers and proxies; see url.h. */
#include "common/kube/config/url.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/mem.h"

const char *url_redacted(const char *url)
{
	return strchr(url, '@') != NULL ? "…@…" : url;
}

/* The part behind the scheme if that is the one. */
static const char *after_scheme(const char *url, const char *scheme)
{
	size_t len = strlen(scheme);

	return strncmp(url, scheme, len) == 0 && strncmp(url + len, "://", 3) == 0 ? url + len + 3 : NULL;
}

static const char *check_characters(const char *url)
{
	for (const char *at = url; *at != '\0'; at++)
		if (isspace((unsigned char)*at) || iscntrl((unsigned char)*at))
			return "white space in it";
	if (strpbrk(url, "?#") != NULL)
		return "a query or fragment in it";
	return NULL;
}

static bool names_host(const char *host)
{
	return *host != '\0' && *host != '/' && *host != ':';
}

/* Without the slashes at its end. */
static char *trimmed(const char *url)
{
	size_t len = strlen(url);

	while (url[len - 1] == '/')
		len--;
	return mem_strndup(url, len);
}

const char *url_check_server(const char *url, char **out)
{
	const char *host = after_scheme(url, "https");
	const char *fault;

	if (host == NULL)
		host = after_scheme(url, "http");
	if (host == NULL)
		return "expected http://host:port or https://host:port";
	if (!names_host(host))
		return "no host in it";
	fault = check_characters(url);
	if (fault != NULL)
		return fault;
	if (memchr(host, '@', strcspn(host, "/")) != NULL)
		return "a user name or password in it, which is not supported";
	*out = trimmed(url);
	return NULL;
}

const char *url_check_proxy(const char *url, char **out)
{
	static const char *const schemes[] = {"http", "https", "socks5"};
	const char *rest = NULL;
	const char *fault;
	const char *at;
	const char *host;

	for (size_t i = 0; i < ARRAY_LEN(schemes) && rest == NULL; i++)
		rest = after_scheme(url, schemes[i]);
	if (rest == NULL)
		return "expected http://host:port, https://host:port or socks5://host:port";
	fault = check_characters(url);
	if (fault != NULL)
		return fault;
	at = strrchr(rest, '@');
	host = at == NULL ? rest : at + 1;
	if (!names_host(host))
		return "no host in it";
	if (host[strcspn(host, "/")] != '\0' && strspn(strchr(host, '/'), "/") != strlen(strchr(host, '/')))
		return "a path in it";
	*out = trimmed(url);
	if (after_scheme(*out, "socks5") != NULL) {
		char *asked = mem_printf("socks5h%s", *out + strlen("socks5"));

		mem_replace(out, NULL);
		*out = asked;
	}
	return NULL;
}
