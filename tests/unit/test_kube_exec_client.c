/* Exec plugins: what a client does with them. */
#define _GNU_SOURCE
#include "common/base/clock.h"
#include "common/kube/config/credentials.h"
#include "tests/unit/exec_world.h"

static void on_request(void *arg, struct http_conn *conn)
{
	struct fixture *fixture = arg;
	const char *authorization = http_header(conn, "Authorization");

	snprintf(fixture->authorization, sizeof(fixture->authorization), "%s",
		 authorization == NULL ? "" : authorization);
	if (fixture->wanted == NULL || strcmp(fixture->authorization, fixture->wanted) == 0)
		http_reply(conn, 200, "", "{}");
	else
		http_reply(conn, 401, "", "Unauthorized");
}

static void start_client(struct fixture *fixture)
{
	const struct kube_client_options options = {.user_agent = "tester/1"};

	http_server_start(&fixture->server, fixture->loop, on_request, fixture);
	fixture->serving = true;
	mem_replace(&fixture->config.server, fixture->server.address);
	fixture->client = kube_client_new(fixture->loop, &fixture->config, &options, &fixture->err);
	if (fixture->client == NULL)
		fail_msg("%s", fixture->err.message);
}

static void done(void *arg, const struct kube_answer *answer)
{
	struct fixture *fixture = arg;

	fixture->answers++;
	fixture->outcome = answer->failure;
	fixture->status = answer->http_status;
	snprintf(fixture->message, sizeof(fixture->message), "%s", answer->message);
}

static void call(struct fixture *fixture)
{
	const struct kube_request request = {.method = "GET", .path = "/api/v1/pods", .timeout_ms = 60000};

	kube_client_call(fixture->client, &request, done, fixture);
}

static void wait_answers(struct fixture *fixture, size_t count)
{
	assert_true(run_until_count(fixture->loop, &fixture->answers, count, 20));
}

/* Counts its runs in $DIR/runs and gives token t1, t2, … */
#define COUNTING(expiry)                                      \
	"echo x >>\"$DIR/runs\"; n=$(wc -l <\"$DIR/runs\")\n" \
	"printf '{\"apiVersion\": \"" API_V1                  \
	"\", \"kind\": \"ExecCredential\", \"status\": {\"token\": \"t%s\"" expiry "}}' \"$n\""

static size_t runs(struct fixture *fixture)
{
	cleanup_free char *text = get_file(fixture, "runs");

	return strlen(text) / 2;
}

/* Calls wait for the plugin, and it is run once for all of them. */
static void test_client_waits(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, COUNTING(""));
	start_client(fixture);
	for (int i = 0; i < 5; i++)
		call(fixture);
	wait_answers(fixture, 5);
	assert_int_equal(fixture->status, 200);
	assert_string_equal(fixture->authorization, "Bearer t1");
	call(fixture);
	wait_answers(fixture, 6);
	assert_int_equal(runs(fixture), 1);
}

/* What has run out is not sent, and the plugin not run without end. */
static void test_client_expiry(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, COUNTING(", \"expirationTimestamp\": \"2001-09-09T01:46:40Z\""));
	start_client(fixture);
	call(fixture);
	wait_answers(fixture, 1);
	assert_int_equal(fixture->outcome, KUBE_NETWORK);
	assert_non_null(strstr(fixture->message, "had already expired"));
	assert_int_equal(fixture->server.request_count, 0);
	assert_int_equal(runs(fixture), 1);
}

/* A 401 has the plugin run again, once for all calls that got it. */
static void test_client_rejected(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, COUNTING(""));
	fixture->wanted = "Bearer t2";
	start_client(fixture);
	for (int i = 0; i < 3; i++)
		call(fixture);
	wait_answers(fixture, 3);
	assert_int_equal(fixture->status, 200);
	assert_int_equal(runs(fixture), 2);
	assert_int_equal(fixture->server.request_count, 6);
	/* if that does not help, it is not run time and again */
	fixture->wanted = "Bearer never";
	call(fixture);
	wait_answers(fixture, 4);
	assert_int_equal(fixture->status, 401);
	assert_int_equal(runs(fixture), 2);
	assert_int_equal(fixture->server.request_count, 7);
}

static void on_settled(void *arg)
{
	struct fixture *fixture = arg;

	fixture->ended++;
}

/* All of the answers are there before anything can be done about the first. */
static void test_rejected_together(void **state)
{
	struct fixture *fixture = *state;
	struct credentials credentials;

	use_plugin(fixture, COUNTING(""));
	assert_int_equal(
		credentials_load(&credentials, &fixture->config, fixture->loop, on_settled, fixture, &fixture->err), 0);
	assert_true(credentials_rejected(&credentials, 0));
	assert_true(credentials_rejected(&credentials, 0));
	credentials_free(&credentials);
}

