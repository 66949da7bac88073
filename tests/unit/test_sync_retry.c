/* Retry decisions (CONTRACT.md §9) row by row, the delay, what a retry keeps and counts (CONTRACT.md §5.5, §6.3), and
 * the history snapshots it leaves (CONTRACT.md §14). */
#include "reconciler/sync/rules.h"
#include "tests/unit/sync_world.h"

/* ---- the table --------------------------------------------------------------------------------------------------- */

enum outcome { NO, ACCOUNTABLE, FREE, DELAYED };

static void test_table(void **state)
{
	enum { UNKNOWN = 77 };
	static const struct {
		bool fancy;
		int max;
		int accountable; /* so far */
		int code;
		enum outcome expected;
	} rows[] = {
		/* 1. the codes that are never retried */
		{true, -2, 0, CODE_STOP_FRAMEWORK_REQUESTED, NO},
		{true, -2, 0, CODE_FRAMEWORK_ATTEMPT_COMPLETION, NO},
		{false, -2, 0, CODE_DELETE_TASK_REQUESTED, NO},
		{false, -1, 0, CODE_STOP_FRAMEWORK_REQUESTED, NO},
		/* 2. fancy */
		{true, 0, 0, CODE_CONTAINER_TRANSIENT_FAILED, FREE},
		{true, 0, 0, CODE_POD_EXTERNAL_DELETED, FREE},
		{true, 0, 0, CODE_CONFIG_MAP_EXTERNAL_DELETED, FREE},
		{true, 0, 0, CODE_CONTAINER_TRANSIENT_CONFLICT_FAILED, DELAYED},
		{true, -2, 0, CODE_CONTAINER_PERMANENT_FAILED, NO},
		{true, -1, 0, CODE_POD_CREATION_PERMANENT_ERROR, NO},
		{true, 3, 3, CODE_CONTAINER_TRANSIENT_FAILED, FREE},
		{true, 0, 0, CODE_SUCCEEDED, NO},
		{true, -1, 0, CODE_SUCCEEDED, NO},
		{true, -2, 0, CODE_SUCCEEDED, ACCOUNTABLE},
		{true, 1, 0, UNKNOWN, ACCOUNTABLE},
		{true, 1, 1, UNKNOWN, NO},
		{true, 0, 0, CODE_POD_FAILED_WITHOUT_FAILED_CONTAINER, NO},
		/* 3. plain */
		{false, 0, 0, CODE_CONTAINER_TRANSIENT_FAILED, NO},
		{false, 0, 0, CODE_CONTAINER_TRANSIENT_CONFLICT_FAILED, NO},
		{false, 1, 0, CODE_CONTAINER_TRANSIENT_CONFLICT_FAILED, ACCOUNTABLE},
		{false, 1, 0, CODE_CONTAINER_PERMANENT_FAILED, ACCOUNTABLE},
		{false, -1, 1000, CODE_CONTAINER_PERMANENT_FAILED, ACCOUNTABLE},
		{false, -1, 0, CODE_SUCCEEDED, NO},
		{false, -2, 1000, CODE_SUCCEEDED, ACCOUNTABLE},
		{false, -2, 1000, UNKNOWN, ACCOUNTABLE},
		{false, 3, 2, UNKNOWN, ACCOUNTABLE},
		{false, 3, 3, UNKNOWN, NO},
		{false, 5, 0, CODE_SUCCEEDED, NO},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct retry_policy policy = {.fancy = rows[i].fancy, .max_retry_count = rows[i].max};
		/* The total says nothing about it. */
		struct retry_status status = {
			.total = 1000, .accountable = rows[i].accountable, .delay_sec = DELAY_NULL};
		struct completion *completion = completion_code_find(rows[i].code) != NULL
							? completion_predefined(rows[i].code, "")
							: completion_new(rows[i].code, false, "x", NULL, "");
		struct retry_decision found = retry_decide(&policy, &status, completion);
		enum outcome outcome = !found.retry        ? NO
				       : found.accountable ? ACCOUNTABLE
				       : found.conflict    ? DELAYED
							   : FREE;

		if (outcome != rows[i].expected)
			fail_msg("row %zu: found %d, expected %d", i, outcome, rows[i].expected);
		completion_free(completion);
	}
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

/* Retried at once, without any delay, also after a conflict; each a new Pod of the next attempt. */
static void test_task_retries(void **state)
{
	struct world w;
	static const int codes[] = {1, 201, 200, 1};

	(void)state;
	world_begin_of(&w, 1, "", ",'retryPolicy':{'fancyRetryPolicy':true,'maxRetryCount':1}", "");
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		int64_t start_ms;

		world_settle(&w);
		assert_task(&w, 0, 0, STATE_PREPARING);
		assert_int_equal(world_task(&w, 0, 0)->attempt.id, i);
		start_ms = w.time.boot_ms;
		world_pod_exit(&w, "f-a-0", codes[i], "");
		world_settle(&w);
		assert_true(w.time.boot_ms - start_ms < 5000);
	}
	assert_task(&w, 0, 0, STATE_COMPLETED);
	assert_int_equal(world_task(&w, 0, 0)->retry.total, 3);
	assert_int_equal(world_task(&w, 0, 0)->retry.accountable, 1);
	assert_int_equal(world_task(&w, 0, 0)->retry.delay_sec, DELAY_NULL);
	assert_code(&w, 1);
	world_end(&w);
}

