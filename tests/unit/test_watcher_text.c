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

/* The text of an event is read once: the cache knows the version then. */
static void test_version_is_noted(void **state)
{
	static const char text[] =
		"{\"metadata\":{\"namespace\":\"n\",\"name\":\"f\",\"uid\":\"u\",\"resourceVersion\":\"7\","
		"\"labels\":{\"FC_FRAMEWORK_NAME\":\"f\"}}}";
	cleanup_buf struct buf out = {0};
	struct cache *cache = cache_new(1, &listener, &out);

	(void)state;
	for (size_t kind = 0; kind < KIND_COUNT; kind++) {
		char version[REFLECTOR_VERSION_SIZE] = "";
		char last[REFLECTOR_VERSION_SIZE] = "";
		const struct reflector_object object = {.data = text, .len = strlen(text), .version = version};
		const struct reflector_object end = {.data = text, .len = strlen(text), .version = last};
		struct error err;

		assert_int_equal(cache_present_raw(cache, (enum object_kind)kind, &object, &err), 0);
		assert_string_equal(version, "7");
		assert_int_equal(cache_deleted_raw(cache, (enum object_kind)kind, &end, &err), 0);
		assert_string_equal(last, "7");
	}
	cache_free(cache);
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

/* ---- folding ---- */

struct news {
	struct buf text; /* of the last object that changed */
	int changed;
	int gone;
};

static void count_changed(void *arg, struct cache_entry *entry)
{
	struct news *news = arg;

	news->changed++;
	changed(&news->text, entry);
}

static void count_gone(void *arg, struct cache_entry *entry, const struct cache_absence *absence)
{
	struct news *news = arg;

	(void)entry;
	assert_string_equal(absence->framework_name, "f");
	news->gone++;
}

static const struct cache_listener counting = {.changed = count_changed, .gone = count_gone, .missed = missed};

static void present(struct cache *cache, enum object_kind kind, const char *text)
{
	const struct reflector_object object = {.data = text, .len = strlen(text)};
	struct error err;

	assert_int_equal(cache_present_raw(cache, kind, &object, &err), 0);
}

static void delete (struct cache *cache, enum object_kind kind, const char *text)
{
	const struct reflector_object object = {.data = text, .len = strlen(text)};
	struct error err;

	assert_int_equal(cache_deleted_raw(cache, kind, &object, &err), 0);
}

/* Turns enough to fold everything; shards of one entry each or less have little to fold. */
static void fold_all(struct cache *cache)
{
	for (int i = 0; i < 3; i++)
		cache_fold(cache);
}

#define POD(version, phase)                                                                                           \
	"{\"metadata\":{\"namespace\":\"n\",\"name\":\"p\",\"uid\":\"0b5b1f3e-9c1d-4e55-8a8e-00ff12ab34cd\","         \
	"\"resourceVersion\":\"" version "\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"ownerReferences\":[{"   \
	"\"controller\":true,\"kind\":\"ConfigMap\",\"name\":\"f-attempt\",\"uid\":\"c\"}],\"labels\":{"              \
	"\"FC_FRAMEWORK_NAME\":\"f\"},\"annotations\":{\"FC_TASK_ATTEMPT_ID\":\"3\"}},\"spec\":{\"nodeName\":\"x\"}," \
	"\"status\":{\"phase\":\"" phase "\",\"podIP\":\"10.0.0.1\"}}"
#define FRAMEWORK                                                                                               \
	"{\"metadata\":{\"namespace\":\"n\",\"name\":\"f\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"spec\":{" \
	"\"taskRoles\":[]},\"status\":{\"state\":\"AttemptRunning\",\"retryPolicyStatus\":{\"totalRetriedCount\":0}}}"

/* A folded object is sent as it was, is compared with what comes, and goes as others do. */
static void test_folded(void **state)
{
	struct news news = {0};
	struct cache *cache = cache_new(1, &counting, &news);
	const struct reflector_object deleted = {.data = POD("8", "Running"), .len = strlen(POD("8", "Running"))};
	cleanup_free char *pod = NULL;
	struct cache_entry *entry;
	struct error err;

	(void)state;
	present(cache, KIND_FRAMEWORK, FRAMEWORK);
	present(cache, KIND_POD, POD("5", "Pending"));
	pod = mem_strdup(news.text.data);
	fold_all(cache);
	assert_int_equal(cache_count(cache, KIND_POD), 1);
	for (entry = cache_first(cache, 0); entry != NULL; entry = cache_next(entry)) {
		changed(&news.text, entry);
		assert_string_equal(news.text.data, cache_entry_kind(entry) == KIND_POD ? pod : FRAMEWORK);
	}
	assert_int_equal(news.changed, 2);
	present(cache, KIND_POD, POD("6", "Pending")); /* nothing that is kept has changed */
	present(cache, KIND_POD, POD("4", "Running")); /* older */
	present(cache, KIND_FRAMEWORK, FRAMEWORK);
	assert_int_equal(news.changed, 2);
	fold_all(cache);
	present(cache, KIND_POD, POD("7", "Running"));
	assert_int_equal(news.changed, 3);
	assert_non_null(strstr(news.text.data, "\"Running\""));
	fold_all(cache);
	assert_int_equal(cache_deleted_raw(cache, KIND_POD, &deleted, &err), 0);
	assert_int_equal(news.gone, 1);
	assert_int_equal(cache_count(cache, KIND_POD), 0);
	fold_all(cache);
	cache_free(cache);
	buf_free(&news.text);
}

#define CONFIG_MAP(version)                                                                                      \
	"{\"metadata\":{\"namespace\":\"n\",\"name\":\"f-attempt\",\"uid\":\"c\",\"resourceVersion\":\"" version \
	"\",\"ownerReferences\":[{\"controller\":true,\"kind\":\"Framework\",\"name\":\"f\",\"uid\":\"u\"}],"    \
	"\"labels\":{\"FC_FRAMEWORK_NAME\":\"f\"},\"annotations\":{\"FC_FRAMEWORK_UID\":\"u\","                  \
	"\"FC_FRAMEWORK_ATTEMPT_ID\":\"2\"}}}"

/* The same of ConfigMaps, and of Frameworks that change and go. */
static void test_folded_owners(void **state)
{
	struct news news = {0};
	struct cache *cache = cache_new(1, &counting, &news);
	const struct reflector_object maps = {.data = CONFIG_MAP("8"), .len = strlen(CONFIG_MAP("8"))};
	const struct reflector_object frameworks = {.data = FRAMEWORK, .len = strlen(FRAMEWORK)};
	cleanup_free char *map = NULL;
	struct error err;

	(void)state;
	present(cache, KIND_CONFIG_MAP, CONFIG_MAP("5"));
	map = mem_strdup(news.text.data);
	fold_all(cache);
	changed(&news.text, cache_first(cache, 0));
	assert_string_equal(news.text.data, map);
	present(cache, KIND_CONFIG_MAP, CONFIG_MAP("6")); /* nothing that is kept has changed */
	assert_int_equal(news.changed, 1);
	present(cache, KIND_FRAMEWORK, FRAMEWORK);
	fold_all(cache);
	present(cache, KIND_FRAMEWORK, FRAMEWORK);
	present(cache, KIND_FRAMEWORK,
		"{\"metadata\":{\"namespace\":\"n\",\"name\":\"f\",\"uid\":\"u\",\"resourceVersion\":\"0\"}}");
	assert_int_equal(news.changed, 2);
	present(cache, KIND_FRAMEWORK,
		"{\"metadata\":{\"namespace\":\"n\",\"name\":\"f\",\"uid\":\"u\",\"resourceVersion\":\"2\"}}");
	assert_int_equal(news.changed, 3);
	fold_all(cache);
	assert_int_equal(cache_deleted_raw(cache, KIND_CONFIG_MAP, &maps, &err), 0);
	assert_int_equal(cache_deleted_raw(cache, KIND_FRAMEWORK, &frameworks, &err), 0);
	assert_int_equal(news.gone, 2);
	assert_null(cache_first(cache, 0));
	cache_free(cache);
	buf_free(&news.text);
}

/* Where there are many, the objects of a Framework come one after the other, the Framework first. */
static void test_order(void **state)
{
	enum { FRAMEWORKS = 40 };
	struct news news = {0};
	struct cache *cache = cache_new(1, &counting, &news);
	struct cache_entry *entry;
	int seen = 0;

	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		for (int i = 0; i < FRAMEWORKS; i++) {
			cleanup_free char *text = mem_printf(
				"{\"metadata\":{\"namespace\":\"n\",\"name\":\"f%02d%s\",\"uid\":\"u\","
				"\"resourceVersion\":\"1\",\"labels\":{\"FC_FRAMEWORK_NAME\":\"f%02d\"}}}",
				i * 7 % FRAMEWORKS, kind == 0 ? "" : "-a-0", i * 7 % FRAMEWORKS);

			present(cache, kind == 0 ? KIND_FRAMEWORK : KIND_POD, text);
		}
	}
	for (entry = cache_first(cache, 0); entry != NULL; entry = cache_next(entry), seen++) {
		char name[16];

		snprintf(name, sizeof(name), seen % 2 == 0 ? "f%02d" : "f%02d-a-0", seen / 2);
		assert_string_equal(cache_entry_name(entry), name);
	}
	assert_int_equal(seen, 2 * FRAMEWORKS);
	cache_free(cache);
	buf_free(&news.text);
}

