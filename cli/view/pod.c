/* See pod.h. */
#include "cli/view/pod.h"

#include <stdlib.h>
#include <string.h>

#include "cli/view/read.h"
#include "common/base/mem.h"

/* The barrier's program, image and usual container have this name (barrier/README.md). */
#define BARRIER "frameworkbarrier"

static char *join(const json_t *list, const char *member)
{
	struct buf out = {0};
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		const char *text = member == NULL ? json_string_value(item) : json_str(item, member);

		if (text != NULL)
			buf_printf(&out, "%s%s", out.len > 0 ? ", " : "", text);
	}
	return buf_steal(&out);
}

char *finalizers_text(const json_t *object)
{
	return join(json_path(object, "metadata", "finalizers", NULL), NULL);
}

const char *controller_uid_of(const json_t *object)
{
	return view_text(view_controller(object), "uid");
}

static const json_t *spec_of_init(const struct pod_view *pod, const char *name)
{
	return json_find(json_path(pod->object, "spec", "initContainers", NULL), "name", name);
}

static void read_init(struct pod_view *pod)
{
	const json_t *status;
	size_t i;

	json_array_foreach(json_path(pod->object, "status", "initContainerStatuses", NULL), i, status) {
		const char *name = view_text(status, "name");
		const json_t *spec = spec_of_init(pod, name);

		/* a sidecar goes on beside the others */
		if (json_path(status, "state", "running", NULL) == NULL ||
		    strcmp(view_text(spec, "restartPolicy"), "Always") == 0)
			continue;
		pod->init = name;
		pod->init_start = json_time(json_path(status, "state", "running", NULL), "startedAt");
		pod->in_barrier = strstr(name, BARRIER) != NULL || strstr(view_text(spec, "image"), BARRIER) != NULL;
		return;
	}
}

/* It has ended, not for the first time, and the kubelet has yet to say when it starts it again. */
static bool between_restarts(const json_t *status)
{
	const json_t *ended = json_path(status, "state", "terminated", NULL);

	return json_int(ended, "exitCode", 0) != 0 && json_int(status, "restartCount", 0) > 0 &&
	       json_path(status, "lastState", "terminated", NULL) != NULL;
}

static void read_containers(struct pod_view *pod)
{
	bool pending = strcmp(pod->phase, "Pending") == 0;
	const json_t *status;
	size_t i;

	json_array_foreach(json_path(pod->object, "status", "containerStatuses", NULL), i, status) {
		const json_t *waiting = json_path(status, "state", "waiting", NULL);
		const char *reason = json_str(waiting, "reason");

		if (!pending && pod->crashing == NULL && between_restarts(status)) {
			pod->crashing = view_text(json_path(status, "state", "terminated", NULL), "reason");
			pod->crash_message = "";
		}
		if (reason == NULL || *reason == '\0')
			continue;
		if (pending && pod->creating == NULL)
			pod->creating = reason;
		if (!pending && pod->crashing == NULL) {
			pod->crashing = reason;
			pod->crash_message = view_text(waiting, "message");
		}
	}
}

/* The latest time that the status names: its containers had ended by then. */
static int64_t end_time_of(const json_t *object)
{
	static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};
	const json_t *item;
	int64_t end_time = 0;
	size_t i;

	json_array_foreach(json_path(object, "status", "conditions", NULL), i, item)
		if (json_time(item, "lastTransitionTime") > end_time)
			end_time = json_time(item, "lastTransitionTime");
	for (size_t list = 0; list < ARRAY_LEN(lists); list++)
		json_array_foreach(json_path(object, "status", lists[list], NULL), i, item) {
			int64_t finished = json_time(json_path(item, "state", "terminated", NULL), "finishedAt");

			if (finished > end_time)
				end_time = finished;
		}
	return end_time;
}

void pod_views_add(struct pod_views *pods, json_t *object)
{
	const json_t *meta = json_object_get(object, "metadata");
	const char *name = view_text(meta, "name");
	cleanup_free char *text = NULL;
	struct pod_view *pod;

	if (*name == '\0' || pod_views_find(pods, name) != NULL)
		return;
	pod = mem_calloc(1, sizeof(*pod));
	pod->object = json_incref(object);
	pod->name = name;
	pod->uid = view_text(meta, "uid");
	pod->controller_uid = controller_uid_of(object);
	pod->phase = view_text(json_object_get(object, "status"), "phase");
	pod->node = view_text(json_object_get(object, "spec"), "nodeName");
	pod->creation_time = json_time(meta, "creationTimestamp");
	pod->deletion_time = json_time(meta, "deletionTimestamp");
	pod->ready = view_condition(object, "Ready");
	pod->gates = join(json_path(object, "spec", "schedulingGates", NULL), "name");
	pod->finalizers = finalizers_text(object);
	if (strcmp(pod->phase, "Pending") == 0) {
		text = json_text(object);
		pod->wait_of = pod_read(text, strlen(text), NULL);
	}
	if (strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0)
		pod->end_time = end_time_of(object);
	read_init(pod);
	read_containers(pod);
	HASH_ADD_KEYPTR(hh, pods->by_name, pod->name, strlen(pod->name), pod);
}

const struct pod_view *pod_views_find(const struct pod_views *pods, const char *name)
{
	struct pod_view *pod;

	HASH_FIND_STR(pods->by_name, name, pod);
	return pod;
}

void pod_views_free(struct pod_views *pods)
{
	struct pod_view *pod, *next;

	HASH_ITER(hh, pods->by_name, pod, next) {
		HASH_DEL(pods->by_name, pod);
		pod_free(pod->wait_of);
		json_decref(pod->object);
		free(pod->gates);
		free(pod->finalizers);
		free(pod);
	}
}
