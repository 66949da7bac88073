/* Waiting requests in wait groups, one for each Framework (ARCHITECTURE.md §8). The cache (readiness.h) says when to
 * read the Framework. One GET decides for all waiters of the group that arrived before it was sent. */
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

/* GETs of complete gangs in flight at one time. A busy API server takes 50 ms and more for a GET: with a lower limit,
 * gangs would complete faster than this server can read them. */
enum { WAIT_GROUP_READS_AT_ONCE = 64 };
/* Reads of one namespace at one time, of those that clients can cause at will: more would fill the rate limit's queue,
 * and the reads and reviews of all others would wait behind them. */
enum { WAIT_GROUP_READS_PER_NAMESPACE = 16 };

struct wait_group_counters {
	size_t waiting;    /* now */
	size_t frameworks; /* with waiters now */
	uint64_t reads;    /* GETs of Frameworks */
	uint64_t reads_failed;
	uint64_t passed, timed_out, absent, sent_away; /* waiters by answer */
	uint64_t left;                                 /* clients that disconnected before an answer */
	struct metrics_histogram release; /* seconds from the change that completed a gang to its waiters' answers */
};

/* max_waiters: limit of all groups; max_of_group: of one group. loop and readiness must outlive the result. Free the
 * client before: its cancelled calls still return here. */
struct wait_groups *wait_groups_new(struct ev_loop *loop, struct kube_client *client, struct readiness *readiness,
				    size_t max_waiters, size_t max_of_group);
/* No request may wait any more. */
void wait_groups_free(struct wait_groups *groups);

/* true: answered with 429, because max_waiters wait and no namespace has two waiters more than this one. */
bool wait_groups_refuse(const struct wait_groups *groups, struct serve_request *request, const char *ns);
/* Adds the request to its group, or answers it at once if that is possible or there is no place. If max_waiters wait,
 * one waiter of the namespace that has most of them is answered with 429 instead. uid: the answer is 404 if the
 * Framework has another uid; NULL or "" for any; must live as long as the request. timeout_ms: the answer is 202 after
 * that time. */
void wait_groups_add(struct wait_groups *groups, struct serve_request *request, const char *ns, const char *name,
		     const char *uid, int64_t timeout_ms);
/* Called when the cached Framework key, "namespace/name", changed. */
void wait_groups_changed(struct wait_groups *groups, const char *key);
/* Whether a request waits for the Framework. */
bool wait_groups_wanted(const struct wait_groups *groups, const char *key);
/* Answers all waiting requests with 503 and this reason. */
void wait_groups_send_away(struct wait_groups *groups, const char *reason);

const struct wait_group_counters *wait_groups_counters(const struct wait_groups *groups);

#endif
