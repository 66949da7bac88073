/* Frameworks in a queue of Kueue (CONTRACT.md §21): held until their Workload is admitted, created with what it adds,
 * suspended when it is evicted, and the quota goes back when no Pod is left. */
#include "tests/unit/kueue_world.h"

static void test_waits_for_admission(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	world_settle(&w);
	assert_calls(&w, "create Workload framework-f; ");
	assert_true(suspended(&w));
	assert_state(&w, STATE_CREATION_PENDING);
	assert_json(
		json_at(workload(&w), "spec"),
		"{'queueName':'team','active':true,'podSets':[{'name':'a','count':2,'template':{'metadata':{},'spec':{"
		"'containers':[{'name':'c'}]}}}]}");
	assert_json(json_at(workload(&w), "metadata.finalizers"), "['kueue.x-k8s.io/resource-in-use']");
	assert_json(json_object_get(json_at(workload(&w), "metadata.labels"), "kueue.x-k8s.io/job-uid"), "'fw-uid-1'");
	decide(&w, "{'conditions':[{'type':'QuotaReserved','status':'False','message':'no room'}]}");
	assert_calls(&w, "");
	assert_contains(w.events.data, "QueueWaiting: Framework waits for its admission in the queue team (Workload "
				       "framework-f): no room\n");
	/* a reservation alone lets nothing run */
	decide(&w, "{'conditions':[{'type':'QuotaReserved','status':'True','message':'m'}],'admissionChecks':[{'name':'"
		   "prov',"
		   "'state':'Pending','message':'booting'}]}");
	world_pass(&w, 61);
	assert_calls(&w, "");
	assert_contains(w.events.data, "admission check prov is Pending: booting");
	decide(&w, admitted);
	assert_calls(&w, "get resourceflavors/spot; create ConfigMap f-attempt; create Pod f-a-0; create Pod f-a-1; ");
	assert_contains(w.events.data, "FrameworkAdmitted: Framework is admitted by the ClusterQueue cq\n");
	assert_false(suspended(&w));
	assert_json(json_at(world_pod(&w, "f-a-1"), "spec.nodeSelector"), "{'pool':'spot'}");
	assert_json(json_at(world_pod(&w, "f-a-1"), "spec.tolerations"), "[{'key':'spot','operator':'Exists'}]");
	assert_json(json_at(w.object, "status.admission.clusterQueue"), "'cq'");
	world_end(&w);
}

/* Whether it is configured, and has the label, or neither: nothing is asked of Kueue. */
static void test_not_asked_for(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	w.framework->kueue.on = false;
	world_end(&w);
	world_init(&w);
	world_create_framework(&w, "{'taskRoles':[{'name':'a','taskNumber':1}]}", NULL);
	json_object_set_new(json_object_get(w.object, "metadata"), "labels",
			    json_of("{'kueue.x-k8s.io/queue-name':'team'}"));
	world_stamp(&w, w.object);
	world_tell_framework(&w);
	world_settle(&w);
	assert_calls(&w, "create ConfigMap f-attempt; create Pod f-a-0; ");
	assert_null(json_at(w.object, "status.admission"));
	world_end(&w);
}

/* Nothing is created before the admission is stored, and a new owner goes on with it. */
static void test_admission_is_kept(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	world_settle(&w);
	world_clear_log(&w);
	w.hold_writes = true;
	json_object_set_new(workload(&w), "status", json_of(admitted));
	world_stamp(&w, workload(&w));
	world_workload_changed(&w);
	for (int i = 0; i < 5; i++)
		world_step(&w);
	assert_calls(&w, "get resourceflavors/spot; ");
	w.hold_writes = false;
	world_settle(&w);
	run_all(&w);
	world_pass(&w, 3);
	world_clear_log(&w);
	world_restart(&w);
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	world_pass(&w, 3);
	assert_calls(&w, "delete Pod f-a-0; patch status of Workload framework-f; ");
	assert_json(json_at(workload(&w), "status.reclaimablePods"), "[{'name':'a','count':1}]");
	world_end(&w);
}

