/* One reconcile for one Framework (CONTRACT.md §5), in the order given there; see sync.h. */

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "reconciler/sync/classify.h"
#include "reconciler/sync/podtemplate.h"
#include "reconciler/sync/rules.h"

/* ---- step 4: the ConfigMap ---- */

/* Whether the reconcile may act on its decision about the Framework itself. */
static bool may_act(struct reconcile *reconcile)
{
	return reconcile_may_act(reconcile, &reconcile->framework->config_map, reconcile->framework->decided);
}

static void adopt_config_map(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	struct framework_attempt_status *attempt = &framework->status.attempt;
	const struct config_map *config_map = framework->config_map.config_map;

	if (!slot_ours(&framework->config_map, framework->uid) || config_map->meta.deletion_time != 0 ||
	    framework->config_map.deletion != SLOT_KEPT || attempt->config_map_uid != NULL ||
	    config_map->attempt_id != attempt->id || strcmp(config_map->framework_uid, framework->uid) != 0)
		return;
	attempt->config_map_uid = mem_strdup(config_map->meta.uid);
	free(attempt->instance_uid);
	attempt->instance_uid = mem_printf("%d_%s", (int)attempt->id, attempt->config_map_uid);
	if (framework->config_map.known == SLOT_IN_DOUBT)
		framework->config_map.known = SLOT_SEEN;
	framework->config_map.reported = REPORTED_NOTHING;
	create_error_free(framework->config_map.error);
	framework->config_map.error = NULL;
	framework_enter(reconcile, STATE_CREATION_REQUESTED, WRITE_UIDS);
	framework->adopted = framework->version;
}

static void config_map_present(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;

	if (framework->status.state == STATE_DELETION_PENDING && may_act(reconcile)) {
		if (framework->config_map.deletion != SLOT_KEPT)
			framework_enter(reconcile, STATE_DELETION_REQUESTED, WRITE_UIDS);
		else
			slot_send_delete(reconcile, &framework->config_map);
	} else if (framework->status.state == STATE_CREATION_REQUESTED) {
		framework_enter(reconcile, STATE_PREPARING, WRITE_UIDS);
		if (framework_completing(framework)) { /* that was decided while it was not to be seen */
			attempt_complete(reconcile, NULL, false);
			return;
		}
		plan_event(reconcile->plan, false, "AttemptStarted", "Attempt %d started%s",
			   (int)framework->status.attempt.id,
			   framework_spec_task_count(&framework->spec) > 0
				   ? ""
				   : " without Tasks: it does not complete until Tasks are added or executionType is "
				     "Stop");
	} else if (framework->status.state < STATE_DELETION_PENDING && framework_completing(framework)) {
		attempt_complete(reconcile, NULL, false); /* somebody has set back the state alone */
	}
}

static void config_map_deleting(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;

	if (framework->status.attempt.completion == NULL) {
		framework->status.attempt.completion = completion_predefined(CODE_CONFIG_MAP_EXTERNAL_DELETED,
									     "ConfigMap is being deleted by others");
		framework_touch(reconcile, WRITE_NOW);
	}
	if (framework->status.state != STATE_DELETING)
		framework_enter(reconcile, STATE_DELETING, WRITE_UIDS);
}

/* Why the user wants the attempt to end; NULL: it may go on. The caller owns the completion. */
static struct completion *requested_end(const struct reconcile *reconcile)
{
	const struct framework *framework = reconcile->framework;

	if (framework->spec.execution_type == EXECUTION_STOP)
		return completion_predefined(CODE_STOP_FRAMEWORK_REQUESTED, "User has requested to stop the Framework");
	if (suspend_wanted(framework))
		return completion_predefined(CODE_SUSPEND_FRAMEWORK_REQUESTED,
					     framework->spec.suspend ? "User has requested to suspend the Framework"
								     : "Framework is not admitted by Kueue");
	return NULL;
}

/* Why an attempt ends whose ConfigMap is not to be seen in CreationRequested; NULL: it is waited for. gone: that it is
 * gone is certain. */
static struct completion *why_awaited_no_more(struct reconcile *reconcile, bool gone)
{
	struct framework *framework = reconcile->framework;
	int64_t due_ms = slot_awaited_until(&reconcile->time, framework->status.transition_time,
					    reconcile->config->creation_timeout_sec * 1000);
	cleanup_free char *text = NULL;
	char duration[DURATION_SIZE];

