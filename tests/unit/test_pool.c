/* The pool of forked reconcilers, with shell scripts in their place: arguments, restarts, hanging, draining. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "tests/unit/http_server.h"
#include "tests/unit/temp.h"
#include "watcher/pool/pool.h"

/* Every wait of these tests ends much sooner; this only bounds a failure. */
static const double limit_s = 60;

struct fixture {
	struct ev_loop *loop;
	char directory[TEMP_PATH_SIZE];
	char program[TEMP_PATH_SIZE + 16];
	char log[TEMP_PATH_SIZE + 16]; /* written by the script */
	char bus[TEMP_PATH_SIZE + 16];
	char endpoint[TEMP_PATH_SIZE + 32]; /* of the bus, where a file is */
	size_t deaths;
	size_t cut_offs;
	char last_death[POOL_NAME_SIZE];
	bool drained;
};

static void on_died(void *arg, const char *name)
{
	struct fixture *f = arg;

	f->deaths++;
	snprintf(f->last_death, sizeof(f->last_death), "%s", name);
}

static void on_cut_off(void *arg, const char *path)
{
	struct fixture *f = arg;

	assert_string_equal(path, f->bus);
	f->cut_offs++;
}

static void on_drained(void *arg)
{
	((struct fixture *)arg)->drained = true;
}

static const struct pool_handler handler = {.died = on_died, .cut_off = on_cut_off, .drained = on_drained};

static int set_up(void **state)
{
	struct fixture *f = mem_calloc(1, sizeof(*f));

	*state = f;
	f->loop = ev_default_loop(0); /* children are reaped on this one only */
	temp_directory(f->directory);
	snprintf(f->program, sizeof(f->program), "%s/program", f->directory);
	snprintf(f->log, sizeof(f->log), "%s/log", f->directory);
	snprintf(f->bus, sizeof(f->bus), "%s/bus", f->directory);
	snprintf(f->endpoint, sizeof(f->endpoint), "ipc://%s", f->bus);
	assert_int_equal(fclose(fopen(f->bus, "we")), 0);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	unlink(f->program);
	unlink(f->log);
	unlink(f->bus);
	assert_int_equal(rmdir(f->directory), 0);
	free(f);
	return 0;
}

/* The script; %s in it is the log's path. */
static void write_script(struct fixture *f, const char *body)
{
	FILE *file = fopen(f->program, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\nlog=%s\n%s\n", f->log, body);
	fclose(file);
	assert_int_equal(chmod(f->program, 0700), 0);
}

static size_t lines(struct fixture *f, char *last, size_t size)
{
	FILE *file = fopen(f->log, "r");
	char line[512];
	size_t count = 0;

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (strchr(line, '\n') == NULL)
			break; /* being written */
		count++;
		if (last != NULL)
			snprintf(last, size, "%s", line);
	}
	fclose(file);
	return count;
}

static void on_poll(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
}

/* Turns the loop until the log has so many lines. */
static void wait_lines(struct fixture *f, size_t wanted)
{
	double end = ev_time() + allowed_s(limit_s);
	ev_timer poll;

	ev_timer_init(&poll, on_poll, 0.005, 0.005);
	ev_timer_start(f->loop, &poll);
	while (lines(f, NULL, 0) < wanted && ev_time() < end)
		ev_run(f->loop, EVRUN_ONCE);
	ev_timer_stop(f->loop, &poll);
	assert_true(lines(f, NULL, 0) >= wanted);
}

static struct pool *make_pool(struct fixture *f, int workers, const char *const *arguments, int64_t drain_ms)
{
	const struct pool_options options = {.program = f->program,
					     .workers = workers,
					     .endpoint = f->endpoint,
					     .arguments = arguments,
					     .drain_ms = drain_ms,
					     .backoff_first_ms = 20};
	struct error err;
	struct pool *pool = pool_new(f->loop, &options, &handler, f, &err);

	if (pool == NULL)
		fail_msg("%s", err.message);
	return pool;
}

static void test_arguments_and_drain(void **state)
{
	static const char *const arguments[] = {"--config", "a b", NULL};
	struct fixture *f = *state;
	struct pool *pool;
	char last[512];
	char expected[512];

	/* exec: the signal must reach the one that traps it */
	write_script(f, "trap 'exit 0' TERM\necho \"$@\" >> $log\nwhile :; do sleep 0.02; done");
	pool = make_pool(f, 1, arguments, 10000);
	wait_lines(f, 1);
	lines(f, last, sizeof(last));
	snprintf(expected, sizeof(expected), "--name pool-0 --bus %s --config a b\n", f->endpoint);
	assert_string_equal(last, expected);
	assert_true(pool_pid(pool, 0) > 0);
	pool_stop(pool);
	assert_true(run_until(f->loop, &f->drained, limit_s));
	assert_int_equal(f->deaths, 1);
	assert_int_equal(pool_pid(pool, 0), 0);
	assert_int_equal(pool_restarts(pool), 0);
	pool_free(pool);
}

