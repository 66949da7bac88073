/* common/config: every key of frameworkcontroller.yaml, its default and its range, the place in the message of an
 * error, and the file that is shipped. */
#include "tests/unit/config_text.h"

#include "common/base/log.h"

#define SHIPPED "manifests/config/frameworkcontroller.yaml"

static void assert_same(const struct config *a, const struct config *b)
{
	assert_string_equal(a->kube_api_server_address, b->kube_api_server_address);
	assert_string_equal(a->kube_config_file_path, b->kube_config_file_path);
	assert_true(a->kube_client_qps == b->kube_client_qps);
	assert_int_equal(a->kube_client_burst, b->kube_client_burst);
	assert_int_equal(a->worker_number, b->worker_number);
	assert_int_equal(a->large_framework_compression, b->large_framework_compression);
	assert_int_equal(a->crd_established_check_interval_sec, b->crd_established_check_interval_sec);
	assert_int_equal(a->crd_established_check_timeout_sec, b->crd_established_check_timeout_sec);
	assert_int_equal(a->object_local_cache_creation_timeout_sec, b->object_local_cache_creation_timeout_sec);
	assert_int_equal(a->framework_completed_retain_sec, b->framework_completed_retain_sec);
	assert_int_equal(a->framework_min_retry_delay_sec_for_transient_conflict_failed,
			 b->framework_min_retry_delay_sec_for_transient_conflict_failed);
	assert_int_equal(a->framework_max_retry_delay_sec_for_transient_conflict_failed,
			 b->framework_max_retry_delay_sec_for_transient_conflict_failed);
	assert_memory_equal(&a->log_object_snapshot, &b->log_object_snapshot, sizeof(a->log_object_snapshot));
	assert_int_equal(a->shards, b->shards);
	assert_int_equal(a->member_lease_sec, b->member_lease_sec);
	assert_int_equal(a->member_grace_sec, b->member_grace_sec);
	assert_string_equal(a->bus_address, b->bus_address);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static void test_defaults(void **state)
{
	(void)state;
	static const char *const empty[] = {"",     "# nothing\n", "{}",
					    "null", "---\n",       "kubeClientQps:\npodFailureSpec: null\n"};
	struct config defaults;
	config_default(&defaults);
	assert_true(defaults.kube_client_qps == 80);
	assert_int_equal(defaults.kube_client_burst, 120);
	assert_int_equal(defaults.worker_number, 200);
	assert_false(defaults.large_framework_compression);
	assert_int_equal(defaults.crd_established_check_interval_sec, 1);
	assert_int_equal(defaults.crd_established_check_timeout_sec, 60);
	assert_int_equal(defaults.object_local_cache_creation_timeout_sec, 300);
	assert_int_equal(defaults.framework_completed_retain_sec, 2592000);
	assert_int_equal(defaults.framework_min_retry_delay_sec_for_transient_conflict_failed, 60);
	assert_int_equal(defaults.framework_max_retry_delay_sec_for_transient_conflict_failed, 900);
	assert_true(defaults.log_object_snapshot.on_framework_retry);
	assert_true(defaults.log_object_snapshot.on_framework_deletion);
	assert_true(defaults.log_object_snapshot.on_task_retry);
	assert_true(defaults.log_object_snapshot.on_task_deletion);
	assert_true(defaults.log_object_snapshot.on_pod_deletion);
	assert_int_equal(defaults.pod_failure_spec.count, 0);
	assert_int_equal(defaults.shards, 64);
	assert_int_equal(defaults.member_lease_sec, 10);
	assert_int_equal(defaults.member_grace_sec, 30);
	for (size_t i = 0; i < ARRAY_LEN(empty); i++) {
		struct config config;
		load(empty[i], &config);
		assert_same(&config, &defaults);
		assert_int_equal(config.unknown_keys, 0);
		config_free(&config);
	}
	config_free(&defaults);
}

static void test_every_key(void **state)
{
	(void)state;
	static const char text[] = "kubeApiServerAddress: https://h.example:6443/\n"
				   "kubeConfigFilePath: /k\n"
				   "kubeClientQps: 0.5\n"
				   "kubeClientBurst: 0\n"
				   "workerNumber: 1\n"
				   "largeFrameworkCompression: yes\n"
				   "crdEstablishedCheckIntervalSec: 2\n"
				   "crdEstablishedCheckTimeoutSec: 10\n"
				   "objectLocalCacheCreationTimeoutSec: 60\n"
				   "frameworkCompletedRetainSec: 9223372036854775807\n"
				   "frameworkMinRetryDelaySecForTransientConflictFailed: 0\n"
				   "frameworkMaxRetryDelaySecForTransientConflictFailed: 0\n"
				   "logObjectSnapshot:\n"
				   "  framework: {onFrameworkRetry: false}\n"
				   "  task: {onTaskDeletion: false}\n"
				   "  pod: {onPodDeletion: false}\n"
				   "shards: 4096\n"
				   "memberLeaseSec: 2\n"
				   "memberGraceSec: 0\n"
				   "kueue: true\n"
				   "busAddress: ipc:///run/fc\n";
	struct config config;
	load(text, &config);
	assert_string_equal(config.kube_api_server_address, "https://h.example:6443");
	assert_string_equal(config.kube_config_file_path, "/k");
	assert_true(config.kube_client_qps == 0.5);
	assert_int_equal(config.kube_client_burst, 0);
	assert_int_equal(config.worker_number, 1);
	assert_true(config.large_framework_compression);
	assert_int_equal(config.crd_established_check_interval_sec, 2);
	assert_int_equal(config.crd_established_check_timeout_sec, 10);
	assert_int_equal(config.object_local_cache_creation_timeout_sec, 60);
	assert_int_equal(config.framework_completed_retain_sec, CONFIG_SECONDS_MAX);
	assert_int_equal(config.framework_min_retry_delay_sec_for_transient_conflict_failed, 0);
	assert_int_equal(config.framework_max_retry_delay_sec_for_transient_conflict_failed, 0);
	assert_false(config.log_object_snapshot.on_framework_retry);
	assert_true(config.log_object_snapshot.on_framework_deletion);
	assert_true(config.log_object_snapshot.on_task_retry);
	assert_false(config.log_object_snapshot.on_task_deletion);
	assert_false(config.log_object_snapshot.on_pod_deletion);
	assert_int_equal(config.shards, 4096);
	assert_int_equal(config.member_lease_sec, 2);
	assert_int_equal(config.member_grace_sec, 0);
	assert_true(config.kueue);
	assert_string_equal(config.bus_address, "ipc:///run/fc");
	config_free(&config);
	load("frameworkCompletedRetainSec: -1", &config);
	assert_int_equal(config.framework_completed_retain_sec, 0);
	config_free(&config);
}

/* The edges on both sides; a bound off by one fails here. */
static void test_ranges(void **state)
{
	(void)state;
	static const char *const good[] = {
		"kubeClientQps: 10000",
		"kubeClientQps: 0.001",
		"kubeClientQps: 1e4",
		"kubeClientBurst: 10000",
		"workerNumber: 2147483647",
		"crdEstablishedCheckIntervalSec: 1",
		"shards: 1",
		"memberLeaseSec: 3600",
		"memberGraceSec: 86400",
		"frameworkMinRetryDelaySecForTransientConflictFailed: 900",
		"frameworkMaxRetryDelaySecForTransientConflictFailed: 60",
		"kubeApiServerAddress: ''",
		"kubeApiServerAddress: http://1.2.3.4:1",
		"kubeApiServerAddress: 'https://[::1]:65535'",
		"busAddress: tcp://*:8471",
		"busAddress: tcp://a:8471,ipc:///run/b,tcp://[::1]:8471",
	};
	static const char *const bad[][2] = {
		{"kubeClientQps: 0",
		 "c.yaml:1:16: kubeClientQps: found the integer 0, expected a number above 0 and at most "
		 "10000"},
		{"kubeClientQps: 10000.5", "found the number 10000.5"},
		{"kubeClientQps: -1", "kubeClientQps: found the integer -1"},
		{"kubeClientQps: .nan", "kubeClientQps: found the number .nan"},
		{"kubeClientQps: .inf", "kubeClientQps: "},
		{"kubeClientQps: '80'", "kubeClientQps: found the string \"80\", expected a number"},
		{"kubeClientBurst: -1", "kubeClientBurst: found the integer -1, expected an integer from 0 to 10000"},
		{"kubeClientBurst: 10001", "kubeClientBurst: "},
		{"kubeClientBurst: 1.5", "kubeClientBurst: found the number 1.5"},
		{"workerNumber: 0", "c.yaml:1:15: workerNumber: found the integer 0"},
		{"workerNumber: 2147483648", "workerNumber: "},
		{"workerNumber: many", "workerNumber: found the string \"many\", expected an integer"},
		{"workerNumber: [1]", "workerNumber: found a sequence"},
		{"largeFrameworkCompression: 1",
		 "largeFrameworkCompression: found the integer 1, expected true or false"},
		{"largeFrameworkCompression: 'true'", "found the string \"true\", expected true or false"},
		{"crdEstablishedCheckIntervalSec: 0", "expected an integer of at least 1"},
		{"crdEstablishedCheckTimeoutSec: 9", "expected an integer of at least 10"},
		{"objectLocalCacheCreationTimeoutSec: 59", "expected an integer of at least 60"},
		{"frameworkCompletedRetainSec: 1d", "frameworkCompletedRetainSec: found the string \"1d\""},
		{"frameworkMinRetryDelaySecForTransientConflictFailed: -1", "expected an integer of at least 0"},
		{"frameworkMinRetryDelaySecForTransientConflictFailed: 901",
		 "c.yaml:1:54: frameworkMinRetryDelaySecForTransientConflictFailed: found 901, expected at most"},
		{"frameworkMaxRetryDelaySecForTransientConflictFailed: 59",
		 "c.yaml:1:54: frameworkMaxRetryDelaySecForTransientConflictFailed: found 59, expected at least"},
		{"frameworkMinRetryDelaySecForTransientConflictFailed: 5\n"
		 "frameworkMaxRetryDelaySecForTransientConflictFailed: 4",
		 "c.yaml:2:54: "},
		{"logObjectSnapshot: true", "logObjectSnapshot: found the bool true, expected a mapping"},
		{"logObjectSnapshot: {pod: [x]}", "c.yaml:1:26: logObjectSnapshot.pod: found a sequence"},
		{"logObjectSnapshot: {task: {onTaskRetry: 0}}",
		 "c.yaml:1:41: logObjectSnapshot.task.onTaskRetry: found"},
		{"shards: 0", "shards: found the integer 0, expected an integer from 1 to 4096"},
		{"shards: 4097", "shards: "},
		{"memberLeaseSec: 1", "memberLeaseSec: "},
		{"memberGraceSec: -1", "memberGraceSec: "},
		{"kubeApiServerAddress: 10.0.0.1:8080",
		 "kubeApiServerAddress: found the string \"10.0.0.1:8080\", expected "
		 "http[s]://host:port"},
		{"kubeApiServerAddress: http://h", "expected http[s]://host:port"},
		{"kubeApiServerAddress: http://:80", "expected http[s]://host:port"},
		{"kubeApiServerAddress: http://h:0", "expected http[s]://host:port"},
		{"kubeApiServerAddress: http://h:65536", "expected http[s]://host:port"},
		{"kubeApiServerAddress: http://h:80/x", "expected http[s]://host:port"},
		{"kubeApiServerAddress: http://u@h:80", "expected http[s]://host:port"},
		{"kubeApiServerAddress: 'http://h h:80'", "expected http[s]://host:port"},
		{"kubeApiServerAddress: \"http://h\\nh:80\"", "expected http[s]://host:port"},
		{"kubeApiServerAddress: 'http://[::1 ]:80'", "expected http[s]://host:port"},
		{"kubeApiServerAddress: ftp://h:80", "expected http[s]://host:port"},
		{"kubeApiServerAddress: 8080", "found the integer 8080, expected a string"},
		{"kubeConfigFilePath: {}", "kubeConfigFilePath: found a mapping, expected a string"},
		{"busAddress: 8471", "busAddress: found the integer 8471"},
		{"busAddress: udp://h:1", "busAddress: found the string \"udp://h:1\", expected tcp://host:port or"},
		{"busAddress: tcp://h", "busAddress: "},
		{"busAddress: ipc://", "busAddress: "},
		{"busAddress: 'tcp://a:1,'",
		 "busAddress: found the string \"tcp://a:1,\", expected tcp://host:port or"},
		{"busAddress: 'tcp://a:1, tcp://b:1'", "busAddress: "},
		{"[]", "c.yaml:1:1: configuration: found a sequence, expected a mapping"},
		{"text", "c.yaml:1:1: configuration: found the string \"text\""},
		{"shards: 1\nshards: 2", "c.yaml:2:1: key \"shards\" given twice"},
		{"shards: 1\n---\nshards: 2", "more than one document"},
	};
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_loads(good[i]);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_refused(bad[i][0], bad[i][1]);
}

/* Runs body with stderr in a file and gives back what it wrote there. */
static char *stderr_of_load(const char *text, struct config *config)
{
	FILE *capture = tmpfile();
	assert_non_null(capture);
	int saved = dup(STDERR_FILENO);
	dup2(fileno(capture), STDERR_FILENO);
	struct error err = {0};
	int result = config_load_text("c.yaml", text, strlen(text), CONFIG_UNKNOWN_WARN, config, &err);
	dup2(saved, STDERR_FILENO);
	close(saved);
	assert_int_equal(result, 0);
	struct buf out = {0};
	char chunk[4096];
	size_t count;
	rewind(capture);
	while ((count = fread(chunk, 1, sizeof(chunk), capture)) > 0)
		buf_append(&out, chunk, count);
	fclose(capture);
	return buf_steal(&out);
}

/* A slip of the pen in an attribute would change what is retried, without a word. */
static void test_unknown_attributes(void **state)
{
	(void)state;
	struct config config;
	char *log = stderr_of_load("podFailureSpec:\n"
				   "- {code: 1, type: {attributes: [Transient, transient]}, podPatterns: [{}]}\n",
				   &config);
	assert_non_null(strstr(log, "c.yaml:2:44: podFailureSpec[0] (code 1): type.attributes[1]: found \"transient\", "
				    "which has no effect: expected Transient, Conflict or Permanent"));
	assert_null(strstr(log, "attributes[0]"));
	assert_int_equal(json_array_size(config.pod_failure_spec.entries[0].attributes), 2);
	free(log);
	config_free(&config);
}

static void test_empty_ranges(void **state)
{
	(void)state;
	struct config config;
	char *log = stderr_of_load("podFailureSpec:\n"
				   "- {code: 1, podPatterns: [{containers: [{codeRange: {min: 4, max: 4}}]}]}\n"
				   "- {code: 2, podPatterns: [{containers: [{codeRange: {min: 5, max: 4}}]}]}\n",
				   &config);
	assert_non_null(strstr(log, "c.yaml:3:53: podFailureSpec[1] (code 2): podPatterns[0].containers[0].codeRange: "
				    "min 5 is above max 4, so it matches nothing"));
	assert_null(strstr(log, "(code 1)"));
	free(log);
	config_free(&config);
}

static void test_unknown_keys(void **state)
{
	(void)state;
	static const char text[] =
		"enableKubeBatch: true\n"
		"logObjectSnapshot:\n"
		"  framework: {onTaskRetry: true}\n"
		"podFailureSpec:\n"
		"- {code: 1, podPatterns: [{hostRegex: x, containers: [{image: {deep: [y]}}]}], extra: 1}\n"
		"shards: 8\n";
	struct config config;
	char *log = stderr_of_load(text, &config);
	assert_int_equal(config.unknown_keys, 5);
	assert_int_equal(config.shards, 8);
	assert_non_null(strstr(log, "c.yaml:1:1: enableKubeBatch: unknown key, ignored"));
	assert_non_null(strstr(log, "c.yaml:3:15: logObjectSnapshot.framework.onTaskRetry: unknown key"));
	assert_non_null(strstr(log, "c.yaml:5:28: podFailureSpec[0] (code 1): podPatterns[0].hostRegex: unknown key"));
	assert_non_null(strstr(log, "podPatterns[0].containers[0].image: unknown key"));
	assert_non_null(strstr(log, "podFailureSpec[0] (code 1): extra: unknown key"));
	assert_true(log[0] == 'W');
	free(log);
	config_free(&config);
	assert_refused_mode(text, CONFIG_UNKNOWN_REFUSE, "c.yaml:1:1: enableKubeBatch: unknown key");
	assert_refused_mode("shards: 8\nlogObjectSnapshot: {x: 1}", CONFIG_UNKNOWN_REFUSE,
			    "c.yaml:2:21: logObjectSnapshot.x: unknown key");
	/* what nobody reads is not checked, but the known rest still is */
	assert_refused("unknown: [1, {a: b}]\nshards: 0\n", "c.yaml:2:9: shards: ");
}

/* ---- files and environment ------------------------------------------------------------------------------------- */

static void test_missing_file(void **state)
{
	(void)state;
	struct config config;
	struct error err = {0};
	assert_int_equal(config_load("/nonexistent/frameworkcontroller.yaml", CONFIG_UNKNOWN_WARN, &config, &err), -1);
	assert_non_null(strstr(err.message, "/nonexistent/frameworkcontroller.yaml"));
	assert_non_null(strstr(err.message, "No such file"));
	char directory[TEMP_PATH_SIZE];
	char *saved = getcwd(NULL, 0);
	temp_directory(directory);
	assert_int_equal(chdir(directory), 0);
	int result = config_load(NULL, CONFIG_UNKNOWN_WARN, &config, &err);
	assert_int_equal(chdir(saved), 0);
	free(saved);
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(result, -1);
	assert_non_null(strstr(err.message, CONFIG_DEFAULT_PATH));
}

static void assert_connection(const char *text, const char *address, const char *kubeconfig)
{
	struct config config;
	load(text, &config);
	assert_string_equal(config.kube_api_server_address, address);
	assert_string_equal(config.kube_config_file_path, kubeconfig);
	assert_int_equal(config.kube_config_from_environment, strstr(text, "kubeConfigFilePath: /k") == NULL &&
								      strstr(text, "kubeConfigFilePath: ''") == NULL);
	config_free(&config);
}

static void touch(const char *path)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
}

