/* The record of the epoch: what follows when somebody deletes the Lease, and who leads when two took one each. */
#include "tests/unit/election_world.h"

static const char *const other = "other";

/* The second look, from which on a record without its Lease counts. */
enum { SECOND = START + RETRY + JITTER };

/* The Lease is gone, and so, perhaps, is who led. Whoever does puts it back before it would have run out. Nobody leads
 * after that; members go on for as long as the record tells. */
static void deleted(void **state)
{
	enum { LONGER = 3 * MEMBER };
	struct election *election = make("me", ELECTION_GRANTS_CHILDREN);
	struct election_lease record = record_of(other, 5);
	struct election_request request;
	int64_t at_ms = START;

	(void)state;
	record.duration_ms = LEASE + 1000;
	record.member_ms = LONGER;
	for (; at_ms < SECOND + LEASE + 1000; at_ms = election_due_ms(election)) {
		looks(election, at_ms, &record, NULL);
		assert_string_equal(election_seen(election)->holder, other);
	}
	assert_int_equal(at_ms, SECOND + LEASE + 1000);
	looks(election, at_ms, &record, NULL);
	request = asks(election, at_ms, ELECTION_CREATE);
	assert_int_equal(request.lease.transitions, 6);
	assert_int_equal(request.lease.grants, ELECTION_GRANTS_MEMBERS);
	assert_int_equal(request.lease.member_ms, LONGER);
	done(election, &request, at_ms);
	request = records(election, at_ms, ELECTION_UPDATE);
	assert_int_equal(request.lease.transitions, 6);
	assert_int_equal(request.lease.member_ms, LONGER);
	assert_true(election_leads(election, at_ms));
	assert_int_equal(election_former_until_ms(election), at_ms + LONGER + SETTLE - MEMBER);
	election_free(election);
}

/* It is deleted again and again, and put back in between: each time by a new term, so that nobody takes it for gone. */
static void deleted_again_and_again(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease record = record_of(other, 5);
	int64_t at_ms = START;

	(void)state;
	for (; at_ms < START + 4 * LEASE; at_ms = election_due_ms(election)) {
		looks(election, at_ms, &record, NULL);
		record = record_of(other, record.transitions + 1);
	}
	for (int64_t since_ms = at_ms; at_ms < since_ms + LEASE - RETRY - JITTER; at_ms = election_due_ms(election))
		looks(election, at_ms, &record, NULL);
	election_free(election);
}

/* The Lease is written between a look at it and the one at the record, and deleted before the next look: its holder
 * renewed it until then. */
static void renewed_unseen(void **state)
{
	enum { LATER = START + LEASE - 1 };
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease record = record_of(other, 2);
	struct election_request request;

	(void)state;
	looks(election, START, &record, NULL);
	looks(election, LATER, &record, NULL);
	assert_false(election_next(election, LATER, &request));
	looks(election, LATER + LEASE - 1, &record, NULL);
	assert_false(election_next(election, LATER + LEASE - 1, &request));
	looks(election, LATER + LEASE, &record, NULL);
	asks(election, LATER + LEASE, ELECTION_CREATE);
	election_free(election);
}

/* Somebody deleted it, and a late write has put an older one in its place: no epoch comes twice. */
static void older_record_comes_back(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease record = record_of(other, 1);
	struct election_lease lease = lease_of("third", "t", 2, ELECTION_GRANTS_MEMBERS);
	int64_t at_ms = START;

	(void)state;
	for (; at_ms < SECOND + LEASE; at_ms = election_due_ms(election))
		looks(election, at_ms, &record, &lease);
	looks(election, at_ms, &record, &lease);
	assert_int_equal(asks(election, at_ms, ELECTION_UPDATE).lease.transitions, 3);
	election_free(election);
}

/* Somebody wrote it anew, or a stranger took it, without knowing of the term that the record names: that one counts. */
static void older_than_the_record(void **state)
{
	static const struct {
		const char *holder;
		uint64_t transitions;
		bool knows; /* the record, as it is */
		bool takes; /* by the Lease itself, which is free otherwise */
	} rows[] = {{"", 0, false, false},   {"", 4, false, false},   {"", 5, false, true},
		    {"", 6, false, false},   {"", 6, true, true},     {"me", 4, false, false},
		    {"me", 5, false, false}, {"me", 6, false, false}, {"me", 6, true, true}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
		struct election_lease record = record_of(other, 5);
		struct election_lease lease = lease_of(rows[i].holder, "t", rows[i].transitions,
						       ELECTION_GRANTS_MEMBERS);
		struct election_request request;

		print_message("row %zu\n", i);
		if (rows[i].knows)
			memcpy(lease.record_version, record.record_version, sizeof(lease.record_version));
		looks(election, START, &record, &lease);
		assert_int_equal(election_next(election, START, &request), rows[i].takes);
		if (!rows[i].takes) {
			looks(election, SECOND, &record, &lease);
			looks(election, SECOND + LEASE, &record, &lease);
			request = asks(election, SECOND + LEASE, ELECTION_UPDATE);
		}
		assert_int_equal(request.lease.transitions, rows[i].transitions == 6 ? 7 : 6);
		assert_string_equal(request.lease.record_version, record.record_version);
		election_free(election);
	}
}

