/* Exec plugins: what they are told and answer, and how one run goes. */
#define _GNU_SOURCE
#include "common/base/clock.h"
#include "common/base/log.h"
#include "tests/unit/exec_world.h"

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
		"found 0 bytes that are not JSON, expected an ExecCredential",
		/* never shown */
		"hunter2",
		"found 7 bytes that are not JSON, expected an ExecCredential",
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
		"status.expirationTimestamp: found \"tomorrow\", expected an RFC 3339 time",
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
	read_answer(fixture, deep, "found 100000 bytes that are not JSON, expected an ExecCredential");
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

static struct fixture *signing_in;

static void on_log(char severity, const char *message)
{
	assert_int_equal(severity, 'W');
	assert_string_equal(message, "users[\"u\"].user.exec of FILE: open the page");
	put_file(signing_in, "signed-in", "");
}

/* What it tells a person while it waits for that is shown at once. */
static void test_run_waits_for_a_person(void **state)
{
	struct fixture *fixture = *state;

	signing_in = fixture;
	use_plugin(fixture, "echo 'open the page' >&2; until [ -e \"$DIR/signed-in\" ]; do sleep 0.01; done\n"
			    "echo '" CREDENTIAL("{\"token\": \"t\"}") "'");
	log_set_sink(on_log);
	run_plugin(fixture, 20000);
	log_set_sink(NULL);
	assert_string_equal(fixture->given.token, "t");
}

/* Found in PATH, but never in the working directory for an empty part of it. */
static void test_run_from_path(void **state)
{
	struct fixture *fixture = *state;
	cleanup_free char *old = mem_strdup(getenv("PATH"));
	cleanup_free char *path = mem_printf("/nonesuch::%s:%s", fixture->dir, old);
	cleanup_free char *here = mem_printf("%s/here", fixture->dir);
	int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	use_plugin(fixture, "echo '" CREDENTIAL("{\"token\": \"t\"}") "'");
	mem_replace(&fixture->config.exec->command, "plugin");
	assert_int_equal(mkdir(here, 0700), 0);
	put_file(fixture, "here/plugin",
		 "#!/bin/sh\necho '" CREDENTIAL("{\"token\": \"of the working directory\"}") "'");
	assert_int_equal(chdir(here), 0);
	setenv("PATH", path, 1);
	run_plugin(fixture, 20000);
	setenv("PATH", old, 1);
	assert_int_equal(fchdir(before), 0);
	close(before);
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
	for (int64_t end_ms = clock_boot_ms() + 60000; kill(atoi(text), 0) == 0; usleep(1000)) {
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

/* A process that it leaves behind keeps its pipes open, and holds nothing up, although the plugin had much time. */
static void test_run_leaves_one(void **state)
{
	struct fixture *fixture = *state;

	signing_in = fixture;
	use_plugin(fixture, "echo 'open the page' >&2; until [ -e \"$DIR/signed-in\" ]; do sleep 0.01; done\n"
			    "sleep 30 & echo '" CREDENTIAL("{\"token\": \"t\"}") "'");
	log_set_sink(on_log);
	run_plugin(fixture, 60000);
	log_set_sink(NULL);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(test_answers),
		exec_test(test_bad_answers),
		exec_test(test_question),
		exec_test(test_run),
		exec_test(test_run_gives),
		exec_test(test_run_waits_for_a_person),
		exec_test(test_run_from_path),
		exec_test(test_run_fails),
		exec_test(test_run_is_killed),
		exec_test(test_run_takes_too_long),
		exec_test(test_run_prints_too_much),
		exec_test(test_run_complains_long),
		exec_test(test_run_leaves_one),
		exec_test(test_run_is_missing),
		exec_test(test_run_is_freed),
	};

	return cmocka_run_group_tests_name("kube_exec", tests, NULL, NULL);
}
