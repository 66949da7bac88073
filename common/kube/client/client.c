/* The Kubernetes client: queues, the rate limit, and the life of a call from kube_client_call to its done callback.
 * exchange.c maps calls to libcurl and calls the callers back, and transport.c runs libcurl on the event loop.
 *
 * Calls to start and answers to deliver go into lists. The `work` watcher starts and delivers them after the due
 * callbacks have run. So no callback runs within kube_client_call or within libcurl. */
#include "common/kube/client.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/kube/client/call.h"

enum { DEFAULT_CONNECTIONS = 32 };
/* Over HTTP/2 calls are streams of one connection; API servers allow 100 to 250 of them. */
enum { MULTIPLEXED_CALLS = 90 };
/* A larger body is sent in so many turns of the loop that they do not wait for other events. */
enum { LARGE_BYTES = 4 * UPLOAD_BYTES };
/* Events of a storm are worth less than the memory that they would take. */
enum { LOW_PRIORITY_WAITING_MAX = 1000 };
/* Connections have a finite life, so that calls spread over the servers behind a balancer again (common/README.md
 * §7.7). */
enum { TRANSPORT_LIFE_MS = 10 * 60 * 1000 };
/* The part of the mean time of calls that a new one has, and the part of that time that answers can wait. */
#define CALL_WEIGHT 0.05
#define PATIENCE 0.1
/* In this turn, behind whatever else is due in it. */
static void start_soon(struct kube_client *client)
{
	ev_feed_event(client->loop, &client->begin, EV_CUSTOM);
}

/* ---- calls ---- */

/* Out of the running list; its handle has left the transport already. */
static void stop_running(struct kube_call *call)
{
	struct kube_client *client = call->client;

	ev_timer_stop(client->loop, &call->deadline);
	ev_timer_stop(client->loop, &call->idle);
	exchange_collect(call);
	if (call->stream)
		DL_DELETE(client->streams, call);
	else
		DL_DELETE(client->running, call);
	if (call->lane == LANE_HTTP1)
		client->http1_running--;
	if (!lane_is_limited(call->lane))
		return;
	client->in_flight--;
	client->call_ms += ((double)(clock_boot_ms() - call->started_ms) - client->call_ms) * CALL_WEIGHT;
}

/* Before a call leaves its transport without an answer. Over HTTP/2 the connection would live on, and what the kernel
 * has not sent with it. */
static void drop_unsent(const struct kube_call *call)
{
	if (call->fenced && call->local_port != 0)
		transport_drop_unsent(call->transport, call->local_port);
}

/* From any state to FINISHED. */
static void finish(struct kube_call *call, enum kube_failure failure)
{
	if (call->state == CALL_FINISHED)
		return;
	if (call->state == CALL_RUNNING) {
		if (call->easy != NULL) {
			drop_unsent(call);
			transport_remove(call->transport, call->easy);
			stop_running(call);
		}
		if (failure != KUBE_OK)
			call->http_status = 0;
		exchange_count(call);
	} else {
		lane_remove(call);
	}
	call->failure = failure;
	call->state = CALL_FINISHED;
	call->client->pages -= call->request.page;
	DL_APPEND(call->client->finished, call);
	deliver_later(call->client);
}

/* The same for what ended by itself. The loop has just woken for it: it is delivered in this turn, unless that is the
 * one that starts calls. */
static void finish_soon(struct kube_call *call, enum kube_failure failure)
{
	struct kube_client *client = call->client;

	finish(call, failure);
	if (!client->starting)
		ev_feed_event(client->loop, &client->work, EV_TIMER);
}

static void give_up_on(struct kube_client *client, struct transport **slot);

/* The deadline, or the silence of a stream. A call that timed out while no byte at all arrived on its transport makes
 * that one suspect: libcurl would go on using a dead HTTP/2 connection. */
