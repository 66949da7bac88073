/* A world without sockets or clocks for tests of the bus protocol: one router with a cache, any number of peers, and
 * links between them that deliver, delay, lose or cut, one message per step. Time stands still unless a test moves it.
 */
#ifndef TESTS_BUS_WORLD_H
#define TESTS_BUS_WORLD_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/bus/session.h"
#include "tests/unit/cache_objects.h"
#include "watcher/shards/router.h"
#include "watcher/view/cache.h"

enum { WORLD_PEERS = 8, WORLD_SHARDS = 16, WORLD_LEASE = 10000, WORLD_MARGIN = 5000, WORLD_GRACE = 30000 };

struct message {
	struct message *next;
	int64_t due_ms;
	char from[16]; /* of messages to the router: the connection they came by */
	struct bus_head head;
	size_t len;
	char body[];
};

struct queue {
	struct message *first;
	struct message *last;
};

/* What one peer's handler saw. */
struct view_object {
	struct view_object *next;
	enum object_kind kind;
	char key[128];
	uint32_t shard;
	char uid[40];
	char version[24];
};

struct node {
	struct world *world;
	struct session *peer; /* NULL: no process */
	char id[16];          /* of its connection; a new one each time */
	bool connected;
	struct queue up; /* to the router */
	struct queue down;
	/* seen */
	struct shard_set granted; /* granted and not revoked */
	struct shard_set complete;
	struct shard_set draining; /* set by the test */
	struct view_object *objects;
	uint32_t backlog;
	size_t grants, revokes, shown, absences, completes, refusals;
	bool refused_for_good;
	char refusal[256];
	struct bus_absent last_absent; /* strings owned */
	struct bus_snapshot_end last_end;
	double qps;
	int burst;
	bool live;
};

struct world {
	int64_t now_ms;
	struct router *router; /* NULL: no watcher */
	struct cache *cache;
	struct node nodes[WORLD_PEERS];
	int next_id;
	int next_uuid;
	uint64_t version; /* of the cluster's last change */
	double qps;
	int64_t blocked_ms;
	int64_t grace_ms;
	size_t in_flight_max;
	size_t router_refuses_sends; /* so many sends of the router fail */
};

/* ---- links ------------------------------------------------------------------------------------------------------ */

static inline void queue_put(struct queue *queue, const char *from, const struct bus_head *head, const void *body,
			     size_t len, int64_t due_ms)
{
	struct message *message = mem_calloc(1, sizeof(*message) + len + 1);

	message->head = *head;
	message->head.protocol = BUS_PROTOCOL;
	message->len = len;
	message->due_ms = due_ms;
	snprintf(message->from, sizeof(message->from), "%s", from);
	memcpy(message->body, body, len);
	if (queue->last != NULL)
		queue->last->next = message;
	else
		queue->first = message;
	queue->last = message;
}

static inline struct message *queue_take(struct queue *queue)
{
	struct message *message = queue->first;

	if (message == NULL)
		return NULL;
	queue->first = message->next;
	if (queue->first == NULL)
		queue->last = NULL;
	return message;
}

static inline void queue_empty(struct queue *queue)
{
	struct message *message;

	while ((message = queue_take(queue)) != NULL)
		free(message);
}

static inline int64_t world_now(void *arg)
{
	return ((const struct world *)arg)->now_ms;
}

static inline int node_send(void *arg, unsigned watcher, const struct bus_head *head, const void *body, size_t len)
{
	struct node *node = arg;

	(void)watcher; /* there is one */
	if (!node->connected) {
		errno = EAGAIN;
		return -1;
	}
	queue_put(&node->up, node->id, head, body, len, node->world->now_ms);
	return 0;
}

static inline int64_t node_now(void *arg)
{
	return ((const struct node *)arg)->world->now_ms;
}

static inline int router_port_send(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head,
				   const void *body, size_t len)
{
	struct world *world = arg;

	if (world->router_refuses_sends > 0) {
		world->router_refuses_sends--;
		errno = EAGAIN;
		return -1;
	}
	for (size_t i = 0; i < WORLD_PEERS; i++) {
		struct node *node = &world->nodes[i];

		if (node->connected && strlen(node->id) == id_len && memcmp(node->id, id, id_len) == 0) {
			queue_put(&node->down, "", head, body, len, world->now_ms);
			return 0;
		}
	}
	errno = EHOSTUNREACH;
	return -1;
}

