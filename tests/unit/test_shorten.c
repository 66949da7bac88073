/* Statuses that would not fit into an object (CONTRACT.md §13): what is shortened and what is not, and that what is
 * written fits, reads, and costs no more than it has to. */
#include "tests/unit/shorten_texts.h"
#include "tests/unit/slow.h"

enum { ETCD_MAX = 1536 * 1024 }; /* what etcd takes unless it is told otherwise */

/* Sanitizers take a minute for the largest sizes, and see the same code with fewer. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

/* ---- whole statuses ---------------------------------------------------------------------------------------------- */

/* Gives the Task what it has when its Pod has failed. */
static void fail_task(struct world *w, size_t index, struct completion *completion)
{
	struct task_status *task = world_task(w, 0, index);
	char uuid[UUID_SIZE];

	task->state = STATE_ATTEMPT_COMPLETED;
	mem_replace(&task->attempt.pod_uid, random_uuid(&w->random, uuid));
	free(task->attempt.instance_uid);
	task->attempt.instance_uid = mem_printf("0_%s", task->attempt.pod_uid);
	mem_replace(&task->attempt.pod_node_name, "node-1");
	free(task->attempt.pod_ip);
	task->attempt.pod_ip = mem_printf("10.%d.%d.%d", (int)random_between(&w->random, 0, 255),
					  (int)random_between(&w->random, 0, 255),
					  (int)random_between(&w->random, 0, 255));
	mem_replace(&task->attempt.pod_host_ip, "192.168.0.1");
	task->run_time = w->time.wall_ms / 1000 + random_between(&w->random, 0, 1000);
	task->completion_time = task->transition_time = task->run_time + random_between(&w->random, 0, 1000);
	completion_free(task->attempt.completion);
	task->attempt.completion = completion;
	framework_text_added(w->framework, completion);
	w->framework->version++;
}

static void begin_tasks(struct world *w, int tasks)
{
	world_begin_of(w, tasks, "", "", ",'executionType':'Create'");
	world_reconcile(w);
	world_write(w);
}

/* The body fits, and another owner reads from it what this one has in memory. Returns its length. */
static size_t assert_fits(struct world *w)
{
	cleanup_buf struct buf body = {0};
	cleanup_json json_t *put = NULL;
	struct framework_status read;
	cleanup_buf struct buf theirs = {0};
	cleanup_buf struct buf ours = {0};
	struct error err;
	uint64_t version;

	framework_status_body(w->framework, COMPRESS_NEVER, &body);
	assert_in_range(body.len, 1, ETCD_MAX);
	put = json_parse(body.data, body.len, &err);
	assert_non_null(put);
	if (framework_status_parse(json_object_get(put, "status"), &read, &err) < 0)
		fail_msg("%s", err.message);
	role_statuses_write(&theirs, &read.attempt, WORLD_NAME);
	role_statuses_write(&ours, &w->framework->status.attempt, WORLD_NAME);
	assert_string_equal(theirs.data, ours.data);
	framework_status_free(&read);
	/* Nothing is left to be done the next time. */
	version = w->framework->version;
	buf_clear(&body);
	framework_status_body(w->framework, COMPRESS_NEVER, &body);
	assert_int_equal(w->framework->version, version);
	return body.len;
}

static void assert_codes(struct world *w, size_t tasks, int32_t code)
{
	for (size_t i = 0; i < tasks; i++) {
		const struct completion *completion = world_task(w, 0, i)->attempt.completion;

		assert_int_equal(completion->code, code);
		assert_string_equal(completion->phrase, "ContainerUnrecognizedFailed");
		json_decref(json_in(completion->diagnostics));
	}
}

/* Of a status that fits nothing is touched, to the byte, compressed or not. */
static void test_nothing_below_the_limit(void **state)
{
	static const int rows[] = {10, 250};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		cleanup_buf struct buf before = {0};
		cleanup_buf struct buf after = {0};

		begin_tasks(&w, rows[i]);
		for (int t = 0; t < rows[i]; t++) {
			cleanup_free char *message = random_text(&w.random, LOG_BYTES);

			fail_task(&w, (size_t)t, failed_with(message, 1));
		}
		role_statuses_write(&before, &w.framework->status.attempt, WORLD_NAME);
		assert_fits(&w);
		role_statuses_write(&after, &w.framework->status.attempt, WORLD_NAME);
		assert_string_equal(before.data, after.data);
		assert_false(w.framework->shortened);
		assert_int_equal(w.framework->shorten_step, SHORTEN_NOTHING);
		world_end(&w);
	}
}

