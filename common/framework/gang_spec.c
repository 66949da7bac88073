/* spec.gang: reading, and what cannot go together; see gang_spec.h. */
#include "common/framework/gang_spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"

enum {
	SCHEDULE_TIMEOUT_SEC = 60, /* as Trainer v2 sets it for Coscheduling */
	LABEL_VALUE_MAX = 63,
	ATTEMPT_ID_MAX = 10, /* digits of an int32 */
};

static const char *const scheduler_names[] = {
	[GANG_NONE] = "",
	[GANG_VOLCANO] = "Volcano",
	[GANG_COSCHEDULING] = "Coscheduling",
	[GANG_KUBERNETES] = "Kubernetes",
};

const char *gang_scheduler_name(enum gang_scheduler scheduler)
{
	return scheduler_names[scheduler];
}

enum gang_scheduler gang_scheduler_parse(const char *name)
{
	for (size_t i = GANG_VOLCANO; i < ARRAY_LEN(scheduler_names); i++)
		if (strcmp(name, scheduler_names[i]) == 0)
			return (enum gang_scheduler)i;
	return GANG_NONE;
}

/* A member that the PodGroups of this scheduler do not have. */
static int refuse(const struct json_field *gang, const char *name, enum gang_scheduler scheduler, struct error *err)
{
	const json_t *value = json_object_get(gang->value, name);
	char expected[96];

	if (value == NULL || json_is_null(value))
		return 0;
	snprintf(expected, sizeof(expected), "no %s: PodGroups of scheduler %s have none", name,
		 scheduler_names[scheduler]);
	return json_field_wrong(gang, name, expected, err);
}

static int refuse_foreign(const struct json_field *gang, enum gang_scheduler scheduler, struct error *err)
{
	if (scheduler != GANG_VOLCANO && refuse(gang, "queue", scheduler, err) < 0)
		return -1;
	if (scheduler != GANG_COSCHEDULING && refuse(gang, "scheduleTimeoutSec", scheduler, err) < 0)
		return -1;
	if (scheduler != GANG_KUBERNETES && refuse(gang, "topologyKey", scheduler, err) < 0)
		return -1;
	if (scheduler == GANG_COSCHEDULING && refuse(gang, "priorityClassName", scheduler, err) < 0)
		return -1;
	return 0;
}

/* Queues and PriorityClasses have the names of objects. */
static int read_name(const struct json_field *gang, const char *name, char **out, struct error *err)
{
	if (json_field_text(gang, name, out, err) < 0)
		return -1;
	if (*out != NULL && !object_name_valid(*out))
		return json_field_wrong(gang, name, "the name of an object: lower case letters, digits, - and .", err);
	return 0;
}

static int read_members(const struct json_field *gang, struct gang_spec *out, struct error *err)
{
	const char *scheduler = json_str(gang->value, "scheduler");

	if (scheduler != NULL)
		out->scheduler = gang_scheduler_parse(scheduler);
	if (out->scheduler == GANG_NONE)
		return json_field_wrong(gang, "scheduler", "\"Volcano\", \"Coscheduling\" or \"Kubernetes\"", err);
	out->schedule_timeout_sec = SCHEDULE_TIMEOUT_SEC;
	if (refuse_foreign(gang, out->scheduler, err) < 0 ||
	    json_field_int32(gang, "minTaskNumber", 1, INT32_MAX, &out->min_tasks, err) < 0 ||
	    json_field_int32(gang, "scheduleTimeoutSec", 1, INT32_MAX, &out->schedule_timeout_sec, err) < 0 ||
	    read_name(gang, "queue", &out->queue, err) < 0 ||
	    read_name(gang, "priorityClassName", &out->priority_class, err) < 0 ||
	    json_field_text(gang, "topologyKey", &out->topology_key, err) < 0)
		return -1;
	if (out->topology_key != NULL && !label_key_valid(out->topology_key))
		return json_field_wrong(gang, "topologyKey", "the key of a node label", err);
	return 0;
}

/* Whether its first Pods wait for other Pods. */
static bool waits(const struct framework_spec *spec, const struct task_role_spec *role)
{
	for (size_t i = 0; i < role->depends_count; i++)
		if (spec->roles[role->depends_on[i].role].task_number > 0)
			return true;
	return false;
}

/* The scheduler waits for this many Pods; none of them may wait for another one to run. */
static int check_start(const struct framework_spec *spec, struct error *err)
{
	int64_t all = framework_spec_task_count(spec);
	int64_t needed = spec->gang.min_tasks == 0 || spec->gang.min_tasks > all ? all : spec->gang.min_tasks;
	int64_t first = 0;
	char of_all[32] = "";

	for (size_t i = 0; i < spec->role_count; i++)
		if (!waits(spec, &spec->roles[i]))
			first += spec->roles[i].task_number;
	if (needed <= first)
		return 0;
	if (spec->gang.min_tasks == 0)
		snprintf(of_all, sizeof(of_all), " (all Tasks)");
	else if (spec->gang.min_tasks > all)
		snprintf(of_all, sizeof(of_all), " of %" PRId64 " Tasks", all);
	return error_set(err,
			 "spec.gang.minTaskNumber is %" PRId64 "%s, expected at most %" PRId64
			 ": the Pods of TaskRoles with dependsOn are created when others run, which they never would",
			 spec->gang.min_tasks == 0 ? all : spec->gang.min_tasks, of_all, first);
}

int gang_spec_read(const struct json_field *spec, struct framework_spec *out, struct error *err)
{
	struct json_field gang;

	if (json_field_object(spec, "gang", &gang, err) < 0)
		return -1;
	if (gang.value == NULL)
		return 0;
	if (read_members(&gang, &out->gang, err) < 0)
		return -1;
	return check_start(out, err);
}

int gang_spec_check_name(const struct gang_spec *gang, const char *framework_name, struct error *err)
{
	size_t max = LABEL_VALUE_MAX - 1 - ATTEMPT_ID_MAX;

	if (gang->scheduler != GANG_COSCHEDULING || strlen(framework_name) <= max)
		return 0;
	return error_set(err,
			 "metadata.name is \"%s\", expected at most %zu characters: with spec.gang.scheduler "
			 "Coscheduling, the label of its Pods has at most %d",
			 framework_name, max, LABEL_VALUE_MAX);
}

void gang_spec_free(struct gang_spec *gang)
{
	free(gang->queue);
	free(gang->priority_class);
	free(gang->topology_key);
}
