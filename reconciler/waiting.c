/* Calls that wait until fewer calls are in flight, in a queue for each Framework (CONTRACT.md §12.20); see
 * reconciler.h. */
#include <stdlib.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "reconciler/reconciler.h"

/* Calls of a Framework's turn. Most attempts get their ConfigMap and all their Pods in one turn. So the Pods run at
 * about the same time, their changes share a status write, and a gang is complete while others have not begun. */
enum { TURN_CALLS = 32 };
/* Of so many turns that begin, one is of a Framework whose calls fail, if others wait: such calls come again and again,
 * by the hundred when a quota is used up. */
enum { FAILING_PART = 4 };

static int compare_turns(const struct item *a, const struct item *b)
{
	return (a->turn > b->turn) - (a->turn < b->turn);
}

/* The oldest turn first. So one that waits for an answer does not end behind those that began meanwhile. */
static void list(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;

	item->turns = item->turn_calls > 0               ? &reconciler->in_turn
		      : framework_fails(item->framework) ? &reconciler->failing_turns
							 : &reconciler->turns;
	if (item->turn_calls > 0)
		DL_INSERT_INORDER2(*item->turns, item, compare_turns, prev_in_turn, next_in_turn);
	else
		DL_APPEND2(*item->turns, item, prev_in_turn, next_in_turn);
}

static void unlist(struct item *item)
{
	DL_DELETE2(*item->turns, item, prev_in_turn, next_in_turn);
}

void waiting_add(struct item *item, struct call *call)
{
	struct pending_call *pending = mem_calloc(1, sizeof(*pending));

	pending->item = item;
	pending->call = *call;
	*call = (struct call){0}; /* the strings have moved */
	item->calls_on_way++;
	if (item->waiting_first == NULL) {
		item->waiting_first = pending;
		list(item);
	} else {
		item->waiting_last->next = pending;
	}
	item->waiting_last = pending;
	item->reconciler->waiting_count++;
}

struct item *waiting_next(const struct reconciler *reconciler)
{
	bool failing = reconciler->turns == NULL ||
		       (reconciler->failing_turns != NULL && reconciler->turn_count % FAILING_PART == 0);

	if (reconciler->in_turn != NULL)
		return reconciler->in_turn;
	return failing ? reconciler->failing_turns : reconciler->turns;
}

struct pending_call *waiting_take(struct item *item)
{
	struct pending_call *pending = item->waiting_first;

	item->waiting_first = pending->next;
	item->reconciler->waiting_count--;
	if (item->waiting_first == NULL) {
		item->waiting_last = NULL;
		unlist(item);
	}
	return pending;
}

void waiting_started(struct item *item)
{
	if (item->waiting_first != NULL)
		unlist(item);
	if (item->turn_calls == 0)
		item->turn = item->reconciler->turn_count++;
	item->turn_calls = (item->turn_calls + 1) % TURN_CALLS;
	if (item->waiting_first != NULL)
		list(item);
}

void waiting_end_turn(struct item *item)
{
	bool waits = item->waiting_first != NULL;

	if (item->turn_calls == 0)
		return;
	if (waits)
		unlist(item);
	item->turn_calls = 0;
	if (waits)
		list(item);
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
	struct item *item;

	while ((item = waiting_next(reconciler)) != NULL)
		waiting_abandon(item);
}

void pending_call_free(struct pending_call *pending)
{
	free(pending->call.name);
	free(pending->call.uid);
	free(pending->call.version);
	free(pending);
}