/* All fail at once with logs that have nothing in common. */
static void test_all_fail(void **state)
{
	static const struct {
		int tasks;
		size_t at_least; /* of each log is left, in bytes */
	} rows[] = {{400, 2048}, {600, 1024}, {2000, 256}, {10000, 0}};

	(void)state;
	for (size_t i = 0; i < (SANITIZED ? 2 : ARRAY_LEN(rows)); i++) {
		struct world w;
		int64_t started_ms;
		size_t len;

		begin_tasks(&w, rows[i].tasks);
		for (int t = 0; t < rows[i].tasks; t++) {
			cleanup_free char *message = random_text(&w.random, LOG_BYTES);

			fail_task(&w, (size_t)t, failed_with(message, 1));
		}
		started_ms = cpu_ms();
		len = assert_fits(&w);
		print_message("%d Tasks: %zu KiB, step %d, %lld ms\n", rows[i].tasks, len / 1024,
			      w.framework->shorten_step, (long long)(cpu_ms() - started_ms));
		assert_true(w.framework->shortened);
		assert_in_range(w.framework->shorten_step, SHORTEN_DUPLICATES, SHORTEN_MESSAGES);
		assert_codes(&w, (size_t)rows[i].tasks, 7);
		for (int t = 0; t < rows[i].tasks; t++) {
			const struct completion *completion = world_task(&w, 0, (size_t)t)->attempt.completion;

			assert_in_range(strlen(completion->diagnostics), rows[i].at_least, 4300);
			assert_contains(completion->pod, SHORTENED_MARK);
		}
		world_end(&w);
	}
}

enum ending { RUNS, STOPPED, FAILED };

/* What a Task has of its own in a cluster where every node has one Pod, in its fifth attempt or earlier. */
static void spread_task(struct world *w, size_t index, enum ending ending)
{
	struct task_status *task = world_task(w, 0, index);
	int64_t created = w->time.wall_ms / 1000 + random_between(&w->random, 0, 3600);
	cleanup_free char *message = random_text(&w->random, ending == FAILED ? LOG_BYTES : 1);

	fail_task(w, index, failed_with(message, 1));
	task->state = ending == RUNS ? STATE_RUNNING : STATE_COMPLETED;
	task->retry.total = task->retry.accountable = task->attempt.id = (int32_t)random_between(&w->random, 0, 4);
	task->attempt.start_time = created;
	task->attempt.run_time = task->run_time = task->transition_time = created + random_between(&w->random, 0, 3600);
	task->completion_time = 0;
	free(task->attempt.instance_uid);
	task->attempt.instance_uid = mem_printf("%d_%s", (int)task->attempt.id, task->attempt.pod_uid);
	free(task->attempt.pod_host_ip);
	task->attempt.pod_host_ip = mem_printf("10.0.%zu.%zu", index / 256, index % 256);
	free(task->attempt.pod_node_name);
	task->attempt.pod_node_name = mem_printf("ip-10-0-%zu-%zu.us-west-2.compute.internal", index / 256,
						 index % 256);
	if (ending != FAILED) {
		completion_free(task->attempt.completion);
		task->attempt.completion = NULL;
	}
	if (ending == STOPPED)
		task->attempt.completion = completion_new(CODE_STOP_FRAMEWORK_REQUESTED, false,
							  "StopFrameworkRequested", NULL,
							  "User has requested to stop the Framework");
	if (ending != RUNS)
		task->completion_time = task->attempt.completion_time = task->transition_time = task->run_time +
												random_between(
													&w->random, 0,
													3600);
}

/* The largest Framework that a spec allows has its place in etcd, whatever its Tasks do: Stop can be stored. */
static void test_largest(void **state)
{
	(void)state;
	for (enum ending ending = SANITIZED ? FAILED : RUNS; ending <= FAILED; ending++) {
		struct world w;
		size_t len;

		begin_tasks(&w, FRAMEWORK_TASKS_MAX);
		for (size_t t = 0; t < FRAMEWORK_TASKS_MAX; t++)
			spread_task(&w, t, ending);
		len = assert_fits(&w);
		print_message("%s: %zu KiB, step %d\n",
			      ending == RUNS     ? "all run"
			      : ending == FAILED ? "all failed"
						 : "all stopped",
			      len / 1024, w.framework->shorten_step);
		assert_in_range(w.framework->shorten_step, SHORTEN_NOTHING, SHORTEN_JSON);
		world_end(&w);
	}
}

/* They fail one after the other, and the status is written again and again: how much is shortened is found a few times
 * in all, and not for every write. */
static void test_failing_by_and_by(void **state)
{
	enum { TASKS = SANITIZED ? 1000 : 2000, BATCH = 100 };
	struct world w;
	int searches = 0;
	int step = 0;

	(void)state;
	begin_tasks(&w, TASKS);
	for (int t = 0; t < TASKS; t++) {
		cleanup_free char *message = random_text(&w.random, LOG_BYTES);
		cleanup_buf struct buf body = {0};

		fail_task(&w, (size_t)t, failed_with(message, 1));
		if (t % BATCH != BATCH - 1)
			continue;
		framework_status_body(w.framework, COMPRESS_NEVER, &body);
		assert_in_range(body.len, 1, ETCD_MAX);
		searches += w.framework->shorten_step != step;
		step = w.framework->shorten_step;
	}
	assert_in_range(searches, 1, 8);
	assert_fits(&w);
	assert_codes(&w, TASKS, 7);
	world_end(&w);
}