static void time_out(struct kube_call *call, const char *what, int64_t limit_ms)
{
	struct kube_client *client = call->client;

	if (!call->stream && transport_notes(call->transport)->received_ms < call->started_ms &&
	    call->transport == client->shared)
		give_up_on(client, &client->shared);
	buf_printf(&call->cause, "%s %lld ms", what, (long long)limit_ms);
	finish_soon(call, KUBE_TIMEOUT);
}

static void deadline_due(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct kube_call *call = timer->data;

	(void)loop;
	(void)events;
	time_out(call, call->http_status > 0 ? "not complete within" : "no answer within", call->allowed_ms);
}

static void idle_due(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct kube_call *call = timer->data;

	(void)loop;
	(void)events;
	time_out(call, "silent for", call->request.idle_timeout_ms);
}

static enum lane lane_of(const struct kube_request *request)
{
	return request->exempt         ? LANE_EXEMPT
	       : request->low_priority ? LANE_LOW
	       : request->last         ? LANE_LAST
				       : LANE_NORMAL;
}

static struct kube_call *new_call(struct kube_client *client, const struct kube_request *request, kube_data *data,
				  kube_done *done, void *arg)
{
	struct kube_call *call = mem_calloc(1, sizeof(*call));

	call->client = client;
	call->lane = lane_of(request);
	call->stream = data != NULL;
	call->request = *request;
	call->request.method = mem_strdup(request->method);
	call->request.path = mem_strdup(request->path);
	call->request.accept = mem_strdup(request->accept);
	call->request.content_type = mem_strdup(request->content_type);
	if (request->body != NULL)
		call->request.body = mem_memdup(request->body, request->body_len);
	client->pages += request->page;
	call->fenced = client->fenced && request->before_send != NULL && strcmp(request->method, "GET") != 0;
	call->retry_after_ms = -1;
	call->data = data;
	call->done = done;
	call->arg = arg;
	ev_timer_init(&call->deadline, deadline_due, 0.0, 0.0);
	call->deadline.data = call;
	ev_timer_init(&call->idle, idle_due, 0.0, (double)request->idle_timeout_ms / 1000.0);
	call->idle.data = call;
	ev_init(&call->news, exchange_news);
	call->news.data = call;
	lane_add(call);
	if (client->closing) {
		finish(call, KUBE_CANCELLED);
	} else if (call->lane == LANE_LOW && client->low_waiting > LOW_PRIORITY_WAITING_MAX) {
		buf_puts(&call->cause, "dropped: too many requests of low priority wait for the rate limit");
		finish(call, KUBE_REFUSED);
	}
	start_soon(client);
	return call;
}

struct kube_call *kube_client_call(struct kube_client *client, const struct kube_request *request, kube_done *done,
				   void *arg)
{
	return new_call(client, request, NULL, done, arg);
}

struct kube_call *kube_client_stream(struct kube_client *client, const struct kube_request *request, kube_data *data,
				     kube_done *done, void *arg)
{
	return new_call(client, request, data, done, arg);
}

void kube_call_cancel(struct kube_call *call)
{
	call->cancelled = true;
	finish(call, KUBE_CANCELLED);
}

/* ---- transports ---- */

/* Sends the call, whose transfer has ended, once more. It has paid already. */
static void send_again(struct kube_call *call, enum lane lane)
{
	exchange_count(call);
	call->counted = false;
	call->lane = lane;
	buf_clear(&call->answer);
	buf_clear(&call->cause);
	call->http_status = 0;
	lane_add(call);
	start_soon(call->client);
}

