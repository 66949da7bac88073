/* Whom fc-barrier answers: TokenReview and SubjectAccessReview, what it keeps of them, and questions that are none. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/barrier_world.h"

static void tokens_are_reviewed(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	assert_int_equal(status_of(world, PATH, NULL), 401);
	assert_int_equal(world->token_reviews, 0);
	assert_int_equal(status_of(world, PATH, "nobody"), 401);
	assert_int_equal(status_of(world, PATH, "bob"), 403);
	assert_int_equal(status_of(world, "other/frameworks/fw/barrier", "alice"), 403);
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	assert_int_equal(world->token_reviews, 3);
	assert_int_equal(world->access_reviews, 3);
	/* known by now */
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	assert_int_equal(status_of(world, PATH, "bob"), 403);
	assert_int_equal(status_of(world, PATH, "nobody"), 401);
	assert_int_equal(world->token_reviews, 3);
	assert_int_equal(world->access_reviews, 3);
	world_free(world);
}

static void pods_of_one_account_share_a_permission(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	assert_int_equal(status_of(world, PATH, "pod-1"), 200);
	assert_int_equal(status_of(world, PATH, "pod-2"), 200);
	assert_int_equal(status_of(world, PATH, "pod-3"), 200);
	assert_int_equal(world->token_reviews, 3);
	assert_int_equal(world->access_reviews, 1);
	assert_non_null(strstr(world->last_access_review, "\"groups\":[\"g\"]"));
	assert_non_null(strstr(world->last_access_review, "\"extra\":{\"scope\":[\"s\"]}"));
	/* four answers are kept: pod-1's is the oldest and makes room */
	assert_int_equal(status_of(world, PATH, "pod-4"), 200);
	assert_int_equal(status_of(world, PATH, "pod-5"), 200);
	assert_int_equal(status_of(world, PATH, "pod-2"), 200);
	assert_int_equal(world->token_reviews, 5);
	assert_int_equal(status_of(world, PATH, "pod-1"), 200);
	assert_int_equal(world->token_reviews, 6);
	world_free(world);
}

/* A name is what it is to the end: cut at its NUL it would be somebody else's. */
static void names_are_not_cut(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	status_of(world, PATH, "almost-alice");
	assert_non_null(strstr(world->last_access_review, "\"user\":\"alice\\u0000\""));
	world_free(world);
}

/* Rights that are taken away are gone when the answer is out of date. */
static void answers_are_kept_for_a_while(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	assert_int_equal(world->token_reviews, 1);
	access_keep_at_most(world->access, 0);
	assert_int_equal(status_of(world, PATH, "pod-1"), 200);
	assert_int_equal(status_of(world, PATH, "pod-1"), 200);
	assert_int_equal(world->token_reviews, 3);
	assert_int_equal(world->access_reviews, 3);
	assert_int_equal(status_of(world, PATH, "nobody"), 401);
	assert_int_equal(status_of(world, PATH, "nobody"), 401);
	assert_int_equal(world->token_reviews, 5);
	world_free(world);
}

static void questions_at_the_same_time_share_a_review(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});
	struct asking askings[5];

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	for (size_t i = 0; i < 5; i++)
		askings[i] = ask(world, PATH, "alice");
	for (size_t i = 0; i < 5; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	assert_int_equal(world->token_reviews, 1);
	assert_int_equal(world->access_reviews, 1);
	world_free(world);
}

/* Fail closed, and forget the failure: the next one asks again. */
static void without_reviews_nobody_is_let_in(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});
	int log = memfd_create("log", MFD_CLOEXEC);
	int kept = dup(STDERR_FILENO);
	char text[4096];
	ssize_t length;

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	world->api_down = true;
	dup2(log, STDERR_FILENO);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(status_of(world, PATH, "alice"), 503);
	dup2(kept, STDERR_FILENO);
	world->api_down = false;
	/* one line tells it */
	length = pread(log, text, sizeof(text) - 1, 0);
	assert_in_range(length, 1, sizeof(text) - 1);
	text[length] = '\0';
	assert_non_null(strstr(text, "cannot review a request: POST "));
	assert_null(strstr(strstr(text, "cannot review") + 1, "cannot review"));
	close(kept);
	close(log);
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	world_free(world);
}

