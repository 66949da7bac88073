/* Streams of the Kubernetes client: how they begin, go on and end, and what their callbacks may do. */
#include "tests/unit/kube_world.h"

static void data(void *arg, const char *text, size_t len)
{
	struct fixture *fixture = ((struct tag *)arg)->fixture;

	if (len == 0) {
		assert_int_equal(fixture->streamed.len, 0);
		fixture->announced++;
		return;
	}
	buf_append(&fixture->streamed, text, len);
}

static struct kube_call *stream(struct fixture *fixture, struct kube_request request, kube_data *on_data)
{
	struct tag *tag = mem_calloc(1, sizeof(*tag));

	tag->fixture = fixture;
	request.method = "GET";
	request.path = "/api/v1/pods?watch=1";
	if (request.timeout_ms == 0)
		request.timeout_ms = 60000;
	return kube_client_stream(fixture->client, &request, on_data, done, tag);
}

static void begin_stream(struct fixture *fixture, struct http_conn *conn)
{
	http_stream_begin(conn);
	hold(fixture, conn);
}

static void test_stream(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = begin_stream;
	stream(fixture, (struct kube_request){0}, data);
	/* the headers alone are reported: a quiet watch is a live one */
	assert_true(run_until_count(fixture->loop, &fixture->announced, 1, limit_s));
	assert_int_equal(counted(fixture, "WATCH", "pods", 200), 1);
	http_stream_puts(fixture->held[0], "ab");
	assert_true(run_until_count(fixture->loop, &fixture->streamed.len, 2, limit_s));
	http_stream_puts(fixture->held[0], "c");
	http_stream_puts(fixture->held[0], "d");
	http_stream_end(fixture->held[0]);
	wait_done(fixture, 1);
	assert_string_equal(fixture->streamed.data, "abcd");
	assert_int_equal(fixture->seen[0].failure, KUBE_OK);
	assert_int_equal(fixture->seen[0].status, 200);
	assert_string_equal(fixture->seen[0].body, "");
	assert_int_equal(fixture->announced, 1);
	assert_int_equal(counted(fixture, "WATCH", "pods", 200), 1);
}

static void test_stream_refused(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = reply_forbidden;
	stream(fixture, (struct kube_request){0}, data);
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 403);
	assert_string_equal(fixture->seen[0].reason, "Forbidden");
	assert_int_equal(fixture->announced, 0);
	assert_int_equal(fixture->streamed.len, 0);
}

/* What came before the break is handed on before done says so. */
static void test_stream_reset(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = begin_stream;
	stream(fixture, (struct kube_request){0}, data);
	assert_true(run_until_count(fixture->loop, &fixture->held_count, 1, limit_s));
	http_stream_puts(fixture->held[0], "abc");
	http_close(fixture->held[0]);
	wait_done(fixture, 1);
	assert_string_equal(fixture->streamed.data, "abc");
	assert_int_equal(fixture->seen[0].failure, KUBE_NETWORK);
}

static void test_stream_silence(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = begin_stream;
	stream(fixture, (struct kube_request){.idle_timeout_ms = 50}, data);
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_TIMEOUT);
	assert_non_null(strstr(fixture->seen[0].message, "silent for 50 ms"));
}

static void data_cancels(void *arg, const char *text, size_t len)
{
	struct fixture *fixture = ((struct tag *)arg)->fixture;

	if (len == 0)
		return;
	data(arg, text, len);
	kube_call_cancel(fixture->call);
	call(fixture, 7, (struct kube_request){.path = "/from-data"});
}

static void test_cancel_from_data(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = begin_stream;
	fixture->call = stream(fixture, (struct kube_request){0}, data_cancels);
	assert_true(run_until_count(fixture->loop, &fixture->held_count, 1, limit_s));
	fixture->script = reply_ok;
	http_stream_puts(fixture->held[0], "abc");
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_CANCELLED);
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].id, 7);
	assert_string_equal(fixture->streamed.data, "abc");
}

static void data_waits(void *arg, const char *text, size_t len)
{
	struct fixture *fixture = ((struct tag *)arg)->fixture;
	const struct kube_request request = {.method = "GET", .path = "/inner", .timeout_ms = 60000};
	struct kube_answer answer;

	if (len == 0)
		return;
	http_close(fixture->held[0]); /* the stream ends while we are in its callback */
	kube_client_call_wait(fixture->client, &request, &answer);
	assert_int_equal(answer.http_status, 200);
	kube_answer_free(&answer);
	settle(fixture);
	assert_int_equal(fixture->done_count, 0);
	data(arg, text, len);
}

/* A loop run within a data callback must not end that call under its feet. */
static void test_wait_from_data(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = begin_stream;
	stream(fixture, (struct kube_request){0}, data_waits);
	assert_true(run_until_count(fixture->loop, &fixture->held_count, 1, limit_s));
	fixture->script = reply_ok;
	http_stream_puts(fixture->held[0], "abc");
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_NETWORK);
	assert_string_equal(fixture->streamed.data, "abc");
}

/* Watches must not take the places of writes. */
static void test_streams_leave_places(void **state)
{
	const struct kube_client_options options = {.max_connections = 1};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	fixture->script = begin_stream;
	for (int i = 0; i < 3; i++)
		stream(fixture, (struct kube_request){.exempt = true}, data);
	assert_true(run_until_count(fixture->loop, &fixture->held_count, 3, limit_s));
	assert_int_equal(fixture->server.conn_count, 3);
	fixture->script = reply_ok;
	call(fixture, 1, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		client_test(test_stream),
		client_test(test_stream_refused),
		client_test(test_stream_reset),
		client_test(test_stream_silence),
		client_test(test_cancel_from_data),
		client_test(test_wait_from_data),
		client_test(test_streams_leave_places),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("kube_streams", tests, NULL, NULL);
}
