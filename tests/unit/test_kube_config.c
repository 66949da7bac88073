/* Kubeconfigs that are accepted, plain addresses, in-cluster settings. */
#include "tests/unit/kube_config_files.h"

static void load(struct fixture *fixture, const char *text)
{
	put_file(fixture, "config", text);
	if (kube_config_load(NULL, fixture->path, NULL, &fixture->config, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
}

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
	snprintf(path, sizeof(path), "kubeconfig %s/config, context \"c\"", fixture->dir);
	assert_string_equal(fixture->config.source, path);
}

static void test_inline_data(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, HEAD CLUSTER "    server: https://h\n"
				   "    certificate-authority: ignored\n    certificate-authority-data: YQ==\n" USER
				   "    client-certificate-data: YWI=\n    client-key-data: YWJj\n"
				   "    client-key: ignored\n    token: no\n    tokenFile: /run/token\n");
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

static void test_exec(void **state)
{
	struct fixture *fixture = *state;
	cleanup_free char *command = mem_printf("%s/bin/login", fixture->dir);
	cleanup_free char *place = mem_printf(AT_USER ".exec of %s", fixture->path);

	load(fixture,
	     HEAD CLUSTER "    server: https://h\n    extensions:\n    - {name: other, extension: 1}\n"
			  "    - name: client.authentication.k8s.io/exec\n      extension: {audience: a}\n" USER
			  "    exec:\n      apiVersion: client.authentication.k8s.io/v1beta1\n"
			  "      command: bin/login\n      args: [\"--region\", x]\n"
			  "      env: [{name: A, value: b=c}, {name: EMPTY}]\n"
			  "      installHint: get it\n      provideClusterInfo: true\n");
	/* with a '/' it is relative to the kubeconfig */
	assert_string_equal(fixture->config.exec->command, command);
	assert_string_equal(fixture->config.exec->args[1], "x");
	assert_null(fixture->config.exec->args[2]);
	assert_string_equal(fixture->config.exec->environment[0], "A=b=c");
	assert_string_equal(fixture->config.exec->environment[1], "EMPTY=");
	assert_null(fixture->config.exec->environment[2]);
	assert_string_equal(fixture->config.exec->install_hint, "get it");
	assert_true(fixture->config.exec->provide_cluster_info);
	assert_string_equal(fixture->config.exec->cluster_config, "{\"audience\":\"a\"}");
	assert_string_equal(fixture->config.exec->place, place);
	kube_config_free(&fixture->config);
	/* without, it is looked for in PATH */
	load(fixture, HEAD SERVER USER "    exec: {command: login, interactiveMode: Never, " V1 "}\n");
	assert_string_equal(fixture->config.exec->command, "login");
	assert_false(fixture->config.exec->provide_cluster_info);
	assert_null(fixture->config.exec->cluster_config);
}

static void test_impersonation(void **state)
{
	struct fixture *fixture = *state;
	char **lines;

	load(fixture, HEAD SERVER USER "    as: me\n    as-uid: \"7\"\n    as-groups: [a, b]\n"
				       "    as-user-extra: {\"x/y\": [c]}\n    token: t\n");
	lines = fixture->config.impersonate;
	assert_string_equal(lines[0], "Impersonate-User: me");
	assert_string_equal(lines[1], "Impersonate-Uid: 7");
	assert_string_equal(lines[2], "Impersonate-Group: a");
	assert_string_equal(lines[3], "Impersonate-Group: b");
	assert_string_equal(lines[4], "Impersonate-Extra-x%2Fy: c");
	assert_null(lines[5]);
}

static void test_proxy_url(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, HEAD CLUSTER "    server: https://h\n    proxy-url: socks5://u:p@proxy:1080/\n" USER
				   "    username: \"\"\n    password: null\n");
	/* the proxy is to look names up */
	assert_string_equal(fixture->config.proxy_url, "socks5h://u:p@proxy:1080");
}

/* An address means the same as to client-go: schemes in any case, port 80, an @ in a password. */
static void test_proxy_as_in_go(void **state)
{
	static const char *const cases[][2] = {
		{"HTTP://p", "http://p:80"},
		{"http://[2001:db8::1]/", "http://[2001:db8::1]:80"},
		{"http://[2001:db8::1]:3128", "http://[2001:db8::1]:3128"},
		{"https://p", "https://p"},
		{"socks5h://p:1", "socks5h://p:1"},
		{"http://me@corp:s3cr@t@p:3128", "http://me%40corp:s3cr%40t@p:3128"},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *text = mem_printf(
			HEAD CLUSTER "    server: HTTPS://h/\n    proxy-url: \"%s\"\n" USER "    {}\n", cases[i][0]);

		kube_config_free(&fixture->config);
		load(fixture, text);
		assert_string_equal(fixture->config.server, "https://h");
		assert_string_equal(fixture->config.proxy_url, cases[i][1]);
	}
}

