/* Inside waiters: a gate stands before each Framework that is waited for. gate.c keeps gates and answers those who wait
 * at them, look.c looks at the Framework, waiters.c lets people come. */
#ifndef BARRIER_GATE_H
#define BARRIER_GATE_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barrier/waiters.h"
#include "common/base/backoff.h"
#include "common/base/hash.h"
#include "common/base/random.h"
#include "common/framework/gang.h"

enum { BARRIER_MISSING_MAX = 5 }; /* Tasks that a 202 names */

struct waiter {
	struct waiter *prev, *next;
	struct gate *gate;
	struct serve_request *request;
	const char *uid; /* the request's; NULL: any */
	uint64_t number; /* in the order they came */
	bool expired;    /* its time is up, and it stays for the look under way */
	struct ev_timer timer;
};

struct gate {
	UT_hash_handle hh;
	struct waiters *waiters;
	char *key; /* "namespace/name" */
	char *ns;
	char *name;
	struct waiter *list; /* in the order they came */
	size_t count;
	struct gate *prev_in_line, *next_in_line; /* of those that are to be looked at when there is room */
	bool in_line;
	struct kube_call *look;
	size_t places;        /* that a look at the complete gang takes, of those there are */
	size_t places_taken;  /* by the look under way */
	uint64_t look_number; /* waiters up to this one had come when it was sent; 0: it was not yet */
	struct backoff backoff;
	struct ev_timer again;
	bool must_look;      /* whatever the counts: the Framework is gone, or another one, or a waiter thinks so */
	char *uid;           /* of the Framework in the view; NULL: none */
	char *version;       /* of it in the view; NULL: none */
	char *seen_version;  /* the one last read; NULL: there was none */
	int64_t complete_ms; /* when the view first said that the gang is complete, or 0 */
};

struct waiters {
	struct ev_loop *loop;
	struct kube_client *client;
	struct readiness *readiness;
	struct waiters_options options;
	struct gate *gates;
	struct gate *line;   /* of gates to look at, the first first */
	size_t places_taken; /* by looks under way */
	uint64_t last_number;
	struct random random;
	struct waiters_counters counters;
};

/* ---- gate.c ---- */

/* NULL: nobody waits for it. */
struct gate *gate_find(const struct waiters *waiters, const char *key);
/* Made when there is none. */
struct gate *gate_get(struct waiters *waiters, const char *ns, const char *name);
/* To be called when a waiter or a look has left it: a gate that nobody waits at goes. */
void gate_release(struct gate *gate);
void gate_free(struct gate *gate);

/* Each answers a waiter, which is no more after that; its gate stays. */
void answer_passed(struct waiter *waiter, struct serve_answer *answer);
void answer_absent(struct waiter *waiter, const char *why);
void answer_away(struct waiter *waiter, const char *why);
void answer_waiting(struct waiter *waiter, int64_t ready, int64_t total, const char *missing);
/* One whose time is up, by what the view says, as long as that is true now. */
void answer_expired(struct waiter *waiter);
/* Takes the waiter away without an answer. */
void waiter_forget(struct waiter *waiter);

/* ---- look.c ---- */

/* Looks at the Framework if there is reason to: at once, or when it is the gate's turn. Whoever stayed for a look that
 * is not to be is answered: gate_release() must follow. */
void gate_consider(struct gate *gate);
/* Notes what the view says of the Framework; true when that calls for a look. */
bool gate_observe(struct gate *gate);
/* Starts as many looks as there is room for. */
void gate_next_in_line(struct waiters *waiters);

#endif
