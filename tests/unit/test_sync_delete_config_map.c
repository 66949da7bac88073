/* The ConfigMap deleted by others: with foreground and background propagation, seen or not, and without its label
 * (CONTRACT.md §5, §12). */
#include "tests/unit/sync_running.h"

#define RETRY_FANCY ",'retryPolicy':{'fancyRetryPolicy':true}"

/* A ConfigMap that loses its label: the attempt is over when a GET says that it has gone. */
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
	world_settle_for(&w, 5000); /* its retry waits for the write */
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
		cmocka_unit_test(test_label_lost_config_map),
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
