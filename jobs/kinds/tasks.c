/* Counts of Tasks; see tasks.h. */
#include "jobs/kinds/tasks.h"

#include <string.h>

#include "common/framework/codes.h"

static const struct role_status *find_role(const struct framework_status *framework, const char *name)
{
	for (size_t i = 0; framework != NULL && i < framework->attempt.role_count; i++)
		if (strcmp(framework->attempt.roles[i].name, name) == 0)
			return &framework->attempt.roles[i];
	return NULL;
}

/* Its Pod was ended from outside: this says nothing about the program in it. */
static bool was_stopped(const struct completion *completion)
{
	return completion->code == CODE_FRAMEWORK_ATTEMPT_COMPLETION ||
	       completion->code == CODE_STOP_FRAMEWORK_REQUESTED || completion->code == CODE_DELETE_TASK_REQUESTED ||
	       completion->code == CODE_SUSPEND_FRAMEWORK_REQUESTED;
}

static void count(const struct task_status *task, struct task_counts *out)
{
	const struct completion *completion = task->attempt.completion;

	if (completion == NULL) {
		if (task->state == STATE_RUNNING)
			out->active++;
		else if (task->state == STATE_PREPARING)
			out->pending++;
		if (task->retry.total > 0 && task->state != STATE_RUNNING)
			out->restarting++;
	} else if (was_stopped(completion)) {
		if (task->attempt.run_time != 0)
			out->stopped++;
	} else if (completion->succeeded) {
		out->succeeded++;
	} else {
		out->failed++;
		if (task->state != STATE_COMPLETED)
			out->restarting++;
	}
}

void tasks_count(const struct framework_status *framework, const char *role, struct task_counts *out)
{
	const struct role_status *found = find_role(framework, role);

	*out = (struct task_counts){0};
	for (size_t i = 0; found != NULL && i < found->task_count; i++)
		if (!found->tasks[i].deletion_pending)
			count(&found->tasks[i], out);
}

int64_t tasks_retried(const struct framework_status *framework)
{
	int64_t sum = 0;

	for (size_t r = 0; framework != NULL && r < framework->attempt.role_count; r++)
		for (size_t t = 0; t < framework->attempt.roles[r].task_count; t++)
			sum += framework->attempt.roles[r].tasks[t].retry.total;
	return sum;
}

bool tasks_first_succeeded(const struct framework_status *framework, const char *role)
{
	const struct role_status *found = find_role(framework, role);

	return found != NULL && found->task_count > 0 && found->tasks[0].state == STATE_COMPLETED &&
	       found->tasks[0].attempt.completion != NULL && found->tasks[0].attempt.completion->succeeded;
}

enum tasks_end tasks_end(const struct framework_status *framework)
{
	if (framework == NULL || framework->attempt.completion == NULL ||
	    framework->attempt.completion->code == CODE_SUSPEND_FRAMEWORK_REQUESTED)
		return TASKS_GO_ON;
	return framework->attempt.completion->succeeded ? TASKS_SUCCEEDED : TASKS_FAILED;
}
