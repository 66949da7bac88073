/* What each kind of job does in its own way; translate.c calls these. */
#ifndef JOBS_KINDS_H
#define JOBS_KINDS_H

#include "common/base/json_field.h"
#include "jobs/kinds/translate.h"

/* spec: the job's. */
int caicloud_translate(const struct job *job, const struct json_field *spec, struct job_translation *out,
		       struct error *err);
int tfjob_translate(const struct job *job, const struct json_field *spec, struct job_translation *out,
		    struct error *err);
int pytorchjob_translate(const struct job *job, const struct json_field *spec, struct job_translation *out,
			 struct error *err);

void caicloud_status(const struct job *job, const struct job_translation *translation, const struct progress *progress,
		     struct job_outcome *out);
void kubeflow_status(const struct job *job, const struct job_translation *translation, const struct progress *progress,
		     bool stopped, int64_t now_sec, struct job_outcome *out);

void caicloud_refuse(const struct job *job, const char *message, struct job_outcome *out);
void kubeflow_refuse(const struct job *job, const char *message, int64_t now_sec, struct job_outcome *out);

#endif
