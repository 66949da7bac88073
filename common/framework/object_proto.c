/* Observed Pods from protobuf; see object.h and pod.proto. protobuf-c makes a tree of the message in one piece of
 * memory. The size of the message bounds that memory, also for hostile messages. */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/framework/object_view.h"
#include "common/framework/pod.pb-c.h"

/* What the tree of a message takes at most, per byte of it and besides. A Pod takes about twice its size; a field of
 * two bytes can ask for a container status of a hundred. */
enum { TREE_PER_BYTE = 64, TREE_BESIDES = 64 * 1024, PIECE = 16 * 1024, ALIGNMENT = 16 };

struct piece {
	struct piece *next;
	size_t used;
	size_t size;
	char bytes[] __attribute__((aligned(ALIGNMENT)));
};

struct arena {
	struct piece *pieces;
	size_t left; /* of what may be taken in all */
};

static void *arena_alloc(void *data, size_t size)
{
	struct arena *arena = data;
	struct piece *piece = arena->pieces;
	void *memory;

	if (size > arena->left)
		return NULL; /* protobuf-c gives the message up */
	size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	arena->left -= size < arena->left ? size : arena->left;
	if (piece == NULL || size > piece->size - piece->used) {
		size_t room = size > PIECE ? size : PIECE;

		piece = mem_alloc(sizeof(*piece) + room);
		*piece = (struct piece){.next = arena->pieces, .size = room};
		arena->pieces = piece;
	}
	memory = piece->bytes + piece->used;
	piece->used += size;
	return memory;
}

static void arena_free(void *data, void *memory)
{
	(void)data;
	(void)memory; /* all at once, in the end */
}

static void arena_release(struct arena *arena)
{
	while (arena->pieces != NULL) {
		struct piece *next = arena->pieces->next;

		free(arena->pieces);
		arena->pieces = next;
	}
}

/* ---- the message's values ---- */

/* Go writes a string that is not set as an empty one. */
static struct json_span span_of(protobuf_c_boolean has, const ProtobufCBinaryData *value)
{
	if (!has || value->len == 0)
		return (struct json_span){0};
	return (struct json_span){.at = (const char *)value->data, .len = value->len};
}

static int64_t time_of(const Kept__Time *time)
{
	return time == NULL || !time->has_seconds ? 0 : time->seconds;
}

static struct json_span entry_of(Kept__Entry *const *entries, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++) {
		struct json_span name = span_of(entries[i]->has_key, &entries[i]->key);

		if (json_span_is(&name, key))
			return span_of(entries[i]->has_value, &entries[i]->value);
	}
	return (struct json_span){0};
}

static void view_owners(const Kept__ObjectMeta *meta, struct object_view *view)
{
	for (size_t i = 0; i < meta->n_ownerreferences; i++) {
		const Kept__OwnerReference *owner = meta->ownerreferences[i];

		if (!owner->has_controller || !owner->controller)
			continue;
		view->controller_kind = span_of(owner->has_kind, &owner->kind);
		view->controller_name = span_of(owner->has_name, &owner->name);
		view->controller_uid = span_of(owner->has_uid, &owner->uid);
		return;
	}
}

static void view_metadata(const Kept__ObjectMeta *meta, struct object_view *view)
{
	view->ns = span_of(meta->has_namespace_, &meta->namespace_);
	view->name = span_of(meta->has_name, &meta->name);
	view->uid = span_of(meta->has_uid, &meta->uid);
	view->resource_version = span_of(meta->has_resourceversion, &meta->resourceversion);
	view->generation = meta->has_generation ? meta->generation : 0;
	view->creation_time = time_of(meta->creationtimestamp);
	view->deletion_time = time_of(meta->deletiontimestamp);
	view->deletion_grace_sec = meta->has_deletiongraceperiodseconds ? meta->deletiongraceperiodseconds : 0;
	view->framework_name = entry_of(meta->labels, meta->n_labels, KEY_FRAMEWORK_NAME);
	view->framework_attempt_instance_uid = entry_of(meta->annotations, meta->n_annotations,
							KEY_FRAMEWORK_ATTEMPT_INSTANCE_UID);
	view->task_uid = entry_of(meta->annotations, meta->n_annotations, KEY_TASK_UID);
	view->task_attempt_id = entry_of(meta->annotations, meta->n_annotations, KEY_TASK_ATTEMPT_ID);
	view->ready_wanted = entry_of(meta->annotations, meta->n_annotations, KEY_READY_WANTED);
	view_owners(meta, view);
}

