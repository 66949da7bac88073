/* A peer of the watcher; see peer.h.
 * A lease belongs to a shard: a PONG renews those of the assignment that it names, counted from when the ping was sent;
 * a shard that stays through a new assignment keeps the lease that it has. */
#include "common/bus/peer.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"

enum peer_state { PEER_SILENT, PEER_GREETED, PEER_ASSIGNED, PEER_LEAVING, PEER_GONE, PEER_REFUSED };

struct peer {
	struct peer_ports ports;
	struct peer_handler handler;
	void *arg;
	enum bus_role role;
	char name[64];
	char uuid[40];
	enum peer_state state;
	int watcher; /* that answered in this session; -1: none yet */
	uint32_t session;
	uint64_t sent_sequence;
	uint64_t heard_sequence;
	/* the present assignment */
	uint64_t epoch; /* the newest that a WHO told since it held no lease and said HELLO to all; 0: none */
	uint64_t version;
	uint64_t version_epoch; /* the term that the version, and all that is held, is of */
	uint32_t shard_count;
	int64_t lease_ms;
	int64_t assigned_ms; /* when it came: one that no lease follows is given up */
	struct shard_set shards;
	int64_t lease_end_ms[BUS_SHARD_MAX]; /* 0: none yet */
	/* credit */
	uint64_t consumed;
	uint64_t consumed_told;
	size_t bytes_untold; /* of what was consumed since */
	/* what is due when */
	int64_t hello_ms;
	int64_t ping_ms;
	int64_t retry_ms;   /* between attempts to send a HELLO */
	int64_t heard_ms;   /* from the watcher */
	int64_t drained_ms; /* since when nothing is in flight of one that leaves */
	bool left_told;     /* an assignment came after the BYE: the watcher knows of it */
	bool live;
	double qps;
	int32_t burst;
	struct buf body; /* scratch */
	struct peer_counters counters;
};

struct peer *peer_new(const struct peer_ports *ports, enum bus_role role, const char *name, const char *uuid,
		      const struct peer_handler *handler, void *arg)
{
	struct peer *peer = mem_calloc(1, sizeof(*peer));

	peer->ports = *ports;
	if (peer->ports.window == 0)
		peer->ports.window = PEER_WINDOW;
	peer->handler = *handler;
	peer->arg = arg;
	peer->role = role;
	strncpy(peer->name, name, sizeof(peer->name) - 1);
	strncpy(peer->uuid, uuid, sizeof(peer->uuid) - 1);
	peer->retry_ms = PEER_UNCONNECTED_MS;
	peer->watcher = -1;
	return peer;
}

void peer_free(struct peer *peer)
{
	if (peer == NULL)
		return;
	buf_free(&peer->body);
	free(peer);
}

static int64_t now(const struct peer *peer)
{
	return peer->ports.now_ms(peer->ports.arg);
}

int64_t peer_lease_left_ms(const struct peer *peer, uint32_t shard)
{
	if (!shard_set_has(&peer->shards, shard) || peer->state == PEER_LEAVING || peer->lease_end_ms[shard] == 0)
		return 0;
	return peer->lease_end_ms[shard] - now(peer);
}

bool peer_leased(const struct peer *peer)
{
	for (uint32_t r = 0; r < peer->shard_count; r++)
		if (peer_lease_left_ms(peer, r) > 0)
			return true;
	return false;
}

/* ---- giving shards up ------------------------------------------------------------------------------------------- */

static void revoke(struct peer *peer, const struct shard_set *shards)
{
	if (shard_set_empty(shards))
		return;
	for (uint32_t r = 0; r < BUS_SHARD_MAX; r++) {
		if (!shard_set_has(shards, r))
			continue;
		shard_set_remove(&peer->shards, r);
		peer->lease_end_ms[r] = 0;
	}
	peer->handler.revoked(peer->arg, shards);
}

static void revoke_all(struct peer *peer)
{
	struct shard_set all = peer->shards;

	revoke(peer, &all);
}

