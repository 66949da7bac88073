/* The outcomes of calls (CONTRACT.md §8, §12); see sync.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/codes.h"
#include "reconciler/sync/classify.h"
#include "reconciler/sync/podtemplate.h"
#include "reconciler/sync/rules.h"
#include "reconciler/sync/served.h"
#include "reconciler/sync/sync.h"

enum { HTTP_FORBIDDEN = 403, HTTP_CONFLICT = 409, HTTP_TOO_MANY_REQUESTS = 429 };
/* After a failed create, this many succeed one after the other before there is no limit again. */
enum { CREATE_WINDOW_LAST = 16 };
enum { LASTING_FAILURES = 14 }; /* in a row, which take a minute or so (request_backoff.h) */

static bool is_create(enum call_kind kind)
{
	return call_verb(kind) == VERB_CREATE;
}

static bool is_get(enum call_kind kind)
{
	return call_verb(kind) == VERB_GET;
}

static bool is_patch(enum call_kind kind)
{
	return call_verb(kind) == VERB_PATCH;
}

static struct slot *slot_of(struct framework *framework, const struct call *call)
{
	switch (call->kind) {
	case CALL_CREATE_CONFIG_MAP:
	case CALL_GET_CONFIG_MAP:
	case CALL_DELETE_CONFIG_MAP: return &framework->config_map;
	case CALL_CREATE_OWNED:
	case CALL_GET_OWNED:
	case CALL_PATCH_OWNED:
	case CALL_PATCH_OWNED_STATUS:
	case CALL_DELETE_OWNED: return owned_slot(framework, call->object);
	default: return slot_find(framework, call->name);
	}
}

/* The object that an answer shows, in one of them; neither when its body is none (a Status, say). */
struct shown {
	struct pod *pod;
	struct config_map *config_map;
	struct owned_object *owned;
	struct workload *workload;
	const struct object_meta *meta; /* of the one that is set */
};

static struct shown read_shown(const struct slot *slot, const struct call *call, const struct call_answer *answer)
{
	struct shown shown = {0};

	if (slot->kind == SLOT_WORKLOAD) {
		shown.workload = workload_read(answer->body, strlen(answer->body), NULL);
		shown.meta = shown.workload == NULL ? NULL : &shown.workload->meta;
	} else if (slot_is_owned(slot)) {
		shown.owned = owned_object_read(answer->body, strlen(answer->body), call->resource->whole, NULL);
		shown.meta = shown.owned == NULL ? NULL : &shown.owned->meta;
	} else if (slot->kind == SLOT_CONFIG_MAP) {
		shown.config_map = config_map_read(answer->body, strlen(answer->body), NULL);
		shown.meta = shown.config_map == NULL ? NULL : &shown.config_map->meta;
	} else {
		shown.pod = pod_read(answer->body, strlen(answer->body), NULL);
		shown.meta = shown.pod == NULL ? NULL : &shown.pod->meta;
	}
	return shown;
}

/* Takes it over. */
static void observe(struct framework *framework, struct slot *slot, struct shown *shown, bool insert)
{
	bool unwatched = shown->meta != NULL && (shown->owned != NULL || !framework_labels(framework, shown->meta));

	/* Once the Framework is gone, nobody waits for an object without our label, and no event will report its
	 * deletion. */
	if ((!insert && slot->meta == NULL) || (unwatched && !framework->exists)) {
		config_map_free(shown->config_map);
		pod_free(shown->pod);
		owned_object_free(shown->owned);
		workload_free(shown->workload);
	} else if (shown->workload != NULL) {
		framework_observe_workload(framework, shown->workload);
	} else if (shown->owned != NULL) {
		slot_observe_owned(slot, shown->owned);
	} else if (shown->config_map != NULL) {
		framework_observe_config_map(framework, shown->config_map);
	} else if (shown->pod != NULL) {
		framework_observe_pod(framework, shown->pod);
	}
}

/* Foreground deletion of the ConfigMap may have passed over an object whose creation ended only now. */
static void mark_straggler(const struct framework *framework, struct slot *slot)
{
	const struct object_meta *config_map = framework->config_map.meta;

	slot->straggler = slot->meta != NULL && (framework->status.attempt.completion != NULL || config_map == NULL ||
						 config_map->deletion_time != 0);
}

