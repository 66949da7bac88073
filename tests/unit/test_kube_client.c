/* The Kubernetes client against a scripted server: what is sent, what comes back of every kind of failure, that done
 * runs exactly once, the order of the rate limit, credentials. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <ev.h>
#include <signal.h>

#include "common/base/clock.h"
#include "common/kube/client.h"
#include "tests/unit/http_server.h"
#include "tests/unit/temp.h"

/* Every wait of these tests ends much sooner; this only bounds a failure. */
static const double limit_s = 10;

enum { SEEN_MAX = 2000 };

struct fixture {
	struct ev_loop *loop;
	struct http_server server;
	struct kube_config config;
	struct kube_client *client;
	/* what the server does with each request */
	void (*script)(struct fixture *fixture, struct http_conn *conn);
	struct http_conn *held[64];
	size_t held_count;
	char token_path[TEMP_PATH_SIZE];
	/* answers, in the order they came */
	size_t done_count;
	struct seen {
		int id;
		enum kube_failure failure;
		int status;
		int64_t retry_after_ms;
		bool sent;
		bool is_status;
		char reason[64];
		char message[512];
		char body[256];
	} seen[SEEN_MAX];
	struct buf streamed;
	size_t announced;
	struct kube_call *call;
};

struct tag {
	struct fixture *fixture;
	int id;
};

static void on_request(void *arg, struct http_conn *conn)
{
	struct fixture *fixture = arg;

	fixture->script(fixture, conn);
}

static void reply_ok(struct fixture *fixture, struct http_conn *conn)
{
	(void)fixture;
	http_reply(conn, 200, "", "{\"kind\":\"Pod\"}");
}

static void hold(struct fixture *fixture, struct http_conn *conn)
{
	assert_true(fixture->held_count < ARRAY_LEN(fixture->held));
	fixture->held[fixture->held_count++] = conn;
}

static void start_client(struct fixture *fixture, const struct kube_client_options *options)
{
	struct error err = {0};

	kube_client_free(fixture->client);
	fixture->client = kube_client_new(fixture->loop, &fixture->config, options, &err);
	assert_string_equal(err.message, "");
	assert_non_null(fixture->client);
}

static int setup(void **state)
{
	struct fixture *fixture = mem_calloc(1, sizeof(*fixture));
	const struct kube_client_options options = {.user_agent = "tester/1"};

	*state = fixture;
	fixture->loop = ev_loop_new(EVFLAG_AUTO);
	http_server_start(&fixture->server, fixture->loop, on_request, fixture);
	fixture->config.server = mem_strdup(fixture->server.address);
	fixture->config.source = mem_strdup("test");
	fixture->script = reply_ok;
	start_client(fixture, &options);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	kube_client_free(fixture->client);
	kube_config_free(&fixture->config);
	http_server_free(&fixture->server);
	ev_loop_destroy(fixture->loop);
	buf_free(&fixture->streamed);
	if (fixture->token_path[0] != '\0')
		unlink(fixture->token_path);
	free(fixture);
	return 0;
}

static void note(struct fixture *fixture, int id, const struct kube_answer *answer)
{
	struct seen *seen = &fixture->seen[fixture->done_count++];

	assert_true(fixture->done_count <= SEEN_MAX);
	*seen = (struct seen){
		.id = id,
		.failure = answer->failure,
		.status = answer->http_status,
		.retry_after_ms = answer->retry_after_ms,
		.sent = answer->sent,
		.is_status = answer->status.is_status,
	};
	assert_int_equal(strlen(answer->body), answer->body_len);
	snprintf(seen->reason, sizeof(seen->reason), "%s", answer->status.reason);
	snprintf(seen->message, sizeof(seen->message), "%s", answer->message);
	snprintf(seen->body, sizeof(seen->body), "%s", answer->body);
}

static void done(void *arg, const struct kube_answer *answer)
{
	struct tag *tag = arg;

	note(tag->fixture, tag->id, answer);
	free(tag);
}

static struct kube_call *call(struct fixture *fixture, int id, struct kube_request request)
{
	struct tag *tag = mem_calloc(1, sizeof(*tag));

	tag->fixture = fixture;
	tag->id = id;
	if (request.method == NULL)
		request.method = "GET";
	if (request.path == NULL)
		request.path = "/api/v1/pods";
	if (request.timeout_ms == 0)
		request.timeout_ms = 8000;
	return kube_client_call(fixture->client, &request, done, tag);
}