static void test_evicted(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", ",'retryPolicy':{'maxRetryCount':0}");
	run_all(&w);
	world_pass(&w, 2);
	assert_string_equal(condition(&w, "PodsReady", "status"), "True");
	world_clear_log(&w);
	w.slow_kubelet = true;
	decide(&w,
	       "{'conditions':[{'type':'QuotaReserved','status':'True'},{'type':'Admitted','status':'True'},{'type':"
	       "'Evicted','status':'True','reason':'Preempted','message':'for another'}],'admission':{'clusterQueue':"
	       "'cq','podSetAssignments':[]}}");
	world_pass(&w, 5);
	/* the quota is kept while a Pod is there */
	assert_string_equal(condition(&w, "QuotaReserved", "status"), "True");
	assert_null(json_at(w.object, "status.admission"));
	world_pod_gone(&w, "f-a-0");
	world_pass(&w, 5);
	assert_string_equal(condition(&w, "QuotaReserved", "status"), "True");
	world_pod_gone(&w, "f-a-1");
	world_pass(&w, 5);
	assert_string_equal(condition(&w, "QuotaReserved", "status"), "False");
	assert_string_equal(condition(&w, "QuotaReserved", "reason"), "Pending");
	assert_string_equal(condition(&w, "Admitted", "status"), "False");
	assert_string_equal(condition(&w, "Requeued", "status"), "True");
	assert_null(json_at(workload(&w), "status.admission"));
	assert_true(suspended(&w));
	assert_int_equal(w.framework->status.retry.total, 1);
	assert_int_equal(w.framework->status.retry.accountable, 0);
	w.slow_kubelet = false;
	world_clear_log(&w);
	decide(&w, admitted);
	assert_calls(&w, "get resourceflavors/spot; create ConfigMap f-attempt; create Pod f-a-0; create Pod f-a-1; ");
	world_end(&w);
}

/* One that was evicted says at once why it waits again. */
static void test_waits_again(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	world_settle(&w);
	decide(&w, "{'conditions':[{'type':'QuotaReserved','status':'False','message':'no room'}]}");
	decide(&w, admitted);
	run_all(&w);
	decide(&w,
	       "{'conditions':[{'type':'QuotaReserved','status':'True'},{'type':'Admitted','status':'True'},{'type':"
	       "'Evicted','status':'True','reason':'Preempted','message':'for another'}],'admission':{'clusterQueue':"
	       "'cq','podSetAssignments':[]}}");
	world_pass(&w, 5);
	assert_contains(strstr(w.events.data, "FrameworkEvicted: "), "QueueWaiting: ");
	world_end(&w);
}

/* Kueue leaves it to the controller to ask for the quota again after these. For other reasons Kueue itself does. */
static void test_requeued(void **state)
{
	static const struct {
		const char *reason;
		const char *requeued;
	} rows[] = {{"Preempted", "True"}, {"NodeFailures", "True"}, {"PodsReadyTimeout", "False"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *status = mem_printf(
			"{'conditions':[{'type':'QuotaReserved','status':'True'},{'type':'Admitted','status':'True'},{"
			"'type':'Evicted','status':'True','reason':'%s','message':'m'}],'admission':{'clusterQueue':"
			"'cq','podSetAssignments':[]}}",
			rows[i].reason);
		struct world w;

		begin_admitted(&w, "", "", "");
		run_all(&w);
		decide(&w, status);
		world_pass(&w, 5);
		assert_string_equal(condition(&w, "QuotaReserved", "status"), "False");
		assert_string_equal(condition(&w, "Requeued", "status"), rows[i].requeued);
		world_end(&w);
	}
}

/* Whoever deactivates it does so for good, until it is active again. */
static void test_deactivated(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", "");
	run_all(&w);
	json_object_set_new(json_object_get(workload(&w), "spec"), "active", json_false());
	world_stamp(&w, workload(&w));
	world_workload_changed(&w);
	world_settle(&w);
	world_pass(&w, 5);
	assert_string_equal(condition(&w, "QuotaReserved", "status"), "False");
	assert_true(suspended(&w));
	assert_contains(w.events.data, "its Workload is deactivated: spec.active is false");
	world_end(&w);
}

/* Its end is reported, and then the finalizer goes. */
static void test_finished(void **state)
{
	static const int codes[] = {0, 1};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		struct world w;

		begin_admitted(&w, "", "", "");
		run_all(&w);
		world_pod_exit(&w, "f-a-0", codes[i], "");
		world_pod_exit(&w, "f-a-1", codes[i], "");
		world_settle(&w);
		world_pass(&w, 5);
		assert_state(&w, STATE_COMPLETED);
		assert_string_equal(condition(&w, "Finished", "status"), "True");
		assert_string_equal(condition(&w, "Finished", "reason"), codes[i] == 0 ? "Succeeded" : "Failed");
		assert_json(json_at(workload(&w), "metadata.finalizers"), "[]");
		world_clear_log(&w);
		world_restart(&w);
		world_settle(&w);
		assert_calls(&w, "");
		world_end(&w);
	}
}

