/* A tiny HTTP/1.1 server for tests of HTTP clients, on the same libev loop as the client: each test decides in a
 * callback what every request is answered. Bytes on the wire are the test's own, so it can split, cut and stall
 * them. One header with static functions, because each unit test is one object. */
#ifndef TESTS_HTTP_SERVER_H
#define TESTS_HTTP_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "tests/unit/slow.h"

#define MAYBE_UNUSED __attribute__((unused))

struct http_server;

/* One connection, and the request it waits an answer for. */
struct http_conn {
	struct http_server *server;
	struct http_conn *next;
	int fd; /* -1: closed */
	struct ev_io read_io;
	struct ev_io write_io;
	struct buf in;
	struct buf out;
	bool close_after; /* once out is empty */
	bool other;       /* it speaks another protocol: server->on_bytes takes all bytes */
	/* the request */
	char method[16];
	char path[2048];
	char *headers; /* all header lines, as sent */
	char *body;
};

struct http_server {
	struct ev_loop *loop;
	int fd;
	int port;
	char address[64]; /* "http://127.0.0.1:port" */
	struct ev_io accept_io;
	struct http_conn *conns;
	size_t conn_count;    /* accepted so far */
	size_t request_count; /* received so far */
	struct buf log;       /* "GET /path\n…" */
	void (*on_request)(void *arg, struct http_conn *conn);
	/* NULL, or takes from conn->in what another protocol says, and sets conn->other for good */
	void (*on_bytes)(void *arg, struct http_conn *conn);
	void *arg;
};

static MAYBE_UNUSED void http_close(struct http_conn *conn)
{
	if (conn->fd < 0)
		return;
	ev_io_stop(conn->server->loop, &conn->read_io);
	ev_io_stop(conn->server->loop, &conn->write_io);
	close(conn->fd);
	conn->fd = -1;
}

/* Closes with a reset instead of an orderly end. */
static MAYBE_UNUSED void http_reset(struct http_conn *conn)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (conn->fd >= 0)
		setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	http_close(conn);
}

static MAYBE_UNUSED void http_flush(struct ev_loop *loop, struct ev_io *io, int events)
{
	struct http_conn *conn = io->data;

	(void)events;
	while (conn->out.len > 0) {
		ssize_t count = send(conn->fd, conn->out.data, conn->out.len, MSG_NOSIGNAL);

		if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
			ev_io_start(loop, &conn->write_io);
			return;
		}
		if (count < 0) {
			http_close(conn);
			return;
		}
		buf_consume(&conn->out, (size_t)count);
	}
	ev_io_stop(loop, &conn->write_io);
	if (conn->close_after)
		http_close(conn);
}

/* Bytes as they are. */
static MAYBE_UNUSED void http_raw(struct http_conn *conn, const char *data, size_t len)
{
	if (conn->fd < 0)
		return;
	buf_append(&conn->out, data, len);
	http_flush(conn->server->loop, &conn->write_io, 0);
}

/* A whole answer; headers: more lines, each with its "\r\n", or "". */
static MAYBE_UNUSED void http_reply(struct http_conn *conn, int status, const char *headers, const char *body)
{
	cleanup_buf struct buf answer = {0};

	buf_printf(&answer, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n", status,
		   strlen(body), headers);
	buf_puts(&answer, body);
	http_raw(conn, answer.data, answer.len);
}

/* A stream: its headers, then chunks, then its end. */
static MAYBE_UNUSED void http_stream_begin(struct http_conn *conn)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: "
				   "chunked\r\n\r\n";

	http_raw(conn, head, strlen(head));
}

static MAYBE_UNUSED void http_stream_send(struct http_conn *conn, const char *data, size_t len)
{
	cleanup_buf struct buf chunk = {0};

	buf_printf(&chunk, "%zx\r\n", len);
	buf_append(&chunk, data, len);
	buf_puts(&chunk, "\r\n");
	http_raw(conn, chunk.data, chunk.len);
}

static MAYBE_UNUSED void http_stream_puts(struct http_conn *conn, const char *text)
{
	http_stream_send(conn, text, strlen(text));
}

static MAYBE_UNUSED void http_stream_end(struct http_conn *conn)
{
	http_raw(conn, "0\r\n\r\n", 5);
}

/* The value of a request header, or NULL. Valid until the next call. */
static MAYBE_UNUSED const char *http_header(const struct http_conn *conn, const char *name)
{
	static char value[1024];
	size_t name_len = strlen(name);

	for (const char *line = conn->headers; line != NULL && *line != '\0';) {
		const char *end = strstr(line, "\r\n");
		size_t len = end == NULL ? strlen(line) : (size_t)(end - line);

		if (len > name_len && strncasecmp(line, name, name_len) == 0 && line[name_len] == ':') {
			const char *start = line + name_len + 1;

			while (*start == ' ')
				start++;
			snprintf(value, sizeof(value), "%.*s", (int)(line + len - start), start);
			return value;
		}
		line = end == NULL ? NULL : end + 2;
	}
	return NULL;
}