static void expect_proxy(struct fixture *fixture, const char *address, const char *proxy)
{
	assert_int_equal(kube_config_load(address, NULL, NULL, &fixture->config, &fixture->err), 0);
	assert_int_equal(fixture->config.environment_proxy, proxy != NULL);
	if (proxy == NULL)
		assert_null(fixture->config.proxy_url);
	else
		assert_string_equal(fixture->config.proxy_url, proxy);
	kube_config_free(&fixture->config);
}

/* As Go's net/http has it: capitals first, one variable for each scheme, never for this machine. */
static void test_environment_proxy(void **state)
{
	struct fixture *fixture = *state;

	setenv("http_proxy", "plain:3128", 1);
	setenv("https_proxy", "http://small", 1);
	expect_proxy(fixture, "http://a", "http://plain:3128");
	expect_proxy(fixture, "https://a", "http://small:80");
	setenv("HTTPS_PROXY", "socks5://u:p@large:1/", 1);
	setenv("no_proxy", "a", 1);
	setenv("NO_PROXY", "b,h", 1);
	expect_proxy(fixture, "https://a", "socks5h://u:p@large:1");
	expect_proxy(fixture, "https://b", NULL);
	expect_proxy(fixture, "https://localhost", NULL);
	/* NO_PROXY is not about the kubeconfig's */
	load(fixture, HEAD CLUSTER "    server: https://h\n    proxy-url: http://own\n" USER "    {}\n");
	assert_string_equal(fixture->config.proxy_url, "http://own:80");
	assert_false(fixture->config.environment_proxy);
	setenv("HTTPS_PROXY", "ftp://u:p@x", 1);
	assert_int_equal(kube_config_load("https://a", NULL, NULL, &fixture->config, &fixture->err), -1);
	assert_string_equal(fixture->err.message, "environment variable HTTPS_PROXY: found \"…@…\": expected "
						  "http://host:port, https://host:port or socks5://host:port");
	for (size_t i = 0; i < ARRAY_LEN(proxy_variables); i++)
		unsetenv(proxy_variables[i]);
}

static void test_context(void **state)
{
	struct fixture *fixture = *state;
	static const char text[] = HEAD "- name: d\n  context: {cluster: other, namespace: m}\n" SERVER USER
					"    token: t\n";

	put_file(fixture, "config", text);
	assert_int_equal(kube_config_load(NULL, fixture->path, "d", &fixture->config, &fixture->err), 0);
	assert_string_equal(fixture->config.server, "http://no");
	assert_string_equal(fixture->config.namespace_name, "m");
	assert_null(fixture->config.token);
	assert_non_null(strstr(fixture->config.source, ", context \"d\""));
	assert_int_equal(kube_config_load(NULL, fixture->path, "x", &fixture->config, &fixture->err), -1);
	assert_string_equal(after_place(fixture, "x") - 1, ": found no such context");
	assert_int_equal(kube_config_load("http://a", NULL, "x", &fixture->config, &fixture->err), -1);
	assert_string_equal(fixture->err.message, "context \"x\": found no kubeconfig, expected one with this context");
}

/* Of each name the first file's entry counts, whole. */
static void test_merge(void **state)
{
	struct fixture *fixture = *state;
	cleanup_free char *ca = mem_printf("%s/sub/ca.crt", fixture->dir);
	cleanup_free char *sub = mem_printf("%s/sub", fixture->dir);
	cleanup_free char *paths = mem_printf("/nonesuch:%s/config:%s/sub/config:", fixture->dir, fixture->dir);

	assert_int_equal(mkdir(sub, 0700), 0);
	put_file(fixture, "config", "users:\n- name: u\n  user: {token: first}\n");
	put_file(fixture, "sub/config",
		 HEAD CLUSTER "    server: https://h\n    certificate-authority: ca.crt\n" USER
			      "    token: second\n    as: somebody\n");
	assert_int_equal(kube_config_load(NULL, paths, NULL, &fixture->config, &fixture->err), 0);
	assert_string_equal(fixture->config.token, "first");
	assert_null(fixture->config.impersonate);
	assert_string_equal(fixture->config.ca_file, ca);
	kube_config_free(&fixture->config);
	/* the first current-context that is not empty */
	put_file(fixture, "config", "current-context: e\ncontexts:\n- name: e\n  context: {cluster: k}\n");
	assert_int_equal(kube_config_load(NULL, paths, NULL, &fixture->config, &fixture->err), 0);
	assert_null(fixture->config.token);
	kube_config_free(&fixture->config);
	put_file(fixture, "config", "current-context: \"\"\n");
	assert_int_equal(kube_config_load(NULL, paths, NULL, &fixture->config, &fixture->err), 0);
	assert_string_equal(fixture->config.token, "second");
	kube_config_free(&fixture->config);
	/* one that is there and cannot be read is no file to be passed over */
	put_file(fixture, "config", "]");
	assert_int_equal(kube_config_load(NULL, paths, NULL, &fixture->config, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.message, fixture->path));
	assert_int_equal(kube_config_load(NULL, "/nonesuch:/nonesuch2", NULL, &fixture->config, &fixture->err), -1);
	assert_string_equal(fixture->err.message, "kubeconfig: none of /nonesuch:/nonesuch2 exists");
}

