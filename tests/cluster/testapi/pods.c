/* Pods; see pods.h. */
#include "tests/cluster/testapi/pods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/log.h"
#include "tests/cluster/testapi/ops.h"
#include "tests/cluster/testapi/pages.h"
#include "tests/cluster/testapi/podsecurity.h"

enum { DNS_LABEL_MAX = 63 };

static bool finished(const json_t *pod)
{
	const char *phase = json_str(json_object_get(pod, "status"), "phase");

	return phase != NULL && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

/* BestEffort without any request or limit of CPU and memory; Guaranteed when all are given and equal. */
static const char *qos_class(const json_t *spec)
{
	static const char *const lists[] = {"containers", "initContainers"};
	static const char *const kinds[] = {"cpu", "memory"};
	bool any = false;
	bool guaranteed = true;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		size_t index;
		const json_t *container;

		json_array_foreach(json_object_get(spec, lists[i]), index, container)
			for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
				const json_t *limit = json_path(container, "resources", "limits", kinds[k], NULL);
				const json_t *request = json_path(container, "resources", "requests", kinds[k], NULL);

				any = any || limit != NULL || request != NULL;
				guaranteed = guaranteed && limit != NULL && request != NULL &&
					     json_equal(limit, request);
			}
	}
	return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

static int create(struct api *api, struct api_resource *resource, json_t *pod, struct api_failure *failure)
{
	(void)resource;
	if (api_pod_types(pod, failure) < 0)
		return -1;
	/* as a server drops it whose feature gate GenericWorkload is off */
	if (api_resource_named(api, "scheduling.k8s.io", "podgroups") == NULL)
		json_object_del(json_object_get(pod, "spec"), "schedulingGroup");
	if (json_object_get(pod, "spec") == NULL)
		json_object_set_new(pod, "spec", json_object());
	api_pod_defaults(pod);
	api_pod_admission(pod);
	json_object_set_new(
		pod, "status",
		json_pack("{s:s,s:s}", "phase", "Pending", "qosClass", qos_class(json_object_get(pod, "spec"))));
	if (json_array_size(json_path(pod, "spec", "schedulingGates", NULL)) > 0)
		json_object_set_new(json_object_get(pod, "status"), "conditions",
				    json_pack("[{s:s,s:s,s:s,s:s}]", "type", "PodScheduled", "status", "False",
					      "reason", "SchedulingGated", "message",
					      "Scheduling is blocked due to non-empty scheduling gates"));
	return 0;
}

static json_t *with_member(const json_t *object, const char *name, json_t *value)
{
	json_t *copy = json_copy((json_t *)object);

	json_object_set_new(copy, name, value);
	return copy;
}

/* Members that Go prints though nobody set them; lists are shared with the request, so they are replaced. */
static void complete_list(json_t *status, const char *name, const char *const *members, json_t *(*make)(void))
{
	json_t *list = json_copy(json_object_get(status, name));
	size_t index;
	json_t *item;

	if (!json_is_array(list)) {
		json_decref(list);
		return;
	}
	for (; *members != NULL; members++)
		json_array_foreach(list, index, item)
			if (json_is_object(item) && json_object_get(item, *members) == NULL)
				json_array_set_new(list, index, with_member(item, *members, make()));
	json_object_set_new(status, name, list);
}

static void complete_status(json_t *pod, const json_t *old)
{
	static const char *const times[] = {"lastProbeTime", "lastTransitionTime", NULL};
	static const char *const states[] = {"lastState", NULL};
	json_t *status = json_copy(json_object_get(pod, "status"));
	json_t *ip = json_object_get(status, "podIP");

	if (!json_is_object(status)) {
		json_decref(status);
		return;
	}
	if (json_object_get(status, "qosClass") == NULL)
		json_object_set(status, "qosClass", json_path(old, "status", "qosClass", NULL));
	if (json_string_length(ip) > 0 && json_object_get(status, "podIPs") == NULL)
		json_object_set_new(status, "podIPs", json_pack("[{s:O}]", "ip", ip));
	complete_list(status, "conditions", times, json_null);
	complete_list(status, "containerStatuses", states, json_object);
	complete_list(status, "initContainerStatuses", states, json_object);
	json_object_set_new(pod, "status", status);
}

static int update(struct api *api, struct api_resource *resource, const char *subresource, json_t *pod,
		  const json_t *old, struct api_failure *failure)
{
	(void)api;
	(void)resource;
	if (strcmp(subresource, "status") == 0) {
		complete_status(pod, old);
		return 0;
	}
	if (api_pod_types(pod, failure) < 0)
		return -1;
	api_pod_defaults(pod);
	return 0;
}

/* The priority admission plugin: there are no classes here that would give another value than 0. */
static int check_priority(const struct api_resource *resource, const json_t *pod, struct api_failure *failure)
{
	const json_t *spec = json_object_get(pod, "spec");
	const char *name = json_str(json_object_get(pod, "metadata"), "name");

	if (json_int(spec, "priority", 0) == 0 || json_str(spec, "priorityClassName") != NULL)
		return 0;
	return api_fail_object(
		failure, 403, "Forbidden", resource, name,
		"pods \"%s\" is forbidden: the integer value of priority (%lld) must not be provided in pod spec; "
		"priority admission controller computed 0 from the given PriorityClass name",
		name, (long long)json_int(spec, "priority", 0));
}

