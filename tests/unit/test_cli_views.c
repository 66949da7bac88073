/* The other views of kubectl framework: tree, timeline, picture, scale, retry, and lines of logs. */
#include "cli/view/age.h"
#include "cli/view/log_line.h"
#include "cli/view/retry.h"
#include "cli/view/scale.h"
#include "cli/view/svg.h"
#include "cli/view/timeline.h"
#include "cli/view/tree.h"
#include "tests/unit/cli_world.h"

#define SPEC "'taskRoles':[{'name':'a','taskNumber':100}]"

static void test_age(void **state)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} rows[] = {{-5, "0s"},         {119, "119s"},           {120, "2m"},        {200, "3m20s"},
		    {3600, "60m"},      {4 * 3600 + 60, "4h1m"}, {10 * 3600, "10h"}, {3 * 86400 + 3600, "3d1h"},
		    {30 * 86400, "30d"}};
	char out[AGE_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(age_text(rows[i].seconds, out), rows[i].text);
}

static void test_indexes(void **state)
{
	struct index_list list = {0};

	(void)state;
	index_list_add(&list, 0);
	for (size_t i = 3; i < 98; i++)
		index_list_add(&list, i);
	index_list_add(&list, 100);
	index_list_add(&list, 101);
	assert_int_equal(list.count, 98);
	assert_string_equal(index_list_text(&list), "0,3..97,100,101");
	index_list_free(&list);
	list = (struct index_list){0};
	for (size_t i = 0; i < 1000; i += 2)
		index_list_add(&list, i);
	assert_string_equal(index_list_text(&list), "0,2,4,6,8,10,12,14,16,18,20,22,...");
	index_list_free(&list);
}

/* ---- tree -------------------------------------------------------------------------------------------------------- */

/* 100 Tasks: 0 failed, 1 and 2 wait, the others run on four nodes. */
static void begin_hundred(struct cli_world *w)
{
	cleanup_buf struct buf tasks = {0};
	cleanup_free char *role = NULL, *status = NULL;

	for (size_t i = 0; i < 100; i++) {
		cleanup_free char *more =
			i == 0  ? mem_strdup(",'completionStatus':{'code':7,'phrase':'P','type':{'name':'Failed',"
					      "'attributes':[]},'diagnostics':'d'}")
			: i < 3 ? mem_strdup("")
				: mem_printf(",'podIP':'10.0.0.1','podNodeName':'n%zu'", i % 4);
		cleanup_free char *task = cli_task(i,
						   i == 0  ? "Completed"
						   : i < 3 ? "AttemptPreparing"
							   : "AttemptRunning",
						   more);

		buf_printf(&tasks, "%s%s", i > 0 ? "," : "", task);
	}
	role = cli_role("a", tasks.data);
	status = cli_status("AttemptRunning", "", "", role);
	cli_world_begin(w, SPEC, status);
}

static void test_tree(void **state)
{
	struct tree_node root;
	const struct tree_node *role;
	struct task_counts counts;
	struct cli_world w;

	(void)state;
	begin_hundred(&w);
	counts = framework_view_count(&w.framework);
	assert_int_equal(counts.total, 100);
	assert_int_equal(counts.ready, 97);
	assert_int_equal(counts.running, 97);
	assert_int_equal(counts.failed, 1);
	tree_build(&w.inquiry, false, true, &root);
	assert_string_equal(root.name, "f");
	assert_string_equal(root.state, "Running");
	assert_int_equal(root.child_count, 1);
	role = &root.children[0];
	assert_string_equal(role->state, "97 of 100 running");
	assert_int_equal(role->child_count, 4);
	assert_string_equal(role->children[0].name, "a[0]");
	assert_string_equal(role->children[0].state, "Completed 7 P");
	assert_int_equal(role->children[0].tone, TONE_BAD);
	assert_string_equal(role->children[1].name, "a[1]");
	assert_string_equal(role->children[2].name, "a[2]");
	assert_string_equal(role->children[3].name, "a[3..99]");
	assert_string_equal(role->children[3].state, "97 x Running");
	assert_string_equal(role->children[3].detail, "on n3, n0, n1, ...");
	tree_free(&root);
	tree_build(&w.inquiry, true, true, &root);
	assert_int_equal(root.children[0].child_count, 100);
	tree_free(&root);
	cli_world_end(&w);
}

