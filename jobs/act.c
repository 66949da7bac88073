/* One step for a job; see act.h. Whatever is decided follows from the job and its Framework as they are stored. So a
 * process that is killed between two steps, or after a request whose answer it did not see, goes on where it was. */
#include "jobs/act.h"

#include <stdlib.h>
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

enum {
	/* At a Framework that the watch does not show: a foreign one, and one of a former job of the name. */
	FOREIGN_LOOK_MS = 30 * 1000,
	FORMER_LOOK_MS = 1000,
	DELETED_LOOK_MS = 5000, /* at a job that was deleted and is still there */
	RUNTIME_ID_SIZE = 6,
	/* Statuses of jobs that go on: more than so many a second wait, and still fewer are written to a server whose
	 * answers take longer than this, ours to gather included. */
	CHANGES_PER_SEC = 25,
	CHANGES_AT_ONCE = 25,
	QUICK_ANSWER_MS = 150,
	BUSY_LOOK_MS = 2000,
	/* Events that repeat what conditions say. */
	REPETITIONS_PER_SEC = 10,
	REPETITIONS_AT_ONCE = 25,
};

#define EXECUTION_TYPE "executionType"

/* Of the newest answer, in how long answers take. */
static const double ANSWER_WEIGHT = 0.1;

/* ---- the job's status -------------------------------------------------------------------------------------------- */

/* Whether somebody else has changed or removed the status that was written last. */
static bool was_changed(const struct item *item)
{
	return item->wrote != NULL && (item->job.status == NULL || !json_equal(item->wrote, item->job.status));
}

/* Most statuses that a slow server gets are out of date before it has stored them. */
static void note_pace(struct act *act, int64_t now_ms, int64_t took_ms)
{
	double quick_ms = QUICK_ANSWER_MS;

	act->answer_ms += ((double)took_ms - act->answer_ms) * ANSWER_WEIGHT;
	token_bucket_set(&act->changes,
			 act->answer_ms > quick_ms ? CHANGES_PER_SEC * quick_ms / act->answer_ms : CHANGES_PER_SEC,
			 CHANGES_AT_ONCE, now_ms);
}

static void on_status(struct step *step, const struct kube_answer *answer)
{
	struct item *item = step->item;
	cleanup_free char *version = NULL;
	int64_t now_ms = clock_boot_ms();
	bool ignored;

	note_pace(step->act, now_ms, now_ms - step->sent_ms);
	version = answer_version(answer);
	/* Where the CRD has got a subresource, the server ignores the status; where it has lost it, it knows no such
	 * path. */
	ignored = !step->subresource && version != NULL && strcmp(version, item->job.version) == 0;
	if (ignored || (step->subresource && answer->http_status == 404))
		step->act->doubt(step->act->arg, item->job.kind);
	if (ignored || !answer_succeeded(answer)) {
		try_again(step->act, item, answer, TROUBLE_UPDATING);
		return;
	}
	step->act->counters.statuses++;
	if (!was_changed(item))
		mem_replace(&item->said, NULL); /* the next change is news, also if it is one that was said before */
	job_store_written(item, version, json_incref(step->status));
	json_decref(item->wrote);
	item->wrote = json_incref(step->status);
	if (job_finished(&item->job))
		job_store_queue_soon(item); /* ttlSecondsAfterFinished */
}

/* A Normal Event only repeats what a condition of the same status says. While very many jobs end, most do without. */
static bool is_repetition(struct act *act, const json_t *event)
{
	if (strcmp(json_str(event, "type"), "Normal") != 0)
		return false;
	if (token_bucket_wait_ms(&act->repetitions, clock_boot_ms()) > 0)
		return true;
	token_bucket_take(&act->repetitions);
	return false;
}

/* Nothing else of the object changes. With its version, a change of the spec that we have not seen makes the write
 * fail. */
static void write_status(struct act *act, struct item *item, const struct job_outcome *outcome)
{
	struct step *step = step_new(act, item, on_status);
	const bool subresource = act->status_subresource[item->job.kind];
	cleanup_free char *path = job_path(&item->job, subresource ? "/status" : "");
	json_t *event;
	size_t i;

	step->subresource = subresource;
	step->status = json_incref(outcome->status);
	json_array_foreach(outcome->events, i, event)
		if (!is_repetition(act, event))
			say(act, item, json_str(event, "type"), json_str(event, "reason"), json_str(event, "message"));
	step_send(step, "PATCH", path, METADATA_ONLY,
		  json_object_of("metadata", json_object_of("resourceVersion", json_string(item->job.version), NULL),
				 "status", patch_make(item->job.status, outcome->status), NULL));
}

