/* The test API server's writes: clients of a real API server rely on their rules, down to the texts. */
#include "tests/unit/testapi_paths.h"

static void create_fills_in(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 201, "POST", FWS, FW_ONE);
	assert_string_equal(at(f, "metadata.namespace"), "default");
	assert_string_not_equal(at(f, "metadata.uid"), "");
	assert_string_not_equal(at(f, "metadata.creationTimestamp"), "");
	assert_int_equal(json_int(json_object_get(f->body, "metadata"), "generation", 0), 1);
	assert_string_equal(at(f, "spec.executionType"), "Start");
	assert_int_equal(json_int(json_path(f->body, "spec", "retryPolicy", NULL), "maxRetryCount", -9), 0);
	assert_null(json_path(f->body, "spec", "junk", NULL));
	assert_non_null(json_path(json_array_get(json_path(f->body, "spec", "taskRoles", NULL), 0), "task", "pod",
				  "anything", "x", NULL));
	/* the status is a subresource: a create does not set it */
	assert_null(json_object_get(f->body, "status"));
	expect_call(f, 409, "POST", FWS, FW_ONE);
	assert_string_equal(message(f), "frameworks.frameworkcontroller.microsoft.com \"one\" already exists");
	assert_string_equal(at(f, "reason"), "AlreadyExists");
}

static void not_found_texts(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 404, "GET", FWS "/none", NULL);
	assert_string_equal(message(f), "frameworks.frameworkcontroller.microsoft.com \"none\" not found");
	assert_string_equal(at(f, "details.kind"), "frameworks");
	expect_call(f, 404, "GET", NS "/pods/none", NULL);
	assert_string_equal(message(f), "pods \"none\" not found");
	expect_call(f, 404, "GET", "/api/v1/namespaces/default/nothings", NULL);
	assert_string_equal(message(f), "the server could not find the requested resource");
	expect_call(f, 404, "POST", "/api/v1/namespaces/nowhere/configmaps", "{\"metadata\":{\"name\":\"a\"}}");
	assert_string_equal(message(f), "namespaces \"nowhere\" not found");
}

static void schema_refuses(void **state)
{
	static const struct {
		const char *spec;
		const char *message;
	} cases[] = {
		{"{\"executionType\":\"Go\"}",
		 "spec.executionType: Unsupported value: \"Go\": supported values: \"Create\", \"Start\", \"Stop\""},
		{"{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":10001}]}",
		 "spec.taskRoles.taskNumber: Invalid value: 10001: spec.taskRoles.taskNumber in body should be "
		 "less than "
		 "or equal to 10000"},
		{"{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":-1}]}",
		 "spec.taskRoles.taskNumber: Invalid value: -1: spec.taskRoles.taskNumber in body should be "
		 "greater than "
		 "or equal to 0"},
		{"{\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":\"2\"}]}",
		 "spec.taskRoles.taskNumber: Invalid value: \"string\": spec.taskRoles.taskNumber in body must "
		 "be of "
		 "type integer: \"string\""},
		{"{\"taskRoles\":[{\"name\":\"A\"}]}",
		 "spec.taskRoles.name: Invalid value: \"A\": spec.taskRoles.name in body should match "
		 "'^[a-z0-9]{1,63}$'"},
		{"{\"taskRoles\":[{}]}", "spec.taskRoles.name: Required value"},
		{"{\"taskRoles\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"a\"}]}",
		 "spec.taskRoles[2]: Duplicate value: map[string]interface {}{\"name\":\"a\"}"},
		{"[]", "spec: Invalid value: \"array\": spec in body must be of type object: \"array\""},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *body = mem_printf(
			"{\"apiVersion\":\"frameworkcontroller.microsoft.com/v1\",\"kind\":"
			"\"Framework\",\"metadata\":{\"name\":\"x\"},\"spec\":%s}",
			cases[i].spec);
		cleanup_free char *wanted = mem_printf(
			"Framework.frameworkcontroller.microsoft.com \"x\" is invalid: %s", cases[i].message);

		expect_call(f, 422, "POST", FWS, body);
		assert_string_equal(message(f), wanted);
		assert_string_equal(at(f, "reason"), "Invalid");
		assert_string_not_equal(at(f, "details.causes.0.field"), "");
	}
	/* a null where null is allowed, and one where a default stands in for it */
	expect_call(f, 201, "POST", FWS,
		    "{\"apiVersion\":\"frameworkcontroller.microsoft.com/"
		    "v1\",\"kind\":\"Framework\",\"metadata\":{\"name\":\"n\"},"
		    "\"spec\":{\"taskRoles\":null,\"executionType\":null}}");
	assert_string_equal(at(f, "spec.executionType"), "Start");
	assert_true(json_is_null(json_path(f->body, "spec", "taskRoles", NULL)));
}