/* Another number of Tasks: asked for at once while it waits, by another Workload when it runs. */
static void test_rescaled(void **state)
{
	static const char spec[] = "{'taskRoles':[{'name':'a','taskNumber':3}]}";
	cleanup_free char *uid = NULL;
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	world_settle(&w);
	world_clear_log(&w);
	world_edit(&w, spec);
	world_settle(&w);
	assert_calls(&w, "patch Workload framework-f; ");
	assert_json(json_at(workload(&w), "spec.podSets.0.count"), "3");
	world_end(&w);

	begin_admitted(&w, "", "", "");
	uid = mem_strdup(meta_str(workload(&w), "uid"));
	run_all(&w);
	world_clear_log(&w);
	world_edit(&w, spec);
	world_settle(&w);
	world_pass(&w, 5);
	assert_contains(w.events.data,
			"FrameworkEvicted: Framework is suspended, and waits for its admission again: its queue,");
	assert_contains(w.log.data,
			"delete Workload framework-f; patch Workload framework-f; create Workload framework-f; ");
	assert_json(json_at(workload(&w), "spec.podSets.0.count"), "3");
	assert_string_not_equal(meta_str(workload(&w), "uid"), uid);
	assert_true(suspended(&w));
	world_end(&w);
}

/* Tasks run again whose quota was given back. */
static void test_retried(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", ",'frameworkAttemptCompletionPolicy':{'minFailedTaskCount':1}",
		       ",'retryPolicy':{'maxRetryCount':1}");
	run_all(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	world_pass(&w, 3);
	assert_json(json_at(workload(&w), "status.reclaimablePods"), "[{'name':'a','count':1}]");
	world_pod_exit(&w, "f-a-1", 1, "");
	world_settle(&w);
	world_pass(&w, 5);
	assert_contains(w.events.data, "Tasks run again whose quota was given back; its Workload is replaced");
	assert_null(json_at(workload(&w), "status.reclaimablePods"));
	assert_true(suspended(&w));
	assert_int_equal(w.framework->status.retry.accountable, 1);
	world_end(&w);
}

/* Somebody deletes the Workload: it is made again when no Pod is left. */
static void test_workload_deleted(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", "");
	run_all(&w);
	world_clear_log(&w);
	world_mark_deleting(&w, workload(&w), 0);
	world_workload_changed(&w);
	w.slow_kubelet = true;
	world_settle(&w);
	world_pass(&w, 5);
	assert_json(json_at(workload(&w), "metadata.finalizers"), "['kueue.x-k8s.io/resource-in-use']");
	world_pod_gone(&w, "f-a-0");
	world_pod_gone(&w, "f-a-1");
	world_pass(&w, 5);
	assert_contains(w.log.data, "patch Workload framework-f; create Workload framework-f; ");
	assert_true(suspended(&w));
	world_end(&w);
}

