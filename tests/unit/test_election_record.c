/* The record of the epoch: who leads when somebody deletes the Lease or the record, or when two took a Lease each. */
#include "tests/unit/election_world.h"

static const char *const other = "other";

/* From when a Lease that is gone may be taken, by one that starts. */
enum { GONE = START + 2 * RETRY };

/* One that has taken the Lease at `now_ms` renews it until `lead_ms` and asks for nothing else. */
static void holds_until(struct election *election, int64_t now_ms, int64_t lead_ms)
{
	while (now_ms + RETRY < lead_ms) {
		struct election_request request;

		now_ms += RETRY;
		asks_nothing_before(election, now_ms - RETRY, now_ms);
		request = asks(election, now_ms, ELECTION_UPDATE);
		assert_false(request.acquires);
		done(election, &request, now_ms);
		assert_false(election_leads(election, now_ms));
	}
}

/* The Lease is gone, and so, perhaps, is who led. Its leader may put it back. Then it goes on for as long as its Lease
 * ran, at most, and members as the record says. */
static void deleted(void **state)
{
	enum { LONGER = 3 * MEMBER, RAN = LEASE + 900 };
	struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
	struct election_lease record = record_of(other, 5);
	struct election_request request;
	int64_t at_ms = START;

	(void)state;
	record.duration_ms = RAN;
	record.member_ms = LONGER;
	for (; at_ms < GONE; at_ms = election_due_ms(election)) {
		looks(election, at_ms, &record, NULL);
		assert_null(election_seen(election));
	}
	assert_int_equal(at_ms, GONE);
	looks(election, GONE, &record, NULL);
	request = asks(election, GONE, ELECTION_CREATE);
	assert_true(request.acquires);
	assert_int_equal(request.lease.transitions, 6);
	assert_int_equal(request.lease.grants, ELECTION_GRANTS_MEMBERS);
	assert_int_equal(request.lease.member_ms, LONGER);
	done(election, &request, GONE);
	holds_until(election, GONE, GONE + RAN);
	at_ms = election_due_ms(election);
	assert_true(at_ms >= GONE + RAN && at_ms < GONE + RAN + RETRY);
	request = asks(election, at_ms, ELECTION_UPDATE);
	done(election, &request, at_ms);
	request = records(election, at_ms, ELECTION_UPDATE);
	assert_int_equal(request.lease.transitions, 6);
	assert_int_equal(request.lease.member_ms, LONGER);
	assert_true(election_leads(election, at_ms));
	assert_int_equal(election_former_until_ms(election), GONE + RAN + LONGER + SETTLE - MEMBER);
	election_free(election);
}

/* Its leader puts it back, again and again. */
static void put_back(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease record = record_of(other, 5);
	struct election_lease lease = lease_of(other, "", 5, ELECTION_GRANTS_MEMBERS);
	int64_t at_ms = START;

	(void)state;
	for (int i = 0; at_ms < START + 4 * LEASE; i++, at_ms = election_due_ms(election)) {
		snprintf(lease.version, sizeof(lease.version), "t%d", i);
		looks(election, at_ms, &record, i % 2 == 0 ? NULL : &lease);
	}
	election_free(election);
}

