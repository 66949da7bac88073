/* Gangs that wait at fc-barrier and are let go: how long from the status that completes a gang until its last waiter
 * has its answer. Instead of reconcilers it writes the statuses itself. Waiters are raw connections, so that thousands
 * of them take little of the machine's time. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ev.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "tests/bench/tool/bench.h"

enum { CHUNK = 256 * 1024, HEAD_KEPT = 4096, POLL_MS = 20, HOLD_SEC = 60 };

struct gang;

struct waiter {
	struct gang *gang;
	ev_io io;
	char head[HEAD_KEPT]; /* the answer's beginning */
	size_t len;           /* of the answer so far */
	size_t whole;         /* of it, 0: not known yet */
};

struct gang {
	struct bench *bench;
	struct waiter *waiters;
	const char *uid;
	size_t left;         /* waiters not answered */
	int64_t released_us; /* the last of them */
};

struct bench {
	const struct bench_options *options;
	struct bench_api api;
	struct kube_client *server;
	struct sockaddr_in address;
	struct bench_gangs frameworks;
	struct gang *gangs;
	size_t left; /* gangs that wait */
	const char *token;
	char *chunk;
};

/* ---- waiters ----------------------------------------------------------------------------------------------------- */

static void answered(struct ev_loop *loop, struct waiter *waiter)
{
	struct gang *gang = waiter->gang;

	if (strncmp(waiter->head, "HTTP/1.1 200 ", 13) != 0)
		bench_fail("a waiter was answered \"%.*s\"", (int)strcspn(waiter->head, "\r\n"), waiter->head);
	ev_io_stop(loop, &waiter->io);
	close(waiter->io.fd);
	if (--gang->left > 0)
		return;
	gang->released_us = bench_now_us();
	gang->bench->left--;
}

static void read_head(struct waiter *waiter)
{
	const char *end = strstr(waiter->head, "\r\n\r\n");
	const char *length = strcasestr(waiter->head, "\r\nContent-Length:");

	if (end == NULL)
		return;
	if (length == NULL)
		bench_fail("an answer without a Content-Length");
	waiter->whole = (size_t)(end + 4 - waiter->head) + strtoul(length + 17, NULL, 10);
}

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
	struct waiter *waiter = io->data;
	char *chunk = waiter->gang->bench->chunk;
	ssize_t count = recv(io->fd, chunk, CHUNK, 0);

	(void)events;
	if (count < 0 && errno == EAGAIN)
		return;
	if (count <= 0)
		bench_fail("a waiter was cut off");
	if (waiter->len < HEAD_KEPT - 1) {
		size_t room = HEAD_KEPT - 1 - waiter->len;

		memcpy(waiter->head + waiter->len, chunk, (size_t)count < room ? (size_t)count : room);
	}
	waiter->len += (size_t)count;
	if (waiter->whole == 0)
		read_head(waiter);
	if (waiter->whole > 0 && waiter->len >= waiter->whole)
		answered(loop, waiter);
}

static void park(struct bench *bench, struct waiter *waiter, size_t index)
{
	cleanup_buf struct buf text = {0};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&bench->address, sizeof(bench->address)) < 0)
		bench_fail("connect to %s: %s", bench->options->address, strerror(errno));
	buf_printf(&text,
		   "GET /v1/namespaces/%s/frameworks/%s%zu/barrier?timeoutSeconds=%d&uid=%s HTTP/1.1\r\nHost: %s\r\n"
		   "Accept-Encoding: gzip\r\n",
		   bench->options->ns, bench->options->prefix, index, HOLD_SEC, waiter->gang->uid,
		   bench->options->address);
	if (bench->token != NULL)
		buf_printf(&text, "Authorization: Bearer %s\r\n", bench->token);
	buf_puts(&text, "\r\n");
	if (send(fd, text.data, text.len, MSG_NOSIGNAL) != (ssize_t)text.len)
		bench_fail("send: %s", strerror(errno));
	ev_io_init(&waiter->io, on_readable, fd, EV_READ);
	waiter->io.data = waiter;
	ev_io_start(bench->api.loop, &waiter->io);
}

