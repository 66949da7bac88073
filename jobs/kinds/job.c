/* The kinds of jobs, and what all of them have; see job.h. */
#include "jobs/kinds/job.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/json.h"
#include "common/base/mem.h"

/* Letters and digits of a name that a Framework cannot have. */
enum { NAME_KEPT = 50 };

static const struct job_names names[JOB_KINDS] = {
	[JOB_CAICLOUD_TFJOB] = {.kind = "TFJob",
				.api_version = "kubeflow.caicloud.io/v1alpha1",
				.resource = "tfjobs",
				.full = "tfjobs.kubeflow.caicloud.io",
				.what = "TFJobs of kubeflow.caicloud.io"},
	[JOB_TFJOB] = {.kind = "TFJob",
		       .api_version = "kubeflow.org/v1",
		       .resource = "tfjobs",
		       .full = "tfjobs.kubeflow.org",
		       .what = "TFJobs of kubeflow.org",
		       .operator_name = "tfjob-controller"},
	[JOB_PYTORCHJOB] = {.kind = "PyTorchJob",
			    .api_version = "kubeflow.org/v1",
			    .resource = "pytorchjobs",
			    .full = "pytorchjobs.kubeflow.org",
			    .what = "PyTorchJobs of kubeflow.org",
			    .operator_name = "pytorchjob-controller"},
};

const struct job_names *job_names(enum job_kind kind)
{
	return &names[kind];
}

/* A reference on the member if it is an object, else NULL. */
static json_t *object_member(const json_t *object, const char *name)
{
	json_t *member = json_object_get(object, name);

	return json_is_object(member) ? json_incref(member) : NULL;
}

int job_read(enum job_kind kind, json_t *object, struct job *out, struct error *err)
{
	const json_t *meta = json_object_get(object, "metadata");
	const char *ns = json_str(meta, "namespace");
	const char *name = json_str(meta, "name");
	const char *uid = json_str(meta, "uid");

	if (ns == NULL || name == NULL || uid == NULL)
		return error_set(err, "a %s has no metadata.%s, expected a string", names[kind].full,
				 ns == NULL     ? "namespace"
				 : name == NULL ? "name"
						: "uid");
	*out = (struct job){
		.kind = kind,
		.ns = mem_strdup(ns),
		.name = mem_strdup(name),
		.uid = mem_strdup(uid),
		.version = mem_strdup(json_str(meta, "resourceVersion")),
		.generation = json_int(meta, "generation", 0),
		.deleting = json_str(meta, "deletionTimestamp") != NULL,
		.labels = object_member(meta, "labels"),
		.spec = object_member(object, "spec"),
		.status = object_member(object, "status"),
	};
	return 0;
}

void job_free(struct job *job)
{
	free(job->ns);
	free(job->name);
	free(job->uid);
	free(job->version);
	json_decref(job->labels);
	json_decref(job->spec);
	json_decref(job->status);
	*job = (struct job){.kind = job->kind};
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_kept(char c)
{
	return is_lower(c) || (c >= '0' && c <= '9');
}

static bool fits(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!is_kept(name[i]))
			return false;
	return is_lower(name[0]) && len < JOB_FRAMEWORK_NAME_SIZE;
}

char *job_framework_name(enum job_kind kind, const char *name, char out[JOB_FRAMEWORK_NAME_SIZE])
{
	cleanup_free char *whole = mem_printf("%s/%s", names[kind].full, name);
	size_t len = 0;

	if (fits(name)) {
		snprintf(out, JOB_FRAMEWORK_NAME_SIZE, "%s", name);
		return out;
	}
	for (; *name != '\0' && len < NAME_KEPT; name++) {
		if (!is_kept(*name))
			continue;
		if (len == 0 && !is_lower(*name))
			out[len++] = 'j';
		out[len++] = *name;
	}
	snprintf(out + len, JOB_FRAMEWORK_NAME_SIZE - len, "%s%08lx", len == 0 ? "j" : "",
		 crc32(0, (const unsigned char *)whole, (unsigned)strlen(whole)));
	return out;
}
