/* Hash tables whose keys are names that users choose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/hash.h"

enum { NAMES = 10000, SUSPECTS_BITS = 7 };

struct entry {
	char name[16];
	UT_hash_handle hh;
};

static unsigned known_function(const char *name)
{
	unsigned hash;

	HASH_JEN(name, strlen(name), hash);
	return hash;
}

/* Names that uthash's own function puts into few buckets: with it, the table stops to grow for good after the first of
 * them. */
static void test_chosen_names(void **state)
{
	struct entry *entries = mem_calloc(NAMES, sizeof(*entries));
	struct entry *table = NULL;
	size_t count = 0;

	(void)state;
	for (unsigned i = 0; count < NAMES; i++) {
		struct entry *entry = &entries[count];

		snprintf(entry->name, sizeof(entry->name), "r%u", i);
		if ((known_function(entry->name) & ((1U << SUSPECTS_BITS) - 1)) != 0)
			continue;
		HASH_ADD_STR(table, name, entry);
		count++;
	}
	assert_int_equal(table->hh.tbl->noexpand, 0);
	assert_true(table->hh.tbl->num_buckets * HASH_BKT_CAPACITY_THRESH >= NAMES);
	for (size_t i = 0; i < NAMES; i++) {
		struct entry *found;

		HASH_FIND_STR(table, entries[i].name, found);
		assert_ptr_equal(found, &entries[i]);
	}
	HASH_CLEAR(hh, table);
	free(entries);
}

/* All bytes count, wherever they stand. */
static void test_all_bytes_count(void **state)
{
	char data[40] = {0};
	unsigned hashes[sizeof(data) * 8];
	size_t equal = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(data) * 8; i++) {
		data[i / 8] = (char)(1 << i % 8);
		hashes[i] = hash_keyed(data, sizeof(data));
		data[i / 8] = 0;
		for (size_t j = 0; j < i; j++)
			equal += hashes[i] == hashes[j];
	}
	assert_true(equal <= 1); /* by chance, once in 84 000 runs */
	assert_int_not_equal(hash_keyed(data, 1), hash_keyed(data, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chosen_names),
		cmocka_unit_test(test_all_bytes_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
