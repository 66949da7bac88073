/* The init container: its environment, its verdicts and exit codes, asking the API server. */
#define _GNU_SOURCE
#include "barrier/init/ask.h"
#include "common/base/clock.h"
#include "tests/unit/init_world.h"

#define SIXTY_FOUR "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void reads_the_environment(void **state)
{
	static const struct {
		const char *name;
		const char *value;
		bool fine;
	} cases[] = {
		{"FC_FRAMEWORK_NAMESPACE", "", false},
		{"FC_FRAMEWORK_NAMESPACE", "a/b", false},
		{"FC_FRAMEWORK_NAMESPACE", "kube-system", true},
		{"FC_FRAMEWORK_NAME", "", false},
		{"FC_FRAMEWORK_NAME", "Fw", false},
		{"FC_FRAMEWORK_NAME", "a?b", false},
		{"FC_FRAMEWORK_UID", "c57427b7-d7bf", true},
		{"FC_FRAMEWORK_UID", "a&b", false},
		{"FC_FRAMEWORK_UID", SIXTY_FOUR SIXTY_FOUR, true},
		{"FC_FRAMEWORK_UID", SIXTY_FOUR SIXTY_FOUR "a", false},
		{"BARRIER_CHECK_INTERVAL_SEC", "4", false},
		{"BARRIER_CHECK_INTERVAL_SEC", "5", true},
		{"BARRIER_CHECK_INTERVAL_SEC", "5s", false},
		{"BARRIER_CHECK_INTERVAL_SEC", "-7", false},
		{"BARRIER_CHECK_INTERVAL_SEC", "99999999999999999999", false},
		{"BARRIER_CHECK_INTERVAL_SEC", " 7", false},
		{"BARRIER_CHECK_TIMEOUT_SEC", "59", false},
		{"BARRIER_CHECK_TIMEOUT_SEC", "60", true},
		{"BARRIER_CHECK_TIMEOUT_SEC", "1200", true},
		{"BARRIER_CHECK_TIMEOUT_SEC", "1201", false},
		{"BARRIER_CHECK_TIMEOUT_SEC", "x", false},
	};
	struct environment environment;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		clear_environment();
		setenv("FC_FRAMEWORK_NAMESPACE", "default", 1);
		setenv("FC_FRAMEWORK_NAME", "fw", 1);
		setenv(cases[i].name, cases[i].value, 1);
		if ((environment_read(&environment, &err) == 0) != cases[i].fine)
			fail_msg("%s=%s", cases[i].name, cases[i].value);
		if (cases[i].fine)
			environment_free(&environment);
		else
			assert_non_null(strstr(err.message, cases[i].name));
	}
	clear_environment();
	setenv("FC_FRAMEWORK_NAMESPACE", "default", 1);
	setenv("FC_FRAMEWORK_NAME", "fw", 1);
	setenv("BARRIER_CHECK_INTERVAL_SEC", "", 1);
	assert_int_equal(environment_read(&environment, &err), 0);
	assert_int_equal(environment.check_interval_sec, 10);
	assert_int_equal(environment.check_timeout_sec, 600);
	assert_string_equal(environment.uid, "");
	assert_string_equal(environment.barrier_address, "");
	environment_free(&environment);
}

static void passes_by_polling(void **state)
{
	static const struct line api[] = {
		{503, NULL, "{}"}, {200, "ps:10.0.0.1 w:-", NULL}, {200, "ps:10.0.0.1 w:10.0.0.2", NULL}, END};
	cleanup_free char *expected = framework_text("ps:10.0.0.1 w:10.0.0.2", false);
	struct run it = {.api = api};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 0);
	assert_int_equal(it.api_asked, 3);
	assert_string_equal(it.framework, expected);
	assert_non_null(strstr(it.injector, "export FB_W_IPS=\"10.0.0.2\"\n"));
	run_free(&it);
}

/* A line for each answer: how many of how many, and who is waited for, five by name. */
static void says_whom_it_waits_for(void **state)
{
	static const struct line api[] = {{200, "ps:10.0.0.1 w:-,-,-,-,-,-", NULL},
					  {200, "ps:10.0.0.1 w:1.1.1.1,-,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1", NULL},
					  {200, "ps:10.0.0.1 w:1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1", NULL},
					  END};
	static const char *const expected[] = {
		"] waiting until all Tasks of Framework ns/fw have an IP\n",
		"] 1 of 7 Tasks have an IP according to the API server; waiting for w-0, w-1, w-2, w-3, w-4, …\n",
		"] 6 of 7 Tasks have an IP according to the API server; waiting for w-1\n",
		"] all 7 Tasks have an IP according to the API server\n",
	};
	struct run it = {.api = api};
	char *directory = make_directory();
	cleanup_free char *path = mem_printf("%s/log", directory);
	cleanup_free char *log = NULL;
	int file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	int kept = dup(STDERR_FILENO);
	const char *at;

	(void)state;
	dup2(file, STDERR_FILENO);
	run(&it);
	dup2(kept, STDERR_FILENO);
	close(kept);
	close(file);
	assert_int_equal(it.code, 0);
	log = read_file(directory, "log");
	at = log;
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		const char *found = strstr(at, expected[i]);

		if (found == NULL || memchr(at, '\n', (size_t)(found - at)) != NULL)
			fail_msg("line %zu of \"%s\": expected \"%s\"", i, log, expected[i]);
		at = found + strlen(expected[i]);
	}
	assert_string_equal(at, "");
	unlink(path);
	remove_directory(directory);
	run_free(&it);
}

