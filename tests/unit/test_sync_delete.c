/* Objects that go: deleted by others, without their label, late, stray; what makes an absence certain (CONTRACT.md
 * §12), the creation timeouts (CONTRACT.md §5, §6) and the force-delete timer (CONTRACT.md §2). */
#include "tests/objects.h"
#include "tests/unit/sync_world.h"

#define STAYS ",'frameworkAttemptCompletionPolicy':{}"
#define RETRY_FANCY ",'retryPolicy':{'fancyRetryPolicy':true}"

static void begin_running(struct world *w, int n, const char *task_rest)
{
	world_begin_of(w, n, STAYS, task_rest, "");
	world_settle(w);
	for (int i = 0; i < n; i++)
		world_pod_phase(w, pod_name("a", (size_t)i), "Running");
	world_settle(w);
	assert_state(w, STATE_RUNNING);
	world_clear_log(w);
}

static const char *task_diagnostics(struct world *w, size_t index)
{
	return world_task(w, 0, index)->attempt.completion->diagnostics;
}

/* ---- Pods deleted by others -------------------------------------------------------------------------------------- */

static void test_pod_deleted(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 2, "");
	w.slow_kubelet = true;
	world_pod_deleting(&w, "f-a-0");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_DELETING);
	assert_task_code(&w, 0, 0, CODE_POD_EXTERNAL_DELETED);
	assert_string_equal(task_diagnostics(&w, 0), "Pod is being deleted by others");
	/* A deleting Pod is never classified by its phase, and its completion never changes. */
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_DELETING);
	assert_task_code(&w, 0, 0, CODE_POD_EXTERNAL_DELETED);
	world_pod_gone(&w, "f-a-0");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	assert_calls(&w, "get ConfigMap f-attempt; ");

	/* Gone at once, by an event that says so: certain, if the ConfigMap is still there. */
	world_pod_gone(&w, "f-a-1");
	world_settle(&w);
	assert_task(&w, 0, 1, STATE_COMPLETED);
	assert_calls(&w, "get ConfigMap f-attempt; delete ConfigMap f-attempt; ");
	assert_string_equal(task_diagnostics(&w, 1), "Pod was deleted by others");
	world_end(&w);
}

/* Absence alone is not enough: a GET must say so. One that fails is asked again, later. */
static void test_absence_confirmed(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 2, "");
	/* It goes in a gap of the stream: a snapshot does not show it. */
	json_object_del(w.pods, "f-a-0");
	framework_observe_gone(w.framework, KIND_POD, "f-a-0", "", "999999", false);
	w.fault = (struct world_fault){.kind = CALL_GET_POD, .count = 3, .http_status = 500, .message = "x"};
	world_reconcile(&w);
	assert_task(&w, 0, 0, STATE_RUNNING);
	assert_int_equal(w.queued, 1);
	assert_string_equal(w.queue[0].uid, world_task(&w, 0, 0)->attempt.pod_uid);
	world_settle_for(&w, 10000);
	assert_calls(&w, "get Pod f-a-0; get Pod f-a-0; get Pod f-a-0; get Pod f-a-0; get ConfigMap f-attempt; ");
	assert_task(&w, 0, 0, STATE_COMPLETED);
	assert_task_code(&w, 0, 0, CODE_POD_EXTERNAL_DELETED);
	world_end(&w);
}