static char warned[512];

static void keep_warning(char severity, const char *message)
{
	assert_int_equal(severity, 'W');
	snprintf(warned, sizeof(warned), "%s", message);
}

/* What a start warns of, as it has found this kubeconfig. */
static void assert_warns(const char *found, const char *expected)
{
	warned[0] = '\0';
	log_set_sink(keep_warning);
	config_warn_kubeconfig(found);
	log_set_sink(NULL);
	assert_string_equal(warned, expected);
}

/* A typo in $KUBECONFIG leads to another cluster, if ~/.kube/config is its own. */
static void test_absent_kubeconfig(void **state)
{
	(void)state;
	setenv("KUBECONFIG", "/nonexistent/a:/nonexistent/b", 1);
	assert_warns("/home/u/.kube/config", "$KUBECONFIG is /nonexistent/a:/nonexistent/b, which does not exist; "
					     "using /home/u/.kube/config instead");
	assert_warns("", "$KUBECONFIG is /nonexistent/a:/nonexistent/b, which does not exist; using no kubeconfig "
			 "instead");
	setenv("KUBECONFIG", "/nonexistent/a:/dev/null", 1);
	assert_warns("/nonexistent/a:/dev/null", "");
	setenv("KUBECONFIG", "", 1);
	assert_warns("/home/u/.kube/config", "");
	unsetenv("KUBECONFIG");
	assert_warns("", "");
}

