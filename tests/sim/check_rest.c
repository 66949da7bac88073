/* What must hold later: what comes late goes soon, and once everything has come to rest, all is as it should be. See
 * check.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barrier/readiness.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "reconciler/sync/fold.h"
#include "reconciler/sync/kueue.h"
#include "tests/objects.h"
#include "tests/sim/check.h"

enum { LETTER_MS = 10 /* those of pings come and go */, ANSWERED_MS = 1500, STRAY_MS = 10 * 1000 };

/* ---- what comes late goes soon ---- */

static const struct member *holder(const struct world *world, const char *ns, const char *name)
{
	for (int i = 0; i < SIM_PROCESSES; i++)
		if (world->members[i].process.alive && may_act(&world->members[i], ns, name))
			return &world->members[i];
	return NULL;
}

/* Whether no attempt has the object, and none can take it over. */
static bool stray(struct world *world, const struct object *object)
{
	struct object *framework = api_framework(world, object->plan);
	const json_t *status;
	const json_t *held;
	const char *uid;

	if (framework == NULL || strcmp(framework->uid, annotation(object->json, "FC_FRAMEWORK_UID")) != 0)
		return true;
	status = status_of(framework);
	held = object->kind == KIND_CONFIG_MAP ? status
					       : find_task(status, annotation(object->json, "FC_TASKROLE_NAME"),
							   atoi(annotation(object->json, "FC_TASK_INDEX")));
	if (!of_attempt(object, status) || over(state_of(status)) || over(state_of(held)) ||
	    (object->kind == KIND_POD && !of_task_attempt(object, held)))
		return true;
	uid = json_str(attempt_of(held), object->kind == KIND_CONFIG_MAP ? "configMapUID" : "podUID");
	return uid != NULL && strcmp(uid, object->uid) != 0;
}

/* Whether everybody is at work who has to see a Framework's object, and to act on it. */
static bool attended(const struct world *world, const struct object *object, const char *framework_name)
{
	const struct member *member = holder(world, object->ns, framework_name);
	struct token_bucket bucket;

	for (int i = 0; i < world->watcher_count; i++)
		if (!world->watchers[i].process.alive || world->watchers[i].process.paused_until_ms > world->now_ms ||
		    !world->watchers[i].synced || !world->watchers[i].live ||
		    !streams_shown(&world->watchers[i], object))
			return false;
	if (member == NULL || member->process.paused_until_ms > world->now_ms)
		return false;
	/* With few places and a low rate the deletion waits for other requests, of which one may be held until its
	 * deadline. */
	if (world->worker_number == SIM_PLACES)
		return true;
	bucket = member->bucket;
	return member->reconciler.waiting_count == 0 &&
	       token_bucket_wait_ms(&bucket, process_now_ms(&member->process)) == 0;
}

static struct item *known(const struct member *member, const char *ns, const char *name)
{
	struct item *item;
	char key[128];

	snprintf(key, sizeof(key), "%s/%s", ns, name);
	HASH_FIND_STR(member->reconciler.items, key, item);
	return item;
}

/* Whether it has to wait before its next request, or for an answer that was asked for before. */
static bool held_up(struct item *item)
{
	int64_t clock_ms = item->reconciler->ports.boot_ms(item->reconciler->ports.context);

	return item->writing || item->calls_on_way > 0 || item->writes.until_ms > clock_ms ||
	       item_framework(item)->creates.until_ms > clock_ms || item_framework(item)->others.until_ms > clock_ms;
}

bool framework_attended(struct world *world, const struct object *framework)
{
	struct item *item;

	for (int i = 0; i < world->watcher_count; i++)
		if (streams_silent(&world->watchers[i]))
			return false;
	for (const struct object *object = world->objects; object != NULL; object = object->next)
		if (object->plan == framework->plan && !attended(world, object, framework->name))
			return false;
	item = known(holder(world, framework->ns, framework->name), framework->ns, framework->name);
	return item != NULL && !held_up(item);
}

