/* Kubernetes Events about jobs. */
#ifndef JOBS_EVENTS_H
#define JOBS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/kube/client.h"
#include "jobs/kinds/job.h"

struct job_events;

/* The client is borrowed and must be freed before the Events. */
struct job_events *job_events_new(struct kube_client *client);
/* NULL is fine. */
void job_events_free(struct job_events *events);

/* Posts an Event; one that says the same of the job as a former one counts that up, at most every ten seconds, also if
 * another process has posted that, for another version of the job. It waits
 * behind all other requests, and is lost if the server refuses it, or if a thousand others wait. type: "Normal" or
 * "Warning". */
void job_events_post(struct job_events *events, const struct job *job, const char *type, const char *reason,
		     const char *message);

/* Events posted since the start. */
uint64_t job_events_count(const struct job_events *events);

#endif
