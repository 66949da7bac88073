/* Rescaling a running Framework (CONTRACT.md §11), and deletionPending Tasks in every state they can be in (CONTRACT.md
 * §6). */
#include "tests/unit/sync_world.h"

#define NEVER ",'frameworkAttemptCompletionPolicy':{}"
#define ALWAYS ",'retryPolicy':{'maxRetryCount':-2}"
#define DIAGNOSTICS "User has requested to delete the Task by Framework ScaleDown"

static size_t task_count(struct world *w, size_t role)
{
	return w->framework->status.attempt.roles[role].task_count;
}

static void begin_running(struct world *w, int n, const char *task_rest)
{
	world_begin_of(w, n, NEVER, task_rest, "");
	world_settle(w);
	for (int i = 0; i < n; i++)
		world_pod_phase(w, pod_name("a", (size_t)i), "Running");
	world_settle(w);
	assert_state(w, STATE_RUNNING);
	world_clear_log(w);
}

/* TaskRole a, and z with so many Tasks. */
static void edit_two(struct world *w, int a, int z, const char *rest)
{
	cleanup_free char *spec = mem_printf("{'taskRoles':[{'name':'a','taskNumber':%d" NEVER
					     "},{'name':'z','taskNumber':%d" NEVER "}]%s}",
					     a, z, rest);

	world_edit(w, spec);
	world_settle(w);
}

/* More Tasks than a status has room for: none is added. What runs goes on, and can be stopped. */
static void test_too_many(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 3, ALWAYS);
	edit_two(&w, 3, 9998, "");
	assert_contains(w.events.data, "TooManyTasks: The TaskRoles have 10001 Tasks together, expected at most 10000");
	assert_int_equal(task_count(&w, 0), 3);
	assert_int_equal(task_count(&w, 1), 0);
	assert_int_equal(w.made[CALL_CREATE_POD] + w.made[CALL_DELETE_POD], 0);
	assert_int_equal(w.framework->status.observed_generation, w.framework->generation);
	buf_clear(&w.events);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_pass(&w, 600);
	assert_state(&w, STATE_RUNNING);
	assert_lacks(w.events.data, "TooManyTasks");
	edit_two(&w, 2, 9999, "");
	assert_contains(w.events.data, "TooManyTasks");
	assert_int_equal(task_count(&w, 0), 2);
	edit_two(&w, 3, 2, "");
	assert_int_equal(task_count(&w, 0), 3);
	assert_int_equal(task_count(&w, 1), 2);
	edit_two(&w, 9000, 2000, ",'executionType':'Stop'");
	world_pass(&w, 600);
	assert_state(&w, STATE_COMPLETED);
	world_end(&w);
}

/* A new attempt of such a spec has no Tasks: the first one, after a suspension, after a restart. */
static void test_too_many_from_the_start(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 3, ALWAYS);
	edit_two(&w, 3, 10000, ",'suspend':true");
	world_pass(&w, 60);
	assert_state(&w, STATE_CREATION_PENDING);
	buf_clear(&w.events);
	edit_two(&w, 3, 10000, "");
	assert_contains(w.events.data, "TooManyTasks");
	assert_int_equal(task_count(&w, 0) + task_count(&w, 1), 0);
	world_restart(&w);
	world_pass(&w, 60);
	assert_int_equal(task_count(&w, 0) + task_count(&w, 1), 0);
	edit_two(&w, 3, 1, "");
	assert_non_null(world_pod(&w, "f-a-2"));
	assert_non_null(world_pod(&w, "f-z-0"));
	world_end(&w);
	world_begin_of(&w, TASK_NUMBER_MAX, NEVER "},{'name':'z','taskNumber':10000" NEVER, "", "");
	world_settle(&w);
	assert_contains(w.events.data, "TooManyTasks");
	assert_int_equal(task_count(&w, 0) + task_count(&w, 1), 0);
	world_end(&w);
}

/* Nor are Tasks replaced that an earlier edit removed. */
static void test_too_many_replaces_none(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 3, "");
	w.slow_kubelet = true;
	edit_two(&w, 1, 0, "");
	edit_two(&w, 3, 10000, "");
	world_pod_gone(&w, "f-a-1");
	world_pod_gone(&w, "f-a-2");
	world_pass(&w, 60);
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	edit_two(&w, 3, 0, "");
	assert_non_null(world_pod(&w, "f-a-2"));
	world_end(&w);
}

/* ---- up and down ------------------------------------------------------------------------------------------------- */

