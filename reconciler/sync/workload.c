/* The Workload as Kueue reads it: its request, and the reports in its status (CONTRACT.md §21); see kueue.h and
 * owned_kind.h. */
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "reconciler/sync/kueue.h"
#include "reconciler/sync/owned_kind.h"
#include "reconciler/sync/podtemplate.h"

enum { DIGEST_SIZE = 32 }; /* of SHA-256 */

/* ---- what it asks for ---- */

static json_t *read_spec(const struct framework *framework)
{
	return json_parse(framework->spec_text, strlen(framework->spec_text), NULL);
}

static json_t *pod_of(const json_t *spec, size_t role)
{
	return json_path(json_array_get(json_object_get(spec, "taskRoles"), role), "task", "pod", NULL);
}

/* Labels, annotations and spec: a podSet's template has nothing else. */
static json_t *template_of(const json_t *pod)
{
	static const char *const names[] = {"labels", "annotations"};
	json_t *metadata = json_object();
	json_t *spec = json_object_get(pod, "spec");

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		json_t *member = json_path(pod, "metadata", names[i], NULL);

		if (json_is_object(member))
			json_object_set(metadata, names[i], member);
	}
	return json_pack("{s:o,s:O}", "metadata", metadata, "spec", spec == NULL ? json_null() : spec);
}

static json_t *pod_sets_of(const struct framework *framework)
{
	cleanup_json json_t *spec = read_spec(framework);
	json_t *pod_sets = json_array();

	for (size_t r = 0; r < framework->spec.role_count; r++) {
		cleanup_json json_t *pod = pod_template_of_role(framework, r, pod_of(spec, r));

		json_array_append_new(pod_sets, json_pack("{s:s,s:i,s:o}", "name", framework->spec.roles[r].name,
							  "count", (int)framework->spec.roles[r].task_number,
							  "template", template_of(pod)));
	}
	return pod_sets;
}

static int append_bytes(const char *data, size_t len, void *text)
{
	buf_append(text, data, len);
	return 0;
}

/* A hash without known collisions: with one, a user could exchange the template of an admitted Framework. Its input
 * must not change from one release to the next: another value evicts running Frameworks. */
char *kueue_request(const struct framework *framework)
{
	cleanup_json json_t *asked = json_pack("{s:s,s:s?,s:o}", "queue", framework->kueue.queue, "priorityClass",
					       framework->kueue.priority_class, "podSets", pod_sets_of(framework));
	cleanup_buf struct buf text = {0};
	unsigned char digest[DIGEST_SIZE];
	struct buf out = {0};

	json_dump_callback(asked, append_bytes, &text, JSON_SORT_KEYS | JSON_COMPACT);
	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text.data, text.len, digest) < 0)
		abort(); /* SHA-256 is always there */
	for (size_t i = 0; i < DIGEST_SIZE; i++)
		buf_printf(&out, "%02x", digest[i]);
	if (framework->spec.active_deadline_sec > 0)
		buf_printf(&out, "/%d", (int)framework->spec.active_deadline_sec);
	return buf_steal(&out);
}

static void add_priority(const struct framework *framework, bool beta2, json_t *spec)
{
	const char *name = framework->kueue.priority_class;
	const json_t *class = name == NULL ? NULL : kueue_looked_up(framework, "workloadpriorityclasses", name);

	if (class == NULL)
		return;
	json_object_set_new(spec, "priority", json_integer(json_int(class, "value", 0)));
	if (beta2) {
		json_object_set_new(spec, "priorityClassRef",
				    json_pack("{s:s,s:s,s:s}", "group", "kueue.x-k8s.io", "kind",
					      "WorkloadPriorityClass", "name", name));
		return;
	}
	json_object_set_new(spec, "priorityClassName", json_string(name));
	json_object_set_new(spec, "priorityClassSource", json_string("kueue.x-k8s.io/workloadpriorityclass"));
}

