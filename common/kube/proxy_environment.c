/* The environment's proxies; see proxy_environment.h. */
#include "common/kube/proxy_environment.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/mem.h"
#include "common/kube/url.h"

/* NULL: neither has a value. */
static const char *variable(const char *capitals, const char *small)
{
	const char *value = getenv(capitals);

	if (value == NULL || *value == '\0')
		value = getenv(small);
	return value == NULL || *value == '\0' ? NULL : value;
}

static bool is_this_machine(const char *server)
{
	const char *at = strstr(server, "://") + strlen("://");
	size_t len = *at == '[' ? strcspn(++at, "]") : strcspn(at, ":/");
	cleanup_free char *host = mem_strndup(at, len);
	struct in6_addr six;
	struct in_addr four;

	if (inet_pton(AF_INET, host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
	if (inet_pton(AF_INET6, host, &six) == 1)
		return IN6_IS_ADDR_LOOPBACK(&six);
	return strcasecmp(host, "localhost") == 0;
}

int proxy_environment(const char *server, char **proxy, char **no_proxy, struct error *err)
{
	bool tls = strncmp(server, "https:", strlen("https:")) == 0;
	const char *value = tls ? variable("HTTPS_PROXY", "https_proxy") : variable("HTTP_PROXY", "http_proxy");
	const char *bypass = variable("NO_PROXY", "no_proxy");
	cleanup_free char *url = NULL;
	const char *fault;

	if (value == NULL || is_this_machine(server))
		return 0;
	url = strstr(value, "://") != NULL ? mem_strdup(value) : mem_printf("http://%s", value);
	fault = url_check_proxy(url, proxy);
	if (fault != NULL)
		return error_set(err, "environment variable %s: found \"%s\": %s", tls ? "HTTPS_PROXY" : "HTTP_PROXY",
				 url_shown(value), fault);
	*no_proxy = mem_strdup(bypass == NULL ? "" : bypass);
	return 0;
}