static void wait_done(struct fixture *fixture, size_t count)
{
	assert_true(run_until_count(fixture->loop, &fixture->done_count, count, limit_s));
	assert_int_equal(fixture->done_count, count);
}

/* Turns the loop until it has nothing due any more. */
static void settle(struct fixture *fixture)
{
	for (int i = 0; i < 20; i++)
		ev_run(fixture->loop, EVRUN_NOWAIT);
}

static uint64_t counted(struct fixture *fixture, const char *method, const char *resource, int code)
{
	size_t count;
	const struct kube_counter *rows = kube_client_counters(fixture->client, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].method, method) == 0 && strcmp(rows[i].resource, resource) == 0 &&
		    rows[i].code == code)
			return rows[i].count;
	return 0;
}

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

static void reply_forbidden(struct fixture *fixture, struct http_conn *conn)
{
	(void)fixture;
	http_reply(conn, 403, "",
		   "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,"
		   "\"message\":\"pods \\\"x\\\" is forbidden:\\nexceeded quota\"}");
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
	default: http_reply(conn, 503, "Retry-After: 99999999\r\n", ""); break;
	}
}

static void test_retry_after(void **state)
{
	struct fixture *fixture = *state;

	fixture->script = reply_too_many;
	for (size_t i = 1; i <= 3; i++) {
		call(fixture, 0, (struct kube_request){0});
		wait_done(fixture, i);
	}
	assert_int_equal(fixture->seen[0].retry_after_ms, 7000);
	assert_int_equal(fixture->seen[1].retry_after_ms, 3000);
	assert_int_equal(fixture->seen[2].retry_after_ms, 3600000);
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

/* ---- time ---- */

static void test_timeout(void **state)
{
	struct fixture *fixture = *state;
	int64_t start_ms = clock_boot_ms();

	fixture->script = hold;
	call(fixture, 0, (struct kube_request){.timeout_ms = 50});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_TIMEOUT);
	assert_true(fixture->seen[0].sent);
	assert_in_range(clock_boot_ms() - start_ms, 45, 5000);
	/* and the client lives on */
	fixture->script = reply_ok;
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].status, 200);
}

/* Waiting for a connection must not use up a request's time (PITFALLS "libcurl" 3). */
static void test_queueing_is_free(void **state)
{
	const struct kube_client_options options = {.max_connections = 1};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	fixture->script = hold;
	call(fixture, 1, (struct kube_request){.timeout_ms = 300});
	call(fixture, 2, (struct kube_request){.timeout_ms = 200});
	assert_true(run_until_count(fixture->loop, &fixture->held_count, 1, limit_s));
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].id, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_TIMEOUT);
	fixture->script = reply_ok;
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].status, 200);
}

static void test_exempt_needs_no_place(void **state)
{
	const struct kube_client_options options = {.max_connections = 1};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	fixture->script = hold;
	call(fixture, 1, (struct kube_request){0});
	call(fixture, 2, (struct kube_request){0});
	assert_true(run_until_count(fixture->loop, &fixture->held_count, 1, limit_s));
	fixture->script = reply_ok;
	call(fixture, 3, (struct kube_request){.exempt = true});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].id, 3);
	reply_ok(fixture, fixture->held[0]);
	wait_done(fixture, 3);
}

static bool lower(void *arg, int64_t *timeout_ms)
{
	(void)arg;
	assert_int_equal(*timeout_ms, 8000);
	*timeout_ms = 2999;
	return true;
}

static bool lower_much(void *arg, int64_t *timeout_ms)
{
	(void)arg;
	*timeout_ms = 999;
	return true;
}

static bool lower_to_nothing(void *arg, int64_t *timeout_ms)
{
	(void)arg;
	*timeout_ms = 0;
	return true;
}

static bool refuse(void *arg, int64_t *timeout_ms)
{
	(void)arg;
	(void)timeout_ms;
	return false;
}

/* The fence: what the hook leaves of the time bounds the server as well, rounded down. */
static void test_before_send(void **state)
{
	struct fixture *fixture = *state;

	call(fixture, 0, (struct kube_request){.path = "/a", .before_send = lower, .server_timeout = true});
	wait_done(fixture, 1);
	call(fixture, 0, (struct kube_request){.path = "/b?c=d", .before_send = lower_much, .server_timeout = true});
	wait_done(fixture, 2);
	assert_string_equal(fixture->server.log.data, "GET /a?timeout=2s\nGET /b?c=d&timeout=999ms\n");
	call(fixture, 0, (struct kube_request){.before_send = refuse});
	call(fixture, 0, (struct kube_request){.before_send = lower_to_nothing});
	wait_done(fixture, 4);
	for (size_t i = 2; i < 4; i++) {
		assert_int_equal(fixture->seen[i].failure, KUBE_REFUSED);
		assert_false(fixture->seen[i].sent);
		assert_non_null(strstr(fixture->seen[i].message, "not sent"));
	}
	assert_int_equal(fixture->server.request_count, 2);
}

