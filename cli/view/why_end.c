/* Why a Framework, or its last attempt, ended: the Task that decided, the entry that classified it, its last words, why
 * there is no retry, and what to do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/view/read.h"
#include "cli/view/why_note.h"
#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "common/framework/refusal.h"

enum { LAST_LINES = 12, LINE_SHOWN = 400 /* bytes of each */ };

/* The meaning of each predefined code, beyond its phrase, and advice (CONTRACT.md §7, README.md). */
static const struct {
	int32_t code;
	const char *meaning;
	const char *advice;
} meanings[] = {
	{CODE_CONTAINER_TRANSIENT_FAILED, "The container said by this exit code that another try helps.", NULL},
	{CODE_CONTAINER_TRANSIENT_CONFLICT_FAILED,
	 "The container said by this exit code that another try helps later, when others have freed resources.", NULL},
	{CODE_CONTAINER_PERMANENT_FAILED, "The container said by this exit code that another try has no point.",
	 "Read its last lines, correct the cause, and run it again."},
	{CODE_CONFIG_MAP_EXTERNAL_DELETED, "Somebody other than the controller deleted the attempt's ConfigMap.",
	 "See who deletes ConfigMaps in this namespace."},
	{CODE_POD_EXTERNAL_DELETED,
	 "Somebody other than the controller deleted the Pod: a person, a drained node, or an "
	 "eviction.",
	 "With fancyRetryPolicy such a failure is retried and not counted."},
	{CODE_CONFIG_MAP_LOCAL_CACHE_CREATION_TIMEOUT, "The ConfigMap was created, but no watch showed it in time.",
	 NULL},
	{CODE_POD_LOCAL_CACHE_CREATION_TIMEOUT, "The Pod was created, but no watch showed it in time.", NULL},
	{CODE_POD_CREATION_PERMANENT_ERROR, "The API server says that the Pod is invalid.",
	 "Correct the Pod template: the diagnostics name the field."},
	{CODE_STOP_FRAMEWORK_REQUESTED, "Somebody stopped the Framework.", NULL},
	{CODE_FRAMEWORK_ATTEMPT_COMPLETION, "The Task was ended because the Framework's attempt was over.", NULL},
	{CODE_DELETE_TASK_REQUESTED, "The Task was removed by a smaller taskNumber.", NULL},
	{CODE_SUSPEND_FRAMEWORK_REQUESTED, "Somebody suspended the Framework.", NULL},
	{CODE_ACTIVE_DEADLINE_EXCEEDED, "spec.activeDeadlineSec was over.",
	 "Allow more time with spec.activeDeadlineSec, or find out by kubectl framework timeline what took so long."},
	{CODE_POD_FAILED_WITHOUT_FAILED_CONTAINER, "The Pod failed as a whole, without a failed container.",
	 "The Pod's reason says why: mostly its node was full, lost or shut down."},
	{CODE_POD_CREATION_UNKNOWN_ERROR, "The API server refused the Pod.",
	 "The diagnostics have its message: mostly an admission rule of the cluster."},
	{CODE_POD_START_TIMEOUT, "task.pendingPolicy.startTimeoutSec was over before the Pod had started.",
	 "Check the image's name, the rights to pull it, and what the template mounts."},
	{CODE_POD_NEVER_STARTS, "The kubelet reported a reason that does not pass by itself.",
	 "Correct the image's name or its pull policy."},
	{CODE_POD_UNSCHEDULABLE_TIMEOUT, "task.pendingPolicy.unschedulableTimeoutSec was over before a node had room.",
	 "Make room, ask for less, or allow more time."},
};

/* ---- classification ---------------------------------------------------------------------------------------------- */

static const struct failure_entry *entry_of(const struct framework_view *framework, int32_t code, size_t *index)
{
	for (size_t i = 0; i < framework->spec.failures.count; i++)
		if (framework->spec.failures.entries[i].code == code) {
			*index = i;
			return &framework->spec.failures.entries[i];
		}
	return NULL;
}

