/* List and watch for ever; see reflector.h.
 *
 *            ┌────────────── 410, or no version yet ──────────────┐
 *            ▼                                                    │
 *   IDLE → LIST ── all pages read ──▶ WATCH ── ended ──▶ WATCH (at once, or after a PAUSE)
 *            │ ▲                        │ ▲
 *            ▼ │                        ▼ │
 *           PAUSE (backoff)            PAUSE (backoff)
 *
 * Every request's end comes to list_done or watch_done, which alone decide what is next. */
#include "common/kube/reflector.h"

#include <ctype.h>
#include <ev.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/random.h"
#include "common/kube/backoff.h"
#include "common/kube/json_cut.h"

enum { PAGE_SIZE = 500, PAGE_SIZE_MAX = 10000 };
enum { OBJECT_MAX_BYTES = 16 * 1024 * 1024 };
enum { BACKOFF_BASE_MS = 800, BACKOFF_CAP_MS = 30000, BACKOFF_RESET_MS = 120000 };
/* A Retry-After beyond this is not believed. */
enum { RETRY_AFTER_CAP_MS = 10 * 60 * 1000 };
/* A page of a server that ignores the limit may be everything there is. */
enum { LIST_TIMEOUT_MS = 5 * 60 * 1000, LIST_IDLE_MS = 60 * 1000 };
/* The server ends a watch after this time, which we choose; our own deadline is a little longer. */
enum { WATCH_MIN_S = 300, WATCH_MAX_S = 600, WATCH_SLACK_S = 30 };
/* Servers that send bookmarks do so every minute: once one came, this much silence means a dead stream. */
enum { WATCH_IDLE_MS = 150 * 1000 };
/* A new watch that is not answered: after the first time we no longer count as live, after the second we give up. */
enum { CONNECT_GRACE_MS = 5000, CONNECT_LIMIT_MS = 30000 };
/* A watch that ends sooner without an event is a server in trouble. */
enum { SHORT_WATCH_MS = 1000 };
/* One that held so long proves its version good, events or not. */
enum { GOOD_WATCH_MS = 10000 };

enum phase { IDLE, LIST, WATCH, PAUSE };

/* Why we ended a request of our own accord. */
enum verdict { NO_VERDICT, VERDICT_GONE, VERDICT_ERROR };

struct reflector {
	struct ev_loop *loop;
	struct kube_client *client;
	const struct reflector_handler *handler;
	void *arg;
	char *path;
	char *selector; /* percent-encoded; NULL: none */
	char *list_accept;
	char *watch_accept;
	char *what;
	int page_size;
	struct random random;
	struct backoff backoff;

	enum phase phase;
	struct kube_call *call;
	struct ev_timer timer; /* PAUSE: its end; WATCH: the wait for the answer */
	int depth;             /* callbacks of ours on the stack */
	bool closed;           /* freed by its owner, waiting for the stack and the call to let go */
	enum verdict verdict;
	struct buf verdict_message;

	char *version;      /* where the watch goes on; NULL: a list comes first */
	char *floor;        /* never to be gone behind; NULL before the first list */
	char *list_version; /* of the first page of the list being read */
	char *list_continue;
	bool plain_list; /* the next list asks for the newest state instead of one not older than floor */
	int gone_in_row;
	int expired_in_row;
	struct list_cut list;
	struct line_cut lines;

	bool synced;
	bool live;
	bool connected;      /* the watch's headers came */
	bool bookmarks_seen; /* on any watch of this reflector */
	uint64_t events;     /* in this watch that brought us forward, bookmarks aside */
	int64_t watch_started_ms;
	int64_t pause_least_ms; /* Retry-After */

	/* what was last reported, so that a lasting trouble is one line in the log */
	bool trouble;
	enum kube_failure trouble_failure;
	int trouble_status;
	int64_t trouble_since_ms;
};

static void list_start(struct reflector *reflector);
static void list_page(struct reflector *reflector);
static void watch_start(struct reflector *reflector);

