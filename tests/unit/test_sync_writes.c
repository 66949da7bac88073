/* Own writes and others' (CONTRACT.md §12.12 to §12.15): writes that fail or whose answer is lost, a status somebody
 * else wrote, events that come late, and creates that were queued before things changed. */
#include "tests/objects.h"
#include "tests/unit/sync_world.h"

#define STAYS ",'frameworkAttemptCompletionPolicy':{}"
#define ALWAYS ",'retryPolicy':{'maxRetryCount':-2}"

static void begin_running(struct world *w, const char *task_rest)
{
	world_begin_of(w, 1, STAYS, task_rest, "");
	world_settle(w);
	world_pod_phase(w, "f-a-0", "Running");
	world_settle(w);
	assert_state(w, STATE_RUNNING);
	world_clear_log(w);
}

/* Nothing is done about a decision whose write failed; it is written again, on the version that is there. */
static void test_write_fails(void **state)
{
	(void)state;
	for (int carried_out = 0; carried_out < 2; carried_out++) {
		struct world w;

		begin_running(&w, ALWAYS);
		world_pod_exit(&w, "f-a-0", 0, "");
		world_reconcile(&w);
		assert_task(&w, 0, 0, STATE_DELETION_PENDING);
		world_advance_ms(&w, 1000);
		world_reconcile(&w);
		assert_true(w.plan.write);
		for (int i = 0; i < 3; i++) {
			world_write_with(&w, COMPRESS_NEVER, carried_out, false);
			world_reconcile(&w);
			assert_int_equal(w.queued, 0);
			assert_true(w.plan.write);
		}
		world_write(&w);
		world_reconcile(&w);
		assert_int_equal(w.queued, 1);
		assert_int_equal(w.queue[0].kind, CALL_DELETE_POD);
		world_settle(&w);
		assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
		world_end(&w);
	}
}

/* What changes while a write is on the way is not in it. */
static void test_change_during_write(void **state)
{
	struct world w;
	uint64_t version;

	(void)state;
	begin_running(&w, ALWAYS);
	json_object_set_new(json_at(world_pod(&w, "f-a-0"), "status"), "podIP", json_string("10.0.0.9"));
	world_stamp(&w, world_pod(&w, "f-a-0"));
	world_tell_pod(&w, "f-a-0");
	world_reconcile(&w);
	assert_true(w.plan.write);
	version = framework_write_started(w.framework, w.time.boot_ms);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_reconcile(&w);
	world_stamp(&w, w.object);
	framework_written(w.framework, version, meta_str(w.object, "resourceVersion"));
	world_reconcile(&w);
	assert_task(&w, 0, 0, STATE_DELETION_PENDING);
	assert_int_equal(w.queued, 0);
	world_settle(&w);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
	world_end(&w);
}

/* An own write is not taken for somebody else's: neither when its event comes before its answer and more has changed
 * since, nor when others change the object and leave the status alone. */
static void test_own_status(void **state)
{
	struct world w;
	cleanup_buf struct buf body = {0};
	cleanup_json json_t *put = NULL;
	uint64_t version;

	(void)state;
	world_begin_of(&w, 2, "", "", "");
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Running");
	world_reconcile(&w);
	framework_status_body(w.framework, COMPRESS_NEVER, &body);
	version = framework_write_started(w.framework, w.time.boot_ms);
	put = json_parse(body.data, body.len, NULL);
	json_object_set(w.object, "status", json_object_get(put, "status"));
	world_stamp(&w, w.object);
	world_pod_phase(&w, "f-a-1", "Running");
	world_reconcile(&w);
	assert_true(w.framework->version > version);
	version = w.framework->version;
	world_tell_framework(&w);
	assert_int_equal(w.framework->version, version);
	framework_written(w.framework, version, meta_str(w.object, "resourceVersion"));
	world_end(&w);

	world_begin_of(&w, 2, "", "", "");
	world_settle(&w);
	world_clear_log(&w);
	for (int i = 0; i < 3; i++) {
		json_object_set_new(json_object_get(w.object, "metadata"), "labels", json_of("{'x':'y'}"));
		world_stamp(&w, w.object);
		world_tell_framework(&w);
		world_settle(&w);
	}
	assert_int_equal(w.writes, 0);
	world_end(&w);
}

/* Somebody else's status is overwritten with ours, and is nothing that we start from. */
static void test_foreign_status(void **state)
{
	struct world w;
	cleanup_json json_t *ours = NULL;

	(void)state;
	begin_running(&w, "");
	ours = json_deep_copy(json_at(w.object, "status"));
	json_object_set_new(json_at(w.object, "status"), "state", json_string("Completed"));
	json_object_del(json_at(w.object, "status.attemptStatus"), "configMapUID");
	world_stamp(&w, w.object);
	world_tell_framework(&w);
	world_settle(&w);
	assert_state(&w, STATE_RUNNING);
	assert_true(json_equal(json_at(w.object, "status"), ours));
	assert_calls(&w, "");
	/* Removed as a whole: the same. */
	json_object_del(w.object, "status");
	world_stamp(&w, w.object);
	world_tell_framework(&w);
	world_settle(&w);
	assert_true(json_equal(json_at(w.object, "status"), ours));
	/* The event of our own write is nobody else's. */
	world_clear_log(&w);
	world_tell_framework(&w);
	world_settle(&w);
	assert_int_equal(w.writes, 0);
	world_end(&w);
}

