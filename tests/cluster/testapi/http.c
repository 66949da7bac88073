/* The network side; see http.h. Watches, logs and delayed requests are suspended connections (common/README.md §9): a
 * resumed one moves only in MHD_run. */
#include "tests/cluster/testapi/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ev.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/exchange.h"
#include "tests/cluster/testapi/headers.h"
#include "tests/cluster/testapi/log.h"
#include "tests/cluster/testapi/watch.h"

enum {
	CONNECTIONS_MAX = 20000,
	CONNECTION_MEMORY = 64 * 1024,
	ROUNDS_MAX = 4, /* of MHD_run before the loop gets its turn */
};

void exchange_suspend(struct exchange *exchange)
{
	struct api_http *http = exchange->http;

	MHD_suspend_connection(exchange->connection);
	exchange->suspended = true;
	exchange->prev = NULL;
	exchange->next = http->suspended;
	if (http->suspended != NULL)
		http->suspended->prev = exchange;
	http->suspended = exchange;
}

void exchange_resume(struct exchange *exchange)
{
	struct api_http *http = exchange->http;

	if (!exchange->suspended)
		return;
	exchange->suspended = false;
	if (exchange->prev != NULL)
		exchange->prev->next = exchange->next;
	else
		http->suspended = exchange->next;
	if (exchange->next != NULL)
		exchange->next->prev = exchange->prev;
	ev_io_stop(http->api->loop, &exchange->socket);
	ev_timer_stop(http->api->loop, &exchange->delay);
	MHD_resume_connection(exchange->connection);
	http->resumed = true;
}

/* ---- answers ---- */

/* Counts connections; the context of one is its number. */
static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct api_http *http = cls;

	(void)connection;
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*context = (void *)(uintptr_t)http->connections++;
}

static unsigned connection_number(struct exchange *exchange)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(exchange->connection,
								       MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return (unsigned)(uintptr_t)info->socket_context;
}

static void unref_object(void *object)
{
	api_object_unref(object);
}

static ssize_t read_body(void *arg, uint64_t position, char *out, size_t max)
{
	size_t len = api_answer_part(&((const struct exchange *)arg)->answer, (size_t)position, out, max);

	return len == 0 ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)len;
}

static void wake_log(void *exchange)
{
	const struct exchange *log = exchange;

	if (log->suspended)
		exchange_send_news(exchange);
}

static struct MHD_Response *make_response(struct exchange *exchange)
{
	struct api_answer *answer = &exchange->answer;
	struct MHD_Response *response;

	if (answer->watch != NULL) {
		exchange->watch = answer->watch;
		exchange->watch->transport = exchange;
		answer->watch = NULL;
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EXCHANGE_BLOCK, exchange_read_stream,
							 exchange, NULL);
	}
	if (answer->log != NULL) {
		exchange->log = answer->log;
		answer->log = NULL;
		api_log_start(exchange->log, wake_log, exchange);
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EXCHANGE_BLOCK, exchange_read_stream,
							 exchange, NULL);
	}
	if (answer->object != NULL) {
		response = MHD_create_response_from_buffer_with_free_callback_cls(
			answer->object->text_len, answer->object->text, unref_object, answer->object);
		answer->object = NULL;
		return response;
	}
	if (api_answer_in_chunks(answer))
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EXCHANGE_BLOCK, read_body, exchange, NULL);
	response = MHD_create_response_from_buffer(answer->body.len, answer->body.data == NULL ? "" : answer->body.data,
						   answer->body.data == NULL ? MHD_RESPMEM_PERSISTENT
									     : MHD_RESPMEM_MUST_FREE);
	answer->body = (struct buf){0};
	return response;
}

static void add_header(void *response, const char *name, const char *value)
{
	MHD_add_response_header(response, name, value);
}

static enum MHD_Result send_answer(struct exchange *exchange)
{
	struct MHD_Response *response = make_response(exchange);
	unsigned int status = (unsigned int)exchange->answer.status;
	enum MHD_Result result;

