/* The life of a Framework whose Pods do what they are made for (CONTRACT.md §3, §5, §6): the order of calls and
 * writes, the stamps, the conditions, Create and Stop, retention, timeouts. */
#include "tests/unit/sync_world.h"

/* The whole way: nothing is created before its decision is stored, nothing deleted before its completion is. */
static void test_succeeds(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", "", "");
	world_reconcile(&w);
	assert_true(w.plan.write);
	assert_int_equal(w.plan.call_count, 0);
	assert_state(&w, STATE_CREATION_PENDING);
	world_reconcile(&w); /* not written yet: still nothing */
	assert_int_equal(w.queued, 0);
	world_write(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	assert_int_equal(w.queue[0].kind, CALL_CREATE_CONFIG_MAP);
	world_carry(&w);
	assert_calls(&w, "create ConfigMap f-attempt; ");
	world_reconcile(&w);
	assert_state(&w, STATE_PREPARING);
	assert_false(w.plan.write); /* UIDs wait for each other up to 500 ms */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(w.queued, 1); /* Task 0 first */
		world_carry(&w);
		world_reconcile(&w);
	}
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_task(&w, 0, 1, STATE_PREPARING);
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 2);

	world_pod_phase(&w, "f-a-0", "Running");
	world_reconcile(&w);
	assert_state(&w, STATE_RUNNING);
	assert_task(&w, 0, 0, STATE_RUNNING);
	assert_task(&w, 0, 1, STATE_PREPARING);
	world_pod_phase(&w, "f-a-1", "Running");
	world_settle(&w);

	world_clear_log(&w);
	world_advance(&w, 5);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_reconcile(&w);
	assert_task(&w, 0, 0, STATE_DELETION_PENDING);
	assert_int_equal(w.queued, 0); /* its completion is not stored yet */
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	assert_calls(&w, "delete Pod f-a-0; ");
	assert_state(&w, STATE_RUNNING);
	world_pod_exit(&w, "f-a-1", 0, "");
	world_settle(&w);
	assert_calls(&w, "delete Pod f-a-1; delete ConfigMap f-attempt; ");
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, 0);
	assert_null(w.config_map);
	assert_false(world_step(&w)); /* and it stays */
	world_end(&w);
}

/* ARCHITECTURE.md §6.7: at most six for a Framework whose Pods move together. */
static void test_few_writes(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 5, "", "", "");
	world_settle(&w);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < 5; i++) {
			if (pass == 0)
				world_pod_phase(&w, pod_name("a", i), "Running");
			else
				world_pod_exit(&w, pod_name("a", i), 0, "");
		}
		world_settle(&w);
	}
	assert_state(&w, STATE_COMPLETED);
	if (w.writes > 6)
		fail_msg("%u status writes, expected at most 6", w.writes);
	world_end(&w);
}

