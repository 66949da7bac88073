/* Frameworks in a queue of Kueue (CONTRACT.md §21), when calls are refused, somebody changes or deletes the Framework,
 * and which Events and conditions tell what. */
#include "tests/unit/kueue_world.h"

#include "reconciler/sync/rules.h"

#define HINT ". The rights that Kueue needs are in manifests/rbac/kueue; the Framework waits for them\n"

static void forbid(struct world *w, enum call_kind kind, int count)
{
	world_forbid(w, kind, count, "workloads.kueue.x-k8s.io is forbidden");
}

static void edit_label(struct world *w, const char *queue)
{
	json_t *labels = json_at(w->object, "metadata.labels");

	if (queue == NULL)
		json_object_del(labels, "kueue.x-k8s.io/queue-name");
	else
		json_object_set_new(labels, "kueue.x-k8s.io/queue-name", json_string(queue));
	world_stamp(w, w->object);
	world_tell_framework(w);
}

/* Each right that is missing is told as what it is for, and the work goes on when it is there. */
static void test_forbidden(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	forbid(&w, CALL_CREATE_OWNED, 3);
	world_pass(&w, 60);
	assert_contains(w.events.data,
			"FailedCreateWorkload: Failed to create framework-f: workloads.kueue.x-k8s.io is "
			"forbidden" HINT);
	assert_non_null(workload(&w));
	world_end(&w);

	/* to look whether it is there */
	begin(&w, "", "", "");
	world_settle(&w);
	owned_slot(w.framework, SLOT_WORKLOAD)->known = SLOT_IN_DOUBT;
	forbid(&w, CALL_GET_OWNED, 3);
	world_clear_log(&w);
	world_pass(&w, 60);
	assert_contains(w.events.data, "FailedReadKueue: Failed to get framework-f: workloads.kueue.x-k8s.io is "
				       "forbidden" HINT);
	assert_lacks(w.events.data, "Failed to create");
	assert_int_equal(w.made[CALL_GET_OWNED], 4);
	world_end(&w);

	/* to delete it, as the user suspends the Framework */
	begin(&w, "", "", "");
	world_settle(&w);
	forbid(&w, CALL_DELETE_OWNED, 3);
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':2}],'suspend':true}");
	world_pass(&w, 60);
	assert_contains(w.events.data,
			"FailedDeleteWorkload: Failed to delete framework-f: workloads.kueue.x-k8s.io is "
			"forbidden" HINT);
	assert_null(workload(&w));
	world_end(&w);

	/* to read a flavor */
	begin(&w, "", "", "");
	world_settle(&w);
	forbid(&w, CALL_GET_KUEUE, 3);
	decide(&w, admitted);
	world_pass(&w, 60);
	assert_contains(w.events.data, "FailedReadKueue: Cannot read resourceflavors/spot of kueue.x-k8s.io, which its "
				       "admission needs: workloads.kueue.x-k8s.io is forbidden" HINT);
	assert_false(suspended(&w));
	world_end(&w);
}

/* Whether the create or the GET after it is refused: the first is told first. */
static void test_forbidden_at_all(void **state)
{
	struct world w;
	const char *created;
	const char *read;

	(void)state;
	begin(&w, "", "", "");
	forbid(&w, CALL_CREATE_OWNED, 1);
	for (int i = 0; i < 50 && w.fault.count > 0; i++)
		world_step(&w);
	forbid(&w, CALL_GET_OWNED, 2);
	world_pass(&w, 60);
	created = strstr(w.events.data, "FailedCreateWorkload: Failed to create framework-f");
	read = strstr(w.events.data, "FailedReadKueue: Failed to get framework-f");
	assert_non_null(created);
	assert_true(read > created);
	assert_non_null(workload(&w));
	world_end(&w);
}

/* A missing flavor is asked for at longer and longer intervals. */
static void test_lookup_backs_off(void **state)
{
	struct world w;
	int first;

	(void)state;
	begin(&w, "", "", "");
	json_object_del(w.kueue_objects, "resourceflavors/spot");
	world_settle(&w);
	decide(&w, admitted);
	world_pass(&w, 60);
	first = (int)w.made[CALL_GET_KUEUE];
	assert_in_range(first, 5, 25);
	world_pass(&w, 600);
	assert_in_range((int)w.made[CALL_GET_KUEUE] - first, 5, 25);
	world_end(&w);
}

