/* Reading a status that this or the original controller wrote (CONTRACT.md §3, §13); see status.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/json_field.h"
#include "common/base/mem.h"
#include "common/framework/spec.h"
#include "common/framework/status.h"

/* The instanceUID of a TaskRole or Task. The first versions of the original controller wrote none: "", as it reads them
 * later, and as their Pods say. */
static int read_identity(const struct json_field *object, char **out, struct error *err)
{
	if (json_field_text(object, "instanceUID", out, err) < 0)
		return -1;
	if (*out == NULL)
		*out = mem_strdup("");
	return 0;
}

static int read_state(const struct json_field *object, enum attempt_state *out, struct error *err)
{
	if (attempt_state_parse(json_str(object->value, "state"), out) < 0)
		return json_field_wrong(object, "state", "the name of a state", err);
	return 0;
}

/* Counts can still grow by one, delays be added to a time in milliseconds. */
enum { RETRIES_MAX = INT32_MAX - 1 };
#define RETRY_DELAY_MAX_SEC INT64_C(1000000000000)

static int read_retry(const struct json_field *object, struct retry_status *out, struct error *err)
{
	struct json_field retry;

	*out = (struct retry_status){.delay_sec = DELAY_NULL};
	if (json_field_object(object, "retryPolicyStatus", &retry, err) < 0 ||
	    json_field_int32(&retry, "totalRetriedCount", 0, RETRIES_MAX, &out->total, err) < 0 ||
	    json_field_int32(&retry, "accountableRetriedCount", 0, RETRIES_MAX, &out->accountable, err) < 0)
		return -1;
	if (json_field_int32(&retry, "backoffCount", 0, RETRIES_MAX, &out->backoff_count, err) < 0)
		return -1;
	return json_field_int(&retry, "retryDelaySec", 0, RETRY_DELAY_MAX_SEC, &out->delay_sec, err);
}

static int read_trigger(const struct json_field *object, struct completion *out, struct error *err)
{
	struct json_field trigger;

	if (json_field_object(object, "trigger", &trigger, err) < 0)
		return -1;
	if (trigger.value == NULL)
		return 0;
	out->trigger = mem_calloc(1, sizeof(*out->trigger));
	out->trigger->message = mem_strdup("");
	out->trigger->task_role_name = mem_strdup("");
	if (json_field_text(&trigger, "message", &out->trigger->message, err) < 0 ||
	    json_field_text(&trigger, "taskRoleName", &out->trigger->task_role_name, err) < 0)
		return -1;
	return json_field_int(&trigger, "taskIndex", INT64_MIN, INT64_MAX, &out->trigger->task_index, err);
}

/* state: of the Framework or Task that the attempt belongs to. An attempt on its way out, or over, has a reason. What
 * its texts lack is "", as the original controller reads it. */
static int read_completion(const struct json_field *attempt, enum attempt_state state, struct completion **out,
			   struct error *err)
{
	struct json_field status;
	struct json_field type;
	struct json_field pod;
	const char *type_name;
	int32_t code = 0;

	if (json_field_object(attempt, "completionStatus", &status, err) < 0)
		return -1;
	if (status.value == NULL && state >= STATE_DELETION_PENDING)
		return json_field_wrong(attempt, "completionStatus", "an object in this state", err);
	if (status.value == NULL)
		return 0;
	if (json_field_int32(&status, "code", INT32_MIN, INT32_MAX, &code, err) < 0 ||
	    json_field_object(&status, "type", &type, err) < 0 || json_field_object(&status, "pod", &pod, err) < 0)
		return -1;
	type_name = json_str(type.value, "name");
	*out = completion_new(code, type_name != NULL && strcmp(type_name, "Succeeded") == 0, "",
			      json_object_get(type.value, "attributes"), "");
	if (pod.value != NULL)
		(*out)->pod = json_text(pod.value);
	if (json_field_text(&status, "phrase", &(*out)->phrase, err) < 0 ||
	    json_field_text(&status, "diagnostics", &(*out)->diagnostics, err) < 0)
		return -1;
	return read_trigger(&status, *out, err);
}

/* The members that attempts have at both levels. */
static int read_attempt_times(const struct json_field *attempt, int32_t *id, int64_t *start_time, int64_t *run_time,
			      int64_t *completion_time, struct error *err)
{
	if (json_field_int32(attempt, "id", INT32_MIN, INT32_MAX, id, err) < 0 ||
	    json_field_time(attempt, "startTime", start_time, err) < 0 ||
	    json_field_time(attempt, "runTime", run_time, err) < 0)
		return -1;
	return json_field_time(attempt, "completionTime", completion_time, err);
}

/* An attempt that is still to be created has no object. Somebody may have set back the state alone: the object that the
 * UID names would neither be adopted nor leave room for another one. */
static void forget_object(char **instance_uid, char **uid)
{
	mem_replace(instance_uid, NULL);
	mem_replace(uid, NULL);
}

