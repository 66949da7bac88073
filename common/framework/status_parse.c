/* Reading a status that this or the original controller wrote (CONTRACT.md §3, §13); see status.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/spec.h"
#include "common/framework/status.h"

/* Where in the object a value stands, for messages: "status.attemptStatus.taskRoleStatuses[0].". */
struct place {
	const struct place *outer;
	const char *name;
	int64_t index; /* -1: none */
};

static void put_place(struct buf *out, const struct place *place)
{
	if (place == NULL)
		return;
	put_place(out, place->outer);
	if (place->outer != NULL)
		buf_putc(out, '.');
	buf_puts(out, place->name);
	if (place->index >= 0)
		buf_printf(out, "[%" PRId64 "]", place->index);
}

static int wrong(struct error *err, const struct place *place, const char *name, const json_t *found,
		 const char *expected)
{
	cleanup_buf struct buf where = {0};
	cleanup_free char *text = found == NULL ? mem_strdup("missing") : json_text(found);

	put_place(&where, place);
	return error_set(err, "%s.%s is %.80s, expected %s", where.data, name, text, expected);
}

static bool is_null(const json_t *value)
{
	return value == NULL || json_is_null(value);
}

static int read_text(const json_t *object, const struct place *place, const char *name, char **out, struct error *err)
{
	const json_t *value = json_object_get(object, name);

	if (is_null(value))
		return 0;
	if (!json_is_string(value))
		return wrong(err, place, name, value, "a string or null");
	mem_replace(out, json_string_value(value));
	return 0;
}

/* What no decision can do without. */
static int read_identity(const json_t *object, const struct place *place, char **out, struct error *err)
{
	if (json_str(object, "instanceUID") == NULL)
		return wrong(err, place, "instanceUID", json_object_get(object, "instanceUID"), "a string");
	return read_text(object, place, "instanceUID", out, err);
}

static int read_number(const json_t *object, const struct place *place, const char *name, int64_t low, int64_t high,
		       int64_t *out, struct error *err)
{
	const json_t *value = json_object_get(object, name);

	if (is_null(value))
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < low || json_integer_value(value) > high)
		return wrong(err, place, name, value, "an integer in range");
	*out = json_integer_value(value);
	return 0;
}

static int read_int32(const json_t *object, const struct place *place, const char *name, int32_t *out,
		      struct error *err)
{
	int64_t value = *out;

	if (read_number(object, place, name, INT32_MIN, INT32_MAX, &value, err) < 0)
		return -1;
	*out = (int32_t)value;
	return 0;
}

static int read_time(const json_t *object, const struct place *place, const char *name, int64_t *out, struct error *err)
{
	const json_t *value = json_object_get(object, name);
	const char *text = json_string_value(value);

	if (is_null(value))
		return 0;
	if (text == NULL || time_parse_rfc3339(text, out) < 0)
		return wrong(err, place, name, value, "an RFC 3339 time or null");
	return 0;
}

static int read_state(const json_t *object, const struct place *place, enum attempt_state *out, struct error *err)
{
	if (attempt_state_parse(json_str(object, "state"), out) < 0)
		return wrong(err, place, "state", json_object_get(object, "state"), "the name of a state");
	return 0;
}

static int read_object(const json_t *object, const struct place *place, const char *name, const json_t **out,
		       struct error *err)
{
	const json_t *value = json_object_get(object, name);

	*out = is_null(value) ? NULL : value;
	if (*out != NULL && !json_is_object(*out))
		return wrong(err, place, name, value, "an object or null");
	return 0;
}

/* Counts can still grow by one, delays be added to a time in milliseconds. */
enum { RETRIES_MAX = INT32_MAX - 1 };
#define RETRY_DELAY_MAX_SEC INT64_C(1000000000000)

static int read_count(const json_t *object, const struct place *place, const char *name, int32_t *out,
		      struct error *err)
{
	int64_t value = *out;

