/* The classification of a failed Pod or Pod creation: code, phrase, attributes, diagnostics (CONTRACT.md §8). Pure
 * functions of their arguments. */
#ifndef SYNC_CLASSIFY_H
#define SYNC_CLASSIFY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/framework/failure_spec.h"
#include "common/framework/object.h"

/* Owns everything in it; free with pod_failure_free. The type name is always Failed. */
struct pod_failure {
	int32_t code;
	char *phrase;
	json_t *attributes; /* an array; JSON null for a configured entry that gives none */
	char *diagnostics;  /* "PodPattern matched: {…}" or "PodPattern unmatched: {…}"; clients parse them */
};

enum { CLASSIFY_STEPS = 8000000 };

/* Classifies a Pod whose phase is Failed: the predefined container exit codes (200, 201, 210), then the Framework's
 * own entries in order, then the configuration's; with no match the exit code of the container that failed last, or
 * -300 when none failed. Never fails. What its searches take is bounded by CLASSIFY_STEPS (pattern.h), and is taken
 * from *steps. */
void classify_pod(const struct failure_spec *own, const struct failure_spec *configured, const struct pod *pod,
		  int64_t *steps, struct pod_failure *out);
void pod_failure_free(struct pod_failure *failure);

/* completionStatus.pod as JSON text (CONTRACT.md §3): reason, message, and each container, init containers first, with
 * name, reason, message, signal, code; empty strings and a zero signal left out. A container that has not terminated
 * is listed with code 0. The caller frees. */
char *pod_details(const struct pod *pod);

enum create_failure {
	CREATE_FAILURE_TRANSIENT, /* try again with backoff; completes nothing */
	CREATE_FAILURE_PERMANENT, /* CODE_POD_CREATION_PERMANENT_ERROR */
	CREATE_FAILURE_UNKNOWN,   /* CODE_POD_CREATION_UNKNOWN_ERROR */
};

/* Classifies what the API server answered to a Pod's creation. http_code: 0 when there was no answer (a network
 * error). is_status: the body is a Kubernetes Status; then reason is its reason (NULL when absent) and decides, else
 * http_code does. message: the Status' message, or the error's, or NULL. */
enum create_failure classify_create_error(int http_code, bool is_status, const char *reason, const char *message);
/* Whether it was refused for want of quota, which others of the namespace may free. */
bool create_exceeds_quota(const char *message);

#endif
