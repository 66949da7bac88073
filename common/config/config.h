/* Reads frameworkcontroller.yaml into struct config: defaults, ranges, and errors with their place (CONTRACT.md
 * §15). */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/framework/failure_spec.h"

/* The file, if no flag names one. */
#define CONFIG_DEFAULT_PATH "./frameworkcontroller.yaml"

/* Durations in the file that are longer count as this (31 000 years), so that sums with them cannot overflow. */
#define CONFIG_SECONDS_MAX INT64_C(1000000000000)

enum { MEMBER_LEASE_SEC_MAX = 3600 };

/* Which history snapshots are logged (CONTRACT.md §14). */
struct config_snapshots {
	bool on_framework_retry;
	bool on_framework_deletion;
	bool on_task_retry;
	bool on_task_deletion;
	bool on_pod_deletion;
};

/* Every key of the file under its own name. Strings are owned and never NULL. */
struct config {
	char *kube_api_server_address;     /* "http[s]://host:port" without a trailing slash, or "" for none */
	char *kube_config_file_path;       /* or "" for none */
	bool kube_config_from_environment; /* the file does not set kubeConfigFilePath */
	double kube_client_qps;            /* (0, 10000]; one budget for the cluster */
	int64_t kube_client_burst;         /* 0..10000 */
	/* >= 1: creates, deletes and reads in flight, over all reconcilers. Each reconciler has the same share of them
	 * as of the rate, and at least one */
	int64_t worker_number;
	bool large_framework_compression;
	int64_t crd_established_check_interval_sec;      /* >= 1 */
	int64_t crd_established_check_timeout_sec;       /* >= 10 */
	int64_t object_local_cache_creation_timeout_sec; /* >= 60 */
	int64_t framework_completed_retain_sec;          /* >= 0; a negative one in the file counts as 0 */
	/* 0 <= min <= max */
	int64_t framework_min_retry_delay_sec_for_transient_conflict_failed;
	int64_t framework_max_retry_delay_sec_for_transient_conflict_failed;
	struct config_snapshots log_object_snapshot;
	struct failure_spec pod_failure_spec;

	/* Keys the original controller does not have (CONTRACT.md §15.3). */
	bool kueue;     /* Frameworks with a label kueue.x-k8s.io/queue-name wait for Kueue (CONTRACT.md §21) */
	int64_t shards; /* 1..4096 shards of the key space */
	int64_t member_lease_sec; /* 2..MEMBER_LEASE_SEC_MAX; pings go every second */
	int64_t member_grace_sec; /* 0..86400: how long the shards of a lost member wait for it */
	/* Where the watcher binds and reconcilers connect: "tcp://host:port" or "ipc://path"; for reconcilers one for
	 * each watcher, separated by commas. */
	char *bus_address;

	/* How many keys of the file are unknown; each was logged as a warning. */
	int64_t unknown_keys;
};

/* The watcher's share of kubeClientQps and kubeClientBurst, for lists and the CRD. */
enum { CONFIG_WATCHER_RATE_PERCENT = 5 };
/* The rest of kubeClientQps, which the reconcilers share. */
double config_reconcilers_qps(const struct config *config);

/* The defaults, without looking at the environment. Free with config_free. */
void config_default(struct config *out);

enum config_unknown { CONFIG_UNKNOWN_WARN, CONFIG_UNKNOWN_REFUSE, CONFIG_UNKNOWN_IGNORE };

/* Reads the file at path (NULL: CONFIG_DEFAULT_PATH). An empty one is fine, a missing one is not. Keys that are absent
 * or null keep their defaults; the address and the kubeconfig take theirs from the environment (below). Unknown keys
 * are logged as warnings with file:line:column and ignored, or refused, or ignored in silence, as unknown says.
 * 0 and *out, to be freed with config_free; or -1, *err "file:line:column: key: found …, expected …", *out untouched.
 */
int config_load(const char *path, enum config_unknown unknown, struct config *out, struct error *err);
/* The same for a text; file is for messages. */
int config_load_text(const char *file, const char *text, size_t len, enum config_unknown unknown, struct config *out,
		     struct error *err);
/* Frees what it owns and zeroes it. */
void config_free(struct config *config);

/* The address from $KUBE_APISERVER_ADDRESS, "" when not set. 0 and *out, which the caller frees; or -1 and *err. */
int config_environment_address(char **out, struct error *err);
/* $KUBECONFIG if that file exists, or one of those that it names, separated by ':'; else ~/.kube/config if that exists,
 * else "". The caller frees. */
char *config_environment_kubeconfig(void);
/* Logs a warning if $KUBECONFIG names no file that exists, so that the function above has found another one, or none:
 * that can be another cluster's. found: its result. */
void config_warn_kubeconfig(const char *found);

#endif
