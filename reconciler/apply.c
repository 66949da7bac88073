/* Carries out plans (ARCHITECTURE.md §4.5): one status write of a Framework at a time; many creates and deletes at a
 * time. Each request checks the lease just before it is sent (CONTRACT.md §12.17). Callbacks store the answer and queue
 * the key; see reconciler.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "reconciler/events.h"
#include "reconciler/reconciler.h"
#include "reconciler/request.h"

enum {
	REQUEST_TIMEOUT_MS = 30 * 1000, /* before the lease cuts it */
	STRANGER_QUIET_MS = 60 * 1000,  /* of such answers, once in this time */
	REFUSED_AGAIN_MS = 10 * 1000,   /* compressing such a large status takes a second */
	HTTP_NOT_FOUND = 404,
	HTTP_CONFLICT = 409,
	HTTP_TOO_LARGE = 413,
	HTTP_SERVER_ERROR = 500,
	HTTP_GATEWAY_TIMEOUT = 504,
};

/* The part of the mean time of status writes that a new one has. */
#define WRITE_TIME_WEIGHT 0.2

/* Without a lease no write is sent, and no write outlives the lease. */
static bool lease_allows(const struct item *item, int64_t *timeout_ms)
{
	int64_t left_ms;

	if (item->orphan)
		return false;
	left_ms = item->reconciler->ports.lease_left_ms(item->reconciler->ports.context, item->shard);
	if (left_ms <= 0)
		return false;
	if (*timeout_ms > left_ms)
		*timeout_ms = left_ms;
	return true;
}

static const char *answer_text(const struct kube_answer *answer)
{
	return answer->status.message != NULL && answer->status.message[0] != '\0' ? answer->status.message
										   : answer->message;
}

/* For people. The API server gives up when the lease ends; other clients wait longer. */
static char *explained(const struct kube_answer *answer)
{
	const char *text = answer_text(answer);

	if (answer->http_status != HTTP_GATEWAY_TIMEOUT || !answer->status.is_status)
		return mem_strdup(text);
	return mem_printf("%s (admission webhooks, and all else, have to end within memberLeaseSec: repair what is "
			  "slow, or raise memberLeaseSec)",
			  text);
}

/* A 404 that does not prove the absence of the object: a proxy sent it, or a server that does not serve Frameworks yet.
 * It changes nothing, and the request is repeated. The log gives the reason. */
static void warn_of_stranger(struct item *item, const struct kube_answer *answer)
{
	struct reconciler *reconciler = item->reconciler;
	int64_t now_ms = reconciler->ports.boot_ms(reconciler->ports.context);

	if (answer->http_status != HTTP_NOT_FOUND || answer->absent || now_ms < reconciler->stranger_quiet_until_ms)
		return;
	reconciler->stranger_quiet_until_ms = now_ms + STRANGER_QUIET_MS;
	log_warning("[%s]: %s: expected a Status of the API server that names the object; the controller cannot tell "
		    "whether the object exists, and asks again",
		    item->key, answer->message);
}

/* ---- status writes ---- */

static bool write_allowed(void *arg, int64_t *timeout_ms)
{
	return lease_allows(arg, timeout_ms);
}

static void write_after(struct item *item, int64_t after_ms)
{
	struct reconciler *reconciler = item->reconciler;
	int64_t now_ms = reconciler->ports.boot_ms(reconciler->ports.context);

	backoff_fail(&item->writes, &reconciler->random, now_ms, after_ms);
}

static void write_again_later(struct item *item, const struct kube_answer *answer)
{
	write_after(item, answer->retry_after_ms);
}

/* A version that is old is read anew, and the write repeated at once. Where that does not help, somebody writes without
 * end, or something on the way always answers so. */
static void write_conflicted(struct item *item, const struct kube_answer *answer)
{
	if (item->conflicted)
		write_again_later(item, answer);
	item->conflicted = true;
}

