/* Makes the simulator quick: in the place of json_parse() and json_text() (the linker's --wrap) stand ones that
 * remember. A text that was made of a tree, or a tree of it, is not made or read a second time: one state of an object
 * is written by the API server, read by the watcher, written to the bus, and read by a reconciler. Trees are shared and
 * never changed below their outermost object; what was remembered is looked through for changes before it is forgotten.
 * See sim.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/sim/sim.h"

enum {
	ENTRIES_MAX = 256,
	PLACES = 4 * ENTRIES_MAX, /* of each index; a power of two */
	LOOK_AT_EVERY = 64,
};

struct entry {
	uint64_t hash;
	size_t len;
	json_t *value; /* kept, so that its address is no other value's */
	char *text;
};

static struct {
	struct entry entries[ENTRIES_MAX];
	uint32_t count;
	uint32_t by_text[PLACES]; /* places in entries, from 1 on; 0: none */
	uint32_t by_value[PLACES];
} memo;

json_t *__real_json_parse(const char *text, size_t len, struct error *err);
json_t *__wrap_json_parse(const char *text, size_t len, struct error *err);
char *__real_json_text(const json_t *value);
char *__wrap_json_text(const json_t *value);

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

static uint64_t hash_text(const char *text, size_t len)
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
	for (size_t at = hash % PLACES; memo.by_text[at] != 0; at = (at + 1) % PLACES) {
		const struct entry *entry = &memo.entries[memo.by_text[at] - 1];

		if (entry->hash == hash && entry->len == len && memcmp(entry->text, text, len) == 0)
			return entry;
	}
	return NULL;
}

static const struct entry *find_value(const json_t *value)
{
	for (size_t at = hash_value(value) % PLACES; memo.by_value[at] != 0; at = (at + 1) % PLACES) {
		const struct entry *entry = &memo.entries[memo.by_value[at] - 1];

		if (entry->value == value)
			return entry;
	}
	return NULL;
}

static void put(uint32_t *index, uint64_t hash, uint32_t place)
{
	size_t at = hash % PLACES;

	while (index[at] != 0)
		at = (at + 1) % PLACES;
	index[at] = place;
}

static void forget_all(void)
{
	for (uint32_t i = 0; i < memo.count; i++) {
		struct entry *entry = &memo.entries[i];

		if (i % LOOK_AT_EVERY == 0) {
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
	memo.count = 0;
	memset(memo.by_text, 0, sizeof(memo.by_text));
	memset(memo.by_value, 0, sizeof(memo.by_value));
}

/* Takes over the text. */
static void remember(const json_t *value, bool written, char *text, size_t len, uint64_t hash)
{
	if (memo.count == ENTRIES_MAX)
		forget_all();
	memo.entries[memo.count++] = (struct entry){hash, len, json_incref((json_t *)value), text};
	put(memo.by_text, hash, memo.count);
	if (written)
		put(memo.by_value, hash_value(value), memo.count);
}

/* The caller may change the outermost object. */
static json_t *own(json_t *value)
{
	return json_is_object(value) ? json_copy(value) : json_incref(value);
}

static json_t *parse(const char *text, size_t len, struct error *err)
{
	uint64_t hash = hash_text(text, len);
	const struct entry *entry = find_text(text, len, hash);
	cleanup_json json_t *value = NULL;

	if (entry != NULL)
		return own(entry->value);
	value = quick_parse(text, len);
	if (value == NULL)
		value = __real_json_parse(text, len, err);
	if (value == NULL)
		return NULL;
	remember(value, false, mem_strndup(text, len), len, hash);
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
		remember(value, true, mem_strndup(out->data + begin, out->len - begin), out->len - begin,
			 hash_text(out->data + begin, out->len - begin));
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
	remember(value, true, mem_strndup(text.data, text.len), text.len, hash_text(text.data, text.len));
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
