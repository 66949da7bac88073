/* Posting Events; see events.h. */
#include "reconciler/events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

enum {
	EVENTS_KEPT = 512,           /* recent Events that a repetition is counted on */
	REPEAT_AFTER_MS = 10 * 1000, /* a repetition is written at most that often */
	EVENT_TIMEOUT_MS = 10 * 1000,
	ON_WAY_MAX = 64,        /* more are dropped: the cluster has other worries */
	ON_WAY_MAX_LESSER = 48, /* the rest is for what happens to a whole Framework, once */
	MESSAGE_MAX = 1024,     /* Kubernetes refuses longer messages */
};

/* A request about a recent Event; there is at most one. */
struct sent {
	struct events *events;
	struct recent *recent; /* NULL: forgotten meanwhile */
	bool post;
};

struct recent {
	char *text; /* uid, reason and message */
	char *ns;
	char *name; /* of the Event */
	int64_t first_wall_ms;
	int64_t written_ms;
	int64_t seen_wall_ms; /* the last time */
	int count;
	bool owed;         /* its count is not written yet */
	struct sent *sent; /* what is on the way; NULL: nothing */
	UT_hash_handle hh; /* in order of age */
};

struct events {
	struct reconciler *reconciler;
	struct recent *recent;
	uint32_t on_way;
	uint64_t posted;
	int64_t next_ms; /* a count that is owed may be written then; INT64_MAX: none is */
};

struct events *events_new(struct reconciler *reconciler)
{
	struct events *events = mem_calloc(1, sizeof(*events));

	events->reconciler = reconciler;
	events->next_ms = INT64_MAX;
	return events;
}

static void recent_free(struct events *events, struct recent *recent)
{
	HASH_DEL(events->recent, recent);
	if (recent->sent != NULL)
		recent->sent->recent = NULL;
	free(recent->text);
	free(recent->ns);
	free(recent->name);
	free(recent);
}

void events_free(struct events *events)
{
	struct recent *recent;
	struct recent *next;

	HASH_ITER(hh, events->recent, recent, next)
		recent_free(events, recent);
	free(events);
}

/* An Event that is not there cannot be counted up: the next repetition makes a new one. */
static void on_done(void *arg, const struct kube_answer *answer)
{
	struct sent *sent = arg;
	struct events *events = sent->events;
	struct recent *recent = sent->recent;

	events->on_way--;
	if (recent != NULL) {
		recent->sent = NULL;
		if (sent->post ? answer->http_status / 100 != 2 : answer->absent)
			recent_free(events, recent);
	}
	free(sent);
}

static void request(struct events *events, struct recent *recent, bool post, const char *path, const struct buf *body)
{
	const struct kube_request request = {
		.method = post ? "POST" : "PATCH",
		.path = path,
		.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
		.content_type = post ? "application/json" : "application/merge-patch+json",
		.body = body->data,
		.body_len = body->len,
		.timeout_ms = EVENT_TIMEOUT_MS,
		.low_priority = true,
	};

	events->on_way++;
	recent->sent = mem_alloc(sizeof(*recent->sent));
	*recent->sent = (struct sent){.events = events, .recent = recent, .post = post};
	events->reconciler->ports.request(events->reconciler->ports.context, &request, on_done, recent->sent);
}

/* A large Framework has thousands of these, which must not keep out how it ended. */
static bool is_lesser(const struct plan_event *event)
{
	static const char *const reasons[] = {"FailedCreatePod", "NamingConflict", "TaskFailed", "TaskRetried",
					      "UnrecognizedPodPhase"};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strcmp(event->reason, reasons[i]) == 0)
			return true;
	return false;
}

static bool has_place(const struct events *events, bool lesser)
{
	return events->on_way < (lesser ? ON_WAY_MAX_LESSER : ON_WAY_MAX);
}

static void put_text(struct buf *out, const char *name, const char *value)
{
	buf_json_key(out, name);
	buf_json_string(out, value);
}