/* Takes one whole request off conn->in; false when there is none yet. */
static MAYBE_UNUSED bool http_take_request(struct http_conn *conn)
{
	const char *end = conn->in.data == NULL ? NULL : strstr(conn->in.data, "\r\n\r\n");
	const char *line_end;
	const char *length;
	size_t head;
	size_t body = 0;

	if (end == NULL)
		return false;
	head = (size_t)(end + 4 - conn->in.data);
	line_end = strstr(conn->in.data, "\r\n");
	free(conn->headers);
	conn->headers = mem_strndup(line_end + 2, (size_t)(end + 2 - line_end - 2));
	length = http_header(conn, "Content-Length");
	if (length != NULL)
		body = strtoul(length, NULL, 10);
	if (conn->in.len < head + body)
		return false;
	sscanf(conn->in.data, "%15s %2047s", conn->method, conn->path);
	free(conn->body);
	conn->body = mem_strndup(conn->in.data + head, body);
	buf_consume(&conn->in, head + body);
	return true;
}

static MAYBE_UNUSED void http_readable(struct ev_loop *loop, struct ev_io *io, int events)
{
	struct http_conn *conn = io->data;
	struct http_server *server = conn->server;
	char data[65536];
	ssize_t count = recv(conn->fd, data, sizeof(data), 0);

	(void)loop;
	(void)events;
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (count <= 0) {
		http_close(conn);
		return;
	}
	buf_append(&conn->in, data, (size_t)count);
	if (server->on_bytes != NULL)
		server->on_bytes(server->arg, conn);
	while (conn->fd >= 0 && !conn->other && http_take_request(conn)) {
		server->request_count++;
		buf_printf(&server->log, "%s %s\n", conn->method, conn->path);
		server->on_request(server->arg, conn);
	}
}

static MAYBE_UNUSED void http_acceptable(struct ev_loop *loop, struct ev_io *io, int events)
{
	struct http_server *server = io->data;
	int fd = accept(server->fd, NULL, NULL);
	const int on = 1;
	struct http_conn *conn;

	(void)events;
	if (fd < 0)
		return;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	conn = mem_calloc(1, sizeof(*conn));
	conn->server = server;
	conn->fd = fd;
	conn->next = server->conns;
	server->conns = conn;
	server->conn_count++;
	ev_io_init(&conn->read_io, http_readable, fd, EV_READ);
	conn->read_io.data = conn;
	ev_io_init(&conn->write_io, http_flush, fd, EV_WRITE);
	conn->write_io.data = conn;
	ev_io_start(loop, &conn->read_io);
}

/* A socket bound to the port on loopback, 0 for one that the kernel chooses. Not yet listening: connections to it are
 * refused. SO_REUSEPORT, so that the next one can be bound before this one is closed. */
static MAYBE_UNUSED int http_bind(int *port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)*port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(address);
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
		perror("http_bind");
		abort();
	}
	*port = ntohs(address.sin_port);
	return fd;
}

static MAYBE_UNUSED void http_listen(struct http_server *server)
{
	if (listen(server->fd, 128) < 0) {
		perror("http_listen");
		abort();
	}
	ev_io_init(&server->accept_io, http_acceptable, server->fd, EV_READ);
	server->accept_io.data = server;
	ev_io_start(server->loop, &server->accept_io);
}

static MAYBE_UNUSED void http_server_start(struct http_server *server, struct ev_loop *loop,
					   void (*on_request)(void *arg, struct http_conn *conn), void *arg)
{
	*server = (struct http_server){.loop = loop, .on_request = on_request, .arg = arg};
	server->fd = http_bind(&server->port);
	snprintf(server->address, sizeof(server->address), "http://127.0.0.1:%d", server->port);
	http_listen(server);
}

/* From now on connections are refused, and those there are end with a reset; until http_listen. The port stays ours. */
static MAYBE_UNUSED void http_server_stop(struct http_server *server)
{
	int fd = http_bind(&server->port);

	ev_io_stop(server->loop, &server->accept_io);
	close(server->fd);
	server->fd = fd;
	for (struct http_conn *conn = server->conns; conn != NULL; conn = conn->next)
		http_reset(conn);
}

static MAYBE_UNUSED void http_server_free(struct http_server *server)
{
	ev_io_stop(server->loop, &server->accept_io);
	close(server->fd);
	while (server->conns != NULL) {
		struct http_conn *conn = server->conns;

		server->conns = conn->next;
		http_reset(conn);
		buf_free(&conn->in);
		buf_free(&conn->out);
		free(conn->headers);
		free(conn->body);
		free(conn);
	}
	buf_free(&server->log);
}

/* ---- running the loop until something holds ---- */

static MAYBE_UNUSED void http_guard_due(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	*(bool *)timer->data = true;
}

/* Turns the loop until *flag is true; false when that did not come within limit seconds. */
static MAYBE_UNUSED bool run_until(struct ev_loop *loop, const bool *flag, double limit)
{
	bool late = false;
	struct ev_timer guard;

	ev_now_update(loop);
	ev_timer_init(&guard, http_guard_due, allowed_s(limit), 0.0);
	guard.data = &late;
	ev_timer_start(loop, &guard);
	while (!*flag && !late)
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &guard);
	return *flag;
}

/* The same until *count reaches at least. */
static MAYBE_UNUSED bool run_until_count(struct ev_loop *loop, const size_t *count, size_t at_least, double limit)
{
	bool late = false;
	struct ev_timer guard;

	ev_now_update(loop);
	ev_timer_init(&guard, http_guard_due, allowed_s(limit), 0.0);
	guard.data = &late;
	ev_timer_start(loop, &guard);
	while (*count < at_least && !late)
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &guard);
	return *count >= at_least;
}

#endif
