/* See timeline.h. */
#define _GNU_SOURCE
#include "cli/view/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "cli/view/read.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static struct timeline_row *row_of(struct timeline *timeline, const char *role, size_t index)
{
	struct timeline_row *row;

	for (size_t i = 0; i < timeline->row_count; i++) {
		row = &timeline->rows[i];
		if (row->index == index &&
		    (role == NULL ? row->role == NULL : row->role != NULL && strcmp(row->role, role) == 0))
			return row;
	}
	timeline->rows = mem_realloc(timeline->rows, timeline->row_count + 1, sizeof(*timeline->rows));
	row = &timeline->rows[timeline->row_count++];
	*row = (struct timeline_row){.role = mem_strdup(role), .index = index, .result = mem_strdup("")};
	return row;
}

/* Rows of the present status are added in order, so that none is looked for. */
static struct timeline_row *new_row(struct timeline *timeline, const char *role, size_t index)
{
	struct timeline_row *row;

	if (timeline->row_count % 64 == 0)
		timeline->rows = mem_realloc(timeline->rows, timeline->row_count + 64, sizeof(*timeline->rows));
	row = &timeline->rows[timeline->row_count++];
	*row = (struct timeline_row){.role = mem_strdup(role), .index = index, .result = mem_strdup("")};
	return row;
}

static void add_bar(struct timeline_row *row, const struct bar *bar)
{
	for (size_t i = 0; i < row->bar_count; i++)
		if (row->bars[i].framework_attempt == bar->framework_attempt && row->bars[i].id == bar->id &&
		    !row->bars[i].earlier)
			return;
	row->bars = mem_realloc(row->bars, row->bar_count + 1, sizeof(*row->bars));
	row->bars[row->bar_count++] = *bar;
}

static void set_result(struct bar *bar, enum attempt_state state, const struct completion *completion)
{
	bar->completed = completion != NULL;
	bar->code = completion == NULL ? 0 : completion->code;
	bar->tone = tone_of(state, completion);
}

static char *result_text(const char *state, const struct completion *completion)
{
	return completion == NULL ? mem_strdup(state_brief(state))
				  : mem_printf("%d %s", (int)completion->code, completion->phrase);
}

static void add_task(struct timeline_row *row, int32_t framework_attempt, const struct task_status *task, bool present)
{
	const struct task_attempt_status *attempt = &task->attempt;
	struct bar bar = {
		.framework_attempt = framework_attempt,
		.id = attempt->id,
		.start = attempt->start_time,
		.run = attempt->run_time,
		.end = attempt->completion_time,
	};

	set_result(&bar, task->state, attempt->completion);
	add_bar(row, &bar);
	if (!present)
		return;
	free(row->result);
	row->result = result_text(attempt_state_name(task->state), attempt->completion);
	row->tone = bar.tone;
}