/* A 404 that is not the API server's word (a proxy's, say) is no answer, to whatever was asked. */
static void test_absence_of_anybody(void **state)
{
	static const enum call_kind kinds[] = {CALL_GET_POD, CALL_DELETE_POD, CALL_GET_CONFIG_MAP};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct world w;

		begin_running(&w, 1, "");
		w.fault = (struct world_fault){
			.kind = kinds[i], .count = 1, .http_status = 404, .message = "default backend - 404"};
		if (kinds[i] == CALL_GET_POD) {
			framework_observe_gone(w.framework, KIND_POD, "f-a-0", "", "999999", false);
		} else if (kinds[i] == CALL_GET_CONFIG_MAP) {
			framework_observe_gone(w.framework, KIND_CONFIG_MAP, WORLD_CONFIG_MAP, "", "999999", false);
		} else {
			w.slow_kubelet = true;
			world_pod_exit(&w, "f-a-0", 0, "");
		}
		world_settle_for(&w, 5000);
		assert_int_equal(w.fault.count, 0);
		assert_int_equal(w.made[kinds[i]], 2);
		assert_task(&w, 0, 0, kinds[i] == CALL_DELETE_POD ? STATE_DELETING : STATE_RUNNING);
		assert_state(&w, STATE_RUNNING);
		world_end(&w);
	}
}

/* What a GET answers that is no object at all says nothing either. */
static void test_unreadable_answer(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 2, "");
	world_edit_of(&w, 1, STAYS, "", "");
	world_settle(&w);
	world_clear_log(&w);
	world_edit_of(&w, 2, STAYS, "", "");
	world_reconcile(&w);
	world_write(&w);
	world_edit_of(&w, 1, STAYS, "", ""); /* before its Pod is made: is there one already? */
	w.fault = (struct world_fault){.kind = CALL_GET_POD, .count = 1, .http_status = 200};
	world_settle_for(&w, 5000);
	assert_int_equal(w.fault.count, 0);
	assert_int_equal(w.made[CALL_GET_POD], 2);
	world_end(&w);
}

/* A live Pod that is seen overrides the belief that its uid is gone, however that came about. */
static void test_alive_after_all(void **state)
{
	struct world w;
	cleanup_json json_t *before = NULL;
	struct error err;

	(void)state;
	begin_running(&w, 1, ",'retryPolicy':{'maxRetryCount':-2}");
	before = json_deep_copy(world_pod(&w, "f-a-0"));
	framework_observe_gone(w.framework, KIND_POD, "f-a-0", "", "999999", false);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	w.hold_calls = true;
	{
		const struct call_answer absent = {.sent = true,
						   .http_status = 404,
						   .absent = true,
						   .reason = "NotFound",
						   .message = "",
						   .body = "",
						   .retry_after_ms = -1};

		framework_answer(w.framework, &w.queue[0], &absent, &w.time, &w.random);
		world_drop_call(&w.queue[0]);
		w.queued = 0;
	}
	assert_string_equal(slot_find(w.framework, "f-a-0")->gone_uid, meta_str(before, "uid"));
	world_tell_pod(&w, "f-a-0"); /* as a list shows it */
	assert_null(slot_find(w.framework, "f-a-0")->gone_uid);
	world_reconcile(&w);
	assert_task(&w, 0, 0, STATE_RUNNING);
	/* An event told its end: what was before that brings it not back, what comes later does. */
	framework_observe_gone(w.framework, KIND_POD, "f-a-0", meta_str(before, "uid"), "2000000", true);
	assert_false(framework_observe_pod(w.framework, pod_parse(before, &err)));
	w.rv = 2000000;
	world_stamp(&w, world_pod(&w, "f-a-0"));
	world_tell_pod(&w, "f-a-0");
	assert_non_null(slot_find(w.framework, "f-a-0")->meta);
	world_end(&w);
}

/* A snapshot that lags behind does not show a Pod that is there. */
static void test_absence_refuted(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 1, "");
	framework_observe_gone(w.framework, KIND_POD, "f-a-0", "", "999999", false);
	world_settle(&w);
	assert_calls(&w, "get Pod f-a-0; ");
	assert_task(&w, 0, 0, STATE_RUNNING);
	/* An older snapshot does not even raise the question. */
	framework_observe_gone(w.framework, KIND_POD, "f-a-0", "", "1", false);
	world_settle(&w);
	assert_calls(&w, "");
	world_end(&w);
}

