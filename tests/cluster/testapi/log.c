/* See log.h. What a client may ask for is checked here; the kubelet then answers with bytes alone. */
#include "tests/cluster/testapi/log.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/kube/client.h"
#include "tests/cluster/testapi/watch.h"

enum {
	KUBELET_LOGS_MAX = 4000,
	LOG_LASTS_MS = 24 * 3600 * 1000,
	UNREAD_MAX = 16 * 1024 * 1024, /* by a client that is slower than the kubelet; then it is cut off */
};

/* The connections to one kubelet. */
struct api_kubelet {
	struct api_kubelet *next;
	int64_t port;
	struct kube_config config;
	struct kube_client *client;
};

struct api_log {
	struct api_kubelet *kubelet;
	char *path;
	struct kube_call *call;
	struct buf unread;
	ssize_t end; /* WATCH_END or WATCH_CUT once the kubelet's answer is over */
	bool left;   /* by its client: it is freed when the call is over */
	void (*wake)(void *arg);
	void *arg;
};

/* ---- kubelets ---------------------------------------------------------------------------------------------------- */

static struct api_kubelet *find_kubelet(struct api *api, int64_t port, struct error *err)
{
	static const struct kube_client_options options = {.user_agent = "fc-testapi/1.0",
							   .max_connections = KUBELET_LOGS_MAX};
	cleanup_free char *address = mem_printf("http://127.0.0.1:%lld", (long long)port);
	struct api_kubelet *kubelet;

	LL_FOREACH(api->kubelets, kubelet)
		if (kubelet->port == port)
			return kubelet;
	kubelet = mem_calloc(1, sizeof(*kubelet));
	kubelet->port = port;
	if (kube_config_load(address, NULL, NULL, &kubelet->config, err) == 0)
		kubelet->client = kube_client_new(api->loop, &kubelet->config, &options, err);
	if (kubelet->client == NULL) {
		kube_config_free(&kubelet->config);
		free(kubelet);
		return NULL;
	}
	LL_PREPEND(api->kubelets, kubelet);
	return kubelet;
}

void api_log_clients_free(struct api *api)
{
	struct api_kubelet *kubelet, *next;

	LL_FOREACH_SAFE(api->kubelets, kubelet, next) {
		kube_client_free(kubelet->client);
		kube_config_free(&kubelet->config);
		free(kubelet);
	}
	api->kubelets = NULL;
}

/* Of the node that the Pod is on; NULL and *failure. */
static struct api_kubelet *kubelet_of(struct api *api, const char *node_name, struct api_failure *failure)
{
	struct api_resource *nodes = api_resource_named(api, "", "nodes");
	struct api_object *node = api_store_get(nodes, "", node_name);
	struct api_kubelet *kubelet;
	struct error err;
	int64_t port;

	if (node == NULL) {
		api_fail_not_found(failure, nodes, node_name);
		return NULL;
	}
	port = json_int(json_path(api_object_json(node), "status", "daemonEndpoints", "kubeletEndpoint", NULL), "Port",
			0);
	if (port <= 0) {
		api_fail(failure, 500, "InternalError",
			 "node %s has no status.daemonEndpoints.kubeletEndpoint.Port: its kubelet serves no logs",
			 node_name);
		return NULL;
	}
	kubelet = find_kubelet(api, port, &err);
	if (kubelet == NULL)
		api_fail(failure, 500, "InternalError", "%s", err.message);
	return kubelet;
}

/* ---- which log --------------------------------------------------------------------------------------------------- */

/* The item of that name, or NULL. */
static const json_t *named(const json_t *items, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach(items, i, item)
		if (json_str(item, "name") != NULL && strcmp(json_str(item, "name"), name) == 0)
			return item;
	return NULL;
}

static void put_names(struct buf *out, const json_t *containers)
{
	const json_t *container;
	size_t i;

	json_array_foreach(containers, i, container)
		buf_printf(out, "%s%s", i == 0 ? "" : " ", json_str(container, "name"));
}

/* The container that is asked for, or the only one; NULL and *failure. */
static const char *container_of(const struct api_request *request, const json_t *pod, struct api_failure *failure)
{
	const char *wanted = api_query(request, "container");
	const json_t *containers = json_path(pod, "spec", "containers", NULL);
	const json_t *inits = json_path(pod, "spec", "initContainers", NULL);
	cleanup_buf struct buf names = {0}, init_names = {0};

	if (wanted != NULL && *wanted != '\0') {
		if (named(containers, wanted) != NULL || named(inits, wanted) != NULL)
			return wanted;
		api_fail_bad_request(failure, "container %s is not valid for pod %s", wanted, request->name);
		return NULL;
	}
	if (json_array_size(containers) == 1)
		return json_str(json_array_get(containers, 0), "name");
	put_names(&names, containers);
	put_names(&init_names, inits);
	api_fail_bad_request(failure, "a container name must be specified for pod %s, choose one of: [%s]%s%s%s",
			     request->name, names.data, init_names.len == 0 ? "" : " or one of the init containers: [",
			     init_names.len == 0 ? "" : init_names.data, init_names.len == 0 ? "" : "]");
	return NULL;
}

static const json_t *status_of(const json_t *pod, const char *container)
{
	const json_t *status = named(json_path(pod, "status", "containerStatuses", NULL), container);

	return status != NULL ? status : named(json_path(pod, "status", "initContainerStatuses", NULL), container);
}