/* It fits etcd, but its reader would not take as much (64 MiB): writer and reader agree. */
static void test_identical_messages(void **state)
{
	enum { TASKS = 7500 };
	struct world w;
	cleanup_free char *message = NULL;

	(void)state;
	begin_tasks(&w, TASKS);
	message = random_text(&w.random, LOG_BYTES);
	for (size_t t = 0; t < TASKS; t++)
		fail_task(&w, t, failed_with(message, 1));
	assert_fits(&w);
	assert_codes(&w, TASKS, 7);
	assert_contains(world_task(&w, 0, TASKS - 1)->attempt.completion->diagnostics, message);
	world_end(&w);
}

/* … nor what has grown 200-fold, be it only its beginning. */
static void test_hollow_messages(void **state)
{
	enum { TASKS = 100, HOLLOW = 3, LEN = 2000000 };
	struct world w;
	cleanup_free char *message = mem_alloc(LEN + 1);

	(void)state;
	memset(message, ' ', LEN);
	message[LEN] = '\0';
	begin_tasks(&w, TASKS);
	for (size_t t = 0; t < TASKS; t++) {
		cleanup_free char *log = random_text(&w.random, LOG_BYTES);

		fail_task(&w, t, failed_with(t < HOLLOW ? message : log, 1));
	}
	assert_fits(&w);
	assert_true(w.framework->shortened);
	assert_codes(&w, TASKS, 7);
	assert_lacks(world_task(&w, 0, TASKS - 1)->attempt.completion->diagnostics, SHORTENED_MARK);
	world_end(&w);
}

/* … nor more values than it makes a tree of: then the details of Pods go, too. */
static void test_many_containers(void **state)
{
	enum { TASKS = 10000, CONTAINERS = 50 };
	struct world w;

	(void)state;
	begin_tasks(&w, TASKS);
	for (size_t t = 0; t < TASKS; t++)
		fail_task(&w, t, failed_with("", CONTAINERS));
	assert_fits(&w);
	assert_codes(&w, TASKS, 7);
	assert_lacks(world_task(&w, 0, 0)->attempt.completion->pod, "containers");
	world_end(&w);
}

/* Whereas with a few containers in each Pod their codes stay. */
static void test_codes_of_containers(void **state)
{
	enum { TASKS = 10000, CONTAINERS = 3, LOOK_AT_EVERY = 10 };
	struct world w;

	(void)state;
	begin_tasks(&w, TASKS);
	for (size_t t = 0; t < TASKS; t++) {
		cleanup_free char *message = random_text(&w.random, 200);

		fail_task(&w, t, failed_with(message, CONTAINERS));
	}
	assert_fits(&w);
	assert_codes(&w, TASKS, 7);
	for (size_t t = 0; t < TASKS; t += LOOK_AT_EVERY) {
		const struct completion *completion = world_task(&w, 0, t)->attempt.completion;
		cleanup_json json_t *said = json_in(completion->diagnostics);
		cleanup_json json_t *pod = json_in(completion->pod);

		assert_int_equal(json_integer_value(json_at(said, "containers.2.code")), 7);
		assert_int_equal(json_integer_value(json_at(pod, "containers.2.code")), 7);
	}
	world_end(&w);
}

/* What is kept in memory stays bounded before anything is written. */
static void test_memory(void **state)
{
	enum { TASKS = 4000 };
	struct world w;
	cleanup_free char *message = NULL;
	size_t most = 0;

	(void)state;
	begin_tasks(&w, TASKS);
	message = random_text(&w.random, LOG_BYTES);
	for (size_t t = 0; t < TASKS; t++) {
		fail_task(&w, t, failed_with(message, 3));
		if (w.framework->text_bytes > most)
			most = w.framework->text_bytes;
	}
	assert_in_range(most, 1, DECOMPRESSED_MAX);
	assert_in_range(attempt_text_bytes(&w.framework->status.attempt), 1, w.framework->text_bytes);
	assert_fits(&w);
	world_end(&w);
}

/* The object has its place in etcd together with what clients put on it. */
static void test_annotations(void **state)
{
	struct world w;

	(void)state;
	begin_tasks(&w, 100);
	for (size_t t = 0; t < 100; t++) {
		cleanup_free char *log = random_text(&w.random, LOG_BYTES);

		fail_task(&w, t, failed_with(log, 1));
	}
	free(w.framework->metadata_text);
	w.framework->metadata_text = mem_printf("{\"annotations\":{\"config\":\"%*s\"}}", 1200 * 1024, "");
	assert_in_range(assert_fits(&w), 1, 200 * 1024);
	assert_true(w.framework->shortened);
	world_end(&w);
}

