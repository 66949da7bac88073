/* Posts, counts and combines Events; see events.h. */
#include "reconciler/events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

enum {
	EVENTS_KEPT = 512,           /* recent Events that a repetition is counted on */
	REPEAT_AFTER_MS = 10 * 1000, /* a repetition is written at most that often */
	EVENT_TIMEOUT_MS = 10 * 1000,
	ON_WAY_MAX = 64,        /* the others wait: the cluster has other worries */
	ON_WAY_MAX_LESSER = 48, /* the rest is for what happens to a whole Framework, once */
	WAITING_MAX = 10000,    /* Events that wait: 16 MB at most */
	MESSAGE_MAX = 1024,     /* Kubernetes refuses longer messages */
};

/* RANK_LESSER: Events that a large Framework has by the thousand. They wait apart, so that they do not displace the
 * Event of its outcome. */
enum rank { RANK_OUTCOME, RANK_LESSER, RANKS };

/* As client-go's event correlator begins the message of an Event that stands for several. */
#define COMBINED "(combined from similar events): "

/* A request about a recent Event; there is at most one. */
struct sent {
	struct events *events;
	struct recent *recent; /* NULL: forgotten meanwhile */
	bool post;
};

struct recent {
	char *text; /* uid, reason and message; while it waits or is combined, uid and reason */
	char *ns;
	char *framework;
	char *uid;
	char *version;
	const char *reason;
	bool warning;
	bool combined; /* stands for several that differ in their messages; the message is the last one's */
	char *message;
	char *name; /* of the Event */
	int64_t first_wall_ms;
	int64_t written_ms;
	int64_t seen_wall_ms; /* the last time */
	int count;
	bool owed;         /* its count is not written yet */
	struct sent *sent; /* the request on the way; NULL: none */
	UT_hash_handle hh; /* in order of age */
};

struct events {
	struct reconciler *reconciler;
	struct recent *recent;         /* posted, by text */
	struct recent *waiting[RANKS]; /* for a place, by text */
	uint32_t on_way;
	uint64_t posted;
	int64_t next_ms; /* a count that is owed may be written then; INT64_MAX: none is */
	struct log_last complaint;
	struct log_last refusal;
};

struct events *events_new(struct reconciler *reconciler)
{
	struct events *events = mem_calloc(1, sizeof(*events));

	events->reconciler = reconciler;
	events->next_ms = INT64_MAX;
	return events;
}

static void recent_free(struct recent **table, struct recent *recent)
{
	HASH_DEL(*table, recent);
	if (recent->sent != NULL)
		recent->sent->recent = NULL;
	free(recent->text);
	free(recent->ns);
	free(recent->framework);
	free(recent->uid);
	free(recent->version);
	free(recent->message);
	free(recent->name);
	free(recent);
}

static void table_free(struct recent **table)
{
	struct recent *recent;
	struct recent *next;

	HASH_ITER(hh, *table, recent, next)
		recent_free(table, recent);
}

void events_free(struct events *events)
{
	table_free(&events->recent);
	for (enum rank rank = 0; rank < RANKS; rank++)
		table_free(&events->waiting[rank]);
	free(events);
}

static void start_waiting(struct events *events);

/* Without Events users do not learn why something fails: so the log names the missing right. */
static void note_refusal(struct events *events, const struct kube_answer *answer)
{
	const struct reconciler_ports *ports = &events->reconciler->ports;

	if (answer->failure == KUBE_OK && answer->http_status == 403 &&
	    log_is_news(&events->refusal, ports->boot_ms(ports->context), "refused"))
		log_warning("cannot write Events: %s", answer->message);
}

