/* Specs as clients write them: defaults for what is absent, what a partial policy means, every message about a bad
 * field (CONTRACT.md §2). */
#include "tests/unit/sync_world.h"

#include "common/framework/spec.h"

static void assert_reads(const char *text, struct framework_spec *out)
{
	cleanup_json json_t *spec = json_of(text);
	struct error err;

	if (framework_spec_parse(spec, out, &err) < 0)
		fail_msg("%s: %s", text, err.message);
}

static void test_defaults(void **state)
{
	struct framework_spec spec;
	struct error err;

	(void)state;
	assert_int_equal(framework_spec_parse(NULL, &spec, &err), 0);
	assert_int_equal(spec.role_count, 0);
	framework_spec_free(&spec);
	assert_reads("{'taskRoles':null}", &spec);
	assert_int_equal(spec.execution_type, EXECUTION_START);
	assert_int_equal(spec.role_count, 0);
	assert_int_equal(framework_spec_task_count(&spec), 0);
	framework_spec_free(&spec);

	assert_reads("{'description':null,'taskRoles':[{'name':'a'},{'name':'b','taskNumber':3,'task':{}}]}", &spec);
	assert_false(spec.retry.fancy);
	assert_int_equal(spec.retry.max_retry_count, 0);
	assert_int_equal(spec.role_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_false(spec.roles[i].retry.fancy);
		assert_int_equal(spec.roles[i].retry.max_retry_count, 0);
		assert_int_equal(spec.roles[i].min_failed_tasks, 1);
		assert_int_equal(spec.roles[i].min_succeeded_tasks, -1);
		assert_true(spec.roles[i].pod_graceful_deletion_timeout_sec == SECONDS_NULL);
	}
	assert_int_equal(spec.roles[0].task_number, 0);
	assert_int_equal(framework_spec_task_count(&spec), 3);
	assert_int_equal(framework_spec_find_role(&spec, "b"), 1);
	assert_int_equal(framework_spec_find_role(&spec, "c"), -1);
	framework_spec_free(&spec);
}

