/* When fc-jobs has listed what there is; the test takes the place of the client and the reflectors. */
#include "tests/unit/reflectors.h"

#include <ev.h>
#include <string.h>

#include "common/base/log.h"
#include "jobs/sources.h"

enum { QUESTIONS = 4 };

/* What the sources asked the API server. */
static struct question {
	kube_done *done;
	void *arg;
} questions[QUESTIONS];
static size_t question_count;

struct kube_call *kube_client_call(struct kube_client *client, const struct kube_request *request, kube_done *done,
				   void *arg)
{
	(void)client;
	(void)request;
	assert_true(question_count < QUESTIONS);
	questions[question_count] = (struct question){.done = done, .arg = arg};
	return (struct kube_call *)&questions[question_count++];
}

static void answer(size_t question, enum kube_failure failure, int http_status, const char *body)
{
	const struct kube_answer answer = {.failure = failure,
					   .http_status = http_status,
					   .absent = http_status == 404,
					   .body = body,
					   .body_len = strlen(body),
					   .message = "what went wrong"};

	questions[question].done(questions[question].arg, &answer);
}

static void on_wake(void *arg)
{
	(void)arg;
}

static void on_served(void *arg, enum job_kind kind, bool status_subresource)
{
	(void)arg;
	(void)kind;
	(void)status_subresource;
}

struct world {
	struct ev_loop *loop;
	struct job_store *store;
	struct sources *sources;
};

/* One kind is wanted, and Frameworks are listed. */
static int setup(void **state)
{
	static struct world world;
	const bool wanted[JOB_KINDS] = {[JOB_PYTORCHJOB] = true};

	reflector_count = 0;
	question_count = 0;
	world.loop = ev_loop_new(0);
	world.store = job_store_new(world.loop, on_wake, NULL);
	world.sources = sources_new(world.loop, NULL, world.store, wanted, on_served, NULL);
	list(0);
	*state = &world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	sources_stop(world->sources);
	job_store_free(world->store);
	sources_free(world->sources);
	ev_loop_destroy(world->loop);
	return 0;
}

/* Were it ready before it knows, an update would end the old process too early. */
static void synced_only_when_known(void **state)
{
	const struct world *world = *state;

	assert_false(sources_synced(world->sources));
	answer(0, KUBE_OK, 503, "{}");
	assert_false(sources_synced(world->sources));
	sources_doubt(world->sources, JOB_PYTORCHJOB);
	answer(1, KUBE_TIMEOUT, 0, "");
	assert_false(sources_synced(world->sources));
	sources_doubt(world->sources, JOB_PYTORCHJOB);
	answer(2, KUBE_OK, 200, "{");
	assert_false(sources_synced(world->sources));
	sources_doubt(world->sources, JOB_PYTORCHJOB);
	answer(3, KUBE_OK, 404, "{}");
	assert_true(sources_synced(world->sources));
	assert_false(sources_is_served(world->sources, JOB_PYTORCHJOB));
}

/* An API server that was away when the process began is asked again. */
static void asks_again_after_a_failure(void **state)
{
	const struct world *world = *state;

	answer(0, KUBE_OK, 503, "{}");
	ev_run(world->loop, EVRUN_ONCE);
	assert_int_equal(question_count, 2);
	answer(1, KUBE_OK, 200, "{\"resources\":[{\"name\":\"pytorchjobs\"}]}");
	assert_true(sources_is_served(world->sources, JOB_PYTORCHJOB));
}

static void synced_when_listed(void **state)
{
	const struct world *world = *state;

	answer(0, KUBE_OK, 200, "{\"resources\":[{\"name\":\"pytorchjobs\"}]}");
	assert_true(sources_is_served(world->sources, JOB_PYTORCHJOB));
	assert_false(sources_synced(world->sources));
	list(1);
	assert_true(sources_synced(world->sources));
}

static int warnings;

static void count_warnings(char severity, const char *message)
{
	(void)message;
	warnings += severity == 'W';
}

/* What was known once does not hide what goes wrong later. */
static void failures_are_told(void **state)
{
	const struct world *world = *state;

	log_set_sink(count_warnings);
	answer(0, KUBE_OK, 404, "{}");
	assert_int_equal(warnings, 0);
	sources_doubt(world->sources, JOB_PYTORCHJOB);
	answer(1, KUBE_OK, 403, "{}");
	log_set_sink(NULL);
	assert_int_equal(warnings, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(synced_only_when_known, setup, teardown),
		cmocka_unit_test_setup_teardown(asks_again_after_a_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(synced_when_listed, setup, teardown),
		cmocka_unit_test_setup_teardown(failures_are_told, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