/* A holder that has not written the record yet counts, if it knows the record as it is. Else a write of its Lease may
 * have arrived long after it was given up, and whom the record names leads. */
static void unrecorded_term(void **state)
{
	(void)state;
	for (int knows = 0; knows < 2; knows++) {
		struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
		struct election_lease record = record_of(other, 5);
		struct election_lease lease = lease_of("third", "t", 6, ELECTION_GRANTS_MEMBERS);

		if (knows)
			memcpy(lease.record_version, record.record_version, sizeof(lease.record_version));
		looks(election, START, &record, &lease);
		assert_string_equal(election_seen(election)->holder, knows ? "third" : other);
		election_free(election);
	}
}

/* One that has the Lease, from nobody, and asks for the record at `now_ms`; the record was `before`. */
static struct election *elected(const struct election_lease *before, int64_t now_ms)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease lease = lease_of("", "t", 5, ELECTION_GRANTS_NONE);
	struct election_request request;

	looks(election, now_ms, before, &lease);
	request = asks(election, now_ms, ELECTION_UPDATE);
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
		uint64_t epoch;
		enum { LEADS, WRITES_AGAIN, STEPS_DOWN } then;
		bool touched; /* another version */
	} rows[] = {
		{"ours: the answer was lost", "other", "me", 6, LEADS, false},
		{"the same, the first one", NULL, "me", 6, LEADS, false},
		{"as before", "other", "other", 5, WRITES_AGAIN, false},
		{"the same term, written again", "other", "other", 5, STEPS_DOWN, true},
		{"none yet", NULL, NULL, 0, WRITES_AGAIN, false},
		{"another took our epoch", "other", "third", 6, STEPS_DOWN, false},
		{"another is further", "other", "third", 7, STEPS_DOWN, false},
		{"epochs began anew", "other", "third", 1, STEPS_DOWN, false},
		{"ours of another term", "other", "me", 4, STEPS_DOWN, false},
		{"gone", "other", NULL, 0, STEPS_DOWN, false},
		{"somebody was first", NULL, "third", 6, STEPS_DOWN, false},
	};
	static const enum election_outcome outcomes[] = {ELECTION_CONFLICT, ELECTION_FAILED, ELECTION_ABSENT};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(outcomes); i++) {
		size_t row = i / ARRAY_LEN(outcomes);
		enum election_outcome outcome = outcomes[i % ARRAY_LEN(outcomes)];
		struct election_lease before = record_of(rows[row].before == NULL ? "" : rows[row].before, 5);
		struct election_lease record = record_of(rows[row].holder == NULL ? "" : rows[row].holder,
							 rows[row].epoch);
		struct election *election = elected(rows[row].before == NULL ? NULL : &before, START);
		int64_t at_ms = START + (outcome == ELECTION_FAILED ? RETRY : 0);

		print_message("%s\n", rows[row].what);
		if (rows[row].touched)
			snprintf(record.record_version, sizeof(record.record_version), "touched");
		election_answered(election, outcome, NULL, START);
		asks_of(election, at_ms, ELECTION_RECORD, ELECTION_READ);
		answered(election, rows[row].holder == NULL ? NULL : &record, at_ms);
		assert_int_equal(election_leads(election, at_ms), rows[row].then == LEADS);
		switch (rows[row].then) {
		case LEADS: asks(election, START + RETRY, ELECTION_UPDATE); break;
		case WRITES_AGAIN:
			records(election, at_ms, rows[row].before == NULL ? ELECTION_CREATE : ELECTION_UPDATE);
			assert_true(election_leads(election, at_ms));
			break;
		case STEPS_DOWN: asks(election, at_ms, ELECTION_READ); break;
		}
		election_free(election);
	}
}

