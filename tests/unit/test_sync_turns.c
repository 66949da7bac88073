/* Whose turn it is: Pods are created and judged in ascending order of TaskRole and index, and where creates have failed
 * few are on the way, so that none keeps the others waiting. */
#include <limits.h>

#include "tests/unit/sync_world.h"

/* After a failure one at a time; each success lets twice as many be on the way, until there is no limit again; then
 * Task 0, which was refused, goes before the others. */
static void test_slow_start(void **state)
{
	static const unsigned expected[] = {1, 2, 8, 1, 88};
	struct world w;

	(void)state;
	world_begin_creating(&w, 100);
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD, .count = 1, .http_status = 500, .message = "x"};
	world_carry(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 1);
	world_clear_log(&w);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		while (w.made[CALL_CREATE_POD] == 0) {
			world_reconcile(&w);
			world_advance_ms(&w, 20);
			world_carry(&w);
		}
		assert_int_equal(w.made[CALL_CREATE_POD], expected[i]);
		world_clear_log(&w);
	}
	world_settle(&w);
	for (size_t i = 0; i < 100; i++)
		assert_task(&w, 0, i, STATE_PREPARING);
	world_end(&w);

	/* One answer that cannot be read must not leave the others waiting for ever. */
	world_begin_creating(&w, 3);
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD, .count = 3, .http_status = 500, .message = "x"};
	world_carry(&w);
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD, .count = 1, .http_status = 201, .carried_out = true};
	world_settle_for(&w, 10000);
	for (size_t i = 0; i < 3; i++)
		assert_task(&w, 0, i, STATE_PREPARING);
	world_end(&w);
}

/* What is sent together, the server may carry out in any order: under a quota, the first TaskRole is to have the
 * places, and Task 0 of each before the others. */
static void test_stages(void **state)
{
	static const char *const stages[] = {"create Pod f-m-0; ", "create Pod f-m-1; create Pod f-m-2; ",
					     "create Pod f-w-0; ", "create Pod f-w-1; create Pod f-w-2; "};
	struct world w;

	(void)state;
	world_begin(&w, "{'taskRoles':[{'name':'m','taskNumber':3},{'name':'w','taskNumber':3}]}");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	world_carry(&w);
	for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
		world_clear_log(&w);
		world_reconcile(&w);
		world_reconcile(&w); /* nothing more while these are on their way */
		world_carry(&w);
		assert_calls(&w, stages[i]);
	}
	world_end(&w);
}

/* A Task's next Pod waits for no others, and none waits for it. */
static void test_retries_have_no_stage(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, "{'taskRoles':[{'name':'m','taskNumber':2,'task':{'retryPolicy':{'maxRetryCount':-2}}},"
			"{'name':'w','taskNumber':1}]}");
	world_settle(&w);
	world_pod_exit(&w, "f-m-0", 0, "");
	world_pod_exit(&w, "f-m-1", 0, "");
	w.hold_calls = true;
	world_clear_log(&w);
	world_settle(&w);
	w.hold_calls = false;
	world_carry(&w); /* the deletes */
	w.hold_calls = true;
	world_settle(&w);
	world_edit(&w, "{'taskRoles':[{'name':'m','taskNumber':2,'task':{'retryPolicy':{'maxRetryCount':-2}}},"
		       "{'name':'w','taskNumber':2}]}");
	world_settle(&w);
	world_clear_log(&w);
	w.hold_calls = false;
	world_carry(&w);
	assert_calls(&w, "create Pod f-m-0; create Pod f-m-1; create Pod f-w-1; ");
	world_end(&w);
}

#define TWO_ROLES(tasks)                                                    \
	"{'taskRoles':[{'name':'a','taskNumber':" tasks                     \
	",'frameworkAttemptCompletionPolicy':{}},{'name':'b','taskNumber':" \
	"2,'frameworkAttemptCompletionPolicy':{}}]}"

/* Pods that are refused for ever are tried in turn with the others, whichever they are, and with each other; also those
 * that ask for more than a quota has, which may do for the others. */
static void test_refused_in_turn(void **state)
{
	static const char *const names[] = {"f-a-0", "f-b-0", "f-b-1", "f-a-0", "f-b-0", "f-b-1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		bool quota = i >= ARRAY_LEN(names) / 2;
		struct world w;

		world_begin(&w, TWO_ROLES("1"));
		w.fault = (struct world_fault){.kind = CALL_CREATE_POD,
					       .name = names[i],
					       .count = INT_MAX,
					       .http_status = quota ? 403 : 500,
					       .reason = quota ? "Forbidden" : NULL,
					       .message = quota ? "exceeded quota: q" : "x"};
		world_settle_for(&w, 120000);
		world_edit(&w, TWO_ROLES("3"));
		world_settle_for(&w, 120000);
		for (size_t t = 0; t < 5; t++) {
			const char *name = t < 3 ? pod_name("a", t) : pod_name("b", t - 3);

			if ((world_pod(&w, name) == NULL) != (strcmp(name, names[i]) == 0))
				fail_msg("with %s refused, %s is %s", names[i], name,
					 world_pod(&w, name) == NULL ? "not there" : "there");
		}
		assert_true(w.made[CALL_CREATE_POD] >= 5 + 2);
		world_end(&w);
	}
}

