/* Requests about resources: from the path to the operation and back to an answer; see request.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/access.h"
#include "tests/cluster/testapi/log.h"
#include "tests/cluster/testapi/ops.h"
#include "tests/cluster/testapi/pages.h"
#include "tests/cluster/testapi/patch.h"
#include "tests/cluster/testapi/protobuf.h"
#include "tests/cluster/testapi/request.h"
#include "tests/cluster/testapi/watch.h"

void api_answer_free(struct api_answer *answer)
{
	buf_free(&answer->body);
	api_object_unref(answer->object);
	if (answer->watch != NULL)
		api_watch_free(answer->watch);
	api_log_free(answer->log);
	buf_free(&answer->warnings);
	*answer = (struct api_answer){0};
}

void api_answer_failure(struct api_answer *answer, const struct api_failure *failure)
{
	answer->status = failure->code;
	answer->content_type = "application/json";
	answer->retry_after = (int)json_int(failure->details, "retryAfterSeconds", 0);
	buf_clear(&answer->body);
	api_failure_print(failure, &answer->body);
}

static void answer_object(const struct api_request *request, struct api_answer *answer, int status,
			  struct api_object *object)
{
	enum api_form form = FORM_OBJECT;

	api_accept(request, &form);
	answer->status = status;
	if (form == FORM_OBJECT)
		answer->object = api_object_ref(object);
	else
		api_render(&answer->body, object, form, true);
}

json_t *api_body(const struct api_request *request, struct api_failure *failure)
{
	struct error err;
	json_t *body = NULL;
	const char *type = request->content_type;

	if (type != NULL && strncmp(type, "application/vnd.kubernetes.protobuf", 35) == 0 &&
	    (body = protobuf_decode(request->body, request->body_len)) != NULL)
		return body;
	if (type != NULL && strncmp(type, "application/json", 16) != 0 && strstr(type, "json") == NULL &&
	    strstr(type, "*/*") == NULL)
		api_fail(failure, 415, "UnsupportedMediaType",
			 "the body of the request was in an unknown format - accepted media types include: "
			 "application/json");
	else if (request->body_len == 0)
		api_fail_bad_request(failure,
				     "the object provided is unrecognized (must be of type %s): couldn't get "
				     "version/kind; json parse error: unexpected end of JSON input (<empty>)",
				     request->resource->kind);
	else if ((body = json_parse(request->body, request->body_len, &err)) == NULL)
		api_fail_bad_request(failure,
				     "the object provided is unrecognized (must be of type %s): couldn't get "
				     "version/kind; json parse error: %s",
				     request->resource->kind, err.message);
	else if (!json_is_object(body)) {
		api_fail_bad_request(failure,
				     "the object provided is unrecognized (must be of type %s): json: cannot "
				     "unmarshal into Go value",
				     request->resource->kind);
		json_decref(body);
		body = NULL;
	}
	return body;
}

static bool dry_run(const struct api_request *request)
{
	const char *value = api_query(request, "dryRun");

	return value != NULL && strcmp(value, "All") == 0;
}

static void warn(const struct api *api, const struct api_request *request, struct api_object *object,
		 struct api_answer *answer)
{
	if (request->resource->strategy->warn != NULL)
		request->resource->strategy->warn(api, api_object_json(object), &answer->warnings);
}

static int do_create(struct api *api, const struct api_request *request, struct api_answer *answer,
		     struct api_failure *failure)
{
	cleanup_json json_t *body = api_body(request, failure);
	struct api_object *object = NULL;

	if (body == NULL ||
	    api_create(api, request->resource, request->namespace_name, body, dry_run(request), &object, failure) < 0)
		return -1;
	answer_object(request, answer, 201, object);
	warn(api, request, object, answer);
	api_object_unref(object);
	return 0;
}

static int finish_update(struct api *api, const struct api_request *request, const json_t *body,
			 struct api_answer *answer, struct api_failure *failure)
{
	struct api_update update = {.namespace_name = request->namespace_name,
				    .name = request->name,
				    .subresource = request->subresource,
				    .dry_run = dry_run(request),
				    .patch = strcmp(request->verb, "patch") == 0};
	struct api_object *object = NULL;

