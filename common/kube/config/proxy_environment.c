/* The environment's proxies; see proxy_environment.h. */
#include "common/kube/config/proxy_environment.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/address.h"
#include "common/base/mem.h"
#include "common/kube/config/url.h"

/* The bits before an IPv4 address that is written as one of IPv6 (RFC 4291 §2.5.5.2). */
enum { MAPPED_BITS = 96 };

/* NULL: neither has a value. */
static const char *variable(const char *capitals, const char *small)
{
	const char *value = getenv(capitals);

	if (value == NULL || *value == '\0')
		value = getenv(small);
	return value == NULL || *value == '\0' ? NULL : value;
}

/* One of IPv4 becomes ::ffff:a.b.c.d, which is the same to Go. */
static bool parse_ip(const char *text, struct in6_addr *ip)
{
	cleanup_free char *mapped = mem_printf("::ffff:%s", text);
	struct in_addr four;

	return inet_pton(AF_INET6, inet_pton(AF_INET, text, &four) == 1 ? mapped : text, ip) == 1;
}

static bool same_bits(const struct in6_addr *a, const struct in6_addr *b, size_t bits)
{
	size_t whole = bits / 8;
	unsigned differ = bits % 8 == 0 ? 0 : a->s6_addr[whole] ^ b->s6_addr[whole];

	return memcmp(a, b, whole) == 0 && differ >> (8 - bits % 8) == 0;
}

/* block: "10.0.0.0/8"; anything else has nothing in it. */
static bool is_in_block(const struct in6_addr *ip, const char *block)
{
	size_t len = strcspn(block, "/");
	const char *digits = block[len] == '/' ? block + len + 1 : "";
	cleanup_free char *address = mem_strndup(block, len);
	bool six = strchr(address, ':') != NULL;
	size_t bits = strtoul(digits, NULL, 10);
	struct in6_addr start;

	if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0' || bits > (six ? 128 : 32) ||
	    !parse_ip(address, &start))
		return false;
	bits += six ? 0 : MAPPED_BITS;
	/* ::/0 is all of IPv6, and nothing of IPv4 */
	return (bits >= MAPPED_BITS || !IN6_IS_ADDR_V4MAPPED(ip)) && same_bits(ip, &start, bits);
}

/* "host" matches the host and its subdomains, ".host" and "*.host" only the subdomains. */
static bool is_named(const char *host, const char *name)
{
	const char *rest = strncmp(name, "*.", 2) == 0 ? name + 1 : name;
	cleanup_free char *end = mem_printf("%s%s", *rest == '.' ? "" : ".", rest);
	size_t len = strlen(host);

	return strcmp(host, rest) == 0 || (len >= strlen(end) && strcmp(host + len - strlen(end), end) == 0);
}

/* Cuts the port off and returns it, "" if there is none. As Go has it, only a port frees an address of its brackets:
 * "[2001:db8::1]" alone is no address. */
static const char *cut_port(char **entry)
{
	char *colon = strrchr(*entry, ':');

	if (colon == NULL || (**entry == '[' ? strchr(*entry, ']') != colon - 1 : strchr(*entry, ':') != colon))
		return "";
	*colon = '\0';
	if (**entry == '[') {
		colon[-1] = '\0';
		++*entry;
	}
	return colon + 1;
}

/* ip: NULL unless the host is one. */
static bool entry_matches(char *entry, const char *host, const struct in6_addr *ip, const char *port)
{
	const char *only;
	struct in6_addr own;

	for (size_t len = strlen(entry); len > 0 && isspace((unsigned char)entry[len - 1]); len--)
		entry[len - 1] = '\0';
	while (isspace((unsigned char)*entry))
		entry++;
	if (strcmp(entry, "*") == 0 || (ip != NULL && is_in_block(ip, entry)))
		return true;
	only = cut_port(&entry);
	if (*entry == '\0' || (*only != '\0' && strcmp(only, port) != 0))
		return false;
	return ip == NULL ? is_named(host, entry) : parse_ip(entry, &own) && IN6_ARE_ADDR_EQUAL(ip, &own);
}

static char *lower(char *text)
{
	for (char *at = text; *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	return text;
}

static bool is_exempt(const char *server, const char *default_port)
{
	const char *authority = strstr(server, "://") + strlen("://");
	const char *at = authority;
	bool brackets = *at == '[';
	const char *end = at + strcspn(at, brackets ? "]" : ":/");
	size_t len = brackets ? strcspn(++at, "%]") : (size_t)(end - at); /* the zone is not looked at */
	const char *colon = end + strspn(end, "]");
	size_t digits = *colon == ':' ? strcspn(colon + 1, "/") : 0;
	cleanup_free char *host = mem_strndup(at, len);
	cleanup_free char *port = digits > 0 ? mem_strndup(colon + 1, digits) : mem_strdup(default_port);
	const char *value = variable("NO_PROXY", "no_proxy");
	cleanup_free char *list = lower(mem_strdup(value == NULL ? "" : value));
	char *rest = NULL;
	struct in6_addr ip;
	bool is_ip = parse_ip(host, &ip);

	if (address_is_loopback(authority))
		return true;
	lower(host);
	for (char *entry = strtok_r(list, ",", &rest); entry != NULL; entry = strtok_r(NULL, ",", &rest))
		if (entry_matches(entry, host, is_ip ? &ip : NULL, port))
			return true;
	return false;
}

int proxy_environment(const char *server, char **proxy, struct error *err)
{
	bool tls = strncmp(server, "https:", strlen("https:")) == 0;
	const char *value = tls ? variable("HTTPS_PROXY", "https_proxy") : variable("HTTP_PROXY", "http_proxy");
	cleanup_free char *url = NULL;
	const char *fault;

	if (value == NULL || is_exempt(server, tls ? "443" : "80"))
		return 0;
	url = strstr(value, "://") != NULL ? mem_strdup(value) : mem_printf("http://%s", value);
	fault = url_check_proxy(url, proxy);
	if (fault != NULL)
		return error_set(err, "environment variable %s: found \"%s\": %s", tls ? "HTTPS_PROXY" : "HTTP_PROXY",
				 url_redacted(value), fault);
	return 0;
}
