/* See logserver.h. A log that is followed is a suspended connection of libmicrohttpd (common/README.md §9): a resumed
 * one moves only in MHD_run, and a client that leaves is seen only by watching its socket. */
#include "tests/cluster/testkubelet/logserver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ev.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/mem.h"
#include "tests/cluster/testkubelet/internal.h"
#include "tests/cluster/testkubelet/runlog.h"

enum { CONNECTIONS_MAX = 4000, BLOCK = 32 * 1024, PEM_MAX = 1024 * 1024 };

struct log_server {
	struct kubelet *kubelet;
	struct MHD_Daemon *daemon;
	ev_io io;       /* libmicrohttpd's epoll */
	ev_timer again; /* it has more to do at a time of its own */
	struct buf cert;
	struct buf key;
	struct log_stream *suspended;
};

/* A log on its way to a client. */
struct log_stream {
	struct log_stream *prev, *next; /* while suspended */
	struct log_server *server;
	struct MHD_Connection *connection;
	struct log_reader *reader;
	bool suspended;
	bool gone;    /* the client has left, or the server ends */
	ev_io socket; /* while suspended */
};

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static void run_after(struct log_server *server, double seconds)
{
	ev_timer_stop(server->kubelet->loop, &server->again);
	ev_timer_set(&server->again, seconds, 0);
	ev_timer_start(server->kubelet->loop, &server->again);
}

static void run(struct log_server *server)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	ev_timer_stop(server->kubelet->loop, &server->again);
	MHD_run(server->daemon);
	if (!ev_is_active(&server->again) && MHD_get_timeout(server->daemon, &wait_ms) == MHD_YES)
		run_after(server, (double)wait_ms / 1000);
}

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
	(void)loop;
	(void)events;
	run(io->data);
}

static void on_again(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	run(timer->data);
}

/* ---- one log ----------------------------------------------------------------------------------------------------- */

static void resume(struct log_stream *stream)
{
	struct log_server *server = stream->server;

	if (!stream->suspended)
		return;
	stream->suspended = false;
	DL_DELETE(server->suspended, stream);
	ev_io_stop(server->kubelet->loop, &stream->socket);
	MHD_resume_connection(stream->connection);
	run_after(server, 0);
}

static void on_news(void *arg)
{
	resume(arg);
}

/* Whoever follows a log says nothing until it leaves. */
static void on_socket(struct ev_loop *loop, ev_io *io, int events)
{
	struct log_stream *stream = io->data;

	(void)loop;
	(void)events;
	stream->gone = true;
	resume(stream);
}

