/* The router's peers: the table of connections, and the objects and assignments that are sent to them; see
 * connections.h. */
#include "watcher/shards/connections.h"

#include <string.h>

#include "common/base/log.h"

enum {
	ID_MAX = 255, /* of a ZeroMQ routing id */
	WINDOW_MAX = 65536,
	HELLO_MS = 500, /* twice as often as peers of ours say it again and again … */
	HELLOS_AT_ONCE = 10,
	SESSION_SILENT_MS = 30000,
};

int64_t router_now(const struct router *router)
{
	return router->ports.now_ms(router->ports.arg);
}

/* ---- peers ------------------------------------------------------------------------------------------------------ */

struct connection *connection_find(const struct router *router, const unsigned char *id, size_t id_len)
{
	struct connection *connection;

	HASH_FIND(hh, router->connections, id, id_len, connection);
	return connection;
}

bool connection_fits(const struct router *router, size_t id_len)
{
	return id_len <= ID_MAX && HASH_COUNT(router->connections) < ROUTER_PEERS_MAX;
}

struct connection *connection_add(struct router *router, const unsigned char *id, size_t id_len)
{
	struct connection *connection = mem_calloc(1, sizeof(*connection) + id_len);

	connection->id_len = id_len;
	memcpy(connection->id, id, id_len);
	connection->outbox = outbox_new(router->cache);
	HASH_ADD_KEYPTR(hh, router->connections, connection->id, connection->id_len, connection);
	return connection;
}

void connection_disown(struct router *router, const struct connection *connection)
{
	for (uint32_t r = 0; r < router->options.shards.shard_count; r++)
		if (router->owners[r] == connection)
			router->owners[r] = NULL;
}

void connection_remove(struct router *router, struct connection *connection)
{
	connection_disown(router, connection);
	if (connection->member != NULL)
		shard_member_use(connection->member, false);
	outbox_free(connection->outbox);
	HASH_DEL(router->connections, connection);
	free(connection);
}

void connection_leave(struct router *router, struct connection *connection)
{
	connection_disown(router, connection);
	if (connection->member != NULL)
		shard_member_use(connection->member, false);
	connection->member = NULL;
	outbox_clear(connection->outbox);
	connection->sent_all = false;
	connection->shards = (struct shard_set){0};
	connection->left = true;
}

