/* Cutting lists and watch streams into objects: every split of the input, broken and oversized pieces; and the small
 * reckoners beside it (token bucket, backoff, versions, resource labels). */
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
#include "common/kube/json_cut.h"

/* Pieces, each followed by '|', too large ones by '!'. */
static bool gather(void *arg, const char *text, size_t len, bool too_large)
{
	buf_append(arg, text, len);
	buf_putc(arg, too_large ? '!' : '|');
	return true;
}

static int cut_list(const char *text, size_t first, size_t item_max, struct buf *items, struct buf *metadata,
		    bool *complete, struct error *err)
{
	struct list_cut cut;
	size_t len = strlen(text);
	/* copies of exact size, so that a read past the end is seen */
	char *head = mem_strndup(text, first);
	char *tail = mem_strndup(text + first, len - first);
	int result;

	list_cut_init(&cut, item_max, gather, items);
	result = list_cut_feed(&cut, head, first, err);
	if (result == 0)
		result = list_cut_feed(&cut, tail, len - first, err);
	if (metadata != NULL && cut.metadata.data != NULL)
		buf_puts(metadata, cut.metadata.data);
	*complete = list_cut_complete(&cut) && cut.has_items;
	list_cut_free(&cut);
	free(head);
	free(tail);
	return result;
}

/* A piece lost, doubled or shifted when its bytes come in two chunks. */
static void test_list_split_anywhere(void **state)
{
	static const char text[] =
		" {\"kind\" : \"List\", \"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"]}\\\"{\"},\n"
		"\"items\": [ {\"a\":\"]},{\"}, {\"b\":[1,{\"c\":\"\\\\\"}]} ,\"s\\\"]\",12,null\n], "
		"\"x\":{\"items\":[9]} }\n";

	(void)state;
	for (size_t first = 0; first <= strlen(text); first++) {
		struct buf items = {0};
		struct buf metadata = {0};
		bool complete;
		struct error err;

		assert_int_equal(cut_list(text, first, 1000, &items, &metadata, &complete, &err), 0);
		assert_true(complete);
		assert_string_equal(items.data, "{\"a\":\"]},{\"}|{\"b\":[1,{\"c\":\"\\\\\"}]}|\"s\\\"]\"|12|null|");
		assert_string_equal(metadata.data, "{\"resourceVersion\":\"7\",\"continue\":\"]}\\\"{\"}");
		buf_free(&items);
		buf_free(&metadata);
	}
}

/* A list that ends early must never pass for a whole one: what is not in it would count as deleted. */
static void test_list_cut_short(void **state)
{
	static const char text[] = "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"a\":1}]}";

	(void)state;
	for (size_t len = 0; len < strlen(text); len++) {
		cleanup_free char *part = mem_strndup(text, len);
		struct buf items = {0};
		bool complete;
		struct error err;

		assert_int_equal(cut_list(part, 0, 1000, &items, NULL, &complete, &err), 0);
		assert_false(complete);
		buf_free(&items);
	}
}

static void test_list_empty_and_null(void **state)
{
	static const char *const texts[] = {
		"{\"items\":[],\"metadata\":{}}",
		"{\"metadata\":{},\"items\":null}",
		"{\"items\":[ \n ]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct buf items = {0};
		bool complete;
		struct error err;

		assert_int_equal(cut_list(texts[i], 3, 1000, &items, NULL, &complete, &err), 0);
		assert_true(complete);
		assert_int_equal(items.len, 0);
		buf_free(&items);
	}
}

static void test_list_of_something_else(void **state)
{
	static const char *const broken[] = {"[1]",       "hello", "{1:2}",          "{\"a\"1}",
					     "{\"a\":,}", "{} x",  "{\"items\":[}]}"};
	static const char *const no_list[] = {"{}", "{\"items\":{}}", "{\"items\":5,\"metadata\":{}}", ""};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		struct buf items = {0};
		bool complete;
		struct error err = {0};

		assert_int_equal(cut_list(broken[i], 0, 1000, &items, NULL, &complete, &err), -1);
		assert_non_null(strstr(err.message, "expected"));
		buf_free(&items);
	}
	for (size_t i = 0; i < ARRAY_LEN(no_list); i++) {
		struct buf items = {0};
		bool complete;
		struct error err;

		assert_int_equal(cut_list(no_list[i], 0, 1000, &items, NULL, &complete, &err), 0);
		assert_false(complete);
		buf_free(&items);
	}
}

