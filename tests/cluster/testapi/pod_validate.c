/* Checks of Pods: the part of pkg/apis/core/validation (Kubernetes 1.20) that users run into, in its words and its
 * order; see pods.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/base/quantity.h"
#include "tests/cluster/testapi/pods.h"

enum { FIELD_SIZE = 192, LABEL_MAX = 63 };

#define LABEL                                                                                                       \
	"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and " \
	"end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "          \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define ENV_NAME                                                                                                       \
	"a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must " \
	"not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation "  \
	"is '[-._a-zA-Z][-._a-zA-Z0-9]*')"

static bool is_label(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (!(text[i] >= 'a' && text[i] <= 'z') && !isdigit((unsigned char)text[i]) &&
		    (text[i] != '-' || i == 0 || i == len - 1))
			return false;
	return len > 0;
}

static void check_label(const char *text, const char *field, json_t *causes)
{
	if (strlen(text) > LABEL_MAX)
		api_cause(causes, "FieldValueInvalid", field,
			  "Invalid value: \"%s\": must be no more than 63 characters", text);
	else if (!is_label(text))
		api_cause(causes, "FieldValueInvalid", field, "Invalid value: \"%s\": " LABEL, text);
}

/* One of the words allowed (the last is NULL). */
static void check_word(const json_t *object, const char *name, const char *field, const char *const *allowed,
		       json_t *causes)
{
	const char *value = json_str(object, name);
	cleanup_buf struct buf list = {0};

	for (size_t i = 0; allowed[i] != NULL; i++) {
		if (value != NULL && strcmp(value, allowed[i]) == 0)
			return;
		buf_printf(&list, "%s\"%s\"", i > 0 ? ", " : "", allowed[i]);
	}
	api_cause(causes, "FieldValueNotSupported", field, "Unsupported value: \"%s\": supported values: %s",
		  value == NULL ? "" : value, list.data);
}

static void check_name(const json_t *container, const char *field, json_t *names, json_t *causes)
{
	const char *name = json_str(container, "name");
	char child[FIELD_SIZE];

	snprintf(child, sizeof(child), "%s.name", field);
	if (name == NULL || name[0] == '\0') {
		api_cause(causes, "FieldValueRequired", child, "Required value");
		return;
	}
	check_label(name, child, causes);
	if (json_object_get(names, name) != NULL)
		api_cause(causes, "FieldValueDuplicate", child, "Duplicate value: \"%s\"", name);
	json_object_set_new(names, name, json_true());
}

static void check_image(const json_t *container, const char *field, json_t *causes)
{
	const char *image = json_str(container, "image");
	char child[FIELD_SIZE];

	snprintf(child, sizeof(child), "%s.image", field);
	if (image == NULL || image[0] == '\0')
		api_cause(causes, "FieldValueRequired", child, "Required value");
	else if (isspace((unsigned char)image[0]) || isspace((unsigned char)image[strlen(image) - 1]))
		api_cause(causes, "FieldValueInvalid", child,
			  "Invalid value: \"%s\": must not have leading or trailing whitespace", image);
}

static void check_ports(const json_t *container, const char *field, json_t *causes)
{
	static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
	size_t index;
	const json_t *port;

	json_array_foreach(json_object_get(container, "ports"), index, port) {
		int64_t number = json_int(port, "containerPort", 0);
		char child[FIELD_SIZE];

		snprintf(child, sizeof(child), "%s.ports[%zu].containerPort", field, index);
		if (number == 0)
			api_cause(causes, "FieldValueRequired", child, "Required value");
		else if (number < 1 || number > 65535)
			api_cause(causes, "FieldValueInvalid", child,
				  "Invalid value: %lld: must be between 1 and 65535, inclusive", (long long)number);
		snprintf(child, sizeof(child), "%s.ports[%zu].protocol", field, index);
		check_word(port, "protocol", child, protocols, causes);
	}
}

static bool is_env_name(const char *name)
{
	if (isdigit((unsigned char)name[0]))
		return false;
	for (; *name != '\0'; name++)
		if (!isalnum((unsigned char)*name) && strchr("-._", *name) == NULL)
			return false;
	return true;
}

static void check_env(const json_t *container, const char *field, json_t *causes)
{
	size_t index;
	const json_t *item;

	json_array_foreach(json_object_get(container, "env"), index, item) {
		const char *name = json_str(item, "name");
		char child[FIELD_SIZE];

		snprintf(child, sizeof(child), "%s.env[%zu].name", field, index);
		if (name == NULL || name[0] == '\0')
			api_cause(causes, "FieldValueRequired", child, "Required value");
		else if (!is_env_name(name))
			api_cause(causes, "FieldValueInvalid", child, "Invalid value: \"%s\": " ENV_NAME, name);
	}
}