/* A Pod of its own for each Task that is not folded. */
static void test_tree_pod(void **state)
{
	cleanup_free char *task = cli_task(0, "AttemptRunning", ",'podUID':'p','podNodeName':'n','podIP':'10.0.0.1'");
	cleanup_free char *role = cli_role("a", task);
	cleanup_free char *status = cli_status("AttemptRunning", "", "", role);
	struct tree_node root;
	struct cli_world w;

	(void)state;
	cli_world_begin(&w, SPEC, status);
	cli_world_pod(&w, "f-a-0", "", "", "'phase':'Running','conditions':[{'type':'Ready','status':'True'}]");
	tree_build(&w.inquiry, false, false, &root);
	assert_string_equal(root.children[0].detail, "taskNumber 100");
	assert_string_equal(root.children[0].children[0].children[0].name, "f-a-0");
	assert_string_equal(root.children[0].children[0].children[0].detail,
			    "attempt 0, 60m old, ready, on n, 10.0.0.1");
	tree_free(&root);
	cli_world_end(&w);
}

/* ---- timeline ---------------------------------------------------------------------------------------------------- */

#define AT(minute) "2026-01-01T00:" minute ":00Z"

static void begin_timeline(struct cli_world *w)
{
	cleanup_free char *task = cli_task(
		0, "Completed",
		",'runTime':'" AT("30") "','completionTime':'" AT(
			"40") "','completionStatus':{'code':0,"
			      "'phrase':'Succeeded','type':{'name':'Succeeded','attributes':[]},'diagnostics':''}");
	cleanup_free char *retried = NULL, *role = NULL, *status = NULL;
	char *at = strstr(task, "'totalRetriedCount':0");

	/* the Task's third attempt began at minute 20 */
	retried = mem_printf("%.*s'totalRetriedCount':2%s", (int)(at - task), task,
			     at + strlen("'totalRetriedCount':0"));
	at = strstr(retried, "'attemptStatus':{'id':0,'startTime':'" CLI_BEGIN "'");
	free(task);
	task = mem_printf("%.*s'attemptStatus':{'id':2,'startTime':'" AT("20") "'%s", (int)(at - retried), retried,
			  at + strlen("'attemptStatus':{'id':0,'startTime':'" CLI_BEGIN "'"));
	role = cli_role("a", task);
	status = cli_status("AttemptRunning", "", "'runTime':'" AT("10") "',", role);
	cli_world_begin(w, "'taskRoles':[{'name':'a','taskNumber':1}]", status);
}

static void test_timeline(void **state)
{
	struct timeline timeline;
	struct cli_world w;
	char cells[7];

	(void)state;
	begin_timeline(&w);
	cli_world_event(&w, "TaskRetried", "Task a[0] is retried after code 1 (P): d");
	timeline_build(&w.inquiry, NULL, 0, &timeline);
	assert_int_equal(timeline.row_count, 2);
	assert_int_equal(timeline.mark_count, 1);
	assert_int_equal(timeline.to - timeline.from, 3600);
	/* six parts of ten minutes */
	timeline_cells(&timeline, &timeline.rows[0], 6, cells);
	assert_string_equal(cells, ".#####");
	timeline_cells(&timeline, &timeline.rows[1], 6, cells);
	assert_string_equal(cells, "~~.#+ ");
	assert_string_equal(timeline.rows[1].result, "0 Succeeded");
	timeline_free(&timeline);
	cli_world_end(&w);
}

/* The next attempt begins in the second in which one has failed: its end is seen, and that of one that others stand for
 * is not. */
static void test_ends(void **state)
{
	struct bar bars[] = {
		{.start = 1, .end = 20, .completed = true, .earlier = true, .tone = TONE_BAD},
		{.start = 20, .run = 21, .end = 40, .completed = true, .tone = TONE_BAD},
		{.start = 40, .run = 40, .end = 60, .completed = true, .tone = TONE_GOOD},
	};
	const struct timeline_row row = {.bars = bars, .bar_count = ARRAY_LEN(bars)};
	const struct timeline timeline = {.from = 0, .to = 60};
	char cells[7];

	(void)state;
	timeline_cells(&timeline, &row, 6, cells);
	assert_string_equal(cells, "~~##x+");
}

