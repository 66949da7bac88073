/* From a job to its Framework, and from the Framework's status to the job's (jobs/README.md). Both directions are pure:
 * no I/O, no clock, no random numbers. */
#ifndef JOBS_TRANSLATE_H
#define JOBS_TRANSLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "jobs/kinds/job.h"
#include "jobs/kinds/progress.h"

enum { JOB_ROLES_MAX = 5, JOB_ROLE_NAME_SIZE = 12 };

/* A TaskRole of the Framework and the type of replicas that it stands for. */
struct job_role {
	char name[JOB_ROLE_NAME_SIZE]; /* "worker" */
	const char *type;              /* "Worker", as in the job's status */
	int32_t replicas;
	bool unlimited; /* its restarts do not count for the backoff_limit */
};

/* What becomes of a job. Free with job_translation_free(). */
struct job_translation {
	char framework[JOB_FRAMEWORK_NAME_SIZE];
	json_t *labels;   /* of the Framework */
	json_t *spec;     /* of the Framework, with executionType Start; job_status() does not read it */
	json_t *warnings; /* texts: fields that have no effect, with the reason */
	struct job_role roles[JOB_ROLES_MAX];
	size_t role_count;
	int64_t ttl_sec;       /* the job is deleted so long after its end; -1: never */
	int64_t backoff_limit; /* of accountable retries of all Tasks of roles that are not unlimited: with more the job
				  fails; -1: no limit */
	bool first_decides;    /* the job succeeds when Task 0 of the role "worker" has */
	bool dynamic;          /* Workers that fail do not end the job as long as others go on */
	bool suspend;          /* as in the spec */
	bool has_leader;       /* roles[0] decides about success: Chief or Master */
};

/* Whether the job's status says that it has ended. Nothing is done for it any more, but for its ttl_sec. */
bool job_finished(const struct job *job);
/* When it ended, in unix seconds; 0: it has not, or its status does not say. */
int64_t job_finish_time(const struct job *job);
/* Frees the labels, the spec and the status of a job that has ended: these two functions need none of them. */
void job_shed(struct job *job);

/* 0; or -1 and *err, if a field of the job is wrong or cannot be expressed as a Framework: the message names the field,
 * the found and the expected value. A caicloud TFJob has a spec.runtimeID by now. */
int job_translate(const struct job *job, struct job_translation *out, struct error *err);
void job_translation_free(struct job_translation *translation);

/* The job's status as it is to be. Free with job_outcome_free(). */
struct job_outcome {
	json_t *status; /* whole; equal to the job's if nothing has changed */
	json_t *events; /* of the job, about the changes: objects with type, reason and message */
	bool ended;     /* the status says that the job has ended */
	bool stop; /* the Framework is to be stopped: the job's end is decided, and nothing in the Framework decides it
		    */
};

/* progress: of the Framework; NULL: there is none yet, or it has no status. stopped: its executionType is Stop.
 * now_sec: unix seconds, for times of the status that are new. */
void job_status(const struct job *job, const struct job_translation *translation, const struct progress *progress,
		bool stopped, int64_t now_sec, struct job_outcome *out);
/* The status of a job that job_translate() refuses. */
void job_refuse(const struct job *job, const char *message, int64_t now_sec, struct job_outcome *out);
void job_outcome_free(struct job_outcome *outcome);

#endif
