/* The model test: random stories against a small model of the API server, replayed by their seed. Pods run, end, are
 * deleted or lose their label; the spec is edited, the Framework deleted and made again; writes and calls are lost or
 * late, events come late, the owner restarts at any time. After every step:
 *   - no create or delete is wanted unless what it rests on is in the status on the server (FRAMEWORK.md §12)
 *   - the status on the server only moves forward, and a completionStatus never changes
 *   - no Pod is there whose Task attempt is over, or whose Framework attempt or Framework is another one (G1 to G4)
 * and once changes and faults stop, everything completes: by itself, by Stop or by deletion; nothing is left over.
 *
 * SYNC_SEED=n replays story n; SYNC_STORIES=n makes n of them (make test-model: 100 000), in SYNC_JOBS=n processes. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/sync_world.h"

enum { STORIES = 400, STEPS_MAX = 150, LATE_MAX = 8, JOBS_MAX = 64 };

struct late_call {
	struct call call;
	struct buf body;
};

struct story {
	struct world w;
	struct random random;
	bool wrote;          /* since the last restart: the fence has been passed */
	json_t *last_status; /* on the server, at the last look */
	uint64_t checked_rv; /* of the Pods' last look */
	struct late_call late[LATE_MAX];
	size_t late_count;
	json_t *landed;  /* uids of Pods that came late */
	bool background; /* a Framework of this name was deleted with what it had left behind */
	bool finite;     /* the spec lets it come to an end by itself */
	json_t *old;     /* a Pod or the ConfigMap as it once was */
};

static unsigned long long seed;

static bool chance(struct story *s, int one_in)
{
	return random_between(&s->random, 1, one_in) == 1;
}

/* ---- what must hold ---------------------------------------------------------------------------------------------- */

static enum attempt_state state_of(const json_t *status)
{
	enum attempt_state state = STATE_COUNT;

	attempt_state_parse(json_str(status, "state"), &state);
	return state;
}

static json_t *server_status(struct story *s)
{
	return json_object_get(s->w.object, "status");
}

static json_t *find_role(json_t *status, const char *name)
{
	size_t i;
	json_t *role;

	json_array_foreach(json_at(status, "attemptStatus.taskRoleStatuses"), i, role)
		if (strcmp(json_str(role, "name"), name) == 0)
			return role;
	return NULL;
}

/* The Task of the call's Pod as it is on the server, if it is the one in memory; else NULL. */
static json_t *stored_task(struct story *s, const struct call *call, size_t *role, size_t *index)
{
	struct framework *framework = s->w.framework;
	struct slot *slot;
	json_t *task;

	HASH_FIND_STR(framework->slots, call->name, slot);
	if (slot == NULL || !slot_task(framework, slot, role, index))
		return NULL;
	task = json_array_get(json_object_get(find_role(server_status(s), framework->status.attempt.roles[*role].name),
					      "taskStatuses"),
			      *index);
	if (task == NULL || strcmp(json_str(task, "instanceUID"), world_task(&s->w, *role, *index)->instance_uid) != 0)
		return NULL;
	return task;
}

static bool completion_stored(const json_t *attempt)
{
	return json_is_object(json_object_get(attempt, "completionStatus"));
}

#define must(s, condition)                                                                                        \
	do {                                                                                                      \
		if (!(condition)) {                                                                               \
			cleanup_free char *text_ = json_text(server_status(s));                                   \
			fail_msg("%s %s: not %s; stored: %s", call_kind_name(call->kind), call->name, #condition, \
				 text_);                                                                          \
		}                                                                                                 \
	} while (0)

