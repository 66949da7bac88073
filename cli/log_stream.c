/* See logs.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/logs.h"
#include "cli/view/read.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

enum {
	CHECK_TIMEOUT_MS = 60 * 1000,
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
	int64_t written;

	if (stream->before != 0 && time_parse_rfc3339(time, &written) == 0 && written >= stream->before)
		return;
	if (!stream->logs->cli->options.no_prefix)
		out_styled(out, stream->style, stream->prefix);
	if (stream->logs->cli->options.timestamps)
		out_printf(out, "%s ", time);
	out_lines(out, line); /* (with its tabs) */
}

/* One of its calls has ended. */
static void leave(struct log_stream *stream)
{
	if (stream->call == NULL && stream->check == NULL)
		stream->logs->open--;
}

/* Its call has ended, and all that was received is printed. (What breaks off while the container runs is received
 * again.) */
static void end_lines(struct log_stream *stream)
{
	if (stream->whole || !stream->running)
		log_lines_end(&stream->lines, on_line, stream);
	stream->ended = stream->ended || stream->whole;
}

static void note_failure(struct log_stream *stream, const char *message)
{
	if (!stream->failed)
		cli_note(stream->logs->cli, "log of Pod %s, container %s: %s", stream->pod, stream->container, message);
	stream->failed = true;
}

/* When the container of that Pod was started first; 0: it was not. */
static int64_t first_start(const json_t *pod, const char *container)
{
	static const char *const members[] = {"initContainerStatuses", "containerStatuses"};
	static const char *const states[][2] = {
		{"lastState", "terminated"}, {"state", "terminated"}, {"state", "running"}};

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *statuses = json_path(pod, "status", members[i], NULL), *status;
		size_t j;

		json_array_foreach(statuses, j, status)
			for (size_t k = 0; k < ARRAY_LEN(states) && strcmp(view_text(status, "name"), container) == 0;
			     k++) {
				const json_t *state = json_path(status, states[k][0], states[k][1], NULL);

				if (state != NULL)
					return json_time(state, "startedAt");
			}
	}
	return 0;
}

/* The Pod had the stream's uid before the log was asked for. If no other Pod of the name has started its container
 * since, the log is this Pod's. Else only those lines are, which were written before. */
static void judge_owner(struct log_stream *stream, const struct kube_answer *answer)
{
	cleanup_json json_t *list = json_parse(answer->body, answer->body_len, NULL);
	const json_t *pod = json_array_get(json_object_get(list, "items"), 0);
	const char *uid = view_text(json_object_get(pod, "metadata"), "uid");

	stream->checked = true;
	stream->before = pod == NULL || strcmp(uid, stream->uid) == 0 ? 0 : first_start(pod, stream->container);
	log_lines_add(&stream->lines, stream->held.data, stream->held.len, on_line, stream);
	if (stream->before == 0)
		return;
	stream->running = false;
	stream->ended = true;
	if (stream->call != NULL)
		kube_call_cancel(stream->call);
}

static void on_checked(void *arg, const struct kube_answer *answer)
{
	struct log_stream *stream = arg;

	stream->check = NULL;
	leave(stream);
	if (answer->failure == KUBE_CANCELLED)
		return;
	if (answer->failure == KUBE_OK && answer->http_status == 200) {
		judge_owner(stream, answer);
		if (stream->call == NULL)
			end_lines(stream);
		out_flush(&stream->logs->cli->out);
	} else {
		note_failure(stream, answer->message);
		stream->waits = true; /* it is asked for again */
		if (stream->call != NULL)
			kube_call_cancel(stream->call);
	}
	buf_clear(&stream->held);
}

static void check(struct log_stream *stream)
{
	cleanup_free char *pods = cli_core_path(stream->logs->cli->ns, "pods", NULL);
	cleanup_free char *path = mem_printf("%s?fieldSelector=metadata.name%%3D%s", pods, stream->pod);
	const struct kube_request request = {
		.method = "GET",
		.path = path,
		.accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
		.timeout_ms = CHECK_TIMEOUT_MS};

	stream->check = kube_client_call(stream->logs->cli->client, &request, on_checked, stream);
}

static void on_data(void *arg, const char *data, size_t len)
{
	struct log_stream *stream = arg;

	if (stream->checked) {
		log_lines_add(&stream->lines, data, len, on_line, stream);
		out_flush(&stream->logs->cli->out);
	} else if (len == 0) {
		check(stream);
	} else if (stream->check != NULL) {
		buf_append(&stream->held, data, len);
	}
}

