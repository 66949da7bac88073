/* Starting and stopping processes; see children.h. */
#define _GNU_SOURCE
#include "tests/cluster/demo/children.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

enum {
	TERM_MS = 8000,    /* for the watcher, whose reconcilers finish their calls, and for the kubelet's containers */
	ORPHANS_MS = 2000, /* until what was killed is gone */
	CHECK_MS = 5,
	TAIL_BYTES = 256 * 1024,
	OPEN_DIRECTORIES = 16,
};

static const char pids_file[] = "pids";
static const char pids_head[] = "fc-demo processes: pid, start time, name\n";

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* When the process started, in clock ticks since boot (proc(5), stat field 22): with it a pid names one process for
 * ever. 0 when there is no such process or it is a zombie. */
static unsigned long long start_time(pid_t pid)
{
	cleanup_free char *path = mem_printf("/proc/%d/stat", (int)pid);
	char text[1024];
	FILE *file = fopen(path, "re");
	unsigned long long time = 0;
	const char *rest;
	size_t len;
	char state;

	if (file == NULL)
		return 0;
	len = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[len] = '\0';
	/* The name in field 2 may hold anything, parentheses too. */
	rest = strrchr(text, ')');
	if (rest == NULL ||
	    sscanf(rest + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &state,
		   &time) != 2 ||
	    state == 'Z')
		return 0;
	return time;
}

static char *pids_path(const char *directory)
{
	return mem_printf("%s/%s", directory, pids_file);
}

static int write_pids(const struct children *children, struct error *err)
{
	cleanup_free char *path = pids_path(children->directory);
	FILE *file = fopen(path, "we");

	if (file == NULL)
		return error_set_errno(err, errno, "%s", path);
	fputs(pids_head, file);
	for (size_t i = 0; i < children->count; i++) {
		pid_t pid = children->list[i].pid;

		if (pid > 0)
			fprintf(file, "%d %llu %s\n", (int)pid, start_time(pid), children->list[i].name);
	}
	if (fclose(file) != 0)
		return error_set_errno(err, errno, "%s", path);
	return 0;
}

/* In the new process. Never returns. */
__attribute__((noreturn)) static void become(const char *path, const char *const *argv, int log, pid_t parent,
					     bool keep)
{
	sigset_t none;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setsid();
	if (!keep) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(0);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(log, STDOUT_FILENO) >= 0 &&
	    dup2(log, STDERR_FILENO) >= 0) {
		/* What make or the caller's shell had open must not stay open for as long as a kept cluster runs. */
		close_range(STDERR_FILENO + 1, ~0U, 0);
		execv(path, (char *const *)argv);
		dprintf(STDERR_FILENO, "%s: %s\n", path, strerror(errno));
	}
	_exit(127);
}

int children_start(struct children *children, const char *name, const char *path, const char *const *argv,
		   struct error *err)
{
	cleanup_free char *log_path = mem_printf("%s/%s.log", children->directory, name);
	cleanup_close int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	pid_t parent = getpid(), pid;
	struct child *child;

	if (log < 0)
		return error_set_errno(err, errno, "%s", log_path);
	if (access(path, X_OK) != 0)
		return error_set_errno(err, errno, "%s", path);
	if (children->count == CHILDREN_MAX)
		return error_set(err, "%s: found %d processes already, expected fewer", name, CHILDREN_MAX);
	pid = fork();
	if (pid < 0)
		return error_set_errno(err, errno, "fork for %s", name);
	if (pid == 0)
		become(path, argv, log, parent, children->keep);
	child = &children->list[children->count++];
	*child = (struct child){.name = name, .pid = pid, .log = log_path};
	log_path = NULL;
	return write_pids(children, err);
}

const struct child *children_reap(struct children *children)
{
	const struct child *first = NULL;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (size_t i = 0; i < children->count; i++) {
			if (children->list[i].pid != pid)
				continue;
			children->list[i].pid = 0;
			children->list[i].status = status;
			if (first == NULL)
				first = &children->list[i];
		}
	}
	return first;
}

char *child_fate(const struct child *child)
{
	if (WIFSIGNALED(child->status))
		return mem_printf("%s was ended by signal %d (%s)", child->name, WTERMSIG(child->status),
				  strsignal(WTERMSIG(child->status)));
	return mem_printf("%s ended with status %d", child->name, WEXITSTATUS(child->status));
}