static void describe_classification(const struct framework_view *framework, const struct completion *completion,
				    struct why *why)
{
	static const char source[] = "Classification";
	const char *diagnostics = completion->diagnostics == NULL ? "" : completion->diagnostics;
	size_t index;

	if (completion->succeeded)
		return;
	if (completion_code_find(completion->code) != NULL)
		why_fact(why, source, "code %d (%s) is predefined", (int)completion->code, completion->phrase);
	else if (strstr(diagnostics, "PodPattern matched: ") != NULL &&
		 entry_of(framework, completion->code, &index) != NULL)
		why_fact(why, source, "spec.podFailureSpec[%zu] of the Framework matched: code %d, %s", index,
			 (int)completion->code, completion->phrase);
	else if (strstr(diagnostics, "PodPattern matched: ") != NULL)
		why_fact(why, source,
			 "the entry with code %d (%s) of podFailureSpec in the controller's configuration matched",
			 (int)completion->code, completion->phrase);
	else
		why_fact(why, source, "no entry of podFailureSpec matched: the code is the container's exit code");
	if (completion->traits != 0)
		why_fact(why, "Type", "Failed%s%s%s", completion->traits & TRAIT_TRANSIENT ? ", Transient" : "",
			 completion->traits & TRAIT_CONFLICT ? ", Conflict" : "",
			 completion->traits & TRAIT_PERMANENT ? ", Permanent" : "");
}

/* ---- the Pod's details ------------------------------------------------------------------------------------------- */

/* The last lines of a text. */
static const char *last_lines(const char *text, size_t lines)
{
	const char *at = text + strlen(text);

	while (at > text && at[-1] == '\n')
		at--;
	for (; at > text; at--)
		if (at[-1] == '\n' && --lines == 0)
			return at;
	return text;
}

/* The last lines, each cut where it is too long, between characters. The caller frees. */
static char *last_words(const char *message)
{
	struct buf out = {0};

	buf_puts(&out, "");
	for (const char *line = last_lines(message, LAST_LINES); *line != '\0';) {
		size_t len = strcspn(line, "\n"), shown = len > LINE_SHOWN ? LINE_SHOWN : len;

		while (shown < len && shown > 0 && ((unsigned char)line[shown] & 0xC0) == 0x80)
			shown--;
		buf_append(&out, line, shown);
		buf_puts(&out, shown < len ? "…" : "");
		if (line[len] == '\n')
			buf_putc(&out, '\n');
		line += len + (line[len] == '\n');
	}
	return buf_steal(&out);
}

static void describe_container(const json_t *container, struct why *why)
{
	cleanup_free char *source = mem_printf("Container %s", view_text(container, "name"));
	int64_t code = json_int(container, "code", 0), signal = json_int(container, "signal", 0);
	const char *reason = view_text(container, "reason"), *message = view_text(container, "message");
	cleanup_free char *by = signal == 0 ? mem_strdup("") : mem_printf(" by signal %lld", (long long)signal);

	why_fact(why, source, "ended%s with exit code %lld%s%s", by, (long long)code,
		 *reason == '\0' ? "" : ", reason ", reason);
	if (*message != '\0') {
		cleanup_free char *words = last_words(message);

		why_fact(why, "Last words", "%s", words);
	}
}

static void describe_pod(const struct completion *completion, struct why *why)
{
	cleanup_json json_t *pod = NULL;
	const json_t *container;
	size_t i;

	if (completion->pod == NULL)
		return;
	pod = json_parse(completion->pod, strlen(completion->pod), NULL);
	if (*view_text(pod, "reason") != '\0' || *view_text(pod, "message") != '\0')
		why_fact(why, "Pod", "%s: %s", view_text(pod, "reason"), view_text(pod, "message"));
	json_array_foreach(json_object_get(pod, "containers"), i, container) {
		if (json_int(container, "code", 0) != 0 || json_array_size(json_object_get(pod, "containers")) == 1)
			describe_container(container, why);
	}
}

