/* CustomResourceDefinitions (apiextensions.k8s.io/v1); see crd.h. The version that is stored is the one served, and
 * it is established at once. */
#include "tests/cluster/testapi/crd.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/schema.h"
#include "tests/cluster/testapi/store.h"

static void complete_custom(const struct api_resource *resource, json_t *object)
{
	if (resource->schema == NULL)
		return;
	if (!resource->preserve_unknown)
		schema_prune(resource->schema, object);
	schema_default(resource->schema, object);
}

static int create_custom(struct api *api, struct api_resource *resource, json_t *object, struct api_failure *failure)
{
	(void)api;
	(void)failure;
	complete_custom(resource, object);
	return 0;
}

static int update_custom(struct api *api, struct api_resource *resource, const char *subresource, json_t *object,
			 const json_t *old, struct api_failure *failure)
{
	(void)subresource;
	(void)old;
	return create_custom(api, resource, object, failure);
}

static void validate_custom(const struct api_resource *resource, const char *subresource, const json_t *object,
			    const json_t *old, json_t *causes)
{
	(void)subresource;
	(void)old;
	if (resource->schema != NULL)
		schema_validate(resource->schema, object, causes);
}

static const struct api_strategy CUSTOM = {
	.create = create_custom, .update = update_custom, .validate = validate_custom};

/* The version that is stored, or else the first. */
static json_t *stored_version(const json_t *crd)
{
	json_t *versions = json_path(crd, "spec", "versions", NULL);
	size_t index;
	json_t *version;

	json_array_foreach(versions, index, version)
		if (json_bool(version, "storage", false))
			return version;
	return json_array_get(versions, 0);
}

static void set_condition(json_t *conditions, const char *type, const char *reason, const char *message)
{
	char now[TIME_RFC3339_SIZE];

	json_array_append_new(conditions,
			      json_pack("{s:s,s:s,s:s,s:s,s:s}", "type", type, "status", "True", "lastTransitionTime",
					time_format_rfc3339(clock_wall_ms() / 1000, now), "reason", reason, "message",
					message));
}

static json_t *complete_names(const json_t *names)
{
	json_t *out = json_copy((json_t *)names);
	const char *kind = json_str(names, "kind");

	if (kind == NULL)
		return out;
	if (json_str(names, "listKind") == NULL)
		json_object_set_new(out, "listKind", json_sprintf("%sList", kind));
	if (json_str(names, "singular") == NULL) {
		cleanup_free char *singular = mem_strdup(kind);

		for (char *at = singular; *at != '\0'; at++)
			*at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
		json_object_set_new(out, "singular", json_string(singular));
	}
	return out;
}

static void check_crd(const json_t *crd, json_t *causes)
{
	const json_t *spec = json_object_get(crd, "spec");
	const json_t *names = json_object_get(spec, "names");
	const char *group = json_str(spec, "group");
	const char *plural = json_str(names, "plural");
	const char *name = json_str(json_object_get(crd, "metadata"), "name");
	const char *scope = json_str(spec, "scope");
	size_t index;
	const json_t *version;

	if (group == NULL)
		api_cause(causes, "FieldValueRequired", "spec.group", "Required value");
	if (plural == NULL)
		api_cause(causes, "FieldValueRequired", "spec.names.plural", "Required value");
	if (json_str(names, "kind") == NULL)
		api_cause(causes, "FieldValueRequired", "spec.names.kind", "Required value");
	if (json_array_size(json_object_get(spec, "versions")) == 0)
		api_cause(causes, "FieldValueInvalid", "spec.versions",
			  "Invalid value: \"null\": must have exactly one version marked as storage version");
	if (scope == NULL || (strcmp(scope, "Namespaced") != 0 && strcmp(scope, "Cluster") != 0))
		api_cause(causes, "FieldValueNotSupported", "spec.scope",
			  "Unsupported value: \"%s\": supported values: \"Cluster\", \"Namespaced\"",
			  scope == NULL ? "" : scope);
	json_array_foreach(json_object_get(spec, "versions"), index, version)
		if (json_path(version, "schema", "openAPIV3Schema", NULL) == NULL)
			api_cause(causes, "FieldValueRequired", "spec.versions[0].schema.openAPIV3Schema",
				  "Required value: schemas are required");
	if (group != NULL && plural != NULL && name != NULL) {
		cleanup_free char *wanted = mem_printf("%s.%s", plural, group);

		if (strcmp(wanted, name) != 0)
			api_cause(causes, "FieldValueInvalid", "metadata.name",
				  "Invalid value: \"%s\": must be spec.names.plural+\".\"+spec.group", name);
	}
}