static void check_create(struct story *s, const struct call *call)
{
	const struct framework_attempt_status *attempt = &s->w.framework->status.attempt;
	json_t *stored = json_object_get(server_status(s), "attemptStatus");
	json_t *task;
	size_t role;
	size_t index;

	must(s, json_int(stored, "id", -1) == attempt->id);
	must(s, !completion_stored(stored));
	if (call->kind == CALL_CREATE_CONFIG_MAP) {
		must(s, s->w.framework->deletion_time == 0);
		must(s, state_of(server_status(s)) == STATE_CREATION_PENDING);
		return;
	}
	must(s, state_of(server_status(s)) <= STATE_RUNNING);
	task = stored_task(s, call, &role, &index);
	must(s, task != NULL);
	must(s, state_of(task) == STATE_CREATION_PENDING);
	must(s, !json_bool(task, "deletionPending", true));
	must(s,
	     json_int(json_object_get(task, "attemptStatus"), "id", -1) == world_task(&s->w, role, index)->attempt.id);
}

static void check_delete(struct story *s, const struct call *call)
{
	struct framework *framework = s->w.framework;
	struct slot *slot = &framework->config_map;
	json_t *stored = server_status(s);
	const char *uid = framework->status.attempt.config_map_uid;
	enum attempt_state state = framework->status.state;
	size_t role;
	size_t index;

	if (call->kind == CALL_DELETE_POD) {
		/* Under a ConfigMap that has gone they go in any case; no attempt is over before they have. */
		if (framework->config_map.meta == NULL)
			return;
		HASH_FIND_STR(framework->slots, call->name, slot);
		must(s, slot != NULL);
		if (!slot_task(framework, slot, &role, &index))
			return; /* nobody's */
		uid = world_task(&s->w, role, index)->attempt.pod_uid;
		state = world_task(&s->w, role, index)->state;
		stored = stored_task(s, call, &role, &index);
	}
	/* Strays go on sight; what has lost its label, too. A force deletion rests on the spec. In CreationRequested
	 * the deletion comes before the conclusion. */
	if (uid == NULL || strcmp(uid, call->uid) != 0 || slot->lost || call->force ||
	    state == STATE_CREATION_REQUESTED)
		return;
	must(s, stored != NULL);
	must(s, state_of(stored) >= STATE_DELETION_PENDING);
	must(s, completion_stored(json_object_get(stored, "attemptStatus")));
}

static void check_call(struct story *s, const struct call *call)
{
	if (call->kind == CALL_GET_CONFIG_MAP || call->kind == CALL_GET_POD)
		return;
	must(s, s->wrote);
	if (call->kind == CALL_CREATE_CONFIG_MAP || call->kind == CALL_CREATE_POD)
		check_create(s, call);
	else
		check_delete(s, call);
}

static void check_forward(const json_t *before, const json_t *after, const char *what, bool task)
{
	const json_t *old_attempt = json_object_get(before, "attemptStatus");
	const json_t *new_attempt = json_object_get(after, "attemptStatus");
	int64_t old_id = json_int(old_attempt, "id", -1);
	int64_t new_id = json_int(new_attempt, "id", -1);
	enum attempt_state from = state_of(before);
	enum attempt_state to = state_of(after);

	if (new_id < old_id || (!task && new_id > old_id + 1))
		fail_msg("%s: attempt %d -> %d", what, (int)old_id, (int)new_id);
	if (new_id > old_id)
		return;
	if (to < from && !(task && from == STATE_RUNNING && to == STATE_PREPARING))
		fail_msg("%s: %s -> %s", what, attempt_state_name(from), attempt_state_name(to));
	if (completion_stored(old_attempt) && !json_equal(json_object_get(old_attempt, "completionStatus"),
							  json_object_get(new_attempt, "completionStatus")))
		fail_msg("%s: its completionStatus changed", what);
}

