/* A Framework as fc-jobs needs it. Of a Framework that changes often most states are never looked at: until then it
 * stays text. */
#ifndef JOBS_VIEW_H
#define JOBS_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/framework/object.h"
#include "jobs/kinds/job.h"
#include "jobs/kinds/progress.h"

/* The annotation with which a Framework says which translation it was made from (job_note()). */
#define VIEW_TRANSLATION "frameworkcontroller.microsoft.com/job-translation"
/* The annotation that has the job's metadata.generation as of that translation. It is no part of the note: a change of
 * the job that leaves its translation as it is does not change the Framework. */
#define VIEW_GENERATION "frameworkcontroller.microsoft.com/job-generation"
/* The annotation with which a Framework that fc-jobs stops says why, if that is the API server's refusal of a Pod: the
 * Task's status does not say it any more once the Task has been stopped. */
#define VIEW_REFUSED "frameworkcontroller.microsoft.com/job-pod-refused"

struct view {
	struct object_identity identity;
	char *text; /* JSON, without metadata.managedFields; NULL after view_shed() */
	size_t len;

	/* filled by view_parse() */
	bool parsed;
	struct object_meta meta;
	struct json_span spec;   /* of the text */
	struct json_span status; /* of the text */
	char *note;              /* value of VIEW_TRANSLATION; NULL: none */
	int64_t job_generation;  /* of VIEW_GENERATION; 0: none */
	char *kind;              /* value of the label JOB_LABEL; NULL: none */
	bool stopped;            /* executionType is Stop */
	struct progress progress;
};

/* Takes over what object_identity_read() read from the JSON text of a Framework, and copies the text. view: the former
 * one, which becomes the new one; NULL: none. Free with view_free(); NULL is fine. */
struct view *view_renew(struct view *view, const struct object_identity *identity, const char *text, size_t len);
/* Keeps the identity alone. The functions below are for views that have a text. */
void view_shed(struct view *view);
/* Reads the text, once. 0, or -1 and *err each time if it is not JSON, or has a status that cannot be read. */
int view_parse(struct view *view, struct error *err);
/* Whether the text says that no end of the Framework's attempt is decided. It is read up to there only. */
bool view_goes_on(const struct view *view);
/* Whether the text says that the Framework is Completed. */
bool view_completed(const struct view *view);
/* The Framework's spec; the caller decrefs. NULL: none, or it cannot be read. Of a view that was parsed. */
json_t *view_spec(const struct view *view);
/* Whether the job is the Framework's controller. Of a view that was parsed, as the next one. */
bool view_is_of(const struct view *view, const struct job *job);
/* Whether the Framework, which is not the job's, is that of a former job of this name and kind: it goes with that job.
 */
bool view_is_former(const struct view *view, const struct job *job);
void view_free(struct view *view);

#endif
