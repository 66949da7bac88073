/* A reconciler's metrics; see metrics.h. Only counters are kept; all other values are read on each request. */
#include "reconciler/metrics.h"

#include "common/health/health.h"
#include "common/serve/metrics.h"
#include "reconciler/sync/state.h"

/* Beside the states: a Framework that has no status yet. */
enum { NO_STATUS = STATE_COUNT, ROWS };

struct census {
	uint64_t frameworks[ROWS];
	uint64_t tasks[STATE_COUNT];
	uint64_t malformed;
	uint64_t suspended;
};

static void count_tasks(struct census *census, const struct framework_attempt_status *attempt)
{
	for (size_t role = 0; role < attempt->role_count; role++)
		for (size_t index = 0; index < attempt->roles[role].task_count; index++)
			census->tasks[attempt->roles[role].tasks[index].state]++;
}

static void count_framework(struct census *census, const struct framework *framework)
{
	if (!framework->exists)
		return; /* only remains of it are known */
	census->malformed += framework->problem != NULL;
	census->suspended += framework->status.conditions[CONDITION_SUSPENDED].value == CONDITION_TRUE;
	if (!framework->has_status) {
		census->frameworks[NO_STATUS]++;
		return;
	}
	census->frameworks[framework->status.state]++;
	count_tasks(census, &framework->status.attempt);
}

static void count_folded(struct census *census, const struct folded *folded)
{
	if (!folded->exists)
		return;
	census->suspended += folded->suspended;
	census->frameworks[folded->has_status ? folded->state : NO_STATUS]++;
	for (int state = 0; state < STATE_COUNT; state++)
		census->tasks[state] += folded->tasks[state];
}

static void put_frameworks(struct buf *out, const struct reconciler *reconciler)
{
	static const char frameworks[] = "frameworkcontroller_frameworks";
	static const char tasks[] = "frameworkcontroller_tasks";
	struct census census = {0};

	for (const struct item *item = reconciler->items; item != NULL; item = item->hh.next) {
		if (item->folded != NULL)
			count_folded(&census, item->folded);
		else
			count_framework(&census, item->framework);
	}
	metrics_family(out, frameworks, "gauge", "Frameworks by state; state \"None\" means no status yet.");
	for (int state = 0; state < STATE_COUNT; state++)
		metrics_value(out, frameworks, (double)census.frameworks[state], "state",
			      attempt_state_name((enum attempt_state)state), NULL);
	metrics_value(out, frameworks, (double)census.frameworks[NO_STATUS], "state", "None", NULL);
	metrics_gauge(out, "frameworkcontroller_frameworks_malformed",
		      "Frameworks that are not reconciled because their spec or status is malformed.",
		      (double)census.malformed);
	metrics_gauge(out, "frameworkcontroller_frameworks_suspended", "Frameworks whose condition Suspended is True.",
		      (double)census.suspended);
	metrics_family(out, tasks, "gauge", "Tasks by state.");
	for (int state = 0; state < STATE_COUNT; state++)
		metrics_value(out, tasks, (double)census.tasks[state], "state",
			      attempt_state_name((enum attempt_state)state), NULL);
}

/* Named as controller-runtime's: the queue of keys that wait for a reconcile. */
static void put_queue(struct buf *out, const struct reconciler *reconciler)
{
	static const char queue[] = "framework";

	metrics_family(out, "workqueue_depth", "gauge", "Keys that wait for a reconcile.");
	metrics_value(out, "workqueue_depth", reconciler->queue_length, "name", queue, NULL);
	metrics_family(out, "workqueue_adds_total", "counter", "Keys put into the queue.");
	metrics_value(out, "workqueue_adds_total", (double)reconciler->adds, "name", queue, NULL);
	metrics_histogram_write(out, "workqueue_queue_duration_seconds", "How long keys wait for their reconcile.",
				"name", queue, &reconciler->waits);
	metrics_counter(out, "frameworkcontroller_reconciles_total", "Reconciles of Frameworks.",
			reconciler->reconciles);
	metrics_gauge(out, "frameworkcontroller_timers", "Keys whose next reconcile is scheduled for a later time.",
		      (double)reconciler->heap_count);
	metrics_gauge(out, "frameworkcontroller_calls_in_flight",
		      "Requests in flight, those that wait for the rate limit included.", reconciler->calls_on_way);
	metrics_gauge(out, "frameworkcontroller_calls_waiting", "Requests that wait because workerNumber is reached.",
		      reconciler->waiting_count);
	metrics_gauge(out, "frameworkcontroller_status_writes_in_flight",
		      "Writes of statuses in flight, those that wait for the rate limit included.",
		      reconciler->writes_on_way);
}

static void put_peer(struct buf *out, const struct session_counters *counters)
{
	metrics_counter(out, "frameworkcontroller_bus_objects_total", "Objects received from the watcher.",
			counters->objects);
	metrics_counter(out, "frameworkcontroller_bus_absents_total", "Deletions received from the watcher.",
			counters->absents);
	metrics_counter(out, "frameworkcontroller_bus_hellos_total", "HELLO messages sent to the watcher.",
			counters->hellos);
	metrics_counter(out, "frameworkcontroller_bus_pings_total", "Pings sent.", counters->pings);
	metrics_counter(out, "frameworkcontroller_bus_pongs_total", "Pongs received.", counters->pongs);
	metrics_counter(out, "frameworkcontroller_bus_leases_lost_total", "Times that the leases expired.",
			counters->leases_lost);
	metrics_counter(out, "frameworkcontroller_bus_sequence_gaps_total",
			"Times that messages from the watcher were lost.", counters->sequence_gaps);
	metrics_counter(out, "frameworkcontroller_bus_malformed_total", "Messages that could not be understood.",
			counters->malformed + counters->malformed_objects);
	metrics_counter(out, "frameworkcontroller_bus_stale_total", "Messages of a former watcher or session.",
			counters->stale);
}

void reconciler_metrics_write(struct buf *out, const struct reconciler_metrics *from)
{
	put_frameworks(out, from->reconciler);
	put_queue(out, from->reconciler);
	metrics_gauge(out, "frameworkcontroller_shards_owned", "Shards granted to this reconciler.",
		      shard_set_count(from->shards));
	metrics_gauge(out, "frameworkcontroller_live", "Whether the watcher answers and all its watches are connected.",
		      from->reconciler->live);
	put_peer(out, from->session);
	health_put_bus(out, from->bus);
	health_put_client(out, from->client);
}