static json_t *spec_of(const struct framework *framework)
{
	const struct owned_resource *resource = framework->owned_work[SLOT_WORKLOAD - SLOT_SERVICE].resource;
	json_t *spec = json_pack("{s:s,s:o}", "queueName", framework->kueue.queue, "podSets", pod_sets_of(framework));

	if (framework->spec.active_deadline_sec > 0)
		json_object_set_new(spec, "maximumExecutionTimeSeconds",
				    json_integer(framework->spec.active_deadline_sec));
	add_priority(framework, resource != NULL && resource->api == API_WORKLOADS_BETA2, spec);
	return spec;
}

static void put_json(struct buf *out, const json_t *value)
{
	cleanup_free char *text = json_text(value);

	buf_puts(out, text);
}

static bool workload_name(const struct framework *framework, char name[OWNED_NAME_SIZE])
{
	snprintf(name, OWNED_NAME_SIZE, WORKLOAD_NAME_PREFIX "%s", framework->name);
	return kueue_managed(framework);
}

static size_t workload_resources(const struct framework *framework,
				 const struct owned_resource *resources[OWNED_RESOURCES_MAX])
{
	(void)framework;
	resources[0] = owned_api_resource(API_WORKLOADS_BETA2);
	resources[1] = owned_api_resource(API_WORKLOADS_BETA1);
	return 2;
}

static void write_metadata(const struct framework *framework, struct buf *out)
{
	cleanup_free char *request = kueue_request(framework);

	buf_printf(out,
		   ",\"annotations\":{\"" FC_WORKLOAD_REQUEST "\":\"%s\"},\"finalizers\":[\"" KUEUE_FINALIZER "\"]",
		   request);
}

static void write_labels(const struct framework *framework, struct buf *out)
{
	buf_json_text(out, KUEUE_JOB_UID_LABEL, framework->uid);
}

static void write_spec(const struct framework *framework, struct buf *out)
{
	cleanup_json json_t *spec = spec_of(framework);

	json_object_set_new(spec, "active", json_true());
	put_json(out, spec);
}

static void report_unavailable(struct reconcile *reconcile, const char *trouble)
{
	if (trouble != NULL)
		plan_event(reconcile->plan, true, "KueueUnavailable",
			   "The controller cannot find out whether the API server serves Workloads of kueue.x-k8s.io, "
			   "which the label " KUEUE_QUEUE_LABEL " needs: %s. The controller looks again every minute",
			   trouble);
	else
		plan_event(reconcile->plan, true, "KueueUnavailable",
			   "The API server serves no Workloads of kueue.x-k8s.io (v1beta2 or v1beta1), which the "
			   "label " KUEUE_QUEUE_LABEL
			   " needs: install Kueue, or remove the label. The controller looks again every minute");
}

/* ---- what is reported ---- */

/* Why PodsReady is False after it was True since the admission. */
#define WAIT_FOR_RECOVERY "WaitForRecovery"

/* Sets a condition in the list, unless it has that status already. Returns whether it had not. */
static bool set_condition(const struct framework *framework, json_t *conditions, const char *type, bool value,
			  const char *reason, const char *message)
{
	char now[TIME_RFC3339_SIZE];
	const char *status = value ? "True" : "False";
	json_t *entry;
	size_t i;
	json_t *condition;

	json_array_foreach(conditions, i, condition) {
		const char *found = json_str(condition, "type");
		const char *before = json_str(condition, "status");

		if (found == NULL || strcmp(found, type) != 0)
			continue;
		if (before != NULL && strcmp(before, status) == 0)
			return false;
		json_array_remove(conditions, i);
		break;
	}
	time_format_rfc3339(framework->kueue.now_sec, now);
	entry = json_pack("{s:s,s:s,s:s,s:s,s:s}", "type", type, "status", status, "lastTransitionTime", now, "reason",
			  reason, "message", message);
	if (kueue_slot(framework)->workload->meta.generation > 0)
		json_object_set_new(entry, "observedGeneration",
				    json_integer(kueue_slot(framework)->workload->meta.generation));
	json_array_append_new(conditions, entry);
	return true;
}

