/* Exec plugins: what they are told and answer, how one run goes, and what a client does with them. The plugins are
 * shell scripts; the loop is the default one, which alone hears of children. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/kube/client.h"
#include "common/kube/credentials.h"
#include "common/kube/exec_plugin.h"
#include "tests/unit/http_server.h"
#include "tests/unit/temp.h"

#define API_V1 "client.authentication.k8s.io/v1"
#define CREDENTIAL(status) "{\"apiVersion\": \"" API_V1 "\", \"kind\": \"ExecCredential\", \"status\": " status "}"
#define CERT "-----BEGIN CERTIFICATE-----"
#define KEY "-----BEGIN KEY-----"

struct fixture {
	struct ev_loop *loop;
	char dir[TEMP_PATH_SIZE];
	struct kube_config config;
	struct error err;
	/* one run */
	struct exec_plugin *plugin;
	struct exec_credential given;
	size_t ended;
	char failure[2048];
	/* a client */
	struct http_server server;
	bool serving;
	const char *wanted; /* the token that is right; NULL: whatever comes */
	char authorization[256];
	char group[64];
	struct kube_client *client;
	size_t answers;
	enum kube_failure outcome;
	int status;
	char message[2048];
};

static int setup(void **state)
{
	struct fixture *fixture = mem_calloc(1, sizeof(*fixture));

	*state = fixture;
	fixture->loop = ev_default_loop(0);
	temp_directory(fixture->dir);
	fixture->config.server = mem_strdup("https://h");
	fixture->config.source = mem_strdup("test");
	return 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
	(void)info;
	(void)type;
	(void)walk;
	return remove(path);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	exec_plugin_free(fixture->plugin);
	exec_credential_free(&fixture->given);
	kube_client_free(fixture->client);
	if (fixture->serving)
		http_server_free(&fixture->server);
	kube_config_free(&fixture->config);
	assert_int_equal(nftw(fixture->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	free(fixture);
	return 0;
}

static void put_file(struct fixture *fixture, const char *name, const char *text)
{
	cleanup_free char *path = mem_printf("%s/%s", fixture->dir, name);
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	chmod(path, 0700);
}

static char *get_file(struct fixture *fixture, const char *name)
{
	cleanup_free char *path = mem_printf("%s/%s", fixture->dir, name);
	FILE *file = fopen(path, "re");
	char *text = mem_calloc(1, 4096);

	assert_non_null(file);
	assert_true(fread(text, 1, 4095, file) > 0);
	fclose(file);
	return text;
}

/* A shell script is the plugin from now on; its working directory is this process's, $DIR the fixture's. */
static void use_plugin(struct fixture *fixture, const char *script)
{
	struct kube_exec *exec = mem_calloc(1, sizeof(*exec));
	cleanup_free char *text = mem_printf("#!/bin/sh\nDIR=%s\n%s\n", fixture->dir, script);

	put_file(fixture, "plugin", text);
	exec->command = mem_printf("%s/plugin", fixture->dir);
	exec->api_version = mem_strdup(API_V1);
	exec->place = mem_strdup("users[\"u\"].user.exec of FILE");
	assert_null(fixture->config.exec);
	fixture->config.exec = exec;
}

/* ---- documents ---- */

static void read_answer(struct fixture *fixture, const char *text, const char *message)
{
	struct kube_exec exec = {.api_version = (char *)API_V1};
	int result = exec_credential_read(&exec, text, strlen(text), &fixture->given, &fixture->err);

	if (message == NULL && result < 0)
		fail_msg("%s", fixture->err.message);
	if (message == NULL)
		return;
	assert_int_equal(result, -1);
	assert_string_equal(fixture->err.message, message);
}

static void test_answers(void **state)
{
	struct fixture *fixture = *state;

	read_answer(fixture, CREDENTIAL("{\"token\": \"t\", \"expirationTimestamp\": \"2001-09-09T01:46:40Z\"}"), NULL);
	assert_string_equal(fixture->given.token, "t");
	assert_true(fixture->given.expires_s == 1000000000);
	exec_credential_free(&fixture->given);
	read_answer(fixture,
		    CREDENTIAL("{\"clientCertificateData\": \"" CERT "\", \"clientKeyData\": \"" KEY
			       "\", \"token\": null}"),
		    NULL);
	assert_null(fixture->given.token);
	assert_string_equal(fixture->given.client_cert, CERT);
	assert_true(fixture->given.expires_s == INT64_MAX);
}

static void test_bad_answers(void **state)
{
	static const char *const bad[] = {
		"",
		"found 0 bytes that are no JSON, expected an ExecCredential",
		/* never shown */
		"hunter2",
		"found 7 bytes that are no JSON, expected an ExecCredential",
		"[]",
		"kind: found none, expected \"ExecCredential\"",
		"{\"kind\": \"Status\"}",
		"kind: found Status, expected \"ExecCredential\"",
		"{\"kind\": \"ExecCredential\", \"apiVersion\": \"" API_V1 "beta1\"}",
		"apiVersion: found " API_V1 "beta1, expected \"" API_V1 "\", as the kubeconfig has it",
		"{\"kind\": \"ExecCredential\", \"apiVersion\": \"" API_V1 "\"}",
		"status: found none, expected an object with credentials",
		CREDENTIAL("{}"),
		"status: found neither a token nor a client certificate",
		CREDENTIAL("{\"token\": \"\"}"),
		"status: found neither a token nor a client certificate",
		CREDENTIAL("{\"token\": 7}"),
		"status.token: found something else, expected a string",
		CREDENTIAL("{\"token\": \"a\\r\\nX: y\"}"),
		"status.token: found a control character in it",
		CREDENTIAL("{\"token\": \"a\\u0000b\"}"),
		"status.token: found a NUL character in it",
		CREDENTIAL("{\"token\": \"a\", \"expirationTimestamp\": \"tomorrow\"}"),
		"status.expirationTimestamp: found \"tomorrow\", expected a time as RFC 3339 has it",
		CREDENTIAL("{\"clientCertificateData\": \"" CERT "\"}"),
		"status: found only one of clientCertificateData and clientKeyData, expected both",
		CREDENTIAL("{\"clientCertificateData\": \"LS0t\", \"clientKeyData\": \"" KEY "\"}"),
		"status.clientCertificateData: found no \"-----BEGIN \", expected PEM",
	};
	struct fixture *fixture = *state;
	cleanup_free char *deep = mem_calloc(1, 100001);

	for (size_t i = 0; i < ARRAY_LEN(bad); i += 2)
		read_answer(fixture, bad[i], bad[i + 1]);
	memset(deep, '[', 100000);
	read_answer(fixture, deep, "found 100000 bytes that are no JSON, expected an ExecCredential");
}

static void test_question(void **state)
{
	struct fixture *fixture = *state;
	cleanup_free char *bare = NULL;
	cleanup_free char *full = NULL;

	use_plugin(fixture, "");
	fixture->config.tls_server_name = mem_strdup("name");
	bare = exec_credential_ask(&fixture->config, "ca");
	assert_string_equal(bare, "{\"apiVersion\":\"" API_V1
				  "\",\"kind\":\"ExecCredential\",\"spec\":{\"interactive\":false}}");
	fixture->config.exec->provide_cluster_info = true;
	fixture->config.exec->cluster_config = mem_strdup("{\"a\":1}");
	full = exec_credential_ask(&fixture->config, "ca");
	assert_string_equal(full, "{\"apiVersion\":\"" API_V1
				  "\",\"kind\":\"ExecCredential\",\"spec\":{\"cluster\":{\"server\":\"https://h\","
				  "\"tls-server-name\":\"name\",\"certificate-authority-data\":\"Y2E=\",\"config\":{"
				  "\"a\":1}},\"interactive\":false}}");
}

/* ---- one run ---- */

static void on_end(void *arg, struct exec_credential *credential, const char *failure)
{
	struct fixture *fixture = arg;

	fixture->plugin = NULL;
	fixture->ended++;
	if (credential != NULL)
		fixture->given = *credential;
	else
		snprintf(fixture->failure, sizeof(fixture->failure), "%s", failure);
}

/* Runs it to its end. */
static void run_plugin(struct fixture *fixture, int64_t time_ms)
{
	fixture->plugin = exec_plugin_start(fixture->loop, &fixture->config, NULL, time_ms, on_end, fixture,
					    &fixture->err);
	if (fixture->plugin == NULL)
		fail_msg("%s", fixture->err.message);
	assert_true(run_until_count(fixture->loop, &fixture->ended, 1, 20));
}

static void expect_failure(struct fixture *fixture, const char *what)
{
	cleanup_free char *message = mem_printf("users[\"u\"].user.exec of FILE: %s/plugin %s", fixture->dir, what);

	assert_string_equal(fixture->failure, message);
}

/* Arguments, environment, an empty standard input, no signal ignored, no descriptor of ours. */
static void test_run(void **state)
{
	struct fixture *fixture = *state;
	cleanup_free char *seen = NULL;
	cleanup_free char *expected = NULL;
	char *args[] = {mem_strdup("-a"), mem_strdup("b c"), NULL};
	char *environment[] = {mem_strdup("HOME=/x"), mem_strdup("MORE=1"), NULL};
	int leak = fcntl(STDERR_FILENO, F_DUPFD, 60);

	use_plugin(fixture, "exec >\"$DIR/seen\"\n"
			    "echo \"$# $1 $2 $HOME $MORE $KUBERNETES_EXEC_INFO\"\n"
			    "cat\n"
			    "sed -n 's/^SigIgn:.*\\(.......\\)$/\\1/p' /proc/self/status\n"
			    "[ -e /proc/$$/fd/60 ] || echo closed\n");
	fixture->config.exec->args = mem_calloc(3, sizeof(char *));
	fixture->config.exec->environment = mem_calloc(3, sizeof(char *));
	memcpy(fixture->config.exec->args, args, sizeof(args));
	memcpy(fixture->config.exec->environment, environment, sizeof(environment));
	signal(SIGPIPE, SIG_IGN);
	run_plugin(fixture, 20000);
	close(leak);
	seen = get_file(fixture, "seen");
	expected = mem_printf("2 -a b c /x 1 {\"apiVersion\":\"" API_V1
			      "\",\"kind\":\"ExecCredential\",\"spec\":{\"interactive\":false}}\n"
			      "0000000\nclosed\n");
	assert_string_equal(seen, expected);
}

static void test_run_gives(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, "echo 'a warning' >&2; echo '" CREDENTIAL("{\"token\": \"t\"}") "'");
	run_plugin(fixture, 20000);
	assert_string_equal(fixture->given.token, "t");
}

/* Found in PATH, but never in the working directory for an empty part of it. */
static void test_run_from_path(void **state)
{
	struct fixture *fixture = *state;
	cleanup_free char *old = mem_strdup(getenv("PATH"));
	cleanup_free char *path = mem_printf("/nonesuch::%s:%s", fixture->dir, old);

	use_plugin(fixture, "echo '" CREDENTIAL("{\"token\": \"t\"}") "'");
	mem_replace(&fixture->config.exec->command, "plugin");
	setenv("PATH", path, 1);
	run_plugin(fixture, 20000);
	setenv("PATH", old, 1);
	assert_string_equal(fixture->given.token, "t");
}

static void test_run_fails(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, "echo hunter2; echo 'please log in' >&2; echo again >&2; exit 3");
	run_plugin(fixture, 20000);
	expect_failure(fixture, "exited with 3: please log in again");
}

