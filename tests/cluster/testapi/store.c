/* Objects in memory and the log of their changes; see store.h. */
#include "tests/cluster/testapi/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/gc.h"
#include "tests/cluster/testapi/watch.h"

/* Parsed forms kept: more than one request holds at a time. To free one that has left the processor's caches costs more
 * than to parse its text again (tests/bench/TRIED.md). */
enum { CACHED_MAX = 8, EVENT_LOG_FIRST = 64, EVENT_LOG_BYTES = 128 * 1024 * 1024 };

static void forget_json(struct api_object *object)
{
	if (object->json == NULL)
		return;
	DL_DELETE(object->api->cached, object);
	object->api->cached_count--;
	json_decref(object->json);
	object->json = NULL;
}

static void keep_json(struct api_object *object, json_t *json)
{
	struct api *api = object->api;

	object->json = json;
	DL_PREPEND(api->cached, object);
	/* the list's head knows its tail */
	if (++api->cached_count > CACHED_MAX)
		forget_json(api->cached->prev);
}

struct api_object *api_object_ref(struct api_object *object)
{
	object->refs++;
	return object;
}

void api_object_unref(struct api_object *object)
{
	if (object == NULL || --object->refs > 0)
		return;
	forget_json(object);
	for (size_t i = 0; i < object->owner_count; i++)
		free(object->owners[i].uid);
	for (size_t i = 0; i < RESOURCE_FIELDS_MAX; i++)
		free(object->fields[i]);
	free(object->owners);
	free(object->key);
	free(object->namespace_name);
	free(object->uid);
	free(object->text);
	json_decref(object->labels);
	free(object);
}

json_t *api_object_json(struct api_object *object)
{
	if (object->json == NULL) {
		struct error err;
		json_t *json = json_parse(object->text, object->text_len, &err);

		if (json == NULL)
			abort(); /* we wrote this text */
		keep_json(object, json);
	}
	return object->json;
}

json_t *api_object_copy(struct api_object *object)
{
	json_t *copy = json_copy(api_object_json(object));

	json_object_set_new(copy, "metadata", json_copy(json_object_get(copy, "metadata")));
	return copy;
}

char *api_key(const struct api_resource *resource, const char *namespace_name, const char *name)
{
	return resource->namespaced ? mem_printf("%s/%s", namespace_name, name) : mem_strdup(name);
}

static char *field_value(const json_t *json, const char *path)
{
	const json_t *at = json;
	char part[64];

	while (at != NULL && *path != '\0') {
		size_t len = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)len, path);
		at = json_object_get(at, part);
		path += len + (path[len] == '.');
	}
	if (json_is_boolean(at))
		return mem_strdup(json_is_true(at) ? "true" : "false");
	return mem_strdup(json_is_string(at) ? json_string_value(at) : "");
}

static void read_owners(struct api_object *object, const json_t *metadata)
{
	const json_t *list = json_object_get(metadata, "ownerReferences");
	size_t index;
	const json_t *owner;

	if (json_array_size(list) == 0)
		return;
	object->owners = mem_calloc(json_array_size(list), sizeof(*object->owners));
	json_array_foreach(list, index, owner) {
		const char *uid = json_str(owner, "uid");

		if (uid == NULL)
			continue;
		object->owners[object->owner_count].uid = mem_strdup(uid);
		object->owners[object->owner_count++].block = json_bool(owner, "blockOwnerDeletion", false);
	}
}

static void read_finalizers(struct api_object *object, const json_t *metadata)
{
	const json_t *list = json_object_get(metadata, "finalizers");
	size_t index;
	const json_t *finalizer;

	json_array_foreach(list, index, finalizer) {
		const char *name = json_string_value(finalizer);

		object->has_finalizers = true;
		if (name != NULL && strcmp(name, "foregroundDeletion") == 0)
			object->foreground = true;
		if (name != NULL && strcmp(name, "orphan") == 0)
			object->orphan = true;
	}
}

struct api_object *api_object_new(struct api *api, struct api_resource *resource, json_t *json)
{
	struct api_object *object = mem_calloc(1, sizeof(*object));
	uint64_t version = api->version + 1;
	json_t *metadata = json_object_get(json, "metadata");
	const char *namespace_name = json_str(metadata, "namespace");
	json_t *labels = json_object_get(metadata, "labels");
	char number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)version);
	json_object_set_new(metadata, "resourceVersion", json_string(number));
	object->refs = 1;
	object->api = api;
	object->resource = resource;
	object->version = version;
	object->namespace_name = mem_strdup(resource->namespaced && namespace_name != NULL ? namespace_name : "");
	object->key = api_key(resource, object->namespace_name, json_str(metadata, "name"));
	object->name = object->key + (resource->namespaced ? strlen(object->namespace_name) + 1 : 0);
	object->uid = mem_strdup(json_str(metadata, "uid"));
	if (json_object_size(labels) > 0)
		object->labels = json_incref(labels);
	read_owners(object, metadata);
	read_finalizers(object, metadata);
	object->deleting = json_is_string(json_object_get(metadata, "deletionTimestamp"));
	for (size_t i = 0; i < RESOURCE_FIELDS_MAX && resource->fields[i] != NULL; i++)
		object->fields[i] = field_value(json, resource->fields[i]);
	object->text = json_text(json);
	object->text_len = strlen(object->text);
	keep_json(object, json);
	return object;
}