/* By the API server itself (over 3 MiB), by its client of etcd (over 2 MiB), or by etcd. */
static bool too_large(const struct kube_answer *answer)
{
	return answer->http_status == HTTP_TOO_LARGE ||
	       (answer->http_status >= HTTP_SERVER_ERROR &&
		(strstr(answer->body, "trying to send message larger than max") != NULL ||
		 strstr(answer->body, "request is too large") != NULL));
}

static void report_once(struct item *item, bool *reported, const char *reason, char *message)
{
	const struct plan_event event = {true, reason, message};

	if (*reported)
		return;
	*reported = true;
	log_warning("[%s]: %s: %s", item->key, reason, message);
	events_post(item->reconciler->events, item->framework, &event);
}

static void report_compressed(struct item *item)
{
	report_once(item, &item->framework->compress_reported, "StatusTooLarge",
		    "The status is too large for the API server; the controller stores it compressed");
}

static void report_shortened(struct item *item)
{
	report_once(item, &item->framework->shortened_reported, "StatusShortened",
		    "The status is too large for the API server; messages in the diagnostics and pod details of its "
		    "Tasks are shortened");
}

/* Only the owner may remove the data that makes the status too large. */
static void report_refused(struct item *item)
{
	report_once(item, &item->framework->body_refused_reported, "StatusRefused",
		    "The status is too large for the API server even with all messages shortened; it is not stored, "
		    "and the Framework makes no progress. Shorten its annotations, or delete it and create it with "
		    "fewer Tasks");
}

/* The server's limit is not known: the next write is smaller until there is nothing left to take away. A body that is
 * refused although it is hardly smaller than the one before is retried less and less often. */
static void write_smaller(struct item *item, const struct kube_answer *answer)
{
	size_t before = item->framework->body_refused_len;

	if (!item->framework->compress_always) {
		item->framework->compress_always = true;
		report_compressed(item);
		return;
	}
	item->framework->body_refused_len = item->writing_len;
	framework_body_refused(item->framework, item->writing_len);
	if (before > 0 && item->writing_len > before - before / REFUSED_PART) {
		report_refused(item);
		write_after(item,
			    answer->retry_after_ms > REFUSED_AGAIN_MS ? answer->retry_after_ms : REFUSED_AGAIN_MS);
	}
}

static void write_failed(struct item *item, const struct kube_answer *answer)
{
	struct sync_time now = store_time(item->reconciler);
	cleanup_free char *message = NULL;

	framework_write_failed(item->framework);
	if (answer->failure == KUBE_REFUSED || answer->failure == KUBE_CANCELLED)
		return; /* no lease: the next owner of the key writes */
	if (too_large(answer)) {
		write_smaller(item, answer);
		return;
	}
	/* Whatever the answer, it may have been carried out; 409 says that our version is old. */
	item->write_unsure = true;
	if (answer->http_status == HTTP_CONFLICT) {
		write_conflicted(item, answer);
		return;
	}
	if (answer->absent) {
		/* Mostly the object is gone; it is there all the same when its CRD has lost the subresource. */
		write_again_later(item, answer);
		return;
	}
	message = explained(answer);
	log_warning("[%s]: cannot write the status: %s", item->key, answer->message);
	if (answer->http_status != HTTP_NOT_FOUND) /* a server that does not serve Frameworks yet, for any of them */
		framework_write_refused(item->framework, answer->http_status, message, &now, item->writes.failures);
	write_again_later(item, answer);
}

/* metadata.resourceVersion of an object; NULL when there is none. The caller frees. */
static char *read_version(const struct kube_answer *answer)
{
	struct json_reader reader;
	struct json_span span;
	char *version;

	json_reader_init(&reader, answer->body, answer->body_len);
	if (!json_reader_find(&reader, "metadata") || !json_reader_find(&reader, "resourceVersion"))
		return NULL;
	span = json_reader_string(&reader);
	if (span.at == NULL || span.len == 0)
		return NULL;
	version = mem_alloc(span.len + 1);
	json_span_decode(&span, version);
	return version;
}

