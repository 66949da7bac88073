/* Jobs and their Frameworks; see store.h. */
#include "jobs/store.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"

/* Statuses follow within a second, of which the loop takes up to GATHER_SLOW_MS. */
enum { GATHER_MS = 800 };
enum { BACKOFF_BASE_MS = 500, BACKOFF_CAP_MS = 60 * 1000, BACKOFF_RESET_MS = 5 * 60 * 1000 };

struct job_store {
	struct ev_loop *loop;
	void (*wake)(void *arg);
	void *arg;
	struct item *items[JOB_KINDS]; /* by key */
	struct slot *slots;            /* by key */
	struct item *queue;
	uint64_t lists[JOB_KINDS];
	uint64_t framework_list;
	bool synced;
};

struct job_store *job_store_new(struct ev_loop *loop, void (*wake)(void *arg), void *arg)
{
	struct job_store *store = mem_calloc(1, sizeof(*store));

	store->loop = loop;
	store->wake = wake;
	store->arg = arg;
	return store;
}

static char *key_of(const struct object_meta *meta)
{
	return mem_printf("%s/%s", meta->ns, meta->name);
}

/* ---- slots ------------------------------------------------------------------------------------------------------ */

static struct slot *slot_get(struct job_store *store, const char *key)
{
	struct slot *slot;

	HASH_FIND_STR(store->slots, key, slot);
	if (slot != NULL)
		return slot;
	slot = mem_calloc(1, sizeof(*slot));
	slot->key = mem_strdup(key);
	HASH_ADD_KEYPTR(hh, store->slots, slot->key, strlen(slot->key), slot);
	return slot;
}

static void slot_release(struct job_store *store, struct slot *slot)
{
	if (slot->view != NULL || slot->items != NULL)
		return;
	HASH_DEL(store->slots, slot);
	free(slot->key);
	free(slot);
}

static void slot_queue(const struct slot *slot)
{
	for (struct item *item = slot->items; item != NULL; item = item->next_of_slot)
		job_store_queue_soon(item);
}

void job_store_forget(struct slot *slot)
{
	view_free(slot->view);
	slot->view = NULL;
	slot->read = slot->partial = false;
}

/* Whether a job has not ended that wants the Framework. */
static bool is_wanted(const struct slot *slot)
{
	for (const struct item *item = slot->items; item != NULL; item = item->next_of_slot)
		if (!job_finished(&item->job))
			return true;
	return false;
}

/* Only the identity is kept of a Framework whose jobs have ended. Frameworks can be listed before the jobs: most that
 * are Completed are those of ended jobs. If one is needed after all, it is read (look_at() in jobs/act.c). */
static void slot_shed(struct slot *slot)
{
	if (slot->view == NULL || slot->view->text == NULL ||
	    (slot->items == NULL ? !view_completed(slot->view) : is_wanted(slot)))
		return;
	if (slot->read)
		job_store_forget(slot); /* no watch shows its end */
	else
		view_shed(slot->view);
}

/* The Framework is gone. */
static void slot_clear(struct job_store *store, struct slot *slot)
{
	job_store_forget(slot);
	slot_queue(slot);
	slot_release(store, slot);
}

/* ---- the queue -------------------------------------------------------------------------------------------------- */

void job_store_queue(struct item *item)
{
	struct job_store *store = item->store;

	if (item->queued || item->gone)
		return;
	item->queued = true;
	if (store->queue == NULL)
		store->wake(store->arg);
	DL_APPEND(store->queue, item);
}

void job_store_queue_all(struct job_store *store)
{
	struct item *item;
	struct item *next;

	for (enum job_kind kind = 0; kind < JOB_KINDS; kind++)
		HASH_ITER(hh, store->items[kind], item, next)
			job_store_queue(item);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct item *item = timer->data;

	(void)loop;
	(void)events;
	item->waits = false;
	job_store_queue(item);
}

void job_store_queue_after(struct item *item, int64_t wait_ms)
{
	struct ev_loop *loop = item->store->loop;

	ev_timer_stop(loop, &item->timer);
	ev_now_update(loop);
	ev_timer_set(&item->timer, (double)wait_ms / 1000, 0);
	ev_timer_start(loop, &item->timer);
}

