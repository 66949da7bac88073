/* What a reflector does when lists and watches fail: ends, refusals, versions that are gone. */
#include "common/kube/client/call.h"
#include "tests/unit/reflector_world.h"

/* ---- the end of a watch ---- */

/* In order: resumed where it was, at once, and still live in between. */
static void test_watch_ends(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	wait_told(fixture, SYNCED);
	send_event(fixture, "ADDED", "c", "11");
	http_stream_end(fixture->watch);
	wait_told(fixture, "c/11 at/11");
	assert_true(run_until_count(fixture->loop, &fixture->watches, 2, limit_s));
	assert_non_null(strstr(fixture->watch->path, "resourceVersion=11"));
	send_event(fixture, "ADDED", "d", "12");
	wait_told(fixture, "d/12 at/12");
	assert_int_equal(fixture->lists, 1);
}

/* In the middle of an event: the half is dropped, and comes again. */
static void test_watch_breaks(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	wait_told(fixture, SYNCED);
	send_event(fixture, "ADDED", "c", "11");
	http_stream_puts(fixture->watch, "{\"type\":\"ADDED\",\"object\":{\"meta");
	http_close(fixture->watch);
	wait_told(fixture, "c/11 at/11 dead live");
	assert_non_null(strstr(fixture->watch->path, "resourceVersion=11"));
	send_event(fixture, "ADDED", "d", "12");
	wait_told(fixture, "d/12 at/12");
	assert_int_equal(fixture->lists, 1);
}

static void watch_ends_at_once(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	http_stream_begin(conn);
	if (number < 5)
		http_stream_end(conn);
	else if (number == 5)
		tell(fixture, "fifth", "");
}

/* Watches that end at once are not asked for in a hot loop. */
static void test_short_watches_back_off(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_watch = watch_ends_at_once;
	start(fixture);
	assert_true(run_until_count(fixture->loop, &fixture->watches, 5, limit_s));
	/* waits of at least 10, 20, 40 and 80 ms */
	assert_true(fixture->times_ms[4] - fixture->times_ms[0] >= 145);
	assert_int_equal(fixture->lists, 1);
}

static void watch_refuses(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	switch (number) {
	case 1: http_reply(conn, 503, "", ""); break;
	case 2: http_reply(conn, 429, "Retry-After: 1\r\n", ""); break;
	case 3: http_reset(conn); break;
	default: watch_quiet(fixture, conn, number);
	}
}

/* Refused watches are tried again where they were, without a list, and Retry-After is kept to. */
static void test_refused_watches(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_watch = watch_refuses;
	start(fixture);
	wait_told(fixture, SYNCED);
	assert_int_equal(fixture->watches, 4);
	assert_int_equal(fixture->lists, 1);
	assert_true(fixture->times_ms[2] - fixture->times_ms[1] >= 1000);
	assert_true(fixture->times_ms[1] - fixture->times_ms[0] < 1000);
}

/* Refused connections: resumed when the server is back, without a list. */
static void test_server_away(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	wait_told(fixture, SYNCED);
	send_event(fixture, "ADDED", "c", "11");
	wait_told(fixture, "c/11 at/11");
	http_server_stop(&fixture->server);
	wait_told(fixture, "dead");
	turn(fixture);
	http_listen(&fixture->server);
	wait_told(fixture, "live");
	assert_non_null(strstr(fixture->watch->path, "resourceVersion=11"));
	assert_int_equal(fixture->lists, 1);
}

static void error_event(struct fixture *fixture, int code, const char *reason)
{
	cleanup_buf struct buf frame = {0};

	buf_printf(
		&frame,
		"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":%d,\"reason\":\"%s\",\"message\":\"too "
		"old\"}}\n",
		code, reason);
	http_stream_puts(fixture->watch, frame.data);
}

