/* A compiled pod template: text with holes. podtemplate.c compiles it, podtext.c fills it. */
#ifndef SYNC_PODTEXT_H
#define SYNC_PODTEXT_H

#include "reconciler/sync/state.h"

/* The values that differ from Task to Task or from attempt to attempt. */
enum hole_value {
	HOLE_TASK_INDEX,
	HOLE_POD_NAME,
	HOLE_FRAMEWORK_ATTEMPT_ID,
	HOLE_FRAMEWORK_ATTEMPT_INSTANCE_UID,
	HOLE_CONFIGMAP_UID,
	HOLE_TASKROLE_UID,
	HOLE_TASK_UID,
	HOLE_TASK_ATTEMPT_ID,
	HOLE_RANK,
	HOLE_COUNT
};

struct hole {
	size_t at; /* offset in the text at which the value is put in */
	enum hole_value value;
};

struct pod_template {
	struct buf text;
	struct hole *holes;
	size_t hole_count;
	size_t hole_cap;
	const char *ns; /* the framework's, during compilation */
	const char *framework_name;
	const char *framework_uid;
	const char *role_name;
	bool ready_wanted;
	bool counted;                      /* a Workload or a PodGroup has its requests (CONTRACT.md §4.20) */
	bool keep_name_holes;              /* names of members keep the placeholders that differ from Task to Task */
	const char *exclusive_key;         /* NULL: others may run beside it */
	enum gang_scheduler gang;          /* of the attempt, during compilation */
	const char *subdomain;             /* NULL: spec.network gives the Pods no names */
	const struct distributed_env *env; /* of spec.distributed, during compilation */
	int64_t first_rank;
};

/* Compiles those of all TaskRoles. */
void pod_templates_compile(struct framework *framework);

#endif
