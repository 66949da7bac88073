/* The two state tables, written out again from CONTRACT.md §5 and §6 independently of state.c: state.c allows exactly
 * these moves, and stories reach every one of them. Which moves are made is read from the trace that the core logs. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tests/unit/sync_world.h"

struct move {
	const char *from;
	const char *to;
};

#define PENDING "AttemptCreationPending"
#define REQUESTED "AttemptCreationRequested"
#define PREPARING "AttemptPreparing"
#define RUNNING "AttemptRunning"
#define DELETION_PENDING "AttemptDeletionPending"
#define DELETION_REQUESTED "AttemptDeletionRequested"
#define DELETING "AttemptDeleting"
#define ATTEMPT_COMPLETED "AttemptCompleted"
#define COMPLETED "Completed"

static const struct move framework_moves[] = {
	{PENDING, REQUESTED},
	{PENDING, ATTEMPT_COMPLETED},
	{REQUESTED, PREPARING},
	{REQUESTED, DELETING},
	{REQUESTED, ATTEMPT_COMPLETED},
	{PREPARING, RUNNING},
	{PREPARING, DELETION_PENDING},
	{PREPARING, DELETING},
	{PREPARING, ATTEMPT_COMPLETED},
	{RUNNING, DELETION_PENDING},
	{RUNNING, DELETING},
	{RUNNING, ATTEMPT_COMPLETED},
	{DELETION_PENDING, DELETION_REQUESTED},
	{DELETION_PENDING, DELETING},
	{DELETION_PENDING, ATTEMPT_COMPLETED},
	{DELETION_REQUESTED, DELETING},
	{DELETION_REQUESTED, ATTEMPT_COMPLETED},
	{DELETING, ATTEMPT_COMPLETED},
	{ATTEMPT_COMPLETED, PENDING},
	{ATTEMPT_COMPLETED, COMPLETED},
};

/* A Task's are these and one more. */
static const struct move task_only = {RUNNING, PREPARING};

static bool in_table(const char *from, const char *to, bool task)
{
	if (task && strcmp(from, task_only.from) == 0 && strcmp(to, task_only.to) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(framework_moves); i++)
		if (strcmp(from, framework_moves[i].from) == 0 && strcmp(to, framework_moves[i].to) == 0)
			return true;
	return false;
}

static void test_tables(void **state)
{
	(void)state;
	for (int from = 0; from < STATE_COUNT; from++) {
		for (int to = 0; to < STATE_COUNT; to++) {
			const char *a = attempt_state_name((enum attempt_state)from);
			const char *b = attempt_state_name((enum attempt_state)to);

			if (framework_move_allowed((enum attempt_state)from, (enum attempt_state)to) !=
			    in_table(a, b, false))
				fail_msg("Framework: %s -> %s", a, b);
			if (task_move_allowed((enum attempt_state)from, (enum attempt_state)to) != in_table(a, b, true))
				fail_msg("Task: %s -> %s", a, b);
		}
	}
}

/* ---- the trace --------------------------------------------------------------------------------------------------- */

static bool made_framework[STATE_COUNT][STATE_COUNT];
static bool made_task[STATE_COUNT][STATE_COUNT];
static int trace_file = -1;
static int stderr_copy = -1;

static void trace_begin(void)
{
	trace_file = memfd_create("trace", MFD_CLOEXEC);
	assert_true(trace_file >= 0);
	stderr_copy = dup(STDERR_FILENO);
	assert_true(dup2(trace_file, STDERR_FILENO) >= 0);
	log_verbosity = 3;
}

static void note_move(const char *line)
{
	const char *arrow = strstr(line, " -> ");
	const char *colon;
	enum attempt_state from;
	enum attempt_state to;
	cleanup_free char *from_name = NULL;

	if (arrow == NULL)
		return;
	for (colon = arrow; colon[0] != ':' || colon[1] != ' '; colon--)
		assert_true(colon > line);
	from_name = mem_strndup(colon + 2, (size_t)(arrow - colon - 2));
	assert_int_equal(attempt_state_parse(from_name, &from), 0);
	assert_int_equal(attempt_state_parse(arrow + 4, &to), 0);
	/* "[ns/f]: …" is the Framework, "[ns/f][a][0]: …" a Task */
	if (colon[-2] == WORLD_NAME[0])
		made_framework[from][to] = true;
	else
		made_task[from][to] = true;
}

/* What was traced; stderr is itself again. */
static char *trace_take(void)
{
	off_t size = lseek(trace_file, 0, SEEK_END);
	char *text = mem_calloc((size_t)size + 1, 1);

	log_verbosity = 0;
	dup2(stderr_copy, STDERR_FILENO);
	close(stderr_copy);
	if (pread(trace_file, text, (size_t)size, 0) != size)
		text[0] = '\0';
	close(trace_file);
	trace_file = -1;
	return text;
}