/* Whether the reconciler waits to hear, or has to ask again, which Workloads are served. */
static bool asks_for_workloads(const struct reconciler *reconciler)
{
	const struct api_served *beta2 = &reconciler->served[API_WORKLOADS_BETA2];
	const struct api_served *beta1 = &reconciler->served[API_WORKLOADS_BETA1];

	return reconciler->discoveries[API_WORKLOADS_BETA2].asking ||
	       reconciler->discoveries[API_WORKLOADS_BETA1].asking ||
	       (beta2->until_ms != 0 &&
		(beta2->state == SERVED_UNKNOWN || (beta2->state == SERVED_NO && beta1->state != SERVED_YES)));
}

bool framework_knows_workload(struct world *world, const struct object *framework, const char *version)
{
	const struct member *member = holder(world, framework->ns, framework->name);
	struct item *item = known(member, framework->ns, framework->name);
	const struct slot *slot = item == NULL ? NULL : kueue_slot(item_framework(item));

	return slot != NULL && slot->meta != NULL && strcmp(slot->meta->resource_version, version) == 0 &&
	       !asks_for_workloads(&member->reconciler);
}

/* Whether a call about its name is on its way, or the deletion of the ConfigMap, with which the garbage collector
 * deletes its Pods, or a status write: each lasts as long as a lease at most, and what rests on it waits (CONTRACT.md
 * §12.4). Or a status was refused, and is to be written again later: what rests on that waits, too. */
static bool called(const struct world *world, const struct object *object)
{
	struct item *item = known(holder(world, object->ns, object_framework_name(object->json)), object->ns,
				  object_framework_name(object->json));
	const struct slot *slot = item == NULL ? NULL : &item_framework(item)->config_map;

	if (item != NULL &&
	    (item->writing || item->writes.until_ms > item->reconciler->ports.boot_ms(item->reconciler->ports.context)))
		return true;
	if (slot != NULL && slot->call == CALL_DELETE_CONFIG_MAP)
		return true;
	if (item != NULL && object->kind == KIND_POD)
		HASH_FIND_STR(item_framework(item)->slots, object->name, slot);
	return slot != NULL && slot->call != CALL_NONE;
}

void check_strays(struct world *world)
{
	for (struct object *object = world->objects; object != NULL; object = object->next) {
		int64_t since_ms = world->looks_anew ? 0 : object->stray_since_ms;

		if (object->kind != KIND_FRAMEWORK && !object->deleting &&
		    object_framework_name(object->json) != NULL && stray(world, object) &&
		    attended(world, object, object_framework_name(object->json))) {
			object->stray_since_ms = since_ms == 0           ? world->now_ms
						 : called(world, object) ? since_ms + SIM_STRAYS_LOOK_MS
									 : since_ms;
			world->tally->strays += since_ms == 0;
			if (since_ms != 0 && world->now_ms > since_ms + STRAY_MS)
				violated(world, "%s %s%s is of no attempt, and still there after %d ms", object->uid,
					 object->name, object->late ? " (late)" : "", STRAY_MS);
			continue;
		}
		if (since_ms != 0 && (uint64_t)(world->now_ms - since_ms) > world->tally->stray_ms)
			world->tally->stray_ms = (uint64_t)(world->now_ms - since_ms);
		object->stray_since_ms = 0;
	}
}

/* ---- at rest ---- */

bool check_held(const struct world *world)
{
	enum { ALL = 120 }; /* a multiple of each number of shards */
	uint32_t held = 0;

	for (int i = 0; i < SIM_PROCESSES; i++) {
		const struct session *session = world->members[i].session;

		for (uint32_t shard = 0; world->members[i].process.alive && shard < session_shard_count(session);
		     shard++)
			held += session_lease_left_ms(session, shard) > 0 ? ALL / session_shard_count(session) : 0;
	}
	return held == ALL;
}

/* Completed for good, or waiting to be started. */
static bool framework_rests(const struct world *world, struct object *object)
{
	const json_t *status = status_of(object);
	const char *type = json_str(json_object_get(object->json, "spec"), "executionType");
	int state = state_of(status);

	if (object->deleting)
		return false;
	if (world->lively)
		return check_life_rests(world, object);
	if (state == STATE_COMPLETED)
		return world->retain_sec > 3600;
	return state == STATE_CREATION_PENDING && strcmp(type, "Create") == 0;
}