/* ---- creates ---- */

static void create_succeeded(struct framework *framework, struct slot *slot, const struct call *call,
			     const struct call_answer *answer)
{
	struct shown shown = read_shown(slot, call, answer);

	if (shown.meta == NULL)
		slot->known = SLOT_IN_DOUBT; /* done, but by which uid is unreadable */
	observe(framework, slot, &shown, true);
	if (slot_is_owned(slot)) {
		backoff_reset(&framework->owned_calls);
		return;
	}
	mark_straggler(framework, slot);
	slot->failed_at = 0;
	backoff_reset(slot_create_backoff(framework, slot));
	if (framework->create_window == 0)
		return;
	if (slot->kind == SLOT_POD) /* a ConfigMap's creation says nothing about Pods */
		framework->create_window = framework->create_window >= CREATE_WINDOW_LAST
						   ? 0
						   : framework->create_window * 2;
	framework->sweep = true;
}

/* The Status as the original controller shows it: its members as Go's Status has them, without kind and apiVersion, on
 * one line. (To a client that asks for PartialObjectMetadata, servers print it on many.) */
static char *status_shown(const char *body)
{
	static const char *const members[] = {"status", "message", "reason", "details", "code"};
	cleanup_json json_t *status = json_parse(body, strlen(body), NULL);
	cleanup_json json_t *shown = json_object();
	json_t *metadata = json_object_get(status, "metadata");

	if (status == NULL)
		return mem_strdup(body);
	json_object_set_new(shown, "metadata", json_is_object(metadata) ? json_incref(metadata) : json_object());
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		json_t *member = json_object_get(status, members[i]);

		if (member != NULL && !json_is_null(member))
			json_object_set(shown, members[i], member);
	}
	return json_text(shown);
}

static void keep_error(struct slot *slot, const struct call *call, const struct call_answer *answer)
{
	create_error_free(slot->error);
	slot->error = mem_calloc(1, sizeof(*slot->error));
	slot->error->decided = call->decided;
	slot->error->verb = call_verb(call->kind);
	slot->error->unread = is_get(call->kind);
	slot->error->http_status = answer->http_status;
	slot->error->is_status = answer->is_status;
	slot->error->reason = mem_strdup(answer->reason);
	slot->error->message = mem_strdup(answer->message);
	slot->error->status_json = answer->is_status ? status_shown(answer->body) : NULL;
}

/* Whether there is an object of the name is to be looked at; whose it is says whether it was a failure. */
static void owned_create_failed(struct framework *framework, struct slot *slot, const struct call *call,
				const struct call_answer *answer, const struct sync_time *time, struct random *random)
{
	keep_error(slot, call, answer);
	slot->known = SLOT_IN_DOUBT;
	slot->poll_ms = 0;
	/* 409 as well: a quota that was changed at the same time says so */
	backoff_fail(&framework->owned_calls, random, time->boot_ms, answer->retry_after_ms);
}

static void create_failed(struct framework *framework, struct slot *slot, const struct call *call,
			  const struct call_answer *answer, const struct sync_time *time, struct random *random)
{
	bool over_quota = create_exceeds_quota(answer->message);

	keep_error(slot, call, answer);
	slot->failed_at = call->failed + 1; /* equal for those that went together, whose answer comes first is chance */
	framework->creates_failed++;
	/* Whatever the answer says, the object may be there: an earlier try may have come late, and a duplicate create
	 * under a full quota answers 403. Only 429 comes from in front of it all. */
	slot->known = answer->http_status != HTTP_TOO_MANY_REQUESTS ? SLOT_IN_DOUBT : SLOT_SEEN;
	slot->poll_ms = 0; /* this wait is the creates' backoff, not a poll */
	/* The free quota may suffice for another Pod although it is too small for the first: the next in turn gets it
	 * at once. */
	framework->lowest_first = over_quota && !call->first;
	if (framework->lowest_first || !over_quota || answer->retry_after_ms > 0)
		backoff_fail(slot_create_backoff(framework, slot), random, time->boot_ms, answer->retry_after_ms);
	framework->create_window = 1;
	framework->sweep = true;
}