static void test_stamps(void **state)
{
	struct world w;
	const struct framework_status *status;
	int64_t start = 1700000000;
	int64_t ran;
	char *first_uid;

	(void)state;
	world_begin_of(&w, 1, "", ",'retryPolicy':{'maxRetryCount':1}", ",'retryPolicy':{'maxRetryCount':1}");
	world_settle(&w);
	status = &w.framework->status;
	assert_int_equal(status->start_time, start);
	assert_int_equal(status->attempt.start_time, start);
	assert_int_equal(status->run_time, 0);
	assert_int_equal(status->attempt.run_time, 0);
	assert_string_equal(status->attempt.instance_uid, "0_cm-uid-2");
	assert_string_equal(world_task(&w, 0, 0)->attempt.instance_uid, "0_pod-uid-3");
	assert_int_equal(strlen(world_task(&w, 0, 0)->instance_uid), 36);
	world_advance(&w, 100);
	ran = w.time.wall_ms / 1000;
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	status = &w.framework->status;
	assert_int_equal(status->run_time, ran);
	assert_int_equal(status->attempt.run_time, ran);
	assert_int_equal(world_task(&w, 0, 0)->attempt.run_time, ran);
	first_uid = mem_strdup(world_task(&w, 0, 0)->instance_uid);

	/* The Task's retry: the outer times and UID stay, the attempt's are new. */
	world_advance(&w, 100);
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_string_equal(world_task(&w, 0, 0)->instance_uid, first_uid);
	assert_int_equal(world_task(&w, 0, 0)->start_time, start);
	assert_int_equal(world_task(&w, 0, 0)->run_time, ran);
	assert_int_equal(world_task(&w, 0, 0)->attempt.run_time, 0);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
	assert_int_equal(world_task(&w, 0, 0)->completion_time, 0);
	world_advance(&w, 100);
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);

	/* The Framework's retry: new Tasks with new UIDs, the outer run time stays though this attempt has none. */
	assert_state(&w, STATE_PREPARING);
	status = &w.framework->status;
	assert_int_equal(status->attempt.id, 1);
	assert_string_not_equal(world_task(&w, 0, 0)->instance_uid, first_uid);
	assert_int_equal(status->start_time, start);
	assert_int_equal(status->run_time, ran);
	assert_int_equal(status->attempt.run_time, 0);
	assert_int_equal(status->completion_time, 0);
	assert_true(status->attempt.start_time - start >= 300);
	assert_int_equal(world_task(&w, 0, 0)->retry.total, 0);
	free(first_uid);
	world_end(&w);
}

static void test_copied_fields(void **state)
{
	struct world w;
	struct task_attempt_status *attempt;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	world_carry(&w);
	world_reconcile(&w);
	attempt = &world_task(&w, 0, 0)->attempt;
	assert_null(attempt->pod_node_name); /* null until the Pod is seen */
	world_settle(&w);
	attempt = &world_task(&w, 0, 0)->attempt;
	assert_string_equal(attempt->pod_node_name, "");
	assert_string_equal(attempt->pod_ip, "");
	world_pod_phase(&w, "f-a-0", "Unknown"); /* no more than the three fields */
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_PREPARING);
	attempt = &world_task(&w, 0, 0)->attempt; /* reconciles may move it */
	assert_string_equal(attempt->pod_node_name, "node1");
	assert_string_equal(attempt->pod_ip, "10.0.0.1");
	assert_string_equal(attempt->pod_host_ip, "192.168.0.1");
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Unknown");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_RUNNING);
	world_pod_phase(&w, "f-a-0", "Pending"); /* the Task goes back, the Framework does not */
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_state(&w, STATE_RUNNING);
	/* Once it is deleting nothing more is copied. */
	w.slow_kubelet = true;
	json_object_set_new(json_at(world_pod(&w, "f-a-0"), "status"), "podIP", json_string("10.9.9.9"));
	world_pod_deleting(&w, "f-a-0");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_DELETING);
	assert_string_equal(world_task(&w, 0, 0)->attempt.pod_ip, "10.0.0.1");
	world_end(&w);
}

/* An unrecognised phase is that Task's trouble alone. */
static void test_unrecognised_phase(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", "", "");
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Dancing");
	world_pod_phase(&w, "f-a-1", "Running");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_task(&w, 0, 1, STATE_RUNNING);
	assert_contains(w.events.data, "UnrecognizedPodPhase: Pod f-a-0");
	/* Told once, however often it is looked at. */
	world_clear_log(&w);
	world_edit_of(&w, 2, "", "", ",'description':'look again'");
	world_pod_phase(&w, "f-a-0", "Dancing");
	world_settle(&w);
	assert_int_equal(w.events.len, 0);
	assert_calls(&w, "");
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_RUNNING);
	world_end(&w);
}

