/* What must hold: after every step, at each write of a reconciler, and once everything has come to rest (CONTRACT.md
 * §12, ARCHITECTURE.md §10.1); see sim.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "common/framework/codes.h"
#include "common/framework/gang.h"
#include "common/framework/names.h"
#include "common/framework/shorten.h"
#include "tests/sim/sim.h"

enum { RATE_SLACK_PERCENT = 50 };
enum {
	REQUESTS_MAX = 4000,
	REQUESTS_IN_SECOND_MAX = 250,
	LETTER_MS = 10, /* those of pings come and go */
	STRAY_MS = 10 * 1000,
};

/* ---- statuses as they are stored ---- */

static bool compressed(const json_t *status)
{
	return json_is_string(json_path(status, "attemptStatus", "taskRoleStatusesCompressed", NULL));
}

/* Decompressed, in an object of its own. */
static json_t *plain_status(struct world *world, json_t *status)
{
	json_t *framework = json_pack("{s:o}", "status",
				      compressed(status) ? json_deep_copy(status) : json_incref(status));
	struct error err;

	if (framework_decompress(framework, &err) < 0)
		violated(world, "a status cannot be decompressed: %s", err.message);
	return framework;
}

static const json_t *status_of(struct object *framework)
{
	json_t *status = json_object_get(framework->json, "status");

	if (!compressed(status))
		return status;
	if (framework->plain == NULL)
		framework->plain = plain_status(sim_world, status);
	return json_object_get(framework->plain, "status");
}

static int state_of(const json_t *status)
{
	const char *name = json_str(status, "state");
	enum attempt_state state;

	return name == NULL || attempt_state_parse(name, &state) < 0 ? -1 : (int)state;
}

static const json_t *attempt_of(const json_t *status)
{
	return json_object_get(status, "attemptStatus");
}

static bool set(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return value != NULL && !json_is_null(value);
}

static const json_t *find_role(const json_t *status, const char *name)
{
	const json_t *roles = json_object_get(attempt_of(status), "taskRoleStatuses");
	size_t i;
	const json_t *role;

	json_array_foreach(roles, i, role)
		if (strcmp(json_str(role, "name"), name) == 0)
			return role;
	return NULL;
}

static const json_t *find_task(const json_t *status, const char *role, int index)
{
	return json_array_get(json_object_get(find_role(status, role), "taskStatuses"), (size_t)index);
}

static bool over(int state)
{
	return state == STATE_ATTEMPT_COMPLETED || state == STATE_COMPLETED;
}

/* ---- G1–G4 ---- */

static void check_pair(struct world *world, const struct instance *a, const struct instance *b)
{
	if (a->plan != b->plan)
		return;
	if (strcmp(a->pod_name, b->pod_name) == 0)
		violated(world, "G1: %s and %s of %s run at the same time", a->pod_uid, b->pod_uid, a->pod_name);
	if (strcmp(a->attempt_uid, b->attempt_uid) != 0)
		violated(world, "G3: %s of attempt %s and %s of attempt %s run at the same time", a->pod_uid,
			 a->attempt_uid, b->pod_uid, b->attempt_uid);
}

static void check_instance(struct world *world, const struct instance *instance)
{
	struct object *framework = api_framework(world, instance->plan);
	const json_t *status;
	const json_t *task;

	if (framework == NULL || strcmp(framework->uid, instance->framework_uid) != 0)
		violated(world, "G4: %s %s runs though its Framework is gone", instance->pod_uid, instance->pod_name);
	status = status_of(framework);
	if (over(state_of(status)))
		violated(world, "G4: %s %s runs though its Framework is %s", instance->pod_uid, instance->pod_name,
			 json_str(status, "state"));
	if (json_int(attempt_of(status), "id", -1) != instance->framework_attempt)
		violated(world, "G3: %s %s of attempt %d runs, the Framework is at attempt %d", instance->pod_uid,
			 instance->pod_name, instance->framework_attempt, (int)json_int(attempt_of(status), "id", -1));
	task = find_task(status, instance->role, instance->index);
	if (task == NULL || strcmp(json_str(task, "instanceUID"), instance->task_uid) != 0)
		violated(world, "G2: %s %s runs though its Task is gone", instance->pod_uid, instance->pod_name);
	if (over(state_of(task)))
		violated(world, "G2: %s %s runs though its Task is %s", instance->pod_uid, instance->pod_name,
			 json_str(task, "state"));
	if (json_int(attempt_of(task), "id", -1) != instance->task_attempt)
		violated(world, "G1: %s %s of attempt %d runs, the Task is at attempt %d", instance->pod_uid,
			 instance->pod_name, instance->task_attempt, (int)json_int(attempt_of(task), "id", -1));
}