/* After a restart the view lags behind: under the name stands the Pod before. That is no proof that ours is gone. */
static void test_stale_namesake(void **state)
{
	struct world w;
	cleanup_json json_t *old = NULL;
	struct error err;

	(void)state;
	world_begin_of(&w, 1, STAYS, ",'retryPolicy':{'maxRetryCount':-2}", "");
	world_settle(&w);
	old = json_deep_copy(world_pod(&w, "f-a-0"));
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
	world_clear_log(&w);
	w.mute = true;
	world_restart(&w);
	w.mute = false;
	world_tell_framework(&w);
	world_tell_config_map(&w);
	framework_observe_pod(w.framework, pod_parse(old, &err));
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_RUNNING);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
	assert_int_equal(w.made[CALL_DELETE_POD], 0);
	/* The same for a ConfigMap's name is asked of the server, too: */
	assert_state(&w, STATE_RUNNING);
	world_end(&w);
}

/* A Pod whose label somebody removed has not gone: it is deleted, and waited for by GETs. */
static void test_label_lost(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 1, ",'retryPolicy':{'maxRetryCount':-2}");
	w.slow_kubelet = true;
	world_pod_unlabel(&w, "f-a-0");
	world_settle_for(&w, 5000);
	assert_task(&w, 0, 0, STATE_DELETING);
	assert_task_code(&w, 0, 0, CODE_POD_EXTERNAL_DELETED);
	assert_int_equal(w.made[CALL_DELETE_POD], 1);
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	assert_non_null(meta_str(world_pod(&w, "f-a-0"), "deletionTimestamp"));
	json_object_del(w.pods, "f-a-0"); /* no event tells */
	world_settle_for(&w, 5000);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
	world_end(&w);
}

/* The same for a ConfigMap: the attempt is over when a GET says that it has gone. */
static void test_label_lost_config_map(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, STAYS, "", RETRY_FANCY);
	world_settle(&w);
	world_clear_log(&w);
	w.slow_gc = true;
	json_object_del(json_at(w.config_map, "metadata.labels"), FC_FRAMEWORK_NAME);
	world_stamp(&w, w.config_map);
	world_tell_gone(&w, KIND_CONFIG_MAP, w.config_map);
	world_settle_for(&w, 3500);
	assert_state(&w, STATE_DELETING);
	assert_code(&w, CODE_CONFIG_MAP_EXTERNAL_DELETED);
	assert_int_equal(w.made[CALL_DELETE_CONFIG_MAP], 1);
	assert_in_range(w.made[CALL_GET_CONFIG_MAP], 3, 6); /* once a second */
	assert_int_equal(w.made[CALL_CREATE_CONFIG_MAP], 0);
	json_object_clear(w.pods);
	json_decref(w.config_map);
	w.config_map = NULL; /* no event tells */
	world_settle_for(&w, 5000);
	assert_state(&w, STATE_PREPARING);
	assert_int_equal(w.framework->status.attempt.id, 1);
	world_end(&w);
}

/* ---- deletes ----------------------------------------------------------------------------------------------------- */

