/* tests/cluster/demo: reading examples and their expectations, judging, the table, stopping what was kept. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/demo/children.h"
#include "tests/cluster/demo/documents.h"
#include "tests/cluster/demo/example.h"
#include "tests/cluster/demo/expect.h"
#include "tests/cluster/demo/table.h"
#include "tests/unit/temp.h"

#define FRAMEWORK "apiVersion: frameworkcontroller.microsoft.com/v1\nkind: Framework\nmetadata: {name: %s}\n"

static void assert_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", text, part);
}

/* ---- expectations ---- */

static void test_expectations_are_read(void **state)
{
	static const struct {
		const char *line;
		struct expectation wanted;
		const char *again;
	} cases[] = {
		{"# expect: Completed 0", {false, 0, -1, false}, "Completed 0"},
		{"# expect:  Completed -210  \r", {false, -210, -1, false}, "Completed -210"},
		{"# expect: Completed 0, 2 retries", {false, 0, 2, false}, "Completed 0, 2 retries"},
		{"# expect: Completed 17, 1 retry", {false, 17, 1, false}, "Completed 17, 1 retry"},
		{"# expect: Running", {true, 0, -1, false}, "Running"},
		{"# expect: Suspended", {false, 0, -1, true}, "Suspended"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *text = mem_printf("# about\n#\n%s\nkind: x\n", cases[i].line);
		cleanup_buf struct buf again = {0};
		struct expectation found;
		struct error err = {0};

		if (expectation_parse("t.yaml", text, &found, &err) != 0)
			fail_msg("%s", err.message);
		assert_int_equal(found.running, cases[i].wanted.running);
		assert_int_equal(found.suspended, cases[i].wanted.suspended);
		assert_int_equal(found.code, cases[i].wanted.code);
		assert_int_equal(found.retries, cases[i].wanted.retries);
		expectation_write(&again, &found);
		assert_string_equal(again.data, cases[i].again);
	}
}

static void test_expectations_are_refused(void **state)
{
	static const char *const lines[] = {
		"# expect:",
		"# expect: Completed",
		"# expect: Completed x",
		"# expect: Completed 0x",
		"# expect: Completed 99999999999",
		"# expect: Completed 0, 2",
		"# expect: Completed 0, -2 retries",
		"# expect: Completed 0, 1 retries",
		"# expect: Running 3",
		"# expect: running",
	};
	struct expectation found;
	struct error err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		cleanup_free char *text = mem_printf("a: 1\n%s\n", lines[i]);

		if (expectation_parse("t.yaml", text, &found, &err) == 0)
			fail_msg("took \"%s\"", lines[i]);
		assert_contains(err.message, "t.yaml:2: expect: found \"");
	}
	/* Only a line of its own counts, not the words in a text. */
	assert_int_equal(expectation_parse("t.yaml", "a: \"# expect: Running\"\n", &found, &err), -1);
	assert_contains(err.message, "t.yaml: found no line");
}

static void test_titles(void **state)
{
	static const char *const cases[][2] = {
		{"# What it is: all of it.\r\n#\n", "What it is"}, {"# x", "x"}, {"a: 1\n# y\n", ""}, {"", ""}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *title = example_title(cases[i][0]);

		assert_string_equal(title, cases[i][1]);
	}
}

#define TIME "2026-01-01T00:00:00Z"

/* completionStatus; its phrase holds what could move a cursor. NULL text: null. */
static json_t *completion(const char *code)
{
	cleanup_free char *phrase = NULL;

	if (code == NULL)
		return json_null();
	phrase = mem_printf("P\n%s", code);
	return json_pack("{s:i s:s s:{s:s s:[]} s:s}", "code", atoi(code), "phrase", phrase, "type", "name",
			 atoi(code) == 0 ? "Succeeded" : "Failed", "attributes", "diagnostics", "");
}

static json_t *retries_json(int total)
{
	return json_pack("{s:i s:i s:n}", "totalRetriedCount", total, "accountableRetriedCount", 0, "retryDelaySec");
}