static void update_without_change_writes_nothing(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *first = NULL;
	cleanup_free char *second = NULL;

	expect_call(f, 201, "POST", FWS, FW_ONE);
	first = mem_strdup(api_answer_text(&f->answer));
	/* unchanged: nothing is written, the version stays */
	expect_call(f, 200, "PUT", FWS "/one", first);
	second = mem_strdup(api_answer_text(&f->answer));
	assert_string_equal(first, second);
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 200, "PATCH", FWS "/one", "{\"spec\":{\"junk\":2}}");
	assert_string_equal(first, api_answer_text(&f->answer));
}

static void conflicts(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *stale = NULL;
	json_t *changed;
	char *text;

	expect_call(f, 201, "POST", FWS, FW_ONE);
	stale = mem_strdup(api_answer_text(&f->answer));
	changed = json_deep_copy(f->body);
	json_object_set_new(json_object_get(changed, "spec"), "executionType", json_string("Stop"));
	text = json_text(changed);
	expect_call(f, 200, "PUT", FWS "/one", text);
	assert_int_equal(json_int(json_object_get(f->body, "metadata"), "generation", 0), 2);
	expect_call(f, 409, "PUT", FWS "/one", text);
	assert_string_equal(
		message(f),
		"Operation cannot be fulfilled on frameworks.frameworkcontroller.microsoft.com \"one\": the object has "
		"been modified; please apply your changes to the latest version and try again");
	/* an unchanged write on a stale version conflicts too: the fence of CONTRACT.md §12.14 rests on it */
	expect_call(f, 409, "PUT", FWS "/one", stale);
	free(text);
	json_object_set_new(json_object_get(changed, "metadata"), "uid", json_string("other"));
	text = json_text(changed);
	expect_call(f, 409, "PUT", FWS "/one", text);
	assert_non_null(strstr(message(f), "Precondition failed: UID in precondition: other, UID in object meta: "));
	json_object_del(json_object_get(changed, "metadata"), "uid");
	json_object_del(json_object_get(changed, "metadata"), "resourceVersion");
	free(text);
	text = json_text(changed);
	/* custom resources must name a version, ConfigMaps need not */
	expect_call(f, 422, "PUT", FWS "/one", text);
	assert_non_null(
		strstr(message(f), "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update"));
	free(text);
	json_decref(changed);
	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"a\"}}");
	expect_call(f, 200, "PUT", CMS "/a", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
	expect_call(f, 404, "PUT", CMS "/b", "{\"metadata\":{\"name\":\"b\"}}");
	expect_call(f, 400, "PUT", CMS "/a", "{\"metadata\":{\"name\":\"c\"}}");
}

static void status_is_apart(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *put = NULL;

	expect_call(f, 201, "POST", FWS, FW_ONE);
	put = mem_printf(
		"{\"apiVersion\":\"frameworkcontroller.microsoft.com/"
		"v1\",\"kind\":\"Framework\",\"metadata\":{\"name\":"
		"\"one\",\"labels\":{\"x\":\"y\"},\"uid\":\"%s\",\"resourceVersion\":\"%s\"},\"status\":{\"state\":"
		"\"AttemptRunning\",\"gone\":null}}",
		at(f, "metadata.uid"), at(f, "metadata.resourceVersion"));
	/* the controller's write: metadata and status, no spec (CONTRACT.md §12.16) */
	expect_call(f, 200, "PUT", FWS "/one/status", put);
	assert_string_equal(at(f, "status.state"), "AttemptRunning");
	assert_true(json_is_null(json_path(f->body, "status", "gone", NULL)));
	assert_string_equal(at(f, "spec.executionType"), "Start");
	assert_null(json_path(f->body, "metadata", "labels", NULL));
	assert_int_equal(json_int(json_object_get(f->body, "metadata"), "generation", 0), 1);
	expect_call(f, 409, "PUT", FWS "/one/status", put);
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 200, "PATCH", FWS "/one",
		    "{\"status\":{\"state\":\"no\"},\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
	assert_string_equal(at(f, "status.state"), "AttemptRunning");
	assert_string_equal(at(f, "metadata.labels.a"), "b");
	assert_int_equal(json_int(json_object_get(f->body, "metadata"), "generation", 0), 1);
	expect_call(f, 404, "GET", CMS "/x/status", NULL);
}

