/* The JSON reader: what it hands out, and that it takes and refuses the same texts as jansson does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "common/base/json_reader.h"
#include "common/base/mem.h"
#include "common/base/random.h"

static void decode(const struct json_span *span, char out[64])
{
	assert_non_null(span->at);
	assert_true(span->len < 64);
	json_span_decode(span, out);
}

static void test_values(void **state)
{
	static const char text[] =
		" { \"s\" : \"plain\" , "
		"\"e\":\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00z\",\"i\":-12,"
		"\"r\":1.5e3,\"t\":true,\"f\":false,\"n\":null,\"big\":9223372036854775808,\"min\":-"
		"9223372036854775808,"
		"\"o\":{\"a\":[1,{\"b\":[]},\"]}\"]},\"last\":[7,\"x\",[]]} ";
	struct json_reader reader;
	struct json_span name;
	struct json_span span;
	struct error err;
	char out[64];

	(void)state;
	json_reader_init(&reader, text, sizeof(text) - 1);
	assert_true(json_reader_object(&reader));
	assert_true(json_reader_member(&reader, &name));
	assert_true(json_span_is(&name, "s"));
	assert_false(json_span_is(&name, "ss"));
	span = json_reader_string(&reader);
	assert_false(span.escaped);
	decode(&span, out);
	assert_string_equal(out, "plain");
	assert_true(json_reader_member(&reader, &name));
	span = json_reader_string(&reader);
	assert_true(span.escaped);
	decode(&span, out);
	assert_string_equal(out, "a\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
	assert_true(json_reader_member(&reader, &name));
	assert_int_equal(json_reader_int(&reader, 1), -12);
	assert_true(json_reader_member(&reader, &name));
	assert_int_equal(json_reader_int(&reader, 1), 1);
	assert_true(json_reader_member(&reader, &name));
	assert_true(json_reader_bool(&reader, false));
	assert_true(json_reader_member(&reader, &name));
	assert_false(json_reader_bool(&reader, true));
	assert_true(json_reader_member(&reader, &name));
	assert_true(json_reader_bool(&reader, true));
	assert_true(json_reader_member(&reader, &name));
	assert_int_equal(json_reader_int(&reader, 5), 5);
	assert_true(json_reader_member(&reader, &name));
	assert_true(json_reader_int(&reader, 5) == INT64_MIN);
	assert_true(json_reader_member(&reader, &name));
	assert_false(json_reader_array(&reader)); /* an object: skipped */
	assert_true(json_reader_member(&reader, &name));
	assert_true(json_span_is(&name, "last"));
	assert_true(json_reader_array(&reader));
	assert_true(json_reader_item(&reader));
	span = json_reader_string(&reader); /* a number: skipped */
	assert_null(span.at);
	assert_true(json_reader_item(&reader));
	assert_int_equal(json_reader_int(&reader, -1), -1);
	assert_true(json_reader_item(&reader));
	span = json_reader_skip(&reader);
	assert_int_equal(span.len, 2);
	assert_false(json_reader_item(&reader));
	assert_false(json_reader_member(&reader, &name));
	assert_int_equal(json_reader_finish(&reader, &err), 0);
}

static void test_empty_ones(void **state)
{
	static const char text[] = "{\"a\":{},\"b\":[],\"c\":\"\"}";
	struct json_reader reader;
	struct json_span name;
	struct json_span span;
	char out[64];

	(void)state;
	json_reader_init(&reader, text, sizeof(text) - 1);
	assert_true(json_reader_object(&reader));
	assert_true(json_reader_member(&reader, &name));
	assert_true(json_reader_object(&reader));
	assert_false(json_reader_member(&reader, &name));
	assert_true(json_reader_member(&reader, &name));
	assert_true(json_reader_array(&reader));
	assert_false(json_reader_item(&reader));
	assert_true(json_reader_member(&reader, &name));
	span = json_reader_string(&reader);
	decode(&span, out);
	assert_string_equal(out, "");
	assert_false(json_reader_member(&reader, &name));
	assert_int_equal(json_reader_finish(&reader, NULL), 0);
}

/* After a mistake nothing is read, nothing loops, and the message says where it was. */
static void test_mistake(void **state)
{
	static const char text[] = "{\"a\":[1,2}";
	struct json_reader reader;
	struct json_span name;
	struct error err;

	(void)state;
	json_reader_init(&reader, text, sizeof(text) - 1);
	assert_true(json_reader_object(&reader));
	assert_true(json_reader_member(&reader, &name));
	assert_true(json_reader_array(&reader));
	assert_true(json_reader_item(&reader));
	assert_int_equal(json_reader_int(&reader, 0), 1);
	assert_true(json_reader_item(&reader));
	assert_int_equal(json_reader_int(&reader, 0), 2);
	assert_false(json_reader_item(&reader));
	assert_false(json_reader_member(&reader, &name));
	assert_false(json_reader_object(&reader));
	assert_int_equal(json_reader_int(&reader, 9), 9);
	assert_null(json_reader_string(&reader).at);
	assert_int_equal(json_reader_finish(&reader, &err), -1);
	assert_string_equal(err.message, "invalid JSON: byte 9: found 0x7d, expected ',' or ']'");
}

static bool reads(const char *text, size_t len)
{
	struct json_reader reader;

	json_reader_init(&reader, text, len);
	json_reader_skip(&reader);
	return json_reader_finish(&reader, NULL) == 0;
}