/* Nothing secret in a message, whatever is wrong with it. */
static void test_no_secret_shown(void **state)
{
	struct fixture *fixture = *state;

	put_file(fixture, "config", HEAD CLUSTER "    server: https://h\n" USER "    token: [hunter2]\n");
	assert_int_equal(kube_config_load(NULL, fixture->path, NULL, &fixture->config, &fixture->err), -1);
	assert_null(strstr(fixture->err.message, "hunter2"));
	put_file(fixture, "config", HEAD CLUSTER "    server: https://me:hunter2@h\n" USER "    token: x\n");
	assert_int_equal(kube_config_load(NULL, fixture->path, NULL, &fixture->config, &fixture->err), -1);
	assert_null(strstr(fixture->err.message, "hunter2"));
	put_file(fixture, "config", HEAD CLUSTER "    server: https://h\n" USER "    token: 20220101\n");
	assert_int_equal(kube_config_load(NULL, fixture->path, NULL, &fixture->config, &fixture->err), -1);
	assert_null(strstr(fixture->err.message, "20220101"));
}

static void test_address(void **state)
{
	static const char *const bad[] = {"host:8080",  "ftp://h",      "http://",   "https:///x",
					  "http://h h", "http://a:b@h", "http://h?x"};
	struct fixture *fixture = *state;

	assert_int_equal(kube_config_load("http://10.0.0.1:8080/", "", NULL, &fixture->config, &fixture->err), 0);
	assert_string_equal(fixture->config.server, "http://10.0.0.1:8080");
	assert_string_equal(fixture->config.source, "address http://10.0.0.1:8080/");
	assert_null(fixture->config.token);
	assert_null(fixture->config.token_file);
	kube_config_free(&fixture->config);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(kube_config_load(bad[i], NULL, NULL, &fixture->config, &fixture->err), -1);
		assert_non_null(strstr(fixture->err.message, "API server address"));
	}
}

/* The address overrides the kubeconfig's server and its name in the certificate, and nothing else. */
static void test_address_and_kubeconfig(void **state)
{
	struct fixture *fixture = *state;

	put_file(fixture, "config",
		 HEAD CLUSTER "    certificate-authority-data: YQ==\n    tls-server-name: former\n" USER
			      "    token: abc\n");
	assert_int_equal(kube_config_load("https://a", fixture->path, NULL, &fixture->config, &fixture->err), 0);
	assert_string_equal(fixture->config.server, "https://a");
	assert_null(fixture->config.tls_server_name);
	assert_string_equal(fixture->config.token, "abc");
	assert_string_equal(fixture->config.ca_data, "a");
}

static void test_in_cluster(void **state)
{
	struct fixture *fixture = *state;

	unsetenv("KUBERNETES_SERVICE_HOST");
	assert_int_equal(kube_config_load(NULL, NULL, NULL, &fixture->config, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.message, "KUBERNETES_SERVICE_HOST"));
	assert_non_null(strstr(fixture->err.message, "--kubeconfig, $KUBECONFIG, ~/.kube/config"));
	setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	setenv("KUBERNETES_SERVICE_ACCOUNT_DIR", fixture->dir, 1);
	assert_int_equal(kube_config_load(NULL, NULL, NULL, &fixture->config, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.message, "/token: No such file"));
	put_file(fixture, "token", "t");
	assert_int_equal(kube_config_load(NULL, NULL, NULL, &fixture->config, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.message, "/ca.crt: No such file"));
	put_file(fixture, "ca.crt", "c");
	assert_int_equal(kube_config_load(NULL, NULL, NULL, &fixture->config, &fixture->err), 0);
	assert_string_equal(fixture->config.server, "https://[fd00::1]:443");
	assert_string_equal(fixture->config.source, "in-cluster");
	assert_null(fixture->config.namespace_name);
	kube_config_free(&fixture->config);
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	put_file(fixture, "namespace", "ours\n");
	assert_int_equal(kube_config_load(NULL, NULL, NULL, &fixture->config, &fixture->err), 0);
	assert_string_equal(fixture->config.server, "https://10.0.0.1:443");
	assert_string_equal(fixture->config.namespace_name, "ours");
	unsetenv("KUBERNETES_SERVICE_HOST");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		config_test(test_token_and_files),
		config_test(test_inline_data),
		config_test(test_json),
		config_test(test_user_may_be_missing),
		config_test(test_exec),
		config_test(test_impersonation),
		config_test(test_proxy_url),
		config_test(test_proxy_as_in_go),
		config_test(test_environment_proxy),
		config_test(test_context),
		config_test(test_merge),
		config_test(test_no_secret_shown),
		config_test(test_address),
		config_test(test_address_and_kubeconfig),
		config_test(test_in_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