static void test_up(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 1, "");
	world_edit_of(&w, 3, NEVER, "", "");
	world_reconcile(&w);
	assert_int_equal(task_count(&w, 0), 3);
	assert_int_equal(w.queued, 0); /* stored first */
	assert_true(w.plan.write);
	world_reconcile(&w);
	assert_int_equal(w.queued, 0);
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 2);
	assert_int_equal(w.made[CALL_DELETE_POD], 0);
	assert_task(&w, 0, 0, STATE_RUNNING);
	assert_task(&w, 0, 2, STATE_PREPARING);
	world_end(&w);
}

static void test_down(void **state)
{
	struct world w;
	const struct completion *completion;

	(void)state;
	begin_running(&w, 4, ALWAYS);
	w.slow_kubelet = true;
	world_edit_of(&w, 2, NEVER, ALWAYS, "");
	world_reconcile(&w);
	assert_int_equal(w.queued, 0);
	assert_false(world_task(&w, 0, 1)->deletion_pending);
	assert_true(world_task(&w, 0, 2)->deletion_pending);
	assert_true(world_task(&w, 0, 3)->deletion_pending);
	completion = world_task(&w, 0, 3)->attempt.completion;
	assert_int_equal(completion->code, CODE_DELETE_TASK_REQUESTED);
	assert_string_equal(completion->diagnostics, DIAGNOSTICS);
	world_settle(&w);
	assert_int_equal(w.made[CALL_DELETE_POD], 2);
	assert_lacks(w.log.data, "f-a-1");
	assert_json(json_at(w.object, "status.attemptStatus.taskRoleStatuses.0.taskStatuses.3.deletionPending"),
		    "true");
	/* Only the tail leaves: not before the one behind it has gone. */
	world_pod_gone(&w, "f-a-2");
	world_settle(&w);
	assert_int_equal(task_count(&w, 0), 4);
	assert_task(&w, 0, 2, STATE_COMPLETED);
	world_pod_gone(&w, "f-a-3");
	world_settle(&w);
	assert_int_equal(task_count(&w, 0), 2);
	assert_contains(w.snapshots.data,
			"[ns/f][a][3]: Task will be deleted by Framework ScaleDown: OnTaskDeletion: ObjectSnapshot: {");
	assert_contains(w.snapshots.data, "\"deletionGracePeriodSeconds\":0");
	assert_contains(w.snapshots.data, "[ns/f][a][2]: ");
	assert_state(&w, STATE_RUNNING);
	world_end(&w);
}

/* Down then up: the Task is never reused, but replaced by a fresh one with a new instanceUID. */
static void test_down_then_up(void **state)
{
	struct world w;
	cleanup_free char *uid = NULL;

	(void)state;
	begin_running(&w, 3, ALWAYS);
	uid = mem_strdup(world_task(&w, 0, 1)->instance_uid);
	w.slow_kubelet = true;
	world_edit_of(&w, 1, NEVER, ALWAYS, "");
	world_settle(&w);
	world_edit_of(&w, 3, NEVER, ALWAYS, "");
	world_settle(&w);
	assert_true(world_task(&w, 0, 1)->deletion_pending);
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	world_pod_gone(&w, "f-a-1");
	world_settle(&w);
	assert_false(world_task(&w, 0, 1)->deletion_pending);
	assert_string_not_equal(world_task(&w, 0, 1)->instance_uid, uid);
	assert_task(&w, 0, 1, STATE_PREPARING);
	assert_null(world_task(&w, 0, 1)->attempt.completion);
	assert_int_equal(world_task(&w, 0, 1)->retry.total, 0);
	assert_contains(w.snapshots.data,
			"[ns/f][a][1]: Task will be replaced by Framework ScaleUp: OnTaskDeletion: ObjectSnapshot: {");
	assert_contains(w.snapshots.data, uid);
	w.slow_kubelet = false;
	world_pod_gone(&w, "f-a-2");
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 2);
	assert_task(&w, 0, 2, STATE_PREPARING);
	world_end(&w);
}

