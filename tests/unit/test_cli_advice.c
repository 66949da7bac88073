/* kubectl framework why: its advice names commands that work, and for a Framework of another controller what controls
 * it. */
#include "common/framework/codes.h"
#include "tests/unit/cli_why.h"

#define IS_CONTROLLED "Framework f is controlled by TFJob t-w0: change that TFJob, or create it again."

/* As fc-jobs makes it. */
static void control(struct cli_world *w)
{
	json_object_set_new(json_object_get(w->framework.object, "metadata"), "ownerReferences",
			    cli_json("[{'kind':'Person','name':'p','uid':'x'},{'kind':'TFJob','name':'t-w0','uid':'y','"
				     "controller':true}]"));
}

/* The place of a text or command among the advice; -1: it is not there. */
static int advice_at(const struct why *why, const char *wanted)
{
	for (size_t i = 0; i < why->advice_count; i++)
		if (strcmp(why->advice[i].text, wanted) == 0 ||
		    (why->advice[i].command != NULL && strcmp(why->advice[i].command, wanted) == 0))
			return (int)i;
	return -1;
}

/* Nothing is advised that changes the Framework. */
static void assert_controlled(const struct why *why)
{
	int found = 0;

	for (size_t i = 0; i < why->advice_count; i++) {
		const char *command = why->advice[i].command == NULL ? "" : why->advice[i].command;

		found += strcmp(why->advice[i].text, IS_CONTROLLED) == 0;
		assert_null(strstr(command, "kubectl framework"));
		assert_null(strstr(command, "kubectl edit"));
		assert_null(strstr(why->advice[i].text, "kubectl edit"));
	}
	assert_int_equal(found, 1);
}

static void begin_completed(struct cli_world *w, int code, const char *phrase)
{
	cleanup_free char *attempt = mem_printf(
		"'completionStatus':{'code':%d,'phrase':'%s','type':{'name':'Failed','attributes':['Permanent']},"
		"'diagnostics':'d'},",
		code, phrase);
	cleanup_free char *status = cli_status("Completed", "", attempt, "");

	cli_world_begin(w, ONE_ROLE, status);
	w->framework.status.completion_time = CLI_NOW - 120;
}

static void test_controlled_ended(void **state)
{
	static const int codes[] = {7, CODE_POD_CREATION_PERMANENT_ERROR, CODE_POD_NEVER_STARTS,
				    CODE_ACTIVE_DEADLINE_EXCEEDED, CODE_STOP_FRAMEWORK_REQUESTED};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		struct cli_world w;
		struct why why;

		begin_completed(&w, codes[i], "P");
		why_explain(&w.inquiry, &why);
		assert_int_not_equal(advice_at(&why, "kubectl framework retry f -n ns"), -1);
		why_free(&why);
		control(&w);
		why_explain(&w.inquiry, &why);
		assert_controlled(&why);
		done(&w, &why);
	}
}

/* fc-jobs stops the Framework of a job that has succeeded or failed. */
static void test_controlled_stopped(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	begin_completed(&w, CODE_STOP_FRAMEWORK_REQUESTED, "StopFrameworkRequested");
	explain(&w, &why, "stopped", "was stopped 2m ago. Somebody stopped the Framework.");
	why_free(&why);
	control(&w);
	explain(&w, &why, "stopped", "was stopped 2m ago. Either its TFJob t-w0 ended it, or somebody stopped it:");
	done(&w, &why);
}

static void test_controlled_held(void **state)
{
	static const struct {
		const char *spec, *kind, *command;
	} rows[] = {
		{ONE_ROLE ",'suspend':true", "suspending", "kubectl framework resume f -n ns"},
		{ONE_ROLE ",'executionType':'Create'", "not-started", "kubectl framework start f -n ns"},
		{"'taskRoles':[{'name':'a','taskNumber':-1}]", "malformed", "kubectl edit framework f -n ns"},
		{"'taskRoles':[{'name':'a','taskNumber':0},{'name':'b','taskNumber':0}]", "no-tasks",
		 "kubectl framework scale f ROLE=N -n ns"},
	};
	cleanup_free char *status = cli_status("AttemptCreationPending", "", "", "");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cli_world w;
		struct why why;

		cli_world_begin(&w, rows[i].spec, status);
		explain(&w, &why, rows[i].kind, "");
		assert_int_not_equal(advice_at(&why, rows[i].command), -1);
		why_free(&why);
		control(&w);
		explain(&w, &why, rows[i].kind, "");
		assert_controlled(&why);
		done(&w, &why);
	}
}

