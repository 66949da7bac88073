/* What a Framework says of the translation that it was made from (jobs/kinds/note.h). */
#include "jobs/kinds/note.h"
#include "tests/unit/jobs_story.h"

/* The caller frees. */
static char *note_of(const struct story *story)
{
	cleanup_free char *spec = json_text(story->translation.spec);

	return job_note(&story->job, &story->translation, spec);
}

static void assert_same(const struct job_outcome *a, const struct job_outcome *b)
{
	assert_json("status", a->status, b->status);
	assert_int_equal(a->stop, b->stop);
	assert_int_equal(a->ended, b->ended);
}

/* A change that is refused: what the Framework says of its translation leads to the same statuses. */
static void test_recovered(void **state)
{
	static const char *const jobs[] = {
		TFJOB "{tfReplicaSpecs: {Worker: {replicas: 2, " TEMPLATE "}}}}",
		TFJOB "{successPolicy: AllWorkers, tfReplicaSpecs: {Worker: {replicas: 2, " TEMPLATE "}}}}",
		TFJOB "{runPolicy: {backoffLimit: 0}, tfReplicaSpecs: {Worker: {restartPolicy: OnFailure, " TEMPLATE
		      "}}}}",
		TFJOB "{runPolicy: {backoffLimit: 0}, tfReplicaSpecs: {Worker: {restartPolicy: Never, " TEMPLATE "}}}}",
		PYTORCHJOB "{runPolicy: {suspend: true}, pytorchReplicaSpecs: {Master: {" PYTORCH "}, Worker: {" PYTORCH
			   "}}}}",
		"{apiVersion: kubeflow.caicloud.io/v1alpha1, kind: TFJob, metadata: {name: j}, spec: {runtimeID: "
		"abcde, tfReplicaSpec: [{tfReplicaType: Worker, " TEMPLATE "}]}}",
	};
	static const char *const views[] = {"worker=.. master=.", "worker=RP master=R", "worker=SR master=S",
					    "worker=rR master=R", "worker=SS master=R"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(jobs) * ARRAY_LEN(views); i++) {
		struct framework_status framework;
		struct job_translation recovered;
		struct progress progress;
		struct job_outcome outcome;
		struct job_outcome expected;
		cleanup_free char *note = NULL;
		struct story story;

		begin(&story, jobs[i / ARRAY_LEN(views)]);
		note = note_of(&story);
		assert_int_equal(job_translation_recover(&story.job, note, story.translation.spec, &recovered), 0);
		framework_of(views[i % ARRAY_LEN(views)], &framework);
		read_back(&framework, false, &progress);
		job_status(&story.job, &story.translation, &progress, false, NOW, &expected);
		job_status(&story.job, &recovered, &progress, false, NOW, &outcome);
		assert_same(&outcome, &expected);
		assert_string_equal(recovered.framework, story.translation.framework);
		job_outcome_free(&outcome);
		job_outcome_free(&expected);
		job_translation_free(&recovered);
		framework_status_free(&framework);
		progress_free(&progress);
		end(&story);
	}
}

/* Notes that fc-jobs has not written, and Frameworks that are not of a job. */
static void test_not_recovered(void **state)
{
	static const char *const notes[] = {NULL, "", "1a2b-77", "[]", "{}", "{\"checksum\": 1}"};
	static const char *const specs[] = {"{}", "{taskRoles: 1}", "{taskRoles: [{}]}",
					    "{taskRoles: [{name: driver}]}",
					    "{taskRoles: [{name: ps}, {name: ps}, {name: ps}, {name: ps}, {name: ps}, "
					    "{name: ps}]}"};
	struct job_translation recovered;
	struct story story;

	(void)state;
	begin(&story, TFJOB "{tfReplicaSpecs: {Worker: {" TEMPLATE "}}}}");
	for (size_t i = 0; i < ARRAY_LEN(notes); i++)
		assert_int_equal(job_translation_recover(&story.job, notes[i], story.translation.spec, &recovered), -1);
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		cleanup_json json_t *spec = yaml_of(specs[i]);

		assert_int_equal(job_translation_recover(&story.job, "{\"checksum\":\"1-2\"}", spec, &recovered), -1);
	}
	end(&story);
}

/* The note says which labels the job gave: those that it takes back go, and no others. */
static void test_labels(void **state)
{
	cleanup_json json_t *patch = json_object();
	cleanup_free char *note = NULL;
	cleanup_free char *other = NULL;
	struct story story;
	struct error err;

	(void)state;
	begin(&story, "{apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: j, labels: {team: a, queue: b}}, "
		      "spec: {tfReplicaSpecs: {Worker: {" TEMPLATE "}}}}");
	note = note_of(&story);
	job_note_drop_labels(note, &story.translation, patch);
	assert_int_equal(json_object_size(patch), 0);
	json_object_del(story.job.labels, "team");
	job_translation_free(&story.translation);
	assert_int_equal(job_translate(&story.job, &story.translation, &err), 0);
	other = note_of(&story);
	assert_string_not_equal(other, note);
	job_note_drop_labels(note, &story.translation, patch);
	assert_int_equal(json_object_size(patch), 1);
	assert_true(json_is_null(json_object_get(patch, "team")));
	job_note_drop_labels("1a2b-77", &story.translation, patch);
	job_note_drop_labels(NULL, &story.translation, patch);
	assert_int_equal(json_object_size(patch), 1);
	end(&story);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recovered),
		cmocka_unit_test(test_not_recovered),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
