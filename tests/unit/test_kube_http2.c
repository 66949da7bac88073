/* Answers that come before the request's body has ended, over HTTP/2 (common/README.md §7.12). The peer refuses a write
 * when it has its headers. It opens the windows for no body that it refuses, so that none of these is ever complete. */
#define _GNU_SOURCE
#include "tests/unit/http2_cleartext.h"
#include "tests/unit/http2_frames.h"
#include "tests/unit/kube_world.h"

/* More than the window of a stream (RFC 9113 §6.9.2). */
enum { BODY = 100 * 1000, WINDOW = 65535 };
/* RFC 9113 §7 */
enum { NO_ERROR = 0, INTERNAL_ERROR = 2 };

static char body[BODY];

/* ---- the peer ---- */

static struct peer {
	size_t refusals;  /* so many writes are refused early; the others get 200 */
	int status;       /* of a refusal; 0: none, the stream breaks */
	bool hold;        /* reads are not answered yet */
	uint32_t held;    /* the stream of such a read */
	bool deaf;        /* once a write is refused, the peer receives nothing more */
	bool break_whole; /* the stream of a write breaks when all of it was received */
	size_t requests;  /* received over HTTP/2, without the first of a connection */
	struct http_conn *conn;
	bool greeted;
} peer;

static const char refusal[] = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Early\",\"message\":\"no\"}";

static void put_u32(struct buf *out, int type, uint32_t stream, uint32_t number)
{
	const char text[] = {(char)(number >> 24), (char)(number >> 16), (char)(number >> 8), (char)number};

	http2_put(out, type, 0, stream, text, sizeof(text));
}

/* Two literals of HPACK, whose names are in its table (RFC 7541 §6.2.2): ":status", and "retry-after: 7". */
static void put_headers(struct buf *out, uint32_t stream, int status)
{
	char text[16];

	snprintf(text, sizeof(text), "\x08\x03%03d\x0f\x26\x01\x37", status);
	http2_put(out, HTTP2_HEADERS, HTTP2_END_HEADERS, stream, text, strlen(text));
}

static void answer(struct http_conn *conn, uint32_t stream, int status, const char *text)
{
	cleanup_buf struct buf out = {0};

	put_headers(&out, stream, status);
	http2_put(&out, HTTP2_DATA, HTTP2_END_STREAM, stream, text, strlen(text));
	http_raw(conn, out.data, out.len);
}

/* All at once, so that the client reads all at once. */
static void refuse(struct http_conn *conn, uint32_t stream)
{
	cleanup_buf struct buf out = {0};

	if (peer.status != 0) {
		put_headers(&out, stream, peer.status);
		http2_put(&out, HTTP2_DATA, HTTP2_END_STREAM, stream, refusal, strlen(refusal));
	}
	put_u32(&out, HTTP2_RST_STREAM, stream, peer.status == 0 ? INTERNAL_ERROR : NO_ERROR);
	http_raw(conn, out.data, out.len);
}

static void open_windows(struct http_conn *conn, uint32_t stream)
{
	cleanup_buf struct buf out = {0};

	put_u32(&out, HTTP2_WINDOW_UPDATE, 0, BODY + WINDOW);
	put_u32(&out, HTTP2_WINDOW_UPDATE, stream, BODY);
	http_raw(conn, out.data, out.len);
}

static void on_headers(struct http_conn *conn, uint32_t stream, bool whole)
{
	peer.requests++;
	if (whole && peer.hold) {
		peer.held = stream;
	} else if (whole) {
		answer(conn, stream, 200, "{}");
	} else if (peer.refusals > 0) {
		peer.refusals--;
		if (peer.deaf)
			ev_io_stop(conn->server->loop, &conn->read_io);
		refuse(conn, stream);
	} else {
		open_windows(conn, stream);
	}
}

/* The last piece of a body. */
static void on_end(struct http_conn *conn, uint32_t stream)
{
	cleanup_buf struct buf out = {0};

	if (!peer.break_whole) {
		answer(conn, stream, 200, "{}");
		return;
	}
	put_u32(&out, HTTP2_RST_STREAM, stream, INTERNAL_ERROR);
	http_raw(conn, out.data, out.len);
}

