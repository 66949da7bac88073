/* One request: from its bytes to its handler, parked, answered; see serve.h. */
#include <gnutls/gnutls.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/serve/internal.h"

/* A body is read and thrown away, so that a 413 reaches its sender; not for ever. */
enum { DROPPED_MAX = 1024 * 1024 };

/* The bytes of libmicrohttpd's record of a request's header or argument. */
enum { FIELD_COST = 64 };

/* ---- what handlers ask ------------------------------------------------------------------------------------------- */

const char *serve_request_method(const struct serve_request *request)
{
	return request->method;
}

const char *serve_request_path(const struct serve_request *request)
{
	return request->path;
}

const char *serve_request_query(const struct serve_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->mhd, MHD_GET_ARGUMENT_KIND, name);
}

const char *serve_request_header(const struct serve_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->mhd, MHD_HEADER_KIND, name);
}

const char *serve_request_source(const struct serve_request *request)
{
	return request->conn->source->name;
}

void serve_request_vouch(struct serve_request *request)
{
	request->conn->vouched = true;
	source_sort(request->conn);
}

/* ---- parking and answering --------------------------------------------------------------------------------------- */

void serve_request_park(struct serve_request *request, void (*gone)(void *arg), void *arg)
{
	request->parked = true;
	request->gone = gone;
	request->gone_arg = arg;
}

static void watch_for_leaving(struct serve_request *request)
{
	struct epoll_event event = {.events = EPOLLRDHUP, .data.ptr = request->conn};

	if (epoll_ctl(request->serve->leave_epoll, EPOLL_CTL_ADD, request->conn->fd, &event) < 0)
		log_warning("cannot watch a parked connection: %m"); /* it costs its place until it is answered */
}

/* libmicrohttpd leaves a suspended connection alone, also when its client goes (common/README.md §9.3). */
static void suspend(struct serve_request *request)
{
	MHD_suspend_connection(request->mhd);
	request->suspended = true;
	request->serve->counters.parked++;
	watch_for_leaving(request);
}

static void resume(struct serve_request *request)
{
	if (!request->suspended)
		return;
	request->suspended = false;
	request->serve->counters.parked--;
	epoll_ctl(request->serve->leave_epoll, EPOLL_CTL_DEL, request->conn->fd, NULL);
	MHD_resume_connection(request->mhd);
	serve_run_soon(request->serve);
}

void request_leave(struct serve_request *request)
{
	void (*gone)(void *arg) = request->gone;

	if (!request->parked)
		return;
	request->parked = false;
	request->dead = true;
	resume(request);
	gone(request->gone_arg);
}

void serve_request_answer(struct serve_request *request, struct serve_answer *answer)
{
	if (request->answer != NULL || request->dead)
		abort(); /* answered twice, or after gone() */
	request->answer = answer_hold(answer);
	request->parked = false;
	resume(request);
}

void serve_request_reply(struct serve_request *request, int status, const char *content_type, const char *text)
{
	struct serve_answer *answer = serve_answer_new(status, content_type, text, strlen(text));

	serve_request_answer(request, answer);
	serve_answer_free(answer);
}

/* The reason words of API conventions; clients read them. */
static const char *reason_of(int status)
{
	switch (status) {
	case 400: return "BadRequest";
	case 401: return "Unauthorized";
	case 403: return "Forbidden";
	case 404: return "NotFound";
	case 405: return "MethodNotAllowed";
	case 413: return "RequestEntityTooLarge";
	case 429: return "TooManyRequests";
	case 503: return "ServiceUnavailable";
	default: return status >= 500 ? "InternalError" : "";
	}
}

