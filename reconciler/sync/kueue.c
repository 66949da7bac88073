/* What Kueue's decision means for a Framework (CONTRACT.md §21); see kueue.h. One rule per situation, from what is
 * stored and observed: kueue_step() says what the Workload needs now, and kueue_sync() has it done. */
#include "reconciler/sync/kueue.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "reconciler/sync/owned_kind.h"
#include "reconciler/sync/podtemplate.h"
#include "reconciler/sync/rules.h"

enum { HTTP_CONFLICT = 409 };

enum {
	REPORT_EVERY_MS = 1000,           /* Tasks that end one after the other are reported together */
	REPORT_WAIT_EVERY_MS = 60 * 1000, /* why it waits, when that changes */
};

/* ---- status.admission ---- */

static void set_admission(struct reconcile *reconcile, json_t *admission)
{
	struct framework *framework = reconcile->framework;

	json_decref(framework->status.admission);
	framework->status.admission = admission;
	pod_templates_free(framework);
	framework_touch(reconcile, WRITE_NOW);
	framework->kueue.decided = framework->version;
	kueue_drop_lookups(framework);
	framework->hold = framework->version; /* nothing is created or given back before that is stored */
	mem_replace(&framework->kueue.reported_reason, NULL);
}

/* Why the admission counts no more; NULL: it does, or nothing is certain yet. The caller frees. */
static char *why_lost(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	struct slot *slot = owned_slot(framework, SLOT_WORKLOAD);
	const char *uid = json_str(framework->status.admission, "workloadUID");
	const struct workload *workload = kueue_workload(framework);
	const char *message;

	if (slot->meta == NULL || strcmp(slot->meta->uid, uid) != 0) {
		if (slot->name == NULL)
			slot->name = mem_printf("framework-%s", framework->name);
		if (owned_find_resource(reconcile, slot) && slot_confirm_gone(reconcile, slot, uid))
			return mem_strdup("its Workload was deleted");
		return NULL;
	}
	if (workload == NULL)
		return mem_strdup("its Workload is no longer controlled by this Framework");
	if (workload->meta.deletion_time != 0)
		return mem_strdup("its Workload is being deleted");
	if (kueue_time_over(framework))
		return NULL; /* the Framework ends */
	message = json_str(workload_condition(workload, WORKLOAD_EVICTED), "message");
	if (workload_is(workload, WORKLOAD_EVICTED))
		return mem_printf("Kueue has evicted it: %s", message == NULL ? "" : message);
	if (!workload_active(workload))
		return mem_strdup("its Workload is deactivated: spec.active is false");
	if (!workload_is(workload, WORKLOAD_ADMITTED))
		return mem_strdup("its Workload is not admitted any more");
	if (!kueue_asks_for_this(framework, workload))
		return mem_strdup(
			"its queue, priority or TaskRoles have changed, so that it needs another quota; its Workload "
			"is replaced");
	if (kueue_reclaimed_too_much(framework))
		return mem_strdup("Tasks run again whose quota was given back; its Workload is replaced");
	return NULL;
}

static void check_admission(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	cleanup_free char *why = NULL;

	if (framework->status.admission == NULL || framework->status.state == STATE_COMPLETED ||
	    framework->deletion_time != 0)
		return;
	if (!kueue_managed(framework) || framework->spec.suspend) { /* somebody wants it so */
		set_admission(reconcile, NULL);
		return;
	}
	why = why_lost(reconcile);
	if (why == NULL)
		return;
	plan_event(reconcile->plan, true, "FrameworkEvicted",
		   "Framework is suspended, and waits for its admission again: %s", why);
	set_admission(reconcile, NULL);
}

static const json_t *update_of(const json_t *check, const char *pod_set)
{
	return json_find(json_object_get(check, "podSetUpdates"), "name", pod_set);
}

/* Adds the node labels and tolerations of an assignment's flavors to the podSet. False: some are still to be read. */
static bool add_flavors(struct reconcile *reconcile, const json_t *assignment, json_t *pod_set)
{
	const char *resource;
	const json_t *flavor;
	bool complete = true;

	json_object_foreach((json_t *)(uintptr_t)json_object_get(assignment, "flavors"), resource, flavor) {
		const json_t *found = json_is_string(flavor)
					      ? kueue_look_up(reconcile, "resourceflavors", json_string_value(flavor))
					      : NULL;
		const json_t *spec = json_object_get(found, "spec");
		cleanup_json json_t *added = json_object();

		if (found == NULL) {
			complete = false;
			continue;
		}
		if (json_object_get(spec, "nodeLabels") != NULL)
			json_object_set(added, "nodeSelector", json_object_get(spec, "nodeLabels"));
		if (json_object_get(spec, "tolerations") != NULL)
			json_object_set(added, "tolerations", json_object_get(spec, "tolerations"));
		admission_add(pod_set, added);
	}
	return complete;
}

