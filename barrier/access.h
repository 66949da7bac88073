/* Who may wait: a bearer token is shown to the API server (TokenReview), and its user must be allowed to get Frameworks
 * in the namespace (SubjectAccessReview). Answers are kept for a while; without an answer nobody is let in. */
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
	ACCESS_UNAUTHORIZED, /* the token is nobody's */
	ACCESS_FORBIDDEN,    /* its user may not get Frameworks there */
	ACCESS_UNKNOWN,      /* the API server could not be asked */
};

/* Exactly once per check, cancelled ones excepted; never from within access_ask(). */
typedef void access_done(void *arg, enum access_verdict verdict);

struct access_counters {
	uint64_t token_reviews, access_reviews, hits, failures;
	size_t strangers; /* tokens now that wait for their turn to be reviewed */
};

/* Of tokens that were never found to be somebody's. A token that is costs nothing of the rate: a gang's Pods, each with
 * a token of its own, are reviewed as fast as the API server answers. */
enum {
	ACCESS_REVIEWS_AT_ONCE = 64, /* as many as reads (wait_group.h), for the same reason */
	ACCESS_MISSES_PER_SEC = 50,  /* tokens that are nobody's: a tenth of the default --qps */
	ACCESS_MISSES_BURST = 100,
};

/* max_entries: kept answers of each kind; the ones unused for longest make room. */
struct access *access_new(struct ev_loop *loop, struct kube_client *client, size_t max_entries);
/* Answers are kept for minutes; from now on for so long at most. For tests. */
void access_keep_at_most(struct access *access, int64_t ms);
/* No done runs any more. Only after the client was freed: its cancelled calls still come back. */
void access_free(struct access *access);

/* What is known already is the answer at once, and NULL returned. Else *verdict is ACCESS_PENDING, and done(arg) tells
 * it later. Tokens that were never found to be somebody's wait for their turn: one of each source (an address) after
 * the other. The token is not kept, but a hash of it; until done or cancelled it is borrowed. */
struct access_check *access_ask(struct access *access, const char *source, const char *token, const char *ns,
				access_done *done, void *arg, enum access_verdict *verdict);
void access_cancel(struct access_check *check);

const struct access_counters *access_counters(const struct access *access);

#endif
