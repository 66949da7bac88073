/* The calls of Pods: which one is next, who may make one, and what an answer means. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "tests/cluster/testkubelet/internal.h"

enum {
	CALL_TIMEOUT_MS = 30000,
	RETRY_MIN_MS = 50,
	RETRY_MAX_MS = 5000,
	FAILURES_WORTH_A_LINE = 5,
};

/* Writes are answered with metadata only where the server can: the answer is not read. */
static const char accept_metadata[] = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/* ---- queues ------------------------------------------------------------------------------------------------------ */

void kubelet_pod_unqueue(struct kubelet_pod *pod)
{
	struct pod_queue *queue = pod->queue;

	if (queue == NULL)
		return;
	*(pod->previous == NULL ? &queue->first : &pod->previous->next) = pod->next;
	*(pod->next == NULL ? &queue->last : &pod->next->previous) = pod->previous;
	pod->next = pod->previous = NULL;
	pod->queue = NULL;
}

static void queue_push(struct pod_queue *queue, struct kubelet_pod *pod)
{
	if (pod->queue == queue)
		return;
	kubelet_pod_unqueue(pod);
	pod->queue = queue;
	pod->previous = queue->last;
	*(queue->last == NULL ? &queue->first : &queue->last->next) = pod;
	queue->last = pod;
}

static bool queue_pop(struct pod_queue *queue, struct kubelet_pod **out)
{
	*out = queue->first;
	if (*out == NULL)
		return false;
	kubelet_pod_unqueue(*out);
	return true;
}

/* ---- capacity ---------------------------------------------------------------------------------------------------- */

size_t kubelet_room(const struct kubelet *kubelet)
{
	if (kubelet->options.capacity == 0)
		return SIZE_MAX;
	return kubelet->placed < kubelet->options.capacity ? kubelet->options.capacity - kubelet->placed : 0;
}

static bool has_capacity(const struct kubelet *kubelet)
{
	return kubelet_room(kubelet) > 0;
}

void kubelet_pod_take_capacity(struct kubelet_pod *pod)
{
	if (!pod->counted)
		pod->kubelet->placed++;
	pod->counted = true;
}