/* A list folds what it shows first, changes nothing where nothing has changed, and ends what it does not show. */
static void test_folded_lists(void **state)
{
	struct news news = {0};
	struct cache *cache = cache_new(1, &counting, &news);

	(void)state;
	for (int i = 0; i < 2; i++) {
		cache_list_begin(cache, "", KIND_POD);
		present(cache, KIND_POD, POD("5", "Running"));
		assert_non_null(strstr(news.text.data, "\"Running\""));
		cache_list_end(cache, "", KIND_POD, "9");
		assert_int_equal(news.changed, 1);
	}
	cache_list_begin(cache, "", KIND_POD);
	cache_list_end(cache, "", KIND_POD, "4"); /* before the Pod came */
	assert_int_equal(news.gone, 0);
	fold_all(cache);
	cache_list_begin(cache, "", KIND_POD);
	cache_list_end(cache, "", KIND_POD, "10");
	assert_int_equal(news.gone, 1);
	assert_int_equal(cache_count(cache, KIND_POD), 0);
	cache_free(cache);
	buf_free(&news.text);
}

#define NAMESAKE(uid, version)                                                                                      \
	"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"f-a-0\",\"uid\":\"" uid "\",\"resourceVersion\":\"" version \
	"\",\"labels\":{\"FC_FRAMEWORK_NAME\":\"f\"}}}"

