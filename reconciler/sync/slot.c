/* Named places for observed objects, and backoff; see state.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/mem.h"
#include "reconciler/sync/state.h"

/* Kubernetes' names are at most 253 bytes; ours are shorter: 63 + 63 + 5 + 2. */
enum { POD_NAME_SIZE = 256 };

void create_error_free(struct create_error *error)
{
	if (error == NULL)
		return;
	free(error->reason);
	free(error->message);
	free(error->status_json);
	free(error);
}

struct slot *slot_find(struct framework *framework, const char *name)
{
	struct slot *slot;

	HASH_FIND_STR(framework->slots, name, slot);
	if (slot == NULL) {
		slot = mem_calloc(1, sizeof(*slot));
		slot->name = mem_strdup(name);
		HASH_ADD_KEYPTR(hh, framework->slots, slot->name, strlen(slot->name), slot);
	}
	return slot;
}

struct slot *task_slot(struct framework *framework, size_t role, size_t index)
{
	char name[POD_NAME_SIZE];
	struct slot *slot;

	snprintf(name, sizeof(name), "%s-%s-%zu", framework->name, framework->status.attempt.roles[role].name, index);
	slot = slot_find(framework, name);
	slot->role_hint = role;
	return slot;
}

bool slot_is_owned(const struct slot *slot)
{
	return slot->kind >= SLOT_SERVICE;
}

const struct owned_resource *slot_resource(const struct framework *framework, const struct slot *slot)
{
	return slot_is_owned(slot) ? framework->owned_work[slot->kind - SLOT_SERVICE].resource : NULL;
}

const char *slot_kind_name(const struct slot *slot)
{
	static const char *const names[SLOT_KINDS] = {[SLOT_POD] = "Pod",
						      [SLOT_CONFIG_MAP] = "ConfigMap",
						      [SLOT_SERVICE] = "Service",
						      [SLOT_POD_GROUP] = "PodGroup",
						      [SLOT_WORKLOAD] = "Workload"};

	return names[slot->kind];
}

void slot_mark_dirty(struct framework *framework, struct slot *slot)
{
	if (slot->dirty)
		return;
	slot->dirty = true;
	slot->next_dirty = framework->dirty;
	framework->dirty = slot;
}

void slot_mark_waiting(struct framework *framework, struct slot *slot)
{
	if (slot->waiting)
		return;
	slot->waiting = true;
	slot->next_waiting = framework->waiting;
	framework->waiting = slot;
}

void framework_wake_waiting(struct framework *framework)
{
	struct slot *slot = framework->waiting;

	framework->waiting = NULL;
	while (slot != NULL) {
		struct slot *next = slot->next_waiting;

		slot->waiting = false;
		slot_mark_dirty(framework, slot);
		slot = next;
	}
}

static bool role_named(const struct framework *framework, size_t role, const char *name, size_t len)
{
	const char *found;

	if (role >= framework->status.attempt.role_count)
		return false;
	found = framework->status.attempt.roles[role].name;
	return strncmp(found, name, len) == 0 && found[len] == '\0';
}

bool slot_task(struct framework *framework, struct slot *slot, size_t *role, size_t *index)
{
	size_t prefix = strlen(framework->name);
	const char *role_name;
	const char *dash;
	char *end;
	unsigned long number;
	size_t former = slot->role_hint;

	slot->role_hint = SIZE_MAX; /* the name contains none */
	if (strncmp(slot->name, framework->name, prefix) != 0 || slot->name[prefix] != '-')
		return false;
	role_name = slot->name + prefix + 1;
	dash = strchr(role_name, '-');
	if (dash == NULL || dash[1] < '0' || dash[1] > '9' || (dash[1] == '0' && dash[2] != '\0'))
		return false;
	number = strtoul(dash + 1, &end, 10);
	if (*end != '\0')
		return false;
	slot->role_hint = former;
	if (!role_named(framework, slot->role_hint, role_name, (size_t)(dash - role_name))) {
		slot->role_hint = 0;
		while (slot->role_hint < framework->status.attempt.role_count &&
		       !role_named(framework, slot->role_hint, role_name, (size_t)(dash - role_name)))
			slot->role_hint++;
	}
	if (slot->role_hint >= framework->status.attempt.role_count ||
	    number >= framework->status.attempt.roles[slot->role_hint].task_count)
		return false;
	*role = slot->role_hint;
	*index = number;
	return true;
}