/* ---- gets and deletes ---- */

/* A missing right: an Event has to report it, because nothing goes on before somebody grants it. If the GET after a
 * refused create or PATCH is refused as well, the first refusal is reported first. */
static void keep_refusal(struct slot *slot, const struct call *call, const struct call_answer *answer)
{
	if (!slot_is_owned(slot) || answer->http_status != HTTP_FORBIDDEN)
		return;
	if (is_get(call->kind) && slot->error != NULL && slot->error->http_status == HTTP_FORBIDDEN)
		slot->error->unread = true;
	else
		keep_error(slot, call, answer);
}

/* A missing right, or an admission webhook that objects: nothing goes on before somebody repairs that. A webhook that
 * cannot be reached is a 5xx, which most often passes by itself, so these count once many have come in a row. */
static void note_refusal(struct framework *framework, const char *reason, const char *verb, const char *name,
			 int http_status, const char *message, const struct sync_time *time, int failures)
{
	bool lasting = http_status >= 500 && failures >= LASTING_FAILURES;
	bool refused = http_status / 100 == 4 && http_status != HTTP_CONFLICT && http_status != HTTP_TOO_MANY_REQUESTS;

	if (!(lasting || refused) || time->boot_ms < framework->refused_again_ms)
		return;
	framework->refused_again_ms = time->boot_ms + REPORT_AGAIN_MS;
	framework->refused_reason = reason;
	free(framework->refused);
	framework->refused = mem_printf("Failed to %s %s: %s", verb, name, message);
}

void framework_write_refused(struct framework *framework, int http_status, const char *message,
			     const struct sync_time *time, int failures)
{
	note_refusal(framework, "FailedUpdateStatus", "update", "the status", http_status, message, time, failures);
}

/* Of a Pod or ConfigMap; keep_refusal() has those of other objects. */
static void note_slot_refusal(struct framework *framework, const struct slot *slot, enum call_verb verb,
			      const struct call_answer *answer, const struct sync_time *time)
{
	bool get = verb == VERB_GET;
	const char *reason = slot->kind == SLOT_POD ? (get ? "FailedGetPod" : "FailedDeletePod")
						    : (get ? "FailedGetConfigMap" : "FailedDeleteConfigMap");

	if (slot->kind == SLOT_POD || slot->kind == SLOT_CONFIG_MAP)
		note_refusal(framework, reason, get ? "get" : "delete", slot->name, answer->http_status,
			     answer->message, time, framework->others.failures);
}

static struct request_backoff *get_backoff(struct framework *framework, const struct slot *slot)
{
	return slot_is_owned(slot) ? &framework->owned_calls : &framework->others;
}

static void get_failed(struct framework *framework, struct slot *slot, const struct call *call,
		       const struct call_answer *answer, const struct sync_time *time, struct random *random)
{
	keep_refusal(slot, call, answer);
	note_slot_refusal(framework, slot, VERB_GET, answer, time);
	backoff_fail(get_backoff(framework, slot), random, time->boot_ms, answer->retry_after_ms);
}

static void got(struct framework *framework, struct slot *slot, const struct call *call,
		const struct call_answer *answer, const struct sync_time *time, struct random *random)
{
	struct shown shown = read_shown(slot, call, answer);
	bool doubted = slot->known == SLOT_IN_DOUBT;

	if (shown.meta == NULL) { /* unreadable: it says nothing */
		get_failed(framework, slot, call, answer, time, random);
		return;
	}
	/* what made a creation or a PATCH fail has its time before the next one */
	if (!slot_is_owned(slot) || slot->error == NULL)
		backoff_reset(get_backoff(framework, slot));
	if (call->uid != NULL && strcmp(call->uid, shown.meta->uid) != 0)
		slot_gone(slot, call->uid, NULL);
	observe(framework, slot, &shown, true);
	slot->known = SLOT_CONFIRMED;
	if (slot->kind == SLOT_CONFIG_MAP && framework->config_map_present < framework->config_map_asked) {
		framework->config_map_present = framework->config_map_asked;
		framework->sweep = true; /* Tasks wait for it */
	}
	if (doubted && !slot_is_owned(slot))
		mark_straggler(framework, slot);
}

