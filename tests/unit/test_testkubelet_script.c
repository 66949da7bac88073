/* The test kubelet's scripts: which annotations and commands mean what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testkubelet/script.h"

static json_t *make_pod(const char *annotations, const char *command)
{
	cleanup_free char *text = mem_printf("{\"metadata\":{\"annotations\":{%s}},\"spec\":{\"containers\":[{\"name\":"
					     "\"main\"%s%s}]}}",
					     annotations, command[0] == '\0' ? "" : ",\"command\":", command);
	struct error err;
	json_t *pod = json_parse(text, strlen(text), &err);

	if (pod == NULL)
		fail_msg("%s: %s", text, err.message);
	return pod;
}

static struct script parse(const char *annotations, const char *command)
{
	cleanup_json json_t *pod = make_pod(annotations, command);
	struct script script;

	script_parse(pod, &script);
	return script;
}

static void list_items_are_chosen_by_index_and_the_last_repeats(void **state)
{
	static const struct {
		const char *list;
		int64_t index;
		const char *item;
	} rows[] = {
		{"1,0", 0, "1"}, {"1,0", 1, "0"}, {"1,0", 7, "0"}, {"5", 3, "5"},
		{"", 0, ""},     {",2", 0, ""},   {"1,", 1, ""},   {"1,2", -4, "1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *item = script_list_item(rows[i].list, ',', rows[i].index);

		assert_string_equal(item, rows[i].item);
	}
}

/* A command that is foreseen wrongly makes a benchmark or a test end too early, or never. */
static void simple_commands_are_foreseen(void **state)
{
	static const struct {
		const char *command;
		int64_t run_ms;
		int32_t exit_code;
	} rows[] = {
		{"[\"sh\",\"-c\",\"sleep 1\"]", 1000, 0},
		{"[\"sh\",\"-c\",\"sleep 0.25 && exit 3\"]", 250, 3},
		{"[\"sh\",\"-c\",\"sleep 2; exit 210\"]", 2000, 210},
		{"[\"sh\",\"-c\",\"exit 7\"]", 0, 7},
		{"[\"sh\",\"-c\",\"sleep 1\\nsleep 2\\nexit 1\\nsleep 9\"]", 3000, 1},
		{"[\"sh\",\"-c\",\"echo hello world; false && sleep 9; exit\"]", 0, 1},
		{"[\"sh\",\"-c\",\"sleep 1m\"]", 60000, 0},
		{"[\"sh\",\"-c\",\"sleep infinity; exit 3\"]", SCRIPT_FOREVER, 0},
		{"[\"/bin/sh\",\"-c\",\"false\"]", 0, 1},
		{"[\"sleep\",\"10\"]", 10000, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct script script = parse("", rows[i].command);

		if (script.run_ms != rows[i].run_ms || script.exit_code != rows[i].exit_code)
			fail_msg("%s: %lld ms, exit code %d", rows[i].command, (long long)script.run_ms,
				 script.exit_code);
		script_free(&script);
	}
}

static void other_commands_run_for_ever(void **state)
{
	static const char *const rows[] = {
		"",
		"[\"nginx\"]",
		"[\"sh\",\"-c\",\"sleep $N\"]",
		"[\"sh\",\"-c\",\"sleep 1 || exit 3\"]",
		"[\"sh\",\"-c\",\"sleep 1 & exit 3\"]",
		"[\"sh\",\"-c\",\"sleep 1 > /dev/null\"]",
		"[\"sh\",\"-c\",\"sleep\"]",
		"[\"sh\",\"-c\",\"sleep 1x\"]",
		"[\"sh\",\"-c\",\"sleep -1\"]",
		"[\"sh\",\"-c\",\"exit 256\"]",
		"[\"sh\",\"-c\",\"&& exit 2\"]",
		"[\"sh\",\"-c\",\"\"]",
		"[\"sh\",\"-c\",7]",
		"[\"sh\",\"-c\",\"if true; then exit 1; fi\"]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct script script = parse("", rows[i]);

		if (script.run_ms != SCRIPT_FOREVER || script.exit_code != 0)
			fail_msg("%s: %lld ms, exit code %d", rows[i], (long long)script.run_ms, script.exit_code);
		script_free(&script);
	}
}

static void annotations_win_over_the_command(void **state)
{
	struct script script = parse("\"testkubelet/run-seconds\":\"0.5\",\"testkubelet/exit-code\":\"9\","
				     "\"testkubelet/reason\":\"OOMKilled\",\"testkubelet/message\":\"a, b\"",
				     "[\"sh\",\"-c\",\"sleep 3; exit 1\"]");

	(void)state;
	assert_int_equal(script.kind, SCRIPT_RUN);
	assert_int_equal(script.run_ms, 500);
	assert_int_equal(script.exit_code, 9);
	assert_string_equal(script.reason, "OOMKilled");
	assert_string_equal(script.message, "a, b");
	assert_false(script.pod_failure);
	script_free(&script);

	script = parse("\"testkubelet/exit-code\":\"2\"", "[\"sh\",\"-c\",\"sleep 3; exit 1\"]");
	assert_int_equal(script.run_ms, 3000);
	assert_int_equal(script.exit_code, 2);
	script_free(&script);

	script = parse("\"testkubelet/run-seconds\":\"forever\"", "[\"sh\",\"-c\",\"exit 1\"]");
	assert_int_equal(script.run_ms, SCRIPT_FOREVER);
	script_free(&script);
}

/* Statuses that are full of what containers said are to be as large as that, compressed or not. */
static void random_messages_are_the_pods_own(void **state)
{
	static const char *const uids[] = {"a", "b", "a"};
	char *messages[ARRAY_LEN(uids)];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
		cleanup_json json_t *pod = make_pod("\"testkubelet/random-message\":\"4096\"", "");
		struct script script;

		json_object_set_new(json_object_get(pod, "metadata"), "uid", json_string(uids[i]));
		script_parse(pod, &script);
		assert_int_equal(strlen(script.message), 4096);
		messages[i] = mem_strdup(script.message);
		script_free(&script);
	}
	assert_string_not_equal(messages[0], messages[1]);
	assert_string_equal(messages[0], messages[2]);
	for (size_t i = 0; i < ARRAY_LEN(uids); i++)
		free(messages[i]);
}

