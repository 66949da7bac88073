/* The cache of observed objects; see cache.h. Objects are identified by namespace/name + uid: another uid under a known
 * name is a deletion and a creation. An object never goes back to an older resourceVersion, and a list taken at an
 * older version than an object's does not delete it (common/README.md §5.4, §5.5). */
#include "watcher/view/cache.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "common/bus/message.h"
#include "common/framework/workload.h"

/* What is kept of a Framework: the reconcilers need nearly all of it. */
struct cached_framework {
	struct object_meta meta;
	char *text; /* compact JSON without metadata.managedFields */
	size_t len;
};

struct cache_entry {
	enum object_kind kind;
	bool seen; /* in the list that is under way */
	uint32_t shard;
	size_t ns_len; /* key: "namespace/name" */
	char *ns;
	/* at most one of them, none when the entry is not present */
	struct cached_framework *framework;
	struct config_map *config_map;
	struct pod *pod;
	struct workload *workload;
	void *note;
	struct cache_entry *shard_previous;
	struct cache_entry *shard_next;
	UT_hash_handle hh;
	char key[];
};

/* A namespace that is watched, or "": all. */
struct scope {
	struct scope *next;
	char *ns;
	char *version[KIND_COUNT];
	bool listing[KIND_COUNT];
};

struct cache {
	uint32_t shard_count;
	const struct cache_listener *listener;
	void *arg;
	struct cache_entry *kinds[KIND_COUNT]; /* uthash heads, by key; absent ones with a note too */
	struct cache_entry *shards[BUS_SHARD_MAX];
	size_t count[KIND_COUNT];
	struct scope *scopes;
};

struct cache *cache_new(uint32_t shard_count, const struct cache_listener *listener, void *arg)
{
	struct cache *cache = mem_calloc(1, sizeof(*cache));

	cache->shard_count = shard_count;
	cache->listener = listener;
	cache->arg = arg;
	return cache;
}

static struct scope *find_or_add_scope(struct cache *cache, const char *ns)
{
	struct scope **at = &cache->scopes;

	while (*at != NULL && strcmp((*at)->ns, ns) != 0)
		at = &(*at)->next;
	if (*at == NULL) {
		*at = mem_calloc(1, sizeof(**at));
		(*at)->ns = mem_strdup(ns);
		for (size_t kind = 0; kind < KIND_COUNT; kind++)
			(*at)->version[kind] = mem_strdup("");
	}
	return *at;
}

static void scope_free(struct scope *scope)
{
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		free(scope->version[kind]);
	free(scope->ns);
	free(scope);
}

static void framework_free(struct cached_framework *framework)
{
	if (framework == NULL)
		return;
	object_meta_free(&framework->meta);
	free(framework->text);
	free(framework);
}

static void drop_object(struct cache_entry *entry)
{
	framework_free(entry->framework);
	config_map_free(entry->config_map);
	pod_free(entry->pod);
	workload_free(entry->workload);
	entry->framework = NULL;
	entry->config_map = NULL;
	entry->pod = NULL;
	entry->workload = NULL;
}

static void entry_free(struct cache_entry *entry)
{
	drop_object(entry);
	free(entry->ns);
	free(entry);
}

void cache_free(struct cache *cache)
{
	struct cache_entry *entry;
	struct cache_entry *next;

	if (cache == NULL)
		return;
	for (size_t kind = 0; kind < KIND_COUNT; kind++) {
		HASH_ITER(hh, cache->kinds[kind], entry, next) {
			HASH_DEL(cache->kinds[kind], entry);
			entry_free(entry);
		}
	}
	while (cache->scopes != NULL) {
		struct scope *scope = cache->scopes;

		cache->scopes = scope->next;
		scope_free(scope);
	}
	free(cache);
}

static const struct object_meta *meta_of(const struct cache_entry *entry)
{
	if (entry->framework != NULL)
		return &entry->framework->meta;
	if (entry->config_map != NULL)
		return &entry->config_map->meta;
	if (entry->workload != NULL)
		return &entry->workload->meta;
	return entry->pod != NULL ? &entry->pod->meta : NULL;
}

/* The Framework that an object belongs to: itself, or the one its label names. */
static const char *framework_of(enum object_kind kind, const struct object_meta *meta)
{
	return kind == KIND_FRAMEWORK ? meta->name : meta->framework_name;
}

static struct cache_entry *find(const struct cache *cache, enum object_kind kind, const char *ns, const char *name)
{
	cleanup_free char *key = mem_printf("%s/%s", ns, name);
	struct cache_entry *entry;

