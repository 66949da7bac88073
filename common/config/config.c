/* frameworkcontroller.yaml: the table of its keys, their defaults, and checks across keys. */
#include "common/config/config.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/yaml.h"
#include "common/config/read.h"

#define ENVIRONMENT_ADDRESS "KUBE_APISERVER_ADDRESS"

#define DEFAULT_BUS_ADDRESS "tcp://127.0.0.1:8471"

double config_reconcilers_qps(const struct config *config)
{
	return config->kube_client_qps * (100 - CONFIG_WATCHER_RATE_PERCENT) / 100;
}

void config_default(struct config *out)
{
	*out = (struct config){
		.kube_api_server_address = mem_strdup(""),
		.kube_config_file_path = mem_strdup(""),
		.kube_client_qps = 80,
		.kube_client_burst = 120,
		.worker_number = 200,
		.crd_established_check_interval_sec = 1,
		.crd_established_check_timeout_sec = 60,
		.object_local_cache_creation_timeout_sec = 300,
		.framework_completed_retain_sec = 30 * 24 * 3600,
		.framework_min_retry_delay_sec_for_transient_conflict_failed = 60,
		.framework_max_retry_delay_sec_for_transient_conflict_failed = 900,
		.log_object_snapshot = {true, true, true, true, true},
		.shards = 64,
		.member_lease_sec = 10,
		.member_grace_sec = 30,
		.bus_address = mem_strdup(DEFAULT_BUS_ADDRESS),
	};
}

void config_free(struct config *config)
{
	free(config->kube_api_server_address);
	free(config->kube_config_file_path);
	free(config->bus_address);
	failure_spec_free(&config->pod_failure_spec);
	*config = (struct config){0};
}

/* ---- addresses ------------------------------------------------------------------------------------------------- */

/* The length of "host:port" at text when it is one up to its end or a single trailing slash, else 0. */
static size_t host_and_port(const char *text)
{
	const char *end;
	if (*text == '[')
		end = strchr(text, ']') ? strchr(text, ']') + 1 : text;
	else
		end = text + strcspn(text, ":/?#@[] \t");
	if (end == text || *end != ':')
		return 0;
	for (const char *c = text; c < end; c++)
		if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c))
			return 0;
	const char *port = end + 1;
	size_t digits = strspn(port, "0123456789");
	unsigned long number = strtoul(port, NULL, 10);
	if (digits < 1 || digits > 5 || number < 1 || number > 65535)
		return 0;
	return strcmp(port + digits, "") == 0 || strcmp(port + digits, "/") == 0 ? (size_t)(port + digits - text) : 0;
}

/* A copy of http[s]://host:port without a trailing slash, "" for "", NULL when address is something else. */
static char *normal_address(const char *address)
{
	if (*address == '\0')
		return mem_strdup("");
	size_t scheme = strncmp(address, "http://", 7) == 0 ? 7 : strncmp(address, "https://", 8) == 0 ? 8 : 0;
	size_t rest = scheme ? host_and_port(address + scheme) : 0;
	return rest ? mem_strndup(address, scheme + rest) : NULL;
}

static int read_address(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	struct config *config = into;
	const char *text;
	if (yaml_as_string(value, what, &text, reader->err) < 0)
		return -1;
	char *address = normal_address(text);
	if (!address) {
		cleanup_free char *found = yaml_describe(value);
		return yaml_error(value, reader->err, "%s: found %s, expected http[s]://host:port", what, found);
	}
	free(config->kube_api_server_address);
	config->kube_api_server_address = address;
	return 0;
}

static int read_bus_address(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	struct config *config = into;
	const char *text;
	if (yaml_as_string(value, what, &text, reader->err) < 0)
		return -1;
	for (const char *at = text, *end; at; at = *end ? end + 1 : NULL) {
		end = at + strcspn(at, ",");
		cleanup_free char *one = mem_strndup(at, (size_t)(end - at));
		bool tcp = strncmp(one, "tcp://", 6) == 0 && host_and_port(one + 6) == strlen(one + 6);
		bool ipc = strncmp(one, "ipc://", 6) == 0 && one[6];
		if (tcp || ipc)
			continue;
		cleanup_free char *found = yaml_describe(value);
		return yaml_error(value, reader->err,
				  "%s: found %s, expected tcp://host:port or ipc://path (reconcilers: several, "
				  "separated by commas)",
				  what, found);
	}
	mem_replace(&config->bus_address, text);
	return 0;
}