static void on_bytes(void *arg, struct http_conn *conn)
{
	cleanup_buf struct buf out = {0};
	struct http2_frame frame;

	(void)arg;
	if (!conn->other) {
		if (!http2_take_upgrade(&conn->in, &out))
			return;
		conn->other = true;
		peer.conn = conn;
		peer.greeted = false;
		http_raw(conn, out.data, out.len);
		answer(conn, 1, 200, "{}");
	}
	peer.greeted = peer.greeted || http2_take_preface(&conn->in);
	while (peer.greeted && http2_take(&conn->in, &frame)) {
		bool end = (frame.flags & HTTP2_END_STREAM) != 0;

		if (frame.type == HTTP2_HEADERS)
			on_headers(conn, frame.stream, end);
		else if (frame.type == HTTP2_DATA && end)
			on_end(conn, frame.stream);
	}
}

/* ---- the client ---- */

static size_t asked;    /* how often before_send ran */
static size_t ask_most; /* it refuses further ones */

static bool ask(void *arg, int64_t *timeout_ms)
{
	(void)arg;
	(void)timeout_ms;
	return ++asked <= ask_most;
}

/* From the answer of a first call on, there is a connection that speaks HTTP/2. */
static void start_http2(struct fixture *fixture, const struct kube_client_options *options)
{
	start_client(fixture, options);
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 200);
	assert_int_equal(fixture->server.request_count, 0);
	fixture->done_count = 0;
}

static int setup_peer(void **state)
{
	struct fixture *fixture;

	setup(state);
	fixture = *state;
	peer = (struct peer){.refusals = SIZE_MAX, .status = 413};
	asked = 0;
	ask_most = SIZE_MAX;
	cleartext_http2 = true;
	fixture->server.on_bytes = on_bytes;
	start_http2(fixture, &(struct kube_client_options){.fenced = true});
	return 0;
}

static struct kube_call *put(struct fixture *fixture, int id)
{
	return call(fixture, id,
		    (struct kube_request){.method = "PUT",
					  .path = "/api/v1/namespaces/default/pods/p",
					  .body = body,
					  .body_len = BODY,
					  .before_send = ask});
}

/* Over HTTP/1.1. */
static void reply_refusal(struct fixture *fixture, struct http_conn *conn)
{
	(void)fixture;
	assert_int_equal(strlen(conn->body), BODY);
	http_reply(conn, peer.status, "Retry-After: 7\r\n", refusal);
}

/* ---- tests ---- */

static void early(struct fixture *fixture, int status)
{
	fixture->script = reply_refusal;
	peer.status = status;
	put(fixture, 0);
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_OK);
	assert_int_equal(fixture->seen[0].status, status);
	assert_int_equal(fixture->seen[0].retry_after_ms, 7000);
	assert_string_equal(fixture->seen[0].reason, "Early");
	assert_int_equal(counted(fixture, "PUT", "pods", status), 1);
	assert_int_equal(peer.requests, 1);
	assert_true(fixture->server.request_count <= 1);
}

static void test_early_too_large(void **state)
{
	early(*state, 413);
}

static void test_early_too_many(void **state)
{
	early(*state, 429);
}

static void test_early_forbidden(void **state)
{
	early(*state, 403);
}

static void write_token(struct fixture *fixture, const char *text)
{
	FILE *file = fopen(fixture->token_path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void want_new_token(struct fixture *fixture, struct http_conn *conn)
{
	const char *token = http_header(conn, "Authorization");

	if (strcmp(token, "Bearer second") == 0)
		reply_ok(fixture, conn);
	else
		http_reply(conn, 401, "", refusal);
}

static void test_early_unauthorized(void **state)
{
	struct fixture *fixture = *state;

	close(temp_file(fixture->token_path));
	fixture->config.token_file = mem_strdup(fixture->token_path);
	write_token(fixture, "first");
	start_http2(fixture, &(struct kube_client_options){0});
	write_token(fixture, "second");
	fixture->script = want_new_token;
	peer.status = 401;
	peer.refusals = 1;
	put(fixture, 0);
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 200);
	assert_int_equal(counted(fixture, "PUT", "pods", 401), 1);
	assert_int_equal(counted(fixture, "PUT", "pods", 200), 1);
}

/* In the tests below, the peer breaks streams without an answer, which all versions of libcurl report alike. */

static void break_connection(struct fixture *fixture, struct http_conn *conn)
{
	(void)fixture;
	http_close(conn);
}

static void test_sent_again_once(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = break_connection;
	peer.status = 0;
	put(fixture, 0);
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_NETWORK);
	assert_true(fixture->seen[0].sent);
	assert_int_equal(peer.requests, 1);
	assert_int_equal(fixture->server.request_count, 1);
	assert_int_equal(asked, 2);
	assert_int_equal(counted(fixture, "PUT", "pods", 0), 2);
	/* the next one begins over HTTP/2 */
	peer.refusals = 0;
	put(fixture, 1);
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].status, 200);
	assert_int_equal(peer.requests, 2);
	assert_int_equal(fixture->server.conn_count, 2);
}

