/* Waiters and the looks that release them; see waiters.h.
 *
 * A gate stands before each Framework that is waited for. It looks (a GET) when the view says that the gang is
 * complete, and for waiters that came since the last look to a Framework the view does not know or has not counted. One
 * look at a time; its answer counts for those who had come when it was sent. */
#include "barrier/waiters.h"

#include <ev.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/random.h"
#include "common/base/version.h"
#include "common/framework/gang.h"
#include "common/framework/names.h"
#include "common/kube/backoff.h"

enum {
	LOOK_TIMEOUT_MS = 10 * 1000,
	LOOK_BACKOFF_MS = 200,
	LOOK_BACKOFF_CAP_MS = 5000,
	LOOK_BACKOFF_RESET_MS = 60 * 1000,
	LOOK_AGAIN_MS = 100, /* after a look that the view contradicts */
	AWAY_RETRY_SEC = 1,
	MISSING_MAX = 5,
};

struct waiter {
	struct waiter *prev, *next;
	struct gate *gate;
	struct serve_request *request;
	char *uid;       /* NULL: any */
	uint64_t number; /* in the order they came */
	bool expired;    /* its time is up, and it stays for the look under way */
	struct ev_timer timer;
};

struct gate {
	UT_hash_handle hh;
	struct waiters *waiters;
	char *key; /* "namespace/name" */
	char *ns;
	char *name;
	struct waiter *list; /* in the order they came */
	size_t count;
	struct kube_call *look;
	uint64_t look_number; /* waiters up to this one had come when it was sent */
	struct backoff backoff;
	struct ev_timer again;
	bool must_look;      /* whatever the counts: the Framework is gone, or another one, or a waiter thinks so */
	char *uid;           /* of the Framework in the view; NULL: none */
	char *version;       /* of it in the view; NULL: none */
	char *seen_version;  /* the one last read; NULL: there was none */
	int64_t complete_ms; /* when the view first said that the gang is complete, or 0 */
};

struct waiters {
	struct ev_loop *loop;
	struct kube_client *client;
	struct readiness *readiness;
	struct waiters_options options;
	struct gate *gates;
	uint64_t last_number;
	struct random random;
	struct waiters_counters counters;
};

static void consider(struct gate *gate);

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

/* ---- gates ------------------------------------------------------------------------------------------------------- */

static struct gate *gate_find(const struct waiters *waiters, const char *ns, const char *name)
{
	cleanup_free char *key = mem_printf("%s/%s", ns, name);
	struct gate *gate;

	HASH_FIND_STR(waiters->gates, key, gate);
	return gate;
}

static void on_again(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)events;
	ev_timer_stop(loop, timer);
	consider(timer->data);
}

static struct gate *gate_get(struct waiters *waiters, const char *ns, const char *name)
{
	struct gate *gate = gate_find(waiters, ns, name);