	if (api_update(api, request->resource, &update, body, &object, failure) < 0)
		return -1;
	answer_object(request, answer, update.created ? 201 : 200, object);
	if (request->subresource[0] == '\0')
		warn(api, request, object, answer);
	api_object_unref(object);
	return 0;
}

static int do_update(struct api *api, const struct api_request *request, struct api_answer *answer,
		     struct api_failure *failure)
{
	cleanup_json json_t *body = api_body(request, failure);

	return body == NULL ? -1 : finish_update(api, request, body, answer, failure);
}

static int do_patch(struct api *api, const struct api_request *request, struct api_answer *answer,
		    struct api_failure *failure)
{
	struct api_object *object;
	cleanup_json json_t *patched = NULL;
	struct error err;
	cleanup_json json_t *patch = NULL;
	enum patch_type type;

	if (patch_type_of(request, &type, failure) < 0)
		return -1;
	patch = json_parse(request->body, request->body_len, &err);
	if (patch == NULL)
		return api_fail_bad_request(failure, "error decoding patch: %s", err.message);
	object = api_store_get(request->resource, request->namespace_name, request->name);
	if (object == NULL)
		return api_fail_not_found(failure, request->resource, request->name);
	patched = patch_apply(type, request->resource, api_object_json(object), patch, failure);
	if (patched == NULL)
		return -1;
	return finish_update(api, request, patched, answer, failure);
}

static int do_get(struct api *api, const struct api_request *request, struct api_answer *answer,
		  struct api_failure *failure)
{
	struct api_object *object = api_store_get(request->resource, request->namespace_name, request->name);

	(void)api;
	if (request->as_of != 0)
		object = api_store_get_at(request->resource, request->namespace_name, request->name, request->as_of);
	if (object == NULL)
		return api_fail_not_found(failure, request->resource, request->name);
	answer_object(request, answer, 200, object);
	return 0;
}

static int refuse_policy(const char *policy, struct api_failure *failure)
{
	static const struct api_resource options = {.group = "meta.k8s.io", .kind = "DeleteOptions", .plural = ""};
	json_t *causes = json_array();

	api_cause(causes, "FieldValueNotSupported", "propagationPolicy",
		  "Unsupported value: \"%s\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
		  policy);
	return api_fail_invalid(failure, &options, NULL, causes);
}

/* DeleteOptions from the body and the query; the strings live as long as *options. */
static int read_deletion(const struct api_request *request, json_t **options, struct api_deletion *deletion,
			 struct api_failure *failure)
{
	const json_t *preconditions;
	const char *grace = api_query(request, "gracePeriodSeconds");
	const json_t *value;

	*options = NULL;
	*deletion = (struct api_deletion){.grace = -1, .dry_run = dry_run(request)};
	if (request->body_len > 0 && (*options = api_body(request, failure)) == NULL)
		return -1;
	preconditions = json_object_get(*options, "preconditions");
	deletion->uid = json_str(preconditions, "uid");
	deletion->resource_version = json_str(preconditions, "resourceVersion");
	deletion->policy = json_str(*options, "propagationPolicy");
	if (deletion->policy == NULL)
		deletion->policy = api_query(request, "propagationPolicy");
	value = json_object_get(*options, "orphanDependents");
	if (json_is_boolean(value))
		deletion->policy = json_is_true(value) ? "Orphan" : "Background";
	deletion->grace = json_int(*options, "gracePeriodSeconds", grace == NULL ? -1 : atoll(grace));
	value = json_object_get(*options, "dryRun");
	if (json_array_size(value) > 0)
		deletion->dry_run = true;
	if (deletion->policy != NULL && strcmp(deletion->policy, "Background") != 0 &&
	    strcmp(deletion->policy, "Foreground") != 0 && strcmp(deletion->policy, "Orphan") != 0)
		return refuse_policy(deletion->policy, failure);
	return 0;
}

