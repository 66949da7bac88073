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
	assert_int_equal(status_of(world, PATH, ""), 401);
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
	/* a review that names the user of a token does not say that the token is valid */
	assert_int_equal(status_of(world, PATH, "former-alice"), 401);
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
	assert_non_null(strstr(text, "cannot review a token or its user: POST "));
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
	assert_int_equal(status_of(world, PATH, "alice"), 200); /* who is being checked has nobody's place */
	asker_close(&slow);
	RUN_UNTIL(world->loop, serve_counters(world->serve)->gone == 1);
	slow = ask(world, PATH, "slow"); /* under way when everything ends */
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 1);
	world_free(world);
	asker_close(&slow);
}

/* The client has waited while it was checked: its answer is due all the same. */
static void checks_count_as_waiting(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});
	struct asking first;
	struct asking second;
	int64_t begun_ms;

	(void)state;
	sync_view(world);
	set_framework(world, ".", true);
	kube_client_set_rate(world->client, 0.001, 1);
	assert_int_equal(status_of(world, PATH, "nobody"), 401); /* which takes what the rate allows */
	first = ask(world, PATH "?timeoutSeconds=2", "pod-1");
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 1);
	begun_ms = clock_boot_ms();
	RUN_UNTIL(world->loop, clock_boot_ms() >= begun_ms + 2000);
	kube_client_set_rate(world->client, 0, 1);
	second = ask(world, PATH "?timeoutSeconds=1", "pod-2");
	expect(world, &second, 202);
	assert_true(asker_done(&first));
	assert_int_equal(asker_status(&first), 202);
	asker_close(&first);
	asker_close(&second);
	world_free(world);
}

/* Clients that come with ever other tokens, or ask for ever other names, and leave at once: what they would have had
 * asked of the API server is not, and nobody waits behind it. */
static void who_has_left_is_not_asked_about(void **state)
{
	enum { MANY = 20 };
	struct world *world = world_new(
		(struct limits){.waiters = MANY, .per_framework = 10, .with_access = true, .entries = 1000});
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
	assert_int_equal(wait_groups_counters(world->groups)->frameworks, 0);
	world_free(world);
}

/* One user who may get nothing asks about thousands of namespaces. */
static void ask_for_many_namespaces(const struct world *world, const char *token)
{
	enum { NAMESPACES = 2000, RATE = 200 };
	struct asking *askings = mem_calloc(NAMESPACES, sizeof(*askings));
	uint64_t connections = serve_counters(world->serve)->connections;
	size_t refused = 0;
	size_t reviews;

	kube_client_set_rate(world->client, RATE, 1);
	for (size_t i = 0; i < NAMESPACES; i++) {
		cleanup_free char *path = mem_printf("other%zu/frameworks/fw/barrier", i);

		askings[i] = ask(world, path, token);
		if (i % 5 == 0)
			asker_turn(world->loop);
	}
	RUN_UNTIL(world->loop, serve_counters(world->serve)->connections == connections + NAMESPACES);
	for (int i = 0; i < 50; i++)
		asker_turn(world->loop);
	reviews = world->access_reviews;
	assert_int_equal(status_from(world, 100, PATH, "pod-of-somebody-else"), 200);
	assert_in_range(world->access_reviews - reviews, 0, ACCESS_REVIEWS_PER_USER + 1);
	kube_client_set_rate(world->client, 0, 1);
	for (size_t i = 0; i < NAMESPACES; i++) {
		RUN_UNTIL(world->loop, asker_done(&askings[i]));
		assert_true(asker_status(&askings[i]) == 403 || asker_status(&askings[i]) == 429);
		if (asker_status(&askings[i]) == 429)
			assert_non_null(strstr(askings[i].in.data, "Retry-After: "));
		refused += asker_status(&askings[i]) == 429;
		asker_close(&askings[i]);
	}
	assert_in_range(refused, 1, NAMESPACES - ACCESS_REVIEWS_PER_USER);
	free(askings);
	/* later the user is answered as others are */
	assert_int_equal(status_of(world, "other/frameworks/fw/barrier", token), 403);
}

