/* Kubeconfigs good and bad, plain addresses, in-cluster settings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/kube/kubeconfig.h"

/* A directory of its own for each test, with the file `config` in it. */
struct fixture {
	char dir[64];
	char path[96];
	struct kube_config config;
	struct error err;
};

static int setup(void **state)
{
	struct fixture *fixture = mem_calloc(1, sizeof(*fixture));

	*state = fixture;
	snprintf(fixture->dir, sizeof(fixture->dir), "/tmp/test_kube_config.XXXXXX");
	assert_non_null(mkdtemp(fixture->dir));
	snprintf(fixture->path, sizeof(fixture->path), "%s/config", fixture->dir);
	return 0;
}

static int teardown(void **state)
{
	static const char *const files[] = {"config", "token", "ca.crt", "namespace"};
	struct fixture *fixture = *state;

	kube_config_free(&fixture->config);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		cleanup_free char *path = mem_printf("%s/%s", fixture->dir, files[i]);

		unlink(path);
	}
	assert_int_equal(rmdir(fixture->dir), 0);
	free(fixture);
	return 0;
}

static void put_file(struct fixture *fixture, const char *name, const char *text)
{
	cleanup_free char *path = mem_printf("%s/%s", fixture->dir, name);
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void load(struct fixture *fixture, const char *text)
{
	put_file(fixture, "config", text);
	if (kube_config_load(NULL, fixture->path, &fixture->config, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
}

/* The message without "kubeconfig: " and the path. */
static void refuse(struct fixture *fixture, const char *text, const char *message)
{
	char start[128];

	put_file(fixture, "config", text);
	assert_int_equal(kube_config_load(NULL, fixture->path, &fixture->config, &fixture->err), -1);
	snprintf(start, sizeof(start), "kubeconfig: %s:", fixture->path);
	if (strncmp(fixture->err.message, start, strlen(start)) != 0)
		fail_msg("no place in: %s", fixture->err.message);
	assert_string_equal(fixture->err.message + strlen(start), message);
}

#define HEAD "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u, namespace: n}\n"
#define CLUSTER "clusters:\n- name: other\n  cluster: {server: \"http://no\"}\n- name: k\n  cluster:\n"
#define USER "users:\n- name: u\n  user:\n"

static void test_token_and_files(void **state)
{
	struct fixture *fixture = *state;
	char path[128];

	load(fixture, "apiVersion: v1\nkind: Config\npreferences: {}\n" HEAD CLUSTER
		      "    server: https://h:6443/prefix/\n    certificate-authority: pki/ca.crt\n"
		      "    tls-server-name: name\n    extensions: [{name: x}]\n" USER "    token: abc\n");
	assert_string_equal(fixture->config.server, "https://h:6443/prefix");
	assert_string_equal(fixture->config.namespace_name, "n");
	assert_string_equal(fixture->config.token, "abc");
	assert_string_equal(fixture->config.tls_server_name, "name");
	assert_false(fixture->config.insecure_skip_tls_verify);
	/* relative to the kubeconfig, not to where we were started */
	snprintf(path, sizeof(path), "%s/pki/ca.crt", fixture->dir);
	assert_string_equal(fixture->config.ca_file, path);
	assert_null(fixture->config.client_cert_file);
	snprintf(path, sizeof(path), "kubeconfig %s/config", fixture->dir);
	assert_string_equal(fixture->config.source, path);
}

static void test_inline_data(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, HEAD CLUSTER "    server: https://h\n    insecure-skip-tls-verify: true\n"
				   "    certificate-authority: ignored\n    certificate-authority-data: YQ==\n" USER
				   "    client-certificate-data: YWI=\n    client-key-data: YWJj\n"
				   "    client-key: ignored\n    token: no\n    tokenFile: /run/token\n");
	assert_true(fixture->config.insecure_skip_tls_verify);
	assert_string_equal(fixture->config.ca_data, "a");
	assert_null(fixture->config.ca_file);
	assert_string_equal(fixture->config.client_cert_data, "ab");
	assert_string_equal(fixture->config.client_key_data, "abc");
	assert_null(fixture->config.client_key_file);
	/* as client-go has it */
	assert_string_equal(fixture->config.token_file, "/run/token");
	assert_null(fixture->config.token);
}

static void test_json(void **state)
{
	struct fixture *fixture = *state;

	load(fixture,
	     "{\"kind\": \"Config\", \"current-context\": \"c\", \"contexts\": [{\"name\": \"c\", \"context\": "
	     "{\"cluster\": \"k\", \"user\": \"u\"}}], \"clusters\": [{\"name\": \"k\", \"cluster\": "
	     "{\"server\": \"https://[::1]:6443\"}}], \"users\": [{\"name\": \"u\", \"user\": {}}]}");
	assert_string_equal(fixture->config.server, "https://[::1]:6443");
	assert_null(fixture->config.namespace_name);
	assert_null(fixture->config.token);
}

static void test_user_may_be_missing(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k}\nusers: null\n" CLUSTER
		      "    server: http://h:8080\n");
	assert_string_equal(fixture->config.server, "http://h:8080");
}

