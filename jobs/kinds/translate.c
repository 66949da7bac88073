/* Which kind does what; see translate.h. */
#include "jobs/kinds/translate.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/spec.h"
#include "jobs/kinds/conditions.h"
#include "jobs/kinds/kinds.h"

/* etcd's --max-request-bytes, which is 1.5 MiB by default. */
enum { SPEC_MAX = 1536 * 1024 };

bool job_finished(const struct job *job)
{
	const json_t *conditions = json_object_get(job->status, "conditions");
	const char *phase = json_str(job->status, "phase");

	if (job->shed)
		return true;
	if (job->kind == JOB_CAICLOUD_TFJOB)
		return phase != NULL && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
	return condition_is_true(conditions, "Succeeded") || condition_is_true(conditions, "Failed");
}

int64_t job_finish_time(const struct job *job)
{
	if (job->shed)
		return job->shed_time;
	return job_finished(job) ? json_time(job->status, "completionTime") : 0;
}

void job_shed(struct job *job)
{
	job->shed_time = job_finish_time(job);
	job->shed = true;
	json_decref(job->labels);
	json_decref(job->status);
	free(job->spec);
	job->labels = job->status = NULL;
	job->spec = NULL;
}

/* A Framework with more Tasks is stored, and not acted on. */
static int check_total(const json_t *spec, struct error *err)
{
	int64_t total = 0;
	const json_t *role;
	size_t i;

	json_array_foreach(json_object_get(spec, "taskRoles"), i, role)
		total += json_int(role, "taskNumber", 0);
	return total <= FRAMEWORK_TASKS_MAX ? 0
					    : error_set(err, "the job has %lld replicas in all, expected at most %d",
							(long long)total, FRAMEWORK_TASKS_MAX);
}

/* The API server cannot store a larger one. */
static int check_size(const json_t *spec, struct error *err)
{
	size_t size = json_dumpb(spec, NULL, 0, JSON_COMPACT);

	return size <= SPEC_MAX
		       ? 0
		       : error_set(err,
				   "the Framework's spec would have %zu bytes, expected at most %d, which etcd "
				   "stores: have fewer replicas, or shorter templates",
				   size, SPEC_MAX);
}

int job_translate(const struct job *job, struct job_translation *out, struct error *err)
{
	static int (*const translate[JOB_KINDS])(const struct job *, const struct json_field *spec,
						 struct job_translation *, struct error *) = {
		[JOB_CAICLOUD_TFJOB] = caicloud_translate,
		[JOB_TFJOB] = tfjob_translate,
		[JOB_PYTORCHJOB] = pytorchjob_translate,
	};
	cleanup_json json_t *tree = NULL;
	struct json_field spec = {.name = "spec"};

	if (job->spec != NULL) {
		tree = json_parse(job->spec, strlen(job->spec), err);
		if (tree == NULL)
			return error_wrap(err, "spec");
		spec.value = tree;
	}
	if (translate[job->kind](job, &spec, out, err) < 0 || check_total(out->spec, err) < 0 ||
	    check_size(out->spec, err) < 0) {
		job_translation_free(out);
		return -1;
	}
	return 0;
}

void job_translation_free(struct job_translation *translation)
{
	json_decref(translation->labels);
	json_decref(translation->spec);
	json_decref(translation->warnings);
	*translation = (struct job_translation){0};
}

void job_status(const struct job *job, const struct job_translation *translation, const struct progress *progress,
		bool stopped, int64_t now_sec, struct job_outcome *out)
{
	*out = (struct job_outcome){.stop = stopped, .events = json_array()};
	if (job->kind == JOB_CAICLOUD_TFJOB)
		caicloud_status(job, translation, progress, out);
	else
		kubeflow_status(job, translation, progress, stopped, now_sec, out);
}

void job_refuse(const struct job *job, const char *message, int64_t now_sec, struct job_outcome *out)
{
	*out = (struct job_outcome){.events = json_array(), .ended = true};
	if (job->kind == JOB_CAICLOUD_TFJOB)
		caicloud_refuse(job, message, out);
	else
		kubeflow_refuse(job, message, now_sec, out);
}

void job_outcome_free(struct job_outcome *outcome)
{
	json_decref(outcome->status);
	json_decref(outcome->events);
	*outcome = (struct job_outcome){0};
}