/* Task 1 was retried once. What is on its way out has a code. */
static json_t *task(const char *state, int index)
{
	bool running = strcmp(state, "AttemptRunning") == 0 || strcmp(state, "AttemptPreparing") == 0 ||
		       strcmp(state, "AttemptCreationPending") == 0;
	cleanup_free char *pod = mem_printf("x-w-%d", index);
	json_t *attempt = json_pack("{s:i s:s s:s s:o}", "id", index == 1 ? 1 : 0, "startTime", TIME, "podName", pod,
				    "completionStatus", completion(running ? NULL : "0"));

	return json_pack("{s:i s:s s:s s:s s:s s:b s:o s:o}", "index", index, "instanceUID", "t", "startTime", TIME,
			 "state", state, "transitionTime", TIME, "deletionPending", 0, "retryPolicyStatus",
			 retries_json(index == 1 ? 1 : 0), "attemptStatus", attempt);
}

/* A Framework of one role: its state, the states of its Tasks (separated by blanks), its code (NULL: none), retries. */
static json_t *framework(const char *state, const char *tasks, const char *code, int retries)
{
	cleanup_free char *list = mem_strdup(tasks);
	json_t *statuses = json_array(), *attempt;
	char *rest = NULL;
	int index = 0;

	for (char *one = strtok_r(list, " ", &rest); one != NULL; one = strtok_r(NULL, " ", &rest))
		json_array_append_new(statuses, task(one, index++));
	attempt = json_pack("{s:i s:s s:s s:o s:[{s:s s:s s:o}]}", "id", retries, "startTime", TIME, "configMapName",
			    "x-attempt", "completionStatus", completion(code), "taskRoleStatuses", "name", "w",
			    "instanceUID", "r", "taskStatuses", statuses);
	return json_pack("{s:{s:s s:s s:s s:s} s:{s:s s:s s:s s:o s:o}}", "metadata", "namespace", "default", "name",
			 "x", "uid", "u", "creationTimestamp", TIME, "status", "state", state, "startTime", TIME,
			 "transitionTime", TIME, "retryPolicyStatus", retries_json(retries), "attemptStatus", attempt);
}

static struct sight see(const char *state, const char *tasks, const char *code, int retries)
{
	cleanup_json json_t *object = framework(state, tasks, code, retries);
	struct error err = {0};
	struct sight sight;

	if (sight_read(object, &sight, &err) != 0)
		fail_msg("%s", err.message);
	return sight;
}

static void test_verdicts(void **state)
{
	const struct expectation zero = {false, 0, -1, false}, failed = {false, 210, -1, false},
				 twice = {false, 0, 2, false};
	const struct expectation running = {.running = true, .retries = -1};
	const struct expectation suspended = {.suspended = true, .retries = -1};
	cleanup_json json_t *held = framework("AttemptCreationPending", "AttemptCreationPending", NULL, 0);
	struct sight waits;
	struct error err;
	struct sight ended = see("Completed", "Completed Completed", "0", 1);
	struct sight half = see("AttemptRunning", "AttemptRunning AttemptPreparing", NULL, 0);
	struct sight whole = see("AttemptRunning", "AttemptRunning AttemptRunning", NULL, 0);
	/* The code is there before the end: not an end yet. */
	struct sight ending = see("AttemptDeletionPending", "AttemptDeleting", "0", 0);
	struct sight unseen = {0}, created = {.seen = true};

	(void)state;
	assert_int_equal(expectation_judge(&zero, &ended), VERDICT_AS_EXPECTED);
	assert_int_equal(expectation_judge(&failed, &ended), VERDICT_OTHERWISE);
	assert_int_equal(expectation_judge(&twice, &ended), VERDICT_OTHERWISE);
	assert_int_equal(expectation_judge(&running, &ended), VERDICT_OTHERWISE);
	assert_int_equal(expectation_judge(&running, &half), VERDICT_AWAITED);
	assert_int_equal(expectation_judge(&running, &whole), VERDICT_AS_EXPECTED);
	assert_int_equal(expectation_judge(&zero, &whole), VERDICT_AWAITED);
	assert_int_equal(expectation_judge(&zero, &ending), VERDICT_AWAITED);
	/* Zeroes everywhere must not read as "all of no Tasks run" or "code 0". */
	assert_int_equal(expectation_judge(&running, &unseen), VERDICT_AWAITED);
	assert_int_equal(expectation_judge(&zero, &created), VERDICT_AWAITED);
	ended.retries = 2;
	assert_int_equal(expectation_judge(&twice, &ended), VERDICT_AS_EXPECTED);
	assert_int_equal(sight_read(held, &waits, &err), 0);
	assert_int_equal(expectation_judge(&suspended, &waits), VERDICT_AWAITED);
	json_object_set_new(
		json_object_get(held, "status"), "conditions",
		json_pack("[{s:s,s:s,s:s}]", "type", "Suspended", "status", "True", "lastTransitionTime", TIME));
	assert_int_equal(sight_read(held, &waits, &err), 0);
	assert_int_equal(expectation_judge(&suspended, &waits), VERDICT_AS_EXPECTED);
	assert_int_equal(expectation_judge(&running, &waits), VERDICT_AWAITED);
	assert_string_equal(sight_state_name(&waits), "Suspended");
	assert_int_equal(expectation_judge(&suspended, &ended), VERDICT_OTHERWISE);
}

