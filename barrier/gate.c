/* Gates, and the answers of those who wait at them; see gate.h. */
#include "barrier/gate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/mem.h"

enum {
	LOOK_BACKOFF_MS = 200,
	LOOK_BACKOFF_CAP_MS = 5000,
	LOOK_BACKOFF_RESET_MS = 60 * 1000,
	AWAY_RETRY_SEC = 1,
};

struct gate *gate_find(const struct waiters *waiters, const char *key)
{
	struct gate *gate;

	HASH_FIND_STR(waiters->gates, key, gate);
	return gate;
}

static void on_again(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)events;
	ev_timer_stop(loop, timer);
	gate_consider(timer->data);
	gate_release(timer->data);
}

struct gate *gate_get(struct waiters *waiters, const char *ns, const char *name)
{
	cleanup_free char *key = mem_printf("%s/%s", ns, name);
	struct gate *gate = gate_find(waiters, key);

	if (gate != NULL)
		return gate;
	gate = mem_calloc(1, sizeof(*gate));
	gate->waiters = waiters;
	gate->key = mem_strdup(key);
	gate->ns = mem_strdup(ns);
	gate->name = mem_strdup(name);
	gate->backoff = (struct backoff){
		.base_ms = LOOK_BACKOFF_MS,
		.cap_ms = LOOK_BACKOFF_CAP_MS,
		.reset_ms = LOOK_BACKOFF_RESET_MS,
	};
	ev_init(&gate->again, on_again);
	gate->again.data = gate;
	HASH_ADD_KEYPTR(hh, waiters->gates, gate->key, strlen(gate->key), gate);
	waiters->counters.frameworks++;
	return gate;
}

void gate_free(struct gate *gate)
{
	if (gate->in_line)
		DL_DELETE2(gate->waiters->line, gate, prev_in_line, next_in_line);
	HASH_DEL(gate->waiters->gates, gate);
	ev_timer_stop(gate->waiters->loop, &gate->again);
	gate->waiters->counters.frameworks--;
	free(gate->key);
	free(gate->ns);
	free(gate->name);
	free(gate->uid);
	free(gate->version);
	free(gate->seen_version);
	free(gate);
}

void gate_release(struct gate *gate)
{
	if (gate->count == 0 && gate->look == NULL)
		gate_free(gate);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* Takes the waiter away and hands its request over. */
static struct serve_request *take(struct waiter *waiter)
{
	struct gate *gate = waiter->gate;
	struct serve_request *request = waiter->request;

	ev_timer_stop(gate->waiters->loop, &waiter->timer);
	DL_DELETE(gate->list, waiter);
	gate->count--;
	gate->waiters->counters.waiting--;
	free(waiter);
	return request;
}

void waiter_forget(struct waiter *waiter)
{
	waiter->gate->waiters->counters.left++;
	take(waiter);
}

void answer_passed(struct waiter *waiter, struct serve_answer *answer)
{
	waiter->gate->waiters->counters.passed++;
	serve_request_answer(take(waiter), answer);
}

void answer_absent(struct waiter *waiter, const char *why)
{
	struct gate *gate = waiter->gate;

	gate->waiters->counters.absent++;
	serve_request_fail(take(waiter), 404, -1, "Framework %s: %s", gate->key, why);
}

void answer_away(struct waiter *waiter, const char *why)
{
	waiter->gate->waiters->counters.sent_away++;
	serve_request_fail(take(waiter), 503, AWAY_RETRY_SEC, "%s", why);
}

void answer_waiting(struct waiter *waiter, int64_t ready, int64_t total, const char *missing)
{
	cleanup_free char *body = mem_printf("{\"ready\":%" PRId64 ",\"total\":%" PRId64 ",\"missing\":%s}\n", ready,
					     total, missing);

	waiter->gate->waiters->counters.timed_out++;
	serve_request_reply(take(waiter), 202, "application/json", body);
}

void answer_expired(struct waiter *waiter)
{
	const struct gate *gate = waiter->gate;
	struct readiness_entry entry;

	if (!readiness_synced(gate->waiters->readiness))
		answer_away(waiter, "the view of the cluster is not up to date: try again");
	else if (!readiness_find(gate->waiters->readiness, gate->key, &entry) || !entry.counted ||
		 entry.ready >= entry.total)
		answer_away(waiter, "the Framework could not be read in time: try again");
	else
		answer_waiting(waiter, entry.ready, entry.total, entry.missing);
}
