/* When requests of the Kubernetes client go out, and how long they may take: deadlines, the order of the rate limit. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <unistd.h>

#include "common/kube/client/call.h"
#include "tests/unit/kube_world.h"
#include "tests/unit/slow.h"

/* ---- time ---- */

static void test_timeout(void **state)
{
	struct fixture *fixture = *state;
	int64_t start_ms = clock_boot_ms();

	fixture->script = hold;
	call(fixture, 0, (struct kube_request){.timeout_ms = allowed_ms(50)});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_TIMEOUT);
	assert_true(fixture->seen[0].sent);
	assert_in_range(clock_boot_ms() - start_ms, 45, allowed_ms(5000));
	/* and the client lives on */
	fixture->script = reply_ok;
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].status, 200);
}

/* Stands in for libc's in libcurl: a resolver that answers nothing until it is told to. */
static int told[2] = {-1, -1};
static bool found;
enum { UNTOLD_MS = 6000 };

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
	struct pollfd wait = {.fd = told[0], .events = POLLIN};
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	(void)name;
	poll(&wait, 1, UNTOLD_MS);
	if (!found)
		return EAI_AGAIN;
	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	return real("127.0.0.1", service, hints, out);
}

static size_t threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	size_t count = 0;

	assert_non_null(tasks);
	for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;)
		count += entry->d_name[0] != '.';
	closedir(tasks);
	return count;
}

/* A name that nobody answers for costs its own request alone. */
static void test_silent_resolver(void **state)
{
	const struct kube_client_options options = {0};
	struct fixture *fixture = *state;
	struct kube_call *cancelled;
	int64_t start_ms;
	size_t before = threads();

	assert_int_equal(pipe(told), 0);
	free(fixture->config.server);
	fixture->config.server = mem_strdup("http://api.example.test");
	start_client(fixture, &options);
	found = false;
	start_ms = clock_boot_ms();
	call(fixture, 0, (struct kube_request){.timeout_ms = 50});
	cancelled = call(fixture, 1, (struct kube_request){0});
	settle(fixture);
	kube_call_cancel(cancelled);
	wait_done(fixture, 2);
	assert_in_range(clock_boot_ms() - start_ms, 45, UNTOLD_MS / 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(fixture->seen[i].failure, fixture->seen[i].id == 0 ? KUBE_TIMEOUT : KUBE_CANCELLED);
	assert_int_equal(write(told[1], "!!", 2), 2);
	for (start_ms = clock_boot_ms(); threads() > before; usleep(1000))
		assert_in_range(clock_boot_ms() - start_ms, 0, (int64_t)(limit_s * 1000));
	close(told[0]);
	close(told[1]);
}

static bool allow(void *arg, int64_t *timeout_ms)
{
	(void)arg;
	(void)timeout_ms;
	return true;
}

/* The server counts the timeout of a request from when it gets it: one under a lease is not sent late. */
static void test_late_connection(void **state)
{
	const struct kube_client_options options = {0};
	struct fixture *fixture = *state;
	int64_t start_ms;

	assert_int_equal(pipe(told), 0);
	free(fixture->config.server);
	fixture->config.server = mem_printf("http://api.example.test:%d", fixture->server.port);
	start_client(fixture, &options);
	found = true;
	start_ms = clock_boot_ms();
	call(fixture, 0, (struct kube_request){.method = "POST", .before_send = allow});
	call(fixture, 1, (struct kube_request){0});
	while (clock_boot_ms() < start_ms + 3100) {
		settle(fixture);
		usleep(10000);
	}
	assert_int_equal(write(told[1], "!!", 2), 2);
	wait_done(fixture, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct seen *seen = &fixture->seen[i];

		assert_int_equal(seen->failure, seen->id == 0 ? KUBE_NETWORK : KUBE_OK);
		assert_int_equal(seen->sent, seen->id == 1);
		assert_true((seen->id == 0) == (strstr(seen->message, "not sent: no connection within") != NULL));
	}
	assert_int_equal(fixture->server.request_count, 1);
	/* the name is known now */
	call(fixture, 2, (struct kube_request){.method = "POST", .before_send = allow});
	wait_done(fixture, 3);
	assert_int_equal(fixture->seen[2].status, 200);
	close(told[0]);
	close(told[1]);
}

/* Waiting for a connection must not use up a request's time (common/README.md §7.3). */
static void test_queueing_is_free(void **state)
{
	const struct kube_client_options options = {.max_connections = 1};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	fixture->script = hold;
	call(fixture, 1, (struct kube_request){.timeout_ms = 300});
	call(fixture, 2, (struct kube_request){.timeout_ms = 200});
	assert_true(run_until_count(fixture->loop, &fixture->held_count, 1, limit_s));
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].id, 1);
	assert_int_equal(fixture->seen[0].failure, KUBE_TIMEOUT);
	fixture->script = reply_ok;
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].status, 200);
}

