/* The pool of forked reconcilers; see pool.h. */
#define _GNU_SOURCE
#include "watcher/pool/pool.h"

#include <errno.h>
#include <ev.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/address.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

enum {
	BACKOFF_FIRST_MS = 1000,
	BACKOFF_MAX_MS = 32000,
	STEADY_MS = 60000, /* one that ran this long is restarted at once again */
	EXIT_NO_EXEC = 127,
	SIGNALS_MAX = 65,
	NAME_AT = 2, /* in argv */
	ENDPOINT_AT = 4,
};

#define IPC "ipc://"

struct worker {
	struct pool *pool;
	char name[POOL_NAME_SIZE];
	pid_t pid; /* 0: does not run */
	int64_t started_ms;
	int64_t heard_ms;   /* time of the last message */
	int64_t silent_ms;  /* since then, or since the start; pauses of this process count for little */
	int64_t backoff_ms; /* before the next restart; 0: at once */
	uint64_t restarts;
	char http[POOL_HTTP_SIZE];
	char end[64]; /* of its last process */
	ev_child child;
	ev_timer restart;
};

struct pool {
	struct ev_loop *loop;
	const struct pool_handler *handler;
	void *arg;
	char **argv;      /* with a hole for the name */
	size_t http_hole; /* and one for --http; 0: none */
	int64_t drain_ms;
	int64_t backoff_first_ms;
	int64_t looked_ms; /* for silent children */
	bool stopping;
	uint64_t restarts;
	uint64_t exits[256]; /* ends by exit code, and by signal */
	uint64_t kills[SIGNALS_MAX];
	ev_timer kill;
	int worker_count;
	struct worker workers[];
};

const char *pool_name(int slot, char out[POOL_NAME_SIZE])
{
	snprintf(out, POOL_NAME_SIZE, "pool-%d", slot);
	return out;
}

int pool_http(const char *http, int slot, char out[POOL_HTTP_SIZE], struct error *err)
{
	const char *colon = strrchr(http, ':');
	int port = colon == NULL ? -1 : port_number(colon + 1);
	int last = port == 0 ? 0 : port + slot;

	if (colon == NULL || colon == http || port < 0 || last > PORT_MAX)
		return error_set(err, "found \"%s\", expected HOST:PORT, with a port up to %d for each child", http,
				 PORT_MAX);
	if (snprintf(out, POOL_HTTP_SIZE, "%.*s:%d", (int)(colon - http), http, last) >= POOL_HTTP_SIZE)
		return error_set(err, "found a host of %zu characters, expected fewer than %d", (size_t)(colon - http),
				 POOL_HTTP_SIZE);
	return 0;
}

/* In the child, between fork and exec, with all signals blocked: only async-signal-safe calls. Never returns. */
static void become(char *const *argv, pid_t parent)
{
	static const char message[] = "cannot execute the reconciler program\n";
	sigset_t none;

	/* A signal that was sent meanwhile takes effect: the loop's handlers would only wake the watcher. A SIGHUP,
	 * though, must not end a reconciler that does not listen to it yet. */
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* a watcher that dies leaves no orphans; one that died before this line is noticed by the new parent */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_NO_EXEC);
	close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	execv(argv[0], argv);
	if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
		_exit(EXIT_NO_EXEC);
	_exit(EXIT_NO_EXEC);
}

static void restart_in(struct worker *worker, int64_t wait_ms)
{
	ev_timer_set(&worker->restart, (double)wait_ms / 1000, 0);
	ev_timer_start(worker->pool->loop, &worker->restart);
}

/* The wait doubles with each start that did not last, from none at all. */
static int64_t next_backoff(const struct pool *pool, int64_t backoff_ms)
{
	if (backoff_ms == 0)
		return pool->backoff_first_ms;
	return backoff_doubled(backoff_ms, 1, BACKOFF_MAX_MS);
}

static void start(struct worker *worker)
{
	struct pool *pool = worker->pool;
	pid_t parent = getpid();
	sigset_t all;
	sigset_t before;
	pid_t pid;

	pool->argv[NAME_AT] = worker->name;
	if (pool->http_hole > 0)
		pool->argv[pool->http_hole] = worker->http;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		become(pool->argv, parent);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		log_error("cannot fork %s: %s", worker->name, strerror(errno));
		worker->backoff_ms = next_backoff(pool, worker->backoff_ms);
		restart_in(worker, worker->backoff_ms);
		return;
	}
	worker->pid = pid;
	worker->started_ms = clock_boot_ms();
	worker->silent_ms = 0;
	log_info("started %s, pid %d", worker->name, (int)pid);
	ev_child_set(&worker->child, pid, 0);
	ev_child_start(pool->loop, &worker->child);
}

