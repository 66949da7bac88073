/* A CRD can let anything through: each value of each example is replaced by values of other types. Every job is
 * translated or refused with a message that names a place, and then has a status; a sanitizer looks at the rest. */
#include "tests/unit/jobs_world.h"

static const char *const files[] = {
	"caicloud-dist", "caicloud-local",  "tfjob-dist",           "tfjob-chief",
	"tfjob-dynamic", "pytorch-elastic", "pytorch-elastic-etcd", "pytorch-processes",
};

static const char *const values[] = {"null", "true", "-1", "9000000000", "'x'", "[]", "[7]", "{}", "{x: 1}"};

struct tally {
	size_t translated;
	size_t refused;
};

static const char *const gang_schedulers[] = {NULL, "volcano", "another"};

static void try_job(json_t *object, struct tally *tally)
{
	struct job_translation translation;
	struct job_outcome outcome;
	cleanup_free char *text = json_text(object);
	struct error err = {.message = ""};
	struct job job;

	if (job_read(json_object_get(object, "kind") == NULL ? JOB_TFJOB : JOB_PYTORCHJOB, text, strlen(text), &job,
		     &err) < 0)
		return;
	for (job.kind = 0; job.kind < JOB_KINDS; job.kind++) {
		(void)job_finish_time(&job);
		job.gang_scheduler = gang_schedulers[tally->refused % ARRAY_LEN(gang_schedulers)];
		if (job_translate(&job, &translation, &err) == 0) {
			tally->translated++;
			job_status(&job, &translation, NULL, false, 1700000000, &outcome);
			job_translation_free(&translation);
		} else {
			tally->refused++;
			assert_true(strncmp(err.message, "spec", 4) == 0 || strncmp(err.message, "metadata", 8) == 0);
			job_refuse(&job, err.message, 1700000000, &outcome);
		}
		assert_true(json_is_object(outcome.status));
		job_outcome_free(&outcome);
	}
	job.kind = 0;
	job_free(&job);
}

static void replace_all(json_t *root, json_t *at, struct tally *tally);

static void replace_one(json_t *root, json_t *at, const char *name, size_t index, struct tally *tally)
{
	json_t *former = json_incref(name != NULL ? json_object_get(at, name) : json_array_get(at, index));

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		json_t *value = yaml_of(values[i]);

		if (name != NULL)
			json_object_set_new(at, name, value);
		else
			json_array_set_new(at, index, value);
		try_job(root, tally);
	}
	if (name != NULL)
		json_object_set(at, name, former);
	else
		json_array_set(at, index, former);
	replace_all(root, former, tally);
	json_decref(former);
}

static void replace_all(json_t *root, json_t *at, struct tally *tally)
{
	json_t *value;
	const char *name;
	void *next;

	json_object_foreach_safe(at, next, name, value) {
		cleanup_free char *copy = mem_strdup(name);

		replace_one(root, at, copy, 0, tally);
	}
	for (size_t i = 0; i < json_array_size(at); i++)
		replace_one(root, at, NULL, i, tally);
}

static void test_values(void **state)
{
	struct tally tally = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		cleanup_free char *path = mem_printf("tests/jobs/%s.yaml", files[i]);
		cleanup_json json_t *object = yaml_of_file(path);
		json_t *meta = json_object_get(object, "metadata");

		json_object_set_new(meta, "namespace", json_string("ns"));
		json_object_set_new(meta, "uid", json_string("uid-1"));
		json_object_set_new(object, "status",
				    json_pack("{s:[{s:s}], s:{}}", "conditions", "type", "Created", "replicaStatuses"));
		replace_all(object, object, &tally);
	}
	assert_true(tally.translated > 1000);
	assert_true(tally.refused > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_values)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
