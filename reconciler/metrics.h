/* The metrics of a reconciler (ARCHITECTURE.md §9.1; manifests/METRICS.md). Only the owner of a Framework counts it, so
 * a sum over all reconcilers is the number in the cluster. */
#ifndef RECONCILER_METRICS_H
#define RECONCILER_METRICS_H

#include "common/base/buf.h"
#include "common/bus/session.h"
#include "common/bus/socket.h"
#include "reconciler/reconciler.h"

struct reconciler_metrics {
	const struct reconciler *reconciler;
	const struct shard_set *shards; /* held now */
	const struct session_counters *session;
	const struct bus_counters *bus;
	const struct kube_client *client;
};

/* Appends the metrics in the Prometheus text format. Reads every Task: 100 000 Tasks take some milliseconds. */
void reconciler_metrics_write(struct buf *out, const struct reconciler_metrics *from);

#endif
