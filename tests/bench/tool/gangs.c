/* Gangs that are one IP short, and then complete; see bench.h. */
#include <stdlib.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/bench/tool/bench.h"

static void make_framework(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct bench_gangs *gangs = arg;

	request->method = "POST";
	buf_printf(path, "/apis/frameworkcontroller.microsoft.com/v1/namespaces/%s/frameworks", gangs->options->ns);
	bench_framework(body, gangs->options, index);
}

static void make_status(void *arg, size_t index, struct kube_request *request, struct buf *path, struct buf *body)
{
	const struct bench_gangs *gangs = arg;
	const struct bench_options *options = gangs->options;

	request->method = "PUT";
	buf_printf(path, "/apis/frameworkcontroller.microsoft.com/v1/namespaces/%s/frameworks/%s%zu/status",
		   options->ns, options->prefix, index);
	bench_status_update(body, options, index, gangs->all[index].uid, gangs->all[index].version, gangs->completing);
}

static void on_answer(void *arg, size_t index, const struct kube_answer *answer)
{
	struct bench_gangs *gangs = arg;
	struct bench_gang *gang = &gangs->all[index];
	cleanup_json json_t *object = NULL;
	struct error err;

	if (gangs->completing) {
		gang->persisted_us = bench_now_us();
		return;
	}
	object = json_parse(answer->body, answer->body_len, &err);
	mem_replace(&gang->uid, json_str(json_object_get(object, "metadata"), "uid"));
	mem_replace(&gang->version, json_str(json_object_get(object, "metadata"), "resourceVersion"));
}

static void pump(struct bench_gangs *gangs, void (*make)(void *arg, size_t index, struct kube_request *request,
							 struct buf *path, struct buf *body))
{
	const struct bench_pump pump = {
		.count = gangs->count,
		.at_once = (size_t)gangs->options->at_once,
		.make = make,
		.done = on_answer,
		.arg = gangs,
	};

	bench_pump(gangs->api, &pump);
}

void bench_gangs_make(struct bench_gangs *gangs, struct bench_api *api, const struct bench_options *options)
{
	*gangs = (struct bench_gangs){.options = options, .api = api, .count = (size_t)options->frameworks};
	gangs->all = mem_calloc(gangs->count, sizeof(*gangs->all));
	pump(gangs, make_framework);
	pump(gangs, make_status);
}

void bench_gangs_complete(struct bench_gangs *gangs)
{
	gangs->completing = true;
	bench_set_rate(gangs->api, gangs->options->rate);
	pump(gangs, make_status);
	bench_set_rate(gangs->api, 0);
}

int64_t bench_gangs_persisted_us(const struct bench_gangs *gangs)
{
	int64_t last_us = 0;

	for (size_t i = 0; i < gangs->count; i++)
		if (gangs->all[i].persisted_us > last_us)
			last_us = gangs->all[i].persisted_us;
	return last_us;
}

void bench_gangs_free(struct bench_gangs *gangs)
{
	for (size_t i = 0; i < gangs->count; i++) {
		free(gangs->all[i].uid);
		free(gangs->all[i].version);
	}
	free(gangs->all);
}
