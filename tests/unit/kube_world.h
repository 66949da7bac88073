/* The Kubernetes client against a scripted server: each test says what the server does with a request, and sees what
 * comes of its calls in the order in which it came. Shared by test_kube_{client,pace,streams,credentials}.c. */
#ifndef TESTS_KUBE_WORLD_H
#define TESTS_KUBE_WORLD_H

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
static const double limit_s = 60;

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

static inline void on_request(void *arg, struct http_conn *conn)
{
	struct fixture *fixture = arg;

	fixture->script(fixture, conn);
}

static inline void reply_ok(struct fixture *fixture, struct http_conn *conn)
{
	(void)fixture;
	http_reply(conn, 200, "", "{\"kind\":\"Pod\"}");
}

static inline void reply_forbidden(struct fixture *fixture, struct http_conn *conn)
{
	(void)fixture;
	http_reply(conn, 403, "",
		   "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,"
		   "\"message\":\"pods \\\"x\\\" is forbidden:\\nexceeded quota\"}");
}

static inline void hold(struct fixture *fixture, struct http_conn *conn)
{
	assert_true(fixture->held_count < ARRAY_LEN(fixture->held));
	fixture->held[fixture->held_count++] = conn;
}

static inline void start_client(struct fixture *fixture, const struct kube_client_options *options)
{
	struct error err = {0};

	kube_client_free(fixture->client);
	fixture->client = kube_client_new(fixture->loop, &fixture->config, options, &err);
	assert_string_equal(err.message, "");
	assert_non_null(fixture->client);
}

static inline int setup(void **state)
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

static inline int teardown(void **state)
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

static inline void note(struct fixture *fixture, int id, const struct kube_answer *answer)
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

static inline void done(void *arg, const struct kube_answer *answer)
{
	struct tag *tag = arg;

	note(tag->fixture, tag->id, answer);
	free(tag);
}

static inline struct kube_call *call(struct fixture *fixture, int id, struct kube_request request)
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

static inline void wait_done(struct fixture *fixture, size_t count)
{
	assert_true(run_until_count(fixture->loop, &fixture->done_count, count, limit_s));
	assert_int_equal(fixture->done_count, count);
}

/* Turns the loop until it has nothing due any more. */
static inline void settle(struct fixture *fixture)
{
	for (int i = 0; i < 20; i++)
		ev_run(fixture->loop, EVRUN_NOWAIT);
}

static inline uint64_t counted(struct fixture *fixture, const char *method, const char *resource, int code)
{
	size_t count;
	const struct kube_counter *rows = kube_client_counters(fixture->client, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].method, method) == 0 && strcmp(rows[i].resource, resource) == 0 &&
		    rows[i].code == code)
			return rows[i].count;
	return 0;
}

#define client_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
