/* One peer and two watchers of which one leads at a time, or both for a moment: whom it heeds, and that its shards stay
 * with it from one leader to the next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/bus/session.h"
#include "watcher/shards/router.h"
#include "watcher/view/cache.h"

enum { WATCHERS = 2, SHARDS = 4, LEASE = 10000, MARGIN = 5000, QUEUE_MAX = 64 };

static struct letter {
	unsigned watcher;
	bool up;
	struct bus_head head;
	size_t len;
	char *body;
} queue[QUEUE_MAX];
static size_t queued;

struct watcher {
	unsigned number;
	struct router *router; /* NULL: it does not lead, and drops what it hears */
	struct cache *cache;
	bool down;          /* nothing gets there */
	bool other_version; /* of the protocol, as its messages and the peer's tell each other */
};

static struct watcher watchers[WATCHERS];
static struct session *session;
static int64_t now_ms;
static size_t grants, revokes, refusals;
static bool is_live;
static uint32_t said_session; /* of the last message of the peer */

static void put(unsigned watcher, bool up, const struct bus_head *head, const void *body, size_t len)
{
	struct letter *letter = &queue[queued++];

	assert_true(queued < QUEUE_MAX);
	*letter = (struct letter){.watcher = watcher, .up = up, .head = *head, .len = len};
	letter->head.protocol = BUS_PROTOCOL;
	letter->body = mem_strndup(body, len);
}

static int64_t port_now(void *arg)
{
	(void)arg;
	return now_ms;
}

static int from_peer(void *arg, unsigned watcher, const struct bus_head *head, const void *body, size_t len)
{
	(void)arg;
	said_session = head->session;
	if (watchers[watcher].down) {
		errno = EAGAIN;
		return -1;
	}
	put(watcher, true, head, body, len);
	return 0;
}

static int from_router(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const void *body,
		       size_t len)
{
	const struct watcher *watcher = arg;

	(void)id;
	(void)id_len;
	put(watcher->number, false, head, body, len);
	return 0;
}

static void deliver(void)
{
	while (queued > 0) {
		struct letter letter = queue[0];
		const struct watcher *watcher = &watchers[letter.watcher];

		memmove(queue, queue + 1, --queued * sizeof(queue[0]));
		letter.head.protocol += watcher->other_version;
		if (!watcher->down && letter.up && watcher->router != NULL)
			router_receive(watcher->router, (const unsigned char *)"p", 1, &letter.head, letter.body,
				       letter.len);
		else if (!watcher->down && !letter.up && session != NULL)
			session_receive(session, letter.watcher, &letter.head, letter.body, letter.len);
		free(letter.body);
		for (size_t i = 0; i < WATCHERS; i++)
			if (watchers[i].router != NULL)
				router_flush(watchers[i].router);
	}
}

static void run(int64_t span_ms)
{
	for (int64_t end_ms = now_ms + span_ms; now_ms < end_ms; now_ms += 50) {
		session_tick(session);
		for (size_t i = 0; i < WATCHERS; i++)
			if (watchers[i].router != NULL)
				router_tick(watchers[i].router);
		deliver();
	}
}

static void on_granted(void *arg, const struct shard_set *fresh)
{
	(void)arg;
	(void)fresh;
	grants++;
}

static void on_revoked(void *arg, const struct shard_set *shards)
{
	(void)arg;
	(void)shards;
	revokes++;
}

static bool on_text(void *arg, enum object_kind kind, uint32_t shard, const char *text, size_t len)
{
	(void)arg;
	(void)kind;
	(void)shard;
	(void)text;
	(void)len;
	return true;
}

static void on_absent(void *arg, enum object_kind kind, uint32_t shard, const struct bus_absent *absent)
{
	(void)arg;
	(void)kind;
	(void)shard;
	(void)absent;
}

static void on_complete(void *arg, const struct bus_snapshot_end *end)
{
	(void)arg;
	(void)end;
}

static void on_rate(void *arg, double qps, int burst)
{
	(void)arg;
	(void)qps;
	(void)burst;
}

static void on_live(void *arg, bool live)
{
	(void)arg;
	is_live = live;
}

static void on_refused(void *arg, const char *reason, bool final)
{
	(void)arg;
	(void)reason;
	assert_false(final);
	refusals++;
}

