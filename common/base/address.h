/* Addresses as people write them. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>

enum { PORT_MAX = 65535 };

/* The number that all of text is, 0 to PORT_MAX; else -1. (The resolver and libzmq cut a larger number down to 16 bits:
 * another port, without a word.) */
int port_number(const char *text);

/* Whether "HOST", "HOST:PORT" or "HOST/PATH" is this machine for certain: 127.0.0.0/8, [::1], [::ffff:127.0.0.0/104] or
 * "localhost". Other names may mean any address, 127.evil.example too. */
bool address_is_loopback(const char *address);

#endif
