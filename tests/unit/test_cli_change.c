/* kubectl framework stop, start, suspend, resume, scale and retry: what they note, and what they refuse. */
#define _GNU_SOURCE
#include "tests/unit/cli_commands.h"
#include "tests/unit/cli_world.h"

#define CONTROLLED                                                                       \
	",'ownerReferences':[{'kind':'Person','name':'p'},{'kind':'TFJob','name':'t-w0'" \
	",'controller':true}]"

static const char *metadata; /* more members of it */
static const char *framework_state;
static const char *members = ""; /* more members of spec */

static bool drops; /* the CRD has none of the fields that are changed */

/* As the API server carries out a merge patch. */
static json_t *merged(const char *text, const struct http_conn *conn)
{
	json_t *object = cli_json(text);
	cleanup_json json_t *patch = json_parse(conn->body, strlen(conn->body), NULL);

	if (strcmp(conn->method, "PATCH") == 0 && json_is_object(patch) && !drops)
		json_object_update(json_object_get(object, "spec"), json_object_get(patch, "spec"));
	return object;
}

/* The Framework, which keeps no change. */
static void serve(struct world *w, struct http_conn *conn)
{
	cleanup_json json_t *object = NULL;
	cleanup_free char *answer = NULL;
	cleanup_free char *status = cli_status(framework_state, "", "", "");
	cleanup_free char *text = mem_printf(
		"{'apiVersion':'frameworkcontroller.microsoft.com/v1','kind':'Framework','metadata':{'name':'f',"
		"'namespace':'ns','uid':'u'%s},'spec':{%s'taskRoles':[{'name':'a','taskNumber':2,"
		"'frameworkAttemptCompletionPolicy':{'minSucceededTaskCount':2}}]},'status':%s}",
		metadata, members, status);

	assert_string_equal(conn->path, FRAMEWORKS "/f");
	w->asked += strcmp(conn->method, "GET") != 0;
	object = merged(text, conn);
	answer = json_text(object);
	reply(conn, 200, answer);
}

static const char *const changes[][2] = {
	{"stop", NULL}, {"start", NULL}, {"suspend", NULL}, {"resume", NULL}, {"scale", "a=1"},
};

static void test_controlled(void **state)
{
	(void)state;
	framework_state = "AttemptRunning";
	for (size_t i = 0; i < ARRAY_LEN(changes); i++)
		for (int controlled = 0; controlled < 2; controlled++) {
			const char *note = "note: Framework f is controlled by TFJob t-w0, whose controller may undo "
					   "this: change that TFJob instead\n";
			struct world w;

			metadata = controlled ? CONTROLLED : "";
			begin(&w, serve);
			assert_int_equal(run(&w, changes[i][0], "f", changes[i][1], NULL), CLI_DONE);
			assert_int_equal(w.asked, 1);
			assert_int_equal(strstr(w.err, note) != NULL, controlled);
			end(&w);
		}
}

/* fc-jobs undoes all but a stop. */
static void test_job(void **state)
{
	(void)state;
	framework_state = "AttemptRunning";
	metadata = CONTROLLED ",'labels':{'frameworkcontroller.microsoft.com/job-kind':'tfjobs.kubeflow.org'}";
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		const char *note = strcmp(changes[i][0], "stop") == 0
					   ? "note: Framework f is controlled by TFJob t-w0: that TFJob fails, because "
					     "its Framework is stopped, and does not run again\n"
					   : "note: Framework f is controlled by TFJob t-w0, whose controller may undo "
					     "this: change that TFJob instead\n";
		struct world w;

		begin(&w, serve);
		assert_int_equal(run(&w, changes[i][0], "f", changes[i][1], NULL), CLI_DONE);
		assert_non_null(strstr(w.err, note));
		assert_int_equal(strstr(w.err, "may undo") == NULL, strcmp(changes[i][0], "stop") == 0);
		end(&w);
	}
}

/* The job would begin anew, behind the user's back. */
static void test_deleted(void **state)
{
	(void)state;
	metadata = CONTROLLED;
	for (int completed = 0; completed < 2; completed++) {
		struct world w;

		framework_state = completed ? "Completed" : "AttemptRunning";
		begin(&w, serve);
		assert_int_equal(run(&w, "delete", "f", "--no-wait", NULL), CLI_DONE);
		assert_string_equal(w.err,
				    completed ? ""
					      : "note: Framework f was controlled by TFJob t-w0, whose controller "
						"may create it again, to run from the beginning: delete that TFJob "
						"instead\n");
		end(&w);
	}
}

/* Whether it is controlled or not. */
static void test_completed(void **state)
{
	static const char note[] = "note: Framework f is already Completed: this change has no effect\n";

	(void)state;
	framework_state = "Completed";
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		struct world w;

		metadata = i % 2 == 0 ? "" : CONTROLLED;
		begin(&w, serve);
		assert_int_equal(run(&w, changes[i][0], "f", changes[i][1], NULL), CLI_DONE);
		assert_int_equal(w.asked, 1);
		assert_string_equal(w.err, note);
		end(&w);
	}
}

