/* Races that the simulator found (tests/sim): what is on its way while an owner changes, an attempt ends or an answer
 * is late. */
#include "tests/unit/sync_world.h"

#define NEVER ",'frameworkAttemptCompletionPolicy':{}"

/* A new owner starts from an old view; what the former one wrote meanwhile goes before what the new one made of it.
 * (Overwriting it took statuses back: a finished Task ran again.) */
static void test_former_owner_wrote(void **state)
{
	struct world w;
	cleanup_json json_t *old = NULL;

	(void)state;
	world_begin_creating(&w, 1);
	world_settle(&w);
	old = json_deep_copy(w.object);
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_reconcile(&w);
	world_write(&w);
	framework_observe_absent(w.framework, NULL);
	framework_free(w.framework);
	w.framework = framework_new(WORLD_NS, WORLD_NAME);
	world_observe_framework(w.framework, old, OBSERVED_EVENT);
	framework_fence(w.framework);
	world_tell_config_map(&w);
	world_reconcile(&w);
	world_write(&w); /* 409: the view was old */
	assert_true(w.unsure);
	world_write(&w);
	assert_task(&w, 0, 0, STATE_DELETION_PENDING);
	assert_json(json_at(w.object, "status.attemptStatus.taskRoleStatuses.0.taskStatuses.0.state"),
		    "'AttemptDeletionPending'");
	world_end(&w);
}

/* The former owner saw the Pod deleting, the new one's stream lags behind. (The move back aborted the process.) */
static void test_status_ahead_of_view(void **state)
{
	struct world w;
	json_t *old;

	(void)state;
	world_begin_creating(&w, 1);
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	w.slow_kubelet = true;
	old = json_deep_copy(world_pod(&w, "f-a-0"));
	world_pod_deleting(&w, "f-a-0");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_DELETING);
	json_object_set_new(w.pods, "f-a-0", old);
	world_restart(&w);
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_DELETING);
	world_pod_gone(&w, "f-a-0");
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	world_end(&w);
}

/* What a create of f-a-0 makes that was sent for the present attempt. The caller frees. */
static char *late_pod(const struct world *w)
{
	return mem_printf("{'metadata':{'name':'f-a-0','uid':'late','labels':{'FC_FRAMEWORK_NAME':'f'},"
			  "'ownerReferences':[{'kind':'ConfigMap','name':'f-attempt','uid':'%s','controller':true}]},"
			  "'spec':{},'status':{'phase':'Pending'}}",
			  w->framework->status.attempt.config_map_uid);
}

/* The Pod is deleted, and the attempt is over when it has gone. */
static void waits_for_pod(struct world *w)
{
	assert_int_equal(w->made[CALL_DELETE_POD], 1);
	assert_true(w->framework->status.state < STATE_ATTEMPT_COMPLETED);
	world_pod_gone(w, "f-a-0");
	world_settle(w);
	assert_state(w, STATE_COMPLETED);
}

/* The ConfigMap goes while the create of f-a-0 is on its way, which is carried out and answered after that. */
static void begin_created_late(struct world *w)
{
	struct call create;
	struct call_answer answer = {.sent = true, .http_status = 201, .reason = "", .message = ""};
	struct world_result result = {0};
	cleanup_buf struct buf sent = {0};
	cleanup_free char *body = NULL;

	world_begin_creating(w, 1);
	w->slow_kubelet = true;
	create = w->queue[0]; /* it is on its way from now on */
	w->queued = 0;
	framework_call_body(w->framework, &create, &sent);
	world_config_map_gone(w);
	world_settle(w);
	assert_true(w->framework->status.state < STATE_ATTEMPT_COMPLETED);
	world_run(w, &create, &sent, &result);
	answer.body = body = json_text(result.object);
	json_decref(result.object);
	framework_answer(w->framework, &create, &answer, &w->time, &w->random);
	world_drop_call(&create);
	world_settle(w);
}

/* The attempt is not over before the Pod is gone, too. (A retry ran beside it.) */
static void test_create_outlives_config_map(void **state)
{
	struct world w;

	(void)state;
	begin_created_late(&w);
	waits_for_pod(&w);
	world_end(&w);
}

/* The former owner's last create was carried out after the ConfigMap had gone, and the new owner's stream of Pods lags
 * behind. (The attempt was over, and its quota given back, while the Pod was there.) The new owner finds that the
 * ConfigMap is going, or is to go, or ends the attempt itself. */