static const struct session_handler handler = {
	.granted = on_granted,
	.revoked = on_revoked,
	.text = on_text,
	.absent = on_absent,
	.complete = on_complete,
	.rate = on_rate,
	.live = on_live,
	.refused = on_refused,
};

static void on_changed(void *arg, struct cache_entry *entry)
{
	(void)arg;
	(void)entry;
}

static void on_gone(void *arg, struct cache_entry *entry, const struct cache_absence *absence)
{
	(void)arg;
	(void)entry;
	(void)absence;
}

static void on_missed(void *arg, const struct cache_entry *entry)
{
	(void)arg;
	(void)entry;
}

static void leads(unsigned number, uint64_t epoch, bool inherits)
{
	static const struct cache_listener listener = {.changed = on_changed, .gone = on_gone, .missed = on_missed};
	struct watcher *watcher = &watchers[number];
	const struct router_ports ports = {.send = from_router, .now_ms = port_now, .arg = watcher};
	struct router_options options = {
		.shards = {.shard_count = SHARDS,
			   .lease_ms = LEASE,
			   .margin_ms = MARGIN,
			   .grace_ms = 30000,
			   .former_until_ms = inherits ? now_ms + LEASE + MARGIN : 0},
		.epoch = epoch,
		.qps = 10,
		.burst = 10,
	};

	watcher->number = number;
	watcher->router = router_new(&ports, &options);
	if (watcher->cache == NULL)
		watcher->cache = cache_new(SHARDS, &listener, NULL);
	router_set_cache(watcher->router, watcher->cache);
	router_synced(watcher->router);
}

static void deposed(unsigned number)
{
	router_free(watchers[number].router);
	watchers[number].router = NULL;
}

static int set_up(void **state)
{
	const struct session_ports ports = {.watchers = WATCHERS, .send = from_peer, .now_ms = port_now};

	(void)state;
	now_ms = 100000;
	grants = revokes = refusals = 0;
	memset(watchers, 0, sizeof(watchers));
	session = session_new(&ports, BUS_ROLE_RECONCILER, "m", "uuid", &handler, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WATCHERS; i++) {
		router_free(watchers[i].router);
		cache_free(watchers[i].cache);
	}
	session_free(session);
	session = NULL;
	while (queued > 0)
		free(queue[--queued].body);
	return 0;
}

static void expect_follows(int watcher, uint64_t epoch)
{
	assert_int_equal(session_watcher(session), watcher);
	assert_int_equal(session_epoch(session), epoch);
	assert_int_equal(shard_set_count(session_shards(session)), SHARDS);
	assert_true(session_leased(session));
}

/* It finds the one that leads, whichever it is, and whether or not the other one is there. */
static void finds_leader(void **state)
{
	(void)state;
	watchers[0].down = true;
	run(3000);
	assert_int_equal(session_watcher(session), -1);
	leads(1, 7, false);
	run(3000);
	expect_follows(1, 7);
}

/* The successor leads within the lease: nothing is taken away. */
static void takeover(void **state)
{
	(void)state;
	leads(0, 1, false);
	run(5000);
	expect_follows(0, 1);
	deposed(0);
	run(3000);
	leads(1, 2, true);
	run(2500);
	expect_follows(1, 2);
	assert_int_equal(revokes, 0);
	run(3 * LEASE);
	assert_int_equal(revokes, 0);
	expect_follows(1, 2);
	/* and back again */
	deposed(1);
	leads(0, 3, true);
	run(2500);
	expect_follows(0, 3);
	assert_int_equal(revokes, 0);
}

static void takeover_when_down(void **state)
{
	(void)state;
	leads(0, 1, false);
	run(5000);
	watchers[0].down = true;
	deposed(0);
	leads(1, 2, true);
	run(2500);
	expect_follows(1, 2);
	assert_int_equal(revokes, 0);
}

/* The lease is long over when another one leads: what nobody claims waits. */
static void takeover_late(void **state)
{
	(void)state;
	leads(0, 1, false);
	run(3000);
	deposed(0);
	run(LEASE + 1000);
	assert_false(session_leased(session));
	leads(1, 2, true);
	run(LEASE + MARGIN - 1000);
	assert_false(session_leased(session));
	run(5000);
	expect_follows(1, 2);
}

