/* Merge patches of Frameworks and statuses, and whether a stored spec has all that is wanted. */
#include "tests/unit/jobs_world.h"

#include "jobs/patch.h"

static void test_make(void **state)
{
	static const struct {
		const char *from;
		const char *to;
		const char *patch;
	} rows[] = {
		{"{a: 1}", "{a: 1}", "{}"},
		{"{a: 1, b: 2}", "{a: 1}", "{b: null}"},
		{"{a: {b: 1, c: 2}}", "{a: {b: 1}}", "{a: {c: null}}"},
		{"{a: [1, 2]}", "{a: [1]}", "{a: [1]}"},
		{"{a: 1}", "{a: {b: 1}}", "{a: {b: 1}}"},
		{"{}", "{a: {b: {c: []}}}", "{a: {b: {c: []}}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_json json_t *from = yaml_of(rows[i].from);
		cleanup_json json_t *to = yaml_of(rows[i].to);
		cleanup_json json_t *expected = yaml_of(rows[i].patch);
		cleanup_json json_t *patch = patch_make(from, to);
		cleanup_json json_t *whole = patch_make(NULL, to);

		assert_json(rows[i].from, patch, expected);
		assert_json("without a former one", whole, to);
	}
}

static void test_contains(void **state)
{
	static const struct {
		const char *whole;
		const char *part;
		bool contains;
	} rows[] = {
		{"{a: 1, b: {c: 2, d: 3}}", "{b: {c: 2}}", true},
		{"{a: 1}", "{a: 2}", false},
		{"{a: 1}", "{b: 1}", false},
		{"{a: 1}", "{b: null}", true},
		{"{a: [{b: 1, c: 2}]}", "{a: [{b: 1}]}", true},
		{"{a: [{b: 1}, {b: 2}]}", "{a: [{b: 1}]}", false},
		{"{a: [1]}", "{a: {}}", false},
		{"{a: {}}", "{a: {}}", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_json json_t *whole = yaml_of(rows[i].whole);
		cleanup_json json_t *part = yaml_of(rows[i].part);

		assert_int_equal(patch_contains(whole, part), rows[i].contains);
	}
	assert_false(patch_contains(NULL, json_true()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_make), cmocka_unit_test(test_contains)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