/* A reconciler whose clock is slower wrote the later times. */
static void test_times_out_of_order(void **state)
{
	struct bar bars[] = {
		{.start = 40, .run = 20, .end = 55, .completed = true, .tone = TONE_GOOD},
		{.start = 30, .run = 35, .end = 5, .completed = true, .tone = TONE_BAD},
	};
	const struct timeline_row rows[] = {{.bars = &bars[0], .bar_count = 1}, {.bars = &bars[1], .bar_count = 1}};
	const struct timeline timeline = {.from = 0, .to = 60};
	char cells[7];

	(void)state;
	timeline_cells(&timeline, &rows[0], 6, cells);
	assert_string_equal(cells, "  ###+");
	timeline_cells(&timeline, &rows[1], 6, cells);
	assert_string_equal(cells, "x  #  ");
}

/* Before its first attempt has begun, nobody creates the Pods of a suspended Framework. */
static void test_tree_of_suspended(void **state)
{
	cleanup_free char *task = cli_task(0, "AttemptCreationPending", ""), *role = cli_role("a", task),
			  *status = cli_status("AttemptCreationPending", "", "", role);
	struct cli_world w;
	struct tree_node root;

	(void)state;
	cli_world_begin(&w, "'taskRoles':[{'name':'a','taskNumber':1}],'suspend':true", status);
	tree_build(&w.inquiry, false, false, &root);
	assert_string_equal(root.children[0].children[0].state, "CreationPending");
	assert_string_equal(root.children[0].children[0].detail, "");
	tree_free(&root);
	cli_world_end(&w);
}

/* Former attempts come from the log; those of others, and lines of other kinds, do not. */
static void test_snapshots(void **state)
{
	static const char form[] =
		"I0101 00:00:00.000000 1 x.c:1] [ns/f]: m: OnTaskRetry: ObjectSnapshot: "
		"{\"kind\":\"Task\",\"metadata\":"
		"{\"annotations\":{\"FC_FRAMEWORK_UID\":\"%s\",\"FC_TASKROLE_NAME\":\"a\",\"FC_TASK_INDEX\":\"0\","
		"\"FC_FRAMEWORK_ATTEMPT_ID\":\"0\"}},\"status\":{\"attemptStatus\":{\"id\":%d,\"startTime\":\"%s\","
		"\"runTime\":null,\"completionTime\":\"%s\",\"completionStatus\":{\"code\":1,\"type\":{\"name\":"
		"\"Failed\"}}}}}\n";
	cleanup_buf struct buf log = {0};
	struct timeline timeline;
	struct cli_world w;
	char cells[7];

	(void)state;
	begin_timeline(&w);
	buf_puts(&log, "something: ObjectSnapshot: {broken\nanother line\n");
	buf_printf(&log, form, "u", 0, AT("00"), AT("05"));
	buf_printf(&log, form, "u", 0, AT("00"), AT("05")); /* a duplicate (CONTRACT.md §14.3) */
	buf_printf(&log, form, "other", 1, AT("00"), AT("50"));
	buf_printf(&log, form, "u", 1, AT("10"), AT("15"));
	timeline_build(&w.inquiry, log.data, log.len, &timeline);
	assert_int_equal(timeline.rows[1].bar_count, 3);
	timeline_cells(&timeline, &timeline.rows[1], 6, cells);
	assert_string_equal(cells, "xx.#+ ");
	timeline_free(&timeline);
	cli_world_end(&w);
}

static void test_lines(void **state)
{
	struct timeline_line *lines;
	struct timeline timeline;
	struct cli_world w;
	size_t count;

	(void)state;
	begin_hundred(&w);
	timeline_build(&w.inquiry, NULL, 0, &timeline);
	count = timeline_lines(&timeline, 50, &lines);
	assert_int_equal(count, 4);
	assert_string_equal(lines[0].name, "f");
	assert_string_equal(lines[3].name, "a[3..99]");
	assert_int_equal(lines[3].count, 97);
	timeline_lines_free(lines, count);
	timeline_free(&timeline);
	cli_world_end(&w);
}

