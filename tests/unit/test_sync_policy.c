/* When an attempt is complete (CONTRACT.md §10): thresholds, ties, the order of several at once, thresholds changed in
 * the spec, the total, and which Task is the trigger. */
#include "reconciler/sync/rules.h"
#include "tests/unit/sync_world.h"

#define POLICY(failed, succeeded) \
	",'frameworkAttemptCompletionPolicy':{'minFailedTaskCount':" failed ",'minSucceededTaskCount':" succeeded "}"

/* ---- the full test, on statuses made by hand --------------------------------------------------------------------- */

/* One letter per Task: r runs, f failed, s succeeded, F and S the same but deletionPending, p is pending. A digit after
 * it is its completionTime. */
static char *tasks_text(const char *tasks)
{
	struct buf out = {0};
	int index = 0;

	buf_putc(&out, '[');
	for (const char *c = tasks; *c != '\0'; c++) {
		bool over = strchr("fsFS", *c) != NULL;
		bool good = *c == 's' || *c == 'S';
		char digit = over ? c[1] : '0';

		if (index > 0)
			buf_putc(&out, ',');
		buf_printf(&out,
			   "{'index':%d,'instanceUID':'t%d','state':'%s','deletionPending':%s,'completionTime':"
			   "'2023-01-01T00:00:0%cZ','attemptStatus':{'completionStatus':",
			   index, index,
			   over        ? "Completed"
			   : *c == 'r' ? "AttemptRunning"
				       : "AttemptCreationPending",
			   *c == 'F' || *c == 'S' ? "true" : "false", digit);
		if (over)
			buf_printf(&out,
				   "{'code':%d,'phrase':'P%d','type':{'name':'%s','attributes':['T']},'diagnostics':"
				   "'D%d','pod':{'x':1}}}}",
				   good ? 0 : 100 + index, index, good ? "Succeeded" : "Failed", index);
		else
			buf_puts(&out, "null}}");
		index++;
		c += over;
	}
	buf_putc(&out, ']');
	return buf_steal(&out);
}

/* How many of them are not deletionPending: what the spec wants, as a rule. */
static int wanted(const char *tasks)
{
	int count = 0;

	for (const char *c = tasks; *c != '\0'; c++)
		count += strchr("rpfs", *c) != NULL;
	return count;
}

/* Roles "a" (and "b" if tasks_b) with the policies given as members of the role. */
static struct completion *test_of(struct world *w, const char *policy_a, const char *tasks_a, const char *policy_b,
				  const char *tasks_b)
{
	cleanup_free char *a = tasks_text(tasks_a);
	cleanup_free char *b = tasks_text(tasks_b);
	cleanup_free char *status = mem_printf("{'state':'AttemptRunning','attemptStatus':{'taskRoleStatuses':[{'name':"
					       "'a','instanceUID':'a','taskStatuses':%s},{'name':'b','instanceUID':'b',"
					       "'taskStatuses':%s}]}}",
					       a, b);
	cleanup_free char *spec = mem_printf(
		"{'taskRoles':[{'name':'a','taskNumber':%d%s},{'name':'b','taskNumber':%d%s}]}", wanted(tasks_a),
		policy_a, wanted(tasks_b), policy_b);

	world_init(w);
	world_create_framework(w, spec, status);
	if (w->framework->problem != NULL)
		fail_msg("%s", w->framework->problem);
	world_check_counters(w->framework);
	return policy_test(w->framework);
}

#define NEVER ",'frameworkAttemptCompletionPolicy':{}"
#define FAILED_HAS(n, m) "FailedTaskCount " #n " has reached MinFailedTaskCount " #m " in the TaskRole"
#define SUCCEEDED_HAS(n, m) "SucceededTaskCount " #n " has reached MinSucceededTaskCount " #m " in the TaskRole"
#define TOTAL(n)                                                   \
	"CompletedTaskCount " #n " has reached TotalTaskCount " #n \
	" and no user specified conditions in FrameworkAttemptCompletionPolicy have ever been triggered"

