/* Create, update, delete; see ops.h. The order of the checks is the real server's (generic registry store), because
 * clients see which one fails first. */
#include "tests/cluster/testapi/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/gc.h"
#include "tests/cluster/testapi/meta.h"

static int check_size(const struct api_object *object, struct api_failure *failure)
{
	if (object->text_len <= OBJECT_BYTES_MAX)
		return 0;
	if (object->text_len > MESSAGE_BYTES_MAX)
		return api_fail(failure, 500, "",
				"rpc error: code = ResourceExhausted desc = trying to send message larger than max "
				"(%zu vs. %d)",
				object->text_len, MESSAGE_BYTES_MAX);
	return api_fail(failure, 500, "", "etcdserver: request is too large");
}

static int check_namespace(struct api *api, const struct api_resource *resource, const char *namespace_name,
			   const json_t *metadata, struct api_failure *failure)
{
	const struct api_object *home;

	if (!resource->namespaced)
		return 0;
	home = api_store_get(api->namespaces, NULL, namespace_name);
	if (home == NULL)
		return api_fail_not_found(failure, api->namespaces, namespace_name);
	if (home->deleting) {
		const char *name = json_str(metadata, "name");
		cleanup_free char *title = api_resource_title(resource);

		api_fail_object(
			failure, 403, "Forbidden", resource, name,
			"%s \"%s\" is forbidden: unable to create new content in namespace %s because it is being "
			"terminated",
			title, name == NULL ? "" : name, namespace_name);
		json_object_set_new(failure->details, "causes",
				    json_pack("[{s:s,s:o,s:s}]", "reason", "NamespaceTerminating", "message",
					      json_sprintf("namespace %s is being terminated", namespace_name), "field",
					      "metadata.namespace"));
		return -1;
	}
	return 0;
}

/* The namespace of the body must be that of the path. */
static int set_namespace(const struct api_resource *resource, const char *namespace_name, json_t *metadata,
			 struct api_failure *failure)
{
	const char *given = json_str(metadata, "namespace");

	if (!resource->namespaced) {
		json_object_del(metadata, "namespace");
		return 0;
	}
	if (given != NULL && strcmp(given, namespace_name) != 0)
		return api_fail_bad_request(failure,
					    "the namespace of the provided object does not match the namespace "
					    "sent on the request");
	json_object_set_new(metadata, "namespace", json_string(namespace_name));
	return 0;
}

static int validate(const struct api_resource *resource, const char *subresource, const json_t *object,
		    const json_t *old, struct api_failure *failure)
{
	const json_t *metadata = json_object_get(object, "metadata");
	json_t *causes = json_array();

	api_meta_validate(resource, metadata, old == NULL ? NULL : json_object_get(old, "metadata"), causes);
	if (resource->strategy->validate != NULL)
		resource->strategy->validate(resource, subresource, object, old, causes);
	return api_fail_invalid(failure, resource, json_str(metadata, "name"), causes);
}

static int prepare_create(struct api *api, struct api_resource *resource, const char *namespace_name, json_t *object,
			  struct api_failure *failure)
{
	json_t *metadata = json_object_get(object, "metadata");
	const struct api_strategy *strategy = resource->strategy;
	bool has_version = json_object_get(metadata, "resourceVersion") != NULL;

	if (set_namespace(resource, namespace_name, metadata, failure) < 0)
		return -1;
	if (resource->custom && resource->has_status)
		json_object_del(object, "status");
	if (strategy->create != NULL && strategy->create(api, resource, object, failure) < 0)
		return -1;
	if (check_namespace(api, resource, namespace_name, metadata, failure) < 0)
		return -1;
	api_meta_create(api, resource, metadata);
	if (validate(resource, "", object, NULL, failure) < 0 ||
	    (strategy->admit != NULL && strategy->admit(api, resource, object, failure) < 0))
		return -1;
	if (has_version)
		return api_fail(failure, 500, "", "resourceVersion should not be set on objects to be created");
	return 0;
}

int api_create(struct api *api, struct api_resource *resource, const char *namespace_name, const json_t *body,
	       bool dry_run, struct api_object **out, struct api_failure *failure)
{
	json_t *json = api_meta_object(resource, body, failure);
	struct api_object *object;

	if (json == NULL)
		return -1;
	if (prepare_create(api, resource, namespace_name, json, failure) < 0) {
		json_decref(json);
		return -1;
	}
	object = api_object_new(api, resource, json);
	if (api_store_get(resource, object->namespace_name, object->name) != NULL) {
		cleanup_free char *title = api_resource_title(resource);

		api_fail_object(failure, 409, "AlreadyExists", resource, object->name, "%s \"%s\" already exists",
				title, object->name);
	} else if (check_size(object, failure) == 0) {
		*out = dry_run ? object : api_object_ref(api_store_put(api, object));
		return 0;
	}
	api_object_unref(object);
	return -1;
}

