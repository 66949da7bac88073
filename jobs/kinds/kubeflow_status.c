/* The status of jobs of kubeflow.org/v1. Reasons, messages and their order are those of kubeflow/training-operator 1.9:
 * pkg/controller.v1/{common/job,tensorflow/tfjob_controller,pytorch/pytorchjob_controller}.go. */
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "common/framework/workload.h"
#include "jobs/kinds/conditions.h"
#include "jobs/kinds/kinds.h"
#include "jobs/kinds/kubeflow.h"

/* How the job ends. */
enum end_reason {
	END_NONE,
	END_SUCCEEDED,
	END_REPLICAS,
	END_BACKOFF_LIMIT,
	END_REFUSED, /* the API server refuses Pods */
	END_DEADLINE,
	END_STOPPED,
	END_OTHER
};

struct work {
	const struct job *job;
	const struct job_translation *translation;
	const struct progress *progress;
	struct job_outcome *out;
	json_t *conditions;
	int64_t now_sec;
	struct replica_counts counts[JOB_ROLES_MAX];
};

/* event_type NULL: there is no Event. */
static void set_and_tell(struct work *work, const char *type, bool value, const char *reason_end, const char *message,
			 const char *event_type, const char *event_message)
{
	cleanup_free char *reason = mem_printf("%s%s", job_names(work->job->kind)->kind, reason_end);

	if (condition_set(work->conditions, type, value, reason, message, work->now_sec) && event_type != NULL)
		json_array_append_new(work->out->events,
				      json_object_of("type", json_string(event_type), "reason", json_string(reason),
						     "message", json_string(event_message), NULL));
}

static void set(struct work *work, const char *type, bool value, const char *reason_end, const char *event_type,
		const char *message)
{
	set_and_tell(work, type, value, reason_end, message, event_type, message);
}

static void set_time(struct work *work, const char *name)
{
	char text[TIME_RFC3339_SIZE];

	json_object_set_new(work->out->status, name, json_string(time_format_rfc3339(work->now_sec, text)));
}

/* The stored status, to be changed: its members are shared and stay as they are, but for the list of conditions. */
static void begin(struct work *work)
{
	json_t *stored = json_object_get(work->job->status, "conditions");
	cleanup_free char *message = NULL;

	work->out->status = work->job->status == NULL ? json_object() : json_copy(work->job->status);
	work->conditions = json_is_array(stored) ? json_copy(stored) : json_array();
	json_object_set_new(work->out->status, "conditions", work->conditions);
	if (condition_exists(work->conditions, "Created"))
		return;
	message = mem_printf("%s %s is created.", job_names(work->job->kind)->kind, work->job->name);
	set(work, "Created", true, "Created", NULL, message);
}

/* By the user, or in a queue of Kueue, which suspends the Framework. */
static bool is_suspended(const struct work *work)
{
	return work->progress != NULL && work->progress->suspended;
}

static bool is_queued(const struct work *work)
{
	return json_str(work->job->labels, KUEUE_QUEUE_LABEL) != NULL;
}

static void put_suspension(struct work *work)
{
	const char *kind = job_names(work->job->kind)->kind;
	bool wanted = work->translation->suspend || is_suspended(work);
	cleanup_free char *message = mem_printf("%s %s is %s.", kind, work->job->name,
						wanted ? "suspended" : "resumed");

	if (!wanted) {
		if (is_queued(work) && work->progress == NULL)
			return; /* its Framework will say */
		if (condition_is_true(work->conditions, "Suspended")) {
			set(work, "Suspended", false, "Resumed", "Normal", message);
			set_time(work, "startTime");
		}
		return;
	}
	if (!is_suspended(work))
		return;
	if (condition_is_true(work->conditions, "Running"))
		set(work, "Running", false, "Suspended", NULL, message);
	set(work, "Suspended", true, "Suspended", "Normal", message);
}

static void put_number(json_t *object, const char *name, int64_t number)
{
	if (number > 0)
		json_object_set_new(object, name, json_integer(number));
}

static void put_replicas(struct work *work, enum end_reason end)
{
	json_t *all = json_object();

	for (size_t i = 0; i < work->translation->role_count; i++) {
		const struct job_role *role = &work->translation->roles[i];
		struct replica_counts *counts = &work->counts[i];
		cleanup_free char *selector = kubeflow_selector(work->job, role);
		json_t *replica = json_object();

		/* Replicas that ran when the job succeeded count as succeeded. When it failed, their Pods end. */
		if (end == END_SUCCEEDED)
			counts->succeeded += counts->active + counts->stopped;
		if (end != END_NONE)
			counts->active = 0;
		put_number(replica, "active", counts->active);
		put_number(replica, "succeeded", counts->succeeded);
		put_number(replica, "failed", counts->failed);
		json_object_set_new(replica, "selector", json_string(selector));
		json_object_set_new(all, role->type, replica);
	}
	json_object_set_new(work->out->status, "replicaStatuses", all);
}

