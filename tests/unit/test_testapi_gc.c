/* Garbage collection, namespaces, CRDs in the test API server: what kube-controller-manager does in a real cluster. */
#include "tests/unit/testapi_fixture.h"

#define CMS NS "/configmaps"
#define PODS NS "/pods"

/* A ConfigMap or Pod owned by another object, by uid. */
static char *owned(const char *name, const char *kind, const char *owner, const char *uid, const char *more)
{
	return mem_printf(
		"{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"%s\",\"name\":"
		"\"%s\",\"uid\":\"%s\",\"controller\":true,\"blockOwnerDeletion\":true}]%s}%s",
		name, kind, owner, uid, more,
		strcmp(kind, "ConfigMap") == 0 ? ",\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
					       : "}");
}

/* Framework-like: ConfigMap "top" → ConfigMap "attempt" with its finalizer → Pod "task", bound to a node. */
static void make_tree(struct fixture *f)
{
	cleanup_free char *attempt = NULL;
	cleanup_free char *task = NULL;

	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"top\"}}");
	attempt = owned("attempt", "Framework", "top", at(f, "metadata.uid"),
			",\"finalizers\":[\"foregroundDeletion\"]");
	expect_call(f, 201, "POST", CMS, attempt);
	task = owned("task", "ConfigMap", "attempt", at(f, "metadata.uid"), "");
	expect_call(f, 201, "POST", PODS, task);
	expect_call(f, 201, "POST", PODS "/task/binding",
		    "{\"metadata\":{\"name\":\"task\"},\"target\":{\"name\":\"n1\"}}");
	settle(f);
	expect_call(f, 200, "GET", PODS "/task", NULL);
}

static void finish_pod(struct fixture *f)
{
	expect_call(f, 200, "GET", PODS "/task", NULL);
	assert_string_not_equal(at(f, "metadata.deletionTimestamp"), "");
	expect_call(f, 200, "DELETE", PODS "/task", "{\"gracePeriodSeconds\":0}");
	settle(f);
}

/* DELETE without a policy: the ConfigMap's own finalizer makes it wait for its Pods. */
static void default_policy_respects_the_finalizer(void **state)
{
	struct fixture *f = *state;

	make_tree(f);
	expect_call(f, 200, "DELETE", CMS "/attempt", NULL);
	assert_string_not_equal(at(f, "metadata.deletionTimestamp"), "");
	settle(f);
	expect_call(f, 200, "GET", CMS "/attempt", NULL);
	finish_pod(f);
	expect_call(f, 404, "GET", CMS "/attempt", NULL);
	expect_call(f, 404, "GET", PODS "/task", NULL);
}

/* An explicit Background takes the finalizer away: the ConfigMap goes at once, its Pods after it. */
static void background_skips_the_finalizer(void **state)
{
	struct fixture *f = *state;

	make_tree(f);
	expect_call(f, 200, "DELETE", CMS "/attempt", "{\"propagationPolicy\":\"Background\"}");
	expect_call(f, 404, "GET", CMS "/attempt", NULL);
	settle(f);
	finish_pod(f);
	expect_call(f, 404, "GET", PODS "/task", NULL);
}

static void owner_gone_in_background(void **state)
{
	struct fixture *f = *state;

	make_tree(f);
	expect_call(f, 200, "DELETE", CMS "/top", NULL);
	expect_call(f, 404, "GET", CMS "/top", NULL);
	settle(f);
	/* the garbage collector deletes by the dependent's own finalizer */
	expect_call(f, 200, "GET", CMS "/attempt", NULL);
	assert_string_not_equal(at(f, "metadata.deletionTimestamp"), "");
	finish_pod(f);
	expect_call(f, 404, "GET", CMS "/attempt", NULL);
}

static void foreground_goes_bottom_up(void **state)
{
	struct fixture *f = *state;

	make_tree(f);
	expect_call(f, 200, "DELETE", CMS "/top", "{\"propagationPolicy\":\"Foreground\"}");
	assert_string_equal(at(f, "metadata.finalizers.0"), "foregroundDeletion");
	settle(f);
	expect_call(f, 200, "GET", CMS "/top", NULL);
	expect_call(f, 200, "GET", CMS "/attempt", NULL);
	finish_pod(f);
	expect_call(f, 404, "GET", CMS "/attempt", NULL);
	expect_call(f, 404, "GET", CMS "/top", NULL);
}

