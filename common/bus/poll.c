/* Waits on a libev loop for messages of a ZeroMQ socket; see poll.h. */
#include "common/bus/poll.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zmq.h>

static bool readable(const struct bus_poll *poll)
{
	int events = 0;
	size_t size = sizeof(events);

	return zmq_getsockopt(poll->socket, ZMQ_EVENTS, &events, &size) == 0 && (events & ZMQ_POLLIN) != 0;
}

static void on_io(struct ev_loop *loop, ev_io *io, int events)
{
	struct bus_poll *poll = io->data;

	/* the check watcher does the work, later in this turn; this one ends the sleep */
	(void)loop;
	(void)events;
	poll->signalled = true;
}

static void on_idle(struct ev_loop *loop, ev_idle *idle, int events)
{
	(void)loop;
	(void)idle;
	(void)events;
}

static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	struct bus_poll *poll = prepare->data;

	(void)events;
	if (readable(poll))
		ev_idle_start(loop, &poll->idle);
}

static void on_check(struct ev_loop *loop, ev_check *check, int events)
{
	struct bus_poll *poll = check->data;

	(void)events;
	/* Looking costs a system call, and on_prepare has just looked: nothing has come unless the descriptor says so.
	 */
	if (!ev_is_active(&poll->idle) && !poll->signalled)
		return;
	poll->signalled = false;
	ev_idle_stop(loop, &poll->idle);
	if (readable(poll))
		poll->drain(poll->arg);
}

void bus_poll_start(struct bus_poll *poll, struct ev_loop *loop, void *zmq_socket, void (*drain)(void *arg), void *arg)
{
	int fd = -1;
	size_t size = sizeof(fd);

	*poll = (struct bus_poll){.loop = loop, .socket = zmq_socket, .drain = drain, .arg = arg};
	if (zmq_getsockopt(zmq_socket, ZMQ_FD, &fd, &size) < 0)
		abort();
	ev_io_init(&poll->io, on_io, fd, EV_READ);
	ev_prepare_init(&poll->prepare, on_prepare);
	ev_set_priority(&poll->prepare, EV_MINPRI); /* behind those that send in their prepare phase */
	ev_check_init(&poll->check, on_check);
	/* behind the answers of the same turn: news of a write whose answer is known need not be read (CONTRACT.md
	 * §12.12)
	 */
	ev_set_priority(&poll->check, EV_MINPRI);
	ev_idle_init(&poll->idle, on_idle);
	poll->io.data = poll;
	poll->prepare.data = poll;
	poll->check.data = poll;
	ev_io_start(loop, &poll->io);
	ev_prepare_start(loop, &poll->prepare);
	ev_check_start(loop, &poll->check);
}

void bus_poll_stop(struct bus_poll *poll)
{
	if (poll->loop == NULL)
		return;
	ev_io_stop(poll->loop, &poll->io);
	ev_prepare_stop(poll->loop, &poll->prepare);
	ev_check_stop(poll->loop, &poll->check);
	ev_idle_stop(poll->loop, &poll->idle);
}
