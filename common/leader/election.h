/* Decides which of several processes leads (watcher/README.md): the holder of a coordination.k8s.io Lease whose epoch
 * is in the record. It does no I/O and reads no clock: time is an argument, in milliseconds of CLOCK_BOOTTIME.
 * election_next() returns the next request to the API server, and election_answered() takes the answer. lease.h sends
 * the requests.
 *
 *             the Lease is free, expired,                      nobody else leads: record and
 *             or its holder dead: written as ours              Lease are written as ours, too
 *    STANDBY ─────────────────────────────────────▶ HOLDING ─────────────────────────────────▶ LEADING
 *       ▲                                              │                                        │   │
 *       └──────────────────────────────────────────────┴────────────────────────────────────────┘   │
 *         one of them is another's; or renew_ms since the sending                                   │
 *         of the last write that succeeded                          RELEASED ◀── election_release() ┘
 * election_release() takes a STANDBY, and a HOLDING one that has to wait, to RELEASED at once.
 * It works as client-go's election, with three additions, because members have leases of their own:
 * - spec.leaseTransitions is the leader's epoch: each term has a larger one than the Lease and the record had. Both
 *   objects contain it before the leader uses it. No message changes it.
 * - An annotation names who may still act for the holder (enum election_grants). A successor waits for those.
 * - The record is an object of its own that outlives the Lease: epoch and holder of the newest term, and how long its
 *   leases run. Each term writes it on the version that it read before it took the Lease, and the Lease again after
 *   that. So if somebody deletes a Lease, and two watchers take one each, only one leads. If the record does not name
 *   the term of the Lease that is taken, whom it names may still lead, for as long as its Lease ran. */
#ifndef LEADER_ELECTION_H
#define LEADER_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

struct election;

/* The processes that may still act on the holder's shards after the holder has ended. */
enum election_grants {
	ELECTION_GRANTS_NONE,     /* nobody: it granted no shards, or all were released */
	ELECTION_GRANTS_CHILDREN, /* its children, which end with it */
	ELECTION_GRANTS_MEMBERS,  /* separate processes, until their leases end; also if the annotation is missing */
};

/* leaseTransitions is an int32: after this epoch they begin again at 1. */
#define ELECTION_EPOCH_MAX UINT64_C(2147483647)

enum { ELECTION_IDENTITY_SIZE = 128, ELECTION_PROCESS_SIZE = 320, ELECTION_VERSION_SIZE = 40 };

enum election_object { ELECTION_LEASE, ELECTION_RECORD, ELECTION_OBJECTS };

/* The fields of a Lease that the election reads. The record has version, holder, duration_ms, transitions and
 * member_ms, and its grants are MEMBERS. */
struct election_lease {
	char holder[ELECTION_IDENTITY_SIZE]; /* spec.holderIdentity; "": nobody */
	char version[ELECTION_VERSION_SIZE]; /* resourceVersion */
	int64_t duration_ms;                 /* spec.leaseDurationSeconds; <= 0: absent */
	uint64_t transitions;                /* spec.leaseTransitions */
	enum election_grants grants;         /* an annotation */
	int64_t member_ms; /* an annotation: the longest member lease that may still run; <= 0: absent */
	char process[ELECTION_PROCESS_SIZE]; /* an annotation: process and machine of the holder; "": unknown */
};

struct election_options {
	char identity[ELECTION_IDENTITY_SIZE]; /* unique to this process; not "" */
	char process[ELECTION_PROCESS_SIZE];
	int64_t lease_ms;            /* how long others wait before they take it (client-go: 15 s) */
	int64_t renew_ms;            /* it stops leading after this time without a renewal (10 s); < lease_ms */
	int64_t retry_ms;            /* between two writes, or looks (2 s); < renew_ms */
	int64_t jitter_ms;           /* a standby adds up to this, so that standbys do not all ask at once */
	int64_t member_ms;           /* length of the leases that this process grants to members */
	int64_t margin_ms;           /* added to a member's lease: after that nobody acts under the lease */
	enum election_grants grants; /* what this process grants to */
};

struct election *election_new(const struct election_options *options, int64_t now_ms);
void election_free(struct election *election);

enum election_verb { ELECTION_READ, ELECTION_CREATE, ELECTION_UPDATE };

struct election_request {
	enum election_object object;
	enum election_verb verb;
	/* CREATE, UPDATE: the Lease or the record to be written. The caller fills in renewTime. An UPDATE has the
	 * resourceVersion of the last answer: lease.version is empty. */
	struct election_lease lease;
	bool acquires;      /* a new term: acquireTime, too, is now */
	int64_t timeout_ms; /* > 0 */
};

/* Call it at election_due_ms(), and after every other call. True: send *out, and call election_answered() in any case;
 * until then it returns false. */
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
/* Releases the Lease, if this process holds it. drained: nobody acts on shards that we granted. */
void election_release(struct election *election, bool drained, int64_t now_ms);
/* Nothing is left to be done after election_release(). */
bool election_released(const struct election *election);

/* Whether this process leads at now_ms. Ask before each action that only a leader may do. Once false, it stays false
 * until a new term begins. */
bool election_leads(const struct election *election, int64_t now_ms);
/* The epoch of the present term, or of the last one that was tried; 0 before the first. */
uint64_t election_epoch(const struct election *election);
/* Counts the terms led from 1. */
uint64_t election_term(const struct election *election);
/* The time after which nobody acts for former leaders: since none of them could lead, the longest lease that they gave
 * (as long as ours, if the annotation is missing) and the margin. 0: nobody acted for one when the term began. */
int64_t election_former_until_ms(const struct election *election);
/* The Lease as it was last answered; NULL: there was none. */
const struct election_lease *election_seen(const struct election *election);

#endif