/* Whether the container has run, as a kubelet says it. */
static int check_has_run(const struct api_request *request, const json_t *pod, const char *container,
			 struct api_failure *failure)
{
	const json_t *status = status_of(pod, container), *state = json_object_get(status, "state");
	bool again = json_path(status, "lastState", "terminated", NULL) != NULL;
	const char *reason = json_str(json_object_get(state, "waiting"), "reason");

	if (api_query_flag(request, "previous"))
		return again ? 0
			     : api_fail_bad_request(failure,
						    "previous terminated container \"%s\" in pod \"%s\" not found",
						    container, request->name);
	if (again || json_object_get(state, "running") != NULL || json_object_get(state, "terminated") != NULL)
		return 0;
	return api_fail_bad_request(failure, "container \"%s\" in pod \"%s\" is waiting to start: %s", container,
				    request->name, reason == NULL ? "no logs yet" : reason);
}

/* The path at the kubelet, to be freed; NULL and *failure. */
static char *path_of(const struct api_request *request, const char *container, struct api_failure *failure)
{
	static const char *const flags[] = {"follow", "previous", "timestamps"};
	static const char *const numbers[] = {"tailLines", "limitBytes", "sinceSeconds"};
	const char *since = api_query(request, "sinceTime");
	char time[TIME_RFC3339_SIZE];
	struct buf path = {0};
	int64_t seconds;

	buf_printf(&path, "/containerLogs/%s/%s/%s?", request->namespace_name, request->name, container);
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (api_query_flag(request, flags[i]))
			buf_printf(&path, "%s=true&", flags[i]);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		const char *value = api_query(request, numbers[i]);
		char *end;
		long long number = value == NULL ? 0 : strtoll(value, &end, 10);

		if (value == NULL)
			continue;
		if (end == value || *end != '\0' || number < 0)
			api_fail_bad_request(failure, "%s: found \"%s\", expected a number from 0 up", numbers[i],
					     value);
		buf_printf(&path, "%s=%lld&", numbers[i], number);
	}
	if (since != NULL && time_parse_rfc3339(since, &seconds) == 0)
		buf_printf(&path, "sinceTime=%s", time_format_rfc3339(seconds, time));
	else if (since != NULL)
		api_fail_bad_request(failure, "sinceTime: found \"%s\", expected a time of RFC 3339", since);
	if (failure->code == 0)
		return buf_steal(&path);
	buf_free(&path);
	return NULL;
}

void api_log_open(struct api *api, const struct api_request *request, struct api_answer *answer,
		  struct api_failure *failure)
{
	struct api_object *object = api_store_get(api->pods, request->namespace_name, request->name);
	const json_t *pod = object == NULL ? NULL : api_object_json(object);
	const char *node = json_str(json_object_get(pod, "spec"), "nodeName"), *container;
	struct api_kubelet *kubelet;
	char *path;

	if (object == NULL) {
		api_fail_not_found(failure, api->pods, request->name);
		return;
	}
	container = container_of(request, pod, failure);
	if (container == NULL)
		return;
	answer->status = 200;
	answer->content_type = "text/plain";
	if (node == NULL || *node == '\0') {
		buf_puts(&answer->body, "");
		return;
	}
	if (check_has_run(request, pod, container, failure) < 0)
		return;
	path = path_of(request, container, failure);
	kubelet = path == NULL ? NULL : kubelet_of(api, node, failure);
	if (kubelet == NULL) {
		free(path);
		return;
	}
	answer->log = mem_calloc(1, sizeof(*answer->log));
	answer->log->kubelet = kubelet;
	answer->log->path = path;
}

/* ---- what the kubelet answers ------------------------------------------------------------------------------------ */

static void free_log(struct api_log *log)
{
	buf_free(&log->unread);
	free(log->path);
	free(log);
}

static void on_data(void *arg, const char *data, size_t len)
{
	struct api_log *log = arg;

	if (log->left || len == 0)
		return;
	buf_append(&log->unread, data, len);
	log->wake(log->arg);
	if (log->unread.len > UNREAD_MAX)
		kube_call_cancel(log->call);
}

static void on_done(void *arg, const struct kube_answer *answer)
{
	bool whole = answer->failure == KUBE_OK && answer->http_status < 300;
	struct api_log *log = arg;

	log->call = NULL;
	if (log->left) {
		free_log(log);
		return;
	}
	if (!whole)
		log_v(1, "the log of %s breaks off: %s", log->path, answer->message);
	log->end = whole ? WATCH_END : WATCH_CUT;
	log->wake(log->arg);
}

void api_log_start(struct api_log *log, void (*wake)(void *arg), void *arg)
{
	const struct kube_request request = {
		.method = "GET", .path = log->path, .accept = "*/*", .timeout_ms = LOG_LASTS_MS};

	log->wake = wake;
	log->arg = arg;
	log->call = kube_client_stream(log->kubelet->client, &request, on_data, on_done, log);
}

ssize_t api_log_read(struct api_log *log, char *data, size_t max)
{
	size_t len = log->unread.len < max ? log->unread.len : max;

	if (len == 0)
		return log->end == 0 ? WATCH_NOTHING : log->end;
	memcpy(data, log->unread.data, len);
	buf_consume(&log->unread, len);
	return (ssize_t)len;
}

void api_log_free(struct api_log *log)
{
	if (log == NULL)
		return;
	log->left = true;
	if (log->call != NULL)
		kube_call_cancel(log->call);
	else
		free_log(log);
}
