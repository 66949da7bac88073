/* The statuses of jobs, as their own controllers show them (jobs/README.md): stories of a Framework's Tasks, and what
 * the job says at each point. */
#include "tests/unit/jobs_story.h"

#include "jobs/kinds/conditions.h"

/* By default the first Worker decides. Its Framework is stopped first, and the job has succeeded when that is stored.
 */
static void test_first_worker(void **state)
{
	struct story story;

	(void)state;
	begin(&story, TFJOB "{tfReplicaSpecs: {PS: {" TEMPLATE "}, Worker: {replicas: 2, " TEMPLATE "}}}}");
	see(&story, NULL, CODE_NONE, false);
	assert_conditions(&story, "Created=True TFJobCreated");
	assert_message(&story, "TFJob j is created.");
	assert_replicas(&story, "PS=0/0/0 Worker=0/0/0");
	see(&story, "worker=P. ps=R", CODE_NONE, false);
	assert_conditions(&story, "Created=True TFJobCreated");
	see(&story, "worker=RP ps=R", CODE_NONE, false);
	assert_conditions(&story, "Created=True Running=True TFJobRunning");
	assert_message(&story, "TFJob ns/j is running.");
	assert_replicas(&story, "PS=1/0/0 Worker=1/0/0");
	see(&story, "worker=SR ps=R", CODE_NONE, false);
	assert_true(story.last.stop);
	assert_conditions(&story, "Created=True Running=True TFJobRunning");
	see(&story, "worker=SR ps=R", CODE_NONE, false);
	assert_conditions(&story, "Created=True Running=False Succeeded=True TFJobSucceeded");
	assert_message(&story, "TFJob ns/j successfully completed.");
	assert_replicas(&story, "PS=0/1/0 Worker=0/2/0");
	assert_true(job_finished(&story.job));
	assert_int_equal(job_finish_time(&story.job), story.now_sec);
	end(&story);
}

/* The same after fc-jobs was away: the Framework's stop has been carried out. */
static void test_stopped_meanwhile(void **state)
{
	struct story story;

	(void)state;
	begin(&story, TFJOB "{tfReplicaSpecs: {Worker: {replicas: 2, " TEMPLATE "}}}}");
	story.stopped = true;
	see(&story, "worker=SX", CODE_STOP_FRAMEWORK_REQUESTED, false);
	assert_conditions(&story, "Created=True Succeeded=True TFJobSucceeded");
	assert_replicas(&story, "Worker=0/2/0");
	end(&story);
	begin(&story, TFJOB "{successPolicy: AllWorkers, tfReplicaSpecs: {Worker: {replicas: 2, " TEMPLATE "}}}}");
	story.stopped = true;
	see(&story, "worker=SX", CODE_STOP_FRAMEWORK_REQUESTED, false);
	assert_conditions(&story, "Created=True Failed=True TFJobFailed");
	assert_message(&story, "Job j has failed because its Framework was stopped");
	end(&story);
}

static void test_all_workers(void **state)
{
	struct story story;

	(void)state;
	begin(&story, TFJOB "{successPolicy: AllWorkers, tfReplicaSpecs: {Worker: {replicas: 2, " TEMPLATE "}}}}");
	see(&story, "worker=SR", CODE_NONE, false);
	assert_false(story.last.stop);
	assert_conditions(&story, "Created=True Running=True TFJobRunning");
	see(&story, "worker=SS", CODE_SUCCEEDED, false);
	assert_conditions(&story, "Created=True Running=False Succeeded=True TFJobSucceeded");
	assert_replicas(&story, "Worker=0/2/0");
	/* nothing changes any more */
	see(&story, "worker=RR", CODE_NONE, false);
	assert_conditions(&story, "Created=True Running=False Succeeded=True TFJobSucceeded");
	end(&story);
}

