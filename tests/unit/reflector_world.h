/* The reflector against a scripted server. What the handler is told is kept as one line of text per call, e.g.
 * "begin a/1 b/2 end/2 live", so that a test reads as what is to happen. Shared by test_kube_reflector*.c. */
#ifndef TESTS_REFLECTOR_WORLD_H
#define TESTS_REFLECTOR_WORLD_H

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
#include "common/kube/reflector.h"
#include "tests/unit/http_server.h"

/* Every wait of these tests ends much sooner; this only bounds a failure. */
static const double limit_s = 60;

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

static inline void tell(struct fixture *fixture, const char *what, const char *detail)
{
	buf_printf(&fixture->told, "%s%s%s", fixture->told.len > 0 ? " " : "", what, detail);
	if (fixture->wanted != NULL && strstr(fixture->told.data, fixture->wanted) != NULL)
		fixture->there = true;
}

static inline void tell_object(struct fixture *fixture, const char *how, json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	char detail[128];

	snprintf(detail, sizeof(detail), "%s/%s", json_str(metadata, "name"), json_str(metadata, "resourceVersion"));
	tell(fixture, how, detail);
}

static inline void present(void *arg, json_t *object)
{
	struct fixture *fixture = arg;

	tell_object(fixture, "", object);
	if (fixture->free_on_present) {
		reflector_free(fixture->reflector);
		fixture->reflector = NULL;
	}
}

static inline void deleted(void *arg, json_t *object)
{
	tell_object(arg, "-", object);
}

static inline void list_begin(void *arg)
{
	tell(arg, "begin", "");
}

static inline void list_end(void *arg, const char *version)
{
	tell(arg, "end/", version);
}

static inline void progress(void *arg, const char *version)
{
	tell(arg, "at/", version);
}

static inline void live(void *arg, bool is_live)
{
	tell(arg, is_live ? "live" : "dead", "");
}

static inline void malformed(void *arg, const char *ns, const char *name, const char *message)
{
	char text[128];

	assert_true(*message != '\0');
	snprintf(text, sizeof(text), "%s:%s", ns, name);
	tell(arg, "malformed/", text);
}

static inline void on_request(void *arg, struct http_conn *conn)
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

static inline void list_two(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	(void)fixture;
	(void)number;
	http_reply(conn, 200, "",
		   "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":["
		   "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"3\"}},"
		   "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"7\"}}]}");
}

static inline void watch_quiet(struct fixture *fixture, struct http_conn *conn, size_t number)
{
	(void)fixture;
	(void)number;
	http_stream_begin(conn);
}

static inline int setup(void **state)
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

static inline int teardown(void **state)
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

static inline void start_with(struct fixture *fixture, struct reflector_options options)
{
	if (options.path == NULL)
		options.path = "/api/v1/pods";
	options.what = "Pods";
	if (options.backoff_base_ms == 0)
		options.backoff_base_ms = 10;
	fixture->reflector = reflector_new(fixture->loop, fixture->client, &options, &fixture->handler, fixture);
	reflector_start(fixture->reflector);
}

static inline void start(struct fixture *fixture)
{
	start_with(fixture, (struct reflector_options){0});
}

/* Turns the loop until the handler was told `text`, counted from where the last wait ended; then forgets it all. */
static inline void wait_told(struct fixture *fixture, const char *text)
{
	mem_replace(&fixture->wanted, text);
	fixture->there = fixture->told.data != NULL && strstr(fixture->told.data, text) != NULL;
	if (!run_until(fixture->loop, &fixture->there, limit_s))
		fail_msg("told \"%s\", not \"%s\"", fixture->told.data, text);
	assert_string_equal(fixture->told.data, text);
	buf_clear(&fixture->told);
}

/* Lets happen what is due. */
static inline void turn(struct fixture *fixture)
{
	for (int i = 0; i < 20; i++)
		ev_run(fixture->loop, EVRUN_NOWAIT);
}

static inline void send_event(struct fixture *fixture, const char *type, const char *name, const char *version)
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

static inline void list_pages(struct fixture *fixture, struct http_conn *conn, size_t number)
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

#define reflector_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
