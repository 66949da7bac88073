/* Folds and unfolds Frameworks; see fold.h. */
#include "reconciler/sync/fold.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/pack.h"
#include "common/framework/object_pack.h"
#include "reconciler/sync/rules.h"

/* ---- what is at rest ---- */

static bool slot_rests(const struct slot *slot)
{
	return slot->kind == SLOT_POD && slot->call == CALL_NONE && slot->error == NULL && slot->wait == NULL &&
	       !slot->unseen && (slot->pod == NULL ? slot->meta == NULL : pod_packs(slot->pod));
}

static bool config_map_rests(const struct slot *slot)
{
	return slot->call == CALL_NONE && slot->error == NULL && slot->wait == NULL && !slot->unseen &&
	       (slot->meta == NULL || slot->config_map != NULL);
}

static bool owned_rest(const struct framework *framework)
{
	for (int i = 0; i < OWNED_KINDS; i++)
		if (framework->owned[i].unseen)
			return false;
	return true;
}

/* Whether there is something to fold, and not too much. */
static bool tasks_rest(const struct framework *framework)
{
	const struct framework_attempt_status *attempt = &framework->status.attempt;
	size_t slots = HASH_COUNT(framework->slots);
	size_t count = 0;

	for (size_t r = 0; r < attempt->role_count; r++) {
		count += attempt->roles[r].task_count;
		if (count > FOLD_TASKS_MAX)
			return false;
		for (size_t i = 0; i < attempt->roles[r].task_count; i++)
			if (attempt->roles[r].tasks[i].attempt.completion != NULL)
				return false;
	}
	return attempt->completion == NULL && slots <= FOLD_TASKS_MAX && slots + count > 0;
}

/* As a snapshot leaves them: all slots are dirty, in the order in which they came. */
static bool all_dirty(const struct framework *framework)
{
	const struct slot *last = NULL;

	for (const struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next) {
		if (!slot->dirty || slot->next_dirty != last) /* the last to have come is the first */
			return false;
		last = slot;
	}
	return framework->dirty == last;
}

static bool rests(const struct framework *framework)
{
	if (framework->version != framework->written || framework->waiting != NULL || framework->problem != NULL ||
	    framework->refused != NULL || framework->managed_by_others || framework->templates != NULL ||
	    !config_map_rests(&framework->config_map) || !owned_rest(framework) || !tasks_rest(framework) ||
	    (framework->dirty != NULL && !all_dirty(framework)))
		return false;
	for (const struct slot *slot = framework->slots; slot != NULL; slot = slot->hh.next)
		if (!slot_rests(slot))
			return false;
	return true;
}

/* ---- both ways ---- */

static void pack_task(struct pack *pack, struct task_status *task)
{
	struct task_attempt_status *attempt = &task->attempt;

	pack_own_text(pack, &task->instance_uid);
	pack_time(pack, &task->start_time);
	pack_time(pack, &task->run_time);
	pack_time(pack, &task->completion_time);
	pack_time(pack, &task->ready_time);
	pack_time(pack, &task->transition_time);
	PACK_AS_INT(pack, task->state);
	PACK_AS_INT(pack, task->deletion_pending);
	PACK_AS_INT(pack, task->retry.total);
	PACK_AS_INT(pack, task->retry.accountable);
	pack_int(pack, &task->retry.delay_sec);
	PACK_AS_INT(pack, task->retry.backoff_count);
	PACK_AS_INT(pack, attempt->id);
	pack_time(pack, &attempt->start_time);
	pack_time(pack, &attempt->run_time);
	pack_time(pack, &attempt->completion_time);
	pack_time(pack, &attempt->waiting_time);
	pack_own_text(pack, &attempt->instance_uid);
	pack_own_text(pack, &attempt->pod_uid);
	pack_own_text(pack, &attempt->pod_node_name);
	pack_own_text(pack, &attempt->pod_ip);
	pack_own_text(pack, &attempt->pod_host_ip);
}

