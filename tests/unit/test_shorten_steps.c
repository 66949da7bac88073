/* One completionStatus through the steps of shorten.h: what each step leaves, and that texts stay valid. */
#include "tests/unit/shorten_texts.h"

static const char *message_at(json_t *value, const char *path)
{
	const char *text = json_string_value(json_at(value, path));

	assert_non_null(text);
	return text;
}

static void test_steps(void **state)
{
	struct random random;
	cleanup_free char *message = NULL;
	struct completion *completion;
	size_t before;

	(void)state;
	random_init_seed(&random, 1);
	message = random_text(&random, LOG_BYTES);
	completion = failed_with(message, 2);
	completion->trigger = mem_calloc(1, sizeof(*completion->trigger));
	completion->trigger->message = mem_strdup("FailedTaskCount 1 has reached MinFailedTaskCount 1 in the TaskRole");
	completion->trigger->task_role_name = mem_strdup("a");
	before = completion_text_bytes(completion);
	assert_false(completion_shorten(completion, SHORTEN_NOTHING));
	for (int step = SHORTEN_DUPLICATES; step <= SHORTEN_POD; step++) {
		bool changed = completion_shorten(completion, step);
		size_t after = completion_text_bytes(completion);
		cleanup_json json_t *said = json_in(completion->diagnostics);
		cleanup_json json_t *pod = json_in(completion->pod);

		assert_int_equal(changed, after < before);
		assert_false(completion_shorten(completion, step));
		assert_int_equal(completion->code, 7);
		assert_string_equal(completion->phrase, "ContainerUnrecognizedFailed");
		assert_contains(completion->trigger->message, "FailedTaskCount 1");
		assert_memory_equal(completion->diagnostics, "Pod failed: PodPattern unmatched: {", 35);
		if (step == SHORTEN_DUPLICATES)
			assert_string_equal(message_at(said, "containers.1.message"), message);
		if (step < SHORTEN_JSON) {
			assert_int_equal(json_integer_value(json_at(said, "containers.0.code")), 7);
			assert_string_equal(message_at(said, "containers.0.reason"), "Error");
		}
		if (step < SHORTEN_POD) {
			assert_string_equal(message_at(pod, "containers.1.message"), SHORTENED_MARK);
			assert_int_equal(json_integer_value(json_at(pod, "containers.1.code")), 7);
		}
		if (step == 7) { /* 2 KiB: a quarter from the beginning, the rest from the end */
			const char *cut = message_at(said, "containers.0.message");

			assert_int_equal(strlen(cut), 2048 + strlen(SHORTENED_MARK));
			assert_memory_equal(cut, message, 512);
			assert_memory_equal(cut + 512, SHORTENED_MARK, strlen(SHORTENED_MARK));
			assert_string_equal(cut + 512 + strlen(SHORTENED_MARK), message + LOG_BYTES - 1536);
		}
		if (step == SHORTEN_MESSAGES)
			assert_string_equal(message_at(said, "containers.0.message"), SHORTENED_MARK);
		before = after;
	}
	assert_string_equal(completion->pod, "{\"message\":\"" SHORTENED_MARK "\"}");
	assert_string_equal(completion->diagnostics,
			    "Pod failed: PodPattern unmatched: {\"message\":\"" SHORTENED_MARK "\"}");
	completion_free(completion);
}

/* Shortening step by step and all at once come to the same: an owner that reads a shortened status goes on from it. */
static void test_steps_at_once(void **state)
{
	struct random random;

	(void)state;
	random_init_seed(&random, 1);
	for (int step = SHORTEN_DUPLICATES; step <= SHORTEN_POD; step++) {
		cleanup_free char *message = random_text(&random, 20000);
		struct completion *slowly = failed_with(message, 1);
		struct completion *at_once = failed_with(message, 1);

		for (int s = SHORTEN_DUPLICATES; s <= step; s++)
			completion_shorten(slowly, s);
		completion_shorten(at_once, step);
		assert_string_equal(slowly->diagnostics, at_once->diagnostics);
		assert_string_equal(slowly->pod, at_once->pod);
		completion_free(slowly);
		completion_free(at_once);
	}
}

/* Escapes and characters of several bytes are never cut in two. */
static void test_characters(void **state)
{
	cleanup_buf struct buf message = {0};

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_puts(&message, i % 3 == 0 ? "\xF0\x9F\x98\x80" : i % 3 == 1 ? "\n\"\\\x01" : "\xC3\xA4x");
	for (int step = SHORTEN_DUPLICATES; step <= SHORTEN_POD; step++) {
		struct completion *completion = failed_with(message.data, 1);
		cleanup_json json_t *said = NULL;

		completion_shorten(completion, step);
		said = json_in(completion->diagnostics);
		assert_lacks(completion->diagnostics, "\xEF\xBF\xBD");
		if (step > 1 && step < SHORTEN_JSON && strstr(completion->diagnostics, SHORTENED_MARK) != NULL)
			assert_in_range(strlen(message_at(said, "containers.0.message")), 1,
					(65536 >> (step - 2)) + strlen(SHORTENED_MARK));
		completion_free(completion);
	}
}

