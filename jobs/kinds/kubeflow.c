/* Replica specs and runPolicy of the jobs of kubeflow.org/v1; see kubeflow.h and jobs/README.md. The names and defaults
 * are those of kubeflow/training-operator 1.9:
 * pkg/apis/kubeflow.org/v1/{common,tensorflow,pytorch}_{types,defaults}.go. */
#include "jobs/kinds/kubeflow.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/spec.h"

#define LABEL_JOB "training.kubeflow.org/job-name"
#define LABEL_OPERATOR "training.kubeflow.org/operator-name"
#define LABEL_TYPE "training.kubeflow.org/replica-type"
#define LABEL_INDEX "training.kubeflow.org/replica-index"
#define LABEL_ROLE "training.kubeflow.org/job-role"

enum {
	/* RFC 1035: names of Services, which the operator makes of the job's name. */
	NAME_MAX_LEN = 63,
	/* restartPolicy ExitCode: 0 to 127 are permanent, the others are retried (RestartPolicyExitCode). */
	EXIT_RETRYABLE = 128,
	PORT_MAX = 65535,
	/* The completion codes of failures that are not retried, and of those that are; containers cannot exit with
	 * them. */
	CODE_PERMANENT = 1001,
	CODE_RETRIED = 1002,
};

/* Matches any text. */
#define ANY "(?s).*"

static const char *const restart_names[] = {
	[RESTART_NEVER] = "Never",
	[RESTART_ON_FAILURE] = "OnFailure",
	[RESTART_ALWAYS] = "Always",
	[RESTART_EXIT_CODE] = "ExitCode",
};

/* A text that the list must have; the list ends with NULL. */
static int check_text(const struct json_field *object, const char *name, const char *const *allowed,
		      const char *expected, struct error *err)
{
	const json_t *value = json_object_get(object->value, name);

	if (value == NULL || json_is_null(value))
		return 0;
	for (; *allowed != NULL; allowed++)
		if (json_is_string(value) && strcmp(json_string_value(value), *allowed) == 0)
			return 0;
	return json_field_wrong(object, name, expected, err);
}

/* The operator refuses other names, too (validation of the job's name as IsDNS1035Label). */
static int check_name(const struct job *job, struct error *err)
{
	size_t len = strlen(job->name);
	bool good = len <= NAME_MAX_LEN && job->name[0] >= 'a' && job->name[0] <= 'z' && job->name[len - 1] != '-';

	for (size_t i = 0; i < len && good; i++)
		good = islower((unsigned char)job->name[i]) || isdigit((unsigned char)job->name[i]) ||
		       job->name[i] == '-';
	return good ? 0
		    : error_set(err,
				"metadata.name is \"%s\", expected at most 63 lower case letters, digits and '-', "
				"beginning with a letter and not ending with '-'",
				job->name);
}

static int read_run_policy(const struct json_field *spec, struct json_field *policy, struct job_translation *out,
			   struct error *err)
{
	static const char *const known[] = {
		"activeDeadlineSeconds", "backoffLimit", "cleanPodPolicy",          "managedBy",
		"schedulingPolicy",      "suspend",      "ttlSecondsAfterFinished", NULL};
	static const char *const policies[] = {"", "All", "None", "Running", NULL};
	const char *clean;
	int64_t deadline = 0;

	if (json_field_object(spec, "runPolicy", policy, err) < 0 || build_known(policy, known, err) < 0 ||
	    json_field_int(policy, "activeDeadlineSeconds", 1, INT32_MAX, &deadline, err) < 0 ||
	    json_field_int(policy, "backoffLimit", 0, INT32_MAX, &out->backoff_limit, err) < 0 ||
	    json_field_int(policy, "ttlSecondsAfterFinished", 0, INT32_MAX, &out->ttl_sec, err) < 0 ||
	    json_field_bool(policy, "suspend", &out->suspend, err) < 0 ||
	    check_text(policy, "cleanPodPolicy", policies, "All, Running or None", err) < 0)
		return -1;
	clean = json_str(policy->value, "cleanPodPolicy");
	if (clean != NULL && (strcmp(clean, "None") == 0 || strcmp(clean, "Running") == 0))
		build_warn(out,
			   "spec.runPolicy.cleanPodPolicy %s has no effect: a Framework deletes each Pod when it has "
			   "ended",
			   clean);
	json_object_set_new(out->spec, "suspend", json_boolean(out->suspend));
	if (deadline > 0)
		json_object_set_new(out->spec, "activeDeadlineSec", json_integer(deadline));
	return 0;
}

