/* The observed objects, by key (ARCHITECTURE.md §4.3); see reconciler.h. This file finds the Framework of each object;
 * the core (sync/observe.c) decides which version of an object replaces another one. */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "reconciler/reconciler.h"

struct item *store_item(struct reconciler *reconciler, const char *ns, const char *name, uint32_t shard)
{
	cleanup_free char *key = mem_printf("%s/%s", ns, name);
	struct item *item;

	HASH_FIND_STR(reconciler->items, key, item);
	if (item != NULL) {
		rest_begin(item);
		return item;
	}
	item = mem_calloc(1, sizeof(*item));
	item->reconciler = reconciler;
	item->key = key;
	key = NULL;
	item->shard = shard;
	item->framework = framework_new(ns, name);
	item->framework->writer = reconciler->writer;
	item->framework->kueue.on = reconciler->config.kueue;
	HASH_ADD_KEYPTR(hh, reconciler->items, item->key, strlen(item->key), item);
	rest_begin(item);
	return item;
}

static void item_free(struct item *item)
{
	queue_remove(item);
	rest_end(item);
	framework_free(item_framework(item));
	free(item->key);
	free(item->read_uid);
	free(item->held);
	free(item);
}

static bool item_empty(const struct item *item)
{
	const struct framework *framework = item->framework;
	const struct slot *slot;

	if (item->folded != NULL || framework->exists || item->calls_on_way > 0 || item->writing ||
	    framework->config_map.meta != NULL || framework->owned[SLOT_WORKLOAD - SLOT_SERVICE].meta != NULL)
		return false;
	for (slot = framework->slots; slot != NULL; slot = slot->hh.next)
		if (slot->meta != NULL)
			return false;
	return true;
}

/* Until when the server has asked not to be asked (Retry-After); the boot clock. */
static int64_t item_asked_ms(const struct item *item)
{
	int64_t asked_ms = item->writes.asked_ms;

	if (item->framework->creates.asked_ms > asked_ms)
		asked_ms = item->framework->creates.asked_ms;
	if (item->framework->config_map_creates.asked_ms > asked_ms)
		asked_ms = item->framework->config_map_creates.asked_ms;
	if (item->framework->others.asked_ms > asked_ms)
		asked_ms = item->framework->others.asked_ms;
	if (item->framework->owned_calls.asked_ms > asked_ms)
		asked_ms = item->framework->owned_calls.asked_ms;
	return asked_ms;
}

static void release_empty(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;
	int64_t asked_ms = item_asked_ms(item);

	if (asked_ms > reconciler->ports.boot_ms(reconciler->ports.context)) {
		queue_wake(item, asked_ms); /* a stream that lags may show it again, or a namesake come */
		return;
	}
	HASH_DEL(reconciler->items, item);
	item_free(item);
}

void store_release(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;

	if (!item->orphan) {
		if (item_empty(item) && shard_set_has(&reconciler->ready, item->shard))
			release_empty(item);
		return;
	}
	if (item->calls_on_way > 0 || item->writing)
		return;
	DL_DELETE2(reconciler->orphans, item, prev_orphan, next_orphan);
	item_free(item);
}

/* ---- what the watcher shows ---- */

static struct slot *workload_of(struct item *item)
{
	return &item->framework->owned[SLOT_WORKLOAD - SLOT_SERVICE];
}

static void note_seen(struct item *item, const char *name, enum object_kind kind)
{
	struct slot *slot;

	if (kind == KIND_FRAMEWORK) {
		item->unseen = false;
	} else if (kind == KIND_CONFIG_MAP) {
		item->framework->config_map.unseen = false;
	} else if (kind == KIND_WORKLOAD) {
		workload_of(item)->unseen = false;
	} else {
		HASH_FIND_STR(item->framework->slots, name, slot);
		if (slot != NULL)
			slot->unseen = false;
	}
}

/* The object goes to the item of its Framework; an object older than the known one causes no reconcile. */
static void store_kept(struct reconciler *reconciler, const struct object_meta *meta, uint32_t shard,
		       struct config_map *config_map, struct pod *pod)
{
	struct item *item;
	bool news;