/* A HELLO that is refused after the BYE: it is gone, and does not say HELLO again. */
static void refused_while_leaving(void **state)
{
	const struct bus_refuse refusal = {.reason = "another process has this name"};
	struct bus_head head = {.protocol = BUS_PROTOCOL, .type = BUS_REFUSE, .epoch = 1};
	cleanup_buf struct buf body = {0};

	(void)state;
	leads(0, 1, false);
	run(3000);
	expect_follows(0, 1);
	session_leave(session);
	assert_false(session_gone(session));
	head.session = said_session;
	bus_refuse_write(&body, &refusal);
	session_receive(session, 0, &head, body.data, body.len);
	assert_true(session_gone(session));
	assert_int_equal(refusals, 0);
}

/* In a rollout the new watcher leads before this peer is replaced, or the old one still when it has been: it tries on
 * until one of its version leads. */
static void another_version(void **state)
{
	(void)state;
	watchers[0].other_version = true;
	leads(0, 1, false);
	run(60000);
	assert_true(refusals > 10);
	assert_int_equal(grants, 0);
	deposed(0);
	leads(1, 2, true);
	run(LEASE + MARGIN + 2500);
	expect_follows(1, 2);
}

/* A watcher that refuses a peer which follows it says nothing of its streams any more: a barrier, which has no leases,
 * must not answer from what it knew. */
static void refused_is_not_live(void **state)
{
	(void)state;
	leads(0, 1, false);
	router_set_live(watchers[0].router, true);
	run(3000);
	expect_follows(0, 1);
	assert_true(is_live);
	watchers[0].other_version = true;
	run(SESSION_SILENCE_MS + 2000);
	assert_true(refusals > 2);
	assert_false(is_live);
	watchers[0].other_version = false;
	run(3000);
	assert_true(is_live);
}

/* The former leader has not noticed yet and goes on talking: it is not heeded any more. */
static void two_leaders(void **state)
{
	(void)state;
	leads(0, 1, false);
	run(5000);
	leads(1, 2, true);
	run(3000);
	expect_follows(1, 2);
	run(3 * LEASE);
	expect_follows(1, 2);
	assert_int_equal(revokes, 0);
	assert_null(shard_table_holder(router_shards(watchers[0].router), 0)); /* its own lease of us ran out */
}

/* Both there when it starts: it may meet the old one first, but ends with the new one. */
static void two_leaders_at_start(void **state)
{
	(void)state;
	leads(0, 1, false);
	leads(1, 2, false);
	run(3000);
	expect_follows(1, 2);
}

/* The new leader's epoch is not newer than what the peer knows (its Lease was deleted by hand): it takes the peer in
 * when that one's leases are over, and keeps its own epoch. */
static void older_epoch(void **state)
{
	(void)state;
	leads(0, 9, false);
	run(3000);
	deposed(0);
	leads(1, 1, true);
	run(3000);
	assert_null(shard_table_holder(router_shards(watchers[1].router), 0));
	assert_true(session_leased(session)); /* the old one goes on meanwhile */
	run(LEASE + MARGIN + 2000);
	expect_follows(1, 1);
	/* one of the same epoch, at the same address */
	deposed(1);
	leads(1, 1, true);
	run(3000);
	assert_true(session_leased(session));
	assert_null(shard_table_holder(router_shards(watchers[1].router), 0));
	run(LEASE + MARGIN + 2000);
	expect_follows(1, 1);
}

/* While another one leads that it follows, one that leads by an older epoch does not win it over, nor make it give up
 * what it holds. */
static void older_epoch_beside(void **state)
{
	(void)state;
	leads(0, 9, false);
	run(3000);
	leads(1, 1, true);
	run(3 * LEASE);
	expect_follows(0, 9);
	assert_int_equal(revokes, 0);
}

static void leaves(void **state)
{
	(void)state;
	leads(0, 1, false);
	run(3000);
	session_leave(session);
	deposed(0);
	leads(1, 2, true);
	run(1000);
	assert_true(session_gone(session)); /* the new leader does not know it: there is nobody to wait for */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(finds_leader),          TEST(takeover),    TEST(takeover_when_down),   TEST(takeover_late),
		TEST(refused_while_leaving), TEST(two_leaders), TEST(two_leaders_at_start), TEST(older_epoch),
		TEST(older_epoch_beside),    TEST(leaves),      TEST(another_version),      TEST(refused_is_not_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