static void on_done(void *arg, const struct kube_answer *answer)
{
	struct log_stream *stream = arg;
	struct cli *cli = stream->logs->cli;

	stream->call = NULL;
	leave(stream);
	if (answer->failure == KUBE_CANCELLED)
		return;
	stream->whole = answer->failure == KUBE_OK && answer->http_status < 300;
	if (stream->check == NULL)
		end_lines(stream);
	out_flush(&cli->out);
	if (stream->whole)
		return;
	/* 400: the container has not started, or has no log yet; 404: its Pod is gone */
	if (answer->http_status == 404)
		stream->ended = true;
	if (answer->http_status == 401 || answer->http_status == 403)
		stream->logs->forbidden = stream->ended = true;
	if (answer->http_status != 400)
		note_failure(stream, answer->message);
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
	stream->checked = !options->follow; /* (else all logs are read at once, and Pods do not follow each other) */
	stream->whole = false;
	stream->before = 0;
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
	int64_t framework_attempt;
	bool several; /* containers */
};

struct log_pod {
	UT_hash_handle hh; /* by name */
	char *name;
	char *uid;
	int64_t attempt;
	int64_t framework_attempt;
};

static struct log_pod *find_pod(const struct logs *logs, const char *name)
{
	struct log_pod *found;

	HASH_FIND_STR(logs->pods, name, found);
	return found;
}

/* A Pod's first stream begins. If another Pod of its name had streams: its lines may look the same. */
static void note_pod(struct logs *logs, const char *name, const char *uid, const struct task_of_pod *task)
{
	struct log_pod *pod = find_pod(logs, name);

	if (pod == NULL) {
		pod = mem_calloc(1, sizeof(*pod));
		pod->name = mem_strdup(name);
		HASH_ADD_KEYPTR(hh, logs->pods, pod->name, strlen(pod->name), pod);
	} else if (strcmp(pod->uid, uid) == 0) {
		return;
	} else if (pod->framework_attempt == task->framework_attempt) {
		cli_note(logs->cli, "%s[%lld]: the log of attempt %lld has ended, and that of attempt %lld begins",
			 task->role, (long long)task->index, (long long)pod->attempt, (long long)task->attempt);
	} else {
		cli_note(logs->cli,
			 "%s[%lld]: the log of the Framework's attempt %lld has ended, and that of its attempt %lld "
			 "begins",
			 task->role, (long long)task->index, (long long)pod->framework_attempt,
			 (long long)task->framework_attempt);
	}
	mem_replace(&pod->uid, uid);
	pod->attempt = task->attempt;
	pod->framework_attempt = task->framework_attempt;
}

static void forget(struct logs *logs, const char *uid)
{
	for (struct log_stream *stream = logs->streams; stream != NULL; stream = stream->hh.next)
		if (strcmp(stream->uid, uid) == 0)
			stream->running = stream->waits = false;
}

void logs_forget(struct logs *logs, const json_t *pod)
{
	forget(logs, view_text(json_object_get(pod, "metadata"), "uid"));
}

static struct log_stream *stream_new(struct logs *logs, const json_t *pod, const struct task_of_pod *task,
				     const char *container, char *key)
{
	struct log_stream *stream = mem_calloc(1, sizeof(*stream));
	struct buf prefix = {0};

	stream->logs = logs;
	stream->key = key;
	stream->pod = mem_strdup(view_text(json_object_get(pod, "metadata"), "name"));
	stream->uid = mem_strdup(view_text(json_object_get(pod, "metadata"), "uid"));
	note_pod(logs, stream->pod, stream->uid, task);
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
	if (stream->call == NULL && stream->check == NULL && !stream->ended)
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
		.framework_attempt = strtoll(view_text(annotations, FC_FRAMEWORK_ATTEMPT_ID), NULL, 10),
		.several = json_array_size(inits) + json_array_size(containers) > 1,
	};
	const struct log_pod *former = find_pod(logs, view_text(meta, "name"));
	size_t i;

	if (former != NULL && strcmp(former->uid, view_text(meta, "uid")) != 0)
		forget(logs, former->uid); /* although nobody has said that it is deleted */
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
		if (stream->call != NULL || stream->check != NULL || (!stream->running && !stream->waits) ||
		    stream->logs->forbidden)
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
	struct log_pod *pod, *next_pod;

	HASH_ITER(hh, logs->pods, pod, next_pod) {
		HASH_DEL(logs->pods, pod);
		free(pod->name);
		free(pod->uid);
		free(pod);
	}
	HASH_ITER(hh, logs->streams, stream, next) {
		HASH_DEL(logs->streams, stream);
		buf_free(&stream->lines.pending);
		buf_free(&stream->held);
		free(stream->uid);
		free(stream->key);
		free(stream->pod);
		free(stream->container);
		free(stream->prefix);
		free(stream);
	}
}