/* Those that are yet to be replaced are wanted: the others' ends are not the attempt's. */
static void test_down_then_up_total(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 3, "");
	w.slow_kubelet = true;
	world_edit_of(&w, 1, NEVER, "", "");
	world_settle(&w);
	world_edit_of(&w, 3, NEVER, "", "");
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Succeeded");
	world_settle(&w);
	world_pod_gone(&w, "f-a-0");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	assert_state(&w, STATE_RUNNING);
	w.slow_kubelet = false;
	for (size_t i = 1; i < 3; i++) {
		world_pod_gone(&w, pod_name("a", i));
		world_settle(&w);
		assert_false(world_task(&w, 0, i)->deletion_pending);
		assert_state(&w, STATE_RUNNING);
	}
	for (size_t i = 1; i < 3; i++)
		world_pod_phase(&w, pod_name("a", i), "Succeeded");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_SUCCEEDED);
	assert_contains(w.framework->status.attempt.completion->diagnostics,
			"CompletedTaskCount 3 has reached TotalTaskCount 3");
	world_end(&w);
}

/* A snapshot of a Task shows what is stored. */
static void test_removal_waits_for_write(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 2, "");
	world_edit_of(&w, 1, NEVER, "", "");
	for (;;) {
		world_reconcile(&w);
		if (world_task(&w, 0, 1)->state == STATE_COMPLETED)
			break;
		if (w.plan.write)
			world_write(&w);
		world_carry(&w);
		world_advance_ms(&w, 100);
	}
	w.hold_writes = true;
	world_reconcile(&w);
	world_reconcile(&w);
	assert_int_equal(task_count(&w, 0), 2);
	assert_string_equal(w.snapshots.data, "");
	w.hold_writes = false;
	world_settle(&w);
	assert_int_equal(task_count(&w, 0), 1);
	assert_contains(w.snapshots.data, "\"state\":\"Completed\"");
	world_end(&w);
}

/* The removal of Tasks, and of the TaskRole that they leave empty, is written when it is due: nothing waits for that.
 */
static void test_removal_holds_nothing_back(void **state)
{
	static const char *const specs[] = {
		"{'taskRoles':[{'name':'a','taskNumber':2,'frameworkAttemptCompletionPolicy':{}},{'name':'b',"
		"'taskNumber':1,'frameworkAttemptCompletionPolicy':{}}]}",
		"{'taskRoles':[{'name':'a','taskNumber':1,'frameworkAttemptCompletionPolicy':{}}]}",
	};
	struct world w;

	(void)state;
	world_begin(&w, specs[0]);
	world_settle(&w);
	w.slow_kubelet = true;
	world_edit(&w, specs[1]);
	world_settle(&w);
	world_pod_gone(&w, "f-a-1");
	world_pod_gone(&w, "f-b-0");
	while (world_step(&w) || task_count(&w, 0) > 1) {
		if (!w.plan.write)
			world_advance_ms(&w, 10);
	}
	assert_int_equal(w.framework->status.attempt.role_count, 1);
	assert_true(w.framework->written < w.framework->version);
	w.hold_writes = true;
	world_pod_phase(&w, "f-a-0", "Running");
	world_reconcile(&w);
	assert_task(&w, 0, 0, STATE_RUNNING);
	w.hold_writes = false;
	world_settle(&w);
	assert_null(json_at(w.object, "status.attemptStatus.taskRoleStatuses.0.taskStatuses.1"));
	world_end(&w);
}

/* ---- roles ------------------------------------------------------------------------------------------------------- */

static void test_roles(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, "{'taskRoles':[{'name':'a','taskNumber':1},{'name':'b','taskNumber':2},{'name':'c',"
			"'taskNumber':1}]}");
	world_settle(&w);
	world_clear_log(&w);
	world_edit(&w, "{'taskRoles':[{'name':'d','taskNumber':1,'task':{'podGracefulDeletionTimeoutSec':5}},{'name':"
		       "'c','taskNumber':1},{'name':'b','taskNumber':2}]}");
	world_settle(&w);
	/* The last role takes its place; a new one comes at the end. */
	assert_int_equal(w.framework->status.attempt.role_count, 3);
	assert_string_equal(w.framework->status.attempt.roles[0].name, "d");
	assert_string_equal(w.framework->status.attempt.roles[1].name, "b");
	assert_string_equal(w.framework->status.attempt.roles[2].name, "c");
	assert_int_equal(w.framework->status.attempt.roles[0].pod_graceful_deletion_timeout_sec, 5);
	assert_int_equal(w.made[CALL_DELETE_POD], 1);
	assert_contains(w.log.data, "delete Pod f-a-0; ");
	assert_int_equal(w.made[CALL_CREATE_POD], 1);
	assert_contains(w.snapshots.data, "\"spec\":null"); /* its role is gone */
	/* What comes for Pods of moved roles finds them. */
	world_pod_phase(&w, "f-c-0", "Running");
	world_pod_phase(&w, "f-d-0", "Running");
	world_pod_phase(&w, "f-b-1", "Running");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_RUNNING);
	assert_task(&w, 1, 1, STATE_RUNNING);
	assert_task(&w, 2, 0, STATE_RUNNING);
	/* All gone but an empty one: it never completes by itself. */
	world_edit(&w, "{'taskRoles':[{'name':'e','taskNumber':0}]}");
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.role_count, 1);
	assert_string_equal(w.framework->status.attempt.roles[0].name, "e");
	assert_state(&w, STATE_RUNNING);
	world_end(&w);
}

