/* Where jobs and Frameworks come from: one watch for Frameworks, and one for each kind of job that the API server
 * serves. */
#ifndef JOBS_SOURCES_H
#define JOBS_SOURCES_H

#include <stdbool.h>

#include "common/kube/client.h"
#include "jobs/store.h"

struct ev_loop;
struct sources;

/* The API server serves the kind, with a status subresource or without. Before its objects are listed, and whenever it
 * was asked anew. */
typedef void sources_served(void *arg, enum job_kind kind, bool status_subresource);

/* Starts at once. wanted: of each kind, whether it is looked for. A kind that is not served is looked for again every
 * few seconds. store and client are borrowed. */
struct sources *sources_new(struct ev_loop *loop, struct kube_client *client, struct job_store *store,
			    const bool wanted[JOB_KINDS], sources_served *served, void *arg);
/* After sources_stop() and the client. */
void sources_free(struct sources *sources);
/* Nothing reaches the store any more. Before the client is freed. NULL is fine. */
void sources_stop(struct sources *sources);

/* Whether Frameworks, and the jobs of each served kind, have been listed, and it is known which kinds are served. */
bool sources_synced(const struct sources *sources);
/* Asks the API server anew whether the kind, which it serves, has a status subresource. */
void sources_doubt(struct sources *sources, enum job_kind kind);
bool sources_is_served(const struct sources *sources, enum job_kind kind);

#endif
