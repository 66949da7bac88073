/* Frameworks as fc-jobs sees them; see view.h. */
#include "jobs/view.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/mem.h"
#include "jobs/kinds/job.h"

struct view *view_new(const char *version, const char *text, size_t len)
{
	struct view *view = mem_calloc(1, sizeof(*view));

	view->version = mem_strdup(version);
	view->text = mem_memdup(text, len);
	view->len = len;
	return view;
}

/* A string member of an object's text, or of one of its members; NULL: none. The caller frees. */
static char *string_in(struct json_span object, const char *name, const char *inner)
{
	struct json_reader reader;
	struct json_span found;
	char *text;

	if (object.at == NULL)
		return NULL;
	json_reader_init(&reader, object.at, object.len);
	if (!json_reader_find(&reader, name) || (inner != NULL && !json_reader_find(&reader, inner)))
		return NULL;
	found = json_reader_string(&reader);
	if (found.at == NULL)
		return NULL;
	text = mem_alloc(found.len + 1);
	text[json_span_decode(&found, text)] = '\0';
	return text;
}

int view_parse(struct view *view, struct error *err)
{
	cleanup_free char *execution = NULL;

	if (view->parsed)
		return 0;
	if (object_parts_read(view->text, view->len, &view->parts, err) < 0)
		return -1;
	if (progress_read(view->parts.status, &view->progress, err) < 0) {
		progress_free(&view->progress);
		object_meta_free(&view->parts.meta);
		return -1;
	}
	view->meta = view->parts.meta;
	view->note = string_in(view->parts.metadata, "annotations", VIEW_TRANSLATION);
	view->kind = string_in(view->parts.metadata, "labels", JOB_LABEL);
	execution = string_in(view->parts.spec, "executionType", NULL);
	view->stopped = execution != NULL && strcmp(execution, "Stop") == 0;
	view->parsed = true;
	return 0;
}

json_t *view_spec(const struct view *view)
{
	return view->parts.spec.at == NULL ? NULL : json_parse(view->parts.spec.at, view->parts.spec.len, NULL);
}

void view_free(struct view *view)
{
	if (view == NULL)
		return;
	if (view->parsed) {
		object_meta_free(&view->meta);
		progress_free(&view->progress);
	}
	free(view->version);
	free(view->text);
	free(view->note);
	free(view->kind);
	free(view);
}
