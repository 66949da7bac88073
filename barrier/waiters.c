/* Those who come and wait; see waiters.h and gate.h. */
#include "barrier/waiters.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "barrier/gate.h"
#include "common/base/mem.h"

enum { FULL_RETRY_SEC = 1 };

struct waiters *waiters_new(struct ev_loop *loop, struct kube_client *client, struct readiness *readiness,
			    const struct waiters_options *options)
{
	struct waiters *waiters = mem_calloc(1, sizeof(*waiters));

	waiters->loop = loop;
	waiters->client = client;
	waiters->readiness = readiness;
	waiters->options = *options;
	random_init(&waiters->random);
	metrics_histogram_init(&waiters->counters.release, 0.001, 2, 15);
	return waiters;
}

void waiters_free(struct waiters *waiters)
{
	struct gate *gate;
	struct gate *next;

	if (waiters == NULL)
		return;
	HASH_ITER(hh, waiters->gates, gate, next)
		gate_free(gate);
	free(waiters);
}

bool waiters_wanted(const struct waiters *waiters, const char *key)
{
	return gate_find(waiters, key) != NULL;
}

void waiters_changed(struct waiters *waiters, const char *key)
{
	struct gate *gate = gate_find(waiters, key);

	if (gate == NULL)
		return;
	gate_consider(gate);
	gate_release(gate);
}

static void on_gone(void *arg)
{
	struct waiter *waiter = arg;
	struct gate *gate = waiter->gate;

	waiter_forget(waiter);
	/* else looks for clients that come and go at once would pile up in the rate limit */
	if (gate->count == 0 && gate->look != NULL && gate->look_number == 0)
		kube_call_cancel(gate->look);
	gate_release(gate);
}

static void on_expired(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct waiter *waiter = timer->data;
	struct gate *gate = waiter->gate;

	(void)loop;
	(void)events;
	if (gate->look != NULL || gate->in_line) {
		waiter->expired = true;
		return;
	}
	answer_expired(waiter);
	gate_release(gate);
}

void waiters_add(struct waiters *waiters, struct serve_request *request, const char *ns, const char *name,
		 const char *uid, int64_t timeout_ms)
{
	struct gate *gate = gate_get(waiters, ns, name);
	struct waiter *waiter;

	if (gate->count >= waiters->options.max_per_framework) {
		serve_request_fail(request, 429, FULL_RETRY_SEC, "%zu wait for Framework %s: no more may", gate->count,
				   gate->key);
		return;
	}
	waiter = mem_calloc(1, sizeof(*waiter));
	waiter->gate = gate;
	waiter->request = request;
	waiter->uid = uid == NULL || *uid == '\0' ? NULL : uid;
	waiter->number = ++waiters->last_number;
	ev_timer_init(&waiter->timer, on_expired, (double)timeout_ms / 1000, 0);
	waiter->timer.data = waiter;
	ev_timer_start(waiters->loop, &waiter->timer);
	DL_APPEND(gate->list, waiter);
	gate->count++;
	waiters->counters.waiting++;
	serve_request_park(request, on_gone, waiter);
	gate_observe(gate);
	if (waiter->uid != NULL && gate->uid != NULL && strcmp(waiter->uid, gate->uid) != 0)
		gate->must_look = true;
	gate_consider(gate);
}

void waiters_send_away(struct waiters *waiters, const char *reason)
{
	struct gate *gate;
	struct gate *next;

	HASH_ITER(hh, waiters->gates, gate, next) {
		while (gate->list != NULL)
			answer_away(gate->list, reason);
		gate_release(gate);
	}
}

const struct waiters_counters *waiters_counters(const struct waiters *waiters)
{
	return &waiters->counters;
}