/* A delete that fails is sent again; a 409 says nothing about what is there: it is read. */
static void test_delete_errors(void **state)
{
	static const struct {
		struct world_fault fault;
		const char *calls;
	} rows[] = {
		{{.http_status = 500, .message = "x"}, "delete Pod f-a-0; delete Pod f-a-0; "},
		{{.http_status = 0, .message = "x"}, "delete Pod f-a-0; delete Pod f-a-0; "},
		{{.http_status = 429, .message = "x", .retry_after_ms = 500}, "delete Pod f-a-0; delete Pod f-a-0; "},
		{{.http_status = 409, .reason = "Conflict", .message = "x"},
		 "delete Pod f-a-0; get Pod f-a-0; delete Pod f-a-0; "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		begin_running(&w, 2, "");
		w.fault = rows[i].fault;
		w.fault.kind = CALL_DELETE_POD;
		w.fault.count = 1;
		world_pod_exit(&w, "f-a-0", 0, "");
		world_settle_for(&w, 5000);
		assert_calls(&w, rows[i].calls);
		assert_task(&w, 0, 0, STATE_COMPLETED);
		world_end(&w);
	}
}

/* The Pod was replaced behind our back: 409, the GET finds another uid; ours is gone for certain. */
static void test_delete_replaced(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 2, "");
	world_pod_exit(&w, "f-a-0", 0, "");
	world_reconcile(&w);
	json_object_set_new(json_object_get(world_pod(&w, "f-a-0"), "metadata"), "uid", json_string("other"));
	world_stamp(&w, world_pod(&w, "f-a-0"));
	w.mute = true;
	world_settle_for(&w, 5000);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	assert_task_code(&w, 0, 0, 0);
	/* The other one is under our ConfigMap and nobody's: deleted on sight. */
	assert_non_null(strstr(w.log.data, "delete Pod f-a-0; get Pod f-a-0; delete Pod f-a-0; "));
	world_end(&w);
}

/* DELETE's answer updates, never inserts: an answer that comes after the DELETED event makes no ghost. */
static void test_delete_answer_late(void **state)
{
	struct world w;
	struct call_answer answer = {.sent = true, .http_status = 200, .reason = "", .message = "", .body = ""};
	cleanup_free char *body = NULL;

	(void)state;
	begin_running(&w, 2, "");
	world_pod_exit(&w, "f-a-0", 0, "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	body = json_text(world_pod(&w, "f-a-0"));
	world_pod_gone(&w, "f-a-0");
	answer.body = body;
	answer.retry_after_ms = -1;
	framework_answer(w.framework, &w.queue[0], &answer, &w.time, &w.random);
	world_drop_call(&w.queue[0]);
	w.queued = 0;
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	assert_calls(&w, "");
	world_end(&w);
}

/* Neither an event nor an answer about a uid, of before its end, brings it back. */
static void test_no_ghosts(void **state)
{
	struct world w;
	cleanup_json json_t *object = NULL;
	struct error err;

	(void)state;
	begin_running(&w, 2, ",'retryPolicy':{'maxRetryCount':-2}");
	object = json_deep_copy(world_pod(&w, "f-a-0"));
	world_pod_gone(&w, "f-a-0");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_calls(&w, "get ConfigMap f-attempt; create Pod f-a-0; ");
	framework_observe_pod(w.framework, pod_parse(object, &err));
	world_settle(&w);
	assert_calls(&w, "");
	assert_task(&w, 0, 0, STATE_PREPARING);
	world_end(&w);
}

/* ---- stray Pods -------------------------------------------------------------------------------------------------- */

#define STRAY(name, controller)                                                                              \
	"{'metadata':{'name':'" name "','namespace':'ns','uid':'stray','labels':{'FC_FRAMEWORK_NAME':'f'},"  \
	"'annotations':{'FC_TASK_UID':'t'},'ownerReferences':[{'controller':true,'uid':'" controller "'}]}," \
	"'spec':{},'status':{'phase':'Running'}}"

static void test_strays(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 2, "");
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	world_clear_log(&w);
	/* its Task is Completed; not listed; no Task's name at all */
	world_put(&w, STRAY("f-a-0", "cm-uid-2"), false);
	world_put(&w, STRAY("f-a-7", "cm-uid-2"), false);
	world_put(&w, STRAY("f-b-0", "cm-uid-2"), false);
	world_put(&w, STRAY("somebody", "cm-uid-2"), false);
	/* not under our ConfigMap */
	world_put(&w, STRAY("f-a-8", "another"), false);
	world_tell_pod(&w, "f-a-0");
	world_tell_pod(&w, "f-a-7");
	world_tell_pod(&w, "f-b-0");
	world_tell_pod(&w, "somebody");
	world_tell_pod(&w, "f-a-8");
	world_settle(&w);
	assert_int_equal(w.made[CALL_DELETE_POD], 4);
	assert_lacks(w.log.data, "f-a-8");
	assert_non_null(world_pod(&w, "f-a-8"));
	assert_task(&w, 0, 0, STATE_COMPLETED);
	world_end(&w);
}