static void check_mounts(const json_t *container, const char *field, const json_t *volumes, json_t *causes)
{
	size_t index;
	const json_t *mount;

	json_array_foreach(json_object_get(container, "volumeMounts"), index, mount) {
		const char *name = json_str(mount, "name");
		const char *path = json_str(mount, "mountPath");
		char child[FIELD_SIZE];

		snprintf(child, sizeof(child), "%s.volumeMounts[%zu].name", field, index);
		if (name == NULL || name[0] == '\0')
			api_cause(causes, "FieldValueRequired", child, "Required value");
		else if (json_object_get(volumes, name) == NULL)
			api_cause(causes, "FieldValueNotFound", child, "Not found: \"%s\"", name);
		snprintf(child, sizeof(child), "%s.volumeMounts[%zu].mountPath", field, index);
		if (path == NULL || path[0] == '\0')
			api_cause(causes, "FieldValueRequired", child, "Required value");
	}
}

static void check_probes(const json_t *container, const char *field, json_t *causes)
{
	static const char *const probes[] = {"livenessProbe", "readinessProbe", "startupProbe"};
	static const char *const handlers[] = {"exec", "httpGet", "tcpSocket"};

	for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
		const json_t *probe = json_object_get(container, probes[i]);
		bool handled = probe == NULL;
		char child[FIELD_SIZE];

		for (size_t k = 0; k < ARRAY_LEN(handlers); k++)
			handled = handled || json_object_get(probe, handlers[k]) != NULL;
		snprintf(child, sizeof(child), "%s.%s", field, probes[i]);
		if (!handled)
			api_cause(causes, "FieldValueRequired", child, "Required value: must specify a handler type");
	}
}

/* Both are quantities by now (pod_types.c). */
static bool is_less(const char *text, const char *than)
{
	struct quantity a;
	struct quantity b;

	return quantity_parse(text, &a) == 0 && quantity_parse(than, &b) == 0 && quantity_less(&a, &b);
}

static void check_not_negative(const json_t *amounts, const char *which, const char *field, json_t *causes)
{
	const char *name;
	json_t *amount;

	json_object_foreach((json_t *)amounts, name, amount) {
		char child[FIELD_SIZE];

		snprintf(child, sizeof(child), "%s.resources.%s[%s]", field, which, name);
		if (is_less(json_string_value(amount), "0"))
			api_cause(causes, "FieldValueInvalid", child,
				  "Invalid value: \"%s\": must be greater than or equal to 0",
				  json_string_value(amount));
	}
}

static void check_resources(const json_t *container, const char *field, json_t *causes)
{
	const json_t *limits = json_path(container, "resources", "limits", NULL);
	const json_t *requests = json_path(container, "resources", "requests", NULL);
	const char *name;
	json_t *amount;

	check_not_negative(limits, "limits", field, causes);
	check_not_negative(requests, "requests", field, causes);
	json_object_foreach((json_t *)requests, name, amount) {
		const char *limit = json_str(limits, name);
		char child[FIELD_SIZE];

		snprintf(child, sizeof(child), "%s.resources.requests", field);
		if (limit != NULL && is_less(limit, json_string_value(amount)))
			api_cause(causes, "FieldValueInvalid", child,
				  "Invalid value: \"%s\": must be less than or equal to %s limit",
				  json_string_value(amount), name);
	}
}

static void check_container(const json_t *container, const char *field, json_t *names, const json_t *volumes,
			    json_t *causes)
{
	static const char *const pull[] = {"Always", "IfNotPresent", "Never", NULL};
	const char *policy = json_str(container, "terminationMessagePolicy");
	char child[FIELD_SIZE];

	check_name(container, field, names, causes);
	check_image(container, field, causes);
	check_probes(container, field, causes);
	snprintf(child, sizeof(child), "%s.terminationMessagePolicy", field);
	if (policy != NULL && strcmp(policy, "File") != 0 && strcmp(policy, "FallbackToLogsOnError") != 0)
		api_cause(causes, "FieldValueInvalid", child,
			  "Invalid value: \"%s\": must be 'File' or 'FallbackToLogsOnError'", policy);
	check_ports(container, field, causes);
	check_env(container, field, causes);
	check_mounts(container, field, volumes, causes);
	snprintf(child, sizeof(child), "%s.imagePullPolicy", field);
	check_word(container, "imagePullPolicy", child, pull, causes);
	check_resources(container, field, causes);
}

static void check_one_source(const json_t *volume, size_t index, json_t *causes)
{
	const char *last = "";
	const char *member;
	json_t *value;
	char field[FIELD_SIZE];

	if (json_object_size(volume) <= 2)
		return;
	json_object_foreach((json_t *)volume, member, value)
		if (strcmp(member, "name") != 0)
			last = member;
	snprintf(field, sizeof(field), "spec.volumes[%zu].%s", index, last);
	api_cause(causes, "FieldValueForbidden", field, "Forbidden: may not specify more than 1 volume type");
}

