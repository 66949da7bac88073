/* Calls the callers' callbacks with the data of streams and the answers of calls: from the `work` watcher or after the
 * work of a transport, never directly from libcurl's callbacks. */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "common/kube/client/call.h"

/* What a stream gathered between two deliveries is freed rather than kept past this. */
enum { FRESH_KEPT_BYTES = 256 * 1024 };

void deliver_later(struct kube_client *client)
{
	if (!ev_is_active(&client->work)) {
		ev_timer_set(&client->work, 0.0, 0.0);
		ev_timer_start(client->loop, &client->work);
	}
}

/* ---- streams ---- */

static struct kube_call *stream_with_news(struct kube_client *client)
{
	struct kube_call *call;

	DL_FOREACH(client->streams, call)
		if (!call->in_data && (call->announce || call->fresh.len > 0))
			return call;
	return NULL;
}

/* Hands on what a stream received. The callback may do anything, but the call stays until it returns. */
static void deliver_news_of(struct kube_call *call)
{
	struct buf fresh = call->fresh;

	call->fresh = (struct buf){0};
	call->in_data = true;
	if (call->announce) {
		call->announce = false;
		call->data(call->arg, "", 0);
	}
	if (fresh.len > 0 && !call->cancelled)
		call->data(call->arg, fresh.data, fresh.len);
	call->in_data = false;
	if (call->fresh.data == NULL && fresh.cap <= FRESH_KEPT_BYTES) {
		buf_clear(&fresh);
		call->fresh = fresh;
	} else {
		buf_free(&fresh);
	}
	if (call->state == CALL_FINISHED || call->client->starting)
		deliver_later(call->client);
}

void deliver_news(void *arg)
{
	struct kube_client *client = arg;
	struct kube_call *call;

	while ((call = stream_with_news(client)) != NULL)
		deliver_news_of(call);
}

/* ---- answers ---- */

static void call_free(struct kube_call *call)
{
	free((char *)call->request.method);
	free((char *)call->request.path);
	free((char *)call->request.accept);
	free((char *)call->request.content_type);
	free((void *)call->request.body);
	buf_free(&call->answer);
	buf_free(&call->fresh);
	buf_free(&call->cause);
	free(call);
}

void call_deliver(struct kube_call *call)
{
	struct kube_client *client = call->client;
	struct buf message = {0};
	json_t *status = NULL;
	struct kube_answer answer = {
		.failure = call->cancelled ? KUBE_CANCELLED : call->failure,
		.body = "",
		.status = {.reason = "", .message = ""},
		.retry_after_ms = call->retry_after_ms,
		.sent = call->sent,
		.too_large = call->too_large,
	};

	if (answer.failure == KUBE_OK) {
		answer.http_status = call->http_status;
		if (call->answer.data != NULL) {
			answer.body = call->answer.data;
			answer.body_len = call->answer.len;
		}
		if (answer.http_status >= 400)
			answer_read_status(&answer, call->request.path, &status);
		if (answer.http_status < 200 || answer.http_status >= 300)
			answer_describe(&message, call->request.method, call->request.path, &answer);
	} else {
		if (answer.failure == KUBE_CANCELLED) {
			buf_clear(&call->cause);
			buf_puts(&call->cause, "cancelled");
		}
		buf_printf(&message, "%s %s%.*s: %s", call->request.method, client->config->server,
			   (int)strcspn(call->request.path, "?"), call->request.path,
			   call->cause.data == NULL ? "failed" : call->cause.data);
	}
	answer.message = message.data == NULL ? "" : message.data;
	DL_DELETE(client->finished, call);
	call->done(call->arg, &answer);
	json_decref(status);
	buf_free(&message);
	call_free(call);
}

/* The next to deliver. One whose data callback runs further up the stack (which then runs the loop) has to wait;
 * deliver_news_of comes back for it. */
static struct kube_call *next_finished(struct kube_client *client)
{
	struct kube_call *call;

	DL_FOREACH(client->finished, call)
		if (!call->in_data)
			return call;
	return NULL;
}

void deliver_answers(struct kube_client *client)
{
	struct kube_call *call;
	size_t count;

	/* what finishes meanwhile has its turn later, so that a caller who tries again at once starves nobody */
	DL_COUNT(client->finished, call, count);
	for (; count > 0 && (call = next_finished(client)) != NULL; count--) {
		if (call->stream && !call->cancelled && (call->announce || call->fresh.len > 0))
			deliver_news_of(call);
		call_deliver(call);
	}
}

bool deliver_is_due(struct kube_client *client)
{
	return next_finished(client) != NULL;
}
