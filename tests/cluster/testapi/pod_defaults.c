/* Defaults of Pods (pkg/apis/core/v1/defaults.go of Kubernetes 1.20); see pods.h. */
#include <stdbool.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/pods.h"

static void default_string(json_t *object, const char *name, const char *value)
{
	const char *given = json_str(object, name);

	if (given == NULL || given[0] == '\0')
		json_object_set_new(object, name, json_string(value));
}

static void default_int(json_t *object, const char *name, int64_t value)
{
	if (json_int(object, name, 0) == 0)
		json_object_set_new(object, name, json_integer(value));
}

static void default_object(json_t *object, const char *name)
{
	if (!json_is_object(json_object_get(object, name)))
		json_object_set_new(object, name, json_object());
}

/* Always for the tag latest, written or not. */
static const char *pull_policy(const char *image)
{
	const char *slash = image == NULL ? NULL : strrchr(image, '/');
	const char *tag;

	if (image == NULL)
		return "Always";
	if (strchr(image, '@') != NULL)
		return "IfNotPresent";
	tag = strchr(slash == NULL ? image : slash, ':');
	return tag == NULL || strcmp(tag, ":latest") == 0 ? "Always" : "IfNotPresent";
}

static void default_probe(json_t *probe)
{
	json_t *http = json_object_get(probe, "httpGet");

	if (probe == NULL)
		return;
	default_int(probe, "timeoutSeconds", 1);
	default_int(probe, "periodSeconds", 10);
	default_int(probe, "successThreshold", 1);
	default_int(probe, "failureThreshold", 3);
	if (http != NULL) {
		default_string(http, "path", "/");
		default_string(http, "scheme", "HTTP");
	}
}

static void default_handler(json_t *handler)
{
	json_t *http = json_object_get(handler, "httpGet");

	if (http == NULL)
		return;
	default_string(http, "path", "/");
	default_string(http, "scheme", "HTTP");
}

static void default_env(json_t *container)
{
	size_t index;
	json_t *item;

	json_array_foreach(json_object_get(container, "env"), index, item) {
		json_t *field = json_path(item, "valueFrom", "fieldRef", NULL);
		const char *value = json_str(item, "value");

		if (field != NULL)
			default_string(field, "apiVersion", "v1");
		/* Go leaves an empty value out */
		if (value != NULL && value[0] == '\0')
			json_object_del(item, "value");
	}
}

/* Requests that are not given follow the limits. */
static void default_requests(json_t *container)
{
	json_t *resources = json_object_get(container, "resources");
	json_t *limits = json_object_get(resources, "limits");
	json_t *requests = json_object_get(resources, "requests");
	const char *name;
	json_t *value;

	if (json_object_size(limits) == 0)
		return;
	if (requests == NULL) {
		requests = json_object();
		json_object_set_new(resources, "requests", requests);
	}
	json_object_foreach(limits, name, value)
		if (json_object_get(requests, name) == NULL)
			json_object_set(requests, name, value);
}

static void default_ports(json_t *container, bool host_network)
{
	size_t index;
	json_t *port;

	json_array_foreach(json_object_get(container, "ports"), index, port) {
		default_string(port, "protocol", "TCP");
		if (host_network && json_int(port, "hostPort", 0) == 0)
			json_object_set(port, "hostPort", json_object_get(port, "containerPort"));
	}
}

static void default_container(json_t *container, bool host_network)
{
	default_string(container, "imagePullPolicy", pull_policy(json_str(container, "image")));
	default_string(container, "terminationMessagePath", "/dev/termination-log");
	default_string(container, "terminationMessagePolicy", "File");
	default_object(container, "resources");
	default_requests(container);
	default_ports(container, host_network);
	default_env(container);
	default_probe(json_object_get(container, "livenessProbe"));
	default_probe(json_object_get(container, "readinessProbe"));
	default_probe(json_object_get(container, "startupProbe"));
	default_handler(json_path(container, "lifecycle", "postStart", NULL));
	default_handler(json_path(container, "lifecycle", "preStop", NULL));
}

static void default_downward(json_t *items)
{
	size_t index;
	json_t *item;

	json_array_foreach(items, index, item) {
		json_t *field = json_object_get(item, "fieldRef");

		if (field != NULL)
			default_string(field, "apiVersion", "v1");
	}
}

