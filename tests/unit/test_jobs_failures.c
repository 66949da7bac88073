/* What restartPolicy and backoffLimit of jobs make of failures: the retries that a reconciler decides from the
 * translated Framework and the shipped configuration (jobs/README.md). */
#include "tests/unit/jobs_story.h"

#include "common/config/config.h"
#include "common/config/failure.h"
#include "common/framework/spec.h"
#include "reconciler/sync/classify.h"
#include "reconciler/sync/rules.h"

#define SHIPPED "manifests/config/frameworkcontroller.yaml"

enum { NOT_ENDED = -1, LIMIT_NONE = -1 };

enum expected { ENDS, UNCOUNTED, COUNTED };

struct row {
	const char *policy;
	int limit;          /* backoffLimit */
	int code;           /* predefined; 0: the Pod has failed so: */
	int exit_code;      /* of the kind's container */
	int sidecar;        /* exit code */
	const char *reason; /* of the Pod; NULL: none */
	enum expected expected;
};

static struct container_state container(char *name, int exit_code)
{
	static char error[] = "Error", oom[] = "OOMKilled", message[] = "";

	return (struct container_state){.name = name,
					.terminated = exit_code != NOT_ENDED,
					.exit_code = exit_code,
					.reason = exit_code == 137 ? oom : error,
					.message = message};
}

/* The completion of a Pod of Worker 0. */
static struct completion *classified(const json_t *spec, const struct row *row)
{
	static char pod_name[] = "j-worker-0", empty[] = "", names[][8] = {"pytorch", "sidecar"};
	struct container_state containers[] = {container(names[0], row->exit_code), container(names[1], row->sidecar)};
	cleanup_free char *reason = mem_strdup(row->reason == NULL ? "" : row->reason);
	const struct pod pod = {.meta = {.name = pod_name},
				.phase = POD_FAILED,
				.reason = reason,
				.message = empty,
				.containers = containers,
				.container_count = ARRAY_LEN(containers)};
	int64_t steps = CLASSIFY_STEPS;
	struct completion *completion;
	struct pod_failure failure;
	struct failure_spec own;
	struct config config;
	struct error err;

	if (config_load(SHIPPED, CONFIG_UNKNOWN_REFUSE, &config, &err) < 0 ||
	    failure_spec_parse(json_object_get(spec, "podFailureSpec"), "spec.podFailureSpec", &own, &err) < 0)
		fail_msg("%s", err.message);
	classify_pod(&own, &config.pod_failure_spec, &pod, &steps, &failure);
	completion = completion_new(failure.code, false, failure.phrase, failure.attributes, failure.diagnostics);
	pod_failure_free(&failure);
	failure_spec_free(&own);
	config_free(&config);
	return completion;
}

static struct retry_decision decide(const struct row *row)
{
	cleanup_free char *text = mem_printf(
		PYTORCHJOB "{runPolicy: {backoffLimit: %s}, pytorchReplicaSpecs: {Worker: {restartPolicy: %s, " PYTORCH
			   "}}}}",
		row->limit == LIMIT_NONE ? "null"
		: row->limit == 0        ? "0"
					 : "2",
		row->policy);
	const struct retry_status none = {0};
	struct framework_spec spec;
	struct retry_decision decision;
	struct completion *completion;
	struct story story;
	struct error err;

	begin(&story, text);
	if (framework_spec_parse(story.translation.spec, &spec, &err) < 0)
		fail_msg("%s", err.message);
	completion = row->code != 0 ? completion_predefined(row->code, "") : classified(story.translation.spec, row);
	decision = retry_decide(&spec.roles[0].retry, &none, completion);
	completion_free(completion);
	framework_spec_free(&spec);
	end(&story);
	return decision;
}

