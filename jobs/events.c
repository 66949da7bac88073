/* Events about jobs; see events.h. The name of an Event follows from what it says. So a process that says it again,
 * after a crash or in place of a former leader, adds no Event: the server has one of that name. It counts that up,
 * unless the Event is about the same version of the job: then the former process has posted the same news. */
#include "jobs/events.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/base/log.h"

enum {
	EVENT_TIMEOUT_MS = 10 * 1000,
	MESSAGE_MAX = 1024,          /* Kubernetes refuses longer messages */
	NAME_KEPT = 200,             /* of the job's name: an Event's has at most 253 characters */
	EVENTS_KEPT = 2048,          /* recent Events that a repetition is counted on */
	REPEAT_AFTER_MS = 10 * 1000, /* a repetition is written at most that often */
	COUNT_MAX = INT32_MAX / 2,   /* an Event's is an int32 */
};

/* An Event that was posted. */
struct job_event {
	char *path;    /* of the Event */
	char *version; /* of the job that it was written for */
	int64_t written_ms;
	int64_t count;     /* until it is known, since it was posted */
	bool known;        /* what the server has counted is part of the count */
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
	free(recent->version);
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

/* A request about an Event: it is posted; it is there already, and its count is asked for; its count is written. */
enum event_request { REQUEST_POST, REQUEST_ASK, REQUEST_COUNT };

struct job_event_write {
	struct job_events *events;
	enum event_request what;
	char *path; /* of the Event */
};

static void on_done(void *arg, const struct kube_answer *answer);

static void request(struct job_events *events, const struct job_event *recent, enum event_request what,
		    const char *path, const struct buf *body)
{
	const struct kube_request request = {
		.method = what == REQUEST_POST ? "POST" : "PATCH",
		.path = path,
		.accept = what == REQUEST_ASK ? NULL : "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
		.content_type = what == REQUEST_POST ? NULL : "application/merge-patch+json",
		.body = body->data,
		.body_len = body->len,
		.timeout_ms = EVENT_TIMEOUT_MS,
		.low_priority = true,
	};
	struct job_event_write *sent = mem_alloc(sizeof(*sent));

	*sent = (struct job_event_write){.events = events, .what = what, .path = mem_strdup(recent->path)};
	kube_client_call(events->client, &request, on_done, sent);
}

static void write_count(struct job_events *events, struct job_event *recent)
{
	cleanup_buf struct buf body = {0};
	char now[TIME_RFC3339_SIZE];

	recent->written_ms = clock_boot_ms();
	buf_printf(&body, "{\"count\":%lld,\"lastTimestamp\":\"%s\",\"involvedObject\":{", (long long)recent->count,
		   time_format_rfc3339(clock_wall_ms() / 1000, now));
	buf_json_text(&body, "resourceVersion", recent->version);
	buf_puts(&body, "}}");
	request(events, recent, REQUEST_COUNT, recent->path, &body);
}

/* An empty patch changes nothing and is answered with the object. The right to read Events is not needed. */
static void ask(struct job_events *events, const struct job_event *recent)
{
	cleanup_buf struct buf body = {0};

	buf_puts(&body, "{}");
	request(events, recent, REQUEST_ASK, recent->path, &body);
}

static void take_count(struct job_events *events, struct job_event *recent, const struct kube_answer *answer)
{
	cleanup_json json_t *event = json_parse(answer->body, answer->body_len, NULL);
	const char *version = json_str(json_object_get(event, "involvedObject"), "resourceVersion");
	int64_t stored = json_int(event, "count", 1);

	if (stored < 1 || stored > COUNT_MAX)
		stored = 1;
	recent->known = true;
	recent->count += stored;
	if (version != NULL && strcmp(version, recent->version) == 0)
		recent->count--;
	if (recent->count > stored)
		write_count(events, recent);
}

/* An Event that is not there cannot be counted up: the next repetition makes a new one. */
static void on_done(void *arg, const struct kube_answer *answer)
{
	struct job_event_write *sent = arg;
	struct job_events *events = sent->events;
	struct job_event *recent;

	HASH_FIND_STR(events->recent, sent->path, recent);
	if (answer->failure == KUBE_CANCELLED || recent == NULL) {
		/* nothing is left to be done */
	} else if (sent->what == REQUEST_POST && answer->http_status == 409) {
		ask(events, recent);
	} else if (answer->http_status / 100 != 2) {
		log_v(1, "an Event was not posted: %s", answer->message);
		forget(events, recent);
	} else if (sent->what == REQUEST_ASK) {
		take_count(events, recent, answer);
	} else {
		recent->known = true;
	}
	free(sent->path);
	free(sent);
}

/* The Event's name is cut, and has two checksums of what it says. The caller frees. */
static char *name_of(const struct job *job, const char *reason, const char *message)
{
	cleanup_free char *text = mem_printf("%s %s %.*s", job->uid, reason, MESSAGE_MAX, message);
	const unsigned len = (unsigned)strlen(text);

	return mem_printf("%.*s.%08lx%08lx", NAME_KEPT, job->name, crc32(0, (const unsigned char *)text, len),
			  adler32(1, (const unsigned char *)text, len));
}

static const char *version_of(const struct job *job)
{
	return job->version == NULL ? "" : job->version;
}

static void write_event(struct buf *out, const struct job_events *events, const struct job *job, const char *name,
			const char *type, const char *reason, const char *message)
{
	const struct job_names *names = job_names(job->kind);
	char now[TIME_RFC3339_SIZE];

	time_format_rfc3339(clock_wall_ms() / 1000, now);
	buf_puts(out, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{");
	buf_json_text(out, "name", name);
	buf_json_text(out, "namespace", job->ns);
	buf_printf(out, "},\"involvedObject\":{\"apiVersion\":\"%s\",\"kind\":\"%s\"", names->api_version, names->kind);
	buf_json_text(out, "name", job->name);
	buf_json_text(out, "namespace", job->ns);
	buf_json_text(out, "uid", job->uid);
	buf_json_text(out, "resourceVersion", version_of(job));
	buf_putc(out, '}');
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

/* A repetition that comes too soon is counted with the next one. */
static void count_up(struct job_events *events, struct job_event *recent, const struct job *job)
{
	recent->count++;
	if (!recent->known || clock_boot_ms() < recent->written_ms + REPEAT_AFTER_MS)
		return;
	mem_replace(&recent->version, version_of(job));
	write_count(events, recent);
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
		count_up(events, recent, job);
		return;
	}
	if (HASH_COUNT(events->recent) >= EVENTS_KEPT)
		forget(events, events->recent);
	recent = mem_calloc(1, sizeof(*recent));
	*recent = (struct job_event){
		.path = own_path, .version = mem_strdup(version_of(job)), .written_ms = clock_boot_ms(), .count = 1};
	HASH_ADD_KEYPTR(hh, events->recent, recent->path, strlen(recent->path), recent);
	events->posted++;
	write_event(&body, events, job, name, type, reason, message);
	request(events, recent, REQUEST_POST, path, &body);
}