static void test_run_is_killed(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, "kill -9 $$");
	run_plugin(fixture, 20000);
	expect_failure(fixture, "was ended by signal 9");
}

static void test_run_takes_too_long(void **state)
{
	struct fixture *fixture = *state;
	cleanup_free char *text = NULL;

	/* a child of its own: all of the group has to go */
	use_plugin(fixture, "echo asking >&2; sleep 1000 & echo $! >\"$DIR/pid\"; wait");
	run_plugin(fixture, 500);
	expect_failure(fixture, "did not end within 500 ms: asking");
	text = get_file(fixture, "pid");
	for (int64_t end_ms = clock_boot_ms() + 10000; kill(atoi(text), 0) == 0; usleep(1000)) {
		cleanup_free char *path = mem_printf("/proc/%d/stat", atoi(text));
		FILE *file = fopen(path, "re");
		char letter = 'Z';

		/* who takes it over may leave a zombie */
		if (file != NULL) {
			assert_int_equal(fscanf(file, "%*d %*s %c", &letter), 1);
			fclose(file);
		}
		if (letter == 'Z')
			break;
		assert_true(clock_boot_ms() < end_ms);
	}
}

static void test_run_prints_too_much(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, "exec cat /dev/zero");
	run_plugin(fixture, 20000);
	expect_failure(fixture, "printed more than 1048576 bytes");
}

