/* The test kubelet's real Pods: local processes, with namespaces where they are allowed and without. Every wait is
 * for a condition, and bounded. */
#define _GNU_SOURCE
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testkubelet/launch.h"
#include "tests/cluster/testkubelet/runtime.h"
#include "tests/unit/temp.h"

/* Far more than anything here takes. */
static const double patience_s = 30;

/* One Pod under test; what the runtime reports about it as it goes is kept in `phases`. */
struct fixture {
	char root[TEMP_PATH_SIZE];
	struct runtime runtime;
	json_t *object;
	struct pod_report report;
	struct runtime_pod *pod;
	struct buf phases; /* "Pending Running Failed ": without repeats */
	bool want_running; /* stop waiting when the Pod runs */
};

static void on_patience(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
	fail_msg("nothing happened for %g seconds", patience_s);
}

static void on_changed(void *arg)
{
	static const char *const names[] = {"Pending ", "Running ", "Succeeded ", "Failed "};
	struct fixture *fixture = arg;
	const char *name = names[fixture->report.phase];
	size_t len = strlen(name);

	if (fixture->phases.len < len || strcmp(fixture->phases.data + fixture->phases.len - len, name) != 0)
		buf_puts(&fixture->phases, name);
	if (runtime_pod_ended(fixture->pod) || (fixture->want_running && fixture->report.phase == REPORT_RUNNING))
		ev_break(fixture->runtime.loop, EVBREAK_ALL);
}

static void run_loop(struct fixture *fixture)
{
	ev_timer patience;

	ev_timer_init(&patience, on_patience, patience_s, 0);
	ev_timer_start(fixture->runtime.loop, &patience);
	ev_run(fixture->runtime.loop, 0);
	ev_timer_stop(fixture->runtime.loop, &patience);
}

static void open_fixture(struct fixture *fixture, bool isolate)
{
	*fixture = (struct fixture){0};
	temp_directory(fixture->root);
	fixture->runtime = (struct runtime){
		.loop = ev_default_loop(0),
		.root = fixture->root,
		.isolate = isolate,
	};
}

static void start_pod(struct fixture *fixture, const char *spec)
{
	static const struct podenv_facts facts = {.node_name = "n", .pod_ip = "127.99.0.1", .host_ip = "127.0.0.1"};
	cleanup_free char *text = mem_printf(
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\",\"uid\":\"u-1\"},\"spec\":%s}", spec);
	struct error err;

	fixture->object = json_parse(text, strlen(text), &err);
	if (fixture->object == NULL)
		fail_msg("%s: %s", text, err.message);
	pod_report_init(&fixture->report, fixture->object);
	fixture->pod = runtime_pod_new(&fixture->runtime, fixture->object, &fixture->report, &facts, on_changed,
				       fixture, &err);
	if (fixture->pod == NULL)
		fail_msg("%s", err.message);
	runtime_pod_write_hosts(fixture->pod, "127.99.0.2 peer-1.job\n", 22);
	runtime_pod_start(fixture->pod);
	run_loop(fixture);
}

/* The last one was reported, and of those before it none in another order. A Pod that is faster than this process
 * passes over some of them. */
static void assert_phases(const struct fixture *fixture, const char *expected)
{
	const char *at = expected;
	cleanup_free char *phases = mem_strdup(fixture->phases.data);

	for (char *rest, *phase = strtok_r(phases, " ", &rest); phase != NULL; phase = strtok_r(NULL, " ", &rest)) {
		at = strstr(at, phase);
		if (at == NULL)
			fail_msg("the phases are %s, expected %s", fixture->phases.data, expected);
		at += strlen(phase) + 1;
	}
	if (*at != '\0')
		fail_msg("the phases are %s, expected %s", fixture->phases.data, expected);
}

static char *read_log(const struct fixture *fixture, const char *container)
{
	cleanup_free char *path = mem_printf("%s/ns_p/%s.log", fixture->root, container);
	cleanup_close int fd = open(path, O_RDONLY);
	char *text = mem_calloc(1, 65536);

	if (fd < 0 || read(fd, text, 65535) < 0)
		fail_msg("%s: %s", path, strerror(errno));
	return text;
}