/* The Framework goes first; its Workload is let go when no Pod is left. */
static void test_framework_gone(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", "");
	run_all(&w);
	world_clear_log(&w);
	json_decref(w.object);
	w.object = NULL;
	framework_observe_absent(w.framework, "9000");
	world_mark_deleting(&w, workload(&w), 0);
	world_workload_changed(&w);
	world_settle(&w);
	assert_calls(&w, "");
	world_pod_gone(&w, "f-a-0");
	world_pod_gone(&w, "f-a-1");
	world_config_map_gone(&w);
	world_settle(&w);
	assert_calls(&w, "patch Workload framework-f; ");
	assert_null(workload(&w));
	world_end(&w);
}

/* The user suspends it: it asks for nothing. */
static void test_suspended_by_user(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", "");
	run_all(&w);
	world_clear_log(&w);
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':2}],'suspend':true}");
	world_settle(&w);
	world_pass(&w, 5);
	assert_null(workload(&w));
	assert_true(suspended(&w));
	assert_lacks(w.events.data, "FrameworkEvicted");
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':2}]}");
	world_settle(&w);
	assert_non_null(workload(&w));
	world_end(&w);
}

/* Kueue's clock is the deadline's. */
static void test_deadline_by_kueue(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", ",'activeDeadlineSec':600");
	assert_json(json_at(workload(&w), "spec.maximumExecutionTimeSeconds"), "600");
	run_all(&w);
	json_object_set_new(json_object_get(workload(&w), "spec"), "active", json_false());
	decide(&w,
	       "{'conditions':[{'type':'QuotaReserved','status':'True'},{'type':'Admitted','status':'True'},{'type':"
	       "'Evicted','status':'True','reason':'DeactivatedDueToMaximumExecutionTimeExceeded','message':'m'}]}");
	world_pass(&w, 5);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_ACTIVE_DEADLINE_EXCEEDED);
	assert_string_equal(condition(&w, "Finished", "reason"), "Failed");
	world_end(&w);
}

/* The priority is read first; v1beta1 has other members for it. */
static void test_priority(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	w.served[API_WORKLOADS_BETA2] = (struct api_served){.state = SERVED_NO, .until_ms = INT64_MAX};
	json_object_set_new(json_at(w.object, "metadata.labels"), "kueue.x-k8s.io/priority-class", json_string("high"));
	world_stamp(&w, w.object);
	world_tell_framework(&w);
	world_settle(&w);
	assert_int_equal(strncmp(w.log.data, "get workloadpriorityclasses/high; ", 34), 0);
	assert_contains(w.events.data, "FailedReadKueue: Cannot read workloadpriorityclasses/high");
	json_object_set_new(w.kueue_objects, "workloadpriorityclasses/high", json_of("{'value':7}"));
	world_pass(&w, 20);
	world_settle(&w);
	assert_json(json_at(workload(&w), "apiVersion"), "'kueue.x-k8s.io/v1beta1'");
	assert_json(json_at(workload(&w), "spec.priority"), "7");
	assert_json(json_at(workload(&w), "spec.priorityClassName"), "'high'");
	assert_null(json_at(workload(&w), "spec.priorityClassRef"));
	world_end(&w);
}

static void test_not_installed(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	w.served[API_WORKLOADS_BETA2] = w.served[API_WORKLOADS_BETA1] = (struct api_served){.state = SERVED_NO,
											    .until_ms = INT64_MAX};
	world_settle(&w);
	assert_calls(&w, "");
	assert_contains(w.events.data, "KueueUnavailable: The API server serves no Workloads of kueue.x-k8s.io");
	w.served[API_WORKLOADS_BETA2].state = SERVED_YES;
	world_settle(&w);
	assert_calls(&w, "create Workload framework-f; ");
	world_end(&w);
}

/* While no reconciler looks, somebody takes the Framework out of its queue, and deletes the Workload: what it was
 * admitted with is no more. */
static void test_left_without_workload(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", "");
	run_all(&w);
	json_object_del(json_object_get(w.object, "metadata"), "labels");
	world_stamp(&w, w.object);
	json_object_clear(w.workloads);
	world_restart(&w);
	world_settle(&w);
	assert_null(json_at(w.object, "status.admission"));
	world_end(&w);
}