void serve_request_fail(struct serve_request *request, int status, int retry_after_sec, const char *format, ...)
{
	cleanup_buf struct buf body = {0};
	struct serve_answer *answer;
	char message[1024];
	char seconds[16];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	buf_puts(&body,
		 "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":");
	buf_json_string(&body, message);
	buf_printf(&body, ",\"reason\":\"%s\",\"code\":%d}\n", reason_of(status), status);
	answer = serve_answer_new(status, "application/json", body.data, body.len);
	if (retry_after_sec >= 0) {
		snprintf(seconds, sizeof(seconds), "%d", retry_after_sec);
		serve_answer_header(answer, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
	}
	if (status == MHD_HTTP_UNAUTHORIZED)
		serve_answer_header(answer, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	serve_request_answer(request, answer);
	serve_answer_free(answer);
}

/* ---- libmicrohttpd's side ---------------------------------------------------------------------------------------- */

static const struct mount *find_mount(const struct serve *serve, const char *path)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < serve->mount_count; i++) {
		const struct mount *mount = &serve->mounts[i];

		if (strncmp(path, mount->prefix, strlen(mount->prefix)) == 0 &&
		    (best == NULL || strlen(mount->prefix) > strlen(best->prefix)))
			best = mount;
	}
	return best;
}

static void dispatch(struct serve_request *request)
{
	const struct mount *mount = find_mount(request->serve, request->path);

	request->dispatched = true;
	if (request->body_len > BODY_MAX) {
		serve_request_fail(request, MHD_HTTP_CONTENT_TOO_LARGE, -1, "the body is longer than %d bytes",
				   BODY_MAX);
		return;
	}
	if (mount == NULL) {
		serve_request_fail(request, MHD_HTTP_NOT_FOUND, -1, "there is nothing at this path");
		return;
	}
	mount->handler(mount->arg, request);
	if (request->answer == NULL && !request->parked)
		abort(); /* the handler forgot it */
}

static enum MHD_Result queue_answer(struct serve_request *request)
{
	int status = answer_status(request->answer);

	conn_enter(request->conn, CONN_ANSWERING);
	request->serve->counters.requests[status / 100 % 6]++;
	return answer_queue(request->answer, request->mhd);
}

static struct serve_request *request_new(struct serve *serve, struct MHD_Connection *mhd, const char *url,
					 const char *method)
{
	struct serve_request *request = mem_calloc(1, sizeof(*request));
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	request->serve = serve;
	request->conn = info->socket_context;
	request->conn->request = request;
	request->mhd = mhd;
	request->method = method;
	request->path = url;
	return request;
}

/* Whether the head leaves enough of the connection's memory for an answer's head. FIELD_COST is an upper bound of the
 * bytes that libmicrohttpd needs for each field beside its text. */
static bool room_to_answer(const struct serve *serve, struct MHD_Connection *mhd)
{
	size_t size = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
	int fields = MHD_get_connection_values(mhd, MHD_HEADER_KIND | MHD_GET_ARGUMENT_KIND | MHD_COOKIE_KIND, NULL,
					       NULL);

	return size + (size_t)fields * FIELD_COST + ANSWER_HEAD_MAX <= serve->head_max;
}

/* Past libmicrohttpd, which would close the connection without a word. The socket's buffer is empty: it takes this. */
static void refuse_head(struct serve *serve, struct MHD_Connection *mhd)
{
	static const char text[] = "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n"
				   "Content-Length: 0\r\n\r\n";

	serve->counters.requests[4]++;
	if (serve->tls)
		gnutls_record_send(MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session, text,
				   strlen(text));
	else
		send(MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd, text, strlen(text),
		     MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Once with the headers, then for each piece of body, then with none: the request is whole. After a resume as the
 * last. */
enum MHD_Result request_access(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
			       const char *version, const char *upload, size_t *upload_len, void **slot)
{
	struct serve *serve = cls;
	struct serve_request *request = *slot;

	(void)version;
	(void)upload;
	if (request == NULL) {
		if (!room_to_answer(serve, mhd)) {
			refuse_head(serve, mhd);
			return MHD_NO;
		}
		*slot = request_new(serve, mhd, url, method);
		return MHD_YES;
	}
	if (*upload_len > 0) {
		request->body_len += *upload_len;
		*upload_len = 0;
		return request->body_len > DROPPED_MAX ? MHD_NO : MHD_YES;
	}
	if (!request->dispatched) {
		conn_enter(request->conn, CONN_WORKING);
		dispatch(request);
	}
	if (request->dead)
		return MHD_NO;
	if (request->answer != NULL)
		return queue_answer(request);
	if (!request->suspended)
		suspend(request);
	return MHD_YES;
}

void request_completed(void *cls, struct MHD_Connection *mhd, void **slot, enum MHD_RequestTerminationCode code)
{
	struct serve_request *request = *slot;

	(void)cls;
	(void)mhd;
	(void)code;
	if (request == NULL)
		return;
	*slot = NULL;
	if (request->parked) { /* not by its client: those leave by request_leave(); the daemon stops */
		request->parked = false;
		request->gone(request->gone_arg);
	}
	request->conn->request = NULL;
	request->conn->vouched = false;
	conn_enter(request->conn, CONN_READING);
	if (request->conn->displaced)
		shutdown(request->conn->fd, SHUT_RDWR);
	serve_answer_free(request->answer);
	free(request);
}
