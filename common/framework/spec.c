/* Reading a Framework's spec; see spec.h. */
#include "common/framework/spec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/json_field.h"
#include "common/base/mem.h"
#include "common/framework/gang_spec.h"
#include "common/framework/names.h"
#include "common/framework/network.h"

enum { RETRY_MIN = -2, POLICY_MIN = -1, NEVER = -1, BACKOFF_MAX_SEC = 600, BACKOFF_RESET_SEC = 600 };

#define MANAGED_BY_US "frameworkcontroller.microsoft.com/controller"

static int read_backoff(const struct json_field *policy, struct retry_backoff *out, struct error *err)
{
	struct json_field backoff;

	if (json_field_object(policy, "backoff", &backoff, err) < 0)
		return -1;
	if (backoff.value == NULL)
		return 0;
	*out = (struct retry_backoff){.max_sec = BACKOFF_MAX_SEC, .reset_after_sec = BACKOFF_RESET_SEC};
	if (json_field_int32(&backoff, "initialSec", 1, INT32_MAX, &out->initial_sec, err) < 0 ||
	    json_field_int32(&backoff, "maxSec", 1, INT32_MAX, &out->max_sec, err) < 0)
		return -1;
	if (out->initial_sec == 0)
		return json_field_wrong(&backoff, "initialSec", "an integer from 1 to 2147483647", err);
	return json_field_int32(&backoff, "resetAfterSec", 0, INT32_MAX, &out->reset_after_sec, err);
}

static int read_retry_policy(const struct json_field *object, struct retry_policy *out, struct error *err)
{
	struct json_field policy;

	if (json_field_object(object, "retryPolicy", &policy, err) < 0 ||
	    json_field_bool(&policy, "fancyRetryPolicy", &out->fancy, err) < 0)
		return -1;
	if (json_field_int32(&policy, "maxRetryCount", RETRY_MIN, INT32_MAX, &out->max_retry_count, err) < 0)
		return -1;
	return read_backoff(&policy, &out->backoff, err);
}

static int read_completion_policy(const struct json_field *role, struct task_role_spec *out, struct error *err)
{
	struct json_field policy;

	if (json_field_object(role, "frameworkAttemptCompletionPolicy", &policy, err) < 0)
		return -1;
	/* Absent as a whole: {1, -1}. Present: a member that is missing never triggers (CONTRACT.md §2). */
	out->min_failed_tasks = policy.value == NULL ? 1 : NEVER;
	out->min_succeeded_tasks = NEVER;
	if (json_field_int32(&policy, "minFailedTaskCount", POLICY_MIN, INT32_MAX, &out->min_failed_tasks, err) < 0)
		return -1;
	return json_field_int32(&policy, "minSucceededTaskCount", POLICY_MIN, INT32_MAX, &out->min_succeeded_tasks,
				err);
}

static int read_pending_policy(const struct json_field *task, struct pending_policy *out, struct error *err)
{
	struct json_field policy;

	*out = (struct pending_policy){.start_timeout_sec = SECONDS_ABSENT,
				       .unschedulable_timeout_sec = SECONDS_ABSENT};
	if (json_field_object(task, "pendingPolicy", &policy, err) < 0)
		return -1;
	out->given = policy.value != NULL;
	if (json_field_int32(&policy, "startTimeoutSec", 0, INT32_MAX, &out->start_timeout_sec, err) < 0)
		return -1;
	return json_field_int32(&policy, "unschedulableTimeoutSec", 0, INT32_MAX, &out->unschedulable_timeout_sec, err);
}

static const char *const depends_names[] = {
	[DEPENDS_RUNNING] = "Running", [DEPENDS_READY] = "Ready", [DEPENDS_SUCCEEDED] = "Succeeded"};

const char *depends_status_name(enum depends_status status)
{
	return depends_names[status];
}

/* The entry of a TaskRole whose place in the spec is `role`. */
static int read_dependency(const struct json_field *entry, struct framework_spec *spec, size_t role,
			   struct role_dependency *out, struct error *err)
{
	const char *name = json_str(entry->value, "taskRole");
	const char *status = json_str(entry->value, "status");
	int found = name == NULL ? -1 : framework_spec_find_role(spec, name);
	size_t i = 0;

	if (!json_is_object(entry->value))
		return json_field_wrong(entry, NULL, "an object", err);
	if (found < 0 || (size_t)found >= role)
		return json_field_wrong(entry, "taskRole", "the name of an earlier TaskRole", err);
	while (status != NULL && i < ARRAY_LEN(depends_names) && strcmp(status, depends_names[i]) != 0)
		i++;
	if (status == NULL || i == ARRAY_LEN(depends_names))
		return json_field_wrong(entry, "status", "\"Running\", \"Ready\" or \"Succeeded\"", err);
	*out = (struct role_dependency){.role = (size_t)found, .status = (enum depends_status)i};
	if (out->status == DEPENDS_READY)
		spec->roles[found].ready_wanted = true;
	return 0;
}

static int read_depends_on(const struct json_field *role, struct framework_spec *spec, size_t place, struct error *err)
{
	struct task_role_spec *out = &spec->roles[place];
	struct json_field list;

	if (json_field_list(role, "dependsOn", &list, err) < 0)
		return -1;
	if (json_array_size(list.value) == 0)
		return 0;
	spec->has_dependencies = true;
	out->depends_on = mem_calloc(json_array_size(list.value), sizeof(*out->depends_on));
	for (size_t i = 0; i < json_array_size(list.value); i++) {
		struct json_field item = json_field_item(&list, i);

		if (read_dependency(&item, spec, place, &out->depends_on[out->depends_count++], err) < 0)
			return -1;
	}
	return 0;
}

