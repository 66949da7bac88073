/* Decides who may wait. The API server reviews the bearer token (TokenReview), and whether its user may get Frameworks
 * in the namespace (SubjectAccessReview). Answers are cached for a while. Without an answer the request is refused. */
#ifndef BARRIER_ACCESS_H
#define BARRIER_ACCESS_H

#include <stddef.h>
#include <stdint.h>

#include "common/kube/client.h"

struct ev_loop;
struct access;
struct access_check;

enum access_verdict {
	ACCESS_PENDING,
	ACCESS_ALLOWED,
	ACCESS_UNAUTHORIZED, /* the token is invalid */
	ACCESS_FORBIDDEN,    /* its user is not allowed to get Frameworks in the namespace */
	ACCESS_BUSY,         /* its user has ACCESS_REVIEWS_PER_USER reviews under way, of other namespaces */
	ACCESS_UNKNOWN,      /* the API server did not answer */
};

/* Called exactly once per check unless it is cancelled, and never before access_ask() returns. */
typedef void access_done(void *arg, enum access_verdict verdict);

struct access_counters {
	uint64_t token_reviews, access_reviews, hits, failures;
	size_t strangers; /* unknown tokens that wait for their review now */
};

/* Limits for reviews of unknown tokens. A token that proves valid does not count for the rate: the Pods of a gang, each
 * with its own token, are reviewed as fast as the API server answers. */
enum {
	ACCESS_REVIEWS_AT_ONCE = 64, /* as many as reads (wait_group.h), for the same reason */
	ACCESS_MISSES_PER_SEC = 50,  /* invalid tokens: a tenth of the default --qps */
	ACCESS_MISSES_BURST = 100,
	ACCESS_REVIEWS_PER_USER = 16, /* of namespaces, at one time; the Pods of a gang share one */
};

/* max_entries: cached answers of each kind; the least recently used one is replaced. */
struct access *access_new(struct ev_loop *loop, struct kube_client *client, size_t max_entries);
/* Limits the time for which answers are cached, which is minutes otherwise. For tests. */
void access_keep_at_most(struct access *access, int64_t ms);
/* Calls no access_done. Free the client before: its cancelled calls still return here. */
void access_free(struct access *access);

/* Sets *verdict and returns NULL if the answer is cached. Otherwise sets *verdict to ACCESS_PENDING and calls done
 * later. Reviews of unknown tokens wait in a queue for each source (an address), and the queues take turns. The token
 * must stay valid until done is called or the check is cancelled; only its hash is kept after that. */
struct access_check *access_ask(struct access *access, const char *source, const char *token, const char *ns,
				access_done *done, void *arg, enum access_verdict *verdict);
void access_cancel(struct access_check *check);

const struct access_counters *access_counters(const struct access *access);

#endif