static void test_list_large_item(void **state)
{
	static const char text[] = "{\"items\":[{\"a\":1},{\"long\":\"0123456789\"},{\"b\":2}],\"metadata\":{}}";

	(void)state;
	for (size_t first = 0; first <= strlen(text); first++) {
		struct buf items = {0};
		bool complete;
		struct error err;

		assert_int_equal(cut_list(text, first, 10, &items, NULL, &complete, &err), 0);
		assert_true(complete);
		assert_string_equal(items.data, "{\"a\":1}|{\"long\":\"0!{\"b\":2}|");
		buf_free(&items);
	}
}

static void test_lines(void **state)
{
	static const char text[] = "{\"a\":1}\n\n \r\n{\"b\":\"0123456789\"}\r\n{\"c\":3}\n{\"d\"";

	(void)state;
	for (size_t first = 0; first <= strlen(text); first++) {
		struct line_cut cut = {.line_max = 12};
		struct buf lines = {0};

		assert_true(line_cut_feed(&cut, text, first, gather, &lines));
		assert_true(line_cut_feed(&cut, text + first, strlen(text) - first, gather, &lines));
		assert_int_equal(strncmp(lines.data, "{\"a\":1}|", 8), 0);
		assert_non_null(strstr(lines.data, "!{\"c\":3}|"));
		assert_null(strstr(lines.data, "{\"d\""));
		line_cut_reset(&cut);
		assert_true(line_cut_feed(&cut, "x\n", 2, gather, &lines));
		assert_string_equal(lines.data + lines.len - 3, "|x|");
		line_cut_free(&cut);
		buf_free(&lines);
	}
}

static bool stop_at_second(void *arg, const char *text, size_t len, bool too_large)
{
	gather(arg, text, len, too_large);
	return strchr(((struct buf *)arg)->data, '|') == strrchr(((struct buf *)arg)->data, '|');
}

static void test_lines_stop(void **state)
{
	struct line_cut cut = {.line_max = 100};
	struct buf lines = {0};

	(void)state;
	assert_false(line_cut_feed(&cut, "1\n2\n3\n", 6, stop_at_second, &lines));
	assert_string_equal(lines.data, "1|2|");
	line_cut_free(&cut);
	buf_free(&lines);
}

static void test_raw_names(void **state)
{
	static const char text[] =
		"{\"x\":{\"name\":\"no\"},\"metadata\":{\"name\":\"yes\",\"n\":1},\"bad\":\"\xff\xff";
	char out[8];
	size_t len;
	const char *metadata = raw_member(text, strlen(text), "metadata", &len);

	(void)state;
	assert_int_equal(len, strlen("{\"name\":\"yes\",\"n\":1}"));
	raw_string(metadata, len, "name", out, sizeof(out));
	assert_string_equal(out, "yes");
	raw_string(metadata, len, "n", out, sizeof(out));
	assert_string_equal(out, "");
	raw_string(text, strlen(text), "bad", out, sizeof(out));
	assert_string_equal(out, "");
	raw_string(NULL, 0, "name", out, sizeof(out));
	assert_string_equal(out, "");
	/* every cut of it must end within the text */
	for (size_t part = 0; part <= strlen(text); part++) {
		cleanup_free char *copy = mem_strndup(text, part);

		raw_string(copy, part, "metadata", out, sizeof(out));
		raw_string(copy, part, "zzz", out, sizeof(out));
	}
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
		cmocka_unit_test(test_list_split_anywhere),
		cmocka_unit_test(test_list_cut_short),
		cmocka_unit_test(test_list_empty_and_null),
		cmocka_unit_test(test_list_of_something_else),
		cmocka_unit_test(test_list_large_item),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_lines_stop),
		cmocka_unit_test(test_raw_names),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_token_bucket),
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_resource_label),
		cmocka_unit_test(test_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