static void decompresses(void **state)
{
	static const struct line api[] = {{200, "ps:10.0.0.1", NULL}, END};
	cleanup_free char *expected = framework_text("ps:10.0.0.1", false);
	struct run it = {.api = api, .compressed = true};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 0);
	assert_string_equal(it.framework, expected);
	run_free(&it);
}

static void a_missing_framework_is_for_good(void **state)
{
	static const struct line api[] = {
		{200, "ps:-", NULL},
		{404, NULL, "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{\"name\":\"fw\"}}"},
		END};
	static const struct line namesake[] = {{200, "ps:10.0.0.1", NULL}, END};
	struct run it = {.api = api};
	struct run other = {.api = namesake, .uid = "u0"};
	struct run same = {.api = namesake, .uid = "u1"};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 210);
	assert_null(it.framework);
	run(&other);
	assert_int_equal(other.code, 210);
	run(&same);
	assert_int_equal(same.code, 0);
	run_free(&same);
}

/* The verdict of a timeout is the last answer's. */
static void timeouts_tell_why(void **state)
{
	static const struct line waiting[] = {{500, NULL, "{}"}, {200, "ps:10.0.0.1,-", NULL}, END};
	static const struct line failing[] = {{200, "ps:10.0.0.1,-", NULL}, {403, NULL, "{}"}, END};
	static const struct line unreachable[] = {{0, NULL, NULL}, END};
	static const struct line rubbish[] = {{200, NULL, "rubbish"}, END};
	/* of a proxy, say */
	static const struct line no_api[] = {{404, NULL, "404 page not found"}, {200, "ps:-", NULL}, END};
	/* of an API server that does not serve Frameworks */
	static const struct line other_api[] = {
		{404, NULL, "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{}}"}, {200, "ps:-", NULL}, END};
	/* the last question is asked when the time is over, and has time for its answer */
	static const struct line slow[] = {{200, "ps:-", NULL}, {200, "ps:10.0.0.1", NULL}, END};
	struct run it = {.api = waiting, .timeout_sec = 2};
	int64_t begun_ms = clock_boot_ms();

	(void)state;
	run(&it);
	assert_int_equal(it.code, 201);
	assert_in_range(clock_boot_ms() - begun_ms, 2000, 12000);
	assert_null(it.injector);
	it = (struct run){.api = failing, .timeout_sec = 2};
	run(&it);
	assert_int_equal(it.code, 1);
	it = (struct run){.api = unreachable, .timeout_sec = 1};
	run(&it);
	assert_int_equal(it.code, 1);
	it = (struct run){.api = rubbish, .timeout_sec = 1};
	run(&it);
	assert_int_equal(it.code, 1);
	it = (struct run){.api = no_api, .timeout_sec = 1};
	run(&it);
	assert_int_equal(it.code, 201);
	it = (struct run){.api = other_api, .timeout_sec = 1};
	run(&it);
	assert_int_equal(it.code, 201);
	it = (struct run){.api = slow, .api_slow_ms = 1500, .timeout_sec = 1};
	run(&it);
	assert_int_equal(it.code, 0);
	run_free(&it);
}

/* 201 retries the gang, 1 does not: an API server that has too much to do decides neither. */
static void a_throttled_last_answer_is_asked_for_again(void **state)
{
	static const struct line missing[] = {{200, "ps:-", NULL}, {429, NULL, "{}"}, {200, "ps:-", NULL}, END};
	static const struct line passing[] = {{200, "ps:-", NULL}, {429, NULL, "{}"}, {200, "ps:1.1.1.1", NULL}, END};
	static const struct line for_ever[] = {{429, NULL, "{}"}, END};
	static const struct line without_a_time[] = {{200, "ps:-", NULL}, {500, NULL, "{}"}, {200, "ps:-", NULL}, END};
	/* the second answer comes when the time is over */
	struct run it = {.api = missing, .api_slow_ms = 2500, .timeout_sec = 2};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 201);
	assert_int_equal(it.api_asked, 3);
	it = (struct run){.api = passing, .api_slow_ms = 2500, .timeout_sec = 2};
	run(&it);
	assert_int_equal(it.code, 0);
	run_free(&it);
	it = (struct run){.api = for_ever, .timeout_sec = 1};
	run(&it);
	assert_int_equal(it.code, 1);
	assert_in_range(it.api_asked, 1 + 5, 3 + 5);
	it = (struct run){.api = without_a_time, .api_slow_ms = 2500, .timeout_sec = 2};
	run(&it);
	assert_int_equal(it.code, 1);
	assert_int_equal(it.api_asked, 2);
}