static void close_fixture(struct fixture *fixture)
{
	if (fixture->pod != NULL)
		runtime_pod_release(fixture->pod);
	while (fixture->runtime.processes > 0)
		ev_run(fixture->runtime.loop, EVRUN_ONCE);
	pod_report_free(&fixture->report);
	json_decref(fixture->object);
	buf_free(&fixture->phases);
	runtime_remove_tree(fixture->root);
	assert_int_not_equal(access(fixture->root, F_OK), 0);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static void init_containers_come_first(void **state)
{
	for (int isolate = 0; isolate <= launch_can_isolate(); isolate++) {
		struct fixture fixture;
		cleanup_free char *first = NULL, *second = NULL, *app = NULL;

		open_fixture(&fixture, isolate);
		start_pod(&fixture,
			  "{\"restartPolicy\":\"Never\",\"initContainers\":["
			  "{\"name\":\"i\",\"command\":[\"sh\",\"-c\",\"date +%s%N; sleep 0.05; date +%s%N\"]},"
			  "{\"name\":\"j\",\"command\":[\"date\",\"+%s%N\"]}],"
			  "\"containers\":[{\"name\":\"c\",\"command\":[\"sh\",\"-c\",\"date +%s%N; exit 3\"]}]}");
		assert_phases(&fixture, "Pending Running Failed ");
		assert_int_equal(fixture.report.items[0].exit_code, 0);
		assert_int_equal(fixture.report.items[2].exit_code, 3);
		assert_string_equal(fixture.report.items[2].reason, "Error");
		first = read_log(&fixture, "i");
		second = read_log(&fixture, "j");
		app = read_log(&fixture, "c");
		assert_true(strtoll(strchr(first, '\n'), NULL, 10) < strtoll(second, NULL, 10));
		assert_true(strtoll(second, NULL, 10) < strtoll(app, NULL, 10));
		close_fixture(&fixture);
	}
	(void)state;
}

static void a_failed_init_container_fails_the_pod(void **state)
{
	struct fixture fixture;

	(void)state;
	open_fixture(&fixture, false);
	start_pod(&fixture,
		  "{\"restartPolicy\":\"Never\",\"initContainers\":[{\"name\":\"i\",\"command\":[\"false\"]}],"
		  "\"containers\":[{\"name\":\"c\",\"command\":[\"true\"]}]}");
	assert_phases(&fixture, "Pending Failed ");
	assert_int_equal(fixture.report.items[0].exit_code, 1);
	assert_int_equal(fixture.report.items[1].state, RUN_WAITING);
	close_fixture(&fixture);
}

static void on_failure_restarts_until_success(void **state)
{
	struct fixture fixture;

	(void)state;
	open_fixture(&fixture, false);
	start_pod(&fixture,
		  "{\"restartPolicy\":\"OnFailure\",\"containers\":[{\"name\":\"c\",\"command\":[\"sh\",\"-c\","
		  "\"test -f here && exit 0; touch here; exit 4\"]}]}");
	assert_int_equal(fixture.report.phase, REPORT_SUCCEEDED);
	assert_int_equal(fixture.report.items[0].restart_count, 1);
	assert_true(fixture.report.items[0].has_last);
	assert_int_equal(fixture.report.items[0].last_exit_code, 4);
	close_fixture(&fixture);
}

static void signals_show_as_in_kubernetes(void **state)
{
	for (int isolate = 0; isolate <= launch_can_isolate(); isolate++) {
		struct fixture fixture;

		open_fixture(&fixture, isolate);
		start_pod(&fixture, "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"command\":[\"sh\","
				    "\"-c\",\"kill -SEGV $$$$\"]}]}");
		assert_int_equal(fixture.report.items[0].exit_code, 139);
		assert_int_equal(fixture.report.items[0].signal, 0);
		close_fixture(&fixture);
	}
	(void)state;
}

/* CONTRACT.md §15 tells these apart by reason, code and message. */
static void what_cannot_be_started_says_why(void **state)
{
	static const struct {
		const char *container;
		int32_t code;
		const char *message;
	} rows[] = {
		{"\"command\":[\"no-such-program\"]", 127,
		 "exec: \"no-such-program\": executable file not found in $PATH"},
		{"\"command\":[\"/no/such/program\"]", 127, "exec: \"/no/such/program\": no such file or directory"},
		{"\"command\":[\"/etc/passwd\"]", 126, "exec: \"/etc/passwd\": Permission denied"},
		{"\"image\":\"busybox\"", 125, "no command specified, and this kubelet has no image to take one from"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (int isolate = 0; isolate <= launch_can_isolate(); isolate++) {
			cleanup_free char *spec = mem_printf(
				"{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",%s}]}",
				rows[i].container);
			struct fixture fixture;

			open_fixture(&fixture, isolate);
			start_pod(&fixture, spec);
			assert_int_equal(fixture.report.phase, REPORT_FAILED);
			assert_int_equal(fixture.report.items[0].exit_code, rows[i].code);
			assert_string_equal(fixture.report.items[0].reason, "ContainerCannotRun");
			assert_string_equal(fixture.report.items[0].message, rows[i].message);
			close_fixture(&fixture);
		}
	}
}