bool framework_labels(const struct framework *framework, const struct object_meta *meta)
{
	return strcmp(meta->framework_name, framework->name) == 0;
}

/* Whether the watcher sends objects of its kind. */
static bool slot_is_watched(const struct slot *slot)
{
	return !slot_is_owned(slot) || slot->kind == SLOT_WORKLOAD;
}

bool slot_lost(const struct framework *framework, const struct slot *slot)
{
	return slot->meta != NULL && (!slot_is_watched(slot) || !framework_labels(framework, slot->meta));
}

void slots_forget_lost(struct framework *framework)
{
	for (struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		if (slot_lost(framework, slot))
			slot_clear(slot);
}

void slot_news(struct slot *slot)
{
	if (slot->known == SLOT_CONFIRMED)
		slot->known = SLOT_SEEN;
}

void slot_clear(struct slot *slot)
{
	pod_free(slot->pod);
	config_map_free(slot->config_map);
	owned_object_free(slot->owned);
	workload_free(slot->workload);
	slot->pod = NULL;
	slot->config_map = NULL;
	slot->owned = NULL;
	slot->workload = NULL;
	slot->meta = NULL;
	slot->deletion = SLOT_KEPT;
	slot->straggler = false;
	slot->confirmed_by = 0;
	slot->vouched_by = 0;
	slot->ungated_sec = 0;
	free(slot->wait);
	slot->wait = NULL;
	if (slot->reported == REPORTED_PHASE)
		slot->reported = REPORTED_NOTHING;
}

void slot_free_parts(struct slot *slot)
{
	slot_clear(slot);
	free(slot->name);
	free(slot->gone_uid);
	free(slot->gone_version);
	free(slot->first_version);
	free(slot->absent_version);
	create_error_free(slot->error);
}

void slot_delete(struct framework *framework, struct slot *slot)
{
	HASH_DEL(framework->slots, slot);
	slot_free_parts(slot);
	free(slot);
}

void slot_gone(struct slot *slot, const char *uid, const char *version)
{
	bool known = slot->gone_uid != NULL && strcmp(slot->gone_uid, uid) == 0;
	bool present = slot->meta != NULL && strcmp(slot->meta->uid, uid) == 0;

	if (version != NULL || present)
		mem_replace(&slot->gone_version, version != NULL ? version : slot->meta->resource_version);
	else if (!known)
		mem_replace(&slot->gone_version, NULL);
	mem_replace(&slot->gone_uid, uid);
	if (present)
		slot_clear(slot);
}

void owned_attempt_begins(struct framework *framework)
{
	for (int i = 0; i < OWNED_KINDS; i++) {
		struct slot *slot = &framework->owned[i];

		if (slot_is_watched(slot))
			continue;
		if (slot->meta != NULL)
			slot->known = SLOT_IN_DOUBT;
		slot->outdated = slot->call != CALL_NONE;
		slot->poll_ms = 0;
		slot->polls = 0;
	}
}

/* ---- backoff ---- */

/* CONTRACT.md §12.15: exponential with jitter, 5 ms to 60 s. */
enum { BACKOFF_FIRST_MS = 5, BACKOFF_LAST_MS = 60 * 1000 };

void backoff_fail(struct request_backoff *backoff, struct random *random, int64_t now_ms, int64_t retry_after_ms)
{
	int64_t delay = backoff_doubled(BACKOFF_FIRST_MS, backoff->failures, BACKOFF_LAST_MS);

	delay = random_between(random, delay / 2, delay);
	if (delay < retry_after_ms)
		delay = random_between(random, retry_after_ms, retry_after_ms + retry_after_ms / 4);
	if (retry_after_ms > 0 && now_ms + retry_after_ms > backoff->asked_ms)
		backoff->asked_ms = now_ms + retry_after_ms;
	/* Calls that were on the way together fail together: one step, not one each. */
	if (now_ms >= backoff->until_ms)
		backoff->failures++;
	if (now_ms + delay > backoff->until_ms)
		backoff->until_ms = now_ms + delay;
}

struct request_backoff *slot_create_backoff(struct framework *framework, const struct slot *slot)
{
	if (slot_is_owned(slot))
		return &framework->owned_calls;
	return slot->kind == SLOT_CONFIG_MAP ? &framework->config_map_creates : &framework->creates;
}

void backoff_reset(struct request_backoff *backoff)
{
	*backoff = (struct request_backoff){.until_ms = backoff->asked_ms, .asked_ms = backoff->asked_ms};
}