static bool waits_about_gone(const struct member *member)
{
	int64_t clock_ms = process_now_ms(&member->process);

	for (struct item *item = member->reconciler.items; item != NULL; item = item->hh.next)
		if (!item_framework(item)->exists &&
		    (item->writes.asked_ms > clock_ms || item_framework(item)->creates.asked_ms > clock_ms ||
		     item_framework(item)->others.asked_ms > clock_ms))
			return true;
	return false;
}

/* A PING is answered every second. */
static bool answered_lately(struct member *member)
{
	uint64_t pongs = session_counters(member->session)->pongs;

	if (pongs != member->pongs) {
		member->pongs = pongs;
		member->pong_ms = member->process.world->now_ms;
	}
	return member->process.world->now_ms <= member->pong_ms + ANSWERED_MS;
}

static bool processes_rest(struct world *world, const char **why)
{
	const struct watcher *leader = NULL;

	for (int i = 0; i < world->watcher_count; i++) {
		const struct watcher *watcher = &world->watchers[i];

		*why = "a watcher is not synced and live";
		if (!watcher->process.alive || watcher->process.paused_until_ms > world->now_ms || !watcher->synced ||
		    !watcher->live)
			return false;
		*why = "a watcher has not seen all";
		if (!streams_quiet(watcher))
			return false;
		if (watcher_leads(watcher))
			leader = watcher;
	}
	*why = "nobody leads";
	if (leader == NULL)
		return false;
	*why = "the leader has yet to grant what is held under a former one's leases";
	for (uint32_t shard = 0; shard < leader->shard_count; shard++)
		if (shard_table_holder(router_shards(leader->router), shard) == NULL)
			return false;
	*why = "something is still to be told";
	if (router_backlog(leader->router) > 0)
		return false;
	*why = "letters are on the way";
	for (int i = 0; i < SIM_SEATS * SIM_WATCHERS; i++) {
		const struct link *link = &world->seats[i / SIM_WATCHERS].links[i % SIM_WATCHERS];

		if (link->connected &&
		    (link->down_ms > world->now_ms + LETTER_MS || link->up_ms > world->now_ms + LETTER_MS))
			return false;
	}
	*why = "a reconciler does not follow the leader";
	for (int i = 0; i < SIM_PROCESSES; i++) {
		struct member *member = &world->members[i];
		const struct link *link = member->process.alive ? bus_link(member->seat, leader) : NULL;

		/* (without a link: a child whose parent leads no longer, and that is about to end) */
		if (member->process.alive && (link == NULL || !link->connected ||
					      session_epoch(member->session) != router_epoch(leader->router)))
			return false;
	}
	*why = "a reconciler has no answers: it says HELLO again when its lease is over";
	for (int i = 0; i < SIM_PROCESSES; i++)
		if (world->members[i].process.alive && !answered_lately(&world->members[i]))
			return false;
	*why = "a barrier does not know all";
	for (int i = 0; i < world->barrier_count; i++)
		if (!world->barriers[i].process.alive ||
		    session_epoch(world->barriers[i].session) != router_epoch(leader->router) ||
		    !readiness_synced(world->barriers[i].readiness))
			return false;
	*why = "a shard has no holder";
	if (!check_held(world))
		return false;
	*why = "a reconciler whose machine was paused counts on leases that are over";
	for (int i = 0; i < SIM_PROCESSES; i++)
		if (world->members[i].process.alive && member_blind(&world->members[i]) &&
		    session_leased(world->members[i].session))
			return false;
	*why = "a status is not written";
	for (int i = 0; i < SIM_PROCESSES; i++)
		for (struct item *item = world->members[i].process.alive ? world->members[i].reconciler.items : NULL;
		     item != NULL; item = item->hh.next)
			if (item_framework(item)->version != item_framework(item)->written)
				return false;
	*why = "a reconciler was asked to wait about a Framework that is gone";
	for (int i = 0; i < SIM_PROCESSES; i++)
		if (world->members[i].process.alive && waits_about_gone(&world->members[i]))
			return false;
	*why = "a reconciler stands still";
	for (int i = 0; i < SIM_PROCESSES; i++)
		if (world->members[i].process.alive && world->members[i].process.paused_until_ms > world->now_ms)
			return false;
	return true;
}