/* status.admission as the Workload's status has it; NULL: flavors are still to be read. */
static json_t *make_admission(struct reconcile *reconcile, const struct workload *workload)
{
	const json_t *granted = workload_status(workload, "admission");
	json_t *pod_sets = json_array();
	json_t *admission;
	size_t i;
	size_t k;
	const json_t *assignment;
	const json_t *check;
	bool complete = true;

	json_array_foreach(json_object_get(granted, "podSetAssignments"), i, assignment) {
		const char *name = json_str(assignment, "name");
		json_t *pod_set;

		if (name == NULL)
			continue;
		pod_set = json_pack("{s:s}", "name", name);
		json_array_append_new(pod_sets, pod_set);
		complete = add_flavors(reconcile, assignment, pod_set) && complete;
		json_array_foreach(workload_status(workload, "admissionChecks"), k, check)
			admission_add(pod_set, update_of(check, name));
	}
	admission = json_pack("{s:s,s:s,s:o}", "clusterQueue",
			      json_str(granted, "clusterQueue") == NULL ? "" : json_str(granted, "clusterQueue"),
			      "workloadUID", workload->meta.uid, "podSets", pod_sets);
	if (complete)
		return admission;
	json_decref(admission);
	return NULL;
}

static void admit(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	json_t *admission = make_admission(reconcile, kueue_workload(framework));

	if (admission == NULL)
		return;
	plan_event(reconcile->plan, false, "FrameworkAdmitted", "Framework is admitted by the ClusterQueue %s",
		   json_str(admission, "clusterQueue"));
	set_admission(reconcile, admission);
}

/* ---- why it waits ---- */

/* Appends the state and message of each admission check that is not Ready. */
static void put_checks(const struct workload *workload, struct buf *out)
{
	size_t i;
	const json_t *check;

	json_array_foreach(workload_status(workload, "admissionChecks"), i, check) {
		const char *state = json_str(check, "state");
		const char *message = json_str(check, "message");

		if (state != NULL && strcmp(state, "Ready") != 0)
			buf_printf(out, "; admission check %s is %s%s%s",
				   json_str(check, "name") == NULL ? "" : json_str(check, "name"), state,
				   message == NULL || message[0] == '\0' ? "" : ": ", message == NULL ? "" : message);
	}
}

static void report_queue_wait(struct reconcile *reconcile, const struct workload *workload)
{
	struct framework *framework = reconcile->framework;
	struct kueue_work *kueue = &framework->kueue;
	const char *message = json_str(workload_condition(workload, WORKLOAD_QUOTA_RESERVED), "message");
	cleanup_buf struct buf why = {0};

	if (!workload_active(workload))
		buf_puts(&why, "its Workload is deactivated: spec.active is false");
	else if (message != NULL && message[0] != '\0')
		buf_puts(&why, message);
	else
		return; /* Kueue has not considered it yet */
	put_checks(workload, &why);
	if (kueue->reported_reason != NULL) {
		int64_t due_ms = kueue->reported_ms + (strcmp(kueue->reported_reason, why.data) == 0
							       ? REPORT_AGAIN_MS
							       : REPORT_WAIT_EVERY_MS);

		if (reconcile->time.boot_ms < due_ms) {
			plan_wake(reconcile->plan, due_ms);
			return;
		}
	}
	kueue->reported_ms = reconcile->time.boot_ms;
	mem_replace(&kueue->reported_reason, why.data);
	plan_event(reconcile->plan, false, "QueueWaiting",
		   "Framework waits for its admission in the queue %s (Workload %s): "
		   "%.512s",
		   kueue->queue, workload->meta.name, why.data);
}

/* ---- acting ---- */

/* Whether what a step rests on is stored. */
static bool may_act(struct reconcile *reconcile, struct slot *slot)
{
	const struct framework *framework = reconcile->framework;

	return kueue_decisions_stored(framework) &&
	       (kueue_only_releases(framework) || reconcile_may_act(reconcile, slot, 0));
}

/* Updates the Workload's status, which is behind the stored status of the Tasks. */
static void report(struct reconcile *reconcile, struct slot *slot)
{
	struct framework *framework = reconcile->framework;
	cleanup_json json_t *patch = kueue_status_patch(framework);

	if (patch == NULL || !owned_find_resource(reconcile, slot))
		return;
	if (framework->version != framework->written)
		return; /* the end of the write brings the reconcile back */
	if (reconcile->time.boot_ms < framework->kueue.next_ms) {
		plan_wake(reconcile->plan, framework->kueue.next_ms);
		return;
	}
	framework->kueue.next_ms = reconcile->time.boot_ms + REPORT_EVERY_MS;
	slot_send_patch(reconcile, slot, true);
}

