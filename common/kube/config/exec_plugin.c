/* One run of an exec plugin; see exec_plugin.h. A run is complete when the child has ended and both pipes are closed,
 * in any order. If a grandchild keeps a pipe open, the wait is short. */
#define _GNU_SOURCE
#include "common/kube/config/exec_plugin.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#define INFO_VARIABLE "KUBERNETES_EXEC_INFO"

enum { STDERR_SHOWN_BYTES = 1024, STDERR_MAX_BYTES = 64 * 1024, LINGER_MS = 500 };
/* One that takes longer may wait for a person, whom it tells on stderr what to do. */
enum { SILENT_MS = 1000 };

extern char **environ;

struct output {
	struct ev_io io;
	struct buf text;
	size_t max;
	bool open;
	bool too_much;
};

struct exec_plugin {
	struct ev_loop *loop;
	const struct kube_config *config;
	exec_plugin_done *done;
	void *arg;
	int64_t time_ms;
	struct ev_timer timer; /* SILENT_MS; then the rest of its time; after its end, the wait for its pipes */
	struct ev_child child;
	bool running;
	int status;
	struct output out;
	struct output err;
	bool aloud;   /* lines of stderr are logged as they come */
	size_t shown; /* bytes of stderr that were */
};

/* ---- the end ---- */

static void close_stream(struct exec_plugin *plugin, struct output *stream)
{
	if (!stream->open)
		return;
	ev_io_stop(plugin->loop, &stream->io);
	close(stream->io.fd);
	stream->open = false;
}

static void end_child(struct exec_plugin *plugin)
{
	if (!plugin->running)
		return;
	/* (whatever the loop's handler for SIGCHLD finds without a watcher, it reaps) */
	kill(-plugin->child.pid, SIGKILL);
	ev_child_stop(plugin->loop, &plugin->child);
	plugin->running = false;
}

static void free_text(struct buf *text)
{
	if (text->data != NULL)
		explicit_bzero(text->data, text->cap);
	buf_free(text);
}

void exec_plugin_free(struct exec_plugin *plugin)
{
	if (plugin == NULL)
		return;
	end_child(plugin);
	close_stream(plugin, &plugin->out);
	close_stream(plugin, &plugin->err);
	ev_timer_stop(plugin->loop, &plugin->timer);
	free_text(&plugin->out.text);
	free_text(&plugin->err.text);
	free(plugin);
}

static void finish(struct exec_plugin *plugin, struct exec_credential *credential, const char *failure)
{
	/* the callback may start another one, so this one lets go of everything first */
	end_child(plugin);
	close_stream(plugin, &plugin->out);
	close_stream(plugin, &plugin->err);
	ev_timer_stop(plugin->loop, &plugin->timer);
	plugin->done(plugin->arg, credential, failure);
	exec_plugin_free(plugin);
}

/* The last lines of stderr, in one. */
static void put_last_words(struct buf *message, const struct buf *text)
{
	const char *start = text->data;
	size_t len = text->len;

	while (len > 0 && (start[len - 1] == '\n' || start[len - 1] == ' '))
		len--;
	if (len == 0)
		return;
	if (len > STDERR_SHOWN_BYTES) {
		start += len - STDERR_SHOWN_BYTES;
		len = STDERR_SHOWN_BYTES;
	}
	buf_puts(message, ": ");
	for (size_t i = 0; i < len; i++)
		buf_putc(message, (unsigned char)start[i] < ' ' ? ' ' : start[i]);
}

static void fail(struct exec_plugin *plugin, const char *what)
{
	cleanup_buf struct buf message = {0};

	buf_printf(&message, "%s: %s %s", plugin->config->exec->place, plugin->config->exec->command, what);
	put_last_words(&message, &plugin->err.text);
	finish(plugin, NULL, message.data);
}

static void judge(struct exec_plugin *plugin)
{
	struct exec_credential credential;
	struct error err;
	char what[64];

	if (WIFSIGNALED(plugin->status)) {
		snprintf(what, sizeof(what), "was ended by signal %d", WTERMSIG(plugin->status));
		fail(plugin, what);
	} else if (WEXITSTATUS(plugin->status) != 0) {
		snprintf(what, sizeof(what), "exited with %d", WEXITSTATUS(plugin->status));
		fail(plugin, what);
	} else if (exec_credential_read(plugin->config->exec,
					plugin->out.text.data == NULL ? "" : plugin->out.text.data,
					plugin->out.text.len, &credential, &err) < 0) {
		error_wrap(&err, "%s: output of %s", plugin->config->exec->place, plugin->config->exec->command);
		finish(plugin, NULL, err.message);
	} else {
		finish(plugin, &credential, NULL);
	}
}