/* Under a new grant what is on the server is what counts. */
static void test_foreign_status_adopted(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, "");
	json_object_set_new(json_at(w.object, "status"), "runTime", json_string("2001-02-03T04:05:06Z"));
	world_stamp(&w, w.object);
	world_restart(&w);
	world_settle(&w);
	assert_int_equal(w.framework->status.run_time, 981173106);
	assert_state(&w, STATE_RUNNING);
	world_end(&w);
}

/* A reconciler whose virtual machine was paused goes on for a moment while another one has the key: whichever sees what
 * the other one wrote goes on from that. (It took a Completed Framework back; simulator seeds 1542 and 7087.) What is
 * changed under its own mark, or without any, is somebody else's. */
static void test_status_of_another_reconciler(void **state)
{
	static const char *const writers[] = {"two", "one", NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(writers); i++) {
		struct world w;
		json_t *status;

		begin_running(&w, "");
		w.framework->writer = "one";
		status = json_at(w.object, "status");
		json_object_set_new(status, "runTime", json_string("2001-02-03T04:05:06Z"));
		if (writers[i] != NULL)
			json_object_set_new(status, "writer", json_string(writers[i]));
		world_stamp(&w, w.object);
		world_tell_framework(&w);
		world_settle(&w);
		assert_int_equal(w.framework->status.run_time == 981173106, i == 0);
		assert_state(&w, STATE_RUNNING);
		/* the next write has our mark */
		world_pod_exit(&w, "f-a-0", 0, "");
		world_settle(&w);
		assert_state(&w, STATE_COMPLETED);
		assert_string_equal(json_string_value(json_at(w.object, "status.writer")), "one");
		world_end(&w);
	}
}

/* Events that are older than what is known change nothing. */
static void test_old_events(void **state)
{
	struct world w;
	struct error err;
	cleanup_json json_t *old_pod = NULL;
	cleanup_json json_t *old_object = NULL;
	cleanup_json json_t *old_config_map = NULL;

	(void)state;
	world_begin_of(&w, 1, STAYS, "", "");
	world_settle(&w);
	old_pod = json_deep_copy(world_pod(&w, "f-a-0"));
	old_object = json_deep_copy(w.object);
	old_config_map = json_deep_copy(w.config_map);
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	world_edit_of(&w, 2, STAYS, "", "");
	world_settle(&w);
	w.slow_kubelet = true;
	w.slow_gc = true;
	world_clear_log(&w);
	framework_observe_pod(w.framework, pod_parse(old_pod, &err));
	assert_false(world_observe_framework(w.framework, old_object, OBSERVED_EVENT));
	assert_false(world_observe_framework(w.framework, w.object, OBSERVED_EVENT)); /* equal */
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_RUNNING);
	assert_int_equal(w.framework->status.attempt.roles[0].task_count, 2);
	assert_int_equal(w.writes, 0);
	assert_calls(&w, "");
	/* A deleting object does not come back to life. */
	world_config_map_deleting(&w);
	framework_observe_config_map(w.framework, config_map_parse(old_config_map, &err));
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	/* Nor does a Framework whose end was told, nor is its namesake taken for it. */
	framework_observe_absent(w.framework, "2000000");
	assert_false(world_observe_framework(w.framework, w.object, OBSERVED_EVENT));
	assert_false(w.framework->exists);
	/* Seen after that it was not its end. */
	w.rv = 2000000;
	world_stamp(&w, w.object);
	assert_true(world_observe_framework(w.framework, w.object, OBSERVED_EVENT));
	assert_true(w.framework->exists);
	world_end(&w);
}

/* An unreadable event is dropped. */
static void test_unreadable_events(void **state)
{
	struct world w;
	cleanup_json json_t *nameless = json_of("{'metadata':{'uid':'x'},'spec':{}}");

	(void)state;
	begin_running(&w, "");
	assert_false(world_observe_framework(w.framework, nameless, OBSERVED_EVENT));
	assert_false(world_observe_framework(w.framework, NULL, OBSERVED_EVENT));
	world_settle(&w);
	assert_state(&w, STATE_RUNNING);
	assert_int_equal(w.writes, 0);
	world_end(&w);
}

/* A create waits in the queue while the Pod of an earlier try appears: the Task waits for the answer, and has that Pod.
 */
