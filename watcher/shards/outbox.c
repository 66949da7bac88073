/* A peer's queue of unsent objects; see outbox.h. The note of a cache entry is the list of its items, one for each
 * outbox that it waits in. */
#include "watcher/shards/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

/* Objects of one name belong to several Frameworks in turn when a label is edited, or when the names of Framework and
 * role join to the same: each Framework gets its own. */
struct absence {
	struct absence *next;
	struct bus_absent absent;
	uint32_t shard;
};

struct outbox_item {
	struct outbox *outbox;
	struct outbox_item *previous; /* in the queue */
	struct outbox_item *next;
	struct cache_entry *entry; /* NULL: a snapshot end */
	struct outbox_item *next_of_entry;
	bool update;
	struct absence *absences; /* one of each Framework, sent before the update */
	struct bus_snapshot_end *end;
};

struct outbox {
	struct cache *cache;
	struct outbox_item *first;
	struct outbox_item *last;
	size_t size;
	size_t ends; /* items that are snapshot ends */
};

struct outbox *outbox_new(struct cache *cache)
{
	struct outbox *outbox = mem_calloc(1, sizeof(*outbox));

	outbox->cache = cache;
	return outbox;
}

static void append(struct outbox *outbox, struct outbox_item *item)
{
	item->outbox = outbox;
	item->previous = outbox->last;
	if (outbox->last != NULL)
		outbox->last->next = item;
	else
		outbox->first = item;
	outbox->last = item;
	outbox->size++;
}

static void unlink_from_entry(struct outbox *outbox, struct outbox_item *item)
{
	struct outbox_item *head = cache_entry_note(item->entry);
	struct outbox_item **at = &head;

	while (*at != item)
		at = &(*at)->next_of_entry;
	*at = item->next_of_entry;
	cache_entry_set_note(outbox->cache, item->entry, head); /* may free the entry */
}

static void drop_absence(struct absence **at)
{
	struct absence *absence = *at;

	*at = absence->next;
	bus_absent_free(&absence->absent);
	free(absence);
}

static void remove_item(struct outbox *outbox, struct outbox_item *item)
{
	if (item->previous != NULL)
		item->previous->next = item->next;
	else
		outbox->first = item->next;
	if (item->next != NULL)
		item->next->previous = item->previous;
	else
		outbox->last = item->previous;
	outbox->size--;
	if (item->entry != NULL)
		unlink_from_entry(outbox, item);
	while (item->absences != NULL)
		drop_absence(&item->absences);
	if (item->end != NULL) {
		bus_snapshot_end_free(item->end);
		outbox->ends--;
	}
	free(item->end);
	free(item);
}

void outbox_clear(struct outbox *outbox)
{
	while (outbox->first != NULL)
		remove_item(outbox, outbox->first);
}

void outbox_free(struct outbox *outbox)
{
	if (outbox == NULL)
		return;
	outbox_clear(outbox);
	free(outbox);
}

size_t outbox_size(const struct outbox *outbox)
{
	return outbox->size;
}

static struct outbox_item *item_of(struct outbox *outbox, struct cache_entry *entry)
{
	struct outbox_item *head = cache_entry_note(entry);
	struct outbox_item *item = head;

	while (item != NULL && item->outbox != outbox)
		item = item->next_of_entry;
	if (item == NULL) {
		item = mem_calloc(1, sizeof(*item));
		item->entry = entry;
		item->next_of_entry = head;
		append(outbox, item);
		cache_entry_set_note(outbox->cache, entry, item);
	}
	return item;
}

void outbox_put(struct outbox *outbox, struct cache_entry *entry)
{
	item_of(outbox, entry)->update = true;
}

void outbox_put_absent(struct outbox *outbox, struct cache_entry *entry, const struct cache_absence *absence)
{
	struct outbox_item *item = item_of(outbox, entry);
	struct absence **at = &item->absences;
	struct absence *put;
	bool deleting = absence->deleting;
	bool several = false;

	while (*at != NULL && strcmp((*at)->absent.framework_name, absence->framework_name) != 0)
		at = &(*at)->next;
	if (*at != NULL) {
		several = strcmp((*at)->absent.uid, absence->uid) != 0;
		deleting = deleting && (!several || (*at)->absent.deleting);
		drop_absence(at);
	}
	item->update = false;
	put = mem_calloc(1, sizeof(*put));
	put->absent = (struct bus_absent){
		.ns = mem_strdup(cache_entry_ns(entry)),
		.name = mem_strdup(cache_entry_name(entry)),
		.uid = mem_strdup(several ? "" : absence->uid),
		.resource_version = mem_strdup(absence->resource_version),
		.framework_name = mem_strdup(absence->framework_name),
		.deleting = deleting,
	};
	put->shard = absence->shard;
	put->next = *at;
	*at = put;
}

static void take_from_end(struct outbox *outbox, struct outbox_item *item, const struct shard_set *shards)
{
	for (size_t i = 0; i < ARRAY_LEN(shards->bits); i++)
		item->end->shards.bits[i] &= ~shards->bits[i];
	if (shard_set_empty(&item->end->shards))
		remove_item(outbox, item);
}

void outbox_put_end(struct outbox *outbox, const struct bus_snapshot_end *end)
{
	struct outbox_item *item;
	struct outbox_item *next;

	for (item = outbox->first; item != NULL; item = next) {
		next = item->next;
		if (item->end != NULL)
			take_from_end(outbox, item, &end->shards);
	}
	item = mem_calloc(1, sizeof(*item));
	item->end = mem_alloc(sizeof(*item->end));
	*item->end = *end;
	outbox->ends++;
	append(outbox, item);
}

void outbox_drop_shards(struct outbox *outbox, const struct shard_set *shards)
{
	struct outbox_item *next;

	for (struct outbox_item *item = outbox->first; item != NULL; item = next) {
		next = item->next;
		if (item->end != NULL) {
			take_from_end(outbox, item, shards);
			continue;
		}
		for (struct absence **at = &item->absences; *at != NULL;) {
			if (shard_set_has(shards, (*at)->shard))
				drop_absence(at);
			else
				at = &(*at)->next;
		}
		if (item->update && shard_set_has(shards, cache_entry_shard(item->entry)))
			item->update = false;
		if (item->absences == NULL && !item->update)
			remove_item(outbox, item);
	}
}

struct outbox_item *outbox_first(const struct outbox *outbox)
{
	return outbox->first;
}

const struct bus_absent *outbox_item_absent(const struct outbox_item *item, enum object_kind *kind, uint32_t *shard)
{
	if (item->absences == NULL)
		return NULL;
	*kind = cache_entry_kind(item->entry);
	*shard = item->absences->shard;
	return &item->absences->absent;
}

bool outbox_has_end(const struct outbox *outbox)
{
	return outbox->ends > 0;
}

const struct bus_snapshot_end *outbox_item_end(const struct outbox_item *item)
{
	return item->end;
}

const struct cache_entry *outbox_item_entry(const struct outbox_item *item)
{
	return item->absences == NULL && item->update ? item->entry : NULL;
}

void outbox_sent(struct outbox *outbox, struct outbox_item *item)
{
	if (item->absences != NULL) {
		drop_absence(&item->absences);
		if (item->absences != NULL || item->update)
			return;
	}
	remove_item(outbox, item);
}
