/* Caches a few numbers of each Framework; see readiness.h. */
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

/* The readiness of one Framework, by the last object received. */
struct tally {
	UT_hash_handle hh;
	char *key; /* "namespace/name" */
	char *uid;
	char *resource_version;
	char *missing;
	bool claimed;    /* by readiness_claim(), in this version */
	bool streamed;   /* the bus has sent it; false: only a read has returned it */
	int64_t read_ms; /* when a read returned it last, or 0 */
	bool counted;
	int64_t ready;
	int64_t total;
	struct gang *packed; /* when not counted: what counting needs; NULL: not kept */
	size_t packed_bytes;
	uint64_t resync; /* the last one that contained it */
};

struct readiness {
	const struct readiness_handler *handler;
	void *arg;
	struct tally *tallies;
	size_t packed_bytes; /* of all */
	struct shard_set granted;
	struct shard_set complete; /* of those */
	bool live;
	uint64_t resync; /* counts them */
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

static void drop_packed(struct readiness *readiness, struct tally *tally)
{
	if (tally->packed == NULL)
		return;
	gang_free(tally->packed);
	free(tally->packed);
	tally->packed = NULL;
	readiness->packed_bytes -= tally->packed_bytes;
	tally->packed_bytes = 0;
}

static void tally_free(struct readiness *readiness, struct tally *tally)
{
	drop_packed(readiness, tally);
	HASH_DEL(readiness->tallies, tally);
	free(tally->key);
	free(tally->uid);
	free(tally->resource_version);
	free(tally->missing);
	free(tally);
}

void readiness_free(struct readiness *readiness)
{
	struct tally *tally;
	struct tally *next;

	if (readiness == NULL)
		return;
	HASH_ITER(hh, readiness->tallies, tally, next)
		tally_free(readiness, tally);
	free(readiness);
}

static struct tally *find(const struct readiness *readiness, const char *key)
{
	struct tally *tally;

	HASH_FIND_STR(readiness->tallies, key, tally);
	return tally;
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static void set_counted(struct tally *tally, const struct gang *gang)
{
	cleanup_buf struct buf missing = {0};

	gang_write_missing(&missing, gang);
	mem_replace(&tally->missing, missing.data);
	tally->counted = true;
	tally->ready = gang->ready;
	tally->total = gang->total;
}

static void set_uncounted(struct tally *tally)
{
	mem_replace(&tally->missing, NULL);
	tally->counted = false;
}

/* Leaves a status that it cannot read uncounted: a read of the Framework then reports the error. */
static void count(struct tally *tally, struct gang *gang)
{
	struct error err;

	if (gang_unpack(gang, &err) == 0) {
		set_counted(tally, gang);
		return;
	}
	log_v(1, "Framework %s: %s", tally->key, err.message);
	set_uncounted(tally);
}

/* Decompressing a status of thousands of Tasks is worth it only for somebody: until then it is kept as it is. Beyond
 * PACKED_MAX_BYTES, a read of the Framework finds the count. Takes the content of *gang. */
static void pack(struct readiness *readiness, struct tally *tally, struct gang *gang)
{
	size_t bytes = strlen(gang->packed);

	set_uncounted(tally);
	if (bytes > PACKED_MAX_BYTES - readiness->packed_bytes)
		return;
	tally->packed = mem_alloc(sizeof(*tally->packed));
	*tally->packed = *gang;
	*gang = (struct gang){0};
	tally->packed_bytes = bytes;
	readiness->packed_bytes += bytes;
}

/* The tally, whose count is then out of date; NULL: the object is older than the known one, or is no Framework.
 * streamed: the object comes from the bus, not from a read. */
static struct tally *take(struct readiness *readiness, const struct object_meta *meta, bool streamed)
{
	cleanup_free char *key = mem_printf("%s/%s", meta->ns, meta->name);
	struct tally *tally = find(readiness, key);

