/* Reading a Framework's spec; see spec.h. */
#include "common/framework/spec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

enum { RETRY_MIN = -2, POLICY_MIN = -1, NEVER = -1 };

static int wrong(struct error *err, const char *where, const char *name, const json_t *found, const char *expected)
{
	cleanup_free char *text = json_text(found);

	return error_set(err, "%s%s is %.80s, expected %s", where, name, text, expected);
}

/* Absent and null leave *out as it is. */
static int read_int(const json_t *object, const char *where, const char *name, int64_t low, int64_t high, int64_t *out,
		    struct error *err)
{
	const json_t *value = json_object_get(object, name);
	char expected[96];

	if (value == NULL || json_is_null(value))
		return 0;
	if (json_is_integer(value) && json_integer_value(value) >= low && json_integer_value(value) <= high) {
		*out = json_integer_value(value);
		return 0;
	}
	snprintf(expected, sizeof(expected), "an integer in %" PRId64 "..%" PRId64, low, high);
	return wrong(err, where, name, value, expected);
}

static int read_object(const json_t *object, const char *where, const char *name, const json_t **out, struct error *err)
{
	const json_t *value = json_object_get(object, name);

	*out = NULL;
	if (value == NULL || json_is_null(value))
		return 0;
	if (!json_is_object(value))
		return wrong(err, where, name, value, "an object");
	*out = value;
	return 0;
}

static int read_retry_policy(const json_t *object, const char *where, struct retry_policy *out, struct error *err)
{
	const json_t *policy;
	const json_t *fancy;
	int64_t count = 0;
	char inner[256];

	if (read_object(object, where, "retryPolicy", &policy, err) < 0)
		return -1;
	snprintf(inner, sizeof(inner), "%sretryPolicy.", where);
	fancy = json_object_get(policy, "fancyRetryPolicy");
	if (fancy != NULL && !json_is_boolean(fancy) && !json_is_null(fancy))
		return wrong(err, inner, "fancyRetryPolicy", fancy, "true or false");
	if (read_int(policy, inner, "maxRetryCount", RETRY_MIN, INT32_MAX, &count, err) < 0)
		return -1;
	out->fancy = json_is_true(fancy);
	out->max_retry_count = (int32_t)count;
	return 0;
}

static int read_completion_policy(const json_t *role, const char *where, struct task_role_spec *out, struct error *err)
{
	const json_t *policy;
	/* Absent as a whole: {1, -1}. Present: a member that is missing never triggers (CONTRACT.md §2). */
	int64_t failed = 1;
	int64_t succeeded = NEVER;
	char inner[256];

	if (read_object(role, where, "frameworkAttemptCompletionPolicy", &policy, err) < 0)
		return -1;
	if (policy != NULL)
		failed = NEVER;
	snprintf(inner, sizeof(inner), "%sframeworkAttemptCompletionPolicy.", where);
	if (read_int(policy, inner, "minFailedTaskCount", POLICY_MIN, INT32_MAX, &failed, err) < 0 ||
	    read_int(policy, inner, "minSucceededTaskCount", POLICY_MIN, INT32_MAX, &succeeded, err) < 0)
		return -1;
	out->min_failed_tasks = (int32_t)failed;
	out->min_succeeded_tasks = (int32_t)succeeded;
	return 0;
}

static int read_role(const json_t *role, size_t index, struct task_role_spec *out, struct error *err)
{
	const json_t *task;
	const char *name = json_str(role, "name");
	int64_t number = 0;
	int64_t timeout = SECONDS_NULL;
	char where[192];

	snprintf(where, sizeof(where), "spec.taskRoles[%zu].", index);
	if (!json_is_object(role))
		return error_set(err, "spec.taskRoles[%zu] is not an object", index);
	if (name == NULL || !framework_name_valid(name))
		return wrong(err, where, "name", json_object_get(role, "name"), "a name like ^[a-z0-9]{1,63}$");
	out->name = mem_strdup(name);
	if (read_int(role, where, "taskNumber", 0, TASK_NUMBER_MAX, &number, err) < 0 ||
	    read_completion_policy(role, where, out, err) < 0 || read_object(role, where, "task", &task, err) < 0)
		return -1;
	out->task_number = (int32_t)number;
	snprintf(where, sizeof(where), "spec.taskRoles[%zu].task.", index);
	if (read_retry_policy(task, where, &out->retry, err) < 0 ||
	    read_int(task, where, "podGracefulDeletionTimeoutSec", INT64_MIN + 1, INT64_MAX, &timeout, err) < 0)
		return -1;
	out->pod_graceful_deletion_timeout_sec = timeout;
	return 0;
}

