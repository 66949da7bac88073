/* The phases of the demo, on one libev loop; see demo.h. */
#include "tests/cluster/demo/demo.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "common/kube/client.h"
#include "common/kube/reflector.h"
#include "tests/cluster/demo/children.h"
#include "tests/cluster/demo/documents.h"
#include "tests/cluster/demo/example.h"
#include "tests/cluster/demo/screen.h"

/* What is waited for. Each phase is entered from the one before it. */
enum phase {
	PHASE_API,    /* fc-testapi listens and has written its kubeconfig */
	PHASE_CRD,    /* the controller's CRD is Established */
	PHASE_SUBMIT, /* the examples are posted, one after the other */
	PHASE_WATCH,  /* every Framework reaches an end */
};

enum {
	TICK_MS = 20,
	CALL_TIMEOUT_MS = 10000,
	TAIL_LINES = 12,
	NODES = 3,
	SUN_PATH_MAX = 107, /* of a socket's path, unix(7) */
	BUS_PATH_ROOM = 32, /* what the watcher appends to TMPDIR */
};

struct demo {
	const struct demo_options *options;
	struct ev_loop *loop;
	ev_timer tick;
	ev_signal signals[6];
	struct screen screen;
	struct children children;
	struct examples examples;
	struct table table; /* of the lines, when not live */
	struct row *rows;   /* as last shown, one per example */
	char *directory;
	char *kubeconfig;
	char *server; /* its URL */
	struct kube_client *client;
	struct reflector *reflector;
	enum phase phase;
	bool calling;     /* a call of this phase is under way */
	size_t submitted; /* documents */
	int64_t started_ms;
	int64_t deadline_ms;
	int interrupted_by; /* a signal, or 0 */
	bool failed;
	struct error failure;
	const char *failed_log; /* borrowed; NULL: the watcher's */
};

static int64_t elapsed_ms(const struct demo *demo)
{
	return clock_boot_ms() - demo->started_ms;
}

static double seconds(int64_t ms)
{
	return (double)ms / 1000;
}

/* Ends the loop; what is in *err is told later, when the terminal is free for it. */
static void fail(struct demo *demo, const struct error *err)
{
	if (!demo->failed)
		demo->failure = *err;
	demo->failed = true;
	ev_break(demo->loop, EVBREAK_ALL);
}

static const char *log_of(const struct demo *demo, const char *name)
{
	for (size_t i = 0; i < demo->children.count; i++)
		if (strcmp(demo->children.list[i].name, name) == 0)
			return demo->children.list[i].log;
	return NULL;
}

/* ---- processes ---- */

static int start(struct demo *demo, const char *name, const char *const *argv, struct error *err)
{
	cleanup_free char *path = mem_printf("%s/%s", demo->options->bin, name);

	return children_start(&demo->children, name, path, argv, err);
}

static int start_api(struct demo *demo, struct error *err)
{
	const char *const argv[] = {"fc-testapi", "--kubeconfig", demo->kubeconfig, NULL};

	return start(demo, "fc-testapi", argv, err);
}

static int start_kubelet(struct demo *demo, struct error *err)
{
	cleanup_free char *root = mem_printf("%s/pods", demo->directory);
	cleanup_free char *nodes = mem_printf("%d", NODES);
	/* Containers find the API server by it, as they would by their service account elsewhere. */
	cleanup_free char *env = mem_printf("KUBECONFIG=%s", demo->kubeconfig);
	const char *const argv[] = {
		"fc-testkubelet", "--mode", "real",        "--kubeconfig",     demo->kubeconfig, "--nodes", nodes,
		"--root",         root,     "--image-bin", demo->options->bin, "--pod-env",      env,       NULL};

	return start(demo, "fc-testkubelet", argv, err);
}

static int start_watcher(struct demo *demo, struct error *err)
{
	cleanup_free char *workers = mem_printf("%d", demo->options->workers);
	const char *const argv[] = {"fc-watcher",
				    "--kubeconfig",
				    demo->kubeconfig,
				    "--config",
				    demo->options->config,
				    "--workers",
				    workers,
				    "-v",
				    "2",
				    NULL};

	return start(demo, "fc-watcher", argv, err);
}

