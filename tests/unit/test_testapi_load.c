/* Objects that the test API server loads from a file, and lists and watches of many. */
#include <unistd.h>

#include "tests/cluster/testapi/load.h"
#include "tests/unit/testapi_fixture.h"

static void write_file(char path[], const char *text)
{
	int file = mkstemp(path);
	ssize_t len = (ssize_t)strlen(text);

	assert_true(file >= 0);
	assert_int_equal(write(file, text, (size_t)len), len);
	close(file);
}

/* As they are: uid and status, in whichever order their members are. */
static void test_load(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/fc-load.XXXXXX";
	cleanup_free char *body = NULL;

	write_file(
		path,
		"{\"metadata\":{\"namespace\":\"default\",\"name\":\"f\",\"uid\":\"u1\",\"generation\":7},\"kind\":"
		"\"Framework\",\"apiVersion\":\"frameworkcontroller.microsoft.com/v1\",\"spec\":{},\"status\":{"
		"\"state\":\"AttemptRunning\"}}\n"
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"default\",\"name\":\"c\","
		"\"uid\":\"u2\",\"ownerReferences\":[{\"apiVersion\":\"frameworkcontroller.microsoft.com/v1\","
		"\"kind\":\"Framework\",\"name\":\"f\",\"uid\":\"u1\"}]}}\n");
	body = mem_printf("{\"file\":\"%s\"}", path);
	expect_call(f, 200, "POST", "/fc-testapi/objects", body);
	assert_int_equal(json_integer_value(json_object_get(f->body, "objects")), 2);
	expect_call(f, 200, "GET", FW "/namespaces/default/frameworks/f", NULL);
	assert_string_equal(at(f, "metadata.uid"), "u1");
	assert_string_equal(at(f, "status.state"), "AttemptRunning");
	assert_string_not_equal(at(f, "metadata.resourceVersion"), "");
	expect_call(f, 200, "GET", FW "/namespaces/default/frameworks", NULL);
	assert_string_equal(at(f, "items.0.metadata.name"), "f");
	/* the collector knows whose they are */
	expect_call(f, 200, "DELETE", FW "/namespaces/default/frameworks/f", NULL);
	settle(f);
	expect_call(f, 404, "GET", NS "/configmaps/c", NULL);
	unlink(path);
}

static void test_refused(void **state)
{
	static const char *const cases[][2] = {
		{"{}", "line 1: apiVersion and kind"},
		{"{\"apiVersion\":\"v1\",\"kind\":\"Unheard\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}",
		 "are v1 and Unheard, expected those of a served resource"},
		{"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}",
		 "line 1: metadata has no name or no uid"},
		{"{", "line 1: "},
	};
	struct fixture *f = *state;
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char path[] = "/tmp/fc-load.XXXXXX";

		write_file(path, cases[i][0]);
		assert_int_equal(api_load(f->api, path, &err), -1);
		if (strstr(err.message, cases[i][1]) == NULL)
			fail_msg("found \"%s\", expected \"%s\"", err.message, cases[i][1]);
		unlink(path);
	}
	assert_int_equal(api_load(f->api, "/nowhere", &err), -1);
	expect_call(f, 400, "POST", "/fc-testapi/objects", "{}");
	expect_call(f, 400, "POST", "/fc-testapi/objects", "{\"file\":\"/nowhere\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_load, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
