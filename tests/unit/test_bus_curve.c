/* The bus with keys: who is let in, who is not, and what is said of it. */
#include <sys/socket.h>
#include <sys/un.h>

#include "common/base/log.h"
#include "tests/unit/curve_world.h"

static void test_right_key(void **state)
{
	struct fixture *f = *state;

	listen_with(f, f->server);
	connect_with(f, f->peer);
	want(f, is_heard, 3);
	assert_int_equal(bus_socket_gate(f->router)->unknown_key, 0);
	assert_int_equal(bus_socket_gate(f->router)->handshake, 0);
}

/* A key for it, on the list. */
static void make_stranger(struct fixture *f)
{
	struct error err;

	assert_int_equal(curve_keygen(f->directory, (const char *const[]){"stranger"}, 1, &err), 0);
}

/* Refused until its key is on the list, which is read again; taken off again, what it says is dropped. Without a
 * handler for libzmq's question any key would do. */
static void test_unknown_key(void **state)
{
	struct fixture *f = *state;
	char clients[4096];

	listen_with(f, f->server);
	connect_with(f, f->stranger);
	want(f, is_unknown, 1);
	want(f, is_unknown, 1); /* it tries again: libzmq alone never would */
	assert_int_equal(f->heard, 0);

	read_text(f->server, "clients", clients);
	remove_keys(f->stranger);
	remove_file(f->server, "clients");
	make_stranger(f);
	want(f, is_heard, 1);
	write_text(f->server, "clients", "# nobody\n\n");
	want(f, is_revoked, 1);
	write_text(f->server, "clients", clients);
	connect_with(f, f->peer);
	want(f, is_heard, 1);
}

static bool is_refused(const struct fixture *f)
{
	return f->refused >= f->wanted;
}

static bool is_greeted(const struct fixture *f)
{
	return f->hellos >= f->wanted;
}

static void say_hello(struct fixture *f, const char *name, enum bus_role role)
{
	const struct bus_head head = {.type = BUS_HELLO, .sequence = 1, .session = 1};
	struct bus_hello hello = {.uuid = "u", .role = role, .window = 1};
	cleanup_buf struct buf body = {0};

	snprintf(hello.name, sizeof(hello.name), "%s", name);
	bus_hello_write(&body, &hello);
	assert_int_equal(bus_send(f->dealer, NULL, 0, &head, body.data, body.len), 0);
}

/* The client's key alone is on the server's list, with these limits. The list without limits is in clients. */
static void limit_key(struct fixture *f, char clients[4096], const char *limits)
{
	char text[4300];

	read_text(f->server, "clients", clients);
	snprintf(text, sizeof(text), "%.*s a %s\n", CURVE_KEY_SIZE - 1, clients, limits);
	write_text(f->server, "clients", text);
}

/* A key that is for some names, or for one role, is good for nothing else. */
static void test_names(void **state)
{
	struct fixture *f = *state;
	char clients[4096];

	limit_key(f, clients, "member=fc-? role=reconciler");
	listen_with(f, f->server);
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	say_hello(f, "fc-10", BUS_ROLE_RECONCILER);
	f->wanted = 1;
	wait_until(f, is_refused);
	say_hello(f, "fc-1", BUS_ROLE_BARRIER);
	f->wanted = 2;
	wait_until(f, is_refused);
	assert_int_equal(f->hellos, 0);
	assert_int_equal(bus_socket_gate(f->router)->misnamed, 2);
	say_hello(f, "fc-1", BUS_ROLE_RECONCILER);
	f->wanted = 1;
	wait_until(f, is_greeted);
	/* without a limit: anybody */
	write_text(f->server, "clients", clients);
	want(f, is_heard, 300); /* more than a second of what it says: the list was read again */
	say_hello(f, "x", BUS_ROLE_BARRIER);
	f->wanted = 2;
	wait_until(f, is_greeted);
	assert_int_equal(f->refused, 2);
}

static bool leads;

static bool answers(const void *arg)
{
	(void)arg;
	return leads;
}

/* What a watcher remembers of the HELLO below. */
static bool named(const void *arg, const unsigned char *id, size_t id_len, const char **name, enum bus_role *role)
{
	(void)id;
	(void)id_len;
	*name = "fc-1";
	*role = BUS_ROLE_RECONCILER;
	return ((const struct fixture *)arg)->hellos > 0;
}

