/* Frameworks as fc-jobs sees them; see view.h. */
#include "jobs/view.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "common/framework/slim.h"

static void forget_parts(struct view *view)
{
	object_meta_free(&view->meta);
	progress_free(&view->progress);
	free(view->note);
	free(view->kind);
	view->note = view->kind = NULL;
	view->spec = view->status = (struct json_span){0};
	view->stopped = view->parsed = false;
}

struct view *view_renew(struct view *view, const struct object_identity *identity, const char *text, size_t len)
{
	struct buf slim = {0};

	if (view == NULL)
		view = mem_calloc(1, sizeof(*view));
	forget_parts(view);
	object_identity_free(&view->identity);
	view->identity = *identity;
	free(view->text);
	write_slim(&slim, text, len);
	view->len = slim.len;
	view->text = mem_realloc(slim.data, slim.len + 1, 1);
	return view;
}

void view_shed(struct view *view)
{
	forget_parts(view);
	free(view->text);
	view->text = NULL;
	view->len = 0;
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

/* What is passed over is read later, if at all. */
static int read_parts(struct view *view, struct json_span *metadata, struct error *err)
{
	struct json_reader reader;
	struct json_span name;

	json_reader_init(&reader, view->text, view->len);
	if (json_reader_object(&reader)) {
		while (json_reader_member(&reader, &name)) {
			if (json_span_is(&name, "metadata")) {
				*metadata = json_reader_pass(&reader);
			} else if (json_span_is(&name, "spec")) {
				view->spec = json_reader_pass(&reader);
			} else if (json_span_is(&name, "status")) {
				progress_free(&view->progress);
				view->status.at = reader.at;
				if (progress_read(&reader, &view->progress, err) < 0)
					return -1;
				view->status.len = (size_t)(reader.at - view->status.at);
			} else {
				json_reader_skip(&reader);
			}
		}
	}
	return json_reader_finish(&reader, err);
}

int view_parse(struct view *view, struct error *err)
{
	cleanup_free char *execution = NULL;
	cleanup_free char *generation = NULL;
	struct json_span metadata = {0};

	if (view->parsed)
		return 0;
	if (object_head_read(view->text, view->len, &view->meta, err) < 0 || read_parts(view, &metadata, err) < 0) {
		forget_parts(view);
		return -1;
	}
	view->note = string_in(metadata, "annotations", VIEW_TRANSLATION);
	generation = string_in(metadata, "annotations", VIEW_GENERATION);
	view->job_generation = generation == NULL ? 0 : strtoll(generation, NULL, 10);
	view->kind = string_in(metadata, "labels", JOB_LABEL);
	if (view->progress.refused == NULL) {
		view->progress.refused = string_in(metadata, "annotations", VIEW_REFUSED);
		view->progress.refused_again = view->progress.refused != NULL;
	}
	execution = string_in(view->spec, "executionType", NULL);
	view->stopped = execution != NULL && strcmp(execution, "Stop") == 0;
	view->parsed = true;
	return 0;
}

static bool read_state(const struct view *view, enum attempt_state *out)
{
	cleanup_free char *text = string_in((struct json_span){.at = view->text, .len = view->len}, "status", "state");

	return text != NULL && attempt_state_parse(text, out) == 0;
}

bool view_goes_on(const struct view *view)
{
	enum attempt_state state;

	return read_state(view, &state) && state <= STATE_RUNNING;
}

bool view_completed(const struct view *view)
{
	enum attempt_state state;

	return read_state(view, &state) && state == STATE_COMPLETED;
}

json_t *view_spec(const struct view *view)
{
	return view->spec.at == NULL ? NULL : json_parse(view->spec.at, view->spec.len, NULL);
}

bool view_is_of(const struct view *view, const struct job *job)
{
	return strcmp(view->meta.controller_uid, job->uid) == 0;
}

/* The owner's kind alone is not enough, because two groups have a TFJob. */
bool view_is_former(const struct view *view, const struct job *job)
{
	const struct job_names *names = job_names(job->kind);

	return view->identity.deletion_time != 0 || (view->kind != NULL && strcmp(view->kind, names->full) == 0 &&
						     strcmp(view->meta.controller_kind, names->kind) == 0 &&
						     strcmp(view->meta.controller_name, job->name) == 0);
}

void view_free(struct view *view)
{
	if (view == NULL)
		return;
	forget_parts(view);
	object_identity_free(&view->identity);
	free(view->text);
	free(view);
}