static void default_volume(json_t *volume)
{
	static const char *const with_mode[] = {"secret", "configMap", "downwardAPI", "projected"};
	enum { MODE_0644 = 420 };
	json_t *host = json_object_get(volume, "hostPath");
	size_t index;
	json_t *source;

	for (size_t i = 0; i < ARRAY_LEN(with_mode); i++) {
		json_t *part = json_object_get(volume, with_mode[i]);

		if (part != NULL && json_object_get(part, "defaultMode") == NULL)
			json_object_set_new(part, "defaultMode", json_integer(MODE_0644));
	}
	if (host != NULL && json_object_get(host, "type") == NULL)
		json_object_set_new(host, "type", json_string(""));
	default_downward(json_path(volume, "downwardAPI", "items", NULL));
	json_array_foreach(json_path(volume, "projected", "sources", NULL), index, source) {
		json_t *token = json_object_get(source, "serviceAccountToken");

		default_downward(json_path(source, "downwardAPI", "items", NULL));
		if (token != NULL)
			default_int(token, "expirationSeconds", 3600);
	}
	/* a volume without a source is an emptyDir */
	if (json_object_size(volume) == 1 && json_object_get(volume, "name") != NULL)
		json_object_set_new(volume, "emptyDir", json_object());
}

void api_pod_defaults(json_t *pod)
{
	static const char *const lists[] = {"containers", "initContainers"};
	json_t *spec = json_object_get(pod, "spec");
	bool host_network = json_bool(spec, "hostNetwork", false);
	size_t index;
	json_t *item;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		json_array_foreach(json_object_get(spec, lists[i]), index, item)
			default_container(item, host_network);
	json_array_foreach(json_object_get(spec, "volumes"), index, item)
		default_volume(item);
	default_string(spec, "restartPolicy", "Always");
	default_string(spec, "dnsPolicy", "ClusterFirst");
	default_string(spec, "schedulerName", "default-scheduler");
	default_object(spec, "securityContext");
	if (!json_is_integer(json_object_get(spec, "terminationGracePeriodSeconds")))
		json_object_set_new(spec, "terminationGracePeriodSeconds", json_integer(30));
	if (!json_is_boolean(json_object_get(spec, "enableServiceLinks")))
		json_object_set_new(spec, "enableServiceLinks", json_true());
	if (json_str(spec, "serviceAccount") != NULL && json_str(spec, "serviceAccountName") == NULL)
		json_object_set(spec, "serviceAccountName", json_object_get(spec, "serviceAccount"));
	else if (json_str(spec, "serviceAccountName") != NULL)
		json_object_set(spec, "serviceAccount", json_object_get(spec, "serviceAccountName"));
}

/* Whether a toleration covers the taint key with effect NoExecute. */
static bool tolerates(const json_t *toleration, const char *key)
{
	const char *own = json_str(toleration, "key");
	const char *effect = json_str(toleration, "effect");

	return (own == NULL || own[0] == '\0' || strcmp(own, key) == 0) &&
	       (effect == NULL || effect[0] == '\0' || strcmp(effect, "NoExecute") == 0);
}

static void add_toleration(json_t *tolerations, const char *key)
{
	size_t index;
	const json_t *toleration;

	json_array_foreach(tolerations, index, toleration)
		if (tolerates(toleration, key))
			return;
	json_array_append_new(tolerations, json_pack("{s:s,s:s,s:s,s:i}", "key", key, "operator", "Exists", "effect",
						     "NoExecute", "tolerationSeconds", 300));
}

void api_pod_admission(json_t *pod)
{
	json_t *spec = json_object_get(pod, "spec");
	json_t *tolerations = json_object_get(spec, "tolerations");

	tolerations = json_is_array(tolerations) ? json_copy(tolerations) : json_array();
	add_toleration(tolerations, "node.kubernetes.io/not-ready");
	add_toleration(tolerations, "node.kubernetes.io/unreachable");
	json_object_set_new(spec, "tolerations", tolerations);
	if (json_object_get(spec, "priority") == NULL)
		json_object_set_new(spec, "priority", json_integer(0));
	if (json_object_get(spec, "preemptionPolicy") == NULL)
		json_object_set_new(spec, "preemptionPolicy", json_string("PreemptLowerPriority"));
}