/* ---- examples ---- */

static void test_examples(void **state)
{
	char path[TEMP_PATH_SIZE];
	int fd = temp_file(path);
	struct examples examples = {0};
	cleanup_json json_t *right = framework("Completed", "Completed", "0", 0);
	cleanup_json json_t *wrong = framework("Completed", "Completed", "17", 3);
	cleanup_json json_t *runs = framework("AttemptRunning", "AttemptPreparing AttemptRunning", NULL, 0);
	cleanup_free char *line = NULL;
	struct example *example;
	struct error err = {0};

	(void)state;
	dprintf(fd,
		"# A title\n# expect: Completed 0\napiVersion: v1\nkind: Service\nmetadata: {name: x}\n---\n" FRAMEWORK,
		"x");
	close(fd);
	assert_int_equal(examples_add_file(&examples, path, &err), 0);
	unlink(path);
	assert_int_equal(json_array_size(examples.objects), 2);
	assert_int_equal(examples.count, 1);
	assert_int_equal(examples_add_file(&examples, path, &err), -1);
	assert_contains(err.message, path);

	example = examples_take(&examples, runs, 5, &err);
	assert_ptr_equal(example, examples.list);
	assert_string_equal(example->pod_name, "x-w-1");
	assert_int_equal(example->ended_ms, 0);
	example = examples_take(&examples, right, 10, &err);
	assert_int_equal(example->ended_ms, 10);
	assert_string_equal(example->pod_name, "");
	assert_int_equal(examples_count(&examples, VERDICT_AS_EXPECTED), 1);
	line = example_summary(example, 4, 0);
	assert_string_equal(line, "  ok     x     Completed 0                 A title\n");
	free(line);
	line = example_summary(example, 4, 20);
	assert_string_equal(line, "  ok     x     Compl\n");
	free(line);

	(void)examples_take(&examples, wrong, 20, &err);
	assert_int_equal(examples_count(&examples, VERDICT_OTHERWISE), 1);
	line = example_summary(example, 1, 20);
	assert_string_equal(line, "  WRONG  x  expected Completed 0; found Completed 17, 3 retries\n");
	json_object_set_new(json_object_get(right, "metadata"), "name", json_string("other"));
	err.message[0] = '\0';
	assert_null(examples_take(&examples, right, 30, &err));
	assert_string_equal(err.message, "");
	examples_free(&examples);
}

