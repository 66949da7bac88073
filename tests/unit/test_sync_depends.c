/* taskRoles[].dependsOn (CONTRACT.md §6.13 to §6.15): which Pods wait for which Tasks, and for how long. */
#include "common/framework/depends.h"
#include "tests/unit/sync_world.h"

#define BEST_EFFORT ",'frameworkAttemptCompletionPolicy':{}"

/* TaskRole a of n Tasks; b of one that depends on it. */
static char *spec_with(int n, int m, const char *status, const char *task_rest)
{
	return mem_printf("{'taskRoles':[{'name':'a','taskNumber':%d,'task':{'pod':{'spec':{'containers':[{'name':'c'}]"
			  "}}%s}" BEST_EFFORT
			  "},{'name':'b','taskNumber':%d,'dependsOn':[{'taskRole':'a','status':'%s'}],'task':{"
			  "'pod':{'spec':{'containers':[{'name':'c'}]}}%s}" BEST_EFFORT "}]}",
			  n, task_rest, m, status, task_rest);
}

static void begin(struct world *w, int n, const char *status)
{
	cleanup_free char *spec = spec_with(n, 1, status, ",'retryPolicy':{'maxRetryCount':1}");

	world_begin(w, spec);
	world_settle(w);
}

static void edit(struct world *w, int n, int m, const char *status)
{
	cleanup_free char *spec = spec_with(n, m, status, ",'retryPolicy':{'maxRetryCount':1}");

	world_edit(w, spec);
	world_pass(w, 10);
}

static void phase(struct world *w, const char *pod, const char *to)
{
	world_pod_phase(w, pod, to);
	world_pass(w, 10);
}

/* The Pod runs, and is ready or not. */
static void be_ready(struct world *w, const char *name, const char *ready)
{
	cleanup_free char *text = mem_printf("[{'type':'PodScheduled','status':'True'},{'type':'Ready','status':'%s'}]",
					     ready);
	json_t *pod = world_pod(w, name);

	json_object_set_new(json_object_get(pod, "status"), "phase", json_string("Running"));
	json_object_set_new(json_object_get(pod, "status"), "conditions", json_of(text));
	world_stamp(w, pod);
	world_tell_pod(w, name);
	world_settle(w);
}

static void test_running(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 2, "Running");
	assert_calls(&w, "create ConfigMap f-attempt; create Pod f-a-0; create Pod f-a-1; ");
	assert_contains(
		w.events.data,
		"TaskRoleWaiting: TaskRole b waits until all Tasks of TaskRole a are Running: 2 of 2 are not yet\n");
	assert_null(json_at(world_pod(&w, "f-a-0"), "metadata.annotations.FC_READY_WANTED"));
	buf_clear(&w.events);
	phase(&w, "f-a-0", "Running");
	assert_calls(&w, "");
	/* one that has been Running counts, whatever it does now */
	world_pod_exit(&w, "f-a-0", 1, "");
	world_pass(&w, 10);
	assert_calls(&w, "delete Pod f-a-0; create Pod f-a-0; ");
	phase(&w, "f-a-1", "Running");
	assert_calls(&w, "create Pod f-b-0; ");
	assert_lacks(w.events.data, "TaskRoleWaiting");
	world_end(&w);
}

/* So does one that has succeeded without having been seen to run. */
static void test_succeeded_counts(void **state)
{
	static const char *const statuses[] = {"Running", "Ready", "Succeeded"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		struct world w;

		begin(&w, 1, statuses[i]);
		world_pod_exit(&w, "f-a-0", 0, "");
		world_pass(&w, 10);
		assert_calls(&w, "create ConfigMap f-attempt; create Pod f-a-0; delete Pod f-a-0; create Pod f-b-0; ");
		world_end(&w);
	}
}

static void test_succeeded(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 2, "Succeeded");
	phase(&w, "f-a-0", "Running");
	phase(&w, "f-a-1", "Running");
	world_pod_exit(&w, "f-a-0", 0, "");
	world_pass(&w, 10);
	world_pod_exit(&w, "f-a-1", 1, "");
	world_pass(&w, 10);
	assert_int_equal(w.made[CALL_CREATE_POD], 3); /* a retry */
	world_pod_exit(&w, "f-a-1", 0, "");
	world_pass(&w, 10);
	assert_int_equal(w.made[CALL_CREATE_POD], 4);
	assert_task(&w, 1, 0, STATE_PREPARING);
	world_end(&w);
}