static void test_queued_create_of_what_appears(void **state)
{
	struct world w;
	cleanup_free char *uid = NULL;

	(void)state;
	world_begin_of(&w, 1, STAYS, ALWAYS, "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	world_carry(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	{
		cleanup_buf struct buf body = {0};
		struct world_result result;

		framework_call_body(w.framework, &w.queue[0], &body);
		world_create(&w, &w.queue[0], &body, &result);
		json_decref(result.object);
	}
	uid = mem_strdup(meta_str(world_pod(&w, "f-a-0"), "uid"));
	world_tell_pod(&w, "f-a-0");
	w.hold_calls = true;
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_CREATION_PENDING);
	w.hold_calls = false;
	world_settle_for(&w, 5000);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_string_equal(world_task(&w, 0, 0)->attempt.pod_uid, uid);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 0);
	world_end(&w);
}

/* The create of a ConfigMap waits in the queue: Stop, Create or a deletion that came meanwhile. */
static void test_queued_config_map(void **state)
{
	static const char *const edits[] = {",'executionType':'Stop'", ",'executionType':'Create'", NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
		struct world w;

		world_begin_of(&w, 1, "", "", "");
		world_reconcile(&w);
		world_write(&w);
		world_reconcile(&w);
		assert_int_equal(w.queued, 1);
		if (edits[i] != NULL) {
			world_edit_of(&w, 1, "", "", edits[i]);
		} else {
			world_mark_deleting(&w, w.object, 0);
			world_tell_framework(&w);
		}
		world_settle(&w);
		assert_int_equal(w.made[CALL_CREATE_CONFIG_MAP], 0);
		/* Nothing is known to have happened: there is nothing to ask for, but for Stop. */
		assert_int_equal(w.made[CALL_GET_CONFIG_MAP], i == 0);
		assert_state(&w, i == 0 ? STATE_COMPLETED : STATE_CREATION_PENDING);
		world_end(&w);
	}
}

/* A Framework is deleted and created again while calls for the one before are on the way. */
static void test_namesake(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 3, STAYS, "", "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	world_carry(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	framework_observe_absent(w.framework, NULL);
	json_decref(w.object);
	world_create_framework(&w, "{'taskRoles':[{'name':'a','taskNumber':1}]}", NULL);
	world_clear_log(&w);
	world_carry(&w);
	assert_calls(&w, "");
	/* The ConfigMap of the one before is in the way until the garbage collector has taken it, which is nothing to
	 * speak of, unless it does not come. */
	world_settle_for(&w, 5000);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_calls(&w, "");
	world_advance(&w, 50);
	world_settle(&w);
	assert_string_equal(w.events.data, "");
	world_advance(&w, 12);
	world_settle(&w);
	assert_contains(w.events.data,
			"NamingConflict: ConfigMap f-attempt with uid cm-uid-2, of an earlier attempt "
			"or Framework of this name, still exists 60 s after it should have been deleted");
	world_clear_log(&w);
	world_advance(&w, 1000);
	world_settle(&w);
	assert_string_equal(w.events.data, "");
	assert_calls(&w, "");
	world_config_map_deleting(&w);
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	assert_int_equal(w.framework->status.attempt.id, 0);
	assert_int_equal(w.made[CALL_CREATE_POD], 1);
	world_end(&w);
}

/* A Pod of the one before, or of an earlier attempt, has its own time to end, and its ConfigMap waits for it. */
static void test_former_pod(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	w.slow_kubelet = true;
	framework_observe_absent(w.framework, NULL); /* in background */
	json_decref(w.object);
	world_create_framework(&w, "{'taskRoles':[{'name':'a','taskNumber':1}]}", NULL);
	world_clear_log(&w);
	world_mark_deleting(&w, world_pod(&w, "f-a-0"), 600);
	world_tell_pod(&w, "f-a-0");
	world_config_map_deleting(&w);
	world_advance(&w, 650);
	world_settle(&w);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_string_equal(w.events.data, "");
	/* The ConfigMap goes, and the Pod stays: the time of the Pod is counted from when its name is wanted. */
	world_config_map_gone(&w);
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	assert_task(&w, 0, 0, STATE_CREATION_PENDING);
	assert_lacks(w.events.data, "NamingConflict");
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	world_advance(&w, 62);
	world_settle(&w);
	assert_contains(w.events.data, "NamingConflict: Pod f-a-0 with uid pod-uid-3, of an earlier attempt");
	world_pod_gone(&w, "f-a-0");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_PREPARING);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_fails),
		cmocka_unit_test(test_change_during_write),
		cmocka_unit_test(test_own_status),
		cmocka_unit_test(test_foreign_status),
		cmocka_unit_test(test_foreign_status_adopted),
		cmocka_unit_test(test_status_of_another_reconciler),
		cmocka_unit_test(test_old_events),
		cmocka_unit_test(test_unreadable_events),
		cmocka_unit_test(test_queued_create_of_what_appears),
		cmocka_unit_test(test_queued_config_map),
		cmocka_unit_test(test_namesake),
		cmocka_unit_test(test_former_pod),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