static inline void world_disconnect(struct node *node)
{
	node->connected = false;
	queue_empty(&node->up);
	queue_empty(&node->down);
}

static inline void world_connect(struct node *node)
{
	world_disconnect(node);
	snprintf(node->id, sizeof(node->id), "id-%d", ++node->world->next_id);
	node->connected = true;
}

/* ---- what a peer sees ------------------------------------------------------------------------------------------- */

static inline struct view_object *view_find(const struct node *node, enum object_kind kind, const char *key)
{
	struct view_object *object = node->objects;

	while (object != NULL && (object->kind != kind || strcmp(object->key, key) != 0))
		object = object->next;
	return object;
}

static inline size_t view_count(const struct node *node)
{
	size_t count = 0;

	for (const struct view_object *object = node->objects; object != NULL; object = object->next)
		count++;
	return count;
}

/* Forgets the objects of the shards; kind KIND_COUNT: of every kind. */
static inline void view_forget(struct node *node, const struct shard_set *shards)
{
	struct view_object **at = &node->objects;

	while (*at != NULL) {
		struct view_object *object = *at;

		if (shard_set_has(shards, object->shard)) {
			*at = object->next;
			free(object);
		} else {
			at = &object->next;
		}
	}
}

static inline void on_granted(void *arg, const struct shard_set *fresh)
{
	struct node *node = arg;

	node->grants++;
	for (size_t i = 0; i < ARRAY_LEN(fresh->bits); i++) {
		node->granted.bits[i] |= fresh->bits[i];
		node->complete.bits[i] &= ~fresh->bits[i];
	}
	view_forget(node, fresh); /* the full state follows */
}

static inline void on_revoked(void *arg, const struct shard_set *shards)
{
	struct node *node = arg;

	node->revokes++;
	for (size_t i = 0; i < ARRAY_LEN(shards->bits); i++) {
		node->granted.bits[i] &= ~shards->bits[i];
		node->complete.bits[i] &= ~shards->bits[i];
	}
	view_forget(node, shards);
}

static inline bool on_text(void *arg, enum object_kind kind, uint32_t shard, const char *text, size_t len)
{
	struct node *node = arg;
	cleanup_json json_t *json = json_parse(text, len, NULL);
	const json_t *meta = json_object_get(json, "metadata");
	struct view_object *object;
	char key[128];

	if (!json_is_object(json))
		return false;
	node->shown++;
	snprintf(key, sizeof(key), "%s/%s", json_str(meta, "namespace"), json_str(meta, "name"));
	object = view_find(node, kind, key);
	if (object == NULL) {
		object = mem_calloc(1, sizeof(*object));
		object->next = node->objects;
		node->objects = object;
		object->kind = kind;
		snprintf(object->key, sizeof(object->key), "%s", key);
	}
	object->shard = shard;
	snprintf(object->uid, sizeof(object->uid), "%s", json_str(meta, "uid"));
	snprintf(object->version, sizeof(object->version), "%s", json_str(meta, "resourceVersion"));
	return true;
}

static inline void on_absent(void *arg, enum object_kind kind, uint32_t shard, const struct bus_absent *absent)
{
	struct node *node = arg;
	struct view_object **at = &node->objects;
	char key[128];

	(void)shard;
	node->absences++;
	bus_absent_free(&node->last_absent);
	node->last_absent = (struct bus_absent){
		.ns = mem_strdup(absent->ns),
		.name = mem_strdup(absent->name),
		.uid = mem_strdup(absent->uid),
		.resource_version = mem_strdup(absent->resource_version),
		.framework_name = mem_strdup(absent->framework_name),
		.deleting = absent->deleting,
	};
	snprintf(key, sizeof(key), "%s/%s", absent->ns, absent->name);
	while (*at != NULL) {
		struct view_object *object = *at;

		if (object->kind == kind && strcmp(object->key, key) == 0 &&
		    (absent->uid[0] == '\0' || strcmp(object->uid, absent->uid) == 0)) {
			*at = object->next;
			free(object);
			return;
		}
		at = &object->next;
	}
}

static inline void on_complete(void *arg, const struct bus_snapshot_end *end)
{
	struct node *node = arg;

	node->completes++;
	bus_snapshot_end_free(&node->last_end);
	node->last_end.shards = end->shards;
	for (size_t i = 0; i < end->scope_count; i++) {
		struct bus_scope *scope = bus_snapshot_end_add(&node->last_end, end->scopes[i].ns);

		for (size_t kind = 0; kind < KIND_COUNT; kind++)
			scope->resource_version[kind] = mem_strdup(end->scopes[i].resource_version[kind]);
	}
	for (size_t i = 0; i < ARRAY_LEN(end->shards.bits); i++)
		node->complete.bits[i] |= end->shards.bits[i];
}

