/* What a reflector tells of lists and watches that work: pages, objects that cannot be read, its end. */
#include "tests/unit/reflector_world.h"

/* ---- what should happen ---- */

static void test_list_then_watch(void **state)
{
	static const char requests[] =
		"GET /api/v1/pods?labelSelector=FC_FRAMEWORK_NAME%2Cx%20in%20%28a%29&limit=7\n"
		"GET /api/v1/pods?labelSelector=FC_FRAMEWORK_NAME%2Cx%20in%20%28a%29&watch=1&allowWatchBookmarks=true&"
		"timeoutSeconds=";
	struct fixture *fixture = *state;

	start_with(fixture, (struct reflector_options){.label_selector = "FC_FRAMEWORK_NAME,x in (a)", .page_size = 7});
	wait_told(fixture, SYNCED);
	assert_int_equal(strncmp(fixture->server.log.data, requests, strlen(requests)), 0);
	assert_non_null(strstr(fixture->server.log.data, "&resourceVersion=10\n"));
	send_event(fixture, "MODIFIED", "a", "11");
	send_event(fixture, "ADDED", "c", "12");
	send_event(fixture, "BOOKMARK", "", "20");
	send_event(fixture, "DELETED", "c", "21");
	send_event(fixture, "NOVEL", "c", "22");
	wait_told(fixture, "a/11 at/11 c/12 at/12 at/20 -c/21 at/21 at/22");
}

/* A watch that its owner ends begins at once anew, at its version; nothing is reported, and nothing is listed. */
static void test_watch_again(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	reflector_watch_again(fixture->reflector); /* lists: nothing to end */
	wait_told(fixture, SYNCED);
	send_event(fixture, "MODIFIED", "a", "11");
	wait_told(fixture, "a/11 at/11");
	reflector_watch_again(fixture->reflector);
	reflector_watch_again(fixture->reflector);
	assert_true(run_until_count(fixture->loop, &fixture->watches, 2, limit_s));
	assert_non_null(strstr(fixture->watch->path, "&resourceVersion=11"));
	send_event(fixture, "MODIFIED", "a", "12");
	wait_told(fixture, "a/12 at/12");
	assert_int_equal(fixture->lists, 1);
	assert_int_equal(fixture->watches, 2);
}

/* Events cut at every byte, and several in one chunk. */
static void test_split_frames(void **state)
{
	static const char frames[] = EVENT("ADDED", "c", "11") EVENT("MODIFIED", "c", "12") EVENT("DELETED", "c", "13");
	struct fixture *fixture = *state;

	start(fixture);
	wait_told(fixture, SYNCED);
	for (size_t i = 0; i < strlen(frames); i++) {
		http_stream_send(fixture->watch, frames + i, 1);
		ev_run(fixture->loop, EVRUN_NOWAIT);
	}
	wait_told(fixture, "c/11 at/11 c/12 at/12 -c/13 at/13");
	http_stream_puts(fixture->watch, EVENT("ADDED", "d", "14") EVENT("DELETED", "d", "15"));
	wait_told(fixture, "d/14 at/14 -d/15 at/15");
}

static void test_pages(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_pages;
	start(fixture);
	wait_told(fixture, SYNCED);
	assert_int_equal(fixture->lists, 2);
}

