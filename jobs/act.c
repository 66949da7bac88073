/* One step for a job; see act.h. Whatever is decided follows from the job and its Framework as they are stored. So a
 * process that is killed between two steps, or after a request whose answer it did not see, goes on where it was. */
#include "jobs/act.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "jobs/patch.h"

enum {
	REQUEST_TIMEOUT_MS = 15 * 1000,
	/* At a Framework that the watch does not show: a foreign one, and one of a former job of the name. */
	FOREIGN_LOOK_MS = 30 * 1000,
	FORMER_LOOK_MS = 1000,
	DELETED_LOOK_MS = 5000, /* at a job that was deleted and is still there */
	RUNTIME_ID_SIZE = 6,
};

#define METADATA_ONLY "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define MERGE_PATCH "application/merge-patch+json"

/* ---- requests --------------------------------------------------------------------------------------------------- */

/* A request for an item. */
struct step {
	struct act *act;
	struct item *item;
	/* After the answer, unless the item is gone: what has been done, or not. */
	void (*done)(struct step *step, const struct kube_answer *answer);
	json_t *status; /* that was written; NULL: none */
};

static bool before_send(void *arg, int64_t *timeout_ms)
{
	const struct step *step = arg;

	(void)timeout_ms;
	return step->act->leads(step->act->arg);
}

static void on_done(void *arg, const struct kube_answer *answer)
{
	struct step *step = arg;
	struct item *item = step->item;

	item->call = NULL;
	if (item->gone) {
		store_release(item);
	} else if (answer->failure != KUBE_CANCELLED && answer->failure != KUBE_REFUSED) {
		step->done(step, answer);
		if (item->missed)
			store_queue_soon(item);
	}
	json_decref(step->status);
	free(step);
}

static struct step *step_new(struct act *act, struct item *item,
			     void (*done)(struct step *step, const struct kube_answer *answer))
{
	struct step *step = mem_calloc(1, sizeof(*step));

	*step = (struct step){.act = act, .item = item, .done = done};
	return step;
}

/* body NULL: none; its reference is taken over. */
static void send(struct step *step, const char *method, const char *path, const char *accept, json_t *body)
{
	cleanup_free char *text = body == NULL ? NULL : json_text(body);
	const struct kube_request request = {
		.method = method,
		.path = path,
		.accept = accept,
		.content_type = strcmp(method, "PATCH") == 0 ? MERGE_PATCH : NULL,
		.body = text,
		.body_len = text == NULL ? 0 : strlen(text),
		.timeout_ms = REQUEST_TIMEOUT_MS,
		.before_send = before_send,
		.server_timeout = true,
	};

	step->item->call = kube_client_call(step->act->client, &request, on_done, step);
	json_decref(body);
}

static char *job_path(const struct job *job, const char *subresource)
{
	const struct job_names *names = job_names(job->kind);

	return mem_printf("/apis/%s/namespaces/%s/%s/%s%s", names->api_version, job->ns, names->resource, job->name,
			  subresource);
}

static char *frameworks_path(const struct job *job, const char *name)
{
	return mem_printf("/apis/" FRAMEWORK_API_VERSION "/namespaces/%s/frameworks%s%s", job->ns,
			  name == NULL ? "" : "/", name == NULL ? "" : name);
}

static bool succeeded(const struct kube_answer *answer)
{
	return answer->failure == KUBE_OK && answer->http_status / 100 == 2;
}

/* Once for each text. */
static void say(struct act *act, struct item *item, const char *type, const char *reason, const char *message)
{
	cleanup_free char *text = mem_printf("%s %s", reason, message);

	if (item->said != NULL && strcmp(item->said, text) == 0)
		return;
	mem_replace(&item->said, text);
	job_events_post(act->events, &item->job, type, reason, message);
}

/* The step is taken again, from what is stored then. */
static void try_again(struct act *act, struct item *item, const struct kube_answer *answer)
{
	int64_t wait_ms = backoff_next(&item->backoff, &act->random, clock_boot_ms());

	act->counters.failed++;
	log_v(1, "[%s/%s]: %s", item->job.ns, item->job.name, answer->message);
	item->waits = true;
	store_queue_after(item, answer->retry_after_ms > wait_ms ? answer->retry_after_ms : wait_ms);
}

/* The version of an answered object. The caller frees; NULL: none. */
static char *answered_version(const struct kube_answer *answer)
{
	cleanup_json json_t *object = json_parse(answer->body, answer->body_len, NULL);

	return mem_strdup(json_str(json_object_get(object, "metadata"), "resourceVersion"));
}