static void write_event(struct buf *out, const struct events *events, const struct framework *framework,
			const struct plan_event *event, const struct recent *recent)
{
	char time[TIME_RFC3339_SIZE];

	time_format_rfc3339(recent->first_wall_ms / 1000, time);
	buf_puts(out, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{");
	put_text(out, "name", recent->name);
	put_text(out, "namespace", framework->ns);
	buf_puts(out, "},\"involvedObject\":{\"apiVersion\":\"" FRAMEWORK_API_VERSION "\",\"kind\":\"Framework\"");
	put_text(out, "name", framework->name);
	put_text(out, "namespace", framework->ns);
	put_text(out, "uid", framework->uid);
	put_text(out, "resourceVersion", framework->resource_version);
	buf_puts(out, "}");
	put_text(out, "type", event->warning ? "Warning" : "Normal");
	put_text(out, "reason", event->reason);
	buf_json_key(out, "message");
	buf_json_string_n(out, event->message, strnlen(event->message, MESSAGE_MAX));
	buf_puts(out, ",\"count\":1,\"source\":{\"component\":\"frameworkcontroller\"");
	put_text(out, "host", events->reconciler->name);
	buf_puts(out, "}");
	put_text(out, "firstTimestamp", time);
	put_text(out, "lastTimestamp", time);
	buf_puts(out, "}");
}

static void post_first(struct events *events, const struct framework *framework, const struct plan_event *event,
		       char *text)
{
	struct recent *recent = mem_calloc(1, sizeof(*recent));
	cleanup_buf struct buf body = {0};
	cleanup_free char *path = mem_printf("/api/v1/namespaces/%s/events", framework->ns);

	if (HASH_COUNT(events->recent) >= EVENTS_KEPT)
		recent_free(events, events->recent);
	recent->text = text;
	recent->ns = mem_strdup(framework->ns);
	recent->first_wall_ms = events->reconciler->ports.wall_ms(events->reconciler->ports.context);
	/* Sorts by time, as kubectl shows the Events of one second: nanoseconds in hex as client-go's, counted on
	 * within a millisecond. */
	recent->name = mem_printf("%s.%" PRIx64, framework->name,
				  (uint64_t)recent->first_wall_ms * 1000000 + events->posted++ % 1000000);
	recent->written_ms = events->reconciler->ports.boot_ms(events->reconciler->ports.context);
	recent->count = 1;
	HASH_ADD_KEYPTR(hh, events->recent, recent->text, strlen(recent->text), recent);
	write_event(&body, events, framework, event, recent);
	request(events, recent, true, path, &body);
}

static void write_count(struct events *events, struct recent *recent, int64_t now_ms)
{
	cleanup_buf struct buf body = {0};
	cleanup_free char *path = mem_printf("/api/v1/namespaces/%s/events/%s", recent->ns, recent->name);
	char time[TIME_RFC3339_SIZE];

	recent->written_ms = now_ms;
	recent->owed = recent->sent != NULL || !has_place(events, true);
	if (recent->owed) {
		if (now_ms + REPEAT_AFTER_MS < events->next_ms)
			events->next_ms = now_ms + REPEAT_AFTER_MS;
		return;
	}
	buf_printf(&body, "{\"count\":%d,\"lastTimestamp\":\"%s\"}", recent->count,
		   time_format_rfc3339(recent->seen_wall_ms / 1000, time));
	request(events, recent, false, path, &body);
}

/* A count that comes too soon is written later: without that the last repetitions would never be told. */
static void count_up(struct events *events, struct recent *recent)
{
	const struct reconciler_ports *ports = &events->reconciler->ports;
	int64_t due_ms = recent->written_ms + REPEAT_AFTER_MS;
	int64_t now_ms = ports->boot_ms(ports->context);

	recent->count++;
	recent->seen_wall_ms = ports->wall_ms(ports->context);
	if (now_ms >= due_ms) {
		write_count(events, recent, now_ms);
		return;
	}
	recent->owed = true;
	if (due_ms < events->next_ms)
		events->next_ms = due_ms;
}

int64_t events_run(struct events *events)
{
	struct recent *recent;
	struct recent *next;
	int64_t now_ms;

	if (events->next_ms == INT64_MAX)
		return INT64_MAX;
	now_ms = events->reconciler->ports.boot_ms(events->reconciler->ports.context);
	if (now_ms < events->next_ms)
		return events->next_ms;
	events->next_ms = INT64_MAX;
	HASH_ITER(hh, events->recent, recent, next) {
		if (!recent->owed)
			continue;
		if (now_ms >= recent->written_ms + REPEAT_AFTER_MS)
			write_count(events, recent, now_ms);
		else if (recent->written_ms + REPEAT_AFTER_MS < events->next_ms)
			events->next_ms = recent->written_ms + REPEAT_AFTER_MS;
	}
	return events->next_ms;
}

void events_post(struct events *events, const struct framework *framework, const struct plan_event *event)
{
	char *text = mem_printf("%s %s %s", framework->uid, event->reason, event->message);
	struct recent *recent;

	HASH_FIND_STR(events->recent, text, recent);
	if (recent == NULL && has_place(events, is_lesser(event))) {
		post_first(events, framework, event, text);
		return;
	}
	free(text);
	if (recent != NULL)
		count_up(events, recent);
}