	if (read_number(object, place, name, 0, RETRIES_MAX, &value, err) < 0)
		return -1;
	*out = (int32_t)value;
	return 0;
}

static int read_retry(const json_t *object, const struct place *outer, struct retry_status *out, struct error *err)
{
	struct place place = {outer, "retryPolicyStatus", -1};
	const json_t *retry;

	*out = (struct retry_status){.delay_sec = DELAY_NULL};
	if (read_object(object, outer, "retryPolicyStatus", &retry, err) < 0)
		return -1;
	if (read_count(retry, &place, "totalRetriedCount", &out->total, err) < 0 ||
	    read_count(retry, &place, "accountableRetriedCount", &out->accountable, err) < 0 ||
	    read_number(retry, &place, "retryDelaySec", 0, RETRY_DELAY_MAX_SEC, &out->delay_sec, err) < 0)
		return -1;
	return 0;
}

static int read_trigger(const json_t *object, const struct place *outer, struct completion *out, struct error *err)
{
	struct place place = {outer, "trigger", -1};
	const json_t *trigger;

	if (read_object(object, outer, "trigger", &trigger, err) < 0)
		return -1;
	if (trigger == NULL)
		return 0;
	out->trigger = mem_calloc(1, sizeof(*out->trigger));
	out->trigger->message = mem_strdup("");
	out->trigger->task_role_name = mem_strdup("");
	if (read_text(trigger, &place, "message", &out->trigger->message, err) < 0 ||
	    read_text(trigger, &place, "taskRoleName", &out->trigger->task_role_name, err) < 0 ||
	    read_number(trigger, &place, "taskIndex", INT64_MIN, INT64_MAX, &out->trigger->task_index, err) < 0)
		return -1;
	return 0;
}

/* state: of the Framework or Task that the attempt belongs to. An attempt on its way out, or over, has a reason. What
 * its texts lack is "", as the original controller reads it. */
static int read_completion(const json_t *object, const struct place *outer, enum attempt_state state,
			   struct completion **out, struct error *err)
{
	struct place place = {outer, "completionStatus", -1};
	const json_t *value;
	const json_t *type;
	const json_t *pod;
	const char *type_name;
	int32_t code = 0;

	if (read_object(object, outer, "completionStatus", &value, err) < 0)
		return -1;
	if (value == NULL && state >= STATE_DELETION_PENDING)
		return wrong(err, outer, "completionStatus", json_object_get(object, "completionStatus"),
			     "an object, its state being what it is");
	if (value == NULL)
		return 0;
	if (read_int32(value, &place, "code", &code, err) < 0 || read_object(value, &place, "type", &type, err) < 0 ||
	    read_object(value, &place, "pod", &pod, err) < 0)
		return -1;
	type_name = json_str(type, "name");
	*out = completion_new(code, type_name != NULL && strcmp(type_name, "Succeeded") == 0, "",
			      json_object_get(type, "attributes"), "");
	if (pod != NULL)
		(*out)->pod = json_text(pod);
	if (read_text(value, &place, "phrase", &(*out)->phrase, err) < 0 ||
	    read_text(value, &place, "diagnostics", &(*out)->diagnostics, err) < 0 ||
	    read_trigger(value, &place, *out, err) < 0)
		return -1;
	return 0;
}

static int read_task_attempt(const json_t *task, const struct place *outer, enum attempt_state state,
			     struct task_attempt_status *out, struct error *err)
{
	struct place place = {outer, "attemptStatus", -1};
	const json_t *attempt;