/* A server that takes less than etcd's default: each refusal makes the next body smaller, until there is
 * nothing left to shorten. */
static void test_refused(void **state)
{
	struct world w;
	size_t len;
	int refusals = 0;

	(void)state;
	begin_tasks(&w, 200);
	for (size_t t = 0; t < 200; t++) {
		cleanup_free char *log = random_text(&w.random, LOG_BYTES);

		fail_task(&w, t, failed_with(log, 1));
	}
	len = assert_fits(&w);
	while (w.framework->shorten_step < SHORTEN_POD) {
		cleanup_buf struct buf body = {0};

		assert_in_range(++refusals, 1, 20);
		framework_body_refused(w.framework, len);
		framework_status_body(w.framework, COMPRESS_ALWAYS, &body);
		assert_true(body.len <= len - len / REFUSED_PART || w.framework->shorten_step == SHORTEN_POD);
		len = body.len;
	}
	assert_in_range(len, 1, 200 * 200);
	world_end(&w);
}

/* ---- how it goes ------------------------------------------------------------------------------------------------- */

/* A Framework of more failures than fit runs to its end; a new owner finds what was written, and nothing to write. */
static void test_to_the_end(void **state)
{
	enum { TASKS = 600 };
	struct world w;
	uint64_t version;

	(void)state;
	world_begin_of(&w, TASKS, ",'frameworkAttemptCompletionPolicy':{}", "", "");
	world_settle_for(&w, 10000);
	for (int t = 0; t < TASKS; t++) {
		cleanup_free char *log = random_text(&w.random, LOG_BYTES);
		cleanup_free char *details = mem_printf("{'message':'%s'}", log);

		if (t == TASKS / 2) {
			world_settle_for(&w, 10000);
			world_restart(&w);
			world_settle_for(&w, 10000);
		}
		world_pod_exit(&w, pod_name("a", (size_t)t), 7, details);
	}
	world_settle_for(&w, 20000);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, 0);
	assert_codes(&w, TASKS, 7);
	assert_true(w.framework->shortened);
	version = w.rv;
	world_restart(&w);
	assert_null(w.framework->problem);
	world_settle(&w);
	assert_int_equal(w.rv, version);
	world_end(&w);
}

/* Stop is stored, whatever the size. */
static void test_stop(void **state)
{
	enum { TASKS = 600 };
	struct world w;

	(void)state;
	world_begin_of(&w, TASKS, ",'frameworkAttemptCompletionPolicy':{}", "", "");
	world_settle_for(&w, 10000);
	for (int t = 0; t < TASKS - 10; t++) {
		cleanup_free char *log = random_text(&w.random, LOG_BYTES);
		cleanup_free char *details = mem_printf("{'message':'%s'}", log);

		world_pod_exit(&w, pod_name("a", (size_t)t), 7, details);
	}
	world_edit_of(&w, TASKS, ",'frameworkAttemptCompletionPolicy':{}", "", ",'executionType':'Stop'");
	world_settle_for(&w, 20000);
	assert_state(&w, STATE_COMPLETED);
	assert_code(&w, CODE_STOP_FRAMEWORK_REQUESTED);
	world_end(&w);
}

/* The next attempt has room again. */
static void test_next_attempt(void **state)
{
	struct world w;
	cleanup_free char *log = NULL;
	cleanup_free char *details = NULL;

	(void)state;
	world_begin_of(&w, 1, "", "", ",'retryPolicy':{'maxRetryCount':1}");
	world_settle(&w);
	log = random_text(&w.random, LOG_BYTES);
	details = mem_printf("{'message':'%s'}", log);
	w.framework->shorten_step = SHORTEN_MESSAGES;
	framework_body_refused(w.framework, 100);
	world_pod_exit(&w, "f-a-0", 7, details);
	assert_null(w.framework->status.attempt.completion);
	world_settle(&w);
	assert_int_equal(w.framework->status.attempt.id, 1);
	world_pod_exit(&w, "f-a-0", 7, details);
	world_settle(&w);
	assert_state(&w, STATE_COMPLETED);
	assert_contains(w.framework->status.attempt.completion->diagnostics, log);
	assert_contains(world_task(&w, 0, 0)->attempt.completion->pod, log);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_below_the_limit),
		cmocka_unit_test(test_all_fail),
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_failing_by_and_by),
		cmocka_unit_test(test_identical_messages),
		cmocka_unit_test(test_hollow_messages),
		cmocka_unit_test(test_many_containers),
		cmocka_unit_test(test_codes_of_containers),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_annotations),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_to_the_end),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_next_attempt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
