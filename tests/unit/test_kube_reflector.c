/* What a reflector tells of lists and watches that work: pages, encodings, objects that cannot be read, its end. */
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
	static const char *const accepts[] = {
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
	};
	struct fixture *fixture = *state;

	fixture->on_list = list_accepts;
	fixture->on_watch = watch_accepts;
	for (size_t i = 0; i < ARRAY_LEN(accepts); i++) {
		start_with(fixture, (struct reflector_options){.accept = accepts[i]});
		wait_told(fixture, SYNCED);
		reflector_free(fixture->reflector);
		fixture->reflector = NULL;
	}
}

/* ---- encodings ---- */

static int raw(void *arg, const struct reflector_object *object, bool gone, struct error *err)
{
	const struct proto_span message = {object->data, object->len, false};
	struct proto_span metadata = proto_field(message, PROTO_METADATA);
	cleanup_json json_t *tree = NULL;
	char name[32];

	if (object->encoding == REFLECTED_PROTOBUF) {
		if (metadata.at == NULL)
			return error_set(err, "no metadata");
		proto_text(metadata, PROTO_META_NAME, name, sizeof(name));
		tell(arg, gone ? "-proto:" : "proto:", name);
		return 0;
	}
	tree = json_parse(object->data, object->len, err);
	if (tree == NULL)
		return -1;
	tell_object(arg, gone ? "-" : "", tree);
	return 0;
}

static void not_acceptable(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	if (strstr(http_header(conn, "Accept"), "protobuf") != NULL)
		http_reply(conn, 406, "", "only the following media types are accepted: application/json");
	else
		list_two(fixture, conn, number);
}

/* A server that has no protobuf is asked for JSON, at once and for good; one that sends JSON all the same is
 * understood.
 */
static void test_protobuf_refused(void **state)
{
	struct fixture *fixture = *state;

	fixture->handler.raw = raw;
	fixture->on_list = not_acceptable;
	start_with(fixture, (struct reflector_options){.protobuf = true});
	wait_told(fixture, "begin begin a/3 b/7 end/10 live");
	assert_int_equal(fixture->lists, 2);
	send_event(fixture, "MODIFIED", "a", "11");
	wait_told(fixture, "a/11 at/11");
	reflector_free(fixture->reflector);
	fixture->on_list = list_two;
	start_with(fixture, (struct reflector_options){.protobuf = true});
	wait_told(fixture, SYNCED);
}

/* {items: [{metadata: {name: "a", resourceVersion: "3"}}, {3: "x"}], metadata: {resourceVersion: "10"}} */
static const char proto_list[] = "k8s\0\x12\x15\x0a\x04\x12\x02"
				 "10\x12\x08\x0a\x06\x0a\x01"
				 "a2\x01"
				 "3\x12\x03\x1a\x01x";

static void reply_protobuf(struct http_conn *conn, bool chunked, const char *body, size_t len)
{
	cleanup_buf struct buf answer = {0};

	buf_puts(&answer, "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.kubernetes.protobuf\r\n");
	if (chunked)
		buf_puts(&answer, "Transfer-Encoding: chunked\r\n\r\n");
	else
		buf_printf(&answer, "Content-Length: %zu\r\n\r\n", len);
	buf_append(&answer, body, len);
	http_raw(conn, answer.data, answer.len);
}

static void list_protobuf(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	char body[sizeof(proto_list)];

	(void)fixture;
	assert_string_equal(http_header(conn, "Accept"), "application/vnd.kubernetes.protobuf,application/json");
	memcpy(body, proto_list, sizeof(body));
	if (number > 1)
		*(char *)memchr(body, '1', sizeof(body)) = '3'; /* of version 30 */
	reply_protobuf(conn, false, body, sizeof(body) - 1);
}

static void watch_protobuf(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	(void)fixture;
	(void)number;
	assert_string_equal(http_header(conn, "Accept"),
			    "application/vnd.kubernetes.protobuf;stream=watch,application/json");
	reply_protobuf(conn, true, "", 0);
}

