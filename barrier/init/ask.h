/* Asks whether the gang is complete: the barrier server if there is one, otherwise the API server (CONTRACT.md
 * §16.8). */
#ifndef INIT_ASK_H
#define INIT_ASK_H

#include <stdint.h>

#include "barrier/init/environment.h"
#include "common/base/error.h"
#include "common/framework/gang.h"

struct asker;

enum verdict {
	VERDICT_PASSED,  /* every Task has an IP */
	VERDICT_WAITING, /* some Tasks have no IP */
	VERDICT_ABSENT,  /* the Framework does not exist, or is not the one this Pod belongs to */
	VERDICT_FAILED,  /* there was no usable answer */
};

struct answer {
	enum verdict verdict;
	char *framework;    /* PASSED: the whole object as JSON, decompressed */
	struct gang gang;   /* PASSED: the gang of that object */
	int64_t ready;      /* PASSED, WAITING: Tasks that have an IP */
	int64_t total;      /* PASSED, WAITING: all Tasks */
	char *missing;      /* WAITING: up to five without an IP, "worker-1, worker-3"; "" if unknown */
	char *message;      /* ABSENT, FAILED: the cause, for the log; otherwise NULL */
	const char *source; /* "the barrier server" or "the API server" */
	int64_t next_ms;    /* time until the next request */
	int64_t again_ms;   /* FAILED: the API server asks for another request after this time; otherwise 0 */
};

/* Does not connect yet. environment must outlive the result. NULL and *err if the kubeconfig or a URL is invalid. */
struct asker *asker_new(const struct environment *environment, struct error *err);
void asker_free(struct asker *asker);

/* Sends one request; waits for the answer up to left_ms, but at least a second. */
void asker_ask(struct asker *asker, int64_t left_ms, struct answer *out);
void answer_free(struct answer *answer);

#endif