bool check_rest(struct world *world, const char **why)
{
	static char text[256];

	*why = "users are still at it";
	if (world->now_ms < world->life_until_ms)
		return false;
	for (struct object *object = world->objects; object != NULL; object = object->next) {
		if (object->kind == KIND_FRAMEWORK && framework_rests(world, object))
			continue;
		snprintf(text, sizeof(text), "%s %s%s is there%s%s", object->uid, object->name,
			 object->deleting ? " (deleting)" : "", object->kind == KIND_FRAMEWORK ? " in state " : "",
			 object->kind != KIND_FRAMEWORK || json_str(status_of(object), "state") == NULL
				 ? ""
				 : json_str(status_of(object), "state"));
		*why = text;
		return false;
	}
	*why = check_queues_rest(world);
	if (*why != NULL)
		return false;
	*why = "something runs";
	for (const struct instance *instance = world->instances; instance != NULL; instance = instance->next)
		if (instance->running)
			return false;
	*why = "requests are on the way";
	return network_quiet(world) && processes_rest(world, why);
}

void check_relabelled(struct world *world, int framework)
{
	const char *uid = world->plans[framework].relabelled;
	const struct member *member = holder(world, plan_ns(framework), plan_name(framework));
	struct item *item = member == NULL ? NULL : known(member, plan_ns(framework), plan_name(framework));
	if (item == NULL || uid[0] == '\0' || api_find_uid(world, KIND_POD, uid) != NULL)
		return;
	for (const struct slot *slot = item_framework(item)->slots; slot != NULL; slot = slot->hh.next)
		if (slot->meta != NULL && strcmp(slot->meta->uid, uid) == 0)
			violated(world, "%s was never told that Pod %s of %s is gone", member->process.label, uid,
				 item->key);
}