static void pack_slot_texts(struct pack *pack, struct slot *slot)
{
	pack_own_text(pack, &slot->name);
	pack_own_text(pack, &slot->gone_uid);
	pack_own_text(pack, &slot->gone_version);
	pack_own_text(pack, &slot->absent_version);
	pack_own_text(pack, &slot->first_version);
}

static void pack_slot(struct pack *pack, struct slot *slot)
{
	bool has_pod = slot->pod != NULL;

	PACK_AS_INT(pack, has_pod);
	pack_slot_texts(pack, slot);
	PACK_AS_INT(pack, slot->known);
	PACK_AS_INT(pack, slot->deletion);
	PACK_AS_INT(pack, slot->straggler);
	PACK_AS_INT(pack, slot->create_sent);
	PACK_AS_INT(pack, slot->reported);
	PACK_AS_INT(pack, slot->polls);
	PACK_AS_INT(pack, slot->failed_at);
	pack_int(pack, &slot->poll_ms);
	PACK_AS_INT(pack, slot->confirmed_by);
	PACK_AS_INT(pack, slot->role_hint);
	if (!has_pod)
		return;
	if (slot->pod == NULL)
		slot->pod = mem_alloc(sizeof(*slot->pod));
	pack_pod(pack, slot->pod);
	slot->meta = &slot->pod->meta;
}

static void pack_config_map_slot(struct pack *pack, struct slot *slot)
{
	bool has_object = slot->config_map != NULL;

	PACK_AS_INT(pack, has_object);
	pack_slot_texts(pack, slot);
	if (!has_object)
		return;
	if (slot->config_map == NULL)
		slot->config_map = mem_alloc(sizeof(*slot->config_map));
	pack_config_map(pack, slot->config_map);
	slot->meta = &slot->config_map->meta;
}

static void pack_role(struct pack *pack, struct role_status *role)
{
	pack_own_text(pack, &role->name);
	pack_own_text(pack, &role->instance_uid);
	pack_int(pack, &role->pod_graceful_deletion_timeout_sec);
	PACK_AS_INT(pack, role->task_count);
	PACK_AS_INT(pack, role->task_cap);
	if (pack->reading && role->task_cap > 0)
		role->tasks = mem_calloc(role->task_cap, sizeof(*role->tasks));
	for (size_t i = 0; i < role->task_count; i++)
		pack_task(pack, &role->tasks[i]);
}

static void pack_role_work(struct pack *pack, struct role_work *work, size_t task_count)
{
	struct role_work rest = *work;

	rest.tasks = NULL;
	pack_memory(pack, &rest, sizeof(rest));
	if (pack->reading) {
		*work = rest;
		work->tasks = mem_calloc(work->cap, sizeof(*work->tasks));
	}
	for (size_t i = 0; i < task_count; i++)
		PACK_AS_INT(pack, work->tasks[i].decided);
}

static void pack_roles(struct pack *pack, struct framework *framework)
{
	struct framework_attempt_status *attempt = &framework->status.attempt;

	if (pack->reading && framework->has_status) {
		attempt->roles = mem_calloc(attempt->role_count, sizeof(*attempt->roles));
		framework->roles = mem_calloc(attempt->role_count, sizeof(*framework->roles));
	}
	for (size_t r = 0; r < attempt->role_count; r++) {
		pack_role(pack, &attempt->roles[r]);
		pack_role_work(pack, &framework->roles[r], attempt->roles[r].task_count);
	}
}

static void pack_texts(struct pack *pack, struct framework *framework)
{
	pack_own_text(pack, &framework->ns);
	pack_own_text(pack, &framework->name);
	pack_prefix(pack, framework->name);
	pack_own_text(pack, &framework->uid);
	pack_own_text(pack, &framework->gone_version);
	pack_own_text(pack, &framework->resource_version);
	pack_own_text(pack, &framework->metadata_text);
	pack_own_text(pack, &framework->spec_text);
	pack_own_text(pack, &framework->status.attempt.instance_uid);
	pack_own_text(pack, &framework->status.attempt.config_map_uid);
	pack_own_text(pack, &framework->config_map_end);
}