/* ---- versions ---- */

static bool is_decimal(const char *text)
{
	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++)
		if (!isdigit((unsigned char)*text))
			return false;
	return true;
}

int resource_version_compare(const char *a, const char *b)
{
	size_t a_len;
	size_t b_len;

	if (a == NULL || b == NULL)
		return (a != NULL) - (b != NULL);
	if (!is_decimal(a) || !is_decimal(b))
		return strcmp(a, b) != 0;
	a += strspn(a, "0");
	b += strspn(b, "0");
	a_len = strlen(a);
	b_len = strlen(b);
	if (a_len != b_len)
		return a_len < b_len ? -1 : 1;
	return strcmp(a, b);
}

/* Forward only. */
static void advance(struct reflector *reflector, const char *version)
{
	if (version == NULL || *version == '\0' || resource_version_compare(version, reflector->version) <= 0)
		return;
	mem_replace(&reflector->version, version);
	mem_replace(&reflector->floor, version);
	if (reflector->handler->progress != NULL)
		reflector->handler->progress(reflector->arg, version);
}

/* One more event of this watch. Repetitions do not count: a server that ends each watch after one is in trouble. */
static void count_event(struct reflector *reflector, const char *version)
{
	if (version != NULL && *version != '\0' && resource_version_compare(version, reflector->version) > 0)
		reflector->events++;
}

/* ---- small things ---- */

static void set_live(struct reflector *reflector, bool live)
{
	if (reflector->live == live || reflector->closed)
		return;
	reflector->live = live;
	reflector->handler->live(reflector->arg, live);
}

static void arm(struct reflector *reflector, int64_t delay_ms)
{
	ev_timer_stop(reflector->loop, &reflector->timer);
	ev_now_update(reflector->loop);
	ev_timer_set(&reflector->timer, (double)delay_ms / 1000.0, 0.0);
	ev_timer_start(reflector->loop, &reflector->timer);
}

static void destroy(struct reflector *reflector)
{
	list_cut_free(&reflector->list);
	line_cut_free(&reflector->lines);
	buf_free(&reflector->verdict_message);
	free(reflector->path);
	free(reflector->selector);
	free(reflector->list_accept);
	free(reflector->watch_accept);
	free(reflector->what);
	free(reflector->version);
	free(reflector->floor);
	free(reflector->list_version);
	free(reflector->list_continue);
	free(reflector);
}

/* Around everything that may run a handler, in which the owner may free the reflector. */
static void enter(struct reflector *reflector)
{
	reflector->depth++;
}

static void leave(struct reflector *reflector)
{
	reflector->depth--;
	if (reflector->closed && reflector->depth == 0 && reflector->call == NULL)
		destroy(reflector);
}

/* One line when trouble begins or changes its kind, not one per try. */
static void report_trouble(struct reflector *reflector, const char *doing, enum kube_failure failure, int status,
			   const char *message)
{
	if (!reflector->trouble) {
		reflector->trouble_since_ms = clock_boot_ms();
	} else if (reflector->trouble_failure == failure && reflector->trouble_status == status) {
		log_v(2, "%s: %s again: %s", reflector->what, doing, message);
		return;
	}
	reflector->trouble = true;
	reflector->trouble_failure = failure;
	reflector->trouble_status = status;
	log_warning("%s: %s: %s; trying again until it works", reflector->what, doing, message);
}

static void report_recovery(struct reflector *reflector)
{
	if (!reflector->trouble)
		return;
	reflector->trouble = false;
	log_info("%s: watching again after %lld s", reflector->what,
		 (long long)(clock_boot_ms() - reflector->trouble_since_ms) / 1000);
}

static void pause_then_go_on(struct reflector *reflector, int64_t least_ms)
{
	int64_t wait_ms = backoff_next(&reflector->backoff, &reflector->random, clock_boot_ms());

	if (least_ms > RETRY_AFTER_CAP_MS)
		least_ms = RETRY_AFTER_CAP_MS;
	if (wait_ms < least_ms)
		wait_ms = least_ms + random_between(&reflector->random, 0, reflector->backoff.base_ms);
	reflector->phase = PAUSE;
	set_live(reflector, false);
	if (!reflector->closed)
		arm(reflector, wait_ms);
}

