/* Requests of the Kubernetes client: what is sent, what comes back of every kind of failure, that done runs exactly
 * once. */
#include "tests/unit/kube_world.h"
#include "tests/unit/slow.h"

/* ---- requests and answers ---- */

static void check_get(struct fixture *fixture, struct http_conn *conn)
{
	assert_string_equal(conn->method, "GET");
	assert_string_equal(conn->path, "/api/v1/pods?limit=5");
	assert_string_equal(http_header(conn, "Accept"), "application/json");
	assert_string_equal(http_header(conn, "User-Agent"), "tester/1");
	assert_null(http_header(conn, "Authorization"));
	assert_null(http_header(conn, "Content-Type"));
	reply_ok(fixture, conn);
}

static void test_get(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = check_get;
	call(fixture, 1, (struct kube_request){.path = "/api/v1/pods?limit=5"});
	/* never from within kube_client_call */
	assert_int_equal(fixture->done_count, 0);
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_OK);
	assert_int_equal(fixture->seen[0].status, 200);
	assert_string_equal(fixture->seen[0].body, "{\"kind\":\"Pod\"}");
	assert_string_equal(fixture->seen[0].message, "");
	assert_true(fixture->seen[0].sent);
	assert_int_equal(fixture->seen[0].retry_after_ms, -1);
	assert_int_equal(counted(fixture, "LIST", "pods", 200), 1);
}

static void check_prefixed(struct fixture *fixture, struct http_conn *conn)
{
	assert_string_equal(conn->path, "/clusters/c1/api/v1/pods?limit=5");
	assert_string_equal(http_header(conn, "Host"), strstr(fixture->server.address, "//") + 2);
	reply_ok(fixture, conn);
}

/* A server that is a path on another one. */
static void test_server_with_path(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_client_options options = {0};

	free(fixture->config.server);
	fixture->config.server = mem_printf("%s/clusters/c1", fixture->server.address);
	start_client(fixture, &options);
	fixture->script = check_prefixed;
	call(fixture, 1, (struct kube_request){.path = "/api/v1/pods?limit=5"});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 200);
}

/* libcurl's words, and where the server is named. */
static void test_malformed_server(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_client_options options = {0};
	struct error err;

	mem_replace(&fixture->config.server, "http://[::x]:80");
	assert_null(kube_client_new(fixture->loop, &fixture->config, &options, &err));
	assert_non_null(strstr(err.message, ": server \"http://[::x]:80\": "));
}

static void check_post(struct fixture *fixture, struct http_conn *conn)
{
	assert_string_equal(http_header(conn, "Content-Type"), "application/json");
	assert_string_equal(http_header(conn, "Accept"), "application/x");
	/* libcurl would wait a second for it */
	assert_null(http_header(conn, "Expect"));
	if (conn->body[0] == 'x')
		assert_int_equal(strlen(conn->body), 2000000);
	else
		assert_string_equal(conn->body, "{\"a\":1}");
	(void)fixture;
	http_reply(conn, 201, "", conn->method);
}

static void test_methods_with_bodies(void **state)
{
	static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE"};
	struct fixture *fixture = *state;
	cleanup_free char *large = mem_alloc(2000000);

	fixture->script = check_post;
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		char body[] = "{\"a\":1}";

		call(fixture, 0,
		     (struct kube_request){
			     .method = methods[i],
			     .path = "/api/v1/namespaces/a/pods/x",
			     .accept = "application/x",
			     .body = body,
			     .body_len = strlen(body),
		     });
		memset(body, '!', strlen(body)); /* it was copied */
		wait_done(fixture, i + 1);
		assert_string_equal(fixture->seen[i].body, methods[i]);
		assert_int_equal(counted(fixture, methods[i], "pods", 201), 1);
	}
	memset(large, 'x', 2000000);
	call(fixture, 0,
	     (struct kube_request){.method = "PUT", .accept = "application/x", .body = large, .body_len = 2000000});
	wait_done(fixture, 5);
	assert_int_equal(fixture->seen[4].status, 201);
}