static void values_follow_the_attempt(void **state)
{
	static const struct {
		const char *task_attempt;
		const char *framework_attempt;
		int32_t exit_code;
	} rows[] = {{"0", "0", 200}, {"1", "0", 1}, {"2", "0", 0}, {"9", "3", 0}, {"x", "0", 200}};
	struct script script;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *annotations = mem_printf(
			"\"testkubelet/exit-code\":\"200,1,0\",\"FC_TASK_ATTEMPT_ID\":\"%s\","
			"\"FC_FRAMEWORK_ATTEMPT_ID\":\"%s\"",
			rows[i].task_attempt, rows[i].framework_attempt);

		script = parse(annotations, "");
		assert_int_equal(script.exit_code, rows[i].exit_code);
		assert_int_equal(script.run_ms, 0);
		script_free(&script);
	}
	script = parse("\"testkubelet/exit-code\":\"5\",\"testkubelet/attempt-exit-code\":\"6,7\","
		       "\"FC_TASK_ATTEMPT_ID\":\"0\",\"FC_FRAMEWORK_ATTEMPT_ID\":\"1\"",
		       "");
	assert_int_equal(script.exit_code, 7);
	script_free(&script);
}

static void a_pod_can_fail_as_a_whole(void **state)
{
	struct script script = parse("\"testkubelet/pod-reason\":\"Evicted\",\"testkubelet/pod-message\":\"disk\"", "");

	(void)state;
	assert_true(script.pod_failure);
	assert_true(script.never_runs);
	assert_string_equal(script.pod_reason, "Evicted");
	assert_string_equal(script.pod_message, "disk");
	script_free(&script);

	script = parse("\"testkubelet/pod-reason\":\"Evicted\",\"testkubelet/run-seconds\":\"1\"", "");
	assert_true(script.pod_failure);
	assert_false(script.never_runs);
	script_free(&script);

	/* Only the first attempt of "Evicted," is evicted. */
	script = parse("\"testkubelet/pod-reason\":\"Evicted,\",\"FC_TASK_ATTEMPT_ID\":\"1\"", "[\"sleep\",\"1\"]");
	assert_false(script.pod_failure);
	assert_int_equal(script.run_ms, 1000);
	script_free(&script);
}

