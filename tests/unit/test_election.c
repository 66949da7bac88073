/* How one becomes leader: each answer of the API server and what follows from it. */
#include "tests/unit/election_world.h"

static void first_start(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_request request;

	(void)state;
	assert_false(election_leads(election, START));
	looks(election, START, NULL, NULL);
	request = asks(election, START + 1, ELECTION_CREATE);
	assert_true(request.acquires);
	assert_string_equal(request.lease.holder, "me");
	assert_string_equal(request.lease.process, "process of me");
	assert_int_equal(request.lease.transitions, 1);
	assert_int_equal(request.lease.duration_ms, LEASE);
	assert_int_equal(request.lease.grants, ELECTION_GRANTS_MEMBERS);
	done(election, &request, START + 5);
	assert_false(election_leads(election, START + 5)); /* before the record names the term */
	request = asks_of(election, START + 5, ELECTION_RECORD, ELECTION_CREATE);
	assert_string_equal(request.lease.holder, "me");
	assert_int_equal(request.lease.transitions, 1);
	assert_int_equal(request.lease.duration_ms, LEASE);
	assert_int_equal(request.lease.member_ms, MEMBER);
	done(election, &request, START + 6);
	assert_false(election_leads(election, START + 6)); /* before the Lease is known to be still its own */
	request = asks(election, START + 7, ELECTION_UPDATE);
	assert_false(request.acquires);
	done(election, &request, START + 8);
	assert_true(election_leads(election, START + 8));
	assert_int_equal(election_epoch(election), 1);
	assert_int_equal(election_term(election), 1);
	assert_int_equal(election_former_until_ms(election), 0); /* there was no former leader: nothing to wait for */
	assert_true(election_leads(election, START + 7 + RENEW - 1));
	assert_false(election_leads(election, START + 7 + RENEW));
	asks_nothing_before(election, START + 8, START + 7 + RETRY);
	election_free(election);
}