static void test_error_event(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	wait_told(fixture, SYNCED);
	send_event(fixture, "ADDED", "c", "11");
	error_event(fixture, 500, "InternalError");
	/* what follows an error in the same stream is not looked at */
	send_event(fixture, "ADDED", "d", "12");
	wait_told(fixture, "c/11 at/11 dead live");
	assert_non_null(strstr(fixture->watch->path, "resourceVersion=11"));
	assert_int_equal(fixture->lists, 1);
}

static void watch_errs(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	http_stream_begin(conn);
	if (number <= 4)
		error_event(fixture, 500, "InternalError");
}

/* The server cannot go on from the version, whatever it calls that: two more tries, then lists. */
static void test_errors_without_end(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_watch = watch_errs;
	start(fixture);
	wait_told(fixture, SYNCED " dead live dead live dead begin a/3 b/7 end/10 live dead begin a/3 b/7 end/10 live");
	assert_int_equal(fixture->watches, 5);
}

/* ---- gone ---- */

static void list_for_gone(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	/* the first for lack of a version, the second at what was seen last, the third at whatever is newest */
	if (number == 2)
		assert_non_null(strstr(conn->path, "resourceVersionMatch=NotOlderThan&resourceVersion=11"));
	else
		assert_null(strstr(conn->path, "resourceVersion"));
	if (number == 1)
		list_two(fixture, conn, number);
	else
		http_reply(conn, 200, "", "{\"metadata\":{\"resourceVersion\":\"30\"},\"items\":[]}");
}

static void test_gone_event(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_for_gone;
	start(fixture);
	wait_told(fixture, SYNCED);
	send_event(fixture, "ADDED", "c", "11");
	error_event(fixture, 410, "Expired");
	wait_told(fixture, "c/11 at/11 dead begin end/30 live");
	assert_non_null(strstr(fixture->watch->path, "resourceVersion=30"));
	error_event(fixture, 0, "Expired");
	wait_told(fixture, "dead begin end/30 live");
	assert_int_equal(fixture->lists, 3);
}

static void list_newer(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	if (number == 1)
		list_two(fixture, conn, number);
	else
		http_reply(conn, 200, "", "{\"metadata\":{\"resourceVersion\":\"30\"},\"items\":[]}");
}

static void watch_gone_once(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	if (number == 1)
		http_reply(conn, 410, "", "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}");
	else
		watch_quiet(fixture, conn, number);
}

static void test_gone_status(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_newer;
	fixture->on_watch = watch_gone_once;
	start(fixture);
	wait_told(fixture, "begin a/3 b/7 end/10 begin end/30 live");
}

static void list_expires(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	if (number == 2)
		http_reply(conn, 410, "", "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}");
	else
		list_pages(fixture, conn, number > 2 ? number - 2 : number);
}

/* An expired continue token restarts the list, with larger pages. */
static void test_continue_expires(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_expires;
	start(fixture);
	wait_told(fixture, "begin a/3 begin a/3 b/7 end/10 live");
	assert_non_null(strstr(fixture->server.log.data, "limit=500\n"));
	assert_non_null(strstr(fixture->server.log.data, "limit=1000\n"));
}

static void list_gone_twice(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	switch (number) {
	case 1: list_two(fixture, conn, number); break;
	case 2: http_reply(conn, 410, "", ""); break;
	default: list_for_gone(fixture, conn, number);
	}
}

/* A list at the last version may say 410, too: then the newest state, whatever it is. */
static void test_gone_list(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_gone_twice;
	fixture->on_watch = watch_gone_once;
	start(fixture);
	wait_told(fixture, "begin a/3 b/7 end/10 begin begin end/30 live");
	assert_int_equal(fixture->lists, 3);
}

/* ---- failing lists ---- */