static void transfer_done(void *arg, CURL *easy, CURLcode result)
{
	struct kube_client *client = arg;
	struct kube_call *call = NULL;
	bool lost;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&call);
	if (result == CURLE_OK)
		transport_notes(call->transport)->received_ms = clock_boot_ms();
	exchange_judge(call, result);
	if (call->failure == KUBE_TIMEOUT && !call->stream && call->transport == client->shared &&
	    transport_notes(call->transport)->received_ms < call->started_ms)
		give_up_on(client, &client->shared);
	lost = call->lane != LANE_HTTP1 && !client->closing && exchange_lost(call, result);
	if (call->failure != KUBE_OK && !lost) /* half a request can stay on its way: it has no effect */
		drop_unsent(call);
	stop_running(call);
	if (lost) {
		log_v(1,
		      "%s %.*s: sending it again over HTTP/1.1: the server ended the request before all of it was sent",
		      call->request.method, (int)strcspn(call->request.path, "?"), call->request.path);
		send_again(call, LANE_HTTP1);
		return;
	}
	if (call->failure == KUBE_OK && call->http_status == 401 && !call->retried && !client->closing &&
	    credentials_rejected(&client->credentials, call->token_generation)) {
		call->retried = true;
		send_again(call, call->lane == LANE_HTTP1 ? LANE_HTTP1 : LANE_EXEMPT);
		return;
	}
	finish_soon(call, call->failure);
}

static struct transport *make_transport(struct kube_client *client, int late_ms)
{
	return transport_new(client->loop, (long)client->max_connections + 8, late_ms, transfer_done, client);
}

static struct transport *make_for_calls(struct kube_client *client)
{
	return make_transport(client, client->fenced ? KUBE_FENCED_UNACKED_MS : 0);
}

/* No new calls on this one; it is freed when its last call ended. */
static void give_up_on(struct kube_client *client, struct transport **slot)
{
	client->retired = mem_realloc(client->retired, client->retired_count + 1, sizeof(*client->retired));
	client->retired[client->retired_count++] = *slot;
	*slot = make_for_calls(client);
	handle_free_idle(client);
	/* the same server most likely */
	transport_notes(*slot)->multiplexed = transport_notes(client->retired[client->retired_count - 1])->multiplexed;
	deliver_later(client);
}

static void free_retired(struct kube_client *client)
{
	size_t kept = 0;

	for (size_t i = 0; i < client->retired_count; i++) {
		struct transport *transport = client->retired[i];

		if (transport_active(transport) == 0 && !transport_busy(transport))
			transport_free(transport);
		else
			client->retired[kept++] = transport;
	}
	client->retired_count = kept;
}

static void refresh_transports(struct kube_client *client)
{
	int64_t now_ms = clock_boot_ms();

	credentials_refresh(&client->credentials, false);
	if (client->tls_generation != client->credentials.tls_generation) {
		client->tls_generation = client->credentials.tls_generation;
		give_up_on(client, &client->shared);
	} else if (now_ms - transport_notes(client->shared)->born_ms > TRANSPORT_LIFE_MS) {
		give_up_on(client, &client->shared);
	}
}

/* ---- the work watcher ---- */

/* Only requests that are really sent take a token of the bucket. */
static void start(struct kube_call *call)
{
	struct kube_client *client = call->client;
	bool limited = lane_is_limited(call->lane);

	call->allowed_ms = call->request.timeout_ms;
	if (call->request.before_send != NULL && !call->request.before_send(call->arg, &call->allowed_ms)) {
		if (call->state == CALL_QUEUED) {
			buf_puts(&call->cause, "not sent: the caller withdrew it");
			finish(call, KUBE_REFUSED);
		}
		return;
	}
	if (call->state != CALL_QUEUED)
		return; /* cancelled by its own hook */
	if (call->allowed_ms <= 0) {
		buf_puts(&call->cause, "not sent: its time is over");
		finish(call, KUBE_REFUSED);
		return;
	}
	if (limited)
		token_bucket_take(&client->bucket);
	lane_send(call);
	call->state = CALL_RUNNING;
	call->transport = call->stream ? client->watching : call->lane == LANE_HTTP1 ? client->http1 : client->shared;
	call->started_ms = clock_boot_ms();
	exchange_prepare(call);
	if (call->stream)
		DL_APPEND(client->streams, call);
	else
		DL_APPEND(client->running, call);
	if (limited)
		client->in_flight++;
	if (call->lane == LANE_HTTP1)
		client->http1_running++;
	ev_timer_set(&call->deadline, (double)call->allowed_ms / 1000.0, 0.0);
	ev_timer_start(client->loop, &call->deadline);
	if (call->request.idle_timeout_ms > 0)
		ev_timer_again(client->loop, &call->idle);
	if (transport_add(call->transport, call->easy) < 0) {
		stop_running(call);
		buf_puts(&call->cause, "libcurl refused the request");
		finish(call, KUBE_NETWORK);
	}
}