/* Nor is it asked for before Retry-After is over, although the Framework changes. */
static void test_lookup_asked_to_wait(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	world_settle(&w);
	w.fault = (struct world_fault){.kind = CALL_GET_KUEUE,
				       .count = 1,
				       .http_status = 429,
				       .reason = "TooManyRequests",
				       .retry_after_ms = 3600 * 1000};
	decide(&w, admitted);
	world_pass(&w, 1800);
	world_workload_changed(&w);
	world_pass(&w, 1700);
	assert_int_equal(w.made[CALL_GET_KUEUE], 1);
	world_pass(&w, 3600);
	assert_int_equal(w.made[CALL_GET_KUEUE], 2);
	assert_non_null(w.framework->status.admission);
	world_end(&w);
}

/* The answer to its create was lost, and then said that the name is taken: by itself. */
static void test_created_after_all(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	w.fault = (struct world_fault){.kind = CALL_CREATE_OWNED,
				       .count = 1,
				       .carried_out = true,
				       .http_status = 409,
				       .reason = "AlreadyExists",
				       .message = "already exists"};
	world_pass(&w, 60);
	assert_non_null(workload(&w));
	assert_null(kueue_slot(w.framework)->error);
	world_mark_deleting(&w, workload(&w), 0);
	world_workload_changed(&w);
	world_pass(&w, 60);
	assert_non_null(workload(&w));
	assert_null(meta_str(workload(&w), "deletionTimestamp"));
	assert_lacks(w.events.data, "FailedCreateWorkload");
	world_end(&w);
}

/* Foreground deletion of the Framework: what it owns is being deleted. */
static void delete_in_foreground(struct world *w)
{
	world_mark_deleting(w, w->object, 0);
	world_tell_framework(w);
	world_mark_deleting(w, workload(w), 0);
	world_workload_changed(w);
}

static void test_foreground_deletion(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", "");
	run_all(&w);
	world_clear_log(&w);
	w.slow_kubelet = true;
	delete_in_foreground(&w);
	world_config_map_deleting(&w);
	world_pass(&w, 5);
	assert_json(json_at(workload(&w), "metadata.finalizers"), "['kueue.x-k8s.io/resource-in-use']");
	world_pod_gone(&w, "f-a-0");
	world_pod_gone(&w, "f-a-1");
	world_pass(&w, 5);
	assert_null(workload(&w));
	assert_lacks(w.events.data, "FrameworkEvicted");
	world_end(&w);
}

/* The same, of one that runs and whose spec cannot be read any more. */
static void test_foreground_deletion_of_malformed(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", "");
	run_all(&w);
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':'two'}]}");
	world_settle(&w);
	assert_contains(w.events.data, "Malformed: ");
	assert_non_null(workload(&w));
	world_clear_log(&w);
	w.slow_kubelet = true;
	forbid(&w, CALL_PATCH_OWNED, 2); /* it is tried again */
	delete_in_foreground(&w);
	world_config_map_deleting(&w);
	world_pass(&w, 5);
	assert_calls(&w, "");
	world_pod_gone(&w, "f-a-0");
	world_pod_gone(&w, "f-a-1");
	world_pass(&w, 60);
	assert_null(workload(&w));
	assert_int_equal(w.made[CALL_PATCH_OWNED], 3);
	assert_int_equal(w.made[CALL_DELETE_OWNED] + w.made[CALL_CREATE_OWNED] + w.made[CALL_CREATE_POD], 0);
	world_end(&w);
}

/* Without its label it goes on, whether it waits or runs. */
static void test_leaves_the_queue(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	world_settle(&w);
	edit_label(&w, NULL);
	world_settle(&w);
	assert_contains(w.events.data,
			"FrameworkResumed: Framework is resumed: it is in no queue any more, because its "
			"label kueue.x-k8s.io/queue-name was removed\n");
	assert_null(workload(&w));
	assert_task(&w, 0, 0, STATE_PREPARING);
	/* the user's suspending is the user's again */
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':2}],'suspend':true}");
	world_pass(&w, 5);
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':2}]}");
	world_pass(&w, 5);
	assert_contains(w.events.data, "FrameworkResumed: Framework is resumed: spec.suspend is false\n");
	world_end(&w);

	begin_admitted(&w, "", "", "");
	run_all(&w);
	edit_label(&w, NULL);
	world_pass(&w, 5);
	assert_lacks(w.events.data, "FrameworkResumed: Framework is resumed: it is in no queue");
	assert_lacks(w.events.data, "FrameworkEvicted");
	assert_null(workload(&w));
	world_end(&w);
}

