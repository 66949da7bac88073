/* Raw HTTP clients for tests of HTTP servers, on the server's own loop: what a test sends is up to it, byte by byte, so
 * it can be slow, rude and gone. One header with static functions, because each unit test is one object. */
#ifndef TESTS_HTTP_ASKER_H
#define TESTS_HTTP_ASKER_H

#include <arpa/inet.h>
#include <errno.h>
#include <ev.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "tests/unit/slow.h"

#define ASKER_UNUSED __attribute__((unused))

enum { ASKER_PATIENCE_MS = 90 * 1000 };

struct asking {
	int fd;
	struct buf in;
	bool closed;
};

/* Runs the loop until the condition holds; fails the test when that takes too long. */
#define RUN_UNTIL(loop, condition)                                                   \
	do {                                                                         \
		int64_t until_ms_ = clock_boot_ms() + allowed_ms(ASKER_PATIENCE_MS); \
		while (!(condition)) {                                               \
			if (clock_boot_ms() >= until_ms_)                            \
				fail_msg("%s: not within its time", #condition);     \
			asker_turn(loop);                                            \
		}                                                                    \
	} while (0)

static ASKER_UNUSED void asker_turn(struct ev_loop *loop)
{
	ev_run(loop, EVRUN_NOWAIT);
	poll(NULL, 0, 1);
}

/* A login of Debian may have 1024 descriptors open, and more when it asks for them. */
static ASKER_UNUSED int asker_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct rlimit limit;

	if (fd >= 0 || errno != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return fd;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return socket(AF_INET, SOCK_STREAM, 0);
}

/* address: "127.0.0.1:port"; from 127.0.0.host. The port is chosen when it connects: one that another run's connection
 * to another port has just left is free for this one. */
static ASKER_UNUSED struct asking asker_open_from(const char *address, unsigned host)
{
	struct asking asking = {.fd = asker_socket()};
	struct sockaddr_in to = {.sin_family = AF_INET};
	struct sockaddr_in from = {.sin_family = AF_INET};
	int on = 1;

	to.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
	setsockopt(asking.fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	if (bind(asking.fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
	    connect(asking.fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		perror("asker_open");
		abort();
	}
	return asking;
}

static ASKER_UNUSED struct asking asker_open(const char *address)
{
	return asker_open_from(address, 1);
}

static ASKER_UNUSED bool asker_send(struct asking *asking, const char *text)
{
	if (send(asking->fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text))
		return true;
	asking->closed = true;
	return false;
}

static ASKER_UNUSED void asker_read(struct asking *asking)
{
	char chunk[65536];
	ssize_t count;

	while ((count = recv(asking->fd, chunk, sizeof(chunk), MSG_DONTWAIT)) > 0)
		buf_append(&asking->in, chunk, (size_t)count);
	if (count == 0 || (count < 0 && errno != EAGAIN))
		asking->closed = true;
}

static ASKER_UNUSED void asker_close(struct asking *asking)
{
	if (asking->fd >= 0)
		close(asking->fd);
	asking->fd = -1;
	buf_free(&asking->in);
}

/* Whether a whole answer with a Content-Length has come, or the connection ended. */
static ASKER_UNUSED bool asker_done(struct asking *asking)
{
	const char *end;
	const char *length;

	asker_read(asking);
	end = asking->in.data == NULL ? NULL : strstr(asking->in.data, "\r\n\r\n");
	length = asking->in.data == NULL ? NULL : strcasestr(asking->in.data, "Content-Length:");
	if (end == NULL || length == NULL)
		return asking->closed;
	return asking->closed || asking->in.len >= (size_t)(end + 4 - asking->in.data) +
							   strtoul(length + strlen("Content-Length:"), NULL, 10);
}

/* 0 when none came. */
static ASKER_UNUSED int asker_status(const struct asking *asking)
{
	int status = 0;

	if (asking->in.data != NULL)
		sscanf(asking->in.data, "HTTP/1.1 %d", &status);
	return status;
}

static ASKER_UNUSED const char *asker_body(const struct asking *asking)
{
	const char *end = asking->in.data == NULL ? NULL : strstr(asking->in.data, "\r\n\r\n");

	return end == NULL ? "" : end + 4;
}

#endif