/* Invalid, but of the resource, not the kind: so says the real server here. */
static int fail_no_version(const struct api_object *old, struct api_failure *failure)
{
	static const char message[] = "Invalid value: 0x0: must be specified for an update";
	cleanup_free char *title = api_resource_title(old->resource);
	json_t *causes = json_array();

	api_cause(causes, "FieldValueInvalid", "metadata.resourceVersion", "%s", message);
	api_fail_object(failure, 422, "Invalid", old->resource, old->name,
			"%s \"%s\" is invalid: metadata.resourceVersion: %s", title, old->name, message);
	json_object_set_new(failure->details, "causes", causes);
	return -1;
}

/* uid and resourceVersion of a PUT, which may be absent; a patch may not change the uid, which is checked later. */
static int check_preconditions(const struct api_object *old, const json_t *metadata, bool patch,
			       struct api_failure *failure)
{
	const struct api_resource *resource = old->resource;
	const char *uid = json_str(metadata, "uid");
	const char *version = json_str(metadata, "resourceVersion");
	char number[24];

	if (uid != NULL && strcmp(uid, old->uid) != 0 && !patch) {
		cleanup_free char *cause = mem_printf(
			"StorageError: invalid object, Code: 4, Key: /registry/%s%s%s/%s, ResourceVersion: 0, "
			"AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
			resource->group, resource->group[0] != '\0' ? "/" : "", resource->plural, old->key, uid,
			old->uid);

		return api_fail_conflict(failure, resource, old->name, cause);
	}
	if (version == NULL || strcmp(version, "0") == 0)
		return resource->unconditional ? 0 : fail_no_version(old, failure);
	if (version[strspn(version, "0123456789")] != '\0')
		return api_fail(failure, 500, "", "strconv.ParseUint: parsing \"%s\": invalid syntax", version);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)old->version);
	return strcmp(version, number) == 0 ? 0 : api_fail_modified(failure, resource, old->name);
}

/* Whether anything but metadata (and status, where that is a subresource) differs. */
static bool content_changed(const struct api_resource *resource, const json_t *old, const json_t *json)
{
	const json_t *sides[2] = {old, json};
	const char *key;
	json_t *value;

	for (int i = 0; i < 2; i++)
		json_object_foreach((json_t *)sides[i], key, value) {
			if (strcmp(key, "metadata") == 0 || (resource->has_status && strcmp(key, "status") == 0))
				continue;
			if (!json_equal(value, json_object_get(sides[1 - i], key)))
				return true;
		}
	return false;
}

/* The object that a PUT to /status makes: only status (for built-in kinds also labels, annotations, finalizers). */
static json_t *with_status(struct api_object *old, const json_t *json)
{
	static const char *const also[] = {"uid", "labels", "annotations", "finalizers"};
	json_t *merged = api_object_copy(old);
	json_t *status = json_object_get(json, "status");
	json_t *metadata = json_object_get(merged, "metadata");

	if (status != NULL)
		json_object_set(merged, "status", status);
	else
		json_object_del(merged, "status");
	for (size_t i = 0; i < ARRAY_LEN(also) && !old->resource->custom; i++) {
		json_t *value = json_path(json, "metadata", also[i], NULL);

		if (value != NULL)
			json_object_set(metadata, also[i], value);
		else
			json_object_del(metadata, also[i]);
	}
	return merged;
}

static void keep_status(json_t *json, const json_t *old)
{
	json_t *status = json_object_get(old, "status");

	if (status != NULL)
		json_object_set(json, "status", status);
	else
		json_object_del(json, "status");
}

static int prepare_update(struct api *api, struct api_object *old, const char *subresource, json_t **json,
			  struct api_failure *failure)
{
	struct api_resource *resource = old->resource;
	const json_t *old_json = api_object_json(old);
	const json_t *old_metadata = json_object_get(old_json, "metadata");
	json_t *metadata = json_object_get(*json, "metadata");

	api_meta_update(metadata, old_metadata);
	if (strcmp(subresource, "status") == 0) {
		json_t *merged = with_status(old, *json);

		json_decref(*json);
		*json = merged;
	} else if (resource->has_status) {
		keep_status(*json, old_json);
	}
	/* completing by a newer schema changes parts that are shared with the stored version */
	if (resource->custom && old->version <= resource->schema_version) {
		json_t *copy = json_deep_copy(*json);

		json_decref(*json);
		*json = copy;
	}
	metadata = json_object_get(*json, "metadata");
	if ((resource->strategy->update != NULL &&
	     resource->strategy->update(api, resource, subresource, *json, old_json, failure) < 0) ||
	    validate(resource, subresource, *json, old_json, failure) < 0)
		return -1;
	if (resource->has_generation && strcmp(subresource, "status") != 0 &&
	    content_changed(resource, old_json, *json))
		json_object_set_new(metadata, "generation", json_integer(json_int(old_metadata, "generation", 0) + 1));
	return 0;
}