/* What a standby does about a Lease that it reads, and for how long it goes on waiting. */
static void standby_reads(void **state)
{
	static const struct {
		const char *what;
		const char *holder;
		const char *process;
		enum election_grants grants;
		const char *recorded;
		bool takes;
		bool waits; /* for who may act */
	} rows[] = {
		{"released and drained", "", "", ELECTION_GRANTS_NONE, "other", true, false},
		{"released, its members live on", "", "", ELECTION_GRANTS_MEMBERS, "other", true, true},
		{"held by another", "other", "p", ELECTION_GRANTS_NONE, "other", false, false},
		{"its holder taken out by hand", "", "p", ELECTION_GRANTS_MEMBERS, "other", false, false},
		{"ours", "me", "p", ELECTION_GRANTS_CHILDREN, "me", true, false},
		{"the same, and it had to wait for others", "me", "p", ELECTION_GRANTS_MEMBERS, "me", true, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
		struct election_lease record = record_of(rows[i].recorded, 7);
		struct election_lease lease = lease_of(rows[i].holder, "t", 7, rows[i].grants);
		struct election_request request;

		print_message("%s\n", rows[i].what);
		snprintf(lease.process, sizeof(lease.process), "%s", rows[i].process);
		looks(election, START, &record, &lease);
		if (!rows[i].takes) {
			asks_nothing_before(election, START, START + RETRY + JITTER);
			looks(election, START + RETRY + JITTER, &record, &lease);
		} else {
			request = asks(election, START, ELECTION_UPDATE);
			assert_int_equal(request.lease.transitions, 8);
			assert_int_equal(request.lease.grants,
					 rows[i].waits ? ELECTION_GRANTS_MEMBERS : ELECTION_GRANTS_CHILDREN);
			done(election, &request, START);
			records(election, START, ELECTION_UPDATE);
			assert_true(election_leads(election, START));
			assert_int_equal(election_former_until_ms(election), rows[i].waits ? START + SETTLE : 0);
			assert_int_equal(election_epoch(election), 8);
		}
		election_free(election);
	}
}

/* Another's Lease is taken when it has not changed for its own duration, counted from when we saw it. */
static void expiry(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
	struct election_lease record = record_of("other", 3);
	struct election_lease lease = lease_of("other", "t0", 3, ELECTION_GRANTS_CHILDREN);
	struct election_request request;
	int64_t renewed_ms = START + 4000;
	int64_t settled_ms;

	(void)state;
	lease.duration_ms = record.duration_ms = 6000;
	looks(election, START, &record, &lease);
	snprintf(lease.version, sizeof(lease.version), "t1");
	looks(election, renewed_ms, &record, &lease);
	for (int64_t at_ms = renewed_ms; at_ms < renewed_ms + 6000;) {
		at_ms = election_due_ms(election);
		looks(election, at_ms, &record, &lease);
	}
	request = asks(election, renewed_ms + 6000, ELECTION_UPDATE);
	assert_true(request.acquires);
	assert_int_equal(request.lease.transitions, 4);
	assert_int_equal(request.lease.grants, ELECTION_GRANTS_MEMBERS);
	done(election, &request, renewed_ms + 6001);
	records(election, renewed_ms + 6001, ELECTION_UPDATE);
	/* nothing tells that its children ended; once nobody can act for it any more, our successor need not wait for
	 * its sake */
	settled_ms = renewed_ms + 6001 + SETTLE;
	assert_int_equal(election_former_until_ms(election), settled_ms);
	for (int64_t at_ms = renewed_ms + 6001 + RETRY; at_ms < settled_ms + 2 * RETRY; at_ms += RETRY) {
		request = asks(election, at_ms, ELECTION_UPDATE);
		assert_int_equal(request.lease.grants,
				 at_ms < settled_ms ? ELECTION_GRANTS_MEMBERS : ELECTION_GRANTS_CHILDREN);
		done(election, &request, at_ms);
	}
	election_free(election);
}

/* Somebody shortened the Lease by hand: its holder leads for as long as before. */
static void shortened(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
	struct election_lease record = record_of("other", 3);
	struct election_lease lease = lease_of("other", "t", 3, ELECTION_GRANTS_CHILDREN);
	int64_t at_ms = START;

	(void)state;
	lease.duration_ms = 1000;
	for (; at_ms < START + LEASE; at_ms = election_due_ms(election))
		looks(election, at_ms, &record, &lease);
	assert_int_equal(at_ms, START + LEASE);
	election_free(election);
}

/* The holder that has ended is not the one that has the Lease by now. */
static void another_than_the_dead(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
	struct election_lease record = record_of("third", 4);
	struct election_lease lease = lease_of("other", "t", 3, ELECTION_GRANTS_CHILDREN);

	(void)state;
	looks(election, START, &record, &lease);
	election_holder_dead(election);
	lease = lease_of("third", "u", 4, ELECTION_GRANTS_CHILDREN);
	looks(election, START, &record, &lease);
	asks_nothing_before(election, START, START + RETRY + JITTER);
	election_free(election);
}

static void holder_known_dead(void **state)
{
	static const enum election_grants grants[] = {ELECTION_GRANTS_CHILDREN, ELECTION_GRANTS_MEMBERS};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(grants); i++) {
		struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
		struct election_lease record = record_of("other", 3);
		struct election_lease lease = lease_of("other", "t", 3, grants[i]);
		struct election_request request;

		looks(election, START, &record, &lease);
		election_holder_dead(election);
		looks(election, START, &record, &lease); /* as the record may have changed */
		request = asks(election, START, ELECTION_UPDATE);
		done(election, &request, START);
		records(election, START, ELECTION_UPDATE);
		assert_true(election_leads(election, START));
		assert_int_equal(election_former_until_ms(election),
				 grants[i] == ELECTION_GRANTS_MEMBERS ? START + SETTLE : 0);
		election_holder_dead(election); /* of ourselves: nonsense, and ignored */
		assert_true(election_leads(election, START));
		election_free(election);
	}
}

/* Its answer came when the Lease had nearly run out again. */
static void acquired_too_late(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
	struct election_request request;

	(void)state;
	looks(election, START, NULL, NULL);
	request = asks(election, START, ELECTION_CREATE);
	done(election, &request, START + RENEW);
	assert_false(election_leads(election, START + RENEW));
	assert_int_equal(election_term(election), 0);
	looks(election, START + RENEW, NULL, NULL);
	election_free(election);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_start),
		cmocka_unit_test(standby_reads),
		cmocka_unit_test(expiry),
		cmocka_unit_test(shortened),
		cmocka_unit_test(another_than_the_dead),
		cmocka_unit_test(holder_known_dead),
		cmocka_unit_test(acquired_too_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
