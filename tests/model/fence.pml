/* What the API server alone enforces: one Task of a Framework, whose attempts have a Pod each; two reconcilers of which
 * one acts at a time, with views that lag; and writes that the server carries out at any later time. See README.md.
 *
 * Proven: an old status never replaces a newer one; a delete takes the Pod that it means; no later attempt adopts a Pod.
 * With LEASES (a write arrives before the shard is another's, or never: assignment.pml proves it) no Pod of an attempt
 * that has ended is created. Without, exactly that may happen: manifests/README.md, "Guarantees". */

#ifndef ATTEMPTS
#define ATTEMPTS 3
#endif
#ifndef HANDOVERS
#define HANDOVERS 2
#endif
#ifndef LOSSES
#define LOSSES 3 /* writes whose outcome the reconciler does not learn */
#endif
#ifndef PODS
#define PODS 4
#endif

/* The attempt's state. */
#define PENDING 0
#define REQUESTED 1 /* its Pod exists, and is named in the status */
#define DELETION 2  /* its result is settled */
#define OVER 3

/* The API server. */
byte attempt;
byte state;
byte pod;         /* its uid; 0: there is none */
byte pod_attempt; /* as its annotations and its owner say */
byte pods;        /* uids given */

typedef reconciler {
	/* its memory: never older than what it wrote or read */
	byte attempt;
	byte state;
	bool persisted;
	bool fresh;  /* it knows the present resourceVersion */
	bool fenced; /* no write of its own has succeeded since it was given the shard */
	byte own;    /* the uid of the attempt's Pod */
	/* its view of the Pod */
	byte pod;
	byte pod_attempt
}

reconciler r[2];
bit acting;
byte handovers;
byte losses;

/* Writes that were given up. */
bool late_status; /* on the present version */
byte late_attempt;
byte late_state;
bool late_create[ATTEMPTS];
byte late_delete; /* a uid */

#define ME r[acting]

/* models reconciler/apply.c:start_write
 * models reconciler/sync/write.c:framework_written */
#define status_written(attempt_now, state_now) \
	assert(attempt_now > attempt || (attempt_now == attempt && state_now >= state)); \
	attempt = attempt_now; \
	state = state_now; \
	r[0].fresh = false; \
	r[1].fresh = false; \
	late_status = false; \
	late_attempt = 0; \
	late_state = 0

#ifdef LATE_HARMLESS /* what the manual says cannot be had without leases and clocks */
#define wanted(of_attempt) (of_attempt == attempt && state <= REQUESTED)
#else
#define wanted(of_attempt) true
#endif

/* models reconciler/apply.c:start_call */
#define pod_created(of_attempt) \
	if \
	:: pod == 0 && pods < PODS -> \
		assert(wanted(of_attempt)); \
		pods++; \
		pod = pods; \
		pod_attempt = of_attempt \
	:: else \
	fi

/* models reconciler/request.c:write_delete_options */
#ifdef UID_IGNORED
#define hits(uid) (pod != 0)
#else
#define hits(uid) (pod == uid)
#endif
#define pod_deleted(uid) \
	if \
	:: hits(uid) -> assert(pod == uid); pod = 0; pod_attempt = 0 \
	:: else \
	fi

/* Persisted, and the view proven by a write under this grant.
 * models reconciler/sync/fence.c:reconcile_may_act
 * models reconciler/apply.c:lease_allows
 * models reconciler/sync/fence.c:framework_fence */
#ifdef FENCE_IGNORED
#define may_act() ME.persisted
#elif defined(UNPERSISTED)
#define may_act() !ME.fenced
#else
#define may_act() (ME.persisted && !ME.fenced)
#endif

#define decide(state_now) \
	ME.state = state_now; \
	ME.persisted = false

#ifdef ADOPTS_ANY
#define adoptable() (ME.pod != 0)
#else
#define adoptable() (ME.pod != 0 && ME.pod_attempt == ME.attempt)
#endif

