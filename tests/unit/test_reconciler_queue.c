/* The reconciler's shell around a lease that comes and goes: rounds run only under one. The world is a clock, a lease
 * and a list of what was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "common/framework/failure_spec.h"
#include "reconciler/events.h"
#include "reconciler/reconciler.h"

enum { RANGE = 3, SHARDS = 8, CALLS_MAX = 8 };

struct world {
	struct reconciler reconciler;
	struct failure_spec failures;
	int64_t now_ms;
	int64_t lease_ms;
	int requests;
	struct {
		kube_done *done;
		void *arg;
		bool (*before_send)(void *arg, int64_t *timeout_ms);
	} calls[CALLS_MAX];
	size_t call_count;
	char last[512]; /* method, path and body of the last one */
};

static struct kube_call *request(void *context, const struct kube_request *request, kube_done *done, void *arg)
{
	struct world *world = context;

	assert_true(world->call_count < CALLS_MAX);
	world->calls[world->call_count].done = done;
	world->calls[world->call_count].arg = arg;
	world->calls[world->call_count++].before_send = request->before_send;
	world->requests++;
	snprintf(world->last, sizeof(world->last), "%s %s %.*s", request->method, request->path, (int)request->body_len,
		 request->body_len == 0 ? "" : (const char *)request->body);
	return NULL;
}

static int64_t lease_left_ms(void *context, uint32_t range)
{
	const struct world *world = context;

	assert_int_equal(range, RANGE);
	return world->lease_ms;
}

static int64_t boot_ms(void *context)
{
	return ((const struct world *)context)->now_ms;
}

static int64_t wall_ms(void *context)
{
	return INT64_C(1700000000000) + boot_ms(context);
}

/* As the client does it: the hook is asked when the request is about to go; here none is ever answered but refused. */
static void send_all(struct world *world)
{
	size_t count = world->call_count;
	struct kube_answer refused = {
		.failure = KUBE_REFUSED, .body = "", .status = {.reason = "", .message = ""}, .message = ""};

	for (size_t i = 0; i < count; i++) {
		int64_t timeout_ms = 1000;

		assert_false(world->calls[i].before_send(world->calls[i].arg, &timeout_ms));
		world->calls[i].done(world->calls[i].arg, &refused);
	}
	world->call_count = 0;
}

static void run_all(struct world *world)
{
	while (queue_run(&world->reconciler))
		;
}

/* A Framework in namespace ns, shown by a watcher that looks after `watched`. */
static void show_framework_in(struct world *world, const char *watched)
{
	static const char text[] = "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"f\",\"uid\":\"u1\","
				   "\"resourceVersion\":\"7\",\"generation\":1},\"spec\":{\"executionType\":\"Start\","
				   "\"taskRoles\":[]}}";
	struct error err;
	cleanup_json json_t *object = json_parse(text, sizeof(text) - 1, &err);
	struct bus_scope scope = {.ns = (char *)watched, .resource_version = {(char *)"8", (char *)"8", (char *)"8"}};
	struct bus_snapshot_end end = {.scopes = &scope, .scope_count = 1};
	struct range_set fresh = {0};

	range_set_add(&fresh, RANGE);
	end.ranges = fresh;
	store_granted(&world->reconciler, &fresh);
	store_object(&world->reconciler, KIND_FRAMEWORK, RANGE, object);
	store_complete(&world->reconciler, &end);
}

static void show_framework(struct world *world)
{
	show_framework_in(world, "");
}

static int set_up(void **state)
{
	struct world *world = mem_calloc(1, sizeof(*world));

	world->now_ms = 1000;
	world->reconciler.ports = (struct reconciler_ports){.context = world,
							    .request = request,
							    .lease_left_ms = lease_left_ms,
							    .boot_ms = boot_ms,
							    .wall_ms = wall_ms};
	world->reconciler.config = (struct sync_config){.failures = &world->failures, .creation_timeout_sec = 300};
	world->reconciler.name = "m";
	world->reconciler.shards = SHARDS;
	world->reconciler.calls_max = CALLS_MAX;
	random_init_seed(&world->reconciler.random, 1);
	world->reconciler.events = events_new(&world->reconciler);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;
	const struct kube_answer cancelled = {
		.failure = KUBE_CANCELLED, .body = "", .status = {.reason = "", .message = ""}, .message = ""};

	apply_stop(&world->reconciler);
	for (size_t i = 0; i < world->call_count; i++)
		world->calls[i].done(world->calls[i].arg, &cancelled);
	store_free(&world->reconciler);
	events_free(world->reconciler.events);
	free(world);
	return 0;
}

