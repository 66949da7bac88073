/* The cache of observed objects; see cache.h. Objects are identified by namespace/name + uid: another uid under a known
 * name is a deletion and a creation, or, with an older resourceVersion, no news. An object never goes back to an older
 * resourceVersion, and a list taken at an older version than an object's does not delete it (common/README.md §5.4,
 * §5.5). */
#include "watcher/view/cache.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "common/bus/message.h"
#include "common/framework/slim.h"
#include "common/framework/workload.h"
#include "watcher/view/fold.h"
#include "watcher/view/scopes.h"

enum {
	FOLD_AFTER_TURNS = 2,     /* at least one whole turn without news */
	FOLD_WORK_MAX = 2048,     /* at once: some ms */
	FOLD_FRAMEWORK_WORK = 32, /* of a Framework, that of a Pod being 1 */
	SORT_FROM = 16,           /* Pods in a shard on average */
	FOLDED_TO_TRIM = 1024,    /* so much work gives back memory that is worth asking for */
};

struct cache_entry {
	uint8_t kind; /* enum object_kind */
	bool seen;    /* in the list that is under way */
	bool is_folded;
	uint8_t turn; /* of cache_fold(), when it was stored */
	uint32_t shard;
	uint32_t ns_len; /* key: namespace, NUL, name */
	union {          /* by kind and is_folded; NULL when the entry is not present */
		void *object;
		struct cached_framework *framework;
		struct config_map *config_map;
		struct pod *pod;
		struct workload *workload;
		struct folded_object *folded;
	};
	void *note;
	struct cache_entry *shard_previous;
	struct cache_entry *shard_next;
	UT_hash_handle hh;
	char key[];
};

struct cache {
	uint32_t shard_count;
	const struct cache_listener *listener;
	void *arg;
	struct cache_entry *kinds[KIND_COUNT]; /* uthash heads, by key; absent ones with a note too */
	struct cache_entry *shards[BUS_SHARD_MAX];
	size_t count[KIND_COUNT];
	unsigned listing[KIND_COUNT]; /* in so many scopes */
	struct scope *scopes;

	/* folding */
	struct folder *folder;
	uint32_t fold_shard; /* the next one to be looked at */
	uint8_t fold_turn;   /* each is one look at all shards */
	size_t folded;       /* since memory was last given back */
};

struct cache *cache_new(uint32_t shard_count, const struct cache_listener *listener, void *arg)
{
	struct cache *cache = mem_calloc(1, sizeof(*cache));

	cache->shard_count = shard_count;
	cache->folder = folder_new();
	cache_listen(cache, listener, arg);
	return cache;
}

void cache_listen(struct cache *cache, const struct cache_listener *listener, void *arg)
{
	cache->listener = listener;
	cache->arg = arg;
}

static void drop_object(struct cache_entry *entry)
{
	if (entry->is_folded) {
		free(entry->folded);
	} else {
		switch ((enum object_kind)entry->kind) {
		case KIND_FRAMEWORK: cached_framework_free(entry->framework); break;
		case KIND_CONFIG_MAP: config_map_free(entry->config_map); break;
		case KIND_WORKLOAD: workload_free(entry->workload); break;
		default: pod_free(entry->pod); break;
		}
	}
	entry->object = NULL;
	entry->is_folded = false;
}

static void entry_free(struct cache_entry *entry)
{
	drop_object(entry);
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
	scopes_free(cache->scopes);
	folder_free(cache->folder);
	free(cache);
}

/* One that is folded has to be unfolded before. */
static const struct object_meta *meta_of(const struct cache_entry *entry)
{
	if (entry->object == NULL)
		return NULL;
	switch ((enum object_kind)entry->kind) {
	case KIND_FRAMEWORK: return &entry->framework->meta;
	case KIND_CONFIG_MAP: return &entry->config_map->meta;
	case KIND_WORKLOAD: return &entry->workload->meta;
	default: return &entry->pod->meta;
	}
}

/* The Framework that an object belongs to: itself, or the one its label names. */
static const char *framework_of(enum object_kind kind, const struct object_meta *meta)
{
	return kind == KIND_FRAMEWORK ? meta->name : meta->framework_name;
}