/* The record may not be written: nobody leads by the Lease alone. */
static void record_refused(void **state)
{
	struct election_lease before = record_of(other, 5);
	struct election *election = elected(&before, START);
	struct election_request request;
	int64_t at_ms;

	(void)state;
	for (at_ms = START + RETRY; at_ms < START + RENEW; at_ms += RETRY) {
		election_answered(election, ELECTION_FAILED, NULL, at_ms - RETRY);
		asks_of(election, at_ms, ELECTION_RECORD, ELECTION_READ);
		answered(election, &before, at_ms);
		request = asks_of(election, at_ms, ELECTION_RECORD, ELECTION_UPDATE);
		assert_true(request.timeout_ms <= START + RENEW - at_ms);
	}
	election_answered(election, ELECTION_FAILED, NULL, at_ms);
	assert_int_equal(election_term(election), 0);
	asks(election, at_ms, ELECTION_READ); /* it begins anew */
	election_free(election);
}

static struct election *leader(int64_t now_ms, enum election_grants grants)
{
	struct election *election = make("me", grants);
	struct election_request request;

	looks(election, now_ms, NULL, NULL);
	request = asks(election, now_ms, ELECTION_CREATE);
	done(election, &request, now_ms);
	records(election, now_ms, ELECTION_CREATE);
	assert_true(election_leads(election, now_ms));
	return election;
}

/* Who leads takes a new term at once, as nobody else has led. It knows who acts for it: its children have ended. */
static void leader_puts_it_back(void **state)
{
	static const enum election_grants grants[] = {ELECTION_GRANTS_CHILDREN, ELECTION_GRANTS_MEMBERS};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(grants); i++) {
		struct election *election = leader(START, grants[i]);
		struct election_lease record = record_of("me", 1);
		int64_t at_ms = START + RETRY;
		struct election_request request = asks(election, at_ms, ELECTION_UPDATE);

		election_answered(election, ELECTION_ABSENT, NULL, at_ms);
		asks(election, at_ms, ELECTION_READ);
		assert_true(election_leads(election, at_ms));
		answered(election, NULL, at_ms);
		assert_false(election_leads(election, at_ms));
		looks(election, at_ms, &record, NULL);
		request = asks(election, at_ms, ELECTION_CREATE);
		assert_int_equal(request.lease.transitions, 2);
		assert_int_equal(request.lease.grants, grants[i]);
		done(election, &request, at_ms);
		records(election, at_ms, ELECTION_UPDATE);
		assert_true(election_leads(election, at_ms));
		assert_int_equal(election_term(election), 2);
		assert_int_equal(election_former_until_ms(election),
				 grants[i] == ELECTION_GRANTS_MEMBERS ? at_ms + SETTLE : 0);
		election_free(election);
	}
}

/* Somebody else took a Lease that was deleted, and may not have asked for the record yet. We lead no longer, but by the
 * record the last term is ours, so we take the Lease back with a new one. */
static void leader_by_the_record(void **state)
{
	struct election *election = leader(START, ELECTION_GRANTS_MEMBERS);
	struct election_lease lease = lease_of(other, "t", 1, ELECTION_GRANTS_MEMBERS);
	struct election_lease record = record_of("me", 1);
	int64_t at_ms = START + RETRY;
	struct election_request request = asks(election, at_ms, ELECTION_UPDATE);

	(void)state;
	election_answered(election, ELECTION_CONFLICT, NULL, at_ms);
	asks(election, at_ms, ELECTION_READ);
	answered(election, &lease, at_ms);
	assert_false(election_leads(election, at_ms));
	looks(election, at_ms, &record, &lease);
	request = asks(election, at_ms, ELECTION_UPDATE);
	assert_string_equal(request.lease.holder, "me");
	assert_int_equal(request.lease.transitions, 2);
	assert_string_equal(request.lease.record_version, record.record_version);
	election_free(election);
}

/* Both are gone: who has seen the Lease counts it as held for as long as it ran; nothing else tells of it. */
static void both_deleted(void **state)
{
	struct election *election = make("me", ELECTION_GRANTS_MEMBERS);
	struct election_lease lease = lease_of(other, "t", 3, ELECTION_GRANTS_MEMBERS);
	struct election_request request;
	int64_t at_ms = START;

	(void)state;
	looks(election, START, NULL, &lease);
	while (at_ms < START + LEASE) {
		at_ms = election_due_ms(election);
		looks(election, at_ms, NULL, NULL);
	}
	request = asks(election, at_ms, ELECTION_CREATE);
	assert_int_equal(request.lease.transitions, 4);
	assert_int_equal(request.lease.grants, ELECTION_GRANTS_MEMBERS);
	election_free(election);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deleted),
		cmocka_unit_test(deleted_again_and_again),
		cmocka_unit_test(older_than_the_record),
		cmocka_unit_test(renewed_unseen),
		cmocka_unit_test(older_record_comes_back),
		cmocka_unit_test(unrecorded_term),
		cmocka_unit_test(record_is_read),
		cmocka_unit_test(record_refused),
		cmocka_unit_test(leader_puts_it_back),
		cmocka_unit_test(leader_by_the_record),
		cmocka_unit_test(both_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
