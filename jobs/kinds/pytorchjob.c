/* PyTorchJob of kubeflow.org/v1 as a Framework. spec.distributed gives the Pods the environment of a launch of fixed
 * size; the environment of an elastic one is added here, as in kubeflow/training-operator 1.9,
 * pkg/controller.v1/pytorch/{envvar,elastic}.go. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/spec.h"
#include "jobs/kinds/kinds.h"
#include "jobs/kinds/kubeflow.h"

#define MASTER "Master"
#define WORKER "Worker"
/* The most processes of a Task that spec.distributed takes. */
enum { PROCESSES_MAX = 10000 };

static const struct kubeflow_kind kind = {
	.replica_specs = "pytorchReplicaSpecs",
	.container = "pytorch",
	.port_name = "pytorchjob-port",
	.port = 23456,
	.restart = RESTART_ON_FAILURE,
	.types = {MASTER, WORKER, NULL},
	.leaders = 1,
};

struct processes {
	int64_t count; /* 0: not a number */
	const char *text;
};

static int read_processes(const struct json_field *spec, struct processes *out, struct error *err)
{
	static const char *const words[] = {"auto", "cpu", "gpu"};
	const json_t *value = json_object_get(spec->value, "nprocPerNode");
	char *end;

	*out = (struct processes){.text = "auto"};
	if (value == NULL || json_is_null(value))
		return 0;
	out->text = json_is_string(value) ? json_string_value(value) : "";
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(out->text, words[i]) == 0)
			return 0;
	errno = 0;
	out->count = strtoll(out->text, &end, 10);
	if (!isdigit((unsigned char)out->text[0]) || *end != '\0' || errno != 0 || out->count < 1 ||
	    out->count > PROCESSES_MAX)
		return json_field_wrong(spec, "nprocPerNode", "auto, cpu, gpu or a number in 1..10000, as a string",
					err);
	return 0;
}

/* Sets a variable of all containers. */
static void put_env(struct kubeflow_job *read, const char *name, const char *value)
{
	for (size_t i = 0; i < read->count; i++) {
		json_t *container;
		size_t k;

		json_array_foreach(json_path(read->replicas[i].pod, "spec", "containers", NULL), k, container)
			if (json_is_object(container))
				build_env(container, name, value);
	}
}

static void put_env_number(struct kubeflow_job *read, const char *name, int64_t number)
{
	cleanup_free char *text = mem_printf("%lld", (long long)number);

	put_env(read, name, text);
}

/* ---- elasticPolicy ---------------------------------------------------------------------------------------------- */

struct elastic {
	struct json_field field;
	int64_t min;
	int64_t max;
	int64_t port;         /* 0: that of the Worker */
	int64_t processes;    /* 0: spec.nprocPerNode */
	int64_t max_restarts; /* -1: not given */
	bool standalone;
};

static int read_elastic_text(const struct json_field *policy, const char *name, struct error *err)
{
	const json_t *value = json_object_get(policy->value, name);

	return value == NULL || json_is_null(value) || json_is_string(value)
		       ? 0
		       : json_field_wrong(policy, name, "a string", err);
}

static int check_backend(const struct json_field *policy, struct error *err)
{
	const char *backend = json_str(policy->value, "rdzvBackend");

	if (read_elastic_text(policy, "rdzvBackend", err) < 0)
		return -1;
	return backend == NULL || strcmp(backend, "c10d") == 0 || strcmp(backend, "etcd") == 0 ||
			       strcmp(backend, "etcd-v2") == 0
		       ? 0
		       : json_field_wrong(policy, "rdzvBackend", "c10d, etcd or etcd-v2", err);
}

static int read_elastic(const struct json_field *spec, const struct kubeflow_replicas *worker, struct elastic *out,
			struct error *err)
{
	static const char *const known[] = {"maxReplicas",  "maxRestarts", "metrics",    "minReplicas",
					    "nProcPerNode", "rdzvBackend", "rdzvConf",   "rdzvHost",
					    "rdzvId",       "rdzvPort",    "standalone", NULL};
	struct json_field *policy = &out->field;
	struct json_field conf;

	*out = (struct elastic){.max_restarts = -1};
	if (json_field_object(spec, "elasticPolicy", policy, err) < 0)
		return -1;
	if (policy->value == NULL)
		return 0;
	if (worker == NULL)
		return error_set(err, "spec.pytorchReplicaSpecs.Worker is missing, expected with spec.elasticPolicy");
	if (build_known(policy, known, err) < 0)
		return -1;
	if (json_array_size(json_object_get(policy->value, "metrics")) > 0)
		return json_field_wrong(policy, "metrics", "none: fc-jobs makes no HorizontalPodAutoscaler", err);
	if (json_field_int(policy, "minReplicas", 1, TASK_NUMBER_MAX, &out->min, err) < 0 ||
	    json_field_int(policy, "maxReplicas", 1, TASK_NUMBER_MAX, &out->max, err) < 0 ||
	    json_field_int(policy, "maxRestarts", 0, INT32_MAX, &out->max_restarts, err) < 0 ||
	    json_field_int(policy, "nProcPerNode", 1, PROCESSES_MAX, &out->processes, err) < 0 ||
	    json_field_int(policy, "rdzvPort", 1, 65535, &out->port, err) < 0 ||
	    json_field_bool(policy, "standalone", &out->standalone, err) < 0 ||
	    json_field_list(policy, "rdzvConf", &conf, err) < 0 || read_elastic_text(policy, "rdzvHost", err) < 0 ||
	    read_elastic_text(policy, "rdzvId", err) < 0 || check_backend(policy, err) < 0)
		return -1;
	/* the defaults of training-operator's setElasticPolicy() */
	if (out->min == 0)
		out->min = out->max != 0 ? out->max : worker->role.replicas;
	if (out->max == 0)
		out->max = out->min;
	return out->min <= out->max ? 0 : json_field_wrong(policy, "minReplicas", "at most maxReplicas", err);
}