/* A Pod that comes when the attempt is over, under its ConfigMap: deleted on sight, also in a retry's delay (G4). */
static void test_late_pod(void **state)
{
	(void)state;
	for (int waiting = 0; waiting < 2; waiting++) {
		struct world w;

		world_begin_of(&w, 1, "", "", waiting ? ",'retryPolicy':{'fancyRetryPolicy':true}" : "");
		world_settle(&w);
		world_pod_exit(&w, "f-a-0", 201, "");
		world_settle(&w);
		assert_state(&w, waiting ? STATE_ATTEMPT_COMPLETED : STATE_COMPLETED);
		world_clear_log(&w);
		/* Its create was on the way for long; another owner has the key by now. */
		world_restart(&w);
		world_settle(&w);
		assert_int_equal(w.writes, 0);
		world_put(&w, STRAY("f-a-0", "cm-uid-2"), false);
		world_put(&w, STRAY("f-a-8", "another"), false);
		world_tell_pod(&w, "f-a-0");
		world_tell_pod(&w, "f-a-8");
		w.fault = (struct world_fault){.kind = CALL_DELETE_POD, .count = 1, .http_status = 500, .message = "x"};
		world_settle(&w);
		assert_calls(&w, "delete Pod f-a-0; delete Pod f-a-0; ");
		assert_int_equal(w.writes, 1); /* the fence's */
		assert_null(world_pod(&w, "f-a-0"));
		assert_state(&w, waiting ? STATE_ATTEMPT_COMPLETED : STATE_COMPLETED);
		world_end(&w);
	}
}

/* That the attempt is over is stored before a Pod that is still seen under it is deleted. */
static void test_late_pod_waits_for_write(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 1, "");
	w.slow_gc = true;
	world_config_map_gone(&w); /* deleted with Orphan propagation, or by a collector that is late */
	world_reconcile(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_int_equal(w.queued, 0);
	world_write(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	assert_int_equal(w.queue[0].kind, CALL_DELETE_POD);
	world_end(&w);
}

/* The label is taken off a Pod that is deleting already: what the stream says then cannot be told from its end, which
 * CONTRACT.md §12 lets count. Still there are never two of a name: the next one waits until it is gone. */
static void test_label_lost_while_deleting(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 1, ",'retryPolicy':{'maxRetryCount':-2}");
	w.slow_kubelet = true;
	world_pod_deleting(&w, "f-a-0");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_DELETING);
	world_pod_unlabel(&w, "f-a-0");
	world_settle_for(&w, 30000);
	assert_task(&w, 0, 0, STATE_CREATION_PENDING);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
	assert_non_null(meta_str(world_pod(&w, "f-a-0"), "deletionTimestamp"));
	assert_true(w.made[CALL_CREATE_POD] > 0); /* 409 */
	json_object_del(w.pods, "f-a-0");
	world_settle_for(&w, 70000);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
	world_end(&w);
}

/* ---- the ConfigMap deleted by others ----------------------------------------------------------------------------- */