static void note_write_time(const struct item *item)
{
	struct reconciler *reconciler = item->reconciler;
	struct sync_time now = store_time(reconciler);
	double took_ms = (double)(now.boot_ms - item->writing_since_ms);

	if (now.write_ms == 0)
		reconciler->write_ms = took_ms;
	else
		reconciler->write_ms += (took_ms - reconciler->write_ms) * WRITE_TIME_WEIGHT;
	reconciler->written_ms = now.boot_ms;
}

static void on_written(void *arg, const struct kube_answer *answer)
{
	struct item *item = arg;

	item->writing = false;
	item->reconciler->writes_on_way--;
	if (!item->orphan) {
		if (answer->http_status / 100 == 2) {
			cleanup_free char *version = read_version(answer);

			item->framework->body_refused_len = 0;
			item->framework->body_refused_reported = false;
			if (version != NULL) {
				backoff_reset(&item->writes);
				item->conflicted = false;
				if (!item->writing_last)
					note_write_time(item);
				framework_written(item->framework, item->writing_version, version);
			} else {
				framework_write_failed(item->framework);
				item->write_unsure = true;
				write_conflicted(item, answer);
			}
		} else {
			write_failed(item, answer);
		}
		store_held(item);
		queue_add(item);
	}
	store_release(item);
}

static void start_write(struct item *item)
{
	struct framework *framework = item->framework;
	struct reconciler *reconciler = item->reconciler;
	cleanup_buf struct buf body = {0};
	cleanup_free char *path = mem_printf(FRAMEWORKS_PATH "/%s/frameworks/%s/status", framework->ns,
					     framework->name);
	struct kube_request request = {
		.method = "PUT",
		.path = path,
		.accept = ACCEPT_METADATA,
		.timeout_ms = REQUEST_TIMEOUT_MS,
		.before_send = write_allowed,
		.last = framework_write_can_wait(framework),
		.server_timeout = true,
	};

	if (framework_status_body(framework, item->framework->compress_always ? COMPRESS_ALWAYS : reconciler->compress,
				  &body) &&
	    reconciler->compress == COMPRESS_NEVER)
		report_compressed(item);
	if (framework->shortened)
		report_shortened(item);
	request.body = body.data;
	request.body_len = body.len;
	item->writing = true;
	reconciler->writes_on_way++;
	item->writing_len = body.len;
	item->writing_last = request.last;
	item->writing_since_ms = reconciler->ports.boot_ms(reconciler->ports.context);
	item->writing_version = framework_write_started(framework, item->writing_since_ms);
	reconciler->ports.request(reconciler->ports.context, &request, on_written, item);
}

/* The object as it is after a write of unknown outcome: its version is the one to write on. */
static void on_read(void *arg, const struct kube_answer *answer)
{
	struct item *item = arg;
	struct object_parts parts;
	struct error err;

	item->writing = false;
	item->reconciler->writes_on_way--;
	if (!item->orphan) {
		if (answer->http_status / 100 == 2) {
			item->write_unsure = false;
			if (object_parts_read(answer->body, answer->body_len, &parts, &err) == 0) {
				framework_observe(item->framework, &parts, OBSERVED_ANSWER);
				object_meta_free(&parts.meta);
			} else {
				log_error("[%s]: cannot read the Framework: %s", item->key, err.message);
			}
		} else if (answer->absent) {
			item->write_unsure = false;
			/* a namesake may have come while the answer was on its way */
			if (item->framework->exists && strcmp(item->framework->uid, item->read_uid) == 0)
				framework_observe_absent(item->framework, NULL);
		} else if (answer->failure != KUBE_REFUSED && answer->failure != KUBE_CANCELLED) {
			warn_of_stranger(item, answer);
			write_again_later(item, answer);
		}
		store_held(item);
		queue_add(item);
	}
	store_release(item);
}

