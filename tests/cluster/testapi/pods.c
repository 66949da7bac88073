/* Pods; see pods.h. */
#include "tests/cluster/testapi/pods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/ops.h"
#include "tests/cluster/testapi/pages.h"

static bool finished(const json_t *pod)
{
	const char *phase = json_str(json_object_get(pod, "status"), "phase");

	return phase != NULL && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

static void check_container(const json_t *container, const char *field, json_t *names, json_t *causes)
{
	static const char *const required[] = {"name", "image"};
	const char *name = json_str(container, "name");
	char child[128];

	for (size_t i = 0; i < ARRAY_LEN(required); i++) {
		const char *value = json_str(container, required[i]);

		snprintf(child, sizeof(child), "%s.%s", field, required[i]);
		if (value == NULL || value[0] == '\0')
			api_cause(causes, "FieldValueRequired", child, "Required value");
	}
	if (name == NULL)
		return;
	snprintf(child, sizeof(child), "%s.name", field);
	if (json_object_get(names, name) != NULL)
		api_cause(causes, "FieldValueDuplicate", child, "Duplicate value: \"%s\"", name);
	json_object_set_new(names, name, json_true());
	if (strlen(name) > 63 || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(name) ||
	    name[0] == '-' || (name[0] != '\0' && name[strlen(name) - 1] == '-'))
		api_cause(
			causes, "FieldValueInvalid", child,
			"Invalid value: \"%s\": a DNS-1123 label must consist of lower case alphanumeric characters or "
			"'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
			"regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
			name);
}

static void check_containers(const json_t *spec, json_t *causes)
{
	static const char *const lists[] = {"initContainers", "containers"};
	cleanup_json json_t *names = json_object();

	if (json_array_size(json_object_get(spec, "containers")) == 0)
		api_cause(causes, "FieldValueRequired", "spec.containers", "Required value");
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		size_t index;
		const json_t *container;

		json_array_foreach(json_object_get(spec, lists[i]), index, container)
		{
			char field[64];

			snprintf(field, sizeof(field), "spec.%s[%zu]", lists[i], index);
			check_container(container, field, names, causes);
		}
	}
}

static void check_word(const json_t *spec, const char *name, const char *const *allowed, json_t *causes)
{
	const char *value = json_str(spec, name);
	cleanup_buf struct buf list = {0};
	cleanup_free char *field = NULL;

	for (size_t i = 0; allowed[i] != NULL; i++) {
		if (value != NULL && strcmp(value, allowed[i]) == 0)
			return;
		buf_printf(&list, "%s\"%s\"", i > 0 ? ", " : "", allowed[i]);
	}
	field = mem_printf("spec.%s", name);
	api_cause(causes, "FieldValueNotSupported", field, "Unsupported value: \"%s\": supported values: %s",
		  value == NULL ? "" : value, list.data);
}

static void check_volumes(const json_t *spec, json_t *causes)
{
	static const char *const lists[] = {"initContainers", "containers"};
	cleanup_json json_t *names = json_object();
	size_t index;
	const json_t *item;

	json_array_foreach(json_object_get(spec, "volumes"), index, item) if (json_str(item, "name") != NULL)
		json_object_set_new(names, json_str(item, "name"), json_true());
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		json_array_foreach(json_object_get(spec, lists[i]), index, item)
		{
			size_t at;
			const json_t *mount;

			json_array_foreach(json_object_get(item, "volumeMounts"), at, mount)
			{
				const char *name = json_str(mount, "name");
				cleanup_free char *field = mem_printf("spec.%s[%zu].volumeMounts[%zu].name", lists[i],
								      index, at);

				if (name == NULL || json_object_get(names, name) == NULL)
					api_cause(causes, "FieldValueNotFound", field, "Not found: \"%s\"",
						  name == NULL ? "" : name);
			}
		}
}