/* Another activeDeadlineSec reaches Kueue while it waits, and not while it is admitted: then Kueue refuses that. */
static void test_deadline_changed(void **state)
{
	static const char longer[] = "{'taskRoles':[{'name':'a','taskNumber':2,'task':{'pod':{'spec':{'containers':[{"
				     "'name':'c'}]}}}}],'activeDeadlineSec':1200}";
	struct world w;

	(void)state;
	begin(&w, "", "", ",'activeDeadlineSec':600");
	world_settle(&w);
	world_clear_log(&w);
	world_edit(&w, longer);
	world_settle(&w);
	assert_calls(&w, "patch Workload framework-f; ");
	assert_json(json_at(workload(&w), "spec.maximumExecutionTimeSeconds"), "1200");
	world_end(&w);

	begin_admitted(&w, "", "", ",'activeDeadlineSec':600");
	run_all(&w);
	world_pass(&w, 5);
	world_clear_log(&w);
	world_edit(&w, longer);
	world_settle(&w);
	assert_calls(&w, "");
	/* Kueue knows of the former time only: no end, but an eviction, after which it knows of the new one */
	json_object_set_new(json_object_get(workload(&w), "spec"), "active", json_false());
	decide(&w,
	       "{'conditions':[{'type':'QuotaReserved','status':'True'},{'type':'Admitted','status':'True'},{'type':"
	       "'Evicted','status':'True','reason':'DeactivatedDueToMaximumExecutionTimeExceeded','message':'m'}]}");
	world_pass(&w, 5);
	assert_true(suspended(&w));
	assert_string_equal(condition(&w, "QuotaReserved", "status"), "False");
	assert_json(json_at(workload(&w), "spec.maximumExecutionTimeSeconds"), "1200");
	assert_json(json_at(workload(&w), "spec.active"), "true");
	decide(&w, admitted);
	run_all(&w);
	assert_state(&w, STATE_RUNNING);
	assert_int_equal(w.framework->status.retry.accountable, 0);
	world_end(&w);
}

/* PodsReady tells a start from a recovery, as Kueue does for its own jobs. */
static void test_pods_ready(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, ",'retryPolicy':{'maxRetryCount':-2}", "", "");
	/* Kueue has written the condition before anything ran */
	json_array_append_new(json_at(workload(&w), "status.conditions"),
			      json_of("{'type':'PodsReady','status':'False','reason':'WaitForStart'}"));
	world_stamp(&w, workload(&w));
	world_workload_changed(&w);
	run_all(&w);
	world_pass(&w, 2);
	assert_string_equal(condition(&w, "PodsReady", "reason"), "Started");
	world_pod_exit(&w, "f-a-0", 1, "");
	world_pass(&w, 10);
	assert_string_equal(condition(&w, "PodsReady", "reason"), "WaitForRecovery");
	run_all(&w);
	world_pass(&w, 2);
	assert_string_equal(condition(&w, "PodsReady", "status"), "True");
	assert_string_equal(condition(&w, "PodsReady", "reason"), "Recovered");
	world_end(&w);
}