static void test_ready(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 2, "Ready");
	assert_json(json_at(world_pod(&w, "f-a-0"), "metadata.annotations.FC_READY_WANTED"), "'true'");
	be_ready(&w, "f-a-0", "False");
	be_ready(&w, "f-a-1", "True");
	be_ready(&w, "f-a-1", "False");
	assert_int_equal(w.made[CALL_CREATE_POD], 2);
	/* that f-a-1 was ready once is known over a restart */
	world_restart(&w);
	world_settle(&w);
	be_ready(&w, "f-a-0", "True");
	assert_int_equal(w.made[CALL_CREATE_POD], 3);
	assert_null(json_at(world_pod(&w, "f-b-0"), "metadata.annotations.FC_READY_WANTED"));
	{
		cleanup_json json_t *status = world_status(&w);

		assert_non_null(json_at(status, "attemptStatus.taskRoleStatuses.0.taskStatuses.1.readyTime"));
		assert_null(json_at(status, "attemptStatus.taskRoleStatuses.1.taskStatuses.0.readyTime"));
	}
	world_end(&w);
}

/* Retries of the TaskRole that depends, and Tasks that are added to it, do not wait; one in a new attempt does. */
static void test_stays_met(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, "Running");
	phase(&w, "f-a-0", "Running");
	phase(&w, "f-b-0", "Running");
	world_clear_log(&w);
	edit(&w, 2, 2, "Running"); /* f-a-1 does not run yet */
	assert_calls(&w, "create Pod f-a-1; create Pod f-b-1; ");
	world_pod_exit(&w, "f-b-0", 1, "");
	world_pass(&w, 10);
	assert_calls(&w, "delete Pod f-b-0; create Pod f-b-0; ");
	world_restart(&w);
	edit(&w, 2, 3, "Running");
	assert_calls(&w, "create Pod f-b-2; ");
	world_end(&w);
}

static void test_new_attempt(void **state)
{
	static const char spec[] =
		"{'retryPolicy':{'maxRetryCount':1},'taskRoles':[{'name':'a','taskNumber':1,'task':{'pod':{}}},{'name':"
		"'b',"
		"'taskNumber':1,'dependsOn':[{'taskRole':'a','status':'Running'}],'task':{'pod':{}}}]}";
	struct world w;

	(void)state;
	world_begin(&w, spec);
	world_settle(&w);
	phase(&w, "f-a-0", "Running");
	world_clear_log(&w);
	world_pod_exit(&w, "f-b-0", 1, "");
	world_pass(&w, 10);
	assert_state(&w, STATE_PREPARING);
	assert_null(strstr(w.log.data, "create Pod f-b-0"));
	assert_contains(w.events.data, "TaskRoleWaiting");
	phase(&w, "f-a-0", "Running");
	assert_contains(w.log.data, "create Pod f-b-0");
	world_end(&w);
}

/* A TaskRole without Tasks is met; so is one that shrinks to those that have come so far. */
static void test_few_tasks(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 0, "Succeeded");
	assert_calls(&w, "create ConfigMap f-attempt; create Pod f-b-0; ");
	world_end(&w);
	begin(&w, 2, "Running");
	phase(&w, "f-a-0", "Running");
	edit(&w, 1, 1, "Running");
	assert_task(&w, 1, 0, STATE_PREPARING);
	world_end(&w);
	/* a Task that leaves while it waits is no start */
	begin(&w, 1, "Running");
	edit(&w, 1, 2, "Running");
	edit(&w, 1, 1, "Running");
	assert_int_equal(w.made[CALL_CREATE_POD], 1);
	world_end(&w);
}

static char *held(const char *spec)
{
	return mem_printf("{'suspend':true,%s", spec + 1);
}

/* Scaled down and up again before the attempt starts: the Tasks of the first edit are still listed. */
static void test_scaled_while_held(void **state)
{
	static const int rows[] = {0, 1};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *two = spec_with(2, 1, "Succeeded", "");
		cleanup_free char *fewer = spec_with(rows[i], 1, "Succeeded", "");
		cleanup_free char *two_held = held(two);
		cleanup_free char *fewer_held = held(fewer);
		struct world w;

		world_begin(&w, two_held);
		world_settle(&w);
		world_edit(&w, fewer_held);
		world_settle(&w);
		world_edit(&w, two_held);
		world_settle(&w);
		world_edit(&w, two);
		world_pass(&w, 10);
		assert_contains(w.events.data, "TaskRoleWaiting");
		assert_null(world_pod(&w, "f-b-0"));
		phase(&w, "f-a-0", "Running");
		phase(&w, "f-a-1", "Running");
		world_pod_exit(&w, "f-a-0", 0, "");
		world_pod_exit(&w, "f-a-1", 0, "");
		world_pass(&w, 10);
		assert_non_null(world_pod(&w, "f-b-0"));
		world_end(&w);
	}
}

