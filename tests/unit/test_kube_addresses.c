/* A server's name that has several addresses, the first of which answers nothing: its machine is gone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>

#include "tests/unit/kube_world.h"

/* 127.0.0.2 and 127.0.0.1, in this order, whatever the name. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	struct addrinfo numeric = *hints;
	int result;

	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	if (strcmp(node, "several.test") != 0)
		return real(node, service, hints, out);
	numeric.ai_family = AF_INET;
	numeric.ai_flags = AI_NUMERICHOST;
	result = real("127.0.0.2", service, &numeric, out);
	return result != 0 ? result : real("127.0.0.1", service, &numeric, &(*out)->ai_next);
}

enum { FILLERS = 4 };

/* A listener with a full queue: the kernel drops every further SYN. */
static void make_hole(int port, int fds[FILLERS + 1])
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	inet_pton(AF_INET, "127.0.0.2", &address.sin_addr);
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fds[0], (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fds[0], 0), 0);
	for (int i = 1; i <= FILLERS; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(fds[i], (struct sockaddr *)&address, sizeof(address));
	}
}

static void start(struct fixture *fixture, int fds[FILLERS + 1], const struct kube_client_options *options)
{
	int port = atoi(strrchr(fixture->server.address, ':') + 1);

	make_hole(port, fds);
	free(fixture->config.server);
	fixture->config.server = mem_printf("http://several.test:%d", port);
	start_client(fixture, options);
}

static void drop_hole(int fds[FILLERS + 1])
{
	for (int i = 0; i <= FILLERS; i++)
		close(fds[i]);
}

static void the_second_address_serves_when_the_first_is_silent(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_client_options options = {.user_agent = "tester/1"};
	int fds[FILLERS + 1];

	start(fixture, fds, &options);
	call(fixture, 1, (struct kube_request){.timeout_ms = 4000});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_OK);
	assert_int_equal(fixture->seen[0].status, 200);
	drop_hole(fds);
}

static bool allow(void *arg, int64_t *timeout_ms)
{
	(void)arg;
	if (*timeout_ms > 9500)
		*timeout_ms = 9500; /* what is left of a lease of 10 s */
	return true;
}

/* Over HTTP/1.1 a connection that comes too late for its write is not kept for the next one. */
static void a_fenced_write_reaches_the_second_address_in_time(void **state)
{
	struct fixture *fixture = *state;
	const struct kube_client_options options = {.user_agent = "tester/1", .fenced = true};
	int fds[FILLERS + 1];

	start(fixture, fds, &options);
	call(fixture, 1, (struct kube_request){.method = "DELETE", .timeout_ms = 30000, .before_send = allow});
	wait_done(fixture, 1);
	assert_string_equal(fixture->seen[0].message, "");
	assert_int_equal(fixture->seen[0].status, 200);
	drop_hole(fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		client_test(the_second_address_serves_when_the_first_is_silent),
		client_test(a_fenced_write_reaches_the_second_address_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