/* A Task or a Framework that waits for its retry does not run. */
static void test_pods_ready_until_retry(void **state)
{
	static const struct {
		const char *task_rest;
		const char *spec_rest;
	} rows[] = {
		{",'retryPolicy':{'maxRetryCount':3,'backoff':{'initialSec':100}}", ""},
		{"", ",'retryPolicy':{'maxRetryCount':3,'backoff':{'initialSec':100}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		begin_admitted(&w, rows[i].task_rest, "", rows[i].spec_rest);
		run_all(&w);
		world_pass(&w, 2);
		assert_string_equal(condition(&w, "PodsReady", "status"), "True");
		world_pod_exit(&w, "f-a-0", 1, "");
		world_pass(&w, 20);
		assert_string_equal(condition(&w, "PodsReady", "reason"), "WaitForRecovery");
		assert_null(json_at(workload(&w), "status.reclaimablePods"));
		world_pass(&w, 100);
		run_all(&w);
		world_pass(&w, 2);
		assert_string_equal(condition(&w, "PodsReady", "reason"), "Recovered");
		assert_lacks(w.events.data, "FrameworkEvicted");
		world_end(&w);
	}
}

/* TaskRoles that wait for others keep nobody waiting. */
static void test_pods_ready_with_dependencies(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", "");
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':2},{'name':'b','taskNumber':1,'dependsOn':[{"
		       "'taskRole':'a','status':'Succeeded'}]}]}");
	world_settle(&w);
	decide(&w, admitted);
	run_all(&w);
	world_pass(&w, 2);
	assert_string_equal(condition(&w, "PodsReady", "reason"), "Started");
	world_pod_exit(&w, "f-a-0", 0, "");
	world_pod_exit(&w, "f-a-1", 0, "");
	world_pass(&w, 2);
	assert_non_null(world_pod(&w, "f-b-0"));
	assert_string_equal(condition(&w, "PodsReady", "reason"), "WaitForRecovery");
	world_restart(&w);
	world_pass(&w, 2);
	assert_string_equal(condition(&w, "PodsReady", "reason"), "WaitForRecovery");
	world_pod_phase(&w, "f-b-0", "Running");
	world_pass(&w, 2);
	assert_string_equal(condition(&w, "PodsReady", "reason"), "Recovered");
	world_end(&w);
}

/* While its spec cannot be read, a Framework that waits takes no place in the queue; whether Kueue has just given it
 * one. */
static void test_malformed_while_it_waits(void **state)
{
	static const bool just_admitted[] = {false, true};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(just_admitted); i++) {
		struct world w;

		begin(&w, "", "", "");
		world_settle(&w);
		if (just_admitted[i]) {
			json_object_set_new(workload(&w), "status", json_of(admitted));
			world_stamp(&w, workload(&w));
		}
		world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':'two'}]}");
		world_settle(&w);
		world_workload_changed(&w);
		world_pass(&w, 60);
		assert_null(workload(&w));
		assert_int_equal(w.made[CALL_DELETE_OWNED], 1);
		world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':2}]}");
		world_settle(&w);
		decide(&w, admitted);
		assert_non_null(world_pod(&w, "f-a-1"));
		world_end(&w);
	}
}

/* A creation that waits for its turn when the Framework is evicted is not sent: the Pod would lack what its flavor
 * adds. */
static void test_evicted_while_a_creation_waits(void **state)
{
	static const char evicted[] = "{'conditions':[{'type':'QuotaReserved','status':'True'},{'type':'Admitted',"
				      "'status':'True'},{'type':'Evicted','status':'True','reason':'Preempted'}]}";
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	world_settle(&w);
	json_object_set_new(workload(&w), "status", json_of(admitted));
	world_stamp(&w, workload(&w));
	world_workload_changed(&w);
	while (w.made[CALL_CREATE_CONFIG_MAP] == 0)
		assert_true(world_step(&w));
	w.hold_calls = true;
	world_settle(&w);
	assert_true(w.queued > 0);
	json_object_set_new(workload(&w), "status", json_of(evicted));
	world_stamp(&w, workload(&w));
	world_workload_changed(&w);
	world_reconcile(&w);
	assert_null(w.framework->status.admission);
	w.hold_calls = false;
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	assert_true(suspended(&w));
	world_end(&w);
}

/* More Tasks than a status has room for: the Framework keeps what it has, and does not wait in the queue for more. */
static void test_too_many_tasks(void **state)
{
	static const char spec[] = "{'taskRoles':[{'name':'a','taskNumber':2},{'name':'z','taskNumber':9999}]}";
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", "");
	run_all(&w);
	world_edit(&w, spec);
	world_pass(&w, 60);
	assert_lacks(w.events.data, "FrameworkEvicted");
	assert_state(&w, STATE_RUNNING);
	assert_non_null(workload(&w));
	world_end(&w);
	begin(&w, "", "", "");
	world_settle(&w);
	world_edit(&w, spec);
	world_pass(&w, 60);
	assert_null(workload(&w));
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':2}]}");
	world_settle(&w);
	assert_non_null(workload(&w));
	world_end(&w);
}