static void answer_deleted(const struct api_object *object, struct api_answer *answer)
{
	const struct api_resource *resource = object->resource;

	answer->status = 200;
	buf_puts(&answer->body, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\","
				"\"details\":{\"name\":");
	buf_json_string(&answer->body, object->name);
	if (resource->group[0] != '\0') {
		buf_json_key(&answer->body, "group");
		buf_json_string(&answer->body, resource->group);
	}
	buf_json_key(&answer->body, "kind");
	buf_json_string(&answer->body, resource->plural);
	buf_json_key(&answer->body, "uid");
	buf_json_string(&answer->body, object->uid);
	buf_puts(&answer->body, "}}");
}

static int do_delete(struct api *api, const struct api_request *request, struct api_answer *answer,
		     struct api_failure *failure)
{
	struct api_deletion deletion;
	cleanup_json json_t *options = NULL;
	struct api_object *object;
	struct api_object *out = NULL;
	bool removed;

	if (read_deletion(request, &options, &deletion, failure) < 0)
		return -1;
	object = api_store_get(request->resource, request->namespace_name, request->name);
	if (object == NULL)
		return api_fail_not_found(failure, request->resource, request->name);
	if (api_delete(api, object, &deletion, &out, &removed, failure) < 0)
		return -1;
	if (removed && !request->resource->returns_deleted)
		answer_deleted(out, answer);
	else
		answer_object(request, answer, 200, out);
	api_object_unref(out);
	return 0;
}

/* References to what the selectors of the request choose. */
static int select_objects(const struct api_request *request, struct api_object ***objects, size_t *count,
			  struct api_failure *failure)
{
	struct api_resource *resource = request->resource;
	struct api_selector selector;
	size_t begin;
	size_t end;

	if (api_selector_parse(&selector, resource, api_query(request, "labelSelector"),
			       api_query(request, "fieldSelector"), failure) < 0)
		return -1;
	api_store_range(resource, request->namespace_name, &begin, &end);
	*objects = mem_calloc(end - begin + 1, sizeof(**objects));
	*count = 0;
	for (; begin < end; begin++)
		if (api_selector_matches(&selector, resource->objects[begin]))
			(*objects)[(*count)++] = api_object_ref(resource->objects[begin]);
	api_selector_free(&selector);
	return 0;
}

static int do_delete_collection(struct api *api, const struct api_request *request, struct api_answer *answer,
				struct api_failure *failure)
{
	struct api_deletion deletion;
	cleanup_json json_t *options = NULL;
	struct api_object **objects;
	size_t count;

	if (read_deletion(request, &options, &deletion, failure) < 0 ||
	    select_objects(request, &objects, &count, failure) < 0)
		return -1;
	api_render_list(&answer->body, request->resource, objects, count, api->version, NULL, -1, FORM_OBJECT);
	answer->status = 200;
	for (size_t i = 0; i < count; i++) {
		struct api_object *out = NULL;
		bool removed;

		/* one that a deletion before it changed or removed is looked up again */
		struct api_object *now = api_store_get(request->resource, objects[i]->namespace_name, objects[i]->name);

		if (now != NULL && strcmp(now->uid, objects[i]->uid) == 0 &&
		    api_delete(api, now, &deletion, &out, &removed, failure) < 0)
			api_failure_free(failure);
		api_object_unref(out);
		api_object_unref(objects[i]);
	}
	free((void *)objects);
	return 0;
}

static int do_watch(struct api *api, const struct api_request *request, struct api_answer *answer,
		    struct api_failure *failure)
{
	const char *timeout = api_query(request, "timeoutSeconds");
	cleanup_free char *fields = NULL;
	struct api_watch_request watch = {
		.namespace_name = request->namespace_name,
		.resource_version = api_query(request, "resourceVersion"),
		.labels = api_query(request, "labelSelector"),
		.fields = api_query(request, "fieldSelector"),
		.user_agent = request->user_agent,
		.connection = request->connection,
		.bookmarks = api_query_flag(request, "allowWatchBookmarks"),
		.timeout_sec = timeout == NULL ? 0 : atoll(timeout),
	};

