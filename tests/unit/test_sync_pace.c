/* When the status is written (CONTRACT.md §12.16): changes that wait for each other where writes take long, and what
 * ends that. */
#include "tests/unit/sync_world.h"

#define STAYS ",'frameworkAttemptCompletionPolicy':{}"
#define ALWAYS ",'retryPolicy':{'maxRetryCount':-2}"

/* Until when the next write is put off, with nothing happening meanwhile. */
static int64_t written_after_ms(struct world *w)
{
	int64_t begun_ms = w->time.boot_ms;

	world_reconcile(w);
	while (!w->plan.write && w->time.boot_ms < begun_ms + 60000) {
		world_advance_ms(w, 100);
		world_reconcile(w);
	}
	return w->time.boot_ms - begun_ms;
}

/* Where writes take long, changes that belong together are gathered for sixty-four times as long, within a limit. The
 * last Task to arrive ends that. */
static void test_slow_server(void **state)
{
	static const struct {
		int64_t write_ms;
		int64_t wait_ms;
	} cases[] = {{0, 200}, {50, 3200}, {1000, 4000}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct world w;

		world_begin_of(&w, 3, STAYS, "", "");
		world_settle(&w);
		world_advance_ms(&w, 10000);
		w.time.write_ms = cases[i].write_ms;
		world_pod_phase(&w, "f-a-0", "Running");
		assert_in_range(written_after_ms(&w), cases[i].wait_ms, cases[i].wait_ms);
		world_write(&w);
		world_advance_ms(&w, 10000);
		world_pod_phase(&w, "f-a-1", "Running");
		world_reconcile(&w);
		assert_false(w.plan.write);
		world_pod_phase(&w, "f-a-2", "Running");
		world_reconcile(&w);
		assert_true(w.plan.write);
		world_end(&w);
	}
}

/* The retry of a Task waits for the write of its failure, an eighth as long as other changes do. */
static void test_slow_server_failure(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 3, STAYS, ",'retryPolicy':{'maxRetryCount':1}", "");
	world_settle(&w);
	world_advance_ms(&w, 10000);
	w.time.write_ms = 50;
	world_pod_exit(&w, "f-a-0", 3, "");
	assert_in_range(written_after_ms(&w), 400, 400);
	world_write(&w);
	world_advance_ms(&w, 10000);
	world_pod_phase(&w, "f-a-1", "Running");
	assert_in_range(written_after_ms(&w), 3200, 3200); /* that is over */
	world_end(&w);
}

/* So does what follows from a success that ends the attempt, or is retried, and not from one that decides nothing. */
static void test_slow_server_success(void **state)
{
	static const struct {
		const char *policy;
		const char *task;
		int64_t wait_ms;
	} cases[] = {
		{",'frameworkAttemptCompletionPolicy':{'minFailedTaskCount':1,'minSucceededTaskCount':1}", "", 400},
		{",'frameworkAttemptCompletionPolicy':{'minFailedTaskCount':1,'minSucceededTaskCount':2}", "", 3200},
		{"", ALWAYS, 400},
		{"", "", 3200},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct world w;

		world_begin_of(&w, 3, cases[i].policy, cases[i].task, "");
		world_settle(&w);
		for (int task = 0; task < 3; task++)
			world_pod_phase(&w, pod_name("a", (size_t)task), "Running");
		world_settle(&w);
		world_advance_ms(&w, 10000);
		w.time.write_ms = 50;
		world_pod_exit(&w, "f-a-0", 0, "");
		assert_in_range(written_after_ms(&w), cases[i].wait_ms, cases[i].wait_ms);
		world_end(&w);
	}
}

/* The Pod of a Task that has ended is still being deleted: the Task counts when another one succeeds. */
static void test_slow_server_second_success(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 4, ",'frameworkAttemptCompletionPolicy':{'minSucceededTaskCount':2}", "", "");
	world_settle(&w);
	for (int task = 0; task < 4; task++)
		world_pod_phase(&w, pod_name("a", (size_t)task), "Running");
	world_settle(&w);
	w.slow_kubelet = true;
	world_pod_exit(&w, "f-a-0", 0, "");
	world_pass(&w, 30);
	assert_task(&w, 0, 0, STATE_DELETING);
	w.time.write_ms = 50;
	world_pod_exit(&w, "f-a-1", 0, "");
	assert_in_range(written_after_ms(&w), 400, 400);
	world_end(&w);
}

/* The Pod has that IP and does not run yet. */
static void give_ip(struct world *w, const char *name, const char *ip)
{
	json_object_set_new(json_at(world_pod(w, name), "status"), "podIP", json_string(ip));
	world_pod_phase(w, name, "Pending");
}

/* A barrier waits for the IPs of all Tasks, while their Pods do not run: the last IP is written at once. */
static void test_slow_server_addresses(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 3, STAYS, ",'retryPolicy':{'maxRetryCount':1}", "");
	world_settle(&w);
	world_advance_ms(&w, 10000);
	w.time.write_ms = 1000;
	give_ip(&w, "f-a-0", "10.0.0.1");
	give_ip(&w, "f-a-1", "10.0.0.2");
	world_reconcile(&w);
	assert_false(w.plan.write);
	give_ip(&w, "f-a-2", "10.0.0.3");
	world_reconcile(&w);
	assert_true(w.plan.write);
	world_write(&w);
	/* one after the other, they begin to run: nothing new is known of their IPs */
	world_pod_phase(&w, "f-a-0", "Running");
	world_reconcile(&w);
	assert_false(w.plan.write);
	world_settle_for(&w, 10000);
	/* the IP of an attempt that is over does not count for the next one */
	world_pod_exit(&w, "f-a-0", 3, "");
	world_pass(&w, 30);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
	give_ip(&w, "f-a-1", "10.0.0.4");
	world_reconcile(&w);
	assert_false(w.plan.write);
	give_ip(&w, "f-a-0", "10.0.0.5");
	world_reconcile(&w);
	assert_true(w.plan.write);
	world_write(&w);
	/* nor is anybody in a hurry for another IP of the same Pod */
	world_pass(&w, 30);
	give_ip(&w, "f-a-1", "10.0.0.6");
	world_reconcile(&w);
	assert_false(w.plan.write);
	world_end(&w);
}

/* A Task that is over is written with the others that end, and not because all others run or have ended as before. */
static void test_no_news_of_others(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 3, STAYS, "", "");
	world_settle(&w);
	for (int i = 0; i < 3; i++)
		world_pod_phase(&w, pod_name("a", (size_t)i), "Running");
	world_settle(&w);
	w.slow_kubelet = true;
	for (int i = 0; i < 3; i++)
		world_pod_exit(&w, pod_name("a", (size_t)i), 0, "");
	world_reconcile(&w);
	assert_true(w.plan.write);
	world_write(&w);
	world_pod_gone(&w, "f-a-0");
	world_reconcile(&w);
	world_reconcile(&w);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	assert_false(w.plan.write);
	w.slow_kubelet = false;
	world_settle(&w);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_server),           cmocka_unit_test(test_slow_server_failure),
		cmocka_unit_test(test_slow_server_success),   cmocka_unit_test(test_slow_server_second_success),
		cmocka_unit_test(test_slow_server_addresses), cmocka_unit_test(test_no_news_of_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