/* What it rests on is stored first. */
static void test_persisted_first(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, "Running");
	w.hold_writes = true;
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 1);
	w.hold_writes = false;
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 2);
	world_end(&w);
}

static void test_ends_while_it_waits(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1, "Running");
	world_edit(&w, "{'executionType':'Stop'}");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_int_equal(w.made[CALL_CREATE_POD], 1);
	world_end(&w);
}

/* A Pod that was made before others depended on it does not tell whether it is ready: it counts when it runs. */
static void test_depends_later(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_settle(&w);
	phase(&w, "f-a-0", "Running");
	edit(&w, 1, 1, "Ready");
	assert_task(&w, 1, 0, STATE_PREPARING);
	world_end(&w);
}

static void test_refused(void **state)
{
	static const struct {
		const char *entry;
		const char *message;
	} rows[] = {
		{"7", "spec.taskRoles[1].dependsOn[0] is 7, expected an object"},
		{"{'status':'Ready'}",
		 "spec.taskRoles[1].dependsOn[0].taskRole is missing, expected the name of an earlier TaskRole"},
		{"{'taskRole':'c','status':'Ready'}",
		 "spec.taskRoles[1].dependsOn[0].taskRole is \"c\", expected the name of an earlier TaskRole"},
		{"{'taskRole':'b','status':'Ready'}",
		 "spec.taskRoles[1].dependsOn[0].taskRole is \"b\", expected the name of an earlier TaskRole"},
		{"{'taskRole':'a'}",
		 "spec.taskRoles[1].dependsOn[0].status is missing, expected \"Running\", \"Ready\" or "
		 "\"Succeeded\""},
		{"{'taskRole':'a','status':'Complete'}", "spec.taskRoles[1].dependsOn[0].status is \"Complete\", "
							 "expected \"Running\", \"Ready\" or \"Succeeded\""},
	};
	struct framework_spec spec;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *text = mem_printf(
			"{'taskRoles':[{'name':'a'},{'name':'b','dependsOn':[%s]},{'name':'c'}]}", rows[i].entry);
		cleanup_json json_t *value = json_of(text);

		assert_int_equal(framework_spec_parse(value, &spec, &err), -1);
		assert_string_equal(err.message, rows[i].message);
	}
}

/* However many entries name a TaskRole, its Tasks are counted once: thousands of Tasks, of TaskRoles and entries would
 * otherwise take seconds. */
static void test_counted_once(void **state)
{
	cleanup_json json_t *text = json_of("{'taskRoles':[{'name':'a','taskNumber':2},{'name':'b','taskNumber':1,"
					    "'dependsOn':[{'taskRole':'a','status':'Running'}]}]}");
	struct task_status tasks[2] = {{.state = STATE_RUNNING}, {.state = STATE_RUNNING}};
	struct role_status statuses[] = {{.name = "a", .tasks = tasks, .task_count = 2}, {.name = "b"}};
	const struct framework_attempt_status attempt = {.roles = statuses, .role_count = 2};
	cleanup_free struct depends_role *roles = NULL, *later = NULL;
	struct framework_spec spec;
	struct error err;
	size_t awaited;
	size_t all;

	(void)state;
	assert_int_equal(framework_spec_parse(text, &spec, &err), 0);
	roles = depends_roles(&spec, &attempt);
	assert_non_null(role_dependency_unmet(&spec, roles, &spec.roles[1], &statuses[1], &awaited, &all));
	assert_int_equal(awaited, 2);
	assert_int_equal(all, 2);
	tasks[0].run_time = tasks[1].run_time = 1;
	assert_non_null(role_dependency_unmet(&spec, roles, &spec.roles[1], &statuses[1], &awaited, &all));
	later = depends_roles(&spec, &attempt);
	assert_null(role_dependency_unmet(&spec, later, &spec.roles[1], &statuses[1], &awaited, &all));
	framework_spec_free(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_running),         cmocka_unit_test(test_succeeded_counts),
		cmocka_unit_test(test_succeeded),       cmocka_unit_test(test_ready),
		cmocka_unit_test(test_stays_met),       cmocka_unit_test(test_new_attempt),
		cmocka_unit_test(test_few_tasks),       cmocka_unit_test(test_scaled_while_held),
		cmocka_unit_test(test_persisted_first), cmocka_unit_test(test_ends_while_it_waits),
		cmocka_unit_test(test_depends_later),   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
