/* The router's peers: the table of connections, what is sent to them, and the assignments that they are told; see
 * connections.h. */
#include "watcher/shards/connections.h"

#include <string.h>

#include "common/base/log.h"

enum {
	ID_MAX = 255, /* of a ZeroMQ routing id */
	WINDOW_MAX = 65536,
	HELLO_MS = 500, /* twice as often as peers of ours say it again and again … */
	HELLOS_AT_ONCE = 10,
	PEER_SILENT_MS = 30000,
};

int64_t router_now(const struct router *router)
{
	return router->ports.now_ms(router->ports.arg);
}

/* ---- peers ------------------------------------------------------------------------------------------------------ */

struct connection *connection_find(const struct router *router, const unsigned char *id, size_t id_len)
{
	struct connection *peer;

	HASH_FIND(hh, router->peers, id, id_len, peer);
	return peer;
}

bool connection_fits(const struct router *router, size_t id_len)
{
	return id_len <= ID_MAX && HASH_COUNT(router->peers) < ROUTER_PEERS_MAX;
}

struct connection *connection_add(struct router *router, const unsigned char *id, size_t id_len)
{
	struct connection *peer = mem_calloc(1, sizeof(*peer) + id_len);

	peer->id_len = id_len;
	memcpy(peer->id, id, id_len);
	peer->outbox = outbox_new(router->cache);
	HASH_ADD_KEYPTR(hh, router->peers, peer->id, peer->id_len, peer);
	return peer;
}

void connection_disown(struct router *router, const struct connection *peer)
{
	for (uint32_t r = 0; r < router->options.shards.shard_count; r++)
		if (router->owners[r] == peer)
			router->owners[r] = NULL;
}

void connection_remove(struct router *router, struct connection *peer)
{
	connection_disown(router, peer);
	if (peer->member != NULL)
		shard_member_use(peer->member, false);
	outbox_free(peer->outbox);
	HASH_DEL(router->peers, peer);
	free(peer);
}

void connection_leave(struct router *router, struct connection *peer)
{
	connection_disown(router, peer);
	if (peer->member != NULL)
		shard_member_use(peer->member, false);
	peer->member = NULL;
	outbox_clear(peer->outbox);
	peer->told_all = false;
	peer->shards = (struct shard_set){0};
	peer->left = true;
}

