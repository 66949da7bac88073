/* A reflector whose first state comes as the initial events of a watch, and what it does where the server sends none.
 */
#include "tests/unit/reflector_world.h"

#define ASKS "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
#define INITIAL_END(version)                                                              \
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version \
	"\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"

static void start_asking(struct fixture *fixture)
{
	start_with(fixture, (struct reflector_options){.watch_list = true, .initial_idle_ms = 20});
}

static void initial_two(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	(void)fixture;
	(void)number;
	http_stream_begin(conn);
	if (strstr(conn->path, ASKS) != NULL)
		http_stream_puts(conn, EVENT("ADDED", "a", "3") EVENT("ADDED", "b", "7") INITIAL_END("10"));
}

/* The same watch goes on, and the next one begins where it ended. */
static void test_initial_events(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_watch = initial_two;
	start_asking(fixture);
	wait_told(fixture, SYNCED);
	assert_non_null(strstr(fixture->watch->path, ASKS));
	assert_null(strstr(fixture->watch->path, "resourceVersion="));
	send_event(fixture, "ADDED", "c", "11");
	http_stream_end(fixture->watch);
	wait_told(fixture, "c/11 at/11");
	assert_true(run_until_count(fixture->loop, &fixture->watches, 2, limit_s));
	assert_null(strstr(fixture->watch->path, "sendInitialEvents"));
	assert_non_null(strstr(fixture->watch->path, "resourceVersion=11"));
	assert_int_equal(fixture->lists, 0);
}

/* What happens meanwhile comes among them; no version counts before their end, not that of a bookmark either. */
static void among_them(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	(void)fixture;
	(void)number;
	http_stream_begin(conn);
	http_stream_puts(
		conn,
		EVENT("ADDED", "a", "3") EVENT("BOOKMARK", "", "8") EVENT(
			"DELETED", "a",
			"9") "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"x\"}}}}\n" INITIAL_END("10"));
}

static void test_events_meanwhile(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_watch = among_them;
	start_asking(fixture);
	wait_told(fixture, "begin a/3 -a/9 malformed/:x end/10 live");
}

/* A 410 begins anew, at a state that is not older than what was received. */
static void test_gone(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_watch = initial_two;
	start_asking(fixture);
	wait_told(fixture, SYNCED);
	http_stream_puts(fixture->watch, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n");
	wait_told(fixture, "dead begin a/3 b/7 end/10 live");
	assert_non_null(strstr(fixture->watch->path, ASKS "&resourceVersion=10"));
	assert_int_equal(fixture->lists, 0);
}

static void initial_older(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	http_stream_begin(conn);
	if (strstr(conn->path, ASKS) != NULL)
		http_stream_puts(conn, number == 1 ? INITIAL_END("10") : INITIAL_END("9"));
	(void)fixture;
}

/* A stale server's initial events end nothing. */
static void test_older(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_watch = initial_older;
	start_asking(fixture);
	wait_told(fixture, "begin end/10 live");
	http_stream_puts(fixture->watch, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n");
	wait_told(fixture, "dead begin begin a/3 b/7 end/10 live");
	assert_int_equal(fixture->lists, 1);
}

static int refusal;

static void initial_refused(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	(void)fixture;
	(void)number;
	if (strstr(conn->path, ASKS) != NULL)
		http_reply(conn, refusal, "",
			   "{\"kind\":\"Status\",\"message\":\"resourceVersionMatch is forbidden\"}");
	else
		http_stream_begin(conn);
}

/* A server that does not know them is not asked again. */
static void test_refused(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_watch = initial_refused;
	start_asking(fixture);
	wait_told(fixture, "begin " SYNCED);
	assert_int_equal(fixture->watches, 2);
	http_stream_puts(fixture->watch, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n");
	wait_told(fixture, "dead " SYNCED);
	assert_int_equal(fixture->lists, 2);
	assert_int_equal(fixture->watches, 3);
}

static void test_invalid(void **state)
{
	refusal = 422;
	test_refused(state);
}

static void test_bad_request(void **state)
{
	refusal = 400;
	test_refused(state);
}

/* A server, or what stands in front of it, that refuses them in another way, and lists all the same. It is asked again
 * after that: the trouble may have been with all requests. */
static void test_refused_otherwise(void **state, int status)
{
	struct fixture *fixture = *state;

	refusal = status;
	fixture->on_watch = initial_refused;
	start_asking(fixture);
	wait_told(fixture, "begin " SYNCED);
	assert_int_equal(fixture->lists, 1);
	http_stream_puts(fixture->watch, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n");
	wait_told(fixture, "dead begin " SYNCED);
	assert_int_equal(fixture->lists, 2);
}

static void test_forbidden(void **state)
{
	test_refused_otherwise(state, 403);
}

static void test_not_implemented(void **state)
{
	test_refused_otherwise(state, 501);
}

static void test_gateway_timeout(void **state)
{
	test_refused_otherwise(state, 504);
}

static void initial_cut(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	http_stream_begin(conn);
	if (number == 1) {
		http_stream_puts(conn, EVENT("ADDED", "a", "3"));
		http_stream_end(conn);
	} else if (strstr(conn->path, ASKS) != NULL) {
		http_stream_puts(conn, INITIAL_END("30"));
	}
	(void)fixture;
}

/* A stream that ends too soon: a list instead, this time. */
static void test_cut(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_watch = initial_cut;
	start_asking(fixture);
	wait_told(fixture, "begin a/3 " SYNCED);
	http_stream_puts(fixture->watch, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n");
	wait_told(fixture, "dead begin end/30 live");
	assert_int_equal(fixture->lists, 1);
}

/* A server that ignores the question may send nothing at all. It is not asked again. */
static void test_silence(void **state)
{
	struct fixture *fixture = *state;

	start_asking(fixture);
	wait_told(fixture, "begin " SYNCED);
	assert_int_equal(fixture->watches, 2);
	http_stream_puts(fixture->watch, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n");
	wait_told(fixture, "dead " SYNCED);
	assert_int_equal(fixture->watches, 3);
	assert_null(strstr(fixture->watch->path, "sendInitialEvents"));
}

static void deleted_then_cut(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	http_stream_begin(conn);
	if (number == 1) {
		http_stream_puts(conn, EVENT("ADDED", "a", "3") EVENT("DELETED", "b", "20"));
		http_stream_end(conn);
	}
	(void)fixture;
}

static void list_at_twenty(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	(void)fixture;
	(void)number;
	assert_non_null(strstr(conn->path, "&resourceVersionMatch=NotOlderThan&resourceVersion=20"));
	http_reply(conn, 200, "",
		   "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"20\"},\"items\":["
		   "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"3\"}}]}");
}

/* An object that was deleted among them is not listed again by a server that has yet to see it. */
static void test_deleted_then_cut(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_watch = deleted_then_cut;
	fixture->on_list = list_at_twenty;
	start_asking(fixture);
	wait_told(fixture, "begin a/3 -b/20 begin a/3 end/20 live");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		reflector_test(test_initial_events),
		reflector_test(test_events_meanwhile),
		reflector_test(test_gone),
		reflector_test(test_older),
		reflector_test(test_invalid),
		reflector_test(test_bad_request),
		reflector_test(test_forbidden),
		reflector_test(test_not_implemented),
		reflector_test(test_gateway_timeout),
		reflector_test(test_cut),
		reflector_test(test_silence),
		reflector_test(test_deleted_then_cut),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("kube_reflector_initial", tests, NULL, NULL);
}
