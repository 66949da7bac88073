/* A TCP port as people write it. The resolver and libzmq cut a larger number down to 16 bits: another port, without a
 * word. */
#ifndef BASE_PORT_H
#define BASE_PORT_H

#include <stdlib.h>
#include <string.h>

enum { PORT_MAX = 65535 };

/* The number that all of text is, 0 to PORT_MAX; else -1. */
static inline int port_number(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	long port = digits >= 1 && digits <= 5 && text[digits] == '\0' ? strtol(text, NULL, 10) : -1;

	return port <= PORT_MAX ? (int)port : -1;
}

#endif
