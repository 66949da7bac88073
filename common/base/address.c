/* Ports and hosts; see address.h. */
#include "common/base/address.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

int port_number(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	long port = digits >= 1 && digits <= 5 && text[digits] == '\0' ? strtol(text, NULL, 10) : -1;

	return port <= PORT_MAX ? (int)port : -1;
}

bool address_is_loopback(const char *address)
{
	bool bracket = *address == '[';
	cleanup_free char *host = mem_strndup(address + bracket, strcspn(address, bracket ? "]%" : ":/") - bracket);
	struct in6_addr six;
	struct in_addr four;

	if (bracket)
		return inet_pton(AF_INET6, host, &six) == 1 &&
		       (IN6_IS_ADDR_LOOPBACK(&six) ||
			(IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == IN_LOOPBACKNET));
	if (inet_pton(AF_INET, host, &four) == 1)
		return (ntohl(four.s_addr) >> IN_CLASSA_NSHIFT) == IN_LOOPBACKNET;
	return strcmp(host, "localhost") == 0;
}
