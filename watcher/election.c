/* The decision who leads; see election.h. One request is out at a time. A standby reads, and writes only right after it
 * has read that it may; a leader writes on the version that its last write gave, and reads when that is no longer the
 * one. */
#include "watcher/election.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

enum { CONFLICTS_AT_ONCE = 3, RELEASE_AGAIN_MS = 200, RELEASED_LEASE_MS = 1000 /* as client-go leaves it */ };

enum state { STANDBY, LEADING, RELEASED };

struct election {
	struct election_options options;
	enum state state;
	/* the Lease */
	bool seen;    /* it was there once: `lease` is what it was last */
	bool known;   /* … as somebody else's, or ours in a term: who led before us is known */
	bool present; /* it is there now, as far as we know */
	bool dead;    /* its holder is known to have ended */
	struct election_lease lease;
	int64_t observed_ms; /* when we saw that it had changed: its holder renewed it before that */
	/* our term */
	uint64_t epoch;
	uint64_t term;
	bool inherits;
	bool first;
	bool unsettled; /* first, and whether somebody has led before is still open */
	int64_t former_end_ms;
	int64_t former_member_ms;
	int64_t led_ms;  /* when the term began */
	int64_t sent_ms; /* when the last write that succeeded was sent */
	/* what is asked */
	bool writes; /* the next request is a write; otherwise it reads */
	int64_t due_ms;
	bool out;
	struct election_request asked;
	int64_t asked_ms;
	int conflicts; /* since the last write that succeeded */
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

static void plan(struct election *election, bool writes, int64_t due_ms)
{
	election->writes = writes;
	election->due_ms = due_ms;
}

bool election_leads(const struct election *election, int64_t now_ms)
{
	return election->state == LEADING && now_ms < election->sent_ms + election->options.renew_ms;
}

static bool ours(const struct election *election)
{
	return strcmp(election->lease.holder, election->options.identity) == 0;
}

/* ---- the Lease as it is seen ------------------------------------------------------------------------------------ */

static void observe(struct election *election, const struct election_lease *lease, int64_t now_ms)
{
	const struct election_lease *known = &election->lease;

	if (!election->seen || strcmp(known->holder, lease->holder) != 0 ||
	    strcmp(known->renewed, lease->renewed) != 0 || known->transitions != lease->transitions) {
		election->observed_ms = now_ms;
		election->dead = false;
	}
	election->lease = *lease;
	election->seen = true;
	election->present = true;
	/* one that we have created, but heard no answer of, says nothing of who leads */
	if (!ours(election))
		election->known = true;
}

static int64_t expires_ms(const struct election *election)
{
	return election->observed_ms +
	       (election->lease.duration_ms > 0 ? election->lease.duration_ms : election->options.lease_ms);
}

/* Whether one who does not lead may write the Lease as its own. */
static bool free_to_take(const struct election *election, int64_t now_ms)
{
	return !election->seen || election->dead || now_ms >= expires_ms(election) ||
	       (election->present && (election->lease.holder[0] == '\0' || ours(election)));
}

/* Who may act on grants of those who led before. */
static enum election_grants left_behind(const struct election *election)
{
	if (!election->known)
		return ELECTION_GRANTS_NONE;
	if (election->lease.grants == ELECTION_GRANTS_CHILDREN && (election->dead || ours(election)))
		return ELECTION_GRANTS_NONE;
	return election->lease.grants;
}

/* The holder renewed the Lease before we saw that it had, and has led without another renewal for so long at most. */
static int64_t former_end_ms(const struct election *election, int64_t now_ms)
{
	int64_t renew_ms = election->lease.renew_ms;
	int64_t end_ms = renew_ms > 0 ? election->observed_ms + renew_ms : expires_ms(election);

	if (!election->known || election->lease.grants == ELECTION_GRANTS_UNKNOWN)
		return 0;
	return end_ms < now_ms ? end_ms : now_ms;
}

/* Leases that were given before run on as they were, whatever ours are like. */
static int64_t longer_member_ms(const struct election *election, int64_t former_ms)
{
	return former_ms > election->options.member_ms ? former_ms : election->options.member_ms;
}

/* After so long leading, nobody acts for a former leader any more. */
static int64_t settle_ms(const struct election *election)
{
	return election->former_member_ms + election->options.margin_ms;
}

/* ---- moves ------------------------------------------------------------------------------------------------------ */

static void step_down(struct election *election, int64_t now_ms)
{
	election->state = STANDBY;
	plan(election, false, now_ms);
}

static void lead(struct election *election, int64_t now_ms)
{
	if (now_ms >= election->asked_ms + election->options.renew_ms) {
		plan(election, false, now_ms); /* the answer comes too late to build on */
		return;
	}
	election->state = LEADING;
	election->term++;
	election->led_ms = now_ms;
	election->inherits = left_behind(election) != ELECTION_GRANTS_NONE;
	election->first = !election->known || election->lease.grants == ELECTION_GRANTS_UNKNOWN;
	election->unsettled = election->first;
	election->former_end_ms = former_end_ms(election, now_ms);
	election->former_member_ms = longer_member_ms(election, election->known ? election->lease.member_ms : 0);
	election->known = true;
}

/* Standby: looks again, at the latest when the Lease would run out. */
static void wait_more(struct election *election, int64_t now_ms)
{
	int64_t next_ms = now_ms + election->options.retry_ms + election->options.jitter_ms;

	if (election->seen && expires_ms(election) > now_ms && expires_ms(election) < next_ms)
		next_ms = expires_ms(election);
	plan(election, false, next_ms);
}

/* ---- what to send ----------------------------------------------------------------------------------------------- */

static uint64_t newer_epoch(const struct election *election)
{
	uint64_t newest = election->lease.transitions;

	if (newest < election->epoch)
		newest = election->epoch;
	return newest >= ELECTION_EPOCH_MAX ? 1 : newest + 1;
}

/* Whether somebody may act for those who led before. */
static bool others_act(const struct election *election, int64_t now_ms)
{
	return election->state == LEADING ? election->inherits && now_ms < election->led_ms + settle_ms(election)
					  : left_behind(election) != ELECTION_GRANTS_NONE;
}

static int64_t member_ms_now(const struct election *election, int64_t now_ms)
{
	if (!others_act(election, now_ms))
		return election->options.member_ms;
	return longer_member_ms(election,
				election->state == LEADING ? election->former_member_ms : election->lease.member_ms);
}

/* own: to whom we granted. */
static enum election_grants grants_now(const struct election *election, enum election_grants own, int64_t now_ms)
{
	const struct election_options *options = &election->options;
	bool leads = election->state == LEADING;
	bool unknown = leads ? election->unsettled &&
				       now_ms < election->led_ms + options->lease_ms + settle_ms(election)
			     : !election->known || election->lease.grants == ELECTION_GRANTS_UNKNOWN;
	bool others = others_act(election, now_ms);