static void test_conditions(void **state)
{
	struct world w;
	cleanup_json json_t *preparing = NULL;
	cleanup_json json_t *running = NULL;
	cleanup_json json_t *over = NULL;

	(void)state;
	world_begin_of(&w, 3, ",'frameworkAttemptCompletionPolicy':{'minFailedTaskCount':1}", "", "");
	world_settle(&w);
	preparing = world_status(&w);
	assert_json(json_at(preparing, "conditions.0.status"), "'False'");
	assert_json(json_at(preparing, "conditions.0.message"), "'0/3'");
	assert_json(json_at(preparing, "conditions.2.status"), "'Unknown'");
	world_advance(&w, 10);
	world_pod_phase(&w, "f-a-0", "Running");
	world_pod_phase(&w, "f-a-1", "Running");
	world_settle(&w);
	running = world_status(&w);
	assert_json(json_at(running, "conditions.0.type"), "'Running'");
	assert_json(json_at(running, "conditions.0.status"), "'True'");
	assert_json(json_at(running, "conditions.0.message"), "'2/3'");
	assert_json(json_at(running, "conditions.1.type"), "'Completed'");
	assert_json(json_at(running, "conditions.1.status"), "'False'");
	assert_json(json_at(running, "conditions.1.lastTransitionTime"),
		    json_equal(json_at(preparing, "conditions.1.lastTransitionTime"),
			       json_at(running, "conditions.1.lastTransitionTime"))
			    ? "'2023-11-14T22:13:20Z'"
			    : "'unchanged'");
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	over = world_status(&w);
	assert_json(json_at(over, "conditions.0.status"), "'False'");
	assert_json(json_at(over, "conditions.1.status"), "'True'");
	assert_json(json_at(over, "conditions.2.type"), "'Succeeded'");
	assert_json(json_at(over, "conditions.2.status"), "'False'");
	/* What is stored is what is in memory. */
	assert_true(json_equal(json_at(w.object, "status"), over));
	world_end(&w);
}

/* observedGeneration follows every generation, also when Completed (or kubectl wait hangs after an edit). */
static void test_observed_generation(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'executionType':'Stop'");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_json(json_at(w.object, "status.observedGeneration"), "1");
	world_edit_of(&w, 2, "", "", "");
	world_settle(&w);
	assert_json(json_at(w.object, "status.observedGeneration"), "2");
	assert_state(&w, STATE_COMPLETED);
	assert_int_equal(w.framework->status.attempt.roles[0].task_count, 1);
	world_end(&w);
}

static void test_create_waits(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'executionType':'Create'");
	world_settle_for(&w, 100000);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_calls(&w, "");
	world_edit_of(&w, 1, "", "", "");
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	/* Start→Create, which the server lets through, holds the next attempt only. */
	world_edit_of(&w, 1, "", "", ",'executionType':'Create','retryPolicy':{'maxRetryCount':-2}");
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.id, 1);
	assert_state(&w, STATE_CREATION_PENDING);
	world_end(&w);
}

static void test_create_then_stop(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'executionType':'Create'");
	world_settle(&w);
	world_edit_of(&w, 1, "", "", ",'executionType':'Stop'");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_STOP_FRAMEWORK_REQUESTED);
	assert_task_code(&w, 0, 0, CODE_FRAMEWORK_ATTEMPT_COMPLETION);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	assert_calls(&w, "get ConfigMap f-attempt; "); /* made sure that none is there */
	world_end(&w);
}

/* Stop while the create of the ConfigMap is under way, whose answer is lost: it is found and deleted. */
static void test_stop_finds_config_map(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	w.mute = true;
	w.fault = (struct world_fault){.kind = CALL_CREATE_CONFIG_MAP, .count = 1, .carried_out = true};
	world_carry(&w);
	assert_non_null(w.config_map);
	w.mute = false;
	world_edit_of(&w, 1, "", "", ",'executionType':'Stop'");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_STOP_FRAMEWORK_REQUESTED);
	assert_null(w.config_map);
	world_end(&w);
}

