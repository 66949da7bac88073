/* A write that was given up must not arrive later: when the lease that allowed it may be another's. The server's end is
 * a socket that reads only when it is told to, so that the request waits in the client's kernel, which delivers it all
 * the same, whatever became of who wrote it, unless the connection is reset. */
#define _GNU_SOURCE
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/unit/http2_cleartext.h"
#include "tests/unit/http2_frames.h"
#include "tests/unit/kube_world.h"

/* More than the server's end takes, less than the client's kernel and an HTTP/2 stream do. */
enum { BODY = 40000, RECEIVE_BUFFER = 2304 };
enum { KERNEL_HAS = BODY - 3 * RECEIVE_BUFFER };

/* A timeout of the request, before the kernel itself gives up what is not acknowledged. */
static int64_t given_up_ms(void)
{
	const int64_t slow_ms = allowed_ms(500);
	const int64_t most_ms = KUBE_FENCED_UNACKED_MS * 3 / 4;

	return slow_ms < most_ms ? slow_ms : most_ms;
}

static char body[BODY];

/* ---- the server's end ---- */

struct far_end {
	struct ev_loop *loop;
	int listener;
	int port;
	struct ev_io accept_io;
	size_t count; /* of connections */
	struct far_conn {
		struct far_end *end;
		int fd;
		struct ev_io io;
		struct buf in;
		bool upgraded;
		bool greeted;
	} conns[8];
	bool deaf;   /* new connections are not read */
	bool silent; /* requests are read, and not answered */
	size_t requests;
	uint32_t first_unanswered; /* its stream */
};

static void send_frame(struct far_conn *conn, int type, int flags, uint32_t stream, const char *text, size_t len)
{
	cleanup_buf struct buf frame = {0};

	http2_put(&frame, type, flags, stream, text, len);
	assert_int_equal(send(conn->fd, frame.data, frame.len, MSG_NOSIGNAL), frame.len);
}

/* ":status: 200", which is a number in HPACK's table, and no body. */
static void answer_stream(struct far_conn *conn, uint32_t stream)
{
	send_frame(conn, HTTP2_HEADERS, HTTP2_END_STREAM | HTTP2_END_HEADERS, stream, "\x88", 1);
}

static void on_frame(struct far_conn *conn, const struct http2_frame *frame)
{
	struct far_end *end = conn->end;

	if (frame->type == HTTP2_SETTINGS && (frame->flags & HTTP2_ACK) == 0)
		send_frame(conn, HTTP2_SETTINGS, HTTP2_ACK, 0, "", 0);
	if ((frame->type != HTTP2_HEADERS && frame->type != HTTP2_DATA) || (frame->flags & HTTP2_END_STREAM) == 0)
		return;
	end->requests++;
	if (!end->silent)
		answer_stream(conn, frame->stream);
	else if (end->first_unanswered == 0)
		end->first_unanswered = frame->stream;
}

static void take_frames(struct far_conn *conn)
{
	cleanup_buf struct buf out = {0};
	struct http2_frame frame;

	if (!conn->upgraded) {
		if (!http2_take_upgrade(&conn->in, &out))
			return;
		conn->upgraded = true;
		assert_int_equal(send(conn->fd, out.data, out.len, MSG_NOSIGNAL), out.len);
		conn->end->requests++;
		answer_stream(conn, 1);
	}
	conn->greeted = conn->greeted || http2_take_preface(&conn->in);
	while (conn->greeted && http2_take(&conn->in, &frame))
		on_frame(conn, &frame);
}

static void on_bytes(struct ev_loop *loop, struct ev_io *io, int events)
{
	struct far_conn *conn = io->data;
	char data[4096];
	ssize_t count = recv(conn->fd, data, sizeof(data), MSG_DONTWAIT);

	(void)events;
	if (count <= 0) {
		ev_io_stop(loop, io);
		return;
	}
	buf_append(&conn->in, data, (size_t)count);
	if (cleartext_http2)
		take_frames(conn);
}

static void on_connection(struct ev_loop *loop, struct ev_io *io, int events)
{
	struct far_end *end = io->data;
	struct far_conn *conn = &end->conns[end->count++];

	(void)events;
	assert_true(end->count <= ARRAY_LEN(end->conns));
	*conn = (struct far_conn){.end = end, .fd = accept(end->listener, NULL, NULL)};
	assert_true(conn->fd >= 0);
	ev_io_init(&conn->io, on_bytes, conn->fd, EV_READ);
	conn->io.data = conn;
	if (!end->deaf)
		ev_io_start(loop, &conn->io);
}

