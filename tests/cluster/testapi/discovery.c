/* What the server says about itself: discovery, version, health, an empty OpenAPI document. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/access.h"
#include "tests/cluster/testapi/request.h"

static void put_list(struct buf *out, const char *key, const json_t *list)
{
	cleanup_free char *text = NULL;

	if (json_array_size(list) == 0)
		return;
	text = json_text(list);
	buf_json_key(out, key);
	buf_puts(out, text);
}

static void put_resource(struct buf *out, const struct api_resource *resource, const char *subresource,
			 const char *verbs)
{
	buf_json_next(out);
	buf_puts(out, "{\"name\":\"");
	buf_puts(out, resource->plural);
	buf_printf(out, "%s%s\",\"singularName\":\"%s\",\"namespaced\":%s,\"kind\":\"%s\",\"verbs\":%s",
		   subresource[0] != '\0' ? "/" : "", subresource,
		   subresource[0] != '\0' || !resource->custom ? "" : resource->singular,
		   resource->namespaced ? "true" : "false", resource->kind, verbs);
	if (subresource[0] == '\0') {
		put_list(out, "shortNames", resource->short_names);
		put_list(out, "categories", resource->categories);
	}
	buf_putc(out, '}');
}

static bool in_version(const struct api_resource *resource, const char *group, const char *version)
{
	return !resource->gone && strcmp(resource->group, group) == 0 && strcmp(resource->version, version) == 0;
}

static bool put_version(struct api *api, const char *group, const char *version, struct buf *out)
{
	static const char custom[] =
		"[\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"create\",\"update\","
		"\"watch\"]";
	static const char all[] = "[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"update\","
				  "\"watch\"]";
	bool any = false;

	buf_printf(out,
		   "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"%s%s%s\",\"resources\":[",
		   group, group[0] != '\0' ? "/" : "", version);
	for (struct api_resource *resource = api->resources; resource != NULL; resource = resource->next) {
		if (!in_version(resource, group, version))
			continue;
		any = true;
		put_resource(out, resource, "",
			     access_is_review(resource) ? "[\"create\"]"
			     : resource->custom         ? custom
							: all);
		if (resource->has_status)
			put_resource(out, resource, "status", "[\"get\",\"patch\",\"update\"]");
		if (resource == api->pods) {
			put_resource(out, resource, "binding", "[\"create\"]");
			put_resource(out, resource, "log", "[\"get\"]");
		}
	}
	buf_puts(out, "]}");
	return any;
}

/* Whether this resource is the first of its group (of its group and version). */
static bool is_first(const struct api *api, const struct api_resource *resource, bool of_version)
{
	const struct api_resource *other;

	for (other = api->resources; other != resource; other = other->next)
		if (!other->gone && strcmp(other->group, resource->group) == 0 &&
		    (!of_version || strcmp(other->version, resource->version) == 0))
			return false;
	return true;
}

static void put_group(struct api *api, const struct api_resource *first, struct buf *out, bool alone)
{
	buf_printf(out, "{%s\"name\":\"%s\",\"versions\":[",
		   alone ? "\"kind\":\"APIGroup\",\"apiVersion\":\"v1\"," : "", first->group);
	for (const struct api_resource *resource = first; resource != NULL; resource = resource->next) {
		if (resource->gone || strcmp(resource->group, first->group) != 0 || !is_first(api, resource, true))
			continue;
		buf_json_next(out);
		buf_printf(out, "{\"groupVersion\":\"%s\",\"version\":\"%s\"}", resource->api_version,
			   resource->version);
	}
	buf_printf(out, "],\"preferredVersion\":{\"groupVersion\":\"%s\",\"version\":\"%s\"}}", first->api_version,
		   first->version);
}

static void put_groups(struct api *api, struct buf *out)
{
	buf_puts(out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
	for (const struct api_resource *resource = api->resources; resource != NULL; resource = resource->next) {
		if (resource->gone || resource->group[0] == '\0' || !is_first(api, resource, false))
			continue;
		buf_json_next(out);
		put_group(api, resource, out, false);
	}
	buf_puts(out, "]}");
}

static bool one_group(struct api *api, const char *group, struct buf *out)
{
	for (const struct api_resource *resource = api->resources; resource != NULL; resource = resource->next)
		if (!resource->gone && strcmp(resource->group, group) == 0) {
			put_group(api, resource, out, true);
			return true;
		}
	return false;
}

/* Says 1.20, the version whose behaviour is followed. */
static void put_server_version(struct buf *out)
{
	struct utsname system = {0};

	uname(&system);
	buf_printf(out,
		   "{\"major\":\"1\",\"minor\":\"20\",\"gitVersion\":\"v1.20.2\",\"gitCommit\":\"\",\"gitTreeState\":"
		   "\"clean\",\"buildDate\":\"1970-01-01T00:00:00Z\",\"goVersion\":\"\",\"compiler\":\"\",\"platform\":"
		   "\"linux/%s\"}",
		   strcmp(system.machine, "x86_64") == 0 ? "amd64" : system.machine);
}

static bool discover(struct api *api, const struct api_request *request, struct buf *out)
{
	const char *const *parts = request->parts;

	switch (request->part_count) {
	case 1:
		if (strcmp(parts[0], "api") == 0)
			buf_puts(out,
				 "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[]}");
		else if (strcmp(parts[0], "apis") == 0)
			put_groups(api, out);
		else if (strcmp(parts[0], "version") == 0)
			put_server_version(out);
		else
			return false;
		return true;
	case 2:
		if (strcmp(parts[0], "api") == 0)
			return put_version(api, "", parts[1], out);
		return strcmp(parts[0], "apis") == 0 && one_group(api, parts[1], out);
	case 3: return strcmp(parts[0], "apis") == 0 && put_version(api, parts[1], parts[2], out);
	default: return false;
	}
}

bool api_discovery(struct api *api, const struct api_request *request, struct api_answer *answer)
{
	const char *first = request->part_count > 0 ? request->parts[0] : "";

	if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
		return false;
	answer->status = 200;
	if (strcmp(first, "healthz") == 0 || strcmp(first, "readyz") == 0 || strcmp(first, "livez") == 0) {
		answer->content_type = "text/plain; charset=utf-8";
		buf_puts(&answer->body, "ok");
		return true;
	}
	if (strcmp(request->path, "/openapi/v2") == 0) {
		/* an empty protobuf document: kubectl then knows no schema and checks nothing itself */
		answer->content_type = "application/octet-stream";
		return true;
	}
	answer->content_type = "application/json";
	if (discover(api, request, &answer->body))
		return true;
	buf_clear(&answer->body);
	return false;
}
