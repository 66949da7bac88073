/* Pods as local processes: when which container runs, and what that makes of the Pod; see runtime.h. */
#define _GNU_SOURCE
#include "tests/cluster/testkubelet/runtime.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "tests/cluster/testkubelet/container.h"
#include "tests/cluster/testkubelet/launch.h"

/* Much shorter than a kubelet's 10 s to 5 min: nobody wants to wait in a test. */
static const double restart_delay_min_s = 0.25, restart_delay_max_s = 10;

enum { HOSTNAME_MAX = 63 }; /* of a DNS label, RFC 1123 §2.1 */

static void advance(struct runtime_pod *pod);

static int64_t now_sec(void)
{
	return clock_wall_ms() / 1000;
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

static bool should_restart(const struct runtime_container *container, int code)
{
	const struct runtime_pod *pod = container->pod;

	if (pod->stopping || pod->policy == RESTART_NEVER)
		return false;
	return code != 0 || (pod->policy == RESTART_ALWAYS && !pod->report->items[container->index].init);
}

/* Notes the end of a run, and when the next one comes if there is to be one. */
static void container_ended(struct runtime_container *container, int code, const char *reason, const char *message)
{
	struct container_report *item = &container->pod->report->items[container->index];
	struct ev_loop *loop = container->pod->runtime->loop;

	if (container->log != NULL)
		run_log_end(container->log);
	container_report_end(item, code, reason, message, now_sec());
	log_v(1, "Pod %s: container %s ended with exit code %d", container->pod->name, item->name, code);
	if (!should_restart(container, code))
		return;
	container_report_wait(item, "CrashLoopBackOff", NULL);
	ev_timer_stop(loop, &container->restart);
	ev_timer_set(&container->restart, container->delay_s, 0);
	ev_timer_start(loop, &container->restart);
	container->delay_s = container->delay_s * 2 < restart_delay_max_s ? container->delay_s * 2
									  : restart_delay_max_s;
}

static void start_container(struct runtime_container *container)
{
	struct runtime_pod *pod = container->pod;
	struct error err;

	/* As kubelets count: a run that is waited for is none yet. */
	if (pod->report->items[container->index].has_last)
		pod->report->items[container->index].restart_count++;
	if (runtime_container_launch(container, &err) != 0) {
		container_ended(container, LAUNCH_EXIT_ERROR, "ContainerCannotRun", err.message);
		return;
	}
	container_report_start(&pod->report->items[container->index], now_sec());
	pod->runtime->processes++;
	ev_child_set(&container->child, container->pid, 0);
	ev_child_start(pod->runtime->loop, &container->child);
	log_v(1, "Pod %s: container %s started, supervisor pid %d", pod->name, json_str(container->spec, "name"),
	      (int)container->pid);
}

/* ---- the Pod ----------------------------------------------------------------------------------------------------- */

static bool any_running(const struct runtime_pod *pod)
{
	for (size_t i = 0; i < pod->count; i++)
		if (pod->containers[i].pid != 0)
			return true;
	return false;
}

static void free_pod(struct runtime_pod *pod)
{
	for (size_t i = 0; i < pod->count; i++) {
		run_log_unref(pod->containers[i].log);
		run_log_unref(pod->containers[i].previous_log);
	}
	runtime_remove_tree(pod->dir);
	json_decref(pod->object);
	free((char *)pod->facts.node_name);
	free((char *)pod->facts.pod_ip);
	free((char *)pod->facts.host_ip);
	free(pod->name);
	free(pod->log_dir);
	free(pod->dir);
	free(pod->host_name);
	free(pod->containers);
	free(pod);
}

static void on_restart(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct runtime_container *container = timer->data;

	(void)loop;
	(void)events;
	advance(container->pod);
}

static void on_child(struct ev_loop *loop, ev_child *child, int events)
{
	struct runtime_container *container = child->data;
	struct runtime_pod *pod = container->pod;
	int code = WIFSIGNALED(child->rstatus) ? 128 + WTERMSIG(child->rstatus) : WEXITSTATUS(child->rstatus);
	char failure[ERROR_MESSAGE_MAX];
	ssize_t len;

	(void)events;
	ev_child_stop(loop, child);
	container->pid = 0;
	pod->runtime->processes--;
	len = read(container->error_fd, failure, sizeof(failure) - 1);
	close(container->error_fd);
	container->error_fd = -1;
	if (pod->released) {
		if (!any_running(pod))
			free_pod(pod);
		return;
	}
	if (len > 0) {
		failure[len] = '\0';
		container_ended(container, code, "ContainerCannotRun", failure);
	} else {
		cleanup_free char *message = runtime_container_message(container, code);

		container_ended(container, code, NULL, message);
	}
	advance(pod);
}

static void on_kill(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct runtime_pod *pod = timer->data;

	(void)loop;
	(void)events;
	for (size_t i = 0; i < pod->count; i++)
		if (pod->containers[i].pid != 0)
			launch_kill(pod->containers[i].pid);
}

static void on_notify(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct runtime_pod *pod = timer->data;

	(void)loop;
	(void)events;
	pod->changed(pod->arg);
}

/* The phase that the containers' states add up to (pkg/kubelet getPhase). */
static enum pod_report_phase compute_phase(const struct runtime_pod *pod)
{
	const struct pod_report *report = pod->report;
	bool over = pod->stopping && !any_running(pod);
	bool failed = pod->failed, active = false, waiting = false;

	for (size_t i = 0; i < report->count; i++) {
		const struct container_report *item = &report->items[i];
		bool done = item->state == RUN_TERMINATED;

		if (item->init && done && item->exit_code == 0)
			continue;
		if (item->init)
			return done || over ? REPORT_FAILED : REPORT_PENDING;
		failed = failed || (done && item->exit_code != 0);
		waiting = waiting || item->state == RUN_WAITING;
		/* One that waits for its next run counts as running. */
		active = active || item->state == RUN_RUNNING || (item->state == RUN_WAITING && item->has_last);
	}
	if (over)
		return failed || waiting ? REPORT_FAILED : REPORT_SUCCEEDED;
	if (active)
		return REPORT_RUNNING;
	return waiting ? REPORT_PENDING : failed ? REPORT_FAILED : REPORT_SUCCEEDED;
}

/* Starts what is due, and tells the owner how things are. */
static void advance(struct runtime_pod *pod)
{
	enum pod_report_phase phase;

	for (size_t i = 0; i < pod->count && !pod->stopping; i++) {
		struct runtime_container *container = &pod->containers[i];
		struct container_report *item = &pod->report->items[i];

		if (item->state == RUN_WAITING && !ev_is_active(&container->restart))
			start_container(container);
		/* An init container holds up all that come after it. */
		if (item->init && !(item->state == RUN_TERMINATED && item->exit_code == 0))
			break;
	}
	phase = compute_phase(pod);
	if (phase != pod->report->phase)
		pod->report->transition_time = now_sec();
	pod->report->phase = phase;
	/* One call for all that happens in this round of the loop. */
	if (!ev_is_active(&pod->notify))
		ev_timer_start(pod->runtime->loop, &pod->notify);
}

static enum restart_policy parse_policy(const char *text)
{
	if (text != NULL && strcmp(text, "Never") == 0)
		return RESTART_NEVER;
	return text != NULL && strcmp(text, "OnFailure") == 0 ? RESTART_ON_FAILURE : RESTART_ALWAYS;
}

static void add_containers(struct runtime_pod *pod, const json_t *list)
{
	size_t i;
	json_t *spec;

	json_array_foreach(list, i, spec) {
		struct runtime_container *container = &pod->containers[pod->count];

		container->pod = pod;
		container->spec = spec;
		container->index = pod->count++;
		container->error_fd = -1;
		container->delay_s = restart_delay_min_s;
		ev_child_init(&container->child, on_child, 0, 0);
		container->child.data = container;
		ev_timer_init(&container->restart, on_restart, 0, 0);
		container->restart.data = container;
	}
}

struct runtime_pod *runtime_pod_new(struct runtime *runtime, json_t *object, struct pod_report *report,
				    const struct podenv_facts *facts, runtime_changed *changed, void *arg,
				    struct error *err)
{
	const json_t *meta = json_object_get(object, "metadata");
	const json_t *spec = json_object_get(object, "spec");
	const char *ns = json_str(meta, "namespace"), *name = json_str(meta, "name"), *uid = json_str(meta, "uid");
	const char *host_name = json_str(spec, "hostname");
	struct runtime_pod *pod = mem_calloc(1, sizeof(*pod));

	pod->runtime = runtime;
	pod->object = json_incref(object);
	pod->report = report;
	pod->facts = (struct podenv_facts){.node_name = mem_strdup(facts->node_name),
					   .pod_ip = mem_strdup(facts->pod_ip),
					   .host_ip = mem_strdup(facts->host_ip)};
	pod->changed = changed;
	pod->arg = arg;
	pod->policy = parse_policy(json_str(spec, "restartPolicy"));
	pod->name = mem_printf("%s/%s", ns, name);
	pod->log_dir = mem_printf("%s/%s_%s", runtime->root, ns, name);
	pod->dir = mem_printf("%s/%s", pod->log_dir, uid);
	pod->host_name = mem_printf("%.*s", HOSTNAME_MAX, host_name == NULL || host_name[0] == '\0' ? name : host_name);
	ev_timer_init(&pod->kill, on_kill, 0, 0);
	pod->kill.data = pod;
	ev_timer_init(&pod->notify, on_notify, 0, 0);
	pod->notify.data = pod;
	pod->containers = mem_calloc(report->count, sizeof(pod->containers[0]));
	add_containers(pod, json_object_get(spec, "initContainers"));
	add_containers(pod, json_object_get(spec, "containers"));
	if (runtime_pod_make_dirs(pod, err) != 0) {
		free_pod(pod);
		return NULL;
	}
	return pod;
}

void runtime_pod_write_hosts(struct runtime_pod *pod, const char *text, size_t len)
{
	cleanup_free char *path = mem_printf("%s/hosts", pod->dir);
	/* In place: containers have this very file mounted. Written before it is cut, so that no reader finds less. */
	cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || pwrite(fd, text, len, 0) != (ssize_t)len || ftruncate(fd, (off_t)len) != 0)
		log_warning("Pod %s: cannot write %s: %s", pod->name, path, strerror(errno));
}

