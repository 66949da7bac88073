/* kubectl framework: command lines in the forms of kubectl, and objects printed as kubectl prints them. */
#define _GNU_SOURCE
#include "tests/unit/cli_commands.h"
#include "tests/unit/cli_world.h"

/* A Framework of one Task that runs; its container has a port with a name. */
static void serve(struct world *w, struct http_conn *conn)
{
	cleanup_free char *task = cli_task(0, "AttemptRunning", ""), *role = cli_role("a", task);
	cleanup_free char *status = cli_status("AttemptRunning", "'conditions':[{'type':'Running','status':'True'}],",
					       "", role);
	cleanup_free char *object = mem_printf(
		"{'apiVersion':'frameworkcontroller.microsoft.com/v1','kind':'Framework','metadata':{'name':'f',"
		"'namespace':'ns','uid':'u','resourceVersion':'4','managedFields':[{'manager':'kubectl'}]},'spec':{'"
		"executionType':'Start',"
		"'taskRoles':[{'name':'a','taskNumber':1,'task':{'pod':{'spec':{'containers':[{'name':'c'},{'name':"
		"'d','ports':[{'name':'web','containerPort':80}]}]}}}}]},'status':%s}",
		status);
	cleanup_free char *list = mem_printf("{'metadata':{'resourceVersion':'5'},'items':[%s]}", object);

	w->asked++;
	if (strstr(conn->path, "watch=") != NULL)
		http_stream_begin(conn);
	else if (strcmp(conn->path, FRAMEWORKS "/f") == 0)
		reply(conn, 200, object);
	else if (strncmp(conn->path, FRAMEWORKS, strlen(FRAMEWORKS)) == 0)
		reply(conn, 200, list);
	else
		reply(conn, 200, "{'metadata':{'resourceVersion':'5'},'items':[]}");
}

static void test_ports(void **state)
{
	static const struct {
		const char *port;
		int code;
	} rows[] = {
		{"8080", CLI_DONE}, {"8080:80", CLI_DONE}, {":80", CLI_DONE},    {"0:65535", CLI_DONE},
		{"web", CLI_DONE},  {"80:web", CLI_DONE},  {"abc", CLI_BAD_USE}, {"80:abc", CLI_BAD_USE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *printed = mem_printf(" port-forward f-a-0 80 %s\n", rows[i].port);
		cleanup_free char *refused = mem_printf("port-forward: found \"%s\", expected a port, as 8080, 8080:80 "
							"or :80, with numbers up to 65535 "
							"or the name of a port of TaskRole a",
							rows[i].port);
		struct world w;

		begin(&w, serve);
		assert_int_equal(run(&w, "port-forward", "f", "a-0", "80", rows[i].port, NULL), rows[i].code);
		if (rows[i].code == CLI_DONE)
			assert_contains(w.out, printed);
		else
			assert_string_equal(w.out, "");
		assert_int_equal(strstr(w.err, refused) != NULL, rows[i].code != CLI_DONE);
		end(&w);
	}
}

static void test_wait(void **state)
{
	static const struct {
		const char *condition;
		int code;
	} rows[] = {
		{"running", CLI_DONE},
		{"condition=Running", CLI_DONE},
		{"condition=running=True", CLI_DONE},
		{"condition=Completed", CLI_TIME_OUT},
		{"delete", CLI_TIME_OUT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		begin(&w, serve);
		assert_int_equal(run(&w, "wait", "f", "--for", rows[i].condition, "--timeout=0", NULL), rows[i].code);
		end(&w);
	}
}

/* kubectl hides managedFields. */
static void test_managed_fields(void **state)
{
	static const char *const rows[][3] = {
		{"list", "-o", "yaml"}, {"list", "f", "-ojson"}, {"start", "f", "-oyaml"}, {"scale", "f", "a=1"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		begin(&w, serve);
		assert_int_equal(run(&w, rows[i][0], rows[i][1], rows[i][2], i == 3 ? "-ojson" : NULL, NULL), CLI_DONE);
		assert_contains(w.out, "resourceVersion");
		assert_null(strstr(w.out, "managedFields"));
		end(&w);
	}
}

/* A log of something else is no history, which the note says. */
static void test_snapshots(void **state)
{
	static const char line[] = "x: ObjectSnapshot: {\"kind\":\"Framework\",\"metadata\":{\"uid\":\"%s\"}}\n";
	char path[TEMP_PATH_SIZE];

	(void)state;
	for (int own = 0; own < 2; own++) {
		cleanup_free char *option = NULL, *text = mem_printf(line, own ? "u" : "other");
		int fd = temp_file(path);
		struct world w;

		assert_int_equal(write(fd, text, strlen(text)), strlen(text));
		close(fd);
		option = mem_printf("--snapshots=%s", path);
		begin(&w, serve);
		assert_int_equal(run(&w, "timeline", "f", option, NULL), CLI_DONE);
		assert_int_equal(strstr(w.err, " has no ObjectSnapshot lines of Framework f (uid u)") != NULL, !own);
		end(&w);
		unlink(path);
	}
}

static void test_usage(void **state)
{
	static const char *const lines[][2] = {{"ui", "Usage: kubectl framework ui [options]\n"},
					       {"why", "Usage: kubectl framework why NAME [options]\n"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		cleanup_free char *text = NULL;
		struct world w;
		int out;

		begin(&w, serve);
		out = w.cli.out.fd;
		help_command(&w.cli.out, command_find(lines[i][0]));
		http_server_free(&w.server);
		cli_finish(&w.cli, CLI_DONE);
		text = take_text(out);
		assert_contains(text, lines[i][1]);
		end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports),     cmocka_unit_test(test_wait),  cmocka_unit_test(test_managed_fields),
		cmocka_unit_test(test_snapshots), cmocka_unit_test(test_usage),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("cli_forms", tests, NULL, NULL);
}