/* Worker 0 has succeeded, and another one fails before the Framework is stopped: the order decides nothing. */
static void test_first_worker_in_time(void **state)
{
	static const char *const tasks[] = {"worker=SF", "worker=sF"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tasks); i++) {
		struct story story;

		begin(&story, TFJOB "{tfReplicaSpecs: {Worker: {replicas: 2, " TEMPLATE "}}}}");
		see(&story, "worker=RR", CODE_NONE, false);
		see(&story, tasks[i], 1, false);
		assert_conditions(&story, "Created=True Running=False Succeeded=True TFJobSucceeded");
		end(&story);
		begin(&story,
		      TFJOB "{successPolicy: AllWorkers, tfReplicaSpecs: {Worker: {replicas: 2, " TEMPLATE "}}}}");
		see(&story, tasks[i], 1, false);
		assert_conditions(&story, "Created=True Failed=True TFJobFailed");
		end(&story);
	}
}

#define DYNAMIC "{apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: j}, spec: {enableDynamicWorker: true, "

/* With enableDynamicWorker the others go on, but when none is left and not all have succeeded, the job has failed. */
static void test_dynamic_workers(void **state)
{
	struct story story;

	(void)state;
	begin(&story, DYNAMIC "tfReplicaSpecs: {Worker: {replicas: 2, " TEMPLATE "}}}}");
	see(&story, "worker=RF", CODE_NONE, false);
	assert_false(story.last.stop);
	see(&story, "worker=FF", CODE_SUCCEEDED, false);
	assert_conditions(&story, "Created=True Running=False Failed=True TFJobFailed");
	assert_message(&story, "TFJob ns/j has failed because 2 Worker replica(s) failed.");
	end(&story);
	begin(&story, DYNAMIC "successPolicy: AllWorkers, tfReplicaSpecs: {PS: {" TEMPLATE
			      "}, Worker: {replicas: 2, " TEMPLATE "}}}}");
	see(&story, "worker=SR ps=R", CODE_NONE, false);
	see(&story, "worker=Sd ps=R", CODE_NONE, false); /* it may be retried */
	assert_false(story.last.stop);
	see(&story, "worker=SF ps=R", CODE_NONE, false);
	assert_true(story.last.stop);
	see(&story, "worker=SF ps=X", CODE_STOP_FRAMEWORK_REQUESTED, false);
	assert_conditions(&story, "Created=True Running=False Failed=True TFJobFailed");
	assert_message(&story, "TFJob ns/j has failed because 1 Worker replica(s) failed.");
	end(&story);
	begin(&story, DYNAMIC "tfReplicaSpecs: {Worker: {replicas: 2, " TEMPLATE "}}}}");
	see(&story, "worker=SF", CODE_SUCCEEDED, false); /* Worker 0 decides */
	assert_conditions(&story, "Created=True Succeeded=True TFJobSucceeded");
	end(&story);
}

static void test_failure(void **state)
{
	struct story story;

	(void)state;
	begin(&story, TFJOB "{tfReplicaSpecs: {PS: {" TEMPLATE "}, Worker: {replicas: 3, " TEMPLATE "}}}}");
	see(&story, "worker=RRR ps=R", CODE_NONE, false);
	see(&story, "worker=RFR ps=R", 1, false);
	assert_conditions(&story, "Created=True Running=False Failed=True TFJobFailed");
	assert_message(&story, "TFJob ns/j has failed because 1 Worker replica(s) failed.");
	assert_replicas(&story, "PS=0/0/0 Worker=0/0/1");
	assert_int_equal(json_array_size(story.last.events), 1);
	assert_string_equal(json_str(json_array_get(story.last.events, 0), "reason"), "TFJobFailed");
	end(&story);
}

