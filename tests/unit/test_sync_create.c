/* Creating ConfigMaps and Pods: what each answer means (FRAMEWORK.md §8), reading before repeating, adoption (§6),
 * names that somebody else holds (§12), the fence and slow start (DESIGN.md §3). */
#include "tests/unit/sync_world.h"

#define ALWAYS ",'retryPolicy':{'maxRetryCount':-2}"

/* Up to the point where n Pods are about to be created. */
static void begin_creating(struct world *w, int n)
{
	world_begin_of(w, n, ",'frameworkAttemptCompletionPolicy':{}", "", "");
	world_round(w);
	world_write(w);
	world_round(w);
	world_carry(w);
	world_round(w);
	assert_int_equal(w->queued, n);
	world_clear_log(w);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void test_transient(void **state)
{
	static const struct world_fault faults[] = {
		{.http_status = 403, .reason = "Forbidden", .message = "pods is forbidden: exceeded quota: q"},
		{.http_status = 500, .reason = "InternalError", .message = "x"},
		{.http_status = 403, .reason = "", .message = "admission webhook denied it"},
		{.http_status = 422, .reason = "SomethingElse", .message = "x"},
		{.http_status = 0, .message = "timed out"},
		{.http_status = 429, .reason = "TooManyRequests", .message = "x", .retry_after_ms = 1000},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		struct world w;

		begin_creating(&w, 1);
		w.fault = faults[i];
		w.fault.kind = CALL_CREATE_POD;
		w.fault.count = 3;
		world_carry(&w);
		world_round(&w);
		assert_task(&w, 0, 0, STATE_CREATION_PENDING);
		assert_null(world_task(&w, 0, 0)->attempt.completion);
		world_settle_for(&w, 10000);
		/* Nothing is completed: the fourth try makes it, in the same attempt. */
		assert_task(&w, 0, 0, STATE_PREPARING);
		assert_int_equal(w.made[CALL_CREATE_POD], 4);
		assert_int_equal(world_task(&w, 0, 0)->attempt.id, 0);
		assert_contains(w.events.data, "FailedCreatePod: Failed to create f-a-0");
		/* It is read before it is repeated; but 429 comes from in front of it all. */
		assert_int_equal(w.made[CALL_GET_POD], faults[i].http_status == 429 ? 0 : 3);
		world_end(&w);
	}
}

static void test_retry_after(void **state)
{
	struct world w;
	int64_t start_ms;

	(void)state;
	begin_creating(&w, 1);
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD,
				       .count = 1,
				       .http_status = 429,
				       .reason = "TooManyRequests",
				       .retry_after_ms = 30000};
	start_ms = w.time.boot_ms;
	world_carry(&w);
	world_settle_for(&w, 29000);
	assert_int_equal(w.made[CALL_CREATE_POD], 1);
	world_settle_for(&w, 40000);
	assert_int_equal(w.made[CALL_CREATE_POD], 2);
	assert_true(w.time.boot_ms - start_ms >= 30000);
	world_end(&w);
}

static void test_retry_after_stays(void **state)
{
	struct backoff backoff = {0};
	struct random random;

	(void)state;
	random_init_seed(&random, 1);
	backoff_fail(&backoff, &random, 1000, 30000);
	backoff_reset(&backoff); /* another call of the Framework was answered, or an event came */
	assert_int_equal(backoff.until_ms, 31000);
	assert_int_equal(backoff.failures, 0);
	backoff_fail(&backoff, &random, 40000, -1);
	backoff_reset(&backoff);
	assert_true(backoff.until_ms < 40000);
}

