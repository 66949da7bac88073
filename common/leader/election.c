/* The election's decisions; see election.h. One request is out at a time. A standby reads the Lease, then the record.
 * If both allow it, it writes the Lease at once, and then the record. A leader writes the Lease on the version of its
 * last write, and reads it after a conflict. */
#include "common/leader/election.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

enum { CONFLICTS_AT_ONCE = 3, RELEASE_AGAIN_MS = 200, RELEASED_LEASE_MS = 1000 /* as client-go leaves it */ };

enum state { STANDBY, ELECTED, LEADING, RELEASED };
enum step { READ_LEASE, READ_RECORD, WRITE_LEASE, WRITE_RECORD };

struct election {
	struct election_options options;
	enum state state;
	/* as last answered */
	bool present; /* there is a Lease */
	struct election_lease found;
	bool recorded;
	struct election_lease record;
	/* who holds the Lease, by both of them */
	bool seen;
	struct election_lease lease;
	int64_t observed_ms; /* when we saw that it had changed: its holder renewed it before that */
	bool again;          /* the look after that has shown the same */
	bool dead;           /* its holder is known to have ended */
	/* our term */
	uint64_t epoch;
	uint64_t term;
	int64_t former_until_ms;
	int64_t former_member_ms;
	int64_t sent_ms; /* when the last write of the Lease that succeeded was sent */
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

/* ---- who holds the Lease ---------------------------------------------------------------------------------------- */

static bool ours(const struct election *election, const struct election_lease *lease)
{
	return strcmp(lease->holder, election->options.identity) == 0;
}

static bool same_term(const struct election_lease *a, const struct election_lease *b)
{
	return a->transitions == b->transitions && strcmp(a->holder, b->holder) == 0;
}

/* Whether the record is of a later term than the Lease: the Lease was deleted, or taken by one who did not know of it.
 */
static bool record_is_newer(const struct election *election)
{
	const struct election_lease *lease = &election->found;
	const struct election_lease *record = &election->record;

	if (!election->recorded || !election->present)
		return election->recorded;
	if (lease->transitions == record->transitions && (lease->holder[0] == '\0' || same_term(lease, record)))
		return false;
	return strcmp(lease->record_version, record->record_version) != 0;
}

/* The Lease is read before the record. So a record that is news may be of a term whose Lease was written in between,
 * and which renews that: only when the next look shows the same, the Lease is gone. */
static void observe(struct election *election, const struct election_lease *lease, bool by_record, int64_t now_ms)
{
	const struct election_lease *known = &election->lease;
	bool news = !election->seen || !same_term(known, lease) || strcmp(known->renewed, lease->renewed) != 0 ||
		    strcmp(known->record_version, lease->record_version) != 0;

	if (news)
		election->dead = false;
	if (news || (by_record && !election->again))
		election->observed_ms = now_ms;
	election->again = !news;
	election->lease = *lease;
	election->seen = true;
}

/* When there is neither of them, the holder that was seen last counts on. */
static void observe_both(struct election *election, int64_t now_ms)
{
	const struct election_lease *record = &election->record;

	if (!record_is_newer(election)) {
		if (election->present)
			observe(election, &election->found, false, now_ms);
	} else if (!ours(election, record) || !same_term(record, &election->lease)) { /* else we know more of it */
		observe(election, record, true, now_ms);
	}
}

static int64_t expires_ms(const struct election *election)
{
	return election->observed_ms +
	       (election->lease.duration_ms > 0 ? election->lease.duration_ms : election->options.lease_ms);
}

/* Whether one who does not lead may write the Lease as its own. A holder that gives it back takes its process out, too:
 * where that is left, somebody else took out the holder, who leads on. */
static bool free_to_take(const struct election *election, int64_t now_ms)
{
	const struct election_lease *lease = &election->lease;

	return !election->seen || election->dead || now_ms >= expires_ms(election) || ours(election, lease) ||
	       (lease->holder[0] == '\0' && lease->process[0] == '\0');
}

/* The processes that may still act on grants of former leaders. */
static enum election_grants left_behind(const struct election *election)
{
	if (!election->seen)
		return ELECTION_GRANTS_NONE;
	if (election->lease.grants == ELECTION_GRANTS_CHILDREN && (election->dead || ours(election, &election->lease)))
		return ELECTION_GRANTS_NONE;
	return election->lease.grants;
}

/* The holder renewed the Lease before we saw that it had, and has led without another renewal for so long at most. */
static int64_t former_end_ms(const struct election *election, int64_t now_ms)
{
	int64_t renew_ms = election->lease.renew_ms;
	int64_t end_ms = renew_ms > 0 ? election->observed_ms + renew_ms : expires_ms(election);

	return end_ms < now_ms ? end_ms : now_ms;
}

/* ---- moves ------------------------------------------------------------------------------------------------------ */

static void step_down(struct election *election, int64_t now_ms)
{
	election->state = STANDBY;
	plan(election, READ_LEASE, now_ms);
}

/* The Lease is ours; `lease` is still what it was before. */
static void elected(struct election *election, uint64_t epoch)
{
	const struct election_options *options = &election->options;
	int64_t member_ms = election->seen ? election->lease.member_ms : 0;

	election->state = ELECTED;
	election->epoch = epoch;
	election->sent_ms = election->asked_ms;
	/* leases that were given before run on as they were, whatever ours are like */
	election->former_member_ms = member_ms > options->member_ms ? member_ms : options->member_ms;
	election->former_until_ms = 0;
	if (left_behind(election) != ELECTION_GRANTS_NONE)
		election->former_until_ms = former_end_ms(election, election->asked_ms) + election->former_member_ms +
					    options->margin_ms;
}

static void lead(struct election *election)
{
	election->state = LEADING;
	election->term++;
	plan(election, WRITE_LEASE,
	     election->releasing ? election->sent_ms : election->sent_ms + election->options.retry_ms);
}

/* Standby: looks again, at the latest when the Lease would run out. */
static void wait_more(struct election *election, int64_t now_ms)
{
	int64_t next_ms = now_ms + election->options.retry_ms + election->options.jitter_ms;

	if (expires_ms(election) > now_ms && expires_ms(election) < next_ms)
		next_ms = expires_ms(election);
	plan(election, READ_LEASE, next_ms);
}

/* ---- what to send ----------------------------------------------------------------------------------------------- */

/* The epoch of the next term: larger than both have, because a record that was deleted may come back as it was before,
 * by a write that is carried out late. */
static uint64_t newer_epoch(const struct election *election)
{
	uint64_t epoch = election->lease.transitions;

	if (election->present && election->found.transitions > epoch)
		epoch = election->found.transitions;
	if (election->recorded && election->record.transitions > epoch)
		epoch = election->record.transitions;
	return epoch >= ELECTION_EPOCH_MAX ? 1 : epoch + 1;
}

/* Before and in our term: what it granted, and what those before it did. A successor of ours waits for theirs, too. */
static void fill_lease(const struct election *election, int64_t now_ms, struct election_lease *out)
{
	const struct election_options *options = &election->options;
	bool standby = election->state == STANDBY;
	const struct election_lease *knows = standby ? &election->record : &election->lease;
	bool others = standby ? left_behind(election) != ELECTION_GRANTS_NONE : now_ms < election->former_until_ms;
	int64_t former_ms = standby ? election->lease.member_ms : election->former_member_ms;

	*out = (struct election_lease){.duration_ms = options->lease_ms,
				       .renew_ms = options->renew_ms,
				       .transitions = standby ? newer_epoch(election) : election->epoch,
				       .grants = options->grants,
				       .member_ms = others && former_ms > options->member_ms ? former_ms
											     : options->member_ms};
	if (!standby || election->recorded)
		memcpy(out->record_version, knows->record_version, sizeof(out->record_version));
	if (election->releasing) {
		out->duration_ms = RELEASED_LEASE_MS;
		if (election->drained || election->state == ELECTED)
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
	if (election->releasing && election->state == STANDBY) {
		election->state = RELEASED;
		return false;
	}
	if (election->releasing && (election->step == READ_RECORD || election->step == WRITE_RECORD))
		plan(election, WRITE_LEASE, now_ms); /* it does not need the record any more */
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
	election->present = lease != NULL;
	if (lease != NULL)
		election->found = *lease;
	if (election->state == STANDBY)
		plan(election, READ_RECORD, now_ms);
	else if (lease != NULL && lease->transitions == election->epoch &&
		 (ours(election, lease) || lease->holder[0] == '\0'))
		/* ours, or somebody took out the holder by hand: nobody has led since, so we still do, and put it right
		 */
		plan(election, WRITE_LEASE, now_ms);
	else /* one that is gone takes a new term, of which others learn by the record */
		step_down(election, now_ms);
}

static void on_lease_written(struct election *election, const struct election_lease *lease, int64_t now_ms)
{
	if (election->releasing && lease->holder[0] == '\0') {
		election->state = RELEASED;
		return;
	}
	election->present = true;
	election->conflicts = 0;
	if (election->state == LEADING) {
		election->sent_ms = election->asked_ms;
		plan(election, WRITE_LEASE,
		     election->releasing ? now_ms : election->asked_ms + election->options.retry_ms);
	} else if (now_ms < election->asked_ms + election->options.renew_ms) {
		elected(election, lease->transitions);
		plan(election, WRITE_RECORD, now_ms);
	} else {
		step_down(election, now_ms); /* the answer comes too late to build on */
		return;
	}
	observe(election, lease, false, now_ms);
}

/* record: NULL: there is none. */
static void on_record_read(struct election *election, const struct election_lease *record, int64_t now_ms)
{
	bool unchanged = record == NULL ? !election->recorded
					: election->recorded &&
						  strcmp(record->record_version, election->record.record_version) == 0;

	election->recorded = record != NULL;
	if (record != NULL)
		election->record = *record;
	if (election->state == STANDBY) {
		observe_both(election, now_ms);
		if (free_to_take(election, now_ms))
			plan(election, WRITE_LEASE, now_ms);
		else
			wait_more(election, now_ms);
	} else if (unchanged) {
		plan(election, WRITE_RECORD, now_ms);
	} else if (record != NULL && same_term(record, &election->lease)) {
		lead(election); /* the write's answer was lost */
	} else {
		step_down(election, now_ms);
	}
}

void election_answered(struct election *election, enum election_outcome outcome, const struct election_lease *lease,
		       int64_t now_ms)
{
	/* counted from the question, as in client-go: after a long wait for the answer there is time for another one */
	int64_t again_ms = election->asked_ms + (election->releasing ? RELEASE_AGAIN_MS : election->options.retry_ms);
	enum step look = election->state == ELECTED && !election->releasing ? READ_RECORD : READ_LEASE;
	bool reads = election->asked == READ_RECORD || election->asked == READ_LEASE;

	election->out = false;
	if (election->state == RELEASED)
		return;
	if (election->state != STANDBY && !in_time(election, now_ms))
		step_down(election, now_ms);
	if (election->step != election->asked)
		return; /* it stepped down meanwhile, and looks anew */
	if (outcome == ELECTION_FAILED) {
		plan(election, look, again_ms);
		return;
	}
	if (outcome == ELECTION_CONFLICT || (outcome == ELECTION_ABSENT && !reads)) {
		/* one who leads has to know at once why */
		plan(election, look, ++election->conflicts > CONFLICTS_AT_ONCE ? again_ms : now_ms);
		return;
	}
	switch (election->asked) {
	case READ_RECORD: on_record_read(election, lease, now_ms); break;
	case READ_LEASE: on_lease_read(election, lease, now_ms); break;
	case WRITE_LEASE: on_lease_written(election, lease, now_ms); break;
	case WRITE_RECORD:
		election->record = *lease;
		election->recorded = true;
		lead(election);
		break;
	}
}

void election_holder_dead(struct election *election)
{
	if (!election->seen || election->dead || ours(election, &election->lease) || election->lease.holder[0] == '\0')
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
	return election->seen ? &election->lease : NULL;
}
