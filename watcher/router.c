/* The watcher's side of the bus; see router.h. */
#include "watcher/router.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "watcher/outbox.h"

#define uthash_malloc(size) mem_alloc(size)
#define uthash_free(pointer, size) free(pointer)
#include <uthash.h>

enum {
	PEERS_MAX = 2048,
	WINDOW_MAX = 65536,
	ID_MAX = 255,           /* of a ZeroMQ routing id */
	PEER_SILENT_MS = 30000, /* a connection that says nothing for this long is forgotten */
};

/* One connection that said HELLO. */
struct peer {
	char name[64];
	char uuid[40];
	enum bus_role role;
	struct shard_member *member; /* reconcilers only */
	uint32_t session;            /* of its last HELLO */
	uint64_t heard_sequence;
	uint64_t sent_sequence;
	int64_t heard_ms;
	uint64_t told_version; /* of the assignment last sent; 0: none yet in this session */
	bool told_all;         /* the present session's first assignment was sent: the rest are differences */
	struct range_set ranges;
	uint32_t window;
	uint64_t sent_objects; /* UPDATE and ABSENT in this session */
	uint64_t consumed;
	uint32_t backlog;
	struct outbox *outbox;
	bool gone; /* sending failed: freed at the next safe point */
	UT_hash_handle hh;
	size_t id_len;
	unsigned char id[];
};

struct router {
	struct router_ports ports;
	struct router_options options;
	uint64_t epoch;
	struct cache *cache;
	struct shard_table *shards;
	struct peer *peers;                 /* uthash head, by routing id */
	struct peer *owners[BUS_RANGE_MAX]; /* whom changes in a range are told */
	bool synced;
	bool live;
	struct buf body; /* scratch */
	struct router_counters counters;
};

struct router *router_new(const struct router_ports *ports, const struct router_options *options)
{
	struct router *router = mem_calloc(1, sizeof(*router));

	router->ports = *ports;
	router->options = *options;
	router->epoch = options->epoch;
	router->shards = shard_table_new(&options->shards, ports->now_ms(ports->arg));
	return router;
}

void router_set_cache(struct router *router, struct cache *cache)
{
	router->cache = cache;
}

static int64_t now(const struct router *router)
{
	return router->ports.now_ms(router->ports.arg);
}

/* ---- peers ------------------------------------------------------------------------------------------------------ */

static struct peer *peer_find(const struct router *router, const unsigned char *id, size_t id_len)
{
	struct peer *peer;

	HASH_FIND(hh, router->peers, id, id_len, peer);
	return peer;
}

static struct peer *peer_add(struct router *router, const unsigned char *id, size_t id_len)
{
	struct peer *peer;

	if (id_len > ID_MAX || HASH_COUNT(router->peers) >= PEERS_MAX)
		return NULL;
	peer = mem_calloc(1, sizeof(*peer) + id_len);
	peer->id_len = id_len;
	memcpy(peer->id, id, id_len);
	peer->outbox = outbox_new(router->cache);
	HASH_ADD_KEYPTR(hh, router->peers, peer->id, peer->id_len, peer);
	return peer;
}

static void peer_disown(struct router *router, const struct peer *peer)
{
	for (uint32_t r = 0; r < router->options.shards.shards; r++)
		if (router->owners[r] == peer)
			router->owners[r] = NULL;
}

static void peer_remove(struct router *router, struct peer *peer)
{
	peer_disown(router, peer);
	if (peer->member != NULL)
		shard_member_use(peer->member, false);
	outbox_free(peer->outbox);
	HASH_DEL(router->peers, peer);
	free(peer);
}

void router_free(struct router *router)
{
	struct peer *peer;
	struct peer *next;

	if (router == NULL)
		return;
	HASH_ITER(hh, router->peers, peer, next)
	peer_remove(router, peer);
	shard_table_free(router->shards);
	buf_free(&router->body);
	free(router);
}

