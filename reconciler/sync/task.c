/* One Task's turn in a reconcile (CONTRACT.md §6); see rules.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "reconciler/sync/classify.h"
#include "reconciler/sync/podtemplate.h"
#include "reconciler/sync/rules.h"

/* A Task under work, so that its parts need no long argument lists. */
struct turn {
	struct reconcile *reconcile;
	struct framework *framework;
	size_t role;
	size_t index;
	struct role_status *role_status;
	struct task_status *task;
	struct slot *slot;
};

static const char *config_map_uid(const struct framework *framework)
{
	return framework->status.attempt.config_map_uid;
}

static uint64_t decided(const struct turn *turn)
{
	return turn->framework->roles[turn->role].tasks[turn->index].decided;
}

static void enter(struct turn *turn, enum attempt_state state, int64_t write_delay_ms)
{
	task_enter(turn->reconcile, turn->role, turn->index, state, write_delay_ms);
	/* Its Pod is deleted once this is persisted. */
	if (state == STATE_DELETION_PENDING)
		slot_mark_waiting(turn->framework, turn->slot);
}

/* Makes all that follows from the present status wait until that status is persisted. */
static void decide(struct turn *turn)
{
	if (turn->task->attempt.completion != NULL && !turn->task->attempt.completion->succeeded)
		pace_decisive(turn->framework);
	framework_touch(turn->reconcile, WRITE_COMPLETIONS);
	turn->framework->roles[turn->role].tasks[turn->index].decided = turn->framework->version;
}

static void complete(struct turn *turn, int32_t code, const char *diagnostics)
{
	task_complete(turn->framework, turn->role, turn->index, completion_predefined(code, diagnostics));
}

static bool role_in_spec(const struct turn *turn)
{
	return framework_spec_find_role(&turn->framework->spec, turn->role_status->name) >= 0;
}

/* ---- the Pod as it is ---- */

static struct completion *pod_completion(struct turn *turn, const struct pod *pod)
{
	struct completion *completion;

	if (pod->phase == POD_SUCCEEDED) {
		completion = completion_predefined(CODE_SUCCEEDED, "Pod succeeded");
	} else {
		struct pod_failure failure;
		cleanup_free char *diagnostics = NULL;

		classify_pod(&turn->framework->spec.failures, turn->reconcile->config->failures, pod,
			     &turn->reconcile->classify_steps, &failure);
		diagnostics = mem_printf("Pod failed: %s", failure.diagnostics);
		completion = completion_new(failure.code, false, failure.phrase, failure.attributes, diagnostics);
		pod_failure_free(&failure);
	}
	completion->pod = pod_details(pod);
	return completion;
}

static void copy_text(struct turn *turn, char **slot, const char *text)
{
	if (*slot != NULL && strcmp(*slot, text) == 0)
		return;
	mem_replace(slot, text);
	framework_touch(turn->reconcile, WRITE_UIDS);
	pace_arrived(turn->framework, turn->task);
}

/* Reports the phase once; the Task waits for the next one. */
static void report_phase(struct turn *turn)
{
	if (turn->slot->reported == REPORTED_PHASE)
		return;
	turn->slot->reported = REPORTED_PHASE;
	plan_event(turn->reconcile->plan, true, "UnrecognizedPodPhase",
		   "Pod %s has a phase that Kubernetes does not define: its Task stays %s until the phase changes",
		   turn->slot->name, attempt_state_name(turn->task->state));
}

/* In CreationRequested: whether the Pod is waited for no more, because it was not to be seen for too long. */
static bool given_up(const struct turn *turn)
{
	return turn->task->attempt.completion != NULL && !turn->task->deletion_pending &&
	       !framework_completing(turn->framework);
}

/* A Pending Pod may have failed to start for too long. */
static void look_at_wait(struct turn *turn)
{
	static const struct pending_policy none = {.start_timeout_sec = SECONDS_ABSENT,
						   .unschedulable_timeout_sec = SECONDS_ABSENT};
	int in_spec = framework_spec_find_role(&turn->framework->spec, turn->role_status->name);
	struct completion *completion;

	if (turn->task->attempt.completion != NULL)
		return;
	completion = pending_over(turn->reconcile, turn->role, turn->index, turn->slot,
				  in_spec < 0 ? &none : &turn->framework->spec.roles[in_spec].pending);
	if (completion == NULL)
		return;
	task_complete(turn->framework, turn->role, turn->index, completion);
	enter(turn, STATE_DELETION_PENDING, WRITE_COMPLETIONS);
}