static void test_full(void **state)
{
	static const struct {
		const char *policy_a;
		const char *tasks_a;
		const char *policy_b;
		const char *tasks_b;
		const char *message; /* NULL: nothing triggers */
		const char *role;
		int index;
	} rows[] = {
		{POLICY("1", "-1"), "rr", NEVER, "", NULL, "", 0},
		{POLICY("1", "-1"), "f1r", NEVER, "", FAILED_HAS(1, 1), "a", 0},
		{POLICY("2", "-1"), "f1r", NEVER, "", NULL, "", 0},
		/* the m-th by completionTime, ties by index; n is the count now */
		{POLICY("2", "-1"), "f3f1f2r", NEVER, "", FAILED_HAS(3, 2), "a", 2},
		{POLICY("2", "-1"), "f1f1f1r", NEVER, "", FAILED_HAS(3, 2), "a", 1},
		{POLICY("1", "-1"), "f2f1f1r", NEVER, "", FAILED_HAS(3, 1), "a", 1},
		{POLICY("-1", "2"), "s2s1s3r", NEVER, "", SUCCEEDED_HAS(3, 2), "a", 0},
		/* 0 and -1 never trigger */
		{POLICY("0", "0"), "f1s1r", NEVER, "", NULL, "", 0},
		{POLICY("-1", "-1"), "f1s1r", NEVER, "", NULL, "", 0},
		/* several at once: the earliest; then first in spec; failed before succeeded */
		{POLICY("1", "1"), "s1f2r", NEVER, "", SUCCEEDED_HAS(1, 1), "a", 0},
		{POLICY("1", "1"), "s2f1r", NEVER, "", FAILED_HAS(1, 1), "a", 1},
		{POLICY("1", "1"), "s1f1r", NEVER, "", FAILED_HAS(1, 1), "a", 1},
		{POLICY("1", "-1"), "f2r", POLICY("1", "-1"), "rf1", FAILED_HAS(1, 1), "b", 1},
		{POLICY("1", "-1"), "rf1", POLICY("1", "-1"), "f1", FAILED_HAS(1, 1), "a", 1},
		{POLICY("-1", "1"), "s1r", POLICY("1", "-1"), "f1", SUCCEEDED_HAS(1, 1), "a", 0},
		/* a threshold before the total */
		{POLICY("1", "-1"), "f1s2", NEVER, "", FAILED_HAS(1, 1), "a", 0},
		/* the total: success whatever they are; the last completed is the trigger */
		{NEVER, "f3s1", NEVER, "", TOTAL(2), "a", 0},
		{NEVER, "f1s1", NEVER, "s2", TOTAL(3), "b", 0},
		{POLICY("2", "-1"), "f1", NEVER, "s1s1", TOTAL(3), "b", 1},
		{NEVER, "f1r", NEVER, "s1", NULL, "", 0},
		{NEVER, "p", NEVER, "s1", NULL, "", 0},
		{NEVER, "", NEVER, "", NULL, "", 0},
		/* deletionPending Tasks are ignored throughout */
		{POLICY("1", "-1"), "F1r", NEVER, "", NULL, "", 0},
		{POLICY("1", "-1"), "F1f2r", NEVER, "", FAILED_HAS(1, 1), "a", 1},
		{POLICY("-1", "2"), "S1s2r", NEVER, "", NULL, "", 0},
		{NEVER, "s1F9", NEVER, "", TOTAL(1), "a", 0},
		{NEVER, "F1F2", NEVER, "", NULL, "", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		struct completion *found = test_of(&w, rows[i].policy_a, rows[i].tasks_a, rows[i].policy_b,
						   rows[i].tasks_b);

		if ((found == NULL) != (rows[i].message == NULL))
			fail_msg("row %zu: found %s", i, found == NULL ? "nothing" : found->trigger->message);
		if (found != NULL) {
			bool total = strncmp(rows[i].message, "CompletedTaskCount", 18) == 0;
			cleanup_free char *diagnostics = mem_printf("D%d", rows[i].index);

			if (strcmp(found->trigger->message, rows[i].message) != 0 ||
			    strcmp(found->trigger->task_role_name, rows[i].role) != 0 ||
			    found->trigger->task_index != rows[i].index)
				fail_msg("row %zu: found %s %s %d", i, found->trigger->message,
					 found->trigger->task_role_name, (int)found->trigger->task_index);
			/* The trigger Task's completionStatus, or success. */
			assert_string_equal(found->diagnostics, total ? rows[i].message : diagnostics);
			assert_int_equal(found->succeeded, total || rows[i].message[0] == 'S');
			assert_int_equal(found->code, found->succeeded ? 0 : 100 + rows[i].index);
			assert_null(found->pod);
		}
		completion_free(found);
		world_end(&w);
	}
}

/* ---- stories ----------------------------------------------------------------------------------------------------- */

static void begin_running(struct world *w, int n, const char *role_rest)
{
	world_begin_of(w, n, role_rest, "", "");
	world_settle(w);
	for (int i = 0; i < n; i++)
		world_pod_phase(w, pod_name("a", (size_t)i), "Running");
	world_settle(w);
	assert_state(w, STATE_RUNNING);
}

#define assert_trigger(w, text, role, index)                                                      \
	do {                                                                                      \
		const struct completion *completion_ = (w)->framework->status.attempt.completion; \
		assert_non_null(completion_);                                                     \
		assert_non_null(completion_->trigger);                                            \
		assert_string_equal(completion_->trigger->message, text);                         \
		assert_string_equal(completion_->trigger->task_role_name, role);                  \
		assert_int_equal(completion_->trigger->task_index, index);                        \
	} while (0)

/* A Task's failure by its own exit code becomes the Framework's, whatever that is (golden service_batch's cousin). */
static void test_failed(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 4, POLICY("2", "-1"));
	world_pod_exit(&w, "f-a-3", 5, "");
	world_settle(&w);
	assert_state(&w, STATE_RUNNING);
	world_advance(&w, 5);
	world_pod_exit(&w, "f-a-1", 6, "");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, 6);
	assert_trigger(&w, FAILED_HAS(2, 2), "a", 1);
	assert_task_code(&w, 0, 0, CODE_FRAMEWORK_ATTEMPT_COMPLETION);
	assert_task_code(&w, 0, 3, 5);
	assert_contains(w.events.data, "FrameworkCompleted: Framework completed with code 6");
	world_end(&w);
}