	struct completion *requested = requested_end(reconcile);

	if (requested == NULL && deadline_over(reconcile))
		requested = deadline_completion(framework);
	if (requested != NULL)
		return requested;
	if (reconcile->time.boot_ms >= due_ms) {
		text = mem_printf(
			"ConfigMap does not appear in the local cache within timeout %s, so consider it was deleted "
			"and explicitly delete it",
			duration_format(reconcile->config->creation_timeout_sec, duration));
		return completion_predefined(CODE_CONFIG_MAP_LOCAL_CACHE_CREATION_TIMEOUT, text);
	}
	if (gone)
		return completion_predefined(CODE_CONFIG_MAP_EXTERNAL_DELETED, "ConfigMap was deleted by others");
	reconcile_sweep_at(reconcile, due_ms);
	return NULL;
}

/* CreationRequested, and the ConfigMap is not to be seen. That it is waited for no more is decided, and persisted,
 * before it is deleted: it may be there, and show itself as deleting. */
static void config_map_awaited(struct reconcile *reconcile, bool gone)
{
	struct framework *framework = reconcile->framework;
	struct framework_attempt_status *attempt = &framework->status.attempt;

	if (attempt->completion == NULL) {
		attempt->completion = why_awaited_no_more(reconcile, gone);
		if (attempt->completion == NULL)
			return;
		framework_touch(reconcile, WRITE_NOW);
		framework->decided = framework->version;
	}
	if (gone ||
	    (may_act(reconcile) && slot_confirm_deleted(reconcile, &framework->config_map, attempt->config_map_uid)))
		attempt_complete(reconcile, NULL, true);
}

/* The ConfigMap is gone: that is the end of the attempt, whatever becomes of its Tasks. By foreground deletion all Pods
 * that were there have gone before it; by background deletion, and when its dependents are orphaned, they may stay for
 * long, and are not waited for. But creates that are on their way have to come first, and what they made has to go: it
 * would run beside the next attempt. */
static void config_map_gone(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;

	if (attempt_decide(framework, completion_predefined(CODE_CONFIG_MAP_EXTERNAL_DELETED,
							    "ConfigMap was deleted by others"))) {
		framework_touch(reconcile, WRITE_NOW);
		framework->decided = framework->version;
	}
	slots_doubt_inherited(framework);
	if (framework->status.attempt.config_map_uid == NULL || slots_stragglers_gone(reconcile))
		attempt_complete(reconcile, NULL, true);
	else if (framework->status.state != STATE_DELETING)
		framework_enter(reconcile, STATE_DELETING, WRITE_NOW);
}

/* Whether its absence is in question. Then nothing is said of the Tasks: their Pods go with it, if it has gone. */
static bool config_map_in_question(const struct framework *framework)
{
	const struct slot *slot = &framework->config_map;
	const char *uid = framework->status.attempt.config_map_uid;

	return uid != NULL && (slot->meta == NULL || strcmp(slot->meta->uid, uid) != 0) &&
	       (slot->gone_uid == NULL || strcmp(slot->gone_uid, uid) != 0);
}

static void look_at_config_map(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	struct slot *slot = &framework->config_map;
	const char *uid;

	if (framework->status.state == STATE_CREATION_PENDING)
		adopt_config_map(reconcile);
	if (framework->status.state == STATE_CREATION_PENDING)
		return;
	uid = framework->status.attempt.config_map_uid;
	if (uid != NULL && slot->meta != NULL && strcmp(slot->meta->uid, uid) == 0) {
		if (slot->meta->deletion_time != 0 || slot_lost(framework, slot))
			config_map_deleting(reconcile);
		else
			config_map_present(reconcile);
		if (slot_lost(framework, slot))
			slot_send_delete(reconcile, slot);
		return;
	}
	if (framework->status.state == STATE_CREATION_REQUESTED && uid != NULL) {
		config_map_awaited(reconcile, slot->gone_uid != NULL && strcmp(slot->gone_uid, uid) == 0);
		return;
	}
	if (uid == NULL || slot_confirm_gone(reconcile, slot, uid))
		config_map_gone(reconcile);
}

/* ---- step 5: AttemptCompleted ---- */

static void end_framework(struct reconcile *reconcile)
{
	framework_report_completed(reconcile);
	framework_enter(reconcile, STATE_COMPLETED, WRITE_NOW);
}