/* The server may have carried out such a write. */
static void test_whole_not_sent_again(void **state)
{
	struct fixture *fixture = *state;

	peer.refusals = 0;
	peer.break_whole = true;
	put(fixture, 0);
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_NETWORK);
	assert_int_equal(peer.requests, 1);
	assert_int_equal(fixture->server.request_count, 0);
}

/* The lease has ended meanwhile. */
static void test_withdrawn(void **state)
{
	struct fixture *fixture = *state;

	peer.status = 0;
	ask_most = 1;
	put(fixture, 0);
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_REFUSED);
	assert_int_equal(asked, 2);
	assert_int_equal(fixture->server.request_count, 0);
}

static void set_receive_buffer(struct fixture *fixture, int size)
{
	assert_int_equal(setsockopt(fixture->server.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
}

/* The rest of half a request can stay on its way, for it has no effect: its connection is not reset, unlike that of a
 * whole one (test_kube_late.c). */
static void test_others_go_on(void **state)
{
	enum { LITTLE = 2304, MUCH = 1024 * 1024 };
	struct fixture *fixture = *state;
	size_t connections;

	set_receive_buffer(fixture, LITTLE);
	start_http2(fixture, &(struct kube_client_options){.fenced = true});
	set_receive_buffer(fixture, MUCH);
	connections = fixture->server.conn_count;
	peer.deaf = true;
	peer.status = 0;
	peer.hold = true;
	call(fixture, 0, (struct kube_request){0});
	assert_true(run_until_count(fixture->loop, &peer.requests, 1, limit_s));
	put(fixture, 1);
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].id, 1);
	assert_int_equal(fixture->seen[0].status, 200);
	answer(peer.conn, peer.held, 200, "{}");
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].status, 200);
	assert_int_equal(peer.requests, 2);
	assert_int_equal(fixture->server.conn_count, connections + 1);
}

static void test_connections(void **state)
{
	enum { CALLS = 20, CONNECTIONS = 3 };
	struct fixture *fixture = *state;
	size_t replied = 0;
	size_t connections;

	start_http2(fixture, &(struct kube_client_options){.max_connections = CONNECTIONS});
	connections = fixture->server.conn_count;
	fixture->script = hold;
	peer.status = 0;
	for (int i = 0; i < CALLS; i++)
		put(fixture, i);
	for (; replied < CALLS; replied++) {
		size_t most = CALLS - replied < CONNECTIONS ? CALLS - replied : CONNECTIONS;

		assert_true(run_until_count(fixture->loop, &fixture->held_count, replied + most, limit_s));
		settle(fixture);
		assert_int_equal(fixture->held_count, replied + most);
		assert_int_equal(fixture->server.conn_count, connections + replied + most);
		reply_ok(fixture, fixture->held[replied]);
		wait_done(fixture, replied + 1);
		assert_int_equal(fixture->seen[replied].status, 200);
	}
	assert_int_equal(peer.requests, CALLS);
}

#define peer_test(f) cmocka_unit_test_setup_teardown(f, setup_peer, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		peer_test(test_early_too_large), peer_test(test_early_too_many),
		peer_test(test_early_forbidden), peer_test(test_early_unauthorized),
		peer_test(test_sent_again_once), peer_test(test_whole_not_sent_again),
		peer_test(test_withdrawn),       peer_test(test_others_go_on),
		peer_test(test_connections),
	};

	signal(SIGPIPE, SIG_IGN);
	memset(body, 'x', sizeof(body));
	return cmocka_run_group_tests_name("kube_http2", tests, NULL, NULL);
}
