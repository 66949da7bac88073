/* Sending calls about one named object: what holds them back, and what makes sure of absence (CONTRACT.md §12.4 to
 * §12.10); see state.h. */
#include <string.h>

#include "common/base/mem.h"
#include "reconciler/sync/rules.h"

/* An object of an earlier attempt or Framework may exist for so long before an Event reports it. */
enum { FORMER_PATIENCE_SEC = 60 };

/* Between two GETs that wait for a change that no event will report. */
enum { POLL_MS = 1000, POLL_LAST_MS = 30000, POLL_DOUBLINGS = 5 };

bool framework_has_config_map(const struct framework *framework)
{
	const struct object_meta *meta = framework->config_map.meta;
	const char *uid = framework->status.attempt.config_map_uid;

	return uid != NULL && meta != NULL && strcmp(meta->uid, uid) == 0 && meta->deletion_time == 0;
}

bool slot_ours(const struct slot *slot, const char *controller_uid)
{
	return slot->meta != NULL && controller_uid != NULL && strcmp(slot->meta->controller_uid, controller_uid) == 0;
}

void reconcile_sweep_at(struct reconcile *reconcile, int64_t at_ms)
{
	if (at_ms < reconcile->framework->sweep_at_ms)
		reconcile->framework->sweep_at_ms = at_ms;
}

/* those of SLOT_SERVICE are those of all further kinds */
static const enum call_kind call_kinds[SLOT_SERVICE + 1][VERBS] = {
	[SLOT_POD] = {CALL_CREATE_POD, CALL_GET_POD, CALL_DELETE_POD},
	[SLOT_CONFIG_MAP] = {CALL_CREATE_CONFIG_MAP, CALL_GET_CONFIG_MAP, CALL_DELETE_CONFIG_MAP},
	/* the garbage collector deletes most of them with their owner */
	[SLOT_SERVICE] = {CALL_CREATE_OWNED, CALL_GET_OWNED, CALL_DELETE_OWNED},
};

static bool backed_off(struct reconcile *reconcile, const struct request_backoff *backoff)
{
	if (reconcile->time.boot_ms >= backoff->until_ms)
		return false;
	reconcile_sweep_at(reconcile, backoff->until_ms);
	return true;
}

static void send_call(struct reconcile *reconcile, struct slot *slot, enum call_kind kind, const char *uid, bool force)
{
	struct call *call;

	slot->call = kind;
	plan_call(reconcile->plan, kind, slot->name, uid, force);
	call = &reconcile->plan->calls[reconcile->plan->call_count - 1];
	call->object = slot->kind;
	call->resource = slot_resource(reconcile->framework, slot);
}

static void send(struct reconcile *reconcile, struct slot *slot, enum call_verb verb, const char *uid, bool force)
{
	send_call(reconcile, slot, call_kinds[slot_is_owned(slot) ? SLOT_SERVICE : slot->kind][verb], uid, force);
}

static void send_delete(struct reconcile *reconcile, struct slot *slot, const char *uid, const char *version,
			bool force)
{
	struct call *call;

	if (slot->known == SLOT_IN_DOUBT) { /* the object of the name is in doubt */
		slot_send_get(reconcile, slot, uid);
		return;
	}
	if (slot->call != CALL_NONE || backed_off(reconcile, &reconcile->framework->others) ||
	    !reconcile_may_delete(reconcile, slot, uid))
		return;
	send(reconcile, slot, VERB_DELETE, uid, force);
	call = &reconcile->plan->calls[reconcile->plan->call_count - 1];
	call->version = mem_strdup(version);
	call->decided = (uint64_t)reconcile->framework->generation;
}

void slot_send_get(struct reconcile *reconcile, struct slot *slot, const char *uid)
{
	struct framework *framework = reconcile->framework;

	if (slot->call != CALL_NONE ||
	    backed_off(reconcile, slot_is_owned(slot) ? &framework->owned_calls : &framework->others))
		return;
	if (reconcile->time.boot_ms < slot->poll_ms) {
		reconcile_sweep_at(reconcile, slot->poll_ms);
		return;
	}
	slot->poll_ms = reconcile->time.boot_ms + POLL_MS;
	mem_replace(&slot->absent_version, NULL); /* what it finds is newer than that news */
	if (slot->kind == SLOT_CONFIG_MAP)
		framework->config_map_asked++;
	send(reconcile, slot, VERB_GET, uid, false);
}

