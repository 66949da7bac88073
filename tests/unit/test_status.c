/* The status as JSON (CONTRACT.md §3): a written status reads back equal, statuses of the original controller for the
 * same stories, and statuses that nobody should have written. */
#include "tests/unit/sync_world.h"

#define GOLDEN "tests/unit/data/golden.json"
#define MIN_FAILED(n) ",'frameworkAttemptCompletionPolicy':{'minFailedTaskCount':" n ",'minSucceededTaskCount':-1}"

/* ---- the original's statuses ------------------------------------------------------------------------------------- */

static json_t *golden(const char *name)
{
	json_error_t error;
	cleanup_json json_t *all = json_load_file(GOLDEN, 0, &error);
	json_t *found;

	if (all == NULL)
		fail_msg("%s: %s", GOLDEN, error.text);
	found = json_at(json_object_get(all, name), "result");
	assert_non_null(found);
	return json_incref(found);
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static json_t *normalised_text(const char *key, const char *text, bool attempt)
{
	char uid[32];

	if (strcmp(key, "instanceUID") == 0 && attempt) {
		snprintf(uid, sizeof(uid), "%.*s_UID", (int)strcspn(text, "_"), text);
		return json_string(uid);
	}
	if (strcmp(key, "instanceUID") == 0 || strcmp(key, "configMapUID") == 0 || strcmp(key, "podUID") == 0)
		return json_string("UID");
	if (ends_with(key, "Time"))
		return json_string("TIME");
	if (strcmp(key, "podIP") == 0 || strcmp(key, "podHostIP") == 0)
		return json_string("IP");
	if (strcmp(key, "podNodeName") == 0)
		return json_string("NODE");
	return json_string(text);
}

/* As the golden file says it is normalised. */
static json_t *normalised(const json_t *value, const char *key)
{
	json_t *out;
	const char *name;
	json_t *member;
	size_t i;

	if (json_is_array(value)) {
		out = json_array();
		json_array_foreach(value, i, member)
			json_array_append_new(out, normalised(member, key));
		return out;
	}
	if (!json_is_object(value))
		return json_deep_copy(value);
	out = json_object();
	json_object_foreach((json_t *)value, name, member) {
		if (json_is_null(member) || strcmp(name, "conditions") == 0 || strcmp(name, "observedGeneration") == 0)
			continue;
		if (strcmp(name, "taskIndex") == 0)
			json_object_set_new(out, name, json_string("N"));
		else if (json_is_string(member))
			json_object_set_new(
				out, name,
				normalised_text(name, json_string_value(member), strcmp(key, "attemptStatus") == 0));
		else
			json_object_set_new(out, name, normalised(member, name));
	}
	return out;
}

static void assert_golden(const json_t *found, const char *name)
{
	cleanup_json json_t *ours = normalised(found, "status");
	cleanup_json json_t *theirs = golden(name);
	cleanup_free char *ours_text = json_dumps(ours, JSON_SORT_KEYS);
	cleanup_free char *theirs_text = json_dumps(theirs, JSON_SORT_KEYS);

	assert_string_equal(ours_text, theirs_text);
}

#define TIMEOUT_600 ",'podGracefulDeletionTimeoutSec':600"
#define FANCY_1 ",'retryPolicy':{'fancyRetryPolicy':true,'maxRetryCount':1}"

static void test_golden_succeed(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 3, MIN_FAILED("1"), TIMEOUT_600, "");
	world_settle(&w);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < 3; i++) {
			if (pass == 0)
				world_pod_phase(&w, pod_name("a", i), "Running");
			else
				world_pod_exit(&w, pod_name("a", i), 0, "");
		}
		world_settle(&w);
	}
	assert_golden(json_object_get(w.object, "status"), "succeed");
	world_end(&w);
}

static void test_golden_unknown_retry(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", TIMEOUT_600 FANCY_1, FANCY_1);
	for (int i = 0; i < 4; i++) {
		world_settle(&w);
		world_pod_phase(&w, "f-a-0", "Running");
		world_settle(&w);
		world_pod_exit(&w, "f-a-0", 1, "");
	}
	world_settle(&w);
	assert_golden(json_object_get(w.object, "status"), "unknown_retry");
	world_end(&w);
}

