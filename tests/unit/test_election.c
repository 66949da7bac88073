/* Who leads: each answer of the API server and what follows from it, and many watchers on one Lease with everything
 * that goes wrong, of which never two may lead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "common/base/random.h"
#include "watcher/election.h"

enum { LEASE = 15000, RENEW = 10000, RETRY = 2000, JITTER = 300, SETTLE = 15000, START = 5000 };

static struct election *make(const char *identity, enum election_grants grants)
{
	struct election_options options = {
		.lease_ms = LEASE,
		.renew_ms = RENEW,
		.retry_ms = RETRY,
		.jitter_ms = JITTER,
		.settle_ms = SETTLE,
		.grants = grants,
	};

	snprintf(options.identity, sizeof(options.identity), "%s", identity);
	snprintf(options.process, sizeof(options.process), "process of %s", identity);
	return election_new(&options, START);
}

static struct election_lease lease_of(const char *holder, const char *renewed, uint64_t transitions,
				      enum election_grants grants)
{
	struct election_lease lease = {.duration_ms = LEASE, .transitions = transitions, .grants = grants};

	snprintf(lease.holder, sizeof(lease.holder), "%s", holder);
	snprintf(lease.renewed, sizeof(lease.renewed), "%s", renewed);
	return lease;
}

/* Expects a request now. */
static struct election_request asks(struct election *election, int64_t now_ms, enum election_verb verb)
{
	struct election_request request;

	assert_true(election_next(election, now_ms, &request));
	assert_int_equal(request.verb, verb);
	assert_true(request.timeout_ms > 0 && request.timeout_ms <= RENEW / 2);
	return request;
}

static void asks_nothing_before(struct election *election, int64_t now_ms, int64_t due_ms)
{
	struct election_request request;

	assert_false(election_next(election, now_ms, &request));
	assert_int_equal(election_due_ms(election), due_ms);
	assert_false(election_next(election, due_ms - 1, &request));
}

/* The write is carried out. */
static void done(struct election *election, const struct election_request *request, int64_t now_ms)
{
	struct election_lease lease = request->lease;

	snprintf(lease.renewed, sizeof(lease.renewed), "at %lld", (long long)now_ms);
	election_answered(election, ELECTION_ANSWERED, &lease, now_ms);
}

/* One that leads since `now_ms`, from an absent Lease. */
static struct election *leader(int64_t now_ms)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_request request;

	asks(election, now_ms, ELECTION_READ);
	election_answered(election, ELECTION_ABSENT, NULL, now_ms);
	request = asks(election, now_ms, ELECTION_CREATE);
	done(election, &request, now_ms);
	assert_true(election_leads(election, now_ms));
	return election;
}

/* ---- becoming leader -------------------------------------------------------------------------------------------- */

static void first_start(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_request request;

	(void)state;
	assert_false(election_leads(election, START));
	asks(election, START, ELECTION_READ);
	election_answered(election, ELECTION_ABSENT, NULL, START + 1);
	request = asks(election, START + 1, ELECTION_CREATE);
	assert_true(request.acquires);
	assert_string_equal(request.lease.holder, "me");
	assert_string_equal(request.lease.process, "process of me");
	assert_int_equal(request.lease.transitions, 1);
	assert_int_equal(request.lease.duration_ms, LEASE);
	assert_int_equal(request.lease.grants, ELECTION_GRANTS_UNKNOWN);
	done(election, &request, START + 5);
	assert_true(election_leads(election, START + 5));
	assert_int_equal(election_epoch(election), 1);
	assert_int_equal(election_term(election), 1);
	assert_false(election_inherits(election)); /* there was no former leader: nothing to wait for */
	assert_true(election_first(election));     /* as far as we know */
	asks_nothing_before(election, START + 5, START + 1 + RETRY);
	election_settled(election, START + 6); /* indeed: nothing was worked on; who follows need not wait either */
	request = asks(election, START + 6, ELECTION_UPDATE);
	assert_int_equal(request.lease.grants, ELECTION_GRANTS_MEMBERS);
	election_free(election);
}

/* The successor of one that did not know whether somebody else leads does not know it either. (It began at once, while
 * the one whose Lease was deleted still led; simulator seed 155870.) */
