/* What must hold of reconcilers' requests, of what reconcilers conclude from what they are told, and of the bus: the
 * rate, Retry-After, leases, credit. See check.h. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "reconciler/sync/fold.h"
#include "tests/sim/check.h"

enum { RATE_SLACK_PERCENT = 50, REQUESTS_MAX = 4000, REQUESTS_IN_SECOND_MAX = 250 };

/* ---- requests ---- */

int check_subject(const struct wire *wire)
{
	static const char name_key[] = "\"name\":\"";
	const char *ns = strstr(wire->path, "/namespaces/");
	const char *name;
	char text[8];

	if (ns == NULL)
		return -1;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(ns + strlen("/namespaces/"), "/"),
		 ns + strlen("/namespaces/"));
	if (strcmp(wire->method, "POST") == 0) {
		name = strstr(wire->body, name_key);
		return name == NULL ? -1 : plan_find(text, name + strlen(name_key));
	}
	name = strrchr(wire->path, '/');
	if (strcmp(name, "/status") == 0)
		for (name--; *name != '/';)
			name--;
	return plan_find(text, name + 1);
}

static uint64_t hash_string(uint64_t hash, const char *string)
{
	for (const char *c = string; *c != '\0' && *c != '"'; c++)
		hash = hash * 31 + (unsigned char)*c;
	return hash;
}

/* What follows the first such key in the body, up to its quotation mark. */
static const char *body_string(const struct wire *wire, const char *key)
{
	const char *at = wire->body == NULL ? NULL : strstr(wire->body, key);

	return at == NULL ? "" : at + strlen(key);
}

/* The same call of the same process about the same object: another uid is another one, whatever its name. An object
 * without a namespace is read for one Framework: a backoff does not delay others (CONTRACT.md §12.15). */
static uint64_t call_hash(const struct wire *wire)
{
	uint64_t hash = 0;

	if (strstr(wire->path, "/resourceflavors/") != NULL)
		hash = hash_string(hash, ((const struct pending_call *)wire->arg)->item->key);
	hash = hash_string(hash, wire->method);
	hash = hash_string(hash, wire->path);
	if (strcmp(wire->method, "POST") == 0)
		hash = hash_string(hash, body_string(wire, "\"name\":\""));
	return hash_string(hash, body_string(wire, "\"uid\":\""));
}

static bool for_an_event(const struct wire *wire)
{
	return strstr(wire->path, "/events") != NULL;
}

void check_forget_pleas(struct member *member)
{
	memset(member->pleas, 0, sizeof(member->pleas));
	member->pleas_from = member->process.world == NULL ? 0 : member->process.world->wire_numbers;
}

void check_plea(const struct wire *wire)
{
	struct member *member = wire->member;

	if (wire->number <= member->pleas_from)
		return; /* its answer finds nobody who keeps it */
	member->pleas[member->plea_count++ % ARRAY_LEN(member->pleas)] = (struct plea){
		call_hash(wire), process_now_ms(&member->process) + wire->retry_after_ms};
}

void check_asked(const struct wire *wire)
{
	const struct member *member = wire->member;
	int64_t clock_ms = process_now_ms(&member->process);

	for (size_t i = 0; !for_an_event(wire) && i < ARRAY_LEN(member->pleas); i++)
		if (member->pleas[i].until_ms > clock_ms && member->pleas[i].request == call_hash(wire))
			violated(wire->world, "%s asks %s %s again, %lld ms before it may", member->process.label,
				 wire->method, wire->path, (long long)(member->pleas[i].until_ms - clock_ms));
}

