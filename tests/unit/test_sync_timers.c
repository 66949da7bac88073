/* The force-delete timer (CONTRACT.md §2) and the creation timeouts (CONTRACT.md §5, §6). */
#include "tests/unit/sync_running.h"

static const char *task_diagnostics(struct world *w, size_t index)
{
	return world_task(w, 0, index)->attempt.completion->diagnostics;
}

/* ---- the force-delete timer -------------------------------------------------------------------------------------- */

static void test_force(void **state)
{
	struct world w;
	int64_t start_ms;

	(void)state;
	begin_running(&w, 2, ",'podGracefulDeletionTimeoutSec':100");
	w.slow_kubelet = true;
	start_ms = w.time.boot_ms;
	world_pod_deleting(&w, "f-a-0"); /* grace 30 s: its timestamp lies ahead, the timer runs from now */
	world_settle_for(&w, 90000);
	assert_calls(&w, "get ConfigMap f-attempt; ");
	assert_task(&w, 0, 0, STATE_DELETING);
	world_settle_for(&w, 110000);
	/* Sent once, then confirmed by a GET. */
	assert_calls(&w, "force delete Pod f-a-0; get Pod f-a-0; ");
	assert_true(w.time.boot_ms - start_ms >= 100000 && w.time.boot_ms - start_ms < 102000);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	world_end(&w);
}

/* The forced deletion waits for its turn, and the user allows the Pod more time: it is sent no more. */
static void test_force_withdrawn(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 2, ",'podGracefulDeletionTimeoutSec':100");
	w.slow_kubelet = true;
	world_pod_deleting(&w, "f-a-0");
	world_settle_for(&w, 90000);
	w.hold_calls = true;
	world_settle_for(&w, 110000);
	assert_true(world_queued(&w, CALL_DELETE_POD)->force);
	assert_true(framework_call_wanted(w.framework, world_queued(&w, CALL_DELETE_POD)));
	world_edit_of(&w, 2, STAYS, "", "");
	world_reconcile(&w);
	assert_false(framework_call_wanted(w.framework, world_queued(&w, CALL_DELETE_POD)));
	world_end(&w);
}

/* null: for ever. A number set later frees it; the TaskRole's status backs it up. */
static void test_force_set_later(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 2, "");
	w.slow_kubelet = true;
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle_for(&w, 10000000);
	assert_calls(&w, "delete Pod f-a-0; ");
	assert_task(&w, 0, 0, STATE_DELETING);
	world_edit_of(&w, 2, STAYS, ",'podGracefulDeletionTimeoutSec':0", "");
	world_reconcile(&w);
	assert_int_equal(w.queued, 0); /* the backup is stored first */
	world_settle(&w);
	assert_calls(&w, "force delete Pod f-a-0; get Pod f-a-0; ");
	assert_int_equal(w.framework->status.attempt.roles[0].pod_graceful_deletion_timeout_sec, 0);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	world_end(&w);
}

/* It frees a stuck Stop, too: the value follows the spec in every state but Completed. */
static void test_force_frees_stop(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 1, "");
	w.slow_kubelet = true;
	world_edit_of(&w, 1, STAYS, "", ",'executionType':'Stop'");
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	assert_task(&w, 0, 0, STATE_DELETING);
	world_edit_of(&w, 1, STAYS, ",'podGracefulDeletionTimeoutSec':0", ",'executionType':'Stop'");
	world_settle(&w);
	assert_null(world_pod(&w, "f-a-0"));
	world_collect(&w);
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	/* There it stays as it is. */
	world_edit_of(&w, 1, STAYS, ",'podGracefulDeletionTimeoutSec':7", ",'executionType':'Stop'");
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.roles[0].pod_graceful_deletion_timeout_sec, 0);
	world_end(&w);
}

/* A Pod without its label, on a node that is gone: the timer runs for it as well. */
static void test_force_label_lost(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 1, ",'podGracefulDeletionTimeoutSec':10");
	w.slow_kubelet = true;
	world_pod_unlabel(&w, "f-a-0");
	world_settle_for(&w, 30000);
	assert_contains(w.log.data, "force delete Pod f-a-0; ");
	assert_task(&w, 0, 0, STATE_COMPLETED);
	world_end(&w);
}

/* A finalizer holds it after all that: it is asked for at once, ever less often, soon again when something happens to
 * it, and done with as it goes. */
