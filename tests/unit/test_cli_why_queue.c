/* kubectl framework why of Frameworks that wait for a gang's scheduler or in a queue of Kueue. */
#include "tests/unit/cli_why.h"

static void test_gang(void **state)
{
	static const struct {
		const char *event, *message, *kind, *part;
	} rows[] = {
		{"GangUnavailable", "Attempt 0 waits: spec.gang.scheduler is Volcano, and", "gang-unavailable",
		 "3 Tasks, a[0..2], have no Pods, because the controller does not find the gangs of spec.gang in the "
		 "cluster: Attempt 0 "
		 "waits"},
		{"FailedCreatePodGroup", "Failed to create f-0: podgroups is forbidden", "gang-refused",
		 "is forbidden"},
		{"FailedPatchPodGroup", "Failed to patch f-0: no answer", "gang-refused", "no answer"},
		{"NamingConflict", "PodGroup f-0 with uid x is controlled by Service y", "foreign-pod-group",
		 "PodGroup f-0"},
		/* of a Pod: it is not in the way of these Tasks */
		{"NamingConflict", "Pod g-a-0 with uid x is controlled by PodGroup y", "creation",
		 "from the controller next"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cli_world w;
		struct why why;

		begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptCreationPending", ""));
		cli_world_event(&w, rows[i].event, rows[i].message);
		explain(&w, &why, rows[i].kind, rows[i].part);
		if (strcmp(rows[i].kind, "creation") != 0)
			assert_contains(fact(&why, "Event"), rows[i].message);
		done(&w, &why);
	}
}

static void begin_queued(struct cli_world *w, const char *spec, const char *state)
{
	cleanup_free char *status = cli_status("AttemptCreationPending", state, "", "");

	cli_world_begin(w, spec, status);
	json_object_set_new(json_object_get(w->framework.object, "metadata"), "labels",
			    cli_json("{'kueue.x-k8s.io/queue-name':'team'}"));
}

static void test_queue(void **state)
{
	static const struct {
		const char *event, *message, *kind, *part;
	} rows[] = {
		{"QueueWaiting",
		 "Framework waits for its admission in the queue team (Workload framework-f): cannot assign flavors: "
		 "insufficient quota",
		 "queue",
		 "waits in the queue team for 60m: Kueue has not admitted it: cannot assign flavors: insufficient "
		 "quota"},
		{"FrameworkEvicted", "Framework is suspended, and waits for its admission again: it was preempted",
		 "queue", "Kueue took its quota back: it was preempted"},
		{"KueueUnavailable", "workloads are not served", "queue-unavailable", "cannot reach Kueue"},
		{"NamingConflict", "Workload framework-f with uid x", "foreign-workload", "another Workload"},
		{"FailedCreateWorkload", "Failed to create framework-f: denied", "queue-refused", "denied"},
		{"FailedPatchWorkload", "Failed to patch framework-f: denied", "queue-refused", "denied"},
		{"FailedDeleteWorkload", "Failed to delete framework-f: denied", "queue-refused",
		 "refuses the deletion of its Workload: Failed to delete framework-f: denied"},
		{"FailedReadKueue", "Cannot read ResourceFlavor x", "queue-refused", "ResourceFlavor x"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cli_world w;
		struct why why;

		begin_queued(&w, ONE_ROLE, "'displayState':'Suspended',");
		cli_world_event(&w, rows[i].event, rows[i].message);
		explain(&w, &why, rows[i].kind, rows[i].part);
		assert_string_equal(fact(&why, "metadata.labels"), "kueue.x-k8s.io/queue-name is team");
		assert_string_equal(why.advice[0].command, "kubectl describe workload framework-f -n ns");
		done(&w, &why);
	}
}

/* It was admitted after that, and waits anew. */
static void test_queued_again(void **state)
{
	struct cli_world w;
	struct why why;
	json_t *admitted = cli_json(
		"{'reason':'FrameworkAdmitted','message':'m','type':'Normal','count':1,'lastTimestamp':"
		"'2026-01-01T00:31:00Z'}");

	(void)state;
	begin_queued(&w, ONE_ROLE, "'displayState':'Suspended',");
	cli_world_event(&w, "FrameworkEvicted",
			"Framework is suspended, and waits for its admission again: it was preempted");
	event_views_add(&w.events, admitted);
	json_decref(admitted);
	explain(&w, &why, "queue", "Kueue has not admitted it: it is suspended until then.");
	done(&w, &why);
}

/* Others whose label has no effect, or who wait for something else. */
static void test_no_queue(void **state)
{
	static const struct {
		const char *spec, *status, *event, *kind;
	} rows[] = {
		{ONE_ROLE, "", NULL, "between"}, /* the controller's configuration has no Kueue */
		{ONE_ROLE, "'displayState':'Suspended',", NULL, "queue"},
		{ONE_ROLE, "'admission':{'clusterQueue':'q','workloadUID':'w','podSets':[]},", "QueueWaiting",
		 "between"},
		{ONE_ROLE ",'suspend':true", "'displayState':'Suspended',", "QueueWaiting", "suspended"},
		{ONE_ROLE ",'executionType':'Create'", "'displayState':'Suspended',", NULL, "not-started"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cli_world w;
		struct why why;

		begin_queued(&w, rows[i].spec, rows[i].status);
		if (rows[i].event != NULL)
			cli_world_event(&w, rows[i].event, "m");
		explain(&w, &why, rows[i].kind, "");
		done(&w, &why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gang),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_queued_again),
		cmocka_unit_test(test_no_queue),
	};

	return cmocka_run_group_tests_name("cli_why_queue", tests, NULL, NULL);
}