static void former_create_unseen(const char *found)
{
	struct world w;
	cleanup_free char *text = NULL;

	world_begin_creating(&w, 1);
	w.slow_kubelet = true;
	world_drop_call(&w.queue[0]); /* it is on its way from now on */
	w.queued = 0;
	text = late_pod(&w);
	if (strcmp(found, "'AttemptDeleting'") == 0) {
		world_config_map_gone(&w);
		world_settle(&w);
	} else if (strcmp(found, "'AttemptDeletionPending'") == 0) {
		world_edit_of(&w, 1, NEVER, "", ",'executionType':'Stop'");
		world_reconcile(&w);
		world_write(&w);
	} else {
		world_pass_minutes(&w); /* its status is stored */
	}
	assert_json(json_at(w.object, "status.state"), found);
	world_restart(&w);
	if (w.config_map != NULL) {
		world_edit_of(&w, 1, NEVER, "", ",'executionType':'Stop'");
		for (int i = 0; w.config_map != NULL && i < 10; i++) {
			world_reconcile(&w);
			world_write(&w);
			world_reconcile(&w);
			world_carry(&w);
		}
	}
	assert_int_equal(w.made[CALL_CREATE_POD], 0);
	world_put(&w, text, false);
	world_settle(&w);
	waits_for_pod(&w);
	world_end(&w);
}

static void test_former_create_unseen(void **state)
{
	(void)state;
	former_create_unseen("'AttemptDeleting'");
	former_create_unseen("'AttemptDeletionPending'");
	former_create_unseen("'AttemptPreparing'");
}

/* The same, and the former owner knew of the Pod: it had the answer, and stored its uid. (The Framework was said to be
 * suspended while the Pod was there.) */
static void test_former_pod_unseen(void **state)
{
	struct world w;
	cleanup_json json_t *pod = NULL;

	(void)state;
	begin_created_late(&w);
	world_write(&w); /* it is told to end */
	assert_json(json_at(w.object, "status.attemptStatus.taskRoleStatuses.0.taskStatuses.0.state"),
		    "'AttemptDeleting'");
	pod = json_incref(world_pod(&w, "f-a-0"));
	json_object_del(w.pods, "f-a-0"); /* no event tells the new owner */
	world_restart(&w);
	json_object_set(w.pods, "f-a-0", pod);
	world_settle(&w);
	waits_for_pod(&w);
	world_end(&w);
}

/* The ConfigMap is deleted by others, unseen; a Pod whose create was on its way comes after that. That the ConfigMap is
 * gone is learned from an answer, which says nothing about when. (The attempt was over while the Pod ran.) */
static void test_created_after_config_map(void **state)
{
	struct world w;

	(void)state;
	world_begin_creating(&w, 1);
	world_settle(&w);
	w.slow_kubelet = true;
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	json_decref(w.config_map); /* no event tells */
	w.config_map = NULL;
	world_edit_of(&w, 1, NEVER, "", ",'executionType':'Stop'");
	world_settle(&w);
	assert_int_equal(w.made[CALL_DELETE_CONFIG_MAP], 1);
	waits_for_pod(&w);
	world_end(&w);
}

/* The answer to a create comes after the news that nothing of that name exists any more, at a later version. (It made
 * a ghost that held the name for ever.) */
static void test_answer_after_absence(void **state)
{
	struct world w;

	(void)state;
	world_begin_creating(&w, 1);
	w.mute = true;
	w.rv = 1000; /* the create is carried out at 1001 … */
	framework_observe_gone(w.framework, KIND_POD, "f-a-0", "", "2000", false);
	world_carry(&w);
	assert_null(slot_find(w.framework, "f-a-0")->meta);
	world_end(&w);
}

/* A Pod without its label is known by a GET only: when its attempt is over nobody waits for it any more. */
static void test_lost_is_forgotten(void **state)
{
	struct world w;

	(void)state;
	world_begin_creating(&w, 1);
	world_settle(&w);
	world_pod_unlabel(&w, "f-a-0");
	world_settle(&w);
	framework_observe_absent(w.framework, NULL);
	assert_null(slot_find(w.framework, "f-a-0")->meta);
	world_end(&w);
}

/* … and so it is when the next attempt has no Task of the name: nothing would look for the Pod. (The name was kept,
 * with what was known of the Pod.) */