/* A Task that is retried has not failed. */
static void test_retried_does_not_count(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, POLICY("1", "-1"), ",'retryPolicy':{'maxRetryCount':1}", "");
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, 1);
	world_end(&w);
}

/* Two Tasks complete in one reconcile: the one whose completion reached the threshold is the trigger, one completion.
 */
static void test_together(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 3, POLICY("1", "1"));
	world_pod_exit(&w, "f-a-0", 1, "");
	world_pod_exit(&w, "f-a-1", 0, "");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_non_null(w.framework->status.attempt.completion->trigger);
	assert_int_equal(w.framework->status.attempt.completion->trigger->task_index, 0);
	world_end(&w);
}

/* Of failures that are seen in one reconcile the lowest Task's is the trigger, in whichever order they come: a worker
 * that fails as its master has does not hide the cause. */
static void test_lowest_is_trigger(void **state)
{
	static const char *const orders[][3] = {
		{"f-m-0", "f-a-0", "f-a-1"}, {"f-m-0", "f-a-1", "f-a-0"}, {"f-a-0", "f-m-0", "f-a-1"},
		{"f-a-0", "f-a-1", "f-m-0"}, {"f-a-1", "f-m-0", "f-a-0"}, {"f-a-1", "f-a-0", "f-m-0"},
	};

	(void)state;
	for (size_t o = 0; o < 2 * ARRAY_LEN(orders); o++) {
		const char *const *order = orders[o % ARRAY_LEN(orders)];
		size_t count = o < ARRAY_LEN(orders) ? 3 : 2;
		bool master = strcmp(order[0], "f-m-0") == 0 || strcmp(order[1], "f-m-0") == 0 || count == 3;
		const struct completion_trigger *trigger;
		struct world w;

		world_begin(&w, "{'taskRoles':[{'name':'m','taskNumber':1},{'name':'a','taskNumber':2}]}");
		world_settle(&w);
		assert_calls(&w, "create ConfigMap f-attempt; create Pod f-m-0; create Pod f-a-0; create Pod f-a-1; ");
		w.slow_kubelet = true;
		for (size_t i = 0; i < count; i++)
			world_pod_exit(&w, order[i], 1, "");
		world_settle(&w);
		if (count == 3)
			assert_calls(&w, "delete Pod f-m-0; delete Pod f-a-0; delete Pod f-a-1; ");
		for (size_t i = 0; i < count; i++)
			world_pod_gone(&w, order[i]);
		world_settle(&w);
		assert_non_null(w.framework->status.attempt.completion);
		trigger = w.framework->status.attempt.completion->trigger;
		assert_string_equal(trigger->task_role_name, master ? "m" : "a");
		assert_int_equal(trigger->task_index, 0);
		world_end(&w);
	}
}

