/* Reconciles the keys of the workqueue (ARCHITECTURE.md §4.4): takes a key, lets the core make a plan, and carries the
 * plan out; see reconciler.h. It has no loop: main.c runs it before the loop sleeps, and the simulator runs it at any
 * time. */
#include "reconciler/reconciler.h"

/* Reconciles in one go, so that answers and pings are not kept waiting by a long queue, nor by a few Frameworks that
 * take long: without pings the leases end. */
enum { RECONCILES_AT_ONCE = 256, RUN_MS = 100 };

static void reconcile(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;
	struct sync_time time = store_time(reconciler);
	struct plan plan = {0};
	bool folded = item->folded != NULL;

	reconciler->reconciles++;
	rest_begin(item);
	queue_forget_wake(item); /* the reconcile says anew when it wants to come back */
	framework_sync(item->framework, &reconciler->config, &time, &reconciler->random, &plan);
	if (plan.wake_ms != INT64_MAX)
		queue_wake(item, plan.wake_ms);
	apply_plan(item, &plan);
	plan_reset(&plan);
	if (folded) /* it was only looked at */
		rest_resume(item);
	store_release(item);
}

static bool leased(const struct reconciler *reconciler, uint32_t shard)
{
	return reconciler->ports.lease_left_ms(reconciler->ports.context, shard) > 0;
}

/* A lease begins with a message, after which the loop comes by here. */
static void take_up_leased(struct reconciler *reconciler)
{
	struct shard_set begun = {0};
	struct item *item;
	struct item *next;

	if (shard_set_empty(&reconciler->unleased))
		return;
	for (uint32_t shard = 0; shard < reconciler->shard_count; shard++) {
		if (!shard_set_has(&reconciler->unleased, shard) || !leased(reconciler, shard))
			continue;
		shard_set_remove(&reconciler->unleased, shard);
		shard_set_add(&begun, shard);
	}
	if (shard_set_empty(&begun))
		return;
	HASH_ITER(hh, reconciler->items, item, next)
		if (shard_set_has(&begun, item->shard))
			queue_add(item);
}

bool reconciler_run(struct reconciler *reconciler)
{
	int64_t now_ms = reconciler->ports.boot_ms(reconciler->ports.context);

	take_up_leased(reconciler);
	queue_add_due(reconciler, now_ms);
	for (int i = 0; i < RECONCILES_AT_ONCE && reconciler->queue_first != NULL &&
			(i == 0 || reconciler->ports.boot_ms(reconciler->ports.context) < now_ms + RUN_MS);
	     i++) {
		struct item *item = queue_take_first(reconciler);

		/* A shard whose snapshot is not complete: its SNAPSHOT_END queues every key again. */
		if (!shard_set_has(&reconciler->ready, item->shard) && !reconciler->leaving)
			continue;
		/* Without a lease before_send would refuse every call, and the calls would be tried again at once. */
		if (!leased(reconciler, item->shard)) {
			shard_set_add(&reconciler->unleased, item->shard);
		} else if (reconciler->leaving) {
			apply_last_write(item);
		} else {
			metrics_histogram_observe(&reconciler->waits, (double)(now_ms - item->queued_ms) / 1000);
			reconcile(item);
		}
	}
	return reconciler->queue_first != NULL || rest_fold(reconciler);
}
