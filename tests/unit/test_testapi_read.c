/* The test API server's reads: selectors, pages, the forms of answers, stale reads and discovery. */
#include "tests/unit/testapi_paths.h"

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
		cmocka_unit_test_setup_teardown(selectors_choose, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pages_are_consistent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(expired_pages_can_go_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(forms_of_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(printer_columns_filter, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stale_reads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(discovery_lists, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