/* ---- the rate limit ---- */

static void test_rate_limit_order(void **state)
{
	const struct kube_client_options options = {.qps = 100, .burst = 2};
	struct fixture *fixture = *state;
	int64_t start_ms = clock_boot_ms();

	start_client(fixture, &options);
	call(fixture, 90, (struct kube_request){.low_priority = true});
	for (int i = 1; i <= 5; i++)
		call(fixture, i, (struct kube_request){.path = "/n"});
	call(fixture, 80, (struct kube_request){.exempt = true});
	wait_done(fixture, 7);
	/* exempt goes at once; two at once and then one each 10 ms, low priority last */
	assert_int_equal(fixture->seen[6].id, 90);
	for (int i = 0, next = 1; i < 6; i++) {
		if (fixture->seen[i].id == 80) {
			assert_true(i <= 2);
			continue;
		}
		if (i > 2)
			assert_int_equal(fixture->seen[i].id, next);
		next++;
	}
	assert_in_range(clock_boot_ms() - start_ms, 39, 5000);
}

static void test_rate_change(void **state)
{
	const struct kube_client_options options = {.qps = 0.001, .burst = 1};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	call(fixture, 1, (struct kube_request){0});
	call(fixture, 2, (struct kube_request){0});
	wait_done(fixture, 1);
	settle(fixture);
	assert_int_equal(fixture->done_count, 1);
	kube_client_set_rate(fixture->client, 1000, 10);
	wait_done(fixture, 2);
}

/* A refused request costs no token: the next one goes at once. */
static void test_refusal_costs_nothing(void **state)
{
	const struct kube_client_options options = {.qps = 0.001, .burst = 1};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	call(fixture, 1, (struct kube_request){.before_send = refuse});
	call(fixture, 2, (struct kube_request){0});
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].failure, KUBE_OK);
}

static void test_low_priority_dropped(void **state)
{
	const struct kube_client_options options = {.qps = 0.001, .burst = 1};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	for (int i = 0; i < 1003; i++)
		call(fixture, i, (struct kube_request){.low_priority = true});
	wait_done(fixture, 4);
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(fixture->seen[i].failure, KUBE_REFUSED);
		assert_in_range(fixture->seen[i].id, 1000, 1002);
	}
	/* those that wait are cancelled with the client */
	kube_client_free(fixture->client);
	fixture->client = NULL;
	assert_int_equal(fixture->done_count, 1004);
	assert_int_equal(fixture->seen[1003].failure, KUBE_CANCELLED);
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
	const struct kube_request request = {.method = "GET", .path = "/", .timeout_ms = 8000};

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
	const struct kube_request request = {.method = "GET", .path = "/", .timeout_ms = 8000};

	note(fixture, 1, answer);
	if (fixture->done_count < CHAIN)
		kube_client_call(fixture->client, &request, done_then_next, fixture);
}

/* A call that follows from an answer takes a turn of the loop until the server has read it, and one until its answer is
 * there: each further one would be system calls for each request. */
static void test_turns(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_request request = {.method = "GET", .path = "/", .timeout_ms = 8000};
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

/* ---- streams ---- */

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
		request.timeout_ms = 8000;
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
	const struct kube_request request = {.method = "GET", .path = "/inner", .timeout_ms = 8000};
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

static void test_connections_are_reused(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 1; i <= 20; i++) {
		call(fixture, 0, (struct kube_request){0});
		wait_done(fixture, i);
	}
	assert_int_equal(fixture->server.conn_count, 1);
}

/* ---- blocking calls ---- */