static void look(struct exec_plugin *plugin)
{
	if (plugin->out.too_much) {
		char what[64];

		snprintf(what, sizeof(what), "printed more than %d bytes", EXEC_OUTPUT_MAX_BYTES);
		fail(plugin, what);
	} else if (!plugin->running && !plugin->out.open && !plugin->err.open) {
		judge(plugin);
	}
}

/* ---- what happens to it ---- */

/* Reads the output that is available. */
static void drain(struct exec_plugin *plugin, struct output *stream)
{
	while (stream->open && !stream->too_much) {
		ssize_t count;

		buf_reserve(&stream->text, 4096);
		count = read(stream->io.fd, stream->text.data + stream->text.len, 4096);
		if (count < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (count <= 0) {
			close_stream(plugin, stream);
			return;
		}
		stream->text.len += (size_t)count;
		stream->text.data[stream->text.len] = '\0';
		stream->too_much = stream->text.len > stream->max;
	}
}

static void on_output(struct ev_loop *loop, struct ev_io *io, int events)
{
	struct exec_plugin *plugin = io->data;

	(void)loop;
	(void)events;
	drain(plugin, &plugin->out);
	look(plugin);
}

static void show_lines(struct exec_plugin *plugin)
{
	const struct buf *text = &plugin->err.text;
	const char *end;

	while (plugin->shown < text->len &&
	       (end = memchr(text->data + plugin->shown, '\n', text->len - plugin->shown)) != NULL) {
		const char *line = text->data + plugin->shown;

		if (end > line)
			log_warning("%s: %.*s", plugin->config->exec->place, (int)(end - line), line);
		plugin->shown += (size_t)(end - line) + 1;
	}
}

static void on_complaint(struct ev_loop *loop, struct ev_io *io, int events)
{
	struct exec_plugin *plugin = io->data;
	struct output *stream = &plugin->err;

	(void)loop;
	(void)events;
	drain(plugin, stream);
	if (plugin->aloud)
		show_lines(plugin);
	if (stream->too_much) { /* the end of it says why */
		size_t gone = stream->text.len - STDERR_SHOWN_BYTES;

		buf_consume(&stream->text, gone);
		plugin->shown -= plugin->shown < gone ? plugin->shown : gone;
		stream->too_much = false;
	}
	look(plugin);
}

static void set_timer(struct exec_plugin *plugin, int64_t ms)
{
	ev_timer_stop(plugin->loop, &plugin->timer);
	ev_timer_set(&plugin->timer, (double)ms / 1000.0, 0.0);
	ev_timer_start(plugin->loop, &plugin->timer);
}

static void on_child(struct ev_loop *loop, struct ev_child *child, int events)
{
	struct exec_plugin *plugin = child->data;

	(void)events;
	ev_child_stop(loop, child);
	plugin->running = false;
	plugin->status = child->rstatus;
	drain(plugin, &plugin->out);
	drain(plugin, &plugin->err);
	set_timer(plugin, LINGER_MS);
	look(plugin);
}

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct exec_plugin *plugin = timer->data;
	char what[64];

	(void)loop;
	(void)events;
	if (!plugin->running) {
		judge(plugin);
		return;
	}
	if (!plugin->aloud && plugin->time_ms > SILENT_MS) {
		plugin->aloud = true;
		set_timer(plugin, plugin->time_ms - SILENT_MS);
		show_lines(plugin);
		return;
	}
	snprintf(what, sizeof(what), "did not end within %lld ms", (long long)plugin->time_ms);
	fail(plugin, what);
}

/* ---- the start ---- */

static bool is_program(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* Where the command is, to be freed; NULL: nowhere. */
static char *find_command(const char *command)
{
	const char *at = getenv("PATH");

	if (strchr(command, '/') != NULL)
		return is_program(command) ? mem_strdup(command) : NULL;
	while (at != NULL && *at != '\0') {
		size_t len = strcspn(at, ":");
		/* an empty part would be the working directory: nothing is run from there unasked */
		char *path = mem_printf("%.*s/%s", (int)len, at, command);

		if (len > 0 && is_program(path))
			return path;
		free(path);
		at += len + (at[len] == ':');
	}
	return NULL;
}

static bool same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, "=");

	return len == strcspn(b, "=") && strncmp(a, b, len) == 0;
}

/* Sets "NAME=value" in the list, which has room for it. */
static void set_variable(char **list, size_t *count, char *variable)
{
	for (size_t i = 0; i < *count; i++)
		if (same_name(list[i], variable)) {
			list[i] = variable;
			return;
		}
	list[(*count)++] = variable;
}

