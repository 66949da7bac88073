/* The reconciler's or barrier's side of a connection; see session.h.
 * A lease belongs to a shard: a PONG renews those of the assignment that it names, counted from when the ping was sent;
 * a shard that stays through a new assignment keeps the lease that it has. */
#include "common/bus/session.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/mem.h"

enum session_state {
	SESSION_SILENT,
	SESSION_GREETED,
	SESSION_ASSIGNED,
	SESSION_LEAVING,
	SESSION_GONE,
	SESSION_REFUSED
};

struct session {
	struct session_ports ports;
	struct session_handler handler;
	void *arg;
	enum bus_role role;
	char name[64];
	char uuid[40];
	enum session_state state;
	int watcher;     /* that answered in this session; -1: none yet */
	uint32_t number; /* of the last HELLO */
	uint64_t sent_sequence;
	uint64_t received_sequence;
	/* the present assignment */
	uint64_t epoch; /* the newest of a WHO, since it last had no lease and sent HELLO to all; 0: none */
	uint64_t version;
	uint64_t version_epoch; /* the term that the version, and all that is held, is of */
	uint32_t shard_count;
	int64_t lease_ms;
	int64_t assigned_ms; /* when it came: one that no lease follows is given up */
	struct shard_set shards;
	int64_t lease_end_ms[BUS_SHARD_MAX]; /* 0: none yet */
	/* credit */
	uint64_t consumed;
	uint64_t consumed_sent;
	size_t bytes_unsent; /* of what was consumed since */
	/* what is due when */
	int64_t hello_ms;
	int64_t ping_ms;
	int64_t retry_ms;       /* between attempts to send a HELLO */
	int64_t received_ms;    /* from the watcher */
	int64_t drained_ms;     /* since when nothing is in flight of one that leaves */
	bool left_acknowledged; /* an assignment came after the BYE: the watcher knows of it */
	bool live;
	double qps;
	int32_t burst;
	struct buf body; /* scratch */
	struct session_counters counters;
};

struct session *session_new(const struct session_ports *ports, enum bus_role role, const char *name, const char *uuid,
			    const struct session_handler *handler, void *arg)
{
	struct session *session = mem_calloc(1, sizeof(*session));

	session->ports = *ports;
	if (session->ports.window == 0)
		session->ports.window = SESSION_WINDOW;
	session->handler = *handler;
	session->arg = arg;
	session->role = role;
	strncpy(session->name, name, sizeof(session->name) - 1);
	strncpy(session->uuid, uuid, sizeof(session->uuid) - 1);
	session->retry_ms = SESSION_UNCONNECTED_MS;
	session->watcher = -1;
	return session;
}

void session_free(struct session *session)
{
	if (session == NULL)
		return;
	buf_free(&session->body);
	free(session);
}

static int64_t now(const struct session *session)
{
	return session->ports.now_ms(session->ports.arg);
}

int64_t session_lease_left_ms(const struct session *session, uint32_t shard)
{
	if (!shard_set_has(&session->shards, shard) || session->state == SESSION_LEAVING ||
	    session->lease_end_ms[shard] == 0)
		return 0;
	return session->lease_end_ms[shard] - now(session);
}

bool session_leased(const struct session *session)
{
	for (uint32_t r = 0; r < session->shard_count; r++)
		if (session_lease_left_ms(session, r) > 0)
			return true;
	return false;
}

/* ---- giving shards up ------------------------------------------------------------------------------------------- */

static void revoke(struct session *session, const struct shard_set *shards)
{
	if (shard_set_empty(shards))
		return;
	for (uint32_t r = 0; r < BUS_SHARD_MAX; r++)
		if (shard_set_has(shards, r)) {
			shard_set_remove(&session->shards, r);
			session->lease_end_ms[r] = 0;
		}
	session->handler.revoked(session->arg, shards);
}

static void revoke_all(struct session *session)
{
	struct shard_set all = session->shards;

	revoke(session, &all);
}

