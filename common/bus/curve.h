/* Keys of the bus: CURVE on tcp:// (common/README.md §4.10, §8.6), with keys from files, as a mounted Secret has
 * them. A key is a text of 40 characters (Z85, ZeroMQ RFC 32); blanks around it are ignored.
 *
 *   a watcher's directory   server.secret   its own key
 *                           clients         the public keys of those who are let in, one a line, a name behind each;
 *                                           empty lines and those with # are ignored. Of the words
 *                                           behind a key, role=reconciler or role=barrier says as what alone it is
 *                                           good, and member=NAME under which name (a pattern: fc-reconciler-*)
 *   a peer's directory      client.secret   its own key
 *                           server.public   the watcher's; another one is not spoken to
 *
 * Public keys are worked out from secret ones. A watcher reads `clients` again when it changes, and its own key when it
 * starts; a peer looks into both of its files every KEYS_LOOK_MS, and connects anew when they have other keys. */
#ifndef BUS_CURVE_H
#define BUS_CURVE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/bus/message.h"

/* How an endpoint is protected. A pointer to none: no keys, and this machine alone. */
struct bus_security {
	const char *keys; /* directory, as above; NULL: no CURVE */
	bool insecure;    /* without keys: other machines too, in the clear and without asking who they are */
};

enum {
	CURVE_KEY_SIZE = 41, /* Z85 text with its NUL */
	CURVE_CLIENTS_MAX = 4096,
	KEYS_LOOK_MS = 2000,
};

/* Make the next zmq_bind() or zmq_connect() of a ZeroMQ socket ask for keys, or not (NULL; before any that does). -1
 * and *err naming the file that is missing or is no key. */
int curve_set_server(void *zmq_socket, const char *keys, struct error *err);
int curve_set_client(void *zmq_socket, const char *keys, struct error *err);
/* Whether a peer's directory has other keys than its socket. Not as long as one of the files is missing or no key: they
 * are replaced one after the other, maybe. */
bool curve_client_changed(void *zmq_socket, const char *keys);

/* Who is let in. */
struct curve_clients;

struct curve_clients *curve_clients_new(const char *keys, struct error *err);
void curve_clients_free(struct curve_clients *clients);
/* The name behind a public key ("" where the file has none), or NULL: not let in. Borrowed until the next call. */
const char *curve_clients_find(const struct curve_clients *clients, const char key[CURVE_KEY_SIZE]);
/* Whether the key's line lets its owner be such a peer of that name. */
bool curve_clients_may_be(const struct curve_clients *clients, const char *key, const char *member, enum bus_role role);
/* Reads the file again if it changed. What cannot be used is logged, and the old list kept. True when it is another
 * one now. */
bool curve_clients_refresh(struct curve_clients *clients);

/* Makes directory/server with a new key, unless it is there, and for each name a directory/NAME for a peer, which is
 * added to server/clients. Secret files have mode 0600. -1 and *err naming the file; nothing that exists is
 * overwritten. */
int curve_keygen(const char *directory, const char *const names[], size_t count, struct error *err);

#endif
