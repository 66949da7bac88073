/* kubectl framework stop, start, suspend, resume, scale and retry: what they note, and what they refuse. */
#define _GNU_SOURCE
#include "tests/unit/cli_commands.h"

#define CONTROLLED                                                                       \
	",'ownerReferences':[{'kind':'Person','name':'p'},{'kind':'TFJob','name':'t-w0'" \
	",'controller':true}]"

static const char *metadata; /* more members of it */
static const char *framework_state;

/* The Framework as it is, whatever is changed. */
static void serve(struct world *w, struct http_conn *conn)
{
	cleanup_free char *text = mem_printf(
		"{'apiVersion':'frameworkcontroller.microsoft.com/v1','kind':'Framework','metadata':{'name':'f',"
		"'namespace':'ns','uid':'u'%s},'spec':{'taskRoles':[{'name':'a','taskNumber':2,"
		"'frameworkAttemptCompletionPolicy':{'minSucceededTaskCount':2}}]},'status':{'state':'%s'}}",
		metadata, framework_state);

	assert_string_equal(conn->path, FRAMEWORKS "/f");
	w->asked += strcmp(conn->method, "GET") != 0;
	reply(conn, 200, text);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_controlled),
		cmocka_unit_test(test_completed),
		cmocka_unit_test(test_retry_refused),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("cli_change", tests, NULL, NULL);
}
