/* fc-testproxy: a TCP proxy that does to connections what networks do. Tests put it between a process and its API
 * server, TLS or not, and steer it by lines of text on a second port: one command a connection, answered "ok".
 *
 *   pass            everything goes through, at once (the start); what was held goes on
 *   hold            nothing more is read or sent on the connections that are there, nor on new ones
 *   abandon         the same for those that are there, for ever; new ones pass
 *   reset           those that are there are reset, on both sides
 *   delay MS        bytes to the server arrive so much later, also when their sender has left by then
 *   lose N          the first bytes of every N-th answer are thrown away, and the connection reset (0: of none)
 *   half N          the first half of them passes, then the connection is reset
 *   stats           answers "connections answers cut bytes-to-server asked", the last of which counts the connections
 *                   on which bytes went to the server since any came back
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ev.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

enum {
	CHUNK_MAX = 64 * 1024,
	QUEUED_MAX = 64 * 1024,        /* in one direction: beyond it, nothing more is read … */
	DELAYED_MAX = 8 * 1024 * 1024, /* … or beyond that, while bytes are delayed */
	KERNEL_MAX = 64 * 1024,
	COMMAND_MAX = 128,
};

struct chunk {
	struct chunk *next;
	int64_t due_ms;
	size_t len;
	size_t sent;
	char data[];
};

/* One direction of a connection. */
struct flow {
	struct connection *connection;
	int from;
	int to;
	struct chunk *first;
	struct chunk **last;
	size_t queued;
	bool ended; /* nothing more is to be read */
	bool shut;  /* and the other side was told so */
	ev_io read;
	ev_io write;
	ev_timer due;
};

struct connection {
	struct connection *next;
	struct connection **link;
	struct flow up;   /* client to server */
	struct flow down; /* server to client */
	bool asked;       /* bytes went up since any came down */
	bool abandoned;
};

static struct {
	struct ev_loop *loop;
	struct sockaddr_in server;
	struct connection *connections;
	bool hold;
	int64_t delay_ms;
	long lose_every;
	long half_every;
	unsigned long accepted, answers, cut;
	unsigned long long bytes_up;
} proxy;

static void pump(struct flow *flow);

/* ---- connections ------------------------------------------------------------------------------------------------ */

static void flow_stop(struct flow *flow)
{
	ev_io_stop(proxy.loop, &flow->read);
	ev_io_stop(proxy.loop, &flow->write);
	ev_timer_stop(proxy.loop, &flow->due);
}

static void flow_clear(struct flow *flow)
{
	flow_stop(flow);
	while (flow->first != NULL) {
		struct chunk *next = flow->first->next;

		free(flow->first);
		flow->first = next;
	}
}

/* reset: by RST on both sides. */
static void connection_end(struct connection *connection, bool reset)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = 0};

	if (reset) {
		setsockopt(connection->up.from, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
		setsockopt(connection->up.to, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	}
	flow_clear(&connection->up);
	flow_clear(&connection->down);
	close(connection->up.from);
	close(connection->up.to);
	*connection->link = connection->next;
	if (connection->next != NULL)
		connection->next->link = connection->link;
	free(connection);
}

static bool is_held(const struct connection *connection)
{
	return proxy.hold || connection->abandoned;
}

static void queue(struct flow *flow, const char *data, size_t len, int64_t due_ms)
{
	struct chunk *chunk = mem_alloc(sizeof(*chunk) + len);

	*chunk = (struct chunk){.due_ms = due_ms, .len = len};
	memcpy(chunk->data, data, len);
	*flow->last = chunk;
	flow->last = &chunk->next;
	flow->queued += len;
}

/* Whether an answer that begins now is one of those to be cut. */
static bool is_struck(long every)
{
	return every > 0 && proxy.answers % (unsigned long)every == 0;
}

/* What came from one side. false: the connection is no more. */
static bool take(struct flow *flow, const char *data, size_t len)
{
	struct connection *connection = flow->connection;

	if (flow == &connection->up) {
		connection->asked = true;
		proxy.bytes_up += len;
		queue(flow, data, len, clock_boot_ms() + proxy.delay_ms);
		return true;
	}
	if (connection->asked) {
		connection->asked = false;
		proxy.answers++;
		if (is_struck(proxy.lose_every) || is_struck(proxy.half_every)) {
			proxy.cut++;
			/* what is lost with RST is what the client's kernel has not handed on: as in life */
			if (is_struck(proxy.half_every))
				(void)!send(flow->to, data, len / 2, MSG_NOSIGNAL | MSG_DONTWAIT);
			connection_end(connection, true);
			return false;
		}
	}
	queue(flow, data, len, 0);
	return true;
}

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
	static char data[CHUNK_MAX];
	struct flow *flow = io->data;
	ssize_t got = recv(flow->from, data, sizeof(data), MSG_DONTWAIT);

	(void)loop;
	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got < 0 && flow->first == NULL) {
		connection_end(flow->connection, true);
		return;
	}
	if (got <= 0)
		flow->ended = true; /* what is on its way still arrives */
	else if (!take(flow, data, (size_t)got))
		return;
	pump(flow);
}