static void far_end_start(struct far_end *end, struct ev_loop *loop)
{
	const int size = RECEIVE_BUFFER;

	*end = (struct far_end){.loop = loop};
	end->listener = http_bind(&end->port);
	assert_int_equal(setsockopt(end->listener, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	assert_int_equal(listen(end->listener, 8), 0);
	ev_io_init(&end->accept_io, on_connection, end->listener, EV_READ);
	end->accept_io.data = end;
	ev_io_start(loop, &end->accept_io);
}

static void far_end_free(struct far_end *end)
{
	ev_io_stop(end->loop, &end->accept_io);
	for (size_t i = 0; i < end->count; i++) {
		ev_io_stop(end->loop, &end->conns[i].io);
		close(end->conns[i].fd);
		buf_free(&end->conns[i].in);
	}
	close(end->listener);
}

/* Reads now what there is to be read: no whole request, and then a reset. */
static void assert_dropped(struct far_conn *conn)
{
	struct pollfd wait = {.fd = conn->fd, .events = POLLIN};
	size_t len = 0;
	char data[65536];
	ssize_t count;

	ev_io_stop(conn->end->loop, &conn->io);
	do {
		assert_int_equal(poll(&wait, 1, (int)(limit_s * 1000)), 1);
		count = recv(conn->fd, data, sizeof(data), 0);
		if (count > 0)
			len += (size_t)count;
	} while (count > 0);
	if (count == 0 || len >= BODY)
		fail_msg("%zu bytes arrived, of a request with %d, and %s", len, BODY,
			 count == 0 ? "the connection's end" : "a reset");
	assert_int_equal(errno, ECONNRESET);
}

/* ---- the client's kernel ---- */

/* What the connections to the port have that is not acknowledged; -1: there is no such connection. Those that have
 * ended (TCP_TIME_WAIT) may have been to the server that had the port before. */
static long unacked(int port)
{
	FILE *file = fopen("/proc/net/tcp", "re");
	long sum = -1;
	char line[256];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		unsigned to;
		unsigned connection_state;
		unsigned long waiting;

		if (sscanf(line, "%*u: %*8x:%*x %*8x:%x %x %lx:", &to, &connection_state, &waiting) == 3 &&
		    to == (unsigned)port && connection_state != TCP_TIME_WAIT)
			sum = (sum < 0 ? 0 : sum) + (long)waiting;
	}
	fclose(file);
	return sum;
}

static void wait_unacked(int port, long low, long high, int64_t within_ms)
{
	int64_t until_ms = clock_boot_ms() + within_ms;
	long now;

	while ((now = unacked(port)) < low || now > high) {
		if (clock_boot_ms() > until_ms)
			fail_msg("%ld bytes are not acknowledged, expected %ld to %ld", now, low, high);
		usleep(1000);
	}
}

/* ---- tests ---- */

static bool allow(void *arg, int64_t *timeout_ms)
{
	(void)arg;
	(void)timeout_ms;
	return true;
}

static void start_fenced(struct fixture *fixture, int port)
{
	const struct kube_client_options options = {.fenced = true};

	free(fixture->config.server);
	fixture->config.server = mem_printf("http://127.0.0.1:%d", port);
	start_client(fixture, &options);
}

static struct kube_call *post(struct fixture *fixture, int id, int64_t timeout_ms)
{
	return call(fixture, id,
		    (struct kube_request){.method = "POST",
					  .path = "/api/v1/namespaces/default/pods",
					  .body = body,
					  .body_len = sizeof(body),
					  .before_send = allow,
					  .timeout_ms = timeout_ms});
}

static void test_given_up(void **state)
{
	struct fixture *fixture = *state;
	struct far_end end;

	far_end_start(&end, fixture->loop);
	end.deaf = true;
	start_fenced(fixture, end.port);
	post(fixture, 0, given_up_ms());
	assert_true(run_until_count(fixture->loop, &end.count, 1, limit_s));
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_TIMEOUT);
	assert_true(fixture->seen[0].sent);
	assert_dropped(&end.conns[0]);
	far_end_free(&end);
}

/* Over HTTP/2 a request that is given up is a stream's end, and the connection lives on: not with this in its buffer.
 */
static void given_up_stream(struct fixture *fixture, bool cancel)
{
	struct far_end end;
	struct kube_call *given_up;

	cleartext_http2 = true;
	far_end_start(&end, fixture->loop);
	start_fenced(fixture, end.port);
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 200);
	ev_io_stop(fixture->loop, &end.conns[0].io);
	given_up = post(fixture, 1, cancel ? 8000 : given_up_ms());
	call(fixture, 2, (struct kube_request){0}); /* shares its fate, or is sent once more */
	while (unacked(end.port) < KERNEL_HAS && fixture->done_count == 1)
		ev_run(fixture->loop, EVRUN_NOWAIT);
	if (cancel)
		kube_call_cancel(given_up);
	wait_done(fixture, 3);
	assert_int_equal(fixture->seen[1].id, 1);
	assert_int_equal(fixture->seen[1].failure, cancel ? KUBE_CANCELLED : KUBE_TIMEOUT);
	assert_true(fixture->seen[2].failure == KUBE_OK || fixture->seen[2].failure == KUBE_NETWORK);
	assert_dropped(&end.conns[0]);
	call(fixture, 3, (struct kube_request){0});
	wait_done(fixture, 4);
	assert_int_equal(fixture->seen[3].status, 200);
	far_end_free(&end);
	cleartext_http2 = false;
}