static void put_rendezvous(const struct job *job, const struct elastic *elastic, const struct kubeflow_replicas *worker,
			   const struct job_translation *out, struct kubeflow_job *read)
{
	const char *host = json_str(elastic->field.value, "rdzvHost");
	const char *backend = json_str(elastic->field.value, "rdzvBackend");
	const int64_t port = elastic->port != 0 ? elastic->port : worker->port;
	cleanup_free char *endpoint = host == NULL ? build_host(job, out, worker->role.name, "0", port)
						   : mem_printf("%s:%lld", host, (long long)port);

	put_env(read, "PET_RDZV_ENDPOINT", endpoint);
	put_env(read, "PET_RDZV_BACKEND", backend == NULL ? "c10d" : backend);
}

static void put_conf(const struct elastic *elastic, struct kubeflow_job *read)
{
	const json_t *conf = json_object_get(elastic->field.value, "rdzvConf");
	cleanup_buf struct buf text = {0};
	const json_t *item;
	size_t i;

	if (json_array_size(conf) == 0)
		return;
	json_array_foreach(conf, i, item) {
		const char *key = json_str(item, "key");
		const char *value = json_str(item, "value");

		buf_printf(&text, "%s%s=%s", i > 0 ? "," : "", key == NULL ? "" : key, value == NULL ? "" : value);
	}
	put_env(read, "PET_RDZV_CONF", text.data);
}

static void put_elastic(const struct job *job, const struct elastic *elastic, const struct processes *processes,
			const struct job_translation *out, struct kubeflow_job *read)
{
	const struct kubeflow_replicas *worker = kubeflow_find(read, WORKER);
	cleanup_free char *nodes = mem_printf("%lld:%lld", (long long)elastic->min, (long long)elastic->max);
	const char *id = json_str(elastic->field.value, "rdzvId");

	put_env(read, "PYTHONUNBUFFERED", "1");
	put_rendezvous(job, elastic, worker, out, read);
	put_env(read, "PET_NNODES", nodes);
	if (elastic->processes != 0)
		put_env_number(read, "PET_NPROC_PER_NODE", elastic->processes);
	else
		put_env(read, "PET_NPROC_PER_NODE", processes->text);
	if (elastic->max_restarts >= 0)
		put_env_number(read, "PET_MAX_RESTARTS", elastic->max_restarts);
	if (id != NULL)
		put_env(read, "PET_RDZV_ID", id);
	put_conf(elastic, read);
	if (elastic->standalone)
		put_env(read, "PET_STANDALONE", "1"); /* torchrun reads a number; the operator's "" stops it */
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

/* The launcher's environment of a fixed size. */
static void put_distributed(const struct kubeflow_job *read, const struct processes *processes,
			    struct job_translation *out)
{
	json_object_set_new(out->spec, "distributed",
			    json_pack("{s:s, s:I, s:o}", "kind", "PyTorch", "port", (json_int_t)read->replicas[0].port,
				      "processesPerTask",
				      processes->count != 0 ? json_integer(processes->count) : json_string("auto")));
}

/* With a Master it decides. Otherwise all Workers do, and of an elastic job any of them: the others have lost the one
 * that they trained with. */
static void put_success(struct kubeflow_job *read, bool elastic, struct job_translation *out)
{
	int64_t min_succeeded[JOB_ROLES_MAX];

	out->has_leader = kubeflow_find(read, MASTER) != NULL;
	for (size_t i = 0; i < read->count; i++)
		min_succeeded[i] = BUILD_NEVER;
	if (read->replicas[0].role.replicas > 0)
		min_succeeded[0] = elastic && !out->has_leader ? 1 : read->replicas[0].role.replicas;
	kubeflow_put_roles(read, min_succeeded, out);
}

static int translate(const struct job *job, const struct json_field *spec, struct kubeflow_job *read,
		     struct job_translation *out, struct error *err)
{
	static const char *const known[] = {"elasticPolicy", "nprocPerNode", "pytorchReplicaSpecs", "runPolicy", NULL};
	struct processes processes;
	struct elastic elastic;

	if (kubeflow_read(job, spec, &kind, known, read, out, err) < 0 || read_processes(spec, &processes, err) < 0 ||
	    read_elastic(spec, kubeflow_find(read, WORKER), &elastic, err) < 0)
		return -1;
	build_network(out);
	if (elastic.field.value != NULL)
		put_elastic(job, &elastic, &processes, out, read);
	else if (processes.count == 0 && strcmp(processes.text, "auto") != 0)
		put_env(read, "PET_NPROC_PER_NODE", processes.text); /* in place of that of spec.distributed */
	if (elastic.field.value == NULL || kubeflow_find(read, MASTER) != NULL)
		put_distributed(read, &processes, out);
	put_success(read, elastic.field.value != NULL, out);
	return 0;
}

int pytorchjob_translate(const struct job *job, const struct json_field *spec, struct job_translation *out,
			 struct error *err)
{
	struct kubeflow_job read;
	int result = translate(job, spec, &read, out, err);

	kubeflow_free(&read);
	return result;
}