int config_environment_address(char **out, struct error *err)
{
	const char *text = getenv(ENVIRONMENT_ADDRESS);
	char *address = normal_address(text ? text : "");
	if (!address)
		return error_set(err,
				 "environment variable " ENVIRONMENT_ADDRESS ": found \"%.200s\", expected "
				 "http[s]://host:port",
				 text);
	*out = address;
	return 0;
}

/* Whether any file of a list separated by ':' exists. */
static bool any_exists(const char *paths)
{
	cleanup_free char *list = mem_strdup(paths);
	char *state = NULL;
	for (char *path = strtok_r(list, ":", &state); path; path = strtok_r(NULL, ":", &state))
		if (access(path, F_OK) == 0)
			return true;
	return false;
}

char *config_environment_kubeconfig(void)
{
	const char *paths = getenv("KUBECONFIG");
	if (paths && any_exists(paths))
		return mem_strdup(paths);
	const char *home = getenv("HOME");
	char *fallback = mem_printf("%s/.kube/config", home ? home : "");
	if (home && *home && access(fallback, F_OK) == 0)
		return fallback;
	free(fallback);
	return mem_strdup("");
}

void config_warn_kubeconfig(const char *found)
{
	const char *paths = getenv("KUBECONFIG");
	if (!paths || !*paths || any_exists(paths))
		return;
	log_warning("$KUBECONFIG is %.200s, which does not exist; using %s instead", paths,
		    *found ? found : "no kubeconfig");
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

#define SNAPSHOT(name, member) \
	.key = (name), .type = FIELD_BOOL, .offset = offsetof(struct config, log_object_snapshot.member)

static const struct field framework_snapshots[] = {
	{SNAPSHOT("onFrameworkRetry", on_framework_retry)},
	{SNAPSHOT("onFrameworkDeletion", on_framework_deletion)},
	{0},
};
static const struct field task_snapshots[] = {
	{SNAPSHOT("onTaskRetry", on_task_retry)},
	{SNAPSHOT("onTaskDeletion", on_task_deletion)},
	{0},
};
static const struct field pod_snapshots[] = {
	{SNAPSHOT("onPodDeletion", on_pod_deletion)},
	{0},
};
static const struct field snapshots[] = {
	{.key = "framework", .type = FIELD_MAPPING, .fields = framework_snapshots},
	{.key = "task", .type = FIELD_MAPPING, .fields = task_snapshots},
	{.key = "pod", .type = FIELD_MAPPING, .fields = pod_snapshots},
	{0},
};

static int read_pod_failure_spec(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	return read_failure_spec(reader, value, what, &((struct config *)into)->pod_failure_spec);
}

/* The original sets no bound, so a negative retention means what it does there: none. */
static int read_retain(struct reader *reader, const struct yaml_node *value, const char *what, void *into)
{
	int64_t seconds;
	if (yaml_as_int(value, what, INT64_MIN, INT64_MAX, &seconds, reader->err) < 0)
		return -1;
	if (seconds < 0)
		seconds = 0;
	((struct config *)into)->framework_completed_retain_sec = seconds > CONFIG_SECONDS_MAX ? CONFIG_SECONDS_MAX
											       : seconds;
	return 0;
}

#define MIN_DELAY "frameworkMinRetryDelaySecForTransientConflictFailed"
#define MAX_DELAY "frameworkMaxRetryDelaySecForTransientConflictFailed"

#define AT(member) .offset = offsetof(struct config, member)

static const struct field config_fields[] = {
	{.key = "kubeApiServerAddress", .type = FIELD_CUSTOM, .read = read_address},
	{.key = "kubeConfigFilePath", .type = FIELD_STRING, AT(kube_config_file_path)},
	{.key = "kubeClientQps", .type = FIELD_DOUBLE, AT(kube_client_qps), .min = 0, .max = 10000},
	{.key = "kubeClientBurst", .type = FIELD_INT, AT(kube_client_burst), .min = 0, .max = 10000},
	{.key = "workerNumber", .type = FIELD_INT, AT(worker_number), .min = 1, .max = INT32_MAX},
	{.key = "largeFrameworkCompression", .type = FIELD_BOOL, AT(large_framework_compression)},
	{.key = "crdEstablishedCheckIntervalSec",
	 .type = FIELD_SECONDS,
	 AT(crd_established_check_interval_sec),
	 .min = 1},
	{.key = "crdEstablishedCheckTimeoutSec",
	 .type = FIELD_SECONDS,
	 AT(crd_established_check_timeout_sec),
	 .min = 10},
	{.key = "objectLocalCacheCreationTimeoutSec",
	 .type = FIELD_SECONDS,
	 AT(object_local_cache_creation_timeout_sec),
	 .min = 60},
	{.key = "frameworkCompletedRetainSec", .type = FIELD_CUSTOM, .read = read_retain},
	{.key = MIN_DELAY,
	 .type = FIELD_SECONDS,
	 AT(framework_min_retry_delay_sec_for_transient_conflict_failed),
	 .min = 0},
	{.key = MAX_DELAY,
	 .type = FIELD_SECONDS,
	 AT(framework_max_retry_delay_sec_for_transient_conflict_failed),
	 .min = 0},
	{.key = "logObjectSnapshot", .type = FIELD_MAPPING, .fields = snapshots},
	{.key = "podFailureSpec", .type = FIELD_CUSTOM, .read = read_pod_failure_spec},
	{.key = "shards", .type = FIELD_INT, AT(shards), .min = 1, .max = 4096},
	{.key = "memberLeaseSec", .type = FIELD_INT, AT(member_lease_sec), .min = 2, .max = MEMBER_LEASE_SEC_MAX},
	{.key = "memberGraceSec", .type = FIELD_INT, AT(member_grace_sec), .min = 0, .max = 86400},
	{.key = "kueue", .type = FIELD_BOOL, AT(kueue)},
	{.key = "busAddress", .type = FIELD_CUSTOM, .read = read_bus_address},
	{0},
};

/* ---- loading --------------------------------------------------------------------------------------------------- */

/* Either bound may be the default, so the complaint stands at the one that the file gives. */
static int check_delays(const struct yaml_node *root, const struct config *config, struct error *err)
{
	int64_t min = config->framework_min_retry_delay_sec_for_transient_conflict_failed;
	int64_t max = config->framework_max_retry_delay_sec_for_transient_conflict_failed;
	if (min <= max)
		return 0;
	const struct yaml_node *given = yaml_get(root, MAX_DELAY);
	if (!yaml_is_null(given))
		return yaml_error(given, err, MAX_DELAY ": found %lld, expected at least " MIN_DELAY ", which is %lld",
				  (long long)max, (long long)min);
	return yaml_error(yaml_get(root, MIN_DELAY), err,
			  MIN_DELAY ": found %lld, expected at most " MAX_DELAY ", which is %lld", (long long)min,
			  (long long)max);
}

/* Sets keys that the file does not set. The environment overrides no value of the file, not even "". */
static int apply_environment(const struct yaml_node *root, struct config *config, struct error *err)
{
	if (yaml_is_null(yaml_get(root, "kubeApiServerAddress"))) {
		char *address = NULL;
		if (config_environment_address(&address, err) < 0)
			return -1;
		free(config->kube_api_server_address);
		config->kube_api_server_address = address;
	}
	if (yaml_is_null(yaml_get(root, "kubeConfigFilePath"))) {
		free(config->kube_config_file_path);
		config->kube_config_file_path = config_environment_kubeconfig();
		config->kube_config_from_environment = true;
	}
	return 0;
}

static int read_root(const struct yaml_node *root, enum config_unknown unknown, struct config *config,
		     struct error *err)
{
	struct reader reader = {.unknown = unknown, .err = err};
	if (!yaml_is_null(root)) {
		if (yaml_check_kind(root, "configuration", YAML_MAPPING, err) < 0 ||
		    read_mapping(&reader, root, "", config_fields, config) < 0)
			return -1;
	}
	config->unknown_keys = reader.unknown_keys;
	if (check_delays(root, config, err) < 0)
		return -1;
	return apply_environment(root, config, err);
}

/* Takes root. */
static int load_root(struct yaml_node *root, enum config_unknown unknown, struct config *out, struct error *err)
{
	struct config config;
	config_default(&config);
	int result = read_root(root, unknown, &config, err);
	yaml_tree_free(root);
	if (result < 0)
		config_free(&config);
	else
		*out = config;
	return result;
}

int config_load_text(const char *file, const char *text, size_t len, enum config_unknown unknown, struct config *out,
		     struct error *err)
{
	struct yaml_node *root;
	return yaml_load(file, text, len, &root, err) < 0 ? -1 : load_root(root, unknown, out, err);
}

int config_load(const char *path, enum config_unknown unknown, struct config *out, struct error *err)
{
	struct yaml_node *root;
	if (path == NULL && access(CONFIG_DEFAULT_PATH, F_OK) < 0)
		return error_set(err,
				 "%s does not exist; name the configuration with --config (an empty file is valid)",
				 CONFIG_DEFAULT_PATH);
	if (yaml_load_file(path ? path : CONFIG_DEFAULT_PATH, &root, err) < 0)
		return -1;
	return load_root(root, unknown, out, err);
}
