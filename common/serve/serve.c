/* The listener, its connections and the loop they run on; see serve.h. libmicrohttpd keeps an epoll of its own, which
 * the loop watches: MHD_run() does all its work, and only on_ready() calls it. */
#include "common/serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/address.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/serve/internal.h"
#include "common/serve/metrics.h"

enum {
	CONNECTIONS_DEFAULT = 256,
	HEAD_DEFAULT = 16 * 1024,
	REQUEST_TIMEOUT_DEFAULT_MS = 30 * 1000,
	ANSWER_TIMEOUT_DEFAULT_MS = 60 * 1000,
	SWEEP_MS = 500,
	ACCEPT_AGAIN_MS = 50,
	BACKLOG = 1024,
	OTHER_FILES = 128, /* descriptors the rest of the process may need */
	LEAVE_EVENTS = 64,
};

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static void run(struct serve *serve)
{
	uint64_t connections = serve->counters.connections;
	bool idle = serve->conns == NULL;
	MHD_UNSIGNED_LONG_LONG wait_ms;

	serve->soon = false;
	MHD_run(serve->daemon);
	ev_timer_stop(serve->loop, &serve->timer);
	/* Woken by a client that could not be accepted for want of a descriptor: with connections of its own
	 * libmicrohttpd waits until one is closed, without any it would try again at once, for ever. */
	if (idle && serve->counters.connections == connections) {
		ev_io_stop(serve->loop, &serve->io);
		ev_timer_set(&serve->timer, ACCEPT_AGAIN_MS / 1000., 0);
		ev_timer_start(serve->loop, &serve->timer);
		return;
	}
	if (serve->soon)
		wait_ms = 0;
	else if (MHD_get_timeout(serve->daemon, &wait_ms) != MHD_YES)
		return;
	ev_timer_set(&serve->timer, (double)wait_ms / 1000, 0);
	ev_timer_start(serve->loop, &serve->timer);
}

static void on_ready(struct ev_loop *loop, ev_io *io, int events)
{
	(void)loop;
	(void)events;
	run(io->data);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct serve *serve = timer->data;

	(void)events;
	if (ev_is_active(&serve->io))
		run(serve);
	else
		ev_io_start(loop, &serve->io);
}

static void on_leaving(struct ev_loop *loop, ev_io *io, int events)
{
	struct serve *serve = io->data;
	struct epoll_event left[LEAVE_EVENTS];
	int count = epoll_wait(serve->leave_epoll, left, LEAVE_EVENTS, 0);

	(void)loop;
	(void)events;
	/* connections are freed by MHD_run() alone: all of these are still there */
	for (int i = 0; i < count; i++) {
		const struct conn *conn = left[i].data.ptr;

		if (conn->request == NULL || !conn->request->parked)
			continue;
		serve->counters.gone++;
		request_leave(conn->request);
	}
}

/* ---- what every process serves ----------------------------------------------------------------------------------- */

/* Probes use GET; 405 for what would change something. */
static bool reading(struct serve_request *request)
{
	const char *method = serve_request_method(request);

	if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
		return true;
	serve_request_fail(request, MHD_HTTP_METHOD_NOT_ALLOWED, -1, "%.16s: expected GET", method);
	return false;
}

static void on_healthz(void *arg, struct serve_request *request)
{
	(void)arg;
	if (reading(request))
		serve_request_reply(request, MHD_HTTP_OK, "text/plain; charset=utf-8", "ok\n");
}

