/* The parts that the jobs of kubeflow.org/v1 share: replica specs, runPolicy, labels of Pods. */
#ifndef JOBS_KUBEFLOW_H
#define JOBS_KUBEFLOW_H

#include "jobs/kinds/build.h"

/* restartPolicy of a replica spec. */
enum kubeflow_restart { RESTART_NEVER, RESTART_ON_FAILURE, RESTART_ALWAYS, RESTART_EXIT_CODE };

/* What a kind says about its replicas. */
struct kubeflow_kind {
	const char *replica_specs;     /* the member of spec: "tfReplicaSpecs" */
	const char *container;         /* whose exit code, environment and port count */
	const char *port_name;         /* of that container */
	int64_t port;                  /* if it has none of that name */
	enum kubeflow_restart restart; /* if the replica spec says nothing */
	/* In the order of the TaskRoles; ends with NULL. The types before `leaders` decide about success. */
	const char *types[JOB_ROLES_MAX + 1];
	size_t leaders;
};

/* One entry of the replica specs. */
struct kubeflow_replicas {
	struct job_role role;
	enum kubeflow_restart restart;
	int64_t port;
	json_t *pod; /* the Pod template with labels and restartPolicy; kubeflow_put_role() takes it */
};

struct kubeflow_job {
	const struct kubeflow_kind *kind;
	struct kubeflow_replicas replicas[JOB_ROLES_MAX];
	size_t count;
	int64_t total; /* replicas of all types */
	bool dynamic;  /* enableDynamicWorker: Workers that fail do not end the job */
};

/* Begins the translation with the members that both kinds have. `known` is the kind's members of spec and ends with
 * NULL. 0, or -1 and *err. Free *read in any case. */
int kubeflow_read(const struct job *job, const struct json_field *spec, const struct kubeflow_kind *kind,
		  const char *const *known, struct kubeflow_job *read, struct job_translation *out, struct error *err);
void kubeflow_free(struct kubeflow_job *read);
/* What becomes of runPolicy.schedulingPolicy (gang.c), when the replicas are read. 0, or -1 and *err. */
int kubeflow_put_gang(const struct job *job, const struct json_field *run_policy, struct kubeflow_job *read,
		      struct job_translation *out, struct error *err);
/* NULL: the job has no such replicas. */
struct kubeflow_replicas *kubeflow_find(struct kubeflow_job *read, const char *type);
/* Adds the TaskRoles, and what the restart policies make of exit codes. min_succeeded: of each of read->replicas. */
void kubeflow_put_roles(struct kubeflow_job *read, const int64_t *min_succeeded, struct job_translation *out);

/* The value of replicaStatuses.TYPE.selector. The caller frees. */
char *kubeflow_selector(const struct job *job, const struct job_role *role);

#endif