static int read_roles(const json_t *roles, struct framework_spec *out, struct error *err)
{
	size_t count = json_array_size(roles);
	int64_t tasks = 0;

	if (roles != NULL && !json_is_null(roles) && !json_is_array(roles))
		return wrong(err, "spec.", "taskRoles", roles, "a list");
	out->roles = mem_calloc(count, sizeof(*out->roles));
	for (size_t i = 0; i < count; i++) {
		out->role_count = i + 1;
		if (read_role(json_array_get(roles, i), i, &out->roles[i], err) < 0)
			return -1;
		tasks += out->roles[i].task_number;
		if (tasks > FRAMEWORK_TASKS_MAX)
			return error_set(err,
					 "spec.taskRoles: %" PRId64
					 " Tasks up to taskRoles[%zu], expected at most %d in all",
					 tasks, i, FRAMEWORK_TASKS_MAX);
		if (framework_spec_find_role(out, out->roles[i].name) >= 0)
			return error_set(err, "spec.taskRoles[%zu].name is \"%s\", which another TaskRole has already",
					 i, out->roles[i].name);
		HASH_ADD_KEYPTR(hh, out->by_name, out->roles[i].name, strlen(out->roles[i].name), &out->roles[i]);
	}
	return 0;
}

static int read_execution_type(const json_t *spec, enum execution_type *out, struct error *err)
{
	const json_t *value = json_object_get(spec, "executionType");
	const char *text = json_string_value(value);

	if (value == NULL || json_is_null(value))
		*out = EXECUTION_START;
	else if (text != NULL && strcmp(text, "Create") == 0)
		*out = EXECUTION_CREATE;
	else if (text != NULL && strcmp(text, "Start") == 0)
		*out = EXECUTION_START;
	else if (text != NULL && strcmp(text, "Stop") == 0)
		*out = EXECUTION_STOP;
	else
		return wrong(err, "spec.", "executionType", value, "\"Create\", \"Start\" or \"Stop\"");
	return 0;
}

int framework_spec_parse(const json_t *spec, struct framework_spec *out, struct error *err)
{
	struct framework_spec read = {0};

	if (spec != NULL && !json_is_null(spec) && !json_is_object(spec))
		return wrong(err, "", "spec", spec, "an object");
	if (read_execution_type(spec, &read.execution_type, err) < 0 ||
	    read_retry_policy(spec, "spec.", &read.retry, err) < 0 ||
	    read_roles(json_object_get(spec, "taskRoles"), &read, err) < 0) {
		framework_spec_free(&read);
		return -1;
	}
	*out = read;
	return 0;
}

void framework_spec_free(struct framework_spec *spec)
{
	HASH_CLEAR(hh, spec->by_name);
	for (size_t i = 0; i < spec->role_count; i++)
		free(spec->roles[i].name);
	free(spec->roles);
	*spec = (struct framework_spec){0};
}

int framework_spec_find_role(const struct framework_spec *spec, const char *name)
{
	const struct task_role_spec *role;

	HASH_FIND_STR(spec->by_name, name, role);
	return role == NULL ? -1 : (int)(role - spec->roles);
}

int64_t framework_spec_task_count(const struct framework_spec *spec)
{
	int64_t count = 0;

	for (size_t i = 0; i < spec->role_count; i++)
		count += spec->roles[i].task_number;
	return count;
}