static void test_lost_is_forgotten_by_retry(void **state)
{
	const struct slot *slot;
	struct world w;

	(void)state;
	world_begin_of(&w, 1, NEVER, "", ",'retryPolicy':{'maxRetryCount':-2}");
	world_settle(&w);
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	w.slow_kubelet = true;
	world_pod_unlabel(&w, "f-a-0");
	world_settle(&w);
	world_config_map_deleting(&w);
	world_settle(&w);
	world_edit_of(&w, 0, NEVER, "", ",'retryPolicy':{'maxRetryCount':-2}");
	world_settle(&w);
	json_object_del(w.pods, "f-a-0"); /* no event tells */
	world_config_map_gone(&w);
	world_settle_for(&w, 5000);
	assert_int_equal(w.framework->status.attempt.id, 1);
	slot = slot_find(w.framework, "f-a-0");
	assert_true(slot == NULL || slot->meta == NULL);
	world_end(&w);
}

/* … and the answer to a GET that was on its way when the Framework went brings it not back. (The key was kept for
 * ever.)
 */
static void test_lost_is_not_found_again(void **state)
{
	struct world w;
	struct call get = {.kind = CALL_GET_POD, .name = (char *)"f-a-0"};
	cleanup_free char *body = NULL;
	struct call_answer answer = {
		.http_status = 200, .sent = true, .reason = "", .message = "", .body = "", .retry_after_ms = -1};

	(void)state;
	world_begin_creating(&w, 1);
	world_settle(&w);
	framework_observe_absent(w.framework, NULL);
	world_pod_unlabel(&w, "f-a-0");
	assert_null(slot_find(w.framework, "f-a-0")->meta);
	slot_find(w.framework, "f-a-0")->call = CALL_GET_POD;
	answer.body = body = json_text(world_pod(&w, "f-a-0"));
	framework_answer(w.framework, &get, &answer, &w.time, &w.random);
	assert_null(slot_find(w.framework, "f-a-0")->meta);
	world_end(&w);
}

/* Others delete the ConfigMap and leave its Pod to itself (propagation Orphan); that the ConfigMap is gone is told
 * before the Pod has lost its owner. It is ours no more: not deleted. (It was.) One that has changed in another way
 * goes. */
static void test_orphaned_unseen(void **state)
{
	(void)state;
	for (int ours = 0; ours < 2; ours++) {
		struct world w;
		json_t *pod;

		world_begin_of(&w, 1, NEVER, "", "");
		world_settle(&w);
		world_pod_phase(&w, "f-a-0", "Running");
		world_settle(&w);
		world_clear_log(&w);
		pod = world_pod(&w, "f-a-0");
		if (!ours)
			json_object_del(json_object_get(pod, "metadata"), "ownerReferences");
		world_stamp(&w, pod);
		world_config_map_gone(&w);
		world_settle(&w);
		assert_int_equal(w.made[CALL_DELETE_POD], 1 + ours);
		assert_int_equal(world_pod(&w, "f-a-0") == pod, !ours);
		assert_state(&w, STATE_COMPLETED);
		if (!ours)
			assert_null(meta_str(pod, "deletionTimestamp"));
		world_end(&w);
	}
}

/* Frameworks of the name come and go while a GET is on its way. Its answer shows one of them, which is not the last. */
static void test_former_namesake_shown(void **state)
{
	json_t *former;
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	former = json_deep_copy(w.object);
	world_new_uid(&w, w.object, "fw");
	world_stamp(&w, w.object);
	world_tell_framework(&w);
	world_stamp(&w, w.object);
	framework_observe_absent(w.framework, meta_str(w.object, "resourceVersion"));
	assert_false(world_observe_framework(w.framework, former, OBSERVED_ANSWER));
	assert_false(w.framework->exists);
	json_decref(former);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_former_owner_wrote),
		cmocka_unit_test(test_status_ahead_of_view),
		cmocka_unit_test(test_create_outlives_config_map),
		cmocka_unit_test(test_answer_after_absence),
		cmocka_unit_test(test_former_create_unseen),
		cmocka_unit_test(test_former_pod_unseen),
		cmocka_unit_test(test_created_after_config_map),
		cmocka_unit_test(test_lost_is_forgotten),
		cmocka_unit_test(test_lost_is_forgotten_by_retry),
		cmocka_unit_test(test_lost_is_not_found_again),
		cmocka_unit_test(test_orphaned_unseen),
		cmocka_unit_test(test_former_namesake_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
