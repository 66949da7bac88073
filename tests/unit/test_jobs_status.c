/* The statuses of jobs, as their own controllers show them (jobs/README.md): stories of a Framework's Tasks, and what
 * the job says at each point. */
#include "tests/unit/jobs_world.h"

#include "common/framework/codes.h"
#include "common/framework/status.h"
#include "jobs/kinds/conditions.h"
#include "jobs/kinds/note.h"

enum { NOW = 1700000000 };

/* A Task for each letter: '.' has no Pod, P pends, R runs, S has succeeded, F has failed for good, f has failed and is
 * to be retried, d has failed and is being deleted, when nothing is decided yet, r is retried and pends, X and x were
 * stopped by the end of the attempt, X after it ran. */
static void make_task(char letter, struct task_status *out)
{
	*out = (struct task_status){.state = STATE_COMPLETED, .attempt.run_time = NOW, .retry.delay_sec = DELAY_NULL};
	out->instance_uid = mem_strdup("0_uid");
	switch (letter) {
	case '.': out->state = STATE_CREATION_PENDING; break;
	case 'r': out->retry.total = 1; /* fall through */
	case 'P':
		out->state = STATE_PREPARING;
		out->attempt.run_time = 0;
		break;
	case 'R': out->state = STATE_RUNNING; break;
	case 'S': out->attempt.completion = completion_predefined(CODE_SUCCEEDED, ""); break;
	case 'f': out->retry.delay_sec = 10;                                             /* fall through */
	case 'd': out->state = letter == 'f' ? STATE_ATTEMPT_COMPLETED : STATE_DELETING; /* fall through */
	case 'F': out->attempt.completion = completion_new(7, false, "", NULL, "Pod failed"); break;
	case 'x': out->attempt.run_time = 0; /* fall through */
	case 'X': out->attempt.completion = completion_predefined(CODE_FRAMEWORK_ATTEMPT_COMPLETION, ""); break;
	default: fail_msg("a Task %c", letter);
	}
}

/* "worker=RR ps=R" */
static void framework_of(const char *roles, struct framework_status *out)
{
	cleanup_free char *text = mem_strdup(roles);
	char *rest = text;
	char *word;

	*out = (struct framework_status){.state = STATE_RUNNING};
	out->attempt.roles = mem_calloc(JOB_ROLES_MAX, sizeof(out->attempt.roles[0]));
	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		struct role_status *role = &out->attempt.roles[out->attempt.role_count++];
		char *tasks = strchr(word, '=');

		*tasks++ = '\0';
		role->name = mem_strdup(word);
		role->instance_uid = mem_strdup("0_uid");
		role->task_count = strlen(tasks);
		role->task_cap = role->task_count;
		role->tasks = mem_calloc(role->task_count, sizeof(role->tasks[0]));
		for (size_t i = 0; i < role->task_count; i++)
			make_task(tasks[i], &role->tasks[i]);
	}
}

struct story {
	json_t *object;
	struct job job;
	struct job_translation translation;
	struct job_outcome last;
	bool stopped;
	int64_t now_sec;
};

static void begin(struct story *story, const char *yaml)
{
	struct error err;

	*story = (struct story){.object = yaml_of(yaml), .now_sec = NOW};
	job_of(story->object, &story->job);
	if (job_translate(&story->job, &story->translation, &err) < 0)
		fail_msg("%s", err.message);
}

/* The caller frees. */
static char *note_of(const struct story *story)
{
	cleanup_free char *spec = json_text(story->translation.spec);

	return job_note(&story->job, &story->translation, spec);
}

/* The job's spec is changed; a path of two members. */
static void change(struct story *story, const char *outer, const char *name, json_t *value)
{
	struct error err;

	json_object_set_new(json_object_get(story->job.spec, outer), name, value);
	job_translation_free(&story->translation);
	assert_int_equal(job_translate(&story->job, &story->translation, &err), 0);
}

