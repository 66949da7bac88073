/* A job as anybody may have stored it, and a Framework that claims to be its: what fc-jobs makes of both. Inputs: the
 * job as a line of JSON, then the Framework. Each job is translated or refused with a message that names a place; what
 * was translated can be recovered; and a status is the same when it is made again. */
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/names.h"
#include "common/framework/status.h"
#include "jobs/kinds/note.h"
#include "jobs/patch.h"
#include "jobs/view.h"
#include "tests/fuzz/fuzz.h"

enum { NOW = 1700000000 };

/* What a reconciler reads of the status is what is shown. */
static void compare(const struct view *view)
{
	struct framework_status status = {0};
	cleanup_json json_t *json = NULL;
	int64_t retried = 0;
	struct error err;

	if (view->status.at == NULL)
		return;
	json = json_parse(view->status.at, view->status.len, NULL);
	if (json == NULL || !framework_status_present(json) || framework_status_parse(json, &status, &err) < 0)
		return;
	FUZZ_EXPECT(view->progress.present);
	FUZZ_EXPECT(view->progress.role_count == status.attempt.role_count);
	for (size_t r = 0; r < status.attempt.role_count; r++) {
		FUZZ_EXPECT(strcmp(view->progress.roles[r].name, status.attempt.roles[r].name) == 0);
		retried = 0;
		for (size_t t = 0; t < status.attempt.roles[r].task_count; t++)
			if (!status.attempt.roles[r].tasks[t].deletion_pending)
				retried += status.attempt.roles[r].tasks[t].retry.accountable;
		FUZZ_EXPECT(view->progress.roles[r].retried == retried);
	}
	framework_status_free(&status);
}

static void expect_same(struct job *job, const struct job_translation *translation, const struct progress *progress,
			bool stopped)
{
	struct job_outcome first;
	struct job_outcome again;
	json_t *former = job->status;

	job_status(job, translation, progress, stopped, NOW, &first);
	job->status = first.status;
	job_status(job, translation, progress, stopped, NOW, &again);
	FUZZ_EXPECT(json_is_object(first.status));
	FUZZ_EXPECT(json_equal(first.status, again.status));
	FUZZ_EXPECT(json_array_size(again.events) == 0);
	FUZZ_EXPECT(first.stop == again.stop && first.ended == again.ended);
	job->status = former;
	job_outcome_free(&first);
	job_outcome_free(&again);
}

static void look_at_translation(struct job *job, const struct job_translation *translation, const struct view *view)
{
	cleanup_free char *spec = json_text(translation->spec);
	cleanup_free char *note = job_note(job, translation, spec);
	cleanup_json json_t *job_spec = job->spec == NULL ? NULL : json_parse(job->spec, strlen(job->spec), NULL);
	cleanup_json json_t *patch = patch_make(job_spec, translation->spec);
	cleanup_json json_t *labels = json_object();
	struct job_translation recovered;

	FUZZ_EXPECT(framework_name_valid(translation->framework));
	FUZZ_EXPECT(patch_contains(translation->spec, translation->spec) && json_is_object(patch));
	job_note_drop_labels(note, translation, labels);
	FUZZ_EXPECT(json_object_size(labels) == 0);
	FUZZ_EXPECT(job_translation_recover(job, note, translation->spec, &recovered) == 0);
	FUZZ_EXPECT(recovered.role_count == translation->role_count &&
		    recovered.has_leader == translation->has_leader &&
		    recovered.first_decides == translation->first_decides &&
		    recovered.suspend == translation->suspend && recovered.backoff_limit == translation->backoff_limit);
	job_translation_free(&recovered);
	expect_same(job, translation, NULL, false);
	if (view != NULL) {
		expect_same(job, translation, &view->progress, view->stopped);
		expect_same(job, translation, &view->progress, true);
	}
}

static void translate(struct job *job, const struct view *view)
{
	struct job_translation translation;
	struct error err = {.message = ""};
	struct job_outcome outcome;

	if (job_translate(job, &translation, &err) == 0) {
		look_at_translation(job, &translation, view);
		job_translation_free(&translation);
		return;
	}
	FUZZ_EXPECT(strncmp(err.message, "spec", 4) == 0 || strncmp(err.message, "metadata", 8) == 0);
	job_refuse(job, err.message, NOW, &outcome);
	FUZZ_EXPECT(json_is_object(outcome.status));
	job_outcome_free(&outcome);
}

static void look_at_job(const char *text, size_t len, const struct view *view)
{
	static const char *const gang_schedulers[] = {NULL, "volcano", "another"};
	struct error err;
	struct job job;

	for (enum job_kind kind = 0; kind < JOB_KINDS; kind++) {
		if (job_read(kind, text, len, &job, &err) < 0)
			return;
		(void)job_finish_time(&job);
		for (size_t i = 0; i < ARRAY_LEN(gang_schedulers); i++) {
			job.gang_scheduler = gang_schedulers[i];
			translate(&job, view);
		}
		job_free(&job);
	}
}

/* A Framework whose note and spec are somebody else's. */
static void look_at_framework(const char *text, size_t len, const struct view *view)
{
	cleanup_json json_t *spec = view_spec(view);
	struct job_translation recovered;
	struct error err;
	struct job job;

	compare(view);
	if (job_read(JOB_TFJOB, text, len, &job, &err) < 0)
		return;
	if (job_translation_recover(&job, view->note, spec, &recovered) == 0) {
		expect_same(&job, &recovered, &view->progress, view->stopped);
		job_translation_free(&recovered);
	}
	job_free(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {.data = data, .left = size};
	size_t job_len;
	size_t framework_len;
	const char *job_text = fuzz_line(&input, &job_len);
	const char *framework_text = fuzz_line(&input, &framework_len);
	struct object_identity identity;
	struct view *view = NULL;
	struct error err;

	if (object_identity_read(framework_text, framework_len, &identity))
		view = view_renew(NULL, &identity, framework_text, framework_len);
	if (view != NULL && view_parse(view, &err) < 0) {
		view_free(view);
		view = NULL;
	}
	look_at_job(job_text, job_len, view);
	if (view != NULL)
		look_at_framework(job_text, job_len, view);
	view_free(view);
	return 0;
}
