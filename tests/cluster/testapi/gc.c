/* Garbage collection; see gc.h. The rules are those of the kube-controller-manager's garbage collector
 * (pkg/controller/garbagecollector). */
#include "tests/cluster/testapi/gc.h"

#include <ev.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/ops.h"

/* Objects looked at per turn of the loop, so that requests are not kept waiting. */
enum { BATCH = 200 };

/* One uid: an object, or one that others name as their owner and that is not there. */
struct node {
	char *uid;
	struct api_object *object; /* NULL: absent */
	struct node **dependents;
	size_t count;
	size_t cap;
	bool queued;
	struct node *prev, *next; /* in the queue */
	UT_hash_handle hh;
};

struct api_gc {
	struct api *api;
	struct node *nodes;
	struct node *queue;
	bool containers; /* a namespace or CRD is being emptied */
	ev_timer timer;
};

static void on_timer(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct api_gc *gc = timer->data;

	(void)revents;
	if (api_gc_run(gc->api)) {
		ev_timer_set(timer, 0., 0.);
		ev_timer_start(loop, timer);
	}
}

static void wake(struct api_gc *gc)
{
	if (ev_is_active(&gc->timer))
		return;
	ev_timer_set(&gc->timer, gc->api->options.gc_delay_sec, 0.);
	ev_timer_start(gc->api->loop, &gc->timer);
}

struct api_gc *api_gc_new(struct api *api)
{
	struct api_gc *gc = mem_calloc(1, sizeof(*gc));

	gc->api = api;
	ev_timer_init(&gc->timer, on_timer, 0., 0.);
	gc->timer.data = gc;
	return gc;
}

static void free_node(struct api_gc *gc, struct node *node)
{
	HASH_DEL(gc->nodes, node);
	free((void *)node->dependents);
	free(node->uid);
	free(node);
}

void api_gc_free(struct api_gc *gc)
{
	struct node *node;
	struct node *next;

	ev_timer_stop(gc->api->loop, &gc->timer);
	HASH_ITER(hh, gc->nodes, node, next)
		free_node(gc, node);
	free(gc);
}

static struct node *find_node(struct api_gc *gc, const char *uid)
{
	struct node *node;

	HASH_FIND_STR(gc->nodes, uid, node);
	return node;
}

static struct node *get_node(struct api_gc *gc, const char *uid)
{
	struct node *node = find_node(gc, uid);

	if (node != NULL)
		return node;
	node = mem_calloc(1, sizeof(*node));
	node->uid = mem_strdup(uid);
	HASH_ADD_KEYPTR(hh, gc->nodes, node->uid, strlen(node->uid), node);
	return node;
}

static void enqueue(struct api_gc *gc, struct node *node)
{
	if (node->queued)
		return;
	node->queued = true;
	DL_APPEND(gc->queue, node);
	wake(gc);
}

static void drop_if_unused(struct api_gc *gc, struct node *node)
{
	if (node->object == NULL && node->count == 0 && !node->queued)
		free_node(gc, node);
}

static bool owned_by(const struct api_object *object, const char *uid)
{
	for (size_t i = 0; object != NULL && i < object->owner_count; i++)
		if (strcmp(object->owners[i].uid, uid) == 0)
			return true;
	return false;
}

static bool names_before(const struct api_object *object, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(object->owners[i].uid, object->owners[index].uid) == 0)
			return true;
	return false;
}

static void add_dependent(struct node *owner, struct node *dependent)
{
	if (owner->count == owner->cap) {
		owner->cap = owner->cap == 0 ? 4 : owner->cap * 2;
		owner->dependents = mem_realloc((void *)owner->dependents, owner->cap, sizeof(struct node *));
	}
	owner->dependents[owner->count++] = dependent;
}

static void remove_dependent(struct node *owner, const struct node *dependent)
{
	/* from the end: what came last often goes first */
	for (size_t i = owner->count; i-- > 0;)
		if (owner->dependents[i] == dependent) {
			owner->dependents[i] = owner->dependents[--owner->count];
			return;
		}
}

