/* spec.activeDeadlineSec and spec.ttlSecondsAfterCompleted (CONTRACT.md §5). */
#include "tests/unit/sync_world.h"

#define DEADLINE ",'activeDeadlineSec':100"
#define ALWAYS ",'retryPolicy':{'maxRetryCount':-2}"

/* Runs on until nothing happens for so long, the Pods that are deleted gone. */
static void settle_all(struct world *w, int64_t within_sec)
{
	world_pass(w, within_sec);
	for (int i = 0; i < 6; i++) {
		world_settle(w);
		world_collect(w);
	}
}

/* In each state that an attempt may be in when it is over. */
static void test_in_each_state(void **state)
{
	static const char *const phases[] = {NULL, "Pending", "Running"}; /* NULL: Create, nothing is made */

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
		struct world w;

		world_begin_of(&w, 1, "", "",
			       phases[i] == NULL ? DEADLINE ALWAYS ",'executionType':'Create'" : DEADLINE ALWAYS);
		world_settle(&w);
		if (phases[i] != NULL)
			world_pod_phase(&w, "f-a-0", phases[i]);
		world_pass(&w, 96);
		assert_null(w.framework->status.attempt.completion);
		settle_all(&w, 5);
		assert_state(&w, STATE_COMPLETED);
		assert_code(&w, CODE_ACTIVE_DEADLINE_EXCEEDED);
		assert_contains(w.framework->status.attempt.completion->diagnostics, "activeDeadlineSec 1m40s");
		assert_int_equal(w.framework->status.retry.total, 0);
		assert_null(w.config_map);
		world_end(&w);
	}
}

/* It goes on over retries and over the delay of one, and what was decided last says so. */
static void test_over_retries(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", DEADLINE ",'retryPolicy':{'maxRetryCount':-2,'backoff':{'initialSec':80}}");
	world_settle(&w);
	world_advance(&w, 5);
	world_pod_exit(&w, "f-a-0", 3, "");
	settle_all(&w, 2);
	assert_state(&w, STATE_ATTEMPT_COMPLETED);
	settle_all(&w, 80);
	assert_state(&w, STATE_PREPARING); /* attempt 1 */
	assert_int_equal(w.framework->status.attempt.id, 1);
	world_pod_exit(&w, "f-a-0", 3, "");
	settle_all(&w, 2);
	assert_int_equal(w.framework->status.retry.delay_sec, 160);
	settle_all(&w, 20);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_ACTIVE_DEADLINE_EXCEEDED);
	assert_contains(w.framework->status.attempt.completion->diagnostics, "after code 3");
	assert_int_equal(w.framework->status.attempt.id, 1);
	assert_contains(w.events.data, "FrameworkCompleted: Framework completed with code -250");
	world_end(&w);
}

/* What has ended by itself is no victim of it: Completed, or for its own reason. */
static void test_too_late(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, ",'frameworkAttemptCompletionPolicy':{'minSucceededTaskCount':1}", "", DEADLINE);
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	world_advance(&w, 90);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_step(&w);
	world_pod_gone(&w, "f-a-0");
	w.slow_kubelet = true; /* the attempt is decided, its other Pods stay */
	world_settle(&w);
	world_pass(&w, 300);
	assert_code(&w, CODE_SUCCEEDED);
	w.slow_kubelet = false;
	settle_all(&w, 2);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_SUCCEEDED);
	world_end(&w);
}

/* It does not pass while the Framework is suspended, or becomes so, and begins anew when it resumes. */
static void test_suspended(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", DEADLINE);
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Running");
	world_pass(&w, 90);
	w.slow_kubelet = true;
	world_edit_of(&w, 1, "", "", DEADLINE ",'suspend':true");
	world_pass(&w, 300);
	assert_code(&w, CODE_SUSPEND_FRAMEWORK_REQUESTED);
	w.slow_kubelet = false;
	settle_all(&w, 300);
	assert_state(&w, STATE_CREATION_PENDING);
	world_edit_of(&w, 1, "", "", DEADLINE);
	world_pass(&w, 98);
	assert_state(&w, STATE_PREPARING);
	world_restart(&w);
	settle_all(&w, 3);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_ACTIVE_DEADLINE_EXCEEDED);
	world_end(&w);
}

