/* Shared by the files of the wait groups: wait_group.c (groups and their reads), wait_answer.c (answers). */
#ifndef BARRIER_WAIT_INTERNAL_H
#define BARRIER_WAIT_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barrier/wait_group.h"
#include "common/base/backoff.h"
#include "common/base/hash.h"
#include "common/base/random.h"
#include "common/framework/gang.h"

enum { AWAY_RETRY_SEC = 1 };

struct waiter {
	struct waiter *prev, *next;
	struct wait_group *group;
	struct serve_request *request;
	const char *uid; /* the request's; NULL: any */
	uint64_t number; /* in the order they came */
	bool expired;    /* its time is up, and it stays for the read under way */
	struct ev_timer timer;
};

struct wait_group {
	UT_hash_handle hh;
	struct wait_groups *all;
	char *key;              /* "namespace/name" */
	struct waiter *waiters; /* in the order they came */
	size_t count;
	struct wait_group *prev_queued, *next_queued; /* of those that are to be read when there is room */
	bool queued;
	struct kube_call *read;
	size_t places;        /* that reading the complete gang takes, of those there are */
	size_t places_taken;  /* by the read under way */
	uint64_t read_number; /* waiters up to this one had come when it was sent; 0: it was not yet */
	struct backoff backoff;
	struct ev_timer again;
	int64_t poll_ms;     /* when to read a Framework that is not streamed; 0: no need to wait */
	bool polls;          /* again waits for poll_ms */
	bool must_read;      /* whatever the counts: the Framework is gone, or another one, or a waiter thinks so */
	char *uid;           /* of the Framework in the view; NULL: none */
	char *version;       /* of it in the view; NULL: none */
	char *read_version;  /* the one last read; NULL: there was none */
	int64_t complete_ms; /* when the view first said that the gang is complete, or 0 */
};

struct wait_groups {
	struct ev_loop *loop;
	struct kube_client *client;
	struct readiness *readiness;
	size_t max_waiters;
	struct wait_group *by_key;
	struct wait_group *queue; /* the first first */
	size_t places_taken;      /* by reads under way */
	uint64_t last_number;
	struct random random;
	struct wait_group_counters counters;
};

/* The functions that answer waiters take them away. Their group stays. */

/* Takes the waiter out of its group and frees it. */
struct serve_request *waiter_take(struct waiter *waiter);
void waiter_answer_away(struct waiter *waiter, const char *why);
/* missing: a JSON array of names */
void waiter_answer_waiting(struct waiter *waiter, int64_t ready, int64_t total, const char *missing);

/* Answer waiters that came before the read was sent: */
void wait_group_answer_absent(struct wait_group *group);
/* … all, with the Framework */
void wait_group_let_pass(struct wait_group *group, const struct kube_answer *from);
/* … those who belong to a Framework of the same name that is gone (CONTRACT.md §12: by UID, not by name) */
void wait_group_dismiss_others(struct wait_group *group, const char *uid);
/* … those whose time is up */
void wait_group_answer_seen(struct wait_group *group, const struct gang *gang);

#endif