static void on_readyz(void *arg, struct serve_request *request)
{
	const struct serve *serve = arg;
	cleanup_buf struct buf why = {0};

	if (!reading(request))
		return;
	if (serve->ready == NULL || serve->ready(serve->arg, &why)) {
		serve_request_reply(request, MHD_HTTP_OK, "text/plain; charset=utf-8", "ok\n");
		return;
	}
	buf_puts(&why, "\n");
	serve_request_reply(request, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", why.data);
}

static void put_own_metrics(const struct serve_counters *counters, struct buf *out)
{
	static const char *const classes[] = {NULL, "1xx", "2xx", "3xx", "4xx", "5xx"};

	metrics_family(out, "http_requests_total", "counter", "Requests answered, by the first digit of the status.");
	for (size_t i = 2; i < ARRAY_LEN(classes); i++)
		metrics_value(out, "http_requests_total", (double)counters->requests[i], "code", classes[i], NULL);
	metrics_counter(out, "http_connections_total", "Connections accepted.", counters->connections);
	metrics_gauge(out, "http_connections", "Connections open.", counters->open);
	metrics_gauge(out, "http_requests_parked", "Requests that wait for their answer.", counters->parked);
	metrics_counter(out, "http_clients_gone_total", "Clients that disconnected while their request waited.",
			counters->gone);
	metrics_counter(out, "http_connections_expired_total", "Connections closed because they took too long.",
			counters->expired);
	metrics_counter(
		out, "http_connections_displaced_total",
		"Unauthenticated connections closed: few connections were left, and their address had the most.",
		counters->displaced);
}

static void on_metrics(void *arg, struct serve_request *request)
{
	const struct serve *serve = arg;
	cleanup_buf struct buf out = {0};

	if (!reading(request))
		return;
	if (serve->metrics != NULL)
		serve->metrics(serve->arg, &out);
	put_own_metrics(serve->counted, &out);
	metrics_process(&out);
	serve_request_reply(request, MHD_HTTP_OK, METRICS_CONTENT_TYPE, out.data);
}

void serve_mount(struct serve *serve, const char *prefix, serve_handler *handler, void *arg)
{
	if (serve->mount_count == MOUNTS_MAX)
		abort();
	serve->mounts[serve->mount_count++] = (struct mount){prefix, handler, arg};
}

/* ---- listening --------------------------------------------------------------------------------------------------- */

/* "host:port", "[host]:port", ":port" into its parts; the caller frees both. */
static int split_address(const char *address, char **host, char **port, struct error *err)
{
	const char *colon = strrchr(address, ':');
	const char *begin = address;
	const char *end = colon;

	if (colon == NULL || port_number(colon + 1) < 0)
		return error_set(err, "address \"%s\": expected HOST:PORT or :PORT, with a port up to %d", address,
				 PORT_MAX);
	if (*begin == '[' && end > begin && end[-1] == ']') {
		begin++;
		end--;
	}
	*host = mem_strndup(begin, (size_t)(end - begin));
	*port = mem_strdup(colon + 1);
	return 0;
}

static int listen_on(const struct addrinfo *info)
{
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;
	int off = 0;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (info->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	close(fd);
	return -1;
}

static int open_listener(const char *address, struct error *err)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *found = NULL;
	cleanup_free char *host = NULL;
	cleanup_free char *port = NULL;
	int fd = -1;
	int result;

	if (split_address(address, &host, &port, err) < 0)
		return -1;
	result = getaddrinfo(*host == '\0' ? NULL : host, port, &hints, &found);
	if (result != 0) {
		error_set(err, "address \"%s\": %s", address, gai_strerror(result));
		if (err != NULL && result == EAI_AGAIN)
			err->code = EAGAIN;
		return -1;
	}
	/* of "all addresses" first IPv6's, which takes IPv4 too; where there is no IPv6, IPv4's */
	for (int family = AF_INET6; fd < 0 && family != 0; family = family == AF_INET6 ? AF_INET : 0)
		for (const struct addrinfo *info = found; fd < 0 && info != NULL; info = info->ai_next)
			if (info->ai_family == family)
				fd = listen_on(info);
	if (fd < 0)
		error_set_errno(err, errno, "listen on \"%s\"", address);
	freeaddrinfo(found);
	return fd;
}

static char *name_of(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	char host[NI_MAXHOST];
	char port[NI_MAXSERV];

	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0 ||
	    getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return mem_strdup("?");
	return strchr(host, ':') != NULL ? mem_printf("[%s]:%s", host, port) : mem_printf("%s:%s", host, port);
}

/* common/README.md §9.2: the limit on connections and the one on files belong together. */
static unsigned allow_connections(unsigned wanted)
{
	struct rlimit limit;
	rlim_t needed = (rlim_t)wanted + OTHER_FILES;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= needed)
		return wanted;
	limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= needed)
		return wanted;
	getrlimit(RLIMIT_NOFILE, &limit);
	wanted = limit.rlim_cur > 2 * OTHER_FILES ? (unsigned)limit.rlim_cur - OTHER_FILES
						  : (unsigned)limit.rlim_cur / 2 + 1;
	log_warning("RLIMIT_NOFILE is %llu: at most %u connections", (unsigned long long)limit.rlim_cur, wanted);
	return wanted;
}

