/* Events about jobs; see events.h. The client refuses low-priority calls beyond a bound (common/README.md §2.3), so
 * nothing is counted here. */
#include "jobs/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

enum {
	EVENT_TIMEOUT_MS = 10 * 1000,
	MESSAGE_MAX = 1024, /* Kubernetes refuses longer messages */
	NAME_KEPT = 200,    /* of the job's name: an Event's has at most 253 characters */
};

struct job_events {
	struct kube_client *client;
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

void job_events_free(struct job_events *events)
{
	free(events);
}

uint64_t job_events_count(const struct job_events *events)
{
	return events->posted;
}

static void on_done(void *arg, const struct kube_answer *answer)
{
	(void)arg;
	if (answer->failure != KUBE_CANCELLED && answer->http_status / 100 != 2)
		log_v(1, "an Event was not posted: %s", answer->message);
}

static void write_event(struct buf *out, const struct job_events *events, const struct job *job, const char *type,
			const char *reason, const char *message)
{
	const struct job_names *names = job_names(job->kind);
	int64_t wall_ms = clock_wall_ms();
	char now[TIME_RFC3339_SIZE];

	time_format_rfc3339(wall_ms / 1000, now);
	buf_printf(out,
		   "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"%.*s.%" PRIx64
		   "\",\"namespace\":\"%s\"},\"involvedObject\":{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"%s\","
		   "\"namespace\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%s\"}",
		   NAME_KEPT, job->name, (uint64_t)wall_ms * 1000000 + events->posted % 1000000, job->ns,
		   names->api_version, names->kind, job->name, job->ns, job->uid,
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

void job_events_post(struct job_events *events, const struct job *job, const char *type, const char *reason,
		     const char *message)
{
	cleanup_free char *path = mem_printf("/api/v1/namespaces/%s/events", job->ns);
	cleanup_buf struct buf body = {0};
	struct kube_request request = {
		.method = "POST",
		.path = path,
		.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
		.timeout_ms = EVENT_TIMEOUT_MS,
		.low_priority = true,
	};

	events->posted++;
	write_event(&body, events, job, type, reason, message);
	request.body = body.data;
	request.body_len = body.len;
	log_v(1, "[%s/%s]: %s: %s", job->ns, job->name, reason, message);
	kube_client_call(events->client, &request, on_done, NULL);
}