/* An Event that is not there cannot be counted up: the next repetition makes a new one. */
static void on_done(void *arg, const struct kube_answer *answer)
{
	struct sent *sent = arg;
	struct events *events = sent->events;
	struct recent *recent = sent->recent;

	events->on_way--;
	note_refusal(events, answer);
	if (recent != NULL) {
		recent->sent = NULL;
		if (sent->post ? answer->http_status / 100 != 2 : answer->absent)
			recent_free(&events->recent, recent);
	}
	free(sent);
	if (answer->failure != KUBE_CANCELLED) /* the process ends */
		start_waiting(events);
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

static enum rank rank_of(const struct plan_event *event)
{
	static const char *const lesser[] = {"FailedCreatePod", "NamingConflict", "TaskFailed", "TaskRetried",
					     "UnrecognizedPodPhase"};

	for (size_t i = 0; i < ARRAY_LEN(lesser); i++)
		if (strcmp(event->reason, lesser[i]) == 0)
			return RANK_LESSER;
	return RANK_OUTCOME;
}

static bool has_place(const struct events *events, enum rank rank)
{
	return events->on_way < (rank == RANK_LESSER ? ON_WAY_MAX_LESSER : ON_WAY_MAX);
}

static void put_message(struct buf *out, const struct recent *recent)
{
	cleanup_free char *message = mem_printf("%s%s", recent->combined ? COMBINED : "", recent->message);

	buf_json_key(out, "message");
	buf_json_string_n(out, message, strnlen(message, MESSAGE_MAX));
}

static void write_event(struct buf *out, const struct events *events, const struct recent *recent)
{
	char first[TIME_RFC3339_SIZE];
	char last[TIME_RFC3339_SIZE];

	buf_puts(out, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{");
	buf_json_text(out, "name", recent->name);
	buf_json_text(out, "namespace", recent->ns);
	buf_puts(out, "},\"involvedObject\":{\"apiVersion\":\"" FRAMEWORK_API_VERSION "\",\"kind\":\"Framework\"");
	buf_json_text(out, "name", recent->framework);
	buf_json_text(out, "namespace", recent->ns);
	buf_json_text(out, "uid", recent->uid);
	buf_json_text(out, "resourceVersion", recent->version);
	buf_puts(out, "}");
	buf_json_text(out, "type", recent->warning ? "Warning" : "Normal");
	buf_json_text(out, "reason", recent->reason);
	put_message(out, recent);
	buf_printf(out, ",\"count\":%d,\"source\":{\"component\":\"frameworkcontroller\"", recent->count);
	buf_json_text(out, "host", events->reconciler->name);
	buf_puts(out, "}");
	buf_json_text(out, "firstTimestamp", time_format_rfc3339(recent->first_wall_ms / 1000, first));
	buf_json_text(out, "lastTimestamp", time_format_rfc3339(recent->seen_wall_ms / 1000, last));
	buf_puts(out, "}");
}

/* Frees the oldest Event whose count is written; one whose count is owed only if there is no other. */
static void forget_one(struct events *events)
{
	struct recent *recent = events->recent;

	while (recent != NULL && recent->owed)
		recent = recent->hh.next;
	recent_free(&events->recent, recent != NULL ? recent : events->recent);
}

/* It is in no table yet, or no longer. */
static void post(struct events *events, struct recent *recent)
{
	cleanup_buf struct buf body = {0};
	cleanup_free char *path = mem_printf("/api/v1/namespaces/%s/events", recent->ns);

	if (HASH_COUNT(events->recent) >= EVENTS_KEPT)
		forget_one(events);
	recent->written_ms = events->reconciler->ports.boot_ms(events->reconciler->ports.context);
	HASH_ADD_KEYPTR(hh, events->recent, recent->text, strlen(recent->text), recent);
	write_event(&body, events, recent);
	request(events, recent, true, path, &body);
}

static struct recent *recent_new(struct events *events, const struct framework *framework,
				 const struct plan_event *event, const char *text)
{
	struct recent *recent = mem_calloc(1, sizeof(*recent));

	recent->text = mem_strdup(text);
	recent->ns = mem_strdup(framework->ns);
	recent->framework = mem_strdup(framework->name);
	recent->uid = mem_strdup(framework->uid);
	recent->version = mem_strdup(framework->resource_version);
	recent->reason = event->reason;
	recent->warning = event->warning;
	recent->message = mem_strndup(event->message, strnlen(event->message, MESSAGE_MAX));
	recent->first_wall_ms = events->reconciler->ports.wall_ms(events->reconciler->ports.context);
	recent->seen_wall_ms = recent->first_wall_ms;
	/* Sorts by time, as kubectl shows the Events of one second: nanoseconds in hex as client-go's, counted on
	 * within a millisecond. */
	recent->name = mem_printf("%s.%" PRIx64, framework->name,
				  (uint64_t)recent->first_wall_ms * 1000000 + events->posted++ % 1000000);
	recent->count = 1;
	return recent;
}

static void write_count(struct events *events, struct recent *recent, int64_t now_ms)
{
	cleanup_buf struct buf body = {0};
	cleanup_free char *path = mem_printf("/api/v1/namespaces/%s/events/%s", recent->ns, recent->name);
	char time[TIME_RFC3339_SIZE];

	recent->written_ms = now_ms;
	recent->owed = recent->sent != NULL || !has_place(events, RANK_LESSER);
	if (recent->owed) {
		if (now_ms + REPEAT_AFTER_MS < events->next_ms)
			events->next_ms = now_ms + REPEAT_AFTER_MS;
		return;
	}
	buf_printf(&body, "{\"count\":%d,\"lastTimestamp\":\"%s\"", recent->count,
		   time_format_rfc3339(recent->seen_wall_ms / 1000, time));
	if (recent->combined)
		put_message(&body, recent);
	buf_putc(&body, '}');
	request(events, recent, false, path, &body);
}

static void note_again(struct events *events, struct recent *recent)
{
	const struct reconciler_ports *ports = &events->reconciler->ports;

	recent->count++;
	recent->seen_wall_ms = ports->wall_ms(ports->context);
}

/* A count that comes too soon is written later: without that the last repetitions would never be reported. */
static void count_up(struct events *events, struct recent *recent)
{
	const struct reconciler_ports *ports = &events->reconciler->ports;
	int64_t due_ms = recent->written_ms + REPEAT_AFTER_MS;
	int64_t now_ms = ports->boot_ms(ports->context);

	note_again(events, recent);
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

/* ---- Events that wait for a place ---- */

static void start_waiting(struct events *events)
{
	for (enum rank rank = 0; rank < RANKS; rank++) {
		while (events->waiting[rank] != NULL && has_place(events, rank)) {
			struct recent *recent = events->waiting[rank];

			HASH_DEL(events->waiting[rank], recent);
			if (!recent->combined) {
				free(recent->text);
				recent->text = mem_printf("%s %s %s", recent->uid, recent->reason, recent->message);
			}
			post(events, recent);
		}
	}
}

/* Nobody but the log has it, then. */
static void complain(struct events *events, const struct recent *lost)
{
	int64_t now_ms = events->reconciler->ports.boot_ms(events->reconciler->ports.context);

	if (log_is_news(&events->complaint, now_ms, "not posted"))
		log_warning("[%s/%s]: the Event %s is not posted, because %d other Events already wait", lost->ns,
			    lost->framework, lost->reason, WAITING_MAX);
}

/* An outcome makes a lesser Event give up its place. */
static void wait_for_place(struct events *events, struct recent *recent, enum rank rank)
{
	struct recent **lesser = &events->waiting[RANK_LESSER];

	HASH_ADD_KEYPTR(hh, events->waiting[rank], recent->text, strlen(recent->text), recent);
	if (HASH_COUNT(events->waiting[RANK_OUTCOME]) + HASH_COUNT(*lesser) <= WAITING_MAX)
		return;
	if (rank == RANK_OUTCOME && *lesser != NULL) {
		complain(events, *lesser);
		recent_free(lesser, *lesser);
	} else {
		complain(events, recent);
		recent_free(&events->waiting[rank], recent);
	}
}

/* It differs at most in its message. */
static void combine(struct events *events, struct recent *recent, const struct plan_event *event, bool waits)
{
	if (strncmp(recent->message, event->message, MESSAGE_MAX) != 0) {
		recent->combined = true;
		free(recent->message);
		recent->message = mem_strndup(event->message, strnlen(event->message, MESSAGE_MAX));
	}
	if (waits)
		note_again(events, recent);
	else
		count_up(events, recent);
}

void events_post(struct events *events, const struct framework *framework, const struct plan_event *event)
{
	cleanup_free char *text = mem_printf("%s %s %.*s", framework->uid, event->reason, MESSAGE_MAX, event->message);
	cleanup_free char *similar = mem_printf("%s %s", framework->uid, event->reason);
	enum rank rank = rank_of(event);
	struct recent *recent;

	HASH_FIND_STR(events->recent, text, recent);
	if (recent != NULL) {
		count_up(events, recent);
		return;
	}
	if (has_place(events, rank)) { /* then nothing waits for it */
		post(events, recent_new(events, framework, event, text));
		return;
	}
	HASH_FIND_STR(events->waiting[rank], similar, recent);
	if (recent != NULL) {
		combine(events, recent, event, true);
		return;
	}
	HASH_FIND_STR(events->recent, similar, recent);
	if (recent != NULL)
		combine(events, recent, event, false);
	else
		wait_for_place(events, recent_new(events, framework, event, similar), rank);
}