static int read_restart(const struct json_field *replica, const struct kubeflow_kind *kind, enum kubeflow_restart *out,
			struct error *err)
{
	const json_t *value = json_object_get(replica->value, "restartPolicy");

	*out = kind->restart;
	if (value == NULL || json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(restart_names); i++) {
		if (json_is_string(value) && strcmp(json_string_value(value), restart_names[i]) == 0) {
			*out = (enum kubeflow_restart)i;
			return 0;
		}
	}
	return json_field_wrong(replica, "restartPolicy", "Always, OnFailure, Never or ExitCode", err);
}

/* The port of the kind's container, whatever is in its place; it is added to the container if it is not there. */
static int64_t take_port(json_t *container, const struct kubeflow_kind *kind)
{
	json_t *ports = json_object_get(container, "ports");
	const json_t *port = json_find(ports, "name", kind->port_name);

	if (port != NULL)
		return json_int(port, "containerPort", 0);
	if (!json_is_array(ports)) {
		json_object_set_new(container, "ports", json_array());
		ports = json_object_get(container, "ports");
	}
	json_array_append_new(ports, json_object_of("name", json_string(kind->port_name), "containerPort",
						    json_integer(kind->port), NULL));
	return kind->port;
}

/* Whether the kubelet restarts the containers, and not the Framework. With a backoffLimit restarts must be counted, and
 * a Framework knows only its own. */
static bool kubelet_restarts(enum kubeflow_restart restart, const struct job_translation *out)
{
	return out->backoff_limit < 0 && (restart == RESTART_ON_FAILURE || restart == RESTART_ALWAYS);
}

static void put_labels(const struct job *job, json_t *pod, const struct job_role *role, bool leader)
{
	build_label(pod, LABEL_JOB, job->name);
	build_label(pod, LABEL_OPERATOR, job_names(job->kind)->operator_name);
	build_label(pod, LABEL_TYPE, role->name);
	build_label(pod, LABEL_INDEX, BUILD_INDEX);
	if (leader)
		build_label(pod, LABEL_ROLE, "master");
}

static int read_template(const struct job *job, const struct json_field *replica, const struct kubeflow_kind *kind,
			 struct kubeflow_replicas *out, bool leader, struct job_translation *translation,
			 struct error *err)
{
	struct json_field template;
	json_t *container;

	if (json_field_object(replica, "template", &template, err) < 0)
		return -1;
	out->pod = build_pod(template.value);
	container = build_container(out->pod, kind->container);
	if (container == NULL)
		return error_set(err, "spec.%s.%s.template.spec.containers has no container named \"%s\", expected one",
				 kind->replica_specs, out->role.type, kind->container);
	if (json_object_get(json_object_get(out->pod, "spec"), "restartPolicy") != NULL)
		build_warn(translation,
			   "spec.%s.%s.template.spec.restartPolicy has no effect: restartPolicy of the replicas "
			   "replaces it",
			   kind->replica_specs, out->role.type);
	out->port = take_port(container, kind);
	if (out->port < 1 || out->port > PORT_MAX)
		return error_set(err,
				 "spec.%s.%s.template.spec.containers: the port \"%s\" of the container \"%s\" has no "
				 "containerPort in 1..%d",
				 kind->replica_specs, out->role.type, kind->port_name, kind->container, PORT_MAX);
	json_object_set_new(
		json_object_get(out->pod, "spec"), "restartPolicy",
		json_string(kubelet_restarts(out->restart, translation) ? restart_names[out->restart] : "Never"));
	put_labels(job, out->pod, &out->role, leader);
	return 0;
}

/* The type with this name in any case, as the operator reads them; NULL: none. */
static const char *find_type(const struct kubeflow_kind *kind, const char *name)
{
	for (const char *const *type = kind->types; *type != NULL; type++)
		if (strcasecmp(*type, name) == 0)
			return *type;
	return NULL;
}

static int read_replicas(const struct job *job, const struct json_field *specs, const char *type, const char *name,
			 struct kubeflow_job *read, struct job_translation *out, struct error *err)
{
	static const char *const known[] = {"replicas", "restartPolicy", "template", NULL};
	struct kubeflow_replicas *replicas = &read->replicas[read->count];
	struct json_field replica;
	bool leader = false;