void slot_send_get_rarely(struct reconcile *reconcile, struct slot *slot, const char *uid)
{
	int64_t delay_ms = (int64_t)POLL_MS << slot->polls;

	if (slot->call != CALL_NONE)
		return;
	slot_send_get(reconcile, slot, uid);
	if (slot->call == CALL_NONE)
		return;
	if (delay_ms > POLL_LAST_MS)
		delay_ms = POLL_LAST_MS;
	slot->poll_ms = reconcile->time.boot_ms + random_between(reconcile->random, delay_ms / 2, delay_ms);
	if (slot->polls < POLL_DOUBLINGS)
		slot->polls++;
}

static void delete_present(struct reconcile *reconcile, struct slot *slot, const char *version)
{
	if (slot->meta->deletion_time == 0 && slot->deletion == SLOT_KEPT)
		send_delete(reconcile, slot, slot->meta->uid, version, false);
	else if (slot_lost(reconcile->framework, slot))
		slot_send_get(reconcile, slot, slot->meta->uid);
}

void slot_send_delete(struct reconcile *reconcile, struct slot *slot)
{
	delete_present(reconcile, slot, NULL);
}

void slot_send_delete_owned(struct reconcile *reconcile, struct slot *slot)
{
	delete_present(reconcile, slot, slot->meta->resource_version);
}

void slot_watch_deletion(struct reconcile *reconcile, struct slot *slot, int64_t timeout_sec)
{
	const struct object_meta *meta = slot->meta;
	int64_t due_sec = INT64_MAX;

	if (timeout_sec != SECONDS_NULL && meta->deletion_time != 0 &&
	    (__builtin_sub_overflow(meta->deletion_time, meta->deletion_grace_sec, &due_sec) ||
	     __builtin_add_overflow(due_sec, timeout_sec, &due_sec)))
		due_sec = INT64_MAX;
	if (slot->deletion != SLOT_FORCED && reconcile->now_sec >= due_sec) {
		send_delete(reconcile, slot, meta->uid, NULL, true);
		return;
	}
	if (slot->deletion == SLOT_FORCED)
		slot_send_get_rarely(reconcile, slot, meta->uid); /* a finalizer may hold it */
	else if (slot_lost(reconcile->framework, slot))
		slot_send_get(reconcile, slot, meta->uid);
	if (slot->deletion != SLOT_FORCED && due_sec - reconcile->now_sec < INT64_MAX / 2000)
		reconcile_sweep_at(reconcile, reconcile->time.boot_ms + (due_sec - reconcile->now_sec) * 1000);
}

int64_t slot_awaited_until(const struct sync_time *time, int64_t since_sec, int64_t timeout_ms)
{
	int64_t since_ms = time->boot_ms - (time->wall_ms - since_sec * 1000);

	if (!time->live)
		since_ms = time->boot_ms; /* it has yet to begin */
	else if (since_ms < time->live_since_ms)
		since_ms = time->live_since_ms;
	return since_ms + timeout_ms;
}

bool slot_confirm_gone(struct reconcile *reconcile, struct slot *slot, const char *uid)
{
	if (slot->gone_uid != NULL && strcmp(slot->gone_uid, uid) == 0)
		return true;
	/* Another object of this name proves nothing: after a restart it may be the one before, seen late. */
	slot_send_get(reconcile, slot, uid);
	return false;
}

bool slot_confirm_deleted(struct reconcile *reconcile, struct slot *slot, const char *uid)
{
	if (slot->meta != NULL && strcmp(slot->meta->uid, uid) == 0) {
		slot_send_delete(reconcile, slot);
		return false;
	}
	if (slot->meta == NULL && slot->deletion == SLOT_KEPT &&
	    (slot->gone_uid == NULL || strcmp(slot->gone_uid, uid) != 0)) {
		send_delete(reconcile, slot, uid, NULL, false);
		return false;
	}
	return slot_confirm_gone(reconcile, slot, uid);
}