/* A message taken from an earlier run's log would classify this run's failure wrongly. */
static void the_message_comes_from_the_file_or_this_runs_log(void **state)
{
	static const struct {
		const char *script, *policy, *message;
	} rows[] = {
		{"echo out; printf why > $TERMINATION_MESSAGE_PATH; exit 1", "FallbackToLogsOnError", "why"},
		{"echo out; exit 1", "FallbackToLogsOnError", "out\n"},
		{"echo out; exit 1", "File", NULL},
		{"echo out; exit 0", "FallbackToLogsOnError", NULL},
		{"seq 1 100; exit 1", "FallbackToLogsOnError", "21\n22\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *spec = mem_printf("{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
						     "\"terminationMessagePolicy\":\"%s\","
						     "\"command\":[\"sh\",\"-c\",\"%s\"]}]}",
						     rows[i].policy, rows[i].script);
		cleanup_free char *log = NULL;
		struct fixture fixture;
		const char *message;
		FILE *earlier;

		open_fixture(&fixture, false);
		log = mem_printf("%s/ns_p", fixture.root);
		assert_int_equal(mkdir(log, 0755), 0);
		mem_replace(&log, NULL);
		log = mem_printf("%s/ns_p/c.log", fixture.root);
		earlier = fopen(log, "w");
		fputs("of another run\n", earlier);
		fclose(earlier);
		start_pod(&fixture, spec);
		message = fixture.report.items[0].message;
		if (rows[i].message == NULL)
			assert_null(message);
		else
			assert_memory_equal(message, rows[i].message, strlen(rows[i].message));
		close_fixture(&fixture);
	}
}

static void the_environment_reaches_the_process(void **state)
{
	static const char *const pod_env[] = {"GIVEN=by the flag", "SHADOWED=1"};
	struct fixture fixture;
	cleanup_free char *log = NULL;

	(void)state;
	open_fixture(&fixture, false);
	fixture.runtime.pod_env = pod_env;
	fixture.runtime.pod_env_count = ARRAY_LEN(pod_env);
	fixture.runtime.image_bin = "/image";
	start_pod(&fixture,
		  "{\"restartPolicy\":\"Never\",\"hostname\":\"h-1\",\"containers\":[{\"name\":\"c\",\"env\":["
		  "{\"name\":\"SHADOWED\",\"value\":\"2\"},{\"name\":\"IP\",\"valueFrom\":{\"fieldRef\":"
		  "{\"fieldPath\":\"status.podIP\"}}}],\"command\":[\"sh\",\"-c\","
		  "\"echo $GIVEN,$SHADOWED,$IP,$HOSTNAME,${PATH%%:*},$(SHADOWED)\"]}]}");
	log = read_log(&fixture, "c");
	assert_string_equal(log, "by the flag,2,127.99.0.1,h-1,/image,2\n");
	close_fixture(&fixture);
}

/* ---- what a container sees --------------------------------------------------------------------------------------- */

static void volumes_are_shared_and_private(void **state)
{
	struct fixture fixture;
	cleanup_free char *log = NULL;

	(void)state;
	if (!launch_can_isolate())
		skip();
	open_fixture(&fixture, true);
	start_pod(&fixture,
		  "{\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],\"initContainers\":[{"
		  "\"name\":\"i\",\"command\":[\"sh\",\"-c\",\"echo hello > /mnt/test-testkubelet/f\"],"
		  "\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/mnt/test-testkubelet\"}]}],\"containers\":[{"
		  "\"name\":\"c\",\"command\":[\"sh\",\"-c\",\"cat /test-testkubelet/a/f; test -e /etc/hosts && cat "
		  "/etc/hosts; (echo no > /test-testkubelet/a/g) 2> /dev/null || echo read-only; echo bye > /dev/end; "
		  "test -e /dev/null && cat /proc/sys/kernel/hostname; echo $$$$\"],\"terminationMessagePath\":"
		  "\"/dev/end\",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/test-testkubelet/a\",\"readOnly\":"
		  "true}]}]}");
	log = read_log(&fixture, "c");
	assert_string_equal(log, "hello\n127.99.0.2 peer-1.job\nread-only\np\n2\n");
	assert_string_equal(fixture.report.items[1].message, "bye\n");
	/* Nothing of it may be left on the host. */
	assert_int_not_equal(access("/test-testkubelet", F_OK), 0);
	assert_int_not_equal(access("/mnt/test-testkubelet", F_OK), 0);
	close_fixture(&fixture);
}

/* The kinds of volumes that hold files of the API server's: each from its place below runtime.volumes. */
static void volumes_of_objects(void **state)
{
	static const char *const sources[] = {"configmap/m", "secret/s", "account/a"};
	char volumes[TEMP_PATH_SIZE];
	struct fixture fixture;
	cleanup_free char *log = NULL;

	(void)state;
	if (!launch_can_isolate())
		skip();
	temp_directory(volumes);
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		cleanup_free char *command = mem_printf("mkdir -p %s/%s && echo %s > %s/%s/f", volumes, sources[i],
							sources[i], volumes, sources[i]);

		assert_int_equal(system(command), 0);
	}
	open_fixture(&fixture, true);
	fixture.runtime.volumes = volumes;
	start_pod(&fixture,
		  "{\"restartPolicy\":\"Never\",\"serviceAccountName\":\"a\",\"volumes\":["
		  "{\"name\":\"x\",\"configMap\":{\"name\":\"m\"}},{\"name\":\"y\",\"secret\":{\"secretName\":\"s\"}},"
		  "{\"name\":\"z\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{\"path\":\"token\"}}]}},"
		  "{\"name\":\"w\",\"configMap\":{\"name\":\"../secret/s\"}}],"
		  "\"containers\":[{\"name\":\"c\",\"command\":[\"sh\",\"-c\",\"cd /test-testkubelet; cat x/f y/f z/f; "
		  "ls\"],"
		  "\"volumeMounts\":[{\"name\":\"x\",\"mountPath\":\"/test-testkubelet/x\"},"
		  "{\"name\":\"y\",\"mountPath\":\"/test-testkubelet/y\"},"
		  "{\"name\":\"z\",\"mountPath\":\"/test-testkubelet/z\"},"
		  "{\"name\":\"w\",\"mountPath\":\"/test-testkubelet/w\"}]}]}");
	log = read_log(&fixture, "c");
	assert_string_equal(log, "configmap/m\nsecret/s\naccount/a\nx\ny\nz\n");
	close_fixture(&fixture);
	runtime_remove_tree(volumes);
}