static void test_config_map_deleted(void **state)
{
	struct world w;
	char *first;

	(void)state;
	world_begin_of(&w, 2, STAYS, RETRY_FANCY, RETRY_FANCY);
	world_settle(&w);
	w.slow_kubelet = true;
	world_config_map_deleting(&w);
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	assert_code(&w, CODE_CONFIG_MAP_EXTERNAL_DELETED);
	assert_string_equal(w.framework->status.attempt.completion->diagnostics,
			    "ConfigMap is being deleted by others");
	/* Tasks do not get -220 here: each -101 as its Pod is seen deleting; it may be retried, and that attempt ends
	 * with -220. */
	assert_task_code(&w, 0, 0, CODE_POD_EXTERNAL_DELETED);
	world_pod_gone(&w, "f-a-0");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_CREATION_PENDING);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
	assert_null(world_task(&w, 0, 0)->attempt.completion);
	assert_null(world_pod(&w, "f-a-0"));
	first = mem_strdup(w.framework->status.attempt.config_map_uid);
	world_clear_log(&w);
	w.slow_kubelet = false;
	world_pod_gone(&w, "f-a-1");
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	assert_int_equal(w.framework->status.attempt.id, 1);
	assert_int_equal(w.framework->status.retry.accountable, 0);
	assert_string_not_equal(w.framework->status.attempt.config_map_uid, first);
	assert_contains(w.snapshots.data, "\"code\":-220");
	assert_contains(w.snapshots.data, "\"code\":-100");
	free(first);
	world_end(&w);
}

/* In every state: gone for certain, or absent and asked for. */
static void test_config_map_gone(void **state)
{
	(void)state;
	for (int certain = 0; certain < 2; certain++) {
		struct world w;

		begin_running(&w, 1, "");
		json_object_clear(w.pods);
		w.slow_gc = true;
		if (certain) {
			world_config_map_gone(&w);
		} else {
			json_decref(w.config_map);
			w.config_map = NULL;
			framework_observe_gone(w.framework, KIND_CONFIG_MAP, WORLD_CONFIG_MAP, "", "999999", false);
		}
		world_reconcile(&w);
		assert_state(&w, certain ? STATE_COMPLETED : STATE_RUNNING);
		world_settle(&w);
		assert_state(&w, STATE_COMPLETED);
		assert_code(&w, CODE_CONFIG_MAP_EXTERNAL_DELETED);
		assert_string_equal(w.framework->status.attempt.completion->diagnostics,
				    "ConfigMap was deleted by others");
		assert_task(&w, 0, 0, STATE_COMPLETED);
		world_end(&w);
	}
}

/* Deleted with background propagation: no deletionTimestamp, and the Pods stay until the collector and the kubelet have
 * dealt with them, perhaps for ever. */
static void delete_in_background(struct world *w, bool told)
{
	json_t *object = w->config_map;

	w->config_map = NULL;
	world_stamp(w, object);
	if (told)
		world_tell_gone(w, KIND_CONFIG_MAP, object);
	json_decref(object);
}

/* Streams keep no order between kinds: the collector's mark on a Pod may be seen before the end of the ConfigMap.
 * Whether the ConfigMap is there is asked once for all Pods that are seen to be deleted together. */
static void test_pods_seen_before_background_deletion(void **state)
{
	for (int gone = 0; gone < 2; gone++) {
		struct world w;

		(void)state;
		begin_running(&w, 3, "");
		w.slow_kubelet = true;
		if (gone)
			delete_in_background(&w, false);
		world_pod_deleting(&w, "f-a-0");
		world_pod_gone(&w, "f-a-1");
		world_reconcile(&w);
		assert_null(world_task(&w, 0, 0)->attempt.completion);
		assert_null(world_task(&w, 0, 1)->attempt.completion);
		world_settle(&w);
		assert_calls(&w, gone ? "get ConfigMap f-attempt; delete Pod f-a-2; " : "get ConfigMap f-attempt; ");
		assert_state(&w, gone ? STATE_DELETING : STATE_RUNNING);
		assert_task_code(&w, 0, 0, gone ? CODE_FRAMEWORK_ATTEMPT_COMPLETION : CODE_POD_EXTERNAL_DELETED);
		assert_task_code(&w, 0, 1, gone ? CODE_FRAMEWORK_ATTEMPT_COMPLETION : CODE_POD_EXTERNAL_DELETED);
		world_end(&w);
	}
}