/* The trigger is the Task that has just completed, also where another ended in the same second. */
static void test_last_is_trigger(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", "", "");
	world_settle(&w);
	world_pod_exit(&w, "f-a-1", 0, "");
	for (int i = 0; i < 4 && world_task(&w, 0, 1)->state != STATE_COMPLETED; i++) {
		world_reconcile(&w);
		world_write(&w);
		world_carry(&w);
		world_reconcile(&w);
	}
	world_pod_exit(&w, "f-a-0", 0, "");
	for (int i = 0; i < 4 && w.framework->status.attempt.completion == NULL; i++) {
		world_reconcile(&w);
		world_write(&w);
		world_carry(&w);
		world_reconcile(&w);
	}
	assert_code(&w, 0);
	assert_int_equal(world_task(&w, 0, 0)->completion_time, world_task(&w, 0, 1)->completion_time);
	assert_int_equal(w.framework->status.attempt.completion->trigger->task_index, 0);
	world_end(&w);
}

/* A lower threshold, or a smaller taskNumber, in a changed spec triggers, too. */
static void test_lowered(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 5, POLICY("4", "-1"));
	for (size_t i = 0; i < 3; i++) {
		world_pod_exit(&w, pod_name("a", 2 - i), (int)(10 - i), "");
		world_settle(&w);
		world_advance(&w, 5);
	}
	assert_state(&w, STATE_RUNNING);
	world_edit_of(&w, 5, POLICY("2", "-1"), "", "");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, 9);
	assert_trigger(&w, FAILED_HAS(3, 2), "a", 1);
	world_end(&w);

	begin_running(&w, 3, NEVER);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_pod_exit(&w, "f-a-1", 1, "");
	world_settle(&w);
	assert_state(&w, STATE_RUNNING);
	world_edit_of(&w, 2, NEVER, "", "");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, 0);
	assert_int_equal(strncmp(w.framework->status.attempt.completion->trigger->message, TOTAL(2), strlen(TOTAL(2))),
			 0);
	world_end(&w);
}

/* The walk of CONTRACT.md §20: 4 workers → 2 → 3 → all succeed. */
static void test_elastic(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 4, POLICY("1", "4"));
	world_edit_of(&w, 2, POLICY("1", "2"), "", "");
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.roles[0].task_count, 2);
	assert_state(&w, STATE_RUNNING);
	world_edit_of(&w, 3, POLICY("1", "3"), "", "");
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.roles[0].task_count, 3);
	for (size_t i = 0; i < 3; i++) {
		world_pod_exit(&w, pod_name("a", i), 0, "");
		world_settle(&w);
	}
	assert_state(&w, STATE_COMPLETED);
	assert_trigger(&w, SUCCEEDED_HAS(3, 3), "a", 2);
	world_end(&w);
}

/* The completionStatus never changes once set within an attempt. */
static void test_once(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 3, POLICY("1", "1"));
	w.slow_gc = true;
	world_pod_exit(&w, "f-a-0", 1, "");
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	world_pod_exit(&w, "f-a-1", 0, "");
	world_edit_of(&w, 1, POLICY("-1", "1"), "", "");
	world_settle(&w);
	assert_code(&w, 1);
	assert_task_code(&w, 0, 1, CODE_FRAMEWORK_ATTEMPT_COMPLETION);
	assert_int_equal(w.framework->status.attempt.roles[0].task_count, 3);
	w.slow_gc = false;
	world_collect(&w);
	world_settle(&w);
	assert_code(&w, 1);
	assert_state(&w, STATE_COMPLETED);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_retried_does_not_count),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_lowest_is_trigger),
		cmocka_unit_test(test_last_is_trigger),
		cmocka_unit_test(test_lowered),
		cmocka_unit_test(test_elastic),
		cmocka_unit_test(test_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