static void test_refused(void **state)
{
	struct fixture *fixture = *state;

	refuse(fixture, "[]", "1:1: kubeconfig: found a sequence, expected a mapping");
	refuse(fixture, "contexts: []\n", "1:1: current-context: found none, expected the name of a context");
	refuse(fixture, "current-context: [c]\n", "1:18: current-context: found a sequence, expected a string");
	refuse(fixture, "current-context: x\n" CLUSTER,
	       "1:18: current-context: found \"x\", expected the name of an entry of contexts");
	refuse(fixture, "current-context: c\ncontexts: 5\n",
	       "2:11: contexts: found the integer 5, expected a sequence");
	refuse(fixture, "current-context: c\ncontexts:\n- context: {}\n",
	       "3:3: contexts[0].name: found none, expected a name");
	refuse(fixture, HEAD "clusters: []\n",
	       "4:22: context.cluster: found \"k\", expected the name of an entry of clusters");
	refuse(fixture, HEAD CLUSTER "    server: 7\n",
	       "10:13: cluster.server: found the integer 7, expected a string");
	refuse(fixture, HEAD CLUSTER "    server: h:6443\n",
	       "10:13: cluster.server: found \"h:6443\": expected http://host:port or https://host:port");
	refuse(fixture, HEAD CLUSTER "    certificate-authority-data: \"a%\"\n",
	       "10:33: cluster.certificate-authority-data: found text that is not base64, expected PEM in base64");
	refuse(fixture, HEAD CLUSTER "    server: https://h\n    proxy-url: http://p\n",
	       "11:16: cluster.proxy-url: proxies are not supported by this version");
	refuse(fixture, HEAD CLUSTER "    server: https://h\n" USER "    exec: {command: aws}\n",
	       "14:11: user.exec: not supported by this version; use a token, a tokenFile or a client certificate");
	refuse(fixture, HEAD CLUSTER "    server: https://h\n" USER "    username: me\n",
	       "14:15: user.username: not supported by this version; use a token, a tokenFile or a client "
	       "certificate");
	refuse(fixture, HEAD CLUSTER "    server: https://h\n" USER "    client-key: x\n",
	       "14:5: user: found only one of client certificate and client key, expected both");
	refuse(fixture, HEAD CLUSTER "    server: https://h\n" USER "    token: \"a\\nb\"\n",
	       "14:12: user.token: found a control character in it");
	refuse(fixture, HEAD CLUSTER "    {}\n" USER "    {}\n",
	       "1:1: cluster.server: found none, expected http[s]://host:port");
}

/* Nothing secret in a message, whatever is wrong with it. */
static void test_no_secret_shown(void **state)
{
	struct fixture *fixture = *state;

	put_file(fixture, "config", HEAD CLUSTER "    server: https://h\n" USER "    token: [hunter2]\n");
	assert_int_equal(kube_config_load(NULL, fixture->path, &fixture->config, &fixture->err), -1);
	assert_null(strstr(fixture->err.message, "hunter2"));
	put_file(fixture, "config", HEAD CLUSTER "    server: https://me:hunter2@h\n" USER "    token: x\n");
	assert_int_equal(kube_config_load(NULL, fixture->path, &fixture->config, &fixture->err), -1);
	assert_null(strstr(fixture->err.message, "hunter2"));
	put_file(fixture, "config", HEAD CLUSTER "    server: https://h\n" USER "    token: 20220101\n");
	assert_int_equal(kube_config_load(NULL, fixture->path, &fixture->config, &fixture->err), -1);
	assert_null(strstr(fixture->err.message, "20220101"));
}

