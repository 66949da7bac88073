/* What may happen in a story of the model test: Pods run, end, are deleted or lose their label; the spec is edited, the
 * Framework deleted and made again; writes and calls are lost or late, events come late, the owner restarts at any
 * time. One step is one of these, drawn by the story's seed. */
#ifndef TESTS_UNIT_SYNC_STEPS_H
#define TESTS_UNIT_SYNC_STEPS_H

#include "tests/objects.h"
#include "tests/unit/sync_checks.h"

static inline void reconcile_of(struct story *s)
{
	size_t before = s->w.queued;

	world_reconcile(&s->w);
	for (size_t i = before; i < s->w.queued; i++)
		check_call(s, &s->w.queue[i]);
}

static inline void write_of(struct story *s, bool faults)
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
	if (!framework_fenced(w->framework))
		s->wrote = true;
	check_status(s);
}

static inline void keep_late(struct story *s, const struct call *call)
{
	struct late_call *late = &s->late[s->late_count];

	if (s->late_count == LATE_MAX || !framework_call_wanted(s->w.framework, call))
		return;
	*late = (struct late_call){.call = {.kind = call->kind, .name = mem_strdup(call->name)}};
	framework_call_body(s->w.framework, call, &late->body);
	s->late_count++;
}

/* A create that timed out lands after all, if its name is free. */
static inline void land_late(struct story *s)
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
static inline void carry_one(struct story *s, bool faults)
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

static inline const char *some_pod(struct story *s)
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
static inline void tell_old(struct story *s)
{
	struct world *w = &s->w;
	const char *found = json_object_size(w->pods) == 0 ? NULL : some_pod(s);
	json_t *object = found == NULL || chance(s, 4) ? w->config_map : world_pod(w, found);
	struct error err;

	if (s->old != NULL && chance(s, 2)) {
		if (json_object_get(s->old, "spec") != NULL)
			framework_observe_pod(w->framework, pod_parse(s->old, &err));
		else
			framework_observe_config_map(w->framework, config_map_parse(s->old, &err));
	} else if (object != NULL && has_label(object)) {
		json_decref(s->old);
		s->old = json_deep_copy(object);
	}
}

/* What the events told late or never is told now, as a relist does. */
static inline void relist(struct story *s)
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

static inline void restart(struct story *s)
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

static inline bool is_deleting(const json_t *object)
{
	return meta_str(object, "deletionTimestamp") != NULL;
}

static inline void happen_to_pod(struct story *s)
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
		/* Not of a deleting one: what the stream says then cannot be told from its end (CONTRACT.md §12). */
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

static inline void happen_to_config_map(struct story *s)
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
static inline char *random_spec(struct story *s, const char *execution_type, int tasks_min, int retries_min)
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

static inline void edit(struct story *s)
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
static inline void framework_gone(struct story *s)
{
	json_decref(s->w.object);
	s->w.object = NULL;
	json_decref(s->last_status);
	s->last_status = NULL;
	framework_observe_absent(s->w.framework, NULL);
}

/* What the garbage collector does: dependents of what is gone go; foreground deletion waits for them. */
static inline void collect_garbage(struct story *s)
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

static inline void delete_framework(struct story *s)
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

static inline void create_framework(struct story *s)
{
	cleanup_free char *spec = random_spec(s, chance(s, 8) ? "Create" : "Start", 0, -2);

	s->finite = false;
	world_create_framework(&s->w, spec, NULL);
}

static inline void step(struct story *s)
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
	reconcile_of(s);
}

#endif