/* Removes the peers that could not be sent to. Only where no caller holds on to one. */
static void reap(struct router *router)
{
	struct peer *peer;
	struct peer *next;

	HASH_ITER(hh, router->peers, peer, next)
	{
		if (!peer->gone)
			continue;
		router->counters.peers_lost++;
		log_info("lost the connection to %s", peer->name);
		peer_remove(router, peer);
	}
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

/* Answers someone who is no peer: belongs to no session, so it has no sequence. */
static void reply(struct router *router, const unsigned char *id, size_t id_len, enum bus_type type, uint32_t session,
		  const struct buf *body)
{
	const struct bus_head head = {.type = (uint8_t)type, .epoch = router->epoch, .session = session};

	router->ports.send(router->ports.arg, id, id_len, &head, body == NULL ? "" : body->data,
			   body == NULL ? 0 : body->len);
}

static void who(struct router *router, const unsigned char *id, size_t id_len, uint32_t session)
{
	router->counters.whos++;
	reply(router, id, id_len, BUS_WHO, session, NULL);
}

static void refuse(struct router *router, const unsigned char *id, size_t id_len, uint32_t session, bool final,
		   const char *reason)
{
	struct bus_refuse refusal = {.final = final};

	strncpy(refusal.reason, reason, sizeof(refusal.reason) - 1);
	buf_clear(&router->body);
	bus_refuse_write(&router->body, &refusal);
	reply(router, id, id_len, BUS_REFUSE, session, &router->body);
}

/* Sends a head with router->body. */
static bool tell(struct router *router, struct peer *peer, struct bus_head *head)
{
	if (peer->gone)
		return false;
	head->epoch = router->epoch;
	head->session = peer->session;
	head->sequence = ++peer->sent_sequence;
	if (router->ports.send(router->ports.arg, peer->id, peer->id_len, head, router->body.data, router->body.len) <
	    0) {
		peer->gone = true;
		return false;
	}
	return true;
}

static bool has_credit(const struct peer *peer)
{
	return peer->sent_objects - peer->consumed < peer->window;
}

/* Tells the first thing in the outbox; false when nothing more can be told now. */
static bool tell_next(struct router *router, struct peer *peer)
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
	absent = outbox_item_absent(item, &kind, &head.range);
	entry = outbox_item_entry(item);
	if (end == NULL && !has_credit(peer))
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
		head.range = cache_entry_range(entry);
		cache_entry_write(&router->body, entry);
		router->counters.updates++;
	}
	if (!tell(router, peer, &head))
		return false;
	if (end == NULL)
		peer->sent_objects++;
	outbox_told(peer->outbox, item);
	return true;
}

void router_flush(struct router *router)
{
	struct peer *peer;
	struct peer *next;
	bool lost = false;

	HASH_ITER(hh, router->peers, peer, next)
	{
		while (tell_next(router, peer))
			;
		lost = lost || peer->gone;
	}
	if (lost)
		reap(router);
}

/* ---- assignments ------------------------------------------------------------------------------------------------ */

static bool concerns(enum bus_role role, const struct cache_entry *entry)
{
	return role == BUS_ROLE_RECONCILER || cache_entry_kind(entry) == KIND_FRAMEWORK;
}

/* Queues the full state of the ranges, and that it is full. */
static void put_snapshot(struct router *router, struct peer *peer, const struct range_set *fresh)
{
	struct bus_snapshot_end end = {.ranges = *fresh};

	if (range_set_empty(fresh))
		return;
	for (uint32_t r = 0; r < router->options.shards.shards; r++) {
		if (!range_set_has(fresh, r))
			continue;
		for (struct cache_entry *entry = cache_first(router->cache, r); entry != NULL;
		     entry = cache_next(entry))
			if (concerns(peer->role, entry))
				outbox_put(peer->outbox, entry);
	}
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		end.resource_version[kind] = mem_strdup(cache_version(router->cache, (enum object_kind)kind));
	outbox_put_end(peer->outbox, &end);
}