static void on_child(struct ev_loop *loop, ev_signal *signal, int events)
{
	struct demo *demo = signal->data;
	const struct child *child = children_reap(&demo->children);
	cleanup_free char *fate = NULL;
	struct error err;

	(void)loop;
	(void)events;
	if (child == NULL)
		return;
	fate = child_fate(child);
	error_set(&err, "%s", fate);
	if (!demo->failed)
		demo->failed_log = child->log;
	fail(demo, &err);
}

static void on_interrupt(struct ev_loop *loop, ev_signal *signal, int events)
{
	struct demo *demo = signal->data;

	(void)events;
	demo->interrupted_by = signal->signum;
	ev_break(loop, EVBREAK_ALL);
}

/* ---- the table ---- */

/* One line per change. */
static void print_change(struct demo *demo, const struct row *row)
{
	cleanup_buf struct buf line = {0};

	table_write_row(&line, &demo->table, row, 0);
	screen_print(&demo->screen, "%6.1f s  %s\n", seconds(elapsed_ms(demo)), line.data);
}

static void draw(struct demo *demo)
{
	cleanup_buf struct buf text = {0};
	size_t width, height;

	screen_size(&demo->screen, &width, &height);
	table_write(&text, demo->rows, demo->examples.count, width, height, demo->screen.colour);
	screen_draw(&demo->screen, text.data);
}

/* Brings the rows up to what was seen. */
static void refresh(struct demo *demo)
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
		draw(demo);
}

static void on_resize(struct ev_loop *loop, ev_signal *signal, int events)
{
	struct demo *demo = signal->data;

	(void)loop;
	(void)events;
	screen_resized(&demo->screen);
	if (demo->screen.drawing)
		draw(demo);
}

/* The columns as wide as they usually get, so that lines which cannot be taken back stand below each other. */
static void prepare_table(struct demo *demo)
{
	static const struct row usual = {
		.cells = {"", "AttemptDeletionRequested", "1 CreationPending, 2 DeletionPending", "0 +1 Task",
			  "200 ContainerTransientFailed", "10s"},
	};

	demo->rows = mem_calloc(demo->examples.count + 1, sizeof(demo->rows[0]));
	table_fit(&demo->table, &usual);
	for (size_t i = 0; i < demo->examples.count; i++) {
		const struct example *example = &demo->examples.list[i];

		row_fill(&demo->rows[i], example->name, &example->sight, example->verdict, 0);
		table_fit(&demo->table, &demo->rows[i]);
	}
}

/* ---- phase by phase ---- */

static void on_framework(void *arg, json_t *object)
{
	struct demo *demo = arg;
	struct error err = {0};

	if (examples_take(&demo->examples, object, elapsed_ms(demo), &err) == NULL) {
		if (err.message[0] != '\0')
			fail(demo, &err);
		return;
	}
	refresh(demo);
	if (examples_count(&demo->examples, VERDICT_AWAITED) == 0)
		ev_break(demo->loop, EVBREAK_ALL);
}

static void on_framework_deleted(void *arg, json_t *object)
{
	struct demo *demo = arg;
	const char *name = json_str(json_object_get(object, "metadata"), "name");
	struct error err;

	error_set(&err, "Framework %s was deleted, and nobody asked for that", name == NULL ? "?" : name);
	fail(demo, &err);
}

static void on_list(void *arg)
{
	(void)arg;
}

static void on_list_end(void *arg, const char *resource_version)
{
	(void)arg;
	(void)resource_version;
}

static void on_live(void *arg, bool live)
{
	(void)arg;
	(void)live;
}

static void watch(struct demo *demo)
{
	static const struct reflector_options options = {
		.path = "/apis/" FRAMEWORK_API_VERSION "/frameworks",
		.what = "Frameworks",
	};
	static const struct reflector_handler handler = {
		.present = on_framework,
		.deleted = on_framework_deleted,
		.list_begin = on_list,
		.list_end = on_list_end,
		.live = on_live,
	};

	demo->phase = PHASE_WATCH;
	screen_print(&demo->screen, "  examples      %zu Frameworks and %zu other objects from %zu files\n\n",
		     demo->examples.count, json_array_size(demo->examples.objects) - demo->examples.count,
		     demo->options->file_count);
	prepare_table(demo);
	if (demo->screen.live) {
		draw(demo);
	} else {
		cleanup_buf struct buf head = {0};

		table_write_head(&head, &demo->table, 0);
		screen_print(&demo->screen, "          %s\n", head.data);
	}
	demo->reflector = reflector_new(demo->loop, demo->client, &options, &handler, demo);
	reflector_start(demo->reflector);
}