static void go_on(struct reflector *reflector)
{
	if (reflector->closed)
		return;
	if (reflector->version == NULL)
		list_start(reflector);
	else
		watch_start(reflector);
}

/* The history since our version is gone: list again; the second time in a row without asking for a version, and
 * after a wait. */
static void version_is_gone(struct reflector *reflector, const char *message)
{
	log_v(1, "%s: listing again: %s", reflector->what, message);
	mem_replace(&reflector->version, NULL);
	set_live(reflector, false);
	if (++reflector->gone_in_row == 1) {
		go_on(reflector);
		return;
	}
	reflector->plain_list = true;
	report_trouble(reflector, "listing again and again", KUBE_OK, 410, message);
	pause_then_go_on(reflector, 0);
}

/* An object that is not to be had as JSON: name it as far as its text allows. */
static void report_malformed(struct reflector *reflector, const char *text, size_t len, const char *message)
{
	char ns[256];
	char name[256];
	char version[64];
	size_t metadata_len;
	const char *metadata = raw_member(text, len, "metadata", &metadata_len);

	raw_string(metadata, metadata_len, "namespace", ns, sizeof(ns));
	raw_string(metadata, metadata_len, "name", name, sizeof(name));
	raw_string(metadata, metadata_len, "resourceVersion", version, sizeof(version));
	if (reflector->handler->malformed != NULL)
		reflector->handler->malformed(reflector->arg, ns, name, message);
	else
		log_warning("%s: %s/%s: %s", reflector->what, ns, name, message);
	/* or the same event would come again for ever */
	if (reflector->phase == WATCH && !reflector->closed) {
		count_event(reflector, version);
		advance(reflector, version);
	}
}

/* ---- list ---- */

static bool list_item(void *arg, const char *text, size_t len, bool too_large)
{
	struct reflector *reflector = arg;
	struct error err;
	json_t *object;

	if (too_large) {
		snprintf(err.message, sizeof(err.message), "larger than %zu bytes", reflector->list.item_max);
		report_malformed(reflector, text, len, err.message);
		return !reflector->closed;
	}
	object = json_parse(text, len, &err);
	if (json_is_object(object)) {
		reflector->handler->present(reflector->arg, object);
	} else {
		if (object != NULL)
			error_set(&err, "found JSON that is no object");
		report_malformed(reflector, text, len, err.message);
	}
	json_decref(object);
	return !reflector->closed;
}

static void stop_call(struct reflector *reflector, enum verdict verdict, const char *message)
{
	reflector->verdict = verdict;
	buf_clear(&reflector->verdict_message);
	buf_puts(&reflector->verdict_message, message);
	kube_call_cancel(reflector->call);
}

static void list_data(void *arg, const char *data, size_t len)
{
	struct reflector *reflector = arg;
	struct error err;

	if (len == 0 || reflector->verdict != NO_VERDICT)
		return;
	enter(reflector);
	if (list_cut_feed(&reflector->list, data, len, &err) < 0)
		stop_call(reflector, VERDICT_ERROR, err.message);
	leave(reflector);
}

/* Reads the metadata of a page. 0, or -1 and *err. */
static int read_list_metadata(struct reflector *reflector, struct error *err)
{
	cleanup_json json_t *metadata = NULL;
	const char *version;
	const char *more;

	if (!list_cut_complete(&reflector->list))
		return error_set(err, "the list ends in the middle");
	if (!reflector->list.has_items || reflector->list.metadata.data == NULL)
		return error_set(err, "found an object without metadata or items, expected a list");
	metadata = json_parse(reflector->list.metadata.data, reflector->list.metadata.len, err);
	if (metadata == NULL)
		return error_wrap(err, "metadata of the list");
	version = json_str(metadata, "resourceVersion");
	if (version == NULL || *version == '\0')
		return error_set(err, "found no metadata.resourceVersion in the list");
	if (resource_version_compare(version, reflector->floor) < 0)
		return error_set(err,
				 "the list is at version %s, behind version %s that was seen before; the server that "
				 "answered is stale, or its store was set back (then restart)",
				 version, reflector->floor);
	if (reflector->list_version == NULL)
		mem_replace(&reflector->list_version, version);
	more = json_str(metadata, "continue");
	mem_replace(&reflector->list_continue, more != NULL && *more != '\0' ? more : NULL);
	return 0;
}

