/* The reflector against a scripted server: paged lists, watches, and every way they fail. What the handler is told is
 * kept as one line of text per call, e.g. "begin a/1 b/2 end/2 live", so that a test reads as what is to happen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <ev.h>
#include <signal.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/kube/proto_cut.h"
#include "common/kube/reflector.h"
#include "tests/unit/http_server.h"

/* Every wait of these tests ends much sooner; this only bounds a failure. */
static const double limit_s = 10;

struct fixture {
	struct ev_loop *loop;
	struct http_server server;
	struct kube_config config;
	struct kube_client *client;
	struct reflector_handler handler;
	struct reflector *reflector;
	struct http_conn *watch; /* the latest */
	size_t lists;            /* requests for a page, counted by the server */
	size_t watches;
	/* what the server says, by the number of the request, from 1 */
	void (*on_list)(struct fixture *fixture, struct http_conn *conn, size_t number);
	void (*on_watch)(struct fixture *fixture, struct http_conn *conn, size_t number);
	char *wanted; /* text awaited in told */
	bool there;
	bool free_on_present;
	int64_t times_ms[64]; /* of the watches */
	struct buf told;
};

static void tell(struct fixture *fixture, const char *what, const char *detail)
{
	buf_printf(&fixture->told, "%s%s%s", fixture->told.len > 0 ? " " : "", what, detail);
	if (fixture->wanted != NULL && strstr(fixture->told.data, fixture->wanted) != NULL)
		fixture->there = true;
}

static void tell_object(struct fixture *fixture, const char *how, json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	char detail[128];

	snprintf(detail, sizeof(detail), "%s/%s", json_str(metadata, "name"), json_str(metadata, "resourceVersion"));
	tell(fixture, how, detail);
}

static void present(void *arg, json_t *object)
{
	struct fixture *fixture = arg;

	tell_object(fixture, "", object);
	if (fixture->free_on_present) {
		reflector_free(fixture->reflector);
		fixture->reflector = NULL;
	}
}

static void deleted(void *arg, json_t *object)
{
	tell_object(arg, "-", object);
}

static void list_begin(void *arg)
{
	tell(arg, "begin", "");
}

static void list_end(void *arg, const char *version)
{
	tell(arg, "end/", version);
}

static void progress(void *arg, const char *version)
{
	tell(arg, "at/", version);
}

static void live(void *arg, bool is_live)
{
	tell(arg, is_live ? "live" : "dead", "");
}

static void malformed(void *arg, const char *ns, const char *name, const char *message)
{
	char text[128];

	assert_true(*message != '\0');
	snprintf(text, sizeof(text), "%s:%s", ns, name);
	tell(arg, "malformed/", text);
}

static void on_request(void *arg, struct http_conn *conn)
{
	struct fixture *fixture = arg;

	if (strstr(conn->path, "watch=1") == NULL) {
		fixture->on_list(fixture, conn, ++fixture->lists);
		return;
	}
	fixture->times_ms[fixture->watches % ARRAY_LEN(fixture->times_ms)] = clock_boot_ms();
	fixture->watch = conn;
	fixture->on_watch(fixture, conn, ++fixture->watches);
}