/* The status on the server against the one at the last look. */
static void check_status(struct story *s)
{
	json_t *now = server_status(s);
	const char *name;
	size_t r;
	size_t i;
	json_t *role;
	json_t *task;

	if (now == NULL || json_equal(now, s->last_status))
		return;
	if (s->last_status != NULL) {
		check_forward(s->last_status, now, "Framework", false);
		json_array_foreach(json_at(now, "attemptStatus.taskRoleStatuses"), r, role) {
			json_t *before;

			name = json_str(role, "name");
			before = json_object_get(find_role(s->last_status, name), "taskStatuses");
			json_array_foreach(json_object_get(role, "taskStatuses"), i, task) {
				json_t *old = json_array_get(before, i);

				if (old != NULL &&
				    strcmp(json_str(old, "instanceUID"), json_str(task, "instanceUID")) == 0)
					check_forward(old, task, pod_name(name, i), true);
			}
		}
	}
	json_decref(s->last_status);
	s->last_status = json_incref(now); /* every write makes it anew */
}

/* A Pod on the server, be it deleting, that did not come late, belongs to an attempt of a Task that is not over (G1,
 * G2); together with what that stands in, to the present attempt of the Framework, which is there (G3, G4). */
static void check_pod(struct story *s, const char *name, json_t *pod)
{
	const json_t *annotations = json_at(pod, "metadata.annotations");
	json_t *tasks = json_object_get(find_role(server_status(s), json_str(annotations, FC_TASKROLE_NAME)),
					"taskStatuses");
	json_t *task = json_array_get(tasks, strtoul(json_str(annotations, FC_TASK_INDEX), NULL, 10));
	int64_t attempt = strtol(json_str(annotations, FC_TASK_ATTEMPT_ID), NULL, 10);
	int64_t framework_attempt = strtol(json_str(annotations, FC_FRAMEWORK_ATTEMPT_ID), NULL, 10);

	if (task == NULL || strcmp(json_str(task, "instanceUID"), json_str(annotations, FC_TASK_UID)) != 0)
		fail_msg("Pod %s is there and its Task is not", name);
	if (json_int(json_object_get(task, "attemptStatus"), "id", -1) != attempt ||
	    state_of(task) >= STATE_ATTEMPT_COMPLETED)
		fail_msg("Pod %s is there and its attempt is over", name);
	if (json_int(json_object_get(server_status(s), "attemptStatus"), "id", -1) != framework_attempt ||
	    state_of(server_status(s)) >= STATE_ATTEMPT_COMPLETED)
		fail_msg("Pod %s is there and its Framework's attempt is over", name);
}

/* What is a Task's, by its UID in the status, was made for that Task and for that attempt of it. */
static void check_taken(struct story *s, const char *name, json_t *pod)
{
	const json_t *annotations = json_at(pod, "metadata.annotations");
	size_t i;
	json_t *task;

	json_array_foreach(
		json_object_get(find_role(server_status(s), json_str(annotations, FC_TASKROLE_NAME)), "taskStatuses"),
		i, task) {
		const json_t *attempt = json_object_get(task, "attemptStatus");
		const char *uid = json_str(attempt, "podUID");

		if (uid != NULL && strcmp(uid, meta_str(pod, "uid")) == 0 &&
		    (strcmp(json_str(task, "instanceUID"), json_str(annotations, FC_TASK_UID)) != 0 ||
		     json_int(attempt, "id", -1) != strtol(json_str(annotations, FC_TASK_ATTEMPT_ID), NULL, 10)))
			fail_msg("Pod %s is taken for that of another Task or attempt", name);
	}
}

