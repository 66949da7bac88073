/* The metrics of all processes; see health.h. */
#include "common/health/health.h"

#include <stdio.h>

#include "common/serve/metrics.h"

void health_put_client(struct buf *out, const struct kube_client *client)
{
	static const char name[] = "rest_client_requests_total";
	size_t count;
	const struct kube_counter *rows = kube_client_counters(client, &count);

	metrics_family(out, name, "counter", "Requests to the API server.");
	for (size_t i = 0; i < count; i++) {
		char code[16];

		snprintf(code, sizeof(code), "%d", rows[i].code);
		metrics_value(out, name, (double)rows[i].count, "code", rows[i].code == 0 ? "<error>" : code, "method",
			      rows[i].method, "resource", rows[i].resource, NULL);
	}
}

void health_put_bus(struct buf *out, const struct bus_counters *counters)
{
	metrics_counter(out, "frameworkcontroller_bus_messages_received_total", "Messages received.",
			counters->received);
	metrics_counter(out, "frameworkcontroller_bus_messages_sent_total", "Messages sent.", counters->sent);
	metrics_counter(out, "frameworkcontroller_bus_messages_dropped_total",
			"Messages dropped because they were malformed or too long.",
			counters->dropped_malformed + counters->dropped_oversized);
	metrics_counter(out, "frameworkcontroller_bus_send_failures_total",
			"Messages that could not be sent; the peer gets a resync.", counters->send_failed);
}