/* What is shipped can be submitted and says how it ends: make demo takes all of it. */
static void test_shipped_examples(void **state)
{
	struct examples examples = {0};
	struct error err = {0};
	glob_t found;

	(void)state;
	assert_int_equal(glob("manifests/examples/*.yaml", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (examples_add_file(&examples, found.gl_pathv[i], &err) != 0)
			fail_msg("%s", err.message);
	assert_true(examples.count >= found.gl_pathc);
	for (size_t i = 0; i < examples.count; i++)
		if (examples.list[i].title[0] == '\0')
			fail_msg("%s: the first line says nothing about it", examples.list[i].name);
	globfree(&found);
	examples_free(&examples);
}

/* ---- table ---- */

static void test_cells(void **state)
{
	struct sight sight = see("AttemptRunning", "Completed AttemptRunning AttemptRunning AttemptCompleted", NULL, 2);
	struct sight failed = see("Completed", "Completed", "210", 0);
	struct sight unseen = {0};
	struct row row, same;

	(void)state;
	row_fill(&row, "x", &sight, VERDICT_AWAITED, sight.creation_time + 130);
	assert_string_equal(row.cells[COLUMN_STATE], "AttemptRunning");
	assert_string_equal(row.cells[COLUMN_TASKS], "2 Running, 1 AttemptCompleted, 1 Completed");
	assert_string_equal(row.cells[COLUMN_RETRIES], "2 +1 Task");
	assert_string_equal(row.cells[COLUMN_CODE], "");
	assert_string_equal(row.cells[COLUMN_AGE], "2m10s");
	row_fill(&same, "x", &sight, VERDICT_AWAITED, sight.creation_time);
	assert_true(row_same(&row, &same));
	/* A phrase comes from outside: nothing in it may move the cursor. */
	row_fill(&row, "x", &failed, VERDICT_AS_EXPECTED, 0);
	assert_string_equal(row.cells[COLUMN_CODE], "210 P?210");
	assert_string_equal(row.cells[COLUMN_AGE], "0s");
	assert_false(row_same(&row, &same));
	row_fill(&row, "x", &unseen, VERDICT_AWAITED, 0);
	assert_string_equal(row.cells[COLUMN_STATE], "-");
	assert_string_equal(row.cells[COLUMN_AGE], "");
}

static void test_tasks_of_every_state_fit(void **state)
{
	struct sight sight = {0};
	char cell[CELL_SIZE];

	(void)state;
	for (int i = 0; i < STATE_COUNT; i++)
		sight.tasks[i] = SIZE_MAX;
	tasks_write(cell, &sight);
	assert_int_equal(strlen(cell), CELL_SIZE - 1);
}

static void test_ages(void **state)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} cases[] = {{-1, "0s"},       {0, "0s"},      {59, "59s"},     {60, "1m0s"},
		     {3599, "59m59s"}, {3600, "1h0m"}, {90061, "25h1m"}};
	char cell[CELL_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		age_write(cell, cases[i].seconds);
		assert_string_equal(cell, cases[i].text);
	}
}

static size_t count_lines(const char *text, size_t *longest)
{
	size_t lines = 0;

	*longest = 0;
	for (; *text != '\0'; lines++) {
		size_t len = strcspn(text, "\n");

		*longest = len > *longest ? len : *longest;
		text += len + (text[len] == '\n' ? 1 : 0);
	}
	return lines;
}

static void test_table_stays_within_the_terminal(void **state)
{
	struct sight sight = see("AttemptRunning", "AttemptRunning", NULL, 0);
	struct row rows[6];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char name[] = "name-0";

		name[5] = (char)('0' + i);
		row_fill(&rows[i], name, &sight, i % 2 == 0 ? VERDICT_AS_EXPECTED : VERDICT_AWAITED, 0);
	}
	for (size_t height = 3; height < 9; height++) {
		cleanup_buf struct buf text = {0};
		size_t longest, lines;

		table_write(&text, rows, ARRAY_LEN(rows), 9, height, false);
		lines = count_lines(text.data, &longest);
		assert_int_equal(lines, height < 7 ? height : 7);
		assert_true(longest <= 9);
		/* Those as expected give way first. */
		assert_int_equal(strstr(text.data, "name-1") != NULL, 1);
		assert_int_equal(strstr(text.data, "name-0") != NULL, height >= 7);
		assert_int_equal(strstr(text.data, "and ") != NULL, height < 7);
	}
}

static void test_table_text(void **state)
{
	struct sight sight = see("Completed", "Completed Completed", "0", 0);
	struct sight runs = see("AttemptDeletionPending", "AttemptRunning AttemptDeletionPending Completed", "-210", 0);
	struct row rows[2];
	static const struct {
		size_t width;
		bool colour;
		const char *text;
	} cases[] = {
		{0, false,
		 "FRAMEWORK  STATE                   TASKS                                      RETRIES    CODE        "
		 " AGE\n"
		 "x          Completed               2 Completed                                0 +1 Task  0 P?0       "
		 " 5s\n"
		 "y          AttemptDeletionPending  1 Running, 1 DeletionPending, 1 Completed  0 +1 Task  -210 P?-210 "
		 " 5s\n"},
		{98, false,
		 "FRAMEWORK  STATE            TASKS                                      RETRIES    CODE         AGE\n"
		 "x          Completed        2 Completed                                0 +1 Task  0 P?0        5s\n"
		 "y          DeletionPending  1 Running, 1 DeletionPending, 1 Completed  0 +1 Task  -210 P?-210  5s\n"},
		{97, false,
		 "FRAMEWORK  STATE            TASKS                                      RETRIES    CODE  AGE\n"
		 "x          Completed        2 Completed                                0 +1 Task  0     5s\n"
		 "y          DeletionPending  1 Running, 1 DeletionPending, 1 Completed  0 +1 Task  -210  5s\n"},
		{60, false,
		 "FRAMEWORK  STATE            TASKS       RETRIES    CODE  AGE\n"
		 "x          Completed        2 Complete  0 +1 Task  0     5s\n"
		 "y          DeletionPending  1 Running,  0 +1 Task  -210  5s\n"},
		{12, true, "\033[1mFRAMEWORK  S\033[0m\n\033[32mx          C\033[0m\ny          D\n"},
	};

	(void)state;
	row_fill(&rows[0], "x", &sight, VERDICT_AS_EXPECTED, sight.creation_time + 5);
	row_fill(&rows[1], "y", &runs, VERDICT_AWAITED, sight.creation_time + 5);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_buf struct buf text = {0};

		table_write(&text, rows, ARRAY_LEN(rows), cases[i].width, 10, cases[i].colour);
		assert_string_equal(text.data, cases[i].text);
	}
}

