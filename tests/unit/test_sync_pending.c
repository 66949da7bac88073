/* Pods that are there and do not come to run: task.pendingPolicy (CONTRACT.md §6). */
#include "tests/unit/sync_world.h"

#define POLICY ",'pendingPolicy':{'startTimeoutSec':100,'unschedulableTimeoutSec':200}"

static void begin(struct world *w, const char *task_rest)
{
	world_begin_of(w, 1, "", task_rest, "");
	world_settle(w);
	world_pod_phase(w, "f-a-0", "Pending");
	world_settle(w);
	world_clear_log(w);
}

/* The Pod's container "c", or an init container, waits; reason NULL: none does. */
static void waits(struct world *w, const char *list, const char *reason)
{
	json_t *status = json_object_get(world_pod(w, "f-a-0"), "status");

	json_object_del(status, "containerStatuses");
	json_object_del(status, "initContainerStatuses");
	if (reason != NULL) {
		cleanup_free char *text = mem_printf(
			"[{'name':'c','state':{'waiting':{'reason':'%s','message':'the message'}}}]", reason);

		json_object_set_new(status, list, json_of(text));
	}
	world_pod_phase(w, "f-a-0", "Pending");
	world_settle(w);
}

/* since: lastTransitionTime, NULL for none. */
static void unschedulable_since(struct world *w, const char *reason, const char *since)
{
	cleanup_free char *time = since == NULL ? mem_strdup("null") : mem_printf("'%s'", since);
	cleanup_free char *text = mem_printf("[{'type':'Ready','status':'False','reason':'Unschedulable'},{'type':"
					     "'PodScheduled','status':'False','reason':'%s','message':'0/3 nodes',"
					     "'lastTransitionTime':%s}]",
					     reason, time);

	json_object_set_new(json_object_get(world_pod(w, "f-a-0"), "status"), "conditions", json_of(text));
	world_pod_phase(w, "f-a-0", "Pending");
	world_settle(w);
}

static void unschedulable(struct world *w, const char *reason)
{
	char now[TIME_RFC3339_SIZE];

	world_now_text(w, now);
	unschedulable_since(w, reason, now);
}

static const char *diagnostics(struct world *w)
{
	return world_task(w, 0, 0)->attempt.completion->diagnostics;
}

