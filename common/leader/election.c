/* The election's decisions; see election.h. One request is out at a time. A standby reads the Lease, then the record.
 * If both allow it, it writes the Lease. Once every other leader has ended, it writes the record, on the version that
 * it read before, and the Lease again: then it leads. Who has the Lease writes it on the version of its last write, and
 * reads it after a conflict. */
#include "common/leader/election.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

enum { CONFLICTS_AT_ONCE = 3, RELEASE_AGAIN_MS = 200, RELEASED_LEASE_MS = 1000 /* as client-go leaves it */ };

enum state { STANDBY, HOLDING, LEADING, RELEASED };
enum step { READ_LEASE, READ_RECORD, WRITE_LEASE, WRITE_RECORD };

struct election {
	struct election_options options;
	enum state state;
	/* as last answered */
	bool present; /* there is a Lease */
	bool seen;    /* there was one */
	struct election_lease lease;
	int64_t observed_ms; /* when we saw that it had changed, or was gone */
	bool dead;           /* its holder is known to have ended */
	bool recorded;
	struct election_lease record;
	/* our term, or the one that we try to begin */
	uint64_t epoch;
	int64_t former_member_ms;
	int64_t former_until_ms;
	bool waits;           /* it took the Lease from an unknown leader */
	int64_t lead_from_ms; /* every other leader has ended */
	bool written;         /* the record names our term */
	int64_t sent_ms;      /* when the last write of the Lease that succeeded was sent */
	uint64_t term;
	/* what is asked */
	enum step step;
	int64_t due_ms;
	bool out;
	enum step asked;
	int64_t asked_ms;
	int conflicts; /* since the last write of the Lease that succeeded */
	bool releasing;
	bool drained;
};

struct election *election_new(const struct election_options *options, int64_t now_ms)
{
	struct election *election = mem_calloc(1, sizeof(*election));

	election->options = *options;
	election->observed_ms = now_ms;
	election->due_ms = now_ms;
	return election;
}

void election_free(struct election *election)
{
	free(election);
}

static void plan(struct election *election, enum step step, int64_t due_ms)
{
	election->step = step;
	election->due_ms = due_ms;
}

/* Whether the Lease that was written last may still be ours alone. */
static bool in_time(const struct election *election, int64_t now_ms)
{
	return now_ms < election->sent_ms + election->options.renew_ms;
}

