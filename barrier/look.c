/* Looks: a GET of a Framework, whose answer releases those who wait for it; see gate.h.
 *
 * A gate looks when the view says that the gang is complete, and for waiters that came since the last look to a
 * Framework the view does not know or has not counted. One look at a time; its answer counts for those who had come
 * when it was sent. */
#include <string.h>
#include <utlist.h>

#include "barrier/gate.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "common/framework/names.h"

enum {
	LOOK_TIMEOUT_MS = 10 * 1000,
	LOOK_RETRY_MAX_MS = 5000, /* however long the API server asks us to stay away */
	LOOK_AGAIN_MS = 100,      /* after a look that the view contradicts */
	TASKS_PER_PLACE = 200,    /* some 150 KiB of status: a look at a large Framework counts as several */
};

static void again_after(struct gate *gate, int64_t ms)
{
	gate->again.repeat = (double)(ms < 1 ? 1 : ms) / 1000;
	ev_timer_again(gate->waiters->loop, &gate->again);
}

/* mem_replace(), but what is the same already stays: waiters come one by one to a Framework that stays as it is. */
static void note(char **kept, const char *text)
{
	if (*kept == NULL || text == NULL || strcmp(*kept, text) != 0)
		mem_replace(kept, text);
}

bool gate_observe(struct gate *gate)
{
	struct readiness_entry entry = {0};
	bool known = readiness_find(gate->waiters->readiness, gate->key, &entry);
	bool complete = known && entry.counted && entry.ready == entry.total;

	gate->places = 1 + (size_t)entry.total / TASKS_PER_PLACE;
	if (gate->uid != NULL && (!known || strcmp(gate->uid, entry.uid) != 0))
		gate->must_look = true;
	note(&gate->uid, known ? entry.uid : NULL);
	note(&gate->version, known ? entry.resource_version : NULL);
	if (!complete)
		gate->complete_ms = 0;
	else if (gate->complete_ms == 0)
		gate->complete_ms = clock_boot_ms();
	return gate->must_look || !known || !entry.counted || complete;
}

/* ---- what an answer means ---------------------------------------------------------------------------------------- */

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

static void let_pass(struct gate *gate, const struct kube_answer *from)
{
	struct serve_answer *answer = serve_answer_new(200, "application/json", from->body, from->body_len);
	struct waiters *waiters = gate->waiters;
	int64_t begun_ms = gate->complete_ms != 0 ? gate->complete_ms : clock_boot_ms();
	uint64_t passed = waiters->counters.passed;
	struct waiter *waiter;
	struct waiter *next;

	serve_answer_header(answer, "Connection", "close"); /* they have no more to ask */
	EACH_SEEN(gate, waiter, next)
	answer_passed(waiter, answer);
	serve_answer_free(answer);
	passed = waiters->counters.passed - passed;
	if (passed > 0)
		metrics_histogram_observe(&waiters->counters.release, (double)(clock_boot_ms() - begun_ms) / 1000);
	gate->complete_ms = 0;
	log_v(1, "Framework %s: released %llu waiters", gate->key, (unsigned long long)passed);
}

/* Those who belong to a Framework of the same name that is gone (CONTRACT.md §12: by UID, not by name). */
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

	gang_write_missing(&missing, gang, BARRIER_MISSING_MAX);
	EACH_SEEN(gate, waiter, next)
	if (waiter->expired)
		answer_waiting(waiter, gang->ready, gang->total, missing.data);
}

static void judge_gang(struct gate *gate, const struct kube_answer *from, const struct object_meta *meta,
		       const struct gang *gang)
{
	mem_replace(&gate->seen_version, meta->resource_version);
	dismiss_others(gate, meta->uid);
	if (gang_passed(gang))
		let_pass(gate, from);
	else
		expire_seen(gate, gang);
	readiness_learn(gate->waiters->readiness, meta, gang);
}

/* 0, or -1 and *err when it cannot be read. */
static int judge(struct gate *gate, const struct kube_answer *from, struct error *err)
{
	struct object_parts parts;
	struct gang gang;
	int result;

	if (object_parts_read(from->body, from->body_len, &parts, err) < 0)
		return -1;
	result = gang_read(&parts, &gang, err);
	if (result == 0) {
		result = gang_unpack(&gang, err);
		if (result == 0)
			judge_gang(gate, from, &parts.meta, &gang);
		gang_free(&gang);
	}
	object_meta_free(&parts.meta);
	return result;
}

/* Those who stayed beyond their time for a look. */
static void answer_all_expired(struct gate *gate)
{
	struct waiter *waiter;
	struct waiter *next;

	for (waiter = gate->list; waiter != NULL; waiter = next) {
		next = waiter->next;
		if (waiter->expired)
			answer_expired(waiter);
	}
}