/* Shares move with every PONG, and what a member saved up goes with it. */
void check_rate(struct world *world)
{
	int64_t second = world->now_ms / 1000;
	uint64_t sum = 0;
	double most = world->qps * RATE_SECONDS * (100 + RATE_SLACK_PERCENT) / 100 + world->burst * 2 +
		      SIM_PROCESSES * 2;

	for (int64_t i = world->sent_second + 1; i <= second; i++)
		world->sent_in[i % RATE_SECONDS] = 0;
	world->sent_second = second;
	world->sent_in[second % RATE_SECONDS]++;
	for (int i = 0; i < RATE_SECONDS; i++)
		sum += world->sent_in[i];
	if ((double)sum > most)
		violated(world, "%" PRIu64 " requests in %d s, at %.1f a second and %d at once", sum, RATE_SECONDS,
			 world->qps, world->burst);
}

/* Whether it has the lease of the shard that the key is in. */
bool may_act(const struct member *member, const char *ns, const char *name)
{
	uint32_t shard_count = session_shard_count(member->session);

	return shard_count != 0 && session_lease_left_ms(member->session, shard_of_key(ns, name, shard_count)) > 0;
}

void check_leaving(const struct member *member)
{
	struct world *world = member->process.world;

	if (process_now_ms(&member->process) >= member->leave_by_ms)
		return;
	for (struct item *item = member->reconciler.items; item != NULL; item = item->hh.next) {
		const struct framework *framework = item_framework(item);

		if (framework->exists && framework->problem == NULL && framework->version != framework->written &&
		    item->writes.failures == 0 && item->writes.until_ms <= member->leave_by_ms - LAST_WRITES_MS &&
		    may_act(member, framework->ns, framework->name))
			violated(world, "%s gives %s back with a status that it has not written", member->process.label,
				 item->key);
	}
}

void check_request(struct world *world, const struct wire *wire)
{
	int framework = check_subject(wire);

	if (framework < 0)
		violated(world, "%s %s is about no Framework", wire->method, wire->path);
	if (++world->requests_of[framework] > REQUESTS_MAX)
		violated(world, "more than %d requests about %s/%s", REQUESTS_MAX, plan_ns(framework),
			 plan_name(framework));
	if (world->now_ms / 1000 != world->second) {
		world->second = world->now_ms / 1000;
		world->requests_in_second = 0;
	}
	if (++world->requests_in_second > REQUESTS_IN_SECOND_MAX)
		violated(world, "more than %d requests in a second", REQUESTS_IN_SECOND_MAX);
	if (strcmp(wire->method, "GET") == 0)
		return;
	if (wire->late) {
		world->tally->late_writes++;
		return;
	}
	for (int i = 0; i < SIM_PROCESSES; i++) {
		const struct member *other = &world->members[i];

		if (other != wire->member && other->process.alive && !member_blind(other) &&
		    may_act(other, plan_ns(framework), plan_name(framework)))
			violated(world, "#%" PRIu64 " %s %s of %s is carried out while %s has the lease", wire->number,
				 wire->method, wire->path, wire->member->process.label, other->process.label);
	}
}

/* ---- what reconcilers conclude ---- */

/* What the reconciler knows of the attempt's end, it acts on: a ConfigMap that is gone has ended it, and of the Pods
 * only those are waited for that were made after that. */