static void test_retries(void **state)
{
	static const struct row rows[] = {
		{.policy = "Never", .limit = 2, .exit_code = 1, .expected = ENDS},
		/* whatever the configuration says of the exit code */
		{.policy = "Never", .limit = 2, .exit_code = 143, .expected = ENDS},
		{.policy = "Never", .limit = LIMIT_NONE, .exit_code = 137, .expected = ENDS},
		{.policy = "Never", .limit = 2, .exit_code = 0, .sidecar = 137, .expected = ENDS},
		{.policy = "Never", .limit = 0, .exit_code = 137, .reason = "DeadlineExceeded", .expected = ENDS},
		{.policy = "Never", .limit = 0, .exit_code = 137, .reason = "Evicted", .expected = UNCOUNTED},
		{.policy = "Never", .limit = 0, .exit_code = NOT_ENDED, .sidecar = NOT_ENDED, .expected = ENDS},
		{.policy = "Never", .limit = 0, .exit_code = 0, .sidecar = -1073741819, .expected = ENDS},
		/* nothing has run */
		{.policy = "Never", .limit = 0, .code = CODE_POD_CREATION_UNKNOWN_ERROR, .expected = COUNTED},
		{.policy = "Never", .limit = 0, .code = CODE_POD_CREATION_PERMANENT_ERROR, .expected = ENDS},
		{.policy = "Never", .limit = 0, .code = CODE_POD_EXTERNAL_DELETED, .expected = UNCOUNTED},
		{.policy = "Never", .limit = 0, .exit_code = NOT_ENDED, .reason = "Evicted", .expected = UNCOUNTED},
		{.policy = "OnFailure", .limit = 2, .exit_code = 1, .expected = COUNTED},
		{.policy = "OnFailure", .limit = 0, .exit_code = 1, .expected = ENDS},
		/* which the configuration calls Transient, and Permanent */
		{.policy = "OnFailure", .limit = 2, .exit_code = 143, .expected = COUNTED},
		{.policy = "OnFailure", .limit = 2, .exit_code = 137, .expected = COUNTED},
		{.policy = "OnFailure", .limit = 2, .exit_code = NOT_ENDED, .reason = "Evicted", .expected = COUNTED},
		{.policy = "OnFailure", .limit = 2, .exit_code = 0, .sidecar = 4, .expected = COUNTED},
		{.policy = "OnFailure", .limit = 2, .code = CODE_POD_EXTERNAL_DELETED, .expected = UNCOUNTED},
		{.policy = "OnFailure", .limit = 0, .code = CODE_POD_EXTERNAL_DELETED, .expected = UNCOUNTED},
		{.policy = "OnFailure", .limit = 2, .code = CODE_POD_CREATION_PERMANENT_ERROR, .expected = ENDS},
		{.policy = "Always", .limit = 2, .exit_code = 137, .expected = COUNTED},
		{.policy = "Always", .limit = 0, .code = CODE_SUCCEEDED, .expected = COUNTED},
		{.policy = "Always", .limit = 0, .code = CODE_POD_EXTERNAL_DELETED, .expected = UNCOUNTED},
		{.policy = "ExitCode", .limit = LIMIT_NONE, .exit_code = 1, .expected = ENDS},
		{.policy = "ExitCode", .limit = LIMIT_NONE, .exit_code = 130, .expected = COUNTED},
		{.policy = "ExitCode", .limit = 2, .exit_code = 139, .expected = COUNTED},
		{.policy = "ExitCode", .limit = 0, .exit_code = 130, .expected = ENDS},
		{.policy = "ExitCode", .limit = 0, .code = CODE_POD_EXTERNAL_DELETED, .expected = UNCOUNTED},
		/* the kind's container has succeeded, and another one has not */
		{.policy = "ExitCode", .limit = LIMIT_NONE, .exit_code = 0, .sidecar = 4, .expected = ENDS},
		{.policy = "ExitCode", .limit = LIMIT_NONE, .exit_code = 130, .sidecar = 4, .expected = COUNTED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct retry_decision decision = decide(&rows[i]);
		const enum expected found = !decision.retry ? ENDS : decision.accountable ? COUNTED : UNCOUNTED;

		if (found != rows[i].expected)
			fail_msg("row %zu: %s, limit %d, code %d, exit codes %d and %d: found %d, expected %d", i,
				 rows[i].policy, rows[i].limit, rows[i].code, rows[i].exit_code, rows[i].sidecar, found,
				 rows[i].expected);
	}
}

/* The diagnostics show why the Pod has failed. */
static void test_diagnostics(void **state)
{
	const struct row row = {.policy = "OnFailure", .limit = 2, .exit_code = 1};
	struct completion *completion;
	struct story story;

	(void)state;
	begin(&story, PYTORCHJOB "{runPolicy: {backoffLimit: 2}, pytorchReplicaSpecs: {Worker: {" PYTORCH "}}}}");
	completion = classified(story.translation.spec, &row);
	assert_string_equal(
		completion->diagnostics,
		"PodPattern matched: {\"name\":\"j-worker-0\",\"containers\":[{\"name\":\"pytorch\",\"reason\":"
		"\"Error\",\"code\":1}]}");
	completion_free(completion);
	end(&story);
}

/* No replica has failed that never had a Pod: the creation is tried again, and the job says why. */
static void test_creation_refused(void **state)
{
	static const char *const jobs[] = {
		TFJOB "{tfReplicaSpecs: {Worker: {replicas: 2, restartPolicy: Never, " TEMPLATE "}}}}",
		TFJOB
		"{runPolicy: {backoffLimit: 2}, tfReplicaSpecs: {Worker: {replicas: 2, restartPolicy: Never, " TEMPLATE
		"}}}}",
	};
	struct story story;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		begin(&story, jobs[i]);
		see(&story, "worker=Rc", CODE_NONE, false);
		assert_false(story.last.stop);
		assert_conditions(&story, "Created=True Restarting=True TFJobRestarting");
		assert_message(&story,
			       "TFJob j is restarting because Worker replica(s) failed. Worker 1 ended with code "
			       "-310: Failed to create Pod: Forbidden: no such account");
		assert_replicas(&story, "Worker=1/0/0");
		see(&story, "worker=RR", CODE_NONE, false);
		assert_conditions(&story, "Created=True Running=True TFJobRunning");
		end(&story);
	}
	/* one that is not tried again is one that failed: nothing else would end the job */
	begin(&story,
	      TFJOB "{enableDynamicWorker: true, tfReplicaSpecs: {Worker: {restartPolicy: Never, " TEMPLATE "}}}}");
	see(&story, "worker=C", CODE_NONE, false);
	assert_replicas(&story, "Worker=0/0/1");
	assert_true(story.last.stop);
	end(&story);
	/* a template that no API server takes ends the job */
	begin(&story, jobs[0]);
	see(&story, "worker=Rb", CODE_NONE, false);
	assert_true(story.last.stop);
	see(&story, "worker=Rb", CODE_NONE, false);
	assert_message(&story, "Job j has failed: Failed to create Pod: BadRequest: no list");
	end(&story);
	/* with the reason, in the condition of the end, too */
	begin(&story, TFJOB
	      "{runPolicy: {backoffLimit: 3}, tfReplicaSpecs: {Worker: {restartPolicy: OnFailure, " TEMPLATE "}}}}");
	see(&story, "worker=C", CODE_POD_CREATION_UNKNOWN_ERROR, false);
	assert_message(&story, "Job j has failed: what ended it");
	end(&story);
}