	HASH_FIND_STR(cache->kinds[kind], key, entry);
	return entry;
}

static struct cache_entry *find_or_add(struct cache *cache, enum object_kind kind, const char *ns, const char *name)
{
	struct cache_entry *entry = find(cache, kind, ns, name);
	size_t ns_len = strlen(ns);
	size_t name_len = strlen(name);

	if (entry != NULL)
		return entry;
	entry = mem_calloc(1, sizeof(*entry) + ns_len + 1 + name_len + 1);
	entry->kind = kind;
	entry->ns = mem_strdup(ns);
	entry->ns_len = ns_len;
	memcpy(entry->key, ns, ns_len);
	entry->key[ns_len] = '/';
	memcpy(entry->key + ns_len + 1, name, name_len);
	HASH_ADD_KEYPTR(hh, cache->kinds[kind], entry->key, ns_len + 1 + name_len, entry);
	return entry;
}

static void free_if_unused(struct cache *cache, struct cache_entry *entry)
{
	if (entry->note != NULL || meta_of(entry) != NULL)
		return;
	HASH_DEL(cache->kinds[entry->kind], entry);
	entry_free(entry);
}

static void link_shard(struct cache *cache, struct cache_entry *entry, uint32_t shard)
{
	entry->shard = shard;
	entry->shard_previous = NULL;
	entry->shard_next = cache->shards[shard];
	if (entry->shard_next != NULL)
		entry->shard_next->shard_previous = entry;
	cache->shards[shard] = entry;
	cache->count[entry->kind]++;
}

static void unlink_shard(struct cache *cache, struct cache_entry *entry)
{
	if (entry->shard_previous != NULL)
		entry->shard_previous->shard_next = entry->shard_next;
	else
		cache->shards[entry->shard] = entry->shard_next;
	if (entry->shard_next != NULL)
		entry->shard_next->shard_previous = entry->shard_previous;
	cache->count[entry->kind]--;
}

/* How the end of an object was learned. */
enum end {
	END_CERTAIN,    /* it has gone */
	END_REPLACED,   /* the same: another uid has its name at that version */
	END_OF_SIGHT,   /* at that version, perhaps only out of the label selector's sight */
	END_NOT_LISTED, /* the same, at that version or before */
};

/* Takes the object out of the entry and says so; the entry itself stays. */
static void remove_object(struct cache *cache, struct cache_entry *entry, const char *resource_version, enum end end)
{
	struct cache_entry last = *entry;
	const struct object_meta *meta = meta_of(&last);
	struct cache_absence absence = {
		.uid = end == END_NOT_LISTED ? "" : meta->uid,
		.resource_version = resource_version,
		.framework_name = framework_of(entry->kind, meta),
		.shard = entry->shard,
		.deleting = end == END_CERTAIN || end == END_REPLACED,
	};

	unlink_shard(cache, entry);
	entry->framework = NULL;
	entry->config_map = NULL;
	entry->pod = NULL;
	entry->workload = NULL;
	/* A peer that gets a Framework with another uid knows that the former one is deleted. It may have the new one
	 * already, which an absence at that version would remove. */
	if (end != END_REPLACED || entry->kind != KIND_FRAMEWORK)
		cache->listener->gone(cache->arg, entry, &absence);
	drop_object(&last);
}

/* The kept form of one object; exactly one member is set. */
struct kept {
	struct cached_framework *framework;
	struct config_map *config_map;
	struct pod *pod;
	struct workload *workload;
};

/* The text without metadata.managedFields, on one line. */
static void write_slim(struct buf *out, const char *text, size_t len)
{
	struct json_reader reader;
	struct json_span name;
	const char *cut = NULL;
	const char *cut_end = NULL;

	json_reader_init(&reader, text, len);
	if (json_reader_find(&reader, "metadata") && json_reader_object(&reader)) {
		while (json_reader_member(&reader, &name)) {
			json_reader_pass(&reader);
			if (json_span_is(&name, "managedFields")) {
				cut = name.at - 1; /* the quote */
				cut_end = reader.at;
			}
		}
	}
	buf_reserve(out, len);
	if (cut == NULL) {
		buf_append(out, text, len);
	} else {
		/* with the comma behind it, or else with the one before: behind the last member stands a brace */
		while (*cut_end == ' ' || *cut_end == '\n' || *cut_end == '\t' || *cut_end == '\r')
			cut_end++;
		if (*cut_end == ',')
			cut_end++;
		else
			while (*cut_end == '}' && cut > text && *cut != ',' && *cut != '{')
				cut--;
		if (*cut == '{')
			cut++;
		buf_append(out, text, (size_t)(cut - text));
		buf_append(out, cut_end, (size_t)(text + len - cut_end));
	}
	if (memchr(out->data, '\n', out->len) != NULL) {
		struct buf compact = {0};

		buf_json_compact(&compact, out->data, out->len);
		buf_free(out);
		*out = compact;
	}
}

