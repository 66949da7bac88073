/* TFJob of kubeflow.caicloud.io/v1alpha1 as a Framework. Facts: gaocegege/kubeflow-controller, a fork of
 * caicloud/kubeflow-controller: vendor/github.com/caicloud/kubeflow-clientset/apis/kubeflow/v1alpha1/types.go,
 * pkg/tensorflow/distributed.go, pkg/controller/updater/. */
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/network.h"
#include "common/framework/spec.h"
#include "jobs/kinds/build.h"
#include "jobs/kinds/kinds.h"

enum { PORT = 2222, LABEL_MAX = 63 };

enum replica_type { TYPE_PS, TYPE_WORKER, TYPE_LOCAL, TYPES };

static const char *const type_names[TYPES] = {[TYPE_PS] = "PS", [TYPE_WORKER] = "Worker", [TYPE_LOCAL] = "Local"};
static const char *const role_names[TYPES] = {[TYPE_PS] = "ps", [TYPE_WORKER] = "worker", [TYPE_LOCAL] = "local"};

struct replica_spec {
	struct json_field field; /* value NULL: the job has none of this type */
	struct json_field template;
	int32_t replicas;
};

struct spec {
	struct json_field spec;
	struct json_field list;
	struct replica_spec types[TYPES];
};

static int read_type(const struct json_field *item, enum replica_type *out, struct error *err)
{
	const char *text = json_str(item->value, "tfReplicaType");

	for (size_t i = 0; i < TYPES; i++) {
		if (text != NULL && strcmp(text, type_names[i]) == 0) {
			*out = (enum replica_type)i;
			return 0;
		}
	}
	return json_field_wrong(item, "tfReplicaType", "PS, Worker or Local", err);
}

static int read_replicas(struct spec *read, size_t index, struct job_translation *out, struct error *err)
{
	static const char *const known[] = {"replicas", "template", "terminationPolicy", "tfReplicaType", NULL};
	const struct json_field item = json_field_item(&read->list, index);
	struct replica_spec *spec;
	enum replica_type type = TYPE_PS;

	if (!json_is_object(item.value))
		return json_field_wrong(&item, NULL, "an object", err);
	if (build_known(&item, known, err) < 0 || read_type(&item, &type, err) < 0)
		return -1;
	spec = &read->types[type];
	if (spec->field.value != NULL)
		return json_field_wrong(&item, "tfReplicaType", "each type once", err);
	*spec = (struct replica_spec){.field = item, .replicas = 1};
	if (json_object_size(json_object_get(item.value, "terminationPolicy")) > 0)
		build_warn(
			out,
			"spec.tfReplicaSpec[%zu].terminationPolicy has no effect, as in caicloud's controller: the job "
			"ends with its Workers",
			index);
	if (json_field_object(&spec->field, "template", &spec->template, err) < 0)
		return -1;
	if (json_array_size(json_path(spec->template.value, "spec", "containers", NULL)) == 0)
		return error_set(err, "spec.tfReplicaSpec[%zu].template.spec.containers is empty, expected a container",
				 index);
	return json_field_int32(&item, "replicas", 0, TASK_NUMBER_MAX, &spec->replicas, err);
}

/* Local if its first entry is, whatever follows (pkg/checker/checker.go); but more entries would have no effect. */
static int check_types(const struct spec *read, struct error *err)
{
	const struct replica_spec *local = &read->types[TYPE_LOCAL];

	if (local->field.value == NULL && read->types[TYPE_WORKER].field.value == NULL)
		return json_field_wrong(&read->spec, "tfReplicaSpec", "an entry of type Worker or Local", err);
	if (local->field.value != NULL && json_array_size(read->list.value) > 1)
		return json_field_wrong(&read->spec, "tfReplicaSpec", "no other entry beside Local", err);
	if (local->field.value != NULL && local->replicas != 1)
		return json_field_wrong(&local->field, "replicas", "1", err);
	return 0;
}

