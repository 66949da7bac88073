/* The jobs that fc-jobs runs as Frameworks (jobs/README.md): the kinds, and an object of one of them as it was read. */
#ifndef JOBS_JOB_H
#define JOBS_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum job_kind {
	JOB_CAICLOUD_TFJOB, /* kubeflow.caicloud.io/v1alpha1 TFJob */
	JOB_TFJOB,          /* kubeflow.org/v1 TFJob */
	JOB_PYTORCHJOB,     /* kubeflow.org/v1 PyTorchJob */
	JOB_KINDS,
};

/* The fixed names of a kind. */
struct job_names {
	const char *kind;
	const char *api_version; /* "kubeflow.org/v1" */
	const char *resource;    /* "tfjobs" */
	const char *full;        /* "tfjobs.kubeflow.org": the name of its CRD, and the value of JOB_LABEL (names.h) */
	const char *what;        /* for log lines */
	const char *operator_name; /* of the label training.kubeflow.org/operator-name; NULL: has none */
};
const struct job_names *job_names(enum job_kind kind);

/* An object of one of the kinds. Free with job_free(). */
struct job {
	enum job_kind kind;
	char *ns;
	char *name;
	char *uid;
	char *version;      /* metadata.resourceVersion */
	int64_t generation; /* 0: none */
	bool deleting;      /* it has a deletionTimestamp */
	json_t *labels;     /* an object or NULL; so is the status. Their members are unchecked */
	json_t *status;
	char *spec;             /* JSON text of an object, of which a tree can take 80 times the memory; NULL: none */
	bool managed_by_others; /* by spec.runPolicy.managedBy another controller runs it: it is left alone */
	bool has_runtime_id;    /* spec.runtimeID, which only caicloud's have, is a text and not empty */
	int64_t ttl_sec;        /* spec.runPolicy.ttlSecondsAfterFinished, unchecked; -1: none */
	bool shed;              /* by job_shed(): it has ended … */
	int64_t shed_time;      /* … then, as job_finish_time() */
	const char *gang_scheduler; /* of fc-jobs (--gang-scheduler-name); NULL: none. Set when it is translated */
};

/* Reads the JSON text of an object of the API server. 0, or -1 and *err if it is not JSON or has no name, namespace or
 * uid. */
int job_read(enum job_kind kind, const char *text, size_t len, struct job *out, struct error *err);
void job_free(struct job *job);

enum { JOB_FRAMEWORK_NAME_SIZE = 64 };

/* The name of the job's Framework: the job's own name if a Framework and a Service can have it, which means
 * ^[a-z][a-z0-9]{0,62}$. Otherwise the letters and digits of the name, at most 50, and eight hexadecimal digits that
 * the name and the kind determine. Returns out. */
char *job_framework_name(enum job_kind kind, const char *name, char out[JOB_FRAMEWORK_NAME_SIZE]);

#endif
