/* Stories of a Framework's Tasks, for the tests of what fc-jobs makes of them. */
#ifndef UNIT_JOBS_STORY_H
#define UNIT_JOBS_STORY_H

#include "common/framework/codes.h"
#include "common/framework/status.h"
#include "tests/unit/jobs_world.h"

#define TEMPLATE "template: {spec: {containers: [{name: tensorflow, image: i}]}}"
#define TFJOB "{apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: j}, spec: "
#define PYTORCHJOB "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: j}, spec: "
#define PYTORCH "template: {spec: {containers: [{name: pytorch, image: i}]}}"

enum { NOW = 1700000000 };

/* A Task for each letter: '.' has no Pod, P pends, R runs, S has succeeded, s as well and is being deleted, F has
 * failed for good, f has failed and is to be retried, d has failed and is being deleted, when nothing is decided yet, r
 * is retried and pends, D as well after its Pod was deleted, w is retried and pends, and is scaled away, U has failed
 * for good because the API server refuses its Pod, u is to be retried all the same, C and c the same where it forbids
 * the Pod, b where it cannot read it, X and x were stopped by the end of the attempt, X after it ran. */
static inline void make_task(char letter, struct task_status *out)
{
	*out = (struct task_status){.state = STATE_COMPLETED, .attempt.run_time = NOW, .retry.delay_sec = DELAY_NULL};
	out->instance_uid = mem_strdup("0_uid");
	switch (letter) {
	case '.': out->state = STATE_CREATION_PENDING; break;
	case 'w': out->deletion_pending = true; /* fall through */
	case 'r': out->retry.accountable = 1;   /* fall through */
	case 'D': out->retry.total = 1;         /* fall through */
	case 'P':
		out->state = STATE_PREPARING;
		out->attempt.run_time = 0;
		break;
	case 'R': out->state = STATE_RUNNING; break;
	case 's': out->state = STATE_DELETING; /* fall through */
	case 'S': out->attempt.completion = completion_predefined(CODE_SUCCEEDED, ""); break;
	case 'f': out->retry.delay_sec = 10;                                             /* fall through */
	case 'd': out->state = letter == 'f' ? STATE_ATTEMPT_COMPLETED : STATE_DELETING; /* fall through */
	case 'F': out->attempt.completion = completion_new(7, false, "", NULL, "Pod failed"); break;
	case 'u': out->retry.delay_sec = 10; out->state = STATE_ATTEMPT_COMPLETED; /* fall through */
	case 'U':
		out->attempt.completion = completion_predefined(CODE_POD_CREATION_PERMANENT_ERROR,
								"Failed to create Pod: {}");
		break;
	case 'c':                                                                  /* fall through */
	case 'b': out->retry.delay_sec = 10; out->state = STATE_ATTEMPT_COMPLETED; /* fall through */
	case 'C':
		out->retry.accountable = out->retry.total = 3;
		out->attempt.completion = completion_predefined(
			CODE_POD_CREATION_UNKNOWN_ERROR,
			letter == 'b' ? "Failed to create Pod: "
					"{\"ErrStatus\":{\"reason\":\"BadRequest\",\"message\":\"no list\"}}"
				      : "Failed to create Pod: "
					"{\"ErrStatus\":{\"reason\":\"Forbidden\",\"message\":\"no such account\"}}");
		break;
	case 'x': out->attempt.run_time = 0; /* fall through */
	case 'X': out->attempt.completion = completion_predefined(CODE_FRAMEWORK_ATTEMPT_COMPLETION, ""); break;
	default: fail_msg("a Task %c", letter);
	}
}

/* "worker=RR ps=R" */
static inline void framework_of(const char *roles, struct framework_status *out)
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

static inline void begin(struct story *story, const char *yaml)
{
	struct error err;

	*story = (struct story){.object = yaml_of(yaml), .now_sec = NOW};
	job_of(story->object, &story->job);
	if (job_translate(&story->job, &story->translation, &err) < 0)
		fail_msg("%s", err.message);
}

/* What fc-jobs reads of the status that a reconciler writes. */
static inline void read_back(const struct framework_status *framework, bool compressed, struct progress *out)
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

/* The job's spec is changed; a path of two members. */
static inline void change(struct story *story, const char *outer, const char *name, json_t *value)
{
	json_t *spec = json_object_get(story->object, "spec");
	struct error err;

	json_object_set_new(json_object_get(spec, outer), name, value);
	free(story->job.spec);
	story->job.spec = json_text(spec);
	job_translation_free(&story->translation);
	assert_int_equal(job_translate(&story->job, &story->translation, &err), 0);
}

/* The Framework is so. Every other time its status is compressed. roles NULL: there is none. code: of the attempt's
 * end, 1 and that of a refused Pod for a Task's; CODE_NONE: it has not ended. */
enum { CODE_NONE = 99999 };
static inline void see(struct story *story, const char *roles, int32_t code, bool suspended)
{
	struct framework_status framework = {0};
	struct progress progress = {0};

	job_outcome_free(&story->last);
	if (roles != NULL) {
		framework_of(roles, &framework);
		if (code != CODE_NONE)
			framework.attempt.completion = code == 1 ? completion_new(1, false, "", NULL, "Pod failed")
								 : completion_predefined(code, "what ended it");
		if (code == 1 || code == CODE_POD_CREATION_PERMANENT_ERROR) {
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

/* "Created=True Running=True(TFJobRunning)": types and statuses, and of the last one its reason. */
static inline void assert_conditions(const struct story *story, const char *expected)
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

static inline void assert_message(const struct story *story, const char *expected)
{
	const json_t *conditions = json_object_get(story->job.status, "conditions");

	assert_string_equal(json_str(json_array_get(conditions, json_array_size(conditions) - 1), "message"), expected);
}

/* "Worker=active/succeeded/failed" in the order of names. */
static inline void assert_replicas(const struct story *story, const char *expected)
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

static inline void end(struct story *story)
{
	job_outcome_free(&story->last);
	job_translation_free(&story->translation);
	job_free(&story->job);
	json_decref(story->object);
}

#endif