void job_store_queue_within(struct item *item, int64_t wait_ms)
{
	if (!ev_is_active(&item->timer) || ev_timer_remaining(item->store->loop, &item->timer) > (double)wait_ms / 1000)
		job_store_queue_after(item, wait_ms);
}

void job_store_queue_soon(struct item *item)
{
	if (!item->queued && !item->gone && !item->waits)
		job_store_queue_within(item, GATHER_MS);
}

/* ---- jobs ------------------------------------------------------------------------------------------------------- */

static void drop_translation(struct item *item)
{
	if (item->translated)
		job_translation_free(&item->translation);
	item->translated = false;
	free(item->spec);
	item->spec = NULL;
	free(item->note);
	item->note = NULL;
	free(item->problem);
	item->problem = NULL;
	free(item->said);
	item->said = NULL;
	item->checked = 0;
	item->changes = (struct changes){0};
	item->absent = false;
}

/* Of a job that has ended hardly more is kept than who it is and when it ended. If it is to go on after all, that is
 * from a version which the watch shows. */
static void item_shed(struct item *item)
{
	char *said = item->said; /* (it may be said again of a job whose status somebody removes) */

	if (!job_finished(&item->job))
		return;
	job_shed(&item->job);
	item->said = NULL;
	drop_translation(item);
	item->said = said;
	if (item->wrote != NULL) {
		json_decref(item->wrote);
		item->wrote = json_null();
	}
	slot_shed(item->slot);
}

static void item_free(struct item *item)
{
	drop_translation(item);
	job_free(&item->job);
	free(item->key);
	free(item->news);
	free(item->news_version);
	json_decref(item->wrote);
	free(item);
}

void job_store_release(struct item *item)
{
	if (item->gone && item->call == NULL)
		item_free(item);
}

static void item_remove(struct job_store *store, struct item *item)
{
	if (item->queued)
		DL_DELETE(store->queue, item);
	item->queued = false;
	item->gone = true;
	HASH_DEL(store->items[item->job.kind], item);
	ev_timer_stop(store->loop, &item->timer);
	LL_DELETE2(item->slot->items, item, next_of_slot);
	slot_queue(item->slot); /* another job may have waited for the name */
	if (item->slot->items == NULL && item->slot->read)
		job_store_forget(item->slot); /* no watch shows its end */
	slot_shed(item->slot);
	slot_release(store, item->slot);
	job_store_release(item);
}

void job_store_free(struct job_store *store)
{
	struct slot *slot;
	struct slot *next_slot;
	struct item *item;
	struct item *next;

	if (store == NULL)
		return;
	for (enum job_kind kind = 0; kind < JOB_KINDS; kind++)
		HASH_ITER(hh, store->items[kind], item, next)
			item_remove(store, item);
	HASH_ITER(hh, store->slots, slot, next_slot) {
		HASH_DEL(store->slots, slot);
		view_free(slot->view);
		free(slot->key);
		free(slot);
	}
	free(store);
}

/* job: read from the item's object. */
static struct item *item_new(struct job_store *store, const char *key, const struct job *job)
{
	struct item *item = mem_calloc(1, sizeof(*item));
	const struct backoff backoff = {
		.base_ms = BACKOFF_BASE_MS, .cap_ms = BACKOFF_CAP_MS, .reset_ms = BACKOFF_RESET_MS};
	cleanup_free char *slot_key = NULL;
	char name[JOB_FRAMEWORK_NAME_SIZE];

	item->store = store;
	item->key = mem_strdup(key);
	item->job.kind = job->kind;
	item->backoff = backoff;
	item->changing = backoff;
	item->mending = backoff;
	ev_timer_init(&item->timer, on_timer, 0, 0);
	item->timer.data = item;
	slot_key = mem_printf("%s/%s", job->ns, job_framework_name(job->kind, job->name, name));
	item->slot = slot_get(store, slot_key);
	LL_PREPEND2(item->slot->items, item, next_of_slot);
	HASH_ADD_KEYPTR(hh, store->items[job->kind], item->key, strlen(item->key), item);
	return item;
}

