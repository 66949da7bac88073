/* Whose turn it is: each key at most once, rounds right before the loop sleeps (STYLE.md "Work gathered, done once
 * before sleep"); see reconciler.h. */
#include <stdlib.h>

#include "reconciler/reconciler.h"

/* Rounds in one go, so that answers and pings are not kept waiting by a long queue. */
enum { ROUNDS_AT_ONCE = 256 };

void queue_wake(struct item *item, int64_t at_ms)
{
	struct reconciler *reconciler = item->reconciler;
	int64_t now_ms = reconciler->ports.boot_ms();
	int64_t delay_ms = at_ms > now_ms ? at_ms - now_ms : 0;

	if (ev_is_active(&item->timer) && item->wake_ms <= at_ms)
		return;
	item->wake_ms = at_ms;
	ev_timer_stop(reconciler->loop, &item->timer);
	ev_now_update(reconciler->loop);
	/* One millisecond more, so that the round is not before its time. */
	ev_timer_set(&item->timer, (double)(delay_ms + 1) / 1000.0, 0.);
	ev_timer_start(reconciler->loop, &item->timer);
}

static void run_round(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;
	struct plan plan = {0};
	struct sync_time time = {
		.wall_ms = reconciler->ports.wall_ms(),
		.boot_ms = reconciler->ports.boot_ms(),
		.live = reconciler->live,
		.live_since_ms = reconciler->live_since_ms,
	};

	reconciler->rounds++;
	framework_sync(item->framework, &reconciler->config, &time, &reconciler->random, &plan);
	ev_timer_stop(reconciler->loop, &item->timer);
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

static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	struct reconciler *reconciler = prepare->data;

	(void)events;
	for (int i = 0; i < ROUNDS_AT_ONCE && reconciler->queue_first != NULL; i++) {
		struct item *item = take_first(reconciler);

		/* A range whose snapshot is not complete: its SNAPSHOT_END queues every key again. */
		if (range_set_has(&reconciler->ready, item->range))
			run_round(item);
	}
	if (reconciler->queue_first != NULL)
		ev_idle_start(loop, &reconciler->idle);
	else
		ev_idle_stop(loop, &reconciler->idle);
}

static void on_idle(struct ev_loop *loop, ev_idle *idle, int events)
{
	(void)loop;
	(void)idle;
	(void)events;
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	queue_add(timer->data);
}

void queue_init(struct reconciler *reconciler)
{
	ev_prepare_init(&reconciler->prepare, on_prepare);
	reconciler->prepare.data = reconciler;
	ev_prepare_start(reconciler->loop, &reconciler->prepare);
	ev_idle_init(&reconciler->idle, on_idle);
}

void queue_stop(struct reconciler *reconciler)
{
	ev_prepare_stop(reconciler->loop, &reconciler->prepare);
	ev_idle_stop(reconciler->loop, &reconciler->idle);
}

void queue_add(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;

	if (item->queued || item->orphan)
		return;
	if (item->timer.data == NULL) {
		ev_init(&item->timer, on_timer);
		item->timer.data = item;
	}
	item->queued = true;
	if (reconciler->queue_last == NULL)
		reconciler->queue_first = item;
	else
		reconciler->queue_last->next_queued = item;
	reconciler->queue_last = item;
	reconciler->queue_length++;
}

void queue_remove(struct item *item)
{
	struct reconciler *reconciler = item->reconciler;
	struct item *before = NULL;

	if (item->timer.data != NULL)
		ev_timer_stop(reconciler->loop, &item->timer);
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
