/* What is there when ConfigMaps and Pods are to be created: adoption (CONTRACT.md §6), what is ours but not adopted,
 * names that somebody else holds (CONTRACT.md §12). */
#include "tests/unit/sync_world.h"

/* ---- adoption ---------------------------------------------------------------------------------------------------- */

/* The owner crashes after each step; what it made is adopted, not made again. */
static void test_adopted_after_restart(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", "", "");
	world_reconcile(&w);
	world_write(&w);
	world_reconcile(&w);
	world_carry(&w); /* the ConfigMap; its UID is not stored */
	world_restart(&w);
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	assert_int_equal(w.made[CALL_CREATE_CONFIG_MAP], 1);
	world_end(&w);

	world_begin_creating(&w, 2);
	for (int i = 0; i < 2; i++) { /* the Pods; no UID of all this is stored */
		world_reconcile(&w);
		world_carry(&w);
	}
	assert_json(json_at(w.object, "status.attemptStatus.configMapUID"), "null");
	world_pod_phase(&w, "f-a-0", "Running");
	world_pod_exit(&w, "f-a-1", 0, "");
	world_restart(&w);
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_CONFIG_MAP], 0);
	assert_int_equal(w.made[CALL_CREATE_POD], 2);
	assert_task(&w, 0, 0, STATE_RUNNING);
	assert_task(&w, 0, 1, STATE_COMPLETED);
	assert_task_code(&w, 0, 1, 0);
	assert_int_equal(world_task(&w, 0, 0)->retry.total, 0);
	world_end(&w);
}

/* The ConfigMap was made before the owner went, and the spec moved on: the attempt has begun, whether or not its UID is
 * stored. Create holds the next one only; Stop ends this one as any other. */
static void test_adopted_after_edit(void **state)
{
	(void)state;
	for (int stop = 0; stop < 2; stop++) {
		struct world w;

		world_begin_of(&w, 1, "", "", "");
		world_reconcile(&w);
		world_write(&w);
		world_reconcile(&w);
		world_carry(&w);
		world_edit_of(&w, 1, "", "", stop ? ",'executionType':'Stop'" : ",'executionType':'Create'");
		world_restart(&w);
		world_settle(&w);
		assert_int_equal(w.made[CALL_CREATE_CONFIG_MAP], 1);
		assert_state(&w, stop ? STATE_COMPLETED : STATE_PREPARING);
		assert_int_equal(w.made[CALL_CREATE_POD], !stop);
		if (stop) {
			assert_code(&w, CODE_STOP_FRAMEWORK_REQUESTED);
			assert_null(w.config_map);
		}
		world_end(&w);
	}
}

/* Somebody sets back a state by hand, and nothing else: what is there is taken up again. A state that is set back
 * behind an end goes forward to it. */
static void test_state_set_back(void **state)
{
	static const struct {
		const char *at;
		enum attempt_state to;
	} rows[] = {
		{"status.attemptStatus.taskRoleStatuses.0.taskStatuses.0", STATE_CREATION_PENDING},
		{"status", STATE_CREATION_PENDING},
		{"status", STATE_RUNNING},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool ending = rows[i].to == STATE_RUNNING;
		struct world w;

		world_begin_of(&w, 1, "", "", "");
		world_settle(&w);
		world_pod_phase(&w, "f-a-0", "Running");
		world_settle(&w);
		if (ending) {
			w.fault = (struct world_fault){.kind = CALL_DELETE_CONFIG_MAP,
						       .count = INT32_MAX,
						       .http_status = 500,
						       .reason = "",
						       .message = "down"};
			world_edit_of(&w, 1, "", "", ",'executionType':'Stop'");
			world_settle_for(&w, 1000);
			w.fault.count = 0;
		}
		json_object_set_new(json_at(w.object, rows[i].at), "state",
				    json_string(attempt_state_name(rows[i].to)));
		world_stamp(&w, w.object);
		world_restart(&w);
		world_clear_log(&w);
		world_settle_for(&w, 60000);
		if (ending)
			assert_state(&w, STATE_COMPLETED);
		else
			assert_task(&w, 0, 0, STATE_RUNNING);
		assert_int_equal(w.made[CALL_CREATE_CONFIG_MAP], 0);
		assert_int_equal(w.made[CALL_CREATE_POD], 0);
		assert_int_equal(w.made[CALL_DELETE_POD], 0);
		world_end(&w);
	}
}

