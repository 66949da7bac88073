/* Kubeconfigs that are refused, with the place and the cause in the message. */
#include "tests/unit/kube_config_files.h"

/* In context c. */
static void refuse(struct fixture *fixture, const char *text, const char *message)
{
	put_file(fixture, "config", text);
	assert_int_equal(kube_config_load(NULL, fixture->path, NULL, &fixture->config, &fixture->err), -1);
	assert_string_equal(after_place(fixture, "c"), message);
}

/* Before it is known which context. */
static void refuse_file(struct fixture *fixture, const char *text, const char *message)
{
	put_file(fixture, "config", text);
	assert_int_equal(kube_config_load(NULL, fixture->path, NULL, &fixture->config, &fixture->err), -1);
	assert_string_equal(after_place(fixture, NULL), message);
}

static void test_refused_context(void **state)
{
	struct fixture *fixture = *state;

	refuse_file(fixture, "[]", "1:1: top level: found a sequence, expected a mapping");
	refuse_file(fixture, "contexts: []\n", "1:1: current-context: found none, expected the name of a context");
	refuse_file(fixture, "", "1:1: current-context: found none, expected the name of a context");
	refuse_file(fixture, "current-context: [c]\n", "1:18: current-context: found a sequence, expected a string");
	refuse(fixture, "current-context: c\n" CLUSTER,
	       "1:18: current-context: found \"c\", expected the name of an entry of contexts");
	refuse(fixture, "current-context: c\ncontexts: 5\n",
	       "2:11: contexts: found the integer 5, expected a sequence");
	refuse(fixture, "current-context: c\ncontexts:\n- context: {}\n",
	       "3:3: contexts[0].name: found none, expected a name");
	refuse(fixture, "current-context: c\ncontexts:\n- {name: c, context: {}}\n- {name: c}\n",
	       "4:3: contexts[1].name: found \"c\" a second time, expected each name once");
	refuse(fixture, "current-context: c\ncontexts:\n- name: c\n",
	       "3:3: contexts[\"c\"].context: found none, expected cluster and user");
	refuse(fixture, "current-context: c\ncontexts:\n- {name: c, context: {}}\n",
	       "3:22: contexts[\"c\"].context.cluster: found none, expected the name of a cluster");
	refuse(fixture, HEAD "clusters: []\n",
	       "4:22: contexts[\"c\"].context.cluster: found \"k\", expected the name of an entry of clusters");
	refuse(fixture, HEAD CLUSTER "    server: http://h\n",
	       "4:31: contexts[\"c\"].context.user: found \"u\", expected the name of an entry of users");
}

#define AT_CLUSTER "clusters[\"k\"].cluster."

static void test_refused_cluster(void **state)
{
	struct fixture *fixture = *state;

	refuse(fixture, HEAD CLUSTER "    server: 7\n" USER "    {}\n",
	       "10:13: " AT_CLUSTER "server: found the integer 7, expected a string");
	refuse(fixture, HEAD CLUSTER "    server: h:6443\n" USER "    {}\n",
	       "10:13: " AT_CLUSTER "server: found \"h:6443\": expected http://host:port or https://host:port");
	refuse(fixture, HEAD CLUSTER "    certificate-authority-data: \"a%\"\n" USER "    {}\n",
	       "10:33: " AT_CLUSTER
	       "certificate-authority-data: found text that is not base64, expected PEM in base64");
	refuse(fixture, HEAD CLUSTER "    insecure-skip-tls-verify: 1\n" USER "    {}\n",
	       "10:31: " AT_CLUSTER "insecure-skip-tls-verify: found the integer 1, expected true or false");
	refuse(fixture,
	       HEAD CLUSTER "    insecure-skip-tls-verify: true\n    certificate-authority: ca\n" USER "    {}\n",
	       "10:31: " AT_CLUSTER
	       "insecure-skip-tls-verify: found true beside a certificate authority, expected one of them");
	refuse(fixture, HEAD CLUSTER "    {}\n" USER "    {}\n",
	       "10:5: " AT_CLUSTER "server: found none, expected http[s]://host:port");
	refuse(fixture, HEAD "clusters:\n- name: k\n" USER "    {}\n",
	       "6:3: " AT_CLUSTER "server: found none, expected http[s]://host:port");
}

static void test_refused_proxy(void **state)
{
	static const char *const bad[] = {
		"ftp://p",
		"\"ftp://p\": expected http://host:port, https://host:port or socks5://host:port",
		"p:3128",
		"\"p:3128\": expected http://host:port, https://host:port or socks5://host:port",
		"http://",
		"\"http://\": no host in it",
		"http://u:hunter2@",
		"\"…@…\": no host in it",
		"http://p/path",
		"\"http://p/path\": a path in it",
		"http://p?x",
		"\"http://p?x\": a query or fragment in it",
		"http://u:hunter2@p:99999",
		"\"…@…\": Port number was not a decimal number between 0 and 65535",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i += 2) {
		cleanup_free char *text = mem_printf(
			HEAD CLUSTER "    server: https://h\n    proxy-url: \"%s\"\n" USER "    {}\n", bad[i]);
		cleanup_free char *message = mem_printf("11:16: " AT_CLUSTER "proxy-url: found %s", bad[i + 1]);

		refuse(fixture, text, message);
	}
}