/* ---- the job's status -------------------------------------------------------------------------------------------- */

static void on_status(struct step *step, const struct kube_answer *answer)
{
	struct item *item = step->item;
	cleanup_free char *version = NULL;

	if (!succeeded(answer)) {
		try_again(step->act, item, answer);
		return;
	}
	step->act->counters.statuses++;
	version = answered_version(answer);
	store_written(item, version, json_incref(step->status));
	json_decref(item->wrote);
	item->wrote = json_incref(step->status);
	if (job_finished(&item->job))
		store_queue_soon(item); /* ttlSecondsAfterFinished */
}

/* Nothing else of the object changes. With its version, a change of the spec that we have not seen makes the write
 * fail. */
static void write_status(struct act *act, struct item *item, const struct job_outcome *outcome)
{
	struct step *step = step_new(act, item, on_status);
	cleanup_free char *path = job_path(&item->job, act->status_subresource[item->job.kind] ? "/status" : "");
	json_t *event;
	size_t i;

	step->status = json_incref(outcome->status);
	json_array_foreach(outcome->events, i, event)
		say(act, item, json_str(event, "type"), json_str(event, "reason"), json_str(event, "message"));
	send(step, "PATCH", path, METADATA_ONLY,
	     json_pack("{s:{s:s}, s:o}", "metadata", "resourceVersion", item->job.version, "status",
		       patch_make(item->job.status, outcome->status)));
}

/* ---- the Framework ----------------------------------------------------------------------------------------------- */

/* Whether the Framework is this job's. */
static bool owns(const struct item *item, const struct view *view)
{
	return strcmp(view->meta.controller_uid, item->job.uid) == 0;
}

/* Differs for different translations. */
static void hash_of(const json_t *labels, const json_t *spec, char out[ITEM_HASH_SIZE])
{
	cleanup_free char *label_text = json_text(labels);
	cleanup_free char *spec_text = json_text(spec);
	uLong sum = crc32(0, (const unsigned char *)label_text, (unsigned)strlen(label_text));

	sum = crc32(sum, (const unsigned char *)spec_text, (unsigned)strlen(spec_text));
	snprintf(out, ITEM_HASH_SIZE, "%08lx-%x", sum & 0xffffffff, (unsigned)strlen(spec_text));
}

static void warn(struct act *act, struct item *item)
{
	json_t *text;
	size_t i;

	json_array_foreach(item->translation.warnings, i, text)
		job_events_post(act->events, &item->job, "Warning", "FieldHasNoEffect", json_string_value(text));
}

static void on_read(struct step *step, const struct kube_answer *answer)
{
	struct error err;

	if (answer->absent)
		store_queue_soon(step->item); /* it has gone meanwhile */
	else if (!succeeded(answer))
		try_again(step->act, step->item, answer);
	else if (store_framework(step->act->store, answer->body, answer->body_len, true, &err) < 0)
		log_warning("[%s]: the Framework cannot be read: %s", step->item->slot->key, err.message);
}

/* What we wrote is as it should be, whatever the server made of it. */
static void take_answer(struct step *step, const struct kube_answer *answer)
{
	struct item *item = step->item;
	struct object_meta meta;
	struct error err;

	if (store_framework(step->act->store, answer->body, answer->body_len, false, &err) < 0 ||
	    object_meta_read(answer->body, answer->body_len, &meta, &err) < 0) {
		log_warning("[%s]: the Framework cannot be read: %s", item->slot->key, err.message);
		return;
	}
	item->checked = meta.generation;
	object_meta_free(&meta);
}

/* A failed creation says nothing about the name: the object may be there (common/README.md §6.11). */
static void on_created(struct step *step, const struct kube_answer *answer)
{
	struct item *item = step->item;
	cleanup_free char *message = NULL;

	if (!succeeded(answer)) {
		if (answer->http_status == 409 && strcmp(answer->status.reason, "AlreadyExists") == 0) {
			cleanup_free char *path = frameworks_path(&item->job, item->translation.framework);

			send(step_new(step->act, item, on_read), "GET", path, NULL, NULL);
			return;
		}
		message = mem_printf("Error creating: %s", answer->message);
		say(step->act, item, "Warning", "FailedCreate", message);
		try_again(step->act, item, answer);
		return;
	}
	step->act->counters.created++;
	/* with the kubeflow.org jobs' own controller a job has no Event of its creation either */
	if (item->job.kind == JOB_CAICLOUD_TFJOB) {
		message = mem_printf("Created framework: %s", item->translation.framework);
		say(step->act, item, "Normal", "SuccessfulCreate", message);
	}
	warn(step->act, item);
	take_answer(step, answer);
}

