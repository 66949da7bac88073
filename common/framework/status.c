/* Creates, frees and writes status values; see status.h. Reading is in status_parse.c. */
#include "common/framework/status.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "common/framework/spec.h"

/* ---- completion ---- */

static unsigned traits_of(const json_t *attributes)
{
	unsigned traits = 0;
	size_t i;
	json_t *item;

	json_array_foreach(attributes, i, item) {
		const char *name = json_string_value(item);

		if (name == NULL)
			continue;
		if (strcmp(name, "Transient") == 0)
			traits |= TRAIT_TRANSIENT;
		else if (strcmp(name, "Conflict") == 0)
			traits |= TRAIT_CONFLICT;
		else if (strcmp(name, "Permanent") == 0)
			traits |= TRAIT_PERMANENT;
	}
	return traits;
}

struct completion *completion_new(int32_t code, bool succeeded, const char *phrase, json_t *attributes,
				  const char *diagnostics)
{
	struct completion *completion = mem_calloc(1, sizeof(*completion));

	completion->code = code;
	completion->succeeded = succeeded;
	completion->phrase = mem_strdup(phrase);
	completion->attributes = attributes == NULL ? json_null() : json_incref(attributes);
	completion->traits = traits_of(attributes);
	completion->diagnostics = mem_strdup(diagnostics);
	return completion;
}

struct completion *completion_predefined(int32_t code, const char *diagnostics)
{
	const struct completion_code *known = completion_code_find(code);

	return completion_new(code, code == CODE_SUCCEEDED, known->phrase, completion_code_attributes(code),
			      diagnostics);
}

void completion_free(struct completion *completion)
{
	if (completion == NULL)
		return;
	if (completion->trigger != NULL) {
		free(completion->trigger->message);
		free(completion->trigger->task_role_name);
		free(completion->trigger);
	}
	free(completion->phrase);
	json_decref(completion->attributes);
	free(completion->diagnostics);
	free(completion->pod);
	free(completion);
}

/* ---- freeing ---- */

void task_attempt_status_free(struct task_attempt_status *attempt)
{
	free(attempt->instance_uid);
	free(attempt->pod_uid);
	free(attempt->pod_node_name);
	free(attempt->pod_ip);
	free(attempt->pod_host_ip);
	completion_free(attempt->completion);
	*attempt = (struct task_attempt_status){0};
}

void task_status_free(struct task_status *task)
{
	free(task->instance_uid);
	task_attempt_status_free(&task->attempt);
	*task = (struct task_status){0};
}

void role_status_free(struct role_status *role)
{
	for (size_t i = 0; i < role->task_count; i++)
		task_status_free(&role->tasks[i]);
	free(role->tasks);
	free(role->name);
	free(role->instance_uid);
	*role = (struct role_status){0};
}

void framework_attempt_status_free(struct framework_attempt_status *attempt)
{
	for (size_t i = 0; i < attempt->role_count; i++)
		role_status_free(&attempt->roles[i]);
	free(attempt->roles);
	free(attempt->instance_uid);
	free(attempt->config_map_uid);
	completion_free(attempt->completion);
	*attempt = (struct framework_attempt_status){0};
}

void framework_status_free(struct framework_status *status)
{
	framework_attempt_status_free(&status->attempt);
	json_decref(status->admission);
	*status = (struct framework_status){0};
}

/* ---- writing ---- */

static void put_optional_int(struct buf *out, const char *name, int64_t value, int64_t null_value)
{
	if (value != null_value)
		buf_json_int(out, name, value);
	else
		buf_json_null(out, name);
}

static void put_completion(struct buf *out, const struct completion *completion)
{
	cleanup_free char *attributes = NULL;

	if (completion == NULL) {
		buf_json_null(out, "completionStatus");
		return;
	}
	attributes = json_text(completion->attributes);
	buf_json_open(out, "completionStatus", '{');
	buf_json_int(out, "code", completion->code);
	buf_json_text(out, "phrase", completion->phrase);
	buf_json_key(out, "type");
	buf_puts(out, completion->succeeded ? "{\"name\":\"Succeeded\"" : "{\"name\":\"Failed\"");
	buf_json_key(out, "attributes");
	buf_puts(out, attributes);
	buf_putc(out, '}');
	buf_json_text(out, "diagnostics", completion->diagnostics);
	if (completion->trigger != NULL) {
		buf_json_open(out, "trigger", '{');
		buf_json_text(out, "message", completion->trigger->message);
		buf_json_text(out, "taskRoleName", completion->trigger->task_role_name);
		buf_json_int(out, "taskIndex", completion->trigger->task_index);
		buf_putc(out, '}');
	}
	if (completion->pod != NULL) {
		buf_json_key(out, "pod");
		buf_puts(out, completion->pod);
	}
	buf_putc(out, '}');
}

static void put_retry(struct buf *out, const struct retry_status *retry)
{
	buf_json_open(out, "retryPolicyStatus", '{');
	buf_json_int(out, "totalRetriedCount", retry->total);
	buf_json_int(out, "accountableRetriedCount", retry->accountable);
	put_optional_int(out, "retryDelaySec", retry->delay_sec, DELAY_NULL);
	if (retry->backoff_count != 0)
		buf_json_int(out, "backoffCount", retry->backoff_count);
	buf_putc(out, '}');
}