static void test_wait(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_request request = {.method = "GET", .path = "/api/v1/pods", .timeout_ms = 8000};
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

static void hold_and_stop(struct fixture *fixture, struct http_conn *conn)
{
	(void)conn;
	ev_break(fixture->loop, EVBREAK_ALL);
}

/* SIGTERM during start-up must not have to wait for the API server. */
static void test_wait_interrupted(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_request request = {.method = "GET", .path = "/api/v1/pods", .timeout_ms = 8000};
	struct kube_answer answer;

	fixture->script = hold_and_stop;
	kube_client_call_wait(fixture->client, &request, &answer);
	assert_int_equal(answer.failure, KUBE_CANCELLED);
	kube_answer_free(&answer);
}

/* ---- credentials ---- */

static void write_token(struct fixture *fixture, const char *text)
{
	FILE *file;

	if (fixture->token_path[0] == '\0') {
		close(temp_file(fixture->token_path));
		fixture->config.token_file = mem_strdup(fixture->token_path);
	}
	file = fopen(fixture->token_path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void want_new_token(struct fixture *fixture, struct http_conn *conn)
{
	const char *token = http_header(conn, "Authorization");

	assert_non_null(token);
	if (strcmp(token, "Bearer second") == 0)
		reply_ok(fixture, conn);
	else
		http_reply(conn, 401, "", "Unauthorized");
}

static void test_token_read_again(void **state)
{
	struct fixture *fixture = *state;

	write_token(fixture, "  first\n");
	start_client(fixture, &(struct kube_client_options){0});
	write_token(fixture, "second\n");
	fixture->script = want_new_token;
	call(fixture, 0, (struct kube_request){.method = "POST", .body = "{}", .body_len = 2});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 200);
	assert_int_equal(fixture->server.request_count, 2);
	assert_int_equal(counted(fixture, "POST", "pods", 401), 1);
	assert_int_equal(counted(fixture, "POST", "pods", 200), 1);
}

/* A token that stays wrong is tried twice, not for ever, and is not shown. An emptied file keeps the old one. */
static void test_token_stays_wrong(void **state)
{
	struct fixture *fixture = *state;

	write_token(fixture, "secret-token");
	start_client(fixture, &(struct kube_client_options){0});
	write_token(fixture, "\n");
	fixture->script = want_new_token;
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 401);
	assert_int_equal(fixture->server.request_count, 2);
	assert_string_equal(fixture->seen[0].message, "GET /api/v1/pods: 401 Unauthorized");
}

static void test_reload(void **state)
{
	struct fixture *fixture = *state;

	write_token(fixture, "first");
	start_client(fixture, &(struct kube_client_options){0});
	write_token(fixture, "second");
	kube_client_reload(fixture->client);
	fixture->script = want_new_token;
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].status, 200);
	assert_int_equal(fixture->server.request_count, 1);
}

static void test_bad_credentials(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_client_options options = {0};
	struct error err;

	write_token(fixture, "two\nlines");
	assert_null(kube_client_new(fixture->loop, &fixture->config, &options, &err));
	assert_non_null(strstr(err.message, fixture->token_path));
	assert_null(strstr(err.message, "lines\n"));
	write_token(fixture, "");
	assert_null(kube_client_new(fixture->loop, &fixture->config, &options, &err));
	assert_non_null(strstr(err.message, "empty"));
	mem_replace(&fixture->config.token_file, "/nonesuch/token");
	assert_null(kube_client_new(fixture->loop, &fixture->config, &options, &err));
	assert_non_null(strstr(err.message, "/nonesuch/token: No such file"));
	mem_replace(&fixture->config.token_file, NULL);
	write_token(fixture, "no PEM");
	fixture->config.ca_file = mem_strdup(fixture->token_path);
	assert_null(kube_client_new(fixture->loop, &fixture->config, &options, &err));
	assert_non_null(strstr(err.message, "certificate authority"));
}

#define client_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		client_test(test_get),
		client_test(test_server_with_path),
		client_test(test_methods_with_bodies),
		client_test(test_delete_without_body),
		client_test(test_status_object),
		client_test(test_other_errors),
		client_test(test_retry_after),
		client_test(test_broken_connections),
		client_test(test_refused),
		client_test(test_timeout),
		client_test(test_queueing_is_free),
		client_test(test_exempt_needs_no_place),
		client_test(test_before_send),
		client_test(test_rate_limit_order),
		client_test(test_rate_change),
		client_test(test_refusal_costs_nothing),
		client_test(test_low_priority_dropped),
		client_test(test_cancel),
		client_test(test_calls_from_done),
		client_test(test_turns),
		client_test(test_free_cancels),
		client_test(test_stream),
		client_test(test_stream_refused),
		client_test(test_stream_reset),
		client_test(test_stream_silence),
		client_test(test_cancel_from_data),
		client_test(test_wait_from_data),
		client_test(test_streams_leave_places),
		client_test(test_connections_are_reused),
		client_test(test_wait),
		client_test(test_wait_interrupted),
		client_test(test_token_read_again),
		client_test(test_token_stays_wrong),
		client_test(test_reload),
		client_test(test_bad_credentials),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
