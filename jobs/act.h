/* What is done for a job: compares what there is with what is wanted, and sends at most one request at a time. */
#ifndef JOBS_ACT_H
#define JOBS_ACT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/random.h"
#include "common/base/rate.h"
#include "common/kube/client.h"
#include "jobs/events.h"
#include "jobs/store.h"

struct act_counters {
	uint64_t created;   /* Frameworks */
	uint64_t patched;   /* Frameworks */
	uint64_t statuses;  /* written */
	uint64_t deleted;   /* jobs whose ttlSecondsAfterFinished was over */
	uint64_t refused;   /* jobs */
	uint64_t conflicts; /* names that foreign Frameworks have */
	uint64_t failed;    /* requests */
};

struct act {
	struct job_store *store;
	struct kube_client *client;
	struct job_events *events;
	const char *gang_scheduler;         /* NULL: none */
	struct random random;               /* these four: act_init() */
	struct token_bucket changes;        /* of statuses of jobs that go on */
	struct token_bucket repetitions;    /* Events that say what conditions say */
	double answer_ms;                   /* how long answers to statuses took lately */
	bool status_subresource[JOB_KINDS]; /* the kind's CRD has one */
	bool passed_over;                   /* this process did not lead when it took jobs from the queue */
	bool (*leads)(void *arg);
	void (*doubt)(void *arg, enum job_kind kind); /* status_subresource[kind] may be out of date */
	void *arg;
	struct act_counters counters;
};

/* The rest is the caller's. */
void act_init(struct act *act);

/* Looks at the jobs of the queue: at most so many, and none after that time, in boot milliseconds, but for the first.
 * True: more may be left. While this process does not lead, only the jobs' news are read. Does nothing while Frameworks
 * have not been listed. */
bool act_run(struct act *act, size_t most, int64_t until_ms);

#endif