/* Shards whose lease has expired; those of an assignment that was never leased, too, once a lease's time has passed. */
static void find_expired(const struct session *session, struct shard_set *out)
{
	int64_t at_ms = now(session);

	for (uint32_t r = 0; r < session->shard_count; r++) {
		int64_t end_ms = session->lease_end_ms[r] != 0 ? session->lease_end_ms[r]
							       : session->assigned_ms + session->lease_ms;

		if (shard_set_has(&session->shards, r) && end_ms <= at_ms)
			shard_set_add(out, r);
	}
}

static void set_live(struct session *session, bool live)
{
	if (session->live == live)
		return;
	session->live = live;
	session->handler.live(session->arg, live);
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

/* The assignment of the epoch's term that is applied; 0: none yet. */
static uint64_t applied(const struct session *session)
{
	return session->version_epoch == session->epoch ? session->version : 0;
}

/* Sends a message; session.h says to whom. 0, or -1 when the send to the watcher that answers us failed. */
static int say(struct session *session, enum bus_type type, uint64_t sequence, uint32_t number)
{
	const struct bus_head head = {
		.type = (uint8_t)type,
		.epoch = session->epoch,
		.version = applied(session),
		.sequence = sequence,
		.time_ms = now(session),
		.session = number,
	};
	const char *body = session->body.data == NULL ? "" : session->body.data;
	int result = -1;

	for (int i = 0; i < (int)session->ports.watchers; i++) {
		bool it = session->watcher < 0 || session->watcher == i;

		if (!it && type != BUS_PING)
			continue;
		if (session->ports.send(session->ports.arg, (unsigned)i, &head, body, session->body.len) == 0 && it)
			result = 0;
	}
	return result;
}

static void hello(struct session *session)
{
	struct bus_hello body = {
		.role = session->role,
		.shard_count = session->shard_count,
		.held_epoch = session->version_epoch,
		.window = session->ports.window,
	};
	int64_t at_ms = now(session);

	memcpy(body.name, session->name, sizeof(body.name));
	memcpy(body.uuid, session->uuid, sizeof(body.uuid));
	for (uint32_t r = 0; session->role == BUS_ROLE_RECONCILER && r < session->shard_count; r++)
		if (session_lease_left_ms(session, r) > 0)
			shard_set_add(&body.held, r);
	buf_clear(&session->body);
	bus_hello_write(&session->body, &body);
	if (say(session, BUS_HELLO, 1, session->number + 1) < 0) {
		session->hello_ms = at_ms + session->retry_ms; /* no connection yet */
		session->retry_ms = backoff_doubled(session->retry_ms, 1, SESSION_UNCONNECTED_MAX_MS);
		session->state = SESSION_SILENT;
		session->watcher = -1;
		return;
	}
	session->retry_ms = SESSION_UNCONNECTED_MS;
	session->counters.hellos++;
	session->number++;
	session->sent_sequence = 1;
	session->received_sequence = 0;
	session->consumed = 0;
	session->consumed_sent = 0;
	session->bytes_unsent = 0;
	session->state = SESSION_GREETED;
	session->hello_ms = at_ms + SESSION_HELLO_AGAIN_MS;
	session->ping_ms = at_ms + SESSION_PING_MS;
}

/* Whether the session may follow any leader. A barrier writes nothing. */
static bool bound_to_none(const struct session *session)
{
	return session->role == BUS_ROLE_BARRIER || !session_leased(session);
}

/* Nobody answers, so that another one may lead now: where the Lease was deleted by hand, by an older epoch. */
static void hello_all(struct session *session)
{
	session->watcher = -1;
	if (bound_to_none(session))
		session->epoch = 0;
	hello(session);
}

static void draining(const struct session *session, struct shard_set *out)
{
	if (session->handler.draining != NULL)
		session->handler.draining(session->arg, out);
}

static void ping(struct session *session)
{
	struct bus_ping body = {
		.held = session->shards,
		.consumed = session->consumed,
		.received = session->received_sequence,
		.backlog = session->handler.backlog == NULL ? 0 : session->handler.backlog(session->arg),
	};

	if (session->role == BUS_ROLE_RECONCILER)
		draining(session, &body.draining);
	else
		body.held = (struct shard_set){0};
	buf_clear(&session->body);
	bus_ping_write(&session->body, &body);
	session->ping_ms = now(session) + (session->state == SESSION_LEAVING ? SESSION_LEAVE_PING_MS : SESSION_PING_MS);
	/* a ping that could not be sent leaves no gap in the sequence */
	if (say(session, BUS_PING, session->sent_sequence + 1, session->number) < 0)
		return;
	session->sent_sequence++;
	session->counters.pings++;
	session->consumed_sent = session->consumed;
	session->bytes_unsent = 0;
}

void session_ping_soon(struct session *session)
{
	if (session->state == SESSION_GREETED || session->state == SESSION_ASSIGNED ||
	    session->state == SESSION_LEAVING)
		session->ping_ms = 0;
}

void session_leave(struct session *session)
{
	if (session->state == SESSION_LEAVING || session->state == SESSION_GONE)
		return;
	if (session->state != SESSION_GREETED && session->state != SESSION_ASSIGNED) {
		revoke_all(session);
		session->state = SESSION_GONE;
		return;
	}
	buf_clear(&session->body);
	if (say(session, BUS_BYE, session->sent_sequence + 1, session->number) == 0)
		session->sent_sequence++;
	session->state = SESSION_LEAVING;
	session->drained_ms = now(session);
	revoke_all(session);
	session->ping_ms = 0;
	if (session->version == 0) /* never had a shard: there is nothing to be acknowledged */
		session->state = SESSION_GONE;
}

bool session_gone(const struct session *session)
{
	return session->state == SESSION_GONE || session->state == SESSION_REFUSED;
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void lose_expired(struct session *session)
{
	struct shard_set expired = {0};

	find_expired(session, &expired);
	if (shard_set_empty(&expired))
		return;
	log_warning("the leases of %u shards expired", shard_set_count(&expired));
	session->counters.leases_lost++;
	revoke(session, &expired);
	if (session->state == SESSION_ASSIGNED) { /* the remaining shards, too, get a new snapshot */
		session->state = SESSION_SILENT;
		session->hello_ms = 0;
	}
}

/* Whether one that leaves has nothing more to do and nobody listens to it. */
static bool given_up(struct session *session)
{
	struct shard_set shards = {0};

	draining(session, &shards);
	if (!shard_set_empty(&shards))
		session->drained_ms = now(session);
	return now(session) >= session->drained_ms + SESSION_LEAVE_UNANSWERED_MS;
}

int64_t session_tick(struct session *session)
{
	int64_t at_ms = now(session);
	int64_t next_ms;

	if (session->state == SESSION_GONE || session->state == SESSION_REFUSED)
		return INT64_MAX;
	if (session->role == BUS_ROLE_RECONCILER)
		lose_expired(session);
	if (at_ms >= session->received_ms + SESSION_SILENCE_MS)
		set_live(session, false);
	if (session->state == SESSION_LEAVING && given_up(session)) {
		session->state = SESSION_GONE;
		return INT64_MAX;
	}
	if (session->state == SESSION_SILENT && at_ms >= session->hello_ms)
		hello_all(session);
	else if (session->state == SESSION_GREETED && at_ms >= session->hello_ms &&
		 at_ms >= session->received_ms + SESSION_HELLO_AGAIN_MS)
		hello_all(session);
	else if (session->state == SESSION_ASSIGNED && at_ms >= session->received_ms + SESSION_SILENCE_MS &&
		 bound_to_none(session))
		hello_all(session);
	else if (session->state != SESSION_SILENT && at_ms >= session->ping_ms)
		ping(session);
	next_ms = session->state == SESSION_SILENT ? session->hello_ms : session->ping_ms;
	return earlier(next_ms, at_ms + SESSION_PING_MS);
}

/* ---- receiving -------------------------------------------------------------------------------------------------- */

static void on_assign(struct session *session, const struct bus_head *head, const char *body, size_t len)
{
	struct bus_assign assign;
	struct shard_set lost;
	struct error err;

	if (bus_assign_read(body, len, &assign, &err) < 0) {
		session->counters.malformed++;
		log_error("%s", err.message);
		return;
	}
	if (session->shard_count != 0 && session->shard_count != assign.shard_count)
		revoke_all(session); /* cut differently: the numbers mean other keys now */
	for (size_t i = 0; i < ARRAY_LEN(lost.bits); i++)
		lost.bits[i] = session->shards.bits[i] & ~assign.shards.bits[i];
	session->version = head->version;
	session->version_epoch = head->epoch;
	session->shard_count = assign.shard_count;
	session->lease_ms = assign.lease_ms;
	session->assigned_ms = now(session);
	if (session->state != SESSION_LEAVING)
		session->state = SESSION_ASSIGNED;
	revoke(session, &lost);
	if (session->state == SESSION_LEAVING) {
		assign.shards = (struct shard_set){0};
		session->left_acknowledged = true;
	}
	session->shards = assign.shards;
	if (!shard_set_empty(&assign.fresh) && session->state != SESSION_LEAVING)
		session->handler.granted(session->arg, &assign.fresh);
	session_ping_soon(session); /* starts the lease, and reports the released shards */
}

static void on_pong(struct session *session, const struct bus_head *head, const char *body, size_t len)
{
	struct shard_set shards = {0};
	struct bus_pong pong;
	struct error err;
	bool ours = head->version == applied(session) && head->version != 0 && head->time_ms <= now(session);

	if (bus_pong_read(body, len, &pong, &err) < 0) {
		session->counters.malformed++;
		log_error("%s", err.message);
		return;
	}
	session->counters.pongs++;
	if (pong.renewed && ours && session->state == SESSION_ASSIGNED) {
		for (uint32_t r = 0; r < session->shard_count; r++)
			if (shard_set_has(&session->shards, r) &&
			    session->lease_end_ms[r] < head->time_ms + session->lease_ms)
				session->lease_end_ms[r] = head->time_ms + session->lease_ms;
		lose_expired(session); /* the answer may be an old one */
	}
	if (session->state == SESSION_LEAVING) {
		/* at a version without shards the watcher knows that nothing is in flight */
		draining(session, &shards);
		if (pong.renewed && ours && session->left_acknowledged && shard_set_empty(&shards))
			session->state = SESSION_GONE;
		return;
	}
	if (pong.qps != session->qps || pong.burst != session->burst) {
		session->qps = pong.qps;
		session->burst = pong.burst;
		if (session->role == BUS_ROLE_RECONCILER)
			session->handler.rate(session->arg, pong.qps, pong.burst);
	}
	set_live(session, pong.live);
}

static void on_update(struct session *session, const struct bus_head *head, const char *body, size_t len)
{
	session->consumed++;
	if (head->kind >= KIND_COUNT) {
		session->counters.malformed_objects++;
		log_error("skipped an object of an unknown kind from the watcher");
	} else if (session->handler.text(session->arg, (enum object_kind)head->kind, head->shard, body, len)) {
		session->counters.objects++;
	} else {
		session->counters.malformed_objects++;
	}
}

static void on_absent(struct session *session, const struct bus_head *head, const char *body, size_t len)
{
	struct bus_absent absent;
	struct error err;

	session->consumed++;
	if (head->kind >= KIND_COUNT || bus_absent_read(body, len, &absent, &err) < 0) {
		session->counters.malformed_objects++;
		log_error("skipped a deletion from the watcher: %s",
			  head->kind >= KIND_COUNT ? "unknown kind" : err.message);
		return;
	}
	session->counters.absents++;
	session->handler.absent(session->arg, (enum object_kind)head->kind, head->shard, &absent);
	bus_absent_free(&absent);
}

static void on_snapshot_end(struct session *session, const char *body, size_t len)
{
	struct bus_snapshot_end end;
	struct error err;

	if (bus_snapshot_end_read(body, len, &end, &err) < 0) {
		session->counters.malformed++;
		log_error("%s", err.message);
		return;
	}
	session->handler.complete(session->arg, &end);
	bus_snapshot_end_free(&end);
}

static void on_refuse(struct session *session, const char *body, size_t len)
{
	struct bus_refuse refusal;
	struct error err;

	if (bus_refuse_read(body, len, &refusal, &err) < 0) {
		session->counters.malformed++;
		log_error("%s", err.message);
		return;
	}
	if (session->state == SESSION_LEAVING) {
		session->state = SESSION_GONE; /* a watcher that refuses this peer waits for no release of its shards */
		return;
	}
	if (refusal.final)
		revoke_all(session);
	session->state = refusal.final ? SESSION_REFUSED : SESSION_SILENT;
	session->hello_ms = now(session) + SESSION_REFUSED_MS;
	session->handler.refused(session->arg, refusal.reason, refusal.final);
}

/* Messages that belong to the session, in sequence. */
static void on_session(struct session *session, const struct bus_head *head, const char *body, size_t len)
{
	switch (head->type) {
	case BUS_ASSIGN: on_assign(session, head, body, len); break;
	case BUS_PONG: on_pong(session, head, body, len); break;
	case BUS_UPDATE:
		session->bytes_unsent += len;
		on_update(session, head, body, len);
		break;
	case BUS_ABSENT: on_absent(session, head, body, len); break;
	case BUS_SNAPSHOT_END: on_snapshot_end(session, body, len); break;
	default: session->counters.malformed++; break;
	}
	if (session->consumed - session->consumed_sent >= (session->ports.window + 1) / 2 ||
	    session->bytes_unsent >= SESSION_CREDIT_BYTES)
		ping(session);
}

static void on_who(struct session *session, const struct bus_head *head)
{
	session->epoch = head->epoch;
	if (session->state == SESSION_LEAVING)
		session->state = SESSION_GONE; /* a watcher that does not know us waits for nothing */
	else
		hello(session);
}

/* Whether the watcher is the one that we listen to: the first that answers, or one that asks and leads since. */
static bool follow(struct session *session, unsigned watcher, const struct bus_head *head)
{
	if (session->watcher >= 0 && session->watcher != (int)watcher) {
		if (head->type != BUS_WHO || head->epoch <= session->epoch)
			return false;
		log_info("another watcher leads now");
	}
	session->watcher = (int)watcher;
	return true;
}

void session_receive(struct session *session, unsigned watcher, const struct bus_head *head, const char *body,
		     size_t body_len)
{
	if (session->state == SESSION_GONE || session->state == SESSION_REFUSED)
		return;
	if (head->protocol != BUS_PROTOCOL && head->type != BUS_REFUSE) {
		session->counters.malformed++;
		return;
	}
	/* only WHO may bring a newer epoch: the rest answers a HELLO that contained it */
	if (head->session != session->number || session->state == SESSION_SILENT || head->epoch < session->epoch ||
	    (head->epoch > session->epoch && head->type != BUS_WHO && head->type != BUS_REFUSE)) {
		session->counters.stale++;
		return;
	}
	if (!follow(session, watcher, head)) {
		session->counters.stale++;
		return;
	}
	if (head->type == BUS_REFUSE) { /* it says nothing of the watcher's streams */
		on_refuse(session, body, body_len);
		return;
	}
	session->received_ms = now(session);
	if (head->type == BUS_WHO) {
		on_who(session, head);
		return;
	}
	/* one that leaves holds nothing that a lost message could be about, and does not come back */
	if (head->sequence != session->received_sequence + 1 && session->state != SESSION_LEAVING) {
		session->counters.sequence_gaps++;
		log_warning("missed messages of the watcher: sending HELLO again");
		hello(session);
		return;
	}
	session->received_sequence = head->sequence;
	on_session(session, head, body, body_len);
}

uint32_t session_shard_count(const struct session *session)
{
	return session->shard_count;
}

const struct shard_set *session_shards(const struct session *session)
{
	return &session->shards;
}

uint64_t session_epoch(const struct session *session)
{
	return session->epoch;
}

int session_watcher(const struct session *session)
{
	return session->watcher;
}

const struct session_counters *session_counters(const struct session *session)
{
	return &session->counters;
}
