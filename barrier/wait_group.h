/* Waiting requests, parked in groups: one wait group for each Framework (ARCHITECTURE.md §8). The view says when to
 * read the Framework; the verdict is taken on a GET that was sent after the waiter came, one for the whole group. */
#ifndef BARRIER_WAIT_GROUP_H
#define BARRIER_WAIT_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barrier/readiness.h"
#include "common/kube/client.h"
#include "common/serve/metrics.h"
#include "common/serve/serve.h"

struct ev_loop;
struct wait_groups;

/* GETs of complete gangs that are under way at once. An API server that is busy takes 50 ms for a GET and more: with
 * fewer, gangs would wait here for their GET while they complete at the pace at which reconcilers write. */
enum { WAIT_GROUP_READS_AT_ONCE = 64 };

struct wait_group_counters {
	size_t waiting;    /* now */
	size_t frameworks; /* that are waited for now */
	uint64_t reads;    /* GETs of Frameworks */
	uint64_t reads_failed;
	uint64_t passed, timed_out, absent, sent_away; /* waiters, by how they were answered */
	uint64_t left;                                 /* clients that went before */
	struct metrics_histogram release; /* seconds from the change that completed a gang to its waiters' answers */
};

/* max_waiters: in one group. All of them must outlive it; the client, though, must be freed first: its calls come
 * back. */
struct wait_groups *wait_groups_new(struct ev_loop *loop, struct kube_client *client, struct readiness *readiness,
				    size_t max_waiters);
/* Nobody may wait any more. */
void wait_groups_free(struct wait_groups *groups);

/* Parks the request, or answers it at once where that is possible. uid: answer 404 for a Framework of another uid; NULL
 * or "" for any; it must live as long as the request. timeout_ms: 202 after that. */
void wait_groups_add(struct wait_groups *groups, struct serve_request *request, const char *ns, const char *name,
		     const char *uid, int64_t timeout_ms);
/* The view of this Framework, "namespace/name", changed. */
void wait_groups_changed(struct wait_groups *groups, const char *key);
/* Whether anyone waits for it. */
bool wait_groups_wanted(const struct wait_groups *groups, const char *key);
/* Asks everybody to try again elsewhere: 503 with a reason. */
void wait_groups_send_away(struct wait_groups *groups, const char *reason);

const struct wait_group_counters *wait_groups_counters(const struct wait_groups *groups);

#endif