static void test_refused_user(void **state)
{
	struct fixture *fixture = *state;

	refuse(fixture, HEAD SERVER USER "    client-key: x\n",
	       "14:5: " AT_USER ": found only one of client-certificate and client-key, expected both");
	refuse(fixture, HEAD SERVER USER "    token: \"a\\nb\"\n",
	       "14:12: " AT_USER ".token: found a control character in it");
	refuse(fixture, HEAD SERVER USER "    token: t\n    username: me\n",
	       "15:15: " AT_USER ".username: found one, expected a token, client-certificate or exec: kube-apiserver "
	       "dropped passwords in Kubernetes 1.19");
	refuse(fixture, HEAD SERVER USER "    password: hidden\n",
	       "14:15: " AT_USER ".password: found one, expected a token, client-certificate or exec: kube-apiserver "
	       "dropped passwords in Kubernetes 1.19");
	refuse(fixture, HEAD SERVER USER "    auth-provider: {name: gcp}\n",
	       "14:20: " AT_USER
	       ".auth-provider: found one, expected exec: client-go dropped auth-provider in Kubernetes 1.26");
	refuse(fixture, HEAD SERVER USER "    as-groups: [g]\n",
	       "14:5: " AT_USER ".as: found none beside as-uid, as-groups or as-user-extra, expected a user name");
	refuse(fixture, HEAD SERVER USER "    as: \"me\\r\\nX: y\"\n",
	       "14:9: " AT_USER ".as: found a control character in it");
	refuse(fixture, HEAD SERVER USER "    as: me\n    as-uid: \"7\\nX: y\"\n",
	       "15:13: " AT_USER ".as-uid: found a control character in it");
	refuse(fixture, HEAD SERVER USER "    as: me\n    as-groups: [\"a\\nb\"]\n",
	       "15:17: " AT_USER ".as-groups[0]: found a control character in it");
	refuse(fixture, HEAD SERVER USER "    as: me\n    as-user-extra: {a: b}\n",
	       "15:24: " AT_USER ".as-user-extra.a: found the string \"b\", expected a sequence");
}
#define V1_WRONG "expected \"client.authentication.k8s.io/v1\" or \"client.authentication.k8s.io/v1beta1\""

static void test_refused_exec(void **state)
{
	static const char *const bad[] = {
		"[]",
		"14:11: " AT_USER ".exec: found a sequence, expected a mapping",
		"{" V1 "}",
		"14:11: " AT_USER ".exec.command: found none, expected a command",
		"{command: c}",
		"14:11: " AT_USER ".exec.apiVersion: found none, " V1_WRONG,
		"{command: c, apiVersion: client.authentication.k8s.io/v1alpha1}",
		"14:36: " AT_USER ".exec.apiVersion: found client.authentication.k8s.io/v1alpha1, " V1_WRONG,
		"{command: c, " V1 "}",
		"14:11: " AT_USER ".exec.interactiveMode: found none, expected \"Never\" or \"IfAvailable\", which "
		"client.authentication.k8s.io/v1 requires",
		"{command: c, interactiveMode: Always, " V1 "}",
		"14:41: " AT_USER
		".exec.interactiveMode: found \"Always\", expected \"Never\" or \"IfAvailable\": there "
		"is no terminal here",
		"{command: c, args: x, " V1 "}",
		"14:30: " AT_USER ".exec.args: found the string \"x\", expected a sequence",
		"{command: c, args: [5], " V1 "}",
		"14:31: " AT_USER ".exec.args[0]: found the integer 5, expected a string",
		"{command: c, env: [x], " V1 "}",
		"14:30: " AT_USER ".exec.env[0]: found the string \"x\", expected a mapping",
		"{command: c, env: [{value: hunter2}], " V1 "}",
		"14:30: " AT_USER ".exec.env[0].name: found none, expected the name of a variable",
		"{command: c, env: [{name: a=b, value: c}], " V1 "}",
		"14:37: " AT_USER ".exec.env[0].name: found a=b, expected the name of a variable",
		"{command: c, env: [{name: a, value: 22}], " V1 "}",
		"14:47: " AT_USER ".exec.env[0].value: found something else, expected a string (quote it)",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i += 2) {
		cleanup_free char *text = mem_printf(HEAD SERVER USER "    exec: %s\n", bad[i]);

		refuse(fixture, text, bad[i + 1]);
	}
}

static void test_limits(void **state)
{
	struct fixture *fixture = *state;
	cleanup_buf struct buf many = {0};
	cleanup_free char *large = mem_alloc(2 * 1024 * 1024);

	put_file(fixture, "config", HEAD SERVER USER "    {}\n");
	for (size_t i = 0; i < 65; i++)
		buf_printf(&many, "%s:", fixture->path);
	assert_int_equal(kube_config_load(NULL, many.data, NULL, &fixture->config, &fixture->err), -1);
	assert_string_equal(fixture->err.message, "kubeconfig: found more than 64 files, expected fewer");
	memset(large, ' ', 2 * 1024 * 1024);
	large[2 * 1024 * 1024 - 1] = '\0';
	put_file(fixture, "config", large);
	assert_int_equal(kube_config_load(NULL, fixture->path, NULL, &fixture->config, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.message, "longer than 1048576 bytes"));
}

static void test_unreadable(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(kube_config_load(NULL, "/nonesuch/config", NULL, &fixture->config, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.message, "/nonesuch/config"));
	assert_non_null(strstr(fixture->err.message, "No such file"));
	assert_null(fixture->config.server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		config_test(test_refused_context), config_test(test_refused_cluster), config_test(test_refused_proxy),
		config_test(test_refused_user),    config_test(test_refused_exec),    config_test(test_limits),
		config_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
