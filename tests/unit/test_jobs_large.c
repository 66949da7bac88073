/* Jobs with large specs: how long a turn of the queue lasts (jobs/act.c). */
#include "tests/unit/jobs_server.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_turns, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
