/* retryPolicy.backoff (CONTRACT.md §9), of the Framework and of Tasks. */
#include "reconciler/sync/rules.h"
#include "tests/unit/sync_world.h"

/* The n-th retry in a row waits min(maxSec, initialSec * 2^(n-1)); an attempt that ran for resetAfterSec ends the row.
 */
static void test_delays(void **state)
{
	static const struct {
		struct retry_backoff backoff;
		int32_t count;
		int64_t run_time;
		int64_t completion_time;
		int64_t delay_sec;
		int32_t count_after;
	} rows[] = {
		{{0}, 0, 1000, 1001, 0, 0},
		{{0}, 5, 1000, 1001, 0, 5},
		{{10, 600, 600}, 0, 1000, 1001, 10, 1},
		{{10, 600, 600}, 1, 1000, 1001, 20, 2},
		{{10, 600, 600}, 5, 1000, 1001, 320, 6},
		{{10, 600, 600}, 6, 1000, 1001, 600, 7},
		{{10, 600, 600}, 2000000000, 1000, 1001, 600, 2000000001},
		{{10, 600, 600}, 6, 1000, 1599, 600, 7},
		{{10, 600, 600}, 6, 1000, 1600, 10, 1},
		{{10, 600, 600}, 6, 0, 5000, 600, 7}, /* it never ran */
		{{10, 600, 0}, 6, 1000, 1000, 10, 1},
		{{10, 5, 600}, 0, 1000, 1001, 5, 1},
		{{1, 2147483647, 600}, 31, 1000, 1001, 2147483647, 32},
		{{2147483647, 2147483647, 600}, 100, 1000, 1001, 2147483647, 101},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct retry_status status = {.backoff_count = rows[i].count, .delay_sec = DELAY_NULL};
		int64_t found = retry_backoff_sec(&rows[i].backoff, &status, rows[i].run_time, rows[i].completion_time);

		if (found != rows[i].delay_sec || status.backoff_count != rows[i].count_after)
			fail_msg("row %zu: %lld s, row of %d", i, (long long)found, status.backoff_count);
	}
}

#define BACKOFF "'retryPolicy':{'maxRetryCount':-2,'backoff':{'initialSec':10,'maxSec':40,'resetAfterSec':1000}}"

/* Runs the Framework's only Pod, which fails; returns the seconds until there is another one. */
static int64_t next_pod_after(struct world *w, bool restart)
{
	int64_t ended_ms;
	cleanup_free char *uid = mem_strdup(meta_str(world_pod(w, "f-a-0"), "uid"));

	world_pod_phase(w, "f-a-0", "Running");
	world_settle(w);
	ended_ms = w->time.wall_ms;
	world_pod_exit(w, "f-a-0", 3, "");
	for (int i = 0; i < 300; i++) {
		world_pass(w, 1);
		world_collect(w);
		if (restart && i == 5)
			world_restart(w);
		if (world_pod(w, "f-a-0") != NULL && strcmp(meta_str(world_pod(w, "f-a-0"), "uid"), uid) != 0)
			return (w->time.wall_ms - ended_ms) / 1000;
		world_advance_ms(w, 1000);
	}
	fail_msg("no other Pod: %s", w->log.data);
	return 0;
}

static void check_row(struct world *w)
{
	static const int64_t expected[] = {10, 20, 40, 40};

	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		assert_in_range(next_pod_after(w, i % 2 == 1), expected[i] - 1, expected[i] + 4);
}

static void test_framework(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "," BACKOFF);
	world_settle(&w);
	check_row(&w);
	assert_int_equal(w.framework->status.retry.backoff_count, 4);
	assert_contains(w.events.data,
			"FrameworkRetryDelayed: Framework is retried in 20 s by retryPolicy.backoff: retry "
			"2 in a row");
	world_end(&w);
}

/* An attempt that ran for long ends the row, also when it was suspended. */
static void test_suspended_after_long(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "," BACKOFF);
	world_settle(&w);
	check_row(&w);
	world_pod_phase(&w, "f-a-0", "Running");
	world_pass(&w, 3600);
	world_edit_of(&w, 1, "", "", ",'suspend':true," BACKOFF);
	world_pass(&w, 60);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_int_equal(w.framework->status.retry.backoff_count, 0);
	world_edit_of(&w, 1, "", "", "," BACKOFF);
	world_settle(&w);
	assert_in_range(next_pod_after(&w, false), 9, 14);
	world_end(&w);
}

static void test_task(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "," BACKOFF, "");
	world_settle(&w);
	check_row(&w);
	assert_int_equal(world_task(&w, 0, 0)->retry.backoff_count, 4);
	assert_int_equal(world_task(&w, 0, 0)->retry.total, 4);
	assert_int_equal(world_task(&w, 0, 0)->retry.delay_sec, DELAY_NULL);
	assert_int_equal(w.framework->status.retry.total, 0);
	world_end(&w);
}

