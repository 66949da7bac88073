/* Those who wait for a Framework, parked (ARCHITECTURE.md §8). The view says when to look; the verdict is taken on a
 * GET of the Framework that was sent after the waiter came, one for all who wait. */
#ifndef BARRIER_WAITERS_H
#define BARRIER_WAITERS_H

#include <stddef.h>
#include <stdint.h>

#include "barrier/readiness.h"
#include "common/kube/client.h"
#include "common/serve/metrics.h"
#include "common/serve/serve.h"

struct ev_loop;
struct waiters;

/* Looks at complete gangs that are under way at once. An API server that is busy takes 50 ms for a GET and more: with
 * fewer, gangs would wait here for their look while they complete at the pace at which reconcilers write. */
enum { WAITERS_LOOKS_AT_ONCE = 64 };

struct waiters_options {
	size_t max_per_framework;
};

struct waiters_counters {
	size_t waiting;    /* now */
	size_t frameworks; /* that are waited for now */
	uint64_t looks;    /* GETs of Frameworks */
	uint64_t looks_failed;
	uint64_t passed, timed_out, absent, sent_away; /* waiters, by how they were answered */
	uint64_t left;                                 /* clients that went before */
	struct metrics_histogram release; /* seconds from the change that completed a gang to its waiters' answers */
};

/* All of them must outlive it; the client, though, must be freed first: its calls come back. */
struct waiters *waiters_new(struct ev_loop *loop, struct kube_client *client, struct readiness *readiness,
			    const struct waiters_options *options);
/* Nobody may wait any more. */
void waiters_free(struct waiters *waiters);

/* Parks the request, or answers it at once where that is possible. uid: answer 404 for a Framework of another uid; NULL
 * or "" for any; it must live as long as the request. timeout_ms: 202 after that. */
void waiters_add(struct waiters *waiters, struct serve_request *request, const char *ns, const char *name,
		 const char *uid, int64_t timeout_ms);
/* The view of this Framework, "namespace/name", changed. */
void waiters_changed(struct waiters *waiters, const char *key);
/* Whether anyone waits for it. */
bool waiters_wanted(const struct waiters *waiters, const char *key);
/* Asks everybody to try again elsewhere: 503 with a reason. */
void waiters_send_away(struct waiters *waiters, const char *reason);

const struct waiters_counters *waiters_counters(const struct waiters *waiters);

#endif
