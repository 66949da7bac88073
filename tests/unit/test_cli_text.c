/* What kubectl framework prints, whatever the cluster's text contains; and its command line. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/cli.h"
#include "cli/grid.h"
#include "cli/options.h"
#include "cli/out.h"
#include "cli/text.h"
#include "cli/yaml_write.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/random.h"
#include "common/base/yaml.h"

/* ---- safe text --------------------------------------------------------------------------------------------------- */

/* CSI as two bytes and as U+009B, OSC, a carriage return, a backspace, DEL, right-to-left override, a line separator,
 * a tag character, a byte that is not UTF-8. */
static const char hostile[] =
	"a\033[31mb\302\2332Jc\033]0;t\007d\re\bf\177g\342\200\256h\342\200\250i\363\240\200\201j\377k\nl\tm";

static void test_safe(void **state)
{
	cleanup_buf struct buf out = {0}, ascii = {0}, lines = {0};

	(void)state;
	text_append_safe(&out, hostile, strlen(hostile), false);
	assert_string_equal(out.data, "a\357\277\275[31mb\357\277\2752Jc\357\277\275]0;t\357\277\275d "
				      "e\357\277\275f\357\277\275g\357\277\275h"
				      "\357\277\275i\357\277\275j\357\277\275k l m");
	assert_false(text_has_unsafe(out.data, out.len));
	assert_true(text_has_unsafe(hostile, strlen(hostile)));
	text_append_safe(&ascii, "é\033ü", strlen("é\033ü"), true);
	assert_string_equal(ascii.data, "???");
	text_append_safe_lines(&lines, "a\r\n\tb\033\n", 7, false);
	assert_string_equal(lines.data, "a \n\tb\357\277\275\n");
}

/* Whatever bytes come, no unsafe one leaves. */
static void test_random_bytes(void **state)
{
	struct random random;

	(void)state;
	random_init_seed(&random, 42);
	for (int i = 0; i < 2000; i++) {
		cleanup_buf struct buf text = {0}, safe = {0}, twice = {0};

		for (int j = 0; j < 60; j++)
			buf_putc(&text, (char)random_between(&random, 0, i % 2 ? 255 : 160));
		buf_puts(&safe, "");
		text_append_safe(&safe, text.data, text.len, i % 3 == 0);
		for (size_t j = 0; j < safe.len; j++)
			assert_true((unsigned char)safe.data[j] >= 0x20 && safe.data[j] != 0x7F);
		assert_false(text_has_unsafe(safe.data, safe.len));
		text_append_safe(&twice, safe.data, safe.len, i % 3 == 0);
		assert_string_equal(twice.data == NULL ? "" : twice.data, safe.data);
	}
}

/* JSON and YAML are the same value as before, without an unsafe character. */
static void test_documents(void **state)
{
	cleanup_json json_t *value = json_pack(
		"{s:s, s:[s,s,s,s,s,b,n,i,f], s:{}, s:[], s:s}", "name", "a\033[31m\302\233x\342\200\256\177", "list",
		"true", "12", "No", "2026-01-01", "- x: #", 1, 7, 1.5, "empty", "none", "lines", "first\n second\n");
	char *json = json_dumps(value, JSON_INDENT(4));
	cleanup_buf struct buf safe = {0}, yaml = {0};
	cleanup_json json_t *read = NULL, *reread = NULL;
	struct yaml_node *tree;
	struct error err = {.message = ""};

	(void)state;
	buf_put_safe(&safe, json, strlen(json));
	assert_false(text_has_unsafe(safe.data, safe.len));
	read = json_parse(safe.data, safe.len, &err);
	assert_true(json_equal(read, value));
	yaml_write(&yaml, value);
	assert_false(text_has_unsafe(yaml.data, yaml.len));
	assert_int_equal(yaml_load("out", yaml.data, yaml.len, &tree, &err), 0);
	reread = yaml_to_json(tree);
	if (!json_equal(reread, value))
		fail_msg("%s", yaml.data);
	yaml_tree_free(tree);
	free(json);
}

/* ---- the writer -------------------------------------------------------------------------------------------------- */

/* What was written to the file. The caller frees. */
static char *written(int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);
	char *text = mem_alloc((size_t)len + 1);

	assert_int_equal(pread(fd, text, (size_t)len, 0), len);
	text[len] = '\0';
	return text;
}

static struct out begin_out(bool terminal)
{
	struct out out;

	out_init(&out, memfd_create("out", MFD_CLOEXEC));
	assert_false(out.terminal);
	assert_false(out.colour);
	out.terminal = out.colour = terminal;
	return out;
}