static struct cached_framework *framework_read(const char *text, size_t len, struct error *err)
{
	struct cached_framework *framework = mem_calloc(1, sizeof(*framework));
	struct buf slim = {0};

	if (object_meta_read(text, len, &framework->meta, err) < 0) {
		free(framework);
		return NULL;
	}
	write_slim(&slim, text, len);
	framework->len = slim.len;
	framework->text = mem_realloc(slim.data, slim.len + 1, 1);
	return framework;
}

static const struct object_meta *kept_read(enum object_kind kind, const struct reflector_object *object,
					   struct kept *out, struct error *err)
{
	*out = (struct kept){0};
	switch (kind) {
	case KIND_FRAMEWORK:
		out->framework = framework_read(object->data, object->len, err);
		return out->framework == NULL ? NULL : &out->framework->meta;
	case KIND_CONFIG_MAP:
		out->config_map = config_map_read(object->data, object->len, err);
		return out->config_map == NULL ? NULL : &out->config_map->meta;
	case KIND_WORKLOAD:
		out->workload = workload_read(object->data, object->len, err);
		return out->workload == NULL ? NULL : &out->workload->meta;
	default: out->pod = pod_read(object->data, object->len, err); return out->pod == NULL ? NULL : &out->pod->meta;
	}
}

static void kept_free(struct kept *kept)
{
	framework_free(kept->framework);
	config_map_free(kept->config_map);
	pod_free(kept->pod);
	workload_free(kept->workload);
}

static bool kept_same(const struct cache_entry *entry, const struct kept *kept)
{
	if (kept->framework != NULL) /* every write of one changes its version */
		return strcmp(entry->framework->meta.resource_version, kept->framework->meta.resource_version) == 0;
	if (kept->config_map != NULL)
		return config_map_same(entry->config_map, kept->config_map);
	if (kept->workload != NULL)
		return workload_same(entry->workload, kept->workload);
	return pod_same(entry->pod, kept->pod);
}

static void store(struct cache_entry *entry, const struct kept *kept)
{
	drop_object(entry);
	entry->framework = kept->framework;
	entry->config_map = kept->config_map;
	entry->pod = kept->pod;
	entry->workload = kept->workload;
}

int cache_present_raw(struct cache *cache, enum object_kind kind, const struct reflector_object *object,
		      struct error *err)
{
	struct kept kept;
	const struct object_meta *meta = kept_read(kind, object, &kept, err);
	const struct object_meta *old;
	struct cache_entry *entry;

	if (meta == NULL)
		return -1;
	if (framework_of(kind, meta)[0] == '\0') {
		error_set(err, "%s %s/%s has no label FC_FRAMEWORK_NAME", object_kind_name(kind), meta->ns, meta->name);
		kept_free(&kept);
		return -1;
	}
	entry = find_or_add(cache, kind, meta->ns, meta->name);
	entry->seen = true;
	old = meta_of(entry);
	if (old != NULL && strcmp(old->uid, meta->uid) == 0) {
		if (version_compare(meta->resource_version, old->resource_version) < 0) {
			kept_free(&kept);
			return 0;
		}
		if (kept_same(entry, &kept)) {
			store(entry, &kept);
			return 0;
		}
		if (strcmp(framework_of(kind, old), framework_of(kind, meta)) == 0) {
			store(entry, &kept);
			cache->listener->changed(cache->arg, entry);
			return 0;
		}
		/* its label names another Framework now */
		remove_object(cache, entry, meta->resource_version, END_OF_SIGHT);
	} else if (old != NULL) {
		cache->listener->missed(cache->arg, entry);
		remove_object(cache, entry, meta->resource_version, END_REPLACED);
	}
	store(entry, &kept);
	link_shard(cache, entry, shard_of_key(meta->ns, framework_of(kind, meta), cache->shard_count));
	cache->listener->changed(cache->arg, entry);
	return 0;
}