/* ---- the Framework ----------------------------------------------------------------------------------------------- */

static void warn(struct act *act, struct item *item)
{
	json_t *text;
	size_t i;

	json_array_foreach(item->translation.warnings, i, text)
		job_events_post(act->events, &item->job, "Warning", "FieldHasNoEffect", json_string_value(text));
}

static void on_read(struct step *step, const struct kube_answer *answer)
{
	const struct reflector_object object = {.data = answer->body, .len = answer->body_len};
	struct error err;

	if (answer->absent)
		job_store_queue_soon(step->item); /* it has gone meanwhile */
	else if (!answer_succeeded(answer))
		try_again(step->act, step->item, answer, TROUBLE_READING);
	else if (job_store_framework(step->act->store, &object, JOB_STORE_READ, &err) < 0)
		log_warning("[%s]: the Framework cannot be read: %s", step->item->slot->key, err.message);
}

/* What we wrote is as it should be, whatever the server made of it. */
static void take_answer(struct step *step, const struct kube_answer *answer, enum job_store_source source)
{
	const struct reflector_object object = {.data = answer->body, .len = answer->body_len};
	struct item *item = step->item;
	struct object_identity identity;
	struct error err;

	if (job_store_framework(step->act->store, &object, source, &err) < 0)
		log_warning("[%s]: the Framework cannot be read: %s", item->slot->key, err.message);
	else if (object_identity_read(answer->body, answer->body_len, &identity)) {
		item->checked = identity.generation;
		object_identity_free(&identity);
	}
}

/* A failed creation says nothing about the name: the object may be there (common/README.md §6.11). */
static void on_created(struct step *step, const struct kube_answer *answer)
{
	struct item *item = step->item;
	cleanup_free char *message = NULL;

	if (!answer_succeeded(answer)) {
		if (answer->http_status == 409 && strcmp(answer->status.reason, "AlreadyExists") == 0) {
			cleanup_free char *path = frameworks_path(&item->job, job_store_framework_name(item));

			step_send(step_new(step->act, item, on_read), "GET", path, NULL, NULL);
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
	take_answer(step, answer, JOB_STORE_METADATA);
}

/* The watch shows the rest of what the server made of it. */
static void create(struct act *act, struct item *item)
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
				  json_object_of(VIEW_TRANSLATION, json_string(item->note), NULL), "ownerReferences",
				  owners, NULL);
	head = json_text(metadata);
	json_decref(metadata);
	body = mem_printf("{\"apiVersion\":\"" FRAMEWORK_API_VERSION
			  "\",\"kind\":\"Framework\",\"metadata\":%s,\"spec\":%s}",
			  head, item->spec);

	log_v(1, "[%s/%s]: creating Framework %s", job->ns, job->name, item->translation.framework);
	item->confirmed = false;
	step_send_text(step_new(act, item, on_created), "POST", path, METADATA_ONLY, body);
}

static void on_confirmed(struct step *step, const struct kube_answer *answer)
{
	struct item *item = step->item;
	struct object_identity identity = {0};

	if (answer->absent) {
		item->job.deleting = true; /* the watch is to show it */
		return;
	}
	if (!answer_succeeded(answer) || !object_identity_read(answer->body, answer->body_len, &identity)) {
		try_again(step->act, item, answer, TROUBLE_READING);
		return;
	}
	item->confirmed = strcmp(identity.uid, item->job.uid) == 0 && identity.deletion_time == 0;
	item->job.deleting = !item->confirmed;
	object_identity_free(&identity);
	job_store_queue(item);
}

/* The Framework of a job is gone. It goes with a deleted job, too, of which the watch of jobs may not know yet. */
static void confirm(struct act *act, struct item *item)
{
	cleanup_free char *path = job_path(&item->job, "");

	step_send(step_new(act, item, on_confirmed), "GET", path, METADATA_ONLY, NULL);
}