static void test_given_up_stream(void **state)
{
	given_up_stream(*state, false);
}

static void test_cancelled_stream(void **state)
{
	given_up_stream(*state, true);
}

/* What has arrived cannot be taken back: a slow answer costs its own request alone. */
static void test_slow_server(void **state)
{
	struct fixture *fixture = *state;
	struct far_end end;

	cleartext_http2 = true;
	far_end_start(&end, fixture->loop);
	start_fenced(fixture, end.port);
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	end.silent = true;
	call(fixture, 1, (struct kube_request){.method = "DELETE", .before_send = allow});
	assert_true(run_until_count(fixture->loop, &end.requests, 2, limit_s));
	post(fixture, 2, 1000);
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].id, 2);
	assert_int_equal(fixture->seen[1].failure, KUBE_TIMEOUT);
	answer_stream(&end.conns[0], end.first_unanswered);
	wait_done(fixture, 3);
	assert_int_equal(fixture->seen[2].status, 200);
	assert_int_equal(end.count, 1);
	far_end_free(&end);
	cleartext_http2 = false;
}

/* A process that has a write on its way to the port. */
static pid_t start_writer(struct fixture *fixture, int port)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child > 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fixture->loop = ev_loop_new(EVFLAG_AUTO); /* the other one has the server's end */
	fixture->client = NULL;
	start_fenced(fixture, port);
	post(fixture, 0, 60 * 1000);
	ev_run(fixture->loop, 0);
	_exit(0);
}

static void end_writer(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
}

static void test_killed(void **state)
{
	struct fixture *fixture = *state;
	struct far_end end;
	pid_t child;

	far_end_start(&end, fixture->loop);
	end.deaf = true;
	child = start_writer(fixture, end.port);
	assert_true(run_until_count(fixture->loop, &end.count, 1, limit_s));
	wait_unacked(end.port, KERNEL_HAS, BODY * 2, (int64_t)(limit_s * 1000));
	end_writer(child);
	assert_dropped(&end.conns[0]);
	far_end_free(&end);
}

/* It gives up nothing itself while it stands still. */
static void test_stopped(void **state)
{
	struct fixture *fixture = *state;
	struct far_end end;
	pid_t child;

	far_end_start(&end, fixture->loop);
	end.deaf = true;
	child = start_writer(fixture, end.port);
	assert_true(run_until_count(fixture->loop, &end.count, 1, limit_s));
	wait_unacked(end.port, KERNEL_HAS, BODY * 2, (int64_t)(limit_s * 1000));
	kill(child, SIGSTOP);
	/* some way from 2 s, for slow machines, and from the 30 s that other connections have */
	wait_unacked(end.port, -1, -1, 15 * 1000);
	assert_dropped(&end.conns[0]);
	end_writer(child);
	far_end_free(&end);
}

static int set_loopback(bool up)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = (short)(up ? IFF_UP : 0)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int result = ioctl(fd, SIOCSIFFLAGS, &request);

	close(fd);
	return result;
}

/* In a network of its own, which is cut: nothing is left that could be delivered when it is back. */
static void cut(struct fixture *fixture)
{
	assert_int_equal(set_loopback(true), 0);
	start_fenced(fixture, fixture->server.port);
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(set_loopback(false), 0);
	post(fixture, 1, given_up_ms());
	while (fixture->done_count == 1 && unacked(fixture->server.port) < BODY)
		ev_run(fixture->loop, EVRUN_NOWAIT);
	assert_int_equal(fixture->done_count, 1); /* the kernel has it */
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].failure, KUBE_TIMEOUT);
	assert_true(unacked(fixture->server.port) <= 0);
	assert_int_equal(set_loopback(true), 0);
	call(fixture, 2, (struct kube_request){0});
	wait_done(fixture, 3);
	assert_int_equal(fixture->seen[2].status, 200);
	assert_string_equal(fixture->server.log.data, "GET /api/v1/pods\nGET /api/v1/pods\n");
}

static void test_cut(void **state)
{
	enum { NOT_ALLOWED = 77 };
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		void *own;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) < 0)
			_exit(NOT_ALLOWED);
		setup(&own);
		cut(own);
		teardown(&own);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_ALLOWED)
		skip();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		client_test(test_given_up),    client_test(test_given_up_stream), client_test(test_cancelled_stream),
		client_test(test_slow_server), client_test(test_killed),          client_test(test_stopped),
		client_test(test_cut),
	};

	signal(SIGPIPE, SIG_IGN);
	memset(body, 'x', sizeof(body));
	return cmocka_run_group_tests_name("kube_late", tests, NULL, NULL);
}