static void follows_one_that_did_not_know(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
	struct election_lease lease = lease_of("other", "t", 1, ELECTION_GRANTS_UNKNOWN);
	struct election_request request;
	int64_t at_ms;

	(void)state;
	asks(election, START, ELECTION_READ);
	election_answered(election, ELECTION_ANSWERED, &lease, START);
	election_holder_dead(election);
	request = asks(election, START, ELECTION_UPDATE);
	assert_int_equal(request.lease.grants, ELECTION_GRANTS_UNKNOWN);
	done(election, &request, START);
	assert_true(election_first(election));
	assert_true(election_inherits(election)); /* it may have granted, and not have said so yet */
	assert_int_equal(election_former_end_ms(election), 0);
	/* until nobody can act any more for one that nothing is known of */
	for (at_ms = START + RETRY; at_ms < START + LEASE + SETTLE; at_ms += RETRY) {
		request = asks(election, at_ms, ELECTION_UPDATE);
		assert_int_equal(request.lease.grants, ELECTION_GRANTS_UNKNOWN);
		done(election, &request, at_ms);
	}
	request = asks(election, at_ms, ELECTION_UPDATE);
	assert_int_equal(request.lease.grants, ELECTION_GRANTS_CHILDREN);
	election_free(election);
}

/* What a standby does about a Lease that it reads, and for how long it goes on waiting. */
static void standby_reads(void **state)
{
	static const struct {
		const char *what;
		const char *holder;
		enum election_grants grants;
		bool takes;
		bool inherits;
	} rows[] = {
		{"released and drained", "", ELECTION_GRANTS_NONE, true, false},
		{"released, its members live on", "", ELECTION_GRANTS_MEMBERS, true, true},
		{"held by another", "other", ELECTION_GRANTS_NONE, false, false},
		{"ours from a write whose answer was lost", "me", ELECTION_GRANTS_CHILDREN, true, false},
		{"the same, and it had to wait for others", "me", ELECTION_GRANTS_MEMBERS, true, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
		struct election_lease lease = lease_of(rows[i].holder, "t", 7, rows[i].grants);
		struct election_request request;
		int64_t at_ms = START;

		print_message("%s\n", rows[i].what);
		if (strcmp(rows[i].holder, "me") == 0) { /* whose Lease was free before that write */
			struct election_lease free_lease = lease_of("", "t", 6, rows[i].grants);

			asks(election, START, ELECTION_READ);
			election_answered(election, ELECTION_ANSWERED, &free_lease, START);
			asks(election, START, ELECTION_UPDATE);
			election_answered(election, ELECTION_FAILED, NULL, START);
			at_ms += RETRY;
		}
		asks(election, at_ms, ELECTION_READ);
		election_answered(election, ELECTION_ANSWERED, &lease, at_ms);
		if (!rows[i].takes) {
			asks_nothing_before(election, at_ms, at_ms + RETRY + JITTER);
			asks(election, at_ms + RETRY + JITTER, ELECTION_READ);
		} else {
			request = asks(election, at_ms, ELECTION_UPDATE);
			assert_int_equal(request.lease.transitions, 8);
			assert_int_equal(request.lease.grants,
					 rows[i].inherits ? ELECTION_GRANTS_MEMBERS : ELECTION_GRANTS_CHILDREN);
			done(election, &request, at_ms);
			assert_true(election_leads(election, at_ms));
			assert_int_equal(election_inherits(election), rows[i].inherits);
			assert_int_equal(election_epoch(election), 8);
		}
		election_free(election);
	}
}

/* A Lease that we created without hearing the answer is no predecessor: who led before the Lease was deleted by hand
 * may still do so. (Two led at once; simulator seed 6923.) */
static void created_unanswered(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_request request;
	struct election_lease lease;
	int64_t at_ms = START + RETRY;

	(void)state;
	asks(election, START, ELECTION_READ);
	election_answered(election, ELECTION_ABSENT, NULL, START);
	request = asks(election, START, ELECTION_CREATE);
	lease = request.lease;
	election_answered(election, ELECTION_FAILED, NULL, START);
	asks(election, at_ms, ELECTION_READ);
	election_answered(election, ELECTION_ANSWERED, &lease, at_ms);
	request = asks(election, at_ms, ELECTION_UPDATE);
	done(election, &request, at_ms);
	assert_true(election_leads(election, at_ms));
	assert_true(election_first(election));
	assert_false(election_inherits(election));
	assert_int_equal(election_former_end_ms(election), 0);
	/* after it was told that nobody had led, it knows in its next term that it did itself */
	election_settled(election, at_ms);
	request = asks(election, at_ms, ELECTION_UPDATE);
	done(election, &request, at_ms);
	at_ms += RENEW;
	asks(election, at_ms, ELECTION_READ);
	election_answered(election, ELECTION_ANSWERED, &request.lease, at_ms);
	request = asks(election, at_ms, ELECTION_UPDATE);
	done(election, &request, at_ms);
	assert_false(election_first(election));
	assert_true(election_inherits(election));
	election_free(election);
}

/* Another's Lease is taken when it has not changed for its own duration, counted from when we saw it. */
static void expiry(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
	struct election_lease lease = lease_of("other", "t0", 3, ELECTION_GRANTS_CHILDREN);
	struct election_request request;
	int64_t renewed_ms = START + 4000;

	(void)state;
	lease.duration_ms = 6000;
	asks(election, START, ELECTION_READ);
	election_answered(election, ELECTION_ANSWERED, &lease, START);
	asks(election, renewed_ms, ELECTION_READ);
	snprintf(lease.renewed, sizeof(lease.renewed), "t1");
	election_answered(election, ELECTION_ANSWERED, &lease, renewed_ms);
	for (int64_t at_ms = renewed_ms; at_ms < renewed_ms + 6000;) {
		at_ms = election_due_ms(election);
		asks(election, at_ms, ELECTION_READ);
		election_answered(election, ELECTION_ANSWERED, &lease, at_ms);
	}
	request = asks(election, renewed_ms + 6000, ELECTION_UPDATE);
	assert_true(request.acquires);
	assert_int_equal(request.lease.transitions, 4);
	assert_int_equal(request.lease.grants, ELECTION_GRANTS_MEMBERS);
	done(election, &request, renewed_ms + 6001);
	assert_true(election_inherits(election)); /* nothing tells that its children ended */
	/* once nobody can act for it any more, a successor of ours need not wait for its sake */
	asks(election, renewed_ms + 6000 + RETRY, ELECTION_UPDATE);
	for (int64_t at_ms = renewed_ms + 6000 + RETRY; at_ms < renewed_ms + 6000 + 1 + SETTLE; at_ms += RETRY) {
		election_answered(election, ELECTION_ANSWERED, &request.lease, at_ms);
		request = asks(election, at_ms + RETRY, ELECTION_UPDATE);
		assert_int_equal(request.lease.grants, at_ms + RETRY < renewed_ms + 6001 + SETTLE
							       ? ELECTION_GRANTS_MEMBERS
							       : ELECTION_GRANTS_CHILDREN);
	}
	election_free(election);
}

static void holder_known_dead(void **state)
{
	static const enum election_grants grants[] = {ELECTION_GRANTS_CHILDREN, ELECTION_GRANTS_MEMBERS};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(grants); i++) {
		struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
		struct election_lease lease = lease_of("other", "t", 3, grants[i]);
		struct election_request request;

		asks(election, START, ELECTION_READ);
		election_answered(election, ELECTION_ANSWERED, &lease, START);
		election_holder_dead(election);
		request = asks(election, START, ELECTION_UPDATE);
		done(election, &request, START);
		assert_true(election_leads(election, START));
		assert_int_equal(election_inherits(election), grants[i] == ELECTION_GRANTS_MEMBERS);
		election_holder_dead(election); /* of ourselves: nonsense, and ignored */
		assert_true(election_leads(election, START));
		election_free(election);
	}
}