static void list_failed(struct reflector *reflector, enum kube_failure failure, int status, const char *message,
			int64_t retry_after_ms)
{
	bool had_continue = reflector->list_continue != NULL;

	mem_replace(&reflector->list_continue, NULL);
	if (failure == KUBE_OK && status == 410) {
		if (!had_continue) {
			version_is_gone(reflector, message);
			return;
		}
		/* reading the pages took longer than the server keeps its history: take larger ones */
		log_v(1, "%s: a page of the list has expired, starting over: %s", reflector->what, message);
		if (reflector->page_size < PAGE_SIZE_MAX)
			reflector->page_size *= 2;
		if (++reflector->expired_in_row == 1) {
			go_on(reflector);
			return;
		}
	}
	if (failure == KUBE_OK && status >= 400 && status != 401 && status != 403 && status != 429)
		reflector->plain_list = true; /* it may be our version that the server does not like */
	report_trouble(reflector, "cannot list", failure, status, message);
	pause_then_go_on(reflector, retry_after_ms);
}

static void list_ended(struct reflector *reflector)
{
	reflector->expired_in_row = 0;
	mem_replace(&reflector->version, reflector->list_version);
	mem_replace(&reflector->floor, reflector->list_version);
	mem_replace(&reflector->list_version, NULL);
	reflector->synced = true;
	reflector->handler->list_end(reflector->arg, reflector->version);
	if (!reflector->closed)
		watch_start(reflector);
}

/* Also for the end that we brought about ourselves. False: the client is going away. */
static bool call_is_over(struct reflector *reflector, const struct kube_answer *answer)
{
	reflector->call = NULL;
	if (reflector->closed || (answer->failure == KUBE_CANCELLED && reflector->verdict == NO_VERDICT)) {
		ev_timer_stop(reflector->loop, &reflector->timer);
		reflector->phase = IDLE;
		return false;
	}
	return true;
}

static void list_done(void *arg, const struct kube_answer *answer)
{
	struct reflector *reflector = arg;
	struct error err;

	enter(reflector);
	if (!call_is_over(reflector, answer)) {
		leave(reflector);
		return;
	}
	if (reflector->verdict != NO_VERDICT) {
		snprintf(err.message, sizeof(err.message), "GET %s: %s", reflector->path,
			 reflector->verdict_message.data);
		list_failed(reflector, KUBE_OK, 0, err.message, -1);
	} else if (answer->failure != KUBE_OK || answer->http_status != 200) {
		list_failed(reflector, answer->failure, answer->http_status, answer->message, answer->retry_after_ms);
	} else if (read_list_metadata(reflector, &err) < 0) {
		error_wrap(&err, "GET %s", reflector->path);
		reflector->plain_list = true;
		list_failed(reflector, KUBE_OK, 0, err.message, -1);
	} else if (reflector->list_continue != NULL) {
		list_page(reflector);
	} else {
		list_ended(reflector);
	}
	leave(reflector);
}

/* Everything but the letters, digits and marks of RFC 3986 §2.3. */
static void put_encoded(struct buf *out, const char *text)
{
	for (; *text != '\0'; text++)
		if (isalnum((unsigned char)*text) || strchr("-._~", *text) != NULL)
			buf_putc(out, *text);
		else
			buf_printf(out, "%%%02X", (unsigned char)*text);
}