const char *job_store_framework_name(const struct item *item)
{
	return strchr(item->slot->key, '/') + 1;
}

/* Whether both jobs become the same Framework. API servers order the members of an object by their names, so that equal
 * specs have equal texts. */
static bool same(const struct job *a, const struct job *b)
{
	const bool same_specs = a->spec == NULL || b->spec == NULL ? a->spec == b->spec : strcmp(a->spec, b->spec) == 0;

	return same_specs && (a->labels == b->labels || json_equal(a->labels, b->labels));
}

/* Takes over what the object says. Another object of the same name is another job, and becomes another item. Returns
 * the item; NULL and *err if the text cannot be read: then nothing has changed. */
static struct item *take_job(struct job_store *store, enum job_kind kind, const char *key, struct item *item,
			     const char *text, size_t len, struct error *err)
{
	struct job job;

	if (job_read(kind, text, len, &job, err) < 0)
		return NULL;
	if (item != NULL && strcmp(item->job.uid, job.uid) != 0) {
		item_remove(store, item);
		item = NULL;
	}
	if (item == NULL)
		item = item_new(store, key, &job);
	if (!item->job.shed && !same(&item->job, &job))
		drop_translation(item);
	job_free(&item->job);
	item->job = job;
	item_shed(item);
	return item;
}

/* Returns the item; it is another one if the news are of another job. */
static struct item *read_news(struct item *item)
{
	cleanup_free char *text = item->news;
	cleanup_free char *key = NULL;
	const uint64_t list = item->list;
	struct item *now;
	struct error err;

	item->news = NULL;
	/* what an own write has made of it may be newer */
	if (text == NULL || version_compare(item->news_version, item->job.version) <= 0)
		return item;
	key = mem_strdup(item->key);
	now = take_job(item->store, item->job.kind, key, item, text, item->news_len, &err);
	if (now != NULL) {
		now->list = list;
		return now;
	}
	log_error("%s %s cannot be read, its former version stays in use: %s", job_names(item->job.kind)->full, key,
		  err.message);
	return item;
}

struct item *job_store_next(struct job_store *store)
{
	struct item *item = store->queue;

	if (item == NULL)
		return NULL;
	DL_DELETE(store->queue, item);
	item->queued = false;
	/* while a write is on the way, its answer may be what the news are about */
	return item->call == NULL ? read_news(item) : item;
}

static void add_news(struct item *item, const char *version, const char *text, size_t len)
{
	if (version_compare(version, item->job.version) <= 0 ||
	    (item->news != NULL && version_compare(version, item->news_version) <= 0))
		return;
	free(item->news);
	item->news = mem_memdup(text, len);
	item->news_len = len;
	mem_replace(&item->news_version, version);
	job_store_queue(item);
}

void job_store_answered(struct item *item, const char *text, size_t len)
{
	struct object_identity identity;

	if (!object_identity_read(text, len, &identity))
		return; /* the watch shows it */
	add_news(item, identity.resource_version, text, len);
	object_identity_free(&identity);
}

int job_store_job(struct job_store *store, enum job_kind kind, const struct reflector_object *object, struct error *err)
{
	struct object_identity identity;
	struct item *item;

	if (!object_identity_read(object->data, object->len, &identity))
		return error_set(err, "a %s has no metadata.namespace, name or resourceVersion, expected strings",
				 job_names(kind)->full);
	reflector_note_version(object, identity.resource_version);
	HASH_FIND_STR(store->items[kind], identity.key, item);
	if (item == NULL) {
		item = take_job(store, kind, identity.key, NULL, object->data, object->len, err);
		if (item != NULL)
			job_store_queue(item);
	} else {
		add_news(item, identity.resource_version, object->data, object->len);
	}
	if (item != NULL)
		item->list = store->lists[kind];
	object_identity_free(&identity);
	return item == NULL ? -1 : 0;
}

