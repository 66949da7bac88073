/* Which of several watchers leads (ARCHITECTURE.md §3.6): the holder of a coordination.k8s.io Lease. This is the
 * decision alone: no I/O, no clock. Time comes as an argument, in milliseconds of CLOCK_BOOTTIME; what the API server
 * said comes by election_answered(), what to ask it goes out by election_next(). lease.h does the asking.
 *
 *                 the Lease is free, expired, or its holder dead: written as ours
 *       STANDBY ─────────────────────────────────────────────────────────────────▶ LEADING
 *          ▲                                                                          │ │
 *          └── another holder or a newer epoch seen, or renew_ms since the sending ───┘ │ election_release()
 *                                of the last write that succeeded                       ▼
 *                                                                                    RELEASED
 * As client-go does it, but for what follows from members living on leases of their own (ARCHITECTURE.md §7.3):
 * - spec.leaseTransitions is the leader's epoch: newer with every term than the Lease's and than our own. It is in the
 *   Lease before it is used. Nobody else's word changes it. Where a Lease was deleted, and nobody who had seen it leads
 *   next, epochs begin anew: peers heed those once the leases that they hold are over (peer.h).
 * - An annotation tells who may still act for the holder (enum election_grants), so that a successor knows whether it
 *   has to wait for them.
 * - A Lease that vanishes counts as held until it would have run out: somebody deleted it by hand. */
#ifndef WATCHER_ELECTION_H
#define WATCHER_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

struct election;

/* Who may act on ranges that the holder granted, once it is gone. */
enum election_grants {
	ELECTION_GRANTS_NONE,     /* nobody: it granted nothing, or all was given back */
	ELECTION_GRANTS_CHILDREN, /* its children, which end with it */
	ELECTION_GRANTS_MEMBERS,  /* processes of their own, on leases that run on; also when nothing tells */
	ELECTION_GRANTS_UNKNOWN,  /* the same; and another one may still lead, whose Lease was deleted by hand */
};

/* leaseTransitions is an int32: behind this, epochs begin anew. */
#define ELECTION_EPOCH_MAX UINT64_C(2147483647)

enum { ELECTION_IDENTITY_SIZE = 128, ELECTION_PROCESS_SIZE = 320, ELECTION_TIME_SIZE = 40 };

/* What matters of a Lease. */
struct election_lease {
	char holder[ELECTION_IDENTITY_SIZE]; /* spec.holderIdentity; "": nobody */
	char renewed[ELECTION_TIME_SIZE];    /* spec.renewTime, for being compared only */
	int64_t duration_ms;                 /* spec.leaseDurationSeconds; <= 0: absent */
	uint64_t transitions;                /* spec.leaseTransitions */
	int64_t renew_ms;                    /* an annotation: renew_ms of the holder; <= 0: absent */
	enum election_grants grants;         /* an annotation */
	int64_t member_ms; /* another one: how long leases of members run that still count, at most; <= 0: absent */
	char process[ELECTION_PROCESS_SIZE]; /* another one: which process of which machine the holder is; "" unknown */
};

struct election_options {
	char identity[ELECTION_IDENTITY_SIZE]; /* of this process alone; not "" */
	char process[ELECTION_PROCESS_SIZE];
	int64_t lease_ms;  /* how long others wait before they take it (client-go: 15 s) */
	int64_t renew_ms;  /* without a renewal for this long it leads no longer (10 s); < lease_ms */
	int64_t retry_ms;  /* between two writes, or looks (2 s); < renew_ms */
	int64_t jitter_ms; /* on top of it for one who does not lead: so that they do not all ask at once */
	int64_t member_ms; /* how long the leases run that this process gives to members */
	int64_t margin_ms; /* so long leading on top of a member's lease: nobody acts for a former leader any more */
	enum election_grants grants; /* what this process grants to */
};

struct election *election_new(const struct election_options *options, int64_t now_ms);
void election_free(struct election *election);

enum election_verb { ELECTION_READ, ELECTION_CREATE, ELECTION_UPDATE };

struct election_request {
	enum election_verb verb;
	/* CREATE, UPDATE: what is to be written. `renewed` is left empty: it is the wall clock's time. An UPDATE is
	 * meant for the Lease exactly as it was last answered (its resourceVersion). */
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
	ELECTION_ANSWERED, /* done; what the Lease is now */
	ELECTION_ABSENT,   /* there is none (404) */
	ELECTION_CONFLICT, /* somebody else wrote (409) */
	ELECTION_FAILED,   /* anything else; whether it was carried out is unknown */
};

/* lease: for ELECTION_ANSWERED; NULL otherwise. */
void election_answered(struct election *election, enum election_outcome outcome, const struct election_lease *lease,
		       int64_t now_ms);
/* The process that the Lease names is known to have ended. */
void election_holder_dead(struct election *election);
/* After election_first(): nobody has led before. Successors need not wait for such a one either. */
void election_settled(struct election *election, int64_t now_ms);
/* Gives the Lease back, if it is ours. drained: nobody acts on ranges granted by us any more. */
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
/* Whether, when the present term began, somebody might still act for a former leader: what no member claims waits one
 * lease plus margin (ARCHITECTURE.md §7.6). */
bool election_inherits(const struct election *election);
/* Whether, when the present term began, nothing was known of who led before: no Lease had been seen but one that this
 * process wrote to begin it, or one of a leader that did not know it either. Nobody has led, or somebody deleted the
 * Lease, and who holds it to be his may still lead. */
bool election_first(const struct election *election);
/* When the present term began, the former leader had ceased to lead at this time at the latest; 0: nothing is known of
 * it. */
int64_t election_former_end_ms(const struct election *election);
/* When the present term began, members' leases given by former leaders ran so long at most: as long as ours if nothing
 * tells, as when they have the same configuration. */
int64_t election_former_member_ms(const struct election *election);
/* The Lease as last seen; NULL when there was none. */
const struct election_lease *election_seen(const struct election *election);

#endif