static void pack_slots(struct pack *pack, struct framework *framework, bool dirty)
{
	int64_t count = HASH_COUNT(framework->slots);
	struct slot *slot = framework->slots;

	PACK_AS_INT(pack, dirty);
	pack_int(pack, &count);
	for (; slot != NULL && !pack->reading; slot = slot->hh.next)
		pack_slot(pack, slot);
	for (; pack->reading && count > 0; count--) {
		slot = mem_calloc(1, sizeof(*slot));
		pack_slot(pack, slot);
		HASH_ADD_KEYPTR(hh, framework->slots, slot->name, strlen(slot->name), slot);
		if (dirty)
			slot_mark_dirty(framework, slot);
	}
}

/* ---- folding ---- */

/* Packs the struct without the members that are packed behind it or can be made again. The objects that it still points
 * to stay allocated. */
static void pack_rest(struct pack *pack, const struct framework *framework)
{
	struct framework rest = *framework;

	rest.ns = NULL;
	rest.name = NULL;
	rest.uid = NULL;
	rest.gone_version = NULL;
	rest.resource_version = NULL;
	rest.metadata_text = NULL;
	rest.spec_text = NULL;
	rest.spec = (struct framework_spec){0};
	rest.task_texts = NULL;
	rest.status.attempt.instance_uid = NULL;
	rest.status.attempt.config_map_uid = NULL;
	rest.status.attempt.roles = NULL;
	rest.roles = NULL;
	rest.config_map.name = NULL;
	rest.config_map.gone_uid = NULL;
	rest.config_map.gone_version = NULL;
	rest.config_map.absent_version = NULL;
	rest.config_map.first_version = NULL;
	rest.config_map.meta = NULL;
	rest.config_map.config_map = NULL;
	rest.config_map_end = NULL;
	rest.slots = NULL;
	rest.dirty = NULL;
	pack_memory(pack, &rest, sizeof(rest));
}

/* Frees it but for what the packed struct points to. */
static void free_packed(struct framework *framework)
{
	framework->status.admission = NULL;
	framework->kueue = (struct kueue_work){0};
	memset(framework->owned, 0, sizeof(framework->owned));
	framework_free(framework);
}

static void count(const struct framework *framework, struct folded *out)
{
	const struct framework_attempt_status *attempt = &framework->status.attempt;

	out->exists = framework->exists;
	out->has_status = framework->has_status;
	out->suspended = framework->status.conditions[CONDITION_SUSPENDED].value == CONDITION_TRUE;
	out->state = (unsigned char)framework->status.state;
	for (size_t r = 0; r < attempt->role_count; r++)
		for (size_t i = 0; i < attempt->roles[r].task_count; i++)
			out->tasks[attempt->roles[r].tasks[i].state]++;
}

struct folded *framework_fold(struct framework *framework)
{
	cleanup_free void *packed = NULL;
	struct folded *folded;
	struct pack pack;
	size_t len;

	if (!rests(framework))
		return NULL;
	pack_write(&pack);
	pack_rest(&pack, framework);
	pack_texts(&pack, framework);
	pack_config_map_slot(&pack, &framework->config_map);
	pack_roles(&pack, framework);
	pack_slots(&pack, framework, framework->dirty != NULL);
	packed = pack_finish(&pack, &len);
	folded = mem_calloc(1, sizeof(*folded) + len);
	count(framework, folded);
	memcpy(folded->packed, packed, len);
	free_packed(framework);
	return folded;
}

struct framework *framework_unfold(struct folded *folded)
{
	struct framework *framework = mem_alloc(sizeof(*framework));
	struct pack pack;

	pack_read(&pack, folded->packed);
	pack_memory(&pack, framework, sizeof(*framework));
	pack_texts(&pack, framework);
	pack_config_map_slot(&pack, &framework->config_map);
	pack_roles(&pack, framework);
	pack_slots(&pack, framework, false);
	pack_end(&pack);
	if (framework->spec_text != NULL)
		framework_read_spec_again(framework);
	free(folded);
	return framework;
}
