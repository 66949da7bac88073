/* What fc-jobs spends on the events of Frameworks, in instructions: an event whose status is not shown yet costs
 * no more than its copy for more Tasks, and to read a status costs little for each byte. */
#include "tests/unit/jobs_world.h"

#include <ev.h>

#include "jobs/store.h"
#include "tests/unit/instructions.h"

#if defined(__SANITIZE_ADDRESS__) || defined(DEBUG)
enum { COUNTING = 0 };
#else
enum { COUNTING = 1 };
#endif

enum { PIECE_EVENT, PIECE_STATUS, PIECES };
enum { FEW = 10, MANY = 50 };
/* Beside the copy of the text, which counts as one for each byte at most. */
enum { INSTRUCTIONS_MORE = 1000 };
/* gcc 12, -O2: 15. */
enum { INSTRUCTIONS_PER_BYTE = 22 };

static void on_wake(void *arg)
{
	(void)arg;
}

/* As the API server sends it: members in alphabetical order. */
static void write_framework(struct buf *out, size_t tasks, int version)
{
	buf_clear(out);
	buf_printf(out,
		   "{\"metadata\":{\"generation\":1,\"labels\":{\"a\":\"b\"},\"name\":\"f\",\"namespace\":\"ns\","
		   "\"resourceVersion\":\"%d\",\"uid\":\"u\"},\"spec\":{\"executionType\":\"Start\"},\"status\":{"
		   "\"attemptStatus\":{\"completionStatus\":null,\"taskRoleStatuses\":[{\"name\":\"worker\","
		   "\"taskStatuses\":[",
		   version);
	for (size_t i = 0; i < tasks; i++)
		buf_printf(out,
			   "%s{\"attemptStatus\":{\"completionStatus\":{\"code\":0,\"diagnostics\":\"Pod succeeded\","
			   "\"phrase\":\"Succeeded\",\"pod\":{\"containers\":[{\"code\":0,\"name\":\"tensorflow\","
			   "\"reason\":\"Completed\"}]},\"type\":{\"attributes\":[],\"name\":\"Succeeded\"}},"
			   "\"completionTime\":\"2026-01-01T00:00:00Z\",\"id\":0,\"instanceUID\":"
			   "\"0_892fec97-928c-4a62-8caf-329086ea121d\",\"podIP\":\"10.0.0.9\",\"podName\":"
			   "\"f-worker-%zu\",\"runTime\":\"2026-01-01T00:00:00Z\"},\"deletionPending\":false,"
			   "\"index\":%zu,\"instanceUID\":\"1accfd9f-811b-4af1-8367-10eeb872d7bd\","
			   "\"retryPolicyStatus\":{\"accountableRetriedCount\":0,\"retryDelaySec\":null,"
			   "\"totalRetriedCount\":0},\"startTime\":\"2026-01-01T00:00:00Z\",\"state\":\"Completed\"}",
			   i > 0 ? "," : "", i, i);
	buf_puts(out, "]}]},\"state\":\"AttemptRunning\"}}");
}

static const char job_text[] = "{\"metadata\":{\"name\":\"f\",\"namespace\":\"ns\",\"resourceVersion\":\"1\","
			       "\"uid\":\"u\"}}";

/* In a child: the second event of a Framework, and then its status, if it is a small one. */
static void run(void *arg)
{
	const size_t *tasks = arg;
	struct job_store *store = job_store_new(ev_loop_new(EVFLAG_AUTO), on_wake, NULL);
	struct object_identity identity;
	struct buf text = {0};
	struct view *view;
	struct error err;

	job_store_job(store, JOB_TFJOB, &(struct reflector_object){.data = job_text, .len = strlen(job_text)}, &err);
	write_framework(&text, *tasks, 100001);
	job_store_framework(store, &(struct reflector_object){.data = text.data, .len = text.len}, JOB_STORE_WATCHED,
			    &err);
	write_framework(&text, *tasks, 100002);
	instructions_mark();
	job_store_framework(store, &(struct reflector_object){.data = text.data, .len = text.len}, JOB_STORE_WATCHED,
			    &err);
	instructions_mark();
	if (*tasks > FEW)
		return;
	if (!object_identity_read(text.data, text.len, &identity))
		_exit(1);
	view = view_renew(NULL, &identity, text.data, text.len);
	instructions_mark();
	view_parse(view, &err);
	instructions_mark();
	if (progress_counts(&view->progress, "worker").succeeded != (int64_t)*tasks)
		_exit(1);
}

static size_t framework_bytes(size_t tasks)
{
	cleanup_buf struct buf text = {0};

	write_framework(&text, tasks, 100001);
	return text.len;
}

static void test_instructions(void **state)
{
	size_t few = FEW;
	size_t many = MANY;
	uint64_t small[PIECES];
	uint64_t large[1];

	(void)state;
	if (!COUNTING || !instructions_count(run, &few, PIECES, small) ||
	    !instructions_count(run, &many, ARRAY_LEN(large), large))
		skip();
	print_message("an event of %d Tasks %llu instructions, of %d Tasks %llu; a status of %zu bytes %llu\n", FEW,
		      (unsigned long long)small[PIECE_EVENT], MANY, (unsigned long long)large[PIECE_EVENT],
		      framework_bytes(FEW), (unsigned long long)small[PIECE_STATUS]);
	assert_true(large[PIECE_EVENT] < small[PIECE_EVENT] + INSTRUCTIONS_MORE + framework_bytes(MANY));
	assert_true(small[PIECE_STATUS] < framework_bytes(FEW) * INSTRUCTIONS_PER_BYTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