/* Whether the job has had a Framework, as far as is known. */
static bool has_begun(const struct item *item)
{
	return item->job.status != NULL || item->checked != 0;
}

static void on_patched(struct step *step, const struct kube_answer *answer)
{
	struct item *item = step->item;
	bool read = item->slot->read;

	if (!answer_succeeded(answer)) {
		if (read)
			job_store_forget(item->slot);
		try_again(step->act, item, answer, TROUBLE_UPDATING);
		return;
	}
	step->act->counters.patched++;
	warn(step->act, item);
	take_answer(step, answer, JOB_STORE_WRITTEN);
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
static void patch(struct act *act, struct item *item, bool stop)
{
	const struct view *view = item->slot->view;
	cleanup_free char *path = frameworks_path(&item->job, job_store_framework_name(item));
	cleanup_json json_t *stored = view_spec(view);
	cleanup_json json_t *wanted = wanted_spec(item, stored, stop);
	json_t *labels = json_deep_copy(item->translation.labels);
	json_t *annotations = json_object_of(VIEW_TRANSLATION, json_string(item->note), NULL);

	if (stop && view->progress.refused != NULL)
		json_object_set_new(annotations, VIEW_REFUSED, json_string(view->progress.refused));
	if (item->problem == NULL) /* else the labels are those of a former spec */
		job_note_drop_labels(view->note, &item->translation, labels);
	log_v(1, "[%s/%s]: changing Framework %s", item->job.ns, item->job.name, item->translation.framework);
	step_send(step_new(act, item, on_patched), "PATCH", path, NULL,
		  json_pack("{s:{s:s, s:o, s:o}, s:o}", "metadata", "uid", view->identity.uid, "labels", labels,
			    "annotations", annotations, "spec", patch_make(stored, wanted)));
}

/* Whether the Framework's spec is as it should be. */
static bool is_current(struct item *item, bool stop)
{
	const struct view *view = item->slot->view;
	cleanup_json json_t *stored = NULL;
	cleanup_json json_t *wanted = NULL;

	if (item->slot->read || view->note == NULL || strcmp(view->note, item->note) != 0 || view->stopped != stop)
		return false;
	/* it was looked at in this generation, or is as we wrote it */
	if (item->checked == view->identity.generation)
		return true;
	stored = view_spec(view);
	wanted = wanted_spec(item, stored, stop);
	if (!patch_contains(stored, wanted))
		return false;
	item->checked = view->identity.generation;
	return true;
}

/* Another Framework has the name. */
static void report_foreign(struct act *act, struct item *item)
{
	const bool former = view_is_former(item->slot->view, &item->job);
	cleanup_free char *message = NULL;

	if (item->slot->read) {
		job_store_forget(item->slot);
		item->waits = true;
		job_store_queue_after(item, former ? FORMER_LOOK_MS : FOREIGN_LOOK_MS);
	}
	if (former)
		return;
	act->counters.conflicts++;
	message = mem_printf("Framework %s exists, and is not controlled by this %s: it is left as it is",
			     job_store_framework_name(item), job_names(item->job.kind)->kind);
	say(act, item, "Warning", "NamingConflict", message);
}

/* ---- jobs that have ended ---------------------------------------------------------------------------------------- */

static void on_deleted(struct step *step, const struct kube_answer *answer)
{
	if (!answer_succeeded(answer) && !answer->absent) {
		try_again(step->act, step->item, answer, TROUBLE_DELETING);
		return;
	}
	step->act->counters.deleted++;
	step->item->waits = true; /* the watch shows that it is gone */
	job_store_queue_after(step->item, DELETED_LOOK_MS);
}

static void delete_job(struct act *act, struct item *item)
{
	cleanup_free char *path = job_path(&item->job, "");

	log_info("[%s/%s]: ttlSecondsAfterFinished is over: deleting the job", item->job.ns, item->job.name);
	step_send(step_new(act, item, on_deleted), "DELETE", path, METADATA_ONLY,
		  json_pack("{s:s, s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
			    "propagationPolicy", "Background", "preconditions", "uid", item->job.uid));
}

static void look_at_finished(struct act *act, struct item *item)
{
	int64_t ttl_sec = json_int(json_object_get(item->job.spec, "runPolicy"), "ttlSecondsAfterFinished", -1);
	int64_t left_ms;

	if (ttl_sec < 0 || ttl_sec > INT32_MAX || job_finish_time(&item->job) == 0) /* no such time is valid */
		return;
	left_ms = (job_finish_time(&item->job) + ttl_sec) * 1000 - clock_wall_ms();
	if (left_ms <= 0)
		delete_job(act, item);
	else
		job_store_queue_after(item, left_ms < INT32_MAX ? left_ms : INT32_MAX);
}

/* ---- runtimeID --------------------------------------------------------------------------------------------------- */

static void on_runtime_id(struct step *step, const struct kube_answer *answer)
{
	if (!answer_succeeded(answer))
		try_again(step->act, step->item, answer, TROUBLE_UPDATING);
	else
		job_store_answered(step->item, answer->body, answer->body_len);
}

static bool has_runtime_id(const struct job *job)
{
	const char *id = json_str(job->spec, "runtimeID");

	return id != NULL && id[0] != '\0';
}

/* The labels of Pods contain it, so it is stored before there is a Framework, and kept. */
static void set_runtime_id(struct act *act, struct item *item)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; /* as Kubernetes' generated names */
	cleanup_free char *path = job_path(&item->job, "");
	char id[RUNTIME_ID_SIZE] = "";

	for (size_t i = 0; i < RUNTIME_ID_SIZE - 1; i++)
		id[i] = letters[random_between(&act->random, 0, (int64_t)sizeof(letters) - 2)];
	step_send(step_new(act, item, on_runtime_id), "PATCH", path, NULL,
		  json_pack("{s:{s:s}, s:{s:s}}", "metadata", "resourceVersion", item->job.version, "spec", "runtimeID",
			    id));
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* The translation is the item's from now on. */
static void keep(struct item *item)
{
	item->translated = true;
	item->spec = json_text(item->translation.spec);
	json_decref(item->translation.spec);
	item->translation.spec = NULL;
}

/* What the Framework was made from, for a job whose spec is refused now: it goes on as it was. The translation counts
 * until the spec changes again. */
static void recover(struct act *act, struct item *item)
{
	const struct view *view = item->slot->view;
	cleanup_json json_t *spec = NULL;
	cleanup_free char *message = NULL;

	if (view == NULL || !view->parsed || !view_is_of(view, &item->job))
		return;
	message = mem_printf("the change has no effect: %s", item->problem);
	say(act, item, "Warning", "FailedValidation", message);
	spec = view_spec(view);
	if (job_translation_recover(&item->job, view->note, spec, &item->translation) < 0)
		return;
	json_object_set_new(item->translation.spec, EXECUTION_TYPE, json_string("Start"));
	keep(item);
	item->note = mem_strdup(view->note);
}

static void translate(struct act *act, struct item *item)
{
	struct error err;

	if (item->translated)
		return;
	item->job.gang_scheduler = act->gang_scheduler;
	if (item->problem == NULL && job_translate(&item->job, &item->translation, &err) == 0) {
		keep(item);
		item->note = job_note(&item->job, &item->translation, item->spec);
		return;
	}
	if (item->problem == NULL) {
		act->counters.refused++;
		item->problem = mem_strdup(err.message);
		log_info("[%s/%s]: the %s is refused: %s", item->job.ns, item->job.name,
			 job_names(item->job.kind)->kind, err.message);
	}
	recover(act, item);
}

/* A job without a Framework has failed. */
static void refuse(struct act *act, struct item *item)
{
	const struct view *view = item->slot->view;
	struct job_outcome outcome;

	if (view != NULL && view_is_of(view, &item->job))
		return; /* recover() has reported it */
	job_refuse(&item->job, item->problem, clock_wall_ms() / 1000, &outcome);
	write_status(act, item, &outcome);
	job_outcome_free(&outcome);
}

/* If somebody else has changed or removed the status that was written last, or if the server's CRD drops some of its
 * members, the status is written again, ever more rarely. Returns when, in boot milliseconds. */
static int64_t mend_at(struct act *act, struct item *item, int64_t now_ms)
{
	if (!was_changed(item))
		return now_ms;
	if (now_ms < item->mend_at_boot_ms)
		return item->mend_at_boot_ms;
	item->mend_at_boot_ms = now_ms + backoff_next(&item->mending, &act->random, now_ms);
	return now_ms;
}

/* The statuses of jobs that go on are gathered longer while very many change: most are out of date soon. */
static int64_t turn_at(struct act *act, int64_t now_ms)
{
	if (token_bucket_wait_ms(&act->changes, now_ms) > 0)
		return now_ms + BUSY_LOOK_MS;
	token_bucket_take(&act->changes);
	return now_ms;
}

/* Whether the status is to be written now; else it is looked at again. */
static bool status_is_due(struct act *act, struct item *item, const struct job_outcome *outcome)
{
	int64_t now_ms = clock_boot_ms();
	int64_t at_ms;

	if (item->job.status != NULL && json_equal(outcome->status, item->job.status))
		return false;
	at_ms = mend_at(act, item, now_ms);
	if (at_ms <= now_ms && !outcome->ended)
		at_ms = turn_at(act, now_ms);
	if (at_ms <= now_ms)
		return true;
	job_store_queue_after(item, at_ms - now_ms);
	return false;
}

/* The Framework first, then the job's status: the end of a job is written when nothing of it can go on. */
static void bring_about(struct act *act, struct item *item)
{
	struct view *view = item->slot->view;
	struct job_outcome outcome;
	bool going;

	if (view == NULL) {
		if (has_begun(item) && !item->confirmed)
			confirm(act, item);
		else
			create(act, item);
		return;
	}
	if (!view_is_of(view, &item->job)) {
		report_foreign(act, item);
		return;
	}
	going = view->identity.deletion_time != 0;
	job_status(&item->job, &item->translation, view->progress.present ? &view->progress : NULL, view->stopped,
		   clock_wall_ms() / 1000, &outcome);
	/* a Framework that is stopped stays so; nothing more is wanted of one that has ended */
	if (!going && !outcome.ended && !is_current(item, outcome.stop))
		patch(act, item, outcome.stop);
	/* Its objects go with a Framework that somebody deletes: that fails no job, which begins anew. */
	else if (!(going && progress_end(&view->progress) == PROGRESS_FAILED) && status_is_due(act, item, &outcome))
		write_status(act, item, &outcome);
	job_outcome_free(&outcome);
}

/* Whether the status can only be one that has to wait: then the rest of the Framework is not read. */
static bool waits_for_turn(struct act *act, struct item *item)
{
	const struct job_translation *translation = &item->translation;

	if (item->slot->view == NULL || !item->translated || item->checked == 0 || translation->first_decides ||
	    translation->dynamic || translation->backoff_limit >= 0 ||
	    token_bucket_wait_ms(&act->changes, clock_boot_ms()) == 0 || !view_goes_on(item->slot->view))
		return false;
	job_store_queue_after(item, BUSY_LOOK_MS);
	return true;
}

static void look_at(struct act *act, struct item *item)
{
	const struct job *job = &item->job;
	struct error err;

	item->missed = item->call != NULL;
	if (item->call != NULL || item->waits || job->deleting || job_managed_by_others(job))
		return;
	if (job_finished(job)) {
		look_at_finished(act, item);
		return;
	}
	if (job->kind == JOB_CAICLOUD_TFJOB && !has_runtime_id(job)) {
		set_runtime_id(act, item);
		return;
	}
	if (waits_for_turn(act, item))
		return;
	if (item->slot->view != NULL && view_parse(item->slot->view, &err) < 0) {
		log_error("[%s]: the Framework cannot be read: %s", item->slot->key, err.message);
		return;
	}
	translate(act, item);
	if (item->translated)
		bring_about(act, item);
	else
		refuse(act, item);
}

void act_init(struct act *act)
{
	random_init(&act->random);
	token_bucket_init(&act->changes, CHANGES_PER_SEC, CHANGES_AT_ONCE, clock_boot_ms());
	token_bucket_init(&act->repetitions, REPETITIONS_PER_SEC, REPETITIONS_AT_ONCE, clock_boot_ms());
}

bool act_run(struct act *act, size_t most)
{
	struct item *item = NULL;

	if (!job_store_synced(act->store) || !act->leads(act->arg))
		return false;
	while (most > 0 && (item = job_store_next(act->store)) != NULL) {
		look_at(act, item);
		most--;
	}
	return item != NULL;
}
