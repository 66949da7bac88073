/* The watcher's metrics; see metrics.h. Each request of /metrics reads the present values. */
#include "watcher/metrics.h"

#include "common/health/health.h"
#include "common/serve/metrics.h"

static void put_cache(struct buf *out, const struct watcher_metrics *from)
{
	static const char name[] = "frameworkcontroller_cached_objects";

	metrics_gauge(out, "frameworkcontroller_synced", "Whether every kind was listed.", from->synced);
	metrics_gauge(out, "frameworkcontroller_live", "Whether all watches are connected.", from->live);
	metrics_family(out, name, "gauge", "Objects in the cache, those of no Framework included.");
	for (int kind = 0; kind < KIND_COUNT; kind++)
		metrics_value(out, name, (double)cache_count(from->cache, (enum object_kind)kind), "kind",
			      object_kind_name((enum object_kind)kind), NULL);
}

static void put_shards(struct buf *out, const struct watcher_metrics *from)
{
	uint32_t held = 0;

	for (uint32_t shard = 0; shard < from->shard_count; shard++)
		held += shard_table_holder(router_shards(from->router), shard) != NULL;
	metrics_gauge(out, "frameworkcontroller_shards", "Shards of the key space.", from->shard_count);
	metrics_gauge(out, "frameworkcontroller_shards_held",
		      "Shards that have an owner; Frameworks in other shards are not reconciled.", held);
	metrics_gauge(out, "frameworkcontroller_epoch", "Epoch of this leader; each new leader has a larger one.",
		      (double)router_epoch(from->router));
}

static void put_peers(struct buf *out, const struct router *router)
{
	const struct router_counters *counters = router_counters(router);

	metrics_gauge(out, "frameworkcontroller_bus_peers", "Reconcilers and barriers connected.",
		      (double)router_peer_count(router));
	metrics_gauge(out, "frameworkcontroller_bus_backlog", "Objects that wait to be sent, over all peers.",
		      (double)router_backlog(router));
	metrics_counter(out, "frameworkcontroller_bus_updates_total", "Objects sent to peers.", counters->updates);
	metrics_counter(out, "frameworkcontroller_bus_absents_total", "Deletions sent to peers.", counters->absents);
	metrics_counter(out, "frameworkcontroller_bus_hellos_total", "HELLO messages received.", counters->hellos);
	metrics_counter(out, "frameworkcontroller_bus_busy_total",
			"HELLO messages refused for now because another process has the name.", counters->busy);
	metrics_counter(out, "frameworkcontroller_bus_assigns_total", "Assignments of shards sent.", counters->assigns);
	metrics_counter(out, "frameworkcontroller_bus_snapshots_total", "Snapshots of shards sent completely.",
			counters->snapshots);
	metrics_counter(out, "frameworkcontroller_bus_pings_total", "Pings received.", counters->pings);
	metrics_counter(out, "frameworkcontroller_bus_sequence_gaps_total",
			"Gaps in the sequence of messages from peers.", counters->sequence_gaps);
	metrics_counter(out, "frameworkcontroller_bus_malformed_total", "Messages that could not be understood.",
			counters->malformed + counters->unknown_messages);
	metrics_counter(out, "frameworkcontroller_bus_peers_lost_total", "Peers whose connection was lost.",
			counters->peers_lost);
}

static void put_refused(struct buf *out, const struct router *router, const struct bus_gate_counters *gate)
{
	static const char name[] = "frameworkcontroller_bus_refused_total";

	metrics_family(out, name, "counter", "Connections, HELLO messages and other messages refused.");
	metrics_value(out, name, (double)gate->unknown_key, "reason", "unknown_key", NULL);
	metrics_value(out, name, (double)gate->handshake, "reason", "handshake", NULL);
	metrics_value(out, name, (double)gate->revoked, "reason", "revoked_key", NULL);
	metrics_value(out, name, (double)gate->misnamed, "reason", "name", NULL);
	if (router != NULL)
		metrics_value(out, name, (double)router_counters(router)->refused, "reason", "hello", NULL);
	metrics_counter(out, "frameworkcontroller_bus_connections_total", "Connections, refused ones included.",
			gate->accepted);
}

/* As client-go names it. */
static void put_election(struct buf *out, const struct watcher_metrics *from)
{
	static const char name[] = "leader_election_master_status";

	metrics_family(out, name, "gauge", "Whether this process holds the Lease of that name.");
	metrics_value(out, name, from->router != NULL, "name", from->lease_name, NULL);
}

static void put_end(void *arg, const char *reason, uint64_t count)
{
	metrics_value(arg, "frameworkcontroller_pool_ends_total", (double)count, "reason", reason, NULL);
}

static void put_pool(struct buf *out, const struct watcher_metrics *from)
{
	int running = 0;

	for (int slot = 0; slot < from->workers; slot++)
		running += pool_pid(from->pool, slot) != 0;
	metrics_gauge(out, "frameworkcontroller_pool_workers",
		      "Reconcilers that the watcher runs as children (--workers).", from->workers);
	metrics_gauge(out, "frameworkcontroller_pool_workers_running", "Children that are running.", running);
	metrics_counter(out, "frameworkcontroller_pool_restarts_total", "Children started again.",
			pool_restarts(from->pool));
	metrics_family(out, "frameworkcontroller_pool_ends_total", "counter", "Children that ended, by reason.");
	pool_ends(from->pool, put_end, out);
}

void watcher_metrics_write(struct buf *out, const struct watcher_metrics *from)
{
	put_cache(out, from);
	put_election(out, from);
	if (from->router != NULL) {
		put_shards(out, from);
		put_peers(out, from->router);
	}
	put_refused(out, from->router, from->gate);
	health_put_bus(out, from->bus);
	if (from->pool != NULL)
		put_pool(out, from);
	health_put_client(out, from->client);
}
