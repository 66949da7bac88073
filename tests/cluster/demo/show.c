/* What the demo says while and after the examples run; see run.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "tests/cluster/demo/run.h"

enum { TAIL_LINES = 12, TAIL_WIDTH = 240 };

/* One line per change. */
static void print_change(struct demo *demo, const struct row *row)
{
	cleanup_buf struct buf line = {0};

	table_write_row(&line, &demo->table, row, 0);
	screen_print(&demo->screen, "%6.1f s  %s\n", seconds(demo_elapsed_ms(demo)), line.data);
}

void show_table(struct demo *demo)
{
	cleanup_buf struct buf text = {0};
	size_t width, height;

	screen_size(&demo->screen, &width, &height);
	table_write(&text, demo->rows, demo->examples.count, width, height, demo->screen.colour);
	screen_draw(&demo->screen, text.data);
}

void show_progress(struct demo *demo)
{
	int64_t now = clock_wall_ms() / 1000;

	for (size_t i = 0; i < demo->examples.count; i++) {
		const struct example *example = &demo->examples.list[i];
		struct row row;

		row_fill(&row, example->name, &example->sight, example->verdict, now);
		if (!demo->screen.live)
			table_fit(&demo->table, &row);
		if (!demo->screen.live && example->sight.begun && !row_same(&row, &demo->rows[i]))
			print_change(demo, &row);
		demo->rows[i] = row;
	}
	if (demo->screen.live)
		show_table(demo);
}

void show_begin(struct demo *demo)
{
	/* As wide as columns usually get, so that lines which cannot be taken back stand below each other. */
	static const struct row usual = {
		.cells = {"", "AttemptDeletionRequested", "1 CreationPending, 2 DeletionPending", "0 +1 Task",
			  "200 ContainerTransientFailed", "10s"},
	};
	cleanup_buf struct buf head = {0};

	demo->rows = mem_calloc(demo->examples.count + 1, sizeof(demo->rows[0]));
	table_fit(&demo->table, &usual);
	for (size_t i = 0; i < demo->examples.count; i++) {
		const struct example *example = &demo->examples.list[i];

		row_fill(&demo->rows[i], example->name, &example->sight, example->verdict, 0);
		table_fit(&demo->table, &demo->rows[i]);
	}
	if (demo->screen.live) {
		show_table(demo);
		return;
	}
	table_write_head(&head, &demo->table, 0);
	screen_print(&demo->screen, "          %s\n", head.data);
}

void show_summary(struct demo *demo)
{
	size_t width, height, name_width = 0, right = examples_count(&demo->examples, VERDICT_AS_EXPECTED);

	screen_size(&demo->screen, &width, &height);
	for (size_t i = 0; i < demo->examples.count; i++) {
		size_t len = strlen(demo->examples.list[i].name);

		name_width = len > name_width ? len : name_width;
	}
	screen_print(&demo->screen, "\n");
	for (size_t i = 0; i < demo->examples.count; i++) {
		cleanup_free char *line = example_summary(&demo->examples.list[i], name_width, width);

		screen_print(&demo->screen, "%s", line);
	}
	screen_print(&demo->screen, "\n%zu of %zu examples ended as expected, after %.1f s.\n", right,
		     demo->examples.count, seconds(demo_elapsed_ms(demo)));
}

/* The one with most to see: retries of Tasks before those of Frameworks, and those that are over. */
static const struct example *richest(const struct examples *examples)
{
	const struct example *best = NULL;
	int64_t most = -1;

	for (size_t i = 0; i < examples->count; i++) {
		const struct example *example = &examples->list[i];
		int64_t seen = (example->sight.task_retries > 0 ? 1000000 : 0) +
			       (int64_t)example->sight.task_count * 10 + example->sight.retries;

		if (example->sight.state == STATE_COMPLETED && seen > most) {
			best = example;
			most = seen;
		}
	}
	return best;
}