	if (read_object(task, outer, "attemptStatus", &attempt, err) < 0 ||
	    read_int32(attempt, &place, "id", &out->id, err) < 0 ||
	    read_time(attempt, &place, "startTime", &out->start_time, err) < 0 ||
	    read_time(attempt, &place, "runTime", &out->run_time, err) < 0 ||
	    read_time(attempt, &place, "completionTime", &out->completion_time, err) < 0 ||
	    read_text(attempt, &place, "instanceUID", &out->instance_uid, err) < 0 ||
	    read_text(attempt, &place, "podUID", &out->pod_uid, err) < 0 ||
	    read_text(attempt, &place, "podNodeName", &out->pod_node_name, err) < 0 ||
	    read_text(attempt, &place, "podIP", &out->pod_ip, err) < 0 ||
	    read_text(attempt, &place, "podHostIP", &out->pod_host_ip, err) < 0)
		return -1;
	return read_completion(attempt, &place, state, &out->completion, err);
}

static int read_task(const json_t *task, const struct place *outer, size_t index, struct task_status *out,
		     struct error *err)
{
	struct place place = {outer, "taskStatuses", (int64_t)index};
	int64_t found = -1;

	if (!json_is_object(task))
		return wrong(err, &place, "", task, "an object");
	if (read_number(task, &place, "index", 0, INT32_MAX, &found, err) < 0)
		return -1;
	if (found != (int64_t)index)
		return wrong(err, &place, "index", json_object_get(task, "index"), "its position in the list");
	out->deletion_pending = json_bool(task, "deletionPending", false);
	if (read_identity(task, &place, &out->instance_uid, err) < 0 ||
	    read_time(task, &place, "startTime", &out->start_time, err) < 0 ||
	    read_time(task, &place, "runTime", &out->run_time, err) < 0 ||
	    read_time(task, &place, "completionTime", &out->completion_time, err) < 0 ||
	    read_time(task, &place, "transitionTime", &out->transition_time, err) < 0 ||
	    read_state(task, &place, &out->state, err) < 0 || read_retry(task, &place, &out->retry, err) < 0)
		return -1;
	return read_task_attempt(task, &place, out->state, &out->attempt, err);
}

static int read_role(const json_t *role, const struct place *outer, size_t index, struct role_status *out,
		     struct error *err)
{
	struct place place = {outer, "taskRoleStatuses", (int64_t)index};
	const json_t *tasks = json_object_get(role, "taskStatuses");

	out->pod_graceful_deletion_timeout_sec = SECONDS_NULL;
	if (json_str(role, "name") == NULL || !framework_name_valid(json_str(role, "name")))
		return wrong(err, &place, "name", json_object_get(role, "name"), "a name like ^[a-z0-9]{1,63}$");
	if (!is_null(tasks) && !json_is_array(tasks))
		return wrong(err, &place, "taskStatuses", tasks, "a list");
	if (read_text(role, &place, "name", &out->name, err) < 0 ||
	    read_identity(role, &place, &out->instance_uid, err) < 0 ||
	    read_number(role, &place, "podGracefulDeletionTimeoutSec", INT64_MIN + 1, INT64_MAX,
			&out->pod_graceful_deletion_timeout_sec, err) < 0)
		return -1;
	out->task_cap = json_array_size(tasks);
	out->tasks = mem_calloc(out->task_cap, sizeof(*out->tasks));
	for (size_t i = 0; i < out->task_cap; i++) {
		out->task_count = i + 1;
		if (read_task(json_array_get(tasks, i), &place, i, &out->tasks[i], err) < 0)
			return -1;
	}
	return 0;
}

static int read_roles(const json_t *roles, const struct place *place, struct framework_attempt_status *out,
		      struct error *err)
{
	size_t count = json_array_size(roles);

	if (!is_null(roles) && !json_is_array(roles))
		return wrong(err, place, "taskRoleStatuses", roles, "a list or null");
	out->roles = mem_calloc(count, sizeof(*out->roles));
	for (size_t i = 0; i < count; i++) {
		out->role_count = i + 1;
		if (read_role(json_array_get(roles, i), place, i, &out->roles[i], err) < 0)
			return -1;
	}
	return 0;
}

static int read_compressed_roles(const json_t *attempt, const struct place *place, struct framework_attempt_status *out,
				 struct error *err)
{
	const json_t *compressed = json_object_get(attempt, "taskRoleStatusesCompressed");
	cleanup_buf struct buf text = {0};
	cleanup_json json_t *roles = NULL;
	struct error cause;

