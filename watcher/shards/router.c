/* The watcher's side of the bus: what is heard, and what follows from it; see router.h. */
#include "watcher/shards/router.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "watcher/shards/connections.h"

struct router *router_new(const struct router_ports *ports, const struct router_options *options)
{
	struct router *router = mem_calloc(1, sizeof(*router));

	router->ports = *ports;
	router->options = *options;
	router->shards = shard_table_new(&options->shards);
	return router;
}

void router_set_cache(struct router *router, struct cache *cache)
{
	router->cache = cache;
}

void router_free(struct router *router)
{
	struct connection *peer;
	struct connection *next;

	if (router == NULL)
		return;
	HASH_ITER(hh, router->peers, peer, next)
		connection_remove(router, peer);
	shard_table_free(router->shards);
	buf_free(&router->body);
	free(router);
}

/* ---- receiving -------------------------------------------------------------------------------------------------- */

/* A connection that speaks for the same process or name as a new one is no longer in use. */
static void remove_others_of(struct router *router, const struct connection *keep)
{
	struct connection *peer;
	struct connection *next;

	HASH_ITER(hh, router->peers, peer, next) {
		if (peer == keep || peer->member == NULL || peer->member != keep->member)
			continue;
		connection_leave(router, peer);
		shard_member_use(keep->member, true);
	}
}

/* The former leader may have cut the key space differently: the numbers mean other keys here. Nothing is taken over
 * then; what it granted runs out before anything is granted here (shard_options.former_until_ms). */
static enum shard_answer join(struct router *router, const struct bus_hello *hello, struct shard_member **member)
{
	/* said in this term, so that it is true in it; and this leader knows what it granted itself */
	bool claims = hello->held_epoch < router->options.epoch &&
		      hello->shard_count == router->options.shards.shard_count;

	return shard_table_hello(router->shards, hello->name, hello->uuid, claims ? &hello->held : NULL,
				 router_now(router), member);
}

/* Valid until the next one. */
static const char *epoch_reason(struct router *router, uint64_t known)
{
	snprintf(router->reason, sizeof(router->reason),
		 "it follows a leader of epoch %llu, and this leader's is %llu: it may join when its leases have ended",
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
		return "this watcher runs reconcilers of its own (--workers)";
	}
	switch (join(router, hello, member)) {
	case SHARD_JOINED: return NULL;
	case SHARD_BUSY: router->counters.busy++; return "another process has this name, and its lease may still run";
	case SHARD_FULL: break;
	}
	router->counters.refused++;
	return "too many members";
}

/* It asks again each second. */
static void log_refused(struct router *router, enum bus_role role, const char *name, const char *uuid,
			const char *reason)
{
	cleanup_free char *text = mem_printf("refused %s %s (%s): %s",
					     role == BUS_ROLE_BARRIER ? "barrier" : "reconciler", name, uuid, reason);
	unsigned sum = 0;

	for (const char *at = uuid; *at != '\0'; at++)
		sum += (unsigned char)*at;
	if (log_is_news(&router->refused[sum % ROUTER_REFUSED_KEPT], router_now(router), text))
		log_info("%s", text);
}

static void on_hello(struct router *router, const unsigned char *id, size_t id_len, const struct bus_head *head,
		     const char *body, size_t body_len)
{
	struct connection *peer = connection_find(router, id, id_len);
	struct shard_member *member;
	struct bus_hello hello;
	const char *reason;
	bool final;
	struct error err;

	router->counters.hellos++;
	/* It may have been on its way for longer than a lease, so that others were granted since what it claims. What
	 * is said by one that knows of this term is newer than anything a former leader granted. */
	if (head->epoch < router->options.epoch) {
		router_who(router, id, id_len, head);
		return;
	}
	if (peer != NULL && !connection_may_greet(router, peer)) { /* it comes again when nothing answers */
		router->counters.refused++;
		log_refused(router, peer->role, peer->name, peer->uuid, "it says HELLO too often");
		return;
	}
	if (bus_hello_read(body, body_len, &hello, &err) < 0) {
		router->counters.malformed++;
		log_warning("%s", err.message);
		router_refuse(router, id, id_len, head, true, err.message);
		return;
	}
	/* it came to know another leader, and heeds nothing of this one; what it has not read stays counted */
	if (head->epoch > router->options.epoch) {
		router->counters.refused++;
		reason = epoch_reason(router, head->epoch);
		router_refuse(router, id, id_len, head, false, reason);
		log_refused(router, hello.role, hello.name, hello.uuid, reason);
		return;
	}
	reason = admit(router, &hello, peer != NULL || connection_fits(router, id_len), &member, &final);
	if (reason != NULL) {
		router_refuse(router, id, id_len, head, final, reason);
		log_refused(router, hello.role, hello.name, hello.uuid, reason);
		if (peer != NULL)
			connection_leave(router, peer);
		return;
	}
	if (peer == NULL)
		peer = connection_add(router, id, id_len);
	log_v(1, "%s %s (%s) says hello", hello.role == BUS_ROLE_BARRIER ? "barrier" : "reconciler", hello.name,
	      hello.uuid);
	if (peer->member != NULL && peer->member != member)
		shard_member_use(peer->member, false);
	connection_disown(router, peer);
	outbox_clear(peer->outbox);
	memcpy(peer->name, hello.name, sizeof(peer->name));
	memcpy(peer->uuid, hello.uuid, sizeof(peer->uuid));
	peer->role = hello.role;
	peer->member = member;
	peer->session = head->session;
	peer->heard_sequence = head->sequence;
	peer->sent_sequence = 0;
	peer->heard_ms = router_now(router);
	peer->told_version = 0;
	peer->told_all = false;
	peer->left = false;
	peer->shards = (struct shard_set){0};
	connection_greeted(peer, hello.window);
	peer->backlog = 0;
	if (member != NULL) {
		shard_member_use(member, true);
		remove_others_of(router, peer);
	}
	router_update(router);
}

