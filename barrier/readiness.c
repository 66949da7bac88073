/* The barrier's view of all Frameworks: a few numbers each; see readiness.h. */
#include "barrier/readiness.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "common/framework/names.h"

enum {
	GRACE_MS = 10 * 1000, /* a watch that is resumed, a watcher that is replaced */
	PACKED_MAX_BYTES = 16 * 1024 * 1024,
};

struct item {
	UT_hash_handle hh;
	char *key; /* "namespace/name" */
	char *uid;
	char *resource_version;
	char *missing;
	bool counted;
	int64_t ready;
	int64_t total;
	struct gang *packed; /* when not counted: what counting needs; NULL: not kept */
	size_t packed_bytes;
	uint64_t round; /* of the resync it was last shown in */
};

struct readiness {
	const struct readiness_handler *handler;
	void *arg;
	struct item *items;
	size_t packed_bytes; /* of all */
	struct range_set granted;
	struct range_set complete; /* of those */
	bool live;
	uint64_t round; /* counts resyncs */
	bool was_synced;
	int64_t lost_ms; /* when it was synced last; 0: never */
	int64_t grace_ms;
};

struct readiness *readiness_new(const struct readiness_handler *handler, void *arg)
{
	struct readiness *readiness = mem_calloc(1, sizeof(*readiness));

	readiness->handler = handler;
	readiness->arg = arg;
	readiness->grace_ms = GRACE_MS;
	return readiness;
}

static void drop_packed(struct readiness *readiness, struct item *item)
{
	if (item->packed == NULL)
		return;
	gang_free(item->packed);
	free(item->packed);
	item->packed = NULL;
	readiness->packed_bytes -= item->packed_bytes;
	item->packed_bytes = 0;
}

static void item_free(struct readiness *readiness, struct item *item)
{
	drop_packed(readiness, item);
	HASH_DEL(readiness->items, item);
	free(item->key);
	free(item->uid);
	free(item->resource_version);
	free(item->missing);
	free(item);
}

void readiness_free(struct readiness *readiness)
{
	struct item *item;
	struct item *next;

	if (readiness == NULL)
		return;
	HASH_ITER(hh, readiness->items, item, next)
		item_free(readiness, item);
	free(readiness);
}

static struct item *find(const struct readiness *readiness, const char *key)
{
	struct item *item;

	HASH_FIND_STR(readiness->items, key, item);
	return item;
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static void set_counted(struct item *item, const struct gang *gang)
{
	cleanup_buf struct buf missing = {0};

	gang_write_missing(&missing, gang);
	mem_replace(&item->missing, missing.data);
	item->counted = true;
	item->ready = gang->ready;
	item->total = gang->total;
}

static void set_uncounted(struct item *item)
{
	mem_replace(&item->missing, NULL);
	item->counted = false;
}

/* What cannot be read counts as not counted: reading it tells what is wrong with it. */
static void count(struct item *item, struct gang *gang)
{
	struct error err;

	if (gang_unpack(gang, &err) == 0) {
		set_counted(item, gang);
		return;
	}
	log_v(1, "Framework %s: %s", item->key, err.message);
	set_uncounted(item);
}

/* Decompressing a status of thousands of Tasks is worth it only for somebody: until then it is kept as it is. Beyond
 * what may be kept, reading it tells. Takes what is in *gang. */
static void pack(struct readiness *readiness, struct item *item, struct gang *gang)
{
	size_t bytes = strlen(gang->packed);

	set_uncounted(item);
	if (bytes > PACKED_MAX_BYTES - readiness->packed_bytes)
		return;
	item->packed = mem_alloc(sizeof(*item->packed));
	*item->packed = *gang;
	*gang = (struct gang){0};
	item->packed_bytes = bytes;
	readiness->packed_bytes += bytes;
}

/* The item, whose count is then out of date; NULL: older than what is known, or no Framework. */
static struct item *take(struct readiness *readiness, const struct object_meta *meta, bool newer_only)
{
	cleanup_free char *key = mem_printf("%s/%s", meta->ns, meta->name);
	struct item *item = find(readiness, key);

