/* 1 MiB of what is hostile (common/README.md §11): an error within 50 ms; and what is valid but made to be slow
 * takes a time that grows no faster than its length. Fuzz targets have small inputs, at which nothing quadratic shows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/yaml.h"
#include "common/framework/gang.h"
#include "common/framework/pattern.h"
#include "common/framework/spec.h"
#include "common/framework/status.h"
#include "tests/unit/slow.h"

/* Of processor time. What grows with the square of the length takes seconds. */
#if defined(__SANITIZE_ADDRESS__)
enum { REFUSED_MS = 500, READ_MS = 2500 };
#else
enum { REFUSED_MS = 50, READ_MS = 250 };
#endif
/* SLOWEST: a machine that is so many times as slow as the bounds expect. GROWTH_MAX: 4 would be linear, 16 the square.
 */
enum { TEXT_MAX = 1024 * 1024, TRIES = 3, SLOWEST = 8, GROWTH_MAX = 7 };

/* head, unit, unit, …, tail: text_max bytes in all. A # in the unit becomes a number that counts. */
struct shape {
	const char *head, *unit, *tail;
};

static char *make(const struct shape *shape, size_t text_max, size_t *len)
{
	struct buf text = {0};
	const char *hash = strchr(shape->unit, '#');
	size_t room = strlen(shape->unit) + strlen(shape->tail) + 16;

	buf_puts(&text, shape->head);
	for (int i = 0; text.len + room < text_max; i++) {
		if (hash == NULL)
			buf_puts(&text, shape->unit);
		else
			buf_printf(&text, "%.*s%d%s", (int)(hash - shape->unit), shape->unit, i, hash + 1);
	}
	buf_puts(&text, shape->tail);
	*len = text.len;
	return buf_steal(&text);
}

/* Whether it is taken. */
typedef bool reader(const char *text, size_t len);

/* The best of several tries, as the machine may do other things; the first that is within enough_ms ends them. */
static int64_t read_in_ms(reader *read, const char *text, size_t len, int64_t enough_ms, bool *taken)
{
	int64_t best_ms = INT64_MAX;

	for (int i = 0; i < TRIES && best_ms > enough_ms; i++) {
		int64_t begin_ms = cpu_ms();

		*taken = read(text, len);
		int64_t took_ms = cpu_ms() - begin_ms;
		best_ms = took_ms < best_ms ? took_ms : best_ms;
	}
	return best_ms;
}

/* memcheck slows some of it down a hundred times. */
static int64_t bounded_ms(int64_t bound_ms)
{
	return getenv("TEST_MEMCHECK") != NULL ? INT64_MAX / SLOWEST : allowed_ms(bound_ms);
}

/* A slow machine may take longer than the bound, if the time does not grow faster than the text. A quarter of a text
 * that is refused for its number of values may be taken.
 */