static int read_spec(const struct job *job, const struct json_field *spec, struct spec *read,
		     struct job_translation *out, struct error *err)
{
	static const char *const known[] = {"dataDir",   "exportDir",     "logDir", "modelDir",
					    "runtimeID", "tfReplicaSpec", NULL};

	*read = (struct spec){.spec = *spec};
	if (strlen(job->name) > LABEL_MAX)
		return error_set(err,
				 "metadata.name has %zu characters, expected at most 63: labels of Pods contain it",
				 strlen(job->name));
	if (build_known(&read->spec, known, err) < 0 ||
	    json_field_list(&read->spec, "tfReplicaSpec", &read->list, err) < 0)
		return -1;
	for (size_t i = 0; i < 4; i++) /* the directories are the first four, in this order */
		if (json_str(spec->value, known[i]) != NULL && json_str(spec->value, known[i])[0] != '\0')
			build_warn(out, "spec.%s has no effect, as in caicloud's controller", known[i]);
	if (json_array_size(read->list.value) == 0)
		return json_field_wrong(&read->spec, "tfReplicaSpec", "a list of at least one entry", err);
	for (size_t i = 0; i < json_array_size(read->list.value); i++)
		if (read_replicas(read, i, out, err) < 0)
			return -1;
	return check_types(read, err);
}

/* "--ps_hosts=host:2222,…" */
static int put_hosts(json_t *args, const struct job *job, const struct job_translation *out, enum replica_type type,
		     int32_t replicas, struct error *err)
{
	cleanup_buf struct buf text = {0};

	buf_printf(&text, "--%s_hosts=", role_names[type]);
	for (int32_t i = 0; i < replicas; i++) {
		cleanup_free char *index = mem_printf("%d", i);
		cleanup_free char *host = build_host(job, out, role_names[type], index, PORT);

		buf_printf(&text, "%s%s", i > 0 ? "," : "", host);
	}
	if (text.len + 1 > VARIABLE_MAX)
		return error_set(
			err,
			"the argument --%s_hosts would have %zu bytes with the names of these replicas, expected at "
			"most %d, which Linux takes: have fewer replicas, or a shorter metadata.name",
			role_names[type], text.len + 1, VARIABLE_MAX);
	json_array_append_new(args, json_string(text.data));
	return 0;
}

static int put_args(json_t *pod, const struct job *job, const struct job_translation *out, const struct spec *read,
		    enum replica_type type, struct error *err)
{
	json_t *container = json_array_get(json_path(pod, "spec", "containers", NULL), 0);
	cleanup_json json_t *args = json_array();

	if (put_hosts(args, job, out, TYPE_WORKER, read->types[TYPE_WORKER].replicas, err) < 0 ||
	    put_hosts(args, job, out, TYPE_PS, read->types[TYPE_PS].replicas, err) < 0)
		return -1;
	json_array_append_new(args, json_sprintf("--job_name=%s", role_names[type]));
	json_array_append_new(args, json_string("--task_index=" BUILD_INDEX));
	json_object_set(container, "args", args);
	return 0;
}

static void put_labels(json_t *pod, const struct job *job, const struct spec *read, enum replica_type type)
{
	const char *runtime_id = json_str(read->spec.value, "runtimeID");

	/* the original replaces all labels of the template; here they stay */
	build_label(pod, "kubeflow.caicloud.io", "true");
	build_label(pod, "job_type", type_names[type]);
	build_label(pod, "runtime_id", runtime_id == NULL ? "" : runtime_id);
	build_label(pod, "tf_job_name", job->name);
	build_label(pod, "index", BUILD_INDEX);
}

static int put_role(const struct job *job, const struct spec *read, enum replica_type type, struct job_translation *out,
		    struct error *err)
{
	/* The original starts each PS again that ends, and each Worker that fails. Here a Worker whose failure is
	 * Permanent (CONTRACT.md §9.2) is not started again, and the job has failed. */
	static const struct build_retry worker_retry = {.fancy = true, .max_retry_count = -1};
	static const struct build_retry ps_retry = {.max_retry_count = -2};
	const bool ps = type == TYPE_PS;
	const struct replica_spec *spec = &read->types[type];
	struct job_role role = {.type = type_names[type], .replicas = spec->replicas};
	json_t *pod;

