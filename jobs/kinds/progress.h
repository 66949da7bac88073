/* What a Framework's status says of a job's work. Only the few members that jobs show are read, without a tree of the
 * rest: a Framework's status changes far more often than its job's. */
#ifndef JOBS_PROGRESS_H
#define JOBS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/json_reader.h"

/* Tasks of a role, in the words of jobs. */
struct replica_counts {
	int64_t pending;
	int64_t active; /* their Pods run */
	int64_t succeeded;
	int64_t failed;     /* their last Pod failed, and no other one runs yet */
	int64_t restarting; /* of those that failed: their retry is decided, or has begun */
	int64_t stopped;    /* Pods that ran when the Framework's attempt ended */
	int64_t tasks;      /* all of them … */
	int64_t completed;  /* … and those whose end nothing changes any more */
};

struct progress_role {
	char *name;
	struct replica_counts counts;
	int64_t retried;      /* accountable retries of all Tasks that stay */
	bool first_succeeded; /* the last Pod of Task 0 … */
	bool first_completed; /* … and it is not retried */
	/* Of the first Task that failed and is retried. */
	size_t failed_index;
	int32_t failed_code;
	char *failed_diagnostics; /* shortened; NULL: there is none */
};

/* Whether the Framework's result is decided. An attempt that was suspended is no result; other attempts are not
 * retried, because jobs make Frameworks without retries. */
enum progress_end { PROGRESS_GOES_ON, PROGRESS_SUCCEEDED, PROGRESS_FAILED };

struct progress {
	bool present;   /* the Framework has a status; the rest is zero without */
	bool suspended; /* its condition Suspended is True */
	struct progress_role *roles;
	size_t role_count;
	bool suspending; /* its attempt has ended because it is suspended: what its Tasks become now is no result */
	enum progress_end end;
	int32_t code;       /* of the end */
	char *diagnostics;  /* of the end; never NULL when there is one */
	bool triggered;     /* a Task decided the end */
	char *trigger_role; /* the name of its role; NULL: not said */
	char *refused;      /* diagnostics of a Task whose Pod the API server refuses for good; NULL: there is none */
	bool refused_again; /* such a Task is retried all the same */
};

/* Reads the next value, a Framework's status, compressed or not. Members of a wrong type count as absent. 0, or -1 and
 * *err if what is compressed is not JSON. Free in either case. */
int progress_read(struct json_reader *reader, struct progress *out, struct error *err);
void progress_free(struct progress *progress);

/* progress NULL, or a role that it does not have: zeroes. */
struct replica_counts progress_counts(const struct progress *progress, const char *role);
/* What ended the first Task of the role that failed and is retried: "Worker 0 ended with code 1: …", with the type of
 * replicas. NULL: there is none. The caller frees. */
char *progress_failure(const struct progress *progress, const char *role, const char *type);
/* NULL and an absent one go on. */
enum progress_end progress_end(const struct progress *progress);
/* Accountable retries of the role's Tasks that stay. */
int64_t progress_retried(const struct progress *progress, const char *role);
/* Whether Task 0 of the role has succeeded for good. */
bool progress_first_succeeded(const struct progress *progress, const char *role);

#endif