/* A replica that lags behind shows a Pod that has gone since: the one that now has its name stays. */
static void test_former_namesake(void **state)
{
	struct news news = {0};
	struct cache *cache = cache_new(1, &counting, &news);

	(void)state;
	present(cache, KIND_POD, NAMESAKE("old", "50"));
	present(cache, KIND_POD, NAMESAKE("new", "100"));
	assert_int_equal(news.changed, 2);
	assert_int_equal(news.gone, 1);
	cache_list_begin(cache, "", KIND_POD);
	present(cache, KIND_POD, NAMESAKE("old", "50"));
	cache_list_end(cache, "", KIND_POD, "85");
	assert_int_equal(news.changed, 2);
	assert_int_equal(news.gone, 1);
	delete (cache, KIND_POD, NAMESAKE("old", "90"));
	assert_int_equal(news.gone, 1);
	delete (cache, KIND_POD, NAMESAKE("new", "120"));
	assert_int_equal(news.gone, 2);
	cache_free(cache);
	buf_free(&news.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_managed_fields),  cmocka_unit_test(test_version_is_noted),
		cmocka_unit_test(test_unreadable),      cmocka_unit_test(test_deletion_line),
		cmocka_unit_test(test_folded),          cmocka_unit_test(test_folded_lists),
		cmocka_unit_test(test_folded_owners),   cmocka_unit_test(test_order),
		cmocka_unit_test(test_former_namesake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