	for (size_t i = 0; i < read->kind->leaders; i++)
		leader = leader || type == read->kind->types[i];
	*replicas = (struct kubeflow_replicas){.role = {.type = type, .replicas = 1}};
	for (size_t i = 0; i < JOB_ROLE_NAME_SIZE - 1 && type[i] != '\0'; i++)
		replicas->role.name[i] = (char)tolower((unsigned char)type[i]);
	read->count++;
	if (json_field_object(specs, name, &replica, err) < 0 || build_known(&replica, known, err) < 0 ||
	    json_field_int32(&replica, "replicas", 0, TASK_NUMBER_MAX, &replicas->role.replicas, err) < 0 ||
	    read_restart(&replica, read->kind, &replicas->restart, err) < 0)
		return -1;
	if (leader && replicas->role.replicas != 1)
		return json_field_wrong(&replica, "replicas", "1", err);
	read->total += replicas->role.replicas;
	return read_template(job, &replica, read->kind, replicas, leader, out, err);
}

static int refuse_type(const struct kubeflow_kind *kind, const char *found, struct error *err)
{
	cleanup_buf struct buf expected = {0};

	for (const char *const *type = kind->types; *type != NULL; type++)
		buf_printf(&expected, "%s%s", expected.len > 0 ? ", " : "", *type);
	return error_set(err, "spec.%s has replicas of type %.64s, expected one of %s", kind->replica_specs, found,
			 expected.data);
}

/* In the order of the kind's types, whatever the order of the members is. */
static int read_all_replicas(const struct job *job, const struct json_field *spec, struct kubeflow_job *read,
			     struct job_translation *out, struct error *err)
{
	struct json_field specs = {0};
	const char *name;
	json_t *value;

	if (json_field_object(spec, read->kind->replica_specs, &specs, err) < 0)
		return -1;
	if (json_object_size(specs.value) == 0)
		return json_field_wrong(spec, read->kind->replica_specs, "replicas of at least one type", err);
	json_object_foreach((json_t *)specs.value, name, value)
		if (find_type(read->kind, name) == NULL)
			return refuse_type(read->kind, name, err);
	for (const char *const *type = read->kind->types; *type != NULL; type++) {
		const char *found = NULL;

		json_object_foreach((json_t *)specs.value, name, value) {
			if (find_type(read->kind, name) != *type)
				continue;
			if (found != NULL)
				return json_field_wrong(&specs, name, "replicas of each type once", err);
			found = name;
		}
		if (found != NULL && read_replicas(job, &specs, *type, found, read, out, err) < 0)
			return -1;
	}
	return 0;
}

int kubeflow_read(const struct job *job, const struct json_field *spec, const struct kubeflow_kind *kind,
		  const char *const *known, struct kubeflow_job *read, struct job_translation *out, struct error *err)
{
	struct json_field run_policy;

	*read = (struct kubeflow_job){.kind = kind};
	build_begin(job, out);
	json_object_set_new(out->labels, LABEL_JOB, json_string(job->name));
	json_object_set_new(out->labels, LABEL_OPERATOR, json_string(job_names(job->kind)->operator_name));
	if (check_name(job, err) < 0 || build_known(spec, known, err) < 0 ||
	    read_run_policy(spec, &run_policy, out, err) < 0 || read_all_replicas(job, spec, read, out, err) < 0)
		return -1;
	return kubeflow_put_gang(job, &run_policy, read, out, err);
}

void kubeflow_free(struct kubeflow_job *read)
{
	for (size_t i = 0; i < read->count; i++)
		json_decref(read->replicas[i].pod);
	read->count = 0;
}

struct kubeflow_replicas *kubeflow_find(struct kubeflow_job *read, const char *type)
{
	for (size_t i = 0; i < read->count; i++)
		if (strcmp(read->replicas[i].role.type, type) == 0)
			return &read->replicas[i];
	return NULL;
}

/* An entry of podFailureSpec for the role's Pods; the patterns' reference is taken over. Without an attribute
 * maxRetryCount decides about the retry, and accountableRetriedCount contains it (CONTRACT.md §9.3). */
static void put_failure(struct job_translation *out, const struct kubeflow_job *read,
			const struct kubeflow_replicas *replicas, bool permanent, const char *phrase, json_t *patterns)
{
	cleanup_free char *pods = mem_printf("^%s-%s-[0-9]+$", out->framework, replicas->role.name);
	json_t *failures = json_object_get(out->spec, "podFailureSpec");
	json_t *pattern;
	size_t i;

	json_array_foreach(patterns, i, pattern)
		json_object_set_new(pattern, "nameRegex", json_string(pods));
	if (failures == NULL) {
		json_object_set_new(out->spec, "podFailureSpec", json_array());
		failures = json_object_get(out->spec, "podFailureSpec");
	}
	json_array_append_new(
		failures, json_pack("{s:i, s:s, s:{s:o}, s:o}", "code",
				    (permanent ? CODE_PERMANENT : CODE_RETRIED) + 2 * (int)(replicas - read->replicas),
				    "phrase", phrase, "type", "attributes",
				    permanent ? json_pack("[s]", "Permanent") : json_array(), "podPatterns", patterns));
}