/* Text of the cluster cannot add elements. */
static void test_svg(void **state)
{
	cleanup_buf struct buf out = {0};
	struct timeline timeline;
	struct cli_world w;

	(void)state;
	begin_timeline(&w);
	timeline_build(&w.inquiry, NULL, 0, &timeline);
	free(timeline.rows[1].result);
	timeline.rows[1].result = mem_strdup("<script>&\"\x1b[31m\xff");
	svg_write(&out, &timeline);
	assert_contains(out.data, "&lt;script&gt;&amp;&quot;\xEF\xBF\xBD[31m\xEF\xBF\xBD");
	assert_null(strstr(out.data, "<script"));
	assert_contains(out.data, "<rect class=\"running\"");
	assert_contains(out.data, "before attempt 2");
	timeline_free(&timeline);
	cli_world_end(&w);
}

/* ---- scale ------------------------------------------------------------------------------------------------------- */

static void expect_patch(const json_t *framework, const char *wish, bool adjust, const char *expected,
			 const char *remark)
{
	cleanup_buf struct buf remarks = {0};
	struct scale_wish wishes[1];
	cleanup_json json_t *patch = NULL, *wanted = cli_json(expected);
	cleanup_free char *text = NULL;
	struct error err = {.message = ""};

	assert_int_equal(scale_wish_parse(wish, &wishes[0], &err), 0);
	patch = scale_patch(framework, wishes, 1, adjust, &remarks, &err);
	assert_non_null(patch);
	text = json_text(patch);
	if (!json_equal(patch, wanted))
		fail_msg("found %s, expected %s", text, expected);
	assert_contains(remarks.data == NULL ? "" : remarks.data, remark);
	assert_true((remarks.len > 0) == (*remark != '\0'));
}

#define LONG_NAME "a123456789b123456789c123456789d123456789e123456789f123456789g"

static void test_scale(void **state)
{
	cleanup_json json_t *f = cli_json(
		"{'metadata':{'name':'f'},'spec':{'taskRoles':[{'name':'ps'},{'name':'w','taskNumber':4,"
		"'frameworkAttemptCompletionPolicy':{'minSucceededTaskCount':4}}]}}");
	cleanup_json json_t *gang = cli_json(
		"{'metadata':{'name':'f'},'spec':{'gang':{'scheduler':'Volcano','minTaskNumber':2},'taskRoles':[{"
		"'name':'a','taskNumber':2},{'name':'b','taskNumber':1,'dependsOn':[{'taskRole':'a','status':"
		"'Running'}]}]}}");
	/* whose eleventh Pod has a hostname that is too long */
	cleanup_json json_t *named = cli_json(
		"{'metadata':{'name':'f'},'spec':{'network':{},'taskRoles':[{'name':'" LONG_NAME
		"','taskNumber':1}]}}");
	struct scale_wish wishes[2] = {{"w", 1}, {"w", 2}};
	struct error err;

	(void)state;
	expect_patch(f, "w=6", true,
		     "[{'op':'test','path':'/spec/taskRoles/1/name','value':'w'},"
		     "{'op':'test','path':'/spec/taskRoles/1/taskNumber','value':4},"
		     "{'op':'replace','path':'/spec/taskRoles/1/taskNumber','value':6},"
		     "{'op':'test','path':'/spec/taskRoles/1/frameworkAttemptCompletionPolicy/"
		     "minSucceededTaskCount','value':4},"
		     "{'op':'replace','path':'/spec/taskRoles/1/frameworkAttemptCompletionPolicy/"
		     "minSucceededTaskCount','value':6}]",
		     "");
	expect_patch(f, "w=3", false,
		     "[{'op':'test','path':'/spec/taskRoles/1/name','value':'w'},"
		     "{'op':'test','path':'/spec/taskRoles/1/taskNumber','value':4},"
		     "{'op':'replace','path':'/spec/taskRoles/1/taskNumber','value':3}]",
		     "minSucceededTaskCount stays 4, with 3 Tasks");
	expect_patch(f, "ps=1", true,
		     "[{'op':'test','path':'/spec/taskRoles/0/name','value':'ps'},"
		     "{'op':'add','path':'/spec/taskRoles/0/taskNumber','value':1}]",
		     "");
	assert_null(scale_patch(f, wishes, 2, false, NULL, &err));
	assert_string_equal(err.message, "TaskRole w is named twice");
	assert_null(scale_patch(f, (struct scale_wish[]){{"x", 1}}, 1, false, NULL, &err));
	assert_string_equal(err.message, "Framework f has no TaskRole x, expected one of: ps, w");
	expect_patch(f, "ps=9996", false,
		     "[{'op':'test','path':'/spec/taskRoles/0/name','value':'ps'},"
		     "{'op':'add','path':'/spec/taskRoles/0/taskNumber','value':9996}]",
		     "");
	assert_null(scale_patch(f, (struct scale_wish[]){{"ps", 9997}}, 1, false, NULL, &err));
	assert_string_equal(err.message, "all TaskRoles would have 10001 Tasks together, expected at most 10000");
	/* as a gang of 2 whose last Task waits for another one */
	assert_null(scale_patch(gang, (struct scale_wish[]){{"a", 1}}, 1, false, NULL, &err));
	assert_contains(err.message,
			"the Framework would be malformed: spec.gang.minTaskNumber is 2, expected at most 1");
	assert_null(scale_patch(named, (struct scale_wish[]){{LONG_NAME, 11}}, 1, false, NULL, &err));
	assert_contains(err.message, "the Framework would be malformed: ");
	expect_patch(gang, "b=0", false,
		     "[{'op':'test','path':'/spec/taskRoles/1/name','value':'b'},"
		     "{'op':'test','path':'/spec/taskRoles/1/taskNumber','value':1},"
		     "{'op':'replace','path':'/spec/taskRoles/1/taskNumber','value':0}]",
		     "");
}