static void check_pods(struct story *s)
{
	const char *name;
	const char *old = NULL;
	const char *present = NULL;
	json_t *pod;

	if (s->checked_rv == s->w.rv)
		return;
	s->checked_rv = s->w.rv;
	json_object_foreach(s->w.pods, name, pod) {
		check_taken(s, name, pod);
		if (json_object_get(s->landed, meta_str(pod, "uid")) != NULL)
			continue;
		if (s->w.object == NULL || strcmp(json_str(json_at(pod, "metadata.annotations"), FC_FRAMEWORK_UID),
						  meta_str(s->w.object, "uid")) != 0) {
			old = name;
		} else {
			present = name;
			check_pod(s, name, pod);
		}
	}
	if (old != NULL && !s->background)
		fail_msg("Pod %s is there and its Framework is not", old);
	/* Who deletes with Background propagation leaves Pods behind for a while: a namesake waits for them. */
	if (old != NULL && present != NULL)
		fail_msg("Pod %s is there, and %s of the Framework before", present, old);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void round_of(struct story *s)
{
	size_t before = s->w.queued;

	world_round(&s->w);
	for (size_t i = before; i < s->w.queued; i++)
		check_call(s, &s->w.queue[i]);
}

static void write_of(struct story *s, bool faults)
{
	struct world *w = &s->w;

	if (!w->plan.write)
		return;
	if (!faults || !chance(s, 5))
		world_write(w);
	else if (chance(s, 3)) /* somebody else was quicker: 409 */
		world_stamp(w, w->object);
	else
		world_write_with(w, COMPRESS_NEVER, chance(s, 2), chance(s, 2));
	w->plan.write = false;
	if (!w->framework->fenced)
		s->wrote = true;
	check_status(s);
}

static void keep_late(struct story *s, const struct call *call)
{
	struct late_call *late = &s->late[s->late_count];

	if (s->late_count == LATE_MAX || !framework_call_wanted(s->w.framework, call))
		return;
	*late = (struct late_call){.call = {.kind = call->kind, .name = mem_strdup(call->name)}};
	framework_call_body(s->w.framework, call, &late->body);
	s->late_count++;
}

/* A create that timed out lands after all, if its name is free. */
static void land_late(struct story *s)
{
	struct late_call *late;
	struct world_result result = {0};

	if (s->late_count == 0)
		return;
	late = &s->late[--s->late_count];
	world_create(&s->w, &late->call, &late->body, &result);
	if (result.object != NULL)
		json_object_set_new(s->landed, meta_str(result.object, "uid"), json_true());
	json_decref(result.object);
	if (result.http_status == 201)
		world_after(&s->w, &late->call);
	world_drop_call(&late->call);
	buf_free(&late->body);
}

/* One call of the queue, any: the others may wait for long. */
static void carry_one(struct story *s, bool faults)
{
	struct world *w = &s->w;
	size_t at;
	struct call call;

	if (w->queued == 0)
		return;
	at = (size_t)random_between(&s->random, 0, (int64_t)w->queued - 1);
	call = w->queue[at];
	w->queue[at] = w->queue[--w->queued];
	w->fault.count = 0;
	if (framework_call_wanted(w->framework, &call) &&
	    (call.kind == CALL_CREATE_CONFIG_MAP || call.kind == CALL_CREATE_POD))
		check_call(s, &call);
	if (faults && chance(s, 5)) {
		static const int statuses[] = {0, 0, 409, 429, 500, 403, 422};

		w->fault = (struct world_fault){
			.kind = call.kind,
			.count = 1,
			.http_status = statuses[random_between(&s->random, 0, (int64_t)ARRAY_LEN(statuses) - 1)],
			.message = "x",
			.carried_out = chance(s, 3),
		};
		if (w->fault.http_status == 422)
			w->fault.reason = "Invalid";
		if (w->fault.http_status == 0 && !w->fault.carried_out &&
		    (call.kind == CALL_CREATE_CONFIG_MAP || call.kind == CALL_CREATE_POD))
			keep_late(s, &call);
	}
	w->mute = faults && chance(s, 6);
	world_answer(w, &call);
	w->mute = false;
	world_drop_call(&call);
}

static const char *some_pod(struct story *s)
{
	int64_t at = random_between(&s->random, 0, (int64_t)json_object_size(s->w.pods) - 1);
	const char *name;
	json_t *pod;

	json_object_foreach(s->w.pods, name, pod)
		if (at-- == 0)
			return name;
	return NULL;
}

/* An event that was overtaken by an answer, or by newer ones. */
static void tell_old(struct story *s)
{
	struct world *w = &s->w;
	const char *found = json_object_size(w->pods) == 0 ? NULL : some_pod(s);
	json_t *object = found == NULL || chance(s, 4) ? w->config_map : world_pod(w, found);
	struct error err;

	if (s->old != NULL && chance(s, 2)) {
		if (json_object_get(s->old, "spec") != NULL)
			framework_observe_pod(w->framework, pod_parse(s->old, &err), false);
		else
			framework_observe_config_map(w->framework, config_map_parse(s->old, &err), false);
	} else if (object != NULL && has_label(object)) {
		json_decref(s->old);
		s->old = json_deep_copy(object);
	}
}

/* What the events told late or never is told now, as a relist does. */
static void relist(struct story *s)
{
	struct world *w = &s->w;
	struct slot *slot;
	struct slot *next;
	const char *name;
	json_t *pod;
	char version[32];

	snprintf(version, sizeof(version), "%llu", (unsigned long long)++w->rv);
	world_tell_framework(w);
	world_tell_config_map(w);
	json_object_foreach(w->pods, name, pod)
		world_tell_pod(w, name);
	if (w->config_map == NULL || !has_label(w->config_map))
		framework_observe_gone(w->framework, KIND_CONFIG_MAP, WORLD_CONFIG_MAP, "", version, false);
	HASH_ITER(hh, w->framework->slots, slot, next) {
		pod = world_pod(w, slot->name);
		if (slot->meta != NULL && (pod == NULL || !has_label(pod)))
			framework_observe_gone(w->framework, KIND_POD, slot->name, "", version, false);
	}
}

static void restart(struct story *s)
{
	struct world *w = &s->w;

	/* Some of what was on the way is carried out, and nobody hears of it. */
	w->mute = true;
	for (size_t i = 0; i < w->queued; i++) {
		struct world_fault fault = {.kind = w->queue[i].kind, .count = 1, .carried_out = true};

		w->fault = fault;
		if (chance(s, 3))
			world_answer(w, &w->queue[i]);
	}
	w->mute = false;
	w->fault.count = 0;
	world_restart(w);
	s->wrote = false;
	/* A new owner is told nothing that is older than the snapshot it began with. */
	json_decref(s->old);
	s->old = NULL;
}

static bool is_deleting(const json_t *object)
{
	return meta_str(object, "deletionTimestamp") != NULL;
}

static void happen_to_pod(struct story *s)
{
	static const int codes[] = {0, 0, 1, 200, 201, 210};
	struct world *w = &s->w;
	const char *found = json_object_size(w->pods) == 0 ? NULL : some_pod(s);
	cleanup_free char *name = mem_strdup(found);
	bool deleting;

	if (name == NULL)
		return;
	deleting = is_deleting(world_pod(w, name));
	w->mute = chance(s, 6);
	switch (random_between(&s->random, 0, 9)) {
	case 0:
	case 1:
	case 2: world_pod_phase(w, name, "Running"); break;
	case 3:
	case 4: world_pod_exit(w, name, codes[random_between(&s->random, 0, (int64_t)ARRAY_LEN(codes) - 1)], ""); break;
	case 5: world_pod_phase(w, name, chance(s, 2) ? "Unknown" : "Pending"); break;
	case 6:
		if (chance(s, 3))
			world_pod_deleting(w, name);
		break;
	case 7:
		/* Not of a deleting one: what the stream says then cannot be told from its end (FRAMEWORK.md §12). */
		if (chance(s, 4) && !deleting && has_label(world_pod(w, name)))
			world_pod_unlabel(w, name);
		break;
	default:
		if (!deleting)
			break;
		world_pod_gone(w, name);
		break;
	}
	w->mute = false;
}

static void happen_to_config_map(struct story *s)
{
	struct world *w = &s->w;

	if (w->config_map == NULL || !chance(s, 4))
		return;
	if (chance(s, 3) && !is_deleting(w->config_map) && has_label(w->config_map)) {
		json_object_del(json_at(w->config_map, "metadata.labels"), FC_FRAMEWORK_NAME);
		world_stamp(w, w->config_map);
		world_tell_gone(w, KIND_CONFIG_MAP, w->config_map);
	} else {
		world_config_map_deleting(w);
	}
}

/* Roles have tasks_min to 4 Tasks; retries_min -2 allows those that go on for ever. */
static char *random_spec(struct story *s, const char *execution_type, int tasks_min, int retries_min)
{
	struct buf out = {0};
	int roles = (int)random_between(&s->random, 0, 2);

	buf_printf(&out, "{'executionType':'%s','retryPolicy':{'fancyRetryPolicy':%s,'maxRetryCount':%d},'taskRoles':[",
		   execution_type, chance(s, 2) ? "true" : "false", (int)random_between(&s->random, retries_min, 2));
	for (int i = 0; i <= roles; i++)
		buf_printf(&out,
			   "%s{'name':'%c','taskNumber':%d,'frameworkAttemptCompletionPolicy':{'minFailedTaskCount':%d,"
			   "'minSucceededTaskCount':%d},'task':{'retryPolicy':{'fancyRetryPolicy':%s,'maxRetryCount':"
			   "%d},'podGracefulDeletionTimeoutSec':%s,'pod':{'spec':{}}}}",
			   i > 0 ? "," : "", "abc"[(i + roles) % 3], (int)random_between(&s->random, tasks_min, 4),
			   (int)random_between(&s->random, -1, 3), (int)random_between(&s->random, -1, 3),
			   chance(s, 2) ? "true" : "false", (int)random_between(&s->random, retries_min, 2),
			   chance(s, 3) ? "100" : "null");
	buf_puts(&out, "]}");
	return buf_steal(&out);
}

static void edit(struct story *s)
{
	bool finite = chance(s, 3);
	cleanup_free char *spec = finite ? random_spec(s, "Start", 1, 0)
					 : random_spec(s,
						       chance(s, 12)   ? "Stop"
						       : chance(s, 12) ? "Create"
								       : "Start",
						       0, -2);

	if (s->w.object == NULL)
		return;
	s->finite = finite;
	s->w.mute = chance(s, 6);
	world_edit(&s->w, spec);
	s->w.mute = false;
}

/* Nobody mutes what tells of a Framework's end: that its owner may act until it has heard is the shell's affair. */
static void framework_gone(struct story *s)
{
	json_decref(s->w.object);
	s->w.object = NULL;
	json_decref(s->last_status);
	s->last_status = NULL;
	framework_observe_absent(s->w.framework);
}

/* What the garbage collector does: dependents of what is gone go; foreground deletion waits for them. */
static void collect_garbage(struct story *s)
{
	struct world *w = &s->w;
	bool owned = w->config_map != NULL && w->object != NULL &&
		     strcmp(json_str(json_at(w->config_map, "metadata.ownerReferences.0"), "uid"),
			    meta_str(w->object, "uid")) == 0;

	w->slow_gc = false;
	if (w->config_map != NULL && !is_deleting(w->config_map) && (!owned || is_deleting(w->object)))
		world_config_map_deleting(w);
	else
		world_collect(w);
	w->slow_gc = true;
	if (w->object != NULL && is_deleting(w->object) && w->config_map == NULL)
		framework_gone(s);
}

static void delete_framework(struct story *s)
{
	struct world *w = &s->w;

	if (w->object == NULL || is_deleting(w->object))
		return;
	if (chance(s, 2)) {
		s->background = true;
		framework_gone(s);
	} else {
		world_mark_deleting(w, w->object, 0);
		world_tell_framework(w);
	}
}

static void create_framework(struct story *s)
{
	cleanup_free char *spec = random_spec(s, chance(s, 8) ? "Create" : "Start", 0, -2);

	s->finite = false;
	world_create_framework(&s->w, spec, NULL);
}

static void step(struct story *s)
{
	static const int64_t waits[] = {1, 20, 100, 500, 1000, 5000, 60000, 400000};
	struct world *w = &s->w;

	if (w->object == NULL && chance(s, 4))
		create_framework(s);
	else if (chance(s, 150))
		delete_framework(s);
	switch (random_between(&s->random, 0, 39)) {
	case 0: edit(s); break;
	case 1: restart(s); break;
	case 2: relist(s); break;
	case 3: land_late(s); break;
	case 4: happen_to_config_map(s); break;
	case 5:
	case 6: collect_garbage(s); break;
	case 7:
		framework_fence(w->framework);
		s->wrote = false;
		break;
	case 20: tell_old(s); break;
	case 8: w->time.live = !w->time.live || !chance(s, 3); break;
	case 9:
	case 10:
	case 11: world_advance_ms(w, waits[random_between(&s->random, 0, (int64_t)ARRAY_LEN(waits) - 1)]); break;
	case 12:
	case 13:
	case 14:
	case 15:
	case 16:
	case 17:
	case 18:
	case 19: happen_to_pod(s); break;
	case 21:
	case 22:
	case 23:
	case 24: write_of(s, true); break;
	default: carry_one(s, true); break;
	}
	check_pods(s);
	round_of(s);
}

/* A Pod that came late, after its ConfigMap went: the garbage collector's. */
static bool is_orphan(struct story *s, json_t *pod)
{
	return s->w.config_map == NULL || strcmp(json_str(json_at(pod, "metadata.ownerReferences.0"), "uid"),
						 meta_str(s->w.config_map, "uid")) != 0;
}

enum ending { ENDS_BY_ITSELF, ENDS_BY_STOP, ENDS_BY_DELETION };

/* What is to end it all is done. */
static enum ending begin_to_end(struct story *s)
{
	struct world *w = &s->w;
	enum ending ending = (enum ending)random_between(&s->random, ENDS_BY_ITSELF, ENDS_BY_DELETION);
	cleanup_free char *spec = NULL;

	if (w->object == NULL || is_deleting(w->object))
		return ENDS_BY_DELETION;
	if (ending == ENDS_BY_DELETION) {
		world_mark_deleting(w, w->object, 0);
		world_tell_framework(w);
		return ending;
	}
	if (ending == ENDS_BY_ITSELF && s->finite)
		return ending;
	spec = ending == ENDS_BY_STOP ? random_spec(s, "Stop", 0, -2) : random_spec(s, "Start", 1, 0);
	world_edit(w, spec);
	return ending;
}

/* Rounds, writes and calls until there is nothing more to do for now. */
static void work_off(struct story *s)
{
	struct world *w = &s->w;

	for (int idle = 0, busy = 0; idle < 2 && busy < 50; busy++) {
		round_of(s);
		idle = w->plan.write || w->queued > 0 ? 0 : idle + 1;
		write_of(s, false);
		while (w->queued > 0)
			carry_one(s, false);
	}
}

static bool is_over(const struct story *s, enum ending ending)
{
	const struct world *w = &s->w;

	if (w->config_map != NULL || json_object_size(w->pods) > 0)
		return false;
	if (ending == ENDS_BY_DELETION)
		return w->object == NULL;
	return w->framework->status.state == STATE_COMPLETED && w->framework->written == w->framework->version;
}

/* No more faults, and Pods end: everything completes. */
static void come_to_rest(struct story *s)
{
	static const int codes[] = {0, 0, 1, 210};
	struct world *w = &s->w;
	enum ending ending;

	while (s->late_count > 0)
		land_late(s);
	w->fault.count = 0;
	w->slow_kubelet = false;
	if (!w->time.live)
		w->time.live_since_ms = w->time.boot_ms;
	w->time.live = true;
	ending = begin_to_end(s);
	relist(s);
	for (int i = 0; i < 400; i++) {
		const char *name;
		void *next;
		json_t *pod;

		work_off(s);
		check_pods(s);
		if (is_over(s, ending))
			return;
		json_object_foreach_safe(w->pods, next, name, pod) {
			if (is_deleting(pod) || is_orphan(s, pod))
				world_pod_gone(w, name);
			else if (ending == ENDS_BY_ITSELF && chance(s, 2))
				world_pod_exit(w, name,
					       codes[random_between(&s->random, 0, (int64_t)ARRAY_LEN(codes) - 1)], "");
		}
		collect_garbage(s);
		if (w->plan.wake_ms != INT64_MAX && w->plan.wake_ms > w->time.boot_ms)
			world_advance_ms(w, w->plan.wake_ms - w->time.boot_ms);
	}
	{
		cleanup_free char *text = w->object == NULL ? mem_strdup("none") : json_text(w->object);
		cleanup_free char *pods = json_text(w->pods);

		fail_msg("does not end (%d): ConfigMap %s, Pods %s, Framework %s", (int)ending,
			 w->config_map == NULL ? "gone" : "there", pods, text);
	}
}

static void tell(unsigned long long one)
{
	static struct story s;
	cleanup_free char *spec = NULL;
	int64_t steps;

	memset(&s, 0, sizeof(s));
	random_init_seed(&s.random, one);
	world_init(&s.w);
	s.landed = json_object();
	s.wrote = true; /* nobody had this Framework before */
	random_init_seed(&s.w.random, one);
	spec = random_spec(&s, "Start", 0, -2);
	world_create_framework(&s.w, spec, NULL);
	s.w.slow_kubelet = true;
	s.w.slow_gc = true;
	/* Most are short: many of them see more than few long ones. */
	steps = random_between(&s.random, 1, chance(&s, 3) ? STEPS_MAX : STEPS_MAX / 3);
	for (int64_t i = 0; i < steps; i++)
		step(&s);
	come_to_rest(&s);
	json_decref(s.last_status);
	json_decref(s.landed);
	json_decref(s.old);
	world_end(&s.w);
}

/* ---- running them ------------------------------------------------------------------------------------------------ */

static void say_seed(int number)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "replay with SYNC_SEED=%llu\n", seed);

	if (write(STDERR_FILENO, text, (size_t)len) == len && number != 0)
		signal(number, SIG_DFL); /* and abort() goes on to abort */
}