void task_status_write(struct buf *out, const struct task_status *task, const char *framework_name,
		       const char *role_name, size_t index)
{
	buf_putc(out, '{');
	buf_json_int(out, "index", (int64_t)index);
	buf_json_text(out, "instanceUID", task->instance_uid);
	buf_json_time(out, "startTime", task->start_time);
	buf_json_time(out, "runTime", task->run_time);
	buf_json_time(out, "completionTime", task->completion_time);
	if (task->ready_time != 0)
		buf_json_time(out, "readyTime", task->ready_time);
	buf_json_text(out, "state", attempt_state_name(task->state));
	buf_json_time(out, "transitionTime", task->transition_time);
	buf_json_bool(out, "deletionPending", task->deletion_pending);
	put_retry(out, &task->retry);
	buf_json_open(out, "attemptStatus", '{');
	buf_json_int(out, "id", task->attempt.id);
	buf_json_time(out, "startTime", task->attempt.start_time);
	buf_json_time(out, "runTime", task->attempt.run_time);
	buf_json_time(out, "completionTime", task->attempt.completion_time);
	if (task->attempt.waiting_time != 0)
		buf_json_time(out, "waitingTime", task->attempt.waiting_time);
	buf_json_text(out, "instanceUID", task->attempt.instance_uid);
	buf_json_key(out, "podName");
	buf_putc(out, '"');
	buf_puts(out, framework_name);
	buf_putc(out, '-');
	buf_puts(out, role_name);
	buf_putc(out, '-');
	buf_put_int(out, (int64_t)index);
	buf_putc(out, '"');
	buf_json_text(out, "podUID", task->attempt.pod_uid);
	buf_json_text(out, "podNodeName", task->attempt.pod_node_name);
	buf_json_text(out, "podIP", task->attempt.pod_ip);
	buf_json_text(out, "podHostIP", task->attempt.pod_host_ip);
	put_completion(out, task->attempt.completion);
	buf_puts(out, "}}");
}

void role_statuses_write(struct buf *out, const struct framework_attempt_status *attempt, const char *framework_name)
{
	buf_putc(out, '[');
	for (size_t r = 0; r < attempt->role_count; r++) {
		const struct role_status *role = &attempt->roles[r];

		buf_json_next(out);
		buf_putc(out, '{');
		buf_json_text(out, "name", role->name);
		buf_json_text(out, "instanceUID", role->instance_uid);
		put_optional_int(out, "podGracefulDeletionTimeoutSec", role->pod_graceful_deletion_timeout_sec,
				 SECONDS_NULL);
		buf_json_open(out, "taskStatuses", '[');
		for (size_t i = 0; i < role->task_count; i++) {
			buf_json_next(out);
			task_status_write(out, &role->tasks[i], framework_name, role->name, i);
		}
		buf_puts(out, "]}");
	}
	buf_putc(out, ']');
}

const char *condition_type_name(enum condition_type type)
{
	static const char *const names[CONDITION_COUNT] = {"Running", "Completed", "Succeeded", "Suspended"};

	return names[type];
}

static void put_conditions(struct buf *out, const struct condition *conditions)
{
	static const char *const values[] = {"Unknown", "False", "True"};

	buf_json_open(out, "conditions", '[');
	for (size_t i = 0; i < CONDITION_COUNT; i++) {
		if (conditions[i].last_transition_time == 0)
			continue;
		buf_json_next(out);
		buf_putc(out, '{');
		buf_json_text(out, "type", condition_type_name((enum condition_type)i));
		buf_json_text(out, "status", values[conditions[i].value]);
		buf_json_time(out, "lastTransitionTime", conditions[i].last_transition_time);
		buf_json_text(out, "reason", conditions[i].reason);
		buf_json_text(out, "message", conditions[i].message);
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
}

size_t framework_status_write(struct buf *out, const struct framework_status *status, const char *framework_name,
			      const char *compressed)
{
	const struct framework_attempt_status *attempt = &status->attempt;
	size_t roles_at;

	buf_putc(out, '{');
	if (status->fenced)
		buf_json_bool(out, "fenced", true);
	buf_json_text_if_any(out, "writer", status->writer);
	buf_json_int(out, "observedGeneration", status->observed_generation);
	buf_json_time(out, "startTime", status->start_time);
	buf_json_time(out, "runTime", status->run_time);
	buf_json_time(out, "completionTime", status->completion_time);
	buf_json_text(out, "state", attempt_state_name(status->state));
	if (status->conditions[CONDITION_SUSPENDED].value == CONDITION_TRUE)
		buf_json_text(out, "displayState", "Suspended");
	buf_json_time(out, "transitionTime", status->transition_time);
	if (status->resume_time != 0)
		buf_json_time(out, "resumeTime", status->resume_time);
	if (status->admission != NULL) {
		cleanup_free char *admission = json_text(status->admission);

		buf_json_key(out, "admission");
		buf_puts(out, admission);
	}
	put_conditions(out, status->conditions);
	put_retry(out, &status->retry);
	buf_json_open(out, "attemptStatus", '{');
	buf_json_int(out, "id", attempt->id);
	buf_json_time(out, "startTime", attempt->start_time);
	buf_json_time(out, "runTime", attempt->run_time);
	buf_json_time(out, "completionTime", attempt->completion_time);
	buf_json_text(out, "instanceUID", attempt->instance_uid);
	buf_json_key(out, "configMapName");
	buf_printf(out, "\"%s-attempt\"", framework_name);
	buf_json_text(out, "configMapUID", attempt->config_map_uid);
	buf_json_text_if_any(out, "gangScheduler", gang_scheduler_name(attempt->gang));
	put_completion(out, attempt->completion);
	buf_json_key(out, "taskRoleStatuses");
	roles_at = out->len;
	if (compressed == NULL) {
		role_statuses_write(out, attempt, framework_name);
	} else {
		buf_puts(out, "null");
		buf_json_text(out, "taskRoleStatusesCompressed", compressed);
	}
	buf_puts(out, "}}");
	return roles_at;
}
