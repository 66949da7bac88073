/* Starts and ends a container's processes; see launch.h. */
#define _GNU_SOURCE
#include "tests/cluster/testkubelet/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "tests/cluster/testkubelet/sandbox.h"

/* Where the error pipe stands in every process of a container, until exec closes it. */
enum { ERROR_FD = 3 };

/* SIGTERM: terminate the command. SIGQUIT: kill everything, also sent by the kernel when the parent dies. */
static void supervised_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGQUIT);
	sigaddset(set, SIGCHLD);
}

/* The kubelet's handlers would act on the kubelet's loop. */
static void reset_signals(void)
{
	sigset_t set;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	supervised_signals(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

__attribute__((format(printf, 2, 3), noreturn)) static void give_up(int code, const char *format, ...)
{
	char text[ERROR_MESSAGE_MAX];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len > 0)
		(void)!write(ERROR_FD, text, len < (int)sizeof(text) ? (size_t)len : sizeof(text) - 1);
	_exit(code);
}

static int exit_code(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

__attribute__((noreturn)) static void run_command(const struct launch *launch)
{
	sigset_t none;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir(launch->cwd) != 0)
		give_up(LAUNCH_EXIT_ERROR, "chdir to cwd (\"%s\"): %s", launch->cwd, strerror(errno));
	environ = launch->envp;
	execvp(launch->argv[0], launch->argv);
	if (errno == ENOENT && strchr(launch->argv[0], '/') == NULL)
		give_up(LAUNCH_EXIT_NOT_FOUND, "exec: \"%s\": executable file not found in $PATH", launch->argv[0]);
	give_up(errno == ENOENT || errno == ENOTDIR ? LAUNCH_EXIT_NOT_FOUND : LAUNCH_EXIT_NOT_EXECUTABLE,
		"exec: \"%s\": %s", launch->argv[0], errno == ENOENT ? "no such file or directory" : strerror(errno));
}

/* ---- supervising ------------------------------------------------------------------------------------------------- */

/* Kills every descendant that is left, where no PID namespace does it. */
static void kill_descendants(void)
{
	char path[64], line[4096];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	for (;;) {
		cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t len = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
		char *at = line;

		if (len > 0) {
			line[len] = '\0';
			for (long pid; (pid = strtol(at, &at, 10)) > 0;)
				kill((pid_t)pid, SIGKILL);
		}
		if (waitpid(-1, NULL, len > 0 ? 0 : WNOHANG) <= 0)
			return;
	}
}

/* Waits for child, passing signals on; reaps whatever else is left to us. Its exit code. */
static int supervise(pid_t child, bool to_group)
{
	sigset_t set;
	int status;

	supervised_signals(&set);
	for (;;) {
		int number = sigwaitinfo(&set, NULL);
		pid_t ended;

		if (number == SIGTERM)
			kill(to_group ? -child : child, SIGTERM);
		else if (number == SIGQUIT)
			kill(to_group ? -child : child, SIGKILL);
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
			if (ended == child)
				return exit_code(status);
	}
}

/* The first process of a PID namespace: whatever is left when it exits, the kernel kills. */
__attribute__((noreturn)) static void run_init(const struct launch *launch)
{
	struct error err;
	pid_t child;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sandbox_enter(launch, &err) != 0)
		give_up(LAUNCH_EXIT_ERROR, "%s", err.message);
	if (launch->host_name != NULL)
		(void)!sethostname(launch->host_name, strlen(launch->host_name));
	child = fork();
	if (child < 0)
		give_up(LAUNCH_EXIT_ERROR, "fork: %s", strerror(errno));
	if (child == 0)
		run_command(launch);
	close(ERROR_FD);
	setpgid(child, child);
	_exit(supervise(child, true));
}

__attribute__((noreturn)) static void run_supervisor(const struct launch *launch, pid_t parent, int error_fd)
{
	int null_fd, log_fd, code;
	bool isolated;
	pid_t child;

	reset_signals();
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGQUIT);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_NAME, "fc-container");
	if (getppid() != parent)
		_exit(128 + SIGKILL);
	null_fd = open("/dev/null", O_RDONLY);
	log_fd = open(launch->log_path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	dup2(null_fd, STDIN_FILENO);
	dup2(log_fd >= 0 ? log_fd : null_fd, STDOUT_FILENO);
	dup2(STDOUT_FILENO, STDERR_FILENO);
	dup2(error_fd, ERROR_FD);
	fcntl(ERROR_FD, F_SETFD, FD_CLOEXEC);
	close_range(ERROR_FD + 1, ~0U, 0);

	isolated = launch->stage != NULL;
	if (isolated && sandbox_unshare() != 0)
		give_up(LAUNCH_EXIT_ERROR, "make namespaces: %s", strerror(errno));
	child = fork();
	if (child < 0)
		give_up(LAUNCH_EXIT_ERROR, "fork: %s", strerror(errno));
	if (child == 0) {
		if (isolated)
			run_init(launch);
		run_command(launch);
	}
	close(ERROR_FD);
	if (!isolated)
		setpgid(child, child);
	code = supervise(child, !isolated);
	if (!isolated) {
		kill(-child, SIGKILL);
		kill_descendants();
	}
	_exit(code);
}

pid_t launch_start(const struct launch *launch, int *error_fd, struct error *err)
{
	pid_t parent = getpid(), child;
	sigset_t all, old;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return error_set_errno(err, errno, "pipe");
	/* No signal may find the kubelet's handlers in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	child = fork();
	if (child == 0) {
		/* The pipe must not stand where it is about to be moved from under. */
		int high = fcntl(ends[1], F_DUPFD, ERROR_FD + 1);

		run_supervisor(launch, parent, high);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return error_set_errno(err, errno, "fork");
	}
	*error_fd = ends[0];
	return child;
}

void launch_terminate(pid_t supervisor)
{
	kill(supervisor, SIGTERM);
}

void launch_kill(pid_t supervisor)
{
	kill(supervisor, SIGQUIT);
}

bool launch_can_isolate(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(sandbox_unshare() == 0 ? 0 : 1);
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
