/* Finding the objects of lists and the events of watch streams: every split of the input, broken and oversized pieces;
 * and the small reckoners beside it (token bucket, backoff, versions, resource labels). */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/rate.h"
#include "common/base/version.h"
#include "common/kube/client/answer.h"
#include "common/kube/page.h"
#include "common/kube/pieces.h"

/* The items of a page, each followed by '|'. -1: it is none. */
static int read_list(const char *text, size_t len, struct buf *items, struct page *page, struct error *err)
{
	/* a copy of exact size, so that a read past the end is seen */
	cleanup_free char *copy = mem_alloc(len + (len == 0));
	int result;

	memcpy(copy, text, len);
	result = page_read(page, copy, len, err);
	buf_puts(items, "");
	for (size_t i = 0; i < page->count; i++) {
		assert_true(page->items[i].data >= copy && page->items[i].data + page->items[i].len <= copy + len);
		buf_append(items, page->items[i].data, page->items[i].len);
		buf_putc(items, '|');
	}
	return result;
}

/* Items that no parser takes come as they are; a list of any length comes whole. */
static void test_list_items(void **state)
{
	static const char text[] =
		" {\"kind\" : \"List\", \"metadata\":{\"resourceVersion\":\"7\",\"x\":1,\"continue\":\"]}\\\"{\"},\n"
		"\"items\": [ {\"a\":\"]},{\"}, {\"b\":[1,{\"c\":\"\\\\\"}]} "
		",\"s\\\"]\",12,null\n,{\"\xff\\ud800\":01}], "
		"\"x\":{\"items\":[9]} }\n";
	cleanup_buf struct buf items = {0};
	cleanup_buf struct buf many = {0};
	struct page page;

	(void)state;
	assert_int_equal(read_list(text, strlen(text), &items, &page, NULL), 0);
	assert_string_equal(items.data,
			    "{\"a\":\"]},{\"}|{\"b\":[1,{\"c\":\"\\\\\"}]}|\"s\\\"]\"|12|null|{\"\xff\\ud800\":01}|");
	assert_string_equal(page.version, "7");
	assert_string_equal(page.more, "]}\"{");
	page_free(&page);
	/* deeper than any parser goes */
	buf_puts(&many, "{\"items\":[");
	for (int i = 0; i < 5000; i++)
		buf_putc(&many, '[');
	for (int i = 0; i < 5000; i++)
		buf_putc(&many, ']');
	for (int i = 0; i < 1000; i++)
		buf_puts(&many, ",{}");
	buf_puts(&many, "]}");
	buf_clear(&items);
	assert_int_equal(read_list(many.data, many.len, &items, &page, NULL), 0);
	assert_int_equal(page.count, 1001);
	assert_int_equal(page.items[0].len, 10000);
	assert_int_equal(page.items[1000].len, 2);
	assert_null(page.version);
	assert_null(page.more);
	page_free(&page);
}

/* A list that ends early must never pass for a whole one: what is not in it would count as deleted. */
static void test_list_cut_short(void **state)
{
	static const char text[] =
		"{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"a\":\"\\\"x\"},12,[\"]\"]],\"b\":null}";

	(void)state;
	for (size_t len = 0; len <= strlen(text); len++) {
		cleanup_buf struct buf items = {0};
		struct page page;
		struct error err = {0};
		int result = read_list(text, len, &items, &page, &err);

		if (result != (len < strlen(text) ? -1 : 0))
			fail_msg("%zu bytes are %s", len, result == 0 ? "taken" : err.message);
		page_free(&page);
	}
}

static void test_list_empty_and_null(void **state)
{
	static const char *const texts[] = {
		"{\"items\":[],\"metadata\":{}}",
		"{\"metadata\":{\"resourceVersion\":\"\",\"continue\":\"\"},\"items\":null}",
		"{\"items\":[ \n ]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup_buf struct buf items = {0};
		struct page page;

		assert_int_equal(read_list(texts[i], strlen(texts[i]), &items, &page, NULL), 0);
		assert_int_equal(page.count, 0);
		assert_null(page.version);
		assert_null(page.more);
		page_free(&page);
	}
}