/* When a former leader had ceased to: as long after its last renewal as it says that it goes without one, or as its
 * Lease runs; never later than when the successor leads. */
static void former_end(void **state)
{
	static const struct {
		int64_t renew_ms;
		int64_t end_ms;
	} rows[] = {{RENEW, START + RENEW}, {0, START + LEASE}, {-1, START + LEASE}, {INT64_C(3600000), START + LEASE}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
		struct election_lease lease = lease_of("other", "t", 3, ELECTION_GRANTS_MEMBERS);
		struct election_request request;

		lease.renew_ms = rows[i].renew_ms;
		asks(election, START, ELECTION_READ);
		election_answered(election, ELECTION_ANSWERED, &lease, START);
		asks(election, START + LEASE, ELECTION_READ);
		election_answered(election, ELECTION_ANSWERED, &lease, START + LEASE);
		request = asks(election, START + LEASE, ELECTION_UPDATE);
		assert_int_equal(request.lease.renew_ms, RENEW); /* ours, for who follows us */
		done(election, &request, START + LEASE);
		assert_true(election_leads(election, START + LEASE));
		assert_int_equal(election_former_end_ms(election), rows[i].end_ms);
		assert_false(election_first(election));
		election_free(election);
	}
}

/* Somebody deletes it while another leads: that one puts it back, or is gone when it would have run out. */
static void deleted_by_hand(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
	struct election_lease lease = lease_of("other", "t", 3, ELECTION_GRANTS_MEMBERS);
	struct election_request request;
	int64_t at_ms = START;

	(void)state;
	asks(election, START, ELECTION_READ);
	election_answered(election, ELECTION_ANSWERED, &lease, START);
	while (at_ms < START + LEASE) {
		at_ms = election_due_ms(election);
		asks(election, at_ms, ELECTION_READ);
		election_answered(election, ELECTION_ABSENT, NULL, at_ms);
	}
	request = asks(election, at_ms, ELECTION_CREATE);
	assert_int_equal(request.lease.transitions, 4);
	done(election, &request, at_ms);
	assert_true(election_inherits(election));
	election_free(election);
}