/* It is held, and something keeps it from being Suspended: the time until it resumes does not count either. */
static void test_held(void **state)
{
	struct world w;

	(void)state;
	/* a Pod of an attempt whose ConfigMap was deleted in the background, on a node that is lost */
	world_begin_of(&w, 1, "", "", DEADLINE);
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	w.slow_kubelet = true;
	world_edit_of(&w, 1, "", "", DEADLINE ",'suspend':true");
	world_settle(&w);
	world_pod_deleting(&w, "f-a-0");
	world_settle(&w);
	world_config_map_gone(&w);
	world_pass(&w, 86400);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_string_equal(w.framework->status.conditions[CONDITION_SUSPENDED].reason, "Suspending");
	world_restart(&w);
	world_pod_gone(&w, "f-a-0");
	world_edit_of(&w, 1, "", "", DEADLINE);
	w.slow_kubelet = false;
	world_pass(&w, 98);
	assert_state(&w, STATE_PREPARING);
	assert_string_equal(w.framework->status.conditions[CONDITION_SUSPENDED].reason, "NotSuspended");
	assert_int_equal(w.framework->status.resume_time, w.framework->status.start_time + 86400);
	settle_all(&w, 3);
	assert_code(&w, CODE_ACTIVE_DEADLINE_EXCEEDED);
	world_end(&w);
}

/* Set, moved and taken away while it runs; a Stop goes first. */
static void test_is_a_level(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", DEADLINE);
	world_pass(&w, 50);
	world_edit_of(&w, 1, "", "", "");
	world_pass(&w, 500);
	assert_state(&w, STATE_PREPARING);
	world_edit_of(&w, 1, "", "", ",'activeDeadlineSec':100,'executionType':'Stop'");
	world_settle(&w);
	assert_code(&w, CODE_STOP_FRAMEWORK_REQUESTED);
	world_end(&w);

	/* an attempt that would be retried, were there no Stop: that goes first, too */
	world_begin_of(&w, 1, "", "", ALWAYS);
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 3, "");
	world_step(&w);
	world_pod_gone(&w, "f-a-0");
	w.slow_kubelet = w.slow_gc = true;
	world_pass(&w, 500);
	world_edit_of(&w, 1, "", "", DEADLINE ALWAYS ",'executionType':'Stop'");
	w.slow_kubelet = w.slow_gc = false;
	world_config_map_gone(&w);
	settle_all(&w, 2);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_STOP_FRAMEWORK_REQUESTED);
	world_end(&w);

	world_begin_of(&w, 1, "", "", "");
	world_pass(&w, 500);
	world_advance(&w, 500);
	world_edit_of(&w, 1, "", "", DEADLINE);
	world_settle(&w);
	assert_code(&w, CODE_ACTIVE_DEADLINE_EXCEEDED);
	world_end(&w);
}

static void test_ttl(void **state)
{
	static const struct {
		const char *spec;
		int64_t kept_sec;
		const char *why;
	} rows[] = {
		{"", 1000, "FrameworkCompletedRetainSec"},
		{",'ttlSecondsAfterCompleted':10", 10, "TTLSecondsAfterCompleted"},
		{",'ttlSecondsAfterCompleted':5000", 5000, "TTLSecondsAfterCompleted"},
		{",'ttlSecondsAfterCompleted':0", 0, "TTLSecondsAfterCompleted"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		int64_t completed_ms;
		cleanup_free char *stop = mem_printf("%s,'executionType':'Stop'", rows[i].spec);

		world_begin_of(&w, 1, "", "", rows[i].spec);
		w.config.completed_retain_sec = 1000;
		world_settle(&w);
		world_edit_of(&w, 1, "", "", stop);
		world_settle(&w);
		world_collect(&w);
		for (int step = 0; step < 100 && w.framework->status.state != STATE_COMPLETED; step++)
			world_step(&w);
		completed_ms = w.time.wall_ms;
		world_settle_for(&w, 10000000);
		assert_int_equal(w.made[CALL_DELETE_FRAMEWORK], 1);
		assert_in_range(w.time.wall_ms - completed_ms + 1000, rows[i].kept_sec * 1000,
				rows[i].kept_sec * 1000 + 3000);
		assert_contains(w.snapshots.data, rows[i].why);
		world_end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_each_state), cmocka_unit_test(test_over_retries),
		cmocka_unit_test(test_too_late),      cmocka_unit_test(test_suspended),
		cmocka_unit_test(test_held),          cmocka_unit_test(test_is_a_level),
		cmocka_unit_test(test_ttl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