/* Whether there is no Pod of the name for certain, because nobody can have created it: this process began the attempt,
 * and has sent no create. Where many Tasks are removed before their turn, that saves a GET for each. */
static bool never_created(const struct framework *framework, const struct slot *slot)
{
	return slot->kind == SLOT_POD && slot->meta == NULL && slot->known == SLOT_SEEN && !slot->create_sent &&
	       !framework->inherited;
}

bool slot_confirm_none(struct reconcile *reconcile, struct slot *slot, const char *controller_uid)
{
	if (slot_ours(slot, controller_uid)) {
		slot_send_delete_owned(reconcile, slot);
		return false;
	}
	/* a view that lags behind may show the object that had the name before ours */
	if (slot->call == CALL_NONE && (slot->known == SLOT_CONFIRMED || never_created(reconcile->framework, slot)))
		return true;
	slot_send_get(reconcile, slot, NULL);
	return false;
}

/* API servers carry out what they get together in any order. For that a quota has place for the first Tasks, the Pods
 * of an attempt are created in stages: Task 0 of the first TaskRole, its other Tasks, Task 0 of the next one, and so
 * on. A stage begins when all creates of the one before are answered, whether they failed or not. */
static bool stage_begun(struct framework *framework, uint64_t stage)
{
	if (framework->initial_creates == 0 || stage < framework->initial_stage)
		framework->initial_stage = stage;
	framework->initial_held = framework->initial_held || stage > framework->initial_stage;
	return stage <= framework->initial_stage;
}

/* Whether the create is for a Task that never had a Pod, and of which stage it is then. */
static bool is_initial(struct framework *framework, struct slot *slot, uint64_t *stage)
{
	size_t role;
	size_t index;

	if (slot->kind != SLOT_POD || !slot_task(framework, slot, &role, &index) ||
	    framework->status.attempt.roles[role].tasks[index].attempt.id > 0)
		return false;
	*stage = (uint64_t)role * 2 + (index > 0);
	return true;
}

void slot_send_create(struct reconcile *reconcile, struct slot *slot, uint64_t decided)
{
	struct framework *framework = reconcile->framework;
	struct call *call;
	uint64_t stage = 0;
	bool initial;

	if (slot->call != CALL_NONE)
		return;
	if (slot->known == SLOT_IN_DOUBT) {
		slot_send_get(reconcile, slot, NULL);
		return;
	}
	if (backed_off(reconcile, slot_create_backoff(framework, slot)))
		return;
	if (!slot_is_owned(slot) && framework->create_window > 0 &&
	    framework->creates_on_way >= framework->create_window)
		return; /* the answer to one on the way sweeps */
	initial = is_initial(framework, slot, &stage);
	if (initial && !stage_begun(framework, stage))
		return; /* the answer to the last one on the way sweeps */
	slot_news(slot);
	framework->creates_on_way += !slot_is_owned(slot);
	framework->initial_creates += initial;
	send(reconcile, slot, VERB_CREATE, NULL, false);
	call = &reconcile->plan->calls[reconcile->plan->call_count - 1];
	call->decided = decided;
	call->failed = framework->creates_failed;
	call->initial = initial;
}

void slot_send_patch(struct reconcile *reconcile, struct slot *slot, bool status)
{
	if (slot->call != CALL_NONE || backed_off(reconcile, &reconcile->framework->owned_calls))
		return;
	send_call(reconcile, slot, status ? CALL_PATCH_OWNED_STATUS : CALL_PATCH_OWNED, slot->meta->uid, false);
	if (slot->workload != NULL) /* others write it, too */
		reconcile->plan->calls[reconcile->plan->call_count - 1].version = mem_strdup(
			slot->meta->resource_version);
}

const struct create_error *slot_create_error(const struct slot *slot, uint64_t decided)
{
	if (slot->error == NULL || slot->error->decided != decided || slot->known == SLOT_IN_DOUBT ||
	    slot->call != CALL_NONE)
		return NULL;
	return slot->error;
}

