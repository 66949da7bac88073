/* A Pod's row, as printPod of pkg/printers/internalversion makes it; see podview.h. */
#include "tests/cluster/testapi/podview.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/table.h"

static const char *text_or(const char *text, const char *fallback)
{
	return text == NULL || text[0] == '\0' ? fallback : text;
}

static char *terminated_reason(const json_t *terminated)
{
	const char *reason = json_str(terminated, "reason");

	if (reason != NULL && reason[0] != '\0')
		return mem_strdup(reason);
	if (json_int(terminated, "signal", 0) != 0)
		return mem_printf("Signal:%lld", (long long)json_int(terminated, "signal", 0));
	return mem_printf("ExitCode:%lld", (long long)json_int(terminated, "exitCode", 0));
}

/* The first init container that is not through decides; NULL when all are. */
static char *init_reason(const json_t *pod, int64_t *restarts)
{
	const json_t *list = json_path(pod, "status", "initContainerStatuses", NULL);
	size_t total = json_array_size(json_path(pod, "spec", "initContainers", NULL));
	size_t index;
	const json_t *container;

	json_array_foreach(list, index, container) {
		const json_t *terminated = json_path(container, "state", "terminated", NULL);
		const char *waiting = json_str(json_path(container, "state", "waiting", NULL), "reason");

		*restarts += json_int(container, "restartCount", 0);
		if (terminated != NULL && json_int(terminated, "exitCode", 0) == 0)
			continue;
		if (terminated != NULL) {
			cleanup_free char *reason = terminated_reason(terminated);

			return mem_printf("Init:%s", reason);
		}
		if (waiting != NULL && waiting[0] != '\0' && strcmp(waiting, "PodInitializing") != 0)
			return mem_printf("Init:%s", waiting);
		return mem_printf("Init:%zu/%zu", index, total);
	}
	return NULL;
}

static char *container_reason(const json_t *pod, char *reason, int64_t *restarts, size_t *ready)
{
	const json_t *list = json_path(pod, "status", "containerStatuses", NULL);
	bool running = false;

	*restarts = 0;
	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *container = json_array_get(list, i);
		const json_t *terminated = json_path(container, "state", "terminated", NULL);
		const char *waiting = json_str(json_path(container, "state", "waiting", NULL), "reason");

		*restarts += json_int(container, "restartCount", 0);
		if (waiting != NULL && waiting[0] != '\0') {
			mem_replace(&reason, waiting);
		} else if (terminated != NULL) {
			free(reason);
			reason = terminated_reason(terminated);
		} else if (json_bool(container, "ready", false) &&
			   json_path(container, "state", "running", NULL) != NULL) {
			running = true;
			(*ready)++;
		}
	}
	if (running && strcmp(reason, "Completed") == 0)
		mem_replace(&reason, "Running");
	return reason;
}

void podview_cells(struct buf *out, const json_t *pod)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const json_t *status = json_object_get(pod, "status");
	const char *stated = json_str(status, "reason");
	int64_t restarts = 0;
	size_t ready = 0;
	char *initial = init_reason(pod, &restarts);
	char *reason = mem_strdup(text_or(stated, text_or(json_str(status, "phase"), "")));

	if (initial != NULL) {
		free(reason);
		reason = initial;
	} else {
		reason = container_reason(pod, reason, &restarts, &ready);
	}
	if (json_str(metadata, "deletionTimestamp") != NULL)
		mem_replace(&reason, stated != NULL && strcmp(stated, "NodeLost") == 0 ? "Unknown" : "Terminating");
	buf_json_string(out, json_str(metadata, "name"));
	buf_printf(out, ",\"%zu/%zu\",", ready, json_array_size(json_path(pod, "spec", "containers", NULL)));
	buf_json_string(out, reason);
	buf_printf(out, ",%lld,\"", (long long)restarts);
	api_print_age(out, clock_wall_ms() / 1000 - json_time(metadata, "creationTimestamp"));
	buf_puts(out, "\",");
	buf_json_string(out, text_or(json_str(status, "podIP"), "<none>"));
	buf_putc(out, ',');
	buf_json_string(out, text_or(json_str(json_object_get(pod, "spec"), "nodeName"), "<none>"));
	buf_putc(out, ',');
	buf_json_string(out, text_or(json_str(status, "nominatedNodeName"), "<none>"));
	buf_puts(out, ",\"<none>\"");
	free(reason);
}