static void test_restarting(void **state)
{
	struct story story;

	(void)state;
	begin(&story, PYTORCHJOB "{pytorchReplicaSpecs: {Master: {restartPolicy: ExitCode, " PYTORCH
				 "}, Worker: {" PYTORCH "}}}}");
	see(&story, "master=R worker=R", CODE_NONE, false);
	assert_conditions(&story, "Created=True Running=True PyTorchJobRunning");
	assert_message(&story, "PyTorchJob j is running.");
	see(&story, "master=f worker=R", CODE_NONE, false);
	assert_conditions(&story, "Created=True Restarting=True PyTorchJobRestarting");
	assert_message(&story, "PyTorchJob j is restarting because Master replica(s) failed. Master 0 ended with code "
			       "7: Pod failed");
	assert_string_equal(json_str(json_array_get(story.last.events, 0), "message"),
			    "PyTorchJob j is restarting because Master replica(s) failed.");
	assert_replicas(&story, "Master=0/0/1 Worker=1/0/0");
	see(&story, "master=r worker=R", CODE_NONE, false);
	assert_conditions(&story, "Created=True Restarting=True PyTorchJobRestarting");
	see(&story, "master=R worker=R", CODE_NONE, false);
	assert_conditions(&story, "Created=True Running=True PyTorchJobRunning");
	see(&story, "master=S worker=X", CODE_SUCCEEDED, false);
	assert_conditions(&story, "Created=True Running=False Succeeded=True PyTorchJobSucceeded");
	assert_message(&story, "PyTorchJob j is successfully completed.");
	assert_replicas(&story, "Master=0/1/0 Worker=0/1/0");
	end(&story);
}

/* A Task whose retry is not decided, or whose job has reached its backoffLimit, does not restart. */
static void test_not_restarting(void **state)
{
	struct story story;

	(void)state;
	begin(&story, TFJOB "{tfReplicaSpecs: {Worker: {replicas: 2, restartPolicy: ExitCode, " TEMPLATE "}}}}");
	see(&story, "worker=RR", CODE_NONE, false);
	see(&story, "worker=dR", CODE_NONE, false);
	assert_conditions(&story, "Created=True Running=True TFJobRunning");
	assert_replicas(&story, "Worker=1/0/1");
	see(&story, "worker=FR", CODE_NONE, false);
	assert_conditions(&story, "Created=True Running=True TFJobRunning");
	see(&story, "worker=FX", 1, false);
	assert_conditions(&story, "Created=True Running=False Failed=True TFJobFailed");
	end(&story);
	begin(&story, TFJOB "{runPolicy: {backoffLimit: 1}, tfReplicaSpecs: {Worker: {replicas: 3, restartPolicy: "
			    "OnFailure, " TEMPLATE "}}}}");
	see(&story, "worker=RRR", CODE_NONE, false);
	see(&story, "worker=rrR", CODE_NONE, false);
	assert_true(story.last.stop);
	assert_conditions(&story, "Created=True Running=True TFJobRunning");
	end(&story);
}

/* The diagnostics of a Pod can be long. They are cut before a character that has no room. */
static void test_restarting_shortened(void **state)
{
	static const char head[] = "Worker 1 ended with code 7: ";
	enum { MOST = 512, SIZE = 4096 };
	struct framework_status framework;
	struct progress progress;
	char text[SIZE];
	char *failure;

	(void)state;
	framework_of("worker=Rf", &framework);
	for (size_t odd = 0; odd < 2; odd++) { /* whether a character of two bytes lies across the limit */
		memset(text, 'x', odd);
		for (size_t i = odd; i + 1 < SIZE; i += 2)
			memcpy(&text[i], "\xc3\xa4", 2);
		text[SIZE - 2 + odd] = '\0';
		completion_free(framework.attempt.roles[0].tasks[1].attempt.completion);
		framework.attempt.roles[0].tasks[1].attempt.completion = completion_new(7, false, "", NULL, text);
		for (int compressed = 0; compressed < 2; compressed++) {
			read_back(&framework, compressed != 0, &progress);
			failure = progress_failure(&progress, "worker", "Worker");
			assert_memory_equal(failure, head, strlen(head));
			assert_memory_equal(failure + strlen(head) + odd, "\xc3\xa4", 2);
			assert_int_equal(strlen(failure), strlen(head) + MOST - odd);
			assert_string_equal(failure + strlen(failure) - 2, "\xc3\xa4");
			free(failure);
			progress_free(&progress);
		}
	}
	framework_status_free(&framework);
}