/* Stores what an update made of old; json is stolen. */
static int commit(struct api *api, struct api_object *old, json_t *json, bool dry_run, struct api_object **out,
		  struct api_failure *failure)
{
	const json_t *metadata = json_object_get(json, "metadata");
	struct api_object *object;

	/* the real server writes nothing when nothing changed */
	if (json_equal(json, api_object_json(old))) {
		json_decref(json);
		*out = api_object_ref(old);
		return 0;
	}
	object = api_object_new(api, old->resource, json);
	if (check_size(object, failure) < 0) {
		api_object_unref(object);
		return -1;
	}
	*out = object;
	if (dry_run)
		return 0;
	/* the last finalizer went: that was the deletion */
	if (object->deleting && !object->has_finalizers && !api_gc_holds(api, old) &&
	    json_int(metadata, "deletionGracePeriodSeconds", -1) == 0)
		api_store_remove(api, old);
	else
		api_object_ref(api_store_put(api, object));
	return 0;
}

int api_update(struct api *api, struct api_resource *resource, struct api_update *update, const json_t *body,
	       struct api_object **out, struct api_failure *failure)
{
	struct api_object *old = api_store_get(resource, update->namespace_name, update->name);
	json_t *json = api_meta_object(resource, body, failure);
	json_t *metadata;
	const char *name;
	int result = -1;

	if (json == NULL)
		return -1;
	metadata = json_object_get(json, "metadata");
	name = json_str(metadata, "name");
	if (name != NULL && strcmp(name, update->name) != 0) {
		api_fail_bad_request(failure, "the name of the object (%s) does not match the name on the URL (%s)",
				     name, update->name);
	} else if (name == NULL) {
		api_fail_bad_request(
			failure, "the name of the object (%s based on URL) was undeterminable: name must be provided",
			update->name);
	} else if (set_namespace(resource, update->namespace_name, metadata, failure) < 0) {
		/* said already */
	} else if (old == NULL && resource->create_on_put && update->subresource[0] == '\0') {
		update->created = true;
		result = api_create(api, resource, update->namespace_name, body, update->dry_run, out, failure);
	} else if (old == NULL) {
		api_fail_not_found(failure, resource, update->name);
	} else if (check_preconditions(old, metadata, update->patch, failure) == 0 &&
		   prepare_update(api, old, update->subresource, &json, failure) == 0) {
		return commit(api, old, json, update->dry_run, out, failure);
	}
	json_decref(json);
	return result;
}

void api_set_metadata(struct api *api, struct api_object *object, const char *member, json_t *value)
{
	json_t *json = api_object_copy(object);
	struct api_failure failure = {0};
	struct api_object *out = NULL;

	if (value == NULL)
		json_object_del(json_object_get(json, "metadata"), member);
	else
		json_object_set_new(json_object_get(json, "metadata"), member, value);
	commit(api, object, json, false, &out, &failure);
	api_object_unref(out);
	api_failure_free(&failure);
}

/* ---- deletion ---- */

static int check_deletion(const struct api_object *object, const struct api_deletion *deletion,
			  struct api_failure *failure)
{
	const struct api_resource *resource = object->resource;
	cleanup_free char *cause = NULL;
	char number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)object->version);
	if (deletion->uid != NULL && strcmp(deletion->uid, object->uid) != 0)
		cause = mem_printf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might "
			"have been deleted and then recreated",
			deletion->uid, object->uid);
	else if (deletion->resource_version != NULL && strcmp(deletion->resource_version, number) != 0)
		cause = mem_printf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record "
			"(%s). The object might have been modified",
			deletion->resource_version, number);
	if (cause == NULL)
		return 0;
	/* the real server names the kind here, not the resource */
	api_fail_object(failure, 409, "Conflict", resource, object->name,
			"Operation cannot be fulfilled on %s%s%s \"%s\": %s", resource->kind,
			resource->group[0] != '\0' ? "." : "", resource->group, object->name, cause);
	json_object_set_new(failure->details, "kind", json_string(resource->kind));
	return -1;
}

/* The finalizers after a DELETE with this policy (deletionFinalizersForGarbageCollection): a policy given overrides
 * the finalizers there are; none keeps them. */
