/* One that leads: its renewals, what deposes it, its epochs, and how it gives the Lease back. */
#include "tests/unit/election_world.h"

/* One that leads since `now_ms`, from an absent Lease. */
static struct election *leader(int64_t now_ms)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_request request;

	looks(election, now_ms, NULL, NULL);
	request = asks(election, now_ms, ELECTION_CREATE);
	done(election, &request, now_ms);
	records(election, now_ms, ELECTION_CREATE);
	assert_true(election_leads(election, now_ms));
	return election;
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

/* The answer comes after that time, before anybody has asked what to do next. */
static void answer_after_the_deadline(void **state)
{
	struct election *election = leader(START);
	struct election_request request = asks(election, START + RETRY, ELECTION_UPDATE);

	(void)state;
	done(election, &request, START + RENEW);
	assert_false(election_leads(election, START + RENEW));
	asks(election, START + RENEW, ELECTION_READ);
	election_free(election);
}

/* What a leader does when its write failed and it reads why. */
static void leader_reads(void **state)
{
	static const struct {
		const char *what;
		const char *holder;
		uint64_t transitions;
		bool leads;
	} rows[] = {
		{"ours: the answer was lost", "me", 1, true},
		{"ours of another term", "me", 0, false},
		{"another's", "other", 2, false},
		{"another's of the same number", "other", 1, false},
		{"nobody's: the holder was taken out by hand", "", 1, true},
		{"nobody's, but somebody led in between", "", 2, false},
		{"gone", NULL, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct election *election = leader(START);
		int64_t at_ms = START + RETRY;
		struct election_request request = asks(election, at_ms, ELECTION_UPDATE);
		bool gone = rows[i].holder == NULL;
		struct election_lease lease = lease_of(gone ? "" : rows[i].holder, "x", rows[i].transitions, 0);

		print_message("%s\n", rows[i].what);
		election_answered(election, gone ? ELECTION_ABSENT : ELECTION_CONFLICT, NULL, at_ms);
		asks(election, at_ms, ELECTION_READ);
		answered(election, gone ? NULL : &lease, at_ms);
		assert_int_equal(election_leads(election, at_ms), rows[i].leads);
		if (rows[i].leads) {
			request = asks(election, at_ms, gone ? ELECTION_CREATE : ELECTION_UPDATE);
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

/* An answer that does not come takes half of the time. The next try does not wait for the retry period as well. */
static void tries_again_at_once_after_a_timeout(void **state)
{
	struct election *election = leader(START);
	struct election_request request = asks(election, START + RETRY, ELECTION_UPDATE);
	int64_t at_ms = START + RETRY + request.timeout_ms;

	(void)state;
	election_answered(election, ELECTION_FAILED, NULL, at_ms);
	asks(election, at_ms, ELECTION_READ);
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

/* Behind the largest number that a Lease can hold, epochs begin anew: they must not stay, or two leaders have one. */
static void epoch_end(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease lease = lease_of("", "t", ELECTION_EPOCH_MAX, ELECTION_GRANTS_MEMBERS);
	struct election_lease record = record_of("other", ELECTION_EPOCH_MAX);
	struct election_request request;

	(void)state;
	looks(election, START, &record, &lease);
	request = asks(election, START, ELECTION_UPDATE);
	assert_int_equal(request.lease.transitions, 1);
	done(election, &request, START);
	records(election, START, ELECTION_UPDATE);
	assert_int_equal(election_epoch(election), 1);
	asks_nothing_before(election, START, START + RETRY);
	election_free(election);
}

/* Somebody wrote the largest number into the Lease by hand: no epoch comes twice. */
static void epoch_by_hand(void **state)
{
	struct election *election = leader(START);
	struct election_lease lease = lease_of("me", "by hand", ELECTION_EPOCH_MAX, ELECTION_GRANTS_MEMBERS);
	struct election_lease record = record_of("me", 1);
	struct election_request request;

	(void)state;
	asks(election, START + RETRY, ELECTION_UPDATE);
	election_answered(election, ELECTION_CONFLICT, NULL, START + RETRY);
	asks(election, START + RETRY, ELECTION_READ);
	answered(election, &lease, START + RETRY);
	looks(election, START + RETRY, &record, &lease);
	request = asks(election, START + RETRY, ELECTION_UPDATE);
	assert_int_equal(request.lease.transitions, 2);
	done(election, &request, START + RETRY);
	assert_false(election_leads(election, START + RETRY));
	election_free(election);
}

/* ---- giving it back --------------------------------------------------------------------------------------------- */

static void releases(void **state)
{
	(void)state;
	for (int drained = 0; drained < 2; drained++) {
		struct election *election = leader(START);
		struct election_request request;

		request = asks(election, START + RETRY, ELECTION_UPDATE);
		election_release(election, drained, START + RETRY + 1); /* in the middle of a renewal */
		assert_false(election_released(election));
		done(election, &request, START + RETRY + 2);
		request = asks(election, START + RETRY + 2, ELECTION_UPDATE);
		assert_string_equal(request.lease.holder, "");
		assert_int_equal(request.lease.duration_ms, 1000);
		assert_int_equal(request.lease.transitions, 1);
		assert_int_equal(request.lease.grants, drained ? ELECTION_GRANTS_NONE : ELECTION_GRANTS_MEMBERS);
		if (drained) { /* its answer is lost */
			struct election_lease lease = request.lease;

			election_answered(election, ELECTION_FAILED, NULL, START + RETRY + 3);
			asks(election, election_due_ms(election), ELECTION_READ);
			election_answered(election, ELECTION_ANSWERED, &lease, START + RETRY + 400);
			request = asks(election, START + RETRY + 400, ELECTION_UPDATE);
		}
		done(election, &request, START + RETRY + 400);
		assert_true(election_released(election));
		assert_false(election_leads(election, START + RETRY + 3));
		election_free(election);
	}
}

/* It is told to stop while it takes the Lease: it finishes that, and gives it back. */
static void releases_what_it_takes(void **state)
{
	(void)state;
	for (int writes = 0; writes < 3; writes++) {
		struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
		struct election_request request;

		looks(election, START, NULL, NULL);
		for (int i = 0; i < 3; i++) {
			request = i == 1 ? asks_of(election, START, ELECTION_RECORD, ELECTION_CREATE)
					 : asks(election, START, i == 0 ? ELECTION_CREATE : ELECTION_UPDATE);
			if (i == writes)
				election_release(election, true, START);
			assert_string_equal(request.lease.holder, "me");
			done(election, &request, START);
		}
		request = asks(election, START, ELECTION_UPDATE);
		assert_string_equal(request.lease.holder, "");
		assert_int_equal(request.lease.transitions, 1);
		assert_int_equal(request.lease.grants, ELECTION_GRANTS_NONE);
		assert_false(election_released(election));
		done(election, &request, START + 1);
		assert_true(election_released(election));
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
		struct election_lease record = record_of("other", 7);
		struct election_request request;
		int64_t now_ms = START;

		looks(election, now_ms, &record, &lease);
		request = asks(election, now_ms, ELECTION_UPDATE);
		done(election, &request, now_ms);
		records(election, now_ms, ELECTION_UPDATE);
		assert_int_equal(election_former_until_ms(election), START + SETTLE);
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
	looks(election, START, NULL, &lease);
	election_release(election, true, START);
	assert_false(election_next(election, START + 60000, &request));
	assert_true(election_released(election));
	election_free(election);
}

/* Leases that a former leader gave run on as they are, though members get shorter ones now: whoever leads before they
 * are over is told how long they may run. */
static void longer_leases_before(void **state)
{
	enum { LONGER = 3 * MEMBER, OVER = START + LONGER + SETTLE - MEMBER };
	struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
	struct election_lease lease = lease_of("", "t", 1, ELECTION_GRANTS_MEMBERS);
	struct election_lease record = record_of("other", 1);
	struct election_request request;

	(void)state;
	lease.member_ms = LONGER;
	looks(election, START, &record, &lease);
	for (int64_t now_ms = START; now_ms < OVER + 3 * RETRY; now_ms += RETRY) {
		request = asks(election, now_ms, ELECTION_UPDATE);
		assert_int_equal(request.lease.member_ms, now_ms < OVER ? LONGER : MEMBER);
		assert_int_equal(request.lease.grants,
				 now_ms < OVER ? ELECTION_GRANTS_MEMBERS : ELECTION_GRANTS_CHILDREN);
		done(election, &request, now_ms);
		if (now_ms == START)
			assert_int_equal(records(election, START, ELECTION_UPDATE).lease.member_ms, LONGER);
		assert_int_equal(election_former_until_ms(election), OVER);
	}
	election_free(election);
}

/* Shorter ones do not make ours shorter, nor does a Lease that says nothing of them. */
static void shorter_leases_before(void **state)
{
	(void)state;
	for (int64_t member_ms = 0; member_ms < MEMBER; member_ms += MEMBER - 1) {
		struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
		struct election_lease lease = lease_of("", "t", 1, ELECTION_GRANTS_MEMBERS);
		struct election_lease record = record_of("other", 1);
		struct election_request request;

		lease.member_ms = member_ms;
		looks(election, START, &record, &lease);
		request = asks(election, START, ELECTION_UPDATE);
		assert_int_equal(request.lease.member_ms, MEMBER);
		done(election, &request, START);
		assert_int_equal(election_former_until_ms(election), START + SETTLE);
		election_free(election);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(renews),
		cmocka_unit_test(deadline),
		cmocka_unit_test(answer_after_the_deadline),
		cmocka_unit_test(leader_reads),
		cmocka_unit_test(reading_is_no_renewal),
		cmocka_unit_test(tries_again_at_once_after_a_timeout),
		cmocka_unit_test(conflicts_without_end),
		cmocka_unit_test(epoch_end),
		cmocka_unit_test(epoch_by_hand),
		cmocka_unit_test(releases),
		cmocka_unit_test(releases_what_it_takes),
		cmocka_unit_test(releases_what_it_inherited),
		cmocka_unit_test(standby_releases_nothing),
		cmocka_unit_test(longer_leases_before),
		cmocka_unit_test(shorter_leases_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