/* Whether one may lead whom the Lease that it takes does not name: then it waits, and each epoch is new. */
static void unknown_leader(void **state)
{
	static const struct {
		const char *what;
		const char *holder;
		uint64_t transitions;
		const char *recorded; /* NULL: there is no record */
		bool waits;
		uint64_t epoch;
	} rows[] = {
		{"the Lease of the term, given back", "", 5, "other", false, 6},
		{"our own, before we forgot it", "me", 5, "me", false, 6},
		{"one of an older term, which came back", "", 4, "other", true, 6},
		{"one that somebody wrote anew", "", 0, "other", true, 6},
		{"ours, which did not come into the record", "me", 6, "other", true, 7},
		{"the same, of one epoch", "me", 5, "other", true, 6},
		{"an older record came back, or none was written", "", 6, "other", true, 7},
		{"somebody deleted the record", "", 5, NULL, true, 6},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
		struct election_lease record = record_of(rows[i].recorded == NULL ? "" : rows[i].recorded, 5);
		struct election_lease lease = lease_of(rows[i].holder, "t", rows[i].transitions, ELECTION_GRANTS_NONE);
		struct election_request request;

		print_message("%s\n", rows[i].what);
		looks(election, START, rows[i].recorded == NULL ? NULL : &record, &lease);
		request = asks(election, START, ELECTION_UPDATE);
		assert_int_equal(request.lease.transitions, rows[i].epoch);
		done(election, &request, START);
		if (rows[i].waits)
			holds_until(election, START, START + LEASE);
		else
			records(election, START, ELECTION_UPDATE);
		assert_int_equal(election_leads(election, START), !rows[i].waits);
		assert_int_equal(election_former_until_ms(election), rows[i].waits ? START + LEASE + SETTLE : 0);
		election_free(election);
	}
}

/* The same of a holder that has ended before it led. */
static void holder_that_never_led(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease record = record_of(other, 5);
	struct election_lease lease = lease_of("third", "t", 6, ELECTION_GRANTS_CHILDREN);
	struct election_request request;

	(void)state;
	looks(election, START, &record, &lease);
	election_holder_dead(election);
	looks(election, START, &record, &lease);
	request = asks(election, START, ELECTION_UPDATE);
	assert_int_equal(request.lease.grants, ELECTION_GRANTS_MEMBERS);
	done(election, &request, START);
	holds_until(election, START, START + LEASE);
	election_free(election);
}

/* Takes a Lease that is gone, at `now_ms`, and waits for its leader, which went on for `ran_ms` without it. */
static struct election_request takes_and_waits(struct election *election, int64_t now_ms, int64_t ran_ms)
{
	struct election_request request = asks(election, now_ms, ELECTION_CREATE);

	assert_true(request.acquires);
	done(election, &request, now_ms);
	holds_until(election, now_ms, now_ms + ran_ms);
	assert_int_equal(election_former_until_ms(election), now_ms + ran_ms + SETTLE);
	return request;
}

/* Both are gone: one that has seen a Lease waits for its holder. */
static void both_deleted(void **state)
{
	enum { RAN = LEASE + 900 };
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease lease = lease_of(other, "t", 3, ELECTION_GRANTS_MEMBERS);
	struct election_request request;
	int64_t at_ms;

	(void)state;
	lease.duration_ms = RAN;
	looks(election, START, NULL, &lease);
	at_ms = election_due_ms(election);
	looks(election, at_ms, NULL, NULL);
	looks(election, at_ms + 2 * RETRY - 1, NULL, NULL);
	asks_nothing_before(election, at_ms + 2 * RETRY - 1, at_ms + 2 * RETRY);
	at_ms += 2 * RETRY;
	looks(election, at_ms, NULL, NULL);
	request = takes_and_waits(election, at_ms, RAN);
	assert_int_equal(request.lease.transitions, 4);
	assert_int_equal(request.lease.grants, ELECTION_GRANTS_MEMBERS);
	election_free(election);
}

/* The Lease of one that waits for an unknown leader is gone: that leader may have had it in between. So it begins anew.
 * Where only an answer was lost, the next write tells. */
static void gone_while_it_waits(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease record = record_of(other, 5);
	struct election_lease lease = lease_of("", "t", 4, ELECTION_GRANTS_MEMBERS);
	struct election_request request;
	int64_t at_ms = START + RETRY;

	(void)state;
	looks(election, START, &record, &lease);
	request = asks(election, START, ELECTION_UPDATE);
	done(election, &request, START);
	asks(election, at_ms, ELECTION_UPDATE);
	election_answered(election, ELECTION_FAILED, NULL, at_ms);
	at_ms += RETRY;
	request = asks(election, at_ms, ELECTION_UPDATE);
	done(election, &request, at_ms);
	holds_until(election, at_ms, START + LEASE - RETRY);
	at_ms = election_due_ms(election);
	asks(election, at_ms, ELECTION_UPDATE);
	election_answered(election, ELECTION_ABSENT, NULL, at_ms);
	asks(election, at_ms, ELECTION_READ);
	answered(election, NULL, at_ms);
	looks(election, at_ms, &record, NULL);
	asks_nothing_before(election, at_ms, at_ms + RETRY + JITTER);
	at_ms += 2 * RETRY;
	looks(election, at_ms, &record, NULL);
	takes_and_waits(election, at_ms, LEASE);
	election_free(election);
}

