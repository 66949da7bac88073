/* Plain concurrent clients of the API server, and many requests at a time; see bench.h. */
#include <ev.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/mem.h"
#include "common/kube/kubeconfig.h"
#include "tests/bench/tool/bench.h"

enum { REQUEST_TIMEOUT_MS = 120 * 1000 };

struct bench_run {
	struct bench_api *api;
	const struct bench_pump *pump;
	size_t next;
	size_t *left;
	struct slot *slots;
};

/* One of the requests under way at the same time. */
struct slot {
	struct bench_run *run;
	struct kube_client *client;
	size_t index;
};

int64_t bench_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct sockaddr_in bench_address(const struct bench_options *options)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	const char *colon = strrchr(options->address == NULL ? "" : options->address, ':');

	if (colon == NULL)
		bench_fail("--address: expected 127.0.0.1:PORT");
	address.sin_port = htons((uint16_t)atoi(colon + 1));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

void bench_connect(struct bench_api *api, const struct bench_options *options)
{
	const struct kube_client_options client_options = {.user_agent = "fc-bench/1.0"};
	static struct kube_config config;
	struct error err;

	if (kube_config_load(NULL, options->kubeconfig, NULL, &config, &err) < 0)
		bench_fail("%s", err.message);
	api->loop = ev_default_loop(0);
	api->count = (size_t)options->clients;
	api->clients = mem_calloc(api->count, sizeof(struct kube_client *));
	for (size_t i = 0; i < api->count; i++) {
		api->clients[i] = kube_client_new(api->loop, &config, &client_options, &err);
		if (api->clients[i] == NULL)
			bench_fail("%s", err.message);
	}
}

void bench_disconnect(struct bench_api *api)
{
	for (size_t i = 0; i < api->count; i++)
		kube_client_free(api->clients[i]);
	free(api->clients);
}

void bench_set_rate(const struct bench_api *api, int64_t rate)
{
	for (size_t i = 0; i < api->count; i++)
		kube_client_set_rate(api->clients[i], (double)rate / (double)api->count, 1);
}

static void start_next(struct slot *slot);

static void on_done(void *arg, const struct kube_answer *answer)
{
	struct slot *slot = arg;
	struct bench_run *run = slot->run;

	if (answer->failure != KUBE_OK || answer->http_status / 100 != 2)
		bench_fail("%s", answer->message);
	if (run->pump->done != NULL)
		run->pump->done(run->pump->arg, slot->index, answer);
	if (--*run->left > 0)
		start_next(slot);
	else
		ev_break(run->api->loop, EVBREAK_ONE);
}

static void start_next(struct slot *slot)
{
	struct bench_run *run = slot->run;
	struct kube_request request = {.timeout_ms = REQUEST_TIMEOUT_MS};
	cleanup_buf struct buf path = {0};
	cleanup_buf struct buf body = {0};

	if (run->next == run->pump->count)
		return;
	slot->index = run->next++;
	run->pump->make(run->pump->arg, slot->index, &request, &path, &body);
	request.path = path.data;
	request.body = body.data;
	request.body_len = body.len;
	kube_client_call(slot->client, &request, on_done, slot);
}

struct bench_run *bench_pump_start(struct bench_api *api, const struct bench_pump *pump, size_t *left)
{
	struct bench_run *run = mem_calloc(1, sizeof(*run));

	*left = pump->count;
	run->api = api;
	run->pump = pump;
	run->left = left;
	run->slots = mem_calloc(pump->at_once, sizeof(*run->slots));
	for (size_t i = 0; i < pump->at_once; i++) {
		run->slots[i] = (struct slot){.run = run, .client = api->clients[i % api->count]};
		start_next(&run->slots[i]);
	}
	return run;
}

void bench_pump_free(struct bench_run *run)
{
	free(run->slots);
	free(run);
}

int64_t bench_pump(struct bench_api *api, const struct bench_pump *pump)
{
	int64_t begin_us = bench_now_us();
	struct bench_run *run;
	size_t left;

	run = bench_pump_start(api, pump, &left);
	while (left > 0)
		ev_run(api->loop, EVRUN_ONCE);
	bench_pump_free(run);
	return bench_now_us() - begin_us;
}
