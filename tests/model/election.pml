/* Who leads: two watchers, the Lease, the record of the epoch, and a user who deletes one or the other. See README.md.
 *
 * Proven: never do two watchers lead at one time; a leader grants what nobody claims only when everything has run out
 * that other terms gave; the epoch of each term is greater than all before it.
 * Assumed of members (assignment.pml proves it): nobody acts on a shard of a leader that has drained. */

/* Times in ticks. */
#ifndef RENEW
#define RENEW 1 /* renewDeadline, by the leader's clock */
#endif
#ifndef DRIFT_LEADER
#define DRIFT_LEADER 1 /* the leader takes it for so much longer: its clock is slow, or a pause was not seen */
#endif
#ifndef LEASE
#define LEASE (RENEW + DRIFT_LEADER)
#endif
#ifndef MEMBER
#define MEMBER 1 /* memberLeaseSec */
#endif
#ifndef MEMBER_OTHER
#define MEMBER_OTHER MEMBER /* of watcher 1, where a roll-out changes it */
#endif
#ifndef AFTER
#define AFTER 1 /* a member's write may arrive so long after its lease: the drift of its clock, and the way of the write */
#endif
#ifndef MARGIN
#define MARGIN AFTER
#endif
/* How often things happen at most. */
#ifndef EPOCHS
#define EPOCHS 3
#endif
#ifndef DELETIONS
#define DELETIONS 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef LOSSES
#define LOSSES 1 /* writes whose outcome the watcher does not learn */
#endif

/* A holder, beside 0 and 1. */
#define NOBODY 2
#define ENDED 3 /* a process that is no more */

/* Where a watcher is. */
#define STANDBY 0
#define LOOKED 1  /* it has read both */
#define HOLDING 2 /* it has the Lease, and has yet to write the record */
#define LEADING 3

#define own_member(i) ((i) == 0 -> MEMBER : MEMBER_OTHER)
#define larger(a, b) ((a) > (b) -> (a) : (b))

/* The API server's objects. */
bool lease_there;
byte lease_holder = NOBODY;
byte lease_epoch;
byte lease_member;
bool lease_grants; /* somebody may act for the holder when it is gone */
byte record_epoch; /* 0: it does not exist */
byte record_holder = NOBODY;
byte record_member;

typedef watcher {
	byte at;
	/* the record as it was read last */
	bool record_fresh; /* nobody has written it since: a write that names its version succeeds */
	byte record_epoch; /* 0: it did not exist */
	byte record_holder;
	byte record_member;
	/* the Lease */
	bool seen;
	bool fresh;
	bool there;
	byte holder;
	byte epoch;
	byte member;
	bool grants;
	byte expire; /* until it has run out */
	/* the term */
	byte own_epoch;
	byte own_member; /* the longest member lease that counts */
	byte lead;       /* until the renew deadline */
	byte wait;       /* until it may lead */
	bool waits;      /* it has to wait, or had to */
	bool ready;      /* it has written the Lease after the wait */
	byte block;      /* until shards that nobody claims are granted */
	/* a write of each object that was given up, and that the server may carry out at any time */
	bool late;
	bool late_creates;
	byte late_holder;
	byte late_epoch;
	byte late_member;
	bool late_grants;
	bool late_record;
	bool late_record_creates;
	byte late_record_holder;
	byte late_record_epoch;
	byte late_record_member
}

watcher w[2];

/* For the proof alone. */
byte acting[2];     /* so long somebody may act on what the watcher's present term gave */
byte acting_before; /* … on what other terms gave */
byte newest_epoch;
byte newest_holder = NOBODY;
byte deletions;
byte deaths;
byte losses;
bool begun; /* watcher 0 is the first to write: what the other one could do first is the same */

/* Whether it leads, and may grant, renew, or take claims over.
 * models common/leader/election.c:election_leads
 * models watcher/main.c:answers
 * models watcher/main.c:on_message */
#define leads(i) (w[i].at == LEADING && w[i].lead > 0)

#define check(i) \
	if \
	:: leads(i) -> acting[i] = own_member(i) + AFTER \
	:: else \
	fi; \
	assert(!(leads(0) && leads(1))); \
	assert(!(leads(i) && w[i].block == 0 && (acting_before > 0 || acting[1 - i] > 0)))

/* ---- the server: every request is one step, when it is carried out ---- */