static void test_list_of_something_else(void **state)
{
	static const char *const texts[] = {
		"[1]",
		"hello",
		"{1:2}",
		"{\"a\"1}",
		"{\"a\":,}",
		"{} x",
		"{\"items\":[}]}",
		"{\"items\":[1 2]}",
		"{\"items\":[]} {\"items\":[]}",
		"{}",
		"{\"items\":{}}",
		"{\"items\":5,\"metadata\":{}}",
		"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup_buf struct buf items = {0};
		struct page page;
		struct error err = {0};

		if (read_list(texts[i], strlen(texts[i]), &items, &page, &err) == 0)
			fail_msg("%s is taken", texts[i]);
		assert_non_null(strstr(err.message, "expected"));
		page_free(&page);
	}
}

/* Pieces, each followed by '|', too large ones by '!'. */
static void cut_lines(struct pieces *cut, const char *data, size_t len, struct buf *out)
{
	struct piece piece;

	while (pieces_next(cut, &data, &len, &piece)) {
		buf_append(out, piece.text, piece.len);
		buf_putc(out, piece.too_large ? '!' : '|');
	}
	assert_int_equal(len, 0);
}

static void test_lines(void **state)
{
	static const char text[] = "{\"a\":1}\n\n \r\n{\"b\":\"0123456789\"}\r\n{\"c\":3}\n{\"d\"";

	(void)state;
	for (size_t first = 0; first <= strlen(text); first++) {
		struct pieces cut = {.max = 12};
		struct buf lines = {0};

		cut_lines(&cut, text, first, &lines);
		cut_lines(&cut, text + first, strlen(text) - first, &lines);
		assert_string_equal(lines.data, "{\"a\":1}|{\"b\":\"012345!{\"c\":3}|");
		pieces_reset(&cut);
		cut_lines(&cut, "x\n", 2, &lines);
		assert_string_equal(lines.data + lines.len - 3, "|x|");
		pieces_free(&cut);
		buf_free(&lines);
	}
}

/* The caller stops within the data, and goes on there. */
static void test_lines_one_by_one(void **state)
{
	const char *data = "2\n3\n";
	size_t len = strlen(data);
	struct pieces cut = {.max = 100};
	struct buf lines = {0};
	struct piece piece;

	(void)state;
	cut_lines(&cut, "1", 1, &lines);
	assert_true(pieces_next(&cut, &data, &len, &piece));
	assert_memory_equal(piece.text, "12", piece.len);
	assert_int_equal(piece.len, 2);
	assert_string_equal(data, "3\n");
	assert_int_equal(len, 2);
	assert_true(pieces_next(&cut, &data, &len, &piece));
	assert_int_equal(piece.len, 1);
	assert_int_equal(len, 0);
	assert_false(pieces_next(&cut, &data, &len, &piece));
	pieces_free(&cut);
	buf_free(&lines);
}

static void test_versions(void **state)
{
	(void)state;
	assert_true(version_compare("9", "10") < 0);
	assert_true(version_compare("10", "9") > 0);
	assert_int_equal(version_compare("10", "10"), 0);
	assert_true(version_compare("0", "1") < 0);
	assert_true(version_compare("99999999999999999999", "100000000000000000000") < 0);
	/* none at all: older, so that it replaces nothing */
	assert_true(version_compare(NULL, "1") < 0);
	assert_true(version_compare("1", NULL) > 0);
	assert_true(version_compare("", "5") < 0);
	assert_true(version_compare("a", "") > 0);
	assert_int_equal(version_compare(NULL, NULL), 0);
	assert_int_equal(version_compare("", NULL), 0);
	/* no order is known */
	assert_int_equal(version_compare("a", "a"), 0);
	assert_int_equal(version_compare("a", "b"), 1);
	assert_int_equal(version_compare("b", "a"), 1);
	assert_int_equal(version_compare("010", "10"), 1);
	assert_int_equal(version_compare("010", "010"), 0);
	assert_int_equal(version_compare("-1", "1"), 1);
	assert_int_equal(version_compare("5", "5 "), 1);
}

