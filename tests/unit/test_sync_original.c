/* Frameworks as the original controller left them, which this one takes over (CONTRACT.md §3.13, §12.16). */
#include "tests/unit/sync_world.h"

static void remove_members(json_t *object, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		json_object_del(object, names[i]);
}

/* As the first versions of the original left them: TaskRoles, Tasks and Pods without UIDs of their own. */
static void make_old(struct world *w)
{
	static const char *const of_pod[] = {"FC_FRAMEWORK_UID", "FC_TASKROLE_UID", "FC_TASK_UID"};
	static const char *const of_task[] = {"instanceUID", "deletionPending", "runTime"};
	json_t *role = json_at(w->object, "status.attemptStatus.taskRoleStatuses.0");
	const char *name;
	json_t *object;
	json_t *task;
	size_t i;

	json_array_foreach(json_object_get(role, "taskStatuses"), i, task)
		remove_members(task, of_task, ARRAY_LEN(of_task));
	json_object_del(role, "instanceUID");
	json_object_foreach(w->pods, name, object) {
		remove_members(json_at(object, "metadata.annotations"), of_pod, ARRAY_LEN(of_pod));
		world_stamp(w, object);
	}
	world_stamp(w, w->object);
}

/* One Task runs, and the UID of the other one's Pod is not stored yet: both Pods are taken over, and Stop ends
 * them. */
static void test_early_version(void **state)
{
	struct world w;

	(void)state;
	world_begin_creating(&w, 2);
	for (int i = 0; i < 2; i++) {
		world_reconcile(&w);
		world_carry(&w);
	}
	world_pod_phase(&w, "f-a-0", "Running");
	make_old(&w);
	world_restart(&w);
	world_settle(&w);
	world_pod_phase(&w, "f-a-1", "Running");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_RUNNING);
	assert_task(&w, 0, 1, STATE_RUNNING);
	assert_int_equal(w.made[CALL_CREATE_POD], 2);
	assert_int_equal(w.made[CALL_DELETE_POD], 0);
	world_edit_of(&w, 2, ",'frameworkAttemptCompletionPolicy':{}", "", ",'executionType':'Stop'");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_int_equal(json_object_size(w.pods), 0);
	world_end(&w);
}

/* ---- what the original does not write ---------------------------------------------------------------------------- */

/* Takes over the Framework as it is, without what the original does not know of. */
static void take_over(struct world *w)
{
	json_t *status = json_at(w->object, "status");

	json_object_del(status, "observedGeneration");
	json_object_del(status, "conditions");
	world_stamp(w, w->object);
	world_restart(w);
	world_reconcile(w);
}

/* It gets observedGeneration and conditions when nothing else is to be written. */
static void test_completed(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'executionType':'Stop'");
	world_settle(&w);
	take_over(&w);
	assert_true(framework_write_can_wait(w.framework));
	world_settle(&w);
	assert_json(json_at(w.object, "status.observedGeneration"), "1");
	assert_json(json_at(w.object, "status.conditions.1.status"), "'True'");
	assert_false(framework_write_can_wait(w.framework));
	world_edit_of(&w, 2, "", "", "");
	world_reconcile(&w);
	assert_false(framework_write_can_wait(w.framework)); /* somebody may wait for it */
	world_end(&w);
}

/* A status that decides something cannot wait. */
static void test_running(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_settle(&w);
	take_over(&w);
	assert_false(framework_write_can_wait(w.framework));
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_early_version),
		cmocka_unit_test(test_completed),
		cmocka_unit_test(test_running),
	};

	return cmocka_run_group_tests_name("sync_original", tests, NULL, NULL);
}
