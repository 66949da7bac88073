/* common/base/yaml: what it reads, where it says an error stands, and that hostile text costs next to nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/yaml.h"
#include "tests/unit/slow.h"
#include "tests/unit/temp.h"

static struct yaml_node *load(const char *text)
{
	struct error err = {0};
	struct yaml_node *root = NULL;
	if (yaml_load("t.yaml", text, strlen(text), &root, &err) < 0)
		fail_msg("%s", err.message);
	return root;
}

static void assert_json(const char *text, const char *expected)
{
	struct yaml_node *root = load(text);
	json_t *value = yaml_to_json(root);
	char *json = json_text(value);
	assert_string_equal(json, expected);
	free(json);
	json_decref(value);
	yaml_tree_free(root);
}

static void assert_refused(const char *text, const char *expected)
{
	struct error err = {0};
	struct yaml_node *root = NULL;
	assert_int_equal(yaml_load("t.yaml", text, strlen(text), &root, &err), -1);
	assert_null(root);
	if (!strstr(err.message, expected))
		fail_msg("\"%s\" lacks \"%s\"", err.message, expected);
}

static void test_structure(void **state)
{
	(void)state;
	assert_json("a: 1\nb: [x, {c: d}]\ne:\n- f\n- - g\n",
		    "{\"a\":1,\"b\":[\"x\",{\"c\":\"d\"}],\"e\":[\"f\",[\"g\"]]}");
	assert_json("", "null");
	assert_json("# only a comment\n", "null");
	assert_json("---\na: |\n  two\n  lines\n...\n", "{\"a\":\"two\\nlines\\n\"}");
	assert_json("{}", "{}");
	assert_json("? a\n? ", "{\"a\":null,\"\":null}");
	assert_json("{a: {}, b: []}", "{\"a\":{},\"b\":[]}");
}

static void test_scalars(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{"null", "null"},
		{"~", "null"},
		{"\"null\"", "\"null\""},
		{"true", "true"},
		{"FALSE", "false"},
		{"'true'", "\"true\""},
		{"yes", "\"yes\""},
		{"0", "0"},
		{"-12", "-12"},
		{"+7", "7"},
		{"0x1F", "31"},
		{"0o17", "15"},
		{"017", "17"},
		{"'5'", "\"5\""},
		{"!!str 5", "\"5\""},
		{"1.5", "1.5"},
		{".5", "0.5"},
		{"1e3", "1000.0"},
		{"1.", "1.0"},
		{"1.2.3", "\"1.2.3\""},
		{"-", "[null]"},
		{"1e", "\"1e\""},
		{".inf", "\".inf\""},
		{"2020-01-02", "\"2020-01-02\""},
		{"0x", "\"0x\""},
		{".", "\".\""},
		{"9223372036854775807", "9223372036854775807"},
		{"https://h:1", "\"https://h:1\""},
		{"é", "\"é\""},
		{"9223372036854775808", "9.223372036854776e18"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_json(rows[i][0], rows[i][1]);
}

static void test_positions(void **state)
{
	(void)state;
	struct yaml_node *root = load("# c\na: 1\nb:\n  - x\n  -   c: é\n      d: [1, 2]\n");
	struct yaml_node *second = yaml_get(root, "b")->items[1];
	struct yaml_node *two = yaml_get(second, "d")->items[1];
	assert_int_equal(root->line, 2);
	assert_int_equal(root->column, 1);
	assert_int_equal(second->line, 5);
	assert_int_equal(second->column, 7);
	assert_int_equal(two->line, 6);
	assert_int_equal(two->column, 14);
	assert_int_equal(second->keys[1]->line, 6);
	assert_int_equal(second->keys[1]->column, 7);
	assert_null(yaml_get(root, "missing"));
	assert_null(yaml_get(two, "a"));
	assert_null(yaml_get(NULL, "a"));
	yaml_tree_free(root);
}

static void test_refused(void **state)
{
	(void)state;
	assert_refused("a: &x 1\nb: *x\n", "t.yaml:1:4: anchors are not supported");
	assert_refused("a: 1\nb: *x\n", "t.yaml:2:4: aliases are not supported");
	assert_refused("a: 1\nb: 2\n'a': 3\n", "t.yaml:3:1: key \"a\" given twice, first at 1:1");
	assert_refused("x:\n  b: 1\n  a: 1\n  b: 2\n  a: 2\n", "t.yaml:4:3: key \"b\" given twice, first at 2:3");
	assert_refused("a: 1\n---\nb: 2\n", "t.yaml:2:1: more than one document");
	assert_refused("? [a]\n: 1\n", "t.yaml:1:3: a key must be a scalar, found a sequence");
	assert_refused("a: \"x\\0y\"\n", "t.yaml:1:4: a NUL character");
	assert_refused("a: !!binary eA==\n", "t.yaml:1:4: tag tag:yaml.org,2002:binary is not supported");
	assert_refused("a: !!set {}\n", "t.yaml:1:4: tag");
	assert_refused("a: [1, 2\nb: 3\n", "t.yaml:2:");
	assert_refused("a: b: c\n", "t.yaml:1:5: mapping values are not allowed");
	assert_refused("a: \"x\nb: 1\nc: 2\n",
		       "t.yaml:4:1: while scanning a quoted scalar that begins at 1:4, found unexpected end of stream");
	assert_refused("a:\n\t- x\n", "t.yaml:2:1: found a tab, expected spaces");
	assert_refused("a:\n  b: 1\n\tc: 2\n", "t.yaml:3:1: found a tab, expected spaces");
	assert_refused("a: 1\n\tb: 2\n", "t.yaml:2:1: found a tab, expected spaces");
	assert_refused("a: \"x\n", "t.yaml:");
	assert_refused("a: 1\né: \xff\n", "t.yaml:2:4: invalid leading UTF-8 octet");
	assert_refused("{a: ", "t.yaml:2:1: while parsing a flow node");
}

static void test_getters(void **state)
{
	(void)state;
	struct yaml_node *root = load(
		"{i: 5, s: x, q: '5', f: 1.5, t: yes, n: null, m: {}, l: [], big: 99999999999999999999,"
		"long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}");
	struct error err = {0};
	int64_t integer = 0;
	double number = 0;
	bool flag = false;
	const char *text = NULL;
	assert_int_equal(yaml_as_int(yaml_get(root, "i"), "i", 1, 5, &integer, &err), 0);
	assert_int_equal(integer, 5);
	assert_int_equal(yaml_as_int(yaml_get(root, "i"), "i", 6, 9, &integer, &err), -1);
	assert_string_equal(err.message, "t.yaml:1:5: i: found the integer 5, expected an integer from 6 to 9");
	assert_int_equal(yaml_as_int(yaml_get(root, "q"), "q", 0, 9, &integer, &err), -1);
	assert_string_equal(err.message, "t.yaml:1:17: q: found the string \"5\", expected an integer from 0 to 9");
	assert_int_equal(yaml_as_int(yaml_get(root, "f"), "f", 0, 9, &integer, &err), -1);
	assert_non_null(strstr(err.message, "found the number 1.5"));
	assert_int_equal(yaml_as_int(yaml_get(root, "big"), "big", INT64_MIN, INT64_MAX, &integer, &err), -1);
	assert_int_equal(yaml_as_int(yaml_get(root, "m"), "m", 0, 9, &integer, &err), -1);
	assert_non_null(strstr(err.message, "found a mapping"));
	assert_int_equal(yaml_as_double(yaml_get(root, "f"), "f", &number, &err), 0);
	assert_true(number == 1.5);
	assert_int_equal(yaml_as_double(yaml_get(root, "i"), "i", &number, &err), 0);
	assert_true(number == 5);
	assert_int_equal(yaml_as_double(yaml_get(root, "q"), "q", &number, &err), -1);
	assert_int_equal(yaml_as_bool(yaml_get(root, "t"), "t", &flag, &err), 0);
	assert_true(flag);
	assert_int_equal(yaml_as_bool(yaml_get(root, "n"), "n", &flag, &err), -1);
	assert_non_null(strstr(err.message, "n: found null, expected true or false"));
	assert_int_equal(yaml_as_string(yaml_get(root, "q"), "q", &text, &err), 0);
	assert_string_equal(text, "5");
	assert_int_equal(yaml_as_string(yaml_get(root, "i"), "i", &text, &err), -1);
	assert_non_null(strstr(err.message, "i: found the integer 5, expected a string"));
	assert_int_equal(yaml_as_string(yaml_get(root, "l"), "l", &text, &err), -1);
	assert_non_null(strstr(err.message, "found a sequence"));
	assert_int_equal(yaml_as_int(yaml_get(root, "long"), "long", 0, 1, &integer, &err), -1);
	assert_non_null(strstr(err.message, "aaa\"…"));
	assert_true(yaml_is_null(yaml_get(root, "n")));
	assert_true(yaml_is_null(yaml_get(root, "absent")));
	assert_false(yaml_is_null(yaml_get(root, "m")));
	yaml_tree_free(root);
}

/* Each of these took seconds or gigabytes with the document API (common/README.md §10.2); the bound here is loose
 * enough for a busy machine with sanitizers. */
