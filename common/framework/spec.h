/* The spec of a Framework as decisions need it (CONTRACT.md §2); the pod templates stay JSON. */
#ifndef FRAMEWORK_SPEC_H
#define FRAMEWORK_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/framework/failure_spec.h"

enum execution_type { EXECUTION_CREATE, EXECUTION_START, EXECUTION_STOP };

/* retryPolicy.backoff: how long retries in a row wait (CONTRACT.md §9). */
struct retry_backoff {
	int32_t initial_sec; /* 0: there is none */
	int32_t max_sec;
	int32_t reset_after_sec;
};

struct retry_policy {
	bool fancy;
	int32_t max_retry_count; /* >= -2 */
	struct retry_backoff backoff;
};

/* The value of an optional number of seconds that is absent. */
#define SECONDS_ABSENT (-1)

/* task.pendingPolicy: what becomes of a Pod that does not start (CONTRACT.md §6). */
struct pending_policy {
	bool given;
	int32_t start_timeout_sec;         /* or SECONDS_ABSENT */
	int32_t unschedulable_timeout_sec; /* or SECONDS_ABSENT */
};

/* podGracefulDeletionTimeoutSec: null, wait for ever. */
#define SECONDS_NULL INT64_MIN

enum {
	TASK_NUMBER_MAX = 10000,
	/* In all TaskRoles. Measured: compressed and without messages, a Task that runs takes 124 to 131 bytes of
	 * etcd's 1.5 MiB, and one that has failed 136 to 144; its UIDs, IP, node and times repeat nothing
	 * (test_shorten.c, test_largest). Random IPv6 addresses add 30 bytes: 10 000 failed Tasks then fit only if they
	 * share nodes. */
	FRAMEWORK_TASKS_MAX = 10000,
};

/* An entry of dependsOn: all Tasks of another TaskRole have come so far (CONTRACT.md §6). */
enum depends_status { DEPENDS_RUNNING, DEPENDS_READY, DEPENDS_SUCCEEDED, DEPENDS_STATUSES };

struct role_dependency {
	size_t role; /* its place in the spec: before the TaskRole that depends on it */
	enum depends_status status;
};

struct task_role_spec {
	char *name;
	struct role_dependency *depends_on;
	size_t depends_count;
	bool ready_wanted;           /* a TaskRole depends on its Tasks being ready */
	int32_t task_number;         /* 0..TASK_NUMBER_MAX */
	int32_t min_failed_tasks;    /* < 1: never triggers */
	int32_t min_succeeded_tasks; /* < 1: never triggers */
	struct retry_policy retry;   /* of its Tasks */
	struct pending_policy pending;
	int64_t pod_graceful_deletion_timeout_sec; /* or SECONDS_NULL */
	UT_hash_handle hh;
};

/* spec.network: the Service that gives the Pods names (CONTRACT.md §2.19). */
struct network_spec {
	bool hostnames;  /* it is asked for, by spec.distributed as well, and enableDNSHostnames is not false */
	char *subdomain; /* NULL: the Framework's name */
	bool publish_not_ready;
};

enum distributed_kind { DISTRIBUTED_NONE, DISTRIBUTED_TENSORFLOW, DISTRIBUTED_PYTORCH, DISTRIBUTED_JAX };

/* spec.distributed: the environment that launchers read (CONTRACT.md §4.14). */
struct distributed_spec {
	enum distributed_kind kind;
	int32_t port;
	int32_t processes_per_task; /* 0: auto */
	size_t *roles;              /* their places in the spec, in rank order */
	size_t role_count;
	int64_t *first_ranks; /* of Task 0 of each TaskRole of the spec; -1: it has no part in it */
	int64_t tasks;        /* of all that have */
	size_t master;        /* the place of the TaskRole of rank 0: the first that has Tasks */
};

/* spec.gang: who places the Tasks together (CONTRACT.md §2.20). */
enum gang_scheduler { GANG_NONE, GANG_VOLCANO, GANG_COSCHEDULING, GANG_KUBERNETES };

struct gang_spec {
	enum gang_scheduler scheduler;
	int32_t min_tasks; /* 0: all */
	char *queue;       /* NULL: none, as in what follows */
	char *priority_class;
	char *topology_key;
	int32_t schedule_timeout_sec; /* of Coscheduling */
};

struct framework_spec {
	enum execution_type execution_type;
	bool suspend;
	int32_t ttl_sec;             /* ttlSecondsAfterCompleted, or SECONDS_ABSENT */
	int32_t active_deadline_sec; /* 0: none */
	struct retry_policy retry;
	char *exclusive_key; /* placement.exclusiveTopologyKey; NULL: none */
	struct network_spec network;
	struct distributed_spec distributed;
	struct gang_spec gang;
	struct failure_spec failures; /* podFailureSpec: framework_spec_parse() leaves it empty, see failure.h */
	struct task_role_spec *roles;
	size_t role_count;
	bool has_dependencies;          /* some TaskRole has dependsOn */
	bool too_many_tasks;            /* more than FRAMEWORK_TASKS_MAX in all */
	struct task_role_spec *by_name; /* the same ones: an object has room for 80 000 */
};

/* Reads object's spec with the defaults of CONTRACT.md §2 for absent members. 0, or -1 and *err naming the field, what
 * was found and what was expected (a duplicate TaskRole name too). */
int framework_spec_parse(const json_t *spec, struct framework_spec *out, struct error *err);
/* Checks that depend on the Framework's name: whether it can have what spec.network, spec.distributed and spec.gang ask
 * for. 0, or -1 and *err. */
int framework_spec_check_names(const struct framework_spec *spec, const char *framework_name, struct error *err);
void framework_spec_free(struct framework_spec *spec);
/* The name of the Service of spec.network, which is the Pods' subdomain, too. */
const char *framework_spec_subdomain(const struct framework_spec *spec, const char *framework_name);
/* Whether spec.managedBy names another controller, so that nothing of the Framework is read or acted on. spec may be
 * NULL, and is otherwise unchecked. */
bool framework_spec_managed_by_others(const json_t *spec);
/* "Running", "Ready", "Succeeded". */
const char *depends_status_name(enum depends_status status);
/* "Volcano", "Coscheduling", "Kubernetes". */
const char *gang_scheduler_name(enum gang_scheduler scheduler);
/* GANG_NONE: there is none of this name. */
enum gang_scheduler gang_scheduler_parse(const char *name);
/* Index of the role, or -1. */
int framework_spec_find_role(const struct framework_spec *spec, const char *name);
/* Sum of taskNumber. */
int64_t framework_spec_task_count(const struct framework_spec *spec);

#endif