static int64_t count_restarts(const struct work *work)
{
	int64_t count = 0;

	for (size_t i = 0; i < work->translation->role_count; i++)
		if (!work->translation->roles[i].unlimited)
			count += progress_retried(work->progress, work->translation->roles[i].name);
	return count;
}

/* Whether the replica that decided the end has restarts without limit. */
static bool decided_unlimited(const struct work *work)
{
	const char *name = work->progress->trigger_role;

	for (size_t i = 0; i < work->translation->role_count; i++)
		if (name != NULL && strcmp(work->translation->roles[i].name, name) == 0)
			return work->translation->roles[i].unlimited;
	return false;
}

static bool over_limit(const struct work *work)
{
	return work->translation->backoff_limit >= 0 && count_restarts(work) > work->translation->backoff_limit;
}

/* No Worker is left, and not all have succeeded. */
static bool workers_failed(const struct work *work)
{
	const struct job_translation *translation = work->translation;

	for (size_t i = 0; i < translation->role_count; i++) {
		const struct replica_counts *counts = &work->counts[i];

		if (strcmp(translation->roles[i].name, "worker") == 0)
			return counts->tasks >= translation->roles[i].replicas && counts->completed == counts->tasks &&
			       counts->failed > 0;
	}
	return false;
}

/* The API server refuses the Pod of a Task for good, which only a changed template changes. If the policy of the Task
 * refuses the retry, the Framework decides what follows. */
static bool is_refused(const struct progress *progress)
{
	return progress != NULL && progress->refused != NULL &&
	       (progress->refused_again || progress->end != PROGRESS_GOES_ON);
}

/* The end that the Framework's stop stands for, or will. */
static enum end_reason stop_reason(const struct work *work)
{
	if (work->translation->first_decides && progress_first_succeeded(work->progress, "worker"))
		return END_SUCCEEDED;
	if (work->progress != NULL && work->progress->suspending)
		return END_NONE;
	if (work->translation->dynamic && !work->translation->has_leader && workers_failed(work))
		return END_REPLICAS;
	if (over_limit(work))
		return END_BACKOFF_LIMIT;
	return is_refused(work->progress) ? END_REFUSED : END_NONE;
}

static enum end_reason end_of(const struct work *work, bool stopped)
{
	enum progress_end end = progress_end(work->progress);
	enum end_reason reason = stop_reason(work);

	/* Worker 0 decides, also when another one has failed before the Framework was stopped. */
	if (end == PROGRESS_SUCCEEDED || (end == PROGRESS_FAILED && reason == END_SUCCEEDED))
		return reason == END_REPLICAS ? END_REPLICAS : END_SUCCEEDED;
	if (end == PROGRESS_GOES_ON) {
		/* The stop is stored first: nothing is done for a job that has ended. */
		if (reason != END_NONE)
			work->out->stop = true;
		return stopped ? reason : END_NONE;
	}
	switch (work->progress->code) {
	case CODE_STOP_FRAMEWORK_REQUESTED: return reason != END_NONE ? reason : END_STOPPED;
	case CODE_ACTIVE_DEADLINE_EXCEEDED: return END_DEADLINE;
	case CODE_POD_CREATION_PERMANENT_ERROR:
	case CODE_POD_CREATION_UNKNOWN_ERROR: return END_OTHER;
	default: break;
	}
	if (!work->progress->triggered)
		return END_OTHER;
	return work->translation->backoff_limit > 0 && count_restarts(work) >= work->translation->backoff_limit &&
			       !decided_unlimited(work)
		       ? END_BACKOFF_LIMIT
		       : END_REPLICAS;
}

/* Replicas of the role that decided. */
static char *replicas_message(const struct work *work)
{
	const char *name = stop_reason(work) == END_REPLICAS ? "worker" : work->progress->trigger_role;
	const struct job *job = work->job;

	for (size_t i = 0; i < work->translation->role_count; i++) {
		const struct job_role *role = &work->translation->roles[i];

		if (name == NULL || strcmp(role->name, name) != 0)
			continue;
		return job->kind == JOB_PYTORCHJOB
			       ? mem_printf("PyTorchJob %s is failed because %lld %s replica(s) failed.", job->name,
					    (long long)work->counts[i].failed, role->type)
			       : mem_printf("TFJob %s/%s has failed because %lld %s replica(s) failed.", job->ns,
					    job->name, (long long)work->counts[i].failed, role->type);
	}
	return mem_printf("Job %s has failed: %s", job->name, work->progress->diagnostics);
}