static const struct bus_owner owner = {.answers = answers, .named = named};

static bool is_misnamed(const struct fixture *f)
{
	return bus_socket_gate(f->router)->misnamed >= f->wanted;
}

/* A standby, whose list of keys may be another one than the leader's, leaves refusals to the leader. */
static void test_standby(void **state)
{
	struct fixture *f = *state;
	char clients[4096];

	limit_key(f, clients, "role=reconciler");
	listen_with(f, f->server);
	bus_socket_set_owner(f->router, &owner);
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	leads = false;
	say_hello(f, "b", BUS_ROLE_BARRIER);
	f->wanted = 1;
	wait_until(f, is_misnamed);
	leads = true;
	say_hello(f, "b", BUS_ROLE_BARRIER);
	f->wanted = 2;
	wait_until(f, is_misnamed);
	f->wanted = 1;
	wait_until(f, is_refused);
	want(f, is_heard, 10); /* long enough for another refusal */
	assert_int_equal(f->refused, 1);
	assert_int_equal(f->hellos, 0);
}

/* A key that gets limits after its peer's HELLO: they count at the next message. */
static void test_narrowed(void **state)
{
	struct fixture *f = *state;
	char clients[4096];
	unsigned heard;

	listen_with(f, f->server);
	bus_socket_set_owner(f->router, &owner);
	leads = true;
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	say_hello(f, "fc-1", BUS_ROLE_RECONCILER);
	f->wanted = 1;
	wait_until(f, is_greeted);
	want(f, is_heard, 10);
	limit_key(f, clients, "role=barrier");
	f->wanted = 1;
	wait_until(f, is_misnamed);
	heard = f->heard;
	wait_until(f, is_refused);
	f->wanted = 10;
	wait_until(f, is_misnamed);
	assert_int_equal(f->heard, heard);
	write_text(f->server, "clients", clients);
	want(f, is_heard, 1);
}

static void test_wrong_server_key(void **state)
{
	struct fixture *f = *state;
	char server_public[4096];

	listen_with(f, f->server);
	read_text(f->peer, "server.public", server_public);
	write_text(f->peer, "server.public", "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\n");
	connect_with(f, f->peer);
	want(f, is_no_handshake, 2);
	assert_int_equal(f->heard, 0);
	assert_int_equal(bus_socket_gate(f->router)->unknown_key, 0);
	/* half of it is no key */
	write_text(f->peer, "server.public", "rq:rM>}U?@Lns47E1%kR\n");
	want(f, is_no_handshake, 1);
	write_text(f->peer, "server.public", server_public);
	want(f, is_heard, 1);
}

/* A peer gets another key while it is connected. */
static void test_own_key_changes(void **state)
{
	struct fixture *f = *state;
	char text[4096];

	listen_with(f, f->server);
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	remove_keys(f->stranger);
	remove_file(f->server, "clients");
	make_stranger(f);
	want(f, is_revoked, 1);
	read_text(f->stranger, "client.secret", text);
	write_text(f->peer, "client.secret", text);
	want(f, is_heard, 1);
	assert_int_equal(bus_socket_gate(f->router)->unknown_key, 0);
}

static char logged[4096];

static void keep_line(char severity, const char *message)
{
	size_t len = strlen(logged);

	snprintf(logged + len, sizeof(logged) - len, "%c %s\n", severity, message);
}

static bool is_peer_warned(const struct fixture *f)
{
	(void)f;
	return strstr(logged, "W the watcher at ") != NULL;
}

/* Its own log names the flag that is missing, first: it has no server.public that could be wrong. */
static void test_plain_client(void **state)
{
	struct fixture *f = *state;

	logged[0] = '\0';
	log_set_sink(keep_line);
	listen_with(f, f->server);
	connect_with(f, NULL);
	want(f, is_no_handshake, 2);
	wait_until(f, is_peer_warned);
	log_set_sink(NULL);
	assert_int_equal(f->heard, 0);
	assert_non_null(strstr(logged, " refuses the connection: it expects keys, and --bus-keys is missing, or "));
	assert_null(strstr(logged, "refuses the connection: the handshake broke off"));
}