	if (!namespace_name_valid(meta->ns))
		return NULL;
	if (tally == NULL) {
		tally = mem_calloc(1, sizeof(*tally));
		tally->key = mem_strdup(key);
		HASH_ADD_KEYPTR(hh, readiness->tallies, tally->key, strlen(tally->key), tally);
	} else if ((streamed ? tally->resync == readiness->resync : tally->streamed) &&
		   version_compare(meta->resource_version, tally->resource_version) < 0) {
		tally->streamed |= streamed; /* the newer object follows */
		return NULL;
	}
	if (version_compare(meta->resource_version, tally->resource_version) != 0)
		tally->claimed = false;
	tally->streamed = streamed || (tally->streamed && tally->resync == readiness->resync);
	mem_replace(&tally->uid, meta->uid);
	mem_replace(&tally->resource_version, meta->resource_version);
	tally->resync = readiness->resync;
	drop_packed(readiness, tally);
	return tally;
}

/* ---- the bus ----------------------------------------------------------------------------------------------------- */

static void note_sync(struct readiness *readiness)
{
	bool synced = readiness_synced(readiness);

	if (readiness->was_synced && !synced)
		readiness->lost_ms = clock_boot_ms();
	readiness->was_synced = synced;
}

void readiness_granted(struct readiness *readiness, const struct shard_set *fresh)
{
	readiness->resync++;
	for (size_t i = 0; i < ARRAY_LEN(fresh->bits); i++) {
		readiness->granted.bits[i] |= fresh->bits[i];
		readiness->complete.bits[i] &= ~fresh->bits[i];
	}
	note_sync(readiness);
}

void readiness_revoked(struct readiness *readiness, const struct shard_set *shards)
{
	for (size_t i = 0; i < ARRAY_LEN(shards->bits); i++) {
		readiness->granted.bits[i] &= ~shards->bits[i];
		readiness->complete.bits[i] &= ~shards->bits[i];
	}
	note_sync(readiness);
}

bool readiness_object(struct readiness *readiness, const char *text, size_t len)
{
	const struct readiness_handler *handler = readiness->handler;
	struct object_parts parts;
	struct gang gang = {0};
	struct tally *tally;
	struct error err;

	if (object_parts_read(text, len, &parts, &err) < 0) {
		log_error("cannot read a Framework from the watcher; it is ignored: %s", err.message);
		return false;
	}
	/* a resync replaces known objects whatever their version: the storage may have been restored */
	tally = take(readiness, &parts.meta, true);
	if (tally != NULL) {
		if (gang_read(&parts, &gang, &err) < 0) {
			log_v(1, "Framework %s: %s", tally->key, err.message);
			set_uncounted(tally);
		} else if (gang.packed != NULL && !handler->wanted(readiness->arg, tally->key)) {
			pack(readiness, tally, &gang);
		} else {
			count(tally, &gang);
		}
		handler->changed(readiness->arg, tally->key);
	}
	gang_free(&gang);
	object_meta_free(&parts.meta);
	return true;
}

void readiness_absent(struct readiness *readiness, const struct bus_absent *absent)
{
	cleanup_free char *key = mem_printf("%s/%s", absent->ns, absent->name);
	struct tally *tally = find(readiness, key);

	if (tally == NULL || (tally->resync == readiness->resync &&
			      version_compare(absent->resource_version, tally->resource_version) < 0))
		return; /* made anew since */
	tally_free(readiness, tally);
	readiness->handler->changed(readiness->arg, key);
}

void readiness_complete(struct readiness *readiness, const struct shard_set *shards, uint32_t shard_count)
{
	struct tally *tally;
	struct tally *next;

	for (size_t i = 0; i < ARRAY_LEN(shards->bits); i++)
		readiness->complete.bits[i] |= shards->bits[i] & readiness->granted.bits[i];
	note_sync(readiness);
	HASH_ITER(hh, readiness->tallies, tally, next) {
		const char *slash = strchr(tally->key, '/');
		cleanup_free char *ns = mem_strndup(tally->key, (size_t)(slash - tally->key));
		cleanup_free char *key = NULL;

		if (tally->resync == readiness->resync ||
		    !shard_set_has(shards, shard_of_key(ns, slash + 1, shard_count)))
			continue;
		key = mem_strdup(tally->key);
		tally_free(readiness, tally);
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
	struct tally *tally = take(readiness, meta, false);

	if (tally == NULL)
		return;
	tally->read_ms = clock_boot_ms();
	set_counted(tally, gang);
}

void readiness_forget(struct readiness *readiness, const char *key)
{
	struct tally *tally = find(readiness, key);

	if (tally != NULL && !tally->streamed)
		tally_free(readiness, tally);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

bool readiness_synced(const struct readiness *readiness)
{
	return readiness->live && !shard_set_empty(&readiness->granted) &&
	       memcmp(&readiness->granted, &readiness->complete, sizeof(readiness->granted)) == 0;
}

bool readiness_admits(const struct readiness *readiness)
{
	return readiness_synced(readiness) ||
	       (readiness->lost_ms != 0 && clock_boot_ms() - readiness->lost_ms < readiness->grace_ms);
}

bool readiness_find(struct readiness *readiness, const char *key, struct readiness_entry *out)
{
	struct tally *tally = find(readiness, key);

	if (tally == NULL)
		return false;
	if (tally->packed != NULL) {
		count(tally, tally->packed);
		drop_packed(readiness, tally);
	}
	*out = (struct readiness_entry){
		.uid = tally->uid == NULL ? "" : tally->uid,
		.resource_version = tally->resource_version == NULL ? "" : tally->resource_version,
		.streamed = tally->streamed,
		.read_ms = tally->read_ms,
		.counted = tally->counted,
		.ready = tally->ready,
		.total = tally->total,
		.missing = tally->missing == NULL ? "[]" : tally->missing,
	};
	return true;
}

bool readiness_claim(struct readiness *readiness, const char *key)
{
	struct tally *tally = find(readiness, key);

	if (tally == NULL || tally->claimed)
		return false;
	tally->claimed = true;
	return true;
}

size_t readiness_count(const struct readiness *readiness)
{
	return HASH_COUNT(readiness->tallies);
}
