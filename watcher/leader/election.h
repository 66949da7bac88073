/* Which of several watchers leads (README.md): the holder of a coordination.k8s.io Lease whose epoch is in the
 * record. This is the decision alone: no I/O, no clock. Time comes as an argument, in milliseconds of CLOCK_BOOTTIME;
 * what the API server said comes by election_answered(), what to ask it goes out by election_next(). lease.h does the
 * asking.
 *
 *            the Lease is free, expired, or its holder dead:
 *            written as ours                                         the record names this term
 *    STANDBY ────────────────────────────────────────────▶ ELECTED ────────────────────────────▶ LEADING
 *       ▲                                                     │ the record names another one      │   │
 *       └─────────────────────────────────────────────────────┴───────────────────────────────────┘   │
 *         the Lease is another holder's, or gone; or renew_ms since the sending                       │
 *         of the last write that succeeded                            RELEASED ◀── election_release() ┘
 * As client-go does it, but for what follows from members living on leases of their own:
 * - spec.leaseTransitions is the leader's epoch: newer with every term than the Lease's and the record's. It is in both
 *   before it is used. Nobody else's word changes it.
 * - An annotation tells who may still act for the holder (enum election_grants), so that a successor knows whether it
 *   has to wait for them.
 * - The record is an object of its own that outlives the Lease: epoch and holder of the newest term, and how long its
 *   leases run. Each term writes it on the version that it read before it took the Lease: so of two that took a Lease
 *   each, because somebody deleted one, one leads. The Lease names this version, too. A Lease that is gone, or that
 *   does not know the record, counts as held by the holder that the record names. */
#ifndef WATCHER_ELECTION_H
#define WATCHER_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

struct election;

/* Who may act on shards that the holder granted, once it is gone. */
enum election_grants {
	ELECTION_GRANTS_NONE,     /* nobody: it granted nothing, or all was given back */
	ELECTION_GRANTS_CHILDREN, /* its children, which end with it */
	ELECTION_GRANTS_MEMBERS,  /* processes of their own, on leases that run on; also when nothing tells */
};

/* leaseTransitions is an int32: behind this, epochs begin anew. */
#define ELECTION_EPOCH_MAX UINT64_C(2147483647)

enum { ELECTION_IDENTITY_SIZE = 128, ELECTION_PROCESS_SIZE = 320, ELECTION_TIME_SIZE = 40, ELECTION_VERSION_SIZE = 40 };

enum election_object { ELECTION_LEASE, ELECTION_RECORD, ELECTION_OBJECTS };

/* What matters of a Lease; of the record holder, duration_ms, transitions and member_ms, with grants MEMBERS. */
struct election_lease {
	char holder[ELECTION_IDENTITY_SIZE]; /* spec.holderIdentity; "": nobody */
	char renewed[ELECTION_TIME_SIZE];    /* spec.renewTime, for being compared only */
	int64_t duration_ms;                 /* spec.leaseDurationSeconds; <= 0: absent */
	uint64_t transitions;                /* spec.leaseTransitions */
	int64_t renew_ms;                    /* an annotation: renew_ms of the holder; <= 0: absent */
	enum election_grants grants;         /* an annotation */
	int64_t member_ms; /* another one: how long leases of members run that still count, at most; <= 0: absent */
	char process[ELECTION_PROCESS_SIZE]; /* another one: which process of which machine the holder is; "" unknown */
	/* another one: resourceVersion of the record that the holder read before it took the Lease; "" there was none;
	 * of the record its own */
	char record_version[ELECTION_VERSION_SIZE];
};

struct election_options {
	char identity[ELECTION_IDENTITY_SIZE]; /* of this process alone; not "" */
	char process[ELECTION_PROCESS_SIZE];
	int64_t lease_ms;            /* how long others wait before they take it (client-go: 15 s) */
	int64_t renew_ms;            /* without a renewal for this long it leads no longer (10 s); < lease_ms */
	int64_t retry_ms;            /* between two writes, or looks (2 s); < renew_ms */
	int64_t jitter_ms;           /* on top of it for one who does not lead: so that they do not all ask at once */
	int64_t member_ms;           /* how long the leases run that this process gives to members */
	int64_t margin_ms;           /* so long after the end of a member's lease nobody acts by it any more */
	enum election_grants grants; /* what this process grants to */
};

struct election *election_new(const struct election_options *options, int64_t now_ms);
void election_free(struct election *election);

enum election_verb { ELECTION_READ, ELECTION_CREATE, ELECTION_UPDATE };

struct election_request {
	enum election_object object;
	enum election_verb verb;
	/* CREATE, UPDATE: what is to be written. `renewed` is left empty: it is the wall clock's time. An UPDATE is
	 * meant for the object exactly as it was last answered (its resourceVersion). */
	struct election_lease lease;
	bool acquires;      /* a new term: acquireTime, too, is now */
	int64_t timeout_ms; /* > 0 */
};

/* What time brings: at election_due_ms(), and after every other call. true: send *out; election_answered() follows in
 * any case, and until then there is nothing more to send. */
bool election_next(struct election *election, int64_t now_ms, struct election_request *out);
/* When to call election_next() again at the latest, unless a request is out; INT64_MAX: never. */
int64_t election_due_ms(const struct election *election);

enum election_outcome {
	ELECTION_ANSWERED, /* done; what the object is now */
	ELECTION_ABSENT,   /* there is none (404) */
	ELECTION_CONFLICT, /* somebody else wrote (409) */
	ELECTION_FAILED,   /* anything else; whether it was carried out is unknown */
};

/* lease: for ELECTION_ANSWERED; NULL otherwise. */
void election_answered(struct election *election, enum election_outcome outcome, const struct election_lease *lease,
		       int64_t now_ms);
/* The process that election_seen() names is known to have ended. */
void election_holder_dead(struct election *election);
/* Gives the Lease back, if it is ours. drained: nobody acts on shards granted by us any more. */
void election_release(struct election *election, bool drained, int64_t now_ms);
/* Nothing is left to be done after election_release(). */
bool election_released(const struct election *election);

/* Whether this process leads at that moment: to be asked before every act that only a leader may do. Once it is false
 * it is so until election_next() has begun a new term. */
bool election_leads(const struct election *election, int64_t now_ms);
/* Of the present term, or the last one; 0 before the first. */
uint64_t election_epoch(const struct election *election);
/* Counts the terms led from 1. */
uint64_t election_term(const struct election *election);
/* Of the present term: from then on nobody acts for former leaders any more: the last of
 * them led no longer than its renew deadline, and members go on for the longest lease that was given, as long as ours
 * if nothing tells, and the margin. 0: nobody did when the term began. */
int64_t election_former_until_ms(const struct election *election);
/* Who holds the Lease by what was last read; NULL when nobody was ever seen. */
const struct election_lease *election_seen(const struct election *election);

#endif