/* state: as list shows it; NULL: the status is of a former attempt. */
static void add_framework(struct timeline_row *row, const struct framework_status *status, const char *state)
{
	struct bar bar = {
		.framework_attempt = status->attempt.id,
		.id = status->attempt.id,
		.start = status->attempt.start_time,
		.run = status->attempt.run_time,
		.end = status->attempt.completion_time,
	};

	set_result(&bar, status->state, status->attempt.completion);
	add_bar(row, &bar);
	if (state == NULL)
		return;
	free(row->result);
	row->result = result_text(state, status->attempt.completion);
	row->tone = bar.tone;
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

static void take_framework(struct timeline *timeline, const json_t *object)
{
	struct framework_status status;

	if (framework_status_parse(json_object_get(object, "status"), &status, NULL) < 0)
		return;
	add_framework(row_of(timeline, NULL, 0), &status, NULL);
	for (size_t i = 0; i < status.attempt.role_count; i++)
		for (size_t j = 0; j < status.attempt.roles[i].task_count; j++)
			add_task(row_of(timeline, status.attempt.roles[i].name, j), status.attempt.id,
				 &status.attempt.roles[i].tasks[j], false);
	framework_status_free(&status);
}

static enum tone tone_of_json(const json_t *completion)
{
	const char *type = view_text(json_object_get(completion, "type"), "name");

	return strcmp(type, "Succeeded") == 0 ? TONE_GOOD : TONE_BAD;
}

static void take_task(struct timeline *timeline, const json_t *object)
{
	const json_t *annotations = json_path(object, "metadata", "annotations", NULL);
	const json_t *attempt = json_path(object, "status", "attemptStatus", NULL);
	const json_t *completion = json_object_get(attempt, "completionStatus");
	const char *role = view_text(annotations, FC_TASKROLE_NAME);
	const char *index = view_text(annotations, FC_TASK_INDEX);
	const struct bar bar = {
		.framework_attempt = (int32_t)strtol(view_text(annotations, FC_FRAMEWORK_ATTEMPT_ID), NULL, 10),
		.id = (int32_t)json_int(attempt, "id", 0),
		.start = json_time(attempt, "startTime"),
		.run = json_time(attempt, "runTime"),
		.end = json_time(attempt, "completionTime"),
		.completed = json_is_object(completion),
		.code = (int32_t)json_int(completion, "code", 0),
		.tone = tone_of_json(completion),
	};

	if (*role != '\0' && *index >= '0' && *index <= '9')
		add_bar(row_of(timeline, role, strtoul(index, NULL, 10)), &bar);
}

static bool is_of(const json_t *object, const char *kind, const json_t *names, const char *member, const char *uid)
{
	return strcmp(view_text(object, "kind"), kind) == 0 && strcmp(view_text(names, member), uid) == 0;
}

static void take_line(struct timeline *timeline, const struct framework_view *framework, const char *line, size_t len)
{
	static const char head[] = ": ObjectSnapshot: ";
	const char *at = memmem(line, len, head, sizeof(head) - 1);
	cleanup_json json_t *object = NULL;
	const json_t *meta;

	if (at == NULL)
		return;
	at += sizeof(head) - 1;
	object = json_parse(at, (size_t)(line + len - at), NULL);
	meta = json_object_get(object, "metadata");
	if (is_of(object, "Framework", meta, "uid", framework->uid))
		take_framework(timeline, object);
	else if (is_of(object, "Task", json_object_get(meta, "annotations"), FC_FRAMEWORK_UID, framework->uid))
		take_task(timeline, object);
	else
		return;
	timeline->snapshot_count++;
}

static void take_log(struct timeline *timeline, const struct framework_view *framework, const char *log, size_t len)
{
	for (const char *end = log == NULL ? NULL : log + len, *line = log; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *stop = newline == NULL ? end : newline;

		take_line(timeline, framework, line, (size_t)(stop - line));
		line = stop + 1;
	}
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static int compare_bars(const void *a, const void *b)
{
	const struct bar *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

/* The time from `begin` to the first attempt that is known, if there were others before it. */
static void add_earlier(struct timeline_row *row, int64_t begin, bool had_others)
{
	struct bar bar = {.start = begin,
			  .end = row->bar_count == 0 ? 0 : row->bars[0].start,
			  .earlier = true,
			  .completed = true};

	if (!had_others || begin == 0 || bar.end <= begin)
		return;
	bar.run = bar.start;
	add_bar(row, &bar);
	qsort(row->bars, row->bar_count, sizeof(*row->bars), compare_bars);
}

static void read_status(struct timeline *timeline, const struct framework_view *framework)
{
	const struct framework_status *status = &framework->status;

	add_framework(new_row(timeline, NULL, 0), status, framework_view_state(framework));
	for (size_t i = 0; i < status->attempt.role_count; i++)
		for (size_t j = 0; j < status->attempt.roles[i].task_count; j++)
			add_task(new_row(timeline, status->attempt.roles[i].name, j), status->attempt.id,
				 &status->attempt.roles[i].tasks[j], true);
}

static void finish_rows(struct timeline *timeline, const struct framework_view *framework)
{
	for (size_t i = 0; i < timeline->row_count; i++) {
		struct timeline_row *row = &timeline->rows[i];
		const struct task_status *task = row->role == NULL ? NULL
								   : framework_view_task(framework, row->role,
											 (int64_t)row->index);

		if (row->bar_count > 0)
			qsort(row->bars, row->bar_count, sizeof(*row->bars), compare_bars);
		if (row->role == NULL)
			add_earlier(row, framework->status.start_time, framework->status.retry.total > 0);
		else if (task != NULL)
			add_earlier(row, task->start_time, task->retry.total > 0);
	}
}

static void add_marks(struct timeline *timeline, const struct event_views *events)
{
	for (size_t i = 0; events != NULL && i < events->count; i++) {
		const struct event_view *event = &events->list[i];

		if (strcmp(event->reason, "TaskRetried") != 0 && strcmp(event->reason, "FrameworkRetried") != 0)
			continue;
		timeline->marks = mem_realloc(timeline->marks, timeline->mark_count + 1, sizeof(*timeline->marks));
		timeline->marks[timeline->mark_count++] = (struct timeline_mark){.time = event->last_time,
										 .text = event->message};
	}
}

void timeline_build(const struct inquiry *inquiry, const char *log, size_t log_len, struct timeline *out)
{
	const struct framework_view *framework = inquiry->framework;

	*out = (struct timeline){
		.name = mem_strdup(framework->name), .from = framework->creation_time, .to = inquiry->now};
	if (!framework->begun)
		return;
	if (framework->status.start_time != 0)
		out->from = framework->status.start_time;
	if (framework->status.completion_time != 0)
		out->to = framework->status.completion_time;
	read_status(out, framework);
	take_log(out, framework, log, log_len);
	finish_rows(out, framework);
	add_marks(out, inquiry->events);
	if (out->to <= out->from)
		out->to = out->from + 1;
}

void timeline_free(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->row_count; i++) {
		free(timeline->rows[i].role);
		free(timeline->rows[i].bars);
		free(timeline->rows[i].result);
	}
	free(timeline->rows);
	free(timeline->marks);
	free(timeline->name);
	*timeline = (struct timeline){0};
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *time_json(int64_t time)
{
	char text[TIME_RFC3339_SIZE];

	return time == 0 ? json_null() : json_string(time_format_rfc3339(time, text));
}

static json_t *bar_json(const struct bar *bar)
{
	json_t *object = json_pack("{s:i, s:i, s:o, s:o, s:o}", "frameworkAttempt", (int)bar->framework_attempt,
				   "attempt", (int)bar->id, "start", time_json(bar->start), "run", time_json(bar->run),
				   "end", time_json(bar->end));

	if (bar->earlier)
		json_object_set_new(object, "earlier", json_true());
	else if (bar->completed)
		json_object_set_new(object, "code", json_integer(bar->code));
	return object;
}

json_t *timeline_json(const struct timeline *timeline)
{
	json_t *rows = json_array(), *marks = json_array();

	for (size_t i = 0; i < timeline->row_count; i++) {
		const struct timeline_row *row = &timeline->rows[i];
		json_t *bars = json_array(), *object = json_object();

		for (size_t j = 0; j < row->bar_count; j++)
			json_array_append_new(bars, bar_json(&row->bars[j]));
		if (row->role != NULL) {
			json_object_set_new(object, "taskRole", json_string(row->role));
			json_object_set_new(object, "index", json_integer((json_int_t)row->index));
		}
		json_object_set_new(object, "result", json_string(row->result));
		json_object_set_new(object, "attempts", bars);
		json_array_append_new(rows, object);
	}
	for (size_t i = 0; i < timeline->mark_count; i++)
		json_array_append_new(marks, json_pack("{s:o, s:s}", "time", time_json(timeline->marks[i].time), "text",
						       timeline->marks[i].text));
	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", timeline->name, "from", time_json(timeline->from), "to",
			 time_json(timeline->to), "rows", rows, "marks", marks);
}