/* Nothing about the attempt before is lost before the log has it: the snapshot shows a state that is stored. */
static void test_task_snapshot(void **state)
{
	struct world w;
	struct error err;
	const char *line;
	cleanup_json json_t *object = NULL;
	cleanup_free char *meta = NULL;
	cleanup_free char *version = NULL;
	cleanup_json json_t *stored = NULL;

	(void)state;
	world_begin_of(&w, 2, "", ",'retryPolicy':{'maxRetryCount':1}", "");
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	world_pod_exit(&w, "f-a-1", 3, "{'message':'line\\nbreak'}");
	while (w.snapshots.len == 0) {
		free(version);
		version = mem_strdup(w.framework->resource_version);
		json_decref(stored);
		stored = json_deep_copy(w.object);
		if (!world_step(&w))
			world_advance_ms(&w, 100);
	}
	line = w.snapshots.data;
	assert_int_equal(strncmp(line, "[ns/f][a][1]: Task will be retried: OnTaskRetry: ObjectSnapshot: {", 64), 0);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1); /* one line */
	line = strstr(line, ": ObjectSnapshot: ") + strlen(": ObjectSnapshot: ");
	object = json_parse(line, strlen(line), &err);
	assert_non_null(object);
	meta = mem_printf("{'name':'f-a-1','namespace':'ns','uid':'%s','resourceVersion':'%s','generation':1,"
			  "'creationTimestamp':'2023-11-14T22:13:20Z','labels':{'FC_FRAMEWORK_NAME':'f',"
			  "'FC_TASKROLE_NAME':'a','FC_TASK_INDEX':'1'},'annotations':{'FC_FRAMEWORK_NAMESPACE':'ns',"
			  "'FC_FRAMEWORK_NAME':'f','FC_TASKROLE_NAME':'a','FC_TASK_INDEX':'1','FC_CONFIGMAP_NAME':"
			  "'f-attempt','FC_FRAMEWORK_UID':'fw-uid-1','FC_FRAMEWORK_ATTEMPT_ID':'0',"
			  "'FC_FRAMEWORK_ATTEMPT_INSTANCE_UID':'0_cm-uid-2','FC_CONFIGMAP_UID':'cm-uid-2',"
			  "'FC_TASKROLE_UID':'%s'}}",
			  world_task(&w, 0, 1)->instance_uid, version,
			  w.framework->status.attempt.roles[0].instance_uid);
	assert_json(json_object_get(object, "metadata"), meta);
	assert_json(json_object_get(object, "apiVersion"), "'frameworkcontroller.microsoft.com/v1'");
	assert_json(json_object_get(object, "kind"), "'Task'");
	assert_json(json_at(object, "spec.retryPolicy.maxRetryCount"), "1");
	assert_json(json_at(object, "status.state"), "'AttemptCompleted'");
	assert_json(json_at(object, "status.attemptStatus.completionStatus.code"), "3");
	/* Exactly what is stored. */
	assert_true(json_equal(json_object_get(object, "status"),
			       json_at(stored, "status.attemptStatus.taskRoleStatuses.0.taskStatuses.1")));
	world_end(&w);

	world_begin_of(&w, 1, "", ",'retryPolicy':{'maxRetryCount':1}", "");
	w.config.snapshot_task_retry = false;
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 3, "");
	world_settle(&w);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
	assert_string_equal(w.snapshots.data, "");
	world_end(&w);
}

/* ---- the Framework ----------------------------------------------------------------------------------------------- */