/* The priority that the Workload is to have is known. */
static bool has_priority(struct reconcile *reconcile)
{
	const char *name = reconcile->framework->kueue.priority_class;

	return name == NULL || kueue_look_up(reconcile, "workloadpriorityclasses", name) != NULL;
}

/* Reports the failure of a call, once it is known whether the Workload exists. Others write it, too: a conflict with
 * them is no failure. */
static void report_error(struct reconcile *reconcile, struct slot *slot, enum kueue_step step)
{
	const struct create_error *error = slot->error;
	bool created = error != NULL && error->verb == VERB_CREATE;

	if (error == NULL || (created && step == KUEUE_MAKE)) /* owned_make() reports it */
		return;
	if (slot->known == SLOT_IN_DOUBT && !error->unread && error->verb != VERB_DELETE)
		return;
	if (error->http_status != HTTP_CONFLICT && !(created && slot->meta != NULL)) {
		owned_report_error(reconcile, slot);
		return;
	}
	create_error_free(slot->error); /* it is there after all */
	slot->error = NULL;
}

/* Quota that is given back is another's at once. A reconciler whose machine was paused may see the eviction of an
 * admission that its status does not know, and not the Pods. */
static bool may_give_back(struct reconcile *reconcile, struct slot *slot)
{
	struct framework *framework = reconcile->framework;

	return slot->workload == NULL || !workload_is(slot->workload, WORKLOAD_QUOTA_RESERVED) ||
	       framework->status.admission != NULL || framework->status.state == STATE_COMPLETED ||
	       kueue_only_releases(framework) || fence_vouches(framework, slot) ||
	       reconcile_may_act(reconcile, slot, 0);
}

static void take_step(struct reconcile *reconcile, struct slot *slot, enum kueue_step step)
{
	bool doubted = slot->meta != NULL && slot->known == SLOT_IN_DOUBT && step != KUEUE_MAKE;

	report_error(reconcile, slot, step);
	if ((step == KUEUE_NOTHING && !doubted) || slot->call != CALL_NONE || !may_act(reconcile, slot))
		return;
	if (doubted) {
		if (owned_find_resource(reconcile, slot))
			slot_send_get(reconcile, slot, slot->meta->uid);
		return;
	}
	if ((step == KUEUE_DELETE || step == KUEUE_REPORT || step == KUEUE_RELEASE) && !may_give_back(reconcile, slot))
		return;
	switch (step) {
	case KUEUE_MAKE:
		if (has_priority(reconcile))
			owned_make(reconcile, SLOT_WORKLOAD);
		break;
	case KUEUE_ADMIT: admit(reconcile); break;
	case KUEUE_DELETE:
		if (owned_find_resource(reconcile, slot))
			slot_send_delete(reconcile, slot);
		break;
	case KUEUE_REPORT: report(reconcile, slot); break;
	case KUEUE_REWRITE:
		if (has_priority(reconcile) && owned_find_resource(reconcile, slot))
			slot_send_patch(reconcile, slot, false);
		break;
	case KUEUE_RELEASE:
		if (owned_find_resource(reconcile, slot))
			slot_send_patch(reconcile, slot, false);
		break;
	case KUEUE_NOTHING: break;
	}
}

void kueue_sync(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	struct slot *slot = owned_slot(framework, SLOT_WORKLOAD);
	enum kueue_step step;

	if (!framework->kueue.on ||
	    (!kueue_managed(framework) && slot->meta == NULL && framework->status.admission == NULL))
		return;
	framework->kueue.now_sec = reconcile->now_sec;
	if (kueue_managed(framework) && framework->kueue.request == NULL)
		framework->kueue.request = kueue_request(framework);
	check_admission(reconcile);
	if (framework->written < framework->hold)
		return;
	step = kueue_step(framework);
	take_step(reconcile, slot, step);
	/* no event shows the end of a ConfigMap without our label, and the next attempt alone would ask for it */
	if (kueue_former_ends(framework) && slot_lost(framework, &framework->config_map))
		slot_send_get(reconcile, &framework->config_map, framework->config_map.meta->uid);
	if (step == KUEUE_NOTHING && kueue_workload(framework) != NULL && kueue_holds(framework) &&
	    kueue_wants_quota(framework) && framework_at_rest(framework) && slot->meta->deletion_time == 0)
		report_queue_wait(reconcile, slot->workload);
}

void kueue_release(struct reconcile *reconcile)
{
	struct slot *slot = owned_slot(reconcile->framework, SLOT_WORKLOAD);

	if (reconcile->framework->kueue.on && slot->meta != NULL)
		take_step(reconcile, slot, kueue_step(reconcile->framework));
}