static void test_force_held(void **state)
{
	struct world w;
	unsigned asked;

	(void)state;
	begin_running(&w, 1, ",'podGracefulDeletionTimeoutSec':10");
	w.slow_kubelet = true;
	w.held = true;
	world_pod_deleting(&w, "f-a-0");
	world_settle_for(&w, 12000);
	assert_contains(w.log.data, "force delete Pod f-a-0; get Pod f-a-0; ");
	asked = w.made[CALL_GET_POD];
	world_settle_for(&w, 60000);
	assert_in_range(w.made[CALL_GET_POD] - asked, 5, 9); /* after 1, 3, 7, 15, 31, 61 s or half of that */
	asked = w.made[CALL_GET_POD];
	world_settle_for(&w, 3000000);
	assert_in_range(w.made[CALL_GET_POD] - asked, 100, 200); /* 30 s apart, or up to half of that less */
	asked = w.made[CALL_GET_POD];
	world_stamp(&w, world_pod(&w, "f-a-0"));
	world_tell_pod(&w, "f-a-0");
	world_settle_for(&w, 7000);
	assert_in_range(w.made[CALL_GET_POD] - asked, 3, 6);
	assert_int_equal(w.made[CALL_DELETE_POD], 1);
	assert_task(&w, 0, 0, STATE_DELETING);
	world_pod_gone(&w, "f-a-0");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	world_end(&w);
}

#define STRAY                                                                                                          \
	"{'metadata':{'name':'f-a-7','namespace':'ns','uid':'stray','labels':{'FC_FRAMEWORK_NAME':'f'},'annotations':" \
	"{"                                                                                                            \
	"'FC_TASK_UID':'t'},'ownerReferences':[{'controller':true,'uid':'cm-uid-2'}]},'spec':{},'status':{'phase':"    \
	"'Running'}}"

/* A stray's force-delete timer is that of its role. */
static void test_stray_forced(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, 1, ",'podGracefulDeletionTimeoutSec':40");
	w.slow_kubelet = true;
	world_put(&w, STRAY, false);
	world_tell_pod(&w, "f-a-7");
	world_settle(&w);
	assert_calls(&w, "delete Pod f-a-7; ");
	world_settle_for(&w, 35000);
	assert_calls(&w, "");
	world_settle_for(&w, 60000);
	assert_calls(&w, "force delete Pod f-a-7; get Pod f-a-7; ");
	world_end(&w);
}

/* The status of a Framework that has ended, read by an owner that has seen nothing of it yet. */
#define ENDED                                                                                                       \
	"{'state':'Completed','attemptStatus':{'instanceUID':'0_c','configMapUID':'cm-uid-2','completionStatus':{'" \
	"code'"                                                                                                     \
	":0,'type':{'name':'Succeeded'}},'taskRoleStatuses':[{'name':'a','instanceUID':'r','taskStatuses':[],"      \
	"'podGracefulDeletionTimeoutSec':40},{'name':'b','instanceUID':'s','taskStatuses':[],"                      \
	"'podGracefulDeletionTimeoutSec':100}]}}"