static void start_read(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;
	cleanup_free char *path = mem_printf(FRAMEWORKS_PATH "/%s/frameworks/%s", item->framework->ns,
					     item->framework->name);
	const struct kube_request request = {
		.method = "GET", .path = path, .timeout_ms = REQUEST_TIMEOUT_MS, .before_send = write_allowed};

	item->writing = true;
	reconciler->writes_on_way++;
	mem_replace(&item->read_uid, item->framework->uid);
	reconciler->ports.request(reconciler->ports.context, &request, on_read, item);
}

static void write_status(struct item *item)
{
	if (item->writing)
		return; /* its end queues the key again */
	if (item->reconciler->ports.boot_ms(item->reconciler->ports.context) < item->writes.until_ms) {
		queue_wake(item, item->writes.until_ms);
		return;
	}
	if (item->write_unsure)
		start_read(item);
	else
		start_write(item);
}

/* ---- calls ---- */

static void start_waiting(struct reconciler *reconciler);

static bool call_allowed(void *arg, int64_t *timeout_ms)
{
	struct pending_call *pending = arg;

	return lease_allows(pending->item, timeout_ms) &&
	       framework_call_wanted(pending->item->framework, &pending->call);
}

static bool call_creates(const struct call *call)
{
	return call->kind == CALL_CREATE_CONFIG_MAP || call->kind == CALL_CREATE_POD || call->kind == CALL_CREATE_OWNED;
}

static void answer_call(struct pending_call *pending, const struct kube_answer *answer)
{
	struct item *item = pending->item;
	struct reconciler *reconciler = item->reconciler;
	struct sync_time now = store_time(reconciler);
	cleanup_free char *message = NULL;
	struct call_answer result = {
		.sent = answer != NULL && answer->sent,
		.reason = "",
		.message = "",
		.body = "",
		.retry_after_ms = -1,
	};

	if (answer != NULL) {
		result.http_status = answer->http_status;
		result.absent = answer->absent;
		result.is_status = answer->status.is_status;
		result.reason = answer->status.reason == NULL ? "" : answer->status.reason;
		message = explained(answer);
		result.message = message;
		result.body = answer->body;
		result.retry_after_ms = answer->retry_after_ms;
		if (answer->http_status / 100 != 2 && answer->sent && !answer->absent)
			log_v(1, "[%s]: %s", item->key, answer->message);
		if (!call_creates(&pending->call)) /* 404 to a creation: its namespace is not there */
			warn_of_stranger(item, answer);
	}
	if (!item->orphan) {
		framework_answer(item->framework, &pending->call, &result, &now, &reconciler->random);
		if (result.sent && result.http_status / 100 != 2 && !result.absent)
			waiting_end_turn(item);
		queue_add(item);
	}
}

static void on_call_done(void *arg, const struct kube_answer *answer)
{
	struct pending_call *pending = arg;
	struct item *item = pending->item;
	struct reconciler *reconciler = item->reconciler;

	reconciler->calls_on_way--;
	item->calls_on_way--;
	answer_call(pending, answer);
	pending_call_free(pending);
	store_release(item);
	start_waiting(reconciler);
}

static void start_call(struct pending_call *pending)
{
	struct item *item = pending->item;
	struct reconciler *reconciler = item->reconciler;
	cleanup_buf struct buf body = {0};
	cleanup_free char *path = NULL;
	struct kube_request request = {.timeout_ms = REQUEST_TIMEOUT_MS, .before_send = call_allowed};

	call_request(item->framework, &pending->call, &path, &body, &request);
	reconciler->calls_on_way++;
	reconciler->ports.request(reconciler->ports.context, &request, on_call_done, pending);
}

/* ---- calls that wait for a place ---- */