static void put_query(struct reflector *reflector, struct buf *url)
{
	buf_puts(url, reflector->path);
	buf_putc(url, strchr(reflector->path, '?') == NULL ? '?' : '&');
	if (reflector->selector != NULL)
		buf_printf(url, "labelSelector=%s&", reflector->selector);
}

/* Asks for the next page, or the first one. */
static void list_page(struct reflector *reflector)
{
	cleanup_buf struct buf url = {0};
	struct kube_request request = {
		.method = "GET",
		.accept = reflector->list_accept,
		.timeout_ms = LIST_TIMEOUT_MS,
		.idle_timeout_ms = LIST_IDLE_MS,
		.exempt = true,
		.brief = true,
	};
	size_t object_max = reflector->lines.line_max;

	put_query(reflector, &url);
	buf_printf(&url, "limit=%d", reflector->page_size);
	if (reflector->list_continue != NULL) {
		buf_puts(&url, "&continue=");
		put_encoded(&url, reflector->list_continue);
	} else if (reflector->floor != NULL && !reflector->plain_list) {
		buf_puts(&url, "&resourceVersionMatch=NotOlderThan&resourceVersion=");
		put_encoded(&url, reflector->floor);
	}
	request.path = url.data;
	list_cut_free(&reflector->list);
	list_cut_init(&reflector->list, object_max, list_item, reflector);
	reflector->verdict = NO_VERDICT;
	reflector->call = kube_client_stream(reflector->client, &request, list_data, list_done, reflector);
}

static void list_start(struct reflector *reflector)
{
	reflector->phase = LIST;
	mem_replace(&reflector->list_continue, NULL);
	mem_replace(&reflector->list_version, NULL);
	enter(reflector);
	reflector->handler->list_begin(reflector->arg);
	if (!reflector->closed)
		list_page(reflector);
	leave(reflector);
}

/* ---- watch ---- */

/* The server gives its word that the stream is good. */
static void watch_is_healthy(struct reflector *reflector)
{
	reflector->gone_in_row = 0;
	reflector->plain_list = false;
	report_recovery(reflector);
}

static void on_error_event(struct reflector *reflector, const json_t *status)
{
	const char *message = json_str(status, "message");
	const char *reason = json_str(status, "reason");
	int64_t code = json_int(status, "code", 0);
	bool gone = code == 410 || (reason != NULL && (strcmp(reason, "Expired") == 0 || strcmp(reason, "Gone") == 0));

	if (message == NULL || *message == '\0')
		message = reason == NULL ? "an error without a message" : reason;
	reflector->pause_least_ms = json_int(json_object_get(status, "details"), "retryAfterSeconds", 0) * 1000;
	stop_call(reflector, gone ? VERDICT_GONE : VERDICT_ERROR, message);
}

/* One watch event, parsed. */
static void on_event(struct reflector *reflector, const char *type, json_t *object)
{
	const char *version = json_str(json_object_get(object, "metadata"), "resourceVersion");

	if (strcmp(type, "ERROR") == 0) {
		on_error_event(reflector, object);
		return;
	}
	if (strcmp(type, "BOOKMARK") == 0) {
		reflector->bookmarks_seen = true;
	} else {
		count_event(reflector, version);
		if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0)
			reflector->handler->present(reflector->arg, object);
		else if (strcmp(type, "DELETED") == 0)
			reflector->handler->deleted(reflector->arg, object);
		else
			log_v(1, "%s: a watch event of unknown type \"%s\" is passed over", reflector->what, type);
	}
	if (reflector->closed)
		return;
	watch_is_healthy(reflector);
	advance(reflector, version);
}