/* The ConfigMap of a deleted Framework lost its label and outlives it. The next one of the name is stopped, and needs
 * the name no more: when the ConfigMap is gone, the former one's Workload is let go all the same. (Simulator seed
 * 16845.) */
static void test_former_config_map(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", "");
	run_all(&w);
	world_pod_gone(&w, "f-a-0");
	world_pod_gone(&w, "f-a-1");
	json_object_del(json_object_get(w.config_map, "metadata"), "labels");
	world_stamp(&w, w.config_map);
	framework_observe_absent(w.framework, NULL);
	json_decref(w.object);
	world_create_framework(&w, "{'executionType':'Stop','taskRoles':[{'name':'a','taskNumber':2}]}", NULL);
	world_mark_deleting(&w, workload(&w), 0);
	world_workload_changed(&w);
	world_pass(&w, 60);
	assert_state(&w, STATE_COMPLETED);
	assert_non_null(workload(&w));
	json_decref(w.config_map);
	w.config_map = NULL;
	world_pass(&w, 60);
	assert_null(workload(&w));
	world_end(&w);
}

/* An admitted Framework, whose Pods run, is deleted in the background; another one takes its name before they are gone.
 */
static void begin_replaced(struct world *w)
{
	begin_admitted(w, "", "", "");
	run_all(w);
	w->slow_kubelet = w->slow_gc = true;
	framework_observe_absent(w->framework, NULL);
	json_object_del(w->object, "status");
	world_new_uid(w, w->object, "fw");
}

/* The garbage collector deletes what was the former one's. Its quota is given back when its last Pod is gone. */
static void assert_released(struct world *w)
{
	world_stamp(w, w->object);
	world_tell_framework(w);
	world_settle(w);
	world_mark_deleting(w, workload(w), 0);
	world_workload_changed(w);
	world_mark_deleting(w, w->config_map, 0);
	world_tell_config_map(w);
	world_pod_deleting(w, "f-a-0");
	world_pod_deleting(w, "f-a-1");
	world_settle(w);
	world_pod_gone(w, "f-a-0");
	world_pass(w, 60);
	assert_non_null(workload(w));
	world_pod_gone(w, "f-a-1");
	if (w->config_map != NULL)
		world_config_map_gone(w);
	world_pass(w, 60);
	assert_null(workload(w));
}

/* Another controller's. */
static void test_former_of_others(void **state)
{
	struct world w;

	(void)state;
	begin_replaced(&w);
	json_object_set_new(json_object_get(w.object, "spec"), "managedBy", json_string("kueue.x-k8s.io/multikueue"));
	assert_released(&w);
	world_end(&w);
}

/* One in no queue, which has a ConfigMap and Pods at once. */
static void test_former_of_unqueued(void **state)
{
	struct world w;

	(void)state;
	begin_replaced(&w);
	json_object_del(json_object_get(w.object, "metadata"), "labels");
	assert_released(&w);
	assert_state(&w, STATE_PREPARING);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_for_admission),
		cmocka_unit_test(test_not_asked_for),
		cmocka_unit_test(test_admission_is_kept),
		cmocka_unit_test(test_evicted),
		cmocka_unit_test(test_requeued),
		cmocka_unit_test(test_waits_again),
		cmocka_unit_test(test_deactivated),
		cmocka_unit_test(test_finished),
		cmocka_unit_test(test_rescaled),
		cmocka_unit_test(test_retried),
		cmocka_unit_test(test_workload_deleted),
		cmocka_unit_test(test_framework_gone),
		cmocka_unit_test(test_suspended_by_user),
		cmocka_unit_test(test_deadline_by_kueue),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_not_installed),
		cmocka_unit_test(test_left_without_workload),
		cmocka_unit_test(test_former_config_map),
		cmocka_unit_test(test_former_of_others),
		cmocka_unit_test(test_former_of_unqueued),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
