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
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/kube/kubeconfig.h"
#include "tests/unit/temp.h"

/* A directory of its own for each test, with the file `config` in it. */
struct fixture {
	char dir[TEMP_PATH_SIZE];
	char path[TEMP_PATH_SIZE + 16];
	struct kube_config config;
	struct error err;
};

static const char *const proxy_variables[] = {"HTTP_PROXY",  "http_proxy", "HTTPS_PROXY",
					      "https_proxy", "NO_PROXY",   "no_proxy"};

static int setup(void **state)
{
	struct fixture *fixture = mem_calloc(1, sizeof(*fixture));

	for (size_t i = 0; i < ARRAY_LEN(proxy_variables); i++)
		unsetenv(proxy_variables[i]);
	*state = fixture;
	temp_directory(fixture->dir);
	snprintf(fixture->path, sizeof(fixture->path), "%s/config", fixture->dir);
	return 0;
}

static int teardown(void **state)
{
	static const char *const files[] = {"config", "token", "ca.crt", "namespace", "sub/config"};
	struct fixture *fixture = *state;
	cleanup_free char *sub = NULL;

	kube_config_free(&fixture->config);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		cleanup_free char *path = mem_printf("%s/%s", fixture->dir, files[i]);

		unlink(path);
	}
	sub = mem_printf("%s/sub", fixture->dir);
	rmdir(sub);
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
	if (kube_config_load(NULL, fixture->path, NULL, &fixture->config, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
}

/* The message from the line number on, if context and path are before it. */
static const char *after_place(struct fixture *fixture, const char *context)
{
	cleanup_free char *start = context == NULL
					   ? mem_printf("kubeconfig: %s:", fixture->path)
					   : mem_printf("kubeconfig, context \"%s\": %s:", context, fixture->path);

	if (strncmp(fixture->err.message, start, strlen(start)) != 0)
		fail_msg("no place in: %s", fixture->err.message);
	return fixture->err.message + strlen(start);
}

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

static void test_refused_context(void **state)
{
	struct fixture *fixture = *state;

	refuse_file(fixture, "[]", "1:1: kubeconfig: found a sequence, expected a mapping");
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
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i += 2) {
		cleanup_free char *text = mem_printf(
			HEAD CLUSTER "    server: https://h\n    proxy-url: \"%s\"\n" USER "    {}\n", bad[i]);
		cleanup_free char *message = mem_printf("11:16: " AT_CLUSTER "proxy-url: found %s", bad[i + 1]);

		refuse(fixture, text, message);
	}
}

#define SERVER CLUSTER "    server: https://h\n"
#define AT_USER "users[\"u\"].user"

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
	refuse(fixture, HEAD SERVER USER "    as: me\n    as-groups: [\"a\\nb\"]\n",
	       "15:17: " AT_USER ".as-groups[0]: found a control character in it");
	refuse(fixture, HEAD SERVER USER "    as: me\n    as-user-extra: {a: b}\n",
	       "15:24: " AT_USER ".as-user-extra.a: found the string \"b\", expected a sequence");
}

#define V1 "apiVersion: client.authentication.k8s.io/v1"
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
		"{command: c, env: [{name: a, value: 22}], " V1 "}",
		"14:47: " AT_USER ".exec.env[0].value: found something else, expected a string (quote it)",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i += 2) {
		cleanup_free char *text = mem_printf(HEAD SERVER USER "    exec: %s\n", bad[i]);

		refuse(fixture, text, bad[i + 1]);
	}
}

/* ---- more of what is understood ---- */