static void signals_and_phases_and_stubbornness(void **state)
{
	struct script script = parse("\"testkubelet/signal\":\"9\"", "");

	(void)state;
	assert_int_equal(script.signal, 9);
	assert_int_equal(script.exit_code, 137);
	assert_int_equal(script.run_ms, 0);
	script_free(&script);
	script = parse("\"testkubelet/phase\":\"hold,\",\"testkubelet/ignore-termination\":\"true\"", "");
	assert_int_equal(script.kind, SCRIPT_HOLD);
	assert_true(script.ignore_termination);
	script_free(&script);
	script = parse("\"testkubelet/phase\":\"hold,\",\"FC_TASK_ATTEMPT_ID\":\"1\"", "");
	assert_int_equal(script.kind, SCRIPT_RUN);
	script_free(&script);
	script = parse("\"testkubelet/phase\":\"pending\"", "");
	assert_int_equal(script.kind, SCRIPT_PENDING);
	script_free(&script);
	script = parse("\"testkubelet/phase\":\"unschedulable\"", "");
	assert_int_equal(script.kind, SCRIPT_UNSCHEDULABLE);
	script_free(&script);
}

static void images_that_no_kubelet_can_read(void **state)
{
	static const struct {
		const char *image;
		bool readable;
	} rows[] = {
		{"i", true},
		{"REGISTRY:5000/team/busy_box.x-1:Tag", true},
		{"busybox@sha256:0a", true},
		{"BusyBox", false},
		{"busybox latest", false},
		{"team/", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_json json_t *pod = json_pack("{s:{s:[{s:s,s:s}]}}", "spec", "containers", "name", "c", "image",
						     rows[i].image);
		struct script script;

		script_parse(pod, &script);
		assert_int_equal(script.kind, rows[i].readable ? SCRIPT_RUN : SCRIPT_PENDING);
		if (!rows[i].readable)
			assert_string_equal(script.reason, "InvalidImageName");
		script_free(&script);
	}
}

static void a_deadline_cuts_a_longer_run(void **state)
{
	cleanup_json json_t *pod = make_pod("", "[\"sleep\",\"100\"]");
	struct script script;

	(void)state;
	json_object_set_new(json_object_get(pod, "spec"), "activeDeadlineSeconds", json_integer(2));
	script_parse(pod, &script);
	assert_int_equal(script.run_ms, 2000);
	assert_string_equal(script.pod_reason, "DeadlineExceeded");
	assert_false(script.never_runs);
	script_free(&script);
	json_object_set_new(json_object_get(pod, "spec"), "activeDeadlineSeconds", json_integer(200));
	script_parse(pod, &script);
	assert_int_equal(script.run_ms, 100000);
	assert_false(script.pod_failure);
	script_free(&script);
}

static void nonsense_counts_as_not_given(void **state)
{
	static const char *const objects[] = {"{}", "[]", "{\"metadata\":{\"annotations\":7},\"spec\":[]}",
					      "{\"metadata\":{\"annotations\":{\"testkubelet/exit-code\":3}}}",
					      ("{\"metadata\":{\"annotations\":{\"testkubelet/run-seconds\":\"soon\","
					       "\"testkubelet/exit-code\":\"99999999999\"}}}")};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
		struct error err;
		cleanup_json json_t *pod = json_parse(objects[i], strlen(objects[i]), &err);
		struct script script;

		script_parse(pod, &script);
		assert_int_equal(script.kind, SCRIPT_RUN);
		assert_int_equal(script.run_ms, SCRIPT_FOREVER);
		assert_int_equal(script.exit_code, 0);
		script_free(&script);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_items_are_chosen_by_index_and_the_last_repeats),
		cmocka_unit_test(simple_commands_are_foreseen),
		cmocka_unit_test(other_commands_run_for_ever),
		cmocka_unit_test(annotations_win_over_the_command),
		cmocka_unit_test(random_messages_are_the_pods_own),
		cmocka_unit_test(values_follow_the_attempt),
		cmocka_unit_test(a_pod_can_fail_as_a_whole),
		cmocka_unit_test(signals_and_phases_and_stubbornness),
		cmocka_unit_test(images_that_no_kubelet_can_read),
		cmocka_unit_test(a_deadline_cuts_a_longer_run),
		cmocka_unit_test(nonsense_counts_as_not_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