static void forget(struct cache *cache, enum object_kind kind, const struct object_meta *meta)
{
	struct cache_entry *entry = find(cache, kind, meta->ns, meta->name);
	const struct object_meta *old = entry == NULL ? NULL : meta_of(entry);

	if (old == NULL || strcmp(old->uid, meta->uid) != 0)
		return;
	/* Frameworks are watched without a selector: no event but a deletion takes them out of sight */
	remove_object(cache, entry, meta->resource_version,
		      kind == KIND_FRAMEWORK || meta->deletion_time != 0 ? END_CERTAIN : END_OF_SIGHT);
	free_if_unused(cache, entry);
}

int cache_deleted_raw(struct cache *cache, enum object_kind kind, const struct reflector_object *object,
		      struct error *err)
{
	struct object_meta meta;

	if (object_meta_read(object->data, object->len, &meta, err) < 0)
		return -1;
	forget(cache, kind, &meta);
	object_meta_free(&meta);
	return 0;
}

void cache_unreadable(struct cache *cache, enum object_kind kind, const char *ns, const char *name)
{
	struct cache_entry *entry = find(cache, kind, ns, name);

	if (entry != NULL)
		entry->seen = true;
}

static bool scope_covers(const struct scope *scope, const struct cache_entry *entry)
{
	return scope->ns[0] == '\0' || strcmp(scope->ns, entry->ns) == 0;
}

void cache_list_begin(struct cache *cache, const char *ns, enum object_kind kind)
{
	struct scope *scope = find_or_add_scope(cache, ns);
	struct cache_entry *entry;
	struct cache_entry *next;

	scope->listing[kind] = true;
	HASH_ITER(hh, cache->kinds[kind], entry, next)
		if (scope_covers(scope, entry))
			entry->seen = false;
}

void cache_list_end(struct cache *cache, const char *ns, enum object_kind kind, const char *resource_version)
{
	struct scope *scope = find_or_add_scope(cache, ns);
	struct cache_entry *entry;
	struct cache_entry *next;

	HASH_ITER(hh, cache->kinds[kind], entry, next) {
		const struct object_meta *meta = meta_of(entry);

		if (entry->seen || meta == NULL || !scope_covers(scope, entry) ||
		    version_compare(meta->resource_version, resource_version) > 0)
			continue;
		cache->listener->missed(cache->arg, entry);
		remove_object(cache, entry, resource_version,
			      kind == KIND_FRAMEWORK || meta->deletion_time != 0 ? END_CERTAIN : END_NOT_LISTED);
		free_if_unused(cache, entry);
	}
	scope->listing[kind] = false;
	mem_replace(&scope->version[kind], resource_version);
}

void cache_progress(struct cache *cache, const char *ns, enum object_kind kind, const char *resource_version)
{
	struct scope *scope = find_or_add_scope(cache, ns);

	if (!scope->listing[kind])
		mem_replace(&scope->version[kind], resource_version);
}

void cache_put_scopes(const struct cache *cache, struct bus_snapshot_end *out)
{
	for (const struct scope *scope = cache->scopes; scope != NULL; scope = scope->next) {
		struct bus_scope *put = bus_snapshot_end_add(out, scope->ns);

		for (size_t kind = 0; kind < KIND_COUNT; kind++)
			put->resource_version[kind] = mem_strdup(scope->version[kind]);
	}
}

size_t cache_count(const struct cache *cache, enum object_kind kind)
{
	return cache->count[kind];
}

struct cache_entry *cache_first(const struct cache *cache, uint32_t shard)
{
	return cache->shards[shard];
}

struct cache_entry *cache_next(const struct cache_entry *entry)
{
	return entry->shard_next;
}

enum object_kind cache_entry_kind(const struct cache_entry *entry)
{
	return entry->kind;
}

uint32_t cache_entry_shard(const struct cache_entry *entry)
{
	return entry->shard;
}

const char *cache_entry_ns(const struct cache_entry *entry)
{
	return entry->ns;
}

const char *cache_entry_name(const struct cache_entry *entry)
{
	return entry->key + entry->ns_len + 1;
}

void cache_entry_write(struct buf *out, const struct cache_entry *entry)
{
	if (entry->framework != NULL)
		buf_append(out, entry->framework->text, entry->framework->len);
	else if (entry->config_map != NULL)
		config_map_write(out, entry->config_map);
	else if (entry->pod != NULL)
		pod_write(out, entry->pod);
	else if (entry->workload != NULL)
		workload_write(out, entry->workload);
}

void *cache_entry_note(const struct cache_entry *entry)
{
	return entry->note;
}

void cache_entry_set_note(struct cache *cache, struct cache_entry *entry, void *note)
{
	entry->note = note;
	if (note == NULL)
		free_if_unused(cache, entry);
}
