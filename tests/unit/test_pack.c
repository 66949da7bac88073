/* Packed structs: what is read equals what was written, and takes fewer bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "common/base/pack.h"

#define UID "0b5b1f3e-9c1d-4e55-8a8e-00ff12ab34cd"

static const char *const texts[] = {
	NULL,
	"",
	"a",
	"f-worker-0",
	UID,
	"0_" UID,
	"17_" UID,
	UID,
	"0B5B1F3E-9C1D-4E55-8A8E-00FF12AB34CD",
	"0b5b1f3e-9c1d-4e55-8a8e-00ff12ab34c",
	"0b5b1f3e-9c1d-4e55-8a8e_00ff12ab34cd",
	"0",
	"00",
	"01_x",
	"7",
	"999999999999999999",
	"1000000000000000000",
	"123456789012345678901234567890",
	"12a",
	"1_",
	"1_2_3_f-worker-0",
	"_",
	"10.0.0.1",
	"10.0.0.1",
	"\xc3\xa9\n\"",
};

static void test_texts(void **state)
{
	struct pack pack;
	size_t len;
	void *data;

	(void)state;
	pack_write(&pack);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const char *text = texts[i];

		pack_text(&pack, &text);
	}
	data = pack_finish(&pack, &len);
	pack_read(&pack, data);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const char *text = "?";

		pack_text(&pack, &text);
		if (texts[i] == NULL)
			assert_null(text);
		else
			assert_string_equal(text, texts[i]);
	}
	pack_end(&pack);
	free(data);
}

/* An annotation of a Pod has up to 256 KiB of anything: it takes no more room than it has bytes. */
static void test_hostile_text(void **state)
{
	enum { TIMES = 128 * 1024 };
	char *hostile = mem_alloc(2 * TIMES + 2);
	const char *text = hostile;
	struct pack pack;
	size_t len;
	void *data;

	(void)state;
	for (size_t i = 0; i < TIMES; i++)
		memcpy(hostile + 2 * i, "1_", 2);
	strcpy(hostile + 2 * TIMES, "x");
	pack_write(&pack);
	pack_text(&pack, &text);
	assert_in_range(pack.scratch_len, 2 * TIMES, 2 * TIMES + 64);
	data = pack_finish(&pack, &len);
	assert_in_range(len, 2 * TIMES, 2 * TIMES + 64);
	pack_read(&pack, data);
	pack_text(&pack, &text);
	assert_string_equal(text, hostile);
	pack_end(&pack);
	free(data);
	free(hostile);
}

/* Times near each other, none, and what is no multiple of a few bytes. */
static void test_times(void **state)
{
	static const int64_t times[] = {1800000000, 1800000000, 1800000005, 0, 1799999990, 1799999991, 0, 1, -1};
	struct pack pack;
	size_t len;
	void *data;

	(void)state;
	pack_write(&pack);
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		int64_t time = times[i];

		pack_time(&pack, &time);
		assert_true(time == times[i]);
		if (i == 6)
			assert_in_range(pack.out.len, 11, 11);
	}
	data = pack_finish(&pack, &len);
	pack_read(&pack, data);
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		int64_t time = 7;

		pack_time(&pack, &time);
		assert_true(time == times[i]);
	}
	pack_end(&pack);
	free(data);
}

static void test_prefix(void **state)
{
	static const char *const names[] = {"job",  "job-worker-0", "job-worker-1", "jo",
					    "job-", "other",        "job-worker-0"};
	struct pack pack;
	size_t len;
	void *data;

	(void)state;
	pack_write(&pack);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *text = names[i];

		pack_text(&pack, &text);
		if (i == 0)
			pack_prefix(&pack, text);
	}
	data = pack_finish(&pack, &len);
	pack_read(&pack, data);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *text;

		pack_text(&pack, &text);
		assert_string_equal(text, names[i]);
		if (i == 0)
			pack_prefix(&pack, text);
	}
	pack_end(&pack);
	free(data);
	assert_in_range(len, 1, 48);
}