/* A Pod that the API server refuses ends the job, also if the policy would retry it without end. */
static void test_pod_refused(void **state)
{
	static const char *const jobs[] = {
		PYTORCHJOB "{pytorchReplicaSpecs: {Worker: {replicas: 2, " PYTORCH "}}}}",
		TFJOB
		"{enableDynamicWorker: true, tfReplicaSpecs: {Worker: {replicas: 2, restartPolicy: Always, " TEMPLATE
		"}}}}",
	};
	struct story story;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		begin(&story, jobs[i]);
		see(&story, "worker=Ru", CODE_NONE, false);
		assert_true(story.last.stop);
		see(&story, "worker=Ru", CODE_NONE, false);
		assert_message(&story, "Job j has failed: Failed to create Pod: {}");
		end(&story);
	}
	/* after fc-jobs was away */
	begin(&story, jobs[0]);
	story.stopped = true;
	see(&story, "worker=XU", CODE_STOP_FRAMEWORK_REQUESTED, false);
	assert_message(&story, "Job j has failed: Failed to create Pod: {}");
	end(&story);
	/* the Framework decides */
	begin(&story, PYTORCHJOB "{pytorchReplicaSpecs: {Worker: {restartPolicy: Never, " PYTORCH "}}}}");
	see(&story, "worker=U", CODE_NONE, false);
	assert_false(story.last.stop);
	see(&story, "worker=U", CODE_POD_CREATION_PERMANENT_ERROR, false);
	assert_message(&story, "Job j has failed: what ended it");
	end(&story);
}

/* Before it starts, while it runs, and back again: startTime is that of the last start. */
static void test_suspend(void **state)
{
	struct story story;

	(void)state;
	begin(&story, PYTORCHJOB "{runPolicy: {suspend: true}, pytorchReplicaSpecs: {Worker: {" PYTORCH "}}}}");
	see(&story, NULL, CODE_NONE, false);
	assert_conditions(&story, "Created=True PyTorchJobCreated");
	assert_null(json_object_get(story.job.status, "startTime"));
	see(&story, "worker=.", CODE_NONE, true);
	assert_conditions(&story, "Created=True Suspended=True PyTorchJobSuspended");
	assert_message(&story, "PyTorchJob j is suspended.");
	change(&story, "runPolicy", "suspend", json_false());
	see(&story, "worker=.", CODE_NONE, false);
	assert_conditions(&story, "Created=True Suspended=False PyTorchJobResumed");
	assert_int_equal(json_time(story.job.status, "startTime"), story.now_sec);
	see(&story, "worker=R", CODE_NONE, false);
	assert_conditions(&story, "Created=True Suspended=False Running=True PyTorchJobRunning");
	change(&story, "runPolicy", "suspend", json_true());
	/* its Pods end; the attempt's end is no end of the job */
	see(&story, "worker=X", CODE_SUSPEND_FRAMEWORK_REQUESTED, false);
	assert_conditions(&story, "Created=True Suspended=False Running=True PyTorchJobRunning");
	see(&story, "worker=.", CODE_NONE, true);
	assert_conditions(&story, "Created=True Running=False Suspended=True PyTorchJobSuspended");
	assert_replicas(&story, "Worker=0/0/0");
	end(&story);
}

/* The sum over all Tasks counts, which a Framework cannot say; a Pod that somebody deleted does not. */
static void test_backoff_limit(void **state)
{
	struct story story;

	(void)state;
	begin(&story, TFJOB "{runPolicy: {backoffLimit: 1}, tfReplicaSpecs: {Worker: {replicas: 3, restartPolicy: "
			    "OnFailure, " TEMPLATE "}}}}");
	see(&story, "worker=DDD", CODE_NONE, false);
	assert_false(story.last.stop);
	see(&story, "worker=rDR", CODE_NONE, false);
	assert_false(story.last.stop);
	see(&story, "worker=rrR", CODE_NONE, false);
	assert_true(story.last.stop);
	assert_false(job_finished(&story.job));
	see(&story, "worker=rrR", CODE_NONE, false);
	assert_conditions(&story, "Created=True Restarting=True Failed=True TFJobFailed");
	assert_message(&story, "Job j has failed because it has reached the specified backoff limit");
	end(&story);
	/* without any retry the replica that has failed is named */
	begin(&story, TFJOB
	      "{runPolicy: {backoffLimit: 0}, tfReplicaSpecs: {Worker: {restartPolicy: OnFailure, " TEMPLATE "}}}}");
	see(&story, "worker=F", 1, false);
	assert_message(&story, "TFJob ns/j has failed because 1 Worker replica(s) failed.");
	end(&story);
}