static void create(struct act *act, struct item *item)
{
	const struct job *job = &item->job;
	cleanup_free char *path = frameworks_path(job, NULL);
	json_t *owner = json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "apiVersion", job_names(job->kind)->api_version,
				  "kind", job_names(job->kind)->kind, "name", job->name, "uid", job->uid, "controller",
				  1, "blockOwnerDeletion", 1);

	log_v(1, "[%s/%s]: creating Framework %s", job->ns, job->name, item->translation.framework);
	send(step_new(act, item, on_created), "POST", path, NULL,
	     json_pack("{s:s, s:s, s:{s:s, s:s, s:O, s:{s:s}, s:[o]}, s:o}", "apiVersion", FRAMEWORK_API_VERSION,
		       "kind", "Framework", "metadata", "name", item->translation.framework, "namespace", job->ns,
		       "labels", item->translation.labels, "annotations", VIEW_TRANSLATION, item->hash,
		       "ownerReferences", owner, "spec", json_incref(item->translation.spec)));
}

static void on_patched(struct step *step, const struct kube_answer *answer)
{
	struct item *item = step->item;
	bool read = item->slot->read;

	if (!succeeded(answer)) {
		if (read)
			store_forget(item->slot);
		try_again(step->act, item, answer);
		return;
	}
	step->act->counters.patched++;
	warn(step->act, item);
	take_answer(step, answer);
}

/* The uid is a precondition: a namesake is not changed. */
static void patch(struct act *act, struct item *item)
{
	const struct view *view = item->slot->view;
	cleanup_free char *path = frameworks_path(&item->job, item->translation.framework);
	cleanup_json json_t *stored = view_spec(view);

	log_v(1, "[%s/%s]: changing Framework %s", item->job.ns, item->job.name, item->translation.framework);
	send(step_new(act, item, on_patched), "PATCH", path, NULL,
	     json_pack("{s:{s:s, s:O, s:{s:s}}, s:o}", "metadata", "uid", view->meta.uid, "labels",
		       item->translation.labels, "annotations", VIEW_TRANSLATION, item->hash, "spec",
		       patch_make(stored, item->translation.spec)));
}

/* Whether the Framework's spec is as it should be. */
static bool is_current(struct item *item, bool stop)
{
	const struct view *view = item->slot->view;
	cleanup_json json_t *stored = NULL;

	if (item->slot->read || view->translation == NULL || strcmp(view->translation, item->hash) != 0 ||
	    view->stopped != stop)
		return false;
	/* it was looked at in this generation, or is as we wrote it */
	if (item->checked == view->meta.generation)
		return true;
	stored = view_spec(view);
	if (!patch_contains(stored, item->translation.spec))
		return false;
	item->checked = view->meta.generation;
	return true;
}

/* Another Framework has the name. One of a former job of this name goes with that job. */
static void report_foreign(struct act *act, struct item *item)
{
	const struct object_meta *meta = &item->slot->view->meta;
	cleanup_free char *message = NULL;
	const bool former = meta->deletion_time != 0 ||
			    (strcmp(meta->controller_kind, job_names(item->job.kind)->kind) == 0 &&
			     strcmp(meta->controller_name, item->job.name) == 0);

	if (item->slot->read) {
		store_forget(item->slot);
		item->waits = true;
		store_queue_after(item, former ? FORMER_LOOK_MS : FOREIGN_LOOK_MS);
	}
	if (former)
		return;
	act->counters.conflicts++;
	message = mem_printf("Framework %s exists, and is not controlled by this %s: it is left as it is",
			     item->translation.framework, job_names(item->job.kind)->kind);
	say(act, item, "Warning", "NamingConflict", message);
}

/* ---- jobs that have ended ---------------------------------------------------------------------------------------- */

static void on_deleted(struct step *step, const struct kube_answer *answer)
{
	if (!succeeded(answer) && !answer->absent) {
		try_again(step->act, step->item, answer);
		return;
	}
	step->act->counters.deleted++;
	step->item->waits = true; /* the watch shows that it is gone */
	store_queue_after(step->item, DELETED_LOOK_MS);
}

static void delete_job(struct act *act, struct item *item)
{
	cleanup_free char *path = job_path(&item->job, "");

	log_info("[%s/%s]: ttlSecondsAfterFinished is over: deleting the job", item->job.ns, item->job.name);
	send(step_new(act, item, on_deleted), "DELETE", path, METADATA_ONLY,
	     json_pack("{s:s, s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions", "propagationPolicy",
		       "Background", "preconditions", "uid", item->job.uid));
}