static json_t *conditions_of(const struct workload *workload)
{
	const json_t *conditions = workload_status(workload, "conditions");

	return json_is_array(conditions) ? json_copy((json_t *)(uintptr_t)conditions) : json_array();
}

/* A Completed Framework. */
static json_t *report_finished(const struct framework *framework)
{
	const struct completion *completion = framework->status.attempt.completion;
	json_t *conditions = conditions_of(kueue_slot(framework)->workload);
	cleanup_free char *message = mem_printf("Framework is completed with code %d (%s)", (int)completion->code,
						completion->phrase);

	set_condition(framework, conditions, WORKLOAD_FINISHED, true, completion->succeeded ? "Succeeded" : "Failed",
		      message);
	return json_pack("{s:o}", "conditions", conditions);
}

/* No Pod is left of one that was evicted or deactivated: the quota goes back. */
static json_t *report_released(const struct framework *framework)
{
	const struct workload *workload = kueue_slot(framework)->workload;
	const json_t *evicted = workload_is(workload, WORKLOAD_EVICTED) ? workload_condition(workload, WORKLOAD_EVICTED)
									: NULL;
	const char *reason = json_str(evicted, "reason");
	const char *message = json_str(evicted, "message");
	json_t *conditions = conditions_of(workload);
	/* for other reasons Kueue itself says when it may come again */
	bool again = reason != NULL && (strcmp(reason, "Preempted") == 0 || strcmp(reason, "NodeFailures") == 0);

	if (message == NULL)
		message = "The workload is deactivated";
	set_condition(framework, conditions, WORKLOAD_QUOTA_RESERVED, false, "Pending", message);
	if (workload_is(workload, WORKLOAD_ADMITTED))
		set_condition(framework, conditions, WORKLOAD_ADMITTED, false, "NoReservation",
			      "The workload has no reservation");
	if (workload_is(workload, WORKLOAD_PODS_READY))
		set_condition(framework, conditions, WORKLOAD_PODS_READY, false, "WaitForStart", "No Pod exists");
	set_condition(framework, conditions, WORKLOAD_REQUEUED, again, reason == NULL ? "Deactivated" : reason,
		      message);
	return json_pack("{s:o,s:n,s:n}", "conditions", conditions, "admission", "reclaimablePods");
}

/* How many Tasks of the TaskRole need their quota no more. */
static int64_t reclaimable(const struct framework *framework, const char *role)
{
	const struct framework_attempt_status *attempt = &framework->status.attempt;

	for (size_t r = 0; r < attempt->role_count; r++)
		if (strcmp(attempt->roles[r].name, role) == 0)
			return framework->roles[r].completed;
	return 0;
}

bool kueue_reclaimed_too_much(const struct framework *framework)
{
	for (size_t r = 0; r < framework->spec.role_count; r++) {
		const char *role = framework->spec.roles[r].name;

		if (workload_reclaimable(kueue_slot(framework)->workload, role) > reclaimable(framework, role))
			return true;
	}
	return false;
}

/* NULL: it is as it was. */
static json_t *reclaimable_pods(const struct framework *framework)
{
	json_t *list = json_array();
	bool changed = false;

	for (size_t r = 0; r < framework->spec.role_count; r++) {
		const char *role = framework->spec.roles[r].name;
		int64_t count = reclaimable(framework, role);

		changed = changed || count > workload_reclaimable(kueue_slot(framework)->workload, role);
		if (count > 0)
			json_array_append_new(list, json_pack("{s:s,s:I}", "name", role, "count", (json_int_t)count));
	}
	if (changed)
		return list;
	json_decref(list);
	return NULL;
}

/* The Task waits for its Pod to run, or for its retry. */
static bool task_waits(const struct task_status *task)
{
	return !task->deletion_pending &&
	       (task->state < STATE_RUNNING || (task->state == STATE_ATTEMPT_COMPLETED && task->retry.delay_sec > 0));
}