static void view_containers(Kept__ContainerStatus *const *statuses, size_t count, struct object_view *view)
{
	for (size_t i = 0; i < count; i++) {
		struct container_view *container = object_view_add_container(view);
		const Kept__Terminated *terminated = statuses[i]->state == NULL ? NULL : statuses[i]->state->terminated;

		container->name = span_of(statuses[i]->has_name, &statuses[i]->name);
		if (terminated == NULL)
			continue;
		container->terminated = true;
		container->exit_code = terminated->has_exitcode ? terminated->exitcode : 0;
		container->signal = terminated->has_signal ? terminated->signal : 0;
		container->reason = span_of(terminated->has_reason, &terminated->reason);
		container->message = span_of(terminated->has_message, &terminated->message);
		container->finished_at = time_of(terminated->finishedat);
	}
}

static void view_waiting(Kept__ContainerStatus *const *statuses, size_t count, bool init, struct object_view *view)
{
	for (size_t i = 0; i < count; i++) {
		const Kept__Waiting *waiting = statuses[i]->state == NULL ? NULL : statuses[i]->state->waiting;

		if (waiting != NULL)
			object_view_add_waiting(view, span_of(statuses[i]->has_name, &statuses[i]->name),
						span_of(waiting->has_reason, &waiting->reason),
						span_of(waiting->has_message, &waiting->message), init);
	}
}

static void view_wait(const Kept__PodStatus *status, struct object_view *view)
{
	view_waiting(status->initcontainerstatuses, status->n_initcontainerstatuses, true, view);
	view_waiting(status->containerstatuses, status->n_containerstatuses, false, view);
	for (size_t i = 0; i < status->n_conditions; i++) {
		const Kept__PodCondition *condition = status->conditions[i];
		struct json_span type = span_of(condition->has_type, &condition->type);
		struct json_span value = span_of(condition->has_status, &condition->status);

		if (type.at != NULL && json_span_is(&type, "PodScheduled") && value.at != NULL &&
		    json_span_is(&value, "False"))
			object_view_add_unscheduled(view, span_of(condition->has_reason, &condition->reason),
						    span_of(condition->has_message, &condition->message),
						    time_of(condition->lasttransitiontime));
	}
}

static void view_status(const Kept__PodStatus *status, struct object_view *view)
{
	struct json_span phase = span_of(status->has_phase, &status->phase);
	char text[32] = "longer than any";

	if (phase.len < sizeof(text) && phase.at != NULL)
		json_span_decode(&phase, text);
	view->phase = pod_phase_parse(phase.at == NULL ? NULL : text);
	view->pod_ip = span_of(status->has_podip, &status->podip);
	view->host_ip = span_of(status->has_hostip, &status->hostip);
	if (view->phase == POD_PENDING)
		view_wait(status, view);
	for (size_t i = 0; view->phase == POD_RUNNING && view->ready_wanted.at != NULL && i < status->n_conditions; i++)
		object_view_add_condition(view, span_of(status->conditions[i]->has_type, &status->conditions[i]->type),
					  span_of(status->conditions[i]->has_status, &status->conditions[i]->status));
	if (!pod_phase_final(view->phase))
		return;
	view->reason = span_of(status->has_reason, &status->reason);
	view->message = span_of(status->has_message, &status->message);
	view_containers(status->initcontainerstatuses, status->n_initcontainerstatuses, view);
	view_containers(status->containerstatuses, status->n_containerstatuses, view);
}

struct pod *pod_read_proto(const char *data, size_t len, struct error *err)
{
	struct arena arena = {.left = TREE_BESIDES};
	ProtobufCAllocator allocator = {.alloc = arena_alloc, .free = arena_free, .allocator_data = &arena};
	struct object_view view = {.phase = pod_phase_parse(NULL)};
	struct pod *pod = NULL;
	Kept__Pod *message;

	if (len <= (SIZE_MAX - TREE_BESIDES) / TREE_PER_BYTE)
		arena.left += len * TREE_PER_BYTE;
	message = kept__pod__unpack(&allocator, len, (const uint8_t *)data);
	if (message == NULL) {
		error_set(err, "invalid protobuf");
	} else {
		if (message->metadata != NULL)
			view_metadata(message->metadata, &view);
		if (message->spec != NULL)
			view.node_name = span_of(message->spec->has_nodename, &message->spec->nodename);
		if (message->status != NULL)
			view_status(message->status, &view);
		pod = pod_from_view(&view, err);
	}
	object_view_free(&view);
	arena_release(&arena);
	return pod;
}