static void on_due(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	pump(timer->data);
}

static void on_writable(struct ev_loop *loop, ev_io *io, int events)
{
	(void)loop;
	(void)events;
	pump(io->data);
}

/* Sends what is due; -1: the other side does not take it any more. */
static int send_due(struct flow *flow)
{
	while (flow->first != NULL && flow->first->due_ms <= clock_boot_ms()) {
		struct chunk *chunk = flow->first;
		ssize_t sent = send(flow->to, chunk->data + chunk->sent, chunk->len - chunk->sent,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0)
			return errno == EAGAIN || errno == EINTR || errno == ENOTCONN ? 0 : -1;
		chunk->sent += (size_t)sent;
		if (chunk->sent < chunk->len)
			return 0;
		flow->queued -= chunk->len;
		flow->first = chunk->next;
		if (flow->first == NULL)
			flow->last = &flow->first;
		free(chunk);
	}
	return 0;
}

/* Brings a direction as far as it goes now; may end the connection. */
static void pump(struct flow *flow)
{
	struct connection *connection = flow->connection;
	int64_t wait_ms;

	flow_stop(flow);
	if (is_held(connection))
		return;
	if (send_due(flow) < 0) {
		connection_end(connection, false);
		return;
	}
	if (flow->ended && flow->first == NULL && !flow->shut) {
		flow->shut = true;
		shutdown(flow->to, SHUT_WR);
	}
	if (connection->up.shut && connection->down.shut) {
		connection_end(connection, false);
		return;
	}
	if (!flow->ended && flow->queued < (size_t)(proxy.delay_ms > 0 ? DELAYED_MAX : QUEUED_MAX))
		ev_io_start(proxy.loop, &flow->read);
	if (flow->first == NULL)
		return;
	wait_ms = flow->first->due_ms - clock_boot_ms();
	if (wait_ms <= 0) {
		ev_io_start(proxy.loop, &flow->write);
		return;
	}
	ev_timer_set(&flow->due, (double)wait_ms / 1000., 0.);
	ev_timer_start(proxy.loop, &flow->due);
}

static void flow_init(struct flow *flow, struct connection *connection, int from, int to)
{
	*flow = (struct flow){.connection = connection, .from = from, .to = to};
	flow->last = &flow->first;
	ev_io_init(&flow->read, on_readable, from, EV_READ);
	ev_io_init(&flow->write, on_writable, to, EV_WRITE);
	ev_init(&flow->due, on_due);
	flow->read.data = flow->write.data = flow->due.data = flow;
}

static void on_accept(struct ev_loop *loop, ev_io *io, int events)
{
	struct connection *connection;
	int one = 1;
	int client = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int server;

	(void)loop;
	(void)events;
	if (client < 0)
		return;
	server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server < 0 ||
	    (connect(server, (struct sockaddr *)&proxy.server, sizeof(proxy.server)) < 0 && errno != EINPROGRESS)) {
		log_error("cannot connect to the server: %s", strerror(errno));
		close(client);
		if (server >= 0)
			close(server);
		return;
	}
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	proxy.accepted++;
	connection = mem_calloc(1, sizeof(*connection));
	flow_init(&connection->up, connection, client, server);
	flow_init(&connection->down, connection, server, client);
	connection->link = &proxy.connections;
	connection->next = proxy.connections;
	if (connection->next != NULL)
		connection->next->link = &connection->next;
	proxy.connections = connection;
	pump(&connection->up);
	pump(&connection->down);
}

/* ---- commands --------------------------------------------------------------------------------------------------- */

/* Holds them, or lets them go on. */
static void stir(void)
{
	struct connection *connection = proxy.connections;

	while (connection != NULL) {
		struct connection *next = connection->next;

		if (is_held(connection)) {
			flow_stop(&connection->up);
			flow_stop(&connection->down);
		} else {
			/* the first may end it: then the second is left to its own events */
			ev_feed_event(proxy.loop, &connection->up.write, EV_WRITE);
			ev_feed_event(proxy.loop, &connection->down.write, EV_WRITE);
		}
		connection = next;
	}
}

