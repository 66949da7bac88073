/* A reconciler that knows nothing of its successor, because its machine was paused, deletes nothing that the successor
 * has made (CONTRACT.md §12.24). */
#include "tests/unit/kueue_world.h"

#define ALWAYS "'retryPolicy':{'maxRetryCount':-2}"
#define POD(task_uid, attempt)                                                                           \
	"{'metadata':{'name':'f-a-0','namespace':'ns','uid':'stray','labels':{'FC_FRAMEWORK_NAME':'f'}," \
	"'annotations':{'FC_TASK_UID':'" task_uid "','FC_TASK_ATTEMPT_ID':'" attempt "'},"               \
	"'ownerReferences':[{'controller':true,'uid':'cm-uid-2'}]},'spec':{},'status':{'phase':'Running'}}"

/* From now on somebody else has the key, who begins with what is stored. */
static struct framework *begin_successor(struct world *w)
{
	struct framework *stale = w->framework;

	stale->writer = "one";
	for (size_t i = 0; i < w->queued; i++)
		world_drop_call(&w->queue[i]);
	w->queued = 0;
	w->framework = framework_new(WORLD_NS, WORLD_NAME);
	world_restart(w);
	w->framework->writer = "two";
	return stale;
}

/* The former one goes on. */
static void wake(struct world *w, struct framework *stale)
{
	framework_free(w->framework);
	w->framework = stale;
	world_clear_log(w);
}

/* The only Pod fails. The successor sees to the retry, whose Pod runs, while the other one knows nothing of it. */
static void retry_by_successor(struct world *w)
{
	struct framework *stale;

	world_settle(w);
	world_pod_phase(w, "f-a-0", "Running");
	world_settle(w);
	world_pod_exit(w, "f-a-0", 1, "");
	world_reconcile(w);
	world_write(w);
	stale = begin_successor(w);
	world_settle(w);
	assert_int_equal(w->framework->status.attempt.id + world_task(w, 0, 0)->attempt.id, 1);
	world_pod_phase(w, "f-a-0", "Running");
	world_settle(w);
	wake(w, stale);
}

/* It is told of what its successor has made, and of nothing else: it writes, learns that its view is old, goes on from
 * what is stored, and deletes nothing. */
static void expect_to_give_way(struct world *w, enum call_kind kind)
{
	world_reconcile(w);
	assert_int_equal(w->queued, 0);
	assert_true(w->plan.write);
	world_write(w);
	assert_true(w->unsure); /* 409 */
	world_settle(w);
	assert_int_equal(w->made[kind], 0);
	assert_json(json_at(w->object, "status.state"), "'AttemptRunning'");
}

/* Its Task's Pod is deleted while it knows nothing of it; the successor retries. */
static void test_task_retried(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "," ALWAYS, "");
	retry_by_successor(&w);
	world_tell_pod(&w, "f-a-0");
	expect_to_give_way(&w, CALL_DELETE_POD);
	assert_task(&w, 0, 0, STATE_RUNNING);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
	world_end(&w);
}

/* The uid of the Task's first Pod was not stored yet. The successor has made another one, for the same attempt. */
static void test_adoption_not_stored(void **state)
{
	struct world w;
	struct framework *stale;

	(void)state;
	world_begin_creating(&w, 1);
	world_carry(&w);
	world_reconcile(&w);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_true(w.framework->written < w.framework->version);
	stale = w.framework;
	w.framework = framework_new(WORLD_NS, WORLD_NAME);
	world_pod_gone(&w, "f-a-0");
	framework_free(w.framework);
	w.framework = stale;
	begin_successor(&w);
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 0);
	wake(&w, stale);
	world_tell_pod(&w, "f-a-0");
	w.hold_writes = true;
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_COMPLETED); /* as it believes */
	assert_int_equal(w.made[CALL_DELETE_POD], 0);
	w.hold_writes = false;
	world_settle(&w);
	assert_int_equal(w.made[CALL_DELETE_POD], 0);
	assert_task(&w, 0, 0, STATE_RUNNING);
	world_end(&w);
}

/* The successor has retried the Framework. */
static void test_framework_retried(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "," ALWAYS);
	retry_by_successor(&w);
	world_tell_config_map(&w);
	expect_to_give_way(&w, CALL_DELETE_CONFIG_MAP);
	assert_int_equal(w.made[CALL_DELETE_POD], 0);
	assert_int_equal(w.framework->status.attempt.id, 1);
	world_end(&w);
}

/* Nobody else has written: no attempt wants the Pod. A write that was on its way when the Pod was seen does not tell.
 * Until one does, nothing else is done for the Framework. */