static void orphan_leaves_the_dependents(void **state)
{
	struct fixture *f = *state;

	make_tree(f);
	expect_call(f, 200, "DELETE", CMS "/attempt", "{\"propagationPolicy\":\"Orphan\"}");
	settle(f);
	expect_call(f, 404, "GET", CMS "/attempt", NULL);
	expect_call(f, 200, "GET", PODS "/task", NULL);
	assert_null(json_path(f->body, "metadata", "ownerReferences", NULL));
	assert_string_equal(at(f, "metadata.deletionTimestamp"), "");
}

/* A namesake with another uid is no owner. */
static void owner_that_never_was(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *lost = owned("lost", "Framework", "top", "00000000-0000-4000-8000-000000000000", "");

	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"top\"}}");
	expect_call(f, 201, "POST", CMS, lost);
	settle(f);
	expect_call(f, 404, "GET", CMS "/lost", NULL);
	expect_call(f, 200, "GET", CMS "/top", NULL);
}

static void one_of_two_owners_left(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *first = NULL;
	cleanup_free char *body = NULL;

	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"one\"}}");
	first = mem_strdup(at(f, "metadata.uid"));
	expect_call(f, 201, "POST", CMS, "{\"metadata\":{\"name\":\"two\"}}");
	body = mem_printf(
		"{\"metadata\":{\"name\":\"both\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
		"\"name\":\"one\",\"uid\":\"%s\"},{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"two\","
		"\"uid\":"
		"\"%s\"}]}}",
		first, at(f, "metadata.uid"));
	expect_call(f, 201, "POST", CMS, body);
	expect_call(f, 200, "DELETE", CMS "/one", NULL);
	settle(f);
	expect_call(f, 200, "GET", CMS "/both", NULL);
	assert_int_equal(json_array_size(json_path(f->body, "metadata", "ownerReferences", NULL)), 1);
	expect_call(f, 200, "DELETE", CMS "/two", NULL);
	settle(f);
	expect_call(f, 404, "GET", CMS "/both", NULL);
}

static void namespace_takes_its_content(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"t\"}}");
	assert_string_equal(at(f, "status.phase"), "Active");
	expect_call(f, 201, "POST", "/api/v1/namespaces/t/configmaps", "{\"metadata\":{\"name\":\"a\"}}");
	expect_call(f, 201, "POST", "/api/v1/namespaces/t/configmaps",
		    "{\"metadata\":{\"name\":\"held\",\"finalizers\":[\"x/y\"]}}");
	expect_call(f, 200, "DELETE", "/api/v1/namespaces/t", NULL);
	assert_string_equal(at(f, "status.phase"), "Terminating");
	expect_call(f, 403, "POST", "/api/v1/namespaces/t/configmaps", "{\"metadata\":{\"name\":\"b\"}}");
	assert_non_null(strstr(message(f), "because it is being terminated"));
	settle(f);
	expect_call(f, 404, "GET", "/api/v1/namespaces/t/configmaps/a", NULL);
	expect_call(f, 200, "GET", "/api/v1/namespaces/t", NULL);
	f->local.content_type = "application/merge-patch+json";
	expect_call(f, 200, "PATCH", "/api/v1/namespaces/t/configmaps/held", "{\"metadata\":{\"finalizers\":null}}");
	settle(f);
	expect_call(f, 404, "GET", "/api/v1/namespaces/t", NULL);
}

static void crd_takes_its_objects(void **state)
{
	struct fixture *f = *state;

	expect_call(f, 201, "POST", FW "/namespaces/default/frameworks",
		    "{\"apiVersion\":\"frameworkcontroller.microsoft.com/"
		    "v1\",\"kind\":\"Framework\",\"metadata\":{\"name\":\"a\"}}");
	expect_call(f, 200, "DELETE", CRDS "/frameworks.frameworkcontroller.microsoft.com", NULL);
	settle(f);
	expect_call(f, 404, "GET", CRDS "/frameworks.frameworkcontroller.microsoft.com", NULL);
	expect_call(f, 404, "GET", FW "/frameworks", NULL);
	/* and a new one starts empty */
	expect_call(f, 201, "POST", CRDS, CRD);
	expect_call(f, 200, "GET", FW "/frameworks", NULL);
	assert_int_equal(json_array_size(json_object_get(f->body, "items")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(default_policy_respects_the_finalizer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(background_skips_the_finalizer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(owner_gone_in_background, set_up, tear_down),
		cmocka_unit_test_setup_teardown(foreground_goes_bottom_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(orphan_leaves_the_dependents, set_up, tear_down),
		cmocka_unit_test_setup_teardown(owner_that_never_was, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_of_two_owners_left, set_up, tear_down),
		cmocka_unit_test_setup_teardown(namespace_takes_its_content, set_up, tear_down),
		cmocka_unit_test_setup_teardown(crd_takes_its_objects, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