static void test_exempt_needs_no_place(void **state)
{
	const struct kube_client_options options = {.max_connections = 1};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	fixture->script = hold;
	call(fixture, 1, (struct kube_request){0});
	call(fixture, 2, (struct kube_request){0});
	assert_true(run_until_count(fixture->loop, &fixture->held_count, 1, limit_s));
	fixture->script = reply_ok;
	call(fixture, 3, (struct kube_request){.exempt = true});
	wait_done(fixture, 1);
	assert_int_equal(fixture->seen[0].id, 3);
	reply_ok(fixture, fixture->held[0]);
	wait_done(fixture, 3);
}

static bool lower(void *arg, int64_t *timeout_ms)
{
	(void)arg;
	assert_int_equal(*timeout_ms, 8000);
	*timeout_ms = 2999;
	return true;
}

static bool lower_much(void *arg, int64_t *timeout_ms)
{
	(void)arg;
	*timeout_ms = 999;
	return true;
}

static bool lower_to_nothing(void *arg, int64_t *timeout_ms)
{
	(void)arg;
	*timeout_ms = 0;
	return true;
}

static bool refuse(void *arg, int64_t *timeout_ms)
{
	(void)arg;
	(void)timeout_ms;
	return false;
}

/* The fence: what the hook leaves of the time bounds the server as well, rounded down. */
static void test_before_send(void **state)
{
	struct fixture *fixture = *state;

	call(fixture, 0, (struct kube_request){.path = "/a", .before_send = lower, .server_timeout = true});
	wait_done(fixture, 1);
	call(fixture, 0, (struct kube_request){.path = "/b?c=d", .before_send = lower_much, .server_timeout = true});
	wait_done(fixture, 2);
	assert_string_equal(fixture->server.log.data, "GET /a?timeout=2s\nGET /b?c=d&timeout=999ms\n");
	call(fixture, 0, (struct kube_request){.before_send = refuse});
	call(fixture, 0, (struct kube_request){.before_send = lower_to_nothing});
	wait_done(fixture, 4);
	for (size_t i = 2; i < 4; i++) {
		assert_int_equal(fixture->seen[i].failure, KUBE_REFUSED);
		assert_false(fixture->seen[i].sent);
		assert_non_null(strstr(fixture->seen[i].message, "not sent"));
	}
	assert_int_equal(fixture->server.request_count, 2);
}

/* ---- the rate limit ---- */

