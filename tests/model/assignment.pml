/* Who acts on a shard: one leader's term, two members, SHARDS shards; with what a former term left behind. See README.md.
 *
 * Proven: never do two members act on a shard, nor two processes of one member; nor can any message on its way let them,
 * so that the next term begins as this one is assumed to; a shard without holder is held again (CALM).
 * Assumed of the leader (election.pml proves it): no other one leads from now on; what others gave has run out before
 * shards are granted that nobody claims. */

/* Times in ticks, by the members' clocks. */
#ifndef MEMBER
#define MEMBER 1 /* memberLeaseSec */
#endif
#ifndef MEMBER_FORMER
#define MEMBER_FORMER MEMBER /* of the former term, where the configuration changes */
#endif
#ifndef AFTER
#define AFTER 1 /* a write may arrive so long after the lease: the drift of both clocks, and the way of the write */
#endif
#ifndef MARGIN
#define MARGIN AFTER
#endif
#ifndef SHARDS
#define SHARDS 2
#endif
#ifndef STARTS
#define STARTS 1 /* processes that start anew under a member's name */
#endif
#define FULL (MEMBER + AFTER)
#define FULL_FORMER (MEMBER_FORMER + AFTER)
/* models watcher/shards/shard_table.c:lease_span */
#define SPAN (MEMBER + MARGIN)

#define larger(a, b) ((a) > (b) -> (a) : (b))
#define down(timer) timer = (timer > 0 -> timer - 1 : 0)

/* A shard in the leader's table. */
#define FREE 0
#define GRANTED 1
#define REVOKING 2

/* How old a version is: so many newer ones its member was given; OLDEST: so many or more. */
#ifndef OLDEST
#define OLDEST 2
#endif
#define NO_VERSION 3 /* none of this term */

#define NO_PING 0
#define PING 1
#define PONG 2

/* The leader's table: watcher/shards/shard_table.c. */
byte state[SHARDS];
byte owner[SHARDS];
byte taken[SHARDS];  /* REVOKING: the age of the version that lacks it */
byte claimed[SHARDS]; /* by so many members, two at most, as held under the former leader */
byte block;           /* until everything has run out that the former leader gave */

typedef member {
	/* the leader's view */
	byte lease;  /* until it has ended by the leader's count, margin included */
	bool joined; /* it has greeted in the session that it speaks in */
	bool known;  /* the process is the one that the leader knows */
	/* its own */
	bool told;   /* it knows this leader's epoch */
	byte version;
	bool holds[SHARDS];
	byte acts[SHARDS]; /* until its last write has arrived; 0: it does not act */
	bool former[SHARDS]; /* those writes are of a former process of its name */
	/* on the way */
	byte old_pong; /* of the former leader: what it would make of acts[] */
	bool hello;
	bool claims[SHARDS];
	bool assign; /* the newest assignment; one that is overtaken is lost */
	byte ping;
	byte ping_version;
	bool ping_holds[SHARDS]; /* or drains */
	byte ping_acts           /* what its answer makes of acts[] */
}

member m[2];
byte starts;

/* With CALM: from some moment on nothing is lost and nobody starts anew, though member 1 may be silent for ever; messages
 * arrive, members ping and shards are granted before time passes. Then nobody may miss a shard for longer than that. */
#ifdef CALM
bool calm;
bool silent;
bool pinged[2];
byte waits[SHARDS]; /* so long nobody has acted on the shard since it is calm */
#ifndef PATIENCE
#define PATIENCE (FULL_FORMER + SPAN + 1)
#endif
#define speaks(i) (!silent || (i) == 0)
#define storm (!calm)
#define PINGS(i) (!calm || !pinged[i]) /* once a tick is enough */
#define HAS_PINGED(i) pinged[i] = calm
#define PINGS_SOON(i) pinged[i] = false
#define settled(i) \
	((silent && (i) == 1) || \
	 (!(m[i].hello && (m[i].known || m[i].lease == 0)) && (m[i].joined || m[i].hello) && !m[i].assign && \
	  m[i].ping == NO_PING && (!m[i].joined || m[i].version == NO_VERSION || pinged[i])))