static void test_colours(void **state)
{
	struct out out = begin_out(true);
	cleanup_free char *text = NULL;

	(void)state;
	out_styled(&out, STYLE_BAD, "x\033[0my");
	out_end_line(&out);
	out_line(&out, "%s", "one\ntwo");
	assert_int_equal(out_flush(&out), 0);
	text = written(out.fd);
	assert_string_equal(text, "\033[31mx\357\277\275[0my\033[0m\none two\n");
	close(out.fd);
	out_finish(&out);
}

static void test_paragraph(void **state)
{
	struct out out = begin_out(false);
	cleanup_free char *text = NULL;

	(void)state;
	out.width = 24;
	out_paragraph(&out, 2, "three short words and averyveryverylongwordthatdoesnotfit");
	out_flush(&out);
	text = written(out.fd);
	assert_string_equal(text, "  three short words and\n  averyveryverylongwordthatdoesnotfit\n");
	close(out.fd);
	out_finish(&out);
}

/* A reader that has gone away: nothing hangs, and the program learns of it. */
static void test_broken_pipe(void **state)
{
	struct out out;
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	out_init(&out, fds[1]);
	close(fds[0]);
	for (int i = 0; i < 20000; i++)
		out_line(&out, "a line of some length");
	assert_int_equal(out_flush(&out), -1);
	assert_int_equal(out_finish(&out), -1);
	assert_int_equal(out.failed, EPIPE);
	close(fds[1]);
}