/* A policy that is present keeps what its client meant: missing, 0 and -1 never trigger. */
static void test_policies(void **state)
{
	static const struct {
		const char *policy;
		int failed;
		int succeeded;
	} rows[] = {
		{"{}", -1, -1},
		{"null", 1, -1},
		{"{'minSucceededTaskCount':2}", -1, 2},
		{"{'minFailedTaskCount':3}", 3, -1},
		{"{'minFailedTaskCount':0,'minSucceededTaskCount':0}", 0, 0},
		{"{'minFailedTaskCount':-1,'minSucceededTaskCount':2147483647}", -1, 2147483647},
		{"{'minFailedTaskCount':null}", -1, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *text = mem_printf(
			"{'taskRoles':[{'name':'a','frameworkAttemptCompletionPolicy':%s}]}", rows[i].policy);
		struct framework_spec spec;

		assert_reads(text, &spec);
		assert_int_equal(spec.roles[0].min_failed_tasks, rows[i].failed);
		assert_int_equal(spec.roles[0].min_succeeded_tasks, rows[i].succeeded);
		framework_spec_free(&spec);
	}
}

static void test_all_given(void **state)
{
	struct framework_spec spec;

	(void)state;
	/* NNI puts more into `task`, OpenPAI more into the Pod: neither stops anything. */
	assert_reads("{'executionType':'Stop','retryPolicy':{'fancyRetryPolicy':true,'maxRetryCount':-2},'taskRoles':["
		     "{'name':'a1','taskNumber':10000,'x':1,'task':{'retryPolicy':{'fancyRetryPolicy':true,"
		     "'maxRetryCount':7},'podGracefulDeletionTimeoutSec':0,'unknown':{},'pod':'not even an object'}}]}",
		     &spec);
	assert_int_equal(spec.execution_type, EXECUTION_STOP);
	assert_true(spec.retry.fancy);
	assert_int_equal(spec.retry.max_retry_count, -2);
	assert_true(spec.roles[0].retry.fancy);
	assert_int_equal(spec.roles[0].retry.max_retry_count, 7);
	assert_int_equal(spec.roles[0].task_number, 10000);
	assert_int_equal(spec.roles[0].pod_graceful_deletion_timeout_sec, 0);
	framework_spec_free(&spec);
	assert_reads("{'executionType':'Create','taskRoles':[{'name':'"
		     "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0'}]}",
		     &spec);
	assert_int_equal(spec.execution_type, EXECUTION_CREATE);
	framework_spec_free(&spec);
}

/* What goes beyond the original: nothing is there unless it is given. */
static void test_lifecycle(void **state)
{
	struct framework_spec spec;

	(void)state;
	assert_reads(
		"{'suspend':null,'taskRoles':[{'name':'a','task':{'pendingPolicy':null,'retryPolicy':{'backoff':null}"
		"}}]}",
		&spec);
	assert_false(spec.suspend);
	assert_int_equal(spec.ttl_sec, SECONDS_ABSENT);
	assert_int_equal(spec.active_deadline_sec, 0);
	assert_int_equal(spec.retry.backoff.initial_sec, 0);
	assert_int_equal(spec.roles[0].retry.backoff.initial_sec, 0);
	assert_false(spec.roles[0].pending.given);
	assert_int_equal(spec.roles[0].pending.start_timeout_sec, SECONDS_ABSENT);
	assert_int_equal(spec.roles[0].pending.unschedulable_timeout_sec, SECONDS_ABSENT);
	framework_spec_free(&spec);
	assert_reads(
		"{'suspend':true,'ttlSecondsAfterCompleted':0,'activeDeadlineSec':9,'retryPolicy':{'backoff':{"
		"'initialSec':3}},'taskRoles':[{'name':'a','task':{'pendingPolicy':{'startTimeoutSec':0,"
		"'unschedulableTimeoutSec':7},'retryPolicy':{'backoff':{'initialSec':1,'maxSec':2,'resetAfterSec':0"
		"}}}}]}",
		&spec);
	assert_true(spec.suspend);
	assert_int_equal(spec.ttl_sec, 0);
	assert_int_equal(spec.active_deadline_sec, 9);
	assert_int_equal(spec.retry.backoff.initial_sec, 3);
	assert_int_equal(spec.retry.backoff.max_sec, 600);
	assert_int_equal(spec.retry.backoff.reset_after_sec, 600);
	assert_int_equal(spec.roles[0].retry.backoff.max_sec, 2);
	assert_int_equal(spec.roles[0].retry.backoff.reset_after_sec, 0);
	assert_true(spec.roles[0].pending.given);
	assert_int_equal(spec.roles[0].pending.start_timeout_sec, 0);
	assert_int_equal(spec.roles[0].pending.unschedulable_timeout_sec, 7);
	framework_spec_free(&spec);
}

static void test_managed_by(void **state)
{
	static const struct {
		const char *text;
		bool others;
	} rows[] = {
		{"{}", false},
		{"{'managedBy':null}", false},
		{"{'managedBy':'frameworkcontroller.microsoft.com/controller'}", false},
		{"{'managedBy':'frameworkcontroller.microsoft.com/controller2'}", true},
		{"{'managedBy':''}", true},
		{"{'managedBy':'kueue.x-k8s.io/multikueue','taskRoles':7}", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_json json_t *spec = json_of(rows[i].text);

		assert_int_equal(framework_spec_managed_by_others(spec), rows[i].others);
	}
	assert_false(framework_spec_managed_by_others(NULL));
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} rows[] = {
		{"5", "spec is 5, expected an object"},
		{"{'executionType':'Pause'}",
		 "spec.executionType is \"Pause\", expected \"Create\", \"Start\" or \"Stop\""},
		{"{'executionType':1}", "spec.executionType is 1, expected \"Create\", \"Start\" or \"Stop\""},
		{"{'retryPolicy':[]}", "spec.retryPolicy is [], expected an object"},
		{"{'retryPolicy':{'fancyRetryPolicy':'yes'}}",
		 "spec.retryPolicy.fancyRetryPolicy is \"yes\", expected true or false"},
		{"{'retryPolicy':{'maxRetryCount':-3}}",
		 "spec.retryPolicy.maxRetryCount is -3, expected an integer in -2..2147483647"},
		{"{'retryPolicy':{'maxRetryCount':2147483648}}",
		 "spec.retryPolicy.maxRetryCount is 2147483648, expected an integer in -2..2147483647"},
		{"{'retryPolicy':{'maxRetryCount':'3'}}",
		 "spec.retryPolicy.maxRetryCount is \"3\", expected an integer in -2..2147483647"},
		{"{'suspend':'yes'}", "spec.suspend is \"yes\", expected true or false"},
		{"{'ttlSecondsAfterCompleted':-1}",
		 "spec.ttlSecondsAfterCompleted is -1, expected an integer in 0..2147483647"},
		{"{'activeDeadlineSec':0}", "spec.activeDeadlineSec is 0, expected an integer in 1..2147483647"},
		{"{'retryPolicy':{'backoff':3}}", "spec.retryPolicy.backoff is 3, expected an object"},
		{"{'retryPolicy':{'backoff':{'maxSec':3}}}",
		 "spec.retryPolicy.backoff.initialSec is missing, expected an integer from 1 to 2147483647"},
		{"{'retryPolicy':{'backoff':{'initialSec':0}}}",
		 "spec.retryPolicy.backoff.initialSec is 0, expected an integer in 1..2147483647"},
		{"{'retryPolicy':{'backoff':{'initialSec':1,'resetAfterSec':-1}}}",
		 "spec.retryPolicy.backoff.resetAfterSec is -1, expected an integer in 0..2147483647"},
		{"{'taskRoles':[{'name':'a','task':{'pendingPolicy':{'startTimeoutSec':-1}}}]}",
		 "spec.taskRoles[0].task.pendingPolicy.startTimeoutSec is -1, expected an integer in 0..2147483647"},
		{"{'taskRoles':{}}", "spec.taskRoles is {}, expected a list"},
		{"{'taskRoles':[7]}", "spec.taskRoles[0] is 7, expected an object"},
		{"{'taskRoles':[{}]}", NULL},
		{"{'taskRoles':[{'name':'A'}]}",
		 "spec.taskRoles[0].name is \"A\", expected a name like ^[a-z0-9]{1,63}$"},
		{"{'taskRoles':[{'name':''}]}",
		 "spec.taskRoles[0].name is \"\", expected a name like ^[a-z0-9]{1,63}$"},
		{"{'taskRoles':[{'name':'a-b'}]}",
		 "spec.taskRoles[0].name is \"a-b\", expected a name like ^[a-z0-9]{1,63}$"},
		{"{'taskRoles':[{'name':'abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz01'}]}", NULL},
		{"{'taskRoles':[{'name':'a'},{'name':'b'},{'name':'a'}]}",
		 "spec.taskRoles[2].name is \"a\", which another TaskRole has already"},
		{"{'taskRoles':[{'name':'a','taskNumber':-1}]}",
		 "spec.taskRoles[0].taskNumber is -1, expected an integer in 0..10000"},
		{"{'taskRoles':[{'name':'a','taskNumber':10001}]}",
		 "spec.taskRoles[0].taskNumber is 10001, expected an integer in 0..10000"},
		{"{'taskRoles':[{'name':'a','taskNumber':1.5}]}", NULL},
		{"{'taskRoles':[{'name':'a','frameworkAttemptCompletionPolicy':1}]}",
		 "spec.taskRoles[0].frameworkAttemptCompletionPolicy is 1, expected an object"},
		{"{'taskRoles':[{'name':'a','frameworkAttemptCompletionPolicy':{'minFailedTaskCount':-2}}]}",
		 "spec.taskRoles[0].frameworkAttemptCompletionPolicy.minFailedTaskCount is -2, expected an integer in "
		 "-1..2147483647"},
		{"{'taskRoles':[{'name':'a','frameworkAttemptCompletionPolicy':{'minSucceededTaskCount':true}}]}",
		 "spec.taskRoles[0].frameworkAttemptCompletionPolicy.minSucceededTaskCount is true, expected an "
		 "integer in -1..2147483647"},
		{"{'taskRoles':[{'name':'x'},{'name':'a','task':[]}]}",
		 "spec.taskRoles[1].task is [], expected an object"},
		{"{'taskRoles':[{'name':'a','task':{'retryPolicy':{'maxRetryCount':-9}}}]}",
		 "spec.taskRoles[0].task.retryPolicy.maxRetryCount is -9, expected an integer in -2..2147483647"},
		{"{'taskRoles':[{'name':'a','task':{'retryPolicy':{'fancyRetryPolicy':0}}}]}",
		 "spec.taskRoles[0].task.retryPolicy.fancyRetryPolicy is 0, expected true or false"},
		{"{'taskRoles':[{'name':'a','task':{'podGracefulDeletionTimeoutSec':'soon'}}]}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_json json_t *spec = json_of(rows[i].text);
		struct framework_spec read = {.role_count = 77};
		struct error err;

		if (framework_spec_parse(spec, &read, &err) == 0)
			fail_msg("%s was read", rows[i].text);
		assert_int_equal(read.role_count, 77); /* untouched */
		if (rows[i].message != NULL)
			assert_string_equal(err.message, rows[i].message);
		else
			assert_contains(err.message, "spec.taskRoles[0].");
	}
}

static void test_names(void **state)
{
	enum attempt_state found;

	(void)state;
	for (int i = 0; i < STATE_COUNT; i++) {
		assert_int_equal(attempt_state_parse(attempt_state_name((enum attempt_state)i), &found), 0);
		assert_int_equal(found, i);
	}
	assert_string_equal(attempt_state_name(STATE_CREATION_PENDING), "AttemptCreationPending");
	assert_string_equal(attempt_state_name(STATE_CREATION_REQUESTED), "AttemptCreationRequested");
	assert_string_equal(attempt_state_name(STATE_PREPARING), "AttemptPreparing");
	assert_string_equal(attempt_state_name(STATE_RUNNING), "AttemptRunning");
	assert_string_equal(attempt_state_name(STATE_DELETION_PENDING), "AttemptDeletionPending");
	assert_string_equal(attempt_state_name(STATE_DELETION_REQUESTED), "AttemptDeletionRequested");
	assert_string_equal(attempt_state_name(STATE_DELETING), "AttemptDeleting");
	assert_string_equal(attempt_state_name(STATE_ATTEMPT_COMPLETED), "AttemptCompleted");
	assert_string_equal(attempt_state_name(STATE_COMPLETED), "Completed");
	assert_int_equal(attempt_state_parse("Running", &found), -1);
	assert_int_equal(attempt_state_parse(NULL, &found), -1);
	assert_false(framework_name_valid("a b"));
}

/* A malformed spec stops that Framework only: nothing is called or written, and it goes on once it is repaired. */
static void test_malformed_spec_stops(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 3, "", "", "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	world_carry(&w);
	world_reconcile(&w);
	world_carry(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 2);
	world_clear_log(&w);
	/* Two Pods are about to be created when the spec turns bad: they are not made of it. */
	world_edit(&w, "{'taskRoles':[{'name':'B'}]}");
	assert_non_null(w.framework->problem);
	world_carry(&w);
	assert_calls(&w, "");
	world_settle_for(&w, 100000);
	assert_int_equal(w.writes, 0);
	assert_calls(&w, "");
	world_edit_of(&w, 3, "", "", "");
	assert_null(w.framework->problem);
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 2);
	assert_json(json_at(world_pod(&w, "f-a-1"), "spec.containers.0.image"), "'i'");
	world_end(&w);

	world_begin(&w, "{'taskRoles':[{'name':'a','taskNumber':1},{'name':'a','taskNumber':1}]}");
	world_settle_for(&w, 100000);
	assert_calls(&w, "");
	assert_null(json_object_get(w.object, "status"));
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),   cmocka_unit_test(test_policies),
		cmocka_unit_test(test_all_given),  cmocka_unit_test(test_lifecycle),
		cmocka_unit_test(test_managed_by), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_names),      cmocka_unit_test(test_malformed_spec_stops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
