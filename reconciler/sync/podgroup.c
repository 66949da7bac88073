/* The PodGroup of spec.gang (CONTRACT.md §4.18), a kind of owned.c: one for each attempt, by which a scheduler places
 * the Pods together. Schedulers count the Pods that exist; the number that they wait for follows the Tasks that can
 * still have one. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/json.h"
#include "common/framework/requests.h"
#include "reconciler/sync/owned_kind.h"
#include "reconciler/sync/podtemplate.h"

/* ---- which gang the attempt has ---- */

/* The gang of the spec as it is now, unless the object that begins it has been asked for. */
static bool take_gang(struct reconcile *reconcile, const struct slot *first)
{
	struct framework *framework = reconcile->framework;

	if (framework->status.attempt.gang == framework->spec.gang.scheduler || first->meta != NULL ||
	    first->call != CALL_NONE || first->known == SLOT_IN_DOUBT)
		return false;
	framework->status.attempt.gang = framework->spec.gang.scheduler;
	pod_templates_free(framework);
	framework_touch(reconcile, WRITE_NOW);
	return true;
}

void gang_begin(struct reconcile *reconcile)
{
	if (take_gang(reconcile, &reconcile->framework->config_map))
		reconcile->framework->decided = reconcile->framework->version;
}

bool gang_change(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	struct slot *slot = owned_slot(framework, SLOT_POD_GROUP);

	/* a former owner of the key, or we when the PodGroup was there, may have created what we do not see yet */
	if (framework->status.attempt.gang == GANG_NONE || framework->inherited || framework_completing(framework) ||
	    framework->owned_work[SLOT_POD_GROUP - SLOT_SERVICE].sent != 0)
		return false;
	for (size_t r = 0; r < framework->status.attempt.role_count; r++)
		if (framework->roles[r].creation_pending < (int32_t)framework->status.attempt.roles[r].task_count)
			return false;
	if (!take_gang(reconcile, slot))
		return false;
	free(slot->name); /* it may be one of another kind now */
	slot->name = NULL;
	framework->sweep = true;
	return true;
}

/* ---- the PodGroup ---- */

static bool group_name(const struct framework *framework, char name[OWNED_NAME_SIZE])
{
	if (framework->status.attempt.gang == GANG_NONE || framework_spec_task_count(&framework->spec) == 0)
		return false;
	snprintf(name, OWNED_NAME_SIZE, "%s-%d", framework->name, (int)framework->status.attempt.id);
	return true;
}

static size_t group_resources(const struct framework *framework,
			      const struct owned_resource *resources[OWNED_RESOURCES_MAX])
{
	switch (framework->status.attempt.gang) {
	case GANG_VOLCANO: resources[0] = owned_api_resource(API_POD_GROUPS_VOLCANO); return 1;
	case GANG_COSCHEDULING: resources[0] = owned_api_resource(API_POD_GROUPS_COSCHEDULING); return 1;
	case GANG_KUBERNETES:
		resources[0] = owned_api_resource(API_POD_GROUPS_KUBERNETES_BETA);
		resources[1] = owned_api_resource(API_POD_GROUPS_KUBERNETES_ALPHA);
		return 2;
	case GANG_NONE: break;
	}
	return 0;
}

static void report_unavailable(struct reconcile *reconcile, const char *trouble)
{
	static const char *const needed[] = {
		[GANG_VOLCANO] = "podgroups of scheduling.volcano.sh/v1beta1: install Volcano",
		[GANG_COSCHEDULING] = "podgroups of scheduling.x-k8s.io/v1alpha1: install the PodGroup CRD of "
				      "scheduler-plugins, and a scheduler with the plugin Coscheduling",
		[GANG_KUBERNETES] = "podgroups of scheduling.k8s.io/v1beta1 or v1alpha2: enable the feature gate "
				    "GenericWorkload and this API version (Kubernetes 1.36 or later)",
	};
	const struct framework *framework = reconcile->framework;

	plan_event(
		reconcile->plan, true, "GangUnavailable",
		"Attempt %d waits: spec.gang.scheduler is %s, and the %s %s. The controller looks again every minute",
		(int)framework->status.attempt.id, gang_scheduler_name(framework->status.attempt.gang),
		trouble == NULL ? "API server does not serve"
				: "controller cannot find out whether the API server serves its podgroups:",
		trouble == NULL ? needed[framework->status.attempt.gang] : trouble);
}

/* ---- how many ---- */

/* Tasks of the TaskRole in the spec that have a Pod or can get one now. Those that take the places of Tasks with
 * deletionPending are not in the status yet; of too many, none is added. */
static int64_t role_members(const struct framework *framework, size_t role)
{
	const struct role_work *work = &framework->roles[role];
	int in_spec = framework_spec_find_role(&framework->spec, framework->status.attempt.roles[role].name);
	int32_t count;

	if (in_spec < 0 || (framework->spec.roles[in_spec].depends_count > 0 && work->depends != DEPENDS_OVER &&
			    work->creation_pending > 0))
		return 0;
	count = (framework->spec.too_many_tasks ? work->live : framework->spec.roles[in_spec].task_number) -
		work->completed;
	return count > 0 ? count : 0; /* of a spec that has just come, those that are too many are yet to be marked */
}