/* Brings the owners' lists from old to new; true when the list of owners changed. */
static bool relink(struct api_gc *gc, struct node *node, const struct api_object *old, const struct api_object *new)
{
	bool changed = false;

	for (size_t i = 0; old != NULL && i < old->owner_count; i++) {
		struct node *owner;

		if (names_before(old, i) || owned_by(new, old->owners[i].uid))
			continue;
		changed = true;
		owner = get_node(gc, old->owners[i].uid);
		remove_dependent(owner, node);
		/* one that waits for its dependents may be done */
		if (owner->object != NULL && owner->object->deleting)
			enqueue(gc, owner);
		drop_if_unused(gc, owner);
	}
	for (size_t i = 0; new != NULL &&i < new->owner_count; i++)
		if (!names_before(new, i) && !owned_by(old, new->owners[i].uid)) {
			changed = true;
			add_dependent(get_node(gc, new->owners[i].uid), node);
		}
	return changed;
}

static void enqueue_dependents(struct api_gc *gc, const struct node *node)
{
	for (size_t i = 0; i < node->count; i++)
		enqueue(gc, node->dependents[i]);
}

static bool is_container(const struct api *api, const struct api_object *object)
{
	return object->resource == api->namespaces || object->resource == api->crds;
}

void api_gc_changed(struct api *api, struct api_object *old, struct api_object *new)
{
	struct api_gc *gc = api->gc;
	struct node *node = get_node(gc, new != NULL ? new->uid : old->uid);
	bool owners_changed;
	bool starts; /* its deletion */

	node->object = new;
	owners_changed = relink(gc, node, old, new);
	if (new == NULL) {
		enqueue_dependents(gc, node);
		drop_if_unused(gc, node);
		if (gc->containers)
			wake(gc);
		return;
	}
	if (owners_changed)
		enqueue(gc, node);
	starts = new->deleting && (old == NULL || !old->deleting);
	if (starts && (new->foreground || new->orphan)) {
		enqueue(gc, node);
		enqueue_dependents(gc, node);
	}
	if (starts && is_container(api, new)) {
		gc->containers = true;
		wake(gc);
	}
}

static void delete_object(struct api *api, struct api_object *object, const char *policy)
{
	const struct api_deletion deletion = {.uid = object->uid, .grace = -1, .policy = policy};
	struct api_failure failure = {0};
	struct api_object *out = NULL;
	bool removed;

	if (api_delete(api, object, &deletion, &out, &removed, &failure) < 0)
		log_warning("gc: delete %s: %s", object->key, failure.message);
	api_object_unref(out);
	api_failure_free(&failure);
}

static void remove_finalizer(struct api *api, struct api_object *object, const char *name)
{
	json_t *list = json_array();
	size_t index;
	json_t *value;

	json_array_foreach(json_path(api_object_json(object), "metadata", "finalizers", NULL), index, value)
		if (strcmp(json_string_value(value), name) != 0)
			json_array_append(list, value);
	if (json_array_size(list) == 0) {
		json_decref(list);
		list = NULL;
	}
	api_set_metadata(api, object, "finalizers", list);
}

/* Drops references to owners; keep is asked for each, with its uid and the one given. */
static void remove_owners(struct api *api, struct api_object *object,
			  bool (*keep)(struct api_gc *gc, const char *owner, const char *uid), const char *uid)
{
	json_t *list = json_array();
	size_t index;
	json_t *value;

	json_array_foreach(json_path(api_object_json(object), "metadata", "ownerReferences", NULL), index, value) {
		const char *owner = json_str(value, "uid");

		if (keep(api->gc, owner, uid))
			json_array_append(list, value);
	}
	if (json_array_size(list) == 0) {
		json_decref(list);
		list = NULL;
	}
	api_set_metadata(api, object, "ownerReferences", list);
}

static bool is_other(struct api_gc *gc, const char *owner, const char *uid)
{
	(void)gc;
	return strcmp(owner, uid) != 0;
}

static void orphan_dependents(struct api_gc *gc, struct node *node)
{
	while (node->count > 0)
		remove_owners(gc->api, node->dependents[node->count - 1]->object, is_other, node->uid);
	remove_finalizer(gc->api, node->object, "orphan");
}

static bool blocks(const struct api_object *object, const char *uid)
{
	for (size_t i = 0; i < object->owner_count; i++)
		if (object->owners[i].block && strcmp(object->owners[i].uid, uid) == 0)
			return true;
	return false;
}

/* An owner in foreground deletion goes once no dependent blocks it. */
static void finish_foreground(struct api_gc *gc, struct node *node)
{
	bool blocked = false;

	for (size_t i = 0; i < node->count; i++) {
		if (!blocks(node->dependents[i]->object, node->uid))
			continue;
		blocked = true;
		if (!node->dependents[i]->object->deleting)
			enqueue(gc, node->dependents[i]);
	}
	if (!blocked)
		remove_finalizer(gc->api, node->object, "foregroundDeletion");
}

