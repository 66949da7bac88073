/* The kinds of jobs, and what all of them have; see job.h. */
#include "jobs/kinds/job.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/mem.h"
#include "common/framework/object.h"

enum {
	NAME_KEPT = 50,       /* letters and digits of a name that a Framework cannot have */
	PART_MAX = 64 * 1024, /* of text that stays a tree; nobody needs as much */
};

#define OPERATOR "kubeflow.org/training-operator"

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

static bool is_object(struct json_span span)
{
	return span.at != NULL && span.at[0] == '{';
}

/* The text of a member; at is NULL: there is none. */
static struct json_span member(struct json_span object, const char *name)
{
	struct json_reader reader;

	if (object.at == NULL)
		return (struct json_span){0};
	json_reader_init(&reader, object.at, object.len);
	return json_reader_find(&reader, name) ? json_reader_pass(&reader) : (struct json_span){0};
}

/* *out is the tree of the member of that name, or NULL if it is no object. 0, or -1 and *err. */
static int read_tree(const char *name, struct json_span span, json_t **out, struct error *err)
{
	*out = NULL;
	if (span.len > PART_MAX)
		return error_set(err, "%s has %zu bytes, expected at most %d", name, span.len, PART_MAX);
	*out = is_object(span) ? json_parse(span.at, span.len, err) : NULL;
	return *out == NULL && is_object(span) ? -1 : 0;
}

/* What is to be known of the spec at any time. */
static int read_spec(struct json_span spec, struct job *out, struct error *err)
{
	const struct json_span runtime_id = member(spec, "runtimeID");
	cleanup_json json_t *policy = NULL;
	const char *manager;

	if (is_object(spec))
		out->spec = mem_strndup(spec.at, spec.len);
	if (read_tree("spec.runPolicy", member(spec, "runPolicy"), &policy, err) < 0)
		return -1;
	manager = json_str(policy, "managedBy");
	out->managed_by_others = out->kind != JOB_CAICLOUD_TFJOB && manager != NULL && manager[0] != '\0' &&
				 strcmp(manager, OPERATOR) != 0;
	out->ttl_sec = json_int(policy, "ttlSecondsAfterFinished", -1);
	out->has_runtime_id = runtime_id.at != NULL && runtime_id.at[0] == '"' && runtime_id.len > strlen("\"\"");
	return 0;
}

static int read_parts(const struct object_parts *parts, struct job *out, struct error *err)
{
	const struct object_meta *meta = &parts->meta;

	if (meta->ns[0] == '\0')
		return error_set(err, "metadata.namespace is missing or not a string");
	if (read_tree("metadata.labels", member(parts->metadata, "labels"), &out->labels, err) < 0 ||
	    read_tree("status", parts->status, &out->status, err) < 0)
		return -1;
	out->ns = mem_strdup(meta->ns);
	out->name = mem_strdup(meta->name);
	out->uid = mem_strdup(meta->uid);
	out->version = mem_strdup(meta->resource_version);
	out->generation = meta->generation;
	out->deleting = meta->deletion_time != 0;
	return read_spec(parts->spec, out, err);
}

int job_read(enum job_kind kind, const char *text, size_t len, struct job *out, struct error *err)
{
	struct object_parts parts;
	int result;

	*out = (struct job){.kind = kind};
	if (object_parts_read(text, len, &parts, err) < 0)
		return -1;
	result = read_parts(&parts, out, err);
	object_meta_free(&parts.meta);
	if (result < 0)
		job_free(out);
	return result;
}

void job_free(struct job *job)
{
	free(job->ns);
	free(job->name);
	free(job->uid);
	free(job->version);
	json_decref(job->labels);
	json_decref(job->status);
	free(job->spec);
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