static void patches(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\",\"l\":\"w\"}}");
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 200, "PATCH", CMS "/a", "{\"data\":{\"k\":null,\"m\":\"x\"}}");
	assert_null(json_path(f->body, "data", "k", NULL));
	assert_string_equal(at(f, "data.m"), "x");
	f->local.content_type = "application/json-patch+json";
	expect_call(f, 200, "PATCH", CMS "/a",
		    "[{\"op\":\"test\",\"path\":\"/data/m\",\"value\":\"x\"},{\"op\":\"add\",\"path\":\"/data/"
		    "a~1b\",\"value\":"
		    "\"s\"},{\"op\":\"move\",\"from\":\"/data/m\",\"path\":\"/data/n\"},{\"op\":\"copy\",\"from\":\"/"
		    "data/n\","
		    "\"path\":\"/data/o\"},{\"op\":\"replace\",\"path\":\"/data/"
		    "l\",\"value\":\"r\"},{\"op\":\"remove\",\"path\":"
		    "\"/data/o\"}]");
	assert_string_equal(json_string_value(json_path(f->body, "data", "a/b", NULL)), "s");
	assert_string_equal(at(f, "data.n"), "x");
	assert_string_equal(at(f, "data.l"), "r");
	assert_null(json_path(f->body, "data", "o", NULL));
	expect_call(f, 422, "PATCH", CMS "/a", "[{\"op\":\"test\",\"path\":\"/data/n\",\"value\":\"y\"}]");
	expect_call(f, 422, "PATCH", CMS "/a", "[{\"op\":\"remove\",\"path\":\"/data/none\"}]");
	expect_call(f, 400, "PATCH", CMS "/a", "{}");
	f->local.content_type = "application/apply-patch+yaml";
	expect_call(f, 415, "PATCH", CMS "/a", "{}");
	f->local.content_type = "application/strategic-merge-patch+json";
	expect_call(f, 415, "PATCH", FWS "/one", "{}");
	/* the version in a patch is a precondition */
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 409, "PATCH", CMS "/a", "{\"metadata\":{\"resourceVersion\":\"1\"}}");
	expect_call(f, 404, "PATCH", CMS "/none", "{}");
}

static void strategic_merges_lists(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 201, "POST", NS "/pods",
		    "{\"metadata\":{\"name\":\"p\",\"finalizers\":[\"x/"
		    "y\"]},\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"i\"},"
		    "{\"name\":\"b\",\"image\":\"i\"}]}}");
	f->local.content_type = "application/strategic-merge-patch+json";
	expect_call(f, 200, "PATCH", NS "/pods/p",
		    "{\"spec\":{\"containers\":[{\"name\":\"b\",\"image\":\"j\"}]},\"metadata\":{\"finalizers\":[\"z/"
		    "z\"]}}");
	assert_int_equal(json_array_size(json_path(f->body, "spec", "containers", NULL)), 2);
	assert_string_equal(at(f, "spec.containers.1.image"), "j");
	assert_int_equal(json_array_size(json_path(f->body, "metadata", "finalizers", NULL)), 2);
	expect_call(f, 200, "PATCH", NS "/pods/p/status",
		    "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
	expect_call(f, 200, "PATCH", NS "/pods/p/status",
		    "{\"status\":{\"conditions\":[{\"type\":\"Initialized\",\"status\":\"True\"},{\"type\":\"Ready\","
		    "\"status\":"
		    "\"False\"}]}}");
	assert_int_equal(json_array_size(json_path(f->body, "status", "conditions", NULL)), 2);
	assert_string_equal(at(f, "status.conditions.0.status"), "False");
	assert_string_equal(at(f, "status.phase"), "Pending");
}