static void test_unreadable(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(kube_config_load(NULL, "/nonesuch/config", &fixture->config, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.message, "/nonesuch/config"));
	assert_non_null(strstr(fixture->err.message, "No such file"));
	assert_null(fixture->config.server);
}

static void test_address(void **state)
{
	static const char *const bad[] = {"host:8080",  "ftp://h",      "http://",   "https:///x",
					  "http://h h", "http://a:b@h", "http://h?x"};
	struct fixture *fixture = *state;

	assert_int_equal(kube_config_load("http://10.0.0.1:8080/", "", &fixture->config, &fixture->err), 0);
	assert_string_equal(fixture->config.server, "http://10.0.0.1:8080");
	assert_string_equal(fixture->config.source, "address http://10.0.0.1:8080/");
	assert_null(fixture->config.token);
	assert_null(fixture->config.token_file);
	kube_config_free(&fixture->config);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(kube_config_load(bad[i], NULL, &fixture->config, &fixture->err), -1);
		assert_non_null(strstr(fixture->err.message, "API server address"));
	}
}

/* The address overrides the kubeconfig's server, and nothing else of it. */
static void test_address_and_kubeconfig(void **state)
{
	struct fixture *fixture = *state;

	put_file(fixture, "config", HEAD CLUSTER "    certificate-authority-data: YQ==\n" USER "    token: abc\n");
	assert_int_equal(kube_config_load("https://a", fixture->path, &fixture->config, &fixture->err), 0);
	assert_string_equal(fixture->config.server, "https://a");
	assert_string_equal(fixture->config.token, "abc");
	assert_string_equal(fixture->config.ca_data, "a");
}

static void test_in_cluster(void **state)
{
	struct fixture *fixture = *state;
	struct kube_config copy;

	unsetenv("KUBERNETES_SERVICE_HOST");
	assert_int_equal(kube_config_load(NULL, NULL, &fixture->config, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.message, "KUBERNETES_SERVICE_HOST"));
	setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	setenv("KUBERNETES_SERVICE_ACCOUNT_DIR", fixture->dir, 1);
	assert_int_equal(kube_config_load(NULL, NULL, &fixture->config, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.message, "/token: No such file"));
	put_file(fixture, "token", "t");
	assert_int_equal(kube_config_load(NULL, NULL, &fixture->config, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.message, "/ca.crt: No such file"));
	put_file(fixture, "ca.crt", "c");
	assert_int_equal(kube_config_load(NULL, NULL, &fixture->config, &fixture->err), 0);
	assert_string_equal(fixture->config.server, "https://[fd00::1]:443");
	assert_string_equal(fixture->config.source, "in-cluster");
	assert_null(fixture->config.namespace_name);
	kube_config_copy(&copy, &fixture->config);
	assert_string_equal(copy.token_file, fixture->config.token_file);
	assert_ptr_not_equal(copy.token_file, fixture->config.token_file);
	kube_config_free(&copy);
	kube_config_free(&fixture->config);
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	put_file(fixture, "namespace", "ours\n");
	assert_int_equal(kube_config_load(NULL, NULL, &fixture->config, &fixture->err), 0);
	assert_string_equal(fixture->config.server, "https://10.0.0.1:443");
	assert_string_equal(fixture->config.namespace_name, "ours");
	unsetenv("KUBERNETES_SERVICE_HOST");
}

#define config_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		config_test(test_token_and_files),
		config_test(test_inline_data),
		config_test(test_json),
		config_test(test_user_may_be_missing),
		config_test(test_refused),
		config_test(test_no_secret_shown),
		config_test(test_unreadable),
		config_test(test_address),
		config_test(test_address_and_kubeconfig),
		config_test(test_in_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
