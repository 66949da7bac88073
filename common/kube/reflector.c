/* List and watch for ever; see reflector.h.
 *
 *            ┌────────────── 410, or no version yet ──────────────┐
 *            ▼                                                    │
 *   IDLE → LIST ── all pages read ──▶ WATCH ── ended ──▶ WATCH (at once, or after a PAUSE)
 *            │ ▲                        │ ▲
 *            ▼ │                        ▼ │
 *           PAUSE (backoff)            PAUSE (backoff)
 *
 * Each list and each watch ends with an outcome. Only on_ended decides by it what is next. */
#include "common/kube/reflector.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/kube/reflector_state.h"

enum { PAGE_SIZE = 500 };
enum { OBJECT_MAX_BYTES = 16 * 1024 * 1024 };
enum { BACKOFF_BASE_MS = 800, BACKOFF_CAP_MS = 30000, BACKOFF_RESET_MS = 120000 };
/* So much silence between initial events is a server that ignores sendInitialEvents: it may send none, and sends no
 * end. */
enum { INITIAL_IDLE_MS = 30000 };
/* A Retry-After beyond this is not believed. */
enum { RETRY_AFTER_CAP_MS = 10 * 60 * 1000 };

/* ---- what is next ---- */

/* Waits for the backoff's delay, at least least_ms, before the next request. */
static void pause_for(struct reflector *reflector, int64_t least_ms)
{
	int64_t wait_ms = backoff_next(&reflector->backoff, &reflector->random, clock_boot_ms());

	if (least_ms > RETRY_AFTER_CAP_MS)
		least_ms = RETRY_AFTER_CAP_MS;
	if (wait_ms < least_ms)
		wait_ms = least_ms + random_between(&reflector->random, 0, reflector->backoff.base_ms);
	reflector->phase = PAUSE;
	reflector_set_live(reflector, false);
	if (!reflector->closed)
		reflector_arm(reflector, wait_ms);
}

/* The rest of a list; a list, or a watch with initial events, when there is no version; else a watch. */
static void go_on(struct reflector *reflector)
{
	if (reflector->closed)
		return;
	if (reflector->list_continue != NULL)
		reflector_list_go_on(reflector);
	else if (reflector->version == NULL && (!reflector->watch_list || reflector->list_first))
		reflector_list_start(reflector);
	else
		reflector_watch_start(reflector);
}

/* The history since our version is gone: list again; the second time in a row without asking for a version, and after
 * a wait. */
static void version_gone(struct reflector *reflector, const char *message)
{
	log_v(1, "%s: listing again: %s", reflector->what, message);
	mem_replace(&reflector->version, NULL);
	reflector_set_live(reflector, false);
	if (++reflector->gone_in_row == 1) {
		go_on(reflector);
		return;
	}
	reflector->plain_list = true;
	reflector_report_trouble(reflector, "lists expire at once", KUBE_OK, 410, message);
	pause_for(reflector, 0);
}

static void on_ended(struct reflector *reflector, const struct reflector_outcome *outcome)
{
	switch (outcome->end) {
	case REFLECTOR_ENDED: go_on(reflector); break;
	case REFLECTOR_FAILED: pause_for(reflector, outcome->retry_after_ms); break;
	case REFLECTOR_GONE: version_gone(reflector, outcome->message); break;
	}
}

static void timer_due(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct reflector *reflector = timer->data;

	(void)loop;
	(void)events;
	reflector_enter(reflector);
	if (reflector->phase == PAUSE)
		go_on(reflector);
	else if (reflector->phase == WATCH && reflector->call != NULL)
		reflector_watch_late(reflector);
	reflector_leave(reflector);
}

/* ---- public ---- */

struct reflector *reflector_new(struct ev_loop *loop, struct kube_client *client,
				const struct reflector_options *options, const struct reflector_handler *handler,
				void *arg)
{
	struct reflector *reflector = mem_calloc(1, sizeof(*reflector));

	reflector->loop = loop;
	reflector->client = client;
	reflector->handler = handler;
	reflector->arg = arg;
	reflector->take = handler->raw != NULL ? handler->raw : reflector_take_tree;
	reflector->take_arg = handler->raw != NULL ? arg : reflector;
	reflector->ended = on_ended;
	reflector->path = mem_strdup(options->path);
	reflector->what = mem_strdup(options->what == NULL ? options->path : options->what);
	if (options->label_selector != NULL && *options->label_selector != '\0') {
		struct buf encoded = {0};

		reflector_put_encoded(&encoded, options->label_selector);
		reflector->selector = buf_steal(&encoded);
	}
	reflector->watch_list = options->watch_list;
	reflector->initial_idle_ms = options->initial_idle_ms > 0 ? options->initial_idle_ms : INITIAL_IDLE_MS;
	reflector->metadata_only = options->metadata_only;
	reflector->page_size = options->page_size > 0 ? options->page_size : PAGE_SIZE;
	reflector->object_max = options->object_max > 0 ? options->object_max : OBJECT_MAX_BYTES;
	reflector->pieces.max = reflector->object_max;
	reflector->backoff = (struct backoff){
		.base_ms = options->backoff_base_ms > 0 ? options->backoff_base_ms : BACKOFF_BASE_MS,
		.cap_ms = BACKOFF_CAP_MS,
		.reset_ms = BACKOFF_RESET_MS,
	};
	random_init(&reflector->random);
	ev_timer_init(&reflector->timer, timer_due, 0.0, 0.0);
	reflector->timer.data = reflector;
	return reflector;
}

void reflector_note_version(const struct reflector_object *object, const char *version)
{
	if (object->version != NULL && strlen(version) < REFLECTOR_VERSION_SIZE)
		memcpy(object->version, version, strlen(version) + 1);
}

void reflector_start(struct reflector *reflector)
{
	if (reflector->phase == IDLE)
		go_on(reflector);
}

void reflector_watch_again(struct reflector *reflector)
{
	if (reflector->phase == WATCH && reflector->call != NULL && reflector->connected && !reflector->initial &&
	    reflector->verdict == NO_VERDICT)
		reflector_stop_call(reflector, VERDICT_AGAIN, "");
}

void reflector_free(struct reflector *reflector)
{
	if (reflector != NULL)
		reflector_close(reflector);
}