static int read_task_attempt(const struct json_field *task, enum attempt_state state, struct task_attempt_status *out,
			     struct error *err)
{
	struct json_field attempt;

	if (json_field_object(task, "attemptStatus", &attempt, err) < 0 ||
	    read_attempt_times(&attempt, &out->id, &out->start_time, &out->run_time, &out->completion_time, err) < 0 ||
	    json_field_text(&attempt, "instanceUID", &out->instance_uid, err) < 0 ||
	    json_field_time(&attempt, "waitingTime", &out->waiting_time, err) < 0 ||
	    json_field_text(&attempt, "podUID", &out->pod_uid, err) < 0 ||
	    json_field_text(&attempt, "podNodeName", &out->pod_node_name, err) < 0 ||
	    json_field_text(&attempt, "podIP", &out->pod_ip, err) < 0 ||
	    json_field_text(&attempt, "podHostIP", &out->pod_host_ip, err) < 0 ||
	    read_completion(&attempt, state, &out->completion, err) < 0)
		return -1;
	if (state == STATE_CREATION_PENDING)
		forget_object(&out->instance_uid, &out->pod_uid);
	return 0;
}

static int read_task(const struct json_field *task, struct task_status *out, struct error *err)
{
	int64_t found = -1;

	if (!json_is_object(task->value))
		return json_field_wrong(task, NULL, "an object", err);
	if (json_field_int(task, "index", 0, INT32_MAX, &found, err) < 0)
		return -1;
	if (found != (int64_t)task->index)
		return json_field_wrong(task, "index", "its position in the list", err);
	out->deletion_pending = json_bool(task->value, "deletionPending", false);
	if (read_identity(task, &out->instance_uid, err) < 0 ||
	    json_field_time(task, "startTime", &out->start_time, err) < 0 ||
	    json_field_time(task, "runTime", &out->run_time, err) < 0 ||
	    json_field_time(task, "completionTime", &out->completion_time, err) < 0 ||
	    json_field_time(task, "readyTime", &out->ready_time, err) < 0 ||
	    json_field_time(task, "transitionTime", &out->transition_time, err) < 0 ||
	    read_state(task, &out->state, err) < 0 || read_retry(task, &out->retry, err) < 0)
		return -1;
	return read_task_attempt(task, out->state, &out->attempt, err);
}

static int read_role(const struct json_field *role, struct role_status *out, struct error *err)
{
	const char *name = json_str(role->value, "name");
	struct json_field tasks;

	out->pod_graceful_deletion_timeout_sec = SECONDS_NULL;
	if (name == NULL || !framework_name_valid(name))
		return json_field_wrong(role, "name", "a name like ^[a-z0-9]{1,63}$", err);
	out->name = mem_strdup(name);
	if (json_field_list(role, "taskStatuses", &tasks, err) < 0 ||
	    read_identity(role, &out->instance_uid, err) < 0 ||
	    json_field_int(role, "podGracefulDeletionTimeoutSec", INT64_MIN + 1, INT64_MAX,
			   &out->pod_graceful_deletion_timeout_sec, err) < 0)
		return -1;
	out->task_cap = json_array_size(tasks.value);
	out->tasks = mem_calloc(out->task_cap, sizeof(*out->tasks));
	for (size_t i = 0; i < out->task_cap; i++) {
		struct json_field task = json_field_item(&tasks, i);

		out->task_count = i + 1;
		if (read_task(&task, &out->tasks[i], err) < 0)
			return -1;
	}
	return 0;
}

static int read_roles(const struct json_field *roles, struct framework_attempt_status *out, struct error *err)
{
	size_t count = json_array_size(roles->value);

	out->roles = mem_calloc(count, sizeof(*out->roles));
	for (size_t i = 0; i < count; i++) {
		struct json_field role = json_field_item(roles, i);

		out->role_count = i + 1;
		if (read_role(&role, &out->roles[i], err) < 0)
			return -1;
	}
	return 0;
}

static int read_compressed_roles(const struct json_field *attempt, struct framework_attempt_status *out,
				 struct error *err)
{
	struct json_field field = {.outer = attempt, .name = "taskRoleStatuses"};
	const json_t *compressed = json_object_get(attempt->value, "taskRoleStatusesCompressed");
	cleanup_buf struct buf text = {0};
	cleanup_json json_t *roles = NULL;
	struct error cause;

	if (!json_is_string(compressed))
		return json_field_wrong(attempt, "taskRoleStatusesCompressed", "base64 text", err);
	if (text_decompress(json_string_value(compressed), json_string_length(compressed), &text, &cause) < 0)
		return error_set(err, "status.attemptStatus.taskRoleStatusesCompressed is %s", cause.message);
	roles = json_parse(text.data, text.len, &cause);
	if (roles == NULL)
		return error_set(err, "status.attemptStatus.taskRoleStatusesCompressed: %s", cause.message);
	field.value = roles;
	if (!json_is_null(roles) && !json_is_array(roles))
		return json_field_wrong(&field, NULL, "a list", err);
	return read_roles(&field, out, err);
}

