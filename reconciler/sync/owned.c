/* Objects that a Framework or its attempt owns beside the ConfigMap and the Pods, and that its Pods need: the Service
 * of spec.network, the PodGroup of spec.gang. All kinds go one way: created before the first Pod, found again after a
 * crash or by a new owner of the key, waited for while a foreign object has the name, looked for at the beginning of
 * each attempt, patched where they follow what becomes of the Tasks. Their names follow from the spec and their owner
 * reference says whose they are, so that no status keeps their UIDs; the garbage collector deletes them with their
 * owner. See rules.h and owned_kind.h. */
#include <string.h>

#include "common/base/mem.h"
#include "reconciler/sync/classify.h"
#include "reconciler/sync/owned_kind.h"

enum { HTTP_FORBIDDEN = 403 };

enum {
	DOUBT_MS = 60 * 1000, /* a kind that is to be kept is looked for again before later Pods are created */
};

/* In the order of enum slot_kind. */
static const struct owned_kind *const kinds[OWNED_KINDS] = {
	&service_kind,
	&pod_group_kind,
	&workload_kind,
};

const struct owned_resource *owned_api_resource(enum owned_api api)
{
	static const struct owned_resource resources[OWNED_APIS] = {
		[API_CORE] = {API_CORE, "v1", "services", false},
		[API_POD_GROUPS_VOLCANO] = {API_POD_GROUPS_VOLCANO, "scheduling.volcano.sh/v1beta1", "podgroups", true},
		[API_POD_GROUPS_COSCHEDULING] = {API_POD_GROUPS_COSCHEDULING, "scheduling.x-k8s.io/v1alpha1",
						 "podgroups", true},
		[API_POD_GROUPS_KUBERNETES_BETA] = {API_POD_GROUPS_KUBERNETES_BETA, "scheduling.k8s.io/v1beta1",
						    "podgroups", true},
		[API_POD_GROUPS_KUBERNETES_ALPHA] = {API_POD_GROUPS_KUBERNETES_ALPHA, "scheduling.k8s.io/v1alpha2",
						     "podgroups", true},
		[API_WORKLOADS_BETA2] = {API_WORKLOADS_BETA2, "kueue.x-k8s.io/v1beta2", "workloads", true},
		[API_WORKLOADS_BETA1] = {API_WORKLOADS_BETA1, "kueue.x-k8s.io/v1beta1", "workloads", true},
	};

	return &resources[api];
}

static const struct owned_kind *kind_of(const struct slot *slot)
{
	return kinds[slot->kind - SLOT_SERVICE];
}

struct slot *owned_slot(struct framework *framework, enum slot_kind kind)
{
	return &framework->owned[kind - SLOT_SERVICE];
}

static struct owned_work *work_of(struct framework *framework, const struct slot *slot)
{
	return &framework->owned_work[slot->kind - SLOT_SERVICE];
}

void owned_answered(struct framework *framework, const struct call *call, int64_t boot_ms)
{
	const struct slot *slot = owned_slot(framework, call->object);
	struct owned_work *work = work_of(framework, slot);

	work->seen_ms = boot_ms;
	if (call->kind != CALL_GET_OWNED && (slot->error == NULL || slot->error->verb != VERB_PATCH))
		work->fitted = work->sent;
}

static void put_owner(struct buf *out, const char *version, const char *kind, const char *name, const char *uid)
{
	buf_printf(out, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"%s\"", version, kind, name);
	buf_json_text(out, "uid", uid); /* a ConfigMap's comes from the status, which somebody else may have written */
	buf_puts(out, ",\"controller\":true,\"blockOwnerDeletion\":true}");
}

void framework_write_owner(const struct framework *framework, struct buf *out)
{
	put_owner(out, FRAMEWORK_API_VERSION, "Framework", framework->name, framework->uid);
}

static void write_owner(const struct framework *framework, const struct owned_kind *kind, struct buf *out)
{
	if (kind->of_attempt)
		put_owner(out, "v1", "ConfigMap", framework->config_map.name, framework->status.attempt.config_map_uid);
	else
		framework_write_owner(framework, out);
}