static void list_two(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	(void)fixture;
	(void)number;
	http_reply(conn, 200, "",
		   "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":["
		   "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"3\"}},"
		   "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"7\"}}]}");
}

static void watch_quiet(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	(void)fixture;
	(void)number;
	http_stream_begin(conn);
}

static int setup(void **state)
{
	struct fixture *fixture = mem_calloc(1, sizeof(*fixture));
	const struct kube_client_options options = {0};
	struct error err;

	*state = fixture;
	fixture->loop = ev_loop_new(EVFLAG_AUTO);
	http_server_start(&fixture->server, fixture->loop, on_request, fixture);
	fixture->config.server = mem_strdup(fixture->server.address);
	fixture->config.source = mem_strdup("test");
	fixture->client = kube_client_new(fixture->loop, &fixture->config, &options, &err);
	assert_non_null(fixture->client);
	fixture->handler = (struct reflector_handler){
		.present = present,
		.deleted = deleted,
		.list_begin = list_begin,
		.list_end = list_end,
		.progress = progress,
		.live = live,
		.malformed = malformed,
	};
	fixture->on_list = list_two;
	fixture->on_watch = watch_quiet;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	reflector_free(fixture->reflector);
	kube_client_free(fixture->client);
	kube_config_free(&fixture->config);
	http_server_free(&fixture->server);
	ev_loop_destroy(fixture->loop);
	buf_free(&fixture->told);
	free(fixture->wanted);
	free(fixture);
	return 0;
}

static void start_with(struct fixture *fixture, struct reflector_options options)
{
	if (options.path == NULL)
		options.path = "/api/v1/pods";
	options.what = "Pods";
	options.backoff_base_ms = 10;
	fixture->reflector = reflector_new(fixture->loop, fixture->client, &options, &fixture->handler, fixture);
	reflector_start(fixture->reflector);
}

static void start(struct fixture *fixture)
{
	start_with(fixture, (struct reflector_options){0});
}

/* Turns the loop until the handler was told `text`, counted from where the last wait ended; then forgets it all. */
static void wait_told(struct fixture *fixture, const char *text)
{
	mem_replace(&fixture->wanted, text);
	fixture->there = fixture->told.data != NULL && strstr(fixture->told.data, text) != NULL;
	if (!run_until(fixture->loop, &fixture->there, limit_s))
		fail_msg("told \"%s\", not \"%s\"", fixture->told.data, text);
	assert_string_equal(fixture->told.data, text);
	buf_clear(&fixture->told);
}

/* Lets happen what is due. */
static void turn(struct fixture *fixture)
{
	for (int i = 0; i < 20; i++)
		ev_run(fixture->loop, EVRUN_NOWAIT);
}

static void send_event(struct fixture *fixture, const char *type, const char *name, const char *version)
{
	cleanup_buf struct buf frame = {0};

	buf_printf(&frame, "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%s\"}}}\n",
		   type, name, version);
	http_stream_puts(fixture->watch, frame.data);
}

#define EVENT(type, name, version)                                                                              \
	"{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version \
	"\"}}}\n"

#define SYNCED "begin a/3 b/7 end/10 live"

/* ---- what should happen ---- */

static void test_list_then_watch(void **state)
{
	static const char requests[] =
		"GET /api/v1/pods?labelSelector=FC_FRAMEWORK_NAME%2Cx%20in%20%28a%29&limit=7\n"
		"GET /api/v1/pods?labelSelector=FC_FRAMEWORK_NAME%2Cx%20in%20%28a%29&watch=1&allowWatchBookmarks=true&"
		"timeoutSeconds=";
	struct fixture *fixture = *state;

	start_with(fixture, (struct reflector_options){.label_selector = "FC_FRAMEWORK_NAME,x in (a)", .page_size = 7});
	assert_false(reflector_synced(fixture->reflector));
	wait_told(fixture, SYNCED);
	assert_true(reflector_synced(fixture->reflector));
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

static void list_pages(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	(void)fixture;
	if (number == 1) {
		assert_null(strstr(conn->path, "continue="));
		http_reply(conn, 200, "",
			   "{\"items\":[{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"3\"}}],"
			   "\"metadata\":{\"resourceVersion\":\"10\",\"continue\":\"a/b=\"}}");
	} else {
		assert_non_null(strstr(conn->path, "continue=a%2Fb%3D"));
		/* a continue token goes alone */
		assert_null(strstr(conn->path, "resourceVersion="));
		http_reply(conn, 200, "",
			   "{\"items\":[{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"7\"}}],"
			   "\"metadata\":{\"resourceVersion\":\"10\"}}");
	}
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
	(void)fixture;
	(void)number;
	assert_string_equal(http_header(conn, "Accept"), "application/vnd.kubernetes.protobuf,application/json");
	reply_protobuf(conn, false, proto_list, sizeof(proto_list) - 1);
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
	wait_told(fixture, "dead begin proto:a malformed/:");
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
		   "{\"metadata\":{\"name\":\"bad\",\"namespace\":\"n\"},\"spec\":\"\\ud800\"},"
		   "5,"
		   "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"7\"},\"big\":9223372036854775808}]}");
}

/* One object that no parser takes must not hide the others (PITFALLS 1.7); neither must a number past 64 bits. */
static void test_malformed_in_list(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_with_bad;
	start(fixture);
	wait_told(fixture, "begin a/3 malformed/n:bad malformed/: b/7 end/10 live");
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
	case 7: http_reply(conn, 200, "", "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[]"); break;
	default: list_two(fixture, conn, number);
	}
}

/* No answer that is not a whole list may end one: everything else would count as deleted. */
static void test_failing_lists(void **state)
{
	struct fixture *fixture = *state;

	fixture->on_list = list_trouble;
	start(fixture);
	wait_told(fixture, "begin begin begin a/3 begin begin begin begin begin a/3 b/7 end/10 live");
	assert_int_equal(fixture->lists, 8);
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

/* A lasting trouble is one line in the log, and one when it is over. */
static void test_one_warning(void **state)
{
	struct fixture *fixture = *state;
	FILE *log = tmpfile();
	int real_stderr = dup(STDERR_FILENO);
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
	assert_int_equal(occurrences(text, "Pods: watching again after 0 s"), 1);
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

#define reflector_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

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
		reflector_test(test_malformed_in_watch),
		reflector_test(test_watch_ends),
		reflector_test(test_watch_breaks),
		reflector_test(test_short_watches_back_off),
		reflector_test(test_refused_watches),
		reflector_test(test_server_away),
		reflector_test(test_error_event),
		reflector_test(test_gone_event),
		reflector_test(test_gone_status),
		reflector_test(test_continue_expires),
		reflector_test(test_gone_list),
		reflector_test(test_failing_lists),
		reflector_test(test_one_warning),
		reflector_test(test_stale_list),
		reflector_test(test_stale_events),
		reflector_test(test_free_from_handler),
		reflector_test(test_client_goes_first),
		reflector_test(test_free_while_waiting),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