	/* a successor of ours has to wait for our predecessor's too */
	return unknown ? ELECTION_GRANTS_UNKNOWN : others ? ELECTION_GRANTS_MEMBERS : own;
}

static void fill_lease(const struct election *election, int64_t now_ms, struct election_lease *out)
{
	*out = (struct election_lease){.duration_ms = election->options.lease_ms,
				       .renew_ms = election->options.renew_ms,
				       .member_ms = member_ms_now(election, now_ms)};
	if (election->releasing) {
		out->duration_ms = RELEASED_LEASE_MS;
		out->transitions = election->epoch;
		out->grants = grants_now(election, election->drained ? ELECTION_GRANTS_NONE : election->options.grants,
					 now_ms);
		return;
	}
	memcpy(out->holder, election->options.identity, sizeof(out->holder));
	memcpy(out->process, election->options.process, sizeof(out->process));
	out->grants = grants_now(election, election->options.grants, now_ms);
	out->transitions = election->state == LEADING ? election->epoch : newer_epoch(election);
}

static int64_t timeout_ms(const struct election *election, int64_t now_ms)
{
	int64_t left_ms = election->sent_ms + election->options.renew_ms - now_ms;
	int64_t most_ms = election->options.renew_ms / 2; /* as client-go has it: there is time for a second one */

	return election->state == LEADING && left_ms < most_ms ? left_ms : most_ms;
}

bool election_next(struct election *election, int64_t now_ms, struct election_request *out)
{
	if (election->state == LEADING && !election_leads(election, now_ms))
		step_down(election, now_ms);
	if (election->out || election->state == RELEASED)
		return false;
	if (election->releasing && (election->state != LEADING || !ours(election))) {
		election->state = RELEASED;
		return false;
	}
	if (now_ms < election->due_ms)
		return false;
	*out = (struct election_request){.verb = ELECTION_READ, .timeout_ms = timeout_ms(election, now_ms)};
	if (election->writes) {
		out->verb = election->present ? ELECTION_UPDATE : ELECTION_CREATE;
		out->acquires = election->state == STANDBY;
		fill_lease(election, now_ms, &out->lease);
	}
	election->asked = *out;
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

static void on_read(struct election *election, int64_t now_ms)
{
	if (election->state == LEADING) {
		/* ours, or given back by hand: nobody has led since, so we still do, and put it right */
		if (!election->present || ((ours(election) || election->lease.holder[0] == '\0') &&
					   election->lease.transitions <= election->epoch))
			plan(election, true, now_ms);
		else
			step_down(election, now_ms);
	} else if (free_to_take(election, now_ms)) {
		plan(election, true, now_ms);
	} else {
		wait_more(election, now_ms);
	}
}

static void on_written(struct election *election, const struct election_lease *lease, int64_t now_ms)
{
	if (election->releasing && lease->holder[0] == '\0') {
		election->state = RELEASED;
		return;
	}
	election->conflicts = 0;
	plan(election, true, election->asked_ms + election->options.retry_ms);
	if (election->asked.acquires)
		lead(election, now_ms); /* by what the Lease was before */
	if (election->state == LEADING) {
		election->epoch = lease->transitions;
		election->sent_ms = election->asked_ms;
	}
	if (election->releasing)
		election->due_ms = now_ms;
}

void election_answered(struct election *election, enum election_outcome outcome, const struct election_lease *lease,
		       int64_t now_ms)
{
	int64_t retry_ms = now_ms + election->options.retry_ms;
	bool wrote = election->asked.verb != ELECTION_READ;

	election->out = false;
	if (election->state == RELEASED)
		return;
	if (election->state == LEADING && !election_leads(election, now_ms))
		step_down(election, now_ms);
	switch (outcome) {
	case ELECTION_ANSWERED:
		if (wrote)
			on_written(election, lease, now_ms);
		observe(election, lease, now_ms);
		if (!wrote)
			on_read(election, now_ms);
		break;
	case ELECTION_ABSENT:
		election->present = false;
		on_read(election, now_ms);
		break;
	case ELECTION_CONFLICT:
		/* one who leads has to know at once why */
		plan(election, false, ++election->conflicts > CONFLICTS_AT_ONCE ? retry_ms : now_ms);
		break;
	case ELECTION_FAILED: plan(election, false, election->releasing ? now_ms + RELEASE_AGAIN_MS : retry_ms); break;
	}
}

void election_holder_dead(struct election *election)
{
	if (!election->seen || election->dead || ours(election) || election->lease.holder[0] == '\0')
		return;
	election->dead = true;
	if (!election->out && election->state == STANDBY)
		plan(election, true, election->observed_ms);
}

void election_settled(struct election *election, int64_t now_ms)
{
	if (!election->unsettled || election->state != LEADING)
		return;
	election->unsettled = false;
	if (!election->out)
		election->due_ms = now_ms;
}

void election_release(struct election *election, bool drained, int64_t now_ms)
{
	election->releasing = true;
	election->drained = drained;
	if (election->state == LEADING)
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

bool election_inherits(const struct election *election)
{
	return election->inherits;
}

bool election_first(const struct election *election)
{
	return election->first;
}

int64_t election_former_end_ms(const struct election *election)
{
	return election->former_end_ms;
}

int64_t election_former_member_ms(const struct election *election)
{
	return election->former_member_ms;
}

const struct election_lease *election_seen(const struct election *election)
{
	return election->present ? &election->lease : NULL;
}
