/* Requests and answers in libcurl, and the callbacks of the callers; see call.h. Those never run within libcurl: data
 * of streams are handed on in a callback of the loop, and answers from the `work` watcher. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/kube/client/call.h"
#include "common/kube/config/url.h"

enum { CONNECT_TIMEOUT_MS = 10000 };
/* The buffer of a stream's data is freed rather than kept past this. */
enum { FRESH_KEPT_BYTES = 256 * 1024 };
/* libcurl asks before it sends a MiB or more; half of that is on the safe side. */
enum { ASKED_BEFORE_BYTES = 512 * 1024 };
/* libcurl's deadline comes so much later than ours, which needs the connection as it is before libcurl ends the
 * request's stream on it. */
enum { TIMEOUT_LATER_MS = 500 };

void deliver_later(struct kube_client *client)
{
	if (!ev_is_active(&client->work)) {
		ev_timer_set(&client->work, 0.0, 0.0);
		ev_timer_start(client->loop, &client->work);
	}
}

/* ---- libcurl's callbacks: they only note ---- */

static void note_bytes(struct kube_call *call)
{
	transport_notes(call->transport)->received_ms = clock_boot_ms();
	if (call->request.idle_timeout_ms > 0)
		ev_timer_again(call->client->loop, &call->idle);
}

/* The stream's data callback runs in this turn of the loop, once libcurl has returned. Work that the callback defers
 * until the loop sleeps needs one more turn, if calls are being started right before the loop sleeps. */
static void note_news(struct kube_call *call)
{
	ev_feed_event(call->client->loop, &call->news, EV_CUSTOM);
	if (call->client->starting)
		deliver_later(call->client);
}

static int status_of(CURL *easy)
{
	long code = 0;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
	return (int)code;
}

static size_t on_header(char *data, size_t size, size_t count, void *arg)
{
	struct kube_call *call = arg;
	size_t len = size * count;
	int status;

	note_bytes(call);
	if (len > 2 || (*data != '\r' && *data != '\n'))
		return len;
	status = status_of(call->easy);
	if (status >= 200 && status < 300) {
		call->announce = true;
		note_news(call);
		call->http_status = status;
		exchange_count(call); /* a stream counts when it begins */
		warnings_note(&call->client->warnings, call->easy, call->request.method, call->request.path);
	}
	return len;
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
	struct kube_call *call = arg;
	size_t len = size * count;

	note_bytes(call);
	if (call->http_status == 0)
		call->http_status = status_of(call->easy);
	if (call->stream && call->http_status >= 200 && call->http_status < 300) {
		buf_append(&call->fresh, data, len);
		note_news(call);
		return len;
	}
	if (len > ANSWER_MAX_BYTES - call->answer.len) {
		call->too_large = true;
		return 0; /* libcurl gives up with CURLE_WRITE_ERROR */
	}
	buf_append(&call->answer, data, len);
	return len;
}

