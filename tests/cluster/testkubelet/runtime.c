/* Pods as local processes; see runtime.h. */
#define _GNU_SOURCE
#include "tests/cluster/testkubelet/runtime.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "tests/cluster/testkubelet/launch.h"

/* Much shorter than a kubelet's 10 s to 5 min: nobody wants to wait in a test. */
static const double restart_delay_min_s = 0.25, restart_delay_max_s = 10;

enum {
	TERMINATION_MESSAGE_MAX = 4096, /* pkg/kubelet/container MaxContainerTerminationMessageLength */
	LOG_TAIL_MAX = 2048,            /* …TerminationMessageLogLength */
	LOG_TAIL_LINES = 80,            /* …TerminationMessageLogLines */
	HOSTNAME_MAX = 63,              /* of a DNS label, RFC 1123 §2.1 */
};

enum restart_policy { RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_NEVER };

struct runtime_container {
	struct runtime_pod *pod;
	const json_t *spec;
	size_t index; /* in the report */
	pid_t pid;    /* of the supervisor, 0 when not running */
	int error_fd; /* -1 when not running */
	off_t log_start;
	double delay_s;
	ev_child child;
	ev_timer restart;
};

struct runtime_pod {
	struct runtime *runtime;
	json_t *object;
	struct pod_report *report;
	struct podenv_facts facts; /* strings owned */
	runtime_changed *changed;
	void *arg;
	enum restart_policy policy;
	char *name;      /* namespace/name, for messages */
	char *log_dir;   /* <root>/<namespace>_<pod> */
	char *dir;       /* log_dir/<uid> */
	char *host_name; /* as the containers see it */
	bool stopping;
	bool failed; /* by decree */
	bool released;
	ev_timer kill;
	ev_timer notify; /* tells the owner from the loop */
	struct runtime_container *containers;
	size_t count;
};

static void advance(struct runtime_pod *pod);

static int64_t now_sec(void)
{
	return clock_wall_ms() / 1000;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *where)
{
	(void)info;
	(void)type;
	(void)where;
	(void)remove(path);
	return 0;
}

void runtime_remove_tree(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static int make_dir(const char *path, mode_t mode, struct error *err)
{
	if (mkdir(path, mode) != 0 && errno != EEXIST)
		return error_set_errno(err, errno, "mkdir %s", path);
	/* Containers run as whoever they like: the mode must not depend on the umask. */
	if (chmod(path, mode) != 0)
		return error_set_errno(err, errno, "chmod %s", path);
	return 0;
}

/* path ends with the name of a container or volume, which Kubernetes keeps to DNS labels; other servers may not. */
static bool name_is_safe(const char *name)
{
	return name != NULL && name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

static int make_dirs(struct runtime_pod *pod, struct error *err)
{
	static const char *const parts[] = {"work", "termination", "volumes", "root"};
	json_t *volumes = json_path(pod->object, "spec", "volumes", NULL), *volume;
	size_t i;

	if (make_dir(pod->log_dir, 0755, err) != 0 || make_dir(pod->dir, 0755, err) != 0)
		return -1;
	for (i = 0; i < ARRAY_LEN(parts); i++) {
		cleanup_free char *path = mem_printf("%s/%s", pod->dir, parts[i]);

		if (make_dir(path, 0755, err) != 0)
			return -1;
	}
	json_array_foreach(volumes, i, volume)
	{
		cleanup_free char *path = mem_printf("%s/volumes/%s", pod->dir, json_str(volume, "name"));

		if (!name_is_safe(json_str(volume, "name")))
			return error_set(err, "volume \"%s\": not a name for a directory", json_str(volume, "name"));
		if (json_is_object(json_object_get(volume, "emptyDir")) && make_dir(path, 0777, err) != 0)
			return -1;
	}
	for (i = 0; i < pod->count; i++) {
		const char *name = json_str(pod->containers[i].spec, "name");
		cleanup_free char *work = mem_printf("%s/work/%s", pod->dir, name);

		if (!name_is_safe(name))
			return error_set(err, "container \"%s\": not a name for a directory", name);
		if (make_dir(work, 0777, err) != 0)
			return -1;
	}
	return 0;
}

static char *log_path(const struct runtime_container *container)
{
	return mem_printf("%s/%s.log", container->pod->log_dir, json_str(container->spec, "name"));
}

static char *termination_path(const struct runtime_container *container)
{
	return mem_printf("%s/termination/%s", container->pod->dir, json_str(container->spec, "name"));
}

/* At most max bytes of the file from offset `start` or, if that is later, from max before its end. The caller
 * frees. */
static char *read_tail(const char *path, off_t start, size_t max, bool from_end)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = mem_alloc(max + 1);
	ssize_t len = -1;
	struct stat info;

	if (fd >= 0 && fstat(fd, &info) == 0) {
		if (from_end && info.st_size - start > (off_t)max)
			start = info.st_size - (off_t)max;
		len = pread(fd, text, max, start);
	}
	text[len > 0 ? len : 0] = '\0';
	return text;
}

/* The last lines of text, within it. */
static char *last_lines(char *text, size_t lines)
{
	size_t len = strlen(text);
	char *at = text + len;

	if (len > 0 && at[-1] == '\n')
		at--;
	while (at > text) {
		if (at[-1] == '\n' && --lines == 0)
			break;
		at--;
	}
	return at;
}

/* What the container says about its end, or NULL. The caller frees. */
static char *termination_message(const struct runtime_container *container, int code)
{
	cleanup_free char *path = termination_path(container);
	cleanup_free char *log = log_path(container);
	cleanup_free char *tail = NULL;
	const char *policy = json_str(container->spec, "terminationMessagePolicy");
	char *text = read_tail(path, 0, TERMINATION_MESSAGE_MAX, false);

	if (text[0] != '\0')
		return text;
	free(text);
	if (code == 0 || policy == NULL || strcmp(policy, "FallbackToLogsOnError") != 0)
		return NULL;
	tail = read_tail(log, container->log_start, LOG_TAIL_MAX, true);
	return tail[0] == '\0' ? NULL : mem_strdup(last_lines(tail, LOG_TAIL_LINES));
}

/* ---- starting a container ---------------------------------------------------------------------------------------- */

struct mounts {
	struct launch_mount *items;
	size_t count;
};

static void add_mount(struct mounts *mounts, char *source, const char *target, bool read_only)
{
	mounts->items = mem_realloc(mounts->items, mounts->count + 1, sizeof(mounts->items[0]));
	mounts->items[mounts->count++] = (struct launch_mount){
		.source = source, .target = mem_strdup(target), .read_only = read_only};
}

static void free_mounts(struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->count; i++) {
		free(mounts->items[i].source);
		free(mounts->items[i].target);
	}
	free(mounts->items);
}

