/* The watcher's side of the bus: handles received messages; see router.h. */
#include "watcher/shards/router.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "watcher/shards/connections.h"

enum { LINES_AT_ONCE = 10, LINES_PER_MINUTE = 10 };

struct router *router_new(const struct router_ports *ports, const struct router_options *options)
{
	struct router *router = mem_calloc(1, sizeof(*router));

	router->ports = *ports;
	router->options = *options;
	router->shards = shard_table_new(&options->shards);
	for (size_t i = 0; i < ROUTER_LINES; i++)
		token_bucket_init(&router->lines[i], LINES_PER_MINUTE / 60., LINES_AT_ONCE, router_now(router));
	return router;
}

void router_set_cache(struct router *router, struct cache *cache)
{
	router->cache = cache;
}

void router_free(struct router *router)
{
	struct connection *connection;
	struct connection *next;

	if (router == NULL)
		return;
	HASH_ITER(hh, router->connections, connection, next)
		connection_remove(router, connection);
	shard_table_free(router->shards);
	buf_free(&router->body);
	free(router);
}

/* ---- log lines --------------------------------------------------------------------------------------------------- */

static bool may_log(struct router *router, enum router_line line)
{
	struct token_bucket *bucket = &router->lines[line];

	if (token_bucket_wait_ms(bucket, router_now(router)) > 0)
		return false;
	token_bucket_take(bucket);
	return true;
}

static void note_malformed(struct router *router, const char *name, const struct error *err)
{
	router->counters.malformed++;
	if (may_log(router, LINE_MALFORMED))
		log_warning("%s sent a malformed message (%llu by all peers): %s", name,
			    (unsigned long long)router->counters.malformed, err->message);
}

/* It asks again each second. uuid: empty for peers that are not known. */
static void say_refused(struct router *router, const char *uuid, const char *text)
{
	unsigned sum = 0;

	for (const char *at = uuid; *at != '\0'; at++)
		sum += (unsigned char)*at;
	if (log_is_news(&router->refused[sum % ROUTER_REFUSED_KEPT], router_now(router), text) &&
	    may_log(router, LINE_REFUSED))
		log_info("%s", text);
}

static void log_refused(struct router *router, enum bus_role role, const char *name, const char *uuid,
			const char *reason)
{
	cleanup_free char *text = mem_printf("refused %s %s (%s): %s",
					     role == BUS_ROLE_BARRIER ? "barrier" : "reconciler", name, uuid, reason);

	say_refused(router, uuid, text);
}

/* ---- receiving -------------------------------------------------------------------------------------------------- */

/* A connection that speaks for the same member as a new one is no longer in use. */
static void remove_others_of(struct router *router, const struct connection *keep)
{
	struct connection *connection;
	struct connection *next;

	HASH_ITER(hh, router->connections, connection, next) {
		if (connection == keep || connection->member == NULL || connection->member != keep->member)
			continue;
		connection_leave(router, connection);
		shard_member_use(keep->member, true);
	}
}

/* The former leader may have had another number of shards: then the numbers mean other keys here, and no claim is taken
 * over. The leases that it granted expire before this leader grants anything (shard_options.former_until_ms). */
static enum shard_answer join(struct router *router, const struct bus_hello *hello, struct shard_member **member)
{
	/* the peer claims them in this term, so its claims are true; this leader knows its own grants */
	bool claims = hello->held_epoch < router->options.epoch &&
		      hello->shard_count == router->options.shards.shard_count;

	return shard_table_hello(router->shards, hello->name, hello->uuid, claims ? &hello->held : NULL,
				 router_now(router), member);
}

/* Valid until the next one. */
static const char *epoch_reason(struct router *router, uint64_t known)
{
	snprintf(
		router->reason, sizeof(router->reason),
		"it follows a leader of epoch %llu, this leader has epoch %llu: it may join when its leases have ended",
		(unsigned long long)known, (unsigned long long)router->options.epoch);
	return router->reason;
}

/* NULL; or why it is refused, and whether that is for good. */
static const char *admit(struct router *router, const struct bus_hello *hello, bool fits, struct shard_member **member,
			 bool *final)
{
	*member = NULL;
	*final = false;
	if (!fits) { /* before it counts as a member, for which shards are kept */
		router->counters.refused++;
		return "too many connections";
	}
	if (hello->role != BUS_ROLE_RECONCILER)
		return NULL;
	if (router->options.accept != NULL && !router->options.accept(router->options.accept_arg, hello->name)) {
		router->counters.refused++;
		*final = true;
		return "this watcher accepts only its own children (--workers)";
	}
	switch (join(router, hello, member)) {
	case SHARD_JOINED: return NULL;
	case SHARD_BUSY: router->counters.busy++; return "another process has this name, and its lease may still run";
	case SHARD_FULL: break;
	}
	router->counters.refused++;
	return "too many members";
}