/* Connects to the bus and ends, as a process that is killed. */
static void knock(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

/* A pool's private listener has no keys, even beside one that has: a child that ends at once is no matter of keys. */
static void test_ends_at_once(void **state)
{
	struct fixture *f = *state;
	const struct bus_security security = {.keys = f->server};
	char path[KEYS_PATH_SIZE];
	char endpoint[KEYS_PATH_SIZE + 8];
	struct error err;

	snprintf(path, sizeof(path), "%s/bus", f->directory);
	snprintf(endpoint, sizeof(endpoint), "ipc://%s", path);
	for (int keys = 0; keys < 2; keys++) {
		f->router = bus_socket_bind(f->loop, endpoint, NULL, on_receive, f, &err);
		assert_non_null(f->router);
		if (keys == 1)
			assert_int_equal(bus_socket_bind_also(f->router, "tcp://127.0.0.1:*", &security, &err), 0);
		logged[0] = '\0';
		log_set_sink(keep_line);
		knock(path);
		want(f, is_no_handshake, 1);
		log_set_sink(NULL);
		assert_string_equal(logged, "W the bus refused a connection (1 times): the connection was lost during "
					    "the handshake\n");
		bus_socket_free(f->router);
		f->router = NULL;
	}
	/* the same endpoint, with keys of its own */
	f->router = bus_socket_bind(f->loop, endpoint, &security, on_receive, f, &err);
	assert_non_null(f->router);
	logged[0] = '\0';
	log_set_sink(keep_line);
	knock(path);
	want(f, is_no_handshake, 1);
	log_set_sink(NULL);
	assert_non_null(strstr(logged, "server.public is not this watcher's key"));
	bus_socket_free(f->router);
	f->router = NULL;
	unlink(path);
}

/* Nothing is said to a server that has no key. */
static void test_plain_server(void **state)
{
	struct fixture *f = *state;

	listen_with(f, NULL);
	connect_with(f, f->peer);
	want(f, is_no_handshake, 2);
	assert_int_equal(f->heard, 0);
}

/* The pool's private listener asks nobody, on the same socket. */
static void test_both_listeners(void **state)
{
	struct fixture *f = *state;
	const struct bus_security security = {.keys = f->server};
	struct bus_socket *other;
	struct error err;

	listen_with(f, NULL);
	connect_with(f, NULL);
	assert_int_equal(bus_socket_bind_also(f->router, "tcp://127.0.0.1:*", &security, &err), 0);
	want(f, is_heard, 1);
	other = f->dealer;
	f->dealer = NULL;
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	connect_with(f, NULL);
	want(f, is_no_handshake, 1);
	bus_socket_free(f->dealer);
	f->dealer = other;
	want(f, is_heard, 1);
}

static void test_beyond_this_machine(void **state)
{
	struct fixture *f = *state;
	const struct bus_security insecure = {.insecure = true};
	const struct bus_security keys = {.keys = f->peer};
	struct bus_socket *socket;
	struct error err;

	assert_null(bus_socket_bind(f->loop, "tcp://0.0.0.0:*", NULL, on_receive, f, &err));
	assert_string_equal(err.message, "other machines can reach the bus tcp://0.0.0.0:*: expected keys, --bus-keys "
					 "DIRECTORY (or --bus-insecure)");
	assert_null(bus_socket_connect(f->loop, "tcp://fc-watcher:8471", NULL, on_receive, f, &err));
	assert_non_null(strstr(err.message, "--bus-insecure"));
	assert_null(bus_socket_connect(f->loop, "tcp://127.0.0.1.example.org:1", NULL, on_receive, f, &err));
	assert_null(bus_socket_connect(f->loop, "tcp://localhost.example.org:1", NULL, on_receive, f, &err));
	for (size_t i = 0; i < 2; i++) {
		socket = bus_socket_connect(f->loop, "tcp://192.0.2.1:8471", i == 0 ? &insecure : &keys, on_receive, f,
					    &err);
		assert_non_null(socket);
		bus_socket_free(socket);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_right_key),       TEST(test_unknown_key),    TEST(test_names),
		TEST(test_standby),         TEST(test_narrowed),       TEST(test_wrong_server_key),
		TEST(test_own_key_changes), TEST(test_plain_client),   TEST(test_ends_at_once),
		TEST(test_plain_server),    TEST(test_both_listeners), TEST(test_beyond_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