/* No Task waits, apart from those of TaskRoles that dependsOn holds back; some may have ended. */
static bool all_run(const struct framework *framework)
{
	for (size_t r = 0; r < framework->status.attempt.role_count; r++) {
		const struct role_status *role = &framework->status.attempt.roles[r];

		for (size_t i = 0; i < role->task_count; i++)
			if (task_waits(&role->tasks[i]) &&
			    (role->tasks[i].state != STATE_CREATION_PENDING || !depends_hold(framework, r, i)))
				return false;
	}
	return framework->status.state == STATE_RUNNING;
}

static bool waits_for_retry(const struct framework *framework)
{
	return framework->status.state == STATE_ATTEMPT_COMPLETED && framework->status.retry.delay_sec > 0;
}

/* One that runs, or waits for its retry: then its Tasks need their quota again. */
static json_t *report_progress(const struct framework *framework)
{
	const struct workload *workload = kueue_slot(framework)->workload;
	json_t *conditions = conditions_of(workload);
	json_t *pods = framework_completing(framework) ? NULL : reclaimable_pods(framework);
	const char *before = json_str(workload_condition(workload, WORKLOAD_PODS_READY), "reason");
	bool recovered = before != NULL && strcmp(before, WAIT_FOR_RECOVERY) == 0;
	bool changed = false;
	json_t *status;

	if (all_run(framework))
		changed = set_condition(framework, conditions, WORKLOAD_PODS_READY, true,
					recovered ? "Recovered" : "Started", "All Tasks run or are completed");
	else if (workload_is(workload, WORKLOAD_PODS_READY))
		changed = set_condition(framework, conditions, WORKLOAD_PODS_READY, false, WAIT_FOR_RECOVERY,
					"A Task does not run");
	if (!changed && pods == NULL) {
		json_decref(conditions);
		return NULL;
	}
	status = json_pack("{s:o}", "conditions", conditions);
	if (pods != NULL)
		json_object_set_new(status, "reclaimablePods", pods);
	return status;
}

json_t *kueue_status_patch(const struct framework *framework)
{
	if (framework->status.state == STATE_COMPLETED)
		return report_finished(framework);
	if (framework->status.admission != NULL)
		return report_progress(framework);
	if (workload_is(kueue_slot(framework)->workload, WORKLOAD_QUOTA_RESERVED))
		return report_released(framework);
	return json_pack("{s:n}", "reclaimablePods");
}

/* Whether the Workload belongs to a Framework that had the name, and is gone. */
static bool is_former(const struct framework *framework)
{
	const struct object_meta *meta = kueue_slot(framework)->meta;

	return meta != NULL && kueue_workload(framework) == NULL &&
	       strcmp(meta->controller_kind, object_kind_name(KIND_FRAMEWORK)) == 0 &&
	       strcmp(meta->controller_name, framework->name) == 0;
}

bool kueue_former_ends(const struct framework *framework)
{
	const struct slot *slot = kueue_slot(framework);

	return is_former(framework) && slot->meta->deletion_time != 0 && workload_has_finalizer(slot->workload);
}

/* ---- steps ---- */

bool kueue_only_releases(const struct framework *framework)
{
	if (framework->managed_by_others)
		return true;
	if (framework->problem == NULL)
		return !framework->exists;
	return framework->deletion_time != 0 || (framework->status.admission == NULL && framework_at_rest(framework));
}

static uint64_t decided(const struct framework *framework)
{
	return framework->decided > framework->kueue.decided ? framework->decided : framework->kueue.decided;
}

bool kueue_decisions_stored(const struct framework *framework)
{
	return kueue_only_releases(framework) || framework->written >= decided(framework);
}

/* No Pod exists, and none will: its quota may go to others. */
static bool is_idle(const struct framework *framework)
{
	if (!framework->exists || framework->deletion_time != 0)
		return framework_has_nothing(framework);
	return framework->status.state == STATE_COMPLETED ||
	       (framework->status.admission == NULL && framework_at_rest(framework));
}