/* What differs in its identity, or is deleting, is not adopted: it goes, then a new one is made. */
static void test_not_adopted(void **state)
{
	static const char *const changes[][2] = {
		{FC_TASK_UID, "another"},
		{FC_TASK_ATTEMPT_ID, "1"},
		{FC_FRAMEWORK_ATTEMPT_INSTANCE_UID, "1_cm-uid-2"},
		{FC_TASK_ATTEMPT_ID, "x"},
		{NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		struct world w;
		cleanup_free char *uid = NULL;

		world_begin_creating(&w, 1);
		w.fault = (struct world_fault){.kind = CALL_CREATE_POD, .count = 1, .carried_out = true};
		w.mute = true;
		world_carry(&w);
		w.mute = false;
		uid = mem_strdup(meta_str(world_pod(&w, "f-a-0"), "uid"));
		w.slow_kubelet = true;
		if (changes[i][0] != NULL)
			json_object_set_new(json_at(world_pod(&w, "f-a-0"), "metadata.annotations"), changes[i][0],
					    json_string(changes[i][1]));
		else
			world_mark_deleting(&w, world_pod(&w, "f-a-0"), 30);
		world_tell_pod(&w, "f-a-0");
		world_settle(&w);
		assert_task(&w, 0, 0, STATE_CREATION_PENDING);
		assert_null(world_task(&w, 0, 0)->attempt.pod_uid);
		assert_non_null(meta_str(world_pod(&w, "f-a-0"), "deletionTimestamp"));
		assert_int_equal(w.made[CALL_CREATE_POD], 1);
		world_pod_gone(&w, "f-a-0");
		world_settle(&w);
		assert_task(&w, 0, 0, STATE_PREPARING);
		assert_string_not_equal(world_task(&w, 0, 0)->attempt.pod_uid, uid);
		assert_int_equal(world_task(&w, 0, 0)->attempt.id, 0);
		world_end(&w);
	}
}

/* A former owner's Pod was deleted by force; a watch that lags shows it while the create of its name is on its way. The
 * Pod that this create makes is the Task's. */
static void test_not_adopted_beside_create(void **state)
{
	struct world w;
	json_t *gone;

	(void)state;
	world_begin_creating(&w, 1);
	w.mute = true;
	world_carry(&w);
	w.mute = false;
	gone = json_incref(world_pod(&w, "f-a-0"));
	json_object_del(w.pods, "f-a-0");
	world_restart(&w);
	w.hold_calls = true;
	world_settle(&w);
	assert_int_equal(w.queued, 1);
	assert_int_equal(w.queue[0].kind, CALL_CREATE_POD);
	json_object_set_new(w.pods, "f-a-0", gone);
	world_tell_pod(&w, "f-a-0");
	json_object_del(w.pods, "f-a-0");
	world_settle(&w);
	assert_null(world_task(&w, 0, 0)->attempt.pod_uid);
	w.hold_calls = false;
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_string_equal(world_task(&w, 0, 0)->attempt.pod_uid, meta_str(world_pod(&w, "f-a-0"), "uid"));
	world_end(&w);
}

/* A ConfigMap of another attempt, or a deleting one, is not adopted either. */
static void test_config_map_not_adopted(void **state)
{
	(void)state;
	for (int deleting = 0; deleting < 2; deleting++) {
		struct world w;

		world_begin_of(&w, 1, "", "", "");
		world_reconcile(&w);
		world_write(&w);
		world_reconcile(&w);
		w.fault = (struct world_fault){.kind = CALL_CREATE_CONFIG_MAP, .count = 1, .carried_out = true};
		w.mute = true;
		world_carry(&w);
		w.mute = false;
		w.slow_gc = true;
		if (deleting)
			world_mark_deleting(&w, w.config_map, 0);
		else
			json_object_set_new(json_at(w.config_map, "metadata.annotations"), FC_FRAMEWORK_ATTEMPT_ID,
					    json_string("7"));
		world_tell_config_map(&w);
		world_settle(&w);
		assert_state(&w, STATE_CREATION_PENDING);
		assert_non_null(meta_str(w.config_map, "deletionTimestamp"));
		assert_int_equal(w.made[CALL_CREATE_CONFIG_MAP], 1);
		world_config_map_gone(&w);
		world_settle(&w);
		assert_state(&w, STATE_PREPARING);
		assert_int_equal(w.framework->status.attempt.id, 0);
		world_end(&w);
	}
}

/* ---- names that are taken ---------------------------------------------------------------------------------------- */

#define FOREIGN(kind, name, label)                                                                           \
	"{'kind':'" kind "','metadata':{'name':'" name "','namespace':'ns','uid':'foreign'," label "'x':1}," \
	"'spec':{},'status':{'phase':'Running'}}"
#define LABEL(of) "'labels':{'FC_FRAMEWORK_NAME':'" of "'},"

/* A same-named object that is not ours is never touched; it is reported once, and waited for. label: no event, an event
 * of ours, an event that goes to another Framework. */
static void test_foreign_pod(void **state)
{
	static const char *const texts[] = {
		FOREIGN("Pod", "f-a-0", ""),
		FOREIGN("Pod", "f-a-0", LABEL("f")),
		FOREIGN("Pod", "f-a-0", LABEL("g")),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct world w;
		const char *first;

		world_begin_creating(&w, 1);
		world_put(&w, texts[i], false);
		world_carry(&w);
		if (i == 1)
			world_tell_pod(&w, "f-a-0");
		world_settle_for(&w, 5000);
		assert_task(&w, 0, 0, STATE_CREATION_PENDING);
		assert_int_equal(w.made[CALL_DELETE_POD], 0);
		assert_int_equal(w.made[CALL_CREATE_POD], 1);
		first = strstr(w.events.data, "NamingConflict: Pod f-a-0 with uid foreign");
		assert_non_null(first);
		assert_null(strstr(first + 1, "NamingConflict"));
		/* Where no event would tell, it is asked for less and less often: every half minute in the end. */
		memset(w.made, 0, sizeof(w.made));
		world_settle_for(&w, 600 * 1000);
		if (i == 1)
			assert_int_equal(w.made[CALL_GET_POD], 0);
		else
			assert_in_range(w.made[CALL_GET_POD], 20, 40);
		/* It goes, and somebody else's name is free. */
		if (i == 1)
			world_pod_gone(&w, "f-a-0");
		else
			json_object_del(w.pods, "f-a-0");
		world_settle_for(&w, 100000);
		assert_task(&w, 0, 0, STATE_PREPARING);
		world_end(&w);
	}
}

/* What is seen under the name may be what was there before a Pod of ours that a former owner has made: a Task that is
 * wanted no more ends when the server was asked. */
static void test_foreign_seen_late(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", "", ",'executionType':'Create'");
	world_settle(&w);
	world_put(&w, FOREIGN("Pod", "f-a-1", LABEL("f")), false);
	world_tell_pod(&w, "f-a-1");
	world_edit_of(&w, 1, "", "", "");
	world_clear_log(&w);
	world_settle(&w);
	assert_contains(w.log.data, "get Pod f-a-1; ");
	assert_int_equal(w.framework->status.attempt.roles[0].task_count, 1);
	world_end(&w);
}

static void test_foreign_config_map(void **state)
{
	static const char *const texts[] = {
		FOREIGN("ConfigMap", "f-attempt", ""),
		FOREIGN("ConfigMap", "f-attempt", LABEL("f")),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct world w;

		world_begin_of(&w, 1, "", "", "");
		world_put(&w, texts[i], true);
		world_tell_config_map(&w);
		world_settle_for(&w, 5000);
		assert_state(&w, STATE_CREATION_PENDING);
		assert_int_equal(w.made[CALL_DELETE_CONFIG_MAP], 0);
		assert_contains(w.events.data, "NamingConflict: ConfigMap f-attempt with uid foreign");
		/* Stop need not wait for it: it is not ours. */
		world_edit_of(&w, 1, "", "", ",'executionType':'Stop'");
		world_settle(&w);
		assert_state(&w, STATE_COMPLETED);
		assert_int_equal(w.made[CALL_DELETE_CONFIG_MAP], 0);
		assert_non_null(w.config_map);
		world_end(&w);
	}
}

/* It is still there when the Framework is deleted and created again: that one's owner is told, too. */
static void test_foreign_told_again(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_put(&w, FOREIGN("ConfigMap", "f-attempt", LABEL("f")), true);
	world_tell_config_map(&w);
	world_settle_for(&w, 5000);
	assert_contains(w.events.data, "NamingConflict: ConfigMap f-attempt with uid foreign");
	framework_observe_absent(w.framework, NULL);
	json_decref(w.object);
	world_clear_log(&w);
	world_create_framework(&w, "{'taskRoles':[{'name':'a','taskNumber':1}]}", NULL);
	world_settle_for(&w, 5000);
	assert_contains(w.events.data, "NamingConflict: ConfigMap f-attempt with uid foreign");
	world_end(&w);
}

/* A create that comes late, after its attempt is over: deleted on sight. */
static void test_late_config_map(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_settle(&w);
	world_edit_of(&w, 1, "", "", ",'executionType':'Stop'");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	world_clear_log(&w);
	world_put(
		&w,
		"{'kind':'ConfigMap','metadata':{'name':'f-attempt','namespace':'ns','uid':'late','labels':{"
		"'FC_FRAMEWORK_NAME':'f'},'annotations':{'FC_FRAMEWORK_UID':'fw-uid-1','FC_FRAMEWORK_ATTEMPT_ID':'0'},"
		"'ownerReferences':[{'controller':true,'uid':'fw-uid-1'}]}}",
		true);
	world_tell_config_map(&w);
	world_settle(&w);
	assert_calls(&w, "delete ConfigMap f-attempt; ");
	assert_state(&w, STATE_COMPLETED);
	world_end(&w);
}

/* What an earlier owner made has lost its label and is going; the create is answered "Invalid", a GET finds it, and a
 * snapshot does not show it, which says nothing: the attempt is not over before it has gone. */
static void test_snapshot_without_label(void **state)
{
	struct world w;

	(void)state;
	world_begin_creating(&w, 1);
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD, .count = 1, .carried_out = true};
	w.mute = true;
	world_carry(&w);
	w.mute = false;
	json_object_del(json_at(world_pod(&w, "f-a-0"), "metadata.labels"), FC_FRAMEWORK_NAME);
	world_mark_deleting(&w, world_pod(&w, "f-a-0"), 30);
	world_restart(&w);
	w.fault = (struct world_fault){
		.kind = CALL_CREATE_POD, .count = 1, .http_status = 422, .reason = "Invalid", .message = "x"};
	world_settle_for(&w, 5000);
	assert_contains(w.log.data, "get Pod f-a-0");
	framework_observe_gone(w.framework, KIND_POD, "f-a-0", "", "999999", false);
	world_settle_for(&w, 5000);
	assert_task(&w, 0, 0, STATE_CREATION_PENDING);
	json_object_del(w.pods, "f-a-0");
	world_settle_for(&w, 5000);
	assert_task(&w, 0, 0, STATE_COMPLETED);
	assert_task_code(&w, 0, 0, CODE_POD_CREATION_PERMANENT_ERROR);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adopted_after_restart),
		cmocka_unit_test(test_adopted_after_edit),
		cmocka_unit_test(test_state_set_back),
		cmocka_unit_test(test_not_adopted),
		cmocka_unit_test(test_not_adopted_beside_create),
		cmocka_unit_test(test_config_map_not_adopted),
		cmocka_unit_test(test_foreign_pod),
		cmocka_unit_test(test_foreign_seen_late),
		cmocka_unit_test(test_foreign_config_map),
		cmocka_unit_test(test_foreign_told_again),
		cmocka_unit_test(test_late_config_map),
		cmocka_unit_test(test_snapshot_without_label),
	};

	return cmocka_run_group_tests_name("sync_adopt", tests, NULL, NULL);
}
