/* Objects that go: deleted by others, without their label, late, stray; what makes an absence certain (CONTRACT.md
 * §12), the creation timeouts (CONTRACT.md §5, §6) and the force-delete timer (CONTRACT.md §2). */
#include "tests/unit/sync_running.h"

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

/* A watcher whose list is older than the Pod takes it for gone, and for certain. */
static void test_absence_before_it(void **state)
{
	struct world w;
	cleanup_free char *uid = NULL;

	(void)state;
	begin_running(&w, 1, "");
	uid = mem_strdup(slot_find(w.framework, "f-a-0")->meta->uid);
	framework_observe_gone(w.framework, KIND_POD, "f-a-0", uid, "1", true);
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_RUNNING);
	assert_int_equal(w.made[CALL_DELETE_POD], 0);
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
	world_restart(&w);
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

#define TTL ",'ttlSecondsAfterCompleted':10"
#define STOP ",'executionType':'Stop'"

static void refuse(struct world *w, enum call_kind kind, int count, int http_status, const char *reason)
{
	w->fault = (struct world_fault){.kind = kind,
					.count = count,
					.http_status = http_status,
					.reason = reason,
					.message = "denied by protect"};
}

/* Deletions that are refused: an Event has the reason, once in half an hour, and they are asked for until granted. */
static void test_refused(void **state)
{
	static const struct {
		enum call_kind kind;
		const char *event;
	} rows[] = {
		{CALL_DELETE_CONFIG_MAP, "FailedDeleteConfigMap: Failed to delete f-attempt: denied by protect\n"},
		{CALL_DELETE_POD, "FailedDeletePod: Failed to delete f-a-0: denied by protect\n"},
		{CALL_DELETE_FRAMEWORK, "FailedDeleteFramework: Failed to delete f: denied by protect\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		const char *found;

		world_begin_of(&w, 1, "", "", TTL);
		world_settle(&w);
		refuse(&w, rows[i].kind, INT32_MAX, 403, "Forbidden");
		if (rows[i].kind == CALL_DELETE_POD)
			world_pod_exit(&w, "f-a-0", 0, "");
		else
			world_edit_of(&w, 1, "", "", TTL STOP);
		world_pass(&w, 20 * 60);
		found = strstr(w.events.data, rows[i].event);
		if (found == NULL)
			fail_msg("%s", w.events.data);
		assert_null(strstr(found + 1, rows[i].event));
		world_pass(&w, 20 * 60);
		assert_non_null(strstr(found + 1, rows[i].event));
		assert_int_equal(meta_str(w.object, "deletionTimestamp") != NULL, false);
		w.fault.count = 0;
		world_pass(&w, 180);
		assert_non_null(meta_str(w.object, "deletionTimestamp"));
		world_end(&w);
	}
}

/* A webhook that cannot be reached is a 500: an Event once that has lasted. */
static void test_refused_by_a_webhook_that_is_gone(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_settle(&w);
	refuse(&w, CALL_DELETE_POD, INT32_MAX, 500, "InternalError");
	world_pod_exit(&w, "f-a-0", 0, "");
	world_pass(&w, 20);
	assert_null(strstr(w.events.data, "FailedDeletePod"));
	world_pass(&w, 300);
	assert_contains(w.events.data, "FailedDeletePod: Failed to delete f-a-0: denied by protect\n");
	world_end(&w);
}

/* A conflict says that somebody else has the name now, of which an event follows, or that something else changed. */
static void test_conflict_at_the_end(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", TTL STOP);
	refuse(&w, CALL_DELETE_FRAMEWORK, 1, 409, "Conflict");
	world_pass(&w, 180);
	assert_int_equal(w.made[CALL_DELETE_FRAMEWORK], 2);
	assert_non_null(meta_str(w.object, "deletionTimestamp"));
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pod_deleted),
		cmocka_unit_test(test_absence_confirmed),
		cmocka_unit_test(test_absence_before_it),
		cmocka_unit_test(test_absence_of_anybody),
		cmocka_unit_test(test_unreadable_answer),
		cmocka_unit_test(test_alive_after_all),
		cmocka_unit_test(test_absence_refuted),
		cmocka_unit_test(test_stale_namesake),
		cmocka_unit_test(test_label_lost),
		cmocka_unit_test(test_delete_errors),
		cmocka_unit_test(test_delete_replaced),
		cmocka_unit_test(test_delete_answer_late),
		cmocka_unit_test(test_no_ghosts),
		cmocka_unit_test(test_strays),
		cmocka_unit_test(test_late_pod),
		cmocka_unit_test(test_late_pod_waits_for_write),
		cmocka_unit_test(test_label_lost_while_deleting),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_by_a_webhook_that_is_gone),
		cmocka_unit_test(test_conflict_at_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
