/* Creating and changing Frameworks; see change.h. */
#include "jobs/change.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "jobs/kinds/note.h"
#include "jobs/patch.h"
#include "jobs/report.h"
#include "jobs/request.h"

/* Changes in a row that change nothing, after which the Framework's spec stays as it is. One such change is made of a
 * Framework of which only the metadata is known: it names no members that are to go. */
enum { UNCHANGED_MAX = 2 };

static void warn(struct act *act, struct item *item)
{
	json_t *text;
	size_t i;

	json_array_foreach(item->translation.warnings, i, text)
		job_events_post(act->events, &item->job, "Warning", "FieldHasNoEffect", json_string_value(text));
}

/* Whether the watch shows what the answer shows. */
static enum job_store_source source_of(const struct slot *slot, const struct kube_answer *answer)
{
	struct object_identity identity;
	bool same;

	if (slot->view == NULL || slot->read || !object_identity_read(answer->body, answer->body_len, &identity))
		return JOB_STORE_READ;
	same = strcmp(identity.uid, slot->view->identity.uid) == 0;
	object_identity_free(&identity);
	return same ? JOB_STORE_WRITTEN : JOB_STORE_READ;
}

static void on_read(struct step *step, const struct kube_answer *answer)
{
	const struct reflector_object object = {.data = answer->body, .len = answer->body_len};
	struct item *item = step->item;
	struct error err;

	if (answer->absent && item->slot->view != NULL) { /* the watch will show its end */
		job_store_queue_after(item, backoff_next(&item->backoff, &step->act->random, clock_boot_ms()));
	} else if (answer->absent) {
		item->absent = true;
		job_store_queue_soon(item);
	} else if (!answer_succeeded(answer)) {
		try_again(step->act, item, answer, TROUBLE_READING);
	} else if (job_store_framework(step->act->store, &object, source_of(item->slot, answer), &err) < 0) {
		log_warning("[%s]: the Framework cannot be read: %s", item->slot->key, err.message);
	}
}

void change_read(struct act *act, struct item *item)
{
	cleanup_free char *path = frameworks_path(&item->job, job_store_framework_name(item));

	step_send(step_new(act, item, on_read), "GET", path, NULL, NULL);
}

/* Returns the Framework's generation; 0: none. */
static int64_t take_answer(struct step *step, const struct kube_answer *answer, enum job_store_source source)
{
	const struct reflector_object object = {.data = answer->body, .len = answer->body_len};
	struct object_identity identity;
	int64_t generation;
	struct error err;

	if (job_store_framework(step->act->store, &object, source, &err) < 0) {
		log_warning("[%s]: the Framework cannot be read: %s", step->item->slot->key, err.message);
		return 0;
	}
	if (!object_identity_read(answer->body, answer->body_len, &identity))
		return 0;
	generation = identity.generation;
	object_identity_free(&identity);
	return generation;
}

/* A failed creation says nothing about the name: the object may be there (common/README.md §6.11). */
static void on_created(struct step *step, const struct kube_answer *answer)
{
	struct item *item = step->item;
	cleanup_free char *message = NULL;

	if (!answer_succeeded(answer)) {
		if (answer->http_status == 409 && strcmp(answer->status.reason, "AlreadyExists") == 0) {
			change_read(step->act, item);
			return;
		}
		try_again(step->act, item, answer, TROUBLE_CREATING);
		return;
	}
	step->act->counters.created++;
	/* with the kubeflow.org jobs' own controller a job has no Event of its creation either */
	if (item->job.kind == JOB_CAICLOUD_TFJOB) {
		message = mem_printf("Created framework: %s", job_store_framework_name(item));
		say(step->act, item, "Normal", "SuccessfulCreate", message);
	}
	warn(step->act, item);
	/* what was created is as it should be, whatever the server made of it */
	item->checked = take_answer(step, answer, JOB_STORE_METADATA);
}

