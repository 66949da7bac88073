/* The reflector's watches: events, bookmarks, errors and the ends of streams; see reflector_state.h. */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "common/kube/reflector_state.h"

/* The server ends a watch after this time, which we choose; our own deadline is a little longer. */
enum { WATCH_MIN_S = 300, WATCH_MAX_S = 600, WATCH_SLACK_S = 30 };

_Static_assert((WATCH_MAX_S + WATCH_SLACK_S) * 1000 < VERSION_SETTLED_MS, "a silent watch is no restored store");
/* Servers that send bookmarks do so every minute: once one came, this much silence means a dead stream. */
enum { WATCH_IDLE_MS = 150 * 1000 };
/* A new watch that is not answered: after the first time we no longer count as live, after the second we give up. */
enum { CONNECT_GRACE_MS = 5000, CONNECT_LIMIT_MS = 30000 };
/* A watch that ends sooner without an event is a server in trouble. */
enum { SHORT_WATCH_MS = 1000 };
/* An ERROR event that asks for more patience is not believed. */
enum { RETRY_AFTER_MAX_S = 3600 };
/* After so many ERROR events without anything else the reflector lists: the server cannot go on from our version. */
enum { ERRORS_MAX = 3 };
/* One that held so long proves its version good, events or not. */
enum { GOOD_WATCH_MS = 10000 };

/* The server gives its word that the stream is good. */
static void watch_is_healthy(struct reflector *reflector)
{
	reflector->gone_in_row = 0;
	reflector->errors_in_row = 0;
	reflector->plain_list = false;
	reflector_report_recovery(reflector);
}

/* An ERROR event's Status. */
static void on_error_event(struct reflector *reflector, const struct reflector_object *object)
{
	cleanup_json json_t *status = json_parse(object->data, object->len, NULL);
	const char *message = json_str(status, "message");
	const char *reason = json_str(status, "reason");
	int64_t code = json_int(status, "code", 0);
	int64_t seconds = json_int(json_object_get(status, "details"), "retryAfterSeconds", 0);
	bool gone = code == 410 || (reason != NULL && (strcmp(reason, "Expired") == 0 || strcmp(reason, "Gone") == 0));

	if (message == NULL || *message == '\0')
		message = reason == NULL ? "an error without a message" : reason;
	if (seconds > 0 && seconds < RETRY_AFTER_MAX_S)
		reflector->pause_least_ms = seconds * 1000;
	if (!gone && code != 429 && ++reflector->errors_in_row >= ERRORS_MAX)
		mem_replace(&reflector->version, NULL);
	reflector_stop_call(reflector, gone ? VERDICT_GONE : VERDICT_ERROR, message);
}

/* metadata.resourceVersion, or "" when there is none that could be one. */
static void read_version(const struct reflector_object *object, char out[REFLECTOR_VERSION_SIZE])
{
	struct json_reader reader;
	struct json_span version;

	out[0] = '\0';
	json_reader_init(&reader, object->data, object->len);
	if (!json_reader_find(&reader, "metadata") || !json_reader_find(&reader, "resourceVersion"))
		return;
	version = json_reader_string(&reader);
	if (version.at != NULL && version.len < REFLECTOR_VERSION_SIZE)
		json_span_decode(&version, out);
}

/* A bookmark among the initial events. The one that ends them has an annotation, and nothing else has its name: a
 * bookmark is an object with a version only. */
static void on_initial_bookmark(struct reflector *reflector, const struct reflector_object *object, const char *version)
{
	static const char annotation[] = "k8s.io/initial-events-end";
	struct error err;

	if (object->len == 0 || memmem(object->data, object->len, annotation, strlen(annotation)) == NULL)
		return;
	if (*version == '\0' || version_compare(version, reflector->floor) < 0) {
		error_set(&err,
			  "the initial events end at version \"%s\", expected at least %s, which was received before",
			  version, reflector->floor == NULL ? "any" : reflector->floor);
		reflector_stop_call(reflector, VERDICT_ERROR, err.message);
		return;
	}
	ev_timer_stop(reflector->loop, &reflector->timer);
	reflector->initial = false;
	mem_replace(&reflector->version, version);
	mem_replace(&reflector->floor, version);
	watch_is_healthy(reflector);
	reflector_list_end(reflector);
	reflector_set_live(reflector, true);
}

/* Its owner reads the object, once and for all: most owners know its version then. */
static int take_object(struct reflector *reflector, const struct reflector_object *object, bool gone,
		       char version[REFLECTOR_VERSION_SIZE], struct error *err)
{
	const struct reflector_object read = {.data = object->data, .len = object->len, .version = version};

	if (reflector->take(reflector->take_arg, &read, gone, err) < 0)
		return -1;
	if (*version == '\0')
		read_version(object, version);
	return 0;
}

/* One event. -1 and *err: its object cannot be read. */
static int on_event(struct reflector *reflector, const struct json_span *type, const struct reflector_object *object,
		    struct error *err)
{
	char version[REFLECTOR_VERSION_SIZE] = "";
	bool gone = json_span_is(type, "DELETED");