/* Removes the peers that are marked gone. Call it only where no caller holds a pointer to one. */
static void reap(struct router *router)
{
	struct connection *connection;
	struct connection *next;

	HASH_ITER(hh, router->connections, connection, next) {
		if (!connection->gone)
			continue;
		router->counters.peers_lost++;
		log_info("lost the connection to %s", connection->name);
		connection_remove(router, connection);
	}
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

/* Answers someone who is no peer, with router->body: belongs to no session, so it has no sequence. */
static int reply(struct router *router, const unsigned char *id, size_t id_len, enum bus_type type,
		 const struct bus_head *received)
{
	const struct bus_head head = {
		.type = (uint8_t)type, .epoch = router->options.epoch, .session = received->session};
	const char *body = router->body.data == NULL ? "" : router->body.data;

	return router->ports.send(router->ports.arg, id, id_len, &head, body, router->body.len);
}

int router_who(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *received)
{
	router->counters.whos++;
	buf_clear(&router->body);
	return reply(router, id, id_len, BUS_WHO, received);
}

void router_refuse(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *received,
		   bool final, const char *reason)
{
	struct bus_refuse refusal = {.final = final};

	strncpy(refusal.reason, reason, sizeof(refusal.reason) - 1);
	buf_clear(&router->body);
	bus_refuse_write(&router->body, &refusal);
	reply(router, id, id_len, BUS_REFUSE, received);
}

bool router_send(struct router *router, struct connection *connection, struct bus_head *head)
{
	if (connection->gone)
		return false;
	head->epoch = router->options.epoch;
	head->session = connection->session;
	head->sequence = ++connection->sent_sequence;
	if (router->ports.send(router->ports.arg, connection->id, connection->id_len, head, router->body.data,
			       router->body.len) < 0) {
		connection->gone = true;
		return false;
	}
	return true;
}

bool connection_may_greet(const struct router *router, struct connection *connection)
{
	int64_t now_ms = router_now(router);

	if (connection->hello_ms > now_ms + HELLO_MS * (HELLOS_AT_ONCE - 1))
		return false;
	connection->hello_ms = (connection->hello_ms > now_ms ? connection->hello_ms : now_ms) + HELLO_MS;
	return true;
}

void connection_greeted(struct connection *connection, uint32_t window)
{
	connection->window = window > WINDOW_MAX ? WINDOW_MAX : window;
	connection->sent_objects = 0;
	connection->consumed = 0;
	connection->mark = 0;
	connection->bytes_before += connection->bytes_marked + connection->bytes_since;
	connection->bytes_marked = 0;
	connection->bytes_since = 0;
}

void connection_consumed(struct connection *connection, uint64_t consumed, bool read)
{
	if (read)
		connection->bytes_before = 0;
	if (consumed > connection->consumed && consumed <= connection->sent_objects)
		connection->consumed = consumed;
	if (connection->consumed < connection->mark)
		return;
	connection->bytes_marked = connection->consumed < connection->sent_objects ? connection->bytes_since : 0;
	connection->bytes_since = 0;
	connection->mark = connection->sent_objects;
}

static size_t unread(const struct connection *connection)
{
	return connection->bytes_before + connection->bytes_marked + connection->bytes_since;
}

static bool has_credit(const struct router *router, const struct connection *connection)
{
	size_t most = router->options.in_flight_max > 0 ? router->options.in_flight_max : ROUTER_IN_FLIGHT_MAX;

	return connection->sent_objects - connection->consumed < connection->window && unread(connection) < most;
}

/* Whether peers of that role get this object. */
static bool role_concerned(enum bus_role role, const struct cache_entry *entry)
{
	return role == BUS_ROLE_RECONCILER || cache_entry_kind(entry) == KIND_FRAMEWORK;
}

void router_changed(struct router *router, struct cache_entry *entry)
{
	struct connection *owner = router->owners[cache_entry_shard(entry)];

	if (owner != NULL)
		outbox_put(owner->outbox, entry);
	for (struct connection *connection = router->connections; connection != NULL; connection = connection->hh.next)
		if (connection->role == BUS_ROLE_BARRIER && connection->sent_all &&
		    role_concerned(connection->role, entry))
			outbox_put(connection->outbox, entry);
}

void router_gone(struct router *router, struct cache_entry *entry, const struct cache_absence *absence)
{
	struct connection *owner = router->owners[absence->shard];

	if (owner != NULL)
		outbox_put_absent(owner->outbox, entry, absence);
	for (struct connection *connection = router->connections; connection != NULL; connection = connection->hh.next)
		if (connection->role == BUS_ROLE_BARRIER && connection->sent_all &&
		    role_concerned(connection->role, entry))
			outbox_put_absent(connection->outbox, entry, absence);
}

/* Sends the first item of the outbox; false if nothing more can be sent now. */
static bool send_next(struct router *router, struct connection *connection)
{
	struct outbox_item *item = outbox_first(connection->outbox);
	struct bus_head head = {.version = connection->sent_version};
	const struct bus_absent *absent;
	const struct bus_snapshot_end *end;
	const struct cache_entry *entry;
	enum object_kind kind = KIND_FRAMEWORK;

	if (item == NULL)
		return false;
	end = outbox_item_end(item);
	absent = outbox_item_absent(item, &kind, &head.shard);
	entry = outbox_item_entry(item);
	if (end == NULL && !has_credit(router, connection))
		return false;
	buf_clear(&router->body);
	if (end != NULL) {
		head.type = BUS_SNAPSHOT_END;
		bus_snapshot_end_write(&router->body, end);
		router->counters.snapshots++;
	} else if (absent != NULL) {
		head.type = BUS_ABSENT;
		head.kind = (uint8_t)kind;
		bus_absent_write(&router->body, absent);
		router->counters.absents++;
	} else {
		head.type = BUS_UPDATE;
		head.kind = (uint8_t)cache_entry_kind(entry);
		head.shard = cache_entry_shard(entry);
		cache_entry_write(&router->body, entry);
		router->counters.updates++;
	}
	if (!router_send(router, connection, &head))
		return false;
	if (end == NULL) {
		connection->sent_objects++;
		connection->bytes_since += BUS_HEAD_SIZE + router->body.len;
	}
	outbox_sent(connection->outbox, item);
	return true;
}

bool router_has_news(const struct router *router)
{
	for (const struct connection *connection = router->connections; connection != NULL;
	     connection = connection->hh.next) {
		const struct outbox_item *item = outbox_first(connection->outbox);

		if (item != NULL && !connection->gone &&
		    (has_credit(router, connection) || outbox_item_end(item) != NULL))
			return true;
	}
	return false;
}

bool router_sends_snapshot(const struct router *router)
{
	for (const struct connection *connection = router->connections; connection != NULL;
	     connection = connection->hh.next)
		if (connection->role == BUS_ROLE_RECONCILER && outbox_has_end(connection->outbox))
			return true;
	return false;
}

void router_flush(struct router *router)
{
	struct connection *connection;
	struct connection *next;
	bool lost = false;

	HASH_ITER(hh, router->connections, connection, next) {
		while (send_next(router, connection))
			;
		lost = lost || connection->gone;
	}
	if (lost)
		reap(router);
}

bool connection_silent(const struct router *router, const struct connection *connection)
{
	return router_now(router) > connection->received_ms + SESSION_SILENT_MS;
}

void router_forget_silent(struct router *router)
{
	struct connection *connection;
	struct connection *next;

	HASH_ITER(hh, router->connections, connection, next) {
		const struct bus_head received = {.session = connection->session};

		if (!connection_silent(router, connection) || router_now(router) < connection->probe_ms)
			continue;
		connection->gone = unread(connection) == 0 ||
				   router_who(router, connection->id, connection->id_len, &received) < 0;
		connection->probe_ms = router_now(router) + SESSION_SILENT_MS;
	}
	reap(router);
}

/* ---- assignments ------------------------------------------------------------------------------------------------ */

/* Queues the full state of the shards, and that it is full. */
static void put_snapshot(struct router *router, struct connection *connection, const struct shard_set *fresh)
{
	struct bus_snapshot_end end = {.shards = *fresh};

	if (shard_set_empty(fresh))
		return;
	for (uint32_t r = 0; r < router->options.shards.shard_count; r++) {
		if (!shard_set_has(fresh, r))
			continue;
		for (struct cache_entry *entry = cache_first(router->cache, r); entry != NULL;
		     entry = cache_next(entry))
			if (role_concerned(connection->role, entry))
				outbox_put(connection->outbox, entry);
	}
	cache_put_scopes(router->cache, &end);
	outbox_put_end(connection->outbox, &end);
}

static void assign(struct router *router, struct connection *connection, uint64_t version,
		   const struct shard_set *shards, const struct shard_set *fresh)
{
	struct bus_assign body = {
		.shard_count = router->options.shards.shard_count,
		.shards = *shards,
		.fresh = *fresh,
		.lease_ms = router->options.shards.lease_ms,
	};
	struct bus_head head = {.type = BUS_ASSIGN, .version = version};
	struct shard_set dropped;

	for (size_t i = 0; i < ARRAY_LEN(dropped.bits); i++)
		dropped.bits[i] = connection->shards.bits[i] & ~shards->bits[i];
	outbox_drop_shards(connection->outbox, &dropped);
	for (uint32_t r = 0; connection->role == BUS_ROLE_RECONCILER && r < router->options.shards.shard_count; r++) {
		if (shard_set_has(shards, r))
			router->owners[r] = connection;
		else if (router->owners[r] == connection)
			router->owners[r] = NULL;
	}
	connection->shards = *shards;
	connection->sent_version = version;
	connection->sent_all = true;
	buf_clear(&router->body);
	bus_assign_write(&router->body, &body);
	router->counters.assigns++;
	if (router_send(router, connection, &head))
		put_snapshot(router, connection, fresh);
}

void router_relisted(struct router *router)
{
	struct connection *connection;
	struct connection *next;

	HASH_ITER(hh, router->connections, connection, next)
		if (!connection->gone && connection->role == BUS_ROLE_RECONCILER &&
		    !shard_set_empty(&connection->shards))
			assign(router, connection, connection->sent_version, &connection->shards, &connection->shards);
	reap(router);
}

static void update_connection(struct router *router, struct connection *connection)
{
	struct shard_set all = {0};
	struct shard_set fresh;

	if (connection->role == BUS_ROLE_BARRIER) {
		if (connection->sent_version != 0)
			return;
		for (uint32_t r = 0; r < router->options.shards.shard_count; r++)
			shard_set_add(&all, r);
		assign(router, connection, 1, &all, &all);
		return;
	}
	if (connection->sent_version == shard_member_version(connection->member) ||
	    shard_member_version(connection->member) == 0)
		return;
	shard_member_take_fresh(connection->member, &fresh);
	log_v(1, "%s: assignment %llu: %u shards, %u of them fresh", connection->name,
	      (unsigned long long)shard_member_version(connection->member),
	      shard_set_count(shard_member_shards(connection->member)), shard_set_count(&fresh));
	assign(router, connection, shard_member_version(connection->member), shard_member_shards(connection->member),
	       connection->sent_all ? &fresh : shard_member_shards(connection->member));
}

void router_update(struct router *router)
{
	struct connection *connection;
	struct connection *next;

	if (!router->synced)
		return;
	shard_table_update(router->shards, router_now(router));
	HASH_ITER(hh, router->connections, connection, next)
		if (!connection->gone && !connection->left)
			update_connection(router, connection);
	reap(router);
}
