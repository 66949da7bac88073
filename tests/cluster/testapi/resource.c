/* The resources known; see resource.h. */
#include "tests/cluster/testapi/resource.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "tests/cluster/testapi/api.h"
#include "tests/cluster/testapi/crd.h"
#include "tests/cluster/testapi/namespaces.h"
#include "tests/cluster/testapi/plain.h"
#include "tests/cluster/testapi/pods.h"
#include "tests/cluster/testapi/schema.h"
#include "tests/cluster/testapi/store.h"

static const struct api_strategy PLAIN = {0};

/* How the text of an object begins (api_meta_object makes it so). */
static char *item_prefix(const struct api_resource *resource)
{
	return mem_printf("{\"apiVersion\":\"%s\",\"kind\":\"%s\",", resource->api_version, resource->kind);
}

struct api_resource *api_resource_add(struct api *api, const char *group, const char *version, const char *plural,
				      const char *kind, bool namespaced)
{
	struct api_resource *resource = mem_calloc(1, sizeof(*resource));

	resource->group = mem_strdup(group);
	resource->version = mem_strdup(version);
	resource->plural = mem_strdup(plural);
	resource->kind = mem_strdup(kind);
	resource->singular = mem_strdup(kind);
	for (char *at = resource->singular; *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	resource->list_kind = mem_printf("%sList", kind);
	resource->short_names = json_array();
	resource->categories = json_array();
	resource->namespaced = namespaced;
	resource->strategy = &PLAIN;
	resource->api_version = group[0] == '\0' ? mem_strdup(version) : mem_printf("%s/%s", group, version);
	resource->item_prefix = item_prefix(resource);
	LL_APPEND(api->resources, resource);
	return resource;
}

void api_resource_free(struct api_resource *resource)
{
	api_store_clear(resource);
	schema_free(resource->schema);
	json_decref(resource->columns);
	json_decref(resource->short_names);
	json_decref(resource->categories);
	free(resource->group);
	free(resource->version);
	free(resource->plural);
	free(resource->kind);
	free(resource->singular);
	free(resource->list_kind);
	free(resource->api_version);
	free(resource->item_prefix);
	free(resource);
}

struct api_resource *api_resource_find(const struct api *api, const char *group, const char *version,
				       const char *plural)
{
	for (struct api_resource *resource = api->resources; resource != NULL; resource = resource->next)
		if (!resource->gone && strcmp(resource->plural, plural) == 0 && strcmp(resource->group, group) == 0 &&
		    strcmp(resource->version, version) == 0)
			return resource;
	return NULL;
}

struct api_resource *api_resource_named(const struct api *api, const char *group, const char *plural)
{
	for (struct api_resource *resource = api->resources; resource != NULL; resource = resource->next)
		if (!resource->gone && strcmp(resource->plural, plural) == 0 && strcmp(resource->group, group) == 0)
			return resource;
	return NULL;
}

/* One line per kind without behaviour of its own. */
struct builtin {
	const char *group;
	const char *version;
	const char *plural;
	const char *kind;
	const char *short_names; /* comma-separated */
	const char *flags;       /* n namespaced, s status, g generation, a category all, p created by PUT too */
};

#define RBAC "rbac.authorization.k8s.io"
#define NETWORKING "networking.k8s.io"
#define POLICY "policy"
#define REVIEWS_A "authentication.k8s.io"
#define REVIEWS_Z "authorization.k8s.io"

static const struct builtin BUILTINS[] = {
	{"", "v1", "configmaps", "ConfigMap", "cm", "n"},
	{"", "v1", "endpoints", "Endpoints", "ep", "np"},
	{"", "v1", "events", "Event", "ev", "np"},
	{"", "v1", "namespaces", "Namespace", "ns", "s"},
	{"", "v1", "nodes", "Node", "no", "s"},
	{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "pvc", "ns"},
	{"", "v1", "pods", "Pod", "po", "nsa"},
	{"", "v1", "replicationcontrollers", "ReplicationController", "rc", "nsga"},
	{"", "v1", "resourcequotas", "ResourceQuota", "quota", "nsp"},
	{"", "v1", "secrets", "Secret", "", "n"},
	{"", "v1", "serviceaccounts", "ServiceAccount", "sa", "n"},
	{"", "v1", "services", "Service", "svc", "nsa"},
	{"apps", "v1", "daemonsets", "DaemonSet", "ds", "nsga"},
	{"apps", "v1", "deployments", "Deployment", "deploy", "nsga"},
	{"apps", "v1", "replicasets", "ReplicaSet", "rs", "nsga"},
	{"apps", "v1", "statefulsets", "StatefulSet", "sts", "nsga"},
	{"batch", "v1", "jobs", "Job", "", "nsga"},
	{"coordination.k8s.io", "v1", "leases", "Lease", "", "np"},
	{NETWORKING, "v1", "networkpolicies", "NetworkPolicy", "netpol", "ng"},
	{POLICY, "v1", "poddisruptionbudgets", "PodDisruptionBudget", "pdb", "nsg"},
	{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", "pc", "g"},
	{RBAC, "v1", "clusterroles", "ClusterRole", "", "p"},
	{RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", "", "p"},
	{RBAC, "v1", "roles", "Role", "", "np"},
	{RBAC, "v1", "rolebindings", "RoleBinding", "", "np"},
	{REVIEWS_A, "v1", "tokenreviews", "TokenReview", "", ""},
	{REVIEWS_Z, "v1", "subjectaccessreviews", "SubjectAccessReview", "", ""},
	{REVIEWS_Z, "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", "", ""},
	{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", "crd,crds", "sg"},
};

static void add_words(json_t *list, const char *words)
{
	while (*words != '\0') {
		size_t len = strcspn(words, ",");

		json_array_append_new(list, json_stringn(words, len));
		words += len + (words[len] == ',');
	}
}

static void set_fields(struct api_resource *resource, const char *const *fields, size_t count)
{
	for (size_t i = 0; i < count && i < RESOURCE_FIELDS_MAX; i++)
		resource->fields[i] = fields[i];
}

static struct api_resource *find(struct api *api, const char *plural)
{
	return api_resource_named(api, "", plural);
}

void api_resource_builtins(struct api *api)
{
	static const char *const pod_fields[] = {"spec.nodeName",           "status.phase", "spec.restartPolicy",
						 "spec.schedulerName",      "status.podIP", "spec.serviceAccountName",
						 "status.nominatedNodeName"};
	static const char *const event_fields[] = {"involvedObject.kind",
						   "involvedObject.namespace",
						   "involvedObject.name",
						   "involvedObject.uid",
						   "involvedObject.apiVersion",
						   "involvedObject.resourceVersion",
						   "involvedObject.fieldPath",
						   "reason",
						   "type",
						   "reportingComponent",
						   "source"};
	static const char *const node_fields[] = {"spec.unschedulable"};
	static const char *const phase_fields[] = {"status.phase"};
	static const char *const secret_fields[] = {"type"};

	for (size_t i = 0; i < ARRAY_LEN(BUILTINS); i++) {
		const struct builtin *b = &BUILTINS[i];
		struct api_resource *resource = api_resource_add(api, b->group, b->version, b->plural, b->kind,
								 strchr(b->flags, 'n') != NULL);

		add_words(resource->short_names, b->short_names);
		if (strchr(b->flags, 'a') != NULL)
			json_array_append_new(resource->categories, json_string("all"));
		resource->has_status = strchr(b->flags, 's') != NULL;
		resource->has_generation = strchr(b->flags, 'g') != NULL;
		resource->create_on_put = strchr(b->flags, 'p') != NULL;
		resource->unconditional = true;
	}
	api->pods = find(api, "pods");
	api->pods->strategy = &api_pod_strategy;
	api->pods->returns_deleted = true;
	set_fields(api->pods, pod_fields, ARRAY_LEN(pod_fields));
	api->namespaces = find(api, "namespaces");
	api->namespaces->strategy = &api_namespace_strategy;
	set_fields(api->namespaces, phase_fields, ARRAY_LEN(phase_fields));
	api->crds = api_resource_named(api, "apiextensions.k8s.io", "customresourcedefinitions");
	api->crds->strategy = &api_crd_strategy;
	api->crds->unconditional = false;
	api_resource_named(api, "coordination.k8s.io", "leases")->unconditional = false;
	find(api, "configmaps")->strategy = &api_configmap_strategy;
	find(api, "secrets")->strategy = &api_secret_strategy;
	find(api, "events")->strategy = &api_event_strategy;
	set_fields(find(api, "events"), event_fields, ARRAY_LEN(event_fields));
	set_fields(find(api, "nodes"), node_fields, ARRAY_LEN(node_fields));
	set_fields(find(api, "secrets"), secret_fields, ARRAY_LEN(secret_fields));
}