	if (json_span_is(type, "ERROR")) {
		on_error_event(reflector, object);
		return 0;
	}
	if (json_span_is(type, "BOOKMARK")) {
		read_version(object, version);
		reflector->bookmarks_seen = true;
		if (reflector->initial) {
			on_initial_bookmark(reflector, object, version);
			return 0;
		}
	} else {
		if (!gone && !json_span_is(type, "ADDED") && !json_span_is(type, "MODIFIED")) {
			log_v(1, "%s: a watch event of unknown type \"%.*s\" is skipped", reflector->what,
			      (int)type->len, type->at);
			read_version(object, version);
		} else if (take_object(reflector, object, gone, version, err) < 0) {
			return -1;
		}
		if (!reflector->initial)
			reflector_count_event(reflector, version);
		else if (gone) /* whoever begins anew must not show it again */
			reflector_raise_floor(reflector, version);
	}
	if (reflector->closed || reflector->initial)
		return 0;
	watch_is_healthy(reflector);
	reflector_advance(reflector, version);
	return 0;
}

/* {"type": …, "object": {…}}. API servers write the members in this order, and no blanks behind them: the object then
 * is the text up to the last brace, and only its own reader reads it. Otherwise it is read twice. After a mistake,
 * object is the rest of the line. */
static int read_event(const char *text, size_t len, struct json_span *type, struct reflector_object *object,
		      struct error *err)
{
	struct json_reader reader;
	struct json_span name;
	struct json_span value;

	json_reader_init(&reader, text, len);
	if (json_reader_object(&reader)) {
		while (json_reader_member(&reader, &name)) {
			if (json_span_is(&name, "type")) {
				*type = json_reader_string(&reader);
			} else if (json_span_is(&name, "object")) {
				*object = (struct reflector_object){.data = reader.at,
								    .len = (size_t)(reader.end - reader.at)};
				if (type->at != NULL && text[len - 1] == '}') {
					object->len--;
					return 0;
				}
				value = json_reader_skip(&reader);
				if (value.at != NULL)
					*object = (struct reflector_object){.data = value.at, .len = value.len};
			} else {
				json_reader_skip(&reader);
			}
		}
	}
	if (json_reader_finish(&reader, err) < 0)
		return -1;
	return type->at == NULL || object->data == NULL ? error_set(err, "found other JSON, expected a watch event")
							: 0;
}

/* False: the rest of the stream is not wanted. */
static bool watch_line(struct reflector *reflector, const struct piece *line)
{
	struct reflector_object object = {0};
	struct json_span type = {0};
	struct error err;
	int result = read_event(line->text, line->len, &type, &object, &err);

	if (line->too_large)
		result = error_set(&err, "larger than %zu bytes", reflector->object_max);
	if (result == 0 && on_event(reflector, &type, &object, &err) == 0)
		return !reflector->closed && reflector->verdict == NO_VERDICT;
	reflector_report_malformed(reflector, &object, err.message);
	return !reflector->closed;
}

static void watch_data(void *arg, const char *data, size_t len)
{
	struct reflector *reflector = arg;
	struct piece line;

	if (reflector->verdict != NO_VERDICT)
		return;
	reflector_enter(reflector);
	if (len == 0) {
		reflector->connected = true;
		ev_timer_stop(reflector->loop, &reflector->timer);
		if (!reflector->initial && reflector->gone_in_row < 2 && reflector->errors_in_row == 0)
			reflector_report_recovery(reflector); /* else this watch, too, may fail in a moment */
		if (!reflector->initial)
			reflector_set_live(reflector, true);
	}
	while (pieces_next(&reflector->pieces, &data, &len, &line) && watch_line(reflector, &line))
		;
	if (reflector->initial && reflector->verdict == NO_VERDICT && !reflector->closed)
		reflector_arm(reflector, reflector->initial_idle_ms);
	reflector_leave(reflector);
}

/* The stream broke or ended. One that had been good for a while is resumed at once, and not reported: only when that
 * fails too there is trouble. */
static struct reflector_outcome watch_ended(struct reflector *reflector, const struct kube_answer *answer)
{
	bool regular = answer->failure == KUBE_OK;
	bool was_short = clock_boot_ms() - reflector->watch_started_ms < SHORT_WATCH_MS && reflector->events == 0;

	log_v(2, "%s: the watch ended after %llu events: %s", reflector->what, (unsigned long long)reflector->events,
	      regular ? "normally" : answer->message);
	if (!regular)
		reflector_set_live(reflector, false);
	return (struct reflector_outcome){.end = was_short ? REFLECTOR_FAILED : REFLECTOR_ENDED};
}

/* The server does not know sendInitialEvents (up to 1.26, where resourceVersionMatch is an error beside watch), or has
 * it turned off. */