static void test_stop_running(void **state)
{
	struct world w;
	const struct completion *completion;

	(void)state;
	world_begin_of(&w, 2, "", ",'retryPolicy':{'maxRetryCount':-2}", ",'retryPolicy':{'maxRetryCount':-2}");
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	world_clear_log(&w);
	world_edit_of(&w, 2, "", "", ",'executionType':'Stop','retryPolicy':{'maxRetryCount':-2}");
	world_reconcile(&w);
	assert_state(&w, STATE_DELETION_PENDING);
	assert_int_equal(w.queued, 0);
	world_settle(&w);
	assert_calls(&w, "delete ConfigMap f-attempt; ");
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_STOP_FRAMEWORK_REQUESTED);
	completion = w.framework->status.attempt.completion;
	assert_string_equal(completion->phrase, "StopFrameworkRequested");
	assert_string_equal(completion->diagnostics, "User has requested to stop the Framework");
	assert_null(completion->trigger);
	completion = world_task(&w, 0, 0)->attempt.completion;
	assert_int_equal(completion->code, CODE_FRAMEWORK_ATTEMPT_COMPLETION);
	assert_string_equal(completion->diagnostics, "Stop to complete current FrameworkAttempt");
	assert_task(&w, 0, 1, STATE_COMPLETED);
	world_end(&w);
}

/* Stop of an attempt that is already completing keeps its completionStatus; CONTRACT.md §9 decides; the next attempt,
 * counted, ends with -210 without a ConfigMap. */
static void test_stop_while_completing(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'retryPolicy':{'maxRetryCount':-2}");
	world_settle(&w);
	w.slow_gc = true;
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	world_edit_of(&w, 1, "", "", ",'executionType':'Stop','retryPolicy':{'maxRetryCount':-2}");
	world_settle(&w);
	assert_code(&w, 0);
	world_clear_log(&w);
	world_config_map_gone(&w);
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_int_equal(w.framework->status.attempt.id, 1);
	assert_int_equal(w.framework->status.retry.total, 1);
	assert_code(&w, CODE_STOP_FRAMEWORK_REQUESTED);
	assert_int_equal(w.made[CALL_CREATE_CONFIG_MAP], 0);
	world_end(&w);

	/* No retry: Completed with the code it has, which may be 0. */
	world_begin_of(&w, 1, "", "", "");
	world_settle(&w);
	w.slow_gc = true;
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	world_edit_of(&w, 1, "", "", ",'executionType':'Stop'");
	world_settle(&w);
	world_config_map_gone(&w);
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, 0);
	world_end(&w);
}

/* A spec without Tasks never completes by itself. */
static void test_no_tasks(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, "{}");
	world_settle_for(&w, 1000000);
	assert_state(&w, STATE_PREPARING);
	assert_contains(w.events.data, "AttemptStarted: Attempt 0 started without Tasks: it does not complete until");
	assert_calls(&w, "create ConfigMap f-attempt; ");
	world_edit(&w, "{'executionType':'Stop'}");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_STOP_FRAMEWORK_REQUESTED);
	world_end(&w);
}

static void test_retention(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'executionType':'Stop'");
	w.config.completed_retain_sec = 3600;
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	world_clear_log(&w);
	world_advance(&w, 3590);
	world_settle(&w);
	assert_calls(&w, "");
	/* A new owner makes sure of its view, and then waits as long as the old one would have. */
	world_restart(&w);
	world_settle(&w);
	assert_int_equal(w.writes, 0);
	assert_in_range(w.plan.wake_ms - w.time.boot_ms, 1, 10 * 1000);
	world_advance_ms(&w, w.plan.wake_ms - w.time.boot_ms);
	world_reconcile(&w);
	assert_int_equal(w.queued, 0);
	assert_true(w.plan.write);
	world_write(&w);
	w.fault = (struct world_fault){.kind = CALL_DELETE_FRAMEWORK, .count = 1, .http_status = 500, .message = "x"};
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	assert_string_equal(w.queue[0].uid, w.framework->uid);
	world_carry(&w);
	world_settle(&w); /* a failed one is tried again */
	assert_calls(&w, "delete Framework f; delete Framework f; ");
	assert_contains(w.snapshots.data, ": OnFrameworkDeletion: ObjectSnapshot: {\"apiVersion\"");
	world_settle_for(&w, 100000);
	assert_calls(&w, "");
	framework_observe_absent(w.framework, NULL);
	world_settle(&w);
	assert_calls(&w, "");
	world_end(&w);
}