/* libcurl opens them likewise, but reports no cause of a failure, or that of an earlier connection. */
static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct kube_call *call = arg;
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

	(void)purpose;
	call->no_descriptors = fd < 0 && (errno == EMFILE || errno == ENFILE);
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* The connection is there, whoever it was that waited for it, and the request is about to be sent. */
static int on_ready(void *arg, char *to, char *from, int to_port, int from_port)
{
	struct kube_call *call = arg;

	(void)to;
	(void)from;
	(void)to_port;
	call->too_late = call->request.before_send != NULL && clock_boot_ms() > call->started_ms + KUBE_FENCED_SEND_MS;
	call->local_port = from_port;
	call->begun = true;
	return call->too_late ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* ---- request ---- */

static void add_header(struct kube_call *call, const char *text)
{
	struct curl_slist *list = curl_slist_append(call->headers, text);

	if (list == NULL)
		mem_exhausted();
	call->headers = list;
}

static void add_headers(struct kube_call *call)
{
	struct kube_client *client = call->client;
	cleanup_free char *authorization = NULL;
	struct buf line = {0};

	buf_printf(&line, "Accept: %s", call->request.accept == NULL ? "application/json" : call->request.accept);
	add_header(call, line.data);
	if (call->request.body != NULL) {
		buf_clear(&line);
		buf_printf(&line, "Content-Type: %s",
			   call->request.content_type == NULL ? "application/json" : call->request.content_type);
		add_header(call, line.data);
		/* libcurl would ask before sending a large body, and wait a second for the answer */
		if (call->request.body_len >= ASKED_BEFORE_BYTES)
			add_header(call, "Expect:");
	}
	authorization = credentials_authorization(&client->credentials);
	if (authorization != NULL)
		add_header(call, authorization);
	call->token_generation = client->credentials.token_generation;
	for (char **at = client->config->impersonate; at != NULL && *at != NULL; at++)
		add_header(call, *at);
	add_header(call, client->user_agent); /* libcurl would print that of an option twice */
	if (client->host_header != NULL)
		add_header(call, client->host_header);
	buf_free(&line);
}

/* libcurl takes a URL apart and puts it together again for each request, byte by byte: it gets the constant part, taken
 * apart already, and the path beside it. A proxy gets the whole URL. */
static void set_url(struct kube_call *call)
{
	const struct kube_client *client = call->client;
	bool whole = client->config->proxy_url != NULL;
	struct buf target = {0};

	if (whole)
		buf_puts(&target, client->url_base);
	buf_puts(&target, client->url_prefix);
	buf_puts(&target, call->request.path);
	if (call->request.server_timeout) {
		/* rounded down: the server must not outlive us */
		buf_puts(&target, strchr(call->request.path, '?') == NULL ? "?timeout=" : "&timeout=");
		if (call->allowed_ms >= 1000)
			buf_printf(&target, "%llds", (long long)(call->allowed_ms / 1000));
		else
			buf_printf(&target, "%lldms", (long long)call->allowed_ms);
	}
	curl_easy_setopt(call->easy, whole ? CURLOPT_URL : CURLOPT_REQUEST_TARGET, target.data);
	buf_free(&target);
}

static void set_method(struct kube_call *call)
{
	CURL *easy = call->easy;

	if (call->request.body != NULL) {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->request.body_len);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->request.body);
	}
	/* a POST without a body must still say Content-Length: 0 */
	else if (strcmp(call->request.method, "POST") == 0 || strcmp(call->request.method, "PUT") == 0 ||
		 strcmp(call->request.method, "PATCH") == 0) {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
	} else {
		curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
	}
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->request.method);
}

void exchange_prepare(struct kube_call *call)
{
	int64_t connect_ms = call->allowed_ms < CONNECT_TIMEOUT_MS ? call->allowed_ms : CONNECT_TIMEOUT_MS;
	CURL *easy = handle_take(call->client, call->transport);

	call->easy = easy;
	call->curl_error[0] = '\0';
	call->no_descriptors = false;
	call->too_late = false;
	call->begun = false;
	call->local_port = 0;
	add_headers(call);
	set_url(call);
	set_method(call);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_error);
	curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, call->request.gzip ? "gzip" : NULL);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_ready);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
	if (call->stream) {
		curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
		curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
	}
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)call->allowed_ms + TIMEOUT_LATER_MS);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
}

/* ---- answer ---- */

/* By the header (RFC 9110 §6.6.1), and the time that the body has taken since; 0: there is none. */
static int64_t date_of(CURL *easy)
{
	curl_off_t first = 0, last = 0;
	struct curl_header *date;
	time_t parsed;

	if (curl_easy_header(easy, "Date", 0, CURLH_HEADER, -1, &date) != CURLHE_OK)
		return 0;
	parsed = curl_getdate(date->value, NULL);
	curl_easy_getinfo(easy, CURLINFO_STARTTRANSFER_TIME_T, &first);
	curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &last);
	return parsed > 0 ? parsed + (last - first) / 1000000 : 0;
}

