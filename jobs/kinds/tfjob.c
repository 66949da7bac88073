/* TFJob of kubeflow.org/v1 as a Framework. TF_CONFIG is as in kubeflow/training-operator 1.9,
 * pkg/controller.v1/tensorflow/tensorflow.go, with the names of one headless Service in place of a Service for each
 * Pod. */
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/network.h"
#include "jobs/kinds/kinds.h"
#include "jobs/kinds/kubeflow.h"

#define EVALUATOR "Evaluator"
#define WORKER "Worker"
#define ALL_WORKERS "AllWorkers"
#define TF_CONFIG "TF_CONFIG"
/* In place of a host's index; no name has it. */
#define HOST_INDEX "%"

static const struct kubeflow_kind kind = {
	.replica_specs = "tfReplicaSpecs",
	.container = "tensorflow",
	.port_name = "tfjob-port",
	.port = 2222,
	.restart = RESTART_NEVER,
	.types = {"Chief", "Master", "PS", WORKER, EVALUATOR, NULL},
	.leaders = 2,
};

/* The hosts of a role, as a JSON array. */
static void put_hosts(struct buf *out, const struct job *job, const struct job_translation *translation,
		      const struct kubeflow_replicas *replicas)
{
	/* what differs from host to host stands in for itself */
	cleanup_free char *host = build_host(job, translation, replicas->role.name, HOST_INDEX, replicas->port);
	const char *index = strstr(host, HOST_INDEX);

	buf_json_open(out, replicas->role.name, '[');
	for (int32_t i = 0; i < replicas->role.replicas; i++) {
		buf_puts(out, i == 0 ? "\"" : ",\"");
		buf_append(out, host, (size_t)(index - host));
		buf_put_int(out, i);
		buf_puts(out, index + strlen(HOST_INDEX));
		buf_putc(out, '"');
	}
	buf_putc(out, ']');
}

/* Without the evaluator, which is not part of the training cluster. */
static void put_cluster(struct buf *out, const struct job *job, const struct job_translation *translation,
			const struct kubeflow_job *read)
{
	buf_json_open(out, "cluster", '{');
	for (size_t i = 0; i < read->count; i++)
		if (strcmp(read->replicas[i].role.type, EVALUATOR) != 0)
			put_hosts(out, job, translation, &read->replicas[i]);
	buf_putc(out, '}');
}

/* With enableDynamicWorker each Task knows itself, and Workers all PS: their number can change. */
static void put_sparse_cluster(struct buf *out, const struct job *job, const struct job_translation *translation,
			       struct kubeflow_job *read, const struct kubeflow_replicas *self)
{
	cleanup_free char *own = build_host(job, translation, self->role.name, BUILD_INDEX, self->port);
	const struct kubeflow_replicas *ps = kubeflow_find(read, "PS");

	buf_json_open(out, "sparseCluster", '{');
	buf_json_open(out, "worker", '{');
	if (strcmp(self->role.type, WORKER) == 0)
		buf_json_text(out, BUILD_INDEX, own);
	buf_putc(out, '}');
	if (strcmp(self->role.type, WORKER) == 0 && ps != NULL) {
		put_hosts(out, job, translation, ps);
	} else {
		buf_json_open(out, "ps", '[');
		if (self == ps)
			buf_json_string(out, own);
		buf_putc(out, ']');
	}
	buf_putc(out, '}');
}

static int put_tf_config(const struct job *job, const struct job_translation *translation, struct kubeflow_job *read,
			 struct kubeflow_replicas *self, struct error *err)
{
	cleanup_buf struct buf text = {0};
	size_t len;

	buf_putc(&text, '{');
	if (read->dynamic)
		put_sparse_cluster(&text, job, translation, read, self);
	else
		put_cluster(&text, job, translation, read);
	buf_json_open(&text, "task", '{');
	buf_json_text(&text, "type", self->role.name);
	buf_puts(&text, ",\"index\":" BUILD_INDEX "}");
	if (!read->dynamic)
		buf_json_text(&text, "environment", "cloud");
	buf_putc(&text, '}');
	len = strlen(TF_CONFIG) + 1 + build_length(text.data, self->role.replicas) + 1;
	if (len > VARIABLE_MAX)
		return error_set(err,
				 "the variable " TF_CONFIG
				 " of the replicas %s would have %zu bytes with the names of the "
				 "replicas, expected at most %d, which Linux takes: have fewer replicas, or a shorter "
				 "metadata.name",
				 self->role.type, len, VARIABLE_MAX);
	build_env(build_container(self->pod, kind.container), TF_CONFIG, text.data);
	return 0;
}

static int read_success_policy(const struct json_field *spec, bool *all_workers, struct error *err)
{
	const json_t *value = json_object_get(spec->value, "successPolicy");

	*all_workers = false;
	if (value == NULL || json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0))
		return 0;
	if (!json_is_string(value) || strcmp(json_string_value(value), ALL_WORKERS) != 0)
		return json_field_wrong(spec, "successPolicy", "\"\" or " ALL_WORKERS, err);
	*all_workers = true;
	return 0;
}

static int check_leaders(struct kubeflow_job *read, struct error *err)
{
	if (kubeflow_find(read, "Chief") == NULL || kubeflow_find(read, "Master") == NULL)
		return 0;
	return error_set(err, "spec.tfReplicaSpecs has Chief and Master, expected at most one of them");
}

/* With a Chief or Master it decides. Without one, all Workers do, or by default also Worker 0 alone, which the
 * Framework cannot say: job_status() does. */
static void put_success(struct kubeflow_job *read, bool all_workers, struct job_translation *out)
{
	int64_t min_succeeded[JOB_ROLES_MAX];

	for (size_t i = 0; i < read->count; i++)
		out->has_leader = out->has_leader || strcmp(read->replicas[i].role.type, "Chief") == 0 ||
				  strcmp(read->replicas[i].role.type, "Master") == 0;
	for (size_t i = 0; i < read->count; i++) {
		const struct job_role *role = &read->replicas[i].role;
		bool decides = out->has_leader ? i == 0 : strcmp(role->type, WORKER) == 0;

		min_succeeded[i] = decides && role->replicas > 0 ? role->replicas : BUILD_NEVER;
	}
	out->dynamic = read->dynamic;
	out->first_decides = !out->has_leader && !all_workers && kubeflow_find(read, WORKER) != NULL;
	kubeflow_put_roles(read, min_succeeded, out);
}

static int translate(const struct job *job, const struct json_field *spec, struct kubeflow_job *read,
		     struct job_translation *out, struct error *err)
{
	static const char *const known[] = {"enableDynamicWorker", "runPolicy", "successPolicy", "tfReplicaSpecs",
					    NULL};
	bool all_workers;

	if (kubeflow_read(job, spec, &kind, known, read, out, err) < 0 ||
	    json_field_bool(spec, "enableDynamicWorker", &read->dynamic, err) < 0 ||
	    read_success_policy(spec, &all_workers, err) < 0 || check_leaders(read, err) < 0)
		return -1;
	/* a single replica is not distributed: training-operator's isDistributed() */
	if (read->total != 1) {
		build_network(out);
		for (size_t i = 0; i < read->count; i++)
			if (put_tf_config(job, out, read, &read->replicas[i], err) < 0)
				return -1;
	}
	put_success(read, all_workers, out);
	return 0;
}

int tfjob_translate(const struct job *job, const struct json_field *spec, struct job_translation *out,
		    struct error *err)
{
	struct kubeflow_job read;
	int result = translate(job, spec, &read, out, err);

	kubeflow_free(&read);
	return result;
}
