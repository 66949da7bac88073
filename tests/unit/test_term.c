/* A leader's pool: what its children are started with. A shell script is in the reconciler's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <ev.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/mem.h"
#include "tests/unit/http_server.h"
#include "tests/unit/temp.h"
#include "watcher/leader/term.h"

/* Every wait of these tests ends much sooner; this only bounds a failure. */
static const double limit_s = 60;

enum { STARTED_MAX_BYTES = 64 * 1024 };

struct fixture {
	struct ev_loop *loop;
	char directory[TEMP_PATH_SIZE];
	char program[TEMP_PATH_SIZE + 16];
	char started[TEMP_PATH_SIZE + 16]; /* the arguments of each start, a line each */
	char kubeconfig[TEMP_PATH_SIZE + 16];
	char endpoint[TEMP_PATH_SIZE + 16]; /* of the bus; a file is there */
	struct config config;
	struct kube_config api_server;
	struct cache *cache;
	struct flags flags;
	struct term *term;
};

static void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	struct fixture *f = mem_calloc(1, sizeof(*f));
	cleanup_free char *script = NULL;

	*state = f;
	f->loop = ev_default_loop(0); /* children are reaped on this one only */
	temp_directory(f->directory);
	snprintf(f->program, sizeof(f->program), "%s/program", f->directory);
	snprintf(f->started, sizeof(f->started), "%s/started", f->directory);
	snprintf(f->kubeconfig, sizeof(f->kubeconfig), "%s/kubeconfig", f->directory);
	snprintf(f->endpoint, sizeof(f->endpoint), "ipc://%s/bus", f->directory);
	put_file(f->endpoint + strlen("ipc://"), "");
	script = mem_printf("#!/bin/sh\nfor argument; do line=\"$line[$argument]\"; done\necho \"$line\" >>%s\n"
			    "exec sleep 1000\n",
			    f->started);
	put_file(f->program, script);
	assert_int_equal(chmod(f->program, 0700), 0);
	config_default(&f->config);
	f->cache = cache_new((uint32_t)f->config.shards, NULL, NULL);
	f->flags = (struct flags){.workers = 1, .reconciler = f->program};
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	term_free(f->term);
	cache_free(f->cache);
	config_free(&f->config);
	kube_config_free(&f->api_server);
	unlink(f->program);
	unlink(f->started);
	unlink(f->kubeconfig);
	unlink(f->endpoint + strlen("ipc://"));
	assert_int_equal(rmdir(f->directory), 0);
	free(f);
	return 0;
}

static void never_cut_off(void *arg, const char *path)
{
	(void)arg;
	fail_msg("%s", path);
}

static void never_drained(void *arg)
{
	(void)arg;
	fail();
}

static void begin_term(struct fixture *f)
{
	const struct term_options options = {
		.loop = f->loop,
		.flags = &f->flags,
		.config = &f->config,
		.api_server = &f->api_server,
		.cache = f->cache,
		.endpoint = f->endpoint,
		.qps = 1,
		.burst = 1,
		.epoch = 1,
		.cut_off = never_cut_off,
		.drained = never_drained,
		.arg = f,
	};
	struct error err;

	f->term = term_new(&options, &err);
	if (f->term == NULL)
		fail_msg("%s", err.message);
}

/* The API server that a watcher with these flags chooses; the term begins with it. */
static void choose(struct fixture *f, const char *address, const char *kubeconfig, const char *context)
{
	struct error err;

	kube_config_free(&f->api_server);
	if (kube_config_load(address, kubeconfig, context, &f->api_server, &err) < 0)
		fail_msg("%s", err.message);
}

static void on_poll(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
}

/* The arguments of the last start, after so many starts. */
static const char *started(struct fixture *f, size_t wanted, struct buf *text)
{
	double end = ev_time() + allowed_s(limit_s);
	struct error err;
	ev_timer poll;
	size_t lines = 0;
	char *last;

	ev_timer_init(&poll, on_poll, 0.005, 0.005);
	ev_timer_start(f->loop, &poll);
	while (lines < wanted && ev_time() < end) {
		ev_run(f->loop, EVRUN_ONCE);
		buf_clear(text);
		if (file_read(f->started, STARTED_MAX_BYTES, text, NULL, &err) < 0)
			continue;
		lines = 0;
		for (const char *at = text->data; (at = strchr(at, '\n')) != NULL; at++)
			lines++;
	}
	ev_timer_stop(f->loop, &poll);
	assert_int_equal(lines, wanted);
	text->data[text->len - 1] = '\0';
	last = strrchr(text->data, '\n');
	return last == NULL ? text->data : last + 1;
}

static void expect_argument(const char *arguments, const char *flag, const char *value)
{
	cleanup_free char *pair = mem_printf("[%s][%s]", flag, value);

	if (strstr(arguments, pair) == NULL)
		fail_msg("found %s, expected %s", arguments, pair);
}

#define TWO_CONTEXTS                                                                       \
	"contexts: [{name: a, context: {cluster: a}}, {name: b, context: {cluster: b}}]\n" \
	"clusters: [{name: a, cluster: {server: \"https://a:1\"}}, {name: b, cluster: {server: \"https://b:1\"}}]\n"

/* The context that the watcher chose is handed on, to each start: another one may be the current one by then. */
static void test_context(void **state)
{
	struct fixture *f = *state;
	cleanup_buf struct buf text = {0};
	const char *arguments;

	put_file(f->kubeconfig, "current-context: a\n" TWO_CONTEXTS);
	choose(f, NULL, f->kubeconfig, NULL);
	begin_term(f);
	started(f, 1, &text);
	put_file(f->kubeconfig, "current-context: b\n" TWO_CONTEXTS);
	assert_int_equal(kill(pool_pid(term_pool(f->term), 0), SIGKILL), 0);
	arguments = started(f, 2, &text);
	expect_argument(arguments, "--kubeconfig", f->kubeconfig);
	expect_argument(arguments, "--context", "a");
	expect_argument(arguments, "--address", "");
	expect_argument(arguments, "--expect-server", "https://a:1");
}

/* A list of files is one argument; the files of $KUBECONFIG are handed on like those of --kubeconfig. */
static void test_files(void **state)
{
	struct fixture *f = *state;
	cleanup_buf struct buf text = {0};
	cleanup_free char *files = mem_printf("%s/none:%s", f->directory, f->kubeconfig);
	const char *arguments;

	put_file(f->kubeconfig, "current-context: a\n" TWO_CONTEXTS);
	choose(f, "http://c:1", files, "b");
	begin_term(f);
	arguments = started(f, 1, &text);
	expect_argument(arguments, "--kubeconfig", files);
	expect_argument(arguments, "--context", "b");
	expect_argument(arguments, "--address", "http://c:1");
	expect_argument(arguments, "--expect-server", "http://c:1");
}

/* Without a kubeconfig, a child uses none either: there may be one by then. */
static void test_no_files(void **state)
{
	struct fixture *f = *state;
	cleanup_buf struct buf text = {0};
	const char *arguments;

	choose(f, "http://c:1/", NULL, NULL);
	begin_term(f);
	arguments = started(f, 1, &text);
	expect_argument(arguments, "--kubeconfig", "");
	expect_argument(arguments, "--address", "http://c:1/");
	expect_argument(arguments, "--expect-server", "http://c:1");
	assert_null(strstr(arguments, "[--context]"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_context),
		TEST(test_files),
		TEST(test_no_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