/* Granted ranges have no lease before the first answer to a ping: writes that are refused at the door one after the
 * other, as quickly as the loop can, bring nothing forward. */
static void no_lease_no_rounds(void **state)
{
	struct world *world = *state;

	show_framework(world);
	for (int i = 0; i < 100; i++) {
		run_all(world);
		send_all(world);
	}
	assert_in_range(world->requests, 0, 1);
	world->lease_ms = 5000;
	run_all(world);
	assert_int_equal(world->call_count, 1);
}

/* A lease that ends between the round and its write: the key waits for the next one. */
static void lease_ends_before_the_write(void **state)
{
	struct world *world = *state;

	world->lease_ms = 5000;
	show_framework(world);
	run_all(world);
	assert_int_equal(world->call_count, 1);
	world->lease_ms = 0;
	for (int i = 0; i < 100; i++) {
		send_all(world);
		run_all(world);
	}
	assert_int_equal(world->requests, 1);
	world->lease_ms = 5000;
	run_all(world);
	assert_int_equal(world->requests, 2);
}

/* What was put aside for want of a lease goes with its range; the range's next snapshot brings it back. */
static void revoked_while_waiting(void **state)
{
	struct world *world = *state;
	struct range_set ranges = {0};

	range_set_add(&ranges, RANGE);
	show_framework(world);
	run_all(world);
	send_all(world);
	store_revoked(&world->reconciler, &ranges);
	world->lease_ms = 5000;
	run_all(world);
	assert_int_equal(world->call_count, 0);
	show_framework(world);
	run_all(world);
	assert_int_equal(world->call_count, 1);
}

/* A watcher that looks after fewer namespaces than the one before: what it does not watch is left alone. */
static void namespace_no_longer_watched(void **state)
{
	struct world *world = *state;

	world->lease_ms = 5000;
	show_framework_in(world, "other");
	run_all(world);
	assert_int_equal(world->call_count, 0);
	assert_null(world->reconciler.items);
	assert_null(world->reconciler.orphans);
	show_framework_in(world, "ns");
	run_all(world);
	assert_int_equal(world->call_count, 1);
}

/* Another Framework of the name is there. */
static void show_namesake(struct world *world, const char *uid, const char *version)
{
	cleanup_free char *text = mem_printf(
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"f\",\"uid\":\"%s\","
		"\"resourceVersion\":\"%s\",\"generation\":1},\"spec\":{\"executionType\":\"Start\","
		"\"taskRoles\":[]}}",
		uid, version);

	assert_true(store_text(&world->reconciler, KIND_FRAMEWORK, RANGE, text, strlen(text)));
}

static void show_absent(struct world *world, const char *uid, const char *version)
{
	const struct bus_absent absent = {.ns = (char *)"ns",
					  .framework_name = (char *)"f",
					  .name = (char *)"f",
					  .uid = (char *)uid,
					  .resource_version = (char *)version};

	store_absent(&world->reconciler, KIND_FRAMEWORK, RANGE, &absent);
}

/* The only call that is on its way is answered so. */
static void answer(struct world *world, int http_status, int64_t retry_after_ms)
{
	const struct kube_answer answer = {.http_status = http_status,
					   .retry_after_ms = retry_after_ms,
					   .sent = true,
					   .body = "",
					   .status = {.reason = "", .message = "no"},
					   .message = "no"};

	assert_int_equal(world->call_count, 1);
	world->call_count = 0;
	world->calls[0].done(world->calls[0].arg, &answer);
}