static int lines_with(const char *text, const char *part)
{
	int count = 0;

	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		count++;
	return count;
}

/* Who reads the last Event knows why nothing comes after it. */
static void test_last_event(void **state)
{
	static const struct {
		const char *spec;
		int code;
		const char *expected;
	} cases[] = {
		{"", 0, "FrameworkCompleted: Framework completed with code 0 (Succeeded): "},
		{"", 3, "; not retried, because retryPolicy.maxRetryCount is 0\n"},
		{",'retryPolicy':{'maxRetryCount':1}", 3,
		 "; not retried, because retryPolicy.maxRetryCount is reached"},
		{",'retryPolicy':{'fancyRetryPolicy':true,'maxRetryCount':1}", 210,
		 "; not retried, because it would fail again"},
		{",'retryPolicy':{'maxRetryCount':1}", 210,
		 "; not retried, because retryPolicy.maxRetryCount is reached"},
		{",'executionType':'Stop'", 0,
		 "FrameworkCompleted: Framework completed with code -210 (StopFrameworkRequested): User has requested "
		 "to stop the "
		 "Framework\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world w;

		world_begin_of(&w, 1, "", "", cases[i].spec);
		world_settle(&w);
		for (int attempt = 0; attempt < 2 && w.framework->status.state != STATE_COMPLETED; attempt++) {
			world_pod_exit(&w, "f-a-0", cases[i].code, "");
			world_settle(&w);
		}
		assert_state(&w, STATE_COMPLETED);
		assert_contains(w.events.data, cases[i].expected);
		/* an attempt that is retried has an Event of its own, and the last one shares the Framework's */
		assert_int_equal(lines_with(w.events.data, "AttemptCompleted: "), w.framework->status.retry.total);
		assert_int_equal(lines_with(w.events.data, "FrameworkRetried: "), w.framework->status.retry.total);
		world_end(&w);
	}
}

#define CONFLICT ",'retryPolicy':{'fancyRetryPolicy':true,'maxRetryCount':0}"

static void begin_delayed(struct world *w)
{
	world_begin_of(w, 1, "", "", CONFLICT);
	world_settle(w);
	world_pod_exit(w, "f-a-0", 201, "");
	world_settle(w);
	assert_state(w, STATE_ATTEMPT_COMPLETED);
	assert_null(w->config_map);
}

/* Random in [60, 900] s; the gang's resources are given back meanwhile. */
static void test_conflict_delay(void **state)
{
	struct world w;
	int64_t delay_sec;
	int64_t completed_sec;
	char told[80];

	(void)state;
	begin_delayed(&w);
	delay_sec = w.framework->status.retry.delay_sec;
	completed_sec = w.framework->status.attempt.completion_time;
	assert_in_range(delay_sec, 60, 900);
	assert_int_equal(json_integer_value(json_at(w.object, "status.retryPolicyStatus.retryDelaySec")), delay_sec);
	snprintf(told, sizeof(told), "FrameworkRetryDelayed: Framework is retried in %lld s", (long long)delay_sec);
	assert_contains(w.events.data, told);
	/* A restart changes nothing about it. */
	world_restart(&w);
	world_advance(&w, delay_sec - 20);
	world_settle(&w);
	assert_state(&w, STATE_ATTEMPT_COMPLETED);
	assert_int_equal(w.framework->status.retry.delay_sec, delay_sec);
	world_settle_for(&w, 40000);
	assert_state(&w, STATE_PREPARING);
	assert_true(w.framework->status.attempt.start_time - completed_sec >= delay_sec);
	assert_true(w.framework->status.attempt.start_time - completed_sec <= delay_sec + 2);
	assert_int_equal(w.framework->status.attempt.id, 1);
	assert_int_equal(w.framework->status.retry.total, 1);
	assert_int_equal(w.framework->status.retry.accountable, 0);
	assert_int_equal(w.framework->status.retry.delay_sec, DELAY_NULL);
	world_end(&w);
}

/* The policy is edited during the delay: the retry takes place all the same; whether it counts is up to the policy at
 * that moment, as with the original controller, so that a restart changes nothing about it. */
static void test_conflict_delay_edited(void **state)
{
	static const struct {
		const char *policy;
		int accountable;
	} rows[] = {
		{",'retryPolicy':{'maxRetryCount':0}", 1}, /* there is none, by the policy of now */
		{",'retryPolicy':{'maxRetryCount':5}", 1},
		{",'retryPolicy':{'fancyRetryPolicy':true,'maxRetryCount':5}", 0},
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		struct world w;

		begin_delayed(&w);
		world_edit_of(&w, 1, "", "", rows[i / 2].policy);
		world_settle(&w);
		assert_state(&w, STATE_ATTEMPT_COMPLETED);
		if (i % 2 == 1)
			world_restart(&w);
		world_settle_for(&w, 1000000);
		assert_state(&w, STATE_PREPARING);
		assert_int_equal(w.framework->status.retry.total, 1);
		assert_int_equal(w.framework->status.retry.accountable, rows[i / 2].accountable);
		world_end(&w);
	}
}

/* The golden conflict_delay: Stop during the delay → at once a new attempt that ends with -210 and no ConfigMap. */
static void test_conflict_delay_stop(void **state)
{
	json_error_t error;
	cleanup_json json_t *golden = json_load_file("tests/unit/data/golden.json", 0, &error);
	struct world w;

	(void)state;
	begin_delayed(&w);
	world_clear_log(&w);
	world_edit_of(&w, 1, "", "", CONFLICT ",'executionType':'Stop'");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_int_equal(w.framework->status.attempt.id,
			 json_integer_value(json_at(golden, "conflict_delay.result.attempt")));
	assert_code(&w, json_integer_value(json_at(golden, "conflict_delay.result.code")));
	assert_true(json_equal(json_at(w.object, "status.retryPolicyStatus"),
			       json_at(golden, "conflict_delay.result.retried")));
	assert_int_equal(w.made[CALL_CREATE_CONFIG_MAP], 0);
	world_end(&w);
}

/* Once the delay is set the retry happens, whatever the spec says later. */
static void test_delay_set(void **state)
{
	struct world w;

	(void)state;
	begin_delayed(&w);
	world_edit_of(&w, 1, "", "", "");
	world_settle_for(&w, 1000000);
	assert_state(&w, STATE_PREPARING);
	assert_int_equal(w.framework->status.attempt.id, 1);
	assert_int_equal(w.framework->status.retry.accountable, 1);
	world_end(&w);
}

/* The new attempt is made of the present spec; every UID in it is new. */
static void test_new_attempt(void **state)
{
	struct world w;
	cleanup_free char *role_uid = NULL;
	cleanup_free char *task_uid = NULL;

	(void)state;
	world_begin_of(&w, 2, "", "", ",'retryPolicy':{'maxRetryCount':3}");
	world_settle(&w);
	role_uid = mem_strdup(w.framework->status.attempt.roles[0].instance_uid);
	task_uid = mem_strdup(world_task(&w, 0, 0)->instance_uid);
	w.slow_gc = true;
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	/* A change while it is completing waits for the next attempt. */
	world_edit(&w, "{'retryPolicy':{'maxRetryCount':3},'taskRoles':[{'name':'b','taskNumber':1},{'name':'a',"
		       "'taskNumber':3,'task':{'podGracefulDeletionTimeoutSec':9}}]}");
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.role_count, 1);
	assert_int_equal(w.framework->status.attempt.roles[0].task_count, 2);
	assert_int_equal(w.framework->status.attempt.roles[0].pod_graceful_deletion_timeout_sec, 9);
	w.slow_gc = false;
	world_collect(&w);
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	assert_int_equal(w.framework->status.attempt.role_count, 2);
	assert_string_equal(w.framework->status.attempt.roles[0].name, "b");
	assert_string_equal(w.framework->status.attempt.roles[1].name, "a");
	assert_int_equal(w.framework->status.attempt.roles[1].task_count, 3);
	assert_string_not_equal(w.framework->status.attempt.roles[1].instance_uid, role_uid);
	assert_string_not_equal(world_task(&w, 1, 0)->instance_uid, task_uid);
	assert_int_equal(w.framework->status.retry.accountable, 1);
	world_end(&w);
}