/* Thousands of tokens that are nobody's, from one address: whoever is known, and whoever comes from another address,
 * waits behind none of them and has no place less; and the API server is asked about so many of them a second. (They
 * took the places of waiters, and all the reviews there were.) */
static void strangers_hold_up_nobody(void **state)
{
	enum { STRANGERS = 2000, OTHERS = 10, KNOWN_REVIEWS = 1 };
	struct world *world = world_new(
		(struct limits){.waiters = 10, .per_framework = 10, .with_access = true, .entries = 1000});
	struct asking *askings = mem_calloc(STRANGERS, sizeof(*askings));
	const struct access_counters *counters = access_counters(world->access);
	int64_t begun_ms;

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	begun_ms = clock_boot_ms();
	for (size_t i = 0; i < STRANGERS; i++) {
		cleanup_free char *token = mem_printf("stranger-%zu", i);

		askings[i] = ask(world, PATH, token);
		if (i % 5 == 0)
			asker_turn(world->loop);
	}
	RUN_UNTIL(world->loop, serve_counters(world->serve)->connections == STRANGERS + 1 &&
				       world->token_reviews >= ACCESS_MISSES_BURST + KNOWN_REVIEWS);
	assert_int_equal(status_of(world, PATH, "alice"), 200);
	for (unsigned i = 0; i < OTHERS; i++) {
		cleanup_free char *token = mem_printf("pod-%u", i);

		assert_int_equal(status_from(world, 2 + i, PATH, token), 200);
	}
	/* most of them still wait, and have cost the API server no more than they may */
	assert_true(counters->strangers > 0);
	assert_true((int64_t)world->token_reviews <=
		    KNOWN_REVIEWS + OTHERS + ACCESS_MISSES_BURST +
			    (clock_boot_ms() - begun_ms) * ACCESS_MISSES_PER_SEC / 1000 + 1);
	/* who leaves takes his place in the line along */
	for (size_t i = 0; i < STRANGERS; i++)
		asker_close(&askings[i]);
	RUN_UNTIL(world->loop, counters->strangers == 0);
	free(askings);
	ask_for_many_namespaces(world, "alice");
	world_free(world);
}

/* A token that is somebody's vouches for no other one from its address: as soon as one is nobody's, they cost the API
 * server no more than anybody's. */
static void one_known_token_is_no_pass(void **state)
{
	enum { STRANGERS = 3 * ACCESS_MISSES_BURST, SEEN = 2 * ACCESS_MISSES_BURST, UNCOUNTED = 3 };
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});
	struct asking askings[1 + STRANGERS];
	int64_t begun_ms = clock_boot_ms();

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	kube_client_set_rate(world->client, 0.001, 1);
	assert_int_equal(status_from(world, 2, PATH, "nobody"), 401); /* which takes what the rate allows */
	askings[0] = ask(world, PATH, "pod-1");
	for (size_t i = 1; i <= STRANGERS; i++) {
		cleanup_free char *token = mem_printf("stranger-%zu", i);

		askings[i] = ask(world, PATH, token);
		if (i % 5 == 0)
			asker_turn(world->loop);
	}
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 1 + STRANGERS);
	kube_client_set_rate(world->client, 0, 1);
	expect(world, &askings[0], 200);
	RUN_UNTIL(world->loop, world->token_reviews >= SEEN);
	assert_true((int64_t)world->token_reviews <=
		    UNCOUNTED + ACCESS_MISSES_BURST + (clock_boot_ms() - begun_ms) * ACCESS_MISSES_PER_SEC / 1000);
	for (size_t i = 0; i <= STRANGERS; i++)
		asker_close(&askings[i]);
	world_free(world);
}

