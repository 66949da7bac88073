/* The upkeep of the CRD on the server; see crd.h. One request at a time: read it, then create, update, wait or rest,
 * and read it again. */
#include <ev.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/log_last.h"
#include "common/base/mem.h"
#include "watcher/crd.h"

#define DISCOVERY "/apis/frameworkcontroller.microsoft.com/v1"
/* Why a write that the server accepted has no effect. */
#define REVERTED "another client or a webhook reverts our updates"
#define CRD_COLLECTION "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

enum { REQUEST_TIMEOUT_MS = 15000, RETRY_FIRST_MS = 500, RETRY_MAX_MS = 8000 };
/* A Retry-After beyond this is not believed: nothing is watched before the CRD was read. */
enum { RETRY_AFTER_CAP_MS = 60 * 1000 };

struct crd_keeper {
	struct ev_loop *loop;
	struct kube_client *client;
	struct crd_options options;
	const struct crd_handler *handler;
	void *arg;
	struct kube_call *call; /* at most one */
	bool freed;             /* waits for that call's callback */
	bool established;
	bool was_ours; /* the stored one was the same as ours at some time */
	bool writes;
	bool tried;       /* to write, since it was last seen to be ours */
	bool written;     /* just now: the next read checks the result */
	int64_t since_ms; /* when the server first had it, not established; 0: not yet */
	int64_t retry_ms; /* doubles until it is seen to be ours */
	struct log_last complaint;
	ev_timer timer;
};

static void read_crd(struct crd_keeper *keeper);

/* Whether a call that ended is of no interest any more. */
static bool call_over(struct crd_keeper *keeper, const struct kube_answer *answer)
{
	keeper->call = NULL;
	if (keeper->freed)
		free(keeper);
	else if (answer->failure != KUBE_CANCELLED)
		return false;
	return true;
}

static void again_in(struct crd_keeper *keeper, int64_t wait_ms)
{
	ev_timer_stop(keeper->loop, &keeper->timer);
	ev_timer_set(&keeper->timer, (double)wait_ms / 1000, 0);
	ev_timer_start(keeper->loop, &keeper->timer);
}

/* Logs the error, once a minute for each reason, and tries again later. */
static void complain_of(struct crd_keeper *keeper, const char *message, int64_t retry_after_ms)
{
	if (log_is_news(&keeper->complaint, clock_boot_ms(), message))
		log_error("cannot %s the CRD " CRD_NAME ", trying again: %s",
			  keeper->options.discover ? "use" : "set up", message);
	if (retry_after_ms > RETRY_AFTER_CAP_MS)
		retry_after_ms = RETRY_AFTER_CAP_MS;
	again_in(keeper, retry_after_ms > keeper->retry_ms ? retry_after_ms : keeper->retry_ms);
	keeper->retry_ms = backoff_doubled(keeper->retry_ms, 1, RETRY_MAX_MS);
}

static void complain(struct crd_keeper *keeper, const struct kube_answer *answer)
{
	complain_of(keeper, answer->message, answer->retry_after_ms);
}

static void on_established(struct crd_keeper *keeper)
{
	bool first = !keeper->established;

	keeper->established = true;
	if (keeper->options.recheck_ms > 0)
		again_in(keeper, keeper->options.recheck_ms);
	if (first)
		keeper->handler->established(keeper->arg);
}

/* Whether the wait is longer than the timeout; then the handler has been called. */
static bool is_late(struct crd_keeper *keeper, const char *message)
{
	int64_t now_ms = clock_boot_ms();

	if (keeper->since_ms == 0)
		keeper->since_ms = now_ms;
	if (!keeper->writes || keeper->established || now_ms - keeper->since_ms < keeper->options.timeout_ms)
		return false;
	keeper->handler->failed(keeper->arg, message);
	return true;
}

static void wait_established(struct crd_keeper *keeper)
{
	if (!is_late(keeper, "the CRD " CRD_NAME
			     " was not Established within crdEstablishedCheckTimeoutSec; see its conditions"))
		again_in(keeper, keeper->options.check_ms);
}

/* The written CRD is not stored: somebody changes it on its way or at once, or is always quicker. */
static void put_off(struct crd_keeper *keeper)
{
	if (!is_late(keeper,
		     "the CRD " CRD_NAME " was not Established within crdEstablishedCheckTimeoutSec: " REVERTED))
		complain_of(keeper, REVERTED, -1);
}

static void send_call(struct crd_keeper *keeper, const struct kube_request *request, kube_done *done)
{
	struct kube_request full = *request;

	full.timeout_ms = REQUEST_TIMEOUT_MS;
	full.exempt = true;
	keeper->call = kube_client_call(keeper->client, &full, done, keeper);
}

static void on_written(void *arg, const struct kube_answer *answer)
{
	struct crd_keeper *keeper = arg;

	if (call_over(keeper, answer))
		return;
	if (answer->failure != KUBE_OK || (answer->http_status >= 300 && answer->http_status != 409)) {
		complain(keeper, answer);
		return;
	}
	keeper->written = true;
	again_in(keeper, 0); /* read it: another writer may have been quicker */
}