/* Without a deletion to come, nothing can be created where there is one. */
#define forget_late(i, also) \
	if \
	:: also || !w[i].late || (w[i].late_creates && lease_there && deletions == DELETIONS) -> \
		w[i].late = false; \
		w[i].late_creates = false; \
		w[i].late_holder = 0; \
		w[i].late_epoch = 0; \
		w[i].late_member = 0; \
		w[i].late_grants = false \
	:: else \
	fi

/* What names an older version is refused from now on. */
#define lease_changed() \
	w[0].fresh = false; \
	w[1].fresh = false; \
	forget_late(0, !w[0].late_creates); \
	forget_late(1, !w[1].late_creates)

#define lease_written(by_whom, epoch_now, member_now, grants_now) \
	lease_there = true; \
	lease_holder = by_whom; \
	lease_epoch = epoch_now; \
	lease_member = member_now; \
	lease_grants = grants_now; \
	lease_changed()

#define forget_late_record(i, also) \
	if \
	:: also || !w[i].late_record || (w[i].late_record_creates && record_epoch > 0 && deletions == DELETIONS) -> \
		w[i].late_record = false; \
		w[i].late_record_creates = false; \
		w[i].late_record_holder = 0; \
		w[i].late_record_epoch = 0; \
		w[i].late_record_member = 0 \
	:: else \
	fi

#define record_changed() \
	w[0].record_fresh = false; \
	w[1].record_fresh = false; \
	forget_late_record(0, !w[0].late_record_creates); \
	forget_late_record(1, !w[1].late_record_creates)

#define record_written(by_whom, epoch_now, member_now) \
	record_holder = by_whom; \
	record_epoch = epoch_now; \
	record_member = member_now; \
	record_changed()

/* A write of watcher i whose outcome it does not learn: carried out at once, or later, or never. */
#define give_up_lease(i, by_whom, grants_now) \
	if \
	:: w[i].late = true; \
		w[i].late_creates = !w[i].there; \
		w[i].late_holder = by_whom; \
		w[i].late_epoch = w[i].own_epoch; \
		w[i].late_member = w[i].own_member; \
		w[i].late_grants = grants_now; \
		forget_late(i, false) \
	:: lease_accepts(i) -> lease_written(by_whom, w[i].own_epoch, w[i].own_member, grants_now) \
	fi; \
	losses++

#define lease_accepts(i) (w[i].there -> w[i].fresh : !lease_there)
#ifdef RECORD_OVERWRITTEN
#define record_accepts(i) true
#else
#define record_accepts(i) (w[i].record_epoch > 0 -> w[i].record_fresh : record_epoch == 0)
#endif

/* ---- a watcher ---- */

#define read_record(i) \
	w[i].record_epoch = record_epoch; \
	w[i].record_holder = (record_epoch > 0 -> record_holder : 0); \
	w[i].record_member = record_member; \
	w[i].record_fresh = true

/* models common/leader/election.c:observe */
#define read_lease(i) \
	if \
	:: lease_there && !(w[i].fresh && w[i].there) -> \
		w[i].expire = (lease_holder == i -> 0 : LEASE); \
		w[i].seen = true; \
		w[i].holder = lease_holder; \
		w[i].epoch = lease_epoch; \
		w[i].member = lease_member; \
		w[i].grants = lease_grants \
	:: else \
	fi; \
	w[i].there = lease_there; \
	w[i].fresh = true

/* models common/leader/election.c:same_term
 * models common/leader/election.c:given_back */
#define same_term(i) (w[i].epoch == w[i].record_epoch && (w[i].holder == NOBODY || w[i].holder == w[i].record_holder))

/* models common/leader/election.c:unknown_leader */
#define unknown_leader(i) (w[i].record_epoch == 0 -> w[i].seen : !(w[i].there && same_term(i)))

/* A Lease that is gone may be taken at once here: that others let its holder put it back is for the sake of speed.
 * models common/leader/election.c:free_from_ms
 * models common/leader/election.c:election_holder_dead
 * models common/leader/lease.c:on_answer
 * models common/leader/identity.c:identity_process_ended */
#define free_to_take(i) \
	(!w[i].there || w[i].expire == 0 || w[i].holder == NOBODY || w[i].holder == (i) || w[i].holder == ENDED)

/* models common/leader/election.c:newer_epoch */
#define newer_epoch(i) (larger(w[i].epoch, w[i].record_epoch) + 1)