/* The operator's IsRetryableExitCode() refuses 0, too: then another container has failed. */
static void put_exit_codes(struct job_translation *out, const struct kubeflow_job *read,
			   const struct kubeflow_replicas *replicas)
{
	cleanup_free char *container = mem_printf("^%s$", read->kind->container);

	put_failure(out, read, replicas, true, "PermanentExitCode",
		    json_pack("[{s:[{s:s, s:{s:i, s:i}}]}]", "containers", "nameRegex", container, "codeRange", "min",
			      0, "max", EXIT_RETRYABLE - 1));
	put_failure(out, read, replicas, false, "RetryableExitCode",
		    json_pack("[{s:[{s:s, s:{s:i}}]}]", "containers", "nameRegex", container, "codeRange", "min",
			      EXIT_RETRYABLE));
}

/* The containers of a Pod that failed, as the diagnostics show them. */
static json_t *failed_containers(void)
{
	return json_pack("[{s:s, s:s, s:s, s:{s:i}}]", "nameRegex", ANY, "reasonRegex", ANY, "messageRegex", ANY,
			 "codeRange", "min", 1);
}

/* All failures count, whatever the configuration says of them, and a Pod that somebody deletes does not. The
 * diagnostics show what a pattern names. */
static void put_counted(struct job_translation *out, const struct kubeflow_job *read,
			const struct kubeflow_replicas *replicas)
{
	put_failure(out, read, replicas, false, "ReplicaFailed",
		    json_pack("[{s:o}, {s:s, s:s}]", "containers", failed_containers(), "reasonRegex", ANY,
			      "messageRegex", ANY));
}

/* A Pod that failed by itself ends the job, whatever the configuration says of its exit code. One that Kubernetes has
 * ended or refused has a reason of its own, and is retried. */
static void put_never(struct job_translation *out, const struct kubeflow_job *read,
		      const struct kubeflow_replicas *replicas)
{
	put_failure(out, read, replicas, true, "ReplicaFailed",
		    json_pack("[{s:s, s:s, s:o}, {s:s, s:s}]", "reasonRegex", "^$", "messageRegex", ANY, "containers",
			      failed_containers(), "reasonRegex", "^(DeadlineExceeded)?$", "messageRegex", ANY));
}

/* A backoffLimit counts accountable retries, which a deleted Pod leads to without fancyRetryPolicy. backoff_limit -1 is
 * maxRetryCount -1: no limit. */
static struct build_retry retry_of(enum kubeflow_restart restart, const struct job_translation *out)
{
	const bool counted = out->backoff_limit >= 0;

	switch (restart) {
	case RESTART_ALWAYS: return (struct build_retry){.fancy = counted, .max_retry_count = -2};
	case RESTART_ON_FAILURE: return (struct build_retry){.fancy = counted, .max_retry_count = out->backoff_limit};
	case RESTART_EXIT_CODE: return (struct build_retry){.fancy = true, .max_retry_count = out->backoff_limit};
	case RESTART_NEVER: break;
	}
	return (struct build_retry){.fancy = true, .max_retry_count = -1};
}

void kubeflow_put_roles(struct kubeflow_job *read, const int64_t *min_succeeded, struct job_translation *out)
{
	for (size_t i = 0; i < read->count; i++) {
		struct kubeflow_replicas *replicas = &read->replicas[i];
		const struct build_retry retry = retry_of(replicas->restart, out);
		bool worker = strcmp(replicas->role.type, "Worker") == 0;

		replicas->role.unlimited = replicas->restart == RESTART_NEVER;
		if (replicas->restart == RESTART_EXIT_CODE)
			put_exit_codes(out, read, replicas);
		else if (replicas->restart == RESTART_NEVER)
			put_never(out, read, replicas);
		else if (out->backoff_limit >= 0)
			put_counted(out, read, replicas);
		build_role(out, &replicas->role, replicas->pod, read->dynamic && worker ? BUILD_NEVER : 1,
			   min_succeeded[i], &retry);
		replicas->pod = NULL;
	}
}

char *kubeflow_selector(const struct job *job, const struct job_role *role)
{
	return mem_printf(LABEL_JOB "=%s," LABEL_OPERATOR "=%s," LABEL_TYPE "=%s", job->name,
			  job_names(job->kind)->operator_name, role->name);
}