static void check_bare_delete(struct fixture *fixture, struct http_conn *conn)
{
	assert_string_equal(conn->method, "DELETE");
	assert_null(http_header(conn, "Content-Type"));
	assert_string_equal(conn->body, "");
	reply_ok(fixture, conn);
}

static void test_delete_without_body(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = check_bare_delete;
	call(fixture, 0, (struct kube_request){.method = "DELETE"});
	wait_done(fixture, 1);
	/* the handle is used again: nothing of the DELETE may stick to it */
	fixture->script = check_get;
	call(fixture, 0, (struct kube_request){.path = "/api/v1/pods?limit=5"});
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].status, 200);
}

static void test_status_object(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = reply_forbidden;
	call(fixture, 0,
	     (struct kube_request){
		     .method = "POST", .path = "/api/v1/namespaces/a/pods?x=y", .body = "{}", .body_len = 2});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_OK);
	assert_int_equal(fixture->seen[0].status, 403);
	assert_true(fixture->seen[0].is_status);
	assert_string_equal(fixture->seen[0].reason, "Forbidden");
	assert_string_equal(fixture->seen[0].message, "POST /api/v1/namespaces/a/pods: 403 Forbidden: pods \"x\" is "
						      "forbidden: exceeded quota");
}

static void reply_plain_error(struct fixture *fixture, struct http_conn *conn)
{
	(void)fixture;
	http_reply(conn, 502, "", "upstream\x01 gone\r\n");
}

static void reply_redirect(struct fixture *fixture, struct http_conn *conn)
{
	char header[128];

	snprintf(header, sizeof(header), "Location: %s/elsewhere\r\n", fixture->server.address);
	http_reply(conn, 302, header, "");
}

static void test_other_errors(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = reply_plain_error;
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 502);
	assert_false(fixture->seen[0].is_status);
	assert_string_equal(fixture->seen[0].reason, "");
	assert_string_equal(fixture->seen[0].message, "GET /api/v1/pods: 502 Bad Gateway: upstream  gone");
	/* a token must not follow a redirect */
	fixture->script = reply_redirect;
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].status, 302);
	assert_int_equal(fixture->server.request_count, 2);
}

static void reply_too_many(struct fixture *fixture, struct http_conn *conn)
{
	switch (fixture->server.request_count) {
	case 1: http_reply(conn, 429, "Retry-After: 7\r\n", "{}"); break;
	case 2:
		http_reply(conn, 429, "", "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":3},\"code\":429}");
		break;
	case 3: http_reply(conn, 503, "Retry-After: 99999999\r\n", ""); break;
	default:
		http_reply(conn, 429, "",
			   "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":99999999},\"code\":429}");
	}
}

static void test_retry_after(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = reply_too_many;
	for (size_t i = 1; i <= 4; i++) {
		call(fixture, 0, (struct kube_request){0});
		wait_done(fixture, i);
	}
	assert_int_equal(fixture->seen[0].retry_after_ms, 7000);
	assert_int_equal(fixture->seen[1].retry_after_ms, 3000);
	assert_int_equal(fixture->seen[2].retry_after_ms, 3600000);
	assert_int_equal(fixture->seen[3].retry_after_ms, 3600000);
}

static void reply_warnings(struct fixture *fixture, struct http_conn *conn)
{
	cleanup_buf struct buf headers = {0};

	buf_puts(&headers, "Warning: 299 - \"use \\\"b\\\" instead\"\r\n"
			   "warning: 299 kube \"first, of two\" \"Thu, 01 Jan 1970 00:00:00 GMT\", 299 - \"second\"\r\n"
			   "Warning: 199 - \"of a proxy\"\r\nWarning: 299 - \"cut\r\nWarning: 299 - \"date\" \"cut\r\n"
			   "Warning: 299\r\nWarning:\r\n");
	if (strstr(conn->path, "many") != NULL)
		buf_printf(&headers, "Warning: 299 - \"number %zu\"\r\n", fixture->server.request_count);
	if (strstr(conn->path, "long") != NULL)
		buf_printf(&headers, "Warning: 299 - \"%0*d\"\r\n", 4000, 0);
	http_reply(conn, 200, headers.data, "{}");
}

