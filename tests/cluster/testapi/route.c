/* From a URL to what is asked for: resource, namespace, name, subresource, verb, and the form of the answer. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/mem.h"
#include "tests/cluster/testapi/protobuf.h"
#include "tests/cluster/testapi/request.h"

const char *api_query(const struct api_request *request, const char *name)
{
	for (size_t i = 0; i < request->query_count; i++)
		if (strcmp(request->query[i].name, name) == 0)
			return request->query[i].value == NULL ? "" : request->query[i].value;
	return NULL;
}

bool api_query_flag(const struct api_request *request, const char *name)
{
	const char *value = api_query(request, name);

	return value != NULL && (value[0] == '\0' || strcmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

static void split(struct api_request *request)
{
	char *state = NULL;

	request->parts_text = mem_strdup(request->path);
	for (char *part = strtok_r(request->parts_text, "/", &state);
	     part != NULL && request->part_count < PATH_PARTS_MAX; part = strtok_r(NULL, "/", &state))
		request->parts[request->part_count++] = part;
}

static const char *verb_of(const struct api_request *request)
{
	bool named = request->name[0] != '\0';

	if (strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0) {
		if (api_query_flag(request, "watch"))
			return "watch";
		return named ? "get" : "list";
	}
	if (strcmp(request->method, "POST") == 0)
		return named && request->subresource[0] == '\0' ? "none" : "create";
	if (strcmp(request->method, "PUT") == 0)
		return named ? "update" : "none";
	if (strcmp(request->method, "PATCH") == 0)
		return named ? "patch" : "none";
	if (strcmp(request->method, "DELETE") == 0)
		return named ? "delete" : "deletecollection";
	return "none";
}

/* The parts behind /api/v1 or /apis/group/version. */
static void route_resource(struct api *api, struct api_request *request, const char *version, size_t at)
{
	bool old_watch = false; /* the deprecated /watch/ prefix */
	const char *const *parts = request->parts;
	size_t count = request->part_count;

	if (at < count && strcmp(parts[at], "watch") == 0) {
		old_watch = true;
		at++;
	}
	if (at >= count)
		return;
	if (strcmp(parts[at], "namespaces") == 0 && count > at + 2 && strcmp(parts[at + 2], "status") != 0 &&
	    strcmp(parts[at + 2], "finalize") != 0) {
		request->namespace_name = parts[at + 1];
		at += 2;
	}
	request->resource_name = parts[at];
	request->name = at + 1 < count ? parts[at + 1] : "";
	request->subresource = at + 2 < count ? parts[at + 2] : "";
	request->resource = at + 3 < count ? NULL : api_resource_find(api, request->group, version, parts[at]);
	/* a name needs a namespace, except in lists over all of them */
	if (request->resource != NULL && request->resource->namespaced && request->namespace_name[0] == '\0' &&
	    request->name[0] != '\0')
		request->resource = NULL;
	if (request->resource != NULL && !request->resource->namespaced && request->namespace_name[0] != '\0')
		request->resource = NULL;
	request->verb = old_watch ? "watch" : verb_of(request);
}

static const char *method_verb(const char *method)
{
	static const char *const methods[] = {"get", "post", "put", "patch", "delete", "head", "options"};

	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (strcasecmp(method, methods[i]) == 0)
			return methods[i];
	return "none";
}

void api_route(struct api *api, struct api_request *request)
{
	request->group = "";
	request->namespace_name = request->name = request->subresource = "";
	request->verb = method_verb(request->method);
	split(request);
	if (request->part_count > 2 && strcmp(request->parts[0], "api") == 0) {
		route_resource(api, request, request->parts[1], 2);
	} else if (request->part_count > 3 && strcmp(request->parts[0], "apis") == 0) {
		request->group = request->parts[1];
		route_resource(api, request, request->parts[2], 3);
	}
}

void api_request_free(struct api_request *request)
{
	free(request->parts_text);
}

/* One media range of an Accept header, up to a comma. */
static int accept_one(const char *range, size_t len, enum api_form *form)
{
	cleanup_free char *text = mem_strndup(range, len);
	const char *as = strstr(text, "as=");

	if (strncmp(text, "application/json", 16) != 0 && strncmp(text, "*/*", 3) != 0 &&
	    strncmp(text, "application/*", 13) != 0)
		return -1;
	if (as == NULL) {
		*form = FORM_OBJECT;
		return 0;
	}
	/* the older v1beta1 forms are not made */
	if (strstr(text, "g=meta.k8s.io") == NULL || strstr(text, "v=v1beta1") != NULL)
		return -1;
	as += strlen("as=");
	if (strncmp(as, "Table", 5) == 0)
		*form = FORM_TABLE;
	else if (strncmp(as, "PartialObjectMetadataList", 25) == 0)
		*form = FORM_METADATA_LIST;
	else if (strncmp(as, "PartialObjectMetadata", 21) == 0)
		*form = FORM_METADATA;
	else
		return -1;
	return 0;
}

int api_accept(const struct api_request *request, enum api_form *form)
{
	const char *at = request->accept;

	*form = FORM_OBJECT;
	if (at == NULL || at[0] == '\0' || api_accept_protobuf(request))
		return 0;
	for (;;) {
		size_t len;

		at += strspn(at, " ");
		len = strcspn(at, ",");
		if (accept_one(at, len, form) == 0)
			return 0;
		at += len;
		if (*at++ == '\0')
			return -1;
	}
}

bool api_accept_protobuf(const struct api_request *request)
{
	const char *first = request->accept;

	if (first == NULL || request->resource == NULL || strcmp(request->resource->kind, "Pod") != 0 ||
	    (strcmp(request->verb, "list") != 0 && strcmp(request->verb, "watch") != 0))
		return false;
	/* no other form of it */
	return strncmp(first, PROTOBUF_TYPE, strlen(PROTOBUF_TYPE)) == 0 &&
	       memmem(first, strcspn(first, ","), "as=", strlen("as=")) == NULL;
}