	if (gate != NULL)
		return gate;
	gate = mem_calloc(1, sizeof(*gate));
	gate->waiters = waiters;
	gate->key = mem_printf("%s/%s", ns, name);
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

static void gate_free(struct gate *gate)
{
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

/* A gate that nobody waits at goes; a look under way comes back to it first. */
static void gate_release(struct gate *gate)
{
	if (gate->count == 0 && gate->look == NULL)
		gate_free(gate);
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

bool waiters_wanted(const struct waiters *waiters, const char *ns, const char *name)
{
	return gate_find(waiters, ns, name) != NULL;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* Takes the waiter away and hands its request over; the gate stays. */
static struct serve_request *waiter_take(struct waiter *waiter)
{
	struct gate *gate = waiter->gate;
	struct serve_request *request = waiter->request;

	ev_timer_stop(gate->waiters->loop, &waiter->timer);
	DL_DELETE(gate->list, waiter);
	gate->count--;
	gate->waiters->counters.waiting--;
	free(waiter->uid);
	free(waiter);
	return request;
}

static void answer_absent(struct waiter *waiter, const char *why)
{
	struct gate *gate = waiter->gate;

	gate->waiters->counters.absent++;
	serve_request_fail(waiter_take(waiter), 404, -1, "Framework %s: %s", gate->key, why);
}

static void answer_away(struct waiter *waiter, const char *why)
{
	struct gate *gate = waiter->gate;

	gate->waiters->counters.sent_away++;
	serve_request_fail(waiter_take(waiter), 503, AWAY_RETRY_SEC, "%s", why);
}

static void answer_waiting(struct waiter *waiter, int64_t ready, int64_t total, const char *missing)
{
	cleanup_free char *body = mem_printf("{\"ready\":%" PRId64 ",\"total\":%" PRId64 ",\"missing\":%s}\n", ready,
					     total, missing);

	waiter->gate->waiters->counters.timed_out++;
	serve_request_reply(waiter_take(waiter), 202, "application/json", body);
}

/* Its time is up: what the view says, as long as that is true now. */
static void answer_expired(struct waiter *waiter)
{
	const struct gate *gate = waiter->gate;
	struct readiness_entry entry;

	if (!readiness_synced(gate->waiters->readiness))
		answer_away(waiter, "the view of the cluster is not up to date: try again");
	else if (!readiness_find(gate->waiters->readiness, gate->ns, gate->name, &entry) || !entry.counted ||
		 entry.ready >= entry.total)
		answer_away(waiter, "the Framework could not be read in time: try again");
	else
		answer_waiting(waiter, entry.ready, entry.total, entry.missing);
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

static void again_after(struct gate *gate, int64_t ms)
{
	gate->again.repeat = (double)(ms < 1 ? 1 : ms) / 1000;
	ev_timer_again(gate->waiters->loop, &gate->again);
}

/* What the view says of the Framework; notes what has changed. */
static bool calls_for_look(struct gate *gate)
{
	struct readiness_entry entry = {0};
	bool known = readiness_find(gate->waiters->readiness, gate->ns, gate->name, &entry);
	bool complete = known && entry.counted && entry.ready == entry.total;

	if (gate->uid != NULL && (!known || strcmp(gate->uid, entry.uid) != 0))
		gate->must_look = true;
	mem_replace(&gate->uid, known ? entry.uid : NULL);
	mem_replace(&gate->version, known ? entry.resource_version : NULL);
	if (!complete)
		gate->complete_ms = 0;
	else if (gate->complete_ms == 0)
		gate->complete_ms = clock_boot_ms();
	return gate->must_look || !known || !entry.counted || complete;
}

/* Every waiter the look counts for; the next one first, since answers take waiters away. */
#define EACH_SEEN(gate, waiter, next)                                      \
	for ((waiter) = (gate)->list; (waiter) != NULL; (waiter) = (next)) \
		if ((next) = (waiter)->next, (waiter)->number <= (gate)->look_number)

static void judge_absent(struct gate *gate)
{
	struct waiter *waiter;
	struct waiter *next;

	EACH_SEEN(gate, waiter, next)
	answer_absent(waiter, "there is none");
}

static void release(struct gate *gate, const struct kube_answer *from)
{
	struct serve_answer *answer = serve_answer_new(200, "application/json", from->body, from->body_len);
	struct waiters *waiters = gate->waiters;
	int64_t begun_ms = gate->complete_ms != 0 ? gate->complete_ms : clock_boot_ms();
	size_t count = 0;
	struct waiter *waiter;
	struct waiter *next;

	serve_answer_header(answer, "Connection", "close"); /* they have no more to ask */
	EACH_SEEN(gate, waiter, next)
	{
		serve_request_answer(waiter_take(waiter), answer);
		count++;
	}
	serve_answer_free(answer);
	waiters->counters.passed += count;
	if (count > 0)
		metrics_histogram_observe(&waiters->counters.release, (double)(clock_boot_ms() - begun_ms) / 1000);
	gate->complete_ms = 0;
	log_v(1, "Framework %s: released %zu waiters", gate->key, count);
}

/* Those who belong to a Framework of the same name that is gone (FRAMEWORK.md §12: by UID, not by name). */
static void dismiss_others(struct gate *gate, const char *uid)
{
	struct waiter *waiter;
	struct waiter *next;

	EACH_SEEN(gate, waiter, next)
	if (waiter->uid != NULL && strcmp(waiter->uid, uid) != 0)
		answer_absent(waiter, "another one has this name now");
}

static void expire_seen(struct gate *gate, const struct gang *gang)
{
	cleanup_buf struct buf missing = {0};
	struct waiter *waiter;
	struct waiter *next;

	gang_write_missing(&missing, gang, MISSING_MAX);
	EACH_SEEN(gate, waiter, next)
	if (waiter->expired)
		answer_waiting(waiter, gang->ready, gang->total, missing.data);
}

/* 0, or -1 and *err when it cannot be read. */
static int judge(struct gate *gate, const struct kube_answer *from, struct error *err)
{
	cleanup_json json_t *framework = json_parse(from->body, from->body_len, err);
	const char *uid = json_str(json_object_get(framework, "metadata"), "uid");
	const char *version = json_str(json_object_get(framework, "metadata"), "resourceVersion");
	struct gang gang;

	if (framework == NULL || framework_decompress(framework, err) < 0 || gang_read(framework, &gang, err) < 0)
		return -1;
	mem_replace(&gate->seen_version, version);
	dismiss_others(gate, uid == NULL ? "" : uid);
	if (gang_passed(&gang))
		release(gate, from);
	else
		expire_seen(gate, &gang);
	gang_free(&gang);
	readiness_learn(gate->waiters->readiness, framework);
	return 0;
}

static void look_failed(struct gate *gate, const struct kube_answer *answer, const char *message)
{
	int64_t wait_ms = backoff_next(&gate->backoff, &gate->waiters->random, clock_boot_ms());
	struct waiter *waiter;
	struct waiter *next;

	gate->waiters->counters.looks_failed++;
	gate->must_look = true; /* whatever called for it was not answered */
	if (answer->failure != KUBE_CANCELLED)
		log_warning("cannot read Framework %s: %s", gate->key, message);
	if (answer->retry_after_ms > wait_ms)
		wait_ms = answer->retry_after_ms < LOOK_BACKOFF_CAP_MS ? answer->retry_after_ms : LOOK_BACKOFF_CAP_MS;
	for (waiter = gate->list; waiter != NULL; waiter = next) {
		next = waiter->next;
		if (waiter->expired)
			answer_expired(waiter);
	}
	again_after(gate, wait_ms);
}

/* Those who came meanwhile have a look of their own, and so has a change that the view showed meanwhile. When the view
 * still calls for a look at what was read already, the two contradict each other: not at once again. */
static void after_look(struct gate *gate)
{
	bool all_seen = gate->list == NULL || gate->list->prev->number <= gate->look_number;

	if (all_seen && calls_for_look(gate) && version_compare(gate->version, gate->seen_version) <= 0)
		again_after(gate, LOOK_AGAIN_MS);
	else
		consider(gate);
}

static void on_look(void *arg, const struct kube_answer *answer)
{
	struct gate *gate = arg;
	struct error err;

	gate->look = NULL;
	if (answer->failure == KUBE_OK && answer->http_status == 404) {
		mem_replace(&gate->seen_version, NULL);
		judge_absent(gate);
	} else if (answer->failure != KUBE_OK || answer->http_status / 100 != 2) {
		look_failed(gate, answer, answer->message);
		gate_release(gate);
		return;
	} else if (judge(gate, answer, &err) < 0) {
		look_failed(gate, answer, err.message);
		gate_release(gate);
		return;
	}
	after_look(gate);
	gate_release(gate);
}

/* Right before it is sent: who has come by now is answered by it. */
static bool on_look_sent(void *arg, int64_t *timeout_ms)
{
	struct gate *gate = arg;

	(void)timeout_ms;
	gate->look_number = gate->waiters->last_number;
	return true;
}

static void look(struct gate *gate)
{
	cleanup_free char *path = mem_printf("/apis/" FRAMEWORK_API_VERSION "/namespaces/%s/frameworks/%s", gate->ns,
					     gate->name);
	const struct kube_request request = {
		.method = "GET",
		.path = path,
		.timeout_ms = LOOK_TIMEOUT_MS,
		/* A gang that is complete waits behind no reviews: it has one look, while its Pods had many writes.
		 * What clients can ask for at will (unknown names) waits in the rate limit. */
		.exempt = gate->complete_ms != 0,
		.before_send = on_look_sent,
	};

	ev_timer_stop(gate->waiters->loop, &gate->again);
	gate->look_number = 0;
	gate->must_look = false;
	gate->waiters->counters.looks++;
	gate->look = kube_client_call(gate->waiters->client, &request, on_look, gate);
}

/* Looks if there is reason to. After a failure, or a look that the view contradicts, not before its time. */
static void consider(struct gate *gate)
{
	bool reason = calls_for_look(gate);

	if (reason && gate->list != NULL && gate->look == NULL && !ev_is_active(&gate->again))
		look(gate);
}

void waiters_changed(struct waiters *waiters, const char *ns, const char *name)
{
	struct gate *gate = gate_find(waiters, ns, name);

	if (gate != NULL)
		consider(gate);
}

/* ---- waiters ----------------------------------------------------------------------------------------------------- */

static void on_gone(void *arg)
{
	struct waiter *waiter = arg;
	struct gate *gate = waiter->gate;

	gate->waiters->counters.left++;
	waiter_take(waiter);
	gate_release(gate);
}

static void on_expired(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct waiter *waiter = timer->data;
	struct gate *gate = waiter->gate;

	(void)loop;
	(void)events;
	if (gate->look != NULL) {
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
		serve_request_fail(request, 429, AWAY_RETRY_SEC, "%zu wait for Framework %s: no more may", gate->count,
				   gate->key);
		return;
	}
	waiter = mem_calloc(1, sizeof(*waiter));
	waiter->gate = gate;
	waiter->request = request;
	waiter->uid = uid == NULL || *uid == '\0' ? NULL : mem_strdup(uid);
	waiter->number = ++waiters->last_number;
	ev_timer_init(&waiter->timer, on_expired, (double)timeout_ms / 1000, 0);
	waiter->timer.data = waiter;
	ev_timer_start(waiters->loop, &waiter->timer);
	DL_APPEND(gate->list, waiter);
	gate->count++;
	waiters->counters.waiting++;
	serve_request_park(request, on_gone, waiter);
	calls_for_look(gate);
	if (waiter->uid != NULL && gate->uid != NULL && strcmp(waiter->uid, gate->uid) != 0)
		gate->must_look = true;
	consider(gate);
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