#define granted_on(r) (!(state[r] == FREE && !blocked(r) && ((m[0].joined && speaks(0)) || (m[1].joined && speaks(1)))))
#define ended(i) (!(m[i].lease == 0 && (owns(i, 0) || owns(i, SHARDS - 1))))
#define may_pass() (!calm || (settled(0) && settled(1) && granted_on(0) && granted_on(SHARDS - 1) && ended(0) && ended(1)))
#define wait(r) \
	waits[r] = (calm && m[0].acts[r] == 0 && (silent || m[1].acts[r] == 0) -> waits[r] + 1 : 0); \
	assert(waits[r] <= PATIENCE)
#else
#define speaks(i) true
#define storm true
#define PINGS(i) true
#define HAS_PINGED(i) skip
#define PINGS_SOON(i) skip
#define may_pass() true
#endif

#define can_act(i, r) \
	(m[i].acts[r] > 0 || (m[i].holds[r] && m[i].old_pong > 0 && !m[i].told) || \
	 (m[i].holds[r] && m[i].ping == PONG && m[i].ping_acts > 0 && m[i].ping_version == m[i].version))
#define check_shard(r) assert(!(can_act(0, r) && can_act(1, r)))
#if SHARDS == 1
#define check() check_shard(0)
#define EACH(r, what) r = 0; what
#else
#define check() check_shard(0); check_shard(1)
#define EACH(r, what) r = 0; what; r = 1; what
#endif

/* ---- the leader ---- */

/* A change of what a member is granted makes a new version; the ASSIGN of it goes out.
 * models watcher/shards/shard_table.c:mark_changed
 * models watcher/shards/connections.c:update_connection
 * models watcher/shards/connections.c:assign */
#define older(version) ((version) < OLDEST -> (version) + 1 : (version))
#define age(i, r) taken[r] = (state[r] == REVOKING && owner[r] == (i) -> older(taken[r]) : taken[r])
#define change(i) \
	m[i].version = (m[i].version == NO_VERSION -> NO_VERSION : older(m[i].version)); \
	m[i].ping_version = (m[i].ping == NO_PING -> 0 : older(m[i].ping_version)); \
	EACH(k, age(i, k)); \
	m[i].assign = m[i].joined

#define set_free(r) \
	state[r] = FREE; \
	owner[r] = 0; \
	taken[r] = 0

/* models watcher/shards/shard_table.c:set_revoking */
#define set_revoking(i, r) \
	change(i); \
	state[r] = REVOKING; \
	taken[r] = 0

/* models watcher/shards/shard_table.c:contest
 * models watcher/shards/shard_table.c:take_claims */
#define take_claim(i, r) \
	if \
	:: m[i].claims[r] && !owns(i, r) && block > 0 -> \
		m[i].lease = larger(m[i].lease, block); \
		if \
		:: claimed[r] == 0 && state[r] == FREE -> \
			claimed[r] = 1; \
			state[r] = GRANTED; \
			owner[r] = i \
		:: else -> \
			claimed[r] = 2; \
			if \
			:: state[r] == GRANTED -> set_revoking(owner[r], r) \
			:: else \
			fi \
		fi \
	:: else \
	fi

#define owns(i, r) (state[r] != FREE && owner[r] == (i))

/* models watcher/shards/shard_table.c:blocked */
#define blocked(r) (claimed[r] != 1 && block > 0)

/* models watcher/shards/shard_table.c:end_lease
 * models watcher/shards/shard_table.c:set_free */
#define free_owned(i, r) \
	if \
	:: state[r] != FREE && owner[r] == i -> set_free(r) \
	:: else \
	fi

