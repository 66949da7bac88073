/* Asking whether the gang is complete: the barrier server when there is one, else the API server (CONTRACT.md §16.8).
 */
#ifndef INIT_ASK_H
#define INIT_ASK_H

#include <stdint.h>

#include "barrier/init/environment.h"
#include "common/base/error.h"
#include "common/framework/gang.h"

struct asker;

enum verdict {
	VERDICT_PASSED,  /* every Task has an IP */
	VERDICT_WAITING, /* some do not */
	VERDICT_ABSENT,  /* the Framework does not exist, or is not the one this Pod belongs to */
	VERDICT_FAILED,  /* nobody could tell */
};

struct answer {
	enum verdict verdict;
	char *framework;    /* PASSED: the whole object as JSON, decompressed */
	struct gang gang;   /* PASSED: of it */
	int64_t ready;      /* PASSED, WAITING: Tasks that have an IP */
	int64_t total;      /* of how many */
	char *missing;      /* WAITING: up to five that have none, "worker-1, worker-3"; "" when not told */
	char *message;      /* ABSENT, FAILED: for people; else NULL */
	const char *source; /* "the barrier server" or "the API server" */
	int64_t next_ms;    /* ask again after this */
};

/* Connects to nothing yet. environment must outlive it. NULL and *err when the kubeconfig or an address cannot be
 * used. */
struct asker *asker_new(const struct environment *environment, struct error *err);
void asker_free(struct asker *asker);

/* Asks once; takes up to left_ms, but at least a second. */
void asker_ask(struct asker *asker, int64_t left_ms, struct answer *out);
void answer_free(struct answer *answer);

#endif
