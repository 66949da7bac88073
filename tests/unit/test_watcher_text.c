/* What the watcher makes of an object's text without reading all of it: the Framework it keeps, the line it logs of
 * what was deleted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "watcher/view/cache.h"
#include "watcher/view/deletion.h"

static void changed(void *arg, struct cache_entry *entry)
{
	struct buf *out = arg;

	buf_clear(out);
	cache_entry_write(out, entry);
}

static void gone(void *arg, struct cache_entry *entry, const struct cache_absence *absence)
{
	(void)arg;
	(void)entry;
	(void)absence;
}

static void missed(void *arg, const struct cache_entry *entry)
{
	(void)arg;
	(void)entry;
}

static const struct cache_listener listener = {.changed = changed, .gone = gone, .missed = missed};

/* managedFields go wherever they stand, and nothing else does. */
static void test_managed_fields(void **state)
{
	static const char *const cases[][2] = {
		{"{\"metadata\":{\"managedFields\":[{\"a\":\"}]\"}],\"name\":\"f\",\"uid\":\"u\"},\"spec\":{}}",
		 "{\"metadata\":{\"name\":\"f\",\"uid\":\"u\"},\"spec\":{}}"},
		{"{\"metadata\":{\"name\":\"f\",\"managedFields\":null,\"uid\":\"u\"}}",
		 "{\"metadata\":{\"name\":\"f\",\"uid\":\"u\"}}"},
		{"{\"spec\":{\"managedFields\":[1]},\"metadata\":{\"name\":\"f\",\"uid\":\"u\",\"managedFields\":[1,{}]"
		 "}}",
		 "{\"spec\":{\"managedFields\":[1]},\"metadata\":{\"name\":\"f\",\"uid\":\"u\"}}"},
		{"{\"metadata\": {\"name\":\"f\" , \"uid\":\"u\" , \"managedFields\" : [ ] } , \"status\":{\"a b\":\" "
		 "c\"}}",
		 "{\"metadata\": {\"name\":\"f\" , \"uid\":\"u\" } , \"status\":{\"a b\":\" c\"}}"},
		{"{\n \"metadata\": {\n  \"managedFields\": [\n  ],\n  \"name\": \"f\",\n  \"uid\": \"u\"\n }\n}\n",
		 "{\"metadata\":{\"name\":\"f\",\"uid\":\"u\"}}"},
		{"{\"metadata\":{\"name\":\"f\",\"uid\":\"u\"},\"spec\":{\"x\":\"\\u0000\",\"y\":9223372036854775808}}",
		 "{\"metadata\":{\"name\":\"f\",\"uid\":\"u\"},\"spec\":{\"x\":\"\\u0000\",\"y\":9223372036854775808}"
		 "}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_buf struct buf out = {0};
		struct cache *cache = cache_new(1, &listener, &out);
		const struct reflector_object object = {.data = cases[i][0], .len = strlen(cases[i][0])};
		struct error err;

		assert_int_equal(cache_present_raw(cache, KIND_FRAMEWORK, &object, &err), 0);
		assert_string_equal(out.data, cases[i][1]);
		cache_free(cache);
	}
}

static void test_unreadable(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{\"metadata\":{\"name\":\"f\",\"uid\":\"u\"}",
		"{\"metadata\":{\"name\":\"f\",\"uid\":\"u\"},}",
		"{\"metadata\":{\"name\":\"f\"}}",
		"{\"metadata\":{\"name\":\"f\",\"uid\":\"u\"},\"spec\":{\"a\":\"\xff\"}}",
	};
	cleanup_buf struct buf out = {0};
	struct cache *cache = cache_new(1, &listener, &out);

	(void)state;
	for (size_t kind = 0; kind < KIND_COUNT; kind++) {
		for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
			const struct reflector_object object = {.data = texts[i], .len = strlen(texts[i])};
			struct error err = {0};

			assert_int_equal(cache_present_raw(cache, (enum object_kind)kind, &object, &err), -1);
			assert_int_not_equal(strlen(err.message), 0);
		}
		assert_int_equal(cache_count(cache, (enum object_kind)kind), 0);
	}
	cache_free(cache);
}

static void test_deletion_line(void **state)
{
	static const struct {
		enum object_kind kind;
		const char *text;
		const char *line;
	} cases[] = {
		{KIND_POD,
		 "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"n\",\"name\":\"p\",\"uid\":"
		 "\"u\"},"
		 "\"spec\":{\"unknown\":[1.50,\"\\u003c\"]}}",
		 "[n/p] Pod u was deleted: OnPodDeletion: ObjectSnapshot: {\"kind\":\"Pod\",\"apiVersion\":\"v1\","
		 "\"metadata\":{\"namespace\":\"n\",\"name\":\"p\",\"uid\":\"u\"},\"spec\":{\"unknown\":[1.50,"
		 "\"\\u003c\"]}}"},
		/* as lists have them, and as servers print for people */
		{KIND_POD, "{\"metadata\":{\"name\":\"p\",\"uid\":\"u\"}}",
		 "[/p] Pod u was deleted: OnPodDeletion: ObjectSnapshot: {\"kind\":\"Pod\",\"apiVersion\":\"v1\","
		 "\"metadata\":{\"name\":\"p\",\"uid\":\"u\"}}"},
		{KIND_FRAMEWORK, " {\n  \"metadata\": {\n    \"name\": \"f\",\n    \"uid\": \"u v\"\n  }\n}\n",
		 "[/f] Framework u v was deleted: OnFrameworkDeletion: ObjectSnapshot: {\"kind\":\"Framework\","
		 "\"apiVersion\":\"frameworkcontroller.microsoft.com/v1\",\"metadata\":{\"name\":\"f\",\"uid\":\"u "
		 "v\"}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_buf struct buf line = {0};

		deletion_write(&line, cases[i].kind, cases[i].text, strlen(cases[i].text));
		assert_string_equal(line.data, cases[i].line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_managed_fields),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_deletion_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