void owned_write(const struct framework *framework, const struct call *call, struct buf *out)
{
	const struct owned_kind *kind = kinds[call->object - SLOT_SERVICE];

	if (kind->apart && call->kind != CALL_CREATE_OWNED) {
		kind->write_patch(framework, out);
		return;
	}
	if (call->kind == CALL_PATCH_OWNED) {
		buf_puts(out, "{\"metadata\":{");
		buf_json_text(out, "uid", call->uid);
		buf_puts(out, "},\"spec\":");
		kind->write_patch(framework, out);
		buf_putc(out, '}');
		return;
	}
	buf_printf(out,
		   "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\""
		   ",\"labels\":{\"" FC_FRAMEWORK_NAME "\":\"%s\"",
		   call->resource->api_version, kind->kind, call->name, framework->ns, framework->name);
	if (kind->write_labels != NULL)
		kind->write_labels(framework, out);
	buf_putc(out, '}');
	if (kind->write_metadata != NULL)
		kind->write_metadata(framework, out);
	buf_puts(out, ",\"ownerReferences\":[");
	write_owner(framework, kind, out);
	buf_puts(out, "]},\"spec\":");
	kind->write_spec(framework, out);
	buf_putc(out, '}');
}

void owned_body(struct framework *framework, const struct call *call, struct buf *out)
{
	const struct owned_kind *kind = kinds[call->object - SLOT_SERVICE];

	if (kind->number != NULL)
		framework->owned_work[call->object - SLOT_SERVICE].number = kind->number(framework);
	owned_write(framework, call, out);
}

/* ---- what the API server serves ---- */

/* trouble NULL: it is not served. */
static void report_unavailable(struct reconcile *reconcile, const struct owned_kind *kind, struct owned_work *work,
			       const char *trouble)
{
	if (work->reported_ms != 0 && work->reported_trouble == (trouble != NULL) &&
	    reconcile->time.boot_ms < work->reported_ms + REPORT_AGAIN_MS)
		return;
	work->reported_ms = reconcile->time.boot_ms;
	work->reported_trouble = trouble != NULL;
	kind->report_unavailable(reconcile, trouble);
}

/* The best that is served. NULL: discovery has not finished, or none is; the reconcile comes back. */
static const struct owned_resource *find_resource(struct reconcile *reconcile, const struct slot *slot)
{
	const struct owned_resource *resources[OWNED_RESOURCES_MAX];
	const struct owned_kind *kind = kind_of(slot);
	size_t count = kind->resources(reconcile->framework, resources);
	const char *trouble = NULL;
	bool unknown = false;

	for (size_t i = 0; i < count; i++) {
		const struct api_served *served = &reconcile->config->served[resources[i]->api];

		if (resources[i]->api == API_CORE)
			return resources[i];
		if (reconcile->time.boot_ms >= served->until_ms) {
			reconcile->plan->ask |= 1U << resources[i]->api; /* the answer queues the key */
			unknown = true;
			continue;
		}
		if (served->state == SERVED_YES && !unknown)
			return resources[i];
		unknown = unknown || served->state == SERVED_UNKNOWN;
		if (served->trouble[0] != '\0')
			trouble = served->trouble;
		plan_wake(reconcile->plan, served->until_ms);
	}
	if (!unknown || trouble != NULL)
		report_unavailable(reconcile, kind, work_of(reconcile->framework, slot), trouble);
	return NULL;
}

/* ---- whether it is there ---- */

static bool has_name(const struct slot *slot, const char *name)
{
	return slot->name != NULL && strcmp(slot->name, name) == 0;
}

static const char *owner_uid(const struct framework *framework, const struct slot *slot)
{
	return kind_of(slot)->of_attempt ? framework->status.attempt.config_map_uid : framework->uid;
}

static bool is_there(const struct framework *framework, const struct slot *slot, const char *name)
{
	return has_name(slot, name) && slot->known != SLOT_IN_DOUBT && slot_ours(slot, owner_uid(framework, slot)) &&
	       slot->meta->deletion_time == 0;
}