/* A Pod that is seen to be deleted while the ConfigMap is asked for may have been deleted after the answer was made. */
static void test_deleted_while_asked(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 3, "");
	w.slow_kubelet = true;
	world_pod_deleting(&w, "f-a-0");
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	world_pod_deleting(&w, "f-a-1");
	world_settle_for(&w, 3000);
	assert_calls(&w, "get ConfigMap f-attempt; get ConfigMap f-attempt; ");
	assert_task_code(&w, 0, 1, CODE_POD_EXTERNAL_DELETED);
	world_end(&w);
}

/* That ends the attempt at once, and its Tasks with it, however their Pods change meanwhile; the next attempt goes on,
 * but for what waits for a name. (The collector's mark on a Pod made it a younger one: Tasks ended with -101, and the
 * attempt ran on.) */
static void test_config_map_deleted_in_background(void **state)
{
	/* whether a Pod is seen deleting before the ConfigMap's absence is confirmed, or after */
	for (int before = 0; before < 2; before++) {
		struct world w;

		(void)state;
		world_begin_of(&w, 2, "", "", RETRY_FANCY);
		world_settle(&w);
		world_pod_phase(&w, "f-a-0", "Running");
		world_pod_phase(&w, "f-a-1", "Running");
		world_settle(&w);
		assert_state(&w, STATE_RUNNING);
		world_clear_log(&w);
		w.slow_kubelet = true;
		delete_in_background(&w, true);
		world_pod_phase(&w, "f-a-0", "Running"); /* what a kubelet writes after that */
		if (before)
			world_pod_deleting(&w, "f-a-0");
		world_reconcile(&w);
		assert_int_equal(w.queued, 1);
		assert_int_equal(w.queue[0].kind, CALL_GET_CONFIG_MAP);
		world_pod_deleting(&w, "f-a-0");
		world_pod_deleting(&w, "f-a-1");
		world_settle(&w);
		assert_state(&w, STATE_PREPARING);
		assert_int_equal(w.framework->status.attempt.id, 1);
		assert_contains(w.snapshots.data, "\"code\":-100");
		assert_contains(w.snapshots.data, "\"code\":-220");
		assert_lacks(w.snapshots.data, "\"code\":-101");
		/* one Pod goes, the other one never does */
		assert_int_equal(w.made[CALL_CREATE_POD], 0);
		world_pod_gone(&w, "f-a-1");
		world_settle(&w);
		world_pod_phase(&w, "f-a-1", "Running");
		world_settle_for(&w, 3000);
		assert_task(&w, 0, 0, STATE_CREATION_PENDING);
		assert_task(&w, 0, 1, STATE_RUNNING);
		assert_state(&w, STATE_RUNNING);
		assert_int_equal(w.made[CALL_CREATE_POD], 1);
		assert_int_equal(w.made[CALL_DELETE_POD], 0);
		world_end(&w);
	}
}

/* A Pod that was made when the ConfigMap had gone is waited for: it would run beside the next attempt. */
static void test_made_after_background_deletion(void **state)
{
	struct world w;
	char version[32];

	(void)state;
	world_begin_creating(&w, 3);
	world_carry(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 2);
	w.slow_kubelet = true;
	w.hold_calls = true;
	delete_in_background(&w, false);
	snprintf(version, sizeof(version), "%llu", (unsigned long long)w.rv);
	world_carry(&w); /* creates that are on their way: both come too late */
	framework_observe_gone(w.framework, KIND_CONFIG_MAP, WORLD_CONFIG_MAP, w.framework->config_map.meta->uid,
			       version, false);
	w.hold_calls = false;
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	assert_code(&w, CODE_CONFIG_MAP_EXTERNAL_DELETED);
	assert_task_code(&w, 0, 0, CODE_FRAMEWORK_ATTEMPT_COMPLETION);
	assert_int_equal(w.made[CALL_DELETE_POD], 2); /* the garbage collector deletes that of Task 0 */
	world_pod_gone(&w, "f-a-1");
	world_advance(&w, 3600);
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	world_pod_gone(&w, "f-a-2");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_CONFIG_MAP_EXTERNAL_DELETED);
	world_end(&w);
}