/* Others may depend on the Pod's being ready. A Pod that was created before they did reports only that it runs. */
static void look_at_readiness(struct turn *turn)
{
	const struct pod *pod = turn->slot->pod;
	int in_spec = framework_spec_find_role(&turn->framework->spec, turn->role_status->name);

	if (in_spec < 0 || !turn->framework->spec.roles[in_spec].ready_wanted || turn->task->ready_time != 0 ||
	    (pod->ready_wanted && !pod->ready))
		return;
	turn->task->ready_time = turn->reconcile->now_sec;
	framework_touch(turn->reconcile, WRITE_RUNNING);
	pace_arrived(turn->framework, turn->task);
}

static void pod_present(struct turn *turn)
{
	struct task_status *task = turn->task;
	bool unwanted = task->state == STATE_CREATION_REQUESTED && given_up(turn);
	const struct pod *pod = turn->slot->pod;

	if (task->state == STATE_DELETION_PENDING) {
		if (!reconcile_may_act(turn->reconcile, turn->slot, decided(turn)))
			return;
		if (turn->slot->deletion != SLOT_KEPT)
			enter(turn, STATE_DELETION_REQUESTED, WRITE_UIDS);
		else
			slot_send_delete(turn->reconcile, turn->slot);
		return;
	}
	/* Deleting: this view of it is older than the status, which a former owner may have written. */
	if (task->state == STATE_DELETION_REQUESTED || task->state == STATE_DELETING)
		return;
	if (task->state == STATE_CREATION_REQUESTED)
		enter(turn, STATE_PREPARING, WRITE_UIDS);
	copy_text(turn, &task->attempt.pod_node_name, pod->node_name);
	task_set_pod_ip(turn->reconcile, turn->role, turn->index, pod->pod_ip);
	copy_text(turn, &task->attempt.pod_host_ip, pod->host_ip);
	if (unwanted) {
		enter(turn, STATE_DELETION_PENDING, WRITE_NOW);
		return;
	}
	switch (pod->phase) {
	case POD_PENDING:
		if (task->state != STATE_PREPARING)
			enter(turn, STATE_PREPARING, WRITE_RUNNING);
		look_at_wait(turn);
		break;
	case POD_RUNNING:
		if (task->state != STATE_RUNNING)
			enter(turn, STATE_RUNNING, WRITE_RUNNING);
		pending_starts(turn->reconcile, turn->slot, &task->attempt);
		look_at_readiness(turn);
		break;
	case POD_SUCCEEDED:
	case POD_FAILED:
		if (pod->phase == POD_FAILED &&
		    turn->reconcile->classify_steps <= 0) { /* others wait, too: the rest in the next reconcile */
			reconcile_sweep_at(turn->reconcile, turn->reconcile->time.boot_ms + 1);
			break;
		}
		task_complete(turn->framework, turn->role, turn->index, pod_completion(turn, pod));
		enter(turn, STATE_DELETION_PENDING, WRITE_COMPLETIONS);
		break;
	case POD_UNRECOGNIZED: report_phase(turn); break;
	case POD_UNKNOWN: break;
	}
}

/* Whether a GET that was sent after the Pod was seen to be deleted has found the ConfigMap (CONTRACT.md §12.8). Pods
 * are deleted with their ConfigMap, and the news of a Pod may come before that of the ConfigMap, whose end is the end
 * of the attempt. */
static bool config_map_outlives(struct turn *turn)
{
	struct framework *framework = turn->framework;

	if (turn->task->attempt.completion != NULL)
		return true;
	if (turn->slot->confirmed_by == 0)
		turn->slot->confirmed_by = turn->reconcile->config_map_asked + 1;
	if (framework->config_map_present >= turn->slot->confirmed_by)
		return true;
	slot_send_get(turn->reconcile, &framework->config_map, config_map_uid(framework));
	return false;
}

