/* Jobs with large specs: what the memory holds of them, and how long a turn of the queue lasts (jobs/act.c). */
#include "tests/unit/jobs_server.h"

enum { LARGE_JOBS = 8, SMALL_VALUES = 20 * 1000 };
/* The texts of the job's spec, of the Framework's and of the request that waits, each with some room. A tree takes 230
 * bytes for each "{},". */
enum { TEXTS_HELD = 6 };

/* Returns the length of the job's text. */
static size_t show_large(struct world *world, int index, int values)
{
	cleanup_buf struct buf text = {0};
	struct error err;

	buf_printf(
		&text,
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"j%d\",\"uid\":\"uid-%d\",\"resourceVersion\":\"%d\"},"
		"\"spec\":{\"tfReplicaSpecs\":{\"Worker\":{\"template\":{\"spec\":{\"containers\":[{\"name\":"
		"\"tensorflow\",\"image\":\"i\"}],\"tolerations\":[{}",
		index, index, ++world->version);
	for (int i = 1; i < values; i++)
		buf_puts(&text, ",{}");
	buf_puts(&text, "]}}}}}}");
	if (job_store_job(world->store, JOB_TFJOB, &(struct reflector_object){.data = text.data, .len = text.len},
			  &err) < 0)
		fail_msg("%s", err.message);
	return text.len;
}

static void test_memory(void **state)
{
	struct world *world = *state;
	size_t before = held_bytes();
	size_t text_bytes = 0;
	size_t bytes;

	for (int i = 0; i < LARGE_JOBS; i++)
		text_bytes += show_large(world, i, SMALL_VALUES);
	act_run(&world->act, LARGE_JOBS, INT64_MAX);
	assert_int_equal(job_store_count(world->store, JOB_TFJOB), LARGE_JOBS);
	assert_int_equal(world->act.counters.refused, 0);
	bytes = held_bytes() - before;
	print_message("%d jobs of %zu bytes: %zu bytes each\n", LARGE_JOBS, text_bytes / LARGE_JOBS,
		      bytes / LARGE_JOBS);
	assert_true(bytes > text_bytes);
	assert_true(bytes < text_bytes * TEXTS_HELD);
}

/* How many turns of so many items, that end at that time, look at three jobs. */
static int turns_of_three(struct world *world, size_t most, int64_t until_ms)
{
	int turns = 1;

	job_store_queue_all(world->store);
	while (act_run(&world->act, most, until_ms))
		turns++;
	return turns;
}

/* A turn ends in time, and each looks at a job. The last one sees that the queue is empty. */
static void test_turns(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < 3; i++)
		show_large(world, i, 1);
	assert_int_equal(turns_of_three(world, 256, INT64_MAX), 1);
	assert_int_equal(turns_of_three(world, 256, 0), 4);
	assert_int_equal(turns_of_three(world, 2, INT64_MAX), 2);
}

/* What stays a tree has a limit. */
static void test_large_parts(void **state)
{
	static const char *const parts[][2] = {
		{"\"metadata\":{\"namespace\":\"ns\",\"name\":\"j\",\"uid\":\"u\",\"labels\":{\"a\":\"%0*d\"}}",
		 "metadata.labels has 70008 bytes, expected at most 65536"},
		{"\"status\":{\"a\":\"%0*d\"},\"metadata\":{\"namespace\":\"ns\",\"name\":\"j\",\"uid\":\"u\"}",
		 "status has 70008 bytes, expected at most 65536"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		cleanup_buf struct buf text = {0};
		struct error err;
		struct job job;

		buf_putc(&text, '{');
		buf_printf(&text, parts[i][0], 70000, 0);
		buf_putc(&text, '}');
		assert_int_equal(job_read(JOB_TFJOB, text.data, text.len, &job, &err), -1);
		assert_string_equal(err.message, parts[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_turns, setup, teardown),
		cmocka_unit_test(test_large_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