/* Of what it says to people the end counts, however long it is. */
static void test_run_complains_long(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, "head -c 300000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 1");
	run_plugin(fixture, 20000);
	assert_non_null(strstr(fixture->failure, "xxxthe end"));
	assert_true(strlen(fixture->failure) < 1200);
}

/* A process that it leaves behind keeps its pipes open, and holds nothing up. */
static void test_run_leaves_one(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, "sleep 15 & echo '" CREDENTIAL("{\"token\": \"t\"}") "'");
	run_plugin(fixture, 14000);
	assert_string_equal(fixture->given.token, "t");
}

static void test_run_is_missing(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, "");
	mem_replace(&fixture->config.exec->command, "nonesuch-plugin");
	mem_replace(&fixture->config.exec->install_hint, "get it at example.com");
	assert_null(exec_plugin_start(fixture->loop, &fixture->config, NULL, 1000, on_end, fixture, &fixture->err));
	assert_string_equal(fixture->err.message, "users[\"u\"].user.exec of FILE: command nonesuch-plugin: not found; "
						  "get it at example.com");
	if (getenv("TEST_MEMCHECK") != NULL)
		return; /* its vfork(2) is a fork: that exec fails is seen too late */
	/* no interpreter */
	put_file(fixture, "plugin", "#!/nonesuch\n");
	free(fixture->config.exec->command);
	fixture->config.exec->command = mem_printf("%s/plugin", fixture->dir);
	assert_null(exec_plugin_start(fixture->loop, &fixture->config, NULL, 1000, on_end, fixture, &fixture->err));
	assert_non_null(strstr(fixture->err.message, "No such file or directory; get it"));
}