static bool counts(const struct world *world, const struct instance *instance)
{
	return instance->running && !instance->late && world->plans[instance->plan].strict;
}

void check_step(struct world *world)
{
	for (const struct instance *a = world->instances; a != NULL; a = a->next) {
		if (!counts(world, a))
			continue;
		for (const struct instance *b = a->next; b != NULL; b = b->next)
			if (counts(world, b))
				check_pair(world, a, b);
		check_instance(world, a);
	}
}

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

/* The same call of the same process about the same object: another uid is another one, whatever its name. */
static uint64_t call_hash(const struct wire *wire)
{
	uint64_t hash = 0;

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
		call_hash(wire), wire->world->now_ms + wire->retry_after_ms};
}

void check_asked(const struct wire *wire)
{
	const struct member *member = wire->member;

	for (size_t i = 0; !for_an_event(wire) && i < ARRAY_LEN(member->pleas); i++)
		if (member->pleas[i].until_ms > wire->world->now_ms && member->pleas[i].request == call_hash(wire))
			violated(wire->world, "%s asks %s %s again, %lld ms before it may", member->process.label,
				 wire->method, wire->path,
				 (long long)(member->pleas[i].until_ms - wire->world->now_ms));
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

/* Whether it has the lease of the range that the key is in. */
static bool may_act(const struct member *member, const char *ns, const char *name)
{
	uint32_t shards = peer_shards(member->peer);

	return shards != 0 && peer_lease_left_ms(member->peer, range_of_key(ns, name, shards)) > 0;
}

void check_leaving(const struct member *member)
{
	struct world *world = member->process.world;

	if (world->now_ms >= member->leave_by_ms)
		return;
	for (const struct item *item = member->reconciler.items; item != NULL; item = item->hh.next) {
		const struct framework *framework = item->framework;

		if (framework->exists && framework->problem == NULL && framework->version != framework->written &&
		    item->writes.failures == 0 && item->writes.until_ms <= world->now_ms &&
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
	if (strcmp(wire->method, "GET") == 0 || wire->failed_late)
		return;
	for (int i = 0; i < SIM_PROCESSES; i++) {
		const struct member *other = &world->members[i];

		if (other != wire->member && other->process.alive &&
		    may_act(other, plan_ns(framework), plan_name(framework)))
			violated(world, "#%" PRIu64 " %s %s of %s is carried out while %s has the lease", wire->number,
				 wire->method, wire->path, wire->member->process.label, other->process.label);
	}
}

/* ---- what is said of objects that were deleted ---- */

/* That others deleted an object is said of none that is there: not deleting, and with its label. */
static void check_deleted_by_others(struct world *world, const char *what, const json_t *before, const json_t *after,
				    enum object_kind kind)
{
	const char *uid = json_str(attempt_of(after), kind == KIND_POD ? "podUID" : "configMapUID");
	int64_t code = kind == KIND_POD ? CODE_POD_EXTERNAL_DELETED : CODE_CONFIG_MAP_EXTERNAL_DELETED;
	const struct object *object;

	if (set(attempt_of(before), "completionStatus") || uid == NULL ||
	    json_int(json_object_get(attempt_of(after), "completionStatus"), "code", 0) != code)
		return;
	object = api_find_uid(world, kind, uid);
	if (object != NULL && !object->deleting && object_framework_name(object->json) != NULL)
		violated(world, "%s ends as if %s were deleted, which lives", what, uid);
}

/* What the reconciler knows of the attempt's end, it acts on: a ConfigMap that is gone has ended it, and of the Pods
 * only those are waited for that were made after that. */
static void check_end_of_attempt(const struct member *member, const struct framework *framework)
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
		waits = waits || slot->call != CALL_NONE || slot->verify || slot->straggler ||
			(slot_ours(slot, uid) && version_compare(slot->first_version, framework->config_map_end) > 0);
	if (!waits)
		violated(world, "%s: %s waits, though all its Pods were there before the end of its ConfigMap %s",
			 member->process.label, framework->name, uid);
}

void check_rounds(struct member *member)
{
	for (const struct item *item = member->reconciler.items; item != NULL && !member->reconciler.leaving;
	     item = item->hh.next)
		if (!item->queued && may_act(member, item->framework->ns, item->framework->name) &&
		    range_set_has(&member->reconciler.ready, item->range))
			check_end_of_attempt(member, item->framework);
}

void check_absent(struct member *member, enum object_kind kind, const struct bus_absent *absent, bool told)
{
	static char uid[40]; /* that it knows the Framework by */
	const struct framework *framework;
	struct world *world = member->process.world;
	const struct item *item;
	char key[128];

	if (kind != KIND_FRAMEWORK)
		return;
	snprintf(key, sizeof(key), "%s/%s", absent->ns, absent->name);
	HASH_FIND_STR(member->reconciler.items, key, item);
	framework = item == NULL ? NULL : item->framework;
	if (!told)
		snprintf(uid, sizeof(uid), "%s", framework == NULL || !framework->exists ? "" : framework->uid);
	else if (uid[0] != '\0' && (framework == NULL || !framework->exists) &&
		 api_find_uid(world, KIND_FRAMEWORK, uid) != NULL)
		violated(world, "%s forgets %s, which lives", member->process.label, uid);
}

/* ---- status writes: only forward ---- */

/* Whether one is the other with messages shortened, and no other way round. */
static bool shortened(const json_t *before, const json_t *after)
{
	static const char *const kept[] = {"code", "phrase", "type", "trigger"};
	cleanup_free char *former = json_text(before);
	cleanup_free char *text = json_text(after);

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if ((set(before, kept[i]) || set(after, kept[i])) &&
		    !json_equal(json_object_get(before, kept[i]), json_object_get(after, kept[i])))
			return false;
	return strstr(text, SHORTENED_MARK) != NULL && strlen(text) < strlen(former);
}

static void check_attempt(struct world *world, const char *what, const json_t *before, const json_t *after,
			  const char *uid_name)
{
	const json_t *a = attempt_of(before);
	const json_t *b = attempt_of(after);

	if (set(a, uid_name) && !json_equal(json_object_get(a, uid_name), json_object_get(b, uid_name)))
		violated(world, "%s: %s changed within an attempt", what, uid_name);
	if (set(a, "completionStatus") &&
	    !json_equal(json_object_get(a, "completionStatus"), json_object_get(b, "completionStatus")) &&
	    !shortened(json_object_get(a, "completionStatus"), json_object_get(b, "completionStatus")))
		violated(world, "%s: completionStatus changed once set", what);
}

static int64_t retries(const json_t *status)
{
	return json_int(json_object_get(status, "retryPolicyStatus"), "totalRetriedCount", -1);
}

static void check_task_forward(struct world *world, const char *what, const json_t *before, const json_t *after)
{
	int was = state_of(before);
	int is = state_of(after);

	if (strcmp(json_str(before, "instanceUID"), json_str(after, "instanceUID")) != 0) {
		if (was != STATE_COMPLETED)
			violated(world, "%s is replaced in state %s", what, json_str(before, "state"));
		return;
	}
	if (retries(after) < retries(before))
		violated(world, "%s: its retries went back", what);
	if (retries(after) > retries(before)) {
		if (was != STATE_ATTEMPT_COMPLETED || retries(after) != retries(before) + 1)
			violated(world, "%s is retried from %s", what, json_str(before, "state"));
		return;
	}
	if (is < was && !(was == STATE_RUNNING && is == STATE_PREPARING))
		violated(world, "%s goes back from %s to %s", what, json_str(before, "state"),
			 json_str(after, "state"));
	if (json_bool(before, "deletionPending", false) && !json_bool(after, "deletionPending", false))
		violated(world, "%s: deletionPending is taken back", what);
	check_attempt(world, what, before, after, "podUID");
	check_deleted_by_others(world, what, before, after, KIND_POD);
}

static void check_tasks_forward(struct world *world, const struct object *object, const json_t *before,
				const json_t *after)
{
	const json_t *roles = json_object_get(attempt_of(before), "taskRoleStatuses");
	size_t r;
	size_t i;
	const json_t *role;
	const json_t *task;
	char what[160];

	json_array_foreach(roles, r, role) {
		const char *name = json_str(role, "name");
		const json_t *now = find_role(after, name);

		if (now == NULL || strcmp(json_str(now, "instanceUID"), json_str(role, "instanceUID")) != 0)
			continue;
		json_array_foreach(json_object_get(role, "taskStatuses"), i, task) {
			const json_t *task_now = find_task(after, name, (int)i);

			snprintf(what, sizeof(what), "%s-%s-%zu", object->name, name, i);
			if (task_now != NULL)
				check_task_forward(world, what, task, task_now);
			else if (!json_bool(task, "deletionPending", false))
				violated(world, "%s vanishes in state %s", what, json_str(task, "state"));
		}
	}
}

/* Whether an object is of the attempt that a status is at. */
static bool of_attempt(const struct object *object, const json_t *status)
{
	return json_int(attempt_of(status), "id", -1) == atoi(annotation(object->json, "FC_FRAMEWORK_ATTEMPT_ID"));
}

static bool of_task_attempt(const struct object *pod, const json_t *task)
{
	return task != NULL && strcmp(json_str(task, "instanceUID"), annotation(pod->json, "FC_TASK_UID")) == 0 &&
	       json_int(attempt_of(task), "id", -1) == atoi(annotation(pod->json, "FC_TASK_ATTEMPT_ID"));
}

/* What a create made is taken over by its own attempt alone, however late it came. */
static void check_adopted(struct world *world, const struct object *framework, const json_t *after)
{
	for (const struct object *object = world->objects; object != NULL; object = object->next) {
		const json_t *held = after;
		const char *uid;
		bool fits;

		if (object->kind == KIND_FRAMEWORK || object->plan != framework->plan)
			continue;
		if (object->kind == KIND_POD)
			held = find_task(after, annotation(object->json, "FC_TASKROLE_NAME"),
					 atoi(annotation(object->json, "FC_TASK_INDEX")));
		uid = json_str(attempt_of(held), object->kind == KIND_POD ? "podUID" : "configMapUID");
		if (uid == NULL || strcmp(uid, object->uid) != 0)
			continue;
		fits = of_attempt(object, after) && (object->kind != KIND_POD || of_task_attempt(object, held));
		if (!fits || strcmp(annotation(object->json, "FC_FRAMEWORK_UID"), framework->uid) != 0)
			violated(world, "%s %s, of another attempt, is adopted", object->uid, object->name);
	}
}

void check_status_write(struct world *world, struct object *object, json_t *written)
{
	const json_t *before = status_of(object);
	cleanup_json json_t *plain = plain_status(world, written);
	const json_t *after = json_object_get(plain, "status");
	int was = state_of(before);
	int is = state_of(after);

	check_adopted(world, object, after);
	if (before == NULL)
		return;
	if (retries(after) < retries(before))
		violated(world, "%s: its retries went back", object->name);
	if (retries(after) > retries(before)) {
		if (was != STATE_ATTEMPT_COMPLETED || retries(after) != retries(before) + 1)
			violated(world, "%s is retried from %s", object->name, json_str(before, "state"));
		return;
	}
	if (is < was)
		violated(world, "%s goes back from %s to %s", object->name, json_str(before, "state"),
			 json_str(after, "state"));
	check_attempt(world, object->name, before, after, "configMapUID");
	check_deleted_by_others(world, object->name, before, after, KIND_CONFIG_MAP);
	check_tasks_forward(world, object, before, after);
}

/* ---- persist before act ---- */

/* What goes with the garbage collector when its owner goes. A Pod's ConfigMap may have gone while the request was on
 * its way. */
static void check_owner(struct world *world, const struct object *object, const struct object *framework)
{
	static const char attempt[] = "FC_FRAMEWORK_ATTEMPT_ID";
	const struct object *owner = framework;

	if (object->kind == KIND_POD)
		owner = api_find_uid(world, KIND_CONFIG_MAP, object->owner_uid);
	if (object->owner_uid[0] == '\0' || (owner != NULL && strcmp(owner->uid, object->owner_uid) != 0) ||
	    (owner != NULL && owner != framework &&
	     strcmp(annotation(owner->json, attempt), annotation(object->json, attempt)) != 0))
		violated(world, "%s is created as \"%s\"'s", object->name, object->owner_uid);
}

void check_created(struct world *world, const struct wire *wire, const struct object *object)
{
	struct object *framework = api_framework(world, object->plan);
	const json_t *status;
	const json_t *task;

	if (wire->failed_late || framework == NULL ||
	    strcmp(framework->uid, annotation(object->json, "FC_FRAMEWORK_UID")) != 0)
		return;
	status = status_of(framework);
	if (json_int(attempt_of(status), "id", -1) != atoi(annotation(object->json, "FC_FRAMEWORK_ATTEMPT_ID")))
		violated(world, "%s is created for an attempt that is not stored", object->name);
	check_owner(world, object, framework);
	if (object->kind != KIND_POD)
		return;
	task = find_task(status, annotation(object->json, "FC_TASKROLE_NAME"),
			 atoi(annotation(object->json, "FC_TASK_INDEX")));
	if (task == NULL || strcmp(json_str(task, "instanceUID"), annotation(object->json, "FC_TASK_UID")) != 0 ||
	    json_int(attempt_of(task), "id", -1) != atoi(annotation(object->json, "FC_TASK_ATTEMPT_ID")))
		violated(world, "%s is created for a Task attempt that is not stored", object->name);
}

void check_deletion(struct world *world, const struct wire *wire, const struct object *object, bool force)
{
	struct object *framework = api_framework(world, object->plan);
	const json_t *status;
	const json_t *held;
	const char *uid;

	/* What lost its label is out of sight, as if deleted by others: it is deleted at once. */
	if (object->kind == KIND_FRAMEWORK || force || object_framework_name(object->json) == NULL ||
	    wire->failed_late || framework == NULL ||
	    strcmp(framework->uid, annotation(object->json, "FC_FRAMEWORK_UID")) != 0)
		return;
	/* What outlived its ConfigMap runs for nothing: it is deleted before the next attempt. */
	if (object->kind == KIND_POD && api_find_uid(world, KIND_CONFIG_MAP, object->owner_uid) == NULL)
		return;
	status = status_of(framework);
	held = object->kind == KIND_CONFIG_MAP ? status
					       : find_task(status, annotation(object->json, "FC_TASKROLE_NAME"),
							   atoi(annotation(object->json, "FC_TASK_INDEX")));
	uid = json_str(attempt_of(held), object->kind == KIND_CONFIG_MAP ? "configMapUID" : "podUID");
	if (uid != NULL && strcmp(uid, object->uid) == 0 && !set(attempt_of(held), "completionStatus") &&
	    !json_bool(held, "deletionPending", false) && state_of(held) != STATE_CREATION_REQUESTED)
		violated(world, "%s %s is deleted before the reason is stored", object->uid, object->name);
}

/* ---- the bus ---- */

void check_unread(struct watcher *watcher, size_t len)
{
	if (watcher->unread >= SIM_IN_FLIGHT_MAX)
		violated(watcher->process.world, "%s sends more to one who has not read %zu bytes",
			 watcher->process.label, watcher->unread);
	watcher->unread += BUS_HEAD_SIZE + len;
}

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

/* Whether everybody is at work who has to see a Framework's object, and to delete it. */
static bool attended(const struct world *world, const struct object *object)
{
	const struct member *member = holder(world, object->ns, object_framework_name(object->json));
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
	return member->reconciler.waiting_count == 0 && token_bucket_wait_ms(&bucket, world->now_ms) == 0;
}

void check_strays(struct world *world)
{
	for (struct object *object = world->objects; object != NULL; object = object->next) {
		if (object->kind == KIND_FRAMEWORK || object->deleting || object_framework_name(object->json) == NULL ||
		    !stray(world, object) || !attended(world, object))
			object->stray_since_ms = 0;
		else if (object->stray_since_ms == 0)
			object->stray_since_ms = world->now_ms;
		else if (world->now_ms > object->stray_since_ms + STRAY_MS)
			violated(world, "%s %s%s is of no attempt, and still there after %d ms", object->uid,
				 object->name, object->late ? " (late)" : "", STRAY_MS);
	}
}

/* ---- at rest ---- */

bool check_held(const struct world *world)
{
	enum { ALL = SIM_SHARDS * SIM_SHARDS_OTHER };
	uint32_t held = 0;

	for (int i = 0; i < SIM_PROCESSES; i++) {
		const struct peer *peer = world->members[i].peer;

		for (uint32_t range = 0; world->members[i].process.alive && range < peer_shards(peer); range++)
			held += peer_lease_left_ms(peer, range) > 0 ? ALL / peer_shards(peer) : 0;
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
	if (state == STATE_COMPLETED)
		return world->retain_sec > 3600;
	return state == STATE_CREATION_PENDING && strcmp(type, "Create") == 0;
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
	for (uint32_t range = 0; range < leader->shards; range++)
		if (shard_table_holder(router_shards(leader->router), range) == NULL)
			return false;
	*why = "something is still to be told";
	if (router_backlog(leader->router) > 0)
		return false;
	*why = "letters are on the way";
	for (int i = 0; i < SIM_PROCESSES * SIM_WATCHERS; i++) {
		const struct link *link = &world->members[i / SIM_WATCHERS].links[i % SIM_WATCHERS];

		if (link->connected &&
		    (link->down_ms > world->now_ms + LETTER_MS || link->up_ms > world->now_ms + LETTER_MS))
			return false;
	}
	*why = "a reconciler does not follow the leader";
	for (int i = 0; i < SIM_PROCESSES; i++) {
		struct member *member = &world->members[i];
		const struct link *link = member->process.alive ? bus_link(member, leader) : NULL;

		/* (without a link: a child whose parent leads no longer, and that is about to end) */
		if (member->process.alive &&
		    (link == NULL || !link->connected || peer_epoch(member->peer) != router_epoch(leader->router)))
			return false;
	}
	*why = "a range has no holder";
	if (!check_held(world))
		return false;
	*why = "a status is not written";
	for (int i = 0; i < SIM_PROCESSES; i++)
		for (const struct item *item = world->members[i].process.alive ? world->members[i].reconciler.items
									       : NULL;
		     item != NULL; item = item->hh.next)
			if (item->framework->version != item->framework->written)
				return false;
	*why = "a reconciler was asked to wait about a Framework that is gone";
	for (int i = 0; i < SIM_PROCESSES; i++)
		for (const struct item *item = world->members[i].process.alive ? world->members[i].reconciler.items
									       : NULL;
		     item != NULL; item = item->hh.next)
			if (!item->framework->exists && (item->writes.asked_ms > world->now_ms ||
							 item->framework->creates.asked_ms > world->now_ms ||
							 item->framework->others.asked_ms > world->now_ms))
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
	const struct item *item = NULL;
	char key[128];

	snprintf(key, sizeof(key), "%s/%s", plan_ns(framework), plan_name(framework));
	if (member != NULL)
		HASH_FIND_STR(member->reconciler.items, key, item);
	if (item == NULL || uid[0] == '\0' || api_find_uid(world, KIND_POD, uid) != NULL)
		return;
	for (const struct slot *slot = item->framework->slots; slot != NULL; slot = slot->hh.next)
		if (slot->meta != NULL && strcmp(slot->meta->uid, uid) == 0)
			violated(world, "%s was never told that Pod %s of %s is gone", member->process.label, uid, key);
}

static void check_item(struct world *world, const struct object *object)
{
	const struct member *member = holder(world, object->ns, object->name);
	const struct framework *framework;
	const struct item *item;
	char key[128];
	char version[24];

	snprintf(key, sizeof(key), "%s/%s", object->ns, object->name);
	HASH_FIND_STR(member->reconciler.items, key, item);
	if (item == NULL || !item->framework->exists)
		violated(world, "at rest %s does not know %s", member->process.label, key);
	framework = item->framework;
	snprintf(version, sizeof(version), "%" PRIu64, object->version);
	if (strcmp(framework->uid, object->uid) != 0 || strcmp(framework->resource_version, version) != 0)
		violated(world, "at rest %s knows %s as %s at %s, the server has %s at %s", member->process.label, key,
			 framework->uid, framework->resource_version, object->uid, version);
	/* a former namesake's may have been seen by asking, and gone unseen without its label */
	if (slot_ours(&framework->config_map, framework->uid))
		violated(world, "at rest %s sees a ConfigMap of %s", member->process.label, key);
	for (const struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		if (slot->meta != NULL)
			violated(world, "at rest %s sees Pod %s %s%s", member->process.label, slot->meta->uid,
				 slot->name, slot->lost ? " (lost)" : "");
}

/* The cache has what the server has, and nothing else. */
static void check_cache(struct world *world, const struct watcher *watcher, size_t frameworks)
{
	const struct cache *cache = watcher->cache;

	if (cache_count(cache, KIND_FRAMEWORK) != frameworks || cache_count(cache, KIND_CONFIG_MAP) != 0 ||
	    cache_count(cache, KIND_POD) != 0)
		violated(world, "at rest %s's cache has %zu Frameworks of %zu, %zu ConfigMaps, %zu Pods",
			 watcher->process.label, cache_count(cache, KIND_FRAMEWORK), frameworks,
			 cache_count(cache, KIND_CONFIG_MAP), cache_count(cache, KIND_POD));
	for (uint32_t range = 0; range < watcher->shards; range++) {
		for (const struct cache_entry *entry = cache_first(cache, range); entry != NULL;
		     entry = cache_next(entry)) {
			const struct object *object = api_find(world, KIND_FRAMEWORK, cache_entry_ns(entry),
							       cache_entry_name(entry));
			cleanup_buf struct buf text = {0};
			cleanup_json json_t *kept = NULL;
			struct error err;

			cache_entry_write(&text, entry);
			kept = json_parse(text.data, text.len, &err);
			if (object == NULL || !json_equal(kept, object->json))
				violated(world, "at rest %s has of %s/%s: %s", watcher->process.label,
					 cache_entry_ns(entry), cache_entry_name(entry), text.data);
		}
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
		for (const struct item *item = member->reconciler.items; item != NULL; item = item->hh.next)
			if (!item->framework->exists)
				violated(world, "at rest %s keeps %s, which is gone", member->process.label, item->key);
		if (member->reconciler.orphans != NULL || member->reconciler.ring != NULL ||
		    member->reconciler.calls_on_way != 0)
			violated(world, "at rest %s has something on the way", member->process.label);
	}
	if (items != frameworks)
		violated(world, "at rest the reconcilers keep %zu keys, the server has %zu Frameworks", items,
			 frameworks);
	for (int i = 0; i < world->watcher_count; i++)
		check_cache(world, &world->watchers[i], frameworks);
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