static enum owned_fit fit_of(const struct framework *framework, const struct slot *slot)
{
	const struct owned_kind *kind = kind_of(slot);

	if (kind->fit == NULL)
		return FIT;
	return kind->fit(framework, slot->owned,
			 framework->owned_work[slot->kind - SLOT_SERVICE].fitted == framework->generation);
}

/* A PATCH on its way states less than is wanted now. */
static bool falls_short(const struct framework *framework, const struct slot *slot)
{
	return slot->call == CALL_PATCH_OWNED &&
	       framework->owned_work[slot->kind - SLOT_SERVICE].number < kind_of(slot)->number(framework);
}

bool owned_ready(const struct framework *framework)
{
	char name[OWNED_NAME_SIZE] = "";

	for (int i = 0; i < OWNED_KINDS; i++) {
		const struct slot *slot = &framework->owned[i];

		if (!kinds[i]->apart && kinds[i]->name(framework, name) &&
		    (!is_there(framework, slot, name) || fit_of(framework, slot) == FIT_FIRST ||
		     falls_short(framework, slot)))
			return false;
	}
	return true;
}

bool owned_wanted(const struct framework *framework, const struct call *call)
{
	const struct slot *slot = &framework->owned[call->object - SLOT_SERVICE];
	char name[OWNED_NAME_SIZE] = "";

	if (kinds[call->object - SLOT_SERVICE]->apart)
		return kinds[call->object - SLOT_SERVICE]->wanted(framework, call);
	if (call->kind == CALL_PATCH_OWNED && (slot->owned == NULL || fit_of(framework, slot) == FIT))
		return false;
	return kinds[call->object - SLOT_SERVICE]->name(framework, name) && strcmp(name, call->name) == 0 &&
	       framework_has_config_map(framework) && !framework_completing(framework);
}

/* ---- making it ---- */

/* Whether Pods of the attempt have been created. */
static bool has_begun(const struct framework *framework)
{
	for (size_t r = 0; r < framework->status.attempt.role_count; r++)
		if (framework->roles[r].creation_pending < (int32_t)framework->status.attempt.roles[r].task_count)
			return true;
	return false;
}

/* The spec wants another name, or the attempt. The object with the former name stays until its owner is deleted. */
static void rename_slot(struct framework *framework, struct slot *slot, const char *name)
{
	enum slot_kind kind = slot->kind;

	slot_free_parts(slot);
	*slot = (struct slot){.kind = kind, .name = mem_strdup(name)};
	*work_of(framework, slot) = (struct owned_work){.fitted = -1};
	/* that of an attempt which a former owner of the key has begun is there */
	if (kind_of(slot)->fit != NULL && has_begun(framework))
		slot->known = SLOT_IN_DOUBT;
}

static const char *reason_of(const struct owned_kind *kind, enum call_verb verb)
{
	switch (verb) {
	case VERB_PATCH: return kind->failed_patch;
	case VERB_DELETE: return kind->failed_delete;
	case VERB_GET: return kind->failed_get != NULL ? kind->failed_get : kind->failed_create;
	default: return kind->failed_create;
	}
}

void owned_report_error(struct reconcile *reconcile, struct slot *slot)
{
	const struct owned_kind *kind = kind_of(slot);
	const struct create_error *error = slot->error;
	bool forbidden = error->http_status == HTTP_FORBIDDEN && !create_exceeds_quota(error->message);

	slot_create_failed(reconcile, slot, reason_of(kind, error->verb), forbidden ? kind->hint : "");
}

/* Another object has the name, or ours is on its way out. */
static void wait_for_name(struct reconcile *reconcile, struct slot *slot)
{
	if (slot_ours(slot, owner_uid(reconcile->framework, slot)))
		slot_send_get_rarely(reconcile, slot, NULL);
	else
		slot_report_conflict(reconcile, slot, reconcile->framework->status.transition_time);
}