static void check_end_of_attempt(const struct member *member, struct framework *framework)
{
	struct world *world = member->process.world;
	const struct framework_status *status = &framework->status;
	const char *uid = status->attempt.config_map_uid;
	bool waits = framework->creates_on_way > 0;

	if (!framework->exists || !framework->has_status || framework->problem != NULL || uid == NULL ||
	    framework->config_map.gone_uid == NULL || strcmp(framework->config_map.gone_uid, uid) != 0 ||
	    framework->written < framework->hold || status->state < STATE_PREPARING ||
	    status->state >= STATE_ATTEMPT_COMPLETED)
		return;
	if (status->attempt.completion == NULL)
		violated(world, "%s: %s goes on, though its ConfigMap %s is known to be gone", member->process.label,
			 framework->name, uid);
	for (const struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		waits = waits || slot->call != CALL_NONE || slot->known == SLOT_IN_DOUBT || slot->straggler ||
			(slot_ours(slot, uid) && version_compare(slot->first_version, framework->config_map_end) > 0);
	if (!waits)
		violated(world, "%s: %s waits, though all its Pods were there before the end of its ConfigMap %s",
			 member->process.label, framework->name, uid);
}

/* Whether a Framework was looked at that was folded to the same bytes: the look finds the same again, and leaves the
 * same. Where memory runs out each one is looked at, because the allocations count. */
static bool looked_at(const struct member *member, const struct item *item)
{
	enum { PLACES = 4096 };
	static uint64_t looked[PLACES];
	uint64_t *place;
	uint64_t hash;

	if (item->folded == NULL || !item->folded->exists || item->unseen_due || item->fence_due ||
	    item->calls_on_way > 0 || item->writing || member->process.memory_left > 0)
		return false;
	hash = memo_hash((const char *)item->folded, malloc_usable_size(item->folded));
	place = &looked[hash % PLACES];
	if (*place == hash)
		return true;
	*place = hash;
	return false;
}

void check_reconciles(struct member *member)
{
	for (struct item *item = member->reconciler.items; item != NULL && !member->reconciler.leaving;
	     item = item->hh.next) {
		bool folded = item->folded != NULL;

		if (item->queued || !shard_set_has(&member->reconciler.ready, item->shard) ||
		    session_lease_left_ms(member->session, item->shard) <= 0 || looked_at(member, item))
			continue;
		check_end_of_attempt(member, item_framework(item));
		if (folded) /* what comes next finds it as it was */
			rest_resume(item);
	}
}

void check_absent(struct member *member, enum object_kind kind, const struct bus_absent *absent, bool told)
{
	static char uid[40]; /* that it knows the Framework by */
	const struct framework *framework;
	struct world *world = member->process.world;
	struct item *item;
	char key[128];

	if (kind != KIND_FRAMEWORK)
		return;
	snprintf(key, sizeof(key), "%s/%s", absent->ns, absent->name);
	HASH_FIND_STR(member->reconciler.items, key, item);
	framework = item == NULL ? NULL : item_framework(item);
	if (!told)
		snprintf(uid, sizeof(uid), "%s", framework == NULL || !framework->exists ? "" : framework->uid);
	else if (uid[0] != '\0' && (framework == NULL || !framework->exists) &&
		 api_find_uid(world, KIND_FRAMEWORK, uid) != NULL)
		violated(world, "%s forgets %s, which lives", member->process.label, uid);
}

/* ---- the bus ---- */

/* Where letters overtake each other or come twice, which a bus never does, a watcher cannot tell what is on its way. */
void check_unread(const struct watcher *watcher, const char *name, size_t unread)
{
	struct world *world = watcher->process.world;

	if (world->in_flight_max > 0 && world->faults.reorder_letter == 0 && world->faults.double_letter == 0 &&
	    unread >= world->in_flight_max)
		violated(world, "%s sends more to %s, to which %zu bytes are on their way", watcher->process.label,
			 name, unread);
}

void check_stranger(struct watcher *watcher, int number, const struct bus_head *head, size_t len)
{
	enum { AT_ONCE = 12, EACH_MS = 500 };
	struct world *world = watcher->process.world;
	struct stranger_link *link = &watcher->stranger[number];
	uint64_t most = AT_ONCE + (uint64_t)(process_now_ms(&watcher->process) - watcher->led_ms) / EACH_MS;

	if (head->type == BUS_ASSIGN && stranger_is_barrier(world) && ++link->assigned > most)
		violated(world, "%s has answered %" PRIu64 " HELLOs of one connection", watcher->process.label,
			 link->assigned);
	if (head->type != BUS_UPDATE && head->type != BUS_ABSENT)
		return;
	if (world->in_flight_max > 0 && link->unread >= world->in_flight_max)
		violated(world, "%s sends more to one who has not read %zu bytes", watcher->process.label,
			 link->unread);
	link->unread += BUS_HEAD_SIZE + len;
}
