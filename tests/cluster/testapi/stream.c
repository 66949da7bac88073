/* Answers that go on: watches and logs. What they have to say is written to the socket from here, as HTTP/1.1 chunks,
 * or as it is for a client of HTTP/1.0: of a connection libmicrohttpd takes only as much as half its memory in a turn
 * in which it answers a request of every other one, and news would lag behind answers. Meanwhile the connection is
 * suspended: a client that leaves is seen only by watching its socket. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/log.h"
#include "tests/cluster/testapi/exchange.h"
#include "tests/cluster/testapi/log.h"
#include "tests/cluster/testapi/watch.h"

/* Six digits and a line's end: the length of what follows. */
enum { CHUNK_HEAD = 8 };

int exchange_fd(struct exchange *exchange)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(exchange->connection,
								       MHD_CONNECTION_INFO_CONNECTION_FD);

	return info->connect_fd;
}

void exchange_reset(struct exchange *exchange)
{
	const struct sockaddr nobody = {.sa_family = AF_UNSPEC};

	if (connect(exchange_fd(exchange), &nobody, sizeof(nobody)) < 0)
		log_warning("reset of a connection: %s", strerror(errno));
}

static void look_for(struct exchange *exchange, int events)
{
	struct ev_loop *loop = exchange->http->api->loop;

	ev_io_stop(loop, &exchange->socket);
	ev_io_set(&exchange->socket, exchange_fd(exchange), events);
	if (events != 0)
		ev_io_start(loop, &exchange->socket);
}

static void leave(struct exchange *exchange)
{
	exchange->gone = true;
	exchange_resume(exchange);
}

/* The next chunk of a stream; false: there is none now. */
static bool take_chunk(struct exchange *exchange)
{
	struct buf *chunk = &exchange->chunk;
	char head[24];
	ssize_t len;

	buf_reserve(chunk, CHUNK_HEAD + EXCHANGE_BLOCK + 2);
	len = exchange->log != NULL ? api_log_read(exchange->log, chunk->data + CHUNK_HEAD, EXCHANGE_BLOCK)
				    : api_watch_read(exchange->watch, chunk->data + CHUNK_HEAD, EXCHANGE_BLOCK);
	if (len > 0) {
		chunk->len = CHUNK_HEAD + (size_t)len;
		exchange->chunk_sent = CHUNK_HEAD;
		if (!exchange->http_1_0) {
			snprintf(head, sizeof(head), "%06zx\r\n", (size_t)len);
			memcpy(chunk->data, head, CHUNK_HEAD);
			buf_puts(chunk, "\r\n");
			exchange->chunk_sent = 0;
		}
		return true;
	}
	buf_free(chunk);
	if (len != WATCH_NOTHING) {
		exchange->stream_end = len;
		exchange_resume(exchange);
	}
	return false;
}

void exchange_send_news(struct exchange *exchange)
{
	struct buf *chunk = &exchange->chunk;
	bool full = false;

	while (!full && (exchange->chunk_sent < chunk->len || take_chunk(exchange))) {
		ssize_t sent = send(exchange->socket.fd, chunk->data + exchange->chunk_sent,
				    chunk->len - exchange->chunk_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0) {
			exchange->chunk_sent += (size_t)sent;
		} else if (sent < 0 && errno == EAGAIN) {
			full = true;
		} else if (errno != EINTR) {
			leave(exchange);
			return;
		}
	}
	if (exchange->suspended && full != ((exchange->socket.events & EV_WRITE) != 0))
		look_for(exchange, full ? EV_READ | EV_WRITE : EV_READ);
}

static void on_socket(struct ev_loop *loop, ev_io *io, int revents)
{
	struct exchange *exchange = io->data;
	char byte;

	(void)loop;
	if ((revents & EV_READ) != 0) {
		ssize_t got = recv(io->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
			leave(exchange);
			return;
		}
		if (got > 0)
			look_for(exchange, io->events & EV_WRITE); /* talks on instead of leaving; not our matter now */
	}
	if ((revents & EV_WRITE) != 0)
		exchange_send_news(exchange);
}

/* libmicrohttpd asks for the beginning of a stream, its head being sent, and once more for its end. */
ssize_t exchange_read_stream(void *cls, uint64_t position, char *data, size_t max)
{
	struct exchange *exchange = cls;
	const int on = 1;

	(void)position;
	(void)data;
	(void)max;
	if (exchange->gone)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (exchange->stream_end == WATCH_END)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (exchange->stream_end == WATCH_CUT) {
		if (exchange->watch != NULL && exchange->watch->reset)
			exchange_reset(exchange);
		return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	exchange_suspend(exchange);
	setsockopt(exchange_fd(exchange), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	ev_init(&exchange->socket, on_socket);
	exchange->socket.data = exchange;
	look_for(exchange, EV_READ);
	exchange_send_news(exchange);
	return 0;
}