	if (request->name[0] != '\0') {
		fields = mem_printf("metadata.name=%s", request->name);
		watch.fields = fields;
	}
	if (api_check_options(request, failure) < 0)
		return -1;
	if (api_query(request, "sendInitialEvents") != NULL)
		watch.initial = api_query_flag(request, "sendInitialEvents") ? INITIAL_REQUIRED : INITIAL_NONE;
	watch.protobuf = api_accept_protobuf(request);
	if (watch.protobuf)
		answer->content_type = PROTOBUF_TYPE ";stream=watch";
	api_accept(request, &watch.form);
	answer->watch = api_watch_new(api, request->resource, &watch, failure);
	answer->status = 200;
	return answer->watch == NULL ? -1 : 0;
}

struct verb {
	const char *name;
	int (*run)(struct api *api, const struct api_request *request, struct api_answer *answer,
		   struct api_failure *failure);
};

static const struct verb VERBS[] = {
	{"get", do_get},       {"list", api_list},  {"watch", do_watch},   {"create", do_create},
	{"update", do_update}, {"patch", do_patch}, {"delete", do_delete}, {"deletecollection", do_delete_collection},
};

/* The metadata form of one object and that of a list are not the same, and asking for the wrong one fails. */
static int check_form(const struct api_request *request, enum api_form form, struct api_failure *failure)
{
	bool list = strcmp(request->verb, "list") == 0;

	if (list && form == FORM_METADATA)
		return api_fail(failure, 406, "NotAcceptable",
				"you requested PartialObjectMetadata, but the requested object is a list (*%s.%s)",
				request->resource->custom ? "unstructured" : "core",
				request->resource->custom ? "UnstructuredList" : request->resource->list_kind);
	if (!list && form == FORM_METADATA_LIST)
		return api_fail(failure, 500, "", "content is not a list");
	return 0;
}

static int check_request(const struct api_request *request, struct api_failure *failure)
{
	enum api_form form;

	if (request->too_large)
		return api_fail(failure, 413, "RequestEntityTooLarge", "Request entity too large: limit is %d",
				REQUEST_BYTES_MAX);
	if (api_accept(request, &form) < 0)
		return api_fail(failure, 406, "NotAcceptable",
				"only the following media types are accepted: application/json, application/yaml, "
				"application/vnd.kubernetes.protobuf");
	return check_form(request, form, failure);
}

static int run_resource(struct api *api, const struct api_request *request, struct api_answer *answer,
			struct api_failure *failure)
{
	if (check_request(request, failure) < 0)
		return -1;
	if (access_is_review(request->resource))
		return access_review(api, request, answer, failure);
	for (size_t i = 0; i < ARRAY_LEN(VERBS); i++)
		if (strcmp(request->verb, VERBS[i].name) == 0)
			return VERBS[i].run(api, request, answer, failure);
	api_fail(failure, 405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
	failure->details = json_object();
	return -1;
}

static bool known_subresource(const struct api_request *request)
{
	const struct api_resource *resource = request->resource;

	return request->subresource[0] == '\0' || (strcmp(request->subresource, "status") == 0 && resource->has_status);
}

static void answer_no_such_path(struct api_answer *answer)
{
	struct api_failure failure = {0};

	api_fail(&failure, 404, "NotFound", "the server could not find the requested resource");
	failure.details = json_object();
	api_answer_failure(answer, &failure);
	api_failure_free(&failure);
}

void api_handle(struct api *api, struct api_request *request, struct api_answer *answer)
{
	struct api_failure failure = {0};

	answer->content_type = "application/json";
	if (access_check(api, request, &failure) < 0) {
		api_answer_failure(answer, &failure);
	} else if (request->resource == NULL) {
		if (!api_discovery(api, request, answer))
			answer_no_such_path(answer);
	} else if (api_subresource(api, request, answer, &failure)) {
		if (failure.code != 0)
			api_answer_failure(answer, &failure);
	} else if (!known_subresource(request)) {
		answer_no_such_path(answer);
	} else if (run_resource(api, request, answer, &failure) < 0) {
		api_answer_failure(answer, &failure);
	}
	api_failure_free(&failure);
}
