/* runPolicy.schedulingPolicy as spec.gang. With a gang scheduler each job is a gang, as in kubeflow/training-operator
 * 1.9: cmd/training-operator.v1/main.go (which scheduler), pkg/controller.v1/common/job.go (members of the PodGroup),
 * pkg/controller.v1/control/podgroup_control.go (Pods). */
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/gang_spec.h"
#include "common/framework/names.h"
#include "jobs/kinds/kubeflow.h"

/* All others are those of scheduler-plugins, for the operator as well. */
#define VOLCANO "volcano"

static const char *const known[] = {"minAvailable", "minResources",           "priorityClass",
				    "queue",        "scheduleTimeoutSeconds", NULL};

static bool is_absent(const json_t *value)
{
	return value == NULL || json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0) ||
	       (json_is_string(value) && json_string_length(value) == 0);
}

/* The operator's PodGroups of this scheduler do not have it either. */
static void warn_unused(const struct json_field *policy, const char *name, const char *scheduler,
			struct job_translation *out)
{
	if (!is_absent(json_object_get(policy->value, name)))
		build_warn(out,
			   "spec.runPolicy.schedulingPolicy.%s has no effect: PodGroups of the gang scheduler %s have "
			   "none",
			   name, scheduler);
}

static int put_name(const struct json_field *policy, const char *name, const char *member, json_t *gang,
		    struct error *err)
{
	cleanup_free char *text = NULL;

	if (json_field_text(policy, name, &text, err) < 0)
		return -1;
	if (text == NULL || text[0] == '\0')
		return 0;
	if (!object_name_valid(text))
		return json_field_wrong(policy, name, "the name of an object: lower case letters, digits, - and .",
					err);
	json_object_set_new(gang, member, json_string(text));
	return 0;
}

static int put_number(const struct json_field *policy, const char *name, int64_t max, const char *member, json_t *gang,
		      struct error *err)
{
	int64_t number = 0;

	if (json_field_int(policy, name, 1, max, &number, err) < 0)
		return -1;
	if (number > 0)
		json_object_set_new(gang, member, json_integer(number));
	return 0;
}

/* A template that names a scheduler keeps it. */
static void put_scheduler(json_t *pod, const char *scheduler)
{
	json_t *spec = json_object_get(pod, "spec");

	if (is_absent(json_object_get(spec, "schedulerName")))
		json_object_set_new(spec, "schedulerName", json_string(scheduler));
}

static int put_gang(const struct job *job, const struct json_field *policy, struct kubeflow_job *read,
		    struct job_translation *out, struct error *err)
{
	const char *scheduler = job->gang_scheduler;
	const struct gang_spec coscheduling = {.scheduler = GANG_COSCHEDULING};
	bool volcano = strcmp(scheduler, VOLCANO) == 0;
	json_t *gang = json_pack("{s:s}", "scheduler", gang_scheduler_name(volcano ? GANG_VOLCANO : GANG_COSCHEDULING));
	struct error reason;

	json_object_set_new(out->spec, "gang", gang);
	if (build_known(policy, known, err) < 0)
		return -1;
	if (!is_absent(json_object_get(policy->value, "minResources")))
		return json_field_wrong(
			policy, "minResources",
			"none: the controller computes it from the requests of the first minAvailable replicas", err);
	if (put_number(policy, "minAvailable", read->total, "minTaskNumber", gang, err) < 0)
		return -1;
	if (volcano) {
		warn_unused(policy, "scheduleTimeoutSeconds", scheduler, out);
		return put_name(policy, "queue", "queue", gang, err) < 0 ||
				       put_name(policy, "priorityClass", "priorityClassName", gang, err) < 0
			       ? -1
			       : 0;
	}
	warn_unused(policy, "queue", scheduler, out);
	warn_unused(policy, "priorityClass", scheduler, out);
	for (size_t i = 0; i < read->count; i++)
		put_scheduler(read->replicas[i].pod, scheduler);
	if (gang_spec_check_name(&coscheduling, out->framework, &reason) < 0)
		return error_set(err, "metadata.name is \"%s\", which cannot be a gang's: its Framework's %s",
				 job->name, reason.message);
	return put_number(policy, "scheduleTimeoutSeconds", INT32_MAX, "scheduleTimeoutSec", gang, err);
}

int kubeflow_put_gang(const struct job *job, const struct json_field *run_policy, struct kubeflow_job *read,
		      struct job_translation *out, struct error *err)
{
	struct json_field policy;

	if (json_field_object(run_policy, "schedulingPolicy", &policy, err) < 0)
		return -1;
	if (job->gang_scheduler != NULL)
		return put_gang(job, &policy, read, out, err);
	if (json_object_size(policy.value) > 0)
		return json_field_wrong(run_policy, "schedulingPolicy",
					"none: fc-jobs was started without --gang-scheduler-name, which names the "
					"scheduler of gangs",
					err);
	return 0;
}