static void test_golden_service_batch(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, "{'taskRoles':[{'name':'server','taskNumber':2,'task':{'podGracefulDeletionTimeoutSec':600}},"
			"{'name':'worker','taskNumber':3,'frameworkAttemptCompletionPolicy':{'minFailedTaskCount':1,"
			"'minSucceededTaskCount':3},'task':{'podGracefulDeletionTimeoutSec':600}}]}");
	world_settle(&w);
	world_pod_phase(&w, "f-server-0", "Running");
	world_pod_phase(&w, "f-server-1", "Running");
	for (size_t i = 0; i < 3; i++) {
		world_pod_phase(&w, pod_name("worker", i), "Running");
		world_settle(&w);
		world_pod_exit(&w, pod_name("worker", i), 0, "");
	}
	world_settle(&w);
	assert_golden(json_object_get(w.object, "status"), "service_batch");
	world_end(&w);
}

static void test_golden_config_map_deleted(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 2, "", TIMEOUT_600, FANCY_1);
	for (int pass = 0; pass < 2; pass++) {
		world_settle(&w);
		world_pod_phase(&w, "f-a-0", "Running");
		world_pod_phase(&w, "f-a-1", "Running");
		world_settle(&w);
		if (pass == 0)
			world_config_map_deleting(&w);
	}
	assert_golden(json_object_get(w.object, "status"), "cm_deleted");
	world_end(&w);
}

/* The completionStatus of a Task whose Pod failed so; podFailureSpec is that of test_classify. */
static void test_golden_match_none(void **state)
{
	struct world w;
	cleanup_json json_t *status = NULL;

	(void)state;
	world_begin_of(&w, 2, "", "", "");
	world_settle(&w);
	world_pod_phase(&w, "f-a-1", "Running");
	world_pod_exit(&w, "f-a-0", 77, "{'message':'tail of \\u0022log\\u0022 <with> &unicode \\u00e9\\ttab'}");
	world_settle(&w);
	status = world_status(&w);
	assert_golden(json_at(status, "attemptStatus.taskRoleStatuses.0.taskStatuses.0.attemptStatus.completionStatus"),
		      "match_none");
	world_end(&w);
}

/* ---- both ways --------------------------------------------------------------------------------------------------- */

static json_t *write_status(const struct framework_status *status, bool compressed)
{
	cleanup_buf struct buf roles = {0};
	cleanup_buf struct buf text = {0};
	cleanup_free char *packed = NULL;
	struct error err;
	json_t *json;

	if (compressed) {
		role_statuses_write(&roles, &status->attempt, WORLD_NAME);
		packed = text_compress(roles.data, roles.len);
	}
	framework_status_write(&text, status, WORLD_NAME, packed);
	json = json_parse(text.data, text.len, &err);
	if (json == NULL)
		fail_msg("%s in %s", err.message, text.data);
	return json;
}

static void assert_round_trip(const struct framework_status *status)
{
	for (int compressed = 0; compressed < 2; compressed++) {
		cleanup_json json_t *first = write_status(status, compressed);
		cleanup_json json_t *plain = write_status(status, false);
		cleanup_json json_t *second = NULL;
		cleanup_free char *a = NULL;
		cleanup_free char *b = NULL;
		struct framework_status read;
		struct error err;

		assert_true(framework_status_present(first));
		if (framework_status_parse(first, &read, &err) < 0)
			fail_msg("%s", err.message);
		second = write_status(&read, false);
		a = json_dumps(plain, JSON_SORT_KEYS);
		b = json_dumps(second, JSON_SORT_KEYS);
		assert_string_equal(a, b);
		framework_status_free(&read);
	}
}

/* At every step of a story with retries, scaling, delays and failures. */
static void test_round_trip(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 3, MIN_FAILED("2"), ",'podGracefulDeletionTimeoutSec':0", FANCY_1);
	world_reconcile(&w);
	assert_round_trip(&w.framework->status);
	world_settle(&w);
	assert_round_trip(&w.framework->status);
	world_pod_phase(&w, "f-a-0", "Running");
	world_settle(&w);
	assert_round_trip(&w.framework->status);
	world_pod_exit(&w, "f-a-0", 201, "{'signal':9,'message':'a\\nb \\u00e9 \\ud83d\\ude00 \\u0001'}");
	world_settle(&w);
	assert_round_trip(&w.framework->status);
	world_edit_of(&w, 2, MIN_FAILED("2"), "", FANCY_1);
	w.slow_kubelet = true;
	world_settle(&w);
	assert_true(world_task(&w, 0, 2)->deletion_pending);
	assert_round_trip(&w.framework->status);
	w.slow_kubelet = false;
	world_pod_gone(&w, "f-a-2");
	world_pod_exit(&w, "f-a-1", 201, "");
	world_settle(&w);
	assert_state(&w, STATE_ATTEMPT_COMPLETED);
	assert_true(w.framework->status.retry.delay_sec >= 60);
	assert_non_null(w.framework->status.attempt.completion->trigger);
	assert_round_trip(&w.framework->status);
	world_end(&w);
}