/* ---- ending ------------------------------------------------------------------------------------------------------ */

/* The last holder of a FIFO's writing end is gone when reading gives the end of the file. */
static int open_fifo(const struct fixture *fixture, char **path)
{
	*path = mem_printf("%s/fifo", fixture->root);
	assert_int_equal(mkfifo(*path, 0666), 0);
	assert_int_equal(chmod(*path, 0666), 0);
	return open(*path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* Waits until somebody has written into the FIFO (held true), or until nobody holds it (false). */
static void await_fifo(int fd, bool held)
{
	int64_t deadline = clock_boot_ms() + (int64_t)(patience_s * 1000);

	while (clock_boot_ms() < deadline) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		char byte;
		ssize_t len;

		poll(&ready, 1, 10);
		len = read(fd, &byte, 1);
		if (held ? len == 1 : len == 0)
			return;
	}
	fail_msg("the FIFO is %s", held ? "not written to" : "still held");
}

/* Holds the FIFO from a session of its own, which a signal to the process group does not reach. */
static char *stubborn_spec(const char *fifo, const char *before)
{
	return mem_printf(
		"{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"command\":[\"sh\",\"-c\",\"%s"
		" (trap '' TERM; exec > %s; echo x; exec setsid sleep 1000) & wait; while :; do sleep 1000; done\"]}]}",
		before, fifo);
}

static void stopping_terminates_first(void **state)
{
	for (int isolate = 0; isolate <= launch_can_isolate(); isolate++) {
		struct fixture fixture;
		cleanup_free char *fifo = NULL, *spec = NULL;
		int fd;

		open_fixture(&fixture, isolate);
		fixture.want_running = true;
		fd = open_fifo(&fixture, &fifo);
		spec = stubborn_spec(fifo, "trap 'exit 5' TERM;");
		start_pod(&fixture, spec);
		await_fifo(fd, true);
		fixture.want_running = false;
		runtime_pod_stop(fixture.pod, 3600 * 1000);
		run_loop(&fixture);
		assert_int_equal(fixture.report.items[0].exit_code, 5);
		assert_int_equal(fixture.report.phase, REPORT_FAILED);
		/* What it left behind went before its end was told. */
		await_fifo(fd, false);
		close(fd);
		close_fixture(&fixture);
	}
	(void)state;
}

static void stopping_kills_after_the_grace_period(void **state)
{
	for (int isolate = 0; isolate <= launch_can_isolate(); isolate++) {
		struct fixture fixture;
		cleanup_free char *fifo = NULL, *spec = NULL;
		int fd;

		open_fixture(&fixture, isolate);
		fixture.want_running = true;
		fd = open_fifo(&fixture, &fifo);
		spec = stubborn_spec(fifo, "trap '' TERM;");
		start_pod(&fixture, spec);
		await_fifo(fd, true);
		fixture.want_running = false;
		runtime_pod_stop(fixture.pod, 3600 * 1000);
		/* A second deletion with less time left shortens the first. */
		runtime_pod_stop(fixture.pod, 20);
		run_loop(&fixture);
		assert_int_equal(fixture.report.items[0].exit_code, 137);
		await_fifo(fd, false);
		close(fd);
		close_fixture(&fixture);
	}
	(void)state;
}

static void a_restart_does_not_follow_a_stop(void **state)
{
	struct fixture fixture;

	(void)state;
	open_fixture(&fixture, false);
	fixture.want_running = true;
	start_pod(&fixture, "{\"restartPolicy\":\"Always\",\"containers\":[{\"name\":\"c\",\"command\":[\"sleep\","
			    "\"1000\"]}]}");
	fixture.want_running = false;
	runtime_pod_stop(fixture.pod, 3600 * 1000);
	run_loop(&fixture);
	assert_true(runtime_pod_ended(fixture.pod));
	assert_int_equal(fixture.report.items[0].restart_count, 0);
	assert_int_equal(fixture.report.items[0].exit_code, 143);
	close_fixture(&fixture);
}

static void a_decreed_failure_is_one_whatever_the_exit_code(void **state)
{
	struct fixture fixture;
	cleanup_free char *fifo = NULL, *spec = NULL;
	int fd;

	(void)state;
	open_fixture(&fixture, false);
	fixture.want_running = true;
	fd = open_fifo(&fixture, &fifo);
	spec = stubborn_spec(fifo, "trap 'exit 0' TERM;");
	start_pod(&fixture, spec);
	await_fifo(fd, true);
	fixture.want_running = false;
	runtime_pod_fail(fixture.pod, 3600 * 1000);
	run_loop(&fixture);
	assert_int_equal(fixture.report.items[0].exit_code, 0);
	assert_int_equal(fixture.report.phase, REPORT_FAILED);
	close(fd);
	close_fixture(&fixture);
}

static void nothing_outlives_the_kubelet(void **state)
{
	for (int isolate = 0; isolate <= launch_can_isolate(); isolate++) {
		struct fixture fixture;
		cleanup_free char *fifo = NULL, *spec = NULL;
		int fd, status;
		pid_t kubelet;

		open_fixture(&fixture, isolate);
		fd = open_fifo(&fixture, &fifo);
		spec = stubborn_spec(fifo, "");
		kubelet = fork();
		if (kubelet == 0) {
			ev_loop_fork(fixture.runtime.loop);
			start_pod(&fixture, spec);
			_exit(1);
		}
		await_fifo(fd, true);
		kill(kubelet, SIGKILL);
		waitpid(kubelet, &status, 0);
		await_fifo(fd, false);
		close(fd);
		close_fixture(&fixture);
	}
	(void)state;
}

/* A namespace and a Pod's name cannot lead out of the root, but a container's or volume's might. */
static void names_do_not_lead_out_of_the_root(void **state)
{
	static const char *const specs[] = {
		"{\"containers\":[{\"name\":\"../x\"}]}",
		"{\"containers\":[{\"name\":\"..\"}]}",
		"{\"containers\":[{}]}",
		"{\"containers\":[{\"name\":\"c\"}],\"volumes\":[{\"name\":\"a/b\",\"emptyDir\":{}}]}",
		"{\"containers\":[{\"name\":\"c\"}],\"volumes\":[{}]}",
	};
	static const struct podenv_facts facts = {.node_name = "n", .pod_ip = "127.99.0.1", .host_ip = "127.0.0.1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		cleanup_free char *text = mem_printf(
			"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\",\"uid\":\"u\"},\"spec\":%s}", specs[i]);
		struct fixture fixture;
		struct error err;

		open_fixture(&fixture, false);
		fixture.object = json_parse(text, strlen(text), &err);
		pod_report_init(&fixture.report, fixture.object);
		assert_null(runtime_pod_new(&fixture.runtime, fixture.object, &fixture.report, &facts, on_changed,
					    &fixture, &err));
		assert_non_null(strstr(err.message, "cannot be the name of a directory"));
		close_fixture(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init_containers_come_first),
		cmocka_unit_test(a_failed_init_container_fails_the_pod),
		cmocka_unit_test(on_failure_restarts_until_success),
		cmocka_unit_test(signals_show_as_in_kubernetes),
		cmocka_unit_test(what_cannot_be_started_says_why),
		cmocka_unit_test(the_message_comes_from_the_file_or_this_runs_log),
		cmocka_unit_test(the_environment_reaches_the_process),
		cmocka_unit_test(volumes_are_shared_and_private),
		cmocka_unit_test(volumes_of_objects),
		cmocka_unit_test(stopping_terminates_first),
		cmocka_unit_test(stopping_kills_after_the_grace_period),
		cmocka_unit_test(a_restart_does_not_follow_a_stop),
		cmocka_unit_test(a_decreed_failure_is_one_whatever_the_exit_code),
		cmocka_unit_test(nothing_outlives_the_kubelet),
		cmocka_unit_test(names_do_not_lead_out_of_the_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
