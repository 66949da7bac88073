/* Objects that a Framework or its attempt owns beside the ConfigMap and the Pods, and that its Pods need: the Service
 * of spec.network. All kinds go one way: created before the first Pod, found again after a crash or by a new owner of
 * the key, waited for while a foreign object has the name, looked for at the beginning of each attempt. Their names
 * follow from the spec and their owner reference says whose they are, so that no status keeps their UIDs; the garbage
 * collector deletes them with their owner. See rules.h. */
#include <string.h>

#include "common/base/mem.h"
#include "reconciler/sync/classify.h"
#include "reconciler/sync/rules.h"

enum { HTTP_FORBIDDEN = 403 };

/* ---- the kinds ---- */

static const char *service_name(const struct framework *framework)
{
	return framework->spec.network.hostnames ? framework_spec_subdomain(&framework->spec, framework->name) : NULL;
}

/* Headless: the names of the Pods, and no address of its own. */
static void write_service(const struct framework *framework, struct buf *out)
{
	buf_printf(out,
		   "{\"clusterIP\":\"None\",\"publishNotReadyAddresses\":%s,\"selector\":{\"" FC_FRAMEWORK_NAME
		   "\":\"%s\"}}",
		   framework->spec.network.publish_not_ready ? "true" : "false", framework->name);
}

static const struct owned_kind {
	const char *kind;
	const char *api_version;
	const char *hint;                                       /* when a right is missing */
	const char *(*name)(const struct framework *framework); /* NULL: none is wanted */
	void (*write_spec)(const struct framework *framework, struct buf *out);
} kinds[OWNED_KINDS] = {
	{"Service", "v1",
	 ". The rights that spec.network needs are in manifests/rbac/network; Pods are created after it", service_name,
	 write_service},
};

static const struct owned_kind *kind_of(enum slot_kind kind)
{
	return &kinds[kind - SLOT_SERVICE];
}

struct slot *owned_slot(struct framework *framework, enum slot_kind kind)
{
	return &framework->owned[kind - SLOT_SERVICE];
}

void framework_write_owner(const struct framework *framework, struct buf *out)
{
	buf_printf(out,
		   "{\"apiVersion\":\"" FRAMEWORK_API_VERSION
		   "\",\"kind\":\"Framework\",\"name\":\"%s\",\"uid\":\"%s\",\"controller\":true,"
		   "\"blockOwnerDeletion\":true}",
		   framework->name, framework->uid);
}

void owned_write(const struct framework *framework, enum slot_kind kind, struct buf *out)
{
	buf_printf(out,
		   "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\""
		   ",\"labels\":{\"" FC_FRAMEWORK_NAME "\":\"%s\"},\"ownerReferences\":[",
		   kind_of(kind)->api_version, kind_of(kind)->kind, kind_of(kind)->name(framework), framework->ns,
		   framework->name);
	framework_write_owner(framework, out);
	buf_puts(out, "]},\"spec\":");
	kind_of(kind)->write_spec(framework, out);
	buf_putc(out, '}');
}

/* How somebody can put right why it could not be created. */
static const char *hint(const struct slot *slot)
{
	return slot->error->http_status == HTTP_FORBIDDEN && !create_exceeds_quota(slot->error->message)
		       ? kind_of(slot->kind)->hint
		       : "";
}

/* ---- whether it is there ---- */

static bool has_name(const struct slot *slot, const char *name)
{
	return slot->name != NULL && strcmp(slot->name, name) == 0;
}

static bool is_there(const struct framework *framework, const struct slot *slot, const char *name)
{
	return has_name(slot, name) && slot->known != SLOT_IN_DOUBT && slot_ours(slot, framework->uid) &&
	       slot->meta->deletion_time == 0;
}

bool owned_ready(const struct framework *framework)
{
	for (int i = 0; i < OWNED_KINDS; i++) {
		const char *name = kinds[i].name(framework);

		if (name != NULL && !is_there(framework, &framework->owned[i], name))
			return false;
	}
	return true;
}

bool owned_wanted(const struct framework *framework, enum slot_kind kind, const struct call *call)
{
	const char *name = kind_of(kind)->name(framework);

	return name != NULL && strcmp(name, call->name) == 0 && framework_has_config_map(framework) &&
	       !framework_completing(framework);
}

/* ---- making it ---- */

/* The spec wants another name. What had the former one stays until its owner goes. */
static void rename_slot(struct slot *slot, const char *name)
{
	enum slot_kind kind = slot->kind;

	slot_free_parts(slot);
	*slot = (struct slot){.kind = kind, .name = mem_strdup(name)};
}

static void report_error(struct reconcile *reconcile, struct slot *slot)
{
	if (slot->error != NULL && (slot->error->read || slot->known != SLOT_IN_DOUBT))
		slot_create_failed(reconcile, slot, hint(slot));
}

/* Another object has the name, or ours is on its way out. */
static void wait_for_name(struct reconcile *reconcile, struct slot *slot)
{
	if (slot_ours(slot, reconcile->framework->uid))
		slot_send_get_rarely(reconcile, slot, NULL);
	else
		slot_report_conflict(reconcile, slot, reconcile->framework->status.transition_time);
}

static void make(struct reconcile *reconcile, struct slot *slot, const char *name)
{
	struct framework *framework = reconcile->framework;

	if (slot->call != CALL_NONE)
		return;
	if (!has_name(slot, name))
		rename_slot(slot, name);
	if (is_there(framework, slot, name)) {
		create_error_free(slot->error); /* there already, or after all */
		slot->error = NULL;
		slot->reported = REPORTED_NOTHING;
		return;
	}
	if (slot->meta != NULL && slot->known != SLOT_IN_DOUBT) {
		wait_for_name(reconcile, slot);
		return;
	}
	report_error(reconcile, slot);
	/* what it rests on, that there is this attempt, was stored before its ConfigMap was created */
	if (reconcile_may_act(reconcile, slot, 0))
		slot_send_create(reconcile, slot, 0); /* a GET, while it is in doubt */
}

/* Whether the spec wants any. */
static bool wants_some(const struct framework *framework)
{
	for (int i = 0; i < OWNED_KINDS; i++)
		if (kinds[i].name(framework) != NULL)
			return true;
	return false;
}

static bool creates_pods(const struct framework *framework)
{
	if (framework_completing(framework) || !framework_has_config_map(framework))
		return false;
	for (size_t r = 0; r < framework->status.attempt.role_count; r++)
		if (framework->roles[r].creation_pending > 0)
			return true;
	return false;
}

static void make_all(struct reconcile *reconcile)
{
	for (int i = 0; i < OWNED_KINDS; i++) {
		const char *name = kinds[i].name(reconcile->framework);

		if (name != NULL)
			make(reconcile, &reconcile->framework->owned[i], name);
	}
}

void owned_sync(struct reconcile *reconcile)
{
	struct framework *framework = reconcile->framework;

	if (wants_some(framework) && creates_pods(framework))
		make_all(reconcile);
	if (framework->owned_awaited && owned_ready(framework)) {
		framework->owned_awaited = false;
		framework->sweep = true;
	}
}