static void assign(struct router *router, struct peer *peer, uint64_t version, const struct range_set *ranges,
		   const struct range_set *fresh)
{
	struct bus_assign body = {
		.shards = router->options.shards.shards,
		.ranges = *ranges,
		.fresh = *fresh,
		.lease_ms = router->options.shards.lease_ms,
	};
	struct bus_head head = {.type = BUS_ASSIGN, .version = version};
	struct range_set dropped;

	for (size_t i = 0; i < ARRAY_LEN(dropped.bits); i++)
		dropped.bits[i] = peer->ranges.bits[i] & ~ranges->bits[i];
	outbox_drop_ranges(peer->outbox, &dropped);
	for (uint32_t r = 0; peer->role == BUS_ROLE_RECONCILER && r < router->options.shards.shards; r++) {
		if (range_set_has(ranges, r))
			router->owners[r] = peer;
		else if (router->owners[r] == peer)
			router->owners[r] = NULL;
	}
	peer->ranges = *ranges;
	peer->told_version = version;
	peer->told_all = true;
	memcpy(body.nonce, router->options.nonce, sizeof(body.nonce));
	buf_clear(&router->body);
	bus_assign_write(&router->body, &body);
	router->counters.assigns++;
	if (tell(router, peer, &head))
		put_snapshot(router, peer, fresh);
}

static void update_peer(struct router *router, struct peer *peer)
{
	struct range_set all = {0};
	struct range_set fresh;

	if (peer->role == BUS_ROLE_BARRIER) {
		if (peer->told_version != 0)
			return;
		for (uint32_t r = 0; r < router->options.shards.shards; r++)
			range_set_add(&all, r);
		assign(router, peer, 1, &all, &all);
		return;
	}
	if (peer->told_version == shard_member_version(peer->member) || shard_member_version(peer->member) == 0)
		return;
	shard_member_take_fresh(peer->member, &fresh);
	log_v(1, "%s: assignment %llu: %u ranges, %u of them fresh", peer->name,
	      (unsigned long long)shard_member_version(peer->member),
	      range_set_count(shard_member_ranges(peer->member)), range_set_count(&fresh));
	assign(router, peer, shard_member_version(peer->member), shard_member_ranges(peer->member),
	       peer->told_all ? &fresh : shard_member_ranges(peer->member));
}

/* Brings the table up to date and tells those whose assignment changed. */
static void update(struct router *router)
{
	struct peer *peer;
	struct peer *next;

	if (!router->synced)
		return;
	shard_table_update(router->shards, now(router));
	HASH_ITER(hh, router->peers, peer, next)
	if (!peer->gone)
		update_peer(router, peer);
	reap(router);
}

/* ---- receiving -------------------------------------------------------------------------------------------------- */

/* A connection that speaks for the same process or name as a new one is no longer in use. */
static void remove_others_of(struct router *router, const struct peer *keep)
{
	struct peer *peer;
	struct peer *next;

	HASH_ITER(hh, router->peers, peer, next)
	{
		if (peer == keep || peer->member == NULL || peer->member != keep->member)
			continue;
		peer_remove(router, peer);
		shard_member_use(keep->member, true);
	}
}

/* A member that was granted ranges by a leader of our epoch or a later one: ours must be newer still. */
static void raise_epoch(struct router *router, uint64_t heard)
{
	struct peer *peer;
	struct peer *next;

	if (heard < router->epoch)
		return;
	router->epoch = heard + 1;
	log_info("a peer knows epoch %llu: this leader's is %llu now", (unsigned long long)heard,
		 (unsigned long long)router->epoch);
	HASH_ITER(hh, router->peers, peer, next)
	peer->told_version = 0; /* assignments name the epoch */
}

static enum shard_answer join(struct router *router, const struct bus_hello *hello, struct shard_member **member)
{
	bool ours = strcmp(hello->nonce, router->options.nonce) == 0;

	if (!ours)
		raise_epoch(router, hello->held_epoch);
	return shard_table_hello(router->shards, hello->name, hello->uuid, ours ? NULL : &hello->held, now(router),
				 member);
}

/* false: refused. */
static bool admit(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *head,
		  const struct bus_hello *hello, struct shard_member **member)
{
	*member = NULL;
	if (hello->role != BUS_ROLE_RECONCILER)
		return true;
	if (router->options.accept != NULL && !router->options.accept(router->options.accept_arg, hello->name)) {
		router->counters.refused++;
		refuse(router, id, id_len, head->session, true, "this watcher runs reconcilers of its own (--workers)");
		return false;
	}
	switch (join(router, hello, member)) {
	case SHARD_JOINED: return true;
	case SHARD_BUSY:
		router->counters.busy++;
		refuse(router, id, id_len, head->session, false,
		       "another process has this name, and its lease may still run");
		return false;
	case SHARD_REPLACED:
		router->counters.refused++;
		refuse(router, id, id_len, head->session, true, "another process has taken over this name");
		return false;
	case SHARD_FULL: break;
	}
	router->counters.refused++;
	refuse(router, id, id_len, head->session, false, "too many members");
	return false;
}