	if (!json_is_string(compressed))
		return wrong(err, place, "taskRoleStatusesCompressed", compressed, "base64 text");
	if (text_decompress(json_string_value(compressed), json_string_length(compressed), &text, &cause) < 0)
		return error_set(err, "status.attemptStatus.taskRoleStatusesCompressed is %s", cause.message);
	roles = json_parse(text.data, text.len, &cause);
	if (roles == NULL)
		return error_set(err, "status.attemptStatus.taskRoleStatusesCompressed: %s", cause.message);
	return read_roles(roles, place, out, err);
}

static int read_attempt(const json_t *status, const struct place *outer, enum attempt_state state,
			struct framework_attempt_status *out, struct error *err)
{
	struct place place = {outer, "attemptStatus", -1};
	const json_t *attempt;
	const json_t *roles;

	if (read_object(status, outer, "attemptStatus", &attempt, err) < 0 ||
	    read_int32(attempt, &place, "id", &out->id, err) < 0 ||
	    read_time(attempt, &place, "startTime", &out->start_time, err) < 0 ||
	    read_time(attempt, &place, "runTime", &out->run_time, err) < 0 ||
	    read_time(attempt, &place, "completionTime", &out->completion_time, err) < 0 ||
	    read_text(attempt, &place, "instanceUID", &out->instance_uid, err) < 0 ||
	    read_text(attempt, &place, "configMapUID", &out->config_map_uid, err) < 0 ||
	    read_completion(attempt, &place, state, &out->completion, err) < 0)
		return -1;
	if (out->config_map_uid != NULL && out->instance_uid == NULL)
		return wrong(err, &place, "instanceUID", json_object_get(attempt, "instanceUID"), "a string");
	roles = json_object_get(attempt, "taskRoleStatuses");
	if (is_null(roles) && !is_null(json_object_get(attempt, "taskRoleStatusesCompressed")))
		return read_compressed_roles(attempt, &place, out, err);
	return read_roles(roles, &place, out, err);
}

static void copy_short(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text == NULL ? "" : text);
}

static void read_conditions(const json_t *status, struct condition *out)
{
	static const char *const types[CONDITION_COUNT] = {"Running", "Completed", "Succeeded"};
	size_t i;
	json_t *item;

	/* Ours alone and made anew from the state: what does not read is simply made again. */
	json_array_foreach(json_object_get(status, "conditions"), i, item) {
		const char *type = json_str(item, "type");
		const char *value = json_str(item, "status");

		for (size_t c = 0; type != NULL && value != NULL && c < CONDITION_COUNT; c++) {
			if (strcmp(type, types[c]) != 0)
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

bool framework_status_present(const json_t *status)
{
	const json_t *state = json_object_get(status, "state");

	return !is_null(state) && (!json_is_string(state) || json_string_length(state) > 0);
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
	struct place place = {NULL, "status", -1};
	struct framework_status read = {0};

	if (read_time(status, &place, "startTime", &read.start_time, err) < 0 ||
	    read_time(status, &place, "runTime", &read.run_time, err) < 0 ||
	    read_time(status, &place, "completionTime", &read.completion_time, err) < 0 ||
	    read_time(status, &place, "transitionTime", &read.transition_time, err) < 0 ||
	    read_number(status, &place, "observedGeneration", 0, INT64_MAX, &read.observed_generation, err) < 0 ||
	    read_state(status, &place, &read.state, err) < 0 || read_retry(status, &place, &read.retry, err) < 0 ||
	    read_attempt(status, &place, read.state, &read.attempt, err) < 0) {
		framework_status_free(&read);
		return -1;
	}
	read_conditions(status, read.conditions);
	read.fenced = json_is_true(json_object_get(status, "fenced"));
	framework_status_writer(status, read.writer);
	*out = read;
	return 0;
}
