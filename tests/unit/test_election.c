/* How one becomes leader: each answer of the API server and what follows from it. */
#include "tests/unit/election_world.h"

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