/* A Workload that somebody deletes. */
static enum kueue_step step_of_deleted(const struct framework *framework, const struct workload *workload)
{
	return workload_has_finalizer(workload) &&
			       (is_idle(framework) || (framework->exists && !kueue_managed(framework)))
		       ? KUEUE_RELEASE
		       : KUEUE_NOTHING;
}

static enum kueue_step step_of_completed(const struct workload *workload)
{
	if (!workload_is(workload, WORKLOAD_FINISHED))
		return KUEUE_REPORT;
	return workload_has_finalizer(workload) ? KUEUE_RELEASE : KUEUE_NOTHING;
}

/* No Pod is left, and it is not admitted, as far as the status says. */
static enum kueue_step step_of_held(const struct framework *framework, const struct workload *workload)
{
	bool reserved = workload_is(workload, WORKLOAD_QUOTA_RESERVED);
	bool evicted = workload_is(workload, WORKLOAD_EVICTED) || !workload_active(workload);

	if (!kueue_wants_quota(framework)) /* one that was deactivated keeps it so when the Framework is resumed */
		return reserved || workload_active(workload) ? KUEUE_DELETE : KUEUE_NOTHING;
	if (reserved && evicted)
		return KUEUE_REPORT;
	if (!kueue_asks_for_this(framework, workload))
		return reserved ? KUEUE_DELETE : KUEUE_REWRITE;
	/* another activeDeadlineSec: while it is admitted, Kueue refuses a change of that */
	if (!reserved && strcmp(workload_request(workload), framework->kueue.request) != 0)
		return KUEUE_REWRITE;
	if (kueue_reclaimed_too_much(framework))
		return reserved ? KUEUE_DELETE : KUEUE_REPORT;
	return workload_is(workload, WORKLOAD_ADMITTED) && !evicted ? KUEUE_ADMIT : KUEUE_NOTHING;
}

static enum kueue_step step_of_ours(const struct framework *framework, const struct workload *workload)
{
	if (workload->meta.deletion_time != 0)
		return step_of_deleted(framework, workload);
	if (!framework->exists || (framework->deletion_time != 0 && framework->problem != NULL))
		return KUEUE_NOTHING; /* the garbage collector deletes it */
	if (framework->status.state == STATE_COMPLETED)
		return step_of_completed(workload);
	if (framework->deletion_time != 0) /* a finalizer may keep the Framework, and with it the Workload, for long */
		return framework->status.admission == NULL && framework_at_rest(framework)
			       ? step_of_held(framework, workload)
			       : KUEUE_NOTHING;
	if (!kueue_managed(framework))
		return KUEUE_DELETE;
	if (framework->status.admission == NULL)
		return framework_at_rest(framework) && framework->spec.execution_type != EXECUTION_STOP
			       ? step_of_held(framework, workload)
			       : KUEUE_NOTHING;
	return framework_completing(framework) && !waits_for_retry(framework) ? KUEUE_NOTHING : KUEUE_REPORT;
}

/* Nothing is left of the former Framework. The ConfigMap and the Pods of the present one do not count. */
static bool former_has_nothing(const struct framework *framework)
{
	const struct slot *config_map = &framework->config_map;

	return slot_ours(config_map, framework->uid) ? !framework_has_pods(framework, config_map->meta->uid)
						     : framework_has_nothing(framework);
}

enum kueue_step kueue_step(const struct framework *framework)
{
	const struct workload *workload = kueue_workload(framework);
	bool make = kueue_wants_quota(framework) && framework->status.admission == NULL && framework->has_status &&
		    framework_at_rest(framework);

	if (workload != NULL)
		return step_of_ours(framework, workload);
	if (kueue_former_ends(framework) && former_has_nothing(framework))
		return KUEUE_RELEASE;
	return make ? KUEUE_MAKE : KUEUE_NOTHING;
}

