/* A world around one Framework for tests of the pure core: an API server that keeps one Framework, its ConfigMap and
 * its Pods as JSON, an owner that carries out plans, and a clock. No I/O: everything happens when a story says so.
 *
 *   world_begin(&w, "{'taskRoles':[…]}");  the Framework is created and seen (' stands for ")
 *   world_settle(&w);                      reconciles, writes and calls until nothing more is wanted
 *   world_pod_phase(&w, "f-a-0", "Running");
 *   assert_task(&w, 0, 0, STATE_RUNNING);
 *   world_end(&w);
 *
 * Every function is static inline, so that each test program takes what it needs. */
#ifndef TESTS_UNIT_SYNC_WORLD_H
#define TESTS_UNIT_SYNC_WORLD_H

#include "reconciler/sync/fold.h"
#include "tests/unit/sync_server.h"

/* ---- reconciles and writes
 * ------------------------------------------------------------------------------------------- */

static inline void world_check_counters(const struct framework *framework)
{
	for (size_t r = 0; r < framework->status.attempt.role_count; r++) {
		struct role_work counted = role_count(&framework->status.attempt.roles[r]);
		const struct role_work *kept = &framework->roles[r];

		assert_int_equal(counted.live, kept->live);
		assert_int_equal(counted.running, kept->running);
		assert_int_equal(counted.ending, kept->ending);
		assert_int_equal(counted.over, kept->over);
		assert_int_equal(counted.ended, kept->ended);
		assert_int_equal(counted.without_ip, kept->without_ip);
		assert_int_equal(counted.completed, kept->completed);
		assert_int_equal(counted.failed, kept->failed);
		assert_int_equal(counted.succeeded, kept->succeeded);
		assert_int_equal(counted.creation_pending, kept->creation_pending);
		assert_int_equal(counted.leaving, kept->leaving);
	}
}

/* Folds and unfolds the Framework; false: it is not at rest. */
static inline bool world_fold(struct world *w)
{
	struct folded *folded = framework_fold(w->framework);

	if (folded == NULL)
		return false;
	w->framework = framework_unfold(folded);
	return true;
}

static inline void world_reconcile(struct world *w)
{
	framework_sync(w->framework, &w->config, &w->time, &w->random, &w->plan);
	for (size_t i = 0; i < w->plan.call_count; i++) {
		assert_true(w->queued < ARRAY_LEN(w->queue));
		/* Calls about one object never overtake each other. */
		for (size_t j = 0; j < w->queued; j++)
			if (strcmp(w->queue[j].name, w->plan.calls[i].name) == 0)
				fail_msg("%s %s while another is on the way", call_kind_name(&w->plan.calls[i]),
					 w->queue[j].name);
		w->queue[w->queued++] = w->plan.calls[i];
		w->plan.calls[i] = (struct call){0};
	}
	for (size_t i = 0; i < w->plan.snapshot_count; i++) {
		plan_snapshot_write(&w->plan.snapshots[i], &w->snapshots);
		buf_putc(&w->snapshots, '\n');
	}
	for (size_t i = 0; i < w->plan.event_count; i++)
		buf_printf(&w->events, "%s: %s\n", w->plan.events[i].reason, w->plan.events[i].message);
	world_fold(w); /* that is never to be seen */
	world_check_counters(w->framework);
}

/* The status as PUT …/status would carry it, with optimistic concurrency. The write reaches the server when
 * carried_out, and the owner hears of it when answered. */
static inline void world_write_with(struct world *w, enum compress_when compress, bool carried_out, bool answered)
{
	cleanup_buf struct buf body = {0};
	cleanup_json json_t *put = NULL;
	struct error err;
	uint64_t version;

	if (w->unsure) { /* as the shell does: read, then write on the version that was read */
		w->unsure = false;
		if (w->object == NULL)
			framework_observe_absent(w->framework, NULL);
		else
			world_observe_framework(w->framework, w->object, OBSERVED_ANSWER);
	}
	if (!w->framework->exists)
		return;
	framework_status_body(w->framework, compress, &body);
	version = framework_write_started(w->framework, w->time.boot_ms);
	put = json_parse(body.data, body.len, &err);
	if (put == NULL)
		fail_msg("status body: %s", err.message);
	w->writes++;
	if (w->object == NULL || strcmp(meta_str(put, "uid"), meta_str(w->object, "uid")) != 0 ||
	    strcmp(meta_str(put, "resourceVersion"), meta_str(w->object, "resourceVersion")) != 0) {
		w->unsure = true;
		framework_write_failed(w->framework);
		return;
	}
	if (carried_out) {
		json_object_set(w->object, "status", json_object_get(put, "status"));
		world_stamp(w, w->object);
	}
	w->unsure = !carried_out || !answered;
	if (w->unsure)
		framework_write_failed(w->framework);
	else
		framework_written(w->framework, version, meta_str(w->object, "resourceVersion"));
}