/* It is there. A PATCH is sent when all is persisted that was known when it began to differ. */
static void keep(struct reconcile *reconcile, struct slot *slot)
{
	struct framework *framework = reconcile->framework;
	struct owned_work *work = work_of(framework, slot);

	if (slot->error != NULL && slot->error->verb == VERB_PATCH)
		owned_report_error(reconcile, slot);
	create_error_free(slot->error); /* there already, or after all */
	slot->error = NULL;
	slot->reported = REPORTED_NOTHING;
	if (fit_of(framework, slot) == FIT) {
		work->fitted = framework->generation;
		work->outgrown = false;
		return;
	}
	if (!work->outgrown) {
		work->outgrown = true;
		work->outgrown_at = framework->version;
	}
	if (!reconcile_may_act(reconcile, slot, work->outgrown_at))
		return;
	work->resource = find_resource(reconcile, slot);
	work->sent = framework->generation;
	work->number = INT64_MAX;
	if (work->resource != NULL)
		slot_send_patch(reconcile, slot, false);
}

/* An object that is to be kept may have gone since: nothing watches it. */
static void doubt(struct reconcile *reconcile, struct slot *slot, bool creates)
{
	const struct owned_work *work = work_of(reconcile->framework, slot);

	if (creates && kind_of(slot)->fit != NULL && slot->meta != NULL &&
	    reconcile->time.boot_ms >= work->seen_ms + DOUBT_MS)
		slot->known = SLOT_IN_DOUBT;
}

static void make(struct reconcile *reconcile, struct slot *slot, const char *name, bool creates)
{
	struct framework *framework = reconcile->framework;
	struct owned_work *work = work_of(framework, slot);

	if (slot->call != CALL_NONE)
		return;
	if (!has_name(slot, name))
		rename_slot(framework, slot, name);
	doubt(reconcile, slot, creates);
	if (is_there(framework, slot, name)) {
		keep(reconcile, slot);
		return;
	}
	work->resource = find_resource(reconcile, slot);
	if (work->resource == NULL)
		return;
	work->reported_ms = 0;
	work->sent = framework->generation;
	if (slot->meta != NULL && slot->known != SLOT_IN_DOUBT) {
		wait_for_name(reconcile, slot);
		return;
	}
	if (slot->error != NULL && (slot->error->unread || slot->known != SLOT_IN_DOUBT))
		owned_report_error(reconcile, slot);
	/* what it rests on, that there is this attempt, was stored before its ConfigMap was created */
	if (slot->known == SLOT_IN_DOUBT && (kind_of(slot)->fit != NULL || slot->meta != NULL))
		slot_send_get(reconcile, slot, slot->meta == NULL ? NULL : slot->meta->uid);
	else if (reconcile_may_act(reconcile, slot, 0))
		slot_send_create(reconcile, slot, 0); /* a GET, while it is in doubt */
}

bool owned_find_resource(struct reconcile *reconcile, struct slot *slot)
{
	struct owned_work *work = work_of(reconcile->framework, slot);

	work->resource = find_resource(reconcile, slot);
	if (work->resource != NULL)
		work->reported_ms = 0;
	return work->resource != NULL;
}

void owned_make(struct reconcile *reconcile, enum slot_kind kind)
{
	struct slot *slot = owned_slot(reconcile->framework, kind);
	char name[OWNED_NAME_SIZE] = "";

	if (kind_of(slot)->name(reconcile->framework, name))
		make(reconcile, slot, name, false);
}

static bool under_way(const struct framework *framework)
{
	return !framework_completing(framework) && framework_has_config_map(framework);
}

static bool creates_pods(const struct framework *framework)
{
	for (size_t r = 0; r < framework->status.attempt.role_count; r++)
		if (framework->roles[r].creation_pending > 0)
			return true;
	return false;
}

void owned_sync(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;
	char name[OWNED_NAME_SIZE] = "";

	for (int i = 0; i < OWNED_KINDS; i++) {
		bool creates;

		if (kinds[i]->apart || !kinds[i]->name(framework, name) || !under_way(framework))
			continue;
		creates = creates_pods(framework);
		if (creates || kinds[i]->fit != NULL)
			make(reconcile, &framework->owned[i], name, creates);
	}
	if (framework->owned_awaited && owned_ready(framework)) {
		framework->owned_awaited = false;
		framework->sweep = true;
	}
}
