/* A Framework as fc-jobs needs it. Of a Framework that changes often most states are never looked at: until then it
 * stays text. */
#ifndef JOBS_VIEW_H
#define JOBS_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "common/framework/object.h"
#include "common/framework/status.h"

/* The annotation with which a Framework says which translation it was made from. */
#define VIEW_TRANSLATION "frameworkcontroller.microsoft.com/job-translation"

struct view {
	struct object_meta meta;
	char *text;                /* JSON */
	struct object_parts parts; /* of the text; without meta */

	/* filled by view_parse() */
	bool parsed;
	char *translation; /* the annotation's value; NULL: none */
	bool stopped;      /* executionType is Stop */
	bool has_status;   /* status is filled */
	struct framework_status status;
};

/* Keeps the JSON text of a Framework. NULL and *err if it is not JSON, or has no name or uid. Free with view_free();
 * NULL is fine. */
struct view *view_read(const char *text, size_t len, struct error *err);
/* Reads the rest, once. 0, or -1 and *err each time if the status cannot be read: has_status is false then. */
int view_parse(struct view *view, struct error *err);
/* The Framework's spec; the caller decrefs. NULL: none, or it cannot be read. */
json_t *view_spec(const struct view *view);
void view_free(struct view *view);

#endif