/* A story failed: its complaint is in the trace. */
static int trace_abandon(void **state)
{
	(void)state;
	if (trace_file >= 0) {
		cleanup_free char *text = trace_take();

		fputs(text, stderr);
	}
	return 0;
}

static void trace_end(void)
{
	cleanup_free char *text = trace_take();
	char *rest = text;
	char *line;

	while ((line = strsep(&rest, "\n")) != NULL)
		note_move(line);
}

/* ---- stories ----------------------------------------------------------------------------------------------------- */

#define STAYS ",'frameworkAttemptCompletionPolicy':{}"
#define STOP ",'executionType':'Stop'"

static void begin(struct world *w, int n, bool running)
{
	world_begin_of(w, n, STAYS, "", "");
	world_settle(w);
	for (int i = 0; running && i < n; i++)
		world_pod_phase(w, pod_name("a", (size_t)i), "Running");
	world_settle(w);
}

static void end_of_life(struct world *w)
{
	w->slow_gc = false;
	w->slow_kubelet = false;
	world_collect(w);
	world_settle_for(w, 1000000);
	assert_state(w, STATE_COMPLETED);
	world_end(w);
}

/* PENDING → REQUESTED → PREPARING → RUNNING → DELETION_PENDING → …REQUESTED → DELETING → ATTEMPT_COMPLETED → PENDING
 * and COMPLETED, Framework and Task alike; the Task's way back to PREPARING. */
static void story_retried(void)
{
	struct world w;

	world_begin_of(&w, 1, "", ",'retryPolicy':{'maxRetryCount':1}", ",'retryPolicy':{'maxRetryCount':1}");
	for (int i = 0; i < 4; i++) {
		world_settle(&w);
		world_pod_phase(&w, "f-a-0", "Running");
		world_settle(&w);
		world_pod_phase(&w, "f-a-0", "Pending");
		world_settle(&w);
		world_pod_phase(&w, "f-a-0", "Running");
		world_settle(&w);
		w.slow_kubelet = true;
		world_pod_exit(&w, "f-a-0", 1, "");
		world_settle(&w);
		assert_task(&w, 0, 0, STATE_DELETING);
		w.slow_kubelet = false;
		world_pod_gone(&w, "f-a-0");
		w.slow_gc = true;
		world_settle(&w);
		w.slow_gc = false;
		world_collect(&w);
	}
	end_of_life(&w);
}

/* PREPARING → DELETION_PENDING of a Framework (Stop), and of a Task (its Pod ends unseen in between). */
static void story_from_preparing(void)
{
	struct world w;

	begin(&w, 2, false);
	world_pod_exit(&w, "f-a-0", 0, "");
	world_settle(&w);
	world_edit_of(&w, 2, STAYS, "", STOP);
	end_of_life(&w);
}

/* PENDING → ATTEMPT_COMPLETED of both: Stop before anything is made; a Task that ends with its Framework. */
static void story_never_made(void)
{
	struct world w;

	world_begin_of(&w, 1, "", "", STOP);
	end_of_life(&w);
}

/* Deleted by others in each state; certain: gone at once, otherwise seen deleting. */
static void story_deleted(bool running, bool gone)
{
	struct world w;

	begin(&w, 2, running);
	w.slow_kubelet = true;
	if (gone) {
		world_pod_gone(&w, "f-a-0");
	} else {
		world_pod_deleting(&w, "f-a-0");
		world_settle(&w);
		world_pod_gone(&w, "f-a-0");
	}
	world_settle(&w);
	w.slow_kubelet = false;
	w.slow_gc = true;
	if (gone) {
		json_object_clear(w.pods);
		world_config_map_gone(&w);
	} else {
		world_config_map_deleting(&w);
		world_settle(&w);
	}
	end_of_life(&w);
}

/* DELETION_PENDING → DELETING and → ATTEMPT_COMPLETED: somebody else was quicker. */
static void story_others_quicker(bool gone)
{
	struct world w;

	begin(&w, 2, true);
	w.slow_kubelet = true;
	w.slow_gc = true;
	world_pod_exit(&w, "f-a-0", 0, "");
	world_reconcile(&w);
	assert_task(&w, 0, 0, STATE_DELETION_PENDING);
	if (gone)
		world_pod_gone(&w, "f-a-0");
	else
		world_pod_deleting(&w, "f-a-0");
	world_settle(&w);
	world_edit_of(&w, 2, STAYS, "", STOP);
	world_reconcile(&w);
	assert_state(&w, STATE_DELETION_PENDING);
	if (gone) {
		world_config_map_gone(&w);
	} else {
		world_config_map_deleting(&w);
		world_settle(&w);
		world_config_map_gone(&w);
	}
	end_of_life(&w);
}

/* DELETION_REQUESTED → DELETING and → ATTEMPT_COMPLETED: the delete's answer does not say deleting, the event comes
 * later. */
