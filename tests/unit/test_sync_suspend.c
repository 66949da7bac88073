/* spec.suspend (CONTRACT.md §5): its way through the states, and what goes before it. */
#include "tests/unit/sync_world.h"

#define SUSPEND ",'suspend':true"
#define RETRY2 ",'retryPolicy':{'maxRetryCount':2}"

static void begin_running(struct world *w, const char *spec_rest)
{
	world_begin_of(w, 2, "", "", spec_rest);
	world_settle(w);
	world_pod_phase(w, "f-a-0", "Running");
	world_pod_phase(w, "f-a-1", "Running");
	world_settle(w);
	assert_state(w, STATE_RUNNING);
	world_clear_log(w);
}

static void edit(struct world *w, const char *spec_rest)
{
	world_edit_of(w, 2, "", "", spec_rest);
}

/* True, False, or "" for none. */
static const char *suspended(struct world *w)
{
	const struct condition *condition = &w->framework->status.conditions[CONDITION_SUSPENDED];

	if (condition->last_transition_time == 0)
		return "";
	return condition->value == CONDITION_TRUE ? "True" : "False";
}

#define assert_suspended(w, wanted) assert_string_equal(suspended(w), wanted)

static const char *shown_state(struct world *w)
{
	static char text[32];
	cleanup_json json_t *status = world_status(w);
	const char *display = json_str(status, "displayState");

	snprintf(text, sizeof(text), "%s", display != NULL ? display : json_str(status, "state"));
	return text;
}

static void test_from_the_beginning(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", "", SUSPEND);
	world_settle(&w);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_calls(&w, "");
	assert_suspended(&w, "True");
	assert_string_equal(shown_state(&w), "Suspended");
	assert_int_equal(w.writes, 1);
	assert_int_equal(w.framework->status.resume_time, 0);
	world_advance(&w, 100);
	world_edit_of(&w, 1, "", "", "");
	world_settle(&w);
	assert_calls(&w, "create ConfigMap f-attempt; create Pod f-a-0; ");
	assert_suspended(&w, "False");
	assert_string_equal(shown_state(&w), "AttemptPreparing");
	assert_int_equal(w.framework->status.resume_time, w.framework->status.start_time + 100);
	assert_string_equal(w.events.data,
			    "FrameworkSuspended: Framework is suspended: none of its Pods exists any more\n"
			    "FrameworkResumed: Framework is resumed: spec.suspend is false\n"
			    "AttemptStarted: Attempt 0 started\n");
	world_end(&w);
}

static void test_while_running(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, "");
	assert_suspended(&w, "");
	w.slow_kubelet = true;
	edit(&w, SUSPEND);
	world_settle(&w);
	assert_code(&w, CODE_SUSPEND_FRAMEWORK_REQUESTED);
	assert_task_code(&w, 0, 0, CODE_FRAMEWORK_ATTEMPT_COMPLETION);
	assert_state(&w, STATE_DELETING);
	assert_suspended(&w, "False"); /* its Pods are still there */
	w.slow_kubelet = false;
	world_collect(&w);
	world_settle(&w);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_suspended(&w, "True");
	assert_null(w.config_map);
	assert_int_equal(w.framework->status.retry.total, 1);
	assert_int_equal(w.framework->status.retry.accountable, 0);
	assert_int_equal(w.framework->status.attempt.id, 1);
	assert_contains(w.snapshots.data, "OnFrameworkRetry");
	assert_int_equal(w.framework->status.resume_time, 0);
	/* no retry policy allows it a retry, and it is no Framework that failed */
	world_edit_of(&w, 3, "", "", "");
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.roles[0].task_count, 3);
	for (int i = 0; i < 3; i++) {
		world_pod_phase(&w, pod_name("a", (size_t)i), "Running");
		world_pod_exit(&w, pod_name("a", (size_t)i), 0, "");
	}
	world_settle(&w);
	world_collect(&w);
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_SUCCEEDED);
	assert_int_equal(w.framework->status.retry.accountable, 0);
	assert_suspended(&w, "False");
	world_end(&w);
}

/* Restarted anywhere on its way, it arrives all the same. */
static void test_restarts(void **state)
{
	(void)state;
	for (int at = 0; at < 40; at++) {
		struct world w;

		begin_running(&w, "");
		edit(&w, SUSPEND);
		for (int i = 0; i < at; i++) {
			world_step(&w);
			world_collect(&w);
		}
		world_restart(&w);
		world_settle(&w);
		world_collect(&w);
		world_settle(&w);
		assert_state(&w, STATE_CREATION_PENDING);
		assert_suspended(&w, "True");
		assert_int_equal(w.framework->status.retry.total, 1);
		assert_int_equal(w.framework->status.retry.accountable, 0);
		assert_null(w.config_map);
		world_restart(&w);
		edit(&w, "");
		world_settle(&w);
		assert_state(&w, STATE_PREPARING);
		assert_suspended(&w, "False");
		world_end(&w);
	}
}

