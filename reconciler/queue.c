/* The workqueue: each key is in it at most once. A heap holds the keys that are to be queued at a later time
 * (CONTRIBUTING.md §6.6); see reconciler.h. */
#include <stdlib.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "reconciler/reconciler.h"

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

void queue_forget_wake(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;
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

/* ---- the queue ---- */

void queue_add(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;

	if (item->queued || item->orphan)
		return;
	item->queued = true;
	item->queued_ms = reconciler->ports.boot_ms(reconciler->ports.context);
	DL_APPEND2(reconciler->queue_first, item, prev_queued, next_queued);
	reconciler->queue_length++;
	reconciler->adds++;
}

static void leave_queue(struct item *item)
{
	DL_DELETE2(item->reconciler->queue_first, item, prev_queued, next_queued);
	item->reconciler->queue_length--;
	item->queued = false;
}

void queue_add_due(struct reconciler *reconciler, int64_t now_ms)
{
	while (queue_next_ms(reconciler) <= now_ms) {
		struct item *item = reconciler->heap[0];

		queue_forget_wake(item);
		queue_add(item);
	}
}

struct item *queue_take_first(struct reconciler *reconciler)
{
	struct item *item = reconciler->queue_first;

	leave_queue(item);
	return item;
}

void queue_remove(struct item *item)
{
	queue_forget_wake(item);
	if (item->queued)
		leave_queue(item);
}

void queue_free(struct reconciler *reconciler)
{
	free(reconciler->heap);
}