/* A class that the label names since was not read yet. */
static bool knows_priority(const struct framework *framework)
{
	const char *name = framework->kueue.priority_class;

	return name == NULL || kueue_looked_up(framework, "workloadpriorityclasses", name) != NULL;
}

static bool call_wanted(const struct framework *framework, const struct call *call)
{
	const struct slot *slot = kueue_slot(framework);
	enum kueue_step step = kueue_step(framework);
	bool same = slot->meta != NULL && call->version != NULL &&
		    strcmp(slot->meta->resource_version, call->version) == 0;
	cleanup_json json_t *patch = same && step == KUEUE_REPORT ? kueue_status_patch(framework) : NULL;

	if (!kueue_decisions_stored(framework)) /* a namesake has come since, or more was decided */
		return false;
	switch (call->kind) {
	case CALL_CREATE_OWNED: return step == KUEUE_MAKE && knows_priority(framework);
	case CALL_PATCH_OWNED:
		return same && ((step == KUEUE_REWRITE && knows_priority(framework)) || step == KUEUE_RELEASE);
	case CALL_PATCH_OWNED_STATUS: return patch != NULL && framework->version == framework->written;
	default: return true;
	}
}

/* ---- patches ---- */

/* All but ours. */
static json_t *other_finalizers(const struct workload *workload)
{
	json_t *others = json_array();
	size_t i;
	json_t *finalizer;

	json_array_foreach(workload_finalizers(workload), i, finalizer)
		if (!json_is_string(finalizer) || strcmp(json_string_value(finalizer), KUEUE_FINALIZER) != 0)
			json_array_append(others, finalizer);
	return others;
}

/* Members that it is to have no more are null. */
static json_t *rewritten_spec(const struct framework *framework)
{
	static const char *const optional[] = {"maximumExecutionTimeSeconds", "priority", "priorityClassRef",
					       "priorityClassName", "priorityClassSource"};
	json_t *spec = spec_of(framework);

	if (kueue_out_of_time(kueue_slot(framework)->workload)) /* of a time that is not the spec's any more */
		json_object_set_new(spec, "active", json_true());
	for (size_t i = 0; i < ARRAY_LEN(optional); i++)
		if (json_object_get(spec, optional[i]) == NULL)
			json_object_set_new(spec, optional[i], json_null());
	return spec;
}

static void write_patch(const struct framework *framework, struct buf *out)
{
	const struct workload *workload = kueue_slot(framework)->workload;
	json_t *metadata = json_pack("{s:s,s:s}", "uid", workload->meta.uid, "resourceVersion",
				     workload->meta.resource_version);
	cleanup_json json_t *patch = json_pack("{s:o}", "metadata", metadata);
	cleanup_free char *request = NULL;

	switch (kueue_step(framework)) {
	case KUEUE_RELEASE: json_object_set_new(metadata, "finalizers", other_finalizers(workload)); break;
	case KUEUE_REWRITE:
		request = kueue_request(framework);
		json_object_set_new(metadata, "annotations", json_pack("{s:s}", FC_WORKLOAD_REQUEST, request));
		json_object_set_new(patch, "spec", rewritten_spec(framework));
		break;
	default: json_object_set_new(patch, "status", kueue_status_patch(framework)); break;
	}
	put_json(out, patch);
}

const struct owned_kind workload_kind = {
	.kind = "Workload",
	.failed_create = "FailedCreateWorkload",
	.failed_get = "FailedReadKueue",
	.failed_patch = "FailedPatchWorkload",
	.failed_delete = "FailedDeleteWorkload",
	.hint = ". The rights that Kueue needs are in manifests/rbac/kueue; the Framework waits for them",
	.apart = true,
	.name = workload_name,
	.resources = workload_resources,
	.write_labels = write_labels,
	.write_metadata = write_metadata,
	.write_spec = write_spec,
	.write_patch = write_patch,
	.wanted = call_wanted,
	.report_unavailable = report_unavailable,
};