/* Retry-After outlives the Framework whose write was answered so: a namesake is another object for the same server.
 * When it is over, nothing is kept. (It was forgotten with the Framework; simulator seeds 23659, 34970.) */
static void asked_to_wait(void **state)
{
	struct world *world = *state;

	world->lease_ms = 5000;
	show_framework(world);
	run_all(world);
	answer(world, 429, 10000);
	show_absent(world, "u1", "8");
	run_all(world);
	show_namesake(world, "u2", "9");
	world->now_ms += 9999;
	run_all(world);
	assert_int_equal(world->call_count, 0);
	show_absent(world, "u2", "10");
	assert_non_null(world->reconciler.items);
	world->now_ms += 1;
	run_all(world);
	assert_null(world->reconciler.items);
}

/* A write failed, and it is being read what became of it, when the Framework goes and a namesake comes: that the first
 * is not there is no news of the second. (That one was forgotten; simulator seed 99018.) */
static void not_found_of_the_former(void **state)
{
	struct world *world = *state;

	world->lease_ms = 5000;
	show_framework(world);
	run_all(world);
	answer(world, 504, -1);
	world->now_ms += 1000;
	run_all(world);
	show_absent(world, "u1", "8");
	show_namesake(world, "u2", "9");
	answer(world, 404, -1);
	world->now_ms += 1000;
	run_all(world);
	assert_int_equal(world->call_count, 1);
	assert_string_equal(world->reconciler.items->framework->uid, "u2");
}

/* A watch that lags behind shows namesakes of before, when a GET has shown the present one already: its status would be
 * forgotten, and begun anew. */
static void former_namesakes(void **state)
{
	struct world *world = *state;

	show_framework(world);
	show_namesake(world, "u0", "5");
	assert_string_equal(world->reconciler.items->framework->uid, "u1");
	show_absent(world, "u0", "6");
	assert_true(world->reconciler.items->framework->exists);
	show_namesake(world, "u2", "9");
	assert_string_equal(world->reconciler.items->framework->uid, "u2");
}

/* What repeats itself too quickly to be written each time is counted, and the count written in the end, with the time
 * of the last repetition. */
static void repetitions_are_told(void **state)
{
	struct world *world = *state;
	struct plan_event event = {true, "FailedCreatePod", "no"};
	struct framework framework = {
		.ns = (char *)"ns", .name = (char *)"f", .uid = (char *)"u1", .resource_version = (char *)"7"};
	struct events *events = world->reconciler.events;

	assert_true(events_run(events) == INT64_MAX);
	events_post(events, &framework, &event);
	assert_memory_equal(world->last, "POST /api/v1/namespaces/ns/events ", 34);
	world->now_ms += 1000;
	events_post(events, &framework, &event);
	world->now_ms += 2000;
	events_post(events, &framework, &event);
	assert_int_equal(world->requests, 1);
	assert_int_equal(events_run(events), 11000);
	world->now_ms = 11000;
	assert_true(events_run(events) == INT64_MAX);
	assert_int_equal(world->requests, 2);
	assert_memory_equal(world->last, "PATCH /api/v1/namespaces/ns/events/f.", 37);
	assert_non_null(strstr(world->last, "{\"count\":3,\"lastTimestamp\":\"2023-11-14T22:13:24Z\"}"));
	/* Later than that it is written at once, and nothing is owed. */
	world->now_ms += 20000;
	events_post(events, &framework, &event);
	assert_non_null(strstr(world->last, "{\"count\":4,"));
	assert_true(events_run(events) == INT64_MAX);
	assert_int_equal(world->requests, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_lease_no_rounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lease_ends_before_the_write, set_up, tear_down),
		cmocka_unit_test_setup_teardown(revoked_while_waiting, set_up, tear_down),
		cmocka_unit_test_setup_teardown(namespace_no_longer_watched, set_up, tear_down),
		cmocka_unit_test_setup_teardown(asked_to_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(not_found_of_the_former, set_up, tear_down),
		cmocka_unit_test_setup_teardown(former_namesakes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(repetitions_are_told, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