/* Names and nulls exactly: absent optional values are null, but trigger, pod and taskRoleStatusesCompressed are left
 * out. */
static void test_members(void **state)
{
	struct world w;
	cleanup_json json_t *status = NULL;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'executionType':'Create'");
	world_settle(&w);
	json_object_del(json_object_get(w.object, "status"), "conditions");
	json_object_set_new(json_at(w.object, "status.attemptStatus.taskRoleStatuses.0"), "instanceUID",
			    json_string("U"));
	json_object_set_new(json_at(w.object, "status.attemptStatus.taskRoleStatuses.0.taskStatuses.0"), "instanceUID",
			    json_string("U"));
	assert_json(json_object_get(w.object, "status"),
		    "{'observedGeneration':1,'startTime':'2023-11-14T22:13:20Z','runTime':null,'completionTime':null,"
		    "'state':'AttemptCreationPending','transitionTime':'2023-11-14T22:13:20Z','retryPolicyStatus':{"
		    "'totalRetriedCount':0,'accountableRetriedCount':0,'retryDelaySec':null},'attemptStatus':{'id':0,"
		    "'startTime':'2023-11-14T22:13:20Z','runTime':null,'completionTime':null,'instanceUID':null,"
		    "'configMapName':'f-attempt','configMapUID':null,'completionStatus':null,'taskRoleStatuses':[{"
		    "'name':'a','instanceUID':'U','podGracefulDeletionTimeoutSec':null,'taskStatuses':[{'index':0,"
		    "'instanceUID':'U','startTime':'2023-11-14T22:13:20Z','runTime':null,'completionTime':null,"
		    "'state':'AttemptCreationPending','transitionTime':'2023-11-14T22:13:20Z','deletionPending':false,"
		    "'retryPolicyStatus':{'totalRetriedCount':0,'accountableRetriedCount':0,'retryDelaySec':null},"
		    "'attemptStatus':{'id':0,'startTime':'2023-11-14T22:13:20Z','runTime':null,'completionTime':null,"
		    "'instanceUID':null,'podName':'f-a-0','podUID':null,'podNodeName':null,'podIP':null,"
		    "'podHostIP':null,'completionStatus':null}}]}]}}");
	world_end(&w);

	world_begin(&w, "{'taskRoles':[{'name':'a','taskNumber':0}],'executionType':'Create'}");
	world_settle(&w);
	assert_json(json_at(w.object, "status.attemptStatus.taskRoleStatuses.0.taskStatuses"), "[]");
	world_end(&w);
	world_begin(&w, "{'executionType':'Create'}");
	world_settle(&w);
	assert_json(json_at(w.object, "status.attemptStatus.taskRoleStatuses"), "[]");
	status = write_status(&w.framework->status, true);
	assert_json(json_at(status, "attemptStatus.taskRoleStatuses"), "null");
	assert_non_null(json_string_value(json_at(status, "attemptStatus.taskRoleStatusesCompressed")));
	world_end(&w);
}

/* After a restart nobody is accused of having written our status, and nothing is written again. */
static void test_read_again_is_ours(void **state)
{
	struct world w;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'executionType':'Stop'");
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	world_restart(&w);
	world_settle(&w);
	world_clear_log(&w);
	json_object_set_new(json_object_get(w.object, "metadata"), "annotations", json_of("{'x':'y'}"));
	world_stamp(&w, w.object);
	world_tell_framework(&w);
	world_settle(&w);
	assert_int_equal(w.writes, 0);
	world_end(&w);
}

/* ---- statuses nobody should have written ------------------------------------------------------------------------- */

#define TASK_UID "'index':0,'instanceUID':'t'"
#define ROLES(task)                                                                                                  \
	"'state':'AttemptRunning','attemptStatus':{'id':0,'instanceUID':'0_c','configMapUID':'c','taskRoleStatuses'" \
	":[{'name':'a','instanceUID':'r','taskStatuses':[" task "]}]}"