static void story_requested(bool gone)
{
	struct world w;

	begin(&w, 2, true);
	w.slow_kubelet = true;
	w.slow_gc = true;
	world_pod_exit(&w, "f-a-0", 0, "");
	w.fault = (struct world_fault){.kind = CALL_DELETE_POD, .count = 1, .http_status = 200};
	world_settle(&w);
	assert_task(&w, 0, 0, STATE_DELETION_REQUESTED);
	if (!gone) {
		world_pod_deleting(&w, "f-a-0");
		world_settle(&w);
	}
	world_pod_gone(&w, "f-a-0");
	world_settle(&w);
	w.fault = (struct world_fault){.kind = CALL_DELETE_CONFIG_MAP, .count = 1, .http_status = 200};
	world_edit_of(&w, 2, STAYS, "", STOP);
	world_settle(&w);
	assert_state(&w, STATE_DELETION_REQUESTED);
	if (!gone) {
		world_config_map_deleting(&w);
		world_settle(&w);
	}
	world_config_map_gone(&w);
	end_of_life(&w);
}

/* REQUESTED → DELETING and → ATTEMPT_COMPLETED: as the original controller leaves it, which stores that state. */
static void story_stored_requested(bool config_map, bool deleting)
{
	static const char *const task =
		"{'state':'AttemptPreparing','attemptStatus':{'id':0,'instanceUID':'0_c','configMapUID':'c',"
		"'taskRoleStatuses':[{'name':'a','instanceUID':'r','taskStatuses':[{'index':0,'instanceUID':'t','state'"
		":"
		"'AttemptCreationRequested','attemptStatus':{'id':0,'instanceUID':'0_p','podUID':'p'}}]}]}}";
	static const char *const attempt =
		"{'state':'AttemptCreationRequested','attemptStatus':{'id':0,'instanceUID':'0_c','configMapUID':'c'}}";
	struct world w;

	world_init(&w);
	world_create_framework(&w, config_map ? "{}" : "{'taskRoles':[{'name':'a','taskNumber':1}]}",
			       config_map ? attempt : task);
	if (!config_map || deleting)
		world_put(&w,
			  "{'metadata':{'name':'f-attempt','uid':'c','labels':{'FC_FRAMEWORK_NAME':'f'},"
			  "'ownerReferences':[{'controller':true,'uid':'fw-uid-1'}]}}",
			  true);
	if (!config_map && deleting)
		world_put(&w,
			  "{'metadata':{'name':'f-a-0','uid':'p','labels':{'FC_FRAMEWORK_NAME':'f'},"
			  "'ownerReferences':[{'controller':true,'uid':'c'}]},'spec':{},'status':{}}",
			  false);
	w.slow_kubelet = true;
	w.slow_gc = true;
	if (deleting && config_map)
		world_mark_deleting(&w, w.config_map, 0);
	else if (deleting)
		world_mark_deleting(&w, world_pod(&w, "f-a-0"), 30);
	world_tell_config_map(&w);
	world_tell_pod(&w, "f-a-0");
	world_settle(&w);
	if (deleting && config_map)
		world_config_map_gone(&w);
	else if (deleting)
		world_pod_gone(&w, "f-a-0");
	w.slow_gc = false;
	end_of_life(&w);
}

/* PREPARING → DELETION_PENDING of a Task that is to go. */
static void story_scaled(void)
{
	struct world w;

	begin(&w, 2, false);
	world_edit_of(&w, 1, STAYS, "", "");
	world_settle(&w);
	world_edit_of(&w, 1, STAYS, "", STOP);
	end_of_life(&w);
}

static void assert_made(bool made[STATE_COUNT][STATE_COUNT], bool task)
{
	int allowed = 0;

	for (int from = 0; from < STATE_COUNT; from++) {
		for (int to = 0; to < STATE_COUNT; to++) {
			const char *a = attempt_state_name((enum attempt_state)from);
			const char *b = attempt_state_name((enum attempt_state)to);

			allowed += in_table(a, b, task);
			if (in_table(a, b, task) != made[from][to])
				fail_msg("%s: %s -> %s was %s", task ? "Task" : "Framework", a, b,
					 made[from][to] ? "made" : "never made");
		}
	}
	print_message("moves made: all %d of the %s state machine\n", allowed, task ? "Task" : "Framework");
}

static void test_all_made(void **state)
{
	(void)state;
	trace_begin();
	story_retried();
	story_from_preparing();
	story_never_made();
	for (int gone = 0; gone < 2; gone++) {
		story_deleted(false, gone);
		story_deleted(true, gone);
		story_others_quicker(gone);
		story_requested(gone);
		story_stored_requested(false, gone);
		story_stored_requested(true, gone);
	}
	story_scaled();
	trace_end();
	assert_made(made_framework, false);
	assert_made(made_task, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test_teardown(test_all_made, trace_abandon),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