/* A Pod that comes when the attempt is over: the timer is that of its own role, be it not the first. */
static void test_late_forced(void **state)
{
	static const struct {
		const char *pod; /* as in STRAY */
		int after_sec;   /* 0: never */
	} rows[] = {{"f-a-7", 40}, {"f-b-7", 100}, {"f-x-7", 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		json_t *pod;
		int64_t start_ms;

		world_init(&w);
		world_create_framework(&w, "{}", ENDED);
		world_settle(&w);
		w.slow_kubelet = true;
		pod = json_of(STRAY);
		json_object_set_new(json_object_get(pod, "metadata"), "name", json_string(rows[i].pod));
		world_stamp(&w, pod);
		json_object_set_new(w.pods, rows[i].pod, pod);
		world_tell_pod(&w, rows[i].pod);
		world_settle(&w);
		assert_int_equal(w.made[CALL_DELETE_POD], 1);
		start_ms = w.time.boot_ms;
		world_settle_for(&w, 1000000);
		assert_int_equal(w.made[CALL_DELETE_POD], rows[i].after_sec > 0 ? 2 : 1);
		if (rows[i].after_sec > 0)
			assert_in_range(w.time.boot_ms - start_ms, rows[i].after_sec * 1000 - 2000,
					rows[i].after_sec * 1000);
		world_end(&w);
	}
}

/* ---- creation timeouts ------------------------------------------------------------------------------------------- */

#define CONFIG_MAP_AWAITED                                                                                     \
	"{'state':'AttemptCreationRequested','transitionTime':'2023-11-14T22:13:20Z','attemptStatus':{'id':0," \
	"'instanceUID':'0_c','configMapUID':'c','taskRoleStatuses':[]}}"

/* A stored Task that waits for a Pod which is not to be seen, as the original controller leaves it. */
#define WAITING(pending)                                                                                             \
	"{'state':'AttemptPreparing','startTime':'2023-11-14T22:13:20Z','transitionTime':'2023-11-14T22:13:20Z',"    \
	"'retryPolicyStatus':{},'attemptStatus':{'id':0,'instanceUID':'0_c','configMapUID':'c','taskRoleStatuses':[" \
	"{'name':'a','instanceUID':'r','taskStatuses':[{'index':0,'instanceUID':'t','state':"                        \
	"'AttemptCreationRequested','transitionTime':'2023-11-14T22:13:20Z','deletionPending':" pending              \
	",'attemptStatus':{'id':0,'instanceUID':'0_p','podUID':'p'}}]}]}}"

#define CONFIG_MAP                                                                                       \
	"{'metadata':{'name':'f-attempt','namespace':'ns','uid':'c','labels':{'FC_FRAMEWORK_NAME':'f'}," \
	"'ownerReferences':[{'controller':true,'uid':'fw-uid-1'}]}}"

static void begin_waiting(struct world *w, const char *status)
{
	world_init(w);
	world_put(w, CONFIG_MAP, true);
	world_create_framework(w, "{'taskRoles':[{'name':'a','taskNumber':1}]}", status);
	world_tell_config_map(w);
}

static void test_pod_timeout(void **state)
{
	struct world w;

	(void)state;
	begin_waiting(&w, WAITING("false"));
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_CREATION_REQUESTED);
	assert_calls(&w, "");
	world_settle_for(&w, 290000);
	assert_calls(&w, "");
	/* Time without a live stream does not count. */
	w.time.live = false;
	world_advance(&w, 1000);
	world_settle(&w);
	assert_calls(&w, "");
	w.time.live = true;
	w.time.live_since_ms = w.time.boot_ms;
	world_settle_for(&w, 290000);
	assert_calls(&w, "");
	world_settle_for(&w, 20000 + 290000);
	/* It was never seen: deleted by uid, and confirmed to be gone, before it counts as over. */
	assert_int_equal(strncmp(w.log.data, "delete Pod f-a-0; ", 18), 0);
	assert_state(&w, STATE_COMPLETED);
	assert_task_code(&w, 0, 0, CODE_POD_LOCAL_CACHE_CREATION_TIMEOUT);
	assert_string_equal(
		task_diagnostics(&w, 0),
		"Pod does not appear in the local cache within timeout 5m0s, so consider it was deleted and "
		"explicitly delete it");
	world_end(&w);
}

/* A Task that is to go does not wait for it. */
static void test_pod_timeout_deletion_pending(void **state)
{
	struct world w;

	(void)state;
	begin_waiting(&w, WAITING("true"));
	world_settle(&w);
	assert_int_equal(strncmp(w.log.data, "delete Pod f-a-0; ", 18), 0);
	assert_contains(w.snapshots.data, "\"code\":-230");
	world_end(&w);
}

static void test_config_map_timeout(void **state)
{
	(void)state;
	for (int stop = 0; stop < 2; stop++) {
		struct world w;

		world_init(&w);
		world_create_framework(&w, stop ? "{'executionType':'Stop'}" : "{}", CONFIG_MAP_AWAITED);
		/* It is there, but not seen. */
		world_put(&w, CONFIG_MAP, true);
		w.mute = true;
		if (!stop) {
			world_settle_for(&w, 290000);
			assert_calls(&w, "");
			world_settle_for(&w, 310000);
		}
		world_settle_for(&w, 5000);
		assert_state(&w, STATE_COMPLETED);
		assert_contains(w.log.data, "delete ConfigMap f-attempt; ");
		assert_null(w.config_map);
		assert_code(&w, stop ? CODE_STOP_FRAMEWORK_REQUESTED : CODE_CONFIG_MAP_LOCAL_CACHE_CREATION_TIMEOUT);
		world_end(&w);
	}
}