static inline void on_rate(void *arg, double qps, int burst)
{
	struct node *node = arg;

	node->qps = qps;
	node->burst = burst;
}

static inline void on_live(void *arg, bool live)
{
	((struct node *)arg)->live = live;
}

static inline uint32_t on_backlog(void *arg)
{
	return ((const struct node *)arg)->backlog;
}

static inline void on_draining(void *arg, struct shard_set *out)
{
	*out = ((const struct node *)arg)->draining;
}

static inline void on_refused(void *arg, const char *reason, bool final)
{
	struct node *node = arg;

	node->refusals++;
	node->refused_for_good = node->refused_for_good || final;
	snprintf(node->refusal, sizeof(node->refusal), "%s", reason);
}

static const struct session_handler world_handler = {
	.granted = on_granted,
	.revoked = on_revoked,
	.text = on_text,
	.absent = on_absent,
	.complete = on_complete,
	.rate = on_rate,
	.live = on_live,
	.backlog = on_backlog,
	.draining = on_draining,
	.refused = on_refused,
};

/* ---- processes -------------------------------------------------------------------------------------------------- */

static inline void node_clear(struct node *node)
{
	struct world *world = node->world;
	struct shard_set all;

	memset(&all, 0xFF, sizeof(all));
	view_forget(node, &all);
	bus_absent_free(&node->last_absent);
	bus_snapshot_end_free(&node->last_end);
	*node = (struct node){.world = world};
}

/* The process ends without a word. */
static inline void world_kill(struct world *world, int slot)
{
	struct node *node = &world->nodes[slot];

	world_disconnect(node);
	session_free(node->peer);
	node_clear(node);
}

static inline struct node *world_start(struct world *world, int slot, const char *name, enum bus_role role)
{
	struct node *node = &world->nodes[slot];
	const struct session_ports ports = {.watchers = 1, .send = node_send, .now_ms = node_now, .arg = node};
	char uuid[40];

	snprintf(uuid, sizeof(uuid), "uuid-%d", ++world->next_uuid);
	node->peer = session_new(&ports, role, name, uuid, &world_handler, node);
	world_connect(node);
	return node;
}

static inline void listener_changed(void *arg, struct cache_entry *entry)
{
	router_changed(((struct world *)arg)->router, entry);
}

static inline void listener_gone(void *arg, struct cache_entry *entry, const struct cache_absence *absence)
{
	router_gone(((struct world *)arg)->router, entry, absence);
}

static inline void listener_missed(void *arg, const struct cache_entry *entry)
{
	(void)arg;
	(void)entry;
}

static const struct cache_listener world_listener = {
	.changed = listener_changed, .gone = listener_gone, .missed = listener_missed};

static inline void world_start_watcher(struct world *world, uint64_t epoch)
{
	const struct router_ports ports = {.send = router_port_send, .now_ms = world_now, .arg = world};
	struct router_options options = {
		.shards = {.shard_count = WORLD_SHARDS,
			   .lease_ms = WORLD_LEASE,
			   .margin_ms = WORLD_MARGIN,
			   .grace_ms = world->grace_ms,
			   .former_until_ms = world->blocked_ms > 0 ? world->now_ms + world->blocked_ms : 0},
		.epoch = epoch,
		.in_flight_max = world->in_flight_max,
		.qps = world->qps,
		.burst = 100,
	};

	world->router = router_new(&ports, &options);
	world->cache = cache_new(WORLD_SHARDS, &world_listener, world);
	router_set_cache(world->router, world->cache);
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		cache_list_begin(world->cache, "", (enum object_kind)kind);
		cache_list_end(world->cache, "", (enum object_kind)kind, "1");
	}
}

/* One that leads, has listed everything and watches. */
static inline void world_start_synced(struct world *world)
{
	world_start_watcher(world, 5);
	router_synced(world->router);
	router_set_live(world->router, true);
}

static inline void world_stop_watcher(struct world *world)
{
	router_free(world->router);
	cache_free(world->cache);
	world->router = NULL;
	world->cache = NULL;
	for (size_t i = 0; i < WORLD_PEERS; i++)
		world_disconnect(&world->nodes[i]);
}