static void test_hostile(void **state)
{
	(void)state;
	static const char *const units[] = {
		"[",      "{a: ", "- ",   "? ",  "[],", "{},", "a,",  "&a ", "*a ",
		"!!str ", "'",    "\"\\", "[a,", ": ",  "\t",  "|\n", "%",
	};
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		for (int bracket = 0; bracket < 2; bracket++) {
			cleanup_buf struct buf text = {0};
			if (bracket)
				buf_putc(&text, '[');
			while (text.len + strlen(units[i]) <= YAML_MAX_BYTES)
				buf_puts(&text, units[i]);
			int64_t start = cpu_ms();
			struct yaml_node *root = NULL;
			struct error err = {0};
			if (yaml_load("h", text.data, text.len, &root, &err) == 0)
				yaml_tree_free(root);
			int64_t took = cpu_ms() - start;
			if (took > allowed_ms(2000))
				fail_msg("'%s' repeated takes %lld ms", units[i], (long long)took);
		}
	}
	/* depth: 64 is fine, 65 is not */
	char deep[160];
	memset(deep, '[', 64);
	memset(deep + 64, ']', 64);
	deep[128] = '\0';
	yaml_tree_free(load(deep));
	memset(deep, '[', 65);
	deep[65] = '\0';
	assert_refused(deep, "t.yaml:1:65: nested more than 64 deep");
	/* size: refused by its length alone */
	cleanup_buf struct buf big = {0};
	buf_reserve(&big, YAML_MAX_BYTES + 1);
	memset(big.data, ' ', YAML_MAX_BYTES + 1);
	struct yaml_node *root = NULL;
	struct error err = {0};
	assert_int_equal(yaml_load("t.yaml", big.data, YAML_MAX_BYTES, &root, &err), 0);
	yaml_tree_free(root);
	assert_int_equal(yaml_load("t.yaml", big.data, YAML_MAX_BYTES + 1, &root, &err), -1);
	assert_non_null(strstr(err.message, "t.yaml:1:1: longer than 1048576 bytes"));
}