/* It would be retried, and has no time left for that. */
static void exceed_deadline(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	struct completion *completion = deadline_completion(framework);

	completion_free(framework->status.attempt.completion);
	framework->status.attempt.completion = completion;
	framework->status.retry.delay_sec = DELAY_NULL;
	end_framework(reconcile);
}

static void decide_retry(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	struct framework_status *status = &framework->status;
	struct retry_decision decision = retry_decide(&framework->spec.retry, &status->retry,
						      status->attempt.completion);
	bool cut_short = framework->spec.execution_type == EXECUTION_STOP || suspend_wanted(framework);
	int64_t backoff_sec = 0;

	if (!decision.retry) {
		end_framework(reconcile);
		return;
	}
	attempt_report_completed(reconcile);
	if (framework->spec.execution_type != EXECUTION_STOP && deadline_over(reconcile)) {
		exceed_deadline(reconcile);
		return;
	}
	status->retry.delay_sec = 0;
	if (decision.conflict) {
		status->retry.delay_sec = random_between(reconcile->random, reconcile->config->conflict_delay_min_sec,
							 reconcile->config->conflict_delay_max_sec);
		if (status->retry.delay_sec > 0 && !cut_short)
			plan_event(reconcile->plan, false, "FrameworkRetryDelayed",
				   "Framework is retried in %lld s, because others may need the same resources now",
				   (long long)status->retry.delay_sec);
	}
	if (status->attempt.completion->code == CODE_SUSPEND_FRAMEWORK_REQUESTED)
		retry_backoff_reset(&framework->spec.retry.backoff, &status->retry, status->attempt.run_time,
				    status->attempt.completion_time);
	else
		backoff_sec = retry_backoff_sec(&framework->spec.retry.backoff, &status->retry,
						status->attempt.run_time, status->attempt.completion_time);
	if (backoff_sec > status->retry.delay_sec) {
		status->retry.delay_sec = backoff_sec;
		if (!cut_short)
			plan_event(reconcile->plan, false, "FrameworkRetryDelayed",
				   "Framework is retried in %lld s by retryPolicy.backoff: retry %d in a row",
				   (long long)backoff_sec, (int)status->retry.backoff_count);
	}
	framework_touch(reconcile, WRITE_NOW);
	framework->decided = framework->version;
}

static void retry_when_due(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	struct framework_status *status = &framework->status;
	int64_t due_sec = status->attempt.completion_time + status->retry.delay_sec;
	struct retry_decision decision = retry_decide(&framework->spec.retry, &status->retry,
						      status->attempt.completion);

	if (framework->spec.execution_type != EXECUTION_STOP && deadline_over(reconcile)) {
		exceed_deadline(reconcile);
		return;
	}
	if (framework->spec.execution_type != EXECUTION_STOP && !suspend_wanted(framework) &&
	    !delay_over(reconcile->now_sec, status->attempt.completion_time, status->retry.delay_sec)) {
		plan_wake(reconcile->plan, reconcile->time.boot_ms + (due_sec * 1000 - reconcile->time.wall_ms));
		return;
	}
	/* The snapshot shows a persisted state. */
	if (framework->written < framework->version)
		return;
	if (reconcile->config->snapshot_framework_retry)
		snapshot_framework(reconcile, "OnFrameworkRetry", "Framework will be retried");
	framework_report_retried(reconcile);
	if (status->attempt.completion->code == CODE_SUSPEND_FRAMEWORK_REQUESTED && !suspend_asked(framework))
		framework_resume(reconcile);
	status->retry.total++;
	/* Once the delay is set the retry happens whatever the spec says; the present spec decides whether it counts.
	 */
	if (decision.accountable)
		status->retry.accountable++;
	status->retry.delay_sec = DELAY_NULL;
	framework_enter(reconcile, STATE_CREATION_PENDING, WRITE_NOW);
	framework_new_attempt(reconcile, status->retry.total);
	framework->decided = framework->version;
}

static void look_at_retry(struct reconcile *reconcile)
{
	if (reconcile->framework->status.retry.delay_sec == DELAY_NULL)
		decide_retry(reconcile);
	if (reconcile->framework->status.state == STATE_ATTEMPT_COMPLETED)
		retry_when_due(reconcile);
}

/* ---- step 6: CreationPending ---- */