/* As json_parse() has it, but for names that come twice. */
static bool parses(const char *text, size_t len)
{
	json_error_t error;
	json_t *value = json_loadb(text, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
	bool fine = value != NULL || json_error_code(&error) == json_error_numeric_overflow;

	json_decref(value);
	return fine;
}

static void test_refused(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"{",
		"[",
		"}",
		"{]",
		"[}",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{,}",
		"{1:2}",
		"[1,]",
		"[,1]",
		"[1 2]",
		"{\"a\":1 \"b\":2}",
		"{\"a\" 1}",
		"1 1",
		"{}{}",
		"01",
		"-",
		"-a",
		"1.",
		".1",
		"1e",
		"1e+",
		"+1",
		"tru",
		"nul",
		"True",
		"\"",
		"\"a",
		"\"\\",
		"\"\\x\"",
		"\"\\u12\"",
		"\"\\u123g\"",
		"\"\\ud800\"",
		"\"\\udc00\"",
		"\"\\ud800\\u0041\"",
		"\"\n\"",
		"\"\x1f\"",
		"\"\x80\"",
		"\"\xc0\xaf\"",
		"\"\xed\xa0\x80\"",
		"\"\xf5\x80\x80\x80\"",
		"\"\xe2\x82\"",
		"[\"a\":1]",
		"{\"a\":[}",
		"\xef\xbb\xbf{}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		/* Of exactly its size, so that reading past the end is found. */
		size_t len = strlen(texts[i]);
		cleanup_free char *text = mem_alloc(len + 1);

		memcpy(text, texts[i], len);
		text = mem_realloc(text, len == 0 ? 1 : len, 1);
		if (reads(text, len))
			fail_msg("\"%s\" was taken", texts[i]);
		assert_false(parses(texts[i], len));
	}
}

static void test_depth(void **state)
{
	cleanup_buf struct buf text = {0};

	(void)state;
	for (size_t i = 0; i < JSON_READER_DEPTH; i++)
		buf_puts(&text, i % 2 == 0 ? "[" : "{\"a\":");
	buf_puts(&text, "1");
	for (size_t i = JSON_READER_DEPTH; i-- > 0;)
		buf_puts(&text, i % 2 == 0 ? "]" : "}");
	assert_true(reads(text.data, text.len));
	assert_true(parses(text.data, text.len));
	buf_putc(&text, ']');
	text.data[text.len] = '\0';
	memmove(text.data + 1, text.data, text.len - 1);
	assert_false(reads(text.data, text.len));
}

/* Texts with a few bytes changed, cut out or doubled: both take them, or neither. */
static void test_like_jansson(void **state)
{
	static const char *const seeds[] = {
		"{\"metadata\":{\"name\":\"a-0\",\"uid\":\"u\",\"labels\":{\"x\":\"\\u00e9\\ud83d\\ude00\"}},\"n\":[1,-"
		"2.5e3,"
		"true,null,{\"deep\":[[[]]]}],\"s\":\"long enough for eight bytes at a time \xc3\xa9 "
		"\xf0\x9f\x98\x80\"}",
		"[0,1.0,1e5,-0.25E-2,\"\",\"\\\\\\\"\",{},[],false]",
		"{\"a\":\"plain\",\"b\":12,\"c\":null,\"d\":true,\"e\":false,\"f\":{\"g\":7,\"h\":\"eight bytes and "
		"more\",\"i\":0,\"j\":-1},\"k\":\"last\"}",
	};
	static const char bytes[] = "{}[]\",:\\u0159eE+-.tfn \x01\x1f\x7f\x80\xc3\xed\xf4";
	struct random random;
	size_t taken = 0;

	(void)state;
	random_init_seed(&random, 7);
	for (int round = 0; round < 60000; round++) {
		const char *seed = seeds[round % (int)ARRAY_LEN(seeds)];
		size_t len = strlen(seed);
		cleanup_free char *text = mem_alloc(len);
		int changes = (int)random_between(&random, 0, 3);

		memcpy(text, seed, len);
		for (int i = 0; i < changes; i++)
			text[random_between(&random, 0, (int64_t)len - 1)] =
				bytes[random_between(&random, 0, (int64_t)sizeof(bytes) - 2)];
		if (random_between(&random, 0, 7) == 0)
			len = (size_t)random_between(&random, 1, (int64_t)len);
		if (reads(text, len) != parses(text, len))
			fail_msg("%s, but not by jansson: %.*s", reads(text, len) ? "taken" : "refused", (int)len,
				 text);
		taken += reads(text, len);
	}
	assert_true(taken > 5000);
}

static void test_compact(void **state)
{
	static const char text[] = "{\n  \"a b\" : [ 1 ,\t\"c \\\" d\" ],\r\n \"e\":\"\\\\\" }\n";
	cleanup_buf struct buf out = {0};

	(void)state;
	buf_json_compact(&out, text, sizeof(text) - 1);
	assert_string_equal(out.data, "{\"a b\":[1,\"c \\\" d\"],\"e\":\"\\\\\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),  cmocka_unit_test(test_empty_ones), cmocka_unit_test(test_mistake),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_depth),      cmocka_unit_test(test_like_jansson),
		cmocka_unit_test(test_compact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
