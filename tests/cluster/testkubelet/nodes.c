/* The Node objects behind the node names: created at the start if the server knows Nodes, for people who look. */
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "tests/cluster/testkubelet/internal.h"
#include "tests/cluster/testkubelet/logserver.h"

enum { CALL_TIMEOUT_MS = 10000 };

/* One Node on its way to being registered; owned by the call under way. */
struct registration {
	struct kubelet *kubelet;
	int node;
	bool created;
};

static void register_next(struct kubelet *kubelet, int node);

static void put_condition(struct buf *body, const char *type, const char *status, const char *reason, const char *now)
{
	buf_json_next(body);
	buf_printf(body,
		   "{\"type\":\"%s\",\"status\":\"%s\",\"reason\":\"%s\",\"lastHeartbeatTime\":\"%s\","
		   "\"lastTransitionTime\":\"%s\"}",
		   type, status, reason, now, now);
}

static void put_status(struct buf *body, const struct kubelet *kubelet, int node)
{
	/* What such a node offers: more than any test asks for. */
	static const char resources[] = "{\"cpu\":\"1024\",\"memory\":\"4Ti\",\"pods\":\"100000\"}";
	char now[TIME_RFC3339_SIZE];

	time_format_rfc3339(clock_wall_ms() / 1000, now);
	buf_puts(body, "{\"status\":{\"conditions\":[");
	put_condition(body, "Ready", "True", "KubeletReady", now);
	put_condition(body, "MemoryPressure", "False", "KubeletHasSufficientMemory", now);
	put_condition(body, "DiskPressure", "False", "KubeletHasNoDiskPressure", now);
	put_condition(body, "PIDPressure", "False", "KubeletHasSufficientPID", now);
	buf_printf(body, "],\"capacity\":%s,\"allocatable\":%s,\"addresses\":[", resources, resources);
	buf_printf(body, "{\"type\":\"InternalIP\",\"address\":\"%s\"},{\"type\":\"Hostname\",\"address\":\"%s\"}",
		   kubelet->host_ips[node], kubelet->node_names[node]);
	/* Where it listens, for API servers: a node's other address need not be one of this machine. */
	buf_puts(body, ",{\"type\":\"InternalDNS\",\"address\":\"localhost\"}]");
	if (kubelet->log_server != NULL)
		buf_printf(body, ",\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":%u}}",
			   log_server_port(kubelet->log_server));
	buf_puts(body, ",\"nodeInfo\":{\"machineID\":\"\",\"systemUUID\":\"\",\"bootID\":\"\",\"kernelVersion\":\"\","
		       "\"osImage\":\"fc-testkubelet\",\"containerRuntimeVersion\":\"test://1.0\","
		       "\"kubeletVersion\":\"fc-testkubelet\",\"kubeProxyVersion\":\"\",\"operatingSystem\":\"linux\","
		       "\"architecture\":\"amd64\"}}}");
}

static void on_answer(void *arg, const struct kube_answer *answer);

static void call(struct registration *registration)
{
	struct kubelet *kubelet = registration->kubelet;
	const char *name = kubelet->node_names[registration->node];
	cleanup_free char *path = mem_printf("/api/v1/nodes/%s/status", name);
	cleanup_buf struct buf body = {0};
	struct kube_request request = {.timeout_ms = CALL_TIMEOUT_MS};

	if (registration->created) {
		request.method = "PATCH";
		request.path = path;
		request.content_type = "application/merge-patch+json";
		put_status(&body, kubelet, registration->node);
	} else {
		request.method = "POST";
		request.path = "/api/v1/nodes";
		buf_printf(&body,
			   "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":"
			   "{\"kubernetes.io/hostname\":\"%s\",\"kubernetes.io/os\":\"linux\"}}}",
			   name, name);
	}
	request.body = body.data;
	request.body_len = body.len;
	kube_client_call(kubelet->client, &request, on_answer, registration);
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct registration *registration = arg;
	struct kubelet *kubelet = registration->kubelet;
	int node = registration->node;
	int status = answer->failure == KUBE_OK ? answer->http_status : 0;

	if (!registration->created && ((status >= 200 && status < 300) || status == 409)) {
		registration->created = true;
		call(registration);
		return;
	}
	free(registration);
	if (answer->failure == KUBE_CANCELLED)
		return;
	if (status >= 200 && status < 300)
		register_next(kubelet, node + 1);
	else
		log_v(1, "Node %s is not registered; Pods run all the same: %s", kubelet->node_names[node],
		      answer->message);
}

static void register_next(struct kubelet *kubelet, int node)
{
	struct registration *registration;

	if (kubelet->stopping || node >= kubelet->options.nodes.count)
		return;
	registration = mem_calloc(1, sizeof(*registration));
	registration->kubelet = kubelet;
	registration->node = node;
	call(registration);
}

void nodes_register(struct kubelet *kubelet)
{
	register_next(kubelet, 0);
}