static size_t written_bytes(const struct completion *completion)
{
	cleanup_buf struct buf text = {0};

	buf_json_string(&text, completion->diagnostics);
	return text.len + strlen(completion->pod);
}

/* Other programs escape other characters. A cut text is never longer than the text that they wrote: neither by itself,
 * nor as a part of diagnostics. */
static void test_others_json(void **state)
{
	static const char *const characters[] = {"\x7f",
						 "\\b",
						 "\\f",
						 "\\\"",
						 "\\\\",
						 "\\u001b",
						 "/",
						 "<",
						 "\xc2\x80",
						 "\xe2\x80\xa8",
						 "\xf0\x9f\x98\x80"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(characters); i++) {
		cleanup_buf struct buf json = {0};
		struct completion *completion;

		buf_puts(&json, "{\"reason\":\"");
		for (int n = 0; n < 138; n++)
			buf_puts(&json, characters[i]);
		buf_printf(&json, "%0138d\"}", 0);
		completion = completion_new(7, false, "P", NULL, json.data);
		completion->pod = mem_strdup(json.data);
		for (int step = SHORTEN_DUPLICATES; step <= SHORTEN_POD; step++) {
			size_t before = written_bytes(completion);

			if (completion_shorten(completion, step))
				assert_in_range(written_bytes(completion), 1, before - 1);
		}
		completion_free(completion);
	}
}

/* What clients match, and what is not ours to understand. */
static void test_other_texts(void **state)
{
	static const char *const kept[] = {
		"Pod succeeded",
		"User has requested to stop the Framework",
		"ConfigMap does not appear in the local cache within timeout 5m0s, so consider it was deleted and "
		"explicitly "
		"delete it",
		"Pod failed: PodPattern matched: {}",
		"Pod failed: PodPattern matched: {\"reason\":\"Evicted\"}",
	};
	struct random random;
	cleanup_free char *text = NULL;
	cleanup_free char *refused = NULL;
	cleanup_free char *broken = NULL;
	struct completion *completion;
	cleanup_json json_t *said = NULL;

	(void)state;
	random_init_seed(&random, 1);
	text = random_text(&random, LOG_BYTES);
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		completion = completion_new(-1, false, "P", NULL, kept[i]);
		assert_false(completion_shorten(completion, SHORTEN_POD));
		assert_string_equal(completion->diagnostics, kept[i]);
		completion_free(completion);
	}
	/* The API server's words: JSON within JSON, reasons and fields stay. */
	refused = mem_printf("Failed to create Pod: {\"ErrStatus\":{\"metadata\":{},\"status\":\"Failure\",\"message\":"
			     "\"%s\",\"reason\":\"Invalid\",\"details\":{\"causes\":[{\"message\":\"%s\",\"field\":"
			     "\"spec\"}]},\"code\":422}}",
			     text, text);
	completion = completion_new(-200, false, "P", NULL, refused);
	assert_true(completion_shorten(completion, SHORTEN_MESSAGES));
	said = json_in(completion->diagnostics);
	assert_string_equal(message_at(said, "ErrStatus.message"), SHORTENED_MARK);
	assert_string_equal(message_at(said, "ErrStatus.details.causes.0.message"), SHORTENED_MARK);
	assert_string_equal(message_at(said, "ErrStatus.details.causes.0.field"), "spec");
	assert_int_equal(json_integer_value(json_at(said, "ErrStatus.code")), 422);
	completion_free(completion);
	/* Neither JSON nor short. */
	broken = mem_printf("what somebody wrote: {%s", text);
	completion = completion_new(1, false, "P", NULL, broken);
	completion->pod = mem_printf("{\"reason\":\"%s\",\"containers\":[]}", text);
	assert_true(completion_shorten(completion, SHORTEN_MESSAGES));
	assert_int_equal(strlen(completion->diagnostics), 256 + strlen(SHORTENED_MARK));
	assert_in_range(strlen(completion->pod), 256, 350);
	completion_free(completion);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),       cmocka_unit_test(test_steps_at_once),
		cmocka_unit_test(test_characters),  cmocka_unit_test(test_others_json),
		cmocka_unit_test(test_other_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