#define POD                                                                                                         \
	"{'metadata':{'name':'f-a-0','namespace':'ns','uid':'p','labels':{'FC_FRAMEWORK_NAME':'f'},'annotations':{" \
	"'FC_TASK_UID':'t'},'ownerReferences':[{'controller':true,'uid':'c'}]},'spec':{},'status':{'phase':"        \
	"'Running'}}"
/* It was there all the time, and a finalizer keeps it from going: that it is seen deleting is our own doing. */
static void test_timeout_of_held(void **state)
{
	struct world w;

	(void)state;
	for (int pending = 0; pending < 2; pending++) {
		begin_waiting(&w, pending ? WAITING("true") : WAITING("false"));
		world_put(&w, POD, false);
		w.slow_kubelet = true;
		world_settle_for(&w, 310000);
		assert_int_equal(w.made[CALL_DELETE_POD], 1);
		assert_task(&w, 0, 0, STATE_DELETING);
		assert_task_code(&w, 0, 0,
				 pending ? CODE_DELETE_TASK_REQUESTED : CODE_POD_LOCAL_CACHE_CREATION_TIMEOUT);
		world_end(&w);
	}
	for (int stop = 0; stop < 2; stop++) {
		world_init(&w);
		world_create_framework(&w, stop ? "{'executionType':'Stop'}" : "{}", CONFIG_MAP_AWAITED);
		world_put(&w, CONFIG_MAP, true);
		w.slow_gc = true;
		world_settle_for(&w, 310000);
		assert_int_equal(w.made[CALL_DELETE_CONFIG_MAP], 1);
		assert_state(&w, STATE_DELETING);
		world_config_map_gone(&w);
		world_settle(&w);
		assert_state(&w, STATE_COMPLETED);
		assert_code(&w, stop ? CODE_STOP_FRAMEWORK_REQUESTED : CODE_CONFIG_MAP_LOCAL_CACHE_CREATION_TIMEOUT);
		world_end(&w);
	}
}

/* What is waited for no more shows itself, before its deletion has succeeded or is stored: it goes all the same. */
static void test_seen_after_timeout(void **state)
{
	struct world w;

	(void)state;
	for (int restart = 0; restart < 2; restart++) {
		begin_waiting(&w, WAITING("false"));
		world_put(&w, POD, false);
		w.fault = (struct world_fault){
			.kind = CALL_DELETE_POD, .count = 1000, .http_status = 500, .message = "x"};
		world_settle_for(&w, 310000);
		assert_task(&w, 0, 0, STATE_CREATION_REQUESTED);
		assert_json(json_at(w.object, "status.attemptStatus.taskRoleStatuses.0.taskStatuses.0.attemptStatus."
					      "completionStatus.code"),
			    "-111");
		w.fault.count = 0;
		if (restart)
			world_restart(&w);
		else
			world_tell_pod(&w, "f-a-0");
		world_settle_for(&w, 100000);
		assert_null(world_pod(&w, "f-a-0"));
		assert_task(&w, 0, 0, STATE_COMPLETED);
		assert_task_code(&w, 0, 0, CODE_POD_LOCAL_CACHE_CREATION_TIMEOUT);
		world_end(&w);

		world_init(&w);
		world_create_framework(&w, "{}", CONFIG_MAP_AWAITED);
		world_put(&w, CONFIG_MAP, true);
		w.fault = (struct world_fault){
			.kind = CALL_DELETE_CONFIG_MAP, .count = 1000, .http_status = 500, .message = "x"};
		world_settle_for(&w, 310000);
		assert_state(&w, STATE_CREATION_REQUESTED);
		assert_json(json_at(w.object, "status.attemptStatus.completionStatus.code"), "-110");
		w.fault.count = 0;
		if (restart)
			world_restart(&w);
		else
			world_tell_config_map(&w);
		world_settle_for(&w, 100000);
		assert_null(w.config_map);
		assert_state(&w, STATE_COMPLETED);
		assert_code(&w, CODE_CONFIG_MAP_LOCAL_CACHE_CREATION_TIMEOUT);
		world_end(&w);
	}
}