	if (spec->field.value == NULL)
		return 0;
	memcpy(role.name, role_names[type], strlen(role_names[type]));
	pod = build_pod(spec->template.value);
	if (type != TYPE_LOCAL && put_args(pod, job, out, read, type, err) < 0) {
		json_decref(pod);
		return -1;
	}
	put_labels(pod, job, read, type);
	build_role(out, &role, pod, ps ? BUILD_NEVER : 1, ps || spec->replicas == 0 ? BUILD_NEVER : spec->replicas,
		   ps ? &ps_retry : &worker_retry);
	return 0;
}

int caicloud_translate(const struct job *job, const struct json_field *spec, struct job_translation *out,
		       struct error *err)
{
	struct spec read;

	build_begin(job, out);
	if (read_spec(job, spec, &read, out, err) < 0)
		return -1;
	if (read.types[TYPE_LOCAL].field.value == NULL)
		build_network(out);
	/* workers first, as the original */
	if (put_role(job, &read, TYPE_WORKER, out, err) < 0 || put_role(job, &read, TYPE_PS, out, err) < 0)
		return -1;
	return put_role(job, &read, TYPE_LOCAL, out, err);
}

/* ---- status ----------------------------------------------------------------------------------------------------- */

static json_t *replica_status(const struct job_role *role, const struct replica_counts *counts)
{
	json_t *states = json_object();

	if (counts->pending > 0)
		json_object_set_new(states, "Pending", json_integer(counts->pending));
	if (counts->active > 0)
		json_object_set_new(states, "Running", json_integer(counts->active));
	if (counts->succeeded > 0)
		json_object_set_new(states, "Succeeded", json_integer(counts->succeeded));
	if (counts->failed > 0)
		json_object_set_new(states, "Failed", json_integer(counts->failed));
	return json_pack("{s:s, s:s, s:o}", "type", role->type, "state", "", "tfReplicasStates", states);
}

void caicloud_status(const struct job *job, const struct job_translation *translation, const struct progress *progress,
		     struct job_outcome *out)
{
	enum progress_end end = progress_end(progress);
	json_t *replicas = json_array();
	const char *reason = "";

	out->ended = end != PROGRESS_GOES_ON;
	/* members that nobody here writes stay */
	out->status = job->status == NULL ? json_object() : json_deep_copy(job->status);
	for (size_t i = 0; i < translation->role_count; i++) {
		struct replica_counts counts = progress_counts(progress, translation->roles[i].name);

		if (end != PROGRESS_GOES_ON)
			counts.active = counts.pending = 0;
		json_array_append_new(replicas, replica_status(&translation->roles[i], &counts));
	}
	if (end == PROGRESS_FAILED)
		reason = progress->diagnostics;
	json_object_set_new(out->status, "phase",
			    json_string(end == PROGRESS_SUCCEEDED ? "Succeeded"
					: end == PROGRESS_FAILED  ? "Failed"
								  : "Running"));
	json_object_set_new(out->status, "reason", json_string(reason));
	if (json_object_get(out->status, "conditions") == NULL)
		json_object_set_new(out->status, "conditions", json_array());
	json_object_set_new(out->status, "tfReplicaStatuses", replicas);
}

void caicloud_refuse(const struct job *job, const char *message, struct job_outcome *out)
{
	out->status = job->status == NULL ? json_object() : json_deep_copy(job->status);
	json_object_set_new(out->status, "phase", json_string("Failed"));
	json_object_set_new(out->status, "reason", json_string(message));
	json_array_append_new(out->events, json_pack("{s:s, s:s, s:s}", "type", "Warning", "reason", "FailedValidation",
						     "message", message));
}