static void test_wishes(void **state)
{
	static const char *const wrong[] = {
		"w", "w=", "=5", "w=-1", "w=10001", "w=5x", "W=5", "w=99999999999999999999", "a-b=1"};
	struct scale_wish wish;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_int_equal(scale_wish_parse(wrong[i], &wish, &err), -1);
		assert_contains(err.message, wrong[i]);
	}
	assert_int_equal(scale_wish_parse("w=10000", &wish, &err), 0);
	assert_int_equal(wish.number, 10000);
}

/* ---- retry ------------------------------------------------------------------------------------------------------- */

static json_t *named(const char *name, const char *mark)
{
	json_t *object = json_pack("{s:{s:s}}", "metadata", "name", name);

	if (mark != NULL)
		retry_set_mark(object, mark);
	return object;
}

static void test_retry(void **state)
{
	cleanup_json json_t *f = cli_json(
		"{'metadata':{'name':'f','namespace':'ns','uid':'u','resourceVersion':'7','labels':{'l':'1'},"
		"'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'x','a':'b'},'finalizers':['y']},"
		"'spec':{'executionType':'Stop','suspend':true,'description':'d'},'status':{'state':'Completed'}}");
	cleanup_json json_t *expected = cli_json(
		"{'apiVersion':'frameworkcontroller.microsoft.com/v1','kind':'Framework','metadata':{'name':'g',"
		"'namespace':'ns','labels':{'l':'1'},'annotations':{'a':'b'}},'spec':{'description':'d'}}");
	cleanup_json json_t *found = retry_object(f, "g");
	cleanup_free char *text = json_text(found);
	static const struct {
		const char *name, *mark;
		unsigned n;
		const char *next;
	} names[] = {
		{"hello", NULL, 1, "hellor1"},
		{"hellor4", "hello/u", 1, "hellor5"},
		{"hellor4", "hellor3/u", 3, "hellor7"},
		{"train2", "train/u", 1, "train2r1"},
		{"r1", "r1/u", 1, "r1r1"},
		{"worker2", NULL, 1, "worker2r1"},
		{"worker2", "worker2/u", 1, "worker2r1"}, /* by --replace */
		{"worker2", "base/u", 1, "worker2r1"},    /* by --name */
	};
	char name[RETRY_NAME_SIZE], longest[RETRY_NAME_SIZE];

	(void)state;
	if (!json_equal(found, expected))
		fail_msg("found %s", text);
	assert_non_null(json_path(f, "spec", "executionType", NULL)); /* the old one is not changed */
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		cleanup_json json_t *tried = named(names[i].name, names[i].mark);

		assert_string_equal(retry_name(tried, names[i].n, name), names[i].next);
	}
	memset(longest, 'x', 63);
	longest[63] = '\0';
	json_decref(expected);
	expected = named(longest, NULL);
	retry_name(expected, 12, name);
	assert_int_equal(strlen(name), 63);
	assert_string_equal(name + 59, "xr12");
}