#ifdef RECORD_IGNORED /* whoever has the Lease leads */
#define UNKNOWN_WAIT 0
#elif defined(IMPATIENT) /* one tick less */
#define UNKNOWN_WAIT (LEASE - 1)
#else
#define UNKNOWN_WAIT LEASE
#endif

/* What it has to know of former terms.
 * models common/leader/election.c:take
 * models common/leader/election.c:hold
 * models common/leader/election.c:unknown_ms
 * models common/leader/election.c:left_behind */
#define take(i) \
	w[i].own_epoch = newer_epoch(i); \
	w[i].own_member = larger(own_member(i), w[i].member); \
	if \
	:: unknown_leader(i) -> \
		w[i].own_member = larger(w[i].own_member, w[i].record_member); \
		w[i].wait = UNKNOWN_WAIT; \
		w[i].waits = true; \
		w[i].block = LEASE + w[i].own_member + MARGIN \
	:: else -> \
		w[i].wait = 0; \
		w[i].block = (w[i].seen && w[i].grants -> w[i].own_member + MARGIN : 0) \
	fi

#define forget_record(i) \
	w[i].record_fresh = false; \
	w[i].record_epoch = 0; \
	w[i].record_holder = 0; \
	w[i].record_member = 0

#define stand_by(i) \
	w[i].at = STANDBY; \
	w[i].own_epoch = 0; \
	w[i].wait = 0; \
	w[i].waits = false; \
	w[i].ready = false; \
	w[i].block = 0; \
	w[i].lead = 0; \
	forget_record(i)

/* models common/leader/election.c:step_down */
#define step_down(i) \
	stand_by(i); \
	w[i].fresh = false

#ifdef TERM_FROM_ANSWER /* which comes a tick after the write was sent */
#define LEADS_FOR (RENEW + DRIFT_LEADER + 1)
#else
#define LEADS_FOR (RENEW + DRIFT_LEADER)
#endif

/* models common/leader/election.c:on_lease_written */
#define lease_held(i) \
	lease_written(i, w[i].own_epoch, w[i].own_member, true); \
	w[i].fresh = true; \
	w[i].there = true; \
	w[i].seen = true; \
	w[i].holder = i; \
	w[i].epoch = w[i].own_epoch; \
	w[i].member = w[i].own_member; \
	w[i].grants = true; \
	w[i].expire = 0; \
	w[i].lead = LEADS_FOR; \
	check(i)

/* It leads.
 * models watcher/shards/shard_table.c:shard_table_new
 * models watcher/leader/term.c:make_router */
#define begin_term(i) \
	assert(w[i].own_epoch > newest_epoch); \
	newest_epoch = w[i].own_epoch; \
	newest_holder = i; \
	acting_before = larger(acting_before, acting[i]); \
	acting[i] = 0; \
	w[i].at = LEADING; \
	forget_record(i); \
	check(i)

/* The process ends; the next one has another identity, and has seen nothing. */
#define end_process(i) \
	deaths++; \
	lease_holder = (lease_holder == i -> ENDED : lease_holder); \
	record_holder = (record_holder == i -> ENDED : record_holder); \
	newest_holder = (newest_holder == i -> ENDED : newest_holder); \
	w[1 - i].holder = (w[1 - i].seen && w[1 - i].holder == i -> ENDED : w[1 - i].holder); \
	w[1 - i].record_holder = (w[1 - i].record_epoch > 0 && w[1 - i].record_holder == i -> ENDED : w[1 - i].record_holder); \
	w[i].late_holder = (w[i].late && w[i].late_holder == i -> ENDED : w[i].late_holder); \
	w[i].late_record_holder = (w[i].late_record -> ENDED : 0); \
	step_down(i); \
	w[i].there = false; \
	w[i].seen = false; \
	w[i].own_member = 0; \
	w[i].holder = 0; \
	w[i].epoch = 0; \
	w[i].member = 0; \
	w[i].grants = false; \
	w[i].expire = 0; \
	acting_before = larger(acting_before, acting[i]); \
	acting[i] = 0

/* The record names its term. With the Lease its own after that, it leads.
 * models common/leader/election.c:on_record_written
 * models common/leader/election.c:on_lease_written */
#ifdef UNCONFIRMED /* it leads at once */
#define after_record(i) begin_term(i)
#else
#define after_record(i) read_record(i)
#endif