static void check_item(struct world *world, const struct object *object)
{
	const struct member *member = holder(world, object->ns, object->name);
	const struct framework *framework;
	struct item *item = known(member, object->ns, object->name);
	char version[24];

	if (item == NULL || !item_framework(item)->exists)
		violated(world, "at rest %s does not know %s/%s", member->process.label, object->ns, object->name);
	framework = item_framework(item);
	snprintf(version, sizeof(version), "%" PRIu64, object->version);
	if (strcmp(framework->uid, object->uid) != 0 || strcmp(framework->resource_version, version) != 0)
		violated(world, "at rest %s knows %s as %s at %s, the server has %s at %s", member->process.label,
			 item->key, framework->uid, framework->resource_version, object->uid, version);
	/* a former namesake's may have been seen by asking, and gone unseen without its label; so may that of an
	 * attempt which another process has ended by a late write */
	if (slot_ours(&framework->config_map, framework->uid) && !object->moved_late)
		violated(world, "at rest %s sees a ConfigMap of %s", member->process.label, item->key);
	for (const struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		if (slot->meta != NULL)
			violated(world, "at rest %s sees Pod %s %s%s", member->process.label, slot->meta->uid,
				 slot->name, slot_lost(item_framework(item), slot) ? " (lost)" : "");
}

/* The cache has what the server has, and nothing else. */
static void check_cache(struct world *world, const struct watcher *watcher, size_t frameworks)
{
	struct cache *cache = watcher->cache;

	if (cache_count(cache, KIND_FRAMEWORK) != frameworks || cache_count(cache, KIND_CONFIG_MAP) != 0 ||
	    cache_count(cache, KIND_POD) != 0)
		violated(world, "at rest %s's cache has %zu Frameworks of %zu, %zu ConfigMaps, %zu Pods",
			 watcher->process.label, cache_count(cache, KIND_FRAMEWORK), frameworks,
			 cache_count(cache, KIND_CONFIG_MAP), cache_count(cache, KIND_POD));
	for (uint32_t shard = 0; shard < watcher->shard_count; shard++) {
		for (const struct cache_entry *entry = cache_first(cache, shard); entry != NULL;
		     entry = cache_next(entry)) {
			const struct object *object = api_find(world, KIND_FRAMEWORK, cache_entry_ns(entry),
							       cache_entry_name(entry));
			cleanup_buf struct buf text = {0};
			cleanup_json json_t *kept = NULL;
			struct error err;

			cache_entry_write(&text, entry);
			kept = json_parse(text.data, text.len, &err);
			if (cache_entry_kind(entry) == KIND_WORKLOAD) {
				check_queue_cached(world, cache_entry_ns(entry), kept);
				continue;
			}
			if (object == NULL || !json_equal(kept, object->json))
				violated(world, "at rest %s has of %s/%s: %s", watcher->process.label,
					 cache_entry_ns(entry), cache_entry_name(entry), text.data);
		}
	}
}

/* It knows all Frameworks as they are, and no others. */
static void check_barrier(struct world *world, const struct barrier *barrier, size_t frameworks)
{
	if (readiness_count(barrier->readiness) != frameworks)
		violated(world, "at rest %s knows %zu Frameworks of %zu", barrier->process.label,
			 readiness_count(barrier->readiness), frameworks);
	for (const struct object *object = world->objects; object != NULL; object = object->next) {
		struct readiness_entry entry;
		char key[128];
		char version[24];

		snprintf(key, sizeof(key), "%s/%s", object->ns, object->name);
		snprintf(version, sizeof(version), "%" PRIu64, object->version);
		if (!readiness_find(barrier->readiness, key, &entry))
			violated(world, "at rest %s does not know %s", barrier->process.label, key);
		if (strcmp(entry.uid, object->uid) != 0 || strcmp(entry.resource_version, version) != 0)
			violated(world, "at rest %s knows %s as %s at %s, the server has %s at %s",
				 barrier->process.label, key, entry.uid, entry.resource_version, object->uid, version);
	}
}

void check_end(struct world *world)
{
	size_t frameworks = 0;
	size_t items = 0;

	for (const struct object *object = world->objects; object != NULL; object = object->next) {
		frameworks++;
		check_item(world, object);
	}
	for (int i = 0; i < SIM_PROCESSES; i++) {
		const struct member *member = &world->members[i];

		if (!member->process.alive)
			continue;
		items += HASH_COUNT(member->reconciler.items);
		for (struct item *item = member->reconciler.items; item != NULL; item = item->hh.next)
			if (!item_framework(item)->exists)
				violated(world, "at rest %s keeps %s, which is gone", member->process.label, item->key);
		if (member->reconciler.orphans != NULL || waiting_next(&member->reconciler) != NULL ||
		    member->reconciler.calls_on_way != 0)
			violated(world, "at rest %s has something on the way", member->process.label);
	}
	if (items != frameworks)
		violated(world, "at rest the reconcilers keep %zu keys, the server has %zu Frameworks", items,
			 frameworks);
	for (int i = 0; i < world->watcher_count; i++)
		check_cache(world, &world->watchers[i], frameworks);
	for (int i = 0; i < world->barrier_count; i++)
		check_barrier(world, &world->barriers[i], frameworks);
}

/* ---- outcomes ---- */

static void put_outcome(struct buf *out, const char *what, const json_t *status)
{
	const json_t *completion = json_object_get(attempt_of(status), "completionStatus");
	const json_t *retry = json_object_get(status, "retryPolicyStatus");

	buf_printf(out, "%s %s code %lld retries %lld/%lld; ", what, json_str(status, "state"),
		   (long long)json_int(completion, "code", -9999),
		   (long long)json_int(retry, "accountableRetriedCount", -1),
		   (long long)json_int(retry, "totalRetriedCount", -1));
}

void check_outcomes(struct world *world, struct outcome out[SIM_FRAMEWORKS])
{
	for (int i = 0; i < SIM_FRAMEWORKS; i++) {
		char what[32];
		struct object *object;
		cleanup_buf struct buf text = {0};
		size_t r;
		size_t t;
		const json_t *role;
		const json_t *task;

		object = api_framework(world, i);
		out[i] = (struct outcome){.there = object != NULL};
		if (object == NULL || !world->plans[i].tame)
			continue;
		put_outcome(&text, object->name, status_of(object));
		json_array_foreach(json_object_get(attempt_of(status_of(object)), "taskRoleStatuses"), r, role) {
			json_array_foreach(json_object_get(role, "taskStatuses"), t, task) {
				snprintf(what, sizeof(what), "%s[%zu]", json_str(role, "name"), t);
				if (world->plans[i].tame_tasks)
					put_outcome(&text, what, task);
			}
		}
		snprintf(out[i].text, sizeof(out[i].text), "%s", text.data);
	}
}