/* Taken back while the attempt ends: the next one starts at once. */
static void test_taken_back(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, "");
	w.slow_kubelet = true;
	edit(&w, SUSPEND);
	world_settle(&w);
	edit(&w, "");
	world_settle(&w);
	assert_state(&w, STATE_DELETING);
	w.slow_kubelet = false;
	world_collect(&w);
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	assert_int_equal(w.framework->status.attempt.id, 1);
	assert_suspended(&w, "False");
	assert_int_not_equal(w.framework->status.resume_time, 0);
	assert_lacks(w.events.data, "FrameworkSuspended");
	assert_contains(w.events.data, "FrameworkResumed");
	world_end(&w);
}

/* A create of the ConfigMap is on its way: what it made goes again. */
static void test_create_on_its_way(void **state)
{
	struct call_answer answer = {
		.sent = true, .http_status = 201, .reason = "", .message = "", .retry_after_ms = -1};
	cleanup_buf struct buf body = {0};
	cleanup_free char *text = NULL;
	struct world_result result;
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
	framework_call_body(w.framework, &w.queue[0], &body);
	world_create(&w, &w.queue[0], &body, &result);
	edit(&w, SUSPEND);
	w.hold_calls = true;
	world_settle(&w);
	w.hold_calls = false;
	assert_suspended(&w, "False");
	answer.body = text = json_text(result.object);
	json_decref(result.object);
	framework_answer(w.framework, &w.queue[0], &answer, &w.time, &w.random);
	world_drop_call(&w.queue[--w.queued]);
	world_tell_config_map(&w);
	world_settle(&w);
	world_collect(&w);
	world_settle(&w);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_suspended(&w, "True");
	assert_null(w.config_map);
	assert_int_equal(w.framework->status.attempt.id, 1);
	world_end(&w);
}

/* Its answer is lost, whether it was carried out or not: that is found out first. */
static void test_create_in_doubt(void **state)
{
	(void)state;
	for (int carried_out = 0; carried_out <= 1; carried_out++) {
		struct world w;

		world_begin_of(&w, 1, "", "", "");
		w.fault = (struct world_fault){.kind = CALL_CREATE_CONFIG_MAP, .count = 1, .carried_out = carried_out};
		world_reconcile(&w);
		world_write(&w);
		world_reconcile(&w);
		w.mute = true; /* the event is late */
		world_carry(&w);
		edit(&w, SUSPEND);
		w.mute = false;
		world_tell_framework(&w);
		w.mute = true;
		world_reconcile(&w);
		assert_suspended(&w, "False");
		w.mute = false;
		world_settle(&w);
		world_collect(&w);
		world_settle(&w);
		assert_state(&w, STATE_CREATION_PENDING);
		assert_suspended(&w, "True");
		assert_null(w.config_map);
		assert_int_equal(w.framework->status.attempt.id, carried_out);
		world_end(&w);
	}
}