static void got_nothing(struct framework *framework, struct slot *slot, const struct call *call)
{
	/* Before it is created again, what made its creation fail has its time. */
	if (!slot_is_owned(slot) || slot->error == NULL)
		backoff_reset(get_backoff(framework, slot));
	if (call->uid != NULL)
		slot_gone(slot, call->uid, NULL);
	else if (slot_lost(framework, slot))
		slot_clear(slot);
	slot->known = SLOT_CONFIRMED;
}

/* The object went with its last finalizer. An event may have reported that before, at the version of the answer. */
static bool shows_the_end(const struct slot *slot, const struct call *call, const struct call_answer *answer)
{
	struct shown shown = read_shown(slot, call, answer);
	bool ended = shown.workload != NULL && shown.meta->deletion_time != 0 &&
		     json_array_size(workload_finalizers(shown.workload)) == 0;

	owned_object_free(shown.owned);
	workload_free(shown.workload);
	return ended;
}

/* It was accepted, and what it was to change is as before: an admission webhook has put it back, or the server does not
 * know the member. Such a PATCH has failed, although nobody says so. */
static bool took_no_effect(const struct framework *framework, const struct slot *slot, const struct call *call,
			   const struct call_answer *answer)
{
	struct shown shown = read_shown(slot, call, answer);
	bool as_before = slot->owned != NULL && shown.owned != NULL && strcmp(slot->meta->uid, shown.meta->uid) == 0 &&
			 json_equal(slot->owned->spec, shown.owned->spec);

	owned_object_free(shown.owned);
	workload_free(shown.workload);
	return as_before && owned_wanted(framework, call);
}

static void patch_took_no_effect(struct framework *framework, struct slot *slot, const struct call *call,
				 const struct call_answer *answer, const struct sync_time *time, struct random *random)
{
	cleanup_free char *spec = json_text(slot->owned->spec);
	cleanup_free char *message = NULL;
	cleanup_buf struct buf wanted = {0};
	struct call_answer failed = *answer;

	owned_write(framework, call, &wanted);
	message = mem_printf("the API server accepted the patch %.256s, and spec is as before, %.256s: expected it to "
			     "change. An admission webhook may put it back",
			     wanted.data, spec);
	failed.message = message;
	owned_create_failed(framework, slot, call, &failed, time, random);
}

static void answer_patch(struct framework *framework, struct slot *slot, const struct call *call,
			 const struct call_answer *answer, const struct sync_time *time, struct random *random)
{
	if (answer->http_status / 100 == 2 && shows_the_end(slot, call, answer)) {
		backoff_reset(&framework->owned_calls);
		slot_gone(slot, call->uid, NULL);
	} else if (answer->http_status / 100 == 2 && took_no_effect(framework, slot, call, answer))
		patch_took_no_effect(framework, slot, call, answer, time, random);
	else if (answer->http_status / 100 == 2)
		create_succeeded(framework, slot, call, answer);
	else if (answer->absent)
		slot_gone(slot, call->uid, NULL);
	else
		owned_create_failed(framework, slot, call, answer, time, random);
}

static void delete_accepted(struct framework *framework, struct slot *slot, const struct call *call,
			    const struct call_answer *answer)
{
	struct shown shown = read_shown(slot, call, answer);

	backoff_reset(&framework->others);
	if (slot->meta == NULL || strcmp(slot->meta->uid, call->uid) == 0) {
		if (call->force) {
			slot->deletion = SLOT_FORCED;
			slot->polls = 0;
		} else if (slot->deletion == SLOT_KEPT) {
			slot->deletion = SLOT_DELETED;
		}
		slot->poll_ms = 0;
	}
	observe(framework, slot, &shown, false);
}