/* One that waits before it leads is told to end: its Lease runs out. */
static void ends_while_it_waits(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease record = record_of(other, 5);
	struct election_lease lease = lease_of("", "t", 4, ELECTION_GRANTS_MEMBERS);
	struct election_request request;

	(void)state;
	looks(election, START, &record, &lease);
	request = asks(election, START, ELECTION_UPDATE);
	done(election, &request, START);
	election_release(election, true, START + 1);
	assert_false(election_next(election, START + 1, &request));
	assert_true(election_released(election));
	election_free(election);
}

/* One that has the Lease, given back, and asks for the record at `now_ms`; the record was `before`. */
static struct election *holder(const struct election_lease *before, int64_t now_ms)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease lease = lease_of("", "t", 5, ELECTION_GRANTS_NONE);
	struct election_request request;

	looks(election, now_ms, before, before == NULL ? NULL : &lease);
	request = asks(election, now_ms, before == NULL ? ELECTION_CREATE : ELECTION_UPDATE);
	done(election, &request, now_ms);
	asks_of(election, now_ms, ELECTION_RECORD, before == NULL ? ELECTION_CREATE : ELECTION_UPDATE);
	return election;
}

/* Of those who took a Lease each only the one leads that wrote the record. */
static void record_is_read(void **state)
{
	static const struct {
		const char *what;
		const char *before; /* holder; NULL: no record */
		const char *holder;
		uint64_t epoch; /* since ours */
		enum { GOES_ON, WRITES_AGAIN, STEPS_DOWN } then;
		bool touched; /* another version */
	} rows[] = {
		{"ours: the answer was lost", "other", "me", 6, GOES_ON, false},
		{"the same, the first one", NULL, "me", 1, GOES_ON, false},
		{"as before", "other", "other", 5, WRITES_AGAIN, false},
		{"the same term, written again", "other", "other", 5, STEPS_DOWN, true},
		{"none yet", NULL, NULL, 0, WRITES_AGAIN, false},
		{"another took our epoch", "other", "third", 6, STEPS_DOWN, false},
		{"another is further", "other", "third", 7, STEPS_DOWN, false},
		{"epochs began anew", "other", "third", 1, STEPS_DOWN, false},
		{"ours of another term", "other", "me", 4, STEPS_DOWN, false},
		{"gone", "other", NULL, 0, STEPS_DOWN, false},
		{"somebody was first", NULL, "third", 1, STEPS_DOWN, false},
	};
	static const enum election_outcome outcomes[] = {ELECTION_CONFLICT, ELECTION_ABSENT};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(outcomes); i++) {
		size_t row = i / ARRAY_LEN(outcomes);
		struct election_lease before = record_of(rows[row].before == NULL ? "" : rows[row].before, 5);
		struct election_lease record = record_of(rows[row].holder == NULL ? "" : rows[row].holder,
							 rows[row].epoch);
		struct election *election = holder(rows[row].before == NULL ? NULL : &before, START);
		struct election_request request;

		print_message("%s\n", rows[row].what);
		if (rows[row].touched)
			snprintf(record.version, sizeof(record.version), "touched");
		election_answered(election, outcomes[i % ARRAY_LEN(outcomes)], NULL, START);
		asks_of(election, START, ELECTION_RECORD, ELECTION_READ);
		answered(election, rows[row].holder == NULL ? NULL : &record, START);
		assert_false(election_leads(election, START));
		switch (rows[row].then) {
		case GOES_ON:
			request = asks(election, START, ELECTION_UPDATE);
			done(election, &request, START);
			assert_true(election_leads(election, START));
			break;
		case WRITES_AGAIN:
			records(election, START, rows[row].before == NULL ? ELECTION_CREATE : ELECTION_UPDATE);
			assert_true(election_leads(election, START));
			break;
		case STEPS_DOWN: asks(election, START, ELECTION_READ); break;
		}
		election_free(election);
	}
}