/* 0: there is none left. */
static int64_t group_members(const struct framework *framework)
{
	const struct gang_spec *gang = &framework->spec.gang;
	int64_t count = 0;

	for (size_t r = 0; r < framework->status.attempt.role_count; r++)
		count += role_members(framework, r);
	/* a gang that the spec has no more holds nobody back */
	if (gang->scheduler == GANG_NONE)
		return count > 0;
	return gang->min_tasks > 0 && count > gang->min_tasks ? gang->min_tasks : count;
}

static int64_t stated_members(const struct framework *framework, const json_t *spec)
{
	if (framework->status.attempt.gang == GANG_KUBERNETES)
		return json_int(json_path(spec, "schedulingPolicy", "gang", NULL), "minCount", 0);
	return json_int(spec, "minMember", 0);
}

static enum owned_fit group_fit(const struct framework *framework, const struct owned_object *object, bool fitted)
{
	int64_t wanted = group_members(framework);
	int64_t stated = stated_members(framework, object->spec);

	if (wanted == 0 || stated == wanted)
		return FIT;
	/* Tasks that complete one after the other hold up no Pod of a retry: it is placed when the number is down. */
	return stated > wanted && fitted ? FIT_LATER : FIT_FIRST;
}

/* ---- what it says ---- */

/* What the PodGroup asks for now is in a patch, too: nobody may ask for it any more. */
static void add_former_names(const struct framework *framework, struct requests *sum)
{
	const struct owned_object *present = framework->owned[SLOT_POD_GROUP - SLOT_SERVICE].owned;
	const char *name;
	json_t *value;

	if (present == NULL)
		return;
	json_object_foreach(json_object_get(present->spec, "minResources"), name, value) {
		struct request former = {.name = (char *)name};

		requests_add(sum, &(struct requests){&former, 1}, 0);
	}
}

/* Adds the resources of so many Tasks, in the order of the spec. */
static void write_resources(const struct framework *framework, int64_t members, struct buf *out)
{
	cleanup_json json_t *spec = json_parse(framework->spec_text, strlen(framework->spec_text), NULL);
	const json_t *roles = json_object_get(spec, "taskRoles");
	struct requests sum = {0};

	add_former_names(framework, &sum);
	for (size_t r = 0; r < framework->status.attempt.role_count; r++) {
		int in_spec = framework_spec_find_role(&framework->spec, framework->status.attempt.roles[r].name);
		int64_t count = role_members(framework, r);
		struct requests own = {0};
		cleanup_json json_t *pod = NULL;

		if (in_spec < 0)
			continue;
		if (count > members)
			count = members;
		members -= count;
		pod = pod_template_of_role(framework, (size_t)in_spec,
					   json_path(json_array_get(roles, (size_t)in_spec), "task", "pod", NULL));
		requests_of_pod(json_object_get(pod, "spec"), &own);
		requests_add(&sum, &own, count);
		requests_free(&own);
	}
	buf_json_key(out, "minResources");
	requests_write(out, &sum);
	requests_free(&sum);
}

/* The members that a PATCH brings up to date. */
static void write_members(const struct framework *framework, struct buf *out)
{
	int64_t members = group_members(framework);

	if (members == 0)
		members = 1;
	if (framework->status.attempt.gang == GANG_KUBERNETES) {
		buf_json_open(out, "schedulingPolicy", '{');
		buf_json_open(out, "gang", '{');
		buf_json_int(out, "minCount", members);
		buf_puts(out, "}}");
		return;
	}
	buf_json_int(out, "minMember", members);
	write_resources(framework, members, out);
}

static void write_patch(const struct framework *framework, struct buf *out)
{
	buf_putc(out, '{');
	write_members(framework, out);
	buf_putc(out, '}');
}

static void write_spec(const struct framework *framework, struct buf *out)
{
	const struct gang_spec *gang = &framework->spec.gang;

	buf_putc(out, '{');
	write_members(framework, out);
	/* what other schedulers have no use for is not in the spec (gang_spec.c), unless it names another one by now */
	if (gang->scheduler == framework->status.attempt.gang) {
		if (gang->queue != NULL)
			buf_json_text(out, "queue", gang->queue);
		if (gang->priority_class != NULL)
			buf_json_text(out, "priorityClassName", gang->priority_class);
		if (gang->scheduler == GANG_COSCHEDULING)
			buf_json_int(out, "scheduleTimeoutSeconds", gang->schedule_timeout_sec);
		if (gang->topology_key != NULL) {
			buf_json_open(out, "schedulingConstraints", '{');
			buf_json_open(out, "topology", '[');
			buf_putc(out, '{');
			buf_json_text(out, "key", gang->topology_key);
			buf_puts(out, "}]}");
		}
	}
	buf_putc(out, '}');
}

const struct owned_kind pod_group_kind = {
	.kind = "PodGroup",
	.failed_create = "FailedCreatePodGroup",
	.failed_patch = "FailedPatchPodGroup",
	.hint = ". The rights that spec.gang needs are in manifests/rbac/gang; Pods are created after it",
	.of_attempt = true,
	.name = group_name,
	.resources = group_resources,
	.write_spec = write_spec,
	.fit = group_fit,
	.number = group_members,
	.write_patch = write_patch,
	.report_unavailable = report_unavailable,
};