static void names_and_metadata(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"generateName\":\"g-\"}}");
	assert_int_equal(strncmp(at(f, "metadata.name"), "g-", 2), 0);
	assert_int_equal(strlen(at(f, "metadata.name")), 7);
	expect_call(f, 422, "POST", CMS, "{\"metadata\":{}}");
	assert_non_null(strstr(message(f), "metadata.name: Required value: name or generateName is required"));
	expect_call(f, 422, "POST", CMS, "{\"metadata\":{\"name\":\"A_b\"}}");
	expect_call(f, 400, "POST", CMS, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":1}}}");
	expect_call(f, 422, "POST", CMS, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":\"b c\"}}}");
	expect_call(f, 400, "POST", CMS, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"other\"}}");
	expect_call(f, 500, "POST", CMS, "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\"}}");
	assert_string_equal(message(f), "resourceVersion should not be set on objects to be created");
	expect_call(f, 400, "POST", CMS, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"}}");
	expect_call(f, 400, "POST", CMS, "not json");
	expect_call(f, 400, "POST", FWS, "{\"metadata\":{\"name\":\"a\"}}");
	assert_non_null(strstr(message(f), "Object 'Kind' is missing in"));
	expect_call(f, 201, "POST", CMS "?dryRun=All", "{\"metadata\":{\"name\":\"dry\"}}");
	expect_call(f, 404, "GET", CMS "/dry", NULL);
}

static void plain_kinds_are_checked(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 400, "POST", CMS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":1}}");
	assert_non_null(strstr(message(f),
			       "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: v1.ConfigMap.Data: "
			       "ReadString: expects \" or n, but found 1"));
	expect_call(f, 422, "POST", NS "/events",
		    "{\"metadata\":{\"name\":\"e\"},\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"other\"}}");
	assert_string_equal(message(f),
			    "Event \"e\" is invalid: involvedObject.namespace: Invalid value: \"other\": does not "
			    "match event.namespace");
	expect_call(f, 422, "POST", NS "/events",
		    "{\"metadata\":{\"name\":\"e\"},\"eventTime\":\"2026-01-01T00:00:00.000000Z\",\"involvedObject\":{"
		    "\"kind\":"
		    "\"Pod\",\"namespace\":\"default\"}}");
	expect_call(f, 201, "POST", NS "/events",
		    "{\"metadata\":{\"name\":\"e\"},\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"default\","
		    "\"name\":"
		    "\"p\"},\"reason\":\"R\",\"count\":1}");
	expect_call(f, 200, "GET", NS "/events?fieldSelector=involvedObject.name%3Dp,reason%3DR", NULL);
	assert_int_equal(json_array_size(json_object_get(f->body, "items")), 1);
	/* Events and Leases are made by PUT too */
	expect_call(f, 201, "PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l",
		    "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"holderIdentity\":\"a\"}}");
	expect_call(f, 422, "PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l",
		    "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"holderIdentity\":\"b\"}}");
}

static void sizes_are_bounded(void **state)
{
	struct fixture *f = *state;
	size_t size = OBJECT_BYTES_MAX;
	char *big;
	char *body;

	big = mem_alloc(size + 1);
	memset(big, 'x', size);
	big[size] = '\0';
	body = mem_printf("{\"metadata\":{\"name\":\"big\"},\"data\":{\"a\":\"%s\"}}", big);
	expect_call(f, 500, "POST", CMS, body);
	assert_string_equal(message(f), "etcdserver: request is too large");
	expect_call(f, 404, "GET", CMS "/big", NULL);
	free(body);
	body = mem_printf("{\"metadata\":{\"name\":\"big\"},\"data\":{\"a\":\"%s\",\"b\":\"%s\"}}", big, big);
	expect_call(f, 413, "POST", CMS, body);
	assert_string_equal(at(f, "reason"), "RequestEntityTooLarge");
	free(body);
	body = mem_printf("{\"metadata\":{\"name\":\"big\"},\"data\":{\"a\":\"%s\",\"b\":\"%s\"}}", big,
			  big + size / 2);
	expect_call(f, 500, "POST", CMS, body);
	assert_non_null(strstr(message(f), "trying to send message larger than max"));
	free(body);
	big[300 * 1024] = '\0';
	body = mem_printf("{\"metadata\":{\"name\":\"big\",\"annotations\":{\"a\":\"%s\"}}}", big);
	expect_call(f, 422, "POST", CMS, body);
	assert_non_null(strstr(message(f), "metadata.annotations: Too long: must have at most 262144 bytes"));
	free(body);
	free(big);
}