static struct cache_entry *find(const struct cache *cache, enum object_kind kind, const char *ns, const char *name)
{
	cleanup_free char *key = mem_printf("%s/%s", ns, name);
	size_t ns_len = strlen(ns);
	struct cache_entry *entry;

	key[ns_len] = '\0';
	HASH_FIND(hh, cache->kinds[kind], key, ns_len + 1 + strlen(name), entry);
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
	entry->kind = (uint8_t)kind;
	entry->ns_len = (uint32_t)ns_len;
	memcpy(entry->key, ns, ns_len);
	memcpy(entry->key + ns_len + 1, name, name_len);
	HASH_ADD_KEYPTR(hh, cache->kinds[kind], entry->key, ns_len + 1 + name_len, entry);
	return entry;
}

static void free_if_unused(struct cache *cache, struct cache_entry *entry)
{
	if (entry->note != NULL || entry->object != NULL)
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
	entry->object = NULL;
	/* A peer that gets a Framework with another uid knows that the former one is deleted. It may have the new one
	 * already, which an absence at that version would remove. */
	if (cache->listener != NULL && (end != END_REPLACED || entry->kind != KIND_FRAMEWORK))
		cache->listener->gone(cache->arg, entry, &absence);
	drop_object(&last);
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

/* The kept form of an object, in an entry without a key; drop_object frees it. NULL and *err: it cannot be read. */
static const struct object_meta *kept_read(enum object_kind kind, const struct reflector_object *object,
					   struct cache_entry *out, struct error *err)
{
	*out = (struct cache_entry){.kind = (uint8_t)kind};
	switch (kind) {
	case KIND_FRAMEWORK: out->framework = framework_read(object->data, object->len, err); break;
	case KIND_CONFIG_MAP: out->config_map = config_map_read(object->data, object->len, err); break;
	case KIND_WORKLOAD: out->workload = workload_read(object->data, object->len, err); break;
	default: out->pod = pod_read(object->data, object->len, err); break;
	}
	return meta_of(out);
}

static bool kept_same(const struct cache_entry *entry, const struct cache_entry *kept)
{
	switch ((enum object_kind)entry->kind) {
	case KIND_FRAMEWORK: /* every write of one changes its version */
		return strcmp(entry->framework->meta.resource_version, kept->framework->meta.resource_version) == 0;
	case KIND_CONFIG_MAP: return config_map_same(entry->config_map, kept->config_map);
	case KIND_WORKLOAD: return workload_same(entry->workload, kept->workload);
	default: return pod_same(entry->pod, kept->pod);
	}
}

static void store(const struct cache *cache, struct cache_entry *entry, const struct cache_entry *kept)
{
	drop_object(entry);
	entry->turn = cache->fold_turn;
	entry->object = kept->object;
}

/* ---- folding ---- */

static void unfold(struct cache_entry *entry)
{
	const char *ns = cache_entry_ns(entry);
	const char *name = cache_entry_name(entry);
	struct folded_object *folded = entry->folded;

	if (!entry->is_folded)
		return;
	switch ((enum object_kind)entry->kind) {
	case KIND_FRAMEWORK: entry->framework = unfold_framework(folded, ns, name); break;
	case KIND_CONFIG_MAP: entry->config_map = unfold_config_map(folded, ns, name); break;
	default: entry->pod = unfold_pod(folded, ns, name); break;
	}
	entry->is_folded = false;
	free(folded);
}

/* Returns how much work it was. */
static size_t fold(const struct cache *cache, struct cache_entry *entry)
{
	struct folded_object *folded;

	if (entry->is_folded || entry->object == NULL)
		return 0;
	switch ((enum object_kind)entry->kind) {
	case KIND_FRAMEWORK: folded = fold_framework(cache->folder, entry->framework); break;
	case KIND_CONFIG_MAP: folded = fold_config_map(entry->config_map); break;
	case KIND_POD: folded = fold_pod(entry->pod); break;
	default: folded = NULL; break;
	}
	if (folded == NULL)
		return 0;
	drop_object(entry);
	entry->folded = folded;
	entry->is_folded = true;
	return entry->kind == KIND_FRAMEWORK ? FOLD_FRAMEWORK_WORK : 1;
}

bool cache_fold(struct cache *cache)
{
	size_t work = 0;

	for (struct cache_entry *entry = cache->shards[cache->fold_shard]; entry != NULL && work < FOLD_WORK_MAX;
	     entry = entry->shard_next)
		if ((uint8_t)(cache->fold_turn - entry->turn) >= FOLD_AFTER_TURNS)
			work += fold(cache, entry);
	cache->folded += work;
	if (work >= FOLD_WORK_MAX)
		return true;
	if (++cache->fold_shard < cache->shard_count)
		return false;
	cache->fold_shard = 0;
	cache->fold_turn++;
	if (cache->folded >= FOLDED_TO_TRIM)
		malloc_trim(0);
	cache->folded = 0;
	return false;
}

/* ---- what the reflectors say ---- */

static void report_changed(const struct cache *cache, struct cache_entry *entry)
{
	if (cache->listener != NULL)
		cache->listener->changed(cache->arg, entry);
}

int cache_present_raw(struct cache *cache, enum object_kind kind, const struct reflector_object *object,
		      struct error *err)
{
	struct cache_entry kept;
	const struct object_meta *meta = kept_read(kind, object, &kept, err);
	const struct object_meta *old;
	struct cache_entry *entry;
	bool folded;

	if (meta == NULL)
		return -1;
	reflector_note_version(object, meta->resource_version);
	entry = find_or_add(cache, kind, meta->ns, meta->name);
	entry->seen = true;
	folded = entry->is_folded;
	if (folded && kind == KIND_FRAMEWORK && fold_is_framework(entry->folded, meta)) { /* a list shows it again */
		drop_object(&kept);
		return 0;
	}
	unfold(entry);
	old = meta_of(entry);
	if (old != NULL && strcmp(old->uid, meta->uid) == 0) {
		if (version_compare(meta->resource_version, old->resource_version) < 0) {
			drop_object(&kept);
			return 0;
		}
		if (kept_same(entry, &kept)) {
			store(cache, entry, &kept);
			if (folded) /* a list of all of them unfolds one at a time */
				fold(cache, entry);
			return 0;
		}
		if (strcmp(framework_of(kind, old), framework_of(kind, meta)) == 0) {
			store(cache, entry, &kept);
			report_changed(cache, entry);
			return 0;
		}
		/* its label names another Framework now, or none */
		remove_object(cache, entry, meta->resource_version, END_OF_SIGHT);
	} else if (old != NULL && version_compare(meta->resource_version, old->resource_version) < 0) {
		drop_object(&kept); /* it had gone before the one that we know was created */
		return 0;
	} else if (old != NULL) {
		if (cache->listener != NULL)
			cache->listener->missed(cache->arg, entry);
		remove_object(cache, entry, meta->resource_version, END_REPLACED);
	}
	if (framework_of(kind, meta)[0] == '\0') { /* the selector matches an empty label, too */
		error_set(err, "%s %s/%s has no label FC_FRAMEWORK_NAME", object_kind_name(kind), meta->ns, meta->name);
		drop_object(&kept);
		free_if_unused(cache, entry);
		return -1;
	}
	store(cache, entry, &kept);
	link_shard(cache, entry, shard_of_key(meta->ns, framework_of(kind, meta), cache->shard_count));
	if (cache->listing[kind] > 0) /* most listed objects live for long */
		fold(cache, entry);
	report_changed(cache, entry);
	return 0;
}

static void forget(struct cache *cache, enum object_kind kind, const struct object_meta *meta)
{
	struct cache_entry *entry = find(cache, kind, meta->ns, meta->name);
	const struct object_meta *old;

	if (entry != NULL)
		unfold(entry);
	old = entry == NULL ? NULL : meta_of(entry);
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
	reflector_note_version(object, meta.resource_version);
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

void cache_list_begin(struct cache *cache, const char *ns, enum object_kind kind)
{
	struct scope *scope = scopes_get(&cache->scopes, ns);
	struct cache_entry *entry;
	struct cache_entry *next;

	cache->listing[kind] += !scope->listing[kind];
	scope->listing[kind] = true;
	HASH_ITER(hh, cache->kinds[kind], entry, next)
		if (scope_covers(scope, cache_entry_ns(entry)))
			entry->seen = false;
}

void cache_list_end(struct cache *cache, const char *ns, enum object_kind kind, const char *resource_version)
{
	struct scope *scope = scopes_get(&cache->scopes, ns);
	struct cache_entry *entry;
	struct cache_entry *next;

	HASH_ITER(hh, cache->kinds[kind], entry, next) {
		const struct object_meta *meta;

		if (entry->seen || !scope_covers(scope, cache_entry_ns(entry)))
			continue;
		unfold(entry);
		meta = meta_of(entry);
		if (meta == NULL || version_compare(meta->resource_version, resource_version) > 0)
			continue;
		if (cache->listener != NULL)
			cache->listener->missed(cache->arg, entry);
		remove_object(cache, entry, resource_version,
			      kind == KIND_FRAMEWORK || meta->deletion_time != 0 ? END_CERTAIN : END_NOT_LISTED);
		free_if_unused(cache, entry);
	}
	cache->listing[kind] -= scope->listing[kind];
	scope->listing[kind] = false;
	mem_replace(&scope->version[kind], resource_version);
}

void cache_progress(struct cache *cache, const char *ns, enum object_kind kind, const char *resource_version)
{
	struct scope *scope = scopes_get(&cache->scopes, ns);

	if (!scope->listing[kind])
		mem_replace(&scope->version[kind], resource_version);
}

void cache_put_scopes(const struct cache *cache, struct bus_snapshot_end *out)
{
	scopes_put(cache->scopes, out);
}

size_t cache_count(const struct cache *cache, enum object_kind kind)
{
	return cache->count[kind];
}

static int by_key(const struct cache_entry *a, const struct cache_entry *b)
{
	int order = strcmp(cache_entry_ns(a), cache_entry_ns(b));

	return order != 0 ? order : strcmp(cache_entry_name(a), cache_entry_name(b));
}

/* The names of what a Framework owns begin with its own. */
struct cache_entry *cache_first(struct cache *cache, uint32_t shard)
{
	struct cache_entry *previous = NULL;

	if (cache->count[KIND_POD] / cache->shard_count < SORT_FROM)
		return cache->shards[shard];
	LL_SORT2(cache->shards[shard], by_key, shard_next);
	for (struct cache_entry *entry = cache->shards[shard]; entry != NULL; entry = entry->shard_next) {
		entry->shard_previous = previous;
		previous = entry;
	}
	return cache->shards[shard];
}

struct cache_entry *cache_next(const struct cache_entry *entry)
{
	return entry->shard_next;
}

enum object_kind cache_entry_kind(const struct cache_entry *entry)
{
	return (enum object_kind)entry->kind;
}

uint32_t cache_entry_shard(const struct cache_entry *entry)
{
	return entry->shard;
}

const char *cache_entry_ns(const struct cache_entry *entry)
{
	return entry->key;
}

const char *cache_entry_name(const struct cache_entry *entry)
{
	return entry->key + entry->ns_len + 1;
}

void cache_entry_write(struct buf *out, const struct cache_entry *entry)
{
	const char *ns = cache_entry_ns(entry);
	const char *name = cache_entry_name(entry);
	struct config_map *config_map = entry->config_map;
	struct pod *pod = entry->pod;

	switch ((enum object_kind)entry->kind) {
	case KIND_FRAMEWORK:
		if (entry->is_folded)
			fold_write_framework(out, entry->folded, ns, name);
		else
			buf_append(out, entry->framework->text, entry->framework->len);
		return;
	case KIND_WORKLOAD: workload_write(out, entry->workload); return;
	case KIND_CONFIG_MAP:
		if (entry->is_folded)
			config_map = unfold_config_map(entry->folded, ns, name);
		config_map_write(out, config_map);
		if (entry->is_folded)
			config_map_free(config_map);
		return;
	default:
		if (entry->is_folded)
			pod = unfold_pod(entry->folded, ns, name);
		pod_write(out, pod);
		if (entry->is_folded)
			pod_free(pod);
		return;
	}
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
