/* The reconciler's shell in a world that is a clock, a lease and a list of the requests that wait for their answers.
 * Shared by the tests test_reconciler_*.c. */
#ifndef TESTS_RECONCILER_WORLD_H
#define TESTS_RECONCILER_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/framework/failure_spec.h"
#include "common/kube/client/answer.h"
#include "reconciler/events.h"
#include "reconciler/reconciler.h"

enum { SHARD = 3, SHARDS = 8, CALLS_MAX = 8, REQUESTS_MAX = 256 };

struct request {
	char *line; /* method and path */
	char *body;
	kube_done *done;
	void *arg;
	bool (*before_send)(void *arg, int64_t *timeout_ms);
	bool waits_behind_all; /* for the rate limit */
	bool low_priority;
};

struct world {
	struct reconciler reconciler;
	struct failure_spec failures;
	int64_t now_ms;
	int64_t lease_ms;
	int64_t request_ms;                 /* what a reconcile takes that sends one */
	int requests;                       /* so far */
	struct request calls[REQUESTS_MAX]; /* not answered yet, the oldest first */
	size_t call_count;
	char last[512]; /* method, path and body of the last one */
};

static inline struct kube_call *world_request(void *context, const struct kube_request *request, kube_done *done,
					      void *arg)
{
	struct world *world = context;
	struct request *call = &world->calls[world->call_count];

	assert_true(world->call_count < REQUESTS_MAX);
	*call = (struct request){
		.line = mem_printf("%s %s", request->method, request->path),
		.body = mem_strndup(request->body_len == 0 ? "" : request->body, request->body_len),
		.done = done,
		.arg = arg,
		.before_send = request->before_send,
		.waits_behind_all = request->last,
		.low_priority = request->low_priority,
	};
	world->call_count++;
	world->requests++;
	world->now_ms += world->request_ms;
	snprintf(world->last, sizeof(world->last), "%s %s", call->line, call->body);
	return NULL;
}

static inline int64_t world_lease_left_ms(void *context, uint32_t shard)
{
	const struct world *world = context;

	assert_in_range(shard, SHARD, SHARDS - 1);
	return world->lease_ms;
}

static inline int64_t world_boot_ms(void *context)
{
	return ((const struct world *)context)->now_ms;
}

static inline int64_t world_wall_ms(void *context)
{
	return INT64_C(1700000000000) + world_boot_ms(context);
}

/* The call is answered so, and forgotten. */
static inline void world_answer_with(struct world *world, size_t at, const struct kube_answer *answer)
{
	struct request call = world->calls[at];

	world->call_count--;
	memmove(&world->calls[at], &world->calls[at + 1], (world->call_count - at) * sizeof(call));
	call.done(call.arg, answer);
	free(call.line);
	free(call.body);
}

static inline void world_answer(struct world *world, size_t at, int http_status, const char *body)
{
	struct kube_answer answer = {.http_status = http_status,
				     .retry_after_ms = -1,
				     .sent = true,
				     .body = body,
				     .body_len = strlen(body),
				     .status = {.reason = "", .message = ""},
				     .message = http_status / 100 == 2 ? "" : "no"};
	json_t *keep = NULL;

	if (http_status >= 400)
		answer_read_status(&answer, strchr(world->calls[at].line, ' ') + 1, &keep);
	world_answer_with(world, at, &answer);
	json_decref(keep);
}

/* As the API server says that an object of the name is not there. */
static inline void world_answer_absent(struct world *world, size_t at, const char *name)
{
	cleanup_free char *body = mem_printf(
		"{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{\"name\":\"%s\"}}", name);

	world_answer(world, at, 404, body);
}

static inline void run_all(struct world *world)
{
	while (reconciler_run(&world->reconciler))
		;
}

/* An empty shard is granted, and shown. */
static inline void world_grant(struct world *world, uint32_t shard)
{
	struct bus_scope scope = {.ns = (char *)"", .resource_version = {(char *)"1", (char *)"1", (char *)"1"}};
	struct bus_snapshot_end end = {.scopes = &scope, .scope_count = 1};

	shard_set_add(&end.shards, shard);
	store_granted(&world->reconciler, &end.shards);
	store_complete(&world->reconciler, &end);
}

static inline int world_set_up(void **state)
{
	struct world *world = mem_calloc(1, sizeof(*world));

	world->now_ms = 1000;
	world->reconciler.ports = (struct reconciler_ports){.context = world,
							    .request = world_request,
							    .lease_left_ms = world_lease_left_ms,
							    .boot_ms = world_boot_ms,
							    .wall_ms = world_wall_ms};
	world->reconciler.config = (struct sync_config){.failures = &world->failures, .creation_timeout_sec = 300};
	discovery_init(&world->reconciler);
	world->reconciler.name = "m";
	world->reconciler.shard_count = SHARDS;
	world->reconciler.calls_max = CALLS_MAX;
	world->reconciler.rest_ms = REST_MS;
	random_init_seed(&world->reconciler.random, 1);
	world->reconciler.events = events_new(&world->reconciler);
	*state = world;
	return 0;
}

static inline int world_tear_down(void **state)
{
	struct world *world = *state;
	const struct kube_answer cancelled = {
		.failure = KUBE_CANCELLED, .body = "", .status = {.reason = "", .message = ""}, .message = ""};

	waiting_abandon_all(&world->reconciler);
	while (world->call_count > 0)
		world_answer_with(world, 0, &cancelled);
	store_free(&world->reconciler);
	events_free(world->reconciler.events);
	free(world);
	return 0;
}

#endif