/* models watcher/shards/router.c:on_hello
 * models watcher/shards/router.c:join
 * models watcher/shards/shard_table.c:shard_table_hello
 * models watcher/shards/shard_table.c:forget_process */
#define hear_hello(i) \
	if \
	:: !m[i].known -> \
		m[i].lease = 0; \
		EACH(k, free_owned(i, k)); \
		m[i].known = true \
	:: else \
	fi; \
	m[i].joined = true; \
	change(i); \
	EACH(j, take_claim(i, j))

/* models watcher/shards/shard_table.c:shard_table_ping */
#ifdef DRAINING_IGNORED
#define lets_go(i, r) !m[i].holds[r]
#else
#define lets_go(i, r) !m[i].ping_holds[r]
#endif
#define hear_let_go(i, r) \
	if \
	:: state[r] == REVOKING && owner[r] == i && m[i].ping_version <= taken[r] && m[i].ping_version < OLDEST && lets_go(i, r) -> set_free(r) \
	:: else \
	fi

#ifdef VERSION_IGNORED
#define renews(i) true
#else
#define renews(i) (m[i].ping_version == 0)
#endif

#ifdef LEASE_FROM_ANSWER
#define counted(i) FULL
#else
#define counted(i) m[i].ping_acts
#endif

#define drop_ping(i) \
	m[i].ping = NO_PING; \
	m[i].ping_version = 0; \
	m[i].ping_acts = 0; \
	EACH(k, m[i].ping_holds[k] = false)

#define drop_hello(i) \
	m[i].hello = false; \
	EACH(k, m[i].claims[k] = false)

/* ---- a member ---- */

#define renew(i, r, until) \
	if \
	:: m[i].holds[r] -> \
		assert(!m[i].former[r]); \
		m[i].acts[r] = larger(m[i].acts[r], until) \
	:: else \
	fi

/* It claims what it holds under a lease of the former term. Nobody else renews that from now on.
 * models common/bus/session.c:session_lease_left_ms */
#define greet(i) \
	m[i].told = true; \
	m[i].old_pong = 0; \
	m[i].hello = true; \
	EACH(k, claim(i, k))
#ifdef CUT_IGNORED /* the shards had other numbers in the former term */
#define claim(i, r) m[i].claims[r] = (m[i].version == NO_VERSION && m[i].holds[SHARDS - 1 - (r)] && m[i].acts[SHARDS - 1 - (r)] > 0)
#elif defined(CUT)
#define claim(i, r) m[i].claims[r] = false
#else
#define claim(i, r) m[i].claims[r] = (m[i].version == NO_VERSION && m[i].holds[r] && m[i].acts[r] > 0)
#endif

#define new_process(i) \
	m[i].known = false; \
	m[i].joined = false; \
	m[i].told = false; \
	m[i].version = NO_VERSION; \
	m[i].old_pong = 0; \
	m[i].assign = false; \
	EACH(k, m[i].holds[k] = false); \
	drop_hello(i); \
	drop_ping(i)

#define tick(i) \
	down(m[i].lease); \
	down(m[i].old_pong); \
	down(m[i].ping_acts); \
	EACH(k, down(m[i].acts[k])); \
	EACH(k, m[i].former[k] = m[i].former[k] && m[i].acts[k] > 0)

/* Leaves a shard with a member, a lease that began at some time, and perhaps a PONG on its way. */
#define leave(i, r) \
	m[i].holds[r] = true; \
	if \
	:: m[i].acts[r] = FULL_FORMER \
	:: m[i].acts[r] = 1 \
	:: m[i].acts[r] = 0 \
	fi; \
	if \
	:: m[i].old_pong = FULL_FORMER \
	:: m[i].old_pong = 1 \
	:: m[i].old_pong = 0 \
	fi