/* A new owner cannot know since when the ConfigMap is gone: that the attempt is over is decided at once, and its Pods
 * are waited for as long as they can be expected to end. */
static void test_config_map_gone_unseen(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 2, "");
	w.slow_kubelet = true;
	w.mute = true;
	delete_in_background(&w, false);
	world_pod_deleting(&w, "f-a-0");
	w.mute = false;
	world_restart(&w);
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	assert_code(&w, CODE_CONFIG_MAP_EXTERNAL_DELETED);
	assert_task_code(&w, 0, 0, CODE_FRAMEWORK_ATTEMPT_COMPLETION);
	assert_task_code(&w, 0, 1, CODE_FRAMEWORK_ATTEMPT_COMPLETION);
	assert_int_equal(w.made[CALL_DELETE_POD], 1);
	assert_json(json_at(w.object, "status.attemptStatus.completionStatus.code"), "-100");
	world_advance(&w, 80); /* 30 s of grace, and 60 */
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	world_advance(&w, 12);
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_task_code(&w, 0, 0, CODE_FRAMEWORK_ATTEMPT_COMPLETION);
	world_end(&w);
}

/* A new owner does not see the ConfigMap: while it asks whether that is gone, no Pod is created under it. */
static void test_no_pods_under_unseen(void **state)
{
	(void)state;
	for (int there = 0; there < 2; there++) {
		struct world w;

		world_begin_of(&w, 2, STAYS, "", "");
		world_settle(&w);
		world_edit_of(&w, 3, STAYS, "", "");
		world_reconcile(&w);
		world_write(&w); /* the third Task is stored, its Pod is not created yet */
		world_clear_log(&w);
		w.slow_gc = true;
		if (!there) {
			json_decref(w.config_map);
			w.config_map = NULL;
		}
		w.mute = true;
		world_restart(&w);
		w.mute = false;
		world_tell_framework(&w);
		world_tell_pod(&w, "f-a-0");
		world_tell_pod(&w, "f-a-1");
		world_reconcile(&w);
		world_write(&w);
		world_reconcile(&w);
		assert_int_equal(w.queued, 1);
		assert_int_equal(w.queue[0].kind, CALL_GET_CONFIG_MAP);
		world_settle(&w);
		assert_state(&w, there ? STATE_PREPARING : STATE_COMPLETED);
		assert_int_equal(w.made[CALL_CREATE_POD], there);
		world_end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pod_deleted),
		cmocka_unit_test(test_absence_confirmed),
		cmocka_unit_test(test_absence_of_anybody),
		cmocka_unit_test(test_unreadable_answer),
		cmocka_unit_test(test_alive_after_all),
		cmocka_unit_test(test_absence_refuted),
		cmocka_unit_test(test_stale_namesake),
		cmocka_unit_test(test_label_lost),
		cmocka_unit_test(test_label_lost_config_map),
		cmocka_unit_test(test_delete_errors),
		cmocka_unit_test(test_delete_replaced),
		cmocka_unit_test(test_delete_answer_late),
		cmocka_unit_test(test_no_ghosts),
		cmocka_unit_test(test_strays),
		cmocka_unit_test(test_late_pod),
		cmocka_unit_test(test_late_pod_waits_for_write),
		cmocka_unit_test(test_label_lost_while_deleting),
		cmocka_unit_test(test_config_map_deleted),
		cmocka_unit_test(test_config_map_gone),
		cmocka_unit_test(test_config_map_deleted_in_background),
		cmocka_unit_test(test_pods_seen_before_background_deletion),
		cmocka_unit_test(test_deleted_while_asked),
		cmocka_unit_test(test_made_after_background_deletion),
		cmocka_unit_test(test_config_map_gone_unseen),
		cmocka_unit_test(test_no_pods_under_unseen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