/* Which translation a Framework is made from. */
static json_t *note_annotations(const struct item *item)
{
	json_t *annotations = json_object_of(VIEW_TRANSLATION, json_string(item->note), NULL);

	if (item->job.generation > 0)
		json_object_set_new(annotations, VIEW_GENERATION,
				    json_sprintf("%lld", (long long)item->job.generation));
	return annotations;
}

/* The watch shows the rest of what the server made of it. */
void change_create(struct act *act, struct item *item)
{
	const struct job *job = &item->job;
	cleanup_free char *path = frameworks_path(job, NULL);
	cleanup_free char *head = NULL;
	cleanup_free char *body = NULL;
	json_t *owners = json_array();
	json_t *metadata;

	json_array_append_new(owners, json_object_of("apiVersion", json_string(job_names(job->kind)->api_version),
						     "kind", json_string(job_names(job->kind)->kind), "name",
						     json_string(job->name), "uid", json_string(job->uid), "controller",
						     json_true(), "blockOwnerDeletion", json_true(), NULL));
	metadata = json_object_of("name", json_string(item->translation.framework), "namespace", json_string(job->ns),
				  "labels", json_incref(item->translation.labels), "annotations",
				  note_annotations(item), "ownerReferences", owners, NULL);
	head = json_text(metadata);
	json_decref(metadata);
	body = mem_printf("{\"apiVersion\":\"" FRAMEWORK_API_VERSION
			  "\",\"kind\":\"Framework\",\"metadata\":%s,\"spec\":%s}",
			  head, item->spec);

	log_v(1, "[%s/%s]: creating Framework %s", job->ns, job->name, item->translation.framework);
	item->confirmed = item->absent = false;
	step_send_text(step_new(act, item, on_created), "POST", path, METADATA_ONLY, body);
}

/* While a change is refused, the Framework is followed as it is. One that the watch does not show is read anew. */
static void on_patch_failed(struct step *step, const struct kube_answer *answer)
{
	struct item *item = step->item;
	const bool read = item->slot->read;
	int64_t wait_ms;

	if (read)
		job_store_forget(item->slot);
	wait_ms = try_again(step->act, item, answer, TROUBLE_UPDATING);
	if (read || !answer_refused(answer))
		return;
	item->changes.refused = true;
	item->changes.at_boot_ms = clock_boot_ms() + wait_ms;
	item->waits = false;
	job_store_queue(item); /* its status may be due */
}

/* The change was made of a copy that may have been old, or that had no spec. So the answer is looked at like any other
 * version, unless the server, or a webhook of it, undoes changes each time. */
static void on_patched(struct step *step, const struct kube_answer *answer)
{
	struct item *item = step->item;
	int64_t generation;

	if (!answer_succeeded(answer)) {
		on_patch_failed(step, answer);
		return;
	}
	step->act->counters.patched++;
	generation = take_answer(step, answer, JOB_STORE_WRITTEN);
	item->changes.made = true;
	job_store_queue_soon(item); /* no event tells of a change that changed nothing */
	if (step->stops_only)
		return;
	warn(step->act, item);
	item->changes.refused = false;
	item->changes.unchanged = generation == step->generation ? item->changes.unchanged + 1 : 0;
	if (item->changes.unchanged < UNCHANGED_MAX)
		return;
	log_v(1, "[%s/%s]: changes of Framework %s have no effect: it stays as it is", item->job.ns, item->job.name,
	      item->translation.framework);
	item->checked = generation;
}

/* The Framework's spec as it should be; members that only the stored one has are null. A new reference. */
static json_t *wanted_spec(const struct item *item, const json_t *stored, bool stop)
{
	json_t *spec = json_parse(item->spec, strlen(item->spec), NULL);
	const char *name;
	json_t *value;

	json_object_set_new(spec, EXECUTION_TYPE, json_string(stop ? "Stop" : "Start"));
	json_object_foreach((json_t *)stored, name, value)
		if (!json_is_null(value) && json_object_get(spec, name) == NULL)
			json_object_set_new(spec, name, json_null());
	return spec;
}