void router_reap(struct router *router)
{
	struct connection *peer;
	struct connection *next;

	HASH_ITER(hh, router->peers, peer, next) {
		if (!peer->gone)
			continue;
		router->counters.peers_lost++;
		log_info("lost the connection to %s", peer->name);
		connection_remove(router, peer);
	}
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

/* Answers someone who is no peer, with router->body: belongs to no session, so it has no sequence. */
static int reply(struct router *router, const unsigned char *id, size_t id_len, enum bus_type type,
		 const struct bus_head *heard)
{
	const struct bus_head head = {.type = (uint8_t)type, .epoch = router->options.epoch, .session = heard->session};
	const char *body = router->body.data == NULL ? "" : router->body.data;

	return router->ports.send(router->ports.arg, id, id_len, &head, body, router->body.len);
}

int router_who(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *heard)
{
	router->counters.whos++;
	buf_clear(&router->body);
	return reply(router, id, id_len, BUS_WHO, heard);
}

void router_refuse(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *heard,
		   bool final, const char *reason)
{
	struct bus_refuse refusal = {.final = final};

	strncpy(refusal.reason, reason, sizeof(refusal.reason) - 1);
	buf_clear(&router->body);
	bus_refuse_write(&router->body, &refusal);
	reply(router, id, id_len, BUS_REFUSE, heard);
}

bool router_tell(struct router *router, struct connection *peer, struct bus_head *head)
{
	if (peer->gone)
		return false;
	head->epoch = router->options.epoch;
	head->session = peer->session;
	head->sequence = ++peer->sent_sequence;
	if (router->ports.send(router->ports.arg, peer->id, peer->id_len, head, router->body.data, router->body.len) <
	    0) {
		peer->gone = true;
		return false;
	}
	return true;
}

bool connection_may_greet(const struct router *router, struct connection *peer)
{
	int64_t now_ms = router_now(router);

	if (peer->hello_ms > now_ms + HELLO_MS * (HELLOS_AT_ONCE - 1))
		return false;
	peer->hello_ms = (peer->hello_ms > now_ms ? peer->hello_ms : now_ms) + HELLO_MS;
	return true;
}

void connection_greeted(struct connection *peer, uint32_t window)
{
	peer->window = window > WINDOW_MAX ? WINDOW_MAX : window;
	peer->sent_objects = 0;
	peer->consumed = 0;
	peer->mark = 0;
	peer->bytes_before += peer->bytes_marked + peer->bytes_since;
	peer->bytes_marked = 0;
	peer->bytes_since = 0;
}

void connection_consumed(struct connection *peer, uint64_t consumed, bool read)
{
	if (read)
		peer->bytes_before = 0;
	if (consumed > peer->consumed && consumed <= peer->sent_objects)
		peer->consumed = consumed;
	if (peer->consumed < peer->mark)
		return;
	peer->bytes_marked = peer->consumed < peer->sent_objects ? peer->bytes_since : 0;
	peer->bytes_since = 0;
	peer->mark = peer->sent_objects;
}

static size_t unread(const struct connection *peer)
{
	return peer->bytes_before + peer->bytes_marked + peer->bytes_since;
}

static bool has_credit(const struct router *router, const struct connection *peer)
{
	size_t most = router->options.in_flight_max > 0 ? router->options.in_flight_max : ROUTER_IN_FLIGHT_MAX;

	return peer->sent_objects - peer->consumed < peer->window && unread(peer) < most;
}

/* Tells the first thing in the outbox; false when nothing more can be told now. */
static bool tell_next(struct router *router, struct connection *peer)
{
	struct outbox_item *item = outbox_first(peer->outbox);
	struct bus_head head = {.version = peer->told_version};
	const struct bus_absent *absent;
	const struct bus_snapshot_end *end;
	const struct cache_entry *entry;
	enum object_kind kind = KIND_FRAMEWORK;

	if (item == NULL)
		return false;
	end = outbox_item_end(item);
	absent = outbox_item_absent(item, &kind, &head.shard);
	entry = outbox_item_entry(item);
	if (end == NULL && !has_credit(router, peer))
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
	if (!router_tell(router, peer, &head))
		return false;
	if (end == NULL) {
		peer->sent_objects++;
		peer->bytes_since += BUS_HEAD_SIZE + router->body.len;
	}
	outbox_told(peer->outbox, item);
	return true;
}

bool router_has_news(const struct router *router)
{
	for (const struct connection *peer = router->peers; peer != NULL; peer = peer->hh.next) {
		const struct outbox_item *item = outbox_first(peer->outbox);

		if (item != NULL && !peer->gone && (has_credit(router, peer) || outbox_item_end(item) != NULL))
			return true;
	}
	return false;
}

void router_flush(struct router *router)
{
	struct connection *peer;
	struct connection *next;
	bool lost = false;

	HASH_ITER(hh, router->peers, peer, next) {
		while (tell_next(router, peer))
			;
		lost = lost || peer->gone;
	}
	if (lost)
		router_reap(router);
}

bool connection_silent(const struct router *router, const struct connection *peer)
{
	return router_now(router) > peer->heard_ms + PEER_SILENT_MS;
}

void router_forget_silent(struct router *router)
{
	struct connection *peer;
	struct connection *next;

	HASH_ITER(hh, router->peers, peer, next) {
		const struct bus_head heard = {.session = peer->session};

		if (!connection_silent(router, peer) || router_now(router) < peer->probe_ms)
			continue;
		peer->gone = unread(peer) == 0 || router_who(router, peer->id, peer->id_len, &heard) < 0;
		peer->probe_ms = router_now(router) + PEER_SILENT_MS;
	}
	router_reap(router);
}

/* ---- assignments ------------------------------------------------------------------------------------------------ */

bool role_concerned(enum bus_role role, const struct cache_entry *entry)
{
	return role == BUS_ROLE_RECONCILER || cache_entry_kind(entry) == KIND_FRAMEWORK;
}

/* Queues the full state of the shards, and that it is full. */
static void put_snapshot(struct router *router, struct connection *peer, const struct shard_set *fresh)
{
	struct bus_snapshot_end end = {.shards = *fresh};

	if (shard_set_empty(fresh))
		return;
	for (uint32_t r = 0; r < router->options.shards.shard_count; r++) {
		if (!shard_set_has(fresh, r))
			continue;
		for (struct cache_entry *entry = cache_first(router->cache, r); entry != NULL;
		     entry = cache_next(entry))
			if (role_concerned(peer->role, entry))
				outbox_put(peer->outbox, entry);
	}
	cache_put_scopes(router->cache, &end);
	outbox_put_end(peer->outbox, &end);
}

static void assign(struct router *router, struct connection *peer, uint64_t version, const struct shard_set *shards,
		   const struct shard_set *fresh)
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
		dropped.bits[i] = peer->shards.bits[i] & ~shards->bits[i];
	outbox_drop_shards(peer->outbox, &dropped);
	for (uint32_t r = 0; peer->role == BUS_ROLE_RECONCILER && r < router->options.shards.shard_count; r++) {
		if (shard_set_has(shards, r))
			router->owners[r] = peer;
		else if (router->owners[r] == peer)
			router->owners[r] = NULL;
	}
	peer->shards = *shards;
	peer->told_version = version;
	peer->told_all = true;
	buf_clear(&router->body);
	bus_assign_write(&router->body, &body);
	router->counters.assigns++;
	if (router_tell(router, peer, &head))
		put_snapshot(router, peer, fresh);
}

void router_relisted(struct router *router)
{
	struct connection *peer;
	struct connection *next;

	HASH_ITER(hh, router->peers, peer, next)
		if (!peer->gone && peer->role == BUS_ROLE_RECONCILER && !shard_set_empty(&peer->shards))
			assign(router, peer, peer->told_version, &peer->shards, &peer->shards);
	router_reap(router);
}

static void update_peer(struct router *router, struct connection *peer)
{
	struct shard_set all = {0};
	struct shard_set fresh;

	if (peer->role == BUS_ROLE_BARRIER) {
		if (peer->told_version != 0)
			return;
		for (uint32_t r = 0; r < router->options.shards.shard_count; r++)
			shard_set_add(&all, r);
		assign(router, peer, 1, &all, &all);
		return;
	}
	if (peer->told_version == shard_member_version(peer->member) || shard_member_version(peer->member) == 0)
		return;
	shard_member_take_fresh(peer->member, &fresh);
	log_v(1, "%s: assignment %llu: %u shards, %u of them fresh", peer->name,
	      (unsigned long long)shard_member_version(peer->member),
	      shard_set_count(shard_member_shards(peer->member)), shard_set_count(&fresh));
	assign(router, peer, shard_member_version(peer->member), shard_member_shards(peer->member),
	       peer->told_all ? &fresh : shard_member_shards(peer->member));
}

void router_update(struct router *router)
{
	struct connection *peer;
	struct connection *next;

	if (!router->synced)
		return;
	shard_table_update(router->shards, router_now(router));
	HASH_ITER(hh, router->peers, peer, next)
		if (!peer->gone && !peer->left)
			update_peer(router, peer);
	router_reap(router);
}