/* 90 000 different keys: quadratic duplicate detection would take a minute. */
static void test_many_keys(void **state)
{
	(void)state;
	cleanup_buf struct buf text = {0};
	for (int i = 0; i < 45000; i++)
		buf_printf(&text, "k%d: 1\n", i);
	int64_t start = cpu_ms();
	struct yaml_node *root = load(text.data);
	assert_int_equal(root->count, 45000);
	yaml_tree_free(root);
	assert_true(cpu_ms() - start < allowed_ms(5000));
	buf_puts(&text, "k7: 1\n");
	assert_refused(text.data, "t.yaml:45001:1: key \"k7\" given twice, first at 8:1");
	buf_clear(&text);
	for (int i = 0; i < YAML_MAX_NODES; i++)
		buf_puts(&text, "- \n");
	assert_refused(text.data, "t.yaml:100000:2: more than 100000 values");
}

/* Every prefix of a text with everything in it: no crash, no leak (under the sanitizers), an error or a tree. */
static void test_truncated(void **state)
{
	(void)state;
	static const char text[] =
		"a: {b: [1, 'x', \"y\\u00e9\"], c: |\n  block\n}\n? k\n: - v\n  - !!str 5\nz: >-\n  f\n";
	for (size_t len = 0; len < sizeof(text); len++) {
		struct yaml_node *root = NULL;
		struct error err = {0};
		int result = yaml_load("t", text, len, &root, &err);
		assert_true(result == 0 ? root != NULL : err.message[0] != '\0');
		yaml_tree_free(root);
	}
}

static void test_file(void **state)
{
	(void)state;
	struct yaml_node *root = NULL;
	struct error err = {0};
	char path[TEMP_PATH_SIZE];
	int fd = temp_file(path);
	assert_int_equal(write(fd, "a: b\n", 5), 5);
	close(fd);
	int result = yaml_load_file(path, &root, &err);
	unlink(path);
	assert_int_equal(result, 0);
	assert_string_equal(yaml_get(root, "a")->text, "b");
	yaml_tree_free(root);
	assert_int_equal(yaml_load_file(path, &root, &err), -1);
	assert_non_null(strstr(err.message, path));
	assert_non_null(strstr(err.message, "No such file"));
	assert_int_equal(yaml_load_file("/tmp", &root, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_structure), cmocka_unit_test(test_scalars),   cmocka_unit_test(test_positions),
		cmocka_unit_test(test_refused),   cmocka_unit_test(test_getters),   cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_many_keys), cmocka_unit_test(test_truncated), cmocka_unit_test(test_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