static bool watch_line(void *arg, const char *text, size_t len, bool too_large)
{
	struct reflector *reflector = arg;
	cleanup_json json_t *event = NULL;
	struct error err;
	const char *raw;
	size_t raw_len;

	if (!too_large) {
		event = json_parse(text, len, &err);
		if (event != NULL && json_str(event, "type") != NULL &&
		    json_is_object(json_object_get(event, "object"))) {
			on_event(reflector, json_str(event, "type"), json_object_get(event, "object"));
			return !reflector->closed && reflector->verdict == NO_VERDICT;
		}
		if (event != NULL)
			error_set(&err, "found JSON that is no watch event");
	} else {
		error_set(&err, "larger than %zu bytes", reflector->lines.line_max);
	}
	raw = raw_member(text, len, "object", &raw_len);
	report_malformed(reflector, raw, raw_len, err.message);
	return !reflector->closed;
}

static void watch_data(void *arg, const char *data, size_t len)
{
	struct reflector *reflector = arg;

	if (reflector->verdict != NO_VERDICT)
		return;
	enter(reflector);
	if (len == 0) {
		reflector->connected = true;
		ev_timer_stop(reflector->loop, &reflector->timer);
		if (reflector->gone_in_row < 2)
			report_recovery(reflector); /* else this watch, too, may say 410 in a moment */
		set_live(reflector, true);
	} else {
		line_cut_feed(&reflector->lines, data, len, watch_line, reflector);
	}
	leave(reflector);
}

/* The stream broke or ended. One that had been good for a while is resumed at once, and not reported: only when that
 * fails too there is trouble. */
static void watch_ended(struct reflector *reflector, const struct kube_answer *answer)
{
	bool regular = answer->failure == KUBE_OK;
	bool was_short = clock_boot_ms() - reflector->watch_started_ms < SHORT_WATCH_MS && reflector->events == 0;

	log_v(2, "%s: the watch ended after %llu events: %s", reflector->what, (unsigned long long)reflector->events,
	      regular ? "in order" : answer->message);
	if (!regular)
		set_live(reflector, false);
	if (reflector->closed)
		return;
	if (was_short)
		pause_then_go_on(reflector, 0);
	else
		watch_start(reflector);
}

static void watch_done(void *arg, const struct kube_answer *answer)
{
	struct reflector *reflector = arg;
	const char *message = answer->message;

	enter(reflector);
	if (!call_is_over(reflector, answer)) {
		leave(reflector);
		return;
	}
	ev_timer_stop(reflector->loop, &reflector->timer);
	if (reflector->connected && clock_boot_ms() - reflector->watch_started_ms >= GOOD_WATCH_MS)
		watch_is_healthy(reflector);
	if (reflector->verdict != NO_VERDICT)
		message = reflector->verdict_message.data;
	if (reflector->verdict == VERDICT_GONE || (answer->failure == KUBE_OK && answer->http_status == 410)) {
		version_is_gone(reflector, message);
	} else if (reflector->verdict == VERDICT_ERROR) {
		report_trouble(reflector, "the watch failed", KUBE_OK, 0, message);
		pause_then_go_on(reflector, reflector->pause_least_ms);
	} else if (reflector->connected && (answer->failure != KUBE_OK || answer->http_status < 300)) {
		watch_ended(reflector, answer);
	} else {
		/* a version that the server does not take is like one that is gone */
		if (answer->failure == KUBE_OK && (answer->http_status == 400 || answer->http_status == 422))
			mem_replace(&reflector->version, NULL);
		report_trouble(reflector, "cannot watch", answer->failure, answer->http_status, message);
		pause_then_go_on(reflector, answer->retry_after_ms);
	}
	leave(reflector);
}

static void watch_start(struct reflector *reflector)
{
	int64_t server_s = random_between(&reflector->random, WATCH_MIN_S, WATCH_MAX_S);
	cleanup_buf struct buf url = {0};
	struct kube_request request = {
		.method = "GET",
		.accept = reflector->watch_accept,
		.timeout_ms = (server_s + WATCH_SLACK_S) * 1000,
		.idle_timeout_ms = reflector->bookmarks_seen ? WATCH_IDLE_MS : 0,
		.exempt = true,
	};

	reflector->phase = WATCH;
	reflector->connected = false;
	reflector->events = 0;
	reflector->watch_started_ms = clock_boot_ms();
	reflector->verdict = NO_VERDICT;
	reflector->pause_least_ms = 0;
	line_cut_reset(&reflector->lines);
	put_query(reflector, &url);
	buf_printf(&url, "watch=1&allowWatchBookmarks=true&timeoutSeconds=%lld&resourceVersion=", (long long)server_s);
	put_encoded(&url, reflector->version);
	request.path = url.data;
	reflector->call = kube_client_stream(reflector->client, &request, watch_data, watch_done, reflector);
	arm(reflector, CONNECT_GRACE_MS);
}

