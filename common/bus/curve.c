/* Keys of the bus; see curve.h. */
#include "common/bus/curve.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/mem.h"

enum {
	FILE_MAX = 512 * 1024,
	NAME_MAX_LEN = 63,
	BINARY_KEY_SIZE = 32,
};

struct client {
	char key[CURVE_KEY_SIZE];
	char name[NAME_MAX_LEN + 1];
	char member[NAME_MAX_LEN + 1]; /* a pattern of the names that it may have; "": any */
	bool any_role;
	enum bus_role role;
};

struct curve_clients {
	char *path;
	struct file_stamp seen; /* of the file that was read, whatever was in it */
	struct error said;      /* of one that could not be; "": of none */
	struct client *list;
	size_t count;
};

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* The key at the start of a text, which ends there or goes on with a blank. */
static bool take_key(const char *text, char key[CURVE_KEY_SIZE])
{
	unsigned char binary[BINARY_KEY_SIZE];
	size_t len = strcspn(text, " \t\r\n");

	if (len != CURVE_KEY_SIZE - 1)
		return false;
	memcpy(key, text, len);
	key[len] = '\0';
	if (zmq_z85_decode(binary, key) == NULL)
		return false;
	explicit_bzero(binary, sizeof(binary));
	return true;
}

/* A key and nothing else. */
static bool is_key(const char *text, char key[CURVE_KEY_SIZE])
{
	static const char blanks[] = " \t\r\n";

	text += strspn(text, blanks);
	if (!take_key(text, key))
		return false;
	text += CURVE_KEY_SIZE - 1;
	return text[strspn(text, blanks)] == '\0';
}

static int read_key(const char *directory, const char *name, char key[CURVE_KEY_SIZE], struct error *err)
{
	cleanup_free char *path = mem_printf("%s/%s", directory, name);
	cleanup_buf struct buf text = {0};
	int result = -1;

	if (file_read(path, FILE_MAX, &text, NULL, err) == 0) {
		if (is_key(text.data, key))
			result = 0;
		else
			error_set(err, "%s: expected a key, 40 characters of Z85", path);
	}
	if (text.data != NULL)
		explicit_bzero(text.data, text.len);
	return result;
}

/* ---- sockets ---------------------------------------------------------------------------------------------------- */

static void set_option(void *zmq_socket, int option, const void *value, size_t size)
{
	/* fails only for an option or value that does not exist */
	if (zmq_setsockopt(zmq_socket, option, value, size) < 0)
		abort();
}

int curve_set_server(void *zmq_socket, const char *keys, struct error *err)
{
	const int serve = keys != NULL;
	char secret[CURVE_KEY_SIZE];

	if (keys != NULL && read_key(keys, "server.secret", secret, err) < 0)
		return -1;
	set_option(zmq_socket, ZMQ_CURVE_SERVER, &serve, sizeof(serve)); /* 0: no other mechanism either */
	if (keys == NULL)
		return 0;
	set_option(zmq_socket, ZMQ_CURVE_SECRETKEY, secret, sizeof(secret));
	set_option(zmq_socket, ZMQ_ZAP_DOMAIN, "bus", 3);
	explicit_bzero(secret, sizeof(secret));
	return 0;
}

int curve_set_client(void *zmq_socket, const char *keys, struct error *err)
{
	char secret[CURVE_KEY_SIZE];
	char public[CURVE_KEY_SIZE];
	char server[CURVE_KEY_SIZE];

	if (keys == NULL)
		return 0;
	if (read_key(keys, "server.public", server, err) < 0 || read_key(keys, "client.secret", secret, err) < 0)
		return -1;
	if (zmq_curve_public(public, secret) < 0)
		return error_set(err, "%s/client.secret: %s", keys, zmq_strerror(zmq_errno()));
	set_option(zmq_socket, ZMQ_CURVE_SERVERKEY, server, sizeof(server));
	set_option(zmq_socket, ZMQ_CURVE_PUBLICKEY, public, sizeof(public));
	set_option(zmq_socket, ZMQ_CURVE_SECRETKEY, secret, sizeof(secret));
	explicit_bzero(secret, sizeof(secret));
	return 0;
}

static bool has_key(void *zmq_socket, int option, const char *key)
{
	char set[CURVE_KEY_SIZE] = "";
	size_t size = sizeof(set);
	bool same = zmq_getsockopt(zmq_socket, option, set, &size) == 0 && strcmp(set, key) == 0;

	explicit_bzero(set, sizeof(set));
	return same;
}

bool curve_client_changed(void *zmq_socket, const char *keys)
{
	char secret[CURVE_KEY_SIZE] = "";
	char server[CURVE_KEY_SIZE];
	bool changed = read_key(keys, "server.public", server, NULL) == 0 &&
		       read_key(keys, "client.secret", secret, NULL) == 0 &&
		       !(has_key(zmq_socket, ZMQ_CURVE_SERVERKEY, server) &&
			 has_key(zmq_socket, ZMQ_CURVE_SECRETKEY, secret));

	explicit_bzero(secret, sizeof(secret));
	return changed;
}