/* The record may not be written: nobody leads by the Lease alone. Its holder renews it and tries again. */
static void record_refused(void **state)
{
	struct election_lease before = record_of(other, 5);
	struct election *election = holder(&before, START);
	struct election_request request;
	int64_t at_ms;

	(void)state;
	for (at_ms = START + RETRY; at_ms < START + 3 * RENEW; at_ms += RETRY) {
		election_answered(election, ELECTION_FAILED, NULL, at_ms - RETRY);
		request = asks(election, at_ms, ELECTION_UPDATE);
		assert_int_equal(request.lease.transitions, 6);
		done(election, &request, at_ms);
		assert_false(election_leads(election, at_ms));
		request = asks_of(election, at_ms, ELECTION_RECORD, ELECTION_UPDATE);
	}
	done(election, &request, at_ms - RETRY);
	request = asks(election, at_ms - RETRY, ELECTION_UPDATE);
	done(election, &request, at_ms - RETRY);
	assert_true(election_leads(election, at_ms - RETRY));
	election_free(election);
}

/* One that need not wait creates a Lease again that is gone. */
static void gone_while_it_writes_the_record(void **state)
{
	struct election_lease before = record_of(other, 5);
	struct election *election = holder(&before, START);
	struct election_request request;

	(void)state;
	election_answered(election, ELECTION_FAILED, NULL, START);
	asks(election, START + RETRY, ELECTION_UPDATE);
	election_answered(election, ELECTION_ABSENT, NULL, START + RETRY);
	asks(election, START + RETRY, ELECTION_READ);
	answered(election, NULL, START + RETRY);
	request = asks(election, START + RETRY, ELECTION_CREATE);
	assert_false(request.acquires);
	assert_int_equal(request.lease.transitions, 6);
	done(election, &request, START + RETRY);
	records(election, START + RETRY, ELECTION_UPDATE);
	assert_true(election_leads(election, START + RETRY));
	election_free(election);
}

/* Nobody can renew for it: it holds the Lease for as long as a leader would lead. */
static void renew_deadline_of_a_holder(void **state)
{
	struct election_lease before = record_of(other, 5);
	struct election *election = holder(&before, START);

	(void)state;
	election_answered(election, ELECTION_FAILED, NULL, START + RENEW);
	asks(election, START + RENEW, ELECTION_READ);
	election_free(election);
}

/* Somebody else takes the Lease between the record and the renewal: one does not lead by the record alone. */
static void taken_in_between(void **state)
{
	struct election_lease before = record_of(other, 5);
	struct election_lease record = record_of("me", 6);
	struct election_lease lease = lease_of("third", "u", 7, ELECTION_GRANTS_MEMBERS);
	struct election *election = holder(&before, START);

	(void)state;
	answered(election, &record, START);
	asks(election, START, ELECTION_UPDATE);
	election_answered(election, ELECTION_CONFLICT, NULL, START);
	asks(election, START, ELECTION_READ);
	answered(election, &lease, START);
	assert_int_equal(election_term(election), 0);
	looks(election, START, &record, &lease);
	asks_nothing_before(election, START, START + RETRY + JITTER);
	election_free(election);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deleted),
		cmocka_unit_test(put_back),
		cmocka_unit_test(unknown_leader),
		cmocka_unit_test(holder_that_never_led),
		cmocka_unit_test(both_deleted),
		cmocka_unit_test(gone_while_it_waits),
		cmocka_unit_test(ends_while_it_waits),
		cmocka_unit_test(record_is_read),
		cmocka_unit_test(record_refused),
		cmocka_unit_test(gone_while_it_writes_the_record),
		cmocka_unit_test(renew_deadline_of_a_holder),
		cmocka_unit_test(taken_in_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