static int on_failure(void **state)
{
	(void)state;
	if (seed != 0)
		say_seed(0);
	return 0;
}

/* Every step-th story from first on. */
static void tell_all(unsigned long long first, unsigned long long last, unsigned long long step)
{
	for (seed = first; seed <= last; seed += step)
		tell(seed);
	seed = 0;
}

static unsigned long long number_from(const char *variable, unsigned long long otherwise)
{
	const char *text = getenv(variable);

	return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

/* A story that fails in a process of its own ends that as a test that failed. */
static void tell_in_parallel(unsigned long long last, unsigned long long jobs)
{
	pid_t children[JOBS_MAX];
	int failed = 0;

	assert_in_range(jobs, 1, JOBS_MAX);
	for (unsigned long long i = 0; i < jobs; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] > 0)
			continue;
		tell_all(1 + i, last, jobs);
		_exit(0);
	}
	for (unsigned long long i = 0; i < jobs; i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		failed += status != 0;
	}
	assert_int_equal(failed, 0);
}

static void test_stories(void **state)
{
	unsigned long long one = number_from("SYNC_SEED", 0);
	unsigned long long last = number_from("SYNC_STORIES", STORIES);
	unsigned long long jobs = number_from("SYNC_JOBS", 1);

	(void)state;
	signal(SIGABRT, say_seed);
	if (one != 0)
		tell_all(one, one, 1);
	else if (jobs > 1)
		tell_in_parallel(last, jobs);
	else
		tell_all(1, last, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_stories, on_failure)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