/* How a command ends then: quietly, if its reader has gone away, and else with an error. */
static void test_unwritten(void **state)
{
	struct cli cli;
	cleanup_free char *err = NULL;
	int fds[2], err_fd = memfd_create("err", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	cli_init(&cli);
	cli.out.fd = fds[1];
	cli.err_out.fd = err_fd;
	out_line(&cli.out, "a line");
	assert_int_equal(cli_finish(&cli, CLI_DONE), CLI_NO_READER);
	assert_int_equal(lseek(err_fd, 0, SEEK_END), 0);
	close(fds[1]);
	cli_init(&cli);
	cli.out.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	cli.err_out.fd = err_fd;
	out_line(&cli.out, "a line");
	assert_int_equal(cli_finish(&cli, CLI_DONE), CLI_FAILED);
	err = written(err_fd);
	assert_string_equal(err, "kubectl framework: cannot write to stdout: No space left on device\n");
	close(err_fd);
}

static void test_grid(void **state)
{
	static const char *const heads[] = {"NAME", "STATE", "WHY"};
	struct out out = begin_out(false);
	cleanup_free char *text = NULL;
	struct grid grid;

	(void)state;
	grid_begin(&grid, heads, 3);
	grid_put(&grid, STYLE_PLAIN, "%s", "a");
	grid_put(&grid, STYLE_PLAIN, "%s", "Running");
	grid_put(&grid, STYLE_PLAIN, "%s", "");
	grid_put(&grid, STYLE_PLAIN, "%s", "long\033name");
	grid_put(&grid, STYLE_PLAIN, "%s", "-");
	grid_put(&grid, STYLE_PLAIN, "%s", "because of this");
	grid_print(&grid, &out, true, true, 0);
	out.width = 24;
	grid_print(&grid, &out, false, false, 0);
	grid_print(&grid, &out, false, false, 1);
	out_flush(&out);
	text = written(out.fd);
	assert_string_equal(text, "NAME        STATE     WHY\n"
				  "a           Running\n"
				  "long\357\277\275name   -         because of this\n"
				  "a           Running\n"
				  "long\357\277\275name   -         be\n"
				  "a   Running\n");
	grid_free(&grid);
	close(out.fd);
	out_finish(&out);
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static int parse(unsigned groups, struct options *out, struct error *err, ...)
{
	static char *words[32];
	int count = 0;
	va_list args;

	words[count++] = (char *)"command";
	va_start(args, err);
	while ((words[count] = va_arg(args, char *)) != NULL)
		count++;
	va_end(args);
	return options_parse(count, words, groups, out, err);
}

static void test_options(void **state)
{
	struct options options;
	struct error err;

	(void)state;
	assert_int_equal(parse(TAKES_NAMESPACE | TAKES_DATA | TAKES_NAME | TAKES_WAIT, &options, &err, "f", "-n", "ns",
			       "--timeout=1h30m", "g", "-o", "yaml", "--as", "bob", "--as-group", "a", "--as-group",
			       "b", NULL),
			 0);
	assert_string_equal(options.namespace_name, "ns");
	assert_int_equal(options.argument_count, 2);
	assert_string_equal(options.arguments[1], "g");
	assert_int_equal(options.output, OUTPUT_YAML);
	assert_int_equal(options.timeout_ms, 5400 * 1000);
	assert_int_equal(options.as_group_count, 2);
	assert_int_equal(parse(TAKES_REST | TAKES_NAMESPACE, &options, &err, "f", "a-0", "--", "sh", "-n", NULL), 0);
	assert_int_equal(options.argument_count, 2);
	assert_int_equal(options.rest_count, 2);
	assert_string_equal(options.rest[1], "-n");
	assert_int_equal(parse(0, &options, &err, "--help", NULL), 1);
	/* as kubectl takes it */
	assert_int_equal(parse(TAKES_NAMESPACE | TAKES_DATA | TAKES_SELECTOR, &options, &err, "-n=ns", "-o=yaml",
			       "-l=a=b", "f", NULL),
			 0);
	assert_string_equal(options.namespace_name, "ns");
	assert_int_equal(options.output, OUTPUT_YAML);
	assert_string_equal(options.selector, "a=b");
	assert_int_equal(options.timeout_ms, -1);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *words[3];
		const char *message;
	} rows[] = {
		{{"-n", "Bad_Name"}, "--namespace: found \"Bad_Name\", expected the name of a namespace"},
		{{"-o", "svg"}, "--output: found \"svg\", expected one of json, yaml, name"},
		{{"-w"}, "this command takes no --watch"},
		{{"--nonesuch"}, "there is no option --nonesuch"},
		{{"-o"}, "-o needs a value"},
		{{"--as", "a\nb"}, "--as: found a control character, expected a name"},
		{{"--as-group", "g"}, "--as-group needs --as"},
		{{"--timeout", "5x"},
		 "--timeout: found \"5x\", expected a duration of at most a year, as 90s, 5m or 1h30m"},
		{{"--timeout", "-5"},
		 "--timeout: found \"-5\", expected a duration of at most a year, as 90s, 5m or 1h30m"},
		{{"-v", "11"}, "-v 11: expected a number 0..10"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct options options;
		struct error err = {.message = ""};

		assert_int_equal(parse(TAKES_NAMESPACE | TAKES_DATA | TAKES_NAME | TAKES_WAIT, &options, &err,
				       rows[i].words[0], rows[i].words[1], NULL),
				 -1);
		assert_string_equal(err.message, rows[i].message);
	}
}

static void test_names(void **state)
{
	static const char *const wrong[] = {"",        "worker[", "worker[]", "worker[x]", "worker[10000]",
					    "worker-", "wor_ker", "-3",       "worker[3]x"};
	struct task_selector task;
	struct error err;

	(void)state;
	assert_int_equal(task_selector_parse("worker[3]", &task, &err), 0);
	assert_string_equal(task.role, "worker");
	assert_int_equal(task.index, 3);
	assert_int_equal(task_selector_parse("worker-3", &task, &err), 0);
	assert_int_equal(task.index, 3);
	assert_int_equal(task_selector_parse("worker", &task, &err), 0);
	assert_int_equal(task.index, -1);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(task_selector_parse(wrong[i], &task, &err), -1);
	assert_null(strstr(err.message, "#"));
	/* as lines of logs begin */
	assert_int_equal(task_selector_parse("worker[3]#1", &task, &err), -1);
	assert_string_equal(err.message,
			    "found \"worker[3]#1\", expected a TaskRole, as worker, or a Task, as worker[3] or "
			    "worker-3, without the attempt behind the #");
	assert_string_equal(framework_argument("fw/hello", &err), "hello");
	assert_string_equal(framework_argument("framework.frameworkcontroller.microsoft.com/hello", &err), "hello");
	assert_null(framework_argument("pod/hello", &err));
	assert_null(framework_argument("../pods", &err));
	assert_null(strstr(err.message, "job-name"));
	assert_null(framework_argument("fw/pt-mw", &err)); /* the name of a job, mostly */
	assert_non_null(strstr(err.message, "kubectl framework list -l training.kubeflow.org/job-name=pt-mw"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_safe),      cmocka_unit_test(test_random_bytes),
		cmocka_unit_test(test_documents), cmocka_unit_test(test_colours),
		cmocka_unit_test(test_paragraph), cmocka_unit_test(test_broken_pipe),
		cmocka_unit_test(test_unwritten), cmocka_unit_test(test_grid),
		cmocka_unit_test(test_options),   cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("cli_text", tests, NULL, NULL);
}
