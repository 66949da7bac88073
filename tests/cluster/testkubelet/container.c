/* One container of a real Pod: its files, mounts, environment and command line; see container.h. */
#define _GNU_SOURCE
#include "tests/cluster/testkubelet/container.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "tests/cluster/testkubelet/launch.h"

enum {
	TERMINATION_MESSAGE_MAX = 4096, /* pkg/kubelet/container MaxContainerTerminationMessageLength */
	LOG_TAIL_MAX = 2048,            /* …TerminationMessageLogLength */
	LOG_TAIL_LINES = 80,            /* …TerminationMessageLogLines */
};

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

int runtime_pod_make_dirs(const struct runtime_pod *pod, struct error *err)
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
	json_array_foreach(volumes, i, volume) {
		cleanup_free char *path = mem_printf("%s/volumes/%s", pod->dir, json_str(volume, "name"));

		if (!name_is_safe(json_str(volume, "name")))
			return error_set(err, "volume \"%s\": cannot be the name of a directory",
					 json_str(volume, "name"));
		if (json_is_object(json_object_get(volume, "emptyDir")) && make_dir(path, 0777, err) != 0)
			return -1;
	}
	for (i = 0; i < pod->count; i++) {
		const char *name = json_str(pod->containers[i].spec, "name");
		cleanup_free char *work = mem_printf("%s/work/%s", pod->dir, name);

		if (!name_is_safe(name))
			return error_set(err, "container \"%s\": cannot be the name of a directory", name);
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

char *runtime_container_message(const struct runtime_container *container, int code)
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
	tail = read_tail(log, run_log_start(container->log), LOG_TAIL_MAX, true);
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

/* Where the files of a ConfigMap, Secret or service account are, or NULL. The caller frees. */
static char *object_source(const struct runtime_pod *pod, const json_t *volume)
{
	const char *config = json_str(json_object_get(volume, "configMap"), "name");
	const char *secret = json_str(json_object_get(volume, "secret"), "secretName");
	const char *kind = config != NULL ? "configmap" : secret != NULL ? "secret" : "account";
	const char *name = config != NULL ? config : secret;
	json_t *source;
	size_t i;

	json_array_foreach(json_path(volume, "projected", "sources", NULL), i, source)
		if (json_object_get(source, "serviceAccountToken") != NULL)
			name = json_str(json_object_get(pod->object, "spec"), "serviceAccountName");
	return pod->runtime->volumes != NULL && name_is_safe(name)
		       ? mem_printf("%s/%s/%s", pod->runtime->volumes, kind, name)
		       : NULL;
}

/* The host's path of a volume, or NULL for kinds that are not supported. The caller frees. */
static char *volume_source(const struct runtime_pod *pod, const char *name)
{
	const json_t *volumes = json_path(pod->object, "spec", "volumes", NULL);
	size_t i;
	json_t *volume;

	json_array_foreach(volumes, i, volume) {
		const char *host = json_str(json_object_get(volume, "hostPath"), "path");

		if (name == NULL || json_str(volume, "name") == NULL || strcmp(json_str(volume, "name"), name) != 0)
			continue;
		if (host != NULL)
			return mem_strdup(host);
		if (json_is_object(json_object_get(volume, "emptyDir")))
			return mem_printf("%s/volumes/%s", pod->dir, name);
		return object_source(pod, volume);
	}
	return NULL;
}

static void collect_mounts(const struct runtime_container *container, struct mounts *mounts)
{
	const struct runtime_pod *pod = container->pod;
	const char *message_path = json_str(container->spec, "terminationMessagePath");
	size_t i;
	json_t *item;

	json_array_foreach(json_object_get(container->spec, "volumeMounts"), i, item) {
		const char *path = json_str(item, "mountPath");
		const char *sub_path = json_str(item, "subPath");
		char *source = volume_source(pod, json_str(item, "name"));

		if (path == NULL || path[0] != '/' || source == NULL) {
			log_v(1, "Pod %s: volume %s: not mounted, because this kubelet does not support its kind",
			      pod->name, json_str(item, "name"));
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
		log_warning("Pod %s: container %s: %zu environment variables are not set, because this kubelet cannot "
			    "read their sources",
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

int runtime_container_launch(struct runtime_container *container, struct error *err)
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
	struct run_log *run = run_log_begin(pod->runtime->loop, log, err);
	int fd;

	if (run == NULL)
		return -1;
	run_log_unref(container->previous_log);
	container->previous_log = container->log;
	container->log = run;
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
		container->pid = error_set(err, "no command specified, and this kubelet has no image to take one from");
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