static void pod_deleting(struct turn *turn)
{
	if (!config_map_outlives(turn))
		return;
	complete(turn, CODE_POD_EXTERNAL_DELETED, "Pod is being deleted by others");
	if (turn->task->state != STATE_DELETING)
		enter(turn, STATE_DELETING, WRITE_UIDS);
	slot_watch_deletion(turn->reconcile, turn->slot, turn->role_status->pod_graceful_deletion_timeout_sec);
}

static void complete_awaited(struct turn *turn, bool late)
{
	cleanup_free char *text = NULL;
	char duration[DURATION_SIZE];

	if (turn->task->deletion_pending) {
		complete(turn, CODE_DELETE_TASK_REQUESTED,
			 "User has requested to delete the Task by Framework ScaleDown");
	} else if (late) {
		text = mem_printf(
			"Pod does not appear in the local cache within timeout %s, so consider it was deleted and "
			"explicitly delete it",
			duration_format(turn->reconcile->config->creation_timeout_sec, duration));
		complete(turn, CODE_POD_LOCAL_CACHE_CREATION_TIMEOUT, text);
	} else {
		complete(turn, CODE_POD_EXTERNAL_DELETED, "Pod was deleted by others");
	}
}

/* CreationRequested, and the Pod is not to be seen: it may be late, or have gone unseen. gone: that is certain. That it
 * is waited for no more is decided, and persisted, before it is deleted: it may be there, and show itself as deleting.
 */
static void pod_awaited(struct turn *turn, bool gone)
{
	int64_t timeout_ms = turn->reconcile->config->creation_timeout_sec * 1000;
	int64_t due_ms = slot_awaited_until(&turn->reconcile->time, turn->task->transition_time, timeout_ms);
	bool late = turn->reconcile->time.boot_ms >= due_ms;

	if (!late && !gone && !turn->task->deletion_pending && !given_up(turn)) {
		reconcile_sweep_at(turn->reconcile, due_ms);
		return;
	}
	if (gone && !late && !turn->task->deletion_pending && !config_map_outlives(turn))
		return;
	if (turn->task->attempt.completion == NULL) {
		complete_awaited(turn, late);
		decide(turn);
	}
	if (gone || (reconcile_may_act(turn->reconcile, turn->slot, decided(turn)) &&
		     slot_confirm_deleted(turn->reconcile, turn->slot, turn->task->attempt.pod_uid)))
		enter(turn, STATE_ATTEMPT_COMPLETED, WRITE_COMPLETIONS);
}

/* Step 1: the Pod of the present attempt. */
static void look_at_pod(struct turn *turn)
{
	struct task_status *task = turn->task;
	struct slot *slot = turn->slot;
	bool gone_for_certain;

	if (slot->meta != NULL && task->attempt.pod_uid != NULL &&
	    strcmp(slot->meta->uid, task->attempt.pod_uid) == 0) {
		if (slot->meta->deletion_time != 0 || slot_lost(turn->framework, slot))
			pod_deleting(turn);
		else
			pod_present(turn);
		if (slot_lost(turn->framework, slot))
			slot_send_delete(turn->reconcile, slot);
		return;
	}
	if (task->attempt.pod_uid == NULL) { /* a status that nobody should have written: nothing to wait for */
		complete(turn, CODE_POD_EXTERNAL_DELETED, "Pod was deleted by others");
		enter(turn, STATE_ATTEMPT_COMPLETED, WRITE_COMPLETIONS);
		return;
	}
	gone_for_certain = slot->gone_uid != NULL && strcmp(slot->gone_uid, task->attempt.pod_uid) == 0;
	if (task->state == STATE_CREATION_REQUESTED) {
		pod_awaited(turn, gone_for_certain);
		return;
	}
	if (!slot_confirm_gone(turn->reconcile, slot, task->attempt.pod_uid) || !config_map_outlives(turn))
		return;
	complete(turn, CODE_POD_EXTERNAL_DELETED, "Pod was deleted by others");
	enter(turn, STATE_ATTEMPT_COMPLETED, WRITE_COMPLETIONS);
}