/* Whether somebody has removed the socket: children that are connected do not notice it. */
static bool is_cut_off(const char *endpoint)
{
	return access(endpoint + strlen(IPC), F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

static void on_restart(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct worker *worker = timer->data;
	struct pool *pool = worker->pool;

	(void)loop;
	(void)events;
	if (is_cut_off(pool->argv[ENDPOINT_AT])) {
		pool->handler->cut_off(pool->arg, pool->argv[ENDPOINT_AT] + strlen(IPC));
		return;
	}
	pool->restarts++;
	worker->restarts++;
	start(worker);
}

static void note_death(struct worker *worker, int status, int64_t wait_ms)
{
	struct pool *pool = worker->pool;

	if (WIFSIGNALED(status)) {
		snprintf(worker->end, sizeof(worker->end), "was killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
		if (WTERMSIG(status) < SIGNALS_MAX)
			pool->kills[WTERMSIG(status)]++;
	} else {
		snprintf(worker->end, sizeof(worker->end), "exited with code %d", WEXITSTATUS(status));
		pool->exits[WEXITSTATUS(status)]++;
	}
	if (pool->stopping)
		log_info("%s (pid %d) %s", worker->name, (int)worker->pid, worker->end);
	else
		log_error("%s (pid %d) %s; restarting it in %lld ms", worker->name, (int)worker->pid, worker->end,
			  (long long)wait_ms);
}

static bool any_left(const struct pool *pool)
{
	for (int i = 0; i < pool->worker_count; i++)
		if (pool->workers[i].pid != 0)
			return true;
	return false;
}

static void on_child(struct ev_loop *loop, ev_child *child, int events)
{
	struct worker *worker = child->data;
	struct pool *pool = worker->pool;
	int64_t wait_ms;

	(void)events;
	ev_child_stop(loop, child);
	if (clock_boot_ms() - worker->started_ms >= STEADY_MS)
		worker->backoff_ms = 0;
	wait_ms = worker->backoff_ms;
	note_death(worker, child->rstatus, wait_ms);
	worker->pid = 0;
	worker->backoff_ms = next_backoff(pool, worker->backoff_ms);
	pool->handler->died(pool->arg, worker->name);
	if (!pool->stopping) {
		restart_in(worker, wait_ms);
	} else if (!any_left(pool)) {
		ev_timer_stop(loop, &pool->kill);
		pool->handler->drained(pool->arg);
	}
}

static void on_kill(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct pool *pool = timer->data;

	(void)loop;
	(void)events;
	pool_signal(pool, SIGKILL); /* before the line: one that hangs may have the log */
	log_warning("some reconcilers have not ended in time: killing them");
}

/* argv of every child; the arguments are copied. */
static char **build_argv(const struct pool_options *options, size_t *http_hole)
{
	size_t extra = 0;
	size_t at = 0;
	char **argv;

	while (options->arguments != NULL && options->arguments[extra] != NULL)
		extra++;
	argv = mem_calloc(8 + extra, sizeof(*argv));
	argv[at++] = mem_strdup(options->program);
	argv[at++] = mem_strdup("--name");
	at++; /* the worker's */
	argv[at++] = mem_strdup("--bus");
	argv[at++] = mem_strdup(options->endpoint);
	for (size_t i = 0; i < extra; i++)
		argv[at++] = mem_strdup(options->arguments[i]);
	if (options->http != NULL) {
		argv[at++] = mem_strdup("--http");
		*http_hole = at;
	}
	return argv;
}

struct pool *pool_new(struct ev_loop *loop, const struct pool_options *options, const struct pool_handler *handler,
		      void *arg, struct error *err)
{
	struct pool *pool;
	char http[POOL_HTTP_SIZE];

	if (access(options->program, X_OK) < 0) {
		error_set_errno(err, errno, "cannot execute %s", options->program);
		return NULL;
	}
	if (is_cut_off(options->endpoint)) {
		error_set(err, "the bus socket %s is gone", options->endpoint + strlen(IPC));
		return NULL;
	}
	if (options->http != NULL && pool_http(options->http, options->workers - 1, http, err) < 0)
		return NULL;
	pool = mem_calloc(1, sizeof(*pool) + (size_t)options->workers * sizeof(pool->workers[0]));
	pool->loop = loop;
	pool->handler = handler;
	pool->arg = arg;
	pool->argv = build_argv(options, &pool->http_hole);
	pool->drain_ms = options->drain_ms;
	pool->backoff_first_ms = options->backoff_first_ms > 0 ? options->backoff_first_ms : BACKOFF_FIRST_MS;
	pool->worker_count = options->workers;
	ev_timer_init(&pool->kill, on_kill, 0, 0);
	pool->kill.data = pool;
	for (int i = 0; i < options->workers; i++) {
		struct worker *worker = &pool->workers[i];

		worker->pool = pool;
		pool_name(i, worker->name);
		if (options->http != NULL)
			(void)pool_http(options->http, i, worker->http, NULL);
		ev_init(&worker->child, on_child);
		ev_init(&worker->restart, on_restart);
		worker->child.data = worker;
		worker->restart.data = worker;
		start(worker);
	}
	return pool;
}

void pool_signal(struct pool *pool, int signal_number)
{
	for (int i = 0; i < pool->worker_count; i++)
		if (pool->workers[i].pid != 0)
			kill(pool->workers[i].pid, signal_number);
}

void pool_heard(struct pool *pool, const char *name, int64_t time_ms)
{
	for (int i = 0; i < pool->worker_count; i++) {
		struct worker *worker = &pool->workers[i];

		if (worker->heard_ms >= time_ms || strcmp(worker->name, name) != 0)
			continue;
		worker->heard_ms = time_ms;
		worker->silent_ms = 0;
	}
}

void pool_kill_silent(struct pool *pool, int64_t now_ms, int64_t limit_ms)
{
	int64_t passed_ms = now_ms - pool->looked_ms;

	pool->looked_ms = now_ms;
	if (pool->stopping)
		return;
	for (int i = 0; i < pool->worker_count; i++) {
		struct worker *worker = &pool->workers[i];

		if (worker->pid == 0)
			continue;
		worker->silent_ms += passed_ms > POOL_LOOK_MS ? POOL_LOOK_MS : passed_ms;
		if (worker->silent_ms <= limit_ms)
			continue;
		kill(worker->pid, SIGKILL); /* before the line: it may have the log */
		log_error("%s (pid %d) hangs: it has sent nothing for %lld s; killing it", worker->name,
			  (int)worker->pid, (long long)worker->silent_ms / 1000);
		worker->silent_ms = 0;
	}
}

void pool_stop(struct pool *pool)
{
	if (pool->stopping)
		return;
	pool->stopping = true;
	for (int i = 0; i < pool->worker_count; i++)
		ev_timer_stop(pool->loop, &pool->workers[i].restart);
	if (!any_left(pool)) {
		pool->handler->drained(pool->arg);
		return;
	}
	pool_signal(pool, SIGTERM);
	ev_timer_set(&pool->kill, (double)pool->drain_ms / 1000, 0);
	ev_timer_start(pool->loop, &pool->kill);
}

void pool_free(struct pool *pool)
{
	if (pool == NULL)
		return;
	pool_signal(pool, SIGKILL);
	ev_timer_stop(pool->loop, &pool->kill);
	for (int i = 0; i < pool->worker_count; i++) {
		struct worker *worker = &pool->workers[i];

		ev_child_stop(pool->loop, &worker->child);
		ev_timer_stop(pool->loop, &worker->restart);
		if (worker->pid != 0)
			waitpid(worker->pid, NULL, 0);
	}
	pool->argv[NAME_AT] = NULL;
	if (pool->http_hole > 0)
		pool->argv[pool->http_hole] = NULL;
	free(pool->argv[0]);
	free(pool->argv[1]);
	for (char **argument = pool->argv + 3; *argument != NULL; argument++)
		free(*argument);
	free(pool->argv);
	free(pool);
}

pid_t pool_pid(const struct pool *pool, int slot)
{
	return pool->workers[slot].pid;
}

uint64_t pool_restarts(const struct pool *pool)
{
	return pool->restarts;
}

uint64_t pool_slot_restarts(const struct pool *pool, int slot)
{
	return pool->workers[slot].restarts;
}

const char *pool_slot_end(const struct pool *pool, int slot)
{
	return pool->workers[slot].end;
}

static void list_ends(const uint64_t *counts, size_t size, const char *what,
		      void (*each)(void *arg, const char *reason, uint64_t count), void *arg)
{
	for (size_t i = 0; i < size; i++) {
		char reason[32];

		snprintf(reason, sizeof(reason), "%s %zu", what, i);
		if (counts[i] > 0)
			each(arg, reason, counts[i]);
	}
}

void pool_ends(const struct pool *pool, void (*each)(void *arg, const char *reason, uint64_t count), void *arg)
{
	list_ends(pool->exits, ARRAY_LEN(pool->exits), "exit", each, arg);
	list_ends(pool->kills, ARRAY_LEN(pool->kills), "signal", each, arg);
}