/* Every reason: what it does with the policy, and that it does nothing without. */
static void test_reasons(void **state)
{
	static const struct {
		const char *list;
		const char *reason;
		int code; /* 0: nothing ends it */
		bool at_once;
	} rows[] = {
		{"containerStatuses", "InvalidImageName", CODE_POD_NEVER_STARTS, true},
		{"containerStatuses", "ErrImageNeverPull", CODE_POD_NEVER_STARTS, true},
		{"initContainerStatuses", "InvalidImageName", CODE_POD_NEVER_STARTS, true},
		{"containerStatuses", "ErrImagePull", CODE_POD_START_TIMEOUT, false},
		{"containerStatuses", "ImagePullBackOff", CODE_POD_START_TIMEOUT, false},
		{"containerStatuses", "ImageInspectError", CODE_POD_START_TIMEOUT, false},
		{"containerStatuses", "RegistryUnavailable", CODE_POD_START_TIMEOUT, false},
		{"containerStatuses", "SignatureValidationFailed", CODE_POD_START_TIMEOUT, false},
		{"containerStatuses", "CreateContainerError", CODE_POD_START_TIMEOUT, false},
		{"containerStatuses", "CreateContainerConfigError", CODE_POD_START_TIMEOUT, false},
		{"containerStatuses", "RunContainerError", CODE_POD_START_TIMEOUT, false},
		{"containerStatuses", "CreatePodSandboxError", CODE_POD_START_TIMEOUT, false},
		{"containerStatuses", "PreStartHookError", CODE_POD_START_TIMEOUT, false},
		{"containerStatuses", "PostStartHookError", CODE_POD_START_TIMEOUT, false},
		{"initContainerStatuses", "ImagePullBackOff", CODE_POD_START_TIMEOUT, false},
		{"initContainerStatuses", "CrashLoopBackOff", CODE_POD_START_TIMEOUT, false},
		{"containerStatuses", "CrashLoopBackOff", 0, false},
		{"containerStatuses", "ContainerCreating", 0, false},
		{"containerStatuses", "PodInitializing", 0, false},
		{"containerStatuses", "Whatever", 0, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		begin(&w, POLICY);
		waits(&w, rows[i].list, rows[i].reason);
		if (!rows[i].at_once) {
			world_pass(&w, 96);
			assert_null(world_task(&w, 0, 0)->attempt.completion);
			world_pass(&w, 10);
		}
		if (rows[i].code == 0) {
			assert_null(world_task(&w, 0, 0)->attempt.completion);
		} else {
			assert_task_code(&w, 0, 0, rows[i].code);
			assert_contains(diagnostics(&w), rows[i].reason);
			assert_contains(diagnostics(&w), "container c: ");
			assert_contains(diagnostics(&w), "the message");
			assert_contains(w.log.data, "delete Pod f-a-0; ");
		}
		world_end(&w);

		begin(&w, "");
		waits(&w, rows[i].list, rows[i].reason);
		world_pass(&w, 100000);
		assert_null(world_task(&w, 0, 0)->attempt.completion);
		assert_calls(&w, "");
		assert_int_equal(w.writes, 0);
		world_end(&w);
	}
}

/* Alternating between two reasons does not begin it anew, ContainerCreating for a minute does, a restart does not. */
static void test_clock(void **state)
{
	struct world w;

	(void)state;
	begin(&w, POLICY);
	for (int i = 0; i < 9; i++) {
		waits(&w, "containerStatuses", i % 2 == 0 ? "ErrImagePull" : "ImagePullBackOff");
		if (i == 4) {
			world_settle(&w);
			world_write(&w);
			world_restart(&w);
			world_settle(&w);
		}
		if (i == 6)
			waits(&w, "containerStatuses", "ContainerCreating");
		world_advance(&w, 10);
	}
	world_settle(&w);
	assert_null(world_task(&w, 0, 0)->attempt.completion);
	waits(&w, "containerStatuses", "ErrImagePull");
	world_pass(&w, 15);
	assert_task_code(&w, 0, 0, CODE_POD_START_TIMEOUT);
	world_end(&w);

	begin(&w, POLICY);
	waits(&w, "containerStatuses", "ErrImagePull");
	world_pass(&w, 60);
	waits(&w, "containerStatuses", "ContainerCreating");
	world_pass(&w, 70);
	assert_int_equal(world_task(&w, 0, 0)->attempt.waiting_time, 0);
	waits(&w, "containerStatuses", "ErrImagePull");
	world_pass(&w, 90);
	assert_null(world_task(&w, 0, 0)->attempt.completion);
	world_pass(&w, 20);
	assert_task_code(&w, 0, 0, CODE_POD_START_TIMEOUT);
	world_end(&w);
}

/* The next attempt's Pod has a clock of its own. */
static void test_next_pod(void **state)
{
	struct world w;

	(void)state;
	begin(&w, POLICY ",'retryPolicy':{'maxRetryCount':1}");
	waits(&w, "containerStatuses", "ErrImagePull");
	world_pass(&w, 103);
	world_collect(&w);
	world_settle(&w);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 1);
	assert_int_equal(world_task(&w, 0, 0)->attempt.waiting_time, 0);
	waits(&w, "containerStatuses", "ErrImagePull");
	world_pass(&w, 90);
	assert_null(world_task(&w, 0, 0)->attempt.completion);
	world_end(&w);
}

static void test_unschedulable(void **state)
{
	struct world w;

	(void)state;
	begin(&w, POLICY);
	unschedulable(&w, "SchedulingGated");
	world_pass(&w, 1000);
	assert_null(world_task(&w, 0, 0)->attempt.completion);
	unschedulable(&w, "Unschedulable");
	world_restart(&w);
	world_pass(&w, 190);
	assert_null(world_task(&w, 0, 0)->attempt.completion);
	world_pass(&w, 20);
	assert_task_code(&w, 0, 0, CODE_POD_UNSCHEDULABLE_TIMEOUT);
	assert_string_equal(diagnostics(&w), "Pod has been unschedulable for 3m20s: Unschedulable: 0/3 nodes");
	world_end(&w);
}