/* Each child gets a port of its own, the same when it is started again. */
static void test_http(void **state)
{
	struct fixture *f = *state;
	const struct pool_options options = {.program = f->program,
					     .workers = 2,
					     .endpoint = f->endpoint,
					     .http = "127.0.0.1:8081",
					     .drain_ms = 10000,
					     .backoff_first_ms = 20};
	char http[POOL_HTTP_SIZE];
	struct error err;
	struct pool *pool;

	write_script(f, "echo \"$6 of $2\" >> $log\nexec sleep 1000");
	pool = pool_new(f->loop, &options, &handler, f, &err);
	assert_non_null(pool);
	wait_lines(f, 2);
	kill(pool_pid(pool, 1), SIGKILL);
	wait_lines(f, 3);
	lines(f, http, sizeof(http));
	assert_string_equal(http, "127.0.0.1:8082 of pool-1\n");
	pool_free(pool);

	assert_int_equal(pool_http("[::1]:0", 3, http, &err), 0);
	assert_string_equal(http, "[::1]:0");
	for (size_t i = 0; i < 5; i++) {
		static const char *const wrong[] = {"127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:8o",
						    "127.0.0.1:65535"};

		assert_int_equal(pool_http(wrong[i], 1, http, &err), -1);
		assert_non_null(strstr(err.message, wrong[i]));
	}
}

