/* The API server's own part of what gangs wait for at fc-barrier: from the answer to the write that completes a gang
 * until a watch shows it to a plain client, and until a GET that this one then sends is answered. */
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/framework/object.h"
#include "common/kube/kubeconfig.h"
#include "common/kube/reflector.h"
#include "tests/bench/tool/bench.h"

enum {
	GET_TIMEOUT_MS = 120 * 1000,
	LOOKS_AT_ONCE = 64, /* as fc-barrier; with HTTP/1.1 a connection each */
};

struct echo {
	struct bench_api api;
	struct bench_gangs gangs;
	struct kube_client *client; /* watches and asks */
	struct item *items;
	size_t left; /* not answered yet */
	bool live;
};

struct item {
	struct echo *echo;
	int64_t seen_us;     /* by the watch */
	int64_t answered_us; /* the GET */
};

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct item *item = arg;

	if (answer->failure != KUBE_OK || answer->http_status != 200)
		bench_fail("%s", answer->message);
	item->answered_us = bench_now_us();
	item->echo->left--;
}

static void look(struct echo *echo, const char *name, struct item *item)
{
	cleanup_free char *path = mem_printf("/apis/frameworkcontroller.microsoft.com/v1/namespaces/%s/frameworks/%s",
					     echo->gangs.options->ns, name);
	const struct kube_request request = {.method = "GET", .path = path, .timeout_ms = GET_TIMEOUT_MS};

	item->seen_us = bench_now_us();
	kube_client_call(echo->client, &request, on_answer, item);
}

static int on_framework(void *arg, const struct reflector_object *object, bool gone, struct error *err)
{
	struct echo *echo = arg;
	const char *prefix = echo->gangs.options->prefix;
	struct object_meta meta;

	if (gone || !echo->gangs.completing)
		return 0;
	if (object_meta_read(object->data, object->len, &meta, err) < 0)
		return -1;
	if (strncmp(meta.name, prefix, strlen(prefix)) == 0) {
		size_t index = strtoul(meta.name + strlen(prefix), NULL, 10);
		struct item *item = &echo->items[index];

		if (index < echo->gangs.count && item->seen_us == 0 &&
		    strcmp(meta.resource_version, echo->gangs.all[index].version) != 0)
			look(echo, meta.name, item);
	}
	object_meta_free(&meta);
	return 0;
}

static void on_live(void *arg, bool live)
{
	((struct echo *)arg)->live = live;
}

static struct reflector *watch(struct echo *echo)
{
	static const struct reflector_handler handler = {
		.raw = on_framework,
		.live = on_live,
	};
	cleanup_free char *path = mem_printf("/apis/frameworkcontroller.microsoft.com/v1/namespaces/%s/frameworks",
					     echo->gangs.options->ns);
	const struct reflector_options options = {.path = path, .what = "Frameworks"};
	struct reflector *reflector = reflector_new(echo->api.loop, echo->client, &options, &handler, echo);

	reflector_start(reflector);
	while (!echo->live)
		ev_run(echo->api.loop, EVRUN_ONCE);
	return reflector;
}

static void connect_client(struct echo *echo, const struct bench_options *options)
{
	const struct kube_client_options client_options = {
		.max_connections = LOOKS_AT_ONCE,
		.user_agent = "fc-bench/1.0",
	};
	static struct kube_config config;
	struct error err;

	if (kube_config_load(NULL, options->kubeconfig, NULL, &config, &err) < 0)
		bench_fail("%s", err.message);
	echo->client = kube_client_new(echo->api.loop, &config, &client_options, &err);
	if (echo->client == NULL)
		bench_fail("%s", err.message);
}

static void make_deletion(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct bench_options *options = ((struct echo *)arg)->gangs.options;

	(void)body;
	request->method = "DELETE";
	buf_printf(path, "/apis/frameworkcontroller.microsoft.com/v1/namespaces/%s/frameworks/%s%zu", options->ns,
		   options->prefix, index);
}

static void delete_all(struct echo *echo)
{
	const struct bench_pump pump = {
		.count = echo->gangs.count,
		.at_once = (size_t)echo->gangs.options->at_once,
		.make = make_deletion,
		.arg = echo,
	};

	bench_pump(&echo->api, &pump);
}

static int64_t since(int64_t us, int64_t begin_us)
{
	return us > begin_us ? us - begin_us : 0;
}

static void print(const struct echo *echo)
{
	size_t count = echo->gangs.count;
	int64_t *seen_us = mem_calloc(count, sizeof(*seen_us));
	int64_t *answered_us = mem_calloc(count, sizeof(*answered_us));
	int64_t last_us = 0;

	for (size_t i = 0; i < count; i++) {
		const struct item *item = &echo->items[i];

		seen_us[i] = since(item->seen_us, echo->gangs.all[i].persisted_us);
		answered_us[i] = since(item->answered_us, echo->gangs.all[i].persisted_us);
		if (item->answered_us > last_us)
			last_us = item->answered_us;
	}
	printf("{\"echo_p50_ms\":%.1f,\"echo_p99_ms\":%.1f,\"echo_get_p50_ms\":%.1f,\"echo_get_p99_ms\":%.1f,"
	       "\"echo_get_last_ms\":%.1f}\n",
	       (double)bench_percentile(seen_us, count, 50) / 1000, (double)bench_percentile(seen_us, count, 99) / 1000,
	       (double)bench_percentile(answered_us, count, 50) / 1000,
	       (double)bench_percentile(answered_us, count, 99) / 1000,
	       (double)since(last_us, bench_gangs_persisted_us(&echo->gangs)) / 1000);
	free(seen_us);
	free(answered_us);
}

int bench_echo(const struct bench_options *options)
{
	struct echo echo = {.left = (size_t)options->frameworks};
	struct reflector *reflector;

	bench_connect(&echo.api, options);
	connect_client(&echo, options);
	bench_gangs_make(&echo.gangs, &echo.api, options);
	echo.items = mem_calloc(echo.gangs.count, sizeof(*echo.items));
	for (size_t i = 0; i < echo.gangs.count; i++)
		echo.items[i].echo = &echo;
	reflector = watch(&echo);
	bench_gangs_complete(&echo.gangs);
	while (echo.left > 0)
		ev_run(echo.api.loop, EVRUN_ONCE);
	print(&echo);
	delete_all(&echo);
	reflector_free(reflector);
	kube_client_free(echo.client);
	free(echo.items);
	bench_gangs_free(&echo.gangs);
	bench_disconnect(&echo.api);
	return 0;
}
