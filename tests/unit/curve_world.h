/* A bus with keys: a watcher's end that counts what reaches it, a peer that never stops saying something, and their
 * files. Shared by test_bus_{curve,keys,strangers}.c. */
#ifndef TESTS_CURVE_WORLD_H
#define TESTS_CURVE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/bus/socket.h"
#include "tests/unit/slow.h"
#include "tests/unit/temp.h"

/* Every wait of these tests ends much sooner; this only bounds a failure. */
static const double limit_s = 60;

/* A directory of keys, and a file in it. */
enum { KEYS_PATH_SIZE = TEMP_PATH_SIZE + 16, FILE_PATH_SIZE = KEYS_PATH_SIZE + 16 };

struct fixture {
	struct ev_loop *loop;
	char directory[TEMP_PATH_SIZE];
	char server[KEYS_PATH_SIZE];
	char peer[KEYS_PATH_SIZE];
	char stranger[KEYS_PATH_SIZE];
	struct bus_socket *router;
	struct bus_socket *dealer;
	unsigned heard; /* by the router */
	unsigned hellos;
	unsigned refused; /* said to the dealer */
	ev_timer say;
	/* what is waited for */
	bool (*until)(const struct fixture *f);
	bool late;
	unsigned wanted;
};

/* ---- files ------------------------------------------------------------------------------------------------------ */

static inline void path_of(char out[FILE_PATH_SIZE], const char *directory, const char *name)
{
	snprintf(out, FILE_PATH_SIZE, "%s/%s", directory, name);
}

static inline void write_text(const char *directory, const char *name, const char *text)
{
	char path[FILE_PATH_SIZE];
	FILE *file;

	path_of(path, directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static inline void read_text(const char *directory, const char *name, char out[4096])
{
	char path[FILE_PATH_SIZE];
	FILE *file;
	size_t len;

	path_of(path, directory, name);
	file = fopen(path, "r");
	assert_non_null(file);
	len = fread(out, 1, 4095, file);
	out[len] = '\0';
	fclose(file);
}

static inline void remove_file(const char *directory, const char *name)
{
	char path[FILE_PATH_SIZE];

	path_of(path, directory, name);
	unlink(path);
}

static inline void remove_keys(const char *directory)
{
	static const char *const names[] = {"server.secret", "server.public", "client.secret", "clients"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		remove_file(directory, names[i]);
	rmdir(directory);
}

/* ---- ends ------------------------------------------------------------------------------------------------------- */

static inline void check_until(struct fixture *f)
{
	if (f->until != NULL && f->until(f))
		ev_break(f->loop, EVBREAK_ALL);
}

static inline void on_receive(void *arg, const unsigned char *id, size_t id_len, const struct bus_head *head,
			      const char *body, size_t body_len)
{
	struct fixture *f = arg;

	(void)id;
	(void)body;
	(void)body_len;
	if (id_len > 0)
		f->heard++;
	if (id_len > 0 && head->type == BUS_HELLO)
		f->hellos++;
	if (id_len == 0 && head->type == BUS_REFUSE)
		f->refused++;
	check_until(f);
}

static inline void on_say(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct fixture *f = timer->data;
	const struct bus_head head = {.type = BUS_PING, .sequence = 1};

	(void)loop;
	(void)events;
	if (f->dealer != NULL)
		bus_send(f->dealer, NULL, 0, &head, "ping", 4);
	check_until(f);
}

static inline void on_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)events;
	((struct fixture *)timer->data)->late = true;
	ev_break(loop, EVBREAK_ALL);
}

/* Runs the loop until the condition holds; it is looked at every 10 ms, and the dealer says something as often. */
static inline void wait_until(struct fixture *f, bool (*condition)(const struct fixture *f))
{
	ev_timer limit;

	f->until = condition;
	f->late = false;
	ev_timer_init(&limit, on_limit, allowed_s(limit_s), 0);
	limit.data = f;
	ev_timer_start(f->loop, &limit);
	if (!condition(f))
		ev_run(f->loop, 0);
	ev_timer_stop(f->loop, &limit);
	f->until = NULL;
	if (f->late)
		fail_msg("not within %g s: heard %u of %u; accepted %llu, admitted %llu, unknown %llu, handshake %llu",
			 limit_s, f->heard, f->wanted, (unsigned long long)bus_socket_gate(f->router)->accepted,
			 (unsigned long long)bus_socket_gate(f->router)->admitted,
			 (unsigned long long)bus_socket_gate(f->router)->unknown_key,
			 (unsigned long long)bus_socket_gate(f->router)->handshake);
}

static inline bool is_heard(const struct fixture *f)
{
	return f->heard >= f->wanted;
}

static inline bool is_unknown(const struct fixture *f)
{
	return bus_socket_gate(f->router)->unknown_key >= f->wanted;
}

static inline bool is_no_handshake(const struct fixture *f)
{
	return bus_socket_gate(f->router)->handshake >= f->wanted;
}

static inline bool is_revoked(const struct fixture *f)
{
	return bus_socket_gate(f->router)->revoked >= f->wanted;
}

static inline void want(struct fixture *f, bool (*condition)(const struct fixture *f), unsigned more)
{
	const struct bus_gate_counters *gate = bus_socket_gate(f->router);

	f->wanted = more + (condition == is_heard          ? f->heard
			    : condition == is_unknown      ? (unsigned)gate->unknown_key
			    : condition == is_no_handshake ? (unsigned)gate->handshake
							   : (unsigned)gate->revoked);
	wait_until(f, condition);
}

static inline void listen_with(struct fixture *f, const char *keys)
{
	const struct bus_security security = {.keys = keys};
	struct error err;

	f->router = bus_socket_bind(f->loop, "tcp://127.0.0.1:*", &security, on_receive, f, &err);
	if (f->router == NULL)
		fail_msg("%s", err.message);
}

static inline void connect_with(struct fixture *f, const char *keys)
{
	const struct bus_security security = {.keys = keys};
	struct error err;

	bus_socket_free(f->dealer);
	f->dealer = bus_socket_connect(f->loop, bus_socket_endpoint(f->router), &security, on_receive, f, &err);
	if (f->dealer == NULL)
		fail_msg("%s", err.message);
}

static inline int set_up(void **state)
{
	static const char *const names[] = {"peer", "stranger"};
	struct fixture *f = mem_calloc(1, sizeof(*f));
	struct error err;

	*state = f;
	f->loop = ev_loop_new(0);
	temp_directory(f->directory);
	snprintf(f->server, sizeof(f->server), "%s/server", f->directory);
	snprintf(f->peer, sizeof(f->peer), "%s/peer", f->directory);
	snprintf(f->stranger, sizeof(f->stranger), "%s/stranger", f->directory);
	if (curve_keygen(f->directory, names, 1, &err) < 0)
		fail_msg("%s", err.message);
	/* a key of its own, and the watcher's public one, but not on its list */
	char clients[4096];
	read_text(f->server, "clients", clients);
	assert_int_equal(curve_keygen(f->directory, names + 1, 1, &err), 0);
	write_text(f->server, "clients", clients);
	ev_timer_init(&f->say, on_say, 0.01, 0.01);
	f->say.data = f;
	ev_timer_start(f->loop, &f->say);
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	ev_timer_stop(f->loop, &f->say);
	bus_socket_free(f->dealer);
	bus_socket_free(f->router);
	ev_loop_destroy(f->loop);
	remove_keys(f->server);
	remove_keys(f->peer);
	remove_keys(f->stranger);
	assert_int_equal(rmdir(f->directory), 0);
	free(f);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