void slot_create_failed(struct reconcile *reconcile, struct slot *slot, const char *reason, const char *hint)
{
	static const char *const verbs[VERBS] = {"create", "get", "delete", "patch"};
	const struct create_error *error = slot->error;

	plan_event(reconcile->plan, true, reason, "Failed to %s %s: %s%s", verbs[error->verb], slot->name,
		   error->message, hint);
	create_error_free(slot->error);
	slot->error = NULL;
}

/* Whether the object belongs to an earlier attempt, or to a Framework that had the name before: its deletion follows
 * that of its owner. */
static bool is_former(const struct reconcile *reconcile, const struct slot *slot)
{
	const struct object_meta *meta = slot->meta;

	if (slot->pod != NULL || slot->kind == SLOT_POD_GROUP)
		return strcmp(meta->controller_kind, "ConfigMap") == 0 &&
		       strcmp(meta->controller_name, reconcile->framework->config_map.name) == 0;
	return strcmp(meta->controller_kind, object_kind_name(KIND_FRAMEWORK)) == 0 &&
	       strcmp(meta->controller_name, reconcile->framework->name) == 0 &&
	       (slot->config_map == NULL || strcmp(meta->controller_uid, slot->config_map->framework_uid) == 0);
}

/* When it was to be over with the object, its Pods included, if it is a ConfigMap: they may take their time. */
static int64_t end_due(const struct framework *framework, const struct slot *slot)
{
	int64_t due_sec = slot->meta->deletion_time;

	for (const struct slot *pod = framework->slots; slot->config_map != NULL && pod != NULL; pod = pod->hh.next)
		if (slot_ours(pod, slot->meta->uid) && pod->meta->deletion_time > due_sec)
			due_sec = pod->meta->deletion_time;
	return due_sec;
}

/* Whether a former object should have gone long ago; until then somebody looks again when it is time. */
static bool overdue(struct reconcile *reconcile, const struct slot *slot, int64_t since_sec)
{
	int64_t due_sec = end_due(reconcile->framework, slot);
	int64_t from_sec = due_sec > since_sec ? due_sec : since_sec;
	int64_t wait_sec;

	if (__builtin_sub_overflow(from_sec, reconcile->now_sec - FORMER_PATIENCE_SEC, &wait_sec) ||
	    wait_sec >= INT64_MAX / 2000)
		return false;
	if (wait_sec > 0)
		reconcile_sweep_at(reconcile, reconcile->time.boot_ms + wait_sec * 1000);
	return wait_sec <= 0;
}

static void report_conflict(struct reconcile *reconcile, const struct slot *slot)
{
	const char *kind = slot_kind_name(slot);
	const struct object_meta *meta = slot->meta;

	if (is_former(reconcile, slot))
		plan_event(reconcile->plan, true, "NamingConflict",
			   "%s %s with uid %s, of an earlier attempt or Framework of this name, still exists %d s "
			   "after it should have been deleted: the controller waits for its deletion. Check that the "
			   "garbage collector runs, and whether a finalizer or an unresponsive node keeps the %s",
			   kind, slot->name, meta->uid, FORMER_PATIENCE_SEC, kind);
	else
		plan_event(reconcile->plan, true, "NamingConflict",
			   "%s %s with uid %s is controlled by %s%s%s and not by this Framework: the controller does "
			   "not change it, and waits until somebody deletes it",
			   kind, slot->name, meta->uid,
			   meta->controller_uid[0] == '\0' ? "nobody" : meta->controller_kind,
			   meta->controller_uid[0] == '\0' ? "" : " ", meta->controller_name);
}

void slot_report_conflict(struct reconcile *reconcile, struct slot *slot, int64_t since_sec)
{
	if (slot->reported != REPORTED_CONFLICT &&
	    (!is_former(reconcile, slot) || overdue(reconcile, slot, since_sec))) {
		slot->reported = REPORTED_CONFLICT;
		slot->polls = 0;
		report_conflict(reconcile, slot);
	}
	/* that the name is taken says why a create failed */
	create_error_free(slot->error);
	slot->error = NULL;
	if (slot_lost(reconcile->framework, slot))
		slot_send_get_rarely(reconcile, slot, NULL);
}