/* Deletion, Stop, suspend, Create: who goes first, for a Framework that runs and for one that waits. */
static void test_precedence(void **state)
{
	static const struct {
		const char *spec;
		bool deleting;
		int code; /* of the attempt that ran; 0: it goes on */
		enum attempt_state of_waiting;
		const char *suspended;
	} rows[] = {
		{SUSPEND, false, CODE_SUSPEND_FRAMEWORK_REQUESTED, STATE_CREATION_PENDING, "True"},
		{SUSPEND ",'executionType':'Stop'", false, CODE_STOP_FRAMEWORK_REQUESTED, STATE_COMPLETED, "False"},
		{SUSPEND ",'executionType':'Create'", false, CODE_SUSPEND_FRAMEWORK_REQUESTED, STATE_CREATION_PENDING,
		 "True"},
		{",'executionType':'Create'", false, 0, STATE_CREATION_PENDING, ""},
		{SUSPEND, true, 0, STATE_CREATION_PENDING, "False"},
		{SUSPEND ",'executionType':'Stop'", true, CODE_STOP_FRAMEWORK_REQUESTED, STATE_CREATION_PENDING,
		 "False"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		begin_running(&w, "");
		if (rows[i].deleting)
			world_mark_deleting(&w, w.object, 0);
		edit(&w, rows[i].spec);
		world_reconcile(&w);
		if (rows[i].code == 0)
			assert_null(w.framework->status.attempt.completion);
		else
			assert_code(&w, rows[i].code);
		world_end(&w);

		world_begin_of(&w, 2, "", "", ",'executionType':'Create'");
		world_settle(&w);
		if (rows[i].deleting)
			world_mark_deleting(&w, w.object, 0);
		edit(&w, rows[i].spec);
		world_settle(&w);
		assert_state(&w, rows[i].of_waiting);
		assert_null(w.config_map);
		assert_suspended(&w, rows[i].suspended);
		world_end(&w);
	}
}

/* An attempt that is already over for another reason ends for that reason; a retry waits, without its delay. */
static void test_completing_and_retries(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, RETRY2);
	world_pod_exit(&w, "f-a-0", 7, "");
	world_step(&w);
	world_pod_gone(&w, "f-a-0");
	w.slow_kubelet = true;
	world_settle(&w);
	assert_code(&w, 7);
	edit(&w, RETRY2 SUSPEND);
	world_settle(&w);
	assert_code(&w, 7);
	w.slow_kubelet = false;
	world_collect(&w);
	world_settle(&w);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_suspended(&w, "True");
	assert_int_equal(w.framework->status.retry.accountable, 1);
	world_end(&w);

	begin_running(&w, ""); /* no retry: Completed, and suspend means nothing */
	world_pod_exit(&w, "f-a-0", 7, "");
	world_step(&w);
	world_pod_gone(&w, "f-a-0");
	w.slow_kubelet = true;
	world_settle(&w);
	edit(&w, SUSPEND);
	w.slow_kubelet = false;
	world_collect(&w);
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_suspended(&w, "False");
	world_end(&w);

	begin_running(&w, RETRY2);
	w.config.conflict_delay_min_sec = w.config.conflict_delay_max_sec = 500;
	edit(&w, ",'retryPolicy':{'fancyRetryPolicy':true}");
	world_pod_exit(&w, "f-a-0", 201, "");
	world_settle(&w);
	world_collect(&w);
	world_settle(&w);
	assert_state(&w, STATE_ATTEMPT_COMPLETED);
	assert_int_equal(w.framework->status.retry.delay_sec, 500);
	edit(&w, ",'retryPolicy':{'fancyRetryPolicy':true}" SUSPEND);
	world_settle(&w);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_suspended(&w, "True");
	world_end(&w);
}

/* A Pod that its ConfigMap has left behind still runs: it is not suspended yet. */
static void test_pod_left_behind(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, "");
	w.slow_kubelet = true;
	edit(&w, SUSPEND);
	world_settle(&w);
	world_pod_gone(&w, "f-a-1");
	world_config_map_gone(&w); /* somebody has removed its finalizer */
	world_settle(&w);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_suspended(&w, "False");
	world_pod_gone(&w, "f-a-0");
	world_settle(&w);
	assert_suspended(&w, "True");
	world_end(&w);
}

/* One whose label was removed is in no list: nothing would tell of its end. */
static void test_pod_unlabelled(void **state)
{
	struct world w;

	(void)state;
	begin_running(&w, "");
	w.slow_kubelet = true;
	edit(&w, SUSPEND);
	world_settle(&w);
	world_pod_gone(&w, "f-a-1");
	world_pod_unlabel(&w, "f-a-0");
	world_config_map_gone(&w);
	world_settle_for(&w, 100000);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_suspended(&w, "True");
	for (const struct slot *slot = w.framework->slots; slot != NULL; slot = slot->hh.next)
		assert_null(slot->meta);
	world_end(&w);
}

/* The ConfigMap and the Pod are created, and the stored status does not say so yet. */
static void begin_unstored(struct world *w)
{
	world_begin_of(w, 1, "", "", RETRY2);
	world_reconcile(w);
	world_write(w);
	for (int i = 0; i < 10 && w->framework->status.state != STATE_PREPARING; i++) {
		world_reconcile(w);
		world_carry(w);
	}
	world_reconcile(w);
	world_carry(w);
	assert_int_equal(json_object_size(w->pods), 1);
	assert_int_equal(w->writes, 1);
}

/* A new owner holds a status from before its ConfigMap and its Pod were created, and the ConfigMap's label is gone: no
 * event shows it, but the Pod names it. It counts as deleted. */
static void test_config_map_unlabelled(void **state)
{
	struct world w;

	(void)state;
	begin_unstored(&w);
	json_object_del(json_at(w.config_map, "metadata.labels"), FC_FRAMEWORK_NAME);
	world_stamp(&w, w.config_map);
	w.mute = true; /* the former owner writes no more */
	edit(&w, RETRY2 SUSPEND);
	w.mute = false;
	world_restart(&w);
	assert_state(&w, STATE_CREATION_PENDING);
	world_settle(&w);
	world_collect(&w);
	world_settle(&w);
	assert_null(w.config_map);
	assert_int_equal(json_object_size(w.pods), 0);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_suspended(&w, "True");
	assert_int_equal(w.framework->status.attempt.id, 1);
	world_end(&w);
}

