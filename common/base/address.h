/* Ports and hosts in text. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>

enum { PORT_MAX = 65535 };

/* The whole text as a number in 0..PORT_MAX; else -1. (The resolver and libzmq silently cut larger numbers to 16 bits,
 * which gives another port.) */
int port_number(const char *text);

/* Whether "HOST", "HOST:PORT" or "HOST/PATH" is certainly this machine: 127.0.0.0/8, [::1], [::ffff:127.0.0.0/104] or
 * "localhost". Other names can resolve to any address, also 127.evil.example. */
bool address_is_loopback(const char *address);

#endif