static size_t places(const struct kube_client *client)
{
	if (transport_notes(client->shared)->multiplexed && client->max_connections < MULTIPLEXED_CALLS)
		return MULTIPLEXED_CALLS;
	return client->max_connections;
}

/* Whether a body is on its way that takes many turns of the loop. */
static bool sends_large(const struct kube_client *client)
{
	const struct kube_call *call;
	curl_off_t sent = 0;

	DL_FOREACH(client->running, call)
		if (call->request.body_len > LARGE_BYTES &&
		    curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &sent) == CURLE_OK &&
		    (size_t)sent < call->request.body_len)
			return true;
	return false;
}

int kube_client_patience_ms(const struct kube_client *client)
{
	bool waits = lane_first(client, LANE_NORMAL) != NULL;

	if (client->pages > 0 || sends_large(client))
		return 0;
	return waits && client->in_flight >= places(client) ? (int)(client->call_ms * PATIENCE) : INT_MAX;
}

static void credentials_have_settled(void *arg)
{
	start_soon(arg);
}

/* Whether calls can be sent. Without credentials, as long as a plugin is asked for them, they wait; when it fails, so
 * do they. */
static bool may_start(struct kube_client *client)
{
	const char *why = NULL;
	enum credentials_state state;
	struct kube_call *call;

	if (lane_first(client, LANE_EXEMPT) == NULL)
		return true;
	state = credentials_ready(&client->credentials, &why);
	while (state == CREDENTIALS_NONE && (call = lane_first(client, LANE_EXEMPT)) != NULL) {
		buf_printf(&call->cause, "not sent: no credentials: %s", why);
		finish(call, KUBE_NETWORK);
	}
	return state == CREDENTIALS_READY;
}

/* Waiting for a place or a token happens here, never inside libcurl, so it costs no request its time. */
static void start_calls(struct kube_client *client)
{
	int64_t wait_ms = 0;
	bool started = false;

	ev_now_update(client->loop); /* deadlines count from now, not from when this turn of the loop began */
	client->starting = true;
	if (!may_start(client)) {
		client->starting = false;
		return;
	}
	refresh_transports(client);
	for (enum lane lane = LANE_EXEMPT; lane < LANES; lane++) {
		while (client->lanes[lane] != NULL) {
			if (lane == LANE_HTTP1 && client->http1_running >= client->max_connections)
				break;
			if (lane_is_limited(lane)) {
				if (client->in_flight >= places(client))
					break;
				wait_ms = token_bucket_wait_ms(&client->bucket, clock_boot_ms());
				if (wait_ms > 0)
					break;
			}
			start(lane_next(client, lane));
			started = true;
		}
		if (lane_is_limited(lane) && client->lanes[lane] != NULL)
			break; /* the lower lane waits behind this one */
	}
	ev_timer_stop(client->loop, &client->refill);
	if (wait_ms > 0) {
		ev_timer_set(&client->refill, (double)token_bucket_gather_ms(&client->bucket, clock_boot_ms()) / 1000.0,
			     0.0);
		ev_timer_start(client->loop, &client->refill);
	}
	if (started) {
		transport_kick(client->shared);
		transport_kick(client->watching);
		transport_kick(client->http1);
	}
	client->starting = false;
}

