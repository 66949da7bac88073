/* Requests for jobs: at most one at a time for each. */
#ifndef JOBS_REQUEST_H
#define JOBS_REQUEST_H

#include <jansson.h>
#include <stdbool.h>

#include "common/kube/client.h"
#include "jobs/store.h"

struct act;

/* A request for an item. */
struct step {
	struct act *act;
	struct item *item;
	/* After the answer, unless the item is gone: what has been done, or not. */
	void (*done)(struct step *step, const struct kube_answer *answer);
	json_t *status;     /* that was written; NULL: none */
	bool subresource;   /* for the job's status */
	int64_t sent_ms;    /* in boot milliseconds */
	int64_t generation; /* of the Framework that is changed, as far as it is known */
	bool stops_only;    /* the change of the Framework, which leaves the rest as it is */
};

/* Asks for the object's metadata in the answer, not for all of it. */
#define METADATA_ONLY "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

struct step *step_new(struct act *act, struct item *item,
		      void (*done)(struct step *step, const struct kube_answer *answer));
/* Sends the request if this process leads when its turn comes. accept NULL: the whole object. body NULL: none; its
 * reference is taken over. A PATCH is a merge patch. The step is freed. */
void step_send(struct step *step, const char *method, const char *path, const char *accept, json_t *body);
/* The same with a body that is text already. */
void step_send_text(struct step *step, const char *method, const char *path, const char *accept, const char *body);

/* The caller frees. */
char *job_path(const struct job *job, const char *subresource);
/* name NULL: of the collection. */
char *frameworks_path(const struct job *job, const char *name);

bool answer_succeeded(const struct kube_answer *answer);
/* Whether the server refused the request for a reason that does not pass by itself. */
bool answer_refused(const struct kube_answer *answer);
/* The version of an answered object, and its generation (0: none). The caller frees; NULL: none. */
char *answer_version(const struct kube_answer *answer, int64_t *generation);

#endif