active proctype reconcile()
{
	do
	/* models reconciler/apply.c:on_read
	 * models reconciler/store.c:store_text */
	:: d_step { true ->
		printf("%d reads: attempt %d, state %d, Pod %d of attempt %d\n", acting, attempt, state, pod, pod_attempt);
		if
		:: attempt > ME.attempt || (attempt == ME.attempt && state > ME.state) ->
			ME.attempt = attempt;
			ME.state = state;
			ME.own = 0
		:: else
		fi;
		ME.persisted = (attempt == ME.attempt && state == ME.state);
		ME.fresh = true;
		ME.pod = pod;
		ME.pod_attempt = pod_attempt;
		ME.own = (ME.state == REQUESTED && ME.pod_attempt == ME.attempt -> ME.pod : ME.own) }
	/* A view of the Pod alone, or of neither, may lag: nothing has to be read before a step. */

	/* models reconciler/sync/task.c:adoptable
	 * models reconciler/sync/task.c:adopt */
	:: d_step { ME.state == PENDING && adoptable() ->
		printf("%d adopts Pod %d\n", acting, ME.pod);
		assert(ME.pod_attempt == ME.attempt);
		ME.own = ME.pod;
		decide(REQUESTED) }
	/* models reconciler/sync/task.c:pod_present */
	:: d_step { ME.state == REQUESTED && ME.pod != 0 && ME.pod == ME.own ->
		printf("%d: the Pod has ended\n", acting);
		decide(DELETION) }
	/* models reconciler/sync/slot_call.c:slot_confirm_gone */
	:: d_step { (ME.state == REQUESTED || ME.state == DELETION) && ME.fresh && pod != ME.own ->
		printf("%d: the Pod is gone\n", acting);
		ME.pod = pod;
		ME.pod_attempt = pod_attempt;
		decide(OVER) }
	/* models reconciler/sync/task.c:end_without_pod
	 * models reconciler/sync/slot_call.c:slot_confirm_none */
	:: d_step { ME.state == PENDING && may_act() && pod == 0 ->
		printf("%d ends the attempt without a Pod\n", acting);
		ME.pod = 0;
		decide(OVER) }
	/* models reconciler/sync/task.c:retry_or_finish */
	:: d_step { ME.state == OVER && ME.persisted && ME.attempt + 1 < ATTEMPTS ->
		printf("%d begins attempt %d\n", acting, ME.attempt + 1);
		ME.attempt++;
		ME.own = 0;
		decide(PENDING) }

	/* models reconciler/apply.c:write_status */
	:: d_step { ME.fresh && (!ME.persisted || ME.fenced) ->
		printf("%d writes the status\n", acting);
		status_written(ME.attempt, ME.state);
		ME.fresh = true;
		ME.fenced = false;
		ME.persisted = true }
#ifdef VERSION_IGNORED
	:: d_step { !ME.fresh && !ME.persisted -> printf("%d writes the status on no version\n", acting); status_written(ME.attempt, ME.state) }
#endif
	/* models reconciler/apply.c:write_failed */
	:: atomic { ME.fresh && !ME.persisted && losses < LOSSES ->
		printf("%d learns nothing of its write of the status\n", acting);
		losses++;
		if
		:: status_written(ME.attempt, ME.state)
#ifndef LEASES
		:: late_status = true; late_attempt = ME.attempt; late_state = ME.state
#endif
		fi;
		ME.fresh = false }

	/* models reconciler/sync/task.c:create_pod
	 * models reconciler/sync/answer.c:may_create */
	:: atomic { ME.state == PENDING && may_act() && ME.pod == 0 ->
		if
		:: printf("%d creates a Pod of attempt %d\n", acting, ME.attempt); pod_created(ME.attempt)
#ifndef LEASES
		:: losses < LOSSES -> printf("%d gives the creation of a Pod of attempt %d up\n", acting, ME.attempt);
			losses++; late_create[ME.attempt] = true
#endif
		fi }
	/* Of an attempt that is over, or of another one.
	 * models reconciler/sync/slot_call.c:slot_send_delete
	 * models reconciler/sync/slot_call.c:slot_send_delete_owned
	 * models reconciler/sync/fence.c:reconcile_may_delete */
	:: atomic { may_act() && ME.pod != 0 && (ME.state >= DELETION || ME.pod_attempt < ME.attempt) && ME.pod_attempt <= ME.attempt ->
		if
		:: printf("%d deletes Pod %d\n", acting, ME.pod); pod_deleted(ME.pod)
#ifndef LEASES
		:: losses < LOSSES && late_delete == 0 ->
			printf("%d gives the deletion of Pod %d up\n", acting, ME.pod);
			losses++; late_delete = ME.pod
#endif
		fi;
		ME.pod = 0;
		ME.pod_attempt = 0 }

	/* models reconciler/store.c:store_complete
	 * models reconciler/store.c:store_revoked */
	:: d_step { handovers < HANDOVERS ->
		printf("the shard is given to %d\n", 1 - acting);
		handovers++;
		acting = 1 - acting;
		ME.fenced = true }
	od
}

active proctype world()
{
	byte a;

	do
	:: d_step { late_status -> printf("a write of the status arrives late\n"); status_written(late_attempt, late_state) }
	:: d_step { late_delete != 0 -> printf("the deletion of Pod %d arrives late\n", late_delete); pod_deleted(late_delete); late_delete = 0 }
	:: a < ATTEMPTS - 1 -> a++
	:: a > 0 -> a = 0
	:: d_step { late_create[a] -> printf("the creation of a Pod of attempt %d arrives late\n", a); late_create[a] = false; pod_created(a) }
	/* a user, or a node that ends */
	:: d_step { pod != 0 -> printf("Pod %d is deleted by others\n", pod); pod = 0; pod_attempt = 0 }
	od
}