/* Ours, with the config's and the info over it. The array alone is to be freed. */
static char **make_environment(const struct kube_exec *exec, char *info)
{
	size_t count = 0;
	size_t room = 2;
	char **list;

	for (char **at = environ; *at != NULL; at++)
		room++;
	for (char **at = exec->environment; at != NULL && *at != NULL; at++)
		room++;
	list = mem_calloc(room, sizeof(*list));
	for (char **at = environ; *at != NULL; at++)
		list[count++] = *at;
	for (char **at = exec->environment; at != NULL && *at != NULL; at++)
		set_variable(list, &count, *at);
	set_variable(list, &count, info);
	return list;
}

static char **make_arguments(const struct kube_exec *exec)
{
	size_t count = 0;
	char **list;

	while (exec->args != NULL && exec->args[count] != NULL)
		count++;
	list = mem_calloc(count + 2, sizeof(*list));
	list[0] = exec->command;
	for (size_t i = 0; i < count; i++)
		list[i + 1] = exec->args[i];
	return list;
}

/* posix_spawn and not fork: a watcher with gigabytes would stop for the copying of its page tables. 0 or an errno. */
static int spawn(const char *path, const struct kube_exec *exec, char *info, const int out[2], const int err[2],
		 pid_t *pid)
{
	cleanup_free char **arguments = make_arguments(exec);
	cleanup_free char **environment = make_environment(exec, info);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigset_t standard;
	int code;

	if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0)
		mem_exhausted();
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
	posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	sigemptyset(&none);
	sigfillset(&standard);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &standard);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	code = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return code;
}

static void open_stream(struct exec_plugin *plugin, struct output *stream, int fd, size_t max,
			void (*ready)(struct ev_loop *, struct ev_io *, int))
{
	stream->open = true;
	stream->max = max;
	ev_io_init(&stream->io, ready, fd, EV_READ);
	stream->io.data = plugin;
	ev_io_start(plugin->loop, &stream->io);
}

static int cannot_start(const struct kube_exec *exec, int code, struct error *err)
{
	if (code == 0)
		error_set(err, "%s: command %s: not found", exec->place, exec->command);
	else
		error_set_errno(err, code, "%s: command %s", exec->place, exec->command);
	if (exec->install_hint != NULL) {
		struct error hinted;

		error_set(&hinted, "%s; %s", err->message, exec->install_hint);
		*err = hinted;
	}
	return -1;
}

static int run(struct exec_plugin *plugin, const char *ca, pid_t *pid, struct error *err)
{
	const struct kube_exec *exec = plugin->config->exec;
	cleanup_free char *path = find_command(exec->command);
	cleanup_free char *json = NULL;
	cleanup_free char *info = NULL;
	int out[2];
	int complaints[2];
	int code;

	if (path == NULL)
		return cannot_start(exec, 0, err);
	if (pipe2(out, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "%s: pipe", exec->place);
	if (pipe2(complaints, O_CLOEXEC) < 0) {
		code = errno;
		close(out[0]);
		close(out[1]);
		return error_set_errno(err, code, "%s: pipe", exec->place);
	}
	/* our ends alone: a program that finds its output non-blocking may lose some of it */
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(complaints[0], F_SETFL, O_NONBLOCK);
	json = exec_credential_ask(plugin->config, ca);
	info = mem_printf(INFO_VARIABLE "=%s", json);
	code = spawn(path, exec, info, out, complaints, pid);
	close(out[1]);
	close(complaints[1]);
	if (code != 0) {
		close(out[0]);
		close(complaints[0]);
		return cannot_start(exec, code, err);
	}
	open_stream(plugin, &plugin->out, out[0], EXEC_OUTPUT_MAX_BYTES, on_output);
	open_stream(plugin, &plugin->err, complaints[0], STDERR_MAX_BYTES, on_complaint);
	return 0;
}

struct exec_plugin *exec_plugin_start(struct ev_loop *loop, const struct kube_config *config, const char *ca,
				      int64_t time_ms, exec_plugin_done *done, void *arg, struct error *err)
{
	struct exec_plugin *plugin = mem_calloc(1, sizeof(*plugin));
	pid_t pid = -1;

	plugin->loop = loop;
	plugin->config = config;
	plugin->time_ms = time_ms;
	plugin->done = done;
	plugin->arg = arg;
	if (run(plugin, ca, &pid, err) < 0) {
		free(plugin);
		return NULL;
	}
	plugin->running = true;
	ev_child_init(&plugin->child, on_child, pid, 0);
	plugin->child.data = plugin;
	ev_child_start(loop, &plugin->child);
	ev_init(&plugin->timer, on_timer);
	plugin->timer.data = plugin;
	ev_now_update(loop);
	set_timer(plugin, time_ms < SILENT_MS ? time_ms : SILENT_MS);
	return plugin;
}