static void create_config_map(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	struct slot *slot = &framework->config_map;

	bool stop = framework->spec.execution_type == EXECUTION_STOP;

	if (framework->deletion_time != 0)
		return;
	if (stop || deadline_over(reconcile)) {
		if (may_act(reconcile) && slot_confirm_none(reconcile, slot, framework->uid))
			attempt_complete(reconcile, stop ? requested_end(reconcile) : deadline_completion(framework),
					 true);
		return;
	}
	if (suspend_wanted(framework) && !slot_ours(slot, framework->uid)) {
		if (suspend_in_doubt(framework))
			slot_send_get(reconcile, slot, NULL);
		else if (slot->meta != NULL)
			slot_report_conflict(reconcile, slot, framework->status.transition_time);
		return;
	}
	if (framework->spec.execution_type == EXECUTION_CREATE)
		return;
	gang_begin(reconcile);
	if (slot->meta != NULL) {
		if (!slot_ours(slot, framework->uid))
			slot_report_conflict(reconcile, slot, framework->status.transition_time);
		else
			slot_send_delete_owned(reconcile, slot);
		return;
	}
	if (slot_create_error(slot, framework->decided) != NULL)
		slot_create_failed(reconcile, slot, "FailedCreateConfigMap", "");
	if (may_act(reconcile))
		slot_send_create(reconcile, slot, framework->decided);
}

/* ---- step 7: the Tasks ---- */

static bool under_way(enum attempt_state state)
{
	return state == STATE_PREPARING || state == STATE_RUNNING || state == STATE_DELETION_REQUESTED ||
	       state == STATE_DELETING;
}

/* Nothing more is created for this attempt, for now. */
static void free_idle_templates(struct framework *framework)
{
	if (framework->templates == NULL)
		return;
	for (size_t r = 0; r < framework->status.attempt.role_count; r++)
		if (framework->roles[r].creation_pending > 0)
			return;
	pod_templates_free(framework);
}

static bool some_task_runs(const struct framework *framework)
{
	for (size_t r = 0; r < framework->status.attempt.role_count; r++)
		if (framework->roles[r].running > 0)
			return true;
	return false;
}

static void look_at_tasks(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;

	if (!framework_completing(framework)) {
		struct completion *completion = requested_end(reconcile);

		if (completion == NULL)
			completion = policy_test(framework);
		if (completion == NULL && deadline_over(reconcile))
			completion = deadline_completion(framework);
		if (completion != NULL)
			attempt_complete(reconcile, completion, false);
	}
	depends_sync(reconcile);
	owned_sync(reconcile); /* a PodGroup is of Tasks that wait for no others */
	slots_sync(reconcile);
	depends_sync(reconcile); /* who has arrived now is written without delay */
	free_idle_templates(framework);
	if (framework->status.state == STATE_PREPARING && some_task_runs(framework))
		framework_enter(reconcile, STATE_RUNNING, WRITE_RUNNING);
}

/* ---- the reconcile ---- */

static void begin_status(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;

	framework->status = (struct framework_status){
		.start_time = reconcile->now_sec,
		.transition_time = reconcile->now_sec,
		.state = STATE_CREATION_PENDING,
		.retry = {.delay_sec = DELAY_NULL},
	};
	framework->has_status = true;
	framework_new_attempt(reconcile, 0);
	framework->decided = framework->version;
}

/* A ConfigMap of ours that no attempt stands for (a create that came late): deleted on sight. */
static void look_at_stray_config_map(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	const char *uid = framework->status.attempt.config_map_uid;

	if (framework->status.state != STATE_CREATION_PENDING && slot_ours(&framework->config_map, framework->uid) &&
	    (uid == NULL || strcmp(uid, framework->config_map.meta->uid) != 0))
		slot_send_delete_owned(reconcile, &framework->config_map);
}

