/* The bus with keys, and those who are nobody: garbage on its port, and a flood of connections. And a peer with a key
 * that sends too much. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <zmq.h>

#include "common/base/clock.h"
#include "common/bus/curve.h"
#include "tests/unit/curve_world.h"

static bool is_accepted(const struct fixture *f)
{
	return bus_socket_gate(f->router)->accepted >= f->wanted;
}

static void knock(const struct fixture *f, int fd)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	assert_true(fd >= 0);
	address.sin_port = htons((uint16_t)atoi(strrchr(bus_socket_endpoint(f->router), ':') + 1));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		assert_int_equal(errno, EINPROGRESS);
}

static int connect_raw(const struct fixture *f, int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	knock(f, fd);
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

enum { FLOOD = 1100, AT_ONCE = 20, KNOCKING = 20 };

/* Many connections that say nothing: the peer that is in goes on, another one gets in, memory is bounded, and the
 * strangers' connections end when their time for a handshake is over. */
static void test_flood(void **state)
{
	struct fixture *f = *state;
	struct rlimit limit;
	struct bus_socket *inside;
	int strangers[FLOOD];
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
		strangers[i] = connect_raw(f, SOCK_NONBLOCK);
		if (i % AT_ONCE > 0)
			continue;
		f->wanted = (unsigned)i + 2; /* so that none overflows the listener's queue */
		wait_until(f, is_accepted);
	}
	want(f, is_heard, 20);
	f->dealer = NULL;
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	assert_true((resident_pages() - before) * (size_t)sysconf(_SC_PAGESIZE) < 64U * 1024 * 1024);
	want(f, is_no_handshake, FLOOD);
	for (int i = 0; i < FLOOD; i++)
		close(strangers[i]);
	bus_socket_free(inside);
}

/* Connections for which there is no descriptor wait: the peer that is in goes on, and others get in once there are
 * descriptors again. */
static void test_no_descriptors(void **state)
{
	struct fixture *f = *state;
	struct rlimit limit;
	struct rlimit few;
	struct bus_socket *inside;
	int knocking[KNOCKING];

	if (getenv("TEST_MEMCHECK") != NULL)
		skip(); /* it keeps descriptors for itself */
	listen_with(f, f->server);
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	inside = f->dealer;
	for (int i = 0; i < KNOCKING; i++)
		knocking[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = (rlim_t)dup(0); /* the lowest that is free */
	close((int)few.rlim_cur);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int i = 0; i < KNOCKING; i++)
		knock(f, knocking[i]);
	want(f, is_heard, 20);
	assert_int_equal(bus_socket_gate(f->router)->accepted, 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	f->wanted = KNOCKING + 1;
	wait_until(f, is_accepted);
	bus_socket_free(inside);
	f->dealer = NULL;
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	for (int i = 0; i < KNOCKING; i++)
		close(knocking[i]);
}

enum { VISITS = 1500 }; /* two events each */

/* Comes, is answered by libzmq's thread, and goes; returns only when that thread still works. */
static void visit(const struct fixture *f)
{
	const struct linger reset = {.l_onoff = 1};
	int fd = connect_raw(f, 0);
	char greeting;

	assert_int_equal(recv(fd, &greeting, 1, 0), 1);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
	close(fd);
}

/* Connections that come and go while the loop stands still do not stop libzmq's thread, and the socket can be closed.
 */
static void test_visits(void **state)
{
	struct fixture *f = *state;
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		alarm((unsigned)allowed_s(limit_s));
		listen_with(f, f->server);
		for (int i = 0; i < VISITS; i++)
			visit(f);
		bus_socket_free(f->router);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0); /* SIGALRM: it waited for ever */
}

/* ---- a peer with a key ------------------------------------------------------------------------------------------ */

/* More than a turn of the loop may take. */
enum { SLOW = 8, SLOW_MS = 30 };

struct slow {
	struct fixture *f;
	unsigned turn;
	unsigned crowded; /* messages that another one preceded in the same turn */
};

static void on_slow(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const char *body,
		    size_t body_len)
{
	struct slow *slow = arg;
	int64_t end_ms = clock_boot_ms() + SLOW_MS;

	slow->crowded += ev_iteration(slow->f->loop) == slow->turn;
	slow->turn = ev_iteration(slow->f->loop);
	while (clock_boot_ms() < end_ms)
		;
	on_receive(slow->f, id, id_len, head, body, body_len);
}

/* A message whose handling takes long ends the turn: the next one is handled in the next turn, so that timers and other
 * descriptors wait for one message only. */
static void test_slow_messages(void **state)
{
	const struct bus_head head = {.type = BUS_PING, .sequence = 1};
	struct fixture *f = *state;
	struct slow slow = {.f = f};
	const struct bus_security security = {.keys = f->server};
	struct error err;

	f->router = bus_socket_bind(f->loop, "tcp://127.0.0.1:*", &security, on_slow, &slow, &err);
	if (f->router == NULL)
		fail_msg("%s", err.message);
	connect_with(f, f->peer);
	want(f, is_heard, 1);
	for (int i = 0; i < SLOW; i++)
		assert_int_equal(bus_send(f->dealer, NULL, 0, &head, "ping", 4), 0);
	want(f, is_heard, SLOW);
	assert_int_equal(slow.crowded, 0);
}

enum { MUCH = 1000, LONG = 60000, BLOCKED_MS = 500 };

/* What waits in the watcher's memory is bounded: TCP holds up a peer that sends faster than the watcher reads. Nothing
 * is lost. */
static void test_flood_of_messages(void **state)
{
	static char message[BUS_HEAD_SIZE + LONG];
	const struct bus_head head = {.protocol = BUS_PROTOCOL, .type = BUS_PING};
	struct fixture *f = *state;
	void *context = zmq_ctx_new();
	void *raw = zmq_socket(context, ZMQ_DEALER);
	const int one = 1;
	const int wait_ms = BLOCKED_MS;
	const int linger_ms = 0;
	unsigned sent = 1;
	struct error err;

	listen_with(f, f->server);
	assert_int_equal(zmq_setsockopt(raw, ZMQ_SNDHWM, &one, sizeof(one)), 0);
	assert_int_equal(zmq_setsockopt(raw, ZMQ_SNDTIMEO, &wait_ms, sizeof(wait_ms)), 0);
	assert_int_equal(zmq_setsockopt(raw, ZMQ_LINGER, &linger_ms, sizeof(linger_ms)), 0);
	assert_int_equal(curve_set_client(raw, f->peer, &err), 0);
	assert_int_equal(zmq_connect(raw, bus_socket_endpoint(f->router)), 0);
	bus_head_write(&head, (unsigned char *)message);
	assert_int_equal(zmq_send(raw, message, sizeof(message), 0), sizeof(message));
	want(f, is_heard, 1);
	while (sent < MUCH && zmq_send(raw, message, sizeof(message), 0) >= 0) /* and the loop stands still */
		sent++;
	/* 64 wait in the socket, some MiB in the kernel */
	assert_in_range(sent, 64, MUCH - 1);
	f->wanted = sent;
	wait_until(f, is_heard);
	zmq_close(raw);
	zmq_ctx_term(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_garbage), TEST(test_flood),         TEST(test_no_descriptors),
		TEST(test_visits),  TEST(test_slow_messages), TEST(test_flood_of_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