static int read_gang(const struct json_field *attempt, enum gang_scheduler *out, struct error *err)
{
	const json_t *value = json_object_get(attempt->value, "gangScheduler");

	if (json_absent(value))
		return 0;
	if (json_is_string(value))
		*out = gang_scheduler_parse(json_string_value(value));
	return *out != GANG_NONE ? 0 : json_field_wrong(attempt, "gangScheduler", "the name of a scheduler", err);
}

static int read_attempt(const struct json_field *status, enum attempt_state state, struct framework_attempt_status *out,
			struct error *err)
{
	struct json_field attempt;
	struct json_field roles;

	if (json_field_object(status, "attemptStatus", &attempt, err) < 0 ||
	    read_attempt_times(&attempt, &out->id, &out->start_time, &out->run_time, &out->completion_time, err) < 0 ||
	    json_field_text(&attempt, "instanceUID", &out->instance_uid, err) < 0 ||
	    json_field_text(&attempt, "configMapUID", &out->config_map_uid, err) < 0 ||
	    read_gang(&attempt, &out->gang, err) < 0 || read_completion(&attempt, state, &out->completion, err) < 0)
		return -1;
	if (out->config_map_uid != NULL && out->instance_uid == NULL)
		return json_field_wrong(&attempt, "instanceUID", "a string", err);
	if (state == STATE_CREATION_PENDING)
		forget_object(&out->instance_uid, &out->config_map_uid);
	if (json_field_list(&attempt, "taskRoleStatuses", &roles, err) < 0)
		return -1;
	if (roles.value == NULL && !json_absent(json_object_get(attempt.value, "taskRoleStatusesCompressed")))
		return read_compressed_roles(&attempt, out, err);
	return read_roles(&roles, out, err);
}

static void copy_short(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text == NULL ? "" : text);
}

static void read_conditions(const json_t *status, struct condition *out)
{
	size_t i;
	json_t *item;

	/* Ours alone and made anew from the state: what does not read is simply made again. */
	json_array_foreach(json_object_get(status, "conditions"), i, item) {
		const char *type = json_str(item, "type");
		const char *value = json_str(item, "status");

		for (size_t c = 0; type != NULL && value != NULL && c < CONDITION_COUNT; c++) {
			if (strcmp(type, condition_type_name((enum condition_type)c)) != 0)
				continue;
			out[c].value = strcmp(value, "True") == 0    ? CONDITION_TRUE
				       : strcmp(value, "False") == 0 ? CONDITION_FALSE
								     : CONDITION_UNKNOWN;
			out[c].last_transition_time = json_time(item, "lastTransitionTime");
			copy_short(out[c].reason, sizeof(out[c].reason), json_str(item, "reason"));
			copy_short(out[c].message, sizeof(out[c].message), json_str(item, "message"));
		}
	}
}

static int read_admission(const struct json_field *status, json_t **out, struct error *err)
{
	struct json_field admission;

	if (json_field_object(status, "admission", &admission, err) < 0)
		return -1;
	if (admission.value == NULL)
		return 0;
	if (json_str(admission.value, "workloadUID") == NULL)
		return json_field_wrong(&admission, "workloadUID", "a string", err);
	*out = json_incref((json_t *)(uintptr_t)admission.value);
	return 0;
}

bool framework_status_present(const json_t *status)
{
	const json_t *state = json_object_get(status, "state");

	return !json_absent(state) && (!json_is_string(state) || json_string_length(state) > 0);
}

void framework_status_writer(const json_t *status, char out[STATUS_WRITER_SIZE])
{
	const char *writer = json_string_value(json_object_get(status, "writer"));

	out[0] = '\0';
	if (writer != NULL && strlen(writer) < STATUS_WRITER_SIZE)
		memcpy(out, writer, strlen(writer) + 1);
}

int framework_status_parse(const json_t *status, struct framework_status *out, struct error *err)
{
	const struct json_field field = {.value = status, .name = "status"};
	struct framework_status read = {0};

	if (json_field_time(&field, "startTime", &read.start_time, err) < 0 ||
	    json_field_time(&field, "runTime", &read.run_time, err) < 0 ||
	    json_field_time(&field, "completionTime", &read.completion_time, err) < 0 ||
	    json_field_time(&field, "transitionTime", &read.transition_time, err) < 0 ||
	    json_field_time(&field, "resumeTime", &read.resume_time, err) < 0 ||
	    json_field_int(&field, "observedGeneration", 0, INT64_MAX, &read.observed_generation, err) < 0 ||
	    read_admission(&field, &read.admission, err) < 0 || read_state(&field, &read.state, err) < 0 ||
	    read_retry(&field, &read.retry, err) < 0 || read_attempt(&field, read.state, &read.attempt, err) < 0) {
		framework_status_free(&read);
		return -1;
	}
	read_conditions(status, read.conditions);
	read.fenced = json_is_true(json_object_get(status, "fenced"));
	framework_status_writer(status, read.writer);
	*out = read;
	return 0;
}
