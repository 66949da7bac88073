/* Makes the simulator quick: in the place of json_parse(), json_text() and json_reader_skip() (the linker's --wrap)
 * stand ones that remember. A text that was made of a tree, or a tree of it, is not made or read a second time: one
 * state of an object is written by the API server, read by the watcher, written to the bus, and read by a reconciler.
 * What is skipped is not read where it is, byte for byte, a text that is remembered. Trees are shared and never changed
 * below their outermost object; what was remembered is looked through for changes before it is forgotten. See sim.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/mem.h"
#include "tests/sim/sim.h"

enum {
	ENTRIES_MAX = 64,         /* more of them leave the processor's cache */
	PLACES = 4 * ENTRIES_MAX, /* of each index; a power of two */
	LOOK_AT_EVERY = 128,
	ONCE = 1024,
	HEAD_BYTES = 128, /* by which an object that is skipped is found; shorter ones are read */
};

struct entry {
	uint64_t hash;
	size_t len;
	json_t *value; /* kept, so that its address is no other value's */
	char *text;
	bool written;
	uint64_t head;
	struct entry *next_by_text; /* with the same place in the index */
	struct entry *next_by_value;
	struct entry *next_by_head;
};

/* The oldest gives way. */
static struct {
	struct entry entries[ENTRIES_MAX];
	size_t count; /* that there ever were */
	struct entry *by_text[PLACES];
	struct entry *by_value[PLACES];
	struct entry *by_head[PLACES];
	uint64_t once[ONCE]; /* hashes of texts that were read and not remembered */
} memo;

json_t *__real_json_parse(const char *text, size_t len, struct error *err);
json_t *__wrap_json_parse(const char *text, size_t len, struct error *err);
char *__real_json_text(const json_t *value);
char *__wrap_json_text(const json_t *value);
struct json_span __real_json_reader_skip(struct json_reader *reader);
struct json_span __wrap_json_reader_skip(struct json_reader *reader);

/* ---- memory of trees ---- */

#ifndef __SANITIZE_ADDRESS__
enum { CLASS_BYTES = 16, CLASSES = 64, SLAB_BYTES = 1 << 20 };

/* Free blocks by size; in front of each block is its class, CLASSES for what is too large to have one. */
static struct {
	void *free[CLASSES];
	char *slab;
	size_t left;
} trees;

static void *tree_alloc(size_t size)
{
	size_t class = (size + sizeof(uint64_t) - 1) / CLASS_BYTES;
	size_t bytes = (class + 1) * CLASS_BYTES;
	uint64_t *block;

	if (class >= CLASSES) {
		block = mem_alloc(size + sizeof(*block));
		class = CLASSES;
	} else if (trees.free[class] != NULL) {
		block = trees.free[class];
		memcpy(&trees.free[class], block + 1, sizeof(void *));
		__builtin_prefetch(trees.free[class]); /* it was let go of long ago */
	} else {
		if (trees.left < bytes) {
			trees.slab = mem_alloc(SLAB_BYTES);
			trees.left = SLAB_BYTES;
		}
		block = (uint64_t *)(void *)trees.slab;
		trees.slab += bytes;
		trees.left -= bytes;
	}
	*block = class;
	return block + 1;
}

static void tree_free(void *memory)
{
	uint64_t *block = memory;

	if (block == NULL)
		return;
	block--;
	if (*block == CLASSES) {
		free(block);
		return;
	}
	memcpy(block + 1, &trees.free[*block], sizeof(void *));
	trees.free[*block] = block;
}

void memo_start(void)
{
	json_set_alloc_funcs(tree_alloc, tree_free);
}
#else
/* The sanitizer sees each block by itself. */
void memo_start(void)
{
}
#endif

/* ---- texts and trees ---- */

static uint64_t mix(uint64_t value)
{
	value *= UINT64_C(0x9E3779B97F4A7C15);
	return value ^ (value >> 29);
}

uint64_t memo_hash(const char *text, size_t len)
{
	uint64_t hash = len;
	uint64_t word;

	for (; len >= sizeof(word); len -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = mix(hash ^ word);
	}
	word = 0;
	memcpy(&word, text, len);
	return mix(mix(hash ^ word));
}

static uint64_t hash_value(const json_t *value)
{
	return mix(mix((uint64_t)(uintptr_t)value));
}

static const struct entry *find_text(const char *text, size_t len, uint64_t hash)
{
	const struct entry *entry = memo.by_text[hash % PLACES];

	while (entry != NULL && (entry->hash != hash || entry->len != len || memcmp(entry->text, text, len) != 0))
		entry = entry->next_by_text;
	return entry;
}

static const struct entry *find_value(const json_t *value)
{
	const struct entry *entry = memo.by_value[hash_value(value) % PLACES];

	while (entry != NULL && entry->value != value)
		entry = entry->next_by_value;
	return entry;
}

/* Whether it can be found by its head. */
static bool has_head(const char *text, size_t len)
{
	return len >= HEAD_BYTES && text[0] == '{';
}