static void watch_accepts(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	(void)fixture;
	(void)number;
	assert_string_equal(http_header(conn, "Accept"),
			    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
	http_stream_begin(conn);
}

static void list_accepts(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	assert_string_equal(http_header(conn, "Accept"),
			    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
	list_two(fixture, conn, number);
}

static void test_partial_metadata(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_accepts;
	fixture->on_watch = watch_accepts;
	start_with(fixture, (struct reflector_options){.metadata_only = true});
	wait_told(fixture, SYNCED);
}

/* ---- objects that cannot be had ---- */

static void list_with_bad(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	(void)fixture;
	(void)number;
	http_reply(conn, 200, "",
		   "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":["
		   "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"3\"}},"
		   "{\"spec\":\"\\ud800\",\"metadata\":{\"managedFields\":[\"\\ud800\"],\"name\":\"bad\",\"namespace\":"
		   "\"n\"}},"
		   "5,"
		   "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"7\"},\"big\":9223372036854775808}]}");
}

/* One object that no parser takes must not hide the others (common/README.md §5.7); neither must a number past 64 bits.
 */
static void test_malformed_in_list(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_with_bad;
	start(fixture);
	wait_told(fixture, "begin a/3 malformed/n:bad malformed/: b/7 end/10 live");
}

static void list_with_large(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	cleanup_buf struct buf body = {0};

	(void)fixture;
	(void)number;
	buf_puts(&body, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":["
			"{\"metadata\":{\"name\":\"big\",\"namespace\":\"n\",\"resourceVersion\":\"3\"},\"x\":\"");
	for (int i = 0; i < 1000; i++)
		buf_putc(&body, 'x');
	buf_puts(&body, "\"},{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"7\"}}]}");
	http_reply(conn, 200, "", body.data);
}

/* Neither must one that is larger than an object may be. */
static void test_large_in_list(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_with_large;
	start_with(fixture, (struct reflector_options){.object_max = 1000});
	wait_told(fixture, "begin malformed/n:big b/7 end/10 live");
}

#define OBJECT(name, version) "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"

/* Events as other servers might write them, and some that are none. */
static void test_event_texts(void **state)
{
	static const struct {
		const char *line;
		const char *told;
	} rows[] = {
		{" { \"type\" : \"ADDED\" , \"object\" : " OBJECT("a", "11") " } \r\n", "a/11 at/11"},
		{"{\"x\":[1],\"object\":" OBJECT("a", "12") ",\"type\":\"DELETED\"}\n", "-a/12 at/12"},
		{"{\"type\":\"ADDED\",\"object\":" OBJECT("x", "13") ",\"more\":1}\n", "malformed/:x at/13"},
		{"{\"type\":\"ADDED\",\"object\":" OBJECT("x", "14") "\n", "malformed/:x at/14"},
		{"{\"type\":\"ADDED\",\"object\":" OBJECT("x", "15") "]\n", "malformed/:x at/15"},
		{"{\"type\":\"ADDED\",\"object\":" OBJECT("x", "16") "}}\n", "malformed/:x at/16"},
		{"{\"object\":" OBJECT("x", "17") ",\"type\":ADDED}\n", "malformed/:x at/17"},
		{"{\"object\":{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"18\"},\"y\":\"\\ud800\"},"
		 "\"type\":\"ADDED\"}\n",
		 "malformed/:x at/18"},
		{"{\"object\":" OBJECT("x", "19") "}\n", "malformed/:x at/19"},
		{"{\"type\":\"ADDED\"}\n", "malformed/:"},
		{"{\"type\":\"ADDED\",\"object\":5}\n", "malformed/:"},
		{"{\"type\":\"ADDED\",\"object\":}\n", "malformed/:"},
		{"{}\n", "malformed/:"},
		{"5\n", "malformed/:"},
		{EVENT("ADDED", "b", "20"), "b/20 at/20"},
	};
	struct fixture *fixture = *state;

	start(fixture);
	wait_told(fixture, SYNCED);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		http_stream_puts(fixture->watch, rows[i].line);
		wait_told(fixture, rows[i].told);
	}
	assert_int_equal(fixture->watches, 1);
}

static void test_malformed_in_watch(void **state)
{
	struct fixture *fixture = *state;
	cleanup_buf struct buf large = {0};

	start_with(fixture, (struct reflector_options){.object_max = 1000});
	wait_told(fixture, SYNCED);
	http_stream_puts(fixture->watch, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"bad\",\"namespace\":"
					 "\"n\",\"resourceVersion\":\"11\"},\"x\":\"\\ud800\"}}\n");
	http_stream_puts(fixture->watch, "nonsense\n");
	buf_puts(&large, "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"big\",\"resourceVersion\":"
			 "\"12\"},\"x\":\"");
	while (large.len < 3000)
		buf_puts(&large, "0123456789");
	buf_puts(&large, "\"}}\n");
	http_stream_send(fixture->watch, large.data, 1500);
	ev_run(fixture->loop, EVRUN_NOWAIT);
	http_stream_send(fixture->watch, large.data + 1500, large.len - 1500);
	send_event(fixture, "ADDED", "c", "13");
	/* the stream lives on, and is past the bad ones */
	wait_told(fixture, "malformed/n:bad at/11 malformed/: malformed/:big at/12 c/13 at/13");
	http_stream_end(fixture->watch);
	assert_true(run_until_count(fixture->loop, &fixture->watches, 2, limit_s));
	assert_non_null(strstr(fixture->watch->path, "resourceVersion=13"));
	assert_int_equal(fixture->lists, 1);
}

static int take_text(void *arg, const struct reflector_object *object, bool gone, struct error *err)
{
	(void)err;
	tell(arg, gone ? "-text" : "text", "");
	if (!gone)
		reflector_note_version(object, "12");
	return 0;
}

/* Whoever takes objects as text reads them alone: the version that it notes goes before that of the text. */
static void test_version_of_taker(void **state)
{
	struct fixture *fixture = *state;

	fixture->handler.raw = take_text;
	start(fixture);
	wait_told(fixture, "begin text text end/10 live");
	send_event(fixture, "MODIFIED", "a", "11");
	wait_told(fixture, "text at/12");
	send_event(fixture, "DELETED", "a", "13");
	wait_told(fixture, "-text at/13");
}

/* ---- freeing ---- */

static void test_free_from_handler(void **state)
{
	struct fixture *fixture = *state;

	fixture->free_on_present = true;
	start(fixture);
	wait_told(fixture, "begin a/3");
	turn(fixture);
	assert_int_equal(fixture->told.len, 0);
	/* and from a watch */
	fixture->free_on_present = false;
	start(fixture);
	wait_told(fixture, SYNCED);
	fixture->free_on_present = true;
	http_stream_puts(fixture->watch, EVENT("ADDED", "c", "11") EVENT("ADDED", "d", "12"));
	wait_told(fixture, "c/11");
	turn(fixture);
	assert_int_equal(fixture->told.len, 0);
}

/* The client may go first. */
static void test_client_goes_first(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	wait_told(fixture, SYNCED);
	kube_client_free(fixture->client);
	fixture->client = NULL;
	assert_int_equal(fixture->told.len, 0);
}

static void test_free_while_waiting(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	wait_told(fixture, "begin");
	reflector_free(fixture->reflector);
	fixture->reflector = NULL;
	turn(fixture);
	assert_int_equal(fixture->told.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		reflector_test(test_list_then_watch),    reflector_test(test_watch_again),
		reflector_test(test_split_frames),       reflector_test(test_pages),
		reflector_test(test_partial_metadata),   reflector_test(test_malformed_in_list),
		reflector_test(test_large_in_list),      reflector_test(test_event_texts),
		reflector_test(test_malformed_in_watch), reflector_test(test_version_of_taker),
		reflector_test(test_free_from_handler),  reflector_test(test_client_goes_first),
		reflector_test(test_free_while_waiting),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("kube_reflector", tests, NULL, NULL);
}