static void answer_delete(struct framework *framework, struct slot *slot, const struct call *call,
			  const struct call_answer *answer, const struct sync_time *time, struct random *random)
{
	if (answer->http_status / 100 == 2) {
		delete_accepted(framework, slot, call, answer);
	} else if (answer->absent) {
		slot_gone(slot, call->uid, NULL);
	} else {
		/* 409: the precondition failed, so that another uid has the name, or something else is in conflict: a
		 * GET shows which. */
		if (answer->http_status == HTTP_CONFLICT)
			slot->known = SLOT_IN_DOUBT;
		keep_refusal(slot, call, answer);
		note_slot_refusal(framework, slot, VERB_DELETE, answer, time);
		backoff_fail(&framework->others, random, time->boot_ms, answer->retry_after_ms);
	}
}

static void answer_delete_framework(struct framework *framework, const struct call *call,
				    const struct call_answer *answer, const struct sync_time *time,
				    struct random *random)
{
	if (framework->uid == NULL || strcmp(framework->uid, call->uid) != 0)
		return;
	/* Accepted, or gone already: an event reports it. (409: another uid has the name, or something else is in
	 * conflict) */
	if (answer->http_status / 100 == 2 || answer->absent)
		return;
	framework->retention_sent = false;
	note_refusal(framework, "FailedDeleteFramework", "delete", framework->name, answer->http_status,
		     answer->message, time, framework->others.failures);
	backoff_fail(&framework->others, random, time->boot_ms, answer->retry_after_ms);
}

void framework_answer(struct framework *framework, const struct call *call, const struct call_answer *answer,
		      const struct sync_time *time, struct random *random)
{
	struct slot *slot;

	if (call->kind == CALL_DELETE_FRAMEWORK) {
		answer_delete_framework(framework, call, answer, time, random);
		return;
	}
	if (call->kind == CALL_GET_KUEUE) {
		kueue_answer(framework, call, answer, time, random);
		return;
	}
	slot = slot_of(framework, call);
	slot->call = CALL_NONE;
	if (is_create(call->kind) && !slot_is_owned(slot))
		framework->creates_on_way--;
	if (call->initial && --framework->initial_creates == 0 && framework->initial_held) {
		framework->initial_held = false;
		framework->sweep = true;
	}
	if (!answer->sent) {
		if (is_create(call->kind) && framework->create_window > 0)
			framework->sweep = true;
	} else if (is_create(call->kind)) {
		slot->create_sent = true;
		if (answer->http_status / 100 == 2)
			create_succeeded(framework, slot, call, answer);
		else
			(slot_is_owned(slot) ? owned_create_failed : create_failed)(framework, slot, call, answer, time,
										    random);
	} else if (is_patch(call->kind)) {
		answer_patch(framework, slot, call, answer, time, random);
	} else if (is_get(call->kind)) {
		if (answer->http_status / 100 == 2)
			got(framework, slot, call, answer, time, random);
		else if (answer->absent)
			got_nothing(framework, slot, call);
		else
			get_failed(framework, slot, call, answer, time, random);
	} else {
		answer_delete(framework, slot, call, answer, time, random);
	}
	if (framework->unsettled)
		framework->sweep = true;
	if (slot_is_owned(slot) && answer->http_status / 100 == 2)
		owned_answered(framework, call, time->boot_ms);
	if (slot->outdated && slot->meta != NULL)
		slot->known = SLOT_IN_DOUBT;
	slot->outdated = false;
	if (slot->kind == SLOT_POD)
		slot_mark_dirty(framework, slot);
}

bool framework_fails(const struct framework *framework)
{
	return framework->creates.failures > 0 || framework->config_map_creates.failures > 0 ||
	       framework->others.failures > 0 || framework->owned_calls.failures > 0;
}

/* ---- bodies ---- */