static int admit(struct api *api, struct api_resource *resource, const json_t *pod, struct api_failure *failure)
{
	return check_priority(resource, pod, failure) < 0 ? -1 : api_podsecurity_admit(api, resource, pod, failure);
}

/* What a real server finds unwise (GetWarningsForPod and WarningsOnCreate), in part. */
static void warn(const struct api *api, const json_t *pod, struct buf *warnings)
{
	static const char *const labels[] = {"arch", "os"};
	const char *name = json_str(json_object_get(pod, "metadata"), "name");
	const json_t *selector = json_path(pod, "spec", "nodeSelector", NULL);

	api_podsecurity_warn(api, pod, warnings);
	if (strlen(name) > DNS_LABEL_MAX)
		buf_printf(warnings,
			   "metadata.name: this is used in the Pod's hostname, which can result in surprising "
			   "behavior; a DNS label is recommended: [must be no more than %d characters]\n",
			   DNS_LABEL_MAX);
	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		char old[32];

		snprintf(old, sizeof(old), "beta.kubernetes.io/%s", labels[i]);
		if (json_object_get(selector, old) != NULL)
			buf_printf(warnings,
				   "spec.nodeSelector[%s]: deprecated since v1.14; use \"kubernetes.io/%s\" instead\n",
				   old, labels[i]);
	}
}

/* podStrategy.CheckGracefulDelete */
static int64_t grace(const json_t *pod, int64_t asked)
{
	const json_t *spec = json_object_get(pod, "spec");
	const char *node = json_str(spec, "nodeName");

	if (node == NULL || node[0] == '\0' || finished(pod))
		return 0;
	return asked >= 0 ? asked : json_int(spec, "terminationGracePeriodSeconds", 0);
}

const struct api_strategy api_pod_strategy = {
	.create = create, .update = update, .validate = api_pod_validate, .admit = admit, .warn = warn, .grace = grace};

/* ---- what hangs below a Pod ---- */

static void answer_success(struct api_answer *answer, int status)
{
	answer->status = status;
	buf_printf(&answer->body,
		   "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"code\":%d}",
		   status);
}

static int refuse_binding(const struct api_object *pod, struct api_failure *failure)
{
	if (pod->deleting)
		api_fail_object(
			failure, 409, "Conflict", pod->resource, pod->name,
			"Operation cannot be fulfilled on pods/binding \"%s\": pod %s is being deleted, cannot be "
			"assigned to a host",
			pod->name, pod->name);
	else
		api_fail_object(
			failure, 409, "Conflict", pod->resource, pod->name,
			"Operation cannot be fulfilled on pods/binding \"%s\": pod %s is already assigned to node "
			"\"%s\"",
			pod->name, pod->name, pod->fields[0]);
	json_object_set_new(failure->details, "kind", json_string("pods/binding"));
	return -1;
}

static int bind_pod(struct api *api, const struct api_request *request, struct api_answer *answer,
		    struct api_failure *failure)
{
	struct api_object *pod = api_store_get(api->pods, request->namespace_name, request->name);
	struct error err;
	cleanup_json json_t *body = json_parse(request->body, request->body_len, &err);
	const char *target = json_str(json_object_get(body, "target"), "name");
	const char *name = json_str(json_object_get(body, "metadata"), "name");
	char now[TIME_RFC3339_SIZE];
	json_t *json;
	json_t *spec;
	json_t *status;

	if (name == NULL || strcmp(name, request->name) != 0)
		return api_fail_bad_request(failure, "name in URL does not match name in Binding object");
	if (pod == NULL)
		return api_fail_not_found(failure, api->pods, request->name);
	if (target == NULL)
		return api_fail_bad_request(failure, "a Binding needs target.name");
	if (pod->deleting)
		return refuse_binding(pod, failure);
	if (pod->fields[0][0] != '\0') /* spec.nodeName */
		return refuse_binding(pod, failure);
	json = api_object_copy(pod);
	spec = json_copy(json_object_get(json, "spec"));
	json_object_set_new(spec, "nodeName", json_string(target));
	json_object_set_new(json, "spec", spec);
	status = json_copy(json_object_get(json, "status"));
	json_object_set_new(status, "conditions",
			    json_pack("[{s:s,s:s,s:n,s:s}]", "type", "PodScheduled", "status", "True", "lastProbeTime",
				      "lastTransitionTime", time_format_rfc3339(clock_wall_ms() / 1000, now)));
	json_object_set_new(json, "status", status);
	api_store_put(api, api_object_new(api, api->pods, json));
	answer_success(answer, 201);
	return 0;
}

bool api_subresource(struct api *api, const struct api_request *request, struct api_answer *answer,
		     struct api_failure *failure)
{
	const char *part = request->subresource;

	if (request->resource == api->pods && strcmp(part, "binding") == 0 && strcmp(request->verb, "create") == 0) {
		bind_pod(api, request, answer, failure);
		return true;
	}
	if (request->resource == api->pods && strcmp(part, "log") == 0 && strcmp(request->verb, "get") == 0) {
		api_log_open(api, request, answer, failure);
		return true;
	}
	return false;
}
