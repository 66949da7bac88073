/* Creating ConfigMaps and Pods: what each answer means, reading before repeating. Who is next is in
 * test_sync_turns.c. */
#include <limits.h>

#include "tests/unit/sync_world.h"

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

		world_begin_creating(&w, 1);
		w.fault = faults[i];
		w.fault.kind = CALL_CREATE_POD;
		w.fault.count = 3;
		world_carry(&w);
		world_reconcile(&w);
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
	world_begin_creating(&w, 1);
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

/* Who edits the spec has perhaps put right what is refused: it is tried at once, unless the server asked to be left
 * alone. */
static void test_edit_ends_backoff(void **state)
{
	static const enum call_kind kinds[] = {CALL_CREATE_CONFIG_MAP, CALL_CREATE_POD};
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		world_begin_of(&w, 1, "", "", "");
		w.fault = (struct world_fault){.kind = kinds[i], .count = INT_MAX, .http_status = 500, .message = "x"};
		world_settle_for(&w, 300000);
		assert_true((i == 0 ? &w.framework->config_map_creates : &w.framework->creates)->until_ms >
			    w.time.boot_ms + 2000);
		w.fault.count = 0;
		world_clear_log(&w);
		world_settle(&w);
		assert_int_equal(w.made[kinds[i]], 0);
		world_edit_of(&w, 1, "", "", ",'description':'other'");
		world_settle_for(&w, 100);
		assert_int_equal(w.made[kinds[i]], 1);
		world_end(&w);
	}

	world_begin_creating(&w, 1);
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD,
				       .count = 1,
				       .http_status = 429,
				       .reason = "TooManyRequests",
				       .retry_after_ms = 30000};
	world_carry(&w);
	world_edit_of(&w, 1, "", "", ",'description':'other'");
	world_settle_for(&w, 29000);
	assert_int_equal(w.made[CALL_CREATE_POD], 1);
	world_settle_for(&w, 40000);
	assert_int_equal(w.made[CALL_CREATE_POD], 2);
	world_end(&w);
}