/* An administrator's spec.active false survives a suspension by the user. */
static void test_deactivated_and_suspended(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", "");
	run_all(&w);
	json_object_set_new(json_object_get(workload(&w), "spec"), "active", json_false());
	world_stamp(&w, workload(&w));
	world_workload_changed(&w);
	world_pass(&w, 10);
	assert_string_equal(condition(&w, "QuotaReserved", "status"), "False");
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':2}],'suspend':true}");
	world_pass(&w, 10);
	world_edit(&w, "{'taskRoles':[{'name':'a','taskNumber':2}]}");
	world_pass(&w, 10);
	assert_true(json_is_false(json_at(workload(&w), "spec.active")));
	assert_true(suspended(&w));
	world_end(&w);
}

/* The Workload of a former Framework of the name goes, and no event tells of it: it holds nobody's place. */
static void test_former_lost(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	world_settle(&w);
	json_object_del(w.workloads, WORLD_WORKLOAD);
	json_object_del(w.object, "status");
	world_new_uid(&w, w.object, "fw");
	world_stamp(&w, w.object);
	world_tell_framework(&w);
	owned_slot(w.framework, SLOT_WORKLOAD)->known = SLOT_IN_DOUBT; /* a snapshot has begun */
	world_pass(&w, 60);
	assert_non_null(workload(&w));
	assert_string_equal(kueue_slot(w.framework)->meta->uid, meta_str(workload(&w), "uid"));
	world_end(&w);
}

/* The creation of a Workload waits for its turn, and a Framework of the same name comes meanwhile: it has no Workload
 * before its status is stored. */
static void test_namesake_takes_the_turn(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "", "", "");
	for (int i = 0; i < 10 && w.queued == 0; i++) {
		world_reconcile(&w);
		world_write(&w);
		world_reconcile(&w);
	}
	assert_int_equal(w.queued, 1);
	assert_int_equal(w.queue[0].kind, CALL_CREATE_OWNED);
	json_object_del(w.object, "status");
	world_new_uid(&w, w.object, "fw");
	world_stamp(&w, w.object);
	world_tell_framework(&w);
	world_reconcile(&w);
	world_carry(&w);
	assert_null(workload(&w));
	world_settle(&w);
	assert_non_null(workload(&w));
	assert_true(suspended(&w));
	world_end(&w);
}

/* A finalizer of somebody else keeps the deleted Framework, and with it the Workload: it keeps no quota that it does
 * not use. */
static void test_deleted_and_kept(void **state)
{
	struct world w;

	(void)state;
	begin_admitted(&w, "", "", "");
	run_all(&w);
	world_mark_deleting(&w, w.object, 0);
	world_tell_framework(&w);
	for (size_t i = 0; i < 2; i++)
		world_pod_exit(&w, pod_name("a", i), 0, "");
	for (int i = 0; i < 5; i++) {
		world_pass(&w, 10);
		world_collect(&w);
	}
	assert_state(&w, STATE_COMPLETED);
	assert_string_equal(condition(&w, "Finished", "status"), "True");
	world_end(&w);

	/* it is held, and will never start */
	begin(&w, "", "", "");
	world_settle(&w);
	world_mark_deleting(&w, w.object, 0);
	world_tell_framework(&w);
	decide(&w, admitted);
	world_pass(&w, 60);
	assert_null(workload(&w));
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forbidden),
		cmocka_unit_test(test_forbidden_at_all),
		cmocka_unit_test(test_lookup_backs_off),
		cmocka_unit_test(test_lookup_asked_to_wait),
		cmocka_unit_test(test_created_after_all),
		cmocka_unit_test(test_foreground_deletion),
		cmocka_unit_test(test_foreground_deletion_of_malformed),
		cmocka_unit_test(test_leaves_the_queue),
		cmocka_unit_test(test_deadline_changed),
		cmocka_unit_test(test_pods_ready),
		cmocka_unit_test(test_pods_ready_until_retry),
		cmocka_unit_test(test_pods_ready_with_dependencies),
		cmocka_unit_test(test_malformed_while_it_waits),
		cmocka_unit_test(test_too_many_tasks),
		cmocka_unit_test(test_evicted_while_a_creation_waits),
		cmocka_unit_test(test_deactivated_and_suspended),
		cmocka_unit_test(test_former_lost),
		cmocka_unit_test(test_namesake_takes_the_turn),
		cmocka_unit_test(test_deleted_and_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