static void test_token_bucket(void **state)
{
	struct token_bucket bucket;

	(void)state;
	token_bucket_init(&bucket, 10, 3, 1000);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(token_bucket_wait_ms(&bucket, 1000), 0);
		token_bucket_take(&bucket);
	}
	assert_int_equal(token_bucket_wait_ms(&bucket, 1000), 100);
	assert_int_equal(token_bucket_wait_ms(&bucket, 1060), 40);
	assert_int_equal(token_bucket_wait_ms(&bucket, 1100), 0);
	/* no more than the burst is ever saved up */
	assert_int_equal(token_bucket_wait_ms(&bucket, 1000000), 0);
	for (int i = 0; i < 3; i++)
		token_bucket_take(&bucket);
	assert_true(token_bucket_wait_ms(&bucket, 1000000) > 0);
	/* a new rate counts from now on only */
	token_bucket_set(&bucket, 1000, 5, 1000000);
	assert_int_equal(token_bucket_wait_ms(&bucket, 1000000), 1);
	/* a clock that stands still or jumps back gives nothing */
	assert_true(token_bucket_wait_ms(&bucket, 999000) > 0);
	token_bucket_set(&bucket, 0, 0, 1000000);
	assert_int_equal(token_bucket_wait_ms(&bucket, 1000000), 0);
	token_bucket_init(&bucket, 5, 0, 0);
	assert_int_equal(token_bucket_wait_ms(&bucket, 0), 0);
	/* the smallest rate is a limit too */
	token_bucket_init(&bucket, 1e-300, 1, 0);
	token_bucket_take(&bucket);
	assert_in_range(token_bucket_wait_ms(&bucket, 0), 1000, 3600 * 1000);
}

static void test_backoff_doubled(void **state)
{
	(void)state;
	assert_int_equal(backoff_doubled(3, -1, 10), 3);
	assert_int_equal(backoff_doubled(3, 0, 10), 3);
	assert_int_equal(backoff_doubled(3, 1, 10), 6);
	assert_int_equal(backoff_doubled(3, 2, 10), 10);
	assert_int_equal(backoff_doubled(3, INT_MAX, 10), 10);
	assert_int_equal(backoff_doubled(20, 1, 10), 10);
}

static void test_backoff(void **state)
{
	struct backoff backoff = {.base_ms = 800, .cap_ms = 30000, .reset_ms = 120000};
	struct random random;
	int64_t now = 0;
	int64_t wait;

	(void)state;
	random_init_seed(&random, 1);
	for (int64_t base = 800; base < 15000; base *= 2) {
		wait = backoff_next(&backoff, &random, now);
		assert_in_range(wait, base, 2 * base);
		now += wait;
	}
	for (int i = 0; i < 100; i++) {
		wait = backoff_next(&backoff, &random, now);
		assert_in_range(wait, 15000, 30000);
		now += wait;
	}
	wait = backoff_next(&backoff, &random, now + 120000);
	assert_in_range(wait, 15000, 30000);
	wait = backoff_next(&backoff, &random, now + 120000 + wait + 120001);
	assert_in_range(wait, 800, 1600);
}

