/* See logs.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/logs.h"
#include "cli/view/read.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

enum {
	STREAM_TIMEOUT_MS = 12 * 3600 * 1000, /* (a stream that lasts longer is resumed) */
	LOGS_FOLLOWED = CLI_CONNECTIONS - 8,  /* the others are for watches and lists */
};

static const enum style prefix_styles[] = {STYLE_GOOD, STYLE_WAITS, STYLE_HEAD, STYLE_DIM};

bool logs_selects(const struct logs *logs, const char *role, int64_t index)
{
	for (size_t i = 0; i < logs->selector_count; i++)
		if (strcmp(logs->selectors[i].role, role) == 0 &&
		    (logs->selectors[i].index < 0 || logs->selectors[i].index == index))
			return true;
	return logs->selector_count == 0;
}

/* ---- one stream -------------------------------------------------------------------------------------------------- */

static void on_line(void *arg, const char *time, const char *line)
{
	struct log_stream *stream = arg;
	struct out *out = &stream->logs->cli->out;

	if (!stream->logs->cli->options.no_prefix)
		out_styled(out, stream->style, stream->prefix);
	if (stream->logs->cli->options.timestamps)
		out_printf(out, "%s ", time);
	out_lines(out, line); /* (with its tabs) */
}

static void on_data(void *arg, const char *data, size_t len)
{
	struct log_stream *stream = arg;

	log_lines_add(&stream->lines, data, len, on_line, stream);
	out_flush(&stream->logs->cli->out);
}

static void on_done(void *arg, const struct kube_answer *answer)
{
	struct log_stream *stream = arg;
	struct cli *cli = stream->logs->cli;

	stream->call = NULL;
	stream->logs->open--;
	if (answer->failure == KUBE_CANCELLED)
		return;
	/* (what breaks off while the container runs is received again) */
	if (answer->failure == KUBE_OK || !stream->running)
		log_lines_end(&stream->lines, on_line, stream);
	out_flush(&cli->out);
	if (answer->failure == KUBE_OK && answer->http_status < 300) {
		stream->ended = true;
		return;
	}
	/* 400: the container has not started, or has no log yet; 404: its Pod is gone */
	if (answer->http_status == 404)
		stream->ended = true;
	if (answer->http_status == 401 || answer->http_status == 403)
		stream->logs->forbidden = stream->ended = true;
	if (!stream->failed && answer->http_status != 400)
		cli_note(cli, "log of Pod %s, container %s: %s", stream->pod, stream->container, answer->message);
	stream->failed = true;
}

/* "2006-01-02T15:04:05.999Z" without its fraction, which sinceTime does not know. */
static void put_since(struct buf *query, const char *last)
{
	cleanup_free char *text = mem_printf("%.19sZ", last);

	cli_put_query(query, "sinceTime", text);
}

/* Whether one more stream can have a connection. A call that waits for one holds up the client's other calls. */
static bool has_room(struct logs *logs)
{
	if (!logs->cli->options.follow || logs->open < LOGS_FOLLOWED)
		return true;
	if (!logs->full)
		cli_note(
			logs->cli,
			"at most %d logs are followed at once: others begin when one of these ends; name a TaskRole or "
			"Tasks to choose which",
			LOGS_FOLLOWED);
	logs->full = true;
	return false;
}

static void start(struct log_stream *stream)
{
	const struct options *options = &stream->logs->cli->options;
	cleanup_free char *pod = cli_core_path(stream->logs->cli->ns, "pods", stream->pod);
	cleanup_free char *number = NULL, *path = NULL;
	cleanup_buf struct buf query = {0};
	struct kube_request request = {.method = "GET", .accept = "*/*", .timeout_ms = STREAM_TIMEOUT_MS};

	stream->waits = !has_room(stream->logs);
	if (stream->waits)
		return;
	cli_put_query(&query, "container", stream->container);
	cli_put_query(&query, "timestamps", "true");
	if (options->follow)
		cli_put_query(&query, "follow", "true");
	if (stream->lines.last[0] != '\0') {
		log_lines_resume(&stream->lines);
		put_since(&query, stream->lines.last);
	} else {
		if (options->tail >= 0) {
			number = mem_printf("%lld", (long long)options->tail);
			cli_put_query(&query, "tailLines", number);
		}
		if (options->since_sec >= 0) {
			free(number);
			number = mem_printf("%lld", (long long)(options->since_sec == 0 ? 1 : options->since_sec));
			cli_put_query(&query, "sinceSeconds", number);
		}
	}
	path = mem_printf("%s/log?%s", pod, query.data);
	request.path = path;
	stream->call = kube_client_stream(stream->logs->cli->client, &request, on_data, on_done, stream);
	stream->logs->open++;
}