/* Whenever a quota has place for one Pod, it is the lowest Task's, however long they have waited. */
static void test_quota(void **state)
{
	static const char *const names[] = {"f-z-0", "f-a-0", "f-a-1", "f-a-2"};
	const struct world_fault full = {.kind = CALL_CREATE_POD,
					 .count = INT_MAX,
					 .http_status = 403,
					 .reason = "Forbidden",
					 .message = "exceeded quota: q"};
	struct world w;

	(void)state;
	world_begin(&w, "{'taskRoles':[{'name':'z','taskNumber':1},{'name':'a','taskNumber':3}]}");
	w.fault = full;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		for (size_t waits = 0; waits < 4 + i; waits++) {
			world_settle_for(&w, 30000);
			world_advance_ms(&w, 30000);
		}
		assert_int_equal(json_object_size(w.pods), i);
		w.fault.count = 0;
		while (json_object_size(w.pods) == i)
			if (!world_step(&w))
				world_advance_ms(&w, 100);
		w.fault = full;
		assert_int_equal(json_object_size(w.pods), i + 1);
		if (world_pod(&w, names[i]) == NULL)
			fail_msg("place %zu is not that of %s: %s", i, names[i], w.log.data);
	}
	world_end(&w);
}

/* A server that is sent several creates at once may carry them out in any order. Where the attempt before met a quota,
 * they are sent as after a failure: the first one alone. */
static void test_quota_next_attempt(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 4, "", "", ",'retryPolicy':{'maxRetryCount':-2}");
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD,
				       .name = "f-a-1",
				       .count = 1,
				       .http_status = 403,
				       .reason = "Forbidden",
				       .message = "exceeded quota: q"};
	world_settle(&w);
	assert_non_null(world_pod(&w, "f-a-1"));
	world_pod_exit(&w, "f-a-0", 1, "");
	while (w.framework->status.attempt.id == 0 || w.queued == 0 || w.queue[0].kind != CALL_CREATE_POD) {
		world_carry(&w);
		world_reconcile(&w);
		if (w.plan.write)
			world_write(&w);
		world_advance_ms(&w, 10);
	}
	assert_int_equal(w.queued, 1);
	assert_string_equal(w.queue[0].name, "f-a-0");
	world_settle(&w);
	assert_int_equal(json_object_size(w.pods), 4);
	world_end(&w);
}

/* Of what is on its way, what is about the last of these Pods is answered first; each answer has a reconcile of its
 * own. */
static void carry_backwards(struct world *w)
{
	static const char *const names[] = {"f-a-2", "f-a-1", "f-a-0", "f-z-0", "f-attempt"};

	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		for (size_t i = 0; i < w->queued; i++) {
			struct call call = w->queue[i];

			if (strcmp(call.name, names[n]) != 0)
				continue;
			w->queue[i] = w->queue[--w->queued];
			call.failed = w->framework->creates_failed; /* all of them have been sent */
			world_answer(w, &call);
			world_drop_call(&call);
			world_reconcile(w);
			if (w->plan.write)
				world_write(w);
			n = (size_t)-1; /* there may be more about it */
			break;
		}
	}
}

/* Of several Pods that are refused for good, the lowest Task's is judged first; one that is created meanwhile, or is
 * refused for now, is no reason to wait. */
static void test_for_good_lowest_first(void **state)
{
	static const struct {
		const char *refused; /* NULL: all */
		const char *role;
		int index;
	} rows[] = {{NULL, "z", 0}, {"f-a-0", "a", 0}, {"f-a-2", "a", 2}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct completion *completion;
		struct world w;

		world_begin(&w, "{'taskRoles':[{'name':'z','taskNumber':1},{'name':'a','taskNumber':3}]}");
		w.fault = (struct world_fault){.kind = CALL_CREATE_POD,
					       .name = rows[i].refused,
					       .count = INT_MAX,
					       .http_status = 400,
					       .reason = "BadRequest",
					       .message = "x"};
		for (int reconciles = 0; reconciles < 100 && w.framework->status.attempt.completion == NULL;
		     reconciles++) {
			world_reconcile(&w);
			if (w.plan.write)
				world_write(&w);
			carry_backwards(&w);
			world_advance_ms(&w, 10);
		}
		completion = w.framework->status.attempt.completion;
		assert_non_null(completion);
		assert_string_equal(completion->trigger->task_role_name, rows[i].role);
		assert_int_equal(completion->trigger->task_index, rows[i].index);
		world_end(&w);
	}
}

static void test_refused_take_turns(void **state)
{
	struct world w;
	size_t tries[3] = {0};

	(void)state;
	world_begin_creating(&w, 3);
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD, .count = INT_MAX, .http_status = 500, .message = "x"};
	world_settle_for(&w, 600000);
	for (size_t t = 0; t < 3; t++) {
		cleanup_free char *entry = mem_printf("create Pod %s; ", pod_name("a", t));

		for (const char *at = strstr(w.log.data, entry); at != NULL; at = strstr(at + 1, entry))
			tries[t]++;
		assert_in_range(tries[t], tries[0] - 1, tries[0] + 1);
	}
	assert_true(tries[0] > 5);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_start),
		cmocka_unit_test(test_stages),
		cmocka_unit_test(test_retries_have_no_stage),
		cmocka_unit_test(test_refused_in_turn),
		cmocka_unit_test(test_refused_take_turns),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_quota_next_attempt),
		cmocka_unit_test(test_for_good_lowest_first),
	};

	return cmocka_run_group_tests_name("sync_turns", tests, NULL, NULL);
}