static void test_rate_limit_order(void **state)
{
	const struct kube_client_options options = {.qps = 100, .burst = 2};
	struct fixture *fixture = *state;
	int64_t start_ms = clock_boot_ms();

	start_client(fixture, &options);
	call(fixture, 91, (struct kube_request){.last = true});
	call(fixture, 90, (struct kube_request){.low_priority = true});
	for (int i = 1; i <= 5; i++)
		call(fixture, i, (struct kube_request){.path = "/n"});
	call(fixture, 80, (struct kube_request){.exempt = true});
	wait_done(fixture, 8);
	/* exempt goes at once; two at once and then one each 10 ms, low priority behind them */
	assert_int_equal(fixture->seen[6].id, 90);
	assert_int_equal(fixture->seen[7].id, 91);
	for (int i = 0, next = 1; i < 6; i++) {
		if (fixture->seen[i].id == 80) {
			assert_true(i <= 2);
			continue;
		}
		if (i > 2)
			assert_int_equal(fixture->seen[i].id, next);
		next++;
	}
	assert_in_range(clock_boot_ms() - start_ms, 39, 5000);
}

/* Under a load without end, an Event in ten calls. */
static void test_low_priority_goes_on(void **state)
{
	const struct kube_client_options options = {.qps = 200, .burst = 1};
	struct fixture *fixture = *state;
	size_t at[2] = {0};

	start_client(fixture, &options);
	for (int i = 0; i < 2; i++)
		call(fixture, 90 + i, (struct kube_request){.low_priority = true});
	for (int i = 0; i < 30; i++)
		call(fixture, i, (struct kube_request){.path = "/n"});
	wait_done(fixture, 32);
	for (size_t i = 0; i < 32; i++)
		if (fixture->seen[i].id >= 90)
			at[fixture->seen[i].id - 90] = i;
	/* answers may come in another order than calls went out */
	assert_in_range(at[0], 7, 12);
	assert_in_range(at[1], 17, 22);
}

static void test_rate_change(void **state)
{
	const struct kube_client_options options = {.qps = 0.001, .burst = 1};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	call(fixture, 1, (struct kube_request){0});
	call(fixture, 2, (struct kube_request){0});
	wait_done(fixture, 1);
	settle(fixture);
	assert_int_equal(fixture->done_count, 1);
	kube_client_set_rate(fixture->client, 1000, 10);
	wait_done(fixture, 2);
}

/* A refused request costs no token: the next one goes at once. */
static void test_refusal_costs_nothing(void **state)
{
	const struct kube_client_options options = {.qps = 0.001, .burst = 1};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	call(fixture, 1, (struct kube_request){.before_send = refuse});
	call(fixture, 2, (struct kube_request){0});
	wait_done(fixture, 2);
	assert_int_equal(fixture->seen[1].failure, KUBE_OK);
}

/* Answers can wait for others unless a call waits for its place (at most a tenth of the time that calls take), or the
 * next page of a list is to be asked for. */
static void test_patience(void **state)
{
	const struct kube_client_options options = {.max_connections = 1};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	assert_int_equal(kube_client_patience_ms(fixture->client), INT_MAX);
	fixture->script = hold;
	call(fixture, 1, (struct kube_request){0});
	settle(fixture);
	assert_int_equal(kube_client_patience_ms(fixture->client), INT_MAX); /* nobody waits for its place */
	call(fixture, 2, (struct kube_request){0});
	settle(fixture);
	assert_in_range(kube_client_patience_ms(fixture->client), 0, limit_s * 1000 / 10);
	kube_client_set_rate(fixture->client, 0.001, 1);
	fixture->script = reply_ok;
	http_reply(fixture->held[0], 200, "", "{}");
	wait_done(fixture, 2);
	assert_int_equal(kube_client_patience_ms(fixture->client), INT_MAX);
	call(fixture, 3, (struct kube_request){.exempt = true, .page = true});
	assert_int_equal(kube_client_patience_ms(fixture->client), 0);
	wait_done(fixture, 3);
	assert_int_equal(kube_client_patience_ms(fixture->client), INT_MAX);
}

