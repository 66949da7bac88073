/* The fixed names of the API: group, annotations, labels, states (CONTRACT.md §1, §4, §5). */
#ifndef FRAMEWORK_NAMES_H
#define FRAMEWORK_NAMES_H

#include <stdbool.h>

#define FRAMEWORK_GROUP "frameworkcontroller.microsoft.com"
#define FRAMEWORK_API_VERSION "frameworkcontroller.microsoft.com/v1"
#define FRAMEWORK_CRD_NAME "frameworks.frameworkcontroller.microsoft.com"

#define FC_FRAMEWORK_NAMESPACE "FC_FRAMEWORK_NAMESPACE"
#define FC_FRAMEWORK_NAME "FC_FRAMEWORK_NAME"
#define FC_TASKROLE_NAME "FC_TASKROLE_NAME"
#define FC_TASK_INDEX "FC_TASK_INDEX"
#define FC_CONFIGMAP_NAME "FC_CONFIGMAP_NAME"
#define FC_POD_NAME "FC_POD_NAME"
#define FC_FRAMEWORK_UID "FC_FRAMEWORK_UID"
#define FC_FRAMEWORK_ATTEMPT_ID "FC_FRAMEWORK_ATTEMPT_ID"
#define FC_FRAMEWORK_ATTEMPT_INSTANCE_UID "FC_FRAMEWORK_ATTEMPT_INSTANCE_UID"
#define FC_CONFIGMAP_UID "FC_CONFIGMAP_UID"
#define FC_TASKROLE_UID "FC_TASKROLE_UID"
#define FC_TASK_UID "FC_TASK_UID"
#define FC_TASK_ATTEMPT_ID "FC_TASK_ATTEMPT_ID"
#define FC_READY_WANTED "FC_READY_WANTED" /* only on Pods of which others depend on their being ready */
/* By these a gang scheduler finds a Pod's PodGroup (CONTRACT.md §4.19). */
#define VOLCANO_GROUP "scheduling.k8s.io/group-name"
#define VOLCANO_TASK "volcano.sh/task-spec"
#define COSCHEDULING_GROUP "scheduling.x-k8s.io/pod-group"
#define FC_POD_UID "FC_POD_UID"
#define FC_TASK_ATTEMPT_INSTANCE_UID "FC_TASK_ATTEMPT_INSTANCE_UID"

/* The label of every Framework that fc-jobs makes. Its value is the full name of the job's kind (jobs/README.md). */
#define JOB_LABEL "frameworkcontroller.microsoft.com/job-kind"

/* States of Frameworks and Tasks; the tables of allowed moves are in reconciler/sync/state.c. */
enum attempt_state {
	STATE_CREATION_PENDING,
	STATE_CREATION_REQUESTED,
	STATE_PREPARING,
	STATE_RUNNING,
	STATE_DELETION_PENDING,
	STATE_DELETION_REQUESTED,
	STATE_DELETING,
	STATE_ATTEMPT_COMPLETED,
	STATE_COMPLETED,
	STATE_COUNT
};

/* "AttemptCreationPending" … "Completed". */
const char *attempt_state_name(enum attempt_state state);
/* 0, or -1 for a name that is no state. */
int attempt_state_parse(const char *name, enum attempt_state *out);

/* Whether name is ^[a-z0-9]{1,63}$, as Framework and TaskRole names must be (CONTRACT.md §2). */
bool framework_name_valid(const char *name);
/* A label's key: a name of at most 63 characters, perhaps with a DNS name and a slash before it. */
bool label_key_valid(const char *key);
/* Whether name can be a namespace's: an RFC 1123 label of at most 63 bytes. */
bool namespace_name_valid(const char *name);
/* Whether name can be an object's: a DNS name (RFC 1123) of at most 253 bytes. */
bool object_name_valid(const char *name);

#endif