void runtime_pod_start(struct runtime_pod *pod)
{
	advance(pod);
}

void runtime_pod_stop(struct runtime_pod *pod, int64_t grace_ms)
{
	struct ev_loop *loop = pod->runtime->loop;
	double grace_s = (double)grace_ms / 1000;
	bool first = !pod->stopping;

	pod->stopping = true;
	for (size_t i = 0; i < pod->count; i++) {
		ev_timer_stop(loop, &pod->containers[i].restart);
		if (pod->containers[i].pid != 0 && first)
			launch_terminate(pod->containers[i].pid);
	}
	if (first || ev_timer_remaining(loop, &pod->kill) > grace_s) {
		ev_timer_stop(loop, &pod->kill);
		ev_timer_set(&pod->kill, grace_s, 0);
		ev_timer_start(loop, &pod->kill);
	}
	advance(pod);
}

void runtime_pod_fail(struct runtime_pod *pod, int64_t grace_ms)
{
	pod->failed = true;
	runtime_pod_stop(pod, grace_ms);
}

bool runtime_pod_ended(const struct runtime_pod *pod)
{
	return !any_running(pod) && (pod->stopping || pod_report_terminal(pod->report));
}

struct run_log *runtime_pod_log(const struct runtime_pod *pod, const char *container, bool previous)
{
	for (size_t i = 0; i < pod->count; i++)
		if (strcmp(json_str(pod->containers[i].spec, "name"), container) == 0)
			/* (of one that waits for its next run, the last run is the one before) */
			return previous && pod->report->items[i].state != RUN_WAITING ? pod->containers[i].previous_log
										      : pod->containers[i].log;
	return NULL;
}

void runtime_pod_release(struct runtime_pod *pod)
{
	struct ev_loop *loop = pod->runtime->loop;

	pod->released = true;
	ev_timer_stop(loop, &pod->kill);
	ev_timer_stop(loop, &pod->notify);
	for (size_t i = 0; i < pod->count; i++) {
		ev_timer_stop(loop, &pod->containers[i].restart);
		if (pod->containers[i].pid != 0)
			launch_kill(pod->containers[i].pid);
		if (pod->containers[i].log != NULL)
			run_log_end(pod->containers[i].log);
	}
	if (!any_running(pod))
		free_pod(pod);
}