static void expect_within(reader *read, const struct shape *shape, bool taken, int64_t bound_ms)
{
	int64_t most_ms = bounded_ms(bound_ms);
	size_t len;
	cleanup_free char *text = make(shape, TEXT_MAX, &len);
	cleanup_free char *quarter = NULL;
	bool got, got_quarter;
	int64_t all_ms = read_in_ms(read, text, len, most_ms, &got);

	if (got != taken)
		fail_msg("%.60s…: %s", text, got ? "taken" : "refused");
	if (all_ms <= most_ms)
		return;
	if (all_ms / SLOWEST > most_ms)
		fail_msg("%.60s…: %lld ms", text, (long long)all_ms);
	quarter = make(shape, TEXT_MAX / 4, &len);
	if (all_ms > GROWTH_MAX * read_in_ms(read, quarter, len, 0, &got_quarter))
		fail_msg("%.60s…: %lld ms", text, (long long)all_ms);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static bool read_json(const char *text, size_t len)
{
	cleanup_json json_t *value = json_parse(text, len, NULL);

	return value != NULL;
}

static bool read_pod(const char *text, size_t len)
{
	struct error err;
	struct pod *pod = pod_read(text, len, &err);

	pod_free(pod);
	return pod != NULL;
}

static bool read_spec(const char *text, size_t len)
{
	cleanup_json json_t *value = json_parse(text, len, NULL);
	struct framework_spec spec;
	struct error err;

	if (framework_spec_parse(json_object_get(value, "spec"), &spec, &err) < 0)
		return false;
	framework_spec_free(&spec);
	return true;
}

static bool read_gang(const char *text, size_t len)
{
	struct object_parts parts;
	struct gang gang;
	struct error err;
	bool read;

	if (object_parts_read(text, len, &parts, &err) < 0)
		return false;
	read = gang_read(&parts, &gang, &err) == 0;
	if (read)
		gang_free(&gang);
	object_meta_free(&parts.meta);
	return read;
}

static void test_json(void **state)
{
	static const struct shape refused[] = {
		{"", "[", ""},
		{"", "{\"a\":", ""},
		{"{\"a\":0", ",\"a\":0", "}"},
		{"", "9", ""},
		{"1e", "9", ""},
		{"\"", "\\", ""},
		{"\"", "a", ""},
		{"", " ", ""},
		{"", "\n", ""},
		{"[0", ",99999999999999999999", ",]"},
	};
	static const struct shape taken[] = {
		{"[[]", ",[]", "]"},
		{"[{}", ",{}", "]"},
		{"[0", ",0", "]"},
		{"{\"\":0", ",\"#\":0", "}"},
		{"\"", "\\u0000", "\""},
		{"[0", ",99999999999999999999", "]"},
		{"[0", ",0.12345678901234567890123", "]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		expect_within(read_json, &refused[i], false, REFUSED_MS);
		expect_within(read_pod, &refused[i], false, REFUSED_MS);
	}
	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		expect_within(read_json, &taken[i], true, READ_MS);
}

#define META "{\"metadata\":{\"namespace\":\"n\",\"name\":\"f\",\"uid\":\"u\",\"resourceVersion\":\"1\""

static void test_objects(void **state)
{
	static const struct shape pods[] = {
		{META ",\"labels\":{\"\":\"\"", ",\"#\":\"\"", "}}}"},
		{META ",\"ownerReferences\":[{}", ",{\"controller\":true,\"uid\":\"u\"}", "]}}"},
		{META "},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"c\"}",
		 ",{\"name\":\"c#\"}", "]}}"},
	};
	static const struct shape roles = {META "},\"spec\":{\"taskRoles\":[{\"name\":\"r\"}", ",{\"name\":\"r#\"}",
					   "]}}"};
	static const struct shape same = {META "},\"spec\":{\"taskRoles\":[{\"name\":\"r\"}", ",{\"name\":\"r\"}",
					  "]}}"};
	static const struct shape wrong = {META "},\"spec\":{\"taskRoles\":[{\"name\":{\"a\":0", ",\"#\":0", "}}]}}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pods); i++)
		expect_within(read_pod, &pods[i], true, READ_MS);
	expect_within(read_spec, &roles, true, READ_MS);
	expect_within(read_gang, &roles, true, READ_MS);
	expect_within(read_spec, &same, false, READ_MS);
	expect_within(read_spec, &wrong, false, READ_MS); /* the value is quoted */
}

/* ---- the others -------------------------------------------------------------------------------------------------- */

static bool read_yaml(const char *text, size_t len)
{
	struct yaml_node *root;
	struct error err;

	if (yaml_load("f", text, len, &root, &err) < 0)
		return false;
	yaml_tree_free(root);
	return true;
}

static void test_yaml(void **state)
{
	static const struct shape refused[] = {
		{"", "[", ""},
		{"", "{", ""},
		{"", "- ", ""},
		{"", "? ", ""},
		{"", "a: &a [*a]\n", ""},
		{"", "!a ", ""},
		{"", "- 0\n", ""},
		{"", "#: 0\n", ""},
		{"", "\n---\n", ""},
		{"", "%TAG ! a\n", ""},
		{"[", "0,", ""},
		{"\"", "\\", ""},
		{"\"", "\\x41", ""},
		{"a: |\n", " x\n", "\t"},
		{"a:\n", "\t", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		expect_within(read_yaml, &refused[i], false, REFUSED_MS);
}

static bool read_pattern(const char *text, size_t len)
{
	struct error err;
	struct pattern *pattern = pattern_compile(text, &err);

	(void)len;
	pattern_free(pattern);
	return pattern != NULL;
}

static bool search(const char *text, size_t len)
{
	struct error err;
	struct pattern *pattern = pattern_compile("(a|aa)+[bc]", &err);
	int64_t steps = INT64_MAX;
	bool found;

	(void)len;
	assert_non_null(pattern);
	found = pattern_search(pattern, text, &steps, NULL, NULL);
	pattern_free(pattern);
	return found;
}

static void test_patterns(void **state)
{
	static const struct shape patterns[] = {{"", "(", ""}, {"", "[", ""}, {"", "a*", ""}, {"", "(a|", ""}};
	static const struct shape subject = {"", "a", "b"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
		expect_within(read_pattern, &patterns[i], false, REFUSED_MS);
	expect_within(search, &subject, false, REFUSED_MS);
}

static bool decompress(const char *text, size_t len)
{
	cleanup_buf struct buf out = {0};
	struct error err;
	bool read = text_decompress(text, len, &out, &err) == 0;

	assert_true(out.len <= TEXT_MAX + 64 * 1024);
	return read;
}

/* What is small and would become large is known for one when it has become 1 MiB. */
static void test_compressed(void **state)
{
	static const struct shape garbage[] = {{"", "A", ""}, {"H4sIAAAAAAAA", "/", ""}, {"H4sIAAAAAAAA", "AAAA", ""}};
	cleanup_free char *zeros = mem_calloc(1, 200 * TEXT_MAX);
	cleanup_free char *bomb = text_compress(zeros, 200 * TEXT_MAX);
	size_t len = strlen(bomb);
	bool taken;

	(void)state;
	assert_true(len < 2 * TEXT_MAX);
	for (size_t i = 0; i < ARRAY_LEN(garbage); i++)
		expect_within(decompress, &garbage[i], false, REFUSED_MS);
	assert_true(read_in_ms(decompress, bomb, len, 0, &taken) <= bounded_ms(REFUSED_MS) * SLOWEST);
	assert_false(taken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),     cmocka_unit_test(test_objects),    cmocka_unit_test(test_yaml),
		cmocka_unit_test(test_patterns), cmocka_unit_test(test_compressed),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