static void test_for_good(void **state)
{
	static const struct {
		struct world_fault fault;
		int code;
		const char *phrase;
		const char *diagnostics;
	} rows[] = {
		{{.http_status = 422, .reason = "Invalid", .message = "spec is \"bad\""},
		 CODE_POD_CREATION_PERMANENT_ERROR,
		 "PodCreationPermanentError",
		 "Failed to create Pod: {\"ErrStatus\":{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"spec "
		 "is "
		 "\\\"bad\\\"\",\"reason\":\"Invalid\",\"code\":422}}"},
		{{.http_status = 413, .reason = "RequestEntityTooLarge", .message = "too large"},
		 CODE_POD_CREATION_PERMANENT_ERROR,
		 "PodCreationPermanentError",
		 NULL},
		{{.http_status = 400, .reason = "BadRequest", .message = "x"},
		 CODE_POD_CREATION_UNKNOWN_ERROR,
		 "PodCreationUnknownError",
		 NULL},
		{{.http_status = 403, .reason = "Forbidden", .message = "x"},
		 CODE_POD_CREATION_UNKNOWN_ERROR,
		 "PodCreationUnknownError",
		 NULL},
		{{.http_status = 403, .reason = NULL, .message = "denied"}, /* no Status: by its code */
		 CODE_POD_CREATION_UNKNOWN_ERROR,
		 "PodCreationUnknownError",
		 NULL},
		{{.http_status = 413, .reason = NULL, .message = "nginx"},
		 CODE_POD_CREATION_PERMANENT_ERROR,
		 "PodCreationPermanentError",
		 "Failed to create Pod: {\"ErrStatus\":{}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		const struct completion *completion;

		begin_creating(&w, 1);
		w.fault = rows[i].fault;
		w.fault.kind = CALL_CREATE_POD;
		w.fault.count = 1;
		world_carry(&w);
		/* Whatever it says, the Pod may be there: that is asked first. */
		world_round(&w);
		assert_task(&w, 0, 0, STATE_CREATION_PENDING);
		world_settle(&w);
		assert_task(&w, 0, 0, STATE_COMPLETED);
		assert_calls(&w, "create Pod f-a-0; get Pod f-a-0; delete ConfigMap f-attempt; ");
		completion = world_task(&w, 0, 0)->attempt.completion;
		assert_int_equal(completion->code, rows[i].code);
		assert_string_equal(completion->phrase, rows[i].phrase);
		assert_null(completion->pod);
		if (rows[i].diagnostics != NULL)
			assert_string_equal(completion->diagnostics, rows[i].diagnostics);
		world_end(&w);
	}
}

/* A permanent error with a retry policy that retries it: a new attempt, counted. */
static void test_for_good_retried(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", ",'retryPolicy':{'maxRetryCount':2}", "");
	w.fault = (struct world_fault){
		.kind = CALL_CREATE_POD, .count = 2, .http_status = 400, .reason = "BadRequest", .message = "x"};
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_int_equal(world_task(&w, 0, 0)->attempt.id, 2);
	assert_int_equal(world_task(&w, 0, 0)->retry.accountable, 2);
	world_end(&w);
}

/* A create that was carried out though its answer says otherwise (lost, 403 of a full quota, 422): it is found. */
static void test_carried_out(void **state)
{
	static const struct world_fault faults[] = {
		{.http_status = 0, .message = "connection reset"},
		{.http_status = 403, .reason = "Forbidden", .message = "x"},
		{.http_status = 422, .reason = "Invalid", .message = "x"},
		{.http_status = 504, .reason = "Timeout", .message = "x"},
		{.http_status = 201, .message = "unreadable"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		struct world w;

		begin_creating(&w, 1);
		w.fault = faults[i];
		w.fault.kind = CALL_CREATE_POD;
		w.fault.count = 1;
		w.fault.carried_out = true;
		w.mute = true; /* not even an event comes */
		world_carry(&w);
		world_settle(&w);
		assert_task(&w, 0, 0, STATE_PREPARING);
		assert_calls(&w, "create Pod f-a-0; get Pod f-a-0; ");
		assert_string_equal(world_task(&w, 0, 0)->attempt.pod_uid, meta_str(world_pod(&w, "f-a-0"), "uid"));
		world_end(&w);
	}
}

/* A ConfigMap's creation error never completes the attempt. */
static void test_config_map_errors(void **state)
{
	static const struct world_fault faults[] = {
		{.http_status = 422, .reason = "Invalid", .message = "x"},
		{.http_status = 403, .reason = "Forbidden", .message = "x"},
		{.http_status = 0, .message = "x"},
		{.http_status = 0, .message = "x", .carried_out = true},
		{.http_status = 201, .message = "unreadable", .carried_out = true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		struct world w;

		world_begin_of(&w, 1, "", "", "");
		w.fault = faults[i];
		w.fault.kind = CALL_CREATE_CONFIG_MAP;
		w.fault.count = faults[i].carried_out ? 1 : 4;
		world_settle_for(&w, 10000);
		assert_state(&w, STATE_PREPARING);
		assert_int_equal(w.framework->status.attempt.id, 0);
		assert_int_equal(w.made[CALL_CREATE_CONFIG_MAP], faults[i].carried_out ? 1 : 5);
		world_end(&w);
	}
}

/* After a failure one at a time; each success lets twice as many be on the way, until there is no limit again. */
static void test_slow_start(void **state)
{
	static const unsigned expected[] = {1, 2, 8, 89};
	struct world w;

	(void)state;
	begin_creating(&w, 100);
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD, .count = 100, .http_status = 500, .message = "x"};
	world_carry(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 100);
	w.fault.count = 0;
	world_clear_log(&w);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		while (w.made[CALL_CREATE_POD] == 0) {
			world_round(&w);
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
	begin_creating(&w, 3);
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD, .count = 3, .http_status = 500, .message = "x"};
	world_carry(&w);
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD, .count = 1, .http_status = 201, .carried_out = true};
	world_settle_for(&w, 10000);
	for (size_t i = 0; i < 3; i++)
		assert_task(&w, 0, i, STATE_PREPARING);
	world_end(&w);
}

/* ---- adoption ---------------------------------------------------------------------------------------------------- */

/* The owner crashes after each step; what it made is adopted, not made again. */
static void test_adopted_after_restart(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", "", "");
	world_round(&w);
	world_write(&w);
	world_round(&w);
	world_carry(&w); /* the ConfigMap; its UID is not stored */
	world_restart(&w);
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	assert_int_equal(w.made[CALL_CREATE_CONFIG_MAP], 1);
	world_end(&w);

	begin_creating(&w, 2);
	world_carry(&w); /* the Pods; no UID of all this is stored */
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
		world_round(&w);
		world_write(&w);
		world_round(&w);
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

		begin_creating(&w, 1);
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

/* A ConfigMap of another attempt, or a deleting one, is not adopted either. */
static void test_config_map_not_adopted(void **state)
{
	(void)state;
	for (int deleting = 0; deleting < 2; deleting++) {
		struct world w;

		world_begin_of(&w, 1, "", "", "");
		world_round(&w);
		world_write(&w);
		world_round(&w);
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

/* A create that is on its way is not sent again, however often its Task is looked at. */
static void test_on_its_way(void **state)
{
	struct world w;

	(void)state;
	begin_creating(&w, 2);
	world_edit_of(&w, 2, ",'frameworkAttemptCompletionPolicy':{}", "", ",'description':'look again'");
	for (int i = 0; i < 3; i++) {
		w.hold_calls = true;
		world_step(&w);
		world_advance(&w, 1);
	}
	assert_int_equal(w.queued, 2);
	w.hold_calls = false;
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 2);
	world_end(&w);
}

/* What was once known to be absent is not, when a create was sent since whose end is unknown. */
static void test_carried_out_then_unwanted(void **state)
{
	struct world w;

	(void)state;
	begin_creating(&w, 2);
	w.fault = (struct world_fault){
		.kind = CALL_CREATE_POD, .name = "f-a-1", .count = 1, .http_status = 500, .message = "x"};
	world_carry(&w);
	w.hold_calls = true;
	while (w.made[CALL_CREATE_POD] < 3) { /* the GET finds nothing, and it is sent again */
		if (!world_step(&w))
			world_advance_ms(&w, 10);
		w.mute = w.queued == 1 && w.queue[0].kind == CALL_CREATE_POD;
		if (w.mute)
			w.fault = (struct world_fault){
				.kind = CALL_CREATE_POD, .name = "f-a-1", .count = 1, .carried_out = true};
		world_carry(&w);
	}
	w.hold_calls = false;
	assert_int_equal(w.made[CALL_GET_POD], 1);
	assert_non_null(world_pod(&w, "f-a-1"));
	w.mute = false;
	world_edit_of(&w, 1, ",'frameworkAttemptCompletionPolicy':{}", "", "");
	world_settle(&w);
	assert_null(world_pod(&w, "f-a-1"));
	assert_int_equal(w.framework->status.attempt.roles[0].task_count, 1);
	world_end(&w);
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

		begin_creating(&w, 1);
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
	begin_creating(&w, 1);
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

/* ---- the fence --------------------------------------------------------------------------------------------------- */

static void test_fence(void **state)
{
	struct world w;

	(void)state;
	begin_creating(&w, 2);
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	world_pod_exit(&w, "f-a-1", 0, "");
	world_round(&w);
	world_write(&w);
	world_clear_log(&w);
	/* Its Pod is to be deleted; a new owner, whose view may lag behind, writes first, though nothing changed. */
	world_restart(&w);
	world_round(&w);
	assert_int_equal(w.queued, 0);
	assert_true(w.plan.write);
	/* Its version is old: the write fails, and is asked for again. */
	w.mute = true;
	json_object_set_new(json_object_get(w.object, "metadata"), "annotations", json_of("{'x':'y'}"));
	world_stamp(&w, w.object);
	w.mute = false;
	world_write(&w);
	world_round(&w);
	assert_int_equal(w.queued, 0);
	assert_true(w.plan.write);
	world_write(&w);
	world_round(&w);
	assert_int_equal(w.queued, 1);
	assert_int_equal(w.queue[0].kind, CALL_DELETE_POD);
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	world_end(&w);
}

/* A write that changes nothing makes no new version: what a former owner sent on the present one, and comes late, would
 * be carried out after the fence. (It took the status forward, and the next write took it back; simulator seed 38599.)
 */
static void test_fence_changes(void **state)
{
	struct world w;
	cleanup_json json_t *stored = NULL;

	(void)state;
	begin_creating(&w, 1);
	world_settle(&w);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_round(&w);
	world_write(&w); /* its ConfigMap is to be deleted */
	stored = json_deep_copy(json_object_get(w.object, "status"));
	assert_null(json_object_get(stored, "fenced"));
	for (int grants = 1; grants <= 3; grants++) {
		world_restart(&w);
		world_round(&w);
		assert_true(w.plan.write);
		world_write(&w);
		/* each differs from the one before, in that alone */
		if (grants % 2 == 1) {
			assert_true(json_is_true(json_object_get(json_object_get(w.object, "status"), "fenced")));
			json_object_set_new(stored, "fenced", json_true());
		} else {
			json_object_del(stored, "fenced");
		}
		assert_true(json_equal(json_object_get(w.object, "status"), stored));
		/* seen again, it is our own */
		world_tell_framework(&w);
		world_round(&w);
		assert_false(w.plan.write);
	}
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	world_end(&w);
}

/* A watch that hung shows an old status only after the snapshot, which did not even hold the Framework: whoever acted
 * on that status may have gone on since. */
static void test_fence_late(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", "");
	world_round(&w);
	world_write(&w);
	framework_free(w.framework);
	w.framework = framework_new(WORLD_NS, WORLD_NAME);
	world_tell_framework(&w);
	world_round(&w);
	assert_int_equal(w.queued, 0);
	assert_true(w.plan.write);
	world_write(&w);
	world_round(&w);
	assert_int_equal(w.queued, 1);
	assert_int_equal(w.queue[0].kind, CALL_CREATE_CONFIG_MAP);
	world_settle(&w);
	world_end(&w);
}

/* Creates that were queued when a resync put up the fence do not slip through it. */
static void test_fence_queued(void **state)
{
	struct world w;

	(void)state;
	begin_creating(&w, 2);
	framework_fence(w.framework);
	world_carry(&w);
	assert_calls(&w, "");
	world_round(&w);
	assert_true(w.plan.write);
	assert_int_equal(w.queued, 0);
	world_settle(&w);
	assert_int_equal(w.made[CALL_CREATE_POD], 2);
	world_end(&w);

	world_begin_of(&w, 1, "", ALWAYS, "");
	world_round(&w);
	world_write(&w);
	world_round(&w);
	assert_int_equal(w.queued, 1);
	framework_fence(w.framework);
	world_carry(&w);
	assert_calls(&w, "");
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transient),
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_retry_after_stays),
		cmocka_unit_test(test_for_good),
		cmocka_unit_test(test_for_good_retried),
		cmocka_unit_test(test_carried_out),
		cmocka_unit_test(test_config_map_errors),
		cmocka_unit_test(test_slow_start),
		cmocka_unit_test(test_adopted_after_restart),
		cmocka_unit_test(test_on_its_way),
		cmocka_unit_test(test_carried_out_then_unwanted),
		cmocka_unit_test(test_adopted_after_edit),
		cmocka_unit_test(test_not_adopted),
		cmocka_unit_test(test_config_map_not_adopted),
		cmocka_unit_test(test_foreign_pod),
		cmocka_unit_test(test_foreign_config_map),
		cmocka_unit_test(test_late_config_map),
		cmocka_unit_test(test_snapshot_without_label),
		cmocka_unit_test(test_fence_changes),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_fence_late),
		cmocka_unit_test(test_fence_queued),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
