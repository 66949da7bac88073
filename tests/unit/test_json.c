/* Reading JSON: what jansson alone would refuse as a whole (common/README.md §10). */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/mem.h"

/* What json_parse makes of text, printed again. */
static void assert_reads(const char *text, const char *expected)
{
	struct error err = {0};
	cleanup_json json_t *value = json_parse(text, strlen(text), &err);
	char *found;

	if (value == NULL)
		fail_msg("%s: %s", text, err.message);
	found = json_text(value);
	assert_string_equal(found, expected);
	free(found);
}

/* One number past 64 bits becomes a real; all others stay what they are. */
static void test_large_integers(void **state)
{
	(void)state;
	assert_reads("[0,9223372036854775808,-7]", "[0,9.223372036854776e18,-7]");
	assert_reads("[9223372036854775807,-9223372036854775808]", "[9223372036854775807,-9223372036854775808]");
	assert_reads("[9223372036854775807,-9223372036854775809]", "[9223372036854775807,-9.223372036854776e18]");
	assert_reads("36893488147419103232", "3.6893488147419103e19");
	assert_reads("{\"99999999999999999999\": [\"\\\"99999999999999999999\", 99999999999999999999 ,3]}",
		     "{\"99999999999999999999\":[\"\\\"99999999999999999999\",1e20,3]}");
	assert_reads("[99999999999999999999.5,99999999999999999999e2,99999999999999999999,0.99999999999999999999,"
		     "1e+00000000000000000001,1e-00000000000000000001]",
		     "[1e20,1e22,1e20,1.0,10.0,0.1]");
}

/* What the API server reads as a Quantity, say, is what the user wrote: 0.1 and not 0.10000000000000001, which is 101m.
 */
static void test_fractions(void **state)
{
	(void)state;
	assert_reads("[0.1,0.2,0.4,1.1,4.4,-0.3,0.5,2.0]", "[0.1,0.2,0.4,1.1,4.4,-0.3,0.5,2.0]");
	assert_reads("{\"cpu\":{\"requests\":0.1}}", "{\"cpu\":{\"requests\":0.1}}");
	assert_reads("[1e-3,1.5e300]", "[0.001,1.5e300]");
	assert_reads("0.3333333333333333", "0.3333333333333333");
	assert_reads("0.30000000000000004", "0.30000000000000004");
	assert_reads("[0.1,0.30000000000000004]", "[0.1,0.30000000000000004]");
}

/* Every character is written as jansson writes it, except that the digits of escapes are lower-case, as in API servers'
 * texts. */
static void test_like_jansson(void **state)
{
	cleanup_json json_t *value = json_object();
	char *expected;
	char *found;

	(void)state;
	for (int c = 0; c < 0x100; c++) {
		const char bytes[] = {'a', (char)(c < 0x80 ? c : 0xC3), (char)(c < 0x80 ? 'b' : 0x80 | (c & 0x3F)),
				      '\0'};
		cleanup_free char *name = mem_printf("%d%s", c, c == 0 ? "" : bytes);

		json_object_set_new(value, name,
				    json_pack("[o, i, b, n, {}, []]", json_stringn(bytes, 3), c - 7, c % 2));
	}
	expected = json_dumps(value, JSON_COMPACT);
	for (char *at = strstr(expected, "\\u00"); at != NULL; at = strstr(at + 1, "\\u00"))
		at[5] = (char)tolower(at[5]);
	found = json_text(value);
	assert_string_equal(found, expected);
	free(found);
	free(expected);
}

static void test_not_utf8(void **state)
{
	cleanup_buf struct buf text = {0};

	(void)state;
	buf_json_string(&text, "\xff"
			       "a\xc3(\xc3\xa9\xe2\x82\"\xed\xa0\x80\x7f\xf0\x9f\x98\x80\xf0");
	assert_string_equal(text.data, "\"\xef\xbf\xbd"
				       "a\xef\xbf\xbd(\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\\\"\xef\xbf\xbd"
				       "\xef\xbf\xbd\xef\xbf\xbd\x7f\xf0\x9f\x98\x80\xef\xbf\xbd\"");
}

