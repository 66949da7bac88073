/* The test API server's REST semantics: what clients of a real API server rely on, down to the texts. */
#include "tests/cluster/testapi/faults.h"
#include "tests/cluster/testapi/ops.h"
#include "tests/unit/testapi_fixture.h"

#define FWS FW "/namespaces/default/frameworks"
#define CMS NS "/configmaps"

static const char FW_ONE[] =
	"{\"apiVersion\":\"frameworkcontroller.microsoft.com/v1\",\"kind\":\"Framework\",\"metadata\":{"
	"\"name\":\"one\"},\"spec\":{\"junk\":1,\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":2,"
	"\"task\":{\"pod\":{\"anything\":{\"x\":1}}}}]},\"status\":{\"state\":\"x\"}}";

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

static void selectors_choose(void **state)
{
	static const struct {
		const char *query;
		size_t count;
	} cases[] = {
		{"labelSelector=app", 2},
		{"labelSelector=!app", 1},
		{"labelSelector=app%3Dx", 1},
		{"labelSelector=app%3D%3Dx,n", 1},
		{"labelSelector=app!%3Dx", 2},
		{"labelSelector=app+in+(x,y)", 2},
		{"labelSelector=app+notin+(x,y)", 1},
		{"labelSelector=app%3Dz", 0},
		{"fieldSelector=metadata.name%3Da", 1},
		{"fieldSelector=metadata.name!%3Da", 2},
		{"fieldSelector=metadata.namespace%3Ddefault", 3},
	};
	struct fixture *f = *state;

	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"app\":\"x\",\"n\":\"\"}}}");
	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"b\",\"labels\":{\"app\":\"y\"}}}");
	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"c\"}}");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *url = mem_printf(CMS "?%s", cases[i].query);

		expect_call(f, 200, "GET", url, NULL);
		if (json_array_size(json_object_get(f->body, "items")) != cases[i].count)
			fail_msg("%s: %zu items", cases[i].query, json_array_size(json_object_get(f->body, "items")));
	}
	expect_call(f, 400, "GET", CMS "?fieldSelector=data.x%3Da", NULL);
	expect_call(f, 400, "GET", CMS "?labelSelector=a+in+x", NULL);
	expect_call(f, 200, "DELETE", CMS "?labelSelector=app", NULL);
	expect_call(f, 200, "GET", CMS, NULL);
	assert_int_equal(json_array_size(json_object_get(f->body, "items")), 1);
}

static void make_maps(struct fixture *f, int count)
{
	for (int i = 0; i < count; i++) {
		cleanup_free char *body = mem_printf("{\"metadata\":{\"name\":\"m%02d\"}}", i);

		expect_call(f, 201, "POST", CMS, body);
	}
}

/* Later pages show the store as it was at the first one. */
static void pages_are_consistent(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *url = NULL;
	cleanup_free char *version = NULL;

	make_maps(f, 5);
	expect_call(f, 200, "GET", CMS "?limit=2", NULL);
	assert_int_equal(json_array_size(json_object_get(f->body, "items")), 2);
	assert_int_equal(json_int(json_object_get(f->body, "metadata"), "remainingItemCount", 0), 3);
	version = mem_strdup(at(f, "metadata.resourceVersion"));
	url = mem_printf(CMS "?limit=2&continue=%s", at(f, "metadata.continue"));
	expect_call(f, 200, "DELETE", CMS "/m03", NULL);
	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"m021\"}}");
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 200, "PATCH", CMS "/m02", "{\"data\":{\"a\":\"b\"}}");
	expect_call(f, 200, "GET", url, NULL);
	assert_string_equal(at(f, "metadata.resourceVersion"), version);
	assert_string_equal(at(f, "items.0.metadata.name"), "m02");
	assert_null(json_object_get(json_array_get(json_object_get(f->body, "items"), 0), "data"));
	assert_string_equal(at(f, "items.1.metadata.name"), "m03");
	free(url);
	url = mem_printf(CMS "?limit=2&continue=%s", at(f, "metadata.continue"));
	expect_call(f, 200, "GET", url, NULL);
	assert_int_equal(json_array_size(json_object_get(f->body, "items")), 1);
	assert_string_equal(at(f, "metadata.continue"), "");
}

static void expired_pages_can_go_on(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *url = NULL;

	make_maps(f, 3);
	expect_call(f, 200, "GET", CMS "?limit=1", NULL);
	url = mem_printf(CMS "?limit=5&continue=%s", at(f, "metadata.continue"));
	expect_call(f, 200, "POST", "/fc-testapi/compact", NULL);
	expect_call(f, 410, "GET", url, NULL);
	assert_string_equal(at(f, "reason"), "Expired");
	free(url);
	url = mem_printf(CMS "?limit=5&continue=%s", at(f, "metadata.continue"));
	expect_call(f, 200, "GET", url, NULL);
	assert_int_equal(json_array_size(json_object_get(f->body, "items")), 2);
	/* answered from the watch cache in a real server: not paged */
	expect_call(f, 200, "GET", CMS "?limit=1&resourceVersion=0", NULL);
	assert_int_equal(json_array_size(json_object_get(f->body, "items")), 3);
	expect_call(f, 504, "GET", CMS "?resourceVersion=99999", NULL);
}