static void list_trouble(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	static const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"metadata\":{\"resourceVersion\":"
				   "\"10\"},\"items\":[{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"3\"}},{";

	switch (number) {
	case 1: http_reset(conn); break;
	case 2: http_reply(conn, 500, "", "boom"); break;
	case 3:
		http_raw(conn, half, strlen(half));
		http_close(conn);
		break;
	case 4: http_reply(conn, 200, "", "{\"kind\":\"Status\",\"metadata\":{}}"); break;
	case 5: http_reply(conn, 200, "", "<html>"); break;
	case 6: http_reply(conn, 200, "", "{\"metadata\":{},\"items\":[]}"); break;
	case 7:
		http_reply(conn, 200, "",
			   "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[{\"metadata\":{\"name\":\"a\"}}]");
		break;
	default: list_two(fixture, conn, number);
	}
}

/* No answer that is not a whole list may end one: everything else would count as deleted. */
static void test_failing_lists(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_trouble;
	start(fixture);
	wait_told(fixture, "begin begin begin begin begin begin begin begin a/3 b/7 end/10 live");
	assert_int_equal(fixture->lists, 8);
}

static void list_busy(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	switch (number) {
	case 2: http_reply(conn, 429, "Retry-After: 1\r\n", ""); break;
	case 3: http_reply(conn, 503, "", ""); break;
	case 4: http_reset(conn); break;
	default: list_pages(fixture, conn, number);
	}
}

/* A server that is busy or away for a moment is asked for the same page again, not for the whole list. */
static void test_page_again(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_busy;
	start(fixture);
	wait_told(fixture, "begin a/3 b/7 end/10 live");
	assert_int_equal(fixture->lists, 5);
}

static void list_never_goes_on(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	if (number == 1)
		list_pages(fixture, conn, number);
	else if (number <= 12)
		http_reply(conn, 503, "", "");
	else
		list_two(fixture, conn, number);
}

/* Not for ever. */
static void test_page_too_often(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_never_goes_on;
	start_with(fixture, (struct reflector_options){.backoff_base_ms = 1});
	wait_told(fixture, "begin a/3 begin a/3 b/7 end/10 live");
	assert_int_equal(fixture->lists, 13);
}