static void write_config_map(const struct framework *framework, struct buf *out)
{
	buf_printf(out,
		   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"",
		   framework->config_map.name, framework->ns);
	buf_printf(out, ",\"labels\":{\"" FC_FRAMEWORK_NAME "\":\"%s\"}", framework->name);
	buf_printf(out,
		   ",\"annotations\":{\"" FC_FRAMEWORK_NAMESPACE "\":\"%s\",\"" FC_FRAMEWORK_NAME
		   "\":\"%s\",\"" FC_CONFIGMAP_NAME "\":\"%s\"",
		   framework->ns, framework->name, framework->config_map.name);
	buf_json_text(out, FC_FRAMEWORK_UID, framework->uid);
	buf_printf(out, ",\"" FC_FRAMEWORK_ATTEMPT_ID "\":\"%d\"}", (int)framework->status.attempt.id);
	buf_puts(out, ",\"finalizers\":[\"foregroundDeletion\"]");
	buf_puts(out, ",\"ownerReferences\":[");
	framework_write_owner(framework, out);
	buf_puts(out, "]}}");
}

/* Creates, like all calls, wait for their conditions: a sound spec, the fence, the write of their decision. All of
 * these may have changed while the create was queued, the attempt too: a new decision makes another create. */
static bool may_create(const struct framework *framework, uint64_t decided)
{
	return framework->exists && framework->has_status && framework->problem == NULL &&
	       !framework_fenced(framework) && framework->written >= framework->hold && framework->written >= decided;
}

static bool config_map_wanted(const struct framework *framework, const struct call *call)
{
	return framework->decided == call->decided && may_create(framework, framework->decided) &&
	       framework->status.state == STATE_CREATION_PENDING && framework->deletion_time == 0 &&
	       framework->spec.execution_type == EXECUTION_START && !suspend_wanted(framework);
}

static bool pod_wanted(struct framework *framework, const struct call *call, size_t *role, size_t *index)
{
	const struct task_status *task;

	if (!framework_has_config_map(framework) || framework_completing(framework) || suspend_wanted(framework) ||
	    !owned_ready(framework) || !slot_task(framework, slot_find(framework, call->name), role, index))
		return false;
	task = &framework->status.attempt.roles[*role].tasks[*index];
	return framework->roles[*role].tasks[*index].decided == call->decided &&
	       !depends_hold(framework, *role, *index) && may_create(framework, call->decided) &&
	       framework_spec_find_role(&framework->spec, framework->status.attempt.roles[*role].name) >= 0 &&
	       task->state == STATE_CREATION_PENDING && !task->deletion_pending;
}

/* Others have failed since it was planned: thousands may wait, which the backoff and its window are for. */
static bool held_back(const struct framework *framework, const struct call *call)
{
	return framework->create_window > 0 && call->failed != framework->creates_failed;
}

/* Whether the call releases the Workload of a Framework of which nothing else is acted on. */
static bool may_release(const struct framework *framework, const struct call *call)
{
	return call->object == SLOT_WORKLOAD && call->kind == CALL_PATCH_OWNED && kueue_only_releases(framework);
}

bool framework_call_wanted(struct framework *framework, const struct call *call)
{
	size_t role;
	size_t index;

	switch (call->kind) {
	case CALL_CREATE_CONFIG_MAP: return config_map_wanted(framework, call);
	case CALL_CREATE_OWNED:
	case CALL_PATCH_OWNED:
	case CALL_PATCH_OWNED_STATUS:
		return owned_wanted(framework, call) &&
		       (may_create(framework, call->decided) || may_release(framework, call));
	case CALL_CREATE_POD: return !held_back(framework, call) && pod_wanted(framework, call, &role, &index);
	case CALL_DELETE_FRAMEWORK:
		return framework->uid != NULL && strcmp(framework->uid, call->uid) == 0 && framework->problem == NULL &&
		       !framework->managed_by_others && call->decided == (uint64_t)framework->generation;
	/* podGracefulDeletionTimeoutSec may be longer by now */
	case CALL_DELETE_POD: return !call->force || call->decided == (uint64_t)framework->generation;
	default: return true; /* deletes are for a uid and gets do no harm */
	}
}

void framework_call_body(struct framework *framework, const struct call *call, struct buf *out)
{
	size_t role;
	size_t index;

	if (call->kind == CALL_CREATE_CONFIG_MAP)
		write_config_map(framework, out);
	else if (call->kind == CALL_CREATE_OWNED || is_patch(call->kind))
		owned_body(framework, call, out);
	else if (pod_wanted(framework, call, &role, &index))
		pod_template_render(framework, role, index, out);
}
