/* Frameworks as fc-jobs sees them; see view.h. */
#include "jobs/view.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/mem.h"

/* A string member of an object's text; NULL: none. The caller frees. */
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

static int read_status(struct view *view, const struct json_span *span, struct error *err)
{
	cleanup_json json_t *status = span->at == NULL ? NULL : json_parse(span->at, span->len, err);

	if (span->at != NULL && status == NULL)
		return error_wrap(err, "status");
	if (!framework_status_present(status))
		return 0;
	if (framework_status_parse(status, &view->status, err) < 0)
		return -1;
	view->has_status = true;
	return 0;
}

struct view *view_read(const char *text, size_t len, struct error *err)
{
	struct view *view = mem_calloc(1, sizeof(*view));
	cleanup_free char *execution = NULL;
	struct object_parts parts;

	if (object_parts_read(text, len, &parts, err) < 0) {
		free(view);
		return NULL;
	}
	view->meta = parts.meta;
	view->translation = string_in(parts.metadata, "annotations", VIEW_TRANSLATION);
	execution = string_in(parts.spec, "executionType", NULL);
	view->stopped = execution != NULL && strcmp(execution, "Stop") == 0;
	if (parts.spec.at != NULL) {
		view->spec = mem_strndup(parts.spec.at, parts.spec.len);
		view->spec_len = parts.spec.len;
	}
	if (read_status(view, &parts.status, err) < 0) {
		view_free(view);
		return NULL;
	}
	return view;
}

void view_free(struct view *view)
{
	if (view == NULL)
		return;
	object_meta_free(&view->meta);
	free(view->translation);
	free(view->spec);
	if (view->has_status)
		framework_status_free(&view->status);
	free(view);
}