static void test_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"[99999999999999999999",
		"[99999999999999999999 7]",
		"[99999999999999999999,\"a",
		"[1e999]",
		"{\"a\":1,\"a\":2}",
		"[-]",
		"",
		"[01]",
		"[1 2]",
		"{\"a\":1,}",
		"{\"a\":tru}",
		"[\"\xff\"]",
		"[\"\\ud800\"]",
		"[]]",
		"[\"\\",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct error err = {0};

		if (json_parse(texts[i], strlen(texts[i]), &err) != NULL)
			fail_msg("%s was accepted", texts[i]);
		assert_non_null(strstr(err.message, "invalid JSON"));
	}
}

/* Trees are those that jansson reads. */
static void test_same_trees(void **state)
{
	static const char *const texts[] = {
		"{\"a\":{\"b\":[1,-2,true,false,null,\"c\",{},[]]},\"\":\"\"}",
		" [ 1 , {\"a\" : \"b\\\\\\\"\\n\\u00e9\\ud83d\\ude00\"} ] ",
		"{\"a\\tb\":1,\"a\":2}",
		"\"\xc3\xa9\"",
		"-0",
		"[0.5,1e3,123456789012345678,1234567890123456789,-123456789012345678]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cleanup_json json_t *expected = json_loads(texts[i], JSON_DECODE_ANY, NULL);
		cleanup_json json_t *found = json_parse(texts[i], strlen(texts[i]), NULL);

		assert_non_null(expected);
		if (!json_equal(found, expected))
			fail_msg("%s is read otherwise", texts[i]);
	}
}

static void test_nul(void **state)
{
	(void)state;
	assert_reads("[\"a\\u0000b\"]", "[\"a\\u0000b\"]");
}

/* common/README.md §10.1: what is small on the wire may be large in memory. */
static void test_many_values(void **state)
{
	cleanup_buf struct buf text = {0};
	struct error err = {.message = ""};
	json_t *value;

	(void)state;
	buf_puts(&text, "[{}");
	for (int i = 0; i < JSON_VALUES_MAX / 2 - 2; i++)
		buf_puts(&text, ",{}");
	buf_puts(&text, ",\"");
	for (int i = 0; i < 1000; i++)
		buf_puts(&text, ",,,[[[{{{");
	buf_puts(&text, "\"]");
	value = json_parse(text.data, text.len, &err);
	if (value == NULL)
		fail_msg("%s", err.message);
	json_decref(value);
	text.len -= 1;
	buf_puts(&text, ",{},{}]");
	value = json_parse(text.data, text.len, &err);
	assert_null(value);
	assert_non_null(strstr(err.message, "more than 2000000 values"));
}

static void test_find(void **state)
{
	static const char text[] = "[1,{\"name\":2},{\"n\":0},{\"name\":\"a\",\"n\":1},{\"name\":\"a\",\"n\":2}]";
	cleanup_json json_t *list = json_parse(text, strlen(text), NULL);
	cleanup_json json_t *object = json_pack("{s:s}", "name", "a");

	(void)state;
	assert_int_equal(json_int(json_find(list, "name", "a"), "n", 0), 1);
	assert_null(json_find(list, "name", "b"));
	assert_null(json_find(object, "name", "a"));
	assert_null(json_find(NULL, "name", "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_large_integers), cmocka_unit_test(test_fractions),
		cmocka_unit_test(test_like_jansson),   cmocka_unit_test(test_same_trees),
		cmocka_unit_test(test_refused),        cmocka_unit_test(test_nul),
		cmocka_unit_test(test_many_values),    cmocka_unit_test(test_find),
		cmocka_unit_test(test_not_utf8),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