#define renewed(i) \
	lease_held(i); \
	w[i].ready = (w[i].at == HOLDING && w[i].wait == 0); \
	if \
	:: w[i].at == HOLDING && w[i].record_epoch == w[i].own_epoch && w[i].record_holder == i -> begin_term(i) \
	:: else \
	fi

/* Nobody else has taken the Lease since. */
#ifdef OVERWRITES /* takes back the Lease of one that did not come into the record */
#define keeps(i) (lease_epoch <= w[i].own_epoch)
#else
#define keeps(i) (lease_holder == (i) && lease_epoch == w[i].own_epoch)
#endif

/* A leader, or one that has no leader to wait for. */
#ifdef HOLDS_ON
#define goes_on(i) true
#else
#define goes_on(i) (w[i].at == LEADING || !w[i].waits)
#endif

/* models common/leader/election.c:election_next
 * models common/leader/election.c:election_answered */
proctype watch(byte i)
{
	do
	/* ---- a standby reads the Lease, then the record, and writes the Lease if it may ---- */
	/* Both are read at one time here: the writes succeed only if both stay as they were. */
	:: d_step { w[i].at == STANDBY ->
		printf("%d reads the Lease and the record\n", i);
		read_lease(i);
		read_record(i);
		w[i].at = LOOKED }
	:: d_step { w[i].at == LOOKED && !(w[i].fresh && w[i].record_fresh) -> stand_by(i) }
	/* models common/leader/election.c:fill_lease */
	:: atomic { w[i].at == LOOKED && free_to_take(i) && newer_epoch(i) <= EPOCHS && (i == 0 || begun || MEMBER != MEMBER_OTHER) ->
		d_step {
		begun = true;
		take(i) };
		if
		:: lease_accepts(i) -> d_step {
			printf("%d takes the Lease, epoch %d\n", i, w[i].own_epoch);
			w[i].at = HOLDING;
			renewed(i) }
		:: losses < LOSSES && !w[i].late && (lease_accepts(i) || !w[i].there) ->
			printf("%d learns nothing of its write of the Lease\n", i);
			give_up_lease(i, i, true);
			d_step { stand_by(i) }
		:: !lease_accepts(i) -> d_step { stand_by(i) }
		fi }

	/* ---- one that has the Lease writes the record, once nobody else can lead ---- */
	:: d_step { w[i].at == HOLDING && w[i].lead > 0 && w[i].ready && record_accepts(i) && w[i].record_epoch < w[i].own_epoch ->
		printf("%d writes the record\n", i);
		record_written(i, w[i].own_epoch, w[i].own_member);
		after_record(i) }
	:: atomic { w[i].at == HOLDING && w[i].lead > 0 && w[i].ready && losses < LOSSES && !w[i].late_record &&
		    w[i].record_epoch < w[i].own_epoch && (record_accepts(i) || w[i].record_epoch == 0) ->
		printf("%d learns nothing of its write of the record\n", i);
		losses++;
		if
		:: record_accepts(i) -> record_written(i, w[i].own_epoch, w[i].own_member)
		:: d_step {
			w[i].late_record = true;
			w[i].late_record_creates = (w[i].record_epoch == 0);
			w[i].late_record_holder = i;
			w[i].late_record_epoch = w[i].own_epoch;
			w[i].late_record_member = w[i].own_member;
			forget_late_record(i, false) }
		fi }
	/* models common/leader/election.c:on_record_read */
	:: d_step { w[i].at == HOLDING && w[i].lead > 0 && !record_accepts(i) &&
		    !(w[i].record_epoch == w[i].own_epoch && w[i].record_holder == i) ->
		printf("%d reads the record again\n", i);
		if
		:: w[i].ready && record_epoch == w[i].own_epoch && record_holder == i -> after_record(i)
		:: else -> step_down(i)
		fi }

	/* ---- and renews the Lease ---- */
	:: d_step { w[i].at >= HOLDING && w[i].lead > 0 && w[i].fresh && w[i].there ->
		printf("%d renews\n", i);
		renewed(i) }
	:: atomic { w[i].at >= HOLDING && w[i].lead > 0 && w[i].fresh && !w[i].late && losses < LOSSES ->
		printf("%d learns nothing of its renewal\n", i);
		give_up_lease(i, i, true) }
	/* One that is gone is created again.
	 * models common/leader/election.c:on_lease_read */
	:: d_step { w[i].at >= HOLDING && w[i].lead > 0 && !w[i].fresh ->
		printf("%d reads the Lease, which it had\n", i);
		w[i].there = lease_there;
		w[i].fresh = true;
		if
		:: (lease_there && !keeps(i)) || !goes_on(i) -> step_down(i)
		:: else
		fi }
	:: d_step { w[i].at >= HOLDING && w[i].lead > 0 && w[i].fresh && !w[i].there ->
		if
		:: lease_there -> w[i].fresh = false
		:: else -> printf("%d creates the Lease again\n", i); renewed(i)
		fi }
	:: d_step { w[i].at >= HOLDING && w[i].lead == 0 -> printf("%d leads no longer\n", i); step_down(i) }

	/* ---- the end: killed; asked to end, with leases that run on, or with all shards let go ---- */
	:: d_step { deaths < DEATHS -> printf("%d is killed\n", i); end_process(i) }
	/* models watcher/main.c:stop
	 * models watcher/main.c:on_drained
	 * models common/leader/election.c:election_release
	 * models watcher/leader/term.c:term_drained */
	:: atomic { deaths < DEATHS && w[i].at == LEADING && w[i].lead > 0 && w[i].fresh && w[i].there && !w[i].late ->
		if
		:: printf("%d gives the Lease back\n", i);
			lease_written(NOBODY, w[i].own_epoch, w[i].own_member, true)
		:: printf("%d gives the Lease back, drained\n", i);
			acting[i] = 0;
			lease_written(NOBODY, w[i].own_epoch, w[i].own_member, (w[i].block > 0))
		:: losses < LOSSES -> printf("%d gives the Lease back, and learns nothing of that\n", i);
			give_up_lease(i, NOBODY, true)
		fi;
		d_step { end_process(i) } }
	od
}

