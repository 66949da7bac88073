/* A Framework as fc-jobs needs it. Of a Framework that changes often most states are never looked at: until then it
 * stays text. */
#ifndef JOBS_VIEW_H
#define JOBS_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/framework/object.h"
#include "jobs/kinds/progress.h"

/* The annotation with which a Framework says which translation it was made from (job_note()). */
#define VIEW_TRANSLATION "frameworkcontroller.microsoft.com/job-translation"

struct view {
	char *version; /* metadata.resourceVersion */
	char *text;    /* JSON */
	size_t len;

	/* filled by view_parse() */
	bool parsed;
	struct object_meta meta;
	struct object_parts parts; /* of the text; without meta */
	char *note;                /* value of VIEW_TRANSLATION; NULL: none */
	char *kind;                /* value of the label JOB_LABEL; NULL: none */
	bool stopped;              /* executionType is Stop */
	struct progress progress;
};

/* Keeps the JSON text of a Framework of that version. Free with view_free(); NULL is fine. */
struct view *view_new(const char *version, const char *text, size_t len);
/* Reads the text, once. 0, or -1 and *err each time if it is not JSON, has no name or uid, or has a status that cannot
 * be read. */
int view_parse(struct view *view, struct error *err);
/* The Framework's spec; the caller decrefs. NULL: none, or it cannot be read. Of a view that was parsed. */
json_t *view_spec(const struct view *view);
void view_free(struct view *view);

#endif