static void on_hello(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *head,
		     const char *body, size_t body_len)
{
	struct peer *peer = peer_find(router, id, id_len);
	struct shard_member *member;
	struct bus_hello hello;
	struct error err;

	router->counters.hellos++;
	if (bus_hello_read(body, body_len, &hello, &err) < 0) {
		router->counters.malformed++;
		log_warning("%s", err.message);
		refuse(router, id, id_len, head->session, true, err.message);
		return;
	}
	if (!admit(router, id, id_len, head, &hello, &member)) {
		log_info("refused %s %s (%s)", hello.role == BUS_ROLE_BARRIER ? "barrier" : "reconciler", hello.name,
			 hello.uuid);
		if (peer != NULL)
			peer_remove(router, peer);
		return;
	}
	if (peer == NULL)
		peer = peer_add(router, id, id_len);
	if (peer == NULL) {
		router->counters.refused++;
		refuse(router, id, id_len, head->session, false, "too many connections");
		return;
	}
	log_v(1, "%s %s (%s) says hello", hello.role == BUS_ROLE_BARRIER ? "barrier" : "reconciler", hello.name,
	      hello.uuid);
	if (peer->member != NULL && peer->member != member)
		shard_member_use(peer->member, false);
	peer_disown(router, peer);
	outbox_clear(peer->outbox);
	memcpy(peer->name, hello.name, sizeof(peer->name));
	memcpy(peer->uuid, hello.uuid, sizeof(peer->uuid));
	peer->role = hello.role;
	peer->member = member;
	peer->session = head->session;
	peer->heard_sequence = head->sequence;
	peer->sent_sequence = 0;
	peer->heard_ms = now(router);
	peer->told_version = 0;
	peer->told_all = false;
	peer->ranges = (struct range_set){0};
	peer->window = hello.window > WINDOW_MAX ? WINDOW_MAX : hello.window;
	peer->sent_objects = 0;
	peer->consumed = 0;
	peer->backlog = 0;
	if (member != NULL) {
		shard_member_use(member, true);
		remove_others_of(router, peer);
	}
	update(router);
}

/* A reconciler's part of the rate: half of it is shared out equally, the other half as the backlogs are. */
static void fill_rate(const struct router *router, const struct peer *peer, struct bus_pong *pong)
{
	double count = 0;
	double backlog = 0;
	double share;

	if (peer->role != BUS_ROLE_RECONCILER)
		return;
	for (const struct peer *other = router->peers; other != NULL; other = other->hh.next) {
		if (other->role != BUS_ROLE_RECONCILER)
			continue;
		count++;
		backlog += other->backlog;
	}
	share = backlog > 0 ? 0.5 / count + 0.5 * peer->backlog / backlog : 1 / count;
	pong->qps = router->options.qps * share;
	pong->burst = (int32_t)(router->options.burst * share);
	if (pong->burst < 1)
		pong->burst = 1;
}

static void on_ping(struct router *router, struct peer *peer, const struct bus_head *head, const char *body,
		    size_t body_len)
{
	struct bus_head answer = {.type = BUS_PONG, .version = head->version, .time_ms = head->time_ms};
	struct bus_pong pong = {.live = router->live && router->synced};
	struct bus_ping ping;
	struct error err;

	router->counters.pings++;
	if (bus_ping_read(body, body_len, &ping, &err) < 0) {
		router->counters.malformed++;
		log_warning("%s: %s", peer->name, err.message);
		return;
	}
	if (ping.consumed > peer->consumed && ping.consumed <= peer->sent_objects)
		peer->consumed = ping.consumed;
	peer->backlog = ping.backlog;
	if (peer->member != NULL) {
		/* versions of another epoch mean nothing here, nor does one that this session was not told */
		uint64_t version = head->epoch == router->epoch && peer->told_all ? head->version : 0;

		pong.renewed = shard_table_ping(router->shards, peer->member, version, &ping.held, &ping.draining,
						peer->heard_ms);
	} else {
		pong.renewed = head->version == peer->told_version && head->version != 0;
	}
	fill_rate(router, peer, &pong);
	buf_clear(&router->body);
	bus_pong_write(&router->body, &pong);
	tell(router, peer, &answer);
	update(router);
}

