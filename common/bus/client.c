/* A peer on a loop, with a socket for each watcher; see client.h. */
#include "common/bus/client.h"

#include <ev.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/random.h"

enum {
	UNTAKEN_FIRST_MS = 5000, /* after this time without an admission, a log line says so */
	UNTAKEN_AGAIN_MS = 60000,
};

struct link {
	struct bus_client *client;
	struct bus_socket *socket;
};

struct bus_client {
	struct ev_loop *loop;
	struct session *session;
	ev_timer timer;
	char *endpoints;
	uint64_t pongs;     /* only the leader sends them, and only to those whom it took */
	int64_t looked_ms;  /* when we looked for them */
	int64_t untaken_ms; /* since the last one; time in which this process did not run counts for little */
	int64_t warn_at_ms; /* of these */
	bool leaving;
	struct bus_counters counters; /* sums; filled when asked for */
	unsigned link_count;
	struct link links[SESSION_WATCHERS_MAX];
};

static int port_send(void *arg, unsigned watcher, const struct bus_head *head, const void *body, size_t body_len)
{
	struct bus_client *client = arg;

	return bus_send(client->links[watcher].socket, NULL, 0, head, body, body_len);
}

static int64_t port_now_ms(void *arg)
{
	(void)arg;
	return clock_boot_ms();
}

static void look_for_watcher(struct bus_client *client)
{
	uint64_t pongs = session_counters(client->session)->pongs;
	int64_t now_ms = clock_boot_ms();
	int64_t passed_ms = now_ms - client->looked_ms;

	client->looked_ms = now_ms;
	if (pongs != client->pongs) {
		client->pongs = pongs;
		client->untaken_ms = 0;
		client->warn_at_ms = UNTAKEN_FIRST_MS;
		return;
	}
	client->untaken_ms += passed_ms > SESSION_PING_MS ? SESSION_PING_MS : passed_ms;
	if (client->untaken_ms < client->warn_at_ms)
		return;
	log_warning("no watcher at %s has accepted this process for %lld s", client->endpoints,
		    (long long)client->untaken_ms / 1000);
	client->warn_at_ms = client->untaken_ms + UNTAKEN_AGAIN_MS;
}

static void tick(struct bus_client *client)
{
	int64_t next_ms = session_tick(client->session);
	int64_t wait_ms;

	if (!client->leaving)
		look_for_watcher(client);
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
	const struct link *link = arg;
	struct bus_client *client = link->client;

	(void)id;
	(void)id_len;
	session_receive(client->session, (unsigned)(link - client->links), head, body, body_len);
	if (head->type != BUS_UPDATE && head->type != BUS_ABSENT) /* those change nothing that is due */
		tick(client);
}

/* libzmq tries again and again, and does not report a name that has no address. This waits for the resolver, which may
 * take seconds: only before the loop runs. */
static void check_name(const char *endpoint)
{
	static const char tcp[] = "tcp://";
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	const char *host = endpoint + strlen(tcp);
	struct addrinfo *found = NULL;
	int result;

	/* an IPv6 address is a number */
	if (strncmp(endpoint, tcp, strlen(tcp)) != 0 || strchr(host, ':') != strrchr(host, ':'))
		return;
	cleanup_free char *name = mem_strndup(host, strcspn(host, ":"));
	result = getaddrinfo(name, NULL, &hints, &found);
	if (result == 0)
		freeaddrinfo(found);
	else
		log_warning("the bus %s: cannot resolve %s: %s; trying again", endpoint, name, gai_strerror(result));
}

static int connect_all(struct bus_client *client, const char *endpoints, const struct bus_security *security,
		       struct error *err)
{
	const char *at = endpoints;

	for (;;) {
		size_t len = strcspn(at, ",");
		cleanup_free char *endpoint = mem_strndup(at, len);
		struct link *link = &client->links[client->link_count];

		if (client->link_count == SESSION_WATCHERS_MAX)
			return error_set(err, "\"%s\": expected at most %d endpoints", endpoints, SESSION_WATCHERS_MAX);
		link->client = client;
		link->socket = bus_socket_connect(client->loop, endpoint, security, on_receive, link, err);
		if (link->socket == NULL)
			return -1;
		check_name(endpoint);
		client->link_count++;
		if (at[len] == '\0')
			return 0;
		at += len + 1;
	}
}

struct bus_client *bus_client_new(struct ev_loop *loop, const char *endpoints, const struct bus_security *security,
				  enum bus_role role, const char *name, const struct session_handler *handler,
				  void *arg, struct error *err)
{
	struct bus_client *client;
	struct session_ports ports = {.send = port_send, .now_ms = port_now_ms};
	struct random random;
	char uuid[UUID_SIZE];

	if (name[0] == '\0' || strlen(name) > 63) {
		error_set(err, "member name \"%s\": expected 1 to 63 bytes", name);
		return NULL;
	}
	client = mem_calloc(1, sizeof(*client));
	client->loop = loop;
	client->endpoints = mem_strdup(endpoints);
	client->looked_ms = clock_boot_ms();
	client->warn_at_ms = UNTAKEN_FIRST_MS;
	ev_init(&client->timer, on_timer);
	if (connect_all(client, endpoints, security, err) < 0) {
		bus_client_free(client);
		return NULL;
	}
	random_init(&random);
	ports.arg = client;
	ports.watchers = client->link_count;
	client->session = session_new(&ports, role, name, random_uuid(&random, uuid), handler, arg);
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
	for (unsigned i = 0; i < client->link_count; i++)
		bus_socket_free(client->links[i].socket);
	session_free(client->session);
	free(client->endpoints);
	free(client);
}

const struct session *bus_client_session(const struct bus_client *client)
{
	return client->session;
}

void bus_client_leave(struct bus_client *client)
{
	client->leaving = true;
	session_leave(client->session);
	tick(client);
}

const struct bus_counters *bus_client_counters(struct bus_client *client)
{
	struct bus_counters *sum = &client->counters;

	*sum = (struct bus_counters){0};
	for (unsigned i = 0; i < client->link_count; i++) {
		const struct bus_counters *one = bus_socket_counters(client->links[i].socket);

		sum->received += one->received;
		sum->sent += one->sent;
		sum->dropped_malformed += one->dropped_malformed;
		sum->dropped_oversized += one->dropped_oversized;
		sum->send_failed += one->send_failed;
	}
	return sum;
}
