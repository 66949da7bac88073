/* The bus with keys: who is let in, who is not and what is said of it, key files, and floods of strangers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "common/base/mem.h"
#include "common/bus/socket.h"
#include "tests/unit/slow.h"
#include "tests/unit/temp.h"

/* Every wait of these tests ends much sooner; this only bounds a failure. */
static const double limit_s = 30;

struct fixture {
	struct ev_loop *loop;
	char directory[TEMP_PATH_SIZE];
	char server[TEMP_PATH_SIZE + 16], peer[TEMP_PATH_SIZE + 16],
		stranger[TEMP_PATH_SIZE + 16]; /* directories of keys */
	struct bus_socket *router;
	struct bus_socket *dealer;
	unsigned heard; /* by the router */
	unsigned hellos;
	unsigned refused; /* said to the dealer */
	ev_timer say;
	bool saying;
	/* what is waited for */
	bool (*until)(const struct fixture *f);
	bool late;
	unsigned wanted;
};

/* ---- files ------------------------------------------------------------------------------------------------------ */

static void path_of(char out[160], const char *directory, const char *name)
{
	snprintf(out, 160, "%s/%s", directory, name);
}

static void write_text(const char *directory, const char *name, const char *text)
{
	char path[160];
	FILE *file;

	path_of(path, directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void read_text(const char *directory, const char *name, char out[4096])
{
	char path[160];
	FILE *file;
	size_t len;

	path_of(path, directory, name);
	file = fopen(path, "r");
	assert_non_null(file);
	len = fread(out, 1, 4095, file);
	out[len] = '\0';
	fclose(file);
}

static void remove_file(const char *directory, const char *name)
{
	char path[160];

	path_of(path, directory, name);
	unlink(path);
}

static void remove_keys(const char *directory)
{
	static const char *const names[] = {"server.secret", "server.public", "client.secret", "clients"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		remove_file(directory, names[i]);
	rmdir(directory);
}

/* ---- ends ------------------------------------------------------------------------------------------------------- */

static void check_until(struct fixture *f)
{
	if (f->until != NULL && f->until(f))
		ev_break(f->loop, EVBREAK_ALL);
}

static void on_receive(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const char *body,
		       size_t body_len)
{
	struct fixture *f = arg;

	(void)id;
	(void)body;
	(void)body_len;
	if (id_len > 0)
		f->heard++;
	if (id_len > 0 && head->type == BUS_HELLO)
		f->hellos++;
	if (id_len == 0 && head->type == BUS_REFUSE)
		f->refused++;
	check_until(f);
}

static void on_say(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct fixture *f = timer->data;
	const struct bus_head head = {.type = BUS_PING, .sequence = 1};

	(void)loop;
	(void)events;
	if (f->dealer != NULL)
		bus_send(f->dealer, NULL, 0, &head, "ping", 4);
	check_until(f);
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)events;
	((struct fixture *)timer->data)->late = true;
	ev_break(loop, EVBREAK_ALL);
}

/* Runs the loop until the condition holds; it is looked at every 10 ms, and the dealer says something as often. */
static void wait_until(struct fixture *f, bool (*condition)(const struct fixture *f))
{
	ev_timer limit;

	f->until = condition;
	f->late = false;
	ev_timer_init(&limit, on_limit, allowed_s(limit_s), 0);
	limit.data = f;
	ev_timer_start(f->loop, &limit);
	if (!condition(f))
		ev_run(f->loop, 0);
	ev_timer_stop(f->loop, &limit);
	f->until = NULL;
	if (f->late)
		fail_msg("not within %g s: heard %u of %u; accepted %llu, admitted %llu, unknown %llu, handshake %llu, "
			 "closed "
			 "%llu",
			 limit_s, f->heard, f->wanted, (unsigned long long)bus_socket_gate(f->router)->accepted,
			 (unsigned long long)bus_socket_gate(f->router)->admitted,
			 (unsigned long long)bus_socket_gate(f->router)->unknown_key,
			 (unsigned long long)bus_socket_gate(f->router)->handshake,
			 (unsigned long long)bus_socket_gate(f->router)->closed);
}

static bool is_heard(const struct fixture *f)
{
	return f->heard >= f->wanted;
}

static bool is_unknown(const struct fixture *f)
{
	return bus_socket_gate(f->router)->unknown_key >= f->wanted;
}

static bool is_no_handshake(const struct fixture *f)
{
	return bus_socket_gate(f->router)->handshake >= f->wanted;
}

static bool is_accepted(const struct fixture *f)
{
	return bus_socket_gate(f->router)->accepted >= f->wanted;
}

static bool is_crowded(const struct fixture *f)
{
	return bus_socket_gate(f->router)->closed > 0;
}

static bool is_revoked(const struct fixture *f)
{
	return bus_socket_gate(f->router)->revoked >= f->wanted;
}

static void want(struct fixture *f, bool (*condition)(const struct fixture *f), unsigned more)
{
	const struct bus_gate_counters *gate = bus_socket_gate(f->router);

	f->wanted = more + (condition == is_heard          ? f->heard
			    : condition == is_unknown      ? (unsigned)gate->unknown_key
			    : condition == is_no_handshake ? (unsigned)gate->handshake
							   : (unsigned)gate->revoked);
	wait_until(f, condition);
}

static void listen_with(struct fixture *f, const char *keys)
{
	const struct bus_security security = {.keys = keys};
	struct error err;

	f->router = bus_socket_bind(f->loop, "tcp://127.0.0.1:*", &security, on_receive, f, &err);
	if (f->router == NULL)
		fail_msg("%s", err.message);
}

static void connect_with(struct fixture *f, const char *keys)
{
	const struct bus_security security = {.keys = keys};
	struct error err;

	bus_socket_free(f->dealer);
	f->dealer = bus_socket_connect(f->loop, bus_socket_endpoint(f->router), &security, on_receive, f, &err);
	if (f->dealer == NULL)
		fail_msg("%s", err.message);
}

static int set_up(void **state)
{
	static const char *const names[] = {"peer", "stranger"};
	struct fixture *f = mem_calloc(1, sizeof(*f));
	struct error err;

	*state = f;
	f->loop = ev_loop_new(0);
	temp_directory(f->directory);
	snprintf(f->server, sizeof(f->server), "%s/server", f->directory);
	snprintf(f->peer, sizeof(f->peer), "%s/peer", f->directory);
	snprintf(f->stranger, sizeof(f->stranger), "%s/stranger", f->directory);
	if (curve_keygen(f->directory, names, 1, &err) < 0)
		fail_msg("%s", err.message);
	/* a key of its own, and the watcher's public one, but not on its list */
	char clients[4096];
	read_text(f->server, "clients", clients);
	assert_int_equal(curve_keygen(f->directory, names + 1, 1, &err), 0);
	write_text(f->server, "clients", clients);
	ev_timer_init(&f->say, on_say, 0.01, 0.01);
	f->say.data = f;
	ev_timer_start(f->loop, &f->say);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	ev_timer_stop(f->loop, &f->say);
	bus_socket_free(f->dealer);
	bus_socket_free(f->router);
	ev_loop_destroy(f->loop);
	remove_keys(f->server);
	remove_keys(f->peer);
	remove_keys(f->stranger);
	assert_int_equal(rmdir(f->directory), 0);
	free(f);
	return 0;
}

/* ---- who is let in ---------------------------------------------------------------------------------------------- */

static void test_right_key(void **state)
{
	struct fixture *f = *state;

	listen_with(f, f->server);
	connect_with(f, f->peer);
	want(f, is_heard, 3);
	assert_int_equal(bus_socket_gate(f->router)->unknown_key, 0);
	assert_int_equal(bus_socket_gate(f->router)->handshake, 0);
}

/* Refused until its key is on the list, which is read again; taken off again, what it says is dropped. Without a
 * handler for libzmq's question any key would do. */
static void test_unknown_key(void **state)
{
	struct fixture *f = *state;
	char clients[4096];
	struct error err;

	listen_with(f, f->server);
	connect_with(f, f->stranger);
	want(f, is_unknown, 1);
	want(f, is_unknown, 1); /* it tries again: libzmq alone never would */
	assert_int_equal(f->heard, 0);

	read_text(f->server, "clients", clients);
	remove_keys(f->stranger);
	remove_file(f->server, "clients");
	assert_int_equal(curve_keygen(f->directory, (const char *const[]){"stranger"}, 1, &err), 0);
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

/* A key that is for some names, or for one role, is good for nothing else. */
static void test_names(void **state)
{
	struct fixture *f = *state;
	char clients[4096];
	char text[4300];

	read_text(f->server, "clients", clients);
	snprintf(text, sizeof(text), "%.*s a member=fc-? role=reconciler\n", CURVE_KEY_SIZE - 1, clients);
	write_text(f->server, "clients", text);
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
	/* set right, it is read when the connection is made anew */
	write_text(f->peer, "server.public", server_public);
	connect_with(f, f->peer);
	want(f, is_heard, 1);
}

static void test_plain_client(void **state)
{
	struct fixture *f = *state;

	listen_with(f, f->server);
	connect_with(f, NULL);
	want(f, is_no_handshake, 2);
	assert_int_equal(f->heard, 0);
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

/* ---- strangers -------------------------------------------------------------------------------------------------- */

static int connect_raw(const struct fixture *f, int flags)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	address.sin_port = htons((uint16_t)atoi(strrchr(bus_socket_endpoint(f->router), ':') + 1));
	assert_true(fd >= 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		assert_int_equal(errno, EINPROGRESS);
	return fd;
}

static void send_raw(const struct fixture *f, const void *bytes, size_t len)
{
	int fd = connect_raw(f, 0);

	assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
	shutdown(fd, SHUT_WR);
	close(fd);
}

/* Other protocols, an old ZeroMQ (which knows no keys), lengths without end: each is counted, none gets through. */
static void test_garbage(void **state)
{
	struct fixture *f = *state;
	unsigned char noise[4096];
	static const char http[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
	/* ZMTP 1.0: an anonymous peer, and at once a message of ours */
	static const unsigned char zmtp1[] = {1, 0, 5, 1, 'F', 'C', 1, 0, 3, 0, 'x', 'y'};
	/* ZMTP 3.0 with mechanism NULL, then a frame of 2^63 bytes */
	unsigned char zmtp3[73] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
	uint32_t x = 1;
	unsigned sent = 3;

	for (size_t i = 0; i < sizeof(noise); i++) {
		x = x * 1664525 + 1013904223;
		noise[i] = (unsigned char)(x >> 24);
	}
	zmtp3[64] = 2;
	zmtp3[65] = 0x80;
	listen_with(f, f->server);
	for (size_t len = 1; len <= sizeof(noise); len *= 8, sent++)
		send_raw(f, noise + len % 7, len - len % 7);
	send_raw(f, http, sizeof(http) - 1);
	send_raw(f, zmtp1, sizeof(zmtp1));
	send_raw(f, zmtp3, sizeof(zmtp3));
	f->wanted = sent;
	wait_until(f, is_accepted);
	assert_int_equal(f->heard, 0);
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	assert_true(bus_socket_gate(f->router)->handshake > 0);
	assert_int_equal(bus_socket_gate(f->router)->admitted, 1);
	assert_int_equal(bus_socket_counters(f->router)->dropped_malformed, 0);
}

static size_t resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long total = 0;
	unsigned long resident = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu", &total, &resident), 2);
	fclose(file);
	return resident;
}

/* More connections that say nothing than may be open: no more descriptors are taken, the peer that is in goes on,
 * memory is bounded, and others get in again once the strangers have gone or timed out. */
static void test_flood(void **state)
{
	enum { FLOOD = GATE_OPEN_MAX + 600, AT_ONCE = 20 };
	struct fixture *f = *state;
	struct rlimit limit;
	struct bus_socket *inside;
	int fds[FLOOD];
	size_t before;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	listen_with(f, f->server);
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	inside = f->dealer;
	before = resident_pages();
	for (int i = 0; i < FLOOD; i++) {
		fds[i] = connect_raw(f, SOCK_NONBLOCK);
		if (i % AT_ONCE == 0)
			ev_run(f->loop, EVRUN_NOWAIT);
	}
	wait_until(f, is_crowded);
	want(f, is_heard, 20);
	/* some came while the door was being closed, at most what the kernel had taken already */
	assert_in_range(bus_socket_gate(f->router)->accepted, GATE_OPEN_MAX, FLOOD - 200);
	assert_true((resident_pages() - before) * (size_t)sysconf(_SC_PAGESIZE) < 64U * 1024 * 1024);
	for (int i = 0; i < FLOOD; i++)
		close(fds[i]);
	f->dealer = NULL;
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	bus_socket_free(inside);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static void test_keygen(void **state)
{
	struct fixture *f = *state;
	char path[160];
	char secret[4096];
	char again[4096];
	char clients[4096];
	struct stat stat_of;
	struct error err;

	path_of(path, f->peer, "client.secret");
	assert_int_equal(stat(path, &stat_of), 0);
	assert_int_equal(stat_of.st_mode & 0777, 0600);
	path_of(path, f->server, "server.secret");
	assert_int_equal(stat(path, &stat_of), 0);
	assert_int_equal(stat_of.st_mode & 0777, 0600);
	read_text(f->server, "server.secret", secret);
	assert_int_equal(strlen(secret), CURVE_KEY_SIZE);
	read_text(f->server, "clients", clients);
	assert_int_equal(strlen(clients), CURVE_KEY_SIZE - 1 + strlen(" peer\n"));
	assert_string_equal(clients + CURVE_KEY_SIZE - 1, " peer\n");

	/* a name that has a key keeps it, and so does the server */
	assert_int_equal(curve_keygen(f->directory, (const char *const[]){"peer"}, 1, &err), -1);
	assert_non_null(strstr(err.message, "peer/client.secret"));
	read_text(f->server, "server.secret", again);
	assert_string_equal(secret, again);
	/* names that say what they are for */
	assert_int_equal(curve_keygen(f->directory, (const char *const[]){"fc-barrier", "reconciler"}, 2, &err), 0);
	read_text(f->server, "clients", clients);
	assert_non_null(strstr(clients, " fc-barrier role=barrier\n"));
	assert_non_null(strstr(clients, " reconciler role=reconciler\n"));
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", f->directory, i == 0 ? "fc-barrier" : "reconciler");
		remove_keys(path);
	}
	assert_int_equal(curve_keygen(f->directory, (const char *const[]){"../x"}, 1, &err), -1);
	assert_int_equal(curve_keygen(f->directory, (const char *const[]){"server"}, 1, &err), -1);
	assert_int_equal(curve_keygen(f->directory, (const char *const[]){""}, 1, &err), -1);
	assert_int_equal(curve_keygen("/proc/none", NULL, 0, &err), -1);
	assert_non_null(strstr(err.message, "/proc/none"));
}

static void expect_no_listener(struct fixture *f, const char *pattern)
{
	const struct bus_security security = {.keys = f->server};
	struct error err;

	assert_null(bus_socket_bind(f->loop, "tcp://127.0.0.1:*", &security, on_receive, f, &err));
	if (strstr(err.message, pattern) == NULL)
		fail_msg("found \"%s\", expected %s in it", err.message, pattern);
}

static void test_bad_files(void **state)
{
	struct fixture *f = *state;
	const struct bus_security security = {.keys = f->peer};
	struct error err;
	char secret[4096];

	read_text(f->server, "server.secret", secret);
	write_text(f->server, "server.secret", "too short\n");
	expect_no_listener(f, "server.secret: expected a key");
	write_text(f->server, "server.secret", "");
	expect_no_listener(f, "server.secret: expected a key");
	remove_file(f->server, "server.secret");
	expect_no_listener(f, "server.secret: No such file");
	write_text(f->server, "server.secret", secret);
	write_text(f->server, "clients", "# a comment\nno key\n");
	expect_no_listener(f, "clients:2: expected a key");
	remove_file(f->server, "clients");
	expect_no_listener(f, "clients: No such file");
	remove_file(f->peer, "server.public");
	assert_null(bus_socket_connect(f->loop, "tcp://127.0.0.1:1", &security, on_receive, f, &err));
	assert_non_null(strstr(err.message, "server.public: No such file"));
	assert_null(strstr(err.message, "secret"));
}

static void test_list_lines(void **state)
{
	struct fixture *f = *state;
	struct curve_clients *clients;
	struct error err;
	static const char *const wrong[] = {"role=leader", "role=", "member="};
	char public[CURVE_KEY_SIZE] = "";
	char secret[CURVE_KEY_SIZE];
	char text[512];

	assert_int_equal(zmq_curve_keypair(public, secret), 0);
	snprintf(text, sizeof(text), "#\n#comment\n\n  %s  two words\r\n", public);
	write_text(f->server, "clients", text);
	clients = curve_clients_new(f->server, &err);
	assert_non_null(clients);
	assert_string_equal(curve_clients_find(clients, public), "two words");
	assert_false(curve_clients_refresh(clients));
	snprintf(text, sizeof(text), "%s", public);
	write_text(f->server, "clients", text);
	assert_true(curve_clients_refresh(clients));
	assert_string_equal(curve_clients_find(clients, public), "");
	assert_null(curve_clients_find(clients, secret));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		snprintf(text, sizeof(text), "%s a %s\n", public, wrong[i]);
		write_text(f->server, "clients", text);
		assert_false(curve_clients_refresh(clients)); /* the old list stays */
	}
	curve_clients_free(clients);
}

/* A list that cannot be used any more changes nothing. */
static void test_list_broken_later(void **state)
{
	struct fixture *f = *state;

	listen_with(f, f->server);
	write_text(f->server, "clients", "nonsense\n");
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	remove_file(f->server, "clients");
	connect_with(f, f->peer);
	want(f, is_heard, 1);
}

/* ---- reach ------------------------------------------------------------------------------------------------------ */

static void test_beyond_this_machine(void **state)
{
	struct fixture *f = *state;
	const struct bus_security insecure = {.insecure = true};
	const struct bus_security keys = {.keys = f->peer};
	struct bus_socket *socket;
	struct error err;

	assert_null(bus_socket_bind(f->loop, "tcp://0.0.0.0:*", NULL, on_receive, f, &err));
	assert_non_null(strstr(err.message, "--bus-insecure"));
	assert_non_null(strstr(err.message, "tcp://0.0.0.0:*"));
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_right_key),
		TEST(test_unknown_key),
		TEST(test_names),
		TEST(test_wrong_server_key),
		TEST(test_plain_client),
		TEST(test_plain_server),
		TEST(test_both_listeners),
		TEST(test_garbage),
		TEST(test_flood),
		TEST(test_keygen),
		TEST(test_bad_files),
		TEST(test_list_lines),
		TEST(test_list_broken_later),
		TEST(test_beyond_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