/* Shards whose lease ran out; those of an assignment that was never leased, too, once a lease's time has passed. */
static void find_expired(const struct peer *peer, struct shard_set *out)
{
	int64_t at_ms = now(peer);

	for (uint32_t r = 0; r < peer->shard_count; r++) {
		int64_t end_ms = peer->lease_end_ms[r] != 0 ? peer->lease_end_ms[r]
							    : peer->assigned_ms + peer->lease_ms;

		if (shard_set_has(&peer->shards, r) && end_ms <= at_ms)
			shard_set_add(out, r);
	}
}

static void set_live(struct peer *peer, bool live)
{
	if (peer->live == live)
		return;
	peer->live = live;
	peer->handler.live(peer->arg, live);
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

/* The assignment of the epoch's term that is applied; 0: none yet. */
static uint64_t applied(const struct peer *peer)
{
	return peer->version_epoch == peer->epoch ? peer->version : 0;
}

/* To whom: see peer.h. 0 when the watcher that answers us, if there is one, could be told. */
static int say(struct peer *peer, enum bus_type type, uint64_t sequence, uint32_t session)
{
	const struct bus_head head = {
		.type = (uint8_t)type,
		.epoch = peer->epoch,
		.version = applied(peer),
		.sequence = sequence,
		.time_ms = now(peer),
		.session = session,
	};

	const char *body = peer->body.data == NULL ? "" : peer->body.data;
	int told = -1;

	for (int i = 0; i < (int)peer->ports.watchers; i++) {
		bool it = peer->watcher < 0 || peer->watcher == i;

		if (!it && type != BUS_PING)
			continue;
		if (peer->ports.send(peer->ports.arg, (unsigned)i, &head, body, peer->body.len) == 0 && it)
			told = 0;
	}
	return told;
}

static void hello(struct peer *peer)
{
	struct bus_hello body = {
		.role = peer->role,
		.shard_count = peer->shard_count,
		.held_epoch = peer->version_epoch,
		.window = peer->ports.window,
	};
	int64_t at_ms = now(peer);

	memcpy(body.name, peer->name, sizeof(body.name));
	memcpy(body.uuid, peer->uuid, sizeof(body.uuid));
	for (uint32_t r = 0; peer->role == BUS_ROLE_RECONCILER && r < peer->shard_count; r++)
		if (peer_lease_left_ms(peer, r) > 0)
			shard_set_add(&body.held, r);
	buf_clear(&peer->body);
	bus_hello_write(&peer->body, &body);
	if (say(peer, BUS_HELLO, 1, peer->session + 1) < 0) {
		peer->hello_ms = at_ms + peer->retry_ms; /* no connection yet */
		peer->retry_ms = peer->retry_ms * 2 > PEER_UNCONNECTED_MAX_MS ? PEER_UNCONNECTED_MAX_MS
									      : peer->retry_ms * 2;
		peer->state = PEER_SILENT;
		peer->watcher = -1;
		return;
	}
	peer->retry_ms = PEER_UNCONNECTED_MS;
	peer->counters.hellos++;
	peer->session++;
	peer->sent_sequence = 1;
	peer->heard_sequence = 0;
	peer->consumed = 0;
	peer->consumed_told = 0;
	peer->bytes_untold = 0;
	peer->state = PEER_GREETED;
	peer->hello_ms = at_ms + PEER_HELLO_AGAIN_MS;
	peer->ping_ms = at_ms + PEER_PING_MS;
}

/* Whether it may heed whoever leads. A barrier writes nothing. */
static bool bound_to_none(const struct peer *peer)
{
	return peer->role == BUS_ROLE_BARRIER || !peer_leased(peer);
}

/* Nobody answers, so that another one may lead now: where the Lease was deleted by hand, by an older epoch. */
static void hello_all(struct peer *peer)
{
	peer->watcher = -1;
	if (bound_to_none(peer))
		peer->epoch = 0;
	hello(peer);
}

static void ping(struct peer *peer)
{
	struct bus_ping body = {
		.held = peer->shards,
		.consumed = peer->consumed,
		.heard = peer->heard_sequence,
		.backlog = peer->handler.backlog(peer->arg),
	};

	if (peer->role == BUS_ROLE_RECONCILER)
		peer->handler.draining(peer->arg, &body.draining);
	else
		body.held = (struct shard_set){0};
	buf_clear(&peer->body);
	bus_ping_write(&peer->body, &body);
	peer->ping_ms = now(peer) + (peer->state == PEER_LEAVING ? PEER_LEAVE_PING_MS : PEER_PING_MS);
	/* a ping that could not be sent leaves no gap in the sequence */
	if (say(peer, BUS_PING, peer->sent_sequence + 1, peer->session) < 0)
		return;
	peer->sent_sequence++;
	peer->counters.pings++;
	peer->consumed_told = peer->consumed;
	peer->bytes_untold = 0;
}

void peer_ping_soon(struct peer *peer)
{
	if (peer->state == PEER_GREETED || peer->state == PEER_ASSIGNED || peer->state == PEER_LEAVING)
		peer->ping_ms = 0;
}

void peer_leave(struct peer *peer)
{
	if (peer->state == PEER_LEAVING || peer->state == PEER_GONE)
		return;
	if (peer->state != PEER_GREETED && peer->state != PEER_ASSIGNED) {
		revoke_all(peer);
		peer->state = PEER_GONE;
		return;
	}
	buf_clear(&peer->body);
	if (say(peer, BUS_BYE, peer->sent_sequence + 1, peer->session) == 0)
		peer->sent_sequence++;
	peer->state = PEER_LEAVING;
	peer->drained_ms = now(peer);
	revoke_all(peer);
	peer->ping_ms = 0;
	if (peer->version == 0) /* never had a shard: there is nothing to be acknowledged */
		peer->state = PEER_GONE;
}

bool peer_gone(const struct peer *peer)
{
	return peer->state == PEER_GONE || peer->state == PEER_REFUSED;
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void lose_expired(struct peer *peer)
{
	struct shard_set expired = {0};

	find_expired(peer, &expired);
	if (shard_set_empty(&expired))
		return;
	log_warning("the lease of %u shards ran out", shard_set_count(&expired));
	peer->counters.leases_lost++;
	revoke(peer, &expired);
	if (peer->state == PEER_ASSIGNED) { /* what is left, too, is told anew */
		peer->state = PEER_SILENT;
		peer->hello_ms = 0;
	}
}

/* Whether one that leaves has nothing more to do and nobody listens to it. */
static bool given_up(struct peer *peer)
{
	struct shard_set draining = {0};

	peer->handler.draining(peer->arg, &draining);
	if (!shard_set_empty(&draining))
		peer->drained_ms = now(peer);
	return now(peer) >= peer->drained_ms + PEER_LEAVE_UNANSWERED_MS;
}

int64_t peer_tick(struct peer *peer)
{
	int64_t at_ms = now(peer);
	int64_t next_ms;

	if (peer->state == PEER_GONE || peer->state == PEER_REFUSED)
		return INT64_MAX;
	if (peer->role == BUS_ROLE_RECONCILER)
		lose_expired(peer);
	if (at_ms >= peer->heard_ms + PEER_SILENCE_MS)
		set_live(peer, false);
	if (peer->state == PEER_LEAVING && given_up(peer)) {
		peer->state = PEER_GONE;
		return INT64_MAX;
	}
	if (peer->state == PEER_SILENT && at_ms >= peer->hello_ms)
		hello_all(peer);
	else if (peer->state == PEER_GREETED && at_ms >= peer->hello_ms &&
		 at_ms >= peer->heard_ms + PEER_HELLO_AGAIN_MS)
		hello_all(peer);
	else if (peer->state == PEER_ASSIGNED && at_ms >= peer->heard_ms + PEER_SILENCE_MS && bound_to_none(peer))
		hello_all(peer);
	else if (peer->state != PEER_SILENT && at_ms >= peer->ping_ms)
		ping(peer);
	next_ms = peer->state == PEER_SILENT ? peer->hello_ms : peer->ping_ms;
	return earlier(next_ms, at_ms + PEER_PING_MS);
}

/* ---- receiving -------------------------------------------------------------------------------------------------- */

static void on_assign(struct peer *peer, const struct bus_head *head, const char *body, size_t len)
{
	struct bus_assign assign;
	struct shard_set lost;
	struct error err;

	if (bus_assign_read(body, len, &assign, &err) < 0) {
		peer->counters.malformed++;
		log_error("%s", err.message);
		return;
	}
	if (peer->shard_count != 0 && peer->shard_count != assign.shard_count)
		revoke_all(peer); /* cut differently: the numbers mean other keys now */
	for (size_t i = 0; i < ARRAY_LEN(lost.bits); i++)
		lost.bits[i] = peer->shards.bits[i] & ~assign.shards.bits[i];
	peer->version = head->version;
	peer->version_epoch = head->epoch;
	peer->shard_count = assign.shard_count;
	peer->lease_ms = assign.lease_ms;
	peer->assigned_ms = now(peer);
	if (peer->state != PEER_LEAVING)
		peer->state = PEER_ASSIGNED;
	revoke(peer, &lost);
	if (peer->state == PEER_LEAVING) {
		assign.shards = (struct shard_set){0};
		peer->left_told = true;
	}
	peer->shards = assign.shards;
	if (!shard_set_empty(&assign.fresh) && peer->state != PEER_LEAVING)
		peer->handler.granted(peer->arg, &assign.fresh);
	peer_ping_soon(peer); /* starts the lease, and tells what was let go */
}

static void on_pong(struct peer *peer, const struct bus_head *head, const char *body, size_t len)
{
	struct bus_pong pong;
	struct error err;
	bool ours = head->version == applied(peer) && head->version != 0 && head->time_ms <= now(peer);

	if (bus_pong_read(body, len, &pong, &err) < 0) {
		peer->counters.malformed++;
		log_error("%s", err.message);
		return;
	}
	peer->counters.pongs++;
	if (pong.renewed && ours && peer->state == PEER_ASSIGNED) {
		for (uint32_t r = 0; r < peer->shard_count; r++)
			if (shard_set_has(&peer->shards, r) && peer->lease_end_ms[r] < head->time_ms + peer->lease_ms)
				peer->lease_end_ms[r] = head->time_ms + peer->lease_ms;
		lose_expired(peer); /* the answer may be an old one */
	}
	if (peer->state == PEER_LEAVING) {
		struct shard_set draining = {0};

		/* told at a version without shards that nothing is in flight: the watcher waits for nothing more */
		peer->handler.draining(peer->arg, &draining);
		if (pong.renewed && ours && peer->left_told && shard_set_empty(&draining))
			peer->state = PEER_GONE;
		return;
	}
	if (pong.qps != peer->qps || pong.burst != peer->burst) {
		peer->qps = pong.qps;
		peer->burst = pong.burst;
		if (peer->role == BUS_ROLE_RECONCILER)
			peer->handler.rate(peer->arg, pong.qps, pong.burst);
	}
	set_live(peer, pong.live);
}

static void on_update(struct peer *peer, const struct bus_head *head, const char *body, size_t len)
{
	peer->consumed++;
	if (head->kind >= KIND_COUNT) {
		peer->counters.malformed_objects++;
		log_error("skipped an object of an unknown kind from the watcher");
	} else if (peer->handler.text(peer->arg, (enum object_kind)head->kind, head->shard, body, len)) {
		peer->counters.objects++;
	} else {
		peer->counters.malformed_objects++;
	}
}

static void on_absent(struct peer *peer, const struct bus_head *head, const char *body, size_t len)
{
	struct bus_absent absent;
	struct error err;

	peer->consumed++;
	if (head->kind >= KIND_COUNT || bus_absent_read(body, len, &absent, &err) < 0) {
		peer->counters.malformed_objects++;
		log_error("skipped an absence from the watcher: %s",
			  head->kind >= KIND_COUNT ? "unknown kind" : err.message);
		return;
	}
	peer->counters.absents++;
	peer->handler.absent(peer->arg, (enum object_kind)head->kind, head->shard, &absent);
	bus_absent_free(&absent);
}

static void on_snapshot_end(struct peer *peer, const char *body, size_t len)
{
	struct bus_snapshot_end end;
	struct error err;

	if (bus_snapshot_end_read(body, len, &end, &err) < 0) {
		peer->counters.malformed++;
		log_error("%s", err.message);
		return;
	}
	peer->handler.complete(peer->arg, &end);
	bus_snapshot_end_free(&end);
}

static void on_refuse(struct peer *peer, const char *body, size_t len)
{
	struct bus_refuse refusal;
	struct error err;

	if (bus_refuse_read(body, len, &refusal, &err) < 0) {
		peer->counters.malformed++;
		log_error("%s", err.message);
		return;
	}
	if (peer->state == PEER_LEAVING) {
		peer->state = PEER_GONE; /* whoever refuses us knows of nothing that it could wait for */
		return;
	}
	if (refusal.final)
		revoke_all(peer);
	peer->state = refusal.final ? PEER_REFUSED : PEER_SILENT;
	peer->hello_ms = now(peer) + PEER_REFUSED_MS;
	peer->handler.refused(peer->arg, refusal.reason, refusal.final);
}

/* Messages that belong to the session, in sequence. */
static void on_session(struct peer *peer, const struct bus_head *head, const char *body, size_t len)
{
	switch (head->type) {
	case BUS_ASSIGN: on_assign(peer, head, body, len); break;
	case BUS_PONG: on_pong(peer, head, body, len); break;
	case BUS_UPDATE:
		peer->bytes_untold += len;
		on_update(peer, head, body, len);
		break;
	case BUS_ABSENT: on_absent(peer, head, body, len); break;
	case BUS_SNAPSHOT_END: on_snapshot_end(peer, body, len); break;
	default: peer->counters.malformed++; break;
	}
	if (peer->consumed - peer->consumed_told >= (peer->ports.window + 1) / 2 ||
	    peer->bytes_untold >= PEER_TOLD_BYTES)
		ping(peer);
}

static void on_who(struct peer *peer, const struct bus_head *head)
{
	peer->epoch = head->epoch;
	if (peer->state == PEER_LEAVING)
		peer->state = PEER_GONE; /* a watcher that does not know us waits for nothing */
	else
		hello(peer);
}

/* Whether the watcher is the one that we listen to: the first that answers, or one that asks and leads since. */
static bool follow(struct peer *peer, unsigned watcher, const struct bus_head *head)
{
	if (peer->watcher >= 0 && peer->watcher != (int)watcher) {
		if (head->type != BUS_WHO || head->epoch <= peer->epoch)
			return false;
		log_info("another watcher leads now");
	}
	peer->watcher = (int)watcher;
	return true;
}

void peer_receive(struct peer *peer, unsigned watcher, const struct bus_head *head, const char *body, size_t body_len)
{
	if (peer->state == PEER_GONE || peer->state == PEER_REFUSED)
		return;
	if (head->protocol != BUS_PROTOCOL && head->type != BUS_REFUSE) {
		peer->counters.malformed++;
		return;
	}
	/* WHO alone may tell a newer epoch: the rest answers a HELLO that knew it already */
	if (head->session != peer->session || peer->state == PEER_SILENT || head->epoch < peer->epoch ||
	    (head->epoch > peer->epoch && head->type != BUS_WHO && head->type != BUS_REFUSE)) {
		peer->counters.stale++;
		return;
	}
	if (!follow(peer, watcher, head)) {
		peer->counters.stale++;
		return;
	}
	peer->heard_ms = now(peer);
	if (head->type == BUS_WHO) {
		on_who(peer, head);
		return;
	}
	if (head->type == BUS_REFUSE) {
		on_refuse(peer, body, body_len);
		return;
	}
	/* one that leaves holds nothing that a lost message could be about, and does not come back */
	if (head->sequence != peer->heard_sequence + 1 && peer->state != PEER_LEAVING) {
		peer->counters.sequence_gaps++;
		log_warning("missed messages of the watcher: saying HELLO again");
		hello(peer);
		return;
	}
	peer->heard_sequence = head->sequence;
	on_session(peer, head, body, body_len);
}

uint32_t peer_shard_count(const struct peer *peer)
{
	return peer->shard_count;
}

const struct shard_set *peer_shards(const struct peer *peer)
{
	return &peer->shards;
}

uint64_t peer_epoch(const struct peer *peer)
{
	return peer->epoch;
}

int peer_watcher(const struct peer *peer)
{
	return peer->watcher;
}

const struct peer_counters *peer_counters(const struct peer *peer)
{
	return &peer->counters;
}