static void test_environment(void **state)
{
	(void)state;
	char home[TEMP_PATH_SIZE];
	temp_directory(home);
	char *directory = mem_printf("%s/.kube", home);
	char *fallback = mem_printf("%s/config", directory);
	char *other = mem_printf("%s/other", home);
	setenv("HOME", home, 1);
	setenv("KUBECONFIG", other, 1);
	/* neither file exists */
	assert_connection("", "", "");
	assert_int_equal(mkdir(directory, 0700), 0);
	touch(fallback);
	assert_connection("", "", fallback);
	touch(other);
	assert_connection("", "", other);
	/* what the file says wins, even when it says none */
	assert_connection("kubeConfigFilePath: /k", "", "/k");
	assert_connection("kubeConfigFilePath: ''", "", "");
	assert_connection("kubeConfigFilePath: null", "", other);
	setenv("KUBE_APISERVER_ADDRESS", "http://1.2.3.4:8080/", 1);
	assert_connection("", "http://1.2.3.4:8080", other);
	assert_connection("kubeApiServerAddress: https://h:1", "https://h:1", other);
	assert_connection("kubeApiServerAddress: ''", "", other);
	setenv("KUBE_APISERVER_ADDRESS", "1.2.3.4", 1);
	assert_refused("",
		       "environment variable KUBE_APISERVER_ADDRESS: found \"1.2.3.4\", expected http[s]://host:port");
	assert_connection("kubeApiServerAddress: https://h:1", "https://h:1", other);
	setenv("KUBE_APISERVER_ADDRESS", "", 1);
	unsetenv("KUBECONFIG");
	assert_connection("", "", fallback);
	unsetenv("HOME");
	assert_connection("", "", "");
	unlink(fallback);
	unlink(other);
	rmdir(directory);
	assert_int_equal(rmdir(home), 0);
	free(directory);
	free(fallback);
	free(other);
}