/* ---- the list of clients ---------------------------------------------------------------------------------------- */

/* Reads the words behind a key: member= and role= limit its use, other words are its name. */
static int read_limits(const char *text, struct client *out, struct error *err)
{
	cleanup_free char *words = mem_strdup(text);
	char *rest = words;
	char *word;

	out->any_role = true;
	while ((word = strsep(&rest, " \t\r")) != NULL) {
		if (strncmp(word, "member=", 7) == 0) {
			if (word[7] == '\0' || strlen(word + 7) > NAME_MAX_LEN)
				return error_set(err, "member=: expected a name of at most %d characters",
						 NAME_MAX_LEN);
			memcpy(out->member, word + 7, strlen(word + 7) + 1);
		} else if (strncmp(word, "role=", 5) == 0) {
			out->any_role = false;
			out->role = strcmp(word + 5, "barrier") == 0 ? BUS_ROLE_BARRIER : BUS_ROLE_RECONCILER;
			if (out->role == BUS_ROLE_RECONCILER && strcmp(word + 5, "reconciler") != 0)
				return error_set(err, "role=: expected reconciler or barrier");
		}
	}
	return 0;
}

static int parse_clients(const char *path, char *text, struct client **out, size_t *count, struct error *err)
{
	struct client *list = NULL;
	char *rest = text;
	char *line;
	int number = 0;

	*count = 0;
	while ((line = strsep(&rest, "\n")) != NULL) {
		struct client client = {0};
		const char *name;

		number++;
		line += strspn(line, " \t\r");
		if (*line == '\0' || *line == '#') /* no key begins so: Z85 groups are of 32 bits */
			continue;
		if (!take_key(line, client.key) || *count == CURVE_CLIENTS_MAX) {
			free(list);
			return error_set(err,
					 *count == CURVE_CLIENTS_MAX
						 ? "%s:%d: more than %d clients"
						 : "%s:%d: expected a key, 40 characters of Z85, and a name",
					 path, number, CURVE_CLIENTS_MAX);
		}
		name = line + CURVE_KEY_SIZE - 1;
		name += strspn(name, " \t");
		if (read_limits(name, &client, err) < 0) {
			free(list);
			return error_wrap(err, "%s:%d", path, number);
		}
		snprintf(client.name, sizeof(client.name), "%.*s", (int)strcspn(name, "\r"), name);
		list = mem_realloc(list, *count + 1, sizeof(*list));
		list[(*count)++] = client;
	}
	*out = list;
	return 0;
}

static int read_clients(struct curve_clients *clients, struct error *err)
{
	cleanup_buf struct buf text = {0};
	struct client *list = NULL;
	struct file_stamp stamp;
	size_t count = 0;

	if (file_read(clients->path, FILE_MAX, &text, &stamp, err) < 0)
		return -1; /* to be tried again: there may be no descriptors now */
	clients->seen = stamp;
	if (parse_clients(clients->path, text.data, &list, &count, err) < 0)
		return -1;
	free(clients->list);
	clients->list = list;
	clients->count = count;
	return 0;
}

struct curve_clients *curve_clients_new(const char *keys, struct error *err)
{
	struct curve_clients *clients = mem_calloc(1, sizeof(*clients));

	clients->path = mem_printf("%s/clients", keys);
	if (read_clients(clients, err) < 0) {
		curve_clients_free(clients);
		return NULL;
	}
	return clients;
}

void curve_clients_free(struct curve_clients *clients)
{
	if (clients == NULL)
		return;
	free(clients->path);
	free(clients->list);
	free(clients);
}

static const struct client *find(const struct curve_clients *clients, const char *key)
{
	for (size_t i = 0; i < clients->count; i++)
		if (strcmp(clients->list[i].key, key) == 0)
			return &clients->list[i];
	return NULL;
}

const char *curve_clients_find(const struct curve_clients *clients, const char key[CURVE_KEY_SIZE])
{
	const struct client *client = find(clients, key);

	return client == NULL ? NULL : client->name;
}

bool curve_clients_may_be(const struct curve_clients *clients, const char *key, const char *member, enum bus_role role)
{
	const struct client *client = find(clients, key);

	return client != NULL && (client->any_role || client->role == role) &&
	       (client->member[0] == '\0' || fnmatch(client->member, member, 0) == 0);
}

bool curve_clients_refresh(struct curve_clients *clients)
{
	struct file_stamp now = file_stamp_now(clients->path);
	struct error err;

	if (file_stamp_same(&now, &clients->seen)) {
		clients->said.message[0] = '\0';
		return false;
	}
	if (read_clients(clients, &err) < 0) {
		if (strcmp(err.message, clients->said.message) != 0)
			log_error("%s; keeping the previous clients", err.message);
		clients->said = err;
		return false;
	}
	clients->said.message[0] = '\0';
	log_info("%s: %zu keys may connect", clients->path, clients->count);
	return true;
}

