/* One step for a job; see act.h. Whatever is decided follows from the job and its Framework as they are stored. So a
 * process that is killed between two steps, or after a request whose answer it did not see, goes on where it was. */
#include "jobs/act.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "jobs/change.h"
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
	int64_t generation;
	bool ignored;

	note_pace(step->act, now_ms, now_ms - step->sent_ms);
	version = answer_version(answer, &generation);
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
	json_decref(item->wrote);
	item->wrote = json_incref(step->status);
	job_store_written(item, version, generation, json_incref(step->status));
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
	item->job.deleting = strcmp(identity.uid, item->job.uid) != 0 || identity.deletion_time != 0;
	/* a later version, which may have ended or want another Framework, is looked at when the watch shows it */
	item->confirmed = !item->job.deleting && version_compare(identity.resource_version, item->job.version) <= 0;
	object_identity_free(&identity);
	if (item->confirmed)
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

/* With the job's version, a change of its time that we have not seen makes the deletion fail. */
static void delete_job(struct act *act, struct item *item)
{
	cleanup_free char *path = job_path(&item->job, "");

	log_info("[%s/%s]: ttlSecondsAfterFinished is over: deleting the job", item->job.ns, item->job.name);
	step_send(step_new(act, item, on_deleted), "DELETE", path, METADATA_ONLY,
		  json_pack("{s:s, s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
			    "propagationPolicy", "Background", "preconditions", "uid", item->job.uid, "resourceVersion",
			    item->job.version));
}

static void look_at_finished(struct act *act, struct item *item)
{
	int64_t ttl_sec = item->job.ttl_sec;
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

/* A job without a Framework has failed. One that the watch does not show yet may run, after a creation whose answer was
 * lost, or of another process: then the job goes on (recover()). */
static void refuse(struct act *act, struct item *item)
{
	const struct view *view = item->slot->view;
	struct job_outcome outcome;

	if (view == NULL && !item->absent) {
		change_read(act, item);
		return;
	}
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

/* The Framework first, then the job's status: the end of a job is written when nothing of it can go on. While a change
 * of the Framework has to wait, its status is written as it is. */
static void bring_about(struct act *act, struct item *item)
{
	struct view *view = item->slot->view;
	struct job_outcome outcome;
	enum change_result change = CHANGE_NONE;
	int64_t wait_ms = 0;
	bool going;

	if (view == NULL) {
		if (has_begun(item) && !item->confirmed)
			confirm(act, item);
		else
			change_create(act, item);
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
	if (!going && !outcome.ended)
		change = change_make(act, item, outcome.stop, &wait_ms);
	/* Its objects go with a Framework that somebody deletes: that fails no job, which begins anew. */
	if (change != CHANGE_SENT && change != CHANGE_OLD &&
	    !(going && progress_end(&view->progress) == PROGRESS_FAILED) && status_is_due(act, item, &outcome))
		write_status(act, item, &outcome);
	if (change == CHANGE_LATER)
		job_store_queue_within(item, wait_ms);
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

	if (item->call != NULL || item->waits || job->deleting || job->managed_by_others)
		return;
	if (job_finished(job)) {
		look_at_finished(act, item);
		return;
	}
	if (job->kind == JOB_CAICLOUD_TFJOB && !job->has_runtime_id) {
		set_runtime_id(act, item);
		return;
	}
	if (waits_for_turn(act, item))
		return;
	if (item->slot->view != NULL && item->slot->view->text == NULL) {
		change_read(act, item); /* the job goes on, which had ended, or a new one has its name */
		return;
	}
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

bool act_run(struct act *act, size_t most, int64_t until_ms)
{
	struct item *item;
	bool leads;

	if (!job_store_synced(act->store))
		return false;
	leads = act->leads(act->arg);
	if (leads && act->passed_over)
		job_store_queue_all(act->store);
	act->passed_over = !leads;
	do {
		item = job_store_next(act->store); /* reads its news, so that little is kept of a job that has ended */
		if (item == NULL)
			return false;
		item->missed = item->call != NULL;
		if (leads)
			look_at(act, item);
	} while (--most > 0 && clock_boot_ms() < until_ms);
	return true;
}