	if (!namespace_name_valid(meta->ns))
		return NULL;
	if (item == NULL) {
		item = mem_calloc(1, sizeof(*item));
		item->key = mem_strdup(key);
		HASH_ADD_KEYPTR(hh, readiness->items, item->key, strlen(item->key), item);
	} else if ((newer_only || item->round == readiness->round) &&
		   version_compare(meta->resource_version, item->resource_version) < 0) {
		return NULL;
	}
	mem_replace(&item->uid, meta->uid);
	mem_replace(&item->resource_version, meta->resource_version);
	item->round = readiness->round;
	drop_packed(readiness, item);
	return item;
}

/* ---- the bus ----------------------------------------------------------------------------------------------------- */

static void note_sync(struct readiness *readiness)
{
	bool synced = readiness_synced(readiness);

	if (readiness->was_synced && !synced)
		readiness->lost_ms = clock_boot_ms();
	readiness->was_synced = synced;
}

void readiness_granted(struct readiness *readiness, const struct range_set *fresh)
{
	readiness->round++;
	for (size_t i = 0; i < ARRAY_LEN(fresh->bits); i++) {
		readiness->granted.bits[i] |= fresh->bits[i];
		readiness->complete.bits[i] &= ~fresh->bits[i];
	}
	note_sync(readiness);
}

void readiness_revoked(struct readiness *readiness, const struct range_set *ranges)
{
	for (size_t i = 0; i < ARRAY_LEN(ranges->bits); i++) {
		readiness->granted.bits[i] &= ~ranges->bits[i];
		readiness->complete.bits[i] &= ~ranges->bits[i];
	}
	note_sync(readiness);
}

bool readiness_object(struct readiness *readiness, const char *text, size_t len)
{
	const struct readiness_handler *handler = readiness->handler;
	struct object_parts parts;
	struct gang gang = {0};
	struct item *item;
	struct error err;

	if (object_parts_read(text, len, &parts, &err) < 0) {
		log_error("skipped a Framework from the watcher: %s", err.message);
		return false;
	}
	/* what a resync shows replaces what was known, whatever its version: the storage may have been restored */
	item = take(readiness, &parts.meta, false);
	if (item != NULL) {
		if (gang_read(&parts, &gang, &err) < 0) {
			log_v(1, "Framework %s: %s", item->key, err.message);
			set_uncounted(item);
		} else if (gang.packed != NULL && !handler->wanted(readiness->arg, item->key)) {
			pack(readiness, item, &gang);
		} else {
			count(item, &gang);
		}
		handler->changed(readiness->arg, item->key);
	}
	gang_free(&gang);
	object_meta_free(&parts.meta);
	return true;
}

void readiness_absent(struct readiness *readiness, const struct bus_absent *absent)
{
	cleanup_free char *key = mem_printf("%s/%s", absent->ns, absent->name);
	struct item *item = find(readiness, key);

	if (item == NULL ||
	    (item->round == readiness->round && version_compare(absent->resource_version, item->resource_version) < 0))
		return; /* made anew since */
	item_free(readiness, item);
	readiness->handler->changed(readiness->arg, key);
}

void readiness_complete(struct readiness *readiness, const struct range_set *ranges, uint32_t shards)
{
	struct item *item;
	struct item *next;

	for (size_t i = 0; i < ARRAY_LEN(ranges->bits); i++)
		readiness->complete.bits[i] |= ranges->bits[i] & readiness->granted.bits[i];
	note_sync(readiness);
	HASH_ITER(hh, readiness->items, item, next) {
		const char *slash = strchr(item->key, '/');
		cleanup_free char *ns = mem_strndup(item->key, (size_t)(slash - item->key));
		cleanup_free char *key = NULL;

		if (item->round == readiness->round || !range_set_has(ranges, range_of_key(ns, slash + 1, shards)))
			continue;
		key = mem_strdup(item->key);
		item_free(readiness, item);
		readiness->handler->changed(readiness->arg, key);
	}
}

void readiness_live(struct readiness *readiness, bool live)
{
	readiness->live = live;
	note_sync(readiness);
}

void readiness_set_grace(struct readiness *readiness, int64_t ms)
{
	readiness->grace_ms = ms;
}

void readiness_learn(struct readiness *readiness, const struct object_meta *meta, const struct gang *gang)
{
	struct item *item = take(readiness, meta, true);

	if (item != NULL)
		set_counted(item, gang);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

bool readiness_synced(const struct readiness *readiness)
{
	return readiness->live && !range_set_empty(&readiness->granted) &&
	       memcmp(&readiness->granted, &readiness->complete, sizeof(readiness->granted)) == 0;
}

bool readiness_admits(const struct readiness *readiness)
{
	return readiness_synced(readiness) ||
	       (readiness->lost_ms != 0 && clock_boot_ms() - readiness->lost_ms < readiness->grace_ms);
}

bool readiness_find(struct readiness *readiness, const char *key, struct readiness_entry *out)
{
	struct item *item = find(readiness, key);

	if (item == NULL)
		return false;
	if (item->packed != NULL) {
		count(item, item->packed);
		drop_packed(readiness, item);
	}
	*out = (struct readiness_entry){
		.uid = item->uid == NULL ? "" : item->uid,
		.resource_version = item->resource_version == NULL ? "" : item->resource_version,
		.counted = item->counted,
		.ready = item->ready,
		.total = item->total,
		.missing = item->missing == NULL ? "[]" : item->missing,
	};
	return true;
}

size_t readiness_count(const struct readiness *readiness)
{
	return HASH_COUNT(readiness->items);
}
