/* Authentication and authorization of the test API server, by a token file. */
#include <unistd.h>

#include "tests/unit/temp.h"
#include "tests/unit/testapi_fixture.h"

#define REVIEW_TOKEN "/apis/authentication.k8s.io/v1/tokenreviews"
#define REVIEW_ACCESS "/apis/authorization.k8s.io/v1/subjectaccessreviews"

static const char TOKENS[] = "s3cret,admin,1,\"system:masters\"\n"
			     "# a comment\n"
			     "plain,joe,2\n"
			     "reader,ann,3,\"dev,testapi:get:frameworks,testapi:list:pods:kube-system\"\n"
			     "all,bob,4,\"testapi:*:configmaps\"\r\n";

static int set_up_tokens(void **state)
{
	char path[TEMP_PATH_SIZE];
	int fd = temp_file(path);
	struct fixture *f;

	assert_int_equal(write(fd, TOKENS, strlen(TOKENS)), strlen(TOKENS));
	close(fd);
	f = fixture_new(&(struct api_options){.token_file = path});
	unlink(path);
	*state = f;
	f->local.authorization = "Bearer s3cret";
	expect_call(f, 201, "POST", CRDS, CRD);
	return 0;
}

static void who_may_what(void **state)
{
	struct fixture *f = *state;

	f->local.authorization = NULL;
	expect_call(f, 401, "GET", NS "/pods", NULL);
	assert_string_equal(at(f, "reason"), "Unauthorized");
	f->local.authorization = "Bearer wrong";
	expect_call(f, 401, "GET", "/healthz", NULL);
	f->local.authorization = "Bearer plain";
	expect_call(f, 403, "GET", NS "/pods", NULL);
	assert_string_equal(message(f),
			    "pods is forbidden: User \"joe\" cannot list resource \"pods\" in API group \"\" in the "
			    "namespace \"default\"");
	expect_call(f, 403, "GET", NS "/pods/x", NULL);
	assert_string_equal(message(f),
			    "pods \"x\" is forbidden: User \"joe\" cannot get resource \"pods\" in API group \"\" in "
			    "the namespace \"default\"");
	expect_call(f, 403, "GET", FW "/frameworks", NULL);
	assert_string_equal(
		message(f),
		"frameworks.frameworkcontroller.microsoft.com is forbidden: User \"joe\" cannot list resource "
		"\"frameworks\" in API group \"frameworkcontroller.microsoft.com\" at the cluster scope");
	expect_call(f, 200, "GET", "/version", NULL);
	f->local.authorization = "Bearer reader";
	expect_call(f, 404, "GET", FW "/namespaces/default/frameworks/x", NULL);
	expect_call(f, 403, "GET", FW "/namespaces/default/frameworks", NULL);
	expect_call(f, 200, "GET", "/api/v1/namespaces/kube-system/pods", NULL);
	expect_call(f, 403, "GET", NS "/pods", NULL);
	expect_call(f, 403, "GET", "/api/v1/pods", NULL);
	f->local.authorization = "Basic YW5uOnJlYWRlcg==";
	expect_call(f, 401, "GET", FW "/namespaces/default/frameworks/x", NULL);
	f->local.authorization = "Bearer all";
	expect_call(f, 201, "POST", NS "/configmaps", "{\"metadata\":{\"name\":\"a\"}}");
	expect_call(f, 200, "DELETE", NS "/configmaps/a", NULL);
}

static void reviews(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 201, "POST", REVIEW_TOKEN, "{\"spec\":{\"token\":\"reader\"}}");
	assert_true(json_bool(json_object_get(f->body, "status"), "authenticated", false));
	assert_string_equal(at(f, "status.user.username"), "ann");
	assert_string_equal(at(f, "status.user.groups.0"), "dev");
	expect_call(f, 201, "POST", REVIEW_TOKEN, "{\"spec\":{\"token\":\"nobody\"}}");
	assert_false(json_bool(json_object_get(f->body, "status"), "authenticated", false));
	expect_call(f, 201, "POST", REVIEW_ACCESS,
		    "{\"spec\":{\"user\":\"ann\",\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"frameworks\","
		    "\"namespace\":"
		    "\"default\"}}}");
	assert_true(json_bool(json_object_get(f->body, "status"), "allowed", false));
	expect_call(
		f, 201, "POST", REVIEW_ACCESS,
		"{\"spec\":{\"user\":\"ann\",\"resourceAttributes\":{\"verb\":\"delete\",\"resource\":\"frameworks\","
		"\"namespace\":\"default\"}}}");
	assert_false(json_bool(json_object_get(f->body, "status"), "allowed", true));
	expect_call(f, 201, "POST", REVIEW_ACCESS,
		    "{\"spec\":{\"user\":\"stranger\",\"groups\":[\"testapi:get:pods:a\"],\"resourceAttributes\":{"
		    "\"verb\":\"get\","
		    "\"resource\":\"pods\",\"namespace\":\"a\"}}}");
	assert_true(json_bool(json_object_get(f->body, "status"), "allowed", false));
	expect_call(f, 201, "POST", REVIEW_ACCESS,
		    "{\"spec\":{\"user\":\"joe\",\"nonResourceAttributes\":{\"path\":\"/x\",\"verb\":\"get\"}}}");
	assert_false(json_bool(json_object_get(f->body, "status"), "allowed", true));
	expect_call(f, 405, "GET", REVIEW_ACCESS, NULL);
	/* reviews are for who may ask */
	f->local.authorization = "Bearer plain";
	expect_call(f, 403, "POST", REVIEW_TOKEN, "{\"spec\":{\"token\":\"reader\"}}");
}

static void no_file(void **state)
{
	struct ev_loop *loop = ev_loop_new(0);
	struct error err = {0};

	(void)state;
	assert_null(api_new(loop, &(struct api_options){.token_file = "/nowhere/tokens"}, &err));
	assert_non_null(strstr(err.message, "/nowhere/tokens"));
	ev_loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_may_what, set_up_tokens, tear_down),
		cmocka_unit_test_setup_teardown(reviews, set_up_tokens, tear_down),
		cmocka_unit_test(no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
