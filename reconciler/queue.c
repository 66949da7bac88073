/* Whose turn it is: each key at most once in the queue, and a heap of the keys that asked to be woken (CONTRIBUTING.md
 * §6.6); see reconciler.h. No loop of its own: main.c runs it before the loop sleeps, the simulator when it pleases. */
#include <stdlib.h>

#include "common/base/mem.h"
#include "reconciler/reconciler.h"

/* Reconciles in one go, so that answers and pings are not kept waiting by a long queue. */
enum { RECONCILES_AT_ONCE = 256 };

/* ---- the heap of wake-ups ---- */

/* heap_place counts from 1, so that 0 means "not in the heap". */
static void place(struct reconciler *reconciler, size_t at, struct item *item)
{
	reconciler->heap[at - 1] = item;
	item->heap_place = at;
}

static void sift_up(struct reconciler *reconciler, struct item *item)
{
	size_t at = item->heap_place;

	while (at > 1 && reconciler->heap[at / 2 - 1]->wake_ms > item->wake_ms) {
		place(reconciler, at, reconciler->heap[at / 2 - 1]);
		at /= 2;
	}
	place(reconciler, at, item);
}

static void sift_down(struct reconciler *reconciler, struct item *item)
{
	size_t at = item->heap_place;

	for (size_t child = at * 2; child <= reconciler->heap_count; child = at * 2) {
		if (child < reconciler->heap_count &&
		    reconciler->heap[child]->wake_ms < reconciler->heap[child - 1]->wake_ms)
			child++;
		if (reconciler->heap[child - 1]->wake_ms >= item->wake_ms)
			break;
		place(reconciler, at, reconciler->heap[child - 1]);
		at = child;
	}
	place(reconciler, at, item);
}

static void heap_remove(struct reconciler *reconciler, struct item *item)
{
	struct item *last;

	if (item->heap_place == 0)
		return;
	last = reconciler->heap[--reconciler->heap_count];
	if (last != item) {
		place(reconciler, item->heap_place, last);
		sift_up(reconciler, last);
		sift_down(reconciler, last);
	}
	item->heap_place = 0;
}

void queue_wake(struct item *item, int64_t at_ms)
{
	struct reconciler *reconciler = item->reconciler;

	if (item->orphan || (item->heap_place != 0 && item->wake_ms <= at_ms))
		return;
	item->wake_ms = at_ms;
	if (item->heap_place != 0) {
		sift_up(reconciler, item);
		return;
	}
	if (reconciler->heap_count == reconciler->heap_cap) {
		reconciler->heap_cap = reconciler->heap_cap == 0 ? 64 : reconciler->heap_cap * 2;
		reconciler->heap = mem_realloc(reconciler->heap, reconciler->heap_cap, sizeof(*reconciler->heap));
	}
	place(reconciler, ++reconciler->heap_count, item);
	sift_up(reconciler, item);
}

int64_t queue_next_ms(const struct reconciler *reconciler)
{
	return reconciler->heap_count == 0 ? INT64_MAX : reconciler->heap[0]->wake_ms;
}

/* ---- reconciles ---- */

static void run_reconcile(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;
	struct plan plan = {0};
	struct sync_time time = {
		.wall_ms = reconciler->ports.wall_ms(reconciler->ports.context),
		.boot_ms = reconciler->ports.boot_ms(reconciler->ports.context),
		.live = reconciler->live,
		.live_since_ms = reconciler->live_since_ms,
	};

	reconciler->reconciles++;
	heap_remove(reconciler, item); /* the reconcile says anew when it wants to come back */
	framework_sync(item->framework, &reconciler->config, &time, &reconciler->random, &plan);
	if (plan.wake_ms != INT64_MAX)
		queue_wake(item, plan.wake_ms);
	apply_plan(item, &plan);
	plan_reset(&plan);
}

static struct item *take_first(struct reconciler *reconciler)
{
	struct item *item = reconciler->queue_first;

	reconciler->queue_first = item->next_queued;
	if (reconciler->queue_first == NULL)
		reconciler->queue_last = NULL;
	reconciler->queue_length--;
	item->queued = false;
	item->next_queued = NULL;
	return item;
}

static bool leased(const struct reconciler *reconciler, uint32_t range)
{
	return reconciler->ports.lease_left_ms(reconciler->ports.context, range) > 0;
}

/* A lease begins with a message, after which the loop comes by here. */
static void take_up_leased(struct reconciler *reconciler)
{
	struct range_set begun = {0};
	struct item *item;
	struct item *next;

	if (range_set_empty(&reconciler->unleased))
		return;
	for (uint32_t range = 0; range < reconciler->shards; range++) {
		if (!range_set_has(&reconciler->unleased, range) || !leased(reconciler, range))
			continue;
		range_set_remove(&reconciler->unleased, range);
		range_set_add(&begun, range);
	}
	if (range_set_empty(&begun))
		return;
	HASH_ITER(hh, reconciler->items, item, next)
		if (range_set_has(&begun, item->range))
			queue_add(item);
}

bool queue_run(struct reconciler *reconciler)
{
	int64_t now_ms = reconciler->ports.boot_ms(reconciler->ports.context);

	take_up_leased(reconciler);
	while (queue_next_ms(reconciler) <= now_ms) {
		struct item *item = reconciler->heap[0];

		heap_remove(reconciler, item);
		queue_add(item);
	}
	for (int i = 0; i < RECONCILES_AT_ONCE && reconciler->queue_first != NULL; i++) {
		struct item *item = take_first(reconciler);

		/* A range whose snapshot is not complete: its SNAPSHOT_END queues every key again. */
		if (!range_set_has(&reconciler->ready, item->range) && !reconciler->leaving)
			continue;
		/* Without a lease every call would be refused at the door, and tried again at once. */
		if (!leased(reconciler, item->range)) {
			range_set_add(&reconciler->unleased, item->range);
		} else if (reconciler->leaving) {
			apply_last_write(item);
		} else {
			metrics_histogram_observe(&reconciler->waits, (double)(now_ms - item->queued_ms) / 1000);
			run_reconcile(item);
			store_release(item);
		}
	}
	return reconciler->queue_first != NULL;
}

void queue_add(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;

	if (item->queued || item->orphan)
		return;
	item->queued = true;
	item->queued_ms = reconciler->ports.boot_ms(reconciler->ports.context);
	if (reconciler->queue_last == NULL)
		reconciler->queue_first = item;
	else
		reconciler->queue_last->next_queued = item;
	reconciler->queue_last = item;
	reconciler->queue_length++;
	reconciler->adds++;
}

void queue_remove(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;
	struct item *before = NULL;

	heap_remove(reconciler, item);
	if (!item->queued)
		return;
	for (struct item *at = reconciler->queue_first; at != item; at = at->next_queued)
		before = at;
	if (before == NULL)
		reconciler->queue_first = item->next_queued;
	else
		before->next_queued = item->next_queued;
	if (reconciler->queue_last == item)
		reconciler->queue_last = before;
	item->queued = false;
	item->next_queued = NULL;
	reconciler->queue_length--;
}