static void timer_due(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct reflector *reflector = timer->data;

	(void)loop;
	(void)events;
	enter(reflector);
	if (reflector->phase == PAUSE) {
		go_on(reflector);
	} else if (reflector->phase == WATCH && reflector->call != NULL) {
		if (clock_boot_ms() - reflector->watch_started_ms < CONNECT_LIMIT_MS) {
			set_live(reflector, false);
			if (!reflector->closed)
				arm(reflector, CONNECT_LIMIT_MS - CONNECT_GRACE_MS);
		} else {
			stop_call(reflector, VERDICT_ERROR, "no answer to the watch request");
		}
	}
	leave(reflector);
}

/* ---- public ---- */

/* "…;as=PartialObjectMetadata;…" and its List form, whichever is given. */
static void derive_accept(struct reflector *reflector, const char *accept)
{
	static const char single[] = "as=PartialObjectMetadata";
	const char *at = accept == NULL ? NULL : strstr(accept, single);
	const char *rest;
	int head;

	if (at == NULL) {
		reflector->list_accept = mem_strdup(accept);
		reflector->watch_accept = mem_strdup(accept);
		return;
	}
	head = (int)(at - accept);
	rest = at + strlen(single);
	if (strncmp(rest, "List", 4) == 0)
		rest += 4;
	reflector->list_accept = mem_printf("%.*s%sList%s", head, accept, single, rest);
	reflector->watch_accept = mem_printf("%.*s%s%s", head, accept, single, rest);
}

struct reflector *reflector_new(struct ev_loop *loop, struct kube_client *client,
				const struct reflector_options *options, const struct reflector_handler *handler,
				void *arg)
{
	struct reflector *reflector = mem_calloc(1, sizeof(*reflector));

	reflector->loop = loop;
	reflector->client = client;
	reflector->handler = handler;
	reflector->arg = arg;
	reflector->path = mem_strdup(options->path);
	reflector->what = mem_strdup(options->what == NULL ? options->path : options->what);
	if (options->label_selector != NULL && *options->label_selector != '\0') {
		struct buf encoded = {0};

		put_encoded(&encoded, options->label_selector);
		reflector->selector = buf_steal(&encoded);
	}
	derive_accept(reflector, options->accept);
	reflector->page_size = options->page_size > 0 ? options->page_size : PAGE_SIZE;
	reflector->lines.line_max = options->object_max > 0 ? options->object_max : OBJECT_MAX_BYTES;
	reflector->backoff = (struct backoff){
		.base_ms = options->backoff_base_ms > 0 ? options->backoff_base_ms : BACKOFF_BASE_MS,
		.cap_ms = BACKOFF_CAP_MS,
		.reset_ms = BACKOFF_RESET_MS,
	};
	random_init(&reflector->random);
	ev_timer_init(&reflector->timer, timer_due, 0.0, 0.0);
	reflector->timer.data = reflector;
	return reflector;
}

void reflector_start(struct reflector *reflector)
{
	if (reflector->phase == IDLE)
		go_on(reflector);
}

void reflector_free(struct reflector *reflector)
{
	if (reflector == NULL)
		return;
	reflector->closed = true;
	ev_timer_stop(reflector->loop, &reflector->timer);
	if (reflector->call != NULL)
		kube_call_cancel(reflector->call);
	else if (reflector->depth == 0)
		destroy(reflector);
}

bool reflector_synced(const struct reflector *reflector)
{
	return reflector->synced;
}