	if (meta->framework_name[0] == '\0') { /* the watcher shows none without a label */
		config_map_free(config_map);
		pod_free(pod);
		return;
	}
	item = store_item(reconciler, meta->ns, meta->framework_name, shard);
	note_seen(item, meta->name, config_map != NULL ? KIND_CONFIG_MAP : KIND_POD);
	news = config_map != NULL ? framework_observe_config_map(item->framework, config_map)
				  : framework_observe_pod(item->framework, pod);
	if (news)
		queue_add(item);
}

/* Whether the write that is on its way settles the event: the event shows the written status, or the reason why the
 * write will be refused. */
static bool awaits_write(const struct item *item, const struct object_identity *identity)
{
	const struct framework *framework = item->framework;

	return item->writing && shard_set_has(&item->reconciler->ready, item->shard) && framework->exists &&
	       strcmp(framework->uid, identity->uid) == 0 && framework->generation == identity->generation &&
	       framework->deletion_time == identity->deletion_time;
}

/* Most events of a Framework show status writes of our own. After the answer they are no news; before it, they wait for
 * it. Either way they end here, before spec and status are read. */
static bool is_own_write(struct reconciler *reconciler, const char *text, size_t len)
{
	struct object_identity identity;
	struct item *item;
	bool known;
	bool waits;

	if (!object_identity_read(text, len, &identity))
		return false;
	version_mark_note(&reconciler->seen, identity.resource_version,
			  reconciler->ports.boot_ms(reconciler->ports.context));
	HASH_FIND_STR(reconciler->items, identity.key, item);
	if (item != NULL && item->folded != NULL)
		rest_begin(item);
	known = item != NULL && framework_has_seen(item->framework, identity.resource_version);
	waits = item != NULL && !known && awaits_write(item, &identity);
	if (known || waits)
		note_seen(item, NULL, KIND_FRAMEWORK);
	if (waits) {
		free(item->held);
		item->held = mem_strndup(text, len);
	}
	object_identity_free(&identity);
	return known || waits;
}

/* The Framework is known not to exist at that version. */
static void drop_held(struct item *item, const char *version)
{
	struct object_identity identity;

	if (item->held == NULL || !object_identity_read(item->held, strlen(item->held), &identity))
		return;
	if (version_compare(identity.resource_version, version) <= 0) {
		free(item->held);
		item->held = NULL;
	}
	object_identity_free(&identity);
}

void store_held(struct item *item)
{
	cleanup_free char *text = item->held;
	const struct request_backoff writes = item->writes;
	bool unseen = item->unseen;

	item->held = NULL;
	if (text == NULL)
		return;
	store_text(item->reconciler, KIND_FRAMEWORK, item->shard, text, strlen(text));
	/* it is older than the answer, and than a snapshot that has begun since */
	item->writes = writes;
	item->unseen = unseen;
}

static void store_workload(struct reconciler *reconciler, struct workload *workload, uint32_t shard)
{
	struct item *item;

	if (workload->meta.framework_name[0] == '\0') {
		workload_free(workload);
		return;
	}
	item = store_item(reconciler, workload->meta.ns, workload->meta.framework_name, shard);
	note_seen(item, NULL, KIND_WORKLOAD);
	if (framework_observe_workload(item->framework, workload))
		queue_add(item);
	store_release(item);
}

