/* Events about jobs; see events.h. The name of an Event follows from what it says. So a process that says it again,
 * after a crash or in place of a former leader, adds nothing: the server has an Event of that name. */
#include "jobs/events.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/log.h"

enum {
	EVENT_TIMEOUT_MS = 10 * 1000,
	MESSAGE_MAX = 1024,          /* Kubernetes refuses longer messages */
	NAME_KEPT = 200,             /* of the job's name: an Event's has at most 253 characters */
	EVENTS_KEPT = 2048,          /* recent Events that a repetition is counted on */
	REPEAT_AFTER_MS = 10 * 1000, /* a repetition is written at most that often */
};

/* An Event that was posted. */
struct job_event {
	char *path; /* of the Event */
	int64_t written_ms;
	int count;
	UT_hash_handle hh; /* in order of age */
};

struct job_events {
	struct kube_client *client;
	struct job_event *recent; /* by path */
	uint64_t posted;
	char host[64];
};

struct job_events *job_events_new(struct kube_client *client)
{
	struct job_events *events = mem_calloc(1, sizeof(*events));

	events->client = client;
	gethostname(events->host, sizeof(events->host) - 1);
	return events;
}

static void forget(struct job_events *events, struct job_event *recent)
{
	HASH_DEL(events->recent, recent);
	free(recent->path);
	free(recent);
}

void job_events_free(struct job_events *events)
{
	struct job_event *recent;
	struct job_event *next;

	if (events == NULL)
		return;
	HASH_ITER(hh, events->recent, recent, next)
		forget(events, recent);
	free(events);
}

uint64_t job_events_count(const struct job_events *events)
{
	return events->posted;
}

/* A request about an Event. */
struct job_event_write {
	struct job_events *events;
	char *path; /* of the Event */
};

/* An Event that is not there cannot be counted up: the next repetition makes a new one. 409: it is there already. */
static void on_done(void *arg, const struct kube_answer *answer)
{
	struct job_event_write *sent = arg;
	struct job_event *recent;

	if (answer->failure != KUBE_CANCELLED && answer->http_status / 100 != 2 && answer->http_status != 409) {
		log_v(1, "an Event was not posted: %s", answer->message);
		HASH_FIND_STR(sent->events->recent, sent->path, recent);
		if (recent != NULL)
			forget(sent->events, recent);
	}
	free(sent->path);
	free(sent);
}

static void request(struct job_events *events, const struct job_event *recent, const char *method, const char *path,
		    const struct buf *body)
{
	const struct kube_request request = {
		.method = method,
		.path = path,
		.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
		.content_type = strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : NULL,
		.body = body->data,
		.body_len = body->len,
		.timeout_ms = EVENT_TIMEOUT_MS,
		.low_priority = true,
	};
	struct job_event_write *sent = mem_alloc(sizeof(*sent));

	*sent = (struct job_event_write){.events = events, .path = mem_strdup(recent->path)};
	kube_client_call(events->client, &request, on_done, sent);
}

/* The Event's name is cut, and has two checksums of what it says. The caller frees. */
static char *name_of(const struct job *job, const char *reason, const char *message)
{
	cleanup_free char *text = mem_printf("%s %s %.*s", job->uid, reason, MESSAGE_MAX, message);
	const unsigned len = (unsigned)strlen(text);

	return mem_printf("%.*s.%08lx%08lx", NAME_KEPT, job->name, crc32(0, (const unsigned char *)text, len),
			  adler32(1, (const unsigned char *)text, len));
}

static void write_event(struct buf *out, const struct job_events *events, const struct job *job, const char *name,
			const char *type, const char *reason, const char *message)
{
	const struct job_names *names = job_names(job->kind);
	char now[TIME_RFC3339_SIZE];

	time_format_rfc3339(clock_wall_ms() / 1000, now);
	buf_printf(out,
		   "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"},"
		   "\"involvedObject\":{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"%s\","
		   "\"namespace\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%s\"}",
		   name, job->ns, names->api_version, names->kind, job->name, job->ns, job->uid,
		   job->version == NULL ? "" : job->version);
	buf_json_text(out, "type", type);
	buf_json_text(out, "reason", reason);
	buf_json_key(out, "message");
	buf_json_string_n(out, message, strnlen(message, MESSAGE_MAX));
	buf_printf(out, ",\"count\":1,\"source\":{\"component\":\"fc-jobs\"");
	buf_json_text(out, "host", events->host);
	buf_putc(out, '}');
	buf_json_text(out, "firstTimestamp", now);
	buf_json_text(out, "lastTimestamp", now);
	buf_putc(out, '}');
}

/* A repetition that comes too soon is told with the next one. */
static void count_up(struct job_events *events, struct job_event *recent)
{
	int64_t now_ms = clock_boot_ms();
	cleanup_buf struct buf body = {0};
	char now[TIME_RFC3339_SIZE];

	recent->count++;
	if (now_ms < recent->written_ms + REPEAT_AFTER_MS)
		return;
	recent->written_ms = now_ms;
	buf_printf(&body, "{\"count\":%d,\"lastTimestamp\":\"%s\"}", recent->count,
		   time_format_rfc3339(clock_wall_ms() / 1000, now));
	request(events, recent, "PATCH", recent->path, &body);
}

void job_events_post(struct job_events *events, const struct job *job, const char *type, const char *reason,
		     const char *message)
{
	cleanup_free char *name = name_of(job, reason, message);
	cleanup_free char *path = mem_printf("/api/v1/namespaces/%s/events", job->ns);
	char *own_path = mem_printf("%s/%s", path, name);
	cleanup_buf struct buf body = {0};
	struct job_event *recent;

	log_v(1, "[%s/%s]: %s: %s", job->ns, job->name, reason, message);
	HASH_FIND_STR(events->recent, own_path, recent);
	if (recent != NULL) {
		free(own_path);
		count_up(events, recent);
		return;
	}
	if (HASH_COUNT(events->recent) >= EVENTS_KEPT)
		forget(events, events->recent);
	recent = mem_calloc(1, sizeof(*recent));
	*recent = (struct job_event){.path = own_path, .written_ms = clock_boot_ms(), .count = 1};
	HASH_ADD_KEYPTR(hh, events->recent, recent->path, strlen(recent->path), recent);
	events->posted++;
	write_event(&body, events, job, name, type, reason, message);
	request(events, recent, "POST", path, &body);
}