/* ---- logs -------------------------------------------------------------------------------------------------------- */

static void note_line(void *arg, const char *time, const char *line)
{
	buf_printf(arg, "%s|%s\n", time, line);
}

/* However the bytes come, the lines are the same; after a resume nothing is doubled and nothing is lost. */
static void test_log_lines(void **state)
{
	static const char text[] =
		"2026-01-01T00:00:00.1Z one\n2026-01-01T00:00:00.12Z two words\n\n2026-01-01T00:00:01Z \n";
	static const char again[] =
		"2026-01-01T00:00:00.12Z two words\n2026-01-01T00:00:01Z \n2026-01-01T00:00:01.000000001Z new";

	(void)state;
	for (size_t cut = 0; cut < sizeof(text); cut++) {
		struct log_lines lines = {0};
		cleanup_buf struct buf out = {0};

		log_lines_add(&lines, text, cut, note_line, &out);
		log_lines_add(&lines, text + cut, sizeof(text) - 1 - cut, note_line, &out);
		assert_string_equal(
			out.data,
			"2026-01-01T00:00:00.1Z|one\n2026-01-01T00:00:00.12Z|two words\n|\n2026-01-01T00:00:01Z|\n");
		buf_clear(&out);
		log_lines_resume(&lines);
		log_lines_add(&lines, again, sizeof(again) - 1, note_line, &out);
		assert_int_equal(out.len, 0);
		log_lines_end(&lines, note_line, &out);
		assert_string_equal(out.data, "2026-01-01T00:00:01.000000001Z|new\n");
		buf_free(&lines.pending);
	}
}

/* A line of several pieces, of which each has its time; no character is cut; a resume begins the line again. */
static void test_long_lines(void **state)
{
	static const char time[] = "2026-01-01T00:00:01Z";
	struct log_lines lines = {0};
	cleanup_buf struct buf out = {0}, text = {0};

	(void)state;
	buf_printf(&text, "%s ", time);
	while (text.len < LOG_LINE_MAX - 1)
		buf_putc(&text, 'x');
	buf_puts(&text, "\303\2442026 rest");
	log_lines_add(&lines, text.data, text.len, note_line, &out);
	assert_int_equal(out.len, LOG_LINE_MAX - 1 + 1);
	buf_clear(&out);
	log_lines_add(&lines, "\n2026-01-01T00:00:02Z \0nul\n", 27, note_line, &out);
	assert_string_equal(out.data, "2026-01-01T00:00:01Z|\303\2442026 rest\n2026-01-01T00:00:02Z|\1nul\n");
	assert_string_equal(lines.last, "2026-01-01T00:00:02Z");
	/* one that is known is left out with all its pieces */
	buf_clear(&out);
	log_lines_resume(&lines);
	log_lines_add(&lines, text.data, text.len, note_line, &out);
	log_lines_add(&lines, "\n", 1, note_line, &out);
	assert_int_equal(out.len, 0);
	/* the stream breaks off behind the first piece */
	memcpy(text.data, "2026-01-01T00:00:03Z", strlen(time));
	log_lines_add(&lines, text.data, text.len, note_line, &out);
	buf_clear(&out);
	log_lines_resume(&lines);
	log_lines_add(&lines, "2026-01-01T00:00:03Z whole\n", 27, note_line, &out);
	assert_string_equal(out.data, "2026-01-01T00:00:03Z|whole\n");
	/* a line of exactly that length is one piece */
	buf_clear(&text);
	buf_clear(&out);
	while (text.len < LOG_LINE_MAX)
		buf_putc(&text, 'x');
	buf_putc(&text, '\n');
	log_lines_add(&lines, text.data, text.len, note_line, &out);
	assert_int_equal(out.len, LOG_LINE_MAX + 2);
	buf_free(&lines.pending);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_indexes),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_tree_pod),
		cmocka_unit_test(test_timeline),
		cmocka_unit_test(test_snapshots),
		cmocka_unit_test(test_times_out_of_order),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_tree_of_suspended),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_svg),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_wishes),
		cmocka_unit_test(test_retry),
		cmocka_unit_test(test_log_lines),
		cmocka_unit_test(test_long_lines),
	};

	return cmocka_run_group_tests_name("cli_views", tests, NULL, NULL);
}