/* Makes so many requests, and returns what was logged meanwhile; the caller frees. */
static char *log_of(struct fixture *fixture, const char *path, size_t count)
{
	FILE *file = tmpfile();
	int real_stderr = dup(STDERR_FILENO);
	char *text = mem_calloc(1, 64 * 1024);

	assert_non_null(file);
	dup2(fileno(file), STDERR_FILENO);
	for (size_t i = 0; i < count; i++) {
		call(fixture, 0, (struct kube_request){.path = path});
		wait_done(fixture, fixture->done_count + 1);
	}
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	rewind(file);
	assert_true(fread(text, 1, 64 * 1024 - 1, file) < 64 * 1024 - 1);
	fclose(file);
	return text;
}

static size_t lines(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

/* Each warning of the API server is one line, however often it comes and whatever the answer. */
static void test_warnings(void **state)
{
	static const char *const texts[] = {"use \"b\" instead", "first, of two", "second", "date"};
	struct fixture *fixture = *state;
	cleanup_free char *first = NULL;
	cleanup_free char *again = NULL;
	cleanup_free char *cut = NULL;
	cleanup_free char *many = NULL;

	fixture->script = reply_warnings;
	first = log_of(fixture, "/api/v1/pods?limit=5", 2);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup_free char *line = mem_printf("GET /api/v1/pods: the API server warns: %s\n", texts[i]);

		if (strstr(first, line) == NULL)
			fail_msg("\"%s\" is not in the log: %s", texts[i], first);
	}
	assert_int_equal(lines(first), ARRAY_LEN(texts));
	again = log_of(fixture, "/api/v1/nodes", 1);
	assert_string_equal(again, "");
	cut = log_of(fixture, "/long", 1);
	assert_int_equal(strspn(strstr(cut, "warns: ") + strlen("warns: "), "0"), 1024);
	many = log_of(fixture, "/many", 200);
	assert_int_equal(lines(many), 100 - ARRAY_LEN(texts));
	assert_non_null(strstr(many, "more than 100 different warnings"));
}

static void drop(struct fixture *fixture, struct http_conn *conn)
{
	(void)fixture;
	http_reset(conn);
}

static void cut_answer(struct fixture *fixture, struct http_conn *conn)
{
	static const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"kind\"";

	(void)fixture;
	http_raw(conn, half, strlen(half));
	http_close(conn);
}

/* Half an answer must not pass for one. */
static void test_broken_connections(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = cut_answer;
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_NETWORK);
	assert_int_equal(fixture->seen[0].status, 0);
	assert_string_equal(fixture->seen[0].body, "");
	assert_true(fixture->seen[0].sent);
	fixture->script = drop;
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].failure, KUBE_NETWORK);
	assert_true(fixture->seen[1].sent);
	assert_int_equal(counted(fixture, "LIST", "pods", 0), 2);
}

static void test_refused(void **state)
{
	struct fixture *fixture = *state;
	char expected[128];

	http_server_stop(&fixture->server);
	call(fixture, 0, (struct kube_request){.path = "/api/v1/pods?limit=1"});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_NETWORK);
	assert_false(fixture->seen[0].sent);
	snprintf(expected, sizeof(expected), "GET %s/api/v1/pods: Connection refused", fixture->server.address);
	assert_string_equal(fixture->seen[0].message, expected);
}

static void test_connections_are_reused(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 1; i <= 20; i++) {
		call(fixture, 0, (struct kube_request){0});
		wait_done(fixture, i);
	}
	assert_int_equal(fixture->server.conn_count, 1);
}

/* ---- cancelling ---- */