static json_t *finalizers_after(const struct api_object *object, const json_t *metadata, const char *policy)
{
	bool orphan = policy != NULL ? strcmp(policy, "Orphan") == 0 : object->orphan;
	bool foreground = policy != NULL ? strcmp(policy, "Foreground") == 0 : object->foreground && !object->orphan;
	json_t *list = json_array();
	size_t index;
	json_t *value;

	json_array_foreach(json_object_get(metadata, "finalizers"), index, value)
		if (strcmp(json_string_value(value), "orphan") != 0 &&
		    strcmp(json_string_value(value), "foregroundDeletion") != 0)
			json_array_append(list, value);
	if (orphan)
		json_array_append_new(list, json_string("orphan"));
	if (foreground)
		json_array_append_new(list, json_string("foregroundDeletion"));
	return list;
}

static void set_deletion(json_t *metadata, int64_t at_sec, int64_t grace)
{
	char stamp[TIME_RFC3339_SIZE];

	json_object_set_new(metadata, "deletionTimestamp", json_string(time_format_rfc3339(at_sec, stamp)));
	json_object_set_new(metadata, "deletionGracePeriodSeconds", json_integer(grace));
	api_meta_update(metadata, metadata);
}

static void bump_generation(json_t *metadata)
{
	int64_t generation = json_int(metadata, "generation", 0);

	if (generation > 0)
		json_object_set_new(metadata, "generation", json_integer(generation + 1));
}

enum graceful { NOT_GRACEFUL, GRACEFUL, ALREADY };

/* rest.BeforeDelete: marks metadata for a graceful deletion. */
static enum graceful begin_graceful(const struct api_object *object, json_t *json, int64_t asked, int64_t *grace)
{
	json_t *metadata = json_object_get(json, "metadata");
	int64_t now = clock_wall_ms() / 1000;

	if (object->resource->strategy->grace == NULL)
		return NOT_GRACEFUL;
	if (object->deleting) {
		int64_t current = json_int(metadata, "deletionGracePeriodSeconds", -1);

		if (current < 0)
			return NOT_GRACEFUL;
		/* only a shorter grace period may be asked for */
		if (asked < 0 || asked >= current)
			return ALREADY;
		*grace = asked;
		set_deletion(metadata, json_time(metadata, "deletionTimestamp") - current + asked, asked);
		return GRACEFUL;
	}
	*grace = object->resource->strategy->grace(json, asked);
	if (*grace < 0)
		return NOT_GRACEFUL;
	set_deletion(metadata, now + *grace, *grace);
	bump_generation(metadata);
	return GRACEFUL;
}

int api_delete(struct api *api, struct api_object *object, const struct api_deletion *deletion, struct api_object **out,
	       bool *removed, struct api_failure *failure)
{
	json_t *json;
	json_t *metadata;
	json_t *finalizers;
	int64_t grace = 0;
	enum graceful graceful;
	bool pending;

	*removed = false;
	if (check_deletion(object, deletion, failure) < 0)
		return -1;
	json = api_object_copy(object);
	metadata = json_object_get(json, "metadata");
	graceful = begin_graceful(object, json, deletion->grace, &grace);
	if (graceful == ALREADY || (object->resource == api->namespaces && object->deleting)) {
		json_decref(json);
		*out = api_object_ref(object);
		return 0;
	}
	finalizers = finalizers_after(object, metadata, deletion->policy);
	pending = json_array_size(finalizers) > 0 || api_gc_holds(api, object);
	if (json_array_size(finalizers) > 0)
		json_object_set_new(metadata, "finalizers", finalizers);
	else {
		json_object_del(metadata, "finalizers");
		json_decref(finalizers);
	}
	if (graceful == NOT_GRACEFUL && pending && !object->deleting) {
		set_deletion(metadata, clock_wall_ms() / 1000, 0);
		bump_generation(metadata);
	}
	if (object->resource == api->namespaces) {
		json_object_del(metadata, "deletionGracePeriodSeconds");
		json_object_set_new(json, "status", json_pack("{s:s}", "phase", "Terminating"));
	}
	if (deletion->dry_run) {
		json_decref(json);
		*out = api_object_ref(object);
		*removed = !pending && grace == 0;
		return 0;
	}
	if (graceful == GRACEFUL || pending || object->has_finalizers) {
		/* written before it goes, as the real server does: watchers see the deletionTimestamp */
		if (json_equal(json, api_object_json(object)))
			json_decref(json);
		else
			object = api_store_put(api, api_object_new(api, object->resource, json));
	} else {
		json_decref(json);
	}
	*out = api_object_ref(object);
	if (pending || (graceful == GRACEFUL && grace > 0))
		return 0;
	*removed = true;
	api_store_remove(api, object);
	return 0;
}