/* It was seen to go before it was seen to be: nobody waits for the timeout, and it was deleted by others. */
static void test_requested_gone(void **state)
{
	struct world w;

	(void)state;
	begin_waiting(&w, WAITING("false"));
	world_settle(&w);
	framework_observe_gone(w.framework, KIND_POD, "f-a-0", "p", "999", true);
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	assert_task_code(&w, 0, 0, CODE_POD_EXTERNAL_DELETED);
	assert_string_equal(task_diagnostics(&w, 0), "Pod was deleted by others");
	assert_lacks(w.log.data, "Pod");
	world_end(&w);

	world_init(&w);
	world_create_framework(&w, "{}", CONFIG_MAP_AWAITED);
	world_settle(&w);
	assert_state(&w, STATE_CREATION_REQUESTED);
	framework_observe_gone(w.framework, KIND_CONFIG_MAP, WORLD_CONFIG_MAP, "c", "999", true);
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_CONFIG_MAP_EXTERNAL_DELETED);
	assert_string_equal(w.framework->status.attempt.completion->diagnostics, "ConfigMap was deleted by others");
	world_end(&w);
}

/* ---- Pods that nobody has adopted -------------------------------------------------------------------------------- */

/* The owner crashes before it has stored the uid of the Pod, whose node is lost. */
static void crash_after_create(struct world *w)
{
	world_begin_of(w, 1, STAYS, "", "");
	world_reconcile(w);
	world_write(w);
	world_reconcile(w);
	world_carry(w);
	world_reconcile(w);
	world_write(w); /* the ConfigMap's uid */
	world_carry(w);
	w->slow_kubelet = true;
	world_pod_deleting(w, "f-a-0");
	world_restart(w);
	world_settle(w);
	assert_task(w, 0, 0, STATE_CREATION_PENDING);
}

/* Stop, and whatever else ends the attempt, waits for such a Pod as for all others; so does a Task on its way out. */
static void test_force_of_unadopted(void **state)
{
	static const struct {
		int tasks;
		const char *spec;
	} rows[] = {{1, ""}, {1, ",'executionType':'Stop'"}, {1, ",'suspend':true"}, {0, ""}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		crash_after_create(&w);
		world_edit_of(&w, rows[i].tasks, STAYS, ",'podGracefulDeletionTimeoutSec':100", rows[i].spec);
		world_pass(&w, 200);
		assert_contains(w.log.data, "force delete Pod f-a-0; get Pod f-a-0; ");
		world_end(&w);
	}
}

/* Nor was the ConfigMap adopted before somebody deleted it: its end waits for the Pods. */
static void test_force_under_unadopted(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, STAYS, ",'podGracefulDeletionTimeoutSec':100", "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	world_carry(&w);
	world_reconcile(&w);
	world_carry(&w);
	assert_non_null(world_pod(&w, "f-a-0"));
	w.slow_kubelet = true;
	world_config_map_deleting(&w);
	world_restart(&w);
	world_pass(&w, 200);
	assert_contains(w.log.data, "force delete Pod f-a-0; get Pod f-a-0; ");
	world_end(&w);
}

/* A stray whose name contains no TaskRole has no timer. */
static void test_stray_of_no_role(void **state)
{
	struct world w;
	cleanup_free char *pod = NULL;

	(void)state;
	begin_running(&w, 1, ",'podGracefulDeletionTimeoutSec':100");
	pod = mem_printf("{'metadata':{'name':'helper','namespace':'ns','uid':'x','labels':{'FC_FRAMEWORK_NAME':'f'},"
			 "'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','name':'f-attempt','uid':'%s',"
			 "'controller':true}]},'spec':{},'status':{'phase':'Running'}}",
			 w.framework->status.attempt.config_map_uid);
	w.slow_kubelet = true;
	world_put(&w, pod, false);
	world_tell_pod(&w, "helper");
	world_pass(&w, 600);
	assert_calls(&w, "delete Pod helper; ");
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stray_forced),
		cmocka_unit_test(test_late_forced),
		cmocka_unit_test(test_force),
		cmocka_unit_test(test_force_withdrawn),
		cmocka_unit_test(test_force_set_later),
		cmocka_unit_test(test_force_frees_stop),
		cmocka_unit_test(test_force_label_lost),
		cmocka_unit_test(test_force_held),
		cmocka_unit_test(test_pod_timeout),
		cmocka_unit_test(test_pod_timeout_deletion_pending),
		cmocka_unit_test(test_config_map_timeout),
		cmocka_unit_test(test_timeout_of_held),
		cmocka_unit_test(test_seen_after_timeout),
		cmocka_unit_test(test_requested_gone),
		cmocka_unit_test(test_force_of_unadopted),
		cmocka_unit_test(test_force_under_unadopted),
		cmocka_unit_test(test_stray_of_no_role),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
