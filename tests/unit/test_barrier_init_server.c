/* The init container with a barrier server: whom it asks when, and what it shows to whom. */
#define _GNU_SOURCE
#include "barrier/init/ask.h"
#include "tests/unit/init_world.h"

static void the_server_spares_the_api_server(void **state)
{
	static const struct line api[] = {{500, NULL, "{}"}, END};
	static const struct line server[] = {{202, NULL, "{\"ready\":1,\"total\":2,\"missing\":[\"ps-1\"]}"},
					     {200, "ps:10.0.0.1,10.0.0.2", NULL},
					     END};
	struct run it = {.api = api, .server = server, .uid = "u1"};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 0);
	assert_int_equal(it.api_asked, 0);
	assert_int_equal(it.server_asked, 2);
	assert_non_null(strstr(it.server_path, "/v1/namespaces/ns/frameworks/fw/barrier?timeoutSeconds="));
	assert_non_null(strstr(it.server_path, "&uid=u1"));
	run_free(&it);
}

/* 1 000 Pods of a Framework with 1 000 Tasks: 640 MB of answers plain, 28 MB as gzip. */
static void takes_the_server_s_answer_as_gzip(void **state)
{
	static const struct line lines[] = {{200, "ps:10.0.0.1,10.0.0.2", NULL}, END};
	cleanup_free char *expected = framework_text("ps:10.0.0.1,10.0.0.2", false);
	struct run it = {.api = lines, .server = lines, .gzip = true};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 0);
	assert_int_equal(it.api_asked, 0);
	assert_true(it.server_was_gzip);
	assert_string_equal(it.framework, expected);
	run_free(&it);
}

/* One that goes may come back at once; one that stays away does not keep a complete gang waiting. */
static void a_server_that_stays_away_is_left(void **state)
{
	static const struct line api[] = {{200, "ps:10.0.0.1", NULL}, END};
	static const struct line server[] = {
		{202, NULL, "{\"ready\":0,\"total\":1,\"missing\":[\"ps-0\"]}"}, {503, NULL, "{}"}, END};
	struct run it = {.api = api, .server = server, .timeout_sec = 60};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 0);
	assert_int_equal(it.server_asked, 3);
	assert_int_equal(it.api_asked, 1);
	run_free(&it);
}

static void without_a_good_server_it_polls(void **state)
{
	static const struct line api[] = {{200, "ps:10.0.0.1", NULL}, END};
	static const struct line servers[][2] = {
		{{401, NULL, "{}"}, END},   {{403, NULL, "{}"}, END},      {{503, NULL, "{}"}, END},
		{{0, NULL, NULL}, END},     {{200, NULL, "rubbish"}, END}, {{204, NULL, ""}, END},
		{{200, "ps:-", NULL}, END}, {{404, NULL, "{}"}, END},      {{302, NULL, ""}, END},
	};

	(void)state;
	/* a 404 of the server's is not the last word either, nor is its own counting */
	for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
		struct run it = {.api = api, .server = servers[i]};

		run(&it);
		assert_int_equal(it.code, 0);
		assert_int_equal(it.api_asked, 1);
		run_free(&it);
	}
}

/* A server that goes for a moment (an update): its waiters come back to it before they turn to the API server. */
static void comes_back_to_a_server_that_was_away(void **state)
{
	static const struct line api[] = {{200, "ps:10.0.0.1", NULL}, END};
	static const struct line server[] = {{202, NULL, "{\"ready\":0,\"total\":1,\"missing\":[]}"},
					     {503, NULL, "{}"},
					     {200, "ps:10.0.0.1", NULL},
					     END};
	static const struct line gone[] = {
		{202, NULL, "{\"ready\":0,\"total\":1,\"missing\":[]}"}, {503, NULL, "{}"}, END};
	struct run it = {.api = api, .server = server};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 0);
	assert_int_equal(it.api_asked, 0);
	run_free(&it);
	it = (struct run){.api = api, .server = gone};
	run(&it);
	assert_int_equal(it.code, 0);
	assert_int_equal(it.api_asked, 1);
	run_free(&it);
}

/* It goes when there is no time to come back to it: the API server has the last word. */
static void a_server_that_goes_at_the_end_decides_nothing(void **state)
{
	static const struct line api[] = {{200, "ps:-", NULL}, END};
	static const struct line server[] = {
		{202, NULL, "{\"ready\":0,\"total\":1,\"missing\":[]}"}, {503, NULL, "{}"}, END};
	struct run it = {.api = api, .server = server, .server_slow_ms = 2000, .timeout_sec = 2};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 201);
	assert_int_equal(it.api_asked, 1);
	run_free(&it);
}

