/* Which kinds of objects the API server serves: asked once for all Frameworks, and again after a while (CONTRACT.md
 * §12.23). */
#include "tests/unit/reconciler_calls.h"

static const char discovery[] = "GET /apis/scheduling.volcano.sh/v1beta1";
static const char groups[] = "POST /apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups";

static void show_gang(struct world *world, const char *name)
{
	cleanup_free char *text = mem_printf(
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"7\","
		"\"generation\":1},\"spec\":{\"gang\":{\"scheduler\":\"Volcano\"},\"taskRoles\":[{\"name\":\"a\","
		"\"taskNumber\":1,\"task\":{\"pod\":{\"spec\":{\"containers\":[]}}}}]}}",
		name, name);

	assert_true(store_text(&world->reconciler, KIND_FRAMEWORK, SHARD, text, strlen(text)));
}

static void answer_all_but(struct world *world, const char *line)
{
	for (size_t at = 0; at < world->call_count;) {
		if (strcmp(world->calls[at].line, line) == 0) {
			at++;
			continue;
		}
		answer_done(world, at);
		run_all(world);
		at = 0;
	}
}

static void begin(struct world *world)
{
	world->lease_ms = 5000;
	world_grant(world, SHARD);
	show_gang(world, "f");
	show_gang(world, "g");
	run_all(world);
	answer_all_but(world, discovery);
	assert_int_equal(world->call_count, 1);
}

/* After so long whoever waits looks again. */
static void pass(struct world *world, int64_t ms)
{
	world->now_ms += ms;
	run_all(world);
	answer_all_but(world, discovery);
}

static void asked_once(void **state)
{
	struct world *world = *state;

	begin(world);
	world_answer(world, 0, 200, "{\"resources\":[{\"name\":\"podgroups/status\"},{\"name\":\"podgroups\"}]}");
	run_all(world);
	assert_true(find_call(world, groups) < world->call_count);
	answer_all_but(world, groups);
	assert_int_equal(world->call_count, 2); /* of both Frameworks */
	answer_all_but(world, discovery);
	/* it is known for a minute */
	pass(world, 59 * 1000);
	show_gang(world, "h");
	pass(world, 500);
	assert_int_equal(world->call_count, 0);
	pass(world, 1000);
	show_gang(world, "i");
	pass(world, 1000);
	assert_int_equal(world->call_count, 1);
	assert_string_equal(world->calls[0].line, discovery);
}

/* What other answers mean, and when it is asked again. */
static void answers(void **state)
{
	static const struct {
		int http_status;
		const char *body;
		int64_t again_ms;
	} cases[] = {
		{404, "404 page not found", 60000},
		{200, "{\"resources\":[{\"name\":\"queues\"}]}", 60000}, /* the group, and not the kind */
		{200, "{}", 60000},
		{503, "", 5000}, /* nobody knows */
		{503, "", 10000},
		{403, "", 20000},
		{403, "", 40000},
		{503, "", 60000},
		{503, "", 60000},
	};
	struct world *world = *state;

	begin(world);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		world_answer(world, 0, cases[i].http_status, cases[i].body);
		run_all(world);
		answer_all_but(world, discovery);
		assert_int_equal(world->call_count, 0);
		pass(world, cases[i].again_ms - 1);
		assert_int_equal(world->call_count, 0);
		pass(world, 1);
		assert_int_equal(world->call_count, 1);
		assert_string_equal(world->calls[0].line, discovery);
	}
}

/* What does not pass by itself is told to those who wait: a right that is missing at once. */
static void trouble(void **state)
{
	static const struct {
		int http_status;
		bool told;
	} cases[] = {{503, false}, {503, false}, {503, true}, {200, false}, {403, true}, {503, false}, {503, true}};
	struct world *world = *state;
	const struct api_served *served = &world->reconciler.served[API_POD_GROUPS_VOLCANO];

	begin(world);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		world_answer(world, 0, cases[i].http_status, "");
		run_all(world);
		assert_int_equal(served->trouble[0] != '\0', cases[i].told);
		if (cases[i].http_status == 403)
			assert_non_null(strstr(served->trouble,
					       ". The ServiceAccount of the controller lacks the right to discovery, "
					       "which the ClusterRole system:discovery has: bind that to it"));
		answer_all_but(world, discovery);
		pass(world, 60 * 1000);
		assert_int_equal(world->call_count, 1);
	}
}

/* Who asked to be left alone is. */
static void retry_after(void **state)
{
	const struct kube_answer busy = {.http_status = 429,
					 .retry_after_ms = 20000,
					 .sent = true,
					 .body = "",
					 .status = {.reason = "", .message = ""},
					 .message = "busy"};
	struct world *world = *state;

	begin(world);
	world_answer_with(world, 0, &busy);
	pass(world, 19999);
	assert_int_equal(world->call_count, 0);
	pass(world, 1);
	assert_int_equal(world->call_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(asked_once, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(answers, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(trouble, world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(retry_after, world_set_up, world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
