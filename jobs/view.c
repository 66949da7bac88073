/* Frameworks as fc-jobs sees them; see view.h. */
#include "jobs/view.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/mem.h"

struct view *view_read(const char *text, size_t len, struct error *err)
{
	struct view *view = mem_calloc(1, sizeof(*view));

	view->text = mem_memdup(text, len);
	if (object_parts_read(view->text, len, &view->parts, err) < 0) {
		free(view->text);
		free(view);
		return NULL;
	}
	view->meta = view->parts.meta;
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

static int parse_status(struct view *view, struct error *err)
{
	const struct json_span *span = &view->parts.status;
	cleanup_json json_t *status = span->at == NULL ? NULL : json_parse(span->at, span->len, err);

	if (span->at == NULL)
		return 0;
	if (status == NULL)
		return error_wrap(err, "status");
	if (!framework_status_present(status))
		return 0;
	if (framework_status_parse(status, &view->status, err) < 0)
		return -1;
	view->has_status = true;
	return 0;
}

int view_parse(struct view *view, struct error *err)
{
	cleanup_free char *execution = NULL;

	if (view->parsed)
		return 0;
	if (parse_status(view, err) < 0)
		return -1;
	view->translation = string_in(view->parts.metadata, "annotations", VIEW_TRANSLATION);
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
	object_meta_free(&view->meta);
	free(view->text);
	free(view->translation);
	if (view->has_status)
		framework_status_free(&view->status);
	free(view);
}