/* ---- Pods -------------------------------------------------------------------------------------------------------- */

struct task_of_pod {
	const char *role;
	int64_t index;
	int64_t attempt;
	bool several; /* containers */
};

static struct log_stream *stream_new(struct logs *logs, const json_t *pod, const struct task_of_pod *task,
				     const char *container, char *key)
{
	struct log_stream *stream = mem_calloc(1, sizeof(*stream));
	struct buf prefix = {0};

	stream->logs = logs;
	stream->key = key;
	stream->pod = mem_strdup(view_text(json_object_get(pod, "metadata"), "name"));
	stream->container = mem_strdup(container);
	buf_printf(&prefix, "%s[%lld]", task->role, (long long)task->index);
	if (task->attempt > 0)
		buf_printf(&prefix, "#%lld", (long long)task->attempt);
	if (task->several)
		buf_printf(&prefix, "/%s", container);
	buf_putc(&prefix, ' ');
	stream->prefix = buf_steal(&prefix);
	stream->style = prefix_styles[(size_t)task->index % ARRAY_LEN(prefix_styles)];
	HASH_ADD_KEYPTR(hh, logs->streams, stream->key, strlen(stream->key), stream);
	logs->begun++;
	return stream;
}

static void look_at_container(struct logs *logs, const json_t *pod, const struct task_of_pod *task,
			      const json_t *status)
{
	const char *uid = view_text(json_object_get(pod, "metadata"), "uid");
	const char *name = view_text(status, "name");
	const json_t *state = json_object_get(status, "state");
	bool running = json_object_get(state, "running") != NULL,
	     terminated = json_object_get(state, "terminated") != NULL,
	     /* in a crash loop: the log is that of its last run */
		waits_again = json_path(status, "lastState", "terminated", NULL) != NULL;
	const char *wanted = logs->cli->options.container;
	struct log_stream *stream;
	char *key;

	if ((!running && !terminated && !waits_again) || (wanted != NULL && strcmp(wanted, name) != 0))
		return;
	key = mem_printf("%s/%s/%lld", uid, name, (long long)json_int(status, "restartCount", 0));
	HASH_FIND_STR(logs->streams, key, stream);
	if (stream == NULL)
		stream = stream_new(logs, pod, task, name, key);
	else
		free(key);
	stream->running = running;
	if (stream->call == NULL && !stream->ended)
		start(stream);
}

void logs_look(struct logs *logs, const json_t *pod)
{
	const json_t *meta = json_object_get(pod, "metadata");
	const json_t *labels = json_object_get(meta, "labels"), *annotations = json_object_get(meta, "annotations");
	const json_t *inits = json_path(pod, "status", "initContainerStatuses", NULL);
	const json_t *containers = json_path(pod, "status", "containerStatuses", NULL), *status;
	const struct task_of_pod task = {
		.role = view_text(labels, FC_TASKROLE_NAME),
		.index = strtoll(view_text(labels, FC_TASK_INDEX), NULL, 10),
		.attempt = strtoll(view_text(annotations, FC_TASK_ATTEMPT_ID), NULL, 10),
		.several = json_array_size(inits) + json_array_size(containers) > 1,
	};
	size_t i;

	if (*task.role == '\0' || task.index < 0 || !logs_selects(logs, task.role, task.index))
		return;
	json_array_foreach(inits, i, status)
		look_at_container(logs, pod, &task, status);
	json_array_foreach(containers, i, status)
		look_at_container(logs, pod, &task, status);
}

void logs_resume(struct logs *logs)
{
	for (struct log_stream *stream = logs->streams; stream != NULL; stream = stream->hh.next) {
		/* a kubelet that restarts, or a rotated log, ends a stream too early */
		if (stream->call != NULL || (!stream->running && !stream->waits) || stream->logs->forbidden)
			continue;
		stream->ended = false;
		start(stream);
	}
}

bool logs_wait(const struct logs *logs)
{
	for (const struct log_stream *stream = logs->streams; stream != NULL; stream = stream->hh.next)
		if (stream->waits)
			return true;
	return false;
}

void logs_free(struct logs *logs)
{
	struct log_stream *stream, *next;

	HASH_ITER(hh, logs->streams, stream, next) {
		HASH_DEL(logs->streams, stream);
		buf_free(&stream->lines.pending);
		free(stream->key);
		free(stream->pod);
		free(stream->container);
		free(stream->prefix);
		free(stream);
	}
}