/* ---- what was kept ---- */

static void test_log_tail(void **state)
{
	char path[TEMP_PATH_SIZE];
	int fd = temp_file(path);
	cleanup_free char *all = NULL;
	cleanup_free char *some = NULL;
	cleanup_free char *none = NULL;

	(void)state;
	dprintf(fd, "one a\ntwo b\nthree a\nfour b");
	close(fd);
	all = log_tail(path, NULL, 2, 6);
	some = log_tail(path, "a", 9, 99);
	none = log_tail(path, "c", 9, 99);
	unlink(path);
	assert_string_equal(all, "three ...\nfour b\n");
	assert_string_equal(some, "one a\nthree a\n");
	assert_string_equal(none, "");
	free(none);
	none = log_tail(path, NULL, 9, 99);
	assert_string_equal(none, "");
}

/* --stop removes a directory recursively: never one that no demo made. */
static void test_stop_spares_other_directories(void **state)
{
	char directory[TEMP_PATH_SIZE];
	cleanup_free char *pids = NULL;
	struct error err = {0};
	struct stat info;
	FILE *file;

	(void)state;
	temp_directory(directory);
	pids = mem_printf("%s/pids", directory);
	assert_int_equal(children_stop_kept(directory, &err), -1);
	file = fopen(pids, "w");
	fprintf(file, "1 2 init\n");
	fclose(file);
	assert_int_equal(children_stop_kept(directory, &err), -1);
	assert_int_equal(stat(directory, &info), 0);
	/* A process that merely got a pid of ours is left alone: this very one would end here. */
	file = fopen(pids, "w");
	fprintf(file, "fc-demo processes: pid, start time, name\n%d 1 fc-testapi\n", (int)getpid());
	fclose(file);
	assert_int_equal(children_stop_kept(directory, &err), 0);
	assert_int_not_equal(stat(directory, &info), 0);
}

static void test_children_are_stopped(void **state)
{
	char directory[TEMP_PATH_SIZE];
	struct children children = {.directory = directory, .keep = true};
	const char *const sleeper[] = {"sleep", "1000", NULL}, *const nothing[] = {"none", NULL};
	struct error err = {0};
	cleanup_free char *fate = NULL;

	(void)state;
	temp_directory(directory);
	assert_int_equal(children_start(&children, "one", "/bin/sleep", sleeper, &err), 0);
	assert_int_equal(children_start(&children, "two", "/bin/sleep", sleeper, &err), 0);
	assert_int_equal(children_start(&children, "none", "/no/such/program", nothing, &err), -1);
	assert_contains(err.message, "/no/such/program");
	assert_null(children_reap(&children));
	children_stop(&children);
	assert_int_equal(children.list[0].pid, 0);
	assert_int_equal(children.list[1].pid, 0);
	fate = child_fate(&children.list[0]);
	assert_string_equal(fate, "one was ended by signal 15 (Terminated)");
	/* The file of pids names them still: that must not hurt anybody. */
	assert_int_equal(children_stop_kept(directory, &err), 0);
	children_free(&children);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expectations_are_read),
		cmocka_unit_test(test_expectations_are_refused),
		cmocka_unit_test(test_titles),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_shipped_examples),
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_tasks_of_every_state_fit),
		cmocka_unit_test(test_ages),
		cmocka_unit_test(test_table_stays_within_the_terminal),
		cmocka_unit_test(test_table_text),
		cmocka_unit_test(test_log_tail),
		cmocka_unit_test(test_stop_spares_other_directories),
		cmocka_unit_test(test_children_are_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