static int64_t waiting(struct bench *bench)
{
	static const char gauge[] = "\nframeworkcontroller_barrier_waiting ";
	const struct kube_request request = {.method = "GET", .path = "/metrics", .timeout_ms = 30000};
	struct kube_answer answer;
	const char *found;
	int64_t value = 0;

	kube_client_call_wait(bench->server, &request, &answer);
	found = answer.failure == KUBE_OK ? strstr(answer.body, gauge) : NULL;
	if (found == NULL)
		bench_fail("no metrics of fc-barrier: %s", answer.message);
	value = strtoll(found + strlen(gauge), NULL, 10);
	kube_answer_free(&answer);
	return value;
}

static void park_all(struct bench *bench)
{
	const struct bench_options *options = bench->options;
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};

	for (size_t i = 0; i < (size_t)options->frameworks; i++) {
		struct gang *gang = &bench->gangs[i];

		gang->left = (size_t)options->waiters;
		gang->waiters = mem_calloc(gang->left, sizeof(*gang->waiters));
		for (size_t j = 0; j < gang->left; j++) {
			gang->waiters[j].gang = gang;
			park(bench, &gang->waiters[j], i);
		}
	}
	bench->left = (size_t)options->frameworks;
	while (waiting(bench) < options->frameworks * options->waiters)
		nanosleep(&pause, NULL);
}

/* ---- result ------------------------------------------------------------------------------------------------------ */

static void print(const struct bench *bench, int64_t begin_us)
{
	size_t count = (size_t)bench->options->frameworks;
	int64_t *us = mem_calloc(count, sizeof(*us));
	int64_t persisted_us = bench_gangs_persisted_us(&bench->frameworks);
	int64_t released_us = 0;

	for (size_t i = 0; i < count; i++) {
		const struct gang *gang = &bench->gangs[i];
		int64_t begun_us = bench->frameworks.all[i].persisted_us;

		us[i] = gang->released_us > begun_us ? gang->released_us - begun_us : 0;
		if (gang->released_us > released_us)
			released_us = gang->released_us;
	}
	bench_percentile(us, count, 100); /* sorts */
	printf("{\"waiters\":%" PRId64
	       ",\"write_s\":%.3f,\"wall_s\":%.3f,\"release_last_ms\":%.1f,\"release_p50_ms\":%.1f,"
	       "\"release_p99_ms\":%.1f,\"release_max_ms\":%.1f}\n",
	       bench->options->waiters, (double)(persisted_us - begin_us) / 1e6, (double)(released_us - begin_us) / 1e6,
	       released_us > persisted_us ? (double)(released_us - persisted_us) / 1000 : 0.,
	       (double)bench_percentile(us, count, 50) / 1000, (double)bench_percentile(us, count, 99) / 1000,
	       (double)us[count - 1] / 1000);
	free(us);
}

static void connect_to_server(struct bench *bench)
{
	const struct kube_client_options options = {.user_agent = "fc-bench/1.0"};
	static struct kube_config config = {.source = (char *)"--address"};
	struct error err;

	bench->address = bench_address(bench->options);
	config.server = mem_printf("http://%s", bench->options->address);
	bench->server = kube_client_new(bench->api.loop, &config, &options, &err);
	if (bench->server == NULL)
		bench_fail("%s", err.message);
}

static void free_all(struct bench *bench)
{
	for (size_t i = 0; i < bench->frameworks.count; i++)
		free(bench->gangs[i].waiters);
	free(bench->gangs);
	bench_gangs_free(&bench->frameworks);
	free(bench->chunk);
	kube_client_free(bench->server);
	bench_disconnect(&bench->api);
}

int bench_barrier(const struct bench_options *options)
{
	struct bench bench = {.options = options, .token = getenv("BENCH_TOKEN")};
	struct rlimit files;
	int64_t begin_us;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	bench_connect(&bench.api, options);
	connect_to_server(&bench);
	bench.chunk = mem_alloc(CHUNK);
	bench_gangs_make(&bench.frameworks, &bench.api, options);
	bench.gangs = mem_calloc(bench.frameworks.count, sizeof(*bench.gangs));
	for (size_t i = 0; i < bench.frameworks.count; i++)
		bench.gangs[i] = (struct gang){.bench = &bench, .uid = bench.frameworks.all[i].uid};
	park_all(&bench);
	begin_us = bench_now_us();
	bench_gangs_complete(&bench.frameworks);
	while (bench.left > 0)
		ev_run(bench.api.loop, EVRUN_ONCE);
	print(&bench, begin_us);
	free_all(&bench);
	return 0;
}