/* One that dies is started again, at once for the first time; the others go on. */
static void test_restart(void **state)
{
	struct fixture *f = *state;
	struct pool *pool;
	pid_t first;
	pid_t other;

	write_script(f, "echo \"$2\" >> $log\nexec sleep 1000");
	pool = make_pool(f, 2, NULL, 10000);
	wait_lines(f, 2);
	first = pool_pid(pool, 0);
	other = pool_pid(pool, 1);
	assert_int_equal(kill(first, SIGKILL), 0);
	assert_true(run_until_count(f->loop, &f->deaths, 1, limit_s));
	assert_string_equal(f->last_death, "pool-0");
	wait_lines(f, 3);
	assert_int_not_equal(pool_pid(pool, 0), first);
	assert_int_equal(pool_pid(pool, 1), other);
	assert_int_equal(pool_restarts(pool), 1);
	pool_free(pool); /* kills what runs */
	assert_int_equal(kill(other, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void on_end(void *arg, const char *reason, uint64_t count)
{
	char *text = arg;
	size_t len = strlen(text);

	snprintf(text + len, 256 - len, "%s: %d; ", reason, (int)count);
}

/* Why they ended is told: in which way each slot's last one did, and how many did so. */
static void test_reasons(void **state)
{
	struct fixture *f = *state;
	struct pool *pool;
	char ends[256] = "";

	/* pool-0 ends by itself, pool-1 is killed */
	write_script(f, "[ $2 = pool-1 ] || exit 3\necho up >> $log\nexec sleep 1000");
	pool = make_pool(f, 2, NULL, 10000);
	assert_string_equal(pool_slot_end(pool, 0), "");
	assert_true(run_until_count(f->loop, &f->deaths, 2, limit_s));
	wait_lines(f, 1);
	assert_int_equal(kill(pool_pid(pool, 1), SIGKILL), 0);
	while (pool_slot_end(pool, 1)[0] == '\0')
		assert_true(run_until_count(f->loop, &f->deaths, f->deaths + 1, limit_s));
	wait_lines(f, 2);
	assert_string_equal(pool_slot_end(pool, 0), "exited with code 3");
	assert_string_equal(pool_slot_end(pool, 1), "was killed by signal 9 (Killed)");
	assert_int_equal(pool_slot_restarts(pool, 1), 1);
	pool_ends(pool, on_end, ends);
	assert_non_null(strstr(ends, "exit 3: "));
	assert_non_null(strstr(ends, "signal 9: 1; "));
	pool_free(pool);
}

/* One that cannot live is tried ever more slowly, not in a busy loop. */
static void test_backoff(void **state)
{
	struct fixture *f = *state;
	double start = ev_time();
	struct pool *pool;

	write_script(f, "exit 3");
	pool = make_pool(f, 1, NULL, 10000);
	assert_true(run_until_count(f->loop, &f->deaths, 5, limit_s));
	/* at once, then 20, 40, 80 ms */
	assert_true(ev_time() - start >= 0.139);
	pool_free(pool);
}

/* Log lines of pool_kill_silent(). */
static struct {
	size_t count;
	char last[256];
} kills;

static void take_line(char severity, const char *message)
{
	if (strstr(message, " hangs: ") == NULL)
		return;
	assert_int_equal(severity, 'E');
	kills.count++;
	snprintf(kills.last, sizeof(kills.last), "%s", message);
}

/* Calls pool_kill_silent() twice a second for so long. Child 1 sends a message each time, child 0 none. */
static void look_for(struct pool *pool, int64_t *now_ms, int64_t time_ms, int64_t limit_ms)
{
	log_set_sink(take_line);
	for (int64_t end_ms = *now_ms + time_ms; *now_ms < end_ms;) {
		*now_ms += POOL_LOOK_MS / 2;
		pool_heard(pool, "pool-1", *now_ms);
		pool_kill_silent(pool, *now_ms, limit_ms);
	}
	log_set_sink(NULL);
}

/* Child 0 has been killed for the n-th time, and starts again, to be stopped. Silence counts for nothing in between. */
static void expect_next(struct fixture *f, struct pool *pool, int64_t *now_ms, size_t n)
{
	assert_true(run_until_count(f->loop, &f->deaths, n, limit_s));
	assert_string_equal(f->last_death, "pool-0");
	assert_string_equal(pool_slot_end(pool, 0), "was killed by signal 9 (Killed)");
	assert_int_equal(pool_pid(pool, 0), 0);
	look_for(pool, now_ms, 100000, 1000);
	wait_lines(f, 2 + n);
	assert_int_equal(kill(pool_pid(pool, 0), SIGSTOP), 0);
}

/* A child that hangs is killed and started again, whether it sent anything before or not. The other one continues. */
static void test_silent(void **state)
{
	static const int64_t limit_ms = 45000;
	static const int64_t shorter_ms = 44000;
	struct fixture *f = *state;
	int64_t now_ms = 1000;
	char expected[256];
	struct pool *pool;
	pid_t other;

	kills.count = 0;
	write_script(f, "echo \"$2\" >> $log\nexec sleep 1000");
	pool = make_pool(f, 2, NULL, 10000);
	wait_lines(f, 2);
	other = pool_pid(pool, 1);
	look_for(pool, &now_ms, shorter_ms, limit_ms);
	assert_int_equal(kill(pool_pid(pool, 0), SIGKILL), 0);
	expect_next(f, pool, &now_ms, 1);

	look_for(pool, &now_ms, shorter_ms, limit_ms);
	pool_heard(pool, "pool-0", now_ms);
	look_for(pool, &now_ms, shorter_ms, limit_ms);
	assert_int_equal(kills.count, 0);
	snprintf(expected, sizeof(expected), "pool-0 (pid %d) hangs: it has sent nothing for 45 s; killing it",
		 (int)pool_pid(pool, 0));
	look_for(pool, &now_ms, 2 * POOL_LOOK_MS, limit_ms);
	assert_int_equal(kills.count, 1);
	assert_string_equal(kills.last, expected);
	expect_next(f, pool, &now_ms, 2);

	look_for(pool, &now_ms, shorter_ms, limit_ms);
	assert_int_equal(kills.count, 1);
	look_for(pool, &now_ms, 2 * POOL_LOOK_MS, limit_ms);
	assert_int_equal(kills.count, 2);
	expect_next(f, pool, &now_ms, 3);
	assert_int_equal(pool_restarts(pool), 3);
	assert_int_equal(pool_pid(pool, 1), other);
	pool_free(pool);
}

/* After a pause of the watcher, or of its machine, messages may wait unread. While the pool drains, drain_ms is the
 * limit. */
static void test_silent_excused(void **state)
{
	static const int64_t limit_ms = 30000;
	struct fixture *f = *state;
	int64_t now_ms = INT64_C(1) << 40;
	struct pool *pool;

	kills.count = 0;
	write_script(f, "trap '' TERM\necho up >> $log\nwhile :; do sleep 0.02; done");
	pool = make_pool(f, 2, NULL, 50);
	wait_lines(f, 2);
	log_set_sink(take_line);
	for (int64_t i = 0; i < limit_ms / POOL_LOOK_MS; i++) {
		now_ms += 10 * limit_ms;
		pool_kill_silent(pool, now_ms, limit_ms);
	}
	log_set_sink(NULL);
	assert_int_equal(kills.count, 0);
	pool_stop(pool);
	look_for(pool, &now_ms, 2 * limit_ms, limit_ms);
	assert_int_equal(kills.count, 0);
	assert_true(run_until(f->loop, &f->drained, limit_s));
	pool_free(pool);
}

static void test_stubborn(void **state)
{
	struct fixture *f = *state;
	struct pool *pool;

	write_script(f, "trap '' TERM\necho up >> $log\nwhile :; do sleep 0.02; done");
	pool = make_pool(f, 2, NULL, 50);
	wait_lines(f, 2);
	pool_stop(pool);
	assert_false(f->drained);
	assert_true(run_until(f->loop, &f->drained, limit_s));
	assert_int_equal(f->deaths, 2);
	pool_free(pool);
}

/* Stopping while one waits for its restart. */
static void test_stop_between(void **state)
{
	struct fixture *f = *state;
	struct pool *pool;

	write_script(f, "exit 1");
	pool = make_pool(f, 1, NULL, 10000);
	assert_true(run_until_count(f->loop, &f->deaths, 2, limit_s));
	assert_int_equal(pool_pid(pool, 0), 0);
	pool_stop(pool);
	assert_true(f->drained);
	pool_free(pool);
}

static void on_signal(struct ev_loop *loop, ev_signal *signal, int events)
{
	(void)loop;
	(void)signal;
	(void)events;
}

/* A SIGTERM ends a child also while it is still the watcher's copy, whose handlers it has: else it would run until it
 * is killed, when the time for draining is over. */
static void test_stop_at_once(void **state)
{
	struct fixture *f = *state;
	ev_signal terminate;
	struct pool *pool;

	if (getenv("TEST_MEMCHECK") != NULL)
		skip(); /* memcheck loses some of the signals that come while a child executes its program */
	ev_signal_init(&terminate, on_signal, SIGTERM);
	ev_signal_start(f->loop, &terminate);
	write_script(f, "exec sleep 1000");
	for (int i = 0; i < 10; i++) {
		f->drained = false;
		pool = make_pool(f, 2, NULL, 1000);
		pool_stop(pool);
		assert_true(run_until(f->loop, &f->drained, limit_s));
		assert_string_equal(pool_slot_end(pool, 0), "was killed by signal 15 (Terminated)");
		assert_string_equal(pool_slot_end(pool, 1), "was killed by signal 15 (Terminated)");
		pool_free(pool);
	}
	ev_signal_stop(f->loop, &terminate);
}

/* Nor does a SIGHUP to all of them end one that has only begun. */
static void test_hangup_at_start(void **state)
{
	struct fixture *f = *state;
	struct pool *pool;

	write_script(f, "kill -HUP $$\necho up >> $log\nexec sleep 1000");
	pool = make_pool(f, 1, NULL, 10000);
	wait_lines(f, 1);
	assert_int_equal(f->deaths, 0);
	pool_free(pool);
}

static void test_no_program(void **state)
{
	struct fixture *f = *state;
	const struct pool_options options = {.program = f->program, .workers = 1, .endpoint = f->endpoint};
	struct error err;

	assert_null(pool_new(f->loop, &options, &handler, f, &err));
	assert_non_null(strstr(err.message, f->program));
}

/* Without the socket a child would wait for ever: none is started again, nor is a pool begun. */
static void test_cut_off(void **state)
{
	struct fixture *f = *state;
	const struct pool_options options = {.program = f->program, .workers = 1, .endpoint = f->endpoint};
	struct error err;
	struct pool *pool;

	write_script(f, "echo up >> $log\nexec sleep 1000");
	pool = make_pool(f, 2, NULL, 10000);
	wait_lines(f, 2);
	assert_int_equal(unlink(f->bus), 0);
	assert_int_equal(kill(pool_pid(pool, 0), SIGKILL), 0);
	assert_true(run_until_count(f->loop, &f->cut_offs, 1, limit_s));
	assert_int_equal(pool_pid(pool, 0), 0);
	assert_int_equal(pool_restarts(pool), 0);
	pool_stop(pool);
	assert_true(run_until(f->loop, &f->drained, limit_s));
	assert_int_equal(f->cut_offs, 1);
	assert_int_equal(lines(f, NULL, 0), 2);
	pool_free(pool);
	assert_null(pool_new(f->loop, &options, &handler, f, &err));
	assert_non_null(strstr(err.message, f->bus));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_arguments_and_drain),
		TEST(test_http),
		TEST(test_restart),
		TEST(test_reasons),
		TEST(test_backoff),
		TEST(test_silent),
		TEST(test_silent_excused),
		TEST(test_stubborn),
		TEST(test_stop_between),
		TEST(test_stop_at_once),
		TEST(test_hangup_at_start),
		TEST(test_no_program),
		TEST(test_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