static inline struct world *world_new(void)
{
	struct world *world = mem_calloc(1, sizeof(*world));

	world->now_ms = 1000000;
	world->version = 100;
	world->qps = 100;
	world->grace_ms = WORLD_GRACE;
	for (size_t i = 0; i < WORLD_PEERS; i++)
		world->nodes[i].world = world;
	return world;
}

static inline void world_free(struct world *world)
{
	if (world->router != NULL)
		world_stop_watcher(world);
	for (int i = 0; i < WORLD_PEERS; i++)
		world_kill(world, i);
	free(world);
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

/* Delivers the first due message of each queue; whether there was any. */
static inline bool world_deliver(struct world *world)
{
	bool any = false;

	for (size_t i = 0; i < WORLD_PEERS; i++) {
		struct node *node = &world->nodes[i];
		struct message *message;

		if (world->router != NULL && node->up.first != NULL && node->up.first->due_ms <= world->now_ms) {
			message = queue_take(&node->up);
			if (message == NULL)
				abort(); /* for clang's analyser: there was a first one */
			router_receive(world->router, (const unsigned char *)message->from, strlen(message->from),
				       &message->head, message->body, message->len);
			free(message);
			any = true;
		}
		if (node->peer != NULL && node->down.first != NULL && node->down.first->due_ms <= world->now_ms) {
			message = queue_take(&node->down);
			session_receive(node->peer, 0, &message->head, message->body, message->len);
			free(message);
			any = true;
		}
	}
	return any;
}

static inline void world_tick(struct world *world)
{
	if (world->router != NULL) {
		router_tick(world->router);
		router_flush(world->router);
	}
	for (size_t i = 0; i < WORLD_PEERS; i++)
		if (world->nodes[i].peer != NULL)
			session_tick(world->nodes[i].peer);
}

/* Everything that can happen at this moment. */
static inline void world_settle(struct world *world)
{
	for (int round = 0; round < 5000; round++) { /* a queue that was held up can be long */
		bool any = world_deliver(world);

		if (!any) {
			world_tick(world);
			any = world_deliver(world);
		}
		if (world->router != NULL)
			router_flush(world->router);
		if (!any)
			return;
	}
	abort(); /* they never stop talking */
}

static inline void world_run(struct world *world, int64_t ms)
{
	for (int64_t end_ms = world->now_ms + ms; world->now_ms < end_ms;) {
		world->now_ms += end_ms - world->now_ms < 250 ? end_ms - world->now_ms : 250;
		world_settle(world);
	}
}

/* ---- the cluster ------------------------------------------------------------------------------------------------ */

static inline json_t *world_object(struct world *world, enum object_kind kind, const char *framework, const char *name,
				   const char *uid, bool deleting)
{
	json_t *object = json_pack("{s:{s:s,s:s,s:s,s:{s:s}}}", "metadata", "namespace", "ns", "name", name, "uid", uid,
				   "labels", "FC_FRAMEWORK_NAME", framework);
	cleanup_free char *version = mem_printf("%llu", (unsigned long long)++world->version);
	json_t *meta = json_object_get(object, "metadata");

	json_object_set_new(meta, "resourceVersion", json_string(version));
	/* something kept that differs each time, or it would not travel */
	json_object_set_new(meta, "generation", json_integer((json_int_t)world->version));
	json_object_set_new(meta, "managedFields", json_array());
	if (deleting)
		json_object_set_new(meta, "deletionTimestamp", json_string("2024-01-02T03:04:05Z"));
	(void)kind;
	return object;
}

static inline void world_present(struct world *world, enum object_kind kind, const char *framework, const char *name,
				 const char *uid)
{
	cleanup_json json_t *object = world_object(world, kind, framework, name, uid, false);

	if (present_object(world->cache, kind, object, NULL) < 0)
		abort();
	cache_progress(world->cache, "", kind, json_str(json_object_get(object, "metadata"), "resourceVersion"));
}

static inline void world_deleted(struct world *world, enum object_kind kind, const char *framework, const char *name,
				 const char *uid, bool deleting)
{
	cleanup_json json_t *object = world_object(world, kind, framework, name, uid, deleting);

	if (delete_object(world->cache, kind, object, NULL) < 0)
		abort();
	cache_progress(world->cache, "", kind, json_str(json_object_get(object, "metadata"), "resourceVersion"));
}

#endif