static void test_vouched(void **state)
{
	static const char *const pods[] = {POD("another", "0"), POD("known", "7")};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
		struct world w;
		uint64_t version;
		json_t *annotations;

		world_begin_creating(&w, 2);
		world_settle(&w);
		world_pod_exit(&w, "f-a-0", 0, "");
		world_settle(&w);
		assert_task(&w, 0, 0, STATE_COMPLETED);
		world_clear_log(&w);
		world_put(&w, pods[i], false);
		annotations = json_object_get(json_object_get(world_pod(&w, "f-a-0"), "metadata"), "annotations");
		if (strcmp(json_str(annotations, "FC_TASK_UID"), "known") == 0)
			json_object_set_new(annotations, "FC_TASK_UID",
					    json_string(world_task(&w, 0, 0)->instance_uid));
		version = framework_write_started(w.framework, w.time.boot_ms);
		world_tell_pod(&w, "f-a-0");
		world_reconcile(&w);
		assert_int_equal(w.queued, 0);
		framework_written(w.framework, version, meta_str(w.object, "resourceVersion"));
		world_pod_exit(&w, "f-a-1", 0, "");
		world_reconcile(&w);
		assert_int_equal(w.queued, 0);
		assert_true(w.plan.write);
		world_write(&w);
		world_reconcile(&w);
		assert_int_equal(w.queued, 2);
		world_settle(&w);
		assert_null(world_pod(&w, "f-a-0"));
		assert_state(&w, STATE_COMPLETED);
		world_end(&w);
	}
}

/* A Pod of an attempt that is over by the stored status needs no write. */
static void test_former_attempt(void **state)
{
	struct world w;
	json_t *annotations;
	unsigned writes;

	(void)state;
	world_begin_creating(&w, 2);
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	writes = w.writes;
	world_put(&w, POD("known", "0"), false);
	annotations = json_object_get(json_object_get(world_pod(&w, "f-a-0"), "metadata"), "annotations");
	json_object_set_new(annotations, "FC_TASK_UID", json_string(world_task(&w, 0, 0)->instance_uid));
	world_tell_pod(&w, "f-a-0");
	world_settle(&w);
	assert_null(world_pod(&w, "f-a-0"));
	assert_int_equal(w.writes, writes);
	world_end(&w);
}

/* Kueue evicts what the successor runs: the former one, for whom the Framework still waits for its admission, sees no
 * Pods, and gives no quota back. */
static void test_evicted(void **state)
{
	static const char evicted[] =
		"{'conditions':[{'type':'QuotaReserved','status':'True'},{'type':'Admitted','status':'True'},"
		"{'type':'Evicted','status':'True','reason':'Preempted','message':'m'}]}";
	struct world w;
	struct framework *stale;

	(void)state;
	begin(&w, "", "", "");
	world_settle(&w);
	stale = begin_successor(&w);
	decide(&w, admitted);
	run_all(&w);
	wake(&w, stale);
	json_object_set_new(workload(&w), "status", json_of(evicted));
	world_stamp(&w, workload(&w));
	world_workload_changed(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 0);
	world_write(&w);
	assert_true(w.unsure); /* 409 */
	world_settle(&w);
	assert_true(suspended(&w)); /* it goes on from what is stored, and evicts the Pods first */
	assert_int_equal(json_object_size(w.pods), 0);
	assert_string_equal(condition(&w, "QuotaReserved", "status"), "False");
	world_end(&w);
}

/* A GET has shown that there is no ConfigMap. The successor has resumed the Framework since, and created one. */
static void test_absence_confirmed_before(void **state)
{
	struct world w;
	struct framework *stale;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'suspend':true");
	world_settle(&w);
	w.framework->config_map.known = SLOT_CONFIRMED;
	stale = begin_successor(&w);
	world_edit_of(&w, 1, "", "", "");
	for (int i = 0; i < 10 && w.config_map == NULL; i++) {
		world_reconcile(&w);
		if (w.plan.write)
			world_write(&w);
		world_carry(&w);
	}
	assert_non_null(w.config_map);
	wake(&w, stale);
	world_edit_of(&w, 1, "", "", ",'executionType':'Stop'");
	world_reconcile(&w);
	world_write(&w); /* as if it had the key still */
	world_reconcile(&w);
	assert_state(&w, STATE_CREATION_PENDING);
	world_settle(&w);
	world_collect(&w);
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_null(w.config_map);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_task_retried),
		cmocka_unit_test(test_adoption_not_stored),
		cmocka_unit_test(test_framework_retried),
		cmocka_unit_test(test_vouched),
		cmocka_unit_test(test_former_attempt),
		cmocka_unit_test(test_evicted),
		cmocka_unit_test(test_absence_confirmed_before),
	};

	return cmocka_run_group_tests_name("sync_stale", tests, NULL, NULL);
}