static void submit_next(struct demo *demo);

static void on_submitted(void *arg, const struct kube_answer *answer)
{
	struct demo *demo = arg;
	struct error err;

	demo->calling = false;
	if (answer->failure == KUBE_CANCELLED)
		return;
	if (answer->failure != KUBE_OK || answer->http_status != 201) {
		const json_t *object = json_array_get(demo->examples.objects, demo->submitted);

		error_set(&err, "%s %s: %s", json_str(object, "kind"),
			  json_str(json_object_get(object, "metadata"), "name"), answer->message);
		demo->failed_log = log_of(demo, "fc-testapi");
		fail(demo, &err);
		return;
	}
	demo->submitted++;
	submit_next(demo);
}

static void submit_next(struct demo *demo)
{
	const json_t *object = json_array_get(demo->examples.objects, demo->submitted);
	cleanup_free char *path = NULL;
	cleanup_free char *body = NULL;

	demo->phase = PHASE_SUBMIT;
	if (object == NULL) {
		watch(demo);
		return;
	}
	path = document_path(object);
	body = json_text(object);
	demo->calling = true;
	kube_client_call(demo->client,
			 &(struct kube_request){.method = "POST",
						.path = path,
						.body = body,
						.body_len = strlen(body),
						.timeout_ms = CALL_TIMEOUT_MS},
			 on_submitted, demo);
}

static bool is_established(const struct kube_answer *answer)
{
	cleanup_json json_t *crd = NULL;
	json_t *condition;
	size_t i;

	if (answer->failure != KUBE_OK || answer->http_status != 200)
		return false;
	crd = json_parse(answer->body, answer->body_len, NULL);
	json_array_foreach(json_path(crd, "status", "conditions", NULL), i, condition)
	{
		const char *type = json_str(condition, "type"), *status = json_str(condition, "status");

		if (type != NULL && status != NULL && strcmp(type, "Established") == 0 && strcmp(status, "True") == 0)
			return true;
	}
	return false;
}

static void on_crd(void *arg, const struct kube_answer *answer)
{
	struct demo *demo = arg;

	demo->calling = false;
	if (answer->failure == KUBE_CANCELLED || !is_established(answer))
		return; /* the next tick asks again */
	screen_print(&demo->screen, "  controller    fc-watcher with %d fc-reconcilers; CRD established after %.2f s\n",
		     demo->options->workers, seconds(elapsed_ms(demo)));
	submit_next(demo);
}

static void ask_for_crd(struct demo *demo)
{
	demo->calling = true;
	kube_client_call(demo->client,
			 &(struct kube_request){
				 .method = "GET",
				 .path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" FRAMEWORK_CRD_NAME,
				 .timeout_ms = CALL_TIMEOUT_MS},
			 on_crd, demo);
}

/* The API server is there: everything else can start. */
static int connect_cluster(struct demo *demo, struct error *err)
{
	static const struct kube_client_options options = {.user_agent = "fc-demo/1.0"};
	struct kube_config config;

	if (kube_config_load(NULL, demo->kubeconfig, &config, err) != 0)
		return -1;
	demo->client = kube_client_new(demo->loop, &config, &options, err);
	screen_print(&demo->screen, "  API server    fc-testapi at %s\n", config.server);
	kube_config_free(&config);
	if (demo->client == NULL || start_kubelet(demo, err) != 0 || start_watcher(demo, err) != 0)
		return -1;
	screen_print(&demo->screen, "  %d nodes       fc-testkubelet; containers are processes of this machine\n",
		     NODES);
	demo->phase = PHASE_CRD;
	return 0;
}

static void say_what_is_late(const struct demo *demo, struct error *err)
{
	static const char *const awaited[] = {
		[PHASE_API] = "fc-testapi to listen",
		[PHASE_CRD] = "the Frameworks' CRD to be Established",
		[PHASE_SUBMIT] = "an answer to a POST",
	};
	double limit = seconds(demo->options->timeout_ms);

	if (demo->phase == PHASE_WATCH)
		error_set(err, "after %.0f s %zu of %zu examples have not ended", limit,
			  examples_count(&demo->examples, VERDICT_AWAITED), demo->examples.count);
	else
		error_set(err, "waited for %s, for %.0f s", awaited[demo->phase], limit);
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct demo *demo = timer->data;
	struct error err;

	(void)loop;
	(void)events;
	if (clock_boot_ms() >= demo->deadline_ms) {
		say_what_is_late(demo, &err);
		fail(demo, &err);
	} else if (demo->phase == PHASE_API) {
		if (access(demo->kubeconfig, F_OK) == 0 && connect_cluster(demo, &err) != 0)
			fail(demo, &err);
	} else if (demo->phase == PHASE_CRD) {
		if (!demo->calling)
			ask_for_crd(demo);
	} else if (demo->phase == PHASE_WATCH && demo->screen.live) {
		refresh(demo); /* the ages */
	}
}