/* Index of the first object whose key is not below. */
static size_t lower_bound(const struct api_resource *resource, const char *key)
{
	size_t low = 0;
	size_t high = resource->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(resource->objects[middle]->key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct api_object *api_store_get(const struct api_resource *resource, const char *namespace_name, const char *name)
{
	cleanup_free char *key = api_key(resource, namespace_name, name);
	size_t at = lower_bound(resource, key);

	return at < resource->count && strcmp(resource->objects[at]->key, key) == 0 ? resource->objects[at] : NULL;
}

struct api_object *api_store_get_at(const struct api_resource *resource, const char *namespace_name, const char *name,
				    uint64_t version)
{
	cleanup_free char *key = api_key(resource, namespace_name, name);
	struct api_object *object = api_store_get(resource, namespace_name, name);

	for (uint64_t i = resource->event_end; i-- > resource->event_first;) {
		const struct api_event *event = &resource->events[i % resource->event_cap];

		if (event->version <= version)
			break;
		if (strcmp(event->object->key, key) == 0)
			object = event->previous;
	}
	return object;
}

void api_store_range(const struct api_resource *resource, const char *namespace_name, size_t *begin, size_t *end)
{
	cleanup_free char *first = NULL;
	cleanup_free char *last = NULL;

	*begin = 0;
	*end = resource->count;
	if (!resource->namespaced || namespace_name == NULL || namespace_name[0] == '\0')
		return;
	first = mem_printf("%s/", namespace_name);
	last = mem_printf("%s0", namespace_name); /* '0' follows '/' */
	*begin = lower_bound(resource, first);
	*end = lower_bound(resource, last);
}

static void drop_event(struct api_resource *resource)
{
	struct api_event *event = &resource->events[resource->event_first++ % resource->event_cap];

	if (resource->compacted < event->version)
		resource->compacted = event->version;
	resource->event_bytes -= event->object->text_len;
	api_object_unref(event->object);
	api_object_unref(event->previous);
	*event = (struct api_event){0};
}

static void grow_log(struct api_resource *resource, size_t limit)
{
	size_t cap = resource->event_cap * 2;
	struct api_event *events;

	if (cap < EVENT_LOG_FIRST)
		cap = EVENT_LOG_FIRST;

	if (limit > 0 && cap > limit)
		cap = limit;
	events = mem_calloc(cap, sizeof(*events));
	for (uint64_t i = resource->event_first; i < resource->event_end; i++)
		events[i % cap] = resource->events[i % resource->event_cap];
	free(resource->events);
	resource->events = events;
	resource->event_cap = cap;
}

/* Takes over neither object. */
static void append_event(struct api *api, struct api_resource *resource, char type, struct api_object *object,
			 struct api_object *previous)
{
	struct api_event *event;

	resource->event_bytes += object->text_len;
	while (resource->event_bytes > EVENT_LOG_BYTES && resource->event_first < resource->event_end)
		drop_event(resource);
	if (resource->event_end - resource->event_first == resource->event_cap) {
		if (resource->event_cap < api->options.event_log)
			grow_log(resource, api->options.event_log);
		else
			drop_event(resource);
	}
	event = &resource->events[resource->event_end++ % resource->event_cap];
	event->version = object->version;
	event->type = type;
	event->object = api_object_ref(object);
	event->previous = previous == NULL ? NULL : api_object_ref(previous);
	api_watch_notify(api, resource);
}

/* A version that is history now: watches and lists want its text alone. */
static void retire(struct api_object *object)
{
	if (object == NULL)
		return;
	forget_json(object);
	api_object_unref(object);
}

struct api_object *api_store_put(struct api *api, struct api_object *object)
{
	struct api_resource *resource = object->resource;
	size_t at = lower_bound(resource, object->key);
	struct api_object *old = NULL;

	if (at < resource->count && strcmp(resource->objects[at]->key, object->key) == 0) {
		old = resource->objects[at];
	} else {
		if (resource->count == resource->cap) {
			resource->cap = resource->cap == 0 ? 16 : resource->cap * 2;
			resource->objects = mem_realloc((void *)resource->objects, resource->cap,
							sizeof(*resource->objects));
		}
		memmove((void *)&resource->objects[at + 1], (void *)&resource->objects[at],
			(resource->count - at) * sizeof(*resource->objects));
		resource->count++;
	}
	resource->objects[at] = object;
	api->version = object->version;
	append_event(api, resource, old == NULL ? 'A' : 'M', object, old);
	api_gc_changed(api, old, object);
	if (resource->strategy->changed != NULL)
		resource->strategy->changed(api, resource, old, object);
	retire(old);
	return object;
}

void api_store_remove(struct api *api, struct api_object *object)
{
	struct api_resource *resource = object->resource;
	size_t at = lower_bound(resource, object->key);
	struct api_object *last = api_object_new(api, resource, api_object_copy(object));

	memmove((void *)&resource->objects[at], (void *)&resource->objects[at + 1],
		(resource->count - at - 1) * sizeof(*resource->objects));
	resource->count--;
	api->version = last->version;
	append_event(api, resource, 'D', last, object);
	api_gc_changed(api, object, NULL);
	if (resource->strategy->changed != NULL)
		resource->strategy->changed(api, resource, object, NULL);
	retire(last);
	retire(object);
}

void api_store_compact(struct api *api)
{
	/*
	 * Everything before now counts as forgotten, even where a resource did not change. The events stay for the
	 * watches that are there: they get what is on its way to them, as on a real server.
	 */
	for (struct api_resource *resource = api->resources; resource != NULL; resource = resource->next)
		resource->compacted = ++api->version;
}

void api_store_clear(struct api_resource *resource)
{
	for (size_t i = 0; i < resource->count; i++)
		api_object_unref(resource->objects[i]);
	free((void *)resource->objects);
	resource->objects = NULL;
	resource->count = resource->cap = 0;
	while (resource->event_first < resource->event_end)
		drop_event(resource);
	free(resource->events);
	resource->events = NULL;
	resource->event_cap = 0;
}

static int by_key(const void *a, const void *b)
{
	const struct api_event *const *x = a;
	const struct api_event *const *y = b;
	int order = strcmp((*x)->object->key, (*y)->object->key);

	return order != 0 ? order : ((*x)->version > (*y)->version) - ((*x)->version < (*y)->version);
}

/* Events after version, sorted by key, the first of each key only. */
static size_t first_changes(const struct api_resource *resource, uint64_t version, const struct api_event ***out)
{
	const struct api_event **list = mem_calloc((size_t)(resource->event_end - resource->event_first) + 1,
						   sizeof(*list));
	size_t count = 0;
	size_t kept = 0;

	for (uint64_t i = resource->event_end; i-- > resource->event_first;) {
		const struct api_event *event = &resource->events[i % resource->event_cap];

		if (event->version <= version)
			break;
		list[count++] = event;
	}
	qsort((void *)list, count, sizeof(*list), by_key);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || strcmp(list[kept - 1]->object->key, list[i]->object->key) != 0)
			list[kept++] = list[i];
	*out = list;
	return kept;
}

bool api_store_changed_since(const struct api_resource *resource, uint64_t version)
{
	if (version < resource->compacted)
		return true;
	return resource->event_end > resource->event_first &&
	       resource->events[(resource->event_end - 1) % resource->event_cap].version > version;
}

int api_store_at(struct api_resource *resource, const char *namespace_name, uint64_t version,
		 struct api_object ***objects, size_t *count)
{
	const struct api_event **changes;
	size_t change_count;
	size_t change = 0;
	size_t begin;
	size_t end;

	if (version < resource->compacted)
		return -1;
	api_store_range(resource, namespace_name, &begin, &end);
	change_count = first_changes(resource, version, &changes);
	*objects = mem_calloc(end - begin + change_count + 1, sizeof(**objects));
	*count = 0;
	while (begin < end || change < change_count) {
		int order = begin == end ? 1
			    : change == change_count
				    ? -1
				    : strcmp(resource->objects[begin]->key, changes[change]->object->key);

		if (order < 0) {
			(*objects)[(*count)++] = api_object_ref(resource->objects[begin++]);
			continue;
		}
		/* changed since: what was before the first change counts */
		if (changes[change]->previous != NULL &&
		    (namespace_name == NULL || namespace_name[0] == '\0' || !resource->namespaced ||
		     strcmp(changes[change]->previous->namespace_name, namespace_name) == 0))
			(*objects)[(*count)++] = api_object_ref(changes[change]->previous);
		begin += order == 0;
		change++;
	}
	free((void *)changes);
	return 0;
}