static void run_steps(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	struct framework_status *status = &framework->status;
	bool changed = false;

	if (!framework->has_status) {
		begin_status(reconcile);
		return;
	}
	kueue_sync(reconcile);
	suspend_leave(reconcile);
	if (status->state != STATE_COMPLETED && framework->scale)
		changed = scale_backup_timeouts(reconcile);
	if (!framework_completing(framework) && status->state < STATE_ATTEMPT_COMPLETED && scale_to_spec(reconcile))
		changed = true;
	if (under_way(status->state) && gang_change(reconcile))
		changed = true;
	if (changed)
		framework->hold = framework->version;
	if (framework->written < framework->hold)
		return;
	if (status->state == STATE_COMPLETED) {
		look_at_stray_config_map(reconcile);
		slots_sync_late(reconcile);
		slots_free_idle(framework);
		look_at_retention(reconcile);
		return;
	}
	if (status->state != STATE_ATTEMPT_COMPLETED)
		look_at_config_map(reconcile);
	if (status->state == STATE_ATTEMPT_COMPLETED) {
		slots_sync_late(reconcile);
		look_at_retry(reconcile);
	}
	if (status->state == STATE_CREATION_PENDING) {
		create_config_map(reconcile);
		slots_watch_unadopted(reconcile);
	}
	look_at_stray_config_map(reconcile);
	if (under_way(status->state) && !config_map_in_question(framework))
		look_at_tasks(reconcile);
}

#ifdef DEBUG
static void check_counters(const struct framework *framework)
{
	for (size_t r = 0; r < framework->status.attempt.role_count; r++) {
		struct role_work counted = role_count(&framework->status.attempt.roles[r]);
		const struct role_work *kept = &framework->roles[r];

		if (counted.live != kept->live || counted.running != kept->running || counted.ending != kept->ending ||
		    counted.over != kept->over || counted.without_ip != kept->without_ip ||
		    counted.ended != kept->ended || counted.completed != kept->completed ||
		    counted.failed != kept->failed || counted.succeeded != kept->succeeded ||
		    counted.creation_pending != kept->creation_pending || counted.leaving != kept->leaving)
			abort();
	}
}
#endif

/* Nothing of its Tasks is decided any more. */
static void sync_release(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;

	if (reconcile->time.boot_ms >= framework->sweep_at_ms)
		framework->sweep_at_ms = INT64_MAX;
	kueue_release(reconcile);
	plan_wake(reconcile->plan, framework->sweep_at_ms);
}

static void report_refusal(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;

	if (framework->refused == NULL)
		return;
	plan_event(reconcile->plan, true, framework->refused_reason, "%s", framework->refused);
	mem_replace(&framework->refused, NULL);
}

void framework_sync(struct framework *framework, const struct sync_config *config, const struct sync_time *time,
		    struct random *random, struct plan *plan)
{
	struct reconcile reconcile = {
		.framework = framework,
		.config = config,
		.time = *time,
		.now_sec = time->wall_ms / 1000,
		.random = random,
		.plan = plan,
		.config_map_asked = framework->config_map_asked,
		.creating_end = &reconcile.creating,
		.classify_steps = CLASSIFY_STEPS,
	};

	plan_reset(plan);
	if (!framework->exists) {
		slots_drop_gone(framework);
		sync_release(&reconcile);
		return;
	}
	if (framework->managed_by_others) {
		slots_drop_gone(framework);
		if (kueue_former_ends(framework))
			sync_release(&reconcile);
		return;
	}
	if (framework->problem != NULL) {
		if (!framework->problem_reported)
			plan_event(plan, true, "Malformed", "The controller does not act on this Framework: %.768s",
				   framework->problem);
		framework->problem_reported = true;
		if (kueue_only_releases(framework) && kueue_slot(framework)->meta != NULL)
			sync_release(&reconcile);
		return;
	}
	report_refusal(&reconcile);
	/* Slots that wait for the fence are not looked at again before a write has succeeded. */
	reconcile.fence_wanted = framework_fenced(framework) && framework->waiting != NULL;
	if (time->boot_ms >= framework->sweep_at_ms) {
		framework->sweep = true;
		framework->sweep_at_ms = INT64_MAX; /* whatever still waits says so again */
	}
	run_steps(&reconcile);
	suspend_enter(&reconcile);
	if (framework->status.observed_generation != framework->generation) {
		bool taken_over = framework->status.observed_generation == 0 &&
				  framework->status.state == STATE_COMPLETED &&
				  framework->version == framework->written;

		framework->status.observed_generation = framework->generation;
		framework_touch(&reconcile, WRITE_RUNNING);
		if (taken_over)
			framework->taken_over = framework->version;
	}
	if (framework->version != framework->written)
		conditions_update(&reconcile);
	pace_plan_write(&reconcile);
	plan_wake(plan, framework->sweep_at_ms);
#ifdef DEBUG
	check_counters(framework);
#endif
}
