/* The barrier's HTTP interface (CONTRACT.md §16.9):
 * GET /v1/namespaces/{ns}/frameworks/{name}/barrier?timeoutSeconds=T[&uid=U]
 *   200  every Task has an IP; the body is the Framework as the API server has it (perhaps compressed)
 *   202  T seconds (0..60, default 30, more counts as 60) are over: {"ready": …, "total": …, "missing": [up to five
 * names]} 400  the path's names or the query cannot be read     401  no token, or nobody's 403  its user may not get
 * Frameworks there            404  no such Framework, or its uid is not U 405  not GET 413, 414, 431  the request is
 * too long 429  too many wait already                            503  not synced, ending, or the API server does not
 * answer Failures are Kubernetes Status objects. 429 and 503 carry Retry-After; whoever gets one asks the API server.
 */
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

/* access: NULL lets everybody in. max_waiters: in all; those whose access is being checked are none yet. All must
 * outlive it; so must it them: the server is freed first (it tells us who has gone), then the client, then the rest. */
struct front *front_new(struct serve *serve, struct access *access, struct readiness *readiness,
			struct wait_groups *groups, size_t max_waiters);
void front_free(struct front *front);
/* From now on everybody is sent away. */
void front_close(struct front *front);

#endif
