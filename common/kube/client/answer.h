/* Reads answers of the API server: Status objects, one-line messages, resource labels. */
#ifndef KUBE_ANSWER_H
#define KUBE_ANSWER_H

#include "common/base/buf.h"
#include "common/kube/client.h"

/* Reads the Status object in the body of a failed request for path into answer->status and answer->absent; its strings
 * live as long as *keep, which the caller decrefs. Not a Status: is_status false, and empty strings. Also fills
 * retry_after_ms from the Status's details.retryAfterSeconds where the header gave none. */
void answer_read_status(struct kube_answer *answer, const char *path, json_t **keep);
/* "POST /api/v1/namespaces/a/pods: 403 Forbidden: pods \"x\" is forbidden: …"; after answer_read_status.
 * path has its query; the message does not contain it. */
void answer_describe(struct buf *out, const char *method, const char *path, const struct kube_answer *answer);

enum { RESOURCE_LABEL_SIZE = 48 };

/* "/api/v1/namespaces/x/pods/y/status" → "pods/status"; *collection: the path names no single object. */
void resource_label(const char *path, char out[RESOURCE_LABEL_SIZE], bool *collection);

#endif
