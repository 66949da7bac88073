/* Keys of the bus: CURVE on tcp:// (DESIGN.md §5, PITFALLS "ZeroMQ" 6), with keys from files, as a mounted Secret has
 * them. Each key is a line of 40 characters (Z85, ZeroMQ RFC 32); blanks around it are ignored.
 *
 *   a watcher's directory   server.secret   its own key
 *                           clients         the public keys of those who are let in, one a line, a name behind each;
 *                                           lines with # are comments
 *   a peer's directory      client.secret   its own key
 *                           server.public   the watcher's; another one is not spoken to
 *
 * Public keys are worked out from secret ones. */
#ifndef BUS_CURVE_H
#define BUS_CURVE_H

#include <stdbool.h>

#include "common/base/error.h"

/* How an endpoint is protected. A pointer to none: no keys, and this machine alone. */
struct bus_security {
	const char *keys; /* directory, as above; NULL: no CURVE */
	bool insecure;    /* without keys: other machines too, in the clear and without asking who they are */
};

#endif