static bool is_solid(struct api_gc *gc, const char *owner_uid, const char *uid)
{
	const struct node *owner = find_node(gc, owner_uid);

	(void)uid;
	return owner != NULL && owner->object != NULL && !(owner->object->deleting && owner->object->foreground);
}

/* attemptToDeleteItem: an object with owners, some of which may be gone or going. */
static void judge(struct api_gc *gc, struct node *node)
{
	struct api_object *object = node->object;
	size_t solid = 0;
	size_t waiting = 0;

	for (size_t i = 0; i < object->owner_count; i++) {
		const struct node *owner = find_node(gc, object->owners[i].uid);

		if (is_solid(gc, object->owners[i].uid, ""))
			solid++;
		else if (owner != NULL && owner->object != NULL)
			waiting++;
	}
	if (solid == object->owner_count)
		return;
	if (solid > 0)
		remove_owners(gc->api, object, is_solid, "");
	else if (waiting > 0 && node->count > 0)
		delete_object(gc->api, object, "Foreground");
	else
		delete_object(gc->api, object,
			      object->orphan       ? "Orphan"
			      : object->foreground ? "Foreground"
						   : "Background");
}

static void process(struct api_gc *gc, struct node *node)
{
	const struct api_object *object = node->object;

	if (object == NULL)
		drop_if_unused(gc, node);
	else if (object->deleting && object->orphan)
		orphan_dependents(gc, node);
	else if (object->deleting && object->foreground)
		finish_foreground(gc, node);
	else if (!object->deleting && object->owner_count > 0)
		judge(gc, node);
}

bool api_gc_holds(const struct api *api, const struct api_object *object)
{
	if (!is_container(api, object))
		return false;
	return true;
}

/* Deletes what is in a range; true when it is empty. */
static bool empty_range(struct api *api, struct api_resource *resource, const char *namespace_name)
{
	size_t begin;
	size_t end;
	struct api_object **doomed;
	size_t count = 0;

	api_store_range(resource, namespace_name, &begin, &end);
	if (begin == end)
		return true;
	doomed = mem_calloc(end - begin, sizeof(*doomed));
	for (; begin < end; begin++)
		if (!resource->objects[begin]->deleting)
			doomed[count++] = api_object_ref(resource->objects[begin]);
	for (size_t i = 0; i < count; i++) {
		/* an earlier deletion may have changed this one */
		if (api_store_get(resource, doomed[i]->namespace_name, doomed[i]->name) == doomed[i])
			delete_object(api, doomed[i], NULL);
		api_object_unref(doomed[i]);
	}
	free((void *)doomed);
	api_store_range(resource, namespace_name, &begin, &end);
	return begin == end;
}

static bool empty_namespace(struct api *api, const char *name)
{
	bool empty = true;

	for (struct api_resource *resource = api->resources; resource != NULL; resource = resource->next)
		if (resource->namespaced && !empty_range(api, resource, name))
			empty = false;
	return empty;
}

static bool empty_crd(struct api *api, struct api_object *object)
{
	const json_t *spec = json_object_get(api_object_json(object), "spec");
	struct api_resource *resource = api_resource_named(api, json_str(spec, "group"),
							   json_str(json_object_get(spec, "names"), "plural"));

	return resource == NULL || empty_range(api, resource, NULL);
}

/* Namespaces and CRDs in deletion; true when one is left. */
static bool empty_containers(struct api *api)
{
	struct api_resource *kinds[] = {api->namespaces, api->crds};
	bool left = false;

	for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++)
		for (size_t i = kinds[kind]->count; i-- > 0;) {
			struct api_object *object = kinds[kind]->objects[i];

			if (!object->deleting)
				continue;
			if (object->has_finalizers ||
			    !(kind == 0 ? empty_namespace(api, object->name) : empty_crd(api, object)))
				left = true;
			else
				api_store_remove(api, object);
		}
	return left;
}

bool api_gc_run(struct api *api)
{
	struct api_gc *gc = api->gc;

	for (int i = 0; i < BATCH && gc->queue != NULL; i++) {
		struct node *node = gc->queue;

		DL_DELETE(gc->queue, node);
		node->queued = false;
		process(gc, node);
	}
	if (gc->containers)
		gc->containers = empty_containers(api);
	return gc->queue != NULL;
}