static void deletion(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *body = NULL;
	cleanup_free char *uid = NULL;

	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"a\"}}");
	uid = mem_strdup(at(f, "metadata.uid"));
	expect_call(f, 409, "DELETE", CMS "/a", "{\"preconditions\":{\"uid\":\"other\"}}");
	assert_non_null(strstr(message(f),
			       "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition "
			       "(other) does not match the UID in record ("));
	expect_call(f, 409, "DELETE", CMS "/a", "{\"preconditions\":{\"resourceVersion\":\"1\"}}");
	body = mem_printf("{\"preconditions\":{\"uid\":\"%s\"}}", uid);
	expect_call(f, 200, "DELETE", CMS "/a", body);
	assert_string_equal(at(f, "status"), "Success");
	assert_string_equal(at(f, "details.uid"), uid);
	expect_call(f, 404, "DELETE", CMS "/a", body);
	/* with a finalizer it stays until the list is empty */
	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"b\",\"finalizers\":[\"x/y\"]}}");
	expect_call(f, 200, "DELETE", CMS "/b", NULL);
	assert_string_not_equal(at(f, "metadata.deletionTimestamp"), "");
	assert_int_equal(json_int(json_object_get(f->body, "metadata"), "deletionGracePeriodSeconds", -1), 0);
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 422, "PATCH", CMS "/b", "{\"metadata\":{\"finalizers\":[\"x/y\",\"n/n\"]}}");
	expect_call(f, 200, "PATCH", CMS "/b", "{\"metadata\":{\"finalizers\":null}}");
	expect_call(f, 404, "GET", CMS "/b", NULL);
	/* a deletion that waits counts as a change of the object */
	f->local.content_type = NULL;
	expect_call(f, 201, "POST", FWS,
		    "{\"apiVersion\":\"frameworkcontroller.microsoft.com/"
		    "v1\",\"kind\":\"Framework\",\"metadata\":{\"name\":\"fin\","
		    "\"finalizers\":[\"x/y\"]}}");
	expect_call(f, 200, "DELETE", FWS "/fin", NULL);
	assert_int_equal(json_int(json_object_get(f->body, "metadata"), "generation", 0), 2);
}

/* A changed schema applies to what is written from now on, and stored objects stay readable. */
static void schema_changes(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 201, "POST", FWS, FW_ONE);
	f->local.content_type = "application/json-patch+json";
	expect_call(
		f, 200, "PATCH", CRDS "/frameworks.frameworkcontroller.microsoft.com",
		"[{\"op\":\"add\",\"path\":\"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/"
		"added\","
		"\"value\":{\"type\":\"integer\",\"default\":7}},{\"op\":\"remove\",\"path\":\"/spec/versions/0/schema/"
		"openAPIV3Schema/properties/spec/properties/taskRoles/items/properties/taskNumber\"}]");
	assert_int_equal(json_int(json_object_get(f->body, "metadata"), "generation", 0), 2);
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 200, "PATCH", FWS "/one", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
	assert_int_equal(json_int(json_object_get(f->body, "spec"), "added", 0), 7);
	assert_null(json_object_get(json_array_get(json_path(f->body, "spec", "taskRoles", NULL), 0), "taskNumber"));
	/* the subresource can go, and come back */
	f->local.content_type = "application/json-patch+json";
	expect_call(f, 200, "PATCH", CRDS "/frameworks.frameworkcontroller.microsoft.com",
		    "[{\"op\":\"remove\",\"path\":\"/spec/versions/0/subresources\"}]");
	expect_call(f, 404, "GET", FWS "/one/status", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(create_fills_in, set_up, tear_down),
		cmocka_unit_test_setup_teardown(not_found_texts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(schema_refuses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(update_without_change_writes_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(conflicts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(status_is_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(patches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(strategic_merges_lists, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_and_metadata, set_up, tear_down),
		cmocka_unit_test_setup_teardown(plain_kinds_are_checked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sizes_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(deletion, set_up, tear_down),
		cmocka_unit_test_setup_teardown(schema_changes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