/* A reconciler's part of the rate: half of it is shared out equally, the other half as the backlogs are. */
static void fill_rate(const struct router *router, const struct connection *peer, struct bus_pong *pong)
{
	double count = 0;
	double backlog = 0;
	double share;

	if (peer->role != BUS_ROLE_RECONCILER)
		return;
	for (const struct connection *other = router->peers; other != NULL; other = other->hh.next) {
		if (other->role != BUS_ROLE_RECONCILER || other->left || connection_silent(router, other))
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

static void on_ping(struct router *router, struct connection *peer, const struct bus_head *head, const char *body,
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
	connection_consumed(peer, ping.consumed, ping.heard > 0);
	peer->backlog = ping.backlog;
	if (peer->member != NULL) {
		/* versions of another epoch mean nothing here, nor does one that this session was not told */
		uint64_t version = head->epoch == router->options.epoch && peer->told_all ? head->version : 0;

		pong.renewed = shard_table_ping(router->shards, peer->member, version, &ping.held, &ping.draining,
						peer->heard_ms);
	} else {
		pong.renewed = head->version == peer->told_version && head->version != 0;
	}
	fill_rate(router, peer, &pong);
	buf_clear(&router->body);
	bus_pong_write(&router->body, &pong);
	router_tell(router, peer, &answer);
	router_update(router);
}

static void on_bye(struct router *router, struct connection *peer)
{
	log_info("%s leaves", peer->name);
	if (peer->member != NULL)
		shard_table_bye(router->shards, peer->member);
	else
		connection_leave(router, peer);
	router_update(router);
}

void router_receive(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const char *body,
		    size_t body_len)
{
	struct router *router = arg;
	struct connection *peer;

	if (head->protocol != BUS_PROTOCOL) {
		cleanup_free char *reason = mem_printf("bus protocol version %u, the watcher speaks %d", head->protocol,
						       BUS_PROTOCOL);

		router->counters.refused++;
		router_refuse(router, id, id_len, head, true, reason);
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
	peer = connection_find(router, id, id_len);
	if (peer == NULL || peer->left) {
		router_who(router, id, id_len, head);
		return;
	}
	if (peer->session != head->session) {
		router->counters.unknown_messages++; /* from before its last HELLO */
		return;
	}
	if (head->sequence != peer->heard_sequence + 1) {
		router->counters.sequence_gaps++;
		router_who(router, id, id_len, head);
		return;
	}
	if (head->epoch > router->options.epoch) {
		router->counters.refused++;
		router_refuse(router, id, id_len, head, false, epoch_reason(router, head->epoch));
		return;
	}
	peer->heard_sequence = head->sequence;
	peer->heard_ms = router_now(router);
	if (head->type == BUS_PING)
		on_ping(router, peer, head, body, body_len);
	else
		on_bye(router, peer);
}

/* ---- what the watcher sees -------------------------------------------------------------------------------------- */

void router_changed(struct router *router, struct cache_entry *entry)
{
	struct connection *owner = router->owners[cache_entry_shard(entry)];

	if (owner != NULL)
		outbox_put(owner->outbox, entry);
	for (struct connection *peer = router->peers; peer != NULL; peer = peer->hh.next)
		if (peer->role == BUS_ROLE_BARRIER && peer->told_all && role_concerned(peer->role, entry))
			outbox_put(peer->outbox, entry);
}

void router_gone(struct router *router, struct cache_entry *entry, const struct cache_absence *absence)
{
	struct connection *owner = router->owners[absence->shard];

	if (owner != NULL)
		outbox_put_absent(owner->outbox, entry, absence);
	for (struct connection *peer = router->peers; peer != NULL; peer = peer->hh.next)
		if (peer->role == BUS_ROLE_BARRIER && peer->told_all && role_concerned(peer->role, entry))
			outbox_put_absent(peer->outbox, entry, absence);
}

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
	struct connection *peer;
	struct connection *next;

	HASH_ITER(hh, router->peers, peer, next)
		if (peer->member != NULL && strcmp(peer->name, name) == 0)
			connection_remove(router, peer);
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

	for (const struct connection *peer = router->peers; peer != NULL; peer = peer->hh.next)
		count += !peer->left;
	return count;
}

uint64_t router_epoch(const struct router *router)
{
	return router->options.epoch;
}

size_t router_backlog(const struct router *router)
{
	size_t size = 0;

	for (struct connection *peer = router->peers; peer != NULL; peer = peer->hh.next)
		size += outbox_size(peer->outbox);
	return size;
}

const struct shard_table *router_shards(const struct router *router)
{
	return router->shards;
}

void router_view_peers(const struct router *router, void (*each)(void *arg, const struct router_peer_view *view),
		       void *arg)
{
	for (const struct connection *peer = router->peers; peer != NULL; peer = peer->hh.next) {
		const struct router_peer_view view = {
			.name = peer->name,
			.uuid = peer->uuid,
			.role = peer->role,
			.heard_ms = peer->heard_ms,
			.backlog = peer->backlog,
			.untold = outbox_size(peer->outbox),
			.in_flight = peer->sent_objects - peer->consumed,
		};

		if (!peer->left)
			each(arg, &view);
	}
}