/* Another controller has given another reason: the condition is True since then all the same. */
static void test_reason_changed(void **state)
{
	static const char since[] = "2020-01-01T00:00:00Z";
	struct story story;

	(void)state;
	begin(&story, TFJOB "{tfReplicaSpecs: {Worker: {" TEMPLATE "}}}}");
	story.job.status = json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "conditions", "type", "Running", "status", "True",
				     "reason", "JobRunning", "lastTransitionTime", since);
	see(&story, "worker=R", CODE_NONE, false);
	assert_conditions(&story, "Created=True Running=True TFJobRunning");
	assert_string_equal(
		json_str(json_array_get(json_object_get(story.job.status, "conditions"), 1), "lastTransitionTime"),
		since);
	end(&story);
}

/* Tasks that wait for their retry when the job is suspended, or that are scaled away, decide nothing. */
static void test_no_limit_at_suspension(void **state)
{
	struct story story;

	(void)state;
	begin(&story, TFJOB "{runPolicy: {backoffLimit: 1}, tfReplicaSpecs: {Worker: {replicas: 3, restartPolicy: "
			    "OnFailure, " TEMPLATE "}}}}");
	see(&story, "worker=rrX", CODE_SUSPEND_FRAMEWORK_REQUESTED, false);
	assert_false(story.last.stop);
	see(&story, "worker=rwR", CODE_NONE, false);
	assert_false(story.last.stop);
	end(&story);
	begin(&story, DYNAMIC "tfReplicaSpecs: {Worker: {replicas: 2, " TEMPLATE "}}}}");
	see(&story, "worker=FF", CODE_SUSPEND_FRAMEWORK_REQUESTED, false);
	assert_false(story.last.stop);
	see(&story, "worker=FF", CODE_NONE, false);
	assert_true(story.last.stop);
	end(&story);
}

static void test_deadline(void **state)
{
	struct story story;

	(void)state;
	begin(&story, TFJOB "{runPolicy: {activeDeadlineSeconds: 5}, tfReplicaSpecs: {Worker: {" TEMPLATE "}}}}");
	see(&story, "worker=X", CODE_ACTIVE_DEADLINE_EXCEEDED, false);
	assert_message(&story, "Job j has failed because it was active longer than specified deadline");
	end(&story);
	begin(&story, TFJOB "{tfReplicaSpecs: {Worker: {" TEMPLATE "}}}}");
	see(&story, "worker=X", CODE_CONFIG_MAP_EXTERNAL_DELETED, false);
	assert_message(&story, "Job j has failed: what ended it");
	end(&story);
}

/* An unchanged Framework leads to an equal status: nothing is written. */
static void test_unchanged(void **state)
{
	static const char *const jobs[] = {
		TFJOB "{tfReplicaSpecs: {Worker: {replicas: 2, " TEMPLATE "}}}}",
		PYTORCHJOB "{pytorchReplicaSpecs: {Master: {" PYTORCH "}, Worker: {" PYTORCH "}}}}",
		"{apiVersion: kubeflow.caicloud.io/v1alpha1, kind: TFJob, metadata: {name: j}, spec: {runtimeID: "
		"abcde, "
		"tfReplicaSpec: [{tfReplicaType: Worker, " TEMPLATE "}]}}",
	};
	static const char *const views[] = {NULL, "worker=.", "worker=P", "worker=R", "worker=f", "worker=r"};
	struct story story;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		begin(&story, jobs[i]);
		for (size_t v = 0; v < ARRAY_LEN(views); v++) {
			cleanup_json json_t *former = NULL;

			see(&story, views[v], CODE_NONE, false);
			former = json_deep_copy(story.job.status);
			see(&story, views[v], CODE_NONE, false);
			assert_json(views[v], story.job.status, former);
			assert_int_equal(json_array_size(story.last.events), 0);
		}
		end(&story);
	}
}

static void assert_caicloud(const struct story *story, const char *expected)
{
	cleanup_free char *text = json_text(story->job.status);

	assert_string_equal(text, expected);
}

