/* What a call asks the API server for; see request.h. */
#include "reconciler/request.h"

#include "common/base/mem.h"
#include "reconciler/sync/served.h"

static void write_delete_options(struct buf *out, const struct call *call)
{
	buf_puts(out, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":");
	buf_json_string(out, call->uid);
	if (call->version != NULL) {
		buf_puts(out, ",\"resourceVersion\":");
		buf_json_string(out, call->version);
	}
	buf_putc(out, '}');
	if (call->force)
		buf_puts(out, ",\"gracePeriodSeconds\":0");
	if (call->kind == CALL_DELETE_FRAMEWORK)
		buf_puts(out, ",\"propagationPolicy\":\"Foreground\"");
	buf_putc(out, '}');
}

/* name NULL: of all of them. */
static char *owned_path(const struct framework *framework, const struct call *call, const char *name)
{
	const struct owned_resource *resource = call->resource;

	return mem_printf("/%s/%s/namespaces/%s/%s%s%s", resource->api == API_CORE ? "api" : "apis",
			  resource->api_version, framework->ns, resource->plural, name == NULL ? "" : "/",
			  name == NULL ? "" : name);
}

static char *call_path(const struct framework *framework, const struct call *call)
{
	cleanup_free char *path = NULL;

	switch (call->kind) {
	case CALL_CREATE_CONFIG_MAP: return mem_printf("/api/v1/namespaces/%s/configmaps", framework->ns);
	case CALL_GET_CONFIG_MAP:
	case CALL_DELETE_CONFIG_MAP:
		return mem_printf("/api/v1/namespaces/%s/configmaps/%s", framework->ns, call->name);
	case CALL_CREATE_POD: return mem_printf("/api/v1/namespaces/%s/pods", framework->ns);
	case CALL_CREATE_OWNED: return owned_path(framework, call, NULL);
	case CALL_GET_OWNED:
	case CALL_DELETE_OWNED:
	case CALL_PATCH_OWNED: return owned_path(framework, call, call->name);
	case CALL_PATCH_OWNED_STATUS:
		path = owned_path(framework, call, call->name);
		return mem_printf("%s/status", path);
	case CALL_GET_KUEUE: return mem_printf("/apis/%s/%s", call->resource->api_version, call->name);
	case CALL_DELETE_FRAMEWORK: return mem_printf(FRAMEWORKS_PATH "/%s/frameworks/%s", framework->ns, call->name);
	default: return mem_printf("/api/v1/namespaces/%s/pods/%s", framework->ns, call->name);
	}
}

void call_request(struct framework *framework, const struct call *call, char **path, struct buf *body,
		  struct kube_request *request)
{
	*path = call_path(framework, call);
	request->path = *path;
	request->accept = ACCEPT_METADATA;
	request->server_timeout = true;
	switch (call->kind) {
	case CALL_CREATE_CONFIG_MAP:
	case CALL_CREATE_POD:
	case CALL_CREATE_OWNED:
		request->method = "POST";
		framework_call_body(framework, call, body);
		break;
	case CALL_GET_CONFIG_MAP:
	case CALL_GET_POD:
		request->method = "GET";
		request->accept = NULL; /* a Pod's phase is wanted */
		request->server_timeout = false;
		break;
	case CALL_GET_OWNED:
	case CALL_GET_KUEUE:
		request->method = "GET";
		request->server_timeout = false;
		break;
	case CALL_PATCH_OWNED:
	case CALL_PATCH_OWNED_STATUS:
		request->method = "PATCH";
		request->content_type = "application/merge-patch+json";
		framework_call_body(framework, call, body);
		break;
	default:
		request->method = "DELETE";
		write_delete_options(body, call);
		break;
	}
	if (call->resource != NULL && call->resource->whole)
		request->accept = NULL;
	request->body = body->data;
	request->body_len = body->len;
}
