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
#include "tests/cluster/demo/documents.h"
#include "tests/cluster/demo/run.h"

enum {
	TICK_MS = 20,
	CALL_TIMEOUT_MS = 10000,
	NODES = 3,
	BARRIER_LINE_MAX = 1024,
	SUN_PATH_MAX = 107, /* of a socket's path, unix(7) */
	BUS_PATH_ROOM = 32, /* what the watcher appends to TMPDIR */
};

int64_t demo_elapsed_ms(const struct demo *demo)
{
	return clock_boot_ms() - demo->started_ms;
}

/* Ends the loop; what is in *err is told later, when the terminal is free for it. */
static void fail(struct demo *demo, const struct error *err)
{
	if (!demo->failed)
		demo->failure = *err;
	demo->failed = true;
	ev_break(demo->loop, EVBREAK_ALL);
}

const char *demo_log(const struct demo *demo, const char *name)
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
	cleanup_free char *kubeconfig = mem_printf("--kubeconfig=%s", demo->kubeconfig);
	cleanup_free char *nodes = mem_printf("--nodes=%d", NODES);
	cleanup_free char *root = mem_printf("--root=%s/pods", demo->directory);
	cleanup_free char *bin = mem_printf("--image-bin=%s", demo->options->bin);
	/* Containers find the API server by it, as they would by their service account elsewhere. */
	cleanup_free char *env = mem_printf("--pod-env=KUBECONFIG=%s", demo->kubeconfig);
	cleanup_free char *barrier = NULL;
	const char *argv[] = {"fc-testkubelet", "--mode=real", kubeconfig, nodes, root, bin, env, NULL, NULL};

	if (demo->barrier_address != NULL) {
		barrier = mem_printf("--pod-env=FRAMEWORK_BARRIER_ADDRESS=%s", demo->barrier_address);
		argv[ARRAY_LEN(argv) - 2] = barrier;
	}
	return start(demo, "fc-testkubelet", argv, err);
}

static int start_watcher(struct demo *demo, struct error *err)
{
	cleanup_free char *kubeconfig = mem_printf("--kubeconfig=%s", demo->kubeconfig);
	cleanup_free char *config = mem_printf("--config=%s", demo->options->config);
	cleanup_free char *workers = mem_printf("--workers=%d", demo->options->workers);
	cleanup_free char *bus = NULL;
	const char *argv[] = {"fc-watcher", kubeconfig, config, workers, "-v2", NULL, NULL};

	if (demo->bus != NULL) {
		bus = mem_printf("--bus=%s", demo->bus);
		argv[ARRAY_LEN(argv) - 2] = bus;
	}
	return start(demo, "fc-watcher", argv, err);
}

static int start_barrier(struct demo *demo, struct error *err)
{
	cleanup_free char *kubeconfig = mem_printf("--kubeconfig=%s", demo->kubeconfig);
	cleanup_free char *config = mem_printf("--config=%s", demo->options->config);
	cleanup_free char *bus = mem_printf("--bus=%s", demo->bus);
	/* Containers on this cluster have no tokens; it is reached from this machine only. */
	const char *const argv[] = {"fc-barrier",           kubeconfig,           config, bus,
				    "--listen=127.0.0.1:0", "--insecure-no-auth", NULL};

	return start(demo, "fc-barrier", argv, err);
}

static int start_jobs(struct demo *demo, struct error *err)
{
	cleanup_free char *kubeconfig = mem_printf("--kubeconfig=%s", demo->kubeconfig);
	cleanup_free char *config = mem_printf("--config=%s", demo->options->config);
	const char *const argv[] = {"fc-jobs", kubeconfig, config, NULL};

	return start(demo, "fc-jobs", argv, err);
}

static bool has_jobs(const struct demo *demo)
{
	const json_t *object;
	size_t i;

	json_array_foreach(demo->examples.objects, i, object)
		if (document_is_job(object))
			return true;
	return false;
}