static void on_hello(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *head,
		     const char *body, size_t body_len)
{
	struct connection *connection = connection_find(router, id, id_len);
	struct shard_member *member;
	struct bus_hello hello;
	const char *reason;
	bool final;
	struct error err;

	router->counters.hellos++;
	/* The HELLO may have been on its way for longer than a lease, and others may have been granted its shards
	 * since. A HELLO with the epoch of this term is newer than all grants of former leaders. */
	if (head->epoch < router->options.epoch) {
		router_who(router, id, id_len, head);
		return;
	}
	if (connection != NULL && !connection_may_greet(router, connection)) { /* it comes again when nothing answers */
		router->counters.refused++;
		log_refused(router, connection->role, connection->name, connection->uuid, "it sends HELLO too often");
		return;
	}
	if (bus_hello_read(body, body_len, &hello, &err) < 0) {
		note_malformed(router, connection == NULL ? "a connection" : connection->name, &err);
		router_refuse(router, id, id_len, head, true, err.message);
		return;
	}
	/* the peer follows another leader, and drops messages of this one; unread bytes stay counted */
	if (head->epoch > router->options.epoch) {
		router->counters.refused++;
		reason = epoch_reason(router, head->epoch);
		router_refuse(router, id, id_len, head, false, reason);
		log_refused(router, hello.role, hello.name, hello.uuid, reason);
		return;
	}
	reason = admit(router, &hello, connection != NULL || connection_fits(router, id_len), &member, &final);
	if (reason != NULL) {
		router_refuse(router, id, id_len, head, final, reason);
		log_refused(router, hello.role, hello.name, hello.uuid, reason);
		if (connection != NULL)
			connection_leave(router, connection);
		return;
	}
	if (connection == NULL)
		connection = connection_add(router, id, id_len);
	log_v(1, "HELLO from %s %s (%s)", hello.role == BUS_ROLE_BARRIER ? "barrier" : "reconciler", hello.name,
	      hello.uuid);
	if (connection->member != NULL && connection->member != member)
		shard_member_use(connection->member, false);
	connection_disown(router, connection);
	outbox_clear(connection->outbox);
	memcpy(connection->name, hello.name, sizeof(connection->name));
	memcpy(connection->uuid, hello.uuid, sizeof(connection->uuid));
	connection->role = hello.role;
	connection->member = member;
	connection->session = head->session;
	connection->received_sequence = head->sequence;
	connection->sent_sequence = 0;
	connection->received_ms = router_now(router);
	connection->sent_version = 0;
	connection->sent_all = false;
	connection->left = false;
	connection->shards = (struct shard_set){0};
	connection_greeted(connection, hello.window);
	connection->backlog = 0;
	if (member != NULL) {
		shard_member_use(member, true);
		remove_others_of(router, connection);
	}
	router_update(router);
}

/* A reconciler's part of the rate: half of it is shared out equally, the other half as the backlogs are. */
static void fill_rate(const struct router *router, const struct connection *connection, struct bus_pong *pong)
{
	double count = 0;
	double backlog = 0;
	double share;

	if (connection->role != BUS_ROLE_RECONCILER)
		return;
	for (const struct connection *other = router->connections; other != NULL; other = other->hh.next) {
		if (other->role != BUS_ROLE_RECONCILER || other->left || connection_silent(router, other))
			continue;
		count++;
		backlog += other->backlog;
	}
	share = backlog > 0 ? 0.5 / count + 0.5 * connection->backlog / backlog : 1 / count;
	pong->qps = router->options.qps * share;
	pong->burst = (int32_t)(router->options.burst * share);
	if (pong->burst < 1)
		pong->burst = 1;
}

static void on_ping(struct router *router, struct connection *connection, const struct bus_head *head, const char *body,
		    size_t body_len)
{
	struct bus_head answer = {.type = BUS_PONG, .version = head->version, .time_ms = head->time_ms};
	struct bus_pong pong = {.live = router->live && router->synced};
	struct bus_ping ping;
	struct error err;

	router->counters.pings++;
	if (bus_ping_read(body, body_len, &ping, &err) < 0) {
		note_malformed(router, connection->name, &err);
		return;
	}
	connection_consumed(connection, ping.consumed, ping.received > 0);
	connection->backlog = ping.backlog;
	if (connection->member != NULL) {
		/* a version of another epoch means nothing here, nor does one that was not sent in this session */
		uint64_t version = head->epoch == router->options.epoch && connection->sent_all ? head->version : 0;

		pong.renewed = shard_table_ping(router->shards, connection->member, version, &ping.held, &ping.draining,
						connection->received_ms);
	} else {
		pong.renewed = head->version == connection->sent_version && head->version != 0;
	}
	fill_rate(router, connection, &pong);
	buf_clear(&router->body);
	bus_pong_write(&router->body, &pong);
	router_send(router, connection, &answer);
	router_update(router);
}