/* What fc-jobs reads of the status that a reconciler writes. */
static void read_back(const struct framework_status *framework, bool compressed, struct progress *out)
{
	cleanup_free char *packed = NULL;
	cleanup_buf struct buf roles = {0}, text = {0};
	struct json_reader reader;
	struct error err;

	if (compressed) {
		role_statuses_write(&roles, &framework->attempt, "j");
		packed = text_compress(roles.data, roles.len);
	}
	framework_status_write(&text, framework, "j", packed);
	json_reader_init(&reader, text.data, text.len);
	if (progress_read(&reader, out, &err) < 0 || json_reader_finish(&reader, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(out->present);
}

/* The Framework is so. Every other time its status is compressed. roles NULL: there is none. code: of the attempt's
 * end, 1 for a Task's; CODE_NONE: it has not ended. */
enum { CODE_NONE = 99999 };
static void see(struct story *story, const char *roles, int32_t code, bool suspended)
{
	struct framework_status framework = {0};
	struct progress progress = {0};

	job_outcome_free(&story->last);
	if (roles != NULL) {
		framework_of(roles, &framework);
		if (code != CODE_NONE)
			framework.attempt.completion = code == 1 ? completion_new(1, false, "", NULL, "Pod failed")
								 : completion_predefined(code, "what ended it");
		if (code == 1) {
			framework.attempt.completion->trigger = mem_calloc(
				1, sizeof(*framework.attempt.completion->trigger));
			framework.attempt.completion->trigger->message = mem_strdup("");
			framework.attempt.completion->trigger->task_role_name = mem_strdup("worker");
		}
		framework.conditions[CONDITION_SUSPENDED].value = suspended ? CONDITION_TRUE : CONDITION_FALSE;
		framework.conditions[CONDITION_SUSPENDED].last_transition_time = NOW;
	}
	story->now_sec++;
	if (roles != NULL)
		read_back(&framework, story->now_sec % 2 != 0, &progress);
	job_status(&story->job, &story->translation, roles == NULL ? NULL : &progress, story->stopped, story->now_sec,
		   &story->last);
	progress_free(&progress);
	story->stopped = story->last.stop;
	framework_status_free(&framework);
	json_decref(story->job.status);
	story->job.status = json_incref(story->last.status);
}

static void end(struct story *story)
{
	job_outcome_free(&story->last);
	job_translation_free(&story->translation);
	job_free(&story->job);
	json_decref(story->object);
}

/* "Created=True Running=True(TFJobRunning)": types and statuses, and of the last one its reason. */
static void assert_conditions(const struct story *story, const char *expected)
{
	const json_t *conditions = json_object_get(story->job.status, "conditions");
	cleanup_buf struct buf text = {0};
	const json_t *condition;
	size_t i;

	json_array_foreach(conditions, i, condition)
		buf_printf(&text, "%s%s=%s", i > 0 ? " " : "", json_str(condition, "type"),
			   json_str(condition, "status"));
	buf_printf(&text, " %s", json_str(json_array_get(conditions, i - 1), "reason"));
	assert_string_equal(text.data, expected);
}

static void assert_message(const struct story *story, const char *expected)
{
	const json_t *conditions = json_object_get(story->job.status, "conditions");

	assert_string_equal(json_str(json_array_get(conditions, json_array_size(conditions) - 1), "message"), expected);
}

/* "Worker=active/succeeded/failed" in the order of names. */
static void assert_replicas(const struct story *story, const char *expected)
{
	const json_t *all = json_object_get(story->job.status, "replicaStatuses");
	static const char *const types[] = {"Chief", "Master", "PS", "Worker", "Evaluator"};
	cleanup_buf struct buf text = {0};

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const json_t *replica = json_object_get(all, types[i]);

		if (replica != NULL)
			buf_printf(&text, "%s%s=%d/%d/%d", text.len > 0 ? " " : "", types[i],
				   (int)json_int(replica, "active", 0), (int)json_int(replica, "succeeded", 0),
				   (int)json_int(replica, "failed", 0));
	}
	assert_string_equal(text.data, expected);
}

#define TEMPLATE "template: {spec: {containers: [{name: tensorflow, image: i}]}}"
#define TFJOB "{apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: j}, spec: "
#define PYTORCHJOB "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: j}, spec: "
#define PYTORCH "template: {spec: {containers: [{name: pytorch, image: i}]}}"

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
	assert_message(&story, "PyTorchJob j is restarting because Master replica(s) failed.");
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

/* The sum over all Tasks counts, which a Framework cannot say. */
static void test_backoff_limit(void **state)
{
	struct story story;

	(void)state;
	begin(&story, TFJOB "{runPolicy: {backoffLimit: 1}, tfReplicaSpecs: {Worker: {replicas: 3, restartPolicy: "
			    "OnFailure, " TEMPLATE "}}}}");
	see(&story, "worker=rRR", CODE_NONE, false);
	assert_false(story.last.stop);
	see(&story, "worker=rrR", CODE_NONE, false);
	assert_true(story.last.stop);
	assert_false(job_finished(&story.job));
	see(&story, "worker=rrR", CODE_NONE, false);
	assert_conditions(&story, "Created=True Restarting=True Failed=True TFJobFailed");
	assert_message(&story, "Job j has failed because it has reached the specified backoff limit");
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
		cmocka_unit_test(test_first_worker),  cmocka_unit_test(test_stopped_meanwhile),
		cmocka_unit_test(test_all_workers),   cmocka_unit_test(test_failure),
		cmocka_unit_test(test_restarting),    cmocka_unit_test(test_suspend),
		cmocka_unit_test(test_backoff_limit), cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_unchanged),     cmocka_unit_test(test_caicloud),
		cmocka_unit_test(test_refused),       cmocka_unit_test(test_not_restarting),
		cmocka_unit_test(test_recovered),     cmocka_unit_test(test_not_recovered),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