static void stop_one(struct children *children, const struct child *child)
{
	int64_t kill_at = clock_boot_ms() + TERM_MS;
	bool killed = false;

	if (child->pid > 0)
		kill(child->pid, SIGTERM);
	while (child->pid > 0) {
		children_reap(children);
		if (child->pid == 0)
			break;
		if (!killed && clock_boot_ms() >= kill_at) {
			kill(child->pid, SIGKILL);
			killed = true;
		}
		pause_ms(CHECK_MS);
	}
}

/* Kills the children of this process that it does not know: orphans of its own, which the kernel gave to it. */
static void kill_orphans(void)
{
	cleanup_free char *path = mem_printf("/proc/self/task/%d/children", (int)getpid());
	FILE *file = fopen(path, "re");
	int pid;

	if (file == NULL)
		return;
	while (fscanf(file, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	fclose(file);
}

void children_stop(struct children *children)
{
	int64_t until;

	for (size_t i = children->count; i-- > 0;)
		stop_one(children, &children->list[i]);
	until = clock_boot_ms() + ORPHANS_MS;
	while (clock_boot_ms() < until) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0)
			return; /* ECHILD: nothing is left */
		if (pid == 0) {
			kill_orphans();
			pause_ms(CHECK_MS);
		}
	}
}

void children_free(struct children *children)
{
	for (size_t i = 0; i < children->count; i++)
		free(children->list[i].log);
	children->count = 0;
}

/* SIGTERM, then SIGKILL, to a process that is no child of ours. */
static void stop_stranger(pid_t pid, unsigned long long started)
{
	int64_t kill_at = clock_boot_ms() + TERM_MS;
	int sent = 0;

	while (started != 0 && start_time(pid) == started) {
		int wanted = clock_boot_ms() < kill_at ? SIGTERM : SIGKILL;

		if (sent != wanted && kill(pid, wanted) != 0)
			return;
		sent = wanted;
		pause_ms(CHECK_MS);
	}
}

int children_stop_kept(const char *directory, struct error *err)
{
	cleanup_free char *path = pids_path(directory);
	FILE *file = fopen(path, "re");
	char head[sizeof(pids_head)], name[64];
	struct {
		pid_t pid;
		unsigned long long started;
	} found[CHILDREN_MAX];
	size_t count = 0;
	int pid;

	if (file == NULL)
		return error_set_errno(err, errno, "%s", path);
	/* A directory is removed only when this program made it. */
	if (fgets(head, sizeof(head), file) == NULL || strcmp(head, pids_head) != 0) {
		fclose(file);
		return error_set(err, "%s:1: expected the line \"%.*s\", which fc-demo writes", path,
				 (int)strcspn(pids_head, "\n"), pids_head);
	}
	while (count < CHILDREN_MAX && fscanf(file, "%d %llu %63s", &pid, &found[count].started, name) == 3)
		found[count++].pid = pid;
	fclose(file);
	while (count-- > 0)
		stop_stranger(found[count].pid, found[count].started);
	remove_tree(directory);
	return 0;
}

char *log_tail(const char *path, const char *needle, size_t lines, size_t width)
{
	FILE *file = fopen(path, "re");
	cleanup_free char *text = NULL;
	struct buf out = {0};
	size_t len, kept = 0;

	if (file == NULL)
		return mem_strdup("");
	if (fseek(file, -TAIL_BYTES, SEEK_END) != 0)
		fseek(file, 0, SEEK_SET);
	text = mem_alloc(TAIL_BYTES + 1);
	len = fread(text, 1, TAIL_BYTES, file);
	text[len] = '\0';
	fclose(file);
	while (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	/* Backwards, cutting the text off line by line. */
	while (kept < lines && len > 0) {
		char *newline = memrchr(text, '\n', len);
		char *line = newline == NULL ? text : newline + 1;

		if (needle == NULL || strstr(line, needle) != NULL) {
			cleanup_free char *later = buf_steal(&out);

			buf_printf(&out, "%.*s%s\n%s", (int)width, line, strlen(line) > width ? "..." : "", later);
			kept++;
		}
		len = newline == NULL ? 0 : (size_t)(newline - text);
		text[len] = '\0';
	}
	return buf_steal(&out);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *position)
{
	(void)info;
	(void)kind;
	(void)position;
	(void)remove(path);
	return 0;
}

void remove_tree(const char *path)
{
	(void)nftw(path, remove_entry, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