/* ---- creating ---- */

/* Whether the present Pod is the one that the pending attempt would create (adoption, CONTRACT.md §6). While a create
 * of its name is on its way, the Pod may have gone unseen and the create may make another one: the answer decides. */
static bool adoptable(const struct turn *turn)
{
	const struct pod *pod = turn->slot->pod;

	return turn->task->attempt.pod_uid == NULL && pod->meta.deletion_time == 0 &&
	       turn->slot->deletion == SLOT_KEPT && turn->slot->call != CALL_CREATE_POD &&
	       turn->slot->known != SLOT_IN_DOUBT && strcmp(pod->task_uid, turn->task->instance_uid) == 0 &&
	       pod->task_attempt_id == turn->task->attempt.id && turn->framework->status.attempt.instance_uid != NULL &&
	       strcmp(pod->framework_attempt_instance_uid, turn->framework->status.attempt.instance_uid) == 0;
}

static void adopt(struct turn *turn)
{
	struct task_attempt_status *attempt = &turn->task->attempt;

	mem_replace(&attempt->pod_uid, turn->slot->meta->uid);
	free(attempt->instance_uid);
	attempt->instance_uid = mem_printf("%d_%s", (int)attempt->id, attempt->pod_uid);
	create_error_free(turn->slot->error);
	turn->slot->error = NULL;
	turn->slot->failed_at = 0;
	turn->slot->reported = REPORTED_NOTHING;
	enter(turn, STATE_CREATION_REQUESTED, WRITE_UIDS);
	turn->framework->roles[turn->role].tasks[turn->index].adopted = turn->framework->version;
}

static void create_failed_for_good(struct turn *turn, enum create_failure failure)
{
	const struct create_error *error = turn->slot->error;
	cleanup_free char *text = NULL;

	text = mem_printf("Failed to create Pod: {\"ErrStatus\":%s}",
			  error->status_json == NULL ? "{}" : error->status_json);
	complete(turn,
		 failure == CREATE_FAILURE_PERMANENT ? CODE_POD_CREATION_PERMANENT_ERROR
						     : CODE_POD_CREATION_UNKNOWN_ERROR,
		 text);
	slot_create_failed(turn->reconcile, turn->slot, "FailedCreatePod", "");
	enter(turn, STATE_ATTEMPT_COMPLETED, WRITE_COMPLETIONS);
}

/* Whether the attempt is to end without a Pod; then it ends as soon as it is certain that there is none. */
static bool end_without_pod(struct turn *turn)
{
	if (!turn->task->deletion_pending && role_in_spec(turn))
		return false;
	if (reconcile_may_act(turn->reconcile, turn->slot, decided(turn)) &&
	    slot_confirm_none(turn->reconcile, turn->slot, config_map_uid(turn->framework))) {
		complete(turn, CODE_DELETE_TASK_REQUESTED,
			 "User has requested to delete the Task by Framework ScaleDown");
		enter(turn, STATE_ATTEMPT_COMPLETED, WRITE_COMPLETIONS);
	}
	return true;
}

/* The answer of the API server to a body that is too large for it, without sending the body. */
static const struct create_error *refuse_too_large(const struct turn *turn)
{
	int in_spec = framework_spec_find_role(&turn->framework->spec, turn->role_status->name);
	struct create_error *error;

	if (turn->slot->call != CALL_NONE || turn->slot->known == SLOT_IN_DOUBT ||
	    !pod_template_too_large(turn->framework, (size_t)in_spec))
		return NULL;
	error = mem_calloc(1, sizeof(*error));
	*error = (struct create_error){.decided = decided(turn), .http_status = 413, .is_status = true};
	error->reason = mem_strdup("RequestEntityTooLarge");
	error->message = mem_printf("the Pod is larger than the %d bytes that the API server takes", POD_BODY_MAX);
	error->status_json = mem_printf("{\"metadata\":{},\"status\":\"Failure\",\"message\":\"%s\",\"reason\":"
					"\"%s\",\"code\":413}",
					error->message, error->reason);
	create_error_free(turn->slot->error);
	turn->slot->error = error;
	return error;
}