/* A role that goes and comes back before its Pods have gone: fresh Tasks. */
static void test_role_returns(void **state)
{
	struct world w;
	cleanup_free char *uid = NULL;

	(void)state;
	begin_running(&w, 2, "");
	uid = mem_strdup(world_task(&w, 0, 0)->instance_uid);
	w.slow_kubelet = true;
	world_edit(&w, "{'taskRoles':[{'name':'b','taskNumber':1}]}");
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.role_count, 2);
	world_edit_of(&w, 1, NEVER, "", "");
	world_settle(&w);
	w.slow_kubelet = false;
	world_pod_gone(&w, "f-a-0");
	world_pod_gone(&w, "f-a-1");
	world_pod_gone(&w, "f-b-0");
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.role_count, 1);
	assert_int_equal(task_count(&w, 0), 1);
	assert_string_not_equal(world_task(&w, 0, 0)->instance_uid, uid);
	assert_task(&w, 0, 0, STATE_PREPARING);
	world_end(&w);
}

/* ---- deletionPending in each state ------------------------------------------------------------------------------- */

static void test_pending(void **state)
{
	struct world w;

	(void)state;
	/* Before the ConfigMap exists they stay listed, and no Pod is made of them. An owner that has not begun the
	 * attempt makes sure that there is none. */
	for (int inherited = 0; inherited <= 1; inherited++) {
		world_begin_of(&w, 3, NEVER, "", ",'executionType':'Create'");
		world_settle(&w);
		world_edit_of(&w, 1, NEVER, "", ",'executionType':'Create'");
		world_settle(&w);
		assert_int_equal(task_count(&w, 0), 3);
		assert_true(world_task(&w, 0, 1)->deletion_pending);
		assert_task(&w, 0, 1, STATE_CREATION_PENDING);
		if (inherited)
			world_restart(&w);
		world_edit_of(&w, 1, NEVER, "", "");
		world_settle(&w);
		assert_int_equal(task_count(&w, 0), 1);
		assert_int_equal(w.made[CALL_CREATE_POD], 1);
		assert_int_equal(w.made[CALL_GET_POD], inherited ? 2 : 0);
		assert_contains(w.snapshots.data, "\"code\":-230");
		world_end(&w);
	}

	/* Its create is planned and not sent: it never is. */
	world_begin_of(&w, 2, NEVER, "", "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	world_carry(&w);
	world_reconcile(&w);
	world_carry(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	world_edit_of(&w, 1, NEVER, "", "");
	world_reconcile(&w);
	world_clear_log(&w);
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD] + w.made[CALL_GET_POD], 0);
	assert_lacks(w.log.data, "create Pod f-a-1");
	assert_int_equal(task_count(&w, 0), 1);
	world_end(&w);

	/* It was sent and its answer is lost: what it made is deleted. */
	world_begin_of(&w, 2, NEVER, "", "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	world_carry(&w);
	world_reconcile(&w);
	world_carry(&w);
	world_reconcile(&w);
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD, .name = "f-a-1", .count = 1, .carried_out = true};
	w.mute = true;
	world_carry(&w);
	w.mute = false;
	assert_non_null(world_pod(&w, "f-a-1"));
	world_edit_of(&w, 1, NEVER, "", "");
	world_settle(&w);
	assert_null(world_pod(&w, "f-a-1"));
	assert_int_equal(task_count(&w, 0), 1);
	world_end(&w);
}

static void test_preparing(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, NEVER, ALWAYS, "");
	world_settle(&w);
	assert_task(&w, 0, 1, STATE_PREPARING);
	world_edit_of(&w, 1, NEVER, ALWAYS, "");
	world_settle(&w);
	assert_int_equal(task_count(&w, 0), 1);
	assert_contains(w.log.data, "delete Pod f-a-1; ");
	world_end(&w);
}

/* It ended by itself, its Pod is being deleted: it keeps its own completionStatus and CONTRACT.md §9 comes first; the
 * next attempt ends with -230. */
