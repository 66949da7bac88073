/* Calls that wait for a place or a token while what they were decided for changes: they are sent no more, or say what
 * holds by then. */
#include "tests/unit/kueue_world.h"

/* The deletion of a Completed Framework waits, and somebody wants to keep it. */
static void test_retention(void **state)
{
	static const char *const edits[] = {
		",'ttlSecondsAfterCompleted':100000,'executionType':'Stop'",
		",'ttlSecondsAfterCompleted':10,'executionType':'Stop','managedBy':'example.com/other'",
		",'ttlSecondsAfterCompleted':-1,'executionType':'Stop'",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
		struct world w;

		world_begin_of(&w, 1, "", "", ",'ttlSecondsAfterCompleted':10,'executionType':'Stop'");
		world_settle(&w);
		assert_state(&w, STATE_COMPLETED);
		w.hold_calls = true;
		world_pass(&w, 20);
		assert_non_null(world_queued(&w, CALL_DELETE_FRAMEWORK));
		assert_true(framework_call_wanted(w.framework, world_queued(&w, CALL_DELETE_FRAMEWORK)));
		world_edit_of(&w, 1, "", "", edits[i]);
		world_settle(&w);
		assert_false(framework_call_wanted(w.framework, world_queued(&w, CALL_DELETE_FRAMEWORK)));
		world_end(&w);
	}
}

/* … and somebody changes something else: it goes all the same. */
static void test_retention_goes_on(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'ttlSecondsAfterCompleted':10,'executionType':'Stop'");
	world_settle(&w);
	w.hold_calls = true;
	world_pass(&w, 20);
	world_edit_of(&w, 1, "", "", ",'ttlSecondsAfterCompleted':12,'executionType':'Stop'");
	world_settle(&w);
	w.hold_calls = false;
	world_pass(&w, 5);
	assert_int_equal(w.made[CALL_DELETE_FRAMEWORK], 1);
	world_end(&w);
}

/* The creation of a ConfigMap waits, and the Framework is suspended. */
static void test_suspended(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	w.hold_calls = true;
	world_settle(&w);
	assert_true(framework_call_wanted(w.framework, world_queued(&w, CALL_CREATE_CONFIG_MAP)));
	world_edit_of(&w, 1, "", "", ",'suspend':true");
	world_settle(&w);
	w.hold_calls = false;
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_CONFIG_MAP], 0);
	assert_true(suspended(&w));
	assert_int_equal(w.framework->status.retry.total, 0);
	world_end(&w);
}

/* The creation of a Workload waits, and the label names another priority class, which has to be read first. */
static void test_priority(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	json_object_set_new(w.kueue_objects, "workloadpriorityclasses/high", json_of("{'value':7}"));
	w.hold_calls = true;
	world_settle(&w);
	assert_non_null(world_queued(&w, CALL_CREATE_OWNED));
	json_object_set_new(json_at(w.object, "metadata.labels"), "kueue.x-k8s.io/priority-class", json_string("high"));
	world_stamp(&w, w.object);
	world_tell_framework(&w);
	world_settle(&w);
	w.hold_calls = false;
	world_pass(&w, 60);
	assert_json(json_at(workload(&w), "spec.priority"), "7");
	world_end(&w);
}

/* Carries out what is queued until such a call waits; the stored status is then what it was decided for. */
static struct call *wait_for_call(struct world *w, enum call_kind kind)
{
	for (int i = 0; i < 40; i++) {
		world_reconcile(w);
		if (w->plan.write)
			world_write(w);
		if (world_queued(w, kind) != NULL)
			return world_queued(w, kind);
		world_carry(w);
		world_advance_ms(w, 500);
	}
	fail_msg("no such call: %s", w->log.data);
	return NULL;
}

/* Kueue is to learn of a Task that is Completed, and meanwhile another one ends, which is not stored yet. */
static void test_reclaimed(void **state)
{
	struct world w;
	struct call call;
	size_t at;

	(void)state;
	begin(&w, "", "", "");
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':3,'frameworkAttemptCompletionPolicy':{}}]}");
	world_settle(&w);
	decide(&w, admitted);
	world_pod_phase(&w, "f-a-2", "Running");
	run_all(&w);
	world_pass(&w, 5);
	world_pod_exit(&w, "f-a-0", 0, "");
	assert_true(framework_call_wanted(w.framework, wait_for_call(&w, CALL_PATCH_OWNED_STATUS)));
	w.hold_calls = true;
	world_pod_exit(&w, "f-a-1", 0, "");
	world_settle(&w);
	at = (size_t)(world_queued(&w, CALL_DELETE_POD) - w.queue);
	call = w.queue[at];
	w.queue[at] = w.queue[--w.queued];
	world_answer(&w, &call);
	world_drop_call(&call);
	world_reconcile(&w);
	assert_task(&w, 0, 1, STATE_COMPLETED);
	assert_false(framework_call_wanted(w.framework, world_queued(&w, CALL_PATCH_OWNED_STATUS)));
	w.hold_calls = false;
	world_pass(&w, 5);
	assert_json(json_at(workload(&w), "status.reclaimablePods"), "[{'name':'a','count':2}]");
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retention), cmocka_unit_test(test_retention_goes_on),
		cmocka_unit_test(test_suspended), cmocka_unit_test(test_priority),
		cmocka_unit_test(test_reclaimed),
	};

	return cmocka_run_group_tests_name("sync_outdated", tests, NULL, NULL);
}