/* The uid is a precondition: a namesake is not changed. */
static void send(struct act *act, struct item *item, bool stops_only, json_t *labels, json_t *annotations, json_t *spec)
{
	const struct view *view = item->slot->view;
	cleanup_free char *path = frameworks_path(&item->job, job_store_framework_name(item));
	struct step *step = step_new(act, item, on_patched);

	step->generation = view->identity.generation;
	step->stops_only = stops_only;
	log_v(1, "[%s/%s]: %s Framework %s", item->job.ns, item->job.name, stops_only ? "stopping" : "changing",
	      item->translation.framework);
	step_send(step, "PATCH", path, NULL,
		  json_pack("{s:{s:s, s:o, s:o}, s:o}", "metadata", "uid", view->identity.uid, "labels", labels,
			    "annotations", annotations, "spec", spec));
}

/* Keeps the reason for which the Framework is stopped, if its status will not. */
static void put_reason(json_t *annotations, const struct view *view)
{
	if (view->progress.refused != NULL)
		json_object_set_new(annotations, VIEW_REFUSED, json_string(view->progress.refused));
}

/* A Framework whose other changes are refused. */
static void stop_only(struct act *act, struct item *item)
{
	json_t *annotations = json_object();

	put_reason(annotations, item->slot->view);
	send(act, item, true, json_object(), annotations, json_object_of(EXECUTION_TYPE, json_string("Stop"), NULL));
}

static void patch(struct act *act, struct item *item, bool stop)
{
	const struct view *view = item->slot->view;
	cleanup_json json_t *stored = view_spec(view);
	cleanup_json json_t *wanted = wanted_spec(item, stored, stop);
	json_t *labels = json_deep_copy(item->translation.labels);
	json_t *annotations = note_annotations(item);

	if (stop)
		put_reason(annotations, view);
	if (item->problem == NULL) /* else the labels are those of a former spec */
		job_note_drop_labels(view->note, &item->translation, labels);
	send(act, item, false, labels, annotations, patch_make(stored, wanted));
}

/* Whether the Framework's spec is as it should be. */
static bool is_current(struct item *item, bool stop)
{
	const struct view *view = item->slot->view;
	cleanup_json json_t *stored = NULL;
	cleanup_json json_t *wanted = NULL;

	if (item->slot->read || view->note == NULL || strcmp(view->note, item->note) != 0 || view->stopped != stop)
		return false;
	/* it was looked at in this generation, or created so */
	if (item->checked == view->identity.generation)
		return true;
	stored = view_spec(view);
	wanted = wanted_spec(item, stored, stop);
	if (!patch_contains(stored, wanted))
		return false;
	item->checked = view->identity.generation;
	return true;
}

enum change_result change_make(struct act *act, struct item *item, bool stop, int64_t *wait_ms)
{
	struct changes *changes = &item->changes;
	const int64_t now_ms = clock_boot_ms();

	if (changes->stop != stop)
		*changes = (struct changes){.stop = stop, .refused = changes->refused};
	if (is_current(item, stop)) {
		changes->made = true;
		changes->refused = false;
		changes->unchanged = 0;
		return CHANGE_NONE;
	}
	/* as after a change of leaders, whose watches of jobs may be late */
	if (item->slot->view->job_generation > item->job.generation && item->job.generation > 0) {
		log_v(1, "[%s/%s]: the job is older than Framework %s", item->job.ns, item->job.name,
		      item->translation.framework);
		return CHANGE_OLD;
	}
	if (now_ms < changes->at_boot_ms) {
		*wait_ms = changes->at_boot_ms - now_ms;
		return CHANGE_LATER;
	}
	if (changes->made) /* somebody has changed it since */
		changes->at_boot_ms = now_ms + backoff_next(&item->changing, &act->random, now_ms);
	if (stop && changes->refused && !item->slot->view->stopped)
		stop_only(act, item);
	else
		patch(act, item, stop);
	return CHANGE_SENT;
}