static void test_resource_label(void **state)
{
	static const struct {
		const char *path;
		const char *label;
		bool collection;
	} rows[] = {
		{"/api/v1/pods?limit=500", "pods", true},
		{"/api/v1/namespaces/x/pods", "pods", true},
		{"/api/v1/namespaces/x/pods/y", "pods", false},
		{"/api/v1/namespaces/x/pods/y/binding", "pods/binding", false},
		{"/apis/g/v1/namespaces/x/frameworks/y/status", "frameworks/status", false},
		{"/apis/g/v1/frameworks", "frameworks", true},
		{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.b", "customresourcedefinitions", false},
		{"/api/v1/namespaces", "namespaces", true},
		{"/api/v1/namespaces/x", "namespaces", false},
		{"/api/v1/namespaces/x/status", "namespaces/status", false},
		{"/api/v1/namespaces/x/finalize", "namespaces/finalize", false},
		{"/api/v1", "api", false},
		{"/healthz", "healthz", false},
		{"/", "/", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char label[RESOURCE_LABEL_SIZE];
		bool collection;

		resource_label(rows[i].path, label, &collection);
		assert_string_equal(label, rows[i].label);
		assert_int_equal(collection, rows[i].collection);
	}
}

/* Whether a 404 is the API server's word that the object of the path is not there. Real ones, but for the third. */
static void test_absent(void **state)
{
	static const char pod[] = "/api/v1/namespaces/x/pods/y";
	static const struct {
		const char *path;
		int http_status;
		const char *body;
		bool absent;
	} rows[] = {
		{pod, 404, "{'kind':'Status','reason':'NotFound','details':{'name':'y','kind':'pods'},'code':404}",
		 true},
		{"/apis/g/v1/namespaces/x/frameworks/f/status?timeout=1s", 404,
		 "{'kind':'Status','reason':'NotFound','details':{'name':'f','group':'g','kind':'frameworks'}}", true},
		{pod, 404, "{'kind':'Status','reason':'NotFound','details':{'name':'y'}}", true},
		/* a path that is not served */
		{pod, 404, "{'kind':'Status','reason':'NotFound','details':{}}", false},
		{pod, 404, "404 page not found\n", false},
		{pod, 404, "", false},
		/* by proxies */
		{pod, 404, "default backend - 404", false},
		{pod, 404, "<html>404</html>", false},
		{pod, 404, "{'message':'no Route matched with those values'}", false},
		{pod, 404, "{'kind':'Status','reason':'NotFound','details':{'name':'c1','kind':'clusters'}}", false},
		{pod, 404, "{'kind':'Status','reason':'NotFound','details':{'name':'y','kind':'clusters'}}", false},
		/* of the namespace in which something was to be made */
		{"/api/v1/namespaces/x/pods", 404,
		 "{'kind':'Status','reason':'NotFound','details':{'name':'x','kind':'namespaces'}}", false},
		{pod, 410, "{'kind':'Status','reason':'NotFound','details':{'name':'y','kind':'pods'}}", false},
		{pod, 404, "{'kind':'Status','reason':'Forbidden','details':{'name':'y','kind':'pods'}}", false},
		{pod, 404, "{'kind':'Pod','reason':'NotFound','details':{'name':'y','kind':'pods'}}", false},
		{"/", 404, "{'kind':'Status','reason':'NotFound','details':{'name':'y','kind':'pods'}}", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_free char *body = mem_strdup(rows[i].body);
		struct kube_answer answer = {.http_status = rows[i].http_status, .body = body, .retry_after_ms = -1};
		cleanup_json json_t *keep = NULL;

		for (char *at = body; *at != '\0'; at++)
			*at = *at == '\'' ? '"' : *at;
		answer.body_len = strlen(body);
		answer_read_status(&answer, rows[i].path, &keep);
		if (answer.absent != rows[i].absent)
			fail_msg("%s answered %s", rows[i].path, body);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list_items),
		cmocka_unit_test(test_list_cut_short),
		cmocka_unit_test(test_list_empty_and_null),
		cmocka_unit_test(test_list_of_something_else),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_lines_one_by_one),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_token_bucket),
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_backoff_doubled),
		cmocka_unit_test(test_resource_label),
		cmocka_unit_test(test_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