void exchange_collect(struct kube_call *call)
{
	struct kube_client *client = call->client;
	curl_off_t retry_after = 0;
	long request_size = 0;
	long version = 0;

	call->http_status = 0;
	call->date_sec = 0;
	if (call->begun) { /* else the handle may still tell of its last transfer */
		call->http_status = status_of(call->easy);
		warnings_note(&client->warnings, call->easy, call->request.method, call->request.path);
		call->date_sec = date_of(call->easy);
		curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after);
		curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &request_size);
		curl_easy_getinfo(call->easy, CURLINFO_HTTP_VERSION, &version);
	}
	call->retry_after_ms = retry_after > 0 ? (retry_after > 3600 ? 3600 : (int64_t)retry_after) * 1000 : -1;
	call->sent = call->sent || request_size > 0 || call->http_status > 0;
	if (version == CURL_HTTP_VERSION_2_0)
		transport_notes(call->transport)->multiplexed = true;
	handle_return(client, call->transport, call->easy);
	call->easy = NULL;
	curl_slist_free_all(call->headers);
	call->headers = NULL;
}

void exchange_judge(struct kube_call *call, CURLcode result)
{
	long code = 0;

	switch (result) {
	case CURLE_OK: call->failure = KUBE_OK; return;
	case CURLE_OPERATION_TIMEDOUT: call->failure = KUBE_TIMEOUT; break;
	default: call->failure = KUBE_NETWORK;
	}
	curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &code);
	if (call->too_large)
		buf_printf(&call->cause, "the answer is larger than %d MiB", ANSWER_MAX_BYTES / 1024 / 1024);
	else if (call->too_late)
		buf_printf(&call->cause, "not sent: no connection within %d ms", KUBE_FENCED_SEND_MS);
	else if (call->no_descriptors)
		buf_puts(&call->cause, "no socket can be opened: there are no file descriptors left (RLIMIT_NOFILE)");
	else if (result == CURLE_COULDNT_RESOLVE_PROXY) /* libcurl's own text can contain the proxy's password */
		buf_printf(&call->cause, "cannot use the proxy %s: its name is unknown, or its URL is malformed",
			   url_redacted(call->client->config->proxy_url));
	else if (result == CURLE_COULDNT_CONNECT && code != 0)
		buf_puts(&call->cause, strerror((int)code));
	else
		buf_puts(&call->cause, call->curl_error[0] != '\0' ? call->curl_error : curl_easy_strerror(result));
}

bool exchange_lost(const struct kube_call *call, CURLcode result)
{
	curl_off_t sent = 0;

	return result == CURLE_HTTP2_STREAM &&
	       curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &sent) == CURLE_OK &&
	       (size_t)sent < call->request.body_len;
}

void exchange_count(struct kube_call *call)
{
	char resource[RESOURCE_LABEL_SIZE];
	const char *method = call->request.method;
	bool collection;

	if (call->counted)
		return;
	call->counted = true;
	resource_label(call->request.path, resource, &collection);
	if (call->stream)
		method = "WATCH";
	else if (collection && strcmp(method, "GET") == 0)
		method = "LIST";
	counters_add(&call->client->counters, method, resource, call->http_status);
}

/* ---- streams ---- */

static bool has_news(const struct kube_call *call)
{
	return !call->in_data && !call->cancelled && (call->announce || call->fresh.len > 0);
}

/* Hands on what a stream received. The callback may do anything, but the call stays until it returns. */
static void deliver_news(struct kube_call *call)
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
	if (call->state == CALL_FINISHED)
		deliver_later(call->client);
}

void exchange_news(struct ev_loop *loop, struct ev_watcher *watcher, int events)
{
	struct kube_call *call = watcher->data;

	(void)loop;
	(void)events;
	do
		if (has_news(call))
			deliver_news(call);
	while (call->state == CALL_RUNNING && has_news(call)); /* the callback may have run the loop */
}

/* ---- answers ---- */

static void call_free(struct kube_call *call)
{
	ev_clear_pending(call->client->loop, &call->news);
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
		.date_sec = call->date_sec,
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
 * deliver_news comes back for it. */
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
		if (has_news(call))
			deliver_news(call);
		call_deliver(call);
	}
}

bool deliver_is_due(struct kube_client *client)
{
	return next_finished(client) != NULL;
}
