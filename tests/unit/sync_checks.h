/* A story of the model test, and what must hold after every step of it:
 *   - no create or delete is wanted unless what it rests on is in the status on the server (CONTRACT.md §12)
 *   - the status on the server only moves forward, and a completionStatus never changes
 *   - no Pod is there whose Task attempt is over, or whose Framework attempt or Framework is another one (G1 to G4) */
#ifndef TESTS_UNIT_SYNC_CHECKS_H
#define TESTS_UNIT_SYNC_CHECKS_H

#include "common/base/random.h"
#include "tests/unit/sync_world.h"

enum { LATE_MAX = 8 };

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

static inline bool chance(struct story *s, int one_in)
{
	return random_between(&s->random, 1, one_in) == 1;
}

static inline enum attempt_state state_of(const json_t *status)
{
	enum attempt_state state = STATE_COUNT;

	attempt_state_parse(json_str(status, "state"), &state);
	return state;
}

static inline json_t *server_status(struct story *s)
{
	return json_object_get(s->w.object, "status");
}

static inline json_t *find_role(json_t *status, const char *name)
{
	return json_find(json_at(status, "attemptStatus.taskRoleStatuses"), "name", name);
}

/* The Task of the call's Pod as it is on the server, if it is the one in memory; else NULL. */
static inline json_t *stored_task(struct story *s, const struct call *call, size_t *role, size_t *index)
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

static inline bool completion_stored(const json_t *attempt)
{
	return json_is_object(json_object_get(attempt, "completionStatus"));
}

#define must(s, condition)                                                                                          \
	do {                                                                                                        \
		if (!(condition)) {                                                                                 \
			cleanup_free char *text_ = json_text(server_status(s));                                     \
			fail_msg("%s %s: not %s; stored: %s", call_kind_name(call), call->name, #condition, text_); \
		}                                                                                                   \
	} while (0)

static inline void check_create(struct story *s, const struct call *call)
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

static inline void check_delete(struct story *s, const struct call *call)
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
	 * what is not to be seen is deleted to be sure that it is gone. */
	if (uid == NULL || strcmp(uid, call->uid) != 0 || slot_lost(framework, slot) || call->force)
		return;
	must(s, stored != NULL);
	must(s, state_of(stored) >= STATE_DELETION_PENDING || state == STATE_CREATION_REQUESTED);
	must(s, completion_stored(json_object_get(stored, "attemptStatus")));
}

static inline void check_call(struct story *s, const struct call *call)
{
	if (call->kind == CALL_GET_CONFIG_MAP || call->kind == CALL_GET_POD)
		return;
	must(s, s->wrote);
	if (call->kind == CALL_CREATE_CONFIG_MAP || call->kind == CALL_CREATE_POD)
		check_create(s, call);
	else
		check_delete(s, call);
}

static inline void check_forward(const json_t *before, const json_t *after, const char *what, bool task)
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
static inline void check_status(struct story *s)
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
static inline void check_pod(struct story *s, const char *name, json_t *pod)
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
static inline void check_taken(struct story *s, const char *name, json_t *pod)
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

static inline void check_pods(struct story *s)
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

#endif