static void on_bye(struct router *router, struct peer *peer)
{
	log_info("%s leaves", peer->name);
	if (peer->member != NULL)
		shard_table_bye(router->shards, peer->member);
	else
		peer->gone = true;
	update(router);
}

void router_receive(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const char *body,
		    size_t body_len)
{
	struct router *router = arg;
	struct peer *peer;

	if (head->major != BUS_VERSION_MAJOR) {
		cleanup_free char *reason = mem_printf("bus protocol version %u.%u, the watcher speaks %d.%d",
						       head->major, head->minor, BUS_VERSION_MAJOR, BUS_VERSION_MINOR);

		router->counters.refused++;
		refuse(router, id, id_len, head->session, true, reason);
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
	peer = peer_find(router, id, id_len);
	if (peer == NULL || (peer->session == head->session && head->sequence != peer->heard_sequence + 1)) {
		if (peer != NULL)
			router->counters.sequence_gaps++;
		who(router, id, id_len, head->session);
		return;
	}
	if (peer->session != head->session) {
		router->counters.unknown_messages++; /* from before its last HELLO */
		return;
	}
	peer->heard_sequence = head->sequence;
	peer->heard_ms = now(router);
	if (head->type == BUS_PING)
		on_ping(router, peer, head, body, body_len);
	else
		on_bye(router, peer);
}

/* ---- what the watcher sees -------------------------------------------------------------------------------------- */

void router_changed(struct router *router, struct cache_entry *entry)
{
	struct peer *owner = router->owners[cache_entry_range(entry)];

	if (owner != NULL)
		outbox_put(owner->outbox, entry);
	for (struct peer *peer = router->peers; peer != NULL; peer = peer->hh.next)
		if (peer->role == BUS_ROLE_BARRIER && peer->told_all && concerns(peer->role, entry))
			outbox_put(peer->outbox, entry);
}

void router_gone(struct router *router, struct cache_entry *entry, const struct cache_absence *absence)
{
	struct peer *owner = router->owners[absence->range];

	if (owner != NULL)
		outbox_put_absent(owner->outbox, entry, absence);
	for (struct peer *peer = router->peers; peer != NULL; peer = peer->hh.next)
		if (peer->role == BUS_ROLE_BARRIER && peer->told_all && concerns(peer->role, entry))
			outbox_put_absent(peer->outbox, entry, absence);
}

void router_synced(struct router *router)
{
	router->synced = true;
	update(router);
}

void router_set_live(struct router *router, bool live)
{
	router->live = live;
}

void router_expect(struct router *router, const char *name)
{
	shard_table_expect(router->shards, name, now(router));
}

void router_process_dead(struct router *router, const char *name)
{
	struct peer *peer;
	struct peer *next;

	HASH_ITER(hh, router->peers, peer, next)
	if (peer->member != NULL && strcmp(peer->name, name) == 0)
		peer_remove(router, peer);
	shard_table_dead(router->shards, name, now(router));
	update(router);
}

void router_close(struct router *router)
{
	shard_table_close(router->shards);
}

void router_tick(struct router *router)
{
	int64_t silent_since = now(router) - PEER_SILENT_MS;
	struct peer *peer;
	struct peer *next;

	HASH_ITER(hh, router->peers, peer, next)
	if (peer->heard_ms < silent_since)
		peer->gone = true;
	reap(router);
	update(router);
}

const struct router_counters *router_counters(const struct router *router)
{
	return &router->counters;
}

size_t router_peer_count(const struct router *router)
{
	return HASH_COUNT(router->peers);
}

uint64_t router_epoch(const struct router *router)
{
	return router->epoch;
}

size_t router_backlog(const struct router *router)
{
	size_t size = 0;

	for (struct peer *peer = router->peers; peer != NULL; peer = peer->hh.next)
		size += outbox_size(peer->outbox);
	return size;
}

const struct shard_table *router_shards(const struct router *router)
{
	return router->shards;
}
