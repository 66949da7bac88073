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
 * for good because the API server refuses its Pod, u is to be retried all the same, X and x were stopped by the end of
 * the attempt, X after it ran. */
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

static inline void end(struct story *story)
{
	job_outcome_free(&story->last);
	job_translation_free(&story->translation);
	job_free(&story->job);
	json_decref(story->object);
}

#endif
