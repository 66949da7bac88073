/* Loading examples and keeping track of them; see example.h. */
#include "tests/cluster/demo/example.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/status.h"
#include "tests/cluster/demo/documents.h"

/* A file without any, of CRDs for example, says nothing of how it ends. */
static bool has_framework(const json_t *objects)
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object) {
		cleanup_free char *framework = document_framework(object);

		if (framework != NULL)
			return true;
	}
	return false;
}

int examples_add_file(struct examples *examples, const char *path, struct error *err)
{
	size_t len, i;
	cleanup_free char *text = documents_read(path, &len, err);
	cleanup_free char *title = NULL;
	cleanup_json json_t *objects = NULL;
	struct expectation expectation;
	json_t *object;

	if (text == NULL || documents_parse(path, text, len, &objects, err) != 0 ||
	    (has_framework(objects) && expectation_parse(path, text, &expectation, err) != 0))
		return -1;
	title = example_title(text);
	if (examples->objects == NULL)
		examples->objects = json_array();
	json_array_extend(examples->objects, objects);
	json_array_foreach(objects, i, object) {
		char *framework = document_framework(object);

		if (framework == NULL)
			continue;
		examples->list = mem_realloc(examples->list, examples->count + 1, sizeof(examples->list[0]));
		examples->list[examples->count++] = (struct example){
			.ns = mem_strdup(document_namespace(object)),
			.name = framework,
			.title = mem_strdup(title),
			.expectation = expectation,
		};
	}
	return 0;
}

void examples_free(struct examples *examples)
{
	for (size_t i = 0; i < examples->count; i++) {
		free(examples->list[i].ns);
		free(examples->list[i].name);
		free(examples->list[i].title);
	}
	free(examples->list);
	json_decref(examples->objects);
	*examples = (struct examples){0};
}

static struct example *find(const struct examples *examples, const json_t *framework)
{
	const json_t *meta = json_object_get(framework, "metadata");
	const char *ns = json_str(meta, "namespace"), *name = json_str(meta, "name");

	for (size_t i = 0; ns != NULL && name != NULL && i < examples->count; i++)
		if (strcmp(examples->list[i].ns, ns) == 0 && strcmp(examples->list[i].name, name) == 0)
			return &examples->list[i];
	return NULL;
}

/* The name of a Pod that people can look at (CONTRACT.md §4). */
static void note_running_pod(struct example *example, const json_t *framework)
{
	const json_t *roles = json_path(framework, "status", "attemptStatus", "taskRoleStatuses", NULL);
	const json_t *task;
	json_t *role;
	size_t i, j;

	example->pod_name[0] = '\0';
	json_array_foreach(roles, i, role) {
		json_array_foreach(json_object_get(role, "taskStatuses"), j, task) {
			const char *state = json_str(task, "state");
			const char *name = json_str(json_object_get(task, "attemptStatus"), "podName");

			if (state != NULL && name != NULL && strcmp(state, attempt_state_name(STATE_RUNNING)) == 0)
				snprintf(example->pod_name, sizeof(example->pod_name), "%s", name);
		}
	}
}

struct example *examples_take(struct examples *examples, const json_t *framework, int64_t now_ms, struct error *err)
{
	struct example *example = find(examples, framework);
	struct sight sight;

	if (example == NULL)
		return NULL;
	if (sight_read(framework, &sight, err) != 0) {
		error_wrap(err, "Framework %s/%s", example->ns, example->name);
		return NULL;
	}
	example->sight = sight;
	example->verdict = expectation_judge(&example->expectation, &sight);
	if (example->verdict == VERDICT_AWAITED)
		example->ended_ms = 0;
	else if (example->ended_ms == 0)
		example->ended_ms = now_ms;
	note_running_pod(example, framework);
	return example;
}

size_t examples_count(const struct examples *examples, enum verdict verdict)
{
	size_t count = 0;

	for (size_t i = 0; i < examples->count; i++)
		count += examples->list[i].verdict == verdict ? 1 : 0;
	return count;
}

/* "Completed 210, 0 retries", "AttemptRunning (2 Running, 1 Preparing)". */
static void write_where(struct buf *out, const struct sight *sight)
{
	char tasks[CELL_SIZE];

	if (!sight->begun) {
		buf_puts(out, sight->seen ? "not begun" : "not seen");
		return;
	}
	tasks_write(tasks, sight);
	buf_puts(out, sight_state_name(sight));
	if (sight->has_code)
		buf_printf(out, " %d", sight->code);
	if (sight->retries > 0)
		buf_printf(out, ", %d %s", sight->retries, sight->retries == 1 ? "retry" : "retries");
	if (sight->task_retries > 0)
		buf_printf(out, ", %lld Task %s", (long long)sight->task_retries,
			   sight->task_retries == 1 ? "retry" : "retries");
	if (sight->state != STATE_COMPLETED && tasks[0] != '\0')
		buf_printf(out, " (%s)", tasks);
}

char *example_summary(const struct example *example, size_t name_width, size_t width)
{
	static const char *const words[] = {
		[VERDICT_AWAITED] = "late", [VERDICT_AS_EXPECTED] = "ok", [VERDICT_OTHERWISE] = "WRONG"};
	struct buf line = {0};

	buf_printf(&line, "  %-5s  %-*s  ", words[example->verdict], (int)name_width, example->name);
	if (example->verdict == VERDICT_AS_EXPECTED) {
		cleanup_buf struct buf found = {0};

		write_where(&found, &example->sight);
		buf_printf(&line, "%-26s  %s", found.data, example->title);
	} else {
		buf_puts(&line, "expected ");
		expectation_write(&line, &example->expectation);
		buf_puts(&line, "; found ");
		write_where(&line, &example->sight);
	}
	/* What went wrong is shown whole. */
	if (example->verdict == VERDICT_AS_EXPECTED && width > 0 && line.len > width)
		line.len = width;
	while (line.data[line.len - 1] == ' ')
		line.len--;
	line.data[line.len] = '\0';
	buf_putc(&line, '\n');
	return buf_steal(&line);
}
