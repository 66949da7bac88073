/* The election as its tests see it: what it asks for, and what it is told. Shared by
 * test_election{,_leader,_record,_random}.c. */
#ifndef TESTS_ELECTION_WORLD_H
#define TESTS_ELECTION_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "common/leader/election.h"

enum { LEASE = 15000, RENEW = 10000, RETRY = 2000, JITTER = 300, MEMBER = 10000, SETTLE = 15000, START = 5000 };

static inline struct election *make(const char *identity, enum election_grants grants)
{
	struct election_options options = {
		.lease_ms = LEASE,
		.renew_ms = RENEW,
		.retry_ms = RETRY,
		.jitter_ms = JITTER,
		.member_ms = MEMBER,
		.margin_ms = SETTLE - MEMBER,
		.grants = grants,
	};

	snprintf(options.identity, sizeof(options.identity), "%s", identity);
	snprintf(options.process, sizeof(options.process), "process of %s", identity);
	return election_new(&options, START);
}

static inline struct election_lease lease_of(const char *holder, const char *version, uint64_t transitions,
					     enum election_grants grants)
{
	struct election_lease lease = {.duration_ms = LEASE, .transitions = transitions, .grants = grants};

	snprintf(lease.holder, sizeof(lease.holder), "%s", holder);
	snprintf(lease.version, sizeof(lease.version), "%s", version);
	return lease;
}

static inline struct election_lease record_of(const char *holder, uint64_t epoch)
{
	struct election_lease record = lease_of(holder, "", epoch, ELECTION_GRANTS_MEMBERS);

	snprintf(record.version, sizeof(record.version), "%.8s %llu", holder, (unsigned long long)epoch);
	return record;
}

/* Expects a request now. */
static inline struct election_request asks_of(struct election *election, int64_t now_ms, enum election_object object,
					      enum election_verb verb)
{
	struct election_request request;

	assert_true(election_next(election, now_ms, &request));
	assert_int_equal(request.object, object);
	assert_int_equal(request.verb, verb);
	assert_true(request.timeout_ms > 0 && request.timeout_ms <= RENEW / (object == ELECTION_RECORD ? 4 : 2));
	return request;
}

static inline struct election_request asks(struct election *election, int64_t now_ms, enum election_verb verb)
{
	return asks_of(election, now_ms, ELECTION_LEASE, verb);
}

static inline void answered(struct election *election, const struct election_lease *object, int64_t now_ms)
{
	election_answered(election, object == NULL ? ELECTION_ABSENT : ELECTION_ANSWERED, object, now_ms);
}

/* A standby looks: it reads the Lease, then the record. NULL: there is none. */
static inline void looks(struct election *election, int64_t now_ms, const struct election_lease *record,
			 const struct election_lease *lease)
{
	asks(election, now_ms, ELECTION_READ);
	answered(election, lease, now_ms);
	asks_of(election, now_ms, ELECTION_RECORD, ELECTION_READ);
	answered(election, record, now_ms);
}

static inline void asks_nothing_before(struct election *election, int64_t now_ms, int64_t due_ms)
{
	struct election_request request;

	assert_false(election_next(election, now_ms, &request));
	assert_int_equal(election_due_ms(election), due_ms);
	assert_false(election_next(election, due_ms - 1, &request));
}

/* The write is carried out. */
static inline void done(struct election *election, const struct election_request *request, int64_t now_ms)
{
	static int version;
	struct election_lease object = request->lease;

	snprintf(object.version, sizeof(object.version), "write %d", ++version);
	election_answered(election, ELECTION_ANSWERED, &object, now_ms);
}

/* The record is written, too, and the Lease again. */
static inline struct election_request records(struct election *election, int64_t now_ms, enum election_verb verb)
{
	struct election_request request = asks_of(election, now_ms, ELECTION_RECORD, verb);
	struct election_request renewal;

	done(election, &request, now_ms);
	assert_false(election_leads(election, now_ms));
	renewal = asks(election, now_ms, ELECTION_UPDATE);
	assert_false(renewal.acquires);
	done(election, &renewal, now_ms);
	return request;
}

#endif