static int read_role(const struct json_field *role, struct task_role_spec *out, struct error *err)
{
	struct json_field task;
	const char *name = json_str(role->value, "name");

	if (!json_is_object(role->value))
		return json_field_wrong(role, NULL, "an object", err);
	if (name == NULL || !framework_name_valid(name))
		return json_field_wrong(role, "name", "a name like ^[a-z0-9]{1,63}$", err);
	out->name = mem_strdup(name);
	out->pod_graceful_deletion_timeout_sec = SECONDS_NULL;
	if (json_field_int32(role, "taskNumber", 0, TASK_NUMBER_MAX, &out->task_number, err) < 0 ||
	    read_completion_policy(role, out, err) < 0 || json_field_object(role, "task", &task, err) < 0 ||
	    read_retry_policy(&task, &out->retry, err) < 0 || read_pending_policy(&task, &out->pending, err) < 0)
		return -1;
	return json_field_int(&task, "podGracefulDeletionTimeoutSec", INT64_MIN + 1, INT64_MAX,
			      &out->pod_graceful_deletion_timeout_sec, err);
}

static int read_roles(const struct json_field *spec, struct framework_spec *out, struct error *err)
{
	struct json_field roles;
	size_t count;

	if (json_field_list(spec, "taskRoles", &roles, err) < 0)
		return -1;
	count = json_array_size(roles.value);
	out->roles = mem_calloc(count, sizeof(*out->roles));
	for (size_t i = 0; i < count; i++) {
		struct task_role_spec *role = &out->roles[i];
		struct json_field item = json_field_item(&roles, i);

		out->role_count = i + 1;
		if (read_role(&item, role, err) < 0)
			return -1;
		if (framework_spec_find_role(out, role->name) >= 0)
			return error_set(err, "spec.taskRoles[%zu].name is \"%s\", which another TaskRole has already",
					 i, role->name);
		HASH_ADD_KEYPTR(hh, out->by_name, role->name, strlen(role->name), role);
		if (read_depends_on(&item, out, i, err) < 0)
			return -1;
	}
	out->too_many_tasks = framework_spec_task_count(out) > FRAMEWORK_TASKS_MAX;
	return 0;
}

static int read_execution_type(const struct json_field *spec, enum execution_type *out, struct error *err)
{
	const json_t *value = json_object_get(spec->value, "executionType");
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
		return json_field_wrong(spec, "executionType", "\"Create\", \"Start\" or \"Stop\"", err);
	return 0;
}

static int read_lifetimes(const struct json_field *spec, struct framework_spec *out, struct error *err)
{
	out->ttl_sec = SECONDS_ABSENT;
	if (json_field_bool(spec, "suspend", &out->suspend, err) < 0 ||
	    json_field_int32(spec, "ttlSecondsAfterCompleted", 0, INT32_MAX, &out->ttl_sec, err) < 0)
		return -1;
	return json_field_int32(spec, "activeDeadlineSec", 1, INT32_MAX, &out->active_deadline_sec, err);
}

static int read_placement(const struct json_field *spec, struct framework_spec *out, struct error *err)
{
	static const char name[] = "exclusiveTopologyKey";
	struct json_field placement;

	if (json_field_object(spec, "placement", &placement, err) < 0 ||
	    json_field_text(&placement, name, &out->exclusive_key, err) < 0)
		return -1;
	if (out->exclusive_key != NULL && !label_key_valid(out->exclusive_key))
		return json_field_wrong(&placement, name, "the key of a node label", err);
	return 0;
}

bool framework_spec_managed_by_others(const json_t *spec)
{
	const char *manager = json_str(spec, "managedBy");

	return manager != NULL && strcmp(manager, MANAGED_BY_US) != 0;
}

int framework_spec_parse(const json_t *spec, struct framework_spec *out, struct error *err)
{
	const struct json_field field = {.value = spec, .name = "spec"};
	struct framework_spec read = {0};

	if (spec != NULL && !json_is_null(spec) && !json_is_object(spec))
		return json_field_wrong(&field, NULL, "an object", err);
	if (read_execution_type(&field, &read.execution_type, err) < 0 || read_lifetimes(&field, &read, err) < 0 ||
	    read_retry_policy(&field, &read.retry, err) < 0 || read_roles(&field, &read, err) < 0 ||
	    network_spec_read(&field, &read, err) < 0 || read_placement(&field, &read, err) < 0 ||
	    gang_spec_read(&field, &read, err) < 0) {
		framework_spec_free(&read);
		return -1;
	}
	*out = read;
	return 0;
}

void framework_spec_free(struct framework_spec *spec)
{
	HASH_CLEAR(hh, spec->by_name);
	for (size_t i = 0; i < spec->role_count; i++) {
		free(spec->roles[i].depends_on);
		free(spec->roles[i].name);
	}
	free(spec->roles);
	network_spec_free(spec);
	gang_spec_free(&spec->gang);
	free(spec->exclusive_key);
	failure_spec_free(&spec->failures);
	*spec = (struct framework_spec){0};
}