static void clients_may_leave_while_they_are_checked(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 1, .per_framework = 10, .with_access = true});
	struct asking slow;

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	slow = ask(world, PATH, "slow");
	RUN_UNTIL(world->loop, world->token_reviews == 1);
	assert_int_equal(status_of(world, PATH, "alice"), 429); /* who is being checked has a place already */
	asker_close(&slow);
	RUN_UNTIL(world->loop, serve_counters(world->serve)->gone == 1);
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	slow = ask(world, PATH, "slow"); /* under way when everything ends */
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 1);
	world_free(world);
	asker_close(&slow);
}

/* Clients that come with ever other tokens, or ask for ever other names, and leave at once: what they would have had
 * asked of the API server is not, and nobody waits behind it. */
static void who_has_left_is_not_asked_about(void **state)
{
	enum { MANY = 20 };
	struct world *world = world_new((struct limits){.waiters = MANY, .per_framework = 10, .with_access = true});
	struct asking askings[MANY];

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	assert_int_equal(status_of(world, "ns/frameworks/none/barrier", "pod-1"), 404); /* known from now on */
	kube_client_set_rate(world->client, 0.001, 1);
	assert_int_equal(status_of(world, PATH, "nobody"), 401);
	for (size_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < MANY; i++) {
			cleanup_free char *token = mem_printf("stranger-%zu", i);
			cleanup_free char *path = mem_printf("ns/frameworks/other%zu/barrier", i);

			askings[i] = round == 0 ? ask(world, PATH, token) : ask(world, path, "pod-1");
		}
		RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == MANY);
		for (size_t i = 0; i < MANY; i++)
			asker_close(&askings[i]);
		RUN_UNTIL(world->loop, serve_counters(world->serve)->gone == (round + 1) * MANY);
	}
	kube_client_set_rate(world->client, 0, 1);
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	assert_int_equal(world->token_reviews, 3);
	assert_int_equal(world->gets, 2);
	assert_int_equal(waiters_counters(world->waiters)->frameworks, 0);
	world_free(world);
}

static void malformed_questions_are_refused(void **state)
{
	static const struct {
		const char *path;
		int status;
	} cases[] = {
		{"ns/frameworks/FW/barrier", 400},
		{"ns/frameworks/f-w/barrier", 400},
		{"ns/frameworks//barrier", 400},
		{"-ns/frameworks/fw/barrier", 400},
		{"ns/frameworks/fw/barrier?timeoutSeconds=", 400},
		{"ns/frameworks/fw/barrier?timeoutSeconds=-1", 400},
		{"ns/frameworks/fw/barrier?timeoutSeconds=1e3", 400},
		{"ns/frameworks/fw/barrier/more", 404},
		{"ns/frameworks/fw", 404},
		{"ns/pods/fw/barrier", 404},
		{"ns/frameworks/fw%2fx/barrier", 404},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/frameworks/fw/barrier",
		 404},
		{"ns/frameworks/fw/barrier?timeoutSeconds=99999999999999999999", 200},
		{"ns/frameworks/fw/barrier", 200},
	};
	struct world *world = open_world();

	(void)state;
	set_framework(world, "i", true);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int status = status_of(world, cases[i].path, NULL);

		if (status != cases[i].status)
			fail_msg("%s: %d, expected %d", cases[i].path, status, cases[i].status);
	}
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_are_reviewed),
		cmocka_unit_test(pods_of_one_account_share_a_permission),
		cmocka_unit_test(names_are_not_cut),
		cmocka_unit_test(answers_are_kept_for_a_while),
		cmocka_unit_test(questions_at_the_same_time_share_a_review),
		cmocka_unit_test(without_reviews_nobody_is_let_in),
		cmocka_unit_test(clients_may_leave_while_they_are_checked),
		cmocka_unit_test(who_has_left_is_not_asked_about),
		cmocka_unit_test(malformed_questions_are_refused),
	};

	return cmocka_run_group_tests_name("barrier_access", tests, NULL, NULL);
}