/* Runs the plugin, which prints on the same terminal. */
static void show_view(struct demo *demo, const struct example *example, const char *view)
{
	cleanup_free char *path = mem_printf("%s/kubectl-framework", demo->options->bin);
	cleanup_free char *log = mem_printf("%s/fc-watcher.log", demo->directory);
	const char *argv[] = {"kubectl-framework",
			      view,
			      example->name,
			      "-n",
			      example->ns,
			      "--kubeconfig",
			      demo->kubeconfig,
			      strcmp(view, "timeline") == 0 ? "--snapshots" : NULL,
			      log,
			      NULL};
	pid_t pid;

	screen_print(&demo->screen, "\n$ kubectl framework %s %s\n", view, example->name);
	if (posix_spawn(&pid, path, NULL, NULL, (char *const *)argv, environ) == 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			continue;
}

void show_views(struct demo *demo)
{
	const struct example *example = richest(&demo->examples);

	if (example == NULL)
		return;
	show_view(demo, example, "tree");
	show_view(demo, example, "timeline");
	screen_print(&demo->screen, "\n");
}

void show_next_steps(struct demo *demo)
{
	const struct example *running = NULL, *completed = NULL, *failed = NULL;

	for (size_t i = demo->examples.count; i-- > 0;) {
		const struct example *example = &demo->examples.list[i];

		if (example->sight.state == STATE_COMPLETED && example->sight.code != 0)
			failed = example;
		else if (example->sight.state == STATE_COMPLETED)
			completed = example;
		else if (example->pod_name[0] != '\0')
			running = example;
	}
	completed = failed != NULL ? failed : completed;
	screen_print(&demo->screen,
		     "\nThe cluster stays up. Try these commands in any shell:\n\n"
		     "  export KUBECONFIG=%s\n"
		     "  export PATH=%s:$PATH     # kubectl finds its plugin there\n"
		     "  kubectl get frameworks\n"
		     "  kubectl get pods\n"
		     "  kubectl framework list\n",
		     demo->kubeconfig, demo->options->bin);
	if (completed != NULL)
		screen_print(&demo->screen,
			     "  kubectl framework why %s\n"
			     "  kubectl describe framework %s\n"
			     "  kubectl delete framework %s\n",
			     completed->name, completed->name, completed->name);
	if (running != NULL)
		screen_print(&demo->screen,
			     "  kubectl framework logs %s     # with -f: until it ends, with the Pods that are created "
			     "meanwhile\n"
			     "  kubectl delete pod %s     # the controller creates it again\n"
			     "  kubectl patch framework %s --type=merge -p '{\"spec\":{\"executionType\":\"Stop\"}}'\n",
			     running->name, running->pod_name, running->name);
	screen_print(&demo->screen,
		     "\nkubectl framework ui shows all of it in a browser of this machine.\n"
		     "Logs of the processes: %s/*.log. Logs of the containers: %s/pods.\n"
		     "To stop the cluster and remove its directory:\n\n"
		     "  %s/fc-demo --stop %s\n",
		     demo->directory, demo->directory, demo->options->bin, demo->directory);
}

void show_failure(struct demo *demo)
{
	const char *log = demo->failed_log == NULL ? demo_log(demo, "fc-watcher") : demo->failed_log;
	const char *needle = NULL;
	cleanup_free char *tail = NULL;

	for (size_t i = demo->examples.count; i-- > 0 && demo->phase == PHASE_WATCH && demo->failed_log == NULL;)
		if (demo->examples.list[i].verdict != VERDICT_AS_EXPECTED)
			needle = demo->examples.list[i].name;
	if (demo->failed)
		screen_print(&demo->screen, "\nfc-demo: %s.\n", demo->failure.message);
	if (log == NULL)
		log = demo_log(demo, "fc-testapi");
	if (log == NULL)
		return;
	tail = log_tail(log, needle, TAIL_LINES, TAIL_WIDTH);
	if (tail[0] == '\0') {
		needle = NULL;
		free(tail);
		tail = log_tail(log, NULL, TAIL_LINES, TAIL_WIDTH);
	}
	screen_print(&demo->screen, "\nThe last lines of %s%s%s:\n%s\nAll logs are in %s\n", log,
		     needle == NULL ? "" : " about ", needle == NULL ? "" : needle, tail, demo->directory);
}
