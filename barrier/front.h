/* The barrier's HTTP interface (CONTRACT.md §16.9):
 *   GET /v1/namespaces/{ns}/frameworks/{name}/barrier?timeoutSeconds=T[&uid=U]
 *
 *   200  every Task has an IP; the body is the Framework as the API server sent it (perhaps compressed)
 *   202  T seconds (default 30, at most 60) are over; the body is
 *        {"ready": N, "total": N, "missing": [up to five names]}
 *   400  the names in the path or the query are invalid
 *   401  no token, or an invalid one
 *   403  the user of the token is not allowed to get Frameworks in the namespace
 *   404  the Framework does not exist, or its uid is not U
 *   405  the method is not GET
 *   413, 414, 431  the request is too long
 *   429  too many requests wait already, and no namespace has two more than this one
 *   503  the server is not synced or shuts down, or the API server does not answer
 *
 * Failures are Kubernetes Status objects. 429 and 503 carry Retry-After; the client then asks the API server. */
#ifndef BARRIER_FRONT_H
#define BARRIER_FRONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barrier/access.h"
#include "barrier/readiness.h"
#include "barrier/wait_group.h"
#include "common/serve/serve.h"

struct front;

/* access: NULL accepts every request. Requests whose access is being checked are no waiters yet. Free the server first
 * (it reports clients that left), then the client, then front and its arguments. */
struct front *front_new(struct serve *serve, struct access *access, struct readiness *readiness,
			struct wait_groups *groups);
void front_free(struct front *front);
/* Answers all waiting and all later requests with 503. */
void front_close(struct front *front);

#endif