void kubelet_pod_give_capacity(struct kubelet_pod *pod)
{
	struct kubelet *kubelet = pod->kubelet;
	struct kubelet_pod *waiting;

	if (!pod->counted)
		return;
	pod->counted = false;
	kubelet->placed--;
	while (has_capacity(kubelet) && queue_pop(&kubelet->unplaced, &waiting)) {
		kubelet_pod_take_capacity(waiting);
		queue_push(&kubelet->ready, waiting);
	}
	gangs_place(kubelet);
	kubelet_pump(kubelet);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static enum pod_call next_call(const struct kubelet_pod *pod)
{
	if (pod->gone || pod->foreign || pod->kubelet->stopping)
		return CALL_NONE;
	if (pod->reread)
		return CALL_READ;
	if (pod->stopped)
		/* How its containers ended is told before the Pod goes. */
		return pod->runtime != NULL && pod->dirty ? CALL_STATUS : CALL_DELETE;
	if (pod->node < 0 && pod->script.kind != SCRIPT_UNSCHEDULABLE)
		return pod->script.kind == SCRIPT_HOLD || pod->deleting ? CALL_NONE : CALL_BIND;
	return pod->dirty ? CALL_STATUS : CALL_NONE;
}

bool kubelet_pod_unplaced(const struct kubelet_pod *pod)
{
	return !pod->counted && next_call(pod) == CALL_BIND;
}

void kubelet_pod_place(struct kubelet_pod *pod)
{
	kubelet_pod_take_capacity(pod);
	queue_push(&pod->kubelet->ready, pod);
}

/* Queues the Pod if there is something to do and nothing keeps it from being done. */
void kubelet_pod_step(struct kubelet_pod *pod)
{
	enum pod_call kind = next_call(pod);

	if (kind == CALL_NONE || pod->call != NULL || ev_is_active(&pod->retry)) {
		if (kind == CALL_NONE)
			kubelet_pod_unqueue(pod);
		return;
	}
	if (kind == CALL_BIND && !pod->counted && pod->gang != NULL) {
		gang_consider(pod->gang);
		return;
	}
	if (kind == CALL_BIND && !pod->counted) {
		if (!has_capacity(pod->kubelet)) {
			queue_push(&pod->kubelet->unplaced, pod);
			return;
		}
		kubelet_pod_take_capacity(pod);
	}
	queue_push(&pod->kubelet->ready, pod);
	kubelet_pump(pod->kubelet);
}

void kubelet_pod_on_retry(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	kubelet_pod_step(timer->data);
}

static void retry_later(struct kubelet_pod *pod, const struct kube_answer *answer)
{
	int64_t limit = RETRY_MIN_MS << (pod->failures < 7 ? pod->failures : 7);
	int64_t wait;

	if (limit > RETRY_MAX_MS)
		limit = RETRY_MAX_MS;
	wait = random_between(&pod->kubelet->random, limit / 2, limit);
	if (answer->retry_after_ms > wait)
		wait = answer->retry_after_ms;
	pod->failures++;
	pod->kubelet->counts.errors++;
	if (pod->failures == FAILURES_WORTH_A_LINE)
		log_warning("Pod %s/%s: %s; failed %d times, tried until it succeeds", pod->ns, pod->name,
			    answer->message, pod->failures);
	else
		log_v(1, "Pod %s/%s: %s; tried again in %lld ms", pod->ns, pod->name, answer->message, (long long)wait);
	ev_timer_set(&pod->retry, (double)wait / 1000, 0);
	ev_timer_start(pod->kubelet->loop, &pod->retry);
}

/* The state of affairs as the server just told it: gone, another Pod of that name, or ours. */
static void reread_done(struct kubelet_pod *pod, const struct kube_answer *answer)
{
	struct error err;
	cleanup_json json_t *object = json_parse(answer->body, answer->body_len, &err);
	const char *uid = json_str(json_object_get(object, "metadata"), "uid");

	pod->reread = false;
	if (object == NULL || uid == NULL)
		log_warning("Pod %s/%s: cannot read it from the answer: %s", pod->ns, pod->name,
			    object == NULL ? err.message : "metadata.uid is missing");
	else if (strcmp(uid, pod->uid) != 0)
		kubelet_pod_gone(pod);
	else
		kubelet_pod_observe(pod, object);
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct kubelet_pod *pod = arg;
	struct kubelet *kubelet = pod->kubelet;
	enum pod_call kind = pod->call_kind;
	int status = answer->failure == KUBE_OK ? answer->http_status : 0;

	kubelet->calls--;
	pod->call = NULL;
	pod->call_kind = CALL_NONE;
	if (pod->removed) {
		kubelet_pod_free(pod);
		kubelet_pump(kubelet);
		return;
	}
	if (pod->gone || answer->failure == KUBE_CANCELLED) {
		kubelet_pump(kubelet);
		return;
	}
	if (status >= 200 && status < 300) {
		pod->failures = 0;
		switch (kind) {
		case CALL_READ: reread_done(pod, answer); break;
		case CALL_BIND: kubelet_pod_bound(pod); break;
		case CALL_STATUS: kubelet_pod_reported(pod); break;
		case CALL_DELETE: kubelet_pod_gone(pod); break;
		case CALL_NONE: break;
		}
	} else {
		/* What was to be written has still to be. */
		pod->dirty = pod->dirty || kind == CALL_STATUS;
		if (status == 404 || (kind == CALL_DELETE && status == 409))
			kubelet_pod_gone(pod);
		else
			retry_later(pod, answer);
		/* A conflict, or a uid that is not the Pod's any more. (What was done although no answer came conflicts
		 * when it is done again.) */
		pod->reread = kind == CALL_READ || (kind != CALL_DELETE && (status == 409 || status == 422));
	}
	if (!pod->gone)
		kubelet_pod_step(pod);
	kubelet_pump(kubelet);
}

static void pod_call(struct kubelet_pod *pod, enum pod_call kind)
{
	struct kubelet *kubelet = pod->kubelet;
	cleanup_buf struct buf body = {0};
	const char *suffix = kind == CALL_BIND ? "/binding" : kind == CALL_STATUS ? "/status" : "";
	cleanup_free char *path = mem_printf("/api/v1/namespaces/%s/pods/%s%s", pod->ns, pod->name, suffix);
	struct kube_request request = {
		.path = path,
		.accept = kind == CALL_READ ? NULL : accept_metadata,
		.timeout_ms = CALL_TIMEOUT_MS,
	};

	switch (kind) {
	case CALL_READ: request.method = "GET"; break;
	case CALL_BIND:
		request.method = "POST";
		buf_puts(&body, "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":");
		buf_json_string(&body, pod->name);
		buf_puts(&body, ",\"uid\":");
		buf_json_string(&body, pod->uid);
		buf_puts(&body, "},\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":");
		pod->wanted_node = kubelet->next_node;
		kubelet->next_node = (kubelet->next_node + 1) % kubelet->options.nodes.count;
		buf_json_string(&body, kubelet->node_names[pod->wanted_node]);
		buf_puts(&body, "}}");
		break;
	case CALL_STATUS:
		request.method = "PATCH";
		request.content_type = "application/merge-patch+json";
		pod_report_write_patch(&body, &pod->report, pod->uid);
		pod->dirty = false;
		if (kubelet->options.real)
			mem_replace(&pod->written, body.data);
		break;
	case CALL_DELETE:
		request.method = "DELETE";
		buf_puts(&body, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"gracePeriodSeconds\":0,"
				"\"preconditions\":{\"uid\":");
		buf_json_string(&body, pod->uid);
		buf_puts(&body, "}}");
		break;
	case CALL_NONE: return;
	}
	request.body = body.data;
	request.body_len = body.len;
	kubelet->calls++;
	pod->call_kind = kind;
	pod->call = kube_client_call(kubelet->client, &request, on_answer, pod);
}

void kubelet_pump(struct kubelet *kubelet)
{
	struct kubelet_pod *pod;

	while (kubelet->calls < kubelet->options.max_calls && queue_pop(&kubelet->ready, &pod)) {
		enum pod_call kind = next_call(pod);

		if (kind == CALL_NONE || pod->call != NULL || ev_is_active(&pod->retry))
			continue;
		pod_call(pod, kind);
	}
}