bool election_leads(const struct election *election, int64_t now_ms)
{
	return election->state == LEADING && in_time(election, now_ms);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- who holds the Lease ---------------------------------------------------------------------------------------- */

static bool ours(const struct election *election, const struct election_lease *lease)
{
	return strcmp(lease->holder, election->options.identity) == 0;
}

/* lease: NULL: there is none. The last one counts on. */
static void observe(struct election *election, const struct election_lease *lease, int64_t now_ms)
{
	bool news = lease == NULL ? election->present
				  : !election->present || strcmp(lease->version, election->lease.version) != 0;

	if (news) {
		election->dead = false;
		election->observed_ms = now_ms;
	}
	election->present = lease != NULL;
	if (lease == NULL)
		return;
	election->lease = *lease;
	election->seen = true;
}

/* A holder that gives it back takes its process out, too: where that is left, somebody else took out the holder, who
 * leads on. */
static bool given_back(const struct election_lease *lease)
{
	return lease->holder[0] == '\0' && lease->process[0] == '\0';
}

/* Whether the record names the term of the Lease. */
static bool same_term(const struct election_lease *record, const struct election_lease *lease)
{
	return record->transitions == lease->transitions &&
	       (given_back(lease) || strcmp(record->holder, lease->holder) == 0);
}

/* Whether one may lead who does not hold the Lease that we take: the last term is the one that the record names, and
 * the Lease was deleted, or taken, after that. */
static bool unknown_leader(const struct election *election)
{
	if (!election->recorded)
		return election->seen;
	return !election->present || !same_term(&election->record, &election->lease);
}

/* Whether processes may still act on grants of former leaders. */
static bool left_behind(const struct election *election)
{
	const struct election_lease *lease = &election->lease;

	if (unknown_leader(election))
		return true;
	if (lease->grants == ELECTION_GRANTS_CHILDREN)
		return !election->dead && !ours(election, lease);
	return lease->grants == ELECTION_GRANTS_MEMBERS;
}

/* When one who does not lead may write the Lease as its own. A leader has the time to put back one that is gone. */
static int64_t free_from_ms(const struct election *election)
{
	const struct election_lease *lease = &election->lease;
	int64_t duration_ms = lease->duration_ms > 0 ? lease->duration_ms : election->options.lease_ms;

	if (!unknown_leader(election)) /* somebody may have shortened it by hand */
		duration_ms = larger(duration_ms, election->record.duration_ms);
	if (!election->present)
		duration_ms = election->recorded || election->seen ? 2 * election->options.retry_ms : 0;
	else if (election->dead || ours(election, lease) || given_back(lease))
		duration_ms = 0;
	return election->observed_ms + duration_ms;
}

/* ---- moves ------------------------------------------------------------------------------------------------------ */

static void step_down(struct election *election, int64_t now_ms)
{
	election->state = STANDBY;
	plan(election, READ_LEASE, now_ms);
}

/* The epoch of the next term: larger than both objects have, because one that was deleted may come back as it was
 * before, by a write that is carried out late. After the largest one they begin anew. */
static uint64_t newer_epoch(const struct election *election)
{
	uint64_t lease = election->lease.transitions % ELECTION_EPOCH_MAX;
	uint64_t record = election->recorded ? election->record.transitions % ELECTION_EPOCH_MAX : 0;

	return (lease > record ? lease : record) + 1;
}

/* How long a leader goes on at most when it does not know that it has lost the Lease: as long as its Lease runs, which
 * is longer than its renew deadline, so that clocks may differ. */
static int64_t unknown_ms(const struct election *election)
{
	int64_t ms = election->recorded ? election->record.duration_ms : election->lease.duration_ms;

	return ms > 0 ? ms : election->options.lease_ms;
}

/* Tries to begin a term. Leases that were given before run on as they were, whatever ours are like. */
static void take(struct election *election, int64_t now_ms)
{
	int64_t member_ms = larger(election->options.member_ms, election->lease.member_ms);

	if (unknown_leader(election) && election->recorded)
		member_ms = larger(member_ms, election->record.member_ms);
	election->former_member_ms = member_ms;
	election->epoch = newer_epoch(election);
	plan(election, WRITE_LEASE, now_ms);
}

/* The Lease is ours; `lease` is still what it was before. */
static void hold(struct election *election, int64_t now_ms)
{
	election->state = HOLDING;
	election->written = false;
	election->waits = unknown_leader(election);
	election->lead_from_ms = now_ms + (election->waits ? unknown_ms(election) : 0);
	election->former_until_ms = 0;
	if (left_behind(election))
		election->former_until_ms = election->lead_from_ms + election->former_member_ms +
					    election->options.margin_ms;
}

/* Standby: looks again, at the latest when it may take the Lease. */
static void wait_more(struct election *election, int64_t now_ms)
{
	int64_t next_ms = now_ms + election->options.retry_ms + election->options.jitter_ms;
	int64_t free_ms = free_from_ms(election);

	plan(election, READ_LEASE, free_ms < next_ms ? free_ms : next_ms);
}

/* ---- what to send ----------------------------------------------------------------------------------------------- */

/* Before and in our term: what it granted, and what those before it did. A successor of ours waits for theirs, too. */
static void fill_lease(const struct election *election, int64_t now_ms, struct election_lease *out)
{
	const struct election_options *options = &election->options;
	bool others = election->state == STANDBY ? left_behind(election) : now_ms < election->former_until_ms;

	*out = (struct election_lease){.duration_ms = options->lease_ms,
				       .transitions = election->epoch,
				       .grants = options->grants,
				       .member_ms = others ? election->former_member_ms : options->member_ms};
	if (election->releasing && election->state == LEADING) {
		out->duration_ms = RELEASED_LEASE_MS;
		if (election->drained)
			out->grants = ELECTION_GRANTS_NONE;
	} else {
		memcpy(out->holder, options->identity, sizeof(out->holder));
		memcpy(out->process, options->process, sizeof(out->process));
	}
	if (others)
		out->grants = ELECTION_GRANTS_MEMBERS;
}

static int64_t timeout_ms(const struct election *election, int64_t now_ms)
{
	int64_t left_ms = election->sent_ms + election->options.renew_ms - now_ms;
	/* as client-go has it: there is time for a second one; and for the Lease behind that */
	int64_t most_ms = election->options.renew_ms /
			  (election->step == READ_RECORD || election->step == WRITE_RECORD ? 4 : 2);

	return election->state != STANDBY && left_ms < most_ms ? left_ms : most_ms;
}

bool election_next(struct election *election, int64_t now_ms, struct election_request *out)
{
	enum step step;

	if (election->state == RELEASED)
		return false;
	if (election->state != STANDBY && !in_time(election, now_ms))
		step_down(election, now_ms);
	if (election->out)
		return false;
	/* the Lease of one that has to wait ends by itself */
	if (election->releasing &&
	    (election->state == STANDBY || (election->state == HOLDING && now_ms < election->lead_from_ms))) {
		election->state = RELEASED;
		return false;
	}
	if (now_ms < election->due_ms)
		return false;
	step = election->step;
	*out = (struct election_request){.timeout_ms = timeout_ms(election, now_ms)};
	out->object = step == READ_RECORD || step == WRITE_RECORD ? ELECTION_RECORD : ELECTION_LEASE;
	if (step == WRITE_LEASE || step == WRITE_RECORD) {
		bool there = step == WRITE_LEASE ? election->present : election->recorded;

		out->verb = there ? ELECTION_UPDATE : ELECTION_CREATE;
		out->acquires = election->state == STANDBY;
		fill_lease(election, now_ms, &out->lease);
	}
	election->asked = step;
	election->asked_ms = now_ms;
	election->out = true;
	return true;
}

int64_t election_due_ms(const struct election *election)
{
	if (election->out)
		return election->state == LEADING ? election->sent_ms + election->options.renew_ms : INT64_MAX;
	return election->state == RELEASED ? INT64_MAX : election->due_ms;
}

/* ---- what comes back -------------------------------------------------------------------------------------------- */

/* lease: NULL: there is none. */
static void on_lease_read(struct election *election, const struct election_lease *lease, int64_t now_ms)
{
	observe(election, lease, now_ms);
	if (election->state == STANDBY)
		plan(election, READ_RECORD, now_ms);
	else if ((election->state == LEADING || !election->waits) &&
		 (lease == NULL ||
		  (lease->transitions == election->epoch && (ours(election, lease) || lease->holder[0] == '\0'))))
		/* Ours, or somebody deleted it, or took out its holder by hand: we put it right. Whoever took it in
		 * between waits longer than a leader goes on without it. Such a holder cannot do so: the leader that it
		 * waits for may have put the Lease back in between. */
		plan(election, WRITE_LEASE, now_ms);
	else
		step_down(election, now_ms);
}

static void on_lease_written(struct election *election, const struct election_lease *lease, int64_t now_ms)
{
	if (election->releasing && lease->holder[0] == '\0') {
		election->state = RELEASED;
		return;
	}
	if (election->state == STANDBY)
		hold(election, now_ms);
	observe(election, lease, now_ms);
	election->conflicts = 0;
	election->sent_ms = election->asked_ms;
	if (election->state == HOLDING && election->written) {
		election->state = LEADING;
		election->term++;
	}
	/* The record only after a write of the Lease that succeeded after the wait: nobody else has had it meanwhile.
	 */
	if (election->state == HOLDING && now_ms >= election->lead_from_ms)
		plan(election, WRITE_RECORD, now_ms);
	else
		plan(election, WRITE_LEASE,
		     election->releasing ? now_ms : election->asked_ms + election->options.retry_ms);
}

/* The record names our term. With the Lease still ours after that, we lead. */
static void on_record_written(struct election *election, const struct election_lease *record, int64_t now_ms)
{
	election->record = *record;
	election->recorded = true;
	election->written = true;
	plan(election, WRITE_LEASE, now_ms);
}

/* record: NULL: there is none. */
static void on_record_read(struct election *election, const struct election_lease *record, int64_t now_ms)
{
	bool unchanged = record == NULL ? !election->recorded
					: election->recorded && strcmp(record->version, election->record.version) == 0;

	election->recorded = record != NULL;
	if (record != NULL)
		election->record = *record;
	if (election->state == STANDBY) {
		if (now_ms >= free_from_ms(election))
			take(election, now_ms);
		else
			wait_more(election, now_ms);
	} else if (unchanged) {
		plan(election, WRITE_RECORD, now_ms);
	} else if (record != NULL && same_term(record, &election->lease)) {
		on_record_written(election, record, now_ms); /* the answer was lost */
	} else {
		step_down(election, now_ms);
	}
}

/* What comes after a request of which it is unknown what it did, or that was refused because of another's. A holder
 * writes again on the version that it knows: so it learns whether somebody has written since. */
static enum step look(const struct election *election, enum election_outcome outcome)
{
	if (election->state == HOLDING && outcome == ELECTION_FAILED && election->asked != READ_LEASE)
		return WRITE_LEASE;
	return election->state == HOLDING && election->asked == WRITE_RECORD ? READ_RECORD : READ_LEASE;
}

void election_answered(struct election *election, enum election_outcome outcome, const struct election_lease *lease,
		       int64_t now_ms)
{
	/* counted from the question, as in client-go: after a long wait for the answer there is time for another one */
	int64_t again_ms = election->asked_ms + (election->releasing ? RELEASE_AGAIN_MS : election->options.retry_ms);
	bool reads = election->asked == READ_RECORD || election->asked == READ_LEASE;

	election->out = false;
	if (election->state == RELEASED)
		return;
	if (election->state != STANDBY && !in_time(election, now_ms))
		step_down(election, now_ms);
	if (election->step != election->asked)
		return; /* it stepped down meanwhile, and looks anew */
	if (outcome == ELECTION_FAILED) {
		plan(election, look(election, outcome), again_ms);
		return;
	}
	if (outcome == ELECTION_CONFLICT || (outcome == ELECTION_ABSENT && !reads)) {
		/* one who leads has to know at once why */
		plan(election, look(election, outcome), ++election->conflicts > CONFLICTS_AT_ONCE ? again_ms : now_ms);
		return;
	}
	switch (election->asked) {
	case READ_RECORD: on_record_read(election, lease, now_ms); break;
	case READ_LEASE: on_lease_read(election, lease, now_ms); break;
	case WRITE_LEASE: on_lease_written(election, lease, now_ms); break;
	case WRITE_RECORD: on_record_written(election, lease, now_ms); break;
	}
}

void election_holder_dead(struct election *election)
{
	if (!election->present || election->dead || ours(election, &election->lease) ||
	    election->lease.holder[0] == '\0')
		return;
	election->dead = true;
	if (!election->out && election->state == STANDBY)
		plan(election, READ_LEASE, election->observed_ms);
}

void election_release(struct election *election, bool drained, int64_t now_ms)
{
	election->releasing = true;
	election->drained = drained;
	if (election->state != STANDBY)
		election->due_ms = now_ms;
}

bool election_released(const struct election *election)
{
	return election->state == RELEASED;
}

uint64_t election_epoch(const struct election *election)
{
	return election->epoch;
}

uint64_t election_term(const struct election *election)
{
	return election->term;
}

int64_t election_former_until_ms(const struct election *election)
{
	return election->former_until_ms;
}

const struct election_lease *election_seen(const struct election *election)
{
	return election->present ? &election->lease : NULL;
}