/* Its answer came when the Lease had nearly run out again. */
static void acquired_too_late(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
	struct election_request request;

	(void)state;
	asks(election, START, ELECTION_READ);
	election_answered(election, ELECTION_ABSENT, NULL, START);
	request = asks(election, START, ELECTION_CREATE);
	done(election, &request, START + RENEW);
	assert_false(election_leads(election, START + RENEW));
	assert_int_equal(election_term(election), 0);
	asks(election, START + RENEW, ELECTION_READ);
	election_free(election);
}

/* ---- leading, and being deposed --------------------------------------------------------------------------------- */

static void renews(void **state)
{
	struct election *election = leader(START);
	struct election_request request;

	(void)state;
	for (int64_t at_ms = START + RETRY; at_ms < START + 60000; at_ms += RETRY) {
		asks_nothing_before(election, at_ms - RETRY, at_ms);
		request = asks(election, at_ms, ELECTION_UPDATE);
		assert_false(request.acquires);
		assert_int_equal(request.lease.transitions, 1);
		done(election, &request, at_ms + 50);
	}
	assert_int_equal(election_term(election), 1);
	election_free(election);
}

/* Counted from when the last write that succeeded was sent, not from its answer. */
static void deadline(void **state)
{
	struct election *election = leader(START);
	struct election_request request = asks(election, START + RETRY, ELECTION_UPDATE);
	int64_t end_ms = START + RETRY + RENEW;

	(void)state;
	done(election, &request, START + RETRY + 3000);
	request = asks(election, START + 2 * RETRY + 1000, ELECTION_UPDATE);
	assert_int_equal(election_due_ms(election), end_ms); /* though one is out */
	assert_true(election_leads(election, end_ms - 1));
	assert_false(election_leads(election, end_ms));
	assert_false(election_next(election, end_ms, &request));
	done(election, &request, end_ms); /* too late */
	assert_false(election_leads(election, end_ms));
	election_free(election);
}