static inline void world_write(struct world *w)
{
	world_write_with(w, COMPRESS_NEVER, true, true);
}

/* One reconcile and what it wants, at once. Returns whether anything was done. */
static inline bool world_step(struct world *w)
{
	bool busy = false;

	world_reconcile(w);
	if (w->plan.write && !w->hold_writes) {
		world_write(w);
		busy = true;
	}
	if (w->queued > 0 && !w->hold_calls) {
		world_carry(w);
		busy = true;
	}
	return busy;
}

/* The first planned call of that kind that was not carried out yet; NULL: none. */
static inline struct call *world_queued(struct world *w, enum call_kind kind)
{
	for (size_t i = 0; i < w->queued; i++)
		if (w->queue[i].kind == kind)
			return &w->queue[i];
	return NULL;
}

static inline void world_advance_ms(struct world *w, int64_t ms)
{
	w->time.boot_ms += ms;
	w->time.wall_ms += ms;
}

static inline void world_advance(struct world *w, int64_t sec)
{
	world_advance_ms(w, sec * 1000);
}

/* At rest, what is stored is what is in memory: no change is forgotten. */
static inline void world_check_stored(struct world *w)
{
	cleanup_buf struct buf text = {0};
	cleanup_json json_t *status = NULL;
	cleanup_json json_t *object = NULL;
	cleanup_free char *stored = NULL;
	struct error err;

	if (!w->framework->has_status || w->framework->version != w->framework->written || w->object == NULL ||
	    w->mute || w->unsure)
		return;
	framework_status_write(&text, &w->framework->status, WORLD_NAME, NULL);
	status = json_parse(text.data, text.len, &err);
	if (json_at(w->object, "status.attemptStatus.taskRoleStatusesCompressed") == NULL)
		object = json_incref(w->object);
	else
		object = json_deep_copy(w->object);
	if (framework_decompress(object, &err) < 0)
		fail_msg("the status that is stored: %s", err.message);
	if (json_equal(status, json_object_get(object, "status")))
		return;
	stored = json_text(json_object_get(object, "status"));
	fail_msg("in memory is %s, and stored is %s", text.data, stored);
}

/* Reconciles until nothing more is wanted within within_ms (write delays and short backoffs are shorter than 2 s). */
static inline void world_settle_for(struct world *w, int64_t within_ms)
{
	int64_t end_ms = w->time.boot_ms + within_ms;

	for (int i = 0; i < 10000; i++) {
		if (world_step(w))
			continue;
		if (w->plan.wake_ms == INT64_MAX || w->plan.wake_ms > end_ms) {
			world_check_stored(w);
			return;
		}
		assert_true(w->plan.wake_ms > w->time.boot_ms || w->hold_writes);
		if (w->plan.wake_ms > w->time.boot_ms)
			world_advance_ms(w, w->plan.wake_ms - w->time.boot_ms);
	}
	fail_msg("does not settle: %s", w->log.data);
}

/* The same, and time goes on until then. */
static inline void world_pass(struct world *w, int64_t sec)
{
	int64_t end_ms = w->time.boot_ms + sec * 1000;

	world_settle_for(w, sec * 1000);
	if (end_ms > w->time.boot_ms)
		world_advance_ms(w, end_ms - w->time.boot_ms);
}

static inline void world_settle(struct world *w)
{
	world_settle_for(w, 2000);
}

/* ---- beginning and ending ---------------------------------------------------------------------------------------- */

