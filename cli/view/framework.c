/* See framework.h. */
#include "cli/view/framework.h"

#include <stdlib.h>
#include <string.h>

#include "cli/view/read.h"
#include "common/base/mem.h"
#include "common/config/failure.h"
#include "common/framework/codes.h"

enum { RANGES_MAX = 12 };

static void note_problem(struct framework_view *view, const struct error *err)
{
	if (view->problem == NULL)
		view->problem = mem_strdup(err->message);
}

static void read_spec(struct framework_view *view)
{
	const json_t *spec = json_object_get(view->object, "spec");
	struct error err;

	if (framework_spec_parse(spec, &view->spec, &err) < 0) {
		note_problem(view, &err);
		return;
	}
	view->has_spec = true;
	if (failure_spec_parse(json_object_get(spec, "podFailureSpec"), "spec.podFailureSpec", &view->spec.failures,
			       &err) < 0 ||
	    framework_spec_check_names(&view->spec, view->name, &err) < 0)
		note_problem(view, &err);
}

static void read_status(struct framework_view *view)
{
	const json_t *status = json_object_get(view->object, "status");
	struct error err;

	if (!framework_status_present(status))
		return;
	if (framework_status_parse(status, &view->status, &err) < 0)
		note_problem(view, &err);
	else
		view->begun = true;
}

bool spec_malformed(const json_t *spec, const char *name, struct error *err)
{
	struct framework_spec read;
	bool malformed;

	if (framework_spec_parse(spec, &read, err) < 0)
		return true;
	malformed = framework_spec_check_names(&read, name, err) < 0;
	framework_spec_free(&read);
	return malformed;
}

int framework_view_read(json_t *object, struct framework_view *out, struct error *err)
{
	const json_t *meta = json_object_get(object, "metadata");
	const json_t *spec = json_object_get(object, "spec");

	*out = (struct framework_view){
		.object = json_incref(object),
		.ns = view_text(meta, "namespace"),
		.name = view_text(meta, "name"),
		.uid = view_text(meta, "uid"),
		.generation = json_int(meta, "generation", 0),
		.creation_time = json_time(meta, "creationTimestamp"),
		.deletion_time = json_time(meta, "deletionTimestamp"),
	};
	if (*out->name == '\0')
		return error_set(err, "found a Framework without metadata.name");
	if (framework_spec_managed_by_others(spec)) {
		out->managed_by = view_text(spec, "managedBy");
		return 0;
	}
	read_spec(out);
	read_status(out);
	return 0;
}

void framework_view_free(struct framework_view *view)
{
	if (view->has_spec)
		framework_spec_free(&view->spec);
	if (view->begun)
		framework_status_free(&view->status);
	free(view->problem);
	json_decref(view->object);
	*view = (struct framework_view){0};
}

const char *framework_view_state(const struct framework_view *view)
{
	const json_t *status = json_object_get(view->object, "status");
	const char *state = json_str(status, "displayState");

	if (state == NULL)
		state = json_str(status, "state");
	return state == NULL ? "" : state;
}

const char *state_brief(const char *state)
{
	static const char common[] = "Attempt";

	/* (Completed is another state than AttemptCompleted) */
	if (strncmp(state, common, sizeof(common) - 1) != 0 ||
	    strcmp(state, attempt_state_name(STATE_ATTEMPT_COMPLETED)) == 0)
		return state;
	return state + sizeof(common) - 1;
}

bool task_view_failed(const struct task_status *task)
{
	const struct completion *completion = task->attempt.completion;

	return !task->deletion_pending && task->state == STATE_COMPLETED && completion != NULL &&
	       !completion->succeeded && completion->code != CODE_FRAMEWORK_ATTEMPT_COMPLETION;
}

static void count_task(const struct task_status *task, struct task_counts *counts)
{
	if (task->deletion_pending)
		return;
	counts->total++;
	if (task->attempt.pod_ip != NULL && *task->attempt.pod_ip != '\0' && task->attempt.completion == NULL)
		counts->ready++;
	if (task->state == STATE_RUNNING)
		counts->running++;
	if (task->state == STATE_COMPLETED && task->attempt.completion != NULL && task->attempt.completion->succeeded)
		counts->succeeded++;
	if (task_view_failed(task))
		counts->failed++;
}

struct task_counts framework_view_count(const struct framework_view *view)
{
	struct task_counts counts = {0};

	if (!view->begun)
		counts.total = view->has_spec ? (size_t)framework_spec_task_count(&view->spec) : 0;
	for (size_t i = 0; view->begun && i < view->status.attempt.role_count; i++)
		for (size_t j = 0; j < view->status.attempt.roles[i].task_count; j++)
			count_task(&view->status.attempt.roles[i].tasks[j], &counts);
	return counts;
}

const struct task_status *framework_view_task(const struct framework_view *view, const char *role, int64_t index)
{
	for (size_t i = 0; view->begun && i < view->status.attempt.role_count; i++) {
		const struct role_status *status = &view->status.attempt.roles[i];

		if (strcmp(status->name, role) == 0)
			return index >= 0 && (uint64_t)index < status->task_count ? &status->tasks[index] : NULL;
	}
	return NULL;
}

const char *task_word(size_t count)
{
	return count == 1 ? "Task" : "Tasks";
}

static void put_range(struct buf *out, size_t first, size_t last, bool more)
{
	if (more)
		buf_putc(out, ',');
	if (first == last)
		buf_printf(out, "%zu", first);
	else
		buf_printf(out, "%zu%s%zu", first, last == first + 1 ? "," : "..", last);
}

static void close_range(struct index_list *list)
{
	if (list->ranges < RANGES_MAX)
		put_range(&list->text, list->first, list->last, list->ranges > 0);
	else if (list->ranges == RANGES_MAX)
		buf_puts(&list->text, ",...");
	list->ranges++;
}

void index_list_add(struct index_list *list, size_t index)
{
	if (list->count > 0 && index != list->last + 1) {
		close_range(list);
		list->first = index;
	}
	if (list->count == 0)
		list->first = index;
	list->last = index;
	list->count++;
}

const char *index_list_text(struct index_list *list)
{
	if (list->count > 0)
		close_range(list);
	list->count = 0;
	return list->text.data == NULL ? "" : list->text.data;
}

void index_list_free(struct index_list *list)
{
	buf_free(&list->text);
}

int64_t framework_view_changed(const struct framework_view *view)
{
	const struct framework_attempt_status *attempt = &view->status.attempt;
	int64_t latest = view->begun ? view->status.transition_time : 0;

	for (size_t i = 0; view->begun && i < attempt->role_count; i++)
		for (size_t j = 0; j < attempt->roles[i].task_count; j++)
			if (attempt->roles[i].tasks[j].transition_time > latest)
				latest = attempt->roles[i].tasks[j].transition_time;
	return latest;
}

int framework_without_role(const json_t *framework, const char *role, struct error *err)
{
	enum { NAMED = 8 };
	const json_t *roles = json_path(framework, "spec", "taskRoles", NULL), *item;
	cleanup_buf struct buf names = {0};
	size_t i;

	json_array_foreach(roles, i, item) {
		if (i == NAMED)
			buf_puts(&names, ", …");
		if (i < NAMED)
			buf_printf(&names, "%s%.63s", i > 0 ? ", " : ", expected one of: ", view_text(item, "name"));
	}
	return error_set(err, "Framework %s has no TaskRole %s%s",
			 view_text(json_object_get(framework, "metadata"), "name"), role,
			 names.data == NULL ? "" : names.data);
}
