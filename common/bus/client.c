/* A peer on a socket and a loop; see client.h. */
#include "common/bus/client.h"

#include <ev.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/random.h"

struct bus_client {
	struct ev_loop *loop;
	struct bus_socket *socket;
	struct peer *peer;
	ev_timer timer;
};

static int port_send(void *arg, const struct bus_head *head, const void *body, size_t body_len)
{
	struct bus_client *client = arg;

	return bus_send(client->socket, NULL, 0, head, body, body_len);
}

static int64_t port_now_ms(void *arg)
{
	(void)arg;
	return clock_boot_ms();
}

static void tick(struct bus_client *client)
{
	int64_t next_ms = peer_tick(client->peer);
	int64_t wait_ms;

	if (next_ms == INT64_MAX) {
		ev_timer_stop(client->loop, &client->timer);
		return;
	}
	wait_ms = next_ms - clock_boot_ms();
	client->timer.repeat = wait_ms < 1 ? 0.001 : (double)wait_ms / 1000;
	ev_timer_again(client->loop, &client->timer);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	tick(timer->data);
}

static void on_receive(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head, const char *body,
		       size_t body_len)
{
	struct bus_client *client = arg;

	(void)id;
	(void)id_len;
	peer_receive(client->peer, head, body, body_len);
	if (head->type != BUS_UPDATE && head->type != BUS_ABSENT) /* those change nothing that is due */
		tick(client);
}

struct bus_client *bus_client_new(struct ev_loop *loop, const char *endpoint, const struct bus_security *security,
				  enum bus_role role, const char *name, const struct peer_handler *handler, void *arg,
				  struct error *err)
{
	struct bus_client *client;
	struct peer_ports ports = {.send = port_send, .now_ms = port_now_ms};
	struct random random;
	char uuid[UUID_SIZE];

	if (name[0] == '\0' || strlen(name) > 63) {
		error_set(err, "member name \"%s\": expected 1 to 63 bytes", name);
		return NULL;
	}
	client = mem_calloc(1, sizeof(*client));
	client->loop = loop;
	client->socket = bus_socket_connect(loop, endpoint, security, on_receive, client, err);
	if (client->socket == NULL) {
		free(client);
		return NULL;
	}
	random_init(&random);
	ports.arg = client;
	client->peer = peer_new(&ports, role, name, random_uuid(&random, uuid), handler, arg);
	ev_init(&client->timer, on_timer);
	client->timer.data = client;
	client->timer.repeat = 0.001;
	ev_timer_again(loop, &client->timer);
	return client;
}

void bus_client_free(struct bus_client *client)
{
	if (client == NULL)
		return;
	ev_timer_stop(client->loop, &client->timer);
	bus_socket_free(client->socket);
	peer_free(client->peer);
	free(client);
}

const struct peer *bus_client_peer(const struct bus_client *client)
{
	return client->peer;
}

void bus_client_leave(struct bus_client *client)
{
	peer_leave(client->peer);
	tick(client);
}

void bus_client_ping_soon(struct bus_client *client)
{
	peer_ping_soon(client->peer);
	client->timer.repeat = 0.001;
	ev_timer_again(client->loop, &client->timer);
}

const struct bus_counters *bus_client_counters(const struct bus_client *client)
{
	return bus_socket_counters(client->socket);
}