static void begin(struct ev_loop *loop, struct ev_watcher *watcher, int events)
{
	struct kube_client *client = watcher->data;

	(void)loop;
	(void)events;
	if (lane_first(client, LANE_EXEMPT) != NULL)
		start_calls(client);
}

static void work(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct kube_client *client = timer->data;

	(void)events;
	ev_timer_stop(loop, &client->work); /* when it was fed instead */
	deliver_answers(client);
	start_calls(client);
	free_retired(client);
	if (deliver_is_due(client))
		deliver_later(client);
}

/* ---- the client ---- */

struct kube_client *kube_client_new(struct ev_loop *loop, const struct kube_config *config,
				    const struct kube_client_options *options, struct error *err)
{
	struct kube_client *client;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		error_set(err, "cannot initialize libcurl");
		return NULL;
	}
	client = mem_calloc(1, sizeof(*client));
	client->loop = loop;
	client->config = config;
	client->user_agent = mem_printf("User-Agent: %s",
					options->user_agent == NULL ? "frameworkcontroller" : options->user_agent);
	client->max_connections = options->max_connections > 0 ? (size_t)options->max_connections : DEFAULT_CONNECTIONS;
	client->fenced = options->fenced;
	client->idle_handles = mem_calloc(IDLE_HANDLES_MAX, sizeof(*client->idle_handles));
	token_bucket_init(&client->bucket, options->qps, options->burst, clock_boot_ms());
	ev_timer_init(&client->work, work, 0.0, 0.0);
	ev_set_priority(&client->work, EV_MINPRI); /* behind whatever else may add to it in this turn */
	client->work.data = client;
	ev_init(&client->begin, begin);
	ev_set_priority(&client->begin, EV_MINPRI);
	client->begin.data = client;
	ev_timer_init(&client->refill, work, 0.0, 0.0);
	client->refill.data = client;
	client->shared = make_for_calls(client);
	client->watching = make_transport(client, 0);
	client->http1 = make_for_calls(client);
	if (handle_resolve_server(client, err) < 0 ||
	    credentials_load(&client->credentials, config, loop, credentials_have_settled, client, err) < 0) {
		kube_client_free(client);
		return NULL;
	}
	if (options->exec_time_ms > 0)
		client->credentials.exec.time_ms = options->exec_time_ms;
	return client;
}

void kube_client_free(struct kube_client *client)
{
	if (client == NULL)
		return;
	client->closing = true;
	for (;;) {
		struct kube_call *call = lane_first(client, LANE_EXEMPT);

		if (call == NULL)
			call = client->running;
		if (call == NULL)
			call = client->streams;
		if (call != NULL)
			kube_call_cancel(call);
		else if (client->finished != NULL)
			deliver_answers(client);
		else
			break;
	}
	ev_timer_stop(client->loop, &client->work);
	ev_clear_pending(client->loop, &client->work);
	ev_clear_pending(client->loop, &client->begin);
	ev_timer_stop(client->loop, &client->refill);
	handle_free_idle(client);
	free(client->idle_handles);
	free_retired(client);
	free(client->retired);
	transport_free(client->shared);
	transport_free(client->watching);
	transport_free(client->http1);
	credentials_free(&client->credentials);
	counters_free(&client->counters);
	warnings_free(&client->warnings);
	curl_slist_free_all(client->connect_to);
	free(client->host_header);
	curl_url_cleanup(client->url);
	free(client->url_base);
	free(client->url_prefix);
	free(client->user_agent);
	free(client);
	curl_global_cleanup();
}

void kube_client_set_rate(struct kube_client *client, double qps, int burst)
{
	token_bucket_set(&client->bucket, qps, burst, clock_boot_ms());
	start_soon(client);
}

void kube_client_reload(struct kube_client *client)
{
	credentials_refresh(&client->credentials, true);
}

const struct kube_counter *kube_client_counters(const struct kube_client *client, size_t *count)
{
	*count = client->counters.count;
	return client->counters.rows;
}