/* A plugin runs again a minute before its credentials expire, or in the last tenth of their life. */
static void test_renewed_in_time(void **state)
{
	static const struct {
		int64_t life_s;
		int64_t before_s;
	} rows[] = {{100000, 60}, {300, 30}};
	struct fixture *fixture = *state;
	struct credentials credentials;
	const char *why;

	use_plugin(fixture, "cat \"$DIR/given\"");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char expiry[TIME_RFC3339_SIZE];
		cleanup_free char *given = NULL;

		time_format_rfc3339(clock_wall_ms() / 1000 + rows[i].life_s, expiry);
		given = mem_printf(CREDENTIAL("{\"token\": \"t\", \"expirationTimestamp\": \"%s\"}"), expiry);
		put_file(fixture, "given", given);
		assert_int_equal(credentials_load(&credentials, &fixture->config, fixture->loop, on_settled, fixture,
						  &fixture->err),
				 0);
		assert_int_equal(credentials_ready(&credentials, &why), CREDENTIALS_COMING);
		assert_true(run_until_count(fixture->loop, &fixture->ended, i + 1, 20));
		assert_in_range(credentials.exec.expires_s - credentials.exec.renew_s, rows[i].before_s - 5,
				rows[i].before_s);
		credentials_free(&credentials);
	}
}

/* A plugin that changes from certificates to tokens: the old certificate is shown no longer. */
static void test_certificate_gone(void **state)
{
	struct fixture *fixture = *state;
	struct credentials credentials;
	const char *why;

	use_plugin(fixture,
		   "if [ -e \"$DIR/runs\" ]; then echo '" CREDENTIAL(
			   "{\"token\": \"t\"}") "'; exit; fi\n"
						 "echo x >\"$DIR/runs\"\n"
						 "echo '" CREDENTIAL("{\"clientCertificateData\": \"" CERT
								     "\", \"clientKeyData\": \"" KEY "\"}") "'");
	assert_int_equal(
		credentials_load(&credentials, &fixture->config, fixture->loop, on_settled, fixture, &fixture->err), 0);
	assert_int_equal(credentials_ready(&credentials, &why), CREDENTIALS_COMING);
	assert_true(run_until_count(fixture->loop, &fixture->ended, 1, 20));
	assert_int_equal(credentials_ready(&credentials, &why), CREDENTIALS_READY);
	assert_string_equal(credentials.client_cert.text, CERT);
	assert_int_equal(credentials.tls_generation, 1);
	credentials_refresh(&credentials, true);
	assert_int_equal(credentials_ready(&credentials, &why), CREDENTIALS_READY);
	assert_true(run_until_count(fixture->loop, &fixture->ended, 2, 20));
	assert_null(credentials.client_cert.text);
	assert_string_equal(credentials.token.text, "t");
	assert_int_equal(credentials.tls_generation, 2);
	credentials_free(&credentials);
}

static void test_client_plugin_fails(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, "echo 'no network' >&2; exit 1");
	start_client(fixture);
	call(fixture);
	call(fixture);
	wait_answers(fixture, 2);
	assert_int_equal(fixture->outcome, KUBE_NETWORK);
	assert_non_null(
		strstr(fixture->message, "/api/v1/pods: not sent: no credentials: users[\"u\"].user.exec of FILE: "));
	assert_non_null(strstr(fixture->message, "exited with 1: no network"));
	/* and is not run for every call */
	call(fixture);
	wait_answers(fixture, 3);
	assert_int_equal(fixture->outcome, KUBE_NETWORK);
	assert_int_equal(fixture->server.request_count, 0);
}

/* A token of the kubeconfig's own goes before the plugin. */
static void test_client_token_first(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, "exit 1");
	fixture->config.token = mem_strdup("own");
	start_client(fixture);
	call(fixture);
	wait_answers(fixture, 1);
	assert_string_equal(fixture->authorization, "Bearer own");
}

static void test_client_freed_while_waiting(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, "sleep 1000");
	start_client(fixture);
	call(fixture);
	for (int i = 0; i < 5; i++)
		ev_run(fixture->loop, EVRUN_NOWAIT);
	kube_client_free(fixture->client);
	fixture->client = NULL;
	assert_int_equal(fixture->answers, 1);
	assert_int_equal(fixture->outcome, KUBE_CANCELLED);
}

static void test_other_loop(void **state)
{
	struct fixture *fixture = *state;
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	const struct kube_client_options options = {0};

	use_plugin(fixture, "exit 1");
	assert_null(kube_client_new(loop, &fixture->config, &options, &fixture->err));
	assert_string_equal(fixture->err.message,
			    "users[\"u\"].user.exec of FILE: plugins run on the default loop only");
	ev_loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(test_client_waits),       exec_test(test_client_expiry),
		exec_test(test_client_rejected),    exec_test(test_rejected_together),
		exec_test(test_certificate_gone),   exec_test(test_client_plugin_fails),
		exec_test(test_client_token_first), exec_test(test_client_freed_while_waiting),
		exec_test(test_other_loop),         exec_test(test_renewed_in_time),
	};

	return cmocka_run_group_tests_name("kube_exec_client", tests, NULL, NULL);
}