void job_store_job_gone(struct job_store *store, enum job_kind kind, const char *text, size_t len)
{
	struct object_meta meta;
	cleanup_free char *key = NULL;
	struct item *item;

	if (object_head_read(text, len, &meta, NULL) < 0)
		return;
	key = key_of(&meta);
	HASH_FIND_STR(store->items[kind], key, item);
	if (item != NULL)
		item = read_news(item);
	if (item != NULL && strcmp(item->job.uid, meta.uid) == 0)
		item_remove(store, item);
	else if (item != NULL)
		job_store_queue(item); /* these news may be of another job */
	object_meta_free(&meta);
}

void job_store_jobs_begin(struct job_store *store, enum job_kind kind)
{
	store->lists[kind]++;
}

void job_store_jobs_end(struct job_store *store, enum job_kind kind)
{
	struct item *item;
	struct item *next;

	HASH_ITER(hh, store->items[kind], item, next)
		if (item->list < store->lists[kind])
			item_remove(store, item);
}

void job_store_written(struct item *item, const char *version, int64_t generation, json_t *status)
{
	int newer = version == NULL ? 0 : version_compare(version, item->job.version);

	if (newer < 0) {
		json_decref(status);
		return;
	}
	if (newer > 0) {
		mem_replace(&item->job.version, version);
		item->job.generation = generation; /* which counts statuses, too, where these are no subresource */
	}
	json_decref(item->job.status);
	item->job.status = status;
	item_shed(item);
}

size_t job_store_count(const struct job_store *store, enum job_kind kind)
{
	return HASH_COUNT(store->items[kind]);
}

/* ---- Frameworks ------------------------------------------------------------------------------------------------- */

/* Whether the view says all that a text of that version can say, as far as it is wanted. */
static bool is_known(const struct slot *slot, const char *version, enum job_store_source source)
{
	bool whole;
	int order;

	if (slot->view == NULL)
		return false;
	whole = slot->view->text == NULL ? !is_wanted(slot) : !slot->partial;
	order = version_compare(version, slot->view->identity.resource_version);
	return order < 0 || (order == 0 && (whole || source == JOB_STORE_METADATA));
}

int job_store_framework(struct job_store *store, const struct reflector_object *object, enum job_store_source source,
			struct error *err)
{
	const bool read = source == JOB_STORE_READ;
	struct object_identity identity;
	struct slot *slot;

	if (!object_identity_read(object->data, object->len, &identity))
		return error_set(err,
				 "a Framework has no metadata.namespace, name or resourceVersion, expected strings");
	reflector_note_version(object, identity.resource_version);
	slot = slot_get(store, identity.key);
	if (source == JOB_STORE_WATCHED)
		slot->list = store->framework_list;
	if (is_known(slot, identity.resource_version, source)) {
		slot->read = slot->read && read;
		object_identity_free(&identity);
		return 0;
	}
	slot->read = read;
	slot->partial = source == JOB_STORE_METADATA;
	slot->view = view_renew(slot->view, &identity, object->data, object->len);
	slot_shed(slot);
	slot_queue(slot);
	return 0;
}

void job_store_framework_gone(struct job_store *store, const char *text, size_t len)
{
	struct object_meta meta;
	cleanup_free char *key = NULL;
	struct slot *slot;

	if (object_head_read(text, len, &meta, NULL) < 0)
		return;
	key = key_of(&meta);
	HASH_FIND_STR(store->slots, key, slot);
	if (slot != NULL && slot->view != NULL && strcmp(slot->view->identity.uid, meta.uid) == 0)
		slot_clear(store, slot);
	object_meta_free(&meta);
}

void job_store_frameworks_begin(struct job_store *store)
{
	store->framework_list++;
}

/* One that an answer has shown meanwhile may be newer than the list. */
void job_store_frameworks_end(struct job_store *store, const char *version)
{
	struct slot *slot;
	struct slot *next;

	HASH_ITER(hh, store->slots, slot, next)
		if (slot->view != NULL && !slot->read && slot->list < store->framework_list &&
		    version_compare(slot->view->identity.resource_version, version) <= 0)
			slot_clear(store, slot);
	if (store->synced)
		return;
	store->synced = true;
	job_store_queue_all(store);
}

bool job_store_synced(const struct job_store *store)
{
	return store->synced;
}