#define down(timer) timer = (timer > 0 -> timer - 1 : 0)

/* The last PING of a term may be sent right when it ends. */
#define tick(i) \
	acting[i] = (leads(i) -> own_member(i) + AFTER : (acting[i] > 0 -> acting[i] - 1 : 0)); \
	down(w[i].expire); \
	down(w[i].lead); \
	down(w[i].wait); \
	down(w[i].block)

#define late_lease(i) \
	if \
	:: w[i].late_creates && lease_there \
	:: else -> lease_written(w[i].late_holder, w[i].late_epoch, w[i].late_member, w[i].late_grants) \
	fi; \
	forget_late(i, true)

#define late_record(i) \
	if \
	:: w[i].late_record_creates && record_epoch > 0 \
	:: else -> record_written(w[i].late_record_holder, w[i].late_record_epoch, w[i].late_record_member) \
	fi; \
	forget_late_record(i, true)

proctype world()
{
	do
	:: d_step { true ->
		printf("---- tick\n");
		tick(0);
		tick(1);
		down(acting_before);
		check(0);
		check(1) }
	/* Never what alone names the newest term: with that gone nobody can know who leads. */
	:: d_step { deletions < DELETIONS && lease_there && record_epoch > 0 &&
		    (record_epoch > newest_epoch || (record_epoch == newest_epoch && record_holder == newest_holder)) ->
		printf("a user deletes the Lease\n");
		deletions++;
		lease_there = false;
		lease_holder = NOBODY;
		lease_epoch = 0;
		lease_member = 0;
		lease_grants = false;
		lease_changed() }
	:: d_step { deletions < DELETIONS && lease_there && record_epoch > 0 && lease_epoch == record_epoch &&
		    lease_holder == record_holder ->
		printf("a user deletes the record\n");
		deletions++;
		record_holder = NOBODY;
		record_epoch = 0;
		record_member = 0;
		record_changed() }
	:: d_step { w[0].late -> printf("a write of the Lease by 0 arrives late\n"); late_lease(0) }
	:: d_step { w[1].late -> printf("a write of the Lease by 1 arrives late\n"); late_lease(1) }
	:: d_step { w[0].late_record -> printf("a write of the record by 0 arrives late\n"); late_record(0) }
	:: d_step { w[1].late_record -> printf("a write of the record by 1 arrives late\n"); late_record(1) }
	od
}

init
{
	atomic {
		run watch(0);
		run watch(1);
		run world()
	}
}