bool store_text(struct reconciler *reconciler, enum object_kind kind, uint32_t shard, const char *text, size_t len)
{
	struct config_map *config_map = NULL;
	struct workload *workload = NULL;
	struct pod *pod = NULL;
	struct object_parts parts;
	struct item *item;
	struct error err;

	if (kind == KIND_POD) {
		pod = pod_read(text, len, &err);
		if (pod != NULL)
			store_kept(reconciler, &pod->meta, shard, NULL, pod);
	} else if (kind == KIND_CONFIG_MAP) {
		config_map = config_map_read(text, len, &err);
		if (config_map != NULL)
			store_kept(reconciler, &config_map->meta, shard, config_map, NULL);
	} else if (kind == KIND_WORKLOAD) {
		workload = workload_read(text, len, &err);
		if (workload != NULL) {
			store_workload(reconciler, workload, shard);
			return true;
		}
	} else if (is_own_write(reconciler, text, len)) {
		return true;
	} else if (object_parts_read(text, len, &parts, &err) == 0) {
		item = store_item(reconciler, parts.meta.ns, parts.meta.name, shard);
		note_seen(item, parts.meta.name, kind);
		if (framework_observe(item->framework, &parts, OBSERVED_EVENT)) {
			if (!item->conflicted) /* other clients that write without end must not make us do so */
				backoff_reset(&item->writes);
			queue_add(item);
		}
		object_meta_free(&parts.meta);
		return true;
	}
	if (pod != NULL || config_map != NULL)
		return true;
	log_error("cannot read a %s from the watcher; it is ignored: %s", object_kind_name(kind), err.message);
	return false;
}

void store_absent(struct reconciler *reconciler, enum object_kind kind, uint32_t shard, const struct bus_absent *absent)
{
	struct item *item = store_item(reconciler, absent->ns, absent->framework_name, shard);
	struct framework *framework = item->framework;

	if (kind == KIND_FRAMEWORK) {
		drop_held(item, absent->resource_version);
		/* Where another uid had the name at that version, or several had it one after the other until then (uid
		 * ""), the one we know had gone before, unless it is newer: a GET may have shown it. */
		if (framework->exists && (strcmp(framework->uid, absent->uid) == 0 ||
					  version_compare(framework->resource_version, absent->resource_version) < 0))
			framework_observe_absent(framework, absent->resource_version);
		if (!framework->exists && version_compare(absent->resource_version, framework->gone_version) > 0)
			mem_replace(&framework->gone_version, absent->resource_version);
	} else {
		framework_observe_gone(framework, kind, absent->name, absent->uid, absent->resource_version,
				       absent->deleting);
	}
	if (!item_empty(item))
		queue_add(item);
	store_release(item);
}

/* ---- snapshots ---- */

void store_granted(struct reconciler *reconciler, const struct shard_set *shards)
{
	struct item *item;
	struct item *next;

	shard_set_remove_all(&reconciler->ready, shards);
	HASH_ITER(hh, reconciler->items, item, next) {
		if (!shard_set_has(shards, item->shard))
			continue;
		item->unseen = true;
		if (item->folded != NULL) {
			item->unseen_due = true;
			continue;
		}
		rest_begin(item);
		framework_set_unseen(item->framework);
	}
}

/* Whether there is an object in it, or may be one in the answer to a call. */
static bool slot_known(const struct slot *slot)
{
	return slot->meta != NULL || slot->call != CALL_NONE;
}

/* Objects that the snapshot did not contain do not exist at its version; objects seen at a newer version stay. */
static void drop_unseen(struct item *item, const struct bus_scope *scope)
{
	struct framework *framework = item_framework(item);
	struct slot *slot;
	struct slot *next;

	if (item->unseen || framework->config_map.unseen)
		rest_begin(item);
	if (item->unseen)
		drop_held(item, scope->resource_version[KIND_FRAMEWORK]);
	if (item->unseen && framework->exists &&
	    version_compare(framework->resource_version, scope->resource_version[KIND_FRAMEWORK]) <= 0)
		framework_observe_absent(framework, scope->resource_version[KIND_FRAMEWORK]);
	item->unseen = false;
	if (framework->config_map.unseen && slot_known(&framework->config_map))
		framework_observe_gone(framework, KIND_CONFIG_MAP, framework->config_map.name, "",
				       scope->resource_version[KIND_CONFIG_MAP], false);
	framework->config_map.unseen = false;
	if (workload_of(item)->unseen && slot_known(workload_of(item)))
		workload_of(item)->known = SLOT_IN_DOUBT; /* they are in no complete snapshot */
	workload_of(item)->unseen = false;
	HASH_ITER(hh, framework->slots, slot, next) {
		if (slot->unseen && slot_known(slot))
			framework_observe_gone(framework, KIND_POD, slot->name, "", scope->resource_version[KIND_POD],
					       false);
		slot->unseen = false;
	}
}

