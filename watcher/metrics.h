/* The watcher's metrics (ARCHITECTURE.md §9.1; manifests/METRICS.md). The reconcilers have the metrics of Frameworks'
 * states. */
#ifndef WATCHER_METRICS_H
#define WATCHER_METRICS_H

#include "common/base/buf.h"
#include "common/bus/socket.h"
#include "common/kube/client.h"
#include "watcher/pool/pool.h"
#include "watcher/shards/router.h"
#include "watcher/view/cache.h"

struct watcher_metrics {
	const struct kube_client *client;
	const struct cache *cache;
	const struct router *router; /* NULL: another watcher leads */
	const struct bus_counters *bus;
	const struct bus_gate_counters *gate;
	const struct pool *pool; /* NULL: none */
	int workers;             /* slots of the pool */
	const char *lease_name;
	uint32_t shard_count;
	bool synced;
	bool live; /* all watches are connected */
};

/* Appends Prometheus text. */
void watcher_metrics_write(struct buf *out, const struct watcher_metrics *from);

#endif