static void test_cancel(void **state)
{
	const struct kube_client_options options = {.max_connections = 1};
	struct fixture *fixture = *state;
	struct kube_call *running;
	struct kube_call *queued;

	start_client(fixture, &options);
	fixture->script = hold;
	running = call(fixture, 1, (struct kube_request){0});
	queued = call(fixture, 2, (struct kube_request){0});
	assert_true(run_until_count(fixture->loop, &fixture->held_count, 1, limit_s));
	kube_call_cancel(queued);
	kube_call_cancel(running);
	kube_call_cancel(running);
	assert_int_equal(fixture->done_count, 0);
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[0].id, 2);
	assert_int_equal(fixture->seen[0].failure, KUBE_CANCELLED);
	assert_false(fixture->seen[0].sent);
	assert_int_equal(fixture->seen[1].failure, KUBE_CANCELLED);
	assert_true(fixture->seen[1].sent);
	settle(fixture);
	assert_int_equal(fixture->done_count, 2);
	/* the place is free again */
	fixture->script = reply_ok;
	call(fixture, 3, (struct kube_request){0});
	wait_done(fixture, 3);
}

static bool cancel_the_other(void *arg, int64_t *timeout_ms)
{
	const struct tag *tag = arg;

	(void)timeout_ms;
	kube_call_cancel(tag->fixture->call);
	return true;
}

/* Both calls begin in one turn, so that libcurl has done nothing for the first one. Its handle still tells of the
 * transfer before. */
static void test_cancel_before_libcurl(void **state)
{
	struct fixture *fixture = *state;

	call(fixture, 1, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 200);
	fixture->call = call(fixture, 2, (struct kube_request){0});
	call(fixture, 3, (struct kube_request){.before_send = cancel_the_other});
	wait_done(fixture, 3);
	assert_int_equal(fixture->seen[1].id, 2);
	assert_int_equal(fixture->seen[1].failure, KUBE_CANCELLED);
	assert_false(fixture->seen[1].sent);
	assert_int_equal(fixture->seen[2].status, 200);
	assert_int_equal(fixture->server.request_count, 2);
}

/* A request that nobody answers gives up the connections; the kept handles, which have options of the former ones, go
 * with them (the sanitized tests find one that does not). */
static void test_handles_of_former_connections(void **state)
{
	struct fixture *fixture = *state;
	int64_t received_ms;

	call(fixture, 1, (struct kube_request){0});
	call(fixture, 2, (struct kube_request){0});
	wait_done(fixture, 2);
	received_ms = clock_boot_ms();
	while (clock_boot_ms() == received_ms)
		settle(fixture);
	fixture->script = hold;
	call(fixture, 3, (struct kube_request){.timeout_ms = allowed_ms(100)});
	wait_done(fixture, 3);
	assert_int_equal(fixture->seen[2].failure, KUBE_TIMEOUT);
	settle(fixture);
	fixture->script = reply_ok;
	call(fixture, 4, (struct kube_request){0});
	wait_done(fixture, 4);
	assert_int_equal(fixture->seen[3].status, 200);
	assert_int_equal(fixture->server.conn_count, 3);
}

static void done_then_more(void *arg, const struct kube_answer *answer)
{
	struct fixture *fixture = arg;

	note(fixture, 1, answer);
	kube_call_cancel(fixture->call); /* too late, and harmless */
	call(fixture, 2, (struct kube_request){0});
	kube_call_cancel(call(fixture, 3, (struct kube_request){0}));
	assert_int_equal(fixture->done_count, 1);
}

static void test_calls_from_done(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_request request = {.method = "GET", .path = "/", .timeout_ms = 60000};

	fixture->call = kube_client_call(fixture->client, &request, done_then_more, fixture);
	wait_done(fixture, 3);
	assert_int_equal(fixture->seen[0].status, 200);
	assert_int_equal(fixture->seen[1].id, 3);
	assert_int_equal(fixture->seen[1].failure, KUBE_CANCELLED);
	assert_int_equal(fixture->seen[2].id, 2);
}

enum { CHAIN = 50 };

static void done_then_next(void *arg, const struct kube_answer *answer)
{
	struct fixture *fixture = arg;
	const struct kube_request request = {.method = "GET", .path = "/", .timeout_ms = 60000};

	note(fixture, 1, answer);
	if (fixture->done_count < CHAIN)
		kube_client_call(fixture->client, &request, done_then_next, fixture);
}