/* Each is an error on its Framework, says where, and is never overwritten. */
static void test_bad_statuses(void **state)
{
	static const struct {
		const char *status;
		const char *message;
	} rows[] = {
		{"{'state':'Running'}", "status.state is \"Running\", expected the name of a state"},
		{"{'state':5}", "status.state is 5, expected the name of a state"},
		{"{'state':'AttemptRunning','startTime':'today'}",
		 "status.startTime is \"today\", expected an RFC 3339 time"},
		{"{'state':'AttemptRunning','attemptStatus':[]}", "status.attemptStatus is [], expected an object"},
		{"{'state':'AttemptRunning','retryPolicyStatus':{'totalRetriedCount':'3'}}",
		 "status.retryPolicyStatus.totalRetriedCount is \"3\""},
		{"{'state':'AttemptRunning','retryPolicyStatus':{'totalRetriedCount':2147483647}}",
		 "status.retryPolicyStatus.totalRetriedCount is 2147483647"},
		{"{'state':'AttemptRunning','retryPolicyStatus':{'retryDelaySec':9223372036854775807}}",
		 "status.retryPolicyStatus.retryDelaySec is 9223372036854775807"},
		{"{" ROLES("{'index':1,'instanceUID':'t','state':'AttemptRunning'}") "}",
		 "taskStatuses[0].index is 1, expected its position in the list"},
		{"{" ROLES("7") "}", "taskStatuses[0]"},
		{"{" ROLES("{" TASK_UID ",'state':'x'}") "}",
		 "status.attemptStatus.taskRoleStatuses[0].taskStatuses[0].state is \"x\""},
		{"{" ROLES("{'index':0,'instanceUID':7,'state':'AttemptCreationPending'}") "}",
		 "taskStatuses[0].instanceUID is 7"},
		/* Without a reason to be over there is nothing to go on. */
		{"{" ROLES("{" TASK_UID ",'state':'Completed'}") "}", "taskStatuses[0].attemptStatus.completionStatus"},
		{"{" ROLES("{" TASK_UID ",'state':'AttemptDeletionPending'}") "}",
		 "taskStatuses[0].attemptStatus.completionStatus"},
		{"{'state':'Completed','attemptStatus':{}}", "status.attemptStatus.completionStatus"},
		{"{'state':'AttemptDeletionRequested','attemptStatus':{'instanceUID':'0_c','configMapUID':'c'}}",
		 "status.attemptStatus.completionStatus"},
		{"{'state':'AttemptRunning','attemptStatus':{'configMapUID':'c'}}", "status.attemptStatus.instanceUID"},
		{"{'state':'AttemptRunning','attemptStatus':{'gangScheduler':'Slurm'}}",
		 "status.attemptStatus.gangScheduler is \"Slurm\", expected the name of a scheduler"},
		{"{'state':'AttemptRunning','attemptStatus':{'gangScheduler':1}}",
		 "status.attemptStatus.gangScheduler is 1"},
		{"{'state':'AttemptRunning','attemptStatus':{'taskRoleStatuses':[{'name':'a','instanceUID':[]}]}}",
		 "taskRoleStatuses[0].instanceUID is []"},
		{"{'state':'AttemptRunning','attemptStatus':{'taskRoleStatuses':[{'name':'A'}]}}",
		 "taskRoleStatuses[0].name is \"A\""},
		{"{'state':'AttemptRunning','attemptStatus':{'taskRoleStatuses':5}}",
		 "status.attemptStatus.taskRoleStatuses is 5, expected a list"},
		/* CONTRACT.md §13: a corrupt compressed value */
		{"{'state':'AttemptRunning','attemptStatus':{'taskRoleStatusesCompressed':'%%%'}}", "not base64"},
		{"{'state':'AttemptRunning','attemptStatus':{'taskRoleStatusesCompressed':'aGVsbG8='}}", "not gzip"},
		{"{'state':'AttemptRunning','attemptStatus':{'taskRoleStatusesCompressed':''}}", "not gzip"},
		{"{'state':'AttemptRunning','attemptStatus':{'taskRoleStatusesCompressed':5}}", "expected base64 text"},
		/* gzip of "nonsense" */
		{"{'state':'AttemptRunning','attemptStatus':{'taskRoleStatusesCompressed':'"
		 "H4sIAAAAAAAAA8vLz8tLzStOTkwFAA=='}}",
		 "taskRoleStatusesCompressed"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		cleanup_json json_t *before = NULL;

		world_init(&w);
		world_create_framework(&w, "{'taskRoles':[{'name':'a','taskNumber':1}]}", rows[i].status);
		before = json_deep_copy(w.object);
		if (w.framework->problem == NULL)
			fail_msg("%s was read", rows[i].status);
		assert_contains(w.framework->problem, rows[i].message);
		world_settle_for(&w, 1000000);
		assert_true(json_equal(w.object, before));
		assert_calls(&w, "");
		/* Somebody repairs it: the Framework goes on. */
		json_object_del(w.object, "status");
		world_stamp(&w, w.object);
		world_tell_framework(&w);
		assert_null(w.framework->problem);
		world_settle(&w);
		assert_state(&w, STATE_PREPARING);
		world_end(&w);
	}
}

#define COMPLETED_TASK(completion) \
	"{" TASK_UID               \
	",'state':'Completed','attemptStatus':{'podUID':'p','instanceUID':'0_p','completionStatus':" completion "}}"
#define GONE(state, completion)                                                                                       \
	"{'state':'" state "','attemptStatus':{'instanceUID':'0_c','configMapUID':'c','completionStatus':" completion \
	"}}"
#define MAP                                                                                              \
	"{'metadata':{'name':'f-attempt','namespace':'ns','uid':'c','labels':{'FC_FRAMEWORK_NAME':'f'}," \
	"'ownerReferences':[{'controller':true,'uid':'fw-uid-1'}]}}"

/* Texts that are missing, or null, are "": the attempt goes on to its end, which Events and the status tell of. */
static void test_texts_missing(void **state)
{
	static const struct {
		const char *status;
		bool config_map;
		int code;
	} rows[] = {
		{GONE("AttemptDeletionPending", "{'code':1,'type':{},'trigger':{}}"), false, 1},
		{GONE("AttemptDeletionRequested", "{'code':1,'type':{'name':'Failed'},'trigger':{}}"), false, 1},
		{GONE("AttemptDeletionRequested", "{'code':1,'trigger':{'message':'m','taskRoleName':null}}"), false,
		 1},
		{GONE("AttemptDeleting", "{'code':1,'phrase':null,'diagnostics':null,'trigger':{'message':null}}"),
		 false, 1},
		{GONE("AttemptDeleting", "{'code':1,'diagnostics':'d','trigger':{'message':null}}"), true, 1},
		{GONE("AttemptDeletionPending", "{}"), true, 0},
		{GONE("AttemptCompleted", "{'code':1,'trigger':{}}"), false, 1},
		{"{" ROLES(COMPLETED_TASK("{'code':1}")) "}", true, 1},
		{"{" ROLES(COMPLETED_TASK("{'code':1,'phrase':null,'diagnostics':null}")) "}", true, 1},
		{"{" ROLES(COMPLETED_TASK("{'code':0,'type':{'name':'Succeeded'}}")) "}", true, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (int retries = 0; retries < 2; retries++) {
			struct world w;
			const json_t *completion;
			const json_t *trigger;

			world_init(&w);
			if (rows[i].config_map)
				world_put(&w, MAP, true);
			world_create_framework(&w,
					       retries == 0 ? "{'taskRoles':[{'name':'a','taskNumber':1}]}"
							    : "{'taskRoles':[{'name':'a','taskNumber':1}],'retryPolicy'"
							      ":{'maxRetryCount':-2}}",
					       rows[i].status);
			world_tell_config_map(&w);
			assert_null(w.framework->problem);
			world_settle(&w);
			if (w.config_map != NULL && strcmp(meta_str(w.config_map, "uid"), "c") == 0)
				world_config_map_deleting(&w);
			world_settle(&w);
			if (retries == 1) {
				assert_state(&w, STATE_PREPARING);
				assert_int_equal(w.framework->status.attempt.id, 1);
				world_end(&w);
				continue;
			}
			assert_state(&w, STATE_COMPLETED);
			assert_code(&w, rows[i].code);
			completion = json_at(w.object, "status.attemptStatus.completionStatus");
			trigger = json_object_get(completion, "trigger");
			assert_non_null(json_str(completion, "phrase"));
			assert_non_null(json_str(completion, "diagnostics"));
			assert_true(trigger == NULL || json_str(trigger, "message") != NULL);
			assert_true(trigger == NULL || json_str(trigger, "taskRoleName") != NULL);
			assert_contains(w.events.data, "FrameworkCompleted: ");
			assert_lacks(w.events.data, "(null)");
			world_end(&w);
		}
	}
}

static void test_absent_statuses(void **state)
{
	static const char *const rows[] = {"null", "{}", "{'state':''}", "{'state':null}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		world_init(&w);
		world_create_framework(&w, "{}", rows[i]);
		world_settle(&w);
		assert_state(&w, STATE_PREPARING);
		world_end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_succeed),
		cmocka_unit_test(test_golden_unknown_retry),
		cmocka_unit_test(test_golden_service_batch),
		cmocka_unit_test(test_golden_config_map_deleted),
		cmocka_unit_test(test_golden_match_none),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_read_again_is_ours),
		cmocka_unit_test(test_bad_statuses),
		cmocka_unit_test(test_texts_missing),
		cmocka_unit_test(test_absent_statuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