static int compare_mounts(const void *a, const void *b)
{
	return strcmp(((const struct launch_mount *)a)->target, ((const struct launch_mount *)b)->target);
}

/* The host's path of a volume, or NULL for kinds that are not supported. The caller frees. */
static char *volume_source(const struct runtime_pod *pod, const char *name)
{
	const json_t *volumes = json_path(pod->object, "spec", "volumes", NULL);
	size_t i;
	json_t *volume;

	json_array_foreach(volumes, i, volume)
	{
		const char *host = json_str(json_object_get(volume, "hostPath"), "path");

		if (name == NULL || json_str(volume, "name") == NULL || strcmp(json_str(volume, "name"), name) != 0)
			continue;
		if (host != NULL)
			return mem_strdup(host);
		if (json_is_object(json_object_get(volume, "emptyDir")))
			return mem_printf("%s/volumes/%s", pod->dir, name);
	}
	return NULL;
}

static void collect_mounts(const struct runtime_container *container, struct mounts *mounts)
{
	const struct runtime_pod *pod = container->pod;
	const char *message_path = json_str(container->spec, "terminationMessagePath");
	size_t i;
	json_t *item;

	json_array_foreach(json_object_get(container->spec, "volumeMounts"), i, item)
	{
		const char *path = json_str(item, "mountPath");
		const char *sub_path = json_str(item, "subPath");
		char *source = volume_source(pod, json_str(item, "name"));

		if (path == NULL || path[0] != '/' || source == NULL) {
			log_v(1, "Pod %s: volume %s: only emptyDir and hostPath can be mounted, left out", pod->name,
			      json_str(item, "name"));
			free(source);
			continue;
		}
		if (sub_path != NULL && sub_path[0] != '\0') {
			char *whole = mem_printf("%s/%s", source, sub_path);

			(void)mkdir(whole, 0777);
			free(source);
			source = whole;
		}
		add_mount(mounts, source, path, json_bool(item, "readOnly", false));
	}
	add_mount(mounts, termination_path(container),
		  message_path == NULL || message_path[0] != '/' ? "/dev/termination-log" : message_path, false);
	add_mount(mounts, mem_printf("%s/hosts", pod->dir), "/etc/hosts", false);
	/* A mount within a mount comes after it. */
	qsort(mounts->items, mounts->count, sizeof(mounts->items[0]), compare_mounts);
}