/* A call that follows from an answer takes a turn of the loop until the server has read it, and one until its answer is
 * there: each further one would be system calls for each request. */
static void test_turns(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_request request = {.method = "GET", .path = "/", .timeout_ms = 60000};
	unsigned before;

	kube_client_call(fixture->client, &request, done_then_next, fixture);
	assert_true(run_until_count(fixture->loop, &fixture->done_count, 1, limit_s)); /* connected */
	before = ev_iteration(fixture->loop);
	wait_done(fixture, CHAIN);
	assert_in_range(ev_iteration(fixture->loop) - before, CHAIN, 2 * CHAIN + CHAIN / 2);
}

static void test_free_cancels(void **state)
{
	const struct kube_client_options options = {.max_connections = 2};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	fixture->script = hold;
	for (int i = 0; i < 5; i++)
		call(fixture, i, (struct kube_request){.low_priority = i == 4, .exempt = i == 3});
	assert_true(run_until_count(fixture->loop, &fixture->held_count, 3, limit_s));
	kube_client_free(fixture->client);
	fixture->client = NULL;
	assert_int_equal(fixture->done_count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(fixture->seen[i].failure, KUBE_CANCELLED);
}

/* ---- blocking calls ---- */

static void test_wait(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_request request = {.method = "GET", .path = "/api/v1/pods", .timeout_ms = 60000};
	struct kube_answer answer;

	kube_client_call_wait(fixture->client, &request, &answer);
	assert_int_equal(answer.http_status, 200);
	assert_string_equal(answer.body, "{\"kind\":\"Pod\"}");
	kube_answer_free(&answer);
	fixture->script = reply_forbidden;
	kube_client_call_wait(fixture->client, &request, &answer);
	assert_string_equal(answer.status.reason, "Forbidden");
	assert_non_null(strstr(answer.message, "exceeded quota"));
	kube_answer_free(&answer);
}

static void reply_nul(struct fixture *fixture, struct http_conn *conn)
{
	static const char answer[] = "HTTP/1.1 200 X\r\nContent-Length: 6\r\n\r\n{}\0{}\n";

	(void)fixture;
	http_raw(conn, answer, sizeof(answer) - 1);
}

/* A body is copied as long as it is said to be. */
static void test_nul_in_answer(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_request request = {.method = "GET", .path = "/api/v1/pods", .timeout_ms = 60000};
	struct kube_answer answer;

	fixture->script = reply_nul;
	kube_client_call_wait(fixture->client, &request, &answer);
	assert_int_equal(answer.body_len, 6);
	assert_memory_equal(answer.body, "{}\0{}\n", 7);
	kube_answer_free(&answer);
}

static void hold_and_stop(struct fixture *fixture, struct http_conn *conn)
{
	(void)conn;
	ev_break(fixture->loop, EVBREAK_ALL);
}

/* SIGTERM during start-up must not have to wait for the API server. */
static void test_wait_interrupted(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_request request = {.method = "GET", .path = "/api/v1/pods", .timeout_ms = 60000};
	struct kube_answer answer;

	fixture->script = hold_and_stop;
	kube_client_call_wait(fixture->client, &request, &answer);
	assert_int_equal(answer.failure, KUBE_CANCELLED);
	kube_answer_free(&answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		client_test(test_get),
		client_test(test_server_with_path),
		client_test(test_malformed_server),
		client_test(test_methods_with_bodies),
		client_test(test_delete_without_body),
		client_test(test_status_object),
		client_test(test_other_errors),
		client_test(test_retry_after),
		client_test(test_warnings),
		client_test(test_broken_connections),
		client_test(test_refused),
		client_test(test_cancel),
		client_test(test_cancel_before_libcurl),
		client_test(test_handles_of_former_connections),
		client_test(test_calls_from_done),
		client_test(test_turns),
		client_test(test_free_cancels),
		client_test(test_connections_are_reused),
		client_test(test_wait),
		client_test(test_nul_in_answer),
		client_test(test_wait_interrupted),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("kube_client", tests, NULL, NULL);
}