/* In a queue of Kueue, which suspends the Framework and not the job: the job says that it is suspended, and when it
 * has begun. */
static void test_queued(void **state)
{
	struct story story;

	(void)state;
	begin(&story, "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: j, labels: "
		      "{kueue.x-k8s.io/queue-name: team}}, spec: {pytorchReplicaSpecs: {Worker: {" PYTORCH "}}}}");
	see(&story, NULL, CODE_NONE, false);
	assert_conditions(&story, "Created=True PyTorchJobCreated");
	see(&story, "worker=.", CODE_NONE, true);
	assert_conditions(&story, "Created=True Suspended=True PyTorchJobSuspended");
	assert_null(json_object_get(story.job.status, "startTime"));
	see(&story, "worker=R", CODE_NONE, false);
	assert_conditions(&story, "Created=True Suspended=False Running=True PyTorchJobRunning");
	assert_int_equal(json_time(story.job.status, "startTime"), story.now_sec);
	/* evicted, and the Framework is made again meanwhile: nothing has begun */
	see(&story, "worker=X", CODE_SUSPEND_FRAMEWORK_REQUESTED, false);
	see(&story, "worker=.", CODE_NONE, true);
	assert_conditions(&story, "Created=True Running=False Suspended=True PyTorchJobSuspended");
	see(&story, NULL, CODE_NONE, false);
	assert_conditions(&story, "Created=True Running=False Suspended=True PyTorchJobSuspended");
	assert_int_equal(json_array_size(story.last.events), 0);
	end(&story);
}

/* The replica that has ended the job is named, whatever others with a limit have done. */
static void test_unlimited_end(void **state)
{
	struct story story;

	(void)state;
	begin(&story, TFJOB "{runPolicy: {backoffLimit: 2}, tfReplicaSpecs: {Worker: {restartPolicy: Never, " TEMPLATE
			    "}, PS: {replicas: 2, restartPolicy: OnFailure, " TEMPLATE "}}}}");
	see(&story, "ps=rr worker=F", 1, false);
	assert_message(&story, "TFJob ns/j has failed because 1 Worker replica(s) failed.");
	end(&story);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retries),          cmocka_unit_test(test_diagnostics),
		cmocka_unit_test(test_creation_refused), cmocka_unit_test(test_queued),
		cmocka_unit_test(test_unlimited_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
