/* Resource quantities, and what the Pods of a template ask for in all. */
#include "common/base/quantity.h"

#include "common/framework/requests.h"
#include "tests/unit/sync_world.h"

static void test_read(void **state)
{
	static const char *const cases[][2] = {
		{"0", "0"},
		{"1", "1"},
		{"500m", "500m"},
		{"0.5", "500m"},
		{".5", "500m"},
		{"5.", "5"},
		{"1.5", "1500m"},
		{"1k", "1000"},
		{"2M", "2000000"},
		{"1Ki", "1024"},
		{"1.5Gi", "1610612736"},
		{"0.1Ki", "102400m"},
		{"1e3", "1000"},
		{"1E3", "1000"},
		{"2E", "2000000000000000000"},
		{"15e-1", "1500m"},
		{"1e-3", "1m"},
		{"7u", "7u"},
		{"7n", "7n"},
		{"1.0000000001n", "2n"}, /* finer than the API server keeps: rounded up */
		{"0.1n", "1n"},
		{"-3", "-3"},
		{"+3", "3"},
		{"100E", "9223372036854775807"}, /* larger than it keeps */
		{"1e999999999", "9223372036854775807"},
		{"9999999999999999999999999999999999999999", "9223372036854775807"},
		{"16Ei", "9223372036854775807"},
		{"0e999999999", "0"},
		{"1e-999999999", "1n"},
		{"1000", "1000"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_buf struct buf text = {0};
		cleanup_free char *expected = mem_printf("\"%s\"", cases[i][1]);
		struct quantity quantity;

		if (quantity_parse(cases[i][0], &quantity) < 0)
			fail_msg("%s is refused", cases[i][0]);
		quantity_write(&text, &quantity);
		assert_string_equal(text.data, expected);
	}
}

static void test_refused(void **state)
{
	static const char *const cases[] = {"",
					    ".",
					    "-",
					    "m",
					    "1x",
					    "1 ",
					    " 1",
					    "1..2",
					    "1.2.3",
					    "1Kii",
					    "1ki",
					    "1Mm",
					    "1e",
					    "1e+",
					    "1e1.5",
					    "--1",
					    "0x10",
					    "1mi",
					    "one",
					    "1e 3",
					    "1e-",
					    "1,5",
					    "{{FC_TASK_INDEX}}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct quantity quantity;

		if (quantity_parse(cases[i], &quantity) == 0)
			fail_msg("%s is read", cases[i]);
	}
}

/* No sum loses anything. */
static void test_added(void **state)
{
	cleanup_buf struct buf text = {0};
	struct quantity sum = {0};
	struct quantity large;
	struct quantity small;

	(void)state;
	assert_int_equal(quantity_parse("8E", &large), 0);
	assert_int_equal(quantity_parse("1n", &small), 0);
	quantity_add_times(&sum, &large, 10000);
	quantity_add_times(&sum, &small, 1);
	quantity_write(&text, &sum);
	assert_string_equal(text.data, "\"80000000000000000000000000000001n\"");
	assert_true(quantity_less(&small, &large));
	assert_false(quantity_less(&small, &small));
}

static void assert_requests(const char *pod_spec, const char *expected)
{
	cleanup_json json_t *spec = json_of(pod_spec);
	cleanup_json json_t *found = NULL;
	cleanup_buf struct buf text = {0};
	struct requests requests = {0};

	requests_of_pod(spec, &requests);
	requests_write(&text, &requests);
	requests_free(&requests);
	found = json_parse(text.data, text.len, NULL);
	assert_json(found, expected);
}

static void test_requests(void **state)
{
	(void)state;
	assert_requests("{}", "{}");
	assert_requests("{'containers':[{'resources':{'requests':{'cpu':'500m','memory':'1Gi'}}},"
			"{'resources':{'requests':{'cpu':1}}}]}",
			"{'cpu':'1500m','memory':'1073741824'}");
	/* a limit is a request where there is none */
	assert_requests(
		"{'containers':[{'resources':{'requests':{'cpu':'1'},'limits':{'cpu':'2','nvidia.com/gpu':8}}}]}",
		"{'cpu':'1','nvidia.com/gpu':'8'}");
	/* init containers run one after another, before the others */
	assert_requests(
		"{'initContainers':[{'resources':{'requests':{'cpu':'3'}}},{'resources':{'requests':{'cpu':'2'}}}],"
		"'containers':[{'resources':{'requests':{'cpu':'1','memory':'5'}}}]}",
		"{'cpu':'3','memory':'5'}");
	/* but for those that go on */
	assert_requests(
		"{'initContainers':[{'restartPolicy':'Always','resources':{'requests':{'cpu':'3'}}},"
		"{'resources':{'requests':{'cpu':'2'}}}],'containers':[{'resources':{'requests':{'cpu':'1'}}}]}",
		"{'cpu':'5'}");
	assert_requests("{'initContainers':[{'restartPolicy':'Always','resources':{'requests':{'cpu':'3'}}}],"
			"'containers':[{'resources':{'requests':{'cpu':'1'}}}],'overhead':{'cpu':'100m'}}",
			"{'cpu':'4100m'}");
	/* a sidecar counts beside those that follow it, not beside those before it */
	assert_requests(
		"{'initContainers':[{'resources':{'requests':{'cpu':'4'}}},{'restartPolicy':'Always','resources':"
		"{'requests':{'cpu':'2'}}}],'containers':[{'resources':{'requests':{'cpu':'1'}}}]}",
		"{'cpu':'4'}");
	/* what the API server refuses counts for nothing */
	assert_requests("{'containers':[{'resources':{'requests':{'cpu':'much','memory':'1'}}},7],'initContainers':{}}",
			"{'memory':'1'}");
}

/* What the Pod as a whole asks for, as the API server completes it and resource.PodRequests counts it. */
static void test_requests_of_pods(void **state)
{
	(void)state;
	/* a request replaces the sum of the containers', init containers' and sidecars', and only for that resource */
	assert_requests("{'resources':{'requests':{'cpu':'7'}},'containers':[{'resources':{'requests':{'cpu':'1',"
			"'memory':'2'}}},{'resources':{'requests':{'cpu':'1'}}}]}",
			"{'cpu':'7','memory':'2'}");
	assert_requests("{'resources':{'requests':{'cpu':'1'}},'initContainers':[{'restartPolicy':'Always','resources':"
			"{'requests':{'cpu':'3'}}},{'resources':{'requests':{'cpu':'9'}}}],'containers':[{}]}",
			"{'cpu':'1'}");
	/* the overhead comes on top of it */
	assert_requests(
		"{'resources':{'requests':{'cpu':'7'}},'overhead':{'cpu':'100m','memory':'1'},'containers':[{}]}",
		"{'cpu':'7100m','memory':'1'}");
	/* a limit is a request only where neither the Pod nor a container asks for the resource */
	assert_requests("{'resources':{'limits':{'cpu':'7','memory':'8'}},'containers':[{'resources':{'requests':"
			"{'cpu':'1'}}}]}",
			"{'cpu':'1','memory':'8'}");
	assert_requests("{'resources':{'limits':{'cpu':'7'},'requests':{'cpu':'5'}},'containers':[{}]}", "{'cpu':'5'}");
	/* containers ask for what they have as a limit, and so do init containers */
	assert_requests("{'resources':{'limits':{'cpu':'7'}},'containers':[{'resources':{'limits':{'cpu':'2'}}}]}",
			"{'cpu':'2'}");
	assert_requests(
		"{'resources':{'limits':{'cpu':'7'}},'containers':[{}],'initContainers':[{'resources':{'requests':"
		"{'cpu':'0'}}}]}",
		"{'cpu':'0'}");
	/* of hugepages, limit and request are one */
	assert_requests("{'resources':{'limits':{'hugepages-2Mi':'8'}},'containers':[{'resources':{'limits':"
			"{'hugepages-2Mi':'4'}}}]}",
			"{'hugepages-2Mi':'8'}");
	/* other resources are none of the Pod as a whole */
	assert_requests(
		"{'resources':{'limits':{'nvidia.com/gpu':8},'requests':{'ephemeral-storage':'1'}},'containers':"
		"[{'resources':{'limits':{'nvidia.com/gpu':1}}}]}",
		"{'nvidia.com/gpu':'1'}");
	assert_requests(
		"{'resources':{'requests':{'cpu':'much'}},'containers':[{'resources':{'requests':{'cpu':'1'}}}]}",
		"{'cpu':'1'}");
}

/* Resources of more names than a Pod has: they cost no time that others would notice, and leave those before them
 * whole. */
static void test_many_names(void **state)
{
	cleanup_json json_t *limits = json_pack("{s:s}", "cpu", "1");
	cleanup_json json_t *spec = json_pack("{s:[{s:{s:O}}]}", "containers", "resources", "limits", limits);
	struct requests requests = {0};

	(void)state;
	for (int i = 0; i < 40000; i++) {
		cleanup_free char *name = mem_printf("x.y/%d", i);

		json_object_set_new(limits, name, json_integer(1));
	}
	requests_of_pod(spec, &requests);
	assert_int_equal(requests.count, REQUESTS_MAX);
	assert_string_equal(requests.items[0].name, "cpu");
	requests_free(&requests);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_requests_of_pods),
		cmocka_unit_test(test_many_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