static void test_framework_snapshot(void **state)
{
	struct world w;
	struct error err;
	const char *line;
	cleanup_json json_t *object = NULL;
	cleanup_json json_t *stored = NULL;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'retryPolicy':{'maxRetryCount':1}");
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 1, "");
	while (strstr(w.snapshots.data, "OnFrameworkRetry") == NULL) {
		json_decref(stored);
		stored = json_deep_copy(w.object);
		if (!world_step(&w))
			world_advance_ms(&w, 100);
	}
	line = strstr(w.snapshots.data, "[ns/f]: Framework will be retried: OnFrameworkRetry: ObjectSnapshot: {");
	assert_non_null(line);
	line = strchr(line, '{');
	object = json_parse(line, strcspn(line, "\n"), &err);
	assert_non_null(object);
	/* The whole object as it is stored. */
	assert_true(json_equal(object, stored));
	assert_json(json_at(object, "status.state"), "'AttemptCompleted'");
	assert_json(json_at(object, "kind"), "'Framework'");
	world_end(&w);
}

/* With delay 0 the retry is decided and done with one write of AttemptCompleted between. */
/* Each trigger of a snapshot has its own switch. */
static void test_snapshot_switches(void **state)
{
	static const char *const triggers[] = {"OnFrameworkRetry", "OnFrameworkDeletion", "OnTaskRetry",
					       "OnTaskDeletion"};

	(void)state;
	for (size_t off = 0; off < ARRAY_LEN(triggers); off++) {
		struct world w;

		world_begin_of(&w, 2, "", ",'retryPolicy':{'maxRetryCount':1}", ",'retryPolicy':{'maxRetryCount':1}");
		w.config.completed_retain_sec = 60;
		w.config.snapshot_framework_retry = off != 0;
		w.config.snapshot_framework_deletion = off != 1;
		w.config.snapshot_task_retry = off != 2;
		w.config.snapshot_task_deletion = off != 3;
		world_settle(&w);
		/* removed, and replaced */
		for (int n = 1; n <= 2; n++) {
			w.slow_kubelet = n == 1;
			world_edit_of(&w, n, "", ",'retryPolicy':{'maxRetryCount':1}",
				      ",'retryPolicy':{'maxRetryCount':1}");
			world_settle(&w);
		}
		world_pod_gone(&w, "f-a-1");
		world_settle(&w);
		if (off == 3)
			assert_string_equal(w.snapshots.data, "");
		else
			assert_contains(w.snapshots.data, "Task will be replaced");
		world_edit_of(&w, 1, "", ",'retryPolicy':{'maxRetryCount':1}", ",'retryPolicy':{'maxRetryCount':1}");
		for (int i = 0; i < 4; i++) {
			world_settle(&w);
			world_pod_exit(&w, "f-a-0", 1, "");
		}
		world_settle_for(&w, 120000);
		assert_state(&w, STATE_COMPLETED);
		for (size_t i = 0; i < ARRAY_LEN(triggers); i++) {
			if (i == off)
				assert_lacks(w.snapshots.data, triggers[i]);
			else
				assert_contains(w.snapshots.data, triggers[i]);
		}
		world_end(&w);
	}
}