/* The controller does nothing before the field is correct, unless the Framework is over. */
static void test_malformed(void **state)
{
	static const char note[] =
		"note: Framework f is malformed (spec.retryPolicy.maxRetryCount is \"x\", expected an integer in ";

	(void)state;
	metadata = "";
	members = "'retryPolicy':{'maxRetryCount':'x'},";
	for (int completed = 0; completed < 2; completed++) {
		framework_state = completed ? "Completed" : "AttemptRunning";
		for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
			cleanup_free char *hint = NULL;
			struct world w;

			begin(&w, serve);
			assert_int_equal(run(&w, changes[i][0], "f", changes[i][1], NULL), CLI_DONE);
			hint = mem_printf("corrects the field; kubectl framework why f -n ns --kubeconfig %s shows",
					  w.kubeconfig);
			assert_int_equal(strstr(w.err, note) != NULL, !completed);
			assert_int_equal(strstr(w.err, hint) != NULL, !completed);
			end(&w);
		}
	}
	members = "";
}

/* With an older CRD. */
static void test_not_stored(void **state)
{
	struct world w;

	(void)state;
	metadata = "";
	framework_state = "AttemptRunning";
	drops = true;
	begin(&w, serve);
	assert_int_equal(run(&w, "suspend", "f", NULL), CLI_FAILED);
	assert_contains(w.err, "Framework f is not changed: the API server has not stored spec.suspend, found nothing, "
			       "expected true. ");
	assert_string_equal(w.out, "");
	end(&w);
	drops = false;
}

/* A copy would be nobody's. */
static void test_retry_refused(void **state)
{
	static const char *const states[] = {"Completed", "AttemptRunning"};

	(void)state;
	metadata = CONTROLLED;
	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		struct world w;

		framework_state = states[i];
		begin(&w, serve);
		assert_int_equal(run(&w, "retry", "f", NULL), CLI_FAILED);
		assert_int_equal(w.asked, 0);
		assert_contains(w.err, "Framework f is controlled by TFJob t-w0, expected no controller: create that "
				       "TFJob again instead");
		assert_string_equal(w.out, "");
		end(&w);
	}
}

/* ---- commands to be copied ----------------------------------------------------------------------------------------
 */

/* Frameworks of the namespace other: "held" is suspended and not started, and the others are as their names say. */
static void serve_other(struct world *w, struct http_conn *conn)
{
	static const char object[] =
		"{'metadata':{'name':'%s','namespace':'other','uid':'u','resourceVersion':'4'},'spec':{"
		"'suspend':true,'executionType':'Create'},'status':{'state':'%s','conditions':[{'type':"
		"'Completed','status':'%s'}]}}";
	bool failed = strstr(conn->path, "failed") != NULL, list = strstr(conn->path, "fieldSelector") != NULL;
	cleanup_free char *stored = mem_printf(object, failed ? "failed" : "held",
					       failed ? "Completed" : "AttemptRunning", failed ? "True" : "False");
	cleanup_json json_t *changed = merged(stored, conn);
	cleanup_free char *one = json_text(changed);
	cleanup_free char *all = mem_printf("{'metadata':{'resourceVersion':'5'},'items':[%s]}", one);

	assert_contains(conn->path, "/namespaces/other/frameworks");
	w->asked++;
	if (strstr(conn->path, "watch=") != NULL)
		http_stream_begin(conn);
	else
		reply(conn, 200, list ? all : one);
}

/* They reach the same cluster and namespace. */
static void test_hints(void **state)
{
	static const struct {
		const char *words[3];
		const char *hint, *behind;
	} rows[] = {
		{{"start", "held"}, "spec.suspend is true; kubectl framework resume held -n other", " lets it run\n"},
		{{"resume", "held"}, "executionType is Create; kubectl framework start held -n other", " starts it\n"},
		{{"wait", "held", "--timeout=0"},
		 "expected condition Completed; kubectl framework why held -n other",
		 " shows the reason\n"},
		{{"wait", "failed"}, "it has failed; kubectl framework why failed -n other", " shows the reason\n"},
		{{"delete", "held", "--timeout=0"},
		 "still exists after --timeout; kubectl framework why held -n other",
		 " shows the reason\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *expected = NULL;
		const char *last = rows[i].words[2] == NULL ? "--as=jane" : rows[i].words[2];
		struct world w;

		begin(&w, serve_other);
		run(&w, rows[i].words[0], rows[i].words[1], "-n", "other", "--context", "c", "--as", "jane", last,
		    NULL);
		expected = mem_printf("%s --kubeconfig %s --context c --as jane%s", rows[i].hint, w.kubeconfig,
				      rows[i].behind);
		assert_contains(w.err, expected);
		end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_controlled), cmocka_unit_test(test_job),
		cmocka_unit_test(test_deleted),    cmocka_unit_test(test_completed),
		cmocka_unit_test(test_malformed),  cmocka_unit_test(test_retry_refused),
		cmocka_unit_test(test_hints),      cmocka_unit_test(test_not_stored),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("cli_change", tests, NULL, NULL);
}
