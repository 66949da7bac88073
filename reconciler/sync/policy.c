/* When a FrameworkAttempt is complete (CONTRACT.md §10); see rules.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "reconciler/sync/rules.h"

static struct completion *triggered(const struct framework *framework, struct completion *completion, char *message,
				    size_t role, size_t index)
{
	completion->trigger = mem_calloc(1, sizeof(*completion->trigger));
	completion->trigger->message = message;
	completion->trigger->task_role_name = mem_strdup(framework->status.attempt.roles[role].name);
	completion->trigger->task_index = (int64_t)index;
	return completion;
}

static struct completion *role_completion(const struct framework *framework, size_t role, size_t index, bool failed,
					  int32_t count, int32_t threshold)
{
	const struct completion *of_task = framework->status.attempt.roles[role].tasks[index].attempt.completion;
	struct completion *completion = completion_new(of_task->code, of_task->succeeded, of_task->phrase,
						       of_task->attributes, of_task->diagnostics);
	const char *word = failed ? "Failed" : "Succeeded";

	return triggered(framework, completion,
			 mem_printf("%sTaskCount %" PRId32 " has reached Min%sTaskCount %" PRId32 " in the TaskRole",
				    word, count, word, threshold),
			 role, index);
}

static struct completion *total_completion(const struct framework *framework, size_t role, size_t index, int64_t count)
{
	char *message = mem_printf(
		"CompletedTaskCount %" PRId64 " has reached TotalTaskCount %" PRId64
		" and no user specified conditions in FrameworkAttemptCompletionPolicy have ever been triggered",
		count, count);

	return triggered(framework, completion_predefined(CODE_SUCCEEDED, message), message, role, index);
}

/* Whether as many Tasks are Completed as the spec wants; *count is their number. Not all of them need be there: one
 * that was scaled down and up again is yet to be replaced. */
static bool all_completed(const struct framework *framework, int64_t *count)
{
	int64_t completed = 0;

	for (size_t r = 0; r < framework->status.attempt.role_count; r++) {
		if (framework->roles[r].completed < framework->roles[r].live)
			return false;
		completed += framework->roles[r].completed;
	}
	*count = completed;
	return completed > 0 && completed >= framework_spec_task_count(&framework->spec);
}

static bool reached(int32_t count, int32_t threshold)
{
	return threshold >= 1 && count >= threshold;
}

struct finished {
	int64_t time;
	size_t index;
};

static int compare_finished(const void *a, const void *b)
{
	const struct finished *left = a;
	const struct finished *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

/* The nth (from 1) Task of the role to have failed (or succeeded), by completionTime, ties by index. */
static struct finished nth_finished(const struct role_status *role, bool failed, int32_t nth)
{
	cleanup_free struct finished *list = mem_calloc(role->task_count, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < role->task_count; i++) {
		const struct task_status *task = &role->tasks[i];

		if (task->state == STATE_COMPLETED && !task->deletion_pending &&
		    task->attempt.completion->succeeded == !failed)
			list[count++] = (struct finished){task->completion_time, i};
	}
	qsort(list, count, sizeof(*list), compare_finished);
	return list[nth - 1];
}

struct completion *policy_test(const struct framework *framework)
{
	const struct framework_attempt_status *attempt = &framework->status.attempt;
	struct {
		bool found;
		bool failed;
		size_t role;
		int in_spec;
		struct finished at;
		int32_t count;
		int32_t threshold;
	} best = {0};
	int64_t total;

	for (size_t r = 0; r < attempt->role_count; r++) {
		const struct role_work *work = &framework->roles[r];
		const struct task_role_spec *spec;
		int in_spec;

		if (work->failed == 0 && work->succeeded == 0)
			continue;
		in_spec = framework_spec_find_role(&framework->spec, attempt->roles[r].name);
		if (in_spec < 0)
			continue;
		spec = &framework->spec.roles[in_spec];
		for (int failed = 1; failed >= 0; failed--) {
			int32_t count = failed ? work->failed : work->succeeded;
			int32_t threshold = failed ? spec->min_failed_tasks : spec->min_succeeded_tasks;
			struct finished at;

			if (!reached(count, threshold))
				continue;
			at = nth_finished(&attempt->roles[r], failed, threshold);
			if (best.found &&
			    (at.time > best.at.time || (at.time == best.at.time && in_spec >= best.in_spec)))
				continue;
			best.found = true;
			best.failed = failed;
			best.role = r;
			best.in_spec = in_spec;
			best.at = at;
			best.count = count;
			best.threshold = threshold;
		}
	}
	if (best.found)
		return role_completion(framework, best.role, best.at.index, best.failed, best.count, best.threshold);
	if (all_completed(framework, &total)) {
		size_t last_role = 0;
		struct finished last = {.time = INT64_MIN};

		for (size_t r = 0; r < attempt->role_count; r++) {
			for (size_t i = 0; i < attempt->roles[r].task_count; i++) {
				const struct task_status *task = &attempt->roles[r].tasks[i];

				if (!task->deletion_pending && task->completion_time >= last.time) {
					last = (struct finished){task->completion_time, i};
					last_role = r;
				}
			}
		}
		return total_completion(framework, last_role, last.index, total);
	}
	return NULL;
}

bool policy_end_decides(const struct framework *framework, size_t role, const struct task_status *task)
{
	const struct role_work *work = &framework->roles[role];
	const struct task_role_spec *spec;
	int in_spec;

	if (!task->attempt.completion->succeeded)
		return true;
	in_spec = framework_spec_find_role(&framework->spec, framework->status.attempt.roles[role].name);
	if (in_spec < 0)
		return false;
	spec = &framework->spec.roles[in_spec];
	return retry_decide(&spec->retry, &task->retry, task->attempt.completion).retry ||
	       reached(work->succeeded + work->ended, spec->min_succeeded_tasks);
}

struct completion *policy_test_task(const struct framework *framework, size_t role, size_t index)
{
	const struct role_status *status = &framework->status.attempt.roles[role];
	const struct task_status *task = &status->tasks[index];
	int in_spec = framework_spec_find_role(&framework->spec, status->name);
	int64_t total;

	if (task->deletion_pending || in_spec < 0)
		return NULL;
	if (!task->attempt.completion->succeeded &&
	    reached(framework->roles[role].failed, framework->spec.roles[in_spec].min_failed_tasks))
		return role_completion(framework, role, index, true, framework->roles[role].failed,
				       framework->spec.roles[in_spec].min_failed_tasks);
	if (task->attempt.completion->succeeded &&
	    reached(framework->roles[role].succeeded, framework->spec.roles[in_spec].min_succeeded_tasks))
		return role_completion(framework, role, index, false, framework->roles[role].succeeded,
				       framework->spec.roles[in_spec].min_succeeded_tasks);
	if (all_completed(framework, &total))
		return total_completion(framework, role, index, total);
	return NULL;
}