/* Each turn sends a part of a body. If turns waited for other events, a status of 1.5 MB could be sent too late. */
static void test_patience_large_body(void **state)
{
	struct fixture *fixture = *state;
	cleanup_buf struct buf body = {0};

	while (body.len < 1024 * 1024)
		buf_puts(&body, "0123456789abcdef");
	fixture->script = hold;
	call(fixture, 1, (struct kube_request){.method = "PUT", .body = body.data, .body_len = 64 * 1024});
	call(fixture, 2, (struct kube_request){.method = "PUT", .body = body.data, .body_len = 32});
	ev_run(fixture->loop, EVRUN_NOWAIT);
	assert_int_equal(kube_client_patience_ms(fixture->client), INT_MAX);
	assert_true(run_until_count(fixture->loop, &fixture->held_count, 2, limit_s));
	call(fixture, 3, (struct kube_request){.method = "PUT", .body = body.data, .body_len = body.len});
	ev_run(fixture->loop, EVRUN_NOWAIT);
	assert_int_equal(fixture->held_count, 2);
	assert_int_equal(kube_client_patience_ms(fixture->client), 0);
	assert_true(run_until_count(fixture->loop, &fixture->held_count, 3, limit_s));
	assert_int_equal(kube_client_patience_ms(fixture->client), INT_MAX);
}

static void test_low_priority_dropped(void **state)
{
	const struct kube_client_options options = {.qps = 0.001, .burst = 1};
	struct fixture *fixture = *state;

	start_client(fixture, &options);
	call(fixture, 0, (struct kube_request){0});
	wait_done(fixture, 1);
	for (int i = 0; i < 1003; i++)
		call(fixture, i, (struct kube_request){.low_priority = true});
	wait_done(fixture, 4);
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(fixture->seen[i].failure, KUBE_REFUSED);
		assert_in_range(fixture->seen[i].id, 1000, 1002);
	}
	/* those that wait are cancelled with the client */
	kube_client_free(fixture->client);
	fixture->client = NULL;
	assert_int_equal(fixture->done_count, 1004);
	assert_int_equal(fixture->seen[1003].failure, KUBE_CANCELLED);
}

/* The ones that are refused in a storm take no turn from those that wait. */
static void test_low_priority_in_a_storm(void **state)
{
	enum { WAITING = 1000, TURNS = 20 };
	const struct kube_client_options options = {.qps = 500, .burst = 1};
	struct fixture *fixture = *state;
	size_t sent = 0;

	start_client(fixture, &options);
	for (int i = 0; i < WAITING; i++)
		call(fixture, 90, (struct kube_request){.low_priority = true});
	for (int i = 0; i < 2 * TURNS; i++)
		call(fixture, 0, (struct kube_request){.path = "/n"});
	for (size_t i = 0; i < TURNS; i++) {
		call(fixture, 91, (struct kube_request){.low_priority = true});
		wait_done(fixture, fixture->done_count + 2);
	}
	for (size_t i = 0; i < fixture->done_count; i++)
		sent += fixture->seen[i].id >= 90 && fixture->seen[i].failure == KUBE_OK;
	assert_true(sent > 0);
}

/* Calls spread over the servers behind a balancer again. */
static void test_connections_have_an_end(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 1; i <= 3; i++) {
		if (i == 3)
			transport_notes(fixture->client->shared)->born_ms -= 11 * 60 * 1000;
		call(fixture, 0, (struct kube_request){0});
		wait_done(fixture, i);
		assert_int_equal(fixture->server.conn_count, i < 3 ? 1 : 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		client_test(test_timeout),
		client_test(test_silent_resolver),
		client_test(test_late_connection),
		client_test(test_queueing_is_free),
		client_test(test_exempt_needs_no_place),
		client_test(test_before_send),
		client_test(test_rate_limit_order),
		client_test(test_rate_change),
		client_test(test_refusal_costs_nothing),
		client_test(test_patience),
		client_test(test_patience_large_body),
		client_test(test_low_priority_dropped),
		client_test(test_low_priority_goes_on),
		client_test(test_low_priority_in_a_storm),
		client_test(test_connections_have_an_end),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("kube_pace", tests, NULL, NULL);
}