static ssize_t read_log(void *cls, uint64_t position, char *out, size_t max)
{
	struct log_stream *stream = cls;
	ssize_t len = stream->gone ? MHD_CONTENT_READER_END_WITH_ERROR : log_reader_take(stream->reader, out, max);

	(void)position;
	if (len == LOG_READER_END)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (len != LOG_READER_NOTHING)
		return len;
	MHD_suspend_connection(stream->connection);
	stream->suspended = true;
	DL_APPEND(stream->server->suspended, stream);
	ev_io_init(&stream->socket, on_socket,
		   MHD_get_connection_info(stream->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd, EV_READ);
	stream->socket.data = stream;
	ev_io_start(stream->server->kubelet->loop, &stream->socket);
	return 0;
}

static void free_stream(void *cls)
{
	struct log_stream *stream = cls;

	log_reader_free(stream->reader);
	free(stream);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
	enum MHD_Result result;

	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

__attribute__((format(printf, 3, 4))) static enum MHD_Result answer_text(struct MHD_Connection *connection,
									 unsigned status, const char *format, ...)
{
	char text[ERROR_MESSAGE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return answer(connection, status, MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_COPY));
}

static const char *parameter(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

static bool flag(struct MHD_Connection *connection, const char *name)
{
	const char *value = parameter(connection, name);

	return value != NULL && strcmp(value, "true") == 0;
}

static int64_t number(struct MHD_Connection *connection, const char *name)
{
	const char *value = parameter(connection, name);

	return value == NULL ? -1 : strtoll(value, NULL, 10);
}

static struct log_query query_of(struct MHD_Connection *connection)
{
	struct log_query query = {
		.follow = flag(connection, "follow"),
		.timestamps = flag(connection, "timestamps"),
		.tail_lines = number(connection, "tailLines"),
		.limit_bytes = number(connection, "limitBytes"),
	};
	const char *since = parameter(connection, "sinceTime");
	int64_t seconds = number(connection, "sinceSeconds");

	if (seconds >= 0)
		query.since_ms = clock_wall_ms() - seconds * 1000;
	else if (since != NULL && time_parse_rfc3339(since, &seconds) == 0)
		query.since_ms = seconds * 1000;
	return query;
}

static const struct kubelet_pod *find_pod(const struct kubelet *kubelet, const char *ns, const char *name)
{
	for (const struct kubelet_pod *pod = kubelet->pods; pod != NULL; pod = pod->by_uid.next)
		if (strcmp(pod->name, name) == 0 && strcmp(pod->ns, ns) == 0)
			return pod;
	return NULL;
}

static enum MHD_Result serve_log(struct log_server *server, struct MHD_Connection *connection, struct run_log *log)
{
	const struct log_query query = query_of(connection);
	struct log_stream *stream = mem_calloc(1, sizeof(*stream));

	stream->server = server;
	stream->connection = connection;
	stream->reader = log_reader_new(log, &query, on_news, stream);
	return answer(connection, MHD_HTTP_OK,
		      MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_log, stream, free_stream));
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *data, size_t *len, void **state)
{
	struct log_server *server = cls;
	cleanup_free char *path = mem_strdup(url);
	char *rest = path;
	const char *first = strsep(&rest, "/"), *what = strsep(&rest, "/"), *ns = strsep(&rest, "/");
	const char *name = strsep(&rest, "/"), *container = strsep(&rest, "/");
	bool previous = flag(connection, "previous");
	const struct kubelet_pod *pod;
	struct run_log *log;

	(void)version;
	(void)data;
	(void)len;
	/* (the first call comes before the request is whole) */
	if (*state == NULL) {
		*state = server;
		return MHD_YES;
	}
	if (container == NULL || rest != NULL || strcmp(method, "GET") != 0 || *first != '\0' ||
	    strcmp(what, "containerLogs") != 0)
		return answer_text(connection, MHD_HTTP_NOT_FOUND,
				   "found %s %s, expected GET /containerLogs/NAMESPACE/POD/CONTAINER\n", method, url);
	pod = find_pod(server->kubelet, ns, name);
	if (pod == NULL)
		return answer_text(connection, MHD_HTTP_NOT_FOUND, "pod \"%s\" not found\n", name);
	/* Nothing runs in a scripted Pod: it prints nothing. */
	if (!server->kubelet->options.real)
		return answer_text(connection, MHD_HTTP_OK, "%s", "");
	log = pod->runtime == NULL ? NULL : runtime_pod_log(pod->runtime, container, previous);
	if (log == NULL)
		return answer_text(connection, MHD_HTTP_BAD_REQUEST,
				   previous ? "previous terminated container \"%s\" in pod \"%s\" not found\n"
					    : "container \"%s\" in pod \"%s\" is waiting to start: no logs yet\n",
				   container, name);
	return serve_log(server, connection, log);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static struct MHD_Daemon *start_daemon(struct log_server *server)
{
	const struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, server->cert.data},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, server->key.data},
		{MHD_OPTION_END, 0, NULL},
	};
	bool secure = server->cert.data != NULL;

	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (secure ? (unsigned)MHD_USE_TLS : 0), 0,
				NULL, NULL, on_request, server, MHD_OPTION_SOCK_ADDR, &where,
				MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_ARRAY,
				secure ? tls : &tls[2], MHD_OPTION_END);
}

static void free_server(struct log_server *server)
{
	buf_free(&server->cert);
	buf_free(&server->key);
	free(server);
}

struct log_server *log_server_new(struct kubelet *kubelet, const char *tls_cert, const char *tls_key, struct error *err)
{
	struct log_server *server = mem_calloc(1, sizeof(*server));

	server->kubelet = kubelet;
	if ((tls_cert != NULL && file_read(tls_cert, PEM_MAX, &server->cert, NULL, err) < 0) ||
	    (tls_key != NULL && file_read(tls_key, PEM_MAX, &server->key, NULL, err) < 0)) {
		free_server(server);
		return NULL;
	}
	server->daemon = start_daemon(server);
	if (server->daemon == NULL) {
		error_set_errno(err, errno, "listen on 127.0.0.1 for requests for logs");
		free_server(server);
		return NULL;
	}
	ev_io_init(&server->io, on_readable, MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
		   EV_READ);
	ev_timer_init(&server->again, on_again, 0, 0);
	server->io.data = server->again.data = server;
	ev_io_start(kubelet->loop, &server->io);
	return server;
}

uint16_t log_server_port(const struct log_server *server)
{
	return MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void log_server_free(struct log_server *server)
{
	struct log_stream *stream, *next;

	if (server == NULL)
		return;
	/* none may be suspended when it stops */
	DL_FOREACH_SAFE(server->suspended, stream, next) {
		stream->gone = true;
		resume(stream);
	}
	ev_io_stop(server->kubelet->loop, &server->io);
	ev_timer_stop(server->kubelet->loop, &server->again);
	MHD_stop_daemon(server->daemon);
	free_server(server);
}