/* What a leader does when its write failed and it reads why. */
static void leader_reads(void **state)
{
	static const struct {
		const char *what;
		const char *holder; /* NULL: the Lease is gone */
		uint64_t transitions;
		bool leads;
	} rows[] = {
		{"ours: the answer was lost", "me", 1, true},
		{"ours, its number set back by hand", "me", 0, true},
		{"another's", "other", 2, false},
		{"another's by hand", "somebody", 1, false},
		{"nobody's: the holder was taken out by hand", "", 1, true},
		{"nobody's, but somebody led in between", "", 2, false},
		{"gone", NULL, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct election *election = leader(START);
		int64_t at_ms = START + RETRY;
		struct election_request request = asks(election, at_ms, ELECTION_UPDATE);

		print_message("%s\n", rows[i].what);
		election_answered(election, ELECTION_CONFLICT, NULL, at_ms);
		asks(election, at_ms, ELECTION_READ);
		if (rows[i].holder == NULL) {
			election_answered(election, ELECTION_ABSENT, NULL, at_ms);
		} else {
			struct election_lease lease = lease_of(rows[i].holder, "x", rows[i].transitions, 0);

			election_answered(election, ELECTION_ANSWERED, &lease, at_ms);
		}
		assert_int_equal(election_leads(election, at_ms), rows[i].leads);
		if (rows[i].leads) {
			request = asks(election, at_ms, rows[i].holder == NULL ? ELECTION_CREATE : ELECTION_UPDATE);
			assert_false(request.acquires);
			assert_int_equal(request.lease.transitions, 1);
			done(election, &request, at_ms);
			assert_true(election_leads(election, at_ms + RENEW - 1));
			assert_int_equal(election_term(election), 1);
		} else {
			asks(election, at_ms, ELECTION_READ); /* as any standby */
		}
		election_free(election);
	}
}

/* A failed write proves nothing; reading one's own name is no renewal. */
static void reading_is_no_renewal(void **state)
{
	struct election *election = leader(START);
	struct election_lease lease = lease_of("me", "x", 1, ELECTION_GRANTS_MEMBERS);
	int64_t at_ms = START;

	(void)state;
	for (int i = 0; i < 2; i++) {
		at_ms = election_due_ms(election);
		asks(election, at_ms, ELECTION_UPDATE);
		election_answered(election, ELECTION_FAILED, NULL, at_ms);
		at_ms = election_due_ms(election);
		assert_int_equal(election_due_ms(election), START + (i + 2) * RETRY);
		asks(election, at_ms, ELECTION_READ);
		election_answered(election, ELECTION_ANSWERED, &lease, at_ms);
	}
	assert_true(election_leads(election, START + RENEW - 1));
	assert_false(election_leads(election, START + RENEW));
	election_free(election);
}

static void conflicts_without_end(void **state)
{
	struct election *election = leader(START);
	struct election_lease lease = lease_of("me", "x", 1, ELECTION_GRANTS_MEMBERS);
	int64_t at_ms = START + RETRY;
	int writes = 0;
	struct election_request request;

	(void)state;
	while (election_next(election, at_ms, &request) && writes < 100) {
		writes += request.verb != ELECTION_READ;
		if (request.verb == ELECTION_READ)
			election_answered(election, ELECTION_ANSWERED, &lease, at_ms);
		else
			election_answered(election, ELECTION_CONFLICT, NULL, at_ms);
	}
	assert_in_range(writes, 1, 5);
	election_free(election);
}

/* ---- epochs ----------------------------------------------------------------------------------------------------- */

static void epoch_heard(void **state)
{
	struct election *election = leader(START);
	struct election_request request;

	(void)state;
	election_heard(election, 0, START);
	asks_nothing_before(election, START, START + RETRY);
	election_heard(election, 1000, START + 1); /* a member's, of a Lease that was deleted since */
	request = asks(election, START + 1, ELECTION_UPDATE);
	assert_int_equal(request.lease.transitions, 1001);
	assert_int_equal(election_epoch(election), 1); /* not before it is written */
	election_heard(election, 2000, START + 2);     /* another's, meanwhile */
	done(election, &request, START + 3);
	assert_int_equal(election_epoch(election), 1001);
	request = asks(election, START + 3, ELECTION_UPDATE);
	assert_int_equal(request.lease.transitions, 2001);
	done(election, &request, START + 4);
	assert_int_equal(election_epoch(election), 2001);
	assert_int_equal(election_term(election), 1);
	asks_nothing_before(election, START + 4, START + 3 + RETRY);
	election_free(election);
}

static void epoch_end(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease lease = lease_of("", "t", ELECTION_EPOCH_MAX, ELECTION_GRANTS_MEMBERS);
	struct election_request request;

	(void)state;
	asks(election, START, ELECTION_READ);
	election_answered(election, ELECTION_ANSWERED, &lease, START);
	request = asks(election, START, ELECTION_UPDATE);
	assert_int_equal(request.lease.transitions, ELECTION_EPOCH_MAX);
	done(election, &request, START);
	election_heard(election, UINT64_MAX, START);
	request = asks(election, START, ELECTION_UPDATE);
	assert_int_equal(request.lease.transitions, ELECTION_EPOCH_MAX);
	done(election, &request, START);
	asks_nothing_before(election, START, START + RETRY);
	election_free(election);
}

/* ---- giving it back --------------------------------------------------------------------------------------------- */

static void releases(void **state)
{
	(void)state;
	for (int drained = 0; drained < 2; drained++) {
		struct election *election = leader(START);
		struct election_request request;

		election_settled(election, START);
		request = asks(election, START + RETRY, ELECTION_UPDATE);
		election_release(election, drained, START + RETRY + 1); /* in the middle of a renewal */
		assert_false(election_released(election));
		done(election, &request, START + RETRY + 2);
		request = asks(election, START + RETRY + 2, ELECTION_UPDATE);
		assert_string_equal(request.lease.holder, "");
		assert_int_equal(request.lease.transitions, 1);
		assert_int_equal(request.lease.grants, drained ? ELECTION_GRANTS_NONE : ELECTION_GRANTS_MEMBERS);
		if (drained) { /* its answer is lost: it is read that it is done */
			struct election_lease lease = request.lease;

			election_answered(election, ELECTION_FAILED, NULL, START + RETRY + 3);
			asks(election, election_due_ms(election), ELECTION_READ);
			election_answered(election, ELECTION_ANSWERED, &lease, START + RETRY + 400);
			assert_false(election_next(election, START + RETRY + 400, &request));
		} else {
			done(election, &request, START + RETRY + 3);
		}
		assert_true(election_released(election));
		assert_false(election_leads(election, START + RETRY + 3));
		election_free(election);
	}
}

/* One that has to wait for a former leader's members, and has nobody itself: its successor has to wait for them still,
 * until they are settled. */
static void releases_what_it_inherited(void **state)
{
	static const struct {
		int64_t after_ms;
		enum election_grants grants;
	} rows[] = {
		{1, ELECTION_GRANTS_MEMBERS},
		{SETTLE - 1, ELECTION_GRANTS_MEMBERS},
		{SETTLE, ELECTION_GRANTS_NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
		struct election_lease lease = lease_of("", "t", 7, ELECTION_GRANTS_MEMBERS);
		struct election_request request;
		int64_t now_ms = START;

		asks(election, now_ms, ELECTION_READ);
		election_answered(election, ELECTION_ANSWERED, &lease, now_ms);
		request = asks(election, now_ms, ELECTION_UPDATE);
		done(election, &request, now_ms);
		assert_true(election_inherits(election));
		while (now_ms + RETRY < START + rows[i].after_ms) {
			now_ms += RETRY;
			request = asks(election, now_ms, ELECTION_UPDATE);
			done(election, &request, now_ms);
		}
		now_ms = START + rows[i].after_ms;
		election_release(election, true, now_ms);
		request = asks(election, now_ms, ELECTION_UPDATE);
		assert_string_equal(request.lease.holder, "");
		assert_int_equal(request.lease.grants, rows[i].grants);
		election_free(election);
	}
}

static void standby_releases_nothing(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
	struct election_lease lease = lease_of("other", "t", 1, ELECTION_GRANTS_CHILDREN);
	struct election_request request;

	(void)state;
	asks(election, START, ELECTION_READ);
	election_answered(election, ELECTION_ANSWERED, &lease, START);
	election_release(election, true, START);
	assert_false(election_next(election, START + 60000, &request));
	assert_true(election_released(election));
	election_free(election);
}

/* ---- many on one Lease ------------------------------------------------------------------------------------------ */

enum { PROCESSES = 3, STORY_MS = 400 * 1000, STEP_MS = 25 };

struct server {
	bool present;
	uint64_t version;
	struct election_lease lease;
};

struct candidate {
	char name[16];
	struct election *election;
	struct election_request request;
	uint64_t on_version; /* that it last saw */
	int64_t arrives_ms;  /* at the server; 0: nothing is on its way */
	int64_t answers_ms;
	enum election_outcome outcome;
	struct election_lease answer;
	uint64_t answer_version;
	bool carried_out;
	int64_t stopped_until_ms;
	int64_t cut_until_ms;
};

static int64_t below(struct random *random, int64_t limit)
{
	return random_between(random, 0, limit - 1);
}

static void carry_out(struct server *server, struct candidate *candidate, int64_t now_ms)
{
	const struct election_request *request = &candidate->request;

	candidate->carried_out = true;
	candidate->outcome = ELECTION_ANSWERED;
	if (request->verb != ELECTION_CREATE && !server->present) {
		candidate->outcome = ELECTION_ABSENT;
		return;
	}
	if ((request->verb == ELECTION_CREATE && server->present) ||
	    (request->verb == ELECTION_UPDATE && server->version != candidate->on_version)) {
		candidate->outcome = ELECTION_CONFLICT;
		return;
	}
	if (request->verb != ELECTION_READ) {
		server->lease = request->lease;
		server->present = true;
		server->version++;
		snprintf(server->lease.renewed, sizeof(server->lease.renewed), "%lld %s", (long long)now_ms,
			 candidate->name);
	}
	candidate->answer = server->lease;
	candidate->answer_version = server->version;
}

static void act(struct server *server, struct candidate *candidate, struct random *random, bool calm, int64_t now_ms)
{
	bool cut = now_ms < candidate->cut_until_ms;

	/* the network goes on while a process stands still */
	if (candidate->arrives_ms != 0 && now_ms >= candidate->arrives_ms && !candidate->carried_out && !cut)
		carry_out(server, candidate, now_ms);
	if (now_ms < candidate->stopped_until_ms)
		return;
	if (candidate->arrives_ms != 0 && now_ms >= candidate->answers_ms) {
		bool lost = cut || !candidate->carried_out || (!calm && below(random, 20) == 0);

		candidate->arrives_ms = 0;
		if (!lost && candidate->outcome == ELECTION_ANSWERED)
			candidate->on_version = candidate->answer_version;
		election_answered(candidate->election, lost ? ELECTION_FAILED : candidate->outcome,
				  lost || candidate->outcome != ELECTION_ANSWERED ? NULL : &candidate->answer, now_ms);
	}
	if (election_next(candidate->election, now_ms, &candidate->request)) {
		candidate->arrives_ms = now_ms + below(random, calm ? 50 : 3000);
		candidate->answers_ms = candidate->arrives_ms + below(random, calm ? 50 : 3000);
		candidate->carried_out = false;
	}
}

static void disturb(struct server *server, struct candidate *candidates, struct random *random, int64_t now_ms)
{
	struct candidate *victim = &candidates[below(random, PROCESSES)];

	switch (below(random, 5)) {
	case 0: victim->stopped_until_ms = now_ms + below(random, 40000); break;
	case 1: victim->cut_until_ms = now_ms + below(random, 40000); break;
	case 2:
		/* one that has not seen how far it had come knows that from peers only (election_heard) */
		for (int i = 0; i < PROCESSES; i++) {
			const struct election_lease *seen = election_seen(candidates[i].election);

			if (seen == NULL || seen->transitions != server->lease.transitions)
				return;
		}
		server->present = false;
		break;
	case 3:
		server->lease.holder[0] = '\0';
		server->version++;
		break;
	default:
		election_heard(victim->election, election_epoch(victim->election) + (uint64_t)below(random, 3), now_ms);
		break;
	}
}

static void one_story(uint64_t seed)
{
	struct server server = {.version = 100};
	struct candidate candidates[PROCESSES] = {0};
	uint64_t epoch_of[PROCESSES] = {0};
	uint64_t newest = 0;
	struct random random;
	int leaders = 0;

	random_init_seed(&random, seed);
	for (int i = 0; i < PROCESSES; i++) {
		snprintf(candidates[i].name, sizeof(candidates[i].name), "p%d", i);
		candidates[i].election = make(candidates[i].name, ELECTION_GRANTS_CHILDREN);
	}
	for (int64_t now_ms = START; now_ms < START + STORY_MS; now_ms += STEP_MS) {
		bool calm = now_ms > START + STORY_MS - 60000;

		if (!calm && below(&random, 4000 / STEP_MS) == 0)
			disturb(&server, candidates, &random, now_ms);
		leaders = 0;
		for (int i = 0; i < PROCESSES; i++) {
			struct candidate *candidate = &candidates[i];
			uint64_t epoch;

			act(&server, candidate, &random, calm, now_ms);
			if (!election_leads(candidate->election, now_ms))
				continue;
			leaders++;
			epoch = election_epoch(candidate->election);
			if (epoch == epoch_of[i])
				continue;
			/* nobody ever led with it, and all who led had older ones */
			if (epoch <= newest)
				fail_msg("seed %llu: at %lld %s leads with epoch %llu after %llu",
					 (unsigned long long)seed, (long long)now_ms, candidate->name,
					 (unsigned long long)epoch, (unsigned long long)newest);
			newest = epoch_of[i] = epoch;
		}
	}
	if (leaders != 1)
		fail_msg("seed %llu: %d leaders in the end", (unsigned long long)seed, leaders);
	for (int i = 0; i < PROCESSES; i++)
		election_free(candidates[i].election);
}

/* With Leases cleared by hand two may lead for a moment, but only by different epochs, of which peers heed the newest;
 * and in the end one leads. */
static void stories(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++)
		one_story(seed);
}

/* Without anybody's hand in it, never do two lead at one moment, however they stand still and whatever is cut. */
static void never_two(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct server server = {.version = 100};
		struct candidate candidates[PROCESSES] = {0};
		struct random random;

		random_init_seed(&random, seed);
		for (int i = 0; i < PROCESSES; i++) {
			snprintf(candidates[i].name, sizeof(candidates[i].name), "p%d", i);
			candidates[i].election = make(candidates[i].name, ELECTION_GRANTS_CHILDREN);
		}
		for (int64_t now_ms = START; now_ms < START + STORY_MS; now_ms += STEP_MS) {
			struct candidate *victim = &candidates[below(&random, PROCESSES)];
			int leaders = 0;

			if (below(&random, 4000 / STEP_MS) == 0)
				victim->stopped_until_ms = now_ms + below(&random, 40000);
			else if (below(&random, 4000 / STEP_MS) == 0)
				victim->cut_until_ms = now_ms + below(&random, 40000);
			for (int i = 0; i < PROCESSES; i++) {
				act(&server, &candidates[i], &random, false, now_ms);
				leaders += election_leads(candidates[i].election, now_ms);
			}
			if (leaders > 1)
				fail_msg("seed %llu: %d leaders at %lld", (unsigned long long)seed, leaders,
					 (long long)now_ms);
		}
		for (int i = 0; i < PROCESSES; i++)
			election_free(candidates[i].election);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_start),
		cmocka_unit_test(standby_reads),
		cmocka_unit_test(created_unanswered),
		cmocka_unit_test(follows_one_that_did_not_know),
		cmocka_unit_test(expiry),
		cmocka_unit_test(holder_known_dead),
		cmocka_unit_test(former_end),
		cmocka_unit_test(deleted_by_hand),
		cmocka_unit_test(acquired_too_late),
		cmocka_unit_test(renews),
		cmocka_unit_test(deadline),
		cmocka_unit_test(leader_reads),
		cmocka_unit_test(reading_is_no_renewal),
		cmocka_unit_test(conflicts_without_end),
		cmocka_unit_test(epoch_heard),
		cmocka_unit_test(epoch_end),
		cmocka_unit_test(releases),
		cmocka_unit_test(releases_what_it_inherited),
		cmocka_unit_test(standby_releases_nothing),
		cmocka_unit_test(stories),
		cmocka_unit_test(never_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