static inline void world_clear_log(struct world *w)
{
	buf_clear(&w->log);
	buf_clear(&w->snapshots);
	buf_clear(&w->events);
	memset(w->made, 0, sizeof(w->made));
	w->writes = 0;
}

/* An empty world: no Framework yet. */
static inline void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->config = (struct sync_config){
		.failures = &w->failures,
		.creation_timeout_sec = 300,
		.completed_retain_sec = 2592000,
		.conflict_delay_min_sec = 60,
		.conflict_delay_max_sec = 900,
		.snapshot_framework_retry = true,
		.snapshot_framework_deletion = true,
		.snapshot_task_retry = true,
		.snapshot_task_deletion = true,
	};
	w->time = (struct sync_time){.wall_ms = 1700000000000, .boot_ms = 1000000, .live = true};
	random_init_seed(&w->random, 1);
	w->framework = framework_new(WORLD_NS, WORLD_NAME);
	w->pods = json_object();
	w->services = json_object();
	w->pod_groups = json_object();
	w->workloads = json_object();
	w->kueue_objects = json_object();
	for (int i = 0; i < OWNED_APIS; i++)
		w->served[i] = (struct api_served){.state = SERVED_YES, .until_ms = INT64_MAX};
	w->config.served = w->served;
	w->rv = 100;
	plan_reset(&w->plan);
	buf_puts(&w->log, "");
	buf_puts(&w->snapshots, "");
	buf_puts(&w->events, "");
}

/* Somebody creates the Framework; status is NULL for none. */
static inline void world_create_framework(struct world *w, const char *spec, const char *status)
{
	w->object = json_of("{'apiVersion':'frameworkcontroller.microsoft.com/v1','kind':'Framework',"
			    "'metadata':{'name':'" WORLD_NAME "','namespace':'" WORLD_NS "','generation':1}}");
	world_new_uid(w, w->object, "fw");
	world_stamp(w, w->object);
	json_object_set_new(w->object, "spec", json_of(spec));
	if (status != NULL)
		json_object_set_new(w->object, "status", json_of(status));
	world_tell_framework(w);
}

static inline void world_begin(struct world *w, const char *spec)
{
	world_init(w);
	world_create_framework(w, spec, NULL);
}

static inline void world_end(struct world *w)
{
	for (size_t i = 0; i < w->queued; i++)
		world_drop_call(&w->queue[i]);
	framework_free(w->framework);
	plan_reset(&w->plan);
	json_decref(w->object);
	json_decref(w->config_map);
	json_decref(w->pods);
	json_decref(w->services);
	json_decref(w->pod_groups);
	json_decref(w->workloads);
	json_decref(w->kueue_objects);
	buf_free(&w->log);
	buf_free(&w->snapshots);
	buf_free(&w->events);
}

/* Somebody edits the spec. */
static inline void world_edit(struct world *w, const char *spec)
{
	json_t *meta = json_object_get(w->object, "metadata");

	json_object_set_new(w->object, "spec", json_of(spec));
	json_object_set_new(meta, "generation", json_integer(json_int(meta, "generation", 0) + 1));
	world_stamp(w, w->object);
	world_tell_framework(w);
}

/* The object the Framework was taken from is read again by a new owner, which knows nothing else. Calls of the old one
 * that were not carried out yet never are. */
static inline void world_restart(struct world *w)
{
	const char *name;
	json_t *pod;

	for (size_t i = 0; i < w->queued; i++)
		world_drop_call(&w->queue[i]);
	w->queued = 0;
	w->unsure = false;
	framework_free(w->framework);
	w->framework = framework_new(WORLD_NS, WORLD_NAME);
	w->framework->kueue.on = w->config.kueue;
	world_tell_config_map(w);
	world_tell_framework(w);
	world_tell_workload(w);
	json_object_foreach(w->pods, name, pod)
		world_tell_pod(w, name);
	framework_fence(w->framework);
}

/* ---- what is expected -------------------------------------------------------------------------------------------- */

static inline struct task_status *world_task(struct world *w, size_t role, size_t index)
{
	assert_true(role < w->framework->status.attempt.role_count);
	assert_true(index < w->framework->status.attempt.roles[role].task_count);
	return &w->framework->status.attempt.roles[role].tasks[index];
}