/* A new owner holds such a status, and its view is from before the ConfigMap and the Pod were created: it says nothing
 * of a rest before it has asked. */
static void test_view_that_lags(void **state)
{
	struct world w;

	(void)state;
	begin_unstored(&w);
	w.mute = true;
	edit(&w, RETRY2 SUSPEND);
	world_restart(&w);
	w.mute = false;
	world_tell_framework(&w);
	framework_fence(w.framework);
	assert_state(&w, STATE_CREATION_PENDING);
	world_clear_log(&w);
	world_reconcile(&w);
	assert_string_not_equal(suspended(&w), "True");
	world_settle(&w);
	assert_contains(w.log.data, "get ConfigMap f-attempt; ");
	world_collect(&w);
	world_settle(&w);
	assert_int_equal(json_object_size(w.pods), 0);
	assert_state(&w, STATE_CREATION_PENDING);
	assert_suspended(&w, "True");
	assert_int_equal(w.framework->status.attempt.id, 1);
	world_end(&w);
}

/* The new owner of a status that says Suspended asks for nothing. */
static void test_view_of_suspended(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", "", SUSPEND);
	world_settle(&w);
	world_restart(&w);
	world_clear_log(&w);
	world_settle(&w);
	assert_calls(&w, "");
	assert_suspended(&w, "True");
	world_end(&w);
}

/* A new owner asks whether there is a ConfigMap before it reports a Framework as suspended. Status writes take long,
 * and that one does not wait for others: a former owner's Pod might come meanwhile. (Simulator seed 435459.) */
static void test_stored_at_once(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", "", "");
	world_reconcile(&w);
	world_write(&w);
	world_restart(&w);
	edit(&w, SUSPEND);
	w.time.write_ms = 1000;
	world_settle_for(&w, 100);
	assert_int_equal(w.made[CALL_GET_CONFIG_MAP], 1);
	assert_suspended(&w, "True");
	assert_true(w.framework->written == w.framework->version);
	world_end(&w);
}

/* Another object has the ConfigMap's name: an Event says so, once, while the Framework is held, too. */
static void test_name_is_taken(void **state)
{
	static const char spec[] = "{'suspend':%s,'activeDeadlineSec':1000,'taskRoles':[{'name':'a','taskNumber':1,"
				   "'task':{'pod':{'spec':{}}}}]}";
	cleanup_free char *held = mem_printf(spec, "true");
	cleanup_free char *resumed = mem_printf(spec, "false");
	struct world w;

	(void)state;
	world_init(&w);
	world_put(&w,
		  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'f-attempt','namespace':'ns','uid':'other',"
		  "'labels':{'FC_FRAMEWORK_NAME':'f'}}}",
		  true);
	world_tell_config_map(&w);
	world_create_framework(&w, held, NULL);
	world_settle(&w);
	world_pass(&w, 86400);
	assert_suspended(&w, "False");
	assert_string_equal(w.events.data,
			    "NamingConflict: ConfigMap f-attempt with uid other is controlled by nobody and not by "
			    "this Framework: the controller does not change it, and waits until somebody deletes it\n");
	world_edit(&w, resumed);
	world_config_map_gone(&w);
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	world_end(&w);
}

/* The Framework of another controller is left alone, whatever is in it, and taken up when it becomes ours. */
static void test_managed_by_others(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'managedBy':'example.com/other','suspend':7");
	world_settle(&w);
	assert_int_equal(w.writes, 0);
	assert_calls(&w, "");
	assert_string_equal(w.events.data, "");
	world_edit_of(&w, 1, "", "", ",'managedBy':'frameworkcontroller.microsoft.com/controller'");
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	world_clear_log(&w);
	world_edit_of(&w, 1, "", "", ",'managedBy':'example.com/other'");
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	assert_int_equal(w.writes, 0);
	assert_calls(&w, "");
	world_edit_of(&w, 1, "", "", "");
	world_settle(&w);
	assert_state(&w, STATE_RUNNING);
	assert_int_equal(w.framework->status.attempt.id, 0);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_the_beginning),
		cmocka_unit_test(test_while_running),
		cmocka_unit_test(test_restarts),
		cmocka_unit_test(test_taken_back),
		cmocka_unit_test(test_create_on_its_way),
		cmocka_unit_test(test_create_in_doubt),
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_completing_and_retries),
		cmocka_unit_test(test_pod_left_behind),
		cmocka_unit_test(test_pod_unlabelled),
		cmocka_unit_test(test_config_map_unlabelled),
		cmocka_unit_test(test_view_that_lags),
		cmocka_unit_test(test_view_of_suspended),
		cmocka_unit_test(test_stored_at_once),
		cmocka_unit_test(test_name_is_taken),
		cmocka_unit_test(test_managed_by_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
