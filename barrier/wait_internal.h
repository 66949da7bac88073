/* Shared by the files of the wait groups: wait_group.c (groups and their reads), wait_share.c (shares of namespaces),
 * wait_answer.c (answers). */
#ifndef BARRIER_WAIT_INTERNAL_H
#define BARRIER_WAIT_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barrier/wait_group.h"
#include "common/base/backoff.h"
#include "common/base/hash.h"
#include "common/base/log_last.h"
#include "common/base/random.h"
#include "common/framework/gang.h"

enum {
	AWAY_RETRY_SEC = 1,
	COMPLAINTS_KEPT = 23, /* a prime: the codes 400 to 404, 429, 500, and 502 to 504 have one each */
};

/* The waiters and reads of one namespace; exists as long as a group of the namespace does. */
struct wait_share {
	UT_hash_handle hh;
	char *ns;
	size_t groups;
	struct waiter *waiters; /* in the order they came */
	size_t count;
	size_t reads;             /* under way, of those that clients can cause at will */
	struct wait_group *queue; /* that wait for such a read; the first first */
};

struct waiter {
	struct waiter *prev, *next;
	struct waiter *prev_of_share, *next_of_share;
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
	struct wait_share *share;
	struct wait_group **queue; /* of the share, or of all complete gangs; NULL: in none */
	struct wait_group *prev_queued, *next_queued;
	struct kube_call *read;
	bool shared;          /* the read under way counts for the share */
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
	size_t max_of_group;
	struct wait_group *by_key;
	struct wait_share *shares; /* by namespace */
	struct wait_group *queue;  /* complete gangs that are to be read when there is room; the first first */
	size_t places_taken;       /* by reads under way */
	uint64_t last_number;
	struct random random;
	struct wait_group_counters counters;
	struct log_last complaints[COMPLAINTS_KEPT]; /* failed reads of all groups, by cause: causes alternate */
};

/* ---- wait_share.c ---- */

/* Adds the group to the share of its namespace, which is made when there is none. */
void wait_share_join(struct wait_group *group, const char *ns);
void wait_share_leave(struct wait_group *group);
/* The last waiter of the namespace that has most waiters. NULL: none has two more than ns. With a
 * difference of one, two namespaces would take each other's places in turn. */
struct waiter *wait_share_giving_way(const struct wait_groups *groups, const char *ns);

/* ---- wait_answer.c ---- */

/* The functions that answer waiters take them away. Their group stays. */

/* Takes the waiter out of its group and frees it. */
struct serve_request *waiter_take(struct waiter *waiter);
void waiter_answer_away(struct waiter *waiter, const char *why);
/* Its place is for a namespace with fewer waiters. */
void waiter_answer_displaced(struct waiter *waiter);
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