static void build_env(const struct runtime_container *container, struct podenv *env)
{
	const struct runtime_pod *pod = container->pod;
	const struct runtime *runtime = pod->runtime;
	size_t missing;

	podenv_set(env, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	podenv_set(env, "HOME", "/root");
	podenv_set(env, "HOSTNAME", pod->host_name);
	for (size_t i = 0; i < runtime->pod_env_count; i++) {
		const char *equals = strchr(runtime->pod_env[i], '=');
		cleanup_free char *name = mem_strndup(runtime->pod_env[i], (size_t)(equals - runtime->pod_env[i]));

		podenv_set(env, name, equals + 1);
	}
	missing = podenv_add_container(env, pod->object, container->spec, &pod->facts);
	if (missing > 0)
		log_warning("Pod %s: container %s: %zu environment variables come from where this kubelet has no "
			    "access to, left out",
			    pod->name, json_str(container->spec, "name"), missing);
	if (runtime->image_bin != NULL) {
		cleanup_free char *path = mem_printf("%s:%s", runtime->image_bin, podenv_get(env, "PATH"));

		podenv_set(env, "PATH", path);
	}
	if (!runtime->isolate) {
		cleanup_free char *path = termination_path(container);

		podenv_set(env, "TERMINATION_MESSAGE_PATH", path);
	}
}

/* The working directory: the spec's if the host has it, else one of the container's own. The caller frees. */
static char *working_dir(const struct runtime_container *container)
{
	const char *wanted = json_str(container->spec, "workingDir");
	bool has = wanted != NULL && wanted[0] == '/' && access(wanted, X_OK) == 0;

	return has ? mem_strdup(wanted)
		   : mem_printf("%s/work/%s", container->pod->dir, json_str(container->spec, "name"));
}

static int launch_container(struct runtime_container *container, struct error *err)
{
	struct runtime_pod *pod = container->pod;
	cleanup_free char *log = log_path(container);
	cleanup_free char *message = termination_path(container);
	cleanup_free char *cwd = working_dir(container);
	cleanup_free char *stage = mem_printf("%s/root", pod->dir);
	struct podenv env = {0};
	struct mounts mounts = {0};
	struct launch launch = {
		.cwd = cwd,
		.log_path = log,
		.host_name = pod->host_name,
		.stage = pod->runtime->isolate ? stage : NULL,
	};
	struct stat info;
	int fd;

	container->log_start = stat(log, &info) == 0 ? info.st_size : 0;
	/* Each run starts without a message. */
	fd = open(message, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return error_set_errno(err, errno, "create %s", message);
	(void)fchmod(fd, 0666);
	close(fd);
	build_env(container, &env);
	collect_mounts(container, &mounts);
	launch.argv = podenv_command(&env, container->spec);
	launch.envp = podenv_list(&env);
	launch.mounts = mounts.items;
	launch.mount_count = mounts.count;
	if (launch.argv == NULL)
		container->pid = error_set(err, "no command specified: there is no image to take one from");
	else
		container->pid = launch_start(&launch, &container->error_fd, err);
	podenv_free_list(launch.argv);
	podenv_free_list(launch.envp);
	podenv_free(&env);
	free_mounts(&mounts);
	if (container->pid > 0)
		return 0;
	container->pid = 0;
	return -1;
}

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

	container_report_end(item, code, reason, message, now_sec());
	log_v(1, "Pod %s: container %s ended with exit code %d", container->pod->name, item->name, code);
	if (!should_restart(container, code))
		return;
	container_report_wait(item, "CrashLoopBackOff", NULL);
	item->restart_count++;
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

	if (launch_container(container, &err) != 0) {
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
		cleanup_free char *message = termination_message(container, code);

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
	bool failed = false, running = false, waiting = false;

	for (size_t i = 0; i < report->count; i++) {
		const struct container_report *item = &report->items[i];
		bool done = item->state == RUN_TERMINATED;

		if (item->init && done && item->exit_code != 0)
			return REPORT_FAILED;
		if (item->init && !done)
			return pod->stopping && !any_running(pod) ? REPORT_FAILED : REPORT_PENDING;
		failed = failed || (done && item->exit_code != 0);
		running = running || item->state == RUN_RUNNING || item->has_last;
		waiting = waiting || item->state == RUN_WAITING;
	}
	if (pod->stopping && !any_running(pod))
		return failed || waiting || pod->failed ? REPORT_FAILED : REPORT_SUCCEEDED;
	for (size_t i = 0; i < report->count; i++)
		if (report->items[i].state == RUN_RUNNING || (waiting && running))
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

	json_array_foreach(list, i, spec)
	{
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
	if (make_dirs(pod, err) != 0) {
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
	}
	if (!any_running(pod))
		free_pod(pod);
}