/* ---- new keys --------------------------------------------------------------------------------------------------- */

static int make_directory(const char *path, struct error *err)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_set_errno(err, errno, "%s", path);
	return 0;
}

static int write_file(const char *directory, const char *name, int flags, mode_t mode, const char *text,
		      struct error *err)
{
	cleanup_free char *path = mem_printf("%s/%s", directory, name);
	cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode);
	size_t len = strlen(text);

	if (fd < 0)
		return error_set_errno(err, errno, "%s", path);
	if (write(fd, text, len) != (ssize_t)len || fsync(fd) < 0)
		return error_set_errno(err, errno, "%s", path);
	return 0;
}

/* A new key in a file of its own; out: its public half. */
static int make_key(const char *directory, const char *name, char public[CURVE_KEY_SIZE], struct error *err)
{
	char secret[CURVE_KEY_SIZE + 1]; /* for the end of the line */
	int result;

	if (zmq_curve_keypair(public, secret) < 0)
		return error_set(err, "cannot make a key: %s", zmq_strerror(zmq_errno()));
	secret[CURVE_KEY_SIZE - 1] = '\n';
	secret[CURVE_KEY_SIZE] = '\0';
	result = write_file(directory, name, O_EXCL, 0600, secret, err);
	explicit_bzero(secret, sizeof(secret));
	return result;
}

/* The watcher's directory; public: of the key that is there or was made. */
static int make_server(const char *directory, char public[CURVE_KEY_SIZE], struct error *err)
{
	cleanup_free char *secret_path = mem_printf("%s/server.secret", directory);
	char secret[CURVE_KEY_SIZE];

	if (make_directory(directory, err) < 0)
		return -1;
	if (access(secret_path, F_OK) < 0)
		return make_key(directory, "server.secret", public, err) < 0 ||
				       write_file(directory, "clients", O_APPEND, 0600, "", err) < 0
			       ? -1
			       : 0;
	if (read_key(directory, "server.secret", secret, err) < 0)
		return -1;
	zmq_curve_public(public, secret);
	explicit_bzero(secret, sizeof(secret));
	return 0;
}

static bool is_name(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_')
			return false;
	return len > 0 && len <= NAME_MAX_LEN && strcmp(name, "server") != 0;
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* A name that says it makes a key that is good for nothing else. */
static const char *role_of(const char *name)
{
	return ends_with(name, "barrier") ? " role=barrier" : ends_with(name, "reconciler") ? " role=reconciler" : "";
}

/* Somebody may have edited the file without an end of its last line. */
static bool lacks_end(const char *directory, const char *name)
{
	cleanup_free char *path = mem_printf("%s/%s", directory, name);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char last;

	return fd >= 0 && lseek(fd, -1, SEEK_END) >= 0 && read(fd, &last, 1) == 1 && last != '\n';
}

/* A key that exists is kept: somebody may use it. */
static int check_new(const char *own, const char *name, const char *directory, struct error *err)
{
	cleanup_free char *path = mem_printf("%s/%s", own, name);

	if (access(path, F_OK) < 0)
		return 0;
	return error_set(err,
			 "found %s, expected a peer without keys: choose another NAME, or delete %s and its line in "
			 "%s/server/clients",
			 path, own, directory);
}

static int make_peer(const char *directory, const char *name, const char *server_public, struct error *err)
{
	cleanup_free char *own = mem_printf("%s/%s", directory, name);
	cleanup_free char *server = mem_printf("%s/server", directory);
	cleanup_free char *server_line = mem_printf("%s\n", server_public);
	cleanup_free char *line = NULL;
	char public[CURVE_KEY_SIZE];

	if (!is_name(name))
		return error_set(err, "peer \"%s\": expected a name of letters, digits, - and _", name);
	if (check_new(own, "client.secret", directory, err) < 0 ||
	    check_new(own, "server.public", directory, err) < 0 || make_directory(own, err) < 0 ||
	    make_key(own, "client.secret", public, err) < 0 ||
	    write_file(own, "server.public", O_EXCL, 0644, server_line, err) < 0)
		return -1;
	line = mem_printf("%s%s %s%s\n", lacks_end(server, "clients") ? "\n" : "", public, name, role_of(name));
	return write_file(server, "clients", O_APPEND, 0600, line, err);
}

int curve_keygen(const char *directory, const char *const names[], size_t count, struct error *err)
{
	cleanup_free char *server = mem_printf("%s/server", directory);
	char public[CURVE_KEY_SIZE];

	if (make_directory(directory, err) < 0 || make_server(server, public, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (make_peer(directory, names[i], public, err) < 0)
			return -1;
	return 0;
}