static void test_ended(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 2, ALWAYS);
	w.slow_kubelet = true;
	world_pod_exit(&w, "f-a-1", 3, "");
	world_settle(&w);
	assert_task(&w, 0, 1, STATE_DELETING);
	world_edit_of(&w, 1, NEVER, ALWAYS, "");
	world_settle(&w);
	assert_task_code(&w, 0, 1, 3);
	w.slow_kubelet = false;
	world_pod_gone(&w, "f-a-1");
	world_settle(&w);
	assert_int_equal(task_count(&w, 0), 1);
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	assert_contains(w.snapshots.data, "Task will be retried: OnTaskRetry");
	assert_contains(w.snapshots.data, "\"code\":-230");
	world_end(&w);
}

/* Completed already: it leaves at once, and what it contributed to the counts with it. */
static void test_completed(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 3, ",'frameworkAttemptCompletionPolicy':{'minFailedTaskCount':2}", "", "");
	world_settle(&w);
	world_pod_exit(&w, "f-a-2", 1, "");
	world_settle(&w);
	assert_task(&w, 0, 2, STATE_COMPLETED);
	world_edit_of(&w, 2, ",'frameworkAttemptCompletionPolicy':{'minFailedTaskCount':2}", "", "");
	world_settle(&w);
	assert_int_equal(task_count(&w, 0), 2);
	world_pod_exit(&w, "f-a-1", 1, "");
	world_settle(&w);
	assert_state(&w, STATE_PREPARING); /* one failure, not two */
	world_end(&w);
}

/* A role that is gone: no retry for its Tasks, whatever they ended with. */
static void test_role_gone_no_retry(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, "{'taskRoles':[{'name':'a','taskNumber':1,'task':{'retryPolicy':{'maxRetryCount':-2}}},"
			"{'name':'b','taskNumber':1}]}");
	world_settle(&w);
	w.slow_kubelet = true;
	world_pod_exit(&w, "f-a-0", 3, "");
	world_settle(&w);
	world_edit(&w, "{'taskRoles':[{'name':'b','taskNumber':1}]}");
	world_settle(&w);
	world_clear_log(&w);
	world_pod_gone(&w, "f-a-0");
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.role_count, 1);
	assert_lacks(w.snapshots.data, "OnTaskRetry");
	assert_contains(w.snapshots.data, "OnTaskDeletion");
	world_end(&w);
}

/* ---- together with the rest -------------------------------------------------------------------------------------- */

/* Rescale and a policy change in one update act as one: the surplus counts nowhere from then on. */
static void test_with_policy(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 3, ",'frameworkAttemptCompletionPolicy':{'minSucceededTaskCount':3}", "", "");
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_pod_exit(&w, "f-a-2", 0, "");
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	world_edit_of(&w, 2, ",'frameworkAttemptCompletionPolicy':{'minSucceededTaskCount':2}", "", "");
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	world_pod_exit(&w, "f-a-1", 0, "");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	world_end(&w);
}

/* The owner crashes at every write of a scale down and up. */
static void test_restarts(void **state)
{
	(void)state;
	for (int crash = 1; crash < 12; crash++) {
		struct world w;

		begin_running(&w, 3, ALWAYS);
		world_edit_of(&w, 1, NEVER, ALWAYS, "");
		for (int step = 0; step < crash; step++)
			if (!world_step(&w))
				world_advance_ms(&w, 100);
		world_edit_of(&w, 2, NEVER, ALWAYS, "");
		world_restart(&w);
		world_settle(&w);
		assert_int_equal(task_count(&w, 0), 2);
		assert_int_equal(json_object_size(w.pods), 2);
		assert_false(world_task(&w, 0, 1)->deletion_pending);
		assert_task(&w, 0, 0, STATE_RUNNING);
		world_end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_too_many_from_the_start),
		cmocka_unit_test(test_too_many_replaces_none),
		cmocka_unit_test(test_up),
		cmocka_unit_test(test_down),
		cmocka_unit_test(test_down_then_up),
		cmocka_unit_test(test_down_then_up_total),
		cmocka_unit_test(test_removal_waits_for_write),
		cmocka_unit_test(test_removal_holds_nothing_back),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_role_returns),
		cmocka_unit_test(test_pending),
		cmocka_unit_test(test_preparing),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_completed),
		cmocka_unit_test(test_role_gone_no_retry),
		cmocka_unit_test(test_with_policy),
		cmocka_unit_test(test_restarts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