/* Learns from its log which port the kernel gave to fc-barrier. */
static void find_barrier(struct demo *demo)
{
	static const char words[] = "listening on ";
	cleanup_free char *line = log_tail(demo_log(demo, "fc-barrier"), words, 1, BARRIER_LINE_MAX);
	const char *address = strstr(line, words);

	if (address == NULL)
		return;
	address += sizeof(words) - 1;
	demo->barrier_address = mem_printf("http://%.*s", (int)strcspn(address, ", \n"), address);
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

static void on_resize(struct ev_loop *loop, ev_signal *signal, int events)
{
	struct demo *demo = signal->data;

	(void)loop;
	(void)events;
	screen_resized(&demo->screen);
	if (demo->screen.drawing)
		show_table(demo);
}

/* ---- phase by phase ---- */

static void on_framework(void *arg, json_t *object)
{
	struct demo *demo = arg;
	struct error err = {0};

	if (examples_take(&demo->examples, object, demo_elapsed_ms(demo), &err) == NULL) {
		if (err.message[0] != '\0')
			fail(demo, &err);
		return;
	}
	show_progress(demo);
	if (examples_count(&demo->examples, VERDICT_AWAITED) == 0)
		ev_break(demo->loop, EVBREAK_ALL);
}

static void on_framework_deleted(void *arg, json_t *object)
{
	struct demo *demo = arg;
	const char *name = json_str(json_object_get(object, "metadata"), "name");
	struct error err;

	error_set(&err, "Framework %s was deleted unexpectedly", name == NULL ? "?" : name);
	fail(demo, &err);
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
	};

	size_t files = demo->options->file_count, frameworks = demo->examples.count;
	size_t others = json_array_size(demo->examples.objects) - frameworks;

	demo->phase = PHASE_WATCH;
	screen_print(&demo->screen, "  %-12s  %zu Framework%s, %zu other object%s, from %zu file%s\n\n", "examples",
		     frameworks, frameworks == 1 ? "" : "s", others, others == 1 ? "" : "s", files,
		     files == 1 ? "" : "s");
	show_begin(demo);
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
		demo->failed_log = demo_log(demo, "fc-testapi");
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
	json_array_foreach(json_path(crd, "status", "conditions", NULL), i, condition) {
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
		     demo->options->workers, seconds(demo_elapsed_ms(demo)));
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

/* The API server is there: the controller can start. */
static int connect_cluster(struct demo *demo, struct error *err)
{
	static const struct kube_client_options options = {.user_agent = "fc-demo/1.0"};
	static struct kube_config config;

	if (kube_config_load(NULL, demo->kubeconfig, NULL, &config, err) != 0)
		return -1;
	demo->client = kube_client_new(demo->loop, &config, &options, err);
	screen_print(&demo->screen, "  API server    fc-testapi at %s\n", config.server);
	if (demo->client == NULL || start_watcher(demo, err) != 0 ||
	    (demo->bus != NULL && start_barrier(demo, err) != 0) || (has_jobs(demo) && start_jobs(demo, err) != 0))
		return -1;
	demo->phase = PHASE_BARRIER;
	return 0;
}

/* What containers are told of the cluster is known: they can run. */
static int add_nodes(struct demo *demo, struct error *err)
{
	if (start_kubelet(demo, err) != 0)
		return -1;
	screen_print(&demo->screen, "  %d nodes       fc-testkubelet; containers are processes of this machine\n",
		     NODES);
	if (demo->barrier_address != NULL)
		screen_print(&demo->screen, "  barrier       fc-barrier at %s\n", demo->barrier_address);
	demo->phase = PHASE_CRD;
	return 0;
}

static void say_what_is_late(const struct demo *demo, struct error *err)
{
	static const char *const awaited[] = {
		[PHASE_API] = "fc-testapi to listen",
		[PHASE_BARRIER] = "fc-barrier to listen",
		[PHASE_CRD] = "the Frameworks' CRD to be Established",
		[PHASE_SUBMIT] = "an answer to a POST",
	};
	double limit = seconds(demo->options->timeout_ms);

	if (demo->phase == PHASE_WATCH)
		error_set(err, "%zu of %zu examples have not ended after %.0f s",
			  examples_count(&demo->examples, VERDICT_AWAITED), demo->examples.count, limit);
	else
		error_set(err, "timed out after %.0f s while waiting for %s", limit, awaited[demo->phase]);
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
	} else if (demo->phase == PHASE_BARRIER) {
		if (demo->bus != NULL)
			find_barrier(demo);
		if ((demo->bus == NULL || demo->barrier_address != NULL) && add_nodes(demo, &err) != 0)
			fail(demo, &err);
	} else if (demo->phase == PHASE_CRD) {
		if (!demo->calling)
			ask_for_crd(demo);
	} else if (demo->phase == PHASE_WATCH && demo->screen.live) {
		show_progress(demo); /* the ages */
	}
}

/* ---- the end ---- */

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
		show_table(demo);
	screen_finish(&demo->screen);
	reflector_free(demo->reflector);
	kube_client_free(demo->client);
	if (demo->interrupted_by != 0) {
		screen_print(&demo->screen, "\nInterrupted. Stopping the processes.\n");
	} else {
		if (demo->phase == PHASE_WATCH)
			show_summary(demo);
		if (right)
			show_views(demo);
		else
			show_failure(demo);
	}
	if (keep) {
		show_next_steps(demo);
	} else {
		children_stop(&demo->children);
		if (right || demo->interrupted_by != 0)
			remove_tree(demo->directory);
		if (right)
			screen_print(&demo->screen,
				     "All processes were stopped. KEEP=1 keeps the cluster up for kubectl.\n");
	}
	if (demo->interrupted_by != 0)
		return 128 + demo->interrupted_by;
	return right ? 0 : 1;
}

/* ---- the beginning ---- */

/* Where fc-barrier meets the watcher. Without it, init containers ask the API server now and then. */
static void choose_bus(struct demo *demo)
{
	cleanup_free char *program = mem_printf("%s/fc-barrier", demo->options->bin);

	if (access(program, X_OK) == 0 && strlen(demo->directory) + BUS_PATH_ROOM <= SUN_PATH_MAX)
		demo->bus = mem_printf("ipc://%s/bus", demo->directory);
}

static int make_directory(struct demo *demo, struct error *err)
{
	const char *parent = getenv("TMPDIR");

	demo->directory = mem_printf("%s/fc-demo.XXXXXX", parent == NULL || parent[0] != '/' ? "/tmp" : parent);
	if (mkdtemp(demo->directory) == NULL)
		return error_set_errno(err, errno, "make a directory like %s", demo->directory);
	demo->kubeconfig = mem_printf("%s/kubeconfig", demo->directory);
	demo->children.directory = demo->directory;
	choose_bus(demo);
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
		return error_set(err, "found no Framework in the example files, expected at least one");
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
	free(demo->bus);
	free(demo->barrier_address);
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
