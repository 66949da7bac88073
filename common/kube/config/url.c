/* Addresses of API servers and proxies; see url.h. */
#include "common/kube/config/url.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "common/base/buf.h"
#include "common/base/mem.h"

const char *url_redacted(const char *url)
{
	return strchr(url, '@') != NULL ? "…@…" : url;
}

/* The part behind the scheme if that is the one, in any case (RFC 3986 §3.1). */
static const char *after_scheme(const char *url, const char *scheme)
{
	size_t len = strlen(scheme);

	return strncasecmp(url, scheme, len) == 0 && strncmp(url + len, "://", 3) == 0 ? url + len + 3 : NULL;
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

const char *url_check_server(const char *url, char **out)
{
	const char *scheme = "https";
	const char *host = after_scheme(url, scheme);
	const char *fault;
	size_t len;

	if (host == NULL) {
		scheme = "http";
		host = after_scheme(url, scheme);
	}
	if (host == NULL)
		return "expected http://host:port or https://host:port";
	if (!names_host(host))
		return "no host in it";
	fault = check_characters(url);
	if (fault != NULL)
		return fault;
	if (memchr(host, '@', strcspn(host, "/")) != NULL)
		return "a user name or password in it, which is not supported";
	for (len = strlen(host); host[len - 1] == '/'; len--)
		;
	*out = mem_printf("%s://%.*s", scheme, (int)len, host);
	return NULL;
}

/* What is before the last @, and that. Go takes others in a password; libcurl wants them encoded. */
static void put_user(struct buf *out, const char *user, const char *at)
{
	for (; user < at; user++)
		if (*user == '@')
			buf_puts(out, "%40");
		else
			buf_putc(out, *user);
	buf_putc(out, '@');
}

/* NULL, or libcurl's words for what is wrong with the address. Where a proxy of HTTP has no port it is 80, as Go has
 * it; libcurl would take 1080. */
static const char *check_port(struct buf *address, bool http)
{
	CURLU *parsed = curl_url();
	char *port = NULL;
	CURLUcode code;

	if (parsed == NULL)
		mem_exhausted();
	code = curl_url_set(parsed, CURLUPART_URL, address->data, CURLU_NON_SUPPORT_SCHEME);
	if (code == CURLUE_OK && http && curl_url_get(parsed, CURLUPART_PORT, &port, 0) == CURLUE_NO_PORT)
		buf_puts(address, ":80");
	curl_free(port);
	curl_url_cleanup(parsed);
	return code == CURLUE_OK ? NULL : curl_url_strerror(code);
}

const char *url_check_proxy(const char *url, char **out)
{
	/* a socks5 proxy resolves names itself */
	static const struct {
		const char *named;
		const char *used;
	} schemes[] = {{"http", "http"}, {"https", "https"}, {"socks5", "socks5h"}, {"socks5h", "socks5h"}};
	cleanup_buf struct buf address = {0};
	const char *rest = NULL;
	const char *fault;
	const char *at;
	const char *host;
	size_t scheme = 0;

	while (scheme < ARRAY_LEN(schemes) && (rest = after_scheme(url, schemes[scheme].named)) == NULL)
		scheme++;
	if (rest == NULL)
		return "expected http://host:port, https://host:port or socks5://host:port";
	fault = check_characters(url);
	if (fault != NULL)
		return fault;
	at = strrchr(rest, '@');
	host = at == NULL ? rest : at + 1;
	if (!names_host(host))
		return "no host in it";
	if (strspn(host + strcspn(host, "/"), "/") != strlen(host + strcspn(host, "/")))
		return "a path in it";
	buf_printf(&address, "%s://", schemes[scheme].used);
	if (at != NULL)
		put_user(&address, rest, at);
	buf_append(&address, host, strcspn(host, "/"));
	fault = check_port(&address, scheme == 0);
	if (fault == NULL)
		*out = buf_steal(&address);
	return fault;
}
