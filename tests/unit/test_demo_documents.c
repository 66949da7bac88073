/* tests/cluster/demo/documents.h: the documents of a YAML file, and where each is created. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/demo/documents.h"

static json_t *parse(const char *text)
{
	struct error err = {0};
	json_t *objects = NULL;

	if (documents_parse("t.yaml", text, strlen(text), &objects, &err) != 0)
		fail_msg("%s", err.message);
	return objects;
}

static void assert_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", text, part);
}

static void test_documents_are_split(void **state)
{
	/* A comment before the first marker, an empty piece, "---" inside a block scalar, content after the marker,
	 * CRLF. */
	cleanup_json json_t *objects = parse(
		"# about\n---\n"
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  t: |\n    ---\n    x\n"
		"---\n# nothing\n---\r\n"
		"apiVersion: v1\r\nkind: Service\r\nmetadata: {name: b}\r\n"
		"--- {apiVersion: v1, kind: Secret, metadata: {name: c}}\n---");
	(void)state;
	assert_int_equal(json_array_size(objects), 3);
	assert_string_equal(json_str(json_path(json_array_get(objects, 0), "data", NULL), "t"), "---\nx\n");
	assert_string_equal(json_str(json_array_get(objects, 1), "kind"), "Service");
	assert_string_equal(json_str(json_array_get(objects, 2), "kind"), "Secret");
}

static void test_hyphens_are_no_marker(void **state)
{
	cleanup_json json_t *objects = parse("apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n---x: 1\n");

	(void)state;
	assert_int_equal(json_array_size(objects), 1);
	assert_int_equal(json_int(json_array_get(objects, 0), "---x", 0), 1);
}

static void assert_refused(const char *text, const char *part)
{
	struct error err = {0};
	json_t *objects = NULL;

	assert_int_equal(documents_parse("t.yaml", text, strlen(text), &objects, &err), -1);
	assert_null(objects);
	assert_contains(err.message, part);
}

static void test_complaints_name_the_line_of_the_file(void **state)
{
	(void)state;
	assert_refused("# one\n---\n# three\napiVersion: v1\nkind: [\n", "t.yaml:6");
	assert_refused("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\n- x\n",
		       "t.yaml:5:1: found no mapping");
	assert_refused("apiVersion: apps/v1\nkind: Service\nmetadata: {name: a}\n", "apiVersion \"apps/v1\"");
	assert_refused("apiVersion: v1\nkind: Framework\nmetadata: {name: a}\n", "kind \"Framework\"");
	assert_refused("kind: Service\n", "kind \"Service\"");
	assert_refused("apiVersion: v1\nkind: Service\n", "metadata.name is missing");
}

static void test_paths(void **state)
{
	static const struct {
		const char *object, *path;
	} cases[] = {
		{"apiVersion: frameworkcontroller.microsoft.com/v1\nkind: Framework\nmetadata: {name: a}",
		 "/apis/frameworkcontroller.microsoft.com/v1/namespaces/default/frameworks"},
		{"apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: n}", "/api/v1/namespaces/n/services"},
		{"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: ''}",
		 "/api/v1/namespaces/default/serviceaccounts"},
		{"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}", "/api/v1/namespaces"},
		{"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: a}",
		 "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"},
		{"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}",
		 "/apis/rbac.authorization.k8s.io/v1/clusterroles"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_json json_t *objects = parse(cases[i].object);
		cleanup_free char *path = document_path(json_array_get(objects, 0));
		cleanup_free char *framework = document_framework(json_array_get(objects, 0));

		assert_string_equal(path, cases[i].path);
		assert_int_equal(framework != NULL, i == 0);
	}
}

/* A job goes by the name of the Framework that it becomes. */
static void test_jobs_become_frameworks(void **state)
{
	cleanup_json json_t *objects = parse("apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: a-b}\n---\n"
					     "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: ab}\n");
	cleanup_free char *first = document_framework(json_array_get(objects, 0));
	cleanup_free char *second = document_framework(json_array_get(objects, 1));

	(void)state;
	assert_true(document_is_job(json_array_get(objects, 0)));
	assert_int_equal(strncmp(first, "ab", 2), 0);
	assert_int_equal(strlen(first), 10);
	assert_string_equal(second, "ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documents_are_split),
		cmocka_unit_test(test_hyphens_are_no_marker),
		cmocka_unit_test(test_complaints_name_the_line_of_the_file),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_jobs_become_frameworks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