static void look_failed(struct gate *gate, const struct kube_answer *answer, const char *message)
{
	int64_t wait_ms = backoff_next(&gate->backoff, &gate->waiters->random, clock_boot_ms());

	gate->must_look = true; /* whatever called for it was not answered */
	if (answer->failure != KUBE_CANCELLED) {
		gate->waiters->counters.looks_failed++;
		log_warning("cannot read Framework %s: %s", gate->key, message);
	}
	if (answer->retry_after_ms > wait_ms)
		wait_ms = answer->retry_after_ms < LOOK_RETRY_MAX_MS ? answer->retry_after_ms : LOOK_RETRY_MAX_MS;
	answer_all_expired(gate);
	again_after(gate, wait_ms);
}

/* Those who came meanwhile have a look of their own, and so has a change that the view showed meanwhile. When the view
 * still calls for a look at what was read already, the two contradict each other: not at once again. */
static void after_look(struct gate *gate)
{
	bool all_seen = gate->list == NULL || gate->list->prev->number <= gate->look_number;

	if (all_seen && gate_observe(gate) && version_compare(gate->version, gate->seen_version) <= 0)
		again_after(gate, LOOK_AGAIN_MS);
	else
		gate_consider(gate);
}

static void on_look(void *arg, const struct kube_answer *answer)
{
	struct gate *gate = arg;
	struct waiters *waiters = gate->waiters;
	struct error err;

	gate->look = NULL;
	waiters->places_taken -= gate->places_taken;
	gate->places_taken = 0;
	if (answer->absent) {
		mem_replace(&gate->seen_version, NULL);
		judge_absent(gate);
		after_look(gate);
	} else if (answer->failure != KUBE_OK || answer->http_status / 100 != 2) {
		look_failed(gate, answer, answer->message);
	} else if (judge(gate, answer, &err) < 0) {
		look_failed(gate, answer, err.message);
	} else {
		after_look(gate);
	}
	gate_release(gate);
	gate_next_in_line(waiters);
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/* Right before it is sent: who has come by now is answered by it. */
static bool on_look_sent(void *arg, int64_t *timeout_ms)
{
	struct gate *gate = arg;

	(void)timeout_ms;
	gate->look_number = gate->waiters->last_number;
	return true;
}

/* A gang that is complete waits behind no reviews: it has one look, while its Pods had many writes. What clients can
 * ask for at will (unknown names) waits in the rate limit. */
static void look(struct gate *gate, bool complete)
{
	cleanup_free char *path = mem_printf("/apis/" FRAMEWORK_API_VERSION "/namespaces/%s/frameworks/%s", gate->ns,
					     gate->name);
	const struct kube_request request = {
		.method = "GET",
		.path = path,
		.timeout_ms = LOOK_TIMEOUT_MS,
		.exempt = complete,
		.before_send = on_look_sent,
	};

	ev_timer_stop(gate->waiters->loop, &gate->again);
	gate->look_number = 0;
	gate->must_look = false;
	gate->places_taken = complete ? gate->places : 0;
	gate->waiters->places_taken += gate->places_taken;
	gate->waiters->counters.looks++;
	gate->look = kube_client_call(gate->waiters->client, &request, on_look, gate);
}

static void leave_line(struct gate *gate)
{
	if (!gate->in_line)
		return;
	gate->in_line = false;
	DL_DELETE2(gate->waiters->line, gate, prev_in_line, next_in_line);
}

static bool has_room(const struct gate *gate)
{
	size_t taken = gate->waiters->places_taken;

	return taken == 0 || taken + gate->places <= WAITERS_LOOKS_AT_ONCE;
}

void gate_next_in_line(struct waiters *waiters)
{
	while (waiters->line != NULL && has_room(waiters->line)) {
		struct gate *gate = waiters->line;

		gate_consider(gate); /* takes it out of the line */
		gate_release(gate);
	}
}

/* After a failure, or a look that the view contradicts, not before its time. */
void gate_consider(struct gate *gate)
{
	struct waiters *waiters = gate->waiters;
	bool reason = gate_observe(gate);
	bool complete = gate->complete_ms != 0;
	bool next = waiters->line == NULL || waiters->line == gate;

	if (!reason || gate->list == NULL || gate->look != NULL || ev_is_active(&gate->again)) {
		leave_line(gate);
		if (gate->look == NULL)
			answer_all_expired(gate);
	} else if (!complete || (next && has_room(gate))) {
		leave_line(gate);
		look(gate, complete);
	} else if (!gate->in_line) {
		gate->in_line = true;
		DL_APPEND2(waiters->line, gate, prev_in_line, next_in_line);
	}
}