	if (response == NULL)
		return MHD_NO;
	exchange->stage = ANSWERED;
	api_answer_headers(&exchange->answer, add_header, response);
	result = MHD_queue_response(exchange->connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static void log_request(const struct exchange *exchange, int code)
{
	log_v(1, "%s %s %d %lld ms %s", exchange->request.method, exchange->request.path, code,
	      (long long)(clock_boot_ms() - exchange->began_ms),
	      exchange->request.user_agent == NULL ? "" : exchange->request.user_agent);
}

static void on_delay(struct ev_loop *loop, ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	exchange_resume(timer->data);
}

static enum MHD_Result wait_ms(struct exchange *exchange, int64_t delay_ms)
{
	exchange_suspend(exchange);
	ev_timer_init(&exchange->delay, on_delay, (double)delay_ms / 1000, 0.);
	exchange->delay.data = exchange;
	ev_timer_start(exchange->http->api->loop, &exchange->delay);
	return MHD_YES;
}

/* Ends without an answer: MHD closes the connection. */
static enum MHD_Result cut(struct exchange *exchange)
{
	if (exchange->strike.reset)
		exchange_reset(exchange);
	return MHD_NO;
}

static enum MHD_Result carry_out(struct exchange *exchange)
{
	struct api *api = exchange->http->api;
	const struct api_strike *strike = &exchange->strike;
	int code = 0;

	exchange->stage = CARRIED_OUT;
	exchange->request.as_of = strike->as_of;
	if (strike->status == 0 && !strike->cut)
		api_handle(api, &exchange->request, &exchange->answer);
	api_strike_answer(strike, &exchange->answer);
	if (!strike->cut && !strike->cut_answer)
		code = exchange->answer.status;
	api_faults_count(api, &exchange->request, code);
	log_request(exchange, code);
	if (strike->cut)
		return cut(exchange);
	if (strike->answer_latency_ms > 0)
		return wait_ms(exchange, strike->answer_latency_ms);
	return strike->cut_answer ? cut(exchange) : send_answer(exchange);
}

/* ---- requests ---- */

static enum MHD_Result add_query(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct api_request *request = cls;

	(void)kind;
	if (request->query_count < QUERY_MAX)
		request->query[request->query_count++] = (struct query_item){.name = name, .value = value};
	return MHD_YES;
}

static const char *header(const struct exchange *exchange, const char *name)
{
	return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

static void read_request(struct exchange *exchange, const char *url, const char *method)
{
	struct api_request *request = &exchange->request;

	request->method = method;
	request->path = url;
	request->accept = header(exchange, MHD_HTTP_HEADER_ACCEPT);
	request->content_type = header(exchange, MHD_HTTP_HEADER_CONTENT_TYPE);
	request->authorization = header(exchange, MHD_HTTP_HEADER_AUTHORIZATION);
	request->user_agent = header(exchange, MHD_HTTP_HEADER_USER_AGENT);
	request->body = exchange->body.data == NULL ? "" : exchange->body.data;
	request->body_len = exchange->body.len;
	request->too_large = exchange->too_large;
	request->connection = connection_number(exchange);
	MHD_get_connection_values(exchange->connection, MHD_GET_ARGUMENT_KIND, add_query, request);
	api_route(exchange->http->api, request);
}

static enum MHD_Result begin(struct exchange *exchange, const char *url, const char *method)
{
	struct api *api = exchange->http->api;

	read_request(exchange, url, method);
	if (api_faults_admin(api, &exchange->request, &exchange->answer))
		return send_answer(exchange);
	api_faults_strike(api, &exchange->request, &exchange->strike);
	if (exchange->strike.latency_ms > 0) {
		exchange->stage = DELAYED;
		return wait_ms(exchange, exchange->strike.latency_ms);
	}
	return carry_out(exchange);
}

static void take_body(struct exchange *exchange, const char *data, size_t len)
{
	if (exchange->body.len + len > REQUEST_BYTES_MAX) {
		exchange->too_large = true;
		buf_free(&exchange->body);
	}
	if (!exchange->too_large)
		buf_append(&exchange->body, data, len);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *data, size_t *len, void **state)
{
	struct exchange *exchange = *state;

	if (exchange == NULL) {
		exchange = mem_calloc(1, sizeof(*exchange));
		exchange->http_1_0 = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
		exchange->http = cls;
		exchange->connection = connection;
		exchange->began_ms = clock_boot_ms();
		*state = exchange;
		return MHD_YES;
	}
	if (*len > 0) {
		take_body(exchange, data, *len);
		*len = 0;
		return MHD_YES;
	}
	switch (exchange->stage) {
	case READING: return begin(exchange, url, method);
	case DELAYED: return carry_out(exchange);
	default: return exchange->strike.cut_answer ? cut(exchange) : send_answer(exchange);
	}
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode code)
{
	struct exchange *exchange = *state;

	(void)cls;
	(void)connection;
	(void)code;
	if (exchange == NULL)
		return;
	*state = NULL;
	ev_io_stop(exchange->http->api->loop, &exchange->socket);
	ev_timer_stop(exchange->http->api->loop, &exchange->delay);
	if (exchange->watch != NULL)
		api_watch_free(exchange->watch);
	api_log_free(exchange->log);
	api_answer_free(&exchange->answer);
	api_strike_free(&exchange->strike);
	api_request_free(&exchange->request);
	buf_free(&exchange->chunk);
	buf_free(&exchange->body);
	free(exchange);
}

/* ---- the loop ---- */

static void wake_watch(void *arg, struct api_watch *watch)
{
	(void)arg;
	exchange_send_news(watch->transport);
}

/* Runs MHD and hands events on until neither has anything to do. */
static void run(struct api_http *http)
{
	struct ev_loop *loop = http->api->loop;
	MHD_UNSIGNED_LONG_LONG timeout = 0;
	bool due = false;

	ev_timer_stop(loop, &http->again);
	for (int i = 0; i < ROUNDS_MAX; i++) {
		http->resumed = false;
		MHD_run(http->daemon);
		api_watch_flush(http->api);
		due = MHD_get_timeout(http->daemon, &timeout) == MHD_YES;
		if (!http->resumed && !(due && timeout == 0))
			break;
	}
	if (http->resumed)
		timeout = 0;
	if (http->resumed || due) {
		ev_timer_set(&http->again, (double)timeout / 1000, 0.);
		ev_timer_start(loop, &http->again);
	}
}

static void on_readable(struct ev_loop *loop, ev_io *io, int revents)
{
	(void)loop;
	(void)revents;
	run(io->data);
}

static void on_again(struct ev_loop *loop, ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	run(timer->data);
}

/* Before the loop sleeps: what timers changed (garbage collection) goes out to the watches. */
static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int revents)
{
	struct api_http *http = prepare->data;

	(void)loop;
	(void)revents;
	api_watch_flush(http->api);
	if (http->resumed)
		run(http);
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct api_http *http = timer->data;

	(void)loop;
	(void)revents;
	api_watch_tick(http->api);
}

static void start_loop(struct api_http *http, int epoll_fd)
{
	struct ev_loop *loop = http->api->loop;

	ev_io_init(&http->io, on_readable, epoll_fd, EV_READ);
	ev_prepare_init(&http->prepare, on_prepare);
	ev_timer_init(&http->again, on_again, 0., 0.);
	ev_timer_init(&http->tick, on_tick, 0.25, 0.25);
	http->io.data = http->prepare.data = http->again.data = http->tick.data = http;
	ev_io_start(loop, &http->io);
	ev_prepare_start(loop, &http->prepare);
	ev_timer_start(loop, &http->tick);
}

struct api_http *api_http_new(struct api *api, const char *address, uint16_t port, struct error *err)
{
	struct api_http *http = mem_calloc(1, sizeof(*http));
	struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons(port)};

	http->api = api;
	if (inet_pton(AF_INET, address, &where.sin_addr) == 1)
		http->daemon = MHD_start_daemon(
			MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, port, NULL, NULL, on_request, http,
			MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&where, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
			http, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_CONNECTION_LIMIT,
			(unsigned int)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
			MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U, MHD_OPTION_END);
	if (http->daemon == NULL) {
		free(http);
		error_set_errno(err, errno, "listen on %s:%u", address, port);
		return NULL;
	}
	http->port = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
	start_loop(http, MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd);
	api->wake = wake_watch;
	api->wake_arg = http;
	return http;
}

void api_http_free(struct api_http *http)
{
	struct ev_loop *loop = http->api->loop;

	/* suspended connections must not be there when the daemon stops */
	while (http->suspended != NULL) {
		http->suspended->gone = true;
		exchange_resume(http->suspended);
	}
	ev_io_stop(loop, &http->io);
	ev_prepare_stop(loop, &http->prepare);
	ev_timer_stop(loop, &http->again);
	ev_timer_stop(loop, &http->tick);
	MHD_stop_daemon(http->daemon);
	free(http);
}

uint16_t api_http_port(const struct api_http *http)
{
	return http->port;
}