static char *failure_message(const struct work *work, enum end_reason end)
{
	const char *name = work->job->name;

	switch (end) {
	case END_REPLICAS: return replicas_message(work);
	case END_BACKOFF_LIMIT:
		return mem_printf("Job %s has failed because it has reached the specified backoff limit", name);
	case END_REFUSED: return mem_printf("Job %s has failed: %s", name, work->progress->refused);
	case END_DEADLINE:
		return mem_printf("Job %s has failed because it was active longer than specified deadline", name);
	case END_STOPPED: return mem_printf("Job %s has failed because its Framework was stopped", name);
	default: return mem_printf("Job %s has failed: %s", name, work->progress->diagnostics);
	}
}

static char *success_message(const struct work *work)
{
	const struct job *job = work->job;

	if (job->kind == JOB_PYTORCHJOB && work->translation->has_leader)
		return mem_printf("PyTorchJob %s is successfully completed.", job->name);
	return mem_printf("%s %s/%s successfully completed.", job_names(job->kind)->kind, job->ns, job->name);
}

static void put_end(struct work *work, enum end_reason end)
{
	cleanup_free char *message = end == END_SUCCEEDED ? success_message(work) : failure_message(work, end);

	work->out->ended = true;
	set_time(work, "completionTime");
	if (end == END_SUCCEEDED)
		set(work, "Succeeded", true, "Succeeded", "Normal", message);
	else
		set(work, "Failed", true, "Failed", "Warning", message);
}

static void put_restarting(struct work *work, const struct job_role *role)
{
	const struct job *job = work->job;
	cleanup_free char *message = mem_printf("%s %s is restarting because %s replica(s) failed.",
						job_names(job->kind)->kind, job->name, role->type);
	cleanup_free char *failure = progress_failure(work->progress, role->name, role->type);
	cleanup_free char *whole = failure == NULL ? mem_strdup(message) : mem_printf("%s %s", message, failure);

	/* Events of equal texts are one with a count. */
	set_and_tell(work, "Restarting", true, "Restarting", whole, "Warning", message);
}

/* The role whose Tasks make the job Running: Chief or Master, else Worker, else the first one. */
static size_t running_role(const struct job_translation *translation)
{
	for (size_t i = 0; i < translation->role_count && !translation->has_leader; i++)
		if (strcmp(translation->roles[i].name, "worker") == 0)
			return i;
	return 0;
}

static void put_progress(struct work *work)
{
	const struct job *job = work->job;
	cleanup_free char *message = job->kind == JOB_PYTORCHJOB && work->translation->has_leader
					     ? mem_printf("PyTorchJob %s is running.", job->name)
					     : mem_printf("%s %s/%s is running.", job_names(job->kind)->kind, job->ns,
							  job->name);

	for (size_t i = 0; i < work->translation->role_count; i++) {
		if (work->counts[i].restarting > 0) {
			put_restarting(work, &work->translation->roles[i]);
			return;
		}
	}
	if (work->counts[running_role(work->translation)].active > 0)
		set(work, "Running", true, "Running", NULL, message);
}

/* A job in a queue starts when its Framework says that it is admitted. */
static bool has_started(const struct work *work)
{
	return !work->translation->suspend && !is_suspended(work) && (!is_queued(work) || work->progress != NULL);
}

void kubeflow_status(const struct job *job, const struct job_translation *translation, const struct progress *progress,
		     bool stopped, int64_t now_sec, struct job_outcome *out)
{
	struct work work = {
		.job = job, .translation = translation, .progress = progress, .out = out, .now_sec = now_sec};
	enum end_reason end;

	begin(&work);
	for (size_t i = 0; i < translation->role_count; i++)
		work.counts[i] = progress_counts(progress, translation->roles[i].name);
	end = end_of(&work, stopped);
	if (end == END_NONE)
		put_suspension(&work);
	if (json_object_get(out->status, "startTime") == NULL && has_started(&work))
		set_time(&work, "startTime");
	put_replicas(&work, end);
	if (end != END_NONE)
		put_end(&work, end);
	else if (stop_reason(&work) == END_NONE)
		put_progress(&work); /* else the end is decided: nothing starts again */
}

void kubeflow_refuse(const struct job *job, const char *message, int64_t now_sec, struct job_outcome *out)
{
	struct work work = {.job = job, .out = out, .now_sec = now_sec};
	cleanup_free char *text = mem_printf("%s failed validation because %s", job_names(job->kind)->kind, message);

	begin(&work);
	if (json_object_get(out->status, "replicaStatuses") == NULL)
		json_object_set_new(out->status, "replicaStatuses", json_object());
	set_time(&work, "completionTime");
	set(&work, "Failed", true, "FailedValidation", "Warning", text);
}