static bool initial_events_refused(struct reflector *reflector, const struct kube_answer *answer)
{
	if (!reflector->initial || reflector->verdict != NO_VERDICT || answer->failure != KUBE_OK ||
	    (answer->http_status != 400 && answer->http_status != 422))
		return false;
	log_v(1, "%s: the server sends no initial events, listing: %s", reflector->what, answer->message);
	reflector->watch_list = false;
	return true;
}

static struct reflector_outcome watch_outcome(struct reflector *reflector, const struct kube_answer *answer)
{
	const char *message = reflector->verdict == NO_VERDICT ? answer->message : reflector->verdict_message.data;

	if (reflector->verdict == VERDICT_AGAIN || initial_events_refused(reflector, answer))
		return (struct reflector_outcome){.end = REFLECTOR_ENDED};
	/* whatever went wrong, a list may do better; but a server that is away, or busy, has the question again */
	if (reflector->initial && (reflector->connected || reflector->verdict != NO_VERDICT ||
				   (answer->failure == KUBE_OK && answer->http_status != 429)))
		reflector->list_first = true;
	if (reflector->verdict == VERDICT_GONE || (answer->failure == KUBE_OK && answer->http_status == 410))
		return (struct reflector_outcome){.end = REFLECTOR_GONE, .message = message};
	if (reflector->verdict == VERDICT_ERROR) {
		reflector_report_trouble(reflector, "the watch failed", KUBE_OK, 0, message);
		return (struct reflector_outcome){.end = REFLECTOR_FAILED, .retry_after_ms = reflector->pause_least_ms};
	}
	if (reflector->connected && (answer->failure != KUBE_OK || answer->http_status < 300))
		return watch_ended(reflector, answer);
	/* a version that the server does not take is like one that is gone */
	if (answer->failure == KUBE_OK && (answer->http_status == 400 || answer->http_status == 422))
		mem_replace(&reflector->version, NULL);
	reflector_report_trouble(reflector, "cannot watch", answer->failure, answer->http_status, message);
	return (struct reflector_outcome){.end = REFLECTOR_FAILED, .retry_after_ms = answer->retry_after_ms};
}

static void watch_done(void *arg, const struct kube_answer *answer)
{
	struct reflector *reflector = arg;
	struct reflector_outcome outcome;

	reflector_enter(reflector);
	if (reflector_call_is_over(reflector, answer)) {
		ev_timer_stop(reflector->loop, &reflector->timer);
		if (reflector->connected && clock_boot_ms() - reflector->watch_started_ms >= GOOD_WATCH_MS)
			watch_is_healthy(reflector);
		outcome = watch_outcome(reflector, answer);
		reflector->ended(reflector, &outcome);
	}
	reflector_leave(reflector);
}

void reflector_watch_start(struct reflector *reflector)
{
	int64_t server_s = random_between(&reflector->random, WATCH_MIN_S, WATCH_MAX_S);
	bool initial = reflector->version == NULL;
	const char *version = initial ? (reflector->plain_list ? NULL : reflector->floor) : reflector->version;
	cleanup_buf struct buf url = {0};
	struct kube_request request = {
		.method = "GET",
		.accept = reflector->metadata_only ? "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
						   : NULL,
		.timeout_ms = (server_s + WATCH_SLACK_S) * 1000,
		.idle_timeout_ms = reflector->bookmarks_seen ? WATCH_IDLE_MS : 0,
		.exempt = true,
	};

	reflector->phase = WATCH;
	reflector->initial = initial;
	reflector->connected = false;
	reflector->late = false;
	reflector->events = 0;
	reflector->watch_started_ms = clock_boot_ms();
	reflector->verdict = NO_VERDICT;
	reflector->pause_least_ms = 0;
	pieces_reset(&reflector->pieces);
	reflector_put_query(reflector, &url);
	buf_printf(&url, "watch=1&allowWatchBookmarks=true&timeoutSeconds=%lld", (long long)server_s);
	if (initial)
		buf_puts(&url, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
	if (version != NULL) {
		buf_puts(&url, "&resourceVersion=");
		reflector_put_encoded(&url, version);
	}
	request.path = url.data;
	reflector_enter(reflector);
	if (initial)
		reflector_list_begin(reflector);
	if (!reflector->closed) {
		reflector->call = kube_client_stream(reflector->client, &request, watch_data, watch_done, reflector);
		reflector_arm(reflector, CONNECT_GRACE_MS);
	}
	reflector_leave(reflector);
}

void reflector_watch_late(struct reflector *reflector)
{
	if (reflector->connected) {
		/* and it will not do so the next time */
		reflector->watch_list = false;
		reflector_stop_call(reflector, VERDICT_ERROR, "the initial events do not end; listing from now on");
		return;
	}
	if (reflector->late) {
		reflector_stop_call(reflector, VERDICT_ERROR, "no answer to the watch request");
		return;
	}
	reflector->late = true;
	reflector_set_live(reflector, false);
	if (!reflector->closed)
		reflector_arm(reflector, CONNECT_LIMIT_MS - CONNECT_GRACE_MS);
}