/* Retry policies are read when there is something to decide, not when the attempt began. */
static void test_policies_edited(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_settle(&w);
	world_edit_of(&w, 1, "", ",'retryPolicy':{'maxRetryCount':1}", "");
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_int_equal(world_task(&w, 0, 0)->retry.accountable, 1);
	w.slow_gc = true;
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	/* the Framework's, while its attempt is on its way out */
	world_edit_of(&w, 1, "", "", ",'retryPolicy':{'maxRetryCount':-1}");
	w.slow_gc = false;
	world_collect(&w);
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	assert_int_equal(w.framework->status.attempt.id, 1);
	world_end(&w);
}

static void test_retry_writes(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'retryPolicy':{'maxRetryCount':-2}");
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	w.slow_gc = true;
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	world_clear_log(&w);
	world_config_map_gone(&w);
	world_reconcile(&w);
	assert_state(&w, STATE_ATTEMPT_COMPLETED);
	assert_int_equal(w.framework->status.retry.delay_sec, 0);
	assert_true(w.plan.write);
	world_reconcile(&w); /* not stored yet */
	assert_state(&w, STATE_ATTEMPT_COMPLETED);
	world_write(&w);
	world_reconcile(&w);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_int_equal(w.framework->status.attempt.id, 1);
	assert_int_equal(w.queued, 0);
	world_write(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	assert_int_equal(w.writes, 2);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_task_retries),
		cmocka_unit_test(test_task_snapshot),
		cmocka_unit_test(test_last_event),
		cmocka_unit_test(test_conflict_delay),
		cmocka_unit_test(test_snapshot_switches),
		cmocka_unit_test(test_policies_edited),
		cmocka_unit_test(test_conflict_delay_edited),
		cmocka_unit_test(test_conflict_delay_stop),
		cmocka_unit_test(test_delay_set),
		cmocka_unit_test(test_new_attempt),
		cmocka_unit_test(test_framework_snapshot),
		cmocka_unit_test(test_retry_writes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