/* Starts what waits, as far as there is place. The items take turns, so that a large Framework holds up no other. */
static void start_waiting(struct reconciler *reconciler)
{
	struct item *item;

	while (reconciler->calls_on_way < reconciler->calls_max && (item = waiting_next(reconciler)) != NULL) {
		struct pending_call *pending = waiting_take(item);

		if (framework_call_wanted(item->framework, &pending->call)) {
			waiting_started(item);
			start_call(pending);
			continue;
		}
		item->calls_on_way--;
		answer_call(pending, NULL);
		pending_call_free(pending);
		store_release(item);
	}
}

void apply_set_share(struct reconciler *reconciler, int64_t worker_number, double share)
{
	double places = (double)worker_number * (share < 1 ? share : 1);

	reconciler->calls_max = places < 1 ? 1 : places < UINT32_MAX ? (uint32_t)places : UINT32_MAX;
	start_waiting(reconciler);
}

/* ---- the end ---- */

/* (A folded one, NULL, is not.) */
static bool ahead_of_server(const struct framework *framework)
{
	return framework != NULL && framework->exists && framework->problem == NULL &&
	       framework->version != framework->written;
}

void apply_leave(struct reconciler *reconciler)
{
	struct item *item;
	struct item *next;

	reconciler->leaving = true;
	waiting_abandon_all(reconciler);
	HASH_ITER(hh, reconciler->items, item, next)
		if (ahead_of_server(item->framework))
			queue_add(item);
}

bool apply_left(const struct reconciler *reconciler)
{
	return reconciler->queue_first == NULL && reconciler->writes_on_way == 0;
}

void apply_last_write(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;

	/* a write that failed waits for its backoff: the next owner of the key writes */
	if (ahead_of_server(item->framework) &&
	    reconciler->ports.boot_ms(reconciler->ports.context) >= item->writes.until_ms)
		write_status(item);
}

/* ---- a reconcile's plan ---- */

/* Whether the log has that refusal of a request already, of the last ten minutes. Thousands of Frameworks that wait for
 * a quota together would fill it, with a line for each try. */
static bool is_told(struct item *item, const char *message)
{
	enum { TOLD_MS = 10 * 60 * 1000 };
	const struct reconciler *reconciler = item->reconciler;
	int64_t now_ms = reconciler->ports.boot_ms(reconciler->ports.context);
	unsigned hash = hash_keyed(message, strlen(message)) | 1;

	if (now_ms >= item->told_until_ms) {
		memset(item->told, 0, sizeof(item->told));
		item->told_until_ms = now_ms + TOLD_MS;
	}
	for (size_t i = 0; i < ITEM_TOLD; i++)
		if (item->told[i] == hash)
			return true;
	memmove(item->told + 1, item->told, sizeof(item->told) - sizeof(item->told[0]));
	item->told[0] = hash;
	return false;
}

void apply_plan(struct item *item, struct plan *plan)
{
	struct reconciler *reconciler = item->reconciler;
	cleanup_buf struct buf line = {0};

	for (size_t i = 0; i < plan->snapshot_count; i++) {
		buf_clear(&line);
		plan_snapshot_write(&plan->snapshots[i], &line);
		log_write_text('I', __FILE__, __LINE__, line.data, line.len);
	}
	for (size_t i = 0; i < plan->event_count; i++) {
		const struct plan_event *event = &plan->events[i];

		if (strncmp(event->reason, "Failed", strlen("Failed")) == 0 && is_told(item, event->message))
			log_v(1, "[%s]: %s: %s", item->key, event->reason, event->message);
		else
			log_write(event->warning ? 'W' : 'I', __FILE__, __LINE__, "[%s]: %s: %s", item->key,
				  event->reason, event->message);
		events_post(reconciler->events, item->framework, event);
	}
	if (plan->ask != 0)
		discovery_ask(item, plan->ask);
	if (plan->write)
		write_status(item);
	for (size_t i = 0; i < plan->call_count; i++)
		waiting_add(item, &plan->calls[i]);
	if (item->calls_on_way == 0)
		waiting_end_turn(item);
	start_waiting(reconciler);
}
