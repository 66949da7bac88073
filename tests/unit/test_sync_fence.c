/* The fence (CONTRACT.md §12.14): under a new grant nothing is created or deleted before a write has shown that the
 * view is not old. */
#include "tests/unit/sync_world.h"

static void test_fence(void **state)
{
	struct world w;

	(void)state;
	world_begin_creating(&w, 2);
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	world_pod_exit(&w, "f-a-1", 0, "");
	world_reconcile(&w);
	world_write(&w);
	world_clear_log(&w);
	/* Its Pod is to be deleted; a new owner, whose view may lag behind, writes first, though nothing changed. */
	world_restart(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 0);
	assert_true(w.plan.write);
	/* Its version is old: the write fails, and is asked for again. */
	w.mute = true;
	json_object_set_new(json_object_get(w.object, "metadata"), "annotations", json_of("{'x':'y'}"));
	world_stamp(&w, w.object);
	w.mute = false;
	world_write(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 0);
	assert_true(w.plan.write);
	world_write(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	assert_int_equal(w.queue[0].kind, CALL_DELETE_POD);
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	world_end(&w);
}

/* A write that changes nothing makes no new version: what a former owner sent on the present one, and comes late, would
 * be carried out after the fence. (It took the status forward, and the next write took it back; simulator seed 38599.)
 */
static void test_fence_changes(void **state)
{
	struct world w;
	cleanup_json json_t *stored = NULL;

	(void)state;
	world_begin_creating(&w, 1);
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_reconcile(&w);
	world_write(&w); /* its ConfigMap is to be deleted */
	stored = json_deep_copy(json_object_get(w.object, "status"));
	assert_null(json_object_get(stored, "fenced"));
	for (int grants = 1; grants <= 3; grants++) {
		world_restart(&w);
		world_reconcile(&w);
		assert_true(w.plan.write);
		world_write(&w);
		/* each differs from the one before, in that alone */
		if (grants % 2 == 1) {
			assert_true(json_is_true(json_object_get(json_object_get(w.object, "status"), "fenced")));
			json_object_set_new(stored, "fenced", json_true());
		} else {
			json_object_del(stored, "fenced");
		}
		assert_true(json_equal(json_object_get(w.object, "status"), stored));
		/* seen again, it is our own */
		world_tell_framework(&w);
		world_reconcile(&w);
		assert_false(w.plan.write);
	}
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	world_end(&w);
}

/* A watch that hung shows an old status only after the snapshot, which did not even hold the Framework: whoever acted
 * on that status may have gone on since. */
static void test_fence_late(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_reconcile(&w);
	world_write(&w);
	framework_free(w.framework);
	w.framework = framework_new(WORLD_NS, WORLD_NAME);
	world_tell_framework(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 0);
	assert_true(w.plan.write);
	world_write(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	assert_int_equal(w.queue[0].kind, CALL_CREATE_CONFIG_MAP);
	world_settle(&w);
	world_end(&w);
}

/* Creates that were queued when a resync put up the fence do not slip through it. */
static void test_fence_queued(void **state)
{
	struct world w;

	(void)state;
	world_begin_creating(&w, 2);
	framework_fence(w.framework);
	world_carry(&w);
	assert_calls(&w, "");
	world_reconcile(&w);
	assert_true(w.plan.write);
	assert_int_equal(w.queued, 0);
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 2);
	world_end(&w);

	world_begin_of(&w, 1, "", ",'retryPolicy':{'maxRetryCount':-2}", "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	framework_fence(w.framework);
	world_carry(&w);
	assert_calls(&w, "");
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_fence_changes),
		cmocka_unit_test(test_fence_late),
		cmocka_unit_test(test_fence_queued),
	};

	return cmocka_run_group_tests_name("sync_fence", tests, NULL, NULL);
}
