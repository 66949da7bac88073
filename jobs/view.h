/* A Framework as fc-jobs needs it. */
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
	char *translation; /* the annotation's value; NULL: none */
	char *spec;        /* JSON text; NULL: none */
	size_t spec_len;
	bool stopped;    /* executionType is Stop */
	bool has_status; /* status is filled */
	struct framework_status status;
};

/* Reads the JSON text of a Framework. NULL and *err if it is not JSON, has no name or uid, or a status that cannot be
 * read. Free with view_free(); NULL is fine. */
struct view *view_read(const char *text, size_t len, struct error *err);
void view_free(struct view *view);

#endif