/* What the leader hears of a member, and counts of it. */
proctype listen(byte i)
{
	byte j;
	byte k;

	do
	:: d_step { m[i].hello && (m[i].known || m[i].lease == 0) ->
		printf("the leader hears HELLO of %d\n", i);
		hear_hello(i);
		drop_hello(i);
		j = 0;
		k = 0 }
	/* models watcher/shards/router.c:on_ping
	 * models watcher/shards/shard_table.c:shard_table_ping */
	:: d_step { m[i].ping == PING && m[i].joined ->
		printf("the leader hears PING of %d, age %d\n", i, m[i].ping_version);
		EACH(j, hear_let_go(i, j));
		if
		:: renews(i) ->
			m[i].lease = larger(m[i].lease, SPAN);
			m[i].ping = PONG
		:: else -> drop_ping(i)
		fi;
		j = 0;
		k = 0 }
	/* Also one that was never renewed, of a member that is silent.
	 * models watcher/shards/shard_table.c:expire
	 * models watcher/shards/shard_table.c:end_lease */
	:: d_step { m[i].lease == 0 && (owns(i, 0) || owns(i, SHARDS - 1)) ->
		printf("the lease of %d has ended\n", i);
		EACH(j, free_owned(i, j));
		change(i);
		j = 0;
		k = 0 }
	od
}

/* What the leader decides about a shard: at any time, whatever balance() would say. */
proctype decide(byte r)
{
	byte k;

	do
	/* models watcher/shards/shard_table.c:grant
	 * models watcher/shards/shard_table.c:set_granted */
	:: d_step { state[r] == FREE && !blocked(r) && m[0].joined && speaks(0) ->
		printf("shard %d is granted to 0\n", r);
		change(0);
		state[r] = GRANTED;
		owner[r] = 0;
		k = 0 }
	:: d_step { state[r] == FREE && !blocked(r) && m[1].joined && speaks(1) ->
		printf("shard %d is granted to 1\n", r);
		change(1);
		state[r] = GRANTED;
		owner[r] = 1;
		k = 0 }
	/* models watcher/shards/shard_table.c:balance */
	:: d_step { storm && state[r] == GRANTED ->
		printf("shard %d is taken away from %d\n", r, owner[r]);
		set_revoking(owner[r], r);
#ifdef FREED_AT_ONCE
		set_free(r);
#endif
		k = 0 }
	od
}