/* The same when it refuses the last question at once. */
static void a_server_that_refuses_the_last_question_decides_nothing(void **state)
{
	static const struct line api[] = {{200, "ps:-", NULL}, END};
	static const struct line server[] = {
		{202, NULL, "{\"ready\":0,\"total\":1,\"missing\":[]}"}, {503, NULL, "{}"}, END};
	struct run it = {.api = api, .server = server, .timeout_sec = 1};

	(void)state;
	run(&it);
	assert_int_equal(it.code, 201);
	run_free(&it);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* One question to the server at this host, with a kubeconfig that has a token; what the server was shown. */
static void ask_with_token(const char *host, const char *token_file, char out[256])
{
	static const struct line lines[] = {{200, "ps:10.0.0.1", NULL}, END};
	char *directory = make_directory();
	cleanup_free char *kubeconfig = mem_printf("%s/kubeconfig", directory);
	cleanup_free char *text = NULL;
	cleanup_free char *address = NULL;
	struct environment environment = {
		.ns = (char *)"ns",
		.name = (char *)"fw",
		.uid = (char *)"",
		.check_interval_sec = 5,
		.barrier_ca_file = (char *)"",
		.barrier_token_file = (char *)token_file,
	};
	struct script server;
	struct asker *asker;
	struct answer answer;
	struct error err;

	script_start(&server, lines, false);
	address = mem_printf("http://%s%s", host, strrchr(server.server.address, ':'));
	environment.barrier_address = address;
	text = mem_printf(
		"{apiVersion: v1, kind: Config, current-context: x, clusters: [{name: c, cluster: {server: "
		"\"%s\"}}], users: [{name: u, user: {token: of-the-kubeconfig}}], contexts: [{name: x, context: "
		"{cluster: c, user: u}}]}",
		server.server.address);
	write_file(kubeconfig, text);
	clear_environment();
	setenv("KUBECONFIG", kubeconfig, 1);
	asker = asker_new(&environment, &err);
	if (asker == NULL)
		fail_msg("%s", err.message);
	asker_ask(asker, 10000, &answer);
	assert_int_equal(answer.verdict, VERDICT_PASSED);
	/* one with a user name is none */
	assert_string_equal(answer.source, strchr(host, '@') != NULL ? "the API server" : "the barrier server");
	answer_free(&answer);
	asker_free(asker);
	script_end(&server);
	memcpy(out, server.last_token, sizeof(server.last_token));
	unlink(kubeconfig);
	remove_directory(directory);
}

/* The server is shown what the API server is shown; but a token goes in the clear to another machine only when it was
 * named for that. (0.0.0.0 and 127.x.localhost are this machine, under names that do not tell.) */
static void tokens_go_where_they_may(void **state)
{
	char *directory = make_directory();
	cleanup_free char *file = mem_printf("%s/token", directory);
	char token[256];

	(void)state;
	write_file(file, "named\n");
	ask_with_token("127.0.0.1", "", token);
	assert_string_equal(token, "Bearer of-the-kubeconfig");
	ask_with_token("127.0.0.1", file, token);
	assert_string_equal(token, "Bearer named");
	ask_with_token("0.0.0.0", "", token);
	assert_string_equal(token, "");
	ask_with_token("0.0.0.0", file, token);
	assert_string_equal(token, "Bearer named");
	ask_with_token("127.x.localhost", "", token);
	assert_string_equal(token, "");
	ask_with_token("127.0.0.1:1@0.0.0.0", "", token);
	unlink(file);
	remove_directory(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_server_spares_the_api_server),
		cmocka_unit_test(takes_the_server_s_answer_as_gzip),
		cmocka_unit_test(without_a_good_server_it_polls),
		cmocka_unit_test(a_server_that_stays_away_is_left),
		cmocka_unit_test(comes_back_to_a_server_that_was_away),
		cmocka_unit_test(a_server_that_goes_at_the_end_decides_nothing),
		cmocka_unit_test(a_server_that_refuses_the_last_question_decides_nothing),
		cmocka_unit_test(tokens_go_where_they_may),
	};

	return cmocka_run_group_tests_name("barrier_init_server", tests, NULL, NULL);
}