/* Step 4: a pending attempt. */
static void create_pod(struct turn *turn)
{
	struct slot *slot = turn->slot;
	const struct create_error *error;

	if (slot_ours(slot, config_map_uid(turn->framework)) && slot->meta->deletion_time != 0) {
		/* Nobody has adopted it, and its end is waited for: by the next Pod, or by that of the Task, or of the
		 * ConfigMap. */
		slot_watch_deletion(turn->reconcile, slot, turn->role_status->pod_graceful_deletion_timeout_sec);
		return;
	}
	if (framework_completing(turn->framework) || end_without_pod(turn))
		return;
	if (slot->meta != NULL) {
		/* Ours, but not adoptable, or somebody else's: the name must become free first. */
		if (!slot_ours(slot, config_map_uid(turn->framework)))
			slot_report_conflict(turn->reconcile, slot, turn->task->transition_time);
		else
			slot_send_delete_owned(turn->reconcile, slot);
		return;
	}
	if (slot->call == CALL_CREATE_POD || slot->known == SLOT_IN_DOUBT)
		turn->reconcile->create_open = true;
	error = slot_create_error(slot, decided(turn));
	if (error == NULL)
		error = refuse_too_large(turn);
	if (error != NULL) {
		enum create_failure failure = classify_create_error(error->http_status, error->is_status, error->reason,
								    error->message);

		if (failure != CREATE_FAILURE_TRANSIENT) {
			if (slot_may_judge(turn->reconcile))
				create_failed_for_good(turn, failure);
			return;
		}
		slot_create_failed(turn->reconcile, slot, "FailedCreatePod", "");
	}
	if (depends_hold(turn->framework, turn->role, turn->index))
		return; /* its end sweeps */
	/* It may be gone unseen, and the Pod would run when the attempt is over. Its coming into sight sweeps. */
	if (!framework_has_config_map(turn->framework) || !reconcile_may_act(turn->reconcile, slot, decided(turn)))
		return;
	if (!owned_ready(turn->framework)) {
		turn->framework->owned_awaited = true; /* their coming sweeps */
		return;
	}
	if (turn->framework->create_window > 0)
		slot_want_create(turn->reconcile, slot);
	else
		slot_send_create(turn->reconcile, slot, decided(turn));
}

/* ---- ending ---- */

/* Whether the retry waits for retryPolicy.backoff; then the reconcile comes back for it. */
static bool wait_for_backoff(struct turn *turn, int in_spec)
{
	const struct framework *framework = turn->framework;
	struct task_status *task = turn->task;
	int64_t due_sec;

	if (framework_completing(framework) || framework->deletion_time != 0 || task->deletion_pending)
		return false;
	if (task->retry.delay_sec == DELAY_NULL) {
		int64_t delay_sec = retry_backoff_sec(&framework->spec.roles[in_spec].retry.backoff, &task->retry,
						      task->attempt.run_time, task->attempt.completion_time);

		if (delay_sec == 0)
			return false;
		task->retry.delay_sec = delay_sec;
		decide(turn);
	}
	due_sec = task->attempt.completion_time + task->retry.delay_sec;
	if (delay_over(turn->reconcile->now_sec, task->attempt.completion_time, task->retry.delay_sec))
		return false;
	reconcile_sweep_at(turn->reconcile,
			   turn->reconcile->time.boot_ms + (due_sec * 1000 - turn->reconcile->time.wall_ms));
	return true;
}

