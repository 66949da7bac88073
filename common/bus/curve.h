/* Keys of the bus: CURVE on tcp:// (common/README.md §4.10, §8.6), with keys in files, as in a mounted Secret. A key is
 * a text of 40 characters (Z85, ZeroMQ RFC 32); blanks around it are ignored.
 *
 *   a watcher's directory   server.secret   its own key
 *                           clients         a line for each public key that may connect, with a name after it;
 *                                           empty lines and lines with # are ignored. After the name,
 *                                           role=reconciler or role=barrier limits the key to that role, and
 *                                           member=NAME to member names (a pattern: fc-reconciler-*)
 *   a peer's directory      client.secret   its own key
 *                           server.public   the watcher's key; the peer refuses any other
 *
 * Public keys are derived from secret ones. A watcher reads `clients` again when it changes, and its own key when it
 * starts. A peer checks both of its files every KEYS_LOOK_MS, and reconnects when a key has changed. */
#ifndef BUS_CURVE_H
#define BUS_CURVE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/bus/message.h"

/* The protection of an endpoint. NULL in place of a pointer to it: no keys, and this machine only. */
struct bus_security {
	const char *keys; /* directory, as above; NULL: no CURVE */
	bool insecure;    /* without keys: other machines may connect, without encryption and authentication */
};

enum {
	CURVE_KEY_SIZE = 41, /* Z85 text with its NUL */
	CURVE_CLIENTS_MAX = 4096,
	KEYS_LOOK_MS = 2000,
};

/* Make the next zmq_bind() or zmq_connect() of a ZeroMQ socket use keys; NULL: no keys (before any call with keys). -1
 * and *err naming the file that is missing or has no key. */
int curve_set_server(void *zmq_socket, const char *keys, struct error *err);
int curve_set_client(void *zmq_socket, const char *keys, struct error *err);
/* Whether a peer's directory has other keys than its socket. False while a file is missing or has no key, because the
 * files may be replaced one after the other. */
bool curve_client_changed(void *zmq_socket, const char *keys);

/* The keys that may connect. */
struct curve_clients;

struct curve_clients *curve_clients_new(const char *keys, struct error *err);
void curve_clients_free(struct curve_clients *clients);
/* The name of a public key ("" if the file has none), or NULL: it may not connect. Borrowed until the next call. */
const char *curve_clients_find(const struct curve_clients *clients, const char key[CURVE_KEY_SIZE]);
/* Whether the key's line allows this member name and role. */
bool curve_clients_may_be(const struct curve_clients *clients, const char *key, const char *member, enum bus_role role);
/* Reads the file again if it changed. If the file is invalid, logs that and keeps the old list. True if the list is a
 * new one. */
bool curve_clients_refresh(struct curve_clients *clients);

/* Makes directory/server with a new key, unless it exists. Makes directory/NAME for each name, and adds the peer's key
 * to server/clients. Secret files have mode 0600. Overwrites no file. -1 and *err naming the file. */
int curve_keygen(const char *directory, const char *const names[], size_t count, struct error *err);

#endif