static void describe_diagnostics(const struct completion *completion, struct why *why)
{
	cleanup_free char *text = completion->diagnostics == NULL ? NULL : refusal_text(completion->diagnostics);

	if (text != NULL && *text != '\0')
		why_fact(why, "Diagnostics", "%s", text);
}

/* The code that describes the refusal best: the API server refuses a template with values of wrong types as a
 * BadRequest, and the controller gives other refusals the same code, -310. */
static int32_t meant_code(const struct completion *completion)
{
	return completion->code == CODE_POD_CREATION_UNKNOWN_ERROR && completion->diagnostics != NULL &&
			       refusal_is(completion->diagnostics, "BadRequest")
		       ? CODE_POD_CREATION_PERMANENT_ERROR
		       : completion->code;
}

/* Whether another attempt of the same spec would fail in the same way. */
static bool fails_again(const struct completion *completion)
{
	int32_t code = meant_code(completion);

	return code == CODE_POD_CREATION_PERMANENT_ERROR || code == CODE_POD_NEVER_STARTS ||
	       code == CODE_ACTIVE_DEADLINE_EXCEEDED;
}

static void say_meaning(const struct inquiry *inquiry, const struct completion *completion, struct why *why)
{
	const json_t *owner = view_controller(inquiry->framework->object);
	int32_t code = meant_code(completion);
	size_t i = 0;

	while (i < ARRAY_LEN(meanings) && meanings[i].code != code)
		i++;
	if (i == ARRAY_LEN(meanings))
		return;
	if (code == CODE_STOP_FRAMEWORK_REQUESTED && owner != NULL)
		why_say(why, "Either its %s %s ended it, or somebody stopped it: the status of the %s says more.",
			view_text(owner, "kind"), view_text(owner, "name"), view_text(owner, "kind"));
	else
		why_say(why, "%s", meanings[i].meaning);
	if (meanings[i].advice != NULL)
		why_advise(why, "%s", meanings[i].advice);
	if (fails_again(completion))
		why_edit(why, inquiry);
}

/* The latest Event TaskWaiting of the attempt (CONTRACT.md §6.12), if its Task never ran. */
static const struct event_view *waited_in_vain(const struct inquiry *inquiry, char role[64], long long *index)
{
	const struct framework_attempt_status *attempt = &inquiry->framework->status.attempt;
	const struct event_view *found = NULL;

	for (size_t i = 0; inquiry->events != NULL && i < inquiry->events->count; i++) {
		const struct event_view *event = &inquiry->events->list[i];
		const char *text = strstr(event->message, "Task "); /* (perhaps combined from similar events) */
		const struct task_status *task;
		char name[64];
		long long number;

		if (strcmp(event->reason, "TaskWaiting") != 0 || event->last_time < attempt->start_time ||
		    (found != NULL && event->last_time < found->last_time) || text == NULL ||
		    sscanf(text, "Task %63[^[][%lld] waits: ", name, &number) != 2)
			continue;
		task = framework_view_task(inquiry->framework, name, number);
		if (task == NULL || task->attempt.run_time != 0)
			continue;
		found = event;
		memcpy(role, name, sizeof(name));
		*index = number;
	}
	return found;
}

/* A container that gives up because others are missing: the barrier above all. Those that never ran are the cause. */
static void say_what_was_missing(const struct inquiry *inquiry, const struct completion *completion, struct why *why)
{
	char role[64];
	long long index;
	const struct event_view *event;

	if (completion->code != CODE_CONTAINER_TRANSIENT_CONFLICT_FAILED)
		return;
	event = waited_in_vain(inquiry, role, &index);
	if (event == NULL)
		return;
	why_say(why, "Task %s[%lld] never ran in this attempt, and others may have given up waiting for it: %s", role,
		index, strstr(event->message, "waits: ") + strlen("waits: "));
	why_fact_event(why, inquiry, event);
	why_advise(why,
		   "If this does not pass by itself, every attempt ends in the same way: make room, or correct the "
		   "template.");
	why_edit(why, inquiry);
}