/* ---- the end ---- */

static void print_summary(struct demo *demo)
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
		     demo->examples.count, seconds(elapsed_ms(demo)));
}

/* What can be tried on the cluster as it stands. */
static void print_next_steps(struct demo *demo)
{
	const struct example *running = NULL, *completed = NULL;

	for (size_t i = demo->examples.count; i-- > 0;) {
		const struct example *example = &demo->examples.list[i];

		if (example->sight.state == STATE_COMPLETED)
			completed = example;
		else if (example->pod_name[0] != '\0')
			running = example;
	}
	screen_print(&demo->screen,
		     "\nThe cluster stays up. In any shell:\n\n"
		     "  export KUBECONFIG=%s\n"
		     "  kubectl get frameworks\n"
		     "  kubectl get pods\n",
		     demo->kubeconfig);
	if (completed != NULL)
		screen_print(&demo->screen,
			     "  kubectl describe framework %s\n"
			     "  kubectl delete framework %s\n",
			     completed->name, completed->name);
	if (running != NULL)
		screen_print(&demo->screen,
			     "  kubectl delete pod %s     # its Task comes back under the same name\n"
			     "  kubectl patch framework %s --type=merge -p '{\"spec\":{\"executionType\":\"Stop\"}}'\n",
			     running->pod_name, running->name);
	screen_print(&demo->screen,
		     "\nLogs: %s/*.log, those of containers in %s/pods.\n"
		     "To stop all of it and remove the directory:\n\n"
		     "  %s --stop %s\n",
		     demo->directory, demo->directory, demo->options->program, demo->directory);
}

static void print_failure(struct demo *demo)
{
	const char *log = demo->failed_log == NULL ? log_of(demo, "fc-watcher") : demo->failed_log;
	const char *needle = NULL;
	cleanup_free char *tail = NULL;

	for (size_t i = demo->examples.count; i-- > 0 && demo->phase == PHASE_WATCH && demo->failed_log == NULL;)
		if (demo->examples.list[i].verdict != VERDICT_AS_EXPECTED)
			needle = demo->examples.list[i].name;
	if (demo->failed)
		screen_print(&demo->screen, "\nfc-demo: %s.\n", demo->failure.message);
	if (log == NULL)
		log = log_of(demo, "fc-testapi");
	if (log == NULL)
		return;
	tail = log_tail(log, needle, TAIL_LINES);
	if (tail[0] == '\0') {
		needle = NULL;
		free(tail);
		tail = log_tail(log, NULL, TAIL_LINES);
	}
	screen_print(&demo->screen, "\nThe end of %s%s%s:\n%s\nAll logs are in %s\n", log,
		     needle == NULL ? "" : ", lines on ", needle == NULL ? "" : needle, tail, demo->directory);
}

/* Whether the examples were seen to their end, all of them right. */
static bool all_right(const struct demo *demo)
{
	return !demo->failed && demo->interrupted_by == 0 &&
	       examples_count(&demo->examples, VERDICT_AS_EXPECTED) == demo->examples.count;
}

static int finish(struct demo *demo)
{
	bool right = all_right(demo);
	bool keep = demo->options->keep && demo->interrupted_by == 0 && demo->phase == PHASE_WATCH;

	if (demo->phase == PHASE_WATCH && demo->screen.live)
		draw(demo);
	screen_finish(&demo->screen);
	reflector_free(demo->reflector);
	kube_client_free(demo->client);
	if (demo->interrupted_by != 0) {
		screen_print(&demo->screen, "\nInterrupted. Stopping the processes.\n");
	} else {
		if (demo->phase == PHASE_WATCH)
			print_summary(demo);
		if (!right)
			print_failure(demo);
	}
	if (keep) {
		print_next_steps(demo);
	} else {
		children_stop(&demo->children);
		if (right || demo->interrupted_by != 0)
			remove_tree(demo->directory);
		if (right)
			screen_print(&demo->screen,
				     "Nothing is left running. KEEP=1 would leave it all up to try kubectl "
				     "on.\n");
	}
	if (demo->interrupted_by != 0)
		return 128 + demo->interrupted_by;
	return right ? 0 : 1;
}