static json_t *volume_names(const json_t *spec, json_t *causes)
{
	json_t *names = json_object();
	size_t index;
	const json_t *volume;

	json_array_foreach(json_object_get(spec, "volumes"), index, volume) {
		const char *name = json_str(volume, "name");
		char field[FIELD_SIZE];

		snprintf(field, sizeof(field), "spec.volumes[%zu].name", index);
		if (name == NULL || name[0] == '\0') {
			api_cause(causes, "FieldValueRequired", field, "Required value");
			continue;
		}
		check_label(name, field, causes);
		if (json_object_get(names, name) != NULL)
			api_cause(causes, "FieldValueDuplicate", field, "Duplicate value: \"%s\"", name);
		json_object_set_new(names, name, json_true());
		check_one_source(volume, index, causes);
	}
	return names;
}

static void check_containers(const json_t *spec, const json_t *volumes, json_t *causes)
{
	static const char *const lists[] = {"containers", "initContainers"};
	cleanup_json json_t *names = json_object();

	if (json_array_size(json_object_get(spec, "containers")) == 0)
		api_cause(causes, "FieldValueRequired", "spec.containers", "Required value");
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		size_t index;
		const json_t *container;

		json_array_foreach(json_object_get(spec, lists[i]), index, container) {
			char field[64];

			snprintf(field, sizeof(field), "spec.%s[%zu]", lists[i], index);
			check_container(container, field, names, volumes, causes);
		}
	}
}

static void check_tolerations(const json_t *spec, json_t *causes)
{
	static const char *const operators[] = {"Equal", "Exists", NULL};
	size_t index;
	const json_t *toleration;

	json_array_foreach(json_object_get(spec, "tolerations"), index, toleration) {
		char field[FIELD_SIZE];

		snprintf(field, sizeof(field), "spec.tolerations[%zu].operator", index);
		if (json_str(toleration, "operator") != NULL)
			check_word(toleration, "operator", field, operators, causes);
	}
}

static void check_spec(const json_t *spec, json_t *causes)
{
	static const char *const restart[] = {"Always", "OnFailure", "Never", NULL};
	static const char *const dns[] = {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None", NULL};
	static const char *const labels[] = {"hostname", "subdomain"};
	cleanup_json json_t *volumes = volume_names(spec, causes);
	const json_t *deadline = json_object_get(spec, "activeDeadlineSeconds");

	check_containers(spec, volumes, causes);
	check_word(spec, "restartPolicy", "spec.restartPolicy", restart, causes);
	check_word(spec, "dnsPolicy", "spec.dnsPolicy", dns, causes);
	if (deadline != NULL && (json_integer_value(deadline) < 1 || json_integer_value(deadline) > INT32_MAX))
		api_cause(causes, "FieldValueInvalid", "spec.activeDeadlineSeconds",
			  "Invalid value: %lld: must be between 1 and 2147483647, inclusive",
			  (long long)json_integer_value(deadline));
	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		const char *value = json_str(spec, labels[i]);
		char field[FIELD_SIZE];

		snprintf(field, sizeof(field), "spec.%s", labels[i]);
		if (value != NULL && value[0] != '\0')
			check_label(value, field, causes);
	}
	check_tolerations(spec, causes);
}

/* The spec without what may change: images, activeDeadlineSeconds, tolerations. */
static json_t *fixed_part(const json_t *pod)
{
	static const char *const lists[] = {"containers", "initContainers"};
	json_t *spec = json_copy(json_object_get(pod, "spec"));

	json_object_del(spec, "activeDeadlineSeconds");
	json_object_del(spec, "tolerations");
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		json_t *copies = json_array();
		size_t index;
		json_t *container;

		json_array_foreach(json_object_get(spec, lists[i]), index, container) {
			json_t *copy = json_copy(container);

			json_object_del(copy, "image");
			json_array_append_new(copies, copy);
		}
		json_object_set_new(spec, lists[i], copies);
	}
	return spec;
}

static void check_unchanged(const json_t *pod, const json_t *old, json_t *causes)
{
	cleanup_json json_t *spec = fixed_part(pod);
	cleanup_json json_t *old_spec = fixed_part(old);

	if (!json_equal(spec, old_spec))
		api_cause(causes, "FieldValueForbidden", "spec",
			  "Forbidden: pod updates may not change fields other than `spec.containers[*].image`, "
			  "`spec.initContainers[*].image`, `spec.activeDeadlineSeconds` or `spec.tolerations` (only "
			  "additions "
			  "to existing tolerations)");
}

void api_pod_validate(const struct api_resource *resource, const char *subresource, const json_t *pod,
		      const json_t *old, json_t *causes)
{
	(void)resource;
	if (strcmp(subresource, "status") == 0)
		return;
	check_spec(json_object_get(pod, "spec"), causes);
	if (old != NULL)
		check_unchanged(pod, old, causes);
}