/* Tokens that wait for their turn are asked about in the end, however many answers are kept. */
static void who_waits_is_not_forgotten(void **state)
{
	enum { STRANGERS = ACCESS_REVIEWS_AT_ONCE + 20 };
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});
	struct asking askings[STRANGERS];

	(void)state;
	sync_view(world);
	set_framework(world, "i", true);
	kube_client_set_rate(world->client, 0.001, 1);
	assert_int_equal(status_of(world, PATH, "nobody"), 401); /* which takes what the rate allows */
	for (size_t i = 0; i < STRANGERS; i++) {
		cleanup_free char *token = mem_printf("stranger-%zu", i);

		askings[i] = ask(world, PATH, token);
	}
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == STRANGERS);
	kube_client_set_rate(world->client, 0, 1);
	for (size_t i = 0; i < STRANGERS; i++) {
		expect(world, &askings[i], 401);
		asker_close(&askings[i]);
	}
	assert_int_equal(world->token_reviews, 1 + STRANGERS);
	world_free(world);
}

/* Whoever is allowed when the server ends does not begin to wait. */
static void the_end_of_a_check_may_be_too_late(void **state)
{
	struct world *world = world_new((struct limits){.waiters = 10, .per_framework = 10, .with_access = true});
	struct asking asking;

	(void)state;
	sync_view(world);
	set_framework(world, ".", true);
	kube_client_set_rate(world->client, 0.001, 1);
	assert_int_equal(status_of(world, PATH, "nobody"), 401);
	asking = ask(world, PATH "?timeoutSeconds=60", "alice");
	RUN_UNTIL(world->loop, serve_counters(world->serve)->parked == 1);
	front_close(world->front);
	kube_client_set_rate(world->client, 0, 1);
	expect(world, &asking, 503);
	asker_close(&asking);
	world_free(world);
}

/* A gang whose Pods have a token each comes at one moment, through one address: these are no strangers for long. */
static void a_gang_is_reviewed_quickly(void **state)
{
	enum { PODS = 1000, LIMIT_MS = (PODS - ACCESS_MISSES_BURST) * 1000 / ACCESS_MISSES_PER_SEC / 2 };
	struct world *world = world_new((struct limits){.waiters = PODS, .per_framework = PODS, .with_access = true});
	struct asking *askings = mem_calloc(PODS, sizeof(*askings));
	int64_t begun_ms = clock_boot_ms();

	(void)state;
	sync_view(world);
	set_framework(world, ".", true);
	for (size_t i = 0; i < PODS; i++) {
		cleanup_free char *token = mem_printf("pod-%zu", i);

		askings[i] = ask(world, PATH, token);
		if (i % 5 == 0)
			asker_turn(world->loop);
	}
	RUN_UNTIL(world->loop, waiting(world) == PODS);
	assert_true(clock_boot_ms() - begun_ms < allowed_ms(LIMIT_MS));
	assert_int_equal(world->token_reviews, PODS);
	assert_int_equal(world->access_reviews, 1);
	set_framework(world, "i", true);
	for (size_t i = 0; i < PODS; i++) {
		expect(world, &askings[i], 200);
		asker_close(&askings[i]);
	}
	free(askings);
	world_free(world);
}

#define SIXTY_FOUR "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

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
		{SIXTY_FOUR "/frameworks/fw/barrier", 404},
		{"ns/frameworks/" SIXTY_FOUR "/barrier", 404},
		{"ns/frameworks/fw/barrier?uid=" SIXTY_FOUR SIXTY_FOUR, 404}, /* of another Framework */
		{"ns/frameworks/fw/barrier?uid=" SIXTY_FOUR SIXTY_FOUR "a", 400},
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
		cmocka_unit_test(checks_count_as_waiting),
		cmocka_unit_test(who_has_left_is_not_asked_about),
		cmocka_unit_test(strangers_hold_up_nobody),
		cmocka_unit_test(one_known_token_is_no_pass),
		cmocka_unit_test(who_waits_is_not_forgotten),
		cmocka_unit_test(the_end_of_a_check_may_be_too_late),
		cmocka_unit_test(a_gang_is_reviewed_quickly),
		cmocka_unit_test(malformed_questions_are_refused),
	};

	return cmocka_run_group_tests_name("barrier_access", tests, NULL, NULL);
}