/* A member: common/bus/session.c. */
proctype act(byte i)
{
	byte j;
	byte k;

	do
	/* A WHO tells it the epoch; or a gap in the sequence has it greet anew.
	 * models common/bus/session.c:on_who
	 * models common/bus/session.c:hello
	 * models common/bus/session.c:session_receive */
	:: d_step { !m[i].joined && !m[i].hello && speaks(i) ->
		printf("%d says HELLO\n", i);
		greet(i);
		j = 0;
		k = 0 }
	:: d_step { storm && m[i].joined && m[i].assign ->
		printf("%d misses an ASSIGN\n", i);
		m[i].assign = false; m[i].joined = false; drop_ping(i); k = 0 }
	:: d_step { storm && m[i].joined && m[i].ping != NO_PING ->
		printf("%d loses a PING or PONG\n", i);
		m[i].joined = false; m[i].assign = false; drop_ping(i); k = 0 }
	:: d_step { storm && m[i].hello -> printf("HELLO of %d is lost\n", i); drop_hello(i); k = 0 }
	/* models common/bus/session.c:on_assign
	 * models common/bus/session.c:session_ping_soon */
	:: d_step { m[i].joined && m[i].assign && speaks(i) ->
		printf("%d applies an ASSIGN\n", i);
		m[i].assign = false;
		m[i].version = 0;
		PINGS_SOON(i);
		EACH(j, m[i].holds[j] = (state[j] == GRANTED && owner[j] == i));
		j = 0 }
	/* models common/bus/session.c:ping
	 * models reconciler/store.c:store_draining */
	:: d_step { m[i].joined && m[i].ping == NO_PING && m[i].version != NO_VERSION && speaks(i) && PINGS(i) ->
		printf("%d says PING, age %d\n", i, m[i].version);
		m[i].ping = PING;
		m[i].ping_version = m[i].version;
		m[i].ping_acts = FULL;
		HAS_PINGED(i);
		EACH(j, m[i].ping_holds[j] = m[i].holds[j] || (m[i].acts[j] > 0 && !m[i].former[j]));
		j = 0 }
	/* models common/bus/session.c:on_pong */
	:: d_step { m[i].joined && m[i].ping == PONG && speaks(i) ->
		printf("%d hears PONG\n", i);
		if
		:: m[i].ping_version == m[i].version -> EACH(j, renew(i, j, counted(i)))
		:: else
		fi;
		drop_ping(i);
		check();
		j = 0;
		k = 0 }
	:: d_step { m[i].old_pong > 0 && !m[i].told && speaks(i) ->
		printf("%d hears PONG of the former leader\n", i);
		EACH(j, renew(i, j, m[i].old_pong));
		m[i].old_pong = 0;
		check();
		j = 0 }
	/* its calls in a shard that it let go have ended */
	:: d_step { !m[i].former[0] && !m[i].holds[0] && m[i].acts[0] > 0 -> m[i].acts[0] = 0 }
#if SHARDS > 1
	:: d_step { !m[i].former[1] && !m[i].holds[1] && m[i].acts[1] > 0 -> m[i].acts[1] = 0 }
#endif
	/* Another process comes under its name; nobody knows whether the one before has ended, and its leases run on.
	 * models watcher/shards/router.c:admit */
	:: d_step { storm && starts < STARTS ->
		printf("another process of %d starts\n", i);
		starts++;
		EACH(k, m[i].former[k] = m[i].acts[k] > 0);
		new_process(i);
		k = 0 }
	/* … or it is known: its connections are reset, and what was not carried out never is.
	 * models watcher/shards/shard_table.c:shard_table_dead
	 * models watcher/shards/router.c:router_process_dead */
	:: d_step { storm && starts < STARTS ->
		printf("the process of %d has ended\n", i);
		starts++;
		EACH(j, m[i].former[j] = false);
		m[i].lease = 0;
		EACH(j, free_owned(i, j));
		EACH(j, m[i].acts[j] = 0);
		new_process(i);
		j = 0;
		k = 0 }
	od
}

/* Times that pass while a process is paused pass for its leases, too; a pause that it cannot see is part of AFTER. */
proctype time()
{
	byte i;
	byte k;

	do
#ifdef CALM
	:: d_step { !calm -> printf("it is calm\n"); calm = true }
	:: d_step { !calm -> printf("it is calm, and 1 says nothing any more\n"); calm = true; silent = true }
#endif
	:: d_step { may_pass() ->
		printf("---- tick\n");
#ifdef CALM
		pinged[0] = false;
		pinged[1] = false;
		EACH(k, wait(k));
#endif
		tick(0);
		tick(1);
		down(block);
		k = 0;
		check() }
	od
}

init
{
	atomic {
		byte i;
		byte j;
		byte k;

		m[0].version = NO_VERSION;
		m[1].version = NO_VERSION;
		m[0].known = true;
		m[1].known = true;
		/* the former term: each shard has a holder at most; which member and which shard is the same */
		if
		:: skip
		:: leave(0, 0)
#if SHARDS > 1
		:: leave(0, 0); leave(0, 1)
		:: leave(0, 0); leave(1, 1)
#endif
		fi;
#ifdef EPOCH_IGNORED /* a HELLO that was said to the former leader, before it gave the shard to another */
		m[1].hello = true;
		m[1].claims[0] = true;
#endif
		block = FULL_FORMER;
		i = 0;
		j = 0;
		k = 0;
		run listen(0);
		run listen(1);
		run decide(0);
#if SHARDS > 1
		run decide(1);
#endif
		run act(0);
		run act(1);
		run time()
	}
}