/* The file that is shipped says what the code does: with every commented key put in force it loads without a warning,
 * and all but the address (which has no default to show) is as by default. */
static void test_shipped_file(void **state)
{
	(void)state;
	FILE *file = fopen(SHIPPED, "r");
	if (!file)
		fail_msg("%s not found: run from the top of the tree", SHIPPED);
	cleanup_buf struct buf as_is = {0};
	cleanup_buf struct buf in_force = {0};
	char line[1024];
	while (fgets(line, sizeof(line), file)) {
		buf_puts(&as_is, line);
		/* "#key:", "#  key:", "#    key:" are keys; prose starts with one space, or three where it goes on */
		size_t indent = line[0] == '#' ? strspn(line + 1, " ") : 1;
		bool key = indent % 2 == 0 && line[1] != '\n';
		buf_puts(&in_force, key ? line + 1 : line);
	}
	fclose(file);
	struct config defaults, shipped, spelled_out;
	struct error err = {0};
	config_default(&defaults);
	if (config_load_text(SHIPPED, as_is.data, as_is.len, CONFIG_UNKNOWN_REFUSE, &shipped, &err) < 0)
		fail_msg("%s", err.message);
	assert_same(&shipped, &defaults);
	assert_int_equal(shipped.pod_failure_spec.count, 26);
	if (config_load_text(SHIPPED, in_force.data, in_force.len, CONFIG_UNKNOWN_REFUSE, &spelled_out, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(spelled_out.kube_api_server_address, "http://127.0.0.1:8001");
	mem_replace(&spelled_out.kube_api_server_address, "");
	assert_same(&spelled_out, &defaults);
	/* every key of the table is shown */
	static const char *const keys[] = {
		"kubeApiServerAddress",
		"kubeConfigFilePath",
		"kubeClientQps",
		"kubeClientBurst",
		"workerNumber",
		"largeFrameworkCompression",
		"crdEstablishedCheckIntervalSec",
		"crdEstablishedCheckTimeoutSec",
		"objectLocalCacheCreationTimeoutSec",
		"frameworkCompletedRetainSec",
		"frameworkMinRetryDelaySecForTransientConflictFailed",
		"frameworkMaxRetryDelaySecForTransientConflictFailed",
		"logObjectSnapshot",
		"onFrameworkRetry",
		"onFrameworkDeletion",
		"onTaskRetry",
		"onTaskDeletion",
		"onPodDeletion",
		"shards",
		"memberLeaseSec",
		"memberGraceSec",
		"busAddress",
		"kueue",
	};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		cleanup_free char *needle = mem_printf("%s:", keys[i]);
		if (!strstr(in_force.data, needle))
			fail_msg("%s does not show %s", SHIPPED, keys[i]);
	}
	config_free(&defaults);
	config_free(&shipped);
	config_free(&spelled_out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_every_key),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_unknown_keys),
		cmocka_unit_test(test_missing_file),
		cmocka_unit_test(test_absent_kubeconfig),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_shipped_file),
		cmocka_unit_test(test_unknown_attributes),
		cmocka_unit_test(test_empty_ranges),
	};
	return cmocka_run_group_tests(tests, clear_environment, NULL);
}