static int create(struct api *api, struct api_resource *resource, json_t *object, struct api_failure *failure)
{
	json_t *causes = json_array();
	json_t *spec = json_object_get(object, "spec");
	json_t *names;
	json_t *conditions;
	struct schema_node *schema;

	(void)api;
	check_crd(object, causes);
	if (api_fail_invalid(failure, resource, json_str(json_object_get(object, "metadata"), "name"), causes) < 0)
		return -1;
	schema = schema_compile(json_path(stored_version(object), "schema", "openAPIV3Schema", NULL), failure);
	if (schema == NULL)
		return -1;
	schema_free(schema);
	names = complete_names(json_object_get(spec, "names"));
	spec = json_copy(spec);
	json_object_set(spec, "names", names);
	if (json_object_get(spec, "conversion") == NULL)
		json_object_set_new(spec, "conversion", json_pack("{s:s}", "strategy", "None"));
	json_object_set_new(object, "spec", spec);
	conditions = json_array();
	set_condition(conditions, "NamesAccepted", "NoConflicts", "no conflicts found");
	set_condition(conditions, "Established", "InitialNamesAccepted", "the initial names have been accepted");
	json_object_set_new(object, "status",
			    json_pack("{s:o,s:o,s:[O]}", "conditions", conditions, "acceptedNames", names,
				      "storedVersions", json_object_get(stored_version(object), "name")));
	return 0;
}

static int update(struct api *api, struct api_resource *resource, const char *subresource, json_t *object,
		  const json_t *old, struct api_failure *failure)
{
	json_t *status = json_incref(json_object_get(old, "status"));
	int result;

	(void)api;
	(void)subresource;
	result = create(api, resource, object, failure);
	/* the conditions keep their times, unless something else belongs there now */
	if (result == 0 &&
	    json_equal(json_object_get(status, "acceptedNames"), json_path(object, "status", "acceptedNames", NULL)))
		json_object_set(object, "status", status);
	json_decref(status);
	return result;
}

static void set_names(struct api_resource *resource, const json_t *names)
{
	free(resource->singular);
	free(resource->list_kind);
	resource->singular = mem_strdup(json_str(names, "singular"));
	resource->list_kind = mem_strdup(json_str(names, "listKind"));
	json_array_clear(resource->short_names);
	json_array_clear(resource->categories);
	if (json_is_array(json_object_get(names, "shortNames")))
		json_array_extend(resource->short_names, json_object_get(names, "shortNames"));
	if (json_is_array(json_object_get(names, "categories")))
		json_array_extend(resource->categories, json_object_get(names, "categories"));
}

#define CREATED                                                                                                  \
	"CreationTimestamp is a timestamp representing the server time when this object was created. It is not " \
	"guaranteed to be set in happens-before order across separate operations."

static json_t *columns_of(const json_t *version)
{
	json_t *columns = json_object_get(version, "additionalPrinterColumns");

	size_t index;
	json_t *column;

	if (json_array_size(columns) == 0)
		return json_pack("[{s:s,s:s,s:s,s:s}]", "name", "Age", "type", "date", "jsonPath",
				 ".metadata.creationTimestamp", "description", CREATED);
	columns = json_deep_copy(columns);
	json_array_foreach(columns, index, column)
		if (json_str(column, "description") == NULL)
			json_object_set_new(column, "description",
					    json_sprintf("Custom resource definition column (in JSONPath format): %s",
							 json_str(column, "jsonPath")));
	return columns;
}

/* What is stored keeps its old apiVersion until it is written again. */
static void set_version(struct api_resource *resource, const char *version)
{
	free(resource->version);
	free(resource->api_version);
	resource->version = mem_strdup(version);
	resource->api_version = mem_printf("%s/%s", resource->group, version);
}

/* Serves what the CRD says. */
static void serve(struct api *api, const json_t *crd)
{
	const json_t *spec = json_object_get(crd, "spec");
	const json_t *names = json_object_get(spec, "names");
	const json_t *version = stored_version(crd);
	const char *group = json_str(spec, "group");
	const char *plural = json_str(names, "plural");
	struct api_resource *resource = api_resource_named(api, group, plural);
	struct api_failure failure = {0};

	if (resource == NULL) {
		resource = api_resource_add(api, group, json_str(version, "name"), plural, json_str(names, "kind"),
					    strcmp(json_str(spec, "scope"), "Namespaced") == 0);
		resource->custom = true;
		resource->has_generation = true;
		resource->strategy = &CUSTOM;
	}
	if (strcmp(resource->version, json_str(version, "name")) != 0)
		set_version(resource, json_str(version, "name"));
	set_names(resource, names);
	resource->has_status = json_path(version, "subresources", "status", NULL) != NULL;
	schema_free(resource->schema);
	resource->schema = NULL;
	resource->schema = schema_compile(json_path(version, "schema", "openAPIV3Schema", NULL), &failure);
	resource->preserve_unknown = json_bool(spec, "preserveUnknownFields", false);
	resource->schema_version = api->version;
	json_decref(resource->columns);
	resource->columns = columns_of(version);
	api_failure_free(&failure);
}

static void changed(struct api *api, struct api_resource *resource, struct api_object *old, struct api_object *new)
{
	const json_t *spec;

	(void)resource;
	if (new != NULL) {
		serve(api, api_object_json(new));
		return;
	}
	spec = json_object_get(api_object_json(old), "spec");
	resource = api_resource_named(api, json_str(spec, "group"), json_str(json_object_get(spec, "names"), "plural"));
	if (resource != NULL) {
		resource->gone = true;
		resource->log_grew = true;
	}
}

const struct api_strategy api_crd_strategy = {.create = create, .update = update, .changed = changed};