/* A frame of an event whose object has the metadata, a name and a version of two digits. */
static void send_frame(struct fixture *fixture, const char *type, char name, const char *version)
{
	cleanup_buf struct buf frame = {0};
	char metadata[] = "\x0a\x01N2\x02VV";

	metadata[2] = name;
	memcpy(metadata + 5, version, 2);
	buf_append(&frame, "\0\0\0", 3);
	buf_putc(&frame, (char)(2 + strlen(type) + 4 + 4 + 2 + 2 + 7));
	buf_printf(&frame, "\x0a%c%s\x12%c\x0a%c", (int)strlen(type), type, 2 + 4 + 2 + 2 + 7, 4 + 2 + 2 + 7);
	buf_append(&frame, "k8s", 4);
	buf_printf(&frame, "\x12\x09\x0a\x07%s", metadata);
	http_stream_send(fixture->watch, frame.data, frame.len);
}

static void test_protobuf(void **state)
{
	/* an event without an object; one of an object without metadata; ERROR: {code: 410} */
	static const char no_object[] = "\0\0\0\x07\x0a\x05"
					"ADDED";
	static const char no_metadata[] = "\0\0\0\x14\x0a\x05"
					  "ADDED\x12\x0b\x0a\x09k8s\0\x12\x03\x1a\x01x";
	static const char gone[] = "\0\0\0\x14\x0a\x05"
				   "ERROR\x12\x0b\x0a\x09k8s\0\x12\x03\x30\x9a\x03";
	struct fixture *fixture = *state;

	fixture->handler.raw = raw;
	fixture->on_list = list_protobuf;
	fixture->on_watch = watch_protobuf;
	start_with(fixture, (struct reflector_options){.protobuf = true});
	wait_told(fixture, "begin proto:a malformed/: end/10 live");
	send_frame(fixture, "ADDED", 'b', "11");
	send_frame(fixture, "BOOKMARK", 'x', "12");
	send_frame(fixture, "DELETED", 'b', "13");
	wait_told(fixture, "proto:b at/11 at/12 -proto:b at/13");
	http_stream_send(fixture->watch, no_object, sizeof(no_object) - 1);
	http_stream_send(fixture->watch, no_metadata, sizeof(no_metadata) - 1);
	send_frame(fixture, "MODIFIED", 'c', "14");
	wait_told(fixture, "malformed/: malformed/: proto:c at/14");
	http_stream_send(fixture->watch, gone, sizeof(gone) - 1);
	wait_told(fixture, "dead begin proto:a malformed/: end/30 live");
}

/* A length that no frame has: the stream is broken off and resumed. */
static void test_protobuf_lost_place(void **state)
{
	struct fixture *fixture = *state;

	fixture->handler.raw = raw;
	fixture->on_list = list_protobuf;
	fixture->on_watch = watch_protobuf;
	start_with(fixture, (struct reflector_options){.protobuf = true});
	wait_told(fixture, "begin proto:a malformed/: end/10 live");
	http_stream_send(fixture->watch, "\xff\xff\xff\xff", 4);
	wait_told(fixture, "dead live");
	send_frame(fixture, "ADDED", 'b', "11");
	wait_told(fixture, "proto:b at/11");
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
		reflector_test(test_list_then_watch),
		reflector_test(test_split_frames),
		reflector_test(test_pages),
		reflector_test(test_partial_metadata),
		reflector_test(test_protobuf_refused),
		reflector_test(test_protobuf),
		reflector_test(test_protobuf_lost_place),
		reflector_test(test_malformed_in_list),
		reflector_test(test_large_in_list),
		reflector_test(test_event_texts),
		reflector_test(test_malformed_in_watch),
		reflector_test(test_free_from_handler),
		reflector_test(test_client_goes_first),
		reflector_test(test_free_while_waiting),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("kube_reflector", tests, NULL, NULL);
}