static void forms_of_answers(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 201, "POST", FWS, FW_ONE);
	f->local.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
	expect_call(f, 200, "GET", FWS "/one", NULL);
	assert_string_equal(at(f, "kind"), "PartialObjectMetadata");
	assert_null(json_object_get(f->body, "spec"));
	expect_call(f, 406, "GET", FWS, NULL);
	f->local.accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
	expect_call(f, 200, "GET", FWS, NULL);
	assert_string_equal(at(f, "kind"), "PartialObjectMetadataList");
	assert_string_equal(at(f, "items.0.metadata.name"), "one");
	expect_call(f, 500, "GET", FWS "/one", NULL);
	assert_string_equal(message(f), "content is not a list");
	expect_call(f, 200, "GET", NS "/secrets", NULL);
	assert_true(json_is_null(json_object_get(f->body, "items")));
	f->local.accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
	expect_call(f, 200, "GET", FWS, NULL);
	assert_string_equal(at(f, "columnDefinitions.2.name"), "Tasks");
	assert_string_equal(at(f, "rows.0.cells.0"), "one");
	assert_string_equal(at(f, "rows.0.object.metadata.name"), "one");
	f->local.accept = "application/vnd.kubernetes.protobuf";
	expect_call(f, 406, "GET", FWS, NULL);
	f->local.accept = "application/vnd.kubernetes.protobuf, */*";
	expect_call(f, 200, "GET", FWS, NULL);
	assert_string_equal(at(f, "items.0.kind"), "Framework");
	make_maps(f, 1);
	expect_call(f, 200, "GET", CMS, NULL);
	/* items of built-in kinds carry neither kind nor apiVersion */
	assert_string_equal(at(f, "items.0.kind"), "");
	assert_string_equal(at(f, "items.0.metadata.name"), "m00");
	assert_string_equal(at(f, "kind"), "ConfigMapList");
}

static void printer_columns_filter(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *put = NULL;

	expect_call(f, 201, "POST", FWS, FW_ONE);
	put = mem_printf("{\"apiVersion\":\"frameworkcontroller.microsoft.com/"
			 "v1\",\"kind\":\"Framework\",\"metadata\":{\"name\":"
			 "\"one\",\"resourceVersion\":\"%s\"},\"status\":{\"state\":\"AttemptRunning\",\"conditions\":["
			 "{\"type\":"
			 "\"Completed\",\"message\":\"no\"},{\"type\":\"Running\",\"message\":\"3/5\"}]}}",
			 at(f, "metadata.resourceVersion"));
	expect_call(f, 200, "PUT", FWS "/one/status", put);
	f->local.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
	expect_call(f, 200, "GET", FWS "/one", NULL);
	assert_string_equal(at(f, "rows.0.cells.1"), "AttemptRunning");
	assert_string_equal(at(f, "rows.0.cells.2"), "3/5");
	assert_string_equal(at(f, "rows.0.cells.3"), "0s");
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

/* A fault: reads as from a replica that lags behind; writes go to the truth. */
static void stale_reads(void **state)
{
	struct fixture *f = *state;
	struct api_request request = {.method = "GET", .path = CMS "/a", .body = ""};
	struct api_strike strike = {0};

	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"old\"}}");
	expect_call(f, 201, "POST", "/fc-testapi/faults",
		    "{\"match\":{\"verb\":\"get\"},\"action\":{\"staleReads\":true}}");
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 200, "PATCH", CMS "/a", "{\"data\":{\"k\":\"new\"}}");
	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"b\"}}");
	api_route(f->api, &request);
	api_faults_strike(f->api, &request, &strike);
	request.as_of = strike.as_of;
	api_answer_free(&f->answer);
	api_handle(f->api, &request, &f->answer);
	assert_non_null(strstr(api_answer_text(&f->answer), "\"old\""));
	api_request_free(&request);
	request = (struct api_request){.method = "GET", .path = CMS, .body = "", .as_of = strike.as_of};
	api_route(f->api, &request);
	api_answer_free(&f->answer);
	api_handle(f->api, &request, &f->answer);
	assert_non_null(strstr(api_answer_text(&f->answer), "\"old\""));
	assert_null(strstr(api_answer_text(&f->answer), "\"b\""));
	api_request_free(&request);
	api_strike_free(&strike);
}

static void discovery_lists(void **state)
{
	struct fixture *f = *state;
	const json_t *entry;

	expect_call(f, 200, "GET", FW, NULL);
	entry = json_array_get(json_object_get(f->body, "resources"), 0);
	assert_string_equal(json_str(entry, "name"), "frameworks");
	assert_string_equal(json_str(entry, "singularName"), "framework");
	assert_string_equal(json_string_value(json_array_get(json_object_get(entry, "shortNames"), 0)), "fw");
	assert_string_equal(at(f, "resources.1.name"), "frameworks/status");
	expect_call(f, 200, "GET", "/api", NULL);
	expect_call(f, 200, "GET", "/apis", NULL);
	expect_call(f, 200, "GET", "/apis/frameworkcontroller.microsoft.com", NULL);
	assert_string_equal(at(f, "preferredVersion.version"), "v1");
	expect_call(f, 200, "GET", "/version", NULL);
	expect_call(f, 200, "GET", "/healthz", NULL);
	expect_call(f, 200, "GET", "/openapi/v2", NULL);
	assert_string_equal(f->answer.content_type, "application/octet-stream");
	expect_call(f, 404, "GET", "/openapi/v3", NULL);
	expect_call(f, 404, "GET", "/apis/none/v1", NULL);
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
		cmocka_unit_test_setup_teardown(selectors_choose, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pages_are_consistent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(expired_pages_can_go_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(forms_of_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(printer_columns_filter, set_up, tear_down),
		cmocka_unit_test_setup_teardown(deletion, set_up, tear_down),
		cmocka_unit_test_setup_teardown(schema_changes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stale_reads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(discovery_lists, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