/* One Task runs, and the retry of the other one is to wait for 500 s. */
static void begin_delayed(struct world *w)
{
	world_begin_of(w, 2, "", ",'retryPolicy':{'maxRetryCount':-2,'backoff':{'initialSec':500}}", "");
	world_settle(w);
	world_pod_phase(w, "f-a-0", "Running");
	world_pod_exit(w, "f-a-1", 3, "");
	world_settle(w);
	assert_task(w, 0, 1, STATE_ATTEMPT_COMPLETED);
	assert_int_equal(world_task(w, 0, 1)->retry.delay_sec, 500);
}

/* A Task that waits for its retry: Stop, suspend and rescale do not wait for it. */
static void test_cut_short(void **state)
{
	static const struct {
		int tasks;
		const char *spec;
		enum attempt_state state;
	} rows[] = {
		{2, ",'executionType':'Stop'", STATE_COMPLETED},
		{2, ",'suspend':true", STATE_CREATION_PENDING},
		{1, "", STATE_RUNNING},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		begin_delayed(&w);
		world_edit_of(&w, rows[i].tasks, "", ",'retryPolicy':{'maxRetryCount':-2,'backoff':{'initialSec':500}}",
			      rows[i].spec);
		for (int round = 0; round < 4; round++) {
			world_settle(&w);
			if (w.config_map != NULL &&
			    json_object_get(json_object_get(w.config_map, "metadata"), "deletionTimestamp") != NULL)
				world_collect(&w);
		}
		assert_state(&w, rows[i].state);
		if (rows[i].state == STATE_COMPLETED) { /* it shows what failed, and no retry that never began */
			assert_int_equal(world_task(&w, 0, 1)->attempt.completion->code, 3);
			assert_int_equal(world_task(&w, 0, 1)->retry.total, 0);
			assert_int_equal(world_task(&w, 0, 1)->retry.delay_sec, DELAY_NULL);
		}
		if (rows[i].tasks == 1)
			assert_int_equal(w.framework->status.attempt.roles[0].task_count, 1);
		world_end(&w);
	}
}

/* Nothing else may happen for as long: another finalizer keeps the Framework, and its ConfigMap stays. */
static void test_cut_short_by_deletion(void **state)
{
	struct world w;

	(void)state;
	begin_delayed(&w);
	world_mark_deleting(&w, w.object, 0);
	world_tell_framework(&w);
	world_settle(&w);
	assert_int_equal(world_task(&w, 0, 1)->retry.total, 1);
	world_end(&w);
}

/* Once the delay is stored the retry happens after it, whatever the spec says then; a Framework without it waits not.
 */
static void test_spec_changes(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", ",'retryPolicy':{'maxRetryCount':1,'backoff':{'initialSec':50}}", "");
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 3, "");
	world_settle(&w);
	world_edit_of(&w, 1, "", "", "");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_ATTEMPT_COMPLETED);
	world_pass(&w, 51);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_int_equal(world_task(&w, 0, 0)->retry.total, 1);
	world_end(&w);
}

/* Of a Conflict's random delay and the backoff the longer one. */
static void test_conflict(void **state)
{
	static const struct {
		int initial_sec;
		int64_t delay_sec;
	} rows[] = {{50, 300}, {500, 500}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		cleanup_free char *policy = mem_printf(
			",'retryPolicy':{'fancyRetryPolicy':true,'backoff':{'initialSec':%d}}", rows[i].initial_sec);

		world_begin_of(&w, 1, "", "", policy);
		w.config.conflict_delay_min_sec = w.config.conflict_delay_max_sec = 300;
		world_settle(&w);
		world_pod_exit(&w, "f-a-0", 201, "");
		for (int round = 0; round < 3; round++) {
			world_settle(&w);
			world_collect(&w);
		}
		world_settle(&w);
		assert_state(&w, STATE_ATTEMPT_COMPLETED);
		assert_int_equal(w.framework->status.retry.delay_sec, rows[i].delay_sec);
		world_end(&w);
	}
}

/* A Task that waits for its retry, and its TaskRole leaves the spec: it is not retried. */
static void test_role_gone(void **state)
{
#define ROLE_A "{'name':'a','taskNumber':1,'frameworkAttemptCompletionPolicy':{}}"
	struct world w;

	(void)state;
	world_begin(&w, "{'taskRoles':[" ROLE_A ",{'name':'b','taskNumber':1,'frameworkAttemptCompletionPolicy':{},"
			"'task':{'retryPolicy':{'maxRetryCount':3,'backoff':{'initialSec':500}}}}]}");
	world_settle(&w);
	world_pod_exit(&w, "f-b-0", 3, "");
	world_settle(&w);
	assert_task(&w, 1, 0, STATE_ATTEMPT_COMPLETED);
	world_edit(&w, "{'taskRoles':[" ROLE_A "]}");
	world_pass(&w, 10);
	assert_int_equal(w.framework->status.attempt.role_count, 1);
	assert_lacks(w.events.data, "TaskRetried");
	assert_lacks(w.snapshots.data, "OnTaskRetry");
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delays),
		cmocka_unit_test(test_framework),
		cmocka_unit_test(test_suspended_after_long),
		cmocka_unit_test(test_task),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_cut_short_by_deletion),
		cmocka_unit_test(test_spec_changes),
		cmocka_unit_test(test_conflict),
		cmocka_unit_test(test_role_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