static void test_exec(void **state)
{
	struct fixture *fixture = *state;
	cleanup_free char *command = mem_printf("%s/bin/login", fixture->dir);
	cleanup_free char *place = mem_printf(AT_USER ".exec of %s", fixture->path);
	struct kube_config copy;

	load(fixture,
	     HEAD CLUSTER "    server: https://h\n    extensions:\n    - {name: other, extension: 1}\n"
			  "    - name: client.authentication.k8s.io/exec\n      extension: {audience: a}\n" USER
			  "    exec:\n      apiVersion: client.authentication.k8s.io/v1beta1\n"
			  "      command: bin/login\n      args: [\"--region\", x]\n"
			  "      env: [{name: A, value: b=c}, {name: EMPTY}]\n"
			  "      installHint: get it\n      provideClusterInfo: true\n");
	kube_config_copy(&copy, &fixture->config);
	kube_config_free(&fixture->config);
	/* with a '/' it is relative to the kubeconfig */
	assert_string_equal(copy.exec->command, command);
	assert_string_equal(copy.exec->args[1], "x");
	assert_null(copy.exec->args[2]);
	assert_string_equal(copy.exec->environment[0], "A=b=c");
	assert_string_equal(copy.exec->environment[1], "EMPTY=");
	assert_null(copy.exec->environment[2]);
	assert_string_equal(copy.exec->install_hint, "get it");
	assert_true(copy.exec->provide_cluster_info);
	assert_string_equal(copy.exec->cluster_config, "{\"audience\":\"a\"}");
	assert_string_equal(copy.exec->place, place);
	kube_config_free(&copy);
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
	expect_proxy(fixture, "https://a", "http://small");
	setenv("HTTPS_PROXY", "socks5://u:p@large:1/", 1);
	setenv("no_proxy", "a", 1);
	setenv("NO_PROXY", "b,h", 1);
	expect_proxy(fixture, "https://a", "socks5h://u:p@large:1");
	expect_proxy(fixture, "https://b", NULL);
	expect_proxy(fixture, "https://localhost", NULL);
	/* NO_PROXY is not about the kubeconfig's */
	load(fixture, HEAD CLUSTER "    server: https://h\n    proxy-url: http://own\n" USER "    {}\n");
	assert_string_equal(fixture->config.proxy_url, "http://own");
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

static void test_unreadable(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(kube_config_load(NULL, "/nonesuch/config", NULL, &fixture->config, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.message, "/nonesuch/config"));
	assert_non_null(strstr(fixture->err.message, "No such file"));
	assert_null(fixture->config.server);
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

/* The address overrides the kubeconfig's server, and nothing else of it. */
static void test_address_and_kubeconfig(void **state)
{
	struct fixture *fixture = *state;

	put_file(fixture, "config", HEAD CLUSTER "    certificate-authority-data: YQ==\n" USER "    token: abc\n");
	assert_int_equal(kube_config_load("https://a", fixture->path, NULL, &fixture->config, &fixture->err), 0);
	assert_string_equal(fixture->config.server, "https://a");
	assert_string_equal(fixture->config.token, "abc");
	assert_string_equal(fixture->config.ca_data, "a");
}

static void test_in_cluster(void **state)
{
	struct fixture *fixture = *state;
	struct kube_config copy;

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
	kube_config_copy(&copy, &fixture->config);
	assert_string_equal(copy.token_file, fixture->config.token_file);
	assert_ptr_not_equal(copy.token_file, fixture->config.token_file);
	kube_config_free(&copy);
	kube_config_free(&fixture->config);
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	put_file(fixture, "namespace", "ours\n");
	assert_int_equal(kube_config_load(NULL, NULL, NULL, &fixture->config, &fixture->err), 0);
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
		config_test(test_refused_context),
		config_test(test_refused_cluster),
		config_test(test_refused_proxy),
		config_test(test_refused_user),
		config_test(test_refused_exec),
		config_test(test_exec),
		config_test(test_impersonation),
		config_test(test_proxy_url),
		config_test(test_environment_proxy),
		config_test(test_context),
		config_test(test_merge),
		config_test(test_limits),
		config_test(test_no_secret_shown),
		config_test(test_unreadable),
		config_test(test_address),
		config_test(test_address_and_kubeconfig),
		config_test(test_in_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