/* More than the client takes. */
static void reply_too_large(struct http_conn *conn)
{
	cleanup_buf struct buf answer = {0};

	buf_printf(&answer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n{", ANSWER_MAX_BYTES + 1);
	buf_reserve(&answer, ANSWER_MAX_BYTES);
	memset(answer.data + answer.len, ' ', ANSWER_MAX_BYTES);
	answer.len += ANSWER_MAX_BYTES;
	http_raw(conn, answer.data, answer.len);
}

static void list_too_large(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	switch (number) {
	case 1:
	case 3: reply_too_large(conn); break;
	case 2: list_pages(fixture, conn, 1); break;
	case 4: list_pages(fixture, conn, 2); break;
	default: list_newer(fixture, conn, number);
	}
}

/* A page that is too large is asked for anew with half the limit, from where it began; the next list asks for whole
 * pages again. */
static void test_page_too_large(void **state)
{
	static const char requests[] = "GET /api/v1/pods?limit=4\n"
				       "GET /api/v1/pods?limit=2\n"
				       "GET /api/v1/pods?limit=2&continue=a%2Fb%3D\n"
				       "GET /api/v1/pods?limit=1&continue=a%2Fb%3D\n"
				       "GET /api/v1/pods?watch=1";
	struct fixture *fixture = *state;

	fixture->on_list = list_too_large;
	start_with(fixture, (struct reflector_options){.page_size = 4});
	wait_told(fixture, SYNCED);
	assert_int_equal(strncmp(fixture->server.log.data, requests, strlen(requests)), 0);
	error_event(fixture, 410, "Expired");
	wait_told(fixture, "dead begin end/30 live");
	assert_non_null(strstr(fixture->server.log.data, "GET /api/v1/pods?limit=4&resourceVersionMatch"));
}

static void list_one_too_large(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	assert_non_null(strstr(conn->path, "limit=1"));
	if (number == 1)
		reply_too_large(conn);
	else
		list_two(fixture, conn, number);
}

/* Less than one object cannot be asked for: the list fails, and is tried again. */
static void test_object_too_large(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_one_too_large;
	start_with(fixture, (struct reflector_options){.page_size = 1});
	wait_told(fixture, "begin begin a/3 b/7 end/10 live");
}

static void list_unavailable(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	if (number <= 5)
		http_reply(conn, 503, "", "");
	else
		list_two(fixture, conn, number);
}

static size_t occurrences(const char *text, const char *what)
{
	size_t count = 0;

	for (text = strstr(text, what); text != NULL; text = strstr(text + 1, what))
		count++;
	return count;
}

#define OVER "Pods: watching again after "

/* A lasting trouble is one line in the log, and one when it is over. */
static void test_one_warning(void **state)
{
	struct fixture *fixture = *state;
	FILE *log = tmpfile();
	int real_stderr = dup(STDERR_FILENO);
	int64_t began_ms = clock_boot_ms();
	const char *over;
	char text[4096];
	size_t len;

	assert_non_null(log);
	fixture->on_list = list_unavailable;
	dup2(fileno(log), STDERR_FILENO);
	start(fixture);
	fixture->there = false;
	mem_replace(&fixture->wanted, "live");
	run_until(fixture->loop, &fixture->there, limit_s);
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	rewind(log);
	len = fread(text, 1, sizeof(text) - 1, log);
	text[len] = '\0';
	fclose(log);
	assert_true(fixture->there);
	assert_int_equal(fixture->lists, 6);
	assert_int_equal(occurrences(text, "\n"), 2);
	assert_int_equal(
		occurrences(text, "Pods: cannot list: GET /api/v1/pods: 503 Service Unavailable; trying again"), 1);
	assert_int_equal(occurrences(text, OVER), 1);
	over = strstr(text, OVER) + strlen(OVER);
	assert_true(strtoll(over, NULL, 10) <= (clock_boot_ms() - began_ms) / 1000);
	assert_string_equal(over + strspn(over, "0123456789"), " s\n");
}

static void list_goes_back(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	if (number == 2 || number == 3)
		http_reply(conn, 200, "", "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[]}");
	else
		list_newer(fixture, conn, number);
}

/* A stale replica must not take us back to the past. */
static void test_stale_list(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_goes_back;
	fixture->on_watch = watch_gone_once;
	start(fixture);
	wait_told(fixture, "begin a/3 b/7 end/10 begin begin begin end/30 live");
	assert_int_equal(fixture->lists, 4);
}

/* Neither must an event or a bookmark. */
static void test_stale_events(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	wait_told(fixture, SYNCED);
	send_event(fixture, "ADDED", "c", "100");
	send_event(fixture, "BOOKMARK", "", "99");
	send_event(fixture, "MODIFIED", "c", "98");
	http_stream_end(fixture->watch);
	wait_told(fixture, "c/100 at/100 c/98");
	assert_true(run_until_count(fixture->loop, &fixture->watches, 2, limit_s));
	assert_non_null(strstr(fixture->watch->path, "resourceVersion=100"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		reflector_test(test_watch_ends),
		reflector_test(test_watch_breaks),
		reflector_test(test_short_watches_back_off),
		reflector_test(test_refused_watches),
		reflector_test(test_server_away),
		reflector_test(test_error_event),
		reflector_test(test_errors_without_end),
		reflector_test(test_gone_event),
		reflector_test(test_gone_status),
		reflector_test(test_continue_expires),
		reflector_test(test_gone_list),
		reflector_test(test_failing_lists),
		reflector_test(test_page_again),
		reflector_test(test_page_too_often),
		reflector_test(test_page_too_large),
		reflector_test(test_object_too_large),
		reflector_test(test_one_warning),
		reflector_test(test_stale_list),
		reflector_test(test_stale_events),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("kube_reflector_faults", tests, NULL, NULL);
}