static void test_caicloud(void **state)
{
	struct story story;

	(void)state;
	begin(&story,
	      "{apiVersion: kubeflow.caicloud.io/v1alpha1, kind: TFJob, metadata: {name: j}, spec: {runtimeID: abcde, "
	      "tfReplicaSpec: [{tfReplicaType: PS, " TEMPLATE "}, {replicas: 2, tfReplicaType: Worker, " TEMPLATE
	      "}]}}");
	see(&story, NULL, CODE_NONE, false);
	assert_caicloud(&story, "{\"phase\":\"Running\",\"reason\":\"\",\"conditions\":[],\"tfReplicaStatuses\":["
				"{\"type\":\"Worker\",\"state\":\"\",\"tfReplicasStates\":{}},"
				"{\"type\":\"PS\",\"state\":\"\",\"tfReplicasStates\":{}}]}");
	see(&story, "worker=PS ps=R", CODE_NONE, false);
	assert_caicloud(&story,
			"{\"phase\":\"Running\",\"reason\":\"\",\"conditions\":[],\"tfReplicaStatuses\":["
			"{\"type\":\"Worker\",\"state\":\"\",\"tfReplicasStates\":{\"Pending\":1,\"Succeeded\":1}},"
			"{\"type\":\"PS\",\"state\":\"\",\"tfReplicasStates\":{\"Running\":1}}]}");
	see(&story, "worker=SS ps=R", CODE_SUCCEEDED, false);
	assert_caicloud(&story, "{\"phase\":\"Succeeded\",\"reason\":\"\",\"conditions\":[],\"tfReplicaStatuses\":["
				"{\"type\":\"Worker\",\"state\":\"\",\"tfReplicasStates\":{\"Succeeded\":2}},"
				"{\"type\":\"PS\",\"state\":\"\",\"tfReplicasStates\":{}}]}");
	assert_true(job_finished(&story.job));
	end(&story);
	begin(&story,
	      "{apiVersion: kubeflow.caicloud.io/v1alpha1, kind: TFJob, metadata: {name: j}, spec: {runtimeID: abcde, "
	      "tfReplicaSpec: [{tfReplicaType: Local, " TEMPLATE "}]}}");
	see(&story, "local=F", 1, false);
	assert_caicloud(&story,
			"{\"phase\":\"Failed\",\"reason\":\"Pod failed\",\"conditions\":[],\"tfReplicaStatuses\":["
			"{\"type\":\"Local\",\"state\":\"\",\"tfReplicasStates\":{\"Failed\":1}}]}");
	end(&story);
}

/* A refused job has failed, and says why. */
static void test_refused(void **state)
{
	struct job_outcome outcome;
	struct job job;

	(void)state;
	job_of_text(TFJOB "{}}", &job);
	job_refuse(&job, "spec.x is 1, expected 2", NOW, &outcome);
	json_decref(job.status);
	job.status = json_incref(outcome.status);
	assert_true(job_finished(&job));
	assert_string_equal(json_str(json_array_get(json_object_get(job.status, "conditions"), 1), "message"),
			    "TFJob failed validation because spec.x is 1, expected 2");
	assert_string_equal(json_str(json_array_get(outcome.events, 0), "reason"), "TFJobFailedValidation");
	job_outcome_free(&outcome);
	job_free(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_worker),    cmocka_unit_test(test_stopped_meanwhile),
		cmocka_unit_test(test_all_workers),     cmocka_unit_test(test_first_worker_in_time),
		cmocka_unit_test(test_dynamic_workers), cmocka_unit_test(test_failure),
		cmocka_unit_test(test_restarting),      cmocka_unit_test(test_suspend),
		cmocka_unit_test(test_backoff_limit),   cmocka_unit_test(test_no_limit_at_suspension),
		cmocka_unit_test(test_deadline),        cmocka_unit_test(test_unchanged),
		cmocka_unit_test(test_caicloud),        cmocka_unit_test(test_refused),
		cmocka_unit_test(test_not_restarting),  cmocka_unit_test(test_restarting_shortened),
		cmocka_unit_test(test_pod_refused),     cmocka_unit_test(test_reason_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