static void on_bye(struct router *router, struct connection *connection)
{
	if (may_log(router, LINE_LEAVES))
		log_info("%s leaves", connection->name);
	if (connection->member != NULL)
		shard_table_bye(router->shards, connection->member);
	else
		connection_leave(router, connection);
	router_update(router);
}

/* In a rollout, which ends. A child ends, to be started again from the program that the watcher has or gets. */
static void refuse_version(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *head,
			   const char *body, size_t body_len)
{
	cleanup_free char *reason = mem_printf("it speaks bus protocol version %u, this watcher version %d",
					       head->protocol, BUS_PROTOCOL);
	struct bus_hello hello;
	struct error err;

	router->counters.refused++;
	router_refuse(router, id, id_len, head, router->options.accept != NULL, reason);
	/* of another version, but its members may be the same */
	if (head->type == BUS_HELLO && bus_hello_read(body, body_len, &hello, &err) == 0) {
		log_refused(router, hello.role, hello.name, hello.uuid, reason);
	} else if (head->type == BUS_HELLO) {
		cleanup_free char *text = mem_printf("refused a peer: %s", reason);

		say_refused(router, "", text);
	}
}

void router_receive(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const char *body,
		    size_t body_len)
{
	struct router *router = arg;
	struct connection *connection;

	if (head->protocol != BUS_PROTOCOL) {
		refuse_version(router, id, id_len, head, body, body_len);
		return;
	}
	if (head->type == BUS_HELLO) {
		on_hello(router, id, id_len, head, body, body_len);
		return;
	}
	if (head->type != BUS_PING && head->type != BUS_BYE) {
		router->counters.unknown_messages++;
		return;
	}
	connection = connection_find(router, id, id_len);
	if (connection == NULL || connection->left) {
		router_who(router, id, id_len, head);
		return;
	}
	if (connection->session != head->session) {
		router->counters.unknown_messages++; /* from before its last HELLO */
		return;
	}
	if (head->sequence != connection->received_sequence + 1) {
		router->counters.sequence_gaps++;
		router_who(router, id, id_len, head);
		return;
	}
	if (head->epoch > router->options.epoch) {
		router->counters.refused++;
		router_refuse(router, id, id_len, head, false, epoch_reason(router, head->epoch));
		return;
	}
	connection->received_sequence = head->sequence;
	connection->received_ms = router_now(router);
	if (head->type == BUS_PING)
		on_ping(router, connection, head, body, body_len);
	else
		on_bye(router, connection);
}

/* ---- what the watcher sees -------------------------------------------------------------------------------------- */

void router_synced(struct router *router)
{
	router->synced = true;
	router_update(router);
}

void router_set_live(struct router *router, bool live)
{
	router->live = live;
}

void router_expect(struct router *router, const char *name)
{
	shard_table_expect(router->shards, name, router_now(router));
}

void router_process_dead(struct router *router, const char *name)
{
	struct connection *connection;
	struct connection *next;

	/* it may be the connection of another process, which had the name last: what that has not read stays counted */
	HASH_ITER(hh, router->connections, connection, next)
		if (connection->member != NULL && strcmp(connection->name, name) == 0)
			connection_leave(router, connection);
	shard_table_dead(router->shards, name, router_now(router));
	router_update(router);
}

void router_close(struct router *router)
{
	shard_table_close(router->shards);
}

void router_tick(struct router *router)
{
	router_forget_silent(router);
	router_update(router);
}

const struct router_counters *router_counters(const struct router *router)
{
	return &router->counters;
}

size_t router_peer_count(const struct router *router)
{
	size_t count = 0;

	for (const struct connection *connection = router->connections; connection != NULL;
	     connection = connection->hh.next)
		count += !connection->left;
	return count;
}

bool router_peer_named(const struct router *router, const unsigned char *id, size_t id_len, const char **name,
		       enum bus_role *role)
{
	const struct connection *connection = connection_find(router, id, id_len);

	if (connection == NULL || connection->left)
		return false;
	*name = connection->name;
	*role = connection->role;
	return true;
}

uint64_t router_epoch(const struct router *router)
{
	return router->options.epoch;
}

size_t router_backlog(const struct router *router)
{
	size_t size = 0;

	for (struct connection *connection = router->connections; connection != NULL; connection = connection->hh.next)
		size += outbox_size(connection->outbox);
	return size;
}

const struct shard_table *router_shards(const struct router *router)
{
	return router->shards;
}

void router_view_peers(const struct router *router, void (*each)(void *arg, const struct router_peer_view *view),
		       void *arg)
{
	for (const struct connection *connection = router->connections; connection != NULL;
	     connection = connection->hh.next) {
		const struct router_peer_view view = {
			.name = connection->name,
			.uuid = connection->uuid,
			.role = connection->role,
			.received_ms = connection->received_ms,
			.backlog = connection->backlog,
			.unsent = outbox_size(connection->outbox),
			.in_flight = connection->sent_objects - connection->consumed,
		};

		if (!connection->left)
			each(arg, &view);
	}
}