/* A new Framework of the same spec would fail, too: the spec is corrected before the retry. */
static void test_edit_first(void **state)
{
	static const struct {
		int code;
		bool edit;
	} rows[] = {
		{CODE_POD_CREATION_PERMANENT_ERROR, true}, {CODE_POD_NEVER_STARTS, true},
		{CODE_ACTIVE_DEADLINE_EXCEEDED, true},     {CODE_CONTAINER_PERMANENT_FAILED, false},
		{CODE_POD_START_TIMEOUT, false},           {CODE_STOP_FRAMEWORK_REQUESTED, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cli_world w;
		struct why why;
		int edit, again;

		begin_completed(&w, rows[i].code, "P");
		why_explain(&w.inquiry, &why);
		edit = advice_at(&why, "kubectl edit framework f -n ns");
		again = advice_at(&why, "kubectl framework retry f -n ns");
		assert_int_equal(edit != -1, rows[i].edit);
		assert_true(edit < again);
		done(&w, &why);
	}
}

/* Values of wrong types in the template, and refusals by others, have one code. */
static void test_refused(void **state)
{
	static const struct {
		int code;
		const char *status, *said, *meaning;
		bool edit;
	} rows[] = {
		{CODE_POD_CREATION_UNKNOWN_ERROR, "\\'message\\':\\'cannot be handled\\',\\'reason\\':\\'BadRequest\\'",
		 "Failed to create Pod: BadRequest: cannot be handled", "says that the Pod is invalid", true},
		{CODE_POD_CREATION_UNKNOWN_ERROR, "\\'message\\':\\'denied\\',\\'reason\\':\\'Forbidden\\'",
		 "Failed to create Pod: Forbidden: denied", "The API server refused the Pod.", false},
		{CODE_POD_CREATION_PERMANENT_ERROR, "\\'message\\':\\'bad\\',\\'reason\\':\\'Invalid\\'",
		 "Failed to create Pod: Invalid: bad", "says that the Pod is invalid", true},
		{CODE_POD_CREATION_UNKNOWN_ERROR, "", "Failed to create Pod: {\"ErrStatus\":{}}",
		 "The API server refused the Pod.", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *diagnostics = mem_printf("Failed to create Pod: {\\'ErrStatus\\':{%s}}",
							    rows[i].status);
		cleanup_free char *attempt = mem_printf(
			"'completionStatus':{'code':%d,'phrase':'P','type':{'name':'Failed','attributes':[]},"
			"'diagnostics':'%s'},",
			rows[i].code, diagnostics);
		cleanup_free char *status = cli_status("Completed", "", attempt, "");
		struct cli_world w;
		struct why why;

		cli_world_begin(&w, ONE_ROLE, status);
		explain(&w, &why, "failed", rows[i].meaning);
		assert_string_equal(fact(&why, "Diagnostics"), rows[i].said);
		assert_int_equal(advice_at(&why, "kubectl edit framework f -n ns") != -1, rows[i].edit);
		done(&w, &why);
	}
}

static void test_never_starts(void **state)
{
	struct cli_world w;
	struct why why;

	(void)state;
	begin_tasks(&w, "AttemptPreparing", ONE_ROLE, three("AttemptPreparing", ""));
	three_pods(&w, "", "'nodeName':'n'",
		   "'phase':'Pending','containerStatuses':[{'name':'c','state':{'waiting':{'reason':'InvalidImageName',"
		   "'message':'m'}}}]",
		   NULL);
	explain(&w, &why, "never-starts", "InvalidImageName: m");
	assert_int_equal(advice_at(&why, "kubectl edit framework f -n ns"), 1);
	assert_contains(why.advice[0].text, "Correct the template");
	why_free(&why);
	control(&w);
	explain(&w, &why, "never-starts", "InvalidImageName: m");
	assert_controlled(&why);
	done(&w, &why);
}

/* Tasks that were scaled away exist until their Pods are gone. */
static void test_scaled_to_none(void **state)
{
	cleanup_free char *status = cli_status("AttemptRunning", "", "", "");
	struct cli_world w;
	struct why why;
	char *tasks = three("AttemptDeletionRequested",
			    ",'completionStatus':{'code':-230,'phrase':'DeleteTaskRequested','type':{'name':'Failed','"
			    "attributes':['Permanent']},'diagnostics':'d'}"),
	     *at = tasks;

	(void)state;
	while ((at = strstr(at, "'deletionPending':false")) != NULL)
		memcpy(at, "'deletionPending':true ", strlen("'deletionPending':true "));
	begin_tasks(&w, "AttemptRunning", "'taskRoles':[{'name':'a','taskNumber':0}]", tasks);
	three_pods(&w, ",'deletionTimestamp':'2026-01-01T00:59:50Z'", "'nodeName':'n1'", "'phase':'Running'", NULL);
	explain(&w, &why, "no-tasks",
		"or until it is stopped. 3 former Tasks are being removed, and exist until their Pods are gone.");
	assert_contains(fact(&why, "Pod f-a-0"), "terminates on node n1");
	assert_int_not_equal(advice_at(&why, "kubectl framework scale f a=N -n ns"), -1);
	done(&w, &why);
	cli_world_begin(&w, "'taskRoles':[]", status);
	explain(&w, &why, "no-tasks", "has no Tasks");
	assert_null(strstr(why.answer, "former"));
	assert_int_not_equal(advice_at(&why, "kubectl edit framework f -n ns"), -1);
	done(&w, &why);
}

/* The attempt has ended, and what it has left is not deleted. */
static void test_ending(void **state)
{
	cleanup_free char *status = cli_status(
		"AttemptDeletionPending", "",
		"'completionStatus':{'code':-210,'phrase':'StopFrameworkRequested','type':"
		"{'name':'Failed','attributes':[]},'diagnostics':'User has requested it'},",
		"");
	struct cli_world w;
	struct why why;

	(void)state;
	cli_world_begin(&w, ONE_ROLE ",'executionType':'Stop'", status);
	explain(&w, &why, "ending", "goes on when they are gone");
	assert_int_equal(why.advice_count, 0);
	why_free(&why);
	cli_world_event(&w, "FailedDeleteConfigMap", "Failed to delete f-attempt: denied by protect");
	explain(&w, &why, "ending", "refuses that: Failed to delete f-attempt: denied by protect.");
	assert_int_equal(why.advice_count, 1);
	done(&w, &why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_controlled_ended), cmocka_unit_test(test_controlled_stopped),
		cmocka_unit_test(test_controlled_held),  cmocka_unit_test(test_edit_first),
		cmocka_unit_test(test_never_starts),     cmocka_unit_test(test_scaled_to_none),
		cmocka_unit_test(test_ending),           cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("cli_advice", tests, NULL, NULL);
}