static void test_run_is_freed(void **state)
{
	struct fixture *fixture = *state;

	use_plugin(fixture, "sleep 1000");
	fixture->plugin = exec_plugin_start(fixture->loop, &fixture->config, NULL, 20000, on_end, fixture,
					    &fixture->err);
	assert_non_null(fixture->plugin);
	exec_plugin_free(fixture->plugin);
	fixture->plugin = NULL;
	for (int i = 0; i < 20; i++)
		ev_run(fixture->loop, EVRUN_NOWAIT);
	assert_int_equal(fixture->ended, 0);
}

/* ---- a client ---- */

static void on_request(void *arg, struct http_conn *conn)
{
	struct fixture *fixture = arg;
	const char *group = http_header(conn, "Impersonate-Group");
	const char *authorization;

	snprintf(fixture->group, sizeof(fixture->group), "%s", group == NULL ? "" : group);
	authorization = http_header(conn, "Authorization");
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

	if (!fixture->serving) {
		http_server_start(&fixture->server, fixture->loop, on_request, fixture);
		fixture->serving = true;
		mem_replace(&fixture->config.server, fixture->server.address);
	}
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
	const struct kube_request request = {.method = "GET", .path = "/api/v1/pods", .timeout_ms = 20000};

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
	assert_non_null(strstr(fixture->message, "had expired already"));
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

static void test_password(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.username = mem_strdup("Aladdin");
	fixture->config.password = mem_strdup("open sesame");
	start_client(fixture);
	call(fixture);
	wait_answers(fixture, 1);
	/* RFC 7617's example */
	assert_string_equal(fixture->authorization, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

static void test_impersonation(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.impersonate = mem_calloc(3, sizeof(char *));
	fixture->config.impersonate[0] = mem_strdup("Impersonate-User: me");
	fixture->config.impersonate[1] = mem_strdup("Impersonate-Group: mine");
	start_client(fixture);
	call(fixture);
	wait_answers(fixture, 1);
	assert_string_equal(fixture->group, "mine");
}

/* The server plays the proxy: it is asked for the whole address. */
static void test_proxy(void **state)
{
	struct fixture *fixture = *state;

	http_server_start(&fixture->server, fixture->loop, on_request, fixture);
	fixture->serving = true;
	mem_replace(&fixture->config.server, "http://nonesuch.invalid:1");
	fixture->config.proxy_url = mem_strdup(fixture->server.address);
	start_client(fixture);
	call(fixture);
	wait_answers(fixture, 1);
	assert_int_equal(fixture->status, 200);
	assert_non_null(strstr(fixture->server.log.data, "GET http://nonesuch.invalid:1/api/v1/pods"));
}

#define exec_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(test_answers),
		exec_test(test_bad_answers),
		exec_test(test_question),
		exec_test(test_run),
		exec_test(test_run_gives),
		exec_test(test_run_from_path),
		exec_test(test_run_fails),
		exec_test(test_run_is_killed),
		exec_test(test_run_takes_too_long),
		exec_test(test_run_prints_too_much),
		exec_test(test_run_complains_long),
		exec_test(test_run_leaves_one),
		exec_test(test_run_is_missing),
		exec_test(test_run_is_freed),
		exec_test(test_client_waits),
		exec_test(test_client_expiry),
		exec_test(test_client_rejected),
		exec_test(test_rejected_together),
		exec_test(test_certificate_gone),
		exec_test(test_client_plugin_fails),
		exec_test(test_client_token_first),
		exec_test(test_client_freed_while_waiting),
		exec_test(test_other_loop),
		exec_test(test_password),
		exec_test(test_impersonation),
		exec_test(test_proxy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