/* What both sides know takes a byte; bytes are as they were. */
static void test_known(void **state)
{
	const char *text = "job-worker-0";
	const void *bytes = "a\0b";
	size_t bytes_len = 3;
	struct pack pack;
	size_t len;
	void *data;

	(void)state;
	pack_write(&pack);
	pack_known(&pack, "ns");
	pack_known(&pack, "ns");
	pack_known(&pack, text);
	pack_text(&pack, &text);
	assert_int_equal(pack.out.len, 1);
	pack_bytes(&pack, &bytes, &bytes_len);
	data = pack_finish(&pack, &len);
	text = NULL;
	bytes_len = 0;
	pack_read(&pack, data);
	pack_known(&pack, "ns");
	pack_known(&pack, "ns");
	pack_known(&pack, "job-worker-0");
	pack_text(&pack, &text);
	assert_string_equal(text, "job-worker-0");
	pack_bytes(&pack, &bytes, &bytes_len);
	assert_int_equal(bytes_len, 3);
	assert_memory_equal(bytes, "a\0b", 3);
	pack_end(&pack);
	free(data);
}

static void test_memory(void **state)
{
	const int64_t sparse[16] = {0, 0, 5, 0, 0, 0, INT64_MIN, -1, 0, 0, 0, 0, 0, 0, 0, 7};
	const int64_t zero[2] = {0};
	int64_t copy[16];
	int64_t empty[2];
	struct pack pack;
	size_t len;
	void *data;

	(void)state;
	memcpy(copy, sparse, sizeof(copy));
	memcpy(empty, zero, sizeof(empty));
	pack_write(&pack);
	pack_memory(&pack, copy, sizeof(copy));
	pack_memory(&pack, empty, sizeof(empty));
	data = pack_finish(&pack, &len);
	memset(copy, 1, sizeof(copy));
	memset(empty, 1, sizeof(empty));
	pack_read(&pack, data);
	pack_memory(&pack, copy, sizeof(copy));
	pack_memory(&pack, empty, sizeof(empty));
	pack_end(&pack);
	free(data);
	assert_memory_equal(copy, sparse, sizeof(copy));
	assert_memory_equal(empty, zero, sizeof(empty));
	assert_in_range(len, 1, 24);
}

static void test_integers(void **state)
{
	static const int64_t values[] = {0, 1, -1, 63, 64, -64, -65, 1234567890, INT32_MIN, INT64_MAX, INT64_MIN};
	struct pack pack;
	size_t len;
	void *data;
	bool flag = true;

	(void)state;
	pack_write(&pack);
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		int64_t value = values[i];

		pack_int(&pack, &value);
		assert_true(value == values[i]);
	}
	PACK_AS_INT(&pack, flag);
	data = pack_finish(&pack, &len);
	flag = false;
	pack_read(&pack, data);
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		int64_t value = 5;

		pack_int(&pack, &value);
		assert_true(value == values[i]);
	}
	PACK_AS_INT(&pack, flag);
	assert_true(flag);
	pack_end(&pack);
	free(data);
}

/* More different texts than are remembered, each of them twice. */
static void test_many(void **state)
{
	enum { MANY = 3 * PACK_TEXTS };
	struct pack pack;
	char *all[MANY];
	size_t len;
	void *data;

	(void)state;
	pack_write(&pack);
	for (size_t i = 0; i < MANY; i++) {
		all[i] = mem_printf("text %zu", i / 2);
		pack_own_text(&pack, &all[i]);
	}
	for (size_t i = 0; i < MANY; i++)
		pack_own_text(&pack, &all[i]);
	data = pack_finish(&pack, &len);
	pack_read(&pack, data);
	for (size_t i = 0; i < 2 * (size_t)MANY; i++) {
		char *text = NULL;

		pack_own_text(&pack, &text);
		assert_string_equal(text, all[i % MANY]);
		free(text);
	}
	pack_end(&pack);
	for (size_t i = 0; i < MANY; i++)
		free(all[i]);
	free(data);
}

/* A uid takes its 16 bytes and one, and again one or two. */
static void test_sizes(void **state)
{
	static const char *const in[] = {UID, UID, "0_" UID, "4711"};
	static const size_t size[] = {17, 1, 2, 3};
	size_t before;
	struct pack pack;

	(void)state;
	pack_write(&pack);
	for (size_t i = 0; i < ARRAY_LEN(in); i++) {
		const char *text = in[i];

		before = pack.out.len;
		pack_text(&pack, &text);
		assert_int_equal(pack.out.len - before, size[i]);
	}
	free(pack_finish(&pack, &before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts), cmocka_unit_test(test_hostile_text), cmocka_unit_test(test_integers),
		cmocka_unit_test(test_times), cmocka_unit_test(test_prefix),       cmocka_unit_test(test_memory),
		cmocka_unit_test(test_known), cmocka_unit_test(test_many),         cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