#define assert_state(w, wanted) \
	assert_string_equal(attempt_state_name((w)->framework->status.state), attempt_state_name(wanted))
#define assert_task(w, role, index, wanted) \
	assert_string_equal(attempt_state_name(world_task(w, role, index)->state), attempt_state_name(wanted))
/* Code of the attempt's completionStatus. */
#define assert_code(w, wanted)                                                             \
	do {                                                                               \
		assert_non_null((w)->framework->status.attempt.completion);                \
		assert_int_equal((w)->framework->status.attempt.completion->code, wanted); \
	} while (0)
#define assert_task_code(w, role, index, wanted)                                                \
	do {                                                                                    \
		assert_non_null(world_task(w, role, index)->attempt.completion);                \
		assert_int_equal(world_task(w, role, index)->attempt.completion->code, wanted); \
	} while (0)
/* The calls since the last look. */
#define assert_calls(w, wanted)                             \
	do {                                                \
		assert_string_equal((w)->log.data, wanted); \
		buf_clear(&(w)->log);                       \
	} while (0)
#define assert_contains(text, part)                                      \
	do {                                                             \
		if (strstr(text, part) == NULL)                          \
			fail_msg("\"%s\" is not in \"%s\"", part, text); \
	} while (0)
#define assert_lacks(text, part)                                     \
	do {                                                         \
		if (strstr(text, part) != NULL)                      \
			fail_msg("\"%s\" is in \"%s\"", part, text); \
	} while (0)

/* The status in memory, as JSON. */
static inline json_t *world_status(struct world *w)
{
	cleanup_buf struct buf text = {0};
	struct error err;
	json_t *status;

	framework_status_write(&text, &w->framework->status, WORLD_NAME, NULL);
	status = json_parse(text.data, text.len, &err);
	if (status == NULL)
		fail_msg("status: %s", err.message);
	return status;
}

/* One role "a" with n Tasks; role_rest and spec_rest are further members with a comma first, ' for ". */
static inline char *spec_of(int n, const char *role_rest, const char *task_rest, const char *spec_rest)
{
	return mem_printf("{'taskRoles':[{'name':'a','taskNumber':%d,'task':{'pod':{'spec':{'containers':[{'name':'c',"
			  "'image':'i'}]}}%s}%s}]%s}",
			  n, task_rest, role_rest, spec_rest);
}

static inline void world_begin_of(struct world *w, int n, const char *role_rest, const char *task_rest,
				  const char *spec_rest)
{
	cleanup_free char *spec = spec_of(n, role_rest, task_rest, spec_rest);

	world_begin(w, spec);
}

static inline void world_edit_of(struct world *w, int n, const char *role_rest, const char *task_rest,
				 const char *spec_rest)
{
	cleanup_free char *spec = spec_of(n, role_rest, task_rest, spec_rest);

	world_edit(w, spec);
}

/* Up to the point where the Pods of n Tasks are to be created, that of Task 0 first. */
static inline void world_begin_creating(struct world *w, int n)
{
	world_begin_of(w, n, ",'frameworkAttemptCompletionPolicy':{}", "", "");
	world_reconcile(w);
	world_write(w);
	world_reconcile(w);
	world_carry(w);
	world_reconcile(w);
	assert_int_equal(w->queued, 1);
	world_clear_log(w);
}

/* A minute and more, in which whoever looks again and again looks. */
static inline void world_pass_minutes(struct world *w)
{
	for (int i = 0; i < 90; i++) {
		world_advance(w, 1);
		world_settle(w);
	}
}

/* The next requests of a kind are refused with that message. */
static inline void world_forbid(struct world *w, enum call_kind kind, int count, const char *message)
{
	w->fault = (struct world_fault){
		.kind = kind, .count = count, .http_status = 403, .reason = "Forbidden", .message = message};
}

/* The object of that name is a former Framework's: the garbage collector deletes it, and that is no conflict. */
static inline void world_expect_former_goes(struct world *w, json_t *objects, const char *name)
{
	world_pass(w, 5);
	assert_lacks(w->events.data, "NamingConflict");
	json_object_del(objects, name);
	world_pass_minutes(w);
	assert_task(w, 0, 0, STATE_PREPARING);
	assert_lacks(w->events.data, "NamingConflict");
}

#endif