static void an_unusable_kubeconfig_ends_it(void **state)
{
	struct environment environment = {
		.ns = (char *)"ns",
		.name = (char *)"fw",
		.uid = (char *)"",
		.check_interval_sec = 1,
		.check_timeout_sec = 30,
		.barrier_address = (char *)"",
		.barrier_ca_file = (char *)"",
		.barrier_token_file = (char *)"",
	};
	const struct wait_directories directories = {.output = "/nonexistent", .shared = "/nonexistent"};

	(void)state;
	clear_environment(); /* not in a cluster either */
	assert_int_equal(wait_for_gang(&environment, &directories), 1);
	setenv("KUBE_APISERVER_ADDRESS", "ftp://x", 1);
	assert_int_equal(wait_for_gang(&environment, &directories), 1);
}

static void what_cannot_be_written_is_no_pass(void **state)
{
	static const struct line api[] = {{200, "ps:$(id)", NULL}, END};
	struct run it = {.api = api};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 1);
	assert_null(it.injector);
}

/* The Pods of a gang start together; their questions to the API server must not stay together. */
static void polls_give_or_take_a_fifth(void **state)
{
	enum { TIMES = 40 };
	static const struct line lines[] = {{200, "ps:-", NULL}, END};
	struct environment environment = {
		.ns = (char *)"ns",
		.name = (char *)"fw",
		.uid = (char *)"",
		.check_interval_sec = 10,
		.barrier_address = (char *)"",
	};
	int64_t least_ms = INT64_MAX;
	int64_t most_ms = 0;
	struct script api;
	struct asker *asker;
	struct error err;

	(void)state;
	script_start(&api, lines, false);
	clear_environment();
	setenv("KUBE_APISERVER_ADDRESS", api.server.address, 1);
	asker = asker_new(&environment, &err);
	assert_non_null(asker);
	for (int i = 0; i < TIMES; i++) {
		struct answer answer;

		asker_ask(asker, 10000, &answer);
		assert_int_equal(answer.verdict, VERDICT_WAITING);
		least_ms = answer.next_ms < least_ms ? answer.next_ms : least_ms;
		most_ms = answer.next_ms > most_ms ? answer.next_ms : most_ms;
		answer_free(&answer);
	}
	asker_free(asker);
	script_end(&api);
	assert_in_range(least_ms, 8000, 9500);
	assert_in_range(most_ms, 10500, 12000);
}

/* The last question is asked again soon, however long the API server asks to be left alone. */
static void the_last_question_is_not_put_off_for_long(void **state)
{
	static const struct line lines[] = {{429, NULL, "{}"}, END};
	struct environment environment = {
		.ns = (char *)"ns",
		.name = (char *)"fw",
		.uid = (char *)"",
		.check_interval_sec = 10,
		.barrier_address = (char *)"",
	};
	struct answer answer;
	struct script api;
	struct asker *asker;
	struct error err;

	(void)state;
	script_start(&api, lines, false);
	api.headers = "Retry-After: 3600\r\n";
	clear_environment();
	setenv("KUBE_APISERVER_ADDRESS", api.server.address, 1);
	asker = asker_new(&environment, &err);
	assert_non_null(asker);
	asker_ask(asker, 0, &answer);
	assert_int_equal(answer.verdict, VERDICT_FAILED);
	assert_in_range(answer.again_ms, 1, 6000);
	answer_free(&answer);
	asker_free(asker);
	script_end(&api);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_environment),
		cmocka_unit_test(passes_by_polling),
		cmocka_unit_test(says_whom_it_waits_for),
		cmocka_unit_test(decompresses),
		cmocka_unit_test(a_missing_framework_is_for_good),
		cmocka_unit_test(timeouts_tell_why),
		cmocka_unit_test(an_unusable_kubeconfig_ends_it),
		cmocka_unit_test(what_cannot_be_written_is_no_pass),
		cmocka_unit_test(polls_give_or_take_a_fifth),
		cmocka_unit_test(the_last_question_is_not_put_off_for_long),
		cmocka_unit_test(a_throttled_last_answer_is_asked_for_again),
	};

	return cmocka_run_group_tests_name("barrier_init", tests, NULL, NULL);
}