/* Step 3: the attempt is over. */
static void retry_or_finish(struct turn *turn)
{
	struct task_status *task = turn->task;
	int in_spec = framework_spec_find_role(&turn->framework->spec, turn->role_status->name);
	struct retry_decision decision = {0};
	struct completion *policy;

	if (in_spec >= 0)
		decision = retry_decide(&turn->framework->spec.roles[in_spec].retry, &task->retry,
					task->attempt.completion);
	/* A delay that the end of the attempt or of the Task cuts short leads to no next Pod. */
	if (task->retry.delay_sec != DELAY_NULL && (framework_completing(turn->framework) || task->deletion_pending)) {
		task->retry.delay_sec = DELAY_NULL;
		decision.retry = false;
	}
	/* Once the delay is set the retry happens whatever the spec says now. */
	if (in_spec >= 0 && (decision.retry || task->retry.delay_sec != DELAY_NULL)) {
		if (wait_for_backoff(turn, in_spec))
			return;
		/* Its snapshot shows a persisted state. */
		if (turn->framework->written < decided(turn)) {
			slot_mark_waiting(turn->framework, turn->slot);
			return;
		}
		if (turn->reconcile->config->snapshot_task_retry)
			snapshot_task(turn->reconcile, turn->role, turn->index, "OnTaskRetry", "Task will be retried",
				      false);
		task_report_retried(turn->reconcile, turn->role, turn->index);
		task->retry.total++;
		if (decision.accountable)
			task->retry.accountable++;
		task->retry.delay_sec = DELAY_NULL;
		enter(turn, STATE_CREATION_PENDING, WRITE_NOW);
		task_new_attempt(turn->reconcile, turn->role, turn->index);
		return;
	}
	task_report_completed(turn->reconcile, turn->role, turn->index);
	enter(turn, STATE_COMPLETED, WRITE_UIDS);
	if (framework_completing(turn->framework))
		return;
	policy = policy_test_task(turn->framework, turn->role, turn->index);
	if (policy != NULL)
		attempt_complete(turn->reconcile, policy, false);
}

void task_sync(struct reconcile *reconcile, size_t role, size_t index)
{
	struct role_status *role_status = &reconcile->framework->status.attempt.roles[role];
	struct turn turn = {
		.reconcile = reconcile,
		.framework = reconcile->framework,
		.role = role,
		.index = index,
		.role_status = role_status,
		.task = &role_status->tasks[index],
		.slot = task_slot(reconcile->framework, role, index),
	};
	struct task_status *task = turn.task;

	if (task->state == STATE_CREATION_PENDING && slot_ours(turn.slot, config_map_uid(turn.framework)) &&
	    adoptable(&turn))
		adopt(&turn);
	if (task->state != STATE_CREATION_PENDING && task->state != STATE_ATTEMPT_COMPLETED &&
	    task->state != STATE_COMPLETED)
		look_at_pod(&turn);
	if ((task->state == STATE_PREPARING || task->state == STATE_RUNNING) && task->deletion_pending) {
		complete(&turn, CODE_DELETE_TASK_REQUESTED,
			 "User has requested to delete the Task by Framework ScaleDown");
		enter(&turn, STATE_DELETION_PENDING, WRITE_NOW);
	}
	if (task->state == STATE_ATTEMPT_COMPLETED)
		retry_or_finish(&turn);
	if (task->state == STATE_CREATION_PENDING) {
		create_pod(&turn);
		/* A create that failed for good, or a Task that is wanted no more, ends here at once. */
		if (task->state == STATE_ATTEMPT_COMPLETED)
			retry_or_finish(&turn);
	}
	if (task->state == STATE_COMPLETED || task->state == STATE_ATTEMPT_COMPLETED)
		stray_sync(reconcile, turn.slot);
}

void stray_watch(struct reconcile *reconcile, struct slot *slot)
{
	struct framework *framework = reconcile->framework;
	int64_t timeout_sec = SECONDS_NULL;
	size_t role;
	size_t index;

	/* Whether it is one of its Tasks' or not, the name contains the role. */
	slot_task(framework, slot, &role, &index);
	if (slot->role_hint < framework->status.attempt.role_count)
		timeout_sec = framework->status.attempt.roles[slot->role_hint].pod_graceful_deletion_timeout_sec;
	slot_watch_deletion(reconcile, slot, timeout_sec);
}

void stray_sync(struct reconcile *reconcile, struct slot *slot)
{
	struct framework *framework = reconcile->framework;

	if (!slot_ours(slot, config_map_uid(framework)))
		return;
	if (slot->meta->deletion_time != 0)
		stray_watch(reconcile, slot);
	else
		slot_send_delete_owned(reconcile, slot);
}