static int validate(const struct api_resource *resource, const json_t *pod, struct api_failure *failure)
{
	static const char *const restart[] = {"Always", "Never", "OnFailure", NULL};
	static const char *const dns[] = {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None", NULL};
	const json_t *spec = json_object_get(pod, "spec");
	json_t *causes = json_array();

	check_containers(spec, causes);
	check_volumes(spec, causes);
	check_word(spec, "restartPolicy", restart, causes);
	check_word(spec, "dnsPolicy", dns, causes);
	return api_fail_invalid(failure, resource, json_str(json_object_get(pod, "metadata"), "name"), causes);
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

		json_array_foreach(json_object_get(spec, lists[i]), index, container) for (size_t k = 0;
											   k < ARRAY_LEN(kinds); k++)
		{
			const json_t *limit = json_path(container, "resources", "limits", kinds[k], NULL);
			const json_t *request = json_path(container, "resources", "requests", kinds[k], NULL);

			any = any || limit != NULL || request != NULL;
			guaranteed = guaranteed && limit != NULL && request != NULL && json_equal(limit, request);
		}
	}
	return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

static int create(struct api *api, struct api_resource *resource, json_t *pod, struct api_failure *failure)
{
	(void)api;
	if (api_pod_types(pod, failure) < 0)
		return -1;
	if (json_object_get(pod, "spec") == NULL)
		json_object_set_new(pod, "spec", json_object());
	api_pod_defaults(pod);
	if (validate(resource, pod, failure) < 0)
		return -1;
	json_object_set_new(
		pod, "status",
		json_pack("{s:s,s:s}", "phase", "Pending", "qosClass", qos_class(json_object_get(pod, "spec"))));
	return 0;
}

/* Only images, activeDeadlineSeconds and tolerations may change; nodeName by binding. */
static int check_unchanged(const struct api_resource *resource, const json_t *pod, const json_t *old,
			   struct api_failure *failure)
{
	static const char *const may[] = {"containers", "initContainers", "activeDeadlineSeconds", "tolerations"};
	cleanup_json json_t *spec = json_copy(json_object_get(pod, "spec"));
	cleanup_json json_t *old_spec = json_copy(json_object_get(old, "spec"));
	json_t *causes;

	for (size_t i = 0; i < ARRAY_LEN(may); i++) {
		json_object_del(spec, may[i]);
		json_object_del(old_spec, may[i]);
	}
	if (json_equal(spec, old_spec))
		return 0;
	causes = json_array();
	api_cause(
		causes, "FieldValueForbidden", "spec",
		"Forbidden: pod updates may not change fields other than `spec.containers[*].image`, "
		"`spec.initContainers[*].image`, `spec.activeDeadlineSeconds` or `spec.tolerations` (only additions to "
		"existing tolerations)");
	return api_fail_invalid(failure, resource, json_str(json_object_get(pod, "metadata"), "name"), causes);
}

static int update(struct api *api, struct api_resource *resource, const char *subresource, json_t *pod,
		  const json_t *old, struct api_failure *failure)
{
	(void)api;
	if (strcmp(subresource, "status") == 0) {
		json_t *status = json_object_get(pod, "status");

		if (status != NULL && json_object_get(status, "qosClass") == NULL) {
			status = json_copy(status);
			json_object_set(status, "qosClass", json_path(old, "status", "qosClass", NULL));
			json_object_set_new(pod, "status", status);
		}
		return 0;
	}
	if (api_pod_types(pod, failure) < 0)
		return -1;
	api_pod_defaults(pod);
	if (validate(resource, pod, failure) < 0)
		return -1;
	return check_unchanged(resource, pod, old, failure);
}

/* Pods of a namespace that count against a quota. */
static int64_t pods_used(const struct api *api, const char *namespace_name)
{
	size_t begin;
	size_t end;
	int64_t used = 0;

	api_store_range(api->pods, namespace_name, &begin, &end);
	for (; begin < end; begin++) {
		const char *phase = api->pods->objects[begin]->fields[1]; /* status.phase */

		used += strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0;
	}
	return used;
}

static int64_t hard_pods(struct api_object *quota)
{
	const json_t *hard = json_path(api_object_json(quota), "spec", "hard", NULL);
	const char *text = json_str(hard, "pods");

	if (text == NULL)
		text = json_str(hard, "count/pods");
	return text != NULL ? atoll(text) : json_int(hard, "pods", json_int(hard, "count/pods", -1));
}

static int admit(struct api *api, struct api_resource *resource, const json_t *pod, struct api_failure *failure)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const char *namespace_name = json_str(metadata, "namespace");
	size_t begin;
	size_t end;

	api_store_range(api->quotas, namespace_name, &begin, &end);
	for (; begin < end; begin++) {
		int64_t hard = hard_pods(api->quotas->objects[begin]);
		int64_t used;

		if (hard < 0)
			continue;
		used = pods_used(api, namespace_name);
		if (used + 1 > hard)
			return api_fail_object(failure, 403, "Forbidden", resource, json_str(metadata, "name"),
					       "pods \"%s\" is forbidden: exceeded quota: %s, requested: pods=1, used: "
					       "pods=%lld, limited: pods=%lld",
					       json_str(metadata, "name"), api->quotas->objects[begin]->name,
					       (long long)used, (long long)hard);
	}
	return 0;
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

const struct api_strategy api_pod_strategy = {.create = create, .update = update, .admit = admit, .grace = grace};

/* ---- what hangs below a Pod ---- */

static void answer_success(struct api_answer *answer, int status)
{
	answer->status = status;
	buf_puts(&answer->body, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\"}");
}

static int bind_pod(struct api *api, const struct api_request *request, struct api_answer *answer,
		    struct api_failure *failure)
{
	struct api_object *pod = api_store_get(api->pods, request->namespace_name, request->name);
	struct error err;
	cleanup_json json_t *body = json_parse(request->body, request->body_len, &err);
	const char *target = json_str(json_object_get(body, "target"), "name");
	char now[TIME_RFC3339_SIZE];
	json_t *json;
	json_t *spec;
	json_t *status;

	if (pod == NULL)
		return api_fail_not_found(failure, api->pods, request->name);
	if (target == NULL)
		return api_fail_bad_request(failure, "a Binding needs target.name");
	if (pod->deleting)
		return api_fail_conflict(failure, api->pods, request->name,
					 "pod is being deleted, cannot be assigned to a "
					 "host");
	if (pod->fields[0][0] != '\0') /* spec.nodeName */
		return api_fail_conflict(failure, api->pods, request->name, "pod is already assigned to node");
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

static int evict_pod(struct api *api, const struct api_request *request, struct api_answer *answer,
		     struct api_failure *failure)
{
	struct api_object *pod = api_store_get(api->pods, request->namespace_name, request->name);
	struct error err;
	cleanup_json json_t *body = json_parse(request->body, request->body_len, &err);
	const json_t *options = json_object_get(body, "deleteOptions");
	struct api_deletion deletion = {.grace = json_int(options, "gracePeriodSeconds", -1),
					.uid = json_str(json_object_get(options, "preconditions"), "uid")};
	struct api_object *out = NULL;
	bool removed;

	if (pod == NULL)
		return api_fail_not_found(failure, api->pods, request->name);
	if (api_delete(api, pod, &deletion, &out, &removed, failure) < 0)
		return -1;
	api_object_unref(out);
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
	if (request->resource == api->pods && strcmp(part, "eviction") == 0 && strcmp(request->verb, "create") == 0) {
		evict_pod(api, request, answer, failure);
		return true;
	}
	if (request->resource == api->pods && strcmp(part, "log") == 0) {
		/* there is no container runtime behind this server */
		if (api_store_get(api->pods, request->namespace_name, request->name) == NULL)
			api_fail_not_found(failure, api->pods, request->name);
		answer->status = 200;
		answer->content_type = "text/plain";
		buf_puts(&answer->body, "");
		return true;
	}
	return false;
}