/* It is no longer ours: calls that were sent end, nothing else happens. */
static void abandon(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;

	HASH_DEL(reconciler->items, item);
	queue_remove(item);
	rest_end(item);
	waiting_abandon(item);
	item->orphan = true;
	DL_PREPEND2(reconciler->orphans, item, prev_orphan, next_orphan);
	store_release(item);
}

void store_complete(struct reconciler *reconciler, const struct bus_snapshot_end *end)
{
	struct item *item;
	struct item *next;

	shard_set_add_all(&reconciler->ready, &end->shards);
	HASH_ITER(hh, reconciler->items, item, next) {
		cleanup_free char *ns = NULL;
		const struct bus_scope *scope;

		if (!shard_set_has(&end->shards, item->shard))
			continue;
		ns = mem_strndup(item->key, strcspn(item->key, "/"));
		scope = bus_snapshot_end_scope(end, ns);
		if (scope == NULL) { /* a new watcher looks after fewer namespaces: nothing can be concluded */
			abandon(item);
			continue;
		}
		if (item->folded != NULL && !item->unseen && !item->unseen_due) { /* all of it was seen */
			item->fence_due = true;
		} else {
			drop_unseen(item, scope);
			framework_fence(item_framework(item));
		}
		queue_add(item);
		store_release(item);
	}
}

bool store_went_back(const struct reconciler *reconciler, const struct bus_snapshot_end *end, const char **found,
		     const char **known)
{
	*found = "";
	*known = version_mark_settled(&reconciler->seen, reconciler->ports.boot_ms(reconciler->ports.context));
	for (size_t i = 0; i < end->scope_count; i++)
		if (version_compare(end->scopes[i].resource_version[KIND_FRAMEWORK], *found) > 0)
			*found = end->scopes[i].resource_version[KIND_FRAMEWORK];
	return version_compare(*found, *known) < 0;
}

void store_revoked(struct reconciler *reconciler, const struct shard_set *shards)
{
	struct item *item;
	struct item *next;

	shard_set_remove_all(&reconciler->ready, shards);
	HASH_ITER(hh, reconciler->items, item, next) {
		if (shard_set_has(shards, item->shard))
			abandon(item);
	}
}

void store_draining(const struct reconciler *reconciler, struct shard_set *out)
{
	for (const struct item *item = reconciler->orphans; item != NULL; item = item->next_orphan)
		shard_set_add(out, item->shard);
}

/* The time of a status write says nothing about one that begins so long after its answer. */
enum { WRITES_FORGET_MS = 10 * 1000 };

struct sync_time store_time(const struct reconciler *reconciler)
{
	int64_t boot_ms = reconciler->ports.boot_ms(reconciler->ports.context);

	return (struct sync_time){
		.wall_ms = reconciler->ports.wall_ms(reconciler->ports.context),
		.boot_ms = boot_ms,
		.write_ms = boot_ms - reconciler->written_ms <= WRITES_FORGET_MS ? (int64_t)reconciler->write_ms : 0,
		.live = reconciler->live,
		.live_since_ms = reconciler->live_since_ms,
	};
}

void store_set_live(struct reconciler *reconciler, bool live)
{
	if (live && !reconciler->live)
		reconciler->live_since_ms = reconciler->ports.boot_ms(reconciler->ports.context);
	reconciler->live = live;
}

void store_free(struct reconciler *reconciler)
{
	struct item *item;
	struct item *next;

	HASH_ITER(hh, reconciler->items, item, next) {
		HASH_DEL(reconciler->items, item);
		item_free(item);
	}
	while (reconciler->orphans != NULL) {
		item = reconciler->orphans;
		reconciler->orphans = item->next_orphan;
		item_free(item);
	}
	queue_free(reconciler);
}