static void forget(struct entry *entry)
{
	struct entry **place = &memo.by_text[entry->hash % PLACES];

	while (*place != entry)
		place = &(*place)->next_by_text;
	*place = entry->next_by_text;
	if (entry->written) {
		for (place = &memo.by_value[hash_value(entry->value) % PLACES]; *place != entry;)
			place = &(*place)->next_by_value;
		*place = entry->next_by_value;
	}
	if (has_head(entry->text, entry->len)) {
		for (place = &memo.by_head[entry->head % PLACES]; *place != entry;)
			place = &(*place)->next_by_head;
		*place = entry->next_by_head;
	}
	if (memo.count % LOOK_AT_EVERY == 0) {
		struct error err;
		cleanup_json json_t *again = __real_json_parse(entry->text, entry->len, &err);

		if (!json_equal(again, entry->value)) {
			fprintf(stderr, "somebody changed what was read from %s\n", entry->text);
			abort();
		}
	}
	json_decref(entry->value);
	free(entry->text);
}

/* written: the text is what is written for this very value. */
static void remember(const json_t *value, bool written, const char *text, size_t len, uint64_t hash)
{
	struct entry *entry = &memo.entries[memo.count % ENTRIES_MAX];
	struct entry **place = &memo.by_text[hash % PLACES];

	if (entry->value != NULL)
		forget(entry);
	memo.count++;
	*entry = (struct entry){
		.hash = hash,
		.len = len,
		.value = json_incref((json_t *)value),
		.text = mem_alloc(len + 1),
		.written = written,
		.next_by_text = *place,
	};
	*place = entry;
	memcpy(entry->text, text, len);
	entry->text[len] = '\0';
	if (written) {
		place = &memo.by_value[hash_value(value) % PLACES];
		entry->next_by_value = *place;
		*place = entry;
	}
	if (has_head(text, len)) {
		entry->head = memo_hash(text, HEAD_BYTES);
		place = &memo.by_head[entry->head % PLACES];
		entry->next_by_head = *place;
		*place = entry;
	}
}

/* The caller may change the outermost object. */
static json_t *own(json_t *value)
{
	return json_is_object(value) ? json_copy(value) : json_incref(value);
}

/* Of an object that is read, as write_value() will ask for it. */
static void on_part(const json_t *value, const char *text, size_t len)
{
	remember(value, true, text, len, memo_hash(text, len));
}

/* Most texts that somebody else than the API server writes come only once. */
static bool came_before(uint64_t hash)
{
	uint64_t *place = &memo.once[hash % ONCE];
	bool before = *place == hash;

	*place = hash;
	return before;
}

static json_t *parse(const char *text, size_t len, struct error *err)
{
	uint64_t hash = memo_hash(text, len);
	const struct entry *entry = find_text(text, len, hash);
	cleanup_json json_t *value = NULL;

	if (entry != NULL)
		return own(entry->value);
	value = quick_parse(text, len, on_part);
	if (value == NULL)
		value = __real_json_parse(text, len, err);
	if (value == NULL)
		return NULL;
	if (!came_before(hash))
		return json_incref(value);
	remember(value, false, text, len, hash);
	return own(value);
}

json_t *__wrap_json_parse(const char *text, size_t len, struct error *err)
{
	json_t *value;

	memory_shield(true);
	value = parse(text, len, err);
	memory_shield(false);
	return value;
}

/* Objects of the API are put together from their parts, of which a new state changes few. */
static void write_value(struct buf *out, json_t *value, int depth)
{
	const struct entry *entry = depth > 0 ? find_value(value) : NULL;
	const char *name;
	json_t *member;
	size_t begin = out->len;
	char *text;

	if (entry != NULL) {
		buf_append(out, entry->text, entry->len);
		return;
	}
	if (depth == 0 && json_object_get(value, "metadata") != NULL) {
		buf_putc(out, '{');
		json_object_foreach(value, name, member) {
			buf_json_key(out, name);
			write_value(out, member, 1);
		}
		buf_putc(out, '}');
		return;
	}
	if (!quick_write(out, value)) {
		out->len = begin;
		text = __real_json_text(value);
		buf_puts(out, text);
		free(text);
	}
	if (depth > 0 && json_is_object(value))
		remember(value, true, out->data + begin, out->len - begin,
			 memo_hash(out->data + begin, out->len - begin));
}

static char *text_of(const json_t *value)
{
	const struct entry *entry = find_value(value);
	cleanup_buf struct buf text = {0};

	if (entry != NULL)
		return mem_strndup(entry->text, entry->len);
	if (!json_is_object(value))
		return __real_json_text(value);
	write_value(&text, (json_t *)value, 0);
	remember(value, true, text.data, text.len, memo_hash(text.data, text.len));
	return buf_steal(&text);
}

char *__wrap_json_text(const json_t *value)
{
	char *text;

	memory_shield(true);
	text = text_of(value);
	memory_shield(false);
	return text;
}

/* The length of the object at text, or 0 when it is none that is remembered. */
static size_t known_object(const char *text, size_t len)
{
	const struct entry *entry;
	uint64_t head;

	if (!has_head(text, len))
		return 0;
	head = memo_hash(text, HEAD_BYTES);
	for (entry = memo.by_head[head % PLACES]; entry != NULL; entry = entry->next_by_head)
		if (entry->head == head && entry->len <= len && memcmp(entry->text, text, entry->len) == 0)
			return entry->len;
	return 0;
}

struct json_span __wrap_json_reader_skip(struct json_reader *reader)
{
	struct json_span span = {.at = reader->at};

	if (reader->expected == NULL)
		span.len = known_object(reader->at, (size_t)(reader->end - reader->at));
	if (span.len == 0)
		return __real_json_reader_skip(reader);
	reader->at += span.len;
	reader->first = false;
	return span;
}
