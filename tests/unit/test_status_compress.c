/* The compressed status (CONTRACT.md §13): its text, when a status is compressed, and how large it may be. */
#include "tests/unit/sync_world.h"
static void test_compress_text(void **state)
{
	cleanup_free char *packed = NULL;
	cleanup_free char *bomb = NULL;
	cleanup_free char *large = NULL;
	cleanup_free char *zeros = NULL;
	cleanup_buf struct buf text = {0};
	cleanup_buf struct buf cut = {0};
	cleanup_buf struct buf huge = {0};
	struct error err;
	size_t size = (size_t)DECOMPRESSED_MAX + 1;

	(void)state;
	packed = text_compress("hello", 5);
	assert_int_equal(text_decompress(packed, strlen(packed), &text, &err), 0);
	assert_string_equal(text.data, "hello");
	/* cut short anywhere */
	for (size_t len = 0; len < strlen(packed); len += 4)
		assert_int_equal(text_decompress(packed, len, &cut, &err), -1);
	/* too large */
	zeros = mem_calloc(size, 1);
	for (size_t i = 0; i < size; i += 64)
		snprintf(zeros + i, size - i, "%zu", i);
	large = text_compress(zeros, size);
	assert_int_equal(text_decompress(large, strlen(large), &huge, &err), -1);
	assert_contains(err.message, "larger than 67108864 bytes");
	/* a bomb is known for one long before that */
	memset(zeros, 0, size);
	bomb = text_compress(zeros, size);
	buf_clear(&text);
	assert_int_equal(text_decompress(bomb, strlen(bomb), &text, &err), -1);
	assert_contains(err.message, "more than 200 times as large");
	assert_true(text.len < 2 * 1024 * 1024);
}

static bool body_compressed(struct world *w, enum compress_when when, size_t *len)
{
	cleanup_buf struct buf body = {0};
	cleanup_json json_t *json = NULL;
	struct error err;
	bool compressed = framework_status_body(w->framework, when, &body);

	*len = body.len;
	json = json_parse(body.data, body.len, &err);
	assert_non_null(json);
	assert_int_equal(compressed, json_is_null(json_at(json, "status.attemptStatus.taskRoleStatuses")));
	assert_int_equal(compressed, json_is_string(json_at(json, "status.attemptStatus.taskRoleStatusesCompressed")));
	return compressed;
}

/* A Task's status is some 560 bytes here: 700 KiB are some 1 280 Tasks, 1.4 MiB some 2 560. */
static void test_compress_when(void **state)
{
	static const struct {
		int tasks;
		bool large;
		bool never;
	} rows[] = {{10, false, false}, {1000, false, false}, {2000, true, false}, {10000, true, true}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		size_t len;

		world_begin_of(&w, rows[i].tasks, "", "", ",'executionType':'Create'");
		world_reconcile(&w);
		assert_int_equal(body_compressed(&w, COMPRESS_LARGE, &len), rows[i].large);
		assert_int_equal(body_compressed(&w, COMPRESS_NEVER, &len), rows[i].never);
		assert_true(len < 1536 * 1024); /* etcd */
		assert_true(body_compressed(&w, COMPRESS_ALWAYS, &len));
		/* What is stored compressed is read again, and is ours. */
		world_write_with(&w, COMPRESS_ALWAYS, true, true);
		world_restart(&w);
		assert_null(w.framework->problem);
		assert_int_equal(w.framework->status.attempt.roles[0].task_count, rows[i].tasks);
		world_clear_log(&w);
		world_reconcile(&w);
		assert_false(w.plan.write);
		world_end(&w);
	}
}

/* What etcd takes is for the whole object: where others have filled it, the status is compressed as well as can be. */
static void test_compress_within(void **state)
{
	struct world w;
	size_t alone;
	size_t beside;

	(void)state;
	world_begin_of(&w, 10000, "", "", ",'executionType':'Create'");
	world_reconcile(&w);
	assert_true(body_compressed(&w, COMPRESS_ALWAYS, &alone));
	free(w.framework->metadata_text);
	w.framework->metadata_text = mem_printf("{\"annotations\":{\"config\":\"%*s\"}}",
						(int)(1400 * 1024 - alone * 97 / 100), "");
	assert_true(body_compressed(&w, COMPRESS_ALWAYS, &beside));
	assert_in_range(beside, 1, alone * 97 / 100);
	/* However it was compressed, it is ours. */
	world_write_with(&w, COMPRESS_ALWAYS, true, true);
	world_stamp(&w, w.object);
	world_observe_framework(w.framework, w.object, OBSERVED_EVENT);
	world_reconcile(&w);
	assert_false(w.plan.write);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compress_text),
		cmocka_unit_test(test_compress_when),
		cmocka_unit_test(test_compress_within),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
