/* Calls that wait until fewer calls are in flight, in a queue for each Framework (CONTRACT.md §12.20); see
 * reconciler.h. */
#include <stdlib.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "reconciler/reconciler.h"

void waiting_add(struct item *item, struct call *call)
{
	struct reconciler *reconciler = item->reconciler;
	struct pending_call *pending = mem_calloc(1, sizeof(*pending));

	pending->item = item;
	pending->call = *call;
	*call = (struct call){0}; /* the strings have moved */
	item->calls_on_way++;
	if (item->waiting_first == NULL) {
		item->waiting_first = pending;
		DL_APPEND2(reconciler->ring, item, prev_in_ring, next_in_ring);
	} else {
		item->waiting_last->next = pending;
	}
	item->waiting_last = pending;
	reconciler->waiting_count++;
}

struct pending_call *waiting_take(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;
	struct pending_call *pending = item->waiting_first;

	item->waiting_first = pending->next;
	reconciler->waiting_count--;
	if (item->waiting_first == NULL) {
		item->waiting_last = NULL;
		DL_DELETE2(reconciler->ring, item, prev_in_ring, next_in_ring);
	}
	return pending;
}

void waiting_end_turn(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;

	if (item->waiting_first == NULL)
		return;
	DL_DELETE2(reconciler->ring, item, prev_in_ring, next_in_ring);
	DL_APPEND2(reconciler->ring, item, prev_in_ring, next_in_ring);
}

void waiting_abandon(struct item *item)
{
	while (item->waiting_first != NULL) {
		pending_call_free(waiting_take(item));
		item->calls_on_way--;
	}
}

void waiting_abandon_all(struct reconciler *reconciler)
{
	while (reconciler->ring != NULL)
		waiting_abandon(reconciler->ring);
}

void pending_call_free(struct pending_call *pending)
{
	free(pending->call.name);
	free(pending->call.uid);
	free(pending->call.version);
	free(pending);
}