static void on_mhd_log(void *arg, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Mostly what clients did wrong. */
static void on_mhd_log(void *arg, const char *format, va_list args)
{
	char text[512];

	(void)arg;
	vsnprintf(text, sizeof(text), format, args);
	log_v(2, "libmicrohttpd: %s", text);
}

static int start_daemon(struct serve *serve, int fd, struct error *err)
{
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	const struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_callback()},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
		{MHD_OPTION_END, 0, NULL},
	};
	const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};

	if (serve->tls)
		flags |= MHD_USE_TLS;
	/* the log first: options that follow may complain */
	serve->daemon = MHD_start_daemon(
		flags, 0, conn_admit, serve, request_access, serve, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, serve->max_connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, serve->head_max - ANSWER_HEAD_SPARE, MHD_OPTION_CONNECTION_TIMEOUT,
		0u, MHD_OPTION_NOTIFY_COMPLETED, request_completed, serve, MHD_OPTION_NOTIFY_CONNECTION, conn_notify,
		serve, MHD_OPTION_ARRAY, serve->tls ? tls : none, MHD_OPTION_END);
	if (serve->daemon == NULL)
		return error_set(err, "start the HTTP server on %s", serve->address);
	return 0;
}

static void start_watchers(struct serve *serve)
{
	int fd = MHD_get_daemon_info(serve->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;

	ev_io_init(&serve->io, on_ready, fd, EV_READ);
	ev_timer_init(&serve->timer, on_timer, 0, 0);
	ev_timer_init(&serve->sweep, conn_sweep, 0, SWEEP_MS / 1000.);
	ev_io_init(&serve->leave_io, on_leaving, serve->leave_epoll, EV_READ);
	serve->io.data = serve->timer.data = serve->sweep.data = serve->leave_io.data = serve;
	ev_io_start(serve->loop, &serve->io);
	ev_io_start(serve->loop, &serve->leave_io);
}

struct serve *serve_new(struct ev_loop *loop, const struct serve_options *options, struct error *err)
{
	struct serve *serve;
	int fd;

	if ((options->tls_cert_file == NULL) != (options->tls_key_file == NULL)) {
		error_set(err, "found only one of a certificate and a key, expected both");
		return NULL;
	}
	fd = open_listener(options->address, err);
	if (fd < 0)
		return NULL;
	serve = mem_calloc(1, sizeof(*serve));
	serve->loop = loop;
	serve->address = name_of(fd);
	serve->head_max = options->head_max != 0 ? options->head_max : HEAD_DEFAULT;
	serve->max_connections = allow_connections(options->max_connections != 0 ? options->max_connections
										 : CONNECTIONS_DEFAULT);
	/* (there may be fewer than were asked for) */
	serve->spare = options->spare < serve->max_connections / 2 ? options->spare : serve->max_connections / 2;
	serve->request_timeout_ms = options->request_timeout_ms != 0 ? options->request_timeout_ms
								     : REQUEST_TIMEOUT_DEFAULT_MS;
	serve->answer_timeout_ms = options->answer_timeout_ms != 0 ? options->answer_timeout_ms
								   : ANSWER_TIMEOUT_DEFAULT_MS;
	serve->ready = options->ready;
	serve->metrics = options->metrics;
	serve->arg = options->arg;
	serve->counted = options->counted != NULL ? &options->counted->counters : &serve->counters;
	serve->leave_epoll = epoll_create1(EPOLL_CLOEXEC);
	if (serve->leave_epoll < 0) {
		error_set_errno(err, errno, "epoll_create1");
		goto failed;
	}
	if (options->tls_cert_file != NULL) {
		if (tls_start(options->tls_cert_file, options->tls_key_file, err) < 0)
			goto failed;
		serve->tls = true;
	}
	if (start_daemon(serve, fd, err) < 0)
		goto failed;
	start_watchers(serve);
	if (options->mounts_only)
		return serve;
	serve_mount(serve, "/healthz", on_healthz, serve);
	serve_mount(serve, "/readyz", on_readyz, serve);
	serve_mount(serve, "/metrics", on_metrics, serve);
	return serve;
failed:
	close(fd);
	if (serve->leave_epoll >= 0)
		close(serve->leave_epoll);
	if (serve->tls)
		tls_stop();
	free(serve->address);
	free(serve);
	return NULL;
}

void serve_free(struct serve *serve)
{
	struct conn *conn;

	if (serve == NULL)
		return;
	DL_FOREACH(serve->conns, conn)
		if (conn->request != NULL)
			request_leave(conn->request);
	MHD_run(serve->daemon);         /* a suspended connection may not be left at the end */
	MHD_stop_daemon(serve->daemon); /* closes the listener too */
	ev_io_stop(serve->loop, &serve->io);
	ev_timer_stop(serve->loop, &serve->timer);
	ev_timer_stop(serve->loop, &serve->sweep);
	ev_io_stop(serve->loop, &serve->leave_io);
	close(serve->leave_epoll);
	if (serve->tls)
		tls_stop();
	free(serve->address);
	free(serve);
}

const char *serve_address(const struct serve *serve)
{
	return serve->address;
}

const struct serve_counters *serve_counters(const struct serve *serve)
{
	return &serve->counters;
}