void why_completion(const struct inquiry *inquiry, const struct completion *completion, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	const struct completion_trigger *trigger = completion->trigger;
	const struct completion *details = completion;

	if (trigger != NULL) {
		const struct task_status *task = framework_view_task(framework, trigger->task_role_name,
								     trigger->task_index);

		why_fact(why, "Trigger", "Task %s[%lld]: %s", trigger->task_role_name, (long long)trigger->task_index,
			 trigger->message);
		if (task != NULL && task->attempt.completion != NULL &&
		    task->attempt.completion->code == completion->code)
			details = task->attempt.completion;
		if (task != NULL && task->retry.total > 0)
			why_fact(why, "Retries", "Task %s[%lld] was retried %d time%s before", trigger->task_role_name,
				 (long long)trigger->task_index, (int)task->retry.total,
				 task->retry.total == 1 ? "" : "s");
	}
	describe_classification(framework, completion, why);
	describe_pod(details, why);
	if (details->pod == NULL)
		describe_diagnostics(completion, why);
	say_meaning(inquiry, completion, why);
	say_what_was_missing(inquiry, completion, why);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* The rules of CONTRACT.md §9, as a sentence. */
static void describe_no_retry(const struct framework_view *framework, const struct completion *completion,
			      struct why *why)
{
	const struct retry_policy *policy = &framework->spec.retry;
	const struct retry_status *retry = &framework->status.retry;

	if (completion->succeeded || completion->code == CODE_STOP_FRAMEWORK_REQUESTED ||
	    completion->code == CODE_ACTIVE_DEADLINE_EXCEEDED)
		return;
	if (policy->fancy && (completion->traits & TRAIT_PERMANENT))
		why_say(why, "It was not retried, because the failure is Permanent: it would fail again.");
	else if (retry->accountable >= policy->max_retry_count && policy->max_retry_count > 0)
		why_say(why, "It was not retried once more, because maxRetryCount is %d.",
			(int)policy->max_retry_count);
	else
		why_say(why, "It was not retried, because its retryPolicy allows no retry.");
}

/* The message of a trigger (CONTRACT.md §10.2, §10.3) in the words of the spec; the evidence has it as it is. */
static void say_trigger(const struct completion_trigger *trigger, struct why *why)
{
	const char *role = trigger->task_role_name;
	long long count, least;

	if (sscanf(trigger->message, "FailedTaskCount %lld has reached MinFailedTaskCount %lld", &count, &least) == 2)
		why_say(why, "%lld %s of TaskRole %s failed, and its minFailedTaskCount is %lld.", count,
			count == 1 ? "Task" : "Tasks", role, least);
	else if (sscanf(trigger->message, "SucceededTaskCount %lld has reached MinSucceededTaskCount %lld", &count,
			&least) == 2)
		why_say(why, "%lld %s of TaskRole %s succeeded, and its minSucceededTaskCount is %lld.", count,
			count == 1 ? "Task" : "Tasks", role, least);
	else if (sscanf(trigger->message, "CompletedTaskCount %lld has reached TotalTaskCount %lld", &count, &least) ==
		 2)
		why_say(why, "%s%lld %s Completed, and no frameworkAttemptCompletionPolicy decided before.",
			count == 1 ? "its " : "all of its ", count, count == 1 ? "Task is" : "Tasks are");
	else
		why_say(why, "%s.", trigger->message);
}

static void advise_again(struct why *why, const struct inquiry *inquiry)
{
	why_change(why, inquiry, "To run it again as a new Framework:", "framework retry", "");
}

/* The failed Task that ended first, of *role and *index; NULL: none failed. */
static const struct task_status *first_failed(const struct framework_view *framework, const char **role, size_t *index)
{
	const struct framework_attempt_status *attempt = &framework->status.attempt;
	const struct task_status *found = NULL;

	for (size_t i = 0; i < attempt->role_count; i++)
		for (size_t j = 0; j < attempt->roles[i].task_count; j++) {
			const struct task_status *task = &attempt->roles[i].tasks[j];

			if (!task_view_failed(task) ||
			    (found != NULL && found->completion_time <= task->completion_time))
				continue;
			found = task;
			*role = attempt->roles[i].name;
			*index = j;
		}
	return found;
}

/* Tasks may fail in a Framework that succeeds (CONTRACT.md §10.2). If no policy decided, nobody may have meant that. */
static void say_failed_tasks(const struct inquiry *inquiry, const struct completion *completion, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	const struct task_counts counts = framework_view_count(framework);
	const char *name = "";
	size_t index = 0;
	const struct task_status *task = first_failed(framework, &name, &index);
	int at = task == NULL || !framework->has_spec ? -1 : framework_spec_find_role(&framework->spec, name);
	int least = at < 0 ? 0 : (int)framework->spec.roles[at].min_failed_tasks;

	if (task == NULL)
		return;
	if (counts.total == 1)
		why_say(why, "This Task, %s[%zu], failed", name, index);
	else
		why_say(why, "%zu of its %zu Tasks failed, %s%s[%zu]", counts.failed, counts.total,
			counts.failed == 1 ? "" : "first ", name, index);
	why_say(why, "with code %d (%s).", (int)task->attempt.completion->code, task->attempt.completion->phrase);
	if (at < 0)
		return;
	if (least > 0)
		why_say(why, "The minFailedTaskCount of TaskRole %s is %d.", name, least);
	else
		why_say(why, "TaskRole %s has no minFailedTaskCount: its failed Tasks do not fail the Framework.",
			name);
	if (least > 0 || completion->trigger == NULL ||
	    strncmp(completion->trigger->message, "CompletedTaskCount ", strlen("CompletedTaskCount ")) != 0)
		return;
	why_advise(why,
		   "If one failed Task is to fail the Framework, set minFailedTaskCount: 1 in the "
		   "frameworkAttemptCompletionPolicy of TaskRole %s, and run it again.",
		   name);
	why_edit(why, inquiry);
	advise_again(why, inquiry);
}

bool why_ended(const struct inquiry *inquiry, struct why *why)
{
	const struct framework_view *framework = inquiry->framework;
	const struct framework_status *status = &framework->status;
	const struct completion *completion = status->attempt.completion;
	char age[WHY_AGE_SIZE];

	if (status->state != STATE_COMPLETED || completion == NULL)
		return false;
	why_age(inquiry, status->completion_time, age);
	if (completion->succeeded) {
		why->kind = "succeeded";
		why_brief(why, "succeeded");
		why_say(why, "Framework %s succeeded %s ago, in attempt %d:", framework->name, age,
			(int)status->attempt.id);
		if (completion->trigger != NULL)
			say_trigger(completion->trigger, why);
		else
			why_say(why, "%s.", completion->diagnostics);
		say_failed_tasks(inquiry, completion, why);
	} else if (completion->code == CODE_STOP_FRAMEWORK_REQUESTED) {
		why->kind = "stopped";
		why_brief(why, "stopped");
		why_say(why, "Framework %s was stopped %s ago.", framework->name, age);
	} else {
		why->kind = "failed";
		why_brief(why, "%d %s", (int)completion->code, completion->phrase);
		why_say(why, "Framework %s failed %s ago with code %d (%s)", framework->name, age,
			(int)completion->code, completion->phrase);
		if (completion->trigger != NULL) {
			why_say(why, "because of Task %s[%lld]:", completion->trigger->task_role_name,
				(long long)completion->trigger->task_index);
			say_trigger(completion->trigger, why);
		} else {
			why_say(why, "in attempt %d.", (int)status->attempt.id);
		}
	}
	why_completion(inquiry, completion, why);
	describe_no_retry(framework, completion, why);
	if (inquiry->events != NULL && status->retry.total > 0)
		why_fact_event(why, inquiry, event_views_latest(inquiry->events, "FrameworkRetried", 0, NULL));
	if (inquiry->events != NULL && !completion->succeeded)
		why_fact_event(why, inquiry, event_views_latest(inquiry->events, "FrameworkCompleted", 0, NULL));
	if (!completion->succeeded)
		advise_again(why, inquiry);
	return true;
}
