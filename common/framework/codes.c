/* The table of CONTRACT.md §7. */
#include "common/framework/codes.h"

#include <stddef.h>
#include <stdlib.h>

#include "common/base/mem.h"

static const struct completion_code codes[] = {
	{CODE_SUCCEEDED, "Succeeded", {NULL}},
	{CODE_CONTAINER_TRANSIENT_FAILED, "ContainerTransientFailed", {"Transient"}},
	{CODE_CONTAINER_TRANSIENT_CONFLICT_FAILED, "ContainerTransientConflictFailed", {"Transient", "Conflict"}},
	{CODE_CONTAINER_PERMANENT_FAILED, "ContainerPermanentFailed", {"Permanent"}},
	{CODE_CONFIG_MAP_EXTERNAL_DELETED, "ConfigMapExternalDeleted", {"Transient"}},
	{CODE_POD_EXTERNAL_DELETED, "PodExternalDeleted", {"Transient"}},
	{CODE_CONFIG_MAP_LOCAL_CACHE_CREATION_TIMEOUT, "ConfigMapLocalCacheCreationTimeout", {"Transient"}},
	{CODE_POD_LOCAL_CACHE_CREATION_TIMEOUT, "PodLocalCacheCreationTimeout", {"Transient"}},
	{CODE_POD_CREATION_TRANSIENT_ERROR, "PodCreationTransientError", {"Transient"}},
	{CODE_POD_CREATION_PERMANENT_ERROR, "PodCreationPermanentError", {"Permanent"}},
	{CODE_STOP_FRAMEWORK_REQUESTED, "StopFrameworkRequested", {"Permanent"}},
	{CODE_FRAMEWORK_ATTEMPT_COMPLETION, "FrameworkAttemptCompletion", {"Permanent"}},
	{CODE_DELETE_TASK_REQUESTED, "DeleteTaskRequested", {"Permanent"}},
	{CODE_SUSPEND_FRAMEWORK_REQUESTED, "SuspendFrameworkRequested", {NULL}},
	{CODE_ACTIVE_DEADLINE_EXCEEDED, "ActiveDeadlineExceeded", {"Permanent"}},
	{CODE_POD_FAILED_WITHOUT_FAILED_CONTAINER, "PodFailedWithoutFailedContainer", {NULL}},
	{CODE_POD_CREATION_UNKNOWN_ERROR, "PodCreationUnknownError", {NULL}},
	{CODE_POD_START_TIMEOUT, "PodStartTimeout", {NULL}},
	{CODE_POD_NEVER_STARTS, "PodNeverStarts", {"Permanent"}},
	{CODE_POD_UNSCHEDULABLE_TIMEOUT, "PodUnschedulableTimeout", {NULL}},
};

/* One more for the codes that have no row. */
static json_t *shared_attributes[ARRAY_LEN(codes) + 1];

const struct completion_code *completion_code_find(int32_t code)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].code == code)
			return &codes[i];
	return NULL;
}

json_t *completion_code_attributes(int32_t code)
{
	static const char *const none[] = {NULL};
	const struct completion_code *found = completion_code_find(code);
	json_t **shared = &shared_attributes[found ? (size_t)(found - codes) : ARRAY_LEN(codes)];
	if (*shared)
		return *shared;
	*shared = json_array();
	for (const char *const *name = found ? found->attributes : none; *name; name++)
		json_array_append_new(*shared, json_string(*name));
	if (!*shared)
		mem_exhausted();
	return *shared;
}

bool completion_code_reserved(int32_t code)
{
	return (code >= 200 && code <= 219) || (code >= -999 && code <= 0);
}