/* A deleting Framework starts no attempt; one that runs goes on until its ConfigMap goes. */
static void test_deleting_framework(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'retryPolicy':{'fancyRetryPolicy':true}");
	world_settle(&w);
	world_mark_deleting(&w, w.object, 0);
	world_tell_framework(&w);
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	world_clear_log(&w);
	world_config_map_deleting(&w); /* by the garbage collector */
	world_settle(&w);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_int_equal(w.framework->status.attempt.id, 1);
	assert_calls(&w, "");
	/* Not even Stop is looked at. */
	json_object_set_new(json_object_get(w.object, "spec"), "executionType", json_string("Stop"));
	world_stamp(&w, w.object);
	world_tell_framework(&w);
	world_settle(&w);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_calls(&w, "");
	/* Gone, and a namesake comes: it starts anew. */
	framework_observe_absent(w.framework, NULL);
	assert_false(w.framework->exists);
	world_reconcile(&w);
	assert_int_equal(w.plan.wake_ms, INT64_MAX);
	json_decref(w.object);
	world_create_framework(&w, "{'taskRoles':[{'name':'b','taskNumber':1}]}", NULL);
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	assert_int_equal(w.framework->status.attempt.id, 0);
	assert_string_equal(w.framework->status.attempt.roles[0].name, "b");
	world_end(&w);
}

/* A Framework that makes no sense is told of, once for each reason, and left alone; mended, it goes on. */
static void test_malformed(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, "{'taskRoles':[{'name':'a','taskNumber':1},{'name':'a','taskNumber':2}]}");
	world_settle(&w);
	assert_int_equal(w.writes, 0);
	assert_calls(&w, "");
	assert_int_equal(strncmp(w.events.data, "Malformed: The controller does not act on this Framework: ", 58), 0);
	world_clear_log(&w);
	world_reconcile(&w);
	assert_int_equal(w.events.len, 0);
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':'many'}]}");
	world_reconcile(&w);
	assert_int_equal(strncmp(w.events.data, "Malformed: ", 11), 0);
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':1}]}");
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	world_end(&w);
}

/* Not again at each change of something else. */
static void test_unreadable_status(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	world_create_framework(&w, "{'taskRoles':[{'name':'a','taskNumber':1}]}", "{'state':'Nonsense'}");
	world_settle(&w);
	assert_contains(w.events.data, "Malformed: ");
	world_clear_log(&w);
	json_object_set_new(json_object_get(w.object, "metadata"), "annotations", json_of("{'x':'1'}"));
	world_stamp(&w, w.object);
	world_tell_framework(&w);
	world_settle(&w);
	assert_int_equal(w.events.len, 0);
	json_object_set_new(w.object, "status", json_of("{'state':'Humbug'}"));
	world_stamp(&w, w.object);
	world_tell_framework(&w);
	world_settle(&w);
	assert_contains(w.events.data, "Humbug");
	assert_int_equal(w.writes, 0);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_succeeds),
		cmocka_unit_test(test_few_writes),
		cmocka_unit_test(test_stamps),
		cmocka_unit_test(test_copied_fields),
		cmocka_unit_test(test_unrecognised_phase),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_observed_generation),
		cmocka_unit_test(test_create_waits),
		cmocka_unit_test(test_create_then_stop),
		cmocka_unit_test(test_stop_finds_config_map),
		cmocka_unit_test(test_stop_running),
		cmocka_unit_test(test_stop_while_completing),
		cmocka_unit_test(test_no_tasks),
		cmocka_unit_test(test_retention),
		cmocka_unit_test(test_deleting_framework),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_unreadable_status),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
