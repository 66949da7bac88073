/* Connections that ask for nothing, or never come to their end: so many to a server at all times, until SIGTERM. */
#include <arpa/inet.h>
#include <errno.h>
#include <ev.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "tests/bench/tool/bench.h"

enum { BEGINNING = 16 }; /* of a TLS handshake or a request: nothing that either could be */

struct flood {
	struct ev_loop *loop;
	struct sockaddr_in address;
};

static void on_event(struct ev_loop *loop, ev_io *io, int events);

static void open_one(struct flood *flood, ev_io *io)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		bench_fail("socket: %s", strerror(errno));
	if (connect(fd, (const struct sockaddr *)&flood->address, sizeof(flood->address)) < 0 && errno != EINPROGRESS)
		bench_fail("connect: %s", strerror(errno));
	ev_io_init(io, on_event, fd, EV_READ);
	io->data = flood;
	ev_io_start(flood->loop, io);
	if ((fd & 1) == 0)
		send(fd, "GET /v1/namespac", BEGINNING, MSG_NOSIGNAL | MSG_DONTWAIT); /* or not connected yet */
}

/* The server had enough of it: here comes the next. */
static void on_event(struct ev_loop *loop, ev_io *io, int events)
{
	struct flood *flood = io->data;

	(void)events;
	ev_io_stop(loop, io);
	close(io->fd);
	open_one(flood, io);
}

int bench_flood(const struct bench_options *options)
{
	struct flood flood = {.loop = ev_default_loop(0), .address = bench_address(options)};
	ev_io *connections = mem_calloc((size_t)options->count, sizeof(*connections));
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	for (int64_t i = 0; i < options->count; i++)
		open_one(&flood, &connections[i]);
	fputs("flooding\n", stderr);
	ev_run(flood.loop, 0);
	free(connections);
	return 0;
}