static void test_retry_after_stays(void **state)
{
	struct request_backoff backoff = {0};
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

/* ' stands for ". The caller frees. */
static char *quoted(const char *text)
{
	char *copy = mem_strdup(text);

	for (char *at = copy; *at != '\0'; at++)
		if (*at == '\'')
			*at = '"';
	return copy;
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
		 "Failed to create Pod: {\"ErrStatus\":{\"metadata\":{},\"status\":\"Failure\",\"message\":\"spec is "
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

		world_begin_creating(&w, 1);
		w.fault = rows[i].fault;
		w.fault.kind = CALL_CREATE_POD;
		w.fault.count = 1;
		world_carry(&w);
		/* Whatever it says, the Pod may be there: that is asked first. */
		world_reconcile(&w);
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

/* The Status in the diagnostics is, byte by byte, what the original controller makes of it. */
static void test_status_shown(void **state)
{
	static const struct {
		const char *body;
		const char *shown;
	} rows[] = {
		{"{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'Pod \\'f-a-0\\' is "
		 "invalid',"
		 "'reason':'Invalid',\n  'details': "
		 "{'name':'f-a-0','kind':'Pod','causes':[{'reason':'FieldValueRequired',"
		 "'message':'Required value','field':'spec.containers'}]},\n  'code': 422\n}\n",
		 "{'metadata':{},'status':'Failure','message':'Pod \\'f-a-0\\' is "
		 "invalid','reason':'Invalid','details':{"
		 "'name':'f-a-0','kind':'Pod','causes':[{'reason':'FieldValueRequired','message':'Required value',"
		 "'field':'spec.containers'}]},'code':422}"},
		{"{'code':422,'reason':'Invalid','details':null,'message':'<é>','metadata':null,'own':1,'status':'"
		 "Failure',"
		 "'apiVersion':'v1','kind':'Status'}",
		 "{'metadata':{},'status':'Failure','message':'<é>','reason':'Invalid','code':422}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *body = quoted(rows[i].body);
		cleanup_free char *shown = quoted(rows[i].shown);
		cleanup_free char *expected = mem_printf("Failed to create Pod: {\"ErrStatus\":%s}", shown);
		const struct call_answer answer = {.sent = true,
						   .http_status = 422,
						   .is_status = true,
						   .reason = "Invalid",
						   .message = "x",
						   .body = body,
						   .retry_after_ms = -1};
		struct world w;

		world_begin_creating(&w, 1);
		framework_answer(w.framework, &w.queue[0], &answer, &w.time, &w.random);
		world_drop_call(&w.queue[--w.queued]);
		world_settle(&w);
		assert_task(&w, 0, 0, STATE_COMPLETED);
		assert_string_equal(world_task(&w, 0, 0)->attempt.completion->diagnostics, expected);
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

/* A create is refused for good, which ends the attempt: that is nothing to the next attempt, which asks for itself. */
static void test_for_good_framework_retried(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", "", ",'retryPolicy':{'maxRetryCount':1}");
	w.fault = (struct world_fault){
		.kind = CALL_CREATE_POD, .count = 1, .http_status = 400, .reason = "BadRequest", .message = "x"};
	world_settle_for(&w, 10000);
	assert_state(&w, STATE_PREPARING);
	assert_int_equal(w.framework->status.attempt.id, 1);
	assert_int_equal(w.made[CALL_CREATE_POD], 3);
	for (size_t i = 0; i < 2; i++)
		assert_task(&w, 0, i, STATE_PREPARING);
	world_end(&w);
}

/* Attempt after attempt whose Pod is refused: each ConfigMap is created and ends, and the Pods' backoff goes on, or the
 * Framework would take the whole rate limit. */
static void test_for_good_without_end(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'retryPolicy':{'maxRetryCount':-2}");
	w.fault = (struct world_fault){.kind = CALL_CREATE_POD,
				       .count = INT32_MAX,
				       .http_status = 403,
				       .reason = "Forbidden",
				       .message = "violates PodSecurity"};
	world_settle_for(&w, 60000);
	assert_in_range(w.made[CALL_CREATE_POD], 10, 20);
	w.fault.count = 0;
	world_settle_for(&w, 60000);
	assert_state(&w, STATE_PREPARING);
	world_end(&w);
}

/* The answer to a create of a Framework that has gone says nothing of its namesake's Pod. */
static void test_refused_for_namesake(void **state)
{
	static const struct call_answer answer = {.sent = true,
						  .http_status = 400,
						  .is_status = true,
						  .reason = "BadRequest",
						  .message = "x",
						  .body = "{}",
						  .retry_after_ms = -1};
	struct world w;
	struct call call;

	(void)state;
	world_begin_creating(&w, 1);
	call = w.queue[--w.queued]; /* it is on its way */
	json_decref(w.object);
	framework_observe_absent(w.framework, NULL);
	world_config_map_gone(&w);
	world_create_framework(&w, "{'taskRoles':[{'name':'a','taskNumber':1}]}", NULL);
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_CREATION_PENDING);
	framework_answer(w.framework, &call, &answer, &w.time, &w.random);
	world_drop_call(&call);
	world_settle(&w);
	assert_state(&w, STATE_PREPARING);
	assert_task(&w, 0, 0, STATE_PREPARING);
	assert_int_equal(w.framework->status.attempt.id, 0);
	world_end(&w);
}

/* What Pods are made of takes no memory once an attempt creates none any more, however it ends; the next attempt, if
 * there is one, has it made again. */
static void test_templates_freed(void **state)
{
	static const char *const retries[] = {"", ",'retryPolicy':{'maxRetryCount':1}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(retries); i++) {
		struct world w;

		world_begin_of(&w, 2, "", "", retries[i]);
		w.fault = (struct world_fault){
			.kind = CALL_CREATE_POD, .name = "f-a-1", .count = INT_MAX, .message = "x"};
		world_settle(&w);
		assert_non_null(w.framework->templates); /* for the second Pod, which is tried again and again */
		w.fault.count = 0;
		w.slow_gc = true;
		world_pod_exit(&w, "f-a-0", 1, "");
		world_settle(&w);
		assert_state(&w, STATE_DELETING);
		assert_null(w.framework->templates);
		w.slow_gc = false;
		world_collect(&w);
		world_settle(&w);
		assert_state(&w, i == 0 ? STATE_COMPLETED : STATE_PREPARING);
		assert_null(w.framework->templates);
		assert_true((world_pod(&w, "f-a-1") == NULL) == (i == 0));
		world_end(&w);

		world_begin_creating(&w, 2);
		w.fault = (struct world_fault){
			.kind = CALL_CREATE_POD, .name = "f-a-1", .count = INT_MAX, .message = "x"};
		world_settle(&w);
		world_config_map_deleting(&w);
		world_settle(&w);
		assert_state(&w, STATE_COMPLETED);
		assert_null(w.framework->templates);
		world_end(&w);
	}
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

		world_begin_creating(&w, 1);
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

/* A create that is on its way is not sent again, however often its Task is looked at. */
static void test_on_its_way(void **state)
{
	struct world w;

	(void)state;
	world_begin_creating(&w, 2);
	world_edit_of(&w, 2, ",'frameworkAttemptCompletionPolicy':{}", "", ",'description':'look again'");
	for (int i = 0; i < 3; i++) {
		w.hold_calls = true;
		world_step(&w);
		world_advance(&w, 1);
	}
	assert_int_equal(w.queued, 1);
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
	world_begin_creating(&w, 2);
	world_carry(&w);
	world_reconcile(&w);
	assert_int_equal(w.queued, 1);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transient),
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_edit_ends_backoff),
		cmocka_unit_test(test_retry_after_stays),
		cmocka_unit_test(test_for_good),
		cmocka_unit_test(test_status_shown),
		cmocka_unit_test(test_for_good_retried),
		cmocka_unit_test(test_for_good_framework_retried),
		cmocka_unit_test(test_for_good_without_end),
		cmocka_unit_test(test_refused_for_namesake),
		cmocka_unit_test(test_templates_freed),
		cmocka_unit_test(test_carried_out),
		cmocka_unit_test(test_config_map_errors),
		cmocka_unit_test(test_on_its_way),
		cmocka_unit_test(test_carried_out_then_unwanted),
	};

	return cmocka_run_group_tests_name("sync_create", tests, NULL, NULL);
}