static void write_crd(struct crd_keeper *keeper, const json_t *stored)
{
	cleanup_json json_t *body = crd_merge(stored);
	cleanup_free char *text = json_text(body);
	struct kube_request request = {
		.method = stored == NULL ? "POST" : "PUT",
		.path = stored == NULL ? CRD_COLLECTION : CRD_COLLECTION "/" CRD_NAME,
		.body = text,
		.body_len = strlen(text),
	};

	if (keeper->tried)
		log_v(1, "writing the CRD " CRD_NAME " again");
	else if (stored == NULL)
		log_info("creating the CRD " CRD_NAME);
	else if (keeper->was_ours)
		log_warning("the CRD " CRD_NAME " was changed by another client: restoring it");
	else
		log_info("updating the CRD " CRD_NAME);
	keeper->tried = true;
	send_call(keeper, &request, on_written);
}

static void on_read(void *arg, const struct kube_answer *answer)
{
	struct crd_keeper *keeper = arg;
	cleanup_json json_t *stored = NULL;
	bool just_written = keeper->written;
	bool ours;
	struct error err;

	if (call_over(keeper, answer))
		return;
	keeper->written = false;
	if (answer->failure != KUBE_OK || (answer->http_status >= 300 && !answer->absent)) {
		complain(keeper, answer);
		return;
	}
	if (!answer->absent) {
		stored = json_parse(answer->body, answer->body_len, &err);
		if (stored == NULL) {
			complain_of(keeper, err.message, -1);
			return;
		}
	}
	ours = crd_need(stored) == CRD_CURRENT;
	keeper->was_ours = keeper->was_ours || ours;
	if (ours || !keeper->writes) {
		keeper->tried = false;
		keeper->retry_ms = keeper->options.retry_ms;
	}
	if (keeper->writes && !ours && just_written)
		put_off(keeper);
	else if (keeper->writes && !ours)
		write_crd(keeper, stored);
	else if (stored == NULL)
		again_in(keeper, keeper->options.check_ms); /* the leader creates it */
	else if (crd_established(stored))
		on_established(keeper);
	else
		wait_established(keeper);
}

static bool serves(const json_t *discovered, const char *resource)
{
	return json_find(json_object_get(discovered, "resources"), "name", resource) != NULL;
}

static void on_discovered(void *arg, const struct kube_answer *answer)
{
	struct crd_keeper *keeper = arg;
	cleanup_json json_t *discovered = NULL;
	struct error err;

	if (call_over(keeper, answer))
		return;
	if (answer->failure != KUBE_OK || (answer->http_status >= 300 && answer->http_status != 404)) {
		complain(keeper, answer);
		return;
	}
	discovered = answer->http_status == 404 ? NULL : json_parse(answer->body, answer->body_len, &err);
	if (!serves(discovered, "frameworks")) {
		complain_of(keeper, "it does not exist; ask a cluster administrator to apply manifests/crd.yaml", -1);
		return;
	}
	if (!serves(discovered, "frameworks/status")) {
		complain_of(keeper,
			    "it has no status subresource; ask a cluster administrator to apply manifests/crd.yaml",
			    -1);
		return;
	}
	keeper->retry_ms = keeper->options.retry_ms;
	on_established(keeper);
}

static void read_crd(struct crd_keeper *keeper)
{
	const struct kube_request request = {.method = "GET", .path = CRD_COLLECTION "/" CRD_NAME};
	const struct kube_request discovery = {.method = "GET", .path = DISCOVERY};

	if (keeper->options.discover)
		send_call(keeper, &discovery, on_discovered);
	else
		send_call(keeper, &request, on_read);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	read_crd(timer->data);
}

struct crd_keeper *crd_keeper_new(struct ev_loop *loop, struct kube_client *client, const struct crd_options *options,
				  const struct crd_handler *handler, void *arg)
{
	struct crd_keeper *keeper = mem_calloc(1, sizeof(*keeper));

	keeper->loop = loop;
	keeper->client = client;
	keeper->options = *options;
	keeper->handler = handler;
	keeper->arg = arg;
	if (keeper->options.retry_ms <= 0)
		keeper->options.retry_ms = RETRY_FIRST_MS;
	keeper->retry_ms = keeper->options.retry_ms;
	ev_timer_init(&keeper->timer, on_timer, 0, 0);
	keeper->timer.data = keeper;
	read_crd(keeper);
	return keeper;
}

void crd_keeper_set_writes(struct crd_keeper *keeper, bool writes)
{
	if (keeper->writes == writes)
		return;
	keeper->writes = writes;
	keeper->since_ms = 0;
	if (writes && keeper->call == NULL)
		again_in(keeper, 0);
}

void crd_keeper_free(struct crd_keeper *keeper)
{
	if (keeper == NULL)
		return;
	ev_timer_stop(keeper->loop, &keeper->timer);
	if (keeper->call != NULL) {
		keeper->freed = true; /* its callback frees */
		kube_call_cancel(keeper->call);
		return;
	}
	free(keeper);
}