/* The condition keeps the time of the gates when they are removed and no node is free, or has none (Kubernetes 1.26 to
 * 1.29); the gates' time counted, and the Task failed at once. */
static void test_gates_removed(void **state)
{
	(void)state;
	for (int with_time = 0; with_time < 2; with_time++) {
		char gated[TIME_RFC3339_SIZE];
		const char *since = with_time ? gated : NULL;
		struct world w;

		begin(&w, POLICY);
		world_now_text(&w, gated);
		unschedulable_since(&w, "SchedulingGated", since);
		world_pass(&w, 1000);
		unschedulable_since(&w, "Unschedulable", since);
		world_pass(&w, 100);
		unschedulable_since(&w, "Unschedulable", since);
		world_pass(&w, 90);
		assert_null(world_task(&w, 0, 0)->attempt.completion);
		world_pass(&w, 20);
		assert_task_code(&w, 0, 0, CODE_POD_UNSCHEDULABLE_TIMEOUT);
		assert_contains(diagnostics(&w), "Pod has been unschedulable for 3m20s: ");
		world_end(&w);
	}
}

/* 0: at once. */
static void test_zero(void **state)
{
	struct world w;

	(void)state;
	begin(&w, ",'pendingPolicy':{'startTimeoutSec':0,'unschedulableTimeoutSec':0}");
	waits(&w, "containerStatuses", "ErrImagePull");
	assert_task_code(&w, 0, 0, CODE_POD_START_TIMEOUT);
	world_end(&w);
	begin(&w, ",'pendingPolicy':{'startTimeoutSec':0,'unschedulableTimeoutSec':0}");
	unschedulable(&w, "Unschedulable");
	assert_task_code(&w, 0, 0, CODE_POD_UNSCHEDULABLE_TIMEOUT);
	world_end(&w);
	begin(&w, ",'pendingPolicy':{}"); /* only what cannot heal */
	waits(&w, "containerStatuses", "ErrImagePull");
	world_pass(&w, 100000);
	assert_null(world_task(&w, 0, 0)->attempt.completion);
	waits(&w, "containerStatuses", "InvalidImageName");
	assert_task_code(&w, 0, 0, CODE_POD_NEVER_STARTS);
	world_end(&w);
}

/* After a minute an Event says what it waits for, once for each kind of wait in an attempt. */
static void test_event(void **state)
{
	struct world w;

	(void)state;
	begin(&w, "");
	waits(&w, "containerStatuses", "ErrImagePull");
	world_pass(&w, 50);
	assert_string_equal(w.events.data, "");
	waits(&w, "containerStatuses", "ImagePullBackOff");
	world_pass(&w, 1000);
	assert_string_equal(w.events.data,
			    "TaskWaiting: Task a[0] waits: container c: ImagePullBackOff: the message\n");
	waits(&w, "containerStatuses", NULL);
	unschedulable(&w, "Unschedulable");
	world_pass(&w, 1000);
	assert_contains(w.events.data, "\nTaskWaiting: Task a[0] waits: Unschedulable: 0/3 nodes\n");
	world_end(&w);
}

/* A Pod that has run fails to start anew, as after its node was started again: its earlier failures are long over. (It
 * was ended at once, and the status showed the time of that failure while it ran.) */
static void test_runs_in_between(void **state)
{
	struct world w;

	(void)state;
	begin(&w, POLICY);
	waits(&w, "containerStatuses", "ErrImagePull");
	world_pass(&w, 50);
	json_object_del(json_object_get(world_pod(&w, "f-a-0"), "status"), "containerStatuses");
	world_pod_phase(&w, "f-a-0", "Running");
	world_pass(&w, 36000);
	assert_int_equal(world_task(&w, 0, 0)->attempt.waiting_time, 0);
	waits(&w, "initContainerStatuses", "ErrImagePull");
	assert_null(world_task(&w, 0, 0)->attempt.completion);
	world_pass(&w, 150);
	assert_task_code(&w, 0, 0, CODE_POD_START_TIMEOUT);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_next_pod),
		cmocka_unit_test(test_unschedulable),
		cmocka_unit_test(test_zero),
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_runs_in_between),
		cmocka_unit_test(test_gates_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