static void look_at_finished(struct act *act, struct item *item)
{
	int64_t ttl_sec = json_int(json_object_get(item->job.spec, "runPolicy"), "ttlSecondsAfterFinished", -1);
	int64_t left_ms;

	if (ttl_sec < 0 || job_finish_time(&item->job) == 0)
		return;
	left_ms = (job_finish_time(&item->job) + ttl_sec) * 1000 - clock_wall_ms();
	if (left_ms <= 0)
		delete_job(act, item);
	else
		store_queue_after(item, left_ms < INT32_MAX ? left_ms : INT32_MAX);
}

/* ---- runtimeID --------------------------------------------------------------------------------------------------- */

static void on_runtime_id(struct step *step, const struct kube_answer *answer)
{
	struct error err;

	if (!succeeded(answer))
		try_again(step->act, step->item, answer);
	else if (store_job(step->act->store, step->item->job.kind, answer->body, answer->body_len, &err) < 0)
		log_warning("%s", err.message);
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
	send(step_new(act, item, on_runtime_id), "PATCH", path, NULL,
	     json_pack("{s:{s:s}, s:{s:s}}", "metadata", "resourceVersion", item->job.version, "spec", "runtimeID",
		       id));
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void translate(struct act *act, struct item *item)
{
	struct error err;

	if (item->translated || item->problem != NULL)
		return;
	if (job_translate(&item->job, &item->translation, &err) == 0) {
		item->translated = true;
		hash_of(item->translation.labels, item->translation.spec, item->hash);
		return;
	}
	act->counters.refused++;
	item->problem = mem_strdup(err.message);
	log_info("[%s/%s]: the %s is refused: %s", item->job.ns, item->job.name, job_names(item->job.kind)->kind,
		 err.message);
}

/* A new job has failed. A change that cannot be expressed is reported, and the job goes on as it was. */
static void refuse(struct act *act, struct item *item)
{
	const struct view *view = item->slot->view;
	struct job_outcome outcome;

	if (view != NULL && owns(item, view)) {
		cleanup_free char *message = mem_printf("the change has no effect: %s", item->problem);

		say(act, item, "Warning", "FailedValidation", message);
		return;
	}
	job_refuse(&item->job, item->problem, clock_wall_ms() / 1000, &outcome);
	write_status(act, item, &outcome);
	job_outcome_free(&outcome);
}

/* Whether the status is to be written. A server whose CRD does not know all members drops some of them: the same status
 * is not written again for that. */
static bool status_is_news(const struct item *item, const json_t *status)
{
	if (item->wrote != NULL && json_equal(item->wrote, status))
		return false;
	return item->job.status == NULL || !json_equal(status, item->job.status);
}

/* The Framework first, then the job's status: the end of a job is written when nothing of it can go on. */
static void bring_about(struct act *act, struct item *item)
{
	struct view *view = item->slot->view;
	struct job_outcome outcome;
	struct error err;
	bool stopped;

	if (view != NULL && !owns(item, view)) {
		report_foreign(act, item);
		return;
	}
	if (view != NULL && view_parse(view, &err) < 0) {
		log_error("[%s]: the Framework cannot be read: %s", item->slot->key, err.message);
		return;
	}
	stopped = view != NULL && view->stopped;
	job_status(&item->job, &item->translation, view != NULL && view->has_status ? &view->status : NULL, stopped,
		   clock_wall_ms() / 1000, &outcome);
	/* a Framework that is stopped stays so */
	json_object_set_new(item->translation.spec, "executionType", json_string(outcome.stop ? "Stop" : "Start"));
	if (view == NULL)
		create(act, item);
	else if (view->meta.deletion_time == 0 && !is_current(item, outcome.stop))
		patch(act, item);
	else if (status_is_news(item, outcome.status))
		write_status(act, item, &outcome);
	job_outcome_free(&outcome);
}

static void look_at(struct act *act, struct item *item)
{
	const struct job *job = &item->job;

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
	translate(act, item);
	if (item->translated)
		bring_about(act, item);
	else
		refuse(act, item);
}

bool act_run(struct act *act, size_t most)
{
	struct item *item = NULL;

	if (!store_synced(act->store) || !act->leads(act->arg))
		return false;
	while (most > 0 && (item = store_next(act->store)) != NULL) {
		look_at(act, item);
		most--;
	}
	return item != NULL;
}