/* ---- the beginning ---- */

static int make_directory(struct demo *demo, struct error *err)
{
	const char *parent = getenv("TMPDIR");

	demo->directory = mem_printf("%s/fc-demo.XXXXXX", parent == NULL || parent[0] != '/' ? "/tmp" : parent);
	if (mkdtemp(demo->directory) == NULL)
		return error_set_errno(err, errno, "make a directory like %s", demo->directory);
	demo->kubeconfig = mem_printf("%s/kubeconfig", demo->directory);
	demo->children.directory = demo->directory;
	return 0;
}

/* What the children inherit. They must find this cluster and no other, and leave their files here. */
static void prepare_environment(const struct demo *demo)
{
	unsetenv("KUBECONFIG");
	unsetenv("KUBE_APISERVER_ADDRESS");
	unsetenv("KUBERNETES_SERVICE_HOST");
	if (strlen(demo->directory) + BUS_PATH_ROOM > SUN_PATH_MAX)
		return;
	setenv("TMPDIR", demo->directory, 1);
	unsetenv("XDG_RUNTIME_DIR");
}

static void catch_signals(struct demo *demo)
{
	static const struct {
		int number;
		void (*handler)(struct ev_loop *loop, ev_signal *signal, int events);
	} caught[] = {
		{SIGINT, on_interrupt},  {SIGTERM, on_interrupt}, {SIGHUP, on_interrupt},
		{SIGQUIT, on_interrupt}, {SIGCHLD, on_child},     {SIGWINCH, on_resize},
	};

	_Static_assert(ARRAY_LEN(caught) == ARRAY_LEN(demo->signals), "one watcher per signal");
	for (size_t i = 0; i < ARRAY_LEN(caught); i++) {
		ev_signal_init(&demo->signals[i], caught[i].handler, caught[i].number);
		demo->signals[i].data = demo;
		ev_signal_start(demo->loop, &demo->signals[i]);
	}
	signal(SIGPIPE, SIG_IGN);
}

static int load_examples(struct demo *demo, struct error *err)
{
	for (size_t i = 0; i < demo->options->file_count; i++)
		if (examples_add_file(&demo->examples, demo->options->files[i], err) != 0)
			return -1;
	if (demo->examples.count == 0)
		return error_set(err, "found no Framework in the files given, expected at least one");
	if (access(demo->options->config, R_OK) != 0)
		return error_set_errno(err, errno, "%s", demo->options->config);
	return 0;
}

static void release(struct demo *demo)
{
	for (size_t i = 0; i < ARRAY_LEN(demo->signals); i++)
		ev_signal_stop(demo->loop, &demo->signals[i]);
	ev_timer_stop(demo->loop, &demo->tick);
	ev_loop_destroy(demo->loop);
	children_free(&demo->children);
	examples_free(&demo->examples);
	free(demo->rows);
	free(demo->directory);
	free(demo->kubeconfig);
}

int demo_run(const struct demo_options *options)
{
	struct demo demo = {.options = options, .children = {.keep = options->keep}, .started_ms = clock_boot_ms()};
	struct error err;
	int status;

	demo.deadline_ms = demo.started_ms + options->timeout_ms;
	screen_init(&demo.screen, STDOUT_FILENO);
	if (load_examples(&demo, &err) != 0 || make_directory(&demo, &err) != 0) {
		fprintf(stderr, "fc-demo: %s\n", err.message);
		examples_free(&demo.examples);
		free(demo.directory);
		return 2;
	}
	prepare_environment(&demo);
	/* Whatever the children leave behind when they crash becomes ours, to be ended with them. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	demo.loop = ev_loop_new(EVFLAG_AUTO);
	catch_signals(&demo);
	ev_timer_init(&demo.tick, on_tick, 0, TICK_MS / 1000.0);
	demo.tick.data = &demo;
	ev_timer_start(demo.loop, &demo.tick);

	screen_print(&demo.screen, "A small cluster of real processes, in %s:\n", demo.directory);
	if (start_api(&demo, &err) != 0)
		fail(&demo, &err);
	else
		ev_run(demo.loop, 0);
	status = finish(&demo);
	release(&demo);
	return status;
}