static bool carry_out(const char *command)
{
	char word[16] = "";
	long value = 0;
	int words = sscanf(command, "%15s %ld", word, &value);

	if (words < 1 || value < 0)
		return false;
	if (strcmp(word, "pass") == 0) {
		proxy.hold = false;
		proxy.delay_ms = proxy.lose_every = proxy.half_every = 0;
	} else if (strcmp(word, "hold") == 0) {
		proxy.hold = true;
	} else if (strcmp(word, "abandon") == 0) {
		for (struct connection *at = proxy.connections; at != NULL; at = at->next)
			at->abandoned = true;
	} else if (strcmp(word, "reset") == 0) {
		while (proxy.connections != NULL)
			connection_end(proxy.connections, true);
	} else if (strcmp(word, "delay") == 0) {
		proxy.delay_ms = value;
	} else if (strcmp(word, "lose") == 0) {
		proxy.lose_every = value;
	} else if (strcmp(word, "half") == 0) {
		proxy.half_every = value;
	} else {
		return false;
	}
	stir();
	return true;
}

static unsigned count_asked(void)
{
	unsigned count = 0;

	for (const struct connection *connection = proxy.connections; connection != NULL; connection = connection->next)
		count += connection->asked;
	return count;
}

/* One line, from this machine, at once: that it is waited for does not matter here. */
static void on_command(struct ev_loop *loop, ev_io *io, int events)
{
	char command[COMMAND_MAX] = "";
	char answer[COMMAND_MAX];
	int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC);
	ssize_t got;

	(void)loop;
	(void)events;
	if (fd < 0)
		return;
	got = recv(fd, command, sizeof(command) - 1, 0);
	if (got > 0 && strncmp(command, "stats", 5) == 0)
		snprintf(answer, sizeof(answer), "%lu %lu %lu %llu %u\n", proxy.accepted, proxy.answers, proxy.cut,
			 proxy.bytes_up, count_asked());
	else
		snprintf(answer, sizeof(answer), "%s\n", got > 0 && carry_out(command) ? "ok" : "not understood");
	(void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL);
	close(fd);
}

/* ---- start ------------------------------------------------------------------------------------------------------ */

static int listen_here(unsigned *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
		log_error("cannot listen: %s", strerror(errno));
		exit(EXIT_FAILURE);
	}
	*port = ntohs(address.sin_port);
	return fd;
}

static void write_ports(const char *path, unsigned port, unsigned control)
{
	cleanup_free char *new_path = mem_printf("%s.new", path);
	FILE *file = fopen(new_path, "we");

	if (file == NULL || fprintf(file, "%u %u\n", port, control) < 0 || fclose(file) != 0 ||
	    rename(new_path, path) < 0) {
		log_error("%s: %s", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
}

static void on_terminate(struct ev_loop *loop, ev_signal *signal, int events)
{
	(void)signal;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

int main(int argc, char **argv)
{
	ev_io accept;
	ev_io command;
	ev_signal terminate;
	const int kernel_max = KERNEL_MAX;
	int listening;
	unsigned port;
	unsigned control;
	unsigned server_port = argc == 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;

	if (server_port == 0 || server_port > UINT16_MAX) {
		fputs("Usage: fc-testproxy SERVER-PORT PORT-FILE\n"
		      "Forwards connections to 127.0.0.1:SERVER-PORT. Writes its port and its port for commands to "
		      "PORT-FILE.\n",
		      stderr);
		return 2;
	}
	proxy.server = (struct sockaddr_in){.sin_family = AF_INET,
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					    .sin_port = htons((uint16_t)server_port)};
	proxy.loop = ev_default_loop(0);
	signal(SIGPIPE, SIG_IGN);
	listening = listen_here(&port);
	/* Connections inherit it. Without it the kernel takes more from connections that have carried much: a whole
	 * request that is held, which the server would execute when its sender has long given it up. */
	if (setsockopt(listening, SOL_SOCKET, SO_RCVBUF, &kernel_max, sizeof(kernel_max)) < 0) {
		log_error("cannot bound what the kernel takes: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	ev_io_init(&accept, on_accept, listening, EV_READ);
	ev_io_init(&command, on_command, listen_here(&control), EV_READ);
	ev_signal_init(&terminate, on_terminate, SIGTERM);
	ev_io_start(proxy.loop, &accept);
	ev_io_start(proxy.loop, &command);
	ev_signal_start(proxy.loop, &terminate);
	write_ports(argv[2], port, control);
	ev_run(proxy.loop, 0);
	while (proxy.connections != NULL)
		connection_end(proxy.connections, false);
	return EXIT_SUCCESS;
}
